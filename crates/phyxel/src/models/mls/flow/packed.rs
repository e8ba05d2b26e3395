//! The two passes over linked neighbors in f32, eight points at a time, one point per lane.
//!
//! Pass 1 (`fit`) sums the moments of `melt` and turns them into what each point sends; pass 2 (`force`) adds up what comes
//! in. The force of a pair is the same expression from both ends, so the two are opposite to the last bit; they are added up
//! in f64, so momentum is kept to f64 rounding. Every point sums its own list in order: the bits do not depend on threads.
#![allow(unsafe_code, reason = "unchecked gathers by index, and functions that need CPU features checked at start")]

use super::algebra::{Charges, Constants, Moments, charge};
use super::lanes::{FRACTION, LANES, Lanes, Plain, Row, SEQUENCE};
use super::melt::{NEAR, Scale};
use super::pairs::{Blocks, SUPPORT};
use crate::models::mls::fast::Instructions;
use glam::DVec3;
use rayon::prelude::*;
use std::f64::consts::PI;

/// Blocks per parallel task; fixed, so that the work is cut the same for any number of threads.
const CHUNK: usize = 16;

/// A row in lists that stands for nobody: no volume, velocity or reach, so it adds nothing.
const NOBODY: Row = Row([0.0, 0.0, 0.0, -1e6, 0.0, 0.0, 0.0, 0.0]);
/// Least stiffness that is sent, so that its sign tells who is melted.
const LEAST_STIFFNESS: f32 = 1e-20;
/// Smallest mean spacing of a pair [length units]; below it is only `NOBODY`.
const LEAST_SIZE: f32 = 1e-3;

/// What pass 1 knows and finds about eight points.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fitted {
    /// Stored strain before and after: xx, xy, xz, yy, yz, zz.
    pub strain: [Row; 6],
    /// δ over that of a full neighborhood.
    pub density: Row,
    /// p / δ² [Pa].
    pub pressure: Row,
    /// 2 κ m / h⁴ [one over length units⁴].
    pub open: [Row; 3],
    /// κ |m̃|².
    pub missing: Row,
}

/// Packed state of all slots.
pub(crate) struct Packed {
    /// x, y, z in fixed point, half the spacing, velocity, volume; after the last block one that is nobody.
    motions: Vec<Row>,
    /// Row by row the stress, then control, pressure, stiffness (negative where it is not melted), viscosity, lean; scaled for
    /// pass 2.
    sent: Vec<[Row; 2]>,
    pub constants: Vec<Constants>,
    pub fitted: Vec<Fitted>,
    passes: Passes,
}

/// State of one slot as it is loaded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Motion {
    pub position: DVec3,
    pub velocity: DVec3,
    /// [m³]
    pub volume: f64,
    /// [m]
    pub size: f64,
}

impl Motion {
    /// As the passes read it.
    pub fn row(&self, per_unit: f64) -> Row {
        // Coordinates beyond the range wrap around; only differences count.
        let fixed = |x: f64| f32::from_bits((x * per_unit * FRACTION) as i64 as u32);
        let [x, y, z] = self.position.to_array().map(fixed);
        let [u, v, w] = self.velocity.as_vec3().to_array();
        let volume = self.volume * per_unit * per_unit * per_unit;
        Row([x, y, z, (0.5 * self.size * per_unit) as f32, u, v, w, volume as f32])
    }
}

impl Default for Packed {
    fn default() -> Self {
        Self::new(Instructions::best())
    }
}

impl Packed {
    pub fn new(instructions: Instructions) -> Self {
        let passes = Passes::select(instructions);
        Self { motions: Vec::new(), sent: Vec::new(), constants: Vec::new(), fitted: Vec::new(), passes }
    }

