//! Moving-least-squares elasticity [MKN04] as corrected.
//!
//! `stencils` and `gradient` prepare the rest state, `model` steps it explicitly with the fast passes of `fast`, `reference`
//! is the same physics in its plainest form, for tests.

pub mod damping;
pub mod fast;
pub mod flow;
pub mod gradient;
pub mod implicit;
pub mod literal;
mod model;
#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod plastic_tests;
pub mod reference;
pub mod smoothing;
#[cfg(test)]
mod stencil_tests;
pub mod stencils;
mod support;
#[cfg(test)]
mod test_bodies;
mod time_step;

pub use fast::{Extremes, Instructions, MoveReport};
pub use model::{MlsBody, MlsModel};
pub use stencils::{StencilOptions, StencilReport, Stencils};
pub use time_step::STEP_SAFETY;
