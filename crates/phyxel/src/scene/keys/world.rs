//! Keys of what acts on bodies, and of what is measured and seen.

use super::EVENT_SET;
use super::{Kind, Range, Section, absent, choice, required, section, with};
use crate::scene::units::Dimension as D;

pub(in crate::scene) static COLLIDER: Section = section(
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
            "Held temperature; heats and cools what touches it.",
        ),
        absent(
            "exchange",
            Kind::Quantity(D::HEAT_EXCHANGE, Range::Positive),
            "no resistance at the contact",
            "Heat that passes the contact, per area and kelvin. Needs `temperature`.",
        ),
        absent("motion", Kind::Tables(&KEYFRAME), "stands still", "Keyframes, relative to `at` and `rotate`."),
        absent("color", Kind::Color, "a light gray", "Color, `#rrggbb`."),
        with("visible", Kind::Flag, "true", "Drawn in pictures.", "what acts is seen"),
        with(
            "mold",
            Kind::Flag,
            "false",
            "Flowing matter with a detail surface takes its print, at any fineness.",
            "looking at all colliders costs time",
        ),
        with(
            "stain",
            Kind::Flag,
            "false",
            "What takes the print of a `mold` takes its color too: that of the vertices of its mesh where they have one, else `color`.",
            "prints keep the color of the matter",
        ),
    ],
);

pub(in crate::scene) static KEYFRAME: Section = section(
    "motion = [ { ... } ]",
    "A place at a time. Between two keyframes the motion is smooth without overshoot; before the first and after the last it rests.",
    &[
        required("t", Kind::Quantity(D::TIME, Range::Any), "Time; each later than the one before."),
        with("at", Kind::Vector(D::LENGTH), "[0, 0, 0]", "Offset.", "none"),
        with("rotate", Kind::Vector(D::ANGLE), "[0, 0, 0]", "Turn about x, then y, then z.", "none"),
    ],
);

pub(in crate::scene) static PIN: Section = section(
    "[[pin]]",
    "Holds a region of a body, or drags it along.",
    &[
        absent("name", Kind::Name, "`pin0`, `pin1`, ...", "Name, unique among the pins."),
        required("body", Kind::Text, "Body."),
        with("region", Kind::Text, "\"all\"", "Region of that body.", "the whole body"),
        with(
            "from",
            Kind::Quantity(D::TIME, Range::NotNegative),
            "0",
            "Start; a pin that begins later grips what lies in the region's place then.",
            "from the start",
        ),
        absent("until", Kind::Quantity(D::TIME, Range::NotNegative), "never", "Time of release."),
        with("axes", Kind::Axes, "\"xyz\"", "Directions that are held.", "all"),
        absent("motion", Kind::Tables(&KEYFRAME), "held still", "Offset and turn about the region's center over time."),
    ],
);

pub(in crate::scene) static FORCE: Section = section(
    "[[force]]",
    "A force beside gravity.",
    &[
        required(
            "kind",
            Kind::Choice(&[
                choice("region", "a total force spread over a region by mass"),
                choice("field", "an acceleration on everything, or on one body"),
                choice("pressure", "a pressure inside of a closed shell"),
                choice("wind", "wind on shells"),
            ]),
            "What kind.",
        ),
        absent("body", Kind::Text, "all bodies, for a field; a region needs it", "Body."),
        absent("region", Kind::Text, "the whole body", "Region of that body (`region`)."),
        absent("total", Kind::Vector(D::FORCE), "`region` needs it", "Sum of the force over the region (`region`)."),
        absent("acceleration", Kind::Vector(D::ACCELERATION), "`field` needs it", "Acceleration (`field`)."),
        absent(
            "pressure",
            Kind::Quantity(D::PRESSURE, Range::Between(-1e9, 1e9)),
            "`pressure` needs it",
            "Pressure against the outside (`pressure`).",
        ),
        absent(
            "ramp",
            Kind::Quantity(D::TIME, Range::NotNegative),
            "0 s",
            "Time over which it rises from zero (`pressure`).",
        ),
        absent(
            "outside",
            Kind::Quantity(D::PRESSURE, Range::NotNegative),
            "the pressure is given, whatever the volume",
            "Pressure outside, such as \"101 kPa\": inside is a fixed amount of gas that has `pressure` above it at the volume at rest (`pressure`).",
        ),
        absent("velocity", Kind::Vector(D::VELOCITY), "`wind` needs it", "Velocity of the air (`wind`)."),
        absent("density", Kind::Quantity(D::DENSITY, Range::NotNegative), "1.2 kg/m^3", "Density of the air (`wind`)."),
        absent(
            "drag",
            Kind::Quantity(D::NONE, Range::NotNegative),
            "1",
            "Coefficient of drag of a plate across the wind (`wind`).",
        ),
        with("from", Kind::Quantity(D::TIME, Range::NotNegative), "0", "Start.", "from the start"),
        absent("until", Kind::Quantity(D::TIME, Range::NotNegative), "never", "End."),
    ],
);

pub(in crate::scene) static EVENT: Section = Section {
    header: "[[event]]",
    doc: "Something that happens once: at a time (`at`) or when a probe crosses a value (`when`). Exactly one of `set`, `release`, `remove`, `melt`, `solidify`.",
    keys: &[
        absent("at", Kind::Quantity(D::TIME, Range::NotNegative), "`when` is given", "Time."),
        absent("when", Kind::Table(&EVENT_WHEN), "`at` is given", "Condition."),
        absent("body", Kind::Text, "`set` needs it", "Body that changes."),
        absent("set", Kind::Table(&EVENT_SET), "", "Material keys that change."),
        absent("release", Kind::Text, "", "Pin that lets go."),
        absent("remove", Kind::Text, "", "Collider that vanishes."),
        absent("melt", Kind::Text, "", "Body that is melted from now on, whatever its temperature."),
        absent("solidify", Kind::Text, "", "Body that is solid from now on, whatever its temperature."),
    ],
    common: &[],
    later: &[],
    partial: false,
};
pub(in crate::scene) static EVENT_WHEN: Section = section(
    "when = { ... }",
    "The first frame at which the probe lies on that side. Exactly one of `below`, `above`.",
    &[
        required("probe", Kind::Text, "Probe."),
        absent("below", Kind::ProbeValue, "", "Happens below this value."),
        absent("above", Kind::ProbeValue, "", "Happens above this value."),
    ],
);
pub(in crate::scene) static PROBE: Section = section(
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

pub(in crate::scene) static EXPECT: Section = section(
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

pub(in crate::scene) static CAMERA: Section = section(
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
