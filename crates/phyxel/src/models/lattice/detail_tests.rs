//! Detail surfaces of lattices that break or melt.

use crate::frame::Frame;
use crate::geometry::Files;
use crate::run::Simulation;
use crate::scene::Scene;
use crate::surface::{Surfels, seen_through};
use crate::world::World;
use std::sync::atomic::AtomicBool;

/// A striped bar that two hands pull apart.
const BAR: &str = r##"
format = 1
name = "bar"
gravity = [0, 0, 0]
duration = "1 s"
fps = 30
[[body]]
name = "bar"
model = "lattice"
shape = { kind = "box", size = [0.3, 0.08, 0.08] }
spacing = 0.016
material = { young = "300 kPa", density = 1000, damping = 20, break_strain = 0.07 }
surface = { kind = "detail", count = 6000, pattern = { kind = "stripes", size = "3 cm", color = "#ffffff" }, inner = "#102030" }
color = "#c04030"
regions = [ { name = "left", half_space = { normal = [-1, 0, 0], offset = 0.12 } }, { name = "right", half_space = { normal = [1, 0, 0], offset = 0.12 } } ]
[[pin]]
name = "left"
body = "bar"
region = "left"
motion = [ { t = 0 }, { t = 0.4, at = [-0.06, 0, 0] } ]
[[pin]]
name = "right"
body = "bar"
region = "right"
motion = [ { t = 0 }, { t = 0.4, at = [0.06, 0, 0] } ]
[[probe]]
name = "parts"
body = "bar"
measure = "pieces"
"##;

/// A block that melts from below and freezes again.
const BLOCK: &str = r##"
format = 1
name = "block"
duration = "1 s"
fps = 30
[[body]]
name = "block"
model = "lattice"
shape = { kind = "box", size = [0.1, 0.12, 0.1] }
at = [0, 0.061, 0]
spacing = 0.016
material = { young = "100 kPa", density = 1000, damping = 100, viscosity = 3, conductivity = 300, specific_heat = 1000, latent_heat = 5000, solidus = "32 degC", liquidus = "34 degC" }
temperature = "25 degC"
surface = { kind = "detail", count = 4000, pattern = { size = "3 cm", color = "#ffffff" } }
color = "#c04030"
[[collider]]
name = "stove"
shape = { kind = "plane" }
temperature = "150 degC"
"##;

fn build(text: &str) -> crate::Result<World> {
    World::new(&Scene::from_toml(text, None, &[])?, &Files { base: ".".into(), allow_outside: false })
}

/// Goes on by some frames and gives the surfels of the last.
fn advance(world: &mut World, frames: usize) -> Surfels {
    let mut frame = Frame::default();
    for _ in 0..frames {
        assert!(world.advance_frame(&AtomicBool::new(false)).unwrap_or_else(|e| panic!("{e}")).complete);
        world.metrics();
        world.frame(&mut frame);
    }
    frame.bodies.swap_remove(0).surfels
}

fn same(a: &Surfels, b: &Surfels) -> bool {
    a.positions == b.positions && a.axes_u == b.axes_u && a.normals == b.normals && a.colors == b.colors
}

/// The same bits on two threads, and after a restart at a frame.
fn is_repeatable(text: &str, [first, then]: [usize; 2]) {
    let pool = |n| rayon::ThreadPoolBuilder::new().num_threads(n).build().expect("threads can be had");
    let (state, whole) = pool(1).install(|| {
        let mut world = build(text).unwrap_or_else(|e| panic!("{e}"));
        advance(&mut world, first);
        (world.checkpoint(), advance(&mut world, then))
    });
    let resumed = pool(2).install(|| {
        let mut world = build(text).unwrap_or_else(|e| panic!("{e}"));
        world.restore(&state).expect("the state fits");
        advance(&mut world, then)
    });
    assert!(same(&whole, &resumed), "{} and {} surfels", whole.len(), resumed.len());
}

