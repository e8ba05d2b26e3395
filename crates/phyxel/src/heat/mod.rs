//! Heat: enthalpy on the points of all bodies whose material conducts, whatever model moves them.
//!
//! Heat is slow: it runs a few times per frame over the time that has passed, in steps of its own. See
//! `docs/methods/heat.md`. Nothing here moves points; models ask for temperature and melted fraction.

pub mod conduction;
pub mod enthalpy;
pub mod exchange;
mod geometry;
pub mod network;
mod setup;
mod source;
mod walls;

#[cfg(test)]
mod tests;

pub use enthalpy::{Melting, ThermalLaw, stiffness_factor};
pub use network::Supplied;

use crate::contact::Colliders;
use crate::points::Points;
use crate::scene::MaterialSpec;
use geometry::{Geometry, Matters, Outside};
use glam::DVec3;
use network::{HeatState, StepInput};
use source::{Source, SourceKind};

/// Longest time between two runs [s].
const LONGEST_INTERVAL: f64 = 0.01;
/// Runs per frame at least.
const RUNS_PER_FRAME: f64 = 4.0;
/// In place of a number: the point takes no part in heat.
const NONE: u32 = u32::MAX;

/// The heat of a world. Points that take part are numbered among themselves ("slots").
#[derive(Debug, Clone)]
pub struct Heat {
    /// Slot of each point of the table; `NONE` without heat. Written at set-up.
    slots: Vec<u32>,
    /// Point of each slot. Written at set-up.
    members: Vec<u32>,
    /// Number of each body among those that take part; `NONE` without heat. Written at set-up.
    kinds_of_bodies: Vec<u32>,
    /// One law per body that takes part. Written at set-up and by `set_material`.
    laws: Vec<ThermalLaw>,
    /// Masses by slot [kg]. Written at set-up and by `set_material`.
    masses: Vec<f64>,
    matter: Matters,
    outside: Outside,
    sources: Vec<Source>,
    /// The state. Written by `run`.
    state: HeatState,
    geometry: Geometry,
    /// Longest stable step of the present network [s]. Written by `run`.
    stable_step: f64,
    /// Time between two runs [s].
    interval: f64,
    /// Time since the last run [s]. Written by `advance`.
    elapsed: f64,
    /// Runs so far. Written by `run`.
    runs: u64,
    /// Heat content at the start [J].
    start: f64,
    /// Heat from outside since the start [J]. Written by `run`.
    supplied: Supplied,
    /// Buffers.
    positions: Vec<DVec3>,
    powers: Vec<f64>,
}

impl Heat {
    /// Temperature of a point of the table [K]; None when it takes no part in heat.
    pub fn temperature(&self, point: usize) -> Option<f64> {
        self.slot(point).map(|s| self.state.temperatures[s])
    }

    /// Melted fraction of a point of the table, 0 to 1; 0 when it takes no part in heat. It changes only when heat
    /// runs, see `runs`.
    pub fn melted_fraction(&self, point: usize) -> f64 {
        self.slot(point).map_or(0.0, |s| self.state.fractions[s])
    }

    /// How warm a point is against melting, as heat over its heat capacity [K]: what it lacks to be half melted is negative. None when it
    /// takes no part in heat or never melts.
    pub fn above_melting(&self, point: usize, material: &MaterialSpec) -> Option<f64> {
        let s = self.slot(point)?;
        let solidus = material.solidus?;
        let middle = 0.5 * (solidus + material.liquidus.unwrap_or(solidus).max(solidus));
        let latent = material.latent_heat / material.specific_heat;
        Some(self.state.temperatures[s] - middle + (self.state.fractions[s] - 0.5) * latent)
    }

    /// How often heat has run: a model that remembers it sees whether melted fractions are new.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// Heat content of all points, counted from 0 K [J].
    pub fn content(&self) -> f64 {
        self.masses.iter().zip(&self.state.enthalpies).map(|(m, h)| m * h).sum()
    }

    /// Heat content above that at the start [J].
    pub fn content_above_start(&self) -> f64 {
        self.content() - self.start
    }

