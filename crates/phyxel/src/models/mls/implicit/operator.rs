//! Energy, force and tangent products of the solid in gather form: two passes, each point writes only its own entries.
//!
//! With H0 the plain and J the corrected gradient of a field u, the force on point i is
//!
//! ```text
//! own stencil      P_i D_i + κ_i (Σ_j w_ij u_ij - H0_i s_i)          D_i = B_i s_i + v_i Σ_j w_ij q_ij,   s_i = Σ_j w_ij x_ij
//! other stencils   Σ_j w_ji [ (P_j B_j - κ_j H0_j) x_ij + v_j P_j q_ij + κ_j u_ij ]
//! ```
//!
//! Pass 1 gathers Σ w u_ij x_ijᵀ, Σ w u_ij q_ijᵀ and Σ w u_ij, applies the law and leaves one record per point; pass 2
//! gathers the records. A product with the tangent is the same with the change of P instead of P.

use super::super::stencils::Stencils;
use super::lanes::{List, Place, Record, Row, pull, stretch, widest};
use crate::conjugate_gradient::{CHUNK, chunked_sum};
use crate::linalg::outer;
use crate::materials::elastic::TangentKind;
use crate::materials::{ElasticLaw, Stiffness, Tangent};
use glam::{DMat3, DVec3};
use rayon::prelude::*;

const EMPTY: Record = Record { m: [[0.0; 4]; 3], n: [[0.0; 4]; 3] };

/// Constants of a point.
#[derive(Debug, Clone, Copy)]
struct Fixed {
    gradient_matrix: DMat3,
    inverse_moment: DMat3,
    own_vector: DVec3,
    weighted_sum: DVec3,
    volume: f64,
    control: f64,
    control_of_others: f64,
    control_diagonal: f64,
}

/// What pass 1 finds of a field at a point.
struct Gradients {
    corrected: DMat3,
    plain: DMat3,
    weighted_sum: DVec3,
}

/// The elastic body as an operator on displacement fields; the arrays are kept between steps.
#[derive(Debug, Clone, Default)]
pub(super) struct Operator {
    places: Vec<Place>,
    fixed: Vec<Fixed>,
    records: Vec<Record>,
    own_forces: Vec<DVec3>,
    tangents: Vec<Tangent>,
}

/// Stencils, laws and the body of each point.
#[derive(Clone, Copy)]
pub(super) struct Solid<'a> {
    pub stencils: &'a Stencils,
    pub laws: &'a [ElasticLaw],
    pub bodies: &'a [u32],
    pub stored_strains: &'a [DMat3],
}

impl Solid<'_> {
    #[inline]
    fn law(&self, i: usize) -> &ElasticLaw {
        &self.laws[self.bodies[i] as usize]
    }
    #[inline]
    fn stored(&self, i: usize) -> DMat3 {
        self.stored_strains.get(i).copied().unwrap_or(DMat3::ZERO)
    }
}

impl Operator {
    /// Fills the constants for these stencils and laws.
    pub fn prepare(&mut self, solid: Solid) {
        let stencils = solid.stencils;
        let n = stencils.len();
        let place = |i: usize| Place { x: lanes(stencils.rest_positions[i], 1.0), q: lanes(stencils.q[i], 0.0) };
        (0..n).into_par_iter().map(place).collect_into_vec(&mut self.places);
        (0..n).into_par_iter().map(|i| fixed(solid, i)).collect_into_vec(&mut self.fixed);
        self.records.resize(n, EMPTY);
        self.own_forces.resize(n, DVec3::ZERO);
    }

    /// Energy of the displacements u [J].
    pub fn energy(&self, solid: Solid, u: &[DVec3]) -> f64 {
        chunked_sum(u.len(), 0.0, |range| range.map(|i| self.point_energy(solid, u, i)).sum())
    }

