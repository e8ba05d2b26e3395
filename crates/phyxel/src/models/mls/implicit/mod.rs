//! Implicit Euler: the end-of-step velocities minimize φ(v) = ½ |v - v̂|²_M + U(u + dt v), v̂ = v + dt (g + f / m).
//!
//! Newton's method with the positive semidefinite tangent, a preconditioned conjugate gradient solve per iteration and a
//! backtracking line search: stable at any time step and from any strained start, at the price of strong damping of
//! vibrations faster than the step. [MKN04] eq. 46 linearizes once with the true tangent instead, which explodes under
//! compression. Linear momentum is kept to rounding; angular momentum as far as Newton converges.

mod constraints;
mod lanes;
mod operator;

pub use constraints::{Constraints, ContactConstraint, Held, PairPenalty, STICK_SPEED};
pub(crate) use lanes::widest;

use super::stencils::Stencils;
use crate::conjugate_gradient::{self, CHUNK, Stop, Workspace, chunked_sum, dot};
use crate::materials::ElasticLaw;
use crate::points::Points;
use constraints::ActiveSet;
use glam::{DMat3, DVec3};
use operator::{Operator, Solid};
use rayon::prelude::*;

/// How hard to try.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SolveOptions {
    /// Most Newton iterations.
    pub max_newton: usize,
    /// Newton stops when the energy norm of the next change falls below this part of the step's velocity change.
    pub newton_tolerance: f64,
    /// Each linear solve.
    pub linear: Stop,
}

impl Default for SolveOptions {
    fn default() -> Self {
        let linear = Stop { tolerance: 1e-3, max_iterations: 500 };
        Self { max_newton: 8, newton_tolerance: 1e-3, linear }
    }
}

/// How a step went.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SolveReport {
    /// Newton iterations.
    pub newton: usize,
    /// Conjugate gradient iterations, all together.
    pub cg: usize,
    /// Size of the last change in the energy norm, relative to the step's velocity change.
    pub residual: f64,
    /// Whether `residual` reached the tolerance.
    pub converged: bool,
}

/// What is integrated, besides the points.
#[derive(Clone, Copy)]
pub struct Problem<'a> {
    /// Neighborhoods of all points.
    pub stencils: &'a Stencils,
    /// One law per body.
    pub laws: &'a [ElasticLaw],
    /// Plastic strain of each point in the measure JᵀJ - I; empty: none.
    pub stored_strains: &'a [DMat3],
    /// Time step [s].
    pub dt: f64,
    /// Acceleration of gravity [m/s²].
    pub gravity: DVec3,
    /// Pins, colliders, touching bodies.
    pub constraints: &'a Constraints,
}

/// The solver with its scratch arrays and the last step's velocity change, one of its first guesses for the next.
#[derive(Debug, Clone, Default)]
pub struct Solver {
    /// How hard to try.
    pub options: SolveOptions,
    last_change: Vec<DVec3>,
    operator: Operator,
    active: ActiveSet,
    work: Workspace,
    displacements: Vec<DVec3>,
    predicted: Vec<DVec3>,
    velocities: Vec<DVec3>,
    trial: Vec<DVec3>,
    moved: Vec<DVec3>,
    residuals: Vec<DVec3>,
    change: Vec<DVec3>,
    blocks: Vec<DMat3>,
}

impl Solver {
    /// Velocity changes of the last step, the first guess for the next [m/s]; part of what a restart needs.
    pub fn warm_start(&self) -> &[DVec3] {
        &self.last_change
    }

    /// Sets the first guess for the next step, after a restart.
    pub fn set_warm_start(&mut self, change: Vec<DVec3>) {
        self.last_change = change;
    }

    /// Replaces the velocities by those at the end of the step; positions are left to the caller (x += dt v).
    /// External forces are read and zeroed.
    pub fn solve(&mut self, problem: &Problem, points: &mut Points) -> SolveReport {
        let solid = Solid {
            stencils: problem.stencils,
            laws: problem.laws,
            bodies: &points.bodies,
            stored_strains: problem.stored_strains,
        };
        self.operator.prepare(solid);
        self.predict(problem, points);
        let mut energy = self.start(problem, solid, points);
        let mut report = SolveReport::default();
        while report.newton < self.options.max_newton {
            report.newton += 1;
            self.find_residuals(problem, solid, points);
            let outcome = self.find_change(problem, solid, points);
            report.cg += outcome.iterations;
            let decrement = dot(&self.change, &self.residuals).max(0.0);
            report.residual = (decrement / self.velocity_scale(problem, points)).sqrt();
            report.converged = report.residual <= self.options.newton_tolerance;
            // Friction follows the pressing impulses just found.
            if !problem.constraints.contacts.is_empty() {
                energy = self.energy(problem, solid, &points.masses, Which::Velocities);
            }
            let Some(lower) = self.search_line(problem, solid, points, energy, decrement) else { break };
            energy = lower;
            if report.converged {
                break;
            }
        }
        self.finish(points);
        report
    }

