//! Local damping: each neighborhood loses what is not its rigid motion.
//!
//! [WHP06] eqs. 10-13 with normalized weights and the inverse of the inertia: momentum and angular momentum are kept, rigid motion is
//! not touched. Long waves hardly fade by it.

use super::bonds::Bonds;
use super::particles::{Matter, NOBODY, Particles};
use super::pieces::spin;
use super::sites::Sites;
use crate::linalg::outer;
use glam::{DMat3, DVec3};
use rayon::prelude::*;

/// Particles per parallel task.
const CHUNK: usize = 256;

/// Rigid motion of one neighborhood.
#[derive(Debug, Clone, Copy, Default)]
struct Motion {
    center: DVec3,
    velocity: DVec3,
    spin: DVec3,
    /// How much of the rest is taken.
    part: f64,
}

/// Buffers.
#[derive(Debug, Clone, Default)]
pub struct Damper {
    motions: Vec<Motion>,
    changes: Vec<DVec3>,
}

impl Damper {
    /// Momentum that differs from the rigid motion of the neighborhoods, summed over those that a particle is in [kg m/s];
    /// each is multiplied by the part of its owner, so that momenta are kept whatever the parts.
    pub fn excess(
        &mut self,
        particles: &Particles,
        bonds: &Bonds,
        sites: &Sites,
        part: impl Fn(usize) -> f64 + Sync,
    ) -> &[DVec3] {
        let motion = |i: usize| Motion { part: part(i), ..neighborhood(particles, bonds, sites, i) };
        (0..particles.len()).into_par_iter().with_min_len(CHUNK).map(motion).collect_into_vec(&mut self.motions);
        let motions = &self.motions;
        let Particles { positions, velocities, masses, solidities, .. } = particles;
        let change = |i: usize| {
            let (at, v) = (positions[i], velocities[i]);
            let differs = |m: &Motion| (v - m.velocity - m.spin.cross(at - m.center)) * m.part;
            let mut sum = differs(&motions[i]) * (sites.self_weight * solidities[i]);
            for &(j, s) in bonds.incoming.of(i) {
                let weight = sites.weights[usize::from(s)] * solidities[i].min(solidities[j as usize]);
                sum += differs(&motions[j as usize]) * weight;
            }
            sum * masses[i]
        };
        (0..particles.len()).into_par_iter().with_min_len(CHUNK).map(change).collect_into_vec(&mut self.changes);
        &self.changes
    }

    /// Damps the velocities over `dt` [s].
    pub fn damp(&mut self, particles: &mut Particles, bonds: &Bonds, sites: &Sites, matters: &[Matter], dt: f64) {
        let kinds = &particles.kinds;
        let full = sites.self_weight + sites.weight_sum;
        self.excess(particles, bonds, sites, |i| (matters[kinds[i] as usize].damping * dt).min(1.0) / full);
        let Particles { velocities, masses, .. } = particles;
        let change = (&self.changes, &*masses).into_par_iter();
        velocities.par_iter_mut().zip(change).with_min_len(CHUNK).for_each(|(v, (change, mass))| {
            *v -= *change / *mass;
        });
    }
}

fn neighborhood(particles: &Particles, bonds: &Bonds, sites: &Sites, i: usize) -> Motion {
    let Particles { positions, velocities, masses, solidities, phases, .. } = particles;
    if !phases[i].is_bound() {
        return Motion::default();
    }
    let own = sites.self_weight * solidities[i] * masses[i];
    let (at, v) = (positions[i], velocities[i]);
    // Relative to the particle, for accuracy far from the origin.
    let (mut mass, mut first, mut momentum) = (own, DVec3::ZERO, DVec3::ZERO);
    let (mut angular, mut second) = (DVec3::ZERO, DMat3::ZERO);
    for (s, &j) in bonds.of(i).iter().enumerate() {
        if j != NOBODY {
            let j = j as usize;
            let weight = sites.weights[s] * solidities[i].min(solidities[j]) * masses[j];
            let (d, u) = (positions[j] - at, velocities[j] - v);
            mass += weight;
            first += d * weight;
            momentum += u * weight;
            angular += d.cross(u) * weight;
            second += outer(d, d * weight);
        }
    }
    if mass <= 0.0 {
        return Motion { center: at, velocity: v, ..Motion::default() };
    }
    let (center, velocity) = (first / mass, momentum / mass);
    let angular = angular - center.cross(momentum);
    let second = second - outer(center, first);
    let spin = spin(second, angular, sites.dimensions);
    Motion { center: at + center, velocity: v + velocity, spin, part: 0.0 }
}
