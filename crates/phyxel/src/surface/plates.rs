//! Plates behind the slits between surfels.
//!
//! Discs that overlap in a plane leave slits where the surface turns or steps within one of them, in grooves and at edges; one looks through
//! them at grazing angles. The smallest ellipses around the triangles of a watertight mesh (`remesh.rs`) leave none, from no side. So the mesh
//! around the surfels is set back behind them and looked at from many sides: where one sees surfels from behind, the triangles before these,
//! and those beside them, become plates.

use super::flowing::spiral;
use super::views::{Plate, View};
use super::{Surfels, mesh_around};
use crate::neighbors::Grid;
use glam::{DVec3, Vec3};
use rayon::prelude::*;
use std::collections::BTreeSet;

/// Sides from which the surface is looked at.
const VIEWS: usize = 200;
/// Sides from which it is looked at once most plates are there, and how far before something must be seen then [surfel spacings]: through the whole
/// matter, not over a step of its relief.
const VIEWS_AGAIN: usize = 233;
const DEEP: f32 = 8.0;
/// Width of a pixel, how far the mesh is set back, and how far before all that faces the eye something is seen from behind [surfel spacings].
const PIXEL: f32 = 0.4;
const BACK: f64 = 0.25;
const BEFORE: f32 = 1.5;
/// Most pixels in a row.
const WIDEST: usize = 2000;
/// Triangles are well covered where at least this many surfels are nearer than this [surfel spacings], ...
const COVERED: usize = 4;
const AROUND: f32 = 1.3;
/// ... whose planes pass the middle nearer than this [surfel spacings], and whose normals have at least this cosine with that of the triangle.
const LEVEL: f32 = 0.5;
const FLAT: f32 = 0.9;
/// Plates are behind the planes of surfels around by at least this [surfel spacings], of those whose normals have at least this cosine with theirs.
const BEHIND: f32 = 0.1;
const TURNED: f32 = 0.5;
/// Plates are larger than their triangles by this factor, so that rounding leaves nothing open.
const OVER: f32 = 1.02;

/// Triangles per parallel task.
const CHUNK: usize = 256;

/// The plates that close a surface of surfels that lie `spacing` [m] apart.
pub(super) fn plates(surfels: &Surfels, spacing: f32) -> Vec<Plate> {
    let mesh = mesh_around(surfels, f64::from(spacing));
    let corner = |v: u32| (mesh.positions[v as usize] - BACK * f64::from(spacing) * mesh.normals[v as usize]).as_vec3();
    let all: Vec<Option<Plate>> = mesh.triangles.par_iter().map(|t| Plate::around(t.map(corner))).collect();
    let own: Vec<Plate> = (0..surfels.len()).map(|i| Plate::of(surfels, i)).collect();
    let places: Vec<DVec3> = own.iter().map(|p| p.position.as_dvec3()).collect();
    let grid = Grid::new(&places, f64::from(AROUND * spacing));
    let asked = |t: &u32| all[*t as usize].is_some_and(|p| !p.is_covered(&own, &grid, spacing));
    let asked: Vec<u32> = (0..all.len() as u32).into_par_iter().with_min_len(CHUNK).filter(asked).collect();
    let sides = |t: u32| {
        let t = mesh.triangles[t as usize];
        [0, 1, 2].map(|k| (t[k].min(t[(k + 1) % 3]), t[k].max(t[(k + 1) % 3])))
    };
    let open: BTreeSet<(u32, u32)> =
        shown((VIEWS, BEFORE), &own, spacing, &all, &asked).into_iter().flat_map(sides).collect();
    let beside = asked.iter().filter(|&&t| sides(t).iter().any(|side| open.contains(side)));
    let behind = beside.filter_map(|&t| all[t as usize]).filter(|p| p.is_behind(&own, &grid, spacing));
    let mut found: Vec<Plate> = behind.collect();
    // A few slits through which one sees the inside are left, from other sides or where no plate is behind all surfels: they are closed even
    // where the plate shows.
    let closed: Vec<Plate> = own.iter().chain(&found).copied().collect();
    let left = shown((VIEWS_AGAIN, DEEP), &closed, spacing, &all, &asked);
    found.extend(left.into_iter().filter_map(|t| all[t as usize]));
    found
}

/// Those of the plates `asked` that are seen before all surfels from some of so many sides, by that way before what is behind [surfel spacings].
fn shown(
    (views, before): (usize, f32),
    surfels: &[Plate],
    spacing: f32,
    plates: &[Option<Plate>],
    asked: &[u32],
) -> BTreeSet<u32> {
    let middle = surfels.iter().map(|s| s.position).sum::<Vec3>() / surfels.len().max(1) as f32;
    let reach = surfels.iter().fold(0f32, |m, s| m.max(s.position.distance(middle)));
    let pixel = (PIXEL * spacing).max(2.0 * reach / WIDEST as f32);
    let size = (2.0 * reach / pixel) as usize + 12;
    let one = |k: usize| {
        let view = View { toward: spiral(k, views).as_vec3(), middle, pixel, size };
        let mut fronts = vec![f32::NEG_INFINITY; size * size];
        let mut backs = fronts.clone();
        for surfel in surfels {
            view.draw(surfel, |at, depth| fronts[at] = fronts[at].max(depth));
            view.draw_back(surfel, |at, depth| backs[at] = backs[at].max(depth));
        }
        let is_seen = |t: &u32| {
            let mut seen = false;
            let mut look = |at: usize, depth: f32| {
                seen |= depth > backs[at] && backs[at] > fronts[at] + before * spacing;
            };
            plates[*t as usize].iter().for_each(|p| view.draw(p, &mut look));
            seen
        };
        asked.iter().copied().filter(is_seen).collect::<Vec<u32>>()
    };
    (0..views).into_par_iter().flat_map_iter(one).collect()
}

