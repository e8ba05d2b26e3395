//! The two passes over a range of blocks, and the shells that compile them once per instruction set.
//!
//! Every point writes only its own entries and sums over its list in order: the bits depend neither on the number of
//! threads nor on the chunks.
#![allow(unsafe_code, reason = "unchecked gathers by index, and functions that need CPU features checked at start")]

use super::algebra::{LaneExtremes, LaneSums, StressLanes, stress, to_lanes, write_rows};
use super::layout::{
    Block, Displacement, GROUP, INDEX_SCALE, LANES, Node, OwnForces, Owners, PairLists, Record, Single, Split,
    StiffnessBlock,
};
use super::pair::{Pair, Portable};
use super::plastic::{PlasticBlock, flow};
use super::real::Real;
use crate::materials::plastic::Flow;
use glam::{DVec3, DVec4};
use std::ops::Range;

/// What both passes read. All indices in `lists` are below `nodes.len()`, which is a multiple of `LANES`: checked by the engine.
pub(crate) struct Shared<'a, T, D> {
    pub lists: &'a PairLists<T>,
    pub nodes: &'a [Node<T, D>],
    pub blocks: &'a [Block<T>],
    pub stiffnesses: &'a [StiffnessBlock<T>],
    /// Plastic flow of each body in this step.
    pub flows: &'a [Flow],
}

/// Pass 1 over the blocks from `first` on, as many as `own` has; plastic states of these blocks, or none.
pub(crate) type StressPass<T, D> =
    unsafe fn(&Shared<T, D>, usize, &mut [Record<T>], &mut [OwnForces<T>], &mut [PlasticBlock]) -> LaneExtremes<T>;
/// Pass 2: forces of the points from `first * LANES` on, as many as `out` has.
pub(crate) type ForcePass<T> = unsafe fn(&PairLists<T>, &[Record<T>], usize, &[OwnForces<T>], &mut [DVec3]);
/// Pass 2 fused with the change of velocity.
pub(crate) type KickPass<T> = unsafe fn(&PairLists<T>, &[Record<T>], usize, &[OwnForces<T>], Kick);

/// Points whose velocity changes, and by what.
pub(crate) struct PointKick<'a> {
    pub velocities: &'a mut [DVec3],
    pub masses: &'a [f64],
    /// External forces, read and zeroed if `has_forces`, else left alone.
    pub forces: &'a mut [DVec3],
    pub has_forces: bool,
    pub dt: f64,
    pub gravity: DVec3,
}

/// What pass 2 kicks.
pub(crate) struct Kick<'a> {
    pub points: PointKick<'a>,
    /// Bodies of each block.
    pub owners: &'a [Owners],
    /// Written per block: internal force and mass of the points of its first and of its last body.
    pub nets: &'a mut [[DVec4; 2]],
}

/// The passes of one number format, compiled for one instruction set.
pub(crate) struct Passes<T: Real, D: Displacement> {
    pub stress: StressPass<T, D>,
    pub force: ForcePass<T>,
    pub kick: KickPass<T>,
}

/// Record at a scaled index.
#[inline(always)]
unsafe fn at<R>(records: *const R, index: u32) -> *const R {
    // SAFETY: the caller vouches that `index / INDEX_SCALE` lies in the array.
    unsafe { records.byte_add(index as usize * (size_of::<R>() / INDEX_SCALE as usize)) }
}

