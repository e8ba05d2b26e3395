//! The edge of an open network: outward normals times length, and the forces that constant stress and moment ask for there.

use super::balance::turned_states;
use super::network::{Network, Nodes, frame};
use glam::{DVec2, DVec3};

/// Edge neighbors lie within this angle of the ends of an open fan [rad].
const ALONG_EDGE: f64 = 20.0 / 180.0 * std::f64::consts::PI;
/// Fewer neighbors do not give a quadratic fit.
const FEWEST: usize = 5;
/// Smallest ratio of singular values of a quadratic fit.
const LEAST_RATIO: f64 = 0.02;

/// The edge of a network.
#[derive(Debug, Clone, Default)]
pub struct Boundary {
    /// Whether the fan of each node is open.
    pub open: Vec<bool>,
    /// Half the outward normal times length of the two edge pieces at each node [m]; 0 inside.
    pub vectors: Vec<DVec3>,
    /// Edge nodes whose vector is not known.
    pub unknown: Vec<bool>,
    /// Distance of the nodes: the root of the median area [m].
    pub length: f64,
}

impl Boundary {
    /// Finds the edge of a network at rest.
    pub fn new(nodes: &Nodes, network: &Network) -> Self {
        let n = network.len();
        let open: Vec<bool> = network.closed.iter().map(|c| !c).collect();
        let mut boundary = Self {
            open,
            vectors: vec![DVec3::ZERO; n],
            unknown: vec![false; n],
            length: median(&nodes.areas).max(f64::MIN_POSITIVE).sqrt(),
        };
        for i in (0..n).filter(|&i| !network.closed[i]) {
            match boundary.edge_neighbors(nodes, network, i) {
                Some([p, q]) => boundary.vectors[i] = outward(nodes, network, i, p, q),
                None => boundary.unknown[i] = true,
            }
        }
        boundary
    }

    /// The next nodes along the edge, on both sides; None when they are not on the edge themselves.
    fn edge_neighbors(&self, nodes: &Nodes, network: &Network, i: usize) -> Option<[usize; 2]> {
        let list = network.neighbors_of(i);
        let (e1, e2) = frame(nodes.normals[i]);
        let flat = |j: u32| {
            let d = nodes.positions[j as usize] - nodes.positions[i];
            DVec2::new(d.dot(e1), d.dot(e2))
        };
        let near_end = |end: u32| {
            let direction = flat(end);
            let close = |j: &u32| flat(*j).angle_to(direction).abs() <= ALONG_EDGE;
            let distance = |j: u32| nodes.positions[j as usize].distance_squared(nodes.positions[i]);
            let found = list.iter().copied().filter(close);
            found.min_by(|&a, &b| distance(a).total_cmp(&distance(b)).then(a.cmp(&b))).unwrap_or(end)
        };
        let ends = [near_end(*list.first()?) as usize, near_end(*list.last()?) as usize];
        (ends[0] != ends[1] && ends.iter().all(|&j| self.open[j])).then_some(ends)
    }

    /// Forces that the three unit stresses of each node's frame ask for, two components each, over the spacing; and which nodes
    /// count.
    pub fn membrane_forces(&self, nodes: &Nodes) -> (Vec<f64>, Vec<bool>) {
        let mut wanted = Vec::with_capacity(6 * self.vectors.len());
        for (b, n) in self.vectors.iter().zip(&nodes.normals) {
            let (e1, e2) = frame(*n);
            let (x, y) = (0.5 * b.dot(e1) / self.length, 0.5 * b.dot(e2) / self.length);
            wanted.extend([x, x, y, y, -y, x]);
        }
        (wanted, self.unknown.iter().map(|u| !u).collect())
    }

    /// Forces along the normal that the three unit moments of each node's frame ask for; and which nodes count.
    pub fn bending_forces(&self, nodes: &Nodes, network: &Network) -> (Vec<f64>, Vec<bool>) {
        let mut wanted = vec![0.0; 3 * network.len()];
        let mut counted = vec![true; network.len()];
        for j in (0..network.len()).filter(|&j| self.open[j]) {
            let list = network.neighbors_of(j);
            let slopes = if self.unknown[j] { None } else { slopes(nodes, network, j, self.length) };
            let Some(slopes) = slopes else {
                counted[j] = false;
                list.iter().for_each(|&i| counted[i as usize] = false);
                continue;
            };
            let (e1, e2) = frame(nodes.normals[j]);
            let b = 0.5 * DVec2::new(self.vectors[j].dot(e1), self.vectors[j].dot(e2));
            // The unit moments of this node's frame times b.
            let states = [b, DVec2::new(b.x, -b.y), DVec2::new(b.y, b.x)];
            let own = -slopes.iter().sum::<DVec2>();
            for (&i, slope) in list.iter().chain([&(j as u32)]).zip(slopes.iter().chain([&own])) {
                let (f1, f2) = frame(nodes.normals[i as usize]);
                let turn = turned_states([f1, f2], [e1, e2]);
                let force = turn.transpose() * DVec3::from_array(states.map(|s| s.dot(*slope)));
                let row = &mut wanted[3 * i as usize..][..3];
                row.iter_mut().zip(force.to_array()).for_each(|(r, f)| *r += f);
            }
        }
        (wanted, counted)
    }
}

