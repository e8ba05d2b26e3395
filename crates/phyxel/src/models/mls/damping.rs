//! Damping of all motion but rigid motion.
//!
//! `v -= (1 - factor)(v - v_rigid)`, where v_rigid is the rigid motion with the body's momentum and angular momentum: both
//! are kept to rounding. Sums run over fixed chunks, chunk results in order: the same bits on any number of threads.

use crate::linalg::{safe_inverse, trace};
use crate::points::Points;
use glam::{DMat3, DVec3};
use rayon::prelude::*;
use std::ops::Range;

/// Points per chunk of the sums.
const CHUNK: usize = 2048;

/// A rigid motion: `v(x) = velocity + spin × (x - center)`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RigidMotion {
    /// Velocity of the center [m/s].
    pub velocity: DVec3,
    /// Angular velocity [rad/s].
    pub spin: DVec3,
    /// Center of mass [m].
    pub center: DVec3,
}

impl RigidMotion {
    /// The rigid motion with the momentum and angular momentum of the points in `range`.
    pub fn of(points: &Points, range: Range<usize>) -> Self {
        let first = sum(points, &range, |m, x, v| [m, m * x.x, m * x.y, m * x.z, m * v.x, m * v.y, m * v.z, 0.0, 0.0]);
        let mass = first[0];
        if mass <= 0.0 {
            return Self::default();
        }
        let center = DVec3::new(first[1], first[2], first[3]) / mass;
        let velocity = DVec3::new(first[4], first[5], first[6]) / mass;
        let second = sum(points, &range, |m, x, v| {
            let (r, v) = (x - center, v - velocity);
            let l = r.cross(v) * m;
            [l.x, l.y, l.z, m * r.x * r.x, m * r.y * r.y, m * r.z * r.z, m * r.y * r.z, m * r.z * r.x, m * r.x * r.y]
        });
        let angular_momentum = DVec3::new(second[0], second[1], second[2]);
        let [xx, yy, zz, yz, zx, xy] = [second[3], second[4], second[5], second[6], second[7], second[8]];
        let spread = DMat3::from_cols_array(&[xx, xy, zx, xy, yy, yz, zx, yz, zz]);
        let inertia = DMat3::IDENTITY * trace(spread) - spread;
        // A thread or a single point has no inertia about some axis, and no spin about it.
        let spin = safe_inverse(inertia, 1e-12).0 * angular_momentum;
        Self { velocity, spin, center }
    }

    /// Its velocity at a place [m/s].
    #[inline]
    pub fn at(&self, x: DVec3) -> DVec3 {
        self.velocity + self.spin.cross(x - self.center)
    }
}

/// Pulls the velocities of the points in `range` towards a rigid motion: what differs from it is multiplied by `factor`.
pub fn damp_towards(points: &mut Points, range: Range<usize>, factor: f64, motion: RigidMotion) {
    let positions = &points.positions[range.clone()];
    let pull = |(x, v): (&DVec3, &mut DVec3)| *v -= (*v - motion.at(*x)) * (1.0 - factor);
    let velocities = &mut points.velocities[range];
    if positions.len() <= CHUNK {
        positions.iter().zip(velocities).for_each(pull);
    } else {
        positions.par_iter().zip(velocities).with_min_len(CHUNK).for_each(pull);
    }
}

/// Sums of nine quantities (mass, position, velocity) -> values over a range.
fn sum(points: &Points, range: &Range<usize>, values: impl Fn(f64, DVec3, DVec3) -> [f64; 9] + Sync) -> [f64; 9] {
    let add = |mut a: [f64; 9], b: [f64; 9]| {
        for k in 0..9 {
            a[k] += b[k];
        }
        a
    };
    let chunk = |c: usize| {
        let start = range.start + c * CHUNK;
        (start..(start + CHUNK).min(range.end))
            .map(|i| values(points.masses[i], points.positions[i], points.velocities[i]))
            .fold([0.0; 9], add)
    };
    if range.len() <= CHUNK {
        return chunk(0);
    }
    let chunks: Vec<[f64; 9]> = (0..range.len().div_ceil(CHUNK)).into_par_iter().map(chunk).collect();
    chunks.into_iter().fold([0.0; 9], add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn cloud() -> Points {
        let mut points = Points::default();
        let mut random = Random::new(1, 0);
        for _ in 0..5000 {
            let place = random.in_cube() * DVec3::new(0.5, 1.0, 0.5) + DVec3::Y * 3.0;
            let i = points.push(0, place, random.between(0.5, 1.5), 1.0, 0.1);
            points.velocities[i] = random.in_cube() + DVec3::X + DVec3::Y.cross(place) * 2.0;
        }
        points
    }

    fn momenta(points: &Points) -> (DVec3, DVec3) {
        let each = |i: usize| points.velocities[i] * points.masses[i];
        ((0..points.len()).map(each).sum(), (0..points.len()).map(|i| points.positions[i].cross(each(i))).sum())
    }

    #[test]
    fn damping_keeps_both_momenta_and_takes_energy() {
        let mut points = cloud();
        let (p, l) = momenta(&points);
        let motion = RigidMotion::of(&points, 0..points.len());
        let energy = |points: &Points| points.velocities.iter().map(|v| v.length_squared()).sum::<f64>();
        let before = energy(&points);
        let all = 0..points.len();
        damp_towards(&mut points, all, 0.5, motion);
        let (p2, l2) = momenta(&points);
        assert!((p2 - p).length() < 1e-12 * p.length() && (l2 - l).length() < 1e-12 * l.length());
        assert!(energy(&points) < 0.99 * before);
    }

    #[test]
    fn rigid_motion_is_left_alone() {
        let mut points = cloud();
        let motion = RigidMotion { velocity: DVec3::X, spin: DVec3::new(1.0, 2.0, 3.0), center: DVec3::ZERO };
        for i in 0..points.len() {
            points.velocities[i] = motion.at(points.positions[i]);
        }
        let before = points.velocities.clone();
        let all = 0..points.len();
        let found = RigidMotion::of(&points, all.clone());
        damp_towards(&mut points, all, 0.0, found);
        let worst = before.iter().zip(&points.velocities).map(|(a, b)| (*a - *b).length()).fold(0.0, f64::max);
        assert!(worst < 1e-12, "{worst}");
    }

    #[test]
    fn a_single_point_and_no_point_are_defined() {
        let mut points = Points::default();
        assert_eq!(RigidMotion::of(&points, 0..0), RigidMotion::default());
        points.push(0, DVec3::ONE, 2.0, 1.0, 1.0);
        points.velocities[0] = DVec3::X;
        let motion = RigidMotion::of(&points, 0..1);
        assert_eq!((motion.velocity, motion.spin), (DVec3::X, DVec3::ZERO));
    }
}
