//! Writes a scene with every default in its place; reading it again gives an equal scene.

use super::*;
use std::fmt::Write;

impl Scene {
    /// The resolved scene as text. Numbers are in SI and have all their bits.
    pub fn to_toml(&self) -> String {
        let mut out = Writer { text: String::new() };
        out.key("format", self.format.to_string());
        out.key("name", quote(&self.name));
        out.key("gravity", vector(self.gravity));
        out.key("duration", number(self.duration));
        out.key("fps", number(self.fps));
        out.key("seed", self.seed.to_string());
        out.key("integrator", word(&self.integrator));
        out.key("precision", word(&self.precision));
        out.maybe("time_step", self.time_step.map(number));
        for (name, spec) in &self.shapes {
            out.header(&format!("[shape.{name}]"));
            shape_keys(spec).into_iter().for_each(|(key, value)| out.key(key, value));
        }
        self.bodies.iter().for_each(|body| write_body(&mut out, body));
        self.colliders.iter().for_each(|collider| write_collider(&mut out, collider));
        self.pins.iter().for_each(|pin| write_pin(&mut out, pin));
        self.forces.iter().for_each(|force| write_force(&mut out, force));
        if let Some(air) = self.air {
            out.header("[air]");
            out.key("temperature", number(air.temperature));
            out.key("exchange", number(air.exchange));
        }
        self.heats.iter().for_each(|heat| write_heat(&mut out, heat));
        self.probes.iter().for_each(|probe| write_probe(&mut out, probe));
        self.events.iter().for_each(|event| write_event(&mut out, event));
        self.expects.iter().for_each(|expect| write_expect(&mut out, expect));
        if self.camera != CameraSpec::default() {
            out.header("[camera]");
            out.maybe("from", self.camera.from.map(vector));
            out.maybe("look_at", self.camera.look_at.map(vector));
            out.maybe("fov", self.camera.fov.map(number));
        }
        out.text
    }
}

struct Writer {
    text: String,
}

impl Writer {
    fn header(&mut self, header: &str) {
        let _ = writeln!(self.text, "\n{header}");
    }
    fn key(&mut self, key: &str, value: String) {
        let _ = writeln!(self.text, "{key} = {value}");
    }
    fn maybe(&mut self, key: &str, value: Option<String>) {
        if let Some(value) = value {
            self.key(key, value);
        }
    }
}

type Entries = Vec<(&'static str, String)>;

/// The shortest text that reads as the same number.
fn number(x: f64) -> String {
    format!("{x:?}")
}
fn vector(v: DVec3) -> String {
    numbers(&v.to_array())
}
fn numbers(values: &[f64]) -> String {
    list(values.iter().map(|x| number(*x)))
}
fn list(items: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", items.into_iter().collect::<Vec<_>>().join(", "))
}
fn color(c: [u8; 3]) -> String {
    format!("\"#{:02x}{:02x}{:02x}\"", c[0], c[1], c[2])
}
fn table(entries: Entries) -> String {
    let entries: Vec<String> = entries.into_iter().map(|(key, value)| format!("{key} = {value}")).collect();
    if entries.is_empty() { "{}".into() } else { format!("{{ {} }}", entries.join(", ")) }
}
/// A basic string of TOML.
pub(super) fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out + "\""
}
/// A value of an enumeration; its name in the file is the one that serde gives it.
fn word(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn shape_keys(spec: &ShapeSpec) -> Entries {
    let round_solid = |kind: &'static str, radius: f64, height: f64| {
        (kind, vec![("radius", number(radius)), ("height", number(height))])
    };
    let from_file = |kind: &'static str, file: &str, height: Option<f64>| {
        let height = height.map(|h| ("height", number(h)));
        (kind, [("file", quote(file))].into_iter().chain(height).collect())
    };
    let combined = |kind: &'static str, of: &[ShapeSpec], smooth: f64| {
        (kind, vec![("of", list(of.iter().map(|s| table(shape_keys(s))))), ("smooth", number(smooth))])
    };
    let (kind, keys): (&str, Entries) = match &spec.kind {
        ShapeKind::Box { size } => ("box", vec![("size", vector(*size))]),
        ShapeKind::Sphere { radius } => ("sphere", vec![("radius", number(*radius))]),
        ShapeKind::Ellipsoid { radii } => ("ellipsoid", vec![("radii", vector(*radii))]),
        ShapeKind::Cylinder { radius, height } => round_solid("cylinder", *radius, *height),
        ShapeKind::Capsule { radius, height } => round_solid("capsule", *radius, *height),
        ShapeKind::Cone { radius, height } => round_solid("cone", *radius, *height),
        ShapeKind::Torus { radius, tube } => ("torus", vec![("radius", number(*radius)), ("tube", number(*tube))]),
        ShapeKind::Sheet { size } => ("sheet", vec![("size", numbers(size))]),
        ShapeKind::Plane { normal, offset } => {
            ("plane", vec![("normal", vector(*normal)), ("offset", number(*offset))])
        }
        ShapeKind::Mesh { file, height } => from_file("mesh", file, *height),
        ShapeKind::Points { file, height } => from_file("points", file, *height),
        ShapeKind::Union { of, smooth } => combined("union", of, *smooth),
        ShapeKind::Difference { of, smooth } => combined("difference", of, *smooth),
        ShapeKind::Intersection { of, smooth } => combined("intersection", of, *smooth),
        ShapeKind::Use { name } => ("", vec![("use", quote(name))]),
    };
    let mut entries = if kind.is_empty() { Vec::new() } else { vec![("kind", quote(kind))] };
    entries.extend(keys);
    entries.push(("at", vector(spec.at)));
    entries.push(("rotate", vector(spec.rotate)));
    entries.push(("scale", vector(spec.scale)));
    entries.push(("round", number(spec.round)));
    entries
}

