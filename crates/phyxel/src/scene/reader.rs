//! Reads typed values out of the tree by the table of keys; every fault names file, line and key.

use super::keys::{Default, Key, Kind, SECTIONS, Section};
use super::spot::{Spot, expectation, fault_at, parse_color};
use super::suggest::{closest, one_of};
use super::tree::{self, Node, Origin, Value};
use super::units::Dimension;
use crate::error::{Diagnostic, Result};
use glam::DVec3;
use std::path::Path;

/// A table of the scene file that is being read.
pub(super) struct Table<'a> {
    pub node: &'a Node,
    /// Key path, `body[0].material`; empty at the top.
    pub path: String,
    pub section: &'static Section,
    pub file: Option<&'a Path>,
}

impl<'a> Table<'a> {
    /// Opens a table and rejects keys that its section does not have.
    pub fn open(node: &'a Node, path: String, section: &'static Section, file: Option<&'a Path>) -> Result<Self> {
        let table = Self { node, path, section, file };
        let Value::Table(entries) = &node.value else {
            let what = format!("{} is not a table", node.value.describe());
            return Err(fault_at(node, &table.path, file, what).expected("a table { ... }").into());
        };
        for (key, value) in entries {
            table.check_known(key, value)?;
        }
        Ok(table)
    }

    fn check_known(&self, key: &str, value: &Node) -> Result<()> {
        let section = self.section;
        if section.find(key).is_some() {
            return Ok(());
        }
        let path = self.path_of(key);
        if let Some((_, why)) = section.later.iter().find(|(name, _)| *name == key) {
            return Err(fault_at(value, &path, self.file, format!("`{key}` is not in this version")).hint(*why).into());
        }
        let mut fault = fault_at(value, &path, self.file, format!("unknown key `{key}`"))
            .expected(one_of(section.all_keys().map(|k| k.name)));
        let near = closest(key, section.all_keys().map(|k| k.name)).map(|k| format!("`{k}`"));
        // A key of another table, written in the wrong place.
        let owner = || SECTIONS.iter().find(|s| !s.partial && s.find(key).is_some());
        fault.hint = near.or_else(|| owner().map(|s| format!("`{key}` is a key of {}", s.header)));
        Err(fault.into())
    }

