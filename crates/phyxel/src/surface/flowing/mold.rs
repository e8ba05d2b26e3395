//! The contact surface of [MKN04] 5.2.3: flowing matter takes the print of molds, far finer than its points.
//!
//! Points at a wall cannot fill relief finer than their spacing. So the density of the implicit field is taken beside what there is room for
//! (`walls.rs`). Where it is full at the wall, the wall is the surface; elsewhere the surface is that of the field, which meets the wall at a
//! right angle. So there is one closed surface, without a loose film at its rim. Surfels take the way to the wall in steps, so that no crack
//! opens at the front. While one touches, the implicit
//! surface has no say over it; once the matter is solid the print is its detail and moves with it.

use super::field::{ISO, Projected};
use super::near::Near;
use super::room::Room;
use super::walls::Walls;
use super::{Element, FlowingSurface, NONE, Scratch};
use crate::geometry::Open;
use glam::{DVec3, Vec3};
use rayon::prelude::*;

/// Surfels of points nearer to a wall than this may touch it, those of farther ones are at most drawn there [spacings].
const WALL: f64 = 1.2;
/// Points nearer to a wall than this are smeared over balls [spacings].
const ROUND: f64 = 2.0;
/// Places on the surface of points nearer than this feel the wall [spacings].
const FELT: f64 = 4.0;
/// Points nearer to a wall than the first touch it, farther than the second they do not [spacings].
const BESIDE: (f64, f64) = (0.7, 1.1);
/// Surfels nearer than this may be drawn to the wall [spacings].
const WETTING: f64 = 0.8;
/// Surfels of points farther from all molds than this are not asked [spacings].
const ASKED: f64 = WALL + CALM_WETTING;
/// Farthest that a surfel inside a mold is led out [spacings].
const FARTHEST: f64 = 1.5;
/// A surfel on the wall stays there down to this density; others come from `ISO` on.
pub(super) const KEPT: f32 = 0.46;
/// Matter slower than this [spacings per second] is calm, and drawn to a wall from farther away [spacings].
const CALM: f32 = 0.5;
const CALM_WETTING: f64 = 1.4;
/// What moves within this distance of matter keeps it from being calm [spacings].
const AROUND: f64 = 3.0;
/// A step along the distance from nearer than this needs no other one [of the farthest way].
const NEAR: f64 = 0.02;
/// Steps to the wall of a stretched shape at most; by how much its distances may be too small; and the least cosine between the ways.
const STEPS: usize = 4;
const MOST_STRETCH: f64 = 20.0;
const STRAIGHT: f64 = 0.8;
/// What is nearer to a wall than this is at it [spacings].
const AT: f64 = 0.05;
/// What is deeper in a mold than this is not on the surface of another [spacings].
const INSIDE: f64 = 0.05;
/// On an edge of a mold the face that is nearest to this depth in it is printed [spacings]; asked where a normal leaves that of the surfel by more
/// than this cosine.
const BEHIND: f64 = 0.02;
const TURNED: f64 = 0.95;
/// Surfels on their way to a wall face it with at least this cosine; free surface beside a wall does not.
const FACING: f32 = 0.3;
/// Molds that a surfel is near to at most; farther ones are left out.
const MOST_MOLDS: usize = 4;
/// How often the way to the free surface may begin, first at a place and then at the wall of the mold that it has led into.
const WAYS: usize = 3;
/// Longest step toward the wall in a frame [spacings].
const STEP: f64 = 0.3;
/// Contact of a surfel that has not moved on a mold that stands still: it is where it was.
pub(super) const HELD: f32 = 2.0;

/// Last byte of the color of a surfel that has taken that of a mold.
const STAINED: u8 = 2;

/// Signed distance [m], positive outside of the mold, and unit outward normal at a place [m].
pub type Probe<'a> = &'a (dyn Fn(DVec3) -> (f64, DVec3) + Sync);

/// A lower bound of the distance of a mold at a place [m].
pub type Least<'a> = &'a (dyn Fn(DVec3) -> f64 + Sync);

