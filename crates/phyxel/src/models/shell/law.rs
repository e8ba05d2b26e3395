//! The energies of a shell, all as one quadratic form per node of what its fibers measure.
//!
//! With ε_k the strain and κ_k the change of curvature of the fibers of a node, each part of its energy is
//!
//! ```text
//! E = 1/2 [ mean e1² + deviator (e2² + e3²) ] + 1/2 Σ residual_k (ε_k - m_k · Σ_j Q_j ε_j)²,   (e1, e2, e3) = Σ_k P_k ε_k
//! ```
//!
//! and the laws differ in the numbers only.

use super::balance::{ACCURACY, BalanceReport, balance};
use super::boundary::Boundary;
use super::fabric::Fabric;
use super::fit::{ANGLE_PER_TURN, Fit, Kind, Rest};
use super::network::{Network, Nodes};
use super::stiffening::{BENT, Stiffening};
use super::weights::IsotropicWeights;
use glam::DVec3;

/// Part of the fiber stiffness that resists what no tensor explains.
pub const RESIDUAL: f64 = 0.3;

/// Which energy a shell has.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum ShellLaw {
    /// Tensor fit with balanced coefficients: the default.
    #[default]
    Tensor,
    /// Tensor fit without the balance, for comparison.
    Unbalanced,
    /// Isotropic weights.
    Weights,
    /// As printed in [WSG05] eqs. 5 and 8: a Poisson's ratio of 0.6 in stretching, and in bending no resistance to saddles. With
    /// their constants K_s [J/m⁴] and K_b [J/m²]; without, with those of each node that make a regular sampling as stiff as the
    /// sheet in even stretching and bending.
    Published(Option<[f64; 2]>),
}

/// Elastic constants of a sheet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sheet {
    /// Young's modulus [Pa].
    pub young: f64,
    /// Poisson's ratio.
    pub poisson: f64,
    /// Thickness [m].
    pub thickness: f64,
}

impl Sheet {
    /// Membrane stiffness E t / (1 - ν²) [N/m].
    pub fn membrane(&self) -> f64 {
        self.young * self.thickness / (1.0 - self.poisson * self.poisson)
    }
    /// Bending stiffness E t³ / (12 (1 - ν²)) [N m].
    pub fn bending(&self) -> f64 {
        self.membrane() * self.thickness * self.thickness / 12.0
    }
}

/// One fiber's part in one part of the energy.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FiberTerm {
    /// Its share in the tensor.
    pub tensor: DVec3,
    /// Its share in the plain fit that the residual is taken from.
    pub plain: DVec3,
    /// Its response to the plain fit.
    pub response: DVec3,
    /// Stiffness of its residual [J].
    pub residual: f64,
}

/// One part of the energy, membrane or bending: per fiber and per node.
#[derive(Debug, Clone, Default)]
pub struct Part {
    /// Per fiber.
    pub fibers: Vec<FiberTerm>,
    /// Per node: stiffness of mean and deviator [J].
    pub nodes: Vec<[f64; 2]>,
}

/// The energy of a network.
#[derive(Debug, Clone, Default)]
pub struct Energy {
    /// Of stretching.
    pub membrane: Part,
    /// Of bending.
    pub bending: Part,
    /// Curvature length of each fiber: its angle over this is its curvature [m].
    pub curvature_lengths: Vec<f64>,
    /// Rise of the stiffness at large strain; 0: none.
    pub rise: f64,
    /// Per node: square of the strain in that of `Stiffening` per energy, of membrane and bending [1/J]; empty: stiffness stays.
    pub per_energy: Vec<[f64; 2]>,
    /// Whether bending fades before an angle jumps; only for comparisons it does not.
    pub unguarded: bool,
    /// How well the two parts are balanced.
    pub reports: [BalanceReport; 2],
}

