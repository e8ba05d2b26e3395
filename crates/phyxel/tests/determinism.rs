//! The same bits on any number of threads, and after a restart.

use phyxel::frame::Frame;
use phyxel::geometry::Files;
use phyxel::run::Simulation;
use phyxel::scene::{Integrator, ModelKind, Scene, builtin};
use phyxel::world::World;
use std::sync::atomic::AtomicBool;

/// Points of a scene after it was made small: enough for every parallel loop to be cut into several tasks.
const FEW_POINTS: usize = 2400;
/// Nodes of a scene of shells made small: their steps get longer the fewer they are.
const FEW_NODES: usize = 700;
/// Surfels per body.
const FEW_SURFELS: usize = 500;
/// Frames of the built-in scenes; bodies that can hit something are thrown so that they do.
const FRAMES: usize = 2;
const THROW: f64 = 6.0;

fn build(scene: &Scene) -> phyxel::Result<World> {
    World::new(scene, &Files { base: "../../scenes".into(), allow_outside: false })
}

fn advance(world: &mut World, frames: usize) {
    for _ in 0..frames {
        assert!(world.advance_frame(&AtomicBool::new(false)).expect("the run goes well").complete);
    }
}

/// Hash (FNV-1a) of all positions, velocities, surfels and numbers, one per kind, with their names.
fn bits(world: &mut World) -> Vec<(&'static str, u64)> {
    let row = world.metrics();
    let mut frame = Frame::default();
    world.frame(&mut frame);
    let points = world.points();
    let vectors = |list: &[glam::DVec3]| hash(list.iter().flat_map(|v| v.to_array()).map(f64::to_bits));
    let surfels = |pick: fn(&phyxel::surface::Surfels) -> &[glam::Vec3]| {
        let all = frame.bodies.iter().flat_map(|b| pick(&b.surfels));
        hash(all.flat_map(|v| v.to_array()).map(|x| u64::from(x.to_bits())))
    };
    let energies = [row.kinetic, row.elastic, row.volume, row.max_strain];
    vec![
        ("positions", vectors(&points.positions)),
        ("velocities", vectors(&points.velocities)),
        ("surfel positions", surfels(|s| &s.positions)),
        ("surfel axes", surfels(|s| &s.axes_u)),
        ("surfel normals", surfels(|s| &s.normals)),
        ("probes", hash(world.probe_values().iter().map(|v| v.to_bits()))),
        ("energies", hash(energies.iter().map(|v| v.to_bits()))),
    ]
}

fn hash(words: impl Iterator<Item = u64>) -> u64 {
    words.fold(0xcbf2_9ce4_8422_2325, |h, w| (h ^ w).wrapping_mul(0x0100_0000_01b3).rotate_left(29))
}

/// The scene with few points and surfels; with more points where a region would be empty.
fn small(scene: &Scene) -> Scene {
    let shells = scene.bodies.iter().any(|b| b.model == ModelKind::Shell);
    let mut points = if shells { FEW_NODES } else { FEW_POINTS } / scene.bodies.len();
    loop {
        let mut small = scene.clone();
        for body in &mut small.bodies {
            body.surface.count = body.surface.count.min(FEW_SURFELS);
            body.spacing = None;
            body.points = Some(points);
            if !scene.colliders.is_empty() {
                body.velocity.y -= THROW;
            }
        }
        if build(&small).is_ok() {
            return small;
        }
        assert!(points < 100_000, "{}: cannot be built", scene.name);
        points *= 2;
    }
}

fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be had").install(work)
}

/// Builds and runs the scene, all of it on pools of 1 to 4 threads.
fn same_bits_on_any_number_of_threads(scene: &Scene, frames: usize) {
    same_bits_on(&[(2, frames), (3, frames), (4, frames)], scene);
}

/// The same bits on pools of these numbers of threads as on one, at the start and after each of so many frames.
fn same_bits_on(runs: &[(usize, usize)], scene: &Scene) {
    let run = |frames: usize| {
        let mut world = build(scene).expect("the world can be built");
        let mut states = vec![bits(&mut world)];
        for _ in 0..frames {
            advance(&mut world, 1);
            states.push(bits(&mut world));
        }
        states
    };
    let most = runs.iter().map(|r| r.1).max().unwrap_or(1);
    let one = on_threads(1, || run(most));
    assert_ne!(one[0][1], one[most][1], "{}: nothing moved", scene.name);
    for &(threads, frames) in runs {
        assert_eq!(on_threads(threads, || run(frames)), one[..=frames], "{} on {threads} threads", scene.name);
    }
}

