//! The passes over the bonds of solid stencils in f32, eight points at a time, one point per lane.
//!
//! Pass 1 (`pull`) is `Stencil::evaluate` for stencils that see all three directions, with the damping along bonds; it writes
//! the pull of every bond. Pass 2 (`gather`) adds up for each point what its bonds pull and takes off what the opposite ones
//! do, in f64: both ends get the same f32 numbers, so momentum is kept to f64 rounding.
#![allow(unsafe_code, reason = "unchecked gathers by index, and functions that need CPU features checked at start")]

use super::algebra::{Matrix, cofactors, full, product, transposed};
use super::lanes::{LANES, Lanes, Plain, Row, SEQUENCE};
use crate::materials::ElasticLaw;
use crate::models::mls::fast::Instructions;
use glam::DVec3;

/// Bonds of eight points, one each. Where a point has fewer, a bond to itself without weight.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bonds {
    /// Places of the neighbors.
    pub to: [u32; LANES],
    /// Weights w_ij.
    pub weight: Row,
    /// Rest vectors x_ij [length units].
    pub rest: [Row; 3],
    /// Gradient vectors d_ij [1 over length units].
    pub slope: [Row; 3],
}

/// Pulls of eight bonds: x, y, z and nothing [N].
pub(crate) type Pulls = [[f32; 4]; LANES];

/// Constants of eight points of one body; all zero for those that this pass leaves out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block {
    /// Inverse moments: xx, xy, xz, yy, yz, zz [1 over squared length units].
    pub inverse: [Row; 6],
    /// Volume over the length unit, softened by what the stencil is worth [m²].
    pub volume: Row,
    /// κ times the length unit [N].
    pub control: Row,
    /// Damping along bonds of weight 1 [kg/s].
    pub damping: Row,
    /// Part of the stiffness that is left near the melting point; written in every step.
    pub left: Row,
    /// Body, for its law.
    pub body: u32,
}

impl Block {
    /// Nobody.
    pub const NONE: Self = Self {
        inverse: [Row::ZERO; 6],
        volume: Row::ZERO,
        control: Row::ZERO,
        damping: Row::ZERO,
        left: Row::ZERO,
        body: 0,
    };
}

/// What pass 1 finds about eight points.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    /// J - I row by row.
    pub gradient: [Row; 9],
    /// Energy over the length unit [J/m].
    pub energy: Row,
}

impl Found {
    /// Nothing deformed.
    pub const NONE: Self = Self { gradient: [Row::ZERO; 9], energy: Row::ZERO };
}

/// An elastic law in f32 [Pa].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Law {
    /// Strains xx, yy, zz, 2 yz, 2 zx, 2 xy to stresses.
    stiffness: [[f32; 6]; 6],
    volume: f32,
    collapse: f32,
    ratio: f32,
}

impl Law {
    pub fn new(law: &ElasticLaw) -> Self {
        Self {
            stiffness: law.stiffness.voigt().map(|row| row.map(|c| c as f32)),
            volume: law.volume_stiffness as f32,
            collapse: law.collapse_stiffness as f32,
            ratio: law.collapse_ratio.max(0.0) as f32,
        }
    }

    /// First Piola stress and energy density at J = I + H, as `ElasticLaw::respond`.
    #[inline(always)]
    fn respond<L: Lanes>(&self, h: &Matrix<L>) -> (Matrix<L>, L) {
        let (zero, half) = (L::splat(0.0), L::splat(0.5));
        let square = product(&transposed(h), h);
        let doubled = |r: usize, c: usize| (h[3 * r + c] + h[3 * c + r]) + square[3 * r + c];
        let strain = [
            doubled(0, 0) * half,
            doubled(1, 1) * half,
            doubled(2, 2) * half,
            doubled(1, 2),
            doubled(2, 0),
            doubled(0, 1),
        ];
        let (mut s, mut energy) = ([zero; 6], zero);
        for r in 0..6 {
            for c in 0..6 {
                s[r] = strain[c].mul_add(L::splat(self.stiffness[r][c]), s[r]);
            }
            energy = s[r].mul_add(strain[r], energy);
        }
        let minors = cofactors(h);
        let determinant = h[0].mul_add(minors[0], h[1].mul_add(minors[1], h[2] * minors[2]));
        let change = (h[0] + h[4] + h[8]) + ((minors[0] + minors[4] + minors[8]) + determinant);
        let below = (change + L::splat(1.0 - self.ratio)).min(zero);
        let crush = below.max(L::splat(-self.ratio));
        let (volume, collapse) = (L::splat(self.volume), L::splat(self.collapse));
        let pressure = volume.mul_add(change, collapse * crush);
        let volume_energy = half * volume * change * change + collapse * crush * (below - half * crush);

        let mut j = *h;
        for k in [0, 4, 8] {
            j[k] = j[k] + L::splat(1.0);
        }
        let stress = product(&j, &full([s[0], s[5], s[4], s[1], s[3], s[2]]));
        let mut piola = cofactors(&j);
        for k in 0..9 {
            piola[k] = piola[k].mul_add(pressure, stress[k]);
        }
        (piola, half.mul_add(energy, volume_energy))
    }
}

