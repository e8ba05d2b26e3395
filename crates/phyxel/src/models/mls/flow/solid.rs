//! Solid stencils packed for the passes over their bonds, and the same in f64 one by one.
//!
//! What is packed follows from the stencils and is packed anew after they or their laws have changed. Stencils that do not
//! see three directions are evaluated in f64 and their pulls put in place.

use super::bonds::{Bond, Deformed, SolidMatter, Stencil};
use super::lanes::{LANES, Row};
use super::packed::Motion;
use super::pairs::Kind;
use super::solid_pass::{Block, Bonds, Found, Law, Passes, Pulls, Shared};
use super::{BOND_DAMPING, FlowModel, softest};
use crate::heat::stiffness_factor;
use crate::models::mls::fast::Instructions;
use crate::points::Points;
use glam::{DMat3, DVec3};
use rayon::prelude::*;

/// Blocks per parallel task; fixed, so that the work is cut the same for any number of threads.
const CHUNK: usize = 16;
/// Stands for no point or no place.
const NONE: u32 = u32::MAX;

/// Packed solid stencils, body after body; the points of a block are of one body.
pub(crate) struct Solid {
    /// Whether it is packed from the present stencils.
    fresh: bool,
    /// Point of each place, eight places a block; `NONE` where there is none.
    points: Vec<u32>,
    /// Place of each point; `NONE` where it is not solid.
    places: Vec<u32>,
    /// Bonds of each place.
    counts: Vec<u32>,
    /// Bonds of block b are `starts[b]..starts[b + 1]`.
    starts: Vec<u32>,
    blocks: Vec<Block>,
    bonds: Vec<Bonds>,
    /// Opposite bond of each bond, in the flat order of `pulls`.
    twins: Vec<[u32; LANES]>,
    /// Places whose stencils are evaluated in f64, ascending.
    odd: Vec<u32>,
    laws: Vec<Law>,
    /// Positions and velocities. Written by `load`.
    motions: Vec<Row>,
    /// Written by pass 1.
    found: Vec<Found>,
    /// Written by pass 1.
    pulls: Vec<Pulls>,
    /// Force on each place [N]. Written by pass 2.
    sums: Vec<DVec3>,
    /// [m]
    unit: f64,
    passes: Passes,
}

impl Default for Solid {
    fn default() -> Self {
        Self::new(Instructions::best())
    }
}

impl Solid {
    pub fn new(instructions: Instructions) -> Self {
        Self {
            fresh: false,
            points: Vec::new(),
            places: Vec::new(),
            counts: Vec::new(),
            starts: Vec::new(),
            blocks: Vec::new(),
            bonds: Vec::new(),
            twins: Vec::new(),
            odd: Vec::new(),
            laws: Vec::new(),
            motions: Vec::new(),
            found: Vec::new(),
            pulls: Vec::new(),
            sums: Vec::new(),
            unit: 1.0,
            passes: Passes::select(instructions),
        }
    }

    /// Forgets what is packed: stencils or laws have changed.
    pub fn forget(&mut self) {
        self.fresh = false;
    }

    /// Bond forces on a point as of the last pass [N].
    pub fn force(&self, point: usize) -> DVec3 {
        self.place(point).map_or(DVec3::ZERO, |p| self.sums[p])
    }

