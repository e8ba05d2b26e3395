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
/// Places looked at along one path at most; a path that needs more ends there (see `follow`).
const MAX_PLACES: usize = 64;
/// Surfaces met in one step at most (floor, wall and ceiling of a corner).
const MAX_SURFACES: usize = 3;

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

/// Velocity after contact of a ball at `start` with `velocity` relative to `shape`, or None when it touches nothing.
pub(super) fn resolve(
    shape: &dyn Shape,
    surface: &Collider,
    start: DVec3,
    velocity: DVec3,
    radius: f64,
    dt: f64,
) -> Option<Touch> {
    let gap = shape.distance(start) - radius;
    // The distance never exceeds the true one, so what is farther than the path is long cannot be reached.
    if gap > velocity.length() * dt {
        return None;
    }
    if gap < -TOLERANCE * radius {
        let out = Bound { normal: shape.normal(start), bound: push_speed(-gap, dt) };
        return (velocity.dot(out.normal) < out.bound).then(|| respond(velocity, &out, surface));
    }
    let mut touch: Option<Touch> = None;
    for _ in 0..MAX_SURFACES {
        let current = touch.map_or(velocity, |t| t.velocity);
        let Some(bound) = follow(shape, start, gap, current, radius, dt) else { break };
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

/// First plane on the path of the step that the velocity does not respect.
fn follow(shape: &dyn Shape, start: DVec3, gap: f64, velocity: DVec3, radius: f64, dt: f64) -> Option<Bound> {
    let speed = velocity.length();
    let length = speed * dt;
    let near = TOLERANCE * radius;
    let (mut way, mut place, mut gap) = (0.0, start, gap);
    for _ in 0..MAX_PLACES {
        if gap <= near {
            // Looked up a little ahead: in a corner the way leads to the side that is run into.
            let normal = shape.normal(place + velocity * (AHEAD * radius / speed.max(f64::MIN_POSITIVE)));
            // The end of the step must not lie behind the plane through the surface here.
            let bound = match way == 0.0 && gap < 0.0 {
                true => push_speed(-gap, dt),
                false => (normal.dot(place - start) - gap) / dt,
            };
            if velocity.dot(normal) < bound - 1e-9 * (speed + near / dt) {
                return Some(Bound { normal, bound });
            }
        }
        if way >= length {
            return None;
        }
        way = (way + gap.max(STRIDE * radius)).min(length);
        place = start + velocity * (way / speed);
        gap = shape.distance(place) - radius;
        // A jump of at most STRIDE may have gone past the surface's near side; the bound above brings it back.
    }
    // A path of more than MAX_PLACES: stop where it was followed to.
    let normal = -velocity / speed;
    Some(Bound { normal, bound: -way / dt })
}
