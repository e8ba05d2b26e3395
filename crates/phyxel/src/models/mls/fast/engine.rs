//! Engine: the packed state of all points in one number format, and its passes cut into chunks for the threads.
#![allow(clippy::type_complexity, reason = "chunks of several arrays zipped: the type is the list of arrays")]
#![allow(unsafe_code, reason = "calls the passes, whose indices and CPU features are checked when the engine is built")]

use super::algebra::LaneExtremes;
use super::layout::{
    Block, CHUNK, CHUNK_BLOCKS, Displacement, INDEX_SCALE, LANES, Node, OwnForces, Owners, PairLists, Record,
    StiffnessBlock,
};
use super::passes::{Kick, Passes, PointKick, Shared};
use super::plastic::PlasticBlock;
use super::real::Real;
use crate::linalg::outer;
use crate::materials::plastic::{Flow, Symmetric};
use crate::materials::{ElasticLaw, PlasticLaw, Stiffness};
use crate::models::mls::Stencils;
use glam::{DMat3, DVec3, DVec4};
use rayon::prelude::*;
use std::ops::Range;

/// Below this many points the passes run on the calling thread: waking others would cost more.
const SERIAL_BELOW: usize = 2048;

/// Largest strain and smallest volume ratio of a state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extremes {
    /// Largest Frobenius norm of the Green strain; not finite if any strain is not.
    pub max_strain: f64,
    /// Smallest |J|, 1 at most.
    pub min_det: f64,
    /// Energy that plastic flow took on the way there [J].
    pub dissipated: f64,
}

impl Extremes {
    /// Those of matter at rest.
    pub const REST: Self = Self { max_strain: 0.0, min_det: 1.0, dissipated: 0.0 };
}

/// What `move_points` saw.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MoveReport {
    /// Largest speed [m/s].
    pub max_speed: f64,
    /// Whether all velocities are finite; displacements then are as well.
    pub finite: bool,
}

/// The state of one point's stencil.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LocalState {
    /// J - I, corrected.
    pub gradient: DMat3,
    /// Energy of the zero-energy control [J].
    pub control_energy: f64,
}

/// The passes behind one interface, whatever the number format.
pub(crate) trait Engine: Send + Sync {
    /// Sets the material of a range of points.
    fn set_law(&mut self, stencils: &Stencils, range: Range<usize>, law: &ElasticLaw);
    /// Takes a range of points out: they have no neighbors, no strain and no forces from now on.
    fn retire(&mut self, range: Range<usize>);
    /// Makes points of no stiffness but that of the zero-energy control, given for each [N/m].
    fn set_control(&mut self, stiffnesses: &[f64]);
    /// Takes over displacements [m].
    fn set_displacements(&mut self, u: &(dyn Fn(usize) -> DVec3 + Sync));
    /// Takes displacements from positions and rest positions.
    fn load(&mut self, positions: &[DVec3], rest_positions: &[DVec3]);
    /// Sets when and how fast a body yields; from the first plastic body on plastic strain is kept for all points.
    fn set_plastic_law(&mut self, body: usize, law: PlasticLaw);
    /// Plastic Green strain of point i.
    fn plastic_strain(&self, i: usize) -> Symmetric;
    /// Sets the plastic Green strain of point i, if it is kept.
    fn set_plastic_strain(&mut self, i: usize, strain: Symmetric);
    /// Whether plastic strain is kept.
    fn has_plastic(&self) -> bool;
    /// Pass 1, after plastic flow over `dt` [s].
    fn compute_stresses(&mut self, dt: f64) -> Extremes;
    /// Pass 2 into velocities.
    fn kick(&mut self, kick: PointKick);
    /// Pass 2 into forces [N].
    fn forces(&self, out: &mut [DVec3]);
    /// `x += dt v`, displacements after it; before that, velocities lose the momentum that rounding gave to the last kick.
    fn advance(&mut self, positions: &mut [DVec3], velocities: &mut [DVec3], rest: &[DVec3], dt: f64) -> MoveReport;
    /// Gradient and control energy of point i from the displacements, in f64 arithmetic.
    fn local(&self, i: usize) -> LocalState;
    /// Memory of the packed state [bytes].
    fn bytes(&self) -> usize;
}

