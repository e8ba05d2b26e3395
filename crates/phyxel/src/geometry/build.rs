//! From a shape as the user wrote it to a signed distance.

use super::{
    Bounds, Capsule, Cloud, CloudShape, Combined, Cone, Cuboid, Cylinder, Ellipsoid, HalfSpace, Mesh, MeshShape,
    Operation, Placed, Pose, Scaled, ScatteredPoints, Shape, Sphere, Torus,
};
use crate::scene::{ShapeKind, ShapeSpec};
use crate::{Diagnostic, Error, Result};
use glam::{DVec2, DVec3};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// More parts than any sane scene has; stops shapes that use each other again and again.
const MOST_PARTS: usize = 100_000;
/// Thickness of the box that stands for a sheet, in its extents.
const SHEET_THICKNESS: f64 = 1e-6;
/// Deeper than any sane scene; keeps the stack small.
const MOST_LEVELS: usize = 200;

/// A shape ready for use.
#[derive(Clone)]
pub struct Built {
    /// The solid, in the frame in which the shape was written.
    pub shape: Arc<dyn Shape>,
    /// The mesh in the same frame, if the shape is a mesh and nothing else.
    pub mesh: Option<Arc<Mesh>>,
    /// What was found odd and how it was taken; for the user.
    pub warnings: Vec<String>,
}

/// Where `use = "name"` looks: the shapes of the scene first, then the built-in ones.
#[derive(Clone, Copy)]
pub struct ShapeLibrary<'a> {
    scene: &'a BTreeMap<String, ShapeSpec>,
    builtin: &'a dyn Fn(&str) -> Option<ShapeSpec>,
}

impl<'a> ShapeLibrary<'a> {
    /// A library of the scene's shapes and a function that knows the built-in ones.
    pub fn new(scene: &'a BTreeMap<String, ShapeSpec>, builtin: &'a dyn Fn(&str) -> Option<ShapeSpec>) -> Self {
        Self { scene, builtin }
    }

    /// A library without any shape.
    pub fn empty() -> Self {
        static NONE: BTreeMap<String, ShapeSpec> = BTreeMap::new();
        Self { scene: &NONE, builtin: &|_| None }
    }

    fn find(&self, name: &str) -> Option<ShapeSpec> {
        self.scene.get(name).cloned().or_else(|| (self.builtin)(name))
    }

    fn nearest(&self, name: &str) -> Option<&str> {
        let by_likeness = |a: &&String, b: &&String| strsim::jaro(a, name).total_cmp(&strsim::jaro(b, name));
        self.scene.keys().max_by(by_likeness).map(String::as_str)
    }
}

/// Where the files named in a scene are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    /// Folder of the scene file.
    pub base: PathBuf,
    /// Whether files outside that folder may be read (`--allow-outside`).
    pub allow_outside: bool,
}

impl Files {
    /// Path of the file `name`, refused when it leaves the scene's folder and that is not allowed.
    pub fn resolve(&self, name: &str) -> Result<PathBuf> {
        let path = self.base.join(name);
        if self.allow_outside {
            return Ok(path);
        }
        let leaves = Path::new(name).components().try_fold(0_i32, |depth, component| match component {
            Component::Normal(_) => Some(depth + 1),
            Component::CurDir => Some(depth),
            Component::ParentDir if depth > 0 => Some(depth - 1),
            _ => None,
        });
        // A link inside the folder may still lead out of it.
        let linked_out = match (path.canonicalize(), self.folder().canonicalize()) {
            (Ok(path), Ok(folder)) => !path.starts_with(folder),
            _ => false,
        };
        if leaves.is_none() || linked_out {
            return Err(Diagnostic::new(format!("the file {name:?} is outside the folder of the scene"))
                .expected("a file beside the scene file or in a folder below it")
                .hint("copy the file there, or give --allow-outside")
                .into());
        }
        Ok(path)
    }

    fn folder(&self) -> &Path {
        if self.base.as_os_str().is_empty() { Path::new(".") } else { &self.base }
    }
}

