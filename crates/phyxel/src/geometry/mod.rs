//! Shapes as signed distances, meshes and point clouds: read, repaired, queried; no physics.

mod baked;
mod build;
mod bvh;
mod celled;
mod cloud;
mod csg;
mod discs;
mod mesh;
mod mesh_shape;
#[cfg(test)]
mod mesh_tests;
mod nooks;
mod normals;
mod openness;
mod placed;
mod primitives;
mod read;
mod refine;
#[cfg(test)]
mod tests;
mod topology;
mod triangle;
mod wide;
mod winding;

pub use baked::Baked;
pub use build::{Built, Files, OpenSurface, ShapeLibrary, build, build_open};
pub(crate) use bvh::Bvh;
pub use celled::Celled;
pub use cloud::{Cloud, CloudShape, ScatteredPoints};
pub use csg::{Combined, Operation};
pub use mesh::Mesh;
pub use mesh_shape::MeshShape;
pub use normals::{NormalGraph, plane_normals};
pub use openness::{Open, Openness, beside_plane};
pub use placed::{Placed, Pose, Scaled};
pub use primitives::{Capsule, Cone, Cuboid, Cylinder, Ellipsoid, HalfSpace, Sphere, Torus};
pub use topology::MeshReport;
pub(crate) use triangle::{Feature, closest as closest_on_triangle};
pub use wide::{Moments, WIDE, WIDE_SUM, wide_weight};
pub(crate) use winding::Winding;

use glam::DVec3;
use std::sync::Arc;

/// Axis-aligned box [m].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Lower corner.
    pub min: DVec3,
    /// Upper corner.
    pub max: DVec3,
}

impl Bounds {
    /// Contains nothing; growing it by a point gives that point.
    pub const EMPTY: Self = Self { min: DVec3::INFINITY, max: DVec3::NEG_INFINITY };

    /// Smallest box around the given points.
    pub fn of(points: impl IntoIterator<Item = DVec3>) -> Self {
        points.into_iter().fold(Self::EMPTY, |b, p| Self { min: b.min.min(p), max: b.max.max(p) })
    }
    /// Smallest box around both.
    pub fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
    /// The box grown by `margin` on all sides.
    pub fn grown(self, margin: f64) -> Self {
        Self { min: self.min - margin, max: self.max + margin }
    }
    /// Extent along each axis.
    pub fn size(self) -> DVec3 {
        self.max - self.min
    }
    /// Middle.
    pub fn center(self) -> DVec3 {
        0.5 * (self.min + self.max)
    }
    /// Box common to both; empty when they do not overlap.
    pub fn intersection(self, other: Self) -> Self {
        let common = Self { min: self.min.max(other.min), max: self.max.min(other.max) };
        if common.is_empty() { Self::EMPTY } else { common }
    }
    /// Whether nothing is inside.
    pub fn is_empty(self) -> bool {
        !self.min.cmple(self.max).all()
    }
    /// Whether all corners are finite and something is inside.
    pub fn is_finite(self) -> bool {
        self.min.is_finite() && self.max.is_finite() && !self.is_empty()
    }
    /// Distance from a point to the box [m]; zero inside.
    pub fn distance(self, p: DVec3) -> f64 {
        (self.min - p).max(p - self.max).max(DVec3::ZERO).length()
    }
    /// Whether the point is inside or on the border.
    pub fn contains(self, p: DVec3) -> bool {
        self.min.cmple(p).all() && p.cmple(self.max).all()
    }
    /// Whether the boxes share a point.
    pub fn overlaps(self, other: Self) -> bool {
        self.min.cmple(other.max).all() && other.min.cmple(self.max).all()
    }
}

/// A solid shape by its signed distance.
pub trait Shape: Send + Sync {
    /// Signed distance to the surface [m], negative inside. Its absolute value never exceeds the true distance
    /// (a lower bound is allowed where an exact distance is dear), and it is continuous.
    fn distance(&self, p: DVec3) -> f64;

    /// Box around the shape; infinite for half-spaces.
    fn bounds(&self) -> Bounds;

    /// Unit outward direction in which the distance grows. The default takes central differences.
    fn normal(&self, p: DVec3) -> DVec3 {
        let step = 1e-6 * self.bounds().size().max_element().clamp(1e-3, 1e3);
        let d = |o: DVec3| self.distance(p + o) - self.distance(p - o);
        DVec3::new(d(DVec3::X * step), d(DVec3::Y * step), d(DVec3::Z * step)).try_normalize().unwrap_or(DVec3::Y)
    }

    /// Both at once, for callers that need both (contact): cheaper than two calls for meshes and combinations.
    fn distance_normal(&self, p: DVec3) -> (f64, DVec3) {
        (self.distance(p), self.normal(p))
    }

    /// sRGB color of the surface next to a place, where the shape brings colors of its own.
    fn color(&self, _p: DVec3) -> Option<[u8; 3]> {
        None
    }

    /// About how many simple shapes a distance costs.
    fn cost(&self) -> usize {
        1
    }

    /// Least and most that the distance can be within `radius` of `center` [m]. The default takes it that a distance changes
    /// by no more than the way.
    fn range(&self, center: DVec3, radius: f64) -> (f64, f64) {
        within(self.distance(center), radius)
    }

    /// A shape that answers the same within `radius` of `center` [m], without what has no say there; None if all has.
    fn pruned(&self, _center: DVec3, _radius: f64) -> Option<Arc<dyn Shape>> {
        None
    }
}

/// A range that says nothing.
const ANYTHING: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

/// What a distance can be within a radius, with a little for rounding.
fn within(distance: f64, radius: f64) -> (f64, f64) {
    let way = 1.001 * radius;
    (distance - way, distance + way)
}
