//! Clay, dough, gum: matter that flows without limit and still springs back [War12].
//!
//! Three spaces: the world; embedded space, where each point has a position e and finds its neighbors; and rest vectors P e_ij, which
//! need not fit together. The elastic deformation of a point is F = G P⁻¹, with the gradient G of world over embedded positions.
//! Plastic flow changes P at once; every few steps the embedded positions follow it (`renewal`), so that P stays near a rotation
//! and neighborhoods describe the matter as it is. Method: `docs/methods/embedded.md`.
//!
//! A step of the world calls, in this order:
//!
//! 1. `deform`: G, F, flow; and on every fifth step `renew_if_due`: the embedding follows;
//! 2. `add_forces`: elastic forces, and pressure and repulsion where matter has flowed (`crowd`);
//! 3. the world integrates velocities with gravity;
//! 4. `damp`: viscosity along pair axes;
//! 5. colliders and pins act on velocities, points move.

mod crowd;
mod crowding;
mod deform;
mod embedding;
mod fields;
mod firm;
mod four;
mod frames;
mod guards;
mod matter;
mod model;
mod near;
mod part;
mod published;
mod region;
mod renewal;
mod resample;
mod state;
mod stencils;
mod sums;
mod svd;
mod together;

#[cfg(test)]
mod meeting_tests;
#[cfg(test)]
mod tests;

pub use crowd::{Crowd, Member};
pub use embedding::{Embedding, Target};
pub use fields::Fields;
pub use matter::{Flow, Matter, PublishedFlow};
pub use model::{EmbeddedBody, EmbeddedModel};
pub use part::{Fit, Flowed, Part};
pub use published::{Published, PublishedFit, published_volume};
pub(crate) use resample::Resampling;
pub use state::{FULL_FLOW, Memory};
pub use stencils::{Look, Place, SUPPORT, Stencils};
pub use svd::{Svd, nearest_rotation};