/// sRGB color of a mold next to a place [m].
pub type Stain<'a> = &'a (dyn Fn(DVec3) -> [u8; 3] + Sync);

/// What a mold leaves open around a place [m] to points of a spacing [m].
pub type Openness<'a> = &'a (dyn Fn(DVec3, f64) -> Open + Sync);

/// A mold whose print flowing matter takes.
#[derive(Clone, Copy)]
pub struct Mold<'a> {
    /// Its signed distance and normal.
    pub probe: Probe<'a>,
    /// Whether it is where it was at the last update.
    pub still: bool,
    /// What is quickly told of the distance; None: `probe` is quick itself.
    pub least: Option<Least<'a>>,
    /// How open it is; None: as beside a plane.
    pub open: Option<Openness<'a>>,
    /// The color that it leaves on what touches it; None: none.
    pub stain: Option<Stain<'a>>,
}

impl Mold<'_> {
    /// Whether it is farther than that from a place [m], as far as is quickly told.
    fn is_beyond(&self, place: DVec3, way: f64) -> bool {
        self.least.is_some_and(|least| least(place) > way)
    }
}

/// A place for which surface is looked for.
pub(super) struct Aim {
    /// [m].
    pub place: DVec3,
    /// Where it should face about, on molds; None: anywhere.
    pub toward: Option<Vec3>,
    /// Density from which on a wall is filled.
    pub least: f32,
    /// Whether free surface is taken if it is nearer than a wall: beside free surface the next wall may be that beyond its rim.
    pub nearer: bool,
    /// Whether gaps to walls that points do not tell from none count: where detail may still be on its way to the wall.
    pub gaps: bool,
}

/// A place on the surface, free or on a mold.
#[derive(Debug, Clone, Copy)]
pub(super) struct Landing {
    /// [m].
    pub position: Vec3,
    /// Unit outward normal.
    pub normal: Vec3,
    pub host: u32,
    /// 1 on a mold, else 0.
    pub contact: f32,
}

impl FlowingSurface {
    /// Finds how far each member is from each mold, and who feels which.
    pub(super) fn approach(&mut self, molds: &[Mold]) {
        let (s, marks) = (&self.scratch, &self.marks);
        let asked = |i: usize| s.detailed[i] && marks[i].is_flowing();
        let (mut felt, mut round) = (vec![0; s.positions.len()], vec![false; s.positions.len()]);
        let mut walls: Vec<Vec<f64>> = Vec::new();
        for (k, mold) in molds.iter().enumerate() {
            let one = |i: usize| if asked(i) { (mold.probe)(s.positions[i]).0 } else { f64::INFINITY };
            let near: Vec<f64> = (0..s.positions.len()).into_par_iter().with_min_len(32).map(one).collect();
            for (i, distance) in near.iter().enumerate() {
                felt[i] |= if *distance < FELT * s.spacings[i] { Walls::bit(k) } else { 0 };
                round[i] |= *distance < ROUND * s.spacings[i];
            }
            walls.push(near);
        }
        (self.scratch.walls, self.scratch.felt, self.scratch.round) = (walls, felt, round);
    }

    /// Finds which members are calm: they and all around them hardly move. One alone may be slow for a moment where it turns.
    pub(super) fn find_calm(&mut self, molds: &[Mold]) {
        let s = &self.scratch;
        let slow = |i: usize| s.velocities[i].length() < CALM * s.spacings[i] as f32;
        let one = |i: usize| {
            let mut calm = !molds.is_empty() && s.felt[i] != 0 && slow(i);
            if calm {
                s.field.for_each_near(s.positions[i], AROUND * s.spacings[i], |j| calm &= slow(j));
            }
            calm
        };
        self.scratch.calm = (0..s.positions.len()).into_par_iter().with_min_len(32).map(one).collect();
    }

    /// Whether surfels of a member are asked for molds.
    pub(super) fn at_wall(&self, host: usize) -> bool {
        let s = &self.scratch;
        s.walls.iter().any(|w| w[host] < ASKED * s.spacings[host])
    }

