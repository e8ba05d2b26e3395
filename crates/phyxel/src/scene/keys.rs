//! The one table of all keys of a scene file.
//!
//! Reading, errors about unknown keys, `--set`, the JSON Schema and `docs/scene_format.md` all derive from it: a new key
//! is one line here and one where it is read.

use super::units::Dimension as D;

/// A table of the scene file and the keys it may have.
pub(super) struct Section {
    /// As written: `[[body]]`.
    pub header: &'static str,
    pub doc: &'static str,
    pub keys: &'static [Key],
    /// Further keys, shared with other sections.
    pub common: &'static [Key],
    /// Keys that this version knows of but cannot honor, with the reason.
    pub later: &'static [(&'static str, &'static str)],
    /// What is left out stays as it is, instead of taking its default.
    pub partial: bool,
}

impl Section {
    pub fn all_keys(&self) -> impl Iterator<Item = &'static Key> {
        self.keys.iter().chain(self.common)
    }
    pub fn find(&self, name: &str) -> Option<&'static Key> {
        self.all_keys().find(|k| k.name == name)
    }
}

pub(super) struct Key {
    pub name: &'static str,
    pub kind: Kind,
    pub default: Default,
    pub doc: &'static str,
    /// Why the default is what it is.
    pub why: &'static str,
}

