//! Keys of the scene as a whole.

use super::{AIR, BODY, CAMERA, COLLIDER, EVENT, EXPECT, FORCE, HEAT, PIN, PROBE};
use super::{Kind, Range, Section, absent, choice, required, section, with};
use crate::scene::units::Dimension as D;

pub(in crate::scene) static SCENE: Section = section(
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
        absent("air", Kind::Table(&AIR), "takes no heat and gives none", "The air around all bodies."),
        absent("heat", Kind::Tables(&HEAT), "none", "Sources of heat."),
        absent("event", Kind::Tables(&EVENT), "none", "Changes at a time or when a probe crosses a value."),
        absent("probe", Kind::Tables(&PROBE), "none", "Numbers measured every frame."),
        absent("expect", Kind::Tables(&EXPECT), "none", "What must hold; makes the scene a test."),
        absent("camera", Kind::Table(&CAMERA), "a good view is found", "Where pictures are taken from."),
    ],
);
