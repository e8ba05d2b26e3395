//! One neighbor's work in the two passes, and its plain-array form for every machine.
#![allow(unsafe_code, reason = "the vector forms of this trait read records through unchecked pointers")]

use super::layout::{Displacement, Node, Record, Single, Split};
use super::real::Real;
use std::marker::PhantomData;

/// One neighbor's work. The methods must be inlined into a function that enables the instructions they use.
pub(crate) trait Pair: 'static {
    /// Format of pair data.
    type T: Real;
    /// Format of displacements.
    type D: Displacement;
    /// Eight values (x, kappa, q) of a point.
    type Xkq: Copy;
    /// Displacement of a point, in registers.
    type Own: Copy;
    /// Three rows of eight sums.
    type Sums: Copy;
    /// Whether products are added in one rounding.
    const FMA: bool;

    /// # Safety
    /// `from` must be readable for eight aligned values.
    unsafe fn load_xkq(from: *const Self::T) -> Self::Xkq;
    /// # Safety
    /// The CPU must have the instructions.
    unsafe fn load_displacement(from: &Self::D) -> Self::Own;
    /// Nothing summed yet.
    ///
    /// # Safety
    /// The CPU must have the instructions.
    unsafe fn zero() -> Self::Sums;
    /// `sums[r] += (u_j - u_i)[r] * w (x_j - x_i, kappa_j + kappa_i, q_j - q_i)`; `xkq_i` holds -kappa_i.
    ///
    /// # Safety
    /// `node_j` must be a valid record.
    unsafe fn stretch(
        sums: Self::Sums,
        xkq_i: Self::Xkq,
        u_i: Self::Own,
        node_j: *const Node<Self::T, Self::D>,
        w: Self::T,
    ) -> Self::Sums;
    /// `sums[r] += rows_j[r] * w (x_j - x_i, 0, q_j - q_i, 0)`, lane by lane.
    ///
    /// # Safety
    /// `record_j` must be a valid record.
    unsafe fn pull(sums: Self::Sums, xq_i: Self::Xkq, record_j: *const Record<Self::T>, w: Self::T) -> Self::Sums;
    /// Writes the three rows.
    ///
    /// # Safety
    /// `to` must be writable for 24 values.
    unsafe fn store(sums: Self::Sums, to: *mut Self::T);
    /// The sum of each row, as `((0+4)+(1+5)) + ((2+6)+(3+7))`, and 0.
    ///
    /// # Safety
    /// The CPU must have the instructions.
    unsafe fn row_sums(sums: Self::Sums) -> [Self::T; 4];
    /// Transposes eight rows of eight values.
    ///
    /// # Safety
    /// Every `from` must be readable and every `to` writable for eight values.
    #[inline(always)]
    unsafe fn transpose8(from: [*const Self::T; 8], to: [*mut Self::T; 8]) {
        for (a, b) in [(0, 0), (0, 4), (4, 0), (4, 4)] {
            // SAFETY: the caller vouches for eight values at every pointer; four are moved, `b` values on.
            unsafe {
                let from = [from[a].add(b), from[a + 1].add(b), from[a + 2].add(b), from[a + 3].add(b)];
                Self::T::transpose4(from, [to[b].add(a), to[b + 1].add(a), to[b + 2].add(a), to[b + 3].add(a)]);
            }
        }
    }
}

/// Differences of displacements rounded to `T`, in the same order of operations as the vector forms.
pub(crate) trait Difference<T: Real>: Displacement {
    fn difference(&self, other: &Self) -> [T; 3];
}
impl<T: Real> Difference<T> for Single<T> {
    #[inline(always)]
    fn difference(&self, other: &Self) -> [T; 3] {
        std::array::from_fn(|k| self.0[k] - other.0[k])
    }
}
impl Difference<f32> for Split {
    #[inline(always)]
    fn difference(&self, other: &Self) -> [f32; 3] {
        std::array::from_fn(|k| (self.high[k] - other.high[k]) + (self.low[k] - other.low[k]))
    }
}

/// Plain arrays: any machine; without `FMA` the same bits as the vector forms without `FMA`.
pub(crate) struct Portable<T, D, const FMA: bool>(PhantomData<(T, D)>);

impl<T: Real, D: Difference<T>, const FMA: bool> Pair for Portable<T, D, FMA> {
    type T = T;
    type D = D;
    type Xkq = [T; 8];
    type Own = D;
    type Sums = [[T; 8]; 3];
    const FMA: bool = FMA;

    #[inline(always)]
    unsafe fn load_xkq(from: *const T) -> [T; 8] {
        // SAFETY: the caller vouches for eight values.
        unsafe { *(from as *const [T; 8]) }
    }
    #[inline(always)]
    unsafe fn load_displacement(from: &D) -> D {
        *from
    }
    #[inline(always)]
    unsafe fn zero() -> Self::Sums {
        [[T::default(); 8]; 3]
    }
    #[inline(always)]
    unsafe fn stretch(mut sums: Self::Sums, xkq_i: [T; 8], u_i: D, node_j: *const Node<T, D>, w: T) -> Self::Sums {
        // SAFETY: the caller vouches for the record.
        let node = unsafe { &*node_j };
        let m: [T; 8] = std::array::from_fn(|l| (node.xkq[l] - xkq_i[l]) * w);
        let e = node.u.difference(&u_i);
        for r in 0..3 {
            for l in 0..8 {
                sums[r][l] = e[r].mul_add::<FMA>(m[l], sums[r][l]);
            }
        }
        sums
    }
    #[inline(always)]
    unsafe fn pull(mut sums: Self::Sums, xq_i: [T; 8], record_j: *const Record<T>, w: T) -> Self::Sums {
        // SAFETY: the caller vouches for the record.
        let record = unsafe { &*record_j };
        let m: [T; 8] = std::array::from_fn(|l| (record.xq[l] - xq_i[l]) * w);
        for r in 0..3 {
            for l in 0..8 {
                sums[r][l] = record.rows[r][l].mul_add::<FMA>(m[l], sums[r][l]);
            }
        }
        sums
    }
    #[inline(always)]
    unsafe fn store(sums: Self::Sums, to: *mut T) {
        // SAFETY: the caller vouches for 24 values.
        unsafe { *(to as *mut [[T; 8]; 3]) = sums };
    }
    #[inline(always)]
    unsafe fn row_sums(sums: Self::Sums) -> [T; 4] {
        let sum = |s: &[T; 8]| ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]));
        [sum(&sums[0]), sum(&sums[1]), sum(&sums[2]), T::default()]
    }
}
