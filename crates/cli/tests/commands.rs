//! The program from the outside: what it leaves, what it prints, how it ends.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A small soft ball that drops on the floor: 300 points, 5 frames.
const TINY: &str = r##"
format = 1
name = "tiny"
duration = 0.1333333333
fps = 30
[[body]]
name = "ball"
shape = { kind = "sphere", radius = 0.1 }
at = [0, 0.15, 0]
points = 300
material = { young = "50 kPa", density = 1000 }
surface = { kind = "surfels", count = 800 }
[[collider]]
name = "floor"
shape = { kind = "plane" }
[[probe]]
name = "height"
body = "ball"
measure = "mean_y"
"##;

/// A folder of its own for a test, gone when the test is over.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("phyxel-cli-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }
    fn with(name: &str, file: &str, text: &str) -> Self {
        let place = Self::new(name);
        std::fs::write(place.0.join(file), text).unwrap();
        place
    }
    /// Runs phyxel here.
    fn phyxel(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_phyxel")).args(args).current_dir(&self.0).output().unwrap()
    }
    fn has(&self, path: &str) -> bool {
        std::fs::metadata(self.0.join(path)).is_ok_and(|m| m.len() > 0)
    }
    fn json(&self, path: &str) -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(self.0.join(path)).unwrap()).unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs it, and wants this exit code and these words on stderr, once and without a trace of our insides.
fn check(place: &Place, args: &[&str], code: i32, words: &[&str]) {
    let output = place.phyxel(args);
    let said = errors(&output);
    assert_eq!(output.status.code(), Some(code), "{args:?}\n{said}");
    for word in words {
        assert!(said.contains(word), "{args:?}: no {word:?} in\n{said}");
    }
    assert_eq!(said.matches("error:").count(), usize::from(code != 0), "{args:?}\n{said}");
    assert!(
        !said.contains("panicked") && !said.contains("RUST_BACKTRACE") && !said.contains("internal fault"),
        "{said}"
    );
    assert!(output.stdout.is_empty() || code == 0, "{args:?}: something on stdout");
}

#[test]
fn wrong_input_is_one_clear_error() {
    let place = Place::with("wrong", "tiny.toml", TINY);
    std::fs::write(place.0.join("empty.toml"), "").unwrap();
    std::fs::write(place.0.join("nobody.toml"), "format = 1\n").unwrap();
    std::fs::write(place.0.join("typo.toml"), TINY.replace("radius", "radios")).unwrap();
    std::fs::write(place.0.join("noise.toml"), [0xff, 0xfe, 0x00, 0x80]).unwrap();
    std::fs::write(place.0.join("file"), "x").unwrap();
    check(&place, &["run", "missing.toml"], 2, &["missing.toml"]);
    check(&place, &["run", "."], 2, &["folder"]);
    check(&place, &["run", "bonce"], 2, &["bounce", "bonce"]);
    check(&place, &["run", "empty.toml"], 2, &["empty.toml", "format"]);
    check(&place, &["run", "nobody.toml"], 2, &["no body"]);
    check(&place, &["run", "typo.toml"], 2, &["radios", "radius", "typo.toml:8"]);
    check(&place, &["run", "noise.toml"], 2, &["UTF-8"]);
    check(&place, &["check", "typo.toml"], 2, &["radius"]);
    check(&place, &["run", "tiny.toml", "--set", "fps"], 2, &["KEY.PATH=VALUE"]);
    check(&place, &["run", "tiny.toml", "--set", "fsp=3"], 2, &["fsp", "fps"]);
    check(&place, &["run", "tiny.toml", "--set", "fps=\"3 kg\""], 2, &["fps"]);
    check(&place, &["run", "tiny.toml", "--out", "file/run"], 2, &["file"]);
    check(&place, &["run", "tiny.toml", "--size", "big"], 2, &["1280x720"]);
    check(&place, &["run", "tiny.toml", "--threads", "0"], 2, &["threads"]);
    check(&place, &["run"], 2, &["SCENE"]);
    check(&place, &["dance"], 2, &["dance"]);
    check(&place, &["scenes", "nothing"], 2, &["bounce"]);
    check(&place, &["bench", "nothing"], 2, &["elastic-20k"]);
    check(&place, &["render", "."], 2, &["no run"]);
    check(&place, &["resume", "."], 2, &["phyxel run"]);
    check(&place, &["new", "missing.obj"], 2, &["missing.obj"]);
    check(&place, &["new", "file"], 2, &["file"]);
    assert!(!place.0.join("runs").exists(), "nothing is left behind");
}

