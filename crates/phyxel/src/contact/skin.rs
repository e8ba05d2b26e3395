//! Skin: the boundary points of all bodies and the facets of surface around each.
//!
//! At the start each point asks its body's shape for the tangent planes near it: one on a smooth surface, two at an
//! edge, three at a corner. Normals are carried by the deformation of the neighborhood: F is the least-squares fit of
//! x_ij = F X_ij with vectors g_ij computed once, F = Σ x_ij ⊗ g_ij, and normals go with the cofactor of F.

use crate::geometry::Shape;
use crate::neighbors::Grid;
use crate::points::Points;
use glam::{DMat3, DVec3};

/// Points less deep than this part of the spacing belong to the skin.
const SKIN_DEPTH: f64 = 0.9;
/// Contact radii stay between these parts of the spacing.
const RADIUS_RANGE: [f64; 2] = [0.2, 0.8];
/// Facets per point at most: a corner of three faces.
const MAX_FACETS: usize = 3;
/// Normals with a larger dot product belong to one facet.
const DISTINCT: f64 = 0.8;
/// Facets are looked for this far around a point, in spacings.
const LOOK_AROUND: f64 = 0.6;
/// Reach of the neighborhood that carries a normal, in spacings.
const CARRIER_REACH: f64 = 1.8;

/// The boundary points of all bodies, in the order of the points.
#[derive(Debug, Clone, Default)]
pub(super) struct Skin {
    /// Index of each skin point in `Points`.
    pub points: Vec<u32>,
    /// Body of each skin point.
    pub bodies: Vec<u32>,
    /// Surface around each skin point at the start.
    pub rest_facets: Vec<Facets>,
    /// Rows of `carriers` per skin point.
    starts: Vec<u32>,
    /// Neighbor in the same body and its vector g_ij [1/m].
    carriers: Vec<(u32, DVec3)>,
}

/// Tangent planes around a point: the matter near it lies below all of them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Facets {
    /// How many there are: 1 to 3.
    pub count: usize,
    /// Outward unit normals.
    pub normals: [DVec3; MAX_FACETS],
    /// Depth of the point below each plane [m].
    pub depths: [f64; MAX_FACETS],
}

impl Facets {
    /// Normal and depth of each.
    pub fn iter(&self) -> impl Iterator<Item = (DVec3, f64)> + '_ {
        (0..self.count).map(|k| (self.normals[k], self.depths[k]))
    }

    /// Which facets of two points face each other most and how much (1: opposite); None when all look away.
    pub fn facing(&self, other: &Self) -> Option<(f64, usize, usize)> {
        let mut most: Option<(f64, usize, usize)> = None;
        for f in 0..self.count {
            for g in 0..other.count {
                let facing = -self.normals[f].dot(other.normals[g]);
                if facing > most.map_or(0.0, |m| m.0) {
                    most = Some((facing, f, g));
                }
            }
        }
        most
    }

    /// Fades from 1 to 0 where the place `offset` away from the point lies beside the matter below facet `f`: above
    /// another facet by up to half a spacing.
    pub fn beside(&self, f: usize, offset: DVec3, spacing: f64) -> f64 {
        let mut kept = 1.0;
        for g in (0..self.count).filter(|g| *g != f) {
            let above = self.normals[g].dot(offset) - self.depths[g];
            kept *= (1.0 - 2.0 * above / spacing).clamp(0.0, 1.0);
        }
        kept
    }

    /// The tangent planes of `shape` that `p`, a point of a sampling with the given spacing, can see.
    fn around(p: DVec3, spacing: f64, shape: &dyn Shape) -> Self {
        let mut seen: Vec<(f64, DVec3)> = Vec::with_capacity(15);
        for k in 0..27 {
            let side = DVec3::new((k % 3) as f64, (k / 3 % 3) as f64, (k / 9) as f64) - 1.0;
            let q = p + side.normalize_or_zero() * (LOOK_AROUND * spacing);
            let depth = -shape.distance(q);
            if depth <= 0.0 {
                continue;
            }
            let normal = shape.normal(q);
            // On an edge's bisector the normal is a mixture, and its foot is not on the surface.
            let foot = shape.distance(q + depth * normal);
            let below = normal.dot(q - p) + depth;
            if foot.abs() < 0.05 * depth && below < SKIN_DEPTH * spacing {
                seen.push((below, normal));
            }
        }
        seen.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut facets = Self::default();
        for (depth, normal) in seen {
            let known = facets.normals[..facets.count].iter().any(|n| n.dot(normal) > DISTINCT);
            if facets.count < MAX_FACETS && !known {
                facets.push(normal, depth, spacing);
            }
        }
        if facets.count == 0 {
            facets.push(shape.normal(p), -shape.distance(p), spacing);
        }
        facets
    }

    fn push(&mut self, normal: DVec3, depth: f64, spacing: f64) {
        self.normals[self.count] = normal;
        self.depths[self.count] = contact_radius(depth, spacing);
        self.count += 1;
    }
}