/// Builds the solid that `spec` describes. Keys in errors start with `shape`.
pub fn build(spec: &ShapeSpec, library: &ShapeLibrary, files: &Files) -> Result<Built> {
    let mut builder = Builder { library, files, names: Vec::new(), parts: 0, warnings: Vec::new() };
    let node = builder.node(spec, "shape", 0.0, 0)?;
    Ok(Built { shape: node.shape, mesh: node.mesh, warnings: builder.warnings })
}

/// A surface as it was given, not that of a solid.
#[derive(Debug, Clone)]
pub enum OpenSurface {
    /// Triangles, with colors if they have any.
    Mesh(Mesh),
    /// Points.
    Points(ScatteredPoints),
}

/// The open surface that `spec` is: a sheet, or a mesh or points as they are in their file, perhaps by way of names; None for other
/// shapes, whose surface is that of the solid.
pub fn build_open(spec: &ShapeSpec, library: &ShapeLibrary, files: &Files) -> Result<Option<OpenSurface>> {
    // Circles of names are found by `build`, which is asked where this finds nothing.
    let (mut chain, mut last) = (vec![spec.clone()], spec.clone());
    while let ShapeKind::Use { name } = &last.kind {
        let Some(found) = library.find(name).filter(|_| chain.len() < MOST_LEVELS) else { return Ok(None) };
        chain.push(found.clone());
        last = found;
    }
    let place = |spec: &ShapeSpec| (spec.scale, Pose::from_degrees(spec.at, spec.rotate));
    for spec in &chain {
        check_transform(spec, "shape")?;
        simple(&spec.kind, DVec3::ONE, 0.0, "shape")?;
    }
    let mut mesh = match &last.kind {
        ShapeKind::Points { file, height } => {
            let path = files.resolve(file).map_err(|error| with_key(error, "shape"))?;
            let points = ScatteredPoints::read(&path).map_err(|error| with_key(error, "shape"))?;
            let factor = fit(Bounds::of(points.positions.iter().copied()), *height, "shape")?;
            let points = points.transformed(DVec3::splat(factor), &Pose::IDENTITY);
            let placed = chain.iter().rev().map(place).fold(points, |p, (scale, pose)| p.transformed(scale, &pose));
            return Ok(Some(OpenSurface::Points(placed)));
        }
        ShapeKind::Sheet { size: [x, z] } => {
            let corner = |a: f64, b: f64| DVec3::new(0.5 * a * x, 0.0, 0.5 * b * z);
            Mesh {
                positions: vec![corner(-1.0, -1.0), corner(-1.0, 1.0), corner(1.0, 1.0), corner(1.0, -1.0)],
                triangles: vec![[0, 1, 2], [0, 2, 3]],
                normals: vec![DVec3::Y; 4],
                uvs: Some(vec![DVec2::ZERO, DVec2::Y, DVec2::ONE, DVec2::X]),
                ..Mesh::default()
            }
        }
        ShapeKind::Mesh { file, height } => {
            let path = files.resolve(file).map_err(|error| with_key(error, "shape"))?;
            let mesh = Mesh::read_open(&path).map_err(|error| with_key(error, "shape"))?;
            let factor = fit(mesh.bounds(), *height, "shape")?;
            mesh.transformed(DVec3::splat(factor), &Pose::IDENTITY)
        }
        _ => return Ok(None),
    };
    for (scale, pose) in chain.iter().rev().map(place) {
        mesh = mesh.transformed(scale, &pose);
    }
    Ok(Some(OpenSurface::Mesh(mesh)))
}

struct Builder<'a> {
    library: &'a ShapeLibrary<'a>,
    files: &'a Files,
    /// Names being resolved, outermost first.
    names: Vec<String>,
    parts: usize,
    warnings: Vec<String>,
}

struct Node {
    shape: Arc<dyn Shape>,
    mesh: Option<Arc<Mesh>>,
}

impl Node {
    fn new(shape: impl Shape + 'static) -> Self {
        Self { shape: Arc::new(shape), mesh: None }
    }
}

