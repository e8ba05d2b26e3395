//! The one table of all keys of a scene file.
//!
//! Reading, errors about unknown keys, `--set`, the JSON Schema and `docs/scene_format.md` all derive from it: a new key
//! is one line here and one where it is read.

mod body;
mod heat;
mod material;
mod scene;
mod shapes;
mod world;

pub(super) use body::{
    BODY, CUT, PATCH, PATTERN, REGION, REGION_BOX, REGION_HALF_SPACE, REGION_NEAREST, REGION_SPHERE, SURFACE, WEAK,
};
pub(super) use heat::{AIR, HEAT};
pub(super) use material::{ANISOTROPY, EVENT_SET, MATERIAL};
pub(super) use scene::SCENE;
pub(super) use shapes::SHAPES;
pub(super) use world::{CAMERA, COLLIDER, EVENT, EVENT_WHEN, EXPECT, FORCE, KEYFRAME, PIN, PROBE};

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
    /// A list of vectors, two or more.
    Vectors(D),
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

/// One value of an enumeration.
pub(super) struct Choice {
    pub name: &'static str,
    pub doc: &'static str,
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
    Choice { name, doc }
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
    &PATTERN,
    &CUT,
    &WEAK,
    &PATCH,
    &REGION,
    &REGION_BOX,
    &REGION_SPHERE,
    &REGION_HALF_SPACE,
    &REGION_NEAREST,
    &COLLIDER,
    &KEYFRAME,
    &PIN,
    &FORCE,
    &AIR,
    &HEAT,
    &EVENT,
    &EVENT_WHEN,
    &EVENT_SET,
    &PROBE,
    &EXPECT,
    &CAMERA,
];

/// More points than any machine of today steps in useful time; keeps sizes within sane memory.
const MAX_POINTS: i64 = 100_000_000;
