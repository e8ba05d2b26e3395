//! Surface tension by pairs: neighbors pull each other, and the bonds that a surface lacks are its energy.
//!
//! Along the axis of a pair the pull is f(q) = q (1 - q²)², none for the nearest and the farthest, so that points do not pair up
//! and the pressure alone orders them. Cutting the lattice along a close-packed plane would cost 2 σ per area if surfaces did not relax. Pulls are opposite
//! and central: momentum and angular momentum are kept. Inside they balance, at a higher pressure. (A surface energy from the gradient of the density, as in color-field methods, falls when matter
//! disperses; a pull that is stress-free in the lattice freezes it.)

use super::kernel::{Dimensions, SUPPORT};

/// Surfaces of the liquid relax and cost less than those of the lattice: the part that a drop swings with (measured).
const RELAXED: f64 = 0.52;

/// Constants of the pull in one lattice, for a tension of 1 N/m and a spacing of 1 m.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pull {
    /// Pull between two cells of the lattice over the volume of the cell.
    pub strength: f64,
}

impl Pull {
    /// For the close-packed lattice.
    pub fn new(dimensions: Dimensions) -> Self {
        let mut bonds = 0.0;
        for_each_site(dimensions, |layer, q| bonds += f64::from(layer.max(0)) * energy(q));
        let height = match dimensions {
            Dimensions::Two => 0.75f64.sqrt(),
            Dimensions::Three => (2.0f64 / 3.0).sqrt(),
        };
        let cell = dimensions.cell_volume() / SUPPORT.powi(dimensions.count());
        let pull = 2.0 / (RELAXED * height * SUPPORT * bonds);
        Self { strength: pull / cell }
    }
}

/// What it takes to separate a pair: the force integrated from q to 1.
fn energy(q: f64) -> f64 {
    (1.0 - q * q).max(0.0).powi(3) / 6.0
}

/// Layer and distance [H] of the sites around one.
fn for_each_site(dimensions: Dimensions, mut visit: impl FnMut(i32, f64)) {
    let axis = || -4..=4;
    let height = if dimensions == Dimensions::Three { axis() } else { 0..=0 };
    for (l, m, n) in height.flat_map(|n| axis().flat_map(move |m| axis().map(move |l| (l, m, n)))) {
        let layer = if dimensions == Dimensions::Three { n } else { m };
        let (l, m, n) = (f64::from(l), f64::from(m), f64::from(n));
        let x = l + 0.5 * (m + n);
        let y = 0.75f64.sqrt() * m + (1.0f64 / 12.0).sqrt() * n;
        let z = (2.0f64 / 3.0).sqrt() * n;
        let q = (x * x + y * y + z * z).sqrt() / SUPPORT;
        if q > 1e-9 && q < 1.0 {
            visit(layer, q);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn force(q: f64) -> f64 {
        q * (1.0 - q * q).powi(2)
    }

    #[test]
    fn the_energy_of_a_pair_is_the_work_of_its_force() {
        for q in [0.2, 0.5, 0.9] {
            let change = (energy(q + 1e-6) - energy(q - 1e-6)) / 2e-6;
            assert!((change + force(q)).abs() < 1e-9);
        }
        let pull = Pull::new(Dimensions::Three);
        assert!(pull.strength > 0.0, "{pull:?}");
    }
}
