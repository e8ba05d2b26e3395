//! How matter moved between two frames: what carries the surfels of flowing matter along.
//!
//! Like [MKN04] eq. 27, but the reference is the last frame: u(p) = Σ w_i [dx_i + G_i (p - x_i)] / Σ w_i over the points
//! near p at the last frame. G_i is the least-squares gradient of the displacement, leaning toward zero where the
//! neighborhood is thin and bounded where the matter tears: there the motion is that of the points themselves.

use crate::linalg::{double_dot, outer, trace};
use crate::neighbors::{Grid, Neighborhoods};
use glam::{DMat3, DVec3};
use rayon::prelude::*;

/// How far a point carries surfels, and how far its flow is felt [spacings].
const REACH: f64 = 2.2;
/// Farthest that a point carries a surfel along with its surroundings, where it has no other [spacings].
const FARTHEST: f64 = 4.0;
/// Flow of a point is felt in full within this distance of a surfel [spacings].
const FULL: f64 = 1.2;
/// Share of the moment matrix added to its diagonal.
const LEAN: f64 = 0.005;
/// Largest norm of a displacement gradient; a half turn has 2.8.
const STEEPEST: f64 = 3.0;

/// The motion of all points from one frame to the next.
#[derive(Debug, Default)]
pub(super) struct Motion {
    grid: Grid,
    /// Displacement of each point [m].
    steps: Vec<DVec3>,
    /// Gradient of the displacement around each point.
    gradients: Vec<DMat3>,
    /// Largest spacing [m].
    largest: f64,
}

/// The motion at one place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moved {
    /// [m].
    pub step: DVec3,
    pub gradient: DMat3,
    /// How much surfels fade here, 0 ..= 1.
    pub flow: f32,
    /// The nearest point of the surfel's piece.
    pub host: u32,
}

/// Points at the last frame, with what is told about them.
#[derive(Clone, Copy)]
pub(super) struct Before<'a> {
    pub positions: &'a [DVec3],
    pub spacings: &'a [f64],
    pub flow: &'a [f32],
    /// Pieces of this frame, and what is remembered of the last one.
    pub labels: &'a [u32],
    pub old_labels: &'a [u32],
}

impl Motion {
    /// From the positions of the last frame to those of this one.
    pub fn new(before: Before, after: &[DVec3]) -> Self {
        let radii: Vec<f64> = before.spacings.iter().map(|a| REACH * a).collect();
        let near = Neighborhoods::with_radii(before.positions, &radii);
        let steps: Vec<DVec3> = after.iter().zip(before.positions).map(|(y, x)| *y - *x).collect();
        let gradient = |i: usize| gradient(i, before, &steps, &radii, &near);
        let gradients = (0..after.len()).into_par_iter().with_min_len(128).map(gradient).collect();
        let largest = before.spacings.iter().copied().filter(|a| a.is_finite()).fold(0.0, f64::max);
        Self { grid: Grid::new(before.positions, 0.5 * REACH * largest), steps, gradients, largest }
    }

    /// The motion at `p` [m] of the last frame, of matter that is one piece with point `host`.
    pub fn at(&self, p: DVec3, host: u32, before: Before) -> Moved {
        let host = self.host_near(p, host, before);
        let label = before.labels.get(host as usize).copied().unwrap_or(0);
        let (mut sum, mut step, mut linear, mut flow) = (0.0, DVec3::ZERO, DMat3::ZERO, 0f64);
        self.grid.for_each_within(p, REACH * self.largest, |i, r2| {
            if before.labels[i] != label {
                return;
            }
            let spacing = before.spacings[i];
            let q2 = r2 / (REACH * spacing * REACH * spacing);
            if q2 < 1.0 {
                let w = (1.0 - q2) * (1.0 - q2) * (1.0 - q2);
                sum += w;
                step += w * (self.steps[i] + self.gradients[i] * (p - before.positions[i]));
                linear += self.gradients[i] * w;
                if before.flow[i] > 0.0 {
                    flow = flow.max(f64::from(before.flow[i]) * ramp(r2.sqrt() / spacing));
                }
            }
        });
        if sum > 1e-6 {
            return Moved { step: step / sum, gradient: linear * (1.0 / sum), flow: flow as f32, host };
        }
        // Beyond the reach of all: with the nearest point and its surroundings.
        let Some(step) = self.steps.get(host as usize) else {
            return Moved { step: DVec3::ZERO, gradient: DMat3::ZERO, flow: 1.0, host };
        };
        let h = host as usize;
        let away = (p - before.positions[h]).clamp_length_max(FARTHEST * self.largest);
        let gradient = self.gradients[h];
        Moved { step: *step + gradient * away, gradient, flow: before.flow[h], host }
    }

    /// The point nearest to `p` among those that were one piece with `host` at the last frame; `host` where none is near.
    fn host_near(&self, p: DVec3, host: u32, before: Before) -> u32 {
        let old = before.old_labels.get(host as usize).copied().unwrap_or(0);
        let mut best = (f64::INFINITY, host);
        // Most hosts are nearer than this; a wider search is dear.
        for reach in [0.6 * REACH, REACH] {
            self.grid.for_each_within(p, reach * self.largest, |i, r2| {
                let nearer = r2 < best.0 || (r2 == best.0 && (i as u32) < best.1);
                if nearer && before.old_labels[i] == old {
                    best = (r2, i as u32);
                }
            });
            if best.0 < f64::INFINITY {
                break;
            }
        }
        // Where no piece is told apart, the nearest point carries what has lost all company.
        if best.0 == f64::INFINITY && old == 0 {
            return self.grid.nearest(p).map_or(host, |(i, _)| i as u32);
        }
        best.1
    }
}

/// How much of a point's flow is felt at a distance in spacings.
fn ramp(r: f64) -> f64 {
    let t = ((REACH - r) / (REACH - FULL)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

fn gradient(i: usize, before: Before, steps: &[DVec3], radii: &[f64], near: &Neighborhoods) -> DMat3 {
    let (positions, labels) = (before.positions, before.labels);
    let (mut moment, mut moved) = (DMat3::ZERO, DMat3::ZERO);
    for j in near.of(i).filter(|&j| labels[j] == labels[i]) {
        let r = positions[j] - positions[i];
        let radius = 0.5 * (radii[i] + radii[j]);
        let q2 = r.length_squared() / (radius * radius);
        let w = (1.0 - q2).max(0.0).powi(3);
        moment += outer(w * r, r);
        moved += outer(w * (steps[j] - steps[i]), r);
    }
    let lean = LEAN / 3.0 * trace(moment);
    if !(lean > 0.0 && lean.is_finite()) {
        return DMat3::ZERO;
    }
    let inverse = (moment + DMat3::from_diagonal(DVec3::splat(lean))).inverse();
    let leaning = moved * inverse;
    // Once more for what leaning has cost: well-filled neighborhoods lose nearly nothing, thin ones stay calm.
    let gradient = leaning + (moved - leaning * moment) * inverse;
    let norm = double_dot(gradient, gradient).sqrt();
    if norm.is_finite() { gradient * (STEEPEST / norm.max(STEEPEST)) } else { DMat3::ZERO }
}
