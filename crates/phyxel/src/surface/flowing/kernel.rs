//! How points are smeared: over ellipsoids shaped like their neighborhoods, after [YT13] (`field.rs`).

use crate::linalg::{SymmetricEigen, outer};
use crate::neighbors::Neighborhoods;
use glam::{DMat3, DVec3, Mat3A};

/// Neighbors that shape a point's kernel are nearer than this [spacings].
pub(super) const NEAR: f64 = 2.5;
/// Radius of a kernel inside the matter [spacings].
pub(super) const KERNEL: f64 = 2.0;
/// Radius of the kernel of a lone point [spacings]: its drop has a radius of half a spacing.
const LONE: f64 = 1.2;
/// Shortest and longest axis of a kernel, relative to `KERNEL`.
pub(super) const AXES: (f64, f64) = (0.3, 1.1);
/// How alike the shifts of two points must be to lie in the same layer [spacings].
const ALIKE: f64 = 0.25;
/// Part of the difference between a point's shift and its layer's that is smoothed away.
const SMOOTH: f64 = 0.9;

/// What is known of a point's neighborhood.
#[derive(Clone, Copy, Default)]
pub(super) struct Shape {
    /// Mean of the neighbors relative to the point [m].
    pub shift: DVec3,
    /// Scatter of the neighbors [m²].
    scatter: DMat3,
    /// Summed weights; 1 for a lone point.
    pub weight: f64,
}

/// A smeared point.
pub(super) struct Kernel {
    /// Smoothed position [m].
    pub center: DVec3,
    /// Squared inverse shape [1/m²].
    pub shape: Mat3A,
    /// Density at the center.
    pub height: f32,
    /// One over the shortest axis [1/m].
    pub steepness: f32,
}

/// Whether a point with that summed weight is in company: 0 ..= 1. A lone point has 1, a line of them 4, a sheet 12.
pub(super) fn company(weight: f64) -> f64 {
    ((weight - 2.0) / 6.0).clamp(0.0, 1.0)
}

/// Weight of a neighbor at a distance relative to the radius.
fn weight(q: f64) -> f64 {
    (1.0 - q * q * q).max(0.0)
}

/// What is known of the neighborhood of point `i`.
pub(super) fn shape(i: usize, positions: &[DVec3], radii: &[f64], labels: &[u32], near: &Neighborhoods) -> Shape {
    let (mut sum, mut moment, mut second) = (1.0, DVec3::ZERO, DMat3::ZERO);
    for j in near.of(i).filter(|&j| labels[j] == labels[i]) {
        let r = positions[j] - positions[i];
        let w = weight(r.length() / (0.5 * (radii[i] + radii[j])));
        sum += w;
        moment += w * r;
        second += outer(w * r, r);
    }
    let shift = moment / sum;
    Shape { shift, scatter: second * (1.0 / sum) - outer(shift, shift), weight: sum }
}

/// How a point is smeared; `round`: alike in all directions.
pub(super) fn kernel(
    (i, round): (usize, bool),
    positions: &[DVec3],
    spacings: &[f64],
    labels: &[u32],
    shapes: &[Shape],
    near: &Neighborhoods,
) -> Kernel {
    let (own, spacing) = (shapes[i], spacings[i]);
    // Neighbors whose shift is like the own one lie in the same layer below the surface; their mean shift is what
    // smoothing would shrink the surface by.
    let (mut sum, mut alike) = (1.0, own.shift);
    for j in near.of(i).filter(|&j| labels[j] == labels[i]) {
        let r = (positions[j] - positions[i]).length() / (NEAR * 0.5 * (spacing + spacings[j]));
        let apart = (shapes[j].shift - own.shift).length_squared() / (spacing * spacing);
        let w = weight(r) * (-apart / (2.0 * ALIKE * ALIKE)).exp();
        sum += w;
        alike += w * shapes[j].shift;
    }
    let company = company(own.weight);
    let center = positions[i] + SMOOTH * company * (own.shift - alike / sum);
    // A uniform ball of neighbors has the scatter 0.15 radius² in every direction.
    let full = 0.15 * (NEAR * spacing) * (NEAR * spacing);
    let axis = |scatter: f64| {
        let shaped = if round { 1.0 } else { (scatter.max(0.0) / full).sqrt().clamp(AXES.0, AXES.1) };
        spacing * (LONE + company * (KERNEL * shaped - LONE))
    };
    let eigen = SymmetricEigen::new(own.scatter);
    let axes = eigen.values.to_array().map(axis);
    let inverse = eigen.map(|scatter| axis(scatter).powi(-2));
    let height = 315.0 / (64.0 * std::f64::consts::PI) * spacing.powi(3) / (axes[0] * axes[1] * axes[2]);
    let shape = Mat3A::from_cols_array(&inverse.to_cols_array().map(|v| v as f32));
    let steepness = 1.0 / axes[0].min(axes[1]).min(axes[2]);
    Kernel { center, shape, height: height as f32, steepness: steepness as f32 }
}
