//! Pressure inside of a closed shell.
//!
//! Each node has an area vector along its fan normal, of the size of its share of the surface now. Their sum over a closed surface
//! should be zero and is not quite, which would push the shell away; what is left is taken from all in proportion to their size.

use super::network::Network;
use glam::DVec3;

/// What is known at rest.
#[derive(Debug, Clone, Default)]
pub struct Gas {
    /// Area over fan area of each node.
    shares: Vec<f64>,
    /// Whether all fans are closed.
    closed: bool,
    /// Volume inside at rest [m³].
    rest_volume: f64,
    /// Area vectors [m²]. Written by `measure`.
    vectors: Vec<DVec3>,
    /// Size of their sum before it was taken out [m²]. Written by `measure`.
    opening: f64,
}

impl Gas {
    /// Of a network at rest.
    pub fn new(network: &Network, areas: &[f64], rest: &[DVec3]) -> Self {
        let share = |i: usize| {
            let fan = network.fan_normal(i, rest).length();
            if fan > 0.0 { areas[i] / fan } else { 0.0 }
        };
        let shares = (0..network.len()).map(share).collect();
        let mut gas = Self { shares, closed: network.closed.iter().all(|c| *c), ..Self::default() };
        gas.rest_volume = if gas.closed { gas.volume(network, rest) } else { 0.0 };
        gas
    }

    /// Whether the shell has no border, so that there is an inside.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Volume inside at rest [m³].
    pub fn rest_volume(&self) -> f64 {
        self.rest_volume
    }

    /// Area vectors at the last `measure` [m²].
    pub fn vectors(&self) -> &[DVec3] {
        &self.vectors
    }

    /// Area vector of node `i` at positions [m²], as its fan says.
    pub fn area_vector(&self, network: &Network, i: usize, positions: &[DVec3]) -> DVec3 {
        self.shares[i] * network.fan_normal(i, positions)
    }

    /// Area vectors of the nodes at positions, outward; they sum to zero [m²].
    pub fn measure(&mut self, network: &Network, positions: &[DVec3]) -> &[DVec3] {
        self.vectors.clear();
        self.vectors.extend((0..network.len()).map(|i| self.shares[i] * network.fan_normal(i, positions)));
        let (sum, size) = self.vectors.iter().fold((DVec3::ZERO, 0.0), |(v, s), a| (v + *a, s + a.length()));
        self.opening = sum.length();
        if size > 0.0 {
            self.vectors.iter_mut().for_each(|a| *a -= sum * (a.length() / size));
        }
        &self.vectors
    }

    /// Area of the openings at the last `measure`, seen from where they look largest [m²]: what the area vectors lack of a closed
    /// surface. A closed one has some 0.3 % of its area by error.
    pub fn opening(&self) -> f64 {
        self.opening
    }

    /// Volume inside of a closed shell at positions [m³].
    pub fn volume(&mut self, network: &Network, positions: &[DVec3]) -> f64 {
        let center = positions.iter().sum::<DVec3>() / positions.len().max(1) as f64;
        let vectors = self.measure(network, positions);
        vectors.iter().zip(positions).map(|(a, x)| a.dot(*x - center)).sum::<f64>() / 3.0
    }
}
