//! Points near each other in the world: the pressure that keeps the volume of what has flowed, repulsion, viscosity.
//!
//! The fit of the deformation is blind to clumping. Where matter has flowed a pressure acts on the density δ = Σ v W over two
//! spacings; its energy is v χ k/2 (δ/δ₀ - 1)² where δ exceeds δ₀, and χ says how far the point has flowed. δ₀ is that of a full
//! lattice, or more where matter that has not flowed in every respect is drawn out in embedded space: the same density then reads as
//! more, since points lie close across and far apart along. Points closer than 3/4 of a spacing repel each other. Bodies feel each
//! other's points the same way.
//! Viscosity acts along the axes of pairs, so that momentum and angular momentum are kept.

use super::near::{Charge, Density, Drag, HOLD_STRENGTH, Mover, NEAR, NEAR_STRENGTH, NOBODY, Pull, charge, held, sum};
use super::stencils::Stencils;
use super::sums::mean;
use crate::models::mls::flow::lanes::Row;
use crate::neighbors::Neighborhoods;
use glam::{DVec3, Vec3A};
use rayon::prelude::*;
use std::f32::consts::PI;

/// Reach in the mean spacing of a pair.
const REACH: f32 = 2.0;
/// Lists go this much beyond, in spacings.
const SKIN: f64 = 0.3;
/// Σ a³ W over a full cubic lattice of spacing a.
const FULL: f32 = 1.235_85;
/// Steps between two applications of viscosity.
const INTERVAL: u64 = 4;
/// Largest eigenvalue of the viscous operator times ρ a² / μ on a lattice.
const STIFFNESS: f64 = 2.3;
/// Largest decay of an explicit application.
const EXPLICIT: f64 = 0.5;
/// Largest number of iterations of an implicit one, and its tolerance.
const ITERATIONS: usize = 60;
const TOLERANCE: f32 = 1e-5;
const CHUNK: usize = 256;

/// What the points of a body are to others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Member {
    /// Volume at rest [m³].
    pub volume: f32,
    /// Spacing [m].
    pub spacing: f32,
    /// Body.
    pub kind: u32,
    /// Modulus of the pressure times how far it has flowed [Pa]. Written before each step.
    pub pressure: f32,
    /// The modulus [Pa].
    pub modulus: f32,
    /// How far it has flowed, 0 to 1. Written before each step.
    pub flowed: f32,
    /// Density at which it is at rest, in that of a full lattice. Written before each step.
    pub rest: f32,
    /// How thin matter is that has flowed, 0 to 1: in a sheet one point thick and in a thread 1. Written before each step.
    pub thin: f32,
    /// Viscosity [Pa s].
    pub viscosity: f32,
    /// Mass [kg].
    pub mass: f32,
}

impl Member {
    /// Energy of the pressure at a density, in that of a full lattice [J].
    pub(super) fn squeezed(&self, density: f32) -> f32 {
        let excess = (density / self.rest - 1.0).max(0.0);
        0.5 * self.volume * self.pressure * excess * excess
    }
}

/// Density of a point with a volume [m³] and a spacing [m], in that of a full lattice, by the distances, volumes and spacings of others.
pub(super) fn reading(volume: f32, spacing: f32, others: impl Iterator<Item = [f32; 3]>) -> f32 {
    let support = REACH * spacing;
    let one = |[r, volume, other]: [f32; 3]| {
        let inverse = 2.0 / (REACH * (spacing + other));
        volume * ((1.0 - r * inverse).max(0.0) * inverse).powi(3)
    };
    (volume / support.powi(3) + others.map(one).sum::<f32>()) * (15.0 / (PI * FULL))
}

/// Lists of neighbors in the world, and scratch.
#[derive(Debug, Clone, Default)]
pub struct Crowd {
    /// One entry per point of the model.
    pub members: Vec<Member>,
    near: Neighborhoods,
    anchors: Vec<DVec3>,
    /// Whether the lists are those of embedded space.
    embedded: bool,
    /// δ/δ₀ at the last `add_forces`.
    pub densities: Vec<f32>,
    charges: Vec<Charge>,
    places: Vec<Vec3A>,
    sums: Vec<[f32; 1]>,
    pulls: Vec<[f32; 3]>,
    /// Time since viscosity was last applied [s].
    pub waiting: f64,
    work: Work,
}

