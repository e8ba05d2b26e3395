//! Connected pieces of solid matter, and the damping of what is not the rigid motion of a piece.
//!
//! Local damping leaves long waves: a die would ring and bounce for ever. Each piece as a whole loses what is not its rigid motion too;
//! momentum and angular momentum of a piece are kept.

use super::bonds::Bonds;
use super::particles::{Matter, NOBODY, Particles};
use crate::groups::Groups;
use crate::linalg::{outer, trace};
use glam::{DMat3, DVec3};

/// Part of the trace that is added to the diagonal of the inertia: few particles in a row have no axis.
const FLOOR: f64 = 1e-9;

/// Which piece each particle belongs to.
#[derive(Debug, Clone, Default)]
pub struct Pieces {
    /// Number of the piece of each particle; `NOBODY` for liquid ones. Written by `find`.
    labels: Vec<u32>,
    sums: Vec<Sum>,
}

/// Motion of a piece as a rigid body.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rigid {
    /// Center of mass [m].
    pub center: DVec3,
    /// Its velocity [m/s].
    pub velocity: DVec3,
    /// [rad/s].
    pub spin: DVec3,
    /// Angular momentum about the center [kg m²/s].
    pub angular: DVec3,
}

#[derive(Debug, Clone, Copy)]
struct Sum {
    mass: f64,
    first: DVec3,
    momentum: DVec3,
    angular: DVec3,
    second: DMat3,
    /// Mass times damping [kg/s].
    damping: f64,
}

impl Sum {
    const NOTHING: Self = Self {
        mass: 0.0,
        first: DVec3::ZERO,
        momentum: DVec3::ZERO,
        angular: DVec3::ZERO,
        second: DMat3::ZERO,
        damping: 0.0,
    };
}

impl Pieces {
    /// Finds who hangs together; to be done when bonds have changed.
    pub fn find(&mut self, particles: &Particles, bonds: &Bonds) {
        let count = particles.len();
        let mut groups = Groups::new(count);
        for i in 0..count {
            for &j in bonds.of(i).iter().filter(|j| **j != NOBODY) {
                groups.unite(i as u32, j);
            }
        }
        // Numbered in the order of their first particles.
        let mut numbers = vec![NOBODY; count];
        self.labels.clear();
        let mut next = 0;
        for i in 0..count {
            let first = groups.lowest(i as u32) as usize;
            if particles.phases[i].is_bound() && numbers[first] == NOBODY {
                numbers[first] = next;
                next += 1;
            }
            self.labels.push(if particles.phases[i].is_bound() { numbers[first] } else { NOBODY });
        }
        self.sums.clear();
        self.sums.resize(next as usize, Sum::NOTHING);
    }

    /// Number of the piece that a particle belongs to; None for liquid ones.
    #[inline]
    pub fn label(&self, i: usize) -> Option<usize> {
        self.labels.get(i).filter(|l| **l != NOBODY).map(|l| *l as usize)
    }

    /// Rigid motions of the pieces at the present positions and velocities.
    pub fn motions(&mut self, particles: &Particles, dimensions: usize) -> impl Iterator<Item = Rigid> + '_ {
        self.add_up(particles, &[]);
        self.sums.iter().map(move |s| rigid(s, dimensions))
    }

    fn add_up(&mut self, particles: &Particles, matters: &[Matter]) {
        let Particles { positions, velocities, masses, kinds, .. } = particles;
        self.sums.fill(Sum::NOTHING);
        for (i, &label) in self.labels.iter().enumerate().filter(|(_, l)| **l != NOBODY) {
            let sum = &mut self.sums[label as usize];
            let (m, p, v) = (masses[i], positions[i], velocities[i]);
            sum.mass += m;
            sum.damping += m * matters.get(kinds[i] as usize).map_or(0.0, |m| m.damping);
            sum.first += m * p;
            sum.momentum += m * v;
            sum.angular += m * p.cross(v);
            sum.second += outer(p, m * p);
        }
    }

    /// Damps what is not rigid motion of the pieces, over `dt` [s].
    pub fn damp(&mut self, particles: &mut Particles, matters: &[Matter], dimensions: usize, dt: f64) {
        self.add_up(particles, matters);
        let motions: Vec<(Rigid, f64)> =
            self.sums.iter().map(|s| (rigid(s, dimensions), (-s.damping / s.mass * dt).exp())).collect();
        let Particles { positions, velocities, .. } = particles;
        for (i, &label) in self.labels.iter().enumerate().filter(|(_, l)| **l != NOBODY) {
            let (motion, kept) = motions[label as usize];
            let rigid = motion.velocity + motion.spin.cross(positions[i] - motion.center);
            velocities[i] = rigid + (velocities[i] - rigid) * kept;
        }
    }
}

fn rigid(sum: &Sum, dimensions: usize) -> Rigid {
    let center = sum.first / sum.mass;
    let angular = sum.angular - center.cross(sum.momentum);
    let spin = spin(sum.second - outer(center, sum.first), angular, dimensions);
    Rigid { center, velocity: sum.momentum / sum.mass, spin, angular }
}

/// I⁻¹ L from the second moments Σ m d dᵀ.
pub fn spin(second: DMat3, angular: DVec3, dimensions: usize) -> DVec3 {
    let total = trace(second);
    if total <= 0.0 {
        return DVec3::ZERO;
    }
    let inertia = DMat3::from_diagonal(DVec3::splat(total * (1.0 + FLOOR))) - second;
    let spin = match dimensions {
        2 => DVec3::Z * (angular.z / total),
        _ => inertia.inverse() * angular,
    };
    if spin.is_finite() { spin } else { DVec3::ZERO }
}
