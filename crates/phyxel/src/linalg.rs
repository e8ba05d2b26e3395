//! Small dense matrices: what 3x3 algebra needs beyond glam.

use glam::{DMat3, DQuat, DVec3};

/// a bᵀ.
#[inline]
pub fn outer(a: DVec3, b: DVec3) -> DMat3 {
    DMat3::from_cols(a * b.x, a * b.y, a * b.z)
}

/// a : b, the sum of the products of the entries.
#[inline]
pub fn double_dot(a: DMat3, b: DMat3) -> f64 {
    a.x_axis.dot(b.x_axis) + a.y_axis.dot(b.y_axis) + a.z_axis.dot(b.z_axis)
}

/// Sum of the diagonal.
#[inline]
pub fn trace(m: DMat3) -> f64 {
    m.x_axis.x + m.y_axis.y + m.z_axis.z
}

/// (m + mᵀ) / 2.
#[inline]
pub fn symmetric_part(m: DMat3) -> DMat3 {
    (m + m.transpose()) * 0.5
}

/// The cofactor matrix, the derivative of the determinant.
#[inline]
pub fn cofactor(m: DMat3) -> DMat3 {
    DMat3::from_cols(m.y_axis.cross(m.z_axis), m.z_axis.cross(m.x_axis), m.x_axis.cross(m.y_axis))
}

/// The change of `cofactor(m)` with `m` in the direction `d`.
#[inline]
pub fn cofactor_change(m: DMat3, d: DMat3) -> DMat3 {
    DMat3::from_cols(
        d.y_axis.cross(m.z_axis) + m.y_axis.cross(d.z_axis),
        d.z_axis.cross(m.x_axis) + m.z_axis.cross(d.x_axis),
        d.x_axis.cross(m.y_axis) + m.x_axis.cross(d.y_axis),
    )
}

/// det(I + h) - 1 without cancellation for small h.
#[inline]
pub fn determinant_change(h: DMat3) -> f64 {
    let minors = trace(cofactor(h));
    trace(h) + minors + h.determinant()
}

/// The matrix s with s t = v × t.
#[inline]
pub fn cross_matrix(v: DVec3) -> DMat3 {
    DMat3::from_cols(DVec3::new(0.0, v.z, -v.y), DVec3::new(-v.z, 0.0, v.x), DVec3::new(v.y, -v.x, 0.0))
}

/// Rotation about x, then y, then z by angles in degrees: the meaning of every `rotate` in a scene.
pub fn rotation_xyz(degrees: DVec3) -> DQuat {
    let angle = degrees * std::f64::consts::PI / 180.0;
    DQuat::from_rotation_z(angle.z) * DQuat::from_rotation_y(angle.y) * DQuat::from_rotation_x(angle.x)
}

/// Eigenvalues, ascending, and unit eigenvectors (columns) of a symmetric matrix.
#[derive(Debug, Clone, Copy)]
pub struct SymmetricEigen {
    /// Eigenvalues, ascending.
    pub values: DVec3,
    /// Eigenvectors as columns, in the order of `values`.
    pub vectors: DMat3,
}

impl SymmetricEigen {
    /// Cyclic Jacobi rotations; only the symmetric part of `m` counts. Non-finite input gives non-finite output.
    pub fn new(m: DMat3) -> Self {
        let mut a = symmetric_part(m).to_cols_array_2d();
        let mut v = DMat3::IDENTITY.to_cols_array_2d();
        for _ in 0..30 {
            let off = a[0][1].abs() + a[0][2].abs() + a[1][2].abs();
            let on = a[0][0].abs() + a[1][1].abs() + a[2][2].abs();
            // Negated so that NaN ends the loop too.
            if off.partial_cmp(&(1e-17 * on)) != Some(std::cmp::Ordering::Greater) {
                break;
            }
            for (p, q) in [(0, 1), (0, 2), (1, 2)] {
                rotate_away(&mut a, &mut v, p, q);
            }
        }
        let mut order = [0, 1, 2];
        order.sort_by(|&i, &j| a[i][i].total_cmp(&a[j][j]));
        let column = |k: usize| DVec3::from_array(v[order[k]]);
        Self {
            values: DVec3::from_array(order.map(|k| a[k][k])),
            vectors: DMat3::from_cols(column(0), column(1), column(2)),
        }
    }

    /// The matrix with the same eigenvectors and the eigenvalues f(λ).
    pub fn map(&self, f: impl Fn(f64) -> f64) -> DMat3 {
        let scaled = DMat3::from_cols(
            self.vectors.x_axis * f(self.values.x),
            self.vectors.y_axis * f(self.values.y),
            self.vectors.z_axis * f(self.values.z),
        );
        scaled * self.vectors.transpose()
    }
}

