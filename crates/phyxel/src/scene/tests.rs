//! Scenes that read, and wrong ones with the messages that they give.

use super::*;
use std::path::Path;

const SMALL: &str = "format = 1\n[[body]]\nname = \"ball\"\nshape = { kind = \"sphere\", radius = 0.1 }\n";

fn read(text: &str) -> crate::Result<Scene> {
    Scene::from_toml(text, Some(Path::new("test.toml")), &[])
}

#[track_caller]
fn message(text: &str, overrides: &[(&str, &str)]) -> String {
    let overrides: Vec<(String, String)> = overrides.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    match Scene::from_toml(text, Some(Path::new("test.toml")), &overrides) {
        Ok(_) => panic!("read without a fault:\n{text}"),
        Err(e) => e.to_string(),
    }
}

/// The text must give a fault whose message has all the parts.
#[track_caller]
fn check(text: &str, parts: &[&str]) {
    let message = message(text, &[]);
    for part in parts {
        assert!(message.contains(part), "\"{part}\" is not in\n{message}");
    }
}

/// As `check`, for lines after a good small scene; they begin at line 5 and belong to the body.
#[track_caller]
fn check_more(lines: &str, parts: &[&str]) {
    check(&format!("{SMALL}{lines}"), parts);
}

#[test]
fn small_scene_has_friendly_defaults() {
    let scene = read(SMALL).unwrap();
    assert_eq!((scene.name.as_str(), scene.duration, scene.fps), ("test", 4.0, 30.0));
    assert_eq!(scene.gravity, DVec3::new(0.0, -9.81, 0.0));
    let body = &scene.bodies[0];
    assert_eq!((body.spacing, body.points), (None, Some(2000)));
    assert_eq!((body.material.young, body.material.poisson, body.material.density), (1e5, 0.3, 1000.0));
    let usual = SurfaceSpec { kind: SurfaceKind::Surfels, count: 20000, pattern: None, inner: None, molten: None };
    assert_eq!(body.surface, usual);
}

#[test]
fn builtin_scenes_read_and_survive_writing() {
    for builtin in builtin::list() {
        let scene = Scene::open(builtin.name, &[]).unwrap_or_else(|e| panic!("{}: {e}", builtin.name));
        assert_eq!(scene.name, builtin.name);
        assert!(!builtin.title.is_empty());
        assert!(!builtin.look.is_empty(), "{} does not say what to look at", builtin.name);
        assert!(!scene.expects.is_empty(), "{} expects nothing", builtin.name);
        let text = scene.to_toml();
        let again = read(&text).unwrap_or_else(|e| panic!("{}: {e}\n{text}", builtin.name));
        assert_eq!(again, scene);
        assert_eq!(again.to_toml(), text);
    }
}

/// The example of the format's description, without what comes in later versions.
const EXAMPLE: &str = r##"
format = 1
name = "donut"
gravity = [0, -9.81, 0]
duration = "4 s"
fps = 30
seed = 1

[[body]]
name = "block"
model = "mls"
shape = { kind = "box", size = [0.4, 0.2, 0.4] }
at = [0, 0.5, 0]
spacing = "2 cm"
material = { preset = "wax", young = "10 kPa", poisson = 0.4, density = 1000, yield_strain = 0.0, creep = 10.0, damping = 0.1 }
surface = { kind = "surfels", count = 20000 }
color = "#c58b5a"
regions = [ { name = "top", box = { min = [-1, 0.55, -1], max = [1, 1, 1] } } ]

[[collider]]
name = "spike"
shape = { kind = "cone", radius = 0.05, height = 0.3 }
friction = 0.3
temperature = "20 degC"
motion = [ { t = 0, at = [0,0,0] }, { t = 2, at = [0,0.1,0] } ]

[[pin]]
body = "block"
region = "top"
until = "1 s"
motion = [ { t = 0, at = [0, 0, 0] }, { t = 1, at = [0, 0.1, 0] } ]

