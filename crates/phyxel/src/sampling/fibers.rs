//! Nodes and fibers of a shell as surfels: balls and strings.

use crate::models::shell::network::{Network, NetworkOptions, Nodes};
use crate::surface::Surfels;
use glam::DVec3;

/// Radius of the ball at a node and of a string, in spacings.
const BALL: f64 = 0.13;
const STRING: f64 = 0.035;
/// Surfels of a ball.
const ON_BALL: usize = 40;
/// Surfels around a string.
const AROUND: usize = 4;
/// How much darker strings are than balls.
const SHADE: f64 = 0.45;

/// About `count` surfels of the balls at the nodes and the strings along the fibers.
pub fn fiber_surfels(nodes: &Nodes, spacing: f64, count: usize, color: [u8; 3]) -> Surfels {
    let network = Network::build(nodes, &NetworkOptions::default());
    let mut surfels = Surfels::default();
    for p in &nodes.positions {
        add_ball(&mut surfels, *p, BALL * spacing, color);
    }
    let left = count.saturating_sub(surfels.positions.len());
    let rings = (left / (AROUND * network.fibers.len().max(1))).clamp(12, 80);
    let dark = color.map(|c| (SHADE * f64::from(c)) as u8);
    for i in 0..network.len() {
        for fiber in &network.fibers[network.fiber_range(i)] {
            let [a, b] = network.ends(i, fiber).map(|j| nodes.positions[j]);
            add_string(&mut surfels, [a, nodes.positions[i], b], nodes.normals[i], rings, STRING * spacing, dark);
        }
    }
    surfels
}

fn add_ball(surfels: &mut Surfels, center: DVec3, radius: f64, color: [u8; 3]) {
    // Evenly spread by turns of the golden angle.
    for k in 0..ON_BALL {
        let y = 1.0 - 2.0 * (k as f64 + 0.5) / ON_BALL as f64;
        let (r, turn) = ((1.0 - y * y).sqrt(), 2.399_963_229_728_653 * k as f64);
        let n = DVec3::new(r * turn.cos(), y, r * turn.sin());
        add(surfels, center + radius * n, n, 0.45 * radius, color);
    }
}

/// A string along the parabola through three nodes.
fn add_string(surfels: &mut Surfels, [a, p, b]: [DVec3; 3], up: DVec3, rings: usize, radius: f64, color: [u8; 3]) {
    let (first, second) = (p.distance(a), p.distance(b));
    let middle = first / (first + second).max(f64::MIN_POSITIVE);
    for k in 0..rings {
        let t = (k as f64 + 0.5) / rings as f64;
        // Lagrange's form with the knot where the chords say.
        let on = |t: f64| {
            a * ((t - middle) * (t - 1.0) / middle)
                + p * (t * (t - 1.0) / (middle * (middle - 1.0)))
                + b * (t * (t - middle) / (1.0 - middle))
        };
        let (place, along) = (on(t), (on(t + 1e-4) - on(t - 1e-4)).normalize_or(DVec3::X));
        let side = up.cross(along).normalize_or(along.any_orthonormal_vector());
        let top = along.cross(side);
        let step = (first + second) / rings as f64;
        for quarter in 0..AROUND {
            let angle = std::f64::consts::TAU * quarter as f64 / AROUND as f64;
            let n = angle.cos() * top + angle.sin() * side;
            add(surfels, place + radius * n, n, (0.9 * step).max(0.9 * radius), color);
        }
    }
}

fn add(surfels: &mut Surfels, place: DVec3, normal: DVec3, radius: f64, color: [u8; 3]) {
    if !place.is_finite() {
        return;
    }
    let (u, v) = normal.any_orthonormal_pair();
    surfels.positions.push(place.as_vec3());
    surfels.axes_u.push((radius * u).as_vec3());
    surfels.axes_v.push((radius * v).as_vec3());
    surfels.normals.push(normal.as_vec3());
    surfels.colors.push(color);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_has_a_ball_and_strings_stay_in_the_sheet() {
        let positions: Vec<DVec3> =
            (0..25).map(|k| DVec3::new(f64::from(k % 5), 0.0, f64::from(k / 5) + 0.01 * f64::from(k % 3))).collect();
        let nodes = Nodes { normals: vec![DVec3::Y; 25], areas: vec![1.0; 25], positions };
        let surfels = fiber_surfels(&nodes, 1.0, 20_000, [200, 100, 50]);
        let balls = surfels.colors.iter().filter(|c| **c == [200, 100, 50]).count();
        assert_eq!(balls, 25 * ON_BALL);
        assert!(surfels.positions.len() > balls + 1000);
        let inside = |p: &glam::Vec3| p.y.abs() < 0.14 && p.x > -0.5 && p.x < 4.5;
        assert!(surfels.positions.iter().all(inside), "{:?}", surfels.positions.iter().find(|p| !inside(p)));
    }
}
