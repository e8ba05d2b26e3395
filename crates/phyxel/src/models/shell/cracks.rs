//! Cracks as chains of small discs in the shape at rest, and the tips at which they grow [WSG05] sec. 7.2.
//!
//! Two nodes are separated when the straight line between their rest positions passes through a disc. Differs from [WSG05]: a
//! disc does not stand at a node wherever a fiber broke, but reaches from the tip of a crack to its next tip, a little beyond
//! both. Discs at nodes leave gaps through which the halves still hang together, and slivers where two lie beside each other;
//! a chain has neither.

use glam::DVec3;

/// Radius of a disc over half of its piece of a crack: neighbors in a chain overlap.
const OVERLAP: f64 = 1.15;

/// A disc that separates.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Disc {
    /// Center [m].
    pub center: DVec3,
    /// Unit normal.
    pub normal: DVec3,
    /// Radius [m].
    pub radius: f64,
}

impl Disc {
    /// Whether the line from `a` to `b` passes through it; points in its plane lie on the side of the normal.
    pub fn separates(&self, a: DVec3, b: DVec3) -> bool {
        let (from, to) = ((a - self.center).dot(self.normal), (b - self.center).dot(self.normal));
        if (from >= 0.0) == (to >= 0.0) {
            return false;
        }
        let hit = a + (b - a) * (from / (from - to));
        hit.distance_squared(self.center) <= self.radius * self.radius
    }
}

/// A straight piece of a crack, at rest.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Piece {
    /// Where it begins [m].
    pub from: DVec3,
    /// Where it ends [m].
    pub to: DVec3,
    /// Unit normal of the surface.
    pub up: DVec3,
    /// When it opened [s].
    pub time: f64,
    /// What separates.
    pub disc: Disc,
}

impl Piece {
    /// From one place on a surface to another.
    pub fn new(from: DVec3, to: DVec3, up: DVec3, time: f64) -> Self {
        let along = to - from;
        let normal = along.cross(up).normalize_or(along.any_orthonormal_vector());
        let disc = Disc { center: 0.5 * (from + to), normal, radius: 0.5 * OVERLAP * along.length() };
        Self { from, to, up, time, disc }
    }

    /// Unit vector along it.
    pub fn direction(&self) -> DVec3 {
        (self.to - self.from).normalize_or_zero()
    }

    /// The place on it nearest to `p`.
    pub fn nearest(&self, p: DVec3) -> DVec3 {
        let along = self.to - self.from;
        let part = (p - self.from).dot(along) / along.length_squared().max(f64::MIN_POSITIVE);
        self.from + along * part.clamp(0.0, 1.0)
    }

    /// As numbers.
    pub fn numbers(&self) -> [f64; 10] {
        let [a, b, c] = [self.from, self.to, self.up].map(|v| v.to_array());
        [a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2], self.time]
    }

    /// From `numbers`.
    pub fn from_numbers(n: &[f64; 10]) -> Self {
        let v = |k: usize| DVec3::new(n[k], n[k + 1], n[k + 2]);
        Self::new(v(0), v(3), v(6), n[9])
    }
}

/// Where a crack grows, at rest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tip {
    /// Place [m].
    pub at: DVec3,
    /// Unit direction of growth.
    pub direction: DVec3,
    /// Not before this time [s].
    pub ready: f64,
    /// Its newest pieces, newest first; `NONE` where there are fewer.
    pub recent: [u32; 3],
    /// Whether it still grows: not when it has come to an edge or to another crack.
    pub alive: bool,
}

/// No piece.
pub const NONE: u32 = u32::MAX;

impl Tip {
    /// As numbers.
    pub fn numbers(&self) -> [f64; 11] {
        let ([a, d], r) = ([self.at, self.direction].map(|v| v.to_array()), self.recent.map(f64::from));
        [a[0], a[1], a[2], d[0], d[1], d[2], self.ready, r[0], r[1], r[2], f64::from(u8::from(self.alive))]
    }

    /// From `numbers`.
    pub fn from_numbers(n: &[f64; 11]) -> Self {
        Self {
            at: DVec3::new(n[0], n[1], n[2]),
            direction: DVec3::new(n[3], n[4], n[5]),
            ready: n[6],
            recent: [n[7], n[8], n[9]].map(|x| x as u32),
            alive: n[10] != 0.0,
        }
    }
}

/// What happened when a crack opened or grew.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CrackEvent {
    /// Time [s].
    pub time: f64,
    /// Number of the body in the world.
    pub body: usize,
    /// Where it is now [m].
    pub place: DVec3,
    /// Where that is at rest [m].
    pub rest: DVec3,
    /// Unit direction in which it grew, at rest.
    pub direction: DVec3,
    /// Length of the new piece at rest [m].
    pub length: f64,
    /// Whether it is a new crack, and not one that grew.
    pub begins: bool,
    /// Whether bending broke it, and not tension.
    pub bending: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_has_no_gap_at_its_joints() {
        let up = DVec3::Y;
        let corners = [DVec3::ZERO, DVec3::X, DVec3::new(1.7, 0.0, 0.7), DVec3::new(1.9, 0.0, 1.6)];
        let chain: Vec<Piece> = corners.windows(2).map(|w| Piece::new(w[0], w[1], up, 0.0)).collect();
        let separated = |a: DVec3, b: DVec3| chain.iter().any(|p| p.disc.separates(a, b));
        for w in corners.windows(2).take(2) {
            let across = (w[1] - w[0]).cross(up).normalize();
            for height in [-0.2, 0.0, 0.2] {
                for aside in [-0.01, 0.0, 0.01] {
                    let at = w[1] + height * up + aside * (w[1] - w[0]);
                    assert!(separated(at + 0.8 * across, at - 0.8 * across));
                }
            }
        }
        assert!(!separated(DVec3::new(-0.2, 0.0, 1.0), DVec3::new(-0.2, 0.0, -1.0)));
    }

    #[test]
    fn pieces_and_tips_survive_as_numbers() {
        let piece = Piece::new(DVec3::X, DVec3::new(2.0, 0.1, 0.3), DVec3::Y, 0.25);
        assert_eq!(Piece::from_numbers(&piece.numbers()), piece);
        let tip = Tip { at: DVec3::X, direction: DVec3::Z, ready: 0.5, recent: [3, 1, NONE], alive: true };
        assert_eq!(Tip::from_numbers(&tip.numbers()), tip);
    }
}
