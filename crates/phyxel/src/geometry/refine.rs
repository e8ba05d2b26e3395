//! New vertices between those of a mesh, with all that vertices have: for meshes that are refined or cut.

use super::mesh::Mesh;
use glam::{DVec2, DVec3};
use std::collections::BTreeMap;

impl Mesh {
    /// Adds a vertex between others, with weights that sum to 1; it has no number in a file. Returns its index.
    pub(crate) fn push_between(&mut self, of: &[(u32, f64)], position: DVec3) -> u32 {
        let new = self.positions.len() as u32;
        self.positions.push(position);
        if self.normals.len() == new as usize {
            let normal = of.iter().map(|&(v, w)| w * self.normals[v as usize]).sum::<DVec3>();
            self.normals.push(normal.normalize_or(DVec3::Y));
        }
        if let Some(uvs) = &mut self.uvs {
            let uv = of.iter().map(|&(v, w)| w * uvs[v as usize]).sum::<DVec2>();
            uvs.push(uv);
        }
        if let Some(colors) = &mut self.colors {
            let channel = |k: usize| of.iter().map(|&(v, w)| w * f64::from(colors[v as usize][k])).sum::<f64>();
            let color = [0, 1, 2].map(|k| channel(k).round() as u8);
            colors.push(color);
        }
        if !self.ids.is_empty() {
            self.ids.push(u32::MAX);
        }
        new
    }

    /// The mesh with each triangle cut into `parts`² alike; vertices stay and come first.
    pub(crate) fn subdivided(mut self, parts: usize) -> Self {
        let (triangles, slots) = (std::mem::take(&mut self.triangles), std::mem::take(&mut self.slots));
        let mut on_edges: BTreeMap<(u32, u32, usize), u32> = BTreeMap::new();
        for (t, corners) in triangles.iter().enumerate() {
            let x = corners.map(|v| self.positions[v as usize]);
            let mut net: Vec<u32> = Vec::with_capacity((parts + 1) * (parts + 2) / 2);
            for i in 0..=parts {
                for j in 0..=parts - i {
                    let counts = [parts - i - j, i, j];
                    let part = |n: usize| n as f64 / parts as f64;
                    let of: Vec<(u32, f64)> =
                        (0..3).filter(|&k| counts[k] > 0).map(|k| (corners[k], part(counts[k]))).collect();
                    let place = x[0] + part(i) * (x[1] - x[0]) + part(j) * (x[2] - x[0]);
                    net.push(match of[..] {
                        [(v, _)] => v,
                        [(a, wa), (b, wb)] => {
                            let (low, high, weight) = if a < b { (a, b, wb) } else { (b, a, wa) };
                            let key = (low, high, (weight * parts as f64).round() as usize);
                            let [from, to] = [low, high].map(|v| self.positions[v as usize]);
                            let place = from.lerp(to, weight);
                            *on_edges.entry(key).or_insert_with(|| self.push_between(&of, place))
                        }
                        _ => self.push_between(&of, place),
                    });
                }
            }
            let at = |i: usize, j: usize| net[i * (2 * parts + 3 - i) / 2 + j];
            for i in 0..parts {
                for j in 0..parts - i {
                    self.triangles.push([at(i, j), at(i + 1, j), at(i, j + 1)]);
                    if i + j + 1 < parts {
                        self.triangles.push([at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)]);
                    }
                }
            }
            if let Some(&slot) = slots.get(t) {
                self.slots.resize(self.triangles.len(), slot);
            }
        }
        self
    }

    /// The mesh with all edges longer than `longest` [m] cut in half, again and again; vertices stay and come first. An edge is cut by its
    /// length alone, so that triangles on both sides of it still meet.
    pub(crate) fn split_longer(mut self, longest: f64) -> Self {
        /// Halvings: no edge is a million times as long as it should be.
        const MOST: usize = 20;
        for _ in 0..MOST {
            let long = |m: &Self, a: u32, b: u32| {
                m.positions[a as usize].distance_squared(m.positions[b as usize]) > longest * longest
            };
            let (triangles, slots) = (std::mem::take(&mut self.triangles), std::mem::take(&mut self.slots));
            let before = triangles.len();
            let mut halves: BTreeMap<(u32, u32), u32> = BTreeMap::new();
            for (t, corners) in triangles.iter().enumerate() {
                let [a, b, c] = *corners;
                let [ab, bc, ca] = [(a, b), (b, c), (c, a)].map(|(p, q)| {
                    long(&self, p, q).then(|| {
                        let (p, q) = (p.min(q), p.max(q));
                        let middle = self.positions[p as usize].midpoint(self.positions[q as usize]);
                        *halves.entry((p, q)).or_insert_with(|| self.push_between(&[(p, 0.5), (q, 0.5)], middle))
                    })
                });
                // Turned so that the edges that are cut come first.
                let parts = match [ab, bc, ca] {
                    [None, None, None] => vec![[a, b, c]],
                    [Some(d), None, None] => vec![[a, d, c], [d, b, c]],
                    [None, Some(d), None] => vec![[b, d, a], [d, c, a]],
                    [None, None, Some(d)] => vec![[c, d, b], [d, a, b]],
                    [Some(d), Some(e), None] => vec![[a, d, c], [d, b, e], [d, e, c]],
                    [None, Some(d), Some(e)] => vec![[b, d, a], [d, c, e], [d, e, a]],
                    [Some(e), None, Some(d)] => vec![[c, d, b], [d, a, e], [d, e, b]],
                    [Some(d), Some(e), Some(f)] => vec![[a, d, f], [d, b, e], [f, e, c], [d, e, f]],
                };
                self.triangles.extend(parts);
                if let Some(&slot) = slots.get(t) {
                    self.slots.resize(self.triangles.len(), slot);
                }
            }
            if self.triangles.len() == before {
                break;
            }
        }
        self
    }

    /// The part of the mesh where `depth` is below zero; triangles across its zero are cut there. Vertices stay, also unused ones.
    pub(crate) fn clipped(mut self, depth: &dyn Fn(DVec3) -> f64) -> Self {
        let (triangles, slots) = (std::mem::take(&mut self.triangles), std::mem::take(&mut self.slots));
        let values: Vec<f64> = self.positions.iter().map(|p| depth(*p)).collect();
        let mut between: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for (t, corners) in triangles.iter().enumerate() {
            let mut polygon: Vec<u32> = Vec::with_capacity(4);
            for k in 0..3 {
                let (a, b) = (corners[k], corners[(k + 1) % 3]);
                let outside = [a, b].map(|v| values[v as usize] < 0.0);
                if outside[0] {
                    polygon.push(a);
                }
                if outside[0] != outside[1] {
                    let (low, high) = (a.min(b), a.max(b));
                    let ends = [low, high].map(|v| self.positions[v as usize]);
                    polygon.push(*between.entry((low, high)).or_insert_with(|| {
                        let part = zero_between(ends, depth);
                        self.push_between(&[(low, 1.0 - part), (high, part)], ends[0].lerp(ends[1], part))
                    }));
                }
            }
            for k in 2..polygon.len() {
                self.triangles.push([polygon[0], polygon[k - 1], polygon[k]]);
            }
            if let Some(&slot) = slots.get(t) {
                self.slots.resize(self.triangles.len(), slot);
            }
        }
        self
    }
}

