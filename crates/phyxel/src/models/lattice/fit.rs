//! The fit of one neighborhood: rotation, stretch and strain of the lattice that its neighbors are seen in.
//!
//! With B = Σ w r lᵀ and C = Σ w l lᵀ over the docked slots, the rotation is the polar factor of B and the stretch A = B C⁻¹. Differs from
//! [WHP06] §3: there the rotation is that of A, with which forces are no gradient and neighborhoods at a surface turn by
//! themselves. With that of B, R minimizes Σ w |R l - r|², so the forces are the gradient of the energy and free of torque.

use crate::linalg::{outer, symmetric_part, trace};
use glam::{DMat3, DVec3};

/// Weight with which the previous rotation enters directions without neighbors, in self weight times D².
pub const STRETCH_MEMORY: f64 = 1e-3;
/// The same of the rotation, in D².
pub const ROTATION_MEMORY: f64 = 1e-9;
/// Newton steps at most; two or three are taken from one time step to the next.
const STEPS: usize = 30;
/// Angle of a step below which it was the last one [rad]: Newton's error is its square.
const EXACT: f64 = 1e-6;
/// Largest angle of a step [rad].
const LONGEST_STEP: f64 = 0.5;

/// Sums over the docked slots of one neighborhood.
#[derive(Debug, Clone, Copy)]
pub struct Sums {
    /// B = Σ w r lᵀ [m²].
    pub seen: DMat3,
    /// C = Σ w l lᵀ [m²].
    pub rest: DMat3,
}

impl Default for Sums {
    /// Nobody seen; a matrix of glam would be the identity by default.
    fn default() -> Self {
        Self { seen: DMat3::ZERO, rest: DMat3::ZERO }
    }
}

impl Sums {
    /// Takes in one neighbor: r is seen where l is expected [m].
    #[inline]
    pub fn add(&mut self, weight: f64, r: DVec3, l: DVec3) {
        self.seen += outer(r, weight * l);
        self.rest += outer(l, weight * l);
    }

    /// A = (B + g R)(C + g I)⁻¹, [WHP06] eq. 4 with a memory of R in directions without neighbors.
    pub fn stretch(&self, previous: DMat3, memory: f64) -> DMat3 {
        (self.seen + previous * memory) * (self.rest + DMat3::IDENTITY * memory).inverse()
    }
}

/// The rotation nearest to B, from the previous one; `memory` [m²] holds it where B says nothing. In the plane pass 2.
#[inline]
pub fn rotation(seen: DMat3, previous: DMat3, memory: f64, dimensions: usize) -> DMat3 {
    let b = seen + previous * memory;
    if dimensions == 2 {
        return plane_rotation(b, previous);
    }
    let mut r = previous;
    for _ in 0..STEPS {
        let g = r.transpose() * b;
        let s = symmetric_part(g);
        let axis = DVec3::new(g.y_axis.z - g.z_axis.y, g.z_axis.x - g.x_axis.z, g.x_axis.y - g.y_axis.x);
        let total = trace(s);
        let w = newton_step(s, total, axis).unwrap_or_else(|| axis / (total.abs() + memory));
        let angle = w.length();
        if !angle.is_finite() {
            return previous;
        }
        let w = if angle > LONGEST_STEP { w * (LONGEST_STEP / angle) } else { w };
        r *= exponential(w);
        if angle < EXACT {
            break;
        }
    }
    straightened(r)
}

/// (tr S I - S)⁻¹ axis if that matrix is positive definite.
#[inline]
fn newton_step(s: DMat3, total: f64, axis: DVec3) -> Option<DVec3> {
    let m = DMat3::from_diagonal(DVec3::splat(total)) - s;
    let (a, b, c) = (m.x_axis, m.y_axis, m.z_axis);
    let minor = a.x * b.y - a.y * b.x;
    let cross = [b.cross(c), c.cross(a), a.cross(b)];
    let det = a.dot(cross[0]);
    // Leading minors; the third against the size of the matrix, so that a nearly free axis takes the gradient step.
    if !(a.x > 0.0 && minor > 0.0 && det > 1e-12 * total.abs().powi(3)) {
        return None;
    }
    Some(DVec3::new(cross[0].dot(axis), cross[1].dot(axis), cross[2].dot(axis)) / det)
}

/// The rotation by |w| about w.
#[inline]
pub fn exponential(w: DVec3) -> DMat3 {
    let t2 = w.length_squared();
    let (a, b) = if t2 < 1e-4 {
        (1.0 - t2 * (1.0 / 6.0 - t2 / 120.0), 0.5 - t2 * (1.0 / 24.0 - t2 / 720.0))
    } else {
        let t = t2.sqrt();
        (t.sin() / t, (1.0 - t.cos()) / t2)
    };
    let k = crate::linalg::cross_matrix(w);
    DMat3::IDENTITY + k * a + k * k * b
}

fn plane_rotation(b: DMat3, previous: DMat3) -> DMat3 {
    let (sin, cos) = (b.x_axis.y - b.y_axis.x, b.x_axis.x + b.y_axis.y);
    let length = sin.hypot(cos);
    if !(length > 0.0 && length.is_finite()) {
        return previous;
    }
    let (s, c) = (sin / length, cos / length);
    DMat3::from_cols(DVec3::new(c, s, 0.0), DVec3::new(-s, c, 0.0), DVec3::Z)
}

/// Takes out what rounding has added over many steps: one Newton step towards the orthogonal matrix.
#[inline]
fn straightened(r: DMat3) -> DMat3 {
    r * (DMat3::IDENTITY * 1.5 - r.transpose() * r * 0.5)
}

/// Frobenius norm of AᵀA - I, which the yield bound limits.
#[inline]
pub fn distortion(a: DMat3) -> f64 {
    let g = a.transpose() * a - DMat3::IDENTITY;
    (g.x_axis.length_squared() + g.y_axis.length_squared() + g.z_axis.length_squared()).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn some_matrix(id: u64, size: f64) -> DMat3 {
        let mut random = Random::new(5, id);
        DMat3::from_cols(random.in_cube(), random.in_cube(), random.in_cube()) * size
    }

    #[test]
    fn rotation_of_a_turned_stretch_is_its_turn() {
        for id in 0..50 {
            let turn = exponential(Random::new(9, id).direction() * (0.05 * id as f64));
            let m = some_matrix(id, 0.4);
            let stretch = DMat3::IDENTITY + symmetric_part(m);
            let found = rotation(turn * stretch, exponential(DVec3::X * 0.2) * turn, 1e-9, 3);
            let error = found - turn;
            assert!(error.x_axis.length() + error.y_axis.length() + error.z_axis.length() < 1e-7, "{id}");
        }
    }

    #[test]
    fn nothing_seen_keeps_the_previous_rotation() {
        let previous = exponential(DVec3::new(0.3, -0.2, 0.5));
        for dimensions in [2, 3] {
            let previous = if dimensions == 2 { exponential(DVec3::Z * 0.4) } else { previous };
            let kept = rotation(DMat3::ZERO, previous, 1e-9, dimensions) - previous;
            assert!(kept.x_axis.length() < 1e-12);
        }
        assert_eq!(rotation(DMat3::from_diagonal(DVec3::splat(f64::NAN)), previous, 1e-9, 3), previous);
        let inverted = DMat3::from_diagonal(DVec3::new(1.0, 1.0, -0.3));
        assert!((rotation(inverted, DMat3::IDENTITY, 1e-9, 3) - DMat3::IDENTITY).x_axis.length() < 1e-6);
    }
}
