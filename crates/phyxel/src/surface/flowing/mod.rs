//! The surface of matter that melts, flows, splits and fuses: surfels that adapt, [MKN04] 5.2.
//!
//! One surface spans all bodies that flow, so that what fuses loses the skin between. Once per frame:
//!
//! 1. Surfels are carried: those of matter that never flowed exactly by their `Carrier`, the others by the motion of the
//!    points since the last frame (`motion.rs`).
//! 2. Where matter flows they fade, over ten frames, to the implicit surface of the points (`field.rs`). How far a surfel
//!    has faded is its blend: 0 keeps all detail, 1 lies on the implicit surface.
//! 3. Detail surfels that have been left behind are found and fade too (`stray.rs`).
//! 4. Those that have faded whole are evened out; new ones fill what has opened, crowded and swallowed ones go
//!    (`resample.rs`).
//!
//! Departs from [MKN04] 5.2.2 in what drives the blend: not the change of the density at the surfel, which elastic stretch
//! changes too, but how much the points around it have flowed. Surfels that have not faded play the part of the zombies of
//! 5.2.5. All decisions are made in index order: the same bits on any number of threads.

mod anchor;
mod carry;
#[cfg(test)]
mod closed_tests;
mod coat;
#[cfg(test)]
mod coat_tests;
mod cover;
mod field;
mod kernel;
mod look;
mod mold;
mod motion;
mod near;
mod order;
mod paint;
mod resample;
mod room;
mod state;
mod stray;
#[cfg(test)]
mod tests;
mod topology;
mod velocity;
mod walls;

use super::{Carrier, Surfels};
use crate::geometry::Mesh;
use crate::neighbors::Grid;
use crate::points::Points;
use bytemuck::{Pod, Zeroable};
use coat::Coat;
pub use coat::Worn;
use field::Field;
use glam::{DVec3, Vec3};
pub use mold::{Least, Mold, Openness, Probe, Stain};
pub use paint::Paint;
use paint::Surroundings;
use rayon::prelude::*;
pub(super) use resample::{spacing_of, spiral};
use topology::Mark;

/// No surfel of a carrier.
const NONE: u32 = u32::MAX;

/// The points of the world as the surface sees them: slices over the whole table.
#[derive(Debug, Clone, Copy)]
pub struct FlowPoints<'a> {
    /// Positions [m].
    pub positions: &'a [DVec3],
    /// Distance between points [m].
    pub spacings: &'a [f64],
    /// Index of the body of each point.
    pub bodies: &'a [u32],
    /// How much each point flows, 0 ..= 1; the surface remembers the most of each.
    pub flow: &'a [f32],
    /// Piece of matter that each point belongs to; any numbers, new ones in each frame.
    pub labels: &'a [u32],
    /// Velocities [m/s].
    pub velocities: &'a [DVec3],
    /// The time that has passed.
    pub span: Span,
}

/// The time since the last frame: up to the last update, and since then [s].
#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// 0 if the last update was at the last frame.
    pub earlier: f64,
    /// Since the last update.
    pub now: f64,
}

/// The surfels of a body as its solid part carries them now.
#[derive(Clone, Copy)]
pub struct Carried<'a> {
    /// What carries them; its points are numbered from the first of the body.
    pub carrier: &'a Carrier,
    /// What `Carrier::update` gave for this frame.
    pub surfels: &'a Surfels,
    /// What is painted on the body; None: nothing to tell apart.
    pub paint: Option<Paint<'a>>,
    /// The triangles that ride on it, if there are any.
    pub coat: Option<Coated<'a>>,
}

/// The triangles of a body as its solid part carries them now.
#[derive(Clone, Copy)]
pub struct Coated<'a> {
    /// Their vertices at rest.
    pub mesh: &'a Mesh,
    /// What carries the vertices.
    pub carrier: &'a Carrier,
    /// What `Carrier::update` gave for the vertices in this frame.
    pub vertices: &'a Surfels,
}

/// How the surface of a body behaves.
#[derive(Debug, Clone, Copy, Default)]
pub struct Manner {
    /// Only a change of topology, or points that change places, takes detail away; otherwise all flow does.
    pub detail: bool,
    /// sRGB color of surface that appears where matter breaks; None: that of the surface around.
    pub inner: Option<[u8; 3]>,
}

