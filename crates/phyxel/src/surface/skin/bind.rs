//! Which points carry a vertex beside a crack: those that it sees, or can be reached from it around a tip.

use super::blade::Sight;
use crate::neighbors::Grid;
use crate::surface::displacement::{Falloff, carriers};
use glam::DVec3;

/// Points that are asked to carry a vertex that sees none of those in reach.
const CANDIDATES: usize = 24;

/// The points at rest that carry vertices.
#[derive(Debug, Clone, Default)]
pub(super) struct Ground {
    grid: Grid,
    radii: Vec<f64>,
    /// Largest of the radii [m].
    pub reach: f64,
}

/// Points and their weights, which sum to 1.
pub(super) type Bonds = Vec<(u32, f32)>;

impl Ground {
    pub fn new(rest_positions: &[DVec3], radii: &[f64]) -> Self {
        let reach = radii.iter().copied().filter(|r| r.is_finite()).fold(0.0, f64::max);
        Self { grid: Grid::new(rest_positions, reach), radii: radii.to_vec(), reach }
    }

    /// What carries a vertex at `p` that looks from `eye`.
    pub fn bonds(&self, rest_positions: &[DVec3], p: DVec3, eye: DVec3, sight: &Sight) -> Bonds {
        let way = |i: usize, _: f64| sight.way(p, eye, rest_positions[i]);
        let found = carriers(p, &self.grid, &self.radii, self.reach, Falloff::Fading, way);
        if !found.is_empty() {
            return found;
        }
        let candidates = self.grid.k_nearest(p, CANDIDATES.min(rest_positions.len()));
        let seen = candidates.iter().find(|(i, _)| sight.way(p, eye, rest_positions[*i]).is_some());
        seen.or(candidates.first()).map(|&(i, _)| (i as u32, 1.0)).into_iter().collect()
    }
}
