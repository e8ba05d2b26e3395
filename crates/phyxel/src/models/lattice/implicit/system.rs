//! The matrix of an implicit step: masses over dt², bonds, contacts, colliders.
//!
//! Bonds enter by Gauss and Newton: for small moves u the energy of a neighborhood is Σ k/4 w |u_j - u_i - θ × g|² with g = R l and the turn
//! θ that makes it least. It is never negative and knows that turning a neighborhood costs nothing; a matrix that forgets θ would resist
//! the turning of stiff bodies a thousand times as much as their inertia.

use super::touch::Pressed;
use crate::linalg::{outer, trace};
use crate::models::lattice::contact::{Contacts, Touching};
use crate::models::lattice::particles::NOBODY;
use crate::models::lattice::{LatticeModel, forces};
use glam::{DMat3, DVec3, Mat3A, Vec3, Vec3A};
use rayon::prelude::*;

/// Particles per parallel task.
const CHUNK: usize = 256;
/// Part of its trace that is added to the diagonal of a neighborhood's inertia: few neighbors have a free axis.
const FLOOR: f64 = 1e-6;

/// Rows of the matrix, in f32: what it is used for needs no more than a few digits. It has rows for those particles alone that are held by bonds
/// or contacts, numbered among themselves: what has melted costs nothing.
#[derive(Debug, Clone, Default)]
pub struct System {
    /// The particle of each row.
    pub rows: Vec<u32>,
    /// The row of each particle; `NOBODY`: none.
    places: Vec<u32>,
    /// Who sits in which slot and how stiffly; as many per row as there are slots, the empty ones hold itself with weight 0.
    own: Vec<Bond>,
    /// Slots l of the lattice in the order of the rows, each followed by the one on the other side [m].
    slots: Vec<Vec3>,
    /// Who else has a particle in a slot.
    incoming: Rows,
    /// Whether a particle has anybody in a slot.
    bonded: Vec<bool>,
    neighborhoods: Vec<Neighborhood>,
    rotations: Vec<Mat3A>,
    /// Part of the turns that counts.
    turning: f32,
    /// Turns of the neighborhoods for the direction at hand, as matrices that take l, and the direction. Scratch of `apply`.
    turns: Vec<Mat3A>,
    ways: Vec<Vec3A>,
    contacts: Pairs,
    touches: Vec<(usize, DVec3, [f64; 2])>,
    masses: Vec<f64>,
    /// Of all bonds of a particle together [N/m].
    stiffness: Vec<f64>,
    diagonal: Vec<f64>,
}

/// One slot of a row.
#[derive(Debug, Clone, Copy)]
struct Bond {
    other: u32,
    /// [N/m].
    weight: f32,
    /// Weight of the other's slot that faces this one [N/m]; 0 when it holds somebody else.
    back: f32,
}

/// Weighted slots of others, row by row.
#[derive(Debug, Clone, Default)]
struct Rows {
    starts: Vec<u32>,
    entries: Vec<Entry>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    other: u32,
    /// Its vector l [m].
    slot: Vec3,
    /// [N/m].
    weight: f32,
}

