//! JSON Schema of the scene file, from the table of keys; editors complete and check scenes with it.

use super::keys::{Default, Key, Kind, Range, SCENE, SHAPES, Section};
use super::probe::Measure;
use super::units::Dimension;
use crate::materials::presets::PRESETS;
use serde_json::{Map, Value, json};

/// JSON Schema (draft 2020-12) of the scene format.
pub fn json_schema() -> String {
    let mut schema = section(&SCENE);
    let head = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Phyxel scene",
        "description": "SI units, y up. A quantity is a number in SI or a string with a unit.",
    });
    if let (Value::Object(schema), Value::Object(mut head)) = (&mut schema, head) {
        head.append(schema);
        head.insert("$defs".into(), json!({ "shape": { "oneOf": SHAPES.iter().map(shape).collect::<Vec<_>>() } }));
        *schema = head;
    }
    serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
}

fn section(section: &Section) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for key in section.all_keys() {
        properties.insert(key.name.into(), property(key, section.partial));
        if matches!(key.default, Default::Required) {
            required.push(key.name);
        }
    }
    let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    if !section.doc.is_empty() {
        schema["description"] = json!(section.doc);
    }
    schema
}

fn shape(of: &'static Section) -> Value {
    let mut schema = section(of);
    if of.find("kind").is_some() {
        schema["properties"]["kind"] = json!({ "const": of.header, "description": of.doc });
    }
    schema
}

fn property(key: &Key, partial: bool) -> Value {
    let mut schema = match key.name {
        "preset" => json!({ "enum": PRESETS.iter().map(|p| p.name).collect::<Vec<_>>() }),
        "measure" => json!({ "enum": Measure::all().iter().map(Measure::to_string).collect::<Vec<_>>() }),
        _ => kind(&key.kind),
    };
    schema["description"] = json!(super::docs::describe(key));
    if let (Default::Value(text), false) = (&key.default, partial) {
        // Defaults are TOML values; those of the table are valid JSON too.
        schema["default"] = serde_json::from_str(text).unwrap_or_else(|_| json!(text));
    }
    schema
}

fn kind(kind: &Kind) -> Value {
    match kind {
        Kind::Text => json!({ "type": "string" }),
        Kind::Name => json!({ "type": "string", "minLength": 1, "maxLength": 64 }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Count(low, high) => json!({ "type": "integer", "minimum": low, "maximum": high }),
        Kind::Quantity(dimension, range) => quantity(*dimension, *range),
        Kind::Vector(dimension) => numbers(3, *dimension),
        Kind::Vectors(dimension) => json!({ "type": "array", "items": numbers(3, *dimension), "minItems": 2 }),
        Kind::Scale => json!({ "anyOf": [{ "type": "number" }, numbers(3, Dimension::NONE)] }),
        Kind::Numbers(count, dimension) => numbers(*count, *dimension),
        Kind::Choice(choices) => {
            json!({ "enum": choices.iter().map(|c| c.name).collect::<Vec<_>>() })
        }
        Kind::Color => json!({ "type": "string", "pattern": "^#([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$" }),
        Kind::Axes => json!({ "type": "string", "pattern": "^[xyz]+$" }),
        Kind::ProbeValue => json!({ "type": ["number", "string"] }),
        Kind::ProbeRange => {
            json!({ "type": "array", "items": { "type": ["number", "string"] }, "minItems": 2, "maxItems": 2 })
        }
        Kind::TimeOr(_) => json!({ "type": ["number", "string"] }),
        Kind::Shape => json!({ "$ref": "#/$defs/shape" }),
        Kind::Shapes => json!({ "type": "array", "items": { "$ref": "#/$defs/shape" }, "minItems": 1 }),
        Kind::NamedShapes => json!({ "type": "object", "additionalProperties": { "$ref": "#/$defs/shape" } }),
        Kind::Table(of) => section(of),
        Kind::Tables(of) => json!({ "type": "array", "items": section(of) }),
    }
}

/// A number within the range, or a string with a unit.
fn quantity(dimension: Dimension, range: Range) -> Value {
    let mut number = json!({ "type": "number" });
    match range {
        Range::Any => {}
        Range::Positive => number["exclusiveMinimum"] = json!(0),
        Range::NotNegative => number["minimum"] = json!(0),
        Range::Between(low, high) => {
            number["minimum"] = json!(low);
            number["maximum"] = json!(high);
        }
        Range::Above(low, high) => {
            number["exclusiveMinimum"] = json!(low);
            number["maximum"] = json!(high);
        }
    }
    json!({ "anyOf": [number, text_with_unit(dimension)] })
}

fn text_with_unit(dimension: Dimension) -> Value {
    json!({ "type": "string", "pattern": "^\\s*[-+]?[0-9.]", "examples": [dimension.example().trim_matches('"')] })
}

fn numbers(count: usize, dimension: Dimension) -> Value {
    let item = json!({ "anyOf": [{ "type": "number" }, text_with_unit(dimension)] });
    json!({ "type": "array", "items": item, "minItems": count, "maxItems": count })
}
