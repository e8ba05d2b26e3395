//! Keys of a body and all that belongs to it.

use super::MAX_POINTS;
use super::{Key, Kind, Range, Section, absent, choice, required, section, with};
use crate::scene::units::Dimension as D;

pub(in crate::scene) static BODY: Section = Section {
    header: "[[body]]",
    doc: "A piece of matter. Its shape is scaled, rotated, moved to `at`, filled with points and made of `material`.",
    keys: &[
        absent("name", Kind::Name, "`body0`, `body1`, ...", "Name, unique among the bodies."),
        with(
            "model",
            Kind::Choice(&[
                choice("mls", "moving-least-squares elasticity [MKN04]: solids that bounce and bend"),
                choice(
                    "embedded",
                    "elastoplasticity with an embedded rest shape [War12]: clay, dough, gum that flow and spring back",
                ),
                choice(
                    "lattice",
                    "particles that hold each other in a close-packed lattice [WHP06]: solids that break, liquids, melting and freezing",
                ),
                choice("shell", "fibers through the points of a surface [WSG05]: cloth, paper, masks, closed skins"),
            ]),
            "\"mls\"",
            "Which method moves it.",
            "the model of this version",
        ),
        required("shape", Kind::Shape, "Its shape in its own frame, see Shapes."),
        with("at", Kind::Vector(D::LENGTH), "[0, 0, 0]", "Place of the shape's origin.", "the origin"),
        with("rotate", Kind::Vector(D::ANGLE), "[0, 0, 0]", "Rotation about x, then y, then z.", "upright"),
        with("scale", Kind::Quantity(D::NONE, Range::Positive), "1", "Scale factor.", "as modeled"),
        with("velocity", Kind::Vector(D::VELOCITY), "[0, 0, 0]", "Initial velocity.", "at rest"),
        with(
            "spin",
            Kind::Vector(D::ANGULAR_VELOCITY),
            "[0, 0, 0]",
            "Initial angular velocity about the center of mass.",
            "at rest",
        ),
        absent(
            "spacing",
            Kind::Quantity(D::LENGTH, Range::Positive),
            "from `points`",
            "Distance between points. Give this or `points`, not both.",
        ),
        absent(
            "points",
            Kind::Count(1, MAX_POINTS),
            "2000, unless `spacing` is given: some 12 points across, quick and faithful enough",
            "Wanted number of points.",
        ),
        with(
            "sampling",
            Kind::Choice(&[
                choice("regular", "cell centers of a cubic grid; rows on a sheet"),
                choice("poisson", "blue noise, relaxed"),
                choice("graded", "fine at the surface, coarse inside"),
            ]),
            "\"poisson\"",
            "How points fill the volume.",
            "follows curved shapes and has no preferred direction",
        ),
        with(
            "dimensions",
            Kind::Count(2, 3),
            "3",
            "2: a lattice body in the plane z = 0 of its frame, one meter deep; then all bodies are. 3: in space.",
            "most things are solid",
        ),
        with(
            "phase",
            Kind::Choice(&[choice("solid", "it holds its shape"), choice("liquid", "it flows until it freezes")]),
            "\"solid\"",
            "What a lattice body is at the start.",
            "most things are",
        ),
        absent("material", Kind::Table(&MATERIAL), "all defaults: a soft solid", "What it is made of."),
        with(
            "temperature",
            Kind::Quantity(D::TEMPERATURE, Range::Positive),
            "\"20 degC\"",
            "Temperature at the start; for bodies whose material has a `conductivity`.",
            "a room, or 5 K below `solidus` where that is colder, so that ice is ice",
        ),
        absent("surface", Kind::Table(&SURFACE), "20000 surfels", "What is drawn."),
        absent("color", Kind::Color, "from a palette, by the body's number", "Color, `#rrggbb`."),
        absent(
            "cut",
            Kind::Tables(&CUT),
            "the whole surface",
            "Parts of a shell's surface that are left out: holes, slits, open ends.",
        ),
        absent(
            "weak",
            Kind::Tables(&WEAK),
            "as strong everywhere",
            "Regions of a shell that tear sooner, or later: where cracks begin and where they run.",
        ),
        absent(
            "regions",
            Kind::Tables(&REGION),
            "none but `all`",
            "Named parts, for pins, forces and probes. `all` always exists.",
        ),
        absent(
            "patches",
            Kind::Tables(&PATCH),
            "the same everywhere",
            "Regions of a shell whose matter is stiffer, softer, thicker or thinner.",
        ),
    ],
    common: &[],
    later: &[("heat", HEAT_TABLE)],
    partial: false,
};

const HEAT_TABLE: &str = "sources of heat are [[heat]] tables of the scene, which name the body";
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
        "Poisson's ratio: contraction across per stretch along; above -1, below 0.5.",
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
            "Rise of the yield stress of an embedded body per plastic strain, both as von Mises measures them; negative: it softens.",
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