[[force]]
kind = "region"
body = "block"
region = "top"
total = [0, "5 N", 0]

[[event]]
at = "2 s"
body = "block"
set = { young = "100 kPa", creep = 0 }

[[event]]
when = { probe = "tip", below = "10 cm" }
release = "pin0"

[[event]]
at = 3
remove = "spike"

[[probe]]
name = "tip"
body = "block"
region = "top"
measure = "mean_y"

[[expect]]
probe = "tip"
at = "end"
between = [0.30, 0.34]

[camera]
"##;

#[test]
fn example_reads_and_survives_writing() {
    let scene = read(EXAMPLE).unwrap();
    let body = &scene.bodies[0];
    assert_eq!((body.spacing, body.points, body.material.young), (Some(0.02), None, 1e4));
    assert_eq!(body.material.preset.as_deref(), Some("wax"));
    assert_eq!(body.color, [0xc5, 0x8b, 0x5a]);
    assert_eq!(scene.colliders[0].temperature, Some(293.15));
    assert_eq!(scene.events[1].when, EventTime::Below { probe: "tip".into(), value: 0.1 });
    let EventAction::Set { set, .. } = &scene.events[0].action else { panic!("{:?}", scene.events[0]) };
    assert_eq!(**set, MaterialChange { young: Some(1e5), creep: Some(0.0), ..MaterialChange::default() });
    let ForceKind::Region { total, .. } = &scene.forces[0].kind else { panic!("{:?}", scene.forces[0]) };
    assert_eq!(*total, DVec3::new(0.0, 5.0, 0.0));
    let text = scene.to_toml();
    assert_eq!(read(&text).unwrap_or_else(|e| panic!("{e}\n{text}")), scene);
}

#[test]
fn default_material_is_that_of_the_scene_file() {
    assert_eq!(read(SMALL).unwrap().bodies[0].material, MaterialSpec::default());
}

#[test]
fn materials_are_elastic_plastic_or_flowing() {
    let kinds = |creep, yield_strain| {
        let material = MaterialSpec { creep, yield_strain, ..MaterialSpec::default() };
        (material.is_plastic(), material.flows())
    };
    assert_eq!(kinds(0.0, 0.0), (false, false));
    assert_eq!(kinds(0.0, 0.1), (false, false));
    assert_eq!(kinds(5.0, 0.1), (true, false));
    assert_eq!(kinds(5.0, 0.0), (false, true));
}

#[test]
fn every_preset_and_kind_of_shape_survives_writing() {
    for preset in crate::materials::presets::PRESETS {
        let scene = read(&format!("{SMALL}material = {{ preset = \"{}\" }}\n", preset.name)).unwrap();
        assert_eq!(read(&scene.to_toml()).unwrap(), scene, "{}", preset.name);
    }
    let shapes = r#"[[collider]]
shape = { kind = "union", smooth = "1 cm", of = [
    { kind = "difference", of = [{ kind = "ellipsoid", radii = [1, 2, 3] }, { kind = "plane", normal = [1, 2, 3] }] },
    { kind = "intersection", scale = [1, -1, 2], of = [{ kind = "torus", radius = 1, tube = 0.1 }, { use = "mine" }] },
    { kind = "mesh", file = "a \"b\"\\c.obj", height = 2 }, { kind = "points", file = "p.ply" },
    { kind = "cylinder", radius = 1, height = 2, round = 0.1 }, { kind = "capsule", radius = 1, height = 2 },
    { kind = "cone", radius = 0.1, height = 0.3, rotate = [0, "1 rad", 90] }, { use = "bust" } ] }
[shape.mine]
kind = "box"
size = [1, "20 cm", 3]
"#;
    let scene = read(&format!("{SMALL}{shapes}")).unwrap();
    assert_eq!(scene.shapes.keys().collect::<Vec<_>>(), ["bust", "mine"]);
    assert_eq!(read(&scene.to_toml()).unwrap(), scene);
}