    fn point_energy(&self, solid: Solid, u: &[DVec3], i: usize) -> f64 {
        let found = self.gradients(solid.stencils, u, i);
        // The residuals themselves, because their squares would cancel badly under large rotation.
        let residuals = solid.stencils.of(i).map(|(j, w)| {
            let r = u[j] - u[i] - found.plain * solid.stencils.rest_vector(i, j);
            w * r.length_squared()
        });
        let control = 0.5 * self.fixed[i].control * residuals.sum::<f64>();
        control + self.fixed[i].volume * solid.law(i).energy_density_stored(found.corrected, solid.stored(i))
    }

    /// Elastic and control forces at the displacements u [N].
    pub fn forces(&mut self, solid: Solid, u: &[DVec3], out: &mut [DVec3]) {
        self.first_pass(solid, u, |i, gradient| solid.law(i).first_piola_stored(gradient, solid.stored(i)));
        self.second_pass(solid.stencils, u, out);
    }

    /// Stores the positive semidefinite tangent at the displacements u.
    pub fn linearize(&mut self, solid: Solid, u: &[DVec3]) {
        let mut tangents = std::mem::take(&mut self.tangents);
        let tangent = |i: usize| {
            let gradient = self.gradients(solid.stencils, u, i).corrected;
            solid.law(i).tangent(gradient, solid.stored(i), TangentKind::Positive)
        };
        (0..u.len()).into_par_iter().with_min_len(256).map(tangent).collect_into_vec(&mut tangents);
        self.tangents = tangents;
    }

    /// K δu with the stored tangent [N].
    pub fn product(&mut self, solid: Solid, change: &[DVec3], out: &mut [DVec3]) {
        let tangents = std::mem::take(&mut self.tangents);
        self.first_pass(solid, change, |i, gradient| tangents[i].apply(&solid.law(i).stiffness, gradient));
        self.tangents = tangents;
        self.second_pass(solid.stencils, change, out);
    }

    /// Diagonal block -K_ii of the stored tangent, symmetric positive semidefinite [N/m].
    pub fn diagonal_block(&self, solid: Solid, i: usize) -> DMat3 {
        let stencils = solid.stencils;
        let own = self.stress_block(solid, i, self.fixed[i].own_vector);
        let others = stencils
            .into(i)
            .fold(DMat3::ZERO, |sum, (j, w)| sum + self.stress_block(solid, j, stencils.gradient_vector(j, i, w)));
        own + others + DMat3::IDENTITY * self.fixed[i].control_diagonal
    }

    // v { (dᵀ S d) I + (λ + μ) (J d)(J d)ᵀ + μ |d|² J Jᵀ + slope (cof d)(cof d)ᵀ }.
    fn stress_block(&self, solid: Solid, i: usize, d: DVec3) -> DMat3 {
        let (tangent, law) = (&self.tangents[i], solid.law(i));
        let block = match law.stiffness {
            Stiffness::Isotropic { lambda, mu } => tangent.isotropic_block(lambda, mu, d),
            Stiffness::Anisotropic(_) => {
                let column = |axis: DVec3| tangent.apply(&law.stiffness, outer(axis, d)) * d;
                DMat3::from_cols(column(DVec3::X), column(DVec3::Y), column(DVec3::Z))
            }
        };
        block * self.fixed[i].volume
    }

    #[inline(always)]
    fn gradients(&self, stencils: &Stencils, u: &[DVec3], i: usize) -> Gradients {
        let (with_x, with_q) = stretch(list(stencils.row(i)), &self.places, u, i);
        let fixed = &self.fixed[i];
        let x_transposed = transposed(&with_x);
        let corrected = fixed.gradient_matrix * x_transposed + transposed(&with_q) * fixed.volume;
        Gradients {
            corrected: corrected.transpose(),
            plain: (fixed.inverse_moment * x_transposed).transpose(),
            weighted_sum: DVec3::new(with_x[0][3], with_x[1][3], with_x[2][3]),
        }
    }

    // Records and own halves of the forces for the stress `law(i, gradient)` per volume.
    fn first_pass(&mut self, solid: Solid, u: &[DVec3], law: impl Fn(usize, DMat3) -> DMat3 + Sync) {
        let (mut records, mut forces) = (std::mem::take(&mut self.records), std::mem::take(&mut self.own_forces));
        let chunks = records.par_chunks_mut(CHUNK).zip(forces.par_chunks_mut(CHUNK)).enumerate();
        let this = &*self;
        chunks.for_each(|(chunk, (records, forces))| {
            widest(
                #[inline(always)]
                || {
                    for k in 0..records.len() {
                        let i = chunk * CHUNK + k;
                        (records[k], forces[k]) = this.send(solid, u, i, &law);
                    }
                },
            );
        });
        (self.records, self.own_forces) = (records, forces);
    }

