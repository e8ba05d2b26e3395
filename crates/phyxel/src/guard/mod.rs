//! Guard: watches every step, decides when to go back and try again with a smaller step, and explains.
//!
//! Pure logic: the world tells it what a step looked like ([`Reading`]), hands over good states ([`Snapshot`]) and does
//! what the [`Verdict`] says. A state is bad when a value is not finite, when a speed or strain is out of any physical
//! range, or when energy appears that no work explains. Then the world goes back to the last good state and the step
//! is halved; it grows back while all is well. Too many rescues within a short time end the run with a diagnosis.

mod explain;

pub use explain::{Culprit, worst_point};

use crate::error::Diagnostic;
use crate::run::Rescue;
use glam::DVec3;
use serde::{Deserialize, Serialize};

/// Rescues within the same stretch of time after which the run is given up.
const MAX_RESCUES: u32 = 5;
/// Good steps between two snapshots.
const SNAPSHOT_INTERVAL: u32 = 64;
/// Good steps after which a reduced step may grow again ...
const RECOVERY_INTERVAL: u32 = 64;
/// ... by this factor.
const RECOVERY_FACTOR: f64 = 1.25;
/// Stretch of time that a rescue is answerable for, in steps of the size that failed.
const RESCUE_REACH: f64 = 400.0;
/// Energy may exceed what is explained by this part of the largest kinetic and stored energy seen: leap-frog energies
/// are taken half a step apart.
const ENERGY_SLACK: f64 = 0.25;
/// Speed of the whole mass whose kinetic energy is never worth a rescue [m/s].
const CALM_SPEED: f64 = 0.05;

/// What is out of any physical range in this world.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Speed [m/s].
    pub speed: f64,
    /// Norm of the Green strain.
    pub strain: f64,
    /// Mass of everything [kg].
    pub mass: f64,
}

impl Limits {
    /// Limits from the fastest elastic wave and the highest speed that starts, falls, fields and moving things can
    /// explain [m/s]: ten times their sum, and stretches of 20.
    pub fn new(wave_speed: f64, explained_speed: f64, mass: f64) -> Self {
        Self { speed: 10.0 * (wave_speed + explained_speed).max(1.0), strain: 200.0, mass }
    }
}

/// What one step looked like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// Time at its end [s].
    pub time: f64,
    /// Frame that is being computed.
    pub frame: u32,
    /// Its length [s].
    pub dt: f64,
    /// Whether all positions and velocities are finite.
    pub finite: bool,
    /// Largest speed [m/s].
    pub max_speed: f64,
    /// Largest norm of the Green strain; 0 when it was not looked at.
    pub max_strain: f64,
    /// Energies, every few steps.
    pub energy: Option<Energy>,
}

/// Energies of everything.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Energy {
    /// Kinetic [J].
    pub kinetic: f64,
    /// Elastic, and stored in contact [J].
    pub stored: f64,
    /// In the field of gravity [J].
    pub gravity: f64,
    /// Work done since the start by forces, pins and moving colliders [J].
    pub work: f64,
    /// Put in since the start by changes of material and phase [J].
    pub switched: f64,
    /// Taken by plastic flow since the start [J].
    pub dissipated: f64,
}

/// A state to go back to. The world fills it and reads it; buffers are reused.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snapshot {
    /// Simulated time [s].
    pub time: f64,
    /// Time steps so far.
    pub substeps: u64,
    /// Positions [m].
    pub positions: Vec<DVec3>,
    /// Velocities [m/s].
    pub velocities: Vec<DVec3>,
    /// Whatever else has a direction, such as the drags of contact.
    pub vectors: Vec<DVec3>,
    /// Whatever else is a number.
    pub numbers: Vec<f64>,
    /// Symmetric tensors: plastic strains.
    pub tensors: Vec<[f64; 6]>,
    /// State of the flow as bytes; empty when nothing flows.
    pub flow: Vec<u8>,
    /// State of the lattices as bytes.
    pub lattice: Vec<u8>,
    /// State of the embedded bodies as bytes.
    pub embedded: Vec<u8>,
}

/// What to do after a step.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// Go on.
    Good,
    /// Restore [`Guard::snapshot`] and go on with steps shortened by [`Guard::step_factor`]; note the rescue.
    Rescue(Rescue),
    /// Stop: it cannot be mended.
    Diverged(Box<Diagnostic>),
}

/// Watches the steps of a world.
#[derive(Debug, Default)]
pub struct Guard {
    memory: Memory,
    limits: Option<Limits>,
    /// The last good state and the one before it.
    snapshots: [Snapshot; 2],
    /// How many of them are filled.
    filled: usize,
}

/// What the guard remembers across a restart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Memory {
    step_factor: f64,
    good_steps: u32,
    since_snapshot: u32,
    rescues: u32,
    /// Time up to which the last rescue is answerable [s].
    rescue_until: f64,
    /// Lowest energy less work seen [J].
    lowest: Option<f64>,
    /// Largest kinetic and stored energy seen [J].
    largest: f64,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            step_factor: 1.0,
            good_steps: 0,
            since_snapshot: 0,
            rescues: 0,
            rescue_until: f64::NEG_INFINITY,
            lowest: None,
            largest: 0.0,
        }
    }
}

