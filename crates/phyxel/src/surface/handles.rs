//! Takes small handles off a closed mesh.
//!
//! Where two parts of a surface nearly touch, a mesh on a grid gets a tunnel or a bridge there, narrower than the grid can tell. Such a
//! handle has a short closed way around it that does not part the mesh. The mesh is cut along it and both sides are closed: a bridge is
//! gone, a tunnel is filled. What is wider, the hole of a ring, stays. Closed and manifold before is so after.

use crate::groups::Groups;
use glam::DVec3;
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashSet, VecDeque};

/// One vertex of this many is looked around.
const EVERY: usize = 3;
/// Ways are looked for up to these parts of the longest in turn.
const PARTS: [f64; 2] = [0.4, 1.0];
/// Part of the way to the vertices around it that a vertex at a cut goes.
const ASIDE: f64 = 0.3;
const NONE: u32 = u32::MAX;

/// Cuts handles, of which there are `handles`, that have ways around them of at most `longest` [m]; says how many are left.
pub(super) fn cut_small(
    vertices: &mut Vec<DVec3>,
    triangles: &mut Vec<[u32; 3]>,
    mut handles: i64,
    longest: f64,
) -> i64 {
    // Most are narrow, and these are found soon.
    for part in PARTS {
        while handles > 0 {
            let done = cut_some(vertices, triangles, handles, part * longest);
            handles -= done;
            if done == 0 {
                break;
            }
        }
    }
    handles
}

/// Cuts at most `most` handles, the shortest ways first, that do not meet; says how many.
fn cut_some(vertices: &mut Vec<DVec3>, triangles: &mut Vec<[u32; 3]>, most: i64, longest: f64) -> i64 {
    let ways = Net::new(vertices, triangles).short_ways(longest);
    let (mut done, mut met) = (0, HashSet::new());
    let mut net = Net::new(vertices, triangles);
    for (_, way) in ways {
        if done == most {
            break;
        }
        if way.iter().any(|v| met.contains(v)) || net.parts(&way) {
            continue;
        }
        open(vertices, triangles, &way);
        met.extend(way);
        done += 1;
        net = Net::new(vertices, triangles);
    }
    done
}

/// A triangle at a vertex: the other corners, counter-clockwise, and its number.
type Corner = (u32, u32, u32);

/// A closed mesh, by its vertices.
struct Net<'a> {
    vertices: &'a [DVec3],
    triangles: &'a [[u32; 3]],
    /// Triangles at each vertex, from `starts` on.
    starts: Vec<u32>,
    corners: Vec<Corner>,
}

/// What is near a vertex: scratch of `Net::way_around`.
struct Near {
    /// Way from the vertex [m], and the vertex before; only of `reached`.
    far: Vec<f64>,
    before: Vec<u32>,
    reached: Vec<u32>,
    /// Lengths are not negative: their bits are in their order.
    front: BinaryHeap<Reverse<(u64, u32)>>,
}

impl<'a> Net<'a> {
    fn new(vertices: &'a [DVec3], triangles: &'a [[u32; 3]]) -> Self {
        let mut starts = vec![0u32; vertices.len() + 1];
        triangles.iter().flatten().for_each(|&v| starts[v as usize + 1] += 1);
        (0..vertices.len()).for_each(|v| starts[v + 1] += starts[v]);
        let mut at = starts.clone();
        let mut corners = vec![(0, 0, 0); 3 * triangles.len()];
        for (t, corner) in triangles.iter().enumerate() {
            for k in 0..3 {
                let to = &mut at[corner[k] as usize];
                corners[*to as usize] = (corner[(k + 1) % 3], corner[(k + 2) % 3], t as u32);
                *to += 1;
            }
        }
        Self { vertices, triangles, starts, corners }
    }

    fn around(&self, v: u32) -> &[Corner] {
        &self.corners[self.starts[v as usize] as usize..self.starts[v as usize + 1] as usize]
    }

    /// The triangle on the left of the edge from one vertex to another.
    fn left(&self, from: u32, to: u32) -> u32 {
        self.around(from).iter().find(|c| c.0 == to).map_or(NONE, |c| c.2)
    }

