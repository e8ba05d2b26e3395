//! Four f64 lanes, and 3x3 matrices of them or of eight f32 lanes: the same for some points at once.
//!
//! Plain loops over arrays, which compilers turn into vector instructions inside functions that enable them.

use crate::models::mls::flow::lanes::Lanes;
use glam::{DMat3, DVec3};
use std::ops::{Add, Mul, Sub};

/// Points that are done together.
pub(super) const TOGETHER: usize = 4;

/// One number of four points. `FMA`: products are added without being rounded; only where the processor can.
#[derive(Debug, Clone, Copy)]
pub(super) struct Four<const FMA: bool>(pub [f64; TOGETHER]);

/// Columns of a matrix of each point.
pub(super) type Matrix<N> = [[N; 3]; 3];
/// A symmetric matrix of each point: xx, yy, zz, xy, xz, yz.
pub(super) type Symmetric<N> = [N; 6];

/// One number of some points.
pub(super) trait Number: Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> {
    /// The same for all.
    fn splat(x: f64) -> Self;
    /// `self b + c`.
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
}

macro_rules! operator {
    ($trait:ident, $name:ident, $op:tt) => {
        impl<const FMA: bool> $trait for Four<FMA> {
            type Output = Self;
            #[inline(always)]
            fn $name(self, b: Self) -> Self {
                let mut out = self;
                for l in 0..TOGETHER {
                    out.0[l] = self.0[l] $op b.0[l];
                }
                out
            }
        }
    };
}
operator!(Add, add, +);
operator!(Sub, sub, -);
operator!(Mul, mul, *);

impl<const FMA: bool> Number for Four<FMA> {
    #[inline(always)]
    fn splat(x: f64) -> Self {
        Self([x; TOGETHER])
    }

    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        if !FMA {
            return self * b + c;
        }
        let mut out = self;
        for l in 0..TOGETHER {
            out.0[l] = self.0[l].mul_add(b.0[l], c.0[l]);
        }
        out
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        let mut out = self;
        for l in 0..TOGETHER {
            out.0[l] = self.0[l].sqrt();
        }
        out
    }
}

impl<L: Lanes> Number for L {
    #[inline(always)]
    fn splat(x: f64) -> Self {
        <L as Lanes>::splat(x as f32)
    }

    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        Lanes::mul_add(self, b, c)
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        Lanes::sqrt(self)
    }
}

/// One matrix of each point.
#[inline(always)]
pub(super) fn gather<const FMA: bool>(all: [&DMat3; TOGETHER]) -> Matrix<Four<FMA>> {
    let mut out = [[Four::splat(0.0); 3]; 3];
    for l in 0..TOGETHER {
        let m = all[l];
        for (c, column) in [m.x_axis, m.y_axis, m.z_axis].into_iter().enumerate() {
            out[c][0].0[l] = column.x;
            out[c][1].0[l] = column.y;
            out[c][2].0[l] = column.z;
        }
    }
    out
}

/// The matrix of one point.
#[inline(always)]
pub(super) fn matrix<const FMA: bool>(m: &Matrix<Four<FMA>>, l: usize) -> DMat3 {
    let column = |c: usize| DVec3::new(m[c][0].0[l], m[c][1].0[l], m[c][2].0[l]);
    DMat3::from_cols(column(0), column(1), column(2))
}

/// A B.
#[inline(always)]
pub(super) fn product<N: Number>(a: &Matrix<N>, b: &Matrix<N>) -> Matrix<N> {
    let mut out = [[N::splat(0.0); 3]; 3];
    for c in 0..3 {
        for r in 0..3 {
            out[c][r] = a[0][r].mul_add(b[c][0], a[1][r].mul_add(b[c][1], a[2][r] * b[c][2]));
        }
    }
    out
}

/// Bᵀ.
#[inline(always)]
pub(super) fn transposed<N: Number>(b: &Matrix<N>) -> Matrix<N> {
    [[b[0][0], b[1][0], b[2][0]], [b[0][1], b[1][1], b[2][1]], [b[0][2], b[1][2], b[2][2]]]
}

/// Determinants.
#[inline(always)]
pub(super) fn determinant<N: Number>([a, b, c]: &Matrix<N>) -> N {
    let cross = [b[1] * c[2] - b[2] * c[1], b[2] * c[0] - b[0] * c[2], b[0] * c[1] - b[1] * c[0]];
    dot(a, &cross)
}

/// All entries of a symmetric matrix.
#[inline(always)]
pub(super) fn full<N: Number>(s: &Symmetric<N>) -> Matrix<N> {
    [[s[0], s[3], s[4]], [s[3], s[1], s[5]], [s[4], s[5], s[2]]]
}

/// a · b of two columns.
#[inline(always)]
fn dot<N: Number>(a: &[N; 3], b: &[N; 3]) -> N {
    a[0].mul_add(b[0], a[1].mul_add(b[1], a[2] * b[2]))
}

/// Fᵀ F - 1.
#[inline(always)]
pub(super) fn green<N: Number>(f: &Matrix<N>) -> Symmetric<N> {
    let one = N::splat(1.0);
    let [a, b, c] = f;
    [dot(a, a) - one, dot(b, b) - one, dot(c, c) - one, dot(a, b), dot(a, c), dot(b, c)]
}

