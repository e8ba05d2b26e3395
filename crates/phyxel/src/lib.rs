//! Animates matter that is sampled by points only.
//!
//! ```text
//! scene file --parse, check--> Scene --sampling--> World --step() many times per frame--> Frame --sinks--> files, film
//! ```
//!
//! Modules are listed in the order in which data flows through them.
//!
//! Glossary: *phyxel* or *point*: a sample of matter that carries mass and volume. *Surfel*: a small ellipse of the drawn
//! surface. *Rest* (prefix `rest_`): the undeformed state. *Support radius*: how far a point's neighborhood reaches.
//! *Body*: one `[[body]]`. *Collider*: a rigid thing with prescribed motion. SI units throughout, y is up.

pub mod error;
pub mod scene;

pub mod geometry;
pub mod sampling;

pub mod points;

pub mod measure;
pub mod neighbors;
pub mod random;

pub mod conjugate_gradient;
pub mod kernel;
pub mod linalg;
pub mod materials;
pub mod sparse;

pub mod models;

pub mod motion;

pub mod contact;

pub mod heat;

pub mod guard;

pub mod body;
mod checkpoint;
mod clamps;
mod demand;
pub mod events;
pub mod external;
mod flowing;
mod groups;
mod lattice_step;
pub mod pins;
mod resampling;
mod setup;
mod shell_step;
#[cfg(test)]
mod shell_world_tests;
mod step;
mod surface_step;
mod watch;
pub mod world;

pub mod surface;

pub mod frame;

pub mod plots;
pub mod render;

pub mod run;

pub mod sinks;

pub use error::{Diagnostic, Error, Result};