#[test]
fn presets_yield_to_what_is_written() {
    let material = |text: &str| read(&format!("{SMALL}material = {text}\n")).unwrap().bodies[0].material.clone();
    let steel = material("{ preset = \"steel-soft\", density = 5 }");
    assert_eq!((steel.young, steel.density), (2e8, 5.0));
    let wood = material("{ preset = \"wood\", young = \"1.23 MPa\" }");
    let Some(Anisotropy::Orthotropic { young, .. }) = wood.anisotropy else { panic!("wood has no grain") };
    assert!((young[0] - 1.23e6).abs() < 1.0 && (young[1] / young[0] - 0.068).abs() < 1e-12);
    let own = material("{ anisotropy = { young = [3e6, 1e6, 1e6], shear = [1e5, 1e5, 1e5] } }");
    assert_eq!(own.young, 3e6);
}

#[test]
fn every_key_of_a_material_can_be_changed_by_an_event_or_is_refused() {
    let body = "material = { conductivity = 1, solidus = 300 }\n";
    let event = |set: &str| format!("{SMALL}{body}[[event]]\nat = 1\nbody = \"ball\"\nset = {{ {set} }}\n");
    for key in keys::MATERIAL.keys.iter().chain(keys::MATERIAL.common) {
        if keys::MATERIAL.keys.iter().any(|k| k.name == key.name) {
            let value = match key.name {
                "preset" => "\"wax\"",
                "thickness" | "break_strain" | "break_bending" | "microcracks" | "fatigue" => "0.01",
                "law" => "\"weights\"",
                _ => "{ young = [1, 1, 1], shear = [1, 1, 1] }",
            };
            check(&event(&format!("{} = {value}", key.name)), &["an event cannot change", key.name, "event[0].set"]);
            continue;
        }
        // A value of no key's default, in every key's range.
        let value = if key.name == "liquidus" { 301.0 } else { 0.0625 };
        let scene = read(&event(&format!("{} = {value}", key.name))).unwrap_or_else(|e| panic!("{}: {e}", key.name));
        let EventAction::Set { set, .. } = &scene.events[0].action else { panic!("no change") };
        let mut material = scene.bodies[0].material.clone();
        material.change(set);
        assert_ne!(material, scene.bodies[0].material, "{} changes nothing", key.name);
        assert_eq!(read(&scene.to_toml()).unwrap(), scene, "{}", key.name);
    }
    check(&event("liquidus = 200"), &["lies below the solidus", "event[0].set.liquidus"]);
    let cold = format!("{SMALL}[[event]]\nat = 1\nbody = \"ball\"\nset = {{ solidus = 300 }}\n");
    check(&cold, &["takes no part in heat"]);
}

#[test]
fn an_event_scales_a_grain() {
    let text = "material = { preset = \"wood\" }\n[[event]]\nat = 1\nbody = \"ball\"\nset = { SET }\n";
    let scene = read(&(SMALL.to_string() + &text.replace("SET", "young = 1e6"))).unwrap();
    let EventAction::Set { set, .. } = &scene.events[0].action else { panic!("no change") };
    let mut wood = scene.bodies[0].material.clone();
    wood.change(set);
    let Some(Anisotropy::Orthotropic { young, shear, .. }) = wood.anisotropy else { panic!("the grain is gone") };
    assert!((young[0] - 1e6).abs() < 1e-6 && (young[1] - 6.8e4).abs() < 1e-6 && (shear[0] - 6.4e4).abs() < 1e-6);
    check(&(SMALL.to_string() + &text.replace("SET", "poisson = 0.3")), &["one ratio per direction"]);
}

