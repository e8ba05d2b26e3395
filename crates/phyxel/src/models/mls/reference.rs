//! The elastic solid in its plainest form: serial, f64, scatter loops written from the formulas. The truth for tests.
//!
//! ```text
//! J_i = I + Σ_j u_ij d~_ijᵀ     U_i = v_i U(J_i)     P_i = v_i ∂U/∂J        f_j -= P_i d~_ij,  f_i += P_i d~_ij
//! r_ij = u_ij - ∇u_i x_ij (plain gradient)           κ_i = α E v_i / tr A_i
//! U_i^z = ½ κ_i Σ_j w_ij |r_ij|²                     f_j -= κ_i w_ij r_ij,  f_i += κ_i w_ij r_ij
//! ```
//!
//! Departs from [MKN04] eq. 18, 19: the stress and volume are those of the stencil's own point i for every neighbor j, which is
//! what minus the derivative of the energy says. The second energy is the zero-energy control: it penalizes what the
//! moving-least-squares fit throws away, and vanishes for affine motion.

use super::stencils::Stencils;
use crate::linalg::{cofactor, cross_matrix, outer};
use crate::materials::{ElasticLaw, Stiffness, elastic::TangentKind};
use glam::{DMat3, DVec3};

/// Points, laws and stored strains; displacements are given per question.
#[derive(Debug, Clone, Copy)]
pub struct Reference<'a> {
    /// The neighborhoods.
    pub stencils: &'a Stencils,
    /// One law per body.
    pub laws: &'a [ElasticLaw],
    /// Body of each point; empty: all points are body 0.
    pub bodies: &'a [u32],
    /// Strain in the measure JᵀJ - I that is no longer felt, per point; empty: none.
    pub stored_strains: &'a [DMat3],
}

/// Energies of a state [J].
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Energies {
    /// ½ G : S.
    pub elastic: f64,
    /// Volume and collapse terms.
    pub volume: f64,
    /// Zero-energy control.
    pub control: f64,
}

impl Energies {
    /// All of it.
    pub fn total(&self) -> f64 {
        self.elastic + self.volume + self.control
    }
}

/// Forces of a state, by term [N].
#[derive(Debug, Clone, Default)]
pub struct Forces {
    /// Of the elastic energy.
    pub elastic: Vec<DVec3>,
    /// Of the volume and collapse terms.
    pub volume: Vec<DVec3>,
    /// Of the zero-energy control.
    pub control: Vec<DVec3>,
}

impl Forces {
    /// Their sum.
    pub fn total(&self) -> Vec<DVec3> {
        (0..self.elastic.len()).map(|i| self.elastic[i] + self.volume[i] + self.control[i]).collect()
    }
}

impl<'a> Reference<'a> {
    /// One elastic material, nothing stored.
    pub fn new(stencils: &'a Stencils, laws: &'a [ElasticLaw]) -> Self {
        Self { stencils, laws, bodies: &[], stored_strains: &[] }
    }

