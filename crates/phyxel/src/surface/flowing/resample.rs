//! Keeps surfels evenly spread: new ones where the surface opened, none where they crowd, [MKN04] 5.2.4.
//!
//! Only surfels that have faded whole are moved or removed. A gap is a place one spacing from a surfel with no other within
//! 0.75; a surfel is crowded when another is within half a spacing: between the two nothing happens, so that a surface at
//! rest stays as it is.

use super::carry::CHUNK;
use super::cover::Cover;
use super::field::ISO;
use super::mold::{KEPT, Landing};
use super::near::Near;
use super::paint::{Surroundings, slope_around};
use super::{Element, FlowingSurface, Mold, NONE, Paint};
use crate::neighbors::Grid;
use crate::random::Random;
use crate::surface::Surfels;
use glam::{DVec3, Mat3, Vec3, Vec4};
use rayon::prelude::*;

/// Surfels that act on one another are nearer than this [surfel spacings].
pub(super) const SEEN: f32 = 1.8;
/// Nearer ones are crowded.
const CROWDED: f32 = 0.5;
/// A new surfel has this much room.
const ROOM: f32 = 0.75;
/// Steps in the relief of a mold from this height on are covered [surfel spacings].
const RISE: f32 = 0.6;
/// Beside a wall that is not filled, surface is looked for within this distance [spacings of the points].
const LEAVES: f32 = 0.6;
/// Between surfels that fade there is a gap where the mean of those around is nearer than this [of the farthest]; farther there is a border.
const BORDER: f32 = 0.3;
/// Those around a gap are nearer than this [surfel spacings].
const WIDE: f32 = 2.5;
/// Range and strength of the mutual push, and its bounds per frame [surfel spacings].
const PUSH: (f32, f32, f32, f32) = (1.5, 0.12, 0.02, 0.2);
/// Normals of the same side of a surface have at least this cosine.
pub(super) const SAME_SIDE: f32 = 0.3;
/// Directions in which a surfel looks for a gap.
const LOOKS: usize = 7;
/// Cosines and sines of the angles from the first of them; the last lane repeats it.
const TURNS: ([Vec4; 2], [Vec4; 2]) = (
    [Vec4::new(1.0, 0.623_489_8, -0.222_520_9, -0.900_968_9), Vec4::new(-0.900_968_9, -0.222_520_9, 0.623_489_8, 1.0)],
    [Vec4::new(0.0, 0.781_831_5, 0.974_927_9, 0.433_883_7), Vec4::new(-0.433_883_7, -0.974_927_9, -0.781_831_5, 0.0)],
);
/// How often in a frame new surfels look for gaps in turn, at most: fast matter lays much surface open at once.
const ROUNDS: usize = 100;
/// Surfels may become this many times as many before they are spaced wider.
const MOST: f32 = 5.0;
/// Directions in which a point looks for uncovered surface, and its part of the points per frame.
const RAYS: usize = 12;
const SHARE: u32 = 4;

/// What a surfel sees around it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Around {
    /// Step away from the others [m].
    pub push: Vec3,
    /// How the place at rest changes along the surface.
    pub slope: Mat3,
    /// Half-axis that closes the surface [m].
    pub radius: f32,
    /// Unit direction across the nearest edge, and how far it is [m]; zero where there is none.
    pub edge: (Vec3, f32),
    /// Distance to the nearest [m], and which it is.
    nearest: (f32, u32),
    /// Places of gaps [m].
    gaps: [Option<Vec3>; 2],
    /// Whether it was on a mold.
    touched: bool,
}

impl FlowingSurface {
    /// What each surfel sees.
    pub(super) fn look_around(&self, cover: &Cover) -> Vec<Around> {
        let all = (0..self.elements.len()).into_par_iter().with_min_len(CHUNK);
        all.map_init(<(Vec<(Vec3, u32)>, Vec<Vec3>)>::default, |(seen, offsets), i| {
            let e = &self.elements[i];
            // Those that have all their detail are not moved, and have no gaps to fill.
            let whole = e.blend == 0.0 && e.contact == 0.0 && self.scratch.detailed.get(e.host as usize) == Some(&true);
            if e.origin != NONE || whole {
                return Around::default();
            }
            let (spacing, own) = (self.spacing(e.body), self.label(e));
            let free = e.blend >= 1.0 || e.contact >= 1.0;
            let mut edge = (Vec3::ZERO, SEEN * spacing);
            seen.clear();
            offsets.clear();
            cover.for_each_spot(e.position, SEEN * spacing, |j, spot, offset| {
                if j == i as u32 || spot.label != own {
                    return;
                }
                offsets.push(offset);
                if spot.normal.dot(e.normal) > SAME_SIDE {
                    seen.push((offset, j));
                } else if e.contact == 0.0 || !spot.touches {
                    // On a mold only the rim of the matter is an edge: steep relief has more of them than surfels could follow.
                    edge = nearer_edge(edge, e, spot.normal, offset, spacing);
                }
            });
            let slope = if free && self.is_followed(e.source) {
                slope_around(e, spacing, seen, &self.elements)
            } else {
                Mat3::ZERO
            };
            let touched = e.contact >= 1.0;
            let mut around = Around { slope, edge, touched, ..look(e, spacing, seen) };
            if e.contact >= 1.0 && around.gaps[1].is_none() {
                around.gaps[1] = riser(e, spacing, seen, offsets);
            }
            around
        })
        .collect()
    }

