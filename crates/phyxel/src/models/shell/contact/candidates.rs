//! Which parts of sheets may meet, kept until something has moved far enough.

use super::near::{Kind, weighted};
use super::proxy::Proxy;
use crate::neighbors::Grid;
use glam::DVec3;
use rayon::prelude::*;

/// Edges of one sheet nearer at rest than this part of their length are the two diagonals of a square of nodes; they pass through
/// each other whenever the square is twisted.
const CROSSED: f64 = 0.1;
/// Parts per parallel task.
const CHUNK: usize = 128;
/// Contact distance of two parts of one sheet, at most this part of their distance at rest.
const AT_REST: f64 = 0.5;
/// Room for motion around each part, in distances of nodes.
const ROOM: f64 = 0.3;
/// Parts of one sheet that lie nearer than this to each other at rest, in distances of nodes ...
const VICINITY: f64 = 2.5;
/// ... are left out where the sheet is smooth: where it turns by less than this cosine from triangle to triangle ...
const SMOOTH: f64 = 0.5;
/// ... no triangle has less than this part of its area ...
const WIDE: f64 = 0.7;
/// ... and no point goes farther than this in a step, in distances of nodes. Their distance is then at least this part of
/// that at rest, and those that could still touch are known beforehand.
const SLOW: f64 = 0.05;
const SHORTEST: f64 = 0.7;

/// Two parts that may meet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// What the corners are.
    pub kind: Kind,
    /// Points.
    pub corners: [u32; 4],
    /// Distance that they keep [m].
    pub keep: f64,
    /// Distance when the list was made [m].
    pub seen: f64,
}

/// What is known of the points of all sheets.
#[derive(Debug, Clone, Copy)]
pub struct Sheets<'a> {
    /// Positions now [m].
    pub positions: &'a [DVec3],
    /// Positions at rest [m].
    pub rest: &'a [DVec3],
    /// Half of the thickness at each point [m].
    pub halves: &'a [f64],
    /// Sheet of each point; `u32::MAX` for points of no sheet.
    pub owners: &'a [u32],
    /// Points near cracks, where parts that are near at rest may meet.
    pub rough: &'a [bool],
    /// Whether the sheet is smooth around each point. Written by `make`.
    pub smooth: &'a [bool],
    /// Distance within which parts of a smooth sheet cannot touch [m].
    pub vicinity: f64,
}

/// Lists of what may meet.
#[derive(Debug, Clone, Default)]
pub struct Candidates {
    /// In a fixed order: nodes and triangles, then edges, by their numbers.
    pub list: Vec<Candidate>,
    /// Points of all sheets.
    points: Vec<u32>,
    /// Where they were when the list was made [m].
    made_at: Vec<DVec3>,
    /// Whether the sheet is smooth around each point. Written by `make`.
    smooth: Vec<bool>,
    /// Parts of one sheet that may touch even where it is smooth; None: not looked for. Written by `make`.
    tight: Option<Vec<Candidate>>,
    /// The list holds while each point stays this near to its place, common motion aside [m].
    room: f64,
}

impl Candidates {
    /// For sheets of these points.
    pub fn new(points: Vec<u32>) -> Self {
        Self { points, ..Self::default() }
    }

    /// Forgets the list.
    pub fn forget(&mut self) {
        self.made_at.clear();
    }

    /// Forgets the list, and all parts that a sheet no longer has.
    pub fn forget_parts(&mut self, proxies: &[Proxy]) {
        self.forget();
        let has = |c: &Candidate| match (c.kind, c.corners) {
            (Kind::NodeTriangle, [_, a, b, c]) => proxies.iter().any(|p| p.has_triangle(&[a, b, c])),
            (Kind::Edges, [a, b, c, d]) => [[a, b], [c, d]].iter().all(|e| proxies.iter().any(|p| p.has_edge(e))),
        };
        self.tight.iter_mut().for_each(|list| list.retain(has));
    }

    /// How far points may go from their places in a step in which they go as far as `way` [m] at most; None: the list does not hold.
    pub fn moved(&self, positions: &[DVec3], way: f64) -> Option<f64> {
        if self.made_at.len() != self.points.len() {
            return None;
        }
        let shift = |(&i, from): (&u32, &DVec3)| positions[i as usize] - *from;
        let pairs = || self.points.iter().zip(&self.made_at);
        let mean = pairs().map(shift).sum::<DVec3>() / self.points.len().max(1) as f64;
        let farthest = pairs().map(|p| (shift(p) - mean).length_squared()).fold(0.0, f64::max).sqrt();
        let moved = farthest + way;
        (moved <= self.room).then_some(moved)
    }