impl Builder<'_> {
    /// `round` comes from the shapes around this one, in this shape's outer frame.
    fn node(&mut self, spec: &ShapeSpec, key: &str, round: f64, level: usize) -> Result<Node> {
        self.parts += 1;
        if self.parts > MOST_PARTS || level > MOST_LEVELS {
            return Err(Diagnostic::new("the shape has too many parts")
                .key(key)
                .expected(format!("at most {MOST_PARTS} parts, nested at most {MOST_LEVELS} deep"))
                .into());
        }
        check_transform(spec, key)?;
        let round = round.max(spec.round);
        // A mesh takes the whole transform into its vertices and stays exact.
        let (file, height, cloud) = match &spec.kind {
            ShapeKind::Mesh { file, height } => (file, *height, false),
            ShapeKind::Points { file, height } => (file, *height, true),
            _ => return self.analytic(spec, key, round, level),
        };
        if round > 0.0 {
            self.warnings.push(format!("{key}: `round` has no effect on the shape read from {file:?}"));
        }
        self.file_node(spec, key, file, height, cloud)
    }

    fn analytic(&mut self, spec: &ShapeSpec, key: &str, round: f64, level: usize) -> Result<Node> {
        let pose = Pose::from_degrees(spec.at, spec.rotate);
        let (node, left) = match simple(&spec.kind, spec.scale, round, key)? {
            Some(simple) => {
                self.warn_round(simple.most_round, round, key);
                (Node { shape: simple.shape, mesh: None }, simple.scale_left)
            }
            // Rounding is a length of the result, so the parts see it before the scale.
            None => (self.compound(&spec.kind, key, round / spec.scale.abs().min_element(), level)?, spec.scale),
        };
        Ok(transformed(node, left, pose))
    }

    fn warn_round(&mut self, most: f64, round: f64, key: &str) {
        if round > most * (1.0 + 1e-9) {
            self.warnings.push(format!("{key}.round: {round} m is more than the shape allows, taken as {most:.6} m"));
        }
    }

    fn compound(&mut self, kind: &ShapeKind, key: &str, round: f64, level: usize) -> Result<Node> {
        let (operation, of, smooth) = match kind {
            ShapeKind::Union { of, smooth } => (Operation::Union, of, *smooth),
            ShapeKind::Difference { of, smooth } => (Operation::Difference, of, *smooth),
            ShapeKind::Intersection { of, smooth } => (Operation::Intersection, of, *smooth),
            ShapeKind::Use { name } => return self.named(name, key, round, level),
            _ => return Err(Diagnostic::new("this kind of shape cannot be built").key(key).into()),
        };
        if of.is_empty() {
            return Err(Diagnostic::new("no shapes to combine")
                .key(format!("{key}.of"))
                .expected("at least one")
                .into());
        }
        check(smooth.is_finite() && smooth >= 0.0, format!("{key}.smooth"), smooth, "a length, zero or more")?;
        let mut shapes = Vec::with_capacity(of.len());
        for (i, part) in of.iter().enumerate() {
            // Rounding a cutter would leave a sharp rim; only what is kept is rounded.
            let part_round = if operation == Operation::Difference && i > 0 { 0.0 } else { round };
            shapes.push(self.node(part, &format!("{key}.of[{i}]"), part_round, level + 1)?.shape);
        }
        // A right-angled edge blended over k loses k/4 on the diagonal; a round edge loses (1 - 1/√2) of its radius.
        let edge = if operation == Operation::Union { 0.0 } else { 4.0 * (1.0 - 0.5_f64.sqrt()) * round };
        Ok(Node::new(Combined::new(operation, shapes, smooth.max(edge))))
    }

    fn named(&mut self, name: &str, key: &str, round: f64, level: usize) -> Result<Node> {
        if self.names.iter().any(|known| known == name) {
            let circle = self.names.iter().map(String::as_str).chain([name]).collect::<Vec<_>>().join(" -> ");
            return Err(Diagnostic::new(format!("the shape {name:?} uses itself: {circle}")).key(key).into());
        }
        let Some(spec) = self.library.find(name) else {
            let diagnostic = Diagnostic::new(format!("there is no shape named {name:?}"))
                .key(key)
                .expected("a shape defined under [shape.NAME] or a built-in one");
            return Err(match self.library.nearest(name) {
                Some(near) => diagnostic.hint(format!("did you mean {near:?}?")).into(),
                None => diagnostic.into(),
            });
        };
        self.names.push(name.to_owned());
        let node = self.node(&spec, &format!("shape.{name}"), round, level + 1);
        self.names.pop();
        node
    }

    fn file_node(&mut self, spec: &ShapeSpec, key: &str, file: &str, height: Option<f64>, cloud: bool) -> Result<Node> {
        let path = self.files.resolve(file).map_err(|error| with_key(error, key))?;
        let pose = Pose::from_degrees(spec.at, spec.rotate);
        if cloud {
            let cloud = Cloud::read(&path).map_err(|error| with_key(error, key))?;
            let factor = fit(Bounds::of(cloud.positions.iter().copied()), height, key)?;
            let (shape, warnings) = CloudShape::new(&cloud.transformed(factor * spec.scale, &pose));
            self.warnings.extend(warnings.into_iter().map(|text| format!("{file}: {text}")));
            return Ok(Node::new(shape));
        }
        let (mesh, mut report) = Mesh::read(&path).map_err(|error| with_key(error, key))?;
        let factor = fit(mesh.bounds(), height, key)?;
        let mesh = mesh.transformed(factor * spec.scale, &pose);
        let shape = MeshShape::new(&mesh);
        report.crossing_triangles = shape.crossing_triangles();
        self.warnings.extend(report.warnings().into_iter().map(|text| format!("{file}: {text}")));
        Ok(Node { shape: Arc::new(shape), mesh: Some(Arc::new(mesh)) })
    }
}