    /// Law of point i.
    pub fn law(&self, i: usize) -> &'a ElasticLaw {
        &self.laws[self.bodies.get(i).map_or(0, |&body| body as usize)]
    }

    fn stored_strain(&self, i: usize) -> DMat3 {
        self.stored_strains.get(i).copied().unwrap_or(DMat3::ZERO)
    }

    /// Energies at the displacements u [m].
    pub fn energies(&self, u: &[DVec3]) -> Energies {
        let mut sum = Energies::default();
        for i in 0..self.stencils.len() {
            let response = self.law(i).respond(self.stencils.gradient(i, u), self.stored_strain(i));
            sum.elastic += self.stencils.volumes[i] * response.elastic_energy;
            sum.volume += self.stencils.volumes[i] * response.volume_energy;
            let residuals = self.residuals(i, u).map(|(_, w, r)| w * r.length_squared());
            sum.control += 0.5 * self.control_stiffness(i) * residuals.sum::<f64>();
        }
        sum
    }

    /// Forces at the displacements u [N].
    pub fn forces(&self, u: &[DVec3]) -> Forces {
        let n = self.stencils.len();
        let mut forces = Forces { elastic: vec![DVec3::ZERO; n], volume: vec![DVec3::ZERO; n], control: vec![] };
        for i in 0..n {
            let response = self.law(i).respond(self.stencils.gradient(i, u), self.stored_strain(i));
            let volume = self.stencils.volumes[i];
            self.scatter_stress(i, response.elastic_stress * volume, &mut forces.elastic);
            self.scatter_stress(i, response.volume_stress * volume, &mut forces.volume);
        }
        forces.control = self.control_forces(u);
        forces
    }

    /// δf = K δu at the displacements u, all terms [N].
    pub fn tangent_product(&self, u: &[DVec3], change: &[DVec3], kind: TangentKind) -> Vec<DVec3> {
        // The control is linear: its force routine is its own derivative.
        let mut result = self.control_forces(change);
        for i in 0..self.stencils.len() {
            let law = self.law(i);
            let tangent = law.tangent(self.stencils.gradient(i, u), self.stored_strain(i), kind);
            let stress = tangent.apply(&law.stiffness, self.stencils.gradient(i, change));
            self.scatter_stress(i, stress * self.stencils.volumes[i], &mut result);
        }
        result
    }

    /// The block ∂f_k/∂u_l of the exact tangent, assembled from the formulas; isotropic laws only (else None) [N/m].
    pub fn tangent_block(&self, u: &[DVec3], k: usize, l: usize) -> Option<DMat3> {
        let mut block = DMat3::ZERO;
        for i in 0..self.stencils.len() {
            let (Some(d_k), Some(d_l)) = (self.own_vector(i, k), self.own_vector(i, l)) else { continue };
            block -= self.stencil_block(i, u, d_k, d_l)? + DMat3::IDENTITY * self.control_block(i, k, l);
        }
        Some(block)
    }

    // d~_ik for k in the stencil of i or i itself.
    fn own_vector(&self, i: usize, k: usize) -> Option<DVec3> {
        if i == k {
            return Some(-self.stencils.of(i).map(|(j, w)| self.stencils.gradient_vector(i, j, w)).sum::<DVec3>());
        }
        self.stencils.of(i).find(|&(j, _)| j == k).map(|(j, w)| self.stencils.gradient_vector(i, j, w))
    }

    // v_i { (d_lᵀ S d_k) I + λ (J d_k)(J d_l)ᵀ + μ [(J d_l)(J d_k)ᵀ + (d_k·d_l) J Jᵀ]
    //       + slope (cof d_k)(cof d_l)ᵀ + pressure [J (d_l × d_k)]_× }
    fn stencil_block(&self, i: usize, u: &[DVec3], d_k: DVec3, d_l: DVec3) -> Option<DMat3> {
        let law = self.law(i);
        let Stiffness::Isotropic { lambda, mu } = law.stiffness else { return None };
        let gradient = self.stencils.gradient(i, u);
        let jacobian = DMat3::IDENTITY + gradient;
        let green = crate::materials::elastic::green_strain(gradient, self.stored_strain(i));
        let stress = law.stiffness.stress(green);
        let (j_k, j_l) = (jacobian * d_k, jacobian * d_l);
        let cof = cofactor(jacobian);
        let volume = law.volume_response(jacobian.determinant() - 1.0);
        let block = DMat3::IDENTITY * d_l.dot(stress * d_k)
            + outer(j_k, j_l) * lambda
            + (outer(j_l, j_k) + jacobian * jacobian.transpose() * d_k.dot(d_l)) * mu
            + outer(cof * d_k, cof * d_l) * volume.slope
            + cross_matrix(jacobian * d_l.cross(d_k)) * volume.pressure;
        Some(block * self.stencils.volumes[i])
    }

    // κ_i Σ_j w_ij (∂r_ij/∂u_k)(∂r_ij/∂u_l), a multiple of the identity.
    fn control_block(&self, i: usize, k: usize, l: usize) -> f64 {
        let plain_own: DVec3 = self.stencils.of(i).map(|(j, w)| self.stencils.plain_gradient_vector(i, j, w)).sum();
        let slope = |j: usize, m: usize, x_ij: DVec3| {
            let d_m = if m == i {
                -plain_own
            } else {
                let weight = self.stencils.of(i).find(|&(j, _)| j == m).map_or(0.0, |(_, w)| w);
                self.stencils.plain_gradient_vector(i, m, weight)
            };
            f64::from(u8::from(j == m)) - f64::from(u8::from(i == m)) - d_m.dot(x_ij)
        };
        let sum: f64 = self
            .stencils
            .of(i)
            .map(|(j, w)| {
                let x_ij = self.stencils.rest_vector(i, j);
                w * slope(j, k, x_ij) * slope(j, l, x_ij)
            })
            .sum();
        self.control_stiffness(i) * sum
    }

    fn control_stiffness(&self, i: usize) -> f64 {
        self.stencils.control_stiffness(i, self.law(i).control_modulus)
    }

    // (j, w_ij, r_ij) over the stencil of i.
    fn residuals<'u>(&'u self, i: usize, u: &'u [DVec3]) -> impl Iterator<Item = (usize, f64, DVec3)> + 'u {
        let gradient = self.stencils.plain_gradient(i, u);
        self.stencils.of(i).map(move |(j, w)| (j, w, u[j] - u[i] - gradient * self.stencils.rest_vector(i, j)))
    }

    fn control_forces(&self, u: &[DVec3]) -> Vec<DVec3> {
        let mut forces = vec![DVec3::ZERO; u.len()];
        for i in 0..u.len() {
            let stiffness = self.control_stiffness(i);
            for (j, w, r) in self.residuals(i, u) {
                forces[j] -= r * (stiffness * w);
                forces[i] += r * (stiffness * w);
            }
        }
        forces
    }

    fn scatter_stress(&self, i: usize, stress: DMat3, forces: &mut [DVec3]) {
        for (j, w) in self.stencils.of(i) {
            let force = stress * self.stencils.gradient_vector(i, j, w);
            forces[j] -= force;
            forces[i] += force;
        }
    }
}
