//! Nodes of a shell: the border first, evenly, then the inside, relaxed until it is near-hexagonal.
//!
//! Nodes on the border are what lets the balance correction work: nodes that are merely near it leave its forces unknown. The
//! inside starts from a blue-noise choice among dense samples and is relaxed by Lloyd's method over them, border nodes fixed.

use super::network::Nodes;
use super::surface::{DenseSurface, TriangleSurface};
use crate::neighbors::{Grid, cell_order};
use crate::random::mix;
use glam::DVec3;
use rayon::prelude::*;

/// Dense samples per node.
const DENSITY: f64 = 64.0;
/// Steps of relaxation.
const STEPS: usize = 40;
/// How far from a node, in spacings, its neighbors are listed while nodes are relaxed.
const AROUND: f64 = 1.8;
/// Area of a hexagonal cell over the squared spacing.
const CELL: f64 = 0.866_025_403_784_438_6;
/// Nodes closer than this part of the spacing to an earlier one are dropped.
const TOO_CLOSE: f64 = 0.3;
/// Normals of the same side have at least this cosine.
const SAME_SIDE: f64 = 0.3;

/// How nodes are spread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodeOptions {
    /// Distance between nodes [m].
    pub spacing: f64,
    /// Start from rows in place of a random choice; for flat surfaces across y.
    pub rows: bool,
    /// Seed of the random choice.
    pub seed: u64,
}

/// Spacing that gives about `count` nodes [m].
pub fn spacing_for(surface: &TriangleSurface, count: usize) -> f64 {
    let (area, border) = (surface.area(), surface.borders(0.0).iter().map(|b| b.length()).sum::<f64>());
    let n = count.max(1) as f64;
    // Nodes on the border stand for half a cell: count = area / cell + border / (2 spacing).
    (0.5 * border + (0.25 * border * border + 4.0 * n * area / CELL).sqrt()) / (2.0 * n)
}

/// Spreads nodes over a surface; `settle` moves a place onto it and gives the normal there.
pub fn spread_nodes(
    surface: &TriangleSurface,
    options: &NodeOptions,
    settle: &(dyn Fn(DVec3, DVec3) -> (DVec3, DVec3) + Sync),
) -> Nodes {
    let h = options.spacing;
    let mut dense = surface.dense(CELL * h * h / DENSITY);
    settle_all(&mut dense, settle);
    let mut chosen: Vec<DVec3> = Vec::new();
    for border in surface.borders(0.5 * h) {
        for p in border.spread(h) {
            if chosen.iter().all(|q| q.distance(p) > TOO_CLOSE * h) {
                chosen.push(p);
            }
        }
    }
    let fixed = chosen.len();
    let count = (dense.areas.iter().sum::<f64>() / (CELL * h * h) - 0.5 * fixed as f64).round().max(0.0) as usize;
    let mut normals = nearest_normals(&dense, &chosen, h);
    match options.rows {
        true => add_rows(surface, h, &mut chosen, &mut normals),
        false => add_darts(&dense, options, count, &mut chosen, &mut normals),
    }
    if chosen.is_empty() && !dense.positions.is_empty() {
        chosen.push(dense.positions[0]);
        normals.push(dense.normals[0]);
    }
    let mut last = Vec::new();
    for _ in 0..STEPS {
        last = owners(&dense, &chosen, &normals, h, &last);
        center(&dense, &last, fixed, &mut chosen, &mut normals);
    }
    let moved: Vec<(DVec3, DVec3)> = (0..chosen.len())
        .into_par_iter()
        .map(|i| if i < fixed { (chosen[i], normals[i]) } else { settle(chosen[i], normals[i]) })
        .collect();
    let (chosen, normals): (Vec<DVec3>, Vec<DVec3>) = moved.into_iter().unzip();
    finish(&dense, &chosen, &normals, h)
}

fn settle_all(dense: &mut DenseSurface, settle: &(dyn Fn(DVec3, DVec3) -> (DVec3, DVec3) + Sync)) {
    dense.positions.par_iter_mut().zip(&mut dense.normals).for_each(|(p, n)| (*p, *n) = settle(*p, *n));
}

