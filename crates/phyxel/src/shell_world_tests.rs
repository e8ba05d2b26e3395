//! Shells in a world: clamps, loads, energy, restarts.

use crate::geometry::Files;
use crate::run::Simulation;
use crate::scene::Scene;
use crate::world::World;
use glam::DVec3;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

fn world(text: &str) -> World {
    let text = format!("format = 1\nduration = \"4 s\"\n{text}");
    let scene = Scene::from_toml(&text, None, &[]).unwrap();
    World::new(&scene, &Files { base: PathBuf::new(), allow_outside: false }).unwrap()
}

fn run(world: &mut World, frames: u32) {
    let cancel = AtomicBool::new(false);
    (0..frames).for_each(|_| assert!(world.step_to_next_frame(&cancel).unwrap()));
}

/// A strip of 0.5 m beside the band that a pin holds.
fn strip(integrator: &str, gravity: f64, more: &str) -> World {
    world(&format!(
        r#"
        gravity = [0, {gravity}, 0]
        integrator = "{integrator}"
        [[body]]
        model = "shell"
        name = "strip"
        shape = {{ kind = "sheet", size = [0.55, 0.1] }}
        at = [0.225, 0, 0]
        spacing = 0.025
        sampling = "regular"
        material = {{ young = "100 MPa", poisson = 0, thickness = "5 mm", density = 1000, {more} }}
        surface = {{ kind = "none" }}
        regions = [ {{ name = "band", half_space = {{ normal = [-1, 0, 0], offset = -0.001 }} }} ]
        [[pin]]
        body = "strip"
        region = "band"
        "#
    ))
}

#[test]
fn a_pinned_band_is_a_clamp() {
    // w L⁴ / 8 D of a beam: 18.75 mm; without the clamp the strip would be half a spacing longer and sag a tenth more.
    let mut strip = strip("implicit", -0.5, "damping = 12");
    run(&mut strip, 60);
    let tip = |p: &&DVec3| p.x > 0.4985;
    let tips: Vec<f64> = strip.points().positions.iter().filter(tip).map(|p| p.y).collect();
    let sag = -tips.iter().sum::<f64>() / tips.len() as f64;
    assert!((sag / 0.01875 - 1.0).abs() < 0.05, "{sag}");
}

#[test]
fn plastic_flow_is_booked() {
    // Explicit steps without damping lose nothing else.
    let mut strip = strip("explicit", -9.81, "yield_strain = 0.002, creep = 20, damping = 0, smoothing = 0");
    let start = strip.measure();
    run(&mut strip, 6);
    let end = strip.measure();
    let total = |row: &crate::measure::MetricsRow| row.kinetic + row.elastic + row.gravity + row.dissipated - row.work;
    assert!(end.dissipated > 0.05 * (start.gravity - end.gravity), "{}", end.dissipated);
    let error = (total(&end) - total(&start)) / (start.gravity - end.gravity);
    assert!(error.abs() < 0.01, "{error} {}", end.dissipated);
}

#[test]
fn a_fixed_amount_of_gas_hardly_grows() {
    for integrator in ["implicit", "explicit"] {
        let mut ball = world(&format!(
            r#"
            gravity = [0, 0, 0]
            integrator = "{integrator}"
            [[body]]
            model = "shell"
            name = "ball"
            shape = {{ kind = "sphere", radius = 0.1 }}
            points = 300
            material = {{ young = "1 MPa", poisson = 0.3, thickness = "1 mm", density = 1000, damping = 30 }}
            surface = {{ kind = "none" }}
            [[force]]
            kind = "pressure"
            body = "ball"
            pressure = 500
            outside = "101 kPa"
            ramp = "0.1 s"
            "#
        ));
        run(&mut ball, 9);
        let points = ball.points();
        let growth = (0..points.len()).map(|i| points.positions[i].length() / points.rest_positions[i].length() - 1.0);
        let growth = growth.sum::<f64>() / points.len() as f64;
        // (101 500 V0 / V - 101 000) r / 2 t = E growth / (1 - nu); without the law of the gas it would be 0.0175.
        assert!((growth / 1.5e-3 - 1.0).abs() < 0.05, "{integrator}: {growth}");
    }
}

#[test]
fn wind_takes_a_sheet_along() {
    let mut sheet = world(
        r#"
        gravity = [0, 0, 0]
        [[body]]
        model = "shell"
        name = "sheet"
        shape = { kind = "sheet", size = [0.4, 0.4] }
        rotate = [0, 0, 90]
        spacing = 0.05
        material = { young = "1 MPa", poisson = 0.3, thickness = "1 mm", density = 300 }
        surface = { kind = "none" }
        [[force]]
        kind = "wind"
        velocity = ["5 m/s", 0, 0]
        "#,
    );
    run(&mut sheet, 15);
    let row = sheet.measure();
    // dv/dt = k (w - v)² with k = 1.2 / (2 x 0.3).
    let wanted = 5.0 - 5.0 / (1.0 + 2.0 * 5.0 * 0.5);
    let found = row.momentum.x / row.mass;
    assert!((found / wanted - 1.0).abs() < 0.02, "{found} {wanted}");
}

#[test]
fn an_implicit_run_resumes_with_the_same_bits() {
    let more = "yield_strain = 0.002, creep = 20, damping = 1";
    let (mut whole, mut first, mut second) =
        (strip("implicit", -9.81, more), strip("implicit", -9.81, more), strip("implicit", -9.81, more));
    run(&mut whole, 5);
    run(&mut first, 3);
    second.restore(&first.checkpoint()).unwrap();
    run(&mut second, 2);
    assert_eq!(whole.points().positions, second.points().positions);
    assert_eq!(whole.points().velocities, second.points().velocities);
}
