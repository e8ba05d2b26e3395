//! A mesh of the artist that rides on the points of a shell and opens where the shell tears.
//!
//! Vertices follow the points as surfels do. Cracks are polylines on the surface at rest: the mesh is slit along them there (`sheet`),
//! each side gets its own vertices on the cut (`sectors`), and these follow the points of their own side (`bind`). So no triangle ever
//! spans a crack, and none of its area is lost. Texture coordinates and colors of new vertices are interpolated; vertices of the
//! input keep their numbers.
//!
//! The mesh of a moment follows from the cracks so far, piece by piece in their order: it does not depend on the frames in between.

mod bind;
mod blade;
mod draw;
mod sectors;
mod sheet;
#[cfg(test)]
mod tests;

pub use sheet::NEW_VERTEX;

use super::{Carrier, Falloff, Surfels};
use crate::frame::MeshFrame;
use crate::geometry::Mesh;
use crate::models::shell::cracks::Piece;
use bind::{Bonds, Ground};
use blade::{Blade, Sight};
use draw::Spot;
use glam::{DMat3, DVec3};
use rayon::prelude::*;
use sectors::Opened;
use sheet::Sheet;
use std::collections::{BTreeMap, BTreeSet};

/// A mesh bound to the points of a shell.
#[derive(Debug, Clone, Default)]
pub struct Skin {
    /// Before any crack.
    whole: Sheet,
    /// With the cracks so far. Written by `open`.
    sheet: Sheet,
    /// The pieces of the cracks in it. Written by `open`.
    seen: Vec<Piece>,
    /// Where each piece of a crack begins and ends on the sheet. Written by `open`.
    ends: Vec<[Option<u32>; 2]>,
    ground: Ground,
    /// What carries the vertices of the input before any crack.
    uncut: Vec<Bonds>,
    carrier: Carrier,
    /// Topology and what does not change with motion. Written by `open`.
    look: MeshFrame,
    carried: Surfels,
    /// Where the ellipses are that draw it. Written by `open`.
    spots: Vec<Spot>,
    /// Largest piece of a triangle for one ellipse [m²].
    piece: f64,
}

/// The points that carry a mesh, as of now; all slices are of the points that it is bound to, in the same order.
#[derive(Debug, Clone, Copy)]
pub struct Carriers<'a> {
    /// Positions [m].
    pub positions: &'a [DVec3],
    /// Positions at rest [m].
    pub rest_positions: &'a [DVec3],
    /// Velocities [m/s].
    pub velocities: &'a [DVec3],
    /// Deformation gradients.
    pub gradients: &'a [DMat3],
}

impl Skin {
    /// Binds a mesh at rest to points at rest, each of which reaches as far as its radius [m]. Pictures show it by at least
    /// `ellipses`.
    pub fn new(mesh: Mesh, rest_positions: &[DVec3], radii: &[f64], ellipses: usize) -> Self {
        Self::with_falloff(mesh, rest_positions, radii, ellipses, Falloff::Fading)
    }

    /// `new` with weights of another kind.
    pub fn with_falloff(
        mesh: Mesh,
        rest_positions: &[DVec3],
        radii: &[f64],
        ellipses: usize,
        falloff: Falloff,
    ) -> Self {
        let ground = Ground::new(rest_positions, radii);
        let piece = (mesh.area() / ellipses.max(1) as f64).max(f64::MIN_POSITIVE);
        let rest = rest_surfels(&mesh, &[]);
        let carrier = Carrier::bind_with(rest, rest_positions, radii, falloff);
        let uncut = (0..mesh.positions.len()).map(|v| carrier.bonds(v)).collect();
        let whole = Sheet::new(mesh);
        let mut skin = Self { sheet: whole.clone(), whole, ground, uncut, carrier, piece, ..Self::default() };
        skin.rebuild();
        skin
    }

    /// Lets normals follow the folds of a sheet. Points and radii are those of `new`.
    pub fn follow_folds(mut self, rest_positions: &[DVec3], radii: &[f64]) -> Self {
        self.carrier = self.carrier.follow_folds(rest_positions, radii);
        self
    }

    /// The triangles at rest, before any crack.
    pub fn rest(&self) -> &Mesh {
        &self.whole.mesh
    }

    /// Carries the vertices of a mesh without cracks.
    pub(crate) fn carry(&mut self, points: &Carriers) {
        self.carrier.update(points.positions, points.rest_positions, points.gradients, &mut self.carried);
        self.carrier.write_velocities(points.positions, points.velocities, &mut self.carried);
    }

    /// What `carry` gave.
    pub(crate) fn carried(&self) -> (&Carrier, &Surfels) {
        (&self.carrier, &self.carried)
    }

    /// Number of vertices now.
    pub fn vertices(&self) -> usize {
        self.look.ids.len()
    }

    /// Opens the mesh along cracks; `pieces` are all so far, oldest first.
    pub fn open(&mut self, pieces: &[Piece], rest_positions: &[DVec3]) {
        if pieces == self.seen {
            return;
        }
        // A world that went back in time has cracks no more that it had.
        if !pieces.starts_with(&self.seen) {
            self.sheet.clone_from(&self.whole);
            self.seen.clear();
            self.ends.clear();
        }
        for piece in &pieces[self.seen.len()..] {
            let ends = self.sheet.slit(piece);
            self.ends.push(ends);
            self.seen.push(*piece);
        }
        let opened = self.rebuild();
        let sight = self.look_around(pieces, &opened);
        self.bind(&opened, &sight, rest_positions);
    }