impl Plate {
    /// The smallest ellipse around a triangle; None around one without area.
    fn around([a, b, c]: [Vec3; 3]) -> Option<Self> {
        let normal = (b - a).cross(c - a).try_normalize()?;
        let position = (a + b + c) / 3.0;
        // Two half-diameters that belong together, turned until they are the axes.
        let (f, g) = (c - position, (b - a) / 3f32.sqrt());
        let (sin, cos) = (0.5 * (2.0 * f.dot(g)).atan2(f.length_squared() - g.length_squared())).sin_cos();
        Some(Self { position, axis_u: OVER * (cos * f + sin * g), axis_v: OVER * (cos * g - sin * f), normal })
    }

    /// Whether it is behind the surfels around it that face the same way: over relief finer than the mesh it would show.
    fn is_behind(&self, surfels: &[Plate], grid: &Grid, spacing: f32) -> bool {
        let mut behind = true;
        grid.for_each_within(self.position.as_dvec3(), f64::from(AROUND * spacing), |j, _| {
            let (normal, offset) = (surfels[j].normal, self.position - surfels[j].position);
            behind &= normal.dot(self.normal) < TURNED || normal.dot(offset) < -BEHIND * spacing;
        });
        behind
    }

    /// Whether surfels around it lie in about its plane, so that nothing shows between them.
    fn is_covered(&self, surfels: &[Plate], grid: &Grid, spacing: f32) -> bool {
        let (mut count, mut flat) = (0, true);
        grid.for_each_within(self.position.as_dvec3(), f64::from(AROUND * spacing), |j, _| {
            let (normal, offset) = (surfels[j].normal, self.position - surfels[j].position);
            count += 1;
            flat &= normal.dot(self.normal) > FLAT && normal.dot(offset).abs() < LEVEL * spacing;
        });
        flat && count >= COVERED
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::seen_through;

    /// Discs in circles around a groove, too few to close its steep sides.
    fn grooved() -> (Surfels, f32) {
        let (mut surfels, spacing) = (Surfels::default(), 0.06f32);
        for k in 0..4000 {
            let n = spiral(k, 4000).as_vec3();
            let depth = if (n.y - 0.2).abs() < 0.08 { 0.15 } else { 0.0 };
            let (x, y) = n.any_orthonormal_pair();
            surfels.positions.push((1.0 - depth) * n);
            surfels.normals.push(n);
            surfels.axes_u.push(0.9 * spacing * x);
            surfels.axes_v.push(0.9 * spacing * y);
            surfels.colors.push([128; 3]);
        }
        (surfels, spacing)
    }

    #[test]
    fn what_is_open_between_surfels_is_closed_by_plates_behind_them() {
        let (mut surfels, spacing) = grooved();
        let open = seen_through(&surfels, 20, 0.4 * spacing).len();
        assert!(open > 20, "{open}");
        let found = plates(&surfels, spacing);
        // Nearly all are beside the groove, and none stands out.
        let beside = found.iter().filter(|p| (p.position.y - 0.2).abs() < 0.3).count();
        assert!(100 * beside > 95 * found.len(), "{beside} of {}", found.len());
        for p in &found {
            assert!(p.position.length() < 1.0, "{}", p.position);
            assert!(p.axis_u.dot(p.axis_v).abs() < 1e-3 * spacing * spacing, "axes are across one another");
        }
        for p in found {
            surfels.positions.push(p.position);
            surfels.normals.push(p.normal);
            surfels.axes_u.push(p.axis_u);
            surfels.axes_v.push(p.axis_v);
            surfels.colors.push([128; 3]);
        }
        // Walls of two and a half surfels that are missing altogether are more than slits.
        let left = seen_through(&surfels, 20, 0.4 * spacing).len();
        assert!(100 * left < open, "{left} of {open}");
    }

    #[test]
    fn the_ellipse_of_a_plate_goes_through_the_corners_of_its_triangle() {
        let corners = [Vec3::new(0.0, 0.1, 0.0), Vec3::new(1.0, 0.0, 0.3), Vec3::new(0.2, 0.7, 0.1)];
        let p = Plate::around(corners).unwrap();
        for c in corners {
            let d = c - p.position;
            let (a, b) = (d.dot(p.axis_u) / p.axis_u.length_squared(), d.dot(p.axis_v) / p.axis_v.length_squared());
            assert!(d.dot(p.normal).abs() < 1e-6 && (OVER * a.hypot(b) - 1.0).abs() < 1e-5, "{a} {b}");
        }
        assert!(Plate::around([Vec3::ZERO, Vec3::X, 2.0 * Vec3::X]).is_none());
    }
}
