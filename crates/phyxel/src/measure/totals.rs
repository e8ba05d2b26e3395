//! Sums over all points: mass, momenta, energies.

use crate::points::Points;
use glam::DVec3;

/// Sums over a set of points.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Totals {
    /// Mass [kg].
    pub mass: f64,
    /// Center of mass [m].
    pub center: DVec3,
    /// Momentum [kg m/s].
    pub momentum: DVec3,
    /// Angular momentum about the center of mass [kg m²/s].
    pub angular: DVec3,
    /// Kinetic energy [J].
    pub kinetic: f64,
    /// Largest speed [m/s].
    pub max_speed: f64,
}

/// Sums over the given points, in the given order.
pub fn totals(points: &Points, members: impl Iterator<Item = usize> + Clone) -> Totals {
    let mut sum = Totals::default();
    for i in members.clone() {
        let (m, v) = (points.masses[i], points.velocities[i]);
        sum.mass += m;
        sum.center += m * points.positions[i];
        sum.momentum += m * v;
        sum.kinetic += 0.5 * m * v.length_squared();
        sum.max_speed = sum.max_speed.max(v.length());
    }
    if sum.mass > 0.0 {
        sum.center /= sum.mass;
    }
    for i in members {
        sum.angular += points.masses[i] * (points.positions[i] - sum.center).cross(points.velocities[i]);
    }
    sum
}
