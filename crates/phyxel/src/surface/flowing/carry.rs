//! Moves surfels with the matter and fades those of flowing matter to the implicit surface.

use super::look::Around;
use super::mold::{HELD, Mold};
use super::motion::{Company, Motion, Moved};
use super::near::Near;
use super::paint::Surroundings;
use super::walls::Walls;
use super::{Carried, Carrier, Element, FlowingSurface, NONE, Scratch, Span, Surfels};
use glam::{Mat3, Vec3, Vec3A};
use rayon::prelude::*;

/// Most that a blend grows in a frame.
pub(super) const FADE: f32 = 0.1;
/// The same where matter has just parted or fused.
pub(super) const FAST_FADE: f32 = 0.5;
/// Farthest way to the implicit surface [spacings of the points].
const FARTHEST: f32 = 1.0;
/// Distances from the implicit surface, in parts of that, at which a surfel begins to fade and must fade.
const LOST: (f32, f32) = (0.7, 1.0);
/// The same distance beyond which a surfel goes at once where matter has just parted or fused: new ones take its place.
const TORN: f32 = 0.5;
/// Surfels on molds that stand still stay where they are while the matter moves less than this in a frame [surfel spacings].
const HOLD: f32 = 0.02;
/// Surfels of flowing matter drawn out to this length are replaced [surfel spacings].
const LONGEST: f32 = 3.5;
/// Ellipses stand over an edge by this, and are at least this wide across it [of their radius].
const OVER: f32 = 0.15;
const NARROW: f32 = 0.5;
/// Part of the way that an ellipse goes to its due size in a frame.
const RESIZE: f32 = 0.25;
/// Longest half-axis of what has faded whole [of its due size].
const WIDEST: f32 = 2.0;
/// Surface that has faded by more than this is new.
pub(super) const GROWN: f32 = 0.5;
/// Surfels per parallel task.
pub(super) const CHUNK: usize = 256;

impl FlowingSurface {
    /// Moves all surfels with the matter. Returns how much the matter around each has flowed.
    pub(super) fn carry(
        &mut self,
        motion: &Motion,
        carried: &[Option<Carried>],
        span: Span,
        molds: &[Mold],
    ) -> Vec<f32> {
        let carriers = self.solids(carried);
        let (s, newcomers) = (&self.scratch, &self.newcomers);
        let (still, anchored) = (molds.iter().all(|m| m.still), !self.anchors.is_empty());
        let widening = self.counters.widening;
        let hold: Vec<(u32, f32)> = self.joined.iter().map(|j| (j.body, HOLD * widening * j.spacing)).collect();
        let flows = self.elements.par_iter_mut().with_min_len(CHUNK).map_init(Company::default, |near, e| {
            let velocity = s.velocities.get(e.host as usize).copied().unwrap_or(Vec3::ZERO);
            if e.origin != NONE && follow_solid(e, &carriers, &s.flowed) {
                e.velocity = velocity;
                return 0.0;
            }
            e.origin = NONE;
            let before = e.position;
            let from = if anchored { e.return_to_anchor() } else { before };
            let moved = motion.at(from, e.host, near);
            e.host = moved.host;
            let short = |&(body, least): &(u32, f32)| body == e.body && moved.step.length_squared() < least * least;
            if still && e.contact >= 1.0 && hold.iter().any(short) {
                e.contact = HELD;
            } else {
                advect(e, &moved);
            }
            // In its first frame a body comes from rest.
            if span.now > 0.0 && !newcomers.contains(&e.body) {
                e.note_way(from + moved.step - before, span);
            } else {
                e.velocity = velocity;
            }
            moved.flow
        });
        flows.collect()
    }

