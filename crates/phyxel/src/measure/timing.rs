//! Wall time by phase.

use std::time::Instant;

/// Seconds spent in each named phase, in the order of first use.
#[derive(Debug, Clone, Default)]
pub struct Timings {
    phases: Vec<(&'static str, f64)>,
}

impl Timings {
    /// Runs `work` and adds its wall time to `phase`.
    pub fn time<T>(&mut self, phase: &'static str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.add(phase, start.elapsed().as_secs_f64());
        result
    }

    /// Adds seconds to `phase`.
    pub fn add(&mut self, phase: &'static str, seconds: f64) {
        match self.phases.iter_mut().find(|(name, _)| *name == phase) {
            Some((_, total)) => *total += seconds,
            None => self.phases.push((phase, seconds)),
        }
    }

    /// All phases with their seconds.
    pub fn phases(&self) -> &[(&'static str, f64)] {
        &self.phases
    }
}
