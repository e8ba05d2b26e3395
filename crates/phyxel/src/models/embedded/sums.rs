//! Sums over neighborhoods, a few instructions per pair.
//!
//! What a point sends to its neighbors is a record of f32; sums Σ w record_j are one load and one multiply-add per eight numbers. What
//! is linear in the places of both points is put together after the loop from such sums: the differences lose about as many units of
//! rounding as the body is supports wide, which is far below what neighborhoods can tell. The fit of the deformation is
//! quadratic in places and takes differences pair by pair.
#![allow(unsafe_code, reason = "functions that need CPU features checked at start")]

use super::stencils::Place;
use crate::models::mls::flow::lanes::{LANES, Row};
use glam::{DMat3, DVec3, Vec3A};

/// Whether the processor has wide vectors.
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

/// One list: who, and with which weights.
#[derive(Clone, Copy)]
pub(super) struct List<'a> {
    pub neighbors: &'a [u32],
    pub weights: &'a [f32],
    /// Whether the processor has wide vectors.
    pub wide: bool,
}

impl List<'_> {
    fn pairs(&self) -> impl Iterator<Item = (usize, f32)> + '_ {
        self.neighbors.iter().zip(self.weights).map(|(&j, &w)| (j as usize, w))
    }

    /// Σ w record.
    #[inline]
    pub fn records<const K: usize>(&self, records: &[[Row; K]]) -> [Row; K] {
        #[cfg(target_arch = "x86_64")]
        if self.wide {
            // SAFETY: the processor has AVX2 and FMA.
            return unsafe { self.records_wide(records) };
        }
        let mut sum = [Row::ZERO; K];
        for (j, w) in self.pairs() {
            for (sum, record) in sum.iter_mut().zip(&records[j]) {
                (0..LANES).for_each(|l| sum.0[l] += w * record.0[l]);
            }
        }
        sum
    }

    /// Σ w vector.
    #[inline]
    pub fn vectors(&self, vectors: &[Vec3A]) -> Vec3A {
        #[cfg(target_arch = "x86_64")]
        if self.wide {
            // SAFETY: the processor has AVX2 and FMA.
            return unsafe { self.vectors_wide(vectors) };
        }
        self.pairs().fold(Vec3A::ZERO, |sum, (j, w)| sum + vectors[j] * w)
    }

    /// Σ w x eᵀ with vectors from a place in both spaces [m²]: its first two columns, and the third; each ends with a zero.
    #[inline]
    pub fn moments(&self, places: &[Place], own: Place) -> [Row; 2] {
        #[cfg(target_arch = "x86_64")]
        if self.wide {
            // SAFETY: the processor has AVX2 and FMA.
            return unsafe { self.moments_wide(places, own) };
        }
        let mut sums = [Vec3A::ZERO; 3];
        for (j, w) in self.pairs() {
            let other = &places[j];
            let (weighted, to) = ((other.world - own.world) * w, other.embedded - own.embedded);
            (0..3).for_each(|k| sums[k] += weighted * to[k]);
        }
        let [a, b, c] = sums;
        [Row([a.x, a.y, a.z, 0.0, b.x, b.y, b.z, 0.0]), Row([c.x, c.y, c.z, 0.0, 0.0, 0.0, 0.0, 0.0])]
    }
}