/// Packed state; `T` is the format of pair data, `D` that of displacements.
pub(crate) struct PackedEngine<T: Real, D: Displacement> {
    points: usize,
    bodies: Vec<Range<usize>>,
    /// The point of each body whose displacement is the origin of the others', when `D` asks for one: the error of a difference of
    /// displacements then does not grow with the distance traveled.
    anchors: Option<Vec<usize>>,
    lists: PairLists<T>,
    nodes: Vec<Node<T, D>>,
    records: Vec<Record<T>>,
    blocks: Vec<Block<T>>,
    stiffnesses: Vec<StiffnessBlock<T>>,
    own: Vec<OwnForces<T>>,
    /// Per block; empty while no body is or was plastic.
    plastic: Vec<PlasticBlock>,
    /// Per body.
    plastic_laws: Vec<PlasticLaw>,
    /// Per body, written by `compute_stresses`.
    flows: Vec<Flow>,
    owners: Vec<Owners>,
    /// Per block, written by `kick`.
    nets: Vec<[DVec4; 2]>,
    /// Per body: what takes away the momentum that the last kick made out of rounding [m/s]. Internal forces sum to zero,
    /// but each point sums its own in `T`. Written by `kick`, used up by `advance`.
    corrections: Vec<DVec3>,
    extremes: Vec<LaneExtremes<T>>,
    moves: Vec<MoveReport>,
    passes: Passes<T, D>,
}

impl<T: Real, D: Displacement> PackedEngine<T, D> {
    /// Packs stencils with symmetric weights; `bodies` are consecutive ranges of points.
    ///
    /// Positions, weights and q are rounded to `T` first and all constants built from the rounded values in f64, so that
    /// affine fields stay exact and momentum is kept for what is stored.
    pub fn new(stencils: &Stencils, bodies: &[Range<usize>], passes: Passes<T, D>) -> Self {
        let points = stencils.len();
        let block_count = points.div_ceil(LANES);
        let padded = block_count * LANES;
        let starts: Vec<u32> = stencils.starts.iter().map(|&s| s as u32).collect();
        let weights: Vec<T> = stencils.weights.iter().map(|&w| T::of(w)).collect();
        let lists = PairLists::new(&starts, &stencils.neighbors, &weights, block_count);
        assert!(lists.indices.iter().all(|&j| ((j / INDEX_SCALE) as usize) < padded), "neighbor index out of range");
        let block_points = |b: usize| b * LANES..((b + 1) * LANES).min(points);
        let mut engine = Self {
            points,
            owners: (0..block_count).map(|b| Owners::of(block_points(b), bodies)).collect(),
            nets: vec![[DVec4::ZERO; 2]; block_count],
            corrections: vec![DVec3::ZERO; bodies.len()],
            plastic: Vec::new(),
            plastic_laws: vec![PlasticLaw::default(); bodies.len()],
            flows: Vec::new(),
            bodies: bodies.to_vec(),
            anchors: None,
            lists,
            nodes: vec![Node::default(); padded],
            records: vec![Record::default(); padded],
            blocks: vec![Block { stiffness: u32::MAX, ..Block::default() }; block_count],
            stiffnesses: Vec::new(),
            own: vec![[[T::default(); LANES]; 3]; block_count],
            extremes: vec![LaneExtremes::default(); block_count.div_ceil(CHUNK_BLOCKS)],
            moves: vec![MoveReport { max_speed: 0.0, finite: true }; block_count.div_ceil(CHUNK_BLOCKS)],
            passes,
        };
        engine.pack_points(stencils);
        engine.pack_blocks(stencils);
        engine
    }

    /// Mean volume: the scale of q, which keeps it in range of f32 for bodies of any size [m³].
    fn volume_scale(stencils: &Stencils) -> f64 {
        let mean = stencils.volumes.iter().sum::<f64>() / stencils.len().max(1) as f64;
        if mean > 0.0 { mean } else { 1.0 }
    }

