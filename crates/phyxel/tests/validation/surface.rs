//! Surfaces of a sphere: projection on a point cloud, volume around simulation points, surfels carried by an affine map.

use crate::lab::{Want, check};
use glam::{DMat3, DVec3, Vec3};
use phyxel::geometry::{Cloud, CloudShape, Shape};
use phyxel::random::Random;
use phyxel::surface::{Carrier, IsoSurface, Surfels};
use std::f64::consts::PI;

/// Point k of `count` on the unit sphere.
fn fibonacci(k: usize, count: usize) -> DVec3 {
    let y = 1.0 - (2.0 * k as f64 + 1.0) / count as f64;
    let (sin, cos) = (2.399_963_229_728_653 * k as f64).sin_cos();
    DVec3::new((1.0 - y * y).sqrt() * cos, y, (1.0 - y * y).sqrt() * sin)
}

/// Largest distance from the sphere of 200 points that were moved off by up to 5 % and led back.
fn projection_error(count: usize) -> f64 {
    let normals: Vec<DVec3> = (0..count).map(|k| fibonacci(k, count)).collect();
    let (shape, _) = CloudShape::new(&Cloud { positions: normals.clone(), normals });
    let off = |k: usize| {
        let mut random = Random::new(3, k as u64);
        let mut x = fibonacci(k, 200) * (1.0 + 0.1 * (random.unit() - 0.5));
        for _ in 0..4 {
            let (distance, normal) = shape.distance_normal(x);
            x -= distance * normal;
        }
        (x.length() - 1.0).abs()
    };
    (0..200).map(off).fold(0.0, f64::max)
}

/// Volume of the mesh around a unit ball of about so many points of a close-packed lattice.
fn volume_around(count: usize) -> f64 {
    let spacing = (4.0 / 3.0 * PI / count as f64 * 2f64.sqrt()).cbrt();
    let n = (1.5 / spacing) as i32 + 2;
    let axis = || -n..=n;
    let sites = axis().flat_map(|z| axis().flat_map(move |y| axis().map(move |x| (x, y, z))));
    let even = sites.filter(|(x, y, z)| (x + y + z) % 2 == 0);
    let places = even.map(|(x, y, z)| DVec3::new(x.into(), y.into(), z.into()) * spacing / 2f64.sqrt());
    let inside: Vec<Vec3> = places.filter(|p| p.length() < 1.0).map(|p| p.as_vec3()).collect();
    IsoSurface::around(&inside, spacing as f32).volume()
}

#[test]
fn sphere() {
    let errors = [640, 2560, 10240].map(projection_error);
    check("surface-sphere projection_2560", Want::Small, [0.006, 0.0005], 0.006, errors[1]);
    let order = 0.5 * (errors[0] / errors[2]).log2();
    println!("| surface-sphere projection_order | 2 | {order:.2} | | 1.8 | 1.95 | |");
    assert!(order > 1.8, "{order} from {errors:?}");
    let wanted = 4.0 / 3.0 * PI;
    check("surface-sphere volume_4000", Want::Near(wanted), [0.05, 0.01], 0.05, volume_around(4000));
    check("surface-sphere volume_32000", Want::Near(wanted), [0.03, 0.005], 0.03, volume_around(32000));
}

/// Coarse particles at the surface leave no pits: half of the ball has an eighth as many.
#[test]
fn uneven_particles() {
    let (mut places, mut spacings) = (Vec::new(), Vec::new());
    for (spacing, side) in [(0.06f32, 1.0), (0.12, -1.0)] {
        let n = (1.0 / spacing) as i32 + 1;
        let along = move |k: i32| (k as f32 + 0.5) * spacing;
        for k in 0..8 * n * n * n {
            let at = Vec3::new(along(k % (2 * n) - n), along(k / (2 * n) % (2 * n) - n), along(k / (4 * n * n) - n));
            if at.y * side > 0.0 && at.length() < 1.0 {
                places.push(at);
                spacings.push(spacing);
            }
        }
    }
    let (mesh, least) = IsoSurface::around_tough(&places, &spacings);
    assert_eq!(least, 0.06);
    let volume = mesh.volume() / (4.0 / 3.0 * PI);
    assert!((volume - 1.0).abs() < 0.05, "{volume}");
    let far = |p: &&Vec3| (p.length() - 1.0).abs() > 0.12;
    assert_eq!(mesh.positions.iter().filter(far).count(), 0, "pits or bumps deeper than a coarse spacing");
}

#[test]
fn affine_skinning() {
    let (points, surfels) = (4000, 10_000);
    let solid: Vec<DVec3> = (0..points).map(|k| fibonacci(k, points) * (k as f64 / points as f64).cbrt()).collect();
    let mut rest = Surfels::default();
    for k in 0..surfels {
        let n = fibonacci(k, surfels).as_vec3();
        let (u, v) = n.any_orthonormal_pair();
        rest.positions.push(n);
        rest.normals.push(n);
        rest.axes_u.push(0.01 * u);
        rest.axes_v.push(0.01 * v);
        rest.colors.push([0; 3]);
    }
    let map = DMat3::from_cols(DVec3::new(1.2, -0.05, 0.1), DVec3::new(0.1, 0.9, 0.0), DVec3::new(0.0, 0.2, 1.1));
    let moved: Vec<DVec3> = solid.iter().map(|p| map * *p + DVec3::X).collect();
    let mut carrier = Carrier::bind(rest.clone(), &solid, &vec![0.3; points]);
    let mut out = Surfels::default();
    carrier.update(&moved, &solid, &vec![map; points], &mut out);
    let (mut off, mut turned) = (0f64, 0f64);
    let cofactor = map.inverse().transpose();
    for k in 0..surfels {
        let expected = map * rest.positions[k].as_dvec3() + DVec3::X;
        off = off.max(out.center(k).distance(expected) / 2.0);
        let normal = (cofactor * rest.normals[k].as_dvec3()).normalize();
        turned = turned.max(normal.cross(out.normals[k].as_dvec3()).length());
    }
    check("surface-sphere affine_skinning", Want::Small, [1e-9, 1e-12], 1e-9, off);
    check("surface-sphere affine_normals", Want::Small, [1e-6, 1e-10], 1e-6, turned);
}
