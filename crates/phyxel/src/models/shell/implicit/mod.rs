//! Implicit Euler for shells: the velocities at the end of a step minimize
//! φ(v) = ½ |v - v̂|²_M + U(x + dt v) + contact + friction, v̂ = v + dt (g + f / m).
//!
//! Gauss and Newton's method with a stiffness that is positive semidefinite by construction, conjugate gradients with a sparse
//! Cholesky factor as preconditioner, and a line search on φ. One of the starts leaves the shell as it is, so that a step never
//! ends with more energy than it began with and was given. [WSG05] names implicit integration as future work; it is explicit.
//!
//! A factor is worth its price for surfaces: thin sheets resist stretching 12 (spacing / thickness)² times as much as bending, and
//! iterations that know only their neighbors need thousands of rounds to see past that.

mod linear;
mod pace;
mod touch;

pub use pace::Pace;
pub use touch::Touch;

use super::body::Shell;
use crate::conjugate_gradient::{Stop, Workspace, dot, solve_with};
use crate::models::mls::implicit::Held;
use crate::sparse::{BlockMatrix, Cholesky};
use glam::{DMat3, DQuat, DVec3};
use linear::Linearization;
use rayon::prelude::*;
use touch::Friction;

/// Points per parallel task.
const CHUNK: usize = 2048;
/// Iterations of a linear solve beyond which a new factor is the cheaper way.
const OLD_FACTOR: usize = 10;

/// Size of the last change, relative to the step's, below which an old factor is tried.
const LITTLE: f64 = 0.3;
/// Velocity changes below this need no relative accuracy [m/s].
const CALM: f64 = 0.02;

/// How hard to try.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SolveOptions {
    /// Most Newton iterations.
    pub max_newton: usize,
    /// Newton stops when the energy norm of the next change falls below this part of the step's velocity change.
    pub newton_tolerance: f64,
    /// Residual of a linear solve over that at its start.
    pub linear_tolerance: f64,
}

impl Default for SolveOptions {
    fn default() -> Self {
        Self { max_newton: 16, newton_tolerance: 0.1, linear_tolerance: 1e-4 }
    }
}

/// How a step went.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SolveReport {
    /// Newton iterations.
    pub newton: usize,
    /// Conjugate gradient iterations, all together.
    pub cg: usize,
    /// Factors made.
    pub factors: usize,
    /// Evaluations of the energy.
    pub energies: usize,
    /// Size of the last change in the energy norm, relative to the step's velocity change.
    pub residual: f64,
    /// Whether `residual` reached the tolerance.
    pub converged: bool,
}

/// What acts on a shell during a step; points are counted from its first.
#[derive(Clone, Copy)]
pub struct Problem<'a> {
    /// Time step [s].
    pub dt: f64,
    /// Acceleration of gravity [m/s²].
    pub gravity: DVec3,
    /// Masses [kg].
    pub masses: &'a [f64],
    /// External forces [N].
    pub forces: &'a [DVec3],
    /// Pins.
    pub held: &'a [Held],
    /// Colliders.
    pub touches: &'a [Touch],
    /// Gas inside: area vectors [m²] and the loss of pressure per volume gained [Pa/m³]; its pressure itself is in `forces`.
    pub gas: Option<(&'a [DVec3], f64)>,
}

/// The solver of one shell with its scratch arrays.
#[derive(Debug, Clone, Default)]
pub struct Solver {
    /// How hard to try.
    pub options: SolveOptions,
    /// Network that the matrix is made for.
    version: Option<u64>,
    linear: Linearization,
    matrix: BlockMatrix,
    factor: Cholesky,
    /// Step the factor was made for [s]; 0: there is none.
    factored: f64,
    /// Whether the last change was small, so that an old factor may do.
    little_changes: bool,
    work: Workspace,
    friction: Friction,
    /// 1 where a direction is free, 0 where it is held.
    free: Vec<DVec3>,
    predicted: Vec<DVec3>,
    velocities: Vec<DVec3>,
    trial: Vec<DVec3>,
    moved: Vec<DVec3>,
    residuals: Vec<DVec3>,
    change: Vec<DVec3>,
    /// Where an excursion began, and the change found there.
    best: Vec<DVec3>,
    best_change: Vec<DVec3>,
    diagonal: Vec<DMat3>,
    energies: usize,
}

