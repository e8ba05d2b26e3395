//! Pressure inside plastic solids: what yields keeps its volume.
//!
//! Bonds have no Poisson's ratio and a lattice that yields may be squeezed together for good. Matter with a low yield bound therefore has the
//! pressure of [WHP06]'s liquid where it is denser than its lattice: energy m c²/2 ((ρ - ρ₀)/ρ₀)² of a density ρ = Σ m W with the cubic
//! spline, ρ₀ that of the lattice, c² = E/ρ.

use super::lists::Lists;
use super::particles::{Matter, Particles};
use super::sites::Sites;
use glam::DVec3;
use rayon::prelude::*;

/// Support of the kernel, in spacings: the lattice is stable under pressure there.
const SUPPORT: f64 = 1.8;
/// Particles per parallel task.
const CHUNK: usize = 256;

/// Densities of particles that feel pressure.
#[derive(Debug, Clone, Default)]
pub struct Squeeze {
    /// (ρ - ρ₀)/ρ₀ where it is above 0, 0 elsewhere. Written by `find`.
    excess: Vec<f64>,
    /// Sum of the kernel over the lattice at rest, in units of its value at 0.
    rest: f64,
}

/// Cubic spline over its value at 0, and its slope times the support, at q = r/H.
#[inline]
fn kernel(q: f64) -> (f64, f64) {
    match q {
        q if q < 0.5 => (1.0 + 6.0 * (q * q * q - q * q), 18.0 * q * q - 12.0 * q),
        q if q < 1.0 => (2.0 * (1.0 - q).powi(3), -6.0 * (1.0 - q).powi(2)),
        _ => (0.0, 0.0),
    }
}

impl Squeeze {
    /// Whether any matter feels pressure.
    pub fn acts(matters: &[Matter]) -> bool {
        matters.iter().any(|m| m.squeeze > 0.0)
    }

    /// Finds the densities.
    pub fn find(&mut self, particles: &Particles, lists: &Lists, sites: &Sites, matters: &[Matter]) {
        if self.rest == 0.0 {
            self.rest = 1.0 + sites.lengths.iter().map(|l| kernel(l / (SUPPORT * sites.spacing)).0).sum::<f64>();
        }
        let (rest, support) = (self.rest, SUPPORT * sites.spacing);
        let excess = |i: usize| {
            if matters[particles.kinds[i] as usize].squeeze == 0.0 || !particles.phases[i].is_bound() {
                return 0.0;
            }
            let near = lists.of(i).iter().map(|&j| particles.positions[i].distance(particles.positions[j as usize]));
            let sum = 1.0 + near.map(|r| kernel(r / support).0).sum::<f64>();
            (sum / rest - 1.0).max(0.0)
        };
        (0..particles.len()).into_par_iter().with_min_len(CHUNK).map(excess).collect_into_vec(&mut self.excess);
    }

    /// Adds the forces [N]; after `find`.
    pub fn add_forces(
        &self,
        particles: &Particles,
        lists: &Lists,
        sites: &Sites,
        matters: &[Matter],
        forces: &mut [DVec3],
    ) {
        let (support, rest) = (SUPPORT * sites.spacing, self.rest);
        let stiffness = |i: usize| self.modulus(i, particles, sites, matters) * self.excess[i];
        forces.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, forces)| {
            for (k, force) in forces.iter_mut().enumerate() {
                let i = chunk * CHUNK + k;
                let own = stiffness(i);
                for &j in lists.of(i) {
                    let pressed = own + stiffness(j as usize);
                    if pressed == 0.0 {
                        continue;
                    }
                    let r = particles.positions[i] - particles.positions[j as usize];
                    let length = r.length();
                    let slope = kernel(length / support).1;
                    if length > 0.0 {
                        *force -= r * (pressed * slope / (support * rest * length));
                    }
                }
            }
        });
    }

    /// Energy of each particle [J]; after `find`.
    pub fn energy(&self, i: usize, particles: &Particles, sites: &Sites, matters: &[Matter]) -> f64 {
        0.5 * self.modulus(i, particles, sites, matters) * self.excess[i] * self.excess[i]
    }

    /// m c² of a particle [J].
    fn modulus(&self, i: usize, particles: &Particles, sites: &Sites, matters: &[Matter]) -> f64 {
        matters[particles.kinds[i] as usize].squeeze * sites.cell_volume * particles.solidities[i]
    }
}
