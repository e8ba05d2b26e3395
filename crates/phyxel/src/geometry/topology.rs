//! Which triangles meet where, and what can be mended: orientation, holes, inside-out parts.

use super::mesh::{Mesh, area_vector};
use super::read::triangulate;
use super::winding::solid_angle;
use crate::groups::Groups;
use glam::DVec3;
use std::collections::HashMap;
use std::f64::consts::PI;

/// Holes are closed as long as their caps are smaller than this part of the piece's area; beyond, a piece is a sheet, not a solid with holes.
const LARGEST_CAP: f64 = 0.7;
/// Longer rings are cut before they are filled.
const LONGEST_RING: usize = 256;
/// Work allowed for telling cavities from inside-out pieces: triangles times pieces.
const MOST_CAVITY_WORK: usize = 200_000_000;

/// What was found in a mesh and what was done about it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MeshReport {
    /// Vertices in use.
    pub vertices: usize,
    /// Triangles, caps of holes included.
    pub triangles: usize,
    /// Pieces that hang together by edges.
    pub pieces: usize,
    /// Triangles without extent, dropped.
    pub degenerate_triangles: usize,
    /// Edges with a triangle on one side only, as read.
    pub open_edges: usize,
    /// Edges with more than two triangles, as read.
    pub non_manifold_edges: usize,
    /// Triangles turned round to agree with their neighbors.
    pub turned_triangles: usize,
    /// Inside-out pieces turned round.
    pub turned_pieces: usize,
    /// Holes closed with triangles.
    pub closed_holes: usize,
    /// Triangles that cross another one.
    pub crossing_triangles: usize,
    /// Whether every edge has as many triangles in one direction as in the other now.
    pub closed: bool,
    /// Enclosed volume [m³].
    pub volume: f64,
    /// Surface area [m²].
    pub area: f64,
    /// What the file holds that was passed over.
    pub remarks: Vec<String>,
}

impl MeshReport {
    /// What a user should know, one sentence each; empty for a clean closed mesh.
    pub fn warnings(&self) -> Vec<String> {
        let mut list = self.remarks.clone();
        let mut tell = |count: usize, text: String| {
            if count > 0 {
                list.push(text);
            }
        };
        let n = self.degenerate_triangles;
        tell(n, format!("{n} triangles without extent dropped"));
        let (n, holes) = (self.open_edges, self.closed_holes);
        let end = if self.closed {
            format!("{holes} holes closed with flat caps")
        } else {
            "not closed; inside is where the winding number exceeds one half".to_owned()
        };
        tell(n, format!("the mesh is open at {n} edges: {end}"));
        let n = self.non_manifold_edges;
        tell(n, format!("{n} edges have more than two triangles; inside is decided by the winding number"));
        let n = self.turned_triangles;
        tell(n, format!("{n} triangles turned round to agree with their neighbors"));
        let n = self.turned_pieces;
        tell(n, format!("{n} of {} pieces were inside out and are turned round", self.pieces));
        let n = self.crossing_triangles;
        tell(n, format!("the mesh crosses itself at {n} triangles; inside is decided by the winding number"));
        tell(usize::from(self.is_flat()), "the mesh encloses hardly any volume".to_owned());
        list
    }

    /// Whether the volume is nothing beside that of a ball of the same area.
    pub fn is_flat(&self) -> bool {
        self.volume.abs() <= 1e-9 * self.area.powf(1.5)
    }
}

/// Drops what has no extent, makes orientations agree, closes holes, turns inside-out pieces. Vertices stay as they are,
/// apart from unused ones. Expects indices in range.
pub(super) fn repair(mesh: &mut Mesh) -> MeshReport {
    repair_and_close(mesh, true)
}

/// As `repair`; holes stay open if `close` is false.
pub(super) fn repair_and_close(mesh: &mut Mesh, close: bool) -> MeshReport {
    let mut report = MeshReport::default();
    let places = same_places(mesh);
    drop_degenerate(mesh, &places, &mut report);
    let edges = Edges::new(mesh, &places);
    report.open_edges = edges.groups().filter(|g| g.len() == 1).count();
    report.non_manifold_edges = edges.groups().filter(|g| g.len() > 2).count();
    orient(mesh, &edges, &mut report);
    let edges = if report.turned_triangles > 0 { Edges::new(mesh, &places) } else { edges };
    if close && !edges.is_closed() {
        close_holes(mesh, &edges, &mut report);
    }
    let edges = if report.closed_holes > 0 { Edges::new(mesh, &places) } else { edges };
    report.closed = edges.is_closed();
    turn_pieces(mesh, &edges, &mut report);
    drop_unused(mesh);
    let given = mesh.normals.len() == mesh.positions.len() && mesh.normals.iter().all(|n| n.length_squared() > 0.0);
    if !given || report.turned_triangles + report.turned_pieces > 0 {
        mesh.compute_normals();
    }
    report.vertices = mesh.positions.len();
    report.triangles = mesh.triangles.len();
    report.volume = mesh.volume();
    report.area = mesh.area();
    report
}

