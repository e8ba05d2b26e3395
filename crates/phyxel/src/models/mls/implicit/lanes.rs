//! The two neighbor loops of the implicit operator, four numbers at a time.
//!
//! The AVX2 forms do the same operations in the same order as the plain ones (no fused multiply-add), so the bits are the
//! same on every machine; they are chosen at run time.

use glam::DVec3;

/// Four lanes: three numbers and a rider.
pub(super) type Row = [f64; 4];

/// What both passes need of a point's place: (x, 1) and (q, 0).
#[derive(Debug, Clone, Copy)]
#[repr(C, align(32))]
pub(super) struct Place {
    pub x: Row,
    pub q: Row,
}

/// What pass 2 needs of a neighbor's stress: the rows of P B - κ H0 with κ u as rider, and the rows of v P.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(32))]
pub(super) struct Record {
    pub m: [Row; 3],
    pub n: [Row; 3],
}

/// The neighbors of one point with their weights.
#[derive(Clone, Copy)]
pub(super) struct List<'a> {
    pub neighbors: &'a [u32],
    pub weights: &'a [f64],
}

impl List<'_> {
    #[inline(always)]
    fn iter(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.neighbors.iter().zip(self.weights).map(|(&j, &w)| (j as usize, w))
    }
}

/// Runs a piece of work compiled for the widest instructions that keep the bits, so that the loops below are inlined.
#[inline]
pub(crate) fn widest(work: impl FnOnce()) {
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx2") {
        #[allow(unsafe_code, reason = "the processor has been asked for AVX2 on the line above")]
        // SAFETY: AVX2 is present.
        return unsafe { avx2::run(work) };
    }
    work();
}

/// Rows of Σ w u_ij (x_ij, 1)ᵀ and of Σ w u_ij (q_ij, 0)ᵀ over the neighbors of point i.
#[inline]
pub(super) fn stretch(list: List, places: &[Place], u: &[DVec3], i: usize) -> ([Row; 3], [Row; 3]) {
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx2") {
        #[allow(unsafe_code, reason = "the processor has been asked for AVX2 on the line above")]
        // SAFETY: AVX2 is present.
        return unsafe { avx2::stretch(list, places, u, i) };
    }
    plain_stretch(list, places, u, i)
}

/// Lane sums Σ (m_j w (x_ij, 1) + n_j w (q_ij, 0)) of the three rows over the neighbors of point i.
#[inline]
pub(super) fn pull(list: List, places: &[Place], records: &[Record], i: usize) -> [Row; 3] {
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx2") {
        #[allow(unsafe_code, reason = "the processor has been asked for AVX2 on the line above")]
        // SAFETY: AVX2 is present.
        return unsafe { avx2::pull(list, places, records, i) };
    }
    plain_pull(list, places, records, i)
}

fn plain_stretch(list: List, places: &[Place], u: &[DVec3], i: usize) -> ([Row; 3], [Row; 3]) {
    let (mut with_x, mut with_q) = ([[0.0; 4]; 3], [[0.0; 4]; 3]);
    let here = without_rider(places[i]);
    for (j, w) in list.iter() {
        let (m, n) = weighted_difference(&places[j], &here, w);
        let e = (u[j] - u[i]).to_array();
        for r in 0..3 {
            for lane in 0..4 {
                with_x[r][lane] += e[r] * m[lane];
                with_q[r][lane] += e[r] * n[lane];
            }
        }
    }
    (with_x, with_q)
}

fn plain_pull(list: List, places: &[Place], records: &[Record], i: usize) -> [Row; 3] {
    let mut sums = [[0.0; 4]; 3];
    let here = without_rider(places[i]);
    for (j, w) in list.iter() {
        let (m, n) = weighted_difference(&places[j], &here, w);
        let record = &records[j];
        for r in 0..3 {
            for lane in 0..4 {
                sums[r][lane] += record.m[r][lane] * m[lane] + record.n[r][lane] * n[lane];
            }
        }
    }
    sums
}

