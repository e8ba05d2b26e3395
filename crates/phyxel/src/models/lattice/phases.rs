//! Melting and freezing: particles let go of the lattice, and join that of solid ones beside them.
//!
//! Rates of [WHP06] eqs. 15, 16 with every factor clamped by itself. Freezing differs: a cold liquid particle is drawn to the vacant site that
//! its solid neighbors agree on, and joins their lattice only there, so that the crystal grows layer by layer and nearly free of
//! stress; what it is drawn with the solid loses.

use super::LatticeModel;
use super::bonds::OPEN;
use super::forces::energies;
use super::particles::{NOBODY, Phase};
use super::sites::{NO_SLOT, Sites};
use crate::points::Points;
use crate::random::{Random, mix};
use glam::{DMat3, DVec3};
use rayon::prelude::*;

/// Time in which a particle lets go or takes hold [s].
const TRANSITION: f64 = 0.05;
/// Solid neighbors are looked for within this many spacings.
const NEAR: f64 = 1.5;
/// A site is proposed to a particle within this many spacings of it ...
const DRAWN: f64 = 0.5;
/// ... and is vacant when nothing solid lies within this many.
const VACANT: f64 = 0.6;
/// Distance from its site within which a particle freezes, in spacings, just below the melting temperature ...
const TOLERANCE: f64 = 0.2;
/// ... and far below it: what is quenched freezes with more faults.
const LOOSE_TOLERANCE: f64 = 0.4;
/// Kelvins that are far below.
const QUENCHED: f64 = 50.0;
/// Solid neighbors that must agree on a site; one is enough half way to `QUENCHED`.
const AGREED: u32 = 2;
/// Rate at which cold liquid is drawn to its site and comes to rest there [1/s].
const DRAW: f64 = 20.0;
/// Speed against the solid up to which freezing is as fast as can be [m/s] ...
const CALM: f64 = 0.3;
/// ... and misfit, in spacings of the stiffness.
const SLACK: f64 = 0.3;
/// Kelvins that an event is worth.
const FORCED: f64 = 50.0;
/// Rate of freezing alone of what must freeze [1/(s K)].
const FORCED_NUCLEATION: f64 = 0.02;
/// What phase changes are drawn for.
const CHANGES: u64 = 0x5048_4153;
/// Particles per parallel task.
const CHUNK: usize = 256;

/// How far from melting a particle is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Warmth {
    /// Kelvins above the melting temperature, or below it.
    Heat(f64),
    /// Must melt, or must freeze.
    Must(Phase),
    /// Stays as it is.
    Stays,
}

impl Warmth {
    /// Whether it makes a liquid particle freeze where it can.
    pub fn freezes(self) -> bool {
        match self {
            Self::Heat(above) => above < 0.0,
            Self::Must(phase) => phase == Phase::Solid,
            Self::Stays => false,
        }
    }
}

/// The site that solid neighbors propose to a liquid particle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Site {
    /// Mean of the proposed places [m].
    pub target: DVec3,
    /// Neighbors that propose it.
    pub agreed: u32,
    /// Solid neighbors at all.
    pub solid: u32,
    /// The neighbor whose lattice fits best.
    pub best: usize,
    /// Sum of w (g - p) over the proposals, which the solid would pull with [m].
    pub pull: DVec3,
    /// Mean velocity of the solid neighbors [m/s].
    pub velocity: DVec3,
}

/// A solid particle as a liquid one sees it.
#[derive(Debug, Clone, Copy)]
pub struct SolidNeighbor {
    /// Its number.
    pub index: usize,
    /// [m].
    pub position: DVec3,
    /// [m/s].
    pub velocity: DVec3,
    /// Rotation of its lattice.
    pub rotation: DMat3,
}

