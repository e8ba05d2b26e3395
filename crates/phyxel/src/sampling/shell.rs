//! Surfaces of shells: from shapes and meshes to triangles, nodes and surfels.

use super::color_by_mesh;
use super::triangulation::Triangulation;
use crate::geometry::{Mesh, Shape};
use crate::models::shell::network::Nodes;
use crate::models::shell::nodes::{NodeOptions, spacing_for, spread_nodes};
use crate::models::shell::surface::TriangleSurface;
use crate::scene::RegionPlace;
use crate::surface::Surfels;
use crate::{Diagnostic, Result};
use glam::DVec3;

/// Cells along the longest side of a shape when its area is looked at first.
const FIRST_LOOK: f64 = 40.0;
/// Cells of the triangulation of a solid per distance of nodes.
const CELLS: f64 = 2.0;
/// Most nodes of a shell.
const MOST_NODES: f64 = 2e6;

/// The surface that a shell is made from.
pub struct ShellSurface<'a> {
    triangles: TriangleSurface,
    /// The solid, when the surface is that of one.
    solid: Option<&'a dyn Shape>,
    /// The mesh, when it has colors.
    mesh: Option<&'a Mesh>,
    /// What is left out.
    cuts: &'a [RegionPlace],
}

/// Nodes and their distance.
pub struct ShellNodes {
    /// Nodes at rest.
    pub nodes: Nodes,
    /// Distance between them [m].
    pub spacing: f64,
}

impl<'a> ShellSurface<'a> {
    /// The open surface if there is one, else that of the solid, without what is cut away.
    pub fn new(solid: &'a dyn Shape, open: Option<&'a Mesh>, cuts: &'a [RegionPlace]) -> Self {
        match open {
            Some(mesh) => {
                let triangles =
                    TriangleSurface { positions: mesh.positions.clone(), triangles: mesh.triangles.clone() };
                let mesh = Some(mesh).filter(|m| m.colors.is_some());
                Self { triangles: cut(triangles, cuts), solid: None, mesh, cuts }
            }
            None => {
                let longest = solid.bounds().size().max_element();
                let triangles = cut(triangulate(solid, longest / FIRST_LOOK), cuts);
                Self { triangles, solid: Some(solid), mesh: None, cuts }
            }
        }
    }

    /// Spreads nodes at a distance [m], or a number of them.
    pub fn nodes(&mut self, spacing: Option<f64>, count: usize, rows: bool, seed: u64) -> Result<ShellNodes> {
        let area = self.triangles.area();
        let spacing = spacing.unwrap_or_else(|| spacing_for(&self.triangles, count));
        if !(area > 0.0 && area.is_finite() && spacing > 0.0) {
            return Err(Diagnostic::new("the surface of the shell has no area").key("shape").into());
        }
        if area / (spacing * spacing) > MOST_NODES {
            let what = format!("a shell with {:.0} nodes is too large", area / (spacing * spacing));
            return Err(Diagnostic::new(what).key("spacing").hint("a larger spacing").into());
        }
        if let Some(solid) = self.solid {
            self.triangles = cut(triangulate(solid, spacing / CELLS), self.cuts);
        }
        let options = NodeOptions { spacing, rows, seed };
        let nodes = match self.solid {
            None => spread_nodes(&self.triangles, &options, &|p, n| (p, n)),
            Some(solid) => spread_nodes(&self.triangles, &options, &|p, n| settle(solid, spacing, p, n)),
        };
        if nodes.positions.len() < 3 {
            let what = format!("the shell has {} nodes", nodes.positions.len());
            return Err(Diagnostic::new(what).key("spacing").expected("at least 3").hint("a smaller spacing").into());
        }
        Ok(ShellNodes { nodes, spacing })
    }

    /// About `count` surfels that cover the surface.
    pub fn surfels(&self, count: usize, color: [u8; 3]) -> Surfels {
        let piece = self.triangles.area() / count.max(1) as f64;
        let dense = self.triangles.dense(piece);
        let mut surfels = Surfels::default();
        for k in 0..dense.positions.len() {
            let (mut p, mut n) = (dense.positions[k], dense.normals[k]);
            if let Some(solid) = self.solid {
                (p, n) = settle(solid, dense.radii[k], p, n);
            }
            let (u, v) = n.any_orthonormal_pair();
            surfels.positions.push(p.as_vec3());
            surfels.axes_u.push((OVERLAP * dense.radii[k] * u).as_vec3());
            surfels.axes_v.push((OVERLAP * dense.radii[k] * v).as_vec3());
            surfels.normals.push(n.as_vec3());
            surfels.colors.push(color);
        }
        if let Some(mesh) = self.mesh {
            color_by_mesh(&mut surfels, mesh);
        }
        surfels
    }
}

/// How much larger surfels are than a flat sheet needs: in a tight fold their centers move apart faster than the axes grow.
const OVERLAP: f64 = 1.4;

/// The surface without some parts.
fn cut(mut surface: TriangleSurface, cuts: &[RegionPlace]) -> TriangleSurface {
    for place in cuts {
        surface = surface.clipped(&|p| depth(place, p));
    }
    surface
}

/// How far a place lies inside of a region [m]; negative outside.
fn depth(place: &RegionPlace, p: DVec3) -> f64 {
    match *place {
        RegionPlace::Box { min, max } => (p - min).min(max - p).min_element(),
        RegionPlace::Sphere { center, radius } => radius - p.distance(center),
        RegionPlace::HalfSpace { normal, offset } => normal.dot(p) - offset,
        RegionPlace::Nearest { .. } => -1.0,
        RegionPlace::All => 1.0,
    }
}

fn triangulate(solid: &dyn Shape, edge: f64) -> TriangleSurface {
    let surface = Triangulation::new(solid, edge);
    TriangleSurface { positions: surface.positions, triangles: surface.triangles }
}

/// Moves a place onto the surface of a solid and takes the normal there.
fn settle(solid: &dyn Shape, reach: f64, start: DVec3, normal: DVec3) -> (DVec3, DVec3) {
    let mut p = start;
    for _ in 0..4 {
        let distance = solid.distance(p);
        if distance.abs() < 1e-5 * reach {
            break;
        }
        p -= solid.normal(p) * distance.clamp(-reach, reach);
    }
    let found = solid.normal(p + 1e-3 * reach * normal);
    (if p.is_finite() { p } else { start }, if found.is_normalized() { found } else { normal })
}
