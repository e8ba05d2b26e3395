//! Walls as neighbors: a collider fills the part of a melted point's neighborhood that lies behind its face.
//!
//! Without it the layer at a wall sees half a neighborhood, takes in too many points and the pool sinks. The face is
//! taken as plane. The density follows from the spiky kernel integrated over the half-space, and the force is its share of the
//! gradient of the pressure's energy. In a full lattice the same force comes once more from the energies of the neighbors;
//! here the contact with the collider gives it. Doubling the force instead, as if the pressure were mirrored behind the
//! face, is no gradient: points that rattle at the wall gain energy and a pool never comes to rest.

use super::pairs::{Kind, Pairs, SUPPORT};
use crate::contact::Colliders;
use glam::DVec3;
use rayon::prelude::*;
use std::f64::consts::PI;

/// Farthest that a point and a wall come nearer while lists hold, in spacings.
const APPROACH: f64 = 1.0;

/// How far around a point the slope of the distance is measured, in spacings. In a corner the nearest face changes at a
/// line; a slope that jumps there would throw points to and fro.
const BLUR: f64 = 0.25;

/// Cells of the grid that knows the distance of walls that are dear to ask, in spacings.
const CELL: f64 = 0.25;

/// Prepares colliders for points of a spacing [m].
pub(crate) fn bake(colliders: &mut Colliders, spacing: f64) {
    let reach = (SUPPORT + APPROACH + BLUR) * spacing;
    colliders.list.iter_mut().for_each(|c| c.bake(CELL * spacing, reach));
}

/// A slot near a collider.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Near {
    pub slot: u32,
    pub collider: u32,
    /// Slope of the distance: the outward normal of the face, and shorter than that where two faces are equally near.
    slope: DVec3,
    /// Distance of the point from the face [m].
    distance: f64,
}

/// Slots that may feel a wall while the lists hold.
pub(crate) fn find_near(pairs: &Pairs, positions: &[DVec3], colliders: &Colliders) -> Vec<Near> {
    let one = |s: usize| {
        let at = positions[pairs.points[s] as usize];
        let reach = (SUPPORT + APPROACH) * pairs.sizes[s];
        let list = colliders.list.iter().enumerate().filter(|(_, c)| c.active);
        let felt = list.filter(move |(_, c)| c.bounds().grown(reach).contains(at) && c.least_distance(at) < reach);
        felt.map(move |(k, _)| Near { slot: s as u32, collider: k as u32, slope: DVec3::Y, distance: 0.0 })
    };
    let melted = |s: &usize| pairs.kinds[*s] == Kind::Melted;
    (0..pairs.points.len()).into_par_iter().with_min_len(256).filter(melted).flat_map_iter(one).collect()
}

/// Distances and normals now; calls `add(slot, density, m)` for the density that each wall adds, as a part of the full one, and
/// for its share of m.
pub(crate) fn feel(
    near: &mut [Near],
    pairs: &Pairs,
    positions: &[DVec3],
    colliders: &Colliders,
    full_density: f64,
    mut add: impl FnMut(usize, f64, DVec3),
) {
    near.par_iter_mut().with_min_len(64).for_each(|n| {
        let collider = &colliders.list[n.collider as usize];
        let at = positions[pairs.points[n.slot as usize] as usize];
        let size = pairs.sizes[n.slot as usize];
        (n.distance, n.slope) = collider.smooth_distance(at, SUPPORT * size, BLUR * size);
    });
    for n in near.iter() {
        let slot = n.slot as usize;
        let h = SUPPORT * pairs.sizes[slot];
        add(slot, half_space(n.distance, h) / full_density, n.slope * -side(n.distance, h));
    }
}

/// Force of a wall on a point of spacing `size` [m] and volume `volume` [m³] for p / δ² [Pa], δ₀ and 2 κ m / h⁴ [1/m⁴]. Walls do
/// not pull: melt comes off them as a solid does.
pub(crate) fn push(near: &Near, volume: f64, size: f64, pressure: f64, full_density: f64, open: DVec3) -> DVec3 {
    let h = SUPPORT * size;
    let turned = full_density * open.dot(near.slope) * side_slope(near.distance, h);
    near.slope * (volume * pressure.max(0.0) * (plane(near.distance, h) - turned).max(0.0))
}

/// Part of the spiky kernel of support `h` behind a plane at distance `d` [m].
fn half_space(d: f64, h: f64) -> f64 {
    let t = (h - d.max(0.0)).max(0.0) / h;
    30.0 * (t.powi(5) / 20.0 - t.powi(6) / 30.0)
}

/// The spiky kernel integrated over a plane at distance `d` [1/m].
fn plane(d: f64, h: f64) -> f64 {
    let t = (h - d.max(0.0)).max(0.0) / h;
    30.0 / h * (t.powi(4) / 4.0 - t.powi(5) / 5.0)
}

/// Length of m of the half-space behind a plane at distance `d` [m].
fn side(d: f64, h: f64) -> f64 {
    PI / 40.0 * (1.0 - (d.max(0.0) / h).powi(2)).max(0.0).powi(5)
}

/// How much h⁴ times that falls with the distance [m³].
fn side_slope(d: f64, h: f64) -> f64 {
    0.25 * PI * h * h * d.max(0.0) * (1.0 - (d / h).powi(2)).max(0.0).powi(4)
}

#[cfg(test)]
mod tests {
    use super::super::melt::spiky;
    use super::*;

    #[test]
    fn plane_and_half_space_are_integrals_of_the_kernel() {
        let (h, d, n) = (0.3, 0.07, 4000);
        let ring = |z: f64| {
            let top = (h * h - z * z).max(0.0).sqrt();
            let dr = top / n as f64;
            (0..n).map(|k| (k as f64 + 0.5) * dr).map(|s| 2.0 * PI * s * spiky(s.hypot(z), h) * dr).sum::<f64>()
        };
        assert!((plane(d, h) - ring(d)).abs() < 1e-5 * ring(d));
        let dz = (h - d) / 400.0;
        let total: f64 = (0..400).map(|k| ring(d + (f64::from(k) + 0.5) * dz) * dz).sum();
        assert!((half_space(d, h) - total).abs() < 1e-4 * total, "{} {total}", half_space(d, h));
        assert!((half_space(0.0, h) - 0.5).abs() < 1e-12 && half_space(h, h) == 0.0);
        let weight = |z: f64| {
            let top = (h * h - z * z).max(0.0).sqrt();
            let dr = top / n as f64;
            let radii = (0..n).map(|k| (k as f64 + 0.5) * dr);
            radii.map(|s| 2.0 * PI * s * (1.0 - (s * s + z * z) / (h * h)).powi(3) * dr).sum::<f64>()
        };
        let total: f64 = (0..400).map(|k| d + (f64::from(k) + 0.5) * dz).map(|z| weight(z) * z * dz).sum();
        assert!((side(d, h) * h.powi(4) - total).abs() < 1e-4 * total, "{} {total}", side(d, h) * h.powi(4));
        let difference = (side(d + 1e-6, h) - side(d - 1e-6, h)) / 2e-6 * h.powi(4);
        assert!((side_slope(d, h) + difference).abs() < 1e-6 * difference.abs());
    }
}
