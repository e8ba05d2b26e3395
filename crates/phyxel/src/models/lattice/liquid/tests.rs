use super::tank::{Tank, lattice};
use super::*;
use crate::random::Random;

/// A disordered block of 2 x 2 x 2 supports around the origin.
fn cloud(n: u64) -> Vec<DVec3> {
    (0..n).map(|i| Random::new(3, i).in_cube()).collect()
}

fn block(dimensions: Dimensions, d: f64, half: f64) -> Vec<DVec3> {
    let corner = DVec3::splat(half);
    let places = lattice(dimensions, d, -corner, corner);
    places.iter().enumerate().map(|(i, p)| *p + 0.1 * d * Random::new(9, i as u64).in_cube()).collect()
}

#[test]
fn densities_are_sums_over_all_pairs() {
    let places = cloud(700);
    let spacing = 0.35;
    let mut liquid = Liquid::new(Dimensions::Three, spacing);
    let volume = |i: usize| 0.01 + 0.005 * (i % 3) as f64;
    let particle = |i: u32| {
        let (position, volume) = (places[i as usize], volume(i as usize));
        Particle { position, volume, mass: 1.0, viscosity: 0.0, tension: 0.0, liquid: true }
    };
    let members: Vec<u32> = (0..700).filter(|i| i % 7 != 0).collect();
    liquid.find(&members, particle, &Colliders::new(Vec::new()), 0.01);
    let h = SUPPORT * spacing;
    let scale = Dimensions::Three.norm() / h.powi(3) / kernel::rest_density(Dimensions::Three);
    for (density, &i) in liquid.densities().zip(liquid.order()) {
        let near = |&j: &u32| volume(j as usize) * kernel::shape(places[i as usize].distance(places[j as usize]) / h);
        let wanted: f64 = members.iter().map(near).sum::<f64>() * scale;
        assert!((density - wanted).abs() < 1e-5 * wanted, "{i}: {density} {wanted}");
    }
}

/// Energy of the pressure by a speed of sound, of which the forces are the gradient.
fn energy(tank: &mut Tank, sound: f64) -> f64 {
    tank.look(1e-6);
    let one = |c: f64| 0.5 * sound * sound * (c - 1.0).max(0.0).powi(2);
    tank.liquid.densities().zip(tank.liquid.order()).map(|(c, &i)| tank.points.masses[i as usize] * one(c)).sum()
}

#[test]
fn pressure_is_the_gradient_of_an_energy_walls_included() {
    for dimensions in [Dimensions::Two, Dimensions::Three] {
        let d = 0.1;
        let mut places = block(dimensions, d, 0.3);
        for p in &mut places {
            *p *= 0.93;
        }
        let mut tank = Tank::new(dimensions, d, &places, &[(DVec3::Y, -0.3), (DVec3::X, -0.28)]);
        (tank.gravity, tank.pressure) = (DVec3::ZERO, Pressure::Sound(10.0));
        let dt = 1e-6;
        tank.look(dt);
        tank.liquid.push(&mut tank.points.velocities, tank.pressure, dt);
        let nudge = 2e-3 * d;
        let mut total = 0.0;
        for i in (0..places.len()).step_by(7) {
            for axis in [DVec3::X, DVec3::Y] {
                let mut change = [0.0; 2];
                for (k, sign) in [1.0, -1.0].into_iter().enumerate() {
                    tank.points.positions[i] = places[i] + sign * nudge * axis;
                    change[k] = energy(&mut tank, 10.0);
                }
                tank.points.positions[i] = places[i];
                let wanted = -(change[0] - change[1]) / (2.0 * nudge);
                let force = tank.points.velocities[i].dot(axis) * tank.points.masses[i] / dt;
                let scale = tank.points.masses[i] * 100.0 / d;
                assert!((force - wanted).abs() < 0.02 * scale, "{i} {axis}: {force} {wanted} of {scale}");
                total += wanted.abs() / scale;
            }
        }
        assert!(total > 0.5, "something was pushed: {total}");
    }
}

#[test]
fn momentum_and_angular_momentum_are_kept() {
    let d = 0.02;
    let mut tank = Tank::new(Dimensions::Three, d, &block(Dimensions::Three, d, 0.07), &[]);
    tank.gravity = DVec3::ZERO;
    (tank.viscosity, tank.tension) = (3.0, 0.5);
    for (i, v) in tank.points.velocities.iter_mut().enumerate() {
        *v = Random::new(4, i as u64).in_cube();
        tank.points.masses[i] *= 1.0 + (i % 2) as f64;
    }
    let sums = |tank: &Tank| {
        let p = &tank.points;
        (0..p.len()).fold((DVec3::ZERO, DVec3::ZERO), |(m, a), i| {
            let one = p.velocities[i] * p.masses[i];
            (m + one, a + p.positions[i].cross(one))
        })
    };
    let mass: f64 = tank.points.masses.iter().sum();
    let before = sums(&tank);
    for _ in 0..20 {
        tank.step(0.002);
    }
    let after = sums(&tank);
    assert!((after.0 - before.0).length() < 2e-6 * mass, "{}", (after.0 - before.0).length() / mass);
    assert!((after.1 - before.1).length() < 2e-6 * 0.07 * mass, "{}", (after.1 - before.1).length() / mass);
}

