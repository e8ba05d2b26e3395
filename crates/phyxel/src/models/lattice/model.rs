//! `LatticeModel`: all lattices of a world.

use super::bonds::{Around, Bonds};
use super::contact::{Contacts, Touching};
use super::damping::Damper;
use super::forces::{add_elastic, energies, fit, stable_time_step};
use super::implicit;
use super::lists::Lists;
use super::particles::{Matter, NOBODY, Particles, Phase};
use super::phases::Warmth;
use super::pieces::Pieces;
use super::sites::Sites;
use super::squeeze::Squeeze;
use super::volume::Volume;
use crate::contact::GrainMatter;
use crate::groups::Groups;
use crate::neighbors::Neighborhoods;
use crate::points::Points;
use crate::scene::MaterialSpec;
use glam::{DMat3, DVec3};
use rayon::prelude::*;
use std::ops::Range;

/// Part of the limit of stability that a step takes.
const STEP_SAFETY: f64 = 0.4;
/// Distance up to which liquid hangs together, in spacings.
const JOINED: f64 = 1.5;
/// Speed of sound with which other bodies stop liquid, over the highest speed expected, and the least of those [m/s].
const STOPPING: f64 = 5.0;
const LEAST_SPEED: f64 = 0.5;
/// Support of the liquid's kernel, in spacings.
const LIQUID_REACH: f64 = 1.8;

/// One body to be moved by the model.
#[derive(Debug, Clone)]
pub struct LatticeBody {
    /// Number of the body in the world.
    pub body: usize,
    /// Its points in the table.
    pub range: Range<usize>,
    /// What it is made of.
    pub material: MaterialSpec,
    /// Rotation of its lattice at the start.
    pub rotation: DMat3,
    /// Whether it is liquid at the start.
    pub liquid: bool,
}

/// All lattices of a world.
#[derive(Debug, Clone, Default)]
pub struct LatticeModel {
    pub(super) sites: Option<Sites>,
    pub(super) matters: Vec<Matter>,
    pub(super) particles: Particles,
    pub(super) bonds: Bonds,
    pub(super) lists: Lists,
    pub(super) contacts: Contacts,
    /// Forces of the model [N]. Written by `add_forces`.
    pub(super) forces: Vec<DVec3>,
    damper: Damper,
    pub(super) pieces: Pieces,
    squeeze: Squeeze,
    volume: Volume,
    /// Number of the body in the world and its particles.
    pub(super) parts: Vec<(usize, Range<usize>)>,
    pub(super) seed: u64,
    pub(super) energies: Vec<f64>,
    /// How far from melting the particles are; empty: they stay as they are. Written by `set_warmth`.
    pub(super) warmth: Vec<Warmth>,
    /// Whether that makes any particle change. Written by `set_warmth`.
    pub(super) changing: bool,
    /// Scratch of the liquid; its pressures are with the particles.
    pub(super) liquid: Option<Box<super::liquid::Liquid>>,
    pub(super) explicit_liquid: bool,
    /// Square of a speed at which liquid is stopped by other bodies within a part of a spacing [m²/s²].
    pub(super) stopping: f64,
    /// Present when solids are stepped implicitly.
    pub(super) implicit: Option<Box<super::implicit::Solver>>,
}

impl LatticeModel {
    /// The model of bodies whose points are in the table already.
    pub fn new(bodies: &[LatticeBody], sites: Option<Sites>, points: &Points, seed: u64) -> Self {
        let Some(sites) = sites else { return Self::default() };
        let mut model = Self { seed, ..Self::default() };
        for (kind, body) in bodies.iter().enumerate() {
            let first = model.particles.len();
            model.particles.add_body(points, body, kind as u32, &sites, seed);
            model.matters.push(Matter::new(&body.material, &sites));
            model.parts.push((body.body, first..model.particles.len()));
        }
        model.bonds = Bonds::new(model.particles.len(), &sites);
        model.forces = vec![DVec3::ZERO; model.particles.len()];
        model.lists.update(&model.particles.positions, reach(&sites), sites.spacing, |_| true);
        let Self { bonds, particles, lists, matters, .. } = &mut model;
        bonds.begin(&Around { sites: &sites, matters, particles, lists, seed, step: 0, dt: f64::INFINITY });
        model.sites = Some(sites);
        model.forget();
        model
    }