    pub fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_string() } else { format!("{}.{key}", self.path) }
    }

    /// A fault of the whole table.
    pub fn fault(&self, what: impl Into<String>) -> Diagnostic {
        let path = if self.path.is_empty() { "the scene" } else { &self.path };
        fault_at(self.node, path, self.file, what.into())
    }

    /// A fault of one key.
    pub fn fault_of(&self, key: &str, what: impl Into<String>) -> Diagnostic {
        let node = self.node.get(key).unwrap_or(self.node);
        fault_at(node, &self.path_of(key), self.file, what.into())
    }

    /// Whether the user wrote the key.
    pub fn has(&self, key: &str) -> bool {
        self.node.get(key).is_some()
    }

    /// Reads a key with `read`: what was written, or the default, or None where there is none.
    fn get<T>(&self, key: &str, read: impl Fn(&Spot<'_>, &'static Kind) -> Result<T>) -> Result<Option<T>> {
        let Some(known) = self.section.find(key) else {
            unreachable!("`{key}` is read but not in the table of keys of {}", self.section.header)
        };
        let path = self.path_of(key);
        if let Some(node) = self.node.get(key) {
            return read(&Spot { node, path, file: self.file }, &known.kind).map(Some);
        }
        match known.default {
            Default::Absent(_) => Ok(None),
            Default::Value(_) if self.section.partial => Ok(None),
            Default::Required => Err(self.missing(known).into()),
            Default::Value(text) => {
                let node = tree::parse_value(text, &Origin::Default).unwrap_or_else(|| {
                    unreachable!("the default of {path} is not TOML: {text}");
                });
                read(&Spot { node: &node, path, file: self.file }, &known.kind).map(Some)
            }
        }
    }

    fn missing(&self, key: &Key) -> Diagnostic {
        self.fault_of(key.name, format!("`{}` is missing", key.name)).expected(expectation(&key.kind))
    }

    /// As `get`, for keys that must be there after defaults.
    fn need<T>(&self, key: &str, value: Option<T>) -> Result<T> {
        value.ok_or_else(|| match self.section.find(key) {
            Some(known) => self.missing(known).into(),
            None => self.fault_of(key, format!("`{key}` is missing")).into(),
        })
    }

    pub fn maybe_number(&self, key: &str) -> Result<Option<f64>> {
        self.get(key, |spot, kind| match kind {
            Kind::Quantity(dimension, range) => spot.ranged(*dimension, *range),
            _ => spot.quantity(Dimension::NONE),
        })
    }
    pub fn number(&self, key: &str) -> Result<f64> {
        self.need(key, self.maybe_number(key)?)
    }
    /// A quantity whose dimension depends on something else than the key.
    pub fn maybe_quantity(&self, key: &str, dimension: Dimension) -> Result<Option<f64>> {
        self.get(key, |spot, _| spot.quantity(dimension))
    }
    /// What the user wrote; else `otherwise`; else the default.
    pub fn number_or(&self, key: &str, otherwise: Option<f64>) -> Result<f64> {
        match otherwise {
            Some(value) if !self.has(key) => Ok(value),
            _ => self.number(key),
        }
    }

    pub fn maybe_vector(&self, key: &str) -> Result<Option<DVec3>> {
        self.get(key, |spot, kind| match kind {
            Kind::Vector(dimension) => spot.numbers(3, *dimension).map(|v| DVec3::new(v[0], v[1], v[2])),
            _ => spot.scale(),
        })
    }
    pub fn vector(&self, key: &str) -> Result<DVec3> {
        self.need(key, self.maybe_vector(key)?)
    }
    /// Two vectors or more.
    pub fn vectors(&self, key: &str) -> Result<Vec<DVec3>> {
        let read = self.get(key, |spot, kind| match kind {
            Kind::Vectors(dimension) => spot.vectors(*dimension),
            _ => spot.vectors(Dimension::NONE),
        })?;
        self.need(key, read)
    }
    /// A vector whose components are all positive.
    pub fn sizes(&self, key: &str) -> Result<DVec3> {
        let size = self.vector(key)?;
        if size.cmpgt(DVec3::ZERO).all() {
            return Ok(size);
        }
        let shown = format!("[{}, {}, {}]", size.x, size.y, size.z);
        Err(self
            .fault_of(key, format!("`{key}` is {shown}, which has no volume"))
            .expected("three numbers above 0")
            .into())
    }
    /// A direction, made a unit vector.
    pub fn direction(&self, key: &str) -> Result<DVec3> {
        let zero =
            || self.fault_of(key, format!("`{key}` has no direction")).expected("a vector other than zero").into();
        let v = self.vector(key)?;
        // Already of unit length but for rounding: kept, so that reading what was written gives the same bits.
        if (v.length_squared() - 1.0).abs() < 1e-14 { Ok(v) } else { v.try_normalize().ok_or_else(zero) }
    }
    pub fn maybe_numbers(&self, key: &str) -> Result<Option<Vec<f64>>> {
        self.get(key, |spot, kind| match kind {
            Kind::Numbers(count, dimension) => spot.numbers(*count, *dimension),
            _ => spot.numbers(3, Dimension::NONE),
        })
    }
    /// Two quantities.
    pub fn maybe_pair(&self, key: &str, dimension: Dimension) -> Result<Option<[f64; 2]>> {
        self.get(key, |spot, _| spot.numbers(2, dimension).map(|v| [v[0], v[1]]))
    }

    pub fn maybe_count(&self, key: &str) -> Result<Option<i64>> {
        self.get(key, |spot, kind| spot.count(kind))
    }
    pub fn count(&self, key: &str) -> Result<i64> {
        self.need(key, self.maybe_count(key)?)
    }
    pub fn flag(&self, key: &str) -> Result<bool> {
        let flag = self.get(key, |spot, kind| match spot.node.value {
            Value::Bool(flag) => Ok(flag),
            _ => Err(spot.wrong_type(kind)),
        })?;
        self.need(key, flag)
    }
    pub fn maybe_text(&self, key: &str) -> Result<Option<String>> {
        self.get(key, |spot, kind| spot.text(kind).map(str::to_string))
    }
    pub fn text(&self, key: &str) -> Result<String> {
        self.need(key, self.maybe_text(key)?)
    }
    /// Name of the value of an enumeration.
    pub fn choice(&self, key: &str) -> Result<&'static str> {
        let choice = self.get(key, |spot, kind| match kind {
            Kind::Choice(choices) => spot.choice(choices),
            _ => Err(spot.wrong_type(kind)),
        })?;
        self.need(key, choice)
    }
    pub fn maybe_color(&self, key: &str) -> Result<Option<[u8; 3]>> {
        self.get(key, |spot, kind| {
            parse_color(spot.text(kind)?).ok_or_else(|| {
                spot.fault("this is not a color")
                    .expected("\"#rrggbb\" with hexadecimal digits, such as \"#c58b5a\"")
                    .into()
            })
        })
    }
    /// Name of this thing, unique among `taken`.
    pub fn name(&self, otherwise: String, taken: &[&str]) -> Result<String> {
        let name = self.maybe_text("name")?.unwrap_or(otherwise);
        check_name(&name)
            .map_err(|expected| self.fault_of("name", format!("\"{name}\" cannot be a name")).expected(expected))?;
        if taken.contains(&name.as_str()) {
            let fault =
                self.fault_of("name", format!("the name \"{name}\" is taken")).expected("a name that no other has");
            return Err(fault.into());
        }
        Ok(name)
    }
    /// A name of something else in the scene, which must exist.
    pub fn maybe_reference(&self, key: &str, what: &str, known: &[&str]) -> Result<Option<String>> {
        let Some(name) = self.maybe_text(key)? else { return Ok(None) };
        self.check_reference(key, what, &name, known)?;
        Ok(Some(name))
    }
    pub fn check_reference(&self, key: &str, what: &str, name: &str, known: &[&str]) -> Result<()> {
        if known.contains(&name) {
            return Ok(());
        }
        let mut fault =
            self.fault_of(key, format!("there is no {what} \"{name}\"")).expected(one_of(known.iter().copied()));
        fault.hint = closest(name, known.iter().copied()).map(|n| format!("\"{n}\""));
        Err(fault.into())
    }
    pub fn reference(&self, key: &str, what: &str, known: &[&str]) -> Result<String> {
        self.need(key, self.maybe_reference(key, what, known)?)
    }

    /// The table of a key, if written.
    pub fn table(&self, key: &str) -> Result<Option<Table<'a>>> {
        match (self.node.get(key), self.section.find(key).map(|k| &k.kind)) {
            (Some(node), Some(Kind::Table(section))) => {
                Table::open(node, self.path_of(key), section, self.file).map(Some)
            }
            _ => Ok(None),
        }
    }
    /// The tables of a list; none if the key is not written.
    pub fn tables(&self, key: &str) -> Result<Vec<Table<'a>>> {
        let (Some(items), Some(Kind::Tables(section))) = (self.list(key)?, self.section.find(key).map(|k| &k.kind))
        else {
            return Ok(Vec::new());
        };
        let open = |(i, node)| Table::open(node, format!("{}[{i}]", self.path_of(key)), section, self.file);
        items.iter().enumerate().map(open).collect()
    }
    /// The items of a list, if written.
    pub fn list(&self, key: &str) -> Result<Option<&'a [Node]>> {
        match self.node.get(key) {
            None => Ok(None),
            Some(Node { value: Value::List(items), .. }) => Ok(Some(items)),
            Some(other) => {
                let what = format!("{} is not a list", other.value.describe());
                let expected = match self.section.header {
                    "(top level)" => format!("[[{key}]] with double brackets"),
                    _ => "a list [ { ... }, { ... } ]".into(),
                };
                Err(self.fault_of(key, what).expected(expected).into())
            }
        }
    }
    /// The one of `keys` that is written; a fault if none or several are.
    pub fn exactly_one(&self, keys: &[&'static str]) -> Result<&'static str> {
        let written: Vec<&'static str> = keys.iter().copied().filter(|k| self.has(k)).collect();
        match written.as_slice() {
            [one] => Ok(one),
            [] => Err(self
                .fault("something is missing here")
                .expected(format!("one of {}", one_of(keys.iter().copied())))
                .into()),
            [_, second, ..] => Err(self
                .fault_of(second, format!("`{}` exclude each other", written.join("` and `")))
                .expected(format!("only one of {}", one_of(keys.iter().copied())))
                .into()),
        }
    }
}

/// Names appear in key paths, file names and column heads; a name of digits alone could be taken for a number in a list.
pub(super) fn check_name(name: &str) -> Result<(), &'static str> {
    let legal = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || name.chars().count() > 64 || !name.chars().all(legal) {
        return Err("1 to 64 letters, digits, _ or -");
    }
    if name.chars().all(|c| c.is_ascii_digit()) { Err("a name with at least one letter") } else { Ok(()) }
}
