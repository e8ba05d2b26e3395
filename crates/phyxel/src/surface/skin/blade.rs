//! A straight piece of a crack as a blade that stands on the surface at rest, and what it hides.

use crate::models::shell::cracks::Piece;
use glam::DVec3;

/// How far a blade reaches above and below the surface, in its length.
const HEIGHT: f64 = 0.75;
/// How far a blade reaches beyond a joint with the next one, in its length: blades at an angle leave no gap.
const JOINT: f64 = 0.002;
/// How far beside a joint ways lead around it, in its length: farther than what sticks out there.
const BESIDE: f64 = 0.01;
/// How much shorter it is at a tip, in its length: what just passes the tip is not hidden.
const TIP: f64 = 1e-6;

/// One piece of a crack at rest.
#[derive(Debug, Clone, Copy)]
pub(super) struct Blade {
    /// Where it begins [m].
    pub from: DVec3,
    /// Length [m].
    pub length: f64,
    /// Unit normal of the surface there.
    pub up: DVec3,
    along: DVec3,
    across: DVec3,
    /// Unit vector at right angles to its length in its plane, along the normal of the surface.
    pub high: DVec3,
    /// What it covers along its length [m].
    covers: [f64; 2],
    /// How that changes with height: where blades of different lean meet, they share an edge.
    slants: [f64; 2],
}

impl Blade {
    /// None for a piece without length.
    pub fn new(piece: &Piece) -> Option<Self> {
        let way = piece.to - piece.from;
        let along = way.try_normalize()?;
        let (across, length) = (piece.disc.normal, way.length());
        let high = across.cross(along);
        Some(Self {
            from: piece.from,
            length,
            up: piece.up,
            along,
            across,
            high,
            covers: [0.0, length],
            slants: [0.0; 2],
        })
    }

    /// The same with its ends: beyond them at joints, not quite to them at tips; `edges` are the directions in which it ends there.
    pub fn ending(self, tips: [bool; 2], edges: [DVec3; 2]) -> Self {
        let more = tips.map(|tip| self.length * if tip { -TIP } else { JOINT });
        let slant = |edge: DVec3| edge.dot(self.along) / edge.dot(self.high).max(0.1 * edge.length());
        let slants = edges.map(|edge| if edge == DVec3::ZERO { 0.0 } else { slant(edge) });
        Self { covers: [-more[0], self.length + more[1]], slants, ..self }
    }

    /// Places on both sides of one of its ends around which ways lead [m].
    pub fn beside(&self, end: DVec3) -> [DVec3; 2] {
        [end + BESIDE * self.length * self.across, end - BESIDE * self.length * self.across]
    }

    /// Its middle [m].
    pub fn middle(&self) -> DVec3 {
        self.from + 0.5 * self.length * self.along
    }

    /// Distance from its plane [m], with a sign for the side.
    pub fn side(&self, p: DVec3) -> f64 {
        self.across.dot(p - self.from)
    }

    /// Whether a place in its plane is on it, or beyond its ends by at most `slack` [m].
    pub fn spans(&self, p: DVec3, slack: f64) -> bool {
        let (d, [first, last]) = (p - self.from, self.covers);
        let (s, height) = (d.dot(self.along), d.dot(self.high));
        let beyond = s < first + height * self.slants[0] - slack || s > last + height * self.slants[1] + slack;
        !beyond && height.abs() <= HEIGHT * self.length
    }

    /// Whether it stands between two places.
    pub fn hides(&self, a: DVec3, b: DVec3) -> bool {
        let (from, to) = (self.side(a), self.side(b));
        (from >= 0.0) != (to >= 0.0) && self.spans(a + (b - a) * (from / (from - to)), 0.0)
    }
}

/// All blades of a body, and the places around which ways lead: tips, and both sides of every joint.
#[derive(Debug, Clone, Default)]
pub(super) struct Sight {
    pub blades: Vec<Blade>,
    pub corners: Vec<DVec3>,
}

impl Sight {
    /// What may matter within `reach` [m] of a place.
    pub fn near(&self, p: DVec3, reach: f64) -> Self {
        let close = |at: DVec3, more: f64| at.distance_squared(p) <= (reach + more) * (reach + more);
        Self {
            blades: self.blades.iter().filter(|b| close(b.middle(), b.length)).copied().collect(),
            corners: self.corners.iter().filter(|t| close(**t, 0.0)).copied().collect(),
        }
    }

    fn hides(&self, a: DVec3, b: DVec3) -> bool {
        self.blades.iter().any(|blade| blade.hides(a, b))
    }

    /// Squared way [m²] from `p`, seen from `eye` beside it, to `x`: straight, or around one corner where a crack is between; None:
    /// no way. It changes smoothly around a tip, so that a crack opens from its tip on without a step (the diffraction of [OFTB96]).
    pub fn way(&self, p: DVec3, eye: DVec3, x: DVec3) -> Option<f64> {
        if !self.hides(eye, x) {
            return Some(p.distance_squared(x));
        }
        let around = |t: &DVec3| {
            let free = !self.hides(eye, *t) && !self.hides(*t, x);
            free.then(|| p.distance(*t) + t.distance(x))
        };
        let way = self.corners.iter().filter_map(around).fold(f64::INFINITY, f64::min);
        way.is_finite().then_some(way * way)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_lead_around_tips_and_not_through_joints() {
        let corners = [DVec3::ZERO, DVec3::X, DVec3::new(2.0, 0.0, 0.4)];
        let pieces = corners.windows(2).map(|w| Piece::new(w[0], w[1], DVec3::Y, 0.0));
        let blades: Vec<Blade> = pieces.map(|p| Blade::new(&p).unwrap()).collect();
        let blades =
            vec![blades[0].ending([true, false], [DVec3::Y; 2]), blades[1].ending([false, true], [DVec3::Y; 2])];
        let sight = Sight { blades, corners: vec![corners[0], corners[2]] };
        let (above, below) = (DVec3::new(0.5, 0.0, 0.5), DVec3::new(0.5, 0.0, -0.5));
        let way = sight.way(above, above, below).unwrap();
        assert!((way - 2.0).abs() < 1e-9, "{way}");
        // At the joint there is no gap, at whatever height.
        for height in [-0.1, 0.0, 0.1] {
            let [a, b] = [0.3, -0.3].map(|z| DVec3::new(1.0, height, z));
            assert!(sight.hides(a, b));
        }
        // Before the tip the way is straight, and it is continuous there.
        let at = |x: f64| {
            let p = DVec3::new(x, 0.0, 1e-3);
            sight.way(p, p, DVec3::new(x, 0.0, -0.3)).unwrap().sqrt()
        };
        assert!((at(-0.01) - 0.301).abs() < 1e-9 && (at(1e-4) - at(-1e-4)).abs() < 1e-3);
        let alone = Sight { corners: Vec::new(), ..sight.clone() };
        assert_eq!(alone.way(above, above, below), None);
    }
}
