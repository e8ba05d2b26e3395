//! Bodies against each other, by forces between the points of their skins.
//!
//! A skin point i sees the other body as a surface averaged over its skin points j with weights ŵ_j that sum to one. Of
//! i and j those facets count that face each other most: with their depths r and the normal n_j the two surfaces overlap
//! by p_ij = r_i + r_j - n_j·(x_i - x_j). The point is pushed out by f = k p (1 + β (p/d)²) n with p = Σ ŵ_j p_ij and
//! n = Σ ŵ_j n_j (normalized), and j gets -ŵ_j f. Both bodies do this with half the stiffness. Averages make sliding
//! smooth where balls around points would make it bumpy.
//!
//! What holds: the forces sum to zero to rounding, and so do their torques: the torque (x_i - x̄) × f that a push and its
//! reactions lack is given to the skin of the pushed body as if it were rigid. Friction is a damped spring
//! along the surface that slips at μ times the normal force, so what rests stays. One body against itself is not handled.

use super::candidates::{Candidates, REACH};
use super::skin::{Facets, Skin};
use crate::geometry::Shape;
use crate::points::Points;
use glam::{DMat3, DVec3};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Growth β of the stiffness with depth: stops soft bodies at 10 m/s before they pass through each other.
const STIFFENING: f64 = 10.0;
/// Normal damping as a part of the critical one.
const DAMPING: f64 = 0.2;
/// Stiffness of sticking as a part of the normal one.
const STICK: f64 = 0.5;
/// Damping of sticking as a part of the critical one.
const STICK_DAMPING: f64 = 0.3;
/// Sum of weights from which on the other surface counts as fully there.
const FULL_COVER: f64 = 0.4;
/// Overlap at the start fades with this time constant [s], so that it is resolved gently.
const OVERLAP_TIME: f64 = 0.1;
/// Bodies that overlap by more than this part of the spacing at the start are reported.
const OVERLAP_LIMIT: f64 = 0.25;
/// Part of the stability limit of the contact springs that a step may use.
const STEP_FRACTION: f64 = 0.5;
/// Part of the contact distance that two bodies may approach in a step.
const TRAVEL_FRACTION: f64 = 0.25;
/// Active points per parallel task.
const CHUNK: usize = 64;

/// What contact needs to know of a body.
#[derive(Clone)]
pub struct ContactBody {
    /// Its points, consecutive.
    pub points: Range<usize>,
    /// Its shape in world space at the start.
    pub shape: Arc<dyn Shape>,
    /// Young's modulus [Pa].
    pub young: f64,
    /// Coulomb friction coefficient; of two bodies the geometric mean counts.
    pub friction: f64,
}

/// Two bodies that share space at the start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Overlap {
    /// One body.
    pub body_a: u32,
    /// The other, which comes later in the scene.
    pub body_b: u32,
    /// Deepest overlap [m].
    pub depth: f64,
    /// Number of points of both that overlap.
    pub points: usize,
}

/// One spring between two points, for implicit solvers: energy `stiffness/2 * gap_deficit²`; moving `i` along `normal`
/// or `j` against it reduces `gap_deficit`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairPenalty {
    /// Point that is pushed along the normal.
    pub i: u32,
    /// Point that is pushed back.
    pub j: u32,
    /// Unit direction of the push on `i`.
    pub normal: DVec3,
    /// Penetration [m].
    pub gap_deficit: f64,
    /// Stiffness [N/m].
    pub stiffness: f64,
}

/// Contact between the bodies of a world.
#[derive(Debug, Default)]
pub struct Bodies {
    /// Young's modulus and friction per body.
    materials: Vec<(f64, f64)>,
    skin: Skin,
    radii: Vec<f64>,
    /// Penetration of each skin point at the start [m].
    overlaps_at_start: Vec<f64>,
    overlaps: Vec<Overlap>,
    candidates: Candidates,
    /// How far each skin point was dragged since it sticks [m]. Written by `add_forces`, kept from step to step.
    drags: Vec<DVec3>,
    /// Per active point. Written by `find`.
    facets: Vec<Facets>,
    /// Per active point. Written by `find`.
    touches: Vec<Touch>,
    /// Force per active point [N]. Written by `add_forces`.
    forces: Vec<DVec3>,
    /// Torque that the pushes of each body's points lack [N m]. Written by `add_forces`.
    torques: Vec<DVec3>,
}

