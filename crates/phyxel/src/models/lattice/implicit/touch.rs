//! Colliders during an implicit step: springs stiffer than the lattice against what is in the way, and friction.

use glam::DVec3;

/// Stiffness against entering a collider, in that of a bond.
pub const STIFFNESS: f64 = 4.0;
/// Speed below which friction sticks [m/s].
const STICK_SPEED: f64 = 1e-3;

/// A point that would touch a collider during the step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Touch {
    /// The point of the table; within the solver the particle.
    pub point: usize,
    /// Unit normal of the collider, towards the free side.
    pub normal: DVec3,
    /// Least normal velocity at which it does not enter [m/s].
    pub minimum_speed: f64,
    /// Coulomb friction coefficient.
    pub friction: f64,
    /// Velocity of the collider at the point [m/s].
    pub collider_velocity: DVec3,
    /// Stiffness against entering [N/m].
    pub stiffness: f64,
    /// Force with which it pressed when last asked [N].
    pub pressing: f64,
}

impl Touch {
    /// Force on the point at a velocity [N]; friction by the force with which it pressed when asked before.
    pub fn force(&mut self, velocity: DVec3, dt: f64) -> DVec3 {
        let force = self.force_at(velocity, dt);
        self.pressing = self.push(velocity, dt);
        force
    }

    /// The same, without taking note.
    pub fn force_at(&self, velocity: DVec3, dt: f64) -> DVec3 {
        let push = self.push(velocity, dt);
        if push == 0.0 {
            return DVec3::ZERO;
        }
        self.normal * push - self.sliding(velocity) * self.resistance(velocity)
    }

    /// Stiffness of the force along the normal and across it [N/m].
    pub fn weights(&self, velocity: DVec3, dt: f64) -> [f64; 2] {
        match self.push(velocity, dt) > 0.0 {
            true => [self.stiffness, self.resistance(velocity) / dt],
            false => [0.0; 2],
        }
    }

    fn push(&self, velocity: DVec3, dt: f64) -> f64 {
        self.stiffness * (dt * (self.minimum_speed - self.normal.dot(velocity))).max(0.0)
    }

    fn sliding(&self, velocity: DVec3) -> DVec3 {
        let relative = velocity - self.collider_velocity;
        relative - self.normal * self.normal.dot(relative)
    }

    fn resistance(&self, velocity: DVec3) -> f64 {
        self.friction * self.pressing / self.sliding(velocity).length().max(STICK_SPEED)
    }
}
