//! Analytic shapes: against their definition, Lipschitz, transforms, rounding, blends, errors.

use super::*;
use crate::scene::{ShapeKind, ShapeSpec};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Small deterministic generator for tests.
pub(super) struct Random(pub u64);

impl Random {
    /// In [0, 1).
    pub fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
    pub fn between(&mut self, a: f64, b: f64) -> f64 {
        a + (b - a) * self.unit()
    }
    pub fn point(&mut self, size: f64) -> DVec3 {
        DVec3::new(self.between(-size, size), self.between(-size, size), self.between(-size, size))
    }
}

fn files() -> Files {
    Files { base: std::env::temp_dir(), allow_outside: false }
}

fn built(spec: &ShapeSpec) -> Arc<dyn Shape> {
    build(spec, &ShapeLibrary::empty(), &files()).map(|b| b.shape).unwrap_or_else(|e| panic!("{e}"))
}

fn failure(spec: &ShapeSpec) -> String {
    build(spec, &ShapeLibrary::empty(), &files()).err().expect("must fail").to_string()
}

fn near(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance, "{a} is not {b}");
}

type Inside = fn(DVec3) -> bool;

fn primitives() -> Vec<(ShapeKind, Inside)> {
    vec![
        (ShapeKind::Box { size: DVec3::new(1.0, 0.6, 0.4) }, |p| p.x.abs() < 0.5 && p.y.abs() < 0.3 && p.z.abs() < 0.2),
        (ShapeKind::Sphere { radius: 0.7 }, |p| p.length() < 0.7),
        (ShapeKind::Ellipsoid { radii: DVec3::new(0.9, 0.2, 0.5) }, |p| (p / DVec3::new(0.9, 0.2, 0.5)).length() < 1.0),
        (ShapeKind::Cylinder { radius: 0.4, height: 1.2 }, |p| p.x.hypot(p.z) < 0.4 && p.y.abs() < 0.6),
        (ShapeKind::Capsule { radius: 0.3, height: 1.4 }, |p| {
            DVec3::new(p.x, (p.y.abs() - 0.4).max(0.0), p.z).length() < 0.3
        }),
        (ShapeKind::Cone { radius: 0.5, height: 1.0 }, |p| {
            p.y > -0.5 && p.y < 0.5 && p.x.hypot(p.z) < 0.5 * (0.5 - p.y)
        }),
        (ShapeKind::Torus { radius: 0.6, tube: 0.2 }, |p| (p.x.hypot(p.z) - 0.6).hypot(p.y) < 0.2),
        (ShapeKind::Plane { normal: DVec3::new(0.0, 3.0, 4.0), offset: 0.1 }, |p| 0.6 * p.y + 0.8 * p.z < 0.1),
    ]
}

/// A distance is exact when it has the right sign, grows by at most 1 per m, and stepping back by it along the normal
/// ends on the surface.
fn check_exact(shape: &dyn Shape, inside: impl Fn(DVec3) -> bool) {
    let mut random = Random(7);
    for _ in 0..4000 {
        let (p, q) = (random.point(1.3), random.point(1.3));
        let (d, n) = shape.distance_normal(p);
        assert_eq!(d < 0.0, inside(p), "sign at {p}");
        near(n.length(), 1.0, 1e-12);
        near(shape.distance(p - d * n), 0.0, 1e-9);
        // From inside one ends on a face, whose normal that is; also where the distance is nothing but rounding.
        assert!(d > -1e-3 || shape.normal(p - d * n).dot(n) > 0.999, "normal below {p}");
        let m = p + 0.01 * q;
        assert!((shape.distance(m) - d).abs() <= (m - p).length() + 1e-12, "steep at {p}");
        assert!(d > 0.0 || shape.bounds().contains(p), "{p} is inside but not in the box");
        assert!(d.max(0.0) >= shape.bounds().distance(p) - 1e-12);
    }
}

#[test]
fn primitives_are_exact() {
    for (kind, inside) in primitives() {
        check_exact(&*built(&ShapeSpec::new(kind)), inside);
    }
}

