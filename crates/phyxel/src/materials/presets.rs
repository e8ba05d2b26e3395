//! Ready-made materials; `docs/presets.md` says where the numbers come from and which are softened for animation.
//!
//! Values are typical ones of a wide range, at room temperature. Sources: [ETB] Engineering ToolBox tables of Young's
//! modulus, Poisson's ratio and density; [FPL21] Forest Products Laboratory, Wood Handbook, chapter 5; those of heat in
//! `docs/presets.md`. `damping` and `creep` are ours, chosen by eye.

use crate::scene::Anisotropy;
use glam::DVec3;

/// A named material.
#[derive(Debug, Clone, PartialEq)]
pub struct Preset {
    /// Name, the value of `material.preset`.
    pub name: &'static str,
    /// Young's modulus [Pa]; with a grain, the largest one.
    pub young: f64,
    /// Poisson's ratio.
    pub poisson: f64,
    /// Mass per volume [kg/m³].
    pub density: f64,
    /// Rate at which motion other than rigid motion dies away [1/s].
    pub damping: f64,
    /// Norm of the deviatoric Green strain from which on it flows, and the rate of that [1/s]; 0, 0: elastic.
    pub plastic: [f64; 2],
    /// Young's modulus [Pa], creep rate [1/s], viscosity [Pa s] and cohesion [Pa] when melted.
    pub melt: [f64; 4],
    /// How it takes part in heat; None: not at all.
    pub heat: Option<PresetHeat>,
    /// Grain, if any.
    pub anisotropy: Option<Anisotropy>,
    /// What it is, and where the numbers come from.
    pub doc: &'static str,
}

/// What a preset that melts knows of heat.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PresetHeat {
    /// Conductivity of heat [W/(m K)].
    pub conductivity: f64,
    /// Heat that warms a mass by a kelvin, solid and melted [J/(kg K)].
    pub specific: [f64; 2],
    /// Heat that melts a mass [J/kg].
    pub latent: f64,
    /// Temperatures at which it begins to melt and at which all of it is melted [K].
    pub melts: [f64; 2],
}

/// Melted matter of which nothing else is known: the defaults of the scene file.
const SOME_MELT: [f64; 4] = [1e4, 20.0, 20.0, 1e3];

const fn isotropic(name: &'static str, elastic: [f64; 4], doc: &'static str) -> Preset {
    yielding(name, elastic, [0.0, 0.0], SOME_MELT, doc)
}

/// Young's modulus, Poisson's ratio, density and damping; yield strain and creep; what it is when melted.
const fn yielding(
    name: &'static str,
    [young, poisson, density, damping]: [f64; 4],
    plastic: [f64; 2],
    melt: [f64; 4],
    doc: &'static str,
) -> Preset {
    Preset { name, young, poisson, density, damping, plastic, melt, heat: None, anisotropy: None, doc }
}

impl Preset {
    /// With its conductivity, specific heats when solid and melted, latent heat, solidus and liquidus.
    const fn melting(mut self, conductivity: f64, specific: [f64; 2], latent: f64, melts: [f64; 2]) -> Self {
        self.heat = Some(PresetHeat { conductivity, specific, latent, melts });
        self
    }
}

