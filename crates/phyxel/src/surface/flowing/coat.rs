//! The triangles of the artist on matter that flows: they stay where matter stays whole, and open where it parts or fuses.
//!
//! Their vertices are carried and fade as surfels do. Where the surfels beside a vertex have become new surface it is gone for good, and
//! with it the triangles around. What is left is sewn to the mesh around the new surfels (`sew`): one watertight mesh in which
//! vertices that stay have their numbers, texture coordinates and material slots.

use super::carry::{CHUNK, FADE, FAST_FADE, GROWN, Solid, advect, follow_solid, settle};
use super::cover::Cover;
use super::look::Around;
use super::mold::Mold;
use super::motion::{Company, Motion};
use super::near::Near;
use super::{Carried, Coated, Element, FlowPoints, FlowingSurface, NONE, Span};
use crate::frame::MeshFrame;
use crate::geometry::{Bounds, Bvh, Mesh, closest_on_triangle};
use crate::groups::Groups;
use crate::neighbors::Grid;
use crate::surface::sew::{Fabric, Sewn, sew};
use crate::surface::skin::rest_surfels;
use crate::surface::{NEW_VERTEX, Surfels, mesh_around, remesh};
use glam::{DVec3, Vec2, Vec3};
use rayon::prelude::*;

/// A vertex asks the surfels within this distance whether it is still part of the surface [surfel spacings].
const BESIDE: f32 = 1.5;
/// Edges longer than this, in lengths at rest, span a gap.
const LONGEST: f64 = 6.0;

/// The vertices of the triangles on a body.
#[derive(Debug, Default)]
pub(super) struct Coat {
    pub body: u32,
    /// `grown` where they are gone.
    pub vertices: Vec<Element>,
}

/// Triangles of a body to be written: the body, and its mesh at rest.
pub type Worn<'a> = (u32, &'a Mesh);

impl FlowingSurface {
    /// Puts triangles on a body that has joined, at rest like `points`.
    pub fn join_coat(&mut self, body: u32, mesh: &Mesh, points: &FlowPoints) {
        if self.coats.iter().any(|c| c.body == body) || !self.has(body) {
            return;
        }
        let own = |m: &u32| points.bodies[*m as usize] == body;
        let first = self.members.iter().position(own).unwrap_or(0);
        let count = self.members.iter().filter(|m| own(m)).count();
        let (surfels, spacing) = (rest_surfels(mesh, &[]), self.spacing(body));
        let hosts = self.nearest_members(first..first + count, &surfels);
        let vertex = |v: usize| Element {
            position: surfels.positions[v],
            axis_u: spacing * surfels.axes_u[v],
            axis_v: spacing * surfels.axes_v[v],
            normal: surfels.normals[v],
            host: hosts[v],
            body,
            origin: v as u32,
            source: body,
            ..bytemuck::Zeroable::zeroed()
        };
        let vertices = (0..surfels.len()).map(vertex).collect();
        self.coats.push(Coat { body, vertices });
    }

    /// Moves the vertices of all coats with the matter. Returns how much the matter around each has flowed, coat by coat.
    pub(super) fn carry_coats(&mut self, motion: &Motion, carried: &[Option<Carried>], span: Span) -> Vec<Vec<f32>> {
        let mut coats = std::mem::take(&mut self.coats);
        let (s, anchored) = (&self.scratch, !self.anchors.is_empty());
        let carry = |coat: &mut Coat| {
            let worn = coated(carried, coat.body);
            let solid = worn.map(|w| Solid {
                body: coat.body,
                first: self.joined.iter().find(|j| j.body == coat.body).map_or(0, |j| self.first_member(j.first)),
                carrier: w.carrier,
                surfels: w.vertices,
            });
            let one = |near: &mut Company, e: &mut Element| {
                let velocity = s.velocities.get(e.host as usize).copied().unwrap_or(Vec3::ZERO);
                if e.origin != NONE && follow_solid(e, solid.as_slice(), &s.flowed) {
                    e.velocity = velocity;
                    return 0.0;
                }
                e.origin = NONE;
                let before = e.position;
                let from = if anchored { e.return_to_anchor() } else { before };
                let moved = motion.at(from, e.host, near);
                e.host = moved.host;
                advect(e, &moved);
                if span.now > 0.0 && !self.newcomers.contains(&e.body) {
                    e.note_way(from + moved.step - before, span);
                } else {
                    e.velocity = velocity;
                }
                moved.flow
            };
            coat.vertices.par_iter_mut().with_min_len(CHUNK).map_init(Company::default, one).collect()
        };
        let flows = coats.iter_mut().map(carry).collect();
        self.coats = coats;
        flows
    }

