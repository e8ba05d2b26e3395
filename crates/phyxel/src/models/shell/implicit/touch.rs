//! Colliders during an implicit step: stiff springs against what is in the way, and friction.
//!
//! A sheet that resists stretching a thousand times as much as anything else does not bear points that are pushed out of a collider
//! one by one: that strains it more than any contact does. Springs as stiff as the sheet itself let the solver see contact and
//! stretching at once.

use super::Problem;
use crate::linalg::outer;
use crate::models::mls::implicit::STICK_SPEED;
use glam::{DMat3, DVec3};

/// A point that would touch a collider during the step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Touch {
    /// The point, counted from the shell's first.
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
}

impl Touch {
    /// How deep the point gets by the end of the step [m].
    pub(crate) fn depth(&self, velocity: DVec3, dt: f64) -> f64 {
        (dt * (self.minimum_speed - self.normal.dot(velocity))).max(0.0)
    }

    /// Velocity along the collider [m/s].
    pub(crate) fn sliding(&self, velocity: DVec3) -> DVec3 {
        let relative = velocity - self.collider_velocity;
        relative - self.normal * self.normal.dot(relative)
    }
}

/// Friction of the touches, by the impulses with which they pressed when last asked.
#[derive(Debug, Clone, Default)]
pub(super) struct Friction {
    /// Pressing impulse of each touch [N s].
    impulses: Vec<f64>,
    /// Whether these are known: the first guess of a step says nothing about them.
    known: bool,
}

impl Friction {
    pub fn reset(&mut self, touches: usize) {
        self.impulses.clear();
        self.impulses.resize(touches, 0.0);
        self.known = false;
    }

    /// Adds the impulses of contact and friction, and their stiffness times dt² [kg].
    pub fn add(&mut self, problem: &Problem, velocities: &[DVec3], residuals: &mut [DVec3], diagonal: &mut [DMat3]) {
        let dt = problem.dt;
        for (touch, impulse) in problem.touches.iter().zip(&mut self.impulses) {
            let v = velocities[touch.point];
            let depth = touch.depth(v, dt);
            let pressing = touch.stiffness * depth * dt;
            *impulse = if self.known { pressing } else { 0.0 };
            if depth > 0.0 {
                let square = outer(touch.normal, touch.normal);
                residuals[touch.point] += touch.normal * pressing;
                diagonal[touch.point] += square * (dt * dt * touch.stiffness);
                let sliding = touch.sliding(v);
                let resistance = touch.friction * *impulse / sliding.length().max(STICK_SPEED);
                residuals[touch.point] -= sliding * resistance;
                diagonal[touch.point] += (DMat3::IDENTITY - square) * resistance;
            }
        }
        self.known = true;
    }

    /// Energy of contact and friction over the step [J].
    pub fn energy(&self, problem: &Problem, velocities: &[DVec3]) -> f64 {
        let touches = problem.touches.iter().zip(&self.impulses);
        let part = |(touch, impulse): (&Touch, &f64)| {
            let v = velocities[touch.point];
            let speed = touch.sliding(v).length();
            let slid = if speed < STICK_SPEED { 0.5 * speed * speed / STICK_SPEED } else { speed - 0.5 * STICK_SPEED };
            0.5 * touch.stiffness * touch.depth(v, problem.dt).powi(2) + touch.friction * impulse * slid
        };
        touches.map(part).sum()
    }
}
