//! Matter that melts, flows, fuses, splits and freezes: part of a body may be solid and part melted.
//!
//! A body that is wholly solid and has never flowed stays in `MlsModel`. One that starts to flow is taken over, and each
//! of its points is solid (a stencil with rest vectors of its own, `bonds`) or melted (fitted to present positions,
//! `melt`). Pieces are found from who hangs together (`labels`), whatever body they came from.
//!
//! The model adds its forces to `points.forces`; the world integrates, collides and moves.

mod algebra;
mod answers;
mod bonds;
mod labels;
pub(crate) mod lanes;
#[cfg(test)]
mod literal;
mod melt;
mod packed;
mod pairs;
mod phases;
mod solid;
mod solid_pass;
#[cfg(test)]
mod solid_tests;
mod state;
#[cfg(test)]
mod tests;
mod travel;
mod walls;

use crate::contact::{Colliders, GrainMatter};
use crate::heat::stiffness_factor;
use crate::materials::ElasticLaw;
use crate::points::Points;
use crate::scene::MaterialSpec;
use glam::{DMat3, DVec3};
use lanes::{LANES, Row};
pub(crate) use melt::MeltMatter;
use melt::{Scale, Touching};
use packed::{Motion, Packed};
use pairs::{Cloud, Kind, Pairs, SUPPORT};
use rayon::prelude::*;
use solid::Solid;
use state::State;
use std::ops::Range;
pub(crate) use walls::bake as bake_walls;

/// Part of h / c that a step takes.
const COURANT: f64 = 0.2;
/// Part of the viscous limit that a step takes.
const VISCOUS: f64 = 0.75;
/// How much stiffer, and so how much thicker, melt is that has all but frozen.
const THICKENING: f64 = 4.0;
/// Strength of the damping along solid bonds: waves a few points long die within a few periods.
const BOND_DAMPING: f64 = 0.05;

/// All bodies that flow or have flowed.
#[derive(Default)]
pub struct FlowModel {
    bodies: Vec<FlowBody>,
    matters: Vec<MeltMatter>,
    sizes: Vec<f64>,
    /// Melted fraction of each point by its temperature; as its phase says where heat takes no part.
    fractions: Vec<f64>,
    scale: Scale,
    state: State,
    pairs: Pairs,
    near_walls: Vec<walls::Near>,
    packed: Packed,
    solid: Solid,
    forces: Vec<DVec3>,
    members: Vec<u32>,
}

/// What asks for short time steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Demand {
    /// The speed of a fall through the scene, which melt must withstand.
    Fall,
    /// The stiffness of the matter.
    Stiffness,
    /// Its viscosity.
    Viscosity,
}

/// One body as the flow sees it.
#[derive(Debug, Clone)]
struct FlowBody {
    range: Range<usize>,
    managed: bool,
    /// Whether it is a sheet: its points are too thin to be met as balls, contact between bodies does it.
    sheet: bool,
    /// Whether its temperature says how far it has melted.
    thermal: bool,
    law: ElasticLaw,
    /// Smallest spacing [m].
    smallest: f64,
}

impl FlowModel {
    /// Every body of the world as one that does not flow yet; `sound` is the speed of sound that keeps the density of the
    /// melt [m/s].
    pub(crate) fn new<'a>(
        points: &Points,
        bodies: impl Iterator<Item = (Range<usize>, ElasticLaw, &'a MaterialSpec)>,
        sound: f64,
    ) -> Self {
        let sizes: Vec<f64> = points.volumes.iter().map(|v| v.cbrt()).collect();
        let scale = Scale {
            unit: sizes.iter().copied().fold(f64::MIN_POSITIVE, f64::max),
            sound,
            full_density: melt::full_density(),
            near: melt::NEAR_STIFFNESS,
        };
        let mut model = Self { sizes, scale, ..Self::default() };
        for (range, law, material) in bodies {
            model.matters.push(MeltMatter::new(material));
            let smallest = model.sizes[range.clone()].iter().copied().fold(f64::INFINITY, f64::min);
            let (sheet, thermal) = (material.shell.is_some(), material.can_melt());
            model.bodies.push(FlowBody { range, managed: false, sheet, thermal, law, smallest });
        }
        model.state = State::new(points, model.bodies.len());
        model.fractions = vec![1.0; points.len()];
        model
    }