/// Finds the site for a particle at `p` among solid neighbors; `solids` must hold all within 1.5 + 0.6 spacings.
pub fn find_site(p: DVec3, solids: &[SolidNeighbor], sites: &Sites) -> Option<Site> {
    let (mut total, mut sum, mut velocity) = (0.0, DVec3::ZERO, DVec3::ZERO);
    let mut site = Site { target: p, agreed: 0, solid: 0, best: 0, pull: DVec3::ZERO, velocity: DVec3::ZERO };
    let mut best = f64::INFINITY;
    for solid in solids {
        let away = p - solid.position;
        if away.length() >= NEAR * sites.spacing {
            continue;
        }
        site.solid += 1;
        velocity += solid.velocity;
        let s = sites.nearest(solid.rotation.transpose() * away);
        if s == NO_SLOT {
            continue;
        }
        let slot = sites.slots[usize::from(s)];
        let place = solid.position + solid.rotation * slot;
        let misfit = p.distance(place);
        let taken = |other: &SolidNeighbor| other.position.distance(place) < VACANT * sites.spacing;
        if misfit >= DRAWN * sites.spacing || solids.iter().any(taken) {
            continue;
        }
        let weight = sites.weights[usize::from(s)];
        site.agreed += 1;
        site.pull += weight * (place - p);
        total += weight;
        sum += weight * place;
        if misfit < best {
            (best, site.best) = (misfit, solid.index);
        }
    }
    if site.agreed > 0 {
        site.target = sum / total;
    }
    site.velocity = velocity / f64::from(site.solid.max(1));
    (site.solid > 0).then_some(site)
}

/// Rate of melting at a temperature above the melting one [1/s], [WHP06] eq. 15.
pub fn melting_rate(coefficient: f64, above: f64) -> f64 {
    (coefficient * above).max(0.0)
}

/// What [WHP06] eq. 16 asks of a liquid particle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cold {
    /// Kelvins below the freezing temperature.
    pub below: f64,
    /// Solid neighbors, and how many are needed.
    pub neighbors: [f64; 2],
    /// Speed against them and that up to which freezing is as fast as can be [m/s].
    pub speeds: [f64; 2],
    /// Force they would pull with, and that up to which freezing is as fast as can be [N].
    pub forces: [f64; 2],
}

/// Rate of freezing [1/s], [WHP06] eq. 16 with each factor clamped by itself.
pub fn freezing_rate(coefficient: f64, cold: &Cold) -> f64 {
    let [found, needed] = cold.neighbors;
    if found < needed {
        return 0.0;
    }
    let at_most_one = |[is, most]: [f64; 2]| if is > most { most / is } else { 1.0 };
    let joined = (found - needed + 1.0).max(0.0);
    coefficient * cold.below.max(0.0) * joined * at_most_one(cold.speeds) * at_most_one(cold.forces)
}

/// What a cold liquid particle does.
struct Drawn {
    particle: usize,
    site: Option<Site>,
    freezes: bool,
}

impl LatticeModel {
    /// Tells how warm the particles are; `of` gets the index in the table of points.
    pub(crate) fn set_warmth(&mut self, of: impl Fn(usize) -> Warmth) {
        self.warmth.clear();
        self.warmth.extend(self.particles.members.iter().map(|&i| of(i as usize)));
        let calm = |(w, p): (&Warmth, &Phase)| match (*w, *p) {
            (Warmth::Stays, p) => matches!(p, Phase::Solid | Phase::Liquid),
            (Warmth::Heat(above), Phase::Solid) => above <= 0.0,
            (Warmth::Heat(above), Phase::Liquid) => above >= 0.0,
            (Warmth::Must(wanted), p) => wanted == p,
            _ => false,
        };
        self.changing = !self.warmth.iter().zip(&self.particles.phases).all(calm);
    }

    /// Phase: melts and freezes over a step of `dt` [s]; returns the energy that this puts in [J].
    pub(crate) fn change_phases(&mut self, points: &mut Points, dt: f64, step: u64) -> f64 {
        let turning = |p: &Phase| matches!(p, Phase::Melting | Phase::Freezing);
        if self.sites.is_none() || !(self.changing || self.particles.phases.iter().any(turning)) {
            return 0.0;
        }
        self.particles.gather(points);
        let before = self.bond_energy();
        self.melt(dt, step);
        let drawn = self.find_drawn(dt, step);
        let kinetic = self.draw(points, &drawn, dt);
        for one in drawn.iter().filter(|d| d.freezes) {
            self.freeze(one);
        }
        self.bond_energy() - before + kinetic
    }

