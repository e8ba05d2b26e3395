//! Surfaces of balls that flow: closed, carried, the same bits.

use super::*;
use crate::neighbors::Grid;
use crate::random::Random;

/// Distance between points.
pub(super) const SPACING: f64 = 0.2;
/// Radius of the ball.
pub(super) const RADIUS: f64 = 1.0;

/// Points of a ball.
fn ball() -> Vec<DVec3> {
    let mut points = Vec::new();
    for k in 0..11i32.pow(3) {
        let cell = DVec3::new(f64::from(k % 11), f64::from(k / 11 % 11), f64::from(k / 121)) - 5.0;
        let p = SPACING * (cell + 0.2 * Random::new(4, k as u64).in_cube());
        if p.length() < RADIUS - 0.1 * SPACING {
            points.push(p);
        }
    }
    points
}

/// Even surfels on the ball around `center`.
fn skin(count: usize, center: DVec3, color: [u8; 3]) -> Surfels {
    let mut s = Surfels::default();
    let radius = 1.2 * RADIUS * (4.0 * std::f64::consts::PI / count as f64).sqrt();
    for k in 0..count {
        let y = 1.0 - (2.0 * k as f64 + 1.0) / count as f64;
        let (sin, cos) = (2.399_963_229_728_653 * k as f64).sin_cos();
        let n = DVec3::new((1.0 - y * y).sqrt() * cos, y, (1.0 - y * y).sqrt() * sin);
        let (u, v) = n.as_vec3().any_orthonormal_pair();
        s.positions.push((center + RADIUS * n).as_vec3());
        s.axes_u.push(radius as f32 * u);
        s.axes_v.push(radius as f32 * v);
        s.normals.push(n.as_vec3());
        s.colors.push(color);
    }
    s
}

/// Bodies that follow a motion.
pub(super) struct Lab {
    pub(super) rest: Vec<DVec3>,
    bodies: Vec<u32>,
    pub(super) surface: FlowingSurface,
    flow: f32,
    pub(super) labels: Vec<u32>,
}

impl Lab {
    /// Balls at `centers`.
    fn new(centers: &[DVec3], flow: f32) -> Self {
        Self::make(centers, flow, false)
    }

    pub(super) fn make(centers: &[DVec3], flow: f32, detail: bool) -> Self {
        let (mut rest, mut bodies) = (Vec::new(), Vec::new());
        for (b, &center) in centers.iter().enumerate() {
            rest.extend(ball().iter().map(|p| *p + center));
            bodies.resize(rest.len(), b as u32);
        }
        let labels = bodies.clone();
        let mut lab = Self { rest, bodies, surface: FlowingSurface::default(), flow, labels };
        let start = lab.rest.clone();
        let mut surface = FlowingSurface::default();
        lab.with(&start, |points| {
            for (b, &center) in centers.iter().enumerate() {
                surface.join(
                    b as u32,
                    &skin(2500, center, [200, 10 + b as u8, 30]),
                    points,
                    Manner { detail, inner: None },
                );
            }
        });
        lab.surface = surface;
        lab
    }

    pub(super) fn with(&self, positions: &[DVec3], act: impl FnOnce(&FlowPoints)) {
        let (spacings, flow) = (vec![SPACING; self.rest.len()], vec![self.flow; self.rest.len()]);
        act(&FlowPoints {
            positions,
            spacings: &spacings,
            bodies: &self.bodies,
            flow: &flow,
            labels: &self.labels,
            velocities: &vec![DVec3::ZERO; self.rest.len()],
            span: Span { earlier: 0.0, now: 0.1 },
        });
    }

    /// One frame with the points moved by `map` from rest.
    pub(super) fn frame(&mut self, map: impl Fn(usize, DVec3) -> DVec3) {
        let positions: Vec<DVec3> = self.rest.iter().enumerate().map(|(i, &p)| map(i, p)).collect();
        let mut surface = std::mem::take(&mut self.surface);
        self.with(&positions, |points| surface.update(points, &[], &[]));
        self.surface = surface;
    }

    pub(super) fn surfels(&self) -> Surfels {
        let mut out = Surfels::default();
        self.surface.write(0, &mut out);
        out
    }
}