    fn length(&self, a: u32, b: u32) -> f64 {
        self.vertices[a as usize].distance(self.vertices[b as usize])
    }

    /// Closed ways of at most `longest` [m] that are not the border of a disc near by, shortest first.
    fn short_ways(&self, longest: f64) -> Vec<(f64, Vec<u32>)> {
        let count = self.vertices.len();
        let scratch = || Near {
            far: vec![f64::INFINITY; count],
            before: vec![NONE; count],
            reached: Vec::new(),
            front: BinaryHeap::new(),
        };
        let roots: Vec<u32> = (0..count as u32).step_by(EVERY).collect();
        let look = |near: &mut Near, v: &u32| self.way_around(*v, longest, near);
        let found = roots.par_iter().with_min_len(256).map_init(scratch, look);
        let mut ways: Vec<(f64, Vec<u32>)> = found.flatten().collect();
        ways.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
        ways
    }

    /// Ways from a vertex out and back that go around something.
    fn way_around(&self, root: u32, longest: f64, near: &mut Near) -> Vec<(f64, Vec<u32>)> {
        self.spread(root, 0.5 * longest, near);
        let ways = if self.is_disc(near) { Vec::new() } else { self.ways_in(longest, near) };
        near.reached.drain(..).for_each(|v| near.far[v as usize] = f64::INFINITY);
        ways
    }

    /// Finds the shortest ways from a vertex to those within `reach` [m].
    fn spread(&self, root: u32, reach: f64, near: &mut Near) {
        near.far[root as usize] = 0.0;
        near.before[root as usize] = NONE;
        near.reached.push(root);
        near.front.push(Reverse((0, root)));
        while let Some(Reverse((bits, v))) = near.front.pop() {
            if f64::from_bits(bits) > near.far[v as usize] {
                continue;
            }
            for &(w, ..) in self.around(v) {
                let (way, old) = (near.far[v as usize] + self.length(v, w), near.far[w as usize]);
                if way < old && way <= reach {
                    if old == f64::INFINITY {
                        near.reached.push(w);
                    }
                    (near.far[w as usize], near.before[w as usize]) = (way, v);
                    near.front.push(Reverse((way.to_bits(), w)));
                }
            }
        }
    }

    /// Whether the triangles between the vertices reached are a disc: their Euler number is 1.
    fn is_disc(&self, near: &Near) -> bool {
        let has = |v: u32| near.far[v as usize] < f64::INFINITY;
        let (mut edges, mut corners) = (0, 0);
        for c in near.reached.iter().flat_map(|&v| self.around(v)) {
            edges += i64::from(has(c.0));
            corners += i64::from(has(c.0) && has(c.1));
        }
        near.reached.len() as i64 - edges / 2 + corners / 3 == 1
    }

    /// Closed ways along the tree of shortest ways and one more edge each. Edges across which the triangles hang together as a tree make
    /// none; those with the longest ways are taken for that tree first.
    fn ways_in(&self, longest: f64, near: &Near) -> Vec<(f64, Vec<u32>)> {
        let far = |v: u32| near.far[v as usize];
        let mut others: Vec<(f64, u32, u32)> = Vec::new();
        // Triangles that are only partly reached are one, the outside.
        let mut numbers: BTreeMap<u32, u32> = BTreeMap::new();
        for &v in &near.reached {
            for &(w, x, t) in self.around(v).iter().filter(|c| far(c.0) < f64::INFINITY) {
                if far(x) < f64::INFINITY {
                    let next = numbers.len() as u32 + 1;
                    numbers.entry(t).or_insert(next);
                }
                if v < w && near.before[v as usize] != w && near.before[w as usize] != v {
                    others.push((far(v) + far(w) + self.length(v, w), v, w));
                }
            }
        }
        others.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
        let mut groups = Groups::new(numbers.len() + 1);
        let mut ways = Vec::new();
        for (length, v, w) in others {
            let [a, b] = [self.left(v, w), self.left(w, v)].map(|t| numbers.get(&t).copied().unwrap_or(0));
            if groups.lowest(a) != groups.lowest(b) {
                groups.unite(a, b);
            } else if length <= longest {
                ways.push((length, closed_way(near, v, w)));
            }
        }
        ways
    }

