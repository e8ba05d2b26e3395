//! Grains: particles of matter that melts, yields, breaks or flows, against the bodies of other models.
//!
//! Such matter has no skin of its own: each particle is a ball of half a spacing. It sees the skin of a solid or a sheet as the
//! surface averaged over the skin points near it, x̄ = Σ ŵ_j x_j, and is pushed out of it as skin points are (`touch.rs`). The
//! skin points share the reaction with their weights, and a couple among them puts it where the ball is, so that momentum and
//! angular momentum are kept. Bodies that flow have no skin either: their points are balls too, and pairs of balls push along their axis.
//!
//! Liquid has no friction but the shear of its viscosity over half a spacing.

use super::bodies::{Bodies, turn};
use super::candidates::REACH;
use super::skin::Facets;
use super::touch::{FULL_COVER, STIFFENING, Touch, series};
use crate::geometry::Bounds;
use crate::neighbors::Grid;
use crate::points::Points;
use glam::DVec3;
use rayon::prelude::*;
use std::ops::Range;

/// Lists hold for motions of half this many spacings.
const MARGIN: f64 = 0.5;
/// Depths below a skin point's plane, in its spacings, between which it stops being seen: what is deeper is nearer to another face.
const SEEN: [f64; 2] = [0.6, 1.2];
/// Part of the limit of stability that a step may use, and part of a spacing that may be approached in one.
const STEP_FRACTION: f64 = 0.5;
const TRAVEL_FRACTION: f64 = 0.25;
/// Part of the sliding speed that friction between two balls, or viscosity, may take away in a step.
pub(super) const GRIP: f64 = 0.3;
/// Grains per parallel task.
const CHUNK: usize = 64;

/// What kind of matter grains are. Those of one kind meet each other in their own model, and of two kinds one sees the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GrainKind {
    /// Particles of lattices.
    Lattice,
    /// Points of embedded bodies that flow.
    Embedded,
    /// Points of elastic bodies that may melt: the flow keeps them from all but sheets, which are thinner than its points.
    Melt,
}

/// What a grain is made of now.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GrainMatter {
    /// Young's modulus, or as much as stops a liquid [Pa].
    pub young: f64,
    /// Coulomb friction coefficient.
    pub friction: f64,
    /// Viscosity with which it drags along a surface [Pa s].
    pub viscosity: f64,
}

/// Grains and what is near them.
#[derive(Debug, Clone, Default)]
pub(super) struct Grains {
    /// Bodies that are made of grains.
    bodies: Vec<(usize, GrainKind)>,
    /// Points of the table that are grains, body after body.
    pub(super) members: Vec<u32>,
    /// By grain. Written by `set_matter`.
    pub(super) matters: Vec<GrainMatter>,
    /// Depth in other bodies at the start, by grain [m].
    at_start: Vec<f64>,
    /// Skin points and loose points that grains may meet: number in the skin or none, and the point.
    pub(super) targets: Vec<Target>,
    /// Grains that have something near, ascending, once for each body that is near; their rows in `near`.
    pub(super) active: Vec<u32>,
    pub(super) starts: Vec<u32>,
    /// Targets, ascending in each row.
    pub(super) near: Vec<u32>,
    /// Positions of grains and targets when lists were made [m], and how far one may move before they are made anew [m].
    made_at: Vec<DVec3>,
    allowed: f64,
    /// Surface around each target now, where a grain may see it. Written by `find`.
    facets: Vec<Facets>,
    /// Whether a target is in a row.
    listed: Vec<bool>,
    /// What each active grain feels of skins. Written by `find`.
    pub(super) touches: Vec<Touch>,
    /// Share ŵ of each listed skin target in what the grain feels. Written by `find`.
    pub(super) shares: Vec<f64>,
    /// Stiffness that each target bears [N/m]. Written by `find`.
    borne: Vec<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Target {
    /// Index of the point in the table.
    pub point: u32,
    /// Number of the skin point; None for the balls of a body that flows.
    pub skin: Option<u32>,
}

/// Sums over the surface that a grain sees.
#[derive(Default)]
struct Seen {
    cover: f64,
    normal: DVec3,
    depth: f64,
    center: DVec3,
    velocity: DVec3,
    spacing: f64,
    stiffness: f64,
    friction: f64,
}

impl Bodies {
    /// Says that the points of a body are grains: they meet those bodies of other models whose skins do not see its own.
    pub fn add_grains(&mut self, body: usize, kind: GrainKind, points: Range<usize>) {
        let grains = &mut self.grains;
        grains.bodies.push((body, kind));
        grains.members.extend(points.map(|i| i as u32));
        grains.matters.resize(grains.members.len(), GrainMatter { young: 0.0, friction: 0.0, viscosity: 0.0 });
        grains.at_start.resize(grains.members.len(), 0.0);
        grains.made_at.clear();
        self.drags.resize(self.skin.len() + self.grains.members.len(), DVec3::ZERO);
    }