    /// Whether there is no lattice.
    pub fn is_empty(&self) -> bool {
        self.particles.is_empty()
    }

    /// Whether a body of the world is a lattice.
    pub fn manages(&self, body: usize) -> bool {
        self.part(body).is_some()
    }

    pub(super) fn part(&self, body: usize) -> Option<usize> {
        self.parts.iter().position(|(b, _)| *b == body)
    }

    /// The particles.
    pub fn particles(&self) -> &Particles {
        &self.particles
    }

    /// Their bonds.
    pub fn bonds(&self) -> &Bonds {
        &self.bonds
    }

    /// Takes note of how fast matter may come to be [m/s].
    pub(crate) fn expect_speed(&mut self, fastest: f64) {
        self.stopping = (STOPPING * fastest.max(LEAST_SPEED)).powi(2);
    }

    /// What a particle is made of as other bodies feel it.
    pub(crate) fn grain(&self, k: usize) -> GrainMatter {
        let matter = &self.matters[self.particles.kinds[k] as usize];
        let liquid = GrainMatter { young: matter.density * self.stopping, friction: 0.0, viscosity: matter.viscosity };
        let solid = GrainMatter { young: matter.young, friction: matter.friction, viscosity: 0.0 };
        match self.particles.phases[k] {
            Phase::Liquid => liquid,
            // What freezes or melts gets harder or softer bit by bit.
            _ => GrainMatter {
                young: solid
                    .young
                    .min(liquid.young + (solid.young - liquid.young).max(0.0) * self.particles.solidities[k]),
                ..solid
            },
        }
    }

    /// The lattice, if there is one.
    pub fn sites(&self) -> Option<&Sites> {
        self.sites.as_ref()
    }

    /// Takes over the changed material of a body and the masses of its points.
    pub fn set_material(&mut self, body: usize, material: &MaterialSpec, points: &Points) {
        let (Some(part), Some(sites)) = (self.part(body), &self.sites) else { return };
        self.matters[part] = Matter::new(material, sites);
        for k in self.parts[part].1.clone() {
            self.particles.masses[k] = points.masses[self.particles.members[k] as usize];
        }
    }

    /// Whether there are lattices and none of them can break or yield or has a Poisson's ratio.
    pub fn stays_whole(&self) -> bool {
        let whole = |m: &Matter| m.break_strain == f64::INFINITY && m.squeeze == 0.0 && m.lame == 0.0;
        !self.matters.is_empty() && self.matters.iter().all(whole)
    }

    /// Largest time step [s]; infinite without a lattice.
    pub fn stable_time_step(&self) -> f64 {
        let Some(sites) = &self.sites else { return f64::INFINITY };
        if self.implicit.is_some() {
            return if self.has_bound() { implicit::LONGEST } else { f64::INFINITY };
        }
        // What is all liquid has no bonds.
        let bound = |range: &Range<usize>| self.particles.phases[range.clone()].iter().any(|p| p.is_bound());
        let matters = self.matters.iter().zip(&self.parts).filter(|(_, (_, range))| bound(range));
        let steps = matters.map(|(m, _)| STEP_SAFETY * stable_time_step(m, sites));
        steps.fold(f64::INFINITY, f64::min)
    }

    /// Largest time step in which contact is seen in time [s]; infinite where steps are explicit.
    pub fn travel_time_step(&self, points: &Points) -> f64 {
        match (&self.implicit, &self.sites) {
            (Some(_), Some(sites)) => implicit::travel_step(&self.particles, points, sites),
            _ => f64::INFINITY,
        }
    }

