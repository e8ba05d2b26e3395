//! Meshes as solids: distance and sign against brute force, repair, scanned models.

use super::tests::Random;
use super::winding::solid_angle;
use super::*;
use std::f64::consts::PI;
use std::path::Path;

/// A ball of radius 1 by subdividing an octahedron; vertices shared.
fn ball(levels: usize) -> Mesh {
    let mut positions = vec![DVec3::X, DVec3::Y, DVec3::Z, -DVec3::X, -DVec3::Y, -DVec3::Z];
    let mut triangles: Vec<[u32; 3]> =
        vec![[0, 1, 2], [1, 3, 2], [3, 4, 2], [4, 0, 2], [1, 0, 5], [3, 1, 5], [4, 3, 5], [0, 4, 5]];
    for _ in 0..levels {
        let mut known = std::collections::HashMap::new();
        let mut middle = |a: u32, b: u32| {
            *known.entry((a.min(b), a.max(b))).or_insert_with(|| {
                positions.push((positions[a as usize] + positions[b as usize]).normalize());
                positions.len() as u32 - 1
            })
        };
        triangles = triangles
            .iter()
            .flat_map(|&[a, b, c]| {
                let (ab, bc, ca) = (middle(a, b), middle(b, c), middle(c, a));
                [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]
            })
            .collect();
    }
    Mesh { positions, triangles, ..Mesh::default() }
}

fn joined(a: &Mesh, b: &Mesh) -> Mesh {
    let offset = a.positions.len() as u32;
    let mut mesh = a.clone();
    mesh.positions.extend(&b.positions);
    mesh.triangles.extend(b.triangles.iter().map(|t| t.map(|v| v + offset)));
    mesh
}

fn moved(mesh: &Mesh, by: DVec3, scale: f64) -> Mesh {
    let pose = Pose { translation: by, scale, ..Pose::IDENTITY };
    mesh.transformed(DVec3::ONE, &pose)
}

fn brute_winding(mesh: &Mesh, p: DVec3) -> f64 {
    (0..mesh.triangles.len()).map(|t| solid_angle(mesh.corners(t), p)).sum::<f64>() / (4.0 * PI)
}

fn brute_distance(mesh: &Mesh, p: DVec3) -> f64 {
    (0..mesh.triangles.len())
        .map(|t| triangle::closest(&mesh.corners(t), p).0.distance(p))
        .fold(f64::INFINITY, f64::min)
}

/// Distance and sign agree with all triangles and the plain winding number.
fn check_against_brute(mesh: &Mesh, size: f64) {
    let shape = MeshShape::new(mesh);
    let mut random = Random(17);
    for _ in 0..300 {
        let p = random.point(size);
        let (d, n) = shape.distance_normal(p);
        assert_eq!(d, shape.distance(p));
        assert!((d.abs() - brute_distance(mesh, p)).abs() < 1e-12);
        assert_eq!(d < 0.0, brute_winding(mesh, p) > 0.5, "sign at {p}");
        assert!((shape.winding(p) - brute_winding(mesh, p)).abs() < 0.05);
        assert!(shape.distance(p - d * n).abs() < 1e-9, "normal at {p}");
    }
}

#[test]
fn a_closed_mesh_is_exact() {
    let mut mesh = ball(3);
    let report = mesh.repair();
    assert!(report.closed && report.warnings().is_empty(), "{:?}", report.warnings());
    assert!((mesh.volume() / (4.0 / 3.0 * PI) - 1.0).abs() < 0.03 && (mesh.area() / (4.0 * PI) - 1.0).abs() < 0.03);
    assert!(mesh.normals.iter().zip(&mesh.positions).all(|(n, x)| n.dot(*x) > 0.99));
    check_against_brute(&mesh, 1.2);
}

#[test]
fn sharp_corners_have_the_right_sign_everywhere() {
    // A star-like solid: every other corner pushed in.
    let mut mesh = ball(2);
    for (i, x) in mesh.positions.iter_mut().enumerate() {
        *x *= if i % 3 == 0 { 0.3 } else { 1.0 };
    }
    assert!(mesh.repair().closed);
    check_against_brute(&mesh, 1.1);
}

