//! Plastic bodies in the model: forces, energies, flow, and that elastic ones do not notice.

use super::model_tests::{Cube, Scene, material, rms, worst};
use super::{Instructions, MlsModel, reference::Reference};
use crate::materials::plastic::{Symmetric, norm};
use crate::points::Points;
use crate::random::Random;
use crate::scene::{MaterialSpec, Precision};
use glam::{DMat3, DVec3};

fn plastic(young: f64) -> MaterialSpec {
    MaterialSpec { yield_strain: 0.02, creep: 50.0, max_plastic_strain: 0.4, ..material(young, 0.3) }
}

/// Three bodies, the first and the grained second one plastic.
fn scene() -> Scene {
    let mut scene = Scene::mixed_bodies();
    for material in &mut scene.materials[..2] {
        *material = MaterialSpec { yield_strain: 0.02, creep: 50.0, ..material.clone() };
    }
    scene.deform();
    scene
}

fn random_strains(model: &mut MlsModel) -> Vec<Symmetric> {
    let mut random = Random::new(11, 0);
    let mut strains = Vec::new();
    model.plastic_strains(&mut strains);
    for strain in &mut strains {
        *strain = std::array::from_fn(|_| random.between(-0.1, 0.1));
    }
    model.set_plastic_strains(&strains);
    strains
}

fn forces(model: &mut MlsModel, points: &Points) -> Vec<DVec3> {
    let mut out = vec![DVec3::ZERO; points.len()];
    model.internal_forces(points, &mut out);
    out
}

fn energy(model: &mut MlsModel, points: &Points) -> f64 {
    let mut per_body = [0.0; 3];
    model.elastic_energy(points, &mut per_body);
    per_body.iter().sum()
}

#[test]
fn forces_with_plastic_strain_agree_with_the_reference() {
    let scene = scene();
    let laws = scene.laws();
    for (precision, limit) in [(Precision::F64, 1e-11), (Precision::Mixed, 4e-5), (Precision::F32, 4e-5)] {
        for instructions in [Instructions::Base, Instructions::best()] {
            let mut model = scene.model(precision, instructions);
            random_strains(&mut model);
            let (stencils, mut stored) = (model.stencils().clone(), Vec::new());
            model.stored_strains(&mut stored);
            assert!(stored.iter().any(|s| *s != DMat3::ZERO));
            let reference =
                Reference { bodies: &scene.points.bodies, stored_strains: &stored, ..Reference::new(&stencils, &laws) };
            let want = reference.forces(&scene.displacements()).total();
            let got = forces(&mut model, &scene.points);
            let error = worst(&got, &want) / rms(&want);
            assert!(error < limit, "{precision:?} {instructions:?}: {error:e}");
        }
    }
}

#[test]
fn force_is_minus_the_slope_of_the_energy_at_held_plastic_strain() {
    let scene = scene();
    let mut model = scene.model(Precision::F64, Instructions::best());
    random_strains(&mut model);
    let forces = forces(&mut model, &scene.points);
    let (scale, step) = (rms(&forces), 1e-6);
    for (i, axis) in [(0, 0), (31, 1), (174, 2), (180, 0), (250, 1), (400, 0)] {
        let mut at = |shift: f64| {
            let mut moved = scene.points.clone();
            moved.positions[i][axis] += shift;
            energy(&mut model, &moved)
        };
        let slope = (at(step) - at(-step)) / (2.0 * step);
        assert!((slope + forces[i][axis]).abs() < 1e-6 * scale, "{i}: {slope} against {}", forces[i][axis]);
    }
}

#[test]
fn flow_takes_exactly_the_energy_it_says() {
    let scene = scene();
    let mut model = scene.model(Precision::F64, Instructions::best());
    model.load_positions(&scene.points);
    let before = energy(&mut model, &scene.points);
    let mut taken = 0.0;
    for dt in [1e-4, 1e-2, 1.0] {
        let step = model.flow_and_compute_stresses(&scene.points, dt);
        assert!(step > 0.0);
        taken += step;
        let now = energy(&mut model, &scene.points);
        assert!((before - now - taken).abs() < 1e-9 * before, "{before} {now} {taken}");
    }
    // The third body is elastic.
    let mut strains = Vec::new();
    model.plastic_strains(&mut strains);
    assert!(strains[scene.ranges[2].clone()].iter().all(|s| *s == [0.0; 6]));
    assert!(strains[scene.ranges[0].clone()].iter().any(|s| norm(s) > 0.01));
}