/// Factor that makes a thing with these bounds `height` high.
fn fit(bounds: Bounds, height: Option<f64>, key: &str) -> Result<f64> {
    let Some(height) = height else { return Ok(1.0) };
    check(height.is_finite() && height > 0.0, format!("{key}.height"), height, "a length above zero")?;
    let now = bounds.size().y;
    if now > 0.0 {
        return Ok(height / now);
    }
    Err(Diagnostic::new("the shape in the file is flat along y and cannot be fitted to a height")
        .key(format!("{key}.height"))
        .hint("use `scale` instead, or turn the shape in the file")
        .into())
}

fn with_key(error: Error, key: &str) -> Error {
    match error {
        Error::Input(diagnostic) => diagnostic.key(format!("{key}.file")).into(),
        other => other,
    }
}

/// A primitive with as much of the scale taken in as keeps it exact.
struct Simple {
    shape: Arc<dyn Shape>,
    scale_left: DVec3,
    /// Largest possible edge radius [m].
    most_round: f64,
}

impl Simple {
    fn exact(shape: impl Shape + 'static, most_round: f64) -> Option<Self> {
        Some(Self { shape: Arc::new(shape), scale_left: DVec3::ONE, most_round })
    }
}

/// The primitive that `kind` scaled by `scale` is; none for combinations.
fn simple(kind: &ShapeKind, scale: DVec3, round: f64, key: &str) -> Result<Option<Simple>> {
    let length = |name: &str, value: f64| {
        check(value.is_finite() && value > 0.0, format!("{key}.{name}"), value, "a length above zero")
    };
    let lengths = |name: &str, v: DVec3| {
        let fine = v.is_finite() && v.min_element() > 0.0;
        check(fine, format!("{key}.{name}"), v, "three lengths above zero")
    };
    let s = scale.abs();
    let around = s.x == s.z;
    let uniform = around && s.x == s.y;
    Ok(match *kind {
        ShapeKind::Box { size } => {
            lengths("size", size)?;
            Simple::exact(Cuboid::new(size * s, round), 0.5 * (size * s).min_element())
        }
        ShapeKind::Sphere { radius } => {
            length("radius", radius)?;
            if uniform {
                Simple::exact(Sphere { radius: radius * s.x }, f64::INFINITY)
            } else {
                Simple::exact(Ellipsoid { radii: radius * s }, f64::INFINITY)
            }
        }
        ShapeKind::Ellipsoid { radii } => {
            lengths("radii", radii)?;
            let radii = radii * s;
            if radii == DVec3::splat(radii.x) {
                Simple::exact(Sphere { radius: radii.x }, f64::INFINITY)
            } else {
                Simple::exact(Ellipsoid { radii }, f64::INFINITY)
            }
        }
        ShapeKind::Cylinder { radius, height } => {
            length("radius", radius)?;
            length("height", height)?;
            let (r, y, left) = if around { (s.x, s.y, DVec3::ONE) } else { (1.0, 1.0, scale) };
            let most = (radius * r).min(0.5 * height * y);
            let shape = Arc::new(Cylinder::new(radius * r, height * y, round / left.abs().min_element()));
            Some(Simple { shape, scale_left: left, most_round: most })
        }
        ShapeKind::Capsule { radius, height } => {
            length("radius", radius)?;
            let whole = height.is_finite() && height >= 2.0 * radius * (1.0 - 1e-12);
            check(
                whole,
                format!("{key}.height"),
                height,
                "the whole height, caps included: at least twice the radius",
            )?;
            let (r, left) = if uniform { (s.x, DVec3::ONE) } else { (1.0, scale) };
            Some(Simple {
                shape: Arc::new(Capsule::new(radius * r, height * r)),
                scale_left: left,
                most_round: f64::INFINITY,
            })
        }
        ShapeKind::Cone { radius, height } => {
            length("radius", radius)?;
            length("height", height)?;
            let (r, y, left) = if around && scale.y > 0.0 { (s.x, s.y, DVec3::ONE) } else { (1.0, 1.0, scale) };
            let (radius, height) = (radius * r, height * y);
            let most = 0.999 * radius * height / (radius.hypot(height) + radius);
            let shape = Arc::new(Cone::new(radius, height, round / left.abs().min_element()));
            Some(Simple { shape, scale_left: left, most_round: most })
        }
        ShapeKind::Torus { radius, tube } => {
            length("radius", radius)?;
            length("tube", tube)?;
            let (r, left) = if uniform { (s.x, DVec3::ONE) } else { (1.0, scale) };
            let shape = Arc::new(Torus { radius: radius * r, tube: tube * r });
            Some(Simple { shape, scale_left: left, most_round: f64::INFINITY })
        }
        ShapeKind::Sheet { size: [x, z] } => {
            lengths("size", DVec3::new(x, 1.0, z))?;
            // Distances to it are those to a very thin box.
            let thin = SHEET_THICKNESS * x.max(z);
            Simple::exact(Cuboid::new(DVec3::new(x, thin, z) * s, 0.0), f64::INFINITY)
        }
        ShapeKind::Plane { normal, offset } => {
            check(offset.is_finite(), format!("{key}.offset"), offset, "a finite length")?;
            let Some(unit) = normal.try_normalize() else {
                return Err(Diagnostic::new(format!("the normal {normal} has no direction"))
                    .key(format!("{key}.normal"))
                    .expected("a vector such as [0, 1, 0]")
                    .into());
            };
            // n·(x/s) = offset becomes (n/s)·x = offset.
            let scaled = unit / scale;
            let length = scaled.length();
            Simple::exact(HalfSpace { normal: scaled / length, offset: offset / length }, f64::INFINITY)
        }
        _ => None,
    })
}

