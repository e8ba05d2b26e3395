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
/// Parts of one sheet whose nearest corners lie nearer than this to each other at rest, in distances of nodes ...
const VICINITY: f64 = 2.0;
/// ... are left out where the sheet is smooth: where it turns by less than this cosine from triangle to triangle ...
const SMOOTH: f64 = 0.5;
/// ... no triangle has less than this part of its area ...
const WIDE: f64 = 0.7;
/// ... and no edge there whose ends go farther than this against each other in a step, in distances of nodes. Their distance is then at
/// least this part of that at rest, and those that could still touch are known beforehand.
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
    /// Velocities now [m/s], and the step [s].
    pub velocities: &'a [DVec3],
    pub dt: f64,
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
    /// Whether a part with a corner there may meet anything, and whether such a part is so near that a node may; empty: any may. Written
    /// by `make`.
    pub busy: [&'a [bool]; 2],
}

/// Lists of what may meet.
#[derive(Debug, Clone, Default)]
pub struct Candidates {
    /// In a fixed order: nodes and triangles, then edges, by their numbers.
    pub list: Vec<Candidate>,
    /// Points of all sheets.
    points: Vec<u32>,
    /// Where all points of the world were when the list was made [m].
    places: Vec<DVec3>,
    /// Whether the sheet is smooth around each point. Written by `make`.
    smooth: Vec<bool>,
    /// Whether a part with a corner there may meet anything, and whether such a part is so near that a node may. Written by `make`.
    busy: [Vec<bool>; 2],
    /// Longest edge at each point [m]. Scratch of `find_busy`.
    sides: Vec<f64>,
    /// Parts of one sheet that may touch even where it is smooth; None: not looked for. Written by `make`.
    tight: Option<Vec<Candidate>>,
    /// The list holds while each point stays this near to its place, common motion aside [m], ...
    room: f64,
    /// ... and the ends of each edge in a smooth place to where they were against each other [m].
    twist: f64,
}

impl Candidates {
    /// For sheets of these points.
    pub fn new(points: Vec<u32>) -> Self {
        Self { points, ..Self::default() }
    }