impl Solver {
    /// A solver that tries as hard as `options` say.
    pub fn new(options: SolveOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// Forgets what is kept between steps, so that a resumed run has the same bits.
    pub fn forget(&mut self) {
        self.factored = 0.0;
        self.little_changes = false;
    }

    /// Replaces the velocities [m/s] by those at the end of the step; positions are left to the caller (x += dt v).
    pub fn solve(
        &mut self,
        shell: &mut Shell,
        problem: &Problem,
        positions: &[DVec3],
        velocities: &mut [DVec3],
    ) -> SolveReport {
        self.prepare(shell, problem, velocities);
        let mut report = SolveReport::default();
        let mut energy = self.start(shell, problem, positions, velocities);
        let mut excursion = Excursion::default();
        while report.newton < self.options.max_newton {
            report.newton += 1;
            self.find_residuals(shell, problem, positions);
            self.linearize(shell, problem);
            self.find_change(problem, &mut report);
            let decrement = dot(&self.change, &self.residuals).max(0.0);
            report.residual = (decrement / self.velocity_scale(problem, velocities)).sqrt();
            report.converged = report.residual <= self.options.newton_tolerance;
            self.little_changes = report.residual < LITTLE;
            // Friction follows the pressing impulses just found.
            if !problem.touches.is_empty() && excursion.length == 0 {
                energy = self.energy(shell, problem, positions, Which::Velocities);
            }
            let full = self.try_step(shell, problem, positions, 1.0);
            let reference = if excursion.length > 0 { excursion.energy } else { energy };
            if full <= reference - 1e-4 * decrement + 1e-12 * reference.abs() {
                std::mem::swap(&mut self.velocities, &mut self.trial);
                energy = full;
                excursion.length = 0;
                if report.converged {
                    break;
                }
                continue;
            }
            if excursion.allowed() && full.is_finite() {
                if excursion.length == 0 {
                    (excursion.energy, excursion.decrement) = (energy, decrement);
                    self.best.clone_from(&self.velocities);
                    self.best_change.clone_from(&self.change);
                }
                excursion.length += 1;
                std::mem::swap(&mut self.velocities, &mut self.trial);
                energy = full;
                continue;
            }
            // Back to the best state, and from there as far as is safe.
            let mut promised = decrement;
            if excursion.length > 0 {
                (energy, promised) = (excursion.energy, excursion.decrement);
                self.velocities.clone_from(&self.best);
                self.change.clone_from(&self.best_change);
                excursion = Excursion { length: 0, failed: true, ..excursion };
            }
            let Some(lower) = self.search_line(shell, problem, positions, energy, promised) else { break };
            energy = lower;
        }
        if excursion.length > 0 && energy > excursion.energy {
            self.velocities.clone_from(&self.best);
        }
        report.energies = std::mem::take(&mut self.energies);
        velocities.copy_from_slice(&self.velocities);
        report
    }

    /// Impulses on the points that internal forces, gravity and external forces do not explain [N s], after `solve`: those of pins
    /// and colliders.
    pub fn reactions(&mut self, shell: &mut Shell, problem: &Problem, positions: &[DVec3], out: &mut [DVec3]) {
        self.move_by(Which::Velocities, positions, problem.dt);
        shell.measure(&self.moved);
        out.fill(DVec3::ZERO);
        shell.add_forces(out);
        for (i, out) in out.iter_mut().enumerate() {
            *out = (self.velocities[i] - self.predicted[i]) * problem.masses[i] - *out * problem.dt;
        }
        if let Some((areas, stiffness)) = problem.gas {
            let push = problem.dt * problem.dt * stiffness * dot(areas, &self.velocities);
            out.iter_mut().zip(areas).for_each(|(out, a)| *out += push * *a);
        }
    }

    // v̂, and the places of the matrix if the network is another one.
    fn prepare(&mut self, shell: &Shell, problem: &Problem, velocities: &[DVec3]) {
        if self.version != Some(shell.version()) {
            self.version = Some(shell.version());
            (self.linear, self.matrix) = Linearization::new(shell.engine());
            self.factor = Cholesky::new(&self.matrix, &shell.nodes().positions);
            self.factored = 0.0;
        }
        let n = velocities.len();
        let inverse = |m: f64| if m > 0.0 { 1.0 / m } else { 0.0 };
        let predicted =
            |i: usize| velocities[i] + (problem.gravity + problem.forces[i] * inverse(problem.masses[i])) * problem.dt;
        self.predicted.clear();
        self.predicted.extend((0..n).map(predicted));
        for array in [&mut self.trial, &mut self.moved, &mut self.residuals, &mut self.change] {
            array.clear();
            array.resize(n, DVec3::ZERO);
        }
        self.diagonal.resize(n, DMat3::ZERO);
        self.free.clear();
        self.free.resize(n, DVec3::ONE);
        for held in problem.held {
            for axis in (0..3).filter(|&axis| held.axes[axis]) {
                self.free[held.point][axis] = 0.0;
            }
        }
        self.friction.reset(problem.touches.len());
    }

    // The best of four starts: the old velocities (near for matter at rest), the predicted ones (matter in flight), the rigid part
    // of these (stiff things that turn), and none at all; returns its energy.
    fn start(&mut self, shell: &mut Shell, problem: &Problem, positions: &[DVec3], velocities: &[DVec3]) -> f64 {
        self.velocities.clear();
        self.velocities.extend_from_slice(velocities);
        hold(problem.held, &mut self.velocities);
        let mut energy = self.energy(shell, problem, positions, Which::Velocities);
        for guess in [Guess::Predicted, Guess::Rigid, Guess::Still] {
            match guess {
                Guess::Predicted => self.trial.copy_from_slice(&self.predicted),
                Guess::Rigid => rigid(problem, positions, &self.predicted, &mut self.trial),
                Guess::Still => self.trial.fill(DVec3::ZERO),
            }
            hold(problem.held, &mut self.trial);
            let trial = self.energy(shell, problem, positions, Which::Trial);
            if trial < energy || energy.is_nan() {
                energy = trial;
                std::mem::swap(&mut self.velocities, &mut self.trial);
            }
        }
        energy
    }

    // Residual impulses dt F - M (v - v̂) with contact and friction.
    fn find_residuals(&mut self, shell: &mut Shell, problem: &Problem, positions: &[DVec3]) {
        let dt = problem.dt;
        self.move_by(Which::Velocities, positions, dt);
        shell.measure(&self.moved);
        self.residuals.fill(DVec3::ZERO);
        shell.add_forces(&mut self.residuals);
        let lost = problem.gas.map_or(0.0, |(areas, stiffness)| dt * dt * stiffness * dot(areas, &self.velocities));
        for i in 0..positions.len() {
            let mass = problem.masses[i];
            self.residuals[i] = self.residuals[i] * dt - (self.velocities[i] - self.predicted[i]) * mass;
            self.diagonal[i] = DMat3::from_diagonal(DVec3::splat(mass));
        }
        if let Some((areas, _)) = problem.gas {
            self.residuals.iter_mut().zip(areas).for_each(|(r, a)| *r -= lost * *a);
        }
        self.friction.add(problem, &self.velocities, &mut self.residuals, &mut self.diagonal);
        self.residuals.iter_mut().zip(&self.free).for_each(|(r, free)| *r *= *free);
    }

    // M + dt² K with contact and friction, in the free directions.
    fn linearize(&mut self, shell: &Shell, problem: &Problem) {
        self.linear.measure(shell.engine(), &self.moved);
        self.linear.assemble(problem.dt * problem.dt, &self.diagonal, &mut self.matrix);
        if problem.held.is_empty() {
            return;
        }
        for i in 0..self.free.len() {
            for k in self.matrix.starts[i] as usize..self.matrix.starts[i + 1] as usize {
                let j = self.matrix.columns[k] as usize;
                let (rows, columns) = (self.free[i], self.free[j]);
                if rows == DVec3::ONE && columns == DVec3::ONE {
                    continue;
                }
                let block = &mut self.matrix.blocks[k];
                let mut kept = DMat3::from_diagonal(rows) * *block * DMat3::from_diagonal(columns);
                if i == j {
                    kept += DMat3::from_diagonal((DVec3::ONE - rows) * problem.masses[i].max(f64::MIN_POSITIVE));
                }
                *block = kept;
            }
        }
    }

    // Newton direction. An old factor is tried first: it is good as long as little has changed.
    fn find_change(&mut self, problem: &Problem, report: &mut SolveReport) {
        let old = self.factored == problem.dt && self.little_changes;
        if old && self.solve_linear(problem, OLD_FACTOR, report) {
            return;
        }
        self.factor.factor(&self.matrix);
        self.factored = problem.dt;
        report.factors += 1;
        self.solve_linear(problem, 4 * OLD_FACTOR, report);
    }

    fn solve_linear(&mut self, problem: &Problem, most: usize, report: &mut SolveReport) -> bool {
        let (matrix, factor, free) = (&self.matrix, &mut self.factor, &self.free);
        let gas = problem.gas.map(|(areas, stiffness)| (areas, problem.dt * problem.dt * stiffness));
        let apply = |p: &[DVec3], out: &mut [DVec3]| {
            matrix.product(p, out);
            if let Some((areas, stiffness)) = gas {
                let push = stiffness * dot(areas, p);
                out.iter_mut().zip(areas).zip(free).for_each(|((out, a), free)| *out += push * *a * *free);
            }
        };
        let precondition = |r: &[DVec3], out: &mut [DVec3]| {
            factor.solve(r, out);
            // An older factor may have held other points.
            out.iter_mut().zip(free).for_each(|(out, free)| *out *= *free);
        };
        let stop = Stop { tolerance: self.options.linear_tolerance, max_iterations: most };
        let outcome = solve_with(apply, precondition, &self.residuals, &mut self.change, stop, &mut self.work);
        report.cg += outcome.iterations;
        outcome.converged
    }

    // Shortens the change until φ falls as much as the decrement promises; None if it never does.
    fn search_line(
        &mut self,
        shell: &mut Shell,
        problem: &Problem,
        positions: &[DVec3],
        energy: f64,
        decrement: f64,
    ) -> Option<f64> {
        let mut step = 0.5;
        for _ in 0..12 {
            let trial = self.try_step(shell, problem, positions, step);
            if trial <= energy - 1e-4 * step * decrement + 1e-12 * energy.abs() {
                std::mem::swap(&mut self.velocities, &mut self.trial);
                return Some(trial);
            }
            step *= 0.5;
        }
        None
    }

    // φ after part of the change, which `trial` then holds.
    fn try_step(&mut self, shell: &mut Shell, problem: &Problem, positions: &[DVec3], step: f64) -> f64 {
        for i in 0..positions.len() {
            self.trial[i] = self.velocities[i] + self.change[i] * step;
        }
        self.energy(shell, problem, positions, Which::Trial)
    }

    // φ of the current or the trial velocities.
    fn energy(&mut self, shell: &mut Shell, problem: &Problem, positions: &[DVec3], which: Which) -> f64 {
        self.energies += 1;
        self.move_by(which, positions, problem.dt);
        shell.measure(&self.moved);
        let velocities = match which {
            Which::Velocities => &self.velocities,
            Which::Trial => &self.trial,
        };
        let inertia: f64 = (0..velocities.len())
            .map(|i| 0.5 * problem.masses[i] * (velocities[i] - self.predicted[i]).length_squared())
            .sum();
        let gas = problem.gas.map_or(0.0, |(areas, k)| 0.5 * k * (problem.dt * dot(areas, velocities)).powi(2));
        inertia + gas + shell.energy().iter().sum::<f64>() + self.friction.energy(problem, velocities)
    }

    fn move_by(&mut self, which: Which, positions: &[DVec3], dt: f64) {
        let velocities = match which {
            Which::Velocities => &self.velocities,
            Which::Trial => &self.trial,
        };
        let all = self.moved.par_iter_mut().zip(positions).zip(velocities).with_min_len(CHUNK);
        all.for_each(|((moved, x), v)| *moved = *x + *v * dt);
    }

    // Σ m |change of velocity in this step|², with gravity as the least and a trace of the motion itself.
    fn velocity_scale(&self, problem: &Problem, velocities: &[DVec3]) -> f64 {
        let least = (problem.gravity * problem.dt).length_squared().max(CALM * CALM);
        let part = |i: usize| {
            let change = (self.velocities[i] - velocities[i]).length_squared();
            problem.masses[i] * (change + least + 1e-8 * self.velocities[i].length_squared())
        };
        (0..velocities.len()).map(part).sum::<f64>().max(f64::MIN_POSITIVE)
    }
}

/// Gives held points the velocities of their pins.
fn hold(held: &[Held], velocities: &mut [DVec3]) {
    for held in held {
        for axis in (0..3).filter(|&axis| held.axes[axis]) {
            velocities[held.point][axis] = held.velocity[axis];
        }
    }
}

/// Velocities that move the points as the rigid part of `predicted` does: a true turn over the step, which strains nothing.
fn rigid(problem: &Problem, positions: &[DVec3], predicted: &[DVec3], out: &mut [DVec3]) {
    let mass = problem.masses.iter().sum::<f64>();
    let mean = |v: &[DVec3]| v.iter().zip(problem.masses).map(|(v, m)| *v * *m).sum::<DVec3>() / mass;
    let (center, velocity) = (mean(positions), mean(predicted));
    let (mut spin, mut inertia) = (DVec3::ZERO, DMat3::ZERO);
    for ((x, v), m) in positions.iter().zip(predicted).zip(problem.masses) {
        let d = *x - center;
        spin += d.cross(*v - velocity) * *m;
        inertia += (DMat3::from_diagonal(DVec3::splat(d.length_squared())) - crate::linalg::outer(d, d)) * *m;
    }
    let turn = crate::linalg::safe_inverse(inertia, 1e-9).0 * spin * problem.dt;
    let turn = if turn.is_finite() { DQuat::from_scaled_axis(turn) } else { DQuat::IDENTITY };
    for (out, x) in out.iter_mut().zip(positions) {
        let d = *x - center;
        *out = velocity + (turn * d - d) / problem.dt;
    }
}

/// Iterations that climb before they fall. Points of a sheet that hardly stretches move on curved ways; a straight change stretches
/// it, which costs far more energy than the change gains, and the next iteration takes the stretch back. Insisting on a lower
/// energy every time would allow tiny changes only.
#[derive(Debug, Clone, Copy, Default)]
struct Excursion {
    /// Iterations since the best state.
    length: usize,
    /// Its energy [J], and what the change from there promised.
    energy: f64,
    decrement: f64,
    /// Whether one has led nowhere in this step.
    failed: bool,
}

impl Excursion {
    const LONGEST: usize = 3;

    fn allowed(&self) -> bool {
        !self.failed && self.length < Self::LONGEST
    }
}

/// First guesses of the velocities besides the old ones.
enum Guess {
    Predicted,
    Rigid,
    Still,
}

/// Which of the two velocity arrays.
#[derive(Clone, Copy)]
enum Which {
    Velocities,
    Trial,
}

#[cfg(test)]
mod tests;