/// Geometry that the energies of all laws are made of; kept so that a change of the material need not fit again.
#[derive(Debug, Clone)]
pub struct Fitted {
    law: ShellLaw,
    pub(super) membrane: (Fit, Vec<DVec3>),
    pub(super) bending: (Fit, Vec<DVec3>),
    weights: Option<[IsotropicWeights; 2]>,
    reports: [BalanceReport; 2],
    /// Factor of the bending stiffness of each node; empty: all 1.
    pub(super) clamps: Vec<f64>,
    /// How the matter depends on direction and place; for the tensor laws.
    fabric: Fabric,
    /// How stiffness depends on strain; for the tensor laws.
    stiffening: Stiffening,
}

impl Fitted {
    /// Fits a network at rest.
    pub fn new(law: ShellLaw, nodes: &Nodes, network: &Network, rest: &Rest) -> Self {
        let fits = rayon::join(
            || Fit::new(Kind::Membrane, nodes, network, rest),
            || Fit::new(Kind::Bending, nodes, network, rest),
        );
        let mut reports = [BalanceReport::default(); 2];
        let (mut membrane, mut bending) = (fits.0.plain.clone(), fits.1.plain.clone());
        if law == ShellLaw::Tensor {
            let boundary = Boundary::new(nodes, network);
            let balanced = rayon::join(
                || balance(Kind::Membrane, nodes, network, rest, &fits.0, &boundary, ACCURACY),
                || balance(Kind::Bending, nodes, network, rest, &fits.1, &boundary, ACCURACY),
            );
            (membrane, reports[0]) = balanced.0;
            (bending, reports[1]) = balanced.1;
        }
        let weights = (law == ShellLaw::Weights)
            .then(|| [false, true].map(|bending| IsotropicWeights::new(nodes, network, bending)));
        let (membrane, bending) = ((fits.0, membrane), (fits.1, bending));
        let (fabric, stiffening) = Default::default();
        Self { law, membrane, bending, weights, reports, clamps: Vec::new(), fabric, stiffening }
    }

    /// Fits with given coefficients instead of balanced ones.
    pub fn with_coefficients(fits: [(Fit, Vec<DVec3>); 2]) -> Self {
        let [membrane, bending] = fits;
        Self {
            law: ShellLaw::Tensor,
            membrane,
            bending,
            weights: None,
            reports: Default::default(),
            clamps: Vec::new(),
            fabric: Fabric::default(),
            stiffening: Stiffening::default(),
        }
    }

    /// Sets a factor of the bending stiffness of each node, 1 but for those on the edge of a clamp; empty: all 1.
    pub fn set_clamps(&mut self, clamps: Vec<f64>) {
        self.clamps = clamps;
    }

    /// Makes the matter depend on direction and place.
    pub fn set_fabric(&mut self, fabric: Fabric) {
        self.fabric = fabric;
    }

    /// Makes stiffness depend on strain; for the tensor laws.
    pub fn set_stiffening(&mut self, stiffening: Stiffening) {
        self.stiffening = stiffening;
    }

    /// How stiffness depends on strain.
    pub fn stiffening(&self) -> Stiffening {
        self.stiffening
    }

    /// How the matter depends on direction and place.
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// Multiplies the area that some nodes' curvature counts for, as at a clamped edge, whose nodes see half of the curvature
    /// beside them.
    pub fn scale_bending(&mut self, nodes: impl Iterator<Item = usize>, factor: f64) {
        nodes.for_each(|i| self.bending.0.areas[i] *= factor);
    }

    /// Stiffness of mean and deviator of node `i`, of membrane and bending [J]; of the tensor laws.
    pub(super) fn node_stiffness(&self, sheet: &Sheet, i: usize) -> [[f64; 2]; 2] {
        let parts = [(sheet.membrane(), &self.membrane.0), (sheet.bending(), &self.bending.0)];
        let mut parts = parts.map(|(stiffness, fit)| moduli(stiffness, sheet.poisson).map(|m| fit.areas[i] * m));
        parts[1] = parts[1].map(|m| m * self.clamps.get(i).unwrap_or(&1.0));
        parts
    }

