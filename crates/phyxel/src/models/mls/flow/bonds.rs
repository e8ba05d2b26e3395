//! Solid stencils that own their rest vectors: what a solid point remembers of each neighbor.
//!
//! ```text
//! J_i = Σ_j y_ij d_ijᵀ     U_i = s_i v_i U(J_i)     bond force g_ij = P_i d_ij + κ_i w_ij (y_ij - J0_i x_ij)
//! f_i = Σ_j g_ij - Σ_j g_ji
//! ```
//!
//! There is no body frame: each stencil has rest vectors x_ij of its own, and those of different stencils need not fit
//! together. The force is the exact gradient of Σ U_i all the same, and momentum and angular momentum hold stencil by
//! stencil. So a part may melt away, freeze on or fuse without any common reference ([MKN04] §4.2 absorbs the whole body
//! at once instead).

use crate::linalg::{SymmetricEigen, outer, trace};
use crate::materials::ElasticLaw;
use glam::{DMat3, DVec3};

/// Directions whose moment is below this part of the largest do not count: they come and go as a layer freezes on.
const RANK_CUT: f64 = 0.05;
/// Fewer neighbors than this are held by springs along the bonds.
const FEWEST: usize = 4;
/// Σ |d|² + |Σ d|² of a stencil at a corner of a lattice, times the squared spacing. Stencils that are worse, such as those
/// of the first points that freeze, are softer by as much: at full stiffness they would need shorter steps than all others.
const ROUGHEST: f64 = 4.0;

/// One neighbor of a solid stencil.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bond {
    /// The neighbor.
    pub to: u32,
    /// Place of the opposite bond in the neighbor's stencil.
    pub twin: u32,
    /// Weight w_ij.
    pub weight: f64,
    /// Rest vector x_ij [m].
    pub rest: DVec3,
    /// Gradient vector d_ij [1/m].
    pub slope: DVec3,
}

/// The stencil of one solid point.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Stencil {
    /// Neighbors.
    pub bonds: Vec<Bond>,
    /// Inverse of the moment matrix, missing directions 0 [1/m²].
    pub inverse: DMat3,
    /// Trace of the moment matrix [m²].
    pub trace: f64,
    /// Directions it sees; 0 or 1: springs only.
    pub rank: u8,
    /// Unit vector of the missing direction when the rank is 2.
    pub normal: DVec3,
    /// Support radius [m].
    pub radius: f64,
    /// Part of the stiffness that a stencil this good may have, 1 for all but a few.
    pub worth: f64,
    /// Strain in the measure JᵀJ - I that is no longer felt, in the frame of the rest vectors.
    pub plastic: DMat3,
}

/// What a stencil needs to know about its matter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SolidMatter<'a> {
    pub law: &'a ElasticLaw,
    /// Rest volume [m³].
    pub volume: f64,
    /// Part of the stiffness that is left near the melting point.
    pub stiffness: f64,
}

/// How a stencil is deformed and what that costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Deformed {
    /// J - I.
    pub gradient: DMat3,
    /// Energy with the control [J].
    pub energy: f64,
}

impl Deformed {
    /// Not at all.
    pub const NONE: Self = Self { gradient: DMat3::ZERO, energy: 0.0 };
}

impl Stencil {
    /// No neighbors. (The default of a matrix is the identity.)
    pub const EMPTY: Self = Self {
        bonds: Vec::new(),
        inverse: DMat3::ZERO,
        trace: 0.0,
        rank: 0,
        normal: DVec3::ZERO,
        radius: 0.0,
        worth: 1.0,
        plastic: DMat3::ZERO,
    };

    /// Whether it fits a gradient; otherwise it is a bunch of springs.
    pub fn fits(&self) -> bool {
        self.rank >= 2 && self.bonds.len() >= FEWEST
    }

    /// Weights, moments and plain gradient vectors from the rest vectors, after neighbors have come or gone.
    pub fn refit(&mut self) {
        let mut moment = DMat3::ZERO;
        for bond in &mut self.bonds {
            bond.weight = crate::kernel::poly6_shape(bond.rest.length_squared(), self.radius);
            moment += outer(bond.rest * bond.weight, bond.rest);
        }
        self.trace = trace(moment);
        let eigen = SymmetricEigen::new(moment);
        let cut = RANK_CUT * eigen.values.z;
        let keeps = |value: f64| value > cut && value > 0.0;
        self.rank = eigen.values.to_array().iter().filter(|&&v| keeps(v)).count() as u8;
        self.inverse = eigen.map(|value| if keeps(value) { 1.0 / value } else { 0.0 });
        self.normal = if self.rank == 2 { eigen.vectors.x_axis } else { DVec3::ZERO };
        let inverse = self.inverse;
        for bond in &mut self.bonds {
            bond.slope = inverse * bond.rest * bond.weight;
        }
        let sum: DVec3 = self.bonds.iter().map(|b| b.slope).sum();
        let rough = sum.length_squared() + self.bonds.iter().map(|b| b.slope.length_squared()).sum::<f64>();
        self.worth = (ROUGHEST / (0.5 * self.radius).powi(2) / rough.max(f64::MIN_POSITIVE)).min(1.0);
    }

