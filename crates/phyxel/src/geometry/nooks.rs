//! Nooks: free space that balls do not get to, and the ways out of it.
//!
//! From the nodes that balls cover the way goes on, node by node through free space, into relief that is narrower than they are. Each node there
//! takes the mean of where its neighbors nearer to the mouth come from, so that the ways change smoothly from place to place; of several mouths the
//! nearest one, because between two of them there is wall. Nodes just inside of the wall take over what the nearest free one knows:
//! places on the wall lie between both.

use glam::{DVec3, Vec3};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Longest way out [nodes].
pub(super) const MARGIN: usize = 16;
/// Nodes that balls cover less than this are not reached.
const COVERED: f32 = 0.5;
/// Nodes deeper in the wall than the first are not free; than the second they know nothing [spacings].
const FREE: f32 = -0.06;
const DEEPEST: f32 = -0.6;
/// Ways that end nearer to each other than this lead to the same mouth [spacings].
const ALIKE: f32 = 1.0;

/// The way out of a nook.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Nook {
    /// Straight to the mouth [spacings].
    pub way: Vec3,
    /// Length of the way through free space [spacings]; 0 outside of nooks, not finite where no way is known.
    pub depth: f32,
}

/// Whether a node is in a nook, by how far balls cover it and its distance from the wall [spacings].
pub(super) fn is_nook((covered, distance): (f32, f32)) -> bool {
    covered < COVERED && distance > FREE
}

/// The ways out from the inner nodes of a cube of nodes with `side` along each axis, all but `MARGIN` on each side. `fine` nodes are a spacing.
pub(super) fn find_nooks(nodes: &[(f32, f32)], side: usize, fine: f32) -> Box<[Nook]> {
    let place = |k: usize| Vec3::new((k % side) as f32, (k / side % side) as f32, (k / (side * side)) as f32);
    let mut mouths: Vec<Option<(Vec3, f32)>> = vec![None; nodes.len()];
    let mut queue = BinaryHeap::new();
    let neighbors = steps(side);
    let around = |k: usize| {
        let own = [k % side, k / side % side, k / (side * side)];
        let inner = own.iter().all(|&n| n > 0 && n + 1 < side);
        neighbors.iter().filter(move |_| inner).map(move |&(step, length)| ((k as isize + step) as usize, length))
    };
    for k in 0..nodes.len() {
        if nodes[k].1 > FREE && nodes[k].0 >= COVERED {
            mouths[k] = Some((place(k), 0.0));
            if around(k).any(|(j, _)| is_nook(nodes[j])) {
                queue.push(Reverse((0f32.to_bits(), k)));
            }
        }
    }
    let mut settled: Vec<bool> = mouths.iter().map(Option::is_some).collect();
    while let Some(Reverse((cost, k))) = queue.pop() {
        let depth = f32::from_bits(cost);
        if depth > 0.0 {
            if settled[k] {
                continue;
            }
            // Mouths that the neighbors nearer to one know, with how deep these are and how far away.
            let known = |(j, length): (usize, f32)| {
                let (mouth, before) = mouths[j].filter(|m| settled[j] && m.1 < depth)?;
                Some((mouth, before, length))
            };
            let shortest = around(k).filter_map(known).min_by(|a, b| (a.1 + a.2).total_cmp(&(b.1 + b.2)));
            let Some((main, ..)) = shortest else { continue };
            let (mut sum, mut mouth) = (0.0, Vec3::ZERO);
            for (from, before, length) in around(k).filter_map(known).filter(|b| b.0.distance(main) < ALIKE * fine) {
                let weight = (depth - before) / (length * length);
                (sum, mouth) = (sum + weight, mouth + weight * from);
            }
            mouths[k] = Some((mouth / sum, depth));
            settled[k] = true;
        }
        if depth < MARGIN as f32 {
            for (j, length) in around(k).filter(|(j, _)| is_nook(nodes[*j]) && !settled[*j]) {
                queue.push(Reverse(((depth + length).to_bits(), j)));
            }
        }
    }
    let unknown = Nook { depth: f32::INFINITY, ..Nook::default() };
    let known = |k: usize| mouths[k].map(|(mouth, depth)| Nook { way: (mouth - place(k)) / fine, depth: depth / fine });
    let beside = |k: usize| {
        let own = around(k).filter(|(j, _)| nodes[*j].1 > FREE);
        let nearest = own.min_by(|a, b| a.1.total_cmp(&b.1).then(nodes[b.0].1.total_cmp(&nodes[a.0].1)))?;
        let (mouth, depth) = mouths[nearest.0]?;
        let way = if depth > 0.0 { (mouth - place(k)) / fine } else { Vec3::ZERO };
        Some(Nook { way, depth: depth / fine })
    };
    let inner = side - 2 * MARGIN;
    let one = |n: usize| {
        let own = [n % inner, n / inner % inner, n / (inner * inner)].map(|x| x + MARGIN);
        let k = (own[2] * side + own[1]) * side + own[0];
        match nodes[k].1 {
            d if d > FREE => known(k).unwrap_or(unknown),
            d if d > DEEPEST => beside(k).unwrap_or(unknown),
            _ => unknown,
        }
    };
    (0..inner * inner * inner).map(one).collect()
}

/// What is known at a place in a brick [cells], of `side` nodes along each axis of which the first is at -1: the mean of the nodes around that know
/// something, and lead to the same mouth as the nearest of them.
pub(super) fn nook_at(nodes: &[Nook], side: usize, at: DVec3) -> Nook {
    let corner = at.floor();
    let part = (at - corner).as_vec3();
    let [i, j, k] = corner.to_array().map(|x| x as usize + 1);
    let corners = || {
        corners(part).filter_map(|([x, y, z], weight)| {
            let node = &nodes[((k + z) * side + j + y) * side + i + x];
            (node.depth.is_finite() && weight > 0.0).then_some((weight, node))
        })
    };
    let Some((_, main)) = corners().max_by(|a, b| a.0.total_cmp(&b.0)) else { return Nook::default() };
    let (mut sum, mut alike, mut found) = (0.0, 0.0, Nook::default());
    for (weight, node) in corners() {
        sum += weight;
        found.depth += weight * node.depth;
        if node.way.distance(main.way) < ALIKE {
            alike += weight;
            found.way += weight * node.way;
        }
    }
    Nook { way: found.way / alike, depth: found.depth / sum }
}

/// The corners of a cell and their weights at a part of the way along each axis.
pub(super) fn corners(part: Vec3) -> impl Iterator<Item = ([usize; 3], f32)> {
    let side = |bit: usize, part: f32| if bit == 1 { part } else { 1.0 - part };
    let corner = |c: usize| [c & 1, c >> 1 & 1, c >> 2];
    (0..8).map(corner).map(move |[x, y, z]| ([x, y, z], side(x, part.x) * side(y, part.y) * side(z, part.z)))
}

/// Steps to the neighbors of a node in a cube of nodes, and their lengths [nodes].
fn steps(side: usize) -> Vec<(isize, f32)> {
    let side = side as isize;
    let mut all = Vec::new();
    for z in -1..=1isize {
        for y in -1..=1isize {
            for x in -1..=1isize {
                let square = x * x + y * y + z * z;
                if square > 0 {
                    all.push(((z * side + y) * side + x, (square as f32).sqrt()));
                }
            }
        }
    }
    all
}
