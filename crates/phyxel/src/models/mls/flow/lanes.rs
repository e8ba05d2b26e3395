//! Eight f32 lanes: plain loops for every machine, AVX2 where the processor has it.
#![allow(
    unsafe_code,
    reason = "vector instructions inlined into shells that enable them, and rows loaded by unchecked index"
)]

use std::ops::{Add, Div, Mul, Sub};

/// Lanes of a vector, and points of a block.
pub(crate) const LANES: usize = 8;

/// The places of a block.
pub(crate) const SEQUENCE: [u32; LANES] = [0, 1, 2, 3, 4, 5, 6, 7];

/// Parts of a length unit in the fixed-point coordinates. Differences of neighbors are exact wherever they are, and coordinates
/// may wrap around.
pub(crate) const FRACTION: f64 = (1u32 << 24) as f64;

/// Eight values of one slot, or one value of eight slots.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C, align(32))]
pub(crate) struct Row(pub [f32; LANES]);

impl Row {
    /// All zero.
    pub const ZERO: Self = Self([0.0; LANES]);
}

/// Eight lanes. All operations are rounded once, so that every kind of lanes without fused multiply-add gives the same bits.
pub(crate) trait Lanes:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// Eight f64 sums.
    type Sums: Copy;
    /// Sums of nothing.
    const EMPTY: Self::Sums;
    /// The same in all lanes.
    fn splat(x: f32) -> Self;
    /// From a row.
    fn load(row: &Row) -> Self;
    /// To a row.
    fn store(self) -> Row;
    /// `self b + c`.
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// The larger one; `b` where `self` is not a number.
    fn max(self, b: Self) -> Self;
    /// The smaller one; `b` where `self` is not a number.
    fn min(self, b: Self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// Whether any is above 0.
    fn any_positive(self) -> bool;
    /// Difference of fixed-point coordinates [length units].
    fn vector(self, from: Self) -> Self;
    /// Adds the lanes to `sums`, exactly.
    fn add_to(self, sums: &mut Self::Sums);
    /// The sums lane by lane.
    fn sums(sums: Self::Sums) -> [f64; LANES];
    /// Writes x, y, z and nothing of each lane.
    fn store_vectors(v: [Self; 3], out: &mut [[f32; 4]; LANES]);
    /// Value k of the rows with the given indices in lanes of the k-th result; `stride` rows belong to an index.
    ///
    /// # Safety
    /// `rows` must hold a row at `stride` times every index.
    unsafe fn gather(rows: *const Row, stride: usize, indices: &[u32; LANES]) -> [Self; LANES];
}

/// Plain loops.
#[derive(Clone, Copy)]
pub(crate) struct Plain([f32; LANES]);

#[inline(always)]
fn each(a: Plain, b: Plain, f: impl Fn(f32, f32) -> f32) -> Plain {
    let mut out = a;
    for l in 0..LANES {
        out.0[l] = f(a.0[l], b.0[l]);
    }
    out
}

macro_rules! plain_operator {
    ($trait:ident, $name:ident, $op:tt) => {
        impl $trait for Plain {
            type Output = Self;
            #[inline(always)]
            fn $name(self, b: Self) -> Self {
                each(self, b, |a, b| a $op b)
            }
        }
    };
}
plain_operator!(Add, add, +);
plain_operator!(Sub, sub, -);
plain_operator!(Mul, mul, *);
plain_operator!(Div, div, /);

