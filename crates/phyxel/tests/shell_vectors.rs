//! Golden vectors of the thin shell: an independent f64 prototype's results.

mod common;

use common::*;
use glam::{DMat3, DVec2, DVec3};
use phyxel::models::shell::balance::balance;
use phyxel::models::shell::boundary::Boundary;
use phyxel::models::shell::cracks::Disc;
use phyxel::models::shell::engine::Engine;
use phyxel::models::shell::fiber::Knots;
use phyxel::models::shell::fit::{Fit, Kind, Rest};
use phyxel::models::shell::frames::Frames;
use phyxel::models::shell::law::{Energy, FiberTerm, Fitted, Part, Sheet, ShellLaw};
use phyxel::models::shell::network::{Network, NetworkOptions, Nodes};
use phyxel::models::shell::plastic::{Flowing, ShellFlow};
use phyxel::models::shell::pressure::Gas;
use phyxel::models::shell::weights::isotropic;
use serde_json::Value;

fn near(what: &str, got: f64, want: f64, tolerance: f64) {
    assert!((got - want).abs() <= tolerance * (1.0 + want.abs()), "{what}: {got} instead of {want}");
}

fn ids(value: &Value) -> Vec<u32> {
    list(value).iter().map(|v| v.as_u64().unwrap() as u32).collect()
}

#[test]
fn lengths_angles_and_gradients_of_fibers() {
    for case in list(&load("shells/spline")["cases"]) {
        let [p1, p, p2, n] = ["p1", "p", "p2", "N"].map(|key| vector(&case[key]));
        let knots = Knots { h1: number(&case["h1"]), h2: number(&case["h2"]) };
        let (length, angle) = (knots.length(p1 - p, p2 - p), knots.angle(p1 - p, p2 - p, n));
        near("length", length.value, number(&case["length_gauss3"]), 1e-10);
        near("theta", angle.value, number(&case["theta"]), 1e-10);
        let all = |ends: [DVec3; 2]| [ends[0], -ends[0] - ends[1], ends[1]];
        assert_near("dlength", &all(length.ends)[..], &vectors(&case["dlength"])[..], 1e-10);
        assert_near("dtheta", &all(angle.ends)[..], &vectors(&case["dtheta_dp"])[..], 1e-10);
        assert!((angle.normal - vector(&case["dtheta_dN"])).length() < 1e-10 * (1.0 + angle.normal.length()));
    }
}

#[test]
fn the_guard_fades_bending_near_singular_states() {
    for case in list(&load("shells/bend_guard")["cases"]) {
        let [p1, p, p2, n] = ["p1", "p", "p2", "N"].map(|key| vector(&case[key]));
        let knots = Knots { h1: number(&case["h1"]), h2: number(&case["h2"]) };
        let guard = knots.guard(p1 - p, p2 - p, n, number(&case["theta"]));
        near("guard", guard, number(&case["guard"]), 1e-12);
    }
}

/// Middle and ends of all fibers, the ends in rising order.
fn triples(network: &Network) -> Vec<[u32; 3]> {
    let mut all = Vec::new();
    for i in 0..network.len() {
        for fiber in &network.fibers[network.fiber_range(i)] {
            let [a, b] = network.ends(i, fiber).map(|j| j as u32);
            all.push([i as u32, a.min(b), a.max(b)]);
        }
    }
    all
}

fn sorted(value: &Value) -> Vec<[u32; 3]> {
    let one = |v: &Value| {
        let t = ids(v);
        [t[1], t[0].min(t[2]), t[0].max(t[2])]
    };
    list(value).iter().map(one).collect()
}

#[test]
fn neighbors_and_fibers_of_an_irregular_network() {
    let file = load("shells/fiber_creation");
    let positions = vectors(&file["rest_positions"]);
    let areas = vec![0.04; positions.len()];
    let nodes = Nodes { normals: vectors(&file["normals"]), areas, positions };
    let network = Network::build(&nodes, &NetworkOptions::default());
    for (i, want) in list(&file["neighbours"]).iter().enumerate() {
        let (mut got, mut want) = (network.neighbors_of(i).to_vec(), ids(want));
        got.sort_unstable();
        want.sort_unstable();
        assert_eq!(got, want, "neighbors of {i}");
    }
    assert_eq!(triples(&network), sorted(&file["fibers"]));
}