/// Energy of the repulsion of two points at a distance, and of what holds them together [J]; `modulus` [Pa] is that between bodies.
fn pair_energy(a: &Member, b: &Member, r: f32, modulus: f32) -> f32 {
    let (same, mean) = (a.kind == b.kind, 0.5 * (a.spacing + b.spacing));
    let modulus = if same { 0.5 * (a.modulus * a.flowed + b.modulus * b.flowed) } else { modulus };
    let (near, strength) = (NEAR[usize::from(!same)] * mean, modulus * mean * mean);
    let repelled = 0.5 * NEAR_STRENGTH * near * (1.0 - r / near).max(0.0).powi(2);
    let thin = if same { 0.5 * (a.thin + b.thin) } else { 0.0 };
    strength * (repelled + HOLD_STRENGTH * thin * mean * held(r / mean))
}

/// Arrays of the viscous solve.
#[derive(Debug, Clone, Default)]
struct Work {
    /// Axis of each listed pair times the root of its coefficient.
    axes: Vec<Vec3A>,
    movers: Vec<Mover>,
    velocities: Vec<Vec3A>,
    change: Vec<Vec3A>,
    residual: Vec<Vec3A>,
    direction: Vec<Vec3A>,
    image: Vec<Vec3A>,
}

impl Crowd {
    /// The next step makes the lists anew.
    pub fn forget(&mut self) {
        self.anchors.clear();
        self.embedded = false;
    }

    /// Forgets all that is known of points by their numbers.
    pub(super) fn renumber(&mut self) {
        self.forget();
        self.near = Neighborhoods::default();
        self.densities.clear();
    }

    /// Takes the lists of embedded space for those of the world, until the next step that needs these: where nothing has flowed, who
    /// was near is near.
    pub(super) fn take_lists(&mut self, stencils: &Stencils) {
        if !self.embedded {
            self.near.starts.clone_from(&stencils.starts);
            self.near.neighbors.clone_from(&stencils.neighbors);
            self.anchors.clear();
            self.embedded = true;
        }
    }

    /// Takes the positions [m] over; returns their mean.
    fn place(&mut self, positions: &[DVec3]) -> DVec3 {
        let middle = mean(positions);
        self.places.clear();
        self.places.extend(positions.iter().map(|p| (*p - middle).as_vec3a()));
        middle
    }

    /// Brings the lists up to the positions [m].
    fn update(&mut self, positions: &[DVec3]) {
        let middle = self.place(positions);
        let spacing = self.members.iter().fold(f32::INFINITY, |m, x| m.min(x.spacing));
        // What all points have in common moves nobody nearer to another.
        let common = match self.anchors.len() == positions.len() {
            true => middle - mean(&self.anchors),
            false => DVec3::ZERO,
        };
        let limit = (0.5 * SKIN * f64::from(spacing)).powi(2);
        let fresh = self.anchors.len() == positions.len()
            && positions.iter().zip(&self.anchors).all(|(p, a)| (*p - *a - common).length_squared() <= limit);
        if fresh {
            return;
        }
        let reach = |m: &Member| f64::from(REACH * m.spacing) + SKIN * f64::from(spacing);
        let radii: Vec<f64> = self.members.iter().map(reach).collect();
        self.near = Neighborhoods::with_radii(positions, &radii);
        self.embedded = false;
        self.anchors.clear();
        self.anchors.extend_from_slice(positions);
    }

    /// Finds the densities at the positions [m].
    pub(super) fn look(&mut self, positions: &[DVec3]) {
        self.update(positions);
        self.find_densities();
    }

    #[inline]
    fn list(&self, i: usize) -> &[u32] {
        &self.near.neighbors[self.near.starts[i] as usize..self.near.starts[i + 1] as usize]
    }

    /// Phase: adds pressure and repulsion to the forces [N] at the positions [m].
    pub fn add_forces(&mut self, positions: &[DVec3], forces: &mut [DVec3]) {
        self.look(positions);
        sum(&Pull { modulus: self.between() }, &self.near, &self.charges, &mut self.pulls);
        for (force, pull) in forces.iter_mut().zip(&self.pulls) {
            *force += Vec3A::from_array(*pull).as_dvec3();
        }
    }