    fn pack_points(&mut self, stencils: &Stencils) {
        let scale = Self::volume_scale(stencils);
        let mut anchors = Vec::with_capacity(self.bodies.len());
        for body in &self.bodies {
            let count = body.len().max(1) as f64;
            let center = stencils.rest_positions[body.clone()].iter().sum::<DVec3>() / count;
            let distance = |i: &usize| (stencils.rest_positions[*i] - center).length_squared();
            let nearest = body.clone().min_by(|a, b| distance(a).total_cmp(&distance(b)));
            anchors.push(nearest.unwrap_or(body.start));
            for i in body.clone() {
                let x = (stencils.rest_positions[i] - center).to_array().map(T::of);
                let q = (stencils.q[i] * scale).to_array().map(T::of);
                let zero = T::default();
                self.nodes[i].xkq = [x[0], x[1], x[2], zero, q[0], q[1], q[2], zero];
                self.records[i].xq = self.nodes[i].xkq;
            }
        }
        if D::NEEDS_ORIGIN {
            self.anchors = Some(anchors);
        }
    }

    fn pack_blocks(&mut self, stencils: &Stencils) {
        let scale = Self::volume_scale(stencils);
        let mut blocks = std::mem::take(&mut self.blocks);
        blocks.par_iter_mut().enumerate().for_each(|(k, block)| {
            for i in k * LANES..((k + 1) * LANES).min(self.points) {
                self.pack_lane(block, i, stencils, scale);
            }
        });
        self.blocks = blocks;
    }

    fn pack_lane(&self, block: &mut Block<T>, i: usize, stencils: &Stencils, scale: f64) {
        let (mut moment, mut q_moment) = (DMat3::ZERO, DMat3::ZERO);
        let (mut s, mut t) = (DVec3::ZERO, DVec3::ZERO);
        for (j, w) in self.lists.of(i) {
            let (x_ij, q_ij) = (self.rest_vector(i, j), self.q_vector(i, j));
            let w = w.f64();
            moment += outer(x_ij * w, x_ij);
            q_moment += outer(q_ij * w, x_ij);
            s += x_ij * w;
            t += q_ij * w;
        }
        // One Newton step takes the inverse from the exact to the rounded moments; it keeps missing directions missing.
        let inverse = stencils.inverse_moments[i];
        let inverse = inverse * (DMat3::IDENTITY * 2.0 - moment * inverse);
        let relative = stencils.volumes[i] / scale;
        let b = inverse - q_moment * inverse * relative;
        let l = i % LANES;
        for (k, (r, c)) in [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)].into_iter().enumerate() {
            block.a[k][l] = T::of(0.5 * (inverse.col(c)[r] + inverse.col(r)[c]));
        }
        for k in 0..9 {
            block.b[k][l] = T::of(b.col(k % 3)[k / 3]);
        }
        for k in 0..3 {
            block.s[k][l] = T::of(s[k]);
            block.t[k][l] = T::of(t[k]);
        }
        block.volume[l] = T::of(stencils.volumes[i]);
        block.relative_volume[l] = T::of(relative);
    }

    /// x_ij [m] as stored.
    fn rest_vector(&self, i: usize, j: usize) -> DVec3 {
        DVec3::from_array(std::array::from_fn(|k| self.nodes[j].xkq[k].f64() - self.nodes[i].xkq[k].f64()))
    }

    /// q_ij as stored, scaled [1/m].
    fn q_vector(&self, i: usize, j: usize) -> DVec3 {
        DVec3::from_array(std::array::from_fn(|k| self.nodes[j].xkq[4 + k].f64() - self.nodes[i].xkq[4 + k].f64()))
    }

    /// u_ij [m] as stored.
    fn displacement(&self, i: usize, j: usize) -> DVec3 {
        self.nodes[j].u.minus(&self.nodes[i].u)
    }

    /// Sums the net internal force of every body, which is zero but for rounding, in the order of blocks.
    fn find_corrections(&mut self, dt: f64) {
        let mut sums = vec![DVec4::ZERO; self.corrections.len()];
        for (owners, net) in self.owners.iter().zip(&self.nets) {
            sums[owners.first] += net[0];
            sums[owners.last] += net[1];
        }
        for (correction, sum) in self.corrections.iter_mut().zip(sums) {
            *correction = if sum.w > 0.0 { sum.truncate() * (-dt / sum.w) } else { DVec3::ZERO };
        }
    }

    fn parallel(&self) -> bool {
        self.points >= SERIAL_BELOW && rayon::current_num_threads() > 1
    }

    /// Row of the table of full stiffnesses that belongs to a block; made from its isotropic constants when new.
    fn stiffness_row(&mut self, block: usize) -> &mut StiffnessBlock<T> {
        let block = &mut self.blocks[block];
        if block.stiffness == u32::MAX {
            block.stiffness = self.stiffnesses.len() as u32;
            let mut row = [[T::default(); LANES]; 21];
            for l in 0..LANES {
                let law = Stiffness::Isotropic { lambda: block.lambda[l].f64(), mu: 0.5 * block.two_mu[l].f64() };
                set_lane(&mut row, l, &law);
            }
            self.stiffnesses.push(row);
        }
        &mut self.stiffnesses[block.stiffness as usize]
    }
}