fn fit_network() -> (Value, Nodes, Network, Rest) {
    let file = load("shells/fit_network");
    let nodes = Nodes {
        positions: vectors(&file["rest_positions"]),
        normals: vectors(&file["rest_normals"]),
        areas: numbers(&file["area"]),
    };
    let lists: Vec<Vec<u32>> = list(&file["neighbours"]).iter().map(ids).collect();
    // Closed fans repeat their first node, open ones end with -1.
    let fan = |value: &Value| {
        let all: Vec<i64> = list(value).iter().map(|v| v.as_i64().unwrap()).collect();
        let (last, ring) = all.split_last().unwrap();
        (ring.iter().map(|&j| j as u32).collect(), *last >= 0)
    };
    let fans: Vec<(Vec<u32>, bool)> = list(&file["fan"]).iter().map(fan).collect();
    let network = Network::with_fans(&nodes, &lists, &fans, &NetworkOptions::default());
    let rest = Rest::of(&network, &nodes.positions);
    (file, nodes, network, rest)
}

#[test]
fn the_tensor_fit_of_an_irregular_curved_sheet() {
    let (file, nodes, network, rest) = fit_network();
    assert_eq!(triples(&network), sorted(&file["fibers"]));
    assert_near("length", &rest.lengths[..], &numbers(&file["rest_length"])[..], 1e-9);
    assert_near("theta", &rest.angles[..], &numbers(&file["rest_theta"])[..], 1e-9);
    for (kind, name) in [(Kind::Membrane, "membrane"), (Kind::Bending, "bending")] {
        let fit = Fit::new(kind, &nodes, &network, &rest);
        let check = |what: &str, got: &[f64]| assert_near(what, got, &numbers(&file[what])[..], 1e-9);
        assert_near("m", &fit.responses[..], &vectors(&file[format!("response_{name}")])[..], 1e-9);
        check(&format!("weight_{name}"), &fit.weights);
        check(&format!("coverage_{name}"), &fit.coverage);
        assert_near("Q", &fit.plain[..], &vectors(&file[format!("Q_{name}")])[..], 1e-9);
        check(&format!("area_{name}"), &fit.areas);
    }
}

/// Forces and energies of a packed shell.
fn evaluate(network: &Network, rest: &Rest, energy: &Energy, positions: &[DVec3]) -> (Vec<DVec3>, [f64; 2]) {
    let mut engine = Engine::new(network, rest, energy);
    engine.measure(positions);
    let mut forces = vec![DVec3::ZERO; positions.len()];
    engine.add_forces(&mut forces);
    (forces, engine.energy())
}

#[test]
fn balanced_coefficients_energy_and_force_of_the_tensor_form() {
    let (file, nodes, network, rest) = fit_network();
    let boundary = Boundary::new(&nodes, &network);
    assert_near("b", &boundary.vectors[..], &vectors(&file["boundary_vectors"])[..], 1e-9);
    let kinds = [(Kind::Membrane, "membrane"), (Kind::Bending, "bending")];
    let fits = kinds.map(|(kind, name)| {
        let fit = Fit::new(kind, &nodes, &network, &rest);
        let (balanced, report) = balance(kind, &nodes, &network, &rest, &fit, &boundary, 1e-9);
        let wanted = vectors(&file[format!("P_{name}")]);
        let before_after = numbers(&file["balance_rms_before_after"][name]);
        match kind {
            Kind::Membrane => assert_near(name, &balanced[..], &wanted[..], 1e-6),
            // The prototype turns the moments of the edge into the frames of its neighbors the wrong way round (with that
            // its coefficients come out to 1e-9); the right way leaves less imbalance.
            Kind::Bending => {
                assert_near(name, &balanced[..], &wanted[..], 0.06);
                assert!(report.imbalance[1] < 0.9 * before_after[1], "{report:?}");
            }
        }
        near(name, report.imbalance[0], before_after[0], 1e-3);
        (fit, wanted)
    });
    let sheet =
        Sheet { young: number(&file["E"]), poisson: number(&file["nu"]), thickness: number(&file["thickness"]) };
    let energy = Fitted::with_coefficients(fits).energy(&sheet, &nodes, &network, &rest);
    let (forces, stored) = evaluate(&network, &rest, &energy, &vectors(&file["positions"]));
    near("membrane", stored[0], number(&file["energy_membrane"]), 1e-10);
    assert!((stored[1] / number(&file["energy_bending"]) - 1.0).abs() < 1e-9);
    assert_near("force", &forces[..], &vectors(&file["force"])[..], 1e-9);
}