    /// Energy of the pressure and the repulsion of each point [J] at the positions [m].
    pub fn energies(&mut self, positions: &[DVec3], out: &mut Vec<f64>) {
        self.look(positions);
        let modulus = self.between();
        let energy = |i: usize| {
            let (own, at) = (&self.members[i], self.places[i]);
            let mut sum = own.squeezed(self.densities[i]);
            for &j in self.list(i) {
                let r = at.distance(self.places[j as usize]);
                sum += 0.5 * pair_energy(own, &self.members[j as usize], r, modulus);
            }
            f64::from(sum)
        };
        (0..self.members.len()).into_par_iter().with_min_len(CHUNK).map(energy).collect_into_vec(out);
    }

    /// Energy of what holds a point and its neighbors together, by how thin matter is there [J], at the last positions looked at.
    pub(super) fn hold_energy(&self, i: usize) -> f64 {
        let Some(&at) = self.places.get(i).filter(|_| self.near.len() == self.members.len()) else { return 0.0 };
        let (own, thin) = (&self.members[i], |m: &Member, thin: f32| Member { thin, ..*m });
        let energy = |&j: &u32| {
            let (other, r) = (thin(&self.members[j as usize], 0.0), at.distance(self.places[j as usize]));
            pair_energy(&thin(own, 1.0), &other, r, 0.0) - pair_energy(&thin(own, 0.0), &other, r, 0.0)
        };
        self.list(i).iter().map(|j| f64::from(energy(j))).sum()
    }

    /// Modulus of the repulsion between two bodies [Pa]: that of the softest.
    fn between(&self) -> f32 {
        self.members.iter().fold(f32::INFINITY, |m, x| m.min(x.modulus))
    }

    fn find_densities(&mut self) {
        self.charges.clear();
        let one = |(m, at): (&Member, &Vec3A)| charge(*at, m);
        self.charges.extend(self.members.iter().zip(&self.places).map(one));
        self.charges.push([NOBODY]);
        sum(&Density, &self.near, &self.charges, &mut self.sums);
        self.densities.resize(self.members.len(), 0.0);
        let states = self.densities.iter_mut().zip(&self.members).zip(&self.sums);
        for ((density, member), [others]) in states {
            let support = REACH * member.spacing;
            *density = (member.volume / (support * support * support) + others) * (15.0 / (PI * FULL));
        }
        for ((charge, member), density) in self.charges.iter_mut().zip(&self.members).zip(&self.densities) {
            charge[0].0[5] = member.pressure * (density / member.rest - 1.0).max(0.0) / (FULL * member.rest);
        }
    }

    /// Phase: viscosity over the time since it was last applied, on every fourth step; changes velocities [m/s].
    pub fn damp(&mut self, positions: &[DVec3], velocities: &mut [DVec3], dt: f64, step: u64) {
        self.waiting += dt;
        if !(step + 1).is_multiple_of(INTERVAL) {
            return;
        }
        let time = std::mem::take(&mut self.waiting);
        let rate = |m: &Member| {
            let density = f64::from(m.mass / m.volume);
            STIFFNESS * f64::from(m.viscosity) / (density * f64::from(m.spacing).powi(2))
        };
        let fastest = self.members.iter().map(rate).fold(0.0, f64::max);
        if fastest == 0.0 {
            return;
        }
        match self.embedded {
            true => drop(self.place(positions)),
            false => self.update(positions),
        }
        if fastest * time < EXPLICIT {
            return self.push_once(velocities, time as f32);
        }
        self.find_axes(time as f32);
        self.work.velocities.clear();
        self.work.velocities.extend(velocities.iter().map(|v| v.as_vec3a()));
        self.solve();
        for (v, change) in velocities.iter_mut().zip(&self.work.change) {
            *v += change.as_dvec3();
        }
    }

    /// Axes of all listed pairs times √(dt c).
    fn find_axes(&mut self, time: f32) {
        let mut axes = std::mem::take(&mut self.work.axes);
        let this = &*self;
        let axis = |i: usize, j: usize| {
            let (own, other) = (&this.members[i], &this.members[j]);
            let to = this.places[j] - this.places[i];
            let reach = 0.5 * REACH * (own.spacing + other.spacing);
            let r2 = to.length_squared();
            if r2 >= reach * reach || r2 == 0.0 {
                return Vec3A::ZERO;
            }
            let r = r2.sqrt();
            let viscosity = 0.5 * (own.viscosity + other.viscosity);
            let laplacian = 45.0 / (PI * reach.powi(5)) * (1.0 - r / reach);
            to * ((time * viscosity * own.volume * other.volume * laplacian).sqrt() / r)
        };
        let count = self.members.len();
        let chunks: Vec<Vec<Vec3A>> = (0..count.div_ceil(CHUNK))
            .into_par_iter()
            .map(|chunk| {
                let points = chunk * CHUNK..count.min((chunk + 1) * CHUNK);
                points
                    .flat_map(|i| this.list(i).iter().map(move |&j| (i, j as usize)))
                    .map(|(i, j)| axis(i, j))
                    .collect()
            })
            .collect();
        axes.clear();
        chunks.iter().for_each(|chunk| axes.extend_from_slice(chunk));
        self.work.axes = axes;
    }