/// Part of the places one radius from a surfel, along the surface, that no other surfel of that side covers.
fn open(elements: &[Element]) -> f64 {
    let places: Vec<DVec3> = elements.iter().map(|e| e.position.as_dvec3()).collect();
    let largest = elements.iter().fold(0f32, |m, e| m.max(e.axis_u.length()).max(e.axis_v.length()));
    let grid = Grid::new(&places, f64::from(largest));
    let uncovered = |i: usize| {
        let (x, y) = elements[i].normal.any_orthonormal_pair();
        let (sin, cos) = (std::f32::consts::TAU * Random::new(8, i as u64).unit() as f32).sin_cos();
        let q = elements[i].position + elements[i].axis_u.length() * (cos * x + sin * y);
        let mut covered = false;
        grid.for_each_within(q.as_dvec3(), 1.2 * f64::from(largest), |j, _| {
            let (e, d) = (&elements[j], q - elements[j].position);
            let (a, b) = (d.dot(e.axis_u) / e.axis_u.length_squared(), d.dot(e.axis_v) / e.axis_v.length_squared());
            covered |= j != i && e.normal.dot(elements[i].normal) > 0.0 && a * a + b * b < 1.0;
        });
        !covered
    };
    (0..elements.len()).filter(|&i| uncovered(i)).count() as f64 / elements.len().max(1) as f64
}

fn flat(t: f64) -> impl Fn(usize, DVec3) -> DVec3 {
    let s = 1.0 / (1.0 + t);
    move |_, p| DVec3::new(p.x / s.sqrt(), p.y * s, p.z / s.sqrt())
}

#[test]
fn matter_that_never_flowed_keeps_its_surfels_exactly() {
    let mut lab = Lab::new(&[DVec3::ZERO], 0.0);
    let turn = |_, p: DVec3| glam::DMat3::from_rotation_y(0.3) * p + DVec3::X;
    lab.frame(turn);
    for (e, p) in lab.surface.elements.iter().zip(skin(2500, DVec3::ZERO, [0; 3]).positions) {
        let expected = turn(0, p.as_dvec3()).as_vec3();
        // Leaning the gradient toward zero costs a little of the turn, but no surfel was blended, added or dropped.
        assert!(e.blend == 0.0 && (e.position - expected).length() < 0.01, "{}", (e.position - expected).length());
    }
    assert_eq!(lab.surface.len(), 2500);
    // With a carrier its word is taken to the bit.
    let surfels = skin(2500, DVec3::ZERO, [0; 3]);
    let carrier = Carrier::bind(surfels.clone(), &lab.rest, &vec![2.0 * SPACING; lab.rest.len()]);
    let mut moved = surfels.clone();
    moved.positions.iter_mut().for_each(|p| *p *= 1.01);
    let mut solid = Lab::new(&[DVec3::ZERO], 0.0);
    let mut surface = std::mem::take(&mut solid.surface);
    let carried = [Some(Carried { carrier: &carrier, surfels: &moved, paint: None, coat: None })];
    solid.with(&solid.rest, |points| surface.update(points, &carried, &[]));
    solid.surface = surface;
    assert_eq!(solid.surfels().positions, moved.positions);
}

#[test]
fn a_ball_that_melts_and_flattens_stays_closed_and_keeps_its_color() {
    let mut lab = Lab::new(&[DVec3::ZERO], 1.0);
    let mut before = lab.surface.elements.clone();
    for k in 0..26 {
        lab.frame(flat(0.04 * f64::from(k)));
        // Nothing pops: what is in both frames has moved by less than a third of a spacing of the points.
        let mut old = before.iter();
        for e in &lab.surface.elements {
            if let Some(o) = old.by_ref().find(|o| o.id >= e.id).filter(|o| o.id == e.id) {
                let moved = (o.position - e.position).length();
                assert!(moved < 0.33 * SPACING as f32, "frame {k}: {moved}");
            }
        }
        before.clone_from(&lab.surface.elements);
        if k > 10 && k % 6 == 0 {
            assert!(open(&lab.surface.elements) < 0.005, "frame {k}: {}", open(&lab.surface.elements));
        }
    }
    assert!(lab.surface.len() > 2000 && lab.surface.len() < 6000, "{}", lab.surface.len());
    for e in &lab.surface.elements {
        assert_eq!((e.blend, e.color), (1.0, [200, 10, 30, 0]));
        assert!(
            (e.normal.length() - 1.0).abs() < 1e-4 && e.axis_u.cross(e.axis_v).normalize().dot(e.normal).abs() > 0.999
        );
    }
    // On the flattened ball, as far as points on a grid can say: distance over the slope of |S x|.
    let squares = lab.surface.elements.iter().map(|e| {
        let s = DVec3::new(0.5f64.sqrt(), 2.0, 0.5f64.sqrt());
        let p = e.position.as_dvec3() * s;
        ((p.length() - RADIUS) * p.length() / (p * s).length()).powi(2)
    });
    let rms = (squares.sum::<f64>() / lab.surface.len() as f64).sqrt();
    assert!(rms < 0.25 * SPACING, "{}", rms / SPACING);
}

