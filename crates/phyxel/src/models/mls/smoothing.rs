//! Smoothing: takes away vibrations a few points long, which an impact leaves behind and nothing else damps.
//!
//! Neighbors exchange momentum along the line between them,
//! `v_i += Σ_j k_ij / m_i ((v_j - v_i)·e) e`, e = y_ij / |y_ij|, k_ij = s w_ij min(m_i / W_i, m_j / W_j), W = Σ w.
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

/// Sums of the weights and the state of a sweep.
#[derive(Debug, Default)]
pub struct Smoothing {
    /// 1 / W_i per point of the stencils, 0 without neighbors. Written at the first sweep.
    inverse_sums: Vec<f64>,
    /// Scratch of the sweep: what it reads of each point of the body.
    nodes: Vec<Node>,
}

/// What is gathered per neighbor: one cache line.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(64))]
struct Node {
    position: [f64; 3],
    /// m / W [kg].
    share: f64,
    velocity: [f64; 3],
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
        if self.inverse_sums.len() != stencils.len() {
            let inverse_sum = |i: usize| {
                let sum: f64 = stencils.row(i).1.iter().sum();
                if sum > 0.0 { 1.0 / sum } else { 0.0 }
            };
            self.inverse_sums = (0..stencils.len()).map(inverse_sum).collect();
        }
        let inverse_sums = &self.inverse_sums[range.start - first..range.end - first];
        self.nodes.resize(range.len(), Node::default());
        let (positions, velocities) = (&points.positions[range.clone()], &points.velocities[range.clone()]);
        let masses = &points.masses[range.clone()];
        self.nodes.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, nodes)| {
            for (k, node) in nodes.iter_mut().enumerate() {
                let i = chunk * CHUNK + k;
                let (position, velocity) = (positions[i].to_array(), velocities[i].to_array());
                *node = Node { position, share: masses[i] * inverse_sums[i], velocity };
            }
        });
        let (nodes, start) = (&self.nodes, range.start - first);
        points.velocities[range].par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, velocities)| {
            for (k, velocity) in velocities.iter_mut().enumerate() {
                let i = chunk * CHUNK + k;
                *velocity += impulse(nodes, i, stencils.row(start + i), start) * (strength / masses[i]);
            }
        });
    }
}

/// Impulse on point i from its neighbors at strength 1 [N s]; neighbors are numbered from `start` on.
#[inline]
fn impulse(nodes: &[Node], i: usize, (neighbors, weights): (&[u32], &[f64]), start: usize) -> DVec3 {
    let own = &nodes[i];
    let (y, v) = (DVec3::from_array(own.position), DVec3::from_array(own.velocity));
    let mut impulse = DVec3::ZERO;
    for (&j, &w) in neighbors.iter().zip(weights) {
        let node = &nodes[j as usize - start];
        let line = DVec3::from_array(node.position) - y;
        let relative = DVec3::from_array(node.velocity) - v;
        let share = if node.share < own.share { node.share } else { own.share };
        impulse += line * (w * share * line.dot(relative) / line.length_squared().max(f64::MIN_POSITIVE));
    }
    impulse
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