    /// Puts surfels on the molds that they touch. `alive` becomes false where the surface would lie in a mold that matter does not reach.
    pub(super) fn press(&mut self, molds: &[Mold], alive: &mut [bool]) {
        let (s, marks) = (&self.scratch, &self.marks);
        if marks.is_empty() {
            return;
        }
        let all = self.elements.par_iter_mut().zip(alive).with_min_len(super::carry::CHUNK);
        all.filter(|(e, _)| e.origin == NONE).for_each_init(Near::default, |lists, (e, alive)| {
            let h = e.host as usize;
            // What is solid keeps its print wherever the mold goes.
            if !s.detailed[h] || !marks[h].is_flowing() {
                e.contact = 0.0;
                return;
            }
            let near = s.walls.iter().any(|w| w[h] < ASKED * s.spacings[h]);
            let room = s.room(h, molds);
            let wetting = if room.calm { CALM_WETTING } else { WETTING };
            if e.contact >= HELD && near && s.field.density_at(e.position, s.labels[h], room.walls, lists) >= KEPT {
                e.contact = 1.0;
                // New surfels, which begin with the color of their neighbors, may be held before they have been pressed.
                if molds.iter().any(|m| m.stain.is_some()) {
                    let distance = |m: &&Mold| (m.probe)(e.position.as_dvec3()).0.abs();
                    let nearest = molds.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
                    nearest.into_iter().for_each(|mold| e.take_color(mold));
                }
                return;
            }
            let place = e.position.as_dvec3();
            let mut order: [Option<Known>; MOST_MOLDS] = [None; MOST_MOLDS];
            for (k, mold) in molds.iter().enumerate().filter(|(k, _)| s.walls[*k][h] < ASKED * s.spacings[h]) {
                // Nothing is drawn there from farther away.
                if mold.is_beyond(place, wetting * s.spacings[h]) {
                    continue;
                }
                let (distance, normal) = (mold.probe)(place);
                let known = Known { mold: k, distance, normal };
                let at = order.partition_point(|o| o.is_some_and(|o| o.distance.abs() <= distance.abs()));
                if at < MOST_MOLDS {
                    order[at..].rotate_right(1);
                    order[at] = Some(known);
                }
            }
            // It touches the nearest one; from others it is only led out, or in a corner it would go to and fro between them.
            let (mut contact, mut lost) = (0f32, false);
            for (n, known) in order.iter().flatten().enumerate() {
                let mold = &molds[known.mold];
                let (distance, normal) = match e.position.as_dvec3() == place {
                    true => (known.distance, known.normal),
                    false => (mold.probe)(e.position.as_dvec3()),
                };
                if n == 0 || distance < 0.0 {
                    let now = (distance, normal);
                    let touch = press(e, (mold, now), room, lists);
                    if touch >= 1.0 && contact < 1.0 {
                        e.take_color(mold);
                    }
                    lost |= touch == 0.0 && distance < -INSIDE * s.spacings[h];
                    contact = contact.max(touch);
                }
            }
            // Detail is pushed out of the mold; new surface would be a flake on a bare wall.
            *alive &= !(lost && contact == 0.0 && e.blend >= super::carry::GROWN);
            // What the wall has shaped and matter has left again is nobody's detail: new surface goes to the matter at once.
            let left = e.contact > 0.0 && contact == 0.0;
            e.stray |= u32::from(left);
            e.contact = contact;
            if left && e.blend >= super::carry::GROWN {
                *alive &= let_go(e, room, lists);
            }
            e.grown |= u32::from(contact > 0.0);
        });
    }