// So that a difference with a neighbor keeps the neighbor's rider.
#[inline(always)]
fn without_rider(mut place: Place) -> Place {
    place.x[3] = 0.0;
    place
}

fn weighted_difference(there: &Place, here: &Place, w: f64) -> (Row, Row) {
    let (mut m, mut n) = ([0.0; 4], [0.0; 4]);
    for lane in 0..4 {
        m[lane] = w * (there.x[lane] - here.x[lane]);
        n[lane] = w * (there.q[lane] - here.q[lane]);
    }
    (m, n)
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{List, Place, Record, Row, without_rider};
    use glam::DVec3;
    use std::arch::x86_64::*;

    #[target_feature(enable = "avx2")]
    pub fn run(work: impl FnOnce()) {
        work();
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(row: &Row) -> __m256d {
        _mm256_set_pd(row[3], row[2], row[1], row[0])
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn difference(there: &Place, x: __m256d, q: __m256d, w: f64) -> (__m256d, __m256d) {
        let w = _mm256_set1_pd(w);
        let m = _mm256_mul_pd(w, _mm256_sub_pd(load(&there.x), x));
        (m, _mm256_mul_pd(w, _mm256_sub_pd(load(&there.q), q)))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub fn stretch(list: List, places: &[Place], u: &[DVec3], i: usize) -> ([Row; 3], [Row; 3]) {
        let (mut with_x, mut with_q) = ([_mm256_setzero_pd(); 3], [_mm256_setzero_pd(); 3]);
        let here = without_rider(places[i]);
        let (x, q, u_i) = (load(&here.x), load(&here.q), u[i]);
        for (&j, &w) in list.neighbors.iter().zip(list.weights) {
            let (m, n) = difference(&places[j as usize], x, q, w);
            let e = (u[j as usize] - u_i).to_array();
            for r in 0..3 {
                let e = _mm256_set1_pd(e[r]);
                with_x[r] = _mm256_add_pd(with_x[r], _mm256_mul_pd(e, m));
                with_q[r] = _mm256_add_pd(with_q[r], _mm256_mul_pd(e, n));
            }
        }
        (with_x.map(bytemuck::cast), with_q.map(bytemuck::cast))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub fn pull(list: List, places: &[Place], records: &[Record], i: usize) -> [Row; 3] {
        let mut sums = [_mm256_setzero_pd(); 3];
        let here = without_rider(places[i]);
        let (x, q) = (load(&here.x), load(&here.q));
        for (&j, &w) in list.neighbors.iter().zip(list.weights) {
            let (m, n) = difference(&places[j as usize], x, q, w);
            let record = &records[j as usize];
            for r in 0..3 {
                let part = _mm256_add_pd(_mm256_mul_pd(load(&record.m[r]), m), _mm256_mul_pd(load(&record.n[r]), n));
                sums[r] = _mm256_add_pd(sums[r], part);
            }
        }
        sums.map(bytemuck::cast)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn vector_and_plain_forms_have_the_same_bits() {
        let mut random = Random::new(5, 0);
        let mut row = || {
            let v = random.in_cube();
            [v.x, v.y, v.z, random.unit()]
        };
        let places: Vec<Place> = (0..20).map(|_| Place { x: row(), q: row() }).collect();
        let records: Vec<Record> =
            (0..20).map(|_| Record { m: [row(), row(), row()], n: [row(), row(), row()] }).collect();
        let u: Vec<DVec3> = (0..20).map(|_| DVec3::from_slice(&row())).collect();
        let neighbors: Vec<u32> = (1..20).collect();
        let weights: Vec<f64> = neighbors.iter().map(|&j| 1.0 / f64::from(j)).collect();
        let list = List { neighbors: &neighbors, weights: &weights };
        assert_eq!(stretch(list, &places, &u, 0), plain_stretch(list, &places, &u, 0));
        assert_eq!(pull(list, &places, &records, 0), plain_pull(list, &places, &records, 0));
    }
}
