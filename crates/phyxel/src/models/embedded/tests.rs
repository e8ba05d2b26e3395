//! Forces against energy, flow that is absorbed, rest shapes that stay.

use super::*;
use crate::linalg::{double_dot, rotation_xyz};
use crate::points::Points;
use crate::random::Random;
use crate::scene::{EmbeddedSpec, MaterialSpec};
use glam::{DMat3, DVec3};

fn size(m: DMat3) -> f64 {
    double_dot(m, m).sqrt()
}

/// A block of n³ points 0.1 m apart, each moved by up to `jitter`.
fn block(n: usize, jitter: f64) -> Points {
    let mut points = Points::default();
    let mut random = Random::new(7, 1);
    for k in 0..n * n * n {
        let at = DVec3::new((k % n) as f64, (k / n % n) as f64, (k / n / n) as f64) * 0.1;
        let off = random.in_cube() * jitter;
        points.push(0, at + off, 1.0, 1e-3, 0.1);
    }
    points
}

fn soft() -> MaterialSpec {
    MaterialSpec {
        young: 1e5,
        poisson: 0.3,
        yield_strain: 0.013,
        creep: 50.0,
        embedded: Some(EmbeddedSpec::default()),
        ..Default::default()
    }
}

fn model(points: &Points, material: &MaterialSpec) -> EmbeddedModel {
    let body = EmbeddedBody { body: 0, range: 0..points.len(), slots_end: points.len(), material: material.clone() };
    EmbeddedModel::new(&[body], points, 20.0)
}

/// Moves points by a smooth field and a little noise.
fn shake(points: &mut Points, amount: f64) {
    let mut random = Random::new(11, 2);
    for p in &mut points.positions {
        let wave = DVec3::new((3.0 * p.y).sin() + p.z * p.x, (2.0 * p.z + 1.0).cos(), (4.0 * p.x).sin() * p.y);
        let noise = random.in_cube();
        *p += (wave * 0.2 + noise * 0.015) * amount;
    }
}

fn energy(model: &mut EmbeddedModel, points: &Points) -> f64 {
    let mut sum = [0.0];
    model.add_energy(points, &mut sum);
    sum[0]
}

/// Slope of the energy along a direction against the forces, relative.
fn slope_error(model: &mut EmbeddedModel, points: &mut Points) -> f64 {
    model.deform(points, 0.0);
    points.forces.fill(DVec3::ZERO);
    model.add_forces(points);
    let forces = points.forces.clone();
    let start = points.positions.clone();
    let mut random = Random::new(5, 3);
    let along: Vec<DVec3> = start.iter().map(|_| random.in_cube()).collect();
    let step = 1e-3;
    let mut at = |t: f64| {
        points.positions.iter_mut().zip(&start).zip(&along).for_each(|((p, s), d)| *p = *s + *d * t);
        energy(model, points)
    };
    let slope = (at(step) - at(-step)) / (2.0 * step);
    let work: f64 = forces.iter().zip(&along).map(|(f, d)| f.dot(*d)).sum();
    let scale: f64 = forces.iter().zip(&along).map(|(f, d)| f.dot(*d).powi(2)).sum::<f64>().sqrt();
    points.positions = start;
    (slope + work).abs() / scale
}

#[test]
fn elastic_forces_are_the_slope_of_the_energy() {
    let mut points = block(5, 0.02);
    let elastic = MaterialSpec { creep: 0.0, ..soft() };
    let mut model = model(&points, &elastic);
    shake(&mut points, 0.3);
    let error = slope_error(&mut model, &mut points);
    assert!(error < 2e-3, "{error}");
    let total: DVec3 = points.forces.iter().sum();
    let torque: DVec3 = points.forces.iter().zip(&points.positions).map(|(f, p)| p.cross(*f)).sum();
    let largest = points.forces.iter().fold(0.0, |m: f64, f| m.max(f.length()));
    assert!(total.length() < 1e-4 * largest, "{total} of {largest}");
    assert!(torque.length() < 1e-3 * largest, "{torque} of {largest}");
}

