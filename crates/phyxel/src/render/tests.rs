//! Tests of whole pictures.

use super::*;
use crate::frame::{BodyFrame, ColliderFrame, ColliderLook};
use glam::{DAffine3, Vec3};

/// A ball of surfels on the unit sphere's Fibonacci points.
fn ball(count: usize, center: Vec3, radius: f32, color: [u8; 3]) -> BodyFrame {
    let mut body = BodyFrame { color, ..BodyFrame::default() };
    let reach = 1.1 * radius * (4.0 * std::f32::consts::PI / count as f32).sqrt();
    for i in 0..count {
        let y = 1.0 - (2.0 * i as f32 + 1.0) / count as f32;
        let (sin, cos) = (i as f64 * 2.399_963_229_728_653).sin_cos();
        let (sin, cos) = (sin as f32, cos as f32);
        let n = Vec3::new((1.0 - y * y).sqrt() * cos, y, (1.0 - y * y).sqrt() * sin).normalize();
        let (u, v) = n.any_orthonormal_pair();
        body.surfels.positions.push(center + n * radius);
        body.surfels.axes_u.push(u * reach);
        body.surfels.axes_v.push(v * reach);
        body.surfels.normals.push(n);
        body.surfels.colors.push(color);
    }
    body.positions = vec![center];
    body.velocities = vec![Vec3::X];
    body.spacings = vec![2.0 * radius];
    body
}

fn view() -> View {
    let camera = Camera { from: Vec3::new(0.0, 0.0, 5.0), look_at: Vec3::ZERO, up: Vec3::Y, fov_y: 0.6 };
    View { camera, background: [0, 0, 255], ..View::default() }
}

fn floor() -> ColliderFrame {
    let pose = DAffine3::from_translation(glam::DVec3::new(0.0, -1.0, 0.0));
    ColliderFrame { name: "floor".into(), color: [180; 3], pose, look: ColliderLook::Plane }
}

fn is_red(color: [u8; 3]) -> bool {
    color[0] > color[2]
}

/// Radius on the screen of a sphere of radius 1 at the origin, for pictures 200 pixels high.
fn outline() -> f32 {
    // The tangent cone of the sphere: sin = 1 / 5.
    (1.0 / 5f32).asin().tan() / 0.3f32.tan() * 100.0
}

fn check_disk(image: &Image, radius: f32, what: &str) {
    for y in 0..200 {
        for x in 0..200 {
            let r = (x as f32 - 99.5).hypot(y as f32 - 99.5);
            let color = image.pixel(x, y);
            if r < radius - 1.5 {
                assert!(is_red(color), "{what}: hole at {x}, {y}: {color:?}");
            } else if r > radius + 2.0 {
                assert!(!is_red(color), "{what}: spill at {x}, {y}: {color:?}");
            }
        }
    }
}

#[test]
fn a_sphere_fills_its_disk_and_no_more() {
    for count in [3000, 100_000] {
        let frame = Frame { bodies: vec![ball(count, Vec3::ZERO, 1.0, [230, 60, 50])], ..Frame::default() };
        let mut renderer = Renderer::new(200, 200);
        check_disk(renderer.render(&frame, &view()), outline(), &format!("{count} surfels"));
    }
}

#[test]
fn a_point_is_a_ball() {
    let frame = Frame { bodies: vec![ball(3000, Vec3::ZERO, 1.0, [230, 60, 50])], ..Frame::default() };
    let mut renderer = Renderer::new(200, 200);
    check_disk(renderer.render(&frame, &View { draw: Draw::Points, ..view() }), outline(), "ball");
}

#[test]
fn the_nearer_body_hides_the_farther_one() {
    let near = ball(4000, Vec3::new(0.0, 0.0, 1.5), 0.3, [60, 220, 60]);
    let far = ball(4000, Vec3::new(0.0, 0.0, -1.0), 0.8, [230, 60, 50]);
    for bodies in [vec![near.clone(), far.clone()], vec![far, near]] {
        let frame = Frame { bodies, ..Frame::default() };
        let mut renderer = Renderer::new(200, 200);
        let color = renderer.render(&frame, &view()).pixel(100, 100);
        assert!(color[1] > color[0], "{color:?}");
    }
}

#[test]
fn the_same_bits_for_any_number_of_threads() {
    let bodies = vec![ball(3000, Vec3::ZERO, 1.0, [230, 60, 50]), ball(500, Vec3::X, 0.5, [90; 3])];
    let frame = Frame { bodies, colliders: vec![floor()], ..Frame::default() };
    let field = Coloring::Field { name: "speed".into(), range: None };
    for view in [view(), View { draw: Draw::Points, ..view() }, View { color: field, ..view() }] {
        let draw = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| Renderer::new(320, 180).render(&frame, &view).clone())
        };
        let one = draw(1);
        assert!([2, 3, 4].into_iter().all(|threads| draw(threads) == one));
    }
}

