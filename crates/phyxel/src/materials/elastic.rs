//! Elastic law of a point: energy density, stress and tangent as functions of the deformation gradient.
//!
//! Departs from [MKN04] eq. 4, 16, 18: the true Green strain G = ½(JᵀJ - I) and second Piola stress S = C : G are used,
//! which makes a bar as stiff as Young's modulus says (the printed measure is four times too stiff). Energy density
//!
//! ```text
//! U = ½ G : S + ½ k_v (|J| - 1)² + k_c Φ(|J|)        P = J S + (k_v (|J| - 1) + k_c Φ'(|J|)) cof J
//! Φ'(j) = 0 above j_c,  j - j_c between 0 and j_c,  -j_c below 0
//! ```
//!
//! k_v is [MKN04] eq. 20 and changes E and ν, so it is 0 unless asked for. k_c is ours: it acts only on matter crushed below
//! the volume ratio j_c, where the law above it loses its resistance, and drives mirrored matter back with a constant
//! pressure: a growing one would need smaller time steps.

use super::stiffness::Stiffness;
use crate::error::{Diagnostic, Result};
use crate::linalg::{cofactor, cofactor_change, determinant_change, double_dot, outer, positive_part, symmetric_part};
use crate::scene::MaterialSpec;
use glam::{DMat3, DVec3};

/// `collapse_stiffness` in units of Young's modulus when the scene does not say.
pub const DEFAULT_COLLAPSE_FACTOR: f64 = 3.0;

/// `control` of an elastic body when the scene does not say.
pub const DEFAULT_CONTROL: f64 = 1.5;
/// `control` of a body that is or becomes plastic when the scene does not say: the control itself does not yield, and
/// springs a plastic bend back by its share of the stiffness.
pub const PLASTIC_CONTROL: f64 = 0.3;

/// The elastic constants of one material, ready for use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ElasticLaw {
    /// Strain to stress.
    pub stiffness: Stiffness,
    /// Extra resistance to volume change k_v [Pa].
    pub volume_stiffness: f64,
    /// Resistance to collapse k_c [Pa].
    pub collapse_stiffness: f64,
    /// Volume ratio j_c below which `collapse_stiffness` acts.
    pub collapse_ratio: f64,
    /// Modulus of the zero-energy control, α E [Pa].
    pub control_modulus: f64,
}

/// Which derivative of the stress is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TangentKind {
    /// The true derivative; indefinite under compression.
    Exact,
    /// Without the parts that can have negative curvature, so that M - dt² K is positive definite.
    Positive,
}

/// What a law answers to one deformation.
#[derive(Debug, Clone, Copy)]
pub struct Response {
    /// ½ G : S [J/m³].
    pub elastic_energy: f64,
    /// Energy of the volume and collapse terms [J/m³].
    pub volume_energy: f64,
    /// J S [Pa].
    pub elastic_stress: DMat3,
    /// (k_v (|J| - 1) + k_c Φ'(|J|)) cof J [Pa].
    pub volume_stress: DMat3,
}

/// The derivative of the first Piola stress at one deformation.
#[derive(Debug, Clone, Copy)]
pub struct Tangent {
    deformation: DMat3,
    stress: DMat3,
    cofactor: DMat3,
    volume_slope: f64,
    pressure: f64,
}

impl Response {
    /// First Piola stress, both terms [Pa].
    pub fn first_piola(&self) -> DMat3 {
        self.elastic_stress + self.volume_stress
    }

    /// Energy density, both terms [J/m³].
    pub fn energy(&self) -> f64 {
        self.elastic_energy + self.volume_energy
    }
}

impl ElasticLaw {
    /// Isotropic law with no extra volume stiffness, the default collapse guard and control α = 1.5.
    pub fn isotropic(young: f64, poisson: f64) -> Self {
        Self {
            stiffness: Stiffness::isotropic(young, poisson),
            volume_stiffness: 0.0,
            collapse_stiffness: DEFAULT_COLLAPSE_FACTOR * young,
            collapse_ratio: 0.6,
            control_modulus: DEFAULT_CONTROL * young,
        }
    }

