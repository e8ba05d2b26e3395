//! Golden vector: surfels displaced with Gaussian weights, [MKN04] eq. 27, computed in f64 by an independent prototype.

use glam::{DMat3, DVec3, Vec3};
use phyxel::surface::{Carrier, Falloff, Surfels};
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