    /// Heat that came from outside since the start; equals `content_above_start` to rounding.
    pub fn supplied(&self) -> Supplied {
        self.supplied
    }

    fn slot(&self, point: usize) -> Option<usize> {
        self.slots.get(point).filter(|&&s| s != NONE).map(|&s| s as usize)
    }

    /// Lets time pass [s]; `run` makes up for it.
    pub fn advance(&mut self, dt: f64) {
        self.elapsed += dt;
    }

    /// Whether enough time has passed to run again.
    pub fn is_due(&self) -> bool {
        // Equal steps that fill an interval do so but for rounding.
        self.elapsed >= self.interval * (1.0 - 1e-9)
    }

    /// Exchanges heat over the time that has passed, which ends at `time` [s].
    pub fn run(&mut self, points: &Points, colliders: &Colliders, time: f64) {
        let elapsed = std::mem::take(&mut self.elapsed);
        self.runs += 1;
        if elapsed <= 0.0 || self.is_at_rest() {
            return;
        }
        self.positions.clear();
        self.positions.extend(self.members.iter().map(|&i| points.positions[i as usize]));
        let changed = self.geometry.update(&self.positions, &self.matter, &self.outside, colliders);
        if self.sources.iter().any(|s| matches!(s.kind, SourceKind::Lamp(_))) {
            self.geometry.turn(&self.positions, &self.matter);
        }
        self.find_powers(time - elapsed, time);
        if changed {
            let input = step_input(&self.masses, &self.matter, &self.laws, &self.powers, &self.outside);
            self.stable_step = self.geometry.network.stable_time_step(&input);
        }
        let steps = (elapsed / self.stable_step).ceil().max(1.0);
        let dt = elapsed / steps;
        self.hold(time - elapsed, time);
        for _ in 0..steps as u64 {
            let input = step_input(&self.masses, &self.matter, &self.laws, &self.powers, &self.outside);
            let supplied = self.geometry.network.step(&input, &mut self.state, dt);
            self.supplied.walls += supplied.walls;
            self.supplied.air += supplied.air;
            self.supplied.sources += supplied.sources;
            self.hold(time - elapsed, time);
        }
    }

    /// Whether nothing can flow: one temperature everywhere and nothing outside.
    fn is_at_rest(&self) -> bool {
        let isolated = self.outside.air.is_none() && self.sources.is_empty();
        let uniform = || self.state.temperatures.windows(2).all(|t| t[0] == t[1]);
        isolated && self.outside.walls.iter().all(Option::is_none) && uniform()
    }

    /// Powers of sources and lamps, averaged over the time from `start` to `end` [s].
    fn find_powers(&mut self, start: f64, end: f64) {
        self.powers.clear();
        self.powers.resize(self.members.len(), 0.0);
        for source in &self.sources {
            let part = source.active_part(start, end);
            match &source.kind {
                _ if part == 0.0 => {}
                SourceKind::Power(members, power) => {
                    let mass: f64 = members.iter().map(|&s| self.masses[s as usize]).sum();
                    for &s in members {
                        self.powers[s as usize] += part * power * self.masses[s as usize] / mass;
                    }
                }
                SourceKind::Lamp(lamp) => {
                    let Geometry { exposed, crowding, .. } = &self.geometry;
                    let Matters { volumes, spacings, kinds, .. } = &self.matter;
                    for s in (0..exposed.len()).filter(|&s| exposed[s] > 0.0) {
                        if lamp.kind.is_none_or(|k| k == kinds[s]) && lamp.reaches(self.positions[s]) {
                            let power = lamp.power(&crowding[s], volumes[s], spacings[s], exposed[s]);
                            self.powers[s] += part * power;
                        }
                    }
                }
                SourceKind::Held(..) => {}
            }
        }
    }

    /// Puts held points at their temperature; a source that works during a part of the time works during all of it.
    fn hold(&mut self, start: f64, end: f64) {
        for source in &self.sources {
            let SourceKind::Held(members, temperature) = &source.kind else { continue };
            if source.active_part(start, end) == 0.0 {
                continue;
            }
            for &s in members {
                let s = s as usize;
                let law = &self.laws[self.matter.kinds[s] as usize];
                let enthalpy = law.enthalpy(*temperature);
                self.supplied.sources += self.masses[s] * (enthalpy - self.state.enthalpies[s]);
                self.state.enthalpies[s] = enthalpy;
                (self.state.temperatures[s], self.state.fractions[s]) = law.state(enthalpy);
            }
        }
    }

