//! Sums over pairs of neighbors, eight pairs at a time, written once per term and compiled per instruction set.
//!
//! A term is the same expression from both ends with the sign changed, so that what one gets the other loses.
#![allow(unsafe_code, reason = "unchecked gathers by index, and functions that need CPU features checked at start")]

use super::search::{CHUNK, Chunk, LANES};
use crate::models::mls::flow::lanes::{Lanes, Plain, Row};
use rayon::prelude::*;

/// What a pair adds to a slot.
pub(super) trait PairTerm: Sync {
    /// The term from the rows of both and W'(q) / q.
    fn of<L: Lanes>(&self, own: &[L; LANES], other: &[L; LANES], slope: L) -> [L; 3];
}

/// Sums the term over the list of every slot. Rows begin with x, y, z and volume.
pub(super) fn sum<T: PairTerm>(term: &T, chunks: &[Chunk], rows: &[Row], out: &mut [[f32; 3]]) {
    assert!(rows.len() == out.len(), "one row and one sum per slot");
    let wide = super::search::wide_available();
    chunks.par_iter().zip(out.par_chunks_mut(CHUNK)).enumerate().for_each(|(c, (chunk, out))| {
        let first = c * CHUNK;
        match wide {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the processor has AVX2 and FMA; lists hold slots only, and there is a row for each.
            true => unsafe { sum_wide(term, chunk, first, rows, out) },
            // SAFETY: as above.
            _ => unsafe { sum_lanes::<T, Plain>(term, chunk, first, rows, out) },
        }
    });
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi2")]
unsafe fn sum_wide<T: PairTerm>(term: &T, chunk: &Chunk, first: usize, rows: &[Row], out: &mut [[f32; 3]]) {
    use crate::models::mls::flow::lanes::Wide;
    // SAFETY: the caller vouches for the lists.
    unsafe { sum_lanes::<T, Wide<true>>(term, chunk, first, rows, out) }
}

#[inline(always)]
unsafe fn sum_lanes<T: PairTerm, L: Lanes>(term: &T, chunk: &Chunk, first: usize, rows: &[Row], out: &mut [[f32; 3]]) {
    for (k, out) in out.iter_mut().enumerate() {
        let own = rows[first + k].0.map(|x| L::splat(x));
        let mut sums = [L::splat(0.0); 3];
        let (indices, slopes) = chunk.of(k);
        for (indices, slopes) in indices.as_chunks::<LANES>().0.iter().zip(slopes.as_chunks::<LANES>().0) {
            // SAFETY: the caller vouches for the indices.
            let other = unsafe { L::gather(rows.as_ptr(), 1, indices) };
            let force = term.of(&own, &other, L::load(&Row(*slopes)));
            for r in 0..3 {
                sums[r] = sums[r] + force[r];
            }
        }
        *out = sums.map(|s| {
            let s = s.store().0;
            ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]))
        });
    }
}

/// Vector from the other to oneself.
#[inline(always)]
pub(super) fn apart<L: Lanes>(own: &[L; LANES], other: &[L; LANES]) -> [L; 3] {
    [own[0] - other[0], own[1] - other[1], own[2] - other[2]]
}

/// Scalar product.
#[inline(always)]
pub(super) fn dot<L: Lanes>(a: &[L; 3], b: &[L; 3]) -> L {
    a[0].mul_add(b[0], a[1].mul_add(b[1], a[2] * b[2]))
}

/// Σ V g (π_i + π_j) d, the pressure gradient; the row has π in its fifth place.
pub(super) struct Pressure;

impl PairTerm for Pressure {
    #[inline(always)]
    fn of<L: Lanes>(&self, own: &[L; LANES], other: &[L; LANES], slope: L) -> [L; 3] {
        let push = slope * other[3] * (own[4] + other[4]);
        apart(own, other).map(|d| d * push)
    }
}

/// Σ V g (ν_i + ν_j) (e·d) / (q² + 0.01) d with e the difference of velocities in places 5 to 7: viscosity along the axes
/// of pairs, which keeps angular momentum. The row has ν in its last place.
pub(super) struct Viscous;

impl PairTerm for Viscous {
    #[inline(always)]
    fn of<L: Lanes>(&self, own: &[L; LANES], other: &[L; LANES], slope: L) -> [L; 3] {
        let d = apart(own, other);
        let e = [own[4] - other[4], own[5] - other[5], own[6] - other[6]];
        let r2 = dot(&d, &d);
        let drag = slope * other[3] * (own[7] + other[7]) * dot(&d, &e) / (r2 + L::splat(0.01));
        d.map(|d| d * drag)
    }
}

/// Σ V t_i t_j (1 - q²)² d, the pull of `tension`; the row has the root t of the tension in its fifth place.
pub(super) struct Cohesion;

impl PairTerm for Cohesion {
    #[inline(always)]
    fn of<L: Lanes>(&self, own: &[L; LANES], other: &[L; LANES], _slope: L) -> [L; 3] {
        let d = apart(own, other);
        let a = (L::splat(1.0) - dot(&d, &d)).max(L::splat(0.0));
        let pull = a * a * (own[4] * other[4] * other[3]);
        d.map(|d| d * pull)
    }
}
