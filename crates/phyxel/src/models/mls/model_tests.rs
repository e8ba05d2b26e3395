//! `MlsModel` against the plain reference, and the promises of the fast passes.

use super::fast::Instructions;
use super::reference::Reference;
use super::*;
use crate::materials::ElasticLaw;
use crate::points::Points;
use crate::random::Random;
use crate::sampling::SurfacePatch;
use crate::scene::{Anisotropy, MaterialSpec, Precision};
use glam::{DMat3, DVec3};
use std::ops::Range;

const INSTRUCTIONS: [Instructions; 4] =
    [Instructions::Base, Instructions::Avx2, Instructions::Avx2Fma, Instructions::Avx512];

pub(super) fn material(young: f64, poisson: f64) -> MaterialSpec {
    MaterialSpec {
        young,
        poisson,
        density: 1000.0,
        damping: 0.0,
        smoothing: 0.0,
        friction: 0.5,
        collapse_ratio: 0.6,
        ..MaterialSpec::default()
    }
}

fn wood() -> MaterialSpec {
    let anisotropy = Anisotropy::Orthotropic {
        young: [1e6, 1e5, 2e5],
        poisson: [0.3, 0.2, 0.05],
        shear: [1e5, 5e4, 8e4],
        rotate: DVec3::new(10.0, 20.0, 30.0),
    };
    MaterialSpec { anisotropy: Some(anisotropy), volume_stiffness: 2e5, ..material(1e6, 0.3) }
}

/// A box of n points with surface patches, moved apart by `jitter` spacings; spacing grows along x by `grading` in all.
#[derive(Clone)]
pub(super) struct Cube {
    pub side: [usize; 3],
    pub spacing: f64,
    pub jitter: f64,
    pub grading: f64,
}

impl Cube {
    pub fn new(side: usize) -> Self {
        Self { side: [side; 3], spacing: 0.05, jitter: 0.0, grading: 1.0 }
    }

    fn add(&self, points: &mut Points, body: u32, at: DVec3, density: f64) -> Vec<SurfacePatch> {
        let mut random = Random::new(7, body as u64);
        let size = DVec3::from_array(self.side.map(|n| n as f64)) * self.spacing;
        // Along x the cells grow geometrically and still fill the same length.
        let ratio = self.grading.powf(1.0 / (self.side[0].max(2) - 1) as f64);
        let widths: Vec<f64> = (0..self.side[0]).map(|k| ratio.powi(k as i32)).collect();
        let scale = size.x / widths.iter().sum::<f64>();
        for z in 0..self.side[2] {
            for y in 0..self.side[1] {
                let mut x = 0.0;
                for width in &widths {
                    let cell = DVec3::new(width * scale, self.spacing, self.spacing);
                    let center = DVec3::new(x + 0.5 * cell.x, (y as f64 + 0.5) * cell.y, (z as f64 + 0.5) * cell.z);
                    let place = at + center + random.in_cube() * self.jitter * cell;
                    let volume = cell.x * cell.y * cell.z;
                    points.push(body, place, density * volume, volume, self.spacing);
                    x += cell.x;
                }
            }
        }
        self.patches(at, size)
    }

    fn patches(&self, at: DVec3, size: DVec3) -> Vec<SurfacePatch> {
        let mut patches = Vec::new();
        for axis in 0..3 {
            let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
            let (nu, nv) = (self.side[u], self.side[v]);
            let (du, dv) = (size[u] / nu as f64, size[v] / nv as f64);
            for k in 0..nu * nv * 2 {
                let side = (k % 2) as f64;
                let mut position = DVec3::ZERO;
                position[axis] = side * size[axis];
                position[u] = ((k / 2 % nu) as f64 + 0.5) * du;
                position[v] = ((k / 2 / nu) as f64 + 0.5) * dv;
                let normal = DVec3::AXES[axis] * (2.0 * side - 1.0);
                patches.push(SurfacePatch { position: position + at, normal, area: du * dv });
            }
        }
        patches
    }
}

/// Three bodies: jittered and graded, odd counts so that blocks of eight straddle bodies and materials.
pub(super) struct Scene {
    pub points: Points,
    pub ranges: Vec<Range<usize>>,
    pub materials: Vec<MaterialSpec>,
    patches: Vec<Vec<SurfacePatch>>,
}