#[test]
fn forces_of_what_has_flowed_are_the_slope_of_the_energy() {
    let mut points = block(6, 0.02);
    let mut model = model(&points, &soft());
    // Pressed and shaken, then everything has flowed.
    points.positions.iter_mut().for_each(|p| *p *= DVec3::new(1.2, 0.75, 0.95));
    shake(&mut points, 0.2);
    for step in 0..20 {
        model.deform(&points, 2e-3);
        model.renew_if_due(&points, step);
    }
    assert!(model.parts()[0].memories.iter().all(|m| m.flow > 0.05));
    model.parts[0].memories.iter_mut().for_each(|m| m.flow = 0.4);
    let error = slope_error(&mut model, &mut points);
    assert!(error < 4e-3, "{error}");
    assert!(model.densities().iter().any(|d| *d > 1.0), "no pressure at all");
}

/// Matter that has flowed little beside what it bears and is drawn out reads as crowded, but is at rest.
#[test]
fn drawn_out_matter_is_at_rest() {
    let mut points = block(8, 0.02);
    let mut model = model(&points, &soft());
    points.positions.iter_mut().for_each(|p| *p *= DVec3::new(2.1, 0.69, 0.69));
    let part = &mut model.parts[0];
    part.embedded.clone_from(&points.positions);
    part.flowed = true;
    part.rebuild();
    // Energy of the pressure as it is, and if the full lattice were the rest.
    let energy = |model: &mut EmbeddedModel, points: &Points, flowed: f64| {
        model.parts[0].memories.iter_mut().for_each(|m| m.flow = flowed * m.full);
        model.parts[0].find_crowding();
        model.find_densities(points);
        let all = || model.crowd.members.iter().zip(&model.crowd.densities);
        let full = all().map(|(m, d)| Member { rest: 1.0, ..*m }.squeezed(*d)).sum::<f32>();
        (all().map(|(m, d)| m.squeezed(*d)).sum::<f32>(), full)
    };
    let (own, full) = energy(&mut model, &points, 0.1);
    assert!(model.densities().iter().any(|d| *d > 1.2), "it does not read as crowded");
    // δ/δ₀ - 1 = χ (δ - 1) / δ₀ where δ = δ_e.
    assert!(full > 0.0 && own <= 0.01 * full, "{own} of {full}");
    // What has flowed in every respect knows only the full lattice, and pressed it resists in any case.
    let (own, full) = energy(&mut model, &points, 1.0);
    assert_eq!(own, full);
    points.positions.iter_mut().for_each(|p| *p *= 0.9);
    let (own, full) = energy(&mut model, &points, 0.1);
    assert!(own > 0.01 * full, "{own} of {full}");
}

/// A sheet one point thick, `n` points wide.
fn sheet(n: usize) -> Points {
    let mut points = Points::default();
    for k in 0..n * n {
        points.push(0, DVec3::new((k % n) as f64, (k / n) as f64, 0.0) * 0.1, 1.0, 1e-3, 0.1);
    }
    points
}

/// What has flowed into a sheet one point thick is pulled together where it comes apart.
#[test]
fn thin_matter_holds_together() {
    let mut points = sheet(7);
    let mut model = model(&points, &soft());
    model.parts[0].memories.iter_mut().for_each(|m| m.flow = 1.0);
    model.parts[0].flowed = true;
    points.positions.iter_mut().for_each(|p| *p *= 1.3);
    shake(&mut points, 0.05);
    let error = slope_error(&mut model, &mut points);
    assert!(error < 4e-3, "{error}");
    // Without stress, as soft matter is soon, the corner is still pulled inwards.
    let energy = |model: &mut EmbeddedModel| (0..points.len()).map(|i| model.crowd.hold_energy(i)).sum::<f64>();
    assert!(energy(&mut model) < 0.0);
    let part = &mut model.parts[0];
    part.memories.iter_mut().for_each(|m| m.lost = true);
    model.deform(&points, 0.0);
    points.forces.fill(DVec3::ZERO);
    model.add_forces(&mut points);
    let inwards = points.forces[0].dot(points.positions[48] - points.positions[0]);
    assert!(inwards > 0.0, "{:?}", points.forces[0]);
}

