//! The liquid's part of a step of the model: pressure, viscosity and surface tension of the particles that flow, among which
//! solid ones take part as what is pushed.

use super::LatticeModel;
use super::liquid::kernel::pressure_force;
use super::liquid::{Dimensions, Liquid, Particle, Pressure, SUPPORT};
use super::particles::Phase;
use super::vicinity::Vicinity;
use crate::contact::Colliders;
use crate::points::Points;
use glam::DVec3;

/// Part of a spacing that the fastest liquid particle may go in a step, and that a free fall from rest may.
const TRAVEL: f64 = 0.4;
const FALL: f64 = 0.02;
/// Mean error of the density at which the pressure is good enough. A pool whose pressure is left
/// with more trembles.
const TOLERANCE: f64 = 1e-4;
/// Speed of sound of the explicit scheme over the highest speed expected.
const SOUND: f64 = 10.0;
/// Kinematic viscosity that smooths motion between neighbors, over spacing times the speed of a fall by a spacing.
const SMOOTHING: f64 = 0.05;

/// Time in which matter that is too dense goes apart by a spacing where nothing else says how fast [s].
const LONGEST_WAIT: f64 = 0.1;

/// Contact radius of liquid particles with colliders, in spacings: nearer than the pressure lets them.
pub const LIQUID_RADIUS: f64 = 0.25;

/// What a step of the liquid did to the world's books.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Flowed {
    /// Work of surface tension, of moving walls, and of the pressure where it corrects the density [J].
    pub work: f64,
}

impl LatticeModel {
    /// Whether any particle is liquid.
    pub fn has_liquid(&self) -> bool {
        self.particles.phases.contains(&Phase::Liquid)
    }

    /// Density over that at rest, walls included, of each point near the last step's liquid: the point and its density.
    pub fn liquid_densities(&self) -> impl Iterator<Item = (u32, f64)> {
        let liquid = self.liquid.iter();
        liquid.flat_map(|l| l.order().iter().map(|&k| self.particles.members[k as usize]).zip(l.densities()))
    }

    /// Pressure of the liquid at each point of the model [Pa]: the point and the pressure of a continuum that pushes as much.
    pub fn liquid_pressures(&self) -> impl Iterator<Item = (u32, f64)> {
        let flat = self.sites.as_ref().is_some_and(|s| s.dimensions == 2);
        let force = pressure_force(if flat { Dimensions::Two } else { Dimensions::Three });
        self.particles.members.iter().zip(&self.particles.pressures).map(move |(&i, p)| (i, p * force))
    }

    /// Whether any particle takes part in a lattice.
    pub fn has_bound(&self) -> bool {
        self.particles.phases.iter().any(|p| p.is_bound())
    }

    /// Finds the pressure from the density by a speed of sound instead of solving for it.
    pub fn flow_explicitly(&mut self) {
        self.explicit_liquid = true;
    }

    /// Longest step of the liquid [s]; infinite without one.
    pub fn liquid_time_step(&self, points: &Points, gravity: DVec3) -> f64 {
        let (Some(sites), true) = (&self.sites, self.has_liquid()) else { return f64::INFINITY };
        let spacing = sites.spacing;
        let fastest = self.fastest_liquid(points);
        let travel = TRAVEL * spacing / fastest.max(1e-12);
        let fall = (2.0 * FALL * spacing / gravity.length().max(1e-12)).sqrt();
        // Waves of surface tension of the shortest length.
        let tension = self.matters.iter().fold(0.0, |m: f64, x| m.max(x.tension / x.density));
        let capillary = 0.25 * (spacing.powi(3) / tension.max(1e-300)).sqrt();
        let sound = match self.explicit_liquid {
            true => 0.4 * SUPPORT * spacing / self.sound(points, gravity, fastest),
            false => f64::INFINITY,
        };
        travel.min(fall).min(capillary).min(sound)
    }

    fn fastest_liquid(&self, points: &Points) -> f64 {
        let flows = self.particles.members.iter().zip(&self.particles.phases).filter(|(_, p)| **p == Phase::Liquid);
        let square = |m: f64, (i, _): (&u32, &Phase)| m.max(points.velocities[*i as usize].length_squared());
        flows.fold(0.0, square).sqrt()
    }

