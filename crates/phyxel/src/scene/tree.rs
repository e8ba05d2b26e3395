//! The scene text as a tree of values that remember where they were written.

use crate::error::{Diagnostic, Result};
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Where a value was written.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Origin {
    /// Line of the scene text, counted from 1.
    Line(usize),
    /// A `--set` flag, as the user wrote it.
    Flag(String),
    /// The default of a key.
    Default,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub value: Value,
    pub origin: Origin,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    /// A date or an integer beyond 64 bits: legal TOML that no key of a scene takes.
    Foreign(&'static str),
    List(Vec<Node>),
    Table(Vec<(String, Node)>),
}

impl Value {
    /// For messages: `a string`.
    pub fn describe(&self) -> &'static str {
        match self {
            Self::Bool(_) => "true or false",
            Self::Integer(_) | Self::Float(_) => "a number",
            Self::Text(_) => "a string",
            Self::Foreign(what) => what,
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }
}

impl Node {
    /// The value of a key, if this is a table that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        match &self.value {
            Value::Table(entries) => entries.iter().find(|(k, _)| k == key).map(|(_, node)| node),
            _ => None,
        }
    }

    /// Text of the key `name`, if there is one.
    pub fn name(&self) -> Option<&str> {
        match &self.get("name")?.value {
            Value::Text(name) => Some(name),
            _ => None,
        }
    }
}

/// Reads TOML; faults carry the line.
pub(super) fn parse(text: &str, file: Option<&Path>) -> Result<Node> {
    let table = DeTable::parse(text).map_err(|e| {
        let mut fault = Diagnostic::new(format!("this is not TOML: {}", e.message().replace('\n', ", ")));
        fault.file = file.map(Path::to_path_buf);
        fault.line = e.span().map(|span| line_of(text, span.start));
        fault
    })?;
    let start = table.span().start;
    Ok(table_node(table.into_inner(), text, start))
}

/// Reads one TOML value; None if it is not one.
pub(super) fn parse_value(text: &str, origin: &Origin) -> Option<Node> {
    let value = DeValue::parse(text.trim()).ok()?;
    let mut node = value_node(value, text);
    set_origin(&mut node, origin);
    Some(node)
}

fn set_origin(node: &mut Node, origin: &Origin) {
    node.origin = origin.clone();
    match &mut node.value {
        Value::List(items) => items.iter_mut().for_each(|n| set_origin(n, origin)),
        Value::Table(entries) => entries.iter_mut().for_each(|(_, n)| set_origin(n, origin)),
        _ => {}
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    1 + text.as_bytes()[..offset.min(text.len())].iter().filter(|b| **b == b'\n').count()
}

fn table_node(table: DeTable<'_>, text: &str, start: usize) -> Node {
    let entries = table.into_iter().map(|(key, value)| {
        // A key's own place is better than its value's: a table written in parts has its first line there.
        let line = line_of(text, key.span().start);
        let mut node = value_node(value, text);
        node.origin = Origin::Line(line);
        (key.into_inner().into_owned(), node)
    });
    Node { value: Value::Table(entries.collect()), origin: Origin::Line(line_of(text, start)) }
}

fn value_node(value: Spanned<DeValue<'_>>, text: &str) -> Node {
    let start = value.span().start;
    let value = match value.into_inner() {
        DeValue::Table(table) => return table_node(table, text, start),
        DeValue::String(s) => Value::Text(s.into_owned()),
        DeValue::Boolean(b) => Value::Bool(b),
        DeValue::Integer(i) => match i64::from_str_radix(i.as_str(), i.radix()) {
            Ok(i) => Value::Integer(i),
            Err(_) => Value::Foreign("a number beyond 64 bits"),
        },
        DeValue::Float(f) => Value::Float(f.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Datetime(_) => Value::Foreign("a date or time of day"),
        DeValue::Array(items) => Value::List(items.into_iter().map(|v| value_node(v, text)).collect()),
    };
    Node { value, origin: Origin::Line(line_of(text, start)) }
}