fn write_body(out: &mut Writer, body: &BodySpec) {
    out.header("[[body]]");
    out.key("name", quote(&body.name));
    out.key("model", word(&body.model));
    out.key("shape", table(shape_keys(&body.shape)));
    out.key("at", vector(body.at));
    out.key("rotate", vector(body.rotate));
    out.key("scale", number(body.scale));
    out.key("velocity", vector(body.velocity));
    out.key("spin", vector(body.spin));
    match (body.spacing, body.points) {
        (Some(spacing), _) => out.key("spacing", number(spacing)),
        (None, points) => out.maybe("points", points.map(|n| n.to_string())),
    }
    out.key("sampling", word(&body.sampling));
    if body.model == ModelKind::Embedded {
        out.key("resample", number(body.resample));
    }
    if body.model == ModelKind::Lattice {
        out.key("dimensions", body.dimensions.to_string());
        out.key("phase", word(&body.phase));
    }
    out.key("material", table(material_keys(&body.material)));
    if body.material.is_thermal() {
        out.key("temperature", number(body.temperature));
    }
    out.key("surface", table(surface_keys(&body.surface)));
    out.key("color", color(body.color));
    if !body.cuts.is_empty() {
        out.key("cut", list(body.cuts.iter().map(|place| table(vec![place_key(place)]))));
    }
    if !body.weak.is_empty() {
        let weak = |w: &WeakSpec| table(vec![("region", quote(&w.region)), ("strength", number(w.strength))]);
        out.key("weak", list(body.weak.iter().map(weak)));
    }
    out.key("regions", list(body.regions.iter().map(|r| table(region_keys(r)))));
    if !body.patches.is_empty() {
        let patch = |p: &PatchSpec| {
            let numbers = [("stiffness", number(p.stiffness)), ("thickness", number(p.thickness))];
            table([("region", quote(&p.region))].into_iter().chain(numbers).collect())
        };
        out.key("patches", list(body.patches.iter().map(patch)));
    }
}

fn surface_keys(surface: &SurfaceSpec) -> Entries {
    let mut entries: Entries = vec![("kind", word(&surface.kind)), ("count", surface.count.to_string())];
    if let Some(p) = surface.pattern {
        let keys = vec![("kind", word(&p.kind)), ("size", number(p.size)), ("color", color(p.color))];
        entries.push(("pattern", table(keys)));
    }
    entries.extend(surface.inner.map(|c| ("inner", color(c))));
    entries.extend(surface.molten.map(|c| ("molten", color(c))));
    entries
}

