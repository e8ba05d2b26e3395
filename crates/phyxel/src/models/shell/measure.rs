//! What four fibers of one node measure, and its gradient: `fiber` in lanes.

use super::fiber::{GAUSS, GUARD_ANGLE, GUARD_SLANT, GUARD_TURN};
use super::lanes::{Lane, Vector};

/// Lengths below this count as this [m, or their product with another length].
const TINY: f64 = 1e-100;

/// Arc length of four fibers and its gradient with respect to the ends.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lengths<const W: bool> {
    pub value: Lane<W>,
    pub ends: [Vector<W>; 2],
}

/// Signed normal angle of four fibers and its gradient with respect to the ends and the normal.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Angles<const W: bool> {
    pub value: Lane<W>,
    pub ends: [Vector<W>; 2],
    pub normal: Vector<W>,
    pub guard: Lane<W>,
}

/// Four splines: knot spacings, their inverses, and the velocities of their chords.
pub(super) struct Splines<const W: bool> {
    h: [Lane<W>; 2],
    inverse: [Lane<W>; 2],
    v: [Vector<W>; 2],
    m: Vector<W>,
}

impl<const W: bool> Splines<W> {
    #[inline(always)]
    pub fn new(h1: Lane<W>, inverse: [Lane<W>; 2], d1: Vector<W>, d2: Vector<W>) -> Self {
        let v = [d1 * -inverse[0], d2 * inverse[1]];
        let m = (v[1] - v[0]) * Lane::<W>::splat(1.5);
        Self { h: [h1, Lane::<W>::splat(2.0) - h1], inverse, v, m }
    }

    #[inline(always)]
    pub fn lengths(&self) -> Lengths<W> {
        let mut value = Lane::<W>::ZERO;
        let mut sums = [Vector::<W>::default(); 2];
        let mut second = Vector::<W>::default();
        for piece in 0..2 {
            let h = self.h[piece];
            let sign = if piece == 0 { 1.0 } else { -1.0 };
            for [weight, factor] in GAUSS {
                let c = h * Lane::<W>::splat(sign * factor);
                let f = self.v[piece] + self.m * c;
                let length = f.dot(f).sqrt().max(Lane::<W>::splat(TINY));
                let part = h * Lane::<W>::splat(weight);
                value += part * length;
                let unit = f * (part / length);
                sums[piece] += unit;
                second += unit * c;
            }
        }
        let second = second * Lane::<W>::splat(1.5);
        Lengths { value, ends: [(second - sums[0]) * self.inverse[0], (sums[1] + second) * self.inverse[1]] }
    }

    /// Angles about the normal `n`, whose squared length is `n2`; `chord` is d2 - d1.
    #[inline(always)]
    pub fn angles(&self, chord: Vector<W>, n: Vector<W>, n2: Lane<W>) -> Angles<W> {
        let one = Lane::<W>::splat(1.0);
        let [h1, h2] = [self.h[0] * Lane::<W>::splat(0.25), self.h[1] * Lane::<W>::splat(0.25)];
        let t0 = self.v[0] * (one + h1) - self.v[1] * h1;
        let t1 = self.v[1] * (one + h2) - self.v[0] * h2;
        let across = n.cross(chord);
        let width2 = across.dot(across);
        let narrow = one / width2.sqrt().max(Lane::<W>::splat(TINY));
        let b = across * narrow;
        let turn = t0.cross(t1);
        let (t0b, t1b) = (t0.dot(b), t1.dot(b));
        let s = -b.dot(turn);
        let c = t0.dot(t1) - t0b * t1b;
        let value = s.atan2(c);
        let per_r2 = one / (s * s + c * c).max(Lane::<W>::splat(TINY));
        let (gs, gc) = (c * per_r2, -(s * per_r2));
        let g_t0 = (t1 - b * t1b) * gc - t1.cross(b) * gs;
        let g_t1 = (t0 - b * t0b) * gc - b.cross(t0) * gs;
        let g_b = Vector::<W>::default() - turn * gs - (t0 * t1b + t1 * t0b) * gc;
        let g_across = (g_b - b * b.dot(g_b)) * narrow;
        let g_chord = g_across.cross(n);
        let g1 = (g_t0 * (one + h1) - g_t1 * h2) * self.inverse[0];
        let g2 = (g_t1 * (one + h2) - g_t0 * h1) * self.inverse[1];
        let spans = [n2 * chord.dot(chord), t0.dot(t0), t1.dot(t1)];
        let guard = guard(value.abs(), [width2, t0b * t0b, t1b * t1b], spans);
        Angles {
            value,
            ends: [Vector::<W>::default() - g1 - g_chord, g2 + g_chord],
            normal: chord.cross(g_across),
            guard,
        }
    }
}

/// Part of the bending energy that counts. `seen` are the squares of the normal across the chord and of the end tangents aside,
/// `spans` what they are parts of.
#[inline(always)]
fn guard<const W: bool>(angle: Lane<W>, seen: [Lane<W>; 3], spans: [Lane<W>; 3]) -> Lane<W> {
    const SLANT: f64 = GUARD_SLANT[0] * GUARD_SLANT[0];
    const ASIDE: f64 = 1.0 - GUARD_TURN[0] * GUARD_TURN[0];
    // Nearly always all of it does, and that is seen without a root.
    let healthy = seen[0].all_above(spans[0] * Lane::<W>::splat(SLANT))
        && (spans[1] * Lane::<W>::splat(ASIDE)).all_above(seen[1])
        && (spans[2] * Lane::<W>::splat(ASIDE)).all_above(seen[2])
        && Lane::<W>::splat(GUARD_ANGLE[0]).all_above(angle);
    if healthy { Lane::<W>::splat(1.0) } else { faded(angle, seen, spans) }
}

#[cold]
fn faded<const W: bool>(angle: Lane<W>, seen: [Lane<W>; 3], spans: [Lane<W>; 3]) -> Lane<W> {
    let ratio = |k: usize| seen[k] / spans[k].max(Lane::<W>::splat(TINY));
    let kept2 = (Lane::<W>::splat(1.0) - ratio(1).max(ratio(2))).max(Lane::<W>::ZERO);
    ratio(0).sqrt().fade(GUARD_SLANT) * kept2.sqrt().fade(GUARD_TURN) * angle.fade(GUARD_ANGLE)
}
