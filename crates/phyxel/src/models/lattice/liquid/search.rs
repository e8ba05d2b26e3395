//! Who is near whom: lists of neighbors with the kernel's slope, made anew every step.
//!
//! Matter is taken in the order of the grid's cells, so that neighbors lie near in memory. Each cell copies the coordinates
//! of its 27 cells once and tests them for all its points eight at a time; what is kept is squeezed to the front, and the
//! kernel is evaluated from the squared distances while they are in the cache. Lists are cut into chunks of a fixed size:
//! the same bits on any number of threads.
#![allow(
    unsafe_code,
    reason = "loads and stores of eight values inside buffers sized for it, after the CPU was checked"
)]

use crate::neighbors::Grid;
use rayon::prelude::*;

/// Slots per parallel task.
pub(super) const CHUNK: usize = 256;
/// Pairs handled at a time; lists are padded to whole blocks.
pub(super) const LANES: usize = 8;

/// Lists of one run of slots. Padded with pairs (itself, 0).
#[derive(Debug, Clone, Default)]
pub(super) struct Chunk {
    /// Where the list of each slot begins, and the end.
    pub starts: Vec<u32>,
    /// Slots of the neighbors.
    pub indices: Vec<u32>,
    /// W'(q) / q over the rest density, for each neighbor.
    pub slopes: Vec<f32>,
    /// Candidates of the cell at hand.
    around: Around,
}

/// What one slot finds around itself.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Found {
    /// Σ V W over the rest density, itself included.
    pub density: f32,
    /// Σ V (W')² over the rest density squared.
    pub stiffness: f32,
}

/// Points in and around one cell, filled up to whole blocks with points that are far away.
#[derive(Debug, Clone, Default)]
struct Around {
    x: Vec<f32>,
    y: Vec<f32>,
    z: Vec<f32>,
    volumes: Vec<f32>,
    slots: Vec<u32>,
    /// Squared distances and volumes of those kept.
    near: Vec<f32>,
    near_volumes: Vec<f32>,
}

/// Sorted matter, in units of the support radius.
#[derive(Debug, Clone, Default)]
pub(super) struct Sorted {
    pub x: Vec<f32>,
    pub y: Vec<f32>,
    pub z: Vec<f32>,
    pub volumes: Vec<f32>,
}

/// A place where there is nobody.
const FAR: f32 = 1e18;

/// Fills the lists of all slots. `scale` is the kernel's norm over the rest density.
pub(super) fn search(grid: &Grid, sorted: &Sorted, scale: f32, chunks: &mut Vec<Chunk>, found: &mut Vec<Found>) {
    let slots = sorted.x.len();
    chunks.resize_with(slots.div_ceil(CHUNK), Chunk::default);
    found.resize(slots, Found::default());
    let wide = wide_available();
    chunks.par_iter_mut().zip(found.par_chunks_mut(CHUNK)).enumerate().for_each(|(c, (chunk, found))| {
        chunk.fill(grid, sorted, scale, c * CHUNK, found, wide);
    });
}

pub(super) fn wide_available() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

impl Chunk {
    fn fill(&mut self, grid: &Grid, sorted: &Sorted, scale: f32, first: usize, found: &mut [Found], wide: bool) {
        self.starts.clear();
        self.starts.push(0);
        let (mut slot, end, mut len) = (first, first + found.len(), 0);
        while slot < end {
            let cell = grid.cell(grid.position(slot));
            let same = (slot..end).take_while(|&s| grid.cell(grid.position(s)) == cell).count();
            let own = self.around.gather(grid, sorted, cell, slot);
            for k in 0..same {
                let room = len + self.around.x.len() + LANES;
                if self.indices.len() < room {
                    self.indices.resize(2 * room, 0);
                    self.slopes.resize(2 * room, 0.0);
                }
                let (indices, slopes) = (&mut self.indices[len..], &mut self.slopes[len..]);
                let (kept, at) = self.around.visit(own + k, indices, slopes, scale, wide);
                found[slot - first + k] = at;
                len += kept;
                self.starts.push(len as u32);
            }
            slot += same;
        }
    }

    /// List of the k-th slot of the chunk.
    #[inline(always)]
    pub fn of(&self, k: usize) -> (&[u32], &[f32]) {
        let range = self.starts[k] as usize..self.starts[k + 1] as usize;
        (&self.indices[range.clone()], &self.slopes[range])
    }
}

impl Around {
    /// Collects what lies around `cell`; returns the place of slot `own`, which lies in it.
    fn gather(&mut self, grid: &Grid, sorted: &Sorted, cell: [i64; 3], own: usize) -> usize {
        let mut place = 0;
        for list in [&mut self.x, &mut self.y, &mut self.z, &mut self.volumes] {
            list.clear();
        }
        self.slots.clear();
        grid.for_each_range(cell.map(|c| c - 1), cell.map(|c| c + 1), |range| {
            if range.contains(&own) {
                place = self.x.len() + own - range.start;
            }
            self.x.extend_from_slice(&sorted.x[range.clone()]);
            self.y.extend_from_slice(&sorted.y[range.clone()]);
            self.z.extend_from_slice(&sorted.z[range.clone()]);
            self.volumes.extend_from_slice(&sorted.volumes[range.clone()]);
            self.slots.extend(range.start as u32..range.end as u32);
        });
        let whole = self.x.len().next_multiple_of(LANES);
        self.x.resize(whole, FAR);
        self.y.resize(whole, 0.0);
        self.z.resize(whole, 0.0);
        self.volumes.resize(whole, 0.0);
        self.slots.resize(whole, 0);
        self.near.resize(whole + LANES, 0.0);
        self.near_volumes.resize(whole + LANES, 0.0);
        place
    }