/// Corners and triangles of an open ring of 40 by 4 squares around the y axis, with half a turn or without.
fn ring(turns: f64) -> (Vec<[f64; 3]>, Vec<[usize; 3]>) {
    let corner = |k: usize, w: usize| {
        let (a, w) = (std::f64::consts::TAU * k as f64 / 40.0, 0.1 * w as f64 - 0.2);
        let (r, y) = (1.0 + w * (turns * a).cos(), w * (turns * a).sin());
        [r * a.cos(), if turns > 0.0 { y } else { w }, r * a.sin()]
    };
    let corners = (0..200).map(|i| corner(i / 5, i % 5)).collect();
    let place = |k: usize, w: usize| if k == 40 { if turns > 0.0 { 4 - w } else { w } } else { 5 * k + w };
    let square = |i: usize| {
        let (k, w) = (i / 4, i % 4);
        let [a, b, c, d] = [place(k, w), place(k, w + 1), place(k + 1, w + 1), place(k + 1, w)];
        [[a, b, c], [a, c, d]]
    };
    (corners, (0..160).flat_map(square).collect())
}

fn obj(corners: &[[f64; 3]], triangles: &[[usize; 3]]) -> String {
    let line = |[x, y, z]: &[f64; 3]| format!("v {x} {y} {z}\n");
    let face = |[a, b, c]: &[usize; 3]| format!("f {} {} {}\n", a + 1, b + 1, c + 1);
    corners.iter().map(line).chain(triangles.iter().map(face)).collect()
}

#[test]
fn shells_from_odd_files_run_or_tell_why_not() {
    let place = Place::new("odd-shells");
    let check_file = |file: &str, text: &str, code: i32, words: &[&str]| {
        std::fs::write(place.0.join(file), text).unwrap();
        let kind = if file.ends_with("xyz") { "points" } else { "mesh" };
        let scene = format!(
            "format = 1\nduration = \"0.05 s\"\n[[body]]\nmodel = \"shell\"\n\
             shape = {{ kind = \"{kind}\", file = \"{file}\" }}\nspacing = 0.12\nsurface = {{ count = 500 }}\n\
             material = {{ thickness = 0.01, young = 1e5 }}\n"
        );
        std::fs::write(place.0.join("shell.toml"), scene).unwrap();
        check(&place, &["run", "shell.toml", "--no-pictures", "--force", "--out", "run"], code, words);
    };
    // Open borders.
    let (corners, triangles) = ring(0.0);
    check_file("open.obj", &obj(&corners, &triangles), 0, &[]);
    // Triangles that share no corner, each a little smaller and moved.
    let apart = triangles.iter().enumerate().flat_map(|(k, t)| {
        let [a, b, c] = t.map(|v| corners[v]);
        let middle: [f64; 3] = std::array::from_fn(|x| (a[x] + b[x] + c[x]) / 3.0);
        let shift = 2e-3 * ((k * 37 % 11) as f64 / 5.0 - 1.0);
        [a, b, c].map(|p| std::array::from_fn(|x| middle[x] + 0.9 * (p[x] - middle[x]) + shift))
    });
    let soup: Vec<[f64; 3]> = apart.collect();
    let faces: Vec<[usize; 3]> = (0..triangles.len()).map(|k| [3 * k, 3 * k + 1, 3 * k + 2]).collect();
    check_file("soup.obj", &obj(&soup, &faces), 0, &[]);
    // Every point twice.
    let points: String =
        (0..600).map(|i| format!("{} 0 {}\n", (i / 2 % 20) as f64 * 0.05, (i / 40) as f64 * 0.05)).collect();
    check_file("twice.xyz", &points, 0, &[]);
    let triangle = obj(&[[0.0; 3], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], &[[0, 1, 2]]);
    check_file("one.obj", &triangle, 0, &[]);
    let (corners, triangles) = ring(0.5);
    check_file("moebius.obj", &obj(&corners, &triangles), 2, &["one side only", "Moebius"]);
    check_file("three.xyz", "0 0 0\n1 0 0\n0 0 1\n", 2, &["3 different points", "at least 20"]);
    check_file("three.obj", "v 0 0 0\nv 1 0 0\nv 0 0 1\n", 2, &["no faces"]);
}

/// Numbers in a row of a table, NaN where there is a word.
fn numbers(row: &str) -> Vec<f64> {
    row.split(',').map(|cell| cell.parse().unwrap_or(f64::NAN)).collect()
}

