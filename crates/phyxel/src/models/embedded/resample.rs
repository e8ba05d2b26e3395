//! Points of thin matter are split, and joined again where they crowd.
//!
//! Matter that has flowed until it is about one point thick goes on to get thinner, and its points, each as thick as it is wide, come
//! apart. The thickness of a sheet at a point is t = Σ v W over what is near, with a kernel W of the plane. Where it is less than `THINNER`
//! spacings a point is split along the sheet into two of half the volume, at most twice; where it is more than `THICKER` spacings
//! again, or matter is no sheet any more, pairs that were split are joined.
//!
//! A half has all that the whole had: velocity, elastic deformation, P, accumulated flow. Mass, volume, momentum, angular momentum
//! and energy are kept. Of two that are joined mass, volume, momentum, and the sums of accumulated flow and elastic deformation by volume
//! are kept; their motion against each other is lost.

use super::part::{Fit, Part};
use super::stencils::Look;
use super::svd::nearest_rotation;
use crate::linalg::{SymmetricEigen, outer};
use crate::neighbors::Neighborhoods;
use crate::points::Points;
use glam::{DMat3, DQuat, DVec3};
use rayon::prelude::*;
use std::f64::consts::PI;

/// Thickness in spacings below which points of a sheet are split, and above which small ones are joined.
const THINNER: f64 = 1.6;
const THICKER: f64 = 2.4;
/// How much of what holds thin matter together acts on points that can be split.
pub(super) const HOLD: f32 = 0.3;
/// Part of its volume at the start that a point must have to be split.
const SMALLEST: f64 = 0.4;
/// Distance of two halves in spacings of the whole, and least distance of a half from others in mean spacings.
const HALVES: f64 = 0.75;
const LEAST_DISTANCE: f64 = 0.65;
/// Directions along the sheet that are tried.
const DIRECTIONS: usize = 12;
/// Neighborhoods are sheets when the least moment is below this part of the middle one, and that above this part of the largest.
const FLAT: [f64; 2] = [0.6, 0.2];
/// How much more matter may be on one side of a point that is split: points at the edge of a sheet are not.
const LOPSIDED: f64 = 0.4;
/// Distance from a point that is split or joined within which no other is split at once, in spacings.
const BESIDE: f64 = 1.6;
/// Distance up to which two points are joined, in mean spacings.
const NEAR: f64 = 1.15;

/// What is done to the points of a body; all numbers are those before anything is done.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Resampling {
    /// Who is split, and half of the way from one half to the other [m].
    pub splits: Vec<(usize, DVec3)>,
    /// Who stays and who goes in it.
    pub joins: Vec<(usize, usize)>,
}

/// Of the plane [1/m²].
fn kernel(r2: f64, reach: f64) -> f64 {
    4.0 / (PI * reach * reach) * (1.0 - r2 / (reach * reach)).max(0.0).powi(3)
}

impl Part {
    /// Whether a point may be split.
    #[inline]
    pub(super) fn can_split(&self, k: usize) -> bool {
        self.slots_end > self.range.end && self.volumes[k] > SMALLEST * self.wholes[k]
    }

    /// What is to be done to the points of the body: at most `self.slots_end - self.range.end` are split; `held` ones stay as they are, and
    /// only those behind the first `sampled` may go, if any may.
    pub(crate) fn plan(&self, points: &Points, held: &[bool], sampled: usize, may_join: bool) -> Resampling {
        let mut plan = Resampling::default();
        if !self.flowed || self.published.is_some() {
            return plan;
        }
        let positions = &points.positions[self.range.clone()];
        // Pairs closer than the sum of their spacings.
        let radii: Vec<f64> = self.spacings.iter().map(|a| 2.0 * a).collect();
        let near = Neighborhoods::with_radii(positions, &radii);
        let thick: Vec<f64> =
            (0..self.len()).into_par_iter().with_min_len(256).map(|i| self.thickness(i, positions, &near)).collect();
        let mut used = held.to_vec();
        let free = |k: usize| self.memories[k].flowed() >= 1.0 && !self.memories[k].lost;
        if may_join {
            for gone in (sampled..self.len()).rev() {
                if used[gone] || thick[gone] < THICKER * self.spacings[gone] || !free(gone) {
                    continue;
                }
                let fits = |&j: &usize| !used[j] && free(j) && self.may_join(gone, j, positions);
                let distance = |j: usize| positions[gone].distance_squared(positions[j]);
                let best = near.of(gone).filter(fits).min_by(|&a, &b| distance(a).total_cmp(&distance(b)));
                if let Some(other) = best {
                    plan.joins.push((other.min(gone), other.max(gone)));
                    (used[gone], used[other]) = (true, true);
                }
            }
        }
        for k in 0..self.len() {
            if plan.splits.len() == self.slots_end - self.range.end {
                break;
            }
            let most = THINNER * self.spacings[k];
            if thick[k] > most || used[k] || !free(k) || !self.can_split(k) {
                continue;
            }
            // Not beside one that is split or joined now: it sees what that does the next time.
            let beside =
                |j: usize| used[j] && !held[j] && positions[k].distance(positions[j]) < BESIDE * self.spacings[k];
            let Some(plane) = self.plane(k, positions, &near, &thick, most) else { continue };
            if near.of(k).any(beside) {
                continue;
            }
            if let Some(half) = self.way(k, plane, positions, &near) {
                plan.splits.push((k, half));
                used[k] = true;
            }
        }
        plan
    }