/// Puts the remaining scale and the pose on a shape, nothing where nothing is to do.
fn transformed(node: Node, mut scale: DVec3, mut pose: Pose) -> Node {
    if scale.x > 0.0 && scale == DVec3::splat(scale.x) {
        pose.scale = scale.x;
        scale = DVec3::ONE;
    }
    let mut shape = node.shape;
    if scale != DVec3::ONE {
        shape = Arc::new(Scaled::new(shape, scale));
    }
    if pose != Pose::IDENTITY {
        shape = Arc::new(Placed::new(shape, pose));
    }
    Node { shape, mesh: node.mesh.map(|mesh| Arc::new(mesh.transformed(scale, &pose))) }
}

fn check_transform(spec: &ShapeSpec, key: &str) -> Result<()> {
    check(spec.at.is_finite(), format!("{key}.at"), spec.at, "a finite place")?;
    check(spec.rotate.is_finite(), format!("{key}.rotate"), spec.rotate, "finite angles")?;
    let scale = spec.scale.is_finite() && spec.scale.abs().min_element() > 0.0;
    check(scale, format!("{key}.scale"), spec.scale, "factors other than zero")?;
    check(spec.round.is_finite() && spec.round >= 0.0, format!("{key}.round"), spec.round, "a length, zero or more")
}

fn check(fine: bool, key: String, value: impl std::fmt::Display, expected: &str) -> Result<()> {
    if fine {
        Ok(())
    } else {
        Err(Diagnostic::new(format!("{value} cannot be used here")).key(key).expected(expected).into())
    }
}
