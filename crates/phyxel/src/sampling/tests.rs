//! Volume samples against shapes whose volume is known.

use super::*;
use crate::error::Error;
use crate::geometry::{Combined, Cuboid, Cylinder, HalfSpace, Operation, Placed, Pose, Shape, Sphere, Torus};
use crate::neighbors::Grid;
use crate::scene::Sampling;
use std::f64::consts::PI;
use std::sync::Arc;

const KINDS: [Sampling; 3] = [Sampling::Regular, Sampling::Poisson, Sampling::Graded];

fn shell() -> Combined {
    let spheres: Vec<Arc<dyn Shape>> = vec![Arc::new(Sphere { radius: 0.5 }), Arc::new(Sphere { radius: 0.35 })];
    Combined::new(Operation::Difference, spheres, 0.0)
}

/// Shapes with their volumes [m³].
pub(super) fn shapes() -> Vec<(&'static str, Arc<dyn Shape>, f64)> {
    let ball = |r: f64| 4.0 / 3.0 * PI * r.powi(3);
    vec![
        ("box", Arc::new(Cuboid::new(DVec3::new(1.0, 0.5, 0.25), 0.0)), 0.125),
        ("sphere", Arc::new(Sphere { radius: 0.5 }), ball(0.5)),
        ("torus", Arc::new(Torus { radius: 0.5, tube: 0.15 }), 2.0 * PI * PI * 0.5 * 0.15 * 0.15),
        ("cylinder", Arc::new(Cylinder::new(0.2, 1.0, 0.0)), PI * 0.04),
        ("shell", Arc::new(shell()), ball(0.5) - ball(0.35)),
    ]
}

fn sample(shape: &dyn Shape, kind: Sampling, size: SampleSize) -> VolumeSamples {
    sample_volume(shape, kind, size, 1).unwrap()
}

#[test]
fn volumes_sum_to_the_volume_of_the_shape_and_points_lie_inside() {
    for (name, shape, volume) in shapes() {
        for kind in KINDS {
            for points in [1, 300] {
                let s = sample(&*shape, kind, SampleSize::Points(points));
                let sum: f64 = s.volumes.iter().sum();
                assert!((sum / s.volume - 1.0).abs() < 1e-12, "{name} {kind:?} {points}");
                assert!((s.volume / volume - 1.0).abs() < 0.01, "{name} {kind:?} {points}: {} of {volume}", s.volume);
                assert!(s.positions.iter().all(|&p| shape.distance(p) < 0.0), "{name} {kind:?} {points}");
                assert!(s.volumes.iter().all(|&v| v > 0.0), "{name} {kind:?} {points}");
                assert_eq!(s.positions.len(), s.volumes.len());
                assert_eq!(s.positions.len(), s.spacings.len());
            }
        }
    }
}

#[test]
fn the_number_of_points_is_met_within_ten_percent() {
    for (name, shape, _) in shapes() {
        for kind in KINDS {
            for points in [150, 600] {
                let found = sample(&*shape, kind, SampleSize::Points(points)).positions.len() as f64;
                assert!((found / points as f64 - 1.0).abs() < 0.1, "{name} {kind:?}: {found} instead of {points}");
            }
        }
    }
}

#[test]
fn a_box_of_whole_cells_is_sampled_in_the_middle_of_its_cells() {
    let shape = Cuboid::new(DVec3::new(0.5, 0.3, 0.8), 0.0);
    let s = sample(&shape, Sampling::Regular, SampleSize::Spacing(0.1));
    assert_eq!(s.positions.len(), 5 * 3 * 8);
    assert!(s.volumes.iter().all(|v| (v / 1e-3 - 1.0).abs() < 1e-6));
    let deepest = s.positions.iter().map(|&p| shape.distance(p)).fold(f64::NEG_INFINITY, f64::max);
    assert!((deepest + 0.05).abs() < 1e-9);
}

#[test]
fn blue_noise_keeps_its_distance_from_itself_and_from_the_surface() {
    for (name, shape, _) in shapes() {
        for kind in [Sampling::Poisson, Sampling::Graded] {
            let s = sample(&*shape, kind, SampleSize::Points(900));
            let grid = Grid::new(&s.positions, s.spacings[0]);
            for (i, &p) in s.positions.iter().enumerate() {
                let gap = grid.k_nearest(p, 2)[1].1.sqrt();
                assert!(gap > 0.5 * s.spacings[i], "{name} {kind:?}: {gap} at spacing {}", s.spacings[i]);
                assert!(shape.distance(p) < -0.1 * s.spacings[i], "{name} {kind:?}");
            }
        }
    }
}

#[test]
fn graded_samples_are_fine_outside_and_coarse_inside() {
    let shape = Sphere { radius: 0.5 };
    let s = sample(&shape, Sampling::Graded, SampleSize::Points(3000));
    let grid = Grid::new(&s.positions, s.spacings[0]);
    let mean_gap = |inside: &dyn Fn(f64) -> bool| {
        let gaps: Vec<f64> =
            s.positions.iter().filter(|p| inside(p.length())).map(|&p| grid.k_nearest(p, 2)[1].1.sqrt()).collect();
        gaps.iter().sum::<f64>() / gaps.len() as f64
    };
    let ratio = mean_gap(&|r| r < 0.15) / mean_gap(&|r| r > 0.45);
    assert!((1.6..2.3).contains(&ratio), "{ratio}");
    // Twice as coarse in the middle saves points against the even sampling of the same surface.
    assert!((3000..10_000).contains(&((s.volume / s.spacings.iter().copied().fold(1.0, f64::min).powi(3)) as usize)));
}