#[test]
fn a_rigid_motion_makes_no_force() {
    // Without jitter no point lacks neighbors, so that none remembers where it was.
    let mut points = block(5, 0.0);
    let mut model = model(&points, &soft());
    let turn = rotation_xyz(DVec3::new(40.0, 120.0, -75.0));
    points.positions.iter_mut().for_each(|p| *p = turn * *p + DVec3::new(3.0, 1.0, -2.0));
    model.deform(&points, 1e-3);
    model.add_forces(&mut points);
    let largest = points.forces.iter().fold(0.0, |m: f64, f| m.max(f.length()));
    // A strain of 1 would make 1e5 Pa on 0.01 m².
    assert!(largest < 1e-5 * 1e3, "{largest}");
}

/// The embedding absorbs a flow that is the same everywhere: P is as before, and the elastic state too.
#[test]
fn uniform_flow_is_absorbed() {
    let points = block(6, 0.02);
    let mut model = model(&points, &soft());
    model.deform(&points, 0.0);
    let flow = DMat3::from_cols_array(&[1.1, 0.04, 0.0, 0.04, 0.95, -0.03, 0.0, -0.03, 0.96]);
    let flow = flow * (1.0 / flow.determinant().cbrt());
    let part = &mut model.parts[0];
    for (memory, fit) in part.memories.iter_mut().zip(&mut part.fits) {
        memory.set_plastic(flow);
        fit.elastic = fit.gradient * memory.inverse;
        fit.rotation = nearest_rotation(fit.elastic);
        // So little that nothing is anchored in the world.
        memory.recent = 1e-9;
    }
    part.flowed = true;
    let before: Vec<DMat3> = part.fits.iter().map(|f| f.elastic).collect();
    let mut embedding = Embedding::until(1e-6, 300);
    part.renew(&points, &mut embedding);
    let worst = part.memories.iter().map(|m| size(m.plastic - DMat3::IDENTITY)).fold(0.0, f64::max);
    assert!(worst < 1e-4, "P is off by {worst} after {} iterations", embedding.spent);
    let stretch = DMat3::from_cols_array(&[0.1; 9]);
    assert!(part.embedded.iter().zip(&points.positions).any(|(e, x)| (*e - *x).length() > 0.01 * size(stretch)));
    let now: Vec<DMat3> = (0..points.len()).map(|i| part.elastic(i, &points)).collect();
    let change = before.iter().zip(&now).map(|(a, b)| size(*a - *b)).fold(0.0, f64::max);
    assert!(change < 1e-5, "the elastic state changed by {change}");
}

/// Points that have never flowed are done eight at a time in f32: what they send is the same.
#[test]
fn firm_points_send_what_others_would() {
    let mut points = block(7, 0.02);
    let mut model = model(&points, &MaterialSpec { yield_strain: 1.0, ..soft() });
    let turn = rotation_xyz(DVec3::new(20.0, -70.0, 130.0));
    points.positions.iter_mut().for_each(|p| *p = turn * (*p * DVec3::new(1.05, 0.97, 1.01)));
    shake(&mut points, 0.005);
    model.deform(&points, 1e-3);
    let part = &mut model.parts[0];
    assert!(part.groups.iter().filter(|g| g.firm).count() > part.groups.len() / 2);
    let fast = part.sends.clone();
    part.find_firm_fits();
    let largest = fast.iter().flatten().flat_map(|r| r.0).fold(0.0f32, |m, x| m.max(x.abs()));
    let off = |a: f32, b: f32| (a - b).abs() / largest;
    let pairs = fast.iter().flatten().zip(part.sends.iter().flatten());
    let worst = pairs.flat_map(|(a, b)| (0..8).map(|k| off(a.0[k], b.0[k]))).fold(0.0f32, f32::max);
    assert!(worst < 2e-5 && worst > 0.0, "{worst}");
}

