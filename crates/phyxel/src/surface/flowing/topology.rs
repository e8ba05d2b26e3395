//! Where the topology of matter changes: what a detail surface hands over to the implicit one, [MKN04] 5.2.2.
//!
//! Each point has a change g, 0 ..= 1, that only grows: with how far its exposure Q (`boundary.rs`) has left its value when the
//! surface began, beyond a dead zone; with its unrest D, how far its neighbors of the start have left every affine motion; and to 1
//! at once where matter near it parts or fuses. Compared with the start, not with the frame before, it does not depend on the number of
//! frames; Q of matter that never flowed does not change at all. Where D is large points have changed places: nobody knows how what lies
//! between them, which is the detail, has moved, and carried on it would be torn.

use super::{FlowingSurface, Scratch};
use crate::linalg::{outer, trace};
use crate::neighbors::Neighborhoods;
use crate::surface::boundary::exposure;
use bytemuck::{Pod, Zeroable};
use glam::{DMat3, DVec3};
use rayon::prelude::*;

/// Neighbors that tell the exposure are nearer than this [spacings].
const NEAR: f64 = 2.33;
/// Change of exposure that is none: members that come and go under stretch and twist cause it.
const DEAD: f32 = 0.3;
/// Change per exposure beyond that; face to inside is 0.7.
const GAIN: f32 = 4.0;
/// Unrest at which change begins and is whole [spacings]; a ball drawn to twice its length and twisted by half a turn has 0.37.
const UNREST: (f32, f32) = (0.4, 0.7);
/// Points of a pair that parts or fuses are nearer than this [spacings].
const PAIR: f64 = 1.5;
/// Frames in which points look for open surface after they parted or fused.
const FRESH: u32 = 12;
/// Of these, those in which surfels fade fast.
const FAST: u32 = 3;
/// Share of the moment matrix added to its diagonal: flat neighborhoods have no affine motion of their own across.
const LEAN: f64 = 1e-6;
/// No label.
const UNKNOWN: u32 = u32::MAX;
/// Points per parallel task.
const CHUNK: usize = 128;

/// What a member remembers of its matter.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Mark {
    /// Exposure when the surface began; NaN: to be taken.
    pub reference: f32,
    /// How much the topology around has changed, 0 ..= 1.
    pub change: f32,
    /// When its start was taken down, as a number of the update; 0 at rest.
    began: u32,
    /// Frames left in which it looks for open surface.
    pub fresh: u32,
    /// Piece at the last frame; `UNKNOWN` for those that have just joined.
    label: u32,
    /// Whether it flowed at the last frame.
    flowing: u32,
}

impl Mark {
    /// Of a point that has just joined.
    pub fn new() -> Self {
        Self { reference: f32::NAN, change: 0.0, began: 0, fresh: 0, label: UNKNOWN, flowing: 0 }
    }

    /// Piece at the last frame; None for a point that has just joined.
    pub fn known_label(&self) -> Option<u32> {
        (self.label != UNKNOWN).then_some(self.label)
    }

    /// Whether it flows now.
    pub fn is_flowing(&self) -> bool {
        self.flowing != 0
    }

    /// Whether its matter parted or fused in one of the last frames.
    pub fn is_fast(&self) -> bool {
        self.fresh > FRESH - FAST
    }
}

impl FlowingSurface {
    /// Brings the marks of all members to this frame. `flow` is how much they flow now.
    pub(super) fn watch_topology(&mut self, flow: &[f32]) {
        self.scratch.hardened.clear();
        for (i, mark) in self.marks.iter_mut().enumerate() {
            mark.fresh = mark.fresh.saturating_sub(1);
            if mark.label == UNKNOWN {
                mark.label = self.scratch.labels[i];
            }
            // What turns solid keeps the surface that it has now.
            let hardens = mark.flowing != 0 && flow[i] == 0.0;
            if hardens {
                (mark.reference, mark.change) = (f32::NAN, 0.0);
                (self.starts[i], mark.began) = (self.last[i], self.counters.frame.wrapping_add(1));
            }
            self.scratch.hardened.push(hardens && self.scratch.detailed[i]);
        }
        self.find_events();
        self.find_changes(flow);
        let s = &self.scratch;
        for (i, mark) in self.marks.iter_mut().enumerate() {
            mark.label = s.labels[i];
            mark.flowing = u32::from(flow[i] > 0.0);
            if !s.detailed[i] {
                (mark.change, mark.fresh) = (s.flowed[i], 0);
            }
        }
    }

