//! The pair work in AVX2: eight f32 lanes hold (x, kappa, q) of a point; f64 takes two vectors.
#![allow(unsafe_code, reason = "vector instructions; every function is inlined into a shell that enables them")]

use super::layout::{Node, Record, Single, Split};
use super::pair::Pair;
use std::arch::x86_64::*;

/// f32 throughout.
pub(crate) struct Avx2Single<const FMA: bool>;
/// f64 displacements, f32 pair data: the difference of displacements is taken in f64.
pub(crate) struct Avx2Mixed<const FMA: bool>;
/// f64 throughout.
pub(crate) struct Avx2Double<const FMA: bool>;

#[inline(always)]
unsafe fn mul_add_ps<const FMA: bool>(a: __m256, b: __m256, c: __m256) -> __m256 {
    // SAFETY: inlined into a shell with the features.
    unsafe { if FMA { _mm256_fmadd_ps(a, b, c) } else { _mm256_add_ps(_mm256_mul_ps(a, b), c) } }
}
#[inline(always)]
unsafe fn mul_add_pd<const FMA: bool>(a: __m256d, b: __m256d, c: __m256d) -> __m256d {
    // SAFETY: inlined into a shell with the features.
    unsafe { if FMA { _mm256_fmadd_pd(a, b, c) } else { _mm256_add_pd(_mm256_mul_pd(a, b), c) } }
}

/// Four values in both halves. Written as an instruction: LLVM would load 128 bits and widen the difference by a shuffle, and
/// shuffles are what the loop has too many of.
#[inline]
#[target_feature(enable = "avx")]
unsafe fn broadcast4(from: *const [f32; 4]) -> __m256 {
    let out: __m256;
    // SAFETY: the caller vouches for four values; nothing is written.
    unsafe {
        std::arch::asm!("vbroadcastf128 {o}, [{p}]", o = out(ymm_reg) out, p = in(reg) from,
            options(pure, readonly, nostack, preserves_flags));
    }
    out
}

/// Lane `L / 0x55` of each half, everywhere in that half. Written as an instruction: LLVM would narrow the argument to 128 bits and
/// pay a second shuffle to widen each lane again.
#[inline]
#[target_feature(enable = "avx")]
unsafe fn spread<const L: i32>(e: __m256) -> __m256 {
    let out: __m256;
    // SAFETY: inlined into a shell with AVX; no memory, no flags.
    unsafe {
        std::arch::asm!("vpermilps {o}, {e}, {l}", o = out(ymm_reg) out, e = in(ymm_reg) e, l = const L,
            options(pure, nomem, nostack, preserves_flags));
    }
    out
}

/// Adds the outer product of `e` (its first three lanes, in both halves) and `m`.
#[inline(always)]
unsafe fn add_outer<const FMA: bool>(sums: [__m256; 3], e: __m256, m: __m256) -> [__m256; 3] {
    // SAFETY: inlined into a shell with the features.
    unsafe {
        [
            mul_add_ps::<FMA>(spread::<0x00>(e), m, sums[0]),
            mul_add_ps::<FMA>(spread::<0x55>(e), m, sums[1]),
            mul_add_ps::<FMA>(spread::<0xAA>(e), m, sums[2]),
        ]
    }
}

#[inline(always)]
unsafe fn transpose8_ps(from: [*const f32; 8], to: [*mut f32; 8]) {
    // SAFETY: inlined into a shell with the features; the caller vouches for eight values at every pointer.
    unsafe {
        let mut r = [_mm256_setzero_ps(); 8];
        for k in 0..8 {
            r[k] = _mm256_loadu_ps(from[k]);
        }
        // Pairs of rows, pairs of pairs, then halves.
        let mut t = r;
        for k in 0..4 {
            t[2 * k] = _mm256_unpacklo_ps(r[2 * k], r[2 * k + 1]);
            t[2 * k + 1] = _mm256_unpackhi_ps(r[2 * k], r[2 * k + 1]);
        }
        for k in 0..2 {
            let h = 4 * k;
            r[h] = _mm256_shuffle_ps::<0x44>(t[h], t[h + 2]);
            r[h + 1] = _mm256_shuffle_ps::<0xEE>(t[h], t[h + 2]);
            r[h + 2] = _mm256_shuffle_ps::<0x44>(t[h + 1], t[h + 3]);
            r[h + 3] = _mm256_shuffle_ps::<0xEE>(t[h + 1], t[h + 3]);
        }
        for k in 0..4 {
            _mm256_storeu_ps(to[k], _mm256_permute2f128_ps::<0x20>(r[k], r[k + 4]));
            _mm256_storeu_ps(to[k + 4], _mm256_permute2f128_ps::<0x31>(r[k], r[k + 4]));
        }
    }
}