    /// Square of the strain of node `i` in that of `Stiffening` per energy, of membrane and bending [1/J]; of the tensor laws.
    pub(super) fn per_energy(&self, sheet: &Sheet, i: usize) -> [f64; 2] {
        let scale = self.stiffening.strain * self.stiffening.strain;
        if !self.stiffening.is_active() || scale <= 0.0 {
            return [0.0; 2];
        }
        let thickness = self.fabric.thickness(i);
        let stiffness = self.fabric.stiffness(i) * thickness;
        // Energies of a simple pull and of a bend that is free across, over the squares of strain and curvature.
        let [pull, bend] = self.node_stiffness(sheet, i).map(|[mean, _]| 0.25 * (1.0 - sheet.poisson) * mean);
        let outer = 0.5 * sheet.thickness * thickness;
        let per = [1.0 / (pull * stiffness), BENT * outer * outer / (bend * stiffness * thickness * thickness)];
        per.map(|per| if per.is_finite() { per / scale } else { 0.0 })
    }

    /// What the fibers of node `i` do in membrane and bending; of the tensor laws.
    pub(super) fn node_fibers(&self, sheet: &Sheet, nodes: &Nodes, network: &Network, i: usize) -> [Vec<FiberTerm>; 2] {
        [(sheet.membrane(), false), (sheet.bending(), true)].map(|(stiffness, bends)| {
            let mut out = Vec::new();
            self.fitted_fibers(moduli(stiffness, sheet.poisson), bends, nodes, network, i, &mut out);
            out
        })
    }

    /// Curvature lengths of fibers of given rest lengths [m].
    pub(super) fn curvature_lengths(&self, lengths: &[f64]) -> Vec<f64> {
        match self.law {
            ShellLaw::Published(_) => vec![1.0; lengths.len()],
            _ => lengths.iter().map(|l| ANGLE_PER_TURN * l).collect(),
        }
    }

    /// The energy of a sheet.
    pub fn energy(&self, sheet: &Sheet, nodes: &Nodes, network: &Network, rest: &Rest) -> Energy {
        let curvature_lengths = self.curvature_lengths(&rest.lengths);
        let (c, d) = (sheet.membrane(), sheet.bending());
        let (membrane, mut bending) = match (self.law, &self.weights) {
            (ShellLaw::Published(constants), _) => published(constants, [c, d], nodes, network, rest),
            (ShellLaw::Weights, Some([membrane, bending])) => (
                weighted(c, sheet.poisson, true, membrane, network),
                weighted(d, sheet.poisson, false, bending, network),
            ),
            _ => (
                self.fitted(c, sheet.poisson, false, nodes, network),
                self.fitted(d, sheet.poisson, true, nodes, network),
            ),
        };
        for (stiffness, clamp) in bending.nodes.iter_mut().zip(&self.clamps) {
            *stiffness = stiffness.map(|s| s * clamp);
        }
        let tensors = matches!(self.law, ShellLaw::Tensor | ShellLaw::Unbalanced);
        let (rise, per_energy) = match tensors && self.stiffening.is_active() {
            true => (self.stiffening.rise, (0..network.len()).map(|i| self.per_energy(sheet, i)).collect()),
            false => (0.0, Vec::new()),
        };
        Energy { membrane, bending, curvature_lengths, rise, per_energy, unguarded: false, reports: self.reports }
    }

    fn fitted(&self, stiffness: f64, poisson: f64, bends: bool, nodes: &Nodes, network: &Network) -> Part {
        let (fit, _) = if bends { &self.bending } else { &self.membrane };
        let moduli = moduli(stiffness, poisson);
        let mut part = Part::default();
        for i in 0..network.len() {
            part.nodes.push(moduli.map(|m| fit.areas[i] * m));
            self.fitted_fibers(moduli, bends, nodes, network, i, &mut part.fibers);
        }
        part
    }

