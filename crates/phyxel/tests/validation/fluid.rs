//! Liquids of the lattice model: a tank at rest and the front of a dam break, in the plane.

use crate::lab::{Want, check, line, run, world};
use phyxel::world::World;

/// Colliders around a tank from 0 to `width`.
fn tank(width: f64) -> String {
    let wall = |name: &str, normal: &str, offset: f64| {
        format!(
            "[[collider]]\nname = \"{name}\"\nfriction = 0\nshape = {{ kind = \"plane\", normal = {normal}, offset = {offset} }}\n"
        )
    };
    wall("floor", "[0, 1, 0]", 0.0) + &wall("left", "[1, 0, 0]", 0.0) + &wall("right", "[-1, 0, 0]", -width)
}

fn water(width: f64, depth: f64, tank_width: f64, spacing: f64, fps: f64, duration: f64) -> World {
    world(&format!(
        r#"
format = 1
name = "water"
duration = {duration}
fps = {fps}
[[body]]
name = "water"
model = "lattice"
dimensions = 2
phase = "liquid"
shape = {{ kind = "box", size = [{width}, {depth}, 1], at = [{x}, {y}, 0] }}
spacing = {spacing}
material = {{ density = 1000, viscosity = "1 mPa s" }}
{walls}"#,
        x = 0.5 * width,
        y = 0.5 * depth,
        walls = tank(tank_width)
    ))
}

/// Water 0.3 m deep, 17 layers: pressure, density, height and speed, averaged from 4 to 5 s.
#[test]
fn rest_tank() {
    let (width, depth, spacing) = (0.4, 0.3, 0.02);
    let mut world = water(width, depth, width, spacing, 50.0, 5.0);
    run(&mut world, 200);
    let count = world.points().len() as f64;
    let filled = count * world.points().volumes[0] / width;
    let (mut slope, mut bottom, mut worst, mut height, mut rms) = (0.0, 0.0, 0.0f64, 0.0, 0.0);
    for _ in 0..50 {
        run(&mut world, 1);
        let points = world.points();
        let depth = |i: u32| filled - points.positions[i as usize].y;
        let known = world.lattice().liquid_pressures().map(|(i, pressure)| (depth(i), pressure));
        let inner: Vec<_> = known.filter(|(d, _)| *d > 2.0 * spacing && *d < filled - 2.0 * spacing).collect();
        let (at_bottom, steep) = line(inner.into_iter(), filled);
        slope += 0.02 * steep;
        bottom += 0.02 * at_bottom;
        let deep = |(i, _): &(u32, f64)| points.positions[*i as usize].y < filled - 2.0 * spacing;
        let densities = world.lattice().liquid_densities();
        worst = densities.filter(deep).fold(worst, |m, (_, d)| m.max((d - 1.0).abs()));
        height += 0.02 * 2.0 * points.positions.iter().map(|p| p.y).sum::<f64>() / count;
        rms += 0.02 * (points.velocities.iter().map(|v| v.length_squared()).sum::<f64>() / count).sqrt();
    }
    check("fluid-rest-tank pressure_slope", Want::Near(9810.0), [0.05, 0.01], 0.05, slope);
    check("fluid-rest-tank bottom_pressure", Want::Near(9810.0 * filled), [0.07, 0.02], 0.07, bottom);
    check("fluid-rest-tank density_worst", Want::Small, [0.03, 0.005], 0.03, worst);
    check("fluid-rest-tank fill_height", Want::Near(filled), [0.03, 0.01], 0.03, height);
    check("fluid-rest-tank residual_speed", Want::Small, [0.05, 0.005], 0.05, rms);
}

/// Front over the width of the column, and height at the left wall over that of the column, at times [s].
fn dam_break(across: f64) -> Vec<[f64; 3]> {
    let a = 0.05715;
    let spacing = a / across;
    let mut world = water(a, 2.0 * a, 7.0 * a, spacing, 200.0, 0.2);
    let mut rows = Vec::new();
    for frame in 1..=38 {
        run(&mut world, 1);
        let points = world.points();
        let front = points.positions.iter().fold(0.0, |m: f64, p| m.max(p.x)) + 0.45 * spacing;
        let beside = points.positions.iter().filter(|p| p.x < 2.0 * spacing);
        let height = beside.fold(0.0, |m: f64, p| m.max(p.y)) + 0.45 * spacing;
        rows.push([f64::from(frame) / 200.0, front / a, height / (2.0 * a)]);
    }
    rows
}

/// Time at which the front passes `z`, in units of sqrt(a / 2 g).
fn passes(rows: &[[f64; 3]], z: f64) -> f64 {
    let k = rows.iter().position(|r| r[1] > z).unwrap_or(rows.len() - 1).max(1);
    let (b, e) = (rows[k - 1], rows[k]);
    (b[0] + (z - b[1]) / (e[1] - b[1]) * (e[0] - b[0])) * (2.0 * 9.81 / 0.05715f64).sqrt()
}

fn check_dam_break(across: f64) {
    let rows = dam_break(across);
    let at = |time: f64| rows.iter().find(|r| r[0] > time - 1e-6).copied().unwrap_or([0.0; 3]);
    let research = [0.1, 0.03];
    check("fluid-dam-break front_T1.112", Want::Near(1.627), research, 0.1, at(0.06)[1]);
    check("fluid-dam-break front_T2.038", Want::Near(2.665), research, 0.1, at(0.11)[1]);
    check("fluid-dam-break front_T2.965", Want::Near(3.965), research, 0.1, at(0.16)[1]);
    check("fluid-dam-break transit_1.5_to_4", Want::Near(2.01), research, 0.1, passes(&rows, 4.0) - passes(&rows, 1.5));
    check("fluid-dam-break column_T2.038", Want::Near(0.66), research, 0.1, at(0.11)[2]);
    let unit = (2.0 * 9.81 / 0.05715f64).sqrt();
    let fastest = rows.windows(2).fold(0.0, |m: f64, w| m.max((w[1][1] - w[0][1]) / ((w[1][0] - w[0][0]) * unit)));
    assert!(fastest < 2.0, "faster than the dry front of shallow water: {fastest}");
}

#[test]
fn dam_break_front() {
    check_dam_break(20.0);
}

#[test]
#[ignore = "half a minute"]
fn dam_break_front_fine() {
    check_dam_break(40.0);
}
