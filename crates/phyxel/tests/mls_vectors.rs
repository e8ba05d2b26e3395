//! Golden vectors of the elastic solid: an independent f64 prototype's results.

mod common;

use common::*;
use glam::{DMat3, DVec3};
use phyxel::conjugate_gradient::{Stop, Workspace, solve};
use phyxel::linalg::safe_inverse;
use phyxel::materials::elastic::TangentKind;
use phyxel::materials::{ElasticLaw, PlasticLaw, plastic};
use phyxel::models::mls::gradient::{self, CorrectionOptions};
use phyxel::models::mls::literal::{self, LiteralInitialization};
use phyxel::models::mls::reference::Reference;
use phyxel::models::mls::stencils::Stencils;
use phyxel::sampling::SurfacePatch;
use serde_json::Value;

fn law(young: f64, poisson: f64, volume_stiffness: f64, control: f64) -> ElasticLaw {
    ElasticLaw {
        volume_stiffness,
        collapse_stiffness: 0.0,
        control_modulus: control * young,
        ..ElasticLaw::isotropic(young, poisson)
    }
}

fn law_of(file: &Value) -> ElasticLaw {
    let volume_stiffness = file.get("kv").map_or(0.0, number);
    law(number(&file["E"]), number(&file["nu"]), volume_stiffness, number(&file["alpha_hg"]))
}

fn mls30(file: &Value) -> LiteralInitialization {
    let nearest = file["k"].as_u64().unwrap() as usize;
    literal::initialize(&vectors(&file["x"]), number(&file["rho"]), nearest, number(&file["h_factor"]))
}

#[test]
fn safe_inverse_of_moment_matrices() {
    for case in list(&load("safe_inverse")["cases"]) {
        let name = case["name"].as_str().unwrap();
        let (inverse, _) = safe_inverse(matrix(&case["A"]), 1e-6);
        assert_near(name, &[inverse][..], &[matrix(&case["A_pinv"])][..], 1e-9);
    }
}

#[test]
fn mls30_initialization_gradients_and_energies() {
    let file = load("mls30");
    let start = mls30(&file);
    let stencils = &start.stencils;
    assert_near("rbar", &start.mean_distances[..], &numbers(&file["rbar"])[..], 1e-10);
    assert_near("mass", &start.masses[..], &numbers(&file["mass"])[..], 1e-10);
    assert_near("density", &start.densities[..], &numbers(&file["density"])[..], 1e-10);
    assert_near("volume", &stencils.volumes[..], &numbers(&file["volume"])[..], 1e-10);
    assert_near("Ainv", &stencils.inverse_moments[..], &matrices(&file["Ainv"])[..], 1e-10);
    let weights: Vec<f64> = list(&file["weights"]).iter().flat_map(numbers).collect();
    assert_near("weights", &stencils.weights[..], &weights[..], 1e-10);

    let u = vectors(&file["u"]);
    let gradients: Vec<DMat3> = (0..u.len()).map(|i| stencils.gradient(i, &u)).collect();
    assert_near("grad u", &gradients[..], &matrices(&file["grad_u"])[..], 1e-10);
    let stored = matrices(&file["plastic_strain"]);
    let reference = Reference { stored_strains: &stored, ..Reference::new(stencils, &[law_of(&file)]) }.energies(&u);
    let want = ["U_elastic", "U_volume", "U_hourglass"].map(|key| number(&file[key]));
    assert_near("energy", &[reference.elastic, reference.volume, reference.control][..], &want[..], 1e-10);
}

#[test]
fn mls30_forces_and_tangents() {
    let file = load("mls30");
    let start = mls30(&file);
    let (laws, stored) = ([law_of(&file)], matrices(&file["plastic_strain"]));
    let reference = Reference { stored_strains: &stored, ..Reference::new(&start.stencils, &laws) };
    let u = vectors(&file["u"]);
    let forces = reference.forces(&u);
    assert_near("elastic", &forces.elastic[..], &vectors(&file["f_elastic"])[..], 1e-10);
    assert_near("volume", &forces.volume[..], &vectors(&file["f_volume"])[..], 1e-10);
    assert_near("control", &forces.control[..], &vectors(&file["f_hourglass"])[..], 1e-10);
    assert_near("total", &forces.total()[..], &vectors(&file["f_total"])[..], 1e-10);

    let direction = vectors(&file["direction"]);
    let exact = reference.tangent_product(&u, &direction, TangentKind::Exact);
    assert_near("K exact", &exact[..], &vectors(&file["K_times_dir_exact"])[..], 1e-10);
    let positive = reference.tangent_product(&u, &direction, TangentKind::Positive);
    assert_near("K positive", &positive[..], &vectors(&file["K_times_dir_psd"])[..], 1e-10);
    for (l, key) in [(0, "K_block_0_0"), (1, "K_block_0_1")] {
        let block = reference.tangent_block(&u, 0, l).unwrap();
        assert_near(key, &[block][..], &[matrix(&file[key])][..], 1e-10);
    }
}