pub(in crate::scene) static SURFACE: Section = section(
    "surface = { ... }",
    "What is drawn of a body.",
    &[
        with(
            "kind",
            Kind::Choice(&[
                choice("none", "nothing"),
                choice("points", "the points themselves, as balls"),
                choice("surfels", "small ellipses carried by the points"),
                choice("fibers", "nodes and fibers of a shell, as discs and strings"),
                choice(
                    "detail",
                    "small ellipses that keep every detail while matter flows, and give it up only where it parts or fuses",
                ),
                choice(
                    "skin",
                    "the triangles of the shape, which ride on a shell and open where it tears, or on an `mls` body that does not melt; `phyxel export` writes them with texture coordinates, colors, material slots and the numbers of the vertices",
                ),
                choice(
                    "mesh",
                    "a smooth closed mesh around the points of a lattice or an embedded body; what liquids have by default",
                ),
            ]),
            "\"surfels\"",
            "What kind of surface.",
            "smooth at any deformation",
        ),
        with(
            "count",
            Kind::Count(1, MAX_POINTS),
            "20000",
            "Wanted number of surfels; of vertices of a skin, where the shape has no triangles of its own.",
            "no holes at 1280x720",
        ),
        absent("pattern", Kind::Table(&PATTERN), "one color", "What is painted on it."),
        absent(
            "inner",
            Kind::Color,
            "the color of the surface around",
            "Color of surface that appears where a detail surface breaks.",
        ),
    ],
);

pub(in crate::scene) static PATTERN: Section = section(
    "pattern = { ... }",
    "What is painted on a surface, in the frame of the body's shape.",
    &[
        with(
            "kind",
            Kind::Choice(&[choice("checker", "cubes of two colors"), choice("stripes", "layers of two colors")]),
            "\"checker\"",
            "What is painted.",
            "shows stretch in all directions",
        ),
        required("size", Kind::Quantity(D::LENGTH, Range::Positive), "Width of a field."),
        with("color", Kind::Color, "\"#ffffff\"", "Color of every second field.", "seen on all others"),
    ],
);

pub(in crate::scene) static REGION: Section = section(
    "regions = [ { ... } ]",
    "A named part of a body: the points that lie there at the start, in world space. Exactly one of the keys after `name`.",
    &[
        required("name", Kind::Name, "Name, unique in the body."),
        absent("box", Kind::Table(&REGION_BOX), "", "Points in an axis-aligned box."),
        absent("sphere", Kind::Table(&REGION_SPHERE), "", "Points in a ball."),
        absent("half_space", Kind::Table(&REGION_HALF_SPACE), "", "Points p with normal·p > offset."),
        absent("nearest", Kind::Table(&REGION_NEAREST), "", "The points nearest to a place."),
        absent("painted", Kind::Color, "", "Points where the mesh of the body has about this color."),
    ],
);
pub(in crate::scene) static WEAK: Section = section(
    "weak = [ { ... } ]",
    "A region of a shell with a strength of its own. Where several overlap, the last one counts.",
    &[
        required("region", Kind::Text, "Region of the body."),
        required(
            "strength",
            Kind::Quantity(D::NONE, Range::Positive),
            "Strength in that of the material: below 1 it breaks sooner, above 1 later.",
        ),
    ],
);
pub(in crate::scene) static PATCH: Section = section(
    "patches = [ { ... } ]",
    "A region of a shell with a stiffness and a thickness of its own. Where several overlap they multiply.",
    &[
        required("region", Kind::Text, "Region of the body."),
        with(
            "stiffness",
            Kind::Quantity(D::NONE, Range::Above(0.0, 1e6)),
            "1",
            "Young's modulus in that of the material.",
            "as everywhere",
        ),
        with(
            "thickness",
            Kind::Quantity(D::NONE, Range::Above(0.0, 1e3)),
            "1",
            "Thickness in that of the material; mass and stiffness follow.",
            "as everywhere",
        ),
    ],
);
pub(in crate::scene) static CUT: Section = section(
    "cut = [ { ... } ]",
    "A part of a shell's surface that is left out, in the frame of its shape. Exactly one of these keys.",
    &[
        absent("box", Kind::Table(&REGION_BOX), "", "What lies in an axis-aligned box."),
        absent("sphere", Kind::Table(&REGION_SPHERE), "", "What lies in a ball."),
        absent("half_space", Kind::Table(&REGION_HALF_SPACE), "", "Where normal·p > offset."),
    ],
);
pub(in crate::scene) static REGION_BOX: Section = section(
    "box = { ... }",
    "",
    &[
        required("min", Kind::Vector(D::LENGTH), "Lower corner."),
        required("max", Kind::Vector(D::LENGTH), "Upper corner."),
    ],
);
pub(in crate::scene) static REGION_SPHERE: Section = section(
    "sphere = { ... }",
    "",
    &[
        required("center", Kind::Vector(D::LENGTH), "Center."),
        required("radius", Kind::Quantity(D::LENGTH, Range::Positive), "Radius."),
    ],
);
pub(in crate::scene) static REGION_HALF_SPACE: Section = section(
    "half_space = { ... }",
    "",
    &[
        required("normal", Kind::Vector(D::NONE), "Direction; its length does not matter."),
        with(
            "offset",
            Kind::Quantity(D::LENGTH, Range::Any),
            "0",
            "Distance of the plane from the origin along `normal`.",
            "through the origin",
        ),
    ],
);
pub(in crate::scene) static REGION_NEAREST: Section = section(
    "nearest = { ... }",
    "",
    &[
        required("to", Kind::Vector(D::LENGTH), "The place."),
        with("count", Kind::Count(1, MAX_POINTS), "1", "How many points.", "one"),
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
