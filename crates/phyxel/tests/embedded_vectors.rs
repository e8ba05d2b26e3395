//! Golden vectors of embedded matter: an independent f64 prototype's results.

mod common;

use common::*;
use glam::{DMat3, DVec3};
use phyxel::conjugate_gradient::Stop;
use phyxel::models::embedded::{Matter, Published, Svd, published_volume};
use phyxel::scene::MaterialSpec;

#[test]
fn singular_values_with_rotations() {
    let file = load("svd_rotation_variant");
    for case in list(&file["cases"]) {
        let f = matrix(&case["F"]);
        let svd = Svd::new(f);
        let name = case["name"].as_str().unwrap();
        let sigma = vector(&case["sigma"]);
        assert!((svd.sigma - sigma).length() <= 1e-9 * (1e-300 + sigma.length()), "{name}: {} {sigma}", svd.sigma);
        assert_near(name, &[svd.with(svd.sigma)][..], &[f][..], 1e-9);
        if !case["R_polar_UVt"].is_null() {
            assert_near(name, &[svd.rotation()][..], &[matrix(&case["R_polar_UVt"])][..], 1e-9);
        }
    }
}

#[test]
fn flow_at_a_point() {
    let file = load("ward_material");
    let (mu, lambda) = (number(&file["mu"]), number(&file["lam"]));
    for case in list(&file["cases"]) {
        let usual = Matter::new(&MaterialSpec::default(), 0.0);
        let matter = Matter { mu, lambda, yield_stress: number(&case["SY"]), creep: number(&case["flow"]), ..usual };
        let (dt, k, alpha) = (number(&case["dt"]), number(&case["K"]), number(&case["alpha"]));
        let flow = matter.published_flow(matrix(&case["F"]), dt, k, alpha);
        let name = case["name"].as_str().unwrap();
        assert!((flow.gamma - number(&case["gamma"])).abs() < 1e-9, "{name}");
        for (what, got, want) in [("Fp", flow.plastic, "Fp"), ("Fe", flow.elastic, "Fe"), ("PK", flow.stress, "PK")] {
            assert_near(&format!("{name} {what}"), &[got][..], &[matrix(&case[want])][..], 1e-9);
        }
        assert!((flow.alpha - number(&case["alpha_new"])).abs() <= 1e-9 * flow.alpha.abs().max(1.0), "{name}");
        assert!((flow.plastic.determinant() - number(&case["det_Fp"])).abs() < 1e-9, "{name}");
    }
}

#[test]
fn thirty_points() {
    let file = load("ward30");
    let (e, x, volumes) = (vectors(&file["e"]), vectors(&file["x"]), numbers(&file["volume"]));
    let lambda = number(&file["lambda_A"]);
    let mut points = Published::new(&e);
    let row = |value: &serde_json::Value| numbers(value).iter().map(|j| (*j as u32, 1.0)).collect();
    points.set_lists(list(&file["neighbours"]).iter().map(row).collect());
    points.supports = numbers(&file["h"]);
    points.priors = vec![lambda; e.len()];
    points.plastics = matrices(&file["P"]);
    points.previous = matrices(&file["F_prev"]);

    let weights: Vec<f64> = list(&file["weights"]).iter().flat_map(numbers).collect();
    let own: Vec<f64> = (0..weights.len()).map(|k| points.weight(k / 12, k, &e)).collect();
    assert_near("weights", &own[..], &weights[..], 1e-8);

    let fits: Vec<(DMat3, DMat3, f64)> = (0..e.len()).map(|i| points.fit(i, &x, &e)).collect();
    let moments: Vec<DMat3> = fits.iter().map(|f| f.0).collect();
    let gradients: Vec<DMat3> = fits.iter().map(|f| f.1).collect();
    let sums: Vec<f64> = fits.iter().map(|f| f.2).collect();
    assert_near("A", &moments[..], &matrices(&file["A"])[..], 1e-8);
    assert_near("F", &gradients[..], &matrices(&file["F"])[..], 1e-8);
    assert_near("sum of weights", &sums[..], &numbers(&file["sum_w"])[..], 1e-8);
    let raw: Vec<f64> = fits.iter().map(|f| published_volume(f.0, f.2, 1e-3)).collect();
    assert_near("volume", &raw[..], &numbers(&file["vol_raw"])[..], 1e-8);

    let material = MaterialSpec { young: number(&file["E"]), poisson: number(&file["nu"]), ..Default::default() };
    let matter = Matter { control: number(&file["alpha_hg"]), ..Matter::new(&material, 0.0) };
    points.deform(&matter, &volumes, [&x, &e], 0.0, &vec![0.0; e.len()]);
    let mut forces = vec![DVec3::ZERO; e.len()];
    points.add_forces([&x, &e], &mut forces);
    assert_near("force", &forces[..], &vectors(&file["force"])[..], 1e-8);

    let flow = matrices(&file["Fp"]);
    let stop = Stop { tolerance: 1e-12, max_iterations: 1000 };
    for (incremental, name) in [(false, "absolute"), (true, "incremental")] {
        let new = points.embed(&flow, &e, incremental, stop);
        assert_near(name, &new[..], &vectors(&file[format!("e_{name}")])[..], 1e-8);
        let prior = number(&file["lambda_P"]);
        let plastics: Vec<DMat3> = (0..e.len()).map(|i| points.refit(i, flow[i], &e, &new, prior)).collect();
        assert_near(name, &plastics[..], &matrices(&file[format!("P_{name}")])[..], 1e-8);
    }
}
