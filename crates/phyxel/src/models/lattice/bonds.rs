//! Bonds: which neighbor sits in which slot, how slots open and close, and when bonds break.
//!
//! [WHP06] §5 with these departures: a docked slot stays docked while its partner stays near (a draw per step would let go of intact
//! bonds and heat the solid), docking rates change per time, and bonds break by their misfit against the rotated lattice, so that
//! inclined bonds break with the aligned ones.

use super::fit::{ROTATION_MEMORY, STRETCH_MEMORY, Sums, distortion};
use super::lists::Lists;
use super::particles::{Matter, NOBODY, Particles};
use super::sites::{NO_SLOT, Sites};
use crate::random::{Random, mix};
use glam::DMat3;
use rayon::prelude::*;

/// Docking rate of an open slot [1/s].
pub const OPEN: f32 = 200.0;
/// How fast rates rise while docked and fall while not [1/s²]: a crack is for ever after a tenth of a second.
const RATE_CHANGE: f64 = 2000.0;
/// Largest distance from the slot of a partner that stays, in spacings ...
const KEEP: f64 = 0.6;
/// ... and of a new one.
const DOCK: f64 = 0.3;
/// Misfit up to which no other slot can be nearer, in spacings: nothing to look for.
const CALM: f64 = 0.15;
/// Part of the break strain by which a bond must be longer than at rest to break: only tension breaks.
const TENSION: f64 = 0.02;
/// Determinant below which a stretch is useless.
const COLLAPSED: f64 = 0.05;
/// Particles per parallel task.
const CHUNK: usize = 256;
/// What the docking of slots is drawn for.
const DOCKING: u64 = 0x444f_434b;

/// The bonds of all particles.
#[derive(Debug, Clone, Default)]
pub struct Bonds {
    /// Slots per particle.
    pub slots: usize,
    /// Who sits in each slot, slot after slot for each particle; `NOBODY`: empty. Written by `update`.
    pub partners: Vec<u32>,
    /// Docking rates λ of the slots [1/s]. Written by `update`.
    pub rates: Vec<f32>,
    /// Whether a bond of the particle has broken. Written by `update`, cleared by melting.
    pub cracked: Vec<bool>,
    /// Who has each particle in which slot, made from `partners`.
    pub incoming: Incoming,
    /// Bonds broken since the start.
    pub broken: u64,
}

/// For each particle the slots of others that it sits in.
#[derive(Debug, Clone, Default)]
pub struct Incoming {
    starts: Vec<u32>,
    /// Particle and slot.
    entries: Vec<(u32, u8)>,
}

/// What bonds are judged by.
pub struct Around<'a> {
    /// The lattice.
    pub sites: &'a Sites,
    /// Matter by kind.
    pub matters: &'a [Matter],
    /// The particles.
    pub particles: &'a Particles,
    /// Who is near.
    pub lists: &'a Lists,
    /// Seed of the scene.
    pub seed: u64,
    /// Number of the step.
    pub step: u64,
    /// Its length [s]; infinite: every open slot docks.
    pub dt: f64,
}

/// What a look at one particle has found.
#[derive(Default)]
struct Found {
    changed: bool,
    broken: Vec<(u32, u32)>,
}

impl Bonds {
    /// Empty, open slots.
    pub fn new(particles: usize, sites: &Sites) -> Self {
        Self {
            slots: sites.len(),
            partners: vec![NOBODY; particles * sites.len()],
            rates: vec![OPEN; particles * sites.len()],
            cracked: vec![false; particles],
            incoming: Incoming::default(),
            broken: 0,
        }
    }

    /// Partners of a particle by slot.
    #[inline]
    pub fn of(&self, i: usize) -> &[u32] {
        &self.partners[i * self.slots..(i + 1) * self.slots]
    }

    /// Whether one of a pair has the other in a slot.
    #[inline]
    pub fn joins(&self, i: usize, j: usize) -> bool {
        self.of(i).contains(&(j as u32)) || self.of(j).contains(&(i as u32))
    }

    /// The first assignment: whoever fits is docked, and what stays empty is closed: surfaces do not weld.
    pub fn begin(&mut self, around: &Around) {
        self.update(&Around { dt: f64::INFINITY, ..*around });
        self.close_empty();
        self.incoming.rebuild(&self.partners, self.slots);
    }