/// The matrix of such columns.
#[inline]
pub(super) fn columns([Row(firsts), Row(third)]: &[Row; 2]) -> DMat3 {
    let column = |c: &[f32]| DVec3::new(f64::from(c[0]), f64::from(c[1]), f64::from(c[2]));
    DMat3::from_cols(column(&firsts[..3]), column(&firsts[4..7]), column(&third[..3]))
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use super::*;
    use std::arch::x86_64::*;

    impl List<'_> {
        #[target_feature(enable = "avx2,fma")]
        pub(super) fn records_wide<const K: usize>(&self, records: &[[Row; K]]) -> [Row; K] {
            // Two sums hide the latency of the additions.
            let mut sums = [[_mm256_setzero_ps(); K]; 2];
            for (k, (j, w)) in self.neighbors.iter().zip(self.weights).enumerate() {
                let (record, w) = (&records[*j as usize], _mm256_set1_ps(*w));
                for r in 0..K {
                    // SAFETY: a row is eight numbers.
                    let row = unsafe { _mm256_load_ps(record[r].0.as_ptr()) };
                    sums[k % 2][r] = _mm256_fmadd_ps(w, row, sums[k % 2][r]);
                }
            }
            let mut out = [Row::ZERO; K];
            for r in 0..K {
                // SAFETY: a row is eight numbers.
                unsafe { _mm256_store_ps(out[r].0.as_mut_ptr(), _mm256_add_ps(sums[0][r], sums[1][r])) };
            }
            out
        }

        #[target_feature(enable = "avx2,fma")]
        pub(super) fn vectors_wide(&self, vectors: &[Vec3A]) -> Vec3A {
            let mut sums = [_mm_setzero_ps(); 4];
            for (k, (j, w)) in self.neighbors.iter().zip(self.weights).enumerate() {
                sums[k % 4] = _mm_fmadd_ps(_mm_set1_ps(*w), vectors[*j as usize].into(), sums[k % 4]);
            }
            _mm_add_ps(_mm_add_ps(sums[0], sums[1]), _mm_add_ps(sums[2], sums[3])).into()
        }

        #[target_feature(enable = "avx2,fma")]
        pub(super) fn moments_wide(&self, places: &[Place], own: Place) -> [Row; 2] {
            // World vectors twice beside each other, times the first two embedded coordinates; and once times the third.
            let mut firsts = [_mm256_setzero_ps(); 2];
            let mut thirds = [_mm_setzero_ps(); 2];
            let two = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1);
            let (x0, e0) = (own.world.into(), own.embedded.into());
            for (k, (j, w)) in self.neighbors.iter().zip(self.weights).enumerate() {
                let other = &places[*j as usize];
                let x = _mm_mul_ps(_mm_sub_ps(other.world.into(), x0), _mm_set1_ps(*w));
                let e = _mm_sub_ps(other.embedded.into(), e0);
                let both = _mm256_permutevar8x32_ps(_mm256_castps128_ps256(e), two);
                let third = _mm_shuffle_ps::<0xAA>(e, e);
                firsts[k % 2] = _mm256_fmadd_ps(_mm256_set_m128(x, x), both, firsts[k % 2]);
                thirds[k % 2] = _mm_fmadd_ps(x, third, thirds[k % 2]);
            }
            let first = _mm256_add_ps(firsts[0], firsts[1]);
            let third = _mm256_zextps128_ps256(_mm_add_ps(thirds[0], thirds[1]));
            let mut out = [Row::ZERO; 2];
            for (out, row) in out.iter_mut().zip([first, third]) {
                // SAFETY: a row is eight numbers.
                unsafe { _mm256_store_ps(out.0.as_mut_ptr(), row) };
            }
            out
        }
    }
}

/// Numbers of a record: a matrix by its columns, and vectors.
pub(super) fn pack<const K: usize>(numbers: impl IntoIterator<Item = f32>) -> [Row; K] {
    let mut record = [Row::ZERO; K];
    for (k, x) in numbers.into_iter().enumerate() {
        record[k / LANES].0[k % LANES] = x;
    }
    record
}

/// Number k of a record.
#[inline(always)]
pub(super) fn number<const K: usize>(record: &[Row; K], k: usize) -> f32 {
    record[k / LANES].0[k % LANES]
}

/// The vector that begins at number k of a record.
#[inline(always)]
pub(super) fn vector<const K: usize>(record: &[Row; K], k: usize) -> Vec3A {
    Vec3A::new(number(record, k), number(record, k + 1), number(record, k + 2))
}

/// The matrix whose columns begin at number k of a record, times a vector.
#[inline(always)]
pub(super) fn times<const K: usize>(record: &[Row; K], k: usize, v: Vec3A) -> Vec3A {
    vector(record, k) * v.x + vector(record, k + 3) * v.y + vector(record, k + 6) * v.z
}

/// Mean of positions [m].
pub(super) fn mean(positions: &[DVec3]) -> DVec3 {
    positions.iter().sum::<DVec3>() / positions.len().max(1) as f64
}
