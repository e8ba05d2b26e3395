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
    /// -1 where what is outside of the part counts: max(a, b) = -min(-a, -b).
    flip: f64,
}

impl Combined {
    /// Combines `shapes` in their order, blended over the length `smooth` [m]. No shapes at all are an empty solid.
    pub fn new(operation: Operation, shapes: Vec<Arc<dyn Shape>>, smooth: f64) -> Self {
        let blend = smooth.max(0.0);
        let flip = |i: usize| match operation {
            Operation::Union => 1.0,
            Operation::Intersection => -1.0,
            Operation::Difference => [-1.0, 1.0][usize::from(i > 0)],
        };
        let part = |(i, shape): (usize, Arc<dyn Shape>)| Part { bounds: shape.bounds(), shape, flip: flip(i) };
        let mut parts: Vec<Part> = shapes.into_iter().enumerate().map(part).collect();
        let bounds = match operation {
            Operation::Union => union_bounds(&parts, blend),
            Operation::Difference => parts.first().map_or(Bounds::EMPTY, |part| part.bounds),
            Operation::Intersection => {
                parts.iter().map(|part| part.bounds).reduce(Bounds::intersection).unwrap_or(Bounds::EMPTY)
            }
        };
        // Sharp ones do not depend on the order; near ones that are quickly asked spare the dear ones.
        if blend == 0.0 {
            parts.sort_by_key(|part| part.shape.cost());
        }
        Self { operation, parts, blend, bounds }
    }

    /// Whether a part cannot change by a bit what is `d` without it: it is farther away than the blend reaches.
    fn is_far(&self, part: &Part, p: DVec3, d: f64) -> bool {
        if part.flip < 0.0 {
            return false;
        }
        let far = part.bounds.distance(p);
        far > 0.0 && far >= d + self.blend
    }

    /// Sign of the result against the smallest of the flipped distances.
    fn outcome(&self) -> f64 {
        if self.operation == Operation::Union || self.parts.is_empty() { 1.0 } else { -1.0 }
    }

    /// Outside, the distance to the box is a lower bound too, often the better one.
    /// That no shape's distance is below it is what lets a union pass over far parts.
    fn outside_box(&self, p: DVec3, d: f64) -> f64 {
        let exact = self.operation == Operation::Union && self.blend == 0.0;
        if !exact && d > 0.0 && !self.bounds.is_empty() { d.max(self.bounds.distance(p)) } else { d }
    }
}

impl Shape for Combined {
    fn distance(&self, p: DVec3) -> f64 {
        let mut d = f64::INFINITY;
        for part in &self.parts {
            if !self.is_far(part, p, d) {
                d = smooth_min(d, part.flip * part.shape.distance(p), self.blend);
            }
        }
        self.outside_box(p, self.outcome() * d)
    }

    fn bounds(&self) -> Bounds {
        self.bounds
    }

    fn color(&self, p: DVec3) -> Option<[u8; 3]> {
        // Of the part whose surface it is there.
        let flipped = |part: &&Part| part.flip * part.shape.distance(p);
        let nearest = self.parts.iter().min_by(|a, b| flipped(a).total_cmp(&flipped(b)));
        nearest.and_then(|part| part.shape.color(p))
    }

    fn cost(&self) -> usize {
        self.parts.iter().map(|part| part.shape.cost()).sum()
    }

    fn normal(&self, p: DVec3) -> DVec3 {
        self.distance_normal(p).1
    }

    fn distance_normal(&self, p: DVec3) -> (f64, DVec3) {
        let mut d = f64::INFINITY;
        let mut gradient = DVec3::ZERO;
        for part in &self.parts {
            if self.is_far(part, p, d) {
                continue;
            }
            let (other, normal) = part.shape.distance_normal(p);
            let share = share_of_second(d, part.flip * other, self.blend);
            d = smooth_min(d, part.flip * other, self.blend);
            gradient = gradient * (1.0 - share) + normal * (part.flip * share);
        }
        (d, gradient) = (self.outcome() * d, self.outcome() * gradient);
        let clamped = self.outside_box(p, d);
        if clamped > d {
            gradient = p - p.clamp(self.bounds.min, self.bounds.max);
        }
        (clamped, gradient.try_normalize().unwrap_or(DVec3::Y))
    }

    fn range(&self, center: DVec3, radius: f64) -> (f64, f64) {
        let mut range = (f64::INFINITY, f64::INFINITY);
        for part in &self.parts {
            let (low, high) = part.range(center, radius);
            // The smooth minimum grows with both.
            range = (smooth_min(range.0, low, self.blend), smooth_min(range.1, high, self.blend));
        }
        let (low, high) = if self.outcome() < 0.0 { (-range.1, -range.0) } else { range };
        let outside = if self.bounds.is_empty() { high } else { self.bounds.distance(center) + radius };
        (low, if high > 0.0 { high.max(outside) } else { high })
    }

    fn pruned(&self, center: DVec3, radius: f64) -> Option<Arc<dyn Shape>> {
        let mut kept: Vec<Part> = Vec::new();
        let mut range = (f64::INFINITY, f64::INFINITY);
        let mut fewer = false;
        for part in &self.parts {
            let (low, high) = part.range(center, radius);
            if low >= range.1 + self.blend {
                fewer = true;
                continue;
            }
            if !kept.is_empty() && range.0 >= high + self.blend {
                kept.clear();
                range = (f64::INFINITY, f64::INFINITY);
                fewer = true;
            }
            let simpler = part.shape.pruned(center, radius);
            fewer |= simpler.is_some();
            kept.push(Part { shape: simpler.unwrap_or_else(|| part.shape.clone()), ..part.clone() });
            range = (smooth_min(range.0, low, self.blend), smooth_min(range.1, high, self.blend));
        }
        fewer.then(|| Arc::new(Self { parts: kept, ..self.clone() }) as Arc<dyn Shape>)
    }
}

impl Part {
    /// Range of the flipped distance.
    fn range(&self, center: DVec3, radius: f64) -> (f64, f64) {
        let (low, high) = self.shape.range(center, radius);
        if self.flip < 0.0 { (-high, -low) } else { (low, high) }
    }
}

/// Quadratic smooth minimum over the length `blend`.
fn smooth_min(a: f64, b: f64, blend: f64) -> f64 {
    // Of two infinite ones the difference is not a number, and there is nothing to blend.
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
