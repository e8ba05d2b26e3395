//! Gas inside of shells, and wind.

use super::model::ShellModel;
use super::vent::Venting;
use crate::points::Points;
use glam::DVec3;

/// What a gas inside does to a step.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct GasState {
    /// Loss of pressure per volume gained [Pa/m³].
    pub stiffness: f64,
    /// Square of the frequency at which a shell without stiffness would swing on the gas [1/s²].
    pub rate2: f64,
}

/// Moving air.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wind {
    /// Velocity of the air [m/s].
    pub velocity: DVec3,
    /// Its density [kg/m³].
    pub density: f64,
    /// Coefficient of drag of a plate across the wind.
    pub drag: f64,
}

impl ShellModel {
    /// Adds the forces of a fixed amount of gas in a closed body: at its volume at rest it would have the pressure `inside` against
    /// the pressure `outside` [Pa], and it keeps its temperature. Once the body is torn it leaks, in a step of `dt` [s].
    pub fn add_gas(&mut self, body: usize, [inside, outside]: [f64; 2], points: &mut Points, dt: f64) {
        for part in self.parts.iter_mut().filter(|p| p.body == body) {
            let range = part.range.clone();
            let positions = &points.positions[range.clone()];
            part.gas = GasState::default();
            let (torn, whole) = (part.is_torn(), part.whole_volume);
            if whole <= 0.0 {
                continue;
            }
            let shell = &mut part.shell;
            // Gas does not become infinitely dense in numbers.
            let volume = shell.gas.volume(&shell.network, positions).max(0.01 * whole);
            // Pressure of all the gas.
            let all = (outside + inside).max(0.0) * whole / volume;
            if torn && all > 0.0 {
                let opening = shell.gas.opening();
                part.kept = Venting { pressures: [all, outside], opening, volume }.after(part.kept, dt);
            }
            let pressure = part.kept * all;
            part.gas.stiffness = pressure / volume;
            let vectors = part.shell.gas.vectors();
            let squares = vectors.iter().zip(&points.masses[range.clone()]).map(|(a, m)| a.length_squared() / m);
            part.gas.rate2 = part.gas.stiffness * squares.sum::<f64>();
            let forces = points.forces[range].iter_mut().zip(vectors);
            forces.for_each(|(f, a)| *f += (pressure - outside) * *a);
        }
    }

    /// Adds the drag of the wind over a step of `dt` [s]: on each node along its normal, by the square of the speed at which air comes
    /// on along it. It never takes more than all of that speed.
    pub fn add_wind(&mut self, body: usize, wind: &Wind, dt: f64, points: &mut Points) {
        for part in self.parts.iter_mut().filter(|p| p.body == body) {
            let shell = &part.shell;
            for i in 0..part.range.len() {
                let place = part.range.start + i;
                let area = shell.gas.area_vector(&shell.network, i, &points.positions[part.range.clone()]);
                let Some(normal) = area.try_normalize() else { continue };
                let coming = normal.dot(wind.velocity - points.velocities[place]);
                let rate = 0.5 * wind.density * wind.drag * area.length() * coming.abs();
                points.forces[place] += normal * (rate * coming / (1.0 + dt * rate / points.masses[place]));
            }
        }
    }
}