#[test]
fn presets_that_melt_start_solid() {
    let body = |text: &str| read(&format!("{SMALL}{text}\n")).unwrap().bodies[0].clone();
    let ice = body("material = { preset = \"ice\" }");
    assert_eq!((ice.temperature, ice.material.solidus), (268.15, Some(273.15)));
    assert_eq!(body("material = { preset = \"ice\" }\ntemperature = 280").temperature, 280.0);
    assert_eq!(body("material = { preset = \"chocolate\" }").temperature, 293.15);
    let late = body("material = { preset = \"wax\", solidus = \"80 degC\" }").material;
    assert_eq!(late.liquidus, late.solidus);
}

#[test]
fn faults_say_what_where_and_what_to_try() {
    check("", &["`format` is missing", "test.toml:1", "format = 1"]);
    check("format = 2", &["test.toml:1, format", "expected: format = 1"]);
    check("format = \"1\"", &["expected: format = 1"]);
    check("format = 1", &["the scene has no body", "[[body]]"]);
    check("format = 1\nbody = []", &["the scene has no body"]);
    check("format = 1\n[body]\n", &["a table is not a list", "test.toml:2, body", "[[body]]"]);
    check("format = 1\n[[body]\n", &["not TOML", "test.toml:2"]);
    check("format = 1\ngravty = 3", &["unknown key `gravty`", "test.toml:2, gravty", "try: `gravity`"]);
    check("format = 1\n[[body]]\nname = \"a\"", &["`shape` is missing", "test.toml:2, body[0].shape"]);
    check_more("spacng = 1", &["unknown key `spacng`", "test.toml:5, body[0].spacng", "try: `spacing`"]);
    check_more("young = 1e5", &["unknown key `young`", "`young` is a key of material"]);
    check_more("spacing = 0.1\npoints = 10", &["`spacing` and `points` exclude each other", "test.toml:6"]);
    check_more("spacing = \"2 kg\"", &["\"2 kg\" is a mass", "body[0].spacing", "a length"]);
    check_more("spacing = \"2\"", &["\"2\" has no unit", "2 without quotes means m"]);
    check_more("spacing = \"2 meter\"", &["unknown unit \"meter\""]);
    check_more("spacing = 0", &["0 m is out of range", "above 0"]);
    check_more("spacing = -1", &["-1 m is out of range"]);
    check_more("points = 0", &["0 is out of range"]);
    check_more("points = 1.5", &["a number does not fit", "a whole number"]);
    check_more("points = 100000000000000000000", &["beyond 64 bits"]);
    check_more("at = [0, 1]", &["this list has 2 entries", "body[0].at", "a list of 3"]);
    check_more("at = [0, nan, 0]", &["NaN is not a finite number", "body[0].at[1]"]);
    check_more("velocity = [0, \"5 m\", 0]", &["\"5 m\" is a length", "body[0].velocity[1]", "m/s"]);
    check_more("at = 1979-05-27", &["a date or time of day"]);
    check_more("scale = inf", &["inf is not a finite number"]);
    check_more("color = \"red\"", &["not a color", "#rrggbb"]);
    check_more("surface = { molten = \"#ffffff\" }", &["only a mesh around a lattice", "body[0].surface.molten"]);
    check_more("name = 5", &["not TOML", "duplicate key"]);
    check_more("sampling = \"poison\"", &["unknown value \"poison\"", "try: \"poisson\""]);
    check_more(
        "material = { hardening = 1e5 }",
        &["`hardening` has a meaning for embedded bodies and shells only", "embedded"],
    );
    check_more(
        "model = \"embedded\"\nmaterial = { melt_young = 1e3 }",
        &["`melt_young` has no effect on an embedded body"],
    );
    check_more("model = \"shell\"", &["a shell needs its `thickness`", "body[0].material.thickness"]);
    check_more("temperature = 300", &["`temperature` has no effect", "conductivity"]);
    check_more("surface = 5", &["a number is not a table", "body[0].surface"]);
    check("format = 1\nduration = 0\n", &["0 s is out of range", "duration"]);
    check(&format!("duration = 1e-9\n{SMALL}"), &["gives no frame"]);
    check(&format!("duration = 1e9\n{SMALL}"), &["frames"]);
    check(&format!("fps = -3\n{SMALL}"), &["-3 1/s is out of range", "test.toml:1, fps"]);
    check(&format!("seed = -3\n{SMALL}"), &["-3 is out of range", "seed"]);
    check(&format!("name = \"a/b\"\n{SMALL}"), &["\"a/b\" cannot be a name"]);
}