    /// Where surface of a piece lies next to a place: on a mold where matter fills it to the wall, else on the implicit surface, at most `farthest`
    /// [m] off. `host` is a point near.
    pub(super) fn land(
        &self,
        aim: Aim,
        host: usize,
        farthest: f32,
        molds: &[Mold],
        lists: &mut Near,
    ) -> Option<Landing> {
        let room = self.scratch.room(host, molds);
        let room = if aim.gaps { Room { walls: room.walls.as_they_are(), ..room } } else { room };
        let wall = self.nearest_wall(&aim, host, room, lists);
        let free = match &wall {
            Some(_) if !aim.nearer => None,
            _ => free_surface(aim.place, farthest, room, lists),
        };
        let way = |p: Vec3| p.as_dvec3().distance(aim.place);
        match (wall, free) {
            (wall, Some((position, on))) if wall.is_none_or(|(p, ..)| way(position) < p.distance(aim.place)) => {
                Some(Landing { position, normal: on.normal.into(), host: on.nearest, contact: 0.0 })
            }
            (wall, _) => self.land_on_wall(wall?, host, room, lists),
        }
    }

    /// The place on the nearest mold that matter fills to the wall and that faces as it should, with the mold's normal and number.
    fn nearest_wall(&self, aim: &Aim, host: usize, room: Room, lists: &mut Near) -> Option<(DVec3, DVec3, usize)> {
        let mut best: Option<(f64, (DVec3, DVec3, usize))> = None;
        for k in self.asked(host) {
            let Some((p, normal)) = on_mold(&room.molds[k], aim.place, WETTING * room.spacing) else { continue };
            let way = p.distance(aim.place);
            let faces = aim.toward.is_none_or(|t| t.dot(-normal.as_vec3()) >= FACING);
            let nearer = best.is_none_or(|b| way < b.0);
            if faces && nearer && room.is_filled((p, normal), aim.least, room.molds[k].still, lists) {
                best = Some((way, (p, normal, k)));
            }
        }
        best.map(|b| b.1)
    }

    fn land_on_wall(
        &self,
        (p, normal, own): (DVec3, DVec3, usize),
        host: usize,
        room: Room,
        lists: &mut Near,
    ) -> Option<Landing> {
        let (molds, a) = (room.molds, room.spacing);
        // Where two molds meet, the surface of one ends in the other.
        let mut others = self.asked(host).filter(|k| *k != own);
        if others.any(|k| !molds[k].is_beyond(p, 0.0) && (molds[k].probe)(p).0 < -INSIDE * a) {
            return None;
        }
        let (position, normal) = (p.as_vec3(), -face(&molds[own], (p, normal), a).as_vec3());
        // Deep in a nook there is none: who is before its mouth.
        let near = room.field.nearest_within(position, room.label, (FARTHEST * a) as f32, lists);
        Some(Landing { position, normal, host: near.unwrap_or(host as u32), contact: 1.0 })
    }

    /// Numbers of the molds that surfels of a member are asked for.
    fn asked(&self, host: usize) -> impl Iterator<Item = usize> {
        let (walls, farthest) = (&self.scratch.walls, ASKED * self.scratch.spacings[host]);
        (0..walls.len()).filter(move |&k| walls[k][host] < farthest)
    }
}

impl Element {
    /// Takes the color of a mold that it touches, if that stains.
    fn take_color(&mut self, mold: &Mold) {
        if let Some(stain) = mold.stain {
            let [r, g, b] = stain(self.position.as_dvec3());
            (self.color, self.source) = ([r, g, b, STAINED], NONE);
        }
    }
}

impl Scratch {
    /// The molds that surface beside a member may feel.
    pub(super) fn walls<'a>(&self, host: usize, molds: &'a [Mold<'a>]) -> Walls<'a> {
        Walls::new(molds, self.felt.get(host).copied().unwrap_or(0), self.spacings[host])
    }

    /// Whether a member touches a mold, 0 ..= 1.
    pub(super) fn beside_wall(&self, member: usize) -> f32 {
        let nearest = self.walls.iter().map(|w| w[member]).fold(f64::INFINITY, f64::min);
        let (full, none) = BESIDE;
        ((none - nearest / self.spacings[member]) / (none - full)).clamp(0.0, 1.0) as f32
    }

    fn room<'a>(&'a self, host: usize, molds: &'a [Mold<'a>]) -> Room<'a> {
        let (field, walls) = (&self.field, self.walls(host, molds));
        let (label, spacing, calm) = (self.labels[host], self.spacings[host], self.calm[host]);
        Room { field, molds, walls, label, spacing, calm }
    }
}

