//! The edge of a clamp.
//!
//! Where a band of nodes is held, the outermost of them stand for half a cell of free sheet, and because the nodes behind them do not
//! move they measure half of the curvature beside them. With four times their bending stiffness they have the energy of that
//! half cell; without, the clamp seems to lie half a spacing further back.

use super::network::Network;
use glam::DVec3;

/// Factor of the bending stiffness of the nodes on the edge of a clamp.
pub const CLAMP: f64 = 4.0;
/// Neighbors farther than this many spacings are of the next row.
const NEAR: f64 = 1.3;

/// The factor of each node, for a shell of which some nodes are held; empty if none lies on the edge of a clamp. Single rows of held
/// nodes are hinges: a node counts if the nodes opposite to its free neighbors are held too.
pub fn clamp_factors(network: &Network, rest: &[DVec3], held: &[bool], spacing: f64) -> Vec<f64> {
    let on_edge = |i: usize| {
        if !held[i] {
            return false;
        }
        let near = |j: &&u32| rest[**j as usize].distance(rest[i]) < NEAR * spacing;
        let list = || network.neighbors_of(i).iter().filter(near).map(|&j| j as usize);
        let to = |j: usize| (rest[j] - rest[i]).normalize_or_zero();
        let free: DVec3 = list().filter(|&j| !held[j]).map(to).sum();
        let Some(free) = free.try_normalize() else { return false };
        list().any(|j| held[j] && to(j).dot(free) < -0.5)
    };
    let factors: Vec<f64> = (0..held.len()).map(|i| if on_edge(i) { CLAMP } else { 1.0 }).collect();
    if factors.contains(&CLAMP) { factors } else { Vec::new() }
}
