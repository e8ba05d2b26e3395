//! Neighborhoods, fibers, fits and frames of the nodes beside a crack, made anew from the shape at rest.
//!
//! Only the nodes whose neighbors have changed are looked at; what is kept of the others is copied. Their coefficients are those
//! of the plain fit: the balance of `balance` needs an edge on which nodes lie, and the flanks of a crack run between them.

use super::body::Shell;
use super::engine::repack::{FiberState, Source};
use super::fit::{Fit, Kind, LEAST_COVERAGE, NodeFit, Rest, is_scrap, shared_areas};
use super::frames::Frames;
use super::network::{self, Fiber, Network, NetworkOptions, Nodes, fan};
use super::pressure::Gas;
use glam::DVec3;

/// New neighbors of a node.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Change {
    pub node: u32,
    /// Nearest first.
    pub list: Vec<u32>,
}

/// A fiber that has broken without a crack: its middle, then its ends, the lower first.
pub(super) type Broken = [u32; 3];

/// The parts of a shell that cracks change.
#[derive(Debug, Clone)]
pub(super) struct Whole {
    pub network: Network,
    pub rest: Rest,
    pub fitted: super::law::Fitted,
}

struct NewNode {
    fan: Vec<u32>,
    closed: bool,
    fibers: Vec<Fiber>,
    intact: f64,
}

impl NewNode {
    fn new(nodes: &Nodes, change: &Change, options: &NetworkOptions, broken: &[Broken]) -> Self {
        let i = change.node as usize;
        let (fan, closed) = fan(nodes, i, &change.list);
        let mut fibers = network::fibers(nodes, i, &change.list, &fan, options);
        if fibers.is_empty() {
            // The last few nodes of a scrap hang together by whatever there is.
            fibers = network::fibers(nodes, i, &change.list, &fan, &NetworkOptions { turn: 180.0, ..*options });
        }
        let all = fibers.len();
        let gone = &broken[broken.partition_point(|b| b[0] < change.node)..];
        let gone = &gone[..gone.partition_point(|b| b[0] == change.node)];
        fibers.retain(|fiber| {
            let [a, b] = fiber.ends.map(|end| fan[usize::from(end)]);
            !gone.contains(&[change.node, a.min(b), a.max(b)])
        });
        let intact = if all > 0 { fibers.len() as f64 / all as f64 } else { 1.0 };
        Self { fan, closed, fibers, intact }
    }
}

impl Shell {
    /// What it is before any crack.
    pub(super) fn whole(&self) -> Whole {
        Whole { network: self.network.clone(), rest: self.rest.clone(), fitted: self.fitted.clone() }
    }

    /// Undoes all cracks; rest lengths and angles are those at the start.
    pub(super) fn make_whole(&mut self, whole: &Whole) {
        // Clamps may have been set since.
        let clamps = std::mem::take(&mut self.fitted.clamps);
        (self.network, self.rest, self.fitted) = (whole.network.clone(), whole.rest.clone(), whole.fitted.clone());
        self.fitted.clamps = clamps;
        self.frames = Frames::new(&self.network, &self.nodes.positions);
        self.gas = Gas::new(&self.network, &self.nodes.areas, &self.nodes.positions);
        self.engine = Default::default();
        self.version += 1;
        self.pack();
    }

