//! Keys of what heats and cools bodies.

use super::{Kind, Range, Section, absent, choice, required, section, with};
use crate::scene::units::Dimension as D;

pub(in crate::scene) static AIR: Section = section(
    "[air]",
    "The air around all bodies; without this table it takes no heat and gives none.",
    &[
        with("temperature", Kind::Quantity(D::TEMPERATURE, Range::Positive), "\"20 degC\"", "Temperature.", "a room"),
        with(
            "exchange",
            Kind::Quantity(D::HEAT_EXCHANGE, Range::NotNegative),
            "10",
            "Heat that a surface gives to the air, per area and kelvin.",
            "still air with radiation; a fan makes it 50, water some hundreds",
        ),
    ],
);

pub(in crate::scene) static HEAT: Section = section(
    "[[heat]]",
    "A source of heat beside air and colliders. Works on bodies with `conductivity`.",
    &[
        required(
            "kind",
            Kind::Choice(&[
                choice("power", "heat spread over a region by mass"),
                choice("held", "a region at a held temperature"),
                choice("lamp", "light that heats the surface it falls on; follows the surface, casts no shadows"),
            ]),
            "What kind.",
        ),
        absent("body", Kind::Text, "all bodies, for a lamp; the others need it", "Body."),
        absent("region", Kind::Text, "the whole body", "Region of that body (`power`, `held`)."),
        absent(
            "power",
            Kind::Quantity(D::POWER, Range::Any),
            "`power` needs it",
            "Heat per time over the region (`power`); below 0 it cools.",
        ),
        absent(
            "temperature",
            Kind::Quantity(D::TEMPERATURE, Range::Positive),
            "`held` needs it",
            "Temperature (`held`).",
        ),
        absent(
            "flux",
            Kind::Quantity(D::HEAT_FLUX, Range::NotNegative),
            "`lamp` needs it",
            "Heat per area across the light (`lamp`).",
        ),
        absent("direction", Kind::Vector(D::NONE), "straight down", "The way the light goes (`lamp`)."),
        absent("center", Kind::Vector(D::LENGTH), "the origin", "A place on the axis of the beam (`lamp`)."),
        absent(
            "radius",
            Kind::Quantity(D::LENGTH, Range::Positive),
            "the light is everywhere",
            "Radius of the beam (`lamp`).",
        ),
        with("from", Kind::Quantity(D::TIME, Range::NotNegative), "0", "Start.", "from the start"),
        absent("until", Kind::Quantity(D::TIME, Range::NotNegative), "never", "End."),
    ],
);
