//! Volume of solids with a Poisson's ratio, and stress that stays at the yield.
//!
//! Shape matching has no Poisson's ratio: a bar that is pulled gets longer and no thinner. With `poisson` above 0 each neighborhood has the energy
//! λ V/2 (J - 1)² of its volume ratio J = det A, A = B C⁻¹ as in `fit.rs`, and its bonds the rest, E/(1 + ν) instead of E. J depends on where
//! neighbors are seen alone, so ∂J/∂r = w cof(A) C⁻¹ l: the forces are an exact gradient and free of torque.
//!
//! What also yields (`yield_bound`) pulls, beyond that bound, as if it were strained no further: stress stays at the yield. Together both let a bar
//! that is pulled neck: where it has yielded first it gets thinner, so it is loaded most and goes on yielding there alone.

use super::bonds::Bonds;
use super::fit::Sums;
use super::particles::{Matter, NOBODY, Particles};
use super::sites::Sites;
use crate::linalg::trace;
use glam::{DMat3, DVec3};
use rayon::prelude::*;

/// Volume ratios count at most this far from 1: a neighborhood that has lost its lattice has none.
const MOST: f64 = 0.5;
/// Determinant of C over that of a whole neighborhood below which there are too few neighbors for a volume.
const LEAST_NEIGHBORS: f64 = 1e-3;
/// Particles per parallel task.
const CHUNK: usize = 256;

/// What the neighborhoods of all particles do beyond shape matching.
#[derive(Debug, Clone, Default)]
pub struct Volume {
    all: Vec<Own>,
}

/// One neighborhood.
#[derive(Debug, Clone, Copy)]
struct Own {
    /// Force on a neighbor in slot l is w times this times l [N/m].
    push: DMat3,
    /// Part of the pull of its bonds that is left by yielding.
    kept: f64,
    /// Energy of the volume [J].
    energy: f64,
}

impl Own {
    const NOTHING: Self = Self { push: DMat3::ZERO, kept: 1.0, energy: 0.0 };
}

impl Volume {
    /// Whether any matter has a volume of its own.
    pub fn acts(matters: &[Matter]) -> bool {
        matters.iter().any(|m| m.lame > 0.0)
    }

    /// Looks at all neighborhoods; rotations must be those of the positions.
    pub fn find(&mut self, particles: &Particles, bonds: &Bonds, sites: &Sites, matters: &[Matter]) {
        let own = |i: usize| {
            let matter = &matters[particles.kinds[i] as usize];
            match matter.lame > 0.0 && particles.phases[i].is_bound() {
                true => look(i, particles, bonds, sites, matter),
                false => Own::NOTHING,
            }
        };
        (0..particles.len()).into_par_iter().with_min_len(CHUNK).map(own).collect_into_vec(&mut self.all);
    }

    /// Adds the forces [N], and takes off what bonds beyond the yield pull too much; after `find`.
    pub fn add_forces(
        &self,
        particles: &Particles,
        bonds: &Bonds,
        sites: &Sites,
        matters: &[Matter],
        forces: &mut [DVec3],
    ) {
        let Particles { positions, rotations, solidities, kinds, .. } = particles;
        // What the neighborhood of a does to b in its slot s.
        let on = |a: usize, b: usize, s: usize| {
            let (own, slot, weight) = (&self.all[a], sites.slots[s], sites.weights[s]);
            let volume = own.push * slot;
            if own.kept == 1.0 {
                return volume * weight;
            }
            let stiffness = 0.5 * matters[kinds[a] as usize].stiffness * solidities[a].min(solidities[b]);
            let misfit = rotations[a] * slot - (positions[b] - positions[a]);
            (volume + misfit * (stiffness * (own.kept - 1.0))) * weight
        };
        forces.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, forces)| {
            for (k, force) in forces.iter_mut().enumerate() {
                let i = chunk * CHUNK + k;
                for (s, &j) in bonds.of(i).iter().enumerate().filter(|(_, j)| **j != NOBODY) {
                    *force -= on(i, j as usize, s);
                }
                for &(j, s) in bonds.incoming.of(i) {
                    *force += on(j as usize, i, usize::from(s));
                }
            }
        });
    }

    /// Energy of a particle [J] of which its bonds alone would have `elastic` [J]; after `find`.
    pub fn energy(&self, i: usize, elastic: f64) -> f64 {
        // ½ k d² up to the yield, along its slope from there on.
        let kept = self.all[i].kept;
        elastic * kept * (2.0 - kept) + self.all[i].energy
    }
}

fn look(i: usize, particles: &Particles, bonds: &Bonds, sites: &Sites, matter: &Matter) -> Own {
    let mut sums = Sums::default();
    for (s, &j) in bonds.of(i).iter().enumerate().filter(|(_, j)| **j != NOBODY) {
        sums.add(sites.weights[s], particles.positions[j as usize] - particles.positions[i], sites.slots[s]);
    }
    if sites.dimensions == 2 {
        // Nothing happens across the plane.
        sums.seen.z_axis.z += sites.moment;
        sums.rest.z_axis.z += sites.moment;
    }
    if sums.rest.determinant() < LEAST_NEIGHBORS * sites.moment.powi(3) {
        return Own::NOTHING;
    }
    let inverse = sums.rest.inverse();
    let stretch = sums.seen * inverse;
    let [x, y, z] = [stretch.x_axis, stretch.y_axis, stretch.z_axis];
    let cofactor = DMat3::from_cols(y.cross(z), z.cross(x), x.cross(y));
    let excess = (stretch.determinant() - 1.0).clamp(-MOST, MOST);
    let modulus = matter.lame * sites.cell_volume * particles.solidities[i];
    Own {
        push: cofactor * inverse * (-modulus * excess),
        kept: kept(stretch, sites.dimensions, matter, f64::from(particles.strengths[i])),
        energy: 0.5 * modulus * excess * excess,
    }
}

/// Part of its pull that a neighborhood of a stretch keeps: all of it up to the yield.
fn kept(stretch: DMat3, dimensions: usize, matter: &Matter, strength: f64) -> f64 {
    if matter.squeeze == 0.0 {
        return 1.0;
    }
    let strain = stretch.transpose() * stretch - DMat3::IDENTITY;
    let mean = trace(strain) / dimensions as f64;
    let shape = match dimensions {
        2 => strain - DMat3::from_diagonal(DVec3::new(mean, mean, 0.0)),
        _ => strain - DMat3::from_diagonal(DVec3::splat(mean)),
    };
    let size = (shape.x_axis.length_squared() + shape.y_axis.length_squared() + shape.z_axis.length_squared()).sqrt();
    let bound = matter.yield_bound * strength;
    if size > bound { bound / size } else { 1.0 }
}
