//! Bars of close-packed points that are cut by hand.

use super::*;
use crate::geometry::Bounds;
use crate::surface::{mesh_of_surfels, seen_through};
use glam::DMat3;

const SPACING: f64 = 0.1;
const HALF: DVec3 = DVec3::new(0.6, 0.25, 0.25);
const INNER: [u8; 3] = [9, 8, 7];

/// Some way to go.
fn turned(p: DVec3) -> DVec3 {
    0.1 * DVec3::new(p.y, p.z, p.x)
}

struct Box3;

impl Shape for Box3 {
    fn distance(&self, p: DVec3) -> f64 {
        let q = p.abs() - HALF;
        q.max(DVec3::ZERO).length() + q.max_element().min(0.0)
    }
    fn bounds(&self) -> Bounds {
        Bounds { min: -HALF, max: HALF }
    }
}

/// A bar along x, red below and green above, with its points.
struct Bar {
    points: Vec<DVec3>,
    carrier: Carrier,
    breaks: Breaks,
}

impl Bar {
    fn new() -> Self {
        let edge = SPACING * 2f64.sqrt();
        let sites = (0..40 * 40 * 40).map(|k| glam::IVec3::new(k % 40 - 20, k / 40 % 40 - 20, k / 1600 - 20));
        let close = sites.filter(|s| (s.x + s.y + s.z).rem_euclid(2) == 0).map(|s| 0.5 * edge * s.as_dvec3());
        let points: Vec<DVec3> = close.filter(|p| Box3.distance(*p) < -0.02).collect();
        let mut surfels = crate::sampling::sample_surfels(&Box3, 9000, [200, 0, 0], 1);
        for (color, p) in surfels.colors.iter_mut().zip(&surfels.positions) {
            *color = if p.y > 0.0 { [0, 200, 0] } else { [200, 0, 0] };
        }
        surfels.axes_u.iter_mut().chain(&mut surfels.axes_v).for_each(|axis| *axis *= 1.15);
        let carrier = Carrier::bind_with(surfels, &points, &vec![REACH * SPACING; points.len()], Falloff::Spline);
        let breaks = Breaks::new(&carrier, Arc::new(Box3), &points, SPACING, Some(INNER));
        Self { points, carrier, breaks }
    }

    /// Cuts links through the plane x = `at`, where `is_cut` of their middle is true.
    fn cut(&mut self, at: f64, is_cut: impl Fn(DVec3) -> bool + Sync) {
        let points = &self.points;
        let gone =
            |i: usize, j: usize| (points[i].x < at) != (points[j].x < at) && is_cut(0.5 * (points[i] + points[j]));
        self.breaks.follow(&mut self.carrier, gone);
    }

    /// The surfels when each point has moved.
    fn moved(&mut self, way: impl Fn(DVec3) -> DVec3) -> Surfels {
        let moved: Vec<DVec3> = self.points.iter().map(|p| *p + way(*p)).collect();
        let mut out = Surfels::default();
        self.carrier.update(&moved, &self.points, &vec![DMat3::IDENTITY; moved.len()], &mut out);
        out
    }
}

/// A place between two layers of points.
const CUT: f64 = 0.03;

#[test]
fn what_does_not_break_keeps_its_carrier_to_the_bit() {
    let mut bar = Bar::new();
    let before = bar.moved(turned);
    bar.cut(CUT, |_| false);
    let after = bar.moved(turned);
    assert!(before.positions == after.positions && before.axes_u == after.axes_u && before.colors == after.colors);
    // A single link that breaks opens nothing.
    let (i, j) = (0, bar.breaks.links.pairs.of(0).next().unwrap());
    let Bar { breaks, carrier, .. } = &mut bar;
    breaks.follow(carrier, |a, b| [a.min(b), a.max(b)] == [i.min(j), i.max(j)]);
    assert_eq!(bar.moved(turned).len(), before.len());
}

