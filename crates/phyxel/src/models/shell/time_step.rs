//! How long an explicit step of a shell may be.

use super::engine::Engine;
use crate::random::Random;
use glam::DVec3;

/// Iterations of the power method.
const ITERATIONS: usize = 40;
/// The power method comes from below.
const SAFETY: f64 = 1.1;
/// Part of the limit of stability that a step takes.
pub const STEP_FRACTION: f64 = 0.5;
/// Displacement, over the spacing, at which forces are compared.
const NUDGE: f64 = 1e-5;

/// Highest angular frequency of a shell at rest [1/s], by the power method on differences of forces.
pub fn highest_frequency(engine: &mut Engine, rest: &[DVec3], masses: &[f64], spacing: f64) -> f64 {
    let n = rest.len();
    let mut mode: Vec<DVec3> = (0..n as u64).map(|i| Random::new(17, i).in_cube()).collect();
    let mut moved = vec![DVec3::ZERO; n];
    let (mut forces, mut back) = (vec![DVec3::ZERO; n], vec![DVec3::ZERO; n]);
    let mut frequency2: f64 = 0.0;
    for _ in 0..ITERATIONS {
        let size = mode.iter().map(|u| u.length_squared()).sum::<f64>().sqrt();
        if size.is_nan() || size <= 0.0 {
            break;
        }
        mode.iter_mut().for_each(|u| *u /= size);
        let scale = NUDGE * spacing * (n as f64).sqrt();
        for (force, sign) in [(&mut forces, 1.0), (&mut back, -1.0)] {
            moved.iter_mut().zip(rest).zip(&mode).for_each(|((m, x), u)| *m = *x + sign * scale * *u);
            force.fill(DVec3::ZERO);
            engine.measure(&moved);
            engine.add_forces(force);
        }
        let (mut along, mut weight) = (0.0, 0.0);
        for i in 0..n {
            let pull = (back[i] - forces[i]) / (2.0 * scale);
            along += pull.dot(mode[i]);
            weight += masses[i] * mode[i].length_squared();
            mode[i] = pull / masses[i];
        }
        frequency2 = along / weight;
    }
    SAFETY * frequency2.max(0.0).sqrt()
}