macro_rules! single_rows {
    () => {
        type T = f32;
        type Xkq = __m256;
        type Sums = [__m256; 3];
        const FMA: bool = FMA;

        #[inline(always)]
        unsafe fn load_xkq(from: *const f32) -> __m256 {
            // SAFETY: the caller vouches for eight aligned values.
            unsafe { _mm256_load_ps(from) }
        }
        #[inline(always)]
        unsafe fn zero() -> Self::Sums {
            // SAFETY: inlined into a shell with the features.
            unsafe { [_mm256_setzero_ps(); 3] }
        }
        #[inline(always)]
        unsafe fn pull(sums: Self::Sums, xq_i: __m256, record_j: *const Record<f32>, w: f32) -> Self::Sums {
            // SAFETY: the caller vouches for the record; its fields are aligned to 32 bytes.
            unsafe {
                let record = &*record_j;
                let m = _mm256_mul_ps(_mm256_sub_ps(_mm256_load_ps(record.xq.as_ptr()), xq_i), _mm256_set1_ps(w));
                let mut sums = sums;
                for r in 0..3 {
                    sums[r] = mul_add_ps::<FMA>(_mm256_load_ps(record.rows[r].as_ptr()), m, sums[r]);
                }
                sums
            }
        }
        #[inline(always)]
        unsafe fn transpose8(from: [*const f32; 8], to: [*mut f32; 8]) {
            // SAFETY: the caller vouches for eight values at every pointer.
            unsafe { transpose8_ps(from, to) }
        }
        #[inline(always)]
        unsafe fn store(sums: Self::Sums, to: *mut f32) {
            for r in 0..3 {
                // SAFETY: the caller vouches for 24 values.
                unsafe { _mm256_storeu_ps(to.add(8 * r), sums[r]) };
            }
        }
        #[inline(always)]
        unsafe fn row_sums(sums: Self::Sums) -> [f32; 4] {
            // SAFETY: inlined into a shell with the features.
            unsafe {
                let mut halves = [_mm_setzero_ps(); 4];
                for r in 0..3 {
                    halves[r] = _mm_add_ps(_mm256_castps256_ps128(sums[r]), _mm256_extractf128_ps::<1>(sums[r]));
                }
                let (first, second) = (_mm_hadd_ps(halves[0], halves[1]), _mm_hadd_ps(halves[2], halves[3]));
                let mut out = [0.0; 4];
                _mm_storeu_ps(out.as_mut_ptr(), _mm_hadd_ps(first, second));
                out
            }
        }
    };
}

impl<const FMA: bool> Pair for Avx2Single<FMA> {
    single_rows!();
    type D = Single<f32>;
    type Own = __m256;

    #[inline(always)]
    unsafe fn load_displacement(from: &Single<f32>) -> __m256 {
        // SAFETY: inlined into a shell with the features.
        unsafe { broadcast4(&from.0) }
    }
    #[inline(always)]
    unsafe fn stretch(
        sums: Self::Sums,
        xkq_i: __m256,
        u_i: __m256,
        node_j: *const Node<f32, Single<f32>>,
        w: f32,
    ) -> Self::Sums {
        // SAFETY: the caller vouches for the record; its fields are aligned.
        unsafe {
            let node = &*node_j;
            let m = _mm256_mul_ps(_mm256_sub_ps(_mm256_load_ps(node.xkq.as_ptr()), xkq_i), _mm256_set1_ps(w));
            let e = _mm256_sub_ps(broadcast4(&node.u.0), u_i);
            add_outer::<FMA>(sums, e, m)
        }
    }
}

impl<const FMA: bool> Pair for Avx2Mixed<FMA> {
    single_rows!();
    type D = Split;
    type Own = [__m256; 2];

