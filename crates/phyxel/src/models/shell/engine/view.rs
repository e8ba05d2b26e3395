//! The packed energy, fiber by fiber, for those who linearize it.

use super::Engine;
use crate::models::shell::fiber::Knots;
use crate::models::shell::lanes::LANES;
use crate::models::shell::law::FiberTerm;

/// One node's part of the energy.
#[derive(Debug, Clone, Copy)]
pub(in crate::models::shell) struct CenterView<'a> {
    /// Its neighbors, in fan order.
    pub neighbors: &'a [u32],
    /// Whether the fan goes all around.
    pub closed: bool,
    /// Stiffness of mean and deviator, of stretching and of bending [J].
    pub stiffness: [[f64; 2]; 2],
    /// Square of the strain in that of `Stiffening` per energy, of both [1/J].
    pub per_energy: [f64; 2],
}

/// One fiber's part of it.
#[derive(Debug, Clone, Copy)]
pub(in crate::models::shell) struct FiberView {
    /// Places of the ends among the neighbors.
    pub ends: [usize; 2],
    /// Knot spacings.
    pub knots: Knots,
    /// Rest length now [m].
    pub rest_length: f64,
    /// Rest angle now [rad].
    pub rest_angle: f64,
    /// Curvature per angle [1/m].
    pub per_turn: f64,
    /// Part in stretching and in bending.
    pub terms: [FiberTerm; 2],
}

impl Engine {
    /// Number of nodes.
    pub(in crate::models::shell) fn len(&self) -> usize {
        self.centers.len()
    }

    /// Least part of the bending energy that counts.
    pub(in crate::models::shell) fn least_guard(&self) -> f64 {
        self.floor
    }

    /// Rise of the stiffness at large strain.
    pub(in crate::models::shell) fn rise(&self) -> f64 {
        self.rise
    }

    /// Node `i`.
    pub(in crate::models::shell) fn center(&self, i: usize) -> CenterView<'_> {
        let center = &self.centers[i];
        CenterView {
            neighbors: &self.neighbors[center.first as usize..][..usize::from(center.neighbors)],
            closed: center.closed,
            stiffness: [center.membrane, center.bending],
            per_energy: center.per_energy,
        }
    }

    /// The fibers through node `i`.
    pub(in crate::models::shell) fn fibers(&self, i: usize) -> impl Iterator<Item = FiberView> + '_ {
        let center = &self.centers[i];
        let groups = &self.groups[center.first_group as usize..][..usize::from(center.groups)];
        groups.iter().flat_map(|g| (0..LANES).map(move |k| (g, k))).filter(|(g, k)| g.rest_lengths.0[*k] > 0.0).map(
            |(g, k)| FiberView {
                ends: g.ends.map(|ends| usize::from(ends[k])),
                knots: Knots { h1: g.h1.0[k], h2: 2.0 - g.h1.0[k] },
                rest_length: g.rest_lengths.0[k],
                rest_angle: g.rest_angle.0[k],
                per_turn: g.per_turn.0[k],
                terms: [g.membrane.get(k), g.bending.get(k)],
            },
        )
    }
}