    /// Whether there are grains that may meet something.
    pub fn has_grains(&self) -> bool {
        !self.grains.members.is_empty()
    }

    /// Says what the grains are made of now; `of` gets their numbers in the order in which they were added, and their points.
    pub fn set_grain_matter(&mut self, of: impl Fn(usize, usize) -> GrainMatter) {
        let Grains { members, matters, .. } = &mut self.grains;
        matters.iter_mut().zip(members).enumerate().for_each(|(k, (matter, i))| *matter = of(k, *i as usize));
    }

    /// Takes note of how deep grains are in other bodies at the start: they come out gently.
    pub fn begin_grains(&mut self, points: &Points) {
        self.find_grains(points, 0.0);
        let Self { grains, .. } = self;
        for (touch, &k) in grains.touches.iter().zip(&grains.active) {
            let start = &mut grains.at_start[k as usize];
            *start = start.max(touch.depth);
        }
        grains.made_at.clear();
        self.found = false;
    }

    /// Lists are made anew at the next look.
    pub(super) fn forget_grains(&mut self) {
        self.grains.made_at.clear();
    }

    /// Whether grains of one body meet the points of another.
    fn meets(&self, grain_body: usize, other: usize) -> bool {
        let unseen = self.candidates.is_excluded(grain_body, other);
        match (self.grains.kind(grain_body), self.grains.kind(other)) {
            (Some(GrainKind::Lattice), theirs) => unseen && theirs != Some(GrainKind::Lattice),
            (Some(GrainKind::Embedded), None) => unseen,
            // While it is solid it has a skin; then the flow pushes.
            (Some(GrainKind::Embedded), Some(GrainKind::Melt)) => unseen && !self.candidates.is_out(other),
            (Some(GrainKind::Melt), None) => self.candidates.is_out(grain_body) && self.candidates.is_sheet(other),
            _ => false,
        }
    }

    /// Finds what grains feel at the present state.
    pub(super) fn find_grains(&mut self, points: &Points, fading: f64) {
        if self.grains.members.is_empty() {
            return;
        }
        if self.grains.have_moved(points) {
            self.list_grains(points);
        }
        let mut facets = std::mem::take(&mut self.grains.facets);
        facets.resize(self.grains.targets.len(), Facets::default());
        let this = &*self;
        facets.par_iter_mut().enumerate().with_min_len(CHUNK).for_each(|(t, facets)| {
            if let (Some(s), true) = (this.grains.targets[t].skin, this.grains.listed[t]) {
                *facets = this.skin.facets(s as usize, &points.positions);
            }
        });
        self.grains.facets = facets;
        let mut touches = std::mem::take(&mut self.grains.touches);
        let mut shares = std::mem::take(&mut self.grains.shares);
        let this = &*self;
        let rows: Vec<(Vec<Touch>, Vec<f64>)> = (0..this.grains.active.len().div_ceil(CHUNK))
            .into_par_iter()
            .map(|chunk| {
                let range = chunk * CHUNK..((chunk + 1) * CHUNK).min(this.grains.active.len());
                let mut shares = Vec::new();
                (range.map(|a| this.grain_touch(points, a, fading, &mut shares)).collect(), shares)
            })
            .collect();
        touches.clear();
        shares.clear();
        for (some, weights) in &rows {
            touches.extend_from_slice(some);
            shares.extend_from_slice(weights);
        }
        self.grains.touches = touches;
        self.grains.shares = shares;
        self.grains.find_borne();
    }

