//! Scenes that tear, on many samplings.

use phyxel::geometry::Files;
use phyxel::run::Simulation;
use phyxel::scene::{Scene, SurfaceKind, builtin};
use phyxel::world::World;
use std::sync::atomic::AtomicBool;

/// `cargo test --release -p phyxel --test tearing -- --include-ignored --nocapture`
#[test]
#[ignore = "slow: twenty runs"]
fn the_poster_parts_in_two_in_twenty_seeds_of_twenty() {
    let text = builtin::find("poster").expect("it comes with the program").toml;
    let mut failed = Vec::new();
    for seed in 1..=20 {
        let mut scene = Scene::from_toml(text, None, &[]).expect("it is whole");
        scene.seed = seed;
        scene.bodies[0].surface.kind = SurfaceKind::None;
        let mut world =
            World::new(&scene, &Files { base: "../../scenes".into(), allow_outside: false }).expect("it builds");
        let (mut most, mut rescues) = (1, 0);
        for _ in 0..72 {
            let advance = world.advance_frame(&AtomicBool::new(false)).expect("it stays whole");
            rescues += advance.rescues.len();
            most = most.max(world.metrics().pieces);
        }
        let cracks = world.shells().cracks(0);
        println!("seed {seed}: {most} pieces, {} of crack, {rescues} rescues, from {}", cracks.len(), cracks[0].from);
        let starts_at_notch = cracks[0].from.distance(glam::DVec3::new(0.0, 0.95, 0.0)) < 0.06;
        if most != 2 || rescues > 0 || !starts_at_notch {
            failed.push(seed);
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}
