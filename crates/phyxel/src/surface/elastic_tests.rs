//! Elastic motion takes nothing from a surface, however large it is.

use crate::frame::Frame;
use crate::geometry::{Bounds, Files};
use crate::run::Simulation;
use crate::scene::Scene;
use crate::world::World;
use glam::{DMat3, DVec3};
use std::sync::atomic::AtomicBool;

/// A bust is drawn out and twisted by the hair, let go and dropped.
const BUST: &str = r##"
format = 1
name = "bust"
duration = "0.8 s"
fps = 30
[[body]]
name = "bust"
shape = { use = "bust", scale = 0.3 }
at = [0, 0.25, 0]
points = 300
material = { young = "200 kPa", poisson = 0.3, density = 1000, damping = 1 }
surface = { kind = "detail", count = 4000 }
regions = [
    { name = "hair", half_space = { normal = [0, 1, 0], offset = 0.48 } },
    { name = "foot", half_space = { normal = [0, -1, 0], offset = -0.3 } },
]
[[pin]]
name = "above"
body = "bust"
region = "hair"
motion = [ { t = 0 }, { t = 0.25, at = [0, 0.12, 0], rotate = [0, 90, 0] } ]
until = "0.3 s"
[[pin]]
name = "below"
body = "bust"
region = "foot"
until = "0.3 s"
[[collider]]
name = "floor"
shape = { kind = "plane" }
"##;

#[test]
fn a_bust_stretched_twisted_and_bounced_keeps_every_surfel_where_it_was_at_rest() {
    let scene = Scene::from_toml(BUST, None, &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut world = World::new(&scene, &Files { base: "../../scenes".into(), allow_outside: false }).unwrap();
    let mut frame = Frame::default();
    let (mut longest, mut lowest, mut worst, mut most_crushed) = (0f64, f64::INFINITY, 0f64, 0);
    for _ in 0..24 {
        world.advance_frame(&AtomicBool::new(false)).unwrap();
        world.metrics();
        world.frame(&mut frame);
        let drawn = &frame.bodies[0].surfels.positions;
        let bounds = Bounds::of(world.points.positions.iter().copied());
        (longest, lowest) = (longest.max(bounds.size().y), lowest.min(bounds.min.y));
        let carrier = world.surfaces[0].carrier.as_ref().expect("it has a surface");
        let rest = carrier.rest();
        assert_eq!(drawn.len(), rest.len());
        let size = Bounds::of(rest.positions.iter().map(|p| p.as_dvec3())).size().length();
        for s in 0..rest.len() {
            // The map that carries the surfel, undone.
            let (mut linear, mut shift, mut sum) = (DMat3::ZERO, DVec3::ZERO, 0.0);
            for (i, w) in carrier.bonds(s) {
                let (i, w) = (i as usize, f64::from(w));
                let gradient = world.scratch.gradients[i];
                sum += w;
                linear += w * gradient;
                shift += w * (world.points.positions[i] - gradient * world.points.rest_positions[i]);
            }
            // Weights are f32: they sum to 1 but for rounding.
            let back = (linear * (1.0 / sum)).inverse() * (drawn[s].as_dvec3() - shift / sum);
            let norm = |m: DMat3| m.to_cols_array().iter().map(|x| x * x).sum::<f64>().sqrt();
            let off = back - rest.positions[s].as_dvec3();
            // Where matter is crushed the rounding of f32 places is blown up on the way back: there they are compared as drawn.
            let crushed = norm(linear.inverse()) > 6.0;
            worst = worst.max(if crushed { linear * off } else { off }.length() / size);
            most_crushed += usize::from(crushed);
        }
    }
    // It was drawn out from 0.3 m, and has touched the floor.
    assert!(longest > 0.38 && lowest < 0.01, "{longest} {lowest}");
    assert!(worst < 1e-6 && most_crushed < 1000, "{worst:.2e}, crushed {most_crushed} of 96000");
}