    fn bond_energy(&mut self) -> f64 {
        let Some(sites) = &self.sites else { return 0.0 };
        energies(&self.particles, &self.bonds, sites, &self.matters, &mut self.energies);
        self.energies.iter().sum()
    }

    /// A number from 0 to 1 for a particle in a step.
    fn draw_number(&self, i: usize, step: u64) -> f64 {
        Random::new(mix(mix(self.seed, CHANGES), step), u64::from(self.particles.ids[i])).unit()
    }

    fn warmth_of(&self, i: usize) -> Warmth {
        self.warmth.get(i).copied().unwrap_or(Warmth::Stays)
    }

    /// Solid particles begin to melt, melting and freezing ones go on.
    fn melt(&mut self, dt: f64, step: u64) {
        for i in 0..self.particles.len() {
            let solidity = self.particles.solidities[i];
            match self.particles.phases[i] {
                Phase::Solid => {
                    let rate = match self.warmth_of(i) {
                        Warmth::Heat(above) => {
                            melting_rate(self.matters[self.particles.kinds[i] as usize].rates[0], above)
                        }
                        Warmth::Must(Phase::Liquid) => f64::INFINITY,
                        _ => 0.0,
                    };
                    if rate > 0.0 && self.draw_number(i, step) < 1.0 - (-rate * dt).exp() {
                        self.particles.phases[i] = Phase::Melting;
                    }
                }
                Phase::Melting => {
                    self.particles.solidities[i] = (solidity - dt / TRANSITION).max(0.0);
                    if self.particles.solidities[i] == 0.0 {
                        self.particles.phases[i] = Phase::Liquid;
                        self.bonds.cracked[i] = false;
                    }
                }
                Phase::Freezing => {
                    self.particles.solidities[i] = (solidity + dt / TRANSITION).min(1.0);
                    if self.particles.solidities[i] == 1.0 {
                        self.particles.phases[i] = Phase::Solid;
                    }
                }
                Phase::Liquid => {}
            }
        }
    }

    /// What the cold liquid particles do in this step.
    fn find_drawn(&self, dt: f64, step: u64) -> Vec<Drawn> {
        let look = |i: usize| self.look(i, dt, step);
        let chunks = 0..self.particles.len().div_ceil(CHUNK);
        let rows: Vec<Vec<Drawn>> = chunks
            .into_par_iter()
            .map(|c| (c * CHUNK..((c + 1) * CHUNK).min(self.particles.len())).filter_map(look).collect())
            .collect();
        rows.into_iter().flatten().collect()
    }

    fn look(&self, i: usize, dt: f64, step: u64) -> Option<Drawn> {
        let (particles, sites) = (&self.particles, self.sites.as_ref()?);
        if particles.phases[i] != Phase::Liquid {
            return None;
        }
        let (below, must) = match self.warmth_of(i) {
            Warmth::Heat(above) if above < 0.0 => (-above, false),
            Warmth::Must(Phase::Solid) => (FORCED, true),
            _ => return None,
        };
        let matter = &self.matters[particles.kinds[i] as usize];
        let solid =
            |&&j: &&u32| particles.phases[j as usize].is_bound() && particles.phases[j as usize] != Phase::Melting;
        let seen = |&j: &u32| SolidNeighbor {
            index: j as usize,
            position: particles.positions[j as usize],
            velocity: particles.velocities[j as usize],
            rotation: particles.rotations[j as usize],
        };
        let solids: Vec<SolidNeighbor> = self.lists.of(i).iter().filter(solid).map(seen).collect();
        let site = find_site(particles.positions[i], &solids, sites);
        let agreed = if below < 0.5 * QUENCHED { AGREED } else { 1 };
        let alone = if must { FORCED_NUCLEATION.max(matter.rates[2]) } else { matter.rates[2] };
        let rate = match &site {
            None => alone * below,
            Some(site) => {
                let tolerance = TOLERANCE + (LOOSE_TOLERANCE - TOLERANCE) * (below / QUENCHED).min(1.0);
                let misfit = particles.positions[i].distance(site.target);
                let fits = site.agreed >= agreed && misfit < tolerance * sites.spacing;
                let cold = Cold {
                    below,
                    neighbors: [f64::from(site.solid), 1.0],
                    speeds: [(particles.velocities[i] - site.velocity).length(), CALM],
                    forces: [site.pull.length(), SLACK * sites.spacing],
                };
                if fits { freezing_rate(matter.rates[1], &cold) } else { 0.0 }
            }
        };
        let freezes = rate > 0.0 && self.draw_number(i, step) < 1.0 - (-rate * dt).exp();
        let drawn = site.filter(|s| s.agreed >= agreed);
        (freezes || drawn.is_some()).then_some(Drawn { particle: i, site: drawn, freezes })
    }

