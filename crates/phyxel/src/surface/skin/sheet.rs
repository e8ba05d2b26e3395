//! Triangles at rest that can be slit: edges are split where a crack passes, and the edges along it are remembered.

use super::blade::Blade;
use crate::geometry::{Feature, Mesh, closest_on_triangle};
use crate::models::shell::cracks::Piece;
use glam::DVec3;
use std::collections::{BTreeMap, BTreeSet};

/// A crack nearer to a vertex than this part of the shortest edge there, or of its piece, passes through the vertex.
const SNAP: f64 = 0.001;
/// The end of a crack nearer to an edge than this part of it, or of its piece, becomes a vertex of the edge.
const EDGE: f64 = 1e-4;
/// An end of a crack farther from the surface than this, in the length of its piece, is beyond the border.
const FAR: f64 = 0.25;
/// Vertices whose normals lean more than this against that of the crack belong to another part of the surface: cosine.
const FACING: f64 = 0.15;
/// Least distance from a crack that is told from none, in the length of its pieces.
const LITTLE: f64 = 0.005;
/// Id of a vertex that the input does not have.
pub const NEW_VERTEX: u32 = u32::MAX;

/// A mesh at rest with slits.
#[derive(Debug, Clone, Default)]
pub(super) struct Sheet {
    /// Vertices at rest: those of the input first, then new ones. Slits are not open here: both sides share their vertices.
    pub mesh: Mesh,
    /// Vertex of the input that each is; `NEW_VERTEX` for others.
    pub ids: Vec<u32>,
    /// First vertex at the same place: seams of texture have several there.
    pub places: Vec<u32>,
    /// Edges along cracks, as places in rising order.
    pub slits: BTreeSet<(u32, u32)>,
    /// Places at which pieces of cracks begin and end, so that the next piece begins where the last one ended.
    ends: BTreeMap<[u64; 3], Option<u32>>,
    /// How far from the cracks through them places are [m], where they are not on them.
    asides: BTreeMap<u32, f64>,
    /// Length of the longest piece of a crack [m].
    pub longest: f64,
    /// Cracks snap to a vertex within this [m].
    snaps: Vec<f64>,
    /// Unit normals of the places, from the triangles around.
    ups: Vec<DVec3>,
}

/// New vertices of one round of splitting, by the edge that they are on.
#[derive(Default)]
struct Splits {
    /// By places.
    places: BTreeMap<(u32, u32), Split>,
    /// By vertices.
    vertices: BTreeMap<(u32, u32), u32>,
}

/// Where an edge is split.
#[derive(Clone, Copy)]
struct Split {
    /// Part of the way from its lower place to the higher.
    part: f64,
    /// New position, on the edge or hardly beside it [m].
    at: DVec3,
    /// New place, once it is made.
    place: Option<u32>,
}

fn pair(a: u32, b: u32) -> (u32, u32) {
    (a.min(b), a.max(b))
}

impl Sheet {
    /// The whole mesh.
    pub fn new(mesh: Mesh) -> Self {
        let places = mesh.places();
        let count = mesh.positions.len();
        let mut shortest = vec![f64::INFINITY; count];
        let mut ups = vec![DVec3::ZERO; count];
        for t in 0..mesh.triangles.len() {
            let (corners, x) = (mesh.triangles[t].map(|v| places[v as usize] as usize), mesh.corners(t));
            let area = (x[1] - x[0]).cross(x[2] - x[0]);
            for k in 0..3 {
                ups[corners[k]] += area;
                let length = x[k].distance(x[(k + 1) % 3]);
                for c in [corners[k], corners[(k + 1) % 3]] {
                    shortest[c] = shortest[c].min(length);
                }
            }
        }
        let own = |v: usize| places[v] as usize;
        Self {
            snaps: (0..count).map(|v| SNAP * shortest[own(v)]).collect(),
            ups: (0..count).map(|v| ups[own(v)].normalize_or_zero()).collect(),
            ids: (0..count as u32).collect(),
            slits: BTreeSet::new(),
            ends: BTreeMap::new(),
            asides: BTreeMap::new(),
            longest: 0.0,
            places,
            mesh,
        }
    }

