//! A connected piece during an implicit step: where it coasts to as a rigid body, and the momenta it must end with.

use crate::linalg::outer;
use crate::models::lattice::exponential;
use crate::models::lattice::pieces::{Rigid, spin};
use glam::{DMat3, DVec3};

/// Motion of a piece over a step, and sums over its particles.
#[derive(Debug, Clone, Copy)]
pub struct Motion {
    rigid: Rigid,
    turn: DMat3,
    /// Center after the step, without forces [m].
    coasted: DVec3,
    /// Whether a pin holds a part of it: then momenta are the pin's.
    pub held: bool,
    /// Whether something stands in its way.
    pub stopped: bool,
    mass: f64,
    first: DVec3,
    force: DVec3,
    momentum: DVec3,
    angular: DVec3,
    torque: DVec3,
    second: DMat3,
    /// What the piece is moved by as a whole [m].
    pub shift: DVec3,
    center: DVec3,
    velocity: DVec3,
    spin: DVec3,
}

impl Motion {
    /// That of a piece over a step of `dt` [s].
    pub fn new(rigid: Rigid, dt: f64) -> Self {
        Self {
            rigid,
            turn: exponential(rigid.spin * dt),
            coasted: rigid.center + rigid.velocity * dt,
            held: false,
            stopped: false,
            mass: 0.0,
            first: DVec3::ZERO,
            force: DVec3::ZERO,
            momentum: DVec3::ZERO,
            angular: DVec3::ZERO,
            torque: DVec3::ZERO,
            second: DMat3::ZERO,
            shift: DVec3::ZERO,
            center: DVec3::ZERO,
            velocity: DVec3::ZERO,
            spin: DVec3::ZERO,
        }
    }

    /// Where a particle of the piece goes without forces, and its velocity there.
    pub fn coast(&self, x: DVec3, v: DVec3, dt: f64) -> (DVec3, DVec3) {
        let (arm, own) = (x - self.rigid.center, v - self.rigid.velocity);
        let rest = own - self.rigid.spin.cross(arm);
        (self.coasted + self.turn * (arm + rest * dt), self.rigid.velocity + self.turn * own)
    }

    /// Forgets the sums.
    pub fn clear(&mut self) {
        *self = Self { held: self.held, turn: self.turn, coasted: self.coasted, ..Self::new(self.rigid, 0.0) };
    }

    /// Takes in where a particle has come to, and the force on it from outside [N].
    pub fn add_position(&mut self, mass: f64, x: DVec3, force: DVec3) {
        self.mass += mass;
        self.first += (x - self.coasted) * mass;
        self.force += force;
    }

    /// Finds the shift that brings the center to where the forces send it.
    pub fn find_shift(&mut self, dt: f64) {
        let wanted = self.force * (dt * dt / self.mass);
        self.shift = if self.held { DVec3::ZERO } else { wanted - self.first / self.mass };
        self.center = self.coasted + self.first / self.mass + self.shift;
    }

    /// Takes in a particle's velocity as it goes on [m/s] and the force on it from outside [N].
    pub fn add_velocity(&mut self, mass: f64, x: DVec3, v: DVec3, force: DVec3) {
        let arm = x - self.center;
        self.momentum += v * mass;
        self.angular += arm.cross(v) * mass;
        self.torque += arm.cross(force);
        self.second += outer(arm, arm * mass);
    }

    /// Finds what is missing to the momenta that the forces of the step leave it with.
    pub fn find_correction(&mut self, dt: f64, dimensions: usize) {
        if self.held {
            return;
        }
        self.velocity = self.rigid.velocity + (self.force * dt - self.momentum) / self.mass;
        let missing = self.rigid.angular + self.torque * dt - self.angular;
        self.spin = spin(self.second, missing, dimensions);
    }

    /// What is missing at a place [m/s].
    pub fn correction(&self, x: DVec3) -> DVec3 {
        self.velocity + self.spin.cross(x - self.center)
    }
}
