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

fn material(young: f64, poisson: f64) -> MaterialSpec {
    MaterialSpec {
        preset: None,
        young,
        poisson,
        density: 1000.0,
        damping: 0.0,
        volume_stiffness: 0.0,
        collapse_stiffness: None,
        collapse_ratio: 0.6,
        control: 1.5,
        anisotropy: None,
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
struct Cube {
    side: [usize; 3],
    spacing: f64,
    jitter: f64,
    grading: f64,
}

impl Cube {
    fn new(side: usize) -> Self {
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
struct Scene {
    points: Points,
    ranges: Vec<Range<usize>>,
    materials: Vec<MaterialSpec>,
    patches: Vec<Vec<SurfacePatch>>,
}

impl Scene {
    fn of(cubes: &[(Cube, MaterialSpec)]) -> Self {
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

    fn mixed_bodies() -> Self {
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

    fn model(&self, precision: Precision, instructions: Instructions) -> MlsModel {
        MlsModel::with_instructions(&self.points, &self.bodies(), precision, instructions).unwrap()
    }

    fn laws(&self) -> Vec<ElasticLaw> {
        self.bodies().iter().map(|b| ElasticLaw::from_spec(b.material, b.rotation).unwrap()).collect()
    }

    /// A large smooth deformation with a rotation and a shift, crushed in places, plus noise.
    fn deform(&mut self) {
        let mut random = Random::new(3, 0);
        let turn = DMat3::from_rotation_z(0.7);
        for i in 0..self.points.len() {
            let x = self.points.rest_positions[i];
            let wave = DVec3::new((9.0 * x.y).sin(), (11.0 * x.z + x.x).cos(), (8.0 * x.x).sin()) * 0.05;
            self.points.positions[i] = turn * (x + wave) + DVec3::new(5.0, -3.0, 2.0) + random.in_cube() * 2e-3;
        }
    }

    fn displacements(&self) -> Vec<DVec3> {
        self.points.positions.iter().zip(&self.points.rest_positions).map(|(x, r)| *x - *r).collect()
    }
}

fn rms(values: &[DVec3]) -> f64 {
    (values.iter().map(|v| v.length_squared()).sum::<f64>() / values.len() as f64).sqrt()
}

fn worst(a: &[DVec3], b: &[DVec3]) -> f64 {
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