#[test]
fn corrected_gradients_and_their_forces() {
    let file = load("consistent_gradient");
    let neighbors: Vec<u32> =
        list(&file["neighbours"]).iter().flat_map(|row| numbers(row).into_iter().map(|j| j as u32)).collect();
    let starts = list(&file["neighbours"]).iter().scan(0, |end, row| {
        *end += list(row).len();
        Some(*end)
    });
    let starts: Vec<usize> = std::iter::once(0).chain(starts).collect();
    let weights = list(&file["weights"]).iter().flat_map(numbers).collect();
    let (positions, radii) = (vectors(&file["x"]), numbers(&file["h"]));
    let mut stencils = Stencils::from_lists(positions, numbers(&file["volume"]), radii, starts, neighbors, weights);
    let pairs = |vector: &dyn Fn(usize, usize, f64) -> DVec3| -> Vec<DVec3> {
        (0..stencils.len()).flat_map(|i| stencils.of(i).map(move |(j, w)| vector(i, j, w))).collect()
    };
    let want = |key: &str| -> Vec<DVec3> { list(&file[key]).iter().flat_map(vectors).collect() };
    let plain = pairs(&|i, j, w| stencils.plain_gradient_vector(i, j, w));
    assert_near("d plain", &plain[..], &want("d_plain")[..], 1e-9);
    assert_near("g", &gradient::plain_divergence(&stencils)[..], &vectors(&file["div_plain"])[..], 1e-9);

    let (points, normals) = (vectors(&file["surface_points"]), vectors(&file["surface_normals"]));
    let areas = numbers(&file["surface_areas"]);
    let patches: Vec<SurfacePatch> =
        (0..areas.len()).map(|s| SurfacePatch { position: points[s], normal: normals[s], area: areas[s] }).collect();
    assert_near("b", &gradient::surface_vectors(&stencils, &patches)[..], &vectors(&file["b"])[..], 1e-9);
    gradient::correct(&mut stencils, &patches, &CorrectionOptions { tolerance: 1e-13, max_iterations: 2000 });
    let corrected: Vec<DVec3> = (0..stencils.len())
        .flat_map(|i| stencils.of(i).map(move |(j, w)| (i, j, w)))
        .map(|(i, j, w)| stencils.gradient_vector(i, j, w))
        .collect();
    assert_near("d corrected", &corrected[..], &want("d_corrected")[..], 1e-9);
    let divergence = gradient::corrected_divergence(&stencils);
    assert_near("div", &divergence[..], &vectors(&file["div_corrected"])[..], 1e-9);

    let laws = [law_of(&file)];
    let reference = Reference::new(&stencils, &laws);
    let u = vectors(&file["u"]);
    let energy = [reference.energies(&u).total()];
    assert_near("energy", &energy[..], &[number(&file["energy"])][..], 1e-9);
    assert_near("force", &reference.forces(&u).total()[..], &vectors(&file["force"])[..], 1e-9);
}

fn lattice(side: usize, spacing: f64) -> Vec<DVec3> {
    let at = |k: usize| DVec3::new((k / side / side) as f64, (k / side % side) as f64, (k % side) as f64) * spacing;
    (0..side * side * side).map(at).collect()
}

#[test]
fn literal_initialization_of_a_lattice() {
    let file = load("lattice4_init");
    let positions = lattice(4, number(&file["a"]));
    let start = literal::initialize(&positions, 1000.0, 10, number(&file["h_factor"]));
    assert_near("rbar", &start.mean_distances[..], &numbers(&file["rbar"])[..], 1e-12);
    assert_near("s", &[start.scale][..], &[number(&file["s"])][..], 1e-12);
    assert_near("mass", &start.masses[..], &numbers(&file["mass"])[..], 1e-12);
    assert_near("density", &start.densities[..], &numbers(&file["density"])[..], 1e-12);
    assert_near("volume", &start.stencils.volumes[..], &numbers(&file["volume"])[..], 1e-12);
    let counts: Vec<f64> = start.stencils.starts.windows(2).map(|w| (w[1] - w[0]) as f64).collect();
    assert_eq!(counts, numbers(&file["neighbour_count"]));
}