#[test]
fn what_fuses_loses_the_skin_between() {
    let apart = 1.15 * RADIUS;
    let mut lab = Lab::new(&[DVec3::X * -apart, DVec3::X * apart], 1.0);
    let toward = |t: f64| move |i: usize, p: DVec3| p + DVec3::X * if i < ball().len() { t } else { -t };
    for k in 0..30 {
        lab.frame(toward(0.01 * f64::from(k)));
    }
    let inside = |e: &&Element| e.position.x.abs() < 0.1 && glam::Vec2::new(e.position.y, e.position.z).length() < 0.2;
    assert_eq!(lab.surface.elements.iter().filter(inside).count(), 0);
    assert!(open(&lab.surface.elements) < 0.01);
    assert!((0..2).all(|b| lab.surface.elements.iter().any(|e| e.body == b)));
}

#[test]
fn a_body_torn_in_two_gets_new_surface_on_both_sides() {
    let mut lab = Lab::new(&[DVec3::ZERO], 1.0);
    for k in 0..30 {
        let gap = 0.04 * f64::from((k - 12).max(0));
        lab.frame(move |_, p| p + DVec3::X * gap * p.x.signum());
    }
    let face = |e: &&Element| e.normal.x < -0.7 && (e.position.x - 0.6).abs() < 0.25;
    assert!(lab.surface.elements.iter().filter(face).count() > 300);
    assert!(open(&lab.surface.elements) < 0.01, "{}", open(&lab.surface.elements));
}

#[test]
fn a_surface_at_rest_comes_to_rest() {
    let mut lab = Lab::new(&[DVec3::ZERO], 1.0);
    (0..60).for_each(|_| lab.frame(|_, p| p));
    let before = lab.surface.elements.clone();
    lab.frame(|_, p| p);
    assert_eq!(before.len(), lab.surface.len());
    let moved = before.iter().zip(&lab.surface.elements).map(|(a, b)| (a.position - b.position).length());
    let spacing = lab.surface.joined[0].spacing;
    assert!(moved.fold(0.0, f32::max) < 0.05 * spacing);
}

#[test]
fn the_same_bits_on_any_number_of_threads_and_after_a_restart() {
    let run = |threads: usize, restart: bool, detail: bool| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut lab = Lab::make(&[DVec3::ZERO], 1.0, detail);
            for k in 0..13 {
                if k == 7 {
                    lab.labels = lab.rest.iter().map(|p| u32::from(p.x > 0.0)).collect();
                }
                lab.frame(flat(0.08 * f64::from(k)));
                if restart && k == 9 {
                    let state = lab.surface.state();
                    lab.surface = FlowingSurface::default();
                    assert!(lab.surface.restore(&state[..state.len() - 1], lab.rest.len()).is_none());
                    assert!(lab.surface.restore(&state, lab.rest.len()).is_some());
                }
            }
            lab.surface.state()
        })
    };
    for detail in [false, true] {
        let one = run(1, false, detail);
        assert!(run(3, false, detail) == one && run(2, true, detail) == one);
    }
}