    /// Forgets the list.
    pub fn forget(&mut self) {
        self.places.clear();
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

    /// How far points may be from their places after a step in which they go as far as `way` [m], common motion aside; None: the list
    /// does not hold.
    pub fn moved(&self, sheets: &Sheets, proxies: &[Proxy], way: f64) -> Option<f64> {
        if self.places.len() != sheets.positions.len() {
            return None;
        }
        let shifts = || self.points.iter().map(|&i| sheets.positions[i as usize] - self.places[i as usize]);
        let mean = shifts().sum::<DVec3>() / self.points.len().max(1) as f64;
        let farthest = shifts().map(|s| (s - mean).length_squared()).fold(0.0, f64::max).sqrt();
        let moved = farthest + way;
        (moved <= self.room && self.holds_shape(sheets, proxies)).then_some(moved)
    }

    /// Whether the ends of all edges in smooth places stay near to where they were against each other.
    fn holds_shape(&self, sheets: &Sheets, proxies: &[Proxy]) -> bool {
        let edges = proxies.iter().flat_map(|p| &p.edges).map(|e| e.map(|v| v as usize));
        let mut smooth = edges.filter(|e| e.iter().all(|&v| self.smooth[v]));
        smooth.all(|[a, b]| {
            let change = (sheets.positions[a] - sheets.positions[b]) - (self.places[a] - self.places[b]);
            let next = change + sheets.dt * (sheets.velocities[a] - sheets.velocities[b]);
            change.length_squared().max(next.length_squared()) <= self.twist * self.twist
        })
    }

    /// Makes the list for steps in which points go as far as `way` [m], common motion aside.
    pub fn make(&mut self, sheets: &Sheets, proxies: &[Proxy], spacing: f64, way: f64) {
        self.places.clear();
        self.places.extend_from_slice(sheets.positions);
        self.room = (0.5 * ROOM * spacing).max(2.0 * way);
        let thickest = self.points.iter().map(|&i| sheets.halves[i as usize]).fold(0.0, f64::max);
        // Both parts may move.
        let reach = 2.0 * thickest + 2.0 * self.room;
        let tight = match self.tight.take() {
            Some(tight) => tight,
            None => self.find_tight(sheets, proxies, spacing, 2.0 * thickest),
        };
        self.find_smooth(sheets, proxies, SLOW * spacing);
        let smooth = std::mem::take(&mut self.smooth);
        self.twist = ROOM * spacing;
        let vicinity = VICINITY * spacing;
        let sheets = Sheets { smooth: &smooth, vicinity, ..*sheets };
        self.find_busy(&sheets, proxies, reach);
        let busy = std::mem::take(&mut self.busy);
        let sheets = Sheets { busy: [&busy[0], &busy[1]], ..sheets };
        self.list.clear();
        self.nodes_and_triangles(&sheets, proxies, reach);
        self.edges(&sheets, proxies, reach);
        let left_out = tight.iter().filter(|c| sheets.leaves_out(c.kind, &c.corners));
        self.list.extend(left_out.filter_map(|c| sheets.measured(c.kind, c.corners, reach)));
        self.list.sort_unstable_by_key(|c| (c.kind, c.corners));
        (self.smooth, self.busy, self.tight) = (smooth, busy, Some(tight));
    }

    /// Where something is near that is not left out. Most of a sheet is smooth and alone: to see that node by node is a fraction of the
    /// work of comparing all edges. Two parts within reach have two corners that are no farther apart than that and the longest edge at
    /// one of them.
    fn find_busy(&mut self, sheets: &Sheets, proxies: &[Proxy], reach: f64) {
        self.sides.clear();
        self.sides.resize(sheets.positions.len(), 0.0);
        for &[a, b] in proxies.iter().flat_map(|p| &p.edges) {
            let side = sheets.positions[a as usize].distance(sheets.positions[b as usize]);
            for v in [a, b] {
                self.sides[v as usize] = self.sides[v as usize].max(side);
            }
        }
        let longest = self.sides.iter().copied().fold(0.0, f64::max);
        let places: Vec<DVec3> = self.points.iter().map(|&i| sheets.positions[i as usize]).collect();
        let grid = Grid::new(&places, 0.5 * (longest + reach));
        let (points, sides) = (&self.points, &self.sides);
        let near = sheets.vicinity * sheets.vicinity;
        let is_busy = |k: usize| {
            let (i, mut busy) = (points[k] as usize, false);
            grid.for_each_within(places[k], longest + reach, |l, r2| {
                let j = points[l] as usize;
                let far = sides[i].max(sides[j]) + reach;
                let other = sheets.owners[i] != sheets.owners[j];
                busy |= r2 <= far * far && (other || sheets.rest[i].distance_squared(sheets.rest[j]) >= near);
            });
            busy
        };
        let found: Vec<bool> = (0..points.len()).into_par_iter().with_min_len(CHUNK).map(is_busy).collect();
        let [busy, near_busy] = &mut self.busy;
        busy.clear();
        busy.extend(sheets.smooth.iter().map(|smooth| !smooth));
        self.points.iter().zip(found).for_each(|(&i, found)| busy[i as usize] |= found);
        near_busy.clone_from(busy);
        for (k, &i) in self.points.iter().enumerate().filter(|(_, i)| !sheets.smooth[**i as usize]) {
            let reach = self.sides[i as usize] + reach;
            grid.for_each_within(places[k], reach, |l, _| near_busy[self.points[l] as usize] = true);
        }
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
        self.list.drain(..).filter(|c| near.leaves_out(c.kind, &c.corners)).collect()
    }

    /// Where the triangles on both sides of every edge look the same way, and are not pressed together, nor deform by more than `slow`
    /// [m] in a step.
    fn find_smooth(&mut self, sheets: &Sheets, proxies: &[Proxy], slow: f64) {
        self.smooth.clear();
        self.smooth.extend(sheets.rough.iter().map(|r| !r));
        for &[a, b] in proxies.iter().flat_map(|p| &p.edges) {
            let way = sheets.dt * (sheets.velocities[a as usize] - sheets.velocities[b as usize]);
            if way.length_squared() > slow * slow {
                [a, b].iter().for_each(|&v| self.smooth[v as usize] = false);
            }
        }
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
            if !sheets.busy[1].is_empty() && !sheets.busy[1][i as usize] {
                return;
            }
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
            if !sheets.is_busy(&edges[k]) {
                return;
            }
            grid.for_each_within(middles[k], own + longest, |l, r2| {
                let [c, d] = edges[l];
                let near = r2 <= (own + halves[l]) * (own + halves[l]);
                // A part that is not busy does not look itself.
                let first = l > k || !sheets.is_busy(&edges[l]);
                if near && first && a != c && a != d && b != c && b != d {
                    let corners = if l > k { [a, b, c, d] } else { [c, d, a, b] };
                    found.extend(sheets.candidate(Kind::Edges, corners, reach));
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
    fn is_busy(&self, corners: &[u32]) -> bool {
        self.busy[0].is_empty() || corners.iter().any(|&v| self.busy[0][v as usize])
    }

    /// Whether parts are so near at rest on one sheet, which is smooth there, that they need not be looked at.
    fn leaves_out(&self, kind: Kind, corners: &[u32; 4]) -> bool {
        let (first, second) = corners.split_at(kind.first());
        let near = |a: &u32, b: &u32| {
            let [a, b] = [a, b].map(|v| self.rest[*v as usize]);
            a.distance_squared(b) < self.vicinity * self.vicinity
        };
        self.vicinity > 0.0
            && self.owners[corners[0] as usize] == self.owners[corners[3] as usize]
            && corners.iter().all(|&v| self.smooth[v as usize])
            && first.iter().any(|a| second.iter().any(|b| near(a, b)))
    }

    /// The two parts if they are within reach [m] and not left out.
    fn candidate(&self, kind: Kind, corners: [u32; 4], reach: f64) -> Option<Candidate> {
        if self.leaves_out(kind, &corners) { None } else { self.measured(kind, corners, reach) }
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
