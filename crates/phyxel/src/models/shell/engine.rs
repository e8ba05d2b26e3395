//! Energy and forces of one shell at full speed.
//!
//! Pass 1 goes over the nodes as centers: the vectors to the neighbors are taken once, four fibers are measured side by side, the
//! tensor is fitted, and the forces on the neighbors are written into places of the center's own. Pass 2 gathers them: each node
//! adds what its neighbors' centers hold for it, in a fixed order. Nothing is scattered between threads.

mod dissipation;
pub(super) mod repack;
mod urgency;
pub(super) mod view;

pub use urgency::{BreakLimits, Urgent};

use super::fit::Rest;
use super::lanes::{LANES, Lane, Stored, StoredVector, Vector};
use super::law::{Energy, FiberTerm};
use super::measure::{Angles, Lengths, Splines};
use super::network::{Fiber, MOST_FIBERS, MOST_NEIGHBORS, Network};
use glam::DVec3;
use rayon::prelude::*;

/// Centers per parallel task.
const CHUNK: usize = 64;
/// Most groups of four fibers per center.
const MOST_GROUPS: usize = MOST_FIBERS.div_ceil(LANES);

/// One part of the energy for four fibers.
#[derive(Debug, Clone, Copy, Default)]
struct Terms {
    tensor: StoredVector,
    plain: StoredVector,
    response: StoredVector,
    residual: Stored,
}

/// Four fibers of one center; what is missing has no weight.
#[derive(Debug, Clone, Copy, Default)]
struct Group {
    /// Places of the ends among the neighbors.
    ends: [[u8; LANES]; 2],
    /// First knot spacing, and the inverses of both.
    h1: Stored,
    inverse: [Stored; 2],
    /// 1 / (rest length)² [1/m²].
    inverse_rest2: Stored,
    /// Rest length [m].
    rest_lengths: Stored,
    /// Rest angle [rad].
    rest_angle: Stored,
    /// Curvature per angle [1/m].
    per_turn: Stored,
    membrane: Terms,
    bending: Terms,
}

/// One node with its fibers.
#[derive(Debug, Clone, Copy, Default)]
struct Center {
    /// Its own number.
    node: u32,
    /// First neighbor and their number.
    first: u32,
    neighbors: u16,
    groups: u16,
    first_group: u32,
    closed: bool,
    /// Stiffness of mean and deviator, of membrane and bending [J].
    membrane: [f64; 2],
    bending: [f64; 2],
}

/// What four fibers measured, kept between fit and force.
#[derive(Debug, Clone, Copy, Default)]
struct Measured<const W: bool> {
    lengths: Lengths<W>,
    angles: Angles<W>,
    strain: Lane<W>,
    /// Strain of the lanes that hold a fiber.
    seen: Lane<W>,
    curvature: Lane<W>,
    /// Derivatives of strain by length and of curvature by angle.
    slopes: [Lane<W>; 2],
}

/// Reused by the centers of a chunk.
#[derive(Debug, Clone, Copy)]
struct Scratch<const W: bool> {
    measured: [Measured<W>; MOST_GROUPS],
    d: [DVec3; MOST_NEIGHBORS],
}

/// What a center found for itself.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Own {
    /// Force of its fibers on itself [N].
    force: DVec3,
    /// Energies of stretching and bending [J].
    energy: [f64; 2],
    /// Largest strain of its fibers by absolute value, and their fitted mean strain.
    strain: [f64; 2],
}

/// What one evaluation found.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ShellExtremes {
    /// Largest strain of a fiber, by absolute value.
    pub max_strain: f64,
    /// Largest stretch of a fiber.
    pub max_stretch: f64,
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
}

