//! Conduction in a bar and a slab, and the front of a melting bar, against closed forms.
//!
//! The matter is so soft and still that mechanics takes no time; heat goes the way it goes in every scene.

use crate::lab::{Want, check, run, world};
use phyxel::world::World;

/// Temperature that stands for 0, and for 1 a kelvin above [K].
const ZERO: f64 = 300.0;
/// Diffusivity of the slab [m²/s]: conductivity 100, density 1000, specific heat 1000.
const DIFFUSIVITY: f64 = 1e-4;

/// A bar along x from 0 to `length` [m], `across` points wide; `sampling` "lattice" makes it one.
fn bar(sampling: &str, spacing: f64, length: f64, across: f64, start: f64, thermal: &str, walls: &str) -> String {
    let width = across * spacing;
    let sampling = match sampling {
        "lattice" => "model = \"lattice\"".to_string(),
        other => format!("sampling = \"{other}\""),
    };
    format!(
        "format = 1\ngravity = [0, 0, 0]\nduration = 1000\nfps = 1\n[[body]]\nname = \"bar\"\n\
         shape = {{ kind = \"box\", size = [{length}, {width}, {width}] }}\nat = [{}, 0, 0]\nspacing = {spacing}\n\
         {sampling}\nsurface = {{ kind = \"none\" }}\ntemperature = {start}\n\
         material = {{ young = 1e-4, density = 1000, specific_heat = 1000, {thermal} }}\n{walls}",
        0.5 * length
    )
}

/// A wall at x, from one side or the other, at a temperature [K].
fn wall(normal: f64, x: f64, temperature: f64) -> String {
    format!(
        "[[collider]]\nshape = {{ kind = \"plane\", normal = [{normal}, 0, 0], offset = {} }}\ntemperature = {temperature}\n",
        normal * x
    )
}

/// Temperature above `ZERO` at x: what the points within a spacing have in excess of the exact profile, on average, on
/// top of the exact value there.
fn read(world: &World, x: f64, spacing: f64, exact: impl Fn(f64) -> f64) -> f64 {
    let (heat, points) = (world.heat().unwrap(), world.points());
    let near: Vec<usize> = (0..points.len()).filter(|&i| (points.positions[i].x - x).abs() < spacing).collect();
    let excess = |&i: &usize| heat.temperature(i).unwrap() - ZERO - exact(points.positions[i].x);
    exact(x) + near.iter().map(excess).sum::<f64>() / near.len() as f64
}

/// erfc by its continued fraction beyond 2 and its series below.
fn erfc(x: f64) -> f64 {
    let root = std::f64::consts::PI.sqrt();
    if x > 2.0 {
        let fraction = (1..60).rev().fold(x, |f, k| x + 0.5 * f64::from(k) / f);
        return (-x * x).exp() / (root * fraction);
    }
    let (mut term, mut sum) = (x, x);
    for n in 1..80 {
        let n = f64::from(n);
        term *= -x * x / n;
        sum += term / (2.0 * n + 1.0);
    }
    1.0 - 2.0 / root * sum
}

/// Slab from 0 to `width`, at 1 when both faces become 0.
fn cooling(x: f64, width: f64, time: f64) -> f64 {
    use std::f64::consts::PI;
    let mode =
        |n: f64| 4.0 / (n * PI) * (n * PI * x / width).sin() * (-DIFFUSIVITY * time * (n * PI / width).powi(2)).exp();
    (0..100).map(|k| mode(2.0 * f64::from(k) + 1.0)).sum()
}

const SPACING: f64 = 2.5e-3;

fn half_space(sampling: &str) {
    let text = bar(sampling, SPACING, 0.4, 6.0, ZERO, "conductivity = 100", &wall(1.0, 0.0, ZERO + 1.0));
    let mut world = world(&text);
    let mut time = 0;
    for (x, t, reference, tolerances) in
        [(0.01, 1, 0.4795, [0.03, 0.003]), (0.02, 5, 0.527089, [0.02, 0.002]), (0.05, 20, 0.429195, [0.02, 0.002])]
    {
        run(&mut world, t - time);
        time = t;
        let exact = |x: f64| erfc(x / (2.0 * (DIFFUSIVITY * t as f64).sqrt()));
        assert!((exact(x) - reference).abs() < 1e-4);
        let got = read(&world, x, SPACING, exact);
        let name = format!("heat-slab, {sampling} | half space, temperature at {x} m, {t} s");
        check(&name, Want::About(reference), tolerances, tolerances[0], got);
    }
}