#[test]
fn built_in_scenes_have_the_same_bits_on_any_number_of_threads() {
    for scene in builtin::list() {
        let scene = Scene::from_toml(scene.toml, None, &[]).expect("built-in scenes are right");
        // Three threads cut every loop unevenly: they go furthest.
        same_bits_on(&[(2, 1), (3, FRAMES)], &small(&scene));
    }
}

/// Two boxes fall onto each other and onto a ramp beside a ball: all kinds of contact.
fn heap(integrator: Integrator) -> Scene {
    let text = r##"
format = 1
name = "heap"
duration = 2
fps = 30
[[body]]
name = "lower"
shape = { kind = "box", size = [0.4, 0.2, 0.3] }
at = [0, 0.13, 0]
rotate = [0, 0, 8]
points = 1500
material = { young = 2e5 }
surface = { count = 500 }
[[body]]
name = "upper"
shape = { kind = "torus", radius = 0.15, tube = 0.06 }
at = [0.05, 0.32, 0.02]
velocity = [0, -2, 0]
spin = [0, 5, 1]
points = 1500
sampling = "graded"
material = { young = 1e5, damping = 2 }
surface = { count = 500 }
[[collider]]
name = "floor"
shape = { kind = "plane" }
[[collider]]
name = "ball"
shape = { kind = "sphere", radius = 0.1 }
at = [0.25, 0.05, 0]
visible = false
motion = [ { t = 0 }, { t = 1, at = [-0.2, 0, 0] } ]
[[probe]]
name = "height"
body = "upper"
measure = "mean_y"
[[event]]
at = 0.05
body = "lower"
set = { young = 1e5 }
"##;
    let mut scene = Scene::from_toml(text, None, &[]).expect("the scene is right");
    scene.integrator = integrator;
    scene
}

#[test]
fn explicit_contact_has_the_same_bits_on_any_number_of_threads() {
    same_bits_on_any_number_of_threads(&heap(Integrator::Explicit), 5);
}

#[test]
fn implicit_contact_has_the_same_bits_on_any_number_of_threads() {
    same_bits_on_any_number_of_threads(&heap(Integrator::Implicit), 3);
}

/// Runs 2 n frames; from the checkpoint after n a fresh world goes on to the same end.
fn a_restart_changes_nothing(scene: &Scene, n: usize) {
    let mut whole = build(scene).expect("the world can be built");
    advance(&mut whole, n);
    // As a run does: every frame is measured before its checkpoint is written.
    whole.metrics();
    let state = whole.checkpoint();
    advance(&mut whole, n);
    let mut resumed = build(scene).expect("the world can be built");
    resumed.restore(&state).expect("the checkpoint fits");
    advance(&mut resumed, n);
    assert_eq!(bits(&mut resumed), bits(&mut whole), "{} resumed at frame {n}", scene.name);
}

#[test]
fn restarted_contact_has_the_same_bits() {
    a_restart_changes_nothing(&heap(Integrator::Explicit), 3);
    a_restart_changes_nothing(&heap(Integrator::Implicit), 2);
}

/// A ball and a block fall on a hot floor, made of the same matter.
fn fall(material: &str, integrator: Integrator) -> Scene {
    let text = r##"
format = 1
name = "fall"
duration = 2
fps = 30
[[body]]
name = "ball"
shape = { kind = "sphere", radius = 0.1 }
at = [0.02, 0.24, 0]
velocity = [0, -4, 0]
points = 1200
material = MATERIAL
surface = { count = 500 }
[[body]]
name = "block"
shape = { kind = "box", size = [0.25, 0.1, 0.25] }
at = [0, 0.06, 0]
velocity = [0, -1, 0]
points = 1200
material = MATERIAL
surface = { count = 500 }
[[collider]]
name = "floor"
shape = { kind = "plane" }
temperature = "500 K"
[[probe]]
name = "height"
body = "ball"
measure = "mean_y"
[[probe]]
name = "yielded"
body = "ball"
measure = "max_plastic"
[[event]]
at = 0.05
body = "block"
set = { viscosity = 5 }
"##;
    let text = text.replace("MATERIAL", material);
    let mut scene = Scene::from_toml(&text, None, &[]).expect("the scene is right");
    scene.integrator = integrator;
    scene
}

const PLASTIC: &str = "{ young = 2e5, yield_strain = 0.01, creep = 100 }";
const FLOWING: &str = "{ young = 1e4, creep = 20, viscosity = 10 }";
const MELTING: &str = "{ young = 1e5, conductivity = 1e3, latent_heat = 1e4, solidus = 295, liquidus = 300 }";

