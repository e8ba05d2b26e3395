//! `docs/scene_format.md`, from the table of keys.

use super::builtin;
use super::keys::{Default, Key, Kind, SECTIONS, SHAPES, Section};
use super::probe::Measure;
use super::suggest::one_of;
use super::units::Dimension;
use crate::materials::presets::PRESETS;
use std::fmt::Write;

const HEAD: &str = "# Scene files

This page is generated from the table of keys in `crates/phyxel/src/scene/keys/`; a test compares the two and
`UPDATE_GOLDEN=1 cargo test --release scene_format` writes it anew. `docs/scene.schema.json` is the same as a JSON Schema for editors.

A scene is a TOML file. SI units, y up, right-handed. The smallest one:

```toml
format = 1

[[body]]
shape = { kind = \"sphere\", radius = \"10 cm\" }
at = [0, 1, 0]

[[collider]]
shape = { kind = \"plane\" }
```

**Quantities** are numbers in SI units or strings with a unit: `\"0.5 MPa\"`, `\"30 cm\"`, `\"45 degC\"`, `\"9.81 m/s^2\"`, `\"1.2 g/cm^3\"`. Vectors
may mix both: `[0, \"5 N\", 0]`. A unit of another dimension is an error that names the key. Angles are the exception to SI: plain numbers are degrees.
Units: m, in, ft, l; g, t, lb; s, min, h; K, degC, degF; deg, rad, rev, rpm; Hz, fps; N, lbf; Pa, bar, atm, psi; J; W; %; with the prefixes
n u m c d h k M G where the SI has them, and products and powers of all these.

**Unknown keys** are errors with a suggestion. Files are looked up beside the scene file.

**`--set key.path=value`** changes any key from the command line: `--set duration=2`, `--set body.0.material.young=\"1 MPa\"`,
or by name `--set body.block.material.young=1e6`. Of keys that exclude each other the one that is set stays.
";

/// The page about the scene format, in Markdown.
pub fn scene_format() -> String {
    let mut out = HEAD.to_string();
    for section in SECTIONS {
        let _ = writeln!(out, "\n## `{}`\n", section.header);
        if !section.doc.is_empty() {
            let _ = writeln!(out, "{}\n", section.doc);
        }
        let default = if section.partial { |_: &Key| "stays".to_string() } else { default_of };
        write_keys(&mut out, section.all_keys(), default);
        write_later(&mut out, section);
    }
    write_shapes(&mut out);
    write_measures(&mut out);
    write_presets(&mut out);
    out
}

fn write_keys(out: &mut String, keys: impl Iterator<Item = &'static Key>, default: fn(&Key) -> String) {
    out.push_str("| key | takes | default | meaning |\n|---|---|---|---|\n");
    for key in keys {
        let _ = writeln!(out, "| `{}` | {} | {} | {} |", key.name, takes(&key.kind), default(key), meaning(key));
    }
}

fn default_of(key: &Key) -> String {
    match key.default {
        Default::Required => "**required**".to_string(),
        Default::Absent(otherwise) => otherwise.to_string(),
        Default::Value(value) => format!("`{value}`: {}", key.why),
    }
}

fn write_later(out: &mut String, section: &Section) {
    if !section.later.is_empty() {
        let names: Vec<String> = section.later.iter().map(|(name, _)| format!("`{name}`")).collect();
        let _ = writeln!(out, "\nNot in this version, an error if written: {}.", names.join(", "));
    }
}

/// Kind of value in few words.
fn takes(kind: &Kind) -> String {
    let unit = |dimension: Dimension| match dimension {
        Dimension::NONE => "number".to_string(),
        _ => format!("{} [{}]", dimension.name(), dimension.base_unit()),
    };
    match kind {
        Kind::Quantity(dimension, range) => {
            format!("{}{}", unit(*dimension), range.words(dimension.base_unit()))
        }
        Kind::Vector(dimension) => format!("3 × {}", unit(*dimension)),
        Kind::Vectors(dimension) => format!("list of 3 × {}", unit(*dimension)),
        Kind::Numbers(count, dimension) => format!("{count} × {}", unit(*dimension)),
        Kind::Choice(choices) => {
            let names: Vec<String> = choices.iter().map(|c| format!("`\"{}\"`", c.name)).collect();
            one_of(names.iter().map(String::as_str))
        }
        Kind::Count(..) => "whole number".into(),
        Kind::Text | Kind::Axes => "string".into(),
        Kind::Name => "name".into(),
        Kind::Color => "color".into(),
        Kind::ProbeValue => "value in the probe's unit".into(),
        Kind::ProbeRange => "2 × value in the probe's unit".into(),
        Kind::TimeOr(words) => format!("time [s] or {}", one_of(words.iter().copied())),
        Kind::Shape => "shape".into(),
        Kind::Shapes => "list of shapes".into(),
        Kind::NamedShapes => "`[shape.NAME]`".into(),
        Kind::Table(section) => format!("table, see `{}`", section.header),
        Kind::Tables(section) => format!("list, see `{}`", section.header),
        Kind::Scale => "number or 3 × number".into(),
        Kind::Flag => "`true` or `false`".into(),
    }
}