    /// Phase: takes over the state, finds neighbors, settles bonds for a step of `dt` [s] with number `step`, turns rotations.
    pub fn prepare(&mut self, points: &Points, dt: f64, step: u64) {
        let Some(sites) = &self.sites else { return };
        self.particles.gather(points);
        // Liquid that stays liquid looks around by itself.
        if !self.has_bound() && !self.changing {
            return;
        }
        if let Some(solver) = &mut self.implicit {
            solver.remember(&self.particles);
        }
        // Liquid that does not freeze is nobody's neighbor here.
        let (phases, warmth) = (&self.particles.phases, &self.warmth);
        let wanted = |i: usize| phases[i].is_bound() || warmth.get(i).is_some_and(|w| w.freezes());
        let renewed = self.lists.update(&self.particles.positions, reach(sites), sites.spacing, wanted);
        let Self { bonds, particles, lists, matters, .. } = self;
        let changed = bonds.update(&Around { sites, matters, particles, lists, seed: self.seed, step, dt });
        if renewed || changed {
            let travel = if self.implicit.is_some() { 2.0 * implicit::TRAVEL * sites.spacing } else { 0.0 };
            self.contacts.find(particles, bonds, lists, sites, travel);
            self.pieces.find(particles, bonds);
        }
        fit(particles, bonds, sites);
    }

    /// Phase: adds the forces of a step of `dt` [s] to the points.
    pub fn add_forces(&mut self, points: &mut Points, dt: f64) {
        let (Some(sites), true) = (&self.sites, self.has_bound()) else { return };
        self.forces.fill(DVec3::ZERO);
        add_elastic(&self.particles, &self.bonds, sites, &self.matters, &mut self.forces);
        let touching = Touching { particles: &self.particles, sites, matters: &self.matters, dt };
        self.contacts.add_forces(&touching, &mut self.forces);
        if Volume::acts(&self.matters) {
            self.volume.find(&self.particles, &self.bonds, sites, &self.matters);
            self.volume.add_forces(&self.particles, &self.bonds, sites, &self.matters, &mut self.forces);
        }
        if Squeeze::acts(&self.matters) {
            self.squeeze.find(&self.particles, &self.lists, sites, &self.matters);
            self.squeeze.add_forces(&self.particles, &self.lists, sites, &self.matters, &mut self.forces);
        }
        for (force, &i) in self.forces.iter().zip(&self.particles.members) {
            points.forces[i as usize] += *force;
        }
    }

    /// Phase: local damping over a step of `dt` [s]; in the plane velocities stay in it.
    pub fn damp(&mut self, points: &mut Points, dt: f64) {
        let (Some(sites), true) = (&self.sites, self.has_bound()) else { return };
        self.particles.gather_velocities(points);
        if self.matters.iter().any(|m| m.damping > 0.0) {
            self.damper.damp(&mut self.particles, &self.bonds, sites, &self.matters, dt);
            self.pieces.damp(&mut self.particles, &self.matters, sites.dimensions, dt);
        }
        for (v, &i) in self.particles.velocities.iter().zip(&self.particles.members) {
            points.velocities[i as usize] = if sites.dimensions == 2 { v.with_z(0.0) } else { *v };
        }
    }

    /// Adds the energy of bonds and contact at the present positions to that of each body of the world [J].
    pub fn add_energy(&mut self, points: &Points, per_body: &mut [f64]) {
        let (Some(sites), true) = (&self.sites, self.has_bound()) else { return };
        self.particles.gather(points);
        // A look must not change what comes: rotations remember where they were.
        let kept = self.particles.rotations.clone();
        fit(&mut self.particles, &self.bonds, sites);
        energies(&self.particles, &self.bonds, sites, &self.matters, &mut self.energies);
        if Volume::acts(&self.matters) {
            self.volume.find(&self.particles, &self.bonds, sites, &self.matters);
            for (i, energy) in self.energies.iter_mut().enumerate() {
                *energy = self.volume.energy(i, *energy);
            }
        }
        if Squeeze::acts(&self.matters) {
            self.squeeze.find(&self.particles, &self.lists, sites, &self.matters);
            for (i, energy) in self.energies.iter_mut().enumerate() {
                *energy += self.squeeze.energy(i, &self.particles, sites, &self.matters);
            }
        }
        self.particles.rotations = kept;
        let contact = self.contacts.energies();
        for (body, range) in &self.parts {
            let own: f64 = self.energies[range.clone()].iter().sum();
            per_body[*body] += own + contact.get(range.clone()).map_or(0.0, |c| c.iter().sum());
        }
    }