impl Engine {
    /// Packs a network at rest with its energy.
    pub fn new(network: &Network, rest: &Rest, energy: &Energy) -> Self {
        let floor = f64::from(u8::from(energy.unguarded));
        let mut engine = Self { neighbors: network.neighbors.clone(), floor, ..Self::default() };
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
        let packed = Packed { neighbors: &self.neighbors, groups: &self.groups, floor: self.floor, positions };
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

    /// Gives each group its rest lengths and angles to change, those at the start, what the last `measure` saw, and its strengths
    /// to change, which count after `keep_strengths`; returns the nodes with a change. An angle that is about to jump is not shown.
    pub(super) fn for_each_group(
        &mut self,
        mut change: impl FnMut(&mut [Stored; 2], [Stored; 3], [Stored; 2], &mut Stored),
    ) -> Vec<u32> {
        let mut all = Stored::splat(1.0);
        let mut changed = Vec::new();
        for (chunk, centers) in self.centers.chunks(CHUNK).enumerate() {
            let mut place = chunk * self.group_stride;
            for center in centers {
                let mut any = false;
                for g in center.group_range() {
                    let (group, original) = (&mut self.groups[g], self.originals[g]);
                    let mut rest = group.rest();
                    let (before, mut seen) = (rest, self.seen[place]);
                    for k in (0..LANES).filter(|&k| self.guards[place].0[k] < 1.0) {
                        seen[1].0[k] = rest[1].0[k];
                    }
                    change(&mut rest, original, seen, self.strengths.get_mut(g).unwrap_or(&mut all));
                    if rest != before {
                        group.set_rest(rest);
                        any = true;
                    }
                    place += 1;
                }
                changed.extend(any.then_some(center.node));
            }
        }
        changed
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
        })
    }
}

/// Up to four fibers of one center, before they are packed.
struct FiberData<'a> {
    fibers: &'a [Fiber],
    lengths: &'a [f64],
    angles: &'a [f64],
    curvature_lengths: &'a [f64],
    membrane: &'a [FiberTerm],
    bending: &'a [FiberTerm],
}

impl Group {
    fn new(data: &FiberData) -> Self {
        // Lanes without a fiber measure the first one again and have no weight.
        let first = &data.fibers[0];
        let mut group = Self {
            ends: first.ends.map(|end| [end; LANES]),
            h1: Stored::splat(first.knots.h1),
            inverse: [Stored::splat(1.0 / first.knots.h1), Stored::splat(1.0 / first.knots.h2)],
            ..Self::default()
        };
        for (lane, fiber) in data.fibers.iter().enumerate() {
            group.ends[0][lane] = fiber.ends[0];
            group.ends[1][lane] = fiber.ends[1];
            group.h1.0[lane] = fiber.knots.h1;
            group.inverse[0].0[lane] = 1.0 / fiber.knots.h1;
            group.inverse[1].0[lane] = 1.0 / fiber.knots.h2;
            group.inverse_rest2.0[lane] = 1.0 / (data.lengths[lane] * data.lengths[lane]);
            group.rest_lengths.0[lane] = data.lengths[lane];
            group.rest_angle.0[lane] = data.angles[lane];
            group.per_turn.0[lane] = 1.0 / data.curvature_lengths[lane];
            group.membrane.set(lane, &data.membrane[lane]);
            group.bending.set(lane, &data.bending[lane]);
        }
        group
    }
}

impl Center {
    /// Where its groups are.
    fn group_range(&self) -> std::ops::Range<usize> {
        self.first_group as usize..self.first_group as usize + usize::from(self.groups)
    }
}

impl Group {
    /// Rest lengths and angles now; lanes without a fiber have zeros.
    fn rest(&self) -> [Stored; 2] {
        [self.rest_lengths, self.rest_angle]
    }

    fn set_rest(&mut self, [lengths, angles]: [Stored; 2]) {
        self.rest_lengths = lengths;
        self.rest_angle = angles;
        self.inverse_rest2 = Lane(lengths.0.map(|l| if l > 0.0 { 1.0 / (l * l) } else { 0.0 }));
    }