    /// Whether the mesh falls apart along a closed way: what is on its left and on its right does not hang together.
    fn parts(&self, way: &[u32]) -> bool {
        let edge = |k: usize| (way[k], way[(k + 1) % way.len()]);
        let border: HashSet<(u32, u32)> = (0..way.len()).map(edge).flat_map(|(a, b)| [(a, b), (b, a)]).collect();
        let (a, b) = edge(0);
        let mut sides = [self.left(a, b), self.left(b, a)].map(|t| (HashSet::from([t]), VecDeque::from([t])));
        // Both grow in turn, so that a small one is soon known.
        loop {
            for side in 0..2 {
                let Some(t) = sides[side].1.pop_front() else { return true };
                let corners = self.triangles[t as usize];
                for k in 0..3 {
                    let (p, q) = (corners[k], corners[(k + 1) % 3]);
                    let other = self.left(q, p);
                    if border.contains(&(p, q)) || other == NONE {
                        continue;
                    }
                    if sides[1 - side].0.contains(&other) {
                        return false;
                    }
                    if sides[side].0.insert(other) {
                        sides[side].1.push_back(other);
                    }
                }
            }
        }
    }
}

/// From one end of an edge to the other along the tree, without what both ways share.
fn closed_way(near: &Near, v: u32, w: u32) -> Vec<u32> {
    let back = |v: u32| -> Vec<u32> {
        let before = |v: &u32| Some(near.before[*v as usize]).filter(|b| *b != NONE);
        std::iter::successors(Some(v), before).collect()
    };
    let (mut one, mut other) = (back(v), back(w));
    while one.len() > 1 && other.len() > 1 && one[one.len() - 2] == other[other.len() - 2] {
        one.pop();
        other.pop();
    }
    one.pop();
    one.extend(other.into_iter().rev());
    one
}

/// Cuts a mesh along a closed way and closes both sides.
fn open(vertices: &mut Vec<DVec3>, triangles: &mut Vec<[u32; 3]>, way: &[u32]) {
    let count = way.len();
    let first = vertices.len() as u32;
    let right = right_of(vertices, triangles, way);
    for (k, &v) in way.iter().enumerate() {
        vertices.push(vertices[v as usize]);
        for &t in &right[k] {
            triangles[t as usize] = triangles[t as usize].map(|c| if c == v { first + k as u32 } else { c });
        }
    }
    let copies: Vec<u32> = (first..first + count as u32).collect();
    step_aside(vertices, triangles, &[way, &copies].concat());
    let other_way: Vec<u32> = copies.into_iter().rev().collect();
    for ring in [way, &other_way] {
        let middle = vertices.len() as u32;
        vertices.push(ring.iter().map(|&v| vertices[v as usize]).sum::<DVec3>() / count as f64);
        triangles.extend((0..count).map(|k| [ring[(k + 1) % count], ring[k], middle]));
    }
}

/// The triangles on the right of a closed way at each of its vertices.
fn right_of(vertices: &[DVec3], triangles: &[[u32; 3]], way: &[u32]) -> Vec<Vec<u32>> {
    let net = Net::new(vertices, triangles);
    let side = |k: usize| {
        let (before, v, after) = (way[(k + way.len() - 1) % way.len()], way[k], way[(k + 1) % way.len()]);
        // Counter-clockwise from the way back to the way on lies what is on the right.
        let mut found = Vec::new();
        let mut at = before;
        while at != after {
            let Some(&(_, next, t)) = net.around(v).iter().find(|c| c.0 == at) else { break };
            found.push(t);
            at = next;
        }
        found
    };
    (0..way.len()).map(side).collect()
}