#[test]
fn degenerate_matter_has_an_answer() {
    let mut lab = Lab::new(&[DVec3::ZERO], 1.0);
    (0..12).for_each(|_| lab.frame(|_, p| p));
    lab.frame(|_, _| DVec3::ONE);
    lab.frame(|i, p| if i % 3 == 0 { DVec3::NAN } else { p });
    lab.frame(|i, _| DVec3::X * i as f64);
    assert!(lab.surface.elements.iter().all(|e| e.position.is_finite() && e.normal.is_finite()));
    let mut empty = FlowingSurface::default();
    let nothing = FlowPoints {
        positions: &[],
        spacings: &[],
        bodies: &[],
        flow: &[],
        labels: &[],
        velocities: &[],
        span: Span { earlier: 0.0, now: 0.1 },
    };
    empty.join(0, &skin(10, DVec3::ZERO, [0; 3]), &nothing, Manner { detail: true, inner: None });
    (0..11).for_each(|_| empty.update(&nothing, &[], &[]));
    assert_eq!(empty.len(), 0);
}

/// Waves on the ball that points cannot know of.
fn relief(n: DVec3) -> f64 {
    1.0 + 0.03 * (20.0 * n.x).sin() * (20.0 * n.y).cos()
}

/// A ball with relief, melted, as a detail surface.
pub(super) fn detailed() -> Lab {
    let mut lab = Lab::make(&[DVec3::ZERO], 1.0, true);
    for e in &mut lab.surface.elements {
        e.position *= relief(e.position.as_dvec3().normalize()) as f32;
    }
    lab
}

/// Surfels, the oldest first.
fn by_age(surface: &FlowingSurface) -> Vec<Element> {
    let mut all = surface.elements.clone();
    all.sort_by_key(|e| e.id);
    all
}

#[test]
fn matter_that_flows_without_a_change_of_topology_keeps_its_detail() {
    let mut lab = detailed();
    let start = lab.surface.elements.clone();
    let motion = |t: f64| {
        move |_, p: DVec3| {
            // Drawn to twice its length and twisted by a half turn, away and back.
            let s = 1.0 + t;
            let q = DVec3::new(p.x / s.sqrt(), p.y * s, p.z / s.sqrt());
            glam::DMat3::from_rotation_y(std::f64::consts::PI * t * (p.y + 1.0) / 2.0) * q
        }
    };
    for k in 1..=120 {
        lab.frame(motion(1.0 - (f64::from(k) / 60.0 - 1.0).abs()));
        assert!(lab.surface.elements.iter().all(|e| e.blend == 0.0), "frame {k}");
    }
    assert_eq!(lab.surface.len(), start.len());
    let far = start.iter().zip(by_age(&lab.surface)).map(|(a, b)| a.position.distance(b.position));
    let worst = far.fold(0.0, f32::max);
    assert!(worst < 0.05 * SPACING as f32, "{worst}");
}

#[test]
fn detail_goes_where_points_change_places() {
    let mut lab = detailed();
    let start = by_age(&lab.surface);
    // The upper half slides over the lower one by two spacings, within one layer; both turn as they go.
    let slide = |t: f64| {
        move |_: usize, p: DVec3| {
            let layer = (p.y / (0.4 * SPACING)).tanh();
            glam::DMat3::from_rotation_z(0.5 * t) * (p + DVec3::X * layer * t * SPACING)
        }
    };
    for k in 1..=30 {
        lab.frame(slide(f64::from(k) / 30.0));
    }
    let height = |e: &Element| f64::from(e.reference.y).abs() / SPACING;
    let slipped = |e: &&Element| height(e) < 0.5 && e.reference.x.hypot(e.reference.z) > 0.8 * RADIUS as f32;
    let faded = lab.surface.elements.iter().filter(slipped).filter(|e| e.blend > 0.0).count();
    assert!(faded > 50, "{faded}");
    // Beyond the reach of the slip nothing has changed.
    let end = by_age(&lab.surface);
    let far = start.iter().filter(|e| height(e) > 4.5);
    assert!(far.clone().count() > 100);
    for a in far {
        let b = end.iter().find(|b| b.id == a.id).expect("it stays");
        let expected = slide(1.0)(0, a.position.as_dvec3()).as_vec3();
        assert!(b.blend == 0.0 && b.position.distance(expected) < 0.01 * SPACING as f32);
    }
}

