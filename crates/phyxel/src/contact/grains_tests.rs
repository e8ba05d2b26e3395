//! Tests of grains against a skin.

use super::super::test_shapes::{Ball, Block};
use super::super::{ContactBody, ContactSurface};
use super::*;
use std::sync::Arc;

const SPACING: f64 = 0.02;

/// A block or ball of free points and some grains above it, all flying at each other.
fn world(ball: bool) -> (Points, Bodies, usize) {
    let mut points = Points::default();
    let side = 9;
    for k in 0..side * side * side {
        let cell = DVec3::new((k % side) as f64, (k / side % side) as f64, (k / (side * side)) as f64) - 4.0;
        if !ball || cell.length() < 4.4 {
            points.push(0, cell * SPACING, 8e-3, SPACING.powi(3), SPACING);
        }
    }
    let solid = points.len();
    for k in 0..25 {
        let cell = DVec3::new((k % 5) as f64 - 2.0, 0.0, (k / 5) as f64 - 2.0);
        let at = cell * 0.9 * SPACING + DVec3::new(0.003, 5.2 * SPACING, 0.001);
        points.push(1, at, 4e-3, 0.7 * SPACING.powi(3), SPACING);
    }
    for i in solid..points.len() {
        points.velocities[i] = DVec3::new(0.4, -1.0, 0.2);
    }
    let half = 4.5 * SPACING;
    let surface: Arc<dyn crate::geometry::Shape> =
        if ball { Arc::new(Ball(DVec3::ZERO, half)) } else { Arc::new(Block(DVec3::ZERO, DVec3::splat(half))) };
    let body = |points, surface| ContactBody { points, surface, young: 1e5, friction: 0.5 };
    let cloud = ContactSurface::Solid(Arc::new(Ball(DVec3::Y, 0.01)));
    let bodies = [body(0..solid, ContactSurface::Solid(surface)), body(solid..points.len(), cloud)];
    let mut contact = Bodies::new(&points, &bodies);
    contact.exclude(1);
    contact.add_grains(1, GrainKind::Lattice, solid..points.len());
    contact.set_grain_matter(|k, _| GrainMatter {
        young: 1e5,
        friction: if k % 2 == 0 { 0.5 } else { 0.0 },
        viscosity: if k % 2 == 0 { 0.0 } else { 5.0 },
    });
    (points, contact, solid)
}

/// Steps the grains with the solid held, asks that all forces and torques sum to zero, and returns the least of what `height` says of
/// the grains and how often the solid was pushed.
fn fly(ball: bool, skinless: bool, height: impl Fn(DVec3) -> f64) -> (f64, usize) {
    let (mut points, mut contact, solid) = world(ball);
    if skinless {
        contact.exclude(0);
    }
    let (mut deepest, mut pushed) = (f64::INFINITY, 0);
    for step in 0..600 {
        contact.prepare(&points, f64::from(step));
        let dt = contact.max_time_step(&points).min(2e-4);
        points.forces.fill(DVec3::ZERO);
        contact.add_forces(&mut points, f64::from(step), dt);
        let (mut sum, mut torque, mut size) = (DVec3::ZERO, DVec3::ZERO, 0.0);
        for (x, f) in points.positions.iter().zip(&points.forces) {
            sum += *f;
            torque += x.cross(*f);
            size += f.length();
        }
        assert!(sum.length() <= 1e-12 * size, "{sum} of {size}");
        assert!(skinless || torque.length() <= 1e-5 * size * SPACING, "{torque} of {size}");
        pushed += usize::from(points.forces[..solid].iter().any(|f| *f != DVec3::ZERO));
        for i in solid..points.len() {
            points.velocities[i] += points.forces[i] / points.masses[i] * dt;
            points.positions[i] += points.velocities[i] * dt;
        }
        deepest = points.positions[solid..].iter().fold(deepest, |m, p| m.min(height(*p)));
    }
    (deepest, pushed)
}

#[test]
fn grains_bounce_off_a_skin_without_a_force_or_a_torque_left() {
    for ball in [false, true] {
        let (deepest, pushed) = fly(ball, false, |p| if ball { p.length() } else { p.y });
        assert!(pushed > 10);
        assert!(deepest > 4.6 * SPACING && deepest < 5.0 * SPACING, "{deepest}");
    }
}

#[test]
fn balls_of_matter_that_flows_push_along_their_axes() {
    let (deepest, pushed) = fly(false, true, |p| p.y);
    assert!(pushed > 10);
    assert!(deepest > 4.3 * SPACING && deepest < 5.0 * SPACING, "{deepest}");
}
