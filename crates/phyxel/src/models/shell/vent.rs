//! How the pressure inside of a shell goes once it is torn.
//!
//! Air leaves through the openings at the speed that the pressure gives it (Bernoulli), and what is left of the pressure falls with the
//! part of the volume that has left.

use super::body::Shell;
use glam::DVec3;

/// Density of air [kg/m³].
const AIR: f64 = 1.2;
/// Air is not faster than sound [m/s].
const SOUND: f64 = 340.0;

impl Shell {
    /// Part of an overpressure [Pa] that is left after `dt` [s] of leaking at positions.
    pub(super) fn leak(&mut self, positions: &[DVec3], pressure: f64, dt: f64) -> f64 {
        let volume = self.gas.volume(&self.network, positions);
        let speed = (2.0 * pressure.abs() / AIR).sqrt().min(SOUND);
        // A shell that has lost its volume holds nothing.
        let least = 1e-3 * self.nodes.areas.iter().sum::<f64>() * self.spacing();
        (-dt * self.gas.opening() * speed / volume.max(least)).exp()
    }
}