/// How a neighborhood turns, in the frame of its lattice.
#[derive(Debug, Clone, Copy)]
struct Neighborhood {
    /// Turn by the moment Σ w l × Rᵀu [1/(N m)].
    inverse: Mat3A,
    /// Σ w l [N].
    first: Vec3A,
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
        self.number(model);
        let (rows, places) = (&self.rows, &self.places);
        let count = rows.len();
        let facing = |i: usize, s: usize, j: usize| bonds.of(j)[sites.opposite[s]] == i as u32;
        let first = (0..sites.len()).filter(|s| *s < sites.opposite[*s]);
        let order: Vec<usize> = first.flat_map(|s| [s, sites.opposite[s]]).collect();
        self.slots.clear();
        self.slots.extend(order.iter().map(|s| sites.slots[*s].as_vec3()));
        let (slots, own) = (bonds.slots, &mut self.own);
        own.resize(count * slots, Bond { other: 0, weight: 0.0, back: 0.0 });
        own.par_chunks_mut(slots).with_min_len(CHUNK).enumerate().for_each(|(k, row)| {
            let i = rows[k] as usize;
            for (&s, bond) in order.iter().zip(row) {
                *bond = Bond { other: k as u32, weight: 0.0, back: 0.0 };
                let j = bonds.of(i)[s];
                if j != NOBODY {
                    let j = j as usize;
                    let back = if facing(i, s, j) { weight(j, sites.opposite[s], i) } else { 0.0 };
                    *bond = Bond { other: places[j], weight: weight(i, s, j), back };
                }
            }
        });
        self.bonded.clear();
        self.bonded.extend(rows.iter().map(|i| bonds.of(*i as usize).iter().any(|j| *j != NOBODY)));
        let Rows { starts, entries } = &mut self.incoming;
        starts.clear();
        entries.clear();
        starts.push(0);
        for i in rows.iter().map(|i| *i as usize) {
            for &(j, slot) in bonds.incoming.of(i) {
                let (j, s) = (j as usize, usize::from(slot));
                // Those that face a slot of this one are with it.
                if !facing(j, s, i) {
                    entries.push(Entry { other: places[j], slot: sites.slots[s].as_vec3(), weight: weight(j, s, i) });
                }
            }
            starts.push(entries.len() as u32);
        }
        let (own, slots) = (&self.own, self.slots.len());
        self.stiffness.clear();
        self.stiffness.extend((0..count).map(|i| {
            let bonds: f32 = own[i * slots..(i + 1) * slots].iter().map(|b| b.weight + b.back).sum();
            let others: f32 = self.incoming.of(i).iter().map(|e| e.weight).sum();
            f64::from(bonds + others)
        }));
        let neighborhood = |i: usize| {
            let (mut first, mut second) = (DVec3::ZERO, DMat3::ZERO);
            for (bond, &s) in own[i * slots..(i + 1) * slots].iter().zip(&order) {
                let l = sites.slots[s];
                first += l * f64::from(bond.weight);
                second += outer(l, l * f64::from(bond.weight));
            }
            let total = trace(second);
            let inertia = DMat3::from_diagonal(DVec3::splat(total * (1.0 + FLOOR))) - second;
            // In the plane everything turns about its normal.
            let inverse = match (total > 0.0, sites.dimensions) {
                (false, _) => DMat3::ZERO,
                (_, 2) => outer(DVec3::Z, DVec3::Z) / total,
                _ => inertia.inverse(),
            };
            Neighborhood { inverse: single(inverse), first: first.as_vec3a() }
        };
        let all = (0..count).into_par_iter().with_min_len(CHUNK);
        all.map(neighborhood).collect_into_vec(&mut self.neighborhoods);
        self.masses.clear();
        self.masses.extend(self.rows.iter().map(|i| particles.masses[*i as usize] / (dt * dt)));
        self.contacts.touched.clear();
        self.contacts.touched.resize(model.contacts.len(), false);
    }

    /// Gives rows to all that are bound, or in a bond or a contact of somebody.
    fn number(&mut self, model: &LatticeModel) {
        let LatticeModel { particles, bonds, contacts, .. } = model;
        let held = |i: usize| {
            let bonded = !bonds.incoming.of(i).is_empty() || bonds.of(i).iter().any(|j| *j != NOBODY);
            particles.phases[i].is_bound() || bonded || !contacts.row(i).is_empty()
        };
        self.rows.clear();
        self.rows.extend((0..particles.len()).filter(|i| held(*i)).map(|i| i as u32));
        self.places.clear();
        self.places.resize(particles.len(), NOBODY);
        for (k, &i) in self.rows.iter().enumerate() {
            self.places[i as usize] = k as u32;
        }
    }

    /// Takes in rotations and what touches at the present positions; `turning`: part of the turns that counts.
    pub fn weigh(&mut self, touching: &Touching, contacts: &Contacts, touches: &[Pressed], turning: f64) {
        let Touching { particles, dt, .. } = *touching;
        self.turning = turning as f32;
        let rotations = self.rows.par_iter().with_min_len(CHUNK);
        rotations.map(|i| single(particles.rotations[*i as usize])).collect_into_vec(&mut self.rotations);
        self.contacts.find(touching, contacts, &self.rows, &self.places);
        self.touches.clear();
        for touch in touches {
            let weights = touch.weights(particles.velocities[touch.particle()], dt);
            self.touches.push((self.places[touch.particle()] as usize, touch.touch.normal, weights));
        }
        self.find_diagonal();
    }

    fn find_diagonal(&mut self) {
        self.diagonal.clear();
        for i in 0..self.rows.len() {
            let contacts = self.contacts.of(i).iter().map(|(_, _, [along, across])| along.max(*across)).sum::<f64>();
            self.diagonal.push(self.masses[i] + self.stiffness[i] + contacts);
        }
        for (i, _, [along, across]) in &self.touches {
            self.diagonal[*i] += along.max(*across);
        }
    }

    /// Writes the matrix times `p` for all free directions; entries by row.
    pub fn apply(&mut self, p: &[DVec3], free: &[DVec3], out: &mut [DVec3]) {
        let Self {
            own, slots, incoming, bonded, neighborhoods, rotations, turns, ways, contacts, touches, masses, ..
        } = self;
        let turning = self.turning;
        let (own, slots) = (&*own, &slots[..]);
        p.par_iter().with_min_len(CHUNK).map(|p| p.as_vec3a()).collect_into_vec(ways);
        let ways = &ways[..];
        let row = |i: usize| own[i * slots.len()..(i + 1) * slots.len()].iter().zip(slots);
        let turn = |i: usize| {
            if !bonded[i] {
                return Mat3A::ZERO;
            }
            let rotation = &rotations[i];
            let (at, mut moved) = (ways[i], [Vec3A::ZERO; 3]);
            let bonds = own[i * slots.len()..(i + 1) * slots.len()].as_chunks::<2>().0;
            for ([one, other], [l, _]) in bonds.iter().zip(slots.as_chunks::<2>().0) {
                let u = (ways[one.other as usize] - at) * one.weight - (ways[other.other as usize] - at) * other.weight;
                moved[0] += u * l.x;
                moved[1] += u * l.y;
                moved[2] += u * l.z;
            }
            // Σ w l × v is what is not symmetric in Σ w v lᵀ.
            let m = rotation.transpose() * Mat3A::from_cols(moved[0], moved[1], moved[2]);
            let moment = Vec3A::new(m.y_axis.z - m.z_axis.y, m.z_axis.x - m.x_axis.z, m.x_axis.y - m.y_axis.x);
            let t = neighborhoods[i].inverse * moment * turning;
            let [x, y, z] = [Vec3A::new(0.0, t.z, -t.y), Vec3A::new(-t.z, 0.0, t.x), Vec3A::new(t.y, -t.x, 0.0)];
            Mat3A::from_cols(*rotation * x, *rotation * y, *rotation * z)
        };
        (0..p.len()).into_par_iter().with_min_len(CHUNK).map(turn).collect_into_vec(turns);
        let turned = |turn: &Mat3A, l: Vec3| turn.x_axis * l.x + turn.y_axis * l.y + turn.z_axis * l.z;
        out.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, out)| {
            for (k, out) in out.iter_mut().enumerate() {
                let i = chunk * CHUNK + k;
                let at = ways[i];
                let mut sum = Vec3A::ZERO;
                if bonded[i] {
                    for (bond, &l) in row(i) {
                        let j = bond.other as usize;
                        // The slot that faces this one has the opposite vector.
                        sum += turned(&turns[j], l * bond.back) + (at - ways[j]) * (bond.weight + bond.back);
                    }
                    sum += turns[i] * neighborhoods[i].first;
                }
                for e in incoming.of(i) {
                    let j = e.other as usize;
                    sum += (at - ways[j] - turned(&turns[j], e.slot)) * e.weight;
                }
                let mut sum = sum.as_dvec3() + p[i] * masses[i];
                for &(j, normal, weights) in contacts.of(i) {
                    sum += pull(p[i] - p[j as usize], normal, weights);
                }
                *out = sum * free[i];
            }
        });
        for &(i, normal, weights) in &*touches {
            out[i] += pull(p[i], normal, weights) * free[i];
        }
    }

    /// What the contacts of a row take from their force when all rows move by `ways` [N].
    pub fn of_contacts(&self, i: usize, ways: &[DVec3]) -> DVec3 {
        let pair = |&(j, normal, weights): &(u32, DVec3, [f64; 2])| pull(ways[i] - ways[j as usize], normal, weights);
        self.contacts.of(i).iter().map(pair).sum()
    }

    /// What the k-th collider in the way takes from its force when its particle moves by `way` [N].
    pub fn of_touch(&self, k: usize, way: DVec3) -> DVec3 {
        let (_, normal, weights) = self.touches[k];
        pull(way, normal, weights)
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
    fn find(&mut self, touching: &Touching, contacts: &Contacts, rows: &[u32], places: &[u32]) {
        self.starts.clear();
        self.entries.clear();
        self.starts.push(0);
        for i in rows.iter().map(|i| *i as usize) {
            for k in contacts.row(i) {
                let j = contacts.other(k);
                let weights = touching.weights(i, j, contacts.drag_of(k), self.touched[k]);
                if let Some((normal, weights)) = weights {
                    self.touched[k] = true;
                    self.entries.push((places[j], normal, weights));
                }
            }
            self.starts.push(self.entries.len() as u32);
        }
    }
}

/// Stiffness along a normal and across it, times a way.
fn pull(way: DVec3, normal: DVec3, [along, across]: [f64; 2]) -> DVec3 {
    way * across + normal * (normal.dot(way) * (along - across))
}

fn single(m: DMat3) -> Mat3A {
    Mat3A::from_cols(m.x_axis.as_vec3a(), m.y_axis.as_vec3a(), m.z_axis.as_vec3a())
}