    fn at(&self, v: u32) -> DVec3 {
        self.mesh.positions[v as usize]
    }

    fn place(&self, v: u32) -> u32 {
        self.places[v as usize]
    }

    /// How far from a vertex the cracks are that go through it, at least a little [m].
    pub fn aside(&self, place: u32) -> f64 {
        self.asides.get(&place).copied().unwrap_or(0.0).max(LITTLE * self.longest)
    }

    /// How near to a vertex cracks go through it, at most [m].
    fn snap(&self, v: u32) -> f64 {
        self.snaps[v as usize].min(SNAP * self.longest)
    }

    /// Slits the sheet along a piece of a crack. Returns the places at which it begins and ends; None beyond the border.
    pub fn slit(&mut self, piece: &Piece) -> [Option<u32>; 2] {
        let Some(blade) = Blade::new(piece) else { return [None; 2] };
        self.longest = self.longest.max(blade.length);
        let ends = [piece.from, piece.to].map(|p| self.end(p, blade.length));
        let near = self.triangles_near(&blade);
        let mut on: BTreeSet<u32> = ends.iter().flatten().copied().collect();
        for &t in &near {
            let corners = self.mesh.triangles[t].map(|v| self.place(v));
            on.extend(corners.into_iter().filter(|&v| self.is_on(&blade, v)));
        }
        for &v in &on {
            let off = blade.side(self.at(v)).abs();
            let known = self.asides.entry(v).or_insert(0.0);
            *known = known.max(off);
        }
        let mut splits = Splits::default();
        for &t in &near {
            let corners = self.mesh.triangles[t].map(|v| self.place(v));
            for k in 0..3 {
                let (a, b) = pair(corners[k], corners[(k + 1) % 3]);
                if let Some(part) = self.crossing(&blade, &on, a, b) {
                    let at = self.at(a).lerp(self.at(b), part);
                    splits.places.insert((a, b), Split { part, at, place: None });
                }
            }
        }
        let made = self.split(&near, &mut splits);
        on.extend(splits.places.values().filter_map(|s| s.place));
        for t in near.into_iter().chain(made) {
            let corners = self.mesh.triangles[t].map(|v| self.place(v));
            for k in 0..3 {
                let (a, b) = pair(corners[k], corners[(k + 1) % 3]);
                if on.contains(&a) && on.contains(&b) {
                    self.slits.insert((a, b));
                }
            }
        }
        ends
    }

    fn end(&mut self, p: DVec3, length: f64) -> Option<u32> {
        let key = p.to_array().map(f64::to_bits);
        if let Some(known) = self.ends.get(&key) {
            return *known;
        }
        let place = self.touch(p, length);
        self.ends.insert(key, place);
        place
    }

    /// Triangles with a box that the ball around a blade meets.
    fn triangles_near(&self, blade: &Blade) -> Vec<usize> {
        let (middle, reach) = (blade.middle(), blade.length);
        let meets = |t: &usize| box_distance(self.mesh.corners(*t), middle) <= reach;
        (0..self.mesh.triangles.len()).filter(meets).collect()
    }

    fn faces(&self, blade: &Blade, v: u32) -> bool {
        self.ups[v as usize].dot(blade.up).abs() > FACING
    }

    fn is_on(&self, blade: &Blade, v: u32) -> bool {
        let (p, snap) = (self.at(v), self.snap(v));
        blade.side(p).abs() <= snap && blade.spans(p, snap) && self.faces(blade, v)
    }

    /// Part of the way from `a` to `b` at which the blade crosses their edge.
    fn crossing(&self, blade: &Blade, on: &BTreeSet<u32>, a: u32, b: u32) -> Option<f64> {
        if on.contains(&a) || on.contains(&b) || !(self.faces(blade, a) || self.faces(blade, b)) {
            return None;
        }
        let (from, to) = (blade.side(self.at(a)), blade.side(self.at(b)));
        if (from >= 0.0) == (to >= 0.0) {
            return None;
        }
        let part = from / (from - to);
        blade.spans(self.at(a).lerp(self.at(b), part), 0.0).then_some(part)
    }

