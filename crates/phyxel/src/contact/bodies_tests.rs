//! Tests of bodies against each other; the bodies are lattices of springs.

use super::super::test_shapes::{Block, HalfSpace};
use super::super::{Collider, Colliders};
use super::*;
use crate::models::mls::{MlsBody, MlsModel};
use crate::scene::{MaterialSpec, Precision};

const SPACING: f64 = 0.02;
const DENSITY: f64 = 1000.0;

/// Cubes of points held together by springs to all neighbors nearer than 1.8 spacings.
struct Lattices {
    points: Points,
    bodies: Vec<ContactBody>,
    springs: Vec<(usize, usize, f64, f64)>,
    damping: f64,
    /// Rate at which all motion dies away [1/s].
    drag: f64,
    gravity: DVec3,
    colliders: Colliders,
    time: f64,
}

impl Lattices {
    fn new() -> Self {
        Self {
            points: Points::default(),
            bodies: Vec::new(),
            springs: Vec::new(),
            damping: 0.0,
            drag: 0.0,
            gravity: DVec3::ZERO,
            colliders: Colliders::new(Vec::new()),
            time: 0.0,
        }
    }

    fn add(&mut self, cells: [usize; 3], center: DVec3, velocity: DVec3, young: f64) {
        let (body, first) = (self.bodies.len() as u32, self.points.len());
        let half = 0.5 * SPACING * DVec3::new(cells[0] as f64, cells[1] as f64, cells[2] as f64);
        for k in 0..cells[0] * cells[1] * cells[2] {
            let cell = [k % cells[0], k / cells[0] % cells[1], k / (cells[0] * cells[1])];
            let p = center - half + SPACING * (DVec3::from_array(cell.map(|c| c as f64)) + 0.5);
            self.points.push(body, p, DENSITY * SPACING.powi(3), SPACING.powi(3), SPACING);
        }
        let range = first..self.points.len();
        self.points.velocities[range.clone()].fill(velocity);
        for i in range.clone() {
            for j in i + 1..range.end {
                let length = (self.points.positions[j] - self.points.positions[i]).length();
                if length < 1.8 * SPACING {
                    self.springs.push((i, j, length, 0.3 * young * SPACING));
                }
            }
        }
        self.bodies.push(ContactBody {
            points: range,
            surface: ContactSurface::Solid(Arc::new(Block(center, half))),
            young,
            friction: 0.5,
        });
    }

    fn contact(&self) -> Bodies {
        Bodies::new(&self.points, &self.bodies)
    }

    fn step(&mut self, contact: &mut Bodies, dt: f64) {
        let points = &mut self.points;
        points.forces.fill(DVec3::ZERO);
        contact.add_forces(points, self.time, dt);
        for &(i, j, length, stiffness) in &self.springs {
            let x = points.positions[j] - points.positions[i];
            let n = x / x.length();
            let v = (points.velocities[j] - points.velocities[i]).dot(n);
            let force = n * (stiffness * (x.length() - length) + self.damping * v);
            points.forces[i] += force;
            points.forces[j] -= force;
        }
        for i in 0..points.len() {
            let a = points.forces[i] / points.masses[i] + self.gravity - self.drag * points.velocities[i];
            points.velocities[i] += dt * a;
        }
        self.colliders.collide(points, dt);
        for i in 0..points.len() {
            let v = points.velocities[i];
            points.positions[i] += dt * v;
        }
        self.time += dt;
    }

    fn energy(&self) -> f64 {
        let p = &self.points;
        let kinetic: f64 = (0..p.len()).map(|i| 0.5 * p.masses[i] * p.velocities[i].length_squared()).sum();
        let stretch = |&(i, j, length, k): &(usize, usize, f64, f64)| {
            0.5 * k * ((p.positions[j] - p.positions[i]).length() - length).powi(2)
        };
        kinetic + self.springs.iter().map(stretch).sum::<f64>()
    }

    fn momentum(&self) -> DVec3 {
        (0..self.points.len()).map(|i| self.points.masses[i] * self.points.velocities[i]).sum()
    }

    fn angular_momentum(&self) -> DVec3 {
        let p = &self.points;
        (0..p.len()).map(|i| p.masses[i] * p.positions[i].cross(p.velocities[i])).sum()
    }

    fn center(&self, body: usize) -> DVec3 {
        let range = self.bodies[body].points.clone();
        self.points.positions[range.clone()].iter().sum::<DVec3>() / range.len() as f64
    }

