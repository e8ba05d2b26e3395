//! Matter without a memory: particles that pull each other into a close-packed lattice, and liquids [WHP06].
//!
//! A solid particle sees its neighbors in the slots of a lattice of its own orientation and pulls them to where the lattice wants
//! them. There is no rest state: melting and freezing fade the force, breaking lets go of a slot. Method: `docs/methods/lattice.md`.
//!
//! Solid and liquid particles lie in the same arrays (`Particles`), with a solidity φ from 0 to 1; one list of neighbors (`Lists`, reach
//! at least 1.8 spacings, full lists) serves both. All lattices of a scene have one spacing. A step of the world calls, in this order:
//!
//! 1. `prepare`: positions and velocities in, lists, bonds, rotations;
//! 2. `add_forces`: forces on all particles into `Points::forces`: bonds, contact of solid pairs without a bond;
//! 3. the world integrates velocities with gravity;
//! 4. `damp`: local damping of solids, then `flow`: pressure, viscosity and tension of the liquid (`liquid/`) change velocities;
//! 5. colliders and pins act on velocities, points move.

mod bonds;
mod contact;
mod damping;
mod fit;
mod flow;
mod forces;
pub mod implicit;
pub mod liquid;
mod lists;
mod model;
mod particles;
mod phases;
mod pieces;
mod sampling;
mod sites;
mod squeeze;
mod state;
mod vicinity;
mod volume;

#[cfg(test)]
mod detail_tests;
#[cfg(test)]
mod fracture_tests;
#[cfg(test)]
mod grain_tests;
#[cfg(test)]
mod meeting_tests;
#[cfg(test)]
mod phase_tests;
#[cfg(test)]
mod skin_tests;
#[cfg(test)]
mod tests;

pub use bonds::{Around, Bonds, Incoming, breaks};
pub use contact::{Contacts, Touching};
pub use damping::Damper;
pub use fit::{Sums, distortion, exponential, rotation};
pub use flow::{Flowed, LIQUID_RADIUS};
pub use forces::{add_elastic, energies, fit, stable_time_step};
pub use lists::Lists;
pub use model::{LatticeBody, LatticeModel};
pub use particles::{Matter, NOBODY, Particles, Phase};
pub use phases::{Cold, Site, SolidNeighbor, Warmth, find_site, freezing_rate, melting_rate};
pub use pieces::{Pieces, Rigid};
pub use sampling::{measure, sample};
pub use sites::{NO_SLOT, Sites};
