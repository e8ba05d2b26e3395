//! Conduction between points: a symmetric conductance for every linked pair.
//!
//! Pair form of Brookshaw [Bro85] and Cleary and Monaghan [CM99] with the poly6 kernel. Conductances are symmetric and
//! not negative, so heat is conserved to rounding and no point ever becomes hotter than its hottest neighbor. At a
//! surface half of the neighbors are missing; a factor s per point repairs what is left, see `repair`.

use crate::kernel::poly6;
use crate::neighbors::Neighborhoods;
use glam::{DMat3, DVec3};
use rayon::prelude::*;
use std::f64::consts::PI;

/// Reach of conduction, in spacings.
pub const REACH: f64 = 2.33;
/// Largest repair factor; points with next to no neighbors would ask for more.
const MAX_REPAIR: f64 = 5.0;
/// How `repair` goes about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repair {
    /// p of tr Mᵖ / tr Mᵖ⁺¹, which stands for one over the largest eigenvalue of M. A low power conducts too well along
    /// edges, a high one takes the scatter of irregular points for surfaces.
    pub power: u32,
    /// How often factors are improved.
    pub sweeps: usize,
}

impl Default for Repair {
    /// Best for regular and irregular points together, see `docs/methods/heat.md`.
    fn default() -> Self {
        Self { power: 6, sweeps: 2 }
    }
}

/// Points per parallel task.
pub(super) const CHUNK: usize = 512;

/// The points that conduct, one entry each.
#[derive(Debug, Clone, Copy)]
pub struct Samples<'a> {
    /// Positions [m].
    pub positions: &'a [DVec3],
    /// Volumes [m³].
    pub volumes: &'a [f64],
    /// Support radii [m]; of two points the mean counts.
    pub radii: &'a [f64],
    /// Conductivities [W/(m K)].
    pub conductivities: &'a [f64],
    /// Whether they lie in a plane and are one meter deep.
    pub flat: bool,
}

impl Samples<'_> {
    /// Number of points.
    pub fn len(&self) -> usize {
        self.positions.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    fn weight(&self, distance_squared: f64, radius: f64) -> f64 {
        match self.flat {
            true => pair_weight_in_plane(distance_squared, radius),
            false => pair_weight(distance_squared, radius),
        }
    }

    fn kernel(&self, distance_squared: f64, radius: f64) -> f64 {
        match self.flat {
            true => kernel_in_plane(distance_squared, radius),
            false => poly6(distance_squared, radius),
        }
    }
}

/// g(r) = -2 W'(r)/r = 12·315/(64 π h⁹) (h² - r²)² [1/m⁵] of the poly6 kernel W, at the squared distance r² [m²].
pub fn pair_weight(distance_squared: f64, radius: f64) -> f64 {
    let t = 1.0 - distance_squared / (radius * radius);
    if t > 0.0 { 12.0 * 315.0 / (64.0 * PI * radius.powi(5)) * t * t } else { 0.0 }
}

/// The same in the plane [1/m⁴]: g summed along the normal, since matter is the same all the way across.
pub fn pair_weight_in_plane(distance_squared: f64, radius: f64) -> f64 {
    let t = 1.0 - distance_squared / (radius * radius);
    if t > 0.0 { 63.0 / (PI * radius.powi(4)) * t * t * t.sqrt() } else { 0.0 }
}

/// The kernel W summed along the normal of the plane [1/m²].
fn kernel_in_plane(distance_squared: f64, radius: f64) -> f64 {
    let t = 1.0 - distance_squared / (radius * radius);
    if t > 0.0 { 4.5 / (PI * radius * radius) * t * t * t * t.sqrt() } else { 0.0 }
}

/// V_i V_j g(r_ij) of all linked pairs [m], in the order of the lists.
pub fn pair_weights(samples: &Samples, links: &Neighborhoods) -> Vec<f64> {
    let Samples { positions, volumes, radii, .. } = *samples;
    let mut weights = vec![0.0; links.neighbors.len()];
    for_rows(links, &mut weights, |i, row| {
        for (j, weight) in links.of(i).zip(row) {
            let distance_squared = (positions[j] - positions[i]).length_squared();
            // Sums and products of both points commute: the same bits from either side.
            *weight = (volumes[i] * volumes[j]) * samples.weight(distance_squared, 0.5 * (radii[i] + radii[j]));
        }
    });
    weights
}