#[test]
fn the_same_bits_on_any_number_of_threads_and_another_seed_differs() {
    let shape = shell();
    let run = |threads, seed, kind| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let s = pool.install(|| sample_volume(&shape, kind, SampleSize::Points(600), seed).unwrap());
        let bits = |p: &DVec3| p.to_array().map(f64::to_bits);
        (s.positions.iter().map(bits).collect::<Vec<_>>(), s.volumes.iter().map(|v| v.to_bits()).collect::<Vec<_>>())
    };
    for kind in KINDS {
        let one = run(1, 1, kind);
        assert!((2..=4).all(|threads| run(threads, 1, kind) == one));
    }
    assert_ne!(run(1, 1, Sampling::Poisson), run(1, 2, Sampling::Poisson));
}

#[test]
fn faults_are_explained() {
    let ball = Sphere { radius: 0.5 };
    let what = |shape: &dyn Shape, size| match sample_volume(shape, Sampling::Poisson, size, 1) {
        Err(Error::Input(fault)) => (fault.what, fault.hint.unwrap_or_default()),
        other => panic!("{other:?}"),
    };
    for (size, part) in [
        (SampleSize::Spacing(0.0), "not a positive length"),
        (SampleSize::Spacing(f64::NAN), "not a positive length"),
        (SampleSize::Spacing(1e-6), "points would be needed"),
        (SampleSize::Spacing(1e-300), "points would be needed"),
        (SampleSize::Points(0), "at least one point"),
        (SampleSize::Points(usize::MAX), "points would be needed"),
    ] {
        assert!(what(&ball, size).0.contains(part), "{size:?}: {}", what(&ball, size).0);
    }
    let (thin, hint) = what(&ball, SampleSize::Spacing(3.0));
    assert!(thin.contains("larger than the shape is thick") && hint.contains("spacing = "), "{thin}");
    let plane = HalfSpace { normal: DVec3::Y, offset: 0.0 };
    assert!(what(&plane, SampleSize::Points(10)).0.contains("infinity"));
    let flat = Cuboid::new(DVec3::new(1.0, 0.0, 1.0), 0.0);
    assert!(what(&flat, SampleSize::Points(10)).0.contains("no volume"));
    let nothing = Cuboid::new(DVec3::ZERO, 0.0);
    assert!(what(&nothing, SampleSize::Points(10)).0.contains("no volume"));
}

#[test]
fn patches_close_the_surface_and_enclose_the_volume() {
    for (name, shape, volume) in shapes() {
        let s = sample(&*shape, Sampling::Regular, SampleSize::Points(900));
        let spacing = s.spacings[0];
        let mut closed = DVec3::ZERO;
        let mut enclosed = glam::DMat3::ZERO;
        for p in &s.patches {
            assert!((p.normal.length() - 1.0).abs() < 1e-9);
            assert!(
                shape.distance(p.position).abs() < 0.05 * spacing,
                "{name}: {}",
                shape.distance(p.position) / spacing
            );
            closed += p.area * p.normal;
            let v = p.area * p.normal;
            enclosed += glam::DMat3::from_cols(v * p.position.x, v * p.position.y, v * p.position.z);
        }
        let area: f64 = s.patches.iter().map(|p| p.area).sum();
        assert!(closed.length() < 1e-6 * area, "{name}: {closed}");
        let error = enclosed * (1.0 / volume) - glam::DMat3::IDENTITY;
        assert!(error.to_cols_array().iter().all(|e| e.abs() < 2e-3), "{name}: {error}");
    }
}

#[test]
fn patches_of_a_box_have_the_normals_of_its_faces() {
    // Sizes that are no multiples of the spacing, and turned off the axes.
    let cuboid = Arc::new(Cuboid::new(DVec3::new(0.53, 0.31, 0.47), 0.0));
    let aligned = Pose::from_degrees(DVec3::ZERO, DVec3::ZERO);
    let pose = Pose::from_degrees(DVec3::ZERO, DVec3::new(20.0, 35.0, 50.0));
    let turned = Placed::new(cuboid.clone(), pose);
    // Where an edge that runs across the grid clips a corner off a cell the surface has a small chamfer.
    for (shape, pose, least) in [(&*cuboid as &dyn Shape, aligned, 0.999), (&turned, pose, 0.95)] {
        let s = sample(shape, Sampling::Regular, SampleSize::Spacing(0.05));
        let straight = |p: &&SurfacePatch| pose.vector_back(p.normal).abs().max_element() > 0.999;
        let area: f64 = s.patches.iter().map(|p| p.area).sum();
        let along: f64 = s.patches.iter().filter(straight).map(|p| p.area).sum();
        assert!(along / area > least, "{} of {least}", along / area);
        assert!((area / (2.0 * (0.53 * 0.31 + 0.53 * 0.47 + 0.31 * 0.47)) - 1.0).abs() < 0.003);
    }
}