    /// Draws particles to their sites; the solid gets the opposite. Returns the change of kinetic energy [J].
    fn draw(&mut self, points: &mut Points, drawn: &[Drawn], dt: f64) -> f64 {
        let part = (DRAW * dt).min(1.0);
        let (members, masses) = (&self.particles.members, &self.particles.masses);
        let mut change = 0.0;
        for one in drawn {
            let Some(site) = &one.site else { continue };
            let (i, j) = (one.particle, site.best);
            let (a, b) = (members[i] as usize, members[j] as usize);
            let wanted = self.particles.velocities[j] + DRAW * (site.target - self.particles.positions[i]);
            let kick = part * (wanted - self.particles.velocities[i]);
            let back = -kick * (masses[i] / masses[j]);
            for (k, mass, kick) in [(a, masses[i], kick), (b, masses[j], back)] {
                let v = points.velocities[k];
                points.velocities[k] = v + kick;
                change += mass * kick.dot(v + 0.5 * kick);
            }
        }
        change
    }

    /// Joins the lattice of the neighbor that fits best, or begins one.
    fn freeze(&mut self, one: &Drawn) {
        let Some(sites) = &self.sites else { return };
        let i = one.particle;
        let (rotation, object) = match &one.site {
            Some(site) => (self.particles.rotations[site.best], self.particles.objects[site.best]),
            None => (self.particles.rotations[i], (self.parts.len() + i) as u32),
        };
        self.particles.phases[i] = Phase::Freezing;
        self.particles.solidities[i] = 0.0;
        self.particles.rotations[i] = rotation;
        self.particles.objects[i] = object;
        let slots = self.bonds.slots;
        self.bonds.partners[i * slots..(i + 1) * slots].fill(NOBODY);
        self.bonds.rates[i * slots..(i + 1) * slots].fill(OPEN);
        self.bonds.cracked[i] = false;
        let mut merged = Vec::new();
        for &j in self.lists.of(i) {
            let j = j as usize;
            let away = self.particles.positions[i] - self.particles.positions[j];
            if !self.particles.phases[j].is_bound() || away.length() > NEAR * sites.spacing {
                continue;
            }
            // Slots that it falls into open again.
            let s = sites.nearest(self.particles.rotations[j].transpose() * away);
            if s != NO_SLOT && self.bonds.of(j)[usize::from(s)] == NOBODY {
                self.bonds.rates[j * slots + usize::from(s)] = OPEN;
            }
            if self.particles.objects[j] != object {
                merged.push(self.particles.objects[j]);
            }
        }
        // What freezes between two objects makes them one; closed slots stay closed.
        if !merged.is_empty() {
            let one = merged.iter().copied().fold(object, u32::min);
            let others = self.particles.objects.iter_mut().filter(|o| **o == object || merged.contains(o));
            others.for_each(|o| *o = one);
        }
    }

    /// Solidity of a point of the table; None when it belongs to no lattice.
    pub fn solidity(&self, point: usize) -> Option<f64> {
        let place = self.particles.members.binary_search(&(point as u32)).ok()?;
        Some(self.particles.solidities[place])
    }
}
