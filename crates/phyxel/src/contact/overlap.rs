//! Bodies that share space at the start.

use super::bodies::{ContactBody, ContactSurface};
use crate::geometry::Shape;
use crate::points::Points;

/// Bodies that overlap by more than this part of the spacing at the start are reported.
const OVERLAP_LIMIT: f64 = 0.25;

/// Two bodies that share space at the start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Overlap {
    /// One body.
    pub body_a: u32,
    /// The other, which comes later in the scene.
    pub body_b: u32,
    /// Deepest overlap [m].
    pub depth: f64,
    /// Number of points of both that overlap.
    pub points: usize,
}

/// Pairs of bodies of which one holds matter of the other.
pub(super) fn find_overlaps(points: &Points, bodies: &[ContactBody], radii: &[f64]) -> Vec<Overlap> {
    let mut found = Vec::new();
    for a in 0..bodies.len() {
        for b in a + 1..bodies.len() {
            let mut overlap = Overlap { body_a: a as u32, body_b: b as u32, depth: 0.0, points: 0 };
            for (body, other) in [(a, b), (b, a)] {
                if let ContactSurface::Solid(shape) = &bodies[other].surface {
                    count_overlap(points, &bodies[body], &**shape, radii, &mut overlap);
                }
            }
            if overlap.points > 0 {
                found.push(overlap);
            }
        }
    }
    found
}

fn count_overlap(points: &Points, body: &ContactBody, other: &dyn Shape, radii: &[f64], overlap: &mut Overlap) {
    let space = other.bounds();
    for i in body.points.clone() {
        let (p, near) = (points.rest_positions[i], space.grown(radii[i]));
        if !(p.cmpge(near.min).all() && p.cmple(near.max).all()) {
            continue;
        }
        let inside = radii[i] - other.distance(p);
        if inside > OVERLAP_LIMIT * points.spacings[i] {
            overlap.depth = overlap.depth.max(inside);
            overlap.points += 1;
        }
    }
}
