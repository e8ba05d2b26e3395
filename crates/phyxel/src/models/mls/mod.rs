//! Moving-least-squares elasticity [MKN04] as corrected.

pub mod gradient;
pub mod literal;
pub mod reference;
pub mod stencils;
mod support;

pub use stencils::{StencilOptions, StencilReport, Stencils};