// One Jacobi rotation in the plane (p, q); `v` keeps the eigenvectors as its rows.
fn rotate_away(a: &mut [[f64; 3]; 3], v: &mut [[f64; 3]; 3], p: usize, q: usize) {
    if a[p][q] == 0.0 {
        return;
    }
    // An infinite theta (a negligible entry) gives t = 0.
    let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
    let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
    let c = 1.0 / (t * t + 1.0).sqrt();
    let s = t * c;
    let apq = a[p][q];
    a[p][p] -= t * apq;
    a[q][q] += t * apq;
    a[p][q] = 0.0;
    a[q][p] = 0.0;
    let r = 3 - p - q;
    let (arp, arq) = (a[r][p], a[r][q]);
    a[r][p] = c * arp - s * arq;
    a[r][q] = s * arp + c * arq;
    a[p][r] = a[r][p];
    a[q][r] = a[r][q];
    for k in 0..3 {
        let (vp, vq) = (v[p][k], v[q][k]);
        v[p][k] = c * vp - s * vq;
        v[q][k] = s * vp + c * vq;
    }
}

/// Pseudo-inverse of a symmetric positive semidefinite matrix and the number of directions kept.
///
/// Directions whose eigenvalue is at most `relative_cut` times the largest are left out (inverse 0), so that few or
/// coplanar neighbors have a defined answer.
pub fn safe_inverse(m: DMat3, relative_cut: f64) -> (DMat3, usize) {
    let eigen = SymmetricEigen::new(m);
    let largest = eigen.values.z;
    if !(largest > 0.0 && largest.is_finite()) {
        return (DMat3::ZERO, 0);
    }
    let keeps = |value: f64| value > relative_cut * largest;
    let rank = eigen.values.to_array().iter().filter(|&&value| keeps(value)).count();
    (eigen.map(|value| if keeps(value) { 1.0 / value } else { 0.0 }), rank)
}

/// The nearest positive semidefinite matrix to a symmetric one.
pub fn positive_part(m: DMat3) -> DMat3 {
    SymmetricEigen::new(m).map(|value| value.max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> DMat3 {
        DMat3::from_cols_array(&[2.0, -1.0, 0.3, -1.0, 0.5, 0.7, 0.3, 0.7, -1.2])
    }

    #[test]
    fn eigen_rebuilds_the_matrix() {
        for m in [sample(), DMat3::IDENTITY, DMat3::ZERO, outer(DVec3::X, DVec3::X) * 1e-12] {
            let eigen = SymmetricEigen::new(m);
            let error = eigen.map(|value| value) - m;
            assert!(double_dot(error, error).sqrt() <= 1e-15 * (1.0 + double_dot(m, m).sqrt()));
            assert!(eigen.values.x <= eigen.values.y && eigen.values.y <= eigen.values.z);
        }
    }

    #[test]
    fn eigen_of_not_a_number_ends() {
        assert!(SymmetricEigen::new(DMat3::from_diagonal(DVec3::splat(f64::NAN))).values.x.is_nan());
        assert_eq!(safe_inverse(DMat3::from_diagonal(DVec3::splat(f64::NAN)), 1e-6).1, 0);
    }

    #[test]
    fn determinant_change_is_exact_for_small_and_large() {
        let h = sample();
        assert!((determinant_change(h) - ((DMat3::IDENTITY + h).determinant() - 1.0)).abs() < 1e-13);
        assert!((determinant_change(h * 1e-12) - 1e-12 * trace(h)).abs() < 1e-22);
    }

    #[test]
    fn cofactor_is_the_derivative_of_the_determinant() {
        let (m, d) = (sample(), DMat3::from_cols_array(&[0.1, 0.4, -0.2, 0.3, 0.0, 0.6, -0.5, 0.2, 0.1]));
        let eps = 1e-6;
        let slope = ((m + d * eps).determinant() - (m - d * eps).determinant()) / (2.0 * eps);
        assert!((double_dot(cofactor(m), d) - slope).abs() < 1e-9);
        let change = (cofactor(m + d * eps) - cofactor(m - d * eps)) * (0.5 / eps) - cofactor_change(m, d);
        assert!(double_dot(change, change) < 1e-16);
    }

    #[test]
    fn positive_part_has_no_negative_eigenvalue() {
        let values = SymmetricEigen::new(positive_part(sample())).values;
        assert!(values.x > -1e-15 && values.z > 2.0);
    }
}
