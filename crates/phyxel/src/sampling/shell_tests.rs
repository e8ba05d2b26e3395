//! Shells from files of all kinds: right, or one clear error.

use crate::frame::Frame;
use crate::geometry::Files;
use crate::models::shell::surface::TriangleSurface;
use crate::random::Random;
use crate::run::Simulation;
use crate::scene::{Scene, SurfaceKind, builtin};
use crate::world::World;
use glam::{DQuat, DVec3};
use std::collections::HashMap;
use std::path::PathBuf;

/// A folder of its own for each test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("phyxel-shell-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// The world of one shell made from a file with this text.
    fn world(&self, file: &str, text: &str, more: &str) -> Result<World, String> {
        std::fs::write(self.0.join(file), text).unwrap();
        let kind = if file.ends_with("xyz") { "points" } else { "mesh" };
        let scene = format!(
            "format = 1\n[[body]]\nmodel = \"shell\"\nshape = {{ kind = \"{kind}\", file = \"{file}\" }}\n\
             material = {{ thickness = 0.002, young = 1e6 }}\nsurface = {{ count = 2000 }}\n{more}"
        );
        let scene = Scene::from_toml(&scene, None, &[]).map_err(|e| e.to_string())?;
        World::new(&scene, &Files { base: self.0.clone(), allow_outside: false }).map_err(|e| e.to_string())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

fn obj(surface: &TriangleSurface) -> String {
    let mut text = String::new();
    surface.positions.iter().for_each(|x| text += &format!("v {} {} {}\n", x.x, x.y, x.z));
    surface.triangles.iter().for_each(|[a, b, c]| text += &format!("f {} {} {}\n", a + 1, b + 1, c + 1));
    text
}

fn xyz(points: impl Iterator<Item = (DVec3, Option<DVec3>)>) -> String {
    let line = |(x, n): (DVec3, Option<DVec3>)| match n {
        Some(n) => format!("{} {} {} {} {} {}\n", x.x, x.y, x.z, n.x, n.y, n.z),
        None => format!("{} {} {}\n", x.x, x.y, x.z),
    };
    points.map(line).collect()
}

/// A strip around a ring, with half a turn or none.
fn ring(twisted: bool) -> TriangleSurface {
    let n = 60u32;
    let mut ring = TriangleSurface::default();
    for k in 0..=n {
        let a = std::f64::consts::TAU * f64::from(k % n) / f64::from(n);
        let half = if twisted { 0.5 * a } else { 0.0 };
        for w in [-0.2, 0.2] {
            // After a whole turn the borders of a twisted strip have changed places.
            let w = if twisted && k == n { -w } else { w };
            let r = 1.0 + w * half.cos();
            ring.positions.push(DVec3::new(r * a.cos(), w * half.sin(), r * a.sin()));
        }
    }
    for k in 0..n {
        ring.triangles.extend([[2 * k, 2 * k + 1, 2 * k + 3], [2 * k, 2 * k + 3, 2 * k + 2]]);
    }
    ring
}

/// The upper half of a ball as triangles that have fallen apart: shrunk, moved, turned, some turned over.
fn soup(gap: f64) -> TriangleSurface {
    let (rows, columns) = (10u32, 32u32);
    let at = |i: u32, j: u32| {
        let (a, b) = (
            std::f64::consts::FRAC_PI_2 * f64::from(i) / f64::from(rows),
            std::f64::consts::TAU * f64::from(j) / f64::from(columns),
        );
        DVec3::new(a.sin() * b.cos(), a.cos(), a.sin() * b.sin())
    };
    let mut apart = TriangleSurface::default();
    for i in 0..rows {
        for j in 0..columns {
            for corners in [[at(i, j), at(i + 1, j), at(i + 1, j + 1)], [at(i, j), at(i + 1, j + 1), at(i, j + 1)]] {
                let mut random = Random::new(7, apart.triangles.len() as u64);
                let middle = corners.iter().sum::<DVec3>() / 3.0;
                let turn = DQuat::from_scaled_axis(0.1 * random.in_cube());
                let shift = 0.3 * gap * random.in_cube();
                let mut corners = corners.map(|x| middle + shift + turn * ((1.0 - gap / 0.15) * (x - middle)));
                if random.unit() < 0.3 {
                    corners.swap(1, 2);
                }
                let first = apart.positions.len() as u32;
                apart.positions.extend(corners);
                apart.triangles.push([first, first + 1, first + 2]);
            }
        }
    }
    apart
}

fn area(world: &World) -> f64 {
    world.shells().shell(0).unwrap().nodes().areas.iter().sum()
}

/// Largest distance of a node from the unit sphere.
fn roughness(world: &World) -> f64 {
    let nodes = world.shells().shell(0).unwrap().nodes();
    nodes.positions.iter().map(|p| (p.length() - 1.0).abs()).fold(0.0, f64::max)
}

#[test]
fn soup_becomes_one_surface() {
    let folder = Folder::new("soup");
    let world = folder.world("soup.obj", &obj(&soup(0.03)), "spacing = 0.1").unwrap();
    assert!(world.warnings().iter().any(|w| w.contains("pieces")), "{:?}", world.warnings());
    let shell = world.shells().shell(0).unwrap();
    assert!((area(&world) / std::f64::consts::TAU - 1.0).abs() < 0.05, "{}", area(&world));
    assert!(roughness(&world) < 0.03, "{}", roughness(&world));
    // All of it hangs together, the rim is its only border, and the normals look out.
    let network = shell.network();
    let pieces = crate::measure::count_pieces(network.len(), |i| network.neighbors_of(i).iter().map(|&j| j as usize));
    assert_eq!(pieces, 1);
    let nodes = shell.nodes();
    assert!((0..network.len()).all(|i| network.closed[i] || nodes.positions[i].y < 0.15));
    assert!(nodes.positions.iter().zip(&nodes.normals).all(|(p, n)| p.dot(*n) > 0.9));
}

#[test]
fn points_with_and_without_normals_become_the_same_surface() {
    let folder = Folder::new("points");
    let ball = |i: u64| {
        let p = Random::new(3, i).direction();
        // Repeated points are harmless.
        if i % 50 == 49 { Random::new(3, i - 1).direction() } else { p }
    };
    let bare = xyz((0..4000).map(|i| (ball(i), None)));
    let full = xyz((0..4000).map(|i| (ball(i), Some(3.0 * ball(i)))));
    for text in [bare, full] {
        let world = folder.world("ball.xyz", &text, "spacing = 0.15").unwrap();
        assert!((area(&world) / (2.0 * std::f64::consts::TAU) - 1.0).abs() < 0.04, "{}", area(&world));
        assert!(roughness(&world) < 0.04, "{}", roughness(&world));
        assert!(world.shells().shell(0).unwrap().is_closed());
    }
    let sheet = (0..3000).map(|i| Random::new(4, i).in_cube() * DVec3::new(1.0, 0.0, 0.5));
    let world = folder.world("sheet.xyz", &xyz(sheet.map(|p| (p, None))), "points = 300").unwrap();
    assert!((area(&world) / 2.0 - 1.0).abs() < 0.05, "{}", area(&world));
    let count = world.points().len();
    assert!((250..350).contains(&count), "{count}");
}

#[test]
fn a_strip_with_half_a_turn_is_told_and_cut_open_it_works() {
    let folder = Folder::new("moebius");
    let fault = folder.world("strip.obj", &obj(&ring(true)), "spacing = 0.1").err().unwrap();
    for words in ["one side only", "body[0]", "two sides", "cut"] {
        assert!(fault.contains(words), "{fault}");
    }
    let open = "spacing = 0.1\ncut = [ { box = { min = [0.5, -1, -0.02], max = [1.5, 1, 0.15] } } ]";
    let world = folder.world("strip.obj", &obj(&ring(true)), open).unwrap();
    assert!((2.0..2.6).contains(&area(&world)), "{}", area(&world));
    let strip = (0..3000).map(|i| {
        let mut random = Random::new(5, i);
        let (a, w) = (random.between(0.0, std::f64::consts::TAU), random.between(-0.3, 0.3));
        let r = 1.0 + w * (0.5 * a).cos();
        DVec3::new(r * a.cos(), w * (0.5 * a).sin(), r * a.sin())
    });
    let fault = folder.world("strip.xyz", &xyz(strip.map(|p| (p, None))), "spacing = 0.1").err().unwrap();
    assert!(fault.contains("one side only"), "{fault}");
}

#[test]
fn small_and_broken_input_is_right_or_refused() {
    let folder = Folder::new("small");
    let triangle = "v 0 0 0\nv 1 0 0\nv 0 0 1\nf 1 2 3\n";
    let world = folder.world("one.obj", triangle, "spacing = 0.1").unwrap();
    assert!((area(&world) - 0.5).abs() < 1e-9 && world.points().len() > 50);
    // Twice the same triangle, one without extent and one that is a line.
    let more = format!("{triangle}f 2 3 1\nf 1 1 2\nv 2 0 0\nf 1 2 4\n");
    let world = folder.world("more.obj", &more, "spacing = 0.1").unwrap();
    assert!((area(&world) - 0.5).abs() < 1e-9, "{}", area(&world));
    assert!(world.warnings().iter().any(|w| w.contains("left out")), "{:?}", world.warnings());
    let told = |file: &str, text: &str, words: &[&str]| {
        let fault = folder.world(file, text, "spacing = 0.1").err().unwrap_or_else(|| panic!("{file}: no error"));
        words.iter().for_each(|w| assert!(fault.contains(w), "{file}: {fault}"));
    };
    let fault = folder.world("coarse.obj", triangle, "spacing = 3").err().unwrap();
    assert!(fault.contains("no fiber") && fault.contains("smaller spacing"), "{fault}");
    told("three.xyz", "0 0 0\n1 0 0\n0 0 1\n", &["3 different points", "at least 20"]);
    told("same.xyz", &"1 2 3\n".repeat(50), &["1 different points", "at least 20"]);
    told("line.xyz", &(0..50).map(|i| format!("{i} 0 0\n")).collect::<String>(), &["on lines", "spread over"]);
    told("flat.obj", "v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n", &["no area"]);
    told("none.obj", "v 0 0 0\nv 1 0 0\nv 2 0 0\n", &["no faces", "points"]);
}

#[test]
fn a_painted_part_of_a_mesh_is_a_region() {
    let folder = Folder::new("paint");
    let mut text = String::new();
    for (k, x) in [-0.5, 0.0, 0.5].into_iter().enumerate() {
        let red = if k == 2 { "1 0 0" } else { "1 1 1" };
        text += &format!("v {x} 0 -0.3 {red}\nv {x} 0 0.3 {red}\n");
    }
    text += "f 1 2 4\nf 1 4 3\nf 3 4 6\nf 3 6 5\n";
    let more = "spacing = 0.05\nregions = [ { name = \"seam\", painted = \"#ff0000\" } ]\n\
                patches = [ { region = \"seam\", thickness = 3 } ]";
    let world = folder.world("painted.obj", &text, more).unwrap();
    let seam = world.bodies()[0].region("seam").unwrap();
    let places = || seam.points.iter().map(|&i| world.points().positions[i as usize].x);
    assert!(seam.points.len() > 10 && places().all(|x| x > 0.25), "{:?}", places().fold(1.0, f64::min));
    let shell = world.shells().shell(0).unwrap();
    assert!(seam.points.iter().all(|&i| (shell.thickness(i as usize) - 0.006).abs() < 1e-12));
    let fault = folder.world("plain.obj", "v 0 0 0\nv 1 0 0\nv 0 0 1\nf 1 2 3\n", more).err().unwrap();
    assert!(fault.contains("seam") && fault.contains("paint"), "{fault}");
}

/// Writes the file of the scene `soup`: the mask of the scene `mask`, broken into triangles that lie 3 to 5 mm apart.
#[test]
#[ignore = "writes scenes/shapes/soup.obj"]
fn write_soup() {
    use super::{ShellSource, ShellSurface};
    use crate::geometry::{ShapeLibrary, build};
    let mask = crate::scene::builtin::find("mask").unwrap();
    let scene = Scene::from_toml(mask.toml, None, &[]).unwrap();
    let library = ShapeLibrary::new(&scene.shapes, &|_| None);
    let built = build(&scene.bodies[0].shape, &library, &Files { base: ".".into(), allow_outside: false }).unwrap();
    let mut surface = ShellSurface::new(ShellSource::Solid(&*built.shape), &scene.bodies[0].cuts).unwrap();
    surface.nodes(Some(0.046), 0, false, 1).unwrap();
    let mut text =
        "# A mask in 0.1 mm, of triangles that have fallen apart; written by the test write_soup.\n".to_string();
    for (t, triangle) in surface.triangles.triangles.iter().enumerate() {
        let corners = triangle.map(|v| surface.triangles.positions[v as usize]);
        let mut random = Random::new(2005, t as u64);
        let middle = corners.iter().sum::<DVec3>() / 3.0;
        let turn = DQuat::from_scaled_axis(0.12 * random.in_cube());
        let shift = 1e-3 * random.in_cube();
        let mut corners = corners.map(|x| (1e4 * (middle + shift + turn * (0.75 * (x - middle)))).round());
        if random.unit() < 0.4 {
            corners.swap(1, 2);
        }
        corners.iter().for_each(|x| text += &format!("v {} {} {}\n", x.x, x.y, x.z));
        text += "f -3 -2 -1\n";
    }
    std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenes/shapes/soup.obj"), text).unwrap();
}

#[test]
fn the_skin_of_a_bust_is_closed_and_two_triangles_meet_at_each_edge() {
    let text = builtin::find("bounce").expect("it comes with the program").toml;
    let mut scene = Scene::from_toml(text, None, &[]).expect("it is whole");
    scene.bodies[0].surface.kind = SurfaceKind::Skin;
    scene.bodies[0].surface.count = 5000;
    let mut world = World::new(&scene, &Files { base: ".".into(), allow_outside: false }).expect("it builds");
    let mut frame = Frame::default();
    world.metrics();
    world.frame(&mut frame);
    let mut edges: HashMap<(u32, u32), i32> = HashMap::new();
    for t in &frame.bodies[0].mesh.triangles {
        for k in 0..3 {
            *edges.entry((t[k], t[(k + 1) % 3])).or_default() += 1;
        }
    }
    assert!(edges.len() > 20_000);
    assert!(edges.iter().all(|(&(a, b), &count)| count == 1 && edges.get(&(b, a)) == Some(&1)));
}
