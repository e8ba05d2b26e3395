//! Reads shapes, and finds the ones that are used by name.

use super::builtin;
use super::keys::{SHAPES, Section};
use super::reader::{Table, check_name};
use super::suggest::{closest, one_of};
use super::tree::{self, Node, Value};
use super::{ShapeKind, ShapeSpec};
use crate::error::{Diagnostic, Result};
use std::collections::BTreeMap;

/// Far more than scenes have; keeps the checks below quick.
const MAX_NAMED: usize = 1000;

/// Shapes by name: those of the scene, and the built-in ones that turned out to be used.
pub(super) struct Shapes {
    known: BTreeMap<String, ShapeSpec>,
}

impl Shapes {
    /// Reads `[shape.name]` of the scene.
    pub fn read(top: &Table) -> Result<Self> {
        let mut shapes = Self { known: BTreeMap::new() };
        let Some(node) = top.node.get("shape") else { return Ok(shapes) };
        let Value::Table(entries) = &node.value else {
            return Err(top.fault_of("shape", "shapes are tables by name").expected("[shape.NAME]").into());
        };
        // A shape may use one that stands below it: names first.
        let names: Vec<&str> = entries.iter().map(|(name, _)| name.as_str()).collect();
        if names.len() > MAX_NAMED {
            let fault = top.fault_of("shape", format!("the scene defines {} shapes", names.len()));
            return Err(fault.expected(format!("at most {MAX_NAMED}")).into());
        }
        for (name, node) in entries {
            let place = Place { node, path: format!("shape.{name}"), table: top };
            check_name(name).map_err(|e| place.fault(format!("\"{name}\" cannot be a name")).expected(e))?;
            let shape = read(&place, &mut shapes, &names)?;
            shapes.known.insert(name.clone(), shape);
        }
        if let Some(name) = shapes.find_circle() {
            let fault = top.fault_of("shape", format!("the shape \"{name}\" uses itself"));
            return Err(fault.expected("shapes that use only others").into());
        }
        Ok(shapes)
    }

    /// All shapes that the scene defines or uses: a resolved scene does not depend on the built-in ones.
    pub fn finish(self) -> BTreeMap<String, ShapeSpec> {
        self.known
    }

    /// A shape that uses itself, perhaps by way of others: what remains when shapes that use only known-good ones are
    /// taken away again and again.
    fn find_circle(&self) -> Option<&str> {
        let used_by = |shape: &ShapeSpec| {
            let mut used = Vec::new();
            collect_used(shape, &mut used);
            used
        };
        let mut left: BTreeMap<&str, Vec<String>> =
            self.known.iter().map(|(name, shape)| (name.as_str(), used_by(shape))).collect();
        loop {
            let names: Vec<&str> = left.keys().copied().collect();
            left.retain(|_, used| used.iter().any(|u| names.binary_search(&u.as_str()).is_ok()));
            if left.len() == names.len() {
                return names.first().copied();
            }
        }
    }

    /// Whether a shape has a finite size.
    pub fn is_bounded(&self, shape: &ShapeSpec) -> bool {
        // Endless named shapes are found by going over all of them until nothing changes: shapes that use each other
        // many times would make a plain recursion very long.
        let mut endless: Vec<&str> = Vec::new();
        loop {
            let found = self.known.iter().filter(|(_, s)| !is_bounded(s, &endless)).map(|(name, _)| name.as_str());
            let found: Vec<&str> = found.collect();
            if found.len() == endless.len() {
                return is_bounded(shape, &endless);
            }
            endless = found;
        }
    }

    /// Whether a shape is made of a sheet somewhere, which has no inside.
    pub fn has_sheet(&self, shape: &ShapeSpec) -> bool {
        let mut thin: Vec<&str> = Vec::new();
        loop {
            let found: Vec<&str> =
                self.known.iter().filter(|(_, s)| has_sheet(s, &thin)).map(|(name, _)| name.as_str()).collect();
            if found.len() == thin.len() {
                return has_sheet(shape, &thin);
            }
            thin = found;
        }
    }

    /// Whether a shape is a sheet, perhaps by way of names.
    pub fn is_sheet(&self, shape: &ShapeSpec) -> bool {
        let mut kind = &shape.kind;
        for _ in 0..=self.known.len() {
            match kind {
                ShapeKind::Sheet { .. } => return true,
                ShapeKind::Use { name } => match self.known.get(name) {
                    Some(used) => kind = &used.kind,
                    None => return false,
                },
                _ => return false,
            }
        }
        false
    }