impl Scene {
    pub fn of(cubes: &[(Cube, MaterialSpec)]) -> Self {
        let mut scene = Self { points: Points::default(), ranges: vec![], materials: vec![], patches: vec![] };
        for (body, (cube, material)) in cubes.iter().enumerate() {
            let start = scene.points.len();
            let at = DVec3::new(3.0 * body as f64 + 1.0, 0.3, -0.2);
            scene.patches.push(cube.add(&mut scene.points, body as u32, at, material.density));
            scene.ranges.push(start..scene.points.len());
            scene.materials.push(material.clone());
        }
        scene
    }

    pub fn mixed_bodies() -> Self {
        Self::of(&[
            (Cube { jitter: 0.25, side: [7, 5, 5], ..Cube::new(5) }, material(1e6, 0.3)),
            (Cube { grading: 3.0, jitter: 0.1, side: [9, 5, 3], ..Cube::new(5) }, wood()),
            (Cube { jitter: 0.2, ..Cube::new(5) }, MaterialSpec { volume_stiffness: 1e5, ..material(2e5, 0.45) }),
        ])
    }

    fn bodies(&self) -> Vec<MlsBody<'_>> {
        (0..self.ranges.len())
            .map(|b| MlsBody {
                range: self.ranges[b].clone(),
                material: &self.materials[b],
                rotation: DMat3::from_rotation_y(0.3 * b as f64),
                patches: &self.patches[b],
            })
            .collect()
    }

    pub fn model(&self, precision: Precision, instructions: Instructions) -> MlsModel {
        MlsModel::with_instructions(&self.points, &self.bodies(), precision, instructions).unwrap()
    }

    pub fn laws(&self) -> Vec<ElasticLaw> {
        self.bodies().iter().map(|b| ElasticLaw::from_spec(b.material, b.rotation).unwrap()).collect()
    }

    /// A large smooth deformation with a rotation and a shift, crushed in places, plus noise.
    pub fn deform(&mut self) {
        let mut random = Random::new(3, 0);
        let turn = DMat3::from_rotation_z(0.7);
        for i in 0..self.points.len() {
            let x = self.points.rest_positions[i];
            let wave = DVec3::new((9.0 * x.y).sin(), (11.0 * x.z + x.x).cos(), (8.0 * x.x).sin()) * 0.05;
            self.points.positions[i] = turn * (x + wave) + DVec3::new(5.0, -3.0, 2.0) + random.in_cube() * 2e-3;
        }
    }

    pub fn displacements(&self) -> Vec<DVec3> {
        self.points.positions.iter().zip(&self.points.rest_positions).map(|(x, r)| *x - *r).collect()
    }
}

pub(super) fn rms(values: &[DVec3]) -> f64 {
    (values.iter().map(|v| v.length_squared()).sum::<f64>() / values.len() as f64).sqrt()
}

pub(super) fn worst(a: &[DVec3], b: &[DVec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (*a - *b).length()).fold(0.0, f64::max)
}

#[test]
fn forces_agree_with_the_reference() {
    let mut scene = Scene::mixed_bodies();
    scene.deform();
    let laws = scene.laws();
    for precision in [Precision::F64, Precision::Mixed, Precision::F32] {
        for instructions in INSTRUCTIONS.into_iter().filter(|level| level.available()) {
            let mut model = scene.model(precision, instructions);
            let stencils = model.stencils().clone();
            assert!(stencils.q.iter().any(|q| *q != DVec3::ZERO), "the correction is on");
            let reference = Reference { bodies: &scene.points.bodies, ..Reference::new(&stencils, &laws) };
            let want = reference.forces(&scene.displacements()).total();
            let mut got = vec![DVec3::ZERO; want.len()];
            model.internal_forces(&scene.points, &mut got);
            let error = worst(&got, &want) / rms(&want);
            let limit = if precision == Precision::F64 { 1e-11 } else { 4e-5 };
            println!("{precision:?} {instructions:?}: {error:.1e}");
            assert!(error < limit, "{precision:?} {instructions:?}: {error:e}");
            let total: DVec3 = got.iter().sum();
            let limit = if precision == Precision::F64 { 1e-13 } else { 1e-7 };
            assert!(total.length() < limit * rms(&want) * want.len() as f64, "{precision:?}: momentum {total}");
        }
    }
}