/// Tears a ball in two halves, which move apart.
pub(super) fn tear(lab: &mut Lab) {
    let right: Vec<u32> = lab.rest.iter().map(|p| u32::from(p.x > 0.0)).collect();
    lab.labels.fill(7);
    for k in 0..40 {
        if k == 5 {
            lab.labels.clone_from(&right);
        }
        let gap = 0.02 * f64::from((k - 4).max(0));
        lab.frame(move |_, p| p + DVec3::X * gap * if p.x > 0.0 { 1.0 } else { -1.0 });
    }
}

/// A ball with stripes, drawn to 1.8 times its length; its surfels are pushed about, and a sixth of them are new.
#[test]
fn a_pattern_is_stretched_with_the_matter_and_stays_sharp() {
    let mut lab = Lab::new(&[DVec3::ZERO], 1.0);
    let stripes = |p: Vec3| if (5.0 * p.y).floor().rem_euclid(2.0) < 1.0 { [250, 240, 220] } else { [30, 60, 200] };
    let stretch = |t: f64| {
        let s = 1.0 + t;
        move |p: DVec3| DVec3::new(p.x / s.sqrt(), p.y * s, p.z / s.sqrt())
    };
    let carrier = Carrier::bind(skin(10, DVec3::ZERO, [0; 3]), &lab.rest, &vec![0.4; lab.rest.len()]);
    let none = Surfels::default();
    for e in &mut lab.surface.elements {
        let [r, g, b] = stripes(e.reference);
        e.color = [r, g, b, 0];
    }
    let mut surface = std::mem::take(&mut lab.surface);
    for k in 0..=40 {
        let positions: Vec<DVec3> = lab.rest.iter().map(|&p| stretch(0.02 * f64::from(k))(p)).collect();
        let carried = [Some(Carried { carrier: &carrier, surfels: &none, paint: Some(&stripes), coat: None })];
        lab.with(&positions, |points| surface.update(points, &carried, &[]));
    }
    let new = surface.elements.iter().filter(|e| e.id >= 2500).count();
    assert!(new > 200, "{new}");
    let (mut wrong, mut asked) = (0, 0);
    for e in &surface.elements {
        let height = e.position.y / 1.8;
        let border = (5.0 * height - (5.0 * height).round()).abs() / 5.0;
        // Within half the distance of surfels at the start nobody can tell; at the poles fading has changed the height.
        if border > 0.035 && e.normal.y.abs() < 0.5 {
            let [r, g, b] = stripes(Vec3::Y * height);
            asked += 1;
            wrong += usize::from(e.color != [r, g, b, 0]);
        }
    }
    assert!(asked > 800 && wrong * 50 < asked, "{wrong} of {asked}");
}

#[test]
fn detail_goes_only_where_matter_parts() {
    let mut lab = detailed();
    let start = lab.surface.elements.clone();
    tear(&mut lab);
    // Both faces are closed.
    let face = |side: f32| {
        let on = move |e: &&Element| side * e.normal.x < -0.7 && (side * e.position.x - 0.7).abs() < 0.25;
        lab.surface.elements.iter().filter(on).count()
    };
    assert!(face(1.0) > 300 && face(-1.0) > 300, "{} {}", face(1.0), face(-1.0));
    assert!(open(&lab.surface.elements) < 0.01, "{}", open(&lab.surface.elements));
    // Far from them everything is where the half has carried it.
    for (a, b) in start
        .iter()
        .filter(|e| e.position.x.abs() > 0.75)
        .zip(by_age(&lab.surface).iter().filter(|e| e.id < 2500 && start[e.id as usize].position.x.abs() > 0.75))
    {
        let expected = a.position + 0.7 * Vec3::X * a.position.x.signum();
        assert!(a.id == b.id && b.blend == 0.0 && b.position.distance(expected) < 2e-3, "{} {}", b.position, expected);
    }
}

