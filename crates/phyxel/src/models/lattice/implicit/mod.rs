//! Implicit Euler for lattices: positions at the end of a step minimize ½ |x - y|²_M / dt² + U(x), contact and friction included.
//!
//! Rounds of Gauss and Newton: each brings the rotations up to the positions and solves one linear system by conjugate gradients, so
//! that bonds may change from step to step. [WHP06] names implicit integration as future work.
//!
//! Implicit Euler as it stands lets points of a turning body run along tangents, pulls them back and loses angular momentum. Here y
//! is the rigid motion of the piece (a turn, not a tangent) with the rest of the velocities turned along, and each piece keeps
//! exactly the momenta that the forces on it from outside leave it with.

mod pace;
mod piece;
mod system;
mod touch;

#[cfg(test)]
mod tests;

pub use pace::{TRAVEL, travel_step};

use super::LatticeModel;
use super::contact::{STIFFEST, Touching};
use super::forces::{add_elastic, fit};
use super::particles::NOBODY;
use crate::conjugate_gradient::{Stop, Workspace, solve};
use crate::models::mls::implicit::Held;
use crate::models::shell::implicit::Touch;
use crate::points::Points;
use glam::{BVec3, DVec3};
use piece::Motion;
use rayon::prelude::*;
use system::System;
use touch::Pressed;

/// Longest step [s].
pub const LONGEST: f64 = 1.0 / 240.0;
/// Rounds of rotations and solves at most. A step that ends before it has converged is still safe: momenta are those of the forces that the
/// last round found, and so speeds those of the ways that particles went.
const ROUNDS: usize = 8;
/// Root of the mean square of a round's changes below which it was the last one: in spacings, and in the ways of the step. What rests is found
/// exactly, what moves need not be; single particles between sticking and sliding hold nobody up.
const SMALL: f64 = 1e-5;
const SMALL_PART: f64 = 1e-2;
/// Part of the turning of neighborhoods that the matrix knows of, by rounds. Stretched bonds are stiffer across than it says with all of it; without it
/// the matrix bounds the true one, and nothing can go wrong but slowly.
const TURNING: [f64; 4] = [1.0, 0.9, 0.5, 0.0];
/// Growth of the residual's square at which a change went too far, and the shortest part of a change that is taken.
const WORSE: f64 = 4.0;
const SHORTEST_WAY: f64 = 0.1;
/// Residual of a linear solve over that at its start, and its most iterations. What rests is found by the first round alone.
const FIRST_STOP: Stop = Stop { tolerance: 0.05, max_iterations: 100 };
const STOP: Stop = Stop { tolerance: 0.15, max_iterations: 100 };
/// Particles per parallel task.
const CHUNK: usize = 1024;

/// What acts on the lattices during a step.
pub struct Surroundings<'a> {
    /// Time step [s].
    pub dt: f64,
    /// Pins, by points of the table.
    pub held: &'a [Held],
    /// Colliders in the way, by points of the table.
    pub touches: &'a [Touch],
}

/// How a step went.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Report {
    /// Rounds.
    pub rounds: usize,
    /// Iterations of the linear solves, all together.
    pub iterations: usize,
    /// Largest change of the last round, in spacings.
    pub change: f64,
}

/// The solver with its scratch arrays. Nothing in it outlives a step but `turned`, which `carry_on` takes.
#[derive(Debug, Clone, Default)]
pub struct Solver {
    system: System,
    work: Workspace,
    /// Velocities before the forces of the step [m/s]. Written by `remember`.
    before: Vec<DVec3>,
    /// Positions at the start of the step [m].
    start: Vec<DVec3>,
    /// Where matter would go without forces inside [m], and its velocity there [m/s].
    predicted: Vec<DVec3>,
    coasting: Vec<DVec3>,
    residuals: Vec<DVec3>,
    /// Forces of contact and colliders: at the positions of the last round, at the end of it as its matrix has them [N].
    outside: Vec<DVec3>,
    /// Change of the last round [m], by particle.
    change: Vec<DVec3>,
    /// The linear system by rows: right side, solution, one over the diagonal, free directions.
    right: Vec<DVec3>,
    solution: Vec<DVec3>,
    diagonal: Vec<f64>,
    free_rows: Vec<DVec3>,
    /// 1 where a direction is free, 0 where a pin holds it.
    free: Vec<DVec3>,
    /// Touches by particle.
    touches: Vec<Pressed>,
    /// Particle of each point of the table.
    particles_of: Vec<u32>,
    motions: Vec<Motion>,
    /// Velocities as they go on, less those that points move with [m/s].
    turned: Vec<DVec3>,
}