    /// What the fibers of node `i` do in one part of the energy, of stiffness `moduli` per area.
    fn fitted_fibers(
        &self,
        [_, deviator]: [f64; 2],
        bends: bool,
        nodes: &Nodes,
        network: &Network,
        i: usize,
        out: &mut Vec<FiberTerm>,
    ) {
        let (fit, tensors) = if bends { &self.bending } else { &self.membrane };
        let residual = self.fabric.residual(i, bends) * fit.intact[i] * nodes.areas[i] * RESIDUAL * 2.0 * deviator;
        let transform = self.fabric.transform(i, bends);
        out.extend(network.fiber_range(i).map(|k| FiberTerm {
            tensor: transform * tensors[k],
            plain: fit.plain[k],
            response: fit.responses[k],
            residual: residual * fit.weights[k],
        }));
    }
}

/// Stiffness per area of mean and deviator [N/m or N m].
fn moduli(stiffness: f64, poisson: f64) -> [f64; 2] {
    [2.0 * (1.0 + poisson) * stiffness, 2.0 * (1.0 - poisson) * stiffness]
}

fn weighted(stiffness: f64, poisson: f64, corrected: bool, weights: &IsotropicWeights, network: &Network) -> Part {
    let (alpha, beta) = (2.0 * stiffness * (3.0 * poisson - 1.0), 4.0 * (1.0 - poisson) * stiffness);
    let mut part = Part::default();
    for i in 0..network.len() {
        // Bent fibers see less of a deviatoric strain; that is made up for.
        let response = if corrected { weights.responses[i] } else { 1.0 };
        let (own_beta, area) = (beta / response, weights.areas[i]);
        part.nodes.push([area * (alpha + beta - own_beta), 0.0]);
        part.fibers.extend(network.fiber_range(i).map(|k| FiberTerm {
            tensor: DVec3::X * weights.weights[k],
            residual: area * own_beta * weights.weights[k],
            ..FiberTerm::default()
        }));
    }
    part
}

/// [WSG05] eqs. 4, 5, 7 and 8, the area in (8) at rest.
fn published(
    constants: Option<[f64; 2]>,
    [c, d]: [f64; 2],
    nodes: &Nodes,
    network: &Network,
    rest: &Rest,
) -> (Part, Part) {
    let (mut membrane, mut bending) = (Part::default(), Part::default());
    for i in 0..network.len() {
        let range = network.fiber_range(i);
        let count = range.len().max(1) as f64;
        let disc = |k: usize| std::f64::consts::FRAC_PI_4 * rest.lengths[k] * rest.lengths[k];
        let area: f64 = range.clone().map(|k| disc(k) / count).sum();
        // Even strain e has the energy 2 (1 + ν) C e² a against 4 K_s A² e², even curvature likewise with angles 3/4 l κ.
        let turn2: f64 = range.clone().map(|k| (ANGLE_PER_TURN * rest.lengths[k]).powi(2) / count).sum();
        let own = [0.4 * c * nodes.areas[i] / (area * area), 4.0 * d * nodes.areas[i] / (area * turn2)];
        let [stretch, bend] = constants.unwrap_or(own.map(|k| if k.is_finite() { k } else { 0.0 }));
        membrane.nodes.push([stretch, 0.0]);
        bending.nodes.push([bend * area, 0.0]);
        membrane.fibers.extend(range.clone().map(|k| FiberTerm {
            tensor: DVec3::X * (2.0 * disc(k) / count),
            residual: 4.0 * stretch * disc(k) * disc(k) / count,
            ..FiberTerm::default()
        }));
        bending.fibers.extend(range.map(|_| FiberTerm { tensor: DVec3::X / count, ..FiberTerm::default() }));
    }
    (membrane, bending)
}