#[test]
fn faults_of_shapes() {
    let shape = |text: &str, parts: &[&str]| check(&format!("format = 1\n[[body]]\nshape = {text}\n"), parts);
    shape("{ kind = \"box\", size = [0, 1, 1] }", &["no volume", "test.toml:3, body[0].shape.size"]);
    shape("{ kind = \"sphere\", radius = -1 }", &["-1 m is out of range", "body[0].shape.radius"]);
    shape("{ kind = \"sphere\", size = 1 }", &["unknown key `size`", "radius"]);
    shape("{ kind = \"spere\", radius = 1 }", &["unknown shape \"spere\"", "body[0].shape.kind", "try: \"sphere\""]);
    shape("{ kind = \"sheet\", size = 1 }", &["a list of 2", "body[0].shape.size"]);
    shape("{ kind = \"sheet\", size = [1, 0] }", &["above zero", "body[0].shape.size"]);
    shape("{ kind = 3 }", &["`kind` is not a string"]);
    shape("{}", &["`kind` is missing"]);
    shape("7", &["a number is not a shape"]);
    shape("{ kind = \"plane\" }", &["endless"]);
    shape("{ kind = \"union\", of = [] }", &["no shapes to combine"]);
    shape("{ kind = \"union\", of = 5 }", &["a number is not a list"]);
    shape("{ kind = \"union\", of = [{ kind = \"sphere\", radius = 0 }] }", &["body[0].shape.of[0].radius"]);
    shape("{ kind = \"capsule\", radius = 1, height = 1 }", &["no room", "at least twice the radius, 2 m"]);
    shape("{ kind = \"mesh\", file = \"\" }", &["the file name is empty"]);
    shape("{ kind = \"mesh\", file = \"a.obj\", height = 0 }", &["out of range"]);
    shape("{ use = \"bst\" }", &["there is no shape \"bst\"", "try: \"bust\""]);
    shape("{ kind = \"box\", size = [1, 1, 1], scale = 0 }", &["a scale of zero"]);
    shape("{ use = \"a\" }\n[shape.a]\nuse = \"b\"\n[shape.b]\nuse = \"a\"", &["\"a\" uses itself"]);
    shape("{ use = \"a\" }\n[shape.a]\nkind = \"plane\"", &["endless"]);
}

#[test]
fn shapes_that_use_each_other_many_times_are_read_quickly() {
    let mut text = "format = 1\n[[body]]\nshape = { use = \"s0\" }\n".to_string();
    for i in 0..60 {
        text += &format!("[shape.s{i}]\nkind = \"union\"\nof = [{{ use = \"s{0}\" }}, {{ use = \"s{0}\" }}]\n", i + 1);
    }
    text += "[shape.s60]\nkind = \"sphere\"\nradius = 1\n";
    read(&text).unwrap();
}