/// All presets.
pub static PRESETS: &[Preset] = &[
    //                      young  poisson density damping
    yielding(
        "jelly",
        [1e4, 0.45, 1050.0, 0.8],
        [0.0, 0.0],
        [2e3, 40.0, 5.0, 500.0],
        "gelatin dessert; 1 to 30 kPa by its strength, nearly incompressible",
    ),
    isotropic("rubber", [1e6, 0.47, 1100.0, 1.0], "soft natural rubber; 1 to 10 MPa, ratio 0.48 to 0.5 [ETB]"),
    isotropic("foam", [5e4, 0.2, 40.0, 3.0], "soft polyurethane foam; 10 to 100 kPa, 20 to 60 kg/m³"),
    isotropic("sponge", [2e4, 0.1, 60.0, 4.0], "household sponge; softer than foam, contracts little when stretched"),
    isotropic("cork", [2e7, 0.0, 200.0, 3.0], "cork; about 20 MPa, 120 to 240 kg/m³, ratio near 0 [ETB]"),
    yielding(
        "wax",
        [5e6, 0.4, 900.0, 4.0],
        [0.02, 60.0],
        [5e3, 30.0, 5.0, 1e3],
        "paraffin; 200 MPa and brittle when cold, here as warm and soft as for modeling",
    )
    .melting(0.25, [2140.0, 2140.0], 2e5, [325.15, 333.15]),
    yielding(
        "chocolate",
        [1e7, 0.35, 1300.0, 4.0],
        [0.02, 60.0],
        [8e3, 20.0, 10.0, 1e3],
        "dark chocolate; 100 to 300 MPa when tempered, softened 20 times",
    )
    .melting(0.26, [1590.0, 1670.0], 4.6e4, [302.15, 307.15]),
    yielding(
        "clay",
        [2e6, 0.4, 1800.0, 6.0],
        [0.03, 100.0],
        [1e4, 20.0, 100.0, 2e3],
        "modeling clay; 1 to 5 MPa, yields at 50 to 100 kPa",
    ),
    yielding(
        "cheese",
        [3e5, 0.47, 1090.0, 5.0],
        [0.15, 10.0],
        [5e3, 15.0, 50.0, 2e3],
        "cheddar; 0.1 to 1 MPa, takes a set beyond some tenths of strain",
    )
    .melting(0.4, [2700.0, 2700.0], 0.0, [318.15, 338.15]),
    yielding(
        "ice",
        [5e7, 0.33, 917.0, 1.0],
        [0.0, 0.0],
        [2e3, 60.0, 1.0, 500.0],
        "ice at -5 °C; 9.3 GPa, softened 190 times; it does not break here",
    )
    .melting(2.2, [2100.0, 4218.0], 3.336e5, [273.15, 273.15]),
    yielding(
        "lead",
        [5e7, 0.44, 11340.0, 3.0],
        [0.01, 200.0],
        [1e4, 60.0, 5.0, 2e3],
        "16 GPa [ETB], softened 320 times; yields early, as lead does",
    )
    .melting(35.3, [130.0, 155.0], 2.3e4, [600.6, 600.6]),
    isotropic("flesh", [3e4, 0.46, 1060.0, 3.0], "soft tissue at rest; 1 to 100 kPa"),
    isotropic("plastic", [2.3e9, 0.37, 1050.0, 1.0], "ABS; 1.4 to 3.1 GPa [ETB]"),
    isotropic("aluminum", [6.9e10, 0.33, 2700.0, 0.3], "69 GPa [ETB]"),
    isotropic("steel", [2e11, 0.3, 7850.0, 0.3], "structural steel; 200 GPa [ETB]; very small steps unless implicit"),
    yielding(
        "steel-soft",
        [2e8, 0.3, 7850.0, 0.3],
        [0.02, 300.0],
        SOME_MELT,
        "mild steel with a thousandth of its stiffness: looks rigid and heavy, a thirtieth of the steps; dents",
    ),
    Preset {
        name: "wood",
        young: 1.23e10,
        poisson: 0.37,
        density: 480.0,
        damping: 1.0,
        plastic: [0.0, 0.0],
        melt: SOME_MELT,
        heat: None,
        // Douglas-fir, 12 % moisture, [FPL21] tables 5-1 to 5-3: E_T/E_L 0.050, E_R/E_L 0.068, G_LR 0.064, G_LT 0.078,
        // G_RT 0.007 of E_L; ratios LR 0.292, LT 0.449, RT 0.390. Axes x = L (grain), y = R, z = T;
        // nu_zx = nu_TL = nu_LT E_T / E_L.
        anisotropy: Some(Anisotropy::Orthotropic {
            young: [1.23e10, 0.068 * 1.23e10, 0.050 * 1.23e10],
            poisson: [0.292, 0.390, 0.449 * 0.050],
            shear: [0.064 * 1.23e10, 0.007 * 1.23e10, 0.078 * 1.23e10],
            rotate: DVec3::ZERO,
        }),
        doc: "Douglas-fir, grain along the body's x axis [FPL21]; `young` scales all moduli",
    },
];

/// The preset of that name.
pub fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|p| p.name == name)
}