/// What the passes read. Bonds lead to places below the length of `motions`.
pub(crate) struct Shared<'a> {
    /// x, y, z in fixed point and from the fifth on the velocity of each place.
    pub motions: &'a [Row],
    /// Bonds of block b are `starts[b]..starts[b + 1]`.
    pub starts: &'a [u32],
    pub bonds: &'a [Bonds],
    pub laws: &'a [Law],
}

/// A matrix times a vector.
#[inline(always)]
fn apply<L: Lanes>(m: &Matrix<L>, v: &[L; 3]) -> [L; 3] {
    let row = |r: usize| m[r].mul_add(v[0], m[r + 1].mul_add(v[1], m[r + 2] * v[2]));
    [row(0), row(3), row(6)]
}

#[inline(always)]
fn dot<L: Lanes>(a: &[L; 3], b: &[L; 3]) -> L {
    a[0].mul_add(b[0], a[1].mul_add(b[1], a[2] * b[2]))
}

#[inline(always)]
fn vector<L: Lanes>(to: &[L; LANES], from: &[L; LANES]) -> [L; 3] {
    [to[0].vector(from[0]), to[1].vector(from[1]), to[2].vector(from[2])]
}

#[inline(always)]
fn load3<L: Lanes>(rows: &[Row; 3]) -> [L; 3] {
    [L::load(&rows[0]), L::load(&rows[1]), L::load(&rows[2])]
}

/// Pass 1 over one block.
#[inline(always)]
unsafe fn pull_block<L: Lanes>(shared: &Shared, b: usize, block: &Block, pulls: &mut [Pulls]) -> Found {
    let zero = L::splat(0.0);
    let motions = shared.motions.as_ptr();
    let bonds = &shared.bonds[shared.starts[b] as usize..shared.starts[b + 1] as usize];
    // SAFETY: the caller vouches for the places; every block has eight.
    let own = unsafe { L::gather(motions.add(b * LANES), 1, &SEQUENCE) };
    let (mut gradient, mut moments) = ([zero; 9], [zero; 9]);
    for bond in bonds {
        // SAFETY: as above.
        let other = unsafe { L::gather(motions, 1, &bond.to) };
        let (y, rest, slope) = (vector(&other, &own), load3::<L>(&bond.rest), load3::<L>(&bond.slope));
        let weight = L::load(&bond.weight);
        for r in 0..3 {
            let (moved, weighted) = (y[r] - rest[r], y[r] * weight);
            for c in 0..3 {
                gradient[3 * r + c] = moved.mul_add(slope[c], gradient[3 * r + c]);
                moments[3 * r + c] = weighted.mul_add(rest[c], moments[3 * r + c]);
            }
        }
    }
    let mut inverse = [zero; 6];
    for k in 0..6 {
        inverse[k] = L::load(&block.inverse[k]);
    }
    let plain = product(&moments, &full(inverse));
    let (mut stress, density) = shared.laws[block.body as usize].respond(&gradient);
    let left = L::load(&block.left);
    let volume = L::load(&block.volume) * left;
    for k in 0..9 {
        stress[k] = stress[k] * volume;
    }
    let (control, damping) = (L::load(&block.control) * left, L::load(&block.damping));
    let mut squares = zero;
    for (bond, pulls) in bonds.iter().zip(pulls) {
        // SAFETY: as above.
        let other = unsafe { L::gather(motions, 1, &bond.to) };
        let (y, rest, slope) = (vector(&other, &own), load3::<L>(&bond.rest), load3::<L>(&bond.slope));
        let weight = L::load(&bond.weight);
        let fitted = apply(&plain, &rest);
        let residual = [y[0] - fitted[0], y[1] - fitted[1], y[2] - fitted[2]];
        squares = weight.mul_add(dot(&residual, &residual), squares);
        let v = [other[4] - own[4], other[5] - own[5], other[6] - own[6]];
        let rate = dot(&v, &y) / dot(&y, &y).max(L::splat(f32::MIN_POSITIVE));
        let (along, back) = (rate * damping * weight, control * weight);
        let mut force = apply(&stress, &slope);
        for r in 0..3 {
            force[r] = y[r].mul_add(along, residual[r].mul_add(back, force[r]));
        }
        L::store_vectors(force, pulls);
    }
    let mut found = Found::NONE;
    for k in 0..9 {
        found.gradient[k] = gradient[k].store();
    }
    found.energy = volume.mul_add(density, L::splat(0.5) * control * squares).store();
    found
}