    /// Removes crowded surfels, the youngest first.
    pub(super) fn thin(&self, around: &[Around], cover: &mut Cover) {
        let crowded = |i: &usize| {
            let (e, (distance, other)) = (&self.elements[*i], around[*i].nearest);
            let free = e.origin == NONE && (e.blend >= 1.0 || e.contact >= 1.0) && other != NONE;
            free && distance < CROWDED * self.spacing(e.body)
        };
        let mut all: Vec<usize> = (0..around.len()).filter(crowded).collect();
        all.sort_unstable_by_key(|&i| std::cmp::Reverse(self.elements[i].id));
        for i in all {
            cover.alive[i] &= !cover.alive[around[i].nearest.1 as usize];
        }
    }

    /// Fills gaps, from old surfels to new ones and on.
    pub(super) fn fill(&mut self, around: &[Around], cover: &mut Cover, world: Surroundings) {
        let gaps = |(i, a): (usize, &Around)| {
            let e = &self.elements[i];
            if !cover.alive[i] || !self.may_fill(e) {
                return Vec::new();
            }
            // Those that have just come to lie on a mold have looked from elsewhere.
            if !a.touched && e.contact >= 1.0 {
                return self.gaps_around(i as u32, cover);
            }
            a.gaps.iter().flatten().map(|&p| (i as u32, p)).collect()
        };
        let wanted: Vec<(u32, Vec3)> = around.par_iter().enumerate().with_min_len(CHUNK).flat_map_iter(gaps).collect();
        self.fill_from(wanted, cover, world);
    }

    /// Puts surfels where the surface around points that flow has none.
    pub(super) fn seed(&mut self, cover: &mut Cover, world: Surroundings) {
        let turn = self.counters.frame % SHARE;
        let s = &self.scratch;
        let points = (0..s.positions.len() as u32).into_par_iter().with_min_len(CHUNK);
        let found: Vec<Vec<Landing>> = points
            .map_init(Near::default, |near, i| {
                let (mark, point) = (&self.marks[i as usize], i as usize);
                let flows = s.flow[point] > 0.0 || (mark.is_flowing() && self.at_wall(point));
                let looks = mark.fresh > 0 || (i % SHARE == turn && flows);
                if looks { self.uncovered(point, cover, world.molds, near) } else { Vec::new() }
            })
            .collect();
        let mut wanted = Vec::new();
        for on in found.into_iter().flatten() {
            let spacing = self.spacing(self.scratch.bodies[on.host as usize]);
            if !cover.taken(&self.elements, on.position, on.normal, ROOM * spacing) {
                let mut e = self.element_at(on, spacing, self.scratch.velocities[on.host as usize]);
                self.paint(&mut e, None, cover, world.paints);
                let i = self.add(e, cover);
                cover.painted = self.elements.len() as u32;
                wanted.extend(self.gaps_around(i, cover));
            }
        }
        self.fill_from(wanted, cover, world);
    }

    /// Drops what does not stay, and widens the spacing while there are too many.
    pub(super) fn finish(&mut self, cover: &Cover) {
        let mut alive = cover.alive.iter();
        self.elements.retain(|_| alive.next().copied().unwrap_or(true));
        let most = MOST * self.counters.start.max(200) as f32;
        let count = self.elements.len() as f32;
        if count > most {
            self.counters.widening *= 1.02;
        } else if count < 0.7 * most {
            self.counters.widening = (self.counters.widening / 1.01).max(1.0);
        }
    }

    /// Piece that a surfel belongs to.
    pub(super) fn label(&self, e: &Element) -> u32 {
        self.scratch.labels.get(e.host as usize).copied().unwrap_or(0)
    }

