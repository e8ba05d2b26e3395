//! How the neighborhood of each node has turned and stretched: what carries the drawn surface.
//!
//! F = (Σ w x Xᵀ + s n Nᵀ)(Σ w X Xᵀ + s N Nᵀ)⁻¹ with X, x the vectors to the neighbors at rest and now, w = 1/|X|², N and n the
//! unit fan normals: exact for rigid motion and for affine motion in the plane. Differs from [WSG05] eqs. 17-21, whose frames
//! jump where the nearest node changes.

use super::network::Network;
use super::rebuild::splice;
use crate::linalg::{outer, safe_inverse};
use glam::{DMat3, DVec3};
use rayon::prelude::*;

/// Weight of the normal.
const NORMAL: f64 = 2.0;

/// Largest norm of a gradient: three times as large in both directions.
const LARGEST: f64 = 4.4;

/// What is known at rest.
#[derive(Debug, Clone, Default)]
pub struct Frames {
    /// Weighted vectors to the neighbors times the inverse of the moments [1/m], neighbor after neighbor.
    vectors: Vec<DVec3>,
    /// The same of the normal.
    normals: Vec<DVec3>,
}

impl Frames {
    /// The frames of a network at rest.
    pub fn new(network: &Network, positions: &[DVec3]) -> Self {
        let mut frames = Self::default();
        (0..network.len()).for_each(|i| frames.add(network, positions, i));
        frames
    }

    fn add(&mut self, network: &Network, positions: &[DVec3], i: usize) {
        let normal = network.fan_normal(i, positions).normalize_or_zero();
        let list = network.neighbors_of(i);
        let d: Vec<DVec3> = list.iter().map(|&j| positions[j as usize] - positions[i]).collect();
        let weighted = |d: &DVec3| *d / d.length_squared().max(f64::MIN_POSITIVE);
        let sum: DMat3 = d.iter().map(|d| outer(weighted(d), *d)).sum();
        let (inverse, _) = safe_inverse(sum + NORMAL * outer(normal, normal), 1e-9);
        self.vectors.extend(d.iter().map(|d| inverse * weighted(d)));
        self.normals.push(inverse * (NORMAL * normal));
    }

    /// Makes the frames of some nodes, in rising order, anew.
    pub(super) fn replace(&mut self, old: &Network, new: &Network, positions: &[DVec3], changed: &[u32]) {
        let mut made = Self::default();
        changed.iter().for_each(|&i| made.add(new, positions, i as usize));
        self.vectors = splice(&self.vectors, [&old.starts, &new.starts], changed, &made.vectors);
        changed.iter().zip(made.normals).for_each(|(&i, normal)| self.normals[i as usize] = normal);
    }

    /// Deformation gradient of each node.
    pub fn gradients(&self, network: &Network, positions: &[DVec3], out: &mut [DMat3]) {
        out.par_iter_mut().enumerate().with_min_len(256).for_each(|(i, out)| {
            let normal = network.fan_normal(i, positions).normalize_or_zero();
            let mut sum = outer(normal, self.normals[i]);
            let vectors = &self.vectors[network.starts[i] as usize..network.starts[i + 1] as usize];
            for (&j, g) in network.neighbors_of(i).iter().zip(vectors) {
                sum += outer(positions[j as usize] - positions[i], *g);
            }
            // Scraps that disperse must not draw the surface after them.
            let size = (sum.x_axis.length_squared() + sum.y_axis.length_squared() + sum.z_axis.length_squared()).sqrt();
            *out = if size > LARGEST { sum * (LARGEST / size) } else { sum };
        });
    }
}