#[inline(always)]
unsafe fn pull_pass<L: Lanes>(
    shared: &Shared,
    first: usize,
    blocks: &[Block],
    found: &mut [Found],
    mut pulls: &mut [Pulls],
) {
    for (k, (block, found)) in blocks.iter().zip(found).enumerate() {
        let b = first + k;
        let (own, rest) = pulls.split_at_mut((shared.starts[b + 1] - shared.starts[b]) as usize);
        pulls = rest;
        // SAFETY: the caller vouches for the places.
        *found = unsafe { pull_block::<L>(shared, b, block, own) };
    }
}

/// Pass 2: `counts` are the bonds of each place, `twins` the opposite ones in the flat order of `pulls`.
#[inline(always)]
fn gather_pass(starts: &[u32], counts: &[u32], twins: &[[u32; LANES]], pulls: &[Pulls], out: &mut [DVec3]) {
    let flat = pulls.as_flattened();
    for (b, (out, counts)) in out.chunks_mut(LANES).zip(counts.chunks(LANES)).enumerate() {
        let first = starts[b] as usize;
        for (l, (out, count)) in out.iter_mut().zip(counts).enumerate() {
            let mut sum = [0.0; 4];
            for entry in first..first + *count as usize {
                let (own, other) = (flat[entry * LANES + l], flat[twins[entry][l] as usize]);
                for c in 0..4 {
                    sum[c] += f64::from(own[c]) - f64::from(other[c]);
                }
            }
            *out = DVec3::new(sum[0], sum[1], sum[2]);
        }
    }
}

type PullPass = unsafe fn(&Shared, usize, &[Block], &mut [Found], &mut [Pulls]);
type GatherPass = unsafe fn(&[u32], &[u32], &[[u32; LANES]], &[Pulls], &mut [DVec3]);

/// The passes compiled for one instruction set. To be called only with places that `motions` has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Passes {
    pub pull: PullPass,
    pub gather: GatherPass,
}

macro_rules! shell {
    ($name:ident, $lanes:ty $(, $feature:literal)?) => {
        mod $name {
            use super::*;
            $(#[target_feature(enable = $feature)])?
            unsafe fn pull(
                shared: &Shared,
                first: usize,
                blocks: &[Block],
                found: &mut [Found],
                pulls: &mut [Pulls],
            ) {
                // SAFETY: the caller vouches for the places.
                unsafe { pull_pass::<$lanes>(shared, first, blocks, found, pulls) }
            }
            $(#[target_feature(enable = $feature)])?
            unsafe fn gather(
                starts: &[u32],
                counts: &[u32],
                twins: &[[u32; LANES]],
                pulls: &[Pulls],
                out: &mut [DVec3],
            ) {
                gather_pass(starts, counts, twins, pulls, out);
            }
            pub(super) const PASSES: Passes = Passes { pull, gather };
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
    pub fn select(instructions: Instructions) -> Self {
        #[cfg(target_arch = "x86_64")]
        return instructions.pick([base::PASSES, avx2::PASSES, avx2_fma::PASSES]);
        #[cfg(not(target_arch = "x86_64"))]
        {
            let _ = instructions;
            base::PASSES
        }
    }
}
