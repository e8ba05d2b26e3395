//! Moving-least-squares elasticity [MKN04] as corrected.
//!
//! `stencils` and `gradient` prepare the rest state, `model` steps it explicitly with the fast passes of `fast`, `reference`
//! is the same physics in its plainest form, for tests.

pub mod damping;
pub mod fast;
pub mod gradient;
pub mod literal;
mod model;
#[cfg(test)]
mod model_tests;
pub mod reference;
pub mod stencils;
mod support;

pub use fast::{Extremes, Instructions, MoveReport};
pub use model::{COURANT, MlsBody, MlsModel};
pub use stencils::{StencilOptions, StencilReport, Stencils};