    /// What carries the surfels of solid matter.
    fn solids<'a>(&self, carried: &'a [Option<Carried>]) -> Vec<Solid<'a>> {
        let solid = |j: &super::Joined| {
            let c = carried.get(j.body as usize)?.as_ref()?;
            Some(Solid { body: j.body, first: self.first_member(j.first), carrier: c.carrier, surfels: c.surfels })
        };
        self.joined.iter().filter_map(solid).collect()
    }

    /// Fades the surfels to the implicit surface by how much the matter around them flows, and evens out those that lie on
    /// it. `alive` becomes false where the surface is gone.
    pub(super) fn settle(&mut self, flows: &[f32], around: &[Around], alive: &mut [bool], world: Surroundings) {
        if self.marks.is_empty() {
            alive.fill(false);
            return;
        }
        // At molds nothing is taken for the surface without a look.
        let at_wall: Vec<bool> = (0..self.marks.len()).map(|i| self.marks[i].is_flowing() && self.at_wall(i)).collect();
        let beside: Vec<f32> = (0..self.marks.len()).map(|i| self.scratch.beside_wall(i)).collect();
        let longest: Vec<(u32, f32)> = self.joined.iter().map(|j| (j.body, LONGEST * self.spacing(j.body))).collect();
        let (s, marks) = (&self.scratch, &self.marks);
        let all = self.elements.par_iter_mut().zip(alive).zip(flows).zip(around);
        all.with_min_len(CHUNK).for_each_init(Near::default, |near, (((e, alive), &flow), around)| {
            let mark = &marks[e.host as usize];
            // What has turned solid keeps what it has.
            if s.detailed[e.host as usize] && flow == 0.0 && mark.change == 0.0 && !mark.is_flowing() {
                e.blend = 0.0;
            }
            let long = |&(body, most): &(u32, f32)| {
                body == e.body && e.axis_u.length_squared().max(e.axis_v.length_squared()) > most * most
            };
            let loose = e.origin == NONE && s.detailed[e.host as usize] && mark.is_flowing();
            let drawn_out = loose && (e.stray != 0 || longest.iter().any(long));
            // What has faded by more than half is handed over whole: it would hang between its detail and the implicit surface.
            let flow = if drawn_out || (loose && e.blend >= GROWN) { 1.0 } else { flow };
            // Beside a wall detail would end in tatters where the print begins: both are parts of one surface only if that is the implicit one.
            let flow = if loose { flow.max(beside[e.host as usize]) } else { flow };
            if e.origin == NONE && (flow.max(e.blend) > 0.0 || at_wall[e.host as usize]) {
                if e.blend >= 1.0 || e.contact >= 1.0 {
                    e.slide(around.push, around.slope, world.paints);
                }
                let fade = if mark.is_fast() || drawn_out { FAST_FADE } else { FADE };
                let walls = s.walls(e.host as usize, world.molds);
                *alive = settle(e, (flow, fade, mark.fresh > 0 && flow > 0.5), around, s, walls, near);
                e.grown |= u32::from(e.blend > GROWN);
            }
        });
    }

    /// Place of a point of the table among the members.
    pub(super) fn first_member(&self, point: u32) -> usize {
        self.members.iter().position(|&m| m == point).unwrap_or(0)
    }
}

/// What carries surfels of the solid part of a body.
pub(super) struct Solid<'a> {
    pub body: u32,
    /// First of its points among the members.
    pub first: usize,
    pub carrier: &'a Carrier,
    pub surfels: &'a Surfels,
}

/// Puts a surfel where the solid carries it; false if the solid does not.
pub(super) fn follow_solid(e: &mut Element, solids: &[Solid], flow: &[f32]) -> bool {
    let Some(solid) = solids.iter().find(|s| s.body == e.body) else { return false };
    let origin = e.origin as usize;
    let still = |&i: &u32| flow.get(solid.first + i as usize).is_some_and(|&f| f == 0.0);
    if origin >= solid.surfels.len() || !solid.carrier.carrying(origin).iter().all(still) {
        return false;
    }
    e.position = solid.surfels.positions[origin];
    e.axis_u = solid.surfels.axes_u[origin];
    e.axis_v = solid.surfels.axes_v[origin];
    e.normal = solid.surfels.normals[origin];
    true
}

/// Moves center, axes and normal with the matter.
pub(super) fn advect(e: &mut Element, moved: &Moved) {
    let linear = Mat3::IDENTITY + moved.gradient;
    e.position += moved.step;
    let (u, v) = (linear * e.axis_u, linear * e.axis_v);
    let normal = u.cross(v).try_normalize().unwrap_or(e.normal);
    e.normal = if normal.dot(linear * e.normal) < 0.0 { -normal } else { normal };
    (e.axis_u, e.axis_v) = (u, v);
}

