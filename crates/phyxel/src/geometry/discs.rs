//! Oriented discs around the nodes of a tree over a surface: tighter than boxes where the surface is nearly plane.
//!
//! A place at the distance d of a finely sampled surface has some (d / edge) boxes of triangles nearer than d around its foot, but only
//! a few discs. Discs are f32 and widened by what rounding may cost: no nearer item is ever passed over, so the answer is
//! that of a search through all items.

use super::Bounds;
use super::bvh::Bvh;
use glam::{DVec3, Vec3, Vec4};
use rayon::prelude::*;
use std::collections::VecDeque;
use std::ops::Range;

/// Nodes of more items than this are bounded by their box alone.
const LARGEST: usize = 4096;
/// Rounding of f32 coordinates, of the size of the whole [1].
const ROUNDING: f64 = 1e-6;
/// Rounding of the squared distance from a disc, of the squared distance from its center.
const MARGIN: f32 = 2e-6;
/// Farthest places of discs are taken as this much farther, for rounding.
const WIDER: f32 = 1.000_01;

/// All within `half` of a plane and within `radius` of an axis through `center`.
#[derive(Debug, Clone, Copy)]
struct Disc {
    center: Vec3,
    radius: f32,
    normal: Vec3,
    half: f32,
}

/// Discs in a block.
const LANES: usize = 8;
/// Blocks that wait in a search through a tree of usual depth.
const WAITING: usize = 160;

/// Discs that are looked at together: what is in the children of a node, or items.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(32))]
struct Block {
    center: [[Vec4; 2]; 3],
    normal: [[Vec4; 2]; 3],
    radius: [Vec4; 2],
    half: [Vec4; 2],
    /// Numbers of blocks or of items.
    links: [u32; LANES],
    /// How many lanes are in use, and whether they are items.
    count: u32,
    items: bool,
}

impl Block {
    fn new(lanes: &[(Disc, u32)], items: bool) -> Self {
        let lane = |k: usize| lanes[k.min(lanes.len() - 1)];
        let four =
            |k: usize, part: &dyn Fn(&Disc) -> f32| Vec4::from_array(std::array::from_fn(|l| part(&lane(k + l).0)));
        let disc = |part: &dyn Fn(&Disc) -> f32| [four(0, part), four(4, part)];
        Self {
            center: std::array::from_fn(|axis| disc(&|d| d.center[axis])),
            normal: std::array::from_fn(|axis| disc(&|d| d.normal[axis])),
            radius: disc(&|d| d.radius),
            half: disc(&|d| d.half),
            links: std::array::from_fn(|k| lane(k).1),
            count: lanes.len() as u32,
            items,
        }
    }

    /// No more than the squared distance of `p` from what each holds, and no less than the least of these.
    #[inline]
    fn squared_bounds(&self, p: Vec3) -> ([Vec4; 2], f32) {
        let four = |k: usize| {
            let [x, y, z] = [0, 1, 2].map(|axis| Vec4::splat(p[axis]) - self.center[axis][k]);
            let long = x * x + y * y + z * z;
            let up = (self.normal[0][k] * x + self.normal[1][k] * y + self.normal[2][k] * z).abs();
            let along = (long - up * up).max(Vec4::ZERO).sqrt();
            let above = (up - self.half[k]).max(Vec4::ZERO);
            let beside = (along - self.radius[k]).max(Vec4::ZERO);
            let (top, rim) = (up + self.half[k], along + self.radius[k]);
            let margin = MARGIN * long;
            (above * above + beside * beside - margin, top * top + rim * rim + margin)
        };
        let ((near, far), (near_too, far_too)) = (four(0), four(1));
        ([near, near_too], WIDER * far.min(far_too).min_element())
    }

    /// Lanes that may be nearer than a squared distance, the farthest first, of equally far ones the last. Returns their number.
    #[inline]
    fn nearer(&self, bounds: [Vec4; 2], most: f32, lanes: &mut [(f32, u32); LANES]) -> usize {
        let [low, high] = bounds.map(|b| b.cmplt(Vec4::splat(most)).bitmask());
        let mut open = (low | high << 4) & ((1 << self.count) - 1);
        let ([a, b, c, d], [e, f, g, h]) = (bounds[0].to_array(), bounds[1].to_array());
        let bounds = [a, b, c, d, e, f, g, h];
        let mut count = 0;
        while open != 0 {
            let k = open.trailing_zeros() as usize;
            open &= open - 1;
            let mut at = count;
            while at > 0 && lanes[at - 1].0 <= bounds[k] {
                lanes[at] = lanes[at - 1];
                at -= 1;
            }
            lanes[at] = (bounds[k], self.links[k]);
            count += 1;
        }
        count
    }
}

/// Discs around what the nodes of a tree hold.
#[derive(Debug, Clone, Default)]
pub(crate) struct Discs {
    /// Where f32 coordinates count from [m].
    middle: DVec3,
    /// Children come after their parents.
    blocks: Vec<Block>,
    /// Most blocks that wait in a search.
    waiting: usize,
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
        let around = |items: Range<usize>, normal: DVec3| {
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
        let group = |items: Range<usize>| {
            if items.len() <= LARGEST {
                let sum: DVec3 = items.clone().map(&vector).sum();
                return around(items, sum.try_normalize().unwrap_or(DVec3::Y));
            }
            let bounds = Bounds::of(items.flat_map(&corners));
            let size = 0.5 * bounds.size();
            let least = size.min_element();
            let axis = if size.x == least {
                DVec3::X
            } else if size.y == least {
                DVec3::Y
            } else {
                DVec3::Z
            };
            let across = size - axis * size;
            disc(bounds.center() - middle, axis, across.length() + slack, least + slack)
        };
        let item = |i: usize| around(i..i + 1, vector(i).try_normalize().unwrap_or(DVec3::Y));
        let plans = plans(bvh);
        let block = |plan: &Plan| {
            let lanes: Vec<(Disc, u32)> = match plan {
                Plan::Groups(groups) => groups.iter().map(|(items, block)| (group(items.clone()), *block)).collect(),
                Plan::Items(items) => items.clone().map(|i| (item(i), i as u32)).collect(),
            };
            Block::new(&lanes, matches!(plan, Plan::Items(_)))
        };
        let blocks = plans.par_iter().with_min_len(64).map(block).collect();
        Self { middle, blocks, waiting: LANES * depth(&plans) }
    }