#[test]
fn force_is_minus_the_slope_of_the_energy() {
    let mut scene = Scene::mixed_bodies();
    scene.deform();
    let mut model = scene.model(Precision::F64, Instructions::best());
    let mut forces = vec![DVec3::ZERO; scene.points.len()];
    model.internal_forces(&scene.points, &mut forces);
    let scale = rms(&forces);
    let step = 1e-6;
    for (i, axis) in [(0, 0), (31, 1), (174, 2), (180, 0), (250, 1), (311, 2), (400, 0)] {
        let mut energy = |shift: f64| {
            let mut moved = scene.points.clone();
            moved.positions[i][axis] += shift;
            let mut per_body = [0.0; 3];
            model.elastic_energy(&moved, &mut per_body);
            per_body.iter().sum::<f64>()
        };
        let slope = (energy(step) - energy(-step)) / (2.0 * step);
        assert!((slope + forces[i][axis]).abs() < 1e-6 * scale, "{i}: {slope} against {}", forces[i][axis]);
    }
}

#[test]
fn energy_agrees_with_the_reference() {
    let mut scene = Scene::mixed_bodies();
    scene.deform();
    let laws = scene.laws();
    let mut model = scene.model(Precision::Mixed, Instructions::best());
    let mut per_body = [0.0; 3];
    model.elastic_energy(&scene.points, &mut per_body);
    let reference = Reference { bodies: &scene.points.bodies, ..Reference::new(model.stencils(), &laws) };
    let want = reference.energies(&scene.displacements()).total();
    let got: f64 = per_body.iter().sum();
    assert!((got / want - 1.0).abs() < 1e-5, "{got} against {want}");
}

#[test]
fn internal_forces_exert_no_net_force_or_torque() {
    let mut scene = Scene::mixed_bodies();
    scene.deform();
    for (precision, limit) in [(Precision::F64, 1e-13), (Precision::Mixed, 3e-7), (Precision::F32, 3e-7)] {
        let mut model = scene.model(precision, Instructions::best());
        let mut forces = vec![DVec3::ZERO; scene.points.len()];
        model.internal_forces(&scene.points, &mut forces);
        for range in &scene.ranges {
            let (force, own) = (&forces[range.clone()], &scene.points.positions[range.clone()]);
            let center = own.iter().sum::<DVec3>() / own.len() as f64;
            let torque: DVec3 = own.iter().zip(force).map(|(x, f)| (*x - center).cross(*f)).sum();
            let total: DVec3 = force.iter().sum();
            let scale = rms(force) * force.len() as f64;
            assert!(total.length() < limit * scale, "{precision:?}: {:e}", total.length() / scale);
            assert!(torque.length() < limit * 0.3 * scale, "{precision:?}: {:e}", torque.length() / scale);
        }
    }
}

#[test]
fn rigid_motion_gives_no_force() {
    let mut scene = Scene::mixed_bodies();
    let turn = DMat3::from_axis_angle(DVec3::new(1.0, 2.0, 3.0).normalize(), 2.0);
    for (x, rest) in scene.points.positions.iter_mut().zip(&scene.points.rest_positions) {
        *x = turn * *rest + DVec3::new(100.0, -50.0, 20.0);
    }
    // The force that one percent of stretch would give is the scale.
    for (precision, limit) in [(Precision::F64, 1e-9), (Precision::Mixed, 1e-3), (Precision::F32, 1e-3)] {
        let mut model = scene.model(precision, Instructions::best());
        let mut forces = vec![DVec3::ZERO; scene.points.len()];
        model.internal_forces(&scene.points, &mut forces);
        let scale = 0.01 * 1e6 * 0.05 * 0.05;
        let worst = forces.iter().map(|f| f.length()).fold(0.0, f64::max);
        assert!(worst < limit * scale, "{precision:?}: {:e}", worst / scale);
    }
}

