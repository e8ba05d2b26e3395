//! Sheets against sheets, and a sheet against itself.
//!
//! Nodes meet triangles and edges meet edges, at the thickness of the sheets. It is settled on velocities, in two passes, both with
//! equal and opposite impulses along the shortest way between the two parts, so that momentum stays. The first
//! [BFA02] lets no pair come nearer than its contact distance within the step, leads pairs that are nearer apart, and rubs. It looks at the geometry at the start of the step alone; the second follows the ways through the step, after colliders and pins
//! have had their say, and stops what would still meet. What cannot be stopped pair by pair goes on together: nothing passes.
//!
//! The order of all sums is fixed by the numbers of the points, and nothing is kept from step to step but lists that hold more pairs
//! than can count: the same bits on any number of threads and after a restart.

mod candidates;
mod near;
mod proxy;

pub use proxy::Proxy;

use super::Shell;
use super::network::Network;
use crate::groups::Groups;
use crate::points::Points;
use candidates::{Candidate, Candidates, Sheets};
use glam::DVec3;
use near::{Meeting, meeting, weighted};
use rayon::prelude::*;

/// Rounds over all touching pairs in the first pass.
const ROUNDS: usize = 8;
/// Rounds of the second pass that settle pairs one by one.
const SINGLE_ROUNDS: usize = 10;
/// Rounds of the second pass in all.
const ALL_ROUNDS: usize = 60;
/// Pairs that are too near part with this time constant [s] ...
const PART_TIME: f64 = 0.01;
/// ... but never faster than this [m/s].
const PART_SPEED: f64 = 0.5;
/// Pairs rub when the gap between them is less than this part of their contact distance.
const RUBS: f64 = 0.5;
/// Pairs per parallel task.
const CHUNK: usize = 256;
/// Parts nearer than this part of their contact distance are led apart in the second pass too, by this part of what is missing per
/// step.
const SMALL: f64 = 0.05;
const LIFT: f64 = 0.2;
/// An edge crosses a triangle when its ends lie at least this part of its length on different sides.
const CROSSES: f64 = 1e-6;

/// One sheet as contact sees it.
#[derive(Debug, Clone)]
pub struct ContactSheet {
    /// First of its points, consecutive.
    pub first: usize,
    /// Triangles and edges between its points.
    pub proxy: Proxy,
    /// Thickness at each of its points [m].
    pub thickness: Vec<f64>,
    /// Coulomb friction coefficient; of two sheets the geometric mean counts.
    pub friction: f64,
    /// Distance of its nodes [m].
    pub spacing: f64,
}

impl ContactSheet {
    /// The sheet of a shell whose points begin at `first`.
    pub fn of(shell: &Shell, first: usize, friction: f64) -> Self {
        let (network, nodes) = (shell.network(), shell.nodes());
        Self {
            first,
            proxy: Proxy::new(network, &nodes.positions, first as u32),
            thickness: (0..network.len()).map(|i| shell.thickness(i)).collect(),
            friction,
            spacing: shell.spacing(),
        }
    }
}

/// Two parts that touch or may touch in this step.
#[derive(Debug, Clone, Copy)]
struct Contact {
    corners: [u32; 4],
    weights: [f64; 4],
    /// From the second part to the first.
    normal: DVec3,
    /// Least relative velocity along the normal [m/s].
    least: f64,
    friction: f64,
    /// Mass that the impulse meets [kg].
    mass: f64,
    /// Impulse along the normal so far [N s].
    push: f64,
    /// Impulse across it so far [N s].
    rub: DVec3,
}

/// Contact of all sheets of a world.
#[derive(Debug, Clone, Default)]
pub struct ShellContact {
    candidates: Candidates,
    proxies: Vec<Proxy>,
    /// Those before any crack.
    originals: Vec<Proxy>,
    /// Points near cracks.
    rough: Vec<bool>,
    /// Per point of the world: half of the thickness [m], and sheet.
    halves: Vec<f64>,
    owners: Vec<u32>,
    frictions: Vec<f64>,
    /// Points of all sheets.
    points: Vec<u32>,
    /// Smallest distance of nodes [m].
    spacing: f64,
    /// One over the mass of each point [1/kg], 0 for held ones. Written by `hold`.
    inverse: Vec<f64>,
    /// Written by `touch`.
    contacts: Vec<Contact>,
}

