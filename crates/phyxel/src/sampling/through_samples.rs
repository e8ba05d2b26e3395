//! The open surface through samples: a point cloud, or triangles that have fallen apart.
//!
//! Near the samples the distance is the weighted mean of the distances to their tangent planes, of those samples that look the
//! same way. The surface is where it is zero, and it ends where the samples end: at the border of a half-plane the middle of the
//! samples within a radius R lies 4 R / (3 π) away from the place, beyond it farther. Gaps that are narrow beside R are bridged.

use super::triangulation::Triangulation;
use crate::geometry::{Bounds, Shape};
use crate::models::shell::surface::{DenseSurface, TriangleSurface};
use crate::neighbors::Grid;
use glam::DVec3;

/// How far the middle of a half disc lies from its straight side, in radii.
const HALF_DISC: f64 = 0.424_413_181_578_388;
/// Width of the weights of the tangent planes, in R.
const WIDTH: f64 = 0.5;
/// Weights beyond this many widths are nothing.
const REACH: f64 = 2.5;
/// Samples look the same way when their normals have at least this cosine.
const SAME_SIDE: f64 = 0.3;
/// Triangles farther than this from the surface, in cells, are walls where the sign jumps: between sheets that lie above each
/// other, and at the end of space.
const OFF: f64 = 0.3;
/// So near to the surface, in cells, vertices are led onto it.
const NEAR: f64 = 0.6;
/// Size of the space around the samples, in R.
const MARGIN: f64 = 3.0;

/// The surface through samples with areas and oriented normals.
pub(super) struct ThroughSamples {
    samples: DenseSurface,
    grid: Grid,
    /// Scale on which the surface is smooth and gaps are closed [m].
    radius: f64,
    bounds: Bounds,
}

/// The surface as it is contoured: where the sign jumps there is no way down to it.
struct Contoured<'a> {
    through: &'a ThroughSamples,
    near: f64,
}

impl Shape for Contoured<'_> {
    fn distance(&self, p: DVec3) -> f64 {
        self.through.distance(p)
    }

    fn bounds(&self) -> Bounds {
        self.through.bounds
    }

    fn normal(&self, p: DVec3) -> DVec3 {
        let (distance, normal) = self.through.distance_normal(p);
        if distance.abs() < self.near { normal } else { DVec3::ZERO }
    }
}

impl ThroughSamples {
    /// The surface on the scale `radius` [m].
    pub fn new(samples: DenseSurface, radius: f64) -> Self {
        let grid = Grid::new(&samples.positions, radius);
        let bounds = Bounds::of(samples.positions.iter().copied()).grown(MARGIN * radius);
        Self { samples, grid, radius, bounds }
    }

    /// Triangles of about `edge` [m].
    pub fn triangles(&self, edge: f64) -> TriangleSurface {
        let edge = edge.min(0.7 * self.radius);
        let made = Triangulation::new(&Contoured { through: self, near: NEAR * edge }, edge);
        let surface = TriangleSurface { positions: made.positions, triangles: made.triangles };
        surface.clipped(&|p| match self.plane(p) {
            Some((distance, normal)) if distance.abs() < OFF * made.edge => self.beyond(p, normal),
            _ => self.radius,
        })
    }

    /// How far a place on the surface lies beyond its border [m]; negative inside.
    fn beyond(&self, p: DVec3, normal: DVec3) -> f64 {
        let (mut sum, mut weight) = (DVec3::ZERO, 0.0);
        self.grid.for_each_within(p, self.radius, |j, _| {
            if self.samples.normals[j].dot(normal) > SAME_SIDE {
                sum += self.samples.areas[j] * (self.samples.positions[j] - p);
                weight += self.samples.areas[j];
            }
        });
        if weight <= 0.0 {
            return self.radius;
        }
        let middle = sum / weight;
        (middle - normal * normal.dot(middle)).length() - HALF_DISC * self.radius
    }

