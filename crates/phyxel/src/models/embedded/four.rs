//! Four f64 lanes, and 3x3 matrices of them: the same for four points at once.
//!
//! Plain loops over arrays, which compilers turn into vector instructions inside functions that enable them.

use glam::{DMat3, DVec3};
use std::ops::{Add, Mul, Sub};

/// Points that are done together.
pub(super) const TOGETHER: usize = 4;

/// One number of four points. `FMA`: products are added without being rounded; only where the processor can.
#[derive(Debug, Clone, Copy)]
pub(super) struct Four<const FMA: bool>(pub [f64; TOGETHER]);

/// Columns of four matrices.
pub(super) type Matrix<const FMA: bool> = [[Four<FMA>; 3]; 3];
/// Four symmetric matrices: xx, yy, zz, xy, xz, yz.
pub(super) type Symmetric<const FMA: bool> = [Four<FMA>; 6];

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

impl<const FMA: bool> Four<FMA> {
    pub const ZERO: Self = Self([0.0; TOGETHER]);

    /// The same for all.
    #[inline(always)]
    pub fn splat(x: f64) -> Self {
        Self([x; TOGETHER])
    }

    /// `self b + c`.
    #[inline(always)]
    pub fn mul_add(self, b: Self, c: Self) -> Self {
        if !FMA {
            return self * b + c;
        }
        let mut out = self;
        for l in 0..TOGETHER {
            out.0[l] = self.0[l].mul_add(b.0[l], c.0[l]);
        }
        out
    }

    /// Square root.
    #[inline(always)]
    pub fn sqrt(self) -> Self {
        let mut out = self;
        for l in 0..TOGETHER {
            out.0[l] = self.0[l].sqrt();
        }
        out
    }
}

