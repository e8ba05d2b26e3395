//! What of the field is near: lists by small cells, which surfels that lie together share.
//!
//! A list depends on its cell alone, not on who asks first or what was asked before, so all that follows from it has the same bits on any number
//! of threads.

use super::field::Field;
use glam::{IVec3, Vec3A};

/// Lists that are remembered: those of blocks of so many cells along each axis do not drive each other out.
const BLOCK: [i32; 3] = [16, 8, 4];

/// Lists by cells; those asked lately are remembered.
#[derive(Debug)]
pub(super) struct Remembered<K, T>(Vec<Option<(IVec3, K, T)>>);

impl<K, T> Default for Remembered<K, T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Copy + PartialEq, T: Default> Remembered<K, T> {
    /// The list of a cell and a key; `fill` makes it from one that is not needed any more.
    pub fn of(&mut self, cell: IVec3, key: K, fill: impl FnOnce(&mut T)) -> &T {
        if self.0.is_empty() {
            self.0.resize_with(BLOCK.iter().product::<i32>() as usize, || None);
        }
        let [x, y, z] = [0, 1, 2].map(|a| (cell[a] & (BLOCK[a] - 1)) as usize);
        let place = &mut self.0[(z * BLOCK[1] as usize + y) * BLOCK[0] as usize + x];
        let known = place.as_ref().is_some_and(|p| p.0 == cell && p.1 == key);
        if !known {
            let mut list = place.take().map(|p| p.2).unwrap_or_default();
            fill(&mut list);
            *place = Some((cell, key, list));
        }
        &place.as_ref().expect("it has just been made").2
    }
}

/// What of the field is near the cells asked lately. One per task.
#[derive(Debug, Default)]
pub(super) struct Near(Remembered<u32, List>);

/// What is near a cell.
#[derive(Debug, Default)]
pub(super) struct List {
    /// Kernels that reach places of the cell.
    pub reaching: Vec<u32>,
    /// Kernels whose center may be the nearest one of a place in the cell.
    pub nearest: Vec<u32>,
}

impl Near {
    /// What of a piece is near the cell of `p` (relative to the middle of the field).
    pub fn of<'a>(&'a mut self, field: &Field, p: Vec3A, label: u32) -> &'a List {
        let cell = (p / field.cell).floor().as_ivec3();
        self.0.of(cell, label, |list| field.list(list, (cell.as_vec3a() + 0.5) * field.cell, label))
    }
}
