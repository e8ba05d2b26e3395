//! Solid particles that are not bonded repel each other: objects against objects, and the faces of a crack.
//!
//! f = k w(D) (D - |r|) along the pair, with damping, and friction across. Differs from [WHP06] eq. 14, which pushes towards the nearest
//! slot and so not at all in deep overlap.

use super::bonds::Bonds;
use super::lists::Lists;
use super::particles::{Matter, Particles};
use super::sites::Sites;
use glam::DVec3;
use rayon::prelude::*;

/// Part of critical damping along the pair.
const DAMPING: f64 = 0.3;
/// Stiffness of friction across the pair in that along it, until it slips.
const GRIP: f64 = 0.5;
/// Stiffest contact, in masses over the square of the step: what is stiffer is not resolved by the step and only hard to solve for.
/// Explicit steps are far shorter than this asks for.
pub const STIFFEST: f64 = 10.0;
/// Particles per parallel task.
const CHUNK: usize = 256;

/// Pairs that may touch.
#[derive(Debug, Clone, Default)]
pub struct Contacts {
    starts: Vec<u32>,
    others: Vec<u32>,
    /// How far each pair was dragged across since it sticks [m]; of (j, i) the negative of (i, j). Written by `add_forces`.
    drags: Vec<DVec3>,
    /// Energy stored at the last `add_forces`, by particle [J].
    energies: Vec<f64>,
}

/// What contact needs to know of a step.
#[derive(Clone, Copy)]
pub struct Touching<'a> {
    /// The particles.
    pub particles: &'a Particles,
    /// The lattice.
    pub sites: &'a Sites,
    /// Matter by kind.
    pub matters: &'a [Matter],
    /// Length of the step [s].
    pub dt: f64,
}

impl Contacts {
    /// Lists the solid pairs without a bond that may come within a spacing before the neighbor lists are made anew, or in a step in
    /// which they near each other by `travel` [m]. Pairs that were listed before remember their drag.
    pub fn find(&mut self, particles: &Particles, bonds: &Bonds, lists: &Lists, sites: &Sites, travel: f64) {
        let phases = &particles.phases;
        let near = |i: usize, j: usize| {
            // Within one object nothing nears anything by more than the lists foresee.
            let travel = if particles.objects[i] == particles.objects[j] { 0.0 } else { travel };
            phases[j].is_bound() && lists.may_come_within(i, j, sites.spacing + travel) && !bonds.joins(i, j)
        };
        let before = std::mem::take(self);
        let found = |chunk: usize| {
            let (mut others, mut ends, mut drags) = (Vec::new(), Vec::with_capacity(CHUNK), Vec::new());
            for i in chunk * CHUNK..((chunk + 1) * CHUNK).min(particles.len()) {
                let first = others.len();
                if phases[i].is_bound() {
                    others.extend(lists.of(i).iter().filter(|j| near(i, **j as usize)));
                }
                drags.extend(others[first..].iter().map(|&j| before.drag(i, j)));
                ends.push(others.len());
            }
            (others, ends, drags)
        };
        let chunks: Vec<_> = (0..particles.len().div_ceil(CHUNK)).into_par_iter().map(found).collect();
        self.energies = before.energies;
        self.starts.push(0);
        for (others, ends, drags) in &chunks {
            let first = self.others.len();
            self.starts.extend(ends.iter().map(|end| (first + end) as u32));
            self.others.extend_from_slice(others);
            self.drags.extend_from_slice(drags);
        }
    }

    /// Number of listed pairs; each is listed from both ends.
    pub fn len(&self) -> usize {
        self.others.len()
    }

    /// Whether nothing may touch.
    pub fn is_empty(&self) -> bool {
        self.others.is_empty()
    }

    /// The other end of a listed pair.
    #[inline]
    pub fn other(&self, k: usize) -> usize {
        self.others[k] as usize
    }

    /// How far a listed pair is dragged [m].
    #[inline]
    pub fn drag_of(&self, k: usize) -> DVec3 {
        self.drags[k]
    }

    /// The listed pairs of a particle.
    #[inline]
    pub fn row(&self, i: usize) -> std::ops::Range<usize> {
        match self.starts.get(i..=i + 1) {
            Some(ends) => ends[0] as usize..ends[1] as usize,
            None => 0..0,
        }
    }

    fn drag(&self, i: usize, j: u32) -> DVec3 {
        let row = self.row(i);
        let place = self.others[row.clone()].binary_search(&j);
        place.map_or(DVec3::ZERO, |k| self.drags[row.start + k])
    }

