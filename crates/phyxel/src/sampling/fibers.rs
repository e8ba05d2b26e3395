//! Nodes and fibers of a shell as surfels: discs and strings.

use crate::models::shell::network::{Network, NetworkOptions, Nodes};
use crate::surface::Surfels;
use glam::DVec3;

/// Radius of the disc at a node and of a string, in spacings.
const NODE: f64 = 0.15;
const STRING: f64 = 0.035;
/// How far discs lie above the strings, on both sides, in spacings.
const ABOVE: f64 = 0.02;
/// Discs along a string at least and at most.
const DISCS: [usize; 2] = [16, 60];
/// How much darker strings are than nodes.
const SHADE: f64 = 0.45;

/// About `count` surfels of the nodes, as discs on both sides, and of the fibers, as strings from node to node.
pub fn fiber_surfels(nodes: &Nodes, spacing: f64, count: usize, color: [u8; 3]) -> Surfels {
    let network = Network::build(nodes, &NetworkOptions::default());
    let mut links: Vec<[usize; 2]> = Vec::new();
    for i in 0..network.len() {
        let fibers = &network.fibers[network.fiber_range(i)];
        links.extend(fibers.iter().flat_map(|f| network.ends(i, f)).map(|j| [i.min(j), i.max(j)]));
    }
    // Fibers share their way from node to node.
    links.sort_unstable();
    links.dedup();
    let mut surfels = Surfels::default();
    for (p, n) in nodes.positions.iter().zip(&nodes.normals) {
        for side in [1.0, -1.0] {
            add(&mut surfels, *p + side * ABOVE * spacing * *n, side * *n, NODE * spacing, color);
        }
    }
    let discs = (count / links.len().max(1)).clamp(DISCS[0], DISCS[1]);
    let dark = color.map(|c| (SHADE * f64::from(c)) as u8);
    for [a, b] in links {
        let normal = (nodes.normals[a] + nodes.normals[b]).normalize_or(nodes.normals[a]);
        let (from, way) = (nodes.positions[a], nodes.positions[b] - nodes.positions[a]);
        let radius = (STRING * spacing).max(0.9 * way.length() / discs as f64);
        for k in 0..discs {
            add(&mut surfels, from + (k as f64 + 0.5) / discs as f64 * way, normal, radius, dark);
        }
    }
    surfels
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
    fn every_node_has_its_discs_and_strings_stay_in_the_sheet() {
        let positions: Vec<DVec3> =
            (0..25).map(|k| DVec3::new(f64::from(k % 5), 0.0, f64::from(k / 5) + 0.01 * f64::from(k % 3))).collect();
        let nodes = Nodes { normals: vec![DVec3::Y; 25], areas: vec![1.0; 25], positions };
        let surfels = fiber_surfels(&nodes, 1.0, 20_000, [200, 100, 50]);
        let discs = surfels.colors.iter().filter(|c| **c == [200, 100, 50]).count();
        assert_eq!(discs, 2 * 25);
        assert!(surfels.positions.len() > discs + 1000);
        let inside = |p: &glam::Vec3| p.y.abs() < 0.14 && p.x > -0.5 && p.x < 4.5;
        assert!(surfels.positions.iter().all(inside), "{:?}", surfels.positions.iter().find(|p| !inside(p)));
    }
}