/// Writes a stiffness into a lane of the table.
fn set_lane<T: Real>(row: &mut StiffnessBlock<T>, l: usize, stiffness: &Stiffness) {
    let entry = |p: usize, q: usize| match stiffness {
        Stiffness::Anisotropic(full) => full[p][q],
        Stiffness::Isotropic { mu, .. } if p >= 3 => {
            if p == q {
                *mu
            } else {
                0.0
            }
        }
        Stiffness::Isotropic { lambda, mu } if p == q => lambda + 2.0 * mu,
        Stiffness::Isotropic { lambda, .. } => {
            if q < 3 {
                *lambda
            } else {
                0.0
            }
        }
    };
    let mut k = 0;
    for p in 0..6 {
        for q in p..6 {
            row[k][l] = T::of(entry(p, q));
            k += 1;
        }
    }
}

/// Displacements of a chunk that starts at point `first`; `origins` has one per body.
fn write_displacements<T: Real, D: Displacement>(
    nodes: &mut [Node<T, D>],
    first: usize,
    bodies: &[Range<usize>],
    origins: &[DVec3],
    displacement: impl Fn(usize) -> DVec3,
) {
    if origins.is_empty() {
        for (k, node) in nodes.iter_mut().enumerate() {
            node.u = D::of(displacement(k));
        }
        return;
    }
    for (part, origin) in parts(bodies, origins, first, nodes.len()) {
        for i in part {
            nodes[i].u = D::of(displacement(i) - *origin);
        }
    }
}

/// The parts of `count` points from `first` on that belong to one body each, as ranges from 0, with the body's value.
fn parts<'a, V>(
    bodies: &'a [Range<usize>],
    values: &'a [V],
    first: usize,
    count: usize,
) -> impl Iterator<Item = (Range<usize>, &'a V)> {
    let end = first + count;
    let from = bodies.partition_point(|body| body.end <= first);
    let overlapping = bodies.iter().zip(values).skip(from).take_while(move |(body, _)| body.start < end);
    overlapping.map(move |(body, value)| (body.start.max(first) - first..body.end.min(end) - first, value))
}

impl<T: Real, D: Displacement> Engine for PackedEngine<T, D> {
    fn set_law(&mut self, stencils: &Stencils, range: Range<usize>, law: &ElasticLaw) {
        let isotropic = match law.stiffness {
            Stiffness::Isotropic { lambda, mu } => Some((lambda, mu)),
            Stiffness::Anisotropic(_) => None,
        };
        for i in range {
            let kappa = T::of(stencils.control_stiffness(i, law.control_modulus));
            self.nodes[i].xkq[3] = kappa;
            let l = i % LANES;
            let block = &mut self.blocks[i / LANES];
            block.kappa[l] = kappa;
            block.volume_stiffness[l] = T::of(law.volume_stiffness);
            block.collapse_stiffness[l] = T::of(law.collapse_stiffness);
            block.collapse_strain[l] = T::of(law.collapse_ratio - 1.0);
            if let Some((lambda, mu)) = isotropic {
                block.lambda[l] = T::of(lambda);
                block.two_mu[l] = T::of(2.0 * mu);
            }
            if isotropic.is_none() || self.blocks[i / LANES].stiffness != u32::MAX {
                set_lane(self.stiffness_row(i / LANES), l, &law.stiffness);
            }
        }
    }

