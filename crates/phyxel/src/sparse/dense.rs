//! Partial Cholesky factor of one dense front, in pieces that stay in the cache and loops that compilers turn into vectors.
//!
//! No sum is reordered between machines: products are added in the order of the columns, eight entries side by side.

use crate::models::mls::implicit::widest;
use crate::models::shell::engine::wide_vectors;
use crate::models::shell::lanes::{LANES, Lane};

/// Columns eliminated together.
const BLOCK: usize = 48;
/// Entries side by side.
const WIDE: usize = 2 * LANES;
/// Rows at a time in the update.
const TALL: usize = 4;
/// Pivots below this part of their diagonal entry are not trusted and replaced by it.
const LEAST_PIVOT: f64 = 1e-13;

/// A square matrix by rows, its lower triangle.
#[derive(Debug, Clone, Default)]
pub struct Front {
    /// Rows and columns.
    pub size: usize,
    /// Numbers from one row to the next.
    pub stride: usize,
    /// The entries; what lies above the diagonal has no meaning.
    pub data: Vec<f64>,
}

impl Front {
    /// Zeros.
    pub fn new(size: usize) -> Self {
        let stride = size.next_multiple_of(WIDE);
        Self { size, stride, data: vec![0.0; size * stride] }
    }

    /// One row.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.data[i * self.stride..][..self.stride]
    }

    /// Eliminates the first `count` columns: they become those of the factor, and the rest is what is left to factor.
    pub fn eliminate(&mut self, count: usize) {
        if wide_vectors() {
            widest(
                #[inline(always)]
                || self.eliminate_with::<true>(count),
            );
        } else {
            self.eliminate_with::<false>(count);
        }
    }

    #[inline(always)]
    fn eliminate_with<const W: bool>(&mut self, count: usize) {
        let mut work = Work::default();
        let mut start = 0;
        while start < count {
            let end = count.min(start + BLOCK);
            self.factor_diagonal(start, end);
            self.eliminate_block::<W>(start, end, &mut work);
            start = end;
        }
    }

    #[inline(always)]
    fn factor_diagonal(&mut self, start: usize, end: usize) {
        for j in start..end {
            for i in j..end {
                let (mut sum, at) = (self.data[i * self.stride + j], i * self.stride);
                let whole = sum;
                for k in start..j {
                    sum -= self.data[at + k] * self.data[j * self.stride + k];
                }
                self.data[at + j] = if i == j {
                    let trusted = sum > LEAST_PIVOT * whole;
                    if trusted { sum.sqrt() } else { whole.abs().max(f64::MIN_POSITIVE).sqrt() }
                } else {
                    sum / self.data[j * self.stride + j]
                };
            }
        }
    }

    #[inline(always)]
    fn eliminate_block<const W: bool>(&mut self, start: usize, end: usize, work: &mut Work) {
        let (below, width) = (self.size - end, end - start);
        if below == 0 {
            return;
        }
        let room = below.next_multiple_of(WIDE);
        work.panel.clear();
        work.panel.resize(width * room, 0.0);
        // The rows below, turned so that they lie side by side.
        for j in 0..below {
            let row = &self.data[(end + j) * self.stride + start..][..width];
            row.iter().enumerate().for_each(|(k, x)| work.panel[k * room + j] = *x);
        }
        for first in (0..room).step_by(WIDE) {
            for c in 0..width {
                let mut sum = lanes::<W>(&work.panel[c * room + first..]);
                let factors = &self.data[(start + c) * self.stride + start..][..=c];
                for (k, factor) in factors[..c].iter().enumerate() {
                    let (known, factor) = (lanes::<W>(&work.panel[k * room + first..]), Lane::splat(*factor));
                    sum = [sum[0] - factor * known[0], sum[1] - factor * known[1]];
                }
                let inverse = Lane::splat(1.0 / factors[c]);
                let out = &mut work.panel[c * room + first..][..WIDE];
                out[..LANES].copy_from_slice(&(sum[0] * inverse).0);
                out[LANES..].copy_from_slice(&(sum[1] * inverse).0);
            }
        }
        for j in 0..below {
            let row = &mut self.data[(end + j) * self.stride + start..][..width];
            row.iter_mut().enumerate().for_each(|(k, x)| *x = work.panel[k * room + j]);
        }
        let mut i = 0;
        while i + TALL <= below {
            self.update::<W, TALL>(i, end, width, room, work);
            i += TALL;
        }
        for i in i..below {
            self.update::<W, 1>(i, end, width, room, work);
        }
    }

    /// Subtracts the products of `ROWS` rows below, from the `i`-th on, with all up to them.
    #[inline(always)]
    fn update<const W: bool, const ROWS: usize>(
        &mut self,
        i: usize,
        end: usize,
        width: usize,
        room: usize,
        work: &mut Work,
    ) {
        let start = end - width;
        work.rows.clear();
        for k in 0..width {
            work.rows.extend((0..ROWS).map(|r| self.data[(end + i + r) * self.stride + start + k]));
        }
        for first in (0..i + ROWS).step_by(WIDE) {
            let mut sums = [[Lane::<W>::ZERO; 2]; ROWS];
            for (rows, known) in work.rows.as_chunks::<ROWS>().0.iter().zip(work.panel.chunks_exact(room)) {
                let known = lanes::<W>(&known[first..]);
                for r in 0..ROWS {
                    let factor = Lane::splat(rows[r]);
                    sums[r][0] += factor * known[0];
                    sums[r][1] += factor * known[1];
                }
            }
            for (r, sums) in sums.iter().enumerate() {
                let sums = [sums[0].0, sums[1].0];
                let sums = sums.as_flattened();
                // The last columns of a row may be beyond the front: there is no room for them then.
                let from = end + first;
                let room = WIDE.min(self.stride - from);
                let out = &mut self.data[(end + i + r) * self.stride + from..][..room];
                out.iter_mut().zip(sums).for_each(|(x, s)| *x -= s);
            }
        }
    }
}

