//! Support radii and neighbor lists of one body at rest.

use super::stencils::{StencilOptions, Stencils};
use crate::kernel::poly6_shape;
use crate::linalg::{SymmetricEigen, outer};
use crate::materials::Grain;
use crate::neighbors::{Grid, Neighborhoods};
use glam::{DMat3, DVec3};
use rayon::prelude::*;

/// Smallest over largest eigenvalue of a moment matrix below which a neighborhood counts as flat.
const FLATNESS: f64 = 0.02;
/// Growth of the support radius of a point with too few or coplanar neighbors, per round.
const GROWTH: f64 = 1.15;
/// Most rounds of growth: to about twice the radius.
const ROUNDS: usize = 5;

/// Stencils of one body without correction, and the number of points whose radius was enlarged.
pub(super) fn one_body(
    positions: &[DVec3],
    volumes: &[f64],
    grain: Option<&Grain>,
    options: &StencilOptions,
) -> (Stencils, usize) {
    let first = radii(positions, options);
    let mut radii = first.clone();
    let mut lists = Neighborhoods::with_radii(positions, &radii);
    let mut poor = poor_points(positions, &radii, &lists, options);
    for _ in 0..ROUNDS {
        if poor.is_empty() {
            break;
        }
        for &i in &poor {
            radii[i] *= GROWTH;
        }
        lists = Neighborhoods::with_radii(positions, &radii);
        poor = poor_points(positions, &radii, &lists, options);
    }
    // Where growth did not help (a sheet, a thread, a lone point) it would only cost.
    if !poor.is_empty() {
        for &i in &poor {
            radii[i] = first[i];
        }
        lists = Neighborhoods::with_radii(positions, &radii);
    }
    let enlarged = radii.iter().zip(&first).filter(|(now, first)| now > first).count();
    let mut stencils = weighted(positions, volumes, radii, lists, grain);
    if grain.is_some() {
        stencils.moment_traces = plain_traces(&stencils);
    }
    (stencils, enlarged)
}

// h_i = c_h r̄_i. At a surface r̄ is larger than inside because half of the neighbors are missing; the mean over the
// neighbors bounds it.
fn radii(positions: &[DVec3], options: &StencilOptions) -> Vec<f64> {
    let grid = Grid::new(positions, guessed_spacing(positions));
    let k = options.nearest;
    // Rows of k neighbors, filled up with the point itself where there are fewer.
    let mut nearest: Vec<u32> = (0..positions.len() as u32).flat_map(|i| std::iter::repeat_n(i, k)).collect();
    let mean_distance = |(i, row): (usize, &mut [u32])| {
        let near = grid.k_nearest(positions[i], k + 1);
        let others = near.iter().filter(|&&(j, _)| j != i).take(k);
        row.iter_mut().zip(others.clone()).for_each(|(slot, &(j, _))| *slot = j as u32);
        mean(others.map(|(_, r2)| r2.sqrt()))
    };
    let means: Vec<f64> = nearest.par_chunks_mut(k.max(1)).enumerate().map(mean_distance).collect();
    let bounded = |(i, row): (usize, &[u32])| {
        let others = row.iter().filter(|&&j| j as usize != i);
        options.radius_factor * means[i].min(mean(others.map(|&j| means[j as usize])))
    };
    nearest.par_chunks(k.max(1)).enumerate().map(bounded).collect()
}

// A cell edge for the search of nearest points: the spacing if the points filled their bounding box.
fn guessed_spacing(positions: &[DVec3]) -> f64 {
    let bounds = crate::geometry::Bounds::of(positions.iter().copied());
    let size = bounds.size();
    let filled = size.max(DVec3::splat(1e-3 * size.max_element()));
    1.5 * (filled.x * filled.y * filled.z / positions.len().max(1) as f64).cbrt()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    if count == 0 { 0.0 } else { sum / f64::from(count) }
}

fn poor_points(positions: &[DVec3], radii: &[f64], lists: &Neighborhoods, options: &StencilOptions) -> Vec<usize> {
    let is_poor = |&i: &usize| {
        let fewest = options.fewest_neighbors.min(positions.len().saturating_sub(1));
        let moment = lists.of(i).fold(DMat3::ZERO, |sum, j| {
            let x_ij = positions[j] - positions[i];
            sum + outer(x_ij * poly6_shape(x_ij.length_squared(), pair_radius(radii, i, j)), x_ij)
        });
        let values = SymmetricEigen::new(moment).values;
        lists.of(i).len() < fewest || values.x <= FLATNESS * values.z
    };
    (0..positions.len()).into_par_iter().filter(is_poor).collect()
}

fn pair_radius(radii: &[f64], i: usize, j: usize) -> f64 {
    0.5 * (radii[i] + radii[j])
}

fn weighted(
    positions: &[DVec3],
    volumes: &[f64],
    radii: Vec<f64>,
    lists: Neighborhoods,
    grain: Option<&Grain>,
) -> Stencils {
    let row = |i: usize| {
        let radii = &radii;
        lists.of(i).map(move |j| {
            let x_ij = positions[j] - positions[i];
            let near = poly6_shape(x_ij.length_squared(), pair_radius(radii, i, j));
            grain.map_or(near, |grain| near * grain.relative_young(x_ij))
        })
    };
    let weights = (0..positions.len()).into_par_iter().flat_map_iter(row).collect();
    let starts = lists.starts.iter().map(|&start| start as usize).collect();
    Stencils::from_lists(positions.to_vec(), volumes.to_vec(), radii, starts, lists.neighbors, weights)
}

// Σ_j w |x_ij|² with the weights that a material without grain would have: the scale of the control.
fn plain_traces(stencils: &Stencils) -> Vec<f64> {
    let at = |i: usize| {
        let term = |(j, _): (usize, f64)| {
            let square = stencils.rest_vector(i, j).length_squared();
            square * poly6_shape(square, pair_radius(&stencils.support_radii, i, j))
        };
        stencils.of(i).map(term).sum()
    };
    (0..stencils.len()).into_par_iter().map(at).collect()
}