#[test]
fn split_vertices_are_still_one_surface() {
    let whole = ball(2);
    let soup = Mesh {
        positions: whole.triangles.iter().flatten().map(|&v| whole.positions[v as usize]).collect(),
        triangles: (0..whole.triangles.len() as u32).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect(),
        ..Mesh::default()
    };
    assert!(soup.is_closed());
    check_against_brute(&soup, 1.2);
}

#[test]
fn holes_are_closed_and_told() {
    let mut mesh = ball(3);
    mesh.triangles.retain(|t| t.iter().any(|&v| mesh.positions[v as usize].y < 0.9));
    let report = mesh.repair();
    assert!(report.closed && report.closed_holes == 1 && report.open_edges > 3, "{report:?}");
    assert!(report.warnings()[0].contains("1 holes closed"));
    assert!(mesh.is_closed());
    check_against_brute(&mesh, 1.2);
    let shape = MeshShape::new(&mesh);
    assert!(shape.distance(DVec3::Y * 0.8) < 0.0 && shape.distance(DVec3::Y * 0.99) > 0.0);
}

#[test]
fn long_rims_are_closed_too() {
    // A tube with two open ends of 700 edges.
    let n = 700;
    let mut mesh = Mesh::default();
    for i in 0..n {
        let (s, c) = (2.0 * PI * f64::from(i) / f64::from(n)).sin_cos();
        mesh.positions.extend([DVec3::new(c, -1.0, s), DVec3::new(c, 1.0, s)]);
        let (a, b) = (2 * i as u32, 2 * ((i + 1) % n) as u32);
        mesh.triangles.extend([[a, a + 1, b], [b, a + 1, b + 1]]);
    }
    let report = mesh.repair();
    assert!(report.closed && report.closed_holes == 2, "{report:?}");
    assert!((mesh.volume() / (2.0 * PI) - 1.0).abs() < 1e-3 && (mesh.area() / (6.0 * PI) - 1.0).abs() < 1e-3);
}

#[test]
fn flipped_triangles_and_inside_out_pieces_are_turned() {
    let mut mesh = ball(2);
    for t in mesh.triangles.iter_mut().step_by(5) {
        t.swap(0, 1);
    }
    let mut report = mesh.repair();
    assert_eq!((report.turned_triangles, report.closed), (26, true));
    check_against_brute(&mesh, 1.2);
    mesh.triangles.iter_mut().for_each(|t| t.swap(0, 1));
    report = mesh.repair();
    assert_eq!((report.turned_pieces, report.turned_triangles), (1, 0));
    assert!(mesh.volume() > 0.0);
}

#[test]
fn cavities_stay_and_parts_inside_the_solid_do_not_count() {
    let mut inner = moved(&ball(2), DVec3::ZERO, 0.5);
    let mut solid = joined(&ball(2), &inner);
    assert_eq!(solid.repair().turned_pieces, 0);
    let shape = MeshShape::new(&solid);
    assert!(shape.distance(DVec3::ZERO) < -0.9, "the inner ball does not count");
    inner.triangles.iter_mut().for_each(|t| t.swap(0, 1));
    let mut hollow = joined(&ball(2), &inner);
    assert_eq!(hollow.repair().turned_pieces, 0);
    let shape = MeshShape::new(&hollow);
    assert!(shape.distance(DVec3::ZERO) > 0.4 && shape.distance(DVec3::X * 0.7) < 0.0);
}

#[test]
fn crossing_pieces_are_one_solid() {
    let mut mesh = joined(&ball(3), &moved(&ball(3), DVec3::new(0.7, 0.1, 0.2), 1.0));
    mesh.repair();
    let shape = MeshShape::new(&mesh);
    assert!(shape.crossing_triangles() > 10);
    let mut random = Random(2);
    for _ in 0..500 {
        let p = random.point(1.5);
        let truth = (p.length() - 1.0).min(p.distance(DVec3::new(0.7, 0.1, 0.2)) - 1.0);
        let d = shape.distance(p);
        assert!(truth.abs() < 0.02 || (d < 0.0) == (truth < 0.0), "sign at {p}");
    }
    for _ in 0..300 {
        let p = random.point(1.5);
        assert_eq!(shape.distance(p) < 0.0, brute_winding(&mesh, p) > 0.5, "sign at {p}");
    }
    // Deep inside both balls the inner sheets do not show.
    assert!(shape.distance(DVec3::new(0.35, 0.05, 0.1)) < -0.6);
}

