//! The models: one folder each.

pub mod embedded;
pub mod lattice;
#[cfg(test)]
pub(crate) mod meeting;
pub mod mls;
pub mod shell;