    /// Lists the targets near each grain.
    fn list_grains(&mut self, points: &Points) {
        let is_excluded = |b: usize| self.candidates.is_out(b);
        let meets = |body: usize| self.grains.bodies.iter().any(|(g, _)| self.meets(*g, body));
        let met: Vec<bool> = (0..self.materials.len()).map(meets).collect();
        let mut targets = Vec::new();
        let mut s = 0;
        for i in 0..points.len() as u32 {
            let body = points.bodies[i as usize] as usize;
            while s < self.skin.len() && self.skin.points[s] < i {
                s += 1;
            }
            let skin = (s < self.skin.len() && self.skin.points[s] == i).then_some(s as u32);
            if met[body] && (is_excluded(body) || skin.is_some()) {
                targets.push(Target { point: i, skin: skin.filter(|_| !is_excluded(body)) });
            }
        }
        let spacing = |i: u32| points.spacings[i as usize];
        let widest = targets.iter().map(|t| spacing(t.point)).chain(self.grains.members.iter().map(|&i| spacing(i)));
        let widest = widest.fold(0.0, f64::max);
        let places: Vec<DVec3> = targets.iter().map(|t| points.positions[t.point as usize]).collect();
        let reach = (REACH + MARGIN) * widest;
        let bounds = Bounds::of(places.iter().copied()).grown(reach);
        let grid = Grid::new(&places, REACH * widest);
        let this = &*self;
        let row = |&i: &u32| -> Vec<u32> {
            let (at, body) = (points.positions[i as usize], points.bodies[i as usize] as usize);
            let mut row = Vec::new();
            if bounds.contains(at) {
                grid.for_each_within(at, reach, |t, r2| {
                    let j = targets[t].point;
                    let near = REACH * 0.5 * (spacing(i) + spacing(j)) + MARGIN * widest;
                    if r2 < near * near && this.meets(body, points.bodies[j as usize] as usize) {
                        row.push(t as u32);
                    }
                });
                row.sort_unstable();
            }
            row
        };
        let rows: Vec<Vec<u32>> = this.grains.members.par_iter().with_min_len(CHUNK).map(row).collect();
        let grains = &mut self.grains;
        grains.active.clear();
        grains.near.clear();
        grains.starts.clear();
        grains.starts.push(0);
        let body = |t: &u32| points.bodies[targets[*t as usize].point as usize];
        for (k, row) in rows.iter().enumerate() {
            // Between two bodies a grain is pushed by each: their surfaces have no mean.
            for part in row.chunk_by(|a, b| body(a) == body(b)) {
                grains.active.push(k as u32);
                grains.near.extend_from_slice(part);
                grains.starts.push(grains.near.len() as u32);
            }
        }
        grains.listed.clear();
        grains.listed.resize(targets.len(), false);
        grains.near.iter().for_each(|&t| grains.listed[t as usize] = true);
        grains.targets = targets;
        grains.allowed = 0.5 * MARGIN * widest;
        grains.made_at.clear();
        let all = grains.members.iter().copied().chain(grains.targets.iter().map(|t| t.point));
        grains.made_at.extend(all.map(|i| points.positions[i as usize]));
    }

