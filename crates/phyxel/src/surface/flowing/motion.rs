//! How matter moved between two frames: what carries the surfels of flowing matter along.
//!
//! Like [MKN04] eq. 27, but the reference is the last frame: u(p) = Σ w_i [dx_i + G_i (p - x_i)] / Σ w_i over the points
//! near p at the last frame. G_i is the least-squares gradient of the displacement, leaning toward zero where the
//! neighborhood is thin and bounded where the matter tears: there the motion is that of the points themselves.

use super::near::Remembered;
use crate::linalg::{double_dot, outer, trace};
use crate::neighbors::{Grid, Neighborhoods};
use glam::{DMat3, DVec3, Mat3, Vec3, Vec3A, Vec4};
use rayon::prelude::*;

/// How far a point carries surfels, and how far its flow is felt [spacings].
const REACH: f64 = 2.2;
/// Farthest that a point carries a surfel along with its surroundings, where it has no other [spacings].
const FARTHEST: f64 = 4.0;
/// What is farther than this from all points has been left behind [spacings].
const LEFT: f64 = 3.0;
/// Flow of a point is felt in full within this distance of a surfel [spacings].
const FULL: f64 = 1.2;
/// Share of the moment matrix added to its diagonal.
const LEAN: f64 = 0.005;
/// Largest norm of a displacement gradient; a half turn has 2.8.
const STEEPEST: f64 = 3.0;
/// Edge of the cells that share lists of what is near [spacings].
const CELL: f64 = 0.35;

/// The motion of all points from one frame to the next. f32 in cell order: each surfel reads some forty points.
#[derive(Debug, Default)]
pub(super) struct Motion {
    grid: Grid,
    /// Where f32 coordinates count from [m].
    middle: DVec3,
    /// Position against `middle` [m], and one over the squared reach [1/m²].
    spots: Vec<Vec4>,
    /// Gradient of the displacement by columns, and the displacement [m].
    maps: Vec<[Vec3A; 4]>,
    /// How much surfels around each fade.
    flow: Vec<f32>,
    /// Piece of each in this frame and in the last one.
    labels: Vec<[u32; 2]>,
    /// Place of each point in cell order.
    places: Vec<u32>,
    /// Largest spacing [m].
    largest: f64,
    /// Edge of the cells that share lists of what is near [m].
    cell: f32,
}

/// What is near the cells asked lately, and near the place asked last. One per task; a list depends on its cell alone.
#[derive(Debug, Default)]
pub(super) struct Company {
    lists: Remembered<(), Vec<u32>>,
    /// Points whose reach covers the place, with their squared distance [m²].
    near: Vec<(u32, f32)>,
}

