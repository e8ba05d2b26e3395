//! The particles of all lattices of a world: what they are and where, one flat array per quantity.

use super::sites::Sites;
use crate::points::Points;
use crate::random::{Random, mix};
use crate::scene::{LatticeSpec, MaterialSpec};
use glam::{DMat3, DVec3};

/// In place of a particle: none.
pub const NOBODY: u32 = u32::MAX;
/// Stiffness against collapse, in that of a bond.
const CRUSH: f64 = 2.0;
/// What the scatter of strengths is drawn for.
const STRENGTHS: u64 = 0x5354_5245_4e47;

/// What a particle is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Phase {
    /// Holds its neighbors in their places.
    #[default]
    Solid = 0,
    /// Solid, and lets go.
    Melting = 1,
    /// Flows.
    Liquid = 2,
    /// Solid, and takes hold.
    Freezing = 3,
}

impl Phase {
    /// Whether it takes part in the lattice.
    #[inline]
    pub fn is_bound(self) -> bool {
        self != Self::Liquid
    }

    pub(super) fn from_number(number: u8) -> Option<Self> {
        [Self::Solid, Self::Melting, Self::Liquid, Self::Freezing].get(usize::from(number)).copied()
    }
}

/// What the particles of one body are made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Matter {
    /// Stiffness k of a bond of weight one [N/m].
    pub stiffness: f64,
    /// Stiffness against collapse of bonds that are too short, in that of a bond.
    pub crush: f64,
    /// Modulus against being squeezed together [Pa]; 0: bonds alone resist.
    pub squeeze: f64,
    /// Lamé's modulus λ of the volume [Pa]; 0: bonds alone resist.
    pub lame: f64,
    /// Young's modulus [Pa].
    pub young: f64,
    /// Mass per volume [kg/m³].
    pub density: f64,
    /// Rate at which local motion other than rigid motion dies away [1/s].
    pub damping: f64,
    /// Coulomb friction coefficient.
    pub friction: f64,
    /// Viscosity as a liquid [Pa s].
    pub viscosity: f64,
    /// Surface tension as a liquid [N/m].
    pub tension: f64,
    /// Strain at which bonds break; infinite: never.
    pub break_strain: f64,
    /// Largest |AᵀA - I| that is still elastic.
    pub yield_bound: f64,
    /// Rates of melting, freezing and freezing alone [1/(s K)].
    pub rates: [f64; 3],
}

impl Matter {
    /// That of a material on a lattice: k = 2 E/(1 + ν) V / S.
    pub fn new(material: &MaterialSpec, sites: &Sites) -> Self {
        let own = material.lattice.unwrap_or_default();
        let poisson = own.poisson;
        // In the plane nothing holds the matter across it.
        let closed = if sites.dimensions == 2 { 1.0 - poisson } else { 1.0 - 2.0 * poisson };
        let lame = material.young * poisson / ((1.0 + poisson) * closed);
        Self {
            stiffness: 2.0 * material.young / (1.0 + poisson) * sites.cell_volume / sites.moment,
            lame,
            crush: CRUSH,
            squeeze: if own.yield_bound < LatticeSpec::PLASTIC { material.young } else { 0.0 },
            young: material.young,
            density: material.density,
            damping: material.damping,
            friction: material.friction,
            viscosity: material.viscosity,
            tension: own.surface_tension,
            break_strain: own.break_strain.unwrap_or(f64::INFINITY),
            yield_bound: own.yield_bound,
            rates: [own.melt_rate, own.freeze_rate, own.nucleation],
        }
    }
}

/// All particles. Solid and liquid ones lie in the same arrays.
#[derive(Debug, Clone, Default)]
pub struct Particles {
    /// Index in the world's table of points. Written at set-up.
    pub members: Vec<u32>,
    /// Stable identity, for random numbers. Written at set-up.
    pub ids: Vec<u32>,
    /// Positions [m]. Copied from the table by `gather`.
    pub positions: Vec<DVec3>,
    /// Velocities [m/s]. Copied from the table by `gather`.
    pub velocities: Vec<DVec3>,
    /// Masses [kg]. Copied from the table at set-up and by events.
    pub masses: Vec<f64>,
    /// Number of the lattice body, which has the matter.
    pub kinds: Vec<u32>,
    /// Object whose lattice a particle belongs to: bonds are within an object. Written at set-up and by freezing.
    pub objects: Vec<u32>,
    /// What it is doing. Written by the phase changes.
    pub phases: Vec<Phase>,
    /// Solidity φ, 0 liquid to 1 solid: forces of the lattice fade with it. Written by the phase changes.
    pub solidities: Vec<f64>,
    /// Rotation R of the lattice around a particle. Written by `fit`.
    pub rotations: Vec<DMat3>,
    /// Rotation at the start: that of the body.
    pub rest_rotations: Vec<DMat3>,
    /// Strength relative to the material's. Written at set-up.
    pub strengths: Vec<f32>,
    /// Pressure in the sums of the liquid [Pa], see `liquid_pressures`; the next solve begins with it. Written by `flow`.
    pub pressures: Vec<f64>,
}

impl Particles {
    /// Number of particles.
    pub fn len(&self) -> usize {
        self.members.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Appends the points of a body.
    pub fn add_body(&mut self, points: &Points, body: &super::LatticeBody, kind: u32, sites: &Sites, seed: u64) {
        let scatter = body.material.lattice.unwrap_or_default().scatter;
        let phase = if body.liquid { Phase::Liquid } else { Phase::Solid };
        for i in body.range.clone() {
            self.members.push(i as u32);
            self.ids.push(points.ids[i]);
            self.positions.push(points.positions[i]);
            self.velocities.push(points.velocities[i]);
            self.masses.push(body.material.density * sites.cell_volume);
            self.kinds.push(kind);
            self.objects.push(kind);
            self.phases.push(phase);
            self.solidities.push(f64::from(u8::from(!body.liquid)));
            self.rotations.push(body.rotation);
            self.rest_rotations.push(body.rotation);
            let u = Random::new(mix(seed, STRENGTHS), u64::from(points.ids[i])).unit();
            self.pressures.push(0.0);
            self.strengths.push((1.0 + scatter * (2.0 * u - 1.0)) as f32);
        }
    }

    /// Takes over positions and velocities.
    pub fn gather(&mut self, points: &Points) {
        for (k, &i) in self.members.iter().enumerate() {
            self.positions[k] = points.positions[i as usize];
            self.velocities[k] = points.velocities[i as usize];
        }
    }

    /// Takes over velocities.
    pub fn gather_velocities(&mut self, points: &Points) {
        for (v, &i) in self.velocities.iter_mut().zip(&self.members) {
            *v = points.velocities[i as usize];
        }
    }

    /// Whether any particle is or turns liquid or solid.
    pub fn has_liquid(&self) -> bool {
        self.phases.iter().any(|p| *p != Phase::Solid)
    }
}