    /// Marks pairs that were one piece and are not any more, or the reverse.
    fn find_events(&mut self) {
        let s = &self.scratch;
        let regrouped = self.marks.iter().zip(&s.labels).any(|(m, l)| m.label != *l);
        if !regrouped {
            return;
        }
        let radii: Vec<f64> = s.spacings.iter().map(|a| PAIR * a).collect();
        let before = Neighborhoods::with_radii(&self.last, &radii);
        let now = Neighborhoods::with_radii(&s.positions, &radii);
        let marks = &self.marks;
        let was_one = |i: usize, j: usize| marks[i].label == marks[j].label;
        let is_one = |i: usize, j: usize| s.labels[i] == s.labels[j];
        let parted = |i: usize| before.of(i).any(|j| was_one(i, j) && !is_one(i, j));
        let fused = |i: usize| now.of(i).any(|j| !was_one(i, j) && is_one(i, j));
        let all = (0..marks.len()).into_par_iter().with_min_len(CHUNK);
        let events: Vec<bool> = all.map(|i| s.detailed[i] && (parted(i) || fused(i))).collect();
        for (mark, event) in self.marks.iter_mut().zip(events) {
            if event {
                (mark.change, mark.fresh) = (1.0, FRESH);
            }
        }
    }

    /// Compares exposures of what flows with those of the start. What is solid keeps its neighbors: its exposure does not change, though
    /// a blow may bring others near for a while.
    fn find_changes(&mut self, flow: &[f32]) {
        let s = &self.scratch;
        if !s.detailed.iter().any(|d| *d) {
            return;
        }
        let radii: Vec<f64> = s.spacings.iter().map(|a| NEAR * a).collect();
        if self.marks.iter().any(|m| m.reference.is_nan()) {
            // Those that join begin where the last frame, or rest, had them; those that turned solid begin now.
            let before = Neighborhoods::with_radii(&self.last, &radii);
            let all = self.marks.par_iter_mut().with_min_len(CHUNK).enumerate();
            all.filter(|(i, m)| m.reference.is_nan() && s.detailed[*i])
                .for_each(|(i, m)| m.reference = exposure_of(i, &self.last, s, &before));
        }
        let near = Neighborhoods::with_radii(&s.positions, &radii);
        let start = Neighborhoods::with_radii(&self.starts, &radii);
        let began: Vec<u32> = self.marks.iter().map(|m| m.began).collect();
        self.marks.par_iter_mut().with_min_len(CHUNK).enumerate().for_each(|(i, mark)| {
            if s.detailed[i] && flow[i] > 0.0 && mark.change < 1.0 {
                let moved = (exposure_of(i, &s.positions, s, &near) - mark.reference).abs();
                let unrest = (unrest(i, &self.starts, &began, s, &start) - UNREST.0) / (UNREST.1 - UNREST.0);
                mark.change = mark.change.max((GAIN * (moved - DEAD)).max(unrest).clamp(0.0, 1.0));
            }
        });
    }
}

fn exposure_of(i: usize, positions: &[DVec3], s: &Scratch, near: &Neighborhoods) -> f32 {
    let own = near.of(i).filter(|&j| s.labels[j] == s.labels[i]);
    exposure(own.map(|j| positions[j] - positions[i])) as f32
}

/// How far the neighbors of the start, those of one piece and body still, have left the affine motion that fits them best since then, root
/// of the mean square [spacings].
fn unrest(i: usize, starts: &[DVec3], began: &[u32], s: &Scratch, near: &Neighborhoods) -> f32 {
    let same = |j: usize| s.labels[j] == s.labels[i] && s.bodies[j] == s.bodies[i] && began[j] == began[i];
    let ways = || near.of(i).filter(|&j| same(j)).map(|j| (starts[j] - starts[i], s.positions[j] - s.positions[i]));
    let (mut moment, mut moved, mut count) = (DMat3::ZERO, DMat3::ZERO, 0.0);
    for (before, now) in ways() {
        moment += outer(before, before);
        moved += outer(now, before);
        count += 1.0;
    }
    let lean = LEAN * trace(moment);
    if !(lean > 0.0 && lean.is_finite()) {
        return 0.0;
    }
    let map = moved * (moment + DMat3::from_diagonal(DVec3::splat(lean))).inverse();
    let squares: f64 = ways().map(|(before, now)| (now - map * before).length_squared()).sum();
    ((squares / count).sqrt() / s.spacings[i]) as f32
}