fn substeps(model: &mut MlsModel, points: &mut Points, count: usize, dt: f64, gravity: DVec3) {
    for _ in 0..count {
        model.compute_stresses(points);
        model.integrate_velocities(points, dt, gravity);
        for (x, v) in points.positions.iter().zip(&mut points.velocities) {
            v.y = v.y.max(-x.y / dt);
        }
        assert!(model.move_points(points, dt).finite);
    }
}

fn hash(points: &Points) -> u64 {
    let values = points.positions.iter().chain(&points.velocities).flat_map(|v| v.to_array());
    values.fold(0xcbf29ce484222325, |h, v| (h ^ v.to_bits()).wrapping_mul(0x100000001b3))
}

/// A jittered body above the threshold of the parallel passes, falling on the floor.
fn falling() -> Scene {
    let cube = Cube { jitter: 0.2, side: [14, 13, 12], ..Cube::new(5) };
    let mut scene = Scene::of(&[(cube, material(1e6, 0.3)), (Cube { jitter: 0.1, ..Cube::new(5) }, wood())]);
    // Without its surface the large body needs no correction, which would take most of the time.
    scene.patches[0].clear();
    for v in &mut scene.points.velocities {
        *v = DVec3::new(0.3, -5.0, 0.1);
    }
    scene.points.positions.iter_mut().for_each(|x| x.y -= 0.29);
    scene
}

#[test]
fn bits_do_not_depend_on_threads_or_vector_width() {
    let scene = falling();
    let gravity = DVec3::new(0.0, -9.81, 0.0);
    for precision in [Precision::Mixed, Precision::F32, Precision::F64] {
        let run = |instructions: Instructions, threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut points = scene.points.clone();
                let mut model = scene.model(precision, instructions);
                let dt = model.stable_time_step();
                substeps(&mut model, &mut points, 30, dt, gravity);
                hash(&points)
            })
        };
        let one = run(Instructions::best(), 1);
        for threads in 2..=4 {
            assert_eq!(run(Instructions::best(), threads), one, "{precision:?}, {threads} threads");
        }
        for (narrow, wide) in [(Instructions::Base, Instructions::Avx2), (Instructions::Avx2Fma, Instructions::Avx512)]
        {
            if narrow.available() && wide.available() {
                assert_eq!(run(narrow, 2), run(wide, 2), "{precision:?}: {narrow:?} and {wide:?}");
            }
        }
    }
}

#[test]
fn restart_from_positions_gives_the_same_bits() {
    let scene = falling();
    for precision in [Precision::Mixed, Precision::F32, Precision::F64] {
        let mut points = scene.points.clone();
        let mut model = scene.model(precision, Instructions::best());
        let dt = model.stable_time_step();
        substeps(&mut model, &mut points, 10, dt, DVec3::ZERO);
        let mut fresh = scene.model(precision, Instructions::best());
        let mut copy = points.clone();
        fresh.load_positions(&copy);
        substeps(&mut fresh, &mut copy, 10, dt, DVec3::ZERO);
        substeps(&mut model, &mut points, 10, dt, DVec3::ZERO);
        assert_eq!(hash(&points), hash(&copy), "{precision:?}");
    }
}

#[test]
fn free_vibration_keeps_energy() {
    for precision in [Precision::Mixed, Precision::F32, Precision::F64] {
        let mut scene = Scene::of(&[(Cube { jitter: 0.2, ..Cube::new(6) }, material(1e6, 0.3))]);
        let center = scene.points.positions.iter().sum::<DVec3>() / scene.points.len() as f64;
        for x in &mut scene.points.positions {
            *x = center + (*x - center) * DVec3::new(1.1, 0.95, 1.0) + DVec3::Y * 100.0;
        }
        let mut model = scene.model(precision, Instructions::best());
        let dt = 0.5 * model.stable_time_step();
        let mut points = scene.points.clone();
        let energy = |model: &mut MlsModel, points: &Points| {
            let mut elastic = [0.0];
            model.elastic_energy(points, &mut elastic);
            let kinetic = |i: usize| 0.5 * points.masses[i] * points.velocities[i].length_squared();
            elastic[0] + (0..points.len()).map(kinetic).sum::<f64>()
        };
        let start = energy(&mut model, &points);
        let samples: Vec<f64> = (0..40)
            .map(|_| {
                substeps(&mut model, &mut points, 50, dt, DVec3::ZERO);
                energy(&mut model, &points) / start
            })
            .collect();
        // Velocities lag half a step behind positions, which makes the sum swing by a few percent; its mean must not drift.
        assert!(samples.iter().all(|e| (0.95..1.06).contains(e)), "{precision:?}: {samples:?}");
        let half = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
        let drift = half(&samples[20..]) - half(&samples[..20]);
        assert!(drift.abs() < 0.005, "{precision:?}: energy drifts by {drift}");
    }
}