#[test]
fn primitives_stay_exact_when_moved_turned_and_scaled() {
    for (kind, inside) in primitives() {
        let mut spec = ShapeSpec::new(kind);
        spec.at = DVec3::new(0.1, -0.2, 0.3);
        spec.rotate = DVec3::new(20.0, -50.0, 110.0);
        spec.scale = DVec3::splat(0.8);
        let pose = Pose::from_degrees(spec.at, spec.rotate);
        check_exact(&*built(&spec), |p| inside(pose.point_back(p) / 0.8));
    }
}

#[test]
fn uneven_scale_keeps_the_sign_and_a_lower_bound() {
    let scale = DVec3::new(1.3, -0.5, 0.7);
    for (kind, inside) in primitives() {
        let mut spec = ShapeSpec::new(kind);
        spec.scale = scale;
        let shape = built(&spec);
        let mut random = Random(3);
        for _ in 0..3000 {
            let p = random.point(1.5);
            let d = shape.distance(p);
            assert_eq!(d < 0.0, inside(p / scale), "{:?} at {p}", spec.kind);
            let q = p + random.point(0.1);
            assert!((shape.distance(q) - d).abs() <= (q - p).length() + 1e-12);
            let step = 1e-4 * shape.normal(p);
            assert!(shape.distance(p + step) > shape.distance(p - step), "{:?}", spec.kind);
        }
    }
}

#[test]
fn ellipsoids_are_exact_on_the_axes_and_in_the_middle() {
    let shape = Ellipsoid { radii: DVec3::new(3.0, 1.0, 2.0) };
    near(shape.distance(DVec3::ZERO), -1.0, 1e-9);
    near(shape.distance(DVec3::X * 4.0), 1.0, 1e-12);
    near(shape.distance(DVec3::Z * -5.0), 3.0, 1e-12);
    // The foot of (1, 0, 0) is x = 9/8, y = sqrt(1 - 9/64): the nearest point leaves the axis.
    near(shape.distance(DVec3::X), -(1.0 / 64.0 + 1.0 - 9.0 / 64.0_f64).sqrt(), 1e-9);
    let sheet = Ellipsoid { radii: DVec3::new(1.0, 1e-6, 1.0) };
    near(sheet.distance(DVec3::new(0.3, 0.2, 0.1)), 0.2, 1e-6);
    near(Ellipsoid { radii: DVec3::splat(2.0) }.distance(DVec3::new(0.0, 0.0, 1.0)), -1.0, 1e-12);
}

#[test]
fn rotation_is_about_x_then_y_then_z() {
    let pose = Pose::from_degrees(DVec3::ZERO, DVec3::new(90.0, 90.0, 0.0));
    // y goes to z by the turn about x, then z to x by the turn about y.
    near((pose.point(DVec3::Y) - DVec3::X).length(), 0.0, 1e-12);
    let both = pose.after(&Pose::from_degrees(DVec3::X, DVec3::ZERO));
    near((both.point(DVec3::ZERO) - pose.point(DVec3::X)).length(), 0.0, 1e-12);
    near((both.point_back(both.point(DVec3::new(1.0, 2.0, 3.0))) - DVec3::new(1.0, 2.0, 3.0)).length(), 0.0, 1e-12);
}