fn material_keys(material: &MaterialSpec) -> Entries {
    let mut entries: Entries = material.preset.iter().map(|p| ("preset", quote(p))).collect();
    entries.extend([
        ("young", number(material.young)),
        ("poisson", number(material.poisson)),
        ("density", number(material.density)),
        ("damping", number(material.damping)),
        ("smoothing", number(material.smoothing)),
        ("friction", number(material.friction)),
    ]);
    if let Some(shell) = material.shell {
        entries.extend([
            ("yield_strain", number(material.yield_strain)),
            ("creep", number(material.creep)),
            ("max_plastic_strain", number(material.max_plastic_strain)),
            ("hardening", number(shell.hardening)),
            ("thickness", number(shell.thickness)),
            ("law", word(&shell.law)),
        ]);
        if shell.stiffening != 0.0 {
            entries.push(("stiffening", number(shell.stiffening)));
            entries.push(("stiffening_strain", number(shell.stiffening_strain)));
        }
        entries.extend(shell.breaks.strain.map(|x| ("break_strain", number(x))));
        entries.extend(shell.breaks.bending.map(|x| ("break_bending", number(x))));
        // Keys that would have no effect are faults, so they are left out.
        if shell.breaks.strain.is_some() || shell.breaks.bending.is_some() {
            entries.push(("microcracks", number(shell.breaks.microcracks)));
        }
        entries.extend(shell.breaks.bending.map(|_| ("fatigue", number(shell.breaks.fatigue))));
        entries.extend(material.anisotropy.as_ref().map(|a| ("anisotropy", table(anisotropy_keys(a)))));
        return entries;
    }
    if let Some(lattice) = material.lattice {
        entries.retain(|(key, _)| *key != "smoothing");
        entries.push(("viscosity", number(material.viscosity)));
        entries.extend(lattice.break_strain.map(|x| ("break_strain", number(x))));
        entries.extend([
            ("scatter", number(lattice.scatter)),
            ("yield_bound", number(lattice.yield_bound)),
            ("melt_rate", number(lattice.melt_rate)),
            ("freeze_rate", number(lattice.freeze_rate)),
            ("nucleation", number(lattice.nucleation)),
            ("surface_tension", number(lattice.surface_tension)),
        ]);
        entries.extend(thermal_keys(material));
        return entries;
    }
    if let Some(embedded) = material.embedded {
        entries.retain(|(key, _)| *key != "smoothing");
        entries.extend([
            ("yield_strain", number(material.yield_strain)),
            ("creep", number(material.creep)),
            ("viscosity", number(material.viscosity)),
            ("hardening", number(embedded.hardening)),
            ("law", word(&embedded.law)),
        ]);
        entries.extend(material.control.map(|c| ("control", number(c))));
        entries.extend(embedded.break_strain.map(|x| ("break_strain", number(x))));
        entries.extend(thermal_keys(material));
        return entries;
    }
    entries.push(("volume_stiffness", number(material.volume_stiffness)));
    entries.extend(material.collapse_stiffness.map(|c| ("collapse_stiffness", number(c))));
    entries.extend([
        ("collapse_ratio", number(material.collapse_ratio)),
        ("yield_strain", number(material.yield_strain)),
        ("creep", number(material.creep)),
        ("max_plastic_strain", number(material.max_plastic_strain)),
        ("melt_young", number(material.melt_young)),
        ("melt_creep", number(material.melt_creep)),
        ("viscosity", number(material.viscosity)),
        ("cohesion", number(material.cohesion)),
    ]);
    entries.extend(material.control.map(|c| ("control", number(c))));
    entries.extend(thermal_keys(material));
    entries.extend(material.anisotropy.as_ref().map(|a| ("anisotropy", table(anisotropy_keys(a)))));
    entries
}

/// Keys that would have no effect are faults, so they are left out.
fn thermal_keys(material: &MaterialSpec) -> Entries {
    let Some(conductivity) = material.conductivity else { return Vec::new() };
    let mut entries = vec![("conductivity", number(conductivity)), ("specific_heat", number(material.specific_heat))];
    if let Some(solidus) = material.solidus {
        entries.extend(material.specific_heat_liquid.map(|c| ("specific_heat_liquid", number(c))));
        entries.extend([("latent_heat", number(material.latent_heat)), ("solidus", number(solidus))]);
        entries.extend(material.liquidus.map(|t| ("liquidus", number(t))));
    }
    entries
}

