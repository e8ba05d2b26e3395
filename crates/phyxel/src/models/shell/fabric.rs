//! Stiffness that depends on direction and place: warp and weft, patches that are stiffer or thicker than the rest.
//!
//! The energy of a node is 1/2 eᵀ A e of its fitted (mean, deviator, shear) e. An isotropic sheet has A = D = diag(mean, deviator,
//! deviator); any other A is Tᵀ D T with T = D^(-1/2) Lᵀ and A = L Lᵀ, so that it is enough to let the fibers speak for T e instead of e. A constant
//! stress is in balance with one A as with the other: what `balance` has found holds for both.

use super::network::frame;
use crate::materials::Stiffness;
use crate::scene::Anisotropy;
use crate::{Diagnostic, Result};
use glam::{DMat3, DVec3};

/// What a node's matter is like beside that of the sheet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodeFactors {
    /// Stiffness in that of the material.
    pub stiffness: f64,
    /// Thickness in that of the sheet.
    pub thickness: f64,
}

impl NodeFactors {
    /// As everywhere.
    pub const ONE: Self = Self { stiffness: 1.0, thickness: 1.0 };
}

/// How the matter at each node differs from an isotropic sheet that is the same everywhere.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fabric {
    /// T of membrane and bending, per node.
    transforms: Vec<[DMat3; 2]>,
    /// Factor on what resists strains that no tensor explains, of membrane and bending, per node.
    residuals: Vec<[f64; 2]>,
    /// Per node.
    factors: Vec<NodeFactors>,
}

/// A grain: direction-dependent stiffness and how its axes are turned against the world's.
#[derive(Debug, Clone, PartialEq)]
pub struct Grain {
    /// Constants.
    pub anisotropy: Anisotropy,
    /// Rotation of the body.
    pub rotation: DMat3,
}

impl Fabric {
    /// The fabric of nodes with unit normals on a sheet with these constants [Pa].
    pub fn new(
        normals: &[DVec3],
        grain: Option<&Grain>,
        [young, poisson]: [f64; 2],
        factors: Vec<NodeFactors>,
    ) -> Result<Self> {
        let mut fabric = Self { factors, ..Self::default() };
        for (normal, factor) in normals.iter().zip(&fabric.factors) {
            let (transform, residual) = match grain {
                Some(grain) => transform(&plane_stiffness(grain, *normal)?, young, poisson)?,
                None => (DMat3::IDENTITY, 1.0),
            };
            let scales = [factor.stiffness * factor.thickness, factor.stiffness * factor.thickness.powi(3)];
            fabric.transforms.push(scales.map(|s| s.sqrt() * transform));
            fabric.residuals.push(scales.map(|s| s * residual));
        }
        Ok(fabric)
    }

    /// T of node `i`; identity for a plain sheet.
    pub fn transform(&self, i: usize, bending: bool) -> DMat3 {
        self.transforms.get(i).map_or(DMat3::IDENTITY, |t| t[usize::from(bending)])
    }

    /// Factor on the stiffness of residuals at node `i`.
    pub fn residual(&self, i: usize, bending: bool) -> f64 {
        self.residuals.get(i).map_or(1.0, |r| r[usize::from(bending)])
    }

    /// Stiffness at node `i` in that of the material.
    pub fn stiffness(&self, i: usize) -> f64 {
        self.factors.get(i).map_or(1.0, |f| f.stiffness)
    }

    /// Thickness at node `i` in that of the sheet.
    pub fn thickness(&self, i: usize) -> f64 {
        self.factors.get(i).map_or(1.0, |f| f.thickness)
    }
}