#[test]
fn faults_of_materials() {
    let material = |text: &str, parts: &[&str]| check_more(&format!("material = {{ {text} }}\n"), parts);
    material("young = 0", &["0 Pa is out of range", "test.toml:5, body[0].material.young", "at most 1e13 Pa"]);
    material("young = 1e30", &["out of range"]);
    material("young = -5", &["-5 Pa is out of range"]);
    material("yung = 5", &["unknown key `yung`", "try: `young`"]);
    material("young = \"5 mpa\"", &["unknown unit \"mpa\"", "try: \"MPa\""]);
    material("young = \"5 kg\"", &["is a mass", "body[0].material.young", "a pressure"]);
    material("young = true", &["true or false does not fit"]);
    material("poisson = 0.5", &["infinite", "0.49"]);
    material("poisson = 0.7", &["0.49"]);
    material("poisson = -1", &["not possible"]);
    material("density = 0", &["0 kg/m^3 is out of range"]);
    material("damping = -1", &["out of range"]);
    material("preset = \"rubbr\"", &["there is no preset \"rubbr\"", "try: \"rubber\""]);
    material("preset = \"wood\", poisson = 0.2", &["no effect"]);
    material("yield_strain = -0.1", &["out of range"]);
    material("creep = \"10 s\"", &["is a time", "body[0].material.creep", "a rate"]);
    material("max_plastic_strain = 0.6", &["out of range"]);
    material("viscosity = \"2 Pa\"", &["is a pressure", "Pa s"]);
    material("yield_stress = 1e5", &["`yield_stress` is not in this version", "yield_strain"]);
    material("anisotropy = { young = [1, 1, 1] }", &["`shear` is missing"]);
    material(
        "anisotropy = { young = [1, 1, 1], poisson = [0.9, 0.9, 0.9], shear = [1, 1, 1] }",
        &["positive definite"],
    );
    material("anisotropy = { young = [1, -1, 1], shear = [1, 1, 1] }", &["positive definite"]);
    material("anisotropy = { stiffness = [1, 2] }", &["this list has 2 entries", "a list of 21"]);
    let ones = vec!["1"; 21].join(", ");
    material(
        &format!("anisotropy = {{ stiffness = [{ones}] }}"),
        &["positive definite", "body[0].material.anisotropy"],
    );
    material("anisotropy = {}", &["something is missing", "young or stiffness"]);
}

#[test]
fn faults_of_names() {
    check_more(
        "[[body]]\nname = \"ball\"\nshape = { use = \"bust\" }",
        &["the name \"ball\" is taken", "body[1].name"],
    );
    check_more("[[pin]]\nbody = \"bal\"", &["there is no body \"bal\"", "test.toml:6, pin[0].body", "try: \"ball\""]);
    check_more("[[pin]]\nregion = \"top\"", &["`body` is missing", "pin[0].body"]);
    check_more("[[pin]]\nbody = \"ball\"\nregion = \"top\"", &["no region of body \"ball\" named \"top\"", "all"]);
    check_more("[[pin]]\nbody = \"ball\"\naxes = \"w\"", &["pin[0].axes"]);
    let three = "motion = [{ t = 0 }, { t = 2 }, { t = 1 }]";
    check_more(&format!("[[pin]]\nbody = \"ball\"\n{three}"), &["does not come after", "pin[0].motion[2].t"]);
    check_more("regions = [{ name = \"all\", nearest = { to = [0, 0, 0] } }]", &["the name \"all\" is taken"]);
    check_more(
        "regions = [{ name = \"a\" }]",
        &["box, sphere, half_space, nearest, path or painted", "body[0].regions[0]"],
    );
    check_more(
        "regions = [{ name = \"a\", box = { min = [1, 0, 0], max = [0, 1, 1] } }]",
        &["`min` lies beyond `max`"],
    );
    check_more("regions = [{ name = \"a\", half_space = { normal = [0, 0, 0] } }]", &["has no direction"]);
    check_more("[[force]]\nkind = \"region\"\nbody = \"ball\"", &["`total` is missing"]);
    check_more("[[force]]\nkind = \"field\"", &["`acceleration` is missing"]);
    check_more("[[force]]\nkind = \"wind\"", &["wind blows on shells only"]);
    check_more(
        "[[force]]\nkind = \"field\"\nacceleration = [\"1 N\", 0, 0]",
        &["is a force", "force[0].acceleration[0]"],
    );
    check_more("[[event]]\nat = 1", &["set, release, remove, melt or solidify"]);
    check_more("[[event]]\nrelease = \"pin0\"", &["at or when"]);
    check_more("[[event]]\nat = 1\nrelease = \"pin0\"", &["there is no pin \"pin0\"", "there are none"]);
    check_more("[[event]]\nat = 1\nmelt = \"bell\"", &["there is no body \"bell\""]);
    check_more("[[event]]\nat = 1\nset = { young = 5 }", &["`body` is missing"]);
    check_more(
        "[[event]]\nwhen = { probe = \"p\", below = 1 }\nremove = \"x\"",
        &["there is no probe \"p\"", "event[0].when.probe"],
    );
}

