//! From the tree to the `Scene`: fills in defaults and checks all that can be known without sampling.

use super::keys::SCENE;
use super::read_material::{read_change, read_material};
use super::read_shape::{Shapes, read_shape};
use super::reader::{Table, check_name};
use super::suggest::{closest, one_of};
use super::tree::Node;
use super::units::Dimension;
use super::*;
use crate::error::Result;
use std::path::Path;

/// Colors of bodies that have none: warm and cool in turn, of like lightness.
const PALETTE: [[u8; 3]; 8] = [
    [0xd9, 0x7b, 0x4f],
    [0x5b, 0x8f, 0xb9],
    [0xe3, 0xb5, 0x5b],
    [0x6f, 0xa8, 0x7f],
    [0xc0, 0x6a, 0x85],
    [0x8a, 0x7f, 0xc0],
    [0x4f, 0xa9, 0xa6],
    [0xb3, 0x8a, 0x6d],
];

/// Color of colliders that have none.
const COLLIDER_COLOR: [u8; 3] = [0xc9, 0xcc, 0xd1];

/// Columns of `metrics.csv` that every run has; probes may not take their names.
pub const METRIC_COLUMNS: &[&str] = &[
    "frame",
    "time",
    "dt_min",
    "dt_max",
    "substeps",
    "kinetic",
    "elastic",
    "gravity",
    "heat",
    "momentum_x",
    "momentum_y",
    "momentum_z",
    "angular_x",
    "angular_y",
    "angular_z",
    "mass",
    "volume",
    "points",
    "surfels",
    "pieces",
    "max_speed",
    "max_strain",
    "min_det_f",
    "seconds_physics",
    "seconds_surface",
];

/// More frames than anybody watches: four days of film.
const MAX_FRAMES: f64 = 1e7;

/// Reads the whole scene.
pub(super) fn read_scene(root: &Node, file: Option<&Path>) -> Result<Scene> {
    check_format(root, file)?;
    let top = Table::open(root, String::new(), &SCENE, file)?;
    let mut shapes = Shapes::read(&top)?;
    let mut scene = Scene {
        format: 1,
        name: read_name(&top, file)?,
        gravity: top.vector("gravity")?,
        duration: top.number("duration")?,
        fps: top.number("fps")?,
        seed: top.count("seed")?.unsigned_abs(),
        integrator: match top.choice("integrator")? {
            "explicit" => Integrator::Explicit,
            "implicit" => Integrator::Implicit,
            _ => Integrator::Auto,
        },
        precision: match top.choice("precision")? {
            "f32" => Precision::F32,
            "f64" => Precision::F64,
            _ => Precision::Mixed,
        },
        time_step: top.maybe_number("time_step")?,
        shapes: BTreeMap::new(),
        bodies: Vec::new(),
        colliders: Vec::new(),
        pins: Vec::new(),
        forces: Vec::new(),
        events: Vec::new(),
        probes: Vec::new(),
        expects: Vec::new(),
        camera: CameraSpec::default(),
    };
    check_frames(&top, &scene)?;
    for table in top.tables("body")? {
        let body = read_body(&table, &scene, &mut shapes)?;
        scene.bodies.push(body);
    }
    if scene.bodies.is_empty() {
        let fault = top.fault_of("body", "the scene has no body").expected("at least one [[body]]");
        return Err(fault.hint("[[body]] and below it: shape = { kind = \"sphere\", radius = 0.1 }").into());
    }
    for table in top.tables("collider")? {
        let collider = read_collider(&table, &scene, &mut shapes)?;
        scene.colliders.push(collider);
    }
    for table in top.tables("pin")? {
        let pin = read_pin(&table, &scene)?;
        scene.pins.push(pin);
    }
    for table in top.tables("force")? {
        scene.forces.push(read_force(&table, &scene)?);
    }
    for table in top.tables("probe")? {
        let probe = read_probe(&table, &scene)?;
        scene.probes.push(probe);
    }
    for table in top.tables("event")? {
        scene.events.push(read_event(&table, &scene)?);
    }
    for table in top.tables("expect")? {
        scene.expects.push(read_expect(&table, &scene)?);
    }
    scene.camera = read_camera(&top)?;
    scene.shapes = shapes.finish();
    Ok(scene)
}

