//! Which nodes are neighbors, the fan around each, and the fibers through each [WSG05] sec. 4.1.
//!
//! Differs from [WSG05]: the partner of a neighbor is the one most opposite by direction (eq. 16 as printed picks the same side,
//! and raw vectors favor far nodes), neighborhoods are symmetric, a fiber that both its ends ask for exists once, and fibers that
//! turn too sharply inside the surface are left out.

use super::fiber::Knots;
use crate::neighbors::Grid;
use glam::DVec3;
use rayon::prelude::*;
use std::ops::Range;

/// Most neighbors of a node; further ones are left out.
pub const MOST_NEIGHBORS: usize = 24;
/// Most fibers of a node: each neighbor asks for one.
pub const MOST_FIBERS: usize = MOST_NEIGHBORS;
/// A fan with a gap wider than this is open [rad].
const OPEN_GAP: f64 = 150.0 / 180.0 * std::f64::consts::PI;
/// Neighbors whose directions differ less lie behind each other [rad].
const SAME_DIRECTION: f64 = 1e-6;
/// Cosine between the normals of neighbors at least: the two sides of a thin thing do not mix.
const SAME_SIDE: f64 = 0.3;

/// Samples of a surface at rest.
#[derive(Debug, Clone, Default)]
pub struct Nodes {
    /// Positions [m].
    pub positions: Vec<DVec3>,
    /// Unit normals, oriented alike.
    pub normals: Vec<DVec3>,
    /// Area each stands for [m²]; they sum to the area of the surface.
    pub areas: Vec<f64>,
}

/// How a network is made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NetworkOptions {
    /// Nearest nodes that are neighbors.
    pub neighbors: usize,
    /// Sharpest turn of a fiber inside the surface [degrees].
    pub turn: f64,
    /// Sharpest turn of a fiber that counts for bending [degrees].
    pub bending_turn: f64,
    /// Largest ratio of chords of a fiber that counts for bending.
    pub bending_ratio: f64,
    /// Knots of [WSG05] instead of those of the chords; fibers with a ratio of chords above 3 are left out then.
    pub uniform_knots: bool,
}

impl Default for NetworkOptions {
    fn default() -> Self {
        Self { neighbors: 8, turn: 100.0, bending_turn: 60.0, bending_ratio: 3.0, uniform_knots: false }
    }
}

/// A fiber: its ends as places in the list of neighbors of its middle node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fiber {
    /// Places of the ends among the neighbors.
    pub ends: [u8; 2],
    /// Knot spacings.
    pub knots: Knots,
    /// Whether it counts for bending.
    pub bends: bool,
}

/// Neighborhoods, fans and fibers of the nodes, node after node.
#[derive(Debug, Clone, Default)]
pub struct Network {
    /// First neighbor of each node in `neighbors`, and the end.
    pub starts: Vec<u32>,
    /// Neighbors in the order of the fan: counter-clockwise about the normal.
    pub neighbors: Vec<u32>,
    /// Whether the fan goes all around.
    pub closed: Vec<bool>,
    /// First fiber of each node in `fibers`, and the end.
    pub fiber_starts: Vec<u32>,
    /// Fibers.
    pub fibers: Vec<Fiber>,
}

impl Network {
    /// The network of nodes at rest.
    pub fn build(nodes: &Nodes, options: &NetworkOptions) -> Self {
        let lists = neighbor_lists(nodes, options.neighbors);
        Self::with_neighbors(nodes, &lists, options)
    }

    /// As `build`, with given neighbors, each list nearest first.
    pub fn with_neighbors(nodes: &Nodes, lists: &[Vec<u32>], options: &NetworkOptions) -> Self {
        let fans: Vec<_> = lists.par_iter().enumerate().map(|(i, list)| fan(nodes, i, list)).collect();
        Self::with_fans(nodes, lists, &fans, options)
    }

    /// As `with_neighbors`, with given fans: the neighbors in turning order, and whether they go all around.
    pub fn with_fans(nodes: &Nodes, lists: &[Vec<u32>], fans: &[(Vec<u32>, bool)], options: &NetworkOptions) -> Self {
        let all = lists.par_iter().zip(fans).enumerate();
        let made: Vec<Vec<Fiber>> = all.map(|(i, (list, (fan, _)))| fibers(nodes, i, list, fan, options)).collect();
        let mut network = Self { starts: vec![0], fiber_starts: vec![0], ..Self::default() };
        for ((fan, closed), fibers) in fans.iter().zip(made) {
            network.neighbors.extend(fan);
            network.closed.push(*closed);
            network.fibers.extend(fibers);
            network.starts.push(network.neighbors.len() as u32);
            network.fiber_starts.push(network.fibers.len() as u32);
        }
        network
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.closed.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.closed.is_empty()
    }

