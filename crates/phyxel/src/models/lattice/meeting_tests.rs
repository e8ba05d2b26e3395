//! Worlds in which lattices that melt, break or flow meet bodies of other models.

use crate::models::meeting::{momenta, run, world};
use glam::DVec3;

/// One body thrown at a block, without gravity.
fn thrown(block: &str, lattice: &str) -> String {
    format!(
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
        {block}
        [[body]]
        name = "thrown"
        model = "lattice"
        shape = {{ kind = "box", size = [0.06, 0.06, 0.06] }}
        at = [0.03, 0.1, 0]
        velocity = [0, -1, 0]
        spacing = 0.015
        surface = {{ kind = "none" }}
        {lattice}
    "#
    )
}

const RUBBER: &str = r#"material = { young = "100 kPa", poisson = 0.3, density = 1000 }"#;
const CLAY: &str = r#"model = "embedded"
    material = { young = "100 kPa", poisson = 0.3, density = 1000, yield_strain = 0.02, creep = 50 }"#;
const WATER: &str = r#"phase = "liquid"
    material = { young = "1 MPa", density = 1000, viscosity = 0.1 }"#;
const BRITTLE: &str = r#"material = { young = "300 kPa", density = 1000, break_strain = 0.02, damping = 20 }"#;

#[test]
fn what_flows_or_breaks_hits_bodies_of_other_models_and_keeps_momentum() {
    for (block, lattice) in [(RUBBER, WATER), (RUBBER, BRITTLE), (CLAY, WATER), (CLAY, BRITTLE)] {
        let mut world = world(&thrown(block, lattice));
        let range = world.bodies[1].range.clone();
        let before = momenta(&world);
        run(&mut world, 12);
        let after = momenta(&world);
        let size = 0.06f64.powi(3) * 1000.0;
        assert!((after[0] - before[0]).length() < 2e-6 * size, "{lattice} {before:?} {after:?}");
        // It has been stopped, and the block goes on.
        let mean = range.clone().map(|i| world.points.velocities[i].y).sum::<f64>() / range.len() as f64;
        assert!(mean > -0.35, "{block} {lattice}: {mean}");
        let block = world.bodies[0].range.clone();
        let center = block.clone().map(|i| world.points.positions[i]).sum::<DVec3>() / block.len() as f64;
        let inside = |i: &usize| (world.points.positions[*i] - center).abs().max_element() < 0.045;
        assert_eq!(range.filter(inside).count(), 0, "{lattice}");
    }
}

#[test]
fn a_sheet_that_is_held_carries_liquid() {
    let text = r#"
        format = 1
        name = "sheet"
        duration = "1 s"
        fps = 60
        [[body]]
        name = "sheet"
        model = "shell"
        shape = { kind = "sheet", size = [0.4, 0.4] }
        points = 500
        material = { young = "2 MPa", density = 1000, thickness = "2 mm", damping = 5 }
        regions = [ { name = "west", half_space = { normal = [-1, 0, 0], offset = 0.19 } },
                    { name = "east", half_space = { normal = [1, 0, 0], offset = 0.19 } },
                    { name = "south", half_space = { normal = [0, 0, -1], offset = 0.19 } },
                    { name = "north", half_space = { normal = [0, 0, 1], offset = 0.19 } } ]
        [[body]]
        name = "water"
        model = "lattice"
        phase = "liquid"
        shape = { kind = "box", size = [0.12, 0.06, 0.12] }
        at = [0, 0.06, 0]
        spacing = 0.015
        material = { young = "1 MPa", density = 1000, viscosity = 1.0 }
        surface = { kind = "none" }
        [[pin]]
        name = "w"
        body = "sheet"
        region = "west"
        [[pin]]
        name = "e"
        body = "sheet"
        region = "east"
        [[pin]]
        name = "s"
        body = "sheet"
        region = "south"
        [[pin]]
        name = "n"
        body = "sheet"
        region = "north"
    "#;
    let mut world = world(text);
    run(&mut world, 30);
    let sheet = world.bodies[0].range.clone();
    let lowest = sheet.map(|i| world.points.positions[i].y).fold(f64::INFINITY, f64::min);
    let water = world.bodies[1].range.clone();
    assert!(lowest < -0.003, "the sheet feels the water: {lowest}");
    let below = water.clone().filter(|&i| world.points.positions[i].y < lowest).count();
    assert_eq!(below, 0, "of {}", water.len());
}
