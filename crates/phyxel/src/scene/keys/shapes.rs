//! Keys of shapes, by their kind.

use super::{Key, Kind, Range, Section, absent, required, with};
use crate::scene::units::Dimension as D;

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
pub(in crate::scene) static SHAPES: &[Section] = &[
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
        "sheet",
        "A flat rectangle in the plane y = 0, facing up; for shells.",
        &[KIND, required("size", Kind::Numbers(2, D::LENGTH), "Extents along x and z.")],
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
