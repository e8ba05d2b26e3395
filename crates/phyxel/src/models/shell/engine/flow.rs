//! Plastic flow: the rest lengths and angles of the fibers of a node follow the tensor that yields.

use super::{CHUNK, Center, Engine, Group};
use crate::models::shell::lanes::{LANES, Stored};
use crate::models::shell::law::FiberTerm;
use crate::models::shell::plastic::{Flowing, ShellFlow};
use glam::DVec3;
use rayon::prelude::*;

/// What one node does in a step.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct NodeFlow {
    /// Plastic strain (mean, deviator, shear) that is added.
    strain: Option<DVec3>,
    /// Plastic curvature that is added [1/m].
    curvature: Option<DVec3>,
    /// Single fibers flow, of lengths and of angles, since there is no tensor.
    single: [bool; 2],
}

impl Engine {
    /// Lets the fibers flow for `dt` [s] at what the last `measure` saw; returns the energy that this takes [J], and None where
    /// nothing flows.
    pub fn flow(&mut self, law: &ShellFlow, dt: f64) -> Option<f64> {
        let part = law.part(dt);
        if law.fatigue > 0.0 {
            self.keep_strengths();
        }
        self.decide(law, part);
        let changed = self.apply(law, part);
        (!changed.is_empty()).then(|| self.dissipated(&changed))
    }

    /// Finds what flows.
    fn decide(&mut self, law: &ShellFlow, part: f64) {
        self.flows.resize(self.centers.len(), NodeFlow::default());
        let (groups, originals, stride) = (&self.groups, &self.originals, self.group_stride);
        let looks = self.seen.par_chunks(stride).zip(self.guards.par_chunks(stride)).zip(self.own.par_chunks(CHUNK));
        let tasks = self.flows.par_chunks_mut(CHUNK).zip(self.centers.par_chunks(CHUNK)).zip(looks);
        tasks.for_each(|((flows, centers), ((seen, guards), own))| {
            let mut place = 0;
            for ((flow, center), own) in flows.iter_mut().zip(centers).zip(own) {
                let groups_before = place;
                place += usize::from(center.groups);
                let single = [center.membrane[1] <= 0.0, center.bending[1] <= 0.0];
                // Nearly always nothing flows, and the fits that the forces came from say so.
                if law.stays_elastic(own.plain) {
                    *flow = NodeFlow { single, ..NodeFlow::default() };
                    continue;
                }
                let look = Look {
                    plain: own.plain,
                    groups: &groups[center.group_range()],
                    originals: &originals[center.group_range()],
                    seen: &seen[groups_before..],
                    guards: &guards[groups_before..],
                };
                *flow = look.decide(center, law, part);
            }
        });
    }

    /// Changes the rest state of what flows; returns the nodes with a change.
    fn apply(&mut self, law: &ShellFlow, part: f64) -> Vec<u32> {
        let mut all = Stored::splat(1.0);
        let mut changed = Vec::new();
        for (chunk, centers) in self.centers.chunks(CHUNK).enumerate() {
            let mut place = chunk * self.group_stride;
            for center in centers {
                let flow = self.flows[center.node as usize];
                let mut any = false;
                for (k, g) in center.group_range().enumerate().filter(|_| flow != NodeFlow::default()) {
                    let strengths = self.strengths.get_mut(g).unwrap_or(&mut all);
                    let ([lengths, angles], guards) = (self.seen[place + k], self.guards[place + k]);
                    let look = [lengths, angles, guards];
                    any |= change(&mut self.groups[g], law, part, &flow, self.originals[g], look, strengths);
                }
                place += usize::from(center.groups);
                changed.extend(any.then_some(center.node));
            }
        }
        changed
    }
}

/// The fibers of one node and what was measured of them.
struct Look<'a> {
    /// Plain fits of strain and curvature.
    plain: [DVec3; 2],
    groups: &'a [Group],
    originals: &'a [[Stored; 3]],
    seen: &'a [[Stored; 2]],
    guards: &'a [Stored],
}