#[test]
fn shear_dies_away_as_viscosity_says() {
    let (d, nu, wave) = (0.02, 0.05, 0.4);
    let mut tank = Tank::new(Dimensions::Three, d, &block(Dimensions::Three, d, 0.2), &[]);
    (tank.gravity, tank.viscosity) = (DVec3::ZERO, 1000.0 * nu);
    tank.pressure = Pressure::Sound(0.0);
    let k = 2.0 * std::f64::consts::PI / wave;
    let shear: Vec<f64> = tank.points.positions.iter().map(|p| (k * p.y).sin()).collect();
    for (v, s) in tank.points.velocities.iter_mut().zip(&shear) {
        *v = DVec3::X * *s;
    }
    let dt = 1e-4;
    tank.look(dt);
    tank.liquid.push(&mut tank.points.velocities, tank.pressure, dt);
    let inner = |i: &usize| tank.points.positions[*i].abs().max_element() < 0.2 - 2.5 * d;
    let inside: Vec<usize> = (0..tank.points.len()).filter(inner).collect();
    let change: f64 = inside.iter().map(|&i| (tank.points.velocities[i].x - shear[i]) * shear[i]).sum();
    let whole: f64 = inside.iter().map(|&i| shear[i] * shear[i]).sum();
    let rate = -change / whole / dt / (nu * k * k);
    assert!((0.85..1.15).contains(&rate), "{rate}");
}

#[test]
fn a_pool_keeps_its_density_at_ten_times_the_explicit_step() {
    let (d, h) = (0.02, 0.3);
    let places = lattice(Dimensions::Two, d, DVec3::ZERO, DVec3::new(0.4, h, 0.0));
    let mut tank = Tank::new(Dimensions::Two, d, &places, &[(DVec3::Y, 0.0), (DVec3::X, 0.0), (-DVec3::X, -0.4)]);
    tank.viscosity = 0.5;
    // 0.4 H / c with c ten times the speed of a fall from the surface.
    let dt = 10.0 * 0.4 * SUPPORT * d / (10.0 * (2.0 * 9.81 * h).sqrt());
    let mut worst = 0.0f64;
    for step in 0..250 {
        tank.step(dt);
        if step > 60 {
            worst = tank.liquid.densities().fold(worst, f64::max);
        }
    }
    let filled = places.len() as f64 * tank.points.volumes[0] / 0.4;
    let mean = tank.points.positions.iter().map(|p| p.y).sum::<f64>() / places.len() as f64;
    assert!(worst < 1.01, "densest {worst}");
    assert!((2.0 * mean / filled - 1.0).abs() < 0.02, "height {} of {filled}", 2.0 * mean);
    assert!(tank.rms_speed() < 0.05, "{}", tank.rms_speed());
    let lowest = tank.points.positions.iter().fold(1.0, |m: f64, p| m.min(p.y).min(p.x).min(0.4 - p.x));
    assert!(lowest > 0.25 * d, "{lowest}");
}

#[test]
fn a_drop_swings_with_its_tension() {
    let (d, r) = (0.01, 0.07);
    let ball = lattice(Dimensions::Three, d, DVec3::splat(-r), DVec3::splat(r));
    let mut places: Vec<DVec3> = ball.into_iter().filter(|p| p.length() < r).collect();
    let stretch = 0.2f64;
    for p in &mut places {
        *p *= DVec3::new(1.0 + stretch, (1.0 + stretch).powf(-0.5), (1.0 + stretch).powf(-0.5));
    }
    let mut tank = Tank::new(Dimensions::Three, d, &places, &[]);
    tank.gravity = DVec3::ZERO;
    (tank.tension, tank.viscosity) = (1.0, 0.02);
    let radius = (places.len() as f64 * tank.points.volumes[0] * 0.75 / std::f64::consts::PI).cbrt();
    // Rayleigh's lowest mode.
    let period = 2.0 * std::f64::consts::PI / (8.0 * 1.0 / (1000.0 * radius.powi(3))).sqrt();
    let length = |tank: &Tank, axis: DVec3| tank.points.positions.iter().map(|p| p.dot(axis).powi(2)).sum::<f64>();
    let mut time = 0.0;
    while length(&tank, DVec3::X) > 0.5 * (length(&tank, DVec3::Y) + length(&tank, DVec3::Z)) && time < period {
        tank.step(0.003);
        time += 0.003;
    }
    assert!((time / (0.25 * period) - 1.0).abs() < 0.3, "round after {time} s, a quarter is {}", 0.25 * period);
}

