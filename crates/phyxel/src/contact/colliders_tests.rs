//! Tests of points against colliders.

use super::super::test_shapes::{Ball, Block, HalfSpace, Hollow};
use super::*;
use crate::geometry::{MeshShape, Shape, Sphere};
use crate::motion::Motion;
use crate::sampling::mesh_of;
use crate::scene::Keyframe;
use std::sync::Arc;

const GRAVITY: DVec3 = DVec3::new(0.0, -9.81, 0.0);

fn collider(shape: impl Shape + 'static, friction: f64) -> Collider {
    Collider::new("c", Arc::new(shape)).with_surface(friction, 0.0)
}

fn floor(friction: f64) -> Collider {
    Collider::half_space("floor", Arc::new(HalfSpace(DVec3::Y, 0.0))).with_surface(friction, 0.0)
}

/// Points at the given places, 2 cm apart in name, so of radius 1 cm.
fn points_at(places: &[DVec3]) -> Points {
    let mut points = Points::default();
    for &p in places {
        points.push(0, p, 0.008, 8e-6, 0.02);
    }
    points
}

/// Runs free points under gravity and contact.
fn fall(colliders: &mut Colliders, points: &mut Points, gravity: DVec3, dt: f64, steps: usize) {
    for step in 0..steps {
        colliders.advance(step as f64 * dt, dt);
        points.velocities.iter_mut().for_each(|v| *v += gravity * dt);
        colliders.collide(points, dt);
        for i in 0..points.len() {
            let v = points.velocities[i];
            points.positions[i] += dt * v;
        }
    }
}

/// A ball of points around a center.
fn cloud(center: DVec3, velocity: DVec3) -> Points {
    let mut points = Points::default();
    for k in 0..1000u32 {
        let cell = DVec3::new((k % 10) as f64, (k / 10 % 10) as f64, (k / 100) as f64) - 4.5;
        if cell.length() < 5.0 {
            let wobble = DVec3::new((k as f64 * 0.7).sin(), (k as f64 * 1.3).sin(), (k as f64 * 2.1).sin());
            points.push(0, center + 0.02 * cell + 0.004 * wobble, 0.008, 8e-6, 0.02);
        }
    }
    points.velocities.fill(velocity);
    points
}

#[test]
fn nothing_tunnels_through_a_thin_plate() {
    for dt in [5e-5, 3e-4, 1e-3, 2e-3] {
        for tilt in [0.0, 30.0, 75.0] {
            let plate = collider(Block(DVec3::ZERO, DVec3::new(2.0, 0.001, 2.0)), 0.3)
                .with_pose(DVec3::ZERO, DVec3::new(0.0, 0.0, tilt));
            let up = plate.pose().axes * DVec3::Y;
            let mut colliders = Colliders::new(vec![plate]);
            let mut points = cloud(0.15 * up, DVec3::new(0.0, -10.0, 0.0));
            fall(&mut colliders, &mut points, DVec3::ZERO, dt, (0.1 / dt) as usize);
            let lowest = points.positions.iter().map(|p| up.dot(*p)).fold(f64::INFINITY, f64::min);
            assert!(lowest > 0.011 - 1e-5, "dt {dt}, tilt {tilt}: {lowest}");
        }
    }
}

#[test]
fn fast_points_stay_outside_a_mesh_of_which_a_grid_is_asked() {
    let mesh = mesh_of(&Sphere { radius: 0.1 }, 3000);
    for cell in [0.005, 0.02] {
        let mut ball = collider(MeshShape::new(&mesh), 0.3);
        ball.bake(cell, 0.05);
        assert!(ball.is_baked());
        let mut colliders = Colliders::new(vec![ball]);
        let mut points = cloud(DVec3::Y * 0.25, DVec3::new(0.0, -10.0, 0.0));
        fall(&mut colliders, &mut points, GRAVITY, 1e-3, 60);
        // Points have a radius of two cells of the fine grid; those of the coarse one touch the mesh itself.
        let nearest = points.positions.iter().map(|p| p.length()).fold(f64::INFINITY, f64::min);
        assert!((0.1095..0.112).contains(&nearest), "{nearest}");
    }
}

