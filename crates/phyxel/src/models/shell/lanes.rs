//! Four fibers side by side: arithmetic on four f64 at once, in plain code or, when `W`, in vector instructions of four lanes.
//!
//! Both round alike: products and sums are not fused.
#![allow(unsafe_code, reason = "vector instructions; every function is inlined into code that has looked for them")]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

/// Number of lanes.
pub(crate) const LANES: usize = 4;

/// One number of four fibers.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C, align(32))]
pub(crate) struct Lane<const W: bool>(pub [f64; LANES]);

/// One vector of four fibers.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Vector<const W: bool> {
    pub x: Lane<W>,
    pub y: Lane<W>,
    pub z: Lane<W>,
}

/// As it lies in memory.
pub(super) type Stored = Lane<false>;
/// As it lies in memory.
pub(super) type StoredVector = Vector<false>;

/// Returns the result of a vector instruction when `W`.
macro_rules! wide {
    ($w:ident, $instruction:ident($($operand:expr),*)) => {
        #[cfg(target_arch = "x86_64")]
        if $w {
            // SAFETY: lanes are `W` only in code that runs where the instructions exist (`wide_vectors`).
            return Self(unsafe { store($instruction($(load($operand)),*)) });
        }
    };
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn load(lanes: [f64; LANES]) -> __m256d {
    // SAFETY: four numbers either way.
    unsafe { std::mem::transmute(lanes) }
}
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn store(lanes: __m256d) -> [f64; LANES] {
    // SAFETY: four numbers either way.
    unsafe { std::mem::transmute(lanes) }
}

macro_rules! each {
    ($k:ident => $value:expr) => {{
        let mut out = [0.0; LANES];
        for $k in 0..LANES {
            out[$k] = $value;
        }
        Lane(out)
    }};
}

impl<const W: bool> Lane<W> {
    pub const ZERO: Self = Self([0.0; LANES]);

    #[inline(always)]
    pub fn splat(value: f64) -> Self {
        Self([value; LANES])
    }
    /// The same numbers for other arithmetic.
    #[inline(always)]
    pub fn cast<const V: bool>(self) -> Lane<V> {
        Lane(self.0)
    }
    #[inline(always)]
    pub fn sqrt(self) -> Self {
        wide!(W, _mm256_sqrt_pd(self.0));
        each!(k => self.0[k].sqrt())
    }
    #[inline(always)]
    pub fn abs(self) -> Self {
        each!(k => self.0[k].abs())
    }
    #[inline(always)]
    pub fn min(self, other: Self) -> Self {
        wide!(W, _mm256_min_pd(self.0, other.0));
        each!(k => if self.0[k] < other.0[k] { self.0[k] } else { other.0[k] })
    }
    #[inline(always)]
    pub fn max(self, other: Self) -> Self {
        wide!(W, _mm256_max_pd(self.0, other.0));
        each!(k => if self.0[k] > other.0[k] { self.0[k] } else { other.0[k] })
    }
    /// `yes` where `self` > `than`, else `no`.
    #[inline(always)]
    pub fn pick_above(self, than: Self, yes: Self, no: Self) -> Self {
        #[cfg(target_arch = "x86_64")]
        if W {
            // SAFETY: as in `wide`.
            return Self(unsafe {
                let above = _mm256_cmp_pd::<_CMP_GT_OQ>(load(self.0), load(than.0));
                store(_mm256_blendv_pd(load(no.0), load(yes.0), above))
            });
        }
        each!(k => if self.0[k] > than.0[k] { yes.0[k] } else { no.0[k] })
    }
    /// Whether `self` > `than` in all lanes.
    #[inline(always)]
    pub fn all_above(self, than: Self) -> bool {
        #[cfg(target_arch = "x86_64")]
        if W {
            // SAFETY: as in `wide`.
            return unsafe { _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_GT_OQ>(load(self.0), load(than.0))) == 15 };
        }
        let mut all = true;
        for k in 0..LANES {
            all &= self.0[k] > than.0[k];
        }
        all
    }
    /// The lanes added, in a fixed order.
    #[inline(always)]
    pub fn sum(self) -> f64 {
        let [a, b, c, d] = self.0;
        (a + b) + (c + d)
    }
    /// Smoothly from 0 at `gone` to 1 at `full`.
    #[inline(always)]
    pub fn fade(self, [full, gone]: [f64; 2]) -> Self {
        let a = (self - Self::splat(gone)) * Self::splat(1.0 / (full - gone));
        let a = a.max(Self::ZERO).min(Self::splat(1.0));
        a * a * (Self::splat(3.0) - (a + a))
    }
    /// The angle of (cos, sin) = (x, self), to a few units in the last place. Rational approximation of the arc tangent on
    /// [-tan(π/8), tan(π/8)] with the coefficients of the Cephes library.
    #[inline(always)]
    pub fn atan2(self, x: Self) -> Self {
        const P: [f64; 5] =
            [-0.8750608600031904, -16.157537187333652, -75.00855792314705, -122.88666844901361, -64.85021904942025];
        const Q: [f64; 5] =
            [24.858464901423062, 165.02700983169885, 432.88106049129027, 485.3903996359137, 194.5506571482614];
        use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};
        let (ay, ax) = (self.abs(), x.abs());
        let (low, high) = (ay.min(ax), ay.max(ax).max(Self::splat(f64::MIN_POSITIVE)));
        // tan(a) = low / high; above tan(π/8) turn by π/4.
        let steep = Self::splat(std::f64::consts::SQRT_2 - 1.0) * high;
        let above = low.pick_above(steep, low - high, low) / low.pick_above(steep, low + high, high);
        let start = low.pick_above(steep, Self::splat(FRAC_PI_4), Self::ZERO);
        let z = above * above;
        let mut p = Self::splat(P[0]);
        for c in &P[1..] {
            p = p * z + Self::splat(*c);
        }
        let mut q = z + Self::splat(Q[0]);
        for c in &Q[1..] {
            q = q * z + Self::splat(*c);
        }
        let angle = start + (above + above * (z * p / q));
        let angle = ay.pick_above(ax, Self::splat(FRAC_PI_2) - angle, angle);
        let angle = Self::ZERO.pick_above(x, Self::splat(PI) - angle, angle);
        Self::ZERO.pick_above(self, -angle, angle)
    }
}

