//! Probes: a number per frame from the state of the world.

use super::totals;
use crate::scene::{Axis, Measure, PointQuantity, Statistic};
use crate::world::World;
use glam::DVec3;

/// One `[[probe]]`, its names resolved.
#[derive(Debug, Clone)]
pub struct Probe {
    /// Column name.
    pub name: String,
    /// What is measured.
    pub measure: Measure,
    /// What it is measured on.
    pub target: Target,
}

/// What a probe looks at.
#[derive(Debug, Clone)]
pub enum Target {
    /// Some points; the body's index where they are all of one body.
    Points(Vec<u32>, Option<usize>),
    /// Two sets of points.
    Pair(Vec<u32>, Vec<u32>),
    /// The reaction of a pin.
    Pin(usize),
    /// The reaction of a collider.
    Collider(usize),
}

impl Probe {
    /// The value now; NaN where there is none. `elastic` is the elastic energy of each body [J].
    pub(crate) fn value(&self, world: &World, elastic: &[f64]) -> f64 {
        match &self.target {
            Target::Pin(k) => self.reaction(world.pin_reaction(*k)),
            Target::Collider(k) => self.reaction(world.collider_reaction(*k)),
            Target::Pair(a, b) => center(world, a).distance(center(world, b)),
            Target::Points(members, body) => self.over_points(world, members, *body, elastic),
        }
    }

    fn reaction(&self, force: DVec3) -> f64 {
        match self.measure {
            Measure::Reaction(axis) => force[axis.index()],
            _ => f64::NAN,
        }
    }

    fn over_points(&self, world: &World, members: &[u32], body: Option<usize>, elastic: &[f64]) -> f64 {
        let points = &world.points;
        let fields = &world.scratch.fields;
        let indices = members.iter().map(|&i| i as usize);
        let sums = || totals(points, indices.clone());
        match self.measure {
            Measure::Points(statistic, quantity) => {
                let of = |i: usize| point_quantity(world, quantity, i);
                let values = indices.clone().map(|i| (points.masses[i], of(i)));
                // Bodies without heat have no temperature.
                let exists = |value: &(f64, f64)| quantity != PointQuantity::Temperature || !value.1.is_nan();
                summarize(statistic, values.filter(exists))
            }
            Measure::FractionSolid => fraction_solid(world, indices),
            Measure::Volume => indices.map(|i| points.volumes[i] * f64::from(fields.volume_ratio[i])).sum(),
            Measure::Mass => sums().mass,
            Measure::CrackLength => {
                let bodies = body.map_or(0..world.bodies.len(), |b| b..b + 1);
                let pieces = bodies.flat_map(|b| world.shells.cracks(b));
                pieces.map(|piece| piece.from.distance(piece.to)).fold(0.0, |sum, length| sum + length)
            }
            Measure::Pieces => body.map_or(world.all_pieces, |b| world.pieces[b]) as f64,
            Measure::Extent(axis) => extent(indices.map(|i| points.positions[i]), axis),
            Measure::EnergyElastic => body.map_or_else(|| elastic.iter().sum(), |b| elastic[b]),
            Measure::EnergyKinetic => sums().kinetic,
            Measure::Momentum(axis) => sums().momentum[axis.index()],
            Measure::Reaction(_) | Measure::Distance => f64::NAN,
        }
    }
}

fn point_quantity(world: &World, quantity: PointQuantity, i: usize) -> f64 {
    let points = &world.points;
    match quantity {
        PointQuantity::Position(axis) => points.positions[i][axis.index()],
        PointQuantity::Displacement(axis) => (points.positions[i] - points.rest_positions[i])[axis.index()],
        PointQuantity::Speed => points.velocities[i].length(),
        PointQuantity::Stress => f64::from(world.scratch.fields.stress[i]),
        PointQuantity::Temperature => world.heat().and_then(|h| h.temperature(i)).unwrap_or(f64::NAN),
        PointQuantity::Strain => f64::from(world.scratch.fields.strain[i]),
        PointQuantity::Plastic => world.scratch.fields.plastic.get(i).map_or(0.0, |&p| f64::from(p)),
    }
}

fn summarize(statistic: Statistic, values: impl Iterator<Item = (f64, f64)>) -> f64 {
    match statistic {
        Statistic::Mean => {
            let (mass, sum) = values.fold((0.0, 0.0), |(m, s), (mass, x)| (m + mass, s + mass * x));
            sum / mass
        }
        Statistic::Min => values.map(|v| v.1).reduce(f64::min).unwrap_or(f64::NAN),
        Statistic::Max => values.map(|v| v.1).reduce(f64::max).unwrap_or(f64::NAN),
    }
}

/// Part of the mass that is not melted; NaN where nothing takes part in heat.
fn fraction_solid(world: &World, indices: impl Iterator<Item = usize> + Clone) -> f64 {
    if indices.clone().all(|i| world.lattice.solidity(i).is_some()) {
        let solid = indices.map(|i| (world.points.masses[i], world.lattice.solidity(i).unwrap_or(0.0)));
        return summarize(Statistic::Mean, solid);
    }
    let Some(heat) = world.heat() else { return f64::NAN };
    let solid = indices.filter(|&i| heat.temperature(i).is_some());
    summarize(Statistic::Mean, solid.map(|i| (world.points.masses[i], 1.0 - heat.melted_fraction(i))))
}

fn extent(positions: impl Iterator<Item = DVec3>, axis: Axis) -> f64 {
    let bounds = crate::geometry::Bounds::of(positions);
    bounds.size()[axis.index()]
}

fn center(world: &World, members: &[u32]) -> DVec3 {
    totals(&world.points, members.iter().map(|&i| i as usize)).center
}