    /// Visits items that may be the nearest of all, the likeliest first, as long as they may be nearer than the squared distance that `visit`
    /// gave last. It gets the item in leaf order and the squared distance so far.
    #[inline]
    pub fn nearest(&self, p: DVec3, mut best: f64, mut visit: impl FnMut(usize, f64) -> f64) {
        if self.blocks.is_empty() {
            return;
        }
        let local = (p - self.middle).as_vec3();
        let (mut few, mut many) = ([(0f32, 0u32); WAITING], Vec::new());
        let waiting: &mut [(f32, u32)] = match self.waiting <= WAITING {
            true => &mut few,
            false => {
                many.resize(self.waiting, (0.0, 0));
                &mut many
            }
        };
        // The root is nearer than anything.
        let mut top = 1;
        waiting[0] = (f32::NEG_INFINITY, 0);
        while top > 0 {
            top -= 1;
            let (least, number) = waiting[top];
            if f64::from(least) >= best {
                continue;
            }
            let block = &self.blocks[number as usize];
            let (bounds, most) = block.squared_bounds(local);
            let mut lanes = [(0f32, 0u32); LANES];
            let count = block.nearer(bounds, most.min(above(best)), &mut lanes);
            if block.items {
                for &(least, item) in lanes[..count].iter().rev() {
                    if f64::from(least) < best {
                        best = visit(item as usize, best);
                    }
                }
            } else {
                waiting[top..top + count].copy_from_slice(&lanes[..count]);
                top += count;
            }
        }
    }
}

/// The next larger number in f32, or nearly so.
#[inline]
fn above(number: f64) -> f32 {
    number as f32 * WIDER
}

/// What a block holds: groups of items, each with the block that holds them, or items.
enum Plan {
    Groups(Vec<(Range<usize>, u32)>),
    Items(Range<usize>),
}

/// Items of a node of a tree, or some that no node tells apart.
#[derive(Clone)]
struct Group {
    items: Range<usize>,
    node: Option<usize>,
}

impl Group {
    /// The groups that it is made of.
    fn halves(&self, bvh: &Bvh, ranges: &[Range<usize>]) -> [Self; 2] {
        let inner = self.node.map(|n| &bvh.nodes[n]).filter(|node| node.count == 0);
        if let Some(node) = inner {
            return [0, 1].map(|k| {
                let n = node.first as usize + k;
                Self { items: ranges[n].clone(), node: Some(n) }
            });
        }
        let Range { start, end } = self.items;
        let middle = start.midpoint(end);
        [start..middle, middle..end].map(|items| Self { items, node: None })
    }
}

/// Blocks for a tree, children after their parents: as many groups as fit into one take the place of each, the largest are opened first.
fn plans(bvh: &Bvh) -> Vec<Plan> {
    let ranges = ranges(bvh);
    let mut plans = Vec::new();
    // Groups whose blocks are to be made, in this order.
    let mut open = VecDeque::from([Group { items: ranges[0].clone(), node: Some(0) }]);
    let mut known = 1;
    while let Some(group) = open.pop_front() {
        if group.items.len() <= LANES {
            plans.push(Plan::Items(group.items));
            continue;
        }
        let mut groups = vec![group];
        while groups.len() < LANES {
            let largest = (0..groups.len()).max_by_key(|&k| groups[k].items.len()).unwrap_or(0);
            if groups[largest].items.len() <= LANES {
                break;
            }
            let halves = groups[largest].halves(bvh, &ranges);
            groups.splice(largest..=largest, halves);
        }
        plans.push(Plan::Groups(groups.iter().zip(known..).map(|(g, b)| (g.items.clone(), b)).collect()));
        known += groups.len() as u32;
        open.extend(groups);
    }
    plans
}

/// Levels of blocks.
fn depth(plans: &[Plan]) -> usize {
    let mut depths = vec![1; plans.len()];
    for (b, plan) in plans.iter().enumerate().rev() {
        if let Plan::Groups(groups) = plan {
            depths[b] = 1 + groups.iter().map(|g| depths[g.1 as usize]).max().unwrap_or(0);
        }
    }
    depths.first().copied().unwrap_or(0)
}

fn disc(center: DVec3, normal: DVec3, radius: f64, half: f64) -> Disc {
    Disc { center: center.as_vec3(), radius: radius as f32, normal: normal.as_vec3(), half: half as f32 }
}

/// Items below each node, in leaf order.
fn ranges(bvh: &Bvh) -> Vec<Range<usize>> {
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
            discs.nearest(p, f64::INFINITY, |i, best| {
                asked += 1;
                found = best.min(squared(i, p));
                found
            });
            assert_eq!(found, truth, "{p}");
            // Around the middle of the ball all triangles are about equally near.
            assert!(asked < 60 || p.distance(shift) < 0.5, "{asked} at {p}");
        }
        Discs::default().nearest(DVec3::ZERO, 1.0, |_, _| panic!("there is nothing"));
    }
}
