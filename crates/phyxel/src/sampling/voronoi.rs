//! Voronoi cells of points inside a shape, clipped by it, by giving each cell of a fine grid to its nearest point.

use super::occupancy::{Block, Occupancy, SIDE};
use crate::neighbors::Grid;
use glam::DVec3;
use rayon::prelude::*;

/// What one point got.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Share {
    /// Sum of the weights of its cells.
    pub weight: f64,
    /// Sum of weight times position.
    pub moment: DVec3,
}

/// Gives each cell to the nearest point (the lowest index of equally near ones). `spacings` [m] are the local
/// distances between points; where the nearest point is farther than usual it is found too, only more slowly.
pub(super) fn share_out(occupancy: &Occupancy, positions: &[DVec3], spacings: &[f64]) -> Vec<Share> {
    let coarsest = spacings.iter().fold(0.0f64, |m, &s| m.max(s));
    let cloud = Cloud { positions, spacings, coarsest, grid: Grid::new(positions, coarsest) };
    let mut shares = vec![Share::default(); positions.len()];
    // Blocks in parallel, their sums added in the order of the blocks: the same bits on any number of threads.
    // A bounded number at a time keeps the memory small.
    for blocks in occupancy.blocks.chunks(4096) {
        let parts: Vec<Vec<(u32, Share)>> = blocks
            .par_iter()
            .map_init(Candidates::default, |candidates, block| candidates.share_block(occupancy, block, &cloud))
            .collect();
        for (i, share) in parts.into_iter().flatten() {
            shares[i as usize].weight += share.weight;
            shares[i as usize].moment += share.moment;
        }
    }
    shares
}

struct Cloud<'a> {
    positions: &'a [DVec3],
    spacings: &'a [f64],
    coarsest: f64,
    grid: Grid,
}

impl Cloud<'_> {
    /// How far the nearest point may usually be from a place within `radius` of `p`: the spacing near `p`, or what it
    /// may grow to on the way at 15 % per cell, and a fifth more.
    fn reach(&self, p: DVec3, radius: f64) -> f64 {
        let Some((i, _)) = self.grid.nearest(p).filter(|_| self.coarsest > 0.0) else { return self.coarsest };
        1.2 * (self.spacings[i] + 0.3 * radius).min(self.coarsest)
    }
}

/// Points that may be nearest to a cell of a block, relative to the block's center, narrowed down by layers and rows.
#[derive(Default)]
struct Candidates {
    indices: Vec<u32>,
    all: Vec<Candidate>,
    layer: Vec<Candidate>,
    row: Vec<Candidate>,
}

#[derive(Clone, Copy, Default)]
struct Candidate {
    x: f32,
    y: f32,
    z: f32,
    /// Squared distance to the layer or row [m²].
    across: f32,
    /// Place in `indices`.
    number: u32,
}

impl Candidates {
    fn share_block(&mut self, occupancy: &Occupancy, block: &Block, cloud: &Cloud) -> Vec<(u32, Share)> {
        let half = 0.5 * SIDE as f64 * occupancy.edge;
        let center = occupancy.origin + occupancy.edge * block.first.as_dvec3() + half;
        let reach = cloud.reach(center, 3f64.sqrt() * half);
        let reach2 = (reach * reach) as f32;
        self.gather(center, half, reach, cloud);
        let mut shares = vec![Share::default(); self.indices.len()];
        let mut strays: Vec<(u32, Share)> = Vec::new();
        let place = |k: usize| ((k as f64 + 0.5) * occupancy.edge - half) as f32;
        let x = std::array::from_fn(place);
        for layer in 0..SIDE {
            narrow(&self.all, &mut self.layer, reach2, |c| (c.z - place(layer)).powi(2));
            for row in layer * SIDE..(layer + 1) * SIDE {
                let cells = row * SIDE..(row + 1) * SIDE;
                if cells.clone().all(|cell| block.weight(cell) <= 0.0) {
                    continue;
                }
                let y = place(row % SIDE);
                narrow(&self.layer, &mut self.row, reach2, |c| c.across + (c.y - y) * (c.y - y));
                let (best, who) = nearest_of_row(&self.row, &x);
                for (l, cell) in cells.enumerate() {
                    let weight = block.weight(cell);
                    let p = occupancy.cell_center(block, cell);
                    let share = Share { weight, moment: weight * p };
                    if best[l] < reach2 {
                        shares[who[l] as usize].weight += weight;
                        shares[who[l] as usize].moment += share.moment;
                    } else if let Some((i, _)) = cloud.grid.nearest(p).filter(|_| weight > 0.0) {
                        strays.push((i as u32, share));
                    }
                }
            }
        }
        let found = self.indices.iter().copied().zip(shares).filter(|(_, s)| s.weight > 0.0);
        found.chain(strays).collect()
    }

    /// Points within `reach` of the block.
    fn gather(&mut self, center: DVec3, half: f64, reach: f64, cloud: &Cloud) {
        self.indices.clear();
        cloud.grid.for_each_within(center, 3f64.sqrt() * half + reach, |j, _| {
            let outside = ((cloud.positions[j] - center).abs() - half).max(DVec3::ZERO);
            if outside.length_squared() < reach * reach {
                self.indices.push(j as u32);
            }
        });
        self.indices.sort_unstable();
        self.all.clear();
        self.all.extend(self.indices.iter().enumerate().map(|(number, &j)| {
            let [x, y, z] = (cloud.positions[j as usize] - center).as_vec3().to_array();
            Candidate { x, y, z, across: 0.0, number: number as u32 }
        }));
    }
}

/// Copies the candidates whose squared distance `across` is below `reach2`, in order.
fn narrow(from: &[Candidate], to: &mut Vec<Candidate>, reach2: f32, across: impl Fn(&Candidate) -> f32) {
    to.resize(from.len(), Candidate::default());
    let mut kept = 0;
    for candidate in from {
        let across = across(candidate);
        to[kept] = Candidate { across, ..*candidate };
        kept += usize::from(across < reach2);
    }
    to.truncate(kept);
}

/// Squared distance and number of the nearest candidate for a row of cells at `x`.
fn nearest_of_row(candidates: &[Candidate], x: &[f32; SIDE]) -> ([f32; SIDE], [u32; SIDE]) {
    let mut best = [f32::INFINITY; SIDE];
    let mut who = [0u32; SIDE];
    for candidate in candidates {
        for l in 0..SIDE {
            let r2 = (candidate.x - x[l]) * (candidate.x - x[l]) + candidate.across;
            let closer = r2 < best[l];
            best[l] = if closer { r2 } else { best[l] };
            who[l] = if closer { candidate.number } else { who[l] };
        }
    }
    (best, who)
}