    /// Takes the state of `slots` slots.
    pub fn load(&mut self, slots: usize, scale: &Scale, motion: impl Fn(usize) -> Motion + Sync) {
        let blocks = slots.div_ceil(LANES);
        self.motions.resize(blocks * LANES + 1, NOBODY);
        self.sent.resize(blocks * LANES + 1, [Row::ZERO; 2]);
        self.constants.resize(blocks, Constants::NONE);
        let (strain, open) = ([Row::ZERO; 6], [Row::ZERO; 3]);
        let nothing = Fitted { strain, density: Row([1.0; LANES]), pressure: Row::ZERO, open, missing: Row::ZERO };
        self.fitted.resize(blocks, nothing);
        let per_unit = 1.0 / scale.unit;
        self.motions.par_chunks_mut(CHUNK * LANES).enumerate().for_each(|(chunk, rows)| {
            for (k, row) in rows.iter_mut().enumerate() {
                let s = chunk * CHUNK * LANES + k;
                *row = if s < slots { motion(s).row(per_unit) } else { NOBODY };
            }
        });
        self.sent[blocks * LANES] = [Row::ZERO; 2];
    }

    /// Pass 1: brings the strains in `fitted` over a step of `dt` [s], finds densities and what each slot sends.
    pub fn fit(&mut self, lists: &Blocks, scale: &Scale, dt: f64) {
        self.check(lists);
        let shared = Shared { lists, motions: &self.motions, scale, dt: (dt / scale.unit) as f32 };
        let pass = self.passes.fit;
        let whole = self.motions.len() - 1;
        let chunks = self.sent[..whole].par_chunks_mut(CHUNK * LANES).zip(self.fitted.par_chunks_mut(CHUNK));
        chunks.zip(self.constants.par_chunks(CHUNK)).enumerate().for_each(|(chunk, ((sent, fitted), constants))| {
            // SAFETY: `check` saw that lists and rows belong together, `Passes::select` the CPU.
            unsafe { pass(&shared, chunk * CHUNK, constants, fitted, sent) };
        });
    }

    /// Pass 2: forces of linked neighbors [N].
    pub fn forces(&self, lists: &Blocks, scale: &Scale, out: &mut [DVec3]) {
        self.check(lists);
        assert!(out.len() < self.motions.len(), "one force per slot");
        let shared = Shared { lists, motions: &self.motions, scale, dt: 0.0 };
        let pass = self.passes.force;
        out.par_chunks_mut(CHUNK * LANES).enumerate().for_each(|(chunk, out)| {
            // SAFETY: as in `fit`.
            unsafe { pass(&shared, chunk * CHUNK, &self.sent, out) };
        });
    }

    /// Lists have indices up to that of nobody only.
    fn check(&self, lists: &Blocks) {
        assert!(lists.len() * LANES + 1 == self.motions.len(), "lists are of other slots");
        assert!(self.sent.len() == self.motions.len(), "something is sent by each slot");
    }

    /// Density of a slot over the full one.
    pub fn density(&self, s: usize) -> f64 {
        self.fitted.get(s / LANES).map_or(1.0, |f| f64::from(f.density.0[s % LANES]))
    }

    /// p / δ² of a slot [Pa].
    pub fn pressure(&self, s: usize) -> f64 {
        self.fitted.get(s / LANES).map_or(0.0, |f| f64::from(f.pressure.0[s % LANES]))
    }

    /// κ |m̃|² of a slot: what its open side lacks of the full density.
    pub fn missing(&self, s: usize) -> f64 {
        self.fitted.get(s / LANES).map_or(0.0, |f| f64::from(f.missing.0[s % LANES]))
    }

    /// 2 κ m / h⁴ of a slot [1/m⁴].
    pub fn open(&self, s: usize, scale: &Scale) -> DVec3 {
        let Some(fitted) = self.fitted.get(s / LANES) else { return DVec3::ZERO };
        DVec3::from_array(fitted.open.map(|row| f64::from(row.0[s % LANES]))) / scale.unit.powi(4)
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let rows = size_of_val(&*self.motions) + size_of_val(&*self.sent);
        rows + size_of_val(&*self.constants) + size_of_val(&*self.fitted)
    }
}

/// What both passes read.
struct Shared<'a> {
    lists: &'a Blocks,
    motions: &'a [Row],
    scale: &'a Scale,
    /// [s over the length unit]
    dt: f32,
}

/// How far apart pairs are.
struct Apart<L> {
    /// Vector between them [length units].
    y: [L; 3],
    r2: L,
    /// Mean spacing.
    size: L,
    /// One over the support radius.
    per_h: L,
    /// 1 - r² / h², 0 beyond the support: there the pair has no effect at all.
    q: L,
}

