//! Contact: bodies against colliders and bodies against each other.
//!
//! Points are samples of cells, so the matter of a point reaches half a spacing around it: that is its contact radius.
//! Colliders act on velocities ([`Colliders::collide`], after the velocities are integrated and before the points move), bodies act on each other by forces ([`Bodies::add_forces`]).

mod balls;
mod between;
mod bodies;
mod candidates;
mod collider;
mod colliders;
mod grains;
mod overlap;
mod resolve;
mod skin;
mod touch;

pub use crate::models::mls::implicit::PairPenalty;
pub use bodies::{Bodies, ContactBody, ContactSurface};
pub use collider::{Collider, Pose};
pub use colliders::{Colliders, ContactConstraint};
pub use grains::{GrainKind, GrainMatter};
pub use overlap::Overlap;
pub use skin::contact_radii;

#[cfg(test)]
mod test_shapes;