    /// What melted points of a body are to sheets, but for their friction.
    pub(crate) fn grain(&self, body: usize) -> GrainMatter {
        let matter = &self.matters[body];
        let young = matter.density * self.scale.sound * self.scale.sound;
        GrainMatter { young, friction: 0.0, viscosity: matter.viscosity }
    }

    /// Whether any body is in its care.
    pub fn is_active(&self) -> bool {
        self.bodies.iter().any(|b| b.managed)
    }

    /// Whether the body is in its care.
    pub fn manages(&self, body: usize) -> bool {
        self.bodies.get(body).is_some_and(|b| b.managed)
    }

    /// Whether a point is melted.
    pub fn is_melted(&self, point: usize) -> bool {
        self.state.kinds.get(point) == Some(&Kind::Melted)
    }

    /// Whether the body is in its care and part of it is melted.
    pub(crate) fn has_melt(&self, body: usize) -> bool {
        self.manages(body) && self.state.kinds[self.bodies[body].range.clone()].contains(&Kind::Melted)
    }

    /// Largest time step [s]; infinite when it manages nothing.
    pub(crate) fn stable_time_step(&self) -> f64 {
        let mut limit = f64::INFINITY;
        // Pieces that may touch push each other as stiffly as melt resists.
        let touches = self.state.labels.windows(2).any(|l| l[0] != l[1]);
        for (b, body) in self.bodies.iter().enumerate().filter(|(_, b)| b.managed) {
            let matter = &self.matters[b];
            if touches || self.has_melt(b) {
                limit = self.melt_time_steps(b).iter().fold(limit, |m, (step, _)| m.min(*step));
            }
            if self.has_solid(body) {
                let h = SUPPORT * body.smallest;
                let wave = (body.law.longitudinal_modulus() / matter.density).sqrt();
                limit = limit.min(COURANT * h / wave).min(self.state.solid_steps[b]);
            }
        }
        limit
    }

    /// Largest time steps of a body once it is melted [s], and what asks for them.
    pub(crate) fn melt_time_steps(&self, body: usize) -> [(f64, Demand); 3] {
        let matter = &self.matters[body];
        let h = SUPPORT * self.bodies[body].smallest;
        let stored = ((matter.lambda + 2.0 * matter.mu) / matter.density).sqrt();
        let viscous = VISCOUS * matter.density * h * h / (15.0 * matter.viscosity).max(f64::MIN_POSITIVE);
        [
            (COURANT * h / self.scale.sound, Demand::Fall),
            (COURANT * h / stored, Demand::Stiffness),
            (viscous, Demand::Viscosity),
        ]
    }

    /// Takes over how far each point has melted by its temperature; returns the stored energy that this adds, as of the
    /// last forces [J].
    pub(crate) fn set_melted_fractions(&mut self, points: &Points, fraction: impl Fn(usize) -> f64) -> f64 {
        let mut added = 0.0;
        for (b, body) in self.bodies.iter().enumerate().filter(|(_, b)| b.managed) {
            let ratio = softest(&body.law, &self.matters[b]);
            for i in body.range.clone() {
                let solid = self.state.kinds[i] == Kind::Solid;
                let new = if body.thermal { fraction(i) } else { f64::from(u8::from(!solid)) };
                let old = std::mem::replace(&mut self.fractions[i], new);
                if old == new {
                    continue;
                }
                let melt = melt::strain_energy(&self.matters[b], self.state.strains[i]) * points.volumes[i];
                added += melt * (thickness(new) - thickness(old));
                let stored = self.solid.deformed(i).energy;
                added += stored * (stiffness_factor(new, ratio) / stiffness_factor(old, ratio) - 1.0);
            }
        }
        added
    }

    fn has_solid(&self, body: &FlowBody) -> bool {
        self.state.kinds[body.range.clone()].contains(&Kind::Solid)
    }

    /// Forgets lists, so that nothing depends on when they were built.
    pub(crate) fn refresh(&mut self) {
        self.pairs.clear();
    }