#[test]
fn fast_points_stay_outside_a_small_ball_and_inside_a_bowl() {
    let mut colliders = Colliders::new(vec![collider(Ball(DVec3::ZERO, 0.005), 0.3)]);
    let mut points = points_at(&[DVec3::new(0.0, 0.095, 0.001)]);
    points.velocities[0] = DVec3::new(0.0, -10.0, 0.0);
    fall(&mut colliders, &mut points, DVec3::ZERO, 2e-3, 20);
    assert!(points.positions[0].length() > 0.015 - 1e-5);
    // Sliding round in a bowl: never through the wall.
    let mut colliders = Colliders::new(vec![collider(Hollow(DVec3::ZERO, 0.3), 0.0)]);
    let mut points = points_at(&[DVec3::new(0.0, -0.28, 0.0)]);
    points.velocities[0] = DVec3::new(6.0, 0.0, 3.0);
    for _ in 0..300 {
        fall(&mut colliders, &mut points, GRAVITY, 1e-3, 1);
        assert!(points.positions[0].length() < 0.29 + 2e-5, "{}", points.positions[0].length());
    }
}

#[test]
fn slides_along_a_floor_into_a_thin_wall_of_the_same_collider() {
    struct Corner(Block, Block);
    impl Shape for Corner {
        fn distance(&self, p: DVec3) -> f64 {
            self.0.distance(p).min(self.1.distance(p))
        }
        fn bounds(&self) -> Bounds {
            self.0.bounds().union(self.1.bounds())
        }
    }
    let floor = Block(DVec3::new(0.0, -0.01, 0.0), DVec3::new(2.0, 0.01, 2.0));
    let wall = Block(DVec3::new(0.5, 0.1, 0.0), DVec3::new(0.005, 0.1, 2.0));
    let mut colliders = Colliders::new(vec![collider(Corner(floor, wall), 0.0)]);
    let mut points = points_at(&[DVec3::new(0.0, 0.01, 0.0)]);
    points.velocities[0] = DVec3::new(10.0, 0.0, 0.0);
    fall(&mut colliders, &mut points, GRAVITY, 2e-3, 60);
    assert!((points.positions[0].x - 0.485).abs() < 1e-5, "{}", points.positions[0]);
    assert!((points.positions[0].y - 0.01).abs() < 1e-5);
}

#[test]
fn rests_without_buzz_or_drift_for_ten_seconds() {
    for collider in [floor(0.4), collider(Block(DVec3::new(0.0, -0.5, 0.0), DVec3::new(1.0, 0.5, 1.0)), 0.4)] {
        let mut colliders = Colliders::new(vec![collider]);
        let mut points = points_at(&[DVec3::new(0.1, 0.05, 0.2), DVec3::new(-0.3, 0.01, 0.0)]);
        fall(&mut colliders, &mut points, GRAVITY, 1e-3, 1000);
        let rested = points.positions.clone();
        fall(&mut colliders, &mut points, GRAVITY, 1e-3, 9000);
        for i in 0..points.len() {
            assert!((points.positions[i] - rested[i]).length() < 1e-12);
            assert!((points.positions[i].y - 0.01).abs() < 2e-6);
            assert!(points.velocities[i].length() < 1e-9, "{}", points.velocities[i]);
        }
    }
}

#[test]
fn friction_cone_holds_below_and_slides_above() {
    let slope = |degrees: f64, friction: f64, plane: bool| {
        let shape = Arc::new(HalfSpace(DVec3::Y, 0.0));
        let made = if plane { Collider::half_space("s", shape) } else { Collider::new("s", shape) };
        let made = made.with_surface(friction, 0.0).with_pose(DVec3::ZERO, DVec3::new(0.0, 0.0, degrees));
        let axes = made.pose().axes;
        let mut points = points_at(&[axes * DVec3::new(0.0, 0.01, 0.0)]);
        let mut colliders = Colliders::new(vec![made]);
        fall(&mut colliders, &mut points, GRAVITY, 1e-3, 1000);
        axes.transpose() * points.positions[0]
    };
    for plane in [true, false] {
        // tan 20 degrees = 0.364.
        assert!(slope(20.0, 0.37, plane).x.abs() < 1e-12);
        let slid = -slope(20.0, 0.2, plane).x;
        let angle = 20f64.to_radians();
        let exact = 0.5 * 9.81 * (angle.sin() - 0.2 * angle.cos());
        assert!((slid - exact).abs() < 0.005 * exact, "{slid} {exact}");
    }
}