/// Fades a surfel toward the implicit surface; false if there is no such surface near and it has faded whole, or the
/// matter has left it behind.
pub(super) fn settle(
    e: &mut Element,
    (flow, fade, parted): (f32, f32, bool),
    around: &Around,
    s: &Scratch,
    walls: Walls,
    near: &mut Near,
) -> bool {
    let field = &s.field;
    let free = e.blend >= 1.0 || e.contact >= 1.0;
    let place = if free { e.position + around.push } else { e.position };
    let local = (place.as_dvec3() - field.middle).as_vec3a();
    let farthest = FARTHEST * s.largest as f32;
    let label = s.labels[e.host as usize];
    // On a mold, or on the way there, the implicit surface has no say.
    if e.contact > 0.0 {
        if around.push != Vec3::ZERO {
            (e.position, e.contact) = (place, e.contact.min(1.0));
        }
        e.blend = flow.max(e.blend).min(e.blend + fade);
        shape_axes(e, around, e.blend.max(e.contact.min(1.0)));
        return true;
    }
    let Some(on) = field.project(local, label, farthest, walls, near) else {
        if parted {
            return false;
        }
        // Deep inside it may still have to come up; where there is no matter at all, it has been left behind.
        e.blend = flow.max(e.blend).min(e.blend + fade);
        return e.blend < 1.0 && field.touches(local, label, near);
    };
    let target = Vec3::from(on.position) + field.middle.as_vec3();
    // What lies far off the matter has lost its detail, however little flows there.
    let off = (target - place).length() / farthest;
    if parted && off > TORN {
        return false;
    }
    let lost = (off - LOST.0) / (LOST.1 - LOST.0);
    let fade = if lost > 0.0 && s.detailed[e.host as usize] { FAST_FADE } else { fade };
    let faded = flow.max(lost.min(1.0)).max(e.blend).min(e.blend + fade);
    // Whole fades are exact, so that the surfel is on the surface and free to be moved along it.
    let part = if faded >= 1.0 { 1.0 } else { (faded - e.blend) / (1.0 - e.blend) };
    e.blend = faded;
    e.position = place + part * (target - place);
    let blended = e.normal + part * (Vec3::from(on.normal) - e.normal);
    e.normal = blended.try_normalize().filter(|_| blended.length() > 0.1).unwrap_or(on.normal.into());
    e.host = on.nearest;
    if faded >= 1.0 {
        e.body = s.bodies[on.nearest as usize];
    }
    shape_axes(e, around, faded);
    true
}

/// Turns the axes into the plane across the normal and brings their lengths nearer to what the neighbors ask for.
fn shape_axes(e: &mut Element, around: &Around, faded: f32) {
    let (across, way) = around.edge;
    // What has not faded whole keeps its size along the edge.
    let radius = if faded >= 1.0 { around.radius } else { e.axis_u.length().max(e.axis_v.length()) };
    if way < radius {
        let flat = across - e.normal * e.normal.dot(across);
        if let Some(v) = flat.try_normalize() {
            e.axis_u = radius * e.normal.cross(v);
            e.axis_v = (way + OVER * radius).clamp(NARROW * radius, radius) * v;
            return;
        }
    }
    let radius = around.radius;
    let n = Vec3A::from(e.normal);
    let flat = |a: Vec3| Vec3A::from(a) - n * n.dot(a.into());
    let (long_u, long_v) = (e.axis_u.length(), e.axis_v.length());
    let u = flat(e.axis_u).try_normalize().unwrap_or_else(|| n.any_orthonormal_vector());
    let rest = flat(e.axis_v);
    let v = (rest - u * (faded * u.dot(rest))).try_normalize().unwrap_or(n.cross(u));
    let sized = |length: f32| {
        // In its first frame a surfel has not looked around.
        if radius <= 0.0 && length.is_finite() {
            return length;
        }
        let length = if length.is_finite() { length } else { radius };
        let length = if faded >= 1.0 { length.min(WIDEST * radius) } else { length };
        length + RESIZE * faded * (radius - length)
    };
    e.axis_u = (u * sized(long_u)).into();
    e.axis_v = (v * sized(long_v)).into();
}
