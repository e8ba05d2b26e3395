//! How long implicit steps are: as long as contact is seen before it has gone deep.

use crate::models::lattice::{Particles, Sites};
use crate::points::Points;

/// Way of the fastest solid particle in a step, in spacings.
pub const TRAVEL: f64 = 0.3;

/// Longest step in which no solid particle goes further than `TRAVEL` [s].
pub fn travel_step(particles: &Particles, points: &Points, sites: &Sites) -> f64 {
    let bound = particles.members.iter().zip(&particles.phases).filter(|(_, p)| p.is_bound());
    let square = bound.map(|(&i, _)| points.velocities[i as usize].length_squared()).fold(0.0, f64::max);
    TRAVEL * sites.spacing / square.sqrt().max(1e-12)
}