    /// Neighbors of a node, in fan order.
    pub fn neighbors_of(&self, i: usize) -> &[u32] {
        &self.neighbors[self.starts[i] as usize..self.starts[i + 1] as usize]
    }

    /// Where the fibers of a node are.
    pub fn fiber_range(&self, i: usize) -> Range<usize> {
        self.fiber_starts[i] as usize..self.fiber_starts[i + 1] as usize
    }

    /// Number of nodes that no fiber goes through: nothing holds them.
    pub fn loose(&self) -> usize {
        let mut held = vec![false; self.len()];
        for i in 0..self.len() {
            for fiber in &self.fibers[self.fiber_range(i)] {
                held[i] = true;
                self.ends(i, fiber).iter().for_each(|&j| held[j] = true);
            }
        }
        held.iter().filter(|h| !**h).count()
    }

    /// Nodes at the ends of a fiber of node `i`.
    pub fn ends(&self, i: usize, fiber: &Fiber) -> [usize; 2] {
        let list = self.neighbors_of(i);
        fiber.ends.map(|s| list[s as usize] as usize)
    }

    /// Vectors from node `i` to the ends of one of its fibers.
    pub fn chords(&self, i: usize, fiber: &Fiber, positions: &[DVec3]) -> [DVec3; 2] {
        self.ends(i, fiber).map(|j| positions[j] - positions[i])
    }

    /// Neighbors that follow each other in the fan of a node: places in its list.
    pub fn fan_pairs(&self, i: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        let count = (self.starts[i + 1] - self.starts[i]) as usize;
        let last = if self.closed[i] && count > 2 { count } else { count.saturating_sub(1) };
        (0..last).map(move |f| (f, if f + 1 == count { 0 } else { f + 1 }))
    }

    /// Area vector of the fan of a node; along its normal, about twice the area around it [m²].
    pub fn fan_normal(&self, i: usize, positions: &[DVec3]) -> DVec3 {
        let list = self.neighbors_of(i);
        let d = |f: usize| positions[list[f] as usize] - positions[i];
        self.fan_pairs(i).map(|(f, g)| d(f).cross(d(g))).sum()
    }
}

/// Tangent frame of a normal.
pub fn frame(normal: DVec3) -> (DVec3, DVec3) {
    let axis = if normal.x.abs() < 0.8 { DVec3::X } else { DVec3::Y };
    let e1 = normal.cross(axis).normalize_or(normal.any_orthonormal_vector());
    (e1, normal.cross(e1))
}

/// The nearest nodes on the same side of each, made symmetric.
fn neighbor_lists(nodes: &Nodes, count: usize) -> Vec<Vec<u32>> {
    let n = nodes.positions.len();
    if n == 0 {
        return Vec::new();
    }
    let mean = nodes.areas.iter().sum::<f64>() / n as f64;
    let grid = Grid::new(&nodes.positions, 1.5 * mean.max(f64::MIN_POSITIVE).sqrt());
    let nearest = |i: usize| {
        let mut list: Vec<u32> = Vec::with_capacity(count + 4);
        // Others of another side may lie between; ask for more until there are enough.
        for wanted in [count + 1, 3 * count, 8 * count] {
            list.clear();
            let found = grid.k_nearest(nodes.positions[i], wanted.min(n));
            let same = |&(j, _): &(usize, f64)| j != i && nodes.normals[i].dot(nodes.normals[j]) > SAME_SIDE;
            list.extend(found.iter().filter(|f| same(f)).map(|&(j, _)| j as u32).take(count));
            if list.len() == count || wanted >= n {
                break;
            }
        }
        list
    };
    let mut lists: Vec<Vec<u32>> = (0..n).into_par_iter().map(nearest).collect();
    let mut asked: Vec<Vec<u32>> = vec![Vec::new(); n];
    for (i, list) in lists.iter().enumerate() {
        for &j in list.iter().filter(|&&j| !lists[j as usize].contains(&(i as u32))) {
            asked[j as usize].push(i as u32);
        }
    }
    for (i, (list, asked)) in lists.iter_mut().zip(asked).enumerate() {
        let distance = |j: u32| nodes.positions[j as usize].distance_squared(nodes.positions[i]);
        list.extend(asked);
        list.sort_by(|&a, &b| distance(a).total_cmp(&distance(b)).then(a.cmp(&b)));
    }
    drop_excess(&mut lists, &nodes.positions);
    lists
}

