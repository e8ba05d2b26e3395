//! Changes of the packed state where a crack has changed the network, and small engines of a few nodes.

use super::{Center, Engine, FiberData, Group, LANES, Stored};
use crate::models::shell::fit::Rest;
use crate::models::shell::law::{Fitted, Sheet};
use crate::models::shell::network::{Network, Nodes};

/// All that the packed state is made of.
#[derive(Clone, Copy)]
pub(in crate::models::shell) struct Source<'a> {
    pub nodes: &'a Nodes,
    pub network: &'a Network,
    pub rest: &'a Rest,
    pub fitted: &'a Fitted,
    pub sheet: &'a Sheet,
}

/// Rest length [m] and rest angle [rad] now, and what fatigue has left of the strength of a fiber.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::models::shell) struct FiberState {
    pub length: f64,
    pub angle: f64,
    pub strength: f64,
}

impl Engine {
    /// Packs the `changed` nodes anew, with the states of their fibers, node after node; the others keep theirs, but for their
    /// neighbors' places and their stiffness.
    pub(in crate::models::shell) fn repack(&mut self, source: &Source, changed: &[u32], states: &[FiberState]) {
        self.neighbors.clone_from(&source.network.neighbors);
        for (i, center) in self.centers.iter_mut().enumerate() {
            center.first = source.network.starts[i];
            [center.membrane, center.bending] = source.fitted.node_stiffness(source.sheet, i);
            center.per_energy = source.fitted.per_energy(source.sheet, i);
        }
        let mut states = states;
        for &i in changed {
            let count = source.network.fiber_range(i as usize).len();
            let (own, others) = states.split_at(count);
            self.repack_center(source, i as usize, own);
            states = others;
        }
        self.place_pulls();
    }

    fn repack_center(&mut self, source: &Source, i: usize, states: &[FiberState]) {
        let Source { nodes, network, rest, fitted, sheet } = source;
        let range = network.fiber_range(i);
        let count = range.len().div_ceil(LANES);
        let old = self.centers[i];
        let first_group = if count <= usize::from(old.groups) {
            old.first_group as usize
        } else {
            let end = self.groups.len();
            self.groups.resize(end + count, Group::default());
            self.originals.resize(end + count, Default::default());
            end
        };
        let neighbors = network.neighbors_of(i).len();
        self.centers[i] = Center {
            neighbors: neighbors as u16,
            groups: count as u16,
            first_group: first_group as u32,
            closed: network.closed[i] && neighbors > 2,
            ..old
        };
        if !self.strengths.is_empty() {
            self.keep_strengths();
        }
        let [membrane, bending] = fitted.node_fibers(sheet, nodes, network, i);
        let curvature_lengths = fitted.curvature_lengths(&rest.lengths[range.clone()]);
        for g in 0..count {
            let own = g * LANES..range.len().min((g + 1) * LANES);
            let all = range.start + own.start..range.start + own.end;
            let mut group = Group::new(&FiberData {
                fibers: &network.fibers[all.clone()],
                lengths: &rest.lengths[all.clone()],
                angles: &rest.angles[all],
                curvature_lengths: &curvature_lengths[own.clone()],
                membrane: &membrane[own.clone()],
                bending: &bending[own.clone()],
            });
            self.originals[first_group + g] = group.originals();
            let mut now = group.rest();
            for (lane, state) in states[own].iter().enumerate() {
                (now[0].0[lane], now[1].0[lane]) = (state.length, state.angle);
                if let Some(strengths) = self.strengths.get_mut(first_group + g) {
                    strengths.0[lane] = state.strength;
                }
            }
            group.set_rest(now);
            self.groups[first_group + g] = group;
        }
    }

    /// From now on fibers may lose strength.
    pub(in crate::models::shell) fn keep_strengths(&mut self) {
        self.strengths.resize(self.groups.len(), Stored::splat(1.0));
    }

    /// Whether fibers may have lost strength.
    pub(in crate::models::shell) fn tires(&self) -> bool {
        !self.strengths.is_empty()
    }

    /// What fatigue has left of all fibers, for restarts; nothing unless `keep_strengths` was called.
    pub(in crate::models::shell) fn save_strengths(&self, out: &mut Vec<f64>) {
        if !self.strengths.is_empty() {
            out.extend(self.centers.iter().flat_map(Center::group_range).flat_map(|g| self.strengths[g].0));
        }
    }

    /// Puts back what `save_strengths` gave and returns the rest of the numbers; None when there are too few.
    pub(in crate::models::shell) fn load_strengths<'a>(&mut self, numbers: &'a [f64]) -> Option<&'a [f64]> {
        self.keep_strengths();
        let count: usize = self.centers.iter().map(|c| usize::from(c.groups)).sum();
        let (own, others) = numbers.split_at_checked(LANES * count)?;
        let places = self.centers.iter().flat_map(Center::group_range);
        places.zip(own.as_chunks::<LANES>().0).for_each(|(g, lanes)| self.strengths[g] = super::Lane(*lanes));
        Some(others)
    }

    /// The states of the fibers of a node.
    pub(in crate::models::shell) fn states(&self, i: usize, count: usize) -> Vec<FiberState> {
        let first = self.centers[i].first_group as usize;
        let state = |k: usize| {
            let (g, lane) = (first + k / LANES, k % LANES);
            let [lengths, angles] = self.groups[g].rest();
            let strength = self.strengths.get(g).map_or(1.0, |s| s.0[lane]);
            FiberState { length: lengths.0[lane], angle: angles.0[lane], strength }
        };
        (0..count).map(state).collect()
    }

    /// An engine of some nodes, in rising order, with the nodes that they act on; and which nodes those are.
    pub(in crate::models::shell) fn subset(&self, chosen: &[u32]) -> (Self, Vec<u32>) {
        let list = |i: u32| {
            let center = &self.centers[i as usize];
            &self.neighbors[center.first as usize..][..usize::from(center.neighbors)]
        };
        let mut members: Vec<u32> = chosen.iter().flat_map(|&i| list(i)).chain(chosen).copied().collect();
        members.sort_unstable();
        members.dedup();
        let mut part = Self { floor: self.floor, rise: self.rise, portable: self.portable, ..Self::default() };
        for (k, &i) in members.iter().enumerate() {
            let old = self.centers[i as usize];
            let (first, first_group) = (part.neighbors.len() as u32, part.groups.len() as u32);
            let mut center = Center { node: k as u32, first, first_group, neighbors: 0, groups: 0, ..old };
            if chosen.binary_search(&i).is_ok() {
                (center.neighbors, center.groups) = (old.neighbors, old.groups);
                part.neighbors.extend(list(i).iter().map(|j| members.binary_search(j).unwrap_or(0) as u32));
                part.groups.extend_from_slice(&self.groups[old.group_range()]);
                part.originals.extend_from_slice(&self.originals[old.group_range()]);
            }
            part.centers.push(center);
        }
        part.place_pulls();
        (part, members)
    }
}
