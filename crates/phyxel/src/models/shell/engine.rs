//! Energy and forces of one shell at full speed.
//!
//! Pass 1 goes over the nodes as centers: the vectors to the neighbors are taken once, four fibers are measured side by side, the
//! tensor is fitted, and the forces on the neighbors are written into places of the center's own. Pass 2 gathers them: each node
//! adds what its neighbors' centers hold for it, in a fixed order. Nothing is scattered between threads.

mod dissipation;
mod evaluate;
mod flow;
mod group;
pub(super) mod repack;
mod urgency;
pub(super) mod view;

pub(crate) use evaluate::wide_vectors;
pub use urgency::{BreakLimits, Urgent};

use super::fit::Rest;
use super::lanes::{LANES, Lane, Stored};
use super::law::Energy;
use super::network::Network;
use evaluate::{Chunk, Packed, measure_chunk, measure_chunk_wide};
use glam::DVec3;
use group::{Center, FiberData, Group};
use rayon::prelude::*;

/// Centers per parallel task.
const CHUNK: usize = 64;

/// What a center found for itself.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Own {
    /// Force of its fibers on itself [N].
    force: DVec3,
    /// Energies of stretching and bending [J].
    energy: [f64; 2],
    /// Largest strain of its fibers by absolute value, and their fitted mean strain.
    strain: [f64; 2],
    /// Plain fits of strain and curvature, by which matter yields.
    plain: [DVec3; 2],
}

/// What one evaluation found.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ShellExtremes {
    /// Largest strain of a fiber, by absolute value.
    pub max_strain: f64,
    /// Largest stretch of a fiber.
    pub max_stretch: f64,
    /// Largest factor by which strain has made the matter stiffer, at least 1.
    pub stiffness: f64,
}

/// The packed state of one shell.
#[derive(Debug, Clone, Default)]
pub struct Engine {
    centers: Vec<Center>,
    /// Neighbors of all centers.
    neighbors: Vec<u32>,
    groups: Vec<Group>,
    /// Plain code even where the machine has wide vectors; for tests.
    portable: bool,
    /// Least part of the bending energy that counts: 0, or 1 without the guard.
    floor: f64,
    /// Rise of the stiffness at large strain; 0: none.
    rise: f64,
    /// Force of each center on each of its neighbors [N], each chunk in `stride` places. Written by pass 1.
    pulls: Vec<DVec3>,
    stride: usize,
    /// What each center found for itself. Written by pass 1.
    own: Vec<Own>,
    /// Per chunk. Written by pass 1.
    extremes: Vec<ShellExtremes>,
    /// First entry of each node in `incoming`, and the end.
    incoming_starts: Vec<u32>,
    /// Places in `pulls` that hold the forces on a node.
    incoming: Vec<u32>,
    /// Length [m] and angle [rad] of the fibers of each group, each chunk in `group_stride` places. Written by pass 1.
    seen: Vec<[Stored; 2]>,
    /// Part of the bending energy of the fibers that counted, in the same places. Written by pass 1.
    guards: Vec<Stored>,
    group_stride: usize,
    /// Lengths [m], angles [rad] and curvature lengths [m] before any plastic flow.
    originals: Vec<[Stored; 3]>,
    /// What fatigue has left of the strength of the fibers of each group; empty: all of it.
    strengths: Vec<Stored>,
    /// What flows in a step; room that is kept.
    flows: Vec<flow::NodeFlow>,
}