/// Moves vertices a little toward those around them: the sides of a cut part.
fn step_aside(vertices: &mut [DVec3], triangles: &[[u32; 3]], moved: &[u32]) {
    let places: BTreeMap<u32, usize> = moved.iter().enumerate().map(|(k, v)| (*v, k)).collect();
    let mut sums = vec![(DVec3::ZERO, 0.0); moved.len()];
    for t in triangles {
        for k in 0..3 {
            let Some(&at) = places.get(&t[k]) else { continue };
            for v in [t[(k + 1) % 3], t[(k + 2) % 3]].into_iter().filter(|v| !places.contains_key(v)) {
                sums[at] = (sums[at].0 + vertices[v as usize], sums[at].1 + 1.0);
            }
        }
    }
    for (&v, (sum, count)) in moved.iter().zip(sums).filter(|(_, s)| s.1 > 0.0) {
        let place = &mut vertices[v as usize];
        *place += ASIDE * (sum / count - *place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::sew::shells_and_handles;

    /// A torus around the y axis of `around` by `across` quads.
    fn torus(radius: f64, tube: f64, around: u32, across: u32) -> (Vec<DVec3>, Vec<[u32; 3]>) {
        let turn = |k: u32, n: u32| (std::f64::consts::TAU * f64::from(k) / f64::from(n)).sin_cos();
        let place = |k: u32| {
            let ((s, c), (u, v)) = (turn(k / across, around), turn(k % across, across));
            DVec3::new((radius + tube * v) * c, tube * u, (radius + tube * v) * s)
        };
        let at = |i: u32, j: u32| (i % around) * across + j % across;
        let quad = |k: u32| {
            let (i, j) = (k / across, k % across);
            let [a, b, c, d] = [at(i, j), at(i, j + 1), at(i + 1, j + 1), at(i + 1, j)];
            [[a, b, c], [a, c, d]]
        };
        ((0..around * across).map(place).collect(), (0..around * across).flat_map(quad).collect())
    }

    fn volume(vertices: &[DVec3], triangles: &[[u32; 3]]) -> f64 {
        let one = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|v| vertices[v as usize]);
            a.dot(b.cross(c)) / 6.0
        };
        triangles.iter().map(one).sum()
    }

    fn each(vertices: &[DVec3]) -> Vec<u32> {
        (0..vertices.len() as u32).collect()
    }

    #[test]
    fn a_thin_bridge_is_cut_and_a_narrow_tunnel_filled() {
        // The shortest ways go around the tube of the first, and through the hole of the second.
        for (radius, tube, around, across) in [(1.0, 0.1, 60, 9), (1.0, 0.9, 40, 60)] {
            let (mut vertices, mut triangles) = torus(radius, tube, around, across);
            assert_eq!(shells_and_handles(&triangles, &each(&vertices)), (1, 1));
            let before = volume(&vertices, &triangles);
            assert_eq!(cut_small(&mut vertices, &mut triangles, 1, 0.9), 0);
            assert_eq!(shells_and_handles(&triangles, &each(&vertices)), (1, 0));
            let after = volume(&vertices, &triangles);
            assert!(before > 0.0 && (after / before - 1.0).abs() < 0.05, "{before} {after}");
            // No two vertices are at the same place.
            let places: HashSet<[u64; 3]> = vertices.iter().map(|p| p.to_array().map(f64::to_bits)).collect();
            assert_eq!(places.len(), vertices.len());
        }
    }

    #[test]
    fn the_hole_of_a_ring_stays() {
        let (mut vertices, mut triangles) = torus(1.0, 0.3, 40, 20);
        let before = (vertices.clone(), triangles.clone());
        assert_eq!(cut_small(&mut vertices, &mut triangles, 1, 1.5), 1);
        assert_eq!((vertices, triangles), before);
    }

    #[test]
    fn two_handles_are_cut_and_a_ball_is_left_alone() {
        let (mut vertices, mut triangles) = torus(1.0, 0.1, 60, 9);
        let (more, others) = torus(1.0, 0.9, 40, 60);
        let first = vertices.len() as u32;
        vertices.extend(more.iter().map(|p| *p + 5.0 * DVec3::X));
        triangles.extend(others.iter().map(|t| t.map(|v| v + first)));
        assert_eq!(cut_small(&mut vertices, &mut triangles, 2, 0.9), 0);
        assert_eq!(shells_and_handles(&triangles, &each(&vertices)), (2, 0));
        let ball = crate::sampling::mesh_of(&crate::geometry::Sphere { radius: 0.1 }, 500);
        assert!(Net::new(&ball.positions, &ball.triangles).short_ways(1.0).is_empty());
    }
}
