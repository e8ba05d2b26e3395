//! The models: one folder each.

pub mod embedded;
pub mod lattice;
pub mod mls;
pub mod shell;