impl<L: Lanes> Apart<L> {
    #[inline(always)]
    fn new(own: &[L; LANES], other: &[L; LANES]) -> Self {
        let y = [other[0].vector(own[0]), other[1].vector(own[1]), other[2].vector(own[2])];
        let r2 = y[0].mul_add(y[0], y[1].mul_add(y[1], y[2] * y[2]));
        let size = (own[3] + other[3]).max(L::splat(LEAST_SIZE));
        let per_h = L::splat((1.0 / SUPPORT) as f32) / size;
        let q = (L::splat(1.0) - r2 * (per_h * per_h)).max(L::splat(0.0));
        Self { y, r2, size, per_h, q }
    }
}

/// Part of pass 1: sums over the lists of one block.
#[inline(always)]
unsafe fn sum_block<L: Lanes>(shared: &Shared, block: usize, own: &[L; LANES]) -> Moments<L> {
    let (zero, one) = (L::splat(0.0), L::splat(1.0));
    let mut a = [zero; 6];
    let mut flow = [zero; 9];
    let mut weight = zero;
    let mut side = [zero; 3];
    let size = own[3] + own[3];
    let mut density = own[7] * L::splat((1.0 / SUPPORT.powi(3)) as f32) / (size * size * size);
    for indices in shared.lists.of(block) {
        // SAFETY: the caller vouches for the lists.
        let other = unsafe { L::gather(shared.motions.as_ptr(), 1, indices) };
        let Apart { y, r2, per_h, q, .. } = Apart::new(own, &other);
        if !q.any_positive() {
            continue;
        }
        let w = q * q * q;
        let wy = [y[0] * w, y[1] * w, y[2] * w];
        a[0] = wy[0].mul_add(y[0], a[0]);
        a[1] = wy[0].mul_add(y[1], a[1]);
        a[2] = wy[0].mul_add(y[2], a[2]);
        a[3] = wy[1].mul_add(y[1], a[3]);
        a[4] = wy[1].mul_add(y[2], a[4]);
        a[5] = wy[2].mul_add(y[2], a[5]);
        for r in 0..3 {
            let v = other[4 + r] - own[4 + r];
            for c in 0..3 {
                flow[3 * r + c] = v.mul_add(wy[c], flow[3 * r + c]);
            }
        }
        weight = weight + w;
        let t = (one - r2.sqrt() * per_h).max(zero) * per_h;
        density = other[7].mul_add(t * t * t, density);
        for k in 0..3 {
            side[k] = other[7].mul_add(wy[k], side[k]);
        }
    }
    let part = L::splat((15.0 / PI / shared.scale.full_density) as f32);
    let square = size * size * L::splat((SUPPORT * SUPPORT) as f32);
    let per_h4 = one / (square * square);
    Moments { a, flow, weight, density: density * part, side: side.map(|m| m * per_h4) }
}

#[inline(always)]
unsafe fn fit_pass<L: Lanes>(
    shared: &Shared,
    first: usize,
    constants: &[Constants],
    fitted: &mut [Fitted],
    sent: &mut [[Row; 2]],
) {
    for (k, (fitted, constants)) in fitted.iter_mut().zip(constants).enumerate() {
        // SAFETY: the caller vouches for the lists; every block has eight rows.
        let charges = unsafe {
            let own = L::gather(shared.motions.as_ptr().add((first + k) * LANES), 1, &SEQUENCE);
            let sums = sum_block::<L>(shared, first + k, &own);
            let full_density = shared.scale.full_density as f32;
            charge(&sums, own[3] + own[3], constants, &fitted.strain, shared.dt, full_density)
        };
        for r in 0..6 {
            fitted.strain[r] = charges.strain[r].store();
        }
        fitted.density = charges.density.store();
        fitted.pressure = charges.pressure.store();
        fitted.open = charges.open.map(|l| l.store());
        fitted.missing = charges.missing.store();
        send(shared.scale, &charges, constants, &mut sent[k * LANES..(k + 1) * LANES]);
    }
}

