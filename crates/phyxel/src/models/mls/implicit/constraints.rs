//! What holds points back during an implicit solve: pins, colliders with friction, and bodies that touch.

use glam::{DMat3, DVec3};
use std::collections::BTreeSet;

/// Tangential speed below which friction is proportional to speed [m/s]; a body held by friction creeps at most so fast.
pub const STICK_SPEED: f64 = 1e-4;

/// A point some of whose directions have a prescribed velocity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Held {
    /// The point.
    pub point: usize,
    /// Which of x, y, z are held.
    pub axes: [bool; 3],
    /// Their velocity [m/s].
    pub velocity: DVec3,
}

/// A point that must not move into a collider during the step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContactConstraint {
    /// The point.
    pub point: usize,
    /// Unit normal of the collider, towards the free side.
    pub normal: DVec3,
    /// Smallest allowed normal velocity `normal · v` [m/s]; the collider's own motion and the gap over dt are in it.
    pub minimum_speed: f64,
    /// Coulomb friction coefficient.
    pub friction: f64,
    /// Velocity of the collider at the point [m/s]; friction works against sliding relative to it.
    pub collider_velocity: DVec3,
}

/// Two points of different bodies that touch: adds ½ k max(0, deficit - n · (Δx_i - Δx_j))² for the moves of this step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairPenalty {
    /// The point pushed along `normal`.
    pub i: usize,
    /// The point pushed against it.
    pub j: usize,
    /// Unit direction from j to i.
    pub normal: DVec3,
    /// By how much they are too close at the start of the step [m]; negative: still apart.
    pub gap_deficit: f64,
    /// Stiffness k [N/m].
    pub stiffness: f64,
}

/// All constraints of a step.
#[derive(Debug, Clone, Default)]
pub struct Constraints {
    /// Pins.
    pub held: Vec<Held>,
    /// Colliders.
    pub contacts: Vec<ContactConstraint>,
    /// Bodies that touch.
    pub pairs: Vec<PairPenalty>,
}

/// State of the constraints inside a solve; arrays are kept between steps.
#[derive(Debug, Clone, Default)]
pub(super) struct ActiveSet {
    /// Free directions of each point, as a projector.
    pub free: Vec<DMat3>,
    /// Extra symmetric stiffness of each point: friction [kg].
    pub extra: Vec<DMat3>,
    /// Impulse with which each contact presses [N s]; 0: not active.
    impulses: Vec<f64>,
}

impl Constraints {
    /// Sets held velocities and removes motion into colliders.
    pub(super) fn enforce(&self, velocities: &mut [DVec3]) {
        // A few sweeps settle points in a corner of several colliders.
        for _ in 0..3 {
            for contact in &self.contacts {
                let v = &mut velocities[contact.point];
                let missing = contact.minimum_speed - contact.normal.dot(*v);
                if missing > 0.0 {
                    *v += contact.normal * missing;
                }
            }
        }
        for held in &self.held {
            for axis in (0..3).filter(|&axis| held.axes[axis]) {
                velocities[held.point][axis] = held.velocity[axis];
            }
        }
    }

    /// Bodies with at least one constrained point.
    pub(super) fn touched_bodies(&self, bodies: &[u32]) -> BTreeSet<u32> {
        let held = self.held.iter().map(|held| held.point);
        let contacts = self.contacts.iter().map(|contact| contact.point);
        let pairs = self.pairs.iter().flat_map(|pair| [pair.i, pair.j]);
        held.chain(contacts).chain(pairs).map(|point| bodies[point]).collect()
    }

    /// Energy of the pair penalties and of friction over a step [J].
    pub(super) fn energy(&self, active: &ActiveSet, velocities: &[DVec3], dt: f64) -> f64 {
        let pairs = self.pairs.iter().map(|pair| 0.5 * pair.stiffness * pair.overlap(velocities, dt).powi(2));
        let friction = self.contacts.iter().zip(&active.impulses).map(|(contact, impulse)| {
            let speed = contact.sliding(velocities[contact.point]).length();
            let potential =
                if speed < STICK_SPEED { 0.5 * speed * speed / STICK_SPEED } else { speed - 0.5 * STICK_SPEED };
            contact.friction * impulse * potential
        });
        pairs.sum::<f64>() + friction.sum::<f64>()
    }