#[test]
fn a_used_renderer_draws_like_a_new_one() {
    let first = Frame { bodies: vec![ball(3000, Vec3::ZERO, 1.0, [230; 3])], ..Frame::default() };
    let second = Frame { bodies: vec![ball(700, Vec3::X, 0.4, [9; 3])], colliders: vec![floor()], ..Frame::default() };
    let mut used = Renderer::new(160, 90);
    used.render(&first, &view());
    assert_eq!(used.render(&second, &view()), Renderer::new(160, 90).render(&second, &view()));
}

#[test]
fn an_empty_frame_is_background() {
    let mut renderer = Renderer::new(64, 48);
    let image = renderer.render(&Frame::default(), &view());
    assert!(image.rgb.chunks(3).all(|c| c[0] == 0 && c[2] > 100), "{:?}", image.pixel(3, 3));
    let field = Coloring::Field { name: "stress".into(), range: None };
    renderer.render(&Frame { colliders: vec![floor()], ..Frame::default() }, &View { color: field, ..view() });
}

#[test]
fn what_is_not_finite_is_left_out() {
    let good = Frame { bodies: vec![ball(2000, Vec3::ZERO, 1.0, [230, 60, 50])], ..Frame::default() };
    let mut bad = good.clone();
    for (i, place) in [Vec3::NAN, Vec3::INFINITY, Vec3::splat(1e30)].into_iter().enumerate() {
        let surfels = &mut bad.bodies[0].surfels;
        surfels.positions.push(if i < 2 { place } else { Vec3::ZERO });
        surfels.axes_u.push(Vec3::X);
        surfels.axes_v.push(if i == 2 { Vec3::NAN } else { Vec3::Y });
        surfels.normals.push(Vec3::Z);
        surfels.colors.push([0; 3]);
    }
    bad.bodies[0].positions.push(Vec3::NAN);
    bad.bodies[0].spacings.push(1.0);
    let mut renderer = Renderer::new(200, 200);
    check_disk(renderer.render(&bad, &view()), outline(), "with bad surfels");
    check_disk(renderer.render(&bad, &View { draw: Draw::Points, ..view() }), outline(), "with bad points");
}

#[test]
fn the_ground_below_a_ball_is_in_its_shadow() {
    let lit = Frame { colliders: vec![floor()], ..Frame::default() };
    let shaded = Frame { bodies: vec![ball(3000, Vec3::ZERO, 1.0, [200; 3])], ..lit.clone() };
    let camera = Camera { from: Vec3::new(0.0, 2.0, 8.0), look_at: Vec3::new(0.0, -1.0, 0.0), ..view().camera };
    let view = View { camera, ..view() };
    let mut renderer = Renderer::new(320, 180);
    let bright = renderer.render(&lit, &view).clone();
    let dark = renderer.render(&shaded, &view);
    // Right behind the ball, away from the key light.
    let darker = (0..180).flat_map(|y| (0..320).map(move |x| (x, y)));
    let drop = darker.map(|(x, y)| i32::from(bright.pixel(x, y)[0]) - i32::from(dark.pixel(x, y)[0])).max();
    assert!(drop > Some(40), "{drop:?}");
    // Far away nothing changes.
    assert_eq!(bright.pixel(2, 178), dark.pixel(2, 178));
}

#[test]
fn a_gap_in_a_body_shows_neither_its_inside_nor_what_lies_at_its_back() {
    let mut shell = ball(3000, Vec3::ZERO, 1.0, [230, 60, 50]);
    let whole = Frame { bodies: vec![shell.clone()], ..Frame::default() };
    let wanted = Renderer::new(200, 200).render(&whole, &view()).pixel(100, 100);
    // Some surfels of the side that is seen are missing.
    let kept: Vec<usize> = (0..3000).filter(|&i| shell.surfels.positions[i].distance(Vec3::Z) > 0.09).collect();
    let pick = |list: &[Vec3]| kept.iter().map(|&i| list[i]).collect::<Vec<_>>();
    let s = &mut shell.surfels;
    (s.positions, s.normals) = (pick(&s.positions), pick(&s.normals));
    (s.axes_u, s.axes_v) = (pick(&s.axes_u), pick(&s.axes_v));
    s.colors.truncate(kept.len());
    // A plate that the far side of the ball touches.
    let mut plate = BodyFrame { color: [40, 60, 230], ..BodyFrame::default() };
    for k in 0..900 {
        plate.surfels.positions.push(Vec3::new((k % 30) as f32 * 0.02 - 0.3, (k / 30) as f32 * 0.02 - 0.3, -1.0));
        plate.surfels.normals.push(Vec3::Z);
        plate.surfels.axes_u.push(0.02 * Vec3::X);
        plate.surfels.axes_v.push(0.02 * Vec3::Y);
        plate.surfels.colors.push(plate.color);
    }
    for bodies in [vec![shell.clone()], vec![shell.clone(), plate.clone()], vec![plate, shell]] {
        let frame = Frame { bodies, ..Frame::default() };
        let seen = Renderer::new(200, 200).render(&frame, &view()).pixel(100, 100);
        for (seen, wanted) in seen.into_iter().zip(wanted) {
            assert!(seen.abs_diff(wanted) < 25, "{seen:?} {wanted:?}");
        }
    }
}
