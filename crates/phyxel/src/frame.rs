//! Frame: what sinks and pictures see of the world at one moment; its buffers are reused from frame to frame.

use crate::models::shell::cracks::CrackEvent;
use crate::surface::Surfels;
use glam::{DAffine3, Vec2, Vec3};
use std::sync::Arc;

/// The world at one moment, without physics.
#[derive(Debug, Clone, Default)]
pub struct Frame {
    /// Number of the frame; 0 is the start.
    pub index: u32,
    /// Simulated time [s].
    pub time: f64,
    /// One entry per body, in scene order.
    pub bodies: Vec<BodyFrame>,
    /// One entry per visible collider, in scene order.
    pub colliders: Vec<ColliderFrame>,
    /// Cracks that opened or grew since the frame before.
    pub cracks: Vec<CrackEvent>,
}

/// One body at one moment.
#[derive(Debug, Clone, Default)]
pub struct BodyFrame {
    /// Name in the scene.
    pub name: String,
    /// sRGB color.
    pub color: [u8; 3],
    /// `surface = "none"`: not drawn, unless points are asked for.
    pub hidden: bool,
    /// Whether it is a sheet: its surfels are seen from both sides.
    pub two_sided: bool,
    /// The first body that this one has fused with: their surfels are one surface.
    pub joined: Option<u32>,
    /// Stable ids of the points.
    pub ids: Vec<u32>,
    /// Positions of the points [m].
    pub positions: Vec<Vec3>,
    /// Velocities of the points [m/s].
    pub velocities: Vec<Vec3>,
    /// Local distance between points [m]; half of it is the radius a point is drawn with.
    pub spacings: Vec<f32>,
    /// Named scalar fields on the points, e.g. `stress` [Pa], `strain`, in a fixed order.
    pub fields: Vec<(&'static str, Vec<f32>)>,
    /// The drawn surface; empty: draw the points.
    pub surfels: Surfels,
    /// The triangles of `surface.kind = "skin"` with the topology of this moment; empty for other surfaces.
    pub mesh: MeshFrame,
}

/// The mesh of a body at one moment, one flat array per quantity. Where matter breaks its topology changes from frame to frame.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MeshFrame {
    /// Vertices [m].
    pub positions: Vec<Vec3>,
    /// Unit normals of the vertices.
    pub normals: Vec<Vec3>,
    /// Velocities of the vertices [m/s].
    pub velocities: Vec<Vec3>,
    /// Vertices of each triangle.
    pub triangles: Vec<[u32; 3]>,
    /// Number in the file of the vertex that each is, or is one side of; `NEW_VERTEX` for those on cuts. The vertices of the input come
    /// first, in the same order in all frames.
    pub ids: Vec<u32>,
    /// Texture coordinates of the vertices; empty if there are none.
    pub uvs: Vec<Vec2>,
    /// sRGB colors of the vertices; empty: that of the body.
    pub colors: Vec<[u8; 3]>,
    /// Material slot of each triangle; empty: all have the first.
    pub slots: Vec<u16>,
    /// Names of the material slots.
    pub materials: Vec<String>,
}

impl MeshFrame {
    /// Whether there is none. One with vertices only belongs to a body whose triangles another one has, since they fused.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// Takes over all that does not move.
    pub(crate) fn clone_topology(&mut self, from: &Self) {
        self.triangles.clone_from(&from.triangles);
        self.ids.clone_from(&from.ids);
        self.uvs.clone_from(&from.uvs);
        self.colors.clone_from(&from.colors);
        self.slots.clone_from(&from.slots);
        self.materials.clone_from(&from.materials);
    }
}

/// One collider at one moment.
#[derive(Debug, Clone)]
pub struct ColliderFrame {
    /// Name in the scene.
    pub name: String,
    /// sRGB color.
    pub color: [u8; 3],
    /// From the collider's own frame to the world.
    pub pose: DAffine3,
    /// What is drawn.
    pub look: ColliderLook,
}

/// How a collider is drawn, in its own frame.
#[derive(Debug, Clone)]
pub enum ColliderLook {
    /// An infinite plane through the origin of the frame, y up after the pose.
    Plane,
    /// Surfels sampled once.
    Surfels(Arc<Surfels>),
}