    /// Rest lengths, rest angles and curvature lengths; lanes without a fiber have zeros, and those that do not count for bending no
    /// curvature length.
    fn originals(&self) -> [Stored; 3] {
        let mut turns = Stored::ZERO;
        for k in (0..LANES).filter(|&k| self.per_turn.0[k] > 0.0) {
            let term = self.bending.get(k);
            let counts = term.residual > 0.0 || term.tensor != DVec3::ZERO;
            turns.0[k] = if counts { 1.0 / self.per_turn.0[k] } else { 0.0 };
        }
        [self.rest_lengths, self.rest_angle, turns]
    }
}

impl Terms {
    fn set(&mut self, lane: usize, term: &FiberTerm) {
        for (to, from) in
            [(&mut self.tensor, term.tensor), (&mut self.plain, term.plain), (&mut self.response, term.response)]
        {
            (to.x.0[lane], to.y.0[lane], to.z.0[lane]) = (from.x, from.y, from.z);
        }
        self.residual.0[lane] = term.residual;
    }
}

/// The fitted tensor and the plain fit of one part of the energy.
#[derive(Clone, Copy, Default)]
struct Fitted<const W: bool> {
    tensor: Vector<W>,
    plain: Vector<W>,
}

impl<const W: bool> Fitted<W> {
    #[inline(always)]
    fn add(&mut self, terms: &Terms, value: Lane<W>) {
        self.tensor += terms.tensor.cast::<W>() * value;
        self.plain += terms.plain.cast::<W>() * value;
    }
}

/// A fitted tensor, its stress and its energy.
struct Stress<const W: bool> {
    plain: Vector<W>,
    stress: Vector<W>,
    energy: f64,
}

impl<const W: bool> Stress<W> {
    #[inline(always)]
    fn new(fitted: &Fitted<W>, [mean, deviator]: [f64; 2]) -> Self {
        let (e, plain) = (fitted.tensor.sum(), fitted.plain.sum());
        let stress = DVec3::new(mean * e.x, deviator * e.y, deviator * e.z);
        Self { plain: Vector::splat(plain), stress: Vector::splat(stress), energy: 0.5 * e.dot(stress) }
    }

    /// Derivative of the energy by what the fibers measure; adds the residual's energy.
    #[inline(always)]
    fn derivative(&self, terms: &Terms, value: Lane<W>, energy: &mut Lane<W>) -> Lane<W> {
        let residual = value - terms.response.cast::<W>().dot(self.plain);
        let pull = terms.residual.cast::<W>() * residual;
        *energy += pull * residual;
        terms.tensor.cast::<W>().dot(self.stress) + pull
    }
}

/// Everything a center reads.
#[derive(Clone, Copy)]
struct Packed<'a> {
    neighbors: &'a [u32],
    groups: &'a [Group],
    floor: f64,
    positions: &'a [DVec3],
}

/// What one task reads and writes.
struct Chunk<'a> {
    packed: Packed<'a>,
    centers: &'a [Center],
    pulls: &'a mut [DVec3],
    own: &'a mut [Own],
    seen: &'a mut [[Stored; 2]],
    guards: &'a mut [Stored],
    extremes: &'a mut ShellExtremes,
}

/// Whether the machine adds four f64 at once. Products and sums are not fused, so the bits are the same with and without.
pub(crate) fn wide_vectors() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx2");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// `measure_chunk` on wide vectors; call only where `wide_vectors`.
#[cfg(target_arch = "x86_64")]
#[allow(
    unsafe_code,
    reason = "the plain code compiled once more with vector instructions that the caller has looked for"
)]
fn measure_chunk_wide(chunk: Chunk) {
    #[target_feature(enable = "avx2")]
    fn wide(chunk: Chunk) {
        measure_chunk::<true>(chunk);
    }
    // SAFETY: `measure` asks `wide_vectors` before.
    unsafe { wide(chunk) }
}

#[cfg(not(target_arch = "x86_64"))]
fn measure_chunk_wide(chunk: Chunk) {
    measure_chunk::<false>(chunk);
}