impl Lanes for Plain {
    type Sums = [f64; LANES];
    const EMPTY: Self::Sums = [0.0; LANES];
    #[inline(always)]
    fn splat(x: f32) -> Self {
        Self([x; LANES])
    }
    #[inline(always)]
    fn load(row: &Row) -> Self {
        Self(row.0)
    }
    #[inline(always)]
    fn store(self) -> Row {
        Row(self.0)
    }
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        self * b + c
    }
    #[inline(always)]
    fn max(self, b: Self) -> Self {
        each(self, b, |a, b| if a > b { a } else { b })
    }
    #[inline(always)]
    fn min(self, b: Self) -> Self {
        each(self, b, |a, b| if a < b { a } else { b })
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        each(self, self, |a, _| a.sqrt())
    }
    #[inline(always)]
    fn any_positive(self) -> bool {
        self.0.iter().fold(false, |any, &x| any | (x > 0.0))
    }
    #[inline(always)]
    fn vector(self, from: Self) -> Self {
        let part = |a: f32, b: f32| (a.to_bits() as i32).wrapping_sub(b.to_bits() as i32) as f32;
        each(self, from, part) * Self::splat((1.0 / FRACTION) as f32)
    }
    #[inline(always)]
    fn add_to(self, sums: &mut Self::Sums) {
        for l in 0..LANES {
            sums[l] += f64::from(self.0[l]);
        }
    }
    #[inline(always)]
    fn sums(sums: Self::Sums) -> [f64; LANES] {
        sums
    }
    #[inline(always)]
    fn store_vectors(v: [Self; 3], out: &mut [[f32; 4]; LANES]) {
        for l in 0..LANES {
            out[l] = [v[0].0[l], v[1].0[l], v[2].0[l], 0.0];
        }
    }
    #[inline(always)]
    unsafe fn gather(rows: *const Row, stride: usize, indices: &[u32; LANES]) -> [Self; LANES] {
        let mut out = [Self([0.0; LANES]); LANES];
        for l in 0..LANES {
            // SAFETY: the caller vouches for the index.
            let row = unsafe { &*rows.add(stride * indices[l] as usize) };
            for k in 0..LANES {
                out[k].0[l] = row.0[k];
            }
        }
        out
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::Wide;

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::*;
    use std::arch::x86_64::*;

    /// A vector register. To be used only where the processor has AVX2, and FMA when `FMA`; the shells see to that.
    #[derive(Clone, Copy)]
    pub(crate) struct Wide<const FMA: bool>(__m256);

    macro_rules! wide_operator {
        ($trait:ident, $name:ident, $instruction:ident) => {
            impl<const FMA: bool> $trait for Wide<FMA> {
                type Output = Self;
                #[inline(always)]
                fn $name(self, b: Self) -> Self {
                    // SAFETY: inlined into a shell with the features.
                    Self(unsafe { $instruction(self.0, b.0) })
                }
            }
        };
    }
    wide_operator!(Add, add, _mm256_add_ps);
    wide_operator!(Sub, sub, _mm256_sub_ps);
    wide_operator!(Mul, mul, _mm256_mul_ps);
    wide_operator!(Div, div, _mm256_div_ps);

    // SAFETY of all blocks: inlined into a shell with the features; loads and stores are of whole rows.
    impl<const FMA: bool> Lanes for Wide<FMA> {
        type Sums = [__m256d; 2];
        // SAFETY: all bits zero is the vector of zeros.
        const EMPTY: Self::Sums = unsafe { std::mem::zeroed() };
        #[inline(always)]
        fn splat(x: f32) -> Self {
            Self(unsafe { _mm256_set1_ps(x) })
        }
        #[inline(always)]
        fn load(row: &Row) -> Self {
            Self(unsafe { _mm256_load_ps(row.0.as_ptr()) })
        }
        #[inline(always)]
        fn store(self) -> Row {
            let mut row = Row::ZERO;
            unsafe { _mm256_store_ps(row.0.as_mut_ptr(), self.0) };
            row
        }
        #[inline(always)]
        fn mul_add(self, b: Self, c: Self) -> Self {
            if FMA { Self(unsafe { _mm256_fmadd_ps(self.0, b.0, c.0) }) } else { self * b + c }
        }
        #[inline(always)]
        fn max(self, b: Self) -> Self {
            Self(unsafe { _mm256_max_ps(self.0, b.0) })
        }
        #[inline(always)]
        fn min(self, b: Self) -> Self {
            Self(unsafe { _mm256_min_ps(self.0, b.0) })
        }
        #[inline(always)]
        fn sqrt(self) -> Self {
            Self(unsafe { _mm256_sqrt_ps(self.0) })
        }
        #[inline(always)]
        fn any_positive(self) -> bool {
            unsafe { _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GT_OQ>(self.0, _mm256_setzero_ps())) != 0 }
        }
        #[inline(always)]
        fn vector(self, from: Self) -> Self {
            let part = unsafe {
                let difference = _mm256_sub_epi32(_mm256_castps_si256(self.0), _mm256_castps_si256(from.0));
                Self(_mm256_cvtepi32_ps(difference))
            };
            part * Self::splat((1.0 / FRACTION) as f32)
        }
        #[inline(always)]
        fn add_to(self, sums: &mut Self::Sums) {
            unsafe {
                let low = _mm256_cvtps_pd(_mm256_castps256_ps128(self.0));
                let high = _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(self.0));
                *sums = [_mm256_add_pd(sums[0], low), _mm256_add_pd(sums[1], high)];
            }
        }
        #[inline(always)]
        fn sums(sums: Self::Sums) -> [f64; LANES] {
            let mut out = [0.0; LANES];
            unsafe {
                _mm256_storeu_pd(out.as_mut_ptr(), sums[0]);
                _mm256_storeu_pd(out.as_mut_ptr().add(4), sums[1]);
            }
            out
        }
        #[inline(always)]
        fn store_vectors([x, y, z]: [Self; 3], out: &mut [[f32; 4]; LANES]) {
            unsafe {
                let nothing = _mm256_setzero_ps();
                let (a, b) = (_mm256_unpacklo_ps(x.0, y.0), _mm256_unpackhi_ps(x.0, y.0));
                let (c, d) = (_mm256_unpacklo_ps(z.0, nothing), _mm256_unpackhi_ps(z.0, nothing));
                let pairs = [
                    _mm256_shuffle_ps::<0x44>(a, c),
                    _mm256_shuffle_ps::<0xEE>(a, c),
                    _mm256_shuffle_ps::<0x44>(b, d),
                    _mm256_shuffle_ps::<0xEE>(b, d),
                ];
                for (l, pair) in pairs.into_iter().enumerate() {
                    _mm_storeu_ps(out[l].as_mut_ptr(), _mm256_castps256_ps128(pair));
                    _mm_storeu_ps(out[l + 4].as_mut_ptr(), _mm256_extractf128_ps::<1>(pair));
                }
            }
        }
        #[inline(always)]
        unsafe fn gather(rows: *const Row, stride: usize, indices: &[u32; LANES]) -> [Self; LANES] {
            let mut out = [Self(unsafe { _mm256_setzero_ps() }); LANES];
            for half in 0..2 {
                let mut r = [unsafe { _mm256_setzero_ps() }; 4];
                for k in 0..4 {
                    // SAFETY: the caller vouches for the indices.
                    r[k] = unsafe {
                        let low = rows.add(stride * indices[k] as usize).cast::<f32>().add(4 * half);
                        let high = rows.add(stride * indices[k + 4] as usize).cast::<f32>().add(4 * half);
                        _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(_mm_load_ps(low)), _mm_load_ps(high))
                    };
                }
                unsafe {
                    let (a, b) = (_mm256_unpacklo_ps(r[0], r[1]), _mm256_unpackhi_ps(r[0], r[1]));
                    let (c, d) = (_mm256_unpacklo_ps(r[2], r[3]), _mm256_unpackhi_ps(r[2], r[3]));
                    out[4 * half] = Self(_mm256_shuffle_ps::<0x44>(a, c));
                    out[4 * half + 1] = Self(_mm256_shuffle_ps::<0xEE>(a, c));
                    out[4 * half + 2] = Self(_mm256_shuffle_ps::<0x44>(b, d));
                    out[4 * half + 3] = Self(_mm256_shuffle_ps::<0xEE>(b, d));
                }
            }
            out
        }
    }
}
