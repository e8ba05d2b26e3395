//! Inside and outside of surfels that may leave gaps, overlap or lie astray: the winding number of their area vectors, [BDS18].
//!
//! It is 1 inside, 0 outside and 1/2 on the surface. A gap lowers it only as far as it is seen, and a sheet that hangs loose changes it
//! by less than 1/2 on either side: neither makes a surface of its own where 1/2 is the border.

use crate::geometry::{Bounds, Bvh, Winding};
use crate::neighbors::Grid;
use glam::{DVec3, Vec3};
use rayon::prelude::*;

/// Surfels that share the area around them are nearer than this [surfel spacings].
const SHARED: f64 = 2.0;
/// Surfels that face away from one another by more than this cosine do not: they are the two sides of a sheet.
const SIDES: f32 = -0.3;
/// Surfels per parallel task.
const CHUNK: usize = 256;

/// Oriented area, asked for its winding number.
pub(super) struct Inside {
    bvh: Bvh,
    winding: Winding,
    /// In leaf order: place [m], area vector [m²], squared smearing [m²].
    items: Vec<(DVec3, DVec3, f64)>,
}

impl Inside {
    /// Of surfels at finite places with unit normals, which lie about `spacing` [m] apart. Each is smeared over a length whose square is
    /// `smeared` times its area.
    pub fn new(places: &[DVec3], normals: &[Vec3], spacing: f64, smeared: f64) -> Self {
        let areas = areas(places, normals, spacing);
        let boxes: Vec<Bounds> = places.iter().map(|&x| Bounds { min: x, max: x }).collect();
        let bvh = Bvh::new(&boxes);
        let item = |&i: &u32| {
            let i = i as usize;
            (places[i], areas[i] * normals[i].as_dvec3(), smeared * areas[i])
        };
        let items: Vec<(DVec3, DVec3, f64)> = bvh.order.iter().map(item).collect();
        let winding = Winding::new(&bvh, |i| (items[i].1.length(), items[i].0, items[i].1));
        Self { bvh, winding, items }
    }

    /// Winding number at a place [m]: 1 inside, 0 outside, 1/2 on the surface.
    pub fn at(&self, p: DVec3) -> f64 {
        self.winding.at(&self.bvh, p, |i| {
            let (place, vector, smeared) = self.items[i];
            let to = place - p;
            let d2 = to.length_squared() + smeared;
            vector.dot(to) / (d2 * d2.sqrt())
        })
    }
}

/// Area that each surfel stands for [m²]: one over their number per area around it.
fn areas(places: &[DVec3], normals: &[Vec3], spacing: f64) -> Vec<f64> {
    let reach = SHARED * spacing;
    let grid = Grid::new(places, reach);
    let own = |i: usize| {
        let mut sum = 0.0;
        grid.for_each_within(places[i], reach, |j, r2| {
            if normals[j].dot(normals[i]) > SIDES {
                let q = 1.0 - r2 / (reach * reach);
                sum += q * q;
            }
        });
        // The kernel 3 q² / (π reach²) has the integral 1 over the plane.
        std::f64::consts::PI * reach * reach / (3.0 * sum.max(1.0))
    };
    (0..places.len()).into_par_iter().with_min_len(CHUNK).map(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Evenly spread directions.
    fn directions(count: usize) -> Vec<DVec3> {
        let one = |k: usize| {
            let y = 1.0 - (2.0 * k as f64 + 1.0) / count as f64;
            let (sin, cos) = (2.399_963_229_728_653 * k as f64).sin_cos();
            DVec3::new((1.0 - y * y).sqrt() * cos, y, (1.0 - y * y).sqrt() * sin)
        };
        (0..count).map(one).collect()
    }

    #[test]
    fn a_ball_with_a_gap_and_loose_sheets_has_one_inside() {
        let spacing = (4.0 * std::f64::consts::PI / 4000.0).sqrt();
        let mut places: Vec<DVec3> = directions(4000).into_iter().filter(|p| p.y < 0.98).collect();
        let mut normals: Vec<Vec3> = places.iter().map(|p| p.as_vec3()).collect();
        // Inside, turned to any side, and outside.
        for (middle, normal) in [(DVec3::X * 0.5, Vec3::X), (DVec3::Z * -0.4, Vec3::Z), (DVec3::X * 1.4, Vec3::X)] {
            let (u, v) = normal.any_orthonormal_pair();
            for k in 0..49 {
                let (a, b) = (f64::from(k % 7 - 3), f64::from(k / 7 - 3));
                places.push(middle + spacing * (a * u.as_dvec3() + b * v.as_dvec3()));
                normals.push(normal);
            }
        }
        let inside = Inside::new(&places, &normals, spacing, 0.25);
        for (k, n) in directions(500).into_iter().enumerate() {
            let r = 1.6 * ((k * 37 % 500) as f64 + 0.5) / 500.0;
            if (r - 1.0).abs() > 0.5 * spacing && n.y < 0.9 {
                let w = inside.at(r * n);
                assert!((w > 0.5) == (r < 1.0), "{w} at {r} {n}");
            }
        }
        assert!((inside.at(DVec3::new(0.0, 0.3, 0.1)) - 1.0).abs() < 0.05);
    }
}
