//! The two number formats of the pair loops, and the 4x4 transposes between "one point per row" and "one point per lane".
#![allow(unsafe_code, reason = "4x4 transposes through pointers: LLVM turns the plain form into single-lane inserts")]

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

/// f32 or f64.
pub(crate) trait Real:
    Copy
    + Default
    + Debug
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + Send
    + Sync
    + 'static
{
    /// Rounds to this format.
    fn of(value: f64) -> Self;
    /// Exact.
    fn f64(self) -> f64;
    /// `self * b + c`, in one rounding when `FMA`.
    fn mul_add<const FMA: bool>(self, b: Self, c: Self) -> Self;
    /// Transposes four rows of four values.
    ///
    /// # Safety
    /// Every `from` must be readable and every `to` writable for four values.
    unsafe fn transpose4(from: [*const Self; 4], to: [*mut Self; 4]);
}

macro_rules! real {
    ($t:ty, $transpose:ident) => {
        impl Real for $t {
            #[inline(always)]
            fn of(value: f64) -> Self {
                value as $t
            }
            #[inline(always)]
            fn f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn mul_add<const FMA: bool>(self, b: Self, c: Self) -> Self {
                if FMA { <$t>::mul_add(self, b, c) } else { self * b + c }
            }
            #[inline(always)]
            unsafe fn transpose4(from: [*const Self; 4], to: [*mut Self; 4]) {
                // SAFETY: the caller vouches for four values at every pointer.
                unsafe { $transpose(from, to) }
            }
        }
    };
}
real!(f32, transpose4_f32);
real!(f64, transpose4_f64);

#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn transpose4_f32(from: [*const f32; 4], to: [*mut f32; 4]) {
    use std::arch::x86_64::*;
    // SAFETY: SSE is part of x86-64; the caller vouches for the pointers.
    unsafe {
        let (a, b, c, d) = (_mm_loadu_ps(from[0]), _mm_loadu_ps(from[1]), _mm_loadu_ps(from[2]), _mm_loadu_ps(from[3]));
        let (p, q) = (_mm_unpacklo_ps(a, b), _mm_unpackhi_ps(a, b));
        let (r, s) = (_mm_unpacklo_ps(c, d), _mm_unpackhi_ps(c, d));
        _mm_storeu_ps(to[0], _mm_movelh_ps(p, r));
        _mm_storeu_ps(to[1], _mm_movehl_ps(r, p));
        _mm_storeu_ps(to[2], _mm_movelh_ps(q, s));
        _mm_storeu_ps(to[3], _mm_movehl_ps(s, q));
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn transpose4_f64(from: [*const f64; 4], to: [*mut f64; 4]) {
    use std::arch::x86_64::*;
    // SAFETY: SSE2 is part of x86-64; the caller vouches for the pointers.
    unsafe {
        for h in 0..2 {
            for g in 0..2 {
                let a = _mm_loadu_pd(from[2 * h].add(2 * g));
                let b = _mm_loadu_pd(from[2 * h + 1].add(2 * g));
                _mm_storeu_pd(to[2 * g].add(2 * h), _mm_unpacklo_pd(a, b));
                _mm_storeu_pd(to[2 * g + 1].add(2 * h), _mm_unpackhi_pd(a, b));
            }
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
unsafe fn transpose4_plain<T: Copy>(from: [*const T; 4], to: [*mut T; 4]) {
    for r in 0..4 {
        for c in 0..4 {
            // SAFETY: the caller vouches for four values at every pointer.
            unsafe { *to[c].add(r) = *from[r].add(c) };
        }
    }
}
#[cfg(not(target_arch = "x86_64"))]
use {transpose4_plain as transpose4_f32, transpose4_plain as transpose4_f64};
