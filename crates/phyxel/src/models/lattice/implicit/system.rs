//! The matrix of an implicit step: masses over dt², bonds, contacts, colliders.
//!
//! Bonds enter by Gauss and Newton: for small moves u the energy of a neighborhood is Σ k/4 w |u_j - u_i - θ × g|² with g = R l and the turn
//! θ that makes it least. It is never negative and knows that turning a neighborhood costs nothing; a matrix that forgets θ would resist
//! the turning of stiff bodies a thousand times as much as their inertia.

use super::touch::Pressed;
use crate::linalg::{cross_matrix, outer, trace};
use crate::models::lattice::contact::{Contacts, Touching};
use crate::models::lattice::particles::{NOBODY, Particles};
use crate::models::lattice::{LatticeModel, forces};
use glam::{DMat3, DVec3};
use rayon::prelude::*;

/// Particles per parallel task.
const CHUNK: usize = 256;
/// Part of its trace that is added to the diagonal of a neighborhood's inertia: few neighbors have a free axis.
const FLOOR: f64 = 1e-6;

/// Rows of the matrix.
#[derive(Debug, Clone, Default)]
pub struct System {
    /// Who sits in which slot and how stiffly, and who else has a particle in a slot.
    own: Rows,
    incoming: Rows,
    /// Turn of a neighborhood by the moment Σ w g × u [1/(N m)], and Σ w g [N].
    neighborhoods: Vec<Neighborhood>,
    /// Turns of the neighborhoods for the direction at hand, as matrices that take l. Scratch of `apply`.
    turns: Vec<DMat3>,
    contacts: Pairs,
    touches: Vec<(usize, DVec3, [f64; 2])>,
    masses: Vec<f64>,
    diagonal: Vec<f64>,
}

/// Weighted slots, row by row.
#[derive(Debug, Clone, Default)]
struct Rows {
    starts: Vec<u32>,
    entries: Vec<Entry>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    other: u32,
    slot: u8,
    /// [N/m].
    weight: f32,
    /// Weight of the other's slot that faces this one [N/m]; 0 when it holds somebody else.
    back: f32,
}

#[derive(Debug, Clone, Copy)]
struct Neighborhood {
    inverse: DMat3,
    rotation: DMat3,
    first: DVec3,
}

/// Pairs in contact, from both ends.
#[derive(Debug, Clone, Default)]
struct Pairs {
    starts: Vec<u32>,
    /// The other end, the normal, stiffness along and across it [N/m].
    entries: Vec<(u32, DVec3, [f64; 2])>,
    /// Listed pairs that touched in this step.
    touched: Vec<bool>,
}

impl Rows {
    fn of(&self, i: usize) -> &[Entry] {
        &self.entries[self.starts[i] as usize..self.starts[i + 1] as usize]
    }

    /// Rows of all particles, each appended by `fill`.
    fn build(&mut self, count: usize, fill: impl Fn(usize, &mut Vec<Entry>) + Sync) {
        let chunks: Vec<(Vec<u32>, Vec<Entry>)> = (0..count.div_ceil(CHUNK))
            .into_par_iter()
            .map(|chunk| {
                let (mut lengths, mut entries) = (Vec::with_capacity(CHUNK), Vec::with_capacity(18 * CHUNK));
                for i in chunk * CHUNK..count.min((chunk + 1) * CHUNK) {
                    let first = entries.len();
                    fill(i, &mut entries);
                    lengths.push((entries.len() - first) as u32);
                }
                (lengths, entries)
            })
            .collect();
        self.starts.clear();
        self.entries.clear();
        self.starts.push(0);
        for (lengths, entries) in &chunks {
            let mut end = self.entries.len() as u32;
            self.entries.extend_from_slice(entries);
            self.starts.extend(lengths.iter().map(|length| {
                end += length;
                end
            }));
        }
    }
}

impl System {
    /// Bonds as they are now.
    pub fn build(&mut self, model: &LatticeModel, dt: f64) {
        let Some(sites) = &model.sites else { return };
        let (particles, bonds, matters) = (&model.particles, &model.bonds, &model.matters);
        let short = (forces::CRUSHED * sites.spacing).powi(2);
        let weight = |i: usize, s: usize, j: usize| {
            let (matter, solidity) =
                (&matters[particles.kinds[i] as usize], particles.solidities[i].min(particles.solidities[j]));
            let near = particles.positions[i].distance_squared(particles.positions[j]) < short;
            let crush = if near { matter.crush } else { 0.0 };
            (0.5 * matter.stiffness * solidity * (sites.weights[s] + crush)) as f32
        };
        let count = particles.len();
        let facing = |i: usize, s: usize, j: usize| bonds.of(j)[sites.opposite[s]] == i as u32;
        self.own.build(count, |i, row| {
            for (s, &j) in bonds.of(i).iter().enumerate().filter(|(_, j)| **j != NOBODY) {
                let k = j as usize;
                let back = if facing(i, s, k) { weight(k, sites.opposite[s], i) } else { 0.0 };
                row.push(Entry { other: j, slot: s as u8, weight: weight(i, s, k), back });
            }
        });
        self.incoming.build(count, |i, row| {
            for &(j, slot) in bonds.incoming.of(i) {
                let (k, s) = (j as usize, usize::from(slot));
                // Those that face a slot of this one are with it.
                if !facing(k, s, i) {
                    row.push(Entry { other: j, slot, weight: weight(k, s, i), back: 0.0 });
                }
            }
        });
        self.masses.clear();
        self.masses.extend(particles.masses.iter().map(|m| m / (dt * dt)));
        self.contacts.touched.clear();
        self.contacts.touched.resize(model.contacts.len(), false);
    }

