//! What one skin point feels of the skins of other bodies.

use super::bodies::Bodies;
use super::candidates::REACH;
use crate::points::Points;
use glam::DVec3;

/// Growth β of the stiffness with depth: stops soft bodies at 10 m/s before they pass through each other.
pub(super) const STIFFENING: f64 = 10.0;
/// Normal damping as a part of the critical one.
const DAMPING: f64 = 0.2;
/// Stiffness of sticking as a part of the normal one.
const STICK: f64 = 0.5;
/// Damping of sticking as a part of the critical one.
const STICK_DAMPING: f64 = 0.3;
/// Sum of weights from which on the other surface counts as fully there.
pub(super) const FULL_COVER: f64 = 0.4;

/// What an active point feels of the other bodies.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Touch {
    /// Direction of the push.
    pub normal: DVec3,
    /// One over the sum of its weights; 0 when it sees no other body.
    pub inverse_cover: f64,
    /// Center of the other surface, from the point on [m].
    pub center: DVec3,
    /// Penetration [m], negative while apart.
    pub depth: f64,
    /// Secant stiffness [N/m].
    pub stiffness: f64,
    /// Part of the secant stiffness that is due to stiffening.
    pub steep: f64,
    /// Velocity relative to the other surface [m/s].
    pub slip: DVec3,
    /// [kg].
    pub mass: f64,
    /// Coulomb friction coefficient.
    pub friction: f64,
    /// How far it was dragged along the surface before this step [m].
    pub drag: DVec3,
}

/// Two points as the first sees the second.
pub(super) struct Pair {
    pub weight: f64,
    /// How far the surfaces of the two overlap along the normal [m].
    depth: f64,
    /// Normal of the second.
    normal: DVec3,
    /// From the first to the second [m].
    y: DVec3,
    /// Index of the second point.
    j: usize,
}

/// Weighted sums over the other surface near a point.
#[derive(Default)]
struct Surroundings {
    cover: f64,
    normal: DVec3,
    depth: f64,
    /// Σ w (x_j - x_i).
    center: DVec3,
    velocity: DVec3,
    spacing: f64,
    stiffness: f64,
    friction: f64,
}

impl Bodies {
    /// How the active points a and b see each other; weight and facets are the same from both ends, to the bit.
    pub(super) fn pair(&self, points: &Points, a: usize, b: usize) -> Option<Pair> {
        let index = |a: usize| self.skin.points[self.candidates.active[a] as usize] as usize;
        let (i, j) = (index(a), index(b));
        let spacing = 0.5 * (points.spacings[i] + points.spacings[j]);
        let y = points.positions[j] - points.positions[i];
        let q = y.length_squared() / (REACH * spacing).powi(2);
        if q >= 1.0 || q.is_nan() {
            return None;
        }
        let (here, there) = (&self.facets[a], &self.facets[b]);
        // Which facets face each other most; always asked in the same order.
        let (facing, f, g) = match a < b {
            true => here.facing(there)?,
            false => there.facing(here).map(|(facing, g, f)| (facing, f, g))?,
        };
        let beside = here.beside(f, y, spacing) * there.beside(g, -y, spacing);
        let weight = (1.0 - q) * (1.0 - q) * facing * beside;
        let depth = here.depths[f] + there.depths[g] + there.normals[g].dot(y);
        (weight > 0.0).then_some(Pair { weight, depth, normal: there.normals[g], y, j })
    }

    fn surroundings(&self, points: &Points, a: usize) -> Surroundings {
        let mut sum = Surroundings::default();
        let s = self.candidates.active[a] as usize;
        let i = self.skin.points[s] as usize;
        let (young, friction) = self.materials[self.skin.bodies[s] as usize];
        for &b in self.candidates.of(a) {
            let Some(Pair { weight: w, depth, normal, y, j }) = self.pair(points, a, b as usize) else { continue };
            let t = self.candidates.active[b as usize] as usize;
            let (other_young, other_friction) = self.materials[self.skin.bodies[t] as usize];
            sum.cover += w;
            sum.normal += w * normal;
            sum.depth += w * depth;
            sum.center += w * y;
            sum.velocity += w * points.velocities[j];
            sum.spacing += w * points.spacings[j];
            sum.stiffness += w * series(young * points.spacings[i], other_young * points.spacings[j]);
            sum.friction += w * (friction * other_friction).sqrt();
        }
        sum
    }