#[test]
fn an_elastic_body_beside_a_plastic_one_has_the_same_bits() {
    let scene = scene();
    let elastic = Scene::mixed_bodies();
    let (mut with, mut without) =
        (scene.model(Precision::Mixed, Instructions::best()), elastic.model(Precision::Mixed, Instructions::best()));
    with.load_positions(&scene.points);
    with.flow_and_compute_stresses(&scene.points, 0.01);
    let (with, without) = (forces(&mut with, &scene.points), forces(&mut without, &scene.points));
    assert_eq!(with[scene.ranges[2].clone()], without[scene.ranges[2].clone()]);
    assert_ne!(with[scene.ranges[0].clone()], without[scene.ranges[0].clone()]);
}

/// A cube let go with a stretch of 1.3 and a spin, for 0.05 s of steps `part` of the largest; returns it.
fn release(part: f64) -> (Points, MlsModel, [f64; 3]) {
    let mut scene = Scene::of(&[(Cube { jitter: 0.2, ..Cube::new(6) }, plastic(1e5))]);
    let center = scene.points.rest_positions.iter().sum::<DVec3>() / scene.points.len() as f64;
    for i in 0..scene.points.len() {
        let x = scene.points.rest_positions[i] - center;
        scene.points.positions[i] = center + x * DVec3::new(1.3, 0.9, 0.9);
        scene.points.velocities[i] = DVec3::new(0.0, 0.0, 3.0).cross(x);
    }
    let mut model = scene.model(Precision::Mixed, Instructions::best());
    let kinetic = |points: &Points| {
        points.velocities.iter().zip(&points.masses).map(|(v, m)| 0.5 * m * v.length_squared()).sum::<f64>()
    };
    let start = energy(&mut model, &scene.points) + kinetic(&scene.points);
    let (steps, mut taken) = ((0.05 / (0.4 * part * model.stable_time_step())).ceil() as usize, 0.0);
    let dt = 0.05 / steps as f64;
    model.load_positions(&scene.points);
    for _ in 0..steps {
        taken += model.flow_and_compute_stresses(&scene.points, dt);
        model.integrate_velocities(&mut scene.points, dt, DVec3::ZERO);
        model.move_points(&mut scene.points, dt);
    }
    let end = energy(&mut model, &scene.points) + kinetic(&scene.points);
    (scene.points, model, [start, end, taken])
}

#[test]
fn a_quarter_of_the_step_gives_the_same_lasting_shape() {
    let (long, model, _) = release(1.0);
    let (short, fine, _) = release(0.25);
    let mut strains = [Vec::new(), Vec::new()];
    model.plastic_strains(&mut strains[0]);
    fine.plastic_strains(&mut strains[1]);
    let mean = |s: &[Symmetric]| s.iter().map(norm).sum::<f64>() / s.len() as f64;
    let (coarse, fine) = (mean(&strains[0]), mean(&strains[1]));
    assert!(coarse > 0.05 && (coarse / fine - 1.0).abs() < 0.02, "{coarse} {fine}");
    let size = rms(&short.positions.iter().zip(&short.rest_positions).map(|(x, r)| *x - *r).collect::<Vec<_>>());
    let apart = worst(&long.positions, &short.positions);
    assert!(apart < 0.05 * size, "{apart} m apart after moves of {size} m");
}

#[test]
fn no_energy_appears_and_little_volume_is_lost() {
    let (points, mut model, [start, end, taken]) = release(1.0);
    assert!(taken > 0.2 * start, "{taken} of {start} J went into flow");
    assert!((end + taken - start).abs() < 0.02 * start, "{start} J became {end} J and {taken} J of flow");
    let mut gradients = Vec::new();
    model.deformation_gradients(&points, &mut gradients);
    let volume: f64 = gradients.iter().zip(&points.volumes).map(|(j, v)| j.determinant() * v).sum();
    let ratio = volume / points.volumes.iter().sum::<f64>();
    assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
}
