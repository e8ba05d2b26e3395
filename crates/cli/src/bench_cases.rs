//! What `phyxel bench` measures.

use crate::bench::{Clock, peak_memory};
use anyhow::Result;
use glam::{DAffine3, DVec3, Vec3};
use phyxel::frame::{BodyFrame, ColliderFrame, ColliderLook, Frame};
use phyxel::geometry::Files;
use phyxel::neighbors::Neighborhoods;
use phyxel::render::{Bounds, Renderer, View, camera};
use phyxel::run::Simulation;
use phyxel::scene::Scene;
use phyxel::surface::{IsoSurface, Surfels};
use phyxel::world::World;
use std::path::PathBuf;

/// One benchmark.
pub struct Case {
    /// Name on the command line.
    pub name: &'static str,
    /// Model, or part of the program.
    pub model: &'static str,
    /// Does it.
    pub measure: fn() -> Result<Measured>,
}

/// What came out.
#[derive(Default)]
pub struct Measured {
    /// Points, or surfels.
    pub points: usize,
    /// Steps, or repetitions.
    pub substeps: u64,
    /// CPU time of all threads [s].
    pub cpu_seconds: f64,
    /// CPU time of the quickest batch of steps, as if all had been like it [s]: what other work on the machine disturbs least.
    pub best_seconds: f64,
    /// Wall time [s].
    pub wall_seconds: f64,
    /// Wall time until the world stood [s]; 0 where none is built.
    pub setup_seconds: f64,
    /// Largest memory of the process so far, set-up included, per point [bytes]; 0 where it says nothing.
    pub bytes_per_point: f64,
    /// Simulated time [s]; 0 where nothing is simulated.
    pub sim_seconds: f64,
    /// Wall time by phase [s]; the table scales it to CPU time.
    pub phases: Vec<(String, f64)>,
}

/// Steps in a batch: two rounds of damping.
const BATCH: u64 = 16;

/// In the order of the table.
pub const CASES: &[Case] = &[
    Case { name: "elastic-20k", model: "mls", measure: || elastic(27, "explicit", 400) },
    Case { name: "elastic-1m", model: "mls", measure: || elastic(100, "explicit", 32) },
    Case { name: "implicit-20k", model: "mls", measure: || elastic(27, "implicit", 4) },
    Case { name: "melt-20k", model: "mls", measure: melt },
    Case { name: "shell-12k", model: "shell", measure: poster },
    Case { name: "foil-explicit", model: "shell", measure: || foil("explicit", 4096) },
    Case { name: "foil-implicit", model: "shell", measure: || foil("implicit", 64) },
    Case { name: "lattice-20k", model: "lattice", measure: lattice },
    Case { name: "embedded-16k", model: "embedded", measure: || embedded("yield_strain = 0.002, creep = 50") },
    Case { name: "embedded-elastic", model: "embedded", measure: || embedded("creep = 0") },
    Case { name: "liquid-20k", model: "lattice", measure: || liquid(27, 96) },
    Case { name: "liquid-100k", model: "lattice", measure: || liquid(46, 48) },
    Case { name: "mesh-100k", model: "surface", measure: mesh },
    Case { name: "surfels-100k", model: "surface", measure: surfels },
    Case { name: "surfels-sheet", model: "surface", measure: surfels_of_a_sheet },
    Case { name: "detail-53k", model: "surface", measure: || detail(53_000) },
    Case { name: "detail-106k", model: "surface", measure: || detail(106_000) },
    Case { name: "neighbors-100k", model: "neighbors", measure: neighbors },
    Case { name: "render-20k", model: "render", measure: pictures },
];

/// A soft cube (E 1 MPa) of `across`³ points that lands on the floor.
fn cube(across: usize, integrator: &str, surface: &str) -> Result<World> {
    cube_of("young = 1e6, poisson = 0.3, density = 1000", across, integrator, surface)
}

/// A cube of `across`³ points of a material that lands on the floor.
fn cube_of(material: &str, across: usize, integrator: &str, surface: &str) -> Result<World> {
    let size = 0.01 * across as f64;
    let text = format!(
        r#"
        format = 1
        name = "bench"
        duration = "1 s"
        integrator = "{integrator}"
        [[body]]
        name = "cube"
        shape = {{ kind = "box", size = [{size}, {size}, {size}] }}
        at = [0, {at}, 0]
        velocity = [0, -1, 0]
        spacing = 0.01
        sampling = "regular"
        material = {{ {material} }}
        surface = {surface}
        [[collider]]
        name = "floor"
        shape = {{ kind = "plane" }}
        "#,
        at = 0.5 * size + 0.001
    );
    let scene = Scene::from_toml(&text, None, &[])?;
    Ok(World::new(&scene, &Files { base: PathBuf::new(), allow_outside: false })?)
}

