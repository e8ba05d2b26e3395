//! Isotropic weights: the fibers of a node weighed so that their directions look alike to second-order tensors.
//!
//! The older form of the energy, kept for comparison: on random samplings it is 10 to 20 % too soft.

use super::network::{Network, Nodes, frame};
use glam::{DVec2, DVec3};

/// Strength of the wish for isotropy against that for equal weights.
const STRENGTH: f64 = 900.0;
/// Nodes with a larger residual do not cover all directions.
const MOST_RESIDUAL: f64 = 0.45;
/// Least deviatoric response that is made up for.
const LEAST_RESPONSE: f64 = 0.4;

/// Weights of the fibers of all nodes.
#[derive(Debug, Clone, Default)]
pub struct IsotropicWeights {
    /// Weight of each fiber; those of a node sum to 1, or are 0.
    pub weights: Vec<f64>,
    /// Area each node counts for [m²].
    pub areas: Vec<f64>,
    /// Part of a deviatoric strain that the fibers of each node see.
    pub responses: Vec<f64>,
}

impl IsotropicWeights {
    /// Of lengths, or of angles for `bending`.
    pub fn new(nodes: &Nodes, network: &Network, bending: bool) -> Self {
        let mut made = Self::default();
        let mut covered = Vec::with_capacity(network.len());
        for i in 0..network.len() {
            let range = network.fiber_range(i);
            let counted: Vec<usize> = range.clone().filter(|&k| !bending || network.fibers[k].bends).collect();
            let moments: Vec<DVec2> = counted.iter().map(|&k| moment(nodes, network, i, k, bending)).collect();
            let (weights, residual) = isotropic(&moments);
            let response: f64 = weights.iter().zip(&moments).map(|(w, m)| w * m.length_squared()).sum();
            made.weights
                .extend(range.map(|k| counted.iter().position(|&c| c == k).map_or(0.0, |place| weights[place])));
            made.responses.push(response.max(LEAST_RESPONSE));
            covered.push(!counted.is_empty() && residual < MOST_RESIDUAL);
        }
        made.areas = areas(nodes, network, &covered, bending);
        made
    }
}

/// Cosine and sine of twice the angle of a fiber: the mean of its two chords by length, or that of the long chord.
fn moment(nodes: &Nodes, network: &Network, i: usize, k: usize, bending: bool) -> DVec2 {
    let (e1, e2) = frame(nodes.normals[i]);
    let [d1, d2] = network.chords(i, &network.fibers[k], &nodes.positions);
    let direction = |d: DVec3| {
        let unit = DVec2::new(d.dot(e1), d.dot(e2)).normalize_or(DVec2::X);
        DVec2::new(unit.x * unit.x - unit.y * unit.y, 2.0 * unit.x * unit.y)
    };
    if bending {
        return direction(d2 - d1);
    }
    let (a, b) = (d1.length(), d2.length());
    (a * direction(d1) + b * direction(d2)) / (a + b)
}

/// Nodes that do not cover all directions leave their area to the nearest that does; a quarter stays with those that own
/// fibers, so that corners stay attached.
fn areas(nodes: &Nodes, network: &Network, covered: &[bool], bending: bool) -> Vec<f64> {
    let mut areas = vec![0.0; covered.len()];
    for i in 0..covered.len() {
        let distance = |j: usize| nodes.positions[j].distance_squared(nodes.positions[i]);
        let heirs = (0..covered.len()).filter(|&j| covered[j]);
        let heir = if covered[i] { Some(i) } else { heirs.min_by(|&a, &b| distance(a).total_cmp(&distance(b))) };
        if let Some(heir) = heir {
            areas[heir] += nodes.areas[i];
        }
    }
    if !bending {
        for (i, area) in areas.iter_mut().enumerate() {
            if *area == 0.0 && !network.fiber_range(i).is_empty() {
                *area = 0.25 * nodes.areas[i];
            }
        }
    }
    areas
}

/// Non-negative weights of fibers with the given moments (cos 2φ, sin 2φ), and how far they are from isotropic.
pub fn isotropic(moments: &[DVec2]) -> (Vec<f64>, f64) {
    let n = moments.len();
    if n == 0 {
        return (Vec::new(), f64::INFINITY);
    }
    let row = |m: &DVec2| [1.0, m.x, m.y, m.x * m.x - m.y * m.y, 2.0 * m.x * m.y];
    let rows: Vec<[f64; 5]> = moments.iter().map(row).collect();
    let dot = |a: &[f64; 5], b: &[f64; 5]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let matrix = |p: usize, q: usize| STRENGTH * dot(&rows[p], &rows[q]) + f64::from(u8::from(p == q));
    let wanted = STRENGTH + 1.0 / n as f64;
    // Active set: free weights solve the normal equations, the others are zero.
    let mut free = vec![true; n];
    let mut weights = vec![0.0; n];
    for _ in 0..4 * n + 10 {
        let members: Vec<usize> = (0..n).filter(|&k| free[k]).collect();
        let solution = solve(members.len(), |a, b| matrix(members[a], members[b]), wanted);
        let worst = (0..members.len()).min_by(|&a, &b| solution[a].total_cmp(&solution[b]));
        if let Some(worst) = worst.filter(|&w| solution[w] < 0.0) {
            free[members[worst]] = false;
            continue;
        }
        weights.fill(0.0);
        members.iter().zip(&solution).for_each(|(&k, w)| weights[k] = *w);
        // A weight at zero that would lower the energy by growing is set free again.
        let pull = |k: usize| wanted - (0..n).map(|j| matrix(k, j) * weights[j]).sum::<f64>();
        let best = (0..n).filter(|&k| !free[k]).max_by(|&a, &b| pull(a).total_cmp(&pull(b)));
        match best.filter(|&k| pull(k) > 1e-9 * wanted) {
            Some(k) => free[k] = true,
            None => break,
        }
    }
    let sum: f64 = weights.iter().sum();
    if sum <= 0.0 {
        return (vec![1.0 / n as f64; n], f64::INFINITY);
    }
    weights.iter_mut().for_each(|w| *w /= sum);
    let moment = |r: usize| rows.iter().zip(&weights).map(|(row, w)| w * row[r]).sum::<f64>();
    let residual = (1..5).map(|r| moment(r).powi(2)).sum::<f64>().sqrt();
    (weights, residual)
}

/// Solves a symmetric positive definite system with equal right-hand sides by elimination.
fn solve(n: usize, matrix: impl Fn(usize, usize) -> f64, right: f64) -> Vec<f64> {
    let mut a: Vec<f64> = (0..n * n).map(|k| matrix(k / n, k % n)).collect();
    let mut x = vec![right; n];
    for p in 0..n {
        for q in p + 1..n {
            let factor = a[q * n + p] / a[p * n + p];
            for r in p..n {
                a[q * n + r] -= factor * a[p * n + r];
            }
            x[q] -= factor * x[p];
        }
    }
    for p in (0..n).rev() {
        let known: f64 = (p + 1..n).map(|q| a[p * n + q] * x[q]).sum();
        x[p] = (x[p] - known) / a[p * n + p];
    }
    x
}