fn slab(sampling: &str) {
    let walls = wall(1.0, 0.0, ZERO) + &wall(-1.0, 0.1, ZERO);
    let mut world = world(&bar(sampling, SPACING, 0.1, 6.0, ZERO + 1.0, "conductivity = 100", &walls));
    let mut time = 0;
    for (t, reference, tolerances) in [(5, 0.772312, [0.02, 0.002]), (20, 0.176867, [0.01, 0.001])] {
        run(&mut world, t - time);
        time = t;
        let exact = |x: f64| cooling(x, 0.1, t as f64);
        assert!((exact(0.05) - reference).abs() < 1e-5);
        let got = read(&world, 0.05, SPACING, exact);
        let name = format!("heat-slab, {sampling} | slab, temperature in the middle, {t} s");
        check(&name, Want::About(reference), tolerances, tolerances[0], got);
    }
}

/// Where the front is [m]: melted volume over the cross-section.
fn front(world: &World, section: f64) -> f64 {
    let (heat, points) = (world.heat().unwrap(), world.points());
    (0..points.len()).map(|i| heat.melted_fraction(i) * points.volumes[i]).sum::<f64>() / section
}

fn stefan(sampling: &str) {
    let spacing = 2e-3;
    let thermal = format!("conductivity = 1, latent_heat = 1000, solidus = {ZERO}");
    // Only heat is asked here: the matter stays where it is.
    let outside = wall(1.0, 0.0, ZERO + 1.0) + "[[event]]\nat = 0\nsolidify = \"bar\"\n[[pin]]\nbody = \"bar\"\n";
    let mut world = world(&bar(sampling, spacing, 0.06, 4.0, ZERO, &thermal, &outside));
    // Of the matter as it is sampled: few cells of a lattice do not fill a thin bar to the last bit.
    let section = world.points().volumes.iter().sum::<f64>() / 0.06;
    let (mut time, mut fronts) = (0, Vec::new());
    for (t, reference, research) in [(100, 0.0124013, 0.05), (400, 0.0248025, 0.04), (900, 0.0372038, 0.03)] {
        run(&mut world, t - time);
        time = t;
        fronts.push((f64::from(t as u32).ln(), front(&world, section).ln()));
        let name = format!("heat-stefan, {sampling} | front at {t} s [m]");
        check(&name, Want::Near(reference), [research, 0.01], research, front(&world, section));
    }
    let exponent = crate::lab::line(fronts.iter().copied(), 0.0).1;
    let name = format!("heat-stefan, {sampling} | exponent of time");
    check(&name, Want::About(0.5), [0.02, 0.005], 0.02, exponent);
}

#[test]
fn heat_enters_a_half_space() {
    half_space("regular");
    half_space("poisson");
}

#[test]
fn slab_cools_through_both_faces() {
    slab("regular");
    slab("poisson");
    slab("lattice");
}

#[test]
fn insulated_matter_keeps_its_heat() {
    // Half a second of heat, then the walls are gone: 67 steps of heat per frame.
    let gone = "[[event]]\nat = 0.5\nremove = \"collider0\"\n[[event]]\nat = 0.5\nremove = \"collider1\"\n";
    let walls = wall(1.0, 0.0, ZERO) + &wall(-1.0, 0.04, ZERO + 2.0) + gone;
    let mut world = world(&bar("poisson", SPACING, 0.04, 4.0, ZERO + 1.0, "conductivity = 100", &walls));
    run(&mut world, 1);
    let mass: f64 = world.points().masses.iter().sum();
    let above = |world: &World| world.heat().unwrap().content() - mass * 1000.0 * ZERO;
    let before = above(&world);
    run(&mut world, 150);
    let change = (above(&world) / before - 1.0).abs();
    check("heat-slab, poisson | insulated, change of heat in 1e4 steps", Want::Small, [1e-9, 1e-12], 1e-9, change);
}

#[test]
fn melting_front_goes_with_the_root_of_time() {
    stefan("regular");
    stefan("poisson");
    stefan("lattice");
}