    /// The place on the surface at `p`, made if there is none; None when `p` is beyond the border.
    fn touch(&mut self, p: DVec3, length: f64) -> Option<u32> {
        let mut best: Option<(f64, usize, DVec3, Feature)> = None;
        for t in 0..self.mesh.triangles.len() {
            let corners = self.mesh.corners(t);
            let farthest = best.map_or(FAR * length, |b| b.0);
            if box_distance(corners, p) <= farthest {
                let (q, feature) = closest_on_triangle(&corners, p);
                let distance = q.distance(p);
                if distance < farthest || (best.is_none() && distance <= farthest) {
                    best = Some((distance, t, q, feature));
                }
            }
        }
        let (distance, t, q, feature) = best?;
        let corners = self.mesh.triangles[t].map(|v| self.place(v));
        let nearest = corners.into_iter().min_by(|&a, &b| q.distance(self.at(a)).total_cmp(&q.distance(self.at(b))))?;
        let snap = self.snap(nearest);
        // Beside the border the nearest place is on it, however far away.
        let outside = match feature {
            Feature::Face => false,
            Feature::Edge(k) => self.is_border(corners[k], corners[(k + 1) % 3]),
            Feature::Corner(k) => (0..3).any(|j| j != k && self.is_border(corners[k], corners[j])),
        };
        if outside && distance > snap {
            return None;
        }
        if q.distance(self.at(nearest)) <= snap {
            return Some(nearest);
        }
        for k in 0..3 {
            let (a, b) = pair(corners[k], corners[(k + 1) % 3]);
            let way = self.at(b) - self.at(a);
            let part = ((q - self.at(a)).dot(way) / way.length_squared()).clamp(0.0, 1.0);
            let on_edge = self.at(a).lerp(self.at(b), part);
            if on_edge.distance(q) <= EDGE * length.min(way.length()) {
                let around: Vec<usize> = (0..self.mesh.triangles.len())
                    .filter(|&t| {
                        let places = self.mesh.triangles[t].map(|v| self.place(v));
                        places.contains(&a) && places.contains(&b)
                    })
                    .collect();
                let mut splits = Splits::default();
                splits.places.insert((a, b), Split { part, at: on_edge, place: None });
                self.split(&around, &mut splits);
                return splits.places[&(a, b)].place;
            }
        }
        Some(self.split_inside(t, q))
    }

    fn is_border(&self, a: u32, b: u32) -> bool {
        let has = |t: &&[u32; 3]| {
            let places = t.map(|v| self.place(v));
            places.contains(&a) && places.contains(&b)
        };
        self.mesh.triangles.iter().filter(has).take(2).count() < 2
    }

    /// Puts a vertex into a triangle.
    fn split_inside(&mut self, t: usize, q: DVec3) -> u32 {
        let [a, b, c] = self.mesh.triangles[t];
        let x = self.mesh.corners(t);
        let area = |p: DVec3, q: DVec3, r: DVec3| (q - p).cross(r - p).length();
        let shares = [area(q, x[1], x[2]), area(q, x[2], x[0]), area(q, x[0], x[1])];
        let sum: f64 = shares.iter().sum();
        let new = self.push(&[(a, shares[0] / sum), (b, shares[1] / sum), (c, shares[2] / sum)], q, None);
        self.mesh.triangles[t] = [a, b, new];
        self.mesh.triangles.extend([[b, c, new], [c, a, new]]);
        self.inherit_slot(t, 2);
        new
    }