/// The motion at one place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moved {
    /// [m].
    pub step: Vec3,
    /// That of `step` by place: ellipses change as the places of their neighbors do.
    pub gradient: Mat3,
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
        let gradients: Vec<DMat3> = (0..after.len()).into_par_iter().with_min_len(128).map(gradient).collect();
        let largest = before.spacings.iter().copied().filter(|a| a.is_finite()).fold(0.0, f64::max);
        let grid = Grid::new(before.positions, 0.5 * REACH * largest);
        let finite = || before.positions.iter().filter(|p| p.is_finite());
        let middle = finite().sum::<DVec3>() / finite().count().max(1) as f64;
        let order = || grid.order().iter().map(|&i| i as usize);
        let spot = |i: usize| (before.positions[i] - middle).as_vec3().extend((1.0 / (radii[i] * radii[i])) as f32);
        let column = |v: DVec3| v.as_vec3a();
        let map = |i: usize| {
            let g = gradients[i];
            [column(g.x_axis), column(g.y_axis), column(g.z_axis), column(steps[i])]
        };
        let mut places = vec![u32::MAX; after.len()];
        order().enumerate().for_each(|(k, i)| places[i] = k as u32);
        Self {
            spots: order().map(spot).collect(),
            maps: order().map(map).collect(),
            flow: order().map(|i| before.flow[i]).collect(),
            labels: order().map(|i| [before.labels[i], before.old_labels[i]]).collect(),
            places,
            middle,
            largest,
            cell: if largest > 0.0 { (CELL * largest) as f32 } else { 1.0 },
            grid,
        }
    }

    /// The motion at `p` [m] of the last frame, of matter that is one piece with point `host`.
    pub fn at(&self, p: Vec3, host: u32, company: &mut Company) -> Moved {
        let place = p.as_dvec3();
        let local = (place - self.middle).as_vec3a();
        self.gather(local, company);
        let near = &company.near;
        let host = self.host_near(place, host, near);
        let own = self.places.get(host as usize).copied().unwrap_or(u32::MAX) as usize;
        let Some(&[label, _]) = self.labels.get(own) else {
            return Moved { step: Vec3::ZERO, gradient: Mat3::ZERO, flow: 1.0, host };
        };
        let (mut sum, mut flow) = (0f32, 0f32);
        let [mut x, mut y, mut z, mut step, mut slope] = [Vec3A::ZERO; 5];
        for &(k, r2) in near.iter().filter(|(k, _)| self.labels[*k as usize][0] == label) {
            let k = k as usize;
            let q2 = r2 * self.spots[k].w;
            let square = (1.0 - q2) * (1.0 - q2);
            let w = square * (1.0 - q2);
            let away = local - Vec3A::from_vec4(self.spots[k]);
            let [gx, gy, gz, s] = self.maps[k];
            let own = s + gx * away.x + gy * away.y + gz * away.z;
            let change = (-6.0 * square * self.spots[k].w) * away;
            sum += w;
            slope += change;
            step += w * own;
            (x, y, z) = (x + w * gx + change.x * own, y + w * gy + change.y * own, z + w * gz + change.z * own);
            if self.flow[k] > 0.0 {
                flow = flow.max(self.flow[k] * ramp(q2.sqrt() * REACH as f32));
            }
        }
        if sum > 1e-6 {
            let part = 1.0 / sum;
            let step = step * part;
            let [x, y, z] = [x - slope.x * step, y - slope.y * step, z - slope.z * step].map(|column| column * part);
            // At the end of all reach the weights change without bound.
            let norm = (x.length_squared() + y.length_squared() + z.length_squared()).sqrt();
            let gradient =
                Mat3::from_cols(x.into(), y.into(), z.into()) * (STEEPEST as f32 / norm.max(STEEPEST as f32));
            return Moved { step: step.into(), gradient, flow, host };
        }
        // Beyond the reach of all: with the nearest point and its surroundings.
        let away = local - Vec3A::from_vec4(self.spots[own]);
        let flow = if away.length() > (LEFT * self.largest) as f32 { 1.0 } else { self.flow[own] };
        let away = away.clamp_length_max((FARTHEST * self.largest) as f32);
        let [gx, gy, gz, s] = self.maps[own];
        let step = s + gx * away.x + gy * away.y + gz * away.z;
        let gradient = Mat3::from_cols(gx.into(), gy.into(), gz.into());
        Moved { step: step.into(), gradient, flow, host }
    }

    /// Lists the points whose reach covers a place, in cell order.
    fn gather(&self, local: Vec3A, company: &mut Company) {
        let Company { lists, near } = company;
        near.clear();
        if self.grid.is_empty() || !local.is_finite() {
            return;
        }
        let cell = (local / self.cell).floor().as_ivec3();
        let list = lists.of(cell, (), |list| self.list((cell.as_vec3a() + 0.5) * self.cell, list));
        for &k in list {
            let spot = self.spots[k as usize];
            let r2 = (local - Vec3A::from_vec4(spot)).length_squared();
            if r2 * spot.w < 1.0 {
                near.push((k, r2));
            }
        }
    }

    /// Lists the points whose reach covers some place of the cell around `middle`.
    fn list(&self, middle: Vec3A, list: &mut Vec<u32>) {
        list.clear();
        // From the middle of a cell to its corners, and a little for rounding.
        let half = 0.867 * self.cell;
        let place = self.middle + middle.as_dvec3();
        let reach = REACH * self.largest + f64::from(half);
        self.grid.for_each_range(self.grid.cell(place - reach), self.grid.cell(place + reach), |range| {
            for k in range {
                let spot = self.spots[k];
                let away = (middle - Vec3A::from_vec4(spot)).length() - half;
                if away * away * spot.w < 1.0 || away < 0.0 {
                    list.push(k as u32);
                }
            }
        });
    }

    /// The point nearest to a place among those that were one piece with `host` at the last frame; `host` where none is near.
    fn host_near(&self, place: DVec3, host: u32, near: &[(u32, f32)]) -> u32 {
        let own = self.places.get(host as usize).copied().unwrap_or(u32::MAX);
        let old = self.labels.get(own as usize).map_or(0, |l| l[1]);
        let mut best = (f32::INFINITY, host);
        for &(k, r2) in near.iter().filter(|(k, _)| self.labels[*k as usize][1] == old) {
            let i = self.grid.order()[k as usize];
            if r2 < best.0 || (r2 == best.0 && i < best.1) {
                best = (r2, i);
            }
        }
        // Where no piece is told apart, the nearest point carries what has lost all company.
        if best.0 == f32::INFINITY && old == 0 {
            return self.grid.nearest(place).map_or(host, |(i, _)| i as u32);
        }
        best.1
    }
}

/// How much of a point's flow is felt at a distance in spacings.
fn ramp(r: f32) -> f32 {
    let (reach, full) = (REACH as f32, FULL as f32);
    let t = ((reach - r) / (reach - full)).clamp(0.0, 1.0);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ellipses_are_not_drawn_out_at_the_end_of_all_reach() {
        // Two points that part, and places that only just feel one or both.
        let positions = [DVec3::ZERO, 2.4 * DVec3::X];
        let after = [-0.5 * DVec3::X, 2.9 * DVec3::X];
        let before = Before {
            positions: &positions,
            spacings: &[1.0; 2],
            flow: &[1.0; 2],
            labels: &[1; 2],
            old_labels: &[1; 2],
        };
        let motion = Motion::new(before, &after);
        let mut steepest: f32 = 0.0;
        for k in 0..2000 {
            let place = Vec3::new(1.2 + 1e-4 * (k % 20) as f32, 1.8 + 1e-3 * (k / 20) as f32, 0.0);
            let moved = motion.at(place, 0, &mut Company::default());
            let columns = [moved.gradient.x_axis, moved.gradient.y_axis, moved.gradient.z_axis];
            steepest = columns.iter().map(|c| c.length_squared()).sum::<f32>().sqrt().max(steepest);
        }
        assert!((2.0..1.001 * STEEPEST as f32).contains(&steepest), "{steepest}");
    }
}
