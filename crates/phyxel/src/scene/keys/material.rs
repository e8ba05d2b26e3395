//! Keys of a material: what a body is made of, and what an event may set of it.

use super::{Key, Kind, Range, Section, absent, choice, section, with};
use crate::scene::units::Dimension as D;

pub(super) const HEAT_TABLE: &str = "sources of heat are [[heat]] tables of the scene, which name the body";
const SOLIDUS: &str =
    "`solidus` is the temperature at which matter begins to melt, `liquidus` that at which all of it is melted";
const SPECIFIC: &str = "heat capacity per mass is `specific_heat`";
const START: &str = "the temperature at the start is a key of [[body]]";
const STRESS_LATER: &str = "yield is given as a strain: `yield_strain` = 0.816 (1 + poisson) yield_stress / young";

/// Keys of a material that an event may change too.
static MATERIAL_CHANGEABLE: &[Key] = &[
    with(
        "young",
        Kind::Quantity(D::PRESSURE, Range::Above(0.0, 1e13)),
        "1e5",
        "Young's modulus: force per area for a stretch to twice the length. Of matter with a grain the largest one: written beside such a preset, or in an event, it scales all of them.",
        "a firm jelly: soft enough to see it bend, stiff enough to stand",
    ),
    with(
        "poisson",
        Kind::Quantity(D::NONE, Range::Any),
        "0.3",
        "Poisson's ratio: contraction across per stretch along; above -1, below 0.5. Lattices: 0 unless it is written here, at least 0.",
        "most solids lie near",
    ),
    with(
        "density",
        Kind::Quantity(D::DENSITY, Range::Above(0.0, 1e6)),
        "1000",
        "Mass per volume.",
        "water's, and that of most soft matter",
    ),
    with(
        "damping",
        Kind::Quantity(D::RATE, Range::NotNegative),
        "0.5",
        "Rate at which motion other than rigid motion dies away.",
        "vibrations fade over some seconds, falls and spins are not braked",
    ),
    with(
        "smoothing",
        Kind::Quantity(D::NONE, Range::Between(0.0, 1.0)),
        "0.5",
        "Strength with which vibrations a few points long are taken away; rigid motion and momentum are spared.",
        "impacts leave such vibrations behind; 0 keeps every one of them, for measurements of energy",
    ),
    with(
        "friction",
        Kind::Quantity(D::NONE, Range::NotNegative),
        "0.5",
        "Coulomb friction against other bodies; of two bodies the geometric mean counts. A collider brings its own.",
        "most dry pairs lie between 0.3 and 0.7",
    ),
    with(
        "volume_stiffness",
        Kind::Quantity(D::PRESSURE, Range::Between(0.0, 1e13)),
        "0",
        "Extra resistance to volume change; adds to the bulk modulus.",
        "`young` and `poisson` alone say what the matter does",
    ),
    absent(
        "collapse_stiffness",
        Kind::Quantity(D::PRESSURE, Range::Between(0.0, 1e13)),
        "3 times `young`",
        "Resistance to collapse and inversion; acts only below `collapse_ratio`.",
    ),
    with(
        "collapse_ratio",
        Kind::Quantity(D::NONE, Range::Between(0.0, 1.0)),
        "0.6",
        "Volume ratio below which `collapse_stiffness` acts.",
        "out of the range of ordinary loads",
    ),
    absent(
        "control",
        Kind::Quantity(D::NONE, Range::Between(0.0, 100.0)),
        "1.5, which bends and twists as theory says; 0.3 for a body that is or becomes plastic, so that bends stay",
        "Strength of the control of zero-energy modes.",
    ),
    with(
        "yield_strain",
        Kind::Quantity(D::NONE, Range::Between(0.0, 10.0)),
        "0",
        "Elastic change of shape, as the norm of the deviatoric Green strain, beyond which matter flows if `creep` is above 0. \
         With 0 there is no solid shape left: the matter is a liquid.",
        "without `creep` it has no effect",
    ),
    with(
        "creep",
        Kind::Quantity(D::RATE, Range::NotNegative),
        "0",
        "Rate at which elastic strain beyond `yield_strain` turns into lasting strain; 0: none.",
        "elastic: every shape springs back",
    ),
    with(
        "max_plastic_strain",
        Kind::Quantity(D::NONE, Range::Between(0.0, 0.5)),
        "0.35",
        "Largest lasting change of shape of a plastic solid, as the norm of the plastic Green strain; beyond it is elastic again.",
        "larger ones need a reference that follows the shape",
    ),
    with(
        "melt_young",
        Kind::Quantity(D::PRESSURE, Range::Above(0.0, 1e13)),
        "1e4",
        "Young's modulus of the melted matter.",
        "low enough to flow under its own weight in body-sized pieces, high enough to hold together",
    ),
    with(
        "melt_creep",
        Kind::Quantity(D::RATE, Range::Above(0.0, 1e9)),
        "20",
        "Creep rate of the melted matter.",
        "slower ones keep swaying instead of coming to rest",
    ),
    with(
        "viscosity",
        Kind::Quantity(D::VISCOSITY, Range::Between(0.0, 1e4)),
        "20",
        "Resistance to shear of melted or flowing matter, beside that of its creep.",
        "thick honey",
    ),
    with(
        "cohesion",
        Kind::Quantity(D::PRESSURE, Range::NotNegative),
        "1e3",
        "Largest tension that melted or flowing matter carries before it parts.",
        "without any, stretched melt crumbles like sand",
    ),
    absent(
        "conductivity",
        Kind::Quantity(D::CONDUCTIVITY, Range::Positive),
        "takes no part in heat",
        "Conductivity of heat. With it the body takes part in heat.",
    ),
    with(
        "specific_heat",
        Kind::Quantity(D::SPECIFIC_HEAT, Range::Positive),
        "1000",
        "Heat that warms a mass by a kelvin.",
        "stone and glass; metals have 100 to 900, wax and plastics 2000, water 4200",
    ),
    absent(
        "specific_heat_liquid",
        Kind::Quantity(D::SPECIFIC_HEAT, Range::Positive),
        "as `specific_heat`",
        "The same of the melted matter.",
    ),
    with(
        "latent_heat",
        Kind::Quantity(D::LATENT_HEAT, Range::NotNegative),
        "0",
        "Heat that melts a mass, beside what warms it.",
        "none unless it is known",
    ),
    absent(
        "solidus",
        Kind::Quantity(D::TEMPERATURE, Range::Positive),
        "never melts",
        "Temperature at which the matter begins to melt.",
    ),
    absent(
        "liquidus",
        Kind::Quantity(D::TEMPERATURE, Range::Positive),
        "as `solidus`",
        "Temperature at which all of it is melted.",
    ),
];