#[inline(always)]
unsafe fn stress_pass<P: Pair>(
    shared: &Shared<P::T, P::D>,
    first: usize,
    records: &mut [Record<P::T>],
    own: &mut [OwnForces<P::T>],
    plastic: &mut [PlasticBlock],
) -> LaneExtremes<P::T> {
    let zero = P::T::default();
    let mut extremes = LaneExtremes::default();
    let mut sums = [[zero; 24]; LANES];
    let mut lanes: LaneSums<P::T> = [[zero; LANES]; 24];
    let mut sent = StressLanes::default();
    let isotropic = [[zero; LANES]; 21];
    for (k, (out, own)) in records.as_chunks_mut::<LANES>().0.iter_mut().zip(own).enumerate() {
        let block = &shared.blocks[first + k];
        // SAFETY: the caller vouches for the lists.
        unsafe { stretch_block::<P>(shared, first + k, &mut sums) };
        to_lanes::<P>(&sums, &mut lanes);
        match shared.stiffnesses.get(block.stiffness as usize) {
            None if P::FMA => stress::<P::T, true, false>(block, &isotropic, &lanes, &mut sent, &mut extremes),
            None => stress::<P::T, false, false>(block, &isotropic, &lanes, &mut sent, &mut extremes),
            Some(full) if P::FMA => stress::<P::T, true, true>(block, full, &lanes, &mut sent, &mut extremes),
            Some(full) => stress::<P::T, false, true>(block, full, &lanes, &mut sent, &mut extremes),
        }
        if let Some(plastic) = plastic.get_mut(k) {
            let stiffness = shared.stiffnesses.get(block.stiffness as usize);
            extremes.dissipated += flow(block, stiffness, &lanes, plastic, shared.flows, &mut sent);
        }
        write_rows::<P>(&sent, out);
        *own = sent.own;
    }
    extremes
}

/// What pass 1 subtracts from a neighbor's node: x, -kappa, q, and the displacement.
#[inline(always)]
unsafe fn own_node<P: Pair>(node: &Node<P::T, P::D>) -> (P::Xkq, P::Own) {
    #[repr(align(64))]
    struct Aligned<T>([T; 8]);
    let mut xkq = Aligned(node.xkq);
    xkq.0[3] = -xkq.0[3];
    // SAFETY: `xkq` has eight aligned values; the caller vouches for the CPU.
    unsafe { (P::load_xkq(xkq.0.as_ptr()), P::load_displacement(&node.u)) }
}

/// Pair loop of pass 1 for one block.
#[inline(always)]
unsafe fn stretch_block<P: Pair>(shared: &Shared<P::T, P::D>, block: usize, sums: &mut [[P::T; 24]; LANES]) {
    let nodes = shared.nodes.as_ptr();
    let (indices, weights) = (shared.lists.indices.as_ptr(), shared.lists.weights.as_ptr());
    for g in 0..LANES / GROUP {
        let group = block * (LANES / GROUP) + g;
        let (mut k, end) = (shared.lists.starts[group] as usize, shared.lists.starts[group + 1] as usize);
        // SAFETY: every index in the lists is that of a node; `k + l` stays below `end`, a multiple of GROUP further on.
        unsafe {
            let mine = [own_node::<P>(&shared.nodes[group * GROUP]), own_node::<P>(&shared.nodes[group * GROUP + 1])];
            let mut acc = [P::zero(); GROUP];
            while k < end {
                for l in 0..GROUP {
                    let node = at(nodes, *indices.add(k + l));
                    acc[l] = P::stretch(acc[l], mine[l].0, mine[l].1, node, *weights.add(k + l));
                }
                k += GROUP;
            }
            for l in 0..GROUP {
                P::store(acc[l], sums[g * GROUP + l].as_mut_ptr());
            }
        }
    }
}