    /// Distance between the surfels of a body [m].
    pub(super) fn spacing(&self, body: u32) -> f32 {
        let own = self.joined.iter().find(|j| j.body == body).or(self.joined.first());
        own.map_or(1.0, |j| j.spacing) * self.counters.widening
    }

    /// Whether gaps beside a surfel are filled: it is on the implicit surface, on a mold, or fades on matter that flows.
    fn may_fill(&self, e: &Element) -> bool {
        let fades =
            || self.scratch.detailed.get(e.host as usize) == Some(&true) && self.marks[e.host as usize].is_flowing();
        !e.hangs() || (e.blend > 0.0 && fades())
    }

    /// A place beside a surfel that has not faded whole, on the planes of those around it; None where they are not on all sides of it.
    fn level(&self, e: &Element, place: Vec3, cover: &Cover) -> Option<Landing> {
        let reach = WIDE * self.spacing(e.body);
        let (mut sum, mut rise, mut normal, mut lean) = (0.0, 0.0, Vec3::ZERO, Vec3::ZERO);
        cover.near(&self.elements, place, reach, |j, offset| {
            let other = &self.elements[j as usize];
            if other.normal.dot(e.normal) > SAME_SIDE && self.label(other) == self.label(e) {
                let q = 1.0 - offset.length_squared() / (reach * reach);
                let weight = q * q;
                (sum, rise) = (sum + weight, rise + weight * other.normal.dot(offset));
                normal += weight * other.normal;
                lean += weight * offset;
            }
        });
        let normal = normal.try_normalize().unwrap_or(e.normal);
        let level = lean - normal * normal.dot(lean);
        let enclosed = sum > 0.0 && level.length() < BORDER * sum * reach;
        let position = place + rise / sum * normal;
        enclosed.then_some(Landing { position, normal, host: e.host, contact: 0.0 })
    }

    /// Adds surfels at places wanted by others, as long as there is room; new ones want more in turn.
    fn fill_from(&mut self, mut wanted: Vec<(u32, Vec3)>, cover: &mut Cover, world: Surroundings) {
        for _ in 0..ROUNDS {
            if wanted.is_empty() {
                break;
            }
            // Neighbors see the same gaps.
            cover.tell_apart(&self.elements, &mut wanted);
            let landed: Vec<Option<Landing>> = wanted
                .par_iter()
                .with_min_len(CHUNK)
                .map_init(Near::default, |near, &(parent, place)| {
                    let e = &self.elements[parent as usize];
                    if e.hangs() {
                        return self.level(e, place, cover);
                    }
                    let spacing = self.spacing(e.body);
                    let toward = (e.contact < 1.0).then_some(e.normal);
                    // Where matter leaves the wall its surface goes down steeply.
                    let leaves = LEAVES * self.scratch.spacings[e.host as usize] as f32;
                    let farthest = if e.contact >= 1.0 { spacing.max(leaves) } else { spacing };
                    let least = if e.contact >= 1.0 { KEPT } else { ISO };
                    self.land((place.as_dvec3(), toward, least), e.host as usize, farthest, world.molds, near)
                })
                .collect();
            let parents = std::mem::take(&mut wanted);
            let mut children = Vec::new();
            for (on, (parent, _)) in landed.into_iter().zip(parents) {
                let Some(on) = on else { continue };
                let spacing = self.spacing(self.scratch.bodies[on.host as usize]);
                if !cover.taken(&self.elements, on.position, on.normal, ROOM * spacing) {
                    let e = &self.elements[parent as usize];
                    let new = self.element_at(on, self.spacing(e.body), e.velocity);
                    let fades = e.hangs();
                    let new = match fades {
                        true => Element { blend: e.blend, grown: e.grown, winding: e.winding, ..new },
                        false => new,
                    };
                    let i = self.add(new, cover);
                    children.push((i, parent));
                    if !fades {
                        wanted.extend(self.gaps_around(i, cover));
                    }
                }
            }
            self.paint_all(&children, cover, world.paints);
        }
    }

    /// Paints new surfels like their parents, by what was there before all of them.
    fn paint_all(&mut self, children: &[(u32, u32)], cover: &mut Cover, paints: &[Option<Paint>]) {
        let one = |&(i, parent): &(u32, u32)| {
            let mut child = self.elements[i as usize];
            self.paint(&mut child, Some(&self.elements[parent as usize]), cover, paints);
            child
        };
        let painted: Vec<Element> = children.par_iter().with_min_len(CHUNK).map(one).collect();
        children.iter().zip(painted).for_each(|((i, _), child)| self.elements[*i as usize] = child);
        cover.painted = self.elements.len() as u32;
    }