    // v̂ and the displacements at the start.
    fn predict(&mut self, problem: &Problem, points: &Points) {
        let n = points.len();
        let inverse = |m: f64| if m > 0.0 { 1.0 / m } else { 0.0 };
        let predicted = |i: usize| {
            points.velocities[i] + (problem.gravity + points.forces[i] * inverse(points.masses[i])) * problem.dt
        };
        self.predicted.clear();
        self.predicted.extend((0..n).map(predicted));
        self.displacements.clear();
        self.displacements.extend((0..n).map(|i| points.positions[i] - points.rest_positions[i]));
        for array in [&mut self.trial, &mut self.moved, &mut self.residuals] {
            array.clear();
            array.resize(n, DVec3::ZERO);
        }
        self.active.reset(n, problem.constraints.contacts.len());
    }

    // The best of three starts: the old velocities (near for matter at rest), the predicted ones (matter in flight), the old
    // ones with the last step's change (vibration); returns its energy.
    fn start(&mut self, problem: &Problem, solid: Solid, points: &Points) -> f64 {
        self.velocities.clear();
        self.velocities.extend_from_slice(&points.velocities);
        problem.constraints.enforce(&mut self.velocities);
        let mut energy = self.energy(problem, solid, &points.masses, Which::Velocities);
        for guess in [Guess::Predicted, Guess::LikeLast] {
            match guess {
                Guess::Predicted => self.trial.copy_from_slice(&self.predicted),
                Guess::LikeLast if self.last_change.len() != points.len() => continue,
                Guess::LikeLast => {
                    let sums = points.velocities.iter().zip(&self.last_change).map(|(v, change)| *v + *change);
                    self.trial.iter_mut().zip(sums).for_each(|(trial, sum)| *trial = sum);
                }
            }
            problem.constraints.enforce(&mut self.trial);
            let trial = self.energy(problem, solid, &points.masses, Which::Trial);
            if trial < energy {
                energy = trial;
                std::mem::swap(&mut self.velocities, &mut self.trial);
            }
        }
        energy
    }

    // Residual impulses dt F - M (v - v̂), and the state of the constraints that follows from them.
    fn find_residuals(&mut self, problem: &Problem, solid: Solid, points: &Points) {
        let dt = problem.dt;
        self.move_by(Which::Velocities, dt);
        self.operator.forces(solid, &self.moved, &mut self.residuals);
        for i in 0..points.len() {
            self.residuals[i] = self.residuals[i] * dt - (self.velocities[i] - self.predicted[i]) * points.masses[i];
        }
        problem.constraints.add_pair_impulses(&self.velocities, dt, &mut self.residuals);
        self.active.update(problem.constraints, &self.velocities, &mut self.residuals);
        for i in 0..points.len() {
            self.residuals[i] = self.active.free[i] * self.residuals[i];
        }
    }

