//! Surfaces of particles: where they lie, closed, the same bits.

use super::*;
use std::collections::BTreeMap;

fn ball(radius: f32, spacing: f32, center: Vec3) -> Vec<Vec3> {
    let n = (radius / spacing * 1.5) as i32 + 2;
    let axis = || -n..=n;
    let sites = axis().flat_map(|z| axis().flat_map(move |y| axis().map(move |x| (x, y, z))));
    let even = sites.filter(|(x, y, z)| (x + y + z) % 2 == 0);
    let places = even.map(|(x, y, z)| Vec3::new(x as f32, y as f32, z as f32) * spacing / 2f32.sqrt());
    places.filter(|p| p.length() < radius).map(|p| p + center).collect()
}

#[test]
fn vertices_have_the_mean_of_the_values_around_them() {
    let places = ball(0.2, 0.02, Vec3::ZERO);
    let surface = IsoSurface::around(&places, 0.02);
    let lower: Vec<f32> = places.iter().map(|p| if p.y < 0.0 { 1.0 } else { 0.0 }).collect();
    let means = surface.mean_of(&lower, &places, 0.02);
    assert_eq!(means.len(), surface.positions.len());
    for (p, mean) in surface.positions.iter().zip(&means) {
        assert!((0.0..=1.0).contains(mean));
        assert!(p.y < 0.045 || *mean == 0.0, "{p} {mean}");
        assert!(p.y > -0.045 || (*mean - 1.0).abs() < 1e-5, "{p} {mean}");
    }
    // Nobody near: nothing to say.
    assert!(surface.mean_of(&[1.0], &[Vec3::splat(9.0)], 0.02).iter().all(|m| *m == 0.0));
}

#[test]
fn a_ball_is_closed_round_and_of_its_volume() {
    let (radius, spacing) = (0.2, 0.02);
    let center = Vec3::new(0.03, -1.0, 0.4);
    let surface = IsoSurface::around(&ball(radius, spacing, center), spacing);
    let mut edges: BTreeMap<(u32, u32), i32> = BTreeMap::new();
    for t in &surface.triangles {
        for k in 0..3 {
            let (a, b) = (t[k], t[(k + 1) % 3]);
            *edges.entry((a.min(b), a.max(b))).or_default() += if a < b { 1 } else { -1 };
        }
    }
    assert!(edges.values().all(|n| *n == 0), "every edge is passed both ways");
    let euler = surface.positions.len() as i64 - edges.len() as i64 + surface.triangles.len() as i64;
    assert_eq!(euler, 2);
    let wanted = 4.0 / 3.0 * std::f64::consts::PI * f64::from(radius).powi(3);
    assert!((surface.volume() / wanted - 1.0).abs() < 0.05, "{} {wanted}", surface.volume());
    for (p, n) in surface.positions.iter().zip(&surface.normals) {
        let out = *p - center;
        assert!((out.length() - radius).abs() < 0.4 * spacing, "{}", out.length());
        assert!(n.dot(out.normalize()) > 0.9, "{n} {out}");
    }
}

#[test]
fn no_sheet_hangs_between_the_sides_of_a_gap() {
    let axis = || 0..10;
    let layers = [-3.5, -2.5, -1.5, 1.5, 2.5, 3.5];
    let places: Vec<Vec3> = layers
        .iter()
        .flat_map(|&y| axis().flat_map(move |x| axis().map(move |z| Vec3::new(x as f32, y, z as f32))))
        .collect();
    let surface = IsoSurface::around(&places, 1.0);
    let inner = |p: &&Vec3| p.x > 2.0 && p.x < 7.0 && p.z > 2.0 && p.z < 7.0;
    for p in surface.positions.iter().filter(inner) {
        assert!(p.y.abs() > 0.7, "{p}");
    }
}

