//! Thin shells by fibers: cubic splines through the nodes of a surface [WSG05].
//!
//! `surface` and `nodes` sample a surface, `network` says who is near whom and which fibers run through each node, `fiber` what one
//! fiber measures, `fit` and `balance` how much each fiber speaks for the strain and curvature of its node, `law` which energy
//! that gives, `engine` evaluates it, `fracture` breaks it along `cracks`, `body` holds one shell,
//! `model` those of a world, and `contact` keeps them apart.

pub mod balance;
mod body;
pub mod boundary;
pub mod clamp;
pub mod contact;
pub mod cracks;
pub mod engine;
pub mod fabric;
pub mod fiber;
pub mod fit;
pub mod fracture;
pub mod frames;
mod growth;
pub mod implicit;
pub(crate) mod lanes;
pub mod law;
pub mod loads;
mod measure;
mod model;
pub mod network;
pub mod nodes;
pub mod plastic;
pub mod pressure;
mod rebuild;
mod stepping;
pub mod stiffening;
pub mod surface;
mod time_step;
mod triangles;
mod vent;
pub mod weights;

#[cfg(test)]
mod fracture_tests;

pub use body::Shell;
pub use model::{ShellBody, ShellMaterial, ShellModel};
pub use stepping::Surroundings;

#[cfg(test)]
mod world_tests;
