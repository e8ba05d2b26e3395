//! Imposed fields on irregular points: gradients, stresses, energies, forces, and the patch test. No time steps, so the
//! model is asked directly.

use crate::lab::{Want, check};
use glam::{DMat3, DQuat, DVec3};
use phyxel::geometry::Cuboid;
use phyxel::materials::ElasticLaw;
use phyxel::models::mls::implicit::{Constraints, Held, Problem, Solver};
use phyxel::models::mls::{MlsBody, MlsModel};
use phyxel::points::Points;
use phyxel::random::Random;
use phyxel::sampling::{SampleSize, SurfacePatch, sample_volume};
use phyxel::scene::{MaterialSpec, Precision, Sampling, Scene};

const YOUNG: f64 = 1e6;

/// Points of a box and patches of its surface.
struct Sample {
    points: Points,
    patches: Vec<SurfacePatch>,
    spacing: f64,
}

/// As the sampler makes them.
fn sampled(size: DVec3, sampling: Sampling, spacing: f64) -> Sample {
    let samples = sample_volume(&Cuboid::new(size, 0.0), sampling, SampleSize::Spacing(spacing), 1).unwrap();
    let mut points = Points::default();
    for (x, v) in samples.positions.iter().zip(&samples.volumes) {
        points.push(0, *x, 1000.0 * v, *v, spacing);
    }
    Sample { points, patches: samples.patches, spacing }
}

/// A grid, each point moved by up to `jitter` spacings per axis; equal volumes.
fn jittered(size: DVec3, spacing: f64, jitter: f64) -> Sample {
    let mut sample = sampled(size, Sampling::Regular, spacing);
    for i in 0..sample.points.len() {
        let moved = sample.points.positions[i] + Random::new(7, i as u64).in_cube() * (jitter * spacing);
        sample.points.positions[i] = moved;
        sample.points.rest_positions[i] = moved;
    }
    sample
}

/// 1000 random points of the unit cube at least 0.05 apart; equal volumes.
fn scattered() -> Sample {
    let mut sample = sampled(DVec3::ONE, Sampling::Regular, 0.1);
    let mut random = Random::new(11, 0);
    let mut found: Vec<DVec3> = Vec::new();
    while found.len() < sample.points.len() {
        let x = random.in_cube() * 0.5;
        if found.iter().all(|y| y.distance(x) >= 0.05) {
            found.push(x);
        }
    }
    sample.points.positions.clone_from(&found);
    sample.points.rest_positions = found;
    sample
}

fn material() -> MaterialSpec {
    let text =
        "format = 1\n[[body]]\nshape = { kind = \"sphere\", radius = 1 }\nmaterial = { young = 1e6, poisson = 0.3 }";
    Scene::from_toml(text, None, &[]).unwrap().bodies[0].material.clone()
}

fn model(sample: &Sample, material: &MaterialSpec, precision: Precision) -> MlsModel {
    let body = MlsBody { range: 0..sample.points.len(), material, rotation: DMat3::IDENTITY, patches: &sample.patches };
    MlsModel::new(&sample.points, &[body], precision).unwrap()
}

/// Energy [J] and deformation gradients after every point moved to F x.
fn deform(sample: &Sample, precision: Precision, deformation: DMat3) -> (f64, Vec<DMat3>) {
    let material = material();
    let mut model = model(sample, &material, precision);
    let mut points = sample.points.clone();
    points.positions.iter_mut().for_each(|x| *x = deformation * *x);
    let (mut energy, mut gradients) = ([0.0], Vec::new());
    model.elastic_energy(&points, &mut energy);
    model.deformation_gradients(&points, &mut gradients);
    (energy[0], gradients)
}

/// The entry of the second Piola-Kirchhoff stress that is farthest from `reference` [Pa].
fn worst_stress(gradients: &[DMat3], entry: fn(DMat3) -> f64, reference: f64) -> f64 {
    let law = ElasticLaw::from_spec(&material(), DMat3::IDENTITY).unwrap();
    let stresses = gradients.iter().map(|f| entry(f.inverse() * law.first_piola(*f - DMat3::IDENTITY)));
    stresses.max_by(|a, b| (a - reference).abs().total_cmp(&(b - reference).abs())).unwrap()
}