    /// Makes the named shape known, from the built-in ones if need be.
    fn require(&mut self, table: &Table, name: &str, own: &[&str]) -> Result<()> {
        if self.known.contains_key(name) || own.contains(&name) {
            return Ok(());
        }
        let Some(found) = builtin::shape(name)? else {
            let mut all: Vec<&str> = own.to_vec();
            all.extend(self.known.keys().map(String::as_str));
            builtin::shape_names().for_each(|n| all.push(n));
            let mut fault = table.fault_of("use", format!("there is no shape \"{name}\""));
            fault.hint = closest(name, all.iter().copied()).map(|n| format!("\"{n}\", or define [shape.{name}]"));
            fault.expected = Some(one_of(all));
            return Err(fault.into());
        };
        for (name, shape) in found {
            self.known.entry(name).or_insert(shape);
        }
        Ok(())
    }
}

/// Whether a shape has a finite size, given the names of those that have not.
fn is_bounded(shape: &ShapeSpec, endless: &[&str]) -> bool {
    match &shape.kind {
        ShapeKind::Plane { .. } => false,
        ShapeKind::Union { of, .. } => of.iter().all(|s| is_bounded(s, endless)),
        ShapeKind::Intersection { of, .. } => of.iter().any(|s| is_bounded(s, endless)),
        ShapeKind::Difference { of, .. } => of.first().is_some_and(|s| is_bounded(s, endless)),
        ShapeKind::Use { name } => !endless.contains(&name.as_str()),
        _ => true,
    }
}

/// Whether a shape is made of a sheet, given the names of those that are.
fn has_sheet(shape: &ShapeSpec, thin: &[&str]) -> bool {
    match &shape.kind {
        ShapeKind::Sheet { .. } => true,
        ShapeKind::Union { of, .. } | ShapeKind::Difference { of, .. } | ShapeKind::Intersection { of, .. } => {
            of.iter().any(|s| has_sheet(s, thin))
        }
        ShapeKind::Use { name } => thin.contains(&name.as_str()),
        _ => false,
    }
}

fn collect_used(shape: &ShapeSpec, used: &mut Vec<String>) {
    match &shape.kind {
        ShapeKind::Use { name } => used.push(name.clone()),
        ShapeKind::Union { of, .. } | ShapeKind::Difference { of, .. } | ShapeKind::Intersection { of, .. } => {
            of.iter().for_each(|s| collect_used(s, used));
        }
        _ => {}
    }
}

/// A shape's table that is not opened yet: its section depends on its kind.
struct Place<'a> {
    node: &'a Node,
    path: String,
    table: &'a Table<'a>,
}

impl<'a> Place<'a> {
    /// The table without a check of its keys: only the place of a fault is wanted.
    fn unchecked(&self) -> Table<'a> {
        Table { node: self.node, path: self.path.clone(), section: &SHAPES[0], file: self.table.file }
    }
    fn fault(&self, what: impl Into<String>) -> Diagnostic {
        self.unchecked().fault(what)
    }
    fn fault_of_kind(&self, what: impl Into<String>) -> Diagnostic {
        self.unchecked().fault_of("kind", what)
    }
}

/// Reads the shape of a key.
pub(super) fn read_shape(table: &Table, key: &str, shapes: &mut Shapes) -> Result<ShapeSpec> {
    let Some(node) = table.node.get(key) else {
        let fault = table.fault_of(key, format!("`{key}` is missing"));
        return Err(fault.expected("a shape such as { kind = \"sphere\", radius = 0.1 }").into());
    };
    read(&Place { node, path: table.path_of(key), table }, shapes, &[])
}

/// Reads a file of shapes only: `[shape.name]` tables.
pub(super) fn read_shape_file(text: &str) -> Result<BTreeMap<String, ShapeSpec>> {
    let root = tree::parse(text, None)?;
    let top = Table { node: &root, path: String::new(), section: &super::keys::SCENE, file: None };
    Shapes::read(&top).map(Shapes::finish)
}

fn read(place: &Place, shapes: &mut Shapes, own: &[&str]) -> Result<ShapeSpec> {
    let section = find_section(place)?;
    let table = Table::open(place.node, place.path.clone(), section, place.table.file)?;
    let kind = read_kind(&table, shapes, own)?;
    Ok(ShapeSpec {
        kind,
        at: table.vector("at")?,
        rotate: table.vector("rotate")?,
        scale: table.vector("scale")?,
        round: table.number("round")?,
    })
}