    /// Phase: finds lists and pieces anew when they are too old.
    pub(crate) fn find_pairs(&mut self, points: &Points, colliders: &Colliders) {
        if !self.is_active() || !self.pairs.are_stale(&points.positions) {
            return;
        }
        self.build_pairs(points);
        labels::find_labels(&mut self.state.labels, &self.pairs, &self.state.stencils);
        self.near_walls = walls::find_near(&self.pairs, &points.positions, colliders);
        if !self.pairs.any_flows() {
            // Where nothing flows no strain of a melt stencil is left.
            self.state.strains.fill(DMat3::ZERO);
        }
    }

    /// Phase, after `find_pairs`: fits melt stencils to where the points are, and brings the stored strains there.
    pub(crate) fn fit(&mut self, points: &Points, colliders: &Colliders) {
        if self.is_active() && self.pairs.any_flows() {
            self.load(points, colliders);
            self.packed.fit(&self.pairs.blocks, &self.scale, self.state.last_step);
            self.keep_strains();
        }
    }

    /// Phase, after `fit`: adds all internal forces of managed bodies and their contacts with others to `points.forces` for
    /// a step of `dt` [s]. `impulses` gets what walls give, per collider [N s]; returns the work of walls that move [J].
    pub(crate) fn add_forces(
        &mut self,
        points: &mut Points,
        colliders: &Colliders,
        dt: f64,
        impulses: &mut [DVec3],
    ) -> f64 {
        if !self.is_active() {
            return 0.0;
        }
        self.evaluate_solid(points);
        self.gather(points);
        let work = self.push_from_walls(points, colliders, dt, impulses);
        self.state.last_step = dt;
        self.pairs.grow_older();
        work
    }

    fn build_pairs(&mut self, points: &Points) {
        self.find_members(points);
        let stencils = &self.state.stencils;
        let bonded = |i: u32, j: u32| stencils[i as usize].bonds.iter().any(|b| b.to == j);
        let cloud = Cloud {
            positions: &points.positions,
            sizes: &self.sizes,
            kinds: &self.state.kinds,
            labels: &self.state.labels,
            bonded: &bonded,
        };
        self.pairs.build(&cloud, &self.members);
    }

    /// Managed points, and those of other bodies that are near enough to be touched soon.
    fn find_members(&mut self, points: &Points) {
        let managed = || self.bodies.iter().filter(|b| b.managed).flat_map(|b| b.range.clone());
        let largest = managed().map(|i| self.sizes[i]).fold(0.0, f64::max);
        let around = crate::geometry::Bounds::of(managed().map(|i| points.positions[i])).grown(2.0 * largest);
        let mut members = std::mem::take(&mut self.members);
        members.clear();
        for body in &self.bodies {
            let near = |i: &usize| body.managed || (!body.sheet && around.contains(points.positions[*i]));
            members.extend(body.range.clone().filter(near).map(|i| i as u32));
        }
        self.members = members;
    }

    /// Packs positions, velocities, strains and constants of all slots.
    fn load(&mut self, points: &Points, colliders: &Colliders) {
        let (pairs, strains, fractions, scale) = (&self.pairs, &self.state.strains, &self.fractions, self.scale);
        self.packed.load(pairs.points.len(), &scale, |s| {
            let i = pairs.points[s] as usize;
            let (position, velocity) = (points.positions[i], points.velocities[i]);
            Motion { position, velocity, volume: points.volumes[i], size: pairs.sizes[s] }
        });
        let dt = self.state.last_step;
        let matters: Vec<_> = self.matters.iter().map(|m| (m, (-m.creep * dt).exp() as f32)).collect();
        let blocks = self.packed.constants.par_iter_mut().zip(&mut self.packed.fitted);
        blocks.enumerate().with_min_len(pairs::CHUNK / LANES).for_each(|(block, (constants, fitted))| {
            for (l, &i) in pairs.points[block * LANES..].iter().take(LANES).enumerate() {
                let (i, s) = (i as usize, block * LANES + l);
                let (matter, kept) = matters[points.bodies[i] as usize];
                constants.set(l, pairs.kinds[s], matter, &scale, points.volumes[i], pairs.sizes[s]);
                constants.kept.0[l] = kept;
                let thick = thickness(fractions[i]) as f32;
                constants.lambda.0[l] *= thick;
                constants.mu.0[l] *= thick;
                let e = &strains[i];
                let parts = [e.x_axis.x, e.x_axis.y, e.x_axis.z, e.y_axis.y, e.y_axis.z, e.z_axis.z];
                for (row, part) in fitted.strain.iter_mut().zip(parts) {
                    row.0[l] = part as f32;
                }
            }
        });
        let constants = &mut self.packed.constants;
        let walls = &mut self.near_walls;
        walls::feel(walls, pairs, &points.positions, colliders, scale.full_density, |s, density, side| {
            let (constants, l) = (&mut constants[s / LANES], s % LANES);
            constants.wall.0[l] += density as f32;
            for (row, g) in constants.wall_side.iter_mut().zip(side.to_array()) {
                row.0[l] += g as f32;
            }
        });
    }