#[test]
fn what_turns_solid_keeps_the_surface_it_has() {
    let mut lab = detailed();
    lab.frame(|_, p| p);
    // Half of it is gone, which is a change of topology.
    lab.labels = lab.rest.iter().map(|p| u32::from(p.x > 0.0)).collect();
    (0..12).for_each(|_| lab.frame(|_, p| p + DVec3::X * p.x.signum()));
    assert!(lab.surface.elements.iter().any(|e| e.blend == 1.0));
    lab.flow = 0.0;
    lab.frame(|_, p| p + DVec3::X * p.x.signum());
    let start = by_age(&lab.surface);
    assert!(start.iter().all(|e| e.blend == 0.0));
    let turn = glam::DMat3::from_rotation_z(1.0);
    for k in 1..=30 {
        let turn = glam::DMat3::from_rotation_z(f64::from(k) / 30.0);
        lab.frame(move |_, p| turn * (p + DVec3::X * p.x.signum()));
    }
    assert_eq!(start.len(), lab.surface.len());
    for (a, b) in start.iter().zip(by_age(&lab.surface)) {
        let expected = (turn * a.position.as_dvec3()).as_vec3();
        assert!(b.position.distance(expected) < 0.01 * SPACING as f32, "{}", b.position.distance(expected));
    }
}

#[test]
fn a_print_finer_than_the_points_is_taken_and_kept() {
    let mut lab = Lab::make(&[DVec3::ZERO], 1.0, true);
    // A corrugated floor below the ball: waves of a spacing's length, a tenth of it high.
    let height = |p: DVec3| -0.9 + 0.1 * SPACING * (std::f64::consts::TAU * p.x / SPACING).sin();
    let normal = |p: DVec3| {
        let slope = 0.1 * std::f64::consts::TAU * (std::f64::consts::TAU * p.x / SPACING).cos();
        DVec3::new(-slope, 1.0, 0.0).normalize()
    };
    let probe = |p: DVec3| ((p.y - height(p)) * normal(p).y, normal(p));
    // It is striped, and leaves its color.
    let stain = |p: DVec3| if (p.x / SPACING).floor() as i32 % 2 == 0 { [200, 30, 40] } else { [20, 60, 220] };
    let floor = [Mold { probe: &probe, still: true, least: None, open: None, stain: Some(&stain) }];
    let mut surface = std::mem::take(&mut lab.surface);
    for k in 0..30 {
        let sink = 0.004 * f64::from(k.min(20));
        let moved: Vec<DVec3> =
            lab.rest.iter().map(|p| (*p - sink * DVec3::Y).max(DVec3::new(-2.0, -0.8, -2.0))).collect();
        lab.with(&moved, |points| surface.update(points, &[], &floor));
    }
    let foot = |e: &&Element| e.position.y < -0.8 && (e.position.x * e.position.x + e.position.z * e.position.z) < 0.16;
    let on: Vec<&Element> = surface.elements.iter().filter(foot).collect();
    assert!(on.len() > 60, "{}", on.len());
    for e in &on {
        let p = e.position.as_dvec3();
        assert!(
            (p.y - height(p)).abs() < 0.01 * SPACING && e.normal.dot(-normal(p).as_vec3()) > 0.99,
            "{}",
            p.y - height(p)
        );
        let near_border = (p.x / SPACING - (p.x / SPACING).round()).abs() < 0.01;
        assert!(near_border || e.color[..3] == stain(p), "{:?} at {p}", e.color);
    }
    let untouched = surface.elements.iter().filter(|e| e.position.y > -0.3);
    assert!(untouched.clone().count() > 500 && untouched.clone().all(|e| e.color[..3] != [200, 30, 40]));
    // Solid, it carries the print away.
    lab.flow = 0.0;
    let before = surface.elements.clone();
    for k in 0..10 {
        let rise = 0.05 * f64::from(k);
        let moved: Vec<DVec3> = lab
            .rest
            .iter()
            .map(|p| (*p - 0.08 * DVec3::Y).max(DVec3::new(-2.0, -0.8, -2.0)) + rise * DVec3::Y)
            .collect();
        lab.with(&moved, |points| surface.update(points, &[], &floor));
    }
    // Crumbs at the rim are gone.
    let old: Vec<&Element> = surface.elements.iter().filter(|e| before.iter().any(|a| a.id == e.id)).collect();
    assert!(100 * old.len() >= 99 * before.len(), "{} of {}", old.len(), before.len());
    for b in old {
        let a = before.iter().find(|a| a.id == b.id).expect("it is one of them");
        assert!((a.position + 0.45 * Vec3::Y).distance(b.position) < 1e-3 * SPACING as f32);
        assert_eq!(a.color, b.color);
    }
}