fn find_section(place: &Place) -> Result<&'static Section> {
    let expected = "a shape such as { kind = \"sphere\", radius = 0.1 } or { use = \"bust\" }";
    if !matches!(place.node.value, Value::Table(_)) {
        let what = format!("{} is not a shape", place.node.value.describe());
        return Err(place.fault(what).expected(expected).into());
    }
    let names = || SHAPES.iter().map(|s| s.header);
    let kind = match (place.node.get("kind"), place.node.get("use")) {
        (None, Some(_)) => "use",
        (Some(Node { value: Value::Text(kind), .. }), _) => kind.as_str(),
        (Some(_), _) => return Err(place.fault_of_kind("`kind` is not a string").expected(one_of(names())).into()),
        (None, None) => return Err(place.fault("`kind` is missing").expected(expected).into()),
    };
    SHAPES.iter().find(|s| s.header == kind).ok_or_else(|| {
        let mut fault = place.fault_of_kind(format!("unknown shape \"{kind}\"")).expected(one_of(names()));
        fault.hint = closest(kind, names()).map(|n| format!("\"{n}\""));
        fault.into()
    })
}

fn read_kind(table: &Table, shapes: &mut Shapes, own: &[&str]) -> Result<ShapeKind> {
    let number = |key| table.number(key);
    Ok(match table.section.header {
        "box" => ShapeKind::Box { size: table.sizes("size")? },
        "sphere" => ShapeKind::Sphere { radius: number("radius")? },
        "ellipsoid" => ShapeKind::Ellipsoid { radii: table.sizes("radii")? },
        "cylinder" => ShapeKind::Cylinder { radius: number("radius")?, height: number("height")? },
        "capsule" => {
            let (radius, height) = (number("radius")?, number("height")?);
            // With a little room for rounding, as the shape itself has.
            if height < 2.0 * radius * (1.0 - 1e-12) {
                let fault = table.fault_of("height", format!("a height of {height} m has no room for the half balls"));
                return Err(fault.expected(format!("at least twice the radius, {} m", 2.0 * radius)).into());
            }
            ShapeKind::Capsule { radius, height }
        }
        "cone" => ShapeKind::Cone { radius: number("radius")?, height: number("height")? },
        "torus" => ShapeKind::Torus { radius: number("radius")?, tube: number("tube")? },
        "sheet" => {
            let size = table.maybe_numbers("size")?.unwrap_or_default();
            if size.len() != 2 || size.iter().any(|s| *s <= 0.0) {
                let fault = table.fault_of("size", "a sheet has an extent above zero along x and z");
                return Err(fault.expected("two lengths such as [1, 0.7]").into());
            }
            ShapeKind::Sheet { size: [size[0], size[1]] }
        }
        "plane" => ShapeKind::Plane { normal: table.direction("normal")?, offset: number("offset")? },
        "mesh" => ShapeKind::Mesh { file: read_file_name(table)?, height: table.maybe_number("height")? },
        "points" => ShapeKind::Points { file: read_file_name(table)?, height: table.maybe_number("height")? },
        "use" => {
            let name = table.text("use")?;
            shapes.require(table, &name, own)?;
            ShapeKind::Use { name }
        }
        kind => {
            let of = read_parts(table, shapes, own)?;
            let smooth = number("smooth")?;
            match kind {
                "union" => ShapeKind::Union { of, smooth },
                "difference" => ShapeKind::Difference { of, smooth },
                _ => ShapeKind::Intersection { of, smooth },
            }
        }
    })
}

fn read_file_name(table: &Table) -> Result<String> {
    let file = table.text("file")?;
    if file.trim().is_empty() {
        return Err(table.fault_of("file", "the file name is empty").expected("a file beside the scene").into());
    }
    Ok(file)
}

fn read_parts(table: &Table, shapes: &mut Shapes, own: &[&str]) -> Result<Vec<ShapeSpec>> {
    let parts = table.list("of")?.unwrap_or_default();
    if parts.is_empty() {
        let fault = table.fault_of("of", "there are no shapes to combine");
        return Err(fault.expected("a list of shapes [ { kind = ... }, ... ]").into());
    }
    let path = |i| format!("{}[{i}]", table.path_of("of"));
    parts.iter().enumerate().map(|(i, node)| read(&Place { node, path: path(i), table }, shapes, own)).collect()
}
