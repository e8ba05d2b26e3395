//! How much of each cell of a fine cubic grid lies inside a shape, found from the signed distance.
//!
//! The grid is walked as an octree: where the distance at the middle of a cube exceeds its half diagonal the whole
//! cube is inside or outside without a closer look, so the cost and the memory grow with the surface, not the volume.

use crate::geometry::{Bounds, Shape};
use glam::{DVec3, IVec3};
use rayon::prelude::*;

/// Cells along the edge of a block.
pub(super) const SIDE: usize = 8;
/// Cells of a block.
pub(super) const CELLS: usize = SIDE * SIDE * SIDE;

/// The blocks of a fine grid that hold something of a shape.
pub(super) struct Occupancy {
    /// Corner of cell (0, 0, 0) [m].
    pub origin: DVec3,
    /// Edge of a cell [m].
    pub edge: f64,
    /// Blocks in a fixed order.
    pub blocks: Vec<Block>,
}

/// 8 x 8 x 8 cells.
pub(super) struct Block {
    /// Coordinates of its first cell.
    pub first: IVec3,
    /// Weight of each cell, x fastest: the part of it that is inside, or that times a density. None: all are 1.
    pub weights: Option<Box<[f32; CELLS]>>,
}

impl Occupancy {
    /// Walks the grid of cells with a corner at `corner` over the bounds of the shape.
    pub fn new(shape: &dyn Shape, corner: DVec3, edge: f64) -> Self {
        let bounds = shape.bounds().grown(0.5 * edge);
        let first = ((bounds.min - corner) / edge).floor();
        let origin = corner + edge * first;
        let cells = ((bounds.max - origin) / edge).ceil().max_element().max(1.0);
        let levels = (cells / SIDE as f64).log2().ceil().max(0.0) as u32;

        // The first levels are opened without looking, to have cubes for all threads.
        let open = levels.min(4);
        let mut cubes = vec![(IVec3::ZERO, levels)];
        for _ in 0..open {
            cubes = cubes.into_iter().flat_map(|(first, level)| octants(first, level)).collect();
        }
        let walk = Walk { shape, origin, edge, bounds };
        let blocks = cubes
            .into_par_iter()
            .map(|(first, level)| {
                let mut blocks = Vec::new();
                walk.descend(first, level, &mut blocks);
                blocks
            })
            .collect::<Vec<_>>();
        Self { origin, edge, blocks: blocks.into_iter().flatten().collect() }
    }

    /// Volume of the shape [m³].
    pub fn volume(&self) -> f64 {
        let cells: f64 = self.blocks.iter().map(Block::total).sum();
        cells * self.edge.powi(3)
    }

    /// Middle of a cell [m].
    pub fn cell_center(&self, block: &Block, cell: usize) -> DVec3 {
        let inside = IVec3::new((cell % SIDE) as i32, (cell / SIDE % SIDE) as i32, (cell / (SIDE * SIDE)) as i32);
        self.origin + self.edge * ((block.first + inside).as_dvec3() + 0.5)
    }

    /// The same cells with each weight multiplied by `density` at the middle of the cell.
    pub fn weighted(mut self, density: impl Fn(DVec3) -> f64 + Sync) -> Self {
        let (origin, edge) = (self.origin, self.edge);
        let mut blocks = std::mem::take(&mut self.blocks);
        blocks.par_iter_mut().for_each(|block| {
            let grid = Self { origin, edge, blocks: Vec::new() };
            let mut weights = block.weights.take().unwrap_or_else(|| Box::new([1.0; CELLS]));
            for (cell, weight) in weights.iter_mut().enumerate().filter(|(_, w)| **w > 0.0) {
                *weight *= density(grid.cell_center(block, cell)) as f32;
            }
            block.weights = Some(weights);
        });
        self.blocks = blocks;
        self
    }

    /// Calls `visit(center, part)` for each cell that is partly or wholly inside, in a fixed order.
    pub fn for_each_cell(&self, mut visit: impl FnMut(DVec3, f64)) {
        for block in &self.blocks {
            for cell in 0..CELLS {
                let part = block.weight(cell);
                if part > 0.0 {
                    visit(self.cell_center(block, cell), part);
                }
            }
        }
    }
}

impl Block {
    /// Weight of a cell.
    pub fn weight(&self, cell: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |w| f64::from(w[cell]))
    }

    fn total(&self) -> f64 {
        self.weights.as_ref().map_or(CELLS as f64, |w| w.iter().map(|&w| f64::from(w)).sum())
    }
}

/// The eight halves of a cube of blocks.
fn octants(first: IVec3, level: u32) -> impl Iterator<Item = (IVec3, u32)> {
    let half = (SIDE as i32) << (level - 1);
    (0..8).map(move |k| (first + half * IVec3::new(k & 1, k >> 1 & 1, k >> 2), level - 1))
}

struct Walk<'a> {
    shape: &'a dyn Shape,
    origin: DVec3,
    edge: f64,
    bounds: Bounds,
}

impl Walk<'_> {
    fn descend(&self, first: IVec3, level: u32, blocks: &mut Vec<Block>) {
        let size = f64::from((SIDE as i32) << level) * self.edge;
        let low = self.origin + self.edge * first.as_dvec3();
        if !self.bounds.overlaps(Bounds { min: low, max: low + size }) {
            return;
        }
        let center = low + 0.5 * size;
        // Half a cell more than the half diagonal: the part of a cell fades over that width.
        let reach = 0.5 * 3f64.sqrt() * size + 0.5 * self.edge;
        let distance = self.shape.distance(center);
        if distance > reach || distance.is_nan() {
            return;
        }
        if distance < -reach {
            fill(first, level, blocks);
        } else if level > 0 {
            for (first, level) in octants(first, level) {
                self.descend(first, level, blocks);
            }
        } else {
            let mut weights = Box::new([0.0f32; CELLS]);
            self.measure(IVec3::ZERO, SIDE as i32, low, &mut weights);
            if weights.iter().any(|&w| w > 0.0) {
                blocks.push(Block { first, weights: Some(weights) });
            }
        }
    }

    /// Fills in the weights of a cube of `side` cells inside a block whose corner is `low`.
    fn measure(&self, at: IVec3, side: i32, low: DVec3, weights: &mut [f32; CELLS]) {
        let center = low + self.edge * (at.as_dvec3() + 0.5 * f64::from(side));
        let distance = self.shape.distance(center);
        let reach = 0.5 * (3f64.sqrt() * f64::from(side) + 1.0) * self.edge;
        if distance > reach || distance.is_nan() {
            return;
        }
        if distance < -reach || side == 1 {
            // A plane through the cell at this distance cuts off about this part, exactly so when it is parallel to
            // a face; summed over a surface the error of tilted planes cancels.
            let part = (0.5 - distance / self.edge).clamp(0.0, 1.0) as f32;
            for z in at.z..at.z + side {
                for y in at.y..at.y + side {
                    let row = (z as usize * SIDE + y as usize) * SIDE + at.x as usize;
                    weights[row..row + side as usize].fill(part);
                }
            }
            return;
        }
        let half = side / 2;
        for k in 0..8 {
            self.measure(at + half * IVec3::new(k & 1, k >> 1 & 1, k >> 2), half, low, weights);
        }
    }
}

/// Adds all blocks of a cube as wholly inside.
fn fill(first: IVec3, level: u32, blocks: &mut Vec<Block>) {
    if level == 0 {
        blocks.push(Block { first, weights: None });
    } else {
        octants(first, level).for_each(|(first, level)| fill(first, level, blocks));
    }
}