    /// How a point's stencil was deformed in the last pass.
    pub fn deformed(&self, point: usize) -> Deformed {
        let Some(p) = self.place(point) else { return Deformed::NONE };
        let (found, lane) = (&self.found[p / LANES], p % LANES);
        let rows = found.gradient.map(|Row(lanes)| f64::from(lanes[lane]));
        Deformed {
            gradient: DMat3::from_cols_array(&rows).transpose(),
            energy: f64::from(found.energy.0[lane]) * self.unit,
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let bonds = size_of_val(&*self.bonds) + size_of_val(&*self.twins) + size_of_val(&*self.pulls);
        bonds + size_of_val(&*self.blocks) + size_of_val(&*self.found) + size_of_val(&*self.motions)
    }

    fn place(&self, point: usize) -> Option<usize> {
        self.places.get(point).filter(|&&p| p != NONE).map(|&p| p as usize)
    }

    /// Gives solid points their places. Those that are near each other in `order` come near each other.
    fn place_points(&mut self, order: &[u32], bodies: &[u32], stencils: &[Stencil], is_solid: impl Fn(u32) -> bool) {
        let mut solid: Vec<u32> = order.iter().copied().filter(|&i| is_solid(i)).collect();
        solid.sort_by_key(|&i| bodies[i as usize]);
        // Lists of about the same length share a block.
        for chunk in solid.chunks_mut(CHUNK * LANES) {
            chunk.sort_by_key(|&i| (bodies[i as usize], stencils[i as usize].bonds.len()));
        }
        self.points.clear();
        for &i in &solid {
            let body = bodies[i as usize];
            if self.points.last().is_some_and(|&last| bodies[last as usize] != body) {
                self.points.resize(self.points.len().next_multiple_of(LANES), NONE);
            }
            self.points.push(i);
        }
        self.points.resize(self.points.len().next_multiple_of(LANES), NONE);
        self.places.clear();
        self.places.resize(bodies.len(), NONE);
        for (p, &i) in self.points.iter().enumerate().filter(|(_, i)| **i != NONE) {
            self.places[i as usize] = p as u32;
        }
    }

    /// Sizes the arrays for the places.
    fn make_room(&mut self, stencils: &[Stencil]) {
        self.counts.clear();
        let count = |&i: &u32| if i == NONE { 0 } else { stencils[i as usize].bonds.len() as u32 };
        self.counts.extend(self.points.iter().map(count));
        self.starts.clear();
        self.starts.push(0);
        let mut end = 0;
        self.starts.extend(self.counts.chunks(LANES).map(|counts| {
            end += counts.iter().max().copied().unwrap_or(0);
            end
        }));
        let blocks = self.points.len() / LANES;
        self.blocks.clear();
        self.blocks.resize(blocks, Block::NONE);
        self.found.clear();
        self.found.resize(blocks, Found::NONE);
        self.motions.clear();
        self.motions.resize(self.points.len(), Row::ZERO);
        self.sums.clear();
        self.sums.resize(self.points.len(), DVec3::ZERO);
        let none = Bonds { to: [0; LANES], weight: Row::ZERO, rest: [Row::ZERO; 3], slope: [Row::ZERO; 3] };
        self.bonds.clear();
        self.bonds.resize(end as usize, none);
        self.twins.clear();
        self.twins.resize(end as usize, [0; LANES]);
        self.pulls.clear();
        self.pulls.resize(end as usize, [[0.0; 4]; LANES]);
        self.odd.clear();
    }

    /// Copies the bonds of all stencils, and fills the rest with bonds to oneself.
    fn copy_bonds(&mut self, stencils: &[Stencil]) {
        let unit = self.unit;
        for p in 0..self.points.len() {
            let (b, lane) = (p / LANES, p % LANES);
            for entry in self.starts[b]..self.starts[b + 1] {
                self.bonds[entry as usize].to[lane] = p as u32;
                self.twins[entry as usize][lane] = entry * LANES as u32 + lane as u32;
            }
            if self.points[p] == NONE {
                continue;
            }
            for (k, bond) in stencils[self.points[p] as usize].bonds.iter().enumerate() {
                let entry = self.starts[b] as usize + k;
                let Some(to) = self.place(bond.to as usize) else { continue };
                let packed = &mut self.bonds[entry];
                packed.to[lane] = to as u32;
                packed.weight.0[lane] = bond.weight as f32;
                for r in 0..3 {
                    packed.rest[r].0[lane] = (bond.rest[r] / unit) as f32;
                    packed.slope[r].0[lane] = (bond.slope[r] * unit) as f32;
                }
                self.twins[entry][lane] = (self.starts[to / LANES] + bond.twin) * LANES as u32 + (to % LANES) as u32;
            }
        }
    }

    /// Sets the constants of a place.
    fn set_constants(&mut self, p: usize, stencil: &Stencil, matter: &SolidMatter, damping: f64) {
        if !stencil.sees_everything() {
            self.odd.push(p as u32);
            return;
        }
        let (block, lane, unit) = (&mut self.blocks[p / LANES], p % LANES, self.unit);
        let m = stencil.inverse * (unit * unit);
        let parts = [m.x_axis.x, m.x_axis.y, m.x_axis.z, m.y_axis.y, m.y_axis.z, m.z_axis.z];
        for (row, part) in block.inverse.iter_mut().zip(parts) {
            row.0[lane] = part as f32;
        }
        block.volume.0[lane] = (stencil.worth * matter.volume / unit) as f32;
        block.control.0[lane] = (stencil.control(matter) * unit) as f32;
        block.damping.0[lane] = damping as f32;
    }

    /// Takes positions, velocities and stiffness left of the points.
    fn load(&mut self, points: &Points, left: impl Fn(usize) -> f64 + Sync) {
        let per_unit = 1.0 / self.unit;
        let order = &self.points;
        let blocks = self.motions.par_chunks_mut(LANES).zip(&mut self.blocks);
        blocks.enumerate().with_min_len(CHUNK).for_each(|(b, (motions, block))| {
            for (lane, &i) in order[b * LANES..(b + 1) * LANES].iter().enumerate().filter(|(_, i)| **i != NONE) {
                let i = i as usize;
                let (position, velocity) = (points.positions[i], points.velocities[i]);
                motions[lane] = Motion { position, velocity, volume: 0.0, size: 0.0 }.row(per_unit);
                block.left.0[lane] = left(i) as f32;
            }
        });
    }

    /// Both passes; `evaluate(point, put)` is for the stencils that the first leaves out.
    fn run(&mut self, evaluate: impl Fn(usize, &mut dyn FnMut(usize, DVec3)) -> Deformed + Sync) {
        let shared = Shared { motions: &self.motions, starts: &self.starts, bonds: &self.bonds, laws: &self.laws };
        let (pull, points, odd, unit) = (self.passes.pull, &self.points, &self.odd, self.unit);
        let mut pieces = Vec::with_capacity(self.blocks.len().div_ceil(CHUNK));
        let mut rest = self.pulls.as_mut_slice();
        for first in (0..self.blocks.len()).step_by(CHUNK) {
            let last = (first + CHUNK).min(self.blocks.len());
            let (piece, tail) = rest.split_at_mut((self.starts[last] - self.starts[first]) as usize);
            pieces.push(piece);
            rest = tail;
        }
        let chunks = self.found.par_chunks_mut(CHUNK).zip(self.blocks.par_chunks(CHUNK)).zip(pieces);
        chunks.enumerate().for_each(|(chunk, ((found, blocks), pulls))| {
            let first = chunk * CHUNK;
            #[allow(unsafe_code, reason = "vector kernels")]
            // SAFETY: `copy_bonds` leads bonds only to places, `Passes::select` saw the CPU.
            unsafe {
                pull(&shared, first, blocks, found, pulls);
            }
            let (from, to) = ((first * LANES) as u32, ((first + blocks.len()) * LANES) as u32);
            for &p in &odd[odd.partition_point(|&p| p < from)..odd.partition_point(|&p| p < to)] {
                let (b, lane) = (p as usize / LANES, p as usize % LANES);
                let start = (shared.starts[b] - shared.starts[first]) as usize;
                let deformed = evaluate(points[p as usize] as usize, &mut |k, pull| {
                    let [x, y, z] = pull.as_vec3().to_array();
                    pulls[start + k][lane] = [x, y, z, 0.0];
                });
                let found = &mut found[b - first];
                let rows = deformed.gradient.transpose().to_cols_array();
                found.gradient.iter_mut().zip(rows).for_each(|(row, part)| row.0[lane] = part as f32);
                found.energy.0[lane] = (deformed.energy / unit) as f32;
            }
        });
        let (gather, starts, twins, pulls) = (self.passes.gather, &self.starts, &self.twins, &self.pulls);
        let sums = self.sums.par_chunks_mut(CHUNK * LANES).zip(self.counts.par_chunks(CHUNK * LANES));
        sums.enumerate().for_each(|(chunk, (sums, counts))| {
            #[allow(unsafe_code, reason = "vector kernels")]
            // SAFETY: `Passes::select` saw the CPU.
            unsafe {
                gather(&starts[chunk * CHUNK..], counts, twins, pulls, sums);
            }
        });
    }
}

impl FlowModel {
    /// Bond forces and deformations of all solid stencils.
    pub(super) fn evaluate_solid(&mut self, points: &Points) {
        let mut solid = std::mem::take(&mut self.solid);
        if !solid.fresh {
            self.pack(&mut solid, points);
        }
        solid.load(points, |i| self.stiffness_left(i, points));
        solid.run(|i, put| self.evaluate_stencil(i, points, put));
        self.solid = solid;
    }

