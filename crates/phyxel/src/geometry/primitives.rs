//! Exact signed distances of the simple solids; axes of round shapes are y, all are centered at the origin.
//!
//! `round` in a constructor keeps the outer size and rounds the edges by that radius: the solid is shrunk and grown again.

use super::{Bounds, Shape};
use glam::{DVec2, DVec3};

/// A box.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cuboid {
    half: DVec3,
    round: f64,
}

impl Cuboid {
    /// Box of the given edge lengths and edge radius [m].
    pub fn new(size: DVec3, round: f64) -> Self {
        let half = 0.5 * size.abs();
        let round = round.clamp(0.0, half.min_element());
        Self { half: half - round, round }
    }
}

impl Shape for Cuboid {
    fn distance(&self, p: DVec3) -> f64 {
        let q = p.abs() - self.half;
        q.max(DVec3::ZERO).length() + q.max_element().min(0.0) - self.round
    }
    fn bounds(&self) -> Bounds {
        centered(self.half + self.round)
    }
    fn normal(&self, p: DVec3) -> DVec3 {
        let q = p.abs() - self.half;
        let outward = q.max(DVec3::ZERO).try_normalize().unwrap_or_else(|| {
            // Inside: towards the nearest face, the first one when several are as near.
            let deepest = q.max_element();
            if q.x == deepest {
                DVec3::X
            } else if q.y == deepest {
                DVec3::Y
            } else {
                DVec3::Z
            }
        });
        outward * sign(p)
    }
}

/// A ball.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sphere {
    /// Radius [m].
    pub radius: f64,
}

impl Shape for Sphere {
    fn distance(&self, p: DVec3) -> f64 {
        p.length() - self.radius
    }
    fn bounds(&self) -> Bounds {
        centered(DVec3::splat(self.radius))
    }
    fn normal(&self, p: DVec3) -> DVec3 {
        p.try_normalize().unwrap_or(DVec3::Y)
    }
}

/// An ellipsoid with its axes along x, y, z.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ellipsoid {
    /// Half axes [m].
    pub radii: DVec3,
}

impl Ellipsoid {
    /// Point of the surface nearest to `p` [m], exact to rounding.
    ///
    /// [Ebe13]: the nearest point x satisfies p = x + t x/e², so x_i = e_i² p_i / (t + e_i²), and t is the largest root of
    /// g = Σ (e_i p_i / (t + e_i²))² - 1. With u = t/e_min² + 1 nothing cancels near the smallest axis. g is convex and
    /// decreasing there, so Newton from a point left of the root rises to it without overshoot.
    pub fn closest(&self, p: DVec3) -> DVec3 {
        let e = self.radii;
        let e_min = e.min_element();
        let z = (p.abs() / e).max(DVec3::splat(1e-12));
        // ratio = (e/e_min)²; excess = ratio - 1, by a difference of squares to keep nearly equal radii exact.
        let ratio = (e / e_min) * (e / e_min);
        let excess = (e - e_min) * (e + e_min) / (e_min * e_min);
        // Each term of the sum alone gives a lower bound of the root.
        let mut u = (ratio * z - excess).max_element().max(1e-12);
        for _ in 0..64 {
            let denominator = DVec3::splat(u) + excess;
            let term = ratio * z / denominator;
            let g = term.length_squared() - 1.0;
            let slope = -2.0 * (term * term / denominator).element_sum();
            let step = -g / slope;
            u += step;
            // Convergence is quadratic: the next step would be below rounding.
            if step <= 1e-9 * u {
                break;
            }
        }
        let x = e * (ratio * z / (DVec3::splat(u) + excess));
        // On the surface to rounding even where Newton stopped early.
        let x = x / (x / e).length();
        x * sign(p)
    }
}

impl Ellipsoid {
    fn contains(&self, p: DVec3) -> bool {
        (p / self.radii).length_squared() < 1.0
    }
}

impl Shape for Ellipsoid {
    fn distance(&self, p: DVec3) -> f64 {
        let d = p.distance(self.closest(p));
        if self.contains(p) { -d } else { d }
    }
    fn bounds(&self) -> Bounds {
        centered(self.radii)
    }
    fn normal(&self, p: DVec3) -> DVec3 {
        self.distance_normal(p).1
    }
    fn distance_normal(&self, p: DVec3) -> (f64, DVec3) {
        let foot = self.closest(p);
        let d = p.distance(foot);
        let normal = (foot / (self.radii * self.radii)).try_normalize().unwrap_or(DVec3::Y);
        (if self.contains(p) { -d } else { d }, normal)
    }
}

/// A cylinder along y.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cylinder {
    half: DVec2,
    round: f64,
}

impl Cylinder {
    /// Cylinder of the given radius, whole height and edge radius [m].
    pub fn new(radius: f64, height: f64, round: f64) -> Self {
        let half = DVec2::new(radius, 0.5 * height);
        let round = round.clamp(0.0, half.min_element());
        Self { half: half - round, round }
    }
}

impl Shape for Cylinder {
    fn distance(&self, p: DVec3) -> f64 {
        let q = DVec2::new(p.x.hypot(p.z), p.y.abs()) - self.half;
        q.max(DVec2::ZERO).length() + q.max_element().min(0.0) - self.round
    }
    fn bounds(&self) -> Bounds {
        let half = self.half + self.round;
        centered(DVec3::new(half.x, half.y, half.x))
    }
    fn normal(&self, p: DVec3) -> DVec3 {
        let q = DVec2::new(p.x.hypot(p.z), p.y.abs()) - self.half;
        let inside = if q.x > q.y { DVec2::X } else { DVec2::Y };
        let n = q.max(DVec2::ZERO).try_normalize().unwrap_or(inside);
        revolved(DVec2::new(n.x, n.y.copysign(p.y)), p)
    }
}