#[test]
fn plastic_bodies_have_the_same_bits_on_any_number_of_threads_and_after_a_restart() {
    for integrator in [Integrator::Explicit, Integrator::Implicit] {
        same_bits_on_any_number_of_threads(&fall(PLASTIC, integrator), 4);
        a_restart_changes_nothing(&fall(PLASTIC, integrator), 2);
    }
    let mut world = build(&fall(PLASTIC, Integrator::Explicit)).expect("the world can be built");
    advance(&mut world, 4);
    world.metrics();
    assert!(world.probe_values()[1] > 0.01, "nothing has yielded");
}

#[test]
fn flowing_bodies_have_the_same_bits_on_any_number_of_threads_and_after_a_restart() {
    let scene = fall(FLOWING, Integrator::Explicit);
    same_bits_on_any_number_of_threads(&scene, 4);
    a_restart_changes_nothing(&scene, 2);
}

#[test]
fn melting_bodies_have_the_same_bits_on_any_number_of_threads_and_after_a_restart() {
    let scene = fall(MELTING, Integrator::Explicit);
    same_bits_on_any_number_of_threads(&scene, 4);
    a_restart_changes_nothing(&scene, 2);
    let mut world = build(&scene).expect("the world can be built");
    advance(&mut world, 4);
    let heat = world.heat().expect("the bodies conduct");
    assert!((0..world.points().len()).any(|i| heat.melted_fraction(i) > 0.5), "nothing has melted");
}

/// Its solid parts are stiffer than the elastic model knows: the length of a step has to come out of the checkpoint.
#[test]
fn frozen_matter_made_stiffer_has_the_same_bits_after_a_restart() {
    let scene = r#"
format = 1
name = "stiffer"
duration = 2
fps = 10
body = [{ name = "block", shape = { kind = "box", size = [0.2, 0.1, 0.2] }, at = [0, 0.06, 0], points = 300, surface = { count = 500 },
    material = { young = 1e5, poisson = 0.3, density = 1000, melt_young = 1e4, viscosity = 5, cohesion = 500 } }]
collider = [{ name = "floor", shape = { kind = "plane" } }]
event = [{ at = 0.2, melt = "block" }, { at = 0.6, solidify = "block" }, { at = 0.9, body = "block", set = { young = 1e6 } }]
"#;
    let scene = Scene::from_toml(scene, None, &[]).expect("the scene is right");
    for n in [6, 10] {
        a_restart_changes_nothing(&scene, n);
    }
}

#[test]
fn restarted_built_in_scenes_have_the_same_bits() {
    for scene in builtin::list() {
        let scene = Scene::from_toml(scene.toml, None, &[]).expect("built-in scenes are right");
        a_restart_changes_nothing(&small(&scene), 1);
    }
}

/// A cloth falls on a jelly block that stands on another cloth: shells against shells, solids and themselves.
const SHELLS: &str = r##"
format = 1
name = "shells"
duration = 1
fps = 30
[[body]]
name = "lower"
model = "shell"
shape = { kind = "sheet", size = [0.5, 0.4] }
at = [0, 0.02, 0]
spacing = 0.03
material = { young = 1e5, thickness = 0.004, density = 300 }
surface = { count = 500 }
[[body]]
name = "block"
shape = { kind = "box", size = [0.2, 0.1, 0.2] }
at = [0, 0.1, 0]
velocity = [0, -2, 0]
points = 400
material = { young = 1e5 }
surface = { count = 500 }
[[body]]
name = "upper"
model = "shell"
shape = { kind = "sheet", size = [0.5, 0.4] }
at = [0.02, 0.2, 0]
rotate = [3, 20, 0]
velocity = [0, -6, 0]
spacing = 0.03
material = { young = 1e5, thickness = 0.003, density = 300, yield_strain = 0.01, creep = 10 }
surface = { count = 500 }
[[collider]]
name = "floor"
shape = { kind = "plane" }
[[probe]]
name = "height"
body = "upper"
measure = "mean_y"
"##;

#[test]
fn shells_in_contact_have_the_same_bits_on_any_number_of_threads_and_after_a_restart() {
    let scene = Scene::from_toml(SHELLS, None, &[]).expect("the scene is right");
    same_bits_on(&[(2, 2), (3, 4)], &scene);
    a_restart_changes_nothing(&scene, 2);
    let mut world = build(&scene).expect("the world can be built");
    advance(&mut world, 4);
    assert_eq!(world.shells().crossings(world.points()), 0);
}