pub(in crate::scene) static MATERIAL: Section = Section {
    header: "material = { ... }",
    doc: "What a body is made of. A preset fills all keys; keys that are written win over the preset.",
    keys: &[
        absent("preset", Kind::Text, "the defaults below", "Name of a ready-made material, see Presets."),
        absent(
            "anisotropy",
            Kind::Table(&ANISOTROPY),
            "the same in all directions",
            "Stiffness that depends on direction: grain.",
        ),
        absent(
            "thickness",
            Kind::Quantity(D::LENGTH, Range::Above(0.0, 1e3)),
            "shells must have it",
            "Thickness of a shell; for `model = \"shell\"` only.",
        ),
        absent(
            "law",
            Kind::Choice(&[
                choice("tensor", "strain and curvature fitted to the fibers: the material alone decides"),
                choice("weights", "weighted fibers, 10 to 20 % too soft on random points; for comparison"),
                choice("published", "as printed in [WSG05], at like stiffness, or in [War12]; for comparison"),
                choice(
                    "anchored",
                    "of an embedded body: its elastic state is kept through each embedding, what has flowed is anchored in the world",
                ),
            ]),
            "\"tensor\" of a shell, \"anchored\" of an embedded body",
            "Energy of a shell, or the form of the method that moves an embedded body.",
        ),
        absent(
            "break_strain",
            Kind::Quantity(D::NONE, Range::Above(0.0, 1e3)),
            "never",
            "Elastic strain at which a shell tears or a lattice solid breaks; accumulated plastic strain at which an embedded body does.",
        ),
        absent(
            "hardening",
            Kind::Quantity(D::PRESSURE, Range::Any),
            "0",
            "Rise of the yield stress of an embedded body or a shell per plastic strain, both as von Mises measures them; of a shell, by the plastic strain of the most strained fiber of a node; negative: it softens.",
        ),
        absent(
            "stiffening",
            Kind::Quantity(D::NONE, Range::Between(-0.8, 1e3)),
            "0: stiffness stays",
            "How the elastic stiffness of a shell depends on strain: its stress at a strain s is 1 + `stiffening` s² / (s² + `stiffening_strain`²) times that of `young`; negative: it softens. s is the Green strain of a simple pull, else that of one with the same energy; in bending that at 0.77 of half the thickness.",
        ),
        absent(
            "stiffening_strain",
            Kind::Quantity(D::NONE, Range::Above(0.0, 1e3)),
            "with `stiffening` it must be given",
            "Strain at which half of `stiffening` is there.",
        ),
        absent(
            "break_bending",
            Kind::Quantity(D::NONE, Range::Above(0.0, 1e3)),
            "never",
            "Elastic strain on the outer side, curvature times half the thickness, at which a shell breaks when it is bent.",
        ),
        absent(
            "microcracks",
            Kind::Quantity(D::NONE, Range::Between(0.0, 1.0)),
            "0: the first one opens a crack",
            "Part of the fibers of a node that break, each alone, before a crack opens there.",
        ),
        absent(
            "fatigue",
            Kind::Quantity(D::NONE, Range::NotNegative),
            "0",
            "Logarithm of the strength in bending lost per plastic strain on the outer side: bending back and forth weakens.",
        ),
        absent(
            "scatter",
            Kind::Quantity(D::NONE, Range::Between(0.0, 1.0)),
            "0.1",
            "Part by which the strength of a lattice solid differs from point to point.",
        ),
        absent(
            "yield_bound",
            Kind::Quantity(D::NONE, Range::Above(0.0, 10.0)),
            "0.8: elastic to about 30 % strain",
            "Largest |AᵀA - I| of a lattice solid's local stretch A up to which it finds back to its shape: 0.8 elastic, 0.3 plastic.",
        ),
        absent(
            "melt_rate",
            Kind::Quantity(D::RATE_PER_KELVIN, Range::Positive),
            "1",
            "How fast particles of a lattice solid melt, per kelvin above the melting temperature.",
        ),
        absent(
            "freeze_rate",
            Kind::Quantity(D::RATE_PER_KELVIN, Range::Positive),
            "2",
            "How fast particles of a lattice liquid freeze onto solid ones, per kelvin below the melting temperature.",
        ),
        absent(
            "surface_tension",
            Kind::Quantity(D::TENSION, Range::NotNegative),
            "0: none",
            "Surface tension of a lattice liquid; water has 0.072 N/m.",
        ),
        absent(
            "nucleation",
            Kind::Quantity(D::RATE_PER_KELVIN, Range::NotNegative),
            "0: freezing needs something solid",
            "How fast a cold lattice liquid freezes by itself, per kelvin below the melting temperature.",
        ),
    ],
    common: MATERIAL_CHANGEABLE,
    later: MATERIAL_LATER,
    partial: false,
};

