//! Stencils: who is whose neighbor at rest, with which weight, and the gradient vectors that follow from it.
//!
//! A point i sees its neighbors j through x_ij = x_j - x_i (rest positions), weights w_ij, the moment matrix
//! A_i = Σ_j w_ij x_ij x_ijᵀ ([MKN04] eq. 8) and the gradient vectors
//!
//! ```text
//! plain       d_ij  = w_ij A_i⁻¹ x_ij
//! corrected   d~_ij = w_ij [ (A_i⁻¹ - v_i Gq_i) x_ij + v_i q_ij ],   q_ij = q_j - q_i,  Gq_i = Σ_j q_ij d_ijᵀ
//! ```
//!
//! so that ∇u_i = Σ_j u_ij d~_ijᵀ. Both are exact for affine fields. The vector field q comes from `gradient` and is zero
//! where no correction is wanted. Stencils never cross bodies.
//!
//! In a direction-dependent material a weight is also proportional to Young's modulus along x_ij: the zero-energy control, an
//! elastic energy of second gradients, is then as stiff in each direction as the matter is (docs/methods/mls.md).
//!
//! Differs from [MKN04] §3.2: the support radius of a pair is the mean of its two points', so that weights are symmetric
//! and one list serves both directions; volumes come from the sampler.

use super::gradient::{self, CorrectionOptions, CorrectionReport};
use crate::linalg::{outer, safe_inverse, trace};
use crate::materials::Grain;
use crate::sampling::SurfacePatch;
use glam::{DMat3, DVec3};
use rayon::prelude::*;
use std::ops::Range;

/// Eigenvalues of a moment matrix below this part of the largest count as a missing direction.
pub const MOMENT_CUT: f64 = 1e-6;

/// The rest neighborhoods of all points, one range of the flat arrays per point.
#[derive(Debug, Clone, Default)]
pub struct Stencils {
    /// Rest positions [m].
    pub rest_positions: Vec<DVec3>,
    /// Volumes [m³].
    pub volumes: Vec<f64>,
    /// Support radius of each point [m].
    pub support_radii: Vec<f64>,
    /// The neighbors of point i are entries `starts[i]..starts[i + 1]`.
    pub starts: Vec<usize>,
    /// Neighbors, ascending in each range, the point itself not among them.
    pub neighbors: Vec<u32>,
    /// Weights w_ij of the pairs, dimensionless; with a grain times the relative Young's modulus along x_ij.
    pub weights: Vec<f64>,
    /// The transposed lists when w_ij ≠ w_ji; None when one list serves both directions.
    pub reverse: Option<ReverseLists>,
    /// Safe inverses of the moment matrices [1/m²]; a missing direction has inverse 0, so J = I there.
    pub inverse_moments: Vec<DMat3>,
    /// Traces of the moment matrices, without the factor of a grain [m²].
    pub moment_traces: Vec<f64>,
    /// Number of directions each point sees: 3, fewer for coplanar, collinear or missing neighbors.
    pub ranks: Vec<u8>,
    /// Correction field q [1/m⁴]; zero without correction.
    pub q: Vec<DVec3>,
    /// Its plain gradients Gq_i (row c is the gradient of component c) [1/m⁵].
    pub q_gradients: Vec<DMat3>,
}

/// For each point i the points j that have i in their stencil, with w_ji.
#[derive(Debug, Clone, Default)]
pub struct ReverseLists {
    /// As `Stencils::starts`.
    pub starts: Vec<usize>,
    /// The points j, ascending.
    pub neighbors: Vec<u32>,
    /// The weights w_ji.
    pub weights: Vec<f64>,
}

/// How stencils are built.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StencilOptions {
    /// Number of nearest neighbors whose mean distance is the local spacing r̄.
    pub nearest: usize,
    /// Support radius over r̄, c_h.
    pub radius_factor: f64,
    /// Fewest neighbors a point should have; radii grow until it has them or growth does not help.
    pub fewest_neighbors: usize,
    /// The correction of the gradient vectors; None: plain gradients.
    pub correction: Option<CorrectionOptions>,
}

impl Default for StencilOptions {
    // c_h = 1.5 with the control at 1.5 bends and twists best for its cost; see docs/methods/mls.md.
    fn default() -> Self {
        Self { nearest: 10, radius_factor: 1.5, fewest_neighbors: 6, correction: Some(CorrectionOptions::default()) }
    }
}