impl LatticeModel {
    /// Steps solids implicitly from now on.
    pub fn step_implicitly(&mut self) {
        self.implicit = Some(Box::default());
    }

    /// Whether solids are stepped implicitly.
    pub fn is_implicit(&self) -> bool {
        self.implicit.is_some()
    }

    /// Phase: replaces velocities of the points by those that they move with in this step. `reactions` gets the impulses of pins and
    /// colliders on the points [N s].
    pub fn solve(&mut self, points: &mut Points, around: &Surroundings, reactions: &mut [DVec3]) -> Report {
        let Some(mut solver) = self.implicit.take() else { return Report::default() };
        let report = match self.has_bound() {
            true => solver.solve(self, points, around, reactions),
            false => Report::default(),
        };
        solver.turned.resize(if report.rounds > 0 { self.particles.len() } else { 0 }, DVec3::ZERO);
        self.implicit = Some(solver);
        report
    }

    /// Phase: after the points have moved, velocities as they go on.
    pub fn carry_on(&mut self, points: &mut Points) {
        let Some(solver) = &mut self.implicit else { return };
        for (turned, &i) in solver.turned.iter().zip(&self.particles.members) {
            points.velocities[i as usize] += *turned;
        }
        solver.turned.clear();
    }
}

impl Solver {
    /// Takes note of the velocities that the step begins with.
    pub(super) fn remember(&mut self, particles: &super::Particles) {
        self.before.clone_from(&particles.velocities);
    }

    /// Forgets what is kept between steps.
    pub(super) fn forget(&mut self) {
        self.turned.clear();
    }

    fn solve(
        &mut self,
        model: &mut LatticeModel,
        points: &mut Points,
        around: &Surroundings,
        reactions: &mut [DVec3],
    ) -> Report {
        let dt = around.dt;
        model.particles.gather(points);
        self.begin(model, points, around);
        self.find_stopped(model);
        self.system.build(model, dt);
        let mut size = self.choose_start(model, dt);
        let mut report = Report::default();
        let (mut way, mut doubts) = (1.0, 0);
        let bound = model.particles.phases.iter().filter(|p| p.is_bound()).count() as f64;
        while report.rounds < ROUNDS {
            report.rounds += 1;
            if report.rounds > 1 {
                self.find_residuals(model, dt);
                let now = self.residual_size(&model.particles);
                if now.partial_cmp(&(WORSE * size)).is_none_or(|o| o.is_gt()) && way > SHORTEST_WAY {
                    // Too far: half way back.
                    way *= 0.5;
                    doubts += 1;
                    model.particles.positions.iter_mut().zip(&self.change).for_each(|(x, d)| *x -= *d * way);
                    continue;
                }
                (size, way) = (now, 1.0);
            }
            let LatticeModel { sites: Some(sites), particles, matters, contacts, .. } = &mut *model else { break };
            let turning = TURNING[(report.rounds / 4 + doubts).min(3)];
            self.system.weigh(&Touching { particles, sites, matters, dt }, contacts, &self.touches, turning);
            let stop = if report.rounds == 1 { FIRST_STOP } else { STOP };
            report.iterations += self.find_change(stop);
            let square: f64 = self.solution.iter().map(|d| d.length_squared()).sum();
            if !square.is_finite() {
                self.stand_still();
                break;
            }
            particles.positions.iter_mut().zip(&self.change).for_each(|(x, d)| *x += *d);
            report.change = (square / bound).sqrt() / sites.spacing;
            let gone = self.mean_way(particles, bound) / sites.spacing;
            if report.change < SMALL.max(SMALL_PART * gone) {
                break;
            }
        }
        if way < 1.0 {
            self.find_residuals(model, dt);
            self.stand_still();
        }
        self.finish(model, points, around, reactions);
        report
    }