/// Pair loop of pass 2 for one block: the forces of its points [N].
#[inline(always)]
unsafe fn pull_block<P: Pair>(
    lists: &PairLists<P::T>,
    records: &[Record<P::T>],
    block: usize,
    own: &OwnForces<P::T>,
) -> [DVec3; LANES] {
    let mut forces = [DVec3::ZERO; LANES];
    let (indices, weights) = (lists.indices.as_ptr(), lists.weights.as_ptr());
    for g in 0..LANES / GROUP {
        let group = block * (LANES / GROUP) + g;
        let (mut k, end) = (lists.starts[group] as usize, lists.starts[group + 1] as usize);
        // SAFETY: every index in the lists is that of a record; `k + l` stays below `end`.
        unsafe {
            let mine =
                [P::load_xkq(records[group * GROUP].xq.as_ptr()), P::load_xkq(records[group * GROUP + 1].xq.as_ptr())];
            let mut acc = [P::zero(); GROUP];
            while k < end {
                for l in 0..GROUP {
                    let record = at(records.as_ptr(), *indices.add(k + l));
                    acc[l] = P::pull(acc[l], mine[l], record, *weights.add(k + l));
                }
                k += GROUP;
            }
            for l in 0..GROUP {
                let lane = g * GROUP + l;
                let sums = P::row_sums(acc[l]);
                let force = |r: usize| (own[r][lane] + sums[r]).f64();
                forces[lane] = DVec3::new(force(0), force(1), force(2));
            }
        }
    }
    forces
}

#[inline(always)]
unsafe fn force_pass<P: Pair>(
    lists: &PairLists<P::T>,
    records: &[Record<P::T>],
    first: usize,
    own: &[OwnForces<P::T>],
    out: &mut [DVec3],
) {
    for (k, (out, own)) in out.chunks_mut(LANES).zip(own).enumerate() {
        // SAFETY: the caller vouches for the lists.
        let forces = unsafe { pull_block::<P>(lists, records, first + k, own) };
        out.copy_from_slice(&forces[..out.len()]);
    }
}

/// Force and mass of some lanes.
#[inline(always)]
fn net(forces: &[DVec3; LANES], masses: &[f64], lanes: Range<usize>) -> DVec4 {
    lanes.fold(DVec4::ZERO, |sum, l| sum + forces[l].extend(masses[l]))
}

#[inline(always)]
unsafe fn kick_pass<P: Pair>(
    lists: &PairLists<P::T>,
    records: &[Record<P::T>],
    first: usize,
    own: &[OwnForces<P::T>],
    kick: Kick,
) {
    let Kick { points: PointKick { velocities, masses, forces: external, has_forces, dt, gravity }, owners, nets } =
        kick;
    let dv = gravity * dt;
    let blocks = velocities.chunks_mut(LANES).zip(masses.chunks(LANES)).zip(own);
    for (k, ((velocities, masses), own)) in blocks.enumerate() {
        // SAFETY: the caller vouches for the lists.
        let mut forces = unsafe { pull_block::<P>(lists, records, first + k, own) };
        let owners = &owners[k];
        nets[k] = [net(&forces, masses, 0..owners.split), net(&forces, masses, owners.rest..masses.len())];
        if has_forces {
            for (force, external) in forces.iter_mut().zip(&mut external[k * LANES..]) {
                *force += *external;
                *external = DVec3::ZERO;
            }
        }
        for ((v, m), f) in velocities.iter_mut().zip(masses).zip(forces) {
            *v += f * (dt / m) + dv;
        }
    }
}