    fn velocity(&self, body: usize) -> DVec3 {
        let range = self.bodies[body].points.clone();
        self.points.velocities[range.clone()].iter().sum::<DVec3>() / range.len() as f64
    }
}

/// Two cubes that fly at each other along x with an offset across.
fn collision(young: f64, speed: f64, across: DVec3) -> Lattices {
    let mut world = Lattices::new();
    world.add([6; 3], DVec3::new(-0.08, 0.0, 0.0), DVec3::X * 0.5 * speed, young);
    world.add([6; 3], DVec3::new(0.08, 0.0, 0.0) + across, DVec3::X * -0.5 * speed, young);
    world
}

#[test]
fn colliding_cubes_keep_momentum_and_gain_no_energy() {
    for across in [DVec3::ZERO, DVec3::new(0.0, 0.013, 0.007), DVec3::new(0.0, 0.06, 0.03)] {
        let mut world = collision(1e6, 5.0, across);
        let mut contact = world.contact();
        let (energy, momentum, turning) = (world.energy(), world.momentum(), world.angular_momentum());
        let exchanged = 0.5 * 5.0 * DENSITY * (6.0 * SPACING).powi(3);
        let mut touched = 0;
        for _ in 0..2000 {
            world.step(&mut contact, 5e-5);
            touched = touched.max(contact.touching());
            assert!(world.energy() + contact.energy() < energy * 1.002, "{} {energy}", world.energy());
        }
        assert!(touched >= 18 && contact.touching() == 0, "{touched}");
        assert!((world.momentum() - momentum).length() < 1e-12 * exchanged);
        assert!(world.velocity(0).x < -0.5 && world.velocity(1).x > 0.5, "{}", world.velocity(0));
        assert!(world.energy() <= energy);
        let drift = (world.angular_momentum() - turning).length();
        assert!(drift < 1e-12 * exchanged * 0.06, "{}", drift / (exchanged * 0.06));
    }
}

#[test]
fn soft_cubes_do_not_pass_through_each_other_at_ten_meters_per_second() {
    for young in [3e5, 1e6] {
        let mut world = collision(young, 10.0, DVec3::new(0.0, 0.01, 0.005));
        let mut contact = world.contact();
        let mut steps = 0;
        while world.time < 0.06 && steps < 20000 {
            let wave = 0.15 * SPACING / (young / DENSITY).sqrt();
            contact.prepare(&world.points, world.time);
            let dt = wave.min(contact.max_time_step(&world.points)).min(1e-3);
            world.step(&mut contact, dt);
            steps += 1;
            assert!(world.center(1).x > world.center(0).x, "young {young}");
        }
        assert!(world.velocity(1).x > world.velocity(0).x, "young {young}");
    }
}

#[test]
fn a_stack_of_two_comes_to_rest_on_the_floor() {
    let mut world = Lattices::new();
    world.add([5, 5, 5], DVec3::new(0.0, 0.05, 0.0), DVec3::ZERO, 3e5);
    world.add([5, 5, 5], DVec3::new(0.013, 0.1502, 0.007), DVec3::ZERO, 3e5);
    world.gravity = DVec3::new(0.0, -9.81, 0.0);
    world.damping = 1.5;
    world.drag = 8.0;
    let floor = Collider::half_space("floor", Arc::new(HalfSpace(DVec3::Y, 0.0)));
    world.colliders = Colliders::new(vec![floor]);
    let mut contact = world.contact();
    assert!(contact.overlaps().is_empty());
    for _ in 0..6000 {
        world.step(&mut contact, 2e-4);
    }
    let settled = world.center(1);
    for _ in 0..1000 {
        world.step(&mut contact, 2e-4);
    }
    let speed = world.points.velocities.iter().map(|v| v.length()).fold(0.0, f64::max);
    assert!(speed < 1e-3 && (world.center(1) - settled).length() < 1e-4, "{speed} {settled}");
    assert!((settled.y - 0.15).abs() < 0.01, "{settled}");
}