/// Before all else: a file of another format would give misleading faults.
fn check_format(root: &Node, file: Option<&Path>) -> Result<()> {
    let top = Table { node: root, path: String::new(), section: &SCENE, file };
    if !top.has("format") {
        let fault = top.fault("`format` is missing").expected("`format = 1` at the top of the scene");
        return Err(fault.hint("write format = 1 as the first line").into());
    }
    if matches!(&root.get("format").map(|n| &n.value), Some(tree::Value::Integer(1))) {
        return Ok(());
    }
    let fault =
        top.fault_of("format", "this scene has a format that this version does not read").expected("format = 1");
    Err(fault.into())
}

/// Frames must be countable, and the run must have one.
fn check_frames(top: &Table, scene: &Scene) -> Result<()> {
    let frames = scene.duration * scene.fps;
    if frames < 0.5 {
        let what = format!("a duration of {} s at {} frames per second gives no frame", scene.duration, scene.fps);
        return Err(top.fault_of("duration", what).expected(format!("at least {} s", 1.0 / scene.fps)).into());
    }
    if frames > MAX_FRAMES {
        let what =
            format!("a duration of {} s at {} frames per second gives {frames:.0} frames", scene.duration, scene.fps);
        return Err(top.fault_of("duration", what).expected(format!("at most {MAX_FRAMES:.0} frames")).into());
    }
    Ok(())
}

fn read_name(top: &Table, file: Option<&Path>) -> Result<String> {
    // The file's name with what cannot stand in a name replaced.
    let stem = file.and_then(Path::file_stem).map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    let legal = |c: char| if c.is_alphanumeric() || c == '_' { c } else { '-' };
    let stem: String = stem.chars().map(legal).take(64).collect();
    let stem = if check_name(&stem).is_ok() { stem } else { "scene".into() };
    top.name(stem, &[])
}

fn read_body(table: &Table, scene: &Scene, shapes: &mut Shapes) -> Result<BodySpec> {
    let index = scene.bodies.len();
    let taken: Vec<&str> = scene.bodies.iter().map(|b| b.name.as_str()).collect();
    let name = table.name(format!("body{index}"), &taken)?;
    // `mls` is the only model; reading it rejects the others.
    table.choice("model")?;
    let shape = read_shape(table, "shape", shapes)?;
    if !shapes.is_bounded(&shape) {
        let fault = table.fault_of("shape", "this shape is endless and cannot be filled with points");
        return Err(fault
            .expected("a shape of finite size")
            .hint("planes are for [[collider]] and for cutting")
            .into());
    }
    if table.has("spacing") && table.has("points") {
        let fault = table.fault_of("points", "`spacing` and `points` exclude each other");
        return Err(fault.expected("only one of them").into());
    }
    let spacing = table.maybe_number("spacing")?;
    let points = match spacing {
        Some(_) => None,
        None => Some(table.maybe_count("points")?.map_or(2000, |n| n as usize)),
    };
    let mut body = BodySpec {
        name,
        model: ModelKind::Mls,
        shape,
        at: table.vector("at")?,
        rotate: table.vector("rotate")?,
        scale: table.number("scale")?,
        velocity: table.vector("velocity")?,
        spin: table.vector("spin")?,
        spacing,
        points,
        sampling: match table.choice("sampling")? {
            "regular" => Sampling::Regular,
            "graded" => Sampling::Graded,
            _ => Sampling::Poisson,
        },
        material: read_material(table)?,
        surface: read_surface(table)?,
        color: table.maybe_color("color")?.unwrap_or(PALETTE[index % PALETTE.len()]),
        regions: Vec::new(),
    };
    for region in table.tables("regions")? {
        let region = read_region(&region, &body)?;
        body.regions.push(region);
    }
    Ok(body)
}