/// For each vertex the first one at exactly the same place.
pub(super) fn same_places(mesh: &Mesh) -> Vec<u32> {
    let mut known = HashMap::with_capacity(mesh.positions.len());
    let place = |(i, x): (usize, &DVec3)| {
        // Adding zero makes -0 and 0 the same place.
        *known.entry((*x + DVec3::ZERO).to_array().map(f64::to_bits)).or_insert(i as u32)
    };
    mesh.positions.iter().enumerate().map(place).collect()
}

/// A side of a triangle: its places in rising order, and which side it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Edge {
    pub low: u32,
    pub high: u32,
    /// Triangle times three plus side; side k goes from corner k to the next.
    pub side: u32,
    /// Whether the triangle runs from `low` to `high`.
    pub rising: bool,
}

impl Edge {
    pub fn triangle(self) -> usize {
        (self.side / 3) as usize
    }
}

/// All sides, those of the same edge next to each other.
pub(super) struct Edges(Vec<Edge>);

impl Edges {
    pub fn new(mesh: &Mesh, places: &[u32]) -> Self {
        let mut edges = Vec::with_capacity(3 * mesh.triangles.len());
        for (t, triangle) in mesh.triangles.iter().enumerate() {
            for k in 0..3 {
                let (a, b) = (places[triangle[k] as usize], places[triangle[(k + 1) % 3] as usize]);
                edges.push(Edge { low: a.min(b), high: a.max(b), side: (3 * t + k) as u32, rising: a < b });
            }
        }
        edges.sort_unstable();
        Self(edges)
    }

    pub fn groups(&self) -> impl Iterator<Item = &[Edge]> {
        self.0.chunk_by(|a, b| a.low == b.low && a.high == b.high)
    }

    pub fn is_closed(&self) -> bool {
        self.groups().all(|g| net(g) == 0)
    }

    /// For each triangle the number of its piece.
    pub fn pieces(&self, triangles: usize) -> (Vec<u32>, usize) {
        let mut groups = Groups::new(triangles);
        for pair in self.groups().flat_map(|g| g.windows(2)) {
            groups.unite(pair[0].triangle() as u32, pair[1].triangle() as u32);
        }
        let mut count = 0;
        let mut pieces = vec![0; triangles];
        for t in 0..triangles {
            let r = groups.lowest(t as u32) as usize;
            // That is the least triangle of its piece, so it was numbered before.
            pieces[t] = if r == t {
                count += 1;
                count - 1
            } else {
                pieces[r]
            };
        }
        (pieces, count as usize)
    }
}

/// Triangles one way minus triangles the other way.
fn net(group: &[Edge]) -> i64 {
    group.iter().map(|e| if e.rising { 1 } else { -1 }).sum()
}

fn drop_degenerate(mesh: &mut Mesh, places: &[u32], report: &mut MeshReport) {
    let extended = |t: &[u32; 3]| {
        let [a, b, c] = t.map(|v| places[v as usize]);
        a != b && b != c && c != a
    };
    let kept: Vec<bool> = mesh.triangles.iter().map(extended).collect();
    keep(&mut mesh.triangles, &kept);
    keep(&mut mesh.slots, &kept);
    report.degenerate_triangles = kept.len() - mesh.triangles.len();
}