    /// The law of a scene's material on a body turned by `body_rotation`.
    /// A non-positive Young's modulus, Poisson's ratio outside (-1, 0.5) or an impossible anisotropy is refused.
    pub fn from_spec(spec: &MaterialSpec, body_rotation: DMat3) -> Result<Self> {
        let stiffness = match &spec.anisotropy {
            Some(anisotropy) => Stiffness::anisotropic(anisotropy, body_rotation)?,
            None => {
                check_isotropic(spec)?;
                Stiffness::isotropic(spec.young, spec.poisson)
            }
        };
        let young = stiffness.young();
        Ok(Self {
            stiffness,
            volume_stiffness: spec.volume_stiffness,
            collapse_stiffness: spec.collapse_stiffness.unwrap_or(DEFAULT_COLLAPSE_FACTOR * young),
            collapse_ratio: spec.collapse_ratio.max(0.0),
            control_modulus: spec.control.unwrap_or(DEFAULT_CONTROL) * young,
        })
    }

    /// Stiffness against a pressure wave at rest, λ + 2 μ + k_v [Pa]; the wave speed is its root over the density.
    pub fn longitudinal_modulus(&self) -> f64 {
        self.stiffness.longitudinal_modulus() + self.volume_stiffness
    }

    /// Energies and stresses at J = I + `gradient`, with a stored strain in the measure JᵀJ - I (zero if elastic).
    pub fn respond(&self, gradient: DMat3, stored_strain: DMat3) -> Response {
        let deformation = DMat3::IDENTITY + gradient;
        let green = green_strain(gradient, stored_strain);
        let stress = self.stiffness.stress(green);
        let volume = self.volume_response(determinant_change(gradient));
        Response {
            elastic_energy: 0.5 * double_dot(green, stress),
            volume_energy: volume.energy,
            elastic_stress: deformation * stress,
            volume_stress: cofactor(deformation) * volume.pressure,
        }
    }

    /// First Piola stress at J = I + `gradient` without stored strain [Pa].
    #[inline]
    pub fn first_piola(&self, gradient: DMat3) -> DMat3 {
        self.first_piola_stored(gradient, DMat3::ZERO)
    }

    /// First Piola stress at J = I + `gradient` with a stored strain in the measure JᵀJ - I [Pa].
    #[inline]
    pub fn first_piola_stored(&self, gradient: DMat3, stored_strain: DMat3) -> DMat3 {
        let deformation = DMat3::IDENTITY + gradient;
        let stress = self.stiffness.stress(green_strain(gradient, stored_strain));
        let volume = self.volume_response(determinant_change(gradient));
        deformation * stress + cofactor(deformation) * volume.pressure
    }

    /// Cauchy stress P Jᵀ / |J| at J = I + `gradient` and a stored strain [Pa]; zero where the volume has vanished.
    pub fn cauchy_stress(&self, gradient: DMat3, stored_strain: DMat3) -> DMat3 {
        let ratio = 1.0 + determinant_change(gradient);
        if ratio.abs() < 1e-12 {
            return DMat3::ZERO;
        }
        self.first_piola_stored(gradient, stored_strain) * (DMat3::IDENTITY + gradient).transpose() * (1.0 / ratio)
    }

    /// Energy density at J = I + `gradient` without stored strain [J/m³].
    #[inline]
    pub fn energy_density(&self, gradient: DMat3) -> f64 {
        self.energy_density_stored(gradient, DMat3::ZERO)
    }

    /// Energy density at J = I + `gradient` with a stored strain in the measure JᵀJ - I [J/m³].
    #[inline]
    pub fn energy_density_stored(&self, gradient: DMat3, stored_strain: DMat3) -> f64 {
        let green = green_strain(gradient, stored_strain);
        let volume = self.volume_response(determinant_change(gradient));
        0.5 * double_dot(green, self.stiffness.stress(green)) + volume.energy
    }

