//! Places on a surface from which surfels are chosen, and how fine the surface asks them to be.

use super::triangulation::Triangulation;
use crate::geometry::Shape;
use crate::neighbors::Grid;
use crate::random::Random;
use glam::DVec3;
use rayon::prelude::*;

/// Normals of the same piece of surface have at least this cosine.
pub(super) const SAME_SIDE: f64 = 0.5;
/// Distance between surfels where the surface bends: at most this part of the radius of curvature, but not below the
/// second number times that on flat surface.
const BEND: (f64, f64) = (0.45, 0.25);
/// How much that part may change per distance, both relative to the spacing.
const GRADE: f64 = 0.4;

/// A place on the surface.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Candidate {
    /// [m].
    pub position: DVec3,
    pub normal: DVec3,
    /// Distance between surfels here, relative to that on flat surface; 0 until it is known.
    pub fine: f64,
}

impl Candidate {
    /// Moves onto the surface and takes the normal there.
    pub fn settle(&mut self, shape: &dyn Shape, spacing: f64) {
        let start = *self;
        for _ in 0..4 {
            let distance = shape.distance(self.position);
            if distance.abs() < 1e-4 * spacing {
                break;
            }
            self.position -= shape.normal(self.position) * distance.clamp(-spacing, spacing);
        }
        // A hair outside: there the normal of an edge is not that of only one of its faces.
        let normal = shape.normal(self.position + 1e-3 * spacing * start.normal);
        if normal.is_normalized() {
            self.normal = normal;
        }
        if !self.position.is_finite() {
            *self = start;
        }
    }

    /// Moves from a sharp convex edge onto the nearer of its faces: a surfel across the edge would stick out of both.
    pub fn leave_edge(&mut self, shape: &dyn Shape, spacing: f64) {
        let step = 0.05 * self.fine.min(1.0) * spacing;
        let face = shape.normal(self.position - step * self.normal);
        if !(face.is_normalized() && (0.0..0.95).contains(&face.dot(self.normal))) {
            return;
        }
        let outward = self.normal - face * face.dot(self.normal);
        let moved = self.position - step * outward.normalize_or_zero();
        let onto = moved - face * shape.distance(moved);
        if shape.distance(onto).abs() < 1e-3 * spacing && shape.normal(onto + 1e-3 * spacing * face).dot(face) > 0.99 {
            (self.position, self.normal) = (onto, face);
        }
    }
}

/// Spreads `count` candidates over the triangles, each triangle its share by area and weight; says in which each lies.
pub(super) fn spread(
    surface: &Triangulation,
    count: usize,
    weight: impl Fn(usize) -> f64,
    seed: u64,
) -> (Vec<Candidate>, Vec<u32>) {
    let areas: Vec<f64> = (0..surface.triangles.len()).map(|t| weight(t) * surface.area_vector(t).length()).collect();
    let per_area = count as f64 / areas.iter().sum::<f64>();
    // Running sum of areas: triangle t gets the whole numbers that its stretch contains.
    let (mut all, mut triangles) = (Vec::with_capacity(count + 1), Vec::with_capacity(count + 1));
    let mut sum = 0.5;
    for (t, area) in areas.iter().enumerate() {
        let first = sum as usize;
        sum += area * per_area;
        let [a, b, c] = surface.corners(t);
        let normal = surface.area_vector(t).try_normalize().unwrap_or(DVec3::Y);
        for k in first..sum as usize {
            let mut random = Random::new(seed, k as u64);
            let (mut u, mut v) = (random.unit(), random.unit());
            if u + v > 1.0 {
                (u, v) = (1.0 - u, 1.0 - v);
            }
            all.push(Candidate { position: a + u * (b - a) + v * (c - a), normal, fine: 0.0 });
            triangles.push(t as u32);
        }
    }
    (all, triangles)
}

/// How near each other surfels should be at each candidate, relative to those on flat surface: by how fast the normals
/// around it turn, and not much coarser than around it.
pub(super) fn finenesses(all: &[Candidate], spacing: f64) -> Vec<f64> {
    let positions: Vec<DVec3> = all.iter().map(|c| c.position).collect();
    let grid = Grid::new(&positions, spacing);
    let bent = |c: &Candidate| {
        let mut steepest = 0.0f64;
        grid.for_each_within(c.position, 0.7 * spacing, |j, r2| {
            // The other side of a thin sheet is no bend.
            if c.normal.dot(all[j].normal) > -0.5 {
                steepest = steepest.max((c.normal - all[j].normal).length() / r2.sqrt().max(0.2 * spacing));
            }
        });
        (BEND.0 / (steepest * spacing).max(1e-9)).clamp(BEND.1, 1.0)
    };
    let fine: Vec<f64> = all.par_iter().map(bent).collect();
    let graded = |c: &Candidate| {
        let mut least = 1.0f64;
        grid.for_each_within(c.position, spacing, |j, r2| {
            least = least.min(fine[j] + GRADE * r2.sqrt() / spacing);
        });
        least
    };
    all.par_iter().map(graded).collect()
}

/// The nearest of `all` within reach that faces the same side, else the nearest.
pub(super) fn nearest_alike(grid: &Grid, all: &[Candidate], c: &Candidate, reach: f64) -> Option<usize> {
    let mut best = (None, f64::INFINITY);
    grid.for_each_within(c.position, reach, |j, r2| {
        let nearer = r2 < best.1 || (r2 == best.1 && best.0.is_some_and(|b| j < b));
        if nearer && all[j].normal.dot(c.normal) > SAME_SIDE {
            best = (Some(j), r2);
        }
    });
    best.0.or_else(|| grid.nearest(c.position).map(|(j, _)| j))
}