    /// Writes the list of the slot at `place` and returns its padded length.
    fn visit(
        &mut self,
        place: usize,
        indices: &mut [u32],
        slopes: &mut [f32],
        scale: f32,
        wide: bool,
    ) -> (usize, Found) {
        assert!(
            indices.len() >= self.x.len() + LANES && slopes.len() >= self.x.len() + LANES,
            "room for all candidates"
        );
        let point = [self.x[place], self.y[place], self.z[place]];
        let (slot, volume) = (self.slots[place], self.volumes[place]);
        // While it looks around the point itself is out of sight.
        self.x[place] = FAR;
        let answer = match wide {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `wide` says that the processor has AVX2 and FMA.
            true => unsafe { self.visit_wide(point, slot, volume, indices, slopes, scale) },
            _ => {
                let kept = self.select(point, indices);
                self.evaluate(kept, slot, volume, indices, slopes, scale)
            }
        };
        self.x[place] = point[0];
        answer
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn visit_wide(
        &mut self,
        point: [f32; 3],
        slot: u32,
        volume: f32,
        indices: &mut [u32],
        slopes: &mut [f32],
        scale: f32,
    ) -> (usize, Found) {
        let kept = self.select_wide(point, indices);
        self.evaluate(kept, slot, volume, indices, slopes, scale)
    }

    /// Squeezes candidates nearer than 1 to the front of `indices`, `near` and `near_volumes`.
    fn select(&mut self, [x, y, z]: [f32; 3], indices: &mut [u32]) -> usize {
        let mut kept = 0;
        for k in 0..self.x.len() {
            let (dx, dy, dz) = (self.x[k] - x, self.y[k] - y, self.z[k] - z);
            let r2 = dx * dx + dy * dy + dz * dz;
            indices[kept] = self.slots[k];
            self.near[kept] = r2;
            self.near_volumes[kept] = self.volumes[k];
            kept += usize::from(r2 < 1.0);
        }
        kept
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn select_wide(&mut self, [x, y, z]: [f32; 3], indices: &mut [u32]) -> usize {
        use std::arch::x86_64::*;
        let (x, y, z) = (_mm256_set1_ps(x), _mm256_set1_ps(y), _mm256_set1_ps(z));
        let one = _mm256_set1_ps(1.0);
        let mut kept = 0;
        for k in (0..self.x.len()).step_by(LANES) {
            // SAFETY: all five lists hold a whole number of blocks of LANES; what is written has room for all candidates and a
            // block more, and at most k of them were kept so far.
            unsafe {
                let dx = _mm256_sub_ps(_mm256_loadu_ps(self.x.as_ptr().add(k)), x);
                let dy = _mm256_sub_ps(_mm256_loadu_ps(self.y.as_ptr().add(k)), y);
                let dz = _mm256_sub_ps(_mm256_loadu_ps(self.z.as_ptr().add(k)), z);
                let r2 =
                    _mm256_add_ps(_mm256_add_ps(_mm256_mul_ps(dx, dx), _mm256_mul_ps(dy, dy)), _mm256_mul_ps(dz, dz));
                let mask = _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_LT_OQ>(r2, one)) as usize & 255;
                if mask == 0 {
                    continue;
                }
                let front = _mm256_loadu_si256(crate::neighbors::FRONT[mask].as_ptr().cast());
                let slots = _mm256_loadu_si256(self.slots.as_ptr().add(k).cast());
                _mm256_storeu_si256(indices.as_mut_ptr().add(kept).cast(), _mm256_permutevar8x32_epi32(slots, front));
                _mm256_storeu_ps(self.near.as_mut_ptr().add(kept), _mm256_permutevar8x32_ps(r2, front));
                let volumes = _mm256_loadu_ps(self.volumes.as_ptr().add(k));
                _mm256_storeu_ps(self.near_volumes.as_mut_ptr().add(kept), _mm256_permutevar8x32_ps(volumes, front));
                kept += mask.count_ones() as usize;
            }
        }
        kept
    }

    /// Kernel of the `kept` neighbors.
    #[inline(always)]
    fn evaluate(
        &mut self,
        kept: usize,
        slot: u32,
        volume: f32,
        indices: &mut [u32],
        slopes: &mut [f32],
        scale: f32,
    ) -> (usize, Found) {
        let whole = kept.next_multiple_of(LANES);
        indices[kept..whole].fill(slot);
        self.near[kept..whole].fill(4.0);
        let near = &self.near[..whole].as_chunks::<LANES>().0;
        let volumes = &self.near_volumes[..whole].as_chunks::<LANES>().0;
        let out = slopes[..whole].as_chunks_mut::<LANES>().0;
        let (mut density, mut stiffness) = ([0.0f32; LANES], [0.0f32; LANES]);
        for ((r2, v), out) in near.iter().zip(volumes.iter()).zip(out) {
            for l in 0..LANES {
                let q = r2[l].max(1e-8).sqrt();
                let (a, b) = ((1.0 - q).max(0.0), (0.5 - q).max(0.0));
                let (a2, b2) = (a * a, b * b);
                let slope = 24.0 * b2 - 6.0 * a2;
                density[l] += v[l] * (2.0 * a2 * a - 8.0 * b2 * b);
                stiffness[l] += v[l] * slope * slope;
                out[l] = scale * slope / q;
            }
        }
        let sum = |lanes: [f32; LANES]| {
            (lanes[0] + lanes[4]) + (lanes[1] + lanes[5]) + (lanes[2] + lanes[6]) + (lanes[3] + lanes[7])
        };
        let found = Found { density: scale * (volume + sum(density)), stiffness: scale * scale * sum(stiffness) };
        (whole, found)
    }
}
