//! Tests of the implicit step.

use super::operator::{Operator, Solid};
use super::*;
use crate::materials::elastic::TangentKind;
use crate::models::mls::reference::Reference;
use crate::models::mls::stencils::StencilOptions;
use crate::models::mls::test_bodies::{BoxBody, noise};
use crate::random::Random;

const DT: f64 = 0.01;

type Map = dyn Fn(usize, DVec3) -> DVec3;

struct Body {
    stencils: Stencils,
    points: Points,
    laws: [ElasticLaw; 1],
    solver: Solver,
}

impl Body {
    fn new(cells: [usize; 3], young: f64) -> Self {
        Self::with_jitter(cells, young, 0.2)
    }

    fn with_jitter(cells: [usize; 3], young: f64, jitter: f64) -> Self {
        let body = BoxBody::new(cells, 0.1, jitter);
        let mut points = Points::default();
        for x in &body.positions {
            points.push(0, *x - body.size * 0.5, 1.0, 1e-3, 0.1);
        }
        let stencils = body.stencils(&StencilOptions::default()).0;
        Self { stencils, points, laws: [ElasticLaw::isotropic(young, 0.3)], solver: Solver::default() }
    }

    fn deform(&mut self, map: impl Fn(usize, DVec3) -> DVec3) {
        for i in 0..self.points.len() {
            self.points.positions[i] = map(i, self.points.rest_positions[i]);
        }
    }

    fn step(&mut self, gravity: DVec3, constraints: &Constraints) -> SolveReport {
        let problem =
            Problem { stencils: &self.stencils, laws: &self.laws, stored_strains: &[], dt: DT, gravity, constraints };
        let report = self.solver.solve(&problem, &mut self.points);
        for (x, v) in self.points.positions.iter_mut().zip(&self.points.velocities) {
            *x += *v * DT;
        }
        report
    }

    fn displacements(&self) -> Vec<DVec3> {
        self.points.positions.iter().zip(&self.points.rest_positions).map(|(x, rest)| *x - *rest).collect()
    }

    fn smallest_determinant(&self) -> f64 {
        let u = self.displacements();
        let determinant = |i| (DMat3::IDENTITY + self.stencils.gradient(i, &u)).determinant();
        (0..u.len()).map(determinant).fold(f64::INFINITY, f64::min)
    }

    fn fastest(&self) -> f64 {
        self.points.velocities.iter().map(|v| v.length()).fold(0.0, f64::max)
    }

    fn momentum(&self) -> (DVec3, DVec3) {
        let points = &self.points;
        let linear = (0..points.len()).map(|i| points.velocities[i] * points.masses[i]).sum();
        let angular =
            (0..points.len()).map(|i| points.positions[i].cross(points.velocities[i] * points.masses[i])).sum();
        (linear, angular)
    }
}

#[test]
fn operator_equals_the_reference() {
    let body = Body::new([5, 4, 4], 1e5);
    let u: Vec<DVec3> = noise(body.points.len(), 5).iter().map(|r| *r * 0.03).collect();
    let direction = noise(body.points.len(), 6);
    let solid = Solid { stencils: &body.stencils, laws: &body.laws, bodies: &body.points.bodies, stored_strains: &[] };
    let reference = Reference::new(&body.stencils, &body.laws);
    let mut operator = Operator::default();
    operator.prepare(solid);
    let energy = reference.energies(&u).total();
    assert!((operator.energy(solid, &u) / energy - 1.0).abs() < 1e-12);

    let near = |got: &[DVec3], want: &[DVec3]| {
        let scale = want.iter().map(|w| w.length()).fold(0.0, f64::max);
        got.iter().zip(want).all(|(g, w)| (*g - *w).length() < 1e-11 * scale)
    };
    let mut out = vec![DVec3::ZERO; u.len()];
    operator.forces(solid, &u, &mut out);
    assert!(near(&out, &reference.forces(&u).total()));
    operator.linearize(solid, &u);
    operator.product(solid, &direction, &mut out);
    assert!(near(&out, &reference.tangent_product(&u, &direction, TangentKind::Positive)));

    for i in [0, 37] {
        for axis in DVec3::AXES {
            let mut unit = vec![DVec3::ZERO; u.len()];
            unit[i] = axis;
            let want = reference.tangent_product(&u, &unit, TangentKind::Positive)[i];
            let got = operator.diagonal_block(solid, i) * axis;
            assert!((got + want).length() < 1e-9 * want.length(), "{got} {want}");
        }
    }
}