    /// Thickness of a sheet at a point [m]; more where it is none.
    fn thickness(&self, i: usize, positions: &[DVec3], near: &Neighborhoods) -> f64 {
        let own = self.spacings[i];
        let matter =
            |j: usize| self.volumes[j] * kernel(positions[i].distance_squared(positions[j]), own + self.spacings[j]);
        self.volumes[i] * kernel(0.0, 2.0 * own) + near.of(i).map(matter).sum::<f64>()
    }

    /// Two directions along the sheet at a point; None where it is none. At its edge, where the kernel is half empty, the sheet is as
    /// thick as beside the point, and that must be less than `most` [m] too.
    fn plane(
        &self,
        i: usize,
        positions: &[DVec3],
        near: &Neighborhoods,
        thick: &[f64],
        most: f64,
    ) -> Option<[DVec3; 2]> {
        let (mut side, mut sides, mut moments) = (DVec3::ZERO, 0.0, DMat3::ZERO);
        for j in near.of(i) {
            let to = positions[j] - positions[i];
            let matter = self.volumes[j] * kernel(to.length_squared(), self.spacings[i] + self.spacings[j]);
            side += to * matter;
            sides += to.length() * matter;
            moments += outer(to, to * matter);
        }
        let eigen = SymmetricEigen::new(moments);
        let [least, middle, largest] = eigen.values.to_array();
        let flat = least < FLAT[0] * middle && middle > FLAT[1] * largest;
        let inside = side.length() < LOPSIDED * sides || near.of(i).all(|j| thick[j] < most);
        (flat && inside).then_some([eigen.vectors.y_axis, eigen.vectors.z_axis])
    }

    fn may_join(&self, i: usize, j: usize, positions: &[DVec3]) -> bool {
        let reach = 0.5 * (self.spacings[i] + self.spacings[j]);
        self.volumes[i] + self.volumes[j] <= 1.001 * self.wholes[i].min(self.wholes[j])
            && positions[i].distance(positions[j]) < NEAR * reach
            && self.embedded[i].distance(self.embedded[j]) < 2.0 * reach
    }

    /// Half of the way from one half of a point to the other along a sheet, where there is the most room; None where there is none.
    fn way(&self, k: usize, [u, v]: [DVec3; 2], positions: &[DVec3], near: &Neighborhoods) -> Option<DVec3> {
        let small = self.spacings[k] * 0.5f64.cbrt();
        let room = |half: DVec3| {
            let of = |j: usize| {
                let to = positions[j] - positions[k];
                (to - half).length().min((to + half).length()) / (0.5 * (small + self.spacings[j]))
            };
            near.of(k).map(of).fold(f64::INFINITY, f64::min)
        };
        let halves = (0..DIRECTIONS).map(|d| {
            let (sine, cosine) = (PI * d as f64 / DIRECTIONS as f64).sin_cos();
            (u * cosine + v * sine) * (0.5 * HALVES * self.spacings[k])
        });
        let best = halves.map(|half| (room(half), half)).max_by(|a, b| a.0.total_cmp(&b.0))?;
        (best.0 > LEAST_DISTANCE).then_some(best.1)
    }

    /// Finds the elastic deformation at the present positions, which stays what it is while neighborhoods change.
    pub(crate) fn find_elastic(&mut self, points: &Points) {
        self.load(points);
        for k in 0..self.len() {
            let elastic = self.elastic(k, points);
            self.fits[k].elastic = elastic;
            self.fits[k].rotation = nearest_rotation(elastic);
        }
    }

    /// Splits a point; the new half is the last of the body. The table of points is the caller's.
    pub(crate) fn split(&mut self, k: usize, half: DVec3) {
        let gradient = self.fits[k].elastic * self.memories[k].plastic;
        let mut apart = gradient.inverse() * half;
        // What is stretched beyond sense in embedded space is laid as in the world.
        if !apart.is_finite() || apart.length() > 2.0 * half.length() {
            apart = nearest_rotation(gradient).transpose() * half;
        }
        self.volumes[k] *= 0.5;
        self.spacings[k] *= 0.5f64.cbrt();
        let look = self.looks[k];
        let beside = |sign: f64| Look { position: look.position + half * sign, ..look };
        self.embedded.push(self.embedded[k] + apart);
        self.embedded[k] -= apart;
        self.looks.push(beside(1.0));
        self.looks[k] = beside(-1.0);
        self.volumes.push(self.volumes[k]);
        self.wholes.push(self.wholes[k]);
        self.origins.push(self.origins[k]);
        self.spacings.push(self.spacings[k]);
        self.memories.push(self.memories[k]);
        self.fits.push(self.fits[k]);
        self.sends.push(self.sends[k]);
        self.range.end += 1;
    }