    /// The derivative of the first Piola stress at J = I + `gradient`.
    pub fn tangent(&self, gradient: DMat3, stored_strain: DMat3, kind: TangentKind) -> Tangent {
        let deformation = DMat3::IDENTITY + gradient;
        let stress = self.stiffness.stress(green_strain(gradient, stored_strain));
        let volume = self.volume_response(determinant_change(gradient));
        let exact = kind == TangentKind::Exact;
        Tangent {
            deformation,
            stress: if exact { stress } else { positive_part(stress) },
            cofactor: cofactor(deformation),
            volume_slope: volume.slope,
            pressure: if exact { volume.pressure } else { 0.0 },
        }
    }

    /// Volume and collapse terms as functions of |J| - 1.
    #[inline]
    pub fn volume_response(&self, change: f64) -> VolumeResponse {
        let deepest = -self.collapse_ratio.max(0.0);
        let below = (change + (1.0 - self.collapse_ratio)).min(0.0);
        let crush = below.max(deepest);
        let guard = if below < 0.0 && below > deepest { self.collapse_stiffness } else { 0.0 };
        VolumeResponse {
            energy: 0.5 * self.volume_stiffness * change * change
                + self.collapse_stiffness * crush * (below - 0.5 * crush),
            pressure: self.volume_stiffness * change + self.collapse_stiffness * crush,
            slope: self.volume_stiffness + guard,
        }
    }
}

/// Energy of the volume and collapse terms and its derivatives with |J|.
#[derive(Debug, Clone, Copy)]
pub struct VolumeResponse {
    /// Energy density [J/m³].
    pub energy: f64,
    /// First derivative [Pa].
    pub pressure: f64,
    /// Second derivative [Pa].
    pub slope: f64,
}

impl Tangent {
    /// Change of the first Piola stress for a change of J [Pa]; `stiffness` is that of the law it came from.
    #[inline]
    pub fn apply(&self, stiffness: &Stiffness, change: DMat3) -> DMat3 {
        let green = symmetric_part(self.deformation.transpose() * change);
        let volume = self.cofactor * (self.volume_slope * double_dot(self.cofactor, change));
        let positive = change * self.stress + self.deformation * stiffness.stress(green) + volume;
        if self.pressure == 0.0 {
            return positive;
        }
        positive + cofactor_change(self.deformation, change) * self.pressure
    }

    /// The 3x3 block e_c ↦ apply(e_c dᵀ) d of an isotropic law with these Lamé constants [Pa/m² for d in 1/m].
    #[inline]
    pub fn isotropic_block(&self, lambda: f64, mu: f64, d: DVec3) -> DMat3 {
        let (j_d, cof_d) = (self.deformation * d, self.cofactor * d);
        DMat3::from_diagonal(DVec3::splat(d.dot(self.stress * d)))
            + outer(j_d, j_d) * (lambda + mu)
            + self.deformation * self.deformation.transpose() * (mu * d.length_squared())
            + outer(cof_d, cof_d) * self.volume_slope
    }
}

/// Von Mises stress of a Cauchy stress [Pa].
pub fn von_mises(s: DMat3) -> f64 {
    let (x, y, z) = (s.x_axis.x, s.y_axis.y, s.z_axis.z);
    let normal = (x - y).powi(2) + (y - z).powi(2) + (z - x).powi(2);
    let shear = s.x_axis.y.powi(2) + s.y_axis.z.powi(2) + s.z_axis.x.powi(2);
    (0.5 * normal + 3.0 * shear).sqrt()
}

/// G = ½ (JᵀJ - I - ε) for J = I + h, without cancellation for small h.
#[inline]
pub fn green_strain(h: DMat3, stored_strain: DMat3) -> DMat3 {
    symmetric_part(h) + (h.transpose() * h - stored_strain) * 0.5
}

