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
//! along the surface that slips at μ times the normal force, so what rests stays. One body against itself is not handled,
//! nor are sheets against sheets (`models::shell` has its own way for both), and bodies that meet faster than about the wave speed of their matter may pass through each other.

use super::candidates::Candidates;
use super::grains::Grains;
use super::overlap::{Overlap, find_overlaps};
use super::skin::{Facets, Skin};
use super::touch::Touch;
use crate::geometry::Shape;
use crate::models::mls::implicit::PairPenalty;
use crate::points::Points;
use glam::{DMat3, DVec3};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Overlap at the start fades with this time constant [s], so that it is resolved gently.
const OVERLAP_TIME: f64 = 0.1;
/// Part of the stability limit of the contact springs that a step may use.
const STEP_FRACTION: f64 = 0.5;
/// Part of the spacing that two bodies that touch may approach in a step.
const TRAVEL_FRACTION: f64 = 0.25;
/// Part of the sliding velocity that friction may take away in an implicit step, per side.
const GRIP: f64 = 0.1;
/// Active points per parallel task.
const CHUNK: usize = 64;

/// What contact needs to know of a body.
#[derive(Clone)]
pub struct ContactBody {
    /// Its points, consecutive.
    pub points: Range<usize>,
    /// Its surface at the start.
    pub surface: ContactSurface,
    /// Young's modulus [Pa].
    pub young: f64,
    /// Coulomb friction coefficient; of two bodies the geometric mean counts.
    pub friction: f64,
}

/// The surface of a body at the start, in world space.
#[derive(Clone)]
pub enum ContactSurface {
    /// That of a solid.
    Solid(Arc<dyn Shape>),
    /// Both sides of a sheet: unit normals at its points, and half of its thickness [m].
    Sheet(Vec<DVec3>, f64),
}

/// Contact between the bodies of a world.
#[derive(Debug, Default)]
pub struct Bodies {
    /// Young's modulus and friction per body.
    pub(super) materials: Vec<(f64, f64)>,
    pub(super) skin: Skin,
    radii: Vec<f64>,
    /// Penetration of each skin point at the start [m].
    pub(super) overlaps_at_start: Vec<f64>,
    overlaps: Vec<Overlap>,
    pub(super) candidates: Candidates,
    /// How far each skin point, then each grain, was dragged since it sticks [m]. Written by `add_forces`, kept from step to step.
    pub(super) drags: Vec<DVec3>,
    /// Per active point. Written by `find`.
    pub(super) facets: Vec<Facets>,
    /// Per active point. Written by `find`.
    pub(super) touches: Vec<Touch>,
    /// Force on each active point without the reactions of others [N]. Written by the force phases.
    pushes: Vec<DVec3>,
    /// Force on each active point [N]. Written by the force phases.
    forces: Vec<DVec3>,
    /// Torque that the pushes of each body's points lack [N m]. Written by the force phases.
    pub(super) torques: Vec<DVec3>,
    /// Matter without a skin.
    pub(super) grains: Grains,
    /// Whether `touches` are those of the present state.
    pub(super) found: bool,
}

impl Bodies {
    /// Looks at the bodies at the start of a world (`points.rest_positions`); bodies in the order of their points.
    pub fn new(points: &Points, bodies: &[ContactBody]) -> Self {
        let mut made = Self { radii: points.spacings.iter().map(|s| 0.5 * s).collect(), ..Self::default() };
        for (b, body) in bodies.iter().enumerate() {
            made.materials.push((body.young, body.friction));
            match &body.surface {
                ContactSurface::Solid(shape) => made.skin.add_body(points, body.points.clone(), b as u32, &**shape),
                ContactSurface::Sheet(normals, half) => {
                    made.skin.add_sheet(points, body.points.clone(), b as u32, normals, *half);
                    made.candidates.add_sheet(b);
                }
            }
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
            made.find(&at_start, 0.0);
            for (touch, &s) in made.touches.iter().zip(&made.candidates.active) {
                made.overlaps_at_start[s as usize] = touch.depth.max(0.0);
            }
            made.candidates.forget();
            made.found = false;
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
            self.found = false;
        }
    }

    /// Takes a body out: its points neither push nor are pushed any more.
    pub fn exclude(&mut self, body: usize) {
        self.candidates.exclude(body, self.materials.len());
        self.forget_grains();
        self.found = false;
    }

    /// Says that a body is a lattice: lattices see each other particle by particle, not here.
    pub fn add_lattice(&mut self, body: usize) {
        self.candidates.add_lattice(body);
        self.forget_grains();
        self.found = false;
    }

    /// What is kept from step to step, for restarts: how far each skin point was dragged since it sticks [m].
    pub fn state(&self) -> &[DVec3] {
        &self.drags
    }

    /// Puts back what `state` gave, together with positions and velocities; a state of another world is ignored.
    pub fn set_state(&mut self, state: &[DVec3]) {
        self.found = false;
        if state.len() == self.drags.len() {
            self.drags.copy_from_slice(state);
        }
    }

    /// Finds contacts at the present state, at `time` [s], for `max_time_step` and the force phases; nothing depends on
    /// what was found before.
    pub fn prepare(&mut self, points: &Points, time: f64) {
        self.find(points, time);
    }