    /// Fades vertices as the matter around them flows, and finds those that are gone.
    pub(super) fn wear_coats(
        &mut self,
        flows: &[Vec<f32>],
        carried: &[Option<Carried>],
        cover: &Cover,
        molds: &[Mold],
    ) {
        let mut coats = std::mem::take(&mut self.coats);
        for (coat, flows) in coats.iter_mut().zip(flows) {
            let own = coat.vertices.par_iter_mut().zip(flows).with_min_len(CHUNK);
            own.filter(|(e, _)| e.origin == NONE && e.grown == 0).for_each_init(Near::default, |near, (e, flow)| {
                self.wear(e, *flow, (cover, molds), near);
            });
            if let Some(worn) = coated(carried, coat.body) {
                self.rip(coat, worn.mesh);
            }
        }
        self.coats = coats;
    }

    /// Fades a vertex; it is gone where the surface beside it is new.
    fn wear(&self, e: &mut Element, flow: f32, (cover, molds): (&Cover, &[Mold]), near: &mut Near) {
        let (s, mark) = (&self.scratch, &self.marks[e.host as usize]);
        // What is solid keeps what it has.
        if !mark.is_flowing() && flow == 0.0 {
            e.blend = 0.0;
            return;
        }
        if flow.max(e.blend) > 0.0 {
            let fade = if mark.is_fast() { FAST_FADE } else { FADE };
            let walls = s.walls(e.host as usize, molds);
            let stays = settle(e, (flow, fade, mark.fresh > 0 && flow > 0.5), &Around::default(), s, walls, near);
            e.grown |= u32::from(!stays || e.blend > GROWN);
        }
        let label = s.labels[e.host as usize];
        let mut nearest = (f32::INFINITY, 1);
        cover.near(&self.elements, e.position, BESIDE * self.spacing(e.body), |j, offset| {
            let other = &self.elements[j as usize];
            let (squared, same) = (offset.length_squared(), s.labels[other.host as usize] == label);
            if same && other.normal.dot(e.normal) > 0.0 && squared < nearest.0 {
                nearest = (squared, other.grown);
            }
        });
        e.grown |= nearest.1;
    }

    /// Finds triangles that span pieces or gaps: their vertices are gone.
    fn rip(&self, coat: &mut Coat, mesh: &Mesh) {
        let label = |e: &Element| self.scratch.labels.get(e.host as usize);
        for (t, corners) in mesh.triangles.iter().enumerate() {
            let [a, b, c] = corners.map(|v| &coat.vertices[v as usize]);
            if a.origin != NONE && b.origin != NONE && c.origin != NONE {
                continue;
            }
            let rest = mesh.corners(t);
            let long = [(a, b, 0, 1), (b, c, 1, 2), (c, a, 2, 0)]
                .into_iter()
                .any(|(p, q, i, j)| f64::from(p.position.distance(q.position)) > LONGEST * rest[i].distance(rest[j]));
            if long || label(a) != label(b) || label(a) != label(c) {
                corners.iter().for_each(|&v| coat.vertices[v as usize].grown = 1);
            }
        }
    }

    /// The meshes of bodies with triangles as they are now. Those of bodies that have fused are one, which the first of them has; the
    /// others then have vertices only.
    pub fn write_coats(&self, worn: &[Worn], mut write: impl FnMut(u32, MeshFrame)) {
        let mut groups = Groups::new(worn.len());
        let coat = |body: u32| self.coats.iter().find(|c| c.body == body);
        let pieces = |k: usize| {
            let own = self.scratch.labels.iter().zip(&self.scratch.bodies).filter(move |(_, b)| **b == worn[k].0);
            own.map(|(l, _)| *l).collect::<std::collections::BTreeSet<u32>>()
        };
        let all: Vec<_> = (0..worn.len()).map(pieces).collect();
        for k in 0..worn.len() {
            (0..k).filter(|&j| !all[j].is_disjoint(&all[k])).for_each(|j| groups.unite(j as u32, k as u32));
        }
        for k in 0..worn.len() as u32 {
            let together: Vec<usize> = (0..worn.len()).filter(|&j| groups.lowest(j as u32) == k).collect();
            if together.is_empty() {
                let mesh =
                    coat(worn[k as usize].0).map_or(MeshFrame::default(), |c| vertices_alone(c, worn[k as usize].1));
                write(worn[k as usize].0, mesh);
                continue;
            }
            let members: Vec<(&Coat, &Mesh)> =
                together.iter().filter_map(|&j| Some((coat(worn[j].0)?, worn[j].1))).collect();
            write(worn[k as usize].0, self.sewn(&members));
        }
    }

