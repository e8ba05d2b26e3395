//! Network: all conductances at one geometry, and the explicit step of enthalpy over them.

use super::conduction::CHUNK;
use super::enthalpy::ThermalLaw;
use crate::neighbors::Neighborhoods;
use rayon::prelude::*;

/// Part of the largest step without overshoot that is used.
const SAFETY: f64 = 0.9;

/// Who exchanges heat with whom, and how well. One entry per point unless said otherwise.
#[derive(Debug, Clone, Default)]
pub struct Network {
    /// Linked pairs.
    pub links: Neighborhoods,
    /// Their conductances [W/K].
    pub conductances: Vec<f64>,
    /// Conductance to walls of held temperature [W/K].
    pub walls: Vec<f64>,
    /// The same times the temperature of the wall, summed over walls [W].
    pub wall_heat: Vec<f64>,
    /// Conductance to the air [W/K].
    pub air: Vec<f64>,
}

/// The heat of all points. One entry per point.
#[derive(Debug, Clone, Default)]
pub struct HeatState {
    /// Enthalpy per mass [J/kg]: the state.
    pub enthalpies: Vec<f64>,
    /// Temperature [K], follows from the enthalpy.
    pub temperatures: Vec<f64>,
    /// Melted fraction, 0 to 1, follows from the enthalpy.
    pub fractions: Vec<f64>,
}

/// What a step needs beside network and state. One entry per point.
#[derive(Debug, Clone, Copy)]
pub struct StepInput<'a> {
    /// Masses [kg].
    pub masses: &'a [f64],
    /// Which of the laws each point follows.
    pub kinds: &'a [u32],
    /// The laws.
    pub laws: &'a [ThermalLaw],
    /// Heat given by sources [W].
    pub powers: &'a [f64],
    /// Temperature of the air [K].
    pub air: f64,
}

/// Heat that came from outside [J].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Supplied {
    /// Through walls of held temperature.
    pub walls: f64,
    /// From the air.
    pub air: f64,
    /// From sources.
    pub sources: f64,
    /// By changes of material.
    pub changes: f64,
}

impl Supplied {
    /// All together [J].
    pub fn total(&self) -> f64 {
        self.walls + self.air + self.sources + self.changes
    }
}

impl Network {
    /// Longest step that keeps every temperature between those it mixes [s]; infinite when nothing flows.
    pub fn stable_time_step(&self, input: &StepInput) -> f64 {
        let limit = |i: usize| {
            let row = self.links.starts[i] as usize..self.links.starts[i + 1] as usize;
            let total = self.conductances[row].iter().sum::<f64>() + self.walls[i] + self.air[i];
            let heat = input.masses[i] * input.laws[input.kinds[i] as usize].least_specific_heat();
            // 0/0: nothing flows to nothing.
            if total > 0.0 { heat / total } else { f64::INFINITY }
        };
        // The minimum does not depend on the order.
        SAFETY * (0..self.links.len()).into_par_iter().with_min_len(CHUNK).map(limit).reduce(|| f64::INFINITY, f64::min)
    }

    /// One explicit step of `dt` [s].
    pub fn step(&self, input: &StepInput, state: &mut HeatState, dt: f64) -> Supplied {
        let temperatures = &state.temperatures;
        let chunks = state.enthalpies.par_chunks_mut(CHUNK).enumerate().map(|(c, enthalpies)| {
            let mut sum = Supplied::default();
            for (k, enthalpy) in enthalpies.iter_mut().enumerate() {
                let i = c * CHUNK + k;
                let own = temperatures[i];
                let wall = self.wall_heat[i] - self.walls[i] * own;
                let air = self.air[i] * (input.air - own);
                *enthalpy += dt * (self.inflow(i, temperatures) + wall + air + input.powers[i]) / input.masses[i];
                sum.walls += dt * wall;
                sum.air += dt * air;
                sum.sources += dt * input.powers[i];
            }
            sum
        });
        let sums: Vec<Supplied> = chunks.collect();
        state.update(input.kinds, input.laws);
        sums.iter().fold(Supplied::default(), |a, b| Supplied {
            walls: a.walls + b.walls,
            air: a.air + b.air,
            sources: a.sources + b.sources,
            changes: 0.0,
        })
    }

    /// Heat that flows to a point from its neighbors [W].
    pub fn inflow(&self, i: usize, temperatures: &[f64]) -> f64 {
        let row = self.links.starts[i] as usize..self.links.starts[i + 1] as usize;
        let own = temperatures[i];
        let pairs = self.links.neighbors[row.clone()].iter().zip(&self.conductances[row]);
        pairs.map(|(&j, conductance)| conductance * (temperatures[j as usize] - own)).sum()
    }
}

impl HeatState {
    /// Brings temperatures and melted fractions up to date with the enthalpies.
    pub fn update(&mut self, kinds: &[u32], laws: &[ThermalLaw]) {
        self.temperatures.resize(self.enthalpies.len(), 0.0);
        self.fractions.resize(self.enthalpies.len(), 0.0);
        let state = (&self.enthalpies, &mut self.temperatures, &mut self.fractions, kinds);
        state.into_par_iter().with_min_len(CHUNK).for_each(|(enthalpy, temperature, fraction, &kind)| {
            (*temperature, *fraction) = laws[kind as usize].state(*enthalpy);
        });
    }
}