/// Repair factors s, one per point: the conduction along a surface becomes that of whole neighborhoods. `weights` are
/// those of `pair_weights`.
///
/// M_i = ½ Σ_j V_j g (s_i + s_j)/2 x_ij x_ijᵀ + s_i · (moment of the walls) is the identity inside matter. At an
/// insulated face only its tangential part must be, so s is divided by the largest eigenvalue of M, taken as
/// tr Mᵖ⁺¹ / tr Mᵖ. Each sweep sees the factors of the one before. Points without neighbors get 1.
pub fn repair(samples: &Samples, links: &Neighborhoods, weights: &[f64], walls: &[DMat3], method: Repair) -> Vec<f64> {
    let mut factors = vec![1.0; samples.len()];
    for _ in 0..method.sweeps {
        factors = (0..samples.len())
            .into_par_iter()
            .with_min_len(CHUNK)
            .map(|i| {
                let moment = moment(samples, links, weights, &factors, walls, i);
                let raised = (1..method.power).fold(moment, |m, _| m * moment);
                let (low, high) = (trace(raised), trace(raised * moment));
                // The quotient of very small moments is 0/0.
                if high > 1e-60 && low.is_finite() { (factors[i] * low / high).min(MAX_REPAIR) } else { 1.0 }
            })
            .collect();
    }
    factors
}

/// M of point i.
pub fn moment(
    samples: &Samples,
    links: &Neighborhoods,
    weights: &[f64],
    factors: &[f64],
    walls: &[DMat3],
    i: usize,
) -> DMat3 {
    let (own, factor) = (samples.positions[i], factors[i]);
    // Diagonal and off-diagonal (yz, zx, xy) sums.
    let (mut straight, mut mixed) = (DVec3::ZERO, DVec3::ZERO);
    let row = links.starts[i] as usize..links.starts[i + 1] as usize;
    for (&j, weight) in links.neighbors[row.clone()].iter().zip(&weights[row]) {
        let x = samples.positions[j as usize] - own;
        let scaled = (weight * (factor + factors[j as usize])) * x;
        straight += scaled * x;
        mixed += DVec3::new(scaled.y * x.z, scaled.z * x.x, scaled.x * x.y);
    }
    let (d, m) = (straight, mixed);
    let sum = DMat3::from_cols(DVec3::new(d.x, m.z, m.y), DVec3::new(m.z, d.y, m.x), DVec3::new(m.y, m.x, d.z));
    // ½ of M and ½ of the mean factor.
    0.25 / samples.volumes[i] * sum + factor * walls.get(i).copied().unwrap_or(DMat3::ZERO)
}

fn trace(m: DMat3) -> f64 {
    m.x_axis.x + m.y_axis.y + m.z_axis.z
}

/// Turns weights of pairs into their conductances [W/K]: G_ij = k_ij V_i V_j g(r_ij) (s_i + s_j)/2 with the harmonic
/// mean k_ij = 2 k_i k_j / (k_i + k_j).
pub fn conductances(samples: &Samples, links: &Neighborhoods, mut weights: Vec<f64>, factors: &[f64]) -> Vec<f64> {
    let conductivities = samples.conductivities;
    for_rows(links, &mut weights, |i, row| {
        for (j, weight) in links.of(i).zip(row) {
            let (a, b) = (conductivities[i], conductivities[j]);
            let mean = if a == b { a } else { 2.0 * a * b / (a + b) };
            *weight *= mean * (0.5 * (factors[i] + factors[j]));
        }
    });
    weights
}

/// What the neighborhood of a point says about the surface.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Crowding {
    /// C_i = V_i W(0) + Σ_j V_j W(r_ij): 1 inside matter, less where neighbors are missing.
    pub sum: f64,
    /// Its gradient, which points into the matter [1/m].
    pub gradient: DVec3,
}

/// Crowding of every point, from all near points.
pub fn crowding(samples: &Samples, near: &Neighborhoods) -> Vec<Crowding> {
    let points = (0..samples.len()).into_par_iter().with_min_len(CHUNK);
    points.map(|i| crowding_of(samples, near, i)).collect()
}

/// Crowding of one point.
pub(super) fn crowding_of(samples: &Samples, near: &Neighborhoods, i: usize) -> Crowding {
    let mut own = Crowding { sum: samples.volumes[i] * samples.kernel(0.0, samples.radii[i]), gradient: DVec3::ZERO };
    for j in near.of(i) {
        let x = samples.positions[j] - samples.positions[i];
        let (r2, radius) = (x.length_squared(), 0.5 * (samples.radii[i] + samples.radii[j]));
        own.sum += samples.volumes[j] * samples.kernel(r2, radius);
        own.gradient += (0.5 * samples.volumes[j] * samples.weight(r2, radius)) * x;
    }
    own
}

/// Runs `work` on the entries of each point in a table of pairs, in parallel.
fn for_rows(links: &Neighborhoods, table: &mut [f64], work: impl Fn(usize, &mut [f64]) + Sync) {
    let mut tasks = Vec::with_capacity(links.len().div_ceil(CHUNK));
    let mut rest = table;
    for first in (0..links.len()).step_by(CHUNK) {
        let end = (first + CHUNK).min(links.len());
        let (own, tail) = rest.split_at_mut((links.starts[end] - links.starts[first]) as usize);
        tasks.push((first..end, own));
        rest = tail;
    }
    tasks.into_par_iter().for_each(|(range, mut own)| {
        for i in range {
            let (row, tail) = own.split_at_mut((links.starts[i + 1] - links.starts[i]) as usize);
            work(i, row);
            own = tail;
        }
    });
}
