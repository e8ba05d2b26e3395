//! Tests of the implicit step.

use super::*;
use crate::models::shell::law::{Sheet, ShellLaw};
use crate::models::shell::nodes::{NodeOptions, spread_nodes};
use crate::models::shell::stiffening::Stiffening;
use crate::models::shell::surface::TriangleSurface;
use crate::random::Random;

const FOIL: Sheet = Sheet { young: 70e9, poisson: 0.3, thickness: 1e-4 };

struct Flying {
    shell: Shell,
    solver: Solver,
    masses: Vec<f64>,
    positions: Vec<DVec3>,
    velocities: Vec<DVec3>,
}

impl Flying {
    fn new(sheet: Sheet, spacing: f64) -> Self {
        let options = NodeOptions { spacing, rows: false, seed: 1 };
        let nodes = spread_nodes(&TriangleSurface::rectangle(0.5, 0.3), &options, &|p, n| (p, n));
        let masses: Vec<f64> = nodes.areas.iter().map(|a| 2700.0 * sheet.thickness * a).collect();
        let shell = Shell::new(nodes, ShellLaw::Tensor, sheet);
        let positions = shell.nodes().positions.clone();
        let velocities = vec![DVec3::ZERO; positions.len()];
        Self { shell, solver: Solver::default(), masses, positions, velocities }
    }

    fn step(&mut self, dt: f64, gravity: DVec3, held: &[Held], touches: &[Touch]) -> SolveReport {
        let forces = vec![DVec3::ZERO; self.positions.len()];
        let problem = Problem { dt, gravity, masses: &self.masses, forces: &forces, held, touches, gas: None };
        let report = self.solver.solve(&mut self.shell, &problem, &self.positions, &mut self.velocities);
        self.positions.iter_mut().zip(&self.velocities).for_each(|(x, v)| *x += dt * *v);
        report
    }

    fn energy(&mut self) -> f64 {
        self.shell.measure(&self.positions);
        let kinetic = |(v, m): (&DVec3, &f64)| 0.5 * m * v.length_squared();
        self.shell.energy().iter().sum::<f64>() + self.velocities.iter().zip(&self.masses).map(kinetic).sum::<f64>()
    }
}

#[test]
fn at_rest_the_stiffness_is_the_slope_of_the_forces() {
    let mut flying = Flying::new(Sheet { young: 1e6, poisson: 0.3, thickness: 0.01 }, 0.06);
    let n = flying.positions.len();
    let (mut linear, mut matrix) = Linearization::new(flying.shell.engine());
    let direction: Vec<DVec3> = (0..n as u64).map(|i| Random::new(4, i).in_cube()).collect();
    linear.measure(flying.shell.engine(), &flying.positions);
    linear.assemble(1.0, &vec![DMat3::ZERO; n], &mut matrix);
    let mut product = vec![DVec3::ZERO; n];
    matrix.product(&direction, &mut product);
    let step = 1e-6;
    let mut at = |sign: f64| {
        let moved: Vec<DVec3> = flying.positions.iter().zip(&direction).map(|(x, d)| *x + sign * step * *d).collect();
        let mut out = vec![DVec3::ZERO; n];
        flying.shell.measure(&moved);
        flying.shell.add_forces(&mut out);
        out
    };
    let (ahead, back) = (at(1.0), at(-1.0));
    let size = product.iter().map(|p| p.length()).fold(0.0, f64::max);
    for i in 0..n {
        let slope = (back[i] - ahead[i]) / (2.0 * step);
        assert!((slope - product[i]).length() < 1e-6 * size, "{i}: {slope} {}", product[i]);
    }
}

#[test]
fn the_stiffness_follows_that_of_a_material_that_stiffens_or_softens() {
    for stiffening in [Stiffening { rise: 4.0, strain: 0.1 }, Stiffening { rise: -0.7, strain: 0.1 }] {
        let mut flying = Flying::new(Sheet { young: 1e6, poisson: 0.3, thickness: 0.01 }, 0.06);
        flying.shell = flying.shell.with_stiffening(stiffening);
        let n = flying.positions.len();
        let (mut linear, mut matrix) = Linearization::new(flying.shell.engine());
        // A pull to 1.1 times the length, and more of it.
        let across = (1.0f64 - 0.3 * 0.21).sqrt();
        let at = |stretch: f64| -> Vec<DVec3> {
            flying.positions.iter().map(|p| *p * DVec3::new(stretch, 1.0, across)).collect()
        };
        let (here, step) = (at(1.1), 1e-4);
        let along: Vec<DVec3> = flying.positions.iter().map(|p| p.x * DVec3::X).collect();
        let (ahead, behind) = (at(1.1 + step), at(1.1 - step));
        linear.measure(flying.shell.engine(), &here);
        linear.assemble(1.0, &vec![DMat3::ZERO; n], &mut matrix);
        let mut product = vec![DVec3::ZERO; n];
        matrix.product(&along, &mut product);
        let mut pull = |positions: &[DVec3]| {
            let mut out = vec![DVec3::ZERO; n];
            flying.shell.measure(positions);
            flying.shell.add_forces(&mut out);
            -dot(&out, &along)
        };
        let slope = (pull(&ahead) - pull(&behind)) / (2.0 * step);
        let ratio = dot(&product, &along) / slope;
        // Fibers that are pushed together across the pull are not counted.
        assert!((0.97..1.15).contains(&ratio), "{stiffening:?}: {ratio}");
    }
}