#[test]
fn affine_motion_is_seen_exactly() {
    let mut scene = Scene::mixed_bodies();
    let f = DMat3::from_cols_array(&[1.1, 0.05, 0.0, -0.1, 0.8, 0.02, 0.0, 0.1, 1.05]);
    for (x, rest) in scene.points.positions.iter_mut().zip(&scene.points.rest_positions) {
        *x = f * *rest;
    }
    let mut model = scene.model(Precision::Mixed, Instructions::best());
    let mut gradients = Vec::new();
    model.deformation_gradients(&scene.points, &mut gradients);
    let worst = gradients.iter().map(|g| (*g - f).to_cols_array().iter().fold(0.0f64, |m, v| m.max(v.abs())));
    assert!(worst.fold(0.0, f64::max) < 2e-6);
    model.compute_stresses(&scene.points);
    let green = crate::materials::elastic::green_strain(f - DMat3::IDENTITY, DMat3::ZERO);
    let norm = green.to_cols_array().iter().map(|g| g * g).sum::<f64>().sqrt();
    let extremes = model.extremes();
    assert!((extremes.max_strain - norm).abs() < 1e-5 && (extremes.min_det - f.determinant()).abs() < 1e-5);
}

#[test]
fn a_new_material_acts_as_if_built_with_it() {
    let mut scene = Scene::mixed_bodies();
    scene.deform();
    let mut changed = scene.model(Precision::Mixed, Instructions::best());
    scene.materials.swap(0, 2);
    // By a power of four, which leaves the weights the same to the last bit.
    if let Some(Anisotropy::Orthotropic { young, shear, .. }) = &mut scene.materials[1].anisotropy {
        [*young, *shear] = [young.map(|e| 4.0 * e), shear.map(|g| 4.0 * g)];
    }
    for body in 0..3 {
        changed.set_material(body, &scene.materials[body]).unwrap();
    }
    let mut built = scene.model(Precision::Mixed, Instructions::best());
    let mut forces = [vec![DVec3::ZERO; scene.points.len()], vec![DVec3::ZERO; scene.points.len()]];
    changed.internal_forces(&scene.points, &mut forces[0]);
    built.internal_forces(&scene.points, &mut forces[1]);
    // Neighbors in one block of points share the path of their stresses: rounding only.
    assert!(worst(&forces[0], &forces[1]) < 1e-6 * rms(&forces[1]));
    assert_eq!(changed.stable_time_step(), built.stable_time_step());
}

#[test]
fn external_forces_are_used_once() {
    let mut scene = Scene::of(&[(Cube::new(3), material(1e6, 0.3))]);
    let mut model = scene.model(Precision::Mixed, Instructions::best());
    let push = DVec3::new(1.0, 2.0, 3.0);
    scene.points.forces.fill(push);
    model.compute_stresses(&scene.points);
    model.integrate_velocities(&mut scene.points, 1e-3, DVec3::ZERO);
    assert!(scene.points.forces.iter().all(|f| *f == DVec3::ZERO));
    let want = push * 1e-3 / scene.points.masses[0];
    assert!(scene.points.velocities.iter().all(|v| (*v - want).length() < 1e-12 * want.length()));
}