/// Turns triangles so that neighbors over an edge of two agree; in each piece the larger area keeps its orientation.
fn orient(mesh: &mut Mesh, edges: &Edges, report: &mut MeshReport) {
    let pairs = || edges.groups().filter(|g| g.len() == 2);
    if pairs().all(|g| g[0].rising != g[1].rising) {
        return;
    }
    // Neighbors over each side, and whether they disagree.
    let count = mesh.triangles.len();
    let mut neighbors = vec![[(u32::MAX, false); 3]; count];
    for g in pairs() {
        let disagree = g[0].rising == g[1].rising;
        neighbors[g[0].triangle()][g[0].side as usize % 3] = (g[1].triangle() as u32, disagree);
        neighbors[g[1].triangle()][g[1].side as usize % 3] = (g[0].triangle() as u32, disagree);
    }
    let mut turned = vec![None; count];
    let mut piece = Vec::new();
    for seed in 0..count {
        if turned[seed].is_some() {
            continue;
        }
        piece.clear();
        piece.push(seed);
        turned[seed] = Some(false);
        let mut next = 0;
        let mut area = [0.0; 2];
        while next < piece.len() {
            let t = piece[next];
            next += 1;
            let state = turned[t].unwrap_or(false);
            area[usize::from(state)] += area_vector(mesh.corners(t)).length();
            for (n, disagree) in neighbors[t] {
                if n != u32::MAX && turned[n as usize].is_none() {
                    turned[n as usize] = Some(state != disagree);
                    piece.push(n as usize);
                }
            }
        }
        for &t in &piece {
            if turned[t] == Some(area[1] <= area[0]) {
                mesh.triangles[t].swap(1, 2);
                report.turned_triangles += 1;
            }
        }
    }
}

/// Caps the loops of edges that lack a triangle. What a set of oriented triangles lacks always forms loops.
fn close_holes(mesh: &mut Mesh, edges: &Edges, report: &mut MeshReport) {
    let (pieces, piece_count) = edges.pieces(mesh.triangles.len());
    let mut areas = vec![0.0; piece_count];
    for t in 0..mesh.triangles.len() {
        areas[pieces[t] as usize] += 0.5 * area_vector(mesh.corners(t)).length();
    }
    // The caps of a piece stand or fall together.
    let mut caps: Vec<Caps> = (0..piece_count).map(|_| Caps::default()).collect();
    for (ring, piece) in loops(edges, &pieces) {
        let corners: Vec<DVec3> = ring.iter().map(|&v| mesh.positions[v as usize]).collect();
        let caps = &mut caps[piece as usize];
        caps.holes += 1;
        cap(&corners, |t| {
            caps.area += 0.5 * area_vector(t.map(|k| corners[k])).length();
            caps.triangles.push(t.map(|k| ring[k]));
        });
    }
    for (caps, area) in caps.into_iter().zip(areas) {
        if caps.area <= LARGEST_CAP * area {
            mesh.triangles.extend(caps.triangles);
            report.closed_holes += caps.holes;
        }
    }
    if !mesh.slots.is_empty() {
        mesh.slots.resize(mesh.triangles.len(), 0);
    }
}

/// Triangles over a ring. A long ring is first cut in two where its ends are nearest, which keeps the triangles short.
fn cap(corners: &[DVec3], mut emit: impl FnMut([usize; 3])) {
    let mut open = vec![(0..corners.len()).collect::<Vec<usize>>()];
    while let Some(ring) = open.pop() {
        let n = ring.len();
        if n <= LONGEST_RING {
            let places: Vec<DVec3> = ring.iter().map(|&k| corners[k]).collect();
            triangulate(&places, |t| emit(t.map(|k| ring[k])));
            continue;
        }
        // Halves of equal count, so the work stays small.
        let width = |&i: &usize| corners[ring[i]].distance_squared(corners[ring[i + n / 2]]);
        let first = (0..n - n / 2).min_by(|a, b| width(a).total_cmp(&width(b))).unwrap_or(0);
        let (from, to) = (first, first + n / 2);
        open.push(ring[to..].iter().chain(&ring[..=from]).copied().collect());
        open.push(ring[from..=to].to_vec());
    }
}

#[derive(Default)]
struct Caps {
    holes: usize,
    area: f64,
    triangles: Vec<[u32; 3]>,
}