#[test]
fn leapfrog_on_a_lattice() {
    let file = load("leapfrog64");
    let positions = lattice(4, number(&file["a"]));
    let mut stencils = literal::initialize(&positions, 1000.0, 10, number(&file["h_factor"])).stencils;
    stencils.volumes = numbers(&file["volume"]);
    let laws = [law_of(&file)];
    let reference = Reference::new(&stencils, &laws);
    let (masses, dt) = (numbers(&file["mass"]), number(&file["dt"]));
    let (mut u, mut v) = (vectors(&file["u0"]), vectors(&file["v0"]));
    let mut rows = Vec::new();
    for _ in 0..file["steps"].as_u64().unwrap() {
        let forces = reference.forces(&u).total();
        // The prototype logs the potential of the start and the kinetic energy of the end of a step.
        let potential = reference.energies(&u).total();
        for i in 0..u.len() {
            v[i] += forces[i] * (dt / masses[i]);
            u[i] += v[i] * dt;
        }
        let kinetic: f64 = v.iter().zip(&masses).map(|(v, m)| 0.5 * m * v.length_squared()).sum();
        rows.extend([potential, kinetic]);
    }
    assert_near("u", &u[..], &vectors(&file["u_end"])[..], 1e-9);
    assert_near("v", &v[..], &vectors(&file["v_end"])[..], 1e-9);
    let want: Vec<f64> = list(&file["U_K_per_step"]).iter().flat_map(numbers).collect();
    assert_near("energies", &rows[..], &want[..], 1e-9);
}

#[test]
fn implicit_step_linearized_at_the_start() {
    let (file, step) = (load("mls30"), load("implicit30"));
    let start = mls30(&file);
    let (laws, stored) = ([law_of(&file)], matrices(&file["plastic_strain"]));
    let reference = Reference { stored_strains: &stored, ..Reference::new(&start.stencils, &laws) };
    let (u, v0, dt) = (vectors(&file["u"]), vectors(&step["v0"]), number(&step["dt"]));
    let forces = reference.forces(&u).total();
    let masses = &start.masses;
    let right: Vec<DVec3> = (0..u.len()).map(|i| v0[i] * masses[i] + forces[i] * dt).collect();
    for (kind, key) in [(TangentKind::Exact, "v_next_exact"), (TangentKind::Positive, "v_next_psd")] {
        let apply = |p: &[DVec3], out: &mut [DVec3]| {
            let product = reference.tangent_product(&u, p, kind);
            (0..u.len()).for_each(|i| out[i] = p[i] * masses[i] - product[i] * (dt * dt));
        };
        let (mut v, stop) = (Vec::new(), Stop { tolerance: 1e-13, max_iterations: 1000 });
        let outcome = solve(apply, |i, r| r / masses[i], &right, &mut v, stop, &mut Workspace::default());
        assert!(outcome.converged, "{key}: {outcome:?}");
        assert_near(key, &v[..], &vectors(&step[key])[..], 1e-8);
    }
}

#[test]
fn plastic_strain_state() {
    let file = load("plastic_strain_state");
    let cases = list(&file["cases"]);
    assert!(!cases.is_empty());
    for (k, case) in cases.iter().enumerate() {
        // The file measures strain as JᵀJ - I, twice the Green strain.
        let half = |key: &str| plastic::from_matrix(matrix(&case[key]) * 0.5);
        let law = PlasticLaw {
            yield_strain: 0.5 * number(&case["c_min"]),
            creep: number(&case["c_creep"]),
            limit: 0.5 * number(&case["c_max"]),
        };
        let (green, old, want) = (half("eps"), half("eps_p"), half("eps_p_new"));
        // The rule of the paper: yield and flow in strain itself, whatever the stretch.
        let flat = plastic::metric(&[0.0; 6]);
        let stress = |e: &plastic::Symmetric| plastic::isotropic_stress(1.5, 2.0, e);
        let change = law.over(number(&case["dt"])).change(&green, &flat, &old, 2.0, stress);
        for c in 0..6 {
            let got = old[c] + change[c];
            assert!((got - want[c]).abs() < 1e-12, "case {k}, component {c}: {got} for {}", want[c]);
        }
    }
}