#[test]
fn a_torn_poster_leaves_a_list_of_its_cracks() {
    let place = Place::new("cracks");
    let coarse = ["--set", "body.0.spacing=0.035", "--set", "duration=0.8", "--set", "body.0.surface.kind=\"none\""];
    let args = [&["run", "tear-path", "--no-pictures", "--out", "run"], coarse.as_slice()].concat();
    place.phyxel(&args);
    let text = std::fs::read_to_string(place.0.join("run/cracks.csv")).unwrap();
    let mut lines = text.lines();
    assert!(lines.next().unwrap().starts_with("frame,time,body,kind,cause,x,y,z,rest_x,rest_y,rest_z,direction_x"));
    let first = text.lines().nth(1).unwrap();
    assert!(first.contains(",poster,begins,tension,"), "{first}");
    let rows: Vec<Vec<f64>> = lines.map(numbers).collect();
    // It begins at the weak point in the top edge, where its cloth is still nearly as at rest, and goes down.
    let start = &rows[0];
    assert!(start[8].abs() < 0.05 && start[9] > 0.9 && start[10].abs() < 1e-9, "{start:?}");
    assert!((start[5] - start[8]).abs() < 0.05 && start[12].abs() > 0.9, "{start:?}");
    let down: f64 = rows[1..].iter().map(|r| r[12] * r[14]).sum();
    assert!(down < -0.6, "{down}");
    assert!(rows.iter().all(|r| (r[11] * r[11] + r[12] * r[12] + r[13] * r[13] - 1.0).abs() < 1e-9));
    assert!(rows.windows(2).all(|w| w[0][1] <= w[1][1] && w[0][0] <= w[1][0]), "in the order of time");
    // In all they are as long as the probe says.
    let metrics = std::fs::read_to_string(place.0.join("run/metrics.csv")).unwrap();
    let column = metrics.lines().next().unwrap().split(',').position(|name| name.contains("tear")).unwrap();
    let length = numbers(metrics.lines().last().unwrap())[column];
    let sum: f64 = rows.iter().map(|r| r[14]).sum();
    assert!(sum > 0.6 && (sum - length).abs() < 1e-6, "{sum} {length}");
}

#[test]
fn scenes_lists_and_prints() {
    let place = Place::new("scenes");
    let list = place.phyxel(&["scenes"]);
    assert!(list.status.success() && String::from_utf8_lossy(&list.stdout).contains("bounce"));
    let one = place.phyxel(&["scenes", "bounce"]);
    assert!(String::from_utf8_lossy(&one.stdout).contains("format = 1"));
    let json: serde_json::Value = serde_json::from_slice(&place.phyxel(&["scenes", "--json"]).stdout).unwrap();
    assert!(json.as_array().unwrap().iter().any(|s| s["name"] == "bounce"));
}

#[test]
fn a_run_leaves_everything_and_is_never_overwritten() {
    let place = Place::with("run", "tiny.toml", TINY);
    let output = place.phyxel(&["run", "tiny.toml", "--size", "320x180", "--json", "--threads", "1"]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    let printed: serde_json::Value = serde_json::from_slice(&output.stdout).expect("only JSON on stdout");
    assert_eq!(printed["outcome"], "done");
    for file in [
        "scene.toml",
        "summary.json",
        "metrics.csv",
        "preview.mp4",
        "poster.png",
        "sheet.png",
        "replay.html",
        "plots/energy.svg",
        "plots/volume.svg",
        "plots/timing.svg",
        "plots/height.svg",
        "frames/frame_00004.bin",
        "checkpoints/checkpoint_00004.bin",
    ] {
        assert!(place.has(&format!("runs/tiny/{file}")), "{file}");
    }
    let summary = place.json("runs/tiny/summary.json");
    assert_eq!((summary["frames"].as_u64(), summary["threads"].as_u64()), (Some(5), Some(1)));
    let metrics = std::fs::read_to_string(place.0.join("runs/tiny/metrics.csv")).unwrap();
    assert!(metrics.starts_with("frame,time,dt_min,dt_max,substeps,kinetic,elastic,gravity,heat,work,dissipated,"));
    assert!(metrics.lines().next().unwrap().ends_with(",seconds_physics,seconds_surface,height"));
    assert_eq!(metrics.lines().count(), 6);

    check(&place, &["run", "tiny.toml", "--out", "runs/tiny"], 2, &["already holds a run", "--force"]);
    let again = ["run", "runs/tiny/scene.toml", "--no-pictures", "--threads", "2"];
    check(&place, &again, 0, &["runs/tiny-2"]);
    for frame in 0..5 {
        let read = |run: &str| std::fs::read(place.0.join(format!("runs/{run}/frames/frame_{frame:05}.bin"))).unwrap();
        assert_eq!(read("tiny"), read("tiny-2"), "same bits from the resolved scene, with other threads");
    }
    check(&place, &["run", "tiny.toml", "--out", "runs/tiny-2", "--force", "--no-pictures", "--frames", "2"], 0, &[]);
    assert!(!place.has("runs/tiny-2/frames/frame_00004.bin"));
}

#[test]
fn render_draws_a_run_again() {
    let place = Place::with("render", "tiny.toml", TINY);
    check(&place, &["run", "tiny.toml", "--no-pictures", "--frames", "3", "--quiet"], 0, &[]);
    fn render<'a>(more: &[&'a str]) -> Vec<&'a str> {
        [&["render", "runs/tiny", "--size", "160x90", "--quiet"], more].concat()
    }
    check(&place, &render(&["--color", "speed", "--camera-from", "1,0.5,-1", "--look-at", "0,0.1,0"]), 0, &[]);
    assert!(place.has("runs/tiny/render-speed/preview.mp4") && place.has("runs/tiny/render-speed/sheet.png"));
    check(&place, &render(&["--frame", "1", "--points", "--out", "one.png"]), 0, &[]);
    assert!(place.has("one.png"));
    check(&place, &render(&["--frame", "7"]), 2, &["frames 0 to 2"]);
    check(&place, &render(&["--color", "taste"]), 2, &["taste", "speed"]);
}