    fn pack(&self, solid: &mut Solid, points: &Points) {
        let stencils = &self.state.stencils;
        solid.unit = self.scale.unit;
        let is_solid = |i: u32| self.state.kinds[i as usize] == Kind::Solid;
        solid.place_points(&self.pairs.points, &points.bodies, stencils, is_solid);
        solid.make_room(stencils);
        solid.copy_bonds(stencils);
        solid.laws.clear();
        solid.laws.extend(self.bodies.iter().map(|b| Law::new(&b.law)));
        for p in 0..solid.points.len() {
            let i = solid.points[p];
            if i != NONE {
                let (i, body) = (i as usize, points.bodies[i as usize]);
                solid.blocks[p / LANES].body = body;
                let law = &self.bodies[body as usize].law;
                let matter = SolidMatter { law, volume: points.volumes[i], stiffness: 1.0 };
                solid.set_constants(p, &stencils[i], &matter, self.damping(i, points));
            }
        }
        solid.fresh = true;
    }

    /// Part of a solid point's stiffness that is left near the melting point.
    fn stiffness_left(&self, i: usize, points: &Points) -> f64 {
        let body = points.bodies[i] as usize;
        match self.fractions[i] {
            0.0 => 1.0,
            fraction => stiffness_factor(fraction, softest(&self.bodies[body].law, &self.matters[body])),
        }
    }

