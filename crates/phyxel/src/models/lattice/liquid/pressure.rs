//! The pressure that keeps the density: where matter would be denser than at rest after the step it pushes, nowhere it pulls.
//!
//! ```text
//! C_i   = Σ V_j W_ij / δ_0 - 1  (walls included)            u = v dt / H,  π = p dt² / (ρ H²)
//! δu_i  = -(ρ/ρ_i) [π_i G_i + Σ V_j g_ij π_j (x_i - x_j)]     G_i = ∂C_i/∂x_i,  g = W'/q
//! c_i   = C_i + Σ V_j g_ij (x_i - x_j)·(u_i - u_j) + wall      wanted: c ≤ 0, π ≥ 0, c π = 0
//! ```
//!
//! Pressure forces are the exact gradient of Σ V_i p_i C_i, so the matrix between π and c is symmetric and positive. One solve per
//! step does both jobs of [BK17]: what the velocities would add to the density is taken away at once, an excess that is
//! already there by a part per step. The iteration is Jacobi's with momentum [Nes83], restarted when it overshoots [OC15]: it
//! needs about the square root of the plain iterations. It starts from the pressures of the step before.

use super::rows::{self, Four};
use super::search::Chunk;

/// Step of the iteration: below one over the largest eigenvalue of the scaled matrix, which is 2.75 in the lattice.
const RELAXATION: f32 = 0.33;

/// The numbers of one slot that the iterations read and write.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cell {
    /// Position [H].
    pub x: [f32; 3],
    /// Volume over H³.
    pub volume: f32,
    /// Gradient of the own density with the own position.
    pub gradient: [f32; 3],
    /// Density of reference over that of the matter; 0 for what is held.
    pub lightness: f32,
    /// Density over that at rest, minus 1, as it would be after the step without pressure.
    pub excess: f32,
    /// One over the diagonal of the matrix; 0 where there is no pressure.
    pub per_diagonal: f32,
}

/// Unknowns of one slot.
#[derive(Debug, Clone, Copy, Default)]
struct Unknown {
    now: f32,
    before: f32,
    /// Where the matrix is applied.
    ahead: f32,
    /// Error of the density that is left.
    excess: f32,
}

/// Scratch of the solver.
#[derive(Debug, Clone, Default)]
pub(super) struct Solver {
    unknowns: Vec<Unknown>,
    /// V (π x, π).
    pushes: Vec<Four>,
    /// V (δu, x·δu).
    moves: Vec<Four>,
}

/// How a solve went.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Solved {
    /// Iterations made.
    pub iterations: usize,
    /// Mean error of the density that is left, over the density at rest.
    pub error: f64,
    /// Sum of volume times scaled pressure times that error.
    pub slack: f64,
}

impl Solver {
    /// Finds pressures, beginning with those in `pressures`, until the mean error of the density of the `count` slots that have pressure
    /// is below `tolerance`.
    pub fn solve(
        &mut self,
        chunks: &[Chunk],
        cells: &[Cell],
        pressures: &mut [f32],
        tolerance: f64,
        most: usize,
    ) -> Solved {
        let count = cells.iter().filter(|c| c.per_diagonal > 0.0).count().max(1) as f64;
        self.unknowns.clear();
        self.unknowns.extend(pressures.iter().zip(cells).map(|(&p, cell)| {
            let p = if cell.per_diagonal > 0.0 { p } else { 0.0 };
            Unknown { now: p, before: p, ahead: p, excess: 0.0 }
        }));
        self.pushes.resize(cells.len(), Four::default());
        self.moves.resize(cells.len(), Four::default());
        let (mut pace, mut solved) = (1.0f32, Solved::default());
        while solved.iterations < most {
            for ((push, unknown), cell) in self.pushes.iter_mut().zip(&self.unknowns).zip(cells) {
                let p = cell.volume * unknown.ahead;
                *push = Four([p * cell.x[0], p * cell.x[1], p * cell.x[2], p]);
            }
            let unknowns = &self.unknowns;
            rows::sum(chunks, &self.pushes, &mut self.moves, |s, sum, out| {
                let cell = &cells[s];
                let p = unknowns[s].ahead;
                let u = [0, 1, 2].map(|k| -cell.lightness * (p * cell.gradient[k] + (cell.x[k] * sum[3] - sum[k])));
                let u = u.map(|u| u * cell.volume);
                *out = Four([u[0], u[1], u[2], u[0] * cell.x[0] + u[1] * cell.x[1] + u[2] * cell.x[2]]);
                [0.0; 2]
            });
            let moves = &self.moves;
            let [error, progress] = rows::sum(chunks, moves, &mut self.unknowns, |s, sum, unknown| {
                let cell = &cells[s];
                if cell.per_diagonal == 0.0 {
                    return [0.0; 2];
                }
                let own = moves[s].0;
                let dot = |a: &[f32; 3], b: &[f32; 4]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
                let excess = cell.excess + dot(&cell.gradient, &own) / cell.volume - dot(&cell.x, &sum) + sum[3];
                let next = (unknown.ahead + RELAXATION * cell.per_diagonal * excess).max(0.0);
                let error = ((next - unknown.ahead) / (RELAXATION * cell.per_diagonal)).abs();
                let progress = excess * (next - unknown.now);
                unknown.before = unknown.now;
                unknown.now = next;
                unknown.excess = excess;
                [error, progress]
            });
            solved.iterations += 1;
            solved.error = error / count;
            if solved.error <= tolerance {
                break;
            }
            let next = 0.5 * (1.0 + (1.0 + 4.0 * pace * pace).sqrt());
            let momentum = if progress < 0.0 { 0.0 } else { (pace - 1.0) / next };
            pace = if progress < 0.0 { 1.0 } else { next };
            for unknown in &mut self.unknowns {
                unknown.ahead = (unknown.now + momentum * (unknown.now - unknown.before)).max(0.0);
            }
        }
        for ((p, unknown), cell) in pressures.iter_mut().zip(&self.unknowns).zip(cells) {
            *p = unknown.now;
            solved.slack += f64::from(cell.volume * unknown.now * unknown.excess.abs());
        }
        solved
    }
}
