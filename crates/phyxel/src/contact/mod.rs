//! Contact: bodies against colliders and bodies against each other.
//!
//! Points are samples of cells, so the matter of a point reaches half a spacing around it: that is its contact radius.
//! Colliders act on velocities ([`Colliders::collide`], after the velocities are integrated and before the points move).

mod collider;
mod colliders;
mod resolve;

pub use collider::{Collider, Pose};
pub use colliders::{Colliders, ContactConstraint};

#[cfg(test)]
mod test_shapes;