    /// Solves for the change of a round, up to `stop`; returns the iterations that it took.
    fn find_change(&mut self, stop: Stop) -> usize {
        let Self { system, free, free_rows, diagonal, residuals, right, solution, change, work, .. } = self;
        system.invert_diagonal(diagonal);
        right.clear();
        right.extend(system.rows.iter().map(|i| residuals[*i as usize]));
        free_rows.clear();
        free_rows.extend(system.rows.iter().map(|i| free[*i as usize]));
        let apply = |p: &[DVec3], out: &mut [DVec3]| system.apply(p, free_rows, out);
        let precondition = |k: usize, r: DVec3| r * diagonal[k];
        let outcome = solve(apply, precondition, right, solution, stop, work);
        change.clear();
        change.resize(free.len(), DVec3::ZERO);
        for (&i, way) in system.rows.iter().zip(&*solution) {
            change[i as usize] = *way;
        }
        outcome.iterations
    }

    /// Takes the last change for none.
    fn stand_still(&mut self) {
        self.change.fill(DVec3::ZERO);
        self.solution.fill(DVec3::ZERO);
    }

    /// Root of the mean square of the ways that `bound` particles have gone in this step [m].
    fn mean_way(&self, particles: &super::Particles, bound: f64) -> f64 {
        let own = particles.positions.iter().zip(&self.start).zip(&particles.phases).filter(|(_, p)| p.is_bound());
        let sum: f64 = own.map(|((x, start), _)| x.distance_squared(*start)).sum();
        (sum / bound).sqrt()
    }

    fn residual_size(&self, particles: &super::Particles) -> f64 {
        let weighted = |i: usize| self.residuals[i].length_squared() / particles.masses[i];
        crate::conjugate_gradient::chunked_sum(self.residuals.len(), 0.0, |r| r.map(weighted).sum())
    }

    /// Where everything coasts to, and what stands in the way.
    fn begin(&mut self, model: &mut LatticeModel, points: &Points, around: &Surroundings) {
        let dt = around.dt;
        let LatticeModel { sites: Some(sites), particles, matters, pieces, .. } = model else { return };
        self.motions.clear();
        self.motions.extend(pieces.motions(particles, sites.dimensions).map(|m| Motion::new(m, dt)));
        self.start.clone_from(&particles.positions);
        self.predicted.clear();
        self.coasting.clear();
        for (i, (&x, &v)) in particles.positions.iter().zip(&particles.velocities).enumerate() {
            let (y, u) = match pieces.label(i) {
                Some(piece) => self.motions[piece].coast(x, v, dt),
                None => (x + v * dt, v),
            };
            self.predicted.push(y);
            self.coasting.push(u);
        }
        if self.particles_of.len() != points.len() {
            self.particles_of.clear();
            self.particles_of.resize(points.len(), NOBODY);
            for (k, &i) in particles.members.iter().enumerate() {
                self.particles_of[i as usize] = k as u32;
            }
        }
        self.free.clear();
        let free = |i: usize| if particles.phases[i].is_bound() { DVec3::ONE } else { DVec3::ZERO };
        self.free.extend((0..particles.len()).map(free));
        for held in around.held {
            let Some(k) = self.particle_of(held.point) else { continue };
            let axes = BVec3::from(held.axes);
            self.free[k] = DVec3::select(axes, DVec3::ZERO, self.free[k]);
            // Held points go where their pins want them, whatever the start.
            self.predicted[k] = DVec3::select(axes, self.start[k] + held.velocity * dt, self.predicted[k]);
            if let Some(piece) = pieces.label(k) {
                self.motions[piece].held = true;
            }
        }
        self.touches.clear();
        for touch in around.touches {
            let Some(k) = self.particle_of(touch.point) else { continue };
            if particles.phases[k].is_bound() {
                let bond = matters[particles.kinds[k] as usize].stiffness * sites.self_weight;
                let stiffness = (touch::STIFFNESS * bond).min(STIFFEST * particles.masses[k] / (dt * dt));
                self.touches.push(Pressed {
                    touch: Touch { point: k, stiffness, ..*touch },
                    pressing: 0.0,
                    given: DVec3::ZERO,
                });
            }
        }
    }

