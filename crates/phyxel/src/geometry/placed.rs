//! Shapes moved, turned and scaled.

use super::{Bounds, Shape};
use crate::linalg::rotation_xyz;
use glam::{DMat3, DQuat, DVec3};
use std::sync::Arc;

/// A rigid motion with a uniform scale: `x -> translation + scale * rotation * x`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pose {
    /// Rotation matrix.
    pub rotation: DMat3,
    /// Place of the origin [m].
    pub translation: DVec3,
    /// Scale factor, positive.
    pub scale: f64,
}

impl Pose {
    /// Nothing moved.
    pub const IDENTITY: Self = Self { rotation: DMat3::IDENTITY, translation: DVec3::ZERO, scale: 1.0 };

    /// Turned, then moved.
    pub fn new(translation: DVec3, rotation: DQuat) -> Self {
        Self { rotation: DMat3::from_quat(rotation), translation, scale: 1.0 }
    }

    /// Turned by angles [degrees] about x, then y, then z, then moved: the meaning of `rotate` and `at` in a scene.
    pub fn from_degrees(at: DVec3, rotate: DVec3) -> Self {
        Self::new(at, rotation_xyz(rotate))
    }

    /// From the shape's frame to the world's.
    pub fn point(&self, local: DVec3) -> DVec3 {
        self.translation + self.scale * (self.rotation * local)
    }

    /// From the world's frame to the shape's.
    pub fn point_back(&self, p: DVec3) -> DVec3 {
        self.vector_back(p - self.translation) / self.scale
    }

    /// Turns a direction from the shape's frame to the world's.
    pub fn vector(&self, v: DVec3) -> DVec3 {
        self.rotation * v
    }

    /// Turns a direction from the world's frame to the shape's.
    pub fn vector_back(&self, v: DVec3) -> DVec3 {
        DVec3::new(self.rotation.x_axis.dot(v), self.rotation.y_axis.dot(v), self.rotation.z_axis.dot(v))
    }

    /// This motion after `first`.
    pub fn after(&self, first: &Self) -> Self {
        Self {
            rotation: self.rotation * first.rotation,
            translation: self.point(first.translation),
            scale: self.scale * first.scale,
        }
    }

    /// Box around the moved box.
    pub fn bounds(&self, bounds: Bounds) -> Bounds {
        if bounds.is_empty() {
            return Bounds::EMPTY;
        }
        let mut moved = Bounds { min: self.translation, max: self.translation };
        for row in 0..3 {
            for column in 0..3 {
                let factor = self.scale * self.rotation.col(column)[row];
                // Zero times an infinite side is nothing, not NaN.
                if factor != 0.0 {
                    let (a, b) = (factor * bounds.min[column], factor * bounds.max[column]);
                    moved.min[row] += a.min(b);
                    moved.max[row] += a.max(b);
                }
            }
        }
        moved
    }
}

/// A shape put somewhere by a [`Pose`]; distances stay as exact as they were.
#[derive(Clone)]
pub struct Placed {
    /// The shape in its own frame.
    pub shape: Arc<dyn Shape>,
    /// Where it is; may be changed at any time.
    pub pose: Pose,
}

impl Placed {
    /// Puts `shape` at `pose`.
    pub fn new(shape: Arc<dyn Shape>, pose: Pose) -> Self {
        Self { shape, pose }
    }
}

impl Shape for Placed {
    fn color(&self, p: DVec3) -> Option<[u8; 3]> {
        self.shape.color(self.pose.point_back(p))
    }
    fn cost(&self) -> usize {
        self.shape.cost()
    }
    fn distance(&self, p: DVec3) -> f64 {
        self.pose.scale * self.shape.distance(self.pose.point_back(p))
    }
    fn bounds(&self) -> Bounds {
        self.pose.bounds(self.shape.bounds())
    }
    fn normal(&self, p: DVec3) -> DVec3 {
        self.pose.vector(self.shape.normal(self.pose.point_back(p)))
    }
    fn distance_normal(&self, p: DVec3) -> (f64, DVec3) {
        let (d, n) = self.shape.distance_normal(self.pose.point_back(p));
        (self.pose.scale * d, self.pose.vector(n))
    }
    fn range(&self, center: DVec3, radius: f64) -> (f64, f64) {
        let (low, high) = self.shape.range(self.pose.point_back(center), radius / self.pose.scale);
        (self.pose.scale * low, self.pose.scale * high)
    }
    fn pruned(&self, center: DVec3, radius: f64) -> Option<Arc<dyn Shape>> {
        let shape = self.shape.pruned(self.pose.point_back(center), radius / self.pose.scale)?;
        Some(Arc::new(Self { shape, pose: self.pose }))
    }
}

/// A shape scaled by a factor per axis; negative factors mirror. Distances are a lower bound unless all factors are equal.
#[derive(Clone)]
pub struct Scaled {
    shape: Arc<dyn Shape>,
    factors: DVec3,
    least: f64,
    bounds: Bounds,
}

impl Scaled {
    /// Scales `shape`; no factor may be zero.
    pub fn new(shape: Arc<dyn Shape>, factors: DVec3) -> Self {
        let b = shape.bounds();
        let bounds = if b.is_empty() {
            b
        } else {
            Bounds { min: (b.min * factors).min(b.max * factors), max: (b.min * factors).max(b.max * factors) }
        };
        Self { shape, factors, least: factors.abs().min_element(), bounds }
    }
}

impl Shape for Scaled {
    fn color(&self, p: DVec3) -> Option<[u8; 3]> {
        self.shape.color(p / self.factors)
    }
    fn cost(&self) -> usize {
        self.shape.cost()
    }
    fn distance(&self, p: DVec3) -> f64 {
        let d = self.least * self.shape.distance(p / self.factors);
        if d > 0.0 && !self.bounds.is_empty() { d.max(self.bounds.distance(p)) } else { d }
    }
    fn bounds(&self) -> Bounds {
        self.bounds
    }
    fn range(&self, center: DVec3, radius: f64) -> (f64, f64) {
        let (low, high) = self.shape.range(center / self.factors, radius / self.least);
        let outside = if self.bounds.is_empty() { f64::NEG_INFINITY } else { self.bounds.distance(center) + radius };
        (self.least * low, (self.least * high).max(outside))
    }
    fn pruned(&self, center: DVec3, radius: f64) -> Option<Arc<dyn Shape>> {
        let shape = self.shape.pruned(center / self.factors, radius / self.least)?;
        Some(Arc::new(Self { shape, ..self.clone() }))
    }
    fn normal(&self, p: DVec3) -> DVec3 {
        (self.shape.normal(p / self.factors) / self.factors).try_normalize().unwrap_or(DVec3::Y)
    }
}