    /// The mesh of some coats, sewn to new surface.
    fn sewn(&self, coats: &[(&Coat, &Mesh)]) -> MeshFrame {
        let mut out = MeshFrame::default();
        let (mut places, mut rest) = (Vec::new(), Vec::new());
        for (coat, mesh) in coats {
            let first = out.positions.len() as u32;
            append(&mut out, coat, mesh);
            places.extend(mesh.places().iter().map(|v| v + first));
            rest.extend(mesh.triangles.iter().map(|t| t.map(|v| v + first)));
        }
        let vertices: Vec<&Element> = coats.iter().flat_map(|c| &c.0.vertices).collect();
        let stays: Vec<bool> = rest.iter().map(|t| t.iter().all(|&v| vertices[v as usize].grown == 0)).collect();
        if stays.iter().all(|s| *s) {
            out.triangles = rest;
            return out;
        }
        let bodies: Vec<u32> = coats.iter().map(|c| c.0.body).collect();
        let (around, surfels) = self.surfels_of(&bodies);
        let spacing = f64::from(self.spacing(bodies[0]));
        let made = mesh_around(&surfels, spacing);
        let grid = Grid::new(&surfels.positions.iter().map(|p| p.as_dvec3()).collect::<Vec<_>>(), 2.0 * spacing);
        let beside: Vec<Option<&Element>> =
            made.positions.par_iter().map(|p| grid.nearest(*p).map(|(j, _)| around[j])).collect();
        let fresh: Vec<bool> = beside.iter().map(|e| e.is_none_or(|e| e.grown != 0)).collect();
        let positions: Vec<DVec3> = out.positions.iter().map(|p| p.as_dvec3()).collect();
        let fabric = Fabric { positions: &positions, places: &places, triangles: &rest };
        let sewn = sew(fabric, stays, &made, &fresh, remesh::CELL * spacing);
        let paint = Source::new(coats);
        finish(&mut out, (&sewn, &rest), (&made, &beside), &paint);
        out
    }

    /// The surfels of some bodies.
    fn surfels_of(&self, bodies: &[u32]) -> (Vec<&Element>, Surfels) {
        let own: Vec<&Element> = self.elements.iter().filter(|e| bodies.contains(&e.body)).collect();
        let surfels = Surfels {
            positions: own.iter().map(|e| e.position).collect(),
            axes_u: own.iter().map(|e| e.axis_u).collect(),
            axes_v: own.iter().map(|e| e.axis_v).collect(),
            normals: own.iter().map(|e| e.normal).collect(),
            colors: own.iter().map(|e| [e.color[0], e.color[1], e.color[2]]).collect(),
            velocities: Vec::new(),
            exact: Vec::new(),
        };
        (own, surfels)
    }
}

fn coated<'a>(carried: &'a [Option<Carried>], body: u32) -> Option<Coated<'a>> {
    carried.get(body as usize)?.as_ref()?.coat
}

/// Adds the vertices of a coat, with all that they have, but no triangles.
fn append(out: &mut MeshFrame, coat: &Coat, mesh: &Mesh) {
    let first = out.positions.len();
    // The vertices of bodies that have fused are numbered one body after the other.
    let before = out.ids.iter().filter(|v| **v != NEW_VERTEX).max().map_or(0, |v| v + 1);
    let number = |v: usize| mesh.ids.get(v).copied().unwrap_or(v as u32);
    let shifted = |v: u32| if v == NEW_VERTEX { v } else { v + before };
    out.positions.extend(coat.vertices.iter().map(|e| e.position));
    out.normals.extend(coat.vertices.iter().map(|e| e.normal));
    out.velocities.extend(coat.vertices.iter().map(|e| e.velocity));
    out.ids.extend((0..coat.vertices.len()).map(|v| shifted(number(v))));
    if let Some(uvs) = &mesh.uvs {
        out.uvs.resize(first, Vec2::ZERO);
        out.uvs.extend(uvs.iter().map(|uv| uv.as_vec2()));
    }
    if let Some(colors) = &mesh.colors {
        out.colors.resize(first, [128; 3]);
        out.colors.extend(colors);
    }
    let slots = out.materials.len() as u16;
    out.slots.extend(mesh.slots.iter().map(|s| s + slots));
    out.materials.extend(mesh.materials.iter().cloned());
}

/// The vertices of a body whose triangles another one has.
fn vertices_alone(coat: &Coat, mesh: &Mesh) -> MeshFrame {
    let mut out = MeshFrame::default();
    append(&mut out, coat, mesh);
    out.slots.clear();
    out
}