    /// As `prepare`, after positions and velocities were set from outside.
    pub fn refresh(&mut self, points: &Points, time: f64) {
        self.found = false;
        self.find(points, time);
    }

    /// Largest step that keeps the contacts last found stable and lets nothing pass through [s]; infinite when no
    /// bodies are near each other.
    pub fn max_time_step(&self, points: &Points) -> f64 {
        self.max_travel_step().min(self.stable_time_step(points)).min(self.grain_time_step(points))
    }

    /// Largest step in which bodies do not pass through each other [s]; the limit of implicit steps.
    pub fn max_travel_step(&self) -> f64 {
        self.candidates.meeting_time(TRAVEL_FRACTION)
    }

    /// Adds the forces between bodies to `points.forces`, for a step of `dt` from `time` [s]. Once per step: friction
    /// remembers how far points were dragged.
    pub fn add_forces(&mut self, points: &mut Points, time: f64, dt: f64) {
        self.find(points, time);
        self.found = false;
        self.drags.fill(DVec3::ZERO);
        self.pushes.clear();
        self.push_grains(points, dt);
        if self.touching() == 0 {
            return;
        }
        for (touch, &s) in self.touches.iter().zip(&self.candidates.active) {
            let (push, drag) = touch.push(dt);
            self.drags[s as usize] = drag;
            self.pushes.push(push);
        }
        self.spread(points);
    }

    /// For an implicit step of `dt` from `time` [s]: fills `out` with springs between points that touch or may touch
    /// within the step, and adds friction, which the springs do not know, to `points.forces`. Friction is viscous here.
    pub fn add_springs(&mut self, points: &mut Points, time: f64, dt: f64, out: &mut Vec<PairPenalty>) {
        self.find(points, time);
        self.found = false;
        self.drags.fill(DVec3::ZERO);
        out.clear();
        let index = |a: usize| self.skin.points[self.candidates.active[a] as usize] as usize;
        for (a, touch) in self.touches.iter().enumerate().filter(|(_, t)| t.inverse_cover > 0.0) {
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
        self.pushes.clear();
        self.pushes.extend(self.touches.iter().map(|touch| touch.viscous_friction(GRIP / dt)));
        self.spread(points);
    }

    /// Energy stored in contact at the last force phase [J].
    pub fn energy(&self) -> f64 {
        self.touches.iter().map(Touch::energy).sum::<f64>() + self.grain_energy()
    }

    /// Number of points that touched another body at the last force phase.
    pub fn touching(&self) -> usize {
        self.touches.iter().filter(|t| t.depth > 0.0).count()
    }

    /// Finds what every active point feels, unless that is known already.
    fn find(&mut self, points: &Points, time: f64) {
        if std::mem::replace(&mut self.found, true) || self.skin.body_count() < 2 {
            return;
        }
        self.candidates.update(&self.skin, points);
        self.candidates.measure(&self.skin, points);
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
            *touch = this.touch(points, a, fading);
        });
        self.touches = touches;
        self.find_grains(points, fading);
    }

    /// Step that keeps the springs of the present touches stable [s].
    fn stable_time_step(&self, points: &Points) -> f64 {
        let mut limit = f64::INFINITY;
        for (touch, &s) in self.touches.iter().zip(&self.candidates.active).filter(|(t, _)| t.depth > 0.0) {
            let mass = points.masses[self.skin.points[s as usize] as usize];
            // The tangent of p (1 + β p²/d²) is at most three times its secant; both sides push, hence 2.
            limit = limit.min(STEP_FRACTION * (mass / (2.0 * touch.stiffness)).sqrt());
        }
        limit
    }

    /// Adds the pushes and their reactions to the forces of the points.
    fn spread(&mut self, points: &mut Points) {
        let mut forces = std::mem::take(&mut self.forces);
        forces.resize(self.touches.len(), DVec3::ZERO);
        let this = &*self;
        forces.par_iter_mut().enumerate().with_min_len(CHUNK).for_each(|(a, force)| {
            *force = this.pushes[a];
            // The reactions of all that push against this point; the weights are the same seen from both ends.
            for &b in this.candidates.of(a) {
                let touch = &this.touches[b as usize];
                if touch.depth > 0.0 {
                    let weight = this.pair(points, a, b as usize).map_or(0.0, |p| p.weight);
                    *force -= weight * touch.inverse_cover * this.pushes[b as usize];
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
        for (a, &s) in self.candidates.active.iter().enumerate() {
            self.torques[self.skin.bodies[s as usize] as usize] -= self.pushes[a].cross(self.touches[a].center);
        }
        for (body, torque) in self.torques.iter().enumerate().filter(|(_, t)| **t != DVec3::ZERO) {
            turn(points, &self.skin.points[self.skin.range(body)], *torque);
        }
    }
}

/// Adds forces that sum to zero and have the given torque, in proportion to mass and distance from the axis.
pub(super) fn turn(points: &mut Points, own: &[u32], torque: DVec3) {
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

#[cfg(test)]
#[path = "bodies_tests.rs"]
mod tests;