/// Areas by nearest node, and the order in memory.
fn finish(dense: &DenseSurface, chosen: &[DVec3], normals: &[DVec3], h: f64) -> Nodes {
    let owners = owners(dense, chosen, normals, h, &[]);
    let mut areas = vec![0.0; chosen.len()];
    owners.iter().zip(&dense.areas).for_each(|(&o, a)| areas[o as usize] += a);
    let kept: Vec<usize> = (0..chosen.len()).filter(|&i| areas[i] > 0.0).collect();
    let positions: Vec<DVec3> = kept.iter().map(|&i| chosen[i]).collect();
    let order = cell_order(&positions, 3.0 * h);
    let pick = |values: &dyn Fn(usize) -> DVec3| order.iter().map(|&k| values(kept[k as usize])).collect();
    Nodes {
        positions: pick(&|i| chosen[i]),
        normals: pick(&|i| normals[i]),
        areas: order.iter().map(|&k| areas[kept[k as usize]]).collect(),
    }
}

fn nearest_normals(dense: &DenseSurface, places: &[DVec3], h: f64) -> Vec<DVec3> {
    let grid = Grid::new(&dense.positions, 0.5 * h);
    places.iter().map(|p| grid.nearest(*p).map_or(DVec3::Y, |(k, _)| dense.normals[k])).collect()
}

/// Rows of a hexagonal pattern in the plane of a sheet, away from its border.
fn add_rows(surface: &TriangleSurface, h: f64, chosen: &mut Vec<DVec3>, normals: &mut Vec<DVec3>) {
    let low = surface.positions.iter().fold(DVec3::INFINITY, |m, p| m.min(*p));
    let high = surface.positions.iter().fold(DVec3::NEG_INFINITY, |m, p| m.max(*p));
    let size = high - low;
    let columns = (size.x / h).round().max(1.0);
    let rows = (size.z / (CELL * h)).round().max(1.0);
    for r in 1..rows as usize {
        let shift = if r % 2 == 0 { 0.0 } else { 0.5 };
        for c in 0..=columns as usize {
            let x = (c as f64 + shift) / columns;
            // The outer ones give way to the border's own.
            if x * columns > 0.6 && (1.0 - x) * columns > 0.6 {
                chosen.push(low + size * DVec3::new(x, 0.5, r as f64 / rows));
                normals.push(DVec3::Y);
            }
        }
    }
}

/// Takes samples in a random order, each if it is far enough from all before; the distance asked for shrinks until there are
/// enough.
fn add_darts(
    dense: &DenseSurface,
    options: &NodeOptions,
    count: usize,
    chosen: &mut Vec<DVec3>,
    normals: &mut Vec<DVec3>,
) {
    let h = options.spacing;
    let mut order: Vec<u32> = (0..dense.positions.len() as u32).collect();
    order.par_sort_by_key(|&i| (mix(options.seed, u64::from(i)), i));
    let grid = Grid::new(&dense.positions, h);
    let mut closest = vec![f64::INFINITY; dense.positions.len()];
    let mark = |p: DVec3, n: DVec3, closest: &mut [f64]| {
        grid.for_each_within(p, h, |j, r2| {
            if n.dot(dense.normals[j]) > SAME_SIDE {
                closest[j] = closest[j].min(r2);
            }
        });
    };
    (0..chosen.len()).for_each(|i| mark(chosen[i], normals[i], &mut closest));
    let wanted = chosen.len() + count;
    let mut radius = h;
    while chosen.len() < wanted && radius > TOO_CLOSE * h {
        for &i in &order {
            let i = i as usize;
            if closest[i] >= radius * radius && chosen.len() < wanted {
                chosen.push(dense.positions[i]);
                normals.push(dense.normals[i]);
                mark(dense.positions[i], dense.normals[i], &mut closest);
            }
        }
        radius *= 0.95;
    }
}

