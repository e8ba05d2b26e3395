//! Gradient vectors consistent with the surface: uniform stress is in equilibrium on any sampling.
//!
//! A constant stress P gives point j the force -P g_j with g_j = Σ_i v_i d_ij (own terms d_jj = -Σ d_jk included). In a solid
//! that would be -P b_j with the surface vector b_j = ∫ N_j n dA: zero inside. On irregular points it is not, and the body
//! is too soft. The correction is the smallest change Σ |δd_ij|² / w_ij that keeps affine fields exact and makes
//! Σ_i v_i d~_ij = b_j. Its multipliers q solve, for each axis,
//!
//! ```text
//! H q = b - g,   qᵀ H q = Σ_i v_i² Σ_j w_ij R_ij²,   R_ij = q_j - q_i - (∇q)_i · x_ij
//! ```
//!
//! whose null space are the affine fields, and d~_ij = d_ij + v_i w_ij R_ij(q). Not in [MKN04].

use super::fast::{Engine, Instructions, PackedEngine, Passes, Split};
use super::stencils::Stencils;
use crate::conjugate_gradient::{Stop, solve_per_axis};
use crate::linalg::{outer, safe_inverse};
use crate::neighbors::Grid;
use crate::sampling::SurfacePatch;
use glam::{DMat3, DVec3};
use rayon::prelude::*;

/// Points per parallel task.
const CHUNK: usize = 256;

/// Tolerances from which the packed operator is exact enough.
const PACKED_TOLERANCE: f64 = 1e-4;

/// How exactly the correction is solved for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CorrectionOptions {
    /// Residual over its value at the start.
    pub tolerance: f64,
    /// Most iterations of the solve.
    pub max_iterations: usize,
}

impl Default for CorrectionOptions {
    // A thousandth changes Young's modulus and Poisson's ratio by less than 1e-4. Large bodies would need ever more
    // iterations for the smoothest part of the defect, which matters least: what is reached after 300 is taken.
    fn default() -> Self {
        Self { tolerance: 1e-3, max_iterations: 300 }
    }
}

/// What the correction of one body came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CorrectionReport {
    /// The gradient vectors are corrected.
    Done {
        /// Iterations of the solve.
        iterations: usize,
        /// Root mean square of g - b before the correction over that of b.
        defect: f64,
        /// What is left of the defect, relative.
        residual: f64,
    },
    /// No surface is known: plain gradients.
    NoSurface,
    /// The solve did not come near: plain gradients.
    Failed {
        /// Iterations spent.
        iterations: usize,
        /// Best relative residual met.
        residual: f64,
    },
}

/// Computes the correction of one body from its surface and stores it in the stencils.
pub fn correct(stencils: &mut Stencils, patches: &[SurfacePatch], options: &CorrectionOptions) -> CorrectionReport {
    if patches.is_empty() || stencils.is_empty() {
        return CorrectionReport::NoSurface;
    }
    let surface = surface_vectors(stencils, patches);
    let divergence = plain_divergence(stencils);
    let mut right: Vec<DVec3> = surface.iter().zip(&divergence).map(|(b, g)| *b - *g).collect();
    project_out_affine(stencils, &mut right);
    let defect = norm(&right) / norm(&surface).max(f64::MIN_POSITIVE);
    // Rounding alone is not to be corrected.
    if defect < 1e-12 {
        return CorrectionReport::Done { iterations: 0, defect, residual: 0.0 };
    }
    let stop = Stop { tolerance: options.tolerance, max_iterations: options.max_iterations };
    let diagonal = inverse_diagonal(stencils);
    let mut gradients = Vec::new();
    let (q, outcome) = if stencils.reverse.is_none() && options.tolerance >= PACKED_TOLERANCE {
        let mut operator = PackedOperator::new(stencils);
        solve_per_axis(|q, out| operator.apply(q, out), &diagonal, &right, stop)
    } else {
        gradients.resize(stencils.len(), DMat3::ZERO);
        solve_per_axis(|q, out| apply_operator(stencils, q, &mut gradients, out), &diagonal, &right, stop)
    };
    if !outcome.converged && outcome.residual > 0.1 {
        return CorrectionReport::Failed { iterations: outcome.iterations, residual: outcome.residual };
    }
    gradients.resize(stencils.len(), DMat3::ZERO);
    plain_gradients(stencils, &q, &mut gradients);
    stencils.q = q;
    stencils.q_gradients = gradients;
    CorrectionReport::Done { iterations: outcome.iterations, defect, residual: outcome.residual }
}

