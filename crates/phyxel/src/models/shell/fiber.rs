//! One fiber: the natural cubic spline through three nodes, its length, its signed normal angle, and their gradients
//! [WSG05] sec. 3.
//!
//! Everything is written in the two vectors from the middle node to the ends, `d1` and `d2`: the gradient with respect to the
//! middle node is minus the sum of the two others.
//!
//! Differs from [WSG05]: knots in proportion to the chords at rest instead of uniform ones (on uneven spacing uniform knots bend
//! the spline back on itself), Gauss points instead of the left ends of intervals (eqs. 33-34 depend on the direction in which
//! the fiber is walked), and instead of the angle of eq. 38, whose sign flips on flat sheets, the angle in the plane of the
//! normal and the chord, which is smooth through zero and has no singular gradient there.

use glam::DVec3;

/// Gauss points of one piece: weight, and the factor of the second derivative in f' there.
pub(super) const GAUSS: [[f64; 2]; 3] = {
    // tau = 1/2 - g, 1/2, 1/2 + g with g = sqrt(0.15); factor tau^2/2 - 1/6.
    const G: f64 = 0.387_298_334_620_741_7;
    const fn factor(tau: f64) -> f64 {
        0.5 * tau * tau - 1.0 / 6.0
    }
    [[5.0 / 18.0, factor(0.5 - G)], [8.0 / 18.0, factor(0.5)], [5.0 / 18.0, factor(0.5 + G)]]
};

/// Turn of the bending guard: full and gone sine between normal and chord.
pub(super) const GUARD_SLANT: [f64; 2] = [0.4, 0.2];
/// Full and gone part of an end tangent that lies in the plane of normal and chord.
pub(super) const GUARD_TURN: [f64; 2] = [0.5, 0.25];
/// Full and gone angle [rad].
pub(super) const GUARD_ANGLE: [f64; 2] = [2.2, 2.7];

/// Knot spacings of the two pieces of a fiber; they sum to 2.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Knots {
    /// From the first end to the middle.
    pub h1: f64,
    /// From the middle to the second end.
    pub h2: f64,
}

/// A number of a fiber and its gradient.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Length {
    /// Arc length [m].
    pub value: f64,
    /// Gradient with respect to the ends.
    pub ends: [DVec3; 2],
}

/// The signed normal angle of a fiber and its gradient.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Angle {
    /// Angle between the end tangents in the plane of normal and chord, positive when the fiber bends towards the normal [rad].
    pub value: f64,
    /// Gradient with respect to the ends [rad/m].
    pub ends: [DVec3; 2],
    /// Gradient with respect to the normal, which need not be of unit length.
    pub normal: DVec3,
    /// Part of the bending energy that counts: 1 in healthy states, 0 where the angle is about to jump.
    pub guard: f64,
}

impl Knots {
    /// The knots of [WSG05].
    pub const UNIFORM: Self = Self { h1: 1.0, h2: 1.0 };

    /// In proportion to the chords; uniform where these have no length.
    pub fn of_chords(d1: DVec3, d2: DVec3) -> Self {
        let (a, b) = (d1.length(), d2.length());
        match a > 0.0 && b > 0.0 && (a + b).is_finite() {
            true => Self { h1: 2.0 * a / (a + b), h2: 2.0 * b / (a + b) },
            false => Self::UNIFORM,
        }
    }

    /// Chord velocities and second derivative at the middle.
    fn velocities(self, d1: DVec3, d2: DVec3) -> (DVec3, DVec3, DVec3) {
        let (v1, v2) = (-d1 / self.h1, d2 / self.h2);
        (v1, v2, 1.5 * (v2 - v1))
    }

    /// Tangents at the two ends.
    fn end_tangents(self, d1: DVec3, d2: DVec3) -> (DVec3, DVec3) {
        let (v1, v2, m) = self.velocities(d1, d2);
        (v1 - m * (self.h1 / 6.0), v2 + m * (self.h2 / 6.0))
    }

    /// Arc length and its gradient.
    pub fn length(self, d1: DVec3, d2: DVec3) -> Length {
        let (v1, v2, m) = self.velocities(d1, d2);
        let (mut value, mut g1, mut g2, mut gm) = (0.0, DVec3::ZERO, DVec3::ZERO, DVec3::ZERO);
        for [weight, factor] in GAUSS {
            for (h, v, sum, sign) in [(self.h1, v1, &mut g1, 1.0), (self.h2, v2, &mut g2, -1.0)] {
                let c = sign * h * factor;
                let f = v + c * m;
                let length = f.length();
                let unit = if length > 0.0 { f * (h * weight / length) } else { DVec3::ZERO };
                value += h * weight * length;
                *sum += unit;
                gm += c * unit;
            }
        }
        Length { value, ends: [-(g1 - 1.5 * gm) / self.h1, (g2 + 1.5 * gm) / self.h2] }
    }