    fn add(&mut self, mut e: Element, cover: &mut Cover) -> u32 {
        e.id = self.counters.next_id;
        self.counters.next_id = self.counters.next_id.wrapping_add(1);
        let i = self.elements.len() as u32;
        cover.add(i, e.position);
        self.elements.push(e);
        i
    }

    /// Gaps that a new surfel sees.
    fn gaps_around(&self, i: u32, cover: &Cover) -> Vec<(u32, Vec3)> {
        let e = &self.elements[i as usize];
        let spacing = self.spacing(e.body);
        let mut seen = Vec::new();
        cover.near(&self.elements, e.position, SEEN * spacing, |j, offset| {
            if j != i && self.elements[j as usize].normal.dot(e.normal) > SAME_SIDE {
                seen.push((offset, j));
            }
        });
        look(e, spacing, &seen).gaps.iter().flatten().map(|&p| (i, p)).collect()
    }

    /// Uncovered places on the surface around a point.
    fn uncovered(&self, point: usize, cover: &Cover, molds: &[Mold], near: &mut Near) -> Vec<Landing> {
        let s = &self.scratch;
        let (inward, spacing) = (s.field.inward[point], s.spacings[point] as f32);
        let depth = inward.length();
        let mut found = Vec::new();
        // Points whose neighbors lie all around have no surface, unless echoes of a wall are among them.
        let inside = depth < 0.15 && s.field.company[point] > 0.9;
        let wall = self.at_wall(point);
        if inside && !wall {
            return found;
        }
        for k in 0..RAYS {
            let ray = spiral(k, RAYS);
            if !wall && inward.dot(ray) > 0.3 * depth {
                continue;
            }
            let start = s.field.smoothed[point] + 0.6 * s.spacings[point] * ray;
            let mut covered = false;
            cover.near(&self.elements, start.as_vec3(), 0.25 * spacing, |_, _| covered = true);
            if !covered {
                found.extend(self.land((start, Some(ray.as_vec3()), ISO), point, 0.7 * spacing, molds, near));
            }
        }
        found
    }

    /// A new surfel.
    fn element_at(&self, on: Landing, spacing: f32, velocity: Vec3) -> Element {
        let Landing { position, normal, host, contact } = on;
        let (x, y) = normal.any_orthonormal_pair();
        let (axis_u, axis_v) = (spacing * x, spacing * y);
        let body = self.scratch.bodies[host as usize];
        let place = Element { position, normal, axis_u, axis_v, host, body, ..bytemuck::Zeroable::zeroed() };
        Element { contact, velocity, origin: NONE, blend: 1.0, grown: 1, ..place }
    }
}

impl Element {
    /// Whether it is neither on the implicit surface nor on a mold.
    fn hangs(&self) -> bool {
        self.blend < 1.0 && self.contact < 1.0
    }
}

/// Distance between the surfels of a surface at the start [m]: from the distance to the sixth neighbor on the same side,
/// which is 1.2 spacings in an even cover.
pub(in crate::surface) fn spacing_of(surfels: &Surfels) -> f32 {
    const PROBES: usize = 200;
    let places: Vec<DVec3> = surfels.positions.iter().map(|p| p.as_dvec3()).collect();
    let axes = surfels.axes_u.iter().map(|u| f64::from(u.length()));
    let mean = axes.sum::<f64>() / places.len().max(1) as f64;
    let grid = Grid::new(&places, mean);
    let mut sixth: Vec<f32> = (0..PROBES.min(places.len()))
        .filter_map(|k| {
            let i = k * places.len() / PROBES.min(places.len());
            let near = grid.k_nearest(places[i], 24);
            let side = |j: usize| surfels.normals[j].dot(surfels.normals[i]) > SAME_SIDE;
            near.iter().filter(|n| n.0 != i && side(n.0)).nth(5).map(|n| n.1.sqrt() as f32)
        })
        .collect();
    sixth.sort_by(f32::total_cmp);
    let found = sixth.get(sixth.len() / 2).map_or(mean as f32, |d| d / 1.2);
    if found > 0.0 && found.is_finite() { found } else { 1.0 }
}

