//! What tests of bodies of different models share: a world from a scene, frames without a rescue, momenta.

use crate::geometry::Files;
use crate::run::Simulation;
use crate::scene::Scene;
use crate::world::World;
use glam::DVec3;
use std::sync::atomic::AtomicBool;

pub fn world(text: &str) -> World {
    let scene = Scene::from_toml(text, None, &[]).unwrap_or_else(|e| panic!("{e}"));
    World::new(&scene, &Files { base: ".".into(), allow_outside: false }).unwrap_or_else(|e| panic!("{e}"))
}

pub fn run(world: &mut World, frames: usize) {
    for _ in 0..frames {
        let frame = world.advance_frame(&AtomicBool::new(false)).unwrap_or_else(|e| panic!("{e}"));
        assert!(frame.rescues.is_empty());
    }
}

/// Momentum and angular momentum.
pub fn momenta(world: &World) -> [DVec3; 2] {
    let p = &world.points;
    let one = |i: usize| p.velocities[i] * p.masses[i];
    let all = 0..p.len();
    [all.clone().map(one).sum(), all.map(|i| p.positions[i].cross(one(i))).sum()]
}
