//! Reads what acts on bodies and what is measured: pins, forces, events, probes, expectations, the camera.

use super::read::read_motion;
use super::read_heat::{check_body, no_conductivity};
use super::read_material::read_change;
use super::reader::Table;
use super::suggest::{closest, one_of};
use super::units::Dimension;
use super::*;
use crate::error::Result;

pub(super) fn body_names(scene: &Scene) -> Vec<&str> {
    scene.bodies.iter().map(|b| b.name.as_str()).collect()
}

/// Names of the regions of a body, `all` among them.
fn region_names<'a>(scene: &'a Scene, body: &str) -> Vec<&'a str> {
    let body = scene.bodies.iter().find(|b| b.name == body);
    body.iter().flat_map(|b| b.regions.iter()).map(|r| r.name.as_str()).chain(["all"]).collect()
}

/// `region` of the given body, `all` if not written.
pub(super) fn read_region_name(table: &Table, key: &str, scene: &Scene, body: &str) -> Result<Option<String>> {
    table.maybe_reference(key, &format!("region of body \"{body}\" named"), &region_names(scene, body))
}

pub(super) fn check_until(table: &Table, from: f64, until: Option<f64>) -> Result<()> {
    match until {
        Some(until) if until <= from => {
            Err(table.fault_of("until", format!("this ends at {until} s, before it begins at {from} s")).into())
        }
        _ => Ok(()),
    }
}

pub(super) fn read_pin(table: &Table, scene: &Scene) -> Result<PinSpec> {
    let taken: Vec<&str> = scene.pins.iter().map(|p| p.name.as_str()).collect();
    let body = table.reference("body", "body", &body_names(scene))?;
    let axes = table.text("axes")?;
    let axes_legal = !axes.is_empty() && axes.chars().all(|c| "xyz".contains(c));
    if !axes_legal {
        let fault = table.fault_of("axes", format!("\"{axes}\" names no directions"));
        return Err(fault.expected("some of the letters x, y, z, such as \"xy\"").into());
    }
    check_until(table, table.number("from")?, table.maybe_number("until")?)?;
    Ok(PinSpec {
        name: table.name(format!("pin{}", taken.len()), &taken)?,
        region: read_region_name(table, "region", scene, &body)?.unwrap_or_else(|| "all".into()),
        body,
        from: table.number("from")?,
        until: table.maybe_number("until")?,
        axes: ['x', 'y', 'z'].map(|c| axes.contains(c)),
        motion: read_motion(table)?,
    })
}

/// Keys of a force of one kind only.
const PRESSURE: [&str; 3] = ["pressure", "ramp", "outside"];
const WIND: [&str; 3] = ["velocity", "density", "drag"];
/// Of air at 20 degC [kg/m³].
const AIR_DENSITY: f64 = 1.2;

