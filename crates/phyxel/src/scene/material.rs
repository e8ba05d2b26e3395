//! What a body is made of, as written in the scene.

use glam::DVec3;
use serde::Serialize;

/// `material` after presets and defaults.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MaterialSpec {
    /// Name of the preset the other values were taken from, if any.
    pub preset: Option<String>,
    /// Young's modulus [Pa].
    pub young: f64,
    /// Poisson's ratio.
    pub poisson: f64,
    /// Mass per volume [kg/m³].
    pub density: f64,
    /// Rate at which motion other than rigid motion dies away [1/s].
    pub damping: f64,
    /// Strength with which vibrations a few points long are taken away, 0 to 1.
    pub smoothing: f64,
    /// Coulomb friction coefficient against other bodies.
    pub friction: f64,
    /// Extra resistance to volume change k_v [Pa]; adds to the bulk modulus. 0: none.
    pub volume_stiffness: f64,
    /// Resistance to collapse and inversion [Pa], acts only where the volume ratio falls below `collapse_ratio`.
    /// None: 3 times Young's modulus.
    pub collapse_stiffness: Option<f64>,
    /// Volume ratio below which `collapse_stiffness` acts.
    pub collapse_ratio: f64,
    /// Strength of the zero-energy control. None: 1.5, or 0.3 for a body that is or becomes plastic.
    pub control: Option<f64>,
    /// Norm of the deviatoric elastic Green strain from which on matter flows; half of c_min of [MKN04]'s strain measure.
    pub yield_strain: f64,
    /// Rate at which elastic strain beyond the yield strain becomes plastic [1/s], c_creep; 0: none.
    pub creep: f64,
    /// Largest norm of the plastic Green strain of a plastic solid; half of c_max.
    pub max_plastic_strain: f64,
    /// Young's modulus of the melted matter [Pa].
    pub melt_young: f64,
    /// Creep rate of the melted matter [1/s].
    pub melt_creep: f64,
    /// Viscosity of melted or flowing matter along pair axes [Pa s].
    pub viscosity: f64,
    /// Largest tension that melted or flowing matter carries [Pa].
    pub cohesion: f64,
    /// Conductivity of heat [W/(m K)]; None: takes no part in heat.
    pub conductivity: Option<f64>,
    /// Heat that warms a mass by a kelvin [J/(kg K)].
    pub specific_heat: f64,
    /// The same of the melted matter [J/(kg K)]; None: as `specific_heat`.
    pub specific_heat_liquid: Option<f64>,
    /// Heat that melts a mass [J/kg].
    pub latent_heat: f64,
    /// Temperature at which it begins to melt [K]; None: never.
    pub solidus: Option<f64>,
    /// Temperature at which all of it is melted [K]; None: as `solidus`.
    pub liquidus: Option<f64>,
    /// Direction-dependent stiffness, replaces `young` and `poisson` in the stress.
    pub anisotropy: Option<Anisotropy>,
    /// What only shells have; None for other bodies.
    pub shell: Option<ShellSpec>,
    /// What only lattices have; None for other bodies.
    pub lattice: Option<LatticeSpec>,
    /// What only embedded bodies have; None for other bodies.
    pub embedded: Option<EmbeddedSpec>,
}

/// Material keys of embedded bodies [War12].
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct EmbeddedSpec {
    /// Rise of the yield stress per equivalent plastic strain [Pa]; negative: it softens.
    pub hardening: f64,
    /// Accumulated plastic strain at which it parts; None: never.
    pub break_strain: Option<f64>,
    /// Which form of the method moves it.
    pub law: EmbeddedLaw,
}

/// `law` of an embedded body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EmbeddedLaw {
    /// Elastic states are kept through each embedding, what has flowed is anchored in the world.
    #[default]
    Anchored,
    /// As in [War12].
    Published,
}

/// Material keys of lattices [WHP06].
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LatticeSpec {
    /// Elastic strain at which it breaks; None: only where the lattice is lost.
    pub break_strain: Option<f64>,
    /// Part by which the strength differs from point to point.
    pub scatter: f64,
    /// Largest |AᵀA - I| of the local stretch A that is still elastic.
    pub yield_bound: f64,
    /// Poisson's ratio: 0 is that of the bonds alone.
    pub poisson: f64,
    /// Rate of melting per kelvin above the melting temperature [1/(s K)].
    pub melt_rate: f64,
    /// Rate of freezing per kelvin below it [1/(s K)].
    pub freeze_rate: f64,
    /// Rate of freezing without anything solid near, per kelvin [1/(s K)].
    pub nucleation: f64,
    /// Surface tension as a liquid [N/m].
    pub surface_tension: f64,
}