/// The surface of all bodies that flow.
#[derive(Debug, Default)]
pub struct FlowingSurface {
    /// All surfels. Written by `join`, `update`.
    elements: Vec<Element>,
    /// Bodies that take part. Written by `join`.
    joined: Vec<Joined>,
    /// Points that take part, indices into the table. Written by `join`.
    members: Vec<u32>,
    /// Their positions at the last update [m].
    last: Vec<DVec3>,
    /// Where they were when their surface began: at rest, or when they last turned solid [m]. Written by `join`, `watch_topology`.
    starts: Vec<DVec3>,
    /// The most that each has flowed so far, 0 ..= 1.
    flowed: Vec<f32>,
    /// What each remembers of its matter. Written by `join`, `watch_topology`.
    marks: Vec<Mark>,
    /// Triangles of the artist that ride on bodies. Written by `join_coat`, `update`.
    coats: Vec<Coat>,
    /// Where the members were when all matter was last found to be solid [m]; empty while some flows. Written by `anchor`.
    anchors: Vec<DVec3>,
    /// Bodies that joined since the last update.
    newcomers: Vec<u32>,
    counters: Counters,
    scratch: Scratch,
}

/// One surfel.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Element {
    /// Center [m].
    position: Vec3,
    /// Half-axes [m].
    axis_u: Vec3,
    axis_v: Vec3,
    /// Unit outward normal.
    normal: Vec3,
    /// sRGB, and one byte unused.
    color: [u8; 4],
    /// Never used twice.
    id: u32,
    body: u32,
    /// Number in the body's carrier while the matter around has never flowed, else `NONE`.
    origin: u32,
    /// 0 keeps all detail, 1 lies on the implicit surface.
    blend: f32,
    /// The member that is nearest, of the piece that the surfel belongs to.
    host: u32,
    /// 1 on the surface of a mold, 0.5 on the way there, 0 free.
    contact: f32,
    /// [m/s].
    velocity: Vec3,
    /// Where the surface comes from: a place of a body at rest [m], and the body; `NONE` for what appeared in a break.
    reference: Vec3,
    source: u32,
    /// Winding number of the surface at rest there, and whether it has come to lie astray (`stray.rs`).
    winding: f32,
    stray: u32,
    /// 1 for new surface, which shows what matter has become; of the vertices of a coat: where that has taken their place.
    grown: u32,
    /// Center, half-axes and normal when all matter was last found to be solid (`anchor.rs`).
    anchor: [Vec3; 4],
}

/// One body of the surface.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Joined {
    body: u32,
    /// First point in the table.
    first: u32,
    /// Distance between surfels [m].
    spacing: f32,
    /// sRGB for what has no neighbor to take it from.
    color: [u8; 4],
    /// 1: only a change of topology, or points that change places, takes detail away; 0: all flow does.
    detail: u32,
    /// sRGB of what appears where matter breaks; the last byte is 0 if that is the color around.
    inner: [u8; 4],
}

/// Numbers that go on from frame to frame.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Counters {
    next_id: u32,
    frame: u32,
    /// Surfels that joined.
    start: u32,
    /// How much wider than at the start surfels are spaced, because there would be too many.
    widening: f32,
}

impl Default for Counters {
    fn default() -> Self {
        Self { next_id: 0, frame: 0, start: 0, widening: 1.0 }
    }
}

/// The points that take part, gathered; and buffers. Never read across frames.
#[derive(Debug, Default)]
struct Scratch {
    positions: Vec<DVec3>,
    spacings: Vec<f64>,
    bodies: Vec<u32>,
    /// The most that each has flowed so far.
    flowed: Vec<f32>,
    /// How much the surfels around each fade, 0 ..= 1.
    flow: Vec<f32>,
    /// Piece of each; 0 where the surface does not tell pieces apart.
    labels: Vec<u32>,
    /// The same at the last frame.
    old_labels: Vec<u32>,
    /// Whether each is of a body with a detail surface.
    detailed: Vec<bool>,
    /// Whether each is of such a body and has turned solid in this frame.
    hardened: Vec<bool>,
    /// Velocity of each, as far as it is known from the last frame [m/s].
    velocities: Vec<Vec3>,
    /// Distance of each to each mold [m].
    walls: Vec<Vec<f64>>,
    /// Molds whose walls each feels, a bit for each, and whether it is near one.
    felt: Vec<u64>,
    round: Vec<bool>,
    /// Whether each is near a mold and hardly moves, nor what is around it.
    calm: Vec<bool>,
    /// Whether what happens to places at rest is of interest, for each body of the world: something is painted there.
    followed: Vec<bool>,
    /// Largest spacing [m].
    largest: f64,
    field: Field,
}

