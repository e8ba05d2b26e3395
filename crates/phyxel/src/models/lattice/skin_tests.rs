//! Skins of triangles on lattices: they ride on what stays whole and are refused elsewhere.

use crate::frame::{Frame, MeshFrame};
use crate::geometry::Files;
use crate::run::Simulation;
use crate::scene::Scene;
use crate::world::World;
use std::sync::atomic::AtomicBool;

fn build(body: &str) -> crate::Result<World> {
    let text = format!(
        r##"
        format = 1
        name = "skinned"
        duration = "0.4 s"
        fps = 30
        [[body]]
        name = "rubber"
        model = "lattice"
        shape = {{ use = "bunny", scale = 0.3 }}
        at = [0, 0.02, 0]
        spin = [0, 2, 1]
        points = 800
        {body}
        [[collider]]
        name = "floor"
        shape = {{ kind = "plane" }}
    "##
    );
    let scene = Scene::from_toml(&text, None, &[])?;
    World::new(&scene, &Files { base: "../../scenes".into(), allow_outside: false })
}

fn edges(mesh: &MeshFrame) -> Vec<f32> {
    let edge = |t: &[u32; 3], k: usize| mesh.positions[t[k] as usize].distance(mesh.positions[t[(k + 1) % 3] as usize]);
    mesh.triangles.iter().flat_map(|t| (0..3).map(move |k| edge(t, k))).collect()
}

#[test]
fn the_triangles_of_the_shape_ride_on_a_lattice_that_stays_whole() {
    let body = "material = { young = \"200 kPa\", density = 1000, damping = 50 }\nsurface = { kind = \"skin\" }";
    let mut world = build(body).unwrap_or_else(|e| panic!("{e}"));
    let mut frame = Frame::default();
    world.metrics();
    world.frame(&mut frame);
    let start = frame.bodies[0].mesh.clone();
    assert!(start.triangles.len() > 500 && start.positions.len() == start.ids.len());
    let rest = edges(&start);
    for _ in 0..12 {
        world.advance_frame(&AtomicBool::new(false)).unwrap_or_else(|e| panic!("{e}"));
        world.metrics();
        world.frame(&mut frame);
        let mesh = &frame.bodies[0].mesh;
        assert!(mesh.triangles == start.triangles && mesh.ids == start.ids && mesh.uvs == start.uvs);
        let strain = edges(mesh).iter().zip(&rest).map(|(a, b)| (a / b - 1.0).abs()).fold(0.0, f32::max);
        assert!(strain < 0.5, "a side is {strain} longer or shorter");
        // Half a spacing of matter lies outside of the outermost particles.
        let low = |ys: &mut dyn Iterator<Item = f64>| ys.fold(f64::INFINITY, f64::min);
        let (skin, matter) = (
            low(&mut mesh.positions.iter().map(|p| f64::from(p.y))),
            low(&mut world.points.positions.iter().map(|p| p.y)),
        );
        assert!((skin - matter).abs() < world.points.spacings[0], "skin {skin}, matter {matter}");
    }
    let moved = frame.bodies[0].mesh.positions[0].distance(start.positions[0]);
    assert!(moved > 0.01, "the skin stayed behind: {moved}");
}

#[test]
fn a_skin_is_refused_where_a_lattice_may_melt_break_yield_or_is_liquid() {
    let skin = "surface = { kind = \"skin\" }";
    for (material, word) in [
        ("material = { young = 1e5, density = 1000, break_strain = 0.1 }", "breaks or yields"),
        ("material = { young = 1e5, density = 1000, yield_bound = 0.2 }", "breaks or yields"),
        (
            "material = { young = 1e5, density = 1000, conductivity = 1, specific_heat = 1e3, latent_heat = 1e4, solidus = 300 }",
            "melts",
        ),
        ("phase = \"liquid\"\nmaterial = { young = 1e5, density = 1000 }", "is liquid"),
    ] {
        let error = build(&format!("{material}\n{skin}")).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error.contains(word) && error.contains("body[0].surface.kind"), "{material}: {error}");
        assert!(error.contains("\"mesh\""), "{material}: {error}");
    }
}
