//! The scene `casting`, run until it has left its mold: the print is on it, and nobody sees through.

use glam::DVec3;
use phyxel::contact::Collider;
use phyxel::frame::Frame;
use phyxel::geometry::{Files, ShapeLibrary, build};
use phyxel::run::Simulation;
use phyxel::scene::{Scene, builtin};
use phyxel::surface::{Surfels, seen_through};
use phyxel::world::World;
use std::sync::atomic::AtomicBool;

/// The frame in which all is solid and still in the mold, and one in which it falls without the mold.
const SOLID: usize = 183;
const DEMOLDED: usize = 189;
/// From here on matter has the wall of the mold all around it [m]; below is the piston.
const FULL: f64 = 0.345;

fn files() -> Files {
    Files { base: "../../scenes".into(), allow_outside: false }
}

/// Distance between surfels if all are spread evenly over their area [m].
fn sampling_distance(surfels: &Surfels) -> f64 {
    let axes = surfels.axes_u.iter().zip(&surfels.axes_v);
    (axes.map(|(u, v)| f64::from(u.length() * v.length())).sum::<f64>() / surfels.len() as f64).sqrt()
}

#[test]
fn what_is_cast_has_the_print_of_its_mold_and_no_holes() {
    let text = builtin::find("casting").expect("it comes with the program").toml;
    let scene = Scene::from_toml(text, None, &[]).expect("it is whole");
    let mut world = World::new(&scene, &files()).expect("it builds");
    let (mut frame, mut middle) = (Frame::default(), DVec3::ZERO);
    for k in 1..=DEMOLDED {
        world.advance_frame(&AtomicBool::new(false)).expect("it stays whole");
        world.metrics();
        world.frame(&mut frame);
        let points = &frame.bodies[0].positions;
        let mean = points.iter().map(|p| p.as_dvec3()).sum::<DVec3>() / points.len() as f64;
        if k == SOLID {
            middle = mean;
        } else if k == DEMOLDED {
            middle -= mean;
        }
    }
    let surfels = &frame.bodies[0].surfels;
    let spacing = sampling_distance(surfels);
    let open = seen_through(surfels, 20, 0.5 * spacing as f32).len();
    assert_eq!(open, 0, "pixels of twenty views are seen through");
    // Ten times as many views, of pixels half as wide: nearly none, so that it is not by luck that twenty see none.
    let open = seen_through(surfels, 200, 0.25 * spacing as f32).len();
    println!("{open} pixels of 200 views are seen through");
    assert!(open <= 3, "{open} pixels of 200 views are seen through");

    // It falls without turning: moved back it fits the mold.
    let mold = scene.colliders.iter().find(|c| c.mold).expect("there is one");
    let library = ShapeLibrary::new(&scene.shapes, &|_| None);
    let mold = Collider::from_spec(mold, build(&mold.shape, &library, &files()).expect("it builds").shape);
    let (mut far, mut angles, mut above, mut dented) = (Vec::new(), Vec::new(), 0, 0);
    for (p, n) in surfels.positions.iter().zip(&surfels.normals) {
        let (distance, outward) = mold.distance_normal(p.as_dvec3() + middle);
        let facing = -n.as_dvec3().dot(outward);
        if f64::from(p.y) + middle.y > FULL {
            above += 1;
            dented += usize::from(distance.abs() > 0.5 * spacing);
        }
        if distance.abs() < 2.5 * spacing && facing > 0.5 {
            far.push(distance.abs());
            angles.push(facing.clamp(-1.0, 1.0).acos().to_degrees());
        }
    }
    far.sort_by(f64::total_cmp);
    let at = |part: f64| far[(part * far.len() as f64) as usize];
    let mean_angle = angles.iter().sum::<f64>() / angles.len() as f64;
    println!("{} of {} in contact, {:.2e} m at 95 %, {mean_angle:.2}°", far.len(), surfels.len(), at(0.95));
    println!("{dented} of {above} above the piston are not on the wall");
    assert!(200 * dented < above, "dents where points did not fit: {dented} of {above}");
    assert!(far.len() > surfels.len() * 3 / 4, "{} of {}", far.len(), surfels.len());
    assert!(at(0.95) < 0.5 * spacing, "{:e} m of {:e}", at(0.95), spacing);
    assert!(mean_angle < 5.0, "normals are off by {mean_angle} degrees");
}