    fn particle_of(&self, point: usize) -> Option<usize> {
        self.particles_of.get(point).filter(|k| **k != NOBODY).map(|k| *k as usize)
    }

    /// Begins where pieces coast to, or, if something stands in the way of them, where they would go by their velocity before this step's
    /// forces: what falls is found by the first, what rests by the second. Finds the residuals there and returns their size.
    fn choose_start(&mut self, model: &mut LatticeModel, dt: f64) -> f64 {
        let velocities = &model.particles.velocities;
        for (i, x) in model.particles.positions.iter_mut().enumerate() {
            let rests = model.pieces.label(i).is_some_and(|piece| self.motions[piece].stopped);
            let kick = if rests { (self.before[i] - velocities[i]) * dt * self.free[i] } else { DVec3::ZERO };
            *x = self.predicted[i] + kick;
        }
        self.find_residuals(model, dt);
        self.residual_size(&model.particles)
    }

    /// Takes note of the pieces that are held, touch a collider or another piece, or lie in the liquid.
    fn find_stopped(&mut self, model: &LatticeModel) {
        let LatticeModel { particles, pieces, contacts, .. } = model;
        let liquid = model.has_liquid();
        self.motions.iter_mut().for_each(|m| m.stopped = m.held || liquid);
        let touched = self.touches.iter().map(Pressed::particle);
        let near = (0..particles.len()).filter(|i| !contacts.row(*i).is_empty());
        for piece in touched.chain(near).filter_map(|i| pieces.label(i)) {
            self.motions[piece].stopped = true;
        }
    }

