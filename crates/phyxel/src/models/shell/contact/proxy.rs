//! Triangles and edges that stand for a sheet in contact: neighbors of neighbors, without those that others cover better.
//!
//! They follow from the network alone. When a crack changes it, triangles of nodes that it has parted go.

use super::super::network::Network;
use glam::DVec3;

/// A triangle gives way to a node that lies within this part of the square of its circle's radius.
const COVERED: f64 = 0.95;
/// Triangles whose height is below this part of their longest side are lines.
const SLIVER: f64 = 1e-3;

/// Triangles and edges between nodes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Proxy {
    /// Corners, ascending.
    pub triangles: Vec<[u32; 3]>,
    /// Ends, ascending.
    pub edges: Vec<[u32; 2]>,
    /// Triangles on both sides of an edge.
    pub wings: Vec<[u32; 2]>,
}

impl Proxy {
    /// The proxy of a network at rest; `first` is the number of its first node.
    pub fn new(network: &Network, rest: &[DVec3], first: u32) -> Self {
        let mut triangles = Vec::new();
        for i in 0..network.len() as u32 {
            let list = network.neighbors_of(i as usize);
            for (k, &b) in list.iter().enumerate().filter(|(_, b)| **b > i) {
                for &c in list[..k].iter().filter(|c| **c > i) {
                    let corners = [i, b.min(c), b.max(c)];
                    if network.neighbors_of(b as usize).contains(&c) && is_bare(network, rest, &corners) {
                        triangles.push(corners);
                    }
                }
            }
        }
        triangles.sort_unstable();
        triangles.iter_mut().flatten().for_each(|v| *v += first);
        Self::of(triangles)
    }

    /// The proxy of these triangles, which are in order.
    fn of(triangles: Vec<[u32; 3]>) -> Self {
        let mut edges: Vec<[u32; 2]> = triangles.iter().flat_map(|&[a, b, c]| [[a, b], [a, c], [b, c]]).collect();
        edges.sort_unstable();
        edges.dedup();
        let wings = wings(&triangles);
        Self { triangles, edges, wings }
    }

    /// Without the triangles that have lost a link in a network whose first node is `first`; also gives the corners of those.
    pub fn parted(&self, network: &Network, first: u32) -> (Self, Vec<u32>) {
        let linked = |a: u32, b: u32| network.neighbors_of((a - first) as usize).contains(&(b - first));
        let whole = |t: &&[u32; 3]| linked(t[0], t[1]) && linked(t[1], t[2]) && linked(t[0], t[2]);
        let (kept, gone): (Vec<_>, Vec<_>) = self.triangles.iter().partition(whole);
        let mut corners: Vec<u32> = gone.into_iter().flatten().copied().collect();
        corners.sort_unstable();
        corners.dedup();
        (Self::of(kept.into_iter().copied().collect()), corners)
    }

    /// Whether it has a triangle.
    pub fn has_triangle(&self, corners: &[u32; 3]) -> bool {
        self.triangles.binary_search(corners).is_ok()
    }

    /// Whether it has an edge.
    pub fn has_edge(&self, ends: &[u32; 2]) -> bool {
        self.edges.binary_search(ends).is_ok()
    }
}

/// Pairs of triangles that share an edge.
fn wings(triangles: &[[u32; 3]]) -> Vec<[u32; 2]> {
    let sides =
        triangles.iter().enumerate().flat_map(|(t, &[a, b, c])| [[a, b], [a, c], [b, c]].map(|e| (e, t as u32)));
    let mut sides: Vec<([u32; 2], u32)> = sides.collect();
    sides.sort_unstable();
    sides.windows(2).filter(|w| w[0].0 == w[1].0).map(|w| [w[0].1, w[1].1]).collect()
}

/// Whether a triangle has an extent and no node in its circle.
fn is_bare(network: &Network, rest: &[DVec3], corners: &[u32; 3]) -> bool {
    let [a, b, c] = corners.map(|v| rest[v as usize]);
    let (u, v) = (b - a, c - a);
    let normal = u.cross(v);
    let (area2, longest2) =
        (normal.length_squared(), u.length_squared().max(v.length_squared()).max((c - b).length_squared()));
    if area2 <= (SLIVER * longest2).powi(2) {
        return false;
    }
    let offset = (normal.cross(u) * v.length_squared() + v.cross(normal) * u.length_squared()) / (2.0 * area2);
    let (center, radius2) = (a + offset, offset.length_squared());
    let near = corners.iter().flat_map(|&i| network.neighbors_of(i as usize));
    near.filter(|j| !corners.contains(j)).all(|&j| rest[j as usize].distance_squared(center) >= COVERED * radius2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::shell::network::NetworkOptions;
    use crate::models::shell::nodes::{NodeOptions, spread_nodes};
    use crate::models::shell::surface::TriangleSurface;

    #[test]
    fn the_triangles_cover_the_sheet_about_once() {
        for rows in [true, false] {
            let options = NodeOptions { spacing: 0.06, rows, seed: 2 };
            let nodes = spread_nodes(&TriangleSurface::rectangle(1.0, 0.7), &options, &|p, n| (p, n));
            let network = Network::build(&nodes, &NetworkOptions::default());
            let proxy = Proxy::new(&network, &nodes.positions, 10);
            let at = |v: u32| nodes.positions[v as usize - 10];
            let area: f64 =
                proxy.triangles.iter().map(|t| 0.5 * (at(t[1]) - at(t[0])).cross(at(t[2]) - at(t[0])).length()).sum();
            assert!(area > 0.7 * 0.999 && area < 0.7 * 1.05, "{area}");
            // Every place is covered.
            for k in 0..400 {
                let p = DVec3::new(f64::from(k % 20) / 20.0 - 0.47, 0.0, 0.7 * (f64::from(k / 20) / 20.0 - 0.47));
                let inside = |t: &[u32; 3]| {
                    let side = |a: u32, b: u32| (at(b) - at(a)).cross(p - at(a)).y;
                    let s = [side(t[0], t[1]), side(t[1], t[2]), side(t[2], t[0])];
                    s.iter().all(|x| *x >= -1e-12) || s.iter().all(|x| *x <= 1e-12)
                };
                assert!(proxy.triangles.iter().any(inside), "{p}");
            }
        }
    }
}