    /// What cracks hide, and where ways lead around them.
    fn look_around(&self, pieces: &[Piece], opened: &Opened) -> Sight {
        let bits = |p: DVec3| p.to_array().map(f64::to_bits);
        // Blades that meet end along the mean of their heights.
        let mut highs: BTreeMap<[u64; 3], DVec3> = BTreeMap::new();
        for piece in pieces {
            let high = Blade::new(piece).map_or(DVec3::ZERO, |b| b.high);
            for end in [piece.from, piece.to] {
                *highs.entry(bits(end)).or_default() += high;
            }
        }
        let mut sight = Sight::default();
        let mut known = BTreeSet::new();
        for (piece, ends) in pieces.iter().zip(&self.ends) {
            let tips = ends.map(|end| end.is_some_and(|v| opened.tips.contains(&v)));
            let edges = [piece.from, piece.to].map(|end| highs.get(&bits(end)).copied().unwrap_or_default());
            let Some(blade) = Blade::new(piece).map(|b| b.ending(tips, edges)) else { continue };
            sight.blades.push(blade);
            for (k, end) in [piece.from, piece.to].into_iter().enumerate() {
                // Beyond the border there is no way.
                if ends[k].is_none() || !known.insert(bits(end)) {
                    continue;
                }
                match tips[k] {
                    true => sight.corners.push(end),
                    false => sight.corners.extend(blade.beside(end)),
                }
            }
        }
        sight
    }

    /// Finds the topology anew.
    fn rebuild(&mut self) -> Opened {
        let opened = Opened::new(&self.sheet);
        let Sheet { mesh, ids, .. } = &self.sheet;
        let copied = |v: &u32| *v as usize;
        let with_copies = |list: &[u32]| -> Vec<u32> {
            list.iter().copied().chain(opened.copies.iter().map(|v| list[copied(v)])).collect()
        };
        let of_file = |v: u32| mesh.ids.get(v as usize).copied().unwrap_or(v);
        self.look.ids = with_copies(ids).into_iter().map(|v| if v == NEW_VERTEX { v } else { of_file(v) }).collect();
        self.look.triangles.clone_from(&opened.triangles);
        self.look.slots.clone_from(&mesh.slots);
        self.look.materials.clone_from(&mesh.materials);
        if let Some(uvs) = &mesh.uvs {
            let all = uvs.iter().chain(opened.copies.iter().map(|v| &uvs[copied(v)]));
            self.look.uvs = all.map(|uv| uv.as_vec2()).collect();
        }
        if let Some(colors) = &mesh.colors {
            let all = colors.iter().chain(opened.copies.iter().map(|v| &colors[copied(v)]));
            self.look.colors = all.copied().collect();
        }
        self.spots = draw::spots(mesh, self.piece);
        opened
    }

    /// Binds vertices beside cracks to their own side.
    fn bind(&mut self, opened: &Opened, sight: &Sight, rest_positions: &[DVec3]) {
        let (mesh, reach) = (&self.sheet.mesh, self.ground.reach);
        let bonds = |v: usize| {
            let of = opened.copies.get(v.wrapping_sub(mesh.positions.len())).map_or(v, |v| *v as usize);
            let p = mesh.positions[of];
            let near = sight.near(p, reach);
            match self.uncut.get(v) {
                Some(uncut) if near.blades.is_empty() => uncut.clone(),
                _ => self.ground.bonds(rest_positions, p, opened.eyes.get(&(v as u32)).copied().unwrap_or(p), &near),
            }
        };
        let lists: Vec<Bonds> = (0..self.look.ids.len()).into_par_iter().with_min_len(256).map(bonds).collect();
        self.carrier.rebind(rest_surfels(mesh, &opened.copies), &lists);
    }

    /// The mesh as it is now.
    pub fn write(&mut self, points: &Carriers, out: &mut MeshFrame) {
        self.carry(points);
        out.positions.clone_from(&self.carried.positions);
        out.normals.clone_from(&self.carried.normals);
        out.velocities.clone_from(&self.carried.velocities);
        out.clone_topology(&self.look);
    }

    /// Draws a mesh that `write` made.
    pub fn draw(&self, mesh: &MeshFrame, color: [u8; 3], out: &mut Surfels) {
        draw::draw(mesh, &self.spots, color, out);
    }
}

/// Vertices as surfels, which know how to follow points; `copies` come last.
pub(super) fn rest_surfels(mesh: &Mesh, copies: &[u32]) -> Surfels {
    let all = || (0..mesh.positions.len()).chain(copies.iter().map(|v| *v as usize));
    let (axes_u, axes_v) =
        all().map(|v| mesh.normals[v].as_vec3().normalize_or(glam::Vec3::Y).any_orthonormal_pair()).unzip();
    Surfels {
        positions: all().map(|v| mesh.positions[v].as_vec3()).collect(),
        normals: all().map(|v| mesh.normals[v].as_vec3()).collect(),
        axes_u,
        axes_v,
        colors: Vec::new(),
        velocities: Vec::new(),
        exact: Vec::new(),
    }
}