macro_rules! shell {
    ($name:ident $(, $feature:literal)?) => {
        mod $name {
            use super::*;
            $(#[target_feature(enable = $feature)])?
            unsafe fn stress<P: Pair>(
                shared: &Shared<P::T, P::D>,
                first: usize,
                records: &mut [Record<P::T>],
                own: &mut [OwnForces<P::T>],
                plastic: &mut [PlasticBlock],
            ) -> LaneExtremes<P::T> {
                // SAFETY: the caller vouches for the lists.
                unsafe { stress_pass::<P>(shared, first, records, own, plastic) }
            }
            $(#[target_feature(enable = $feature)])?
            unsafe fn force<P: Pair>(
                lists: &PairLists<P::T>,
                records: &[Record<P::T>],
                first: usize,
                own: &[OwnForces<P::T>],
                out: &mut [DVec3],
            ) {
                // SAFETY: the caller vouches for the lists.
                unsafe { force_pass::<P>(lists, records, first, own, out) }
            }
            $(#[target_feature(enable = $feature)])?
            unsafe fn kick<P: Pair>(
                lists: &PairLists<P::T>,
                records: &[Record<P::T>],
                first: usize,
                own: &[OwnForces<P::T>],
                kick: Kick,
            ) {
                // SAFETY: the caller vouches for the lists.
                unsafe { kick_pass::<P>(lists, records, first, own, kick) }
            }
            /// The passes with the pair work `P`.
            pub(super) fn passes<P: Pair>() -> Passes<P::T, P::D> {
                Passes { stress: stress::<P>, force: force::<P>, kick: kick::<P> }
            }
        }
    };
}
shell!(base);
#[cfg(target_arch = "x86_64")]
shell!(avx2, "avx2,bmi2");
#[cfg(target_arch = "x86_64")]
shell!(avx2_fma, "avx2,fma,bmi2");
#[cfg(target_arch = "x86_64")]
shell!(avx512, "avx2,fma,bmi2,avx512f,avx512vl,avx512dq,avx512bw");

/// Instruction sets the passes are compiled for. `Base` and `Avx2` give the same bits; so do `Avx2Fma` and `Avx512`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instructions {
    /// What every machine of the architecture has; no fused multiply-add.
    Base,
    /// AVX2 without fused multiply-add.
    Avx2,
    /// AVX2 with fused multiply-add.
    Avx2Fma,
    /// AVX-512 registers for the point algebra, else as `Avx2Fma`.
    Avx512,
}

impl Instructions {
    /// Of passes for the base, AVX2 and AVX2 with fused multiply-add those that this machine can run.
    #[cfg(target_arch = "x86_64")]
    pub fn pick<T>(self, [base, avx2, avx2_fma]: [T; 3]) -> T {
        match self {
            Self::Avx2 if self.available() => avx2,
            Self::Avx2Fma | Self::Avx512 if self.available() => avx2_fma,
            _ => base,
        }
    }

    /// Whether this machine can run it.
    pub fn available(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2");
            let avx2_fma = avx2 && is_x86_feature_detected!("fma");
            match self {
                Self::Base => true,
                Self::Avx2 => avx2,
                Self::Avx2Fma => avx2_fma,
                Self::Avx512 => {
                    avx2_fma
                        && is_x86_feature_detected!("avx512f")
                        && is_x86_feature_detected!("avx512vl")
                        && is_x86_feature_detected!("avx512dq")
                        && is_x86_feature_detected!("avx512bw")
                }
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            self == Self::Base
        }
    }
    /// The fastest this machine can run.
    pub fn best() -> Self {
        [Self::Avx512, Self::Avx2Fma, Self::Avx2].into_iter().find(|level| level.available()).unwrap_or(Self::Base)
    }
    /// The fastest without fused multiply-add: the same bits on every machine.
    pub fn reproducible() -> Self {
        if Self::Avx2.available() { Self::Avx2 } else { Self::Base }
    }
}

macro_rules! passes_of {
    ($t:ty, $u:ty, $pair:ident) => {
        impl Passes<$t, $u> {
            /// The passes for an instruction set; the base ones where it is not available.
            pub fn select(instructions: Instructions) -> Self {
                #[cfg(target_arch = "x86_64")]
                if instructions.available() {
                    use super::avx2::$pair;
                    match instructions {
                        Instructions::Base => {}
                        Instructions::Avx2 => return avx2::passes::<$pair<false>>(),
                        Instructions::Avx2Fma => return avx2_fma::passes::<$pair<true>>(),
                        Instructions::Avx512 => return avx512::passes::<$pair<true>>(),
                    }
                }
                let _ = instructions;
                base::passes::<Portable<$t, $u, false>>()
            }
        }
    };
}
passes_of!(f32, Single<f32>, Avx2Single);
passes_of!(f32, Split, Avx2Mixed);
passes_of!(f64, Single<f64>, Avx2Double);