#[inline(always)]
fn lanes<const W: bool>(numbers: &[f64]) -> [Lane<W>; 2] {
    let numbers = &numbers[..WIDE];
    [0, LANES].map(|from| Lane(std::array::from_fn(|l| numbers[from + l])))
}

#[derive(Default)]
struct Work {
    panel: Vec<f64>,
    rows: Vec<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn the_factor_times_its_transpose_is_the_matrix() {
        for (size, count) in [(1, 1), (3, 3), (50, 17), (131, 131), (131, 60), (64, 49)] {
            let mut random = Random::new(2, size as u64);
            let raw: Vec<f64> = (0..size * size).map(|_| random.in_cube().x).collect();
            let entry = |i: usize, j: usize| {
                let sum: f64 = (0..size).map(|k| raw[i * size + k] * raw[j * size + k]).sum();
                sum + if i == j { 0.5 } else { 0.0 }
            };
            let mut front = Front::new(size);
            for i in 0..size {
                (0..=i).for_each(|j| front.data[i * front.stride + j] = entry(i, j));
            }
            front.eliminate(count);
            for i in 0..size {
                for j in 0..=i {
                    let known = count.min(j + 1);
                    let product: f64 =
                        front.row(i)[..known].iter().zip(&front.row(j)[..known]).map(|(a, b)| a * b).sum();
                    let left = if j >= count { front.row(i)[j] } else { 0.0 };
                    assert!((product + left - entry(i, j)).abs() < 1e-10 * size as f64, "{size} {count} {i} {j}");
                }
            }
        }
    }

    #[test]
    fn a_pivot_that_is_not_positive_is_replaced() {
        let mut front = Front::new(2);
        front.data[0] = 1.0;
        front.data[front.stride] = 2.0;
        front.data[front.stride + 1] = 1.0;
        front.eliminate(2);
        assert!(front.row(1)[1] > 0.0 && front.data.iter().all(|x| x.is_finite()));
    }
}
