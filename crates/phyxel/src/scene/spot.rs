//! One value of the tree, read as what its key takes.

use super::keys::{Choice, Kind, Range};
use super::suggest::{closest, one_of};
use super::tree::{Node, Origin, Value};
use super::units::{self, Dimension, UnitError};
use crate::error::{Diagnostic, Result};
use glam::DVec3;
use std::path::Path;

/// One value with its place.
pub(super) struct Spot<'a> {
    pub node: &'a Node,
    pub path: String,
    pub file: Option<&'a Path>,
}

impl Spot<'_> {
    pub fn fault(&self, what: impl Into<String>) -> Diagnostic {
        fault_at(self.node, &self.path, self.file, what.into())
    }
    pub fn wrong_type(&self, kind: &Kind) -> crate::Error {
        self.fault(format!("{} does not fit here", self.node.value.describe())).expected(expectation(kind)).into()
    }
    pub fn text(&self, kind: &Kind) -> Result<&str> {
        match &self.node.value {
            Value::Text(text) => Ok(text),
            _ => Err(self.wrong_type(kind)),
        }
    }

    pub fn quantity(&self, dimension: Dimension) -> Result<f64> {
        let expected = || dimension.expectation();
        let number = match &self.node.value {
            Value::Integer(i) => *i as f64,
            Value::Float(f) => *f,
            Value::Text(text) => units::parse(text, dimension).map_err(|e| self.unit_fault(text, dimension, e))?,
            other => {
                let what = format!("{} does not fit here", other.describe());
                return Err(self.fault(what).expected(expected()).into());
            }
        };
        if number.is_finite() {
            Ok(number)
        } else {
            Err(self.fault(format!("{number} is not a finite number")).expected(expected()).into())
        }
    }

    fn unit_fault(&self, text: &str, dimension: Dimension, error: UnitError) -> Diagnostic {
        let expected = dimension.expectation();
        match error {
            UnitError::NoNumber => self.fault(format!("\"{text}\" is not a quantity")).expected(expected),
            UnitError::NoUnit => {
                let hint = format!("{} without quotes means {}", text.trim(), dimension.base_unit());
                self.fault(format!("\"{text}\" has no unit")).expected(expected).hint(hint)
            }
            UnitError::Unknown(unit, suggestion) => {
                let mut fault = self.fault(format!("unknown unit \"{unit}\"")).expected(expected);
                fault.hint = suggestion.map(|s| format!("\"{s}\""));
                fault
            }
            UnitError::Wrong(name) => {
                self.fault(format!("\"{text}\" is a {name}, which does not fit here")).expected(expected)
            }
        }
    }

    pub fn ranged(&self, dimension: Dimension, range: Range) -> Result<f64> {
        let number = self.quantity(dimension)?;
        let fits = match range {
            Range::Any => true,
            Range::Positive => number > 0.0,
            Range::NotNegative => number >= 0.0,
            Range::Between(low, high) => (low..=high).contains(&number),
            Range::Above(low, high) => number > low && number <= high,
        };
        if fits {
            return Ok(number);
        }
        let unit = dimension.base_unit();
        let what = format!("{number} {unit}").trim_end().to_string() + " is out of range";
        Err(self.fault(what).expected(format!("{}{}", dimension.expectation(), range.words(unit))).into())
    }

    pub fn numbers(&self, count: usize, dimension: Dimension) -> Result<Vec<f64>> {
        let items = match &self.node.value {
            Value::List(items) if items.len() == count => items,
            other => {
                let what = match other {
                    Value::List(items) => format!("this list has {} entries", items.len()),
                    other => format!("{} does not fit here", other.describe()),
                };
                return Err(self
                    .fault(what)
                    .expected(format!("a list of {count}, each {}", dimension.expectation()))
                    .into());
            }
        };
        let read = |(i, node)| Spot { node, path: format!("{}[{i}]", self.path), file: self.file }.quantity(dimension);
        items.iter().enumerate().map(read).collect()
    }

    /// Two vectors or more.
    pub fn vectors(&self, dimension: Dimension) -> Result<Vec<DVec3>> {
        let Value::List(items) = &self.node.value else {
            let what = format!("{} does not fit here", self.node.value.describe());
            return Err(self.fault(what).expected(expectation(&Kind::Vectors(dimension))).into());
        };
        if items.len() < 2 {
            let what = format!("this list has {} entries", items.len());
            return Err(self.fault(what).expected(expectation(&Kind::Vectors(dimension))).into());
        }
        let read = |(i, node)| {
            let spot = Spot { node, path: format!("{}[{i}]", self.path), file: self.file };
            spot.numbers(3, dimension).map(|v| DVec3::new(v[0], v[1], v[2]))
        };
        items.iter().enumerate().map(read).collect()
    }

    pub fn scale(&self) -> Result<DVec3> {
        let scale = match &self.node.value {
            Value::List(_) => self.numbers(3, Dimension::NONE).map(|v| DVec3::new(v[0], v[1], v[2]))?,
            _ => DVec3::splat(self.quantity(Dimension::NONE)?),
        };
        if scale.cmpne(DVec3::ZERO).all() {
            return Ok(scale);
        }
        Err(self.fault("a scale of zero leaves no volume").expected("a number other than 0, or three").into())
    }

    pub fn count(&self, kind: &Kind) -> Result<i64> {
        let (Value::Integer(i), Kind::Count(low, high)) = (&self.node.value, kind) else {
            return Err(self.wrong_type(kind));
        };
        if (low..=high).contains(&i) {
            Ok(*i)
        } else {
            Err(self.fault(format!("{i} is out of range")).expected(expectation(kind)).into())
        }
    }

    pub fn choice(&self, choices: &'static [Choice]) -> Result<&'static str> {
        let text = self.text(&Kind::Choice(choices))?;
        let available = || choices.iter().map(|c| c.name);
        match choices.iter().find(|c| c.name == text) {
            Some(Choice { name, .. }) => Ok(name),
            None => {
                let mut fault = self.fault(format!("unknown value \"{text}\"")).expected(one_of(available()));
                fault.hint = closest(text, choices.iter().map(|c| c.name)).map(|c| format!("\"{c}\""));
                Err(fault.into())
            }
        }
    }
}