/// What was found while building.
#[derive(Debug, Clone, Default)]
pub struct StencilReport {
    /// Points with a missing direction: too few, coplanar or coincident neighbors. They are elastic only in the others.
    pub degenerate: usize,
    /// Points whose support radius was enlarged.
    pub enlarged: usize,
    /// Fewest neighbors of a point.
    pub fewest: usize,
    /// Mean number of neighbors.
    pub mean: f64,
    /// Most neighbors of a point.
    pub most: usize,
    /// The correction of each body.
    pub corrections: Vec<CorrectionReport>,
}

impl Stencils {
    /// Builds the stencils of all bodies; `bodies` are consecutive ranges of points, `patches` their surfaces (empty: unknown).
    pub fn build(
        rest_positions: &[DVec3],
        volumes: &[f64],
        bodies: &[Range<usize>],
        patches: &[&[SurfacePatch]],
        options: &StencilOptions,
    ) -> (Self, StencilReport) {
        Self::build_with_grain(rest_positions, volumes, bodies, patches, &[], options)
    }

    /// As `build`, for bodies some of which are made of direction-dependent materials; no entry means no grain.
    pub fn build_with_grain(
        rest_positions: &[DVec3],
        volumes: &[f64],
        bodies: &[Range<usize>],
        patches: &[&[SurfacePatch]],
        grains: &[Option<Grain>],
        options: &StencilOptions,
    ) -> (Self, StencilReport) {
        let mut report = StencilReport::default();
        let mut all = Self { starts: vec![0], ..Self::default() };
        for (body, range) in bodies.iter().enumerate() {
            let (positions, volumes) = (&rest_positions[range.clone()], &volumes[range.clone()]);
            let grain = grains.get(body).and_then(Option::as_ref);
            let (mut one, enlarged) = super::support::one_body(positions, volumes, grain, options);
            report.enlarged += enlarged;
            if let Some(correction) = &options.correction {
                let surface = patches.get(body).copied().unwrap_or(&[]);
                report.corrections.push(gradient::correct(&mut one, surface, correction));
            }
            all.append(one);
        }
        all.count(&mut report);
        (all, report)
    }

    /// Stencils of one body from explicit lists; the weights may be unsymmetric and have any unit.
    pub fn from_lists(
        rest_positions: Vec<DVec3>,
        volumes: Vec<f64>,
        support_radii: Vec<f64>,
        starts: Vec<usize>,
        neighbors: Vec<u32>,
        weights: Vec<f64>,
    ) -> Self {
        let n = rest_positions.len();
        let mut stencils = Self {
            rest_positions,
            volumes,
            support_radii,
            starts,
            neighbors,
            weights,
            q: vec![DVec3::ZERO; n],
            q_gradients: vec![DMat3::ZERO; n],
            ..Self::default()
        };
        stencils.invert_moments();
        if !stencils.is_symmetric() {
            stencils.reverse = Some(stencils.transposed());
        }
        stencils
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.rest_positions.len()
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.rest_positions.is_empty()
    }

    /// Neighbors j of point i, ascending, and their weights w_ij.
    #[inline]
    pub fn row(&self, i: usize) -> (&[u32], &[f64]) {
        let range = self.starts[i]..self.starts[i + 1];
        (&self.neighbors[range.clone()], &self.weights[range])
    }

    /// Points j whose stencil holds point i, ascending, and their weights w_ji.
    #[inline]
    pub fn row_into(&self, i: usize) -> (&[u32], &[f64]) {
        let Some(reverse) = &self.reverse else { return self.row(i) };
        let range = reverse.starts[i]..reverse.starts[i + 1];
        (&reverse.neighbors[range.clone()], &reverse.weights[range])
    }

    /// Neighbors j of point i with their weights w_ij, ascending.
    #[inline]
    pub fn of(&self, i: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let (neighbors, weights) = self.row(i);
        neighbors.iter().zip(weights).map(|(&j, &w)| (j as usize, w))
    }

    /// Points j whose stencil holds point i, with their weights w_ji, ascending.
    #[inline]
    pub fn into(&self, i: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let (neighbors, weights) = self.row_into(i);
        neighbors.iter().zip(weights).map(|(&j, &w)| (j as usize, w))
    }

    /// x_ij = x_j - x_i [m].
    #[inline]
    pub fn rest_vector(&self, i: usize, j: usize) -> DVec3 {
        self.rest_positions[j] - self.rest_positions[i]
    }

    /// Plain gradient vector d_ij of a pair with weight w [1/m].
    #[inline]
    pub fn plain_gradient_vector(&self, i: usize, j: usize, w: f64) -> DVec3 {
        self.inverse_moments[i] * self.rest_vector(i, j) * w
    }