    /// What an active grain feels of skins; pushes the shares of its row.
    fn grain_touch(&self, points: &Points, a: usize, fading: f64, shares: &mut Vec<f64>) -> Touch {
        let grains = &self.grains;
        let k = grains.active[a] as usize;
        let (i, matter, first) = (grains.members[k] as usize, &grains.matters[k], shares.len());
        let (at, size) = (points.positions[i], points.spacings[i]);
        let mut seen = Seen::default();
        for &t in grains.row(a) {
            let target = grains.targets[t as usize];
            let view = target.skin.and_then(|_| grains.view(points, i, t as usize));
            let Some((weight, normal, distance)) = view else {
                shares.push(0.0);
                continue;
            };
            let j = target.point as usize;
            let (young, friction) = self.materials[points.bodies[j] as usize];
            shares.push(weight);
            seen.cover += weight;
            seen.normal += weight * normal;
            seen.depth += weight * (0.5 * size - distance);
            seen.center += weight * (points.positions[j] - at);
            seen.velocity += weight * points.velocities[j];
            seen.spacing += weight * points.spacings[j];
            // Several grains on one large point share its stiffness.
            let area = size * (size / points.spacings[j]).min(1.0);
            seen.stiffness += weight * series(matter.young, young) * area;
            seen.friction += weight * (matter.friction * friction).sqrt();
        }
        let Some(normal) = seen.normal.try_normalize() else { return Touch::default() };
        let inverse_cover = 1.0 / seen.cover;
        shares[first..].iter_mut().for_each(|w| *w *= inverse_cover);
        let range = 0.5 * (size + seen.spacing * inverse_cover);
        let depth = (seen.depth * inverse_cover - grains.at_start[k] * fading).min(range);
        let cover = (seen.cover / FULL_COVER).min(1.0);
        let spring = cover * cover * (3.0 - 2.0 * cover) * seen.stiffness * inverse_cover;
        let steep = STIFFENING * (depth.max(0.0) / range).powi(2);
        Touch {
            normal,
            inverse_cover,
            center: seen.center * inverse_cover,
            depth,
            stiffness: spring * (1.0 + steep),
            steep,
            slip: points.velocities[i] - seen.velocity * inverse_cover,
            mass: points.masses[i],
            friction: seen.friction * inverse_cover,
            drag: self.drags.get(self.skin.len() + k).copied().unwrap_or_default(),
        }
    }

    /// Adds the forces between grains and other bodies over a step of `dt` [s].
    pub(super) fn push_grains(&mut self, points: &mut Points, dt: f64) {
        let first = self.skin.len();
        self.torques.clear();
        self.torques.resize(self.materials.len(), DVec3::ZERO);
        let Self { grains, drags, torques, .. } = self;
        let mut deepest = (usize::MAX, 0.0);
        for (a, touch) in grains.touches.iter().enumerate() {
            let k = grains.active[a] as usize;
            let i = grains.members[k] as usize;
            let (mut push, drag) = touch.push(dt);
            // Of several bodies that it touches a grain remembers how far it was dragged along the one it is deepest in.
            if deepest.0 != k {
                deepest = (k, 0.0);
            }
            if touch.depth > deepest.1 {
                deepest.1 = touch.depth;
                drags[first + k] = drag;
            }
            push -= touch.shear(grains.matters[k].viscosity, points.spacings[i], GRIP / dt);
            if push == DVec3::ZERO {
                continue;
            }
            points.forces[i] += push;
            let (body, left) = grains.react(points, a, i, push);
            torques[body] += left;
        }
        for body in 0..self.materials.len() {
            if self.torques[body] != DVec3::ZERO {
                turn(points, &self.skin.points[self.skin.range(body)], self.torques[body]);
            }
        }
        let pairs: Vec<(usize, usize, DVec3)> = self.ball_pushes(points, dt);
        for (i, j, push) in pairs {
            points.forces[i] += push;
            points.forces[j] -= push;
        }
    }