#[test]
fn a_cube_slides_over_a_slab_without_bumps() {
    let mut world = Lattices::new();
    world.add([30, 3, 6], DVec3::new(0.0, -0.03, 0.0), DVec3::ZERO, 1e6);
    world.add([4, 4, 4], DVec3::new(-0.2, 0.0405, 0.003), DVec3::X, 1e6);
    world.bodies.iter_mut().for_each(|b| b.friction = 0.0);
    world.damping = 0.3;
    let mut contact = world.contact();
    let slab = world.bodies[0].points.clone();
    // The slab is held; the cube is pressed on it.
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for step in 0..3000 {
        world.gravity = DVec3::new(0.0, -9.81, 0.0);
        world.step(&mut contact, 1e-4);
        for i in slab.clone() {
            world.points.positions[i] = world.points.rest_positions[i];
            world.points.velocities[i] = DVec3::ZERO;
        }
        if step > 1000 {
            low = low.min(world.center(1).y);
            high = high.max(world.center(1).y);
        }
    }
    assert!((high - low) < 0.02 * SPACING);
    assert!((world.velocity(1).x - 1.0).abs() < 0.05 && world.velocity(1).y.abs() < 0.02, "{}", world.velocity(1));
}

#[test]
fn friction_stops_a_sliding_cube_on_the_way_coulomb_says() {
    let mut world = Lattices::new();
    world.add([20, 3, 6], DVec3::new(0.0, -0.03, 0.0), DVec3::ZERO, 1e6);
    world.add([5, 3, 5], DVec3::new(-0.1, 0.03, 0.0), DVec3::X * 0.8, 1e6);
    world.damping = 0.3;
    let mut contact = world.contact();
    let slab = world.bodies[0].points.clone();
    world.gravity = DVec3::new(0.0, -9.81, 0.0);
    for _ in 0..4000 {
        world.step(&mut contact, 1e-4);
        for i in slab.clone() {
            world.points.positions[i] = world.points.rest_positions[i];
            world.points.velocities[i] = DVec3::ZERO;
        }
    }
    let way = world.center(1).x + 0.1;
    let exact = 0.8 * 0.8 / (2.0 * 0.5 * 9.81);
    assert!((way - exact).abs() < 0.1 * exact);
    assert!(world.velocity(1).length() < 1e-3);
}

#[test]
fn overlap_at_the_start_is_reported_and_resolved_gently() {
    let mut world = Lattices::new();
    world.add([5; 3], DVec3::ZERO, DVec3::ZERO, 1e5);
    world.add([5; 3], DVec3::new(0.085, 0.004, 0.0), DVec3::ZERO, 1e5);
    let mut contact = world.contact();
    let found = contact.overlaps();
    assert_eq!((found.len(), found[0].body_a, found[0].body_b, found[0].points), (1, 0, 1, 50));
    assert!((found[0].depth - 0.015).abs() < 1e-9);
    world.damping = 0.3;
    let mut fastest: f64 = 0.0;
    for _ in 0..4000 {
        world.step(&mut contact, 2e-4);
        fastest = fastest.max(world.points.velocities.iter().map(|v| v.length()).fold(0.0, f64::max));
    }
    assert!(fastest < 0.5);
    assert!(world.center(1).x - world.center(0).x > 0.099);
}

#[test]
fn normal_force_is_the_slope_of_the_energy_and_equals_the_pair_springs() {
    let mut world = Lattices::new();
    world.add([6, 2, 6], DVec3::ZERO, DVec3::ZERO, 1e5);
    world.add([4, 2, 4], DVec3::new(0.003, 0.036, 0.002), DVec3::ZERO, 1e6);
    let mut contact = Bodies { overlaps_at_start: Vec::new(), ..world.contact() };
    let mut at = |lift: f64| {
        for i in world.bodies[1].points.clone() {
            world.points.positions[i] = world.points.rest_positions[i] + lift * DVec3::Y;
        }
        world.points.forces.fill(DVec3::ZERO);
        contact.add_forces(&mut world.points, 0.0, 1e-4);
        let force: f64 = world.bodies[1].points.clone().map(|i| world.points.forces[i].y).sum();
        let mut springs = Vec::new();
        contact.add_springs(&mut world.points, 0.0, 1e-4, &mut springs);
        let first = world.bodies[1].points.start;
        let spring_force: f64 = springs
            .iter()
            .map(|s| s.normal.y * s.stiffness * s.gap_deficit.max(0.0) * if s.i >= first { 1.0 } else { -1.0 })
            .sum();
        (force, contact.energy(), spring_force)
    };
    let (force, _, spring_force) = at(0.0);
    let slope = (at(1e-6).1 - at(-1e-6).1) / 2e-6;
    assert!(force > 1.0 && (force - spring_force).abs() < 1e-9 * force, "{force} {spring_force}");
    // Cover is full everywhere here but at the rim, where the force fades in.
    assert!((force + slope).abs() < 0.05 * force, "{force} {slope}");
}