#[test]
fn faults_of_probes_and_expectations() {
    let probe = |text: &str, parts: &[&str]| check_more(&format!("[[probe]]\n{text}\n"), parts);
    probe("body = \"ball\"", &["`measure` is missing", "probe[0].measure"]);
    probe("measure = \"speed\"", &["unknown measure \"speed\"", "try: \"mean_speed\""]);
    probe("measure = \"mean_yy\"", &["try: \"mean_y\""]);
    probe("measure = \"mean_temperature\"", &["no part in heat", "conductivity"]);
    probe("measure = \"reaction_x\"", &["pin or collider"]);
    probe("measure = \"mean_x\"\npin = \"a\"", &["there is no pin \"a\""]);
    probe("measure = \"distance\"\nbody = \"ball\"", &["`to_region` is missing"]);
    probe("measure = \"mean_x\"\nregion = \"all\"", &["no effect on a probe without `body`"]);
    probe("measure = \"mean_x\"\nname = \"time\"", &["the name \"time\" is taken"]);
    let expect = |text: &str, parts: &[&str]| {
        check_more(&format!("[[probe]]\nname = \"p\"\nmeasure = \"mean_y\"\n[[expect]]\n{text}\n"), parts);
    };
    expect("probe = \"q\"\nbelow = 1", &["there is no probe \"q\""]);
    expect("probe = \"p\"", &["between, below, above or near"]);
    expect("probe = \"p\"\nbelow = 1\nabove = 2", &["exclude each other", "test.toml:11"]);
    expect("probe = \"p\"\nbelow = \"1 kg\"", &["is a mass", "a length"]);
    expect("probe = \"p\"\nnear = 1", &["needs a `tolerance`"]);
    expect("probe = \"p\"\nbetween = [2, 1]", &["the smaller value first"]);
    expect("probe = \"p\"\nat = \"edn\"\nbelow = 1", &["unknown value \"edn\"", "try: \"end\""]);
    expect("probe = \"p\"\nat = 99\nbelow = 1", &["outside the run"]);
}

#[test]
fn set_changes_any_key() {
    let set = |path: &str, value: &str| {
        Scene::from_toml(EXAMPLE, None, &[(path.into(), value.into())])
            .unwrap_or_else(|e| panic!("{path}={value}: {e}"))
    };
    assert_eq!(set("duration", "2").duration, 2.0);
    for value in ["\"1 MPa\"", "1 MPa", "1e6"] {
        assert_eq!(set("body.0.material.young", value).bodies[0].material.young, 1e6);
        assert_eq!(set("body.block.material.young", value).bodies[0].material.young, 1e6);
        assert_eq!(set("body[0].material.young", value).bodies[0].material.young, 1e6);
    }
    assert_eq!(set("gravity.1", "-1.62 m/s^2").gravity.y, -1.62);
    assert_eq!(set("body.block.points", "77").bodies[0].points, Some(77));
    assert_eq!(set("body.block.regions.top.nearest", "{ to = [0, 1, 0] }").bodies[0].regions.len(), 1);
    assert_eq!(set("pin.pin0.until", "3").pins[0].until, Some(3.0));
    assert_eq!(set("expect.0.below", "5 cm").expects[0].want, Want::Below(0.05));
    assert_eq!(set("camera.fov", "30").camera.fov, Some(30.0));
    assert_eq!(set("integrator", "implicit").integrator, Integrator::Implicit);
}