/// One matrix of each point.
#[inline(always)]
pub(super) fn gather<const FMA: bool>(all: [&DMat3; TOGETHER]) -> Matrix<FMA> {
    let mut out = [[Four::ZERO; 3]; 3];
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
pub(super) fn matrix<const FMA: bool>(m: &Matrix<FMA>, l: usize) -> DMat3 {
    let column = |c: usize| DVec3::new(m[c][0].0[l], m[c][1].0[l], m[c][2].0[l]);
    DMat3::from_cols(column(0), column(1), column(2))
}

/// A B.
#[inline(always)]
pub(super) fn product<const FMA: bool>(a: &Matrix<FMA>, b: &Matrix<FMA>) -> Matrix<FMA> {
    let mut out = [[Four::ZERO; 3]; 3];
    for c in 0..3 {
        for r in 0..3 {
            out[c][r] = a[0][r].mul_add(b[c][0], a[1][r].mul_add(b[c][1], a[2][r] * b[c][2]));
        }
    }
    out
}

/// Bᵀ.
#[inline(always)]
pub(super) fn transposed<const FMA: bool>(b: &Matrix<FMA>) -> Matrix<FMA> {
    [[b[0][0], b[1][0], b[2][0]], [b[0][1], b[1][1], b[2][1]], [b[0][2], b[1][2], b[2][2]]]
}

/// Determinants.
#[inline(always)]
pub(super) fn determinant<const FMA: bool>([a, b, c]: &Matrix<FMA>) -> Four<FMA> {
    let cross = [b[1] * c[2] - b[2] * c[1], b[2] * c[0] - b[0] * c[2], b[0] * c[1] - b[1] * c[0]];
    dot(a, &cross)
}

/// All entries of a symmetric matrix.
#[inline(always)]
pub(super) fn full<const FMA: bool>(s: &Symmetric<FMA>) -> Matrix<FMA> {
    [[s[0], s[3], s[4]], [s[3], s[1], s[5]], [s[4], s[5], s[2]]]
}

/// a · b of two columns.
#[inline(always)]
fn dot<const FMA: bool>(a: &[Four<FMA>; 3], b: &[Four<FMA>; 3]) -> Four<FMA> {
    a[0].mul_add(b[0], a[1].mul_add(b[1], a[2] * b[2]))
}

/// Fᵀ F - 1.
#[inline(always)]
pub(super) fn green<const FMA: bool>(f: &Matrix<FMA>) -> Symmetric<FMA> {
    let one = Four::splat(1.0);
    let [a, b, c] = f;
    [dot(a, a) - one, dot(b, b) - one, dot(c, c) - one, dot(a, b), dot(a, c), dot(b, c)]
}

/// A A of a symmetric A.
#[inline(always)]
pub(super) fn square<const FMA: bool>(a: &Symmetric<FMA>) -> Symmetric<FMA> {
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
pub(super) fn double_dot<const FMA: bool>(a: &Symmetric<FMA>, b: &Symmetric<FMA>) -> Four<FMA> {
    let off = a[3].mul_add(b[3], a[4].mul_add(b[4], a[5] * b[5]));
    a[0].mul_add(b[0], a[1].mul_add(b[1], a[2].mul_add(b[2], off + off)))
}

/// Adds a number to the diagonal.
#[inline(always)]
pub(super) fn shifted<const FMA: bool>(a: &Symmetric<FMA>, by: Four<FMA>) -> Symmetric<FMA> {
    [a[0] + by, a[1] + by, a[2] + by, a[3], a[4], a[5]]
}

/// Polynomials a + b D + c D² of one symmetric matrix D: what functions of it are, for D³ is one of them (Cayley and Hamilton).
pub(super) type Polynomial<const FMA: bool> = [Four<FMA>; 3];

/// A symmetric matrix whose functions are wanted.
pub(super) struct Base<const FMA: bool> {
    pub first: Symmetric<FMA>,
    pub second: Symmetric<FMA>,
    /// D³ = i₁ D² - i₂ D + i₃.
    pub invariants: [Four<FMA>; 3],
    pub trace2: Four<FMA>,
}

impl<const FMA: bool> Base<FMA> {
    #[inline(always)]
    pub fn new(first: Symmetric<FMA>) -> Self {
        let second = square(&first);
        let [xx, yy, zz, xy, xz, yz] = first;
        let (i1, trace2) = (xx + yy + zz, second[0] + second[1] + second[2]);
        let i2 = (i1 * i1 - trace2) * Four::splat(0.5);
        let i3 = xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz);
        Self { first, second, invariants: [i1, i2, i3], trace2 }
    }

    /// D p + c.
    #[inline(always)]
    fn next(&self, p: &Polynomial<FMA>, c: f64) -> Polynomial<FMA> {
        let [i1, i2, i3] = self.invariants;
        [i3.mul_add(p[2], Four::splat(c)), p[0] - i2 * p[2], i1.mul_add(p[2], p[1])]
    }

    /// A power series.
    #[inline(always)]
    pub fn series(&self, coefficients: &[f64]) -> Polynomial<FMA> {
        let mut p = [Four::ZERO; 3];
        for c in coefficients.iter().rev() {
            p = self.next(&p, *c);
        }
        p
    }

    /// p (1 + D).
    #[inline(always)]
    pub fn times_one_and_base(&self, p: &Polynomial<FMA>) -> Polynomial<FMA> {
        let q = self.next(p, 0.0);
        [p[0] + q[0], p[1] + q[1], p[2] + q[2]]
    }

    /// p q.
    #[inline(always)]
    pub fn product(&self, p: &Polynomial<FMA>, q: &Polynomial<FMA>) -> Polynomial<FMA> {
        let high = added(&self.next(&scaled(p, q[2]), 0.0), &scaled(p, q[1]));
        added(&self.next(&high, 0.0), &scaled(p, q[0]))
    }

    /// exp p for p of norm 0.15 at most, to 1e-8.
    #[inline(always)]
    pub fn exponential(&self, p: &Polynomial<FMA>) -> Polynomial<FMA> {
        let mut sum = one_and(p, 0.2);
        for k in [4.0, 3.0, 2.0, 1.0] {
            sum = one_and(&self.product(p, &sum), 1.0 / k);
        }
        sum
    }

    /// The matrix.
    #[inline(always)]
    pub fn matrix(&self, p: &Polynomial<FMA>) -> Symmetric<FMA> {
        let mut plain = self.first;
        for k in 0..6 {
            plain[k] = p[1].mul_add(self.first[k], p[2] * self.second[k]);
        }
        shifted(&plain, p[0])
    }

    /// Its trace.
    #[inline(always)]
    pub fn trace(&self, p: &Polynomial<FMA>) -> Four<FMA> {
        p[1].mul_add(self.invariants[0], p[2].mul_add(self.trace2, p[0] * Four::splat(3.0)))
    }
}

/// p times a number.
#[inline(always)]
pub(super) fn scaled<const FMA: bool>(p: &Polynomial<FMA>, x: Four<FMA>) -> Polynomial<FMA> {
    [p[0] * x, p[1] * x, p[2] * x]
}

#[inline(always)]
fn added<const FMA: bool>(a: &Polynomial<FMA>, b: &Polynomial<FMA>) -> Polynomial<FMA> {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

/// 1 + p times a number.
#[inline(always)]
fn one_and<const FMA: bool>(p: &Polynomial<FMA>, x: f64) -> Polynomial<FMA> {
    let p = scaled(p, Four::splat(x));
    [p[0] + Four::splat(1.0), p[1], p[2]]
}