impl Look<'_> {
    /// All fibers: group and lane.
    fn fibers(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let lanes = (0..self.groups.len()).flat_map(|g| (0..LANES).map(move |k| (g, k)));
        lanes.filter(|&(g, k)| self.originals[g][0].0[k] > 0.0)
    }

    fn stretch2(&self, g: usize, k: usize) -> f64 {
        self.seen[g][0].0[k].powi(2) * self.groups[g].inverse_rest2.0[k]
    }

    /// The tensor of the energy; None where the value of a fiber that counts is not known.
    fn tensor(
        &self,
        term: impl Fn(&Group, usize) -> FiberTerm,
        value: impl Fn(usize, usize) -> Option<f64>,
    ) -> Option<DVec3> {
        let mut tensor = DVec3::ZERO;
        for (g, k) in self.fibers() {
            let term = term(&self.groups[g], k);
            match value(g, k) {
                Some(value) => tensor += term.tensor * value,
                None if term.plain == DVec3::ZERO => {}
                None => return None,
            }
        }
        Some(tensor)
    }

    fn decide(&self, center: &Center, law: &ShellFlow, part: f64) -> NodeFlow {
        let mut flow =
            NodeFlow { single: [center.membrane[1] <= 0.0, center.bending[1] <= 0.0], ..NodeFlow::default() };
        let stretching = |group: &Group, k: usize| group.membrane.get(k);
        let bending = |group: &Group, k: usize| group.bending.get(k);
        if !flow.single[0] {
            let room = |g: usize, k: usize, added: f64| {
                let rest = self.groups[g].rest_lengths.0[k] / self.originals[g][0].0[k];
                law.room_of_length(rest, self.stretch2(g, k), added)
            };
            let plastic = |g: usize, k: usize| self.groups[g].rest_lengths.0[k] / self.originals[g][0].0[k] - 1.0;
            flow.strain = self.hardened(law, plastic).increment(part, self.plain[0]).and_then(|increment| {
                let tensor = self.tensor(stretching, |g, k| Some(0.5 * self.stretch2(g, k) - 0.5))?;
                self.bounded(increment, center.membrane, tensor, stretching, room)
            });
        }
        if !flow.single[1] {
            // An angle that is about to jump says nothing, and neither does a tensor with it.
            let value = |g: usize, k: usize| {
                let (group, angle) = (&self.groups[g], self.seen[g][1].0[k]);
                (self.guards[g].0[k] >= 1.0).then_some((angle - group.rest_angle.0[k]) * group.per_turn.0[k])
            };
            let outer = 0.5 * law.thickness;
            let room = |g: usize, k: usize, added: f64| {
                let [_, start, turn] = self.originals[g].map(|lane| lane.0[k]);
                law.room_of_angle(self.groups[g].rest_angle.0[k] - start, turn, added)
            };
            let plastic = |g: usize, k: usize| {
                let [_, start, turn] = self.originals[g].map(|lane| lane.0[k]);
                if turn > 0.0 { outer * (self.groups[g].rest_angle.0[k] - start) / turn } else { 0.0 }
            };
            let increment = self.hardened(law, plastic).increment(part, self.plain[1] * outer);
            flow.curvature = increment.and_then(|increment| {
                let tensor = self.tensor(bending, value)?;
                self.bounded(increment / outer, center.bending, tensor, bending, room)
            });
        }
        flow
    }

    /// The law after the largest plastic strain of the fibers.
    fn hardened(&self, law: &ShellFlow, plastic: impl Fn(usize, usize) -> f64) -> ShellFlow {
        if law.hardening == 0.0 {
            return *law;
        }
        law.after(self.fibers().map(|(g, k)| plastic(g, k).abs()).fold(0.0, f64::max))
    }

    /// An increment, or as much of it as leaves every fiber its `room` and takes energy: the tensor that matter yields by is not
    /// quite that of the energy, which is balanced against the neighbors.
    fn bounded(
        &self,
        increment: DVec3,
        [mean, deviator]: [f64; 2],
        tensor: DVec3,
        term: impl Fn(&Group, usize) -> FiberTerm,
        room: impl Fn(usize, usize, f64) -> f64,
    ) -> Option<DVec3> {
        let (mut moved, mut scale) = (DVec3::ZERO, 1.0f64);
        for (g, k) in self.fibers() {
            let term = term(&self.groups[g], k);
            let added = term.response.dot(increment);
            moved += term.tensor * added;
            scale = scale.min(room(g, k, added));
        }
        let stiffness = DVec3::new(mean, deviator, deviator);
        let (gain, cost) = ((stiffness * tensor).dot(moved), (stiffness * moved).dot(moved));
        if cost > 0.0 {
            scale = scale.min(gain / cost);
        }
        (scale > 0.0).then_some(increment * scale)
    }
}

/// Lets four fibers flow; says whether they did.
fn change(
    group: &mut Group,
    law: &ShellFlow,
    part: f64,
    flow: &NodeFlow,
    original: [Stored; 3],
    [lengths, angles, guards]: [Stored; 3],
    strengths: &mut Stored,
) -> bool {
    let before = group.rest();
    let mut rest = before;
    for k in (0..LANES).filter(|&k| original[0].0[k] > 0.0) {
        let original = original.map(|lane| lane.0[k]);
        let mut fiber = Flowing { length: rest[0].0[k], angle: rest[1].0[k], strength: strengths.0[k] };
        // What is not for single fibers is where it is at rest to them.
        let length = if flow.single[0] { lengths.0[k] } else { fiber.length };
        let angle = if flow.single[1] && guards.0[k] >= 1.0 { angles.0[k] } else { fiber.angle };
        law.advance(part, original, [length, angle], &mut fiber);
        if let Some(strain) = flow.strain {
            let added = group.membrane.get(k).response.dot(strain);
            let left = lengths.0[k].powi(2) * group.inverse_rest2.0[k] - 2.0 * added;
            law.set_length(lengths.0[k] / left.sqrt(), original[0], &mut fiber);
        }
        if let Some(curvature) = flow.curvature {
            let turn = group.bending.get(k).response.dot(curvature) * original[2];
            law.set_angle(fiber.angle + turn, original, &mut fiber);
        }
        (rest[0].0[k], rest[1].0[k], strengths.0[k]) = (fiber.length, fiber.angle, fiber.strength);
    }
    if rest != before {
        group.set_rest(rest);
    }
    rest != before
}
