//! Golden vectors of the lattice: an independent f64 prototype's results.

mod common;

use common::*;
use glam::{DMat3, DVec3, Vec3};
use phyxel::models::lattice::{
    Around, Bonds, Cold, Damper, Lists, Matter, NO_SLOT, NOBODY, Particles, Phase, Sites, SolidNeighbor, Sums,
    add_elastic, breaks, energies, find_site, fit, freezing_rate, melting_rate, rotation,
};
use phyxel::scene::MaterialSpec;
use phyxel::surface::{Carrier, Falloff, Surfels};
use serde_json::Value;

/// A vector of two or three numbers.
fn space(value: &Value) -> DVec3 {
    let x = numbers(value);
    DVec3::new(x[0], x[1], x.get(2).copied().unwrap_or(0.0))
}

fn places(value: &Value) -> Vec<DVec3> {
    list(value).iter().map(space).collect()
}

/// Rows of a 2x2 or 3x3 matrix; in the plane the third axis stays.
fn turn(value: &Value) -> DMat3 {
    let rows = places(value);
    let last = rows.get(2).copied().unwrap_or(DVec3::Z);
    DMat3::from_cols(rows[0], rows[1], last).transpose()
}

#[test]
fn nearest_sites() {
    for dimensions in [2, 3] {
        let file = load(&format!("lattice/nearest_{dimensions}d"));
        let sites = Sites::published(dimensions, 1.0);
        for (query, wanted) in places(&file["queries"]).into_iter().zip(places(&file["nearest"])) {
            assert!((sites.nearest_site(query) - wanted).length() < 1e-12, "{query}");
            let slot = sites.nearest(query);
            let known = sites.slots.iter().position(|l| (*l - wanted).length() < 1e-9);
            assert_eq!(known.map_or(NO_SLOT, |s| s as u8), slot);
        }
        for neighbor in places(&file["neighbours"]) {
            assert!(sites.slots.iter().any(|l| (*l - neighbor).length() < 1e-12));
        }
    }
}

#[test]
fn fits_of_single_neighborhoods() {
    let file = load("lattice/shape_match");
    for case in list(&file["cases"]) {
        let (d, k) = (number(&case["D"]), number(&case["k"]));
        let dimensions = case["dim"].as_u64().unwrap() as usize;
        let (slots, seen, weights) = (places(&case["l"]), places(&case["r"]), numbers(&case["w"]));
        let mut sums = Sums::default();
        slots.iter().zip(&seen).zip(&weights).for_each(|((l, r), w)| sums.add(*w, *r, *l));
        let previous = turn(&case["R_prev"]);
        let stretch = sums.stretch(previous, number(&case["reg"]));
        assert_near("A", &[stretch][..], &[turn(&case["A"])][..], 1e-9);
        let found = rotation(sums.seen, previous, 1e-9 * d * d, dimensions);
        let wanted = turn(&case["R"]);
        // Few or coplanar neighbors leave the rotation to a tiny memory.
        let values = (sums.seen.transpose() * sums.seen).determinant().abs();
        let full = dimensions == 2 || values > 1e-6 * (d * d).powi(6);
        assert_near("R", &[found][..], &[wanted][..], if full { 1e-7 } else { 1e-5 });
        let pull = |((l, r), w): ((&DVec3, &DVec3), &f64)| k * w * (wanted * *l - *r);
        let forces: Vec<DVec3> = slots.iter().zip(&seen).zip(&weights).map(pull).collect();
        assert_near("F", &forces[..], &places(&case["F_on_neighbours"])[..], 1e-8);
    }
}

#[test]
fn strains_of_affine_neighborhoods() {
    for case in list(&load("lattice/strain")["cases"]) {
        let mut sums = Sums::default();
        let rows = places(&case["l"]).into_iter().zip(places(&case["r"])).zip(numbers(&case["w"]));
        rows.for_each(|((l, r), w)| sums.add(w, r, l));
        let stretch = sums.stretch(DMat3::IDENTITY, 0.0);
        assert_near("A", &[stretch][..], &[matrix(&case["A"])][..], 1e-9);
        let green = (stretch.transpose() * stretch - DMat3::IDENTITY) * 0.5;
        assert_near("Green", &[green][..], &[matrix(&case["green"])][..], 1e-9);
    }
}

#[test]
fn breaks_of_single_bonds() {
    for case in list(&load("lattice/fracture")["cases"]) {
        let (l, r) = (space(&case["l"]), space(&case["r"]));
        let misfit = (r - turn(&case["R"]) * l).length_squared();
        let strength = 0.5 * (number(&case["q_i"]) + number(&case["q_j"]));
        let broken = breaks(l.length(), misfit, r.length_squared(), number(&case["s_max"]), strength);
        assert_eq!(broken, case["breaks"].as_bool().unwrap());
    }
}

#[test]
fn rates_of_melting_and_freezing() {
    for case in list(&load("lattice/rates")["cases"]) {
        let of = |key: &str| number(&case[key]);
        let melting = melting_rate(of("lambda_m0"), of("T") - of("T_m"));
        let cold = Cold {
            below: of("T_f") - of("T"),
            neighbors: [of("n"), of("n0")],
            speeds: [of("dv"), of("v_max")],
            forces: [of("F"), of("F_max")],
        };
        let freezing = freezing_rate(of("lambda_f0"), &cold);
        let chance = |rate: f64| 1.0 - (-rate * of("dt")).exp();
        let found = [melting, freezing, chance(melting), chance(freezing), chance(of("lambda_d"))];
        let wanted = ["lambda_m", "lambda_f", "P_melt", "P_freeze", "P_dock"].map(of);
        assert_near("rates", &found[..], &wanted[..], 1e-12);
    }
}

