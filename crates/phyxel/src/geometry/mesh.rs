//! Triangle meshes.

use super::read::{Raw, read};
use super::topology::{Edges, MeshReport, repair, repair_and_close, same_places};
use super::{Bounds, Pose};
use crate::{Diagnostic, Result};
use glam::{DVec2, DVec3};
use std::path::Path;

/// A triangle mesh.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Mesh {
    /// Vertex positions [m].
    pub positions: Vec<DVec3>,
    /// Vertex indices of each triangle, counter-clockwise seen from outside.
    pub triangles: Vec<[u32; 3]>,
    /// Unit normal per vertex.
    pub normals: Vec<DVec3>,
    /// sRGB color per vertex.
    pub colors: Option<Vec<[u8; 3]>>,
    /// Texture coordinates per vertex.
    pub uvs: Option<Vec<DVec2>>,
    /// Number of each vertex in its file; empty for meshes that come from no file.
    pub ids: Vec<u32>,
    /// Material slot of each triangle; empty: all have the first.
    pub slots: Vec<u16>,
    /// Names of the material slots.
    pub materials: Vec<String>,
}

impl Mesh {
    /// Reads an OBJ, PLY, STL, glTF or GLB file and repairs what can be repaired: see [`MeshReport`].
    pub fn read(path: &Path) -> Result<(Self, MeshReport)> {
        let mut raw = read(path)?;
        let remarks = std::mem::take(&mut raw.warnings);
        let mut mesh = Self::from_raw(raw).map_err(|diagnostic| diagnostic.file(path))?;
        let report = MeshReport { remarks, ..mesh.repair() };
        if mesh.triangles.is_empty() {
            return Err(Diagnostic::new("all triangles of the mesh are without extent").file(path).into());
        }
        Ok((mesh, report))
    }

    /// Reads a file as `read` does, but leaves holes and open borders as they are: for surfaces that are not solids.
    pub fn read_open(path: &Path) -> Result<Self> {
        let raw = read(path)?;
        let mut mesh = Self::from_raw(raw).map_err(|diagnostic| diagnostic.file(path))?;
        repair_and_close(&mut mesh, false);
        if mesh.triangles.is_empty() {
            return Err(Diagnostic::new("all triangles of the mesh are without extent").file(path).into());
        }
        Ok(mesh)
    }

    #[allow(clippy::result_large_err)] // Once per file.
    pub(super) fn from_raw(raw: Raw) -> Result<Self, Diagnostic> {
        if raw.positions.is_empty() {
            return Err(Diagnostic::new("the file has no vertices"));
        }
        if raw.triangles.is_empty() {
            let what = format!("the file has {} vertices but no faces", raw.positions.len());
            return Err(Diagnostic::new(what).hint("for a point cloud say kind = \"points\""));
        }
        let normals =
            raw.normals.unwrap_or_default().iter().map(|n| n.try_normalize().unwrap_or(DVec3::ZERO)).collect();
        let Raw { positions, triangles, colors, uvs, ids, slots, materials, .. } = raw;
        let ids = ids.unwrap_or_else(|| (0..positions.len() as u32).collect());
        Ok(Self { positions, triangles, normals, colors, uvs, ids, slots, materials })
    }

    /// Drops triangles without extent, makes orientations agree, closes holes, turns inside-out pieces, and computes the
    /// normals if there are none.
    pub fn repair(&mut self) -> MeshReport {
        repair(self)
    }

    /// Whether every edge has as many triangles in one direction as in the other; vertices at the same place count as one.
    pub fn is_closed(&self) -> bool {
        Edges::new(self, &same_places(self)).is_closed()
    }

    /// For each vertex the first one at exactly the same place.
    pub fn places(&self) -> Vec<u32> {
        same_places(self)
    }

    /// Box around the vertices [m].
    pub fn bounds(&self) -> Bounds {
        Bounds::of(self.positions.iter().copied())
    }

    /// Corners of a triangle [m].
    pub fn corners(&self, triangle: usize) -> [DVec3; 3] {
        self.triangles[triangle].map(|v| self.positions[v as usize])
    }

    /// Enclosed volume [m³] by the divergence theorem; meaningful for closed meshes.
    pub fn volume(&self) -> f64 {
        let center = self.bounds().center();
        (0..self.triangles.len())
            .map(|t| {
                let [a, b, c] = self.corners(t).map(|x| x - center);
                a.dot(b.cross(c)) / 6.0
            })
            .sum()
    }

    /// Surface area [m²].
    pub fn area(&self) -> f64 {
        (0..self.triangles.len()).map(|t| 0.5 * area_vector(self.corners(t)).length()).sum()
    }

    /// The mesh scaled per axis, then moved by `pose`; a mirrored one keeps its outside outside.
    pub fn transformed(&self, scale: DVec3, pose: &Pose) -> Self {
        let mut mesh = self.clone();
        for x in &mut mesh.positions {
            *x = pose.point(*x * scale);
        }
        for n in &mut mesh.normals {
            *n = pose.vector(*n / scale).try_normalize().unwrap_or(DVec3::Y);
        }
        if scale.x * scale.y * scale.z < 0.0 {
            for t in &mut mesh.triangles {
                t.swap(1, 2);
            }
        }
        mesh
    }

    /// Sets the vertex normals to the angle-weighted mean of the triangles around.
    pub fn compute_normals(&mut self) {
        self.normals = vec![DVec3::ZERO; self.positions.len()];
        for t in 0..self.triangles.len() {
            let x = self.corners(t);
            let n = area_vector(x).normalize_or_zero();
            for i in 0..3 {
                let (e, f) = (x[(i + 1) % 3] - x[i], x[(i + 2) % 3] - x[i]);
                self.normals[self.triangles[t][i] as usize] += n * e.angle_between(f);
            }
        }
        for n in &mut self.normals {
            *n = n.normalize_or(DVec3::Y);
        }
    }
}

/// Twice the area times the normal.
pub(super) fn area_vector([a, b, c]: [DVec3; 3]) -> DVec3 {
    (b - a).cross(c - a)
}
