//! Keeps surfels that are near one another together in memory: most of the time is spent looking at neighbors and at the same triangles of
//! a mold.

use super::{FlowingSurface, NONE};
use crate::neighbors::cell_order;
use glam::DVec3;

/// Frames between two times that surfels are put in order.
const TURN: u32 = 4;
/// Edge of the cells in which they are put in order [surfel spacings].
const CELL: f32 = 3.0;

impl FlowingSurface {
    /// Puts surfels in the order of cells now and then while some are free of their solid and move.
    pub(super) fn put_in_order(&mut self) {
        let rests = !self.anchors.is_empty() || self.elements.iter().all(|e| e.origin != NONE);
        if rests || !self.counters.frame.is_multiple_of(TURN) {
            return;
        }
        let places: Vec<DVec3> = self.elements.iter().map(|e| e.position.as_dvec3()).collect();
        let order = cell_order(&places, f64::from(CELL * self.widest()));
        self.elements = order.iter().map(|&i| self.elements[i as usize]).collect();
    }

    /// Largest distance between the surfels of a body [m].
    pub(super) fn widest(&self) -> f32 {
        self.joined.iter().fold(0f32, |m, j| m.max(j.spacing)) * self.counters.widening
    }

    /// Smallest distance between the surfels of a body [m].
    pub(super) fn finest(&self) -> f32 {
        self.joined.iter().fold(f32::INFINITY, |m, j| m.min(j.spacing)) * self.counters.widening
    }
}