    /// Pairs that stick, with their drags [m].
    pub fn sticking(&self) -> impl Iterator<Item = (u32, u32, DVec3)> + '_ {
        let rows = (0..self.starts.len().saturating_sub(1)).flat_map(|i| self.row(i).map(move |k| (i as u32, k)));
        rows.map(|(i, k)| (i, self.others[k], self.drags[k])).filter(|(_, _, drag)| *drag != DVec3::ZERO)
    }

    /// Puts back what `sticking` gave, in its order, for so many particles.
    pub fn set_sticking(&mut self, particles: usize, pairs: &[(u32, u32, DVec3)]) {
        self.others = pairs.iter().map(|p| p.1).collect();
        self.drags = pairs.iter().map(|p| p.2).collect();
        self.starts = (0..=particles as u32).map(|i| pairs.partition_point(|p| p.0 < i) as u32).collect();
        self.energies.clear();
    }

    /// Adds the forces of contact to `forces` [N]; once per step, friction remembers.
    pub fn add_forces(&mut self, touching: &Touching, forces: &mut [DVec3]) {
        self.energies.clear();
        self.energies.resize(touching.particles.len(), 0.0);
        if self.others.is_empty() {
            return;
        }
        // Rows of different length: drags are computed aside and put in their place after.
        let (starts, others, drags) = (&self.starts, &self.others, &self.drags);
        let energies = self.energies.par_chunks_mut(CHUNK);
        let moved: Vec<Vec<DVec3>> = forces
            .par_chunks_mut(CHUNK)
            .zip(energies)
            .enumerate()
            .map(|(chunk, (forces, energies))| {
                let mut moved = Vec::new();
                for (k, (force, energy)) in forces.iter_mut().zip(energies).enumerate() {
                    let i = chunk * CHUNK + k;
                    for k in starts[i] as usize..starts[i + 1] as usize {
                        let push = touching.push(i, others[k] as usize, drags[k]);
                        moved.push(push.drag);
                        *force += push.force;
                        *energy += 0.5 * push.energy;
                    }
                }
                moved
            })
            .collect();
        self.drags.clear();
        moved.iter().for_each(|m| self.drags.extend_from_slice(m));
    }

    /// Adds the forces of contact to `forces` [N]; friction does not take note.
    pub fn look(&self, touching: &Touching, forces: &mut [DVec3]) {
        if self.others.is_empty() {
            return;
        }
        forces.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, forces)| {
            for (k, force) in forces.iter_mut().enumerate() {
                let i = chunk * CHUNK + k;
                for k in self.row(i) {
                    *force += touching.push(i, self.other(k), self.drags[k]).force;
                }
            }
        });
    }

    /// Energy stored at the last `add_forces`, by particle [J].
    pub fn energies(&self) -> &[f64] {
        &self.energies
    }
}

/// What one end of a pair feels.
#[derive(Default)]
struct Push {
    /// [N].
    force: DVec3,
    /// Stored [J].
    energy: f64,
    /// How far it is dragged now [m].
    drag: DVec3,
}

impl Touching<'_> {
    /// Stiffness of a pair [N/m] and its reduced mass [kg].
    #[inline]
    fn pair(&self, i: usize, j: usize) -> (f64, f64) {
        let particles = self.particles;
        let stiffness = |i: usize| self.matters[particles.kinds[i] as usize].stiffness;
        let (a, b) = (stiffness(i), stiffness(j));
        let solidity = particles.solidities[i].min(particles.solidities[j]);
        let mass = particles.masses[i] * particles.masses[j] / (particles.masses[i] + particles.masses[j]);
        let stiffness = self.sites.self_weight * 2.0 * a * b / (a + b);
        (solidity * stiffness.min(2.0 * STIFFEST * mass / (self.dt * self.dt)), mass)
    }

    /// Normal of a pair and the stiffness of its push along and across over a step [N/m]; None when it does not touch,
    /// unless it did before.
    pub fn weights(&self, i: usize, j: usize, dragged: DVec3, touched: bool) -> Option<(DVec3, [f64; 2])> {
        let particles = self.particles;
        let r = particles.positions[j] - particles.positions[i];
        let length = r.length();
        let depth = self.sites.spacing - length;
        if (depth <= 0.0 && !touched) || length < 1e-9 * self.sites.spacing {
            return None;
        }
        let normal = r / length;
        let (stiffness, mass) = self.pair(i, j);
        let damping = |stiffness: f64| 2.0 * DAMPING * (stiffness * mass).sqrt() / self.dt;
        let along = stiffness + damping(stiffness);
        // Across as stiff as what pulls there over the way that it went; at most that of sticking.
        let v = particles.velocities[j] - particles.velocities[i];
        let way = (v - normal * v.dot(normal)) * self.dt;
        let pull = self.push(i, j, dragged).force;
        let pull = (pull - normal * pull.dot(normal)).length();
        let grip = GRIP * stiffness;
        let slips = pull / (way + dragged).length().max(1e-12 * self.sites.spacing);
        Some((normal, [along, slips.min(grip + damping(grip))]))
    }

    /// What i feels of j; j feels the negative, to the last bit.
    fn push(&self, i: usize, j: usize, dragged: DVec3) -> Push {
        let (particles, sites) = (self.particles, self.sites);
        let r = particles.positions[j] - particles.positions[i];
        let length = r.length();
        let depth = sites.spacing - length;
        if depth <= 0.0 {
            return Push::default();
        }
        let normal =
            if length > 1e-9 * sites.spacing { r / length } else { apart(particles.ids[i] < particles.ids[j]) };
        let matter = |i: usize| &self.matters[particles.kinds[i] as usize];
        let (a, b) = (matter(i), matter(j));
        let (stiffness, mass) = self.pair(i, j);
        let v = particles.velocities[j] - particles.velocities[i];
        let along = v.dot(normal);
        let press = (stiffness * depth - 2.0 * DAMPING * (stiffness * mass).sqrt() * along).max(0.0);
        let across = v - normal * along;
        // A damped spring across, which slips at Coulomb's limit.
        let drag = dragged + across * self.dt;
        let drag = drag - normal * drag.dot(normal);
        let grip = GRIP * stiffness;
        let most = (a.friction * b.friction).sqrt() * press;
        let pull = drag * grip + across * (2.0 * DAMPING * (grip * mass).sqrt());
        let size = pull.length();
        let (pull, drag) = match size > most {
            true => (pull * (most / size), drag * (most / (grip * drag.length()).max(most)).min(1.0)),
            false => (pull, drag),
        };
        let energy = 0.5 * (stiffness * depth * depth + grip * drag.length_squared());
        let drag = if drag.is_finite() { drag } else { DVec3::ZERO };
        Push { force: pull - normal * press, energy, drag }
    }
}

/// A direction for a pair in one place.
fn apart(first: bool) -> DVec3 {
    if first { DVec3::Y } else { DVec3::NEG_Y }
}
