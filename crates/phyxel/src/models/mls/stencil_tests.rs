//! Tests of stencils, corrected gradients and the reference.

use super::gradient::{self, CorrectionOptions, CorrectionReport};
use super::reference::Reference;
use super::stencils::{StencilOptions, Stencils};
use super::test_bodies::{BoxBody, noise};
use crate::linalg::double_dot;
use crate::materials::{ElasticLaw, Grain, Stiffness};
use crate::scene::Anisotropy;
use glam::{DMat3, DVec3};

fn exact() -> StencilOptions {
    let correction = CorrectionOptions { tolerance: 1e-12, max_iterations: 3000 };
    StencilOptions { correction: Some(correction), ..StencilOptions::default() }
}

fn body() -> (BoxBody, Stencils) {
    let body = BoxBody::new([5, 4, 4], 0.1, 0.25);
    let stencils = body.stencils(&exact()).0;
    (body, stencils)
}

fn norm(m: DMat3) -> f64 {
    double_dot(m, m).sqrt()
}

#[test]
fn affine_fields_have_their_exact_gradient() {
    let (body, stencils) = body();
    let slope = DMat3::from_cols_array(&[0.3, -0.2, 0.5, 0.1, 0.7, -0.4, 0.2, 0.6, -0.1]);
    let field: Vec<DVec3> = body.positions.iter().map(|x| slope * *x + DVec3::new(1.0, 2.0, 3.0)).collect();
    for i in 0..stencils.len() {
        assert!(norm(stencils.gradient(i, &field) - slope) < 1e-11);
        assert!(norm(stencils.plain_gradient(i, &field) - slope) < 1e-12);
    }
}

#[test]
fn correction_closes_the_body_and_default_tolerance_comes_near() {
    let (body, stencils) = body();
    let b = gradient::surface_vectors(&stencils, &body.patches);
    let largest = b.iter().map(|b| b.length()).fold(0.0, f64::max);
    let off = |g: Vec<DVec3>| g.iter().zip(&b).map(|(g, b)| (*g - *b).length()).fold(0.0, f64::max) / largest;
    assert!(off(gradient::plain_divergence(&stencils)) > 0.1);
    assert!(off(gradient::corrected_divergence(&stencils)) < 1e-10);
    let quick = body.stencils(&StencilOptions::default()).0;
    assert!(off(gradient::corrected_divergence(&quick)) < 2e-3);
}

#[test]
fn lists_are_symmetric_and_ascending() {
    let (_, stencils) = body();
    assert!(stencils.reverse.is_none());
    for i in 0..stencils.len() {
        let row: Vec<usize> = stencils.of(i).map(|(j, _)| j).collect();
        assert!(row.is_sorted() && !row.contains(&i));
        for (j, w) in stencils.of(i) {
            assert_eq!(stencils.of(j).find(|&(k, _)| k == i), Some((i, w)));
        }
    }
}

#[test]
fn lattice_has_the_expected_neighborhoods() {
    let body = BoxBody::new([7, 7, 7], 0.1, 0.0);
    let (stencils, report) = body.stencils(&StencilOptions::default());
    let middle = 3 + 7 * (3 + 7 * 3);
    assert_eq!(stencils.of(middle).count(), 26);
    assert!((stencils.support_radii[middle] / 0.1 - 1.748).abs() < 1e-3);
    assert!(stencils.of(0).count() >= 6 && stencils.support_radii[0] < 0.21);
    assert_eq!((report.degenerate, report.enlarged), (0, 0));
    assert!(matches!(report.corrections[..], [CorrectionReport::Done { .. }]), "{report:?}");
}

#[test]
#[allow(clippy::single_range_in_vec_init, reason = "one body")]
fn degenerate_bodies_have_an_answer() {
    let line: Vec<DVec3> = (0..6).map(|k| DVec3::X * 0.1 * k as f64).collect();
    let sheet: Vec<DVec3> = (0..25).map(|k| DVec3::new((k % 5) as f64, (k / 5) as f64, 0.0) * 0.1).collect();
    for positions in [vec![], vec![DVec3::ONE], vec![DVec3::ZERO; 15], line, sheet] {
        let n = positions.len();
        let volumes = vec![1e-3; n];
        let surface = BoxBody::new([2, 2, 2], 0.1, 0.0).patches;
        let (stencils, report) =
            Stencils::build(&positions, &volumes, &[0..n], &[&surface], &StencilOptions::default());
        assert_eq!(report.degenerate, n);
        let laws = [ElasticLaw::isotropic(1e5, 0.3)];
        let reference = Reference::new(&stencils, &laws);
        assert!(reference.forces(&noise(n, 3)).total().iter().all(|f| f.is_finite()));
        let still = reference.forces(&vec![DVec3::new(1.0, 2.0, 3.0); n]).total();
        assert!(still.iter().all(|f| f.length() == 0.0));
    }
}

#[test]
fn bodies_do_not_see_each_other() {
    let one = BoxBody::new([3, 3, 3], 0.1, 0.2);
    let n = one.positions.len();
    let positions: Vec<DVec3> = one.positions.iter().chain(&one.positions).copied().collect();
    let volumes = one.volumes.repeat(2);
    let patches = [&one.patches[..], &[]];
    let (both, report) = Stencils::build(&positions, &volumes, &[0..n, n..2 * n], &patches, &exact());
    let alone = one.stencils(&exact()).0;
    assert_eq!(both.neighbors[..alone.neighbors.len()], alone.neighbors);
    assert_eq!(both.q[..n], alone.q);
    assert!(both.neighbors[both.starts[n]..].iter().all(|&j| j as usize >= n));
    assert_eq!(report.corrections[1], CorrectionReport::NoSurface);
    assert!(both.q[n..].iter().all(|q| *q == DVec3::ZERO));
}

