//! Surfaces of shells: from shapes and meshes to triangles, nodes and surfels.

use super::pinches::open_pinches;
use super::through_samples::{ThroughSamples, scattered_areas};
use super::triangulation::Triangulation;
use super::{color_by_mesh, sample_surfels};
use crate::geometry::{Bounds, Mesh, NormalGraph, OpenSurface, ScatteredPoints, Shape, plane_normals};
use crate::models::shell::network::Nodes;
use crate::models::shell::nodes::{NodeOptions, spacing_for, spread_nodes};
use crate::models::shell::surface::{DenseSurface, TriangleSurface};
use crate::scene::RegionPlace;
use crate::surface::Surfels;
use crate::{Diagnostic, Error, Result};
use glam::DVec3;

/// Cells along the longest side of a shape when its area is looked at first.
const FIRST_LOOK: f64 = 40.0;
/// Cells of the triangulation of a solid per distance of nodes.
const CELLS: f64 = 2.0;
/// Area of a hexagonal cell over the squared spacing.
const CELL: f64 = 0.866_025_403_784_438_6;
/// Samples per node of triangles that have fallen apart, and how many there are at most.
const SAMPLES: f64 = 64.0;
const MOST_SAMPLES: f64 = 4e5;
/// Scale on which a surface is laid through samples: in distances of nodes, in gaps between triangles, in distances of points.
const SMOOTH: f64 = 0.6;
const BRIDGE: f64 = 2.0;
const CLOUD: f64 = 3.5;
/// Most nodes of a shell.
const MOST_NODES: f64 = 2e6;

/// What a shell's surface is given by.
#[derive(Clone, Copy)]
pub enum ShellSource<'a> {
    /// The surface of a solid.
    Solid(&'a dyn Shape),
    /// Triangles or points as they are.
    Open(&'a OpenSurface),
}

/// The surface that a shell is made from.
pub struct ShellSurface<'a> {
    triangles: TriangleSurface,
    source: Source<'a>,
    /// The mesh, when there is one.
    mesh: Option<&'a Mesh>,
    /// What is left out.
    cuts: &'a [RegionPlace],
    warnings: Vec<String>,
}