    /// M (y - x) / dt² + F(x) of all free particles [N], with velocities and rotations brought up to the positions.
    fn find_residuals(&mut self, model: &mut LatticeModel, dt: f64) {
        self.move_velocities(&mut model.particles, dt);
        let LatticeModel { sites: Some(sites), particles, bonds, matters, contacts, forces, .. } = model else {
            return;
        };
        fit(particles, bonds, sites);
        let outside = &mut self.outside;
        outside.clear();
        outside.resize(particles.len(), DVec3::ZERO);
        contacts.look(&Touching { particles, sites, matters, dt }, outside);
        for touch in &mut self.touches {
            touch.feel(particles.velocities[touch.particle()], dt);
            outside[touch.particle()] += touch.given;
        }
        forces.clone_from(outside);
        add_elastic(particles, bonds, sites, matters, forces);
        self.residuals.resize(particles.len(), DVec3::ZERO);
        let (particles, forces) = (&*particles, &*forces);
        let (predicted, free) = (&self.predicted, &self.free);
        self.residuals.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, residuals)| {
            for (k, residual) in residuals.iter_mut().enumerate() {
                let i = chunk * CHUNK + k;
                let inertia = (predicted[i] - particles.positions[i]) * (particles.masses[i] / (dt * dt));
                *residual = (inertia + forces[i]) * free[i];
            }
        });
    }

    fn move_velocities(&self, particles: &mut super::Particles, dt: f64) {
        let ways = particles.positions.iter().zip(&self.start);
        particles.velocities.iter_mut().zip(ways).for_each(|(v, (x, start))| *v = (*x - *start) / dt);
    }

    /// Momenta of the pieces, velocities of the points, impulses of pins and colliders.
    fn finish(
        &mut self,
        model: &mut LatticeModel,
        points: &mut Points,
        around: &Surroundings,
        reactions: &mut [DVec3],
    ) {
        let dt = around.dt;
        reactions.fill(DVec3::ZERO);
        // What pieces feel from each other and from colliders.
        for (k, &i) in self.system.rows.iter().enumerate() {
            self.outside[i as usize] -= self.system.of_contacts(k, &self.solution);
        }
        for (k, touch) in self.touches.iter().enumerate() {
            let given = self.system.of_touch(k, self.change[touch.particle()]);
            self.outside[touch.particle()] -= given;
            reactions[model.particles.members[touch.particle()] as usize] += (touch.given - given) * dt;
        }
        let outside = std::mem::take(&mut self.outside);
        match around.held.is_empty() {
            true => self.move_velocities(&mut model.particles, dt),
            false => self.find_residuals(model, dt),
        }
        for held in around.held {
            let Some(k) = self.particle_of(held.point) else { continue };
            let inertia = (self.predicted[k] - model.particles.positions[k]) / dt;
            // The prediction of what is held is the pin's: what it would have been is in the velocity it came with.
            let came = points.velocities[held.point] - model.particles.velocities[k];
            let missing = DVec3::select(BVec3::from(held.axes), came, inertia) * model.particles.masses[k];
            reactions[held.point] -= missing + model.forces[k] * dt;
        }
        // Friction remembers now.
        let LatticeModel { sites: Some(sites), particles, matters, contacts, forces, .. } = &mut *model else { return };
        contacts.add_forces(&Touching { particles, sites, matters, dt }, forces);
        model.forces.clone_from(&outside);
        self.outside = outside;
        self.keep_momenta(model, dt);
        for (k, &i) in model.particles.members.iter().enumerate() {
            if model.particles.phases[k].is_bound() {
                points.velocities[i as usize] = model.particles.velocities[k];
            }
        }
    }

    /// Moves each free piece as a whole so that its center goes where the forces from outside send it, and finds the velocities that go on.
    fn keep_momenta(&mut self, model: &mut LatticeModel, dt: f64) {
        let LatticeModel { particles, pieces, forces, sites, .. } = model;
        let dimensions = sites.as_ref().map_or(3, |s| s.dimensions);
        for motion in &mut self.motions {
            motion.clear();
        }
        for i in 0..particles.len() {
            let Some(piece) = pieces.label(i) else { continue };
            self.motions[piece].add_position(particles.masses[i], particles.positions[i], forces[i]);
        }
        self.motions.iter_mut().for_each(|m| m.find_shift(dt));
        self.turned.clear();
        self.turned.resize(particles.len(), DVec3::ZERO);
        for i in 0..particles.len() {
            let Some(piece) = pieces.label(i) else { continue };
            let motion = &mut self.motions[piece];
            let x = particles.positions[i] + motion.shift;
            particles.positions[i] = x;
            let v = self.coasting[i] + (x - self.predicted[i]) / dt;
            // What is held comes out of the step with the velocity of its pin.
            let v = DVec3::select(self.free[i].cmpeq(DVec3::ZERO), (x - self.start[i]) / dt, v);
            self.turned[i] = v;
            motion.add_velocity(particles.masses[i], x, v, forces[i]);
        }
        self.motions.iter_mut().for_each(|m| m.find_correction(dt, dimensions));
        self.move_velocities_of(particles, pieces, dt);
    }

    fn move_velocities_of(&mut self, particles: &mut super::Particles, pieces: &super::Pieces, dt: f64) {
        for i in 0..particles.len() {
            particles.velocities[i] = (particles.positions[i] - self.start[i]) / dt;
            if let Some(piece) = pieces.label(i) {
                let motion = &self.motions[piece];
                self.turned[i] += motion.correction(particles.positions[i]) - particles.velocities[i];
            }
        }
    }
}