/// Surface vectors b_i [m²]: each patch at s belongs to its nearest point i, u(s) = u_i + ∇u_i (s - x_i).
pub fn surface_vectors(stencils: &Stencils, patches: &[SurfacePatch]) -> Vec<DVec3> {
    let n = stencils.len();
    let edge = stencils.support_radii.iter().sum::<f64>() / n.max(1) as f64;
    let grid = Grid::new(&stencils.rest_positions, edge);
    let owners: Vec<Option<(usize, f64)>> = patches.par_iter().map(|patch| grid.nearest(patch.position)).collect();
    let (mut b, mut moments) = (vec![DVec3::ZERO; n], vec![DMat3::ZERO; n]);
    for (patch, owner) in patches.iter().zip(owners) {
        let Some((i, _)) = owner else { continue };
        let area = patch.normal * patch.area;
        b[i] += area;
        moments[i] += outer(area, patch.position - stencils.rest_positions[i]);
    }
    for i in 0..n {
        if moments[i] == DMat3::ZERO {
            continue;
        }
        for (j, w) in stencils.of(i) {
            let share = moments[i] * stencils.plain_gradient_vector(i, j, w);
            b[j] += share;
            b[i] -= share;
        }
    }
    b
}

/// g_j = Σ_i v_i d_ij with the plain vectors, own terms included [m²].
pub fn plain_divergence(stencils: &Stencils) -> Vec<DVec3> {
    divergence(stencils, |i, j, w| stencils.plain_gradient_vector(i, j, w))
}

/// Σ_i v_i d~_ij with the corrected vectors [m²].
pub fn corrected_divergence(stencils: &Stencils) -> Vec<DVec3> {
    divergence(stencils, |i, j, w| stencils.gradient_vector(i, j, w))
}

fn divergence(stencils: &Stencils, vector: impl Fn(usize, usize, f64) -> DVec3 + Sync) -> Vec<DVec3> {
    let at = |i: usize| {
        let own: DVec3 = stencils.of(i).map(|(j, w)| vector(i, j, w)).sum();
        let others: DVec3 = stencils.into(i).map(|(j, w)| vector(j, i, w) * stencils.volumes[j]).sum();
        others - own * stencils.volumes[i]
    };
    (0..stencils.len()).into_par_iter().map(at).collect()
}

fn norm(values: &[DVec3]) -> f64 {
    values.iter().map(|v| v.length_squared()).sum::<f64>().sqrt()
}

fn plain_gradients(stencils: &Stencils, q: &[DVec3], gradients: &mut [DMat3]) {
    gradients.par_iter_mut().with_min_len(CHUNK).enumerate().for_each(|(i, g)| *g = stencils.plain_gradient(i, q));
}

// (H q)_i = Σ_in v_j² w_ji R_ji - Σ_out v_i² w_ij R_ij.
fn apply_operator(stencils: &Stencils, q: &[DVec3], gradients: &mut [DMat3], out: &mut [DVec3]) {
    plain_gradients(stencils, q, gradients);
    let gradients = &*gradients;
    let residual = |i: usize, j: usize| q[j] - q[i] - gradients[i] * stencils.rest_vector(i, j);
    out.par_iter_mut().with_min_len(CHUNK).enumerate().for_each(|(i, out)| {
        let own: DVec3 = stencils.of(i).map(|(j, w)| residual(i, j) * w).sum();
        let others: DVec3 = stencils.into(i).map(|(j, w)| residual(j, i) * (w * stencils.volumes[j].powi(2))).sum();
        *out = others - own * stencils.volumes[i].powi(2);
    });
}

/// H on the packed state of the explicit passes: H q is minus the force of the zero-energy control under displacements q, when
/// each point's control has the stiffness v². Several times faster than the plain form, exact to f32.
struct PackedOperator {
    engine: PackedEngine<f32, Split>,
    /// From q to displacements, which makes strains about 1 at any size of body, and from forces to H q.
    scales: (f64, f64),
}

impl PackedOperator {
    fn new(stencils: &Stencils) -> Self {
        let n = stencils.len();
        // Without fused multiply-add: the same bits on every machine.
        let passes = Passes::<f32, Split>::select(Instructions::reproducible());
        let mut engine = PackedEngine::new(stencils, std::slice::from_ref(&(0..n)), passes);
        let mean = (stencils.volumes.iter().sum::<f64>() / n as f64).max(f64::MIN_POSITIVE);
        let stiffnesses: Vec<f64> = stencils.volumes.iter().map(|v| (v / mean).powi(2)).collect();
        engine.set_control(&stiffnesses);
        Self { engine, scales: (mean * mean / mean.cbrt(), -mean.cbrt()) }
    }

