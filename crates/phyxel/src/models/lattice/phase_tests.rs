//! Cold liquid joins the lattice that it touches; warm solid lets go.

use super::tests::{advance, material};
use super::*;
use crate::points::Points;
use crate::random::Random;
use glam::{DMat3, DVec3};

const SPACING: f64 = 0.05;

/// A block whose lower half is solid and whose upper half is liquid, out of order by up to `noise` spacings.
fn half_frozen(noise: f64) -> (LatticeModel, Points) {
    let (sites, matter) = (Sites::new(3, SPACING), material(None));
    let shape = crate::geometry::Cuboid::new(DVec3::new(0.3, 0.4, 0.3), 0.0);
    let mut places = sample(&shape, &sites).unwrap();
    places.sort_by(|a, b| a.y.total_cmp(&b.y));
    let solid = places.partition_point(|p| p.y < 0.0);
    let mut points = Points::default();
    for (k, p) in places.iter().enumerate() {
        let off = if k < solid { DVec3::ZERO } else { Random::new(4, k as u64).in_cube() * (noise * SPACING) };
        points.push(u32::from(k >= solid), *p + off, 1000.0 * sites.cell_volume, sites.cell_volume, SPACING);
    }
    let body = |body, range, liquid| LatticeBody {
        body,
        range,
        material: crate::scene::MaterialSpec { damping: 30.0, ..matter.clone() },
        rotation: DMat3::IDENTITY,
        liquid,
    };
    let bodies = [body(0, 0..solid, false), body(1, solid..points.len(), true)];
    (LatticeModel::new(&bodies, Some(sites), &points, 1), points)
}

fn step(model: &mut LatticeModel, points: &mut Points, dt: f64, number: u64) {
    model.prepare(points, dt, number);
    model.change_phases(points, dt, number);
    advance(model, points, dt);
}

fn misfit(model: &LatticeModel, points: &Points) -> f64 {
    let (particles, sites) = (model.particles(), model.sites().unwrap());
    let (mut sum, mut count) = (0.0, 0.0);
    for i in 0..points.len() {
        for (s, &j) in model.bonds().of(i).iter().enumerate().filter(|(_, j)| **j != NOBODY) {
            let r = points.positions[j as usize] - points.positions[i];
            sum += (r - particles.rotations[i] * sites.slots[s]).length_squared();
            count += 1.0;
        }
    }
    f64::sqrt(sum / count) / SPACING
}

#[test]
fn cold_liquid_joins_the_lattice_layer_by_layer() {
    let (mut model, mut points) = half_frozen(0.15);
    model.set_warmth(|_| Warmth::Heat(-20.0));
    let dt = model.stable_time_step();
    let liquid = model.particles().phases.iter().filter(|p| **p == Phase::Liquid).count() as f64;
    let mut frozen = Vec::new();
    for n in 0..(0.4 / dt) as u64 {
        step(&mut model, &mut points, dt, n);
        if n % 25 == 24 {
            frozen.push(1.0 - model.particles().phases.iter().filter(|p| **p == Phase::Liquid).count() as f64 / liquid);
        }
    }
    println!("frozen {frozen:?}, misfit {}", misfit(&model, &points));
    let all = crate::measure::totals(&points, 0..points.len());
    assert!(all.momentum.length() < 1e-9 * all.mass, "{}", all.momentum);
    assert!(frozen[0] < 0.7 && frozen.last().is_some_and(|f| *f > 0.9), "{frozen:?}");
    assert!(misfit(&model, &points) < 0.05);
    assert_eq!(model.count_pieces(1), Some(1));
}

#[test]
fn what_must_melt_melts_and_holds_nobody() {
    let (mut model, mut points) = half_frozen(0.0);
    model.set_warmth(|i| if points.bodies[i] == 0 { Warmth::Must(Phase::Liquid) } else { Warmth::Stays });
    let dt = model.stable_time_step();
    for n in 0..(0.08 / dt) as u64 {
        step(&mut model, &mut points, dt, n);
    }
    assert!(model.particles().phases.iter().all(|p| *p == Phase::Liquid));
    assert!(model.particles().solidities.iter().all(|s| *s == 0.0));
    assert!(model.bonds().partners.iter().all(|p| *p == NOBODY));
}