pub(super) fn read_force(table: &Table, scene: &Scene) -> Result<ForceSpec> {
    let body = table.maybe_reference("body", "body", &body_names(scene))?;
    let missing = |key: &str, example: &str| table.fault_of(key, format!("`{key}` is missing")).expected(example);
    let kind = match table.choice("kind")? {
        "region" => {
            reject(table, &PRESSURE, "a force of kind \"region\"")?;
            reject(table, &WIND, "a force of kind \"region\"")?;
            reject(table, &["acceleration"], "a force of kind \"region\"")?;
            let body = body.ok_or_else(|| missing("body", &one_of(body_names(scene))))?;
            let region = read_region_name(table, "region", scene, &body)?.unwrap_or_else(|| "all".into());
            let total =
                table.maybe_vector("total")?.ok_or_else(|| missing("total", "a force such as [0, \"5 N\", 0]"))?;
            ForceKind::Region { body, region, total }
        }
        "pressure" => {
            reject(table, &["region", "total", "acceleration"], "a force of kind \"pressure\"")?;
            reject(table, &WIND, "a force of kind \"pressure\"")?;
            let body = body.ok_or_else(|| missing("body", &one_of(body_names(scene))))?;
            if scene.bodies.iter().any(|b| b.name == body && b.model != ModelKind::Shell) {
                let fault = table.fault_of("body", format!("\"{body}\" is a solid: there is no inside to blow up"));
                return Err(fault.expected("a body with model = \"shell\"").into());
            }
            let pressure = table.maybe_number("pressure")?.ok_or_else(|| missing("pressure", "such as \"2 kPa\""))?;
            let ramp = table.maybe_number("ramp")?.unwrap_or(0.0);
            ForceKind::Pressure { body, pressure, ramp, outside: table.maybe_number("outside")? }
        }
        "wind" => {
            reject(table, &PRESSURE, "a force of kind \"wind\"")?;
            reject(table, &["region", "total", "acceleration"], "a force of kind \"wind\"")?;
            let blown = |b: &BodySpec| b.model == ModelKind::Shell && body.as_ref().is_none_or(|name| *name == b.name);
            if !scene.bodies.iter().any(blown) {
                let fault = table.fault_of("kind", "wind blows on shells only, and there is none here");
                return Err(fault.expected("a body with model = \"shell\"").into());
            }
            let velocity = table.maybe_vector("velocity")?;
            let velocity = velocity.ok_or_else(|| missing("velocity", "such as [\"5 m/s\", 0, 0]"))?;
            let density = table.maybe_number("density")?.unwrap_or(AIR_DENSITY);
            ForceKind::Wind { body, velocity, density, drag: table.maybe_number("drag")?.unwrap_or(1.0) }
        }
        _ => {
            reject(table, &PRESSURE, "a force of kind \"field\"")?;
            reject(table, &WIND, "a force of kind \"field\"")?;
            reject(table, &["region", "total"], "a force of kind \"field\"")?;
            let acceleration = table.maybe_vector("acceleration")?;
            let acceleration = acceleration.ok_or_else(|| missing("acceleration", "such as [\"2 m/s^2\", 0, 0]"))?;
            ForceKind::Field { body, acceleration }
        }
    };
    let (from, until) = (table.number("from")?, table.maybe_number("until")?);
    check_until(table, from, until)?;
    Ok(ForceSpec { kind, from, until })
}

/// Keys that would have no effect are faults, not silence.
pub(super) fn reject(table: &Table, keys: &[&str], of: &str) -> Result<()> {
    match keys.iter().find(|k| table.has(k)) {
        Some(key) => Err(table.fault_of(key, format!("`{key}` has no effect on {of}")).hint("leave it out").into()),
        None => Ok(()),
    }
}

pub(super) fn read_probe(table: &Table, scene: &Scene) -> Result<ProbeSpec> {
    let probes = scene.probes.iter().map(|p| p.name.as_str());
    let taken: Vec<&str> = METRIC_COLUMNS.iter().copied().chain(probes).collect();
    let name = table.name(format!("probe{}", scene.probes.len()), &taken)?;
    let measure_name = table.text("measure")?;
    let measure = Measure::parse(&measure_name).ok_or_else(|| unknown_measure(table, &measure_name))?;
    let body = table.maybe_reference("body", "body", &body_names(scene))?;
    let pins: Vec<&str> = scene.pins.iter().map(|p| p.name.as_str()).collect();
    let colliders: Vec<&str> = scene.colliders.iter().map(|c| c.name.as_str()).collect();
    let pin = table.maybe_reference("pin", "pin", &pins)?;
    let collider = table.maybe_reference("collider", "collider", &colliders)?;
    let what = format!("the measure \"{measure}\"");
    match measure {
        Measure::Reaction(_) => {
            reject(table, &["region", "to_region"], &what)?;
            table.exactly_one(&["pin", "collider"])?;
        }
        _ => reject(table, &["pin", "collider"], &what)?,
    }
    if measure.is_thermal() {
        match &body {
            Some(name) => check_body(table, scene, name)?,
            None if scene.bodies.iter().any(|b| b.material.is_thermal()) => {}
            None => return Err(no_conductivity(table, "measure").into()),
        }
    }
    if measure != Measure::Distance {
        reject(table, &["to_region"], &what)?;
    } else if body.is_none() || !table.has("to_region") {
        let key = if body.is_none() { "body" } else { "to_region" };
        return Err(table.fault_of(key, format!("`{key}` is missing, {what} needs it")).into());
    }
    let (mut region, mut to_region) = (None, None);
    match &body {
        Some(body) => {
            region = read_region_name(table, "region", scene, body)?;
            to_region = read_region_name(table, "to_region", scene, body)?;
        }
        None => reject(table, &["region"], "a probe without `body`")?,
    }
    let region = region.unwrap_or_else(|| "all".into());
    Ok(ProbeSpec { name, body, region, to_region, pin, collider, measure: measure_name })
}