#[test]
fn a_wall_between_two_cells_does_not_count() {
    // Two cubes that share the four vertices of a face, and have that face twice.
    let mut mesh = Mesh::default();
    for x in 0..3 {
        for (y, z) in [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)] {
            mesh.positions.push(DVec3::new(f64::from(x), y, z));
        }
    }
    for cell in [0, 4] {
        let mut quad =
            |q: [u32; 4]| mesh.triangles.extend([[q[0], q[1], q[2]], [q[0], q[2], q[3]]].map(|t| t.map(|v| v + cell)));
        quad([3, 2, 1, 0]);
        quad([4, 5, 6, 7]);
        (0..4).for_each(|k| quad([k, (k + 1) % 4, (k + 1) % 4 + 4, k + 4]));
    }
    let report = mesh.repair();
    assert!(report.closed && report.non_manifold_edges == 4 && (report.volume - 2.0).abs() < 1e-12, "{report:?}");
    let shape = MeshShape::new(&mesh);
    let truth = Placed::new(
        std::sync::Arc::new(Cuboid::new(DVec3::new(2.0, 1.0, 1.0), 0.0)),
        Pose { translation: DVec3::new(1.0, 0.5, 0.5), ..Pose::IDENTITY },
    );
    let mut random = Random(8);
    for _ in 0..500 {
        let p = DVec3::ONE + random.point(1.5);
        assert!((shape.distance(p) - truth.distance(p)).abs() < 1e-9, "at {p}");
    }
}

#[test]
fn an_open_bowl_has_a_continuous_distance() {
    let mut mesh = ball(3);
    mesh.triangles.retain(|t| t.iter().any(|&v| mesh.positions[v as usize].y < -0.85));
    let report = mesh.repair();
    assert!(!report.closed && report.warnings()[0].contains("winding number"), "{report:?}");
    let shape = MeshShape::new(&mesh);
    assert!(shape.distance(DVec3::Y * -0.97) < 0.0 && shape.distance(DVec3::Y * 0.5) > 0.0);
    let mut last = shape.distance(DVec3::Y * -1.5);
    for i in 0..3000 {
        let d = shape.distance(DVec3::Y * (-1.5 + 0.001 * f64::from(i)));
        assert!((d - last).abs() < 0.02, "jump at step {i}: {last} to {d}");
        last = d;
    }
}

#[test]
fn triangles_on_a_line_keep_the_surface_whole() {
    // One edge of a tetrahedron has a vertex in its middle on one side only; a flat triangle fills the gap.
    let mut mesh = Mesh {
        positions: vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z, DVec3::X * 0.5],
        triangles: vec![[0, 2, 4], [4, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2], [0, 4, 1]],
        ..Mesh::default()
    };
    let report = mesh.repair();
    assert!(report.closed && report.triangles == 6, "{report:?}");
    check_against_brute(&mesh, 1.2);
}

#[test]
fn degenerate_triangles_are_dropped() {
    let mut mesh = ball(1);
    let count = mesh.triangles.len();
    mesh.positions.push(mesh.positions[0]);
    mesh.triangles.push([0, 0, 1]);
    mesh.triangles.push([0, mesh.positions.len() as u32 - 1, 1]);
    let report = mesh.repair();
    assert_eq!((report.degenerate_triangles, mesh.triangles.len(), report.closed), (2, count, true));
    assert_eq!(mesh.positions.len(), 18, "unused vertices are gone");
}

#[test]
fn an_empty_mesh_is_an_empty_solid() {
    let mut mesh = Mesh::default();
    mesh.repair();
    assert_eq!(MeshShape::new(&mesh).distance(DVec3::ZERO), f64::INFINITY);
}

/// CPU time of this thread [ns], where the system tells; only for the eye.
fn cpu_ns() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|t| t.parse().ok()).unwrap_or(f64::NAN)
}