impl ShellContact {
    /// Contact of these sheets among `count` points.
    pub fn new(sheets: Vec<ContactSheet>, count: usize) -> Self {
        let mut made = Self {
            halves: vec![0.0; count],
            owners: vec![u32::MAX; count],
            inverse: vec![0.0; count],
            rough: vec![false; count],
            spacing: f64::INFINITY,
            ..Self::default()
        };
        for (s, sheet) in sheets.into_iter().enumerate() {
            made.points.extend((sheet.first..sheet.first + sheet.thickness.len()).map(|i| i as u32));
            for (i, thickness) in (sheet.first..).zip(&sheet.thickness) {
                made.halves[i] = 0.5 * thickness;
                made.owners[i] = s as u32;
            }
            made.frictions.push(sheet.friction);
            made.spacing = made.spacing.min(sheet.spacing);
            made.originals.push(sheet.proxy);
        }
        made.proxies.clone_from(&made.originals);
        made.candidates = Candidates::new(made.points.clone());
        made
    }

    /// Changes the friction coefficient of a sheet.
    pub fn set_friction(&mut self, s: usize, friction: f64) {
        self.frictions[s] = friction;
    }

    /// Takes the triangles out that cracks have parted in the network of a sheet, whose first point is `first`. Depends on the
    /// network alone, not on how it came to be.
    pub fn part(&mut self, s: usize, network: &Network, first: usize) {
        let (proxy, mut corners) = self.originals[s].parted(network, first as u32);
        self.rough[first..first + network.len()].fill(false);
        // Two rings: what is farther apart at rest is looked for anyway.
        for _ in 0..2 {
            corners.iter().for_each(|&i| self.rough[i as usize] = true);
            let touching = self.originals[s].edges.iter().filter(|e| e.iter().any(|&i| self.rough[i as usize]));
            corners = touching.flatten().copied().collect();
        }
        self.proxies[s] = proxy;
        self.candidates.forget_parts(&self.proxies);
    }

    /// Forgets what was found before, after positions were set from outside.
    pub fn refresh(&mut self) {
        self.candidates.forget();
    }

    /// Triangles between the points of all sheets.
    pub fn triangles(&self) -> impl Iterator<Item = &[u32; 3]> + Clone {
        self.proxies.iter().flat_map(|p| &p.triangles)
    }

    /// Half of the thickness at each point of the world [m]; 0 for points of no sheet.
    pub fn halves(&self) -> &[f64] {
        &self.halves
    }

