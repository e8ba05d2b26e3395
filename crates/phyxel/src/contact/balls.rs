//! What grains give to others: balls that meet balls, and the reaction of skins.

use super::bodies::Bodies;
use super::grains::{GRIP, Grains};
use super::touch::{STIFFENING, series};
use crate::linalg::{outer, trace};
use crate::points::Points;
use glam::{DMat3, DVec3};

/// Part of critical damping between two balls.
const DAMPING: f64 = 0.2;
/// Inertia of a grain's skin points is at least this much about each axis, in squares of its spacing: few of them bear no couple.
const FLOOR: f64 = 1e-2;

impl Bodies {
    /// Pushes between pairs of balls: a grain, a point of a body that flows, and the force on the first [N].
    pub(super) fn ball_pushes(&self, points: &Points, dt: f64) -> Vec<(usize, usize, DVec3)> {
        let grains = &self.grains;
        let mut pairs = Vec::new();
        for a in 0..grains.active.len() {
            let k = grains.active[a] as usize;
            let i = grains.members[k] as usize;
            let loose = |t: &u32| grains.targets[*t as usize].skin.is_none();
            for t in grains.row(a).iter().copied().filter(loose) {
                let j = grains.targets[t as usize].point as usize;
                if let Some(push) = self.ball_push(points, k, i, j, dt) {
                    pairs.push((i, j, push));
                }
            }
        }
        pairs
    }

    fn ball_push(&self, points: &Points, k: usize, i: usize, j: usize, dt: f64) -> Option<DVec3> {
        let away = points.positions[i] - points.positions[j];
        let range = 0.5 * (points.spacings[i] + points.spacings[j]);
        let depth = range - away.length();
        let normal = away.try_normalize().filter(|_| depth > 0.0)?;
        let matter = &self.grains.matters[k];
        let (_, friction) = self.materials[points.bodies[j] as usize];
        let mass = points.masses[i] * points.masses[j] / (points.masses[i] + points.masses[j]);
        let stiffness = self.ball_stiffness(points, k, i, j) * (1.0 + STIFFENING * (depth / range).powi(2));
        let slip = points.velocities[i] - points.velocities[j];
        let leaving = slip.dot(normal);
        let press = (stiffness * depth - 2.0 * DAMPING * (stiffness * mass).sqrt() * leaving).max(0.0);
        let slide = slip - normal * leaving;
        let rate = GRIP / dt * mass;
        let speed = slide.length().max(f64::MIN_POSITIVE);
        let dry = ((matter.friction * friction).sqrt() * press / speed).min(rate);
        let wet = (2.0 * matter.viscosity * points.spacings[i]).min(rate);
        Some(normal * press - slide * dry.max(wet))
    }

    pub(super) fn ball_stiffness(&self, points: &Points, k: usize, i: usize, j: usize) -> f64 {
        let (young, _) = self.materials[points.bodies[j] as usize];
        let (size, other) = (points.spacings[i], points.spacings[j]);
        series(self.grains.matters[k].young, young) * size * (size / other).min(1.0)
    }
}

impl Grains {
    /// Gives the skin points that a grain sees the opposite of a push [N], acting where the grain is. Returns the body that sees most of it
    /// and the torque that its points could not take [N m].
    pub(super) fn react(&self, points: &mut Points, a: usize, i: usize, push: DVec3) -> (usize, DVec3) {
        let range = self.starts[a] as usize..self.starts[a + 1] as usize;
        let center = self.touches[a].center;
        let at = points.positions[i];
        let seen = || {
            let row = self.near[range.clone()].iter().zip(&self.shares[range.clone()]).filter(|(_, w)| **w > 0.0);
            row.map(|(&t, &w)| (self.targets[t as usize].point as usize, w))
        };
        let mut second = DMat3::ZERO;
        let mut most = (0.0, i);
        for (j, w) in seen() {
            let arm = points.positions[j] - at - center;
            second += outer(arm, w * arm);
            most = if w > most.0 { (w, j) } else { most };
        }
        let inertia = DMat3::from_diagonal(DVec3::splat(trace(second))) - second;
        let floor = FLOOR * points.spacings[i].powi(2);
        let wanted = center.cross(push);
        let turn = (inertia + DMat3::from_diagonal(DVec3::splat(floor))).inverse() * wanted;
        for (j, w) in seen() {
            let arm = points.positions[j] - at - center;
            points.forces[j] += w * (turn.cross(arm) - push);
        }
        (points.bodies[most.1] as usize, wanted - inertia * turn)
    }
}