    /// Stored strains, brought to the present by the velocities that brought the points here.
    fn keep_strains(&mut self) {
        for (s, &i) in self.pairs.points.iter().enumerate() {
            let rows = &self.packed.fitted[s / LANES].strain;
            let [xx, xy, xz, yy, yz, zz] = rows.map(|Row(lanes)| f64::from(lanes[s % LANES]));
            self.state.strains[i as usize] = DMat3::from_cols_array(&[xx, xy, xz, xy, yy, yz, xz, yz, zz]);
        }
    }

    /// Adds up the forces of every point.
    fn gather(&mut self, points: &mut Points) {
        let mut forces = std::mem::take(&mut self.forces);
        forces.clear();
        forces.resize(self.pairs.points.len(), DVec3::ZERO);
        if self.pairs.any_flows() {
            self.packed.forces(&self.pairs.blocks, &self.scale, &mut forces);
        }
        let (solid, pairs) = (&self.solid, &self.pairs);
        let touching = |s: usize| {
            let i = pairs.points[s] as usize;
            let density = self.matters[points.bodies[i] as usize].density;
            Touching { position: points.positions[i], velocity: points.velocities[i], size: pairs.sizes[s], density }
        };
        forces.par_iter_mut().enumerate().with_min_len(pairs::CHUNK).for_each(|(s, force)| {
            for &t in pairs.apart_of(s) {
                *force += melt::push(&self.scale, &touching(s), &touching(t as usize));
            }
            *force += solid.force(pairs.points[s] as usize);
        });
        for (force, &i) in forces.iter().zip(&self.pairs.points) {
            points.forces[i as usize] += *force;
        }
        self.forces = forces;
    }

    /// Pressure of the walls on the melt; returns the work of walls that move [J].
    fn push_from_walls(&self, points: &mut Points, colliders: &Colliders, dt: f64, impulses: &mut [DVec3]) -> f64 {
        let mut work = 0.0;
        for near in &self.near_walls {
            let s = near.slot as usize;
            let i = self.pairs.points[s] as usize;
            let (pressure, open) = (self.packed.pressure(s), self.packed.open(s, &self.scale));
            let size = self.pairs.sizes[s];
            let force = walls::push(near, points.volumes[i], size, pressure, self.scale.full_density, open);
            points.forces[i] += force;
            impulses[near.collider as usize] += force * dt;
            work += dt * force.dot(colliders.list[near.collider as usize].velocity_at(points.positions[i]));
        }
        work
    }
}

/// How much stiffer melt is than hot melt at a melted fraction.
fn thickness(fraction: f64) -> f64 {
    if fraction < 1.0 { THICKENING.powf(1.0 - fraction) } else { 1.0 }
}

/// Stiffness of a solid that is all but melted, over that of the cold one.
fn softest(law: &ElasticLaw, melt: &MeltMatter) -> f64 {
    ((melt.lambda + 2.0 * melt.mu) / law.longitudinal_modulus()).clamp(1e-6, 1.0)
}

impl MeltMatter {
    /// The constants of a scene's material: of the flowing material itself, or of its melt.
    pub(crate) fn new(material: &MaterialSpec) -> Self {
        let (young, creep) = match material.flows() {
            true => (material.young, material.creep),
            false => (material.melt_young, material.melt_creep),
        };
        let poisson = material.poisson;
        Self {
            lambda: young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson)),
            mu: young / (2.0 * (1.0 + poisson)),
            creep,
            viscosity: material.viscosity,
            cohesion: material.cohesion,
            density: material.density,
        }
    }
}