#[test]
fn a_point_rides_a_moving_and_turning_plate() {
    let keys = [
        Keyframe { t: 0.0, at: DVec3::ZERO, rotate: DVec3::ZERO },
        Keyframe { t: 1.0, at: DVec3::new(0.1, 0.3, 0.0), rotate: DVec3::new(0.0, 60.0, 0.0) },
        Keyframe { t: 2.0, at: DVec3::new(0.1, 0.3, 0.2), rotate: DVec3::new(0.0, 60.0, 0.0) },
    ];
    let plate = collider(Block(DVec3::ZERO, DVec3::new(0.5, 0.01, 0.5)), 2.0).with_motion(Motion::new(&keys));
    let mut colliders = Colliders::new(vec![plate]);
    let mut points = points_at(&[DVec3::new(0.1, 0.02, 0.0)]);
    fall(&mut colliders, &mut points, GRAVITY, 1e-3, 3000);
    let own = colliders.list[0].pose().to_own(points.positions[0]);
    assert!((own - DVec3::new(0.1, 0.02, 0.0)).length() < 1e-5, "{own}");
    assert!(points.velocities[0].length() < 1e-9);
}

#[test]
fn a_moving_plane_pushes_and_its_reaction_is_the_weight() {
    let keys = [0.0, 1.0].map(|t| Keyframe { t, at: DVec3::new(0.0, 0.2 * t, 0.0), rotate: DVec3::ZERO });
    let mut colliders = Colliders::new(vec![floor(0.5).with_motion(Motion::new(&keys))]);
    let mut points = points_at(&[DVec3::new(0.0, 0.01, 0.0), DVec3::new(0.1, 0.01, 0.0)]);
    fall(&mut colliders, &mut points, GRAVITY, 1e-3, 1500);
    assert!((points.positions[0].y - 0.21).abs() < 2e-6);
    let force = colliders.impulse(0) / 1e-3;
    assert!((force - DVec3::new(0.0, 2.0 * 0.008 * 9.81, 0.0)).length() < 1e-6, "{force}");
    assert_eq!(colliders.touched(), 2);
}

#[test]
fn points_inside_come_out_gently() {
    for plane in [true, false] {
        let made = if plane { floor(0.5) } else { collider(HalfSpace(DVec3::Y, 0.0), 0.5) };
        let mut colliders = Colliders::new(vec![made]);
        let mut points = points_at(&[DVec3::new(0.0, -0.05, 0.0), DVec3::new(0.0, 0.008, 0.0)]);
        for _ in 0..2000 {
            fall(&mut colliders, &mut points, GRAVITY, 1e-4, 1);
            assert!(points.velocities.iter().all(|v| v.length() <= 0.5 + 1e-12));
        }
        fall(&mut colliders, &mut points, GRAVITY, 1e-3, 1000);
        assert!(points.positions.iter().all(|p| (p.y - 0.01).abs() < 1e-5), "{:?}", points.positions);
    }
}

#[test]
fn restitution_gives_back_its_part_and_contact_adds_no_energy() {
    let bouncy = floor(0.0).with_surface(0.0, 0.5);
    let mut colliders = Colliders::new(vec![bouncy]);
    let mut points = points_at(&[DVec3::new(0.0, 0.51, 0.0)]);
    let mut top: f64 = 0.0;
    for step in 0..800 {
        let before = points.velocities[0] + GRAVITY * 1e-3;
        fall(&mut colliders, &mut points, GRAVITY, 1e-3, 1);
        assert!(points.velocities[0].length() <= before.length() + 1e-12);
        let work = 0.008 * (points.velocities[0] - before).dot(points.velocities[0]);
        assert!((colliders.work() - work).abs() < 1e-12);
        if step > 400 {
            top = top.max(points.positions[0].y - 0.01);
        }
    }
    assert!((top - 0.125).abs() < 0.01, "{top}");
}

#[test]
fn a_point_in_a_groove_of_two_colliders_rests() {
    let slope = |normal: DVec3| Collider::half_space("s", Arc::new(HalfSpace(normal, 0.0))).with_surface(0.3, 0.0);
    let normals = [DVec3::new(1.0, 1.0, 0.0).normalize(), DVec3::new(-1.0, 1.0, 0.0).normalize()];
    let mut colliders = Colliders::new(normals.map(slope).to_vec());
    let mut points = points_at(&[DVec3::new(0.02, 0.1, 0.0)]);
    fall(&mut colliders, &mut points, GRAVITY, 1e-3, 3000);
    for normal in normals {
        assert!(normal.dot(points.positions[0]) > 0.01 - 1e-4, "{}", points.positions[0]);
    }
    assert!(points.velocities[0].length() < 1e-6, "{}", points.velocities[0]);
}

