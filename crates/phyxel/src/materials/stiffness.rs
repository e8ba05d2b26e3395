//! The linear map from Green strain to second Piola stress: isotropic, or any symmetric positive definite 6x6.

use crate::error::{Diagnostic, Result};
use crate::linalg::{rotation_xyz, trace};
use crate::scene::Anisotropy;
use glam::{DMat3, DVec3};

/// A 6x6 matrix in Voigt order xx yy zz yz zx xy; strains enter with doubled shear, stresses with single shear [Pa].
pub type Voigt = [[f64; 6]; 6];

/// Linear elastic stiffness S = C : G.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(clippy::large_enum_variant)] // A world holds a handful of these.
pub enum Stiffness {
    /// Lamé constants [Pa].
    Isotropic {
        /// First Lamé constant λ [Pa].
        lambda: f64,
        /// Shear modulus μ [Pa].
        mu: f64,
    },
    /// 21 independent constants [Pa].
    Anisotropic(Voigt),
}

impl Stiffness {
    /// Stiffness of an isotropic material with Young's modulus E [Pa] and Poisson's ratio ν.
    pub fn isotropic(young: f64, poisson: f64) -> Self {
        Self::Isotropic {
            lambda: young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson)),
            mu: young / (2.0 * (1.0 + poisson)),
        }
    }

    /// Stiffness of a direction-dependent material whose frame is turned by `body_rotation` from the world's.
    /// A matrix that is not positive definite is refused.
    pub fn anisotropic(anisotropy: &Anisotropy, body_rotation: DMat3) -> Result<Self> {
        let (own, rotate) = match anisotropy {
            Anisotropy::Orthotropic { young, poisson, shear, rotate } => (orthotropic(young, poisson, shear)?, rotate),
            Anisotropy::Full { stiffness, rotate } => (from_upper_triangle(stiffness)?, rotate),
        };
        if cholesky(&own).is_none() {
            return Err(Diagnostic::new("the stiffness is not positive definite: some strain would release energy")
                .key("anisotropy")
                .expected("a positive definite stiffness")
                .hint("lower the Poisson's ratios or the off-diagonal constants")
                .into());
        }
        Ok(Self::Anisotropic(rotated(&own, body_rotation * DMat3::from_quat(rotation_xyz(*rotate)))))
    }

    /// As a matrix in Voigt order [Pa].
    pub fn voigt(&self) -> Voigt {
        match self {
            Self::Isotropic { lambda, mu } => std::array::from_fn(|r| {
                std::array::from_fn(|c| {
                    let shear = if r < 3 { 2.0 * mu } else { *mu };
                    f64::from(u8::from(r < 3 && c < 3)) * lambda + f64::from(u8::from(r == c)) * shear
                })
            }),
            Self::Anisotropic(c) => *c,
        }
    }

    /// Second Piola stress of a Green strain [Pa].
    #[inline]
    pub fn stress(&self, green: DMat3) -> DMat3 {
        match self {
            Self::Isotropic { lambda, mu } => {
                green * (2.0 * mu) + DMat3::from_diagonal(DVec3::splat(lambda * trace(green)))
            }
            Self::Anisotropic(c) => apply(c, green),
        }
    }

    /// Largest stiffness against a plane wave in any direction [Pa]; λ + 2 μ when isotropic, an upper bound otherwise.
    pub fn longitudinal_modulus(&self) -> f64 {
        match self {
            Self::Isotropic { lambda, mu } => lambda + 2.0 * mu,
            Self::Anisotropic(c) => largest_eigenvalue_bound(c),
        }
    }

    /// Young's modulus [Pa]; of an anisotropic material the harmonic mean over the axes.
    pub fn young(&self) -> f64 {
        match self {
            Self::Isotropic { lambda, mu } => mu * (3.0 * lambda + 2.0 * mu) / (lambda + mu),
            Self::Anisotropic(c) => 3.0 / (0..3).map(|axis| compliance_column(c, axis)[axis]).sum::<f64>(),
        }
    }

    /// Inverse of a direction-dependent stiffness: strains with doubled shear from stresses [1/Pa]; None when isotropic.
    pub fn compliance(&self) -> Option<Voigt> {
        match self {
            Self::Isotropic { .. } => None,
            Self::Anisotropic(c) => Some(std::array::from_fn(|column| compliance_column(c, column))),
        }
    }
}

