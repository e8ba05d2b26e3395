//! Plastic flow of eight points in lanes, and what their plastic strain takes from their stress.
//!
//! The stress is linear in the elastic strain, so plastic strain Gᵖ adds -v J (C : Gᵖ) to P, and to what is sent to the
//! neighbors what follows from that. The pass computes the elastic part for every point alike; only blocks with plastic
//! points come here. All in f64: steps of creep are far below the resolution of an f32 strain.

use super::algebra::{LaneSums, StressLanes};
use super::layout::{Block, LANES, StiffnessBlock};
use super::real::Real;
use crate::materials::plastic::{Flow, Symmetric, contract, isotropic_stress, metric};

/// Plastic state of eight points, one per lane. Written by pass 1.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct PlasticBlock {
    /// Plastic Green strain, xx yy zz yz zx xy.
    pub strain: [[f64; LANES]; 6],
    /// Bodies of the points.
    pub bodies: [u32; LANES],
}

impl PlasticBlock {
    /// Plastic strain of one lane.
    #[inline(always)]
    pub fn of(&self, l: usize) -> Symmetric {
        std::array::from_fn(|k| self.strain[k][l])
    }

    /// Whether nothing has flowed and nothing can.
    #[inline(always)]
    fn is_elastic(&self, flows: &[Flow]) -> bool {
        let can_flow = self.bodies.iter().any(|&b| flows[b as usize].part > 0.0);
        !can_flow && self.strain.iter().all(|row| *row == [0.0; LANES])
    }
}

/// Lets eight points flow and corrects what they send; returns the energy that the flow took [J].
#[inline(always)]
pub(crate) fn flow<T: Real>(
    block: &Block<T>,
    stiffness: Option<&StiffnessBlock<T>>,
    sums: &LaneSums<T>,
    plastic: &mut PlasticBlock,
    flows: &[Flow],
    lanes: &mut StressLanes<T>,
) -> f64 {
    if plastic.is_elastic(flows) {
        return 0.0;
    }
    let mut lost = 0.0;
    for l in 0..LANES {
        let w = |r: usize, k: usize| sums[8 * r + k][l].f64();
        let b = |r: usize, c: usize| block.b[3 * r + c][l].f64();
        let (relative, volume) = (block.relative_volume[l].f64(), block.volume[l].f64());
        let mut h = [[0.0; 3]; 3];
        for r in 0..3 {
            for c in 0..3 {
                h[r][c] = relative * w(r, 4 + c) + (w(r, 0) * b(c, 0) + w(r, 1) * b(c, 1) + w(r, 2) * b(c, 2));
            }
        }
        let green = |p: usize, q: usize| {
            0.5 * (h[p][q] + h[q][p] + (h[0][p] * h[0][q] + h[1][p] * h[1][q] + h[2][p] * h[2][q]))
        };
        let g = [green(0, 0), green(1, 1), green(2, 2), green(1, 2), green(2, 0), green(0, 1)];
        let stress = |strain: &Symmetric| stress_of(block, stiffness, l, strain);
        let old = plastic.of(l);
        let law = flows[plastic.bodies[l] as usize].with_room_for(&old);
        let mut change = law.change(&g, &metric(&old), &old, shear_of(block, stiffness, l), stress);
        let elastic: Symmetric = std::array::from_fn(|k| g[k] - old[k]);
        let taken = contract(&stress(&elastic), &change) - 0.5 * contract(&stress(&change), &change);
        if taken < 0.0 {
            change = [0.0; 6];
        } else {
            lost += volume * taken;
        }
        let new: Symmetric = std::array::from_fn(|k| old[k] + change[k]);
        for k in 0..6 {
            plastic.strain[k][l] = new[k];
        }
        let s = stress(&new);
        let s = [[s[0], s[5], s[4]], [s[5], s[1], s[3]], [s[4], s[3], s[2]]];
        for r in 0..3 {
            let j = [h[r][0] + f64::from(r == 0), h[r][1] + f64::from(r == 1), h[r][2] + f64::from(r == 2)];
            let p: [f64; 3] = std::array::from_fn(|c| -volume * (j[0] * s[0][c] + j[1] * s[1][c] + j[2] * s[2][c]));
            let m: [f64; 3] = std::array::from_fn(|c| p[0] * b(0, c) + p[1] * b(1, c) + p[2] * b(2, c));
            let mut own = 0.0;
            for c in 0..3 {
                let n = relative * p[c];
                own += m[c] * block.s[c][l].f64() + n * block.t[c][l].f64();
                lanes.m[3 * r + c][l] += T::of(m[c]);
                lanes.n[3 * r + c][l] += T::of(n);
            }
            lanes.own[r][l] += T::of(own);
        }
    }
    lost
}

/// C : strain of one lane [Pa].
#[inline(always)]
fn stress_of<T: Real>(block: &Block<T>, stiffness: Option<&StiffnessBlock<T>>, l: usize, e: &Symmetric) -> Symmetric {
    let Some(full) = stiffness else {
        return isotropic_stress(block.lambda[l].f64(), block.two_mu[l].f64(), e);
    };
    std::array::from_fn(|p| {
        (0..6).fold(0.0, |sum, q| {
            let c = full[entry(p.min(q), p.max(q))][l].f64();
            sum + c * if q < 3 { e[q] } else { 2.0 * e[q] }
        })
    })
}

/// Twice the shear modulus of one lane, the mean of the three where they differ [Pa].
#[inline(always)]
fn shear_of<T: Real>(block: &Block<T>, stiffness: Option<&StiffnessBlock<T>>, l: usize) -> f64 {
    let Some(full) = stiffness else { return block.two_mu[l].f64() };
    2.0 / 3.0 * (3..6).map(|k| full[entry(k, k)][l].f64()).sum::<f64>()
}

/// Where the upper half of a 6 by 6 matrix keeps an entry.
#[inline(always)]
fn entry(row: usize, column: usize) -> usize {
    row * 6 - row * (row + 1) / 2 + column
}