    /// Largest step that keeps the contacts of grains stable and lets none pass through [s].
    pub(super) fn grain_time_step(&self, points: &Points) -> f64 {
        let grains = &self.grains;
        let mut limit = f64::INFINITY;
        for (a, touch) in grains.touches.iter().enumerate() {
            let k = grains.active[a] as usize;
            let i = grains.members[k] as usize;
            let mut stiffness = if touch.depth > 0.0 { touch.stiffness } else { 0.0 };
            for &t in grains.row(a) {
                let target = grains.targets[t as usize];
                let j = target.point as usize;
                let way = TRAVEL_FRACTION * points.spacings[i].min(points.spacings[j]);
                limit = limit.min(way / points.velocities[i].distance(points.velocities[j]).max(1e-12));
                let near = 0.5 * (points.spacings[i] + points.spacings[j]);
                if target.skin.is_none() && points.positions[i].distance_squared(points.positions[j]) < near * near {
                    let pair = self.ball_stiffness(points, k, i, j) * (1.0 + STIFFENING);
                    stiffness += pair;
                    limit = limit.min(STEP_FRACTION * (points.masses[j] / (2.0 * pair)).sqrt());
                }
            }
            limit = limit.min(STEP_FRACTION * (points.masses[i] / (2.0 * stiffness)).sqrt());
        }
        for (borne, target) in grains.borne.iter().zip(&grains.targets).filter(|(b, _)| **b > 0.0) {
            limit = limit.min(STEP_FRACTION * (points.masses[target.point as usize] / (2.0 * borne)).sqrt());
        }
        limit
    }

    /// Energy stored between grains and skins at the last look [J].
    pub(super) fn grain_energy(&self) -> f64 {
        self.grains.touches.iter().map(Touch::energy).sum()
    }
}

impl Grains {
    fn kind(&self, body: usize) -> Option<GrainKind> {
        self.bodies.iter().find(|(b, _)| *b == body).map(|(_, kind)| *kind)
    }

    pub(super) fn row(&self, a: usize) -> &[u32] {
        &self.near[self.starts[a] as usize..self.starts[a + 1] as usize]
    }

    /// How a ball at point i sees a target on a skin: weight, normal, and distance of its center from the surface there [m].
    fn view(&self, points: &Points, i: usize, t: usize) -> Option<(f64, DVec3, f64)> {
        let j = self.targets[t].point as usize;
        let spacing = points.spacings[j];
        let away = points.positions[i] - points.positions[j];
        let q = away.length_squared() / (REACH * 0.5 * (points.spacings[i] + spacing)).powi(2);
        if q >= 1.0 || q.is_nan() {
            return None;
        }
        // Matter is below all facets: the distance is that from the plane which is farthest.
        let above = |(n, depth): (DVec3, f64)| (n, n.dot(away) - depth);
        let (normal, distance) = self.facets[t].iter().map(above).max_by(|a, b| a.1.total_cmp(&b.1))?;
        let [near, far] = SEEN;
        let facing = ((distance / spacing + far) / (far - near)).clamp(0.0, 1.0);
        let weight = (1.0 - q) * (1.0 - q) * facing;
        (weight > 0.0).then_some((weight, normal, distance))
    }

    fn have_moved(&self, points: &Points) -> bool {
        let all = self.members.len() + self.targets.len();
        if self.made_at.len() != all {
            return true;
        }
        let limit = self.allowed * self.allowed;
        let now = self.members.iter().copied().chain(self.targets.iter().map(|t| t.point));
        now.zip(&self.made_at).any(|(i, then)| {
            let moved = points.positions[i as usize].distance_squared(*then);
            moved.partial_cmp(&limit).is_none_or(std::cmp::Ordering::is_gt)
        })
    }

    fn find_borne(&mut self) {
        self.borne.clear();
        self.borne.resize(self.targets.len(), 0.0);
        for (a, touch) in self.touches.iter().enumerate().filter(|(_, t)| t.depth > 0.0) {
            let range = self.starts[a] as usize..self.starts[a + 1] as usize;
            for (&t, share) in self.near[range.clone()].iter().zip(&self.shares[range]) {
                self.borne[t as usize] += share * touch.stiffness;
            }
        }
    }
}

#[cfg(test)]
#[path = "grains_tests.rs"]
mod tests;