/// The middle value, the mean of the two middle ones for an even number; 0 for none.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[n / 2],
        n => 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]),
    }
}

/// Half the outward normal times length of the edge pieces from node `i` to `p` and `q`.
fn outward(nodes: &Nodes, network: &Network, i: usize, p: usize, q: usize) -> DVec3 {
    let b = 0.5 * (nodes.positions[p] - nodes.positions[q]).cross(nodes.normals[i]);
    let inward: DVec3 = network.neighbors_of(i).iter().map(|&j| nodes.positions[j as usize] - nodes.positions[i]).sum();
    if b.dot(inward) > 0.0 { -b } else { b }
}

/// Slope at node `j`, in its frame, of the quadratic fit through it per unit height of each neighbor [1/m].
fn slopes(nodes: &Nodes, network: &Network, j: usize, spacing: f64) -> Option<Vec<DVec2>> {
    let list = network.neighbors_of(j);
    if list.len() < FEWEST {
        return None;
    }
    let (e1, e2) = frame(nodes.normals[j]);
    let rows: Vec<[f64; 5]> = list
        .iter()
        .map(|&i| {
            let d = (nodes.positions[i as usize] - nodes.positions[j]) / spacing;
            let (x, y) = (d.dot(e1), d.dot(e2));
            [x, y, 0.5 * x * x, x * y, 0.5 * y * y].map(|v| v / x.hypot(y).max(f64::MIN_POSITIVE))
        })
        .collect();
    let (values, vectors) = symmetric_eigen(&rows);
    let largest = values.iter().copied().fold(0.0, f64::max);
    if values.iter().any(|v| v.max(0.0).sqrt() < LEAST_RATIO * largest.sqrt()) {
        return None;
    }
    let one = |(row, &i): (&[f64; 5], &u32)| {
        let d = nodes.positions[i as usize] - nodes.positions[j];
        let weight = 1.0 / d.dot(e1).hypot(d.dot(e2)).max(f64::MIN_POSITIVE);
        let mut slope = DVec2::ZERO;
        for (value, vector) in values.iter().zip(&vectors) {
            let along: f64 = vector.iter().zip(row).map(|(a, b)| a * b).sum();
            slope += DVec2::new(vector[0], vector[1]) * (along / value);
        }
        slope * weight
    };
    Some(rows.iter().zip(list).map(one).collect())
}

/// Eigenvalues and eigenvectors (rows) of the sum of the squares of the rows, by Jacobi rotations.
fn symmetric_eigen(rows: &[[f64; 5]]) -> ([f64; 5], [[f64; 5]; 5]) {
    let mut a = [[0.0; 5]; 5];
    for row in rows {
        for p in 0..5 {
            for q in 0..5 {
                a[p][q] += row[p] * row[q];
            }
        }
    }
    let mut v: [[f64; 5]; 5] = std::array::from_fn(|p| std::array::from_fn(|q| f64::from(u8::from(p == q))));
    for _ in 0..30 {
        for p in 0..5 {
            for q in p + 1..5 {
                if a[p][q].abs() <= 1e-300 {
                    continue;
                }
                let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let c = 1.0 / (t * t + 1.0).sqrt();
                let s = t * c;
                for r in 0..5 {
                    let (x, y) = (a[r][p], a[r][q]);
                    (a[r][p], a[r][q]) = (c * x - s * y, s * x + c * y);
                }
                for r in 0..5 {
                    let (x, y) = (a[p][r], a[q][r]);
                    (a[p][r], a[q][r]) = (c * x - s * y, s * x + c * y);
                    let (x, y) = (v[p][r], v[q][r]);
                    (v[p][r], v[q][r]) = (c * x - s * y, s * x + c * y);
                }
            }
        }
    }
    (std::array::from_fn(|k| a[k][k]), v)
}
