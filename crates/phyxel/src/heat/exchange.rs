//! Exchange with what is outside: walls of held temperature, air, lamps. Formulas of one point; no state.

use super::conduction::{Crowding, REACH};
use glam::{DMat3, DVec3};

/// Least distance from a wall, in spacings: nearer points would take all heat at once.
const LEAST_DISTANCE: f64 = 0.25;
/// Points whose crowding lacks less than this are inside.
const LEAST_DEFICIT: f64 = 0.05;
/// Missing crowding summed over the layers behind a plane face, for a cubic lattice and `REACH` spacings: what is
/// missing, over this, is the exposed part of a face of one point.
const FACE_DEFICIT: f64 = 0.23874372625413204;

/// A wall as a point within the support radius sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wall {
    /// Distance of the point from the wall's surface [m].
    pub distance: f64,
    /// Unit normal of the wall.
    pub normal: DVec3,
}

impl Wall {
    /// The wall at a distance [m] from a point with some spacing [m].
    pub fn new(distance: f64, normal: DVec3, spacing: f64) -> Self {
        Self { distance: distance.max(LEAST_DISTANCE * spacing), normal }
    }

    /// Area through which the point meets the wall [m²]: twice the volume times the kernel's integral over the wall's
    /// plane. Over the distance, that is the flow through the missing half-space for a linear profile, so that all
    /// layers within the support radius exchange heat with the wall.
    pub fn area(&self, volume: f64, radius: f64) -> f64 {
        let t = 1.0 - (self.distance / radius).powi(2);
        if t > 0.0 { 2.0 * volume * 315.0 / (256.0 * radius) * t.powi(4) } else { 0.0 }
    }

    /// What the wall adds to the point's moment, see `conduction::repair`.
    pub fn moment(&self, radius: f64) -> DMat3 {
        let [normal, tangential] = moments((self.distance / radius).min(1.0));
        let n = self.normal;
        let along = DMat3::from_cols(n * n.x, n * n.y, n * n.z);
        normal * along + tangential * (DMat3::IDENTITY - along)
    }

    /// Conductance to a wall of held temperature [W/K]; `exchange` is that of the contact itself [W/(m² K)], infinite
    /// for perfect contact.
    pub fn conductance(&self, area: f64, repair: f64, conductivity: f64, exchange: f64) -> f64 {
        let resistance = self.distance / conductivity + 1.0 / exchange;
        if resistance > 0.0 { repair * area / resistance } else { 0.0 }
    }
}

/// Second moments, normal and tangential, of the part of the kernel beyond a plane at distance z radii; both ½ at 0.
pub fn moments(z: f64) -> [f64; 2] {
    let (z2, c) = (z * z, 6.0 * 315.0 / 64.0);
    let a = |z: f64, z2: f64| z * z2 * (1.0 / 3.0 - z2 * (3.0 / 5.0 - z2 * (3.0 / 7.0 - z2 / 9.0)));
    let b = |z: f64, z2: f64| z * (1.0 - z2 * (4.0 / 3.0 - z2 * (6.0 / 5.0 - z2 * (4.0 / 7.0 - z2 / 9.0))));
    [c * (a(1.0, 1.0) - a(z, z2)) / 3.0, c * (b(1.0, 1.0) - b(z, z2)) / 24.0]
}

/// Area exposed to the air [m²], from the crowding that is missing; `flat` matter is one meter deep.
pub fn exposed_area(volume: f64, crowding: f64, flat: bool) -> f64 {
    let deficit = 1.0 - crowding;
    let face = if flat { volume.sqrt() } else { volume.powf(2.0 / 3.0) };
    if deficit > LEAST_DEFICIT { face * deficit / FACE_DEFICIT } else { 0.0 }
}

/// Conductance to the air [W/K] through half a spacing of matter and the air's own resistance 1/`exchange`.
pub fn air_conductance(area: f64, spacing: f64, conductivity: f64, exchange: f64) -> f64 {
    let resistance = 0.5 * spacing / conductivity + 1.0 / exchange;
    if resistance > 0.0 { area / resistance } else { 0.0 }
}

/// Area across the light [m²] that a point with an exposed area [m²] takes of light of a direction (unit vector, the
/// way the light goes).
///
/// The gradient of the crowding is a vector area: summed over a surface it gives the right shadow, edges and corners
/// included. Where it is too weak to say, in films and single points, a quarter of the exposed area is lit, as of a
/// ball.
pub fn lit_area(crowding: &Crowding, volume: f64, spacing: f64, exposed: f64, direction: DVec3) -> f64 {
    // At a plane face the outermost layer has this gradient: the kernel's integral over the face, half a spacing away.
    let t = 1.0 - (0.5 / REACH).powi(2);
    let face = 315.0 / (256.0 * REACH * spacing) * t.powi(4);
    let trust = (2.0 * crowding.gradient.length() / face).min(1.0);
    let facing = volume / spacing * (crowding.gradient.dot(direction) / face).max(0.0);
    (trust * facing + (1.0 - trust) * 0.25 * exposed).min(exposed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_moments_lies_beyond_a_plane_through_the_point() {
        let [normal, tangential] = moments(0.0);
        assert!((normal - 0.5).abs() < 1e-14 && (tangential - 0.5).abs() < 1e-14);
        let [normal, tangential] = moments(1.0);
        assert!(normal.abs() < 1e-14 && tangential.abs() < 1e-14);
    }

    #[test]
    fn wall_area_is_that_of_a_face_summed_over_the_layers() {
        // Layers half a spacing, 1.5 spacings behind the wall: together they take the face of a point.
        let (spacing, radius) = (0.1, 0.233);
        let layer = |d: f64| Wall::new(d, DVec3::Y, spacing).area(1e-3, radius);
        let total: f64 = [0.05, 0.15].map(layer).iter().sum();
        assert!((total / 0.01 - 1.0).abs() < 0.1, "{total}");
        assert_eq!(layer(0.3), 0.0);
    }

    #[test]
    fn lamps_light_the_face_that_looks_at_them() {
        // The outermost layer of a face that looks up: its gradient is 0.437 per spacing.
        let face = Crowding { sum: 0.78, gradient: DVec3::NEG_Y * 4.37 };
        let lit = |crowding: &Crowding, direction: DVec3| lit_area(crowding, 1e-3, 0.1, 0.011, direction);
        assert!((lit(&face, DVec3::NEG_Y) - 0.01).abs() < 1e-5, "{}", lit(&face, DVec3::NEG_Y));
        assert!((lit(&face, DVec3::new(0.0, -0.6, 0.8)) - 0.006).abs() < 1e-5);
        assert_eq!(lit(&face, DVec3::Y), 0.0);
        assert_eq!(lit(&Crowding::default(), DVec3::Y), 0.25 * 0.011);
        let steep = Crowding { sum: 0.3, gradient: DVec3::NEG_Y * 20.0 };
        assert_eq!(lit(&steep, DVec3::NEG_Y), 0.011);
    }
}