/// Writes what eight points send as one record per point, with the factors of pass 2.
#[inline(always)]
fn send<L: Lanes>(scale: &Scale, charges: &Charges<L>, constants: &Constants, sent: &mut [[Row; 2]]) {
    let spiky = 45.0 / PI;
    let s = &charges.stress;
    let mut lanes = [[Row::ZERO; LANES]; 2];
    for k in 0..LANES {
        lanes[0][k] = s[k].store();
    }
    lanes[1][0] = s[8].store();
    lanes[1][1] = charges.control.store();
    let pressure = L::splat((spiky * scale.unit * scale.unit) as f32);
    lanes[1][2] = (charges.pressure * pressure).store();
    let close = 0.5 * scale.near * scale.unit * scale.unit;
    let stiffness = (L::load(&constants.stiffness) * L::splat(close as f32)).max(L::splat(LEAST_STIFFNESS));
    let sign = L::load(&constants.liquid) * L::splat(2.0) - L::splat(1.0);
    lanes[1][3] = (stiffness * sign).store();
    lanes[1][4] = (L::load(&constants.viscosity) * L::splat((0.5 * spiky * scale.unit) as f32)).store();
    for k in 0..3 {
        lanes[1][5 + k] = (charges.lean[k] * L::splat((scale.unit * scale.unit) as f32)).store();
    }
    for half in 0..2 {
        // SAFETY: there are eight rows of lanes.
        let rows = unsafe { L::gather(lanes[half].as_ptr(), 1, &SEQUENCE) };
        for (row, to) in rows.iter().zip(sent.iter_mut()) {
            to[half] = row.store();
        }
    }
}

/// What a slot is to pass 2, in lanes.
struct Sender<L> {
    motion: [L; LANES],
    sent: [[L; LANES]; 2],
}

impl<L: Lanes> Sender<L> {
    /// Adds to a motion what is sent with it.
    #[inline(always)]
    unsafe fn gather(motion: [L; LANES], sent: *const [Row; 2], indices: &[u32; LANES]) -> Self {
        // SAFETY: the caller vouches for the indices; `sent` holds two rows each.
        unsafe {
            let rows = sent.cast::<Row>();
            Self { motion, sent: [L::gather(rows, 2, indices), L::gather(rows.add(1), 2, indices)] }
        }
    }
}

/// Force of `b` on `a`; from the other end it is the opposite to the last bit.
#[inline(always)]
fn pair_force<L: Lanes>(a: &Sender<L>, b: &Sender<L>, apart: &Apart<L>) -> [L; 3] {
    let (zero, one) = (L::splat(0.0), L::splat(1.0));
    let &Apart { y, r2, size, per_h, q } = apart;
    let v = [b.motion[4] - a.motion[4], b.motion[5] - a.motion[5], b.motion[6] - a.motion[6]];
    let w = q * q * q;
    let ([s, t], [s_b, t_b]) = (&a.sent, &b.sent);

    let r = r2.sqrt().max(size * L::splat(1e-6));
    let per_r = one / r;
    let r_over_h = r * per_h;
    let near = (one - r_over_h).max(zero);
    // A solid partner mirrors the pressure of the melt; between two solids there is none.
    let liquid = |s: L| (s * L::splat(1.0 / LEAST_STIFFNESS)).min(one).max(zero);
    let (liquid_a, liquid_b) = (liquid(t[3]), liquid(t_b[3]));
    let both = liquid_a * liquid_b;
    let any = (liquid_a + liquid_b) - both;
    let stiffness = t[3].max(zero - t[3]) + t_b[3].max(zero - t_b[3]);
    let pressure = (t[2] + t_b[2]) * (L::splat(2.0) - both);
    let approach = v[0].mul_add(y[0], v[1].mul_add(y[1], v[2] * y[2])) * per_r;
    let drag = (t[4] + t_b[4]) * any * per_h * approach;
    let per_h2 = per_h * per_h;
    let volumes = (a.motion[7] * b.motion[7]) * (per_h2 * per_h2) * near;
    let close = (one - r_over_h * L::splat((SUPPORT / NEAR) as f32)).max(zero) * stiffness * (size * size) * any;
    // What fills the open side of a neighborhood pushes across the pair too.
    let products = a.motion[7] * b.motion[7];
    let lean = [(t[5] - t_b[5]) * products, (t[6] - t_b[6]) * products, (t[7] - t_b[7]) * products];
    let curved = lean[0].mul_add(y[0], lean[1].mul_add(y[1], lean[2] * y[2])) * (q * q) * per_h2 * L::splat(6.0);
    let along = (volumes * (drag - pressure * near) - close) * per_r - curved;

    let control = t[1] + t_b[1];
    let mut m = *s;
    for k in 0..LANES {
        m[k] = s[k] + s_b[k];
    }
    let last = t[0] + t_b[0];
    let rows = [
        m[0].mul_add(y[0], m[1].mul_add(y[1], m[2].mul_add(y[2], control * v[0]))),
        m[3].mul_add(y[0], m[4].mul_add(y[1], m[5].mul_add(y[2], control * v[1]))),
        m[6].mul_add(y[0], m[7].mul_add(y[1], last.mul_add(y[2], control * v[2]))),
    ];
    let force = |k: usize| y[k].mul_add(along, (lean[k] + rows[k]) * w);
    [force(0), force(1), force(2)]
}

