//! From the tree to the `Scene`: fills in defaults and checks all that can be known without sampling.

use super::keys::SCENE;
use super::patches::read_patches;
use super::read_embedded::{check_embedded, check_resample};
use super::read_heat::{no_conductivity, read_air, read_heat};
use super::read_lattice::{check_lattices, check_plane};
use super::read_material::read_material;
use super::read_shape::{Shapes, read_shape};
use super::read_shell::{check_sheet, check_shells, read_weak};
use super::read_world::{read_camera, read_event, read_expect, read_force, read_pin, read_probe};
use super::reader::{Table, check_name};
use super::tree::Node;
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
pub const METRIC_COLUMNS: &[&str] = &crate::measure::MetricsRow::COLUMNS;

/// More frames than anybody watches: four days of film.
const MAX_FRAMES: f64 = 1e7;
/// How far below its solidus matter starts that would be melted at room temperature [K].
const SOLID_BELOW: f64 = 5.0;

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
        air: read_air(&top)?,
        heats: Vec::new(),
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
    for table in top.tables("heat")? {
        scene.heats.push(read_heat(&table, &scene)?);
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
    check_shells(&top, &scene)?;
    check_lattices(&top, &scene)?;
    check_embedded(&scene)?;
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
    let model = match table.choice("model")? {
        "shell" => ModelKind::Shell,
        "lattice" => ModelKind::Lattice,
        "embedded" => ModelKind::Embedded,
        _ => ModelKind::Mls,
    };
    let shape = read_shape(table, "shape", shapes)?;
    if !shapes.is_bounded(&shape) {
        let fault = table.fault_of("shape", "this shape is endless and cannot be filled with points");
        return Err(fault
            .expected("a shape of finite size")
            .hint("planes are for [[collider]] and for cutting")
            .into());
    }
    check_sheet(table, &shape, model, shapes)?;
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
        model,
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
        resample: table.number("resample")?,
        dimensions: table.count("dimensions")? as u8,
        phase: match table.choice("phase")? {
            "liquid" => Phase::Liquid,
            _ => Phase::Solid,
        },
        material: read_material(table, model)?,
        temperature: 0.0,
        surface: read_surface(table, model)?,
        color: table.maybe_color("color")?.unwrap_or(PALETTE[index % PALETTE.len()]),
        cuts: read_cuts(table, model)?,
        weak: Vec::new(),
        regions: Vec::new(),
        patches: Vec::new(),
    };
    check_plane(table, &body)?;
    check_resample(table, &body)?;
    // Matter that melts below room temperature, such as ice, starts solid.
    let coldest = body.material.solidus.map_or(f64::INFINITY, |t| t - SOLID_BELOW);
    let temperature = table.number("temperature")?;
    body.temperature = if table.has("temperature") { temperature } else { temperature.min(coldest) };
    if table.has("temperature") && !body.material.is_thermal() {
        return Err(no_conductivity(table, "temperature").into());
    }
    for region in table.tables("regions")? {
        let region = read_region(&region, &body)?;
        body.regions.push(region);
    }
    body.weak = read_weak(table, &body)?;
    body.patches = read_patches(table, &body)?;
    Ok(body)
}

fn read_surface(body: &Table, model: ModelKind) -> Result<SurfaceSpec> {
    // An empty table takes all defaults.
    let empty = Node { value: tree::Value::Table(Vec::new()), origin: tree::Origin::Default };
    let table = match body.table("surface")? {
        Some(table) => table,
        None => Table::open(&empty, body.path_of("surface"), &keys::SURFACE, body.file)?,
    };
    let kind = match table.choice("kind")? {
        "none" => SurfaceKind::None,
        "points" => SurfaceKind::Points,
        "fibers" => SurfaceKind::Fibers,
        "skin" => SurfaceKind::Skin,
        "mesh" => SurfaceKind::Mesh,
        "detail" => SurfaceKind::Detail,
        _ => SurfaceKind::Surfels,
    };
    if kind == SurfaceKind::Fibers && model != ModelKind::Shell {
        let fault = table.fault_of("kind", "only shells have fibers");
        return Err(fault.hint("\"points\" shows where the points of a solid are").into());
    }
    if kind == SurfaceKind::Mesh && !matches!(model, ModelKind::Lattice | ModelKind::Embedded) {
        let fault = table.fault_of("kind", "a mesh is drawn around the points of lattices and embedded bodies only");
        return Err(fault.hint("\"skin\" is made of the triangles of the shape").into());
    }
    if kind == SurfaceKind::Detail && model == ModelKind::Shell {
        let fault = table.fault_of("kind", "a shell has no detail surface");
        return Err(fault.hint("\"skin\" opens where a shell tears").into());
    }
    let molten = table.maybe_color("molten")?;
    if molten.is_some() && (kind != SurfaceKind::Mesh || model != ModelKind::Lattice) {
        let fault = table.fault_of("molten", "only a mesh around a lattice is colored by what has melted");
        return Err(fault
            .hint("surface = { kind = \"mesh\", molten = \"#a8642a\" } of a body with model = \"lattice\"")
            .into());
    }
    let pattern = table.table("pattern")?.map(|t| read_pattern(&t)).transpose()?;
    let (count, inner) = (table.count("count")? as usize, table.maybe_color("inner")?);
    Ok(SurfaceSpec { kind, count, pattern, inner, molten })
}

