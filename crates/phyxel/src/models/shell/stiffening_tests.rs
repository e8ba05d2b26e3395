//! Stiffness that depends on strain: the stress of the formula, forces that are slopes, steps that stay stable.

use super::*;
use crate::models::shell::Shell;
use crate::models::shell::fabric::{Fabric, Grain, NodeFactors};
use crate::models::shell::law::{Sheet, ShellLaw};
use crate::models::shell::network::Nodes;
use crate::models::shell::nodes::{NodeOptions, spread_nodes};
use crate::models::shell::plastic::ShellFlow;
use crate::models::shell::surface::TriangleSurface;
use crate::random::Random;
use crate::scene::Anisotropy;
use glam::{DMat3, DQuat, DVec3};

const SHEET: Sheet = Sheet { young: 1e5, poisson: 0.3, thickness: 0.01 };
const LOCKS: Stiffening = Stiffening { rise: 4.0, strain: 0.1 };
const SOFTENS: Stiffening = Stiffening { rise: -0.7, strain: 0.1 };

fn nodes(rows: bool, spacing: f64) -> Nodes {
    let options = NodeOptions { spacing, rows, seed: 3 };
    spread_nodes(&TriangleSurface::rectangle(1.0, 0.7), &options, &|p, n| (p, n))
}

fn shell(rows: bool, stiffening: Stiffening) -> Shell {
    Shell::new(nodes(rows, 0.08), ShellLaw::Tensor, SHEET).with_stiffening(stiffening)
}

fn forces(shell: &mut Shell, positions: &[DVec3]) -> (Vec<DVec3>, f64) {
    let mut out = vec![DVec3::ZERO; positions.len()];
    shell.measure(positions);
    shell.add_forces(&mut out);
    (out, shell.energy().iter().sum())
}

/// A simple pull to the stretch λ along x, free across.
fn pulled(shell: &Shell, stretch: f64) -> Vec<DVec3> {
    let across = (1.0 - SHEET.poisson * (stretch * stretch - 1.0)).sqrt();
    shell.nodes().positions.iter().map(|p| *p * DVec3::new(stretch, 1.0, across)).collect()
}

#[test]
fn a_strip_in_a_testing_machine_has_the_stress_of_the_formula() {
    for stiffening in [LOCKS, SOFTENS, Stiffening::default()] {
        for rows in [true, false] {
            let mut shell = shell(rows, stiffening);
            for stretch in [1.02, 1.1, 1.25] {
                let positions = pulled(&shell, stretch);
                let (found, energy) = forces(&mut shell, &positions);
                let strain = 0.5 * (stretch * stretch - 1.0);
                let (s2, c) = (strain * strain, stiffening.rise);
                let s02 = stiffening.strain.powi(2).max(f64::MIN_POSITIVE);
                let stress = SHEET.young * strain * (1.0 + c * s2 / (s2 + s02));
                let density = 0.5 * SHEET.young * (s2 + c * (s2 - s02 * (s2 / s02).ln_1p()));
                let ratio = energy / (density * 0.7 * SHEET.thickness);
                println!("{stiffening:?} rows {rows}, {stretch}: energy {ratio:.4}");
                assert!((ratio - 1.0).abs() < 0.02, "energy {ratio}");
                // What the half beyond the middle is pulled back by.
                let right = shell.nodes().positions.iter().zip(&found).filter(|(p, _)| p.x > 0.0);
                let ratio = -right.map(|(_, f)| f.x).sum::<f64>() / (stretch * stress * 0.7 * SHEET.thickness);
                println!("{stiffening:?} rows {rows}, {stretch}: force {ratio:.4}");
                assert!((ratio - 1.0).abs() < 0.02, "force {ratio}");
                let seen = shell.stress(0, [strain, -SHEET.poisson * strain, 0.0]);
                let along = seen[0].max(seen[1]);
                assert!((along / stress - 1.0).abs() < 1e-9 || !stiffening.is_active(), "{seen:?} {stress}");
            }
        }
    }
}

#[test]
fn a_bent_strip_has_nearly_the_moment_of_its_layers() {
    for (stiffening, tolerance) in [(LOCKS, 0.05), (SOFTENS, 0.05)] {
        for rows in [true, false] {
            let mut shell = shell(rows, stiffening);
            let rest = shell.nodes().positions.clone();
            // Bent about z to a curvature, and by Poisson's ratio the other way about x.
            let mut energy = |curvature: f64| {
                let bend = |p: &DVec3| {
                    let y = 0.5 * curvature * (p.x * p.x - SHEET.poisson * p.z * p.z);
                    DVec3::new(p.x, y, p.z)
                };
                shell.measure(&rest.iter().map(bend).collect::<Vec<_>>());
                shell.energy()[1] / 0.7
            };
            let curvature = 0.05;
            let linear = 0.5 * SHEET.young * SHEET.thickness.powi(3) / 12.0 * curvature * curvature;
            assert!((energy(curvature) / linear - 1.0).abs() < tolerance);
        }
    }
    // The factor on the moment against that of the layers, for strains on the outer side up to twice s₀.
    for stiffening in [LOCKS, SOFTENS] {
        for outer in [0.02, 0.05, 0.1, 0.2] {
            let layer = |k: u32| (f64::from(k) + 0.5) / 1000.0;
            let moment: f64 = (0..1000).map(layer).map(|z| z * z * stiffening.factor((z * outer).powi(2))).sum();
            let ratio = stiffening.factor(BENT * outer * outer) / (3.0 * moment / 1000.0);
            assert!((ratio - 1.0).abs() < 0.06, "{stiffening:?} {outer}: {ratio}");
        }
    }
}