#[test]
fn both_sides_of_a_break_are_closed_and_fit_together() {
    let mut bar = Bar::new();
    let whole = bar.moved(|_| DVec3::ZERO);
    let half_axis = (whole.axes_u.iter().map(|u| u.length()).sum::<f32>() / whole.len() as f32).abs();
    let holes = |surfels: &Surfels| seen_through(surfels, 20, 0.5 * half_axis).len();
    let before = holes(&whole);
    bar.cut(CUT, |_| true);
    let apart = |p: DVec3| DVec3::X * if p.x < CUT { -0.3 } else { 0.3 };
    let halves = bar.moved(apart);
    assert!(before < 40 && holes(&halves) < before + 60, "{before} {}", holes(&halves));
    // Without the faces one looks in: the measure can fail.
    let faces: Vec<usize> = (0..halves.len()).filter(|&s| halves.colors[s] == INNER).collect();
    let keep = |list: &[Vec3]| list.iter().zip(&halves.colors).filter(|p| *p.1 != INNER).map(|p| *p.0).collect();
    let open = Surfels {
        positions: keep(&halves.positions),
        axes_u: keep(&halves.axes_u),
        axes_v: keep(&halves.axes_v),
        normals: keep(&halves.normals),
        ..Surfels::default()
    };
    assert!(holes(&open) > before + 500, "{}", holes(&open));
    // Two pieces with the volume of the bar.
    let mesh = mesh_of_surfels(&halves);
    let euler = mesh.positions.len() as i64 - mesh.triangles.len() as i64 / 2;
    let corners = |t: &[u32; 3]| t.map(|v| mesh.positions[v as usize]);
    let volume: f64 = mesh.triangles.iter().map(corners).map(|[a, b, c]| a.dot(b.cross(c)) / 6.0).sum();
    let ratio = volume / (8.0 * HALF.element_product());
    assert!(euler == 4 && (ratio - 1.0).abs() < 0.04, "{euler} {ratio}");
    // Every face has another one at its back, in the same place at rest, and lies inside the body.
    let rest = bar.moved(|_| DVec3::ZERO);
    for &s in &faces {
        let p = rest.positions[s].as_dvec3();
        assert!(Box3.distance(p) < 1e-6 && (p.x - CUT).abs() < SPACING, "{p}");
        let behind = faces.iter().any(|&t| {
            rest.positions[t].distance(rest.positions[s]) < 0.5 * half_axis
                && rest.normals[t].dot(rest.normals[s]) < -0.99
        });
        assert!(behind, "{p}");
        assert_eq!(rest.normals[s].x > 0.0, halves.positions[s].x < 0.0);
    }
    assert!(faces.len() > 400, "{}", faces.len());
}

#[test]
fn skin_beside_a_break_keeps_its_color_and_goes_with_its_side() {
    let mut bar = Bar::new();
    let whole = bar.moved(|_| DVec3::ZERO);
    bar.cut(CUT, |_| true);
    let halves = bar.moved(|p| DVec3::X * if p.x < CUT { -0.3 } else { 0.3 });
    for (s, p) in halves.positions.iter().enumerate() {
        let came = *p + Vec3::X * if p.x < 0.0 { 0.3 } else { -0.3 };
        if s < whole.len() {
            let rest = whole.positions[s];
            assert_eq!(halves.colors[s], whole.colors[s]);
            // Away from the break they are where the whole has them, nearer to it they are a part of themselves.
            let most = if (f64::from(rest.x) - CUT).abs() > 2.2 * SPACING { 1e-6 } else { 0.03 };
            assert!(came.distance(rest) < most, "{rest} to {came}");
        } else if halves.colors[s] != INNER {
            let expected = if came.y > 0.01 { [0, 200, 0] } else { [200, 0, 0] };
            assert!(halves.colors[s] == expected || came.y.abs() < 0.04, "{came}");
        }
    }
}

#[test]
fn a_crack_that_ends_in_the_body_opens_as_far_as_it_goes() {
    let mut bar = Bar::new();
    bar.cut(CUT, |m| m.y > 0.0);
    let cracked = bar.moved(|_| DVec3::ZERO);
    let faces = cracked.positions.iter().zip(&cracked.colors).filter(|p| *p.1 == INNER);
    let lowest = faces.clone().map(|p| p.0.y).fold(f32::INFINITY, f32::min);
    assert!(faces.count() > 150 && (-0.12..0.1).contains(&lowest), "{lowest}");
    // Half of the bar above the end bends away; what is below is carried by both sides.
    let bent = bar.moved(|p| DVec3::X * 0.5 * p.y.max(0.0) * if p.x < CUT { -1.0 } else { 1.0 });
    let skin = |s: &usize| cracked.positions[*s].y > 0.249 && cracked.normals[*s].y > 0.9;
    let gap = |side: f32| {
        let own = (0..bent.len()).filter(skin).filter(|s| side * (cracked.positions[*s].x - CUT as f32) > 0.07);
        own.map(|s| side * (bent.positions[s].x - CUT as f32)).fold(f32::INFINITY, f32::min)
    };
    assert!(gap(1.0) > 0.05 && gap(-1.0) > 0.05, "{} {}", gap(1.0), gap(-1.0));
}

#[test]
fn links_that_are_gone_tell_all() {
    // Cut at once, or bit by bit: the same bits, and closed again when they are whole again.
    let (mut once, mut often) = (Bar::new(), Bar::new());
    let whole = once.moved(|_| DVec3::ZERO);
    once.cut(CUT, |_| true);
    [-0.1, 0.0, 0.1].into_iter().for_each(|y| often.cut(CUT, |m| m.y < y));
    often.cut(CUT, |_| true);
    let (a, b) = (once.moved(|p| 0.1 * p), often.moved(|p| 0.1 * p));
    assert!(a.positions == b.positions && a.axes_v == b.axes_v && a.normals == b.normals && a.colors == b.colors);
    often.cut(CUT, |_| false);
    assert_eq!(often.moved(|_| DVec3::ZERO).positions, whole.positions);
}
