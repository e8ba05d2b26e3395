//! The two sums of a pressure iteration, at three instructions per pair.
//!
//! With g = W'(q) / q the sums Σ g V (π_i + π_j)(x_i - x_j) and Σ g V (x_i - x_j)·(u_i - u_j) are linear in what a neighbor
//! sends: (V π x, V π) and (V u, V x·u). So a pair costs one load and one multiply-add of four lanes, and what belongs to the point
//! itself is put together after the loop. The differences lose about |x| / H units of rounding; the solver is content with that, and
//! the velocities it ends with come from `pairs`, where pairs are exactly opposite.
#![allow(unsafe_code, reason = "unchecked gathers by index, and functions that need CPU features checked at start")]

use super::search::{CHUNK, Chunk, LANES};
use rayon::prelude::*;

/// What a slot sends: four numbers.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(16))]
pub(super) struct Four(pub [f32; 4]);

/// What a slot sends before the iterations: V (x, 1, u, x·u).
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(32))]
pub(super) struct Eight(pub [f32; 8]);

/// A record of N numbers.
pub(super) trait Record<const N: usize>: Sync {
    /// The numbers.
    fn get(&self) -> &[f32; N];
}
impl Record<4> for Four {
    #[inline(always)]
    fn get(&self) -> &[f32; 4] {
        &self.0
    }
}
impl Record<8> for Eight {
    #[inline(always)]
    fn get(&self) -> &[f32; 8] {
        &self.0
    }
}

/// Calls `finish(slot, Σ g record_j, out)` for every slot, chunk after chunk; the results of `finish` are added up per chunk and
/// then in order.
pub(super) fn sum<const N: usize, R: Record<N>, T: Send>(
    chunks: &[Chunk],
    records: &[R],
    out: &mut [T],
    finish: impl Fn(usize, [f32; N], &mut T) -> [f32; 2] + Sync,
) -> [f64; 2] {
    assert!(records.len() == out.len(), "one record and one result per slot");
    let wide = super::search::wide_available();
    let one = |(c, (chunk, out)): (usize, (&Chunk, &mut [T]))| -> [f64; 2] {
        match wide {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the processor has AVX2 and FMA; lists hold slots only, and there is a record for each.
            true => unsafe { sum_wide(chunk, c * CHUNK, records, out, &finish) },
            _ => sum_plain(chunk, c * CHUNK, records, out, &finish),
        }
    };
    let tasks = chunks.par_iter().zip(out.par_chunks_mut(CHUNK)).enumerate();
    if rayon::current_num_threads() == 1 {
        return chunks.iter().zip(out.chunks_mut(CHUNK)).enumerate().map(one).fold([0.0; 2], add);
    }
    let parts: Vec<[f64; 2]> = tasks.map(one).collect();
    parts.into_iter().fold([0.0; 2], add)
}

fn add(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    [a[0] + b[0], a[1] + b[1]]
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi2")]
unsafe fn sum_wide<const N: usize, R: Record<N>, T>(
    chunk: &Chunk,
    first: usize,
    records: &[R],
    out: &mut [T],
    finish: &impl Fn(usize, [f32; N], &mut T) -> [f32; 2],
) -> [f64; 2] {
    let mut total = [0.0f64; 2];
    for (k, out) in out.iter_mut().enumerate() {
        let (indices, slopes) = chunk.of(k);
        // SAFETY: the caller vouches for the indices and for the processor.
        let sum = unsafe { add_up_wide::<N, R>(indices, slopes, records) };
        let [a, b] = finish(first + k, sum, out);
        total = add(total, [f64::from(a), f64::from(b)]);
    }
    total
}

/// Σ g record over one list, in four sums that hide the latency of the additions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi2")]
#[inline]
unsafe fn add_up_wide<const N: usize, R: Record<N>>(indices: &[u32], slopes: &[f32], records: &[R]) -> [f32; N] {
    use std::arch::x86_64::*;
    let mut out = [0.0f32; N];
    let blocks = indices.as_chunks::<LANES>().0.iter().zip(slopes.as_chunks::<LANES>().0);
    // Compilers take such loops apart into single numbers when left alone.
    if N == 4 {
        let mut sums = [_mm_setzero_ps(); 4];
        for (indices, slopes) in blocks {
            for l in 0..LANES {
                // SAFETY: the caller vouches for the indices; records are of four numbers.
                let record = unsafe { _mm_loadu_ps(records.get_unchecked(indices[l] as usize).get().as_ptr()) };
                sums[l % 4] = _mm_fmadd_ps(_mm_set1_ps(slopes[l]), record, sums[l % 4]);
            }
        }
        let sum = _mm_add_ps(_mm_add_ps(sums[0], sums[1]), _mm_add_ps(sums[2], sums[3]));
        // SAFETY: there are four numbers.
        unsafe { _mm_storeu_ps(out.as_mut_ptr(), sum) };
    } else {
        assert!(N == 8, "records are of four or eight numbers");
        let mut sums = [_mm256_setzero_ps(); 4];
        for (indices, slopes) in blocks {
            for l in 0..LANES {
                // SAFETY: the caller vouches for the indices; records are of eight numbers.
                let record = unsafe { _mm256_loadu_ps(records.get_unchecked(indices[l] as usize).get().as_ptr()) };
                sums[l % 4] = _mm256_fmadd_ps(_mm256_set1_ps(slopes[l]), record, sums[l % 4]);
            }
        }
        let sum = _mm256_add_ps(_mm256_add_ps(sums[0], sums[1]), _mm256_add_ps(sums[2], sums[3]));
        // SAFETY: there are eight numbers.
        unsafe { _mm256_storeu_ps(out.as_mut_ptr(), sum) };
    }
    out
}

/// The same on any machine, without fused multiply-add.
fn sum_plain<const N: usize, R: Record<N>, T>(
    chunk: &Chunk,
    first: usize,
    records: &[R],
    out: &mut [T],
    finish: &impl Fn(usize, [f32; N], &mut T) -> [f32; 2],
) -> [f64; 2] {
    let mut total = [0.0f64; 2];
    for (k, out) in out.iter_mut().enumerate() {
        let (indices, slopes) = chunk.of(k);
        let mut sums = [[0.0f32; N]; 4];
        for (l, (&j, &slope)) in indices.iter().zip(slopes).enumerate() {
            let record = records[j as usize].get();
            for n in 0..N {
                sums[l % 4][n] += slope * record[n];
            }
        }
        let mut sum = [0.0; N];
        for n in 0..N {
            sum[n] = (sums[0][n] + sums[1][n]) + (sums[2][n] + sums[3][n]);
        }
        let [a, b] = finish(first + k, sum, out);
        total = add(total, [f64::from(a), f64::from(b)]);
    }
    total
}
