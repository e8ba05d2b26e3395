//! Shells in a world with solids.

use crate::geometry::Files;
use crate::measure::totals;
use crate::run::Simulation;
use crate::scene::Scene;
use crate::world::World;
use std::sync::atomic::AtomicBool;

#[test]
fn a_ball_shot_at_a_free_sheet_takes_it_along_and_momentum_stays() {
    let text = r#"
format = 1
gravity = [0, 0, 0]
[[body]]
name = "sheet"
model = "shell"
shape = { kind = "sheet", size = [0.6, 0.6] }
spacing = 0.05
material = { young = 1e5, thickness = 0.004, density = 400, damping = 0 }
surface = { count = 100 }
[[body]]
name = "ball"
shape = { kind = "sphere", radius = 0.12 }
at = [0.01, 0.16, 0.02]
velocity = [0, -4, 0]
points = 300
material = { young = 1e5, damping = 0 }
surface = { count = 100 }
"#;
    let scene = Scene::from_toml(text, None, &[]).unwrap();
    let mut world = World::new(&scene, &Files { base: ".".into(), allow_outside: false }).unwrap();
    let all = |world: &World| totals(world.points(), 0..world.points().len());
    let before = all(&world);
    for _ in 0..8 {
        assert!(world.advance_frame(&AtomicBool::new(false)).unwrap().complete);
    }
    let after = all(&world);
    let size = before.momentum.length();
    assert!((after.momentum - before.momentum).length() < 1e-9 * size, "{}", after.momentum);
    // Solids run in f32 and shells are evaluated a little ahead: a few parts in a million.
    assert!((after.angular - before.angular).length() < 1e-5 * size, "{} {}", before.angular, after.angular);
    // It went 1 m; where it touches the sheet is before it.
    let points = world.points();
    let (sheet, ball) = (world.bodies()[0].range.clone(), world.bodies()[1].range.clone());
    let lowest = ball.clone().map(|i| points.positions[i].y).fold(f64::INFINITY, f64::min);
    let below = |i: &usize| points.positions[*i].x.hypot(points.positions[*i].z) < 0.08;
    let middle: Vec<f64> = sheet.filter(below).map(|i| points.positions[i].y).collect();
    let mean = middle.iter().sum::<f64>() / middle.len() as f64;
    assert!(middle.len() > 5 && mean < lowest + 0.02 && lowest < -0.4, "{mean} {lowest} {}", middle.len());
}

#[test]
fn a_patch_is_thicker_and_heavier_and_a_grain_is_taken() {
    let text = r#"
format = 1
[[body]]
model = "shell"
shape = { kind = "sheet", size = [0.6, 0.6] }
spacing = 0.06
regions = [ { name = "hem", half_space = { normal = [1, 0, 0], offset = 0.2 } } ]
patches = [ { region = "hem", stiffness = 3, thickness = 2 } ]
material = { thickness = 0.004, density = 400, anisotropy = { young = [2e6, 1e5, 2e5], shear = [5e4, 5e4, 8e4] } }
surface = { count = 100 }
"#;
    let scene = Scene::from_toml(text, None, &[]).unwrap();
    let mut world = World::new(&scene, &Files { base: ".".into(), allow_outside: false }).unwrap();
    let shell = world.shells().shell(0).unwrap();
    for i in 0..world.points().len() {
        let factor = if world.points().positions[i].x > 0.2 { 2.0 } else { 1.0 };
        assert!((shell.thickness(i) - 0.004 * factor).abs() < 1e-12);
        let mass = 400.0 * 0.004 * factor * shell.nodes().areas[i];
        assert!((world.points().masses[i] - mass).abs() < 1e-12);
    }
    assert!(world.advance_frame(&AtomicBool::new(false)).unwrap().complete);
}