/// Part of the way between two places at which a function crosses zero, which they lie on different sides of.
fn zero_between([a, b]: [DVec3; 2], function: &dyn Fn(DVec3) -> f64) -> f64 {
    let below = function(a) < 0.0;
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        match (function(a.lerp(b, middle)) < 0.0) == below {
            true => low = middle,
            false => high = middle,
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn square() -> Mesh {
        let corner = |x: f64, z: f64| DVec3::new(x, 0.0, z);
        Mesh {
            positions: vec![corner(0.0, 0.0), corner(0.0, 1.0), corner(1.0, 1.0), corner(1.0, 0.0)],
            triangles: vec![[0, 1, 2], [0, 2, 3]],
            normals: vec![DVec3::Y; 4],
            uvs: Some(vec![DVec2::ZERO, DVec2::Y, DVec2::ONE, DVec2::X]),
            colors: Some(vec![[0; 3], [0; 3], [200; 3], [200; 3]]),
            slots: vec![4, 7],
            ..Mesh::default()
        }
    }

    #[test]
    fn finer_triangles_share_their_edges_and_keep_what_vertices_have() {
        let fine = square().subdivided(7);
        assert_eq!((fine.positions.len(), fine.triangles.len()), (64, 98));
        assert_eq!(fine.slots.iter().filter(|s| **s == 4).count(), 49);
        assert!((fine.area() - 1.0).abs() < 1e-12);
        let uvs = fine.uvs.as_ref().unwrap();
        for (p, uv) in fine.positions.iter().zip(uvs) {
            assert!((uv.x - p.x).abs() < 1e-12 && (uv.y - p.z).abs() < 1e-12);
        }
        assert!((f64::from(fine.colors.unwrap()[10][0]) - 200.0 * fine.positions[10].x).abs() < 1.0);
    }

    #[test]
    fn clipping_cuts_triangles_and_their_texture() {
        let half = square().subdivided(3).clipped(&|p| p.x - 0.4);
        assert!((half.area() - 0.4).abs() < 1e-9);
        assert_eq!(half.slots.len(), half.triangles.len());
        for t in &half.triangles {
            for &v in t {
                assert!(half.positions[v as usize].x < 0.4 + 1e-9);
                assert!((half.uvs.as_ref().unwrap()[v as usize].x - half.positions[v as usize].x).abs() < 1e-9);
            }
        }
    }
}