    fn retire(&mut self, range: Range<usize>) {
        let (mut starts, mut neighbors, mut weights) = (vec![0u32], Vec::new(), Vec::new());
        for i in 0..self.points {
            let kept = self.lists.of(i).filter(|_| !range.contains(&i));
            for (j, w) in kept {
                neighbors.push(j as u32);
                weights.push(w);
            }
            starts.push(neighbors.len() as u32);
        }
        self.lists = PairLists::new(&starts, &neighbors, &weights, self.blocks.len());
        // No list brings the old stresses back, but a pass that is skipped would leave them.
        for i in range {
            (0..3).for_each(|c| self.own[i / LANES][c][i % LANES] = T::default());
        }
    }

    fn set_control(&mut self, stiffnesses: &[f64]) {
        self.blocks.iter_mut().for_each(Block::soften);
        for (i, &kappa) in stiffnesses.iter().enumerate() {
            self.nodes[i].xkq[3] = T::of(kappa);
            self.blocks[i / LANES].kappa[i % LANES] = T::of(kappa);
        }
    }

    fn set_displacements(&mut self, u: &(dyn Fn(usize) -> DVec3 + Sync)) {
        let origins: Vec<DVec3> = self.anchors.iter().flatten().map(|&i| u(i)).collect();
        let bodies = &self.bodies;
        let chunks = self.nodes[..self.points].par_chunks_mut(CHUNK).enumerate();
        chunks.for_each(|(chunk, nodes)| {
            let first = chunk * CHUNK;
            write_displacements(nodes, first, bodies, &origins, |k| u(first + k));
        });
    }

    fn load(&mut self, positions: &[DVec3], rest_positions: &[DVec3]) {
        self.set_displacements(&|i| positions[i] - rest_positions[i]);
    }

    fn set_plastic_law(&mut self, body: usize, law: PlasticLaw) {
        self.plastic_laws[body] = law;
        if law.creep > 0.0 && self.plastic.is_empty() {
            let body_of =
                |i: usize| self.bodies.partition_point(|body| body.end <= i).min(self.bodies.len() - 1) as u32;
            let block = |b: usize| PlasticBlock {
                strain: [[0.0; LANES]; 6],
                bodies: std::array::from_fn(|l| body_of(b * LANES + l)),
            };
            self.plastic = (0..self.blocks.len()).map(block).collect();
        }
    }

    fn plastic_strain(&self, i: usize) -> Symmetric {
        self.plastic.get(i / LANES).map_or([0.0; 6], |block| block.of(i % LANES))
    }

    fn set_plastic_strain(&mut self, i: usize, strain: Symmetric) {
        if let Some(block) = self.plastic.get_mut(i / LANES) {
            (0..6).for_each(|k| block.strain[k][i % LANES] = strain[k]);
        }
    }

    fn has_plastic(&self) -> bool {
        !self.plastic.is_empty()
    }