fn to_voigt_strain(g: DMat3) -> [f64; 6] {
    let [x, y, z] = [g.x_axis, g.y_axis, g.z_axis];
    [x.x, y.y, z.z, y.z + z.y, z.x + x.z, x.y + y.x]
}

fn from_voigt_stress(s: [f64; 6]) -> DMat3 {
    DMat3::from_cols(DVec3::new(s[0], s[5], s[4]), DVec3::new(s[5], s[1], s[3]), DVec3::new(s[4], s[3], s[2]))
}

#[inline]
fn apply(c: &Voigt, green: DMat3) -> DMat3 {
    let e = to_voigt_strain(green);
    from_voigt_stress(c.map(|row| (0..6).map(|k| row[k] * e[k]).sum()))
}

// The stress of each unit strain, seen in the turned frame.
fn rotated(c: &Voigt, rotation: DMat3) -> Voigt {
    let mut result = [[0.0; 6]; 6];
    for k in 0..6 {
        let mut unit = [0.0; 6];
        unit[k] = if k < 3 { 1.0 } else { 0.5 };
        let strain = from_voigt_stress(unit);
        let stress = rotation * apply(c, rotation.transpose() * strain * rotation) * rotation.transpose();
        let column = to_voigt_strain(stress);
        for row in 0..6 {
            result[row][k] = if row < 3 { column[row] } else { 0.5 * column[row] };
        }
    }
    // Rounding must not make the stiffness unsymmetric.
    for row in 0..6 {
        for column in 0..row {
            let mean = 0.5 * (result[row][column] + result[column][row]);
            result[row][column] = mean;
            result[column][row] = mean;
        }
    }
    result
}

fn orthotropic(young: &[f64; 3], poisson: &[f64; 3], shear: &[f64; 3]) -> Result<Voigt> {
    if young.iter().chain(shear).any(|&modulus| !(modulus > 0.0 && modulus.is_finite())) {
        let fault = Diagnostic::new("a modulus is not positive").key("anisotropy").expected("moduli above 0 Pa");
        return Err(fault.into());
    }
    // Compliance: a pull along the first index contracts along the second.
    let [xy, yz, zx] = [-poisson[0] / young[0], -poisson[1] / young[1], -poisson[2] / young[2]];
    let compliance = DMat3::from_cols(
        DVec3::new(1.0 / young[0], xy, zx),
        DVec3::new(xy, 1.0 / young[1], yz),
        DVec3::new(zx, yz, 1.0 / young[2]),
    );
    let scale = young[0];
    let normal = (compliance * scale).inverse() * scale;
    let mut c = [[0.0; 6]; 6];
    for row in 0..3 {
        for column in 0..3 {
            c[row][column] = normal.col(column)[row];
        }
    }
    [c[3][3], c[4][4], c[5][5]] = [shear[1], shear[2], shear[0]];
    Ok(c)
}

fn from_upper_triangle(values: &[f64]) -> Result<Voigt> {
    if values.len() != 21 {
        return Err(Diagnostic::new(format!("{} stiffness constants", values.len()))
            .key("anisotropy.stiffness")
            .expected("21 values, the upper triangle row by row")
            .into());
    }
    let mut c = [[0.0; 6]; 6];
    let mut next = values.iter();
    for row in 0..6 {
        for column in row..6 {
            let value = *next.next().unwrap_or(&0.0);
            c[row][column] = value;
            c[column][row] = value;
        }
    }
    Ok(c)
}

// Lower factor of a positive definite matrix, None if it is not (NaN included).
fn cholesky(c: &Voigt) -> Option<Voigt> {
    let mut l = [[0.0; 6]; 6];
    for i in 0..6 {
        for j in 0..=i {
            let rest: f64 = c[i][j] - (0..j).map(|k| l[i][k] * l[j][k]).sum::<f64>();
            if i == j {
                if !(rest > 1e-12 * c[i][i] && rest.is_finite()) {
                    return None;
                }
                l[i][i] = rest.sqrt();
            } else {
                l[i][j] = rest / l[j][j];
            }
        }
    }
    Some(l)
}

// A column of the inverse, infinite where there is none.
fn compliance_column(c: &Voigt, column: usize) -> [f64; 6] {
    let Some(l) = cholesky(c) else { return [f64::INFINITY; 6] };
    let mut y = [0.0; 6];
    for i in 0..6 {
        let unit = if i == column { 1.0 } else { 0.0 };
        y[i] = (unit - (0..i).map(|k| l[i][k] * y[k]).sum::<f64>()) / l[i][i];
    }
    for i in (0..6).rev() {
        y[i] = (y[i] - (i + 1..6).map(|k| l[k][i] * y[k]).sum::<f64>()) / l[i][i];
    }
    y
}

