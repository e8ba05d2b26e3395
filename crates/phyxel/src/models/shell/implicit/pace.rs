//! How long implicit steps are.
//!
//! Any step is stable; the price of a long one is that Newton's method needs more iterations, because a sheet that hardly stretches
//! lets its points move on curved ways only. Steps are as long as a few iterations carry.

use super::SolveReport;

/// Longest step [s].
pub const LONGEST: f64 = 1.0 / 120.0;
/// Shortest step to which hard going leads [s]: where a shell snaps through, Newton's method does not get to the end of it at any
/// step worth taking; what it has then is stable and lags behind a little.
const SHORTEST: f64 = 4e-4;
/// Iterations beyond which the next step is shorter, and below which it may be longer.
const MANY: usize = 10;
const FEW: usize = 6;

/// The step of a shell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// Longest next step [s].
    pub step: f64,
}

impl Default for Pace {
    fn default() -> Self {
        Self { step: 0.25 * LONGEST }
    }
}

impl Pace {
    /// Learns from a step of `dt` [s].
    pub fn learn(&mut self, report: &SolveReport, dt: f64) {
        if report.newton > MANY || !report.converged {
            self.step = (0.6 * dt).max(SHORTEST);
        } else if report.newton <= FEW {
            self.step = (1.2 * self.step.max(dt)).min(LONGEST);
        }
    }
}