    /// Distance to the tangent planes and their normal; None far from all samples.
    fn plane(&self, p: DVec3) -> Option<(f64, DVec3)> {
        let (nearest, d2) = self.grid.nearest(p)?;
        if d2 > self.radius * self.radius {
            return None;
        }
        let width2 = (WIDTH * self.radius).powi(2);
        let (mut weights, mut distance, mut normal) = (0.0, 0.0, DVec3::ZERO);
        self.grid.for_each_within(p, (d2 + REACH * REACH * width2).sqrt(), |j, r2| {
            let n = self.samples.normals[j];
            if n.dot(self.samples.normals[nearest]) > SAME_SIDE {
                let weight = self.samples.areas[j] * (-(r2 - d2) / width2).exp();
                weights += weight;
                distance += weight * n.dot(p - self.samples.positions[j]);
                normal += weight * n;
            }
        });
        Some((distance / weights.max(f64::MIN_POSITIVE), normal.normalize_or(self.samples.normals[nearest])))
    }
}

impl Shape for ThroughSamples {
    fn distance(&self, p: DVec3) -> f64 {
        self.distance_normal(p).0
    }

    fn bounds(&self) -> Bounds {
        self.bounds
    }

    fn normal(&self, p: DVec3) -> DVec3 {
        self.distance_normal(p).1
    }

    fn distance_normal(&self, p: DVec3) -> (f64, DVec3) {
        let far = || {
            let Some((nearest, d2)) = self.grid.nearest(p) else { return (f64::INFINITY, DVec3::Y) };
            let normal = self.samples.normals[nearest];
            (d2.sqrt().copysign(normal.dot(p - self.samples.positions[nearest])), normal)
        };
        let (distance, normal) = self.plane(p).unwrap_or_else(far);
        let outside = self.bounds.distance(p);
        (if outside > 0.0 { distance.max(outside) } else { distance }, normal)
    }
}

/// Areas of scattered points [m²]: a disc up to the k-th neighbor holds about k points. At a border half of the disc is empty, so
/// one of the lesser ones of the neighborhood counts.
pub(super) fn scattered_areas(positions: &[DVec3], spacing: f64) -> Vec<f64> {
    use rayon::prelude::*;
    const NEIGHBORS: usize = 8;
    let grid = Grid::new(positions, 2.0 * spacing);
    let near: Vec<Vec<(usize, f64)>> = positions.par_iter().map(|p| grid.k_nearest(*p, NEIGHBORS + 1)).collect();
    let raw: Vec<f64> = near
        .iter()
        .map(|list| {
            let r2 = list.iter().fold(0.0, |m: f64, &(_, r2)| m.max(r2));
            std::f64::consts::PI * r2 / NEIGHBORS as f64
        })
        .collect();
    let lesser = |list: &Vec<(usize, f64)>| {
        let mut areas: Vec<f64> = list.iter().map(|&(j, _)| raw[j]).collect();
        areas.sort_unstable_by(f64::total_cmp);
        areas.get(areas.len() / 3).copied().unwrap_or(0.0)
    };
    near.iter().map(lesser).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn a_sheet_of_points_keeps_its_area_and_outline() {
        let n = 40;
        let at = |k: usize| (k as f64 + 0.5) / n as f64 - 0.5;
        let mut samples = DenseSurface::default();
        for i in 0..n * n {
            let jitter = 0.3 / n as f64 * Random::new(1, i as u64).in_cube() * DVec3::new(1.0, 0.0, 1.0);
            samples.positions.push(DVec3::new(at(i % n), 0.0, at(i / n)) + jitter);
            samples.normals.push(DVec3::Y);
        }
        samples.areas = scattered_areas(&samples.positions, 1.0 / n as f64);
        let surface = ThroughSamples::new(samples, 0.1).triangles(0.05);
        // Corners are rounded off by a part of R.
        assert!((surface.area() - 1.0).abs() < 0.03, "{}", surface.area());
        let borders = surface.borders(0.05);
        let length: f64 = borders.iter().map(|b| b.length()).sum();
        assert!((length - 4.0).abs() < 0.2, "{length}");
        assert!(surface.triangles.iter().flatten().all(|&v| surface.positions[v as usize].y.abs() < 1e-6));
    }

    #[test]
    fn a_ball_of_points_is_closed() {
        let positions: Vec<DVec3> = (0..3000).map(|i| Random::new(1, i).direction()).collect();
        let areas = scattered_areas(&positions, 0.065);
        let samples = DenseSurface { normals: positions.clone(), positions, areas, ..DenseSurface::default() };
        let surface = ThroughSamples::new(samples, 0.25).triangles(0.12);
        assert!(surface.borders(0.1).is_empty());
        assert!((surface.area() / (4.0 * std::f64::consts::PI) - 1.0).abs() < 0.05, "{}", surface.area());
    }
}
