//! The initialization of masses and volumes as printed, kept for comparison; the program takes volumes from the sampler.
//!
//! On a 10³ lattice it gives the corner points 2.1 times the mass and up to 6.75 times the volume of an inner point, so
//! bodies get a stiff skin and heavy corners.

use super::stencils::Stencils;
use crate::kernel::poly6;
use crate::neighbors::Grid;
use glam::DVec3;

/// Result of the printed initialization, one entry per point.
#[derive(Debug, Clone, Default)]
pub struct LiteralInitialization {
    /// Mean distance to the nearest neighbors r̄ [m].
    pub mean_distances: Vec<f64>,
    /// Scale of the masses, one for all.
    pub scale: f64,
    /// Masses [kg].
    pub masses: Vec<f64>,
    /// Densities [kg/m³].
    pub densities: Vec<f64>,
    /// The stencils, with poly6 weights [1/m³], h_i = factor r̄_i (unsymmetric) and volumes m / ρ.
    pub stencils: Stencils,
}

/// [MKN04] §3.2 for points of the given density [kg/m³]: h_i = `factor` r̄_i with r̄_i over the `nearest` nearest points,
/// m_i = s r̄_i³ ρ, ρ_i = Σ_j m_j w_ij (own term included), v_i = m_i / ρ_i, and s the least-squares fit of ρ_i to ρ.
pub fn initialize(positions: &[DVec3], density: f64, nearest: usize, factor: f64) -> LiteralInitialization {
    let n = positions.len();
    let grid = Grid::new(positions, 0.0);
    let mean_distance = |i: usize| {
        let near = grid.k_nearest(positions[i], nearest + 1);
        let distances: Vec<f64> = near.iter().filter(|(j, _)| *j != i).take(nearest).map(|(_, r2)| r2.sqrt()).collect();
        distances.iter().sum::<f64>() / distances.len().max(1) as f64
    };
    let mean_distances: Vec<f64> = (0..n).map(mean_distance).collect();
    let radii: Vec<f64> = mean_distances.iter().map(|r| factor * r).collect();
    let raw: Vec<f64> = mean_distances.iter().map(|r| r.powi(3) * density).collect();

    let (mut starts, mut neighbors, mut weights) = (vec![0], Vec::new(), Vec::new());
    let mut sums: Vec<f64> = (0..n).map(|i| raw[i] * poly6(0.0, radii[i])).collect();
    for i in 0..n {
        for j in grid.within(positions[i], radii[i]).into_iter().filter(|&j| j as usize != i) {
            let w = poly6((positions[j as usize] - positions[i]).length_squared(), radii[i]);
            sums[i] += raw[j as usize] * w;
            neighbors.push(j);
            weights.push(w);
        }
        starts.push(neighbors.len());
    }
    let scale = density * sums.iter().sum::<f64>() / sums.iter().map(|d| d * d).sum::<f64>();
    let masses: Vec<f64> = raw.iter().map(|q| scale * q).collect();
    let densities: Vec<f64> = sums.iter().map(|d| scale * d).collect();
    let volumes = masses.iter().zip(&densities).map(|(m, rho)| m / rho).collect();
    let stencils = Stencils::from_lists(positions.to_vec(), volumes, radii, starts, neighbors, weights);
    LiteralInitialization { mean_distances, scale, masses, densities, stencils }
}
