//! Pins: regions that are held still or dragged along keyframes until they are released.

use crate::motion::{Motion, MotionState};
use crate::points::Points;
use glam::{BVec3, DVec3};

/// One `[[pin]]` of the world.
#[derive(Debug, Clone)]
pub struct Pin {
    /// Name in the scene.
    pub name: String,
    /// Index of the body.
    pub body: usize,
    /// Held points, ascending. Written at set-up, or by `grip` when it begins later.
    pub points: Vec<u32>,
    /// Where they were when the pin began [m].
    pub start: Vec<DVec3>,
    /// Center of the region when the pin began [m]; turns are about it.
    pub center: DVec3,
    /// Held directions.
    pub axes: [bool; 3],
    /// Time at which it begins [s]: it then grips what lies in the region.
    pub from: f64,
    /// Whether it has begun. Written by `grip`.
    pub gripped: bool,
    /// Time of release [s].
    pub until: f64,
    /// Offset and turn over time.
    pub motion: Motion,
    /// Released by an event. Written by `apply_events`.
    pub released: bool,
    /// Impulse given to the body since the last frame [N s]. Written by `hold_pins`.
    pub impulse: DVec3,
}

impl Pin {
    /// Whether it holds at time `t` [s].
    pub fn is_active(&self, t: f64) -> bool {
        self.gripped && !self.released && t >= self.from - 1e-9 && t < self.until
    }

    /// Takes hold of points, ascending, where they are.
    pub fn grip(&mut self, held: Vec<u32>, points: &Points) {
        self.start = held.iter().map(|&i| points.positions[i as usize]).collect();
        self.center = self.start.iter().sum::<DVec3>() / self.start.len().max(1) as f64;
        self.points = held;
        self.gripped = true;
    }

    /// Velocity with which the pin's `k`-th point gets to its place at the end of a step of `dt` [m/s];
    /// `state` is the pin's motion at that end.
    pub fn wanted_velocity(&self, k: usize, points: &Points, state: &MotionState, dt: f64) -> DVec3 {
        (state.carry(self.center, self.start[k]) - points.positions[self.points[k] as usize]) / dt
    }

    /// Gives the held points the velocities that bring them to their places at `t_end`, counts the impulse and returns
    /// the work [J].
    pub fn hold(&mut self, points: &mut Points, t_end: f64, dt: f64) -> f64 {
        let mut work = 0.0;
        let state = self.motion.at(t_end);
        for k in 0..self.points.len() {
            let i = self.points[k] as usize;
            let free = points.velocities[i];
            let held = DVec3::select(BVec3::from(self.axes), self.wanted_velocity(k, points, &state, dt), free);
            let impulse = points.masses[i] * (held - free);
            self.impulse += impulse;
            work += impulse.dot(held);
            points.velocities[i] = held;
        }
        work
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Keyframe;

    fn pin(points: &Points, axes: [bool; 3], keys: &[Keyframe]) -> Pin {
        Pin {
            name: "p".into(),
            body: 0,
            points: vec![0],
            start: vec![points.rest_positions[0]],
            center: DVec3::ZERO,
            axes,
            from: 0.0,
            gripped: true,
            until: 2.0,
            motion: Motion::new(keys),
            released: false,
            impulse: DVec3::ZERO,
        }
    }

    #[test]
    fn dragged_point_arrives_where_the_keys_say() {
        let mut points = Points::default();
        points.push(0, DVec3::X, 2.0, 1.0, 1.0);
        points.velocities[0] = DVec3::new(0.0, 0.0, 7.0);
        let key = |t: f64, y: f64| Keyframe { t, at: DVec3::Y * y, rotate: DVec3::ZERO };
        let mut pin = pin(&points, [true, true, false], &[key(0.0, 0.0), key(1.0, 0.5)]);
        pin.hold(&mut points, 1.0, 0.1);
        assert_eq!(points.velocities[0], DVec3::new(0.0, 5.0, 7.0));
        assert_eq!(pin.impulse, DVec3::new(0.0, 10.0, 0.0));
        assert!(pin.is_active(1.9) && !pin.is_active(2.0));
    }
}