/// A cylinder along y with half-balls as ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Capsule {
    radius: f64,
    half: f64,
}

impl Capsule {
    /// Capsule of the given radius and whole height, caps included [m].
    pub fn new(radius: f64, height: f64) -> Self {
        Self { radius, half: (0.5 * height - radius).max(0.0) }
    }
}

impl Shape for Capsule {
    fn distance(&self, p: DVec3) -> f64 {
        (p - DVec3::Y * p.y.clamp(-self.half, self.half)).length() - self.radius
    }
    fn bounds(&self) -> Bounds {
        centered(DVec3::new(self.radius, self.half + self.radius, self.radius))
    }
    fn normal(&self, p: DVec3) -> DVec3 {
        (p - DVec3::Y * p.y.clamp(-self.half, self.half)).try_normalize().unwrap_or(DVec3::X)
    }
}

/// A cone along y, its tip up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cone {
    radius: f64,
    base: f64,
    tip: f64,
    round: f64,
    bounds: Bounds,
}

impl Cone {
    /// Cone of the given base radius, whole height and edge radius [m].
    pub fn new(radius: f64, height: f64, round: f64) -> Self {
        let slant = radius.hypot(height);
        let round = round.clamp(0.0, 0.999 * radius * height / (slant + radius));
        // Base and side move inward by the edge radius.
        let (base, tip) = (-0.5 * height + round, 0.5 * height - round * slant / radius);
        let inner = radius * (tip - base) / height;
        let bounds = Bounds {
            min: DVec3::new(-inner - round, base - round, -inner - round),
            max: DVec3::new(inner + round, tip + round, inner + round),
        };
        Self { radius: inner, base, tip, round, bounds }
    }

    /// Offset from the nearest surface point of the unrounded cone in the half-plane (distance to the axis, y); the outward
    /// normal if that point is not on an edge or the tip; and whether the point is inside.
    fn offset(&self, p: DVec3) -> (DVec2, Option<DVec2>, bool) {
        let q = DVec2::new(p.x.hypot(p.z), p.y);
        let on_base = DVec2::new(q.x.min(self.radius), self.base);
        let corner = DVec2::new(self.radius, self.base);
        let side = DVec2::new(-self.radius, self.tip - self.base);
        let t = (q - corner).dot(side) / side.length_squared();
        let on_side = corner + t.clamp(0.0, 1.0) * side;
        let inside = q.y > self.base && side.perp_dot(q - corner) > 0.0;
        let (to_base, to_side) = (q - on_base, q - on_side);
        if to_base.length_squared() < to_side.length_squared() {
            return (to_base, (q.x < self.radius).then_some(-DVec2::Y), inside);
        }
        let slope = DVec2::new(side.y, -side.x).normalize_or(DVec2::Y);
        (to_side, (0.0 < t && t < 1.0).then_some(slope), inside)
    }
}

impl Shape for Cone {
    fn distance(&self, p: DVec3) -> f64 {
        let (offset, _, inside) = self.offset(p);
        let d = offset.length();
        (if inside { -d } else { d }) - self.round
    }
    fn bounds(&self) -> Bounds {
        self.bounds
    }
    fn normal(&self, p: DVec3) -> DVec3 {
        // The offset of a point on a face is nothing but rounding: it has no direction.
        let (offset, face, inside) = self.offset(p);
        let away = || offset.try_normalize().map_or(DVec2::Y, |n| if inside { -n } else { n });
        revolved(face.unwrap_or_else(away), p)
    }
}

/// A ring around y.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Torus {
    /// Distance of the tube's center line from the axis [m].
    pub radius: f64,
    /// Radius of the tube [m].
    pub tube: f64,
}

impl Shape for Torus {
    fn distance(&self, p: DVec3) -> f64 {
        (p.x.hypot(p.z) - self.radius).hypot(p.y) - self.tube
    }
    fn bounds(&self) -> Bounds {
        let outer = self.radius + self.tube;
        centered(DVec3::new(outer, self.tube, outer))
    }
    fn normal(&self, p: DVec3) -> DVec3 {
        revolved(DVec2::new(p.x.hypot(p.z) - self.radius, p.y).try_normalize().unwrap_or(DVec2::Y), p)
    }
}

/// Everything below a plane.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HalfSpace {
    /// Unit normal, out of the solid.
    pub normal: DVec3,
    /// Distance of the plane from the origin along the normal [m].
    pub offset: f64,
}

impl Shape for HalfSpace {
    fn distance(&self, p: DVec3) -> f64 {
        self.normal.dot(p) - self.offset
    }
    fn bounds(&self) -> Bounds {
        // Only a plane across an axis ends the half-space along that axis.
        let mut bounds = Bounds { min: DVec3::NEG_INFINITY, max: DVec3::INFINITY };
        for axis in 0..3 {
            if self.normal[axis] == 1.0 {
                bounds.max[axis] = self.offset;
            } else if self.normal[axis] == -1.0 {
                bounds.min[axis] = -self.offset;
            }
        }
        bounds
    }
    fn normal(&self, _p: DVec3) -> DVec3 {
        self.normal
    }
}

fn centered(half: DVec3) -> Bounds {
    Bounds { min: -half, max: half }
}

/// 1 or -1 for each coordinate.
fn sign(p: DVec3) -> DVec3 {
    DVec3::ONE.copysign(p)
}

/// Turns a direction of the half-plane (away from the axis, y) to the side where `p` is.
fn revolved(n: DVec2, p: DVec3) -> DVec3 {
    let radial = DVec2::new(p.x, p.z).try_normalize().unwrap_or(DVec2::X);
    DVec3::new(n.x * radial.x, n.y, n.x * radial.y).normalize_or(DVec3::Y)
}