/// Stiffness of a thin sheet of the material against (mean, deviator, shear) in the frame of a normal [Pa]: no stress across it.
fn plane_stiffness(grain: &Grain, normal: DVec3) -> Result<DMat3> {
    let (e1, e2) = frame(normal);
    // World to the frame of the sheet.
    let turn = DMat3::from_cols(e1, e2, normal).transpose();
    let stiffness = Stiffness::anisotropic(&grain.anisotropy, turn * grain.rotation)?;
    let compliance = stiffness.compliance().ok_or_else(|| Diagnostic::new("the grain is not one").key("anisotropy"))?;
    let kept = [0, 1, 5];
    let row = |r: usize| DVec3::from_array(kept.map(|c| compliance[r][c]));
    let plane = DMat3::from_cols(row(0), row(1), row(5)).inverse();
    // Strains (xx, yy, 2 xy) of a unit mean, deviator and shear.
    let strains = DMat3::from_cols(DVec3::new(1.0, 1.0, 0.0), DVec3::new(1.0, -1.0, 0.0), DVec3::new(0.0, 0.0, 2.0));
    Ok(strains.transpose() * plane * strains)
}

/// T for a stiffness of the fabric, and the factor on residuals: its softest answer to a change of shape in that of the isotropic one.
fn transform(wanted: &DMat3, young: f64, poisson: f64) -> Result<(DMat3, f64)> {
    let plain = young / (1.0 - poisson * poisson);
    let (mean, deviator) = (2.0 * (1.0 + poisson) * plain, 2.0 * (1.0 - poisson) * plain);
    let (a, root) = (wanted, |x: f64| x.max(0.0).sqrt());
    // Cholesky factor.
    let l00 = root(a.x_axis.x);
    let (l10, l20) = (a.x_axis.y / l00, a.x_axis.z / l00);
    let l11 = root(a.y_axis.y - l10 * l10);
    let l21 = (a.y_axis.z - l20 * l10) / l11;
    let l22 = root(a.z_axis.z - l20 * l20 - l21 * l21);
    let (m, d) = (1.0 / mean.sqrt(), 1.0 / deviator.sqrt());
    // D^(-1/2) Lᵀ by columns.
    let transform = DMat3::from_cols(
        DVec3::new(m * l00, 0.0, 0.0),
        DVec3::new(m * l10, d * l11, 0.0),
        DVec3::new(m * l20, d * l21, d * l22),
    );
    if !transform.is_finite() {
        return Err(Diagnostic::new("the grain has no stiffness in some direction").key("anisotropy").into());
    }
    Ok((transform, (a.y_axis.y.min(a.z_axis.z) / deviator).min(1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cloth(rotate: f64) -> Grain {
        let anisotropy = Anisotropy::Orthotropic {
            young: [2e6, 1e5, 2e5],
            poisson: [0.0, 0.0, 0.03],
            shear: [5e4, 5e4, 8e4],
            rotate: DVec3::new(0.0, rotate, 0.0),
        };
        Grain { anisotropy, rotation: DMat3::IDENTITY }
    }

    /// Tᵀ D T.
    fn stiffness(fabric: &Fabric, young: f64, poisson: f64) -> DMat3 {
        let plain = young / (1.0 - poisson * poisson);
        let d = DVec3::new(2.0 * (1.0 + poisson), 2.0 * (1.0 - poisson), 2.0 * (1.0 - poisson)) * plain;
        let t = fabric.transform(0, false);
        t.transpose() * DMat3::from_diagonal(d) * t
    }

    #[test]
    fn the_transform_gives_the_plane_stress_of_the_grain() {
        for (rotate, normal) in [(0.0, DVec3::Y), (30.0, DVec3::Y), (10.0, DVec3::new(0.3, 0.9, -0.2).normalize())] {
            let grain = cloth(rotate);
            let fabric = Fabric::new(&[normal], Some(&grain), [2e6, 0.3], vec![NodeFactors::ONE]).unwrap();
            let wanted = plane_stiffness(&grain, normal).unwrap();
            assert!(stiffness(&fabric, 2e6, 0.3).abs_diff_eq(wanted, 1e-6 * 2e6));
            assert!(fabric.residual(0, true) > 0.0 && fabric.residual(0, true) <= 1.0);
        }
        // A pull along the warp of a level sheet stretches it by 1 / E_x.
        let wanted = plane_stiffness(&cloth(0.0), DVec3::Y).unwrap();
        let (e1, _) = frame(DVec3::Y);
        let sign = if e1.x.abs() > 0.5 { 1.0 } else { -1.0 };
        let pull = wanted.inverse() * DVec3::new(1.0, sign, 0.0);
        let along = pull.x + sign * pull.y;
        assert!((1.0 / along - 2e6).abs() < 1.0, "{}", 1.0 / along);
    }

    #[test]
    fn warp_and_weft_have_the_stiffness_of_the_textbook() {
        use crate::models::shell::Shell;
        use crate::models::shell::law::{Sheet, ShellLaw};
        use crate::models::shell::nodes::{NodeOptions, spread_nodes};
        use crate::models::shell::surface::TriangleSurface;
        let sheet = Sheet { young: 2e6, poisson: 0.3, thickness: 0.01 };
        let options = NodeOptions { spacing: 0.08, rows: false, seed: 3 };
        let nodes = spread_nodes(&TriangleSurface::rectangle(1.0, 0.7), &options, &|p, n| (p, n));
        let rest = nodes.positions.clone();
        let factors = vec![NodeFactors::ONE; rest.len()];
        let fabric = Fabric::new(&nodes.normals, Some(&cloth(0.0)), [2e6, 0.3], factors).unwrap();
        let mut shell = Shell::new(nodes, ShellLaw::Tensor, sheet).with_fabric(fabric);
        // Pulled or bent along one direction, free across; contraction xz = 0.03 E_x / E_z.
        for (along, across, young, contraction) in [(DVec3::X, DVec3::Z, 2e6, 0.3), (DVec3::Z, DVec3::X, 2e5, 0.03)] {
            let tiny = 1e-4;
            let mut energy = |field: &dyn Fn(f64, f64) -> DVec3| {
                let moved: Vec<DVec3> = rest.iter().map(|p| *p + tiny * field(p.dot(along), p.dot(across))).collect();
                shell.measure(&moved);
                shell.energy().iter().sum::<f64>() / (0.5 * tiny * tiny * 0.7)
            };
            let pull = energy(&|a, c| a * along - contraction * c * across) / (young * sheet.thickness);
            let bend = energy(&|a, c| 0.5 * (a * a - contraction * c * c) * DVec3::Y)
                / (young * sheet.thickness.powi(3) / 12.0);
            assert!((pull - 1.0).abs() < 2e-3 && (bend - 1.0).abs() < 5e-3, "{along}: {pull} {bend}");
        }
        // In shear the modulus zx counts.
        let sheared: Vec<DVec3> = rest.iter().map(|p| *p + 1e-4 * p.z * DVec3::X).collect();
        shell.measure(&sheared);
        let shear = shell.energy()[0] / (0.5 * 1e-8 * 0.7 * 8e4 * sheet.thickness);
        assert!((shear - 1.0).abs() < 2e-3, "{shear}");
    }

    #[test]
    fn patches_scale_stretching_and_bending() {
        let factor = NodeFactors { stiffness: 2.0, thickness: 3.0 };
        let fabric = Fabric::new(&[DVec3::Z], None, [1e5, 0.3], vec![factor]).unwrap();
        assert!((fabric.transform(0, false).x_axis.x.powi(2) - 6.0).abs() < 1e-12);
        assert!((fabric.transform(0, true).z_axis.z.powi(2) - 54.0).abs() < 1e-12);
        assert!((fabric.residual(0, true) - 54.0).abs() < 1e-12 && fabric.thickness(0) == 3.0);
        assert_eq!(
            (Fabric::default().transform(7, true), Fabric::default().residual(7, false)),
            (DMat3::IDENTITY, 1.0)
        );
    }
}