    /// Puts what is of one point into another, by volume.
    pub(crate) fn join(&mut self, keep: usize, gone: usize) {
        let (a, b) = (self.volumes[keep], self.volumes[gone]);
        let (p, q) = (a / (a + b), b / (a + b));
        let sum = |x: DVec3, y: DVec3| x * p + y * q;
        self.embedded[keep] = sum(self.embedded[keep], self.embedded[gone]);
        let (first, second) = (self.looks[keep], self.looks[gone]);
        self.looks[keep] = Look {
            position: sum(first.position, second.position),
            flowed: first.flowed * p + second.flowed * q,
            stretch: first.stretch.max(second.stretch),
            broken: first.broken || second.broken,
        };
        let (own, other) = (self.fits[keep], self.fits[gone]);
        let elastic = own.elastic * p + other.elastic * q;
        self.fits[keep] = Fit { elastic, rotation: nearest_rotation(elastic), ..own };
        let other = self.memories[gone];
        let memory = &mut self.memories[keep];
        memory.set_plastic(memory.plastic * p + other.plastic * q);
        memory.kept = memory.kept * p + other.kept * q;
        memory.prior = memory.prior * p + other.prior * q;
        memory.flow = memory.flow * p + other.flow * q;
        memory.recent = memory.recent * p + other.recent * q;
        let turn = if memory.frame.dot(other.frame) < 0.0 { -other.frame } else { other.frame };
        memory.frame = DQuat::normalize(memory.frame * p + turn * q);
        self.volumes[keep] = a + b;
        self.spacings[keep] = (self.spacings[keep].powi(3) + self.spacings[gone].powi(3)).cbrt();
    }

    /// Takes a point away; the last one comes into its place.
    pub(crate) fn remove(&mut self, k: usize) {
        self.embedded.swap_remove(k);
        self.looks.swap_remove(k);
        self.volumes.swap_remove(k);
        self.wholes.swap_remove(k);
        self.origins.swap_remove(k);
        self.spacings.swap_remove(k);
        self.memories.swap_remove(k);
        self.fits.swap_remove(k);
        self.sends.swap_remove(k);
        self.range.end -= 1;
    }

    /// Makes neighborhoods anew after points were split and joined; the elastic deformation stays what `find_elastic` found.
    pub(crate) fn settle(&mut self, points: &Points) {
        self.rebuild();
        self.load(points);
        for k in 0..self.len() {
            // What has never flowed is far from all of this, and stays as it is to the bit.
            if self.memories[k].flow > 0.0 && !self.memories[k].lost {
                self.keep_elastic(k);
            }
        }
    }

    /// P = F⁻¹ G for the present G; the flow since the last renewal, in embedded space, stays what it was.
    fn keep_elastic(&mut self, k: usize) {
        let (memory, elastic) = (&mut self.memories[k], self.fits[k].elastic);
        let recent = memory.inverse * memory.kept;
        if self.stencils.priors[k] != DMat3::ZERO {
            memory.prior = elastic * super::renewal::unstretched(memory, memory.flowed());
        }
        let gradient = self.stencils.gradient(k, &self.places, memory.prior);
        let wanted = elastic.inverse() * gradient;
        let (plastic, _) = super::stencils::clamp_stretches(wanted, super::part::PLASTIC[0], super::part::PLASTIC[1]);
        memory.set_plastic(plastic);
        memory.kept = plastic * recent;
    }

    /// Takes over what the table says of its points, of which there are as many as given; for restarts.
    pub(crate) fn resize(&mut self, points: &Points, wholes: Vec<f64>, origins: Vec<u32>) {
        let count = wholes.len();
        self.range.end = self.range.start + count;
        self.volumes = points.volumes[self.range.clone()].to_vec();
        self.spacings = points.spacings[self.range.clone()].to_vec();
        self.embedded.resize(count, DVec3::ZERO);
        self.looks.resize(count, Look::default());
        let full = self.matter.map_or(super::state::FULL_FLOW, |m| m.full_flow);
        self.memories.resize(count, super::state::Memory { full, ..super::state::Memory::NEW });
        self.fits.resize(count, Fit::REST);
        let nothing = [crate::models::mls::flow::lanes::Row::ZERO; 2];
        self.sends.resize(count, nothing);
        (self.wholes, self.origins) = (wholes, origins);
    }
}
