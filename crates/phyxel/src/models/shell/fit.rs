//! The tensor fit: which strain or curvature tensor of a node's tangent plane its fibers speak for.
//!
//! A tensor is (mean, deviator, shear) = ((e11 + e22)/2, (e11 - e22)/2, e12) in the node's tangent frame. Each fiber has a
//! *response*: what it measures, to first order, when the neighborhood is moved by a unit tensor. Weighted least squares over the
//! fibers of a node turn what they measure back into the tensor, exactly for constant strain and curvature on any sampling, so
//! that the energy depends on the material alone; what no tensor explains is a residual with an energy of its own, which keeps
//! the network free of loose modes. This replaces the energies of [WSG05] eqs. 5 and 8, which depend on the sampling and have
//! a Poisson's ratio built in.

use super::network::{Network, Nodes, frame};
use crate::linalg::SymmetricEigen;
use glam::{DMat3, DVec3};
use rayon::prelude::*;

/// Nodes with less directional coverage measure no tensor; their area counts at their neighbors.
pub const LEAST_COVERAGE: f64 = 0.05;
/// Eigenvalues below this are dropped where the fibers of a node do not cover all directions.
const DROPPED: f64 = 0.02;
/// Bending angle of a gentle arc per curvature and length: a natural spline is straight at its ends.
pub const ANGLE_PER_TURN: f64 = 0.75;

/// What a fit is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Strain from the lengths of the fibers.
    Membrane,
    /// Change of curvature from their angles.
    Bending,
}

/// Lengths and angles at rest.
#[derive(Debug, Clone, Default)]
pub struct Rest {
    /// Arc length of each fiber [m].
    pub lengths: Vec<f64>,
    /// Angle of each fiber [rad].
    pub angles: Vec<f64>,
}

impl Rest {
    /// Measures a network.
    pub fn of(network: &Network, positions: &[DVec3]) -> Self {
        let mut rest = Self::default();
        (0..network.len()).for_each(|i| rest.add(network, positions, i));
        rest
    }

    /// Appends the fibers of node `i`.
    pub(super) fn add(&mut self, network: &Network, positions: &[DVec3], i: usize) {
        let normal = network.fan_normal(i, positions);
        for fiber in &network.fibers[network.fiber_range(i)] {
            let [d1, d2] = network.chords(i, fiber, positions);
            self.lengths.push(fiber.knots.length(d1, d2).value);
            self.angles.push(fiber.knots.angle(d1, d2, normal).value);
        }
    }
}

/// Least-squares fit of the tensor of each node.
#[derive(Debug, Clone, Default)]
pub struct Fit {
    /// Response of each fiber to unit (mean, deviator, shear).
    pub responses: Vec<DVec3>,
    /// Weight of each fiber; those of a node sum to 1, or are 0.
    pub weights: Vec<f64>,
    /// Coefficients Q of each fiber: the fitted tensor is the sum of Q times what the fiber measures.
    pub plain: Vec<DVec3>,
    /// Smallest scaled eigenvalue of each node's normal matrix: 1/2 at best, 0 where a direction is missing.
    pub coverage: Vec<f64>,
    /// Area that each node's tensor counts for [m²]; 0 for nodes without coverage. Sums to the area of the surface.
    pub areas: Vec<f64>,
    /// Part of each node's fibers that are whole: 1 unless some have broken.
    pub intact: Vec<f64>,
}

impl Fit {
    /// Fits all nodes of a network at rest.
    pub fn new(kind: Kind, nodes: &Nodes, network: &Network, rest: &Rest) -> Self {
        let made: Vec<NodeFit> =
            (0..network.len()).into_par_iter().map(|i| NodeFit::new(kind, nodes, network, rest, i)).collect();
        let mut fit = Self::default();
        for node in made {
            fit.responses.extend(node.responses);
            fit.weights.extend(node.weights);
            fit.plain.extend(node.plain);
            fit.coverage.push(node.coverage);
        }
        fit.areas = shared_areas(nodes, network, &fit.coverage);
        fit.intact = vec![1.0; network.len()];
        fit
    }

    /// Whether node `i` measures a tensor.
    pub fn covers(&self, i: usize) -> bool {
        self.coverage[i] > LEAST_COVERAGE
    }
}

/// The fit of one node.
pub(super) struct NodeFit {
    pub responses: Vec<DVec3>,
    pub weights: Vec<f64>,
    pub plain: Vec<DVec3>,
    pub coverage: f64,
}