/// Closed loops of the missing half edges, each with the piece of its first edge.
fn loops(edges: &Edges, pieces: &[u32]) -> Vec<(Vec<u32>, u32)> {
    // Missing half edges, sorted by where they start.
    let mut missing: Vec<(u32, u32, u32)> = Vec::new();
    for g in edges.groups() {
        let (n, e) = (net(g), g[0]);
        let (from, to) = if n > 0 { (e.high, e.low) } else { (e.low, e.high) };
        (0..n.unsigned_abs()).for_each(|_| missing.push((from, to, pieces[e.triangle()])));
    }
    missing.sort_unstable();
    let start = |v: u32| missing.partition_point(|m| m.0 < v);
    let mut used = vec![false; missing.len()];
    let mut on_path: HashMap<u32, usize> = HashMap::new();
    let mut found = Vec::new();
    for first in 0..missing.len() {
        if used[first] {
            continue;
        }
        let mut path = vec![missing[first].0];
        on_path.clear();
        on_path.insert(missing[first].0, 0);
        // As many half edges arrive at a vertex as leave it, so the walk ends only where it began.
        while let Some(&here) = path.last() {
            let next = (start(here)..missing.len()).take_while(|&m| missing[m].0 == here).find(|&m| !used[m]);
            let Some(m) = next else { break };
            used[m] = true;
            let to = missing[m].1;
            if let Some(&at) = on_path.get(&to) {
                // A vertex met again closes a loop; the walk goes on from there.
                let ring = path.split_off(at);
                ring.iter().for_each(|v| _ = on_path.remove(v));
                found.push((ring, missing[m].2));
                path.push(to);
                on_path.insert(to, at);
            } else {
                on_path.insert(to, path.len());
                path.push(to);
            }
        }
    }
    found.retain(|(ring, _)| ring.len() >= 3);
    found
}

/// Turns pieces whose volume is negative, unless they are cavities in another piece.
fn turn_pieces(mesh: &mut Mesh, edges: &Edges, report: &mut MeshReport) {
    let count = mesh.triangles.len();
    let (pieces, piece_count) = edges.pieces(count);
    report.pieces = piece_count;
    let center = mesh.bounds().center();
    // The volume of a closed piece does not depend on the center; an open one is judged from its own middle.
    let mut middles = vec![(DVec3::ZERO, 0.0); piece_count];
    for t in 0..count {
        let m = &mut middles[pieces[t] as usize];
        m.0 += mesh.corners(t).iter().map(|&x| x - center).sum::<DVec3>();
        m.1 += 3.0;
    }
    let mut volumes = vec![0.0; piece_count];
    for t in 0..count {
        let piece = pieces[t] as usize;
        let [a, b, c] = mesh.corners(t).map(|x| x - center - middles[piece].0 / middles[piece].1);
        volumes[piece] += a.dot(b.cross(c)) / 6.0;
    }
    let negative: Vec<usize> = (0..piece_count).filter(|&p| volumes[p] < 0.0).collect();
    let look = piece_count > 1 && negative.len().saturating_mul(count) <= MOST_CAVITY_WORK;
    let mut turn = vec![false; piece_count];
    for &piece in &negative {
        turn[piece] = !look || {
            let first = pieces.iter().position(|&p| p as usize == piece).unwrap_or(0);
            let p = mesh.positions[mesh.triangles[first][0] as usize];
            let others = (0..count).filter(|&t| pieces[t] as usize != piece);
            let winding: f64 = others.map(|t| solid_angle(mesh.corners(t), p)).sum::<f64>() / (4.0 * PI);
            winding.abs() < 0.5
        };
    }
    for t in 0..count {
        if turn[pieces[t] as usize] {
            mesh.triangles[t].swap(1, 2);
        }
    }
    report.turned_pieces = turn.iter().filter(|&&t| t).count();
}

fn drop_unused(mesh: &mut Mesh) {
    let mut used = vec![false; mesh.positions.len()];
    mesh.triangles.iter().flatten().for_each(|&v| used[v as usize] = true);
    if used.iter().all(|&u| u) {
        return;
    }
    let mut next = 0;
    let renumbered: Vec<u32> = used
        .iter()
        .map(|&u| {
            next += u32::from(u);
            next.wrapping_sub(1)
        })
        .collect();
    mesh.triangles.iter_mut().flatten().for_each(|v| *v = renumbered[*v as usize]);
    keep(&mut mesh.positions, &used);
    keep(&mut mesh.normals, &used);
    keep(&mut mesh.ids, &used);
    if let Some(colors) = &mut mesh.colors {
        keep(colors, &used);
    }
    if let Some(uvs) = &mut mesh.uvs {
        keep(uvs, &used);
    }
}

fn keep<T>(items: &mut Vec<T>, used: &[bool]) {
    let mut i = 0;
    items.retain(|_| {
        i += 1;
        used.get(i - 1).copied().unwrap_or(false)
    });
}
