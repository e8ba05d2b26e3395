//! Solid particles that are not bonded repel each other: objects against objects, and the faces of a crack.
//!
//! f = k w(D) (D - |r|) along the pair, with damping, and friction across. Differs from [WHP06] eq. 14, which pushes towards the nearest
//! slot and so not at all in deep overlap.

use super::bonds::Bonds;
use super::lists::Lists;
use super::particles::{Matter, Particles};
use super::sites::Sites;
use glam::DVec3;
use rayon::prelude::*;

/// Part of critical damping along the pair.
const DAMPING: f64 = 0.3;
/// Rate at which friction takes sliding away when it does not slip [1/s].
const GRIP: f64 = 1000.0;
/// Particles per parallel task.
const CHUNK: usize = 256;

/// Pairs that may touch.
#[derive(Debug, Clone, Default)]
pub struct Contacts {
    starts: Vec<u32>,
    others: Vec<u32>,
    /// Energy stored at the last `add_forces`, by particle [J].
    energies: Vec<f64>,
}

impl Contacts {
    /// Lists the solid pairs without a bond that may come within a spacing before the neighbor lists are made anew.
    pub fn find(&mut self, particles: &Particles, bonds: &Bonds, lists: &Lists, sites: &Sites) {
        let phases = &particles.phases;
        let touching = |i: usize| {
            let near = |&&j: &&u32| {
                let j = j as usize;
                phases[j].is_bound() && lists.may_come_within(i, j, sites.spacing) && !bonds.joins(i, j)
            };
            let bound = phases[i].is_bound();
            lists.of(i).iter().filter(move |_| bound).filter(near).copied().collect::<Vec<u32>>()
        };
        let rows: Vec<Vec<u32>> = (0..particles.len()).into_par_iter().with_min_len(CHUNK).map(touching).collect();
        self.starts.clear();
        self.others.clear();
        self.starts.push(0);
        for row in &rows {
            self.others.extend_from_slice(row);
            self.starts.push(self.others.len() as u32);
        }
    }

    /// Adds the forces of contact for a step of `dt` [s] to `forces` [N].
    pub fn add_forces(
        &mut self,
        particles: &Particles,
        sites: &Sites,
        matters: &[Matter],
        dt: f64,
        forces: &mut [DVec3],
    ) {
        self.energies.clear();
        self.energies.resize(particles.len(), 0.0);
        if self.others.is_empty() {
            return;
        }
        let (starts, others) = (&self.starts, &self.others);
        let energies = self.energies.par_chunks_mut(CHUNK);
        forces.par_chunks_mut(CHUNK).zip(energies).enumerate().for_each(|(chunk, (forces, energies))| {
            for (k, (force, energy)) in forces.iter_mut().zip(energies).enumerate() {
                let i = chunk * CHUNK + k;
                for &j in &others[starts[i] as usize..starts[i + 1] as usize] {
                    if let Some((push, stored)) = push(particles, sites, matters, (i, j as usize), dt) {
                        *force += push;
                        *energy += 0.5 * stored;
                    }
                }
            }
        });
    }

    /// Energy stored at the last `add_forces`, by particle [J].
    pub fn energies(&self) -> &[f64] {
        &self.energies
    }
}

/// Force on i of a pair [N] and the energy stored in it [J]; the force on j is its negative, to the last bit.
fn push(
    particles: &Particles,
    sites: &Sites,
    matters: &[Matter],
    (i, j): (usize, usize),
    dt: f64,
) -> Option<(DVec3, f64)> {
    let r = particles.positions[j] - particles.positions[i];
    let length = r.length();
    let depth = sites.spacing - length;
    if depth <= 0.0 {
        return None;
    }
    let normal = if length > 1e-9 * sites.spacing { r / length } else { apart(particles.ids[i] < particles.ids[j]) };
    let (a, b) = (&matters[particles.kinds[i] as usize], &matters[particles.kinds[j] as usize]);
    let solidity = particles.solidities[i].min(particles.solidities[j]);
    let stiffness = solidity * sites.self_weight * 2.0 * a.stiffness * b.stiffness / (a.stiffness + b.stiffness);
    let mass = particles.masses[i] * particles.masses[j] / (particles.masses[i] + particles.masses[j]);
    let v = particles.velocities[j] - particles.velocities[i];
    let along = v.dot(normal);
    let damping = 2.0 * DAMPING * (stiffness * mass).sqrt();
    let press = (stiffness * depth - damping * along).max(0.0);
    let across = v - normal * along;
    let speed = across.length();
    let grip = (GRIP.min(0.5 / dt) * mass * speed).min((a.friction * b.friction).sqrt() * press);
    let drag = if speed > 0.0 { across * (grip / speed) } else { DVec3::ZERO };
    Some((drag - normal * press, 0.5 * stiffness * depth * depth))
}

/// A direction for a pair in one place.
fn apart(first: bool) -> DVec3 {
    if first { DVec3::Y } else { DVec3::NEG_Y }
}