/// What a surfel makes of those it sees (offsets and numbers).
fn look(e: &Element, spacing: f32, seen: &[(Vec3, u32)]) -> Around {
    let (range, strength, least, most) = PUSH;
    let mut push = Vec3::ZERO;
    // Distances to the six nearest, ascending.
    let mut six = [SEEN * spacing; 6];
    let mut nearest = (f32::INFINITY, NONE);
    for &(offset, j) in seen {
        let r = offset.length();
        if r < nearest.0 || (r == nearest.0 && j < nearest.1) {
            nearest = (r, j);
        }
        let mut longer = r;
        for slot in &mut six {
            (*slot, longer) = (slot.min(longer), slot.max(longer));
        }
        if r < range * spacing {
            push -= offset / r.max(1e-3 * spacing) * (1.0 - r / (range * spacing));
        }
    }
    push = (push - e.normal * e.normal.dot(push)) * strength * spacing;
    push = if push.length() < least * spacing { Vec3::ZERO } else { push.clamp_length_max(most * spacing) };
    let radius = (0.9 * six[5]).clamp(0.9 * spacing, 1.6 * spacing);
    Around { push, radius, nearest, gaps: gaps(e, spacing, seen), ..Around::default() }
}

/// The nearer one of a known edge and the one at which the plane of another surfel cuts that of this one. Only where the surface
/// is convex: there discs would stand over.
fn nearer_edge(known: (Vec3, f32), e: &Element, normal: Vec3, offset: Vec3, spacing: f32) -> (Vec3, f32) {
    let across = normal - e.normal * e.normal.dot(normal);
    let slant = across.length();
    let behind = normal.dot(offset);
    // The other must lie behind this one's plane too; opposite sides of a sheet have no edge.
    if slant < 0.5 || behind < -0.2 * spacing || e.normal.dot(offset) > 0.2 * spacing {
        return known;
    }
    let way = behind.max(0.0) / slant;
    if way < known.1 { (across / slant, way) } else { known }
}

/// Up to two places, one spacing away, with no surfel near.
fn gaps(e: &Element, spacing: f32, seen: &[(Vec3, u32)]) -> [Option<Vec3>; 2] {
    let (x, y) = e.normal.any_orthonormal_pair();
    let start = Random::new(0x9a95, u64::from(e.id)).unit() as f32;
    let (sin, cos) = (std::f32::consts::TAU * start).sin_cos();
    // The places in the plane of the surfel, all at once; the last lane repeats the first.
    let ([c0, c1], [s0, s1]) = TURNS;
    let ways_x = [spacing * (cos * c0 - sin * s0), spacing * (cos * c1 - sin * s1)];
    let ways_y = [spacing * (sin * c0 + cos * s0), spacing * (sin * c1 + cos * s1)];
    let mut open = (1 << LOOKS) - 1;
    for &(offset, _) in seen {
        let rise = e.normal.dot(offset);
        // What lies a little above or below is where a new one would come to lie.
        let rise = if rise.abs() < RISE * spacing { 0.0 } else { rise };
        let room = Vec4::splat(ROOM * ROOM * spacing * spacing - rise * rise);
        let (along, across) = (Vec4::splat(x.dot(offset)), Vec4::splat(y.dot(offset)));
        let free = |k: usize| {
            let (u, v) = (ways_x[k] - along, ways_y[k] - across);
            (u * u + v * v).cmpgt(room).bitmask()
        };
        open &= free(0) | free(1) << 4;
        if open == 0 {
            return [None; 2];
        }
    }
    let mut next = || {
        let k = (open != 0).then(|| open.trailing_zeros() as usize)?;
        open &= open - 1;
        Some(e.position + ways_x[k / 4][k % 4] * x + ways_y[k / 4][k % 4] * y)
    };
    [next(), next()]
}

/// The middle of a step in the relief of a mold that no surfel covers: between a surfel and one of the same side above or below it.
fn riser(e: &Element, spacing: f32, seen: &[(Vec3, u32)], offsets: &[Vec3]) -> Option<Vec3> {
    let bare = |offset: &Vec3| {
        let (rise, middle) = (e.normal.dot(*offset).abs(), 0.5 * *offset);
        let room = CROWDED * CROWDED * spacing * spacing;
        rise > RISE * spacing && offsets.iter().all(|o| (*o - middle).length_squared() > room)
    };
    seen.iter().map(|s| s.0).find(bare).map(|offset| e.position + 0.5 * offset)
}

/// Direction k of `count` evenly spread ones.
pub(in crate::surface) fn spiral(k: usize, count: usize) -> DVec3 {
    let z = 1.0 - (2.0 * k as f64 + 1.0) / count as f64;
    let (sin, cos) = (2.399_963_229_728_653 * k as f64).sin_cos();
    let r = (1.0 - z * z).sqrt();
    DVec3::new(r * cos, r * sin, z)
}
