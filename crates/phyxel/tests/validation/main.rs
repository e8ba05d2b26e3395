//! Elastic and plastic solids and heat against closed forms and independent finite-element results, through the code users get.
//!
//! docs/validation.md has the numbers, their sources, and how each is read. `-- --nocapture` prints its table,
//! `-- --ignored` adds the slow rows.

mod embedded;
mod fields;
mod fluid;
mod fracture;
mod heat;
mod lab;
mod melt;
mod motion;
mod plastic;
mod shells;
mod starts;
mod statics;
mod surface;