#[test]
fn strained_starts_stay_stable_at_a_hundred_megapascal() {
    let mirrored = |_, x: DVec3| DVec3::new(-x.x, x.y, x.z);
    let twisted = |_, x: DVec3| DMat3::from_rotation_x(2.0 * x.x / 0.6) * x;
    let noisy = |i: usize, x: DVec3| {
        let mut random = Random::new(3, i as u64);
        // The sum of several uniform numbers is close enough to a Gaussian of deviation 0.4 spacings.
        x + (0..4).map(|_| random.in_cube()).sum::<DVec3>() * (0.04 * 0.75_f64.sqrt())
    };
    let starts: [(&str, &Map); 5] = [
        ("stretch", &|_, x| x * DVec3::new(1.8, 1.0, 1.0)),
        ("compression", &|_, x| x * DVec3::new(1.0, 0.45, 1.0)),
        ("noise", &noisy),
        ("twist", &twisted),
        ("mirrored", &mirrored),
    ];
    for (name, start) in starts {
        let mut body = Body::new([6, 6, 6], 1e8);
        body.deform(start);
        let (mut cg, mut newton, mut fastest) = (0, 0, 0.0_f64);
        for _ in 0..30 {
            let report = body.step(DVec3::ZERO, &Constraints::default());
            (cg, newton) = (cg + report.cg, newton + report.newton);
            fastest = fastest.max(body.fastest());
        }
        let (linear, angular) = body.momentum();
        let scale = fastest * body.points.len() as f64;
        println!(
            "{name}: fastest {fastest:.1} m/s, {cg} cg, {newton} newton, angular momentum {:.2}",
            angular.length()
        );
        assert!(linear.length() < 1e-9 * scale, "{name}: {linear}");
        assert!(angular.length() < 0.3 * 0.01 * scale, "{name}: {angular}");
        assert!(body.smallest_determinant() > 0.9, "{name}");
        assert!(fastest < 200.0, "{name}");
    }
}

const GRAVITY: DVec3 = DVec3::new(0.0, -9.81, 0.0);

#[test]
fn a_body_hangs_still_from_its_pins() {
    let mut body = Body::new([4, 4, 4], 1e6);
    let held = (0..body.points.len()).filter(|&i| body.points.rest_positions[i].y > 0.1);
    let held = held.map(|point| Held { point, axes: [true; 3], velocity: DVec3::ZERO }).collect();
    let constraints = Constraints { held, ..Constraints::default() };
    for _ in 0..60 {
        let report = body.step(GRAVITY, &constraints);
        assert!(report.converged, "{report:?}");
    }
    assert!(body.fastest() < 1e-5);
    assert!(constraints.held.iter().all(|h| body.points.positions[h.point] == body.points.rest_positions[h.point]));
    let lowest = body.displacements().iter().map(|u| u.y).fold(0.0, f64::min);
    assert!((-1e-3..-1e-4).contains(&lowest), "{lowest}");
}

// Every point against the floor y = -0.2.
fn floor(points: &Points, friction: f64) -> Constraints {
    let contact = |point: usize| ContactConstraint {
        point,
        normal: DVec3::Y,
        minimum_speed: (-0.2 - points.positions[point].y) / DT,
        friction,
        collider_velocity: DVec3::ZERO,
    };
    Constraints { contacts: (0..points.len()).map(contact).collect(), ..Constraints::default() }
}

#[test]
fn a_dropped_body_comes_to_rest_on_the_floor() {
    // Without jitter the body has a flat underside and does not rock.
    let mut body = Body::with_jitter([4, 4, 4], 1e6, 0.0);
    body.deform(|_, x| x + DVec3::Y * 0.1);
    for _ in 0..120 {
        let constraints = floor(&body.points, 0.5);
        body.step(GRAVITY, &constraints);
        let lowest = body.points.positions.iter().map(|x| x.y).fold(f64::INFINITY, f64::min);
        assert!(lowest > -0.2 - 1e-9, "{lowest}");
    }
    let center = body.points.positions.iter().copied().sum::<DVec3>() / body.points.len() as f64;
    assert!(body.fastest() < 1e-3, "{}", body.fastest());
    assert!(center.x.abs() < 1e-3 && center.z.abs() < 1e-3, "{center}");
}

