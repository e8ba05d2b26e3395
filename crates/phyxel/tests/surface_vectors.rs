//! Golden vectors of [MKN04] 5: displaced surfels, implicit surface, boundary measures, computed in f64 by an independent prototype.

use glam::{DMat3, DVec3, Vec3};
use phyxel::neighbors::Neighborhoods;
use phyxel::surface::{Carrier, Falloff, GaussianField, Surfels, anisotropy, exposure};
use serde_json::Value;

fn vectors(value: &Value) -> Vec<DVec3> {
    value.as_array().unwrap().iter().map(vector).collect()
}

fn vector(value: &Value) -> DVec3 {
    DVec3::from_array(std::array::from_fn(|k| value[k].as_f64().unwrap()))
}

#[test]
fn displacement_equals_the_prototype() {
    let data: Value = serde_json::from_str(include_str!("vectors/surface_displacement.json")).unwrap();
    let points = vectors(&data["phyxels"]);
    let moved: Vec<DVec3> = points.iter().zip(vectors(&data["u"])).map(|(x, u)| x + u).collect();
    // Rows of the file are components of u, columns the coordinates they are derived by.
    let gradient =
        |m: &Value| DMat3::IDENTITY + DMat3::from_cols(vector(&m[0]), vector(&m[1]), vector(&m[2])).transpose();
    let gradients: Vec<DMat3> = data["grad_u"].as_array().unwrap().iter().map(gradient).collect();
    let places = vectors(&data["surfels"]);
    let rest = Surfels {
        positions: places.iter().map(|p| p.as_vec3()).collect(),
        axes_u: vec![Vec3::X; places.len()],
        axes_v: vec![Vec3::Y; places.len()],
        normals: vec![Vec3::Z; places.len()],
        colors: vec![[0; 3]; places.len()],
        velocities: Vec::new(),
        exact: Vec::new(),
    };
    let radii = vec![data["h"].as_f64().unwrap(); points.len()];
    let mut out = Surfels::default();
    Carrier::bind_with(rest, &points, &radii, Falloff::Gaussian).update(&moved, &points, &gradients, &mut out);
    for (k, expected) in vectors(&data["u_surfel"]).into_iter().enumerate() {
        // f32 positions: about 1e-7 each.
        let error = (out.positions[k].as_dvec3() - places[k] - expected).length();
        assert!(error < 1e-6, "surfel {k}: {error}");
    }
}

/// Field, gradient, projection and boundary measures of [MKN04] 5.2 on 125 jittered points.
#[test]
fn implicit_surface_and_boundary_equal_the_prototype() {
    let data: Value = serde_json::from_str(include_str!("vectors/surface_field125.json")).unwrap();
    let number = |key: &str| data[key].as_f64().unwrap();
    let numbers =
        |key: &str| -> Vec<f64> { data[key].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect() };
    let points = vectors(&data["Y"]);
    let field = GaussianField::new(&points, &numbers("w"), number("R"), number("B_abs"));
    assert!((field.reach() - number("d")).abs() < 1e-12);
    let (values, gradients) = (numbers("F"), vectors(&data["gradF"]));
    let (ends, normals) = (vectors(&data["projected"]), vectors(&data["normal"]));
    for (k, x) in vectors(&data["X"]).into_iter().enumerate() {
        let (value, gradient) = field.sample(x);
        assert!((value - values[k]).abs() < 1e-10, "F {k}: {value}");
        assert!((gradient - gradients[k]).length() < 1e-10 * (1.0 + gradients[k].length()), "gradient {k}: {gradient}");
        let on = field.project(x).unwrap();
        assert!((on.position - ends[k]).length() < 1e-9, "projection {k}: {}", on.position);
        assert!((on.normal - normals[k]).length() < 1e-8, "normal {k}: {}", on.normal);
    }
    let near = Neighborhoods::within_radius(&points, number("h"));
    let (p, q, counts) = (numbers("P"), numbers("Q"), numbers("neighbours"));
    for i in 0..points.len() {
        let offsets = || near.of(i).map(|j| points[j] - points[i]);
        assert_eq!(offsets().count(), counts[i] as usize);
        assert!((anisotropy(offsets()) - p[i]).abs() < 1e-10, "P {i}");
        assert!((exposure(offsets()) - q[i]).abs() < 1e-10, "Q {i}");
    }
}
