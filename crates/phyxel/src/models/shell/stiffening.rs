//! Elastic stiffness that depends on strain: cloth that locks, rubber that softens.
//!
//! With ψ₀ the energy per volume of the material as it is at small strain, s = √(2 ψ₀ / E) is the Green strain of a simple pull of that energy. The
//! material has the energy
//!
//! ```text
//! ψ = E/2 [ s² + c (s² - s₀² ln(1 + s²/s₀²)) ],   dψ = (1 + c s² / (s² + s₀²)) dψ₀
//! ```
//!
//! so that every stress is that of before times one factor, which goes from 1 to 1 + c, half of the way at s₀. Nothing is assumed of
//! isotropy: ψ₀ is any quadratic form. Stretching and bending stiffen each for itself; in bending s is the strain at √0.6 of half the
//! thickness, which makes the moment exact to first order in c.

/// How stiffness depends on strain.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Stiffening {
    /// c: rise of the stiffness at large strain, in that at small strain; 0: none, negative: it falls.
    pub rise: f64,
    /// s₀: strain at which half of it is there.
    pub strain: f64,
}

/// Square of the distance from the middle, in that of the outer side, of the strain that counts in bending: ∫z⁴ over ∫z² of the thickness.
pub(super) const BENT: f64 = 0.6;

/// Least rise that a material may have: below -8/9 it would give way under more pull.
pub const LEAST_RISE: f64 = -0.8;

impl Stiffening {
    /// Whether there is any.
    pub fn is_active(&self) -> bool {
        self.rise != 0.0
    }

    /// Factor on the stress at the square of a strain s.
    pub fn factor(&self, strain2: f64) -> f64 {
        if self.is_active() { secant(self.rise, strain2 / (self.strain * self.strain)) } else { 1.0 }
    }
}

/// Factor on the stress at x = s²/s₀².
#[inline(always)]
pub(super) fn secant(rise: f64, x: f64) -> f64 {
    1.0 + rise * (x / (1.0 + x))
}

/// Factor on the stiffness against more of the same strain at x = s²/s₀².
pub(super) fn tangent(rise: f64, x: f64) -> f64 {
    let q = x / (1.0 + x);
    1.0 + rise * (q * (3.0 - 2.0 * q))
}

/// Largest factor on the stiffness up to x = s²/s₀²: that against more of the same strain is largest, 9/8 of the rise, at x = 3.
#[inline(always)]
pub(super) fn stiffest(rise: f64, x: f64) -> f64 {
    let q = (x / (1.0 + x)).min(0.75);
    1.0 + rise.max(0.0) * (q * (3.0 - 2.0 * q))
}

/// Energy of what has the energy `plain` [J] with the stiffness of small strain and x = `per` times that.
#[inline(always)]
pub(super) fn energy(rise: f64, per: f64, plain: f64) -> f64 {
    if per > 0.0 { plain + rise * (plain - (per * plain).ln_1p() / per) } else { plain }
}

#[cfg(test)]
#[path = "stiffening_tests.rs"]
mod tests;