#[test]
fn sites_for_cold_particles() {
    for case in list(&load("lattice/freeze_site")["cases"]) {
        let sites = Sites::published(case["dim"].as_u64().unwrap() as usize, number(&case["D"]));
        let rotation = turn(&case["R"]);
        let solids: Vec<SolidNeighbor> = places(&case["solid"])
            .into_iter()
            .enumerate()
            .map(|(index, position)| SolidNeighbor { index, position, velocity: DVec3::ZERO, rotation })
            .collect();
        let fluid = space(&case["fluid"]);
        let agreed = number(&case["n_agree"]);
        let found = find_site(fluid, &solids, &sites);
        assert_eq!(found.map_or(0.0, |s| f64::from(s.agreed)), agreed);
        if let Some(site) = found.filter(|s| s.agreed > 0) {
            assert!((site.target - space(&case["target"])).length() < 1e-12);
            assert_eq!(f64::from(site.solid), number(&case["n_solid"]));
            assert_eq!(site.best as f64, number(&case["best_neighbour"]));
        }
    }
}

#[test]
fn bonds_forces_and_damping_of_bodies() {
    for dimensions in [2, 3] {
        let file = load(&format!("lattice/body_{dimensions}d"));
        check_body(&file, dimensions);
    }
}

fn check_body(file: &Value, dimensions: usize) {
    let d = number(&file["D"]);
    let mut sites = Sites::published(dimensions, d);
    sites.reach = d * number(&file["candidate_radius_over_D"]);
    let positions = places(&file["x"]);
    let count = positions.len();
    let mut particles = Particles {
        members: (0..count as u32).collect(),
        ids: (0..count as u32).collect(),
        velocities: places(&file["v"]),
        masses: vec![number(&file["mass"]); count],
        kinds: vec![0; count],
        objects: vec![0; count],
        phases: vec![Phase::Solid; count],
        solidities: vec![1.0; count],
        rotations: vec![DMat3::IDENTITY; count],
        rest_rotations: vec![DMat3::IDENTITY; count],
        strengths: vec![1.0; count],
        pressures: vec![0.0; count],
        positions,
    };
    let mut matter = Matter::new(&MaterialSpec::default(), &sites);
    (matter.stiffness, matter.crush) = (number(&file["k"]), 0.0);
    let matters = [matter];
    let mut lists = Lists::default();
    lists.update(&particles.positions, 2.6 * d, d, |_| true);
    let mut bonds = Bonds::new(count, &sites);
    let dt = f64::INFINITY;
    bonds.begin(&Around {
        sites: &sites,
        matters: &matters,
        particles: &particles,
        lists: &lists,
        seed: 0,
        step: 0,
        dt,
    });
    let order: Vec<usize> = places(&file["slot_vectors"])
        .iter()
        .map(|l| sites.slots.iter().position(|own| (*own - *l).length() < 1e-9).unwrap())
        .collect();
    for (i, row) in list(&file["slots"]).iter().enumerate() {
        for (k, partner) in numbers(row).into_iter().enumerate() {
            let own = bonds.of(i)[order[k]];
            assert_eq!(if own == NOBODY { -1.0 } else { f64::from(own) }, partner, "slot {k} of {i}");
        }
    }
    fit(&mut particles, &bonds, &sites);
    let wanted = match dimensions {
        3 => matrices(&file["R"]),
        _ => list(&file["R"]).iter().map(turn).collect(),
    };
    assert_near("R", &particles.rotations[..], &wanted[..], 1e-7);
    let mut forces = vec![DVec3::ZERO; count];
    add_elastic(&particles, &bonds, &sites, &matters, &mut forces);
    assert_near("forces", &forces[..], &places(&file["lattice_force"])[..], 1e-6);
    let mut energy = Vec::new();
    energies(&particles, &bonds, &sites, &matters, &mut energy);
    assert_near("energies", &energy[..], &numbers(&file["lattice_energy"])[..], 1e-7);
    let mut damper = Damper::default();
    let excess = damper.excess(&particles, &bonds, &sites, |_| 1.0);
    assert_near("damping", excess, &places(&file["damping_dP"])[..], 1e-7);
}

#[test]
fn skins_follow_their_particles() {
    let file = load("lattice/skinning");
    let (rest, positions) = (places(&file["rest"]), places(&file["positions"]));
    let stretches: Vec<DMat3> = list(&file["A"]).iter().map(turn).collect();
    let places_at_rest: Vec<Vec3> = list(&file["cases"]).iter().map(|c| space(&c["v0"]).as_vec3()).collect();
    let along = |axis: Vec3| vec![axis; places_at_rest.len()];
    let surfels = Surfels {
        axes_u: along(Vec3::X),
        axes_v: along(Vec3::Y),
        normals: along(Vec3::Z),
        positions: places_at_rest.clone(),
        ..Surfels::default()
    };
    let radii = vec![number(&file["support"]); rest.len()];
    let mut carrier = Carrier::bind_with(surfels, &rest, &radii, Falloff::Spline);
    let mut skin = Surfels::default();
    carrier.update(&positions, &rest, &stretches, &mut skin);
    for (case, place) in list(&file["cases"]).iter().zip(&skin.positions) {
        // Surfels are stored in single precision.
        let wanted = space(&case["result"]);
        assert!((place.as_dvec3() - wanted).length() < 1e-6, "{place} for {wanted}");
    }
}
