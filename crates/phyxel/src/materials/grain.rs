//! How stiff a direction-dependent material is along each direction, for weights that follow it.

use super::stiffness::{Stiffness, Voigt};
use glam::DVec3;

/// Smallest weight as a part of the largest possible one: neighborhoods must see all directions in f32.
const LEAST: f64 = 1e-3;

/// Young's modulus of a direction-dependent material along any direction, over its mean.
#[derive(Debug, Clone, PartialEq)]
pub struct Grain {
    /// Inverse stiffness times the mean modulus, dimensionless.
    compliance: Voigt,
    least: f64,
}

impl Grain {
    /// The grain of a stiffness; None when it is isotropic.
    pub fn of(stiffness: &Stiffness) -> Option<Self> {
        let mean = stiffness.young();
        let compliance = stiffness.compliance()?.map(|row| row.map(|entry| entry * mean));
        Some(Self { compliance, least: LEAST * stiffness.longitudinal_modulus() / mean })
    }

    /// E(n) / E for n along `x`, with E the harmonic mean over the axes: 1 / E(n) is the strain along n of a unit pull
    /// along n. The same bits for `x` and `-x`; 1 where `x` is 0.
    pub fn relative_young(&self, x: DVec3) -> f64 {
        let square = x.length_squared();
        if square.is_nan() || square <= 0.0 {
            return 1.0;
        }
        let pull = [x.x * x.x, x.y * x.y, x.z * x.z, x.y * x.z, x.z * x.x, x.x * x.y];
        let strain = |k: usize| (0..6).map(|l| self.compliance[k][l] * pull[l]).sum::<f64>();
        let work: f64 = (0..6).map(|k| pull[k] * strain(k)).sum();
        (square * square / work).max(self.least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Anisotropy;
    use glam::DMat3;

    fn wood(shear: f64) -> Stiffness {
        let anisotropy = Anisotropy::Orthotropic {
            young: [1e6, 1e5, 5e4],
            poisson: [0.3, 0.4, 0.02],
            shear: [shear; 3],
            rotate: DVec3::new(0.0, 0.0, 90.0),
        };
        Stiffness::anisotropic(&anisotropy, DMat3::IDENTITY).unwrap()
    }

    #[test]
    fn moduli_along_and_between_the_axes() {
        let stiffness = wood(3e4);
        let grain = Grain::of(&stiffness).unwrap();
        // Turned by 90 degrees about z: the stiff axis lies along y.
        for (x, young) in [(DVec3::Y, 1e6), (DVec3::X * -3.0, 1e5), (DVec3::Z * 0.1, 5e4)] {
            assert!((grain.relative_young(x) * stiffness.young() / young - 1.0).abs() < 1e-12);
        }
        // 4 / E(45°) = 1 / E_1 + 1 / E_2 + 1 / G - 2 ν_12 / E_1.
        let between = 4.0 / (1e-6 + 1e-5 + 1.0 / 3e4 - 0.6e-6);
        let (a, b) = (DVec3::new(1.0, 1.0, 0.0), DVec3::new(1.0, -1.0, 0.0));
        assert!((grain.relative_young(a) * stiffness.young() / between - 1.0).abs() < 1e-12);
        assert!((grain.relative_young(b) * stiffness.young() / between - 1.0).abs() < 1e-12);
        assert_eq!(grain.relative_young(DVec3::new(0.3, -0.2, 0.9)), grain.relative_young(DVec3::new(-0.3, 0.2, -0.9)));
    }

    #[test]
    fn extremes_have_an_answer() {
        assert_eq!(Grain::of(&Stiffness::isotropic(1e6, 0.3)), None);
        let grain = Grain::of(&wood(1.0)).unwrap();
        assert_eq!(grain.relative_young(DVec3::ZERO), 1.0);
        let (along, between) = (grain.relative_young(DVec3::Y), grain.relative_young(DVec3::ONE));
        assert!(between > 0.9e-3 * along, "{between} {along}");
    }
}