/// A bar that flows in its middle is embedded there only, and grows longer as it does when all of it is solved for.
#[test]
fn what_is_far_from_the_flow_moves_as_one() {
    let mut points = Points::default();
    let mut random = Random::new(5, 1);
    for k in 0..60 * 16 {
        let at = DVec3::new((k / 16) as f64, (k % 4) as f64, (k / 4 % 4) as f64) * 0.1;
        points.push(0, at + random.in_cube() * 0.01, 1.0, 1e-3, 0.1);
    }
    let flow = DMat3::from_diagonal(DVec3::new(1.2, 1.2f64.powf(-0.5), 1.2f64.powf(-0.5)));
    let grown = |all: bool| {
        let mut model = model(&points, &soft());
        model.deform(&points, 0.0);
        let part = &mut model.parts[0];
        part.find_firm_fits();
        for i in 0..points.len() {
            let middle = (25 * 16..35 * 16).contains(&i);
            if middle {
                part.memories[i].set_plastic(flow);
            }
            if middle || all {
                part.memories[i].recent = 1e-9;
            }
        }
        part.flowed = true;
        assert_eq!(part.region().is_none(), all);
        part.groups.iter_mut().for_each(|g| g.firm = false);
        part.fit(&points, 0.0);
        let before: Vec<DMat3> = part.fits.iter().map(|f| f.elastic).collect();
        part.renew(&points, &mut Embedding::until(1e-6, 1000));
        let change = |i: usize| size(part.elastic(i, &points) - before[i]);
        let worst = (0..points.len()).map(change).fold(0.0, f64::max);
        assert!(worst < 2e-5, "{worst}");
        let moved = |i: usize| part.embedded[i] - points.positions[i];
        if !all {
            assert!((moved(0) - moved(8 * 16)).length() < 1e-12 && (moved(959) - moved(51 * 16)).length() < 1e-12);
        }
        (moved(59 * 16) - moved(0)).x
    };
    let [local, whole] = [false, true].map(grown);
    assert!(whole > 0.15 && (local / whole - 1.0).abs() < 0.02, "{local} {whole}");
}

/// Whatever the embedding does, each point's elastic deformation is the same before and after.
#[test]
fn renewal_keeps_the_elastic_state() {
    let mut points = block(6, 0.02);
    let mut model = model(&points, &soft());
    for step in 0..40 {
        shake(&mut points, 0.02);
        model.deform(&points, 2e-3);
        model.parts[0].find_firm_fits();
        let before: Vec<DMat3> = model.parts[0].fits.iter().map(|f| f.elastic).collect();
        model.renew(&points);
        let part = &model.parts[0];
        let change = |i: usize| size(part.elastic(i, &points) - before[i]);
        let worst = (0..points.len()).filter(|&i| !part.memories[i].lost).map(change).fold(0.0, f64::max);
        assert!(worst < 2e-5, "step {step}: {worst}");
    }
    assert!(model.parts[0].memories.iter().any(|m| m.flow > 0.2));
}

/// Nothing flows: neither embedded positions nor P move, however often the embedding is renewed.
#[test]
fn the_rest_shape_stays_when_nothing_flows() {
    let mut points = block(5, 0.02);
    let stiff = MaterialSpec { yield_strain: 1.0, ..soft() };
    let mut model = model(&points, &stiff);
    let start = model.parts[0].embedded.clone();
    for step in 0..50 {
        shake(&mut points, 0.01);
        model.deform(&points, 1e-3);
        model.renew_if_due(&points, step);
    }
    assert_eq!(model.parts[0].embedded, start);
    assert!(model.parts[0].memories.iter().all(|m| m.plastic == DMat3::IDENTITY && m.flow == 0.0));
}

#[test]
fn few_points_in_a_row_or_alone_have_an_answer() {
    for count in [1, 2, 3] {
        let mut points = Points::default();
        for k in 0..count {
            points.push(0, DVec3::X * 0.1 * k as f64, 1.0, 1e-3, 0.1);
        }
        let mut model = model(&points, &soft());
        points.positions.iter_mut().for_each(|p| *p *= 1.5);
        for step in 0..20 {
            model.deform(&points, 1e-3);
            model.renew_if_due(&points, step);
            model.add_forces(&mut points);
        }
        assert!(points.forces.iter().all(|f| f.is_finite()), "{count}");
    }
}

