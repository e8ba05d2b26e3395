//! Viscosity along the axes of pairs, taken implicitly: (M + dt K) v = M v*, from water to honey at the same step.
//!
//! K is symmetric, and maps rigid motion to nothing, so that conjugate gradients that measure lengths by mass and begin at v*
//! stay where momentum and angular momentum are those of v*.

use super::pairs::{self, Viscous};
use super::search::Chunk;
use super::walls::Touch;
use crate::models::mls::flow::lanes::Row;
use glam::{DVec3, Vec3};

/// Iterations at most.
const MOST: usize = 200;
/// Change of the velocities left, over the whole change.
const TOLERANCE: f64 = 1e-2;

/// Scratch of the solve.
#[derive(Debug, Clone, Default)]
pub(super) struct Solver {
    residual: Vec<Vec3>,
    direction: Vec<Vec3>,
    image: Vec<Vec3>,
    sums: Vec<[f32; 3]>,
}

/// What is solved for.
pub(super) struct Problem<'a> {
    pub chunks: &'a [Chunk],
    /// x, y, z, volume, velocity, viscosity of each slot; the velocity is replaced.
    pub rows: &'a mut [Row],
    /// Mass of each slot over that of reference matter of its volume; infinite where it is held.
    pub heaviness: &'a [f32],
    pub touches: &'a [Touch],
    /// Drag of the walls over dt / ρ, per touch.
    pub wall_drags: &'a [f32],
    /// dt / ρ H² (dimensions + 2).
    pub factor: f32,
}

impl Solver {
    /// Replaces `velocities` and returns the iterations.
    pub fn solve(&mut self, problem: &mut Problem, velocities: &mut [Vec3]) -> usize {
        let slots = velocities.len();
        for list in [&mut self.residual, &mut self.direction, &mut self.image] {
            list.resize(slots, Vec3::ZERO);
        }
        self.sums.resize(slots, [0.0; 3]);
        // Walls pull towards their own velocity.
        self.apply(problem, velocities, true);
        let dot = |a: &[Vec3], b: &[Vec3], mass: &[f32]| -> f64 {
            a.iter().zip(b).zip(mass).filter(|(_, m)| m.is_finite()).map(|((a, b), m)| f64::from(a.dot(*b) * m)).sum()
        };
        for s in 0..slots {
            self.residual[s] = -self.image[s];
            self.direction[s] = self.residual[s];
        }
        let mut size = dot(&self.residual, &self.residual, problem.heaviness);
        let start = size;
        let mut iterations = 0;
        while iterations < MOST && size > TOLERANCE * TOLERANCE * start && size > 0.0 {
            let direction = std::mem::take(&mut self.direction);
            self.apply(problem, &direction, false);
            self.direction = direction;
            for s in 0..slots {
                self.image[s] += self.direction[s];
            }
            let step = (size / dot(&self.direction, &self.image, problem.heaviness)) as f32;
            if !step.is_finite() {
                break;
            }
            for s in 0..slots {
                velocities[s] += step * self.direction[s];
                self.residual[s] -= step * self.image[s];
            }
            let next = dot(&self.residual, &self.residual, problem.heaviness);
            let turn = (next / size) as f32;
            for s in 0..slots {
                self.direction[s] = self.residual[s] + turn * self.direction[s];
            }
            size = next;
            iterations += 1;
        }
        iterations
    }

    /// image = dt M⁻¹ K v; with `moving` relative to the walls' velocity.
    fn apply(&mut self, problem: &mut Problem, v: &[Vec3], moving: bool) {
        for (row, v) in problem.rows.iter_mut().zip(v) {
            row.0[4..7].copy_from_slice(&v.to_array());
        }
        pairs::sum(&Viscous, problem.chunks, problem.rows, &mut self.sums);
        for s in 0..v.len() {
            self.image[s] = Vec3::from_array(self.sums[s]) * (-problem.factor / problem.heaviness[s]);
        }
        for (touch, drag) in problem.touches.iter().zip(problem.wall_drags) {
            let s = touch.slot as usize;
            let still = if moving { DVec3::ZERO } else { touch.velocity };
            let along = touch.along(v[s].as_dvec3() + still).as_vec3();
            self.image[s] += along * (drag / problem.heaviness[s]);
        }
    }
}