    /// Takes in rotations and what touches at the present positions; `turning`: part of the turns that counts.
    pub fn weigh(&mut self, touching: &Touching, contacts: &Contacts, touches: &[Pressed], turning: f64) {
        let Touching { particles, sites, dt, .. } = *touching;
        let own = &self.own;
        let neighborhood = |i: usize| {
            let (mut first, mut second) = (DVec3::ZERO, DMat3::ZERO);
            for e in own.of(i) {
                let l = sites.slots[usize::from(e.slot)];
                first += l * f64::from(e.weight);
                second += outer(l, l * f64::from(e.weight));
            }
            let rotation = particles.rotations[i];
            let total = trace(second);
            let inertia = DMat3::from_diagonal(DVec3::splat(total * (1.0 + FLOOR))) - second;
            // In the plane everything turns about its normal.
            let inverse = match sites.dimensions {
                2 => outer(DVec3::Z, DVec3::Z) / total,
                _ => inertia.inverse(),
            };
            let inverse = if total > 0.0 { rotation * inverse * rotation.transpose() * turning } else { DMat3::ZERO };
            Neighborhood { inverse, rotation, first: rotation * first }
        };
        (0..particles.len())
            .into_par_iter()
            .with_min_len(CHUNK)
            .map(neighborhood)
            .collect_into_vec(&mut self.neighborhoods);
        self.contacts.find(touching, contacts);
        self.touches.clear();
        for touch in touches {
            let weights = touch.weights(particles.velocities[touch.particle()], dt);
            self.touches.push((touch.particle(), touch.touch.normal, weights));
        }
        self.find_diagonal(particles);
    }

    fn find_diagonal(&mut self, particles: &Particles) {
        self.diagonal.clear();
        for i in 0..particles.len() {
            let bonds =
                self.own.of(i).iter().chain(self.incoming.of(i)).map(|e| f64::from(e.weight + e.back)).sum::<f64>();
            let contacts = self.contacts.of(i).iter().map(|(_, _, [along, across])| along.max(*across)).sum::<f64>();
            self.diagonal.push(self.masses[i] + bonds + contacts);
        }
        for (i, _, [along, across]) in &self.touches {
            self.diagonal[*i] += along.max(*across);
        }
    }

    /// Writes the matrix times `p` for all free directions; `slots`: the lattice's vectors.
    pub fn apply(&mut self, slots: &[DVec3], p: &[DVec3], free: &[DVec3], out: &mut [DVec3]) {
        let Self { own, incoming, neighborhoods, turns, contacts, touches, masses, .. } = self;
        let turn = |i: usize| {
            let Neighborhood { inverse, rotation, .. } = &neighborhoods[i];
            let mut moved = DMat3::ZERO;
            for e in own.of(i) {
                moved += outer(p[e.other as usize] - p[i], slots[usize::from(e.slot)] * f64::from(e.weight));
            }
            // Σ w g × u is what is not symmetric in Σ w u gᵀ.
            let m = moved * rotation.transpose();
            let moment = DVec3::new(m.y_axis.z - m.z_axis.y, m.z_axis.x - m.x_axis.z, m.x_axis.y - m.y_axis.x);
            cross_matrix(*inverse * moment) * *rotation
        };
        (0..p.len()).into_par_iter().with_min_len(CHUNK).map(turn).collect_into_vec(turns);
        out.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, out)| {
            for (k, out) in out.iter_mut().enumerate() {
                let i = chunk * CHUNK + k;
                let at = p[i];
                let mut sum = at * masses[i];
                for e in own.of(i) {
                    let j = e.other as usize;
                    // The slot that faces this one has the opposite vector.
                    let turned = turns[j] * slots[usize::from(e.slot)] * f64::from(e.back);
                    sum += turned + (at - p[j]) * (f64::from(e.weight) + f64::from(e.back));
                }
                let Neighborhood { first, rotation, .. } = &neighborhoods[i];
                sum += turns[i] * (rotation.transpose() * *first);
                for e in incoming.of(i) {
                    let j = e.other as usize;
                    sum += (at - p[j] - turns[j] * slots[usize::from(e.slot)]) * f64::from(e.weight);
                }
                for &(j, normal, [along, across]) in contacts.of(i) {
                    let u = at - p[j as usize];
                    sum += u * across + normal * (normal.dot(u) * (along - across));
                }
                *out = sum * free[i];
            }
        });
        for &(i, normal, [along, across]) in &*touches {
            let u = p[i];
            out[i] += (u * across + normal * (normal.dot(u) * (along - across))) * free[i];
        }
    }

    /// Writes one over the diagonal.
    pub fn invert_diagonal(&self, out: &mut Vec<f64>) {
        out.clear();
        out.extend(self.diagonal.iter().map(|d| 1.0 / d));
    }
}

impl Pairs {
    fn of(&self, i: usize) -> &[(u32, DVec3, [f64; 2])] {
        &self.entries[self.starts[i] as usize..self.starts[i + 1] as usize]
    }

    /// Pairs that touch, or did before in this step.
    fn find(&mut self, touching: &Touching, contacts: &Contacts) {
        self.starts.clear();
        self.entries.clear();
        self.starts.push(0);
        for i in 0..touching.particles.len() {
            for k in contacts.row(i) {
                let j = contacts.other(k);
                let weights = touching.weights(i, j, contacts.drag_of(k), self.touched[k]);
                if let Some((normal, weights)) = weights {
                    self.touched[k] = true;
                    self.entries.push((j as u32, normal, weights));
                }
            }
            self.starts.push(self.entries.len() as u32);
        }
    }
}