fn elastic(across: usize, integrator: &str, substeps: u64) -> Result<Measured> {
    step_on(|| cube(across, integrator, r#"{ kind = "none" }"#), substeps)
}

/// A cube of melt that lands on the floor and begins to spread.
fn melt() -> Result<Measured> {
    let material = "young = 1e4, poisson = 0.3, density = 1000, creep = 20, viscosity = 20, cohesion = 1000";
    step_on(|| cube_of(material, 27, "explicit", r#"{ kind = "none" }"#), 400)
}

/// A cube of 19652 close-packed particles (E 1 MPa) that lands on the floor.
fn lattice() -> Result<Measured> {
    let text = r#"
        format = 1
        name = "bench"
        duration = "1 s"
        [[body]]
        name = "cube"
        model = "lattice"
        shape = { kind = "box", size = [1.2, 1.2, 1.2] }
        at = [0, 0.61, 0]
        velocity = [0, -1, 0]
        spacing = 0.05
        material = { young = "1 MPa", density = 1000 }
        surface = { kind = "none" }
        [[collider]]
        name = "floor"
        shape = { kind = "plane" }
        "#;
    let build = || {
        let scene = Scene::from_toml(text, None, &[])?;
        Ok(World::new(&scene, &Files { base: PathBuf::new(), allow_outside: false })?)
    };
    step_on(build, 400)
}

/// A cube of 15625 points of clay that has landed on the floor at 2 m/s: all of it flows, or, without creep, nothing does.
fn embedded(flow: &str) -> Result<Measured> {
    let text = format!(
        r#"
        format = 1
        name = "bench"
        duration = "1 s"
        [[body]]
        name = "cube"
        model = "embedded"
        shape = {{ kind = "box", size = [1, 1, 1] }}
        at = [0, 0.501, 0]
        velocity = [0, -2, 0]
        spacing = 0.04
        material = {{ young = "100 kPa", poisson = 0.3, density = 1000, {flow} }}
        surface = {{ kind = "none" }}
        [[collider]]
        name = "floor"
        shape = {{ kind = "plane" }}
        "#
    );
    let build = || {
        let scene = Scene::from_toml(&text, None, &[])?;
        let mut world = World::new(&scene, &Files { base: PathBuf::new(), allow_outside: false })?;
        // Until the wave of the impact has passed through all of it.
        while world.time() < 0.2 {
            world.step(1.0)?;
        }
        Ok(world)
    };
    step_on(build, 160)
}

/// A cube of 1 m³ of water of about `across`³ particles, thrown to the floor of a tank at 2 m/s; simulated seconds per CPU second are
/// to be compared.
fn liquid(across: usize, substeps: u64) -> Result<Measured> {
    let planes = [([0, 1, 0], 0.0), ([1, 0, 0], -0.8), ([-1, 0, 0], -0.8), ([0, 0, 1], -0.8), ([0, 0, -1], -0.8)];
    let walls: String = planes
        .iter()
        .map(|(n, offset)| {
            format!("[[collider]]\nshape = {{ kind = \"plane\", normal = {n:?}, offset = {offset} }}\nfriction = 0\n")
        })
        .collect();
    let text = format!(
        r#"
        format = 1
        name = "bench"
        duration = "1 s"
        [[body]]
        name = "water"
        model = "lattice"
        phase = "liquid"
        shape = {{ kind = "box", size = [1, 1, 1] }}
        at = [0, 0.51, 0]
        velocity = [0, -2, 0]
        points = {points}
        material = {{ density = 1000, viscosity = "1 mPa s" }}
        surface = {{ kind = "none" }}
        {walls}"#,
        points = across.pow(3)
    );
    let make = || -> Result<World> {
        let scene = Scene::from_toml(&text, None, &[])?;
        Ok(World::new(&scene, &Files { base: PathBuf::new(), allow_outside: false })?)
    };
    step_on(make, substeps)
}

/// A poster of 11860 nodes that falls on its edge.
fn poster_with(surface: &str) -> Result<World> {
    let text = format!(
        r#"
        format = 1
        name = "bench"
        duration = "1 s"
        [[body]]
        name = "poster"
        model = "shell"
        shape = {{ kind = "sheet", size = [1.2, 0.9] }}
        at = [0, 0.5, 0]
        rotate = [80, 0, 5]
        velocity = [0, -1, 0]
        points = 11860
        material = {{ young = "1 MPa", poisson = 0.3, density = 500, thickness = "1 mm" }}
        surface = {surface}
        [[collider]]
        name = "floor"
        shape = {{ kind = "plane" }}
        "#
    );
    let scene = Scene::from_toml(&text, None, &[])?;
    Ok(World::new(&scene, &Files { base: PathBuf::new(), allow_outside: false })?)
}

fn poster() -> Result<Measured> {
    step_on(|| poster_with(r#"{ kind = "none" }"#), 96)
}

/// Aluminium foil (70 GPa, 0.1 mm) of 502 nodes that falls over a bar; simulated seconds per CPU second are to be compared.
fn foil(integrator: &str, substeps: u64) -> Result<Measured> {
    let text = format!(
        r#"
        format = 1
        name = "bench"
        duration = "1 s"
        integrator = "{integrator}"
        [[body]]
        name = "foil"
        model = "shell"
        shape = {{ kind = "sheet", size = [0.3, 0.3] }}
        at = [0, 0.33, 0]
        rotate = [0, 20, 0]
        spacing = "15 mm"
        material = {{ young = "70 GPa", poisson = 0.33, thickness = "0.1 mm", density = 2700, damping = 3 }}
        surface = {{ kind = "none" }}
        [[collider]]
        name = "bar"
        shape = {{ kind = "capsule", radius = 0.05, height = 0.5 }}
        rotate = [0, 0, 90]
        at = [0, 0.27, 0]
        friction = 0.4
        "#
    );
    let make = || -> Result<World> {
        let scene = Scene::from_toml(&text, None, &[])?;
        Ok(World::new(&scene, &Files { base: PathBuf::new(), allow_outside: false })?)
    };
    step_on(make, substeps)
}

/// Times `substeps` steps of a world.
fn step_on(make: impl FnOnce() -> Result<World>, substeps: u64) -> Result<Measured> {
    let clock = Clock::start();
    let mut world = make()?;
    let setup_seconds = clock.stop().1;
    // First steps touch the memory and warm the caches.
    (0..2).try_for_each(|_| world.step(1.0).map(|_| ()))?;
    let before = world.timings().phases().to_vec();
    let (start, clock) = (world.time(), Clock::start());
    let batch = BATCH.min(substeps);
    assert!(substeps.is_multiple_of(batch), "whole batches, or steps are counted that were not made");
    let mut best_seconds = f64::INFINITY;
    for _ in 0..substeps / batch {
        let clock = Clock::start();
        (0..batch).try_for_each(|_| world.step(1.0).map(|_| ()))?;
        best_seconds = best_seconds.min(clock.stop().0 * substeps as f64 / batch as f64);
    }
    let (cpu_seconds, wall_seconds) = clock.stop();
    let earlier = |name: &str| before.iter().find(|(n, _)| *n == name).map_or(0.0, |(_, s)| *s);
    let phases = world.timings().phases().iter().map(|(name, s)| (name.to_string(), s - earlier(name))).collect();
    let sim_seconds = world.time() - start;
    let points = world.points().len();
    let bytes_per_point = peak_memory() / points as f64;
    Ok(Measured {
        points,
        substeps,
        cpu_seconds,
        best_seconds,
        wall_seconds,
        setup_seconds,
        bytes_per_point,
        sim_seconds,
        phases,
    })
}

/// The drawn state of a body with 100,000 surfels: surfels moved, points copied.
fn surfels() -> Result<Measured> {
    frames(cube(20, "explicit", r#"{ kind = "surfels", count = 100000 }"#)?)
}

/// The drawn state of a poster of 11860 nodes with 240,000 surfels, which follow its folds.
fn surfels_of_a_sheet() -> Result<Measured> {
    frames(poster_with("{ count = 240000 }")?)
}

/// Frames of a detail surface of so many surfels on 512 points that flow.
fn detail(count: usize) -> Result<Measured> {
    let matter = "young = 1e4, poisson = 0.3, density = 1000, creep = 20, viscosity = 5";
    frames(cube_of(matter, 8, "explicit", &format!(r#"{{ kind = "detail", count = {count} }}"#))?)
}

/// Frames of a world that stands still; what is counted are surfels.
fn frames(mut world: World) -> Result<Measured> {
    let mut frame = Frame::default();
    (0..20).try_for_each(|_| world.step(1.0).map(|_| ()))?;
    world.metrics();
    world.frame(&mut frame);
    let substeps = 20;
    let clock = Clock::start();
    for _ in 0..substeps {
        world.frame(&mut frame);
    }
    let (cpu_seconds, wall_seconds) = clock.stop();
    let points = world.surfel_count();
    Ok(Measured { points, substeps, cpu_seconds, best_seconds: cpu_seconds, wall_seconds, ..Measured::default() })
}

/// The smooth mesh around a ball of 97,000 particles in a cubic lattice, out of order by a twentieth of their spacing.
fn mesh() -> Result<Measured> {
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f32 / (1u64 << 53) as f32 - 0.5
    };
    let (across, spacing) = (57i32, 1.0 / 46.0);
    let mut positions = Vec::new();
    for k in 0..across.pow(3) {
        let cell = Vec3::new((k % across) as f32, (k / across % across) as f32, (k / (across * across)) as f32);
        let at = cell - 0.5 * (across - 1) as f32;
        if at.length() < 0.5 * across as f32 {
            positions.push((at + 0.1 * Vec3::new(random(), random(), random())) * spacing);
        }
    }
    std::hint::black_box(IsoSurface::around(&positions, spacing));
    let substeps = 5;
    let clock = Clock::start();
    for _ in 0..substeps {
        std::hint::black_box(IsoSurface::around(&positions, spacing));
    }
    let (cpu_seconds, wall_seconds) = clock.stop();
    let points = positions.len();
    Ok(Measured { points, substeps, cpu_seconds, best_seconds: cpu_seconds, wall_seconds, ..Measured::default() })
}

/// Neighbor lists of 100,000 random points, about 31 neighbors each.
fn neighbors() -> Result<Measured> {
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let points = 100_000;
    let positions: Vec<DVec3> = (0..points).map(|_| DVec3::new(random(), random(), random())).collect();
    let radius = (31.5 * 3.0 / (4.0 * std::f64::consts::PI * points as f64)).cbrt();
    std::hint::black_box(Neighborhoods::within_radius(&positions, radius));
    let substeps = 10;
    let clock = Clock::start();
    for _ in 0..substeps {
        std::hint::black_box(Neighborhoods::within_radius(&positions, radius));
    }
    let (cpu_seconds, wall_seconds) = clock.stop();
    Ok(Measured { points, substeps, cpu_seconds, best_seconds: cpu_seconds, wall_seconds, ..Measured::default() })
}

/// A picture of 1280 x 720 of a ball of 20,000 surfels on the ground.
fn pictures() -> Result<Measured> {
    let frame = ball(20_000);
    let mut renderer = Renderer::new(1280, 720);
    let view = View { camera: camera::auto(&[Bounds::of_frame(&frame)], 1280.0 / 720.0), ..View::default() };
    renderer.render(&frame, &view);
    let substeps = 10;
    let mut phases: Vec<(String, f64)> = renderer.phases().iter().map(|(n, _)| (n.to_string(), 0.0)).collect();
    let clock = Clock::start();
    for _ in 0..substeps {
        renderer.render(&frame, &view);
        for (sum, (_, s)) in phases.iter_mut().zip(renderer.phases()) {
            sum.1 += s;
        }
    }
    let (cpu_seconds, wall_seconds) = clock.stop();
    Ok(Measured {
        points: 20_000,
        substeps,
        cpu_seconds,
        best_seconds: cpu_seconds,
        wall_seconds,
        phases,
        ..Measured::default()
    })
}

/// A ball of radius 0.5 m whose surfels lie on a spiral.
fn ball(count: usize) -> Frame {
    let turn = std::f32::consts::PI * (3.0 - 5f32.sqrt());
    let mut surfels = Surfels::default();
    let size = 1.5 * 0.5 * (4.0 * std::f32::consts::PI / count as f32).sqrt();
    for i in 0..count {
        let y = 1.0 - 2.0 * (i as f32 + 0.5) / count as f32;
        let (sin, cos) = (turn * i as f32).sin_cos();
        let normal = Vec3::new(cos * (1.0 - y * y).sqrt(), y, sin * (1.0 - y * y).sqrt());
        let (u, v) = normal.any_orthonormal_pair();
        surfels.positions.push(Vec3::Y * 0.5 + 0.5 * normal);
        surfels.axes_u.push(0.5 * size * u);
        surfels.axes_v.push(0.5 * size * v);
        surfels.normals.push(normal);
        surfels.colors.push([197, 139, 90]);
    }
    let floor = ColliderFrame {
        name: "floor".into(),
        color: [220, 220, 220],
        pose: DAffine3::IDENTITY,
        look: ColliderLook::Plane,
    };
    let body = BodyFrame { name: "ball".into(), color: [197, 139, 90], surfels, ..Default::default() };
    Frame { index: 0, time: 0.0, bodies: vec![body], colliders: vec![floor], cracks: Vec::new() }
}
