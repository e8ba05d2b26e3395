//! `EmbeddedModel`: all embedded bodies of a world.

use super::crowd::{Crowd, Member};
use super::embedding::Embedding;
use super::matter::Matter;
use super::part::{Flowed, Part};
use crate::contact::GrainMatter;
use crate::points::Points;
use crate::scene::MaterialSpec;
use glam::DVec3;
use std::ops::Range;

/// Steps between two renewals of the embedding.
const RENEWAL: u64 = 5;
/// Part of the time that a wave takes through two spacings that a step takes.
const STEP_SAFETY: f64 = 0.4;
/// Distance up to which matter hangs together in the world, in spacings.
const JOINED: f64 = 1.6;

/// One body to be moved by the model.
#[derive(Debug, Clone)]
pub struct EmbeddedBody {
    /// Number of the body in the world.
    pub body: usize,
    /// Its points in the table.
    pub range: Range<usize>,
    /// End of the places in the table that are kept for it.
    pub slots_end: usize,
    /// What it is made of.
    pub material: MaterialSpec,
}

/// All embedded bodies of a world.
#[derive(Debug, Clone, Default)]
pub struct EmbeddedModel {
    pub(super) parts: Vec<Part>,
    pub(super) crowd: Crowd,
    embedding: Embedding,
    /// Speed of sound that keeps the density of what has flowed [m/s].
    sound: f64,
    /// Whether any point has flowed.
    flows: bool,
    strain: f64,
    positions: Vec<DVec3>,
    forces: Vec<DVec3>,
    energies: Vec<f64>,
}

impl EmbeddedModel {
    /// The model of bodies whose points are in the table already; `sound` [m/s] keeps the density of what has flowed.
    pub fn new(bodies: &[EmbeddedBody], points: &Points, sound: f64) -> Self {
        let mut model = Self { sound, ..Self::default() };
        for body in bodies {
            let matter = Matter::new(&body.material, sound);
            let law = body.material.embedded.unwrap_or_default().law;
            let part = Part::new(body.body, body.range.clone(), model.len(), (matter, law), points);
            model.parts.push(Part { slots_end: body.slots_end, ..part });
        }
        model.find_members(points);
        model
    }

