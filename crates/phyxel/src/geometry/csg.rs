//! Shapes combined: union, difference and intersection, sharp or blended.
//!
//! The blend is the quadratic smooth minimum: where two distances differ by less than the blend length k, the smaller one is
//! lowered by (k - |a - b|)² / (4 k). Its gradient is a convex combination of the two gradients, so a combination of
//! distances that grow by at most 1 m per m does the same, and its absolute value never exceeds the true distance.

use super::{Bounds, Shape};
use glam::DVec3;
use std::sync::Arc;

/// How shapes are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// What is in any of them.
    Union,
    /// What is in the first and in none of the others.
    Difference,
    /// What is in all of them.
    Intersection,
}

/// Several shapes as one.
#[derive(Clone)]
pub struct Combined {
    operation: Operation,
    parts: Vec<Part>,
    blend: f64,
    bounds: Bounds,
}

#[derive(Clone)]
struct Part {
    shape: Arc<dyn Shape>,
    bounds: Bounds,
}

impl Combined {
    /// Combines `shapes` in their order, blended over the length `smooth` [m]. No shapes at all are an empty solid.
    pub fn new(operation: Operation, shapes: Vec<Arc<dyn Shape>>, smooth: f64) -> Self {
        let blend = smooth.max(0.0);
        let parts: Vec<Part> = shapes.into_iter().map(|shape| Part { bounds: shape.bounds(), shape }).collect();
        let bounds = match operation {
            Operation::Union => union_bounds(&parts, blend),
            Operation::Difference => parts.first().map_or(Bounds::EMPTY, |part| part.bounds),
            Operation::Intersection => {
                parts.iter().map(|part| part.bounds).reduce(Bounds::intersection).unwrap_or(Bounds::EMPTY)
            }
        };
        Self { operation, parts, blend, bounds }
    }

    fn union(&self, p: DVec3) -> f64 {
        let mut d = f64::INFINITY;
        for part in &self.parts {
            // A part farther away than the blend reaches cannot change the result by a bit.
            let far = part.bounds.distance(p);
            if far > 0.0 && far >= d + self.blend {
                continue;
            }
            d = smooth_min(d, part.shape.distance(p), self.blend);
        }
        d
    }

    fn difference(&self, p: DVec3) -> f64 {
        let Some((first, others)) = self.parts.split_first() else { return f64::INFINITY };
        let mut d = first.shape.distance(p);
        for part in others {
            let far = part.bounds.distance(p);
            if far > 0.0 && far >= self.blend - d {
                continue;
            }
            d = -smooth_min(-d, part.shape.distance(p), self.blend);
        }
        d
    }

    fn intersection(&self, p: DVec3) -> f64 {
        let d = self.parts.iter().fold(f64::INFINITY, |d, part| smooth_min(d, -part.shape.distance(p), self.blend));
        if self.parts.is_empty() { d } else { -d }
    }

    /// Outside, the distance to the box is a lower bound too, often the better one.
    /// That no shape's distance is below it is what lets a union pass over far parts.
    fn outside_box(&self, p: DVec3, d: f64) -> f64 {
        if d > 0.0 && !self.bounds.is_empty() { d.max(self.bounds.distance(p)) } else { d }
    }
}

impl Shape for Combined {
    fn distance(&self, p: DVec3) -> f64 {
        let d = match self.operation {
            Operation::Union if self.blend == 0.0 => return self.union(p),
            Operation::Union => self.union(p),
            Operation::Difference => self.difference(p),
            Operation::Intersection => self.intersection(p),
        };
        self.outside_box(p, d)
    }

    fn bounds(&self) -> Bounds {
        self.bounds
    }

    fn cost(&self) -> usize {
        self.parts.iter().map(|part| part.shape.cost()).sum()
    }

    fn normal(&self, p: DVec3) -> DVec3 {
        self.distance_normal(p).1
    }

    fn distance_normal(&self, p: DVec3) -> (f64, DVec3) {
        // A difference is the first and what is outside of the others; max(a, b) = -min(-a, -b).
        let mut d = f64::INFINITY;
        let mut gradient = DVec3::ZERO;
        for (i, part) in self.parts.iter().enumerate() {
            let flip = match self.operation {
                Operation::Union => 1.0,
                Operation::Intersection => -1.0,
                Operation::Difference => [-1.0, 1.0][usize::from(i > 0)],
            };
            let far = part.bounds.distance(p);
            if flip > 0.0 && far > 0.0 && far >= d + self.blend {
                continue;
            }
            let (other, normal) = part.shape.distance_normal(p);
            let share = share_of_second(d, flip * other, self.blend);
            d = smooth_min(d, flip * other, self.blend);
            gradient = gradient * (1.0 - share) + normal * (flip * share);
        }
        if self.operation != Operation::Union && !self.parts.is_empty() {
            (d, gradient) = (-d, -gradient);
        }
        let unclamped = d;
        if self.operation != Operation::Union || self.blend > 0.0 {
            d = self.outside_box(p, d);
        }
        if d > unclamped {
            gradient = p - p.clamp(self.bounds.min, self.bounds.max);
        }
        (d, gradient.try_normalize().unwrap_or(DVec3::Y))
    }
}

/// Quadratic smooth minimum over the length `blend`.
fn smooth_min(a: f64, b: f64, blend: f64) -> f64 {
    let overlap = blend - (a - b).abs();
    if overlap > 0.0 { a.min(b) - overlap * overlap / (4.0 * blend) } else { a.min(b) }
}

/// Weight of the gradient of `b` in the gradient of the smooth minimum.
fn share_of_second(a: f64, b: f64, blend: f64) -> f64 {
    let overlap = blend - (a - b).abs();
    let larger = if overlap > 0.0 { 0.5 * overlap / blend } else { 0.0 };
    if b < a { 1.0 - larger } else { larger }
}

/// Box around a blended union: the parts' boxes, grown only where two of them come close enough to bulge.
///
/// On the blended surface with a <= b: a <= k/4 and b <= k. A blend of several parts may lie below the least of
/// their distances by `slack`, which grows with each part as the smooth minimum of (D - slack, D) does.
fn union_bounds(parts: &[Part], k: f64) -> Bounds {
    let mut hull = Bounds::EMPTY;
    let mut bulges = Bounds::EMPTY;
    let mut slack = 0.0;
    for part in parts {
        if k > 0.0 && !hull.is_empty() && !part.bounds.is_empty() {
            let (a, b) = (hull, part.bounds);
            bulges = bulges.union(a.grown(0.25 * k + slack).intersection(b.grown(k)));
            bulges = bulges.union(a.grown(k + slack).intersection(b.grown(0.25 * k)));
            slack += 0.25 * k * (1.0 - slack / k).powi(2);
        }
        hull = hull.union(part.bounds);
    }
    hull.union(bulges)
}
