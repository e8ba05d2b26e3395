//! Starts that no solid should have: each has a stated answer, a warning that names it, and a run that stays finite.

use crate::lab::world;
use phyxel::run::Simulation;
use std::sync::atomic::AtomicBool;

/// Builds the world of a scene with these bodies and more, asks for a warning that has all `words`, and runs three frames.
#[track_caller]
fn start(bodies: &str, more: &str, words: &[&str]) {
    let mut world = world(&format!("format = 1\nname = \"start\"\nduration = 0.1\nbody = [{bodies}]\n{more}"));
    let warnings = world.warnings().to_vec();
    assert!(warnings.iter().any(|w| words.iter().all(|word| w.contains(word))), "no {words:?} in {warnings:?}");
    for _ in 0..3 {
        world.advance_frame(&AtomicBool::new(false)).expect("the run goes well");
    }
    assert!(world.points().positions.iter().chain(&world.points().velocities).all(|v| v.is_finite()));
}

const GROUND: &str = "collider = [{ name = \"ground\", shape = { kind = \"plane\" } }]";

#[test]
fn a_body_one_point_thick_is_elastic_in_its_plane_only() {
    let sheet = "{ name = \"sheet\", shape = { kind = \"box\", size = [0.4, 0.01, 0.4] }, at = [0, 0.1, 0], spacing = 0.05, \
                 sampling = \"regular\", surface = { kind = \"none\" } }";
    start(sheet, GROUND, &["64 of 64 points", "lie in a plane", "smaller spacing"]);
}

#[test]
fn a_single_point_falls() {
    let dot = "{ name = \"dot\", shape = { kind = \"sphere\", radius = 0.02 }, at = [0, 0.1, 0], points = 1, \
               surface = { kind = \"none\" } }";
    start(dot, GROUND, &["1 of 1 points", "too few neighbors"]);
}

#[test]
fn a_body_inside_a_collider_is_pushed_out() {
    let cube = "{ name = \"cube\", shape = { kind = \"box\", size = [0.2, 0.2, 0.2] }, points = 200, surface = { kind = \"none\" } }";
    start(cube, GROUND, &["'cube' starts inside collider 'ground'", "pushed out"]);
}

#[test]
fn bodies_inside_each_other_are_pushed_apart() {
    let ball = |name: &str, x: f64| {
        format!(
            "{{ name = \"{name}\", shape = {{ kind = \"sphere\", radius = 0.1 }}, at = [{x}, 0.3, 0], points = 200, \
             surface = {{ kind = \"none\" }} }}"
        )
    };
    start(&(ball("a", 0.0) + "," + &ball("b", 0.1)), "", &["bodies 'a' and 'b' overlap", "pushed apart"]);
}
