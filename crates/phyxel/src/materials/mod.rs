//! What matter is made of: laws that turn deformation into stress.

pub mod elastic;
pub mod stiffness;

pub use elastic::{ElasticLaw, Response, Tangent};
pub use stiffness::Stiffness;