impl Range {
    /// ` above 0 Pa and at most 1e13 Pa`, for messages.
    pub fn words(self, unit: &str) -> String {
        let show = |x: f64| if x == 0.0 || (1e-3..1e6).contains(&x.abs()) { format!("{x}") } else { format!("{x:e}") };
        let text = match self {
            Self::Any => return String::new(),
            Self::Positive => ", above 0".to_string(),
            Self::NotNegative => ", 0 or more".to_string(),
            Self::Between(low, high) => format!(", from {} to {} {unit}", show(low), show(high)),
            Self::Above(low, high) => format!(", above {} and at most {} {unit}", show(low), show(high)),
        };
        text.trim_end().to_string()
    }
}

/// What a key takes, for messages and the documentation.
pub(super) fn expectation(kind: &Kind) -> String {
    match kind {
        Kind::Text => "a string".into(),
        Kind::Name => "a name of letters, digits, _ and -".into(),
        Kind::Flag => "true or false".into(),
        Kind::Count(1, 1) => "1".into(),
        Kind::Count(low, i64::MAX) => format!("a whole number, {low} or more"),
        Kind::Count(low, high) => format!("a whole number from {low} to {high}"),
        Kind::Quantity(dimension, range) => {
            format!("{}{}", dimension.expectation(), range.words(dimension.base_unit()))
        }
        Kind::Vector(dimension) => format!("a list of 3, each {}", dimension.expectation()),
        Kind::Vectors(dimension) => {
            format!("a list of two or more places, each a list of 3, each {}", dimension.expectation())
        }
        Kind::Scale => "a number other than 0, or a list of three".into(),
        Kind::Numbers(count, dimension) => format!("a list of {count}, each {}", dimension.expectation()),
        Kind::Choice(choices) => one_of(choices.iter().map(|c| c.name)),
        Kind::Color => "a color such as \"#c58b5a\"".into(),
        Kind::Axes => "some of the letters x, y, z, such as \"xy\"".into(),
        Kind::ProbeValue => "a value in the unit of the probe's measure".into(),
        Kind::ProbeRange => "a list of two values in the unit of the probe's measure".into(),
        Kind::TimeOr(words) => format!("a time, or {}", one_of(words.iter().copied())),
        Kind::Shape => "a shape such as { kind = \"sphere\", radius = 0.1 }".into(),
        Kind::Shapes => "a list of shapes".into(),
        Kind::NamedShapes => "tables [shape.NAME]".into(),
        Kind::Table(_) => "a table { ... }".into(),
        Kind::Tables(section) => match section.header.starts_with("[[") {
            true => section.header.into(),
            false => "a list of tables [ { ... } ]".into(),
        },
    }
}

/// A fault of a value: where it was written, or by which flag it was given.
pub(super) fn fault_at(node: &Node, path: &str, file: Option<&Path>, what: String) -> Diagnostic {
    let fault = Diagnostic::new(what);
    match &node.origin {
        // The flag is on the user's command line; the file has no part in it.
        Origin::Flag(flag) => fault.key(format!("{path}, given by {flag}")),
        Origin::Line(line) => Diagnostic { file: file.map(Path::to_path_buf), ..fault }.line(*line).key(path),
        Origin::Default => Diagnostic { file: file.map(Path::to_path_buf), ..fault }.key(path),
    }
}

/// `#rrggbb` or `#rgb`.
pub(super) fn parse_color(text: &str) -> Option<[u8; 3]> {
    let digits = text.strip_prefix('#')?;
    if !digits.chars().all(|c| c.is_ascii_hexdigit()) {
        return None;
    }
    let digits: String = match digits.len() {
        3 => digits.chars().flat_map(|c| [c, c]).collect(),
        6 => digits.into(),
        _ => return None,
    };
    let byte = |i: usize| u8::from_str_radix(digits.get(i..i + 2)?, 16).ok();
    Some([byte(0)?, byte(2)?, byte(4)?])
}