    /// Σ axis (axis · (v_j - v_i)), the viscous impulse on each point [N s].
    fn impulses(&self, velocities: &[Vec3A], out: &mut Vec<Vec3A>) {
        let impulse = |i: usize| {
            let (first, v) = (self.near.starts[i] as usize, velocities[i]);
            let mut sum = Vec3A::ZERO;
            for (k, &j) in self.list(i).iter().enumerate() {
                let axis = self.work.axes[first + k];
                sum += axis * axis.dot(velocities[j as usize] - v);
            }
            sum
        };
        (0..velocities.len()).into_par_iter().with_min_len(CHUNK).map(impulse).collect_into_vec(out);
    }

    /// The impulses of the present velocities.
    fn push_once(&mut self, velocities: &mut [DVec3], time: f32) {
        // What all have in common drags nobody; single numbers keep more of the rest without it.
        let common = mean(velocities);
        let mover = |((m, at), v): ((&Member, &Vec3A), &DVec3)| -> Mover {
            let v = (*v - common).as_vec3();
            let first = Row([at.x, at.y, at.z, m.volume, m.spacing, m.viscosity, 0.0, 0.0]);
            [first, Row([v.x, v.y, v.z, 0.0, 0.0, 0.0, 0.0, 0.0])]
        };
        let movers = &mut self.work.movers;
        movers.clear();
        movers.extend(self.members.iter().zip(&self.places).zip(&*velocities).map(mover));
        movers.push([NOBODY, Row::ZERO]);
        sum(&Drag(time), &self.near, movers, &mut self.pulls);
        for ((v, impulse), member) in velocities.iter_mut().zip(&self.pulls).zip(&self.members) {
            *v += (Vec3A::from_array(*impulse) / member.mass).as_dvec3();
        }
    }

    /// (M + dt D) change = -dt D v by conjugate gradients preconditioned by M.
    fn solve(&mut self) {
        let mut work = std::mem::take(&mut self.work);
        std::mem::swap(&mut self.work.axes, &mut work.axes);
        let Work { velocities, change, residual, direction, image, .. } = &mut work;
        self.impulses(velocities, residual);
        change.clear();
        change.resize(residual.len(), Vec3A::ZERO);
        let masses: Vec<f32> = self.members.iter().map(|m| m.mass).collect();
        let scaled = |a: &[Vec3A]| dot(a, a, &masses);
        let start = scaled(residual);
        let mut square = start;
        direction.clear();
        direction.extend(residual.iter().zip(&masses).map(|(r, m)| *r / *m));
        for _ in 0..ITERATIONS {
            if square <= start * f64::from(TOLERANCE * TOLERANCE) {
                break;
            }
            self.impulses(direction, image);
            image.iter_mut().zip(direction.iter().zip(&masses)).for_each(|(i, (d, m))| *i = *d * *m - *i);
            let curvature = dot(direction, image, &[]);
            if curvature <= 0.0 {
                break;
            }
            let step = (square / curvature) as f32;
            for k in 0..change.len() {
                change[k] += direction[k] * step;
                residual[k] -= image[k] * step;
            }
            let next = scaled(residual);
            let turn = (next / square) as f32;
            square = next;
            direction.iter_mut().zip(residual.iter().zip(&masses)).for_each(|(d, (r, m))| *d = *r / *m + *d * turn);
        }
        std::mem::swap(&mut self.work.axes, &mut work.axes);
        self.work = work;
    }
}

/// Σ a·b, over the masses where they are given; in order, so that threads never show.
fn dot(a: &[Vec3A], b: &[Vec3A], masses: &[f32]) -> f64 {
    let pairs = a.iter().zip(b);
    match masses.is_empty() {
        true => pairs.map(|(a, b)| f64::from(a.dot(*b))).sum(),
        false => pairs.zip(masses).map(|((a, b), m)| f64::from(a.dot(*b) / m)).sum(),
    }
}