    /// Damping along bonds of weight 1 [kg/s].
    fn damping(&self, i: usize, points: &Points) -> f64 {
        let (law, stencil) = (&self.bodies[points.bodies[i] as usize].law, &self.state.stencils[i]);
        let wave = (law.longitudinal_modulus() * points.masses[i] * points.volumes[i]).sqrt();
        let total: f64 = stencil.bonds.iter().map(|b| b.weight).sum();
        BOND_DAMPING * wave / (stencil.radius * total).max(f64::MIN_POSITIVE)
    }

    /// One stencil in f64; calls `put(k, pull)` for each bond [N].
    pub(super) fn evaluate_stencil(&self, i: usize, points: &Points, put: &mut dyn FnMut(usize, DVec3)) -> Deformed {
        let stencil = &self.state.stencils[i];
        let law = &self.bodies[points.bodies[i] as usize].law;
        let matter = SolidMatter { law, volume: points.volumes[i], stiffness: self.stiffness_left(i, points) };
        let damping = self.damping(i, points);
        let vector = |bond: &Bond| points.positions[bond.to as usize] - points.positions[i];
        stencil.evaluate(&matter, vector, |k, pull| {
            let bond = &stencil.bonds[k];
            let (y, v) = (vector(bond), points.velocities[bond.to as usize] - points.velocities[i]);
            let rate = v.dot(y) / y.length_squared().max(f64::MIN_POSITIVE);
            put(k, pull + y * (rate * damping * bond.weight));
        })
    }
}
