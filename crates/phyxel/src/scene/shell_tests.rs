//! Scenes with shells: what is read, what is refused, and what is written back.

use super::*;

fn scene(body: &str, rest: &str) -> Result<Scene, String> {
    let text = format!("format = 1\n[[body]]\nmodel = \"shell\"\n{body}\n{rest}");
    Scene::from_toml(&text, None, &[]).map_err(|e| e.to_string())
}

const SHEET: &str =
    "shape = { kind = \"sheet\", size = [1, 0.5] }\nmaterial = { thickness = \"1 mm\", young = \"1 MPa\" }";

#[test]
fn a_sheet_is_read_and_written() {
    let read = scene(SHEET, "").unwrap();
    assert_eq!(read.bodies[0].model, ModelKind::Shell);
    assert_eq!(read.bodies[0].shape.kind, ShapeKind::Sheet { size: [1.0, 0.5] });
    let shell = read.bodies[0].material.shell.unwrap();
    assert_eq!((shell.thickness, shell.law), (1e-3, ShellEnergy::Tensor));
    assert_eq!(Scene::from_toml(&read.to_toml(), None, &[]).unwrap(), read);
    let cut = format!("{SHEET}\ncut = [ {{ sphere = {{ center = [0, 0, 0], radius = 0.1 }} }} ]");
    let read = scene(&cut, "").unwrap();
    assert_eq!(read.bodies[0].cuts, [RegionPlace::Sphere { center: DVec3::ZERO, radius: 0.1 }]);
    assert_eq!(Scene::from_toml(&read.to_toml(), None, &[]).unwrap(), read);
}

#[test]
fn how_a_sheet_breaks_is_read_and_written() {
    let body = "shape = { kind = \"sheet\", size = [1, 0.5] }\nregions = [ { name = \"top\", half_space = { normal = [0, 0, 1] } } ]\n\
                weak = [ { region = \"top\", strength = 0.3 } ]";
    let material = |keys: &str| format!("{body}\nmaterial = {{ thickness = 0.001, {keys} }}");
    let read =
        scene(&material("break_strain = 0.1, break_bending = 0.02, microcracks = 0.5, fatigue = 3"), "").unwrap();
    let breaks = read.bodies[0].material.shell.unwrap().breaks;
    assert_eq!(breaks, BreakSpec { strain: Some(0.1), bending: Some(0.02), microcracks: 0.5, fatigue: 3.0 });
    assert_eq!(read.bodies[0].weak, [WeakSpec { region: "top".into(), strength: 0.3 }]);
    assert_eq!(Scene::from_toml(&read.to_toml(), None, &[]).unwrap(), read);
    refused(&material("young = 1e5"), "", "never breaks");
    refused(&material("break_strain = 0.1, fatigue = 1"), "", "break_bending");
    refused(&material("break_strain = 0.1, law = \"weights\""), "", "tensor");
    refused(&material("break_strain = 0.1").replace("\"top\", strength", "\"tip\", strength"), "", "tip");
}

#[test]
fn how_a_sheet_stiffens_is_read_and_written() {
    let body = |keys: &str| {
        format!("shape = {{ kind = \"sheet\", size = [1, 0.5] }}\nmaterial = {{ thickness = 0.001, {keys} }}")
    };
    let read = scene(&body("stiffening = 4, stiffening_strain = 0.2"), "").unwrap();
    let shell = read.bodies[0].material.shell.unwrap();
    assert_eq!((shell.stiffening, shell.stiffening_strain), (4.0, 0.2));
    assert_eq!(Scene::from_toml(&read.to_toml(), None, &[]).unwrap(), read);
    let plain = scene(&body("stiffening = 0"), "").unwrap();
    assert_eq!(plain, scene(&body("young = 1e5"), "").unwrap());
    refused(&body("stiffening = 4"), "", "stiffening_strain");
    refused(&body("stiffening_strain = 0.2"), "", "stiffness stays");
    refused(&body("stiffening = -0.9, stiffening_strain = 0.2"), "", "-0.9 is out of range");
    refused(&body("stiffening = 1, stiffening_strain = 0"), "", "0 is out of range");
    refused(&body("stiffening = 1, stiffening_strain = 0.1, law = \"weights\""), "", "tensor");
    refused(
        "shape = { kind = \"box\", size = [1, 1, 1] }\nmaterial = { thickness = 0.001, stiffening = \"much\" }",
        "",
        "stiffening",
    );
}

#[test]
fn a_pressure_is_read_and_written() {
    let force = "[[force]]\nkind = \"pressure\"\nbody = \"body0\"\npressure = \"2 kPa\"\nramp = \"1 s\"";
    let read = scene("shape = { kind = \"sphere\", radius = 1 }\nmaterial = { thickness = 0.01 }", force).unwrap();
    assert_eq!(
        read.forces[0].kind,
        ForceKind::Pressure { body: "body0".into(), pressure: 2e3, ramp: 1.0, outside: None }
    );
    assert_eq!(Scene::from_toml(&read.to_toml(), None, &[]).unwrap(), read);
}