    /// Whether there is no embedded body.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.parts.iter().map(Part::len).sum()
    }

    /// Whether a body of the world is embedded.
    pub fn manages(&self, body: usize) -> bool {
        self.part(body).is_some()
    }

    /// The part of the model that is a body of the world.
    pub fn part(&self, body: usize) -> Option<&Part> {
        self.parts.iter().find(|p| p.body == body)
    }

    pub(crate) fn part_mut(&mut self, body: usize) -> Option<&mut Part> {
        self.parts.iter_mut().find(|p| p.body == body)
    }

    /// Finds again who is where among all points, after parts got more or fewer of them.
    pub(crate) fn renumber(&mut self, points: &Points) {
        let mut first = 0;
        for part in &mut self.parts {
            part.first = first;
            part.changes.clear();
            first += part.len();
        }
        self.find_members(points);
        self.crowd.renumber();
    }

    /// What the points of a body of the world are to bodies of other models, but for their friction: as stiff as what keeps
    /// their volume. None when it is not embedded.
    pub(crate) fn grain(&self, body: usize) -> Option<GrainMatter> {
        let matter = self.part(body)?.matter?;
        Some(GrainMatter { young: matter.pressure, friction: 0.0, viscosity: 0.0 })
    }

    /// The bodies.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Density over that of a full lattice at each point of the model, in the order of the parts, after a step in which matter flowed.
    pub fn densities(&self) -> &[f32] {
        &self.crowd.densities
    }

    fn find_members(&mut self, points: &Points) {
        self.crowd.members.clear();
        for (kind, part) in self.parts.iter().enumerate() {
            let Some(matter) = part.matter else { continue };
            self.crowd.members.extend(part.range.clone().map(|i| Member {
                volume: points.volumes[i] as f32,
                spacing: points.spacings[i] as f32,
                kind: kind as u32,
                pressure: 0.0,
                modulus: matter.pressure as f32,
                flowed: 0.0,
                rest: 1.0,
                thin: 0.0,
                viscosity: matter.viscosity as f32,
                mass: points.masses[i] as f32,
            }));
        }
        self.crowd.forget();
    }

    /// Takes over the changed material of a body and the masses of its points.
    pub fn set_material(&mut self, body: usize, material: &MaterialSpec, points: &Points) {
        if !self.manages(body) {
            return;
        }
        let sound = self.sound;
        self.parts.iter_mut().filter(|p| p.body == body).for_each(|p| p.set_matter(Matter::new(material, sound)));
        self.find_members(points);
    }

    /// Largest time step [s]; infinite without an embedded body.
    pub fn stable_time_step(&self) -> f64 {
        let step = |part: &Part| {
            let least = part.spacings.iter().copied().fold(f64::INFINITY, f64::min);
            part.matter.map_or(f64::INFINITY, |m| STEP_SAFETY * least / m.wave_speed())
        };
        self.parts.iter().map(step).fold(f64::INFINITY, f64::min)
    }

    /// Speed of the fastest wave [m/s].
    pub fn wave_speed(&self) -> f64 {
        self.parts.iter().filter_map(|p| p.matter).map(|m| m.wave_speed()).fold(0.0, f64::max)
    }

    /// Largest norm of the elastic Green strain at the last step.
    pub fn max_strain(&self) -> f64 {
        self.strain
    }

    /// Phase: deformation and flow over a step of `dt` [s]. Returns the work of the stress on the flow [J].
    pub fn deform(&mut self, points: &Points, dt: f64) -> f64 {
        let mut sum = Flowed::default();
        for part in &mut self.parts {
            let flowed = part.fit(points, dt);
            part.flows = flowed.any;
            part.flowed |= flowed.any;
            sum.dissipated += flowed.dissipated;
            sum.strain = sum.strain.max(flowed.strain);
        }
        self.strain = sum.strain;
        sum.dissipated
    }

    /// Energy that the pressure gains because points have flowed farther, or because what they are at rest has changed, since the last
    /// step [J].
    fn gained(&self) -> f64 {
        let mut sum = 0.0;
        for part in self.parts.iter().filter(|p| p.flowed && p.published.is_none()) {
            let points = part.first..part.first + part.len();
            let Some(densities) = self.crowd.densities.get(points.clone()) else { return 0.0 };
            for (k, (member, density)) in self.crowd.members[points].iter().zip(densities).enumerate() {
                let now = part.squeezable(k, member);
                if (now.pressure, now.rest) != (member.pressure, member.rest) {
                    sum += f64::from(now.squeezed(*density) - member.squeezed(*density));
                }
            }
        }
        sum
    }

    /// Phase: on every fifth step lets the embedded positions follow the flow; `deform` must have run at these positions. Returns the
    /// energy that came because more matter has flowed in this step, or has got thinner or thicker [J].
    pub fn renew_if_due(&mut self, points: &Points, step: u64) -> f64 {
        if !(step + 1).is_multiple_of(RENEWAL) {
            return self.gained();
        }
        self.renew(points);
        let mut gained = self.gained();
        for part in self.parts.iter().filter(|p| p.flowed && p.published.is_none()) {
            for (k, member) in self.crowd.members[part.first..part.first + part.len()].iter().enumerate() {
                let change = part.thinness(k) - member.thin;
                if change != 0.0 {
                    gained += f64::from(change) * self.crowd.hold_energy(part.first + k);
                }
            }
        }
        gained
    }

    /// Lets the embedded positions follow the flow.
    pub(super) fn renew(&mut self, points: &Points) {
        for part in &mut self.parts {
            part.renew(points, &mut self.embedding);
        }
    }

    /// Phase: adds the forces to the points; `deform` must have run at these positions.
    pub fn add_forces(&mut self, points: &mut Points) {
        self.gather(points);
        let mut forces = std::mem::take(&mut self.forces);
        forces.clear();
        forces.resize(self.len(), DVec3::ZERO);
        for part in &self.parts {
            let own = &mut forces[part.first..part.first + part.len()];
            part.add_forces(points, own);
            // What rounding leaves of their sum would drive the body: it is shared out by mass.
            let mass: f64 = points.masses[part.range.clone()].iter().sum();
            let left = own.iter().sum::<DVec3>() / mass;
            own.iter_mut().zip(&points.masses[part.range.clone()]).for_each(|(f, m)| *f -= left * *m);
        }
        if self.flows || self.parts.len() > 1 {
            self.crowd.add_forces(&self.positions, &mut forces);
        }
        self.parts.iter_mut().for_each(Part::end_published);
        for part in &self.parts {
            let own = &forces[part.first..part.first + part.len()];
            points.forces[part.range.clone()].iter_mut().zip(own).for_each(|(f, own)| *f += *own);
        }
        self.forces = forces;
    }

    /// Phase: viscosity over a step of `dt` [s] with number `step`.
    pub fn damp(&mut self, points: &mut Points, dt: f64, step: u64) {
        let mut velocities = std::mem::take(&mut self.forces);
        velocities.clear();
        for part in &self.parts {
            velocities.extend_from_slice(&points.velocities[part.range.clone()]);
        }
        // Those of the published method say nothing of their flow here.
        if let ([only], false) = (&self.parts[..], self.flows)
            && only.published.is_none()
        {
            self.crowd.take_lists(&only.stencils);
        }
        self.crowd.damp(&self.positions, &mut velocities, dt, step);
        for part in &self.parts {
            let own = &velocities[part.first..part.first + part.len()];
            points.velocities[part.range.clone()].copy_from_slice(own);
            points.velocities[part.range.end..part.slots_end].fill(DVec3::ZERO);
        }
        self.forces = velocities;
    }

    /// Positions, and how far each point has flowed.
    fn gather(&mut self, points: &Points) {
        self.positions.clear();
        self.flows = false;
        for part in &self.parts {
            self.positions.extend_from_slice(&points.positions[part.range.clone()]);
            if !part.flowed || part.published.is_some() {
                continue;
            }
            let members = &mut self.crowd.members[part.first..part.first + part.len()];
            for (k, member) in members.iter_mut().enumerate() {
                *member = part.squeezable(k, member);
                member.thin = part.thinness(k);
                self.flows |= member.flowed > 0.0;
            }
        }
    }

    /// Adds the energy of matter, control, pressure and repulsion at the present positions to that of each body of the world [J].
    pub fn add_energy(&mut self, points: &Points, per_body: &mut [f64]) {
        if self.is_empty() {
            return;
        }
        for part in &mut self.parts {
            per_body[part.body] += part.energy(points);
        }
        self.gather(points);
        if self.flows || self.parts.len() > 1 {
            let mut energies = std::mem::take(&mut self.energies);
            self.crowd.energies(&self.positions, &mut energies);
            for part in &self.parts {
                per_body[part.body] += energies[part.first..part.first + part.len()].iter().sum::<f64>();
            }
            self.energies = energies;
        }
    }

    /// Brings the densities up to the present positions.
    pub(super) fn find_densities(&mut self, points: &Points) {
        self.gather(points);
        if self.flows {
            self.crowd.look(&self.positions);
        }
    }

    /// Makes anew at the start of a frame what can be found again, so that nothing depends on what was before it.
    pub fn refresh(&mut self, points: &Points) {
        for part in &mut self.parts {
            part.changes.clear();
            match part.partial {
                true => part.rebuild(),
                false => part.find_crowding(),
            }
        }
        self.crowd.forget();
        self.crowd.densities.clear();
        self.find_densities(points);
    }

    /// Number of connected pieces of a body of the world; None when it is not embedded.
    pub fn count_pieces(&self, body: usize, points: &Points) -> Option<usize> {
        let part = self.part(body)?;
        let positions = &points.positions[part.range.clone()];
        let radii: Vec<f64> = part.spacings.iter().map(|a| JOINED * a).collect();
        let near = crate::neighbors::Neighborhoods::with_radii(positions, &radii);
        let neighbors = |i: usize| near.of(i).chain(part.stretched_neighbors(i, positions));
        Some(crate::measure::count_pieces(part.len(), neighbors))
    }
}