    /// Tells which connected piece each point of the table belongs to; pieces exchange heat where they touch only.
    pub fn set_labels(&mut self, labels: &[u32]) {
        for (own, &point) in self.matter.labels.iter_mut().zip(&self.members) {
            let label = labels[point as usize];
            if *own != label {
                *own = label;
                self.geometry.forget();
            }
        }
    }

    /// Takes over the changed material of a body and masses. Temperature and melted fraction stay as far as they can;
    /// the heat that this takes counts as supplied.
    pub fn set_material(&mut self, body: usize, material: &MaterialSpec, points: &Points) {
        let (Some(&kind), Some(law)) = (self.kinds_of_bodies.get(body), ThermalLaw::of(material)) else { return };
        if kind == NONE {
            return;
        }
        let before = self.content();
        self.laws[kind as usize] = law;
        for s in (0..self.members.len()).filter(|&s| self.matter.kinds[s] == kind) {
            self.masses[s] = points.masses[self.members[s] as usize];
            self.matter.conductivities[s] = law.conductivity;
            self.state.enthalpies[s] = law.enthalpy_of(self.state.temperatures[s], self.state.fractions[s]);
        }
        self.state.update(&self.matter.kinds, &self.laws);
        self.supplied.changes += self.content() - before;
        self.geometry.forget();
    }

    /// Appends all that evolves to `numbers`, for `load`.
    pub fn save(&self, numbers: &mut Vec<f64>) {
        let Supplied { walls, air, sources, changes } = self.supplied;
        numbers.extend([self.elapsed, self.runs as f64, self.start, walls, air, sources, changes]);
        numbers.extend_from_slice(&self.state.enthalpies);
    }

    /// Takes back what `save` appended; the next run finds all neighbors anew. None when it does not fit.
    pub fn load(&mut self, numbers: &[f64]) -> Option<()> {
        let (&[elapsed, runs, start, walls, air, sources, changes], enthalpies) = numbers.split_first_chunk()?;
        if enthalpies.len() != self.members.len() {
            return None;
        }
        (self.elapsed, self.runs, self.start) = (elapsed, runs as u64, start);
        self.supplied = Supplied { walls, air, sources, changes };
        self.state.enthalpies.copy_from_slice(enthalpies);
        self.state.update(&self.matter.kinds, &self.laws);
        self.geometry.forget();
        Some(())
    }

    /// As `save`, with what is kept from run to run: a run after `load_all` has the same bits.
    pub fn save_all(&self, numbers: &mut Vec<f64>) {
        self.save(numbers);
        numbers.extend(self.matter.labels.iter().map(|&l| f64::from(l)));
        self.geometry.save(numbers);
    }

    /// Takes back what `save_all` appended; None when it does not fit.
    pub fn load_all(&mut self, numbers: &[f64]) -> Option<()> {
        let count = self.members.len();
        let (state, rest) = numbers.split_at_checked(7 + count)?;
        let (labels, geometry) = rest.split_at_checked(count)?;
        self.load(state)?;
        self.matter.labels = labels.iter().map(|&l| l as u32).collect();
        self.geometry.load(geometry, &self.matter, &self.outside)?;
        let input = step_input(&self.masses, &self.matter, &self.laws, &self.powers, &self.outside);
        self.stable_step = self.geometry.network.stable_time_step(&input);
        Some(())
    }
}

/// A function of parts, so that the state can be written meanwhile.
fn step_input<'a>(
    masses: &'a [f64],
    matter: &'a Matters,
    laws: &'a [ThermalLaw],
    powers: &'a [f64],
    outside: &Outside,
) -> StepInput<'a> {
    StepInput { masses, kinds: &matter.kinds, laws, powers, air: outside.air.map_or(0.0, |a| a.0) }
}