#[test]
fn rounding_keeps_faces_and_cuts_edges() {
    let rounded = |kind| ShapeSpec { round: 0.1, ..ShapeSpec::new(kind) };
    let edge = (2.0_f64.sqrt() - 1.0) * 0.1;
    let cube = built(&rounded(ShapeKind::Box { size: DVec3::ONE }));
    near(cube.distance(DVec3::X * 0.5), 0.0, 1e-12);
    near(cube.distance(DVec3::new(0.5, 0.5, 0.0)), edge, 1e-12);
    let cylinder = built(&rounded(ShapeKind::Cylinder { radius: 0.5, height: 1.0 }));
    near(cylinder.distance(DVec3::X * 0.5), 0.0, 1e-12);
    near(cylinder.distance(DVec3::new(0.0, 0.5, 0.5)), edge, 1e-12);
    let cone = built(&rounded(ShapeKind::Cone { radius: 0.5, height: 1.0 }));
    near(cone.distance(DVec3::Y * -0.5), 0.0, 1e-12);
    near(cone.distance(DVec3::X * 0.25), 0.0, 1e-12);
    assert!(cone.distance(DVec3::Y * 0.5) > 0.01);
    // An edge made by cutting is rounded too; the cut face stays.
    let half = built(&rounded(ShapeKind::Intersection {
        of: vec![
            ShapeSpec::new(ShapeKind::Plane { normal: DVec3::X, offset: 0.0 }),
            ShapeSpec::new(ShapeKind::Plane { normal: DVec3::Y, offset: 0.0 }),
        ],
        smooth: 0.0,
    }));
    near(half.distance(DVec3::Y * -0.5), 0.0, 1e-12);
    let t = 0.1 * (1.0 - 0.5_f64.sqrt());
    near(half.distance(DVec3::new(-t, -t, 0.0)), 0.0, 1e-12);
    let too_much = ShapeSpec { round: 9.0, ..ShapeSpec::new(ShapeKind::Box { size: DVec3::ONE }) };
    let warnings = build(&too_much, &ShapeLibrary::empty(), &files()).unwrap().warnings;
    assert!(warnings[0].contains("shape.round"), "{warnings:?}");
}

fn random_spec(random: &mut Random, depth: usize) -> ShapeSpec {
    let pick = (random.unit() * 10.0) as usize;
    let mut primitive = primitives().swap_remove((random.unit() * 7.0) as usize).0;
    let smooth = if random.unit() < 0.5 { 0.0 } else { random.between(0.02, 0.3) };
    if depth > 0 && pick < 8 {
        let of = (0..1 + pick % 3).map(|_| random_spec(random, depth - 1)).collect();
        primitive = match pick % 3 {
            0 => ShapeKind::Difference { of, smooth },
            1 => ShapeKind::Intersection { of, smooth },
            _ => ShapeKind::Union { of, smooth },
        };
    }
    ShapeSpec {
        kind: primitive,
        at: random.point(0.4),
        rotate: random.point(180.0),
        scale: if random.unit() < 0.3 { DVec3::new(1.0, 1.2, 0.7) } else { DVec3::splat(random.between(0.6, 1.1)) },
        round: if random.unit() < 0.3 { 0.02 } else { 0.0 },
    }
}

/// A combination without any passing over of far parts.
fn plain(shapes: &[Arc<dyn Shape>], smooth: f64, p: DVec3) -> f64 {
    shapes.iter().fold(f64::INFINITY, |a, s| {
        let b = s.distance(p);
        let h = (smooth - (a - b).abs()).max(0.0);
        a.min(b) - if smooth > 0.0 { h * h / (4.0 * smooth) } else { 0.0 }
    })
}

#[test]
fn random_trees_are_lower_bounds_inside_their_boxes() {
    let mut random = Random(11);
    for tree in 0..60 {
        let shape = built(&random_spec(&mut random, 3));
        for _ in 0..300 {
            let p = random.point(2.0);
            let (d, n) = shape.distance_normal(p);
            assert_eq!(d, shape.distance(p));
            assert!(d > 0.0 || shape.bounds().contains(p), "tree {tree}: {p} inside but not in the box");
            assert!(shape.bounds().is_empty() || d.max(0.0) >= shape.bounds().distance(p) - 1e-12);
            near(n.length(), 1.0, 1e-9);
            let q = p + random.point(0.2);
            assert!((shape.distance(q) - d).abs() <= (q - p).length() * (1.0 + 1e-12) + 1e-12, "tree {tree} at {p}");
        }
    }
}

#[test]
fn passing_over_far_parts_changes_no_bit() {
    let mut random = Random(5);
    for smooth in [0.0, 0.1] {
        let shapes: Vec<Arc<dyn Shape>> = (0..20).map(|_| built(&random_spec(&mut random, 1))).collect();
        let shapes: Vec<_> = shapes.into_iter().filter(|s| !s.bounds().is_empty()).collect();
        let union = Combined::new(Operation::Union, shapes.clone(), smooth);
        for _ in 0..2000 {
            let p = random.point(3.0);
            let expected = plain(&shapes, smooth, p);
            let expected =
                if smooth > 0.0 && expected > 0.0 { expected.max(union.bounds().distance(p)) } else { expected };
            assert_eq!(union.distance(p), expected);
        }
    }
}