fn unknown_measure(table: &Table, name: &str) -> crate::error::Diagnostic {
    let all: Vec<String> = Measure::all().iter().map(Measure::to_string).collect();
    let known = || all.iter().map(String::as_str);
    let mut fault = table.fault_of("measure", format!("unknown measure \"{name}\"")).expected(
        "mean_, min_ or max_ with x, displacement_x, speed, stress, strain, temperature; volume, mass, extent_x, reaction_x, ...",
    );
    let with_mean = format!("mean_{name}");
    let mean = known().find(|m| *m == with_mean);
    fault.hint = mean.or_else(|| closest(name, known())).map(|m| format!("\"{m}\""));
    fault
}

/// Dimension of what a probe measures, and its name.
fn read_probe_name(table: &Table, scene: &Scene) -> Result<(String, Dimension)> {
    let names: Vec<&str> = scene.probes.iter().map(|p| p.name.as_str()).collect();
    let name = table.reference("probe", "probe", &names)?;
    let probe = scene.probes.iter().find(|p| p.name == name);
    let dimension = probe.and_then(|p| Measure::parse(&p.measure)).map_or(Dimension::NONE, Measure::dimension);
    Ok((name, dimension))
}

pub(super) fn read_event(table: &Table, scene: &Scene) -> Result<EventSpec> {
    let when = match table.exactly_one(&["at", "when"])? {
        "at" => EventTime::At(table.number("at")?),
        _ => read_when(table, scene)?,
    };
    let action = match table.exactly_one(&["set", "release", "remove", "melt", "solidify"])? {
        "set" => {
            let body = table.maybe_reference("body", "body", &body_names(scene))?;
            let body =
                body.ok_or_else(|| table.fault_of("body", "`body` is missing").expected(one_of(body_names(scene))))?;
            let material = scene.bodies.iter().find(|b| b.name == body).map(|b| b.material.clone()).unwrap_or_default();
            let set = read_change(table, &material)?;
            if set.is_thermal() {
                check_body(table, scene, &body)?;
            }
            EventAction::Set { set: Box::new(set), body }
        }
        "release" => {
            reject(table, &["body"], "an event that releases a pin")?;
            let pins: Vec<&str> = scene.pins.iter().map(|p| p.name.as_str()).collect();
            EventAction::Release(table.reference("release", "pin", &pins)?)
        }
        key @ ("melt" | "solidify") => {
            reject(table, &["body"], "an event that names its body already")?;
            let body = table.reference(key, "body", &body_names(scene))?;
            if key == "melt" { EventAction::Melt(body) } else { EventAction::Solidify(body) }
        }
        _ => {
            reject(table, &["body"], "an event that removes a collider")?;
            let colliders: Vec<&str> = scene.colliders.iter().map(|c| c.name.as_str()).collect();
            EventAction::Remove(table.reference("remove", "collider", &colliders)?)
        }
    };
    Ok(EventSpec { when, action })
}

fn read_when(table: &Table, scene: &Scene) -> Result<EventTime> {
    let Some(when) = table.table("when")? else { return Ok(EventTime::At(0.0)) };
    let (probe, dimension) = read_probe_name(&when, scene)?;
    let side = when.exactly_one(&["below", "above"])?;
    let value = when.maybe_quantity(side, dimension)?.unwrap_or_default();
    Ok(if side == "below" { EventTime::Below { probe, value } } else { EventTime::Above { probe, value } })
}