    /// J - I at the given neighbor vectors.
    pub fn gradient(&self, vector: impl Fn(&Bond) -> DVec3) -> DMat3 {
        if !self.fits() {
            return DMat3::ZERO;
        }
        let mut gradient = DMat3::ZERO;
        if self.rank == 3 {
            for bond in &self.bonds {
                gradient += outer(vector(bond) - bond.rest, bond.slope);
            }
            return gradient;
        }
        let mut deformation = DMat3::ZERO;
        for bond in &self.bonds {
            deformation += outer(vector(bond), bond.slope);
        }
        deformation + outer(self.film_normal(deformation), self.normal) - DMat3::IDENTITY
    }

    /// Where the missing direction of a film goes: the unit normal of the deformed film. It adds no strain.
    fn film_normal(&self, deformation: DMat3) -> DVec3 {
        let (a, b) = self.normal.any_orthonormal_pair();
        let across = (deformation * a).cross(deformation * b);
        // Keep the side: (a, b, normal) is right-handed or not.
        across.normalize_or(self.normal) * a.cross(b).dot(self.normal).signum()
    }

    /// Whether it sees three directions and stores no strain: what the packed pass can do.
    pub fn sees_everything(&self) -> bool {
        self.fits() && self.rank == 3 && self.plastic == DMat3::ZERO
    }

    /// κ, the stiffness of the control [N/m].
    pub fn control(&self, matter: &SolidMatter) -> f64 {
        let modulus = matter.stiffness * self.worth * matter.law.control_modulus;
        if self.trace > 0.0 { modulus * matter.volume / self.trace } else { 0.0 }
    }

    /// Calls `put(k, pull)` with the pull of each bond on the owner at the given neighbor vectors, the neighbor gets the
    /// opposite [N]; returns the deformation.
    pub fn evaluate(
        &self,
        matter: &SolidMatter,
        vector: impl Fn(&Bond) -> DVec3,
        mut put: impl FnMut(usize, DVec3),
    ) -> Deformed {
        let kappa = self.control(matter);
        if !self.fits() {
            return self.evaluate_springs(kappa, vector, put);
        }
        let mut plain = DMat3::ZERO;
        for bond in &self.bonds {
            plain += outer(vector(bond) * bond.weight, bond.rest);
        }
        let (gradient, plain) = (self.gradient(&vector), plain * self.inverse);
        let response = matter.law.respond(gradient, self.plastic);
        let scale = matter.stiffness * self.worth * matter.volume;
        let stress = response.first_piola() * scale;
        let mut squares = 0.0;
        for (k, bond) in self.bonds.iter().enumerate() {
            let residual = vector(bond) - plain * bond.rest;
            squares += bond.weight * residual.length_squared();
            put(k, stress * bond.slope + residual * (kappa * bond.weight));
        }
        Deformed { gradient, energy: scale * response.energy() + 0.5 * kappa * squares }
    }

    fn evaluate_springs(
        &self,
        kappa: f64,
        vector: impl Fn(&Bond) -> DVec3,
        mut put: impl FnMut(usize, DVec3),
    ) -> Deformed {
        let mut energy = 0.0;
        for (k, bond) in self.bonds.iter().enumerate() {
            let y = vector(bond);
            let (length, rest) = (y.length(), bond.rest.length());
            let pull = kappa * bond.weight * (length - rest);
            put(k, y * (pull / length.max(1e-6 * rest)));
            energy += 0.5 * pull * (length - rest);
        }
        Deformed { gradient: DMat3::ZERO, energy }
    }
}

/// Takes all bonds of point `i` out of its neighbors' stencils, which are refitted, and empties its own.
pub(crate) fn leave(stencils: &mut [Stencil], i: usize) {
    for bond in std::mem::take(&mut stencils[i].bonds) {
        let (j, k) = (bond.to as usize, bond.twin as usize);
        stencils[j].bonds.swap_remove(k);
        if let Some(moved) = stencils[j].bonds.get(k).copied() {
            stencils[moved.to as usize].bonds[moved.twin as usize].twin = k as u32;
        }
        stencils[j].refit();
    }
    stencils[i] = Stencil::EMPTY;
}

/// Bonds `i` and `j` with the rest vectors given from either end [m].
pub(crate) fn join(stencils: &mut [Stencil], i: usize, j: usize, from_i: DVec3, from_j: DVec3) {
    let (at_i, at_j) = (stencils[i].bonds.len() as u32, stencils[j].bonds.len() as u32);
    let bond = |to: usize, twin: u32, rest: DVec3| Bond { to: to as u32, twin, weight: 0.0, rest, slope: DVec3::ZERO };
    stencils[i].bonds.push(bond(j, at_j, from_i));
    stencils[j].bonds.push(bond(i, at_i, from_j));
}