    fn compute_stresses(&mut self, dt: f64) -> Extremes {
        let parallel = self.parallel();
        self.flows.clear();
        self.flows.extend(self.plastic_laws.iter().map(|law| law.over(dt)));
        let shared = Shared {
            lists: &self.lists,
            nodes: &self.nodes,
            blocks: &self.blocks,
            stiffnesses: &self.stiffnesses,
            flows: &self.flows,
        };
        let pass = self.passes.stress;
        let work = |chunk: usize, records: &mut [_], own: &mut [_], extremes: &mut _, plastic: &mut [_]| {
            // SAFETY: `new` checked the indices, `Passes::select` the CPU.
            *extremes = unsafe { pass(&shared, chunk * CHUNK_BLOCKS, records, own, plastic) };
        };
        let elastic = |(chunk, ((records, own), extremes)): (usize, ((&mut [_], &mut [_]), &mut _))| {
            work(chunk, records, own, extremes, &mut []);
        };
        let flowing = |(chunk, (((records, own), extremes), plastic)): (
            usize,
            (((&mut [_], &mut [_]), &mut _), &mut [PlasticBlock]),
        )| work(chunk, records, own, extremes, plastic);
        if parallel {
            let chunks = self.records.par_chunks_mut(CHUNK).zip(self.own.par_chunks_mut(CHUNK_BLOCKS));
            let chunks = chunks.zip(self.extremes.par_iter_mut());
            if self.plastic.is_empty() {
                chunks.enumerate().for_each(elastic);
            } else {
                chunks.zip(self.plastic.par_chunks_mut(CHUNK_BLOCKS)).enumerate().for_each(flowing);
            }
        } else {
            let chunks = self.records.chunks_mut(CHUNK).zip(self.own.chunks_mut(CHUNK_BLOCKS));
            let chunks = chunks.zip(self.extremes.iter_mut());
            if self.plastic.is_empty() {
                chunks.enumerate().for_each(elastic);
            } else {
                chunks.zip(self.plastic.chunks_mut(CHUNK_BLOCKS)).enumerate().for_each(flowing);
            }
        }
        self.extremes.iter().fold(Extremes::REST, |mut sum, chunk| {
            sum.dissipated += chunk.dissipated;
            for l in 0..LANES {
                let finite = chunk.total[l].f64().is_finite();
                let strain = if finite { chunk.strain_squared[l].f64().sqrt() } else { f64::INFINITY };
                sum.max_strain = sum.max_strain.max(strain);
                sum.min_det = sum.min_det.min(1.0 + chunk.volume_strain[l].f64());
            }
            sum
        })
    }

    fn kick(&mut self, kick: PointKick) {
        let PointKick { velocities, masses, forces, has_forces, dt, gravity } = kick;
        let parallel = self.parallel();
        let (lists, records, pass) = (&self.lists, &self.records, self.passes.kick);
        let work = |(chunk, ((((velocities, masses), forces), (own, owners)), nets)): (
            usize,
            ((((&mut [_], &[_]), &mut [_]), (&[_], &[_])), &mut [_]),
        )| {
            let points = PointKick { velocities, masses, forces, has_forces, dt, gravity };
            let kick = Kick { points, owners, nets };
            // SAFETY: `new` checked the indices, `Passes::select` the CPU.
            unsafe { pass(lists, records, chunk * CHUNK_BLOCKS, own, kick) };
        };
        if parallel {
            let blocks = self.own.par_chunks(CHUNK_BLOCKS).zip(self.owners.par_chunks(CHUNK_BLOCKS));
            let chunks = velocities.par_chunks_mut(CHUNK).zip(masses.par_chunks(CHUNK));
            let chunks = chunks.zip(forces.par_chunks_mut(CHUNK)).zip(blocks);
            chunks.zip(self.nets.par_chunks_mut(CHUNK_BLOCKS)).enumerate().for_each(work);
        } else {
            let blocks = self.own.chunks(CHUNK_BLOCKS).zip(self.owners.chunks(CHUNK_BLOCKS));
            let chunks = velocities.chunks_mut(CHUNK).zip(masses.chunks(CHUNK));
            let chunks = chunks.zip(forces.chunks_mut(CHUNK)).zip(blocks);
            chunks.zip(self.nets.chunks_mut(CHUNK_BLOCKS)).enumerate().for_each(work);
        }
        self.find_corrections(dt);
    }

    fn forces(&self, out: &mut [DVec3]) {
        let (lists, records, pass) = (&self.lists, &self.records, self.passes.force);
        let work = |(chunk, (out, own)): (usize, (&mut [_], &[_]))| {
            // SAFETY: `new` checked the indices, `Passes::select` the CPU.
            unsafe { pass(lists, records, chunk * CHUNK_BLOCKS, own, out) };
        };
        if self.parallel() {
            out.par_chunks_mut(CHUNK).zip(self.own.par_chunks(CHUNK_BLOCKS)).enumerate().for_each(work);
        } else {
            out.chunks_mut(CHUNK).zip(self.own.chunks(CHUNK_BLOCKS)).enumerate().for_each(work);
        }
    }