#[test]
fn shear_and_compression_store_the_textbook_energy() {
    let size = DVec3::splat(0.2);
    let shear = DMat3::IDENTITY + DMat3::from_cols(DVec3::ZERO, DVec3::X * 0.01, DVec3::ZERO);
    let squeeze = DMat3::from_diagonal(DVec3::splat(0.99));
    for (name, sample) in
        [("regular", sampled(size, Sampling::Regular, 0.02)), ("jitter 0.2", jittered(size, 0.02, 0.2))]
    {
        for (precision, accepted) in [(Precision::F64, 1e-10), (Precision::Mixed, 2e-5)] {
            let label = |what: &str| format!("solid-shear-bulk, {name}, {precision:?} | {what}");
            let (energy, gradients) = deform(&sample, precision, shear);
            // V (lambda / 2 tr(E)² + mu E : E); mu gamma.
            check(&label("shear energy [J]"), Want::Near(0.15385961538461537), [0.02, 1e-9], 0.02, energy);
            let got = worst_stress(&gradients, |s| s.y_axis.x, 3846.153846153846);
            check(&label("shear stress [Pa]"), Want::Near(3846.153846153846), [1e-6, 1e-10], accepted, got);
            let (energy, gradients) = deform(&sample, precision, squeeze);
            // The same formula; 3 K e with e = (0.99² - 1) / 2.
            check(&label("bulk energy [J]"), Want::Near(2.9700750000000085), [0.02, 1e-9], 0.02, energy);
            let got = worst_stress(&gradients, |s| s.x_axis.x, -24875.000000000036);
            check(&label("bulk stress [Pa]"), Want::Near(-24875.000000000036), [1e-6, 1e-10], accepted, got);
        }
    }
}

#[test]
fn rigid_motion_gives_no_force() {
    let size = DVec3::new(0.3, 0.2, 0.1);
    let sample = jittered(size, 0.02, 0.2);
    let turn = DQuat::from_axis_angle(DVec3::new(1.0, 2.0, 3.0).normalize(), 123f64.to_radians());
    let material = material();
    for (precision, accepted) in [(Precision::F64, [1e-8, 1e-9]), (Precision::Mixed, [1e-5, 1e-9])] {
        let mut model = model(&sample, &material, precision);
        let mut points = sample.points.clone();
        points.positions.iter_mut().for_each(|x| *x = turn * *x + DVec3::new(100.0, -50.0, 20.0));
        let (mut forces, mut energy) = (vec![DVec3::ZERO; points.len()], [0.0]);
        model.internal_forces(&points, &mut forces);
        model.elastic_energy(&points, &mut energy);
        let largest = forces.iter().map(|f| f.length()).fold(0.0, f64::max);
        let label = |what: &str| format!("solid-rigid-flight, {precision:?} | {what}");
        let force = largest / (YOUNG * sample.spacing * sample.spacing);
        check(&label("largest force over E h²"), Want::Small, [1e-8, 1e-11], accepted[0], force);
        let energy = energy[0] / (YOUNG * size.element_product());
        check(&label("energy over E V"), Want::Small, [1e-9, 1e-14], accepted[1], energy);
    }
}

/// The displacement gradient of the patch test.
fn patch_field() -> DMat3 {
    DMat3::from_cols(DVec3::new(1e-3, 3e-4, -7e-4), DVec3::new(2e-3, -2e-3, 4e-4), DVec3::new(-5e-4, 1e-3, 5e-4))
}

fn norm(m: DMat3) -> f64 {
    m.to_cols_array().iter().map(|e| e * e).sum::<f64>().sqrt()
}