pub(super) enum Default {
    Required,
    /// May be left out; the text says what happens then.
    Absent(&'static str),
    /// TOML text of the value.
    Value(&'static str),
}

pub(super) enum Kind {
    Text,
    /// A name of this thing: letters, digits, `_`, `-`.
    Name,
    Flag,
    /// A whole number not below the first and not above the second.
    Count(i64, i64),
    Quantity(D, Range),
    /// Three quantities.
    Vector(D),
    /// A number other than zero, or three.
    Scale,
    /// A list of that many quantities.
    Numbers(usize, D),
    Choice(&'static [Choice]),
    /// `#rrggbb`.
    Color,
    /// Some of the letters x, y, z.
    Axes,
    /// A value in the unit of a probe's measure.
    ProbeValue,
    /// Two of them.
    ProbeRange,
    /// A time or one of these words.
    TimeOr(&'static [&'static str]),
    Shape,
    Shapes,
    /// `[shape.name]`: tables by name.
    NamedShapes,
    Table(&'static Section),
    Tables(&'static Section),
}

/// One value of an enumeration; `later` says why this version cannot honor it.
pub(super) struct Choice {
    pub name: &'static str,
    pub doc: &'static str,
    pub later: Option<&'static str>,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Range {
    Any,
    Positive,
    NotNegative,
    /// Both ends belong to it.
    Between(f64, f64),
    /// The lower end does not belong to it.
    Above(f64, f64),
}

const fn required(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, kind, default: Default::Required, doc, why: "" }
}
const fn absent(name: &'static str, kind: Kind, otherwise: &'static str, doc: &'static str) -> Key {
    Key { name, kind, default: Default::Absent(otherwise), doc, why: "" }
}
const fn with(name: &'static str, kind: Kind, value: &'static str, doc: &'static str, why: &'static str) -> Key {
    Key { name, kind, default: Default::Value(value), doc, why }
}
const fn choice(name: &'static str, doc: &'static str) -> Choice {
    Choice { name, doc, later: None }
}
const fn later(name: &'static str, why: &'static str) -> Choice {
    Choice { name, doc: "", later: Some(why) }
}

/// A section without shared or later keys.
const fn section(header: &'static str, doc: &'static str, keys: &'static [Key]) -> Section {
    Section { header, doc, keys, common: &[], later: &[], partial: false }
}

/// All sections in the order of the documentation, shapes apart.
pub(super) const SECTIONS: &[&Section] = &[
    &SCENE,
    &BODY,
    &MATERIAL,
    &ANISOTROPY,
    &SURFACE,
    &REGION,
    &REGION_BOX,
    &REGION_SPHERE,
    &REGION_HALF_SPACE,
    &REGION_NEAREST,
    &COLLIDER,
    &KEYFRAME,
    &PIN,
    &FORCE,
    &EVENT,
    &EVENT_WHEN,
    &EVENT_SET,
    &PROBE,
    &EXPECT,
    &CAMERA,
];

/// More points than any machine of today steps in useful time; keeps sizes within sane memory.
const MAX_POINTS: i64 = 100_000_000;

pub(super) static SCENE: Section = section(
    "(top level)",
    "What holds for the whole scene. These keys stand before the first `[[...]]` header.",
    &[
        required("format", Kind::Count(1, 1), "Version of the scene format: 1."),
        absent("name", Kind::Name, "the name of the file", "Name of the scene; names the run folder."),
        with(
            "gravity",
            Kind::Vector(D::ACCELERATION),
            "[0, -9.81, 0]",
            "Acceleration of gravity.",
            "the Earth's, y is up",
        ),
        with(
            "duration",
            Kind::Quantity(D::TIME, Range::Positive),
            "4",
            "Simulated time.",
            "long enough to fall, bounce and settle",
        ),
        with(
            "fps",
            Kind::Quantity(D::RATE, Range::Above(0.0, 1e5)),
            "30",
            "Frames per simulated second.",
            "films play smoothly",
        ),
        with("seed", Kind::Count(0, i64::MAX), "1", "All randomness comes from here.", "any fixed number will do"),
        with(
            "integrator",
            Kind::Choice(&[
                choice("auto", "explicit unless implicit is several times cheaper"),
                choice("explicit", "leap-frog; exact in energy, small steps for stiff matter"),
                choice("implicit", "implicit Euler with Newton's method; stable at any step, loses energy"),
            ]),
            "\"auto\"",
            "How to integrate in time.",
            "the program knows the cost of both",
        ),
        with(
            "precision",
            Kind::Choice(&[
                choice("mixed", "f64 state, f32 pair data"),
                choice("f32", "f32 where it pays most"),
                choice("f64", "f64 throughout"),
            ]),
            "\"mixed\"",
            "Number format of the pair loops.",
            "nearly the speed of f32 without its drift",
        ),
        absent(
            "time_step",
            Kind::Quantity(D::TIME, Range::Positive),
            "chosen from material, spacing and motion",
            "Upper bound on the time step; the stability limit still holds.",
        ),
        absent(
            "shape",
            Kind::NamedShapes,
            "none",
            "Shapes defined once, `[shape.NAME]`, and used by `use = \"NAME\"`.",
        ),
        required("body", Kind::Tables(&BODY), "The things that move; at least one."),
        absent("collider", Kind::Tables(&COLLIDER), "none", "Rigid things with prescribed motion."),
        absent("pin", Kind::Tables(&PIN), "none", "Holds or drags regions of bodies."),
        absent("force", Kind::Tables(&FORCE), "none", "Forces beside gravity."),
        absent("event", Kind::Tables(&EVENT), "none", "Changes at a time or when a probe crosses a value."),
        absent("probe", Kind::Tables(&PROBE), "none", "Numbers measured every frame."),
        absent("expect", Kind::Tables(&EXPECT), "none", "What must hold; makes the scene a test."),
        absent("camera", Kind::Table(&CAMERA), "a good view is found", "Where pictures are taken from."),
    ],
);

pub(super) static BODY: Section = Section {
    header: "[[body]]",
    doc: "A piece of matter. Its shape is scaled, rotated, moved to `at`, filled with points and made of `material`.",
    keys: &[
        absent("name", Kind::Name, "`body0`, `body1`, ...", "Name, unique among the bodies."),
        with(
            "model",
            Kind::Choice(&[
                choice("mls", "moving-least-squares elasticity [MKN04]: solids that bounce and bend"),
                later("embedded", "the model for clay and dough comes in a later version"),
                later("lattice", "the model for melting, freezing and liquids comes in a later version"),
                later("shell", "the model for cloth and foil comes in a later version"),
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
                choice("regular", "cell centers of a cubic grid"),
                choice("poisson", "blue noise, relaxed"),
                choice("graded", "fine at the surface, coarse inside"),
            ]),
            "\"poisson\"",
            "How points fill the volume.",
            "follows curved shapes and has no preferred direction",
        ),
        absent("material", Kind::Table(&MATERIAL), "all defaults: a soft solid", "What it is made of."),
        absent("surface", Kind::Table(&SURFACE), "20000 surfels", "What is drawn."),
        absent("color", Kind::Color, "from a palette, by the body's number", "Color, `#rrggbb`."),
        absent(
            "regions",
            Kind::Tables(&REGION),
            "none but `all`",
            "Named parts, for pins, forces and probes. `all` always exists.",
        ),
    ],
    common: &[],
    later: &[("temperature", HEAT_LATER), ("heat", HEAT_LATER)],
    partial: false,
};

const HEAT_LATER: &str = "heat comes in a later version; leave the key out";
const PLASTIC_LATER: &str = "plastic flow comes in a later version; this one is elastic only, leave the key out";

/// Keys of a material that an event may change too.
static MATERIAL_CHANGEABLE: &[Key] = &[
    with(
        "young",
        Kind::Quantity(D::PRESSURE, Range::Above(0.0, 1e13)),
        "1e5",
        "Young's modulus: force per area for a stretch to twice the length. With a preset that has a grain, scales all its moduli.",
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
    with(
        "control",
        Kind::Quantity(D::NONE, Range::Between(0.0, 100.0)),
        "1.5",
        "Strength of the control of zero-energy modes.",
        "smallest that keeps points from pairing, without stiffening",
    ),
];

pub(super) static MATERIAL: Section = Section {
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
    ],
    common: MATERIAL_CHANGEABLE,
    later: MATERIAL_LATER,
    partial: false,
};

const MATERIAL_LATER: &[(&str, &str)] = &[
    ("yield_strain", PLASTIC_LATER),
    ("yield_stress", PLASTIC_LATER),
    ("creep", PLASTIC_LATER),
    ("hardening", PLASTIC_LATER),
    ("melting_point", HEAT_LATER),
    ("conductivity", HEAT_LATER),
    ("heat_capacity", HEAT_LATER),
    ("temperature", HEAT_LATER),
];

pub(super) static ANISOTROPY: Section = section(
    "material.anisotropy = { ... }",
    "Either `young`, `poisson` and `shear` of a material with three planes of symmetry (wood), or all 21 constants as `stiffness`.",
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

pub(super) static SURFACE: Section = section(
    "surface = { ... }",
    "What is drawn of a body.",
    &[
        with(
            "kind",
            Kind::Choice(&[
                choice("none", "nothing"),
                choice("points", "the points themselves, as balls"),
                choice("surfels", "small ellipses carried by the points"),
                later("detail", "this surface comes in a later version; surfels are near to it"),
                later("skin", "this surface comes in a later version; surfels are near to it"),
                later("mesh", "this surface comes in a later version; surfels are near to it"),
            ]),
            "\"surfels\"",
            "What kind of surface.",
            "smooth at any deformation",
        ),
        with("count", Kind::Count(1, MAX_POINTS), "20000", "Wanted number of surfels.", "no holes at 1280x720"),
    ],
);

pub(super) static REGION: Section = section(
    "regions = [ { ... } ]",
    "A named part of a body: the points that lie there at the start, in world space. Exactly one of the keys after `name`.",
    &[
        required("name", Kind::Name, "Name, unique in the body."),
        absent("box", Kind::Table(&REGION_BOX), "", "Points in an axis-aligned box."),
        absent("sphere", Kind::Table(&REGION_SPHERE), "", "Points in a ball."),
        absent("half_space", Kind::Table(&REGION_HALF_SPACE), "", "Points p with normal·p > offset."),
        absent("nearest", Kind::Table(&REGION_NEAREST), "", "The points nearest to a place."),
    ],
);
pub(super) static REGION_BOX: Section = section(
    "box = { ... }",
    "",
    &[
        required("min", Kind::Vector(D::LENGTH), "Lower corner."),
        required("max", Kind::Vector(D::LENGTH), "Upper corner."),
    ],
);
pub(super) static REGION_SPHERE: Section = section(
    "sphere = { ... }",
    "",
    &[
        required("center", Kind::Vector(D::LENGTH), "Center."),
        required("radius", Kind::Quantity(D::LENGTH, Range::Positive), "Radius."),
    ],
);
pub(super) static REGION_HALF_SPACE: Section = section(
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
pub(super) static REGION_NEAREST: Section = section(
    "nearest = { ... }",
    "",
    &[
        required("to", Kind::Vector(D::LENGTH), "The place."),
        with("count", Kind::Count(1, MAX_POINTS), "1", "How many points.", "one"),
    ],
);

pub(super) static COLLIDER: Section = section(
    "[[collider]]",
    "A rigid thing that bodies collide with; stands still or moves by keyframes.",
    &[
        absent("name", Kind::Name, "`collider0`, `collider1`, ...", "Name, unique among the colliders."),
        required("shape", Kind::Shape, "Its shape in its own frame, see Shapes."),
        with("at", Kind::Vector(D::LENGTH), "[0, 0, 0]", "Place.", "the origin"),
        with("rotate", Kind::Vector(D::ANGLE), "[0, 0, 0]", "Rotation about x, then y, then z.", "upright"),
        with(
            "friction",
            Kind::Quantity(D::NONE, Range::Between(0.0, 100.0)),
            "0.5",
            "Coulomb friction coefficient.",
            "wood on wood; things stay where they land",
        ),
        with(
            "restitution",
            Kind::Quantity(D::NONE, Range::Between(0.0, 1.0)),
            "0",
            "Part of the normal speed given back to a point that hits.",
            "the body's own elasticity makes it bounce",
        ),
        absent(
            "temperature",
            Kind::Quantity(D::TEMPERATURE, Range::NotNegative),
            "does not exchange heat",
            "Held temperature; read and kept, without effect in this version.",
        ),
        absent("motion", Kind::Tables(&KEYFRAME), "stands still", "Keyframes, relative to `at` and `rotate`."),
        absent("color", Kind::Color, "a light gray", "Color, `#rrggbb`."),
        with("visible", Kind::Flag, "true", "Drawn in pictures.", "what acts is seen"),
    ],
);

pub(super) static KEYFRAME: Section = section(
    "motion = [ { ... } ]",
    "A place at a time. Between two keyframes the motion is smooth without overshoot; before the first and after the last it rests.",
    &[
        required("t", Kind::Quantity(D::TIME, Range::Any), "Time; each later than the one before."),
        with("at", Kind::Vector(D::LENGTH), "[0, 0, 0]", "Offset.", "none"),
        with("rotate", Kind::Vector(D::ANGLE), "[0, 0, 0]", "Turn about x, then y, then z.", "none"),
    ],
);

pub(super) static PIN: Section = section(
    "[[pin]]",
    "Holds a region of a body, or drags it along.",
    &[
        absent("name", Kind::Name, "`pin0`, `pin1`, ...", "Name, unique among the pins."),
        required("body", Kind::Text, "Body."),
        with("region", Kind::Text, "\"all\"", "Region of that body.", "the whole body"),
        absent("until", Kind::Quantity(D::TIME, Range::NotNegative), "never", "Time of release."),
        with("axes", Kind::Axes, "\"xyz\"", "Directions that are held.", "all"),
        absent("motion", Kind::Tables(&KEYFRAME), "held still", "Offset and turn about the region's center over time."),
    ],
);

pub(super) static FORCE: Section = section(
    "[[force]]",
    "A force beside gravity.",
    &[
        required(
            "kind",
            Kind::Choice(&[
                choice("region", "a total force spread over a region by mass"),
                choice("field", "an acceleration on everything, or on one body"),
                later("pressure", "this force comes in a later version"),
                later("wind", "this force comes in a later version"),
            ]),
            "What kind.",
        ),
        absent("body", Kind::Text, "all bodies, for a field; a region needs it", "Body."),
        absent("region", Kind::Text, "the whole body", "Region of that body (`region`)."),
        absent("total", Kind::Vector(D::FORCE), "`region` needs it", "Sum of the force over the region (`region`)."),
        absent("acceleration", Kind::Vector(D::ACCELERATION), "`field` needs it", "Acceleration (`field`)."),
        with("from", Kind::Quantity(D::TIME, Range::NotNegative), "0", "Start.", "from the start"),
        absent("until", Kind::Quantity(D::TIME, Range::NotNegative), "never", "End."),
    ],
);

pub(super) static EVENT: Section = Section {
    header: "[[event]]",
    doc: "Something that happens once: at a time (`at`) or when a probe crosses a value (`when`). Exactly one of `set`, `release`, `remove`.",
    keys: &[
        absent("at", Kind::Quantity(D::TIME, Range::NotNegative), "`when` is given", "Time."),
        absent("when", Kind::Table(&EVENT_WHEN), "`at` is given", "Condition."),
        absent("body", Kind::Text, "`set` needs it", "Body that changes."),
        absent("set", Kind::Table(&EVENT_SET), "", "Material keys that change."),
        absent("release", Kind::Text, "", "Pin that lets go."),
        absent("remove", Kind::Text, "", "Collider that vanishes."),
    ],
    common: &[],
    later: &[
        ("melt", "melting comes in a later version; change `young` with `set` meanwhile"),
        ("solidify", "solidifying comes in a later version; change `young` with `set` meanwhile"),
    ],
    partial: false,
};
pub(super) static EVENT_WHEN: Section = section(
    "when = { ... }",
    "The first frame at which the probe lies on that side. Exactly one of `below`, `above`.",
    &[
        required("probe", Kind::Text, "Probe."),
        absent("below", Kind::ProbeValue, "", "Happens below this value."),
        absent("above", Kind::ProbeValue, "", "Happens above this value."),
    ],
);
pub(super) static EVENT_SET: Section = Section {
    header: "set = { ... }",
    doc: "New values of material keys; what is left out stays.",
    keys: &[],
    common: MATERIAL_CHANGEABLE,
    later: MATERIAL_LATER,
    partial: true,
};

pub(super) static PROBE: Section = section(
    "[[probe]]",
    "A number per frame, into `metrics.csv` and `plots/`.",
    &[
        absent("name", Kind::Name, "`probe0`, `probe1`, ...", "Name of the column, unique."),
        absent("body", Kind::Text, "all bodies, where the measure allows it", "Body that is measured."),
        with("region", Kind::Text, "\"all\"", "Region of that body.", "the whole body"),
        absent("to_region", Kind::Text, "`distance` needs it", "Second region, for `distance`."),
        absent("pin", Kind::Text, "", "Pin, for `reaction_x` and its kin."),
        absent("collider", Kind::Text, "", "Collider, for `reaction_x` and its kin."),
        required("measure", Kind::Text, "What is measured, see Measures."),
    ],
);

pub(super) static EXPECT: Section = section(
    "[[expect]]",
    "What a probe must show; a run in which one does not hold ends with exit code 1. Exactly one of `between`, `below`, `above`, `near`.",
    &[
        required("probe", Kind::Text, "Probe."),
        with(
            "at",
            Kind::TimeOr(&["end", "max", "min", "always"]),
            "\"end\"",
            "A time, the last frame, the largest or smallest value, or every frame.",
            "what it comes to",
        ),
        absent("between", Kind::ProbeRange, "", "Smallest and largest value."),
        absent("below", Kind::ProbeValue, "", "Less than this."),
        absent("above", Kind::ProbeValue, "", "More than this."),
        absent("near", Kind::ProbeValue, "", "Within `tolerance` of this."),
        absent("tolerance", Kind::ProbeValue, "`near` needs it", "Largest distance from `near`."),
    ],
);

pub(super) static CAMERA: Section = section(
    "[camera]",
    "Where pictures are taken from. What is left out is found automatically and kept still.",
    &[
        absent("from", Kind::Vector(D::LENGTH), "found from the motion", "Place of the eye."),
        absent("look_at", Kind::Vector(D::LENGTH), "found from the motion", "The place looked at."),
        absent(
            "fov",
            Kind::Quantity(D::ANGLE, Range::Between(1.0, 150.0)),
            "chosen with the view",
            "Vertical field of view.",
        ),
    ],
);

/// Keys that every shape takes.
static SHAPE_COMMON: &[Key] = &[
    with("at", Kind::Vector(D::LENGTH), "[0, 0, 0]", "Place.", "centered"),
    with("rotate", Kind::Vector(D::ANGLE), "[0, 0, 0]", "Rotation about x, then y, then z.", "upright"),
    with("scale", Kind::Scale, "1", "Scale factor, or three along x, y, z; a negative one mirrors.", "as given"),
    with("round", Kind::Quantity(D::LENGTH, Range::NotNegative), "0", "Radius of rounded edges.", "sharp"),
];

const fn shape(header: &'static str, doc: &'static str, keys: &'static [Key]) -> Section {
    Section { header, doc, keys, common: SHAPE_COMMON, later: &[], partial: false }
}

const LENGTH: Kind = Kind::Quantity(D::LENGTH, Range::Positive);
const KIND: Key = required("kind", Kind::Text, "Which shape.");
const SMOOTH: Key = with(
    "smooth",
    Kind::Quantity(D::LENGTH, Range::NotNegative),
    "0",
    "Width over which the parts blend.",
    "sharp seams",
);
const FILE: Key = required("file", Kind::Text, "File, looked up beside the scene file.");
const HEIGHT: Key = absent("height", LENGTH, "the size in the file, in m", "Scales it to this height along y.");

/// One section per `shape.kind`; the header is the kind. The last one is `use`.
pub(super) static SHAPES: &[Section] = &[
    shape("box", "A box.", &[KIND, required("size", Kind::Vector(D::LENGTH), "Edge lengths along x, y, z.")]),
    shape("sphere", "A ball.", &[KIND, required("radius", LENGTH, "Radius.")]),
    shape(
        "ellipsoid",
        "An ellipsoid.",
        &[KIND, required("radii", Kind::Vector(D::LENGTH), "Half axes along x, y, z.")],
    ),
    shape(
        "cylinder",
        "A cylinder about the y axis.",
        &[KIND, required("radius", LENGTH, "Radius."), required("height", LENGTH, "Height.")],
    ),
    shape(
        "capsule",
        "A cylinder about the y axis with half balls at both ends.",
        &[
            KIND,
            required("radius", LENGTH, "Radius."),
            required("height", LENGTH, "Whole height, half balls included; at least twice the radius."),
        ],
    ),
    shape(
        "cone",
        "A cone about the y axis, tip up, centered at half its height.",
        &[KIND, required("radius", LENGTH, "Radius at the foot."), required("height", LENGTH, "Height.")],
    ),
    shape(
        "torus",
        "A ring about the y axis.",
        &[KIND, required("radius", LENGTH, "Radius of the ring."), required("tube", LENGTH, "Radius of the tube.")],
    ),
    shape(
        "plane",
        "The half-space below a plane; for colliders and for cutting.",
        &[
            KIND,
            with(
                "normal",
                Kind::Vector(D::NONE),
                "[0, 1, 0]",
                "Direction out of the matter; its length does not matter.",
                "a floor",
            ),
            with(
                "offset",
                Kind::Quantity(D::LENGTH, Range::Any),
                "0",
                "Distance from the origin along `normal`.",
                "through the origin",
            ),
        ],
    ),
    shape("mesh", "A mesh from a file: OBJ, PLY, STL, glTF, GLB.", &[KIND, FILE, HEIGHT]),
    shape("points", "A point cloud with normals from a PLY file.", &[KIND, FILE, HEIGHT]),
    shape("union", "All parts together.", &[KIND, required("of", Kind::Shapes, "The parts."), SMOOTH]),
    shape(
        "difference",
        "The first part without all others.",
        &[KIND, required("of", Kind::Shapes, "The parts."), SMOOTH],
    ),
    shape(
        "intersection",
        "What all parts have in common.",
        &[KIND, required("of", Kind::Shapes, "The parts."), SMOOTH],
    ),
    shape(
        "use",
        "A shape defined under `[shape.NAME]`, or a built-in one. Written without `kind`.",
        &[required("use", Kind::Text, "Its name.")],
    ),
];

/// Values of `shape.kind` that come later.
pub(super) const SHAPES_LATER: &[(&str, &str)] =
    &[("sheet", "sheets need the shell model, which comes in a later version")];