fn read_surface(body: &Table) -> Result<SurfaceSpec> {
    // An empty table takes all defaults.
    let empty = Node { value: tree::Value::Table(Vec::new()), origin: tree::Origin::Default };
    let table = match body.table("surface")? {
        Some(table) => table,
        None => Table::open(&empty, body.path_of("surface"), &keys::SURFACE, body.file)?,
    };
    let kind = match table.choice("kind")? {
        "none" => SurfaceKind::None,
        "points" => SurfaceKind::Points,
        _ => SurfaceKind::Surfels,
    };
    Ok(SurfaceSpec { kind, count: table.count("count")? as usize })
}

fn read_region(table: &Table, body: &BodySpec) -> Result<RegionSpec> {
    let mut taken: Vec<&str> = body.regions.iter().map(|r| r.name.as_str()).collect();
    // Every body has this region already.
    taken.push("all");
    let name = table.name(String::new(), &taken)?;
    let kind = table.exactly_one(&["box", "sphere", "half_space", "nearest"])?;
    let Some(inner) = table.table(kind)? else { return Ok(RegionSpec { name, place: RegionPlace::All }) };
    let place = match kind {
        "box" => {
            let (min, max) = (inner.vector("min")?, inner.vector("max")?);
            if !min.cmple(max).all() {
                return Err(inner.fault("`min` lies beyond `max`").expected("min below max along x, y and z").into());
            }
            RegionPlace::Box { min, max }
        }
        "sphere" => RegionPlace::Sphere { center: inner.vector("center")?, radius: inner.number("radius")? },
        "half_space" => RegionPlace::HalfSpace { normal: inner.direction("normal")?, offset: inner.number("offset")? },
        _ => RegionPlace::Nearest { to: inner.vector("to")?, count: inner.count("count")? as usize },
    };
    Ok(RegionSpec { name, place })
}

fn read_collider(table: &Table, scene: &Scene, shapes: &mut Shapes) -> Result<ColliderSpec> {
    let taken: Vec<&str> = scene.colliders.iter().map(|c| c.name.as_str()).collect();
    Ok(ColliderSpec {
        name: table.name(format!("collider{}", taken.len()), &taken)?,
        shape: read_shape(table, "shape", shapes)?,
        at: table.vector("at")?,
        rotate: table.vector("rotate")?,
        friction: table.number("friction")?,
        restitution: table.number("restitution")?,
        temperature: table.maybe_number("temperature")?,
        motion: read_motion(table)?,
        color: table.maybe_color("color")?.unwrap_or(COLLIDER_COLOR),
        visible: table.flag("visible")?,
    })
}

fn read_motion(table: &Table) -> Result<Vec<Keyframe>> {
    let mut motion: Vec<Keyframe> = Vec::new();
    for key in table.tables("motion")? {
        let keyframe = Keyframe { t: key.number("t")?, at: key.vector("at")?, rotate: key.vector("rotate")? };
        if let Some(last) = motion.last().filter(|last| keyframe.t <= last.t) {
            let what = format!("the keyframe at {} s does not come after the one at {} s", keyframe.t, last.t);
            return Err(key.fault_of("t", what).expected("times that increase").into());
        }
        motion.push(keyframe);
    }
    Ok(motion)
}

fn body_names(scene: &Scene) -> Vec<&str> {
    scene.bodies.iter().map(|b| b.name.as_str()).collect()
}

/// Names of the regions of a body, `all` among them.
fn region_names<'a>(scene: &'a Scene, body: &str) -> Vec<&'a str> {
    let body = scene.bodies.iter().find(|b| b.name == body);
    body.iter().flat_map(|b| b.regions.iter()).map(|r| r.name.as_str()).chain(["all"]).collect()
}

/// `region` of the given body, `all` if not written.
fn read_region_name(table: &Table, key: &str, scene: &Scene, body: &str) -> Result<Option<String>> {
    table.maybe_reference(key, &format!("region of body \"{body}\" named"), &region_names(scene, body))
}

fn check_until(table: &Table, from: f64, until: Option<f64>) -> Result<()> {
    match until {
        Some(until) if until <= from => {
            Err(table.fault_of("until", format!("this ends at {until} s, before it begins at {from} s")).into())
        }
        _ => Ok(()),
    }
}

