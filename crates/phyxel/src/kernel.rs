//! Weight functions of distance.
//!
//! Moving least squares does not depend on the scale of its weights, so the dimensionless shape serves everywhere
//! except in density sums.

use std::f64::consts::PI;

/// Poly6 shape (1 - r²/h²)³ for the squared distance r² [m²] and the support radius h [m]; 0 outside, 1 at the center.
pub fn poly6_shape(distance_squared: f64, support_radius: f64) -> f64 {
    let radius_squared = support_radius * support_radius;
    if distance_squared < radius_squared {
        let t = 1.0 - distance_squared / radius_squared;
        t * t * t
    } else {
        0.0
    }
}

/// Poly6 kernel [1/m³], [MKN04] eq. 10: 315 / (64 π h⁹) (h² - r²)³, which integrates to 1.
pub fn poly6(distance_squared: f64, support_radius: f64) -> f64 {
    315.0 / (64.0 * PI * support_radius.powi(3)) * poly6_shape(distance_squared, support_radius)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poly6_integrates_to_one() {
        let (radius, steps) = (0.3, 20_000);
        let dr = radius / steps as f64;
        let total: f64 =
            (0..steps).map(|k| (k as f64 + 0.5) * dr).map(|r| 4.0 * PI * r * r * poly6(r * r, radius) * dr).sum();
        assert!((total - 1.0).abs() < 1e-6, "{total}");
    }

    #[test]
    fn shape_ends_at_the_support_radius() {
        assert_eq!(poly6_shape(0.0, 0.5), 1.0);
        assert_eq!(poly6_shape(0.25, 0.5), 0.0);
        assert_eq!(poly6_shape(0.0, 0.0), 0.0);
    }
}