    // Newton direction: (M - dt² K + friction + pairs) change = residuals in the free directions.
    fn find_change(&mut self, problem: &Problem, solid: Solid, points: &Points) -> conjugate_gradient::Outcome {
        let dt = problem.dt;
        self.operator.linearize(solid, &self.moved);
        self.invert_blocks(problem, solid, points);
        let (operator, active, velocities) = (&mut self.operator, &self.active, &self.velocities);
        let apply = |p: &[DVec3], out: &mut [DVec3]| {
            operator.product(solid, p, out);
            out.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, out)| {
                for (k, out) in out.iter_mut().enumerate() {
                    let i = chunk * CHUNK + k;
                    *out = p[i] * points.masses[i] - *out * (dt * dt) + active.extra[i] * p[i];
                }
            });
            problem.constraints.add_pair_products(velocities, p, dt, out);
            out.par_iter_mut().with_min_len(CHUNK).zip(&active.free).for_each(|(out, free)| *out = *free * *out);
        };
        let blocks = &self.blocks;
        let precondition = |i: usize, r: DVec3| blocks[i] * r;
        let stop = self.options.linear;
        let outcome =
            conjugate_gradient::solve(apply, precondition, &self.residuals, &mut self.change, stop, &mut self.work);
        self.keep_momentum(problem.constraints, points);
        outcome
    }

    // The tangent does not feel a translation, so Σ m change = Σ residuals holds for a body that nothing touches; the
    // linear solve reaches this only to its tolerance, a shift reaches it exactly.
    fn keep_momentum(&mut self, constraints: &Constraints, points: &Points) {
        let bodies = &points.bodies;
        let touched = constraints.touched_bodies(bodies);
        for range in bodies.chunk_by(|a, b| a == b).scan(0, |end, run| {
            let start = *end;
            *end += run.len();
            Some(start..*end)
        }) {
            if touched.contains(&bodies[range.start]) {
                continue;
            }
            let missing: DVec3 = range.clone().map(|i| self.residuals[i] - self.change[i] * points.masses[i]).sum();
            let shift = missing / points.masses[range.clone()].iter().sum::<f64>();
            if shift.is_finite() {
                self.change[range].iter_mut().for_each(|change| *change += shift);
            }
        }
    }

    // Inverse diagonal blocks in the free directions of each point.
    fn invert_blocks(&mut self, problem: &Problem, solid: Solid, points: &Points) {
        let (operator, active, dt) = (&self.operator, &self.active, problem.dt);
        let block = |i: usize| {
            let inertia = DMat3::from_diagonal(DVec3::splat(points.masses[i]));
            inertia + operator.diagonal_block(solid, i) * (dt * dt) + active.extra[i]
        };
        (0..points.len()).into_par_iter().with_min_len(64).map(block).collect_into_vec(&mut self.blocks);
        problem.constraints.add_pair_blocks(&self.velocities, dt, &mut self.blocks);
        for (block, free) in self.blocks.iter_mut().zip(&active.free) {
            let size = (block.x_axis.x + block.y_axis.y + block.z_axis.z) / 3.0;
            let held = DMat3::IDENTITY - *free;
            let inverse = (*free * *block * *free + held * size).inverse();
            *block = if inverse.is_finite() { *free * inverse * *free } else { DMat3::ZERO };
        }
    }

    // Halves the step until φ falls as much as the decrement promises; None if it never does.
    fn search_line(
        &mut self,
        problem: &Problem,
        solid: Solid,
        points: &Points,
        energy: f64,
        decrement: f64,
    ) -> Option<f64> {
        let mut step = 1.0;
        for _ in 0..12 {
            for i in 0..points.len() {
                self.trial[i] = self.velocities[i] + self.change[i] * step;
            }
            problem.constraints.enforce(&mut self.trial);
            let trial = self.energy(problem, solid, &points.masses, Which::Trial);
            if trial <= energy - 1e-4 * step * decrement + 1e-12 * energy.abs() {
                std::mem::swap(&mut self.velocities, &mut self.trial);
                return Some(trial);
            }
            step *= 0.5;
        }
        None
    }

    // φ of the current or the trial velocities.
    fn energy(&mut self, problem: &Problem, solid: Solid, masses: &[f64], which: Which) -> f64 {
        self.move_by(which, problem.dt);
        let velocities = self.pick(which);
        let inertia = chunked_sum(masses.len(), 0.0, |range| {
            range.map(|i| 0.5 * masses[i] * (velocities[i] - self.predicted[i]).length_squared()).sum::<f64>()
        });
        let elastic = self.operator.energy(solid, &self.moved);
        inertia + elastic + problem.constraints.energy(&self.active, velocities, problem.dt)
    }

    fn pick(&self, which: Which) -> &[DVec3] {
        match which {
            Which::Velocities => &self.velocities,
            Which::Trial => &self.trial,
        }
    }

    fn move_by(&mut self, which: Which, dt: f64) {
        let velocities = match which {
            Which::Velocities => &self.velocities,
            Which::Trial => &self.trial,
        };
        for ((moved, u), v) in self.moved.iter_mut().zip(&self.displacements).zip(velocities) {
            *moved = *u + *v * dt;
        }
    }

    // Σ m |change of velocity in this step|², with gravity as the least and a trace of the motion itself.
    fn velocity_scale(&self, problem: &Problem, points: &Points) -> f64 {
        let least = (problem.gravity * problem.dt).length_squared();
        let sum = chunked_sum(points.len(), 0.0, |range| {
            range
                .map(|i| {
                    let change = (self.velocities[i] - points.velocities[i]).length_squared();
                    points.masses[i] * (change + least + 1e-8 * self.velocities[i].length_squared())
                })
                .sum::<f64>()
        });
        sum.max(f64::MIN_POSITIVE)
    }

    fn finish(&mut self, points: &mut Points) {
        self.last_change.clear();
        self.last_change.extend(self.velocities.iter().zip(&points.velocities).map(|(new, old)| *new - *old));
        points.velocities.copy_from_slice(&self.velocities);
        points.forces.fill(DVec3::ZERO);
    }
}

/// First guesses of the velocities besides the old ones.
enum Guess {
    Predicted,
    LikeLast,
}

/// Which of the two velocity arrays.
#[derive(Clone, Copy)]
enum Which {
    Velocities,
    Trial,
}

#[cfg(test)]
mod tests;