    /// Gives some nodes, in rising order, other neighbors.
    pub(super) fn rebuild(&mut self, changes: &[Change], broken: &[Broken], whole: &Whole) {
        let changed: Vec<u32> = changes.iter().map(|c| c.node).collect();
        let made: Vec<NewNode> = changes.iter().map(|c| NewNode::new(&self.nodes, c, &self.options, broken)).collect();
        let old = std::mem::take(&mut self.network);
        let old_rest = std::mem::take(&mut self.rest);
        self.network = spliced(&old, &changed, &made);
        let mut new_rest = Rest::default();
        changed.iter().for_each(|&i| new_rest.add(&self.network, &self.nodes.positions, i as usize));
        let before = Origin { network: &old, rest: &old_rest, nodes: &self.nodes };
        let states = changed.iter().flat_map(|&i| {
            let states = self.engine.states(i as usize, old.fiber_range(i as usize).len());
            before.carried_over(i as usize, &states, &self.network)
        });
        let plastic: Vec<Carried> = states.collect();
        let starts = [&old.fiber_starts[..], &self.network.fiber_starts];
        self.rest = Rest {
            lengths: splice(&old_rest.lengths, starts, &changed, &new_rest.lengths),
            angles: splice(&old_rest.angles, starts, &changed, &new_rest.angles),
        };
        let intact: Vec<f64> = made.iter().map(|m| m.intact).collect();
        // Where a node has all of its first neighbors and fibers it also has its balanced coefficients again.
        let first =
            |(c, m): (&Change, &NewNode)| m.intact == 1.0 && m.fan == whole.network.neighbors_of(c.node as usize);
        let first: Vec<bool> = changes.iter().zip(&made).map(first).collect();
        let starts = [old.fiber_starts.clone(), self.network.fiber_starts.clone()];
        for kind in [Kind::Membrane, Kind::Bending] {
            self.refit(kind, [&starts[0], &starts[1]], &changed, &intact);
            self.balance_again(kind, whole, &changed, &first);
        }
        self.frames.replace(&old, &self.network, &self.nodes.positions, &changed);
        self.gas = Gas::new(&self.network, &self.nodes.areas, &self.nodes.positions);
        let states: Vec<FiberState> = plastic
            .iter()
            .zip(new_rest.lengths.iter().zip(&new_rest.angles))
            .map(|(c, (l, a))| FiberState { length: l * c.stretch, angle: a + c.turn * l, strength: c.strength })
            .collect();
        let source = Source {
            nodes: &self.nodes,
            network: &self.network,
            rest: &self.rest,
            fitted: &self.fitted,
            sheet: &self.sheet,
        };
        self.engine.repack(&source, &changed, &states);
        self.version += 1;
    }

    fn balance_again(&mut self, kind: Kind, whole: &Whole, changed: &[u32], first: &[bool]) {
        let (old, (fit, tensors)) = match kind {
            Kind::Membrane => (&whole.fitted.membrane.1, &mut self.fitted.membrane),
            Kind::Bending => (&whole.fitted.bending.1, &mut self.fitted.bending),
        };
        for (&i, _) in changed.iter().zip(first).filter(|(i, first)| **first && fit.covers(**i as usize)) {
            let (from, to) = (whole.network.fiber_range(i as usize), self.network.fiber_range(i as usize));
            tensors[to].copy_from_slice(&old[from]);
        }
    }

    fn refit(&mut self, kind: Kind, starts: [&[u32]; 2], changed: &[u32], intact: &[f64]) {
        let (nodes, network, rest) = (&self.nodes, &self.network, &self.rest);
        let mut made: Vec<NodeFit> =
            changed.iter().map(|&i| NodeFit::new(kind, nodes, network, rest, i as usize)).collect();
        let (fit, tensors) = match kind {
            Kind::Membrane => &mut self.fitted.membrane,
            Kind::Bending => &mut self.fitted.bending,
        };
        let mut coverage = std::mem::take(&mut fit.coverage);
        changed.iter().zip(&made).for_each(|(&i, m)| coverage[i as usize] = m.coverage);
        for (&i, m) in changed.iter().zip(&mut made) {
            // A scrap without any tensor is held together by each fiber for itself.
            if m.coverage <= LEAST_COVERAGE && is_scrap(network, i as usize, &coverage) {
                m.plain.fill(DVec3::ZERO);
            }
        }
        let gathered = |part: fn(&NodeFit) -> &Vec<DVec3>| made.iter().flat_map(part).copied().collect::<Vec<_>>();
        let plain = gathered(|m| &m.plain);
        let weights: Vec<f64> = made.iter().flat_map(|m| &m.weights).copied().collect();
        *tensors = splice(tensors, starts, changed, &plain);
        let mut new = Fit {
            responses: splice(&fit.responses, starts, changed, &gathered(|m| &m.responses)),
            weights: splice(&fit.weights, starts, changed, &weights),
            plain: splice(&fit.plain, starts, changed, &plain),
            coverage,
            areas: Vec::new(),
            intact: std::mem::take(&mut fit.intact),
        };
        changed.iter().zip(intact).for_each(|(&i, intact)| new.intact[i as usize] = *intact);
        new.areas = shared_areas(nodes, network, &new.coverage);
        new.areas.iter_mut().zip(&new.intact).for_each(|(a, i)| *a *= i);
        *fit = new;
    }
}