#[test]
fn expectations_decide_the_exit_code() {
    let failing = format!("{TINY}\n[[expect]]\nprobe = \"height\"\nat = \"end\"\nabove = 5\n");
    let place = Place::with("expect", "failing.toml", &failing);
    let output = place.phyxel(&["run", "failing.toml", "--no-pictures"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(errors(&output).contains("FAILED") && errors(&output).contains("above 5"), "{}", errors(&output));
    let summary = place.json("runs/tiny/summary.json");
    assert_eq!(
        (summary["outcome"].as_str(), summary["expect"][0]["ok"].as_bool()),
        (Some("expectation_failed"), Some(false))
    );
}

#[test]
fn a_resumed_run_has_the_same_bits() {
    let place = Place::with("resume", "tiny.toml", TINY);
    check(&place, &["run", "tiny.toml", "--no-pictures", "--quiet", "--out", "whole"], 0, &[]);
    check(&place, &["run", "tiny.toml", "--no-pictures", "--quiet", "--out", "parts", "--frames", "3"], 0, &[]);
    check(&place, &["resume", "parts", "--no-pictures", "--quiet"], 0, &[]);
    for frame in 0..5 {
        let read = |run: &str| std::fs::read(place.0.join(run).join(format!("frames/frame_{frame:05}.bin"))).unwrap();
        assert_eq!(read("whole"), read("parts"), "frame {frame}");
    }
    assert_eq!(place.json("parts/summary.json")["frames"], 5);
}

#[test]
fn check_tells_what_a_run_will_be() {
    let place = Place::with("check", "tiny.toml", TINY);
    let output = place.phyxel(&["check", "tiny.toml", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((json["frames"].as_u64(), json["bodies"][0]["name"].as_str()), (Some(5), Some("ball")));
    assert!(json["time_step"].as_f64().unwrap() > 0.0);
    assert!(!place.0.join("runs").exists());
}

#[test]
fn a_mesh_becomes_a_scene_that_runs() {
    let place = Place::new("new");
    std::fs::create_dir(place.0.join("meshes")).unwrap();
    std::fs::create_dir(place.0.join("work")).unwrap();
    write_cube(&place.0.join("meshes/cube.obj"));
    check(&place, &["new", "meshes/cube.obj"], 0, &["cube.toml"]);
    check(&place, &["new", "meshes/cube.obj"], 2, &["exists"]);
    check(&place, &["new", "meshes/cube.obj", "--out", "work/cube.toml"], 0, &["copied"]);
    let run = ["run", "work/cube.toml", "--frames", "2", "--no-pictures", "--set", "body.0.points=200"];
    check(&place, &run, 0, &["runs/cube"]);
    assert!(place.has("runs/cube/files/cube.obj"));
    check(&place, &["run", "runs/cube/scene.toml", "--frames", "2", "--no-pictures"], 0, &["runs/cube-2"]);
}

fn write_cube(path: &Path) {
    let mut text = String::new();
    for i in 0..8 {
        text += &format!("v {} {} {}\n", i & 1, i >> 1 & 1, i >> 2 & 1);
    }
    for f in ["1 3 4 2", "5 6 8 7", "1 2 6 5", "3 7 8 4", "1 5 7 3", "2 4 8 6"] {
        text += &format!("f {f}\n");
    }
    std::fs::write(path, text).unwrap();
}

#[test]
#[cfg(unix)]
fn an_interrupt_ends_cleanly() {
    let place = Place::with("interrupt", "long.toml", &TINY.replace("duration = 0.1333333333", "duration = 10000"));
    let mut child = Command::new(env!("CARGO_BIN_EXE_phyxel"))
        .args(["run", "long.toml", "--no-pictures", "--quiet"])
        .current_dir(&place.0)
        .spawn()
        .unwrap();
    let begun = std::time::Instant::now();
    while !place.has("runs/tiny/frames/frame_00001.bin") && begun.elapsed().as_secs() < 20 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert_eq!(place.json("runs/tiny/summary.json")["outcome"], "stopped");
}
