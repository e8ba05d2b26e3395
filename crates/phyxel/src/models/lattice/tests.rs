//! The lattice as a whole: energies, momenta, moduli.

use super::*;
use crate::points::Points;
use crate::random::Random;
use crate::scene::{LatticeSpec, MaterialSpec};
use glam::{DMat3, DVec3};

pub(super) fn material(break_strain: Option<f64>) -> MaterialSpec {
    let lattice = LatticeSpec { break_strain, ..LatticeSpec::default() };
    MaterialSpec { young: 1e6, density: 1000.0, damping: 0.0, lattice: Some(lattice), ..MaterialSpec::default() }
}

/// A block of the lattice, turned, in a table of points of its own.
fn block(dimensions: usize, size: DVec3, material: &MaterialSpec) -> (LatticeModel, Points) {
    let turn = exponential(if dimensions == 3 { DVec3::new(0.3, 0.5, -0.2) } else { DVec3::Z * 0.4 });
    block_of(dimensions, size, 0.05, turn, material, 1)
}

pub(super) fn block_of(
    dimensions: usize,
    size: DVec3,
    spacing: f64,
    turn: DMat3,
    material: &MaterialSpec,
    seed: u64,
) -> (LatticeModel, Points) {
    let sites = Sites::new(dimensions, spacing);
    let shape = crate::geometry::Cuboid::new(size, 0.0);
    let mut points = Points::default();
    for p in sample(&shape, &sites).unwrap() {
        points.push(0, turn * p, material.density * sites.cell_volume, sites.cell_volume, spacing);
    }
    let body =
        LatticeBody { body: 0, range: 0..points.len(), material: material.clone(), rotation: turn, liquid: false };
    let model = LatticeModel::new(&[body], Some(sites), &points, seed);
    (model, points)
}

fn step(model: &mut LatticeModel, points: &mut Points, dt: f64, number: u64) {
    model.prepare(points, dt, number);
    advance(model, points, dt);
}

/// The rest of a step, without walls and gravity.
pub(super) fn advance(model: &mut LatticeModel, points: &mut Points, dt: f64) {
    points.forces.fill(DVec3::ZERO);
    model.add_forces(points, dt);
    for i in 0..points.len() {
        points.velocities[i] += points.forces[i] * (dt / points.masses[i]);
    }
    model.damp(points, dt);
    for i in 0..points.len() {
        points.positions[i] += points.velocities[i] * dt;
    }
}

/// Changes velocities by the forces over a time, which may be negative; momenta and energies at the end.
fn half_kick(model: &mut LatticeModel, points: &mut Points, time: f64) -> (crate::measure::Totals, f64) {
    model.prepare(points, 1e-5, 0);
    points.forces.fill(DVec3::ZERO);
    model.add_forces(points, 1e-5);
    for i in 0..points.len() {
        points.velocities[i] += points.forces[i] * (time / points.masses[i]);
    }
    (crate::measure::totals(points, 0..points.len()), energy(model, points))
}

fn energy(model: &mut LatticeModel, points: &Points) -> f64 {
    let mut out = [0.0];
    model.add_energy(points, &mut out);
    out[0]
}

fn shake(points: &mut Points, dimensions: usize, by: f64) {
    for i in 0..points.len() {
        let mut off = Random::new(3, i as u64).in_cube() * by;
        off.z *= if dimensions == 2 { 0.0 } else { 1.0 };
        points.positions[i] += off;
    }
}

#[test]
fn a_block_at_rest_has_no_energy() {
    for dimensions in [2, 3] {
        let (mut model, points) = block(dimensions, DVec3::splat(0.26), &material(None));
        assert!(energy(&mut model, &points) < 1e-15, "{dimensions}: {}", energy(&mut model, &points));
        assert_eq!(model.count_pieces(0), Some(1));
    }
}

#[test]
fn forces_are_the_gradient_of_the_energy() {
    for (dimensions, yield_bound, poisson) in
        [(2, 0.8, 0.0), (3, 0.8, 0.0), (2, 0.3, 0.0), (3, 0.3, 0.0), (2, 0.8, 0.4), (3, 0.8, 0.4)]
    {
        let mut matter = material(None);
        matter.lattice = matter.lattice.map(|l| LatticeSpec { yield_bound, poisson, ..l });
        let (mut model, mut points) = block(dimensions, DVec3::splat(0.2), &matter);
        // Squeezed so that some bonds are crushed.
        points.positions.iter_mut().for_each(|p| p.x *= 0.78);
        shake(&mut points, dimensions, 0.003);
        model.prepare(&points, 1e-5, 0);
        points.forces.fill(DVec3::ZERO);
        model.add_forces(&mut points, 1e-5);
        let scale = points.forces.iter().map(|f| f.length()).fold(0.0, f64::max);
        for i in (0..points.len()).step_by(7) {
            for axis in [DVec3::X, DVec3::Y] {
                let (at, eps) = (points.positions[i], 1e-6);
                let mut look = |offset: f64| {
                    points.positions[i] = at + axis * offset;
                    energy(&mut model, &points)
                };
                let slope = (look(eps) - look(-eps)) / (2.0 * eps);
                points.positions[i] = at;
                assert!((points.forces[i].dot(axis) + slope).abs() < 1e-6 * scale, "{i}");
            }
        }
    }
}

