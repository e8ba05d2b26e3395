//! What matter is made of: laws that turn deformation into stress, and named presets.

pub mod elastic;
pub mod grain;
pub mod plastic;
pub mod presets;
pub mod stiffness;

pub use elastic::{ElasticLaw, Response, Tangent, von_mises};
pub use grain::Grain;
pub use plastic::PlasticLaw;
pub use stiffness::Stiffness;
