//! How far points have moved against those around them since lists were built.
//!
//! Lists stay whole while no pair of near points has moved by more than the margin against each other; what they move
//! together does not count. Any two near points lie in one block of 2 x 2 x 2 cells, so the spread of the displacements in
//! each block bounds what a pair can have done.

use crate::neighbors::Grid;
use glam::DVec3;
use rayon::prelude::*;

/// Cells per parallel task.
const CHUNK: usize = 256;

/// Displacements of a group of points.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Spread {
    /// Lowest and highest coordinates [m].
    low: [f32; 3],
    high: [f32; 3],
    /// Smallest spacing [m].
    size: f32,
}

impl Spread {
    /// Of nobody.
    const NONE: Self = Self { low: [f32::INFINITY; 3], high: [f32::NEG_INFINITY; 3], size: f32::INFINITY };

    fn add(&mut self, other: &Self) {
        for k in 0..3 {
            self.low[k] = self.low[k].min(other.low[k]);
            self.high[k] = self.high[k].max(other.high[k]);
        }
        self.size = self.size.min(other.size);
    }

    /// Whether two of the points may have moved by more than `part` spacings against each other.
    fn exceeds(&self, part: f32) -> bool {
        let squares = |sum: f32, k: usize| sum + (self.high[k] - self.low[k]).max(0.0).powi(2);
        (0..3).fold(0.0, squares) > (part * self.size).powi(2)
    }
}

/// Cells of the points as they were when lists were built.
#[derive(Debug, Default)]
pub(crate) struct Travel {
    dims: [usize; 3],
    wrapped: [bool; 3],
    /// First slot of each cell, and the end of the last.
    starts: Vec<u32>,
    spreads: Vec<Spread>,
}

impl Travel {
    /// Takes over cells no smaller than the reach of the lists; slots are in their order.
    pub fn start(&mut self, grid: &Grid) {
        let (dims, wrapped, starts) = grid.cells();
        (self.dims, self.wrapped) = (dims, wrapped);
        self.starts.clear();
        self.starts.extend_from_slice(starts);
    }

    /// Whether near points may have moved by more than `near` spacings against each other, or any by more than `far`.
    /// `moved` gives the displacement of a slot and its spacing [m].
    pub fn exceeds(&mut self, near: f64, far: f64, moved: impl Fn(usize) -> (DVec3, f64) + Sync) -> bool {
        let cells = self.starts.len().saturating_sub(1);
        self.spreads.resize(cells, Spread::NONE);
        let starts = &self.starts;
        self.spreads.par_iter_mut().enumerate().with_min_len(CHUNK).for_each(|(cell, spread)| {
            *spread = Spread::NONE;
            for slot in starts[cell]..starts[cell + 1] {
                let (moved, size) = moved(slot as usize);
                let at = moved.as_vec3().to_array();
                spread.add(&Spread { low: at, high: at, size: size as f32 });
            }
        });
        let mut all = Spread::NONE;
        self.spreads.iter().for_each(|s| all.add(s));
        if !all.exceeds(near as f32) {
            return false;
        }
        all.exceeds(far as f32) || {
            (0..3).for_each(|axis| self.merge(axis));
            self.spreads.iter().any(|s| s.exceeds(near as f32))
        }
    }

    /// Adds to each cell the next one along an axis.
    fn merge(&mut self, axis: usize) {
        let stride: usize = self.dims[..axis].iter().product();
        let dim = self.dims[axis];
        for cell in 0..self.spreads.len() {
            let last = cell / stride % dim == dim - 1;
            // The first cell has been added to by the time the last one needs it: too much, which is safe.
            let next = if last { cell - (dim - 1) * stride } else { cell + stride };
            if !last || self.wrapped[axis] {
                let other = self.spreads[next];
                self.spreads[cell].add(&other);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn travel(places: &[DVec3]) -> (Travel, Vec<DVec3>) {
        let grid = Grid::new(places, 1.0);
        let order = crate::neighbors::cell_order(places, 1.0);
        let mut travel = Travel::default();
        travel.start(&grid);
        (travel, order.iter().map(|&i| places[i as usize]).collect())
    }

    #[test]
    fn no_near_pair_moves_farther_than_it_says() {
        let places: Vec<DVec3> = (0..500).map(|i| Random::new(4, i).in_cube() * 3.0).collect();
        let (mut travel, slots) = travel(&places);
        // A shear, a turn and a shift together.
        let moved = |p: DVec3| DVec3::new(7.0 + 0.02 * p.y, 0.03 * p.z, -0.03 * p.y);
        let mut largest: f64 = 0.0;
        for a in &slots {
            for b in slots.iter().filter(|b| b.distance(*a) < 1.0) {
                largest = largest.max(moved(*a).distance(moved(*b)));
            }
        }
        let mut exceeds = |near: f64, far: f64| travel.exceeds(near, far, |s| (moved(slots[s]), 1.0));
        assert!(exceeds(largest * 0.99, 10.0), "{largest}");
        assert!(!exceeds(largest * 6.0, 10.0), "{largest}");
        assert!(exceeds(largest * 6.0, 0.2));
    }

    #[test]
    fn a_point_alone_and_no_point_hold_still() {
        for places in [vec![], vec![DVec3::ONE]] {
            let (mut travel, slots) = travel(&places);
            assert!(!travel.exceeds(0.1, 0.2, |s| (slots[s] * 100.0, 1.0)));
        }
    }
}
