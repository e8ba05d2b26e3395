//! Shape to points: volume samples that carry the shape's volume, surface patches, surfels.

mod candidates;
mod colors;
mod depth;
mod fibers;
mod occupancy;
mod patches;
mod pinches;
mod relaxed;
mod shell;
mod surfels;
#[cfg(test)]
mod tests;
mod through_samples;
mod triangulation;
mod volume;
mod voronoi;

pub(crate) use colors::barycentric;
pub use colors::{color_by_mesh, paint_of};
pub use fibers::fiber_surfels;
pub use shell::{ShellNodes, ShellSource, ShellSurface, mesh_of};
pub use surfels::sample_surfels;
pub use volume::{SampleSize, sample_volume};

use glam::DVec3;

/// Points that fill a shape.
#[derive(Debug, Clone, Default)]
pub struct VolumeSamples {
    /// Positions [m], inside the shape.
    pub positions: Vec<DVec3>,
    /// Volume of each point's cell, clipped by the shape [m³]; they sum to `volume`.
    pub volumes: Vec<f64>,
    /// Local distance between points [m].
    pub spacings: Vec<f64>,
    /// Patches that tile the shape's surface, about half a spacing apart; areas and normals are consistent: the sum of
    /// `area * normal` is zero to rounding, the sum of `area * normal.dot(position) / 3` is `volume`.
    pub patches: Vec<SurfacePatch>,
    /// Volume of the shape [m³].
    pub volume: f64,
}

/// A piece of a shape's surface.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SurfacePatch {
    /// Center, on the surface [m].
    pub position: DVec3,
    /// Unit outward normal.
    pub normal: DVec3,
    /// Area [m²].
    pub area: f64,
}