#[test]
fn wind_and_gas_are_read_and_written() {
    let wind = "[[force]]\nkind = \"wind\"\nvelocity = [\"5 m/s\", 0, 0]\ndrag = 1.3";
    let gas = "[[force]]\nkind = \"pressure\"\nbody = \"body0\"\npressure = \"2 kPa\"\noutside = \"100 kPa\"";
    let ball = "shape = { kind = \"sphere\", radius = 1 }\nmaterial = { thickness = 0.01 }";
    let read = scene(ball, &format!("{wind}\n{gas}")).unwrap();
    let velocity = glam::DVec3::new(5.0, 0.0, 0.0);
    assert_eq!(read.forces[0].kind, ForceKind::Wind { body: None, velocity, density: 1.2, drag: 1.3 });
    assert!(matches!(&read.forces[1].kind, ForceKind::Pressure { outside: Some(p), .. } if *p == 1e5));
    assert_eq!(Scene::from_toml(&read.to_toml(), None, &[]).unwrap(), read);
    refused(ball, "[[force]]\nkind = \"wind\"", "velocity");
    refused(ball, "[[force]]\nkind = \"wind\"\nvelocity = [1, 0, 0]\nramp = 1", "ramp");
}

#[test]
fn grain_and_patches_are_read_and_written() {
    let body = "shape = { kind = \"sheet\", size = [1, 1] }\nregions = [ { name = \"hem\", half_space = { normal = [1, 0, 0], offset = 0.4 } } ]\n\
                patches = [ { region = \"hem\", stiffness = 3, thickness = 2 } ]\n\
                material = { thickness = 0.001, anisotropy = { young = [2e6, 1e5, 2e5], shear = [5e4, 5e4, 8e4] } }";
    let read = scene(body, "").unwrap();
    assert_eq!(read.bodies[0].patches[0], PatchSpec { region: "hem".into(), stiffness: 3.0, thickness: 2.0 });
    assert_eq!(read.bodies[0].material.young, 2e6);
    assert_eq!(Scene::from_toml(&read.to_toml(), None, &[]).unwrap(), read);
}

#[track_caller]
fn refused(body: &str, rest: &str, words: &str) {
    let fault = scene(body, rest).unwrap_err();
    assert!(fault.contains(words), "{fault}");
}

#[test]
fn what_shells_cannot_have_is_refused() {
    let sphere = |material: &str| format!("shape = {{ kind = \"sphere\", radius = 1 }}\nmaterial = {{ {material} }}");
    refused(&sphere("young = 1e5"), "", "thickness");
    refused(&sphere("thickness = 0.01, creep = 1"), "", "creep");
    refused(&sphere("thickness = 0.01, control = 1"), "", "control");
    refused(&sphere("thickness = 0.01, preset = \"wood\", law = \"weights\""), "", "grain");
    refused(&format!("{SHEET}\npatches = [ {{ region = \"none\" }} ]"), "", "none");
    refused(&format!("{}\nsampling = \"regular\"", sphere("thickness = 0.01")), "", "sampling");
    let melting = "[[body]]\nshape = { kind = \"sphere\", radius = 1 }\nmaterial = { creep = 1 }";
    let beside = format!("{melting}\n[[event]]\nat = 1\nsolidify = \"body1\"");
    assert!(scene(SHEET, &beside).is_ok(), "what flows touches shells, and may turn solid");
    refused(SHEET, "[[event]]\nat = 1\nbody = \"body0\"\nset = { creep = 1 }", "event");
    refused(SHEET, "[[event]]\nat = 1\nmelt = \"body0\"", "event");
    refused(SHEET, "[[collider]]\nshape = { kind = \"sheet\", size = [1, 1] }", "inside");
    let solid = "format = 1\n[[body]]\nshape = { kind = \"sphere\", radius = 1 }\n";
    let fault = |text: &str| Scene::from_toml(&format!("{solid}{text}"), None, &[]).unwrap_err().to_string();
    assert!(fault("[[force]]\nkind = \"pressure\"\nbody = \"body0\"\npressure = 1").contains("solid"));
    assert!(fault("material = { thickness = 0.01 }").contains("shells only"));
    assert!(fault("cut = [ { half_space = { normal = [0, 1, 0] } } ]").contains("solid"));
    let sheet = "format = 1\n[[body]]\nshape = { kind = \"sheet\", size = [1, 1] }\n";
    assert!(Scene::from_toml(sheet, None, &[]).unwrap_err().to_string().contains("volume"));
}