    // Record and own half of the force of point i.
    #[inline(always)]
    fn send(&self, solid: Solid, u: &[DVec3], i: usize, law: &impl Fn(usize, DMat3) -> DMat3) -> (Record, DVec3) {
        let fixed = &self.fixed[i];
        let found = self.gradients(solid.stencils, u, i);
        let stress = law(i, found.corrected) * fixed.volume;
        let sent = stress * fixed.gradient_matrix - found.plain * fixed.control;
        let record = Record { m: rows(sent, u[i] * fixed.control), n: rows(stress * fixed.volume, DVec3::ZERO) };
        let control = (found.weighted_sum - found.plain * fixed.weighted_sum) * fixed.control;
        (record, stress * fixed.own_vector + control)
    }

    fn second_pass(&self, stencils: &Stencils, u: &[DVec3], out: &mut [DVec3]) {
        out.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, out)| {
            widest(
                #[inline(always)]
                || {
                    for k in 0..out.len() {
                        let i = chunk * CHUNK + k;
                        let own = self.own_forces[i] - u[i] * self.fixed[i].control_of_others;
                        out[k] = own + self.received(stencils, i);
                    }
                },
            );
        });
    }

    #[inline(always)]
    fn received(&self, stencils: &Stencils, i: usize) -> DVec3 {
        let sums = pull(list(stencils.row_into(i)), &self.places, &self.records, i);
        DVec3::from_array(sums.map(|row| (row[0] + row[1]) + (row[2] + row[3])))
    }
}

fn fixed(solid: Solid, i: usize) -> Fixed {
    let stencils = solid.stencils;
    let modulus = solid.law(i).control_modulus;
    let (mut s, mut t, mut total) = (DVec3::ZERO, DVec3::ZERO, 0.0);
    for (j, w) in stencils.of(i) {
        s += stencils.rest_vector(i, j) * w;
        t += (stencils.q[j] - stencils.q[i]) * w;
        total += w;
    }
    let control = stencils.control_stiffness(i, modulus);
    let (mut of_others, mut diagonal) = (0.0, control * (total - s.dot(stencils.inverse_moments[i] * s)));
    for (j, w) in stencils.into(i) {
        let stiffness = w * stencils.control_stiffness(j, modulus);
        let d_ji = stencils.plain_gradient_vector(j, i, w);
        of_others += stiffness;
        diagonal += stiffness * (1.0 - d_ji.dot(stencils.rest_vector(j, i)));
    }
    let gradient_matrix = stencils.gradient_matrix(i);
    Fixed {
        gradient_matrix,
        inverse_moment: stencils.inverse_moments[i],
        own_vector: gradient_matrix * s + t * stencils.volumes[i],
        weighted_sum: s,
        volume: stencils.volumes[i],
        control,
        control_of_others: of_others,
        control_diagonal: diagonal,
    }
}

#[inline(always)]
fn list<'a>((neighbors, weights): (&'a [u32], &'a [f64])) -> List<'a> {
    List { neighbors, weights }
}

#[inline(always)]
fn lanes(v: DVec3, rider: f64) -> Row {
    [v.x, v.y, v.z, rider]
}

#[inline(always)]
fn rows(m: DMat3, riders: DVec3) -> [Row; 3] {
    let t = m.transpose();
    [lanes(t.x_axis, riders.x), lanes(t.y_axis, riders.y), lanes(t.z_axis, riders.z)]
}

// The matrix whose columns are the rows.
#[inline(always)]
fn transposed(rows: &[Row; 3]) -> DMat3 {
    let column = |r: usize| DVec3::new(rows[r][0], rows[r][1], rows[r][2]);
    DMat3::from_cols(column(0), column(1), column(2))
}
