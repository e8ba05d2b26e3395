//! Who is near whom: a counting-sort cell grid, and neighbor lists in one flat table.
//!
//! Cells are numbered with x fastest, so three x-adjacent cells are one contiguous range of points. Memory is bounded
//! by the number of points, not by the extent of the scene: an axis that would need too many cells is wrapped around
//! (a cell then holds the points of several far regions; the distance test keeps them apart).
//!
//! A point with a non-finite coordinate is in no cell: it is nobody's neighbor and has none.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod grid;
mod linked;
mod neighborhoods;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::FRONT;
pub use grid::{Grid, cell_order};
pub use linked::{BOND_REACH, Linker, Matter, TOUCH_REACH};
pub use neighborhoods::Neighborhoods;