/// Contact radius of every point [m]: its depth below the surface, so that the surface and not the point touches, within
/// 0.2 to 0.8 spacings; half a spacing for points that are not at the boundary.
pub fn contact_radii(positions: &[DVec3], spacings: &[f64], shape: &dyn Shape) -> Vec<f64> {
    let radius = |(p, s): (&DVec3, &f64)| contact_radius(-shape.distance(*p), *s);
    positions.iter().zip(spacings).map(radius).collect()
}

fn contact_radius(depth: f64, spacing: f64) -> f64 {
    match depth < SKIN_DEPTH * spacing {
        true => depth.clamp(RADIUS_RANGE[0] * spacing, RADIUS_RANGE[1] * spacing),
        false => 0.5 * spacing,
    }
}

impl Skin {
    /// Adds the skin of the points `range`, which are at rest in `shape` (both in world space at the start).
    pub fn add_body(&mut self, points: &Points, range: std::ops::Range<usize>, body: u32, shape: &dyn Shape) {
        if self.starts.is_empty() {
            self.starts.push(0);
        }
        let positions = &points.rest_positions[range.clone()];
        let reach = points.spacings[range.clone()].iter().copied().fold(0.0, f64::max) * CARRIER_REACH;
        let grid = Grid::new(positions, reach);
        for (k, &p) in positions.iter().enumerate() {
            let i = range.start + k;
            let depth = -shape.distance(p);
            let spacing = points.spacings[i];
            if depth >= SKIN_DEPTH * spacing || depth.is_nan() {
                continue;
            }
            self.points.push(i as u32);
            self.bodies.push(body);
            self.rest_facets.push(Facets::around(p, spacing, shape));
            self.add_carriers(&grid, positions, k, range.start, CARRIER_REACH * spacing);
        }
    }

    /// Adds the points `range` of a sheet with unit normals and half of its thickness [m]: matter below both sides.
    pub fn add_sheet(
        &mut self,
        points: &Points,
        range: std::ops::Range<usize>,
        body: u32,
        normals: &[DVec3],
        half: f64,
    ) {
        if self.starts.is_empty() {
            self.starts.push(0);
        }
        let positions = &points.rest_positions[range.clone()];
        let reach = points.spacings[range.clone()].iter().copied().fold(0.0, f64::max) * CARRIER_REACH;
        let grid = Grid::new(positions, reach);
        for (k, normal) in normals.iter().enumerate() {
            let i = range.start + k;
            let facets = Facets { count: 2, normals: [*normal, -*normal, DVec3::ZERO], depths: [half, half, 0.0] };
            self.points.push(i as u32);
            self.bodies.push(body);
            self.rest_facets.push(facets);
            self.add_carriers(&grid, positions, k, range.start, CARRIER_REACH * points.spacings[i]);
        }
    }

    fn add_carriers(&mut self, grid: &Grid, positions: &[DVec3], k: usize, first: usize, reach: f64) {
        let weight = |r2: f64| (1.0 - r2 / (reach * reach)).max(0.0).powi(2);
        let near = grid.within(positions[k], reach);
        let near = || near.iter().map(|&j| j as usize).filter(|&j| j != k).map(|j| (j, positions[j] - positions[k]));
        let mut moment = DMat3::ZERO;
        for (_, x) in near() {
            moment += DMat3::from_cols(x * x.x, x * x.y, x * x.z) * weight(x.length_squared());
        }
        // Neighbors in a plane or a line: the missing direction is filled up; the cofactor does not need it.
        let trace = moment.x_axis.x + moment.y_axis.y + moment.z_axis.z;
        let inverse = (moment + DMat3::from_diagonal(DVec3::splat(1e-6 * trace + f64::MIN_POSITIVE))).inverse();
        for (j, x) in near() {
            let g = inverse * x * weight(x.length_squared());
            if g.is_finite() {
                self.carriers.push(((first + j) as u32, g));
            }
        }
        self.starts.push(self.carriers.len() as u32);
    }

