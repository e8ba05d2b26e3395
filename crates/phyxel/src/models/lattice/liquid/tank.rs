//! Matter in a box of planes, stepped by itself, for tests.

use crate::contact::{Collider, Colliders};
use crate::geometry::{HalfSpace, Sphere};
use crate::models::lattice::liquid::{Dimensions, Liquid, LiquidReport, Particle, Pressure};
use crate::points::Points;
use glam::DVec3;
use std::sync::Arc;

/// Matter in a box of planes, stepped by itself.
pub struct Tank {
    pub liquid: Liquid,
    pub points: Points,
    pub colliders: Colliders,
    pub viscosity: f64,
    pub tension: f64,
    pub gravity: DVec3,
    pub pressure: Pressure,
    pub iterations: usize,
    pub steps: usize,
    members: Vec<u32>,
}

/// Lattice points of spacing `d` inside a box, off its faces.
pub fn lattice(dimensions: Dimensions, d: f64, min: DVec3, max: DVec3) -> Vec<DVec3> {
    let flat = dimensions == Dimensions::Two;
    let (dy, dz) = (0.75f64.sqrt() * d, (2.0f64 / 3.0).sqrt() * d);
    let count = |length: f64, step: f64| ((length - 0.8 * d) / step + 1e-9).floor() as i32;
    let size = max - min;
    let layers = if flat { 0 } else { count(size.z, dz) };
    let mut out = Vec::new();
    for n in 0..=layers {
        for m in 0..=count(size.y, dy) {
            for l in 0..=count(size.x, d) {
                // Rows are shifted by half a spacing, layers into the hollows of the one below.
                let x = d * (f64::from(l) + 0.5 * f64::from((m + n) % 2));
                let y = dy * f64::from(m) + f64::from(n % 2) * d / 12f64.sqrt();
                let p =
                    min + DVec3::new(x + 0.4 * d, y + 0.4 * d, if flat { -min.z } else { dz * f64::from(n) + 0.4 * d });
                if p.x + 0.3 * d < max.x && p.y + 0.3 * d < max.y {
                    out.push(p);
                }
            }
        }
    }
    out
}

impl Tank {
    pub fn new(dimensions: Dimensions, spacing: f64, places: &[DVec3], planes: &[(DVec3, f64)]) -> Self {
        let mut points = Points::default();
        let volume = dimensions.cell_volume() * spacing.powi(dimensions.count());
        for &p in places {
            points.push(0, p, 1000.0 * volume, volume, spacing);
        }
        let make = |&(normal, offset): &(DVec3, f64)| {
            Collider::half_space("wall", Arc::new(HalfSpace { normal, offset })).with_surface(0.0, 0.0)
        };
        let mut colliders = Colliders::new(planes.iter().map(make).collect());
        colliders.set_radii(vec![0.25 * spacing; places.len()]);
        Self {
            liquid: Liquid::new(dimensions, spacing),
            members: (0..places.len() as u32).collect(),
            points,
            colliders,
            viscosity: 0.0,
            tension: 0.0,
            gravity: DVec3::new(0.0, -9.81, 0.0),
            pressure: Pressure::Solve { tolerance: 1e-4, haste: f64::INFINITY },
            iterations: 0,
            steps: 0,
        }
    }

    /// Puts a ball that stands still into it.
    pub fn add_ball(&mut self, middle: DVec3, radius: f64) {
        let mut list = self.colliders.list.clone();
        list.push(Collider::new("ball", Arc::new(Sphere { radius })).with_pose(middle, DVec3::ZERO));
        let spacing = self.points.spacings[0];
        self.colliders = Colliders::new(list);
        self.colliders.set_radii(vec![0.25 * spacing; self.points.len()]);
    }

    /// Looks around before a step of `dt`.
    pub fn look(&mut self, dt: f64) {
        self.colliders.advance(0.0, dt);
        let (points, viscosity, tension) = (&self.points, self.viscosity, self.tension);
        let particle = |i: u32| {
            let i = i as usize;
            let (position, volume, mass) = (points.positions[i], points.volumes[i], points.masses[i]);
            Particle { position, volume, mass, viscosity, tension, liquid: true }
        };
        self.liquid.find(&self.members, particle, &self.colliders, dt);
    }

    /// One step.
    pub fn step(&mut self, dt: f64) -> LiquidReport {
        self.look(dt);
        for v in &mut self.points.velocities {
            *v += self.gravity * dt;
        }
        let report = self.liquid.push(&mut self.points.velocities, self.pressure, dt);
        self.colliders.collide(&mut self.points, dt);
        for (x, v) in self.points.positions.iter_mut().zip(&self.points.velocities) {
            *x += *v * dt;
        }
        self.iterations += report.pressure.iterations;
        self.steps += 1;
        report
    }

    pub fn rms_speed(&self) -> f64 {
        (self.points.velocities.iter().map(|v| v.length_squared()).sum::<f64>() / self.points.len() as f64).sqrt()
    }
}