    fn advance(&mut self, positions: &mut [DVec3], velocities: &mut [DVec3], rest: &[DVec3], dt: f64) -> MoveReport {
        let (bodies, corrections) = (&self.bodies, &self.corrections);
        let moved = |(&i, correction): (&usize, &DVec3)| (positions[i] + (velocities[i] + *correction) * dt) - rest[i];
        let origins: Vec<DVec3> = self.anchors.iter().flatten().zip(corrections).map(moved).collect();
        let parallel = self.parallel();
        let work = |(chunk, (((x, v), nodes), report)): (
            usize,
            (((&mut [DVec3], &mut [DVec3]), &mut [Node<T, D>]), &mut MoveReport),
        )| {
            let first = chunk * CHUNK;
            for (part, correction) in parts(bodies, corrections, first, x.len()) {
                v[part].iter_mut().for_each(|v| *v += *correction);
            }
            let (mut largest, mut total) = (0.0f64, 0.0);
            for (x, v) in x.iter_mut().zip(&*v) {
                *x += *v * dt;
                let squared = v.length_squared();
                largest = if squared > largest { squared } else { largest };
                total += squared;
            }
            let rest = &rest[first..first + x.len()];
            write_displacements(&mut nodes[..x.len()], first, bodies, &origins, |k| x[k] - rest[k]);
            *report = MoveReport { max_speed: largest.sqrt(), finite: total.is_finite() };
        };
        if parallel {
            let chunks = positions.par_chunks_mut(CHUNK).zip(velocities.par_chunks_mut(CHUNK));
            let chunks = chunks.zip(self.nodes.par_chunks_mut(CHUNK)).zip(self.moves.par_iter_mut());
            chunks.enumerate().for_each(work);
        } else {
            let chunks = positions.chunks_mut(CHUNK).zip(velocities.chunks_mut(CHUNK));
            let chunks = chunks.zip(self.nodes.chunks_mut(CHUNK)).zip(self.moves.iter_mut());
            chunks.enumerate().for_each(work);
        }
        self.corrections.fill(DVec3::ZERO);
        self.moves.iter().fold(MoveReport { max_speed: 0.0, finite: true }, |sum, chunk| MoveReport {
            max_speed: sum.max_speed.max(chunk.max_speed),
            finite: sum.finite && chunk.finite,
        })
    }

    fn local(&self, i: usize) -> LocalState {
        let (block, l) = (&self.blocks[i / LANES], i % LANES);
        let (mut moment, mut q_moment) = (DMat3::ZERO, DMat3::ZERO);
        for (j, w) in self.lists.of(i) {
            let u_ij = self.displacement(i, j) * w.f64();
            moment += outer(u_ij, self.rest_vector(i, j));
            q_moment += outer(u_ij, self.q_vector(i, j));
        }
        let a = |k: usize| block.a[k][l].f64();
        let plain = moment * DMat3::from_cols_array(&[a(0), a(1), a(2), a(1), a(3), a(4), a(2), a(4), a(5)]);
        // Reading rows as columns gives the transpose of B.
        let b_transposed = DMat3::from_cols_array(&std::array::from_fn(|k| block.b[k][l].f64()));
        let gradient = moment * b_transposed + q_moment * block.relative_volume[l].f64();
        let residual = |(j, w): (usize, T)| {
            let r = self.displacement(i, j) - plain * self.rest_vector(i, j);
            w.f64() * r.length_squared()
        };
        let squares: f64 = self.lists.of(i).map(residual).sum();
        LocalState { gradient, control_energy: 0.5 * block.kappa[l].f64() * squares }
    }

    fn bytes(&self) -> usize {
        let lists =
            size_of_val(&*self.lists.starts) + size_of_val(&*self.lists.indices) + size_of_val(&*self.lists.weights);
        let points = size_of_val(&*self.nodes) + size_of_val(&*self.records) + size_of_val(&*self.own);
        lists + points + size_of_val(&*self.blocks) + size_of_val(&*self.stiffnesses) + size_of_val(&*self.plastic)
    }
}