#[test]
fn constraints_name_the_points_that_will_touch() {
    let mut colliders = Colliders::new(vec![floor(0.7), collider(Ball(DVec3::new(0.0, 5.0, 0.0), 1.0), 0.1)]);
    let mut points = points_at(&[DVec3::new(0.0, 0.5, 0.0), DVec3::new(0.0, 0.02, 0.0), DVec3::new(0.0, 3.95, 0.0)]);
    points.velocities[1] = DVec3::new(1.0, -5.0, 0.0);
    points.velocities[2] = DVec3::new(0.0, 10.0, 0.0);
    let mut found = Vec::new();
    colliders.advance(0.0, 0.01);
    colliders.constraints(&points, 0.01, &mut found);
    assert_eq!(found.iter().map(|c| (c.point, c.collider)).collect::<Vec<_>>(), [(1, 0), (2, 1)]);
    assert!((found[0].min_normal_velocity + 1.0).abs() < 1e-9 && found[0].friction == 0.7);
    assert!((found[1].normal - DVec3::NEG_Y).length() < 1e-6);
    assert!((found[1].min_normal_velocity + 4.0).abs() < 1e-2);
}

#[test]
fn removed_colliders_and_absurd_states_do_nothing() {
    let mut colliders = Colliders::new(vec![floor(0.5), collider(Ball(DVec3::ZERO, 0.1), 0.5)]);
    let mut points = points_at(&[DVec3::NAN, DVec3::new(0.0, f64::INFINITY, 0.0), DVec3::new(0.0, 0.05, 0.0)]);
    points.velocities[1] = DVec3::NAN;
    fall(&mut colliders, &mut points, GRAVITY, 1e-3, 3);
    assert!(colliders.remove("floor") && colliders.remove("c") && !colliders.remove("nobody"));
    points.positions[2] = DVec3::ZERO;
    points.velocities[2] = DVec3::ZERO;
    fall(&mut colliders, &mut points, GRAVITY, 1e-3, 100);
    assert!((points.velocities[2].y + 0.981).abs() < 1e-9);
    Colliders::new(Vec::new()).collide(&mut points, 1e-3);
}

#[test]
fn same_bits_for_any_number_of_threads() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let shapes = vec![floor(0.3), collider(Ball(DVec3::ZERO, 0.2), 0.5)];
            let mut colliders = Colliders::new(shapes);
            let mut points = Points::default();
            for k in 0..9 {
                let part = cloud(DVec3::new(0.2 * k as f64 - 0.8, 0.3, 0.0), DVec3::new(0.0, -5.0, 0.5));
                for p in &part.positions {
                    points.push(0, *p, 0.008, 8e-6, 0.02);
                }
            }
            points.velocities.fill(DVec3::new(0.0, -5.0, 0.5));
            fall(&mut colliders, &mut points, GRAVITY, 1e-3, 100);
            (points.positions, colliders.impulse(0), colliders.impulse(1), colliders.work().to_bits())
        })
    };
    let one = run(1);
    assert!(one.1.y > 0.0);
    for threads in 2..=4 {
        assert!(run(threads) == one, "{threads} threads");
    }
}

#[test]
#[ignore = "a measurement: cargo test --release colliders_cost -- --ignored --nocapture"]
fn colliders_cost() {
    let mut points = Points::default();
    for k in 0..20000u32 {
        let cell = DVec3::new((k % 27) as f64, (k / 27 % 27) as f64, (k / 729) as f64);
        points.push(0, 0.02 * cell + DVec3::Y * 0.01, 0.008, 8e-6, 0.02);
    }
    for (name, lift) in [("on the floor", 0.0), ("in the air", 0.5)] {
        points.positions.iter_mut().for_each(|p| p.y += lift);
        let mut colliders = Colliders::new(vec![floor(0.3), collider(Block(DVec3::splat(9.0), DVec3::ONE), 0.3)]);
        let start = std::time::Instant::now();
        for _ in 0..1000 {
            points.velocities.iter_mut().for_each(|v| *v = GRAVITY * 1e-4);
            colliders.collide(&mut points, 1e-4);
        }
        println!("{name}: {:.2} ns per point", start.elapsed().as_nanos() as f64 / 2e7);
    }
}
