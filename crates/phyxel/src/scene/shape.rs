//! Shapes as the user wrote them; `geometry::build` turns them into signed distances.

use glam::DVec3;
use serde::Serialize;

/// A shape with its transform: scaled, then rotated, then moved; `round` grows it by a radius.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShapeSpec {
    /// What it is.
    #[serde(flatten)]
    pub kind: ShapeKind,
    /// Place [m].
    pub at: DVec3,
    /// Rotation [degrees], about x, then y, then z.
    pub rotate: DVec3,
    /// Scale factor per axis; a non-uniform scale makes the distance a lower bound.
    pub scale: DVec3,
    /// Corner rounding radius [m]: the shape shrunk by it and grown again.
    pub round: f64,
}

impl ShapeSpec {
    /// The shape at the origin.
    pub fn new(kind: ShapeKind) -> Self {
        Self { kind, at: DVec3::ZERO, rotate: DVec3::ZERO, scale: DVec3::ONE, round: 0.0 }
    }
}

/// `shape.kind` with its keys. Lengths in m; axes of round shapes are y; all are centered at the origin,
/// cone and cylinder too (from -height/2 to height/2).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[allow(missing_docs)] // The keys are described in docs/scene_format.md.
pub enum ShapeKind {
    Box {
        size: DVec3,
    },
    Sphere {
        radius: f64,
    },
    Ellipsoid {
        radii: DVec3,
    },
    Cylinder {
        radius: f64,
        height: f64,
    },
    Capsule {
        radius: f64,
        height: f64,
    },
    Cone {
        radius: f64,
        height: f64,
    },
    Torus {
        radius: f64,
        tube: f64,
    },
    /// A flat rectangle in the plane y = 0, facing up: extents along x and z.
    Sheet {
        size: [f64; 2],
    },
    Plane {
        normal: DVec3,
        offset: f64,
    },
    /// A mesh file; `height` scales it to that height along y.
    Mesh {
        file: String,
        height: Option<f64>,
    },
    /// A point cloud with normals.
    Points {
        file: String,
        height: Option<f64>,
    },
    Union {
        of: Vec<ShapeSpec>,
        smooth: f64,
    },
    /// The first minus all others.
    Difference {
        of: Vec<ShapeSpec>,
        smooth: f64,
    },
    Intersection {
        of: Vec<ShapeSpec>,
        smooth: f64,
    },
    /// A shape defined under `[shape.name]`, or one of the built-in ones.
    Use {
        name: String,
    },
}