impl FlowingSurface {
    /// Whether no body takes part.
    pub fn is_empty(&self) -> bool {
        self.joined.is_empty()
    }

    /// Number of surfels.
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Whether a body takes part.
    pub fn has(&self, body: u32) -> bool {
        self.joined.iter().any(|j| j.body == body)
    }

    /// Takes a body in, with its surfels as they are when its points are where `points` says (now or at rest); its points
    /// are those that name it. A body that already takes part is left as it is.
    pub fn join(&mut self, body: u32, surfels: &Surfels, points: &FlowPoints, manner: Manner) {
        if self.has(body) {
            return;
        }
        let members: Vec<u32> =
            (0..points.bodies.len() as u32).filter(|&i| points.bodies[i as usize] == body).collect();
        let first = members.first().copied().unwrap_or(0);
        self.last.extend(members.iter().map(|&i| points.positions[i as usize]));
        self.starts.extend_from_slice(&self.last[self.starts.len()..]);
        self.flowed.resize(self.last.len(), 0.0);
        self.marks.resize(self.last.len(), Mark::new());
        let hosts = self.nearest_members(self.members.len()..self.last.len(), surfels);
        self.members.extend(members);
        let color = |s: usize| surfels.colors.get(s).map_or([128, 128, 128, 0], |c| [c[0], c[1], c[2], 0]);
        let spacing = resample::spacing_of(surfels);
        self.newcomers.push(body);
        let inner = manner.inner.map_or([0; 4], |c| [c[0], c[1], c[2], 1]);
        let detail = u32::from(manner.detail);
        self.joined.push(Joined { body, first, spacing, color: color(0), detail, inner });
        for s in 0..surfels.len() {
            self.elements.push(Element {
                position: surfels.positions[s],
                axis_u: surfels.axes_u[s],
                axis_v: surfels.axes_v[s],
                normal: surfels.normals[s],
                color: color(s),
                id: self.counters.next_id,
                body,
                origin: s as u32,
                blend: 0.0,
                host: hosts[s],
                contact: 0.0,
                velocity: Vec3::ZERO,
                reference: surfels.positions[s],
                source: body,
                winding: 0.5,
                stray: 0,
                grown: 0,
                anchor: [Vec3::ZERO; 4],
            });
            self.counters.next_id = self.counters.next_id.wrapping_add(1);
        }
        self.counters.start = self.counters.start.saturating_add(surfels.len() as u32);
    }

    /// The farthest that a point of a detail surface has moved since the last update [spacings].
    pub fn travel(&self, points: &Points) -> f64 {
        // What is all solid is carried from where it became so, however far that is.
        if self.joined.iter().all(|j| j.detail == 0) || !self.anchors.is_empty() {
            return 0.0;
        }
        let detailed = |body: u32| self.joined.iter().any(|j| j.body == body && j.detail != 0);
        let members = self.members.iter().map(|&m| m as usize).zip(&self.last);
        let own = members.filter(|(m, _)| detailed(points.bodies[*m]));
        own.map(|(m, last)| (points.positions[m] - *last).length() / points.spacings[m]).fold(0.0, f64::max)
    }

    /// Follows the matter from the last update to `points`. `carried` holds one entry per body of the world; None where
    /// no part of the body is carried as a solid (all its surfels then move with the points). `molds` leave their print on detail
    /// surfaces.
    pub fn update(&mut self, points: &FlowPoints, carried: &[Option<Carried>], molds: &[Mold]) {
        if self.is_empty() {
            return;
        }
        self.put_in_order();
        self.gather(points);
        self.approach(molds);
        let finest = self.finest();
        let Scratch { positions, spacings, labels, round, field, .. } = &mut self.scratch;
        field.build(positions, spacings, labels, round, finest);
        self.find_calm(molds);
        self.scratch.followed =
            carried.iter().map(|c| c.is_some_and(|c| c.paint.is_some() || c.coat.is_some())).collect();
        self.know_rest();
        self.anchor();
        let motion = self.motion();
        let flows = self.carry(&motion, carried, points.span, molds);
        let worn = self.carry_coats(&motion, carried, points.span);
        self.move_as_solids(carried);
        self.find_strays();
        let paints: Vec<Option<Paint>> = carried.iter().map(|c| c.and_then(|c| c.paint)).collect();
        let world = Surroundings { molds, paints: &paints };
        let mut cover = self.cover();
        let around = self.look_around(&cover);
        self.settle(&flows, &around, &mut cover.alive, world);
        self.press(molds, &mut cover.alive);
        self.drop_films(&mut cover.alive);
        self.wear_coats(&worn, carried, &cover, molds);
        let disturbed = self.disturbed(&mut cover);
        self.thin(&around, &mut cover);
        self.fill(&around, &disturbed, &mut cover, world);
        self.seed(&mut cover, world);
        self.finish(&cover);
        self.anchor_anew();
        self.last.clone_from(&self.scratch.positions);
        self.newcomers.clear();
        self.counters.frame = self.counters.frame.wrapping_add(1);
    }