#[test]
fn a_state_that_is_not_finite_is_reported() {
    let mut scene = Scene::of(&[(Cube::new(4), material(1e6, 0.3))]);
    let mut model = scene.model(Precision::Mixed, Instructions::best());
    scene.points.velocities[20].z = f64::NAN;
    assert!(!model.move_points(&mut scene.points, 1e-4).finite);
    model.compute_stresses(&scene.points);
    assert!(!model.extremes().max_strain.is_finite());
    model.integrate_velocities(&mut scene.points, 1e-4, DVec3::ZERO);
    assert!(!model.move_points(&mut scene.points, 1e-4).finite);
}

#[test]
fn nothing_and_single_points_are_defined() {
    let mut nothing = MlsModel::new(&Points::default(), &[], Precision::Mixed).unwrap();
    nothing.compute_stresses(&Points::default());
    assert_eq!(nothing.stable_time_step(), f64::INFINITY);
    let mut points = Points::default();
    points.push(0, DVec3::ONE, 1.0, 1.0, 1.0);
    let stuff = material(1e6, 0.3);
    let body = MlsBody { range: 0..1, material: &stuff, rotation: DMat3::IDENTITY, patches: &[] };
    let mut model = MlsModel::new(&points, &[body], Precision::Mixed).unwrap();
    substeps(&mut model, &mut points, 3, 1e-3, DVec3::NEG_Y);
    assert!(points.positions[0].is_finite() && points.positions[0].y < 1.0);
}

/// Largest frequency of the undeformed body by power iteration [rad/s].
fn largest_frequency(model: &mut MlsModel, points: &Points) -> f64 {
    let mut moved = points.clone();
    let mut mode: Vec<DVec3> = (0..points.len()).map(|i| Random::new(5, i as u64).in_cube()).collect();
    let mut forces = vec![DVec3::ZERO; points.len()];
    let mut square = 0.0;
    for _ in 0..100 {
        for i in 0..points.len() {
            moved.positions[i] = points.rest_positions[i] + mode[i] * 1e-7;
        }
        model.internal_forces(&moved, &mut forces);
        let work: f64 = forces.iter().zip(&mode).map(|(f, v)| -f.dot(*v) / 1e-7).sum();
        let mass: f64 = points.masses.iter().zip(&mode).map(|(m, v)| m * v.length_squared()).sum();
        square = work / mass;
        let accelerations: Vec<DVec3> = forces.iter().zip(&points.masses).map(|(f, m)| *f / *m).collect();
        let largest = accelerations.iter().map(|a| a.length()).fold(0.0, f64::max);
        mode = accelerations.iter().map(|a| *a / largest).collect();
    }
    square.sqrt()
}

#[test]
fn the_time_step_keeps_its_distance_from_the_limit() {
    let graded = Cube { grading: 3.0, jitter: 0.1, side: [9, 5, 5], ..Cube::new(5) };
    for cube in [Cube::new(6), Cube { jitter: 0.25, ..Cube::new(6) }, graded] {
        for material in [material(1e6, 0.3), material(1e5, 0.45), wood()] {
            let scene = Scene::of(&[(cube.clone(), material)]);
            let mut model = scene.model(Precision::F64, Instructions::best());
            let limit = 2.0 / largest_frequency(&mut model, &scene.points);
            let part = model.stable_time_step() / limit;
            assert!((0.2..0.7).contains(&part), "{part} of the limit");
        }
    }
}

#[test]
fn an_impact_at_20_meters_per_second_is_survived() {
    let mut scene = Scene::of(&[(Cube { jitter: 0.2, ..Cube::new(8) }, material(1e6, 0.3))]);
    scene.points.velocities.fill(DVec3::new(0.5, -20.0, 0.0));
    scene.points.positions.iter_mut().for_each(|x| x.y -= 0.25);
    let mut model = scene.model(Precision::Mixed, Instructions::best());
    let dt = model.stable_time_step();
    substeps(&mut model, &mut scene.points, (0.06 / dt) as usize, dt, DVec3::ZERO);
    let upward: DVec3 = scene.points.velocities.iter().sum::<DVec3>() / scene.points.len() as f64;
    let fastest = scene.points.velocities.iter().map(|v| v.length()).fold(0.0, f64::max);
    assert!(upward.y > 5.0 && upward.y < 20.0 && fastest < 100.0, "rebounds at {upward}, fastest {fastest}");
}