impl Engine {
    /// Packs a network at rest with its energy.
    pub fn new(network: &Network, rest: &Rest, energy: &Energy) -> Self {
        let floor = f64::from(u8::from(energy.unguarded));
        let mut engine = Self { neighbors: network.neighbors.clone(), floor, rise: energy.rise, ..Self::default() };
        for i in 0..network.len() {
            let range = network.fiber_range(i);
            let count = range.len().div_ceil(LANES);
            engine.centers.push(Center {
                node: i as u32,
                first: network.starts[i],
                neighbors: network.neighbors_of(i).len() as u16,
                groups: count as u16,
                first_group: engine.groups.len() as u32,
                closed: network.closed[i] && network.neighbors_of(i).len() > 2,
                membrane: energy.membrane.nodes[i],
                bending: energy.bending.nodes[i],
                per_energy: energy.per_energy.get(i).copied().unwrap_or_default(),
            });
            for g in 0..count {
                let start = range.start + g * LANES;
                let own = start..range.end.min(start + LANES);
                let group = Group::new(&FiberData {
                    fibers: &network.fibers[own.clone()],
                    lengths: &rest.lengths[own.clone()],
                    angles: &rest.angles[own.clone()],
                    curvature_lengths: &energy.curvature_lengths[own.clone()],
                    membrane: &energy.membrane.fibers[own.clone()],
                    bending: &energy.bending.fibers[own],
                });
                engine.originals.push(group.originals());
                engine.groups.push(group);
            }
        }
        engine.place_pulls();
        engine
    }

    fn place_pulls(&mut self) {
        let sizes = self.centers.chunks(CHUNK).map(|c| c.iter().map(|x| usize::from(x.neighbors)).sum::<usize>());
        self.stride = sizes.max().unwrap_or(0).max(1);
        let n = self.centers.len();
        self.pulls = vec![DVec3::ZERO; n.div_ceil(CHUNK) * self.stride];
        let groups = self.centers.chunks(CHUNK).map(|c| c.iter().map(|x| usize::from(x.groups)).sum::<usize>());
        self.group_stride = groups.max().unwrap_or(0).max(1);
        self.seen = vec![Default::default(); n.div_ceil(CHUNK) * self.group_stride];
        self.guards = vec![Default::default(); self.seen.len()];
        self.own = vec![Default::default(); n];
        self.extremes = vec![ShellExtremes::default(); n.div_ceil(CHUNK)];
        let mut counts = vec![0u32; n + 1];
        self.neighbors.iter().for_each(|&j| counts[j as usize + 1] += 1);
        (0..n).for_each(|i| counts[i + 1] += counts[i]);
        self.incoming = vec![0; self.neighbors.len()];
        let mut next = counts.clone();
        for (chunk, centers) in self.centers.chunks(CHUNK).enumerate() {
            let mut place = (chunk * self.stride) as u32;
            for center in centers {
                for &j in &self.neighbors[center.first as usize..][..usize::from(center.neighbors)] {
                    self.incoming[next[j as usize] as usize] = place;
                    next[j as usize] += 1;
                    place += 1;
                }
            }
        }
        self.incoming_starts = counts;
    }

    /// Number of fibers with room, four by four.
    pub fn lanes(&self) -> usize {
        LANES * self.groups.len()
    }

    /// Pass 1: energies, and forces of all centers.
    pub fn measure(&mut self, positions: &[DVec3]) {
        let (neighbors, groups) = (&self.neighbors[..], &self.groups[..]);
        let packed = Packed { neighbors, groups, floor: self.floor, rise: self.rise, positions };
        let tasks = self.pulls.par_chunks_mut(self.stride).zip(self.own.par_chunks_mut(CHUNK));
        let looks = self.seen.par_chunks_mut(self.group_stride).zip(self.guards.par_chunks_mut(self.group_stride));
        let tasks = tasks.zip(looks);
        let tasks = tasks.zip(&mut self.extremes).zip(self.centers.par_chunks(CHUNK));
        let wide = !self.portable && wide_vectors();
        tasks.for_each(|((((pulls, own), (seen, guards)), extremes), centers)| {
            let chunk = Chunk { packed, centers, pulls, own, seen, guards, extremes };
            if wide { measure_chunk_wide(chunk) } else { measure_chunk::<false>(chunk) }
        });
    }

    /// Pass 2: adds the force on each node [N] at the last `measure`.
    pub fn add_forces(&self, out: &mut [DVec3]) {
        out.par_iter_mut().enumerate().with_min_len(8 * CHUNK).for_each(|(i, force)| {
            let range = self.incoming_starts[i] as usize..self.incoming_starts[i + 1] as usize;
            let mut sum = self.own[i].force;
            for &place in &self.incoming[range] {
                sum += self.pulls[place as usize];
            }
            *force += sum;
        });
    }

