//! Worlds in which embedded matter that flows meets bodies of other models.

use crate::models::meeting::{momenta, run, world};
use glam::DVec3;

const CLAY: &str = r#"model = "embedded"
    material = { young = "60 kPa", poisson = 0.3, density = 1000, yield_strain = 0.01, creep = 50, friction = 0.4 }"#;

#[test]
fn clay_thrown_at_rubber_stops_and_keeps_momentum() {
    let text = format!(
        r#"
        format = 1
        name = "thrown"
        duration = "1 s"
        fps = 60
        gravity = [0, 0, 0]
        [[body]]
        name = "block"
        shape = {{ kind = "box", size = [0.12, 0.12, 0.12] }}
        spacing = 0.02
        surface = {{ kind = "none" }}
        material = {{ young = "100 kPa", poisson = 0.3, density = 1000 }}
        [[body]]
        name = "clay"
        shape = {{ kind = "sphere", radius = 0.04 }}
        at = [0.02, 0.105, 0]
        velocity = [0, -1.5, 0]
        spacing = 0.012
        surface = {{ kind = "none" }}
        {CLAY}
    "#
    );
    let mut world = world(&text);
    let clay = world.bodies[1].range.clone();
    let (before, mass) = (momenta(&world), clay.clone().map(|i| world.points.masses[i]).sum::<f64>());
    run(&mut world, 12);
    let after = momenta(&world);
    assert!((after[0] - before[0]).length() < 1e-5 * mass * 1.5, "{before:?} {after:?}");
    assert!((after[1] - before[1]).length() < 1e-3 * before[1].length(), "{before:?} {after:?}");
    // It sticks out of the block, flattened, and the block goes on with what it gave.
    let mean = clay.clone().map(|i| world.points.velocities[i].y).sum::<f64>() / clay.len() as f64;
    assert!(mean > -0.5, "{mean}");
    let block = world.bodies[0].range.clone();
    let center = block.clone().map(|i| world.points.positions[i]).sum::<DVec3>() / block.len() as f64;
    let inside = |i: &usize| (world.points.positions[*i] - center).abs().max_element() < 0.045;
    assert_eq!(clay.filter(inside).count(), 0);
}

const MELT: &str =
    r#"material = { young = "20 kPa", poisson = 0.4, density = 1000, yield_strain = 0, creep = 10, friction = 0.4 }"#;

#[test]
fn a_sheet_that_is_held_carries_clay_and_melt() {
    for matter in [CLAY, MELT] {
        let [sag, lowest] = sheet_under(matter);
        assert!(sag < -0.003 && lowest > sag, "{matter}: {lowest} {sag}");
    }
}

/// Lowest point of a sheet that is held all around, and of what fell on it, after 0.4 s [m].
fn sheet_under(matter: &str) -> [f64; 2] {
    let sides = [("e", "1, 0, 0"), ("w", "-1, 0, 0"), ("n", "0, 0, 1"), ("s", "0, 0, -1")];
    let region = |(name, n): &(&str, &str)| {
        format!("{{ name = \"{name}\", half_space = {{ normal = [{n}], offset = 0.14 }} }},")
    };
    let pin = |(name, _): &(&str, &str)| format!("[[pin]]\nname = \"{name}\"\nbody = \"sheet\"\nregion = \"{name}\"\n");
    let regions: String = sides.iter().map(region).collect();
    let pins: String = sides.iter().map(pin).collect();
    let text = format!(
        r#"
        format = 1
        name = "sheet"
        duration = "1 s"
        fps = 60
        [[body]]
        name = "sheet"
        model = "shell"
        shape = {{ kind = "sheet", size = [0.3, 0.3] }}
        spacing = 0.02
        surface = {{ kind = "none" }}
        material = {{ young = "2 MPa", poisson = 0.3, thickness = "2 mm", density = 1000, damping = 3 }}
        regions = [{regions}]
        [[body]]
        name = "lump"
        shape = {{ kind = "sphere", radius = 0.05 }}
        at = [0, 0.07, 0]
        spacing = 0.014
        surface = {{ kind = "none" }}
        {matter}
        {pins}
    "#
    );
    let mut world = world(&text);
    run(&mut world, 24);
    let lump = world.bodies[1].range.clone();
    let lowest = lump.map(|i| world.points.positions[i].y).fold(f64::INFINITY, f64::min);
    let sag = world.bodies[0].range.clone().map(|i| world.points.positions[i].y).fold(f64::INFINITY, f64::min);
    [sag, lowest]
}