    /// Makes the list for steps in which points go as far as `way` [m], common motion aside.
    pub fn make(&mut self, sheets: &Sheets, proxies: &[Proxy], spacing: f64, way: f64) {
        self.made_at.clear();
        self.made_at.extend(self.points.iter().map(|&i| sheets.positions[i as usize]));
        self.room = (0.5 * ROOM * spacing).max(2.0 * way);
        let thickest = self.points.iter().map(|&i| sheets.halves[i as usize]).fold(0.0, f64::max);
        // Both parts may move.
        let reach = 2.0 * thickest + 2.0 * self.room;
        let tight = match self.tight.take() {
            Some(tight) => tight,
            None => self.find_tight(sheets, proxies, spacing, 2.0 * thickest),
        };
        self.find_smooth(sheets, proxies);
        let smooth = std::mem::take(&mut self.smooth);
        // A fast sheet may fold within the room.
        let vicinity = if way < SLOW * spacing { VICINITY * spacing } else { 0.0 };
        let sheets = Sheets { smooth: &smooth, vicinity, ..*sheets };
        self.list.clear();
        self.nodes_and_triangles(&sheets, proxies, reach);
        self.edges(&sheets, proxies, reach);
        let left_out = tight.iter().filter(|c| sheets.leaves_out(&c.corners));
        self.list.extend(left_out.filter_map(|c| sheets.measured(c.kind, c.corners, reach)));
        self.list.sort_unstable_by_key(|c| (c.kind, c.corners));
        (self.smooth, self.tight) = (smooth, Some(tight));
    }

    /// Parts of one sheet that could touch while it is smooth and its points stay within their room.
    fn find_tight(&mut self, sheets: &Sheets, proxies: &[Proxy], spacing: f64, keep: f64) -> Vec<Candidate> {
        let reach = (keep + (ROOM + 2.0 * SLOW) * spacing) / SHORTEST;
        let smooth = vec![true; sheets.positions.len()];
        let rest = Sheets { positions: sheets.rest, smooth: &[], vicinity: 0.0, ..*sheets };
        self.list.clear();
        self.nodes_and_triangles(&rest, proxies, reach);
        self.edges(&rest, proxies, reach);
        let near = Sheets { smooth: &smooth, vicinity: VICINITY * spacing, ..*sheets };
        self.list.drain(..).filter(|c| near.leaves_out(&c.corners)).collect()
    }

    /// Where the triangles on both sides of every edge look the same way, and are not pressed together.
    fn find_smooth(&mut self, sheets: &Sheets, proxies: &[Proxy]) {
        self.smooth.clear();
        self.smooth.extend(sheets.rough.iter().map(|r| !r));
        let normal = |t: &[u32; 3], x: &[DVec3]| {
            let [a, b, c] = t.map(|v| x[v as usize]);
            (b - a).cross(c - a)
        };
        for proxy in proxies {
            for &[t, u] in &proxy.wings {
                let (t, u) = (&proxy.triangles[t as usize], &proxy.triangles[u as usize]);
                let (now, rest) = (
                    [normal(t, sheets.positions), normal(u, sheets.positions)],
                    [normal(t, sheets.rest), normal(u, sheets.rest)],
                );
                // The corners are in the order of their numbers: normals are alike where they were at rest.
                let turn = now[0].dot(now[1]) * rest[0].dot(rest[1]).signum();
                let even = turn > SMOOTH * (now[0].length_squared() * now[1].length_squared()).sqrt();
                let wide = (0..2).all(|k| now[k].length_squared() > WIDE * WIDE * rest[k].length_squared());
                if !(even && wide && rest[0].dot(rest[1]).abs() > SMOOTH * rest[0].length() * rest[1].length()) {
                    t.iter().chain(u).for_each(|&v| self.smooth[v as usize] = false);
                }
            }
        }
    }