/// Scans are not part of the project; put them into a folder and name it in PHYXEL_MODELS.
#[test]
fn scanned_models_have_a_sensible_inside() {
    let Some(folder) = std::env::var_os("PHYXEL_MODELS") else {
        eprintln!("skipped: PHYXEL_MODELS names no folder with scanned models");
        return;
    };
    for file in ["max-planck.obj", "stanford-bunny.obj", "igea.ply"] {
        let clock = std::time::Instant::now();
        let (mesh, mut report) = Mesh::read(&Path::new(&folder).join(file)).unwrap_or_else(|e| panic!("{e}"));
        let read = clock.elapsed();
        let shape = MeshShape::new(&mesh);
        report.crossing_triangles = shape.crossing_triangles();
        println!("{file}: read {read:?}, tree {:?}\n{report:?}\n{:#?}", clock.elapsed() - read, report.warnings());
        assert!(report.closed && report.volume > 0.0);
        let bounds = shape.bounds();
        let mut random = Random(1);
        let points: Vec<DVec3> = (0..20_000)
            .map(|_| {
                let t = (random.unit() * mesh.triangles.len() as f64) as usize;
                mesh.corners(t)[0] + random.point(0.02 * bounds.size().max_element())
            })
            .collect();
        let before = cpu_ns();
        let sum: f64 = points.iter().map(|&p| shape.distance(p)).sum();
        println!("{:.0} ns per distance near the surface ({sum})", (cpu_ns() - before) / 20_000.0);
        let before = cpu_ns();
        let sum: f64 = points.iter().map(|&p| shape.winding(p)).sum();
        println!("{:.0} ns per winding number ({sum})", (cpu_ns() - before) / 20_000.0);
        for &p in points.iter().step_by(100) {
            assert_eq!(shape.distance(p) < 0.0, brute_winding(&mesh, p) > 0.5, "{file} at {p}");
        }
        // The share of points inside gives the volume.
        let inside = (0..20_000)
            .filter(|_| shape.distance(bounds.min + bounds.size() * (0.5 * (random.point(1.0) + 1.0))) < 0.0)
            .count();
        let size = bounds.size();
        let volume = inside as f64 / 20_000.0 * size.x * size.y * size.z;
        assert!((volume / report.volume - 1.0).abs() < 0.04, "{file}: {volume} is not {}", report.volume);
    }
}

#[test]
fn files_become_solids_with_height_scale_and_place() {
    use crate::scene::{ShapeKind, ShapeSpec};
    let folder = std::env::temp_dir().join(format!("phyxel-mesh-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mesh = ball(3);
    let mut text = String::new();
    mesh.positions.iter().for_each(|x| text += &format!("v {} {} {}\n", x.x, x.y, x.z));
    // One triangle is missing.
    mesh.triangles.iter().skip(1).for_each(|[a, b, c]| text += &format!("f {} {} {}\n", a + 1, b + 1, c + 1));
    std::fs::write(folder.join("ball.obj"), text).unwrap();
    let files = Files { base: folder.clone(), allow_outside: false };
    let spec = |file: &str, height| ShapeSpec {
        at: DVec3::new(0.0, 3.0, 0.0),
        rotate: DVec3::new(0.0, 0.0, 90.0),
        scale: DVec3::new(2.0, 1.0, -1.0),
        ..ShapeSpec::new(ShapeKind::Mesh { file: file.into(), height })
    };
    let built = build(&spec("ball.obj", Some(0.5)), &ShapeLibrary::empty(), &files).unwrap_or_else(|e| panic!("{e}"));
    assert!(
        built.warnings[0].contains("ball.obj: the mesh is open at 3 edges: 1 holes closed"),
        "{:?}",
        built.warnings
    );
    // 0.5 high, twice as long along x, then x turned to y.
    let size = built.shape.bounds().size();
    assert!(size.abs_diff_eq(DVec3::new(0.5, 1.0, 0.5), 1e-9), "{size}");
    assert!((built.shape.distance(DVec3::new(0.0, 3.6, 0.0)) - 0.1).abs() < 1e-9);
    assert!(built.shape.distance(DVec3::new(0.0, 3.4, 0.0)) < 0.0);
    let mesh = built.mesh.expect("a mesh");
    assert!(
        mesh.volume() > 0.0 && mesh.normals.iter().zip(&mesh.positions).all(|(n, x)| n.dot(*x - DVec3::Y * 3.0) > 0.0)
    );
    let text =
        |file: &str, height| build(&spec(file, height), &ShapeLibrary::empty(), &files).err().unwrap().to_string();
    assert!(text("ball.obj", Some(0.0)).contains("shape.height"));
    assert!(text("none.obj", None).contains("does not exist") && text("none.obj", None).contains("shape.file"));
    std::fs::remove_dir_all(folder).unwrap();
}