    /// Skin points of a body.
    pub fn range(&self, body: usize) -> std::ops::Range<usize> {
        let end = |body: usize| self.bodies.partition_point(|&b| (b as usize) < body);
        end(body)..end(body + 1)
    }

    /// Number of bodies, up to the last one that has a skin.
    pub fn body_count(&self) -> usize {
        self.bodies.last().map_or(0, |b| *b as usize + 1)
    }

    /// Number of skin points.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Facets of skin point `s` now.
    pub fn facets(&self, s: usize, positions: &[DVec3]) -> Facets {
        let x = positions[self.points[s] as usize];
        let mut f = DMat3::ZERO;
        for &(j, g) in &self.carriers[self.starts[s] as usize..self.starts[s + 1] as usize] {
            let x_ij = positions[j as usize] - x;
            f += DMat3::from_cols(x_ij * g.x, x_ij * g.y, x_ij * g.z);
        }
        let cofactor = DMat3::from_cols(f.y_axis.cross(f.z_axis), f.z_axis.cross(f.x_axis), f.x_axis.cross(f.y_axis));
        let mut facets = self.rest_facets[s];
        for normal in &mut facets.normals[..facets.count] {
            *normal = (cofactor * *normal).try_normalize().unwrap_or(*normal);
        }
        facets
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_shapes::Block;
    use super::*;

    fn cube() -> (Points, Block) {
        let mut points = Points::default();
        for k in 0..216 {
            let cell = DVec3::new((k % 6) as f64, (k / 6 % 6) as f64, (k / 36) as f64);
            points.push(0, (cell - 2.5) * 0.1, 1.0, 1e-3, 0.1);
        }
        (points, Block(DVec3::ZERO, DVec3::splat(0.3)))
    }

    #[test]
    fn the_skin_is_the_outer_layer_and_its_normals_turn_and_shear_with_the_body() {
        let (mut points, shape) = cube();
        let mut skin = Skin::default();
        skin.add_body(&points, 0..216, 0, &shape);
        assert_eq!(skin.len(), 216 - 64);
        let faces = |count: usize| skin.rest_facets.iter().filter(|f| f.count == count).count();
        assert_eq!((faces(1), faces(2), faces(3)), (6 * 16, 12 * 4, 8));
        assert!(skin.rest_facets.iter().all(|f| f.iter().all(|(_, depth)| (depth - 0.05).abs() < 1e-9)));
        let f = DMat3::from_rotation_x(0.7) * DMat3::from_cols(DVec3::X, DVec3::new(0.4, 1.2, 0.0), DVec3::Z * 0.8);
        points.positions.iter_mut().for_each(|p| *p = f * *p + DVec3::new(3.0, 0.0, 1.0));
        let carry = f.inverse().transpose();
        for s in 0..skin.len() {
            let now = skin.facets(s, &points.positions);
            for (normal, rest) in now.iter().zip(skin.rest_facets[s].iter()) {
                assert!((normal.0 - (carry * rest.0).normalize()).length() < 1e-5);
            }
        }
    }

    #[test]
    fn lonely_and_flat_bodies_have_finite_normals() {
        let mut points = Points::default();
        for k in 0..9 {
            points.push(0, DVec3::new((k % 3) as f64, 0.0, (k / 3) as f64) * 0.1, 1.0, 1e-3, 0.1);
        }
        points.push(1, DVec3::new(5.0, 0.0, 0.0), 1.0, 1e-3, 0.1);
        let mut skin = Skin::default();
        skin.add_body(&points, 0..9, 0, &Block(DVec3::ZERO, DVec3::new(1.0, 0.05, 1.0)));
        skin.add_body(&points, 9..10, 1, &Block(DVec3::new(5.0, 0.0, 0.0), DVec3::splat(0.05)));
        let normal = |s: usize| skin.facets(s, &points.positions).normals[0];
        assert!((0..skin.len()).all(|s| normal(s).is_normalized()));
        assert_eq!(skin.len(), 10);
    }
}