fn anisotropy_keys(anisotropy: &Anisotropy) -> Entries {
    match anisotropy {
        Anisotropy::Orthotropic { young, poisson, shear, rotate } => vec![
            ("young", numbers(young)),
            ("poisson", numbers(poisson)),
            ("shear", numbers(shear)),
            ("rotate", vector(*rotate)),
        ],
        Anisotropy::Full { stiffness, rotate } => vec![("stiffness", numbers(stiffness)), ("rotate", vector(*rotate))],
    }
}

fn region_keys(region: &RegionSpec) -> Entries {
    vec![("name", quote(&region.name)), place_key(&region.place)]
}

fn place_key(place: &RegionPlace) -> (&'static str, String) {
    match place {
        RegionPlace::Box { min, max } => ("box", table(vec![("min", vector(*min)), ("max", vector(*max))])),
        RegionPlace::Sphere { center, radius } => {
            ("sphere", table(vec![("center", vector(*center)), ("radius", number(*radius))]))
        }
        RegionPlace::HalfSpace { normal, offset } => {
            ("half_space", table(vec![("normal", vector(*normal)), ("offset", number(*offset))]))
        }
        RegionPlace::Nearest { to, count } => {
            ("nearest", table(vec![("to", vector(*to)), ("count", count.to_string())]))
        }
        RegionPlace::Path { through, radius } => {
            let places = list(through.iter().map(|p| vector(*p)));
            ("path", table(vec![("through", places), ("radius", number(*radius))]))
        }
        RegionPlace::Painted { color: painted } => ("painted", color(*painted)),
        // Only programs make this one; a ball that holds everything says the same.
        RegionPlace::All => ("sphere", table(vec![("center", vector(DVec3::ZERO)), ("radius", number(1e150))])),
    }
}

fn motion(keyframes: &[Keyframe]) -> String {
    let keyframe = |k: &Keyframe| table(vec![("t", number(k.t)), ("at", vector(k.at)), ("rotate", vector(k.rotate))]);
    list(keyframes.iter().map(keyframe))
}

fn write_collider(out: &mut Writer, collider: &ColliderSpec) {
    out.header("[[collider]]");
    out.key("name", quote(&collider.name));
    out.key("shape", table(shape_keys(&collider.shape)));
    out.key("at", vector(collider.at));
    out.key("rotate", vector(collider.rotate));
    out.key("friction", number(collider.friction));
    out.key("restitution", number(collider.restitution));
    out.maybe("temperature", collider.temperature.map(number));
    out.maybe("exchange", collider.exchange.map(number));
    out.key("motion", motion(&collider.motion));
    out.key("color", color(collider.color));
    out.key("visible", collider.visible.to_string());
    out.key("mold", collider.mold.to_string());
    out.key("stain", collider.stain.to_string());
}

fn write_pin(out: &mut Writer, pin: &PinSpec) {
    out.header("[[pin]]");
    out.key("name", quote(&pin.name));
    out.key("body", quote(&pin.body));
    out.key("region", quote(&pin.region));
    out.key("from", number(pin.from));
    out.maybe("until", pin.until.map(number));
    let axes: String = ["x", "y", "z"].iter().zip(pin.axes).filter(|(_, held)| *held).map(|(axis, _)| *axis).collect();
    out.key("axes", quote(&axes));
    out.key("motion", motion(&pin.motion));
}

fn write_force(out: &mut Writer, force: &ForceSpec) {
    out.header("[[force]]");
    match &force.kind {
        ForceKind::Region { body, region, total } => {
            out.key("kind", quote("region"));
            out.key("body", quote(body));
            out.key("region", quote(region));
            out.key("total", vector(*total));
        }
        ForceKind::Wind { body, velocity, density, drag } => {
            out.key("kind", quote("wind"));
            out.maybe("body", body.as_deref().map(quote));
            out.key("velocity", vector(*velocity));
            out.key("density", number(*density));
            out.key("drag", number(*drag));
        }
        ForceKind::Pressure { body, pressure, ramp, outside } => {
            out.key("kind", quote("pressure"));
            out.key("body", quote(body));
            out.key("pressure", number(*pressure));
            out.key("ramp", number(*ramp));
            out.maybe("outside", outside.map(number));
        }
        ForceKind::Field { body, acceleration } => {
            out.key("kind", quote("field"));
            out.maybe("body", body.as_deref().map(quote));
            out.key("acceleration", vector(*acceleration));
        }
    }
    out.key("from", number(force.from));
    out.maybe("until", force.until.map(number));
}