/// What an event refuses beside what a material refuses.
const EVENT_SET_NOT: &[(&str, &str)] = &[
    ("preset", "an event cannot change the preset; write the keys that change"),
    ("anisotropy", "an event cannot change anisotropy; `young` scales all moduli of a grain"),
    ("thickness", "an event cannot change the thickness of a shell"),
    ("law", "an event cannot change the law of a shell"),
    ("break_strain", "an event cannot change what a shell bears"),
    ("hardening", "an event cannot change how a body hardens"),
    ("stiffening", "an event cannot change how a shell stiffens"),
    ("stiffening_strain", "an event cannot change how a shell stiffens"),
    ("break_bending", "an event cannot change what a shell bears"),
    ("microcracks", "an event cannot change what a shell bears"),
    ("fatigue", "an event cannot change what a shell bears"),
    ("scatter", "an event cannot change what a lattice bears"),
    ("yield_bound", "an event cannot change what a lattice bears"),
    ("melt_rate", "an event cannot change how fast a lattice melts; temperatures do"),
    ("freeze_rate", "an event cannot change how fast a lattice freezes; temperatures do"),
    ("surface_tension", "an event cannot change the surface tension of a liquid"),
    ("nucleation", "an event cannot change how a lattice freezes; temperatures do"),
    MATERIAL_LATER[0],
    MATERIAL_LATER[1],
    MATERIAL_LATER[2],
    MATERIAL_LATER[3],
];

const MATERIAL_LATER: &[(&str, &str)] =
    &[("yield_stress", STRESS_LATER), ("melting_point", SOLIDUS), ("heat_capacity", SPECIFIC), ("temperature", START)];

pub(in crate::scene) static ANISOTROPY: Section = section(
    "material.anisotropy = { ... }",
    "Either `young`, `poisson` and `shear` of a material with three planes of symmetry (wood), or all 21 constants as `stiffness`. Of a shell what lies in its surface counts: warp and weft of a sheet are x and z.",
    &[
        absent("young", Kind::Numbers(3, D::PRESSURE), "`stiffness` is given", "Young's moduli along x, y, z."),
        absent(
            "poisson",
            Kind::Numbers(3, D::NONE),
            "0, 0, 0",
            "Poisson's ratios xy, yz, zx: pull along the first, contraction along the second.",
        ),
        absent("shear", Kind::Numbers(3, D::PRESSURE), "`stiffness` is given", "Shear moduli xy, yz, zx."),
        absent(
            "stiffness",
            Kind::Numbers(21, D::PRESSURE),
            "`young` and `shear` are given",
            "Upper triangle of the 6x6 stiffness row by row, in the order xx yy zz yz zx xy.",
        ),
        with(
            "rotate",
            Kind::Vector(D::ANGLE),
            "[0, 0, 0]",
            "Rotation of the material's axes against the body's.",
            "grain along the body's axes",
        ),
    ],
);

pub(in crate::scene) static EVENT_SET: Section = Section {
    header: "set = { ... }",
    doc: "New values of material keys; what is left out stays.",
    keys: &[],
    common: MATERIAL_CHANGEABLE,
    later: EVENT_SET_NOT,
    partial: true,
};