fn check_isotropic(spec: &MaterialSpec) -> Result<()> {
    if !(spec.young > 0.0 && spec.young.is_finite()) {
        let what = format!("Young's modulus is {}", spec.young);
        return Err(Diagnostic::new(what).key("young").expected("a modulus above 0 Pa").into());
    }
    if !(spec.poisson > -1.0 && spec.poisson < 0.5) {
        let what = format!("Poisson's ratio is {}", spec.poisson);
        let fault = Diagnostic::new(what).key("poisson").expected("a ratio above -1 and below 0.5");
        return Err(fault.hint("0.49 is nearly incompressible").into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Anisotropy;

    fn laws() -> Vec<ElasticLaw> {
        let isotropic = ElasticLaw { volume_stiffness: 4e4, ..ElasticLaw::isotropic(1e5, 0.3) };
        let wood = Anisotropy::Orthotropic {
            young: [1e6, 2e5, 3e5],
            poisson: [0.4, 0.2, 0.1],
            shear: [5e4, 6e4, 7e4],
            rotate: DVec3::new(10.0, 20.0, 30.0),
        };
        let stiffness = Stiffness::anisotropic(&wood, DMat3::IDENTITY).unwrap();
        vec![isotropic, ElasticLaw { stiffness, ..isotropic }]
    }

    // Stretched, crushed below the guard, and mirrored.
    fn gradients() -> Vec<DMat3> {
        let h = DMat3::from_cols_array(&[0.2, -0.1, 0.05, 0.3, -0.15, 0.1, 0.02, 0.07, 0.12]);
        vec![h, h - DMat3::from_diagonal(DVec3::new(0.0, 0.6, 0.0)), h - DMat3::from_diagonal(DVec3::X * 2.0)]
    }

    fn direction() -> DMat3 {
        DMat3::from_cols_array(&[0.3, 0.8, -0.5, 0.1, -0.4, 0.9, 0.6, -0.2, 0.7])
    }

    #[test]
    fn stress_is_the_derivative_of_the_energy() {
        let (d, eps) = (direction(), 1e-6);
        for law in laws() {
            for h in gradients() {
                let slope = (law.energy_density(h + d * eps) - law.energy_density(h - d * eps)) / (2.0 * eps);
                let power = double_dot(law.first_piola(h), d);
                assert!((slope - power).abs() < 1e-6 * power.abs().max(1e4), "{slope} {power}");
                let response = law.respond(h, DMat3::ZERO);
                let sum = response.elastic_stress + response.volume_stress - law.first_piola(h);
                assert!(double_dot(sum, sum).sqrt() < 1e-9);
            }
        }
    }

    #[test]
    fn exact_tangent_is_the_derivative_of_the_stress_and_the_other_is_positive() {
        let (d, eps) = (direction(), 1e-6);
        for law in laws() {
            for h in gradients() {
                let slope = (law.first_piola(h + d * eps) - law.first_piola(h - d * eps)) * (0.5 / eps);
                let exact = law.tangent(h, DMat3::ZERO, TangentKind::Exact).apply(&law.stiffness, d);
                let error = slope - exact;
                assert!(double_dot(error, error) < 1e-12 * double_dot(exact, exact), "{slope} {exact}");
                let positive = law.tangent(h, DMat3::ZERO, TangentKind::Positive).apply(&law.stiffness, d);
                assert!(double_dot(positive, d) > 0.0);
            }
        }
    }

    #[test]
    fn guard_leaves_small_strain_alone() {
        let guarded = ElasticLaw::isotropic(1e5, 0.3);
        let plain = ElasticLaw { collapse_stiffness: 0.0, ..guarded };
        let h = gradients()[0];
        assert_eq!(guarded.first_piola(h), plain.first_piola(h));
        assert!(guarded.energy_density(gradients()[2]) > plain.energy_density(gradients()[2]));
    }
}