    /// What the active point `a` feels; `fading` is what is left of overlaps at the start.
    pub(super) fn touch(&self, points: &Points, a: usize, fading: f64) -> Touch {
        let sum = self.surroundings(points, a);
        let Some(normal) = sum.normal.try_normalize() else { return Touch::default() };
        let inverse_cover = 1.0 / sum.cover;
        let s = self.candidates.active[a] as usize;
        let i = self.skin.points[s] as usize;
        let range = 0.5 * (points.spacings[i] + sum.spacing * inverse_cover);
        let at_start = self.overlaps_at_start.get(s).map_or(0.0, |o| o * fading);
        let depth = (sum.depth * inverse_cover - at_start).min(range);
        // At the rim of the other surface the force fades in, so that it has no jumps.
        let cover = (sum.cover / FULL_COVER).min(1.0);
        let spring = 0.5 * cover * cover * (3.0 - 2.0 * cover) * sum.stiffness * inverse_cover;
        let steep = STIFFENING * (depth.max(0.0) / range).powi(2);
        Touch {
            normal,
            inverse_cover,
            center: sum.center * inverse_cover,
            depth,
            stiffness: spring * (1.0 + steep),
            steep,
            slip: points.velocities[i] - sum.velocity * inverse_cover,
            mass: points.masses[i],
            friction: sum.friction * inverse_cover,
            drag: self.drags.get(s).copied().unwrap_or_default(),
        }
    }
}

impl Touch {
    /// Force on the point over a step of `dt` [N] and how far it is dragged at its end [m].
    pub fn push(&self, dt: f64) -> (DVec3, DVec3) {
        if self.depth <= 0.0 {
            return (DVec3::ZERO, DVec3::ZERO);
        }
        // Normal damping never pulls.
        let leaving = self.slip.dot(self.normal);
        let damping = 2.0 * DAMPING * (self.stiffness * self.mass).sqrt();
        let push = (self.stiffness * self.depth - damping * leaving).max(0.0);
        // Friction: a damped spring along the surface that slips at the limit of the cone.
        let slide = self.slip - leaving * self.normal;
        let spring = STICK * self.stiffness;
        let drag = self.drag - self.normal * self.normal.dot(self.drag) + slide * dt;
        let pull = spring * drag + 2.0 * STICK_DAMPING * (spring * self.mass).sqrt() * slide;
        let (strength, limit) = (pull.length(), self.friction * push);
        if strength <= limit {
            return (push * self.normal - pull, drag);
        }
        let direction = pull / strength;
        (push * self.normal - limit * direction, direction * (limit / spring))
    }

    /// Friction as resistance against sliding: `rate` times the sliding momentum [N], inside the cone.
    pub fn viscous_friction(&self, rate: f64) -> DVec3 {
        let slide = self.slip - self.slip.dot(self.normal) * self.normal;
        let limit = self.friction * self.stiffness * self.depth.max(0.0);
        let strength = (rate * self.mass * slide.length()).min(limit);
        slide.try_normalize().map_or(DVec3::ZERO, |direction| -strength * direction)
    }

    /// Shear of a liquid of a viscosity [Pa s] between the surface and a ball of a diameter [m] at it, at most `rate` times the sliding
    /// momentum [N].
    pub fn shear(&self, viscosity: f64, size: f64, rate: f64) -> DVec3 {
        if viscosity <= 0.0 || self.inverse_cover == 0.0 || self.depth <= -0.25 * size {
            return DVec3::ZERO;
        }
        let slide = self.slip - self.slip.dot(self.normal) * self.normal;
        slide * (2.0 * viscosity * size).min(rate * self.mass)
    }

    /// Stored energy [J].
    pub fn energy(&self) -> f64 {
        let spring = self.stiffness / (1.0 + self.steep);
        0.5 * spring * self.depth.max(0.0).powi(2) * (1.0 + 0.5 * self.steep)
    }
}

/// Two springs in a row, counted such that two equal ones give one of them.
pub(super) fn series(a: f64, b: f64) -> f64 {
    2.0 * a * b / (a + b).max(f64::MIN_POSITIVE)
}