/// Where places on the surface come from.
enum Source<'a> {
    /// The triangles are the surface.
    Triangles,
    /// The triangles lie near the surface of a solid.
    Solid(&'a dyn Shape),
    /// Triangles that have fallen apart: the surface goes through them.
    Soup,
    /// Points: the surface goes through them.
    Points(&'a ScatteredPoints),
    /// The triangles lie near the surface through samples; the second are those that are drawn.
    Through(Box<ThroughSamples>, Option<TriangleSurface>),
}

/// Nodes and their distance.
pub struct ShellNodes {
    /// Nodes at rest.
    pub nodes: Nodes,
    /// Distance between them [m].
    pub spacing: f64,
}

impl<'a> ShellSurface<'a> {
    /// The surface without what is cut away.
    pub fn new(source: ShellSource<'a>, cuts: &'a [RegionPlace]) -> Result<Self> {
        let mut made = Self {
            triangles: TriangleSurface::default(),
            source: Source::Triangles,
            mesh: None,
            cuts,
            warnings: Vec::new(),
        };
        match source {
            ShellSource::Solid(solid) => {
                let longest = solid.bounds().size().max_element();
                made.triangles = cut(triangulate(solid, longest / FIRST_LOOK), cuts);
                made.source = Source::Solid(solid);
            }
            ShellSource::Open(OpenSurface::Points(points)) => made.source = Source::Points(points),
            ShellSource::Open(OpenSurface::Mesh(mesh)) => {
                made.mesh = Some(mesh);
                made.take_mesh(mesh)?;
            }
        }
        Ok(made)
    }

    fn take_mesh(&mut self, mesh: &Mesh) -> Result<()> {
        let mut triangles = TriangleSurface { positions: mesh.positions.clone(), triangles: mesh.triangles.clone() };
        triangles.clean();
        let dropped = mesh.triangles.len() - triangles.triangles.len();
        if dropped > 0 {
            self.warnings.push(format!("{dropped} triangles without extent or given twice are left out"));
        }
        if triangles.is_soup() {
            self.source = Source::Soup;
            self.triangles = triangles;
            return Ok(());
        }
        self.triangles = cut(triangles, self.cuts);
        self.triangles.orient().map_or(Ok(()), |place| Err(one_sided(place)))
    }

    /// What was found odd, for the user.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Spreads nodes at a distance [m], or a number of them.
    pub fn nodes(&mut self, spacing: Option<f64>, count: usize, rows: bool, seed: u64) -> Result<ShellNodes> {
        let scattered = match self.source {
            Source::Points(points) => Some(scattered_areas(&points.positions, first_spacing(&points.positions))),
            _ => None,
        };
        let samples = match (&self.source, scattered) {
            (&Source::Points(points), Some(areas)) => Some(self.oriented(points, areas)?),
            _ => None,
        };
        if let (None, Some(samples)) = (spacing, &samples) {
            // A first look, to know how large the surface is.
            let radius = CLOUD * median(&samples.areas).sqrt();
            self.triangles = cut(ThroughSamples::new(samples.clone(), radius).triangles(radius), self.cuts);
        }
        let area = match (spacing, &samples) {
            (Some(_), Some(samples)) => samples.areas.iter().sum(),
            _ => self.triangles.area(),
        };
        let spacing = spacing.unwrap_or_else(|| spacing_for(&self.triangles, count));
        if !(area > 0.0 && area.is_finite() && spacing > 0.0) {
            let hint = "triangles with an area, and cuts that leave some of them";
            return Err(Diagnostic::new("the surface of the shell has no area").key("shape").expected(hint).into());
        }
        if area / (spacing * spacing) > MOST_NODES {
            let what = format!("a shell with {:.0} nodes is too large", area / (spacing * spacing));
            return Err(Diagnostic::new(what).key("spacing").hint("a larger spacing").into());
        }
        self.refine(spacing, samples)?;
        let options = NodeOptions { spacing, rows, seed };
        let nodes = match &self.source {
            Source::Solid(solid) => spread_nodes(&self.triangles, &options, &|p, n| settle(*solid, spacing, p, n)),
            Source::Through(samples, _) => {
                spread_nodes(&self.triangles, &options, &|p, n| settle(&**samples, 0.3 * spacing, p, n))
            }
            _ => spread_nodes(&self.triangles, &options, &|p, n| (p, n)),
        };
        if nodes.positions.len() < 3 {
            let what = format!("the shell has {} nodes", nodes.positions.len());
            return Err(Diagnostic::new(what).key("spacing").expected("at least 3").hint("a smaller spacing").into());
        }
        Ok(ShellNodes { nodes, spacing })
    }

    /// Makes the triangles as fine as the nodes ask for.
    fn refine(&mut self, spacing: f64, samples: Option<DenseSurface>) -> Result<()> {
        let cells = spacing / CELLS;
        match std::mem::replace(&mut self.source, Source::Triangles) {
            Source::Solid(solid) => {
                self.triangles = cut(triangulate(solid, cells), self.cuts);
                self.source = Source::Solid(solid);
            }
            Source::Soup => {
                let gap = self.triangles.orient_soup().map_err(one_sided)?;
                let piece = (CELL * spacing * spacing / SAMPLES).max(self.triangles.area() / MOST_SAMPLES);
                let dense = self.triangles.dense(piece);
                self.warnings.push(format!(
                    "the {} triangles hang together in {} pieces: one surface is laid through all of them, over gaps of {gap:.2e} m",
                    self.triangles.triangles.len(),
                    self.triangles.pieces()
                ));
                let through = ThroughSamples::new(dense, (SMOOTH * spacing).max(BRIDGE * gap));
                let drawn = std::mem::replace(&mut self.triangles, cut(through.triangles(cells), self.cuts));
                self.source = Source::Through(Box::new(through), Some(cut(drawn, self.cuts)));
            }
            Source::Points(_) => {
                let samples = samples.unwrap_or_default();
                let apart = median(&samples.areas).sqrt();
                let through = ThroughSamples::new(samples, (SMOOTH * spacing).max(CLOUD * apart));
                self.triangles = cut(through.triangles(cells), self.cuts);
                self.source = Source::Through(Box::new(through), None);
            }
            other => self.source = other,
        }
        Ok(())
    }

    /// Points with their areas and normals, which are found where the file has none.
    fn oriented(&mut self, points: &ScatteredPoints, areas: Vec<f64>) -> Result<DenseSurface> {
        let apart = median(&areas).sqrt();
        let positions = points.positions.clone();
        let given = points.normals.clone().filter(|list| list.iter().all(|n| n.is_normalized()));
        let graph = NormalGraph::new(&points.positions, apart);
        let normals = match given.filter(|normals| graph.conflict(normals).is_none()) {
            Some(normals) => normals,
            None => {
                let found = plane_normals(&positions, apart);
                let clear = found.iter().flatten().count();
                if 2 * clear < positions.len() {
                    let what = "the points lie on lines, so no surface goes through them";
                    return Err(Diagnostic::new(what).key("shape").expected("points spread over a surface").into());
                }
                // The few without a plane of their own take any; their neighbors outweigh them.
                let mut normals: Vec<DVec3> = found.into_iter().map(|n| n.unwrap_or(DVec3::Y)).collect();
                graph.orient(&mut normals).map_or(Ok(()), |place| Err(one_sided(place)))?;
                let why = if points.normals.is_some() { "disagree" } else { "are not in the file" };
                self.warnings.push(format!("the normals of the points {why}: they are found from the points"));
                normals
            }
        };
        Ok(DenseSurface { radii: vec![apart; positions.len()], positions, normals, areas })
    }

    /// The mesh that is drawn: that of the file as it is, else one of about `count` vertices.
    pub fn mesh(&self, count: usize) -> Mesh {
        let mesh = match (self.mesh, &self.source) {
            (Some(mesh), _) if !mesh.ids.is_empty() => mesh.clone(),
            (Some(mesh), _) => {
                let parts = (2.0 * count as f64 / mesh.triangles.len().max(1) as f64).sqrt().ceil().max(1.0);
                mesh.clone().subdivided(parts as usize)
            }
            (None, Source::Solid(solid)) => mesh_of(*solid, count),
            (None, Source::Through(samples, _)) => {
                let made = samples.triangles((self.triangles.area() / count.max(1) as f64).sqrt());
                settled(made.positions, made.triangles, &|p| (p, samples.normal(p)))
            }
            (None, _) => {
                settled(self.triangles.positions.clone(), self.triangles.triangles.clone(), &|p| (p, DVec3::Y))
            }
        };
        self.cuts.iter().fold(mesh, |mesh, place| mesh.clipped(&|p| depth(place, p)))
    }

    /// About `count` surfels that cover the surface.
    pub fn surfels(&self, count: usize, color: [u8; 3], seed: u64) -> Surfels {
        if let (Source::Solid(solid), true) = (&self.source, self.cuts.is_empty()) {
            return larger(sample_surfels(*solid, count, color, seed));
        }
        let drawn = match &self.source {
            Source::Through(_, Some(drawn)) => drawn,
            _ => &self.triangles,
        };
        let dense = drawn.dense(drawn.area() / count.max(1) as f64);
        let mut surfels = Surfels::default();
        for k in 0..dense.positions.len() {
            let (mut p, mut n) = (dense.positions[k], dense.normals[k]);
            match &self.source {
                Source::Solid(solid) => (p, n) = settle(*solid, dense.radii[k], p, n),
                Source::Through(samples, None) => (p, n) = settle(&**samples, dense.radii[k], p, n),
                _ => {}
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

/// A mesh of about `count` vertices on the surface of a solid.
pub fn mesh_of(solid: &dyn Shape, count: usize) -> Mesh {
    let area = triangulate(solid, solid.bounds().size().max_element() / FIRST_LOOK).area();
    let mut made = Triangulation::new(solid, (area / count.max(1) as f64).sqrt());
    open_pinches(&mut made.positions, &mut made.triangles);
    let reach = made.edge;
    settled(made.positions, made.triangles, &|p| settle(solid, reach, p, solid.normal(p)))
}

/// A mesh with its vertices moved, and their normals.
fn settled(mut positions: Vec<DVec3>, triangles: Vec<[u32; 3]>, place: &dyn Fn(DVec3) -> (DVec3, DVec3)) -> Mesh {
    let normals = positions.iter_mut().map(|p| {
        let (settled, normal) = place(*p);
        *p = settled;
        normal
    });
    let normals = normals.collect();
    Mesh { positions, triangles, normals, ..Mesh::default() }
}

/// How much larger surfels are than a flat sheet needs: in a tight fold their centers move apart faster than the axes grow.
const OVERLAP: f64 = 1.4;

fn larger(mut surfels: Surfels) -> Surfels {
    surfels.axes_u.iter_mut().chain(&mut surfels.axes_v).for_each(|axis| *axis *= OVERLAP as f32);
    surfels
}

/// A surface whose two sides are one.
fn one_sided(place: DVec3) -> Error {
    let what = format!("the surface has one side only, like a Moebius strip: its sides meet at {place:.3}");
    let fault = Diagnostic::new(what).key("shape").expected("a surface with two sides");
    fault.hint("open it there with `cut`").into()
}

/// A first guess at the distance of points, as if they filled the sides of their box [m].
fn first_spacing(positions: &[DVec3]) -> f64 {
    let size = Bounds::of(positions.iter().copied()).size();
    let sides = size.x * size.y + size.y * size.z + size.z * size.x + 1e-6 * size.length_squared();
    (sides / positions.len().max(1) as f64).sqrt().max(f64::MIN_POSITIVE)
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(1.0).max(f64::MIN_POSITIVE)
}

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
        RegionPlace::Nearest { .. } | RegionPlace::Path { .. } | RegionPlace::Painted { .. } => -1.0,
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

#[cfg(test)]
#[path = "shell_tests.rs"]
mod tests;