/// What a mold said at a place.
#[derive(Clone, Copy)]
struct Known {
    /// Number of the mold.
    mold: usize,
    /// [m].
    distance: f64,
    normal: DVec3,
}

/// Puts a surfel that has left a wall on the implicit surface; false if there is none near, or it lies in a mold.
fn let_go(e: &mut Element, room: Room, lists: &mut Near) -> bool {
    let Some((position, on)) = free_surface(e.position.as_dvec3(), room.spacing as f32, room, lists) else {
        return false;
    };
    e.position = position;
    (e.normal, e.host) = (on.normal.into(), on.nearest);
    turn_axes(e);
    true
}

/// The place on the implicit surface outside of all molds that is next to `place` [m], at most `farthest` [m] off. The way there may lead through a
/// mold, in which the surface is not known: from its wall it goes on.
fn free_surface(place: DVec3, farthest: f32, room: Room, lists: &mut Near) -> Option<(Vec3, Projected)> {
    let Room { field, molds, walls, label, spacing, .. } = room;
    let mut start = place;
    for _ in 0..WAYS {
        let on = field.project((start - field.middle).as_vec3a(), label, farthest, walls, lists)?;
        let position = Vec3::from(on.position) + field.middle.as_vec3();
        let found = position.as_dvec3();
        let known = molds.iter().filter(|m| !m.is_beyond(found, 0.0)).map(|m| (m, (m.probe)(found)));
        let deepest = known.min_by(|a, b| a.1.0.total_cmp(&b.1.0)).filter(|m| m.1.0 <= -INSIDE * spacing);
        let Some((mold, known)) = deepest else { return Some((position, on)) };
        (start, _) = lead(mold, found, known, FARTHEST * spacing)?;
    }
    None
}

/// Presses a surfel on a mold; returns how much it touches, 0 ..= 1.
fn press(e: &mut Element, (mold, (distance, normal)): (&Mold, (f64, DVec3)), room: Room, lists: &mut Near) -> f32 {
    let spacing = room.spacing;
    let p = e.position.as_dvec3();
    let wetting = if room.calm { CALM_WETTING } else { WETTING };
    if distance > wetting * spacing || distance < -FARTHEST * spacing {
        return 0.0;
    }
    let Some((wall, outward)) = lead(mold, p, (distance, normal), FARTHEST * spacing) else { return 0.0 };
    let touches = e.contact > 0.0;
    let faces = e.normal.dot(-outward.as_vec3()) > FACING;
    // Detail beside a wall comes nearer as it fades: that a gap is closed is no reason to leap over it.
    let detail = !touches && e.blend < 1.0;
    let room = if detail { Room { walls: room.walls.as_they_are(), ..room } } else { room };
    // New surface is on that of the field, which ends at the wall or in it; only calm matter is drawn to walls from afar.
    if !touches && e.blend >= 1.0 && !room.calm && distance > AT * spacing {
        return 0.0;
    }
    let least = if touches { KEPT } else { ISO };
    let dents = mold.still && (touches || faces);
    let filled = (touches || faces || distance < 0.0) && room.is_filled((wall, outward), least, dents, lists);
    if distance < 0.0 || (filled && (e.contact >= 1.0 || distance < STEP * spacing)) {
        let known = outward.dot(-e.normal.as_dvec3()) > TURNED;
        let outward = if known { outward } else { face(mold, (wall, outward), spacing) };
        (e.position, e.normal) = (wall.as_vec3(), -outward.as_vec3());
        turn_axes(e);
        // Pushed away where no matter is behind it: it would stay on the wall as a film.
        e.stray |= u32::from(!filled && distance < -INSIDE * spacing);
        return if filled { 1.0 } else { 0.0 };
    }
    if !filled {
        return 0.0;
    }
    let step = STEP * spacing;
    e.position = (p - step * normal).as_vec3();
    let blended = e.normal + (step / distance) as f32 * (-normal.as_vec3() - e.normal);
    e.normal = blended.try_normalize().unwrap_or(e.normal);
    turn_axes(e);
    // Not yet on the wall: the implicit surface must not take it back.
    0.5
}

