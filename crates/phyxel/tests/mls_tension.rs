//! Virtual tension tests: a bar at 8 points across, pulled by 0.1 %, shows the Young's modulus and Poisson's ratio asked for.

use glam::DVec3;
use phyxel::geometry::Cuboid;
use phyxel::materials::ElasticLaw;
use phyxel::models::mls::implicit::{Constraints, Held, Problem, Solver};
use phyxel::models::mls::reference::Reference;
use phyxel::models::mls::stencils::{StencilOptions, Stencils};
use phyxel::points::Points;
use phyxel::sampling::{SampleSize, sample_volume};
use phyxel::scene::Sampling;

const LENGTH: f64 = 0.2;
const WIDTH: f64 = 0.1;
const SPACING: f64 = WIDTH / 8.0;
const YOUNG: f64 = 1e6;
const STRAIN: f64 = 1e-3;

fn check(sampling: Sampling) {
    let shape = Cuboid::new(DVec3::new(LENGTH, WIDTH, WIDTH), 0.0);
    let samples = sample_volume(&shape, sampling, SampleSize::Spacing(SPACING), 1).unwrap();
    let mut points = Points::default();
    for (x, v) in samples.positions.iter().zip(&samples.volumes) {
        points.push(0, *x, 1000.0 * v, *v, SPACING);
    }
    let body = 0..points.len();
    let bodies = std::slice::from_ref(&body);
    let options = StencilOptions::default();
    let (stencils, _) = Stencils::build(&points.rest_positions, &points.volumes, bodies, &[&samples.patches], &options);
    for poisson in [0.0, 0.3, 0.45] {
        let (young, measured) = pull(&stencils, points.clone(), poisson);
        assert!((young / YOUNG - 1.0).abs() < 0.005, "{sampling:?}: E {young} at ratio {poisson}");
        assert!((measured - poisson).abs() < 0.002, "{sampling:?}: ratio {measured} instead of {poisson}");
    }
}

// Drives all points within two spacings of the ends along x; everything else is free. One step of ten seconds is static.
fn pull(stencils: &Stencils, mut points: Points, poisson: f64) -> (f64, f64) {
    let laws = [ElasticLaw::isotropic(YOUNG, poisson)];
    let gripped = |x: DVec3| x.x.abs() > 0.5 * LENGTH - 2.0 * SPACING;
    let held = (0..points.len()).filter(|&i| gripped(points.rest_positions[i]));
    let held = held.map(|point| Held { point, axes: [true, false, false], velocity: DVec3::ZERO }).collect();
    let constraints = Constraints { held, ..Constraints::default() };
    // Start near the answer, but not at it.
    let near = DVec3::new(STRAIN, -0.8 * poisson * STRAIN, -0.8 * poisson * STRAIN);
    for (x, rest) in points.positions.iter_mut().zip(&points.rest_positions) {
        *x = *rest * (DVec3::ONE + near);
    }
    let dt = 10.0;
    let problem = Problem { stencils, laws: &laws, dt, gravity: DVec3::ZERO, constraints: &constraints };
    let mut solver = Solver::default();
    solver.options.linear.tolerance = 1e-4;
    solver.options.linear.max_iterations = 2000;
    solver.solve(&problem, &mut points);
    let u: Vec<DVec3> =
        (0..points.len()).map(|i| points.positions[i] + points.velocities[i] * dt - points.rest_positions[i]).collect();

    let forces = Reference::new(stencils, &laws).forces(&u).total();
    let grip = (0..u.len()).filter(|&i| gripped(points.rest_positions[i]) && points.rest_positions[i].x > 0.0);
    let reaction: f64 = grip.map(|i| -forces[i].x).sum();
    let along = slope(&points.rest_positions, &u, 0);
    let across = 0.5 * (slope(&points.rest_positions, &u, 1) + slope(&points.rest_positions, &u, 2));
    // First Piola stress of a St. Venant-Kirchhoff bar at this stretch.
    let stretch = 1.0 + along;
    let young = reaction / (WIDTH * WIDTH * stretch * (stretch * stretch - 1.0) / 2.0);
    (young, -across / along)
}

// Least-squares strain along an axis in the middle of the bar.
fn slope(x: &[DVec3], u: &[DVec3], axis: usize) -> f64 {
    let middle: Vec<usize> = (0..x.len()).filter(|&i| x[i].x.abs() < 0.25 * LENGTH).collect();
    let mean = |field: &[DVec3]| middle.iter().map(|&i| field[i][axis]).sum::<f64>() / middle.len() as f64;
    let (x_mean, u_mean) = (mean(x), mean(u));
    let product = |i: usize| (x[i][axis] - x_mean) * (u[i][axis] - u_mean);
    let square = |i: usize| (x[i][axis] - x_mean).powi(2);
    middle.iter().map(|&i| product(i)).sum::<f64>() / middle.iter().map(|&i| square(i)).sum::<f64>()
}

#[test]
fn regular_sampling() {
    check(Sampling::Regular);
}

#[test]
fn blue_noise_sampling() {
    check(Sampling::Poisson);
}

#[test]
fn graded_sampling() {
    check(Sampling::Graded);
}