/// Largest error of the displacement after the outermost points are put on the linear field and the others find their rest.
fn solve_patch(sample: &Sample) -> f64 {
    let field = patch_field();
    let material = material();
    let model = model(sample, &material, Precision::F64);
    let laws: Vec<ElasticLaw> = model.laws().collect();
    let mut points = sample.points.clone();
    let outer = |x: DVec3| 0.5 - x.abs().max_element() < 1.5 * sample.spacing;
    let mut held = Vec::new();
    for i in 0..points.len() {
        let rest = points.rest_positions[i];
        if outer(rest) {
            points.positions[i] = rest + field * rest;
            held.push(Held { point: i, axes: [true; 3], velocity: DVec3::ZERO });
        }
    }
    let constraints = Constraints { held, ..Constraints::default() };
    // One step of ten seconds is static.
    let dt = 10.0;
    let problem = Problem {
        stencils: model.stencils(),
        laws: &laws,
        stored_strains: &[],
        dt,
        gravity: DVec3::ZERO,
        constraints: &constraints,
    };
    let mut solver = Solver::default();
    solver.options.max_newton = 30;
    solver.options.newton_tolerance = 1e-7;
    solver.options.linear.tolerance = 1e-6;
    solver.options.linear.max_iterations = 3000;
    solver.solve(&problem, &mut points);
    let (mut worst, mut largest) = (0.0_f64, 0.0_f64);
    for i in 0..points.len() {
        let rest = points.rest_positions[i];
        let u = points.positions[i] + points.velocities[i] * dt - rest;
        worst = worst.max((u - field * rest).length());
        largest = largest.max((field * rest).length());
    }
    worst / largest
}

#[test]
fn linear_fields_are_reproduced_exactly() {
    let field = patch_field();
    let law = ElasticLaw::from_spec(&material(), DMat3::IDENTITY).unwrap();
    for (name, sample) in [("jitter 0.35", jittered(DVec3::ONE, 0.1, 0.35)), ("scattered", scattered())] {
        for (precision, accepted) in [(Precision::F64, 1e-9), (Precision::Mixed, 1e-3)] {
            let label = |what: &str| format!("solid-patch, {name}, {precision:?} | {what}");
            let (energy, gradients) = deform(&sample, precision, DMat3::IDENTITY + field);
            let error = |f: &DMat3| norm(*f - DMat3::IDENTITY - field) / norm(field);
            let gradient = gradients.iter().map(error).fold(0.0, f64::max);
            check(&label("gradient error"), Want::Small, [1e-9, 1e-12], accepted, gradient);
            let exact = law.energy_density(field);
            let energy = (energy / exact - 1.0).abs();
            check(&label("energy error"), Want::Small, [0.02, 1e-9], 0.02, energy);
        }
    }
}

#[test]
fn the_patch_test_is_solved_on_irregular_points() {
    let sets = [
        ("jitter 0.35, 5³", jittered(DVec3::ONE, 0.2, 0.35)),
        ("jitter 0.35, 10³", jittered(DVec3::ONE, 0.1, 0.35)),
        ("poisson, 5³", sampled(DVec3::ONE, Sampling::Poisson, 0.2)),
        ("poisson, 10³", sampled(DVec3::ONE, Sampling::Poisson, 0.1)),
        ("graded, 10³", sampled(DVec3::ONE, Sampling::Graded, 0.1)),
        ("scattered", scattered()),
    ];
    for (name, sample) in sets {
        let error = solve_patch(&sample);
        check(&format!("solid-patch, {name} | solved patch error"), Want::Small, [0.05, 1e-6], 0.05, error);
    }
}

#[test]
#[ignore = "for the table"]
fn the_patch_test_at_20_points_across() {
    for (name, sample) in [
        ("jitter 0.35, 20³", jittered(DVec3::ONE, 0.05, 0.35)),
        ("poisson, 20³", sampled(DVec3::ONE, Sampling::Poisson, 0.05)),
    ] {
        let error = solve_patch(&sample);
        check(&format!("solid-patch, {name} | solved patch error"), Want::Small, [0.05, 1e-6], 0.05, error);
    }
}