fn write_heat(out: &mut Writer, heat: &HeatSpec) {
    out.header("[[heat]]");
    match &heat.kind {
        HeatKind::Power { body, region, power } => {
            out.key("kind", quote("power"));
            out.key("body", quote(body));
            out.key("region", quote(region));
            out.key("power", number(*power));
        }
        HeatKind::Held { body, region, temperature } => {
            out.key("kind", quote("held"));
            out.key("body", quote(body));
            out.key("region", quote(region));
            out.key("temperature", number(*temperature));
        }
        HeatKind::Lamp { body, flux, direction, center, radius } => {
            out.key("kind", quote("lamp"));
            out.maybe("body", body.as_deref().map(quote));
            out.key("flux", number(*flux));
            out.key("direction", vector(*direction));
            out.key("center", vector(*center));
            out.maybe("radius", radius.map(number));
        }
    }
    out.key("from", number(heat.from));
    out.maybe("until", heat.until.map(number));
}

fn write_probe(out: &mut Writer, probe: &ProbeSpec) {
    out.header("[[probe]]");
    out.key("name", quote(&probe.name));
    if let Some(body) = &probe.body {
        out.key("body", quote(body));
        // A reaction belongs to its pin or collider and takes no region.
        if probe.pin.is_none() && probe.collider.is_none() {
            out.key("region", quote(&probe.region));
        }
    }
    out.maybe("to_region", probe.to_region.as_deref().map(quote));
    out.maybe("pin", probe.pin.as_deref().map(quote));
    out.maybe("collider", probe.collider.as_deref().map(quote));
    out.key("measure", quote(&probe.measure));
}

fn write_event(out: &mut Writer, event: &EventSpec) {
    out.header("[[event]]");
    let when = |probe: &str, side, value: f64| table(vec![("probe", quote(probe)), (side, number(value))]);
    match &event.when {
        EventTime::At(time) => out.key("at", number(*time)),
        EventTime::Below { probe, value } => out.key("when", when(probe, "below", *value)),
        EventTime::Above { probe, value } => out.key("when", when(probe, "above", *value)),
    }
    match &event.action {
        EventAction::Release(pin) => out.key("release", quote(pin)),
        EventAction::Remove(collider) => out.key("remove", quote(collider)),
        EventAction::Melt(body) => out.key("melt", quote(body)),
        EventAction::Solidify(body) => out.key("solidify", quote(body)),
        EventAction::Set { body, set } => {
            out.key("body", quote(body));
            let changes = [
                ("young", set.young),
                ("poisson", set.poisson),
                ("density", set.density),
                ("damping", set.damping),
                ("smoothing", set.smoothing),
                ("friction", set.friction),
                ("volume_stiffness", set.volume_stiffness),
                ("collapse_stiffness", set.collapse_stiffness),
                ("collapse_ratio", set.collapse_ratio),
                ("control", set.control),
                ("yield_strain", set.yield_strain),
                ("creep", set.creep),
                ("max_plastic_strain", set.max_plastic_strain),
                ("melt_young", set.melt_young),
                ("melt_creep", set.melt_creep),
                ("viscosity", set.viscosity),
                ("cohesion", set.cohesion),
                ("conductivity", set.conductivity),
                ("specific_heat", set.specific_heat),
                ("specific_heat_liquid", set.specific_heat_liquid),
                ("latent_heat", set.latent_heat),
                ("solidus", set.solidus),
                ("liquidus", set.liquidus),
            ];
            let written = changes.into_iter().filter_map(|(key, value)| Some((key, number(value?))));
            out.key("set", table(written.collect()));
        }
    }
}

fn write_expect(out: &mut Writer, expect: &ExpectSpec) {
    out.header("[[expect]]");
    out.key("probe", quote(&expect.probe));
    let at = match expect.at {
        ExpectTime::Time(time) => number(time),
        ExpectTime::End => quote("end"),
        ExpectTime::Max => quote("max"),
        ExpectTime::Min => quote("min"),
        ExpectTime::Always => quote("always"),
    };
    out.key("at", at);
    match expect.want {
        Want::Between(range) => out.key("between", numbers(&range)),
        Want::Below(value) => out.key("below", number(value)),
        Want::Above(value) => out.key("above", number(value)),
        Want::Near { value, tolerance } => {
            out.key("near", number(value));
            out.key("tolerance", number(tolerance));
        }
    }
}