    /// Writes the deformation gradients A R₀ᵀ of all particles.
    pub fn write_deformations(&mut self, points: &Points, out: &mut [DMat3]) {
        let Some(sites) = &self.sites else { return };
        self.particles.gather(points);
        let (particles, bonds) = (&self.particles, &self.bonds);
        let around =
            Around { sites, matters: &self.matters, particles, lists: &self.lists, seed: self.seed, step: 0, dt: 0.0 };
        let stretch = |i: usize| match particles.phases[i].is_bound() {
            true => around.stretch(i, bonds.of(i)) * particles.rest_rotations[i].transpose(),
            false => DMat3::IDENTITY,
        };
        let stretches: Vec<DMat3> = (0..particles.len()).into_par_iter().with_min_len(256).map(stretch).collect();
        for (stretch, &i) in stretches.iter().zip(&particles.members) {
            out[i as usize] = *stretch;
        }
    }

    /// Whether two points of the table, of matter that can break, are not bound to each other.
    pub(crate) fn is_broken(&self, points: [usize; 2]) -> bool {
        let [Ok(i), Ok(j)] = points.map(|p| self.particles.members.binary_search(&(p as u32))) else { return false };
        let brittle = self.matters[self.particles.kinds[i] as usize].break_strain < f64::INFINITY;
        brittle && !self.bonds.joins(i, j)
    }

    /// Whether any particle of a body of the world is not wholly solid.
    pub(crate) fn has_melted(&self, body: usize) -> bool {
        let own = self.part(body).map(|part| &self.particles.phases[self.parts[part].1.clone()]);
        own.is_some_and(|phases| phases.iter().any(|p| *p != Phase::Solid))
    }

    /// Whether a point of the table flows or begins to; false when it belongs to no lattice.
    pub(crate) fn is_melted(&self, point: usize) -> bool {
        let place = self.particles.members.binary_search(&(point as u32));
        place.is_ok_and(|k| matches!(self.particles.phases[k], Phase::Melting | Phase::Liquid))
    }

    /// Number of connected pieces of a body of the world; None when it is no lattice. Single particles count.
    pub fn count_pieces(&self, body: usize) -> Option<usize> {
        self.grouped(body).map(|groups| groups.count())
    }

    /// The connected pieces of a body of the world; None when it is no lattice. Solid particles hang together by bonds, liquid ones by
    /// nearness.
    pub(crate) fn grouped(&self, body: usize) -> Option<Groups> {
        let range = self.parts[self.part(body)?].1.clone();
        let reach = JOINED * self.sites.as_ref()?.spacing;
        let near = Neighborhoods::within_radius(&self.particles.positions[range.clone()], reach);
        let mut groups = Groups::new(range.len());
        for i in range.clone() {
            let own = i - range.start;
            for &j in self.bonds.of(i).iter().filter(|j| **j != NOBODY && range.contains(&(**j as usize))) {
                groups.unite(own as u32, j - range.start as u32);
            }
            if !self.particles.phases[i].is_bound() {
                near.of(own).for_each(|j| groups.unite(own as u32, j as u32));
            }
        }
        Some(groups)
    }
}

fn reach(sites: &Sites) -> f64 {
    sites.reach.max(LIQUID_REACH * sites.spacing)
}