#[test]
fn faults_of_set_name_the_flag() {
    let flag = |path: &str, value: &str, parts: &[&str]| {
        let message = message(EXAMPLE, &[(path, value)]);
        for part in parts.iter().chain(&["--set"]) {
            assert!(message.contains(part), "\"{part}\" is not in\n{message}");
        }
    };
    flag("body.0.material.yung", "1", &["unknown key `yung`", "body[0].material.yung", "try: `young`"]);
    flag("body.0.material.young", "1 kg", &["is a mass", "--set body.0.material.young=1 kg"]);
    flag("body.blok.points", "1", &["body has no \"blok\"", "try: body.block"]);
    flag("body.7.points", "1", &["a number from 0 to 0, or a name"]);
    flag("body.0.shape.kind", "spere", &["unknown shape \"spere\"", "body[0].shape.kind"]);
    flag("duration.x", "1", &["duration is a string"]);
    flag("body..x", "1", &["empty part"]);
    flag("", "1", &["empty part"]);
    flag(&"a.".repeat(100_000), "1", &["empty part"]);
    flag(&vec!["a"; 100_000].join("."), "1", &["more than"]);
    flag("duration", "", &["is not a quantity"]);
    flag("gravity", "[0, 5 N, 0]", &["a string does not fit"]);
}

#[test]
fn files_that_are_no_scenes() {
    let folder = std::env::temp_dir().join(format!("phyxel-scene-test-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let error = |path: &Path| Scene::from_file(path, &[]).unwrap_err().to_string();
    assert!(error(&folder).contains("this is a folder"));
    assert!(error(&folder.join("none.toml")).contains("no such file"));
    let path = folder.join("my first.scene.toml");
    std::fs::write(&path, b"format = 1\n\xff\n").unwrap();
    assert!(error(&path).contains("UTF-8"), "{}", error(&path));
    std::fs::write(&path, vec![b'\n'; (16 << 20) + 1]).unwrap();
    assert!(error(&path).contains("larger than 16 MB"));
    std::fs::write(&path, SMALL).unwrap();
    assert_eq!(Scene::from_file(&path, &[]).unwrap().name, "my-first-scene");
    std::fs::remove_dir_all(&folder).unwrap();
    let message = Scene::open("bonce", &[]).unwrap_err().to_string();
    assert!(message.contains("phyxel run bounce"), "{message}");
}

/// Cuts and damages a good scene in every place: it reads or gives a fault, and what reads survives writing.
#[test]
fn damaged_scenes_never_panic() {
    let check = |text: &str| {
        if let Ok(scene) = read(text) {
            let written = scene.to_toml();
            let again = read(&written).unwrap_or_else(|e| panic!("{e}\n{written}"));
            assert_eq!(again, scene, "{text}");
        }
    };
    let bytes = EXAMPLE.as_bytes();
    for i in 0..bytes.len() {
        check(&EXAMPLE[..i]);
        for k in 0..2 {
            let mut damaged = bytes.to_vec();
            damaged[i] = b"09-\"\nx{]. "[(3 * i + k) % 10];
            check(&String::from_utf8(damaged).unwrap());
        }
    }
    let lines: Vec<&str> = EXAMPLE.lines().collect();
    for i in 0..lines.len() {
        let without: Vec<&str> = lines.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, l)| *l).collect();
        check(&without.join("\n"));
    }
    check(&format!("format = 1\nbody = {}1{}", "[".repeat(5000), "]".repeat(5000)));
}

#[test]
fn schema_is_json_and_knows_every_section() {
    let schema: serde_json::Value = serde_json::from_str(&json_schema()).unwrap();
    assert_eq!(
        schema["properties"]["body"]["items"]["properties"]["material"]["properties"]["poisson"]["default"],
        0.3
    );
    assert_eq!(schema["required"], serde_json::json!(["format", "body"]));
    assert_eq!(schema["$defs"]["shape"]["oneOf"][0]["properties"]["kind"]["const"], "box");
}
