//! Plastic solids: permanent set of a bar, relaxation at held shape.

use crate::lab::{Want, check, run, strain, world};
use phyxel::materials::PlasticLaw;
use phyxel::materials::plastic::{Symmetric, isotropic_stress, metric};
use phyxel::run::Simulation;

/// plastic-uniaxial without hardening: 0.2 x 0.05 x 0.05 m, 4 points across, E = 10 MPa, yield at 0.1 MPa, pulled slowly to
/// the logarithmic strain 0.03 between roller grips, held, let go.
#[test]
fn permanent_set_of_a_bar() {
    let mut world = world(
        r#"
format = 1
name = "set"
gravity = [0, 0, 0]
duration = 10
fps = 10
integrator = "implicit"
time_step = 0.1
body = [{ name = "bar", shape = { kind = "box", size = [0.2, 0.05, 0.05] }, spacing = 0.0125, sampling = "regular",
    material = { young = 1e7, poisson = 0.3, density = 1000, damping = 0, smoothing = 0, yield_strain = 0.0106145, creep = 100 },
    surface = { kind = "none" }, regions = [
        { name = "left", half_space = { normal = [-1, 0, 0], offset = 0.075 } },
        { name = "right", half_space = { normal = [1, 0, 0], offset = 0.075 } },
    ] }]
pin = [
    { name = "hold", body = "bar", region = "left", axes = "x" },
    { name = "pull", body = "bar", region = "right", axes = "x", until = 4, motion = [{ t = 0 }, { t = 3, at = [0.0053, 0, 0] }] },
]
probe = [
    { name = "force", pin = "pull", measure = "reaction_x" },
    { name = "filled", body = "bar", measure = "volume" },
]
"#,
    );
    run(&mut world, 39);
    let middle = |world: &_, axis| strain(world, axis, |x: glam::DVec3| x.x.abs() < 0.05);
    let (along, across) = (middle(&world, 0), 0.5 * (middle(&world, 1) + middle(&world, 2)));
    // Force over the area as deformed, times the volume ratio: Kirchhoff stress.
    let stress = world.probe_values()[0] * (1.0 + along) / 0.0025;
    println!("strain along {along:.5}, across {across:.5}, stress {stress:.0} Pa");
    run(&mut world, 40);
    let set = (1.0 + middle(&world, 0)).ln();
    let wanted = (1.0 + along).ln() - 0.01;
    let volume = world.probe_values()[1] / world.points().volumes.iter().sum::<f64>();
    check("plastic-uniaxial | stress at yield [Pa]", Want::Near(1e5), [0.05, 0.001], 0.05, stress);
    check("plastic-uniaxial | set", Want::Near(wanted), [0.05, 0.002], 0.05, set);
    check("plastic-uniaxial | volume ratio after unloading", Want::About(1.0), [0.005, 1e-6], 0.005, volume);
}

/// plastic-relaxation, with the strain-state rule in place of the multiplicative one: the excess over the yield limit of
/// the norm of the deviatoric stress decays as exp(-creep t) at held shape.
#[test]
fn relaxation_at_held_shape() {
    let (two_mu, limit) = (1e6 / 1.3, 1e4);
    let law = PlasticLaw { yield_strain: limit / two_mu, creep: 5.0, limit: 0.5 };
    let lambda = 1e6 * 0.3 / (1.3 * 0.4);
    let stress = |e: &Symmetric| isotropic_stress(lambda, two_mu, e);
    // Deviatoric Kirchhoff stress of the stretch diag(exp(a), exp(-a/2), exp(-a/2)) [Pa].
    let kirchhoff = |a: f64, plastic: &Symmetric| {
        let squares = [(2.0 * a).exp(), (-a).exp(), (-a).exp()];
        let green: Symmetric = std::array::from_fn(|k| if k < 3 { 0.5 * (squares[k] - 1.0) } else { 0.0 });
        let s = stress(&std::array::from_fn(|k| green[k] - plastic[k]));
        let along: [f64; 3] = std::array::from_fn(|k| squares[k] * s[k]);
        let mean = along.iter().sum::<f64>() / 3.0;
        (green, along.iter().map(|t| (t - mean) * (t - mean)).sum::<f64>().sqrt())
    };
    // The stretch at which it is 30 kPa.
    let (mut low, mut high) = (0.0, 0.1);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if kirchhoff(middle, &[0.0; 6]).1 < 3e4 { low = middle } else { high = middle }
    }
    let mut plastic = [0.0; 6];
    for step in 1..=500 {
        let (green, _) = kirchhoff(low, &plastic);
        let change = law.over(1e-3).change(&green, &metric(&plastic), &plastic, two_mu, stress);
        plastic.iter_mut().zip(change).for_each(|(p, c)| *p += c);
        let stress = kirchhoff(low, &plastic).1;
        let t = f64::from(step) * 1e-3;
        if let 100 | 200 | 500 = step {
            let want = limit + (3e4 - limit) * (-5.0 * t).exp();
            let label = format!("plastic-relaxation | stress norm at {t} s [Pa]");
            check(&label, Want::Near(want), [0.02, 0.005], 0.02, stress);
        }
    }
}