impl LatticeSpec {
    /// Yield bound below which matter is for yielding; above it neighborhoods only let go of what is too far away.
    pub const PLASTIC: f64 = 0.6;

    /// Whether it neither breaks nor yields.
    pub fn stays_whole(&self) -> bool {
        self.break_strain.is_none() && self.yield_bound >= Self::PLASTIC
    }
}

impl Default for LatticeSpec {
    fn default() -> Self {
        Self {
            break_strain: None,
            scatter: 0.1,
            yield_bound: 0.8,
            poisson: 0.0,
            melt_rate: 1.0,
            freeze_rate: 2.0,
            nucleation: 0.0,
            surface_tension: 0.0,
        }
    }
}

/// Material keys of shells.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct ShellSpec {
    /// Thickness [m].
    pub thickness: f64,
    /// Which energy it has.
    pub law: ShellEnergy,
    /// Rise of its yield stress per plastic strain [Pa].
    pub hardening: f64,
    /// Rise of its stiffness at large strain, in that at small strain.
    pub stiffening: f64,
    /// Strain at which half of that is there; 0 where there is none.
    pub stiffening_strain: f64,
    /// How it breaks.
    pub breaks: BreakSpec,
}

/// How a shell breaks.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct BreakSpec {
    /// Elastic strain at which it breaks by tension; None: never.
    pub strain: Option<f64>,
    /// Elastic strain on the outer side at which it breaks by bending; None: never.
    pub bending: Option<f64>,
    /// Part of the fibers of a node that break before a crack opens there.
    pub microcracks: f64,
    /// Loss of strength in bending per plastic strain on the outer side.
    pub fatigue: f64,
}

/// `law` of a shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ShellEnergy {
    /// Strain and curvature tensors fitted to the fibers.
    #[default]
    Tensor,
    /// Weighted fibers.
    Weights,
    /// As printed in [WSG05].
    Published,
}

impl Default for MaterialSpec {
    /// The defaults of the scene file.
    fn default() -> Self {
        Self {
            preset: None,
            young: 1e5,
            poisson: 0.3,
            density: 1000.0,
            damping: 0.5,
            smoothing: 0.5,
            friction: 0.5,
            volume_stiffness: 0.0,
            collapse_stiffness: None,
            collapse_ratio: 0.6,
            control: None,
            yield_strain: 0.0,
            creep: 0.0,
            max_plastic_strain: 0.35,
            melt_young: 1e4,
            melt_creep: 20.0,
            viscosity: 20.0,
            cohesion: 1e3,
            conductivity: None,
            specific_heat: 1000.0,
            specific_heat_liquid: None,
            latent_heat: 0.0,
            solidus: None,
            liquidus: None,
            anisotropy: None,
            shell: None,
            lattice: None,
            embedded: None,
        }
    }
}

impl MaterialSpec {
    /// Whether it has no solid shape: all strain creeps away, and the reference follows the shape.
    pub fn flows(&self) -> bool {
        self.creep > 0.0 && self.yield_strain == 0.0
    }

    /// Whether it is a solid that takes a lasting change of shape beyond its yield strain.
    pub fn is_plastic(&self) -> bool {
        self.creep > 0.0 && self.yield_strain > 0.0
    }

    /// Whether it takes part in heat.
    pub fn is_thermal(&self) -> bool {
        self.conductivity.is_some()
    }

    /// Whether it melts when it is hot enough.
    pub fn can_melt(&self) -> bool {
        self.is_thermal() && self.solidus.is_some()
    }

