//! What of the field is near: lists by small cells, which surfels that lie together share.
//!
//! A list depends on its cell alone, not on who asks first or what was asked before, so all that follows from it has the same bits on any number
//! of threads.

use super::field::Field;
use glam::{IVec3, Vec3A};

/// Lists that are remembered: a surfel and its way cross few cells.
const REMEMBERED: usize = 8;

/// The lists of the cells asked last. One per task.
#[derive(Debug, Default)]
pub(super) struct Near {
    lists: Vec<List>,
    /// The one to be overwritten next.
    next: usize,
}

/// What is near a cell.
#[derive(Debug, Default)]
pub(super) struct List {
    cell: IVec3,
    label: u32,
    /// Kernels that reach places of the cell.
    pub reaching: Vec<u32>,
    /// Kernels whose center may be the nearest one of a place in the cell.
    pub nearest: Vec<u32>,
}

impl Near {
    /// What of a piece is near the cell of `p` (relative to the middle of the field).
    pub fn of<'a>(&'a mut self, field: &Field, p: Vec3A, label: u32) -> &'a List {
        let cell = (p / field.cell).floor().as_ivec3();
        let known = self.lists.iter().position(|l| l.cell == cell && l.label == label);
        let k = known.unwrap_or_else(|| {
            let k = self.next;
            self.next = (k + 1) % REMEMBERED;
            if self.lists.len() == k {
                self.lists.push(List::default());
            }
            let list = &mut self.lists[k];
            (list.cell, list.label) = (cell, label);
            field.list(list, (cell.as_vec3a() + 0.5) * field.cell, label);
            k
        });
        &self.lists[k]
    }
}
