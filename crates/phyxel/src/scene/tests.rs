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
    assert_eq!(body.surface, SurfaceSpec { kind: SurfaceKind::Surfels, count: 20000 });
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