    /// Splits the edges of the triangles; returns the new triangles, which follow all others.
    fn split(&mut self, near: &[usize], splits: &mut Splits) -> std::ops::Range<usize> {
        let first = self.mesh.triangles.len();
        for &t in near {
            let corners = self.mesh.triangles[t];
            let new = [0, 1, 2].map(|k| self.split_vertex(corners[k], corners[(k + 1) % 3], splits));
            let parts = divided(corners, new, &self.mesh.positions);
            if let Some((kept, others)) = parts.split_first() {
                self.mesh.triangles[t] = *kept;
                self.mesh.triangles.extend(others);
                self.inherit_slot(t, others.len());
            }
        }
        for (&(a, b), &Split { place, .. }) in &splits.places {
            if let Some(c) = place.filter(|_| self.slits.remove(&(a, b))) {
                self.slits.extend([pair(a, c), pair(c, b)]);
            }
        }
        first..self.mesh.triangles.len()
    }

    fn inherit_slot(&mut self, t: usize, count: usize) {
        if let Some(&slot) = self.mesh.slots.get(t) {
            self.mesh.slots.extend(std::iter::repeat_n(slot, count));
        }
    }

    /// The new vertex on an edge, if it is split.
    fn split_vertex(&mut self, v: u32, w: u32, splits: &mut Splits) -> Option<u32> {
        let (a, b) = if self.place(v) < self.place(w) { (v, w) } else { (w, v) };
        let edge = (self.place(a), self.place(b));
        let Split { part, at, place } = *splits.places.get(&edge)?;
        if let Some(&known) = splits.vertices.get(&(a, b)) {
            return Some(known);
        }
        let new = self.push(&[(a, 1.0 - part), (b, part)], at, place);
        splits.vertices.insert((a, b), new);
        splits.places.insert(edge, Split { part, at, place: Some(self.place(new)) });
        Some(new)
    }

    /// A vertex between others.
    fn push(&mut self, of: &[(u32, f64)], position: DVec3, place: Option<u32>) -> u32 {
        let new = self.mesh.push_between(of, position);
        let up = of.iter().map(|&(v, w)| w * self.ups[v as usize]).sum::<DVec3>().normalize_or_zero();
        self.ups.push(up);
        self.ids.push(NEW_VERTEX);
        self.places.push(place.unwrap_or(new));
        let nearest = of.iter().map(|&(v, _)| SNAP * self.at(v).distance(position));
        let snap = of.iter().map(|&(v, _)| self.snaps[v as usize]).chain(nearest).fold(f64::INFINITY, f64::min);
        self.snaps.push(snap);
        new
    }
}

/// The parts of a triangle with vertices on some of its sides, side k from corner k to the next; none if there are none.
fn divided(corners: [u32; 3], new: [Option<u32>; 3], x: &[DVec3]) -> Vec<[u32; 3]> {
    let count = new.iter().flatten().count();
    // Turned so that side 0 is split, and side 2 not if two are: the cut is then between sides 0 and 1.
    let first = (0..3).find(|&k| new[k].is_some() && (count != 2 || new[(k + 2) % 3].is_none()));
    let Some(first) = first else { return Vec::new() };
    let [a, b, c] = [0, 1, 2].map(|k| corners[(first + k) % 3]);
    match [0, 1, 2].map(|k| new[(first + k) % 3]) {
        [Some(ab), None, _] => vec![[a, ab, c], [ab, b, c]],
        [Some(ab), Some(bc), None] => {
            let length = |v: u32, w: u32| x[v as usize].distance_squared(x[w as usize]);
            match length(a, bc) < length(ab, c) {
                true => vec![[ab, b, bc], [a, ab, bc], [a, bc, c]],
                false => vec![[ab, b, bc], [a, ab, c], [ab, bc, c]],
            }
        }
        [Some(ab), Some(bc), Some(ca)] => vec![[ab, b, bc], [a, ab, ca], [ca, bc, c], [ab, bc, ca]],
        _ => Vec::new(),
    }
}

/// Distance of a place from the box around a triangle [m].
fn box_distance([a, b, c]: [DVec3; 3], p: DVec3) -> f64 {
    let (low, high) = (a.min(b).min(c), a.max(b).max(c));
    (low - p).max(p - high).max(DVec3::ZERO).length()
}
