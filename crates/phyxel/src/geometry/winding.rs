//! Winding number of triangles and of oriented points: exact near by, a dipole per tree node far away ([BDS18]).

use super::bvh::Bvh;
use glam::DVec3;
use std::f64::consts::PI;

/// A node is far when its distance exceeds its radius by this factor; 2 is the value of [BDS18] §4.
const FAR: f64 = 2.0;
const STACK: usize = 96;

/// Dipole of what a tree node holds.
#[derive(Debug, Clone, Copy)]
struct Moment {
    /// Area-weighted middle [m].
    center: DVec3,
    /// Squared distance from which on the dipole does [m²].
    far_squared: f64,
    /// Sum of area times normal [m²].
    dipole: DVec3,
}

/// Dipoles of all nodes of a tree.
#[derive(Debug, Clone, Default)]
pub(crate) struct Winding {
    moments: Vec<Moment>,
}

impl Winding {
    /// `item(i)` gives area, center and area vector of the i-th item in leaf order.
    pub fn new(bvh: &Bvh, item: impl Fn(usize) -> (f64, DVec3, DVec3)) -> Self {
        let count = bvh.nodes.len();
        // Area, area times center, dipole; children come after their parents.
        let mut sums = vec![(0.0, DVec3::ZERO, DVec3::ZERO); count];
        let mut moments = vec![Moment { center: DVec3::ZERO, far_squared: 0.0, dipole: DVec3::ZERO }; count];
        for n in (0..count).rev() {
            let node = &bvh.nodes[n];
            let first = node.first as usize;
            sums[n] = if node.count > 0 {
                (first..first + node.count as usize).fold(sums[n], |s, i| {
                    let (area, center, vector) = item(i);
                    (s.0 + area, s.1 + area * center, s.2 + vector)
                })
            } else {
                let (a, b) = (sums[first], sums[first + 1]);
                (a.0 + b.0, a.1 + b.1, a.2 + b.2)
            };
            let (area, weighted, dipole) = sums[n];
            let center = if area > 0.0 { weighted / area } else { node.bounds.center() };
            let radius = (node.bounds.max - center).max(center - node.bounds.min).length();
            moments[n] = Moment { center, far_squared: (FAR * radius).powi(2), dipole };
        }
        Self { moments }
    }

    /// Winding number at `p`: 1 inside a closed surface, 0 outside. `exact(i)` gives the solid angle of the i-th item in leaf order.
    pub fn at(&self, bvh: &Bvh, p: DVec3, exact: impl Fn(usize) -> f64) -> f64 {
        let mut stack = [0_u32; STACK];
        let mut top = usize::from(!bvh.nodes.is_empty());
        let mut angle = 0.0;
        while top > 0 {
            top -= 1;
            let n = stack[top] as usize;
            let moment = &self.moments[n];
            let to = moment.center - p;
            let d2 = to.length_squared();
            let node = &bvh.nodes[n];
            if d2 > moment.far_squared {
                angle += moment.dipole.dot(to) / (d2 * d2.sqrt());
            } else if node.count > 0 {
                angle += (node.first..node.first + node.count).map(|i| exact(i as usize)).sum::<f64>();
            } else {
                stack[top] = node.first + 1;
                stack[top + 1] = node.first;
                top += 2;
            }
        }
        angle / (4.0 * PI)
    }
}

/// Solid angle of a triangle seen from `p`, positive from behind ([OS83] eq. 8).
pub(super) fn solid_angle([a, b, c]: [DVec3; 3], p: DVec3) -> f64 {
    let (a, b, c) = (a - p, b - p, c - p);
    let (la, lb, lc) = (a.length(), b.length(), c.length());
    let numerator = a.dot(b.cross(c));
    let denominator = la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb;
    2.0 * numerator.atan2(denominator)
}