#[test]
fn the_state_comes_back_from_bytes() {
    for law in [crate::scene::EmbeddedLaw::Anchored, crate::scene::EmbeddedLaw::Published] {
        let mut points = block(5, 0.02);
        let material = MaterialSpec { embedded: Some(EmbeddedSpec { law, ..Default::default() }), ..soft() };
        let mut one = model(&points, &material);
        shake(&mut points, 0.3);
        for step in 0..7 {
            one.deform(&points, 1e-3);
            one.renew_if_due(&points, step);
            one.add_forces(&mut points);
        }
        let mut bytes = Vec::new();
        one.save(&mut bytes);
        let mut two = model(&block(5, 0.02), &material);
        assert!(two.load(&bytes).is_some() && two.load(&bytes[1..]).is_none());
        let mut two = model(&block(5, 0.02), &material);
        two.load(&bytes).unwrap();
        shake(&mut points, 0.05);
        let forces: Vec<Vec<DVec3>> = [&mut one, &mut two]
            .into_iter()
            .map(|model| {
                let mut points = points.clone();
                points.forces.fill(DVec3::ZERO);
                // As at the start of a frame.
                model.refresh(&points);
                for step in 7..13 {
                    model.deform(&points, 1e-3);
                    model.renew_if_due(&points, step);
                    model.add_forces(&mut points);
                }
                points.forces
            })
            .collect();
        assert_eq!(forces[0], forces[1]);
    }
}

/// Viscosity keeps momentum and angular momentum and takes energy, explicit or implicit.
#[test]
fn viscosity_keeps_momenta() {
    for viscosity in [20.0, 1e4] {
        let mut points = block(5, 0.02);
        let mut model = model(&points, &MaterialSpec { viscosity, ..soft() });
        let mut random = Random::new(3, 1);
        points.velocities.iter_mut().for_each(|v| *v = random.in_cube());
        let sums = |points: &Points| {
            let momentum: DVec3 = points.velocities.iter().sum();
            let angular: DVec3 = points.positions.iter().zip(&points.velocities).map(|(x, v)| x.cross(*v)).sum();
            let energy: f64 = points.velocities.iter().map(|v| v.length_squared()).sum();
            (momentum, angular, energy)
        };
        let before = sums(&points);
        model.deform(&points, 2e-3);
        model.add_forces(&mut points);
        model.damp(&mut points, 2e-3, 3);
        let after = sums(&points);
        assert!((after.0 - before.0).length() < 1e-4 && (after.1 - before.1).length() < 1e-4);
        assert!(after.2 < 0.999 * before.2, "{viscosity}: {} of {}", after.2, before.2);
        if viscosity == 1e4 {
            assert!(after.2 < 0.3 * before.2, "{} of {}", after.2, before.2);
        }
    }
}

/// A sheet one point thick that is pulled in its plane gets thinner, as thin matter does, and loses energy by it.
#[test]
fn what_neighbors_do_not_see_is_free_of_stress() {
    let mut points = sheet(9);
    let mut model = model(&points, &MaterialSpec { creep: 0.0, ..soft() });
    points.positions.iter_mut().for_each(|p| *p *= 1.05);
    let mut last = f64::INFINITY;
    for _ in 0..100 {
        model.deform(&points, 1e-3);
        let now = energy(&mut model, &points);
        assert!(now <= last * (1.0 + 1e-6), "{now} after {last}");
        last = now;
    }
    let middle = Svd::new(model.parts()[0].fits[40].elastic).sigma;
    // Stretched as it was in its plane, and plane stress across: ν/(1 - ν) of the strains there.
    assert!((middle.x - 1.05).abs() < 1e-4 && (middle.y - 1.05).abs() < 1e-4, "{middle}");
    let wanted = 1.0 - 0.3 / 0.7 * 0.1;
    assert!((middle.z - wanted).abs() < 1e-3, "{middle} where {wanted} is right");
}