/// What an active point feels of the other bodies.
#[derive(Debug, Clone, Copy, Default)]
struct Touch {
    /// Push on the point, friction and damping included [N].
    force: DVec3,
    /// Direction of the push.
    normal: DVec3,
    /// One over the sum of its weights.
    inverse_cover: f64,
    /// Torque of the push and its reactions [N m].
    torque: DVec3,
    /// Penetration [m], 0 when it does not touch.
    depth: f64,
    /// Secant stiffness [N/m].
    stiffness: f64,
    /// Stored energy [J].
    energy: f64,
    /// How far the point was dragged since it sticks [m].
    drag: DVec3,
}

/// Two points as the first sees the second.
struct Pair {
    weight: f64,
    /// How far the surfaces of the two overlap along the normal [m].
    depth: f64,
    /// Normal of the second.
    normal: DVec3,
    /// From the first to the second [m].
    y: DVec3,
    /// Index of the second point.
    j: usize,
}

/// Weighted sums over the other surface near a point.
#[derive(Default)]
struct Surroundings {
    cover: f64,
    normal: DVec3,
    depth: f64,
    /// Σ w (x_j - x_i).
    center: DVec3,
    velocity: DVec3,
    spacing: f64,
    stiffness: f64,
    friction: f64,
}

impl Bodies {
    /// Looks at the bodies at the start of a world (`points.rest_positions`); bodies in the order of their points.
    pub fn new(points: &Points, bodies: &[ContactBody]) -> Self {
        let mut made = Self { radii: points.spacings.iter().map(|s| 0.5 * s).collect(), ..Self::default() };
        for (b, body) in bodies.iter().enumerate() {
            made.materials.push((body.young, body.friction));
            made.skin.add_body(points, body.points.clone(), b as u32, &*body.shape);
        }
        for s in 0..made.skin.len() {
            let depths = made.skin.rest_facets[s].iter().map(|(_, depth)| depth);
            made.radii[made.skin.points[s] as usize] = depths.fold(f64::INFINITY, f64::min);
        }
        made.overlaps = find_overlaps(points, bodies, &made.radii);
        made.overlaps_at_start = vec![0.0; made.skin.len()];
        made.drags = vec![DVec3::ZERO; made.skin.len()];
        if !made.overlaps.is_empty() {
            let at_start = Points { positions: points.rest_positions.clone(), ..points.clone() };
            made.find(&at_start, 0.0, 1.0);
            for (touch, &s) in made.touches.iter().zip(&made.candidates.active) {
                made.overlaps_at_start[s as usize] = touch.depth;
            }
            made.candidates = Candidates::default();
        }
        made
    }

    /// Contact radius of every point [m], also for `Colliders::set_radii`.
    pub fn radii(&self) -> &[f64] {
        &self.radii
    }

    /// Bodies that share space at the start.
    pub fn overlaps(&self) -> &[Overlap] {
        &self.overlaps
    }

    /// Changes Young's modulus [Pa] and the friction coefficient of a body.
    pub fn set_material(&mut self, body: usize, young: f64, friction: f64) {
        if let Some(material) = self.materials.get_mut(body) {
            *material = (young, friction);
        }
    }

    /// Adds the forces between bodies to `points.forces`, for a step of `dt` from `time` [s]. Once per step: friction
    /// remembers how far points were dragged.
    pub fn add_forces(&mut self, points: &mut Points, time: f64, dt: f64) {
        self.find(points, time, dt);
        self.drags.fill(DVec3::ZERO);
        if self.touches.iter().all(|t| t.depth <= 0.0) {
            return;
        }
        for (touch, &s) in self.touches.iter().zip(&self.candidates.active) {
            self.drags[s as usize] = touch.drag;
        }
        let mut forces = std::mem::take(&mut self.forces);
        forces.resize(self.touches.len(), DVec3::ZERO);
        let this = &*self;
        forces.par_iter_mut().enumerate().with_min_len(CHUNK).for_each(|(a, force)| {
            *force = this.touches[a].force;
            // The reactions of all that push against this point; the weights are the same seen from both ends.
            for &b in this.candidates.of(a) {
                let touch = &this.touches[b as usize];
                if touch.depth > 0.0 {
                    let weight = this.pair(points, a, b as usize).map_or(0.0, |p| p.weight);
                    *force -= weight * touch.inverse_cover * touch.force;
                }
            }
        });
        for (force, &s) in forces.iter().zip(&self.candidates.active) {
            points.forces[self.skin.points[s as usize] as usize] += *force;
        }
        self.forces = forces;
        self.balance_torques(points);
    }