/// The place on a mold next to `p`, and the mold's normal there; None if it is farther than `farthest` [m].
fn on_mold(mold: &Mold, p: DVec3, farthest: f64) -> Option<(DVec3, DVec3)> {
    if mold.is_beyond(p, farthest) {
        return None;
    }
    let known = (mold.probe)(p);
    if known.0.abs() > farthest { None } else { lead(mold, p, known, farthest) }
}

/// The same from what is known at `p`.
fn lead(mold: &Mold, p: DVec3, (mut distance, mut normal): (f64, DVec3), farthest: f64) -> Option<(DVec3, DVec3)> {
    let mut x = p - distance * normal;
    // Distances of smooth combinations are not exact far off: some steps more get there.
    for _ in 0..3 {
        if distance.abs() < NEAR * farthest {
            break;
        }
        (distance, normal) = (mold.probe)(x);
        x -= distance * normal;
    }
    if distance.abs() >= NEAR * farthest {
        (x, normal) = stretched(mold, x, normal, farthest).unwrap_or((x, normal));
    }
    (x.is_finite() && x.distance(p) <= farthest).then_some((x, normal))
}

/// The same where distances are much too small, as those of stretched shapes are: how they change on the way tells by how much.
fn stretched(mold: &Mold, p: DVec3, toward: DVec3, farthest: f64) -> Option<(DVec3, DVec3)> {
    let (mut x, mut stretch) = (p, 1.0);
    let (mut distance, mut normal) = (mold.probe)(x);
    for _ in 0..STEPS {
        if distance.abs() * stretch < NEAR * farthest {
            return Some((x - stretch * distance * normal, normal));
        }
        let (before, way) = (distance, normal);
        x -= stretch * before * way;
        (distance, normal) = (mold.probe)(x);
        let straight = way.dot(normal) > STRAIGHT && toward.dot(normal) > STRAIGHT;
        let slower = stretch * before / (before - distance);
        if !straight || !(1.0..MOST_STRETCH).contains(&slower) {
            return None;
        }
        stretch = slower;
    }
    None
}

/// The normal of a mold at a place on its wall: of one of its faces. What is told from outside is on an edge anything between those of both, and
/// a surfel with that would lie in the crease of the print as a slanting flake.
fn face(mold: &Mold, (wall, outward): (DVec3, DVec3), spacing: f64) -> DVec3 {
    let (_, normal) = (mold.probe)(wall - BEHIND * spacing * outward);
    if normal.dot(outward) > 0.0 { normal } else { outward }
}

/// Turns the axes into the plane across the normal, at right angles, of the lengths that they have.
fn turn_axes(e: &mut Element) {
    let n = e.normal;
    let flat = |a: Vec3| (a - n * n.dot(a)).try_normalize();
    let (long_u, long_v) = (e.axis_u.length(), e.axis_v.length());
    let u = flat(e.axis_u).unwrap_or_else(|| n.any_orthonormal_vector());
    (e.axis_u, e.axis_v) = (u * long_u, n.cross(u) * long_v);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walls_are_reached_whose_distances_are_too_small() {
        for factor in [1.0, 0.5, 0.15] {
            // A ball whose distance is only a part of the true one.
            let probe = |p: DVec3| (factor * (p.length() - 1.0), p.normalize());
            let mold = Mold { probe: &probe, still: true, least: None, open: None, stain: None };
            for way in [DVec3::X, DVec3::new(0.6, -0.8, 0.0)] {
                for start in [1.4, 0.7] {
                    let (x, normal) = on_mold(&mold, start * way, 1.0).expect("it is near");
                    assert!(x.distance(way) < 0.03 && normal.dot(way) > 0.999, "{factor} {start}: {x}");
                }
            }
            assert!(on_mold(&mold, 8.0 * DVec3::X, 1.0).is_none());
        }
    }
}