/// What a new fiber takes over from the one nearest in direction at its node.
struct Carried {
    /// Rest length over that before any flow.
    stretch: f64,
    /// Plastic angle over length [1/m].
    turn: f64,
    strength: f64,
}

/// The shell before a change.
struct Origin<'a> {
    network: &'a Network,
    rest: &'a Rest,
    nodes: &'a Nodes,
}

impl Origin<'_> {
    /// For each fiber of node `i` of the new network what it takes over.
    fn carried_over(&self, i: usize, states: &[FiberState], new: &Network) -> Vec<Carried> {
        let range = self.network.fiber_range(i);
        let direction = |network: &Network, fiber: &Fiber| {
            let [d1, d2] = network.chords(i, fiber, &self.nodes.positions);
            (d2 - d1).normalize_or_zero()
        };
        let old: Vec<DVec3> = self.network.fibers[range.clone()].iter().map(|f| direction(self.network, f)).collect();
        let carried = |fiber: &Fiber| {
            let along = direction(new, fiber);
            let nearest = (0..old.len())
                .reduce(|best, k| if old[k].dot(along).abs() > old[best].dot(along).abs() { k } else { best });
            let Some(k) = nearest else { return Carried { stretch: 1.0, turn: 0.0, strength: 1.0 } };
            let (length, angle) = (self.rest.lengths[range.start + k], self.rest.angles[range.start + k]);
            Carried {
                stretch: states[k].length / length,
                turn: (states[k].angle - angle) / length,
                strength: states[k].strength,
            }
        };
        new.fibers[new.fiber_range(i)].iter().map(carried).collect()
    }
}

/// The network with some nodes replaced.
fn spliced(old: &Network, changed: &[u32], made: &[NewNode]) -> Network {
    let mut counts: [Vec<u32>; 2] =
        [&old.starts, &old.fiber_starts].map(|s| s.windows(2).map(|w| w[1] - w[0]).collect());
    let mut closed = old.closed.clone();
    for (&i, m) in changed.iter().zip(made) {
        counts[0][i as usize] = m.fan.len() as u32;
        counts[1][i as usize] = m.fibers.len() as u32;
        closed[i as usize] = m.closed;
    }
    let sums = |counts: &[u32]| {
        let mut starts = Vec::with_capacity(counts.len() + 1);
        starts.push(0);
        counts.iter().for_each(|c| starts.push(starts[starts.len() - 1] + c));
        starts
    };
    let [starts, fiber_starts] = counts.map(|c| sums(&c));
    let fans: Vec<u32> = made.iter().flat_map(|m| &m.fan).copied().collect();
    let fibers: Vec<Fiber> = made.iter().flat_map(|m| &m.fibers).copied().collect();
    Network {
        neighbors: splice(&old.neighbors, [&old.starts, &starts], changed, &fans),
        fibers: splice(&old.fibers, [&old.fiber_starts, &fiber_starts], changed, &fibers),
        starts,
        closed,
        fiber_starts,
    }
}

/// A list kept node after node, with the entries of the `changed` nodes replaced.
pub(super) fn splice<T: Clone>(old: &[T], [old_starts, starts]: [&[u32]; 2], changed: &[u32], new: &[T]) -> Vec<T> {
    let mut out = Vec::with_capacity(starts.last().copied().unwrap_or(0) as usize);
    let (mut kept, mut taken) = (0, 0);
    for &i in changed {
        let i = i as usize;
        out.extend_from_slice(&old[kept..old_starts[i] as usize]);
        kept = old_starts[i + 1] as usize;
        let count = (starts[i + 1] - starts[i]) as usize;
        out.extend_from_slice(&new[taken..taken + count]);
        taken += count;
    }
    out.extend_from_slice(&old[kept..]);
    out
}
