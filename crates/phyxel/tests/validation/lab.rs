//! A small laboratory: scene text to world, what is read off it, and how that compares with a reference.

use glam::DVec3;
use phyxel::geometry::Files;
use phyxel::measure::MetricsRow;
use phyxel::run::Simulation;
use phyxel::scene::Scene;
use phyxel::world::World;
use std::sync::atomic::AtomicBool;

/// The world of a scene's text, as `phyxel run` builds it.
pub fn world(text: &str) -> World {
    let scene = Scene::from_toml(text, None, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
    World::new(&scene, &Files { base: ".".into(), allow_outside: false }).expect("the world can be built")
}

/// Advances by one frame and measures.
pub fn next_frame(world: &mut World) -> MetricsRow {
    let advance = world.advance_frame(&AtomicBool::new(false)).expect("the run goes well");
    assert!(advance.rescues.is_empty(), "the guard had to step in: {:?}", advance.rescues);
    world.metrics()
}

/// Advances by some frames; measures after the last.
pub fn run(world: &mut World, frames: usize) -> MetricsRow {
    (0..frames).map(|_| next_frame(world)).last().expect("at least one frame")
}

/// Displacement of every point [m].
pub fn displacements(world: &World) -> Vec<DVec3> {
    let points = world.points();
    points.positions.iter().zip(&points.rest_positions).map(|(x, rest)| *x - *rest).collect()
}

/// Value at `at` and slope of the least-squares line through (x, y).
pub fn line(data: impl Iterator<Item = (f64, f64)> + Clone, at: f64) -> (f64, f64) {
    let n = data.clone().count() as f64;
    let (x_mean, y_mean) = data.clone().fold((0.0, 0.0), |(x, y), d| (x + d.0 / n, y + d.1 / n));
    let (product, square) =
        data.fold((0.0, 0.0), |(p, s), (x, y)| (p + (x - x_mean) * (y - y_mean), s + (x - x_mean).powi(2)));
    let slope = product / square;
    (y_mean + slope * (at - x_mean), slope)
}

/// Mean strain along an axis of the points that lie, at rest, where `inside` says.
pub fn strain(world: &World, axis: usize, inside: impl Fn(DVec3) -> bool) -> f64 {
    let (points, u) = (world.points(), displacements(world));
    let members: Vec<usize> = (0..points.len()).filter(|&i| inside(points.rest_positions[i])).collect();
    line(members.iter().map(|&i| (points.rest_positions[i][axis], u[i][axis])), 0.0).1
}

/// What a measured number is held against.
#[derive(Debug, Clone, Copy)]
pub enum Want {
    /// This value, within a part of it.
    Near(f64),
    /// This value, within a distance.
    About(f64),
    /// At most the tolerance.
    Small,
}

/// Prints a line of the table in docs/validation.md and fails when `got` is off by more than `accepted`: the research
/// tolerance, or what is reached where that is not (said in docs/validation.md). `tolerances`: research, best.
#[track_caller]
pub fn check(name: &str, want: Want, tolerances: [f64; 2], accepted: f64, got: f64) {
    let (reference, error) = match want {
        Want::Near(value) => (value, (got - value).abs() / value.abs()),
        Want::About(value) => (value, (got - value).abs()),
        Want::Small => (0.0, got),
    };
    let [research, best] = tolerances;
    let met = match error {
        e if e <= best => "best",
        e if e <= research => "research",
        _ => "no",
    };
    println!("| {name} | {reference} | {got:.6e} | {error:.2e} | {research:e} | {best:e} | {met} |");
    assert!(error <= accepted, "{name}: {got} for {reference}, off by {error}, accepted {accepted}");
}