    #[inline(always)]
    unsafe fn load_displacement(from: &Split) -> [__m256; 2] {
        // SAFETY: inlined into a shell with the features.
        unsafe { [broadcast4(&from.high), broadcast4(&from.low)] }
    }
    #[inline(always)]
    unsafe fn stretch(
        sums: Self::Sums,
        xkq_i: __m256,
        u_i: [__m256; 2],
        node_j: *const Node<f32, Split>,
        w: f32,
    ) -> Self::Sums {
        // SAFETY: the caller vouches for the record; its fields are aligned.
        unsafe {
            let node = &*node_j;
            let m = _mm256_mul_ps(_mm256_sub_ps(_mm256_load_ps(node.xkq.as_ptr()), xkq_i), _mm256_set1_ps(w));
            let high = _mm256_sub_ps(broadcast4(&node.u.high), u_i[0]);
            let low = _mm256_sub_ps(broadcast4(&node.u.low), u_i[1]);
            add_outer::<FMA>(sums, _mm256_add_ps(high, low), m)
        }
    }
}

impl<const FMA: bool> Pair for Avx2Double<FMA> {
    type T = f64;
    type D = Single<f64>;
    type Xkq = [__m256d; 2];
    type Own = [__m256d; 3];
    type Sums = [[__m256d; 2]; 3];
    const FMA: bool = FMA;

    #[inline(always)]
    unsafe fn load_xkq(from: *const f64) -> [__m256d; 2] {
        // SAFETY: the caller vouches for eight aligned values.
        unsafe { [_mm256_load_pd(from), _mm256_load_pd(from.add(4))] }
    }
    #[inline(always)]
    unsafe fn load_displacement(from: &Single<f64>) -> [__m256d; 3] {
        // SAFETY: inlined into a shell with the features.
        unsafe { [_mm256_set1_pd(from.0[0]), _mm256_set1_pd(from.0[1]), _mm256_set1_pd(from.0[2])] }
    }
    #[inline(always)]
    unsafe fn zero() -> Self::Sums {
        // SAFETY: inlined into a shell with the features.
        unsafe { [[_mm256_setzero_pd(); 2]; 3] }
    }
    #[inline(always)]
    unsafe fn stretch(
        mut sums: Self::Sums,
        xkq_i: [__m256d; 2],
        u_i: [__m256d; 3],
        node_j: *const Node<f64, Single<f64>>,
        w: f64,
    ) -> Self::Sums {
        // SAFETY: the caller vouches for the record; its fields are aligned.
        unsafe {
            let node = &*node_j;
            let w = _mm256_set1_pd(w);
            let mut m = [w; 2];
            for h in 0..2 {
                m[h] = _mm256_mul_pd(_mm256_sub_pd(_mm256_load_pd(node.xkq.as_ptr().add(4 * h)), xkq_i[h]), w);
            }
            for r in 0..3 {
                let e = _mm256_sub_pd(_mm256_broadcast_sd(&node.u.0[r]), u_i[r]);
                for h in 0..2 {
                    sums[r][h] = mul_add_pd::<FMA>(e, m[h], sums[r][h]);
                }
            }
            sums
        }
    }
    #[inline(always)]
    unsafe fn pull(mut sums: Self::Sums, xq_i: [__m256d; 2], record_j: *const Record<f64>, w: f64) -> Self::Sums {
        // SAFETY: the caller vouches for the record; its fields are aligned.
        unsafe {
            let record = &*record_j;
            let w = _mm256_set1_pd(w);
            for h in 0..2 {
                let m = _mm256_mul_pd(_mm256_sub_pd(_mm256_load_pd(record.xq.as_ptr().add(4 * h)), xq_i[h]), w);
                for r in 0..3 {
                    sums[r][h] = mul_add_pd::<FMA>(_mm256_load_pd(record.rows[r].as_ptr().add(4 * h)), m, sums[r][h]);
                }
            }
            sums
        }
    }
    #[inline(always)]
    unsafe fn store(sums: Self::Sums, to: *mut f64) {
        for r in 0..3 {
            for h in 0..2 {
                // SAFETY: the caller vouches for 24 values.
                unsafe { _mm256_storeu_pd(to.add(8 * r + 4 * h), sums[r][h]) };
            }
        }
    }
    #[inline(always)]
    unsafe fn row_sums(sums: Self::Sums) -> [f64; 4] {
        let mut out = [0.0; 4];
        for r in 0..3 {
            let mut s = [0.0; 4];
            // SAFETY: inlined into a shell with the features; `s` has four values.
            unsafe { _mm256_storeu_pd(s.as_mut_ptr(), _mm256_add_pd(sums[r][0], sums[r][1])) };
            out[r] = (s[0] + s[1]) + (s[2] + s[3]);
        }
        out
    }
}