    /// Closes all empty slots.
    pub fn close_empty(&mut self) {
        for (rate, partner) in self.rates.iter_mut().zip(&self.partners) {
            *rate = if *partner == NOBODY { 0.0 } else { OPEN };
        }
    }

    /// Breaks, keeps and docks; returns whether any bond has changed.
    pub fn update(&mut self, around: &Around) -> bool {
        let (slots, cracked) = (self.slots, &self.cracked);
        let partners = self.partners.par_chunks_mut(CHUNK * slots);
        let rates = self.rates.par_chunks_mut(CHUNK * slots);
        let found: Vec<Found> = partners
            .zip(rates)
            .enumerate()
            .map(|(chunk, (partners, rates))| {
                let mut found = Found::default();
                let rows = partners.chunks_exact_mut(slots).zip(rates.chunks_exact_mut(slots));
                for (k, (partners, rates)) in rows.enumerate() {
                    let i = chunk * CHUNK + k;
                    if around.particles.phases[i].is_bound() {
                        around.settle(i, partners, rates, cracked, &mut found);
                    } else if rates.iter().any(|r| *r > 0.0) {
                        // A liquid particle holds nobody.
                        found.changed |= partners.iter().any(|p| *p != NOBODY);
                        partners.fill(NOBODY);
                        rates.fill(0.0);
                    }
                }
                found
            })
            .collect();
        for &(i, j) in found.iter().flat_map(|f| &f.broken) {
            self.cracked[i as usize] = true;
            self.cracked[j as usize] = true;
            self.broken += 1;
        }
        let changed = found.iter().any(|f| f.changed);
        if changed {
            self.incoming.rebuild(&self.partners, self.slots);
        }
        changed
    }
}

impl Around<'_> {
    /// Looks at the slots of one particle.
    fn settle(&self, i: usize, partners: &mut [u32], rates: &mut [f32], cracked: &[bool], found: &mut Found) {
        let particles = self.particles;
        let (at, rotation) = (particles.positions[i], particles.rotations[i]);
        let matter = &self.matters[particles.kinds[i] as usize];
        let (mut worst, mut unsettled) = (0.0f64, false);
        for s in 0..partners.len() {
            let j = partners[s] as usize;
            if partners[s] == NOBODY {
                unsettled |= rates[s] > 0.0;
                continue;
            }
            unsettled |= rates[s] < OPEN;
            if !particles.phases[j].is_bound() || particles.objects[j] != particles.objects[i] {
                partners[s] = NOBODY;
                (found.changed, unsettled) = (true, true);
                continue;
            }
            let r = particles.positions[j] - at;
            let misfit = (r - rotation * self.sites.slots[s]).length_squared();
            if matter.break_strain < f64::INFINITY && self.breaks(i, j, s, misfit, r.length_squared(), matter) {
                partners[s] = NOBODY;
                rates[s] = 0.0;
                found.changed = true;
                found.broken.push((i as u32, j as u32));
                continue;
            }
            worst = worst.max(misfit);
        }
        let strained = worst > (CALM * self.sites.spacing).powi(2);
        if !strained && !unsettled {
            return;
        }
        let open = partners.iter().zip(rates.iter()).any(|(p, r)| *p == NOBODY && *r > 0.0);
        if strained || open {
            self.assign(i, partners, rates, cracked, found);
        }
        let change = (RATE_CHANGE * self.dt) as f32;
        for (rate, partner) in rates.iter_mut().zip(partners.iter()) {
            *rate = if *partner == NOBODY { (*rate - change).max(0.0) } else { (*rate + change).min(OPEN) };
        }
    }

    /// Whether the bond of slot s breaks: in tension, by its misfit.
    #[inline]
    fn breaks(&self, i: usize, j: usize, s: usize, misfit: f64, length: f64, matter: &Matter) -> bool {
        let strengths = &self.particles.strengths;
        let strength = 0.5 * f64::from(strengths[i] + strengths[j]);
        breaks(self.sites.lengths[s], misfit, length, matter.break_strain, strength)
    }

    /// Finds anew who sits in which slot.
    fn assign(&self, i: usize, partners: &mut [u32], rates: &[f32], cracked: &[bool], found: &mut Found) {
        let (particles, sites) = (self.particles, self.sites);
        let (at, object) = (particles.positions[i], particles.objects[i]);
        let back = self.frame(i, partners).inverse();
        let d2 = sites.spacing * sites.spacing;
        let mut best = [(f64::INFINITY, NOBODY); 32];
        for &j in self.lists.of(i) {
            let other = j as usize;
            let r = particles.positions[other] - at;
            if particles.objects[other] != object
                || !particles.phases[other].is_bound()
                || r.length_squared() > sites.reach * sites.reach
            {
                continue;
            }
            let y = back * r;
            let s = sites.nearest(y);
            if s == NO_SLOT {
                continue;
            }
            let s = usize::from(s);
            let distance = (y - sites.slots[s]).length_squared();
            let limit = if partners[s] == NOBODY && self.dt.is_finite() { DOCK } else { KEEP };
            if distance > limit * limit * d2 || distance >= best[s].0 {
                continue;
            }
            // Faces of a crack do not heal.
            if cracked[i] && cracked[other] && !partners.contains(&j) {
                continue;
            }
            best[s] = (distance, j);
        }
        for s in 0..partners.len() {
            let docked = best[s].1 != NOBODY && (partners[s] != NOBODY || self.docks(i, s, rates[s]));
            let partner = if docked { best[s].1 } else { NOBODY };
            found.changed |= partner != partners[s];
            partners[s] = partner;
        }
    }

    /// Whether an open slot takes a candidate in this step.
    fn docks(&self, i: usize, s: usize, rate: f32) -> bool {
        if rate <= 0.0 {
            return false;
        }
        let key = u64::from(self.particles.ids[i]) * 32 + s as u64;
        let u = Random::new(mix(mix(self.seed, DOCKING), self.step), key).unit();
        u < 1.0 - (-f64::from(rate) * self.dt).exp()
    }

    /// The frame in which neighbors are looked for: the stretch A, or where that has yielded or collapsed the rotation.
    fn frame(&self, i: usize, partners: &[u32]) -> DMat3 {
        let rotation = self.particles.rotations[i];
        let stretch = self.stretch(i, partners);
        let bound = self.matters[self.particles.kinds[i] as usize].yield_bound;
        let usable = stretch.determinant() > COLLAPSED && distortion(stretch) <= bound;
        if usable { stretch } else { rotation }
    }

    /// The stretch A of a neighborhood.
    pub fn stretch(&self, i: usize, partners: &[u32]) -> DMat3 {
        let (sites, positions) = (self.sites, &self.particles.positions);
        let mut sums = Sums::default();
        for (s, &j) in partners.iter().enumerate().filter(|(_, j)| **j != NOBODY) {
            sums.add(sites.weights[s], positions[j as usize] - positions[i], sites.slots[s]);
        }
        sums.stretch(self.particles.rotations[i], STRETCH_MEMORY * sites.self_weight * sites.spacing.powi(2))
    }
}

