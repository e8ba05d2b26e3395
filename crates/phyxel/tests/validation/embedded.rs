//! Embedded bodies: tension, large stretch, permanent set with and without hardening, relaxation at held shape.
//!
//! They are stepped explicitly; loads come slowly and vibrations are damped.

use crate::lab::{Want, check, run, strain, world};
use glam::DVec3;
use phyxel::models::embedded::Matter;
use phyxel::run::Simulation;
use phyxel::scene::MaterialSpec;

/// solid-tension and, at large stretch, solid-stvk-large for a corotated linear material: 0.4 x 0.1 x 0.1 m, roller grips two layers
/// deep. Returns force [N], strain along and across between the grips.
fn pulled(sampling: &str, across: usize, poisson: f64, stretch: f64) -> [f64; 3] {
    let spacing = 0.1 / across as f64;
    let grip = 0.2 - 2.0 * spacing;
    let mut world = world(&format!(
        r#"
format = 1
name = "pulled"
gravity = [0, 0, 0]
duration = 0.2
fps = 40
body = [{{ name = "bar", model = "embedded", shape = {{ kind = "box", size = [0.4, 0.1, 0.1] }}, spacing = {spacing}, sampling = "{sampling}",
    material = {{ young = 1e6, poisson = {poisson}, density = 1000, damping = 150 }}, surface = {{ kind = "none" }},
    regions = [
        {{ name = "left", half_space = {{ normal = [-1, 0, 0], offset = {grip} }} }},
        {{ name = "right", half_space = {{ normal = [1, 0, 0], offset = {grip} }} }},
    ] }}]
pin = [
    {{ name = "hold", body = "bar", region = "left", axes = "x" }},
    {{ name = "pull", body = "bar", region = "right", axes = "x", motion = [{{ t = 0 }}, {{ t = 0.05, at = [{shift}, 0, 0] }}] }},
]
probe = [{{ name = "force", pin = "pull", measure = "reaction_x" }}]
"#,
        shift = 2.0 * grip * (stretch - 1.0),
    ));
    run(&mut world, 7);
    let middle = |axis| strain(&world, axis, |x: DVec3| x.x.abs() < 0.1);
    [world.probe_values()[0], middle(0), 0.5 * (middle(1) + middle(2))]
}

#[test]
fn tension_of_an_embedded_bar() {
    for (sampling, poisson) in [("regular", 0.0), ("regular", 0.3), ("regular", 0.45), ("poisson", 0.3)] {
        let [force, along, across] = pulled(sampling, 8, poisson, 1.001);
        let label = |what: &str| format!("solid-tension, embedded, {sampling} | {what}, nu = {poisson}");
        let at_wanted = force * 1e-3 / along;
        check(&label("axial reaction [N]"), Want::Near(10.0), [0.03, 0.001], ACCEPTED, at_wanted);
        check(&label("Poisson's ratio"), Want::About(poisson), [0.01, 0.001], 0.02, -across / along);
    }
}

/// Research tolerance of the stiffness; the surface is not corrected for what lies outside, as that of `mls` is.
const ACCEPTED: f64 = 0.03;

#[test]
fn large_stretch_of_an_embedded_bar() {
    for stretch in [0.8, 1.25, 1.5] {
        let [force, along, across] = pulled("regular", 6, 0.3, stretch);
        let label = |what: &str| format!("solid-stvk-large, embedded, corotated | {what}, L = {stretch}");
        // Nominal stress E (L - 1), lateral stretch 1 - ν (L - 1).
        check(&label("nominal stress [Pa]"), Want::Near(1e6 * along), [0.03, 0.003], ACCEPTED, force / 0.01);
        check(&label("lateral stretch"), Want::Near(1.0 - 0.3 * along), [0.01, 0.001], 0.01, 1.0 + across);
    }
}