    /// Adds the impulses of the pair penalties over a step [N s].
    pub(super) fn add_pair_impulses(&self, velocities: &[DVec3], dt: f64, impulses: &mut [DVec3]) {
        for pair in &self.pairs {
            let impulse = pair.normal * (pair.stiffness * pair.overlap(velocities, dt) * dt);
            impulses[pair.i] += impulse;
            impulses[pair.j] -= impulse;
        }
    }

    /// Adds dt² k (n · δ_ij) n of the pairs that overlap to a product.
    pub(super) fn add_pair_products(&self, velocities: &[DVec3], change: &[DVec3], dt: f64, out: &mut [DVec3]) {
        for pair in self.pairs.iter().filter(|pair| pair.overlap(velocities, dt) > 0.0) {
            let push = pair.normal * (dt * dt * pair.stiffness * pair.normal.dot(change[pair.i] - change[pair.j]));
            out[pair.i] += push;
            out[pair.j] -= push;
        }
    }

    /// Adds the pairs' diagonal blocks.
    pub(super) fn add_pair_blocks(&self, velocities: &[DVec3], dt: f64, blocks: &mut [DMat3]) {
        for pair in self.pairs.iter().filter(|pair| pair.overlap(velocities, dt) > 0.0) {
            let block = crate::linalg::outer(pair.normal, pair.normal) * (dt * dt * pair.stiffness);
            blocks[pair.i] += block;
            blocks[pair.j] += block;
        }
    }
}

impl PairPenalty {
    fn overlap(&self, velocities: &[DVec3], dt: f64) -> f64 {
        let approach = self.normal.dot(velocities[self.i] - velocities[self.j]) * dt;
        (self.gap_deficit - approach).max(0.0)
    }
}

impl ContactConstraint {
    fn sliding(&self, velocity: DVec3) -> DVec3 {
        let relative = velocity - self.collider_velocity;
        relative - self.normal * self.normal.dot(relative)
    }
}

impl ActiveSet {
    /// No contact active, everything free.
    pub fn reset(&mut self, points: usize, contacts: usize) {
        self.free.clear();
        self.free.resize(points, DMat3::IDENTITY);
        self.extra.clear();
        self.extra.resize(points, DMat3::ZERO);
        self.impulses.clear();
        self.impulses.resize(contacts, 0.0);
    }

    /// Finds which contacts press, from the residual impulses of the free motion, and adds friction to these.
    ///
    /// A contact whose point would separate is released. Friction is that of the pressing impulse found here (lagged by
    /// one iteration), as a potential of the sliding speed with a positive curvature that bounds the true one.
    pub fn update(&mut self, constraints: &Constraints, velocities: &[DVec3], residuals: &mut [DVec3]) {
        self.reset(velocities.len(), constraints.contacts.len());
        for held in &constraints.held {
            for axis in (0..3).filter(|&axis| held.axes[axis]) {
                self.block(held.point, DVec3::AXES[axis]);
            }
        }
        for (contact, impulse) in constraints.contacts.iter().zip(&mut self.impulses) {
            let v = velocities[contact.point];
            let gap = contact.normal.dot(v) - contact.minimum_speed;
            if gap <= 1e-9 * (v.length() + contact.minimum_speed.abs()) {
                *impulse = (-contact.normal.dot(residuals[contact.point])).max(0.0);
            }
        }
        for (k, contact) in constraints.contacts.iter().enumerate() {
            let impulse = self.impulses[k];
            if impulse > 0.0 {
                self.block(contact.point, contact.normal);
                self.add_friction(contact, impulse, velocities[contact.point], &mut residuals[contact.point]);
            }
        }
    }

    fn add_friction(&mut self, contact: &ContactConstraint, impulse: f64, velocity: DVec3, residual: &mut DVec3) {
        let sliding = contact.sliding(velocity);
        let resistance = contact.friction * impulse / sliding.length().max(STICK_SPEED);
        *residual -= sliding * resistance;
        let tangential = DMat3::IDENTITY - crate::linalg::outer(contact.normal, contact.normal);
        self.extra[contact.point] += tangential * resistance;
    }

    // Takes one more direction away from a point.
    fn block(&mut self, point: usize, direction: DVec3) {
        let free = &mut self.free[point];
        let left = *free * direction;
        if left.length_squared() > 1e-12 {
            let unit = left.normalize();
            *free -= crate::linalg::outer(unit, unit);
        }
    }
}