/// Whether a bond of rest length `rest` [m], squared misfit and squared length [m²] breaks.
pub fn breaks(rest: f64, misfit: f64, length: f64, break_strain: f64, strength: f64) -> bool {
    let tense = rest * (1.0 + TENSION * break_strain);
    let most = break_strain * strength * rest;
    length > tense * tense && misfit > most * most
}

/// Weight of the previous rotation in a fit [m²].
pub fn rotation_memory(sites: &Sites) -> f64 {
    ROTATION_MEMORY * sites.spacing * sites.spacing
}

impl Incoming {
    /// The slots that a particle sits in: whose, and which.
    #[inline]
    pub fn of(&self, i: usize) -> &[(u32, u8)] {
        &self.entries[self.starts[i] as usize..self.starts[i + 1] as usize]
    }

    /// Counts and sorts, in the order of the particles that have slots.
    pub fn rebuild(&mut self, partners: &[u32], slots: usize) {
        let count = partners.len() / slots.max(1);
        self.starts.clear();
        self.starts.resize(count + 1, 0);
        partners.iter().filter(|p| **p != NOBODY).for_each(|&p| self.starts[p as usize + 1] += 1);
        for i in 0..count {
            self.starts[i + 1] += self.starts[i];
        }
        self.entries.clear();
        self.entries.resize(self.starts[count] as usize, (0, 0));
        let mut next = self.starts.clone();
        for (k, &p) in partners.iter().enumerate().filter(|(_, p)| **p != NOBODY) {
            let place = &mut next[p as usize];
            self.entries[*place as usize] = ((k / slots) as u32, (k % slots) as u8);
            *place += 1;
        }
    }
}