#[test]
fn a_wild_foil_only_loses_energy() {
    let stiffening = Stiffening { rise: 10.0, strain: 0.01 };
    for (dt, stiffening) in [(1e-4, None), (2e-3, None), (2e-2, None), (2e-3, Some(stiffening))] {
        let mut flying = Flying::new(FOIL, 0.05);
        flying.shell = flying.shell.with_stiffening(stiffening.unwrap_or_default());
        for (i, p) in flying.positions.iter_mut().enumerate() {
            *p += 0.02 * Random::new(7, i as u64).in_cube();
        }
        let mut energy = flying.energy();
        for _ in 0..12 {
            flying.step(dt, DVec3::ZERO, &[], &[]);
            let now = flying.energy();
            assert!(now <= energy * (1.0 + 1e-9), "{dt}: {energy} {now}");
            energy = now;
        }
        let momentum: DVec3 = flying.velocities.iter().zip(&flying.masses).map(|(v, m)| *v * *m).sum();
        assert!(momentum.length() < 1e-6, "{momentum}");
    }
}

#[test]
fn a_tumbling_foil_keeps_its_turn_and_falls_freely() {
    let mut flying = Flying::new(FOIL, 0.05);
    let spin = DVec3::new(3.0, 1.0, 0.0);
    for (v, x) in flying.velocities.iter_mut().zip(&flying.positions) {
        *v = spin.cross(*x);
    }
    let angular = |f: &Flying| -> DVec3 {
        (0..f.positions.len()).map(|i| (f.positions[i]).cross(f.velocities[i] * f.masses[i])).sum()
    };
    let start = angular(&flying);
    for _ in 0..40 {
        let report = flying.step(5e-3, DVec3::ZERO, &[], &[]);
        assert!(report.converged, "{report:?}");
    }
    let end = angular(&flying);
    assert!((end - start).length() < 0.08 * start.length(), "{start} {end}");
    let mut falling = Flying::new(FOIL, 0.05);
    (0..20).for_each(|_| {
        falling.step(5e-3, -DVec3::Y * 9.81, &[], &[]);
    });
    assert!(falling.velocities.iter().all(|v| (*v + DVec3::Y * 0.981).length() < 1e-9));
}

#[test]
fn a_pinned_foil_hangs_still_on_a_floor_and_from_its_edge() {
    // Thick enough for the coarse nodes.
    let mut flying = Flying::new(Sheet { thickness: 1e-3, ..FOIL }, 0.05);
    let held: Vec<Held> = (0..flying.positions.len())
        .filter(|&i| flying.positions[i].x < -0.2)
        .map(|point| Held { point, axes: [true; 3], velocity: DVec3::ZERO })
        .collect();
    for _ in 0..80 {
        flying.step(1e-2, -DVec3::Y * 9.81, &held, &[]);
        flying.velocities.iter_mut().for_each(|v| *v *= 0.8);
    }
    let fastest = flying.velocities.iter().map(|v| v.length()).fold(0.0, f64::max);
    let lowest = flying.positions.iter().map(|p| p.y).fold(0.0, f64::min);
    // As a beam: w L⁴ / 8 D = 26.5 x 0.45⁴ / (8 x 6.41), and the clamp gives way by half a spacing.
    assert!(fastest < 2e-3 && (-0.027..-0.0195).contains(&lowest), "{fastest} {lowest}");
    // Laid on a floor instead, its weight is what the floor carries.
    let mut lying = Flying::new(FOIL, 0.05);
    let mut pressing = vec![DVec3::ZERO; lying.positions.len()];
    for _ in 0..30 {
        let touch = |point: usize| Touch {
            point,
            normal: DVec3::Y,
            minimum_speed: -lying.positions[point].y / 5e-3,
            friction: 0.5,
            collider_velocity: DVec3::ZERO,
            stiffness: 1e6,
        };
        let touches: Vec<Touch> = (0..lying.positions.len()).map(touch).collect();
        let before = lying.positions.clone();
        lying.step(5e-3, -DVec3::Y * 9.81, &[], &touches);
        let forces = vec![DVec3::ZERO; before.len()];
        let (masses, gravity) = (lying.masses.clone(), -DVec3::Y * 9.81);
        let problem =
            Problem { dt: 5e-3, gravity, masses: &masses, forces: &forces, held: &[], touches: &touches, gas: None };
        lying.solver.reactions(&mut lying.shell, &problem, &before, &mut pressing);
    }
    let lift = pressing.iter().sum::<DVec3>().y / 5e-3;
    let weight = 9.81 * lying.masses.iter().sum::<f64>();
    assert!((lift / weight - 1.0).abs() < 1e-3, "{lift} {weight}");
}

#[test]
fn threads_do_not_change_a_bit() {
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut flying = Flying::new(FOIL, 0.02);
            flying.positions.iter_mut().for_each(|p| p.y += 0.1 * p.x * p.x);
            (0..3).for_each(|_| {
                flying.step(2e-3, -DVec3::Y * 9.81, &[], &[]);
            });
            flying.velocities
        })
    };
    assert_eq!(run(1), run(3));
}