    /// Speed with which matter that is too dense goes apart at most [m/s]: that of a fall by a spacing, or its own.
    fn haste(&self, points: &Points, gravity: DVec3) -> f64 {
        let spacing = self.sites.as_ref().map_or(1.0, |s| s.spacing);
        let flows = self.particles.members.iter().zip(&self.particles.phases).filter(|(_, p)| **p == Phase::Liquid);
        let (sum, count) = flows.fold((0.0, 0.0), |(sum, count), (&i, _)| {
            (sum + points.velocities[i as usize].length_squared(), count + 1.0)
        });
        let fall = 2.0 * gravity.length() * spacing;
        (sum / f64::max(count, 1.0)).max(fall).sqrt().max(spacing / LONGEST_WAIT)
    }

    /// Ten times the speed that matter has or would have after a fall by its height.
    fn sound(&self, points: &Points, gravity: DVec3, fastest: f64) -> f64 {
        let height = |i: &u32| points.positions[*i as usize].dot(gravity);
        let members = || self.particles.members.iter().map(height).filter(|h| h.is_finite());
        let (low, high) = members().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), h| (a.min(h), b.max(h)));
        SOUND * fastest.max((2.0 * (high - low).max(0.0)).sqrt()).max(0.1)
    }

    /// Phase: changes velocities over a step of `dt` [s] by the forces of the liquid; adds what colliders gave to `impulses` [N s].
    pub fn flow(
        &mut self,
        points: &mut Points,
        colliders: &Colliders,
        gravity: DVec3,
        dt: f64,
        impulses: &mut [DVec3],
    ) -> Flowed {
        let (Some(sites), true) = (&self.sites, self.has_liquid()) else { return Flowed::default() };
        let dimensions = if sites.dimensions == 2 { Dimensions::Two } else { Dimensions::Three };
        let (spacing, volume) = (sites.spacing, sites.cell_volume);
        let pressure = match self.explicit_liquid {
            true => Pressure::Sound(self.sound(points, gravity, self.fastest_liquid(points))),
            false => Pressure::Solve { tolerance: TOLERANCE, haste: self.haste(points, gravity) },
        };
        let smoothing = SMOOTHING * spacing * (gravity.length() * spacing).sqrt();
        let Self { liquid, particles, matters, .. } = self;
        let liquid = liquid.get_or_insert_with(|| Box::new(Liquid::new(dimensions, spacing)));
        let place = |k: usize| points.positions[particles.members[k] as usize];
        let flows = |k: usize| particles.phases[k] == Phase::Liquid;
        let liquids = (0..particles.len()).filter(|k| flows(*k));
        let members: Vec<u32> = match particles.phases.iter().any(|p| p.is_bound()) {
            true => Vicinity::new(liquids.map(place), SUPPORT * spacing).members(particles.len(), place, flows),
            false => (0..particles.len() as u32).collect(),
        };
        let particle = |k: u32| {
            let k = k as usize;
            let matter = &matters[particles.kinds[k] as usize];
            let flows = particles.phases[k] == Phase::Liquid;
            let of_liquid = |x: f64| if flows { x } else { 0.0 };
            Particle {
                position: points.positions[particles.members[k] as usize],
                volume,
                mass: particles.masses[k],
                viscosity: of_liquid(matter.viscosity + smoothing * matter.density),
                tension: of_liquid(matter.tension),
                liquid: flows,
            }
        };
        liquid.find(&members, particle, colliders, dt);
        let velocities = &mut particles.velocities;
        for (v, &i) in velocities.iter_mut().zip(&particles.members) {
            *v = points.velocities[i as usize];
        }
        liquid.pressures.resize(particles.pressures.len(), 0.0);
        liquid.pressures.copy_from_slice(&particles.pressures);
        let report = liquid.push(velocities, pressure, dt);
        particles.pressures.copy_from_slice(&liquid.pressures);
        for (v, &i) in velocities.iter().zip(&particles.members) {
            points.velocities[i as usize] = if sites.dimensions == 2 { v.with_z(0.0) } else { *v };
        }
        Flowed { work: report.tension_work + report.pressure_work + liquid.add_impulses(impulses, dt) }
    }
}