impl<const W: bool> Add for Lane<W> {
    type Output = Self;
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        wide!(W, _mm256_add_pd(self.0, o.0));
        each!(k => self.0[k] + o.0[k])
    }
}
impl<const W: bool> Sub for Lane<W> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        wide!(W, _mm256_sub_pd(self.0, o.0));
        each!(k => self.0[k] - o.0[k])
    }
}
impl<const W: bool> Mul for Lane<W> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        wide!(W, _mm256_mul_pd(self.0, o.0));
        each!(k => self.0[k] * o.0[k])
    }
}
impl<const W: bool> Div for Lane<W> {
    type Output = Self;
    #[inline(always)]
    fn div(self, o: Self) -> Self {
        wide!(W, _mm256_div_pd(self.0, o.0));
        each!(k => self.0[k] / o.0[k])
    }
}
impl<const W: bool> Neg for Lane<W> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        each!(k => -self.0[k])
    }
}
impl<const W: bool> AddAssign for Lane<W> {
    #[inline(always)]
    fn add_assign(&mut self, o: Self) {
        *self = *self + o;
    }
}

impl<const W: bool> Vector<W> {
    /// The same numbers for other arithmetic.
    #[inline(always)]
    pub fn cast<const V: bool>(self) -> Vector<V> {
        Vector { x: self.x.cast(), y: self.y.cast(), z: self.z.cast() }
    }
    #[inline(always)]
    pub fn splat(v: glam::DVec3) -> Self {
        Self { x: Lane::splat(v.x), y: Lane::splat(v.y), z: Lane::splat(v.z) }
    }
    #[inline(always)]
    pub fn dot(self, o: Self) -> Lane<W> {
        self.x * o.x + self.y * o.y + self.z * o.z
    }
    #[inline(always)]
    pub fn cross(self, o: Self) -> Self {
        Self { x: self.y * o.z - self.z * o.y, y: self.z * o.x - self.x * o.z, z: self.x * o.y - self.y * o.x }
    }
    /// The lanes added.
    #[inline(always)]
    pub fn sum(self) -> glam::DVec3 {
        glam::DVec3::new(self.x.sum(), self.y.sum(), self.z.sum())
    }
    /// One lane.
    #[inline(always)]
    pub fn lane(&self, k: usize) -> glam::DVec3 {
        glam::DVec3::new(self.x.0[k], self.y.0[k], self.z.0[k])
    }
}

impl<const W: bool> Add for Vector<W> {
    type Output = Self;
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        Self { x: self.x + o.x, y: self.y + o.y, z: self.z + o.z }
    }
}
impl<const W: bool> Sub for Vector<W> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        Self { x: self.x - o.x, y: self.y - o.y, z: self.z - o.z }
    }
}
impl<const W: bool> Mul<Lane<W>> for Vector<W> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, o: Lane<W>) -> Self {
        Self { x: self.x * o, y: self.y * o, z: self.z * o }
    }
}
impl<const W: bool> AddAssign for Vector<W> {
    #[inline(always)]
    fn add_assign(&mut self, o: Self) {
        *self = *self + o;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arc_tangent_is_that_of_the_standard_library() {
        for i in 0..4000 {
            let angle = std::f64::consts::TAU * (f64::from(i) / 4000.0 - 0.49999);
            for r in [1e-9, 1.0, 1e6] {
                let (s, c) = (r * angle.sin(), r * angle.cos());
                let got = Stored::splat(s).atan2(Stored::splat(c)).0[3];
                assert!((got - s.atan2(c)).abs() < 1e-15 * 4.0, "{angle}: {got}");
            }
        }
        assert_eq!(Stored::ZERO.atan2(Stored::ZERO).0[0], 0.0);
        assert_eq!(Stored::ZERO.atan2(Stored::splat(2.0)).0[0], 0.0);
    }
}
