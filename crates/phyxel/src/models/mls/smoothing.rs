//! Smoothing: takes away vibrations a few points long, which an impact leaves behind and nothing else damps.
//!
//! Neighbors exchange momentum along the line between them,
//! `v_i += Σ_j k_ij / m_i ((v_j - v_i)·e) e`, e = y_ij / |y_ij|, k_ij = s w_ij min(m_i, m_j) / max(W_i, W_j), W = Σ w.
//! With k symmetric and the exchange along the line, momentum and angular momentum are kept to rounding and rigid motion
//! is left alone; with s ≤ 1 kinetic energy can only fall. A wave of n points loses a part ∝ 1/n² of its speed each
//! time, so motion of the size of the body is hardly touched. Numerical, like the viscosity of shock-capturing schemes:
//! it belongs to the points, not to the material.

use super::stencils::Stencils;
use crate::points::Points;
use glam::DVec3;
use rayon::prelude::*;
use std::ops::Range;

/// Points per parallel task.
const CHUNK: usize = 256;

/// Row sums of the weights and the velocities of a sweep.
#[derive(Debug, Default)]
pub struct Smoothing {
    /// Σ_j w_ij per point. Written at the first sweep.
    weight_sums: Vec<f64>,
    /// Scratch.
    velocities: Vec<DVec3>,
}

impl Smoothing {
    /// One sweep of strength s in 0..=1 over the points of a body; `stencils` start at point `first` of the table.
    pub fn sweep(
        &mut self,
        stencils: &Stencils,
        points: &mut Points,
        first: usize,
        range: Range<usize>,
        strength: f64,
    ) {
        if self.weight_sums.len() != stencils.len() {
            self.weight_sums = (0..stencils.len()).map(|i| stencils.of(i).map(|(_, w)| w).sum()).collect();
        }
        let (sums, table) = (&self.weight_sums, &*points);
        self.velocities.resize(range.len(), DVec3::ZERO);
        self.velocities.par_iter_mut().enumerate().with_min_len(CHUNK).for_each(|(k, out)| {
            let i = range.start + k;
            let (y, v, m) = (table.positions[i], table.velocities[i], table.masses[i]);
            let mut impulse = DVec3::ZERO;
            for (j, w) in stencils.of(i - first) {
                let sum = sums[i - first].max(sums[j]);
                let j = j + first;
                let line = table.positions[j] - y;
                let share = w * m.min(table.masses[j]) / (sum * line.length_squared()).max(f64::MIN_POSITIVE);
                impulse += share * line.dot(table.velocities[j] - v) * line;
            }
            *out = v + strength / m * impulse;
        });
        points.velocities[range].copy_from_slice(&self.velocities);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::totals;
    use crate::models::mls::StencilOptions;

    const SIDE: usize = 5;

    fn cube() -> (Points, Stencils) {
        let mut points = Points::default();
        for n in 0..SIDE * SIDE * SIDE {
            let place = DVec3::new((n % SIDE) as f64, (n / SIDE % SIDE) as f64, (n / SIDE / SIDE) as f64);
            let wobble = DVec3::new((n as f64).sin(), (2.0 * n as f64).sin(), (3.0 * n as f64).cos());
            points.push(0, place + 0.1 * wobble, 1.0 + 0.3 * (n as f64).cos(), 1.0, 1.0);
        }
        let options = StencilOptions { correction: None, ..StencilOptions::default() };
        let all = 0..points.len();
        let (stencils, _) = Stencils::build(&points.rest_positions, &points.volumes, &[all], &[&[]], &options);
        (points, stencils)
    }

    fn sweep(points: &mut Points, stencils: &Stencils) {
        let all = 0..points.len();
        Smoothing::default().sweep(stencils, points, 0, all, 0.5);
    }

    #[test]
    fn rigid_motion_is_left_alone() {
        let (mut points, stencils) = cube();
        for i in 0..points.len() {
            points.velocities[i] = DVec3::new(3.0, -1.0, 2.0) + DVec3::new(0.5, 2.0, -1.0).cross(points.positions[i]);
        }
        let before = points.velocities.clone();
        sweep(&mut points, &stencils);
        for (a, b) in before.iter().zip(&points.velocities) {
            assert!((*a - *b).length() < 1e-12);
        }
    }

    #[test]
    fn noise_fades_and_momenta_stay() {
        let (mut points, stencils) = cube();
        for (i, v) in points.velocities.iter_mut().enumerate() {
            *v = DVec3::new((7.3 * i as f64).sin(), (5.1 * i as f64).cos(), (11.7 * i as f64).sin());
        }
        let all = 0..points.len();
        let before = totals(&points, all.clone());
        sweep(&mut points, &stencils);
        let after = totals(&points, all);
        assert!((after.momentum - before.momentum).length() < 1e-12 * before.mass);
        assert!((after.angular - before.angular).length() < 1e-11 * before.mass);
        assert!(after.kinetic < 0.8 * before.kinetic);
    }
}