/// Leaves out the farthest neighbors of nodes that have too many, on both sides.
fn drop_excess(lists: &mut [Vec<u32>], positions: &[DVec3]) {
    for i in 0..lists.len() {
        while lists[i].len() > MOST_NEIGHBORS {
            let distance = |j: u32| positions[j as usize].distance_squared(positions[i]);
            let (k, j) = lists[i]
                .iter()
                .copied()
                .enumerate()
                .fold((0, lists[i][0]), |best, (k, j)| if distance(j) > distance(best.1) { (k, j) } else { best });
            lists[i].remove(k);
            lists[j as usize].retain(|&x| x != i as u32);
        }
    }
}

/// The neighbors of a node in turning order about its normal, and whether they go all around.
pub(super) fn fan(nodes: &Nodes, i: usize, list: &[u32]) -> (Vec<u32>, bool) {
    let (e1, e2) = frame(nodes.normals[i]);
    let direction = |j: u32| {
        let d = nodes.positions[j as usize] - nodes.positions[i];
        d.dot(e2).atan2(d.dot(e1))
    };
    let mut order: Vec<(f64, u32)> = list.iter().map(|&j| (direction(j), j)).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let count = order.len();
    // In the same direction, as along a straight edge, the nearer one comes first, whatever rounding says.
    let distance = |j: u32| nodes.positions[j as usize].distance_squared(nodes.positions[i]);
    for end in (1..count).rev() {
        for k in 0..end {
            if order[k + 1].0 - order[k].0 < SAME_DIRECTION && distance(order[k + 1].1) < distance(order[k].1) {
                order.swap(k, k + 1);
            }
        }
    }
    let gap = |k: usize| match k + 1 == count {
        true => order[0].0 + std::f64::consts::TAU - order[k].0,
        false => order[k + 1].0 - order[k].0,
    };
    let widest = (0..count).fold(0, |best, k| if gap(k) > gap(best) { k } else { best });
    let closed = count > 2 && gap(widest) <= OPEN_GAP;
    let first = if closed { 0 } else { widest + 1 };
    ((0..count).map(|k| order[(first + k) % count].1).collect(), closed)
}

/// The fibers of a node: each neighbor with the one most opposite to it.
pub(super) fn fibers(nodes: &Nodes, i: usize, list: &[u32], fan: &[u32], options: &NetworkOptions) -> Vec<Fiber> {
    let (e1, e2) = frame(nodes.normals[i]);
    let d = |j: u32| nodes.positions[j as usize] - nodes.positions[i];
    let units: Vec<DVec3> = list.iter().map(|&j| d(j).normalize_or_zero()).collect();
    let mut found: Vec<[u32; 2]> = Vec::new();
    let mut fibers = Vec::new();
    for (a, &first) in list.iter().enumerate() {
        let others = (0..list.len()).filter(|&b| b != a);
        let opposite =
            others.reduce(|best, b| if units[b].dot(units[a]) < units[best].dot(units[a]) { b } else { best });
        let Some(second) = opposite.map(|b| list[b]) else { continue };
        if found.contains(&[second, first]) || found.contains(&[first, second]) {
            continue;
        }
        let (d1, d2) = (d(first), d(second));
        let (short, long) = (d1.length().min(d2.length()), d1.length().max(d2.length()));
        let (x1, x2) = ((-d1.dot(e1), -d1.dot(e2)), (d2.dot(e1), d2.dot(e2)));
        let turn = (x1.0 * x2.1 - x1.1 * x2.0).atan2(x1.0 * x2.0 + x1.1 * x2.1).abs().to_degrees();
        let uneven = long > options.bending_ratio * short;
        if turn.is_nan() || turn > options.turn || short <= 0.0 || (options.uniform_knots && uneven) {
            continue;
        }
        found.push([first, second]);
        let slot = |j: u32| fan.iter().position(|&k| k == j).unwrap_or(0) as u8;
        let knots = if options.uniform_knots { Knots::UNIFORM } else { Knots::of_chords(d1, d2) };
        let bends = turn <= options.bending_turn && !uneven;
        fibers.push(Fiber { ends: [slot(first), slot(second)], knots, bends });
    }
    fibers
}