    fn nodes_and_triangles(&mut self, sheets: &Sheets, proxies: &[Proxy], reach: f64) {
        let triangles: Vec<[u32; 3]> = proxies.iter().flat_map(|p| &p.triangles).copied().collect();
        let corners = |t: &[u32; 3]| t.map(|v| sheets.positions[v as usize]);
        let middles: Vec<DVec3> = triangles.iter().map(|t| corners(t).iter().sum::<DVec3>() / 3.0).collect();
        let far = |(t, m): (&[u32; 3], &DVec3)| corners(t).iter().fold(0.0, |r: f64, x| r.max(x.distance_squared(*m)));
        let radii: Vec<f64> = triangles.iter().zip(&middles).map(|pair| far(pair).sqrt()).collect();
        let largest = radii.iter().copied().fold(0.0, f64::max);
        let grid = Grid::new(&middles, 0.5 * (largest + reach));
        let look = |i: u32, found: &mut Vec<Candidate>| {
            let p = sheets.positions[i as usize];
            grid.for_each_within(p, largest + reach, |t, r2| {
                let [a, b, c] = triangles[t];
                let near = r2 <= (radii[t] + reach) * (radii[t] + reach);
                if near && i != a && i != b && i != c {
                    found.extend(sheets.candidate(Kind::NodeTriangle, [i, a, b, c], reach));
                }
            });
        };
        let points = std::mem::take(&mut self.points);
        self.gather(points.len(), |k, found| look(points[k], found));
        self.points = points;
    }

    fn edges(&mut self, sheets: &Sheets, proxies: &[Proxy], reach: f64) {
        let edges: Vec<[u32; 2]> = proxies.iter().flat_map(|p| &p.edges).copied().collect();
        let ends = |e: &[u32; 2]| e.map(|v| sheets.positions[v as usize]);
        let middles: Vec<DVec3> = edges.iter().map(|e| 0.5 * (ends(e)[0] + ends(e)[1])).collect();
        let halves: Vec<f64> = edges.iter().map(|e| 0.5 * ends(e)[0].distance(ends(e)[1])).collect();
        let longest = halves.iter().copied().fold(0.0, f64::max);
        let grid = Grid::new(&middles, longest + 0.5 * reach);
        let look = |k: usize, found: &mut Vec<Candidate>| {
            let ([a, b], own) = (edges[k], halves[k] + reach);
            grid.for_each_within(middles[k], own + longest, |l, r2| {
                let [c, d] = edges[l];
                let near = r2 <= (own + halves[l]) * (own + halves[l]);
                if near && l > k && a != c && a != d && b != c && b != d {
                    found.extend(sheets.candidate(Kind::Edges, [a, b, c, d], reach));
                }
            });
        };
        self.gather(edges.len(), look);
    }

    /// Appends what `look` finds for each of `count` parts, in their order.
    fn gather(&mut self, count: usize, look: impl Fn(usize, &mut Vec<Candidate>) + Sync) {
        let chunk = |c: usize| {
            let mut found = Vec::new();
            for k in c * CHUNK..((c + 1) * CHUNK).min(count) {
                let first = found.len();
                look(k, &mut found);
                found[first..].sort_unstable_by_key(|f: &Candidate| f.corners);
            }
            found
        };
        let chunks: Vec<Vec<Candidate>> = (0..count.div_ceil(CHUNK)).into_par_iter().map(chunk).collect();
        self.list.extend(chunks.into_iter().flatten());
    }
}

impl Sheets<'_> {
    /// Whether parts are so near at rest on one sheet, which is smooth there, that they need not be looked at.
    fn leaves_out(&self, corners: &[u32; 4]) -> bool {
        let [a, b] = [corners[0], corners[3]].map(|v| v as usize);
        self.vicinity > 0.0
            && self.owners[a] == self.owners[b]
            && self.rest[a].distance_squared(self.rest[b]) < self.vicinity * self.vicinity
            && corners.iter().all(|&v| self.smooth[v as usize])
    }

    /// The two parts if they are within reach [m] and not left out.
    fn candidate(&self, kind: Kind, corners: [u32; 4], reach: f64) -> Option<Candidate> {
        if self.leaves_out(&corners) { None } else { self.measured(kind, corners, reach) }
    }

    /// The two parts if they are within reach [m].
    fn measured(&self, kind: Kind, corners: [u32; 4], reach: f64) -> Option<Candidate> {
        let [a, b] = [corners[0], corners[3]].map(|v| v as usize);
        let distance = |places: &[DVec3]| {
            let x = corners.map(|v| places[v as usize]);
            weighted(&kind.weights(&x), &x).length()
        };
        let seen = distance(self.positions);
        if seen > reach {
            return None;
        }
        let mut keep = self.halves[a] + self.halves[b];
        if self.owners[a] == self.owners[b] {
            let at_rest = distance(self.rest);
            let length = self.rest[corners[0] as usize].distance(self.rest[corners[1] as usize]);
            if kind == Kind::Edges && at_rest < CROSSED * length {
                return None;
            }
            keep = keep.min(AT_REST * at_rest);
        }
        Some(Candidate { kind, corners, keep, seen })
    }
}