    /// Corrected gradient vector d~_ij of a pair with weight w [1/m].
    #[inline]
    pub fn gradient_vector(&self, i: usize, j: usize, w: f64) -> DVec3 {
        let x_ij = self.rest_vector(i, j);
        let residual = self.q[j] - self.q[i] - self.q_gradients[i] * x_ij;
        (self.inverse_moments[i] * x_ij + residual * self.volumes[i]) * w
    }

    /// B_i = A_i⁻¹ - v_i Gq_i, with which d~_ij = w_ij (B_i x_ij + v_i q_ij).
    #[inline]
    pub fn gradient_matrix(&self, i: usize) -> DMat3 {
        self.inverse_moments[i] - self.q_gradients[i] * self.volumes[i]
    }

    /// κ_i = α E v_i / tr A_i, the stiffness of the zero-energy control of point i for α E = `control_modulus` [N/m].
    #[inline]
    pub fn control_stiffness(&self, i: usize, control_modulus: f64) -> f64 {
        if self.moment_traces[i] > 0.0 { control_modulus * self.volumes[i] / self.moment_traces[i] } else { 0.0 }
    }

    /// Gradient of a vector field with the corrected vectors, one point: Σ_j (u_j - u_i) d~_ijᵀ.
    pub fn gradient(&self, i: usize, field: &[DVec3]) -> DMat3 {
        self.of(i).fold(DMat3::ZERO, |sum, (j, w)| sum + outer(field[j] - field[i], self.gradient_vector(i, j, w)))
    }

    /// Gradient of a vector field with the plain vectors, one point.
    pub fn plain_gradient(&self, i: usize, field: &[DVec3]) -> DMat3 {
        let moment =
            self.of(i).fold(DMat3::ZERO, |sum, (j, w)| sum + outer((field[j] - field[i]) * w, self.rest_vector(i, j)));
        moment * self.inverse_moments[i]
    }

    fn invert_moments(&mut self) {
        let moment = |i: usize| {
            self.of(i).fold(DMat3::ZERO, |sum, (j, w)| {
                let x_ij = self.rest_vector(i, j);
                sum + outer(x_ij * w, x_ij)
            })
        };
        let solved: Vec<(f64, (DMat3, usize))> = (0..self.len())
            .into_par_iter()
            .map(|i| {
                let moment = moment(i);
                (trace(moment), safe_inverse(moment, MOMENT_CUT))
            })
            .collect();
        self.moment_traces = solved.iter().map(|(trace, _)| *trace).collect();
        self.inverse_moments = solved.iter().map(|(_, (inverse, _))| *inverse).collect();
        self.ranks = solved.iter().map(|(_, (_, rank))| *rank as u8).collect();
    }

    /// Whether every pair is in both lists with one weight.
    fn is_symmetric(&self) -> bool {
        let mirrored = |i: usize, j: usize, w: f64| {
            let (neighbors, weights) = self.row(j);
            neighbors.binary_search(&(i as u32)).is_ok_and(|k| weights[k] == w)
        };
        (0..self.len()).into_par_iter().all(|i| self.of(i).all(|(j, w)| mirrored(i, j, w)))
    }

    fn transposed(&self) -> ReverseLists {
        let n = self.len();
        let mut starts = vec![0; n + 1];
        for &j in &self.neighbors {
            starts[j as usize + 1] += 1;
        }
        for i in 0..n {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut neighbors = vec![0; self.neighbors.len()];
        let mut weights = vec![0.0; self.neighbors.len()];
        for i in 0..n {
            for (j, w) in self.of(i) {
                neighbors[next[j]] = i as u32;
                weights[next[j]] = w;
                next[j] += 1;
            }
        }
        ReverseLists { starts, neighbors, weights }
    }

    fn append(&mut self, other: Self) {
        let (points, pairs) = (self.len() as u32, self.neighbors.len());
        self.starts.extend(other.starts[1..].iter().map(|start| start + pairs));
        self.neighbors.extend(other.neighbors.iter().map(|j| j + points));
        self.rest_positions.extend(other.rest_positions);
        self.volumes.extend(other.volumes);
        self.support_radii.extend(other.support_radii);
        self.weights.extend(other.weights);
        self.inverse_moments.extend(other.inverse_moments);
        self.moment_traces.extend(other.moment_traces);
        self.ranks.extend(other.ranks);
        self.q.extend(other.q);
        self.q_gradients.extend(other.q_gradients);
    }

    fn count(&self, report: &mut StencilReport) {
        let counts = self.starts.windows(2).map(|pair| pair[1] - pair[0]);
        report.fewest = counts.clone().min().unwrap_or(0);
        report.most = counts.max().unwrap_or(0);
        report.mean = self.neighbors.len() as f64 / self.len().max(1) as f64;
        report.degenerate = self.ranks.iter().filter(|&&rank| rank < 3).count();
    }
}