    /// Signed normal angle about the normal `n` (of any length) and its gradient; zero where it has no meaning.
    pub fn angle(self, d1: DVec3, d2: DVec3, n: DVec3) -> Angle {
        let (t0, t1) = self.end_tangents(d1, d2);
        let chord = d2 - d1;
        let across = n.cross(chord);
        let width = across.length();
        if width.is_nan() || width <= 0.0 {
            return Angle::default();
        }
        let b = across / width;
        let turn = t0.cross(t1);
        let (t0b, t1b) = (t0.dot(b), t1.dot(b));
        let (s, c) = (-b.dot(turn), t0.dot(t1) - t0b * t1b);
        let value = s.atan2(c);
        let r2 = s * s + c * c;
        if r2.is_nan() || r2 <= 0.0 {
            return Angle::default();
        }
        let (gs, gc) = (c / r2, -s / r2);
        let g_t0 = -gs * t1.cross(b) + gc * (t1 - t1b * b);
        let g_t1 = -gs * b.cross(t0) + gc * (t0 - t0b * b);
        let g_b = -gs * turn - gc * (t0 * t1b + t1 * t0b);
        let g_across = (g_b - b * b.dot(g_b)) / width;
        let g_chord = g_across.cross(n);
        let g1 = g_t0 * (1.0 + 0.25 * self.h1) - g_t1 * (0.25 * self.h2);
        let g2 = g_t1 * (1.0 + 0.25 * self.h2) - g_t0 * (0.25 * self.h1);
        Angle {
            value,
            ends: [-g1 / self.h1 - g_chord, g2 / self.h2 + g_chord],
            normal: chord.cross(g_across),
            guard: self.guard(d1, d2, n, value),
        }
    }

    /// Part of the bending energy that counts at an angle of `theta` [rad]: it fades before an end tangent turns across the chord
    /// inside the surface, before the normal falls onto the chord, and before the angle wraps around.
    pub fn guard(self, d1: DVec3, d2: DVec3, n: DVec3, theta: f64) -> f64 {
        let (t0, t1) = self.end_tangents(d1, d2);
        let chord = d2 - d1;
        let across = n.cross(chord);
        let lengths = n.length() * chord.length();
        if lengths.is_nan() || lengths <= 0.0 {
            return 0.0;
        }
        let slant = across.length() / lengths;
        let b = across.normalize_or_zero();
        let kept = |t: DVec3| (1.0 - t.dot(b).powi(2) / t.length_squared().max(f64::MIN_POSITIVE)).max(0.0).sqrt();
        fade(slant, GUARD_SLANT) * fade(kept(t0).min(kept(t1)), GUARD_TURN) * fade(theta.abs(), GUARD_ANGLE)
    }
}

/// Smoothly from 0 at `gone` to 1 at `full`.
fn fade(value: f64, [full, gone]: [f64; 2]) -> f64 {
    let a = ((value - gone) / (full - gone)).clamp(0.0, 1.0);
    a * a * (3.0 - 2.0 * a)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn gradients_are_the_slopes() {
        for id in 0..200 {
            let mut random = Random::new(1, id);
            let wobble = 0.4 * random.unit();
            let d1 = -DVec3::X + wobble * random.in_cube();
            let d2 = random.between(0.5, 2.0) * DVec3::X + wobble * random.in_cube();
            let n = DVec3::Z * random.between(0.5, 3.0) + wobble * random.in_cube();
            let knots = Knots::of_chords(d1, d2);
            let (length, angle) = (knots.length(d1, d2), knots.angle(d1, d2, n));
            let step = 1e-6;
            for axis in DVec3::AXES {
                let slope = |f: &dyn Fn(DVec3) -> f64| (f(axis * step) - f(-axis * step)) / (2.0 * step);
                let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-8 * (1.0 + a.abs()), "{a} {b}");
                near(length.ends[0].dot(axis), slope(&|o| knots.length(d1 + o, d2).value));
                near(length.ends[1].dot(axis), slope(&|o| knots.length(d1, d2 + o).value));
                near(angle.ends[0].dot(axis), slope(&|o| knots.angle(d1 + o, d2, n).value));
                near(angle.ends[1].dot(axis), slope(&|o| knots.angle(d1, d2 + o, n).value));
                near(angle.normal.dot(axis), slope(&|o| knots.angle(d1, d2, n + o).value));
            }
        }
    }

    #[test]
    fn a_gentle_arc_has_three_quarters_of_its_turn() {
        // The natural spline is straight at its ends, whatever the ratio of its chords.
        let arc = |s: f64| DVec3::new(s.sin(), 0.0, 1.0 - s.cos());
        for (a, b) in [(0.05, 0.05), (0.02, 0.06)] {
            let (d1, d2) = (arc(-a), arc(b));
            let angle = Knots::of_chords(d1, d2).angle(d1, d2, DVec3::Z);
            assert!((angle.value / (a + b) - 0.75).abs() < 1e-3, "{}", angle.value / (a + b));
            assert_eq!(angle.guard, 1.0);
        }
    }

    #[test]
    fn degenerate_fibers_have_no_angle_and_finite_gradients() {
        let cases = [
            (DVec3::ZERO, DVec3::ZERO, DVec3::Z),
            (DVec3::X, DVec3::X, DVec3::Z),
            (-DVec3::X, DVec3::X, DVec3::X),
            (-DVec3::X, DVec3::X, DVec3::ZERO),
        ];
        for (d1, d2, n) in cases {
            let knots = Knots::of_chords(d1, d2);
            let (length, angle) = (knots.length(d1, d2), knots.angle(d1, d2, n));
            assert!(length.value.is_finite() && length.ends.iter().all(|g| g.is_finite()));
            assert_eq!((angle.value, angle.guard), (0.0, 0.0));
        }
    }
}