#[test]
fn a_painted_bar_that_is_pulled_apart_is_closed_at_both_ends() {
    let mut world = build(BAR).unwrap_or_else(|e| panic!("{e}"));
    let mut frame = Frame::default();
    world.metrics();
    world.frame(&mut frame);
    let start = frame.bodies.swap_remove(0).surfels;
    let end = advance(&mut world, 15);
    assert!(world.probe_values()[0] >= 2.0);
    let inner = end.colors.iter().filter(|c| **c == [0x10, 0x20, 0x30]).count();
    assert!(inner > 200 && !start.colors.contains(&[0x10, 0x20, 0x30]), "{inner}");
    assert!(start.colors.iter().zip(&end.colors).all(|(a, b)| a == b), "paint has changed");
    let half_axis = end.axes_u.iter().map(|u| u.length()).sum::<f32>() / end.len() as f32;
    let holes = |surfels: &Surfels| seen_through(surfels, 20, 0.5 * half_axis).len();
    // Some pixels at the sharp edges of a box count as holes; an open end would have hundreds.
    assert!(holes(&start) < 100 && holes(&end) < holes(&start) + 80, "{} {}", holes(&start), holes(&end));
    // Nothing hangs between the ends: all surfels are beside matter.
    let grid = crate::neighbors::Grid::new(&world.points.positions, 0.016);
    let off = end.positions.iter().map(|p| grid.nearest(p.as_dvec3()).map_or(1.0, |n| n.1.sqrt()));
    let farthest = off.fold(0.0, f64::max);
    assert!(farthest < 2.0 * 0.016, "{}", farthest / 0.016);
}

#[test]
fn surfaces_of_breaking_and_melting_lattices_have_the_same_bits_on_threads_and_after_a_restart() {
    is_repeatable(BAR, [9, 4]);
    is_repeatable(BLOCK, [14, 6]);
}

#[test]
fn where_a_block_melts_its_surface_flows_and_elsewhere_it_is_carried() {
    let mut world = build(BLOCK).unwrap_or_else(|e| panic!("{e}"));
    let end = advance(&mut world, 24);
    let solid = |i: usize| world.lattice.solidity(i) == Some(1.0);
    let melted = (0..world.points.len()).filter(|&i| !solid(i)).count();
    assert!(10 * melted > world.points.len() && 10 * melted < 9 * world.points.len(), "{melted}");
    // The top is where the carrier puts it, to the bit.
    let carrier = world.surfaces[0].carrier.as_mut().expect("it has surfels");
    let mut carried = Surfels::default();
    let range = world.bodies[0].range.clone();
    carrier.update(
        &world.points.positions[range.clone()],
        &world.points.rest_positions[range.clone()],
        &world.scratch.gradients[range],
        &mut carried,
    );
    let rest = carrier.rest();
    let top: Vec<usize> = (0..rest.len()).filter(|&s| rest.positions[s].y > 0.115).collect();
    let kept = |s: &&usize| end.positions.contains(&carried.positions[**s]);
    assert!(top.len() > 300 && top.iter().filter(kept).count() == top.len(), "{}", top.iter().filter(kept).count());
    // Below it has spread, and its surface lies around its particles.
    let grid = crate::neighbors::Grid::new(&world.points.positions, 0.016);
    let off = end.positions.iter().map(|p| grid.nearest(p.as_dvec3()).map_or(1.0, |n| n.1.sqrt()));
    let farthest = off.fold(0.0, f64::max);
    assert!(farthest < 1.5 * 0.016, "{}", farthest / 0.016);
    let width = end.positions.iter().map(|p| p.x).fold(0.0, f32::max);
    assert!(width > 0.055, "{width}");
}

#[test]
fn a_detail_surface_is_refused_where_a_lattice_cannot_carry_it() {
    let broken = "break_strain = 0.07";
    for (text, word) in [
        (BAR.replace("model = \"lattice\"", "model = \"lattice\"\ndimensions = 2"), "lies in the plane"),
        (BAR.replace("model = \"lattice\"", "model = \"lattice\"\nphase = \"liquid\""), "is liquid"),
        (BAR.replace(broken, "yield_bound = 0.2"), "yields"),
        (BLOCK.replace("latent_heat", "break_strain = 0.1, latent_heat"), "melts and breaks"),
    ] {
        let error = build(&text).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error.contains(word) && error.contains("body[0].surface.kind"), "{word}: {error}");
    }
}