fn old_network(uniform_knots: bool) -> (Value, Nodes, Network, Rest) {
    let file = load("shells/network");
    let creation = load("shells/fiber_creation");
    let positions = vectors(&file["rest_positions"]);
    let nodes = Nodes { normals: vectors(&creation["normals"]), areas: vec![0.04; positions.len()], positions };
    let lists: Vec<Vec<u32>> = list(&creation["neighbours"]).iter().map(ids).collect();
    let fans: Vec<(Vec<u32>, bool)> =
        list(&file["fans"]).iter().map(|f| (ids(&f["ring"]), f["closed"].as_bool().unwrap())).collect();
    let options = NetworkOptions { bending_turn: 50.0, ..NetworkOptions::default() };
    let mut network = Network::with_fans(&nodes, &lists, &fans, &options);
    if uniform_knots {
        network.fibers.iter_mut().for_each(|f| f.knots = Knots::UNIFORM);
    }
    let rest = Rest::of(&network, &nodes.positions);
    (file, nodes, network, rest)
}

#[test]
fn isotropic_weights_of_given_directions() {
    for case in list(&load("shells/isotropic_weights")["cases"]) {
        let moments: Vec<DVec2> = numbers(&case["angles"]).iter().map(|a| DVec2::from_angle(2.0 * a)).collect();
        let (weights, residual) = isotropic(&moments);
        for (got, want) in weights.iter().zip(numbers(&case["weights"])) {
            assert!((got - want).abs() < 1e-7, "{got} {want}");
        }
        assert!((residual - number(&case["residual"])).abs() < 1e-7);
    }
}

#[test]
fn energy_and_force_of_the_weighted_form() {
    let (file, _, network, rest) = old_network(false);
    assert_eq!(triples(&network), sorted(&file["fibers"]));
    assert_near("length", &rest.lengths[..], &numbers(&file["rest_length"])[..], 1e-9);
    assert_near("theta", &rest.angles[..], &numbers(&file["rest_theta"])[..], 1e-9);
    let [alpha_s, beta_s, alpha_b, beta_b] = ["alpha_s", "beta_s", "alpha_b", "beta_b"].map(|k| number(&file[k]));
    let part = |weights: &str, areas: &str, alpha: f64, beta: f64, responses: Option<Vec<f64>>| {
        let (weights, areas) = (numbers(&file[weights]), numbers(&file[areas]));
        let mut part = Part::default();
        for i in 0..network.len() {
            let own = beta / responses.as_ref().map_or(1.0, |q| q[i]);
            part.nodes.push([areas[i] * (alpha + beta - own), 0.0]);
            part.fibers.extend(network.fiber_range(i).map(|k| FiberTerm {
                tensor: DVec3::X * weights[k],
                residual: areas[i] * own * weights[k],
                ..FiberTerm::default()
            }));
        }
        part
    };
    let energy = Energy {
        membrane: part("weight_membrane", "area_membrane", alpha_s, beta_s, Some(numbers(&file["q_s"]))),
        bending: part("weight_bending", "area_bending", alpha_b, beta_b, None),
        curvature_lengths: numbers(&file["curvature_length"]),
        ..Energy::default()
    };
    let (forces, stored) = evaluate(&network, &rest, &energy, &vectors(&file["positions"]));
    near("membrane", stored[0], number(&file["energy_membrane"]), 1e-10);
    assert!((stored[1] / number(&file["energy_bending"]) - 1.0).abs() < 1e-9, "{}", stored[1]);
    assert_near("force", &forces[..], &vectors(&file["force"])[..], 1e-9);
}

