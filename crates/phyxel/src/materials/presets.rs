//! Ready-made materials. Elastic values only; each line says where its numbers come from.
//!
//! Values are typical ones of a wide range, at room temperature. Sources: [ETB] Engineering ToolBox tables of Young's
//! modulus, Poisson's ratio and density; [FPL21] Forest Products Laboratory, Wood Handbook, chapter 5. `damping` is ours,
//! chosen by eye.

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
    /// Grain, if any.
    pub anisotropy: Option<Anisotropy>,
    /// What it is, and where the numbers come from.
    pub doc: &'static str,
}

const fn isotropic(name: &'static str, [young, poisson, density, damping]: [f64; 4], doc: &'static str) -> Preset {
    Preset { name, young, poisson, density, damping, anisotropy: None, doc }
}

/// All presets.
pub static PRESETS: &[Preset] = &[
    //                      young  poisson density damping
    isotropic("jelly", [1e4, 0.45, 1050.0, 0.8], "gelatin dessert; 1 to 30 kPa by its strength, nearly incompressible"),
    isotropic("rubber", [1e6, 0.47, 1100.0, 1.0], "soft natural rubber; 1 to 10 MPa, ratio 0.48 to 0.5 [ETB]"),
    isotropic("foam", [5e4, 0.2, 40.0, 3.0], "soft polyurethane foam; 10 to 100 kPa, 20 to 60 kg/m³"),
    isotropic("sponge", [2e4, 0.1, 60.0, 4.0], "household sponge; softer than foam, contracts little when stretched"),
    isotropic("cork", [2e7, 0.0, 200.0, 3.0], "cork; about 20 MPa, 120 to 240 kg/m³, ratio near 0 [ETB]"),
    isotropic("wax", [1e6, 0.4, 900.0, 2.0], "warm paraffin, its elastic part; it does not flow in this version"),
    isotropic("clay", [5e5, 0.4, 1700.0, 6.0], "modeling clay, its elastic part; it does not flow in this version"),
    isotropic("flesh", [3e4, 0.46, 1060.0, 3.0], "soft tissue at rest; 1 to 100 kPa"),
    isotropic("plastic", [2.3e9, 0.37, 1050.0, 1.0], "ABS; 1.4 to 3.1 GPa [ETB]"),
    isotropic("aluminum", [6.9e10, 0.33, 2700.0, 0.3], "69 GPa [ETB]"),
    isotropic("steel", [2e11, 0.3, 7850.0, 0.3], "structural steel; 200 GPa [ETB]; very small steps unless implicit"),
    isotropic(
        "steel-soft",
        [2e8, 0.3, 7850.0, 0.3],
        "steel with a thousandth of its stiffness: looks rigid and heavy, a thirtieth of the steps",
    ),
    Preset {
        name: "wood",
        young: 1.23e10,
        poisson: 0.37,
        density: 480.0,
        damping: 1.0,
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