/// plastic-uniaxial: 0.2 x 0.05 x 0.05 m, 4 points across, E = 10 MPa, yield at 0.1 MPa, pulled slowly to the logarithmic strain 0.03
/// between roller grips, held, let go.
#[test]
fn permanent_set_of_an_embedded_bar() {
    for (hardening, name) in [(0.0, "perfect"), (1e6, "hardening")] {
        let mut world = world(&format!(
            r#"
format = 1
name = "set"
gravity = [0, 0, 0]
duration = 1
fps = 50
body = [{{ name = "bar", model = "embedded", shape = {{ kind = "box", size = [0.2, 0.05, 0.05] }}, spacing = 0.0125, sampling = "regular",
    material = {{ young = 1e7, poisson = 0.3, density = 1000, damping = 300, yield_strain = 0.0106145, creep = 3000, hardening = {hardening} }},
    surface = {{ kind = "none" }}, regions = [
        {{ name = "left", half_space = {{ normal = [-1, 0, 0], offset = 0.075 }} }},
        {{ name = "right", half_space = {{ normal = [1, 0, 0], offset = 0.075 }} }},
    ] }}]
pin = [
    {{ name = "hold", body = "bar", region = "left", axes = "x" }},
    {{ name = "pull", body = "bar", region = "right", axes = "x", until = 0.36, motion = [{{ t = 0 }}, {{ t = 0.3, at = [0.0053, 0, 0] }}] }},
]
probe = [
    {{ name = "force", pin = "pull", measure = "reaction_x" }},
    {{ name = "filled", body = "bar", measure = "volume" }},
]
"#
        ));
        run(&mut world, 17);
        let middle = |world: &_, axis| strain(world, axis, |x: DVec3| x.x.abs() < 0.05);
        let along = (1.0 + middle(&world, 0)).ln();
        // Force over the area as deformed, times the volume ratio: Kirchhoff stress.
        let stress = world.probe_values()[0] * along.exp() / 0.0025;
        run(&mut world, 5);
        let set = (1.0 + middle(&world, 0)).ln();
        let rise = 1e7 * hardening / (1e7 + hardening);
        let wanted = 1e5 + rise * (along - 0.01);
        let volume = world.probe_values()[1] / world.points().volumes.iter().sum::<f64>();
        let label = |what: &str| format!("plastic-uniaxial, embedded, {name} | {what}");
        check(&label("stress [Pa]"), Want::Near(wanted), [0.05, 0.001], 0.05, stress);
        check(&label("set"), Want::Near(along - wanted / 1e7), [0.05, 0.002], 0.05, set);
        check(&label("volume ratio after unloading"), Want::About(1.0), [0.005, 1e-6], 0.005, volume);
    }
}

/// plastic-relaxation at one point.
#[test]
fn relaxation_of_embedded_matter_at_held_shape() {
    let two_mu = 1e6 / 1.3;
    let material =
        MaterialSpec { young: 1e6, poisson: 0.3, yield_strain: 1e4 / two_mu, creep: 5.0, ..Default::default() };
    let matter = Matter::new(&material, 0.0);
    let stretch = |a: f64| DVec3::new(a, -0.5 * a, -0.5 * a).exp();
    let (mut low, mut high) = (0.0, 0.1);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if matter.deviatoric_norm(stretch(middle)) < 3e4 { low = middle } else { high = middle }
    }
    let (mut elastic, mut plastic) = (stretch(low), DVec3::ONE);
    for step in 1..=1000 {
        if let Some(flow) = matter.flow(elastic, matter.limit(0.0), -(-5e-3f64).exp_m1(), 0.0) {
            elastic /= flow.plastic;
            plastic *= flow.plastic;
        }
        let t = f64::from(step) * 1e-3;
        if let 100 | 200 | 500 | 1000 = step {
            let want = 1e4 + 2e4 * (-5.0 * t).exp();
            let label = format!("plastic-relaxation, embedded | stress norm at {t} s [Pa]");
            check(&label, Want::Near(want), [0.02, 0.005], 0.02, matter.deviatoric_norm(elastic));
        }
        assert!((plastic.x * plastic.y * plastic.z - 1.0).abs() < 1e-12);
    }
}
