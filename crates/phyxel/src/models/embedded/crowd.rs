//! Points near each other in the world: the pressure that keeps the volume of what has flowed, repulsion, viscosity.
//!
//! The fit of the deformation is blind to clumping. Where matter has flowed a pressure acts on the density δ = Σ v W over two
//! spacings; its energy is v χ k/2 (δ/δ₀ - 1)² where δ exceeds δ₀, that of a full lattice, and χ says how far the point has
//! flowed. Points closer than 3/4 of a spacing repel each other. Bodies feel each other's points the same way.
//! Viscosity acts along the axes of pairs, so that momentum and angular momentum are kept.

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
/// Distance in spacings below which points of one body repel each other, and those of two bodies.
const NEAR: [f32; 2] = [0.75, 1.0];
/// Strength of that in k a².
const NEAR_STRENGTH: f32 = 0.2;
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
    /// Viscosity [Pa s].
    pub viscosity: f32,
    /// Mass [kg].
    pub mass: f32,
}

/// Lists of neighbors in the world, and scratch.
#[derive(Debug, Clone, Default)]
pub struct Crowd {
    /// One entry per point of the model.
    pub members: Vec<Member>,
    near: Neighborhoods,
    anchors: Vec<DVec3>,
    /// δ/δ₀ at the last `add_forces`.
    pub densities: Vec<f32>,
    charges: Vec<Charge>,
    places: Vec<Vec3A>,
    /// Time since viscosity was last applied [s].
    pub waiting: f64,
    work: Work,
}

/// What a point is to its neighbors in a step.
#[derive(Debug, Clone, Copy)]
struct Charge {
    at: Vec3A,
    volume: f32,
    spacing: f32,
    /// χ k (δ/δ₀ - 1)/δ₀ where that is positive [Pa].
    pressure: f32,
    flowed: f32,
    modulus: f32,
    kind: u32,
}

impl Charge {
    /// Force on this point along the way to the other, over the distance [N/m]; `reach` is twice the mean spacing.
    #[inline]
    fn pull(&self, other: &Self, reach: f32, r2: f32) -> f32 {
        let (inverse, r) = (1.0 / reach, r2.sqrt());
        let q = (1.0 - r * inverse) * inverse * inverse;
        let slope = -45.0 / PI * q * q;
        let mut pull = self.volume * other.volume * (self.pressure + other.pressure) * slope;
        let (near, strength) = self.repulsion(other, reach);
        if r < near {
            pull -= strength * (1.0 - r / near);
        }
        pull / r
    }

    /// Distance below which the two repel each other [m], and how strongly [N].
    #[inline]
    fn repulsion(&self, other: &Self, reach: f32) -> (f32, f32) {
        let (same, mean) = (self.kind == other.kind, 0.5 * reach);
        let flowed = if same { 0.5 * (self.flowed + other.flowed) } else { 1.0 };
        let strength = NEAR_STRENGTH * 0.5 * (self.modulus + other.modulus) * mean * mean;
        (NEAR[usize::from(!same)] * mean, flowed * strength)
    }
}

/// Arrays of the viscous solve.
#[derive(Debug, Clone, Default)]
struct Work {
    /// Axis of each listed pair times the root of its coefficient.
    axes: Vec<Vec3A>,
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
    }

    /// Brings the lists up to the positions [m].
    fn update(&mut self, positions: &[DVec3]) {
        let mean = positions.iter().sum::<DVec3>() / positions.len().max(1) as f64;
        self.places.clear();
        self.places.extend(positions.iter().map(|p| (*p - mean).as_vec3a()));
        let spacing = self.members.iter().fold(f32::INFINITY, |m, x| m.min(x.spacing));
        // What all points have in common moves nobody nearer to another.
        let common = match self.anchors.len() == positions.len() {
            true => mean - self.anchors.iter().sum::<DVec3>() / positions.len().max(1) as f64,
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
        let this = &*self;
        forces.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, forces)| {
            for (k, force) in forces.iter_mut().enumerate() {
                let i = chunk * CHUNK + k;
                let own = this.charges[i];
                let mut sum = Vec3A::ZERO;
                for &j in this.list(i) {
                    let other = &this.charges[j as usize];
                    let to = other.at - own.at;
                    let reach = own.spacing + other.spacing;
                    let r2 = to.length_squared();
                    if r2 < reach * reach && r2 > 0.0 {
                        sum += to * own.pull(other, reach, r2);
                    }
                }
                *force += sum.as_dvec3();
            }
        });
    }

    /// Energy of the pressure and the repulsion of each point [J] at the positions [m].
    pub fn energies(&mut self, positions: &[DVec3], out: &mut Vec<f64>) {
        self.look(positions);
        let energy = |i: usize| {
            let (own, member) = (&self.charges[i], &self.members[i]);
            let excess = (self.densities[i] - 1.0).max(0.0);
            let mut sum = 0.5 * member.volume * member.pressure * excess * excess;
            for &j in self.list(i) {
                let other = &self.charges[j as usize];
                let (near, strength) = own.repulsion(other, own.spacing + other.spacing);
                let r = own.at.distance(other.at);
                if r < near {
                    sum += 0.25 * strength * near * (1.0 - r / near).powi(2);
                }
            }
            f64::from(sum)
        };
        (0..self.members.len()).into_par_iter().with_min_len(CHUNK).map(energy).collect_into_vec(out);
    }

    fn find_densities(&mut self) {
        let mut densities = std::mem::take(&mut self.densities);
        self.charges.clear();
        let charge = |(m, at): (&Member, &Vec3A)| Charge {
            at: *at,
            volume: m.volume,
            spacing: m.spacing,
            pressure: 0.0,
            flowed: m.flowed,
            modulus: m.modulus,
            kind: m.kind,
        };
        self.charges.extend(self.members.iter().zip(&self.places).map(charge));
        let (members, charges) = (&self.members, &self.charges);
        let density = |i: usize| {
            let own = &charges[i];
            let support = REACH * own.spacing;
            let mut sum = own.volume / (support * support * support);
            for &j in self.list(i) {
                let other = &charges[j as usize];
                let reach = own.spacing + other.spacing;
                let r2 = other.at.distance_squared(own.at);
                if r2 < reach * reach {
                    let inverse = 1.0 / reach;
                    let q = (1.0 - r2.sqrt() * inverse) * inverse;
                    sum += other.volume * q * q * q;
                }
            }
            sum * (15.0 / (PI * FULL))
        };
        (0..members.len()).into_par_iter().with_min_len(CHUNK).map(density).collect_into_vec(&mut densities);
        for ((charge, member), density) in self.charges.iter_mut().zip(&self.members).zip(&densities) {
            charge.pressure = member.pressure * (density - 1.0).max(0.0) / FULL;
        }
        self.densities = densities;
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
        self.update(positions);
        self.find_axes(time as f32);
        self.work.velocities.clear();
        self.work.velocities.extend(velocities.iter().map(|v| v.as_vec3a()));
        match fastest * time < EXPLICIT {
            true => self.push_once(),
            false => self.solve(),
        }
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

    fn push_once(&mut self) {
        let mut change = std::mem::take(&mut self.work.change);
        self.impulses(&self.work.velocities, &mut change);
        change.iter_mut().zip(&self.members).for_each(|(c, m)| *c /= m.mass);
        self.work.change = change;
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