/// Adds what was sewn to the vertices: `made` is the mesh around the surfels, with the surfel beside each of its vertices.
fn finish(
    out: &mut MeshFrame,
    (sewn, rest): (&Sewn, &[[u32; 3]]),
    (made, beside): (&Mesh, &[Option<&Element>]),
    source: &Source,
) {
    let slots = std::mem::take(&mut out.slots);
    out.triangles = sewn.stay.iter().map(|&t| rest[t as usize]).chain(sewn.triangles.iter().copied()).collect();
    let looks: Vec<(Vec2, u16)> = sewn.taken.iter().map(|&v| source.at(beside[v as usize])).collect();
    let first = out.positions.len() as u32;
    let taken = || sewn.taken.iter().map(|&v| v as usize);
    out.positions.extend(taken().map(|v| made.positions[v].as_vec3()));
    out.normals.extend(taken().map(|v| made.normals[v].as_vec3()));
    out.velocities.extend(taken().map(|v| beside[v].map_or(Vec3::ZERO, |e| e.velocity)));
    out.ids.resize(out.positions.len(), NEW_VERTEX);
    if !out.uvs.is_empty() {
        out.uvs.resize(first as usize, Vec2::ZERO);
        out.uvs.extend(looks.iter().map(|l| l.0));
    }
    if !out.colors.is_empty() {
        out.colors.resize(first as usize, [128; 3]);
        out.colors.extend(taken().map(|v| made.colors.as_ref().map_or([128; 3], |c| c[v])));
    }
    // Caps are like the border that they close.
    for (k, middle) in sewn.middles.iter().enumerate() {
        let number = first + (sewn.taken.len() + k) as u32;
        let ring = sewn.triangles.iter().find(|t| t.contains(&number));
        let like = ring.and_then(|t| t.iter().find(|v| **v != number)).map_or(0, |v| *v as usize);
        out.positions.push(middle.as_vec3());
        out.normals.push(out.normals[like]);
        out.velocities.push(out.velocities[like]);
        out.ids.push(NEW_VERTEX);
        if !out.uvs.is_empty() {
            out.uvs.push(out.uvs[like]);
        }
        if !out.colors.is_empty() {
            out.colors.push(out.colors[like]);
        }
    }
    if !slots.is_empty() {
        out.slots = sewn.stay.iter().map(|&t| slots[t as usize]).collect();
        // New triangles go on with what is painted where their surface comes from.
        let slot = |t: &[u32; 3]| t.iter().find_map(|&v| looks.get((v as usize).wrapping_sub(first as usize)));
        out.slots.extend(sewn.triangles.iter().map(|t| slot(t).map_or(slots[0], |l| l.1)));
    }
}

/// The triangles at rest, asked for what is painted where surface comes from.
struct Source<'a> {
    /// Body, mesh, tree over its triangles, first material slot.
    bodies: Vec<(u32, &'a Mesh, Bvh, u16)>,
}

impl<'a> Source<'a> {
    fn new(coats: &[(&Coat, &'a Mesh)]) -> Self {
        let mut slots = 0;
        let one = |(coat, mesh): &(&Coat, &'a Mesh)| {
            let boxes: Vec<Bounds> = (0..mesh.triangles.len()).map(|t| Bounds::of(mesh.corners(t))).collect();
            let first = slots;
            slots += mesh.materials.len() as u16;
            (coat.body, *mesh, Bvh::new(&boxes), first)
        };
        Self { bodies: coats.iter().map(one).collect() }
    }

    /// Texture coordinates and material slot of the surface that a surfel stands for; those of the inside for what came from there.
    fn at(&self, e: Option<&Element>) -> (Vec2, u16) {
        let own = |e: &Element| self.bodies.iter().find(|b| b.0 == e.body).or(self.bodies.first());
        let found = e.and_then(|e| self.bodies.iter().find(|b| b.0 == e.source));
        let (Some(e), Some((_, mesh, bvh, first))) = (e, found) else {
            let inside = e.and_then(own).or(self.bodies.first());
            return (Vec2::ZERO, inside.map_or(0, |b| b.3 + (b.1.materials.len() as u16).saturating_sub(1)));
        };
        let p = e.reference.as_dvec3();
        let mut nearest = (f64::INFINITY, 0, DVec3::ZERO);
        bvh.nearest(p, f64::INFINITY, |range, mut best| {
            for k in range {
                let t = bvh.order[k] as usize;
                let on = closest_on_triangle(&mesh.corners(t), p).0;
                if on.distance_squared(p) < best {
                    best = on.distance_squared(p);
                    nearest = (best, t, on);
                }
            }
            best
        });
        let (_, t, on) = nearest;
        let weights = crate::sampling::barycentric(mesh.corners(t), on);
        let uv = mesh.uvs.as_ref().map_or(glam::DVec2::ZERO, |uvs| {
            mesh.triangles[t].iter().zip(weights).map(|(&v, w)| w * uvs[v as usize]).sum()
        });
        (uv.as_vec2(), first + mesh.slots.get(t).copied().unwrap_or(0))
    }
}
