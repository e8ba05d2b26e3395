//! Elastic forces of the lattice and their energy.
//!
//! E = Σ_i k_i/4 Σ_s w_s φ |R_i l_s - r|² over docked slots, φ the lesser solidity of the pair. Each bond pulls both ends with half of
//! k w φ (R l - r), [WHP06] eq. 8; since R minimizes the sum, that is the exact gradient. Bonds shorter than 0.75 spacings push in addition,
//! k φ (0.75 D - |r|)² / 2 each: the lattice alone has no resistance to collapse.

use super::bonds::{Bonds, rotation_memory};
use super::fit::rotation;
use super::particles::{Matter, NOBODY, Particles};
use super::sites::Sites;
use crate::linalg::outer;
use glam::{DMat3, DVec3};
use rayon::prelude::*;

/// Distance below which bonded particles repel each other, in spacings: a lattice crushed further would find itself a denser one.
pub(super) const CRUSHED: f64 = 0.75;
/// Particles per parallel task.
const CHUNK: usize = 256;

/// Brings the rotations of all bound particles up to their positions.
pub fn fit(particles: &mut Particles, bonds: &Bonds, sites: &Sites) {
    let memory = rotation_memory(sites);
    let Particles { positions, rotations, solidities, phases, .. } = particles;
    rotations.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, rotations)| {
        for (k, own) in rotations.iter_mut().enumerate() {
            let i = chunk * CHUNK + k;
            if !phases[i].is_bound() {
                continue;
            }
            let (at, solidity) = (positions[i], solidities[i]);
            let mut seen = DMat3::ZERO;
            for (s, &j) in bonds.of(i).iter().enumerate() {
                if j != NOBODY {
                    let j = j as usize;
                    let weight = sites.weights[s] * solidity.min(solidities[j]);
                    seen += outer(positions[j] - at, sites.slots[s] * weight);
                }
            }
            *own = rotation(seen, *own, memory, sites.dimensions);
        }
    });
}

/// Adds the elastic forces to `forces` [N].
pub fn add_elastic(particles: &Particles, bonds: &Bonds, sites: &Sites, matters: &[Matter], forces: &mut [DVec3]) {
    let Particles { positions, rotations, solidities, kinds, .. } = particles;
    let stiffness = |i: usize| 0.5 * matters[kinds[i] as usize].stiffness;
    let guard = |i: usize| matters[kinds[i] as usize].crush;
    forces.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, forces)| {
        for (k, force) in forces.iter_mut().enumerate() {
            let i = chunk * CHUNK + k;
            let (at, solidity, own) = (positions[i], solidities[i], rotations[i]);
            let mut pull = DVec3::ZERO;
            for (s, &j) in bonds.of(i).iter().enumerate() {
                if j != NOBODY {
                    let j = j as usize;
                    let weight = sites.weights[s] * solidity.min(solidities[j]);
                    let r = positions[j] - at;
                    pull -= (own * sites.slots[s] - r) * weight;
                    pull -= crush(r, sites) * (guard(i) * solidity.min(solidities[j]));
                }
            }
            pull *= stiffness(i);
            for &(j, s) in bonds.incoming.of(i) {
                let (j, s) = (j as usize, usize::from(s));
                let (r, solidity) = (at - positions[j], solidity.min(solidities[j]));
                let misfit = (rotations[j] * sites.slots[s] - r) * sites.weights[s];
                pull += (misfit + crush(r, sites) * guard(j)) * (solidity * stiffness(j));
            }
            *force += pull;
        }
    });
}

/// What a bond that is too short pushes its far end with, in the stiffness of the guard [m].
#[inline]
fn crush(r: DVec3, sites: &Sites) -> DVec3 {
    let (least, length2) = (CRUSHED * sites.spacing, r.length_squared());
    if length2 >= least * least || length2 == 0.0 {
        return DVec3::ZERO;
    }
    let length = length2.sqrt();
    r * ((least - length) / length)
}

/// Elastic energy of each particle's own bonds [J], with rotations as they are.
pub fn energies(particles: &Particles, bonds: &Bonds, sites: &Sites, matters: &[Matter], out: &mut Vec<f64>) {
    let Particles { positions, rotations, solidities, kinds, .. } = particles;
    let energy = |i: usize| {
        let misfit = |(s, &j): (usize, &u32)| {
            let j = j as usize;
            let r = positions[j] - positions[i];
            let misfit = (rotations[i] * sites.slots[s] - r).length_squared();
            let short = (CRUSHED * sites.spacing - r.length()).max(0.0);
            solidities[i].min(solidities[j])
                * (sites.weights[s] * misfit + matters[kinds[i] as usize].crush * short * short)
        };
        let sum: f64 = bonds.of(i).iter().enumerate().filter(|(_, j)| **j != NOBODY).map(misfit).sum();
        0.25 * matters[kinds[i] as usize].stiffness * sum
    };
    (0..particles.len()).into_par_iter().with_min_len(CHUNK).map(energy).collect_into_vec(out);
}

/// Largest stable time step of the lattice of a matter, of which a part is taken [s].
pub fn stable_time_step(matter: &Matter, sites: &Sites) -> f64 {
    let mass = matter.density * sites.cell_volume;
    // The highest frequency of any lattice is at most that of 1.4 times the sum of the weights.
    // Pressure waves run faster by what the volume and the pressure add.
    let stiffer = 1.0 + (matter.squeeze + 2.0 * matter.lame) / matter.young;
    2.0 / (1.4 * stiffer * matter.stiffness * sites.weight_sum / mass).sqrt()
}