#[inline(always)]
fn measure_chunk<const W: bool>(chunk: Chunk) {
    let Chunk { packed, centers, pulls, own, seen, guards, extremes } = chunk;
    let mut scratch = Scratch { measured: [Measured::<W>::default(); MOST_GROUPS], d: [DVec3::ZERO; MOST_NEIGHBORS] };
    let (mut largest, mut place, mut group) = ([Lane::<W>::ZERO; 2], 0, 0);
    for (center, own) in centers.iter().zip(own) {
        let count = usize::from(center.neighbors);
        *own = measure_center(packed, center, &mut pulls[place..place + count], &mut scratch, &mut largest);
        place += count;
        for measured in &scratch.measured[..usize::from(center.groups)] {
            seen[group] = [measured.lengths.value.cast(), measured.angles.value.cast()];
            guards[group] = measured.angles.guard.cast();
            group += 1;
        }
    }
    let fold = |lane: Lane<W>| lane.0.iter().fold(0.0, |m: f64, &x| if x > m { x } else { m });
    *extremes = ShellExtremes { max_strain: fold(largest[0]), max_stretch: (1.0 + 2.0 * fold(largest[1])).sqrt() };
}

#[inline(always)]
fn measure_center<const W: bool>(
    packed: Packed,
    center: &Center,
    pulls: &mut [DVec3],
    scratch: &mut Scratch<W>,
    largest: &mut [Lane<W>; 2],
) -> Own {
    let list = &packed.neighbors[center.first as usize..][..usize::from(center.neighbors)];
    let groups = &packed.groups[center.first_group as usize..][..usize::from(center.groups)];
    let x = packed.positions[center.node as usize];
    let d = &mut scratch.d[..list.len()];
    d.iter_mut().zip(list).for_each(|(d, &j)| *d = packed.positions[j as usize] - x);
    let normal = fan_normal(d, center.closed);
    let n = Vector::<W>::splat(normal);
    let n2 = Lane::splat(normal.length_squared());
    let (mut membrane, mut bending) = (Fitted::<W>::default(), Fitted::<W>::default());
    let measured = &mut scratch.measured[..groups.len()];
    let mut strain = Lane::<W>::ZERO;
    for (group, out) in groups.iter().zip(measured.iter_mut()) {
        *out = Measured::new(group, d, n, n2, packed.floor);
        membrane.add(&group.membrane, out.strain);
        bending.add(&group.bending, out.curvature);
        strain = strain.max(out.seen.abs());
        largest[1] = largest[1].max(out.seen);
    }
    largest[0] = largest[0].max(strain);
    let strain = [strain.0.iter().fold(0.0, |m: f64, &x| if x > m { x } else { m }), membrane.plain.x.sum()];
    let membrane = Stress::new(&membrane, center.membrane);
    let bending = Stress::new(&bending, center.bending);
    let mut energies = [Lane::<W>::ZERO; 2];
    let mut turn = Vector::<W>::default();
    pulls.fill(DVec3::ZERO);
    for (group, m) in groups.iter().zip(measured.iter()) {
        let [mut stretch, mut bend] = m.slopes;
        stretch = stretch * membrane.derivative(&group.membrane, m.strain, &mut energies[0]);
        bend = bend * bending.derivative(&group.bending, m.curvature, &mut energies[1]);
        turn += m.angles.normal * bend;
        for end in 0..2 {
            let pull = m.lengths.ends[end] * stretch + m.angles.ends[end] * bend;
            for lane in 0..LANES {
                pulls[usize::from(group.ends[end][lane])] -= pull.lane(lane);
            }
        }
    }
    add_turn(d, center.closed, turn.sum(), pulls);
    let energy = [membrane.energy + 0.5 * energies[0].sum(), bending.energy + 0.5 * energies[1].sum()];
    Own { force: -pulls.iter().sum::<DVec3>(), energy, strain }
}

