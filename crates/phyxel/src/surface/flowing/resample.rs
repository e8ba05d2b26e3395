//! Keeps surfels evenly spread: new ones where the surface opened, none where they crowd, [MKN04] 5.2.4.
//!
//! Only surfels that have faded whole are moved or removed. What they see around them is in `look.rs`.

use super::carry::CHUNK;
use super::cover::Cover;
use super::field::ISO;
use super::look::{Around, CROWDED, ROOM, SAME_SIDE, SEEN, look};
use super::mold::{Aim, KEPT, Landing};
use super::near::Near;
use super::paint::Surroundings;
use super::{Element, FlowingSurface, Mold, NONE, Paint};
use crate::neighbors::Grid;
use crate::surface::Surfels;
use glam::{DVec3, Vec3};
use rayon::prelude::*;

/// A surfel that moves farther than this within the surface leaves a gap [surfel spacings].
const MOVED: f32 = 0.4;
/// Beside a wall that is not filled, surface is looked for within this distance [spacings of the points].
const LEAVES: f32 = 0.6;
/// Between surfels that fade there is a gap where the mean of those around is nearer than this [of the farthest]; farther there is a border.
const BORDER: f32 = 0.3;
/// Those around a gap are nearer than this [surfel spacings].
const WIDE: f32 = 2.5;
/// How often in a frame new surfels look for gaps in turn, at most: fast matter lays much surface open at once.
const ROUNDS: usize = 100;
/// Surfels may become this many times as many before they are spaced wider.
const MOST: f32 = 5.0;
/// Directions in which a point looks for uncovered surface, and its part of the points per frame.
const RAYS: usize = 12;
const SHARE: u32 = 4;

impl FlowingSurface {
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

    /// Surfels beside which others have gone or moved far since they looked around: they have not seen the gap. Those that moved are found where
    /// they are now.
    pub(super) fn disturbed(&self, cover: &mut Cover) -> Vec<bool> {
        let mut disturbed = vec![false; self.elements.len()];
        let mut moved = Vec::new();
        for (j, spot) in cover.spots() {
            let e = &self.elements[j as usize];
            let spacing = self.spacing(e.body);
            let far = e.position.distance(spot.position) > MOVED * spacing;
            if far || !cover.alive[j as usize] {
                cover.for_each_spot(spot.position, SEEN * spacing, |i, _, _| disturbed[i as usize] = true);
            }
            if far {
                moved.push((j, e.position));
            }
        }
        moved.into_iter().for_each(|(j, place)| cover.note(j, place));
        disturbed
    }

    /// Fills gaps, from old surfels to new ones and on. Those that are `disturbed` look again.
    pub(super) fn fill(&mut self, around: &[Around], disturbed: &[bool], cover: &mut Cover, world: Surroundings) {
        let gaps = |(i, a): (usize, &Around)| {
            let e = &self.elements[i];
            if !cover.alive[i] || !self.may_fill(e) {
                return Vec::new();
            }
            // Those that have just come to lie on a mold have looked from elsewhere.
            if disturbed[i] || (!a.touched && e.contact >= 1.0) {
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
                    let free = e.contact < 1.0;
                    let toward = free.then_some(e.normal);
                    // Where matter leaves the wall its surface goes down steeply.
                    let leaves = LEAVES * self.scratch.spacings[e.host as usize] as f32;
                    let farthest = if e.contact >= 1.0 { spacing.max(leaves) } else { spacing };
                    let least = if e.contact >= 1.0 { KEPT } else { ISO };
                    let aim = Aim { place: place.as_dvec3(), toward, least, nearer: free, gaps: false };
                    self.land(aim, e.host as usize, farthest, world.molds, near)
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
                let aim = Aim { place: start, toward: Some(ray.as_vec3()), least: ISO, nearer: false, gaps: true };
                found.extend(self.land(aim, point, 0.7 * spacing, molds, near));
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

/// Direction k of `count` evenly spread ones.
pub(in crate::surface) fn spiral(k: usize, count: usize) -> DVec3 {
    let z = 1.0 - (2.0 * k as f64 + 1.0) / count as f64;
    let (sin, cos) = (2.399_963_229_728_653 * k as f64).sin_cos();
    let r = (1.0 - z * z).sqrt();
    DVec3::new(r * cos, r * sin, z)
}