#[inline(always)]
unsafe fn force_pass<L: Lanes>(shared: &Shared, first: usize, sent: &[[Row; 2]], out: &mut [DVec3]) {
    for (k, out) in out.chunks_mut(LANES).enumerate() {
        let block = first + k;
        let (motions, rows) = (shared.motions.as_ptr(), sent.as_ptr());
        let mut sums = [L::EMPTY; 3];
        // SAFETY: the caller vouches for the lists; every block has eight rows.
        unsafe {
            let motion = L::gather(motions.add(block * LANES), 1, &SEQUENCE);
            let own = Sender::<L>::gather(motion, rows.add(block * LANES), &SEQUENCE);
            for indices in shared.lists.of(block) {
                let motion = L::gather(motions, 1, indices);
                let apart = Apart::new(&own.motion, &motion);
                // Nearest ones come first in the lists, so the branch is foreseen.
                if !apart.q.any_positive() {
                    continue;
                }
                let other = Sender::<L>::gather(motion, rows, indices);
                let force = pair_force(&own, &other, &apart);
                for r in 0..3 {
                    force[r].add_to(&mut sums[r]);
                }
            }
        }
        let [x, y, z] = [L::sums(sums[0]), L::sums(sums[1]), L::sums(sums[2])];
        for (l, out) in out.iter_mut().enumerate() {
            *out = DVec3::new(x[l], y[l], z[l]);
        }
    }
}

type FitPass = unsafe fn(&Shared, usize, &[Constants], &mut [Fitted], &mut [[Row; 2]]);
type ForcePass = unsafe fn(&Shared, usize, &[[Row; 2]], &mut [DVec3]);

/// The passes compiled for one instruction set.
struct Passes {
    fit: FitPass,
    force: ForcePass,
}

macro_rules! shell {
    ($name:ident, $lanes:ty $(, $feature:literal)?) => {
        mod $name {
            use super::*;
            $(#[target_feature(enable = $feature)])?
            unsafe fn fit(
                shared: &Shared,
                first: usize,
                constants: &[Constants],
                fitted: &mut [Fitted],
                sent: &mut [[Row; 2]],
            ) {
                // SAFETY: the caller vouches for the lists.
                unsafe { fit_pass::<$lanes>(shared, first, constants, fitted, sent) }
            }
            $(#[target_feature(enable = $feature)])?
            unsafe fn force(shared: &Shared, first: usize, sent: &[[Row; 2]], out: &mut [DVec3]) {
                // SAFETY: the caller vouches for the lists.
                unsafe { force_pass::<$lanes>(shared, first, sent, out) }
            }
            pub(super) const PASSES: Passes = Passes { fit, force };
        }
    };
}
shell!(base, Plain);
#[cfg(target_arch = "x86_64")]
shell!(avx2, super::super::lanes::Wide<false>, "avx2,bmi2");
#[cfg(target_arch = "x86_64")]
shell!(avx2_fma, super::super::lanes::Wide<true>, "avx2,fma,bmi2");

impl Passes {
    /// The passes for an instruction set; the base ones where it is not available.
    fn select(instructions: Instructions) -> Self {
        #[cfg(target_arch = "x86_64")]
        return instructions.pick([base::PASSES, avx2::PASSES, avx2_fma::PASSES]);
        #[cfg(not(target_arch = "x86_64"))]
        {
            let _ = instructions;
            base::PASSES
        }
    }
}