impl NodeFit {
    pub fn new(kind: Kind, nodes: &Nodes, network: &Network, rest: &Rest, i: usize) -> Self {
        let range = network.fiber_range(i);
        let counted = |k: usize| kind == Kind::Membrane || network.fibers[k].bends;
        let count = range.clone().filter(|&k| counted(k)).count();
        let weights: Vec<f64> = range.clone().map(|k| if counted(k) { 1.0 / count as f64 } else { 0.0 }).collect();
        let responses = responses(kind, nodes, network, rest, i);
        // Scaled so that a full set of directions has equal eigenvalues.
        let scale = DVec3::new(1.0, 2f64.sqrt(), 2f64.sqrt());
        let mut moments = DMat3::ZERO;
        for (m, w) in responses.iter().zip(&weights) {
            moments += *w * crate::linalg::outer(*m * scale, *m * scale);
        }
        let eigen = SymmetricEigen::new(moments);
        let coverage = if count == 0 { 0.0 } else { eigen.values.x.max(0.0) };
        let cut = if coverage > LEAST_COVERAGE { 0.0 } else { DROPPED };
        let inverse = eigen.map(|value| if value > cut { 1.0 / value } else { 0.0 });
        let coefficient = |(m, w): (&DVec3, &f64)| *w * scale * (inverse * (*m * scale));
        let plain = responses.iter().zip(&weights).map(coefficient).collect();
        Self { responses, weights, plain, coverage }
    }
}

/// Displacement by the unit (mean, deviator, shear) fields at tangent coordinates (x, y): strains move in the plane, curvatures
/// along the normal.
fn unit_fields(kind: Kind, [e1, e2, normal]: [DVec3; 3], d: DVec3) -> [DVec3; 3] {
    let (x, y) = (d.dot(e1), d.dot(e2));
    match kind {
        Kind::Membrane => [x * e1 + y * e2, x * e1 - y * e2, y * e1 + x * e2],
        Kind::Bending => [0.5 * (x * x + y * y) * normal, 0.5 * (x * x - y * y) * normal, x * y * normal],
    }
}

/// What the fibers of a node measure when its neighborhood is moved by the unit fields.
fn responses(kind: Kind, nodes: &Nodes, network: &Network, rest: &Rest, i: usize) -> Vec<DVec3> {
    let normal = nodes.normals[i];
    let (e1, e2) = frame(normal);
    let axes = [e1, e2, normal];
    let list = network.neighbors_of(i);
    let d: Vec<DVec3> = list.iter().map(|&j| nodes.positions[j as usize] - nodes.positions[i]).collect();
    let u: Vec<[DVec3; 3]> = d.iter().map(|d| unit_fields(kind, axes, *d)).collect();
    let fan = network.fan_normal(i, &nodes.positions);
    let turned: [DVec3; 3] =
        std::array::from_fn(|s| network.fan_pairs(i).map(|(f, g)| u[f][s].cross(d[g]) + d[f].cross(u[g][s])).sum());
    let one = |k: usize| {
        let fiber = &network.fibers[k];
        let [a, b] = fiber.ends.map(usize::from);
        let moved = |ends: &[DVec3; 2], s: usize| ends[0].dot(u[a][s]) + ends[1].dot(u[b][s]);
        let response = |s: usize| match kind {
            Kind::Membrane => moved(&fiber.knots.length(d[a], d[b]).ends, s) / rest.lengths[k],
            Kind::Bending => {
                let angle = fiber.knots.angle(d[a], d[b], fan);
                (moved(&angle.ends, s) + angle.normal.dot(turned[s])) / (ANGLE_PER_TURN * rest.lengths[k])
            }
        };
        DVec3::new(response(0), response(1), response(2))
    };
    network.fiber_range(i).map(one).collect()
}

/// The area of each node that measures a tensor, with that of nodes around that do not.
pub(super) fn shared_areas(nodes: &Nodes, network: &Network, coverage: &[f64]) -> Vec<f64> {
    let covers = |i: usize| coverage[i] > LEAST_COVERAGE;
    let mut areas: Vec<f64> = (0..network.len()).map(|i| if covers(i) { nodes.areas[i] } else { 0.0 }).collect();
    if !(0..network.len()).any(covers) {
        return areas;
    }
    for i in (0..network.len()).filter(|&i| !covers(i)) {
        let heirs = heirs(network, i, &covers);
        let weight = |j: u32| 1.0 / nodes.positions[j as usize].distance_squared(nodes.positions[i]);
        let sum: f64 = heirs.iter().map(|&j| weight(j)).sum();
        for &j in &heirs {
            areas[j as usize] += nodes.areas[i] * weight(j) / sum;
        }
    }
    areas
}

/// Whether no node of the piece that node `i` belongs to measures a tensor.
pub(super) fn is_scrap(network: &Network, i: usize, coverage: &[f64]) -> bool {
    heirs(network, i, &|j| coverage[j] > LEAST_COVERAGE).is_empty()
}

/// The nearest ring of nodes around `i`, by steps from neighbor to neighbor, with covered ones: those.
fn heirs(network: &Network, i: usize, covers: &impl Fn(usize) -> bool) -> Vec<u32> {
    let mut seen = vec![i as u32];
    let mut ring = vec![i as u32];
    while !ring.is_empty() {
        let mut next: Vec<u32> = ring.iter().flat_map(|&j| network.neighbors_of(j as usize)).copied().collect();
        next.sort_unstable();
        next.dedup();
        next.retain(|j| !seen.contains(j));
        let found: Vec<u32> = next.iter().copied().filter(|&j| covers(j as usize)).collect();
        if !found.is_empty() {
            return found;
        }
        seen.extend(&next);
        ring = next;
    }
    Vec::new()
}