    /// Gives each body the torque that its pushes lack, as if it were rigid: angular momentum is kept.
    fn balance_torques(&mut self, points: &mut Points) {
        self.torques.clear();
        self.torques.resize(self.materials.len(), DVec3::ZERO);
        for (touch, &s) in self.touches.iter().zip(&self.candidates.active) {
            self.torques[self.skin.bodies[s as usize] as usize] -= touch.torque;
        }
        let mut rest = &self.skin.points[..];
        for (body, torque) in self.torques.iter().enumerate() {
            let count = self.skin.bodies.partition_point(|&b| b as usize <= body);
            let own = rest.split_off(..count - (self.skin.len() - rest.len())).unwrap_or_default();
            if *torque != DVec3::ZERO {
                turn(points, own, *torque);
            }
        }
    }

    /// Looks for neighbors anew, so that what follows does not depend on when that was done last: at the start of a
    /// frame, after a restart, after going back.
    pub fn refresh(&mut self, points: &Points, time: f64) {
        self.candidates = Candidates::default();
        self.find(points, time, 1e-3);
    }

    /// Energy stored in contact at the last `add_forces` [J].
    pub fn energy(&self) -> f64 {
        self.touches.iter().map(|t| t.energy).sum()
    }

    /// What is kept from step to step, for restarts: how far each skin point was dragged since it sticks [m].
    pub fn state(&self) -> &[DVec3] {
        &self.drags
    }

    /// Puts back what `state` gave; a state of another world is ignored.
    pub fn set_state(&mut self, state: &[DVec3]) {
        if state.len() == self.drags.len() {
            self.drags.copy_from_slice(state);
        }
    }

    /// Number of points that touched another body at the last `add_forces`.
    pub fn touching(&self) -> usize {
        self.touches.iter().filter(|t| t.depth > 0.0).count()
    }

    /// Largest step that keeps the contacts of the last `add_forces` stable and lets nothing pass through [s].
    pub fn max_time_step(&self, points: &Points) -> f64 {
        let mut limit = self.max_travel_step(points);
        for (touch, i) in self.touches.iter().zip(self.active_points()).filter(|(t, _)| t.depth > 0.0) {
            // The tangent of p (1 + β p²/d²) is at most three times its secant; both sides push, hence 2.
            limit = limit.min(STEP_FRACTION * (points.masses[i] / (2.0 * touch.stiffness)).sqrt());
        }
        limit
    }

    /// Largest step in which bodies that are near each other do not pass through each other [s].
    pub fn max_travel_step(&self, points: &Points) -> f64 {
        let count = self.candidates.active.len().max(1) as f64;
        let mean = self.active_points().map(|i| points.velocities[i]).sum::<DVec3>() / count;
        let travel = |i: usize| {
            let speed = 2.0 * (points.velocities[i] - mean).length();
            TRAVEL_FRACTION * points.spacings[i] / speed
        };
        self.active_points().map(travel).fold(f64::INFINITY, f64::min)
    }

