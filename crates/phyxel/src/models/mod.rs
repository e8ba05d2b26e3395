//! The models: one folder each.

pub mod mls;
pub mod shell;