impl<const W: bool> Measured<W> {
    #[inline(always)]
    fn new(group: &Group, d: &[DVec3], n: Vector<W>, n2: Lane<W>, floor: f64) -> Self {
        let [d1, d2] = group.ends.map(|ends| gather::<W>(d, ends));
        let splines = Splines::new(group.h1.cast(), group.inverse.map(|h| h.cast()), d1, d2);
        let lengths = splines.lengths();
        let angles = splines.angles(d2 - d1, n, n2);
        let half = Lane::<W>::splat(0.5);
        let inverse_rest2 = group.inverse_rest2.cast::<W>();
        // A lane without a fiber has an inverse of 0 and a strain of -1/2, which has no weight.
        let strain = half * (lengths.value * lengths.value * inverse_rest2) - half;
        let seen = Lane::ZERO.pick_above(-inverse_rest2, strain, Lane::ZERO);
        let per_turn = group.per_turn.cast::<W>() * angles.guard.max(Lane::splat(floor));
        Self {
            strain,
            seen,
            curvature: (angles.value - group.rest_angle.cast()) * per_turn,
            slopes: [lengths.value * inverse_rest2, per_turn],
            lengths,
            angles,
        }
    }
}

#[inline(always)]
fn gather<const W: bool>(d: &[DVec3], ends: [u8; LANES]) -> Vector<W> {
    let mut out = Vector::default();
    for lane in 0..LANES {
        let v = d[usize::from(ends[lane])];
        (out.x.0[lane], out.y.0[lane], out.z.0[lane]) = (v.x, v.y, v.z);
    }
    out
}

/// Area vector of a fan.
#[inline(always)]
fn fan_normal(d: &[DVec3], closed: bool) -> DVec3 {
    let mut sum = match (closed, d) {
        (true, [first, .., last]) => last.cross(*first),
        _ => DVec3::ZERO,
    };
    for pair in d.windows(2) {
        sum += pair[0].cross(pair[1]);
    }
    sum
}

/// Forces on the neighbors of the energy's derivative by the fan normal.
#[inline(always)]
fn add_turn(d: &[DVec3], closed: bool, turn: DVec3, pulls: &mut [DVec3]) {
    let count = d.len();
    if count < 2 {
        return;
    }
    for f in 0..count - 1 {
        pulls[f] -= d[f + 1].cross(turn);
        pulls[f + 1] -= turn.cross(d[f]);
    }
    if closed {
        pulls[count - 1] -= d[0].cross(turn);
        pulls[0] -= turn.cross(d[count - 1]);
    }
}

#[cfg(test)]
mod tests {
    use crate::models::shell::Shell;
    use crate::models::shell::law::{Sheet, ShellLaw};
    use crate::models::shell::nodes::{NodeOptions, spread_nodes};
    use crate::models::shell::surface::TriangleSurface;
    use crate::random::Random;
    use glam::DVec3;

    #[test]
    fn wide_vectors_and_plain_code_give_the_same_bits() {
        let options = NodeOptions { spacing: 0.1, rows: false, seed: 1 };
        let nodes = spread_nodes(&TriangleSurface::rectangle(1.0, 0.7), &options, &|p, n| (p, n));
        let sheet = Sheet { young: 1e5, poisson: 0.3, thickness: 0.01 };
        let shell = Shell::new(nodes, ShellLaw::Tensor, sheet);
        // Shaken so hard that some fibers are guarded.
        let shaken = |(i, p): (usize, &DVec3)| *p + 0.06 * Random::new(1, i as u64).in_cube();
        let positions: Vec<DVec3> = shell.nodes().positions.iter().enumerate().map(shaken).collect();
        let evaluate = |portable: bool| {
            let mut engine = shell.engine().clone();
            engine.portable = portable;
            engine.measure(&positions);
            let mut forces = vec![DVec3::ZERO; positions.len()];
            engine.add_forces(&mut forces);
            (forces, engine.energy(), engine.extremes())
        };
        assert_eq!(evaluate(true), evaluate(false));
    }
}