pub(super) fn read_expect(table: &Table, scene: &Scene) -> Result<ExpectSpec> {
    let (probe, dimension) = read_probe_name(table, scene)?;
    let value = |key: &str| table.maybe_quantity(key, dimension).map(Option::unwrap_or_default);
    let kind = table.exactly_one(&["between", "below", "above", "near"])?;
    if kind != "near" {
        reject(table, &["tolerance"], &format!("`{kind}`"))?;
    }
    let want = match kind {
        "between" => {
            let range = table.maybe_pair("between", dimension)?.unwrap_or_default();
            if range[0] > range[1] {
                let fault = table.fault_of("between", format!("from {} to {} holds nothing", range[0], range[1]));
                return Err(fault.expected("the smaller value first").into());
            }
            Want::Between(range)
        }
        "below" => Want::Below(value("below")?),
        "above" => Want::Above(value("above")?),
        _ => {
            check_difference(table, "tolerance", dimension)?;
            let tolerance = table.maybe_quantity("tolerance", dimension)?;
            let tolerance = tolerance.filter(|t| *t >= 0.0).ok_or_else(|| {
                table.fault_of("tolerance", "`near` needs a `tolerance`").expected("a largest distance, 0 or more")
            })?;
            Want::Near { value: value("near")?, tolerance }
        }
    };
    Ok(ExpectSpec { probe, at: read_expect_time(table, scene)?, want })
}

/// Degrees Celsius would be counted from absolute zero, which nobody means by a difference.
fn check_difference(table: &Table, key: &str, dimension: Dimension) -> Result<()> {
    match table.node.get(key).map(|n| &n.value) {
        Some(tree::Value::Text(text)) if dimension == Dimension::TEMPERATURE && !text.trim_end().ends_with('K') => {
            let fault = table.fault_of(key, format!("`{key}` is a difference of temperatures, \"{text}\" is none"));
            Err(fault.expected("a number in K or a string such as \"2 K\"").into())
        }
        _ => Ok(()),
    }
}

fn read_expect_time(table: &Table, scene: &Scene) -> Result<ExpectTime> {
    let word = match table.node.get("at").map(|n| &n.value) {
        None => "end",
        Some(tree::Value::Text(text)) => text.as_str(),
        Some(_) => "",
    };
    let time = match word {
        "end" => return Ok(ExpectTime::End),
        "max" => return Ok(ExpectTime::Max),
        "min" => return Ok(ExpectTime::Min),
        "always" => return Ok(ExpectTime::Always),
        // A word that is neither known nor begins like a quantity.
        _ if word.starts_with(char::is_alphabetic) => {
            let mut fault = table
                .fault_of("at", format!("unknown value \"{word}\""))
                .expected("a time, or end, max, min or always");
            fault.hint = closest(word, ["end", "max", "min", "always"]).map(|w| format!("\"{w}\""));
            return Err(fault.into());
        }
        _ => table.maybe_quantity("at", Dimension::TIME)?.unwrap_or_default(),
    };
    if time < 0.0 || time > scene.duration {
        let fault = table.fault_of("at", format!("{time} s lies outside the run"));
        return Err(fault.expected(format!("a time from 0 to {} s", scene.duration)).into());
    }
    Ok(ExpectTime::Time(time))
}

pub(super) fn read_camera(top: &Table) -> Result<CameraSpec> {
    let Some(table) = top.table("camera")? else { return Ok(CameraSpec::default()) };
    let camera = CameraSpec {
        from: table.maybe_vector("from")?,
        look_at: table.maybe_vector("look_at")?,
        fov: table.maybe_number("fov")?,
    };
    if camera.from.is_some() && camera.from == camera.look_at {
        return Err(table
            .fault_of("look_at", "the camera looks at itself")
            .expected("a place other than `from`")
            .into());
    }
    Ok(camera)
}