    fn apply(&mut self, q: &[DVec3], out: &mut [DVec3]) {
        let (to_displacement, from_force) = self.scales;
        self.engine.set_displacements(&|i| q[i] * to_displacement);
        self.engine.compute_stresses(0.0);
        self.engine.forces(out);
        out.par_chunks_mut(CHUNK).for_each(|out| out.iter_mut().for_each(|value| *value *= from_force));
    }
}

fn inverse_diagonal(stencils: &Stencils) -> Vec<f64> {
    let at = |i: usize| {
        let own_gradient: DVec3 = stencils.of(i).map(|(j, w)| stencils.plain_gradient_vector(i, j, w)).sum();
        let own: f64 =
            stencils.of(i).map(|(j, w)| w * (1.0 - own_gradient.dot(stencils.rest_vector(i, j))).powi(2)).sum();
        let others: f64 = stencils
            .into(i)
            .map(|(j, w)| {
                let slope = 1.0 - stencils.plain_gradient_vector(j, i, w).dot(stencils.rest_vector(j, i));
                w * slope * slope * stencils.volumes[j].powi(2)
            })
            .sum();
        let diagonal = own * stencils.volumes[i].powi(2) + others;
        if diagonal > 0.0 { 1.0 / diagonal } else { 0.0 }
    };
    (0..stencils.len()).into_par_iter().map(at).collect()
}

// Removes the affine part of a field on every connected piece: the null space of H.
fn project_out_affine(stencils: &Stencils, field: &mut [DVec3]) {
    for piece in connected_pieces(stencils) {
        let count = piece.len() as f64;
        let x = |i: u32| stencils.rest_positions[i as usize];
        let center = piece.iter().map(|&i| x(i)).sum::<DVec3>() / count;
        let mean = piece.iter().map(|&i| field[i as usize]).sum::<DVec3>() / count;
        let spread = piece.iter().fold(DMat3::ZERO, |sum, &i| sum + outer(x(i) - center, x(i) - center));
        let moment = piece.iter().fold(DMat3::ZERO, |sum, &i| sum + outer(field[i as usize], x(i) - center));
        let slope = moment * safe_inverse(spread, 1e-12).0;
        for &i in &piece {
            field[i as usize] -= mean + slope * (x(i) - center);
        }
    }
}

fn connected_pieces(stencils: &Stencils) -> Vec<Vec<u32>> {
    let mut seen = vec![false; stencils.len()];
    let mut pieces = Vec::new();
    for start in 0..stencils.len() {
        if std::mem::replace(&mut seen[start], true) {
            continue;
        }
        let mut piece = vec![start as u32];
        let mut next = 0;
        while next < piece.len() {
            let i = piece[next] as usize;
            next += 1;
            for (j, _) in stencils.of(i).chain(stencils.into(i)) {
                if !std::mem::replace(&mut seen[j], true) {
                    piece.push(j as u32);
                }
            }
        }
        pieces.push(piece);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::mls::StencilOptions;
    use crate::random::Random;

    #[test]
    fn packed_and_plain_operators_agree() {
        let side = 8;
        let place = |n: usize| {
            let cell = DVec3::new((n % side) as f64, (n / side % side) as f64, (n / side / side) as f64);
            0.01 * (cell + 0.2 * Random::new(3, n as u64).in_cube())
        };
        let positions: Vec<DVec3> = (0..side * side * side).map(place).collect();
        let volumes: Vec<f64> = (0..positions.len()).map(|n| 1e-6 * (1.0 + 0.3 * (n as f64).sin())).collect();
        let options = StencilOptions { correction: None, ..StencilOptions::default() };
        let (stencils, _) =
            Stencils::build(&positions, &volumes, std::slice::from_ref(&(0..positions.len())), &[&[]], &options);
        let q: Vec<DVec3> = (0..positions.len()).map(|n| 1e9 * Random::new(4, n as u64).in_cube()).collect();
        let (mut plain, mut packed) = (vec![DVec3::ZERO; q.len()], vec![DVec3::ZERO; q.len()]);
        apply_operator(&stencils, &q, &mut vec![DMat3::ZERO; q.len()], &mut plain);
        PackedOperator::new(&stencils).apply(&q, &mut packed);
        let error: Vec<DVec3> = plain.iter().zip(&packed).map(|(a, b)| *a - *b).collect();
        assert!(norm(&error) < 1e-6 * norm(&plain), "{}", norm(&error) / norm(&plain));
    }
}
