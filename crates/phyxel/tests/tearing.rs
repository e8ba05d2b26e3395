//! Scenes that tear, on many samplings.

use phyxel::frame::{Frame, MeshFrame};
use phyxel::geometry::Files;
use phyxel::run::Simulation;
use phyxel::scene::{Scene, SurfaceKind, builtin};
use phyxel::world::World;
use std::sync::atomic::AtomicBool;

/// `cargo test --release -p phyxel --test tearing -- --include-ignored --nocapture`
#[test]
#[ignore = "slow: twenty runs"]
fn the_poster_parts_in_two_in_twenty_seeds_of_twenty() {
    let text = builtin::find("poster").expect("it comes with the program").toml;
    let mut failed = Vec::new();
    for seed in 1..=20 {
        let mut scene = Scene::from_toml(text, None, &[]).expect("it is whole");
        scene.seed = seed;
        scene.bodies[0].surface.kind = SurfaceKind::None;
        let mut world =
            World::new(&scene, &Files { base: "../../scenes".into(), allow_outside: false }).expect("it builds");
        let (mut most, mut rescues) = (1, 0);
        for _ in 0..72 {
            let advance = world.advance_frame(&AtomicBool::new(false)).expect("it stays whole");
            rescues += advance.rescues.len();
            most = most.max(world.metrics().pieces);
        }
        let cracks = world.shells().cracks(0);
        println!("seed {seed}: {most} pieces, {} of crack, {rescues} rescues, from {}", cracks.len(), cracks[0].from);
        let starts_at_notch = cracks[0].from.distance(glam::DVec3::new(0.0, 0.95, 0.0)) < 0.06;
        if most != 2 || rescues > 0 || !starts_at_notch {
            failed.push(seed);
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

/// A coarse poster with a mesh.
fn small_poster() -> World {
    let text = builtin::find("poster").expect("it comes with the program").toml;
    let mut scene = Scene::from_toml(text, None, &[]).expect("it is whole");
    scene.bodies[0].spacing = Some(0.05);
    scene.bodies[0].surface.kind = SurfaceKind::Skin;
    scene.bodies[0].surface.count = 6000;
    World::new(&scene, &Files { base: "../../scenes".into(), allow_outside: false }).expect("it builds")
}

fn next_frame(world: &mut World) -> MeshFrame {
    world.advance_frame(&AtomicBool::new(false)).expect("it stays whole");
    let mut frame = Frame::default();
    world.metrics();
    world.frame(&mut frame);
    frame.bodies[0].mesh.clone()
}

/// Area, and the largest edge over its length at rest, by the texture coordinates of a sheet of 1 m by 0.7 m.
fn area_and_stretch(mesh: &MeshFrame) -> (f32, f32) {
    let (mut area, mut most) = (0.0, 0.0f32);
    for t in &mesh.triangles {
        let x = t.map(|v| mesh.positions[v as usize]);
        let rest = t.map(|v| mesh.uvs[v as usize] * glam::Vec2::new(1.0, 0.7));
        area += 0.5 * (x[1] - x[0]).cross(x[2] - x[0]).length();
        for k in 0..3 {
            let length = rest[k].distance(rest[(k + 1) % 3]);
            // Shorter ones are as long as places in f32 are exact.
            if length > 1e-5 {
                most = most.max(x[k].distance(x[(k + 1) % 3]) / length);
            }
        }
    }
    (area, most)
}

fn parts(mesh: &MeshFrame) -> usize {
    let mut labels: Vec<u32> = (0..mesh.positions.len() as u32).collect();
    let mut changed = true;
    while changed {
        changed = false;
        for t in &mesh.triangles {
            let least = t.iter().map(|&v| labels[v as usize]).min().expect("three");
            for &v in t {
                changed |= labels[v as usize] != least;
                labels[v as usize] = least;
            }
        }
    }
    let mut used: Vec<u32> = mesh.triangles.iter().flatten().map(|&v| labels[v as usize]).collect();
    used.sort_unstable();
    used.dedup();
    used.len()
}

#[test]
fn the_mesh_of_a_poster_opens_with_it_and_loses_nothing() {
    let mut world = small_poster();
    let mut states = Vec::new();
    let (mut meshes, mut worst) = (Vec::new(), 0.0f32);
    for k in 0..72 {
        meshes.push(next_frame(&mut world));
        worst = worst.max(area_and_stretch(&meshes[k]).1);
        if k % 12 == 11 {
            states.push((k, world.checkpoint()));
        }
    }
    // Strain while it tears is below 0.35 (Green), a stretch of 1.30; right at the tip it is a little more.
    assert!(worst < 1.45, "{worst}");
    let (first, last) = (&meshes[0], &meshes[71]);
    assert_eq!((parts(first), parts(last)), (1, 2));
    let area = area_and_stretch(last).0;
    assert!((area - 0.7).abs() < 0.007, "{area}");
    assert!(last.positions.len() > first.positions.len() + 50);
    assert!((0..first.ids.len()).all(|v| last.ids[v] == first.ids[v] && last.uvs[v] == first.uvs[v]));
    // After a restart in the middle of the tear the mesh has the same bits.
    let (k, state) = states.iter().find(|(k, _)| meshes[*k].positions.len() > first.positions.len()).expect("it tears");
    let mut again = small_poster();
    again.restore(state).expect("it is whole");
    assert!(next_frame(&mut again) == meshes[k + 1], "frame {k}");
}

fn world(text: &str) -> World {
    let scene = Scene::from_toml(text, None, &[]).expect("it is whole");
    World::new(&scene, &Files { base: ".".into(), allow_outside: false }).expect("it builds")
}

/// Pieces of crack in each body after so many frames, and the frame of the first; nothing may need a rescue.
fn run(world: &mut World, frames: u32) -> Vec<(usize, Option<u32>)> {
    let bodies = world.bodies().len();
    let mut found = vec![(0, None); bodies];
    for frame in 1..=frames {
        let advance = world.advance_frame(&AtomicBool::new(false)).expect("it stays whole");
        assert!(advance.rescues.is_empty(), "frame {frame}");
        for (b, (count, first)) in found.iter_mut().enumerate() {
            *count = world.shells().cracks(b).len();
            *first = first.or((*count > 0).then_some(frame));
        }
    }
    found
}

/// A sheet of `size` in the plane y = 0 at `z` whose left and right ends beyond `grip` [m] are held, the right one moved by `keys`.
/// `more` are further lines of regions and of keys after them.
fn held_sheet(name: &str, size: [f64; 2], z: f64, material: &str, grip: f64, more: [&str; 2], keys: &str) -> String {
    let ([x, depth], [regions, after]) = (size, more);
    format!(
        r#"
        [[body]]
        name = "{name}"
        model = "shell"
        shape = {{ kind = "sheet", size = [{x}, {depth}] }}
        at = [0, 0, {z}]
        spacing = 0.02
        material = {{ {material} }}
        surface = {{ kind = "none" }}
        regions = [ {{ name = "left", half_space = {{ normal = [-1, 0, 0], offset = {grip} }} }},
                    {{ name = "right", half_space = {{ normal = [1, 0, 0], offset = {grip} }} }}, {regions} ]
        {after}
        [[pin]]
        body = "{name}"
        region = "left"
        [[pin]]
        body = "{name}"
        region = "right"
        motion = [ {keys} ]
        "#
    )
}

/// A strip whose free 0.2 m are bent to an arc of 60 degrees, to and fro in 0.8 s: keyframes of its end.
fn bending(cycles: u32) -> String {
    let key = |k: u32| {
        let gently = (f64::from(k) / 16.0).min(1.0).powi(2);
        let angle = gently * 60f64.to_radians() * (f64::from(k) * std::f64::consts::PI / 8.0).sin();
        let reach = if angle.abs() > 1e-9 { angle.sin() / angle } else { 1.0 };
        let aside = if angle.abs() > 1e-9 { (1.0 - angle.cos()) / angle } else { 0.0 };
        // What is held turns about its middle, 1.5 cm beyond.
        let (x, y) = (0.2 * reach + 0.015 * angle.cos() - 0.215, 0.2 * aside + 0.015 * angle.sin());
        let (t, turn) = (0.05 * f64::from(k), angle.to_degrees());
        format!("{{ t = {t}, at = [{x}, {y}, 0], rotate = [0, 0, {turn}] }}")
    };
    (0..=16 * cycles).map(key).collect::<Vec<_>>().join(", ")
}

#[test]
fn bent_back_and_forth_what_tires_breaks_and_what_does_not_stays_whole() {
    let strip = |name: &str, z: f64, fatigue: f64| {
        let material = format!(
            r#"young = "2 MPa", poisson = 0.2, density = 1000, thickness = "6 mm", yield_strain = 0.003, creep = 60,
            break_bending = 0.012, fatigue = {fatigue}, damping = 4"#
        );
        held_sheet(name, [0.26, 0.06], z, &material, 0.1, ["", ""], &bending(5))
    };
    let head = "format = 1\nname = \"fatigue\"\ngravity = [0, 0, 0]\nduration = \"4 s\"\nfps = 30\n";
    let mut both = world(&format!("{head}{}{}", strip("tires", 0.0, 30.0), strip("lasts", 0.5, 0.0)));
    let found = run(&mut both, 110);
    // Bent slowly, elastic strain stays near its yield limit, below half of what a fresh strip bears.
    assert!(found[0].1.is_some_and(|frame| (10..110).contains(&frame)), "{found:?}");
    assert_eq!(found[1], (0, None));
}

#[test]
fn microcracks_soften_a_sheet_before_it_tears() {
    let sheet = |name: &str, z: f64, microcracks: f64| {
        let material = format!(
            r#"young = "500 kPa", poisson = 0.2, density = 300, thickness = "2 mm", break_strain = 0.1,
            microcracks = {microcracks}, damping = 10"#
        );
        let notch = format!(r#"{{ name = "notch", nearest = {{ to = [0, 0, {}], count = 1 }} }}"#, z + 0.1);
        let more = [notch.as_str(), r#"weak = [ { region = "notch", strength = 0.6 } ]"#];
        held_sheet(name, [0.4, 0.2], z, &material, 0.17, more, "{ t = 0 }, { t = 1, at = [0.08, 0, 0] }")
    };
    let head = "format = 1\nname = \"microcracks\"\ngravity = [0, 0, 0]\nduration = \"1 s\"\nfps = 60\n";
    let mut both = world(&format!("{head}{}{}", sheet("clean", 0.0, 0.0), sheet("cracked", 1.0, 0.6)));
    let found = run(&mut both, 60);
    let (Some(clean), Some(cracked)) = (found[0].1, found[1].1) else { panic!("{found:?}") };
    assert!(cracked > clean, "{found:?}");
    assert_eq!(both.metrics().pieces, 4, "{found:?}");
}

#[test]
fn the_gas_of_a_torn_balloon_leaves_through_the_tear() {
    let text = builtin::find("balloon").expect("it comes with the program").toml;
    let mut scene = Scene::from_toml(
        text,
        None,
        &[("force.0.outside".into(), "\"100 kPa\"".into()), ("force.0.pressure".into(), "\"125 kPa\"".into())],
    )
    .expect("it is whole");
    scene.bodies[0].spacing = Some(0.03);
    scene.bodies[0].surface.kind = SurfaceKind::None;
    let mut world = World::new(&scene, &Files { base: ".".into(), allow_outside: false }).expect("it builds");
    let mut widths = Vec::new();
    let mut torn = None;
    for frame in 0..90 {
        let advance = world.advance_frame(&AtomicBool::new(false)).expect("it stays whole");
        assert!(advance.rescues.is_empty(), "frame {frame}");
        world.metrics();
        widths.push(world.probe_values()[0]);
        torn = torn.or((!world.shells().cracks(0).is_empty()).then_some(frame));
    }
    assert!(torn.is_some());
    // Blown up by a fifth at least, and small again in the end.
    let most = widths.iter().copied().fold(0.0, f64::max);
    assert!(most > 0.48 && widths[89] < 0.47, "{most} {}", widths[89]);
}

/// Frames after which the first crack is there and the poster is in two.
fn times_of_tearing(spacing: f64, step_part: f64) -> [u32; 2] {
    let text = builtin::find("poster").expect("it comes with the program").toml;
    let mut scene = Scene::from_toml(text, None, &[]).expect("it is whole");
    scene.bodies[0].spacing = Some(spacing);
    scene.bodies[0].surface.kind = SurfaceKind::None;
    let files = Files { base: "../../scenes".into(), allow_outside: false };
    let step = World::new(&scene, &files).expect("it builds").stable_time_step();
    scene.time_step = Some(step_part * step);
    let mut world = World::new(&scene, &files).expect("it builds");
    let mut times = [u32::MAX; 2];
    for frame in 0..72 {
        world.advance_frame(&AtomicBool::new(false)).expect("it stays whole");
        let now = [!world.shells().cracks(0).is_empty(), world.metrics().pieces == 2];
        (0..2).filter(|&k| now[k]).for_each(|k| times[k] = times[k].min(frame));
    }
    times
}

#[test]
fn a_tear_does_not_depend_on_the_step_and_roughly_not_on_the_nodes() {
    let [whole, half, fine] = [(0.05, 1.0), (0.05, 0.4), (0.035, 1.0)].map(|(h, part)| times_of_tearing(h, part));
    for k in 0..2 {
        assert!(whole[k].abs_diff(half[k]) <= 1, "{whole:?} {half:?}");
        // Finer nodes resolve the strain at the tip better: they tear a little earlier.
        assert!(whole[k].abs_diff(fine[k]) <= 8, "{whole:?} {fine:?}");
    }
}

/// Largest distance of the ends of cracks from a way across the sheet, and how far they go to the left and to the right [m].
fn off_the_way(world: &World, body: usize, way: impl Fn(f64) -> f64) -> (f64, [f64; 2]) {
    let ends = world.shells().cracks(body).iter().map(|p| p.to);
    let nearest = |p: glam::DVec3| {
        let aside = |dz: f64| (p.x - way(p.z + dz)).hypot(dz);
        (-50..=50).map(|k| aside(1e-3 * f64::from(k))).fold(f64::INFINITY, f64::min)
    };
    let sides = [f64::min, f64::max].map(|side| ends.clone().map(|p| p.x).fold(0.0, side));
    (ends.map(nearest).fold(0.0, f64::max), sides)
}

/// An S across a sheet of 0.4 m: so far to the right, then to the left [m].
fn s_way(amplitude: f64, z: f64) -> f64 {
    amplitude * (std::f64::consts::TAU * z / 0.4).sin()
}

/// A sheet at `z = at` with a weak point in its edge and an S of such a strength from there.
fn sheet_with_an_s(name: &str, at: f64, amplitude: f64, strength: f64) -> String {
    let place = |z: f64| format!("[{}, 0, {}]", s_way(amplitude, z), z + at);
    let places: Vec<String> = (0..=20).map(|k| place(0.02 * f64::from(k) - 0.2)).collect();
    let regions = format!(
        r#"{{ name = "way", path = {{ through = [{}], radius = 0.015 }} }},
        {{ name = "notch", nearest = {{ to = [0, 0, {}], count = 1 }} }}"#,
        places.join(", "),
        at - 0.2
    );
    let weak =
        format!(r#"weak = [ {{ region = "way", strength = {strength} }}, {{ region = "notch", strength = 0.3 }} ]"#);
    let material =
        r#"young = "500 kPa", poisson = 0.2, density = 300, thickness = "2 mm", break_strain = 0.1, damping = 10"#;
    let keys = "{ t = 0 }, { t = 1, at = [0.12, 0, 0] }";
    held_sheet(name, [0.6, 0.4], at, material, 0.27, [&regions, &weak], keys)
}

const S_HEAD: &str = "format = 1\nname = \"path\"\ngravity = [0, 0, 0]\nduration = \"1 s\"\nfps = 60\n";

#[test]
fn a_tear_follows_the_path_that_is_drawn_for_it() {
    let [free, led] = [("free", 0.0, 1.0), ("led", 1.0, 0.6)].map(|(n, at, s)| sheet_with_an_s(n, at, 0.08, s));
    let mut both = world(&format!("{S_HEAD}{free}{led}"));
    run(&mut both, 60);
    assert_eq!(both.metrics().pieces, 4);
    let way = |z: f64| s_way(0.08, z);
    let (free, led) = (off_the_way(&both, 0, way), off_the_way(&both, 1, |z| way(z - 1.0)));
    assert!(free.0 > 0.045 && led.0 < 0.03, "{free:?} {led:?}");
    assert!(led.1[0] < -0.06 && led.1[1] > 0.06, "{led:?}");
}

/// Two amplitudes, steepest at 41 and 51 degrees to the pull, two strengths, six seeds each. One run of the 24 loses a node on
/// which the tear turns, see docs/methods/shell.md; along paths of 0.7 tears are not led in every seed.
#[test]
#[ignore = "slow: 24 runs"]
fn sheets_part_in_two_along_an_s() {
    let mut failed = Vec::new();
    for (amplitude, strength) in [(0.055, 0.6), (0.055, 0.7), (0.08, 0.6), (0.08, 0.7)] {
        for seed in 1..=6 {
            let sheet = sheet_with_an_s("led", 0.0, amplitude, strength);
            let mut world = world(&format!("{S_HEAD}seed = {seed}\n{sheet}"));
            run(&mut world, 60);
            let (off, sides) = off_the_way(&world, 0, |z| s_way(amplitude, z));
            let pieces = world.metrics().pieces;
            println!(
                "S of {amplitude}, strength {strength}, seed {seed}: {pieces} pieces, {off:.4} m off, {sides:.3?}"
            );
            if pieces != 2 || (strength < 0.65 && off > 0.03) {
                failed.push((amplitude, strength, seed));
            }
        }
    }
    assert!(failed.len() <= 1, "{failed:?}");
}

#[test]
fn a_strip_that_is_jerked_breaks_by_bending_and_one_that_is_led_does_not() {
    // The strain on the outer side of a beam whose end is set in motion at v is √3 v / c: 0.15 at 4 m/s, c = 45 m/s.
    let material =
        r#"young = "2 MPa", poisson = 0.2, density = 1000, thickness = "4 mm", break_bending = 0.05, damping = 1"#;
    let strip = |name: &str, z: f64, keys: &str| {
        format!(
            r#"
            [[body]]
            name = "{name}"
            model = "shell"
            shape = {{ kind = "sheet", size = [0.3, 0.05] }}
            at = [0, 0, {z}]
            spacing = 0.0125
            material = {{ {material} }}
            surface = {{ kind = "none" }}
            regions = [ {{ name = "end", half_space = {{ normal = [-1, 0, 0], offset = 0.11 }} }} ]

            [[pin]]
            name = "{name}"
            body = "{name}"
            region = "end"
            motion = [ {keys} ]
            "#
        )
    };
    let head = "format = 1\nname = \"jerk\"\ngravity = [0, 0, 0]\nduration = \"0.5 s\"\nfps = 60\n";
    let fast = strip("jerked", 0.0, "{ t = 0 }, { t = 0.05, at = [0, 0.2, 0] }");
    let slow = strip("led", 0.5, "{ t = 0 }, { t = 0.5, at = [0, 0.2, 0] }");
    let mut both = world(&format!("{head}{fast}{slow}"));
    let found = run(&mut both, 30);
    assert!(found[0].0 > 0 && found[0].1.is_some_and(|frame| frame < 12), "{found:?}");
    assert_eq!(found[1], (0, None));
}