/// What a key means, with its values if it is an enumeration.
fn meaning(key: &Key) -> String {
    let Kind::Choice(choices) = &key.kind else { return key.doc.to_string() };
    let mut text = key.doc.to_string();
    for choice in choices.iter() {
        let _ = write!(text, " `{}`: {}.", choice.name, choice.doc);
    }
    text
}

/// One line about a key, for the schema: what it means and what it is without.
pub(super) fn describe(key: &Key) -> String {
    match key.default {
        Default::Absent(otherwise) if !otherwise.is_empty() => format!("{} If left out: {otherwise}.", meaning(key)),
        _ => meaning(key),
    }
}

fn write_shapes(out: &mut String) {
    out.push_str(
        "\n## Shapes\n\nA shape is a table with `kind`, the keys of that kind, and `at`, `rotate`, `scale`, `round`: it is scaled, then rotated,\n\
         then moved. All are centered at their origin, round ones stand along y.\n\n| kind | keys | what it is |\n|---|---|---|\n",
    );
    for section in SHAPES {
        let keys = section.keys.iter().filter(|k| k.name != "kind").map(|k| match k.default {
            Default::Value(value) => format!("`{}` (`{value}`): {}", k.name, k.doc),
            Default::Absent(otherwise) => format!("`{}` (or {otherwise}): {}", k.name, k.doc),
            Default::Required => format!("`{}`: {}", k.name, k.doc),
        });
        let _ = writeln!(out, "| `{}` | {} | {} |", section.header, keys.collect::<Vec<_>>().join(" "), section.doc);
    }
    out.push_str("\nKeys of every shape:\n\n");
    write_keys(out, SHAPES[0].common.iter(), default_of);
    let names: Vec<String> = builtin::shape_names().map(|n| format!("`{n}`")).collect();
    let _ = writeln!(out, "\nBuilt-in shapes for `use`: {}.", names.join(", "));
}

fn write_measures(out: &mut String) {
    out.push_str("\n## Measures\n\n| measure | unit | what it is |\n|---|---|---|\n");
    for measure in Measure::all() {
        let _ = writeln!(out, "| `{measure}` | {} | {} |", measure.dimension().base_unit(), measure.doc());
    }
    out.push_str("\nMeans are weighted by mass.\n");
}

fn write_presets(out: &mut String) {
    out.push_str(
        "\n## Presets\n\nTypical values of a wide range; sources in docs/presets.md and by their keys in REFERENCES.md.\n\n\
         | preset | young [Pa] | poisson | density [kg/m³] | damping [1/s] | yield strain | creep [1/s] | what it is |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for p in PRESETS {
        let _ = writeln!(
            out,
            "| `{}` | {:e} | {} | {} | {} | {} | {} | {} |",
            p.name, p.young, p.poisson, p.density, p.damping, p.plastic[0], p.plastic[1], p.doc
        );
    }
    out.push_str(
        "\nThose that melt take part in heat:\n\n\
         | preset | conductivity [W/(m K)] | specific heat, solid and melted [J/(kg K)] | latent heat [J/kg] | solidus, liquidus [K] |\n\
         |---|---|---|---|---|\n",
    );
    for (p, h) in PRESETS.iter().filter_map(|p| Some((p, p.heat?))) {
        let ([solid, melted], [from, to]) = (h.specific, h.melts);
        let _ =
            writeln!(out, "| `{}` | {} | {solid}, {melted} | {} | {from}, {to} |", p.name, h.conductivity, h.latent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares a generated file with the one in `docs/`, or writes it when asked to.
    #[track_caller]
    fn check_golden(name: &str, generated: &str) {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, generated).unwrap();
        }
        let present = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(present == generated, "docs/{name} is stale: UPDATE_GOLDEN=1 cargo test --release scene_format");
    }

    #[test]
    fn scene_format_page_is_current() {
        check_golden("scene_format.md", &scene_format());
    }

    #[test]
    fn scene_format_schema_is_current() {
        check_golden("scene.schema.json", &super::super::json_schema());
    }
}
