//! Crystals that grow from two seeds, or from nothing, and carry load where they have grown together.

use super::tests::{advance, material};
use super::*;
use crate::points::Points;
use crate::random::Random;
use crate::scene::{LatticeSpec, MaterialSpec};
use glam::{DMat3, DVec3};

const SPACING: f64 = 0.05;
const GRAVITY: f64 = 9.81;
/// Half of the column's height, and of the part that is liquid at the start [m].
const HALF: f64 = 0.45;
const LIQUID: f64 = 0.22;

/// A column whose ends are two crystals, turned against each other by an angle [rad], with liquid between; all of it liquid without an angle.
fn column(angle: Option<f64>, nucleation: f64) -> (LatticeModel, Points) {
    let sites = Sites::new(3, SPACING);
    let lattice = LatticeSpec { nucleation, ..LatticeSpec::default() };
    let matter = MaterialSpec { damping: 30.0, lattice: Some(lattice), ..material(None) };
    let shape = crate::geometry::Cuboid::new(DVec3::new(0.21, 2.0 * HALF, 0.21), 0.0);
    let large = crate::geometry::Cuboid::new(DVec3::splat(2.4 * HALF), 0.0);
    let inside = |p: DVec3| crate::geometry::Shape::distance(&shape, p) < 0.0;
    let turn = DMat3::from_rotation_z(angle.unwrap_or(0.0));
    let plain: Vec<DVec3> = sample(&large, &sites).unwrap().into_iter().filter(|p| inside(*p)).collect();
    let turned: Vec<DVec3> =
        sample(&large, &sites).unwrap().into_iter().map(|p| turn * p).filter(|p| inside(*p)).collect();
    let seeded = angle.is_some();
    let part = |places: &[DVec3], keep: &dyn Fn(f64) -> bool| -> Vec<DVec3> {
        places.iter().copied().filter(|p| keep(p.y)).collect()
    };
    let low = part(&plain, &|y| seeded && y < -LIQUID);
    let high = part(&turned, &|y| seeded && y > LIQUID);
    let middle = part(&plain, &|y| !seeded || y.abs() <= LIQUID);
    let mut points = Points::default();
    let mut bodies = Vec::new();
    for (b, (places, liquid)) in [(low, false), (high, false), (middle, true)].into_iter().enumerate() {
        let first = points.len();
        for (k, p) in places.iter().enumerate() {
            let off = if liquid { Random::new(4, k as u64).in_cube() * (0.1 * SPACING) } else { DVec3::ZERO };
            points.push(b as u32, *p + off, 1000.0 * sites.cell_volume, sites.cell_volume, SPACING);
        }
        let rotation = if b == 1 { turn } else { DMat3::IDENTITY };
        bodies.push(LatticeBody { body: b, range: first..points.len(), material: matter.clone(), rotation, liquid });
    }
    (LatticeModel::new(&bodies, Some(sites), &points, 1), points)
}

/// Lets it freeze at 20 K below melting; the frozen fraction.
fn freeze(model: &mut LatticeModel, points: &mut Points, time: f64) -> (f64, u64) {
    model.set_warmth(|_| Warmth::Heat(-20.0));
    let dt = 4e-4;
    let steps = (time / dt) as u64;
    for n in 0..steps {
        model.prepare(points, dt, n);
        model.change_phases(points, dt, n);
        advance(model, points, dt);
    }
    let solid = model.particles().phases.iter().filter(|p| **p != Phase::Liquid).count();
    (solid as f64 / points.len() as f64, steps)
}

/// Hangs the column by its top and pulls its foot down slowly; the largest load over its weight.
fn strength(model: &mut LatticeModel, points: &mut Points, first: u64) -> f64 {
    model.set_warmth(|_| Warmth::Stays);
    let far = points.positions.iter().map(|p| p.y.abs()).fold(0.0, f64::max);
    let grips: Vec<(usize, f64)> = points
        .positions
        .iter()
        .enumerate()
        .filter(|(_, p)| p.y.abs() > far - 1.5 * SPACING)
        .map(|(i, p)| (i, p.y.signum()))
        .collect();
    points.velocities.fill(DVec3::ZERO);
    let weight: f64 = GRAVITY * points.masses.iter().sum::<f64>();
    let (dt, mut most) = (4e-4, 0.0f64);
    for n in 0..1500 {
        model.prepare(points, dt, first + n);
        points.forces.fill(DVec3::ZERO);
        model.add_forces(points, dt);
        most = most.max(grips.iter().filter(|(_, side)| *side > 0.0).map(|(i, _)| -points.forces[*i].y).sum::<f64>());
        for i in 0..points.len() {
            points.velocities[i] += points.forces[i] * (dt / points.masses[i]);
        }
        model.damp(points, dt);
        for &(i, side) in &grips {
            points.velocities[i] = DVec3::Y * (side * 0.3);
        }
        for i in 0..points.len() {
            points.positions[i] += points.velocities[i] * dt;
        }
    }
    most / weight
}

#[test]
fn crystals_from_two_seeds_carry_load_where_they_meet() {
    let mut holds = Vec::new();
    for angle in [0.0, 0.35] {
        let (mut model, mut points) = column(Some(angle), 0.0);
        let (frozen, steps) = freeze(&mut model, &mut points, 0.6);
        let times = strength(&mut model, &mut points, steps);
        println!("turned by {angle}: frozen {frozen}, holds {times} times its weight");
        assert!(frozen > 0.97, "{angle}: {frozen}");
        holds.push(times);
    }
    assert!(holds[1] > 5.0 && holds[1] > 0.15 * holds[0], "{holds:?}");
}

#[test]
fn cold_liquid_freezes_by_itself_where_it_may() {
    let (mut model, mut points) = column(None, 0.0);
    assert_eq!(freeze(&mut model, &mut points, 0.1).0, 0.0);
    let (mut model, mut points) = column(None, 0.01);
    let (frozen, steps) = freeze(&mut model, &mut points, 0.8);
    let mut objects: Vec<u32> = model.particles().objects.clone();
    objects.sort_unstable();
    objects.dedup();
    let times = strength(&mut model, &mut points, steps);
    println!("nucleated: frozen {frozen}, {} objects, holds {times} times its weight", objects.len());
    assert!(frozen > 0.9, "{frozen}");
    assert!(times > 1.0, "{times}");
}