/// Layers of particles 1 m apart, out of order by up to a quarter of it, which have come apart in their plane.
fn rough(layers: i32, stretch: f32) -> Vec<Vec3> {
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    };
    let sites = (0..30 * 30 * layers).map(|k| (k % 30, k / 900, k / 30 % 30));
    let at = sites.map(|(x, y, z)| Vec3::new(x as f32 * stretch, y as f32, z as f32 * stretch));
    at.map(|p| p + 0.25 * Vec3::new(random(), random(), random())).collect()
}

#[test]
fn tough_matter_has_no_pits_between_its_particles() {
    for (layers, stretch) in [(1, 1.0), (1, 1.6), (3, 1.0), (3, 1.3), (5, 1.6)] {
        let places = rough(layers, stretch);
        let (surface, _) = IsoSurface::around_tough(&places, &vec![1.0; places.len()]);
        let inner = |x: f32| x > 5.0 && x < 24.0 * stretch;
        let top = |(p, n): &(&Vec3, &Vec3)| n.y > 0.0 && inner(p.x) && inner(p.z);
        let vertices = surface.positions.iter().zip(&surface.normals).filter(top);
        let heights: Vec<f32> = vertices.map(|(p, _)| p.y - (layers - 1) as f32).collect();
        let mean = heights.iter().sum::<f32>() / heights.len() as f32;
        let rms = (heights.iter().map(|y| (y - mean).powi(2)).sum::<f32>() / heights.len() as f32).sqrt();
        // Half a spacing outside of the outermost layer, and smooth: up to 1.4 without the ball, with pits through all layers.
        assert!((0.35..0.55).contains(&mean) && rms < 0.11, "{layers} layers, {stretch}: {mean} {rms}");
        assert!(heights.iter().all(|y| *y > -0.1), "{layers} layers, {stretch}");
    }
}

#[test]
fn a_gap_wider_than_the_ball_stays_open() {
    let axis = || 0..10;
    let layers = [-3.5, -2.5, -1.5, 1.5, 2.5, 3.5];
    let sites = layers.iter().flat_map(|&y| axis().flat_map(move |x| axis().map(move |z| (x as f32, y, z as f32))));
    let places: Vec<Vec3> = sites.map(|(x, y, z)| Vec3::new(x, y, z)).collect();
    let (surface, _) = IsoSurface::around_tough(&places, &vec![1.0; places.len()]);
    let inner = |p: &&Vec3| p.x > 2.0 && p.x < 7.0 && p.z > 2.0 && p.z < 7.0;
    assert!(surface.positions.iter().filter(inner).all(|p| p.y.abs() > 0.7));
}

#[test]
fn odd_input_has_no_surface() {
    assert!(IsoSurface::around(&[], 0.1).positions.is_empty());
    assert!(IsoSurface::around(&[Vec3::NAN], 0.1).positions.is_empty());
    assert!(IsoSurface::around(&[Vec3::ZERO], 0.0).positions.is_empty());
    let lone = [IsoSurface::around(&[Vec3::ZERO], 0.1), IsoSurface::around_tough(&[Vec3::ZERO], &[0.1]).0];
    for one in lone {
        assert!(one.positions.len() >= 8 && one.positions.iter().all(|p| p.length() < 0.1));
    }
    assert!(IsoSurface::around_tough(&[Vec3::NAN, Vec3::ZERO], &[0.1, -1.0]).0.positions.is_empty());
}

#[test]
fn the_same_bits_on_any_number_of_threads() {
    let places = ball(0.1, 0.02, Vec3::X);
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        let uneven: Vec<f32> = (0..places.len()).map(|i| if i % 3 == 0 { 0.02 } else { 0.03 }).collect();
        let (surface, tough) =
            pool.install(|| (IsoSurface::around(&places, 0.02), IsoSurface::around_tough(&places, &uneven).0));
        (surface.positions, surface.triangles, tough.positions, tough.triangles)
    };
    assert_eq!(on(1), on(3));
}