#[test]
fn a_blend_fills_the_groove_and_grows_the_box_no_more_than_needed() {
    let ball = |x: f64| ShapeSpec { at: DVec3::X * x, ..ShapeSpec::new(ShapeKind::Sphere { radius: 1.0 }) };
    let shape = built(&ShapeSpec::new(ShapeKind::Union { of: vec![ball(-0.8), ball(0.8)], smooth: 0.4 }));
    near(shape.distance(DVec3::Y * 0.7), 0.8_f64.hypot(0.7) - 1.0 - 0.1, 1e-12);
    assert!(shape.bounds().max.y < 1.11 && shape.bounds().max.x < 1.81, "{:?}", shape.bounds());
    let far = built(&ShapeSpec::new(ShapeKind::Union { of: vec![ball(-5.0), ball(5.0)], smooth: 0.4 }));
    assert_eq!(far.bounds(), Bounds { min: DVec3::new(-6.0, -1.0, -1.0), max: DVec3::new(6.0, 1.0, 1.0) });
}

#[test]
fn names_are_looked_up_in_the_scene_first_and_circles_are_told() {
    let mut scene = BTreeMap::new();
    let named = |name: &str| ShapeSpec::new(ShapeKind::Use { name: name.into() });
    scene.insert("ball".to_owned(), ShapeSpec::new(ShapeKind::Sphere { radius: 2.0 }));
    scene.insert("a".to_owned(), named("b"));
    scene.insert("b".to_owned(), named("a"));
    let builtin =
        |name: &str| (name == "ball" || name == "cube").then(|| ShapeSpec::new(ShapeKind::Box { size: DVec3::ONE }));
    let library = ShapeLibrary::new(&scene, &builtin);
    let get = |name: &str| build(&named(name), &library, &files());
    near(get("ball").unwrap().shape.distance(DVec3::ZERO), -2.0, 0.0);
    near(get("cube").unwrap().shape.distance(DVec3::ZERO), -0.5, 0.0);
    assert!(get("a").err().unwrap().to_string().contains("a -> b -> a"));
    assert!(get("bal").err().unwrap().to_string().contains("did you mean \"ball\""));
}

#[test]
fn bad_numbers_name_their_key() {
    for (kind, key) in [
        (ShapeKind::Box { size: DVec3::new(1.0, 0.0, 1.0) }, "shape.size"),
        (ShapeKind::Sphere { radius: -1.0 }, "shape.radius"),
        (ShapeKind::Cylinder { radius: 1.0, height: f64::NAN }, "shape.height"),
        (ShapeKind::Capsule { radius: 1.0, height: 1.0 }, "shape.height"),
        (ShapeKind::Torus { radius: 1.0, tube: f64::INFINITY }, "shape.tube"),
        (ShapeKind::Plane { normal: DVec3::ZERO, offset: 0.0 }, "shape.normal"),
        (ShapeKind::Union { of: vec![], smooth: 0.0 }, "shape.of"),
        (
            ShapeKind::Union { of: vec![ShapeSpec::new(ShapeKind::Sphere { radius: 0.0 })], smooth: 0.0 },
            "shape.of[0].radius",
        ),
    ] {
        let text = failure(&ShapeSpec::new(kind));
        assert!(text.contains(key), "{text}");
    }
    let flat = ShapeSpec { scale: DVec3::X, ..ShapeSpec::new(ShapeKind::Sphere { radius: 1.0 }) };
    assert!(failure(&flat).contains("shape.scale"));
}

#[test]
fn files_may_not_leave_the_folder() {
    let mut files = Files { base: "scenes".into(), allow_outside: false };
    for name in ["../a.obj", "/etc/passwd", "x/../../a.obj"] {
        assert!(files.resolve(name).unwrap_err().to_string().contains("--allow-outside"), "{name}");
    }
    assert!(files.resolve("x/../a.obj").is_ok());
    files.allow_outside = true;
    assert!(files.resolve("../a.obj").is_ok());
}