#[test]
fn energy_and_force_as_published() {
    let (file, nodes, network, rest) = old_network(true);
    let paper = load("shells/paper_energy");
    let law = ShellLaw::Published(Some([number(&paper["K_s"]), number(&paper["K_b"])]));
    let sheet = Sheet { young: 1.0, poisson: 0.3, thickness: 0.1 };
    let mut energy = Fitted::new(law, &nodes, &network, &rest).energy(&sheet, &nodes, &network, &rest);
    energy.unguarded = true;
    let (forces, stored) = evaluate(&network, &rest, &energy, &vectors(&file["positions"]));
    near("stretch", stored[0], number(&paper["energy_stretch"]), 1e-10);
    near("bend", stored[1], number(&paper["energy_bend"]), 1e-10);
    assert_near("force", &forces[..], &vectors(&paper["force"])[..], 1e-9);
}

#[test]
fn node_gradients_that_carry_the_surface() {
    let (file, nodes, network, _) = old_network(false);
    let skinning = load("shells/skinning");
    let positions = vectors(&file["positions"]);
    let mut gradients = vec![DMat3::ZERO; positions.len()];
    Frames::new(&network, &nodes.positions).gradients(&network, &positions, &mut gradients);
    assert_near("F", &gradients[..], &matrices(&skinning["node_gradients"])[..], 1e-9);
}

#[test]
fn pressure_follows_the_surface_and_pushes_nothing_away() {
    let file = load("shells/pressure");
    let rest = vectors(&file["rest_positions"]);
    let fans: Vec<(Vec<u32>, bool)> = list(&file["fan"])
        .iter()
        .map(|fan| {
            let all = ids(fan);
            (all[..all.len() - 1].to_vec(), true)
        })
        .collect();
    let lists: Vec<Vec<u32>> = fans.iter().map(|f| f.0.clone()).collect();
    let normals = rest.iter().map(|p| p.normalize()).collect();
    let nodes = Nodes { normals, areas: numbers(&file["area"]), positions: rest };
    let network = Network::with_fans(&nodes, &lists, &fans, &NetworkOptions::default());
    let mut gas = Gas::new(&network, &nodes.areas, &nodes.positions);
    assert!(gas.is_closed());
    let positions = vectors(&file["positions"]);
    assert_near("A", gas.measure(&network, &positions), &vectors(&file["area_vectors_corrected"])[..], 1e-10);
    near("volume", gas.volume(&network, &positions), number(&file["volume"]), 1e-10);
}

#[test]
fn discs_separate_what_lies_on_their_two_sides() {
    let file = load("shells/crack");
    let disc =
        |v: &Value| Disc { center: vector(&v["center"]), normal: vector(&v["normal"]), radius: number(&v["radius"]) };
    let discs: Vec<Disc> = list(&file["discs"]).iter().map(disc).collect();
    for case in list(&file["cases"]) {
        let (a, b) = (vector(&case["a"]), vector(&case["b"]));
        let separated = discs.iter().any(|d| d.separates(a, b));
        assert_eq!(separated, case["separated"].as_bool().unwrap(), "{a} to {b}");
    }
}

#[test]
fn lengths_and_angles_creep_and_bending_weakens() {
    let file = load("shells/plasticity");
    let given = |key: &str| number(&file["params"][key]);
    // Half the thickness over the curvature length makes strains of angles: here 1/2, so that both yield limits are one strain.
    let (thickness, turn) = (1.0, 1.0);
    let per_strain = 2.0 * turn / thickness;
    assert_eq!(given("beta_theta"), per_strain * given("beta_l"));
    let law = |creep: f64| ShellFlow {
        yield_strain: given("beta_l"),
        creep,
        most: 1e9,
        thickness,
        poisson: 0.3,
        fatigue: given("alpha") * per_strain,
        hardening: 0.0,
    };
    let original = [given("l_orig"), given("theta_orig"), turn];
    let start = Flowing { length: original[0], angle: original[1], strength: given("gamma0") };
    // Lengths and angles have rates of their own in the file; a fiber each.
    let (mut by_length, mut by_angle) = (start, start);
    let (lengths, angles) = (law(given("eta_l")), law(given("eta_theta")));
    for row in list(&file["rows"]) {
        let row: Vec<f64> = list(row).iter().map(number).collect();
        let seen = [row[0], row[1]];
        lengths.advance(lengths.part(given("dt")), original, seen, &mut by_length);
        angles.advance(angles.part(given("dt")), original, seen, &mut by_angle);
        near("plastic length", by_length.length - original[0], row[2], 1e-12);
        near("plastic angle", by_angle.angle - original[1], row[3], 1e-12);
        near("strength", by_angle.strength, row[4], 1e-12);
    }
}
