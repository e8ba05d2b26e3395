use super::bonds::Deformed;
use super::tests::{block, forces, half_melted, moving_half, norm, shake};
use super::*;
use crate::models::mls::fast::Instructions;
use crate::random::Random;

/// Bond forces and deformations in f64, stencil by stencil.
fn exact(model: &FlowModel, points: &Points) -> (Vec<DVec3>, Vec<Deformed>) {
    let mut sums = vec![DVec3::ZERO; points.len()];
    let mut deformed = Vec::new();
    for i in 0..points.len() {
        let bonds = &model.state.stencils[i].bonds;
        deformed.push(model.evaluate_stencil(i, points, &mut |k, pull| {
            sums[i] += pull;
            sums[bonds[k].to as usize] -= pull;
        }));
    }
    (sums, deformed)
}

fn largest(forces: &[DVec3]) -> f64 {
    forces.iter().fold(0.0, |m, f| f64::max(m, f.length()))
}

#[test]
fn refrozen_matter_has_the_exact_gradient_of_its_energy() {
    let mut points = block(5, 0.2);
    let mut model = half_melted(&points, |x| x.x > 0.19);
    shake(&mut points, 0.004);
    let frozen = model.points_in(0, true);
    model.freeze(&frozen, &points);
    shake(&mut points, 0.004);
    let found = exact(&model, &points).0;
    let passed = forces(&mut model, &mut points);
    // One solid piece alone needs no lists.
    let far: Vec<DVec3> = points.positions.iter().map(|p| *p * 2.0).collect();
    assert!(!model.pairs.are_stale(&far));
    let largest = largest(&found);
    assert!(largest > 1.0);
    for (i, axis) in [(3, 0), (40, 1), (62, 2), (111, 0), (124, 1)] {
        let at = |sign: f64| {
            let mut moved = points.clone();
            moved.positions[i][axis] += sign * 1e-6;
            exact(&model, &moved).1.iter().map(|d| d.energy).sum::<f64>()
        };
        let slope = (at(1.0) - at(-1.0)) / 2e-6;
        assert!((found[i][axis] + slope).abs() < 1e-6 * largest, "{i}: {} {slope}", found[i][axis]);
        assert!((passed[i][axis] + slope).abs() < 2e-6 * largest, "{i}: {} {slope}", passed[i][axis]);
    }
}

/// A layer with a chain on it in motion: films, springs and whole stencils.
fn layer_and_chain() -> (Points, FlowModel) {
    let mut points = block(6, 0.2);
    let model = half_melted(&points, |x| x.x > 0.05 && (x.y > 0.05 || x.z > 0.05) && x.y < 0.35);
    for i in 0..points.len() {
        points.velocities[i] = Random::new(4, i as u64).in_cube();
    }
    shake(&mut points, 0.003);
    (points, model)
}

#[test]
fn packed_bonds_equal_the_stencils() {
    for instructions in [Instructions::Base, Instructions::Avx2, Instructions::Avx2Fma] {
        for (mut points, mut model) in [layer_and_chain(), moving_half()] {
            model.fractions.iter_mut().enumerate().for_each(|(i, f)| *f = 0.01 * (i % 30) as f64);
            model.solid = Solid::new(instructions);
            forces(&mut model, &mut points);
            let (expected, deformed) = exact(&model, &points);
            let most = largest(&expected);
            let energy: f64 = deformed.iter().map(|d| d.energy).sum();
            for i in 0..points.len() {
                let found = model.solid.force(i);
                assert!((found - expected[i]).length() < 2e-6 * most, "{instructions:?} {i}: {found} {}", expected[i]);
                let found = model.solid.deformed(i);
                assert!(norm(found.gradient - deformed[i].gradient) < 1e-6, "{i}: {}", found.gradient);
                assert!((found.energy - deformed[i].energy).abs() < 1e-6 * energy, "{i}: {}", found.energy);
            }
        }
    }
}

#[test]
fn the_layer_has_films_and_springs() {
    let (_, model) = layer_and_chain();
    let count = |rank: u8| model.state.stencils.iter().filter(|s| s.rank == rank && !s.bonds.is_empty()).count();
    assert!(count(1) > 0 && count(2) > 0 && count(3) > 0, "{} {} {}", count(1), count(2), count(3));
}

#[test]
fn bodies_do_not_share_blocks_and_solids_need_no_melt_steps() {
    let mut points = block(3, 0.0);
    let n = points.len();
    for p in block(3, 0.0).positions {
        points.push(1, p + DVec3::X, 1.0, 1e-3, 0.1);
    }
    let soft = MaterialSpec { young: 1e4, ..Default::default() };
    let stiff = MaterialSpec { young: 1e5, ..Default::default() };
    let law = |spec: &MaterialSpec| ElasticLaw::from_spec(spec, DMat3::IDENTITY).unwrap();
    let bodies = [(0..n, law(&soft), &soft), (n..2 * n, law(&stiff), &stiff)];
    let mut model = FlowModel::new(&points, bodies.into_iter(), 1e3);
    let (stencils, _) = crate::models::mls::Stencils::build(
        &points.rest_positions,
        &points.volumes,
        &[0..n, n..2 * n],
        &[&[], &[]],
        &Default::default(),
    );
    (0..2).for_each(|b| model.take_over(b, &stencils, 1e-3));
    model.fractions.fill(0.0);
    for p in &mut points.positions {
        p.y *= 1.01;
    }
    forces(&mut model, &mut points);
    for i in 0..n {
        let (a, b) = (model.solid.force(i), model.solid.force(n + i));
        assert!((a * 10.0 - b).length() < 1e-5 * b.length().max(1.0), "{i}: {a} {b}");
    }
    // Two pieces may touch; one alone does not.
    let touching = model.stable_time_step();
    model.state.labels.fill(0);
    assert!(model.stable_time_step() > 2.0 * touching, "{touching}");
}
