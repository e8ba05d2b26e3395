//! Keys of a body and all that belongs to it.

use super::MAX_POINTS;
use super::material::{HEAT_TABLE, MATERIAL};
use super::{Kind, Range, Section, absent, choice, required, section, with};
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
            "resample",
            Kind::Quantity(D::NONE, Range::Between(1.0, 4.0)),
            "1",
            "Most points of an embedded body over those it starts with: where it has flowed thinner than a point, points are split, and joined again where they crowd. 1: never.",
            "what thin matter needs is rarely seen, and smaller points take shorter steps",
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
                    "small ellipses that keep every detail while matter flows, and give it up only where it parts or fuses; those of a lattice that breaks open at its cracks",
                ),
                choice(
                    "skin",
                    "the triangles of the shape, which ride on the points and open where a shell tears or where matter that flows parts or fuses, sewn to the new surface there (lattices have one if they neither melt nor break); `phyxel export` writes them with texture coordinates, colors, material slots and the numbers of the vertices",
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
        absent(
            "molten",
            Kind::Color,
            "the color of the body",
            "Color of what has melted, where the surface is a mesh around a lattice.",
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
        absent("path", Kind::Table(&REGION_PATH), "", "Points near to a line, such as a way that a tear shall take."),
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
            "Strength in that of the material: below 1 it breaks sooner, above 1 later. A tear turns to where its pull over the strength is largest, so that a weak `path` leads it.",
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
pub(in crate::scene) static REGION_PATH: Section = section(
    "path = { ... }",
    "",
    &[
        required(
            "through",
            Kind::Vectors(D::LENGTH),
            "Places that the line goes through, straight from one to the next.",
        ),
        required("radius", Kind::Quantity(D::LENGTH, Range::Positive), "How far from the line points belong to it."),
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