    /// Energies of stretching and bending at the last `measure` [J].
    pub fn energy(&self) -> [f64; 2] {
        self.own.iter().fold([0.0; 2], |[s, b], own| [s + own.energy[0], b + own.energy[1]])
    }

    /// Shows the rest lengths and angles of each group, with those at the start and the node.
    pub(super) fn for_each_center(&self, mut look: impl FnMut(usize, [Stored; 2], [Stored; 3])) {
        for center in &self.centers {
            for g in center.group_range() {
                look(center.node as usize, self.groups[g].rest(), self.originals[g]);
            }
        }
    }

    /// Rest lengths and angles of all fibers, for restarts.
    pub fn save_rest(&self, out: &mut Vec<f64>) {
        for g in self.centers.iter().flat_map(Center::group_range) {
            out.extend(self.groups[g].rest().iter().flat_map(|lane| lane.0));
        }
    }

    /// Puts back what `save_rest` gave and returns the rest of the numbers; None when there are too few.
    pub fn load_rest<'a>(&mut self, numbers: &'a [f64]) -> Option<&'a [f64]> {
        let count: usize = self.centers.iter().map(|c| usize::from(c.groups)).sum();
        let (own, others) = numbers.split_at_checked(2 * LANES * count)?;
        let places = self.centers.iter().flat_map(Center::group_range);
        for (g, lanes) in places.zip(own.as_chunks::<{ 2 * LANES }>().0) {
            let lane = |from: usize| Lane(std::array::from_fn(|k| lanes[from + k]));
            self.groups[g].set_rest([lane(0), lane(LANES)]);
        }
        Some(others)
    }

    /// Largest strain of the fibers of each node by absolute value, and their fitted mean strain, at the last `measure`.
    pub fn strains(&self) -> impl Iterator<Item = [f64; 2]> + '_ {
        self.own.iter().map(|own| own.strain)
    }

    /// Extremes at the last `measure`.
    pub fn extremes(&self) -> ShellExtremes {
        self.extremes.iter().fold(ShellExtremes::default(), |a, b| ShellExtremes {
            max_strain: a.max_strain.max(b.max_strain),
            max_stretch: a.max_stretch.max(b.max_stretch),
            stiffness: a.stiffness.max(b.stiffness),
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::models::shell::Shell;
    use crate::models::shell::law::{Sheet, ShellLaw};
    use crate::models::shell::nodes::{NodeOptions, spread_nodes};
    use crate::models::shell::stiffening::Stiffening;
    use crate::models::shell::surface::TriangleSurface;
    use crate::random::Random;
    use glam::DVec3;

    #[test]
    fn wide_vectors_and_plain_code_give_the_same_bits() {
        let options = NodeOptions { spacing: 0.1, rows: false, seed: 1 };
        let nodes = spread_nodes(&TriangleSurface::rectangle(1.0, 0.7), &options, &|p, n| (p, n));
        let sheet = Sheet { young: 1e5, poisson: 0.3, thickness: 0.01 };
        let plain = Shell::new(nodes, ShellLaw::Tensor, sheet);
        // Shaken so hard that some fibers are guarded.
        let shaken = |(i, p): (usize, &DVec3)| *p + 0.06 * Random::new(1, i as u64).in_cube();
        let positions: Vec<DVec3> = plain.nodes().positions.iter().enumerate().map(shaken).collect();
        let evaluate = |shell: &Shell, portable: bool| {
            let mut engine = shell.engine().clone();
            engine.portable = portable;
            engine.measure(&positions);
            let mut forces = vec![DVec3::ZERO; positions.len()];
            engine.add_forces(&mut forces);
            (forces, engine.energy(), engine.extremes())
        };
        assert_eq!(evaluate(&plain, true), evaluate(&plain, false));
        let stiffening = plain.clone().with_stiffening(Stiffening { rise: 3.0, strain: 0.1 });
        assert_eq!(evaluate(&stiffening, true), evaluate(&stiffening, false));
        assert_ne!(evaluate(&stiffening, true), evaluate(&plain, true));
    }
}
