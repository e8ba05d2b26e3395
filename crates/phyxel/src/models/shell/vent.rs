//! How the pressure inside of a shell goes once it is torn.
//!
//! Air leaves through the openings at the speed that the pressure gives it (Bernoulli), and what is left of the pressure falls with the
//! part of the volume that has left. A fixed amount of gas leaves, or air comes in, until it is as dense as outside.

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

/// A fixed amount of gas in a torn shell.
pub(super) struct Venting {
    /// Pressure that all of it would have in the volume that there is, and that outside [Pa].
    pub pressures: [f64; 2],
    /// Area of the openings [m²].
    pub opening: f64,
    /// Volume inside [m³].
    pub volume: f64,
}

impl Venting {
    /// Part of the gas that is left after `dt` [s], of `kept` before.
    pub fn after(&self, kept: f64, dt: f64) -> f64 {
        let [all, outside] = self.pressures;
        let excess = kept * all - outside;
        let speed = (2.0 * excess.abs() / AIR).sqrt().min(SOUND);
        let changed = dt * self.opening * speed / self.volume;
        // Neither goes further than to equal pressures.
        let equal = outside / all;
        if excess > 0.0 { (kept * (-changed).exp()).max(equal) } else { (kept + equal * changed).min(equal) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gas_leaves_at_the_speed_of_its_pressure_and_stops_at_equal_ones() {
        // 1.2 kPa make a wind of 44.7 m/s; through 10 cm² of 30 liters it takes 15 ms to lose a part in 1.5.
        let venting = Venting { pressures: [101_200.0, 100_000.0], opening: 1e-3, volume: 0.03 };
        let left = venting.after(1.0, 1e-4);
        assert!((1.0 - left - 1e-4 * 1e-3 * 44.72 / 0.03).abs() < 1e-6, "{left}");
        let mut kept = 1.0;
        (0..10_000).for_each(|_| kept = venting.after(kept, 1e-4));
        assert!((kept - 100.0 / 101.2).abs() < 1e-12, "{kept}");
        // Air comes in where the shell has grown.
        let wider = Venting { pressures: [90_000.0, 100_000.0], ..venting };
        let more = wider.after(kept, 1e-4);
        assert!(more > kept);
        (0..100_000).for_each(|_| kept = wider.after(kept, 1e-4));
        assert!((kept * 0.9 - 1.0).abs() < 1e-12, "{kept}");
        // Without an opening nothing happens.
        assert_eq!(Venting { opening: 0.0, ..wider }.after(0.7, 1.0), 0.7);
    }
}
