//! Implicit steps: momenta, agreement with explicit ones, rest on the ground.

use super::*;
use crate::measure::{Totals, totals};
use crate::models::lattice::tests::{block_of, material};
use crate::scene::MaterialSpec;
use glam::DMat3;

const SPACING: f64 = 0.05;

fn block(dimensions: usize, size: DVec3, young: f64, damping: f64) -> (LatticeModel, Points) {
    let matter = MaterialSpec { young, damping, ..material(None) };
    let (mut model, points) = block_of(dimensions, size, SPACING, DMat3::IDENTITY, &matter, 1);
    model.step_implicitly();
    (model, points)
}

/// One step under gravity on what is in the way.
fn step(
    model: &mut LatticeModel,
    points: &mut Points,
    dt: f64,
    number: u64,
    gravity: DVec3,
    floor: Option<f64>,
) -> Report {
    model.prepare(points, dt, number);
    points.velocities.iter_mut().for_each(|v| *v += gravity * dt);
    model.damp(points, dt);
    let mut touches = Vec::new();
    for (point, (p, v)) in points.positions.iter().zip(&points.velocities).enumerate() {
        let Some(floor) = floor else { break };
        let gap = p.y - 0.5 * SPACING - floor;
        if gap + 2.0 * dt * v.y < 0.0 {
            let touch = Touch {
                point,
                normal: DVec3::Y,
                minimum_speed: -gap / dt,
                friction: 0.5,
                collider_velocity: DVec3::ZERO,
                stiffness: 0.0,
            };
            touches.push(touch);
        }
    }
    let mut reactions = vec![DVec3::ZERO; points.len()];
    let report = model.solve(points, &Surroundings { dt, held: &[], touches: &touches }, &mut reactions);
    for i in 0..points.len() {
        points.positions[i] += points.velocities[i] * dt;
    }
    model.carry_on(points);
    report
}

fn all(points: &Points) -> Totals {
    totals(points, 0..points.len())
}

#[test]
fn a_tumbling_block_keeps_its_momenta_and_its_energy() {
    for dimensions in [2, 3] {
        let (mut model, mut points) = block(dimensions, DVec3::new(0.4, 0.25, 0.2), 1e6, 0.0);
        let spin = if dimensions == 3 { DVec3::new(1.0, 4.0, 3.0) } else { DVec3::Z * 5.0 };
        for i in 0..points.len() {
            points.velocities[i] = DVec3::X * 0.5 + spin.cross(points.positions[i]);
        }
        let before = all(&points);
        let mut rounds = 0;
        for n in 0..240 {
            rounds += step(&mut model, &mut points, LONGEST, n, DVec3::ZERO, None).rounds;
        }
        let after = all(&points);
        println!("{dimensions}d: rounds {}, kinetic {}", rounds as f64 / 240.0, after.kinetic / before.kinetic);
        assert!((after.momentum - before.momentum).length() < 1e-9 * before.momentum.length());
        let turned = (after.angular - before.angular).length() / before.angular.length();
        assert!(turned < 1e-7, "{dimensions}: angular momentum changes by {turned}");
        assert!((after.kinetic / before.kinetic - 1.0).abs() < 0.02, "{}", after.kinetic / before.kinetic);
        assert_eq!(model.count_pieces(0), Some(1));
    }
}

#[test]
fn a_small_implicit_step_is_the_explicit_one() {
    let (mut model, mut points) = block(3, DVec3::new(0.3, 0.2, 0.2), 1e6, 0.0);
    let (mut other, mut same) = block_of(3, DVec3::new(0.3, 0.2, 0.2), SPACING, DMat3::IDENTITY, &material(None), 1);
    for p in points.positions.iter_mut().chain(&mut same.positions) {
        p.x *= 1.02;
    }
    let time = 2e-3;
    for n in 0..400 {
        step(&mut model, &mut points, time / 400.0, n, DVec3::ZERO, None);
    }
    for n in 0..400 {
        other.prepare(&same, time / 400.0, n);
        crate::models::lattice::tests::advance(&mut other, &mut same, time / 400.0);
    }
    let way = points.positions.iter().zip(&same.positions).map(|(a, b)| (*a - *b).length()).fold(0.0, f64::max);
    let moved = same.velocities.iter().map(|v| v.length()).fold(0.0, f64::max) * time;
    assert!(way < 0.02 * moved, "{way} of {moved}");
}

#[test]
fn stiff_blocks_fall_and_lie_still() {
    for young in [1e6, 1e8] {
        let (mut model, mut points) = block(3, DVec3::splat(0.25), young, 30.0);
        let height = |points: &Points| {
            let ys = points.positions.iter().map(|p| p.y);
            ys.clone().fold(f64::NEG_INFINITY, f64::max) - ys.fold(f64::INFINITY, f64::min)
        };
        let (start, mut least) = (height(&points), f64::INFINITY);
        points.velocities.fill(DVec3::new(0.3, 0.0, 0.0));
        let (mut rounds, mut iterations) = (0, 0);
        for n in 0..480 {
            let report = step(&mut model, &mut points, LONGEST, n, DVec3::NEG_Y * 9.81, Some(-0.25));
            rounds += report.rounds;
            iterations += report.iterations;
            least = least.min(height(&points) / start);
        }
        println!(
            "E {young:e}: rounds {}, iterations {}, least height {least}",
            rounds as f64 / 480.0,
            iterations as f64 / 480.0
        );
        let fastest = points.velocities.iter().map(|v| v.length()).fold(0.0, f64::max);
        assert!(fastest < 1e-3, "{young}: {fastest}");
        assert!(least > 0.95, "{young}: squeezed to {least}");
        let lowest = points.positions.iter().map(|p| p.y).fold(f64::INFINITY, f64::min);
        assert!((lowest + 0.225).abs() < 0.02 * SPACING, "{young}: {lowest}");
        assert_eq!(model.count_pieces(0), Some(1));
    }
}
