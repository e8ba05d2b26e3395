//! Borders of a part of a mesh: simple rings.

use super::Fabric;
use crate::groups::Groups;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Vertices of a border in order, with the surface on the left.
pub(super) type Ring = Vec<u32>;

/// Drops triangles until every border is a simple ring, and patches of less than `least` [m²] that have a border.
pub(super) fn tidy(fabric: Fabric, stays: &mut [bool], least: f64) {
    untangle(fabric, stays);
    let heads = patches(fabric, stays);
    let areas = areas(fabric, stays, &heads);
    let bordered: HashSet<u32> =
        borders(fabric, stays).iter().map(|(_, t)| heads[fabric.triangles[*t][0] as usize]).collect();
    for (t, corners) in fabric.triangles.iter().enumerate() {
        let head = heads[corners[0] as usize];
        stays[t] = stays[t] && (!bordered.contains(&head) || areas.get(&head).is_some_and(|a| *a >= least));
    }
}

/// Area of each patch [m²], by its lowest vertex.
pub(super) fn areas(fabric: Fabric, stays: &[bool], heads: &[u32]) -> BTreeMap<u32, f64> {
    let mut areas: BTreeMap<u32, f64> = BTreeMap::new();
    for corners in fabric.triangles.iter().zip(stays).filter(|(_, s)| **s).map(|(t, _)| t) {
        let [a, b, c] = corners.map(|v| fabric.positions[v as usize]);
        *areas.entry(heads[corners[0] as usize]).or_default() += 0.5 * (b - a).cross(c - a).length();
    }
    areas
}

/// Drops triangles where an edge has more than one triangle on a side, or several borders meet in a vertex.
fn untangle(fabric: Fabric, stays: &mut [bool]) {
    loop {
        let mut bad = HashSet::new();
        let mut seen: HashSet<(u32, u32)> = HashSet::new();
        for t in (0..stays.len()).filter(|&t| stays[t]) {
            for (a, b) in edges(fabric, t) {
                if a == b || !seen.insert((a, b)) {
                    bad.extend([a, b]);
                }
            }
        }
        let mut out: HashMap<u32, u32> = HashMap::new();
        for ((a, _), _) in borders(fabric, stays) {
            *out.entry(a).or_default() += 1;
        }
        bad.extend(out.iter().filter(|(_, n)| **n > 1).map(|(a, _)| *a));
        if bad.is_empty() {
            return;
        }
        for (t, corners) in fabric.triangles.iter().enumerate() {
            stays[t] = stays[t] && !corners.iter().any(|&v| bad.contains(&fabric.places[v as usize]));
        }
    }
}

/// The lowest vertex of the patch of each vertex.
pub(super) fn patches(fabric: Fabric, stays: &[bool]) -> Vec<u32> {
    let mut groups = Groups::new(fabric.positions.len());
    for (v, &place) in fabric.places.iter().enumerate() {
        groups.unite(v as u32, place);
    }
    for t in fabric.triangles.iter().zip(stays).filter(|(_, s)| **s).map(|(t, _)| t) {
        groups.unite(t[0], t[1]);
        groups.unite(t[0], t[2]);
    }
    (0..fabric.positions.len() as u32).map(|v| groups.lowest(v)).collect()
}

/// The borders, each from its lowest triangle on.
pub(super) fn rings(fabric: Fabric, stays: &[bool]) -> Vec<Ring> {
    let borders = borders(fabric, stays);
    // From place to place, and the vertex that the triangle has at the first.
    let mut next: HashMap<u32, (u32, u32)> = HashMap::new();
    for &((a, b), t) in &borders {
        let vertex = fabric.triangles[t].into_iter().find(|&v| fabric.places[v as usize] == a).unwrap_or(a);
        next.insert(a, (b, vertex));
    }
    let mut found = Vec::new();
    for ((start, _), _) in borders {
        let (mut ring, mut at) = (Ring::new(), start);
        while let Some((to, vertex)) = next.remove(&at) {
            ring.push(vertex);
            at = to;
        }
        if ring.len() > 2 {
            found.push(ring);
        }
    }
    found
}

/// Directed edges, by places, that have no triangle on the other side, and the triangles they are of.
fn borders(fabric: Fabric, stays: &[bool]) -> Vec<((u32, u32), usize)> {
    let own = || (0..stays.len()).filter(|&t| stays[t]);
    let all: HashSet<(u32, u32)> = own().flat_map(|t| edges(fabric, t)).collect();
    let open = |t: usize| edges(fabric, t).into_iter().filter(|(a, b)| !all.contains(&(*b, *a))).map(move |e| (e, t));
    own().flat_map(open).collect()
}

/// The edges of a triangle, by places.
fn edges(fabric: Fabric, t: usize) -> [(u32, u32); 3] {
    let [a, b, c] = fabric.triangles[t].map(|v| fabric.places[v as usize]);
    [(a, b), (b, c), (c, a)]
}
