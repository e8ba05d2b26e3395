//! External forces: `[[force]]`.

use crate::models::shell::loads::Wind;
use crate::points::Points;
use glam::DVec3;
use std::ops::Range;

/// One `[[force]]` of the world.
#[derive(Debug, Clone)]
pub struct ExternalForce {
    /// What it acts on.
    pub load: Load,
    /// Start [s].
    pub from: f64,
    /// End [s].
    pub until: f64,
}

/// What an external force acts on.
#[derive(Debug, Clone)]
pub enum Load {
    /// An acceleration [m/s²] on a range of points.
    Acceleration(Range<usize>, DVec3),
    /// A total force [N] spread over some points by mass.
    Total(Vec<u32>, DVec3),
    /// A pressure inside of a closed shell, which `ShellModel::add_pressure` adds.
    Pressure {
        /// Number of the body, and its points.
        body: usize,
        /// Its points.
        range: Range<usize>,
        /// Pressure [Pa].
        pressure: f64,
        /// Time over which it rises from zero [s].
        ramp: f64,
        /// Pressure outside [Pa] against which a fixed amount of gas works; None: the pressure is given.
        outside: Option<f64>,
        /// Area of the shell at rest [m²].
        area: f64,
    },
    /// Wind on shells, which `ShellModel::add_wind` adds.
    Wind {
        /// Numbers of the bodies.
        bodies: Vec<usize>,
        /// The wind.
        wind: Wind,
    },
}

impl ExternalForce {
    /// Whether it acts at time `t` [s].
    pub fn is_active(&self, t: f64) -> bool {
        self.from <= t && t < self.until
    }

    /// Most speed it can give to its points within `duration` [m/s].
    pub fn largest_speed_gain(&self, points: &Points, duration: f64) -> f64 {
        let time = self.until.min(duration) - self.from;
        let acceleration = match &self.load {
            Load::Acceleration(_, a) => a.length(),
            Load::Wind { wind, .. } => return wind.velocity.length(),
            Load::Pressure { range, pressure, area, .. } => {
                pressure.abs() * area / range.clone().map(|i| points.masses[i]).sum::<f64>()
            }
            Load::Total(members, total) => {
                total.length() / members.iter().map(|&i| points.masses[i as usize]).sum::<f64>()
            }
        };
        acceleration * time.max(0.0)
    }

    /// Body, pressure and pressure outside [Pa] at time `t` [s], if it is one.
    pub fn pressure(&self, t: f64) -> Option<(usize, f64, Option<f64>)> {
        match self.load {
            Load::Pressure { body, pressure, ramp, outside, .. } => {
                let risen = if ramp > 0.0 { ((t - self.from) / ramp).clamp(0.0, 1.0) } else { 1.0 };
                Some((body, pressure * risen, outside))
            }
            _ => None,
        }
    }

    /// Adds its forces to the table, but for pressures and wind.
    pub fn add(&self, points: &mut Points) {
        match &self.load {
            Load::Pressure { .. } | Load::Wind { .. } => {}
            Load::Acceleration(range, acceleration) => {
                for i in range.clone() {
                    points.forces[i] += points.masses[i] * *acceleration;
                }
            }
            Load::Total(members, total) => {
                let mass: f64 = members.iter().map(|&i| points.masses[i as usize]).sum();
                for &i in members {
                    points.forces[i as usize] += points.masses[i as usize] / mass * *total;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn total_force_is_the_total_and_spread_by_mass() {
        let mut points = Points::default();
        points.push(0, DVec3::ZERO, 1.0, 1.0, 1.0);
        points.push(0, DVec3::X, 3.0, 1.0, 1.0);
        let force = ExternalForce { load: Load::Total(vec![0, 1], DVec3::Y * 8.0), from: 0.0, until: 1.0 };
        force.add(&mut points);
        assert_eq!(points.forces, [DVec3::Y * 2.0, DVec3::Y * 6.0]);
        assert!(force.is_active(0.0) && !force.is_active(1.0));
    }
}