    /// Writes the surfels that now belong to a body, the oldest first: whoever stays keeps its place among those that do.
    pub fn write(&self, body: u32, out: &mut Surfels) {
        let mut all: Vec<&Element> = self.elements.iter().filter(|e| e.body == body).collect();
        all.sort_unstable_by_key(|e| e.id);
        let own = || all.iter();
        out.exact.clear();
        out.positions.clear();
        out.positions.extend(own().map(|e| e.position));
        out.axes_u.clear();
        out.axes_u.extend(own().map(|e| e.axis_u));
        out.axes_v.clear();
        out.axes_v.extend(own().map(|e| e.axis_v));
        out.normals.clear();
        out.normals.extend(own().map(|e| e.normal));
        out.colors.clear();
        out.colors.extend(own().map(|e| [e.color[0], e.color[1], e.color[2]]));
        out.velocities.clear();
        out.velocities.extend(own().map(|e| e.velocity));
    }

    /// Copies what concerns the members.
    fn gather(&mut self, points: &FlowPoints) {
        let s = &mut self.scratch;
        let members = || self.members.iter().map(|&i| i as usize);
        s.positions.clear();
        s.positions.extend(members().map(|i| points.positions[i]));
        s.spacings.clear();
        s.spacings.extend(members().map(|i| points.spacings[i]));
        s.largest = s.spacings.iter().copied().filter(|a| a.is_finite()).fold(0.0, f64::max);
        s.bodies.clear();
        s.bodies.extend(members().map(|i| points.bodies[i]));
        let flow: Vec<f32> = members().map(|i| points.flow[i]).collect();
        s.flowed.clear();
        s.flowed.extend(flow.iter().zip(&self.flowed).map(|(now, before)| now.max(*before)));
        self.flowed.clone_from(&s.flowed);
        let detailed = |b: u32| self.joined.iter().any(|j| j.body == b && j.detail != 0);
        s.detailed.clear();
        s.detailed.extend(s.bodies.iter().map(|&b| detailed(b)));
        s.labels.clear();
        let label = |(i, detailed): (usize, &bool)| if *detailed { points.labels[i].wrapping_add(1) } else { 0 };
        s.labels.extend(members().zip(&s.detailed).map(label));
        s.old_labels.clear();
        let old = |(mark, label): (&Mark, &u32)| mark.known_label().unwrap_or(*label);
        s.old_labels.extend(self.marks.iter().zip(&s.labels).map(old));
        self.watch_topology(&flow);
        self.scratch.flow.clear();
        self.scratch.flow.extend(self.marks.iter().map(|m| m.change));
        let velocity = |&i: &u32| points.velocities[i as usize].as_vec3();
        self.scratch.velocities.clear();
        self.scratch.velocities.extend(self.members.iter().map(velocity));
    }

    /// The member in a range that is nearest to each surfel at the last positions.
    fn nearest_members(&self, range: std::ops::Range<usize>, surfels: &Surfels) -> Vec<u32> {
        let (first, places) = (range.start, &self.last[range]);
        let extent = crate::geometry::Bounds::of(places.iter().copied().filter(|p| p.is_finite())).size();
        let grid = Grid::new(places, extent.max_element() / (places.len().max(1) as f64).cbrt());
        let nearest = |p: &Vec3| grid.nearest(p.as_dvec3()).map_or(0, |(i, _)| (first + i) as u32);
        surfels.positions.par_iter().with_min_len(carry::CHUNK).map(nearest).collect()
    }
}