    fn active_points(&self) -> impl Iterator<Item = usize> + '_ {
        self.candidates.active.iter().map(|&s| self.skin.points[s as usize] as usize)
    }

    /// The springs that act at the last `add_forces`, in the order of points.
    pub fn penalties(&self, points: &Points, out: &mut Vec<PairPenalty>) {
        out.clear();
        let index = |a: usize| self.skin.points[self.candidates.active[a] as usize];
        for (a, touch) in self.touches.iter().enumerate().filter(|(_, t)| t.depth > 0.0) {
            for &b in self.candidates.of(a) {
                let Some(pair) = self.pair(points, a, b as usize) else { continue };
                out.push(PairPenalty {
                    i: index(a),
                    j: index(b as usize),
                    normal: touch.normal,
                    gap_deficit: touch.depth,
                    stiffness: pair.weight * touch.inverse_cover * touch.stiffness,
                });
            }
        }
    }

    /// Finds what every active point feels.
    fn find(&mut self, points: &Points, time: f64, dt: f64) {
        self.candidates.update(&self.skin, points);
        let mut facets = std::mem::take(&mut self.facets);
        facets.resize(self.candidates.active.len(), Facets::default());
        facets.par_iter_mut().enumerate().with_min_len(CHUNK).for_each(|(a, facets)| {
            *facets = self.skin.facets(self.candidates.active[a] as usize, &points.positions);
        });
        self.facets = facets;
        let mut touches = std::mem::take(&mut self.touches);
        touches.resize(self.candidates.active.len(), Touch::default());
        let fading = (-time / OVERLAP_TIME).exp();
        let this = &*self;
        touches.par_iter_mut().enumerate().with_min_len(CHUNK).for_each(|(a, touch)| {
            *touch = this.touch(points, a, fading, dt);
        });
        self.touches = touches;
    }

    /// How the active points a and b see each other; weight and facets are the same from both ends, to the bit.
    fn pair(&self, points: &Points, a: usize, b: usize) -> Option<Pair> {
        let index = |a: usize| self.skin.points[self.candidates.active[a] as usize] as usize;
        let (i, j) = (index(a), index(b));
        let spacing = 0.5 * (points.spacings[i] + points.spacings[j]);
        let y = points.positions[j] - points.positions[i];
        let q = y.length_squared() / (REACH * spacing).powi(2);
        if q >= 1.0 || q.is_nan() {
            return None;
        }
        let (here, there) = (&self.facets[a], &self.facets[b]);
        // Which facets face each other most; always asked in the same order.
        let (facing, f, g) = match a < b {
            true => here.facing(there)?,
            false => there.facing(here).map(|(facing, g, f)| (facing, f, g))?,
        };
        let beside = here.beside(f, y, spacing) * there.beside(g, -y, spacing);
        let weight = (1.0 - q) * (1.0 - q) * facing * beside;
        let depth = here.depths[f] + there.depths[g] + there.normals[g].dot(y);
        (weight > 0.0).then_some(Pair { weight, depth, normal: there.normals[g], y, j })
    }

    fn surroundings(&self, points: &Points, a: usize) -> Surroundings {
        let mut sum = Surroundings::default();
        let s = self.candidates.active[a] as usize;
        let i = self.skin.points[s] as usize;
        let (young, friction) = self.materials[self.skin.bodies[s] as usize];
        for &b in self.candidates.of(a) {
            let Some(Pair { weight: w, depth, normal, y, j }) = self.pair(points, a, b as usize) else { continue };
            let t = self.candidates.active[b as usize] as usize;
            let (other_young, other_friction) = self.materials[self.skin.bodies[t] as usize];
            sum.cover += w;
            sum.normal += w * normal;
            sum.depth += w * depth;
            sum.center += w * y;
            sum.velocity += w * points.velocities[j];
            sum.spacing += w * points.spacings[j];
            sum.stiffness += w * series(young * points.spacings[i], other_young * points.spacings[j]);
            sum.friction += w * (friction * other_friction).sqrt();
        }
        sum
    }

    fn touch(&self, points: &Points, a: usize, fading: f64, dt: f64) -> Touch {
        let sum = self.surroundings(points, a);
        let Some(normal) = sum.normal.try_normalize() else { return Touch::default() };
        let inverse_cover = 1.0 / sum.cover;
        let s = self.candidates.active[a] as usize;
        let i = self.skin.points[s] as usize;
        let range = 0.5 * (points.spacings[i] + sum.spacing * inverse_cover);
        let at_start = self.overlaps_at_start.get(s).map_or(0.0, |o| o * fading);
        let depth = (sum.depth * inverse_cover - at_start).min(range);
        if depth <= 0.0 {
            return Touch::default();
        }
        // At the rim of the other surface the force fades in, so that it has no jumps.
        let cover = (sum.cover / FULL_COVER).min(1.0);
        let cover = cover * cover * (3.0 - 2.0 * cover);
        let spring = 0.5 * cover * sum.stiffness * inverse_cover;
        let steep = STIFFENING * (depth / range).powi(2);
        let stiffness = spring * (1.0 + steep);
        let energy = 0.5 * spring * depth * depth * (1.0 + 0.5 * steep);
        // Normal damping never pulls.
        let mass = points.masses[i];
        let slip = points.velocities[i] - sum.velocity * inverse_cover;
        let leaving = slip.dot(normal);
        let damping = 2.0 * DAMPING * (stiffness * mass).sqrt();
        let push = (stiffness * depth - damping * leaving).max(0.0);
        let slide = slip - leaving * normal;
        let (friction, drag) = self.stick(s, normal, slide, [stiffness, mass, dt], sum.friction * inverse_cover * push);
        let force = push * normal + friction;
        let torque = force.cross(sum.center * inverse_cover);
        Touch { force, normal, inverse_cover, torque, depth, stiffness, energy, drag }
    }

    /// Friction force and the new drag of skin point `s`: a spring along the surface that slips at `limit` [N].
    fn stick(
        &self,
        s: usize,
        normal: DVec3,
        slide: DVec3,
        [stiffness, mass, dt]: [f64; 3],
        limit: f64,
    ) -> (DVec3, DVec3) {
        let spring = STICK * stiffness;
        let old = self.drags.get(s).copied().unwrap_or_default();
        let drag = old - normal * normal.dot(old) + slide * dt;
        let pull = spring * drag + 2.0 * STICK_DAMPING * (spring * mass).sqrt() * slide;
        let strength = pull.length();
        if strength <= limit {
            return (-pull, drag);
        }
        let direction = pull / strength;
        (-limit * direction, direction * (limit / spring))
    }
}