// Gershgorin bound in the basis where shear is counted as a tensor (Mandel), which bounds every acoustic tensor.
fn largest_eigenvalue_bound(c: &Voigt) -> f64 {
    let scale = |k: usize| if k < 3 { 1.0 } else { std::f64::consts::SQRT_2 };
    let row_sum = |row: usize| (0..6).map(|k| (c[row][k] * scale(row) * scale(k)).abs()).sum::<f64>();
    (0..6).map(row_sum).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::double_dot;

    fn strain() -> DMat3 {
        DMat3::from_cols_array(&[0.1, 0.02, -0.03, 0.02, -0.2, 0.05, -0.03, 0.05, 0.07])
    }

    fn isotropic_constants(young: f64, poisson: f64) -> Vec<f64> {
        let Stiffness::Isotropic { lambda, mu } = Stiffness::isotropic(young, poisson) else { panic!() };
        let mut values = Vec::new();
        for row in 0..6 {
            for column in row..6 {
                let normal = if row < 3 && column < 3 { lambda } else { 0.0 };
                let diagonal = if row != column { 0.0 } else { [2.0 * mu, mu][usize::from(row > 2)] };
                values.push(normal + diagonal);
            }
        }
        values
    }

    fn assert_near(a: DMat3, b: DMat3, tolerance: f64) {
        let d = a - b;
        assert!(double_dot(d, d).sqrt() <= tolerance * double_dot(b, b).sqrt(), "{a} {b}");
    }

    #[test]
    fn isotropic_constants_in_the_full_form_give_the_isotropic_stress_in_any_frame() {
        let anisotropy =
            Anisotropy::Full { stiffness: isotropic_constants(2e5, 0.3), rotate: DVec3::new(20.0, -50.0, 70.0) };
        let full = Stiffness::anisotropic(&anisotropy, DMat3::from_rotation_x(0.4)).unwrap();
        let isotropic = Stiffness::isotropic(2e5, 0.3);
        assert_near(full.stress(strain()), isotropic.stress(strain()), 1e-14);
        assert!((full.young() / 2e5 - 1.0).abs() < 1e-12);
        assert!((isotropic.young() / 2e5 - 1.0).abs() < 1e-12);
        assert!(full.longitudinal_modulus() >= isotropic.longitudinal_modulus() * (1.0 - 1e-12));
    }

    #[test]
    fn orthotropic_constants_are_read_back_from_pulls() {
        let anisotropy = Anisotropy::Orthotropic {
            young: [1e6, 2e5, 3e5],
            poisson: [0.4, 0.2, 0.1],
            shear: [5e4, 6e4, 7e4],
            rotate: DVec3::new(0.0, 0.0, 90.0),
        };
        let stiffness = Stiffness::anisotropic(&anisotropy, DMat3::IDENTITY).unwrap();
        // Turned by 90 degrees about z the stiff axis x lies along y; -0.4 is the contraction along the new -x.
        let strain = DMat3::from_diagonal(DVec3::new(-0.4, 1.0, -0.1 * 1e6 / 3e5));
        assert_near(stiffness.stress(strain), DMat3::from_diagonal(DVec3::Y * 1e6), 1e-12);
        let shear = DMat3::from_cols(DVec3::Y * 0.5, DVec3::X * 0.5, DVec3::ZERO);
        assert_near(stiffness.stress(shear), shear * 1e5, 1e-12);
    }

    #[test]
    fn impossible_constants_are_refused() {
        let orthotropic = |young, poisson| Anisotropy::Orthotropic {
            young,
            poisson: [poisson; 3],
            shear: [1e4; 3],
            rotate: DVec3::ZERO,
        };
        for bad in [orthotropic([1e5; 3], 0.6), orthotropic([0.0; 3], 0.1), orthotropic([f64::NAN; 3], 0.1)] {
            assert!(Stiffness::anisotropic(&bad, DMat3::IDENTITY).is_err());
        }
        let short = Anisotropy::Full { stiffness: vec![1.0; 20], rotate: DVec3::ZERO };
        assert!(Stiffness::anisotropic(&short, DMat3::IDENTITY).is_err());
    }
}