fn read_pin(table: &Table, scene: &Scene) -> Result<PinSpec> {
    let taken: Vec<&str> = scene.pins.iter().map(|p| p.name.as_str()).collect();
    let body = table.reference("body", "body", &body_names(scene))?;
    let axes = table.text("axes")?;
    let axes_legal = !axes.is_empty() && axes.chars().all(|c| "xyz".contains(c));
    if !axes_legal {
        let fault = table.fault_of("axes", format!("\"{axes}\" names no directions"));
        return Err(fault.expected("some of the letters x, y, z, such as \"xy\"").into());
    }
    Ok(PinSpec {
        name: table.name(format!("pin{}", taken.len()), &taken)?,
        region: read_region_name(table, "region", scene, &body)?.unwrap_or_else(|| "all".into()),
        body,
        until: table.maybe_number("until")?,
        axes: ['x', 'y', 'z'].map(|c| axes.contains(c)),
        motion: read_motion(table)?,
    })
}

fn read_force(table: &Table, scene: &Scene) -> Result<ForceSpec> {
    let body = table.maybe_reference("body", "body", &body_names(scene))?;
    let missing = |key: &str, example: &str| table.fault_of(key, format!("`{key}` is missing")).expected(example);
    let kind = match table.choice("kind")? {
        "region" => {
            reject(table, &["acceleration"], "a force of kind \"region\"")?;
            let body = body.ok_or_else(|| missing("body", &one_of(body_names(scene))))?;
            let region = read_region_name(table, "region", scene, &body)?.unwrap_or_else(|| "all".into());
            let total =
                table.maybe_vector("total")?.ok_or_else(|| missing("total", "a force such as [0, \"5 N\", 0]"))?;
            ForceKind::Region { body, region, total }
        }
        _ => {
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
fn reject(table: &Table, keys: &[&str], of: &str) -> Result<()> {
    match keys.iter().find(|k| table.has(k)) {
        Some(key) => Err(table.fault_of(key, format!("`{key}` has no effect on {of}")).hint("leave it out").into()),
        None => Ok(()),
    }
}

fn read_probe(table: &Table, scene: &Scene) -> Result<ProbeSpec> {
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
    let bare = name.trim_start_matches("mean_").trim_start_matches("min_").trim_start_matches("max_");
    if let Some((_, why)) = probe::LATER.iter().find(|(later, _)| *later == bare) {
        return table.fault_of("measure", format!("the measure \"{name}\" is not in this version")).hint(*why);
    }
    let all: Vec<String> = Measure::all().iter().map(Measure::to_string).collect();
    let known = || all.iter().map(String::as_str);
    let mut fault = table.fault_of("measure", format!("unknown measure \"{name}\"")).expected(
        "mean_, min_ or max_ with x, displacement_x, speed, stress, strain; volume, mass, extent_x, reaction_x, ...",
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

fn read_event(table: &Table, scene: &Scene) -> Result<EventSpec> {
    let when = match table.exactly_one(&["at", "when"])? {
        "at" => EventTime::At(table.number("at")?),
        _ => read_when(table, scene)?,
    };
    let action = match table.exactly_one(&["set", "release", "remove"])? {
        "set" => {
            let body = table.maybe_reference("body", "body", &body_names(scene))?;
            let body =
                body.ok_or_else(|| table.fault_of("body", "`body` is missing").expected(one_of(body_names(scene))))?;
            EventAction::Set { set: read_change(table)?, body }
        }
        "release" => {
            reject(table, &["body"], "an event that releases a pin")?;
            let pins: Vec<&str> = scene.pins.iter().map(|p| p.name.as_str()).collect();
            EventAction::Release(table.reference("release", "pin", &pins)?)
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

fn read_expect(table: &Table, scene: &Scene) -> Result<ExpectSpec> {
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
            let tolerance = table.maybe_quantity("tolerance", dimension)?;
            let tolerance = tolerance.filter(|t| *t >= 0.0).ok_or_else(|| {
                table.fault_of("tolerance", "`near` needs a `tolerance`").expected("a largest distance, 0 or more")
            })?;
            Want::Near { value: value("near")?, tolerance }
        }
    };
    Ok(ExpectSpec { probe, at: read_expect_time(table, scene)?, want })
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

fn read_camera(top: &Table) -> Result<CameraSpec> {
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