    /// Takes the masses of the points; those that are held cannot be pushed.
    pub fn hold<'a>(&mut self, masses: &[f64], held: impl Iterator<Item = &'a u32>) {
        for &i in &self.points {
            self.inverse[i as usize] = 1.0 / masses[i as usize];
        }
        held.for_each(|&i| self.inverse[i as usize] = 0.0);
    }

    /// First pass: changes velocities so that no pair comes nearer than its contact distance in a step of `dt` [s].
    pub fn touch(&mut self, points: &mut Points, dt: f64) {
        let Some(moved) = self.prepare(points, dt) else { return };
        let (candidates, this) = (&self.candidates.list, &*self);
        // Nothing nearer than this now can touch within the step.
        let near = 2.0 * this.fastest(points) * dt;
        let chunk = |list: &[Candidate]| -> Vec<Contact> {
            let close = list.iter().filter(|c| c.seen - 2.0 * moved <= c.keep);
            close.filter_map(|c| this.contact(c, points, near, dt)).collect()
        };
        let found: Vec<Vec<Contact>> = candidates.par_chunks(CHUNK).map(chunk).collect();
        let mut contacts = std::mem::take(&mut self.contacts);
        contacts.clear();
        contacts.extend(found.into_iter().flatten());
        for _ in 0..ROUNDS {
            let mut changed = false;
            for contact in &mut contacts {
                changed |= contact.settle(&mut points.velocities, &self.inverse);
            }
            if !changed {
                break;
            }
        }
        self.contacts = contacts;
    }

    /// Second pass: follows the ways through a step of `dt` [s] and stops what would meet.
    pub fn keep_apart(&mut self, points: &mut Points, dt: f64) {
        let mut groups: Option<Groups> = None;
        for round in 0..ALL_ROUNDS {
            let Some(moved) = self.prepare(points, dt) else { return };
            let meetings = self.meetings(points, moved, dt);
            if meetings.is_empty() {
                return;
            }
            if round < SINGLE_ROUNDS {
                meetings.iter().for_each(|(c, m)| self.stop(c, m, &mut points.velocities, dt));
            } else {
                // Groups only grow, so this comes to an end.
                self.join(&meetings, groups.get_or_insert_with(|| Groups::new(points.len())), points);
            }
        }
    }

    /// Number of pairs of an edge and a triangle of the proxies that cross.
    pub fn crossings(&self, positions: &[DVec3]) -> usize {
        let triangles: Vec<&[u32; 3]> = self.proxies.iter().flat_map(|p| &p.triangles).collect();
        let crosses = |[a, b]: &[u32; 2], t: &[u32; 3]| {
            let [x, y, z] = t.map(|v| positions[v as usize]);
            let (p, q) = (positions[*a as usize], positions[*b as usize]);
            let volume = |a: DVec3, b: DVec3, c: DVec3, d: DVec3| (b - a).cross(c - a).dot(d - a);
            let sides = [volume(p, q, x, y), volume(p, q, y, z), volume(p, q, z, x)];
            let [before, behind] = [volume(x, y, z, p), volume(x, y, z, q)];
            // Coplanar ones do not cross, whatever rounding says.
            let flat = CROSSES * (y - x).cross(z - x).length() * p.distance(q);
            let touching = before.abs() < flat || behind.abs() < flat;
            let apart = t.contains(a) || t.contains(b) || touching || before * behind >= 0.0;
            !apart && (sides.iter().all(|s| *s > 0.0) || sides.iter().all(|s| *s < 0.0))
        };
        let edges: Vec<&[u32; 2]> = self.proxies.iter().flat_map(|p| &p.edges).collect();
        edges.par_iter().map(|edge| triangles.iter().filter(|t| crosses(edge, t)).count()).sum()
    }

    /// Brings the list up to date and says how far points may go from where it was made [m]; None when there is nothing to do.
    fn prepare(&mut self, points: &Points, dt: f64) -> Option<f64> {
        if self.points.is_empty() || dt <= 0.0 {
            return None;
        }
        let way = self.fastest(points) * dt;
        let sheets = Sheets {
            positions: &points.positions,
            rest: &points.rest_positions,
            velocities: &points.velocities,
            dt,
            halves: &self.halves,
            owners: &self.owners,
            rough: &self.rough,
            smooth: &[],
            vicinity: 0.0,
            busy: [&[]; 2],
        };
        if let Some(moved) = self.candidates.moved(&sheets, &self.proxies, way) {
            return Some(moved);
        }
        if !way.is_finite() {
            return None;
        }
        self.candidates.make(&sheets, &self.proxies, self.spacing, way);
        Some(way)
    }

    /// Largest speed of a point of a sheet against the mean of all [m/s].
    fn fastest(&self, points: &Points) -> f64 {
        let velocities = || self.points.iter().map(|&i| points.velocities[i as usize]);
        let mean = velocities().sum::<DVec3>() / self.points.len() as f64;
        velocities().map(|v| (v - mean).length_squared()).fold(0.0, f64::max).sqrt()
    }

    /// The contact of two parts that are or may come too near.
    fn contact(&self, candidate: &Candidate, points: &Points, near: f64, dt: f64) -> Option<Contact> {
        let corners = candidate.corners;
        let x = corners.map(|i| points.positions[i as usize]);
        let weights = candidate.kind.weights(&x);
        let offset = weighted(&weights, &x);
        let distance = offset.length();
        let gap = distance - candidate.keep;
        if gap >= near {
            return None;
        }
        let normal = offset.try_normalize()?;
        let mass = self.effective_mass(&corners, &weights)?;
        let least = match gap >= 0.0 {
            true => -gap / dt,
            false => (-gap / PART_TIME).min(-gap / dt).min(PART_SPEED),
        };
        // What is still apart does not rub.
        let rubs = f64::from(u8::from(gap < RUBS * candidate.keep));
        let [a, b] = [corners[0], corners[3]].map(|i| self.frictions[self.owners[i as usize] as usize]);
        let friction = rubs * (a * b).sqrt();
        Some(Contact { corners, weights, normal, least, friction, mass, push: 0.0, rub: DVec3::ZERO })
    }

    /// Mass that an impulse between two parts meets [kg]; None when all of it is held.
    fn effective_mass(&self, corners: &[u32; 4], weights: &[f64; 4]) -> Option<f64> {
        let inverse: f64 = (0..4).map(|k| weights[k] * weights[k] * self.inverse[corners[k] as usize]).sum();
        (inverse > 0.0).then(|| 1.0 / inverse)
    }

    /// Pairs that meet within the step, in the order of the list.
    fn meetings(&self, points: &Points, moved: f64, dt: f64) -> Vec<(Candidate, Meeting)> {
        // No two points approach farther than this.
        let most = 2.0 * self.fastest(points) * dt;
        let chunk = |list: &[Candidate]| -> Vec<(Candidate, Meeting)> {
            let near = list.iter().filter(|c| c.seen <= 2.0 * moved);
            let found = near.filter_map(|c| {
                let x = c.corners.map(|i| points.positions[i as usize]);
                let way = c.corners.map(|i| dt * points.velocities[i as usize]);
                meeting(c.kind, &x, &way, most, SMALL * c.keep).map(|m| (*c, m))
            });
            found.collect()
        };
        let found: Vec<Vec<_>> = self.candidates.list.par_chunks(CHUNK).map(chunk).collect();
        found.into_iter().flatten().collect()
    }

    /// Takes the approach of two parts away; what is very near is led apart a little.
    fn stop(&self, candidate: &Candidate, meeting: &Meeting, velocities: &mut [DVec3], dt: f64) {
        let corners = &candidate.corners;
        let v = corners.map(|i| velocities[i as usize]);
        let approach = weighted(&meeting.weights, &v).dot(meeting.normal);
        let Some(mass) = self.effective_mass(corners, &meeting.weights) else { return };
        let least = LIFT * (SMALL * candidate.keep - meeting.start).max(0.0) / dt;
        if approach < least {
            let push = (least - approach) * mass * meeting.normal;
            give(velocities, &self.inverse, corners, &meeting.weights, push);
        }
    }

    /// Lets all points of parts that meet, and of those that meet them, go on together: the momentum stays.
    fn join(&self, meetings: &[(Candidate, Meeting)], groups: &mut Groups, points: &mut Points) {
        for (candidate, _) in meetings {
            let corners = &candidate.corners;
            corners[1..].iter().for_each(|&i| groups.unite(corners[0], i));
        }
        let mut sums = vec![(DVec3::ZERO, 0.0, false); points.len()];
        for &i in &self.points {
            let (i, to) = (i as usize, groups.lowest(i) as usize);
            let held = self.inverse[i] == 0.0;
            let (velocity, mass) = (points.velocities[i], points.masses[i]);
            if held && !sums[to].2 {
                sums[to] = (DVec3::ZERO, 0.0, true);
            }
            if held == sums[to].2 {
                sums[to].0 += mass * velocity;
                sums[to].1 += mass;
            }
        }
        for &i in &self.points {
            let to = groups.lowest(i) as usize;
            let joined = to != i as usize || sums[to].1 != points.masses[i as usize];
            if joined && self.inverse[i as usize] > 0.0 {
                points.velocities[i as usize] = sums[to].0 / sums[to].1;
            }
        }
    }
}

/// Gives an impulse to the first of two parts and takes it from the second.
fn give(velocities: &mut [DVec3], inverse: &[f64], corners: &[u32; 4], weights: &[f64; 4], impulse: DVec3) {
    for k in 0..4 {
        let i = corners[k] as usize;
        velocities[i] += weights[k] * inverse[i] * impulse;
    }
}

impl Contact {
    /// Brings the relative velocity to what is allowed; says whether that took an impulse.
    fn settle(&mut self, velocities: &mut [DVec3], inverse: &[f64]) -> bool {
        let v = weighted(&self.weights, &self.corners.map(|i| velocities[i as usize]));
        let along = v.dot(self.normal);
        let push = (self.push + self.mass * (self.least - along)).max(0.0);
        if push == 0.0 && self.push == 0.0 {
            return false;
        }
        let slide = v - along * self.normal;
        let rub = (self.rub - self.mass * slide).clamp_length_max(self.friction * push);
        let impulse = (push - self.push) * self.normal + rub - self.rub;
        (self.push, self.rub) = (push, rub);
        give(velocities, inverse, &self.corners, &self.weights, impulse);
        true
    }
}

#[cfg(test)]
mod tests;
