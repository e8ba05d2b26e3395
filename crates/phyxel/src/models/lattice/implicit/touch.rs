//! Colliders during an implicit step: springs stiffer than the lattice against what is in the way, and friction.

use crate::models::shell::implicit::Touch;
use glam::DVec3;

/// Stiffness against entering a collider, in that of a bond.
pub const STIFFNESS: f64 = 4.0;
/// Speed below which friction sticks [m/s].
const STICK_SPEED: f64 = 1e-3;

/// A particle that may touch a collider during the step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pressed {
    /// Where; its point is the particle.
    pub touch: Touch,
    /// Force with which it pressed when last asked [N].
    pub pressing: f64,
    /// Force on the particle when last asked [N].
    pub given: DVec3,
}

impl Pressed {
    /// The particle.
    pub fn particle(&self) -> usize {
        self.touch.point
    }

    /// Finds the force on the particle at a velocity; friction by the force with which it pressed when asked before.
    pub fn feel(&mut self, velocity: DVec3, dt: f64) {
        let push = self.push(velocity, dt);
        self.given = match push == 0.0 {
            true => DVec3::ZERO,
            false => self.touch.normal * push - self.touch.sliding(velocity) * self.resistance(velocity),
        };
        self.pressing = push;
    }

    /// Stiffness of the force along the normal and across it [N/m].
    pub fn weights(&self, velocity: DVec3, dt: f64) -> [f64; 2] {
        match self.push(velocity, dt) > 0.0 {
            true => [self.touch.stiffness, self.resistance(velocity) / dt],
            false => [0.0; 2],
        }
    }

    fn push(&self, velocity: DVec3, dt: f64) -> f64 {
        self.touch.stiffness * self.touch.depth(velocity, dt)
    }

    fn resistance(&self, velocity: DVec3) -> f64 {
        self.touch.friction * self.pressing / self.touch.sliding(velocity).length().max(STICK_SPEED)
    }
}