fn read_pattern(table: &Table) -> Result<PatternSpec> {
    let kind = match table.choice("kind")? {
        "stripes" => PatternKind::Stripes,
        _ => PatternKind::Checker,
    };
    let color = table.maybe_color("color")?.unwrap_or([255; 3]);
    Ok(PatternSpec { kind, size: table.number("size")?, color })
}

fn read_region(table: &Table, body: &BodySpec) -> Result<RegionSpec> {
    let mut taken: Vec<&str> = body.regions.iter().map(|r| r.name.as_str()).collect();
    // Every body has this region already.
    taken.push("all");
    let name = table.name(String::new(), &taken)?;
    let place = read_place(table, &["box", "sphere", "half_space", "nearest", "path", "painted"])?;
    Ok(RegionSpec { name, place })
}

fn read_cuts(body: &Table, model: ModelKind) -> Result<Vec<RegionPlace>> {
    if model != ModelKind::Shell && body.has("cut") {
        let fault = body.fault_of("cut", "`cut` opens the surface of a shell; this body is a solid");
        return Err(fault.hint("model = \"shell\", or a `difference` of shapes").into());
    }
    body.tables("cut")?.iter().map(|table| read_place(table, &["box", "sphere", "half_space"])).collect()
}

/// A place by the one of `kinds` that is given.
fn read_place(table: &Table, kinds: &[&'static str]) -> Result<RegionPlace> {
    let kind = table.exactly_one(kinds)?;
    if kind == "painted" {
        return Ok(RegionPlace::Painted { color: table.maybe_color(kind)?.unwrap_or_default() });
    }
    let Some(inner) = table.table(kind)? else { return Ok(RegionPlace::All) };
    Ok(match kind {
        "box" => {
            let (min, max) = (inner.vector("min")?, inner.vector("max")?);
            if !min.cmple(max).all() {
                return Err(inner.fault("`min` lies beyond `max`").expected("min below max along x, y and z").into());
            }
            RegionPlace::Box { min, max }
        }
        "sphere" => RegionPlace::Sphere { center: inner.vector("center")?, radius: inner.number("radius")? },
        "half_space" => RegionPlace::HalfSpace { normal: inner.direction("normal")?, offset: inner.number("offset")? },
        "path" => RegionPlace::Path { through: inner.vectors("through")?, radius: inner.number("radius")? },
        _ => RegionPlace::Nearest { to: inner.vector("to")?, count: inner.count("count")? as usize },
    })
}

fn read_collider(table: &Table, scene: &Scene, shapes: &mut Shapes) -> Result<ColliderSpec> {
    let taken: Vec<&str> = scene.colliders.iter().map(|c| c.name.as_str()).collect();
    if table.has("exchange") && !table.has("temperature") {
        let fault = table.fault_of("exchange", "`exchange` has no effect on a collider without a temperature");
        return Err(fault.hint("give it a `temperature`, or leave it out").into());
    }
    Ok(ColliderSpec {
        name: table.name(format!("collider{}", taken.len()), &taken)?,
        shape: read_collider_shape(table, shapes)?,
        at: table.vector("at")?,
        rotate: table.vector("rotate")?,
        friction: table.number("friction")?,
        restitution: table.number("restitution")?,
        temperature: table.maybe_number("temperature")?,
        exchange: table.maybe_number("exchange")?,
        motion: read_motion(table)?,
        color: table.maybe_color("color")?.unwrap_or(COLLIDER_COLOR),
        visible: table.flag("visible")?,
        mold: table.flag("mold")?,
        stain: table.flag("stain")?,
    })
}

fn read_collider_shape(table: &Table, shapes: &mut Shapes) -> Result<ShapeSpec> {
    let shape = read_shape(table, "shape", shapes)?;
    if shapes.has_sheet(&shape) {
        let fault = table.fault_of("shape", "a sheet has no inside and cannot be a collider");
        return Err(fault.hint("a thin box").into());
    }
    Ok(shape)
}

pub(super) fn read_motion(table: &Table) -> Result<Vec<Keyframe>> {
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