#[test]
fn friction_holds_on_a_gentle_slope_and_slides_on_a_slippery_one() {
    let slope: f64 = 0.3;
    let gravity = DVec3::new(slope, -1.0, 0.0).normalize() * 9.81;
    let slide = |friction: f64| {
        let mut body = Body::new([4, 3, 3], 1e6);
        body.deform(|_, x| x - DVec3::Y * 0.06);
        let mut speeds = Vec::new();
        for _ in 0..80 {
            let constraints = floor(&body.points, friction);
            body.step(gravity, &constraints);
            speeds.push(body.momentum().0.x / body.points.len() as f64);
        }
        speeds
    };
    let held = slide(0.6);
    assert!(held[79].abs() < 2.0 * STICK_SPEED, "{}", held[79]);
    let slipping = slide(0.1);
    let acceleration = (slipping[79] - slipping[39]) / (40.0 * DT);
    let wanted = 9.81 * (slope - 0.1) / slope.hypot(1.0);
    assert!((acceleration / wanted - 1.0).abs() < 0.05, "{acceleration} {wanted}");
}

#[test]
fn touching_points_push_each_other_apart() {
    let mut points = Points::default();
    points.push(0, DVec3::ZERO, 1.0, 1e-3, 0.1);
    points.push(1, DVec3::X, 1.0, 1e-3, 0.1);
    let ranges = [0..1, 1..2];
    let (stencils, _) =
        Stencils::build(&points.rest_positions, &points.volumes, &ranges, &[], &StencilOptions::default());
    let pair = PairPenalty { i: 1, j: 0, normal: DVec3::X, gap_deficit: 0.01, stiffness: 1e4 };
    let constraints = Constraints { pairs: vec![pair], ..Constraints::default() };
    let laws = [ElasticLaw::isotropic(1e5, 0.3); 2];
    let problem = Problem {
        stencils: &stencils,
        laws: &laws,
        stored_strains: &[],
        dt: DT,
        gravity: DVec3::ZERO,
        constraints: &constraints,
    };
    let report = Solver::default().solve(&problem, &mut points);
    let speed = DT * 1e4 * 0.01 / (1.0 + 2.0 * DT * DT * 1e4);
    assert!(report.converged);
    assert!((points.velocities[1] - DVec3::X * speed).length() < 1e-6, "{}", points.velocities[1]);
    assert!((points.velocities[0] + DVec3::X * speed).length() < 1e-6);
}

#[test]
fn threads_do_not_change_a_bit() {
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut body = Body::new([16, 16, 16], 1e7);
            body.solver.options.max_newton = 2;
            body.deform(|_, x| x * DVec3::new(1.1, 0.9, 1.0));
            let constraints = floor(&body.points, 0.3);
            body.step(GRAVITY, &constraints);
            body.points.velocities
        })
    };
    assert_eq!(run(1), run(3));
}

// Time this thread has spent on a processor.
fn cpu_nanoseconds() -> f64 {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    times.split(' ').next().unwrap().parse().unwrap()
}

#[test]
#[ignore = "a measurement: cargo test --release product_cost -- --ignored --nocapture"]
fn product_cost() {
    let body = Body::new([27, 27, 27], 1e6);
    let solid = Solid { stencils: &body.stencils, laws: &body.laws, bodies: &body.points.bodies, stored_strains: &[] };
    let mut operator = Operator::default();
    let n = body.points.len();
    let direction = noise(n, 6);
    let mut out = vec![DVec3::ZERO; n];
    let time = |work: &mut dyn FnMut()| {
        let best = (0..8).map(|_| {
            let start = cpu_nanoseconds();
            (0..5).for_each(|_| work());
            (cpu_nanoseconds() - start) / (5 * n) as f64
        });
        best.fold(f64::INFINITY, f64::min)
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        println!("neighbors {:.1}", body.stencils.neighbors.len() as f64 / n as f64);
        println!("prepare {:.0} ns", time(&mut || operator.prepare(solid)));
        println!("energy {:.0} ns", time(&mut || assert!(operator.energy(solid, &direction) > 0.0)));
        println!("forces {:.0} ns", time(&mut || operator.forces(solid, &direction, &mut out)));
        println!("linearize {:.0} ns", time(&mut || operator.linearize(solid, &direction)));
        println!("product {:.0} ns", time(&mut || operator.product(solid, &direction, &mut out)));
        println!(
            "blocks {:.0} ns",
            time(&mut || out.iter_mut().enumerate().for_each(|(i, o)| *o = operator.diagonal_block(solid, i).x_axis))
        );
    });
}
