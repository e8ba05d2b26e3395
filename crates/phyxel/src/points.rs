//! Points: the table every model shares, one flat array per quantity.
//!
//! Points of one body are consecutive, and inside a body they are in cell order at rest, so that neighbors lie near
//! in memory. `ids` survive any re-ordering.

use glam::DVec3;

/// Mass of a place that no body uses [kg].
const NOTHING: f64 = 1e-300;

/// All points of a world.
#[derive(Debug, Clone, Default)]
pub struct Points {
    /// Stable identity, unique in the world. Written at set-up; those that come by splitting are new.
    pub ids: Vec<u32>,
    /// Index of the body. Written at set-up.
    pub bodies: Vec<u32>,
    /// Positions at rest, in world space at the start [m]. Written at set-up.
    pub rest_positions: Vec<DVec3>,
    /// Positions [m]. Written by `move_points`.
    pub positions: Vec<DVec3>,
    /// Velocities [m/s]. Written by `integrate_velocities`, `hold_pins`, `collide`.
    pub velocities: Vec<DVec3>,
    /// External and contact forces [N]. Filled by the force phases, read and zeroed by `integrate_velocities`.
    pub forces: Vec<DVec3>,
    /// Masses [kg]. Written at set-up and by events.
    pub masses: Vec<f64>,
    /// Rest volumes [m³]. Written at set-up and by `resample`.
    pub volumes: Vec<f64>,
    /// Local distance between points at rest [m]. Written at set-up and by `resample`.
    pub spacings: Vec<f64>,
}

impl Points {
    /// Number of points.
    pub fn len(&self) -> usize {
        self.positions.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }
    /// Makes a place in the table that no body uses: nothing acts on it and it counts nowhere.
    pub fn clear(&mut self, i: usize) {
        // Not zero, for accelerations are forces over masses; lost in any sum.
        self.masses[i] = NOTHING;
        self.volumes[i] = 0.0;
        self.velocities[i] = DVec3::ZERO;
        self.forces[i] = DVec3::ZERO;
    }

    /// Puts what is at one place of the table at another too.
    pub fn copy(&mut self, from: usize, to: usize) {
        self.ids[to] = self.ids[from];
        self.bodies[to] = self.bodies[from];
        self.rest_positions[to] = self.rest_positions[from];
        self.positions[to] = self.positions[from];
        self.velocities[to] = self.velocities[from];
        self.forces[to] = self.forces[from];
        self.masses[to] = self.masses[from];
        self.volumes[to] = self.volumes[from];
        self.spacings[to] = self.spacings[from];
    }

    /// Appends a point at rest and returns its index.
    pub fn push(&mut self, body: u32, position: DVec3, mass: f64, volume: f64, spacing: f64) -> usize {
        let i = self.len();
        self.ids.push(i as u32);
        self.bodies.push(body);
        self.rest_positions.push(position);
        self.positions.push(position);
        self.velocities.push(DVec3::ZERO);
        self.forces.push(DVec3::ZERO);
        self.masses.push(mass);
        self.volumes.push(volume);
        self.spacings.push(spacing);
        i
    }
}