#[test]
fn free_vibration_keeps_energy_and_momenta() {
    for dimensions in [2, 3] {
        let (mut model, mut points) = block(dimensions, DVec3::splat(0.26), &material(None));
        points.positions.iter_mut().for_each(|p| p.x *= 1.05);
        for i in 0..points.len() {
            let p = points.positions[i];
            points.velocities[i] = DVec3::new(0.3, 0.1, 0.0) + (DVec3::Z * 2.0).cross(p) + DVec3::X * p.y;
        }
        let dt = model.stable_time_step() * 0.75;
        // Velocities live half a step behind; energies are compared at the time of the positions.
        let (before, start) = half_kick(&mut model, &mut points, 0.0);
        half_kick(&mut model, &mut points, -0.5 * dt);
        for n in 0..(2.0 / dt) as u64 {
            step(&mut model, &mut points, dt, n);
        }
        let (after, end) = half_kick(&mut model, &mut points, 0.5 * dt);
        let drift = (after.kinetic + end) / (before.kinetic + start) - 1.0;
        assert!(drift.abs() < 0.01, "{dimensions}: energy drifts by {drift}");
        assert!((after.momentum - before.momentum).length() < 1e-9 * before.mass);
        let turned = (after.angular - before.angular).length() / before.angular.length();
        assert!(turned < 1e-7, "{dimensions}: angular momentum changes by {turned}");
    }
}

#[test]
fn damping_spares_rigid_motion_and_momenta() {
    for dimensions in [2, 3] {
        let (mut model, mut points) =
            block(dimensions, DVec3::splat(0.2), &MaterialSpec { damping: 30.0, ..material(None) });
        let rigid = |p: DVec3| DVec3::new(1.0, -0.5, 0.0) + (DVec3::Z * 3.0).cross(p);
        for i in 0..points.len() {
            points.velocities[i] = rigid(points.positions[i]);
        }
        model.prepare(&points, 1e-3, 0);
        model.damp(&mut points, 1e-3);
        let error = (0..points.len()).map(|i| (points.velocities[i] - rigid(points.positions[i])).length());
        assert!(error.fold(0.0, f64::max) < 1e-7);
        for i in 0..points.len() {
            let mut noise = Random::new(8, i as u64).in_cube();
            noise.z *= if dimensions == 2 { 0.0 } else { 1.0 };
            points.velocities[i] += noise;
        }
        let before = crate::measure::totals(&points, 0..points.len());
        model.damp(&mut points, 1e-3);
        let after = crate::measure::totals(&points, 0..points.len());
        assert!((after.momentum - before.momentum).length() < 1e-9 * before.mass);
        assert!((after.angular - before.angular).length() < 1e-8 * before.angular.length());
        assert!(after.kinetic < before.kinetic);
    }
}

#[test]
fn the_modulus_is_the_one_asked_for() {
    // A virtual test: an affine pull of a large block, energy of the inner particles against E e² V / 2.
    for dimensions in [2, 3] {
        let (mut model, mut points) = block(dimensions, DVec3::splat(0.4), &material(None));
        let strain = 1e-4;
        let pull = DMat3::from_diagonal(DVec3::new(1.0 + strain, 1.0, 1.0));
        points.positions.iter_mut().for_each(|p| *p = pull * *p);
        model.prepare(&points, 1e-6, 0);
        let particles = model.particles();
        let inner: Vec<usize> =
            (0..points.len()).filter(|&i| model.bonds().of(i).iter().all(|p| *p != NOBODY)).collect();
        let mut out = Vec::new();
        let sites = model.sites().unwrap();
        energies(particles, model.bonds(), sites, &model.matters, &mut out);
        let mean = inner.iter().map(|&i| out[i]).sum::<f64>() / inner.len() as f64;
        let young = 2.0 * mean / (strain * strain * sites.cell_volume);
        assert!((young / 1e6 - 1.0).abs() < 1e-3, "{dimensions}: {young}");
    }
}
