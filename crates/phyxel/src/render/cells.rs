//! Cells: which splats of a surface are near a place.

use super::splats::Splats;
use glam::{IVec3, Vec3};
use std::ops::Range;

/// Splats of one surface by cells, in buckets by a hash of the cell; the buffers are reused.
#[derive(Debug, Default)]
pub(super) struct Cells {
    inverse_cell: f32,
    mask: u64,
    starts: Vec<u32>,
    /// Cell and splat, bucket after bucket.
    entries: Vec<(u64, u32)>,
    keys: Vec<u64>,
}

impl Cells {
    /// Sorts the splats of a surface into cells of `reach` times their mean radius.
    pub fn build(&mut self, splats: &Splats, surface: Range<usize>, reach: f32) {
        let radii = &splats.radii[surface.clone()];
        let mean = radii.iter().sum::<f32>() / radii.len().max(1) as f32;
        self.inverse_cell = 1.0 / (reach * mean).max(1e-20);
        self.mask = (surface.len().next_power_of_two() as u64).max(64) - 1;
        self.keys.clear();
        let inverse_cell = self.inverse_cell;
        self.keys.extend(splats.positions[surface.clone()].iter().map(|&p| key(cell(p, inverse_cell))));
        self.starts.clear();
        self.starts.resize(self.mask as usize + 2, 0);
        for &key in &self.keys {
            let bucket = self.bucket(key) + 1;
            self.starts[bucket] += 1;
        }
        for b in 1..self.starts.len() {
            self.starts[b] += self.starts[b - 1];
        }
        self.entries.clear();
        self.entries.resize(surface.len(), (0, 0));
        // Filling backwards turns the ends into starts and keeps the order.
        for (k, &key) in self.keys.iter().enumerate().rev() {
            let bucket = self.bucket(key) + 1;
            self.starts[bucket] -= 1;
            self.entries[self.starts[bucket] as usize] = (key, (surface.start + k) as u32);
        }
        let buckets = self.starts.len() - 1;
        self.starts.copy_within(1..=buckets, 0);
        self.starts[buckets] = surface.len() as u32;
    }

    fn bucket(&self, key: u64) -> usize {
        ((key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) & self.mask) as usize
    }

    /// Lists the splats of the cell of a place and of those that touch it. Neighbors in the table mostly share a cell.
    pub fn find_near(&self, p: Vec3, near: &mut Near) {
        let home = cell(p, self.inverse_cell);
        if near.home == Some(home) {
            return;
        }
        near.home = Some(home);
        near.list.clear();
        for z in -1..=1 {
            for y in -1..=1 {
                for x in -1..=1 {
                    let key = key(home + IVec3::new(x, y, z));
                    let bucket = self.bucket(key);
                    let entries = &self.entries[self.starts[bucket] as usize..self.starts[bucket + 1] as usize];
                    near.list.extend(entries.iter().filter(|e| e.0 == key).map(|e| e.1));
                }
            }
        }
    }
}

/// The splats around one cell.
#[derive(Debug, Default)]
pub(super) struct Near {
    pub home: Option<IVec3>,
    pub list: Vec<u32>,
}

fn cell(p: Vec3, inverse_cell: f32) -> IVec3 {
    (p * inverse_cell).floor().clamp(Vec3::splat(-1e6), Vec3::splat(1e6)).as_ivec3()
}

/// A cell as one number: 21 bits per axis.
fn key(cell: IVec3) -> u64 {
    let bits = |v: i32| ((v + (1 << 20)) as u64) & 0x1f_ffff;
    bits(cell.x) << 42 | bits(cell.y) << 21 | bits(cell.z)
}