#[test]
fn same_bits_for_any_number_of_threads() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut world = collision(1e5, 5.0, DVec3::new(0.0, 0.013, 0.007));
            let mut contact = world.contact();
            (0..300).for_each(|_| world.step(&mut contact, 1e-4));
            assert!(contact.touching() > 0 || world.velocity(0).x < 1.0);
            world.points.positions
        })
    };
    let one = run(1);
    for threads in 2..=4 {
        assert!(run(threads) == one, "{threads} threads");
    }
}

#[test]
fn few_and_absurd_points_do_nothing_bad() {
    let mut points = Points::default();
    Bodies::new(&points, &[]).add_forces(&mut points, 0.0, 1e-3);
    points.push(0, DVec3::ZERO, 1.0, 1e-3, 0.1);
    points.push(1, DVec3::new(0.05, 0.0, 0.0), 1.0, 1e-3, 0.1);
    let body = |k: usize, at: DVec3| ContactBody {
        points: k..k + 1,
        surface: ContactSurface::Solid(Arc::new(Block(at, DVec3::splat(0.05)))),
        young: 0.0,
        friction: 0.5,
    };
    let mut contact = Bodies::new(&points, &[body(0, DVec3::ZERO), body(1, DVec3::new(0.05, 0.0, 0.0))]);
    contact.add_forces(&mut points, 0.0, 1e-3);
    assert!(points.forces.iter().all(|f| f.is_finite()));
    points.positions[1] = DVec3::NAN;
    contact.add_forces(&mut points, 0.0, 1e-3);
    points.positions.fill(DVec3::ZERO);
    points.forces.fill(DVec3::ZERO);
    contact.add_forces(&mut points, 0.0, 1e-3);
    assert!(points.forces.iter().all(|f| f.is_finite()));
}

/// Two cubes of moving-least-squares elasticity that meet at 10 m/s.
fn elastic_impact(young: f64) -> (Lattices, f64) {
    let mut world = collision(young, 10.0, DVec3::new(0.0, 0.01, 0.005));
    let material = MaterialSpec {
        young,
        poisson: 0.3,
        density: DENSITY,
        damping: 0.0,
        smoothing: 0.0,
        friction: 0.5,
        collapse_ratio: 0.25,
        ..MaterialSpec::default()
    };
    let bodies: Vec<MlsBody> = world.bodies.iter().map(|b| mls_body(b.points.clone(), &material)).collect();
    let mut model = MlsModel::new(&world.points, &bodies, Precision::F64).unwrap();
    let mut contact = world.contact();
    let mut nearest = f64::INFINITY;
    while world.time < 0.05 {
        contact.prepare(&world.points, world.time);
        let dt = model.stable_time_step().min(contact.max_time_step(&world.points));
        contact.add_forces(&mut world.points, world.time, dt);
        model.compute_stresses(&world.points);
        model.integrate_velocities(&mut world.points, dt, DVec3::ZERO);
        model.move_points(&mut world.points, dt);
        world.time += dt;
        nearest = nearest.min(world.center(1).x - world.center(0).x);
    }
    (world, nearest)
}

fn mls_body(range: Range<usize>, material: &MaterialSpec) -> MlsBody<'_> {
    MlsBody { range, material, rotation: DMat3::IDENTITY, patches: &[] }
}

#[test]
fn elastic_solids_bounce_off_each_other_at_ten_meters_per_second() {
    let mut report = String::new();
    for young in [1e6, 1e5] {
        let (world, nearest) = elastic_impact(young);
        let p = &world.points;
        let kinetic: f64 = (0..p.len()).map(|i| 0.5 * p.masses[i] * p.velocities[i].length_squared()).sum();
        let before = 0.5 * 25.0 * DENSITY * 2.0 * (6.0 * SPACING).powi(3);
        report += &format!("{young}: nearest {nearest:.4}, v {}, kinetic {:.3}\n", world.velocity(1), kinetic / before);
        assert!(nearest > 0.03 && world.velocity(1).x > 0.5 && kinetic < before, "{report}");
    }
}