#[test]
fn forces_are_slopes_keep_momentum_and_turn_with_the_sheet() {
    let anisotropy = Anisotropy::Orthotropic {
        young: [1e5, 1e4, 2e4],
        poisson: [0.0, 0.0, 0.03],
        shear: [5e3, 5e3, 8e3],
        rotate: DVec3::new(0.0, 20.0, 0.0),
    };
    let grain = Grain { anisotropy, rotation: DMat3::IDENTITY };
    for (stiffening, grain) in [(LOCKS, None), (SOFTENS, None), (LOCKS, Some(&grain))] {
        let nodes = nodes(false, 0.12);
        let factors = (0..nodes.positions.len())
            .map(|i| NodeFactors { stiffness: 1.0 + (i % 3) as f64, thickness: 1.0 + 0.5 * (i % 2) as f64 })
            .collect();
        let fabric = Fabric::new(&nodes.normals, grain, [1e5, 0.3], factors).unwrap();
        let mut shell = Shell::new(nodes, ShellLaw::Tensor, SHEET).with_fabric(fabric).with_stiffening(stiffening);
        let wobble = |i: usize| 0.01 * Random::new(5, i as u64).in_cube();
        let bend = |p: DVec3| DVec3::new(1.1 * p.x, 0.3 * p.x * p.x - 0.2 * p.x * p.z, p.z);
        let positions: Vec<DVec3> =
            shell.nodes().positions.iter().enumerate().map(|(i, p)| bend(*p) + wobble(i)).collect();
        let (found, energy) = forces(&mut shell, &positions);
        let largest = found.iter().fold(0.0, |m: f64, f| m.max(f.length()));
        for i in (0..positions.len()).step_by(7) {
            for axis in DVec3::AXES {
                let mut at = |s: f64| {
                    let mut moved = positions.clone();
                    moved[i] += s * axis;
                    forces(&mut shell, &moved).1
                };
                let slope = (at(1e-6) - at(-1e-6)) / 2e-6;
                assert!((slope + found[i].dot(axis)).abs() < 1e-6 * largest, "{stiffening:?}: {slope} {}", found[i]);
            }
        }
        let size: f64 = found.iter().map(|f| f.length()).sum();
        let torque: DVec3 = positions.iter().zip(&found).map(|(x, f)| x.cross(*f)).sum();
        assert!(found.iter().sum::<DVec3>().length() < 1e-13 * size && torque.length() < 1e-13 * size);
        let turn = DQuat::from_scaled_axis(DVec3::new(0.7, -1.9, 0.4));
        let turned: Vec<DVec3> = positions.iter().map(|x| turn * *x + DVec3::X).collect();
        let (turned, same) = forces(&mut shell, &turned);
        assert!((same - energy).abs() < 1e-12 * energy);
        assert!(turned.iter().zip(&found).all(|(a, b)| (*a - turn * *b).length() < 1e-12 * size));
    }
}

#[test]
fn without_a_rise_nothing_changes() {
    let positions: Vec<DVec3> = pulled(&shell(false, LOCKS), 1.2);
    let mut plain = Shell::new(nodes(false, 0.08), ShellLaw::Tensor, SHEET);
    let mut zero = shell(false, Stiffening { rise: 0.0, strain: 0.1 });
    assert_eq!(forces(&mut plain, &positions), forces(&mut zero, &positions));
    assert_eq!(zero.extremes().stiffness, 1.0);
}

/// Largest energy in 3000 steps, in that at the start, of a sheet that is let go at 1.3 times its length and is thirty times as
/// stiff there as at rest; velocities are those at the time of the positions.
fn largest_energy_of_a_jerk() -> f64 {
    let mut shell = shell(false, Stiffening { rise: 40.0, strain: 0.1 });
    let masses: Vec<f64> = shell.nodes().areas.iter().map(|a| 10.0 * a).collect();
    let rest_step = shell.time_step(&masses);
    let mut x = pulled(&shell, 1.3);
    let mut v = vec![DVec3::ZERO; x.len()];
    let (mut found, start) = forces(&mut shell, &x);
    let mut largest = 0.0f64;
    for _ in 0..3000 {
        let extremes = shell.extremes();
        let dt = rest_step / (0.5 * (3.0 * extremes.max_stretch.powi(2) - 1.0) * extremes.stiffness).sqrt();
        for i in 0..x.len() {
            v[i] += 0.5 * dt / masses[i] * found[i];
            x[i] += dt * v[i];
        }
        let energy;
        (found, energy) = forces(&mut shell, &x);
        (0..x.len()).for_each(|i| v[i] += 0.5 * dt / masses[i] * found[i]);
        let kinetic: f64 = v.iter().zip(&masses).map(|(v, m)| 0.5 * m * v.length_squared()).sum();
        largest = largest.max((energy + kinetic) / start);
    }
    largest
}

#[test]
fn explicit_steps_keep_the_energy_far_beyond_the_stiffening_strain() {
    let largest = largest_energy_of_a_jerk();
    assert!(largest < 1.02, "{largest}");
}

#[test]
fn plastic_flow_takes_the_energy_that_it_says() {
    for stiffening in [LOCKS, SOFTENS] {
        let mut shell = shell(false, stiffening);
        let positions = pulled(&shell, 1.15);
        let (thickness, poisson) = (SHEET.thickness, SHEET.poisson);
        let law = ShellFlow { yield_strain: 0.05, creep: 5.0, most: 1.0, thickness, poisson, ..ShellFlow::default() };
        for _ in 0..5 {
            let before = forces(&mut shell, &positions).1;
            let taken = shell.flow(&law, 0.05).unwrap();
            let after = forces(&mut shell, &positions).1;
            assert!(taken > 0.0 && (before - after - taken).abs() < 1e-9 * before, "{before} {after} {taken}");
        }
    }
}