fn laws() -> Vec<ElasticLaw> {
    let isotropic = ElasticLaw::isotropic(1e5, 0.3);
    let wood = Anisotropy::Orthotropic {
        young: [3e5, 5e4, 8e4],
        poisson: [0.3, 0.2, 0.1],
        shear: [3e4, 2e4, 4e4],
        rotate: DVec3::new(20.0, 30.0, 40.0),
    };
    let stiffness = Stiffness::anisotropic(&wood, DMat3::IDENTITY).unwrap();
    let none = ElasticLaw { collapse_stiffness: 0.0, control_modulus: 0.0, ..isotropic };
    vec![
        none,
        ElasticLaw { stiffness, ..none },
        ElasticLaw { volume_stiffness: 2e5, ..none },
        ElasticLaw { collapse_stiffness: 3e5, collapse_ratio: 1.1, ..none },
        ElasticLaw { control_modulus: 1.5e5, ..none },
        ElasticLaw { stiffness, control_modulus: 1.5e5, ..none },
    ]
}

// The stencils of `body` for a law: weights follow its grain.
fn stencils_for(law: &ElasticLaw) -> Stencils {
    let (body, _) = body();
    let (grains, range) = ([Grain::of(&law.stiffness)], 0..body.positions.len());
    Stencils::build_with_grain(&body.positions, &body.volumes, &[range], &[&body.patches], &grains, &exact()).0
}

#[test]
fn a_grain_keeps_affine_fields_exact_and_scales_the_control_with_direction() {
    let wood = laws()[5];
    let (stencils, grain) = (stencils_for(&wood), Grain::of(&wood.stiffness).unwrap());
    let (_, plain) = body();
    assert!(stencils.reverse.is_none(), "one list serves both directions");
    let slope = DMat3::from_cols_array(&[0.3, -0.1, 0.2, 0.5, 0.7, -0.4, 0.1, 0.6, -0.2]);
    let field: Vec<DVec3> = stencils.rest_positions.iter().map(|x| slope * *x).collect();
    for i in 0..stencils.len() {
        assert!(norm(stencils.gradient(i, &field) - slope) < 1e-11);
        let ratio = stencils.control_stiffness(i, 1e5) / plain.control_stiffness(i, 1e5);
        assert!((ratio - 1.0).abs() < 1e-12, "{ratio}");
        for ((j, w), (_, w_plain)) in stencils.of(i).zip(plain.of(i)) {
            assert_eq!(w, w_plain * grain.relative_young(stencils.rest_vector(i, j)));
        }
    }
}

#[test]
fn force_is_minus_the_derivative_of_the_energy_for_every_term() {
    let (_, stencils) = body();
    let u: Vec<DVec3> = noise(stencils.len(), 5).iter().map(|r| *r * 0.02).collect();
    let direction = noise(stencils.len(), 6);
    let moved = |step: f64| -> Vec<DVec3> { u.iter().zip(&direction).map(|(u, d)| *u + *d * step).collect() };
    for (k, law) in laws().into_iter().enumerate() {
        let (laws, stencils) = ([law], stencils_for(&law));
        let reference = Reference::new(&stencils, &laws);
        let eps = 1e-6;
        let slope = (reference.energies(&moved(eps)).total() - reference.energies(&moved(-eps)).total()) / (2.0 * eps);
        let power: f64 = reference.forces(&u).total().iter().zip(&direction).map(|(f, d)| f.dot(*d)).sum();
        assert!((slope + power).abs() < 1e-6 * power.abs(), "law {k}: {slope} {power}");
    }
}

#[test]
fn momentum_is_kept_and_rigid_motion_is_free() {
    let (body, stencils) = body();
    let turn = DMat3::from_rotation_z(1.0) * DMat3::from_rotation_x(-2.0);
    let rigid: Vec<DVec3> = body.positions.iter().map(|x| turn * *x - *x + DVec3::new(3.0, -1.0, 2.0)).collect();
    let u: Vec<DVec3> = noise(stencils.len(), 5).iter().zip(&rigid).map(|(r, rigid)| *r * 0.02 + *rigid).collect();
    for law in laws() {
        let stencils = stencils_for(&law);
        let laws = [ElasticLaw { collapse_ratio: law.collapse_ratio.min(0.95), ..law }];
        let reference = Reference::new(&stencils, &laws);
        let forces = reference.forces(&u).total();
        let scale: f64 = forces.iter().map(|f| f.length()).sum();
        let force: DVec3 = forces.iter().copied().sum();
        let torque: DVec3 = (0..u.len()).map(|i| (body.positions[i] + u[i]).cross(forces[i])).sum();
        assert!(force.length() < 1e-13 * scale, "{force}");
        assert!(torque.length() < 1e-11 * scale, "{torque}");
        let free = reference.forces(&rigid).total();
        assert!(free.iter().all(|f| f.length() < 1e-9 * scale));
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    let body = BoxBody::new([12, 12, 12], 0.1, 0.3);
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| body.stencils(&StencilOptions::default()).0.q)
    };
    assert_eq!(run(1), run(3));
}
