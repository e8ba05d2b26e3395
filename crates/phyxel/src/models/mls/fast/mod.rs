//! The two passes of an explicit substep at full speed: packed records, eight points in lanes, instructions chosen at start.
//!
//! `Engine` is the packed state of all points in one number format (`layout`), built from `Stencils`. Pass 1 gathers
//! displacements and turns them into stress records (`passes`, `algebra`), pass 2 gathers records into forces. The work per
//! pair (`pair`, `avx2`) is written once per vector width; `passes` compiles it once per instruction set.

mod algebra;
#[cfg(target_arch = "x86_64")]
mod avx2;
mod engine;
mod layout;
mod pair;
mod passes;
mod plastic;
mod real;

pub(super) use engine::{Engine, PackedEngine};
pub use engine::{Extremes, MoveReport};
pub(super) use layout::{Single, Split};
pub use passes::Instructions;
pub(super) use passes::{Passes, PointKick};
