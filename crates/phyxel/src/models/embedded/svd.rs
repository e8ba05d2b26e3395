//! Singular values with rotations on both sides, and the rotation nearest to a matrix.

use crate::linalg::{cofactor, double_dot};
use glam::{DMat3, DVec3};

/// Largest number of sweeps; six are enough for any finite matrix.
const SWEEPS: usize = 20;
/// Determinant from which on the iteration for the rotation is trusted.
const SAFE_DETERMINANT: f64 = 0.05;

/// F = U Σ Vᵀ with det U = det V = 1 and σ₁ ≥ σ₂ ≥ |σ₃|: only σ₃ may be negative, where matter is inverted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Svd {
    /// Left rotation.
    pub u: DMat3,
    /// Singular values, the last with the sign of the determinant.
    pub sigma: DVec3,
    /// Right rotation.
    pub v: DMat3,
}

impl Svd {
    /// One-sided Jacobi rotations: exact to rounding also for values near zero. Zero has an answer too.
    pub fn new(f: DMat3) -> Self {
        let mut b = [f.x_axis, f.y_axis, f.z_axis];
        let mut v = [DVec3::X, DVec3::Y, DVec3::Z];
        for _ in 0..SWEEPS {
            let mut turned = false;
            for (p, q) in [(0, 1), (0, 2), (1, 2)] {
                turned |= orthogonalize(&mut b, &mut v, p, q);
            }
            if !turned {
                break;
            }
        }
        let mut order = [0, 1, 2];
        order.sort_by(|&i, &j| b[j].length_squared().total_cmp(&b[i].length_squared()));
        let [mut b, mut v] = [order.map(|k| b[k]), order.map(|k| v[k])];
        if v[0].cross(v[1]).dot(v[2]) < 0.0 {
            (b[2], v[2]) = (-b[2], -v[2]);
        }
        let first = b[0].try_normalize().unwrap_or(DVec3::X);
        let rest = b[1] - first * first.dot(b[1]);
        let second = match rest.length() > 1e-14 * b[0].length() {
            true => rest.normalize(),
            false => first.any_orthonormal_vector(),
        };
        let third = first.cross(second);
        let sigma = DVec3::new(first.dot(b[0]), second.dot(b[1]), third.dot(b[2]));
        Self { u: DMat3::from_cols(first, second, third), sigma, v: DMat3::from_cols(v[0], v[1], v[2]) }
    }

    /// U diag(values) Vᵀ.
    pub fn with(&self, values: DVec3) -> DMat3 {
        self.u * DMat3::from_diagonal(values) * self.v.transpose()
    }

    /// The nearest rotation U Vᵀ.
    pub fn rotation(&self) -> DMat3 {
        self.u * self.v.transpose()
    }
}

/// Turns two columns until they are orthogonal; says whether they were not.
#[inline]
fn orthogonalize(b: &mut [DVec3; 3], v: &mut [DVec3; 3], p: usize, q: usize) -> bool {
    let (alpha, beta, gamma) = (b[p].length_squared(), b[q].length_squared(), b[p].dot(b[q]));
    if gamma == 0.0 || gamma.abs() <= 1e-16 * (alpha * beta).sqrt() {
        return false;
    }
    let zeta = (beta - alpha) / (2.0 * gamma);
    let t = 1f64.copysign(zeta) / (zeta.abs() + (1.0 + zeta * zeta).sqrt());
    let c = 1.0 / (1.0 + t * t).sqrt();
    let s = c * t;
    (b[p], b[q]) = (b[p] * c - b[q] * s, b[p] * s + b[q] * c);
    (v[p], v[q]) = (v[p] * c - v[q] * s, v[p] * s + v[q] * c);
    true
}

/// The rotation nearest to a matrix: Newton's iteration where the determinant is safely positive, else by singular values.
pub fn nearest_rotation(f: DMat3) -> DMat3 {
    match newton_rotation(f) {
        Some(r) => r,
        None => Svd::new(f).rotation(),
    }
}

/// R ← (R + R⁻ᵀ) / 2; None where the matrix is near to singular or inverted.
#[inline]
pub fn newton_rotation(f: DMat3) -> Option<DMat3> {
    let mut determinant = f.determinant();
    if determinant.partial_cmp(&SAFE_DETERMINANT) != Some(std::cmp::Ordering::Greater) {
        return None;
    }
    let mut r = f;
    for _ in 0..12 {
        let next = (r + cofactor(r) * (1.0 / determinant)) * 0.5;
        let change = next - r;
        r = next;
        // The error is about the square of the last change.
        if double_dot(change, change) < 1e-13 {
            return Some(r);
        }
        determinant = r.determinant();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::rotation_xyz;

    fn size(m: DMat3) -> f64 {
        double_dot(m, m).sqrt()
    }

    #[test]
    fn any_matrix_is_rebuilt_from_rotations() {
        let turn = DMat3::from_quat(rotation_xyz(DVec3::new(30.0, -50.0, 110.0)));
        let cases = [
            DMat3::ZERO,
            DMat3::IDENTITY,
            -DMat3::IDENTITY,
            turn,
            turn * DMat3::from_diagonal(DVec3::new(2.0, 1.0, -0.3)),
            DMat3::from_diagonal(DVec3::new(1.0, 1e-9, 0.0)) * turn,
            DMat3::from_cols_array(&[2.0, -1.0, 0.3, 0.4, 0.5, 0.7, -0.3, 0.2, -1.2]),
        ];
        for f in cases {
            let svd = Svd::new(f);
            assert!(size(svd.with(svd.sigma) - f) < 1e-14 * (1.0 + size(f)), "{f}");
            for rotation in [svd.u, svd.v] {
                assert!(size(rotation.transpose() * rotation - DMat3::IDENTITY) < 1e-14);
                assert!((rotation.determinant() - 1.0).abs() < 1e-14);
            }
            assert!(svd.sigma.x >= svd.sigma.y && svd.sigma.y >= svd.sigma.z.abs() - 1e-15);
        }
    }

    #[test]
    fn both_ways_to_the_rotation_agree() {
        let turn = DMat3::from_quat(rotation_xyz(DVec3::new(-70.0, 20.0, 160.0)));
        for stretch in [DVec3::ONE, DVec3::new(1.3, 0.9, 0.8), DVec3::new(4.0, 1.0, 0.2)] {
            let f = turn * DMat3::from_diagonal(stretch);
            assert!(size(newton_rotation(f).unwrap() - turn) < 1e-12);
            assert!(size(Svd::new(f).rotation() - turn) < 1e-12);
        }
        let inverted = turn * DMat3::from_diagonal(DVec3::new(1.0, 0.9, -0.5));
        assert!(newton_rotation(inverted).is_none());
        assert!((nearest_rotation(inverted).determinant() - 1.0).abs() < 1e-12);
        assert!(newton_rotation(DMat3::NAN).is_none());
    }
}