/// For each sample the nearest node of its side, else the nearest of all. The owners of a step ago, if given, save most of the search.
fn owners(dense: &DenseSurface, chosen: &[DVec3], normals: &[DVec3], h: f64, last: &[u32]) -> Vec<u32> {
    let grid = Grid::new(chosen, 0.8 * h);
    let around: Vec<Vec<(f64, u32)>> = match last.is_empty() {
        true => Vec::new(),
        false => chosen.par_iter().map(|p| nodes_around(&grid, *p, AROUND * h)).collect(),
    };
    let search = |p: DVec3, n: DVec3| {
        for reach in [0.8, 1.6, 3.2] {
            let mut best = (u32::MAX, f64::INFINITY);
            grid.for_each_within(p, reach * h, |j, r2| {
                let nearer = r2 < best.1 || (r2 == best.1 && (j as u32) < best.0);
                if nearer && normals[j].dot(n) > SAME_SIDE {
                    best = (j as u32, r2);
                }
            });
            if best.0 != u32::MAX {
                return best.0;
            }
        }
        grid.nearest(p).map_or(0, |(j, _)| j as u32)
    };
    let owner = |(k, (p, n)): (usize, (&DVec3, &DVec3))| {
        let known = last.get(k).map(|&j| (j, chosen[j as usize].distance_squared(*p)));
        // A node nearer than the last owner is at most twice as far from that as the sample is.
        let known = known.filter(|(j, r2)| normals[*j as usize].dot(*n) > SAME_SIDE && 4.0 * r2 < (AROUND * h).powi(2));
        let Some((start, first)) = known else { return search(*p, *n) };
        let mut best = (start, first);
        for &(far, j) in &around[start as usize] {
            if far > 4.0 * first {
                break;
            }
            let r2 = chosen[j as usize].distance_squared(*p);
            let nearer = r2 < best.1 || (r2 == best.1 && j < best.0);
            if nearer && normals[j as usize].dot(*n) > SAME_SIDE {
                best = (j, r2);
            }
        }
        best.0
    };
    dense.positions.par_iter().zip(&dense.normals).enumerate().with_min_len(1024).map(owner).collect()
}

/// Nodes within a radius of a place, by the square of their distance from it.
fn nodes_around(grid: &Grid, p: DVec3, radius: f64) -> Vec<(f64, u32)> {
    let mut found = Vec::new();
    grid.for_each_within(p, radius, |j, r2| found.push((r2, j as u32)));
    found.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    found
}

/// Moves each free node to the middle of its samples, onto the plane of the nearest of them.
fn center(dense: &DenseSurface, owners: &[u32], fixed: usize, chosen: &mut [DVec3], normals: &mut [DVec3]) {
    let mut sums = vec![(DVec3::ZERO, DVec3::ZERO, 0.0); chosen.len()];
    for (k, &o) in owners.iter().enumerate() {
        let (sum, a) = (&mut sums[o as usize], dense.areas[k]);
        if normals[o as usize].dot(dense.normals[k]) > SAME_SIDE {
            *sum = (sum.0 + a * dense.positions[k], sum.1 + a * dense.normals[k], sum.2 + a);
        }
    }
    let mut nearest = vec![(f64::INFINITY, u32::MAX); chosen.len()];
    for (k, &o) in owners.iter().enumerate() {
        let o = o as usize;
        let r2 = dense.positions[k].distance_squared(sums[o].0 / sums[o].2);
        if r2 < nearest[o].0 {
            nearest[o] = (r2, k as u32);
        }
    }
    for i in 0..chosen.len() {
        let (position, normal, area) = sums[i];
        if area <= 0.0 || nearest[i].1 == u32::MAX {
            continue;
        }
        normals[i] = normal.try_normalize().unwrap_or(normals[i]);
        if i >= fixed {
            let (middle, k) = (position / area, nearest[i].1 as usize);
            let n = dense.normals[k];
            chosen[i] = middle - n * n.dot(middle - dense.positions[k]);
        }
    }
}