/// Adds forces that sum to zero and have the given torque, in proportion to mass and distance from the axis.
fn turn(points: &mut Points, own: &[u32], torque: DVec3) {
    let own = || own.iter().map(|&i| i as usize);
    let mass: f64 = own().map(|i| points.masses[i]).sum();
    let center = own().map(|i| points.masses[i] * points.positions[i]).sum::<DVec3>() / mass;
    let mut inertia = DMat3::ZERO;
    for i in own() {
        let r = points.positions[i] - center;
        let outer = DMat3::from_cols(r * r.x, r * r.y, r * r.z);
        inertia += (DMat3::from_diagonal(DVec3::splat(r.length_squared())) - outer) * points.masses[i];
    }
    let turn = inertia.inverse() * torque;
    if turn.is_finite() {
        for i in own() {
            points.forces[i] += points.masses[i] * turn.cross(points.positions[i] - center);
        }
    }
}

/// Two springs in a row, counted such that two equal ones give one of them.
fn series(a: f64, b: f64) -> f64 {
    2.0 * a * b / (a + b).max(f64::MIN_POSITIVE)
}

/// Pairs of bodies of which one holds matter of the other.
fn find_overlaps(points: &Points, bodies: &[ContactBody], radii: &[f64]) -> Vec<Overlap> {
    let mut found = Vec::new();
    for a in 0..bodies.len() {
        for b in a + 1..bodies.len() {
            let mut overlap = Overlap { body_a: a as u32, body_b: b as u32, depth: 0.0, points: 0 };
            count_overlap(points, &bodies[a], &*bodies[b].shape, radii, &mut overlap);
            count_overlap(points, &bodies[b], &*bodies[a].shape, radii, &mut overlap);
            if overlap.points > 0 {
                found.push(overlap);
            }
        }
    }
    found
}

fn count_overlap(points: &Points, body: &ContactBody, other: &dyn Shape, radii: &[f64], overlap: &mut Overlap) {
    let space = other.bounds();
    for i in body.points.clone() {
        let (p, near) = (points.rest_positions[i], space.grown(radii[i]));
        if !(p.cmpge(near.min).all() && p.cmple(near.max).all()) {
            continue;
        }
        let inside = radii[i] - other.distance(p);
        if inside > OVERLAP_LIMIT * points.spacings[i] {
            overlap.depth = overlap.depth.max(inside);
            overlap.points += 1;
        }
    }
}

#[cfg(test)]
#[path = "bodies_tests.rs"]
mod tests;
