//! Oriented discs around the nodes of a tree over a surface: tighter than boxes where the surface is nearly plane.
//!
//! A place at the distance d of a finely sampled surface has some (d / edge) boxes of triangles nearer than d around its foot, but only
//! a few discs. Discs are f32 and widened by what rounding may cost: no nearer item is ever passed over, so the answer is
//! that of a search through all items.

use super::bvh::Bvh;
use glam::{DVec3, Vec3};
use rayon::prelude::*;

/// Nodes of more items than this are bounded by their box alone.
const LARGEST: usize = 4096;
/// Rounding of f32 coordinates, of the size of the whole [1].
const ROUNDING: f64 = 1e-6;
/// Rounding of the squared distance from a disc, of the squared distance from its center.
const MARGIN: f32 = 2e-6;

/// All within `half` of a plane and within `radius` of an axis through `center`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Disc {
    center: Vec3,
    radius: f32,
    normal: Vec3,
    half: f32,
}

impl Disc {
    /// No more than the squared distance of `p`.
    #[inline]
    fn least_squared(&self, p: Vec3) -> f32 {
        let away = p - self.center;
        let (long, up) = (away.length_squared(), self.normal.dot(away).abs());
        let along = (long - up * up).max(0.0).sqrt();
        let (above, beside) = ((up - self.half).max(0.0), (along - self.radius).max(0.0));
        above * above + beside * beside - MARGIN * long
    }
}

/// Discs around the nodes and the items of a tree.
#[derive(Debug, Clone, Default)]
pub(crate) struct Discs {
    /// Where f32 coordinates count from [m].
    middle: DVec3,
    nodes: Vec<Disc>,
    /// In leaf order; empty where items are points.
    items: Vec<Disc>,
}

impl Discs {
    /// Around items of `K` corners each, given in leaf order with their area vectors (any length).
    pub fn new<const K: usize>(
        bvh: &Bvh,
        corners: impl Fn(usize) -> [DVec3; K] + Sync,
        vector: impl Fn(usize) -> DVec3 + Sync,
    ) -> Self {
        let Some(root) = bvh.nodes.first() else { return Self::default() };
        let middle = root.bounds.center();
        let slack = ROUNDING * root.bounds.size().length();
        let around = |items: std::ops::Range<usize>, normal: DVec3| {
            let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
            let (mut lowest, mut highest) = (f64::INFINITY, f64::NEG_INFINITY);
            for x in items.clone().flat_map(&corners) {
                let height = normal.dot(x - middle);
                (low, high) = (low.min(x), high.max(x));
                (lowest, highest) = (lowest.min(height), highest.max(height));
            }
            let box_center = 0.5 * (low + high);
            let center = box_center + normal * (0.5 * (lowest + highest) - normal.dot(box_center - middle));
            let radius = items.flat_map(&corners).map(|x| (x - center).reject_from_normalized(normal).length_squared());
            let radius = radius.fold(0.0, f64::max).sqrt();
            disc(center - middle, normal, radius + slack, 0.5 * (highest - lowest) + slack)
        };
        let ranges = ranges(bvh);
        let node = |n: usize| {
            let items = ranges[n].clone();
            if items.len() > LARGEST {
                let (bounds, size) = (bvh.nodes[n].bounds, 0.5 * bvh.nodes[n].bounds.size());
                let least = size.min_element();
                let axis = if size.x == least {
                    DVec3::X
                } else if size.y == least {
                    DVec3::Y
                } else {
                    DVec3::Z
                };
                let across = size - axis * size;
                return disc(bounds.center() - middle, axis, across.length() + slack, least + slack);
            }
            let sum: DVec3 = items.clone().map(&vector).sum();
            around(items, sum.try_normalize().unwrap_or(DVec3::Y))
        };
        let nodes = (0..bvh.nodes.len()).into_par_iter().with_min_len(64).map(node).collect();
        let item = |i: usize| around(i..i + 1, vector(i).try_normalize().unwrap_or(DVec3::Y));
        let count = if K > 1 { bvh.order.len() } else { 0 };
        let items = (0..count).into_par_iter().with_min_len(64).map(item).collect();
        Self { middle, nodes, items }
    }

    /// Visits items as `Bvh::nearest` does, one by one: `visit` gets the item in leaf order and the squared distance so far.
    #[inline]
    pub fn nearest(&self, bvh: &Bvh, p: DVec3, best: f64, mut visit: impl FnMut(usize, f64) -> f64) {
        let local = (p - self.middle).as_vec3();
        bvh.nearest_by(
            best,
            |n| f64::from(self.nodes[n].least_squared(local)),
            |range, mut best| {
                for i in range {
                    let far = self.items.get(i).is_some_and(|disc| f64::from(disc.least_squared(local)) >= best);
                    if !far {
                        best = visit(i, best);
                    }
                }
                best
            },
        );
    }
}

fn disc(center: DVec3, normal: DVec3, radius: f64, half: f64) -> Disc {
    Disc { center: center.as_vec3(), radius: radius as f32, normal: normal.as_vec3(), half: half as f32 }
}

/// Items below each node, in leaf order.
fn ranges(bvh: &Bvh) -> Vec<std::ops::Range<usize>> {
    let mut ranges = vec![0..0; bvh.nodes.len()];
    for n in (0..bvh.nodes.len()).rev() {
        let node = &bvh.nodes[n];
        let first = node.first as usize;
        ranges[n] = match node.count {
            0 => ranges[first].start..ranges[first + 1].end,
            count => first..first + count as usize,
        };
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{Bounds, Sphere, closest_on_triangle};
    use crate::random::Random;
    use crate::sampling::mesh_of;

    #[test]
    fn the_nearest_triangle_is_found_near_and_far() {
        let mesh = mesh_of(&Sphere { radius: 1.0 }, 3000);
        let shift = DVec3::new(40.0, -3.0, 7.0);
        let all: Vec<[DVec3; 3]> = (0..mesh.triangles.len()).map(|t| mesh.corners(t).map(|x| x + shift)).collect();
        let boxes: Vec<Bounds> = all.iter().map(|t| Bounds::of(*t)).collect();
        let bvh = Bvh::new(&boxes);
        let corners = |i: usize| all[bvh.order[i] as usize];
        let discs = Discs::new(&bvh, corners, |i| (corners(i)[1] - corners(i)[0]).cross(corners(i)[2] - corners(i)[0]));
        let squared = |i: usize, p: DVec3| closest_on_triangle(&corners(i), p).0.distance_squared(p);
        for k in 0..600 {
            let reach = [0.02, 1.2, 30.0][k % 3];
            let on = Random::new(1, k as u64).direction();
            let p = shift + on + reach * Random::new(2, k as u64).in_cube();
            let truth = (0..all.len()).map(|i| squared(i, p)).fold(f64::INFINITY, f64::min);
            let (mut found, mut asked) = (f64::INFINITY, 0);
            discs.nearest(&bvh, p, f64::INFINITY, |i, best| {
                asked += 1;
                found = best.min(squared(i, p));
                found
            });
            assert_eq!(found, truth, "{p}");
            // Around the middle of the ball all triangles are about equally near.
            assert!(asked < 60 || p.distance(shift) < 0.5, "{asked} at {p}");
        }
        Discs::default().nearest(&Bvh::default(), DVec3::ZERO, 1.0, |_, _| panic!("there is nothing"));
    }
}