/// What was seen to be wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Trouble {
    NotFinite,
    Speed(f64),
    Strain(f64),
    /// Energy from nowhere and the energy that was there [J].
    Energy(f64, f64),
}

impl Guard {
    /// A guard with the limits of a world.
    pub fn new(limits: Limits) -> Self {
        Self { limits: Some(limits), ..Self::default() }
    }

    /// Factor on the stable step, 1 when all is well.
    pub fn step_factor(&self) -> f64 {
        self.memory.step_factor
    }

    /// Whether a snapshot is due; ask after a good step.
    pub fn wants_snapshot(&self) -> bool {
        self.filled == 0 || self.memory.since_snapshot >= SNAPSHOT_INTERVAL
    }

    /// Keeps the present state: `fill` writes it into the buffers.
    pub fn save(&mut self, fill: impl FnOnce(&mut Snapshot)) {
        self.snapshots.swap(0, 1);
        fill(&mut self.snapshots[0]);
        self.filled = (self.filled + 1).min(2);
        self.memory.since_snapshot = 0;
    }

    /// As `save`, and forgets earlier states: at the start of a frame, so that a resumed run decides alike.
    pub fn save_only(&mut self, fill: impl FnOnce(&mut Snapshot)) {
        self.save(fill);
        self.filled = 1;
    }

    /// The state to go back to after [`Verdict::Rescue`].
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshots[0]
    }

    /// Judges a step; `culprit` is asked only when something is wrong.
    pub fn inspect(&mut self, reading: &Reading, culprit: impl FnOnce() -> Culprit) -> Verdict {
        let Some(trouble) = self.trouble(reading) else {
            self.note_good(reading);
            return Verdict::Good;
        };
        let culprit = culprit();
        let again = reading.time <= self.memory.rescue_until;
        self.memory.rescues = if again { self.memory.rescues + 1 } else { 1 };
        if self.filled == 0 || self.memory.rescues > MAX_RESCUES {
            return Verdict::Diverged(Box::new(explain::diagnosis(trouble, &culprit, reading)));
        }
        // The same trouble again: the last snapshot may already carry its seed.
        if again && self.filled == 2 {
            self.snapshots.swap(0, 1);
            self.filled = 1;
        }
        let failed = reading.dt.max(f64::MIN_POSITIVE);
        self.memory.rescue_until = self.memory.rescue_until.max(reading.time + RESCUE_REACH * failed);
        self.memory.step_factor *= 0.5;
        self.memory.good_steps = 0;
        self.memory.since_snapshot = 0;
        Verdict::Rescue(explain::rescue(trouble, &culprit, reading))
    }

    /// What must survive a restart, as text.
    pub fn state(&self) -> String {
        serde_json::to_string(&self.memory.finite()).unwrap_or_default()
    }

    /// Puts back what `state` gave; anything else is ignored.
    pub fn restore_state(&mut self, state: &str) {
        if let Ok(memory) = serde_json::from_str(state) {
            self.memory = memory;
        }
    }

    fn trouble(&self, reading: &Reading) -> Option<Trouble> {
        let limits = self.limits?;
        if !(reading.finite && reading.max_speed.is_finite() && reading.max_strain.is_finite()) {
            return Some(Trouble::NotFinite);
        }
        if reading.max_speed > limits.speed {
            return Some(Trouble::Speed(reading.max_speed));
        }
        if reading.max_strain > limits.strain {
            return Some(Trouble::Strain(reading.max_strain));
        }
        let energy = reading.energy?;
        let total = energy.total();
        if !total.is_finite() {
            return Some(Trouble::NotFinite);
        }
        let excess = total - self.memory.lowest?;
        let calm = 0.5 * limits.mass * CALM_SPEED * CALM_SPEED;
        (excess > ENERGY_SLACK * self.memory.largest + calm).then_some(Trouble::Energy(excess, self.memory.largest))
    }

    fn note_good(&mut self, reading: &Reading) {
        let memory = &mut self.memory;
        if let Some(energy) = reading.energy {
            memory.lowest = Some(memory.lowest.map_or(energy.total(), |e| e.min(energy.total())));
            memory.largest = memory.largest.max(energy.kinetic + energy.stored);
        }
        memory.since_snapshot += 1;
        memory.good_steps += 1;
        if memory.step_factor < 1.0 && memory.good_steps >= RECOVERY_INTERVAL {
            memory.step_factor = (memory.step_factor * RECOVERY_FACTOR).min(1.0);
            memory.good_steps = 0;
        }
    }
}

impl Energy {
    /// What is there or has gone into plastic flow, less what was put in [J]; can only fall.
    fn total(&self) -> f64 {
        self.kinetic + self.stored + self.gravity + self.dissipated - self.work - self.switched
    }
}

impl Memory {
    /// The same with a finite time, which JSON needs.
    fn finite(&self) -> Self {
        Self { rescue_until: self.rescue_until.max(f64::MIN), ..self.clone() }
    }
}

#[cfg(test)]
mod tests;