#[test]
fn a_submerged_ball_feels_its_buoyancy_and_nothing_enters_it() {
    let (d, r, middle) = (0.02, 0.06, DVec3::new(0.13, 0.1, 0.13));
    let top = DVec3::new(0.26, 0.24, 0.26);
    let mut places = lattice(Dimensions::Three, d, DVec3::ZERO, top);
    places.retain(|p| p.distance(middle) > r + 0.4 * d);
    let planes = [(DVec3::Y, 0.0), (DVec3::X, 0.0), (-DVec3::X, -top.x), (DVec3::Z, 0.0), (-DVec3::Z, -top.z)];
    let mut tank = Tank::new(Dimensions::Three, d, &places, &planes);
    tank.add_ball(middle, r);
    tank.viscosity = 1.0;
    let (dt, mut impulses) = (0.005, vec![DVec3::ZERO; 6]);
    for step in 0..160 {
        tank.step(dt);
        if step == 80 {
            impulses.fill(DVec3::ZERO);
        }
        tank.liquid.add_impulses(&mut impulses, dt);
        impulses[5] += tank.colliders.impulse(5);
    }
    let force = -impulses[5] / (79.0 * dt);
    // The liquid's volume ends where the pressure holds it, a little off the face.
    let weight = 1000.0 * 9.81 * 4.0 / 3.0 * std::f64::consts::PI * r.powi(3);
    assert!((force.y / weight - 1.0).abs() < 0.12, "{force} N, displaced weight {weight} N");
    assert!(force.with_y(0.0).length() < 0.08 * weight, "{force}");
    let nearest = tank.points.positions.iter().fold(1.0, |m: f64, p| m.min(p.distance(middle) - r));
    assert!(nearest > 0.2 * d, "{nearest}");
    let carried: f64 = impulses[0].y / (79.0 * dt);
    let whole = places.len() as f64 * tank.points.masses[0] * 9.81 + weight;
    assert!((carried / whole - 1.0).abs() < 0.1, "the floor carries {carried} N of {whole} N");
}

#[test]
fn the_same_bits_on_any_number_of_threads() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| {
            let d = 0.02;
            let mut tank = Tank::new(Dimensions::Three, d, &block(Dimensions::Three, d, 0.1), &[(DVec3::Y, -0.11)]);
            (tank.viscosity, tank.tension) = (0.5, 0.05);
            for _ in 0..8 {
                tank.step(0.003);
            }
            tank.points.positions
        })
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn odd_matter_has_a_defined_answer() {
    // Coincident, lone and lost points, and nothing at all.
    let places = [DVec3::ZERO, DVec3::ZERO, DVec3::splat(1e9), DVec3::NAN, DVec3::X * 0.01];
    let mut tank = Tank::new(Dimensions::Three, 0.02, &places, &[(DVec3::Y, 0.0)]);
    (tank.viscosity, tank.tension) = (1.0, 0.1);
    tank.step(0.001);
    let finite = |i: usize| tank.points.velocities[i].is_finite();
    assert!((0..5).all(finite), "{:?}", tank.points.velocities);
    Tank::new(Dimensions::Two, 0.02, &[], &[]).step(0.001);
}

#[test]
fn what_is_too_dense_is_not_thrown_apart_by_short_steps() {
    // A crowd a third too dense, as long steps with solid matter among the liquid may leave it.
    let d = 0.1;
    let places: Vec<DVec3> = block(Dimensions::Three, d, 0.3).iter().map(|p| 0.9 * *p).collect();
    let fastest = |haste: f64, dt: f64| {
        let mut tank = Tank::new(Dimensions::Three, d, &places, &[]);
        (tank.gravity, tank.pressure) = (DVec3::ZERO, Pressure::Solve { tolerance: 1e-4, haste });
        tank.step(dt);
        tank.points.velocities.iter().map(|v| v.length()).fold(0.0, f64::max)
    };
    // Without a bound it goes with the inverse of the step.
    assert!(fastest(f64::INFINITY, 1e-4) > 50.0);
    for dt in [1e-4, 1e-3] {
        let speed = fastest(1.0, dt);
        assert!((0.2..5.0).contains(&speed), "{speed} at {dt}");
    }
    // Long steps do as ever.
    assert_eq!(fastest(1.0, 0.05), fastest(f64::INFINITY, 0.05));
}