/// A A of a symmetric A.
#[inline(always)]
pub(super) fn square<N: Number>(a: &Symmetric<N>) -> Symmetric<N> {
    let [xx, yy, zz, xy, xz, yz] = *a;
    [
        xx.mul_add(xx, xy.mul_add(xy, xz * xz)),
        xy.mul_add(xy, yy.mul_add(yy, yz * yz)),
        xz.mul_add(xz, yz.mul_add(yz, zz * zz)),
        xx.mul_add(xy, xy.mul_add(yy, xz * yz)),
        xx.mul_add(xz, xy.mul_add(yz, xz * zz)),
        xy.mul_add(xz, yy.mul_add(yz, yz * zz)),
    ]
}

/// A : B.
#[inline(always)]
pub(super) fn double_dot<N: Number>(a: &Symmetric<N>, b: &Symmetric<N>) -> N {
    let off = a[3].mul_add(b[3], a[4].mul_add(b[4], a[5] * b[5]));
    a[0].mul_add(b[0], a[1].mul_add(b[1], a[2].mul_add(b[2], off + off)))
}

/// Adds a number to the diagonal.
#[inline(always)]
pub(super) fn shifted<N: Number>(a: &Symmetric<N>, by: N) -> Symmetric<N> {
    [a[0] + by, a[1] + by, a[2] + by, a[3], a[4], a[5]]
}

/// Polynomials a + b D + c D² of one symmetric matrix D: what functions of it are, for D³ is one of them (Cayley and Hamilton).
pub(super) type Polynomial<N> = [N; 3];

/// A symmetric matrix whose functions are wanted.
pub(super) struct Base<N: Number> {
    pub first: Symmetric<N>,
    pub second: Symmetric<N>,
    /// D³ = i₁ D² - i₂ D + i₃.
    pub invariants: [N; 3],
    pub trace2: N,
}

impl<N: Number> Base<N> {
    #[inline(always)]
    pub fn new(first: Symmetric<N>) -> Self {
        let second = square(&first);
        let [xx, yy, zz, xy, xz, yz] = first;
        let (i1, trace2) = (xx + yy + zz, second[0] + second[1] + second[2]);
        let i2 = (i1 * i1 - trace2) * N::splat(0.5);
        let i3 = xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz);
        Self { first, second, invariants: [i1, i2, i3], trace2 }
    }

    /// D p + c.
    #[inline(always)]
    fn next(&self, p: &Polynomial<N>, c: f64) -> Polynomial<N> {
        let [i1, i2, i3] = self.invariants;
        [i3.mul_add(p[2], N::splat(c)), p[0] - i2 * p[2], i1.mul_add(p[2], p[1])]
    }

    /// A power series.
    #[inline(always)]
    pub fn series(&self, coefficients: &[f64]) -> Polynomial<N> {
        let mut p = [N::splat(0.0); 3];
        for c in coefficients.iter().rev() {
            p = self.next(&p, *c);
        }
        p
    }

    /// p (1 + D).
    #[inline(always)]
    pub fn times_one_and_base(&self, p: &Polynomial<N>) -> Polynomial<N> {
        let q = self.next(p, 0.0);
        [p[0] + q[0], p[1] + q[1], p[2] + q[2]]
    }

    /// p q.
    #[inline(always)]
    pub fn product(&self, p: &Polynomial<N>, q: &Polynomial<N>) -> Polynomial<N> {
        let high = added(&self.next(&scaled(p, q[2]), 0.0), &scaled(p, q[1]));
        added(&self.next(&high, 0.0), &scaled(p, q[0]))
    }

    /// exp p for p of norm 0.15 at most, to 1e-8.
    #[inline(always)]
    pub fn exponential(&self, p: &Polynomial<N>) -> Polynomial<N> {
        let mut sum = one_and(p, 0.2);
        for k in [4.0, 3.0, 2.0, 1.0] {
            sum = one_and(&self.product(p, &sum), 1.0 / k);
        }
        sum
    }

    /// The matrix.
    #[inline(always)]
    pub fn matrix(&self, p: &Polynomial<N>) -> Symmetric<N> {
        let mut plain = self.first;
        for k in 0..6 {
            plain[k] = p[1].mul_add(self.first[k], p[2] * self.second[k]);
        }
        shifted(&plain, p[0])
    }

    /// Its trace.
    #[inline(always)]
    pub fn trace(&self, p: &Polynomial<N>) -> N {
        p[1].mul_add(self.invariants[0], p[2].mul_add(self.trace2, p[0] * N::splat(3.0)))
    }
}

/// p times a number.
#[inline(always)]
pub(super) fn scaled<N: Number>(p: &Polynomial<N>, x: N) -> Polynomial<N> {
    [p[0] * x, p[1] * x, p[2] * x]
}

#[inline(always)]
fn added<N: Number>(a: &Polynomial<N>, b: &Polynomial<N>) -> Polynomial<N> {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

/// 1 + p times a number.
#[inline(always)]
fn one_and<N: Number>(p: &Polynomial<N>, x: f64) -> Polynomial<N> {
    let p = scaled(p, N::splat(x));
    [p[0] + N::splat(1.0), p[1], p[2]]
}
