//! A virtual tension test returns the Young's modulus and Poisson's ratio that were put in, on every sampling.

use phyxel::geometry::Files;
use phyxel::run::Simulation;
use phyxel::scene::Scene;
use phyxel::world::World;
use std::sync::atomic::AtomicBool;

/// A bar of 0.4 x 0.1 x 0.1 m, 8 points across, pulled by 0.1 % between roller grips, E = 1 MPa.
fn scene(sampling: &str, poisson: f64) -> Scene {
    let text = format!(
        r#"
format = 1
name = "tension"
gravity = [0, 0, 0]
duration = 1
fps = 10
integrator = "implicit"
time_step = 0.1

[[body]]
name = "bar"
shape = {{ kind = "box", size = [0.4, 0.1, 0.1] }}
spacing = 0.0125
sampling = "{sampling}"
material = {{ young = 1e6, poisson = {poisson}, density = 1000, damping = 0 }}
surface = {{ kind = "none" }}
regions = [
    {{ name = "left", half_space = {{ normal = [-1, 0, 0], offset = 0.175 }} }},
    {{ name = "right", half_space = {{ normal = [1, 0, 0], offset = 0.175 }} }},
    {{ name = "middle", box = {{ min = [-0.1, -1, -1], max = [0.1, 1, 1] }} }},
]

[[pin]]
name = "hold"
body = "bar"
region = "left"
axes = "x"

[[pin]]
name = "pull"
body = "bar"
region = "right"
axes = "x"
motion = [ {{ t = 0 }}, {{ t = 0.2, at = [0.0004, 0, 0] }} ]

[[probe]]
name = "force"
pin = "pull"
measure = "reaction_x"
"#
    );
    Scene::from_toml(&text, None, &[]).expect("the scene is right")
}

/// Measured Young's modulus over the given one, and Poisson's ratio, from a least-squares fit in the middle half.
fn measure(sampling: &str, poisson: f64) -> (f64, f64) {
    let files = Files { base: ".".into(), allow_outside: false };
    let mut world = World::new(&scene(sampling, poisson), &files).expect("builds");
    let cancel = AtomicBool::new(false);
    for _ in 0..10 {
        world.advance_frame(&cancel).expect("steps");
    }
    world.metrics();
    let force = world.probe_values()[0];
    let body = &world.bodies()[0];
    let middle = &body.region("middle").expect("there").points;
    let slope = |axis: usize| {
        let points = world.points();
        let mean = |f: &dyn Fn(usize) -> f64| middle.iter().map(|&i| f(i as usize)).sum::<f64>() / middle.len() as f64;
        let x = |i: usize| points.rest_positions[i][axis];
        let u = |i: usize| (points.positions[i] - points.rest_positions[i])[axis];
        let (mx, mu) = (mean(&x), mean(&u));
        mean(&|i| (x(i) - mx) * (u(i) - mu)) / mean(&|i| (x(i) - mx).powi(2))
    };
    let (along, across) = (slope(0), 0.5 * (slope(1) + slope(2)));
    // St. Venant-Kirchhoff: nominal stress E L (L² - 1) / 2.
    let stretch = 1.0 + along;
    let young = force / 0.01 / (0.5 * stretch * (stretch * stretch - 1.0));
    (young / 1e6, -across / along)
}

fn check(sampling: &str) {
    for poisson in [0.0, 0.3, 0.45] {
        let (young, ratio) = measure(sampling, poisson);
        println!("{sampling} nu {poisson}: E {young:.4}, nu {ratio:.4}");
        assert!((young - 1.0).abs() < 0.02, "{sampling}, nu {poisson}: E is {young} of what was asked for");
        assert!((ratio - poisson).abs() < 0.01, "{sampling}, nu {poisson}: nu is {ratio}");
    }
}

#[test]
fn regular_sampling_gives_textbook_constants() {
    check("regular");
}

#[test]
fn blue_noise_sampling_gives_textbook_constants() {
    check("poisson");
}

#[test]
fn graded_sampling_gives_textbook_constants() {
    check("graded");
}