    /// Overwrites the keys that are given. With a grain `young` becomes the largest modulus and the others keep their ratios
    /// to it.
    pub fn change(&mut self, set: &MaterialChange) {
        let pairs = [
            (&mut self.young, set.young),
            (&mut self.poisson, set.poisson),
            (&mut self.density, set.density),
            (&mut self.damping, set.damping),
            (&mut self.smoothing, set.smoothing),
            (&mut self.friction, set.friction),
            (&mut self.volume_stiffness, set.volume_stiffness),
            (&mut self.collapse_ratio, set.collapse_ratio),
            (&mut self.yield_strain, set.yield_strain),
            (&mut self.creep, set.creep),
            (&mut self.max_plastic_strain, set.max_plastic_strain),
            (&mut self.melt_young, set.melt_young),
            (&mut self.melt_creep, set.melt_creep),
            (&mut self.viscosity, set.viscosity),
            (&mut self.cohesion, set.cohesion),
            (&mut self.specific_heat, set.specific_heat),
            (&mut self.latent_heat, set.latent_heat),
        ];
        for (old, new) in pairs {
            *old = new.unwrap_or(*old);
        }
        let optional = [
            (&mut self.collapse_stiffness, set.collapse_stiffness),
            (&mut self.control, set.control),
            (&mut self.conductivity, set.conductivity),
            (&mut self.specific_heat_liquid, set.specific_heat_liquid),
            (&mut self.solidus, set.solidus),
            (&mut self.liquidus, set.liquidus),
        ];
        for (old, new) in optional {
            *old = new.or(*old);
        }
        if let Some(young) = set.young {
            let scaled = |grain: Anisotropy| {
                let factor = young / grain.largest_modulus();
                grain.scaled(factor)
            };
            self.anisotropy = self.anisotropy.take().map(scaled);
        }
    }
}

/// Direction-dependent stiffness of a material, in the body's frame turned by `rotate`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Anisotropy {
    /// Engineering constants of a material with three planes of symmetry.
    Orthotropic {
        /// Young's moduli along x, y, z [Pa].
        young: [f64; 3],
        /// Poisson's ratios xy, yz, zx (first: pull direction, second: contraction).
        poisson: [f64; 3],
        /// Shear moduli xy, yz, zx [Pa].
        shear: [f64; 3],
        /// Rotation of the material axes [degrees, xyz].
        rotate: DVec3,
    },
    /// Upper triangle of the 6x6 stiffness [Pa], Voigt order xx yy zz yz zx xy, row by row, 21 values.
    Full {
        /// The constants.
        stiffness: Vec<f64>,
        /// Rotation of the material axes [degrees, xyz].
        rotate: DVec3,
    },
}

impl Anisotropy {
    /// Largest modulus along an axis [Pa].
    pub fn largest_modulus(&self) -> f64 {
        match self {
            Self::Orthotropic { young, .. } => young.iter().copied().fold(0.0, f64::max),
            // The diagonal begins each row of the upper triangle; the first three are the normal strains.
            Self::Full { stiffness, .. } => {
                [0, 6, 11].iter().filter_map(|i| stiffness.get(*i)).copied().fold(0.0, f64::max)
            }
        }
    }

    /// With all moduli times a factor.
    pub fn scaled(self, factor: f64) -> Self {
        match self {
            Self::Orthotropic { young, poisson, shear, rotate } => Self::Orthotropic {
                young: young.map(|e| factor * e),
                poisson,
                shear: shear.map(|g| factor * g),
                rotate,
            },
            Self::Full { stiffness, rotate } => {
                Self::Full { stiffness: stiffness.into_iter().map(|c| factor * c).collect(), rotate }
            }
        }
    }
}

/// Material keys that an event changes.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[allow(missing_docs)] // As in MaterialSpec.
pub struct MaterialChange {
    pub young: Option<f64>,
    pub poisson: Option<f64>,
    pub density: Option<f64>,
    pub damping: Option<f64>,
    pub smoothing: Option<f64>,
    pub friction: Option<f64>,
    pub volume_stiffness: Option<f64>,
    pub collapse_stiffness: Option<f64>,
    pub collapse_ratio: Option<f64>,
    pub control: Option<f64>,
    pub yield_strain: Option<f64>,
    pub creep: Option<f64>,
    pub max_plastic_strain: Option<f64>,
    pub melt_young: Option<f64>,
    pub melt_creep: Option<f64>,
    pub viscosity: Option<f64>,
    pub cohesion: Option<f64>,
    pub conductivity: Option<f64>,
    pub specific_heat: Option<f64>,
    pub specific_heat_liquid: Option<f64>,
    pub latent_heat: Option<f64>,
    pub solidus: Option<f64>,
    pub liquidus: Option<f64>,
}

impl MaterialChange {
    /// Whether it changes a key of heat.
    pub fn is_thermal(&self) -> bool {
        let keys = [
            self.conductivity,
            self.specific_heat,
            self.specific_heat_liquid,
            self.latent_heat,
            self.solidus,
            self.liquidus,
        ];
        keys.iter().any(Option::is_some)
    }
}
