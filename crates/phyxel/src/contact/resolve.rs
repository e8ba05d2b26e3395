//! One point against one shape that stands still: the velocity after contact.
//!
//! The point is a ball of its contact radius. Its path over the step is followed through the distance field (steps no
//! longer than the distance, so nothing is jumped over), and at the first place where it would enter the shape the
//! normal velocity is bounded such that the step ends on the surface. Bounds only ever take speed away, except for
//! points that start inside: those are pushed out at a speed that goes with their depth and is limited.

use super::Collider;
use crate::geometry::Shape;
use glam::DVec3;

/// A point inside comes out with this time constant [s] ...
const PUSH_TIME: f64 = 0.05;
/// ... but never faster than this [m/s].
const PUSH_SPEED: f64 = 0.5;
/// Impacts slower than this give nothing back: resting points do not hop [m/s].
const RESTITUTION_THRESHOLD: f64 = 0.1;
/// On the surface means nearer than this part of the contact radius.
const TOLERANCE: f64 = 1e-4;
/// A path that slides along the surface is looked at every such part of the contact radius.
const STRIDE: f64 = 0.5;
/// How far ahead of the point the normal is looked up, as a part of the contact radius.
const AHEAD: f64 = 0.02;
/// Places looked at along one path at most; a path that needs more ends there.
const MAX_PLACES: usize = 64;
/// Planes met in one step at most: the sides of a corner, or tangents of a curved surface.
const MAX_PLANES: usize = 4;

/// What contact does to a point.
#[derive(Debug, Clone, Copy)]
pub(super) struct Touch {
    /// Velocity after contact [m/s].
    pub velocity: DVec3,
    /// Outward normal of the collider where it was touched last.
    pub normal: DVec3,
    /// Least normal velocity relative to the collider that keeps the point out [m/s].
    pub min_normal_velocity: f64,
    /// Velocity of the collider there [m/s].
    pub carried: DVec3,
}

/// Plane that the relative velocity must respect: `velocity · normal >= bound`.
struct Bound {
    normal: DVec3,
    bound: f64,
}

/// Velocity after contact of a ball at `start`, at a known distance, with `velocity` relative to `shape`, or None when it touches
/// nothing.
pub(super) fn resolve(
    (shape, distance): (&dyn Shape, f64),
    surface: &Collider,
    start: DVec3,
    velocity: DVec3,
    radius: f64,
    dt: f64,
) -> Option<Touch> {
    let gap = distance - radius;
    // The distance never exceeds the true one, so what is farther than the path is long cannot be reached.
    if gap > velocity.length() * dt {
        return None;
    }
    let path = Path { shape, start, gap, radius, dt };
    let mut touch: Option<Touch> = None;
    for _ in 0..MAX_PLANES {
        let current = touch.map_or(velocity, |t| t.velocity);
        let Some(bound) = path.first_bound(current) else { break };
        touch = Some(respond(current, &bound, surface));
    }
    touch
}

/// Speed at which a point `depth` inside is led out [m/s]: never out of the surface within the step.
pub(super) fn push_speed(depth: f64, dt: f64) -> f64 {
    (depth / dt).min(depth / PUSH_TIME).min(PUSH_SPEED)
}

/// Velocity after meeting a plane: normal bound, restitution, Coulomb friction on what slides.
pub(super) fn respond_plane(velocity: DVec3, normal: DVec3, bound: f64, friction: f64, restitution: f64) -> DVec3 {
    let approach = velocity.dot(normal);
    let bounces = restitution > 0.0 && approach < -RESTITUTION_THRESHOLD;
    let bounce = if bounces { -restitution * approach } else { bound };
    let leave = bound.max(bounce);
    let push = (leave - approach).max(0.0);
    let slide = velocity - approach * normal;
    let speed = slide.length();
    // Within the cone the slide stops altogether: what rests stays.
    let kept = if speed > friction * push { 1.0 - friction * push / speed } else { 0.0 };
    kept * slide + (approach + push) * normal
}

fn respond(velocity: DVec3, bound: &Bound, surface: &Collider) -> Touch {
    let after = respond_plane(velocity, bound.normal, bound.bound, surface.friction, surface.restitution);
    Touch { velocity: after, normal: bound.normal, min_normal_velocity: bound.bound, carried: DVec3::ZERO }
}

/// The way of a ball through a step.
struct Path<'a> {
    shape: &'a dyn Shape,
    start: DVec3,
    /// Distance between ball and surface at the start; negative inside.
    gap: f64,
    radius: f64,
    dt: f64,
}

impl Path<'_> {
    /// First plane on the way that the velocity does not respect.
    fn first_bound(&self, velocity: DVec3) -> Option<Bound> {
        // A ball that starts inside is measured against the level it starts from: it must not go deeper.
        let (level, depth) = (self.gap.min(0.0), (-self.gap).max(0.0));
        let speed = velocity.length();
        let length = speed * self.dt;
        let near = TOLERANCE * self.radius;
        let (mut way, mut place, mut gap) = (0.0, self.start, self.gap - level);
        for _ in 0..MAX_PLACES {
            if gap <= near {
                // Looked up a little ahead: in a corner the way leads to the side that is run into.
                let ahead = velocity * (AHEAD * self.radius / speed.max(f64::MIN_POSITIVE));
                let normal = self.shape.normal(place + ahead);
                // The end of the step must not lie behind the plane through the surface here.
                let bound = (normal.dot(place - self.start) - gap) / self.dt;
                let bound = if way == 0.0 && depth > 0.0 { bound.max(push_speed(depth, self.dt)) } else { bound };
                if velocity.dot(normal) < bound - 1e-9 * (speed + near / self.dt) {
                    return Some(Bound { normal, bound });
                }
            }
            if way >= length {
                return None;
            }
            // At least a stride, which is less than the radius: it cannot jump over a surface.
            way = (way + gap.max(STRIDE * self.radius)).min(length);
            place = self.start + velocity * (way / speed);
            gap = self.shape.distance(place) - self.radius - level;
        }
        // A path of more than MAX_PLACES ends where it was followed to.
        Some(Bound { normal: -velocity / speed, bound: -way / self.dt })
    }
}
