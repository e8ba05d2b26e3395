//! Every reader on small inputs, right and wrong, and on thousands of damaged ones.

use super::*;

/// A cube of eight vertices and six quadrilaterals as OBJ.
const CUBE: &str = "# cube\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1\n\
f 4 3 2 1\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n";

fn parsed(name: &str, bytes: &[u8]) -> Result<Raw, Diagnostic> {
    parse(Path::new(name), bytes)
}

fn good(name: &str, bytes: &[u8]) -> Raw {
    parsed(name, bytes).unwrap_or_else(|e| panic!("{e}"))
}

fn bad(name: &str, bytes: &[u8]) -> String {
    parsed(name, bytes).err().unwrap_or_else(|| panic!("{name} must fail")).to_string()
}

fn volume(raw: &Raw) -> f64 {
    let x = |v: u32| raw.positions[v as usize];
    raw.triangles.iter().map(|&[a, b, c]| x(a).dot(x(b).cross(x(c))) / 6.0).sum()
}

fn ply(format: &str, vertex: &str, face: &str, body: &[u8]) -> Vec<u8> {
    let header = format!("ply\nformat {format} 1.0\ncomment made by hand\n{vertex}{face}end_header\n");
    [header.as_bytes(), body].concat()
}

const XYZ: &str = "property float x\nproperty float y\nproperty float z\n";

/// A tetrahedron of volume 1/6 in binary PLY with a property nobody knows in between.
fn binary_ply(big: bool) -> Vec<u8> {
    let mut body = Vec::new();
    let mut float = |v: f32| body.extend(if big { v.to_be_bytes() } else { v.to_le_bytes() });
    for x in [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]] {
        x.into_iter().chain([9.0]).for_each(&mut float);
    }
    for t in [[0_i16, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]] {
        body.push(3);
        t.iter().for_each(|v| body.extend(if big { v.to_be_bytes() } else { v.to_le_bytes() }));
        body.push(7);
    }
    let format = if big { "binary_big_endian" } else { "binary_little_endian" };
    let face = "element face 4\nproperty list uchar short vertex_index\nproperty char flags\n";
    ply(format, &format!("element vertex 4\n{XYZ}property float confidence\n"), face, &body)
}

fn binary_stl(count: u32, triangles: &[[[f32; 3]; 3]]) -> Vec<u8> {
    let mut bytes = vec![b' '; 80];
    bytes.extend(count.to_le_bytes());
    for t in triangles {
        bytes.extend([0_u8; 12]);
        t.iter().flatten().for_each(|v| bytes.extend(v.to_le_bytes()));
        bytes.extend([0_u8; 2]);
    }
    bytes
}

const CORNERS: [[f32; 3]; 4] = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

fn tetrahedron() -> [[[f32; 3]; 3]; 4] {
    [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]].map(|t| t.map(|v| CORNERS[v]))
}

fn glb() -> Vec<u8> {
    let mut blob: Vec<u8> = CORNERS.iter().flatten().flat_map(|v| v.to_le_bytes()).collect();
    blob.extend([0_u8, 2, 1, 0, 1, 3, 1, 2, 3, 0, 3, 2]);
    let json = r#"{"asset":{"version":"2.0"},"scene":0,"scenes":[{"nodes":[0]}],
"nodes":[{"children":[1],"scale":[2,2,2]},{"mesh":0,"translation":[1,0,0],"rotation":[0,0.70710678118,0,0.70710678118]}],
"meshes":[{"primitives":[{"attributes":{"POSITION":0},"indices":1}]}],
"accessors":[{"bufferView":0,"componentType":5126,"count":4,"type":"VEC3"},{"bufferView":1,"componentType":5121,"count":12,"type":"SCALAR"}],
"bufferViews":[{"buffer":0,"byteLength":48},{"buffer":0,"byteOffset":48,"byteLength":12}],"buffers":[{"byteLength":60}]}"#;
    let mut json = json.as_bytes().to_vec();
    json.resize(json.len().next_multiple_of(4), b' ');
    let word = |n: usize| (n as u32).to_le_bytes();
    let total = 12 + 8 + json.len() + 8 + blob.len();
    [b"glTF".as_slice(), &word(2), &word(total), &word(json.len()), b"JSON", &json, &word(blob.len()), b"BIN\0", &blob]
        .concat()
}

#[test]
fn obj_polygons_negative_indices_and_colors() {
    let cube = good("cube.obj", CUBE.as_bytes());
    assert_eq!((cube.positions.len(), cube.triangles.len()), (8, 12));
    assert!((volume(&cube) - 1.0).abs() < 1e-12);
    let relative = good("a.obj", b"v 0 0 0 1 0 0\nv 1 0 0 0 1 0\r\nv 0 1 0 0 0 0.5\nf -3 -2 \\\n -1 # end\n");
    assert_eq!(
        (relative.triangles, relative.colors),
        (vec![[0, 1, 2]], Some(vec![[255, 0, 0], [0, 255, 0], [0, 0, 128]]))
    );
    // A vertex with two normals is split.
    let split =
        good("a.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nvn 0 0 1\nvn 0 1 0\nf 1//1 2//1 3//1\nf 1//2 2//2 4//2\n");
    assert_eq!((split.positions.len(), split.normals.map(|n| n.len())), (6, Some(6)));
    let cloud = good("a.obj", b"v 0 0 0\nvn 0 0 1\nv 1 0 0\nvn 0 0 1\n");
    assert_eq!(cloud.normals.map(|n| n.len()), Some(2));
}

#[test]
fn concave_polygons_are_cut_inside() {
    let arrow = good("a.obj", b"v 0 0 0\nv 2 2 0\nv 0 1 0\nv -2 2 0\nf 1 2 3 4\n");
    let area: f64 = arrow
        .triangles
        .iter()
        .map(|t| {
            let [a, b, c] = t.map(|v| arrow.positions[v as usize]);
            0.5 * (b - a).cross(c - a).z
        })
        .sum();
    let absolute: f64 = arrow
        .triangles
        .iter()
        .map(|t| {
            let [a, b, c] = t.map(|v| arrow.positions[v as usize]);
            0.5 * (b - a).cross(c - a).length()
        })
        .sum();
    assert!((area - 2.0).abs() < 1e-12 && (absolute - 2.0).abs() < 1e-12);
}

#[test]
fn obj_errors_name_the_line() {
    assert!(bad("a.obj", b"v 0 0 0\nv 1 x 0\n").contains("line 2"));
    assert!(bad("a.obj", b"v 0 0 0\nf 1 2 3\n").contains("there is no item 2"));
    assert!(bad("a.obj", b"v 0 0 0\nf 0 1 1\n").contains("there is no item 0"));
    assert!(bad("a.obj", b"v 0 0\n").contains("incomplete"));
    assert!(bad("a.obj", b"v 0 0 0\nv 0 nan 0\nv 0 0 inf\n").contains("vertex 2"));
    assert!(bad("a.obj", b"v 1e300 0 0\n").contains("vertex 1"));
    assert!(bad("a.obj", b"v \0\0\0").contains("binary"));
    assert!(bad("a.obj", b"").contains("empty"));
    assert!(bad("a.fbx", b"abc").contains("obj, ply, stl"));
}

#[test]
fn ply_text_binary_strips_and_colors() {
    let vertex = format!("element vertex 3\n{XYZ}property uchar red\nproperty uchar green\nproperty uchar blue\n");
    let face = "element face 1\nproperty list uchar int vertex_indices\n";
    let text = good("a.ply", &ply("ascii", &vertex, face, b"0 0 0 255 0 9\n1 0 0 0 0 0\n0 1 0 1 2 3\n3 0 1 2\n"));
    assert_eq!((text.triangles.len(), text.colors.unwrap()[0]), (1, [255, 0, 9]));
    for big in [false, true] {
        let raw = good("a.ply", &binary_ply(big));
        assert!((volume(&raw) - 1.0 / 6.0).abs() < 1e-9, "{raw:?}");
    }
    let strips = "element tristrips 1\nproperty list int int vertex_indices\n";
    let raw = good(
        "a.ply",
        &ply("ascii", &format!("element vertex 4\n{XYZ}"), strips, b"0 0 0 1 0 0 0 1 0 1 1 0\n8 0 1 2 3 -1 1 0 2"),
    );
    assert_eq!(raw.triangles, [[0, 1, 2], [2, 1, 3], [1, 0, 2]]);
}

#[test]
fn ply_headers_are_not_believed() {
    let face = "element face 4\nproperty list uchar int vertex_indices\n";
    for format in ["ascii", "binary_little_endian"] {
        let huge = ply(format, &format!("element vertex 178956970\n{XYZ}"), face, &[b'1'; 1000]);
        assert!(bad("a.ply", &huge).contains("promises 178956970"), "{format}");
        let list = ply(
            format,
            &format!("element vertex 1\n{XYZ}"),
            "element face 1\nproperty list uint int vertex_indices\n",
            if format == "ascii" {
                b"0 0 0 4000000000 1 1"
            } else {
                b"\0\0\0\0\0\0\0\0\0\0\0\0\xff\xff\xff\xff\0\0\0\0"
            },
        );
        assert!(bad("a.ply", &list).contains("bytes are left"), "{format}");
    }
    let none = ply("ascii", &format!("element vertex 1\n{XYZ}"), "element nothing 99999999999999\n", b"0 0 0");
    assert_eq!(good("a.ply", &none).positions.len(), 1);
    assert!(bad("a.ply", b"ply\nformat ascii 1.0\n").contains("end_header"));
    assert!(bad("a.ply", b"ply\nend_header\n").contains("format"));
    assert!(bad("a.ply", b"ply\nformat ascii 1.0\nelement vertex many\nend_header\n").contains("line 3"));
    assert!(bad("a.ply", b"solid x").contains("not a PLY"));
    let index = ply(
        "ascii",
        &format!("element vertex 1\n{XYZ}"),
        "element face 1\nproperty list uchar int vertex_indices\n",
        b"0 0 0\n3 0 0 1\n",
    );
    assert!(bad("a.ply", &index).contains("face 1: there is no vertex 1"));
}

#[test]
fn stl_binary_and_text() {
    let raw = good("a.stl", &binary_stl(4, &tetrahedron()));
    assert_eq!((raw.positions.len(), raw.triangles.len()), (4, 4));
    assert!((volume(&raw) - 1.0 / 6.0).abs() < 1e-9);
    assert!(bad("a.stl", &binary_stl(40_000_000, &tetrahedron())).contains("promises 40000000"));
    assert!(bad("a.stl", b"x").contains("84 bytes"));
    let mut text = String::from("solid t\n");
    for t in tetrahedron() {
        text += "facet normal 0 0 0\n outer loop\n";
        t.iter().for_each(|[x, y, z]| text += &format!("  vertex {x} {y} {z}\n"));
        text += " endloop\nendfacet\n";
    }
    assert!((volume(&good("a.stl", (text.clone() + "endsolid t\n").as_bytes())) - 1.0 / 6.0).abs() < 1e-9);
    assert!(bad("a.stl", (text + "outer loop vertex 0 0").as_bytes()).contains("line"));
}

#[test]
fn gltf_nodes_move_their_meshes() {
    let raw = good("a.glb", &glb());
    assert!((volume(&raw) - 8.0 / 6.0).abs() < 1e-6);
    // Scaled by 2 after moving by 1 along x; x turns to -z by the quarter turn about y.
    assert!(raw.positions[1].abs_diff_eq(DVec3::new(2.0, 0.0, -2.0), 1e-6), "{}", raw.positions[1]);
    let inline = r#"{"meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],"accessors":[{"bufferView":0,"componentType":5121,"count":3,"type":"VEC3"}],
"bufferViews":[{"buffer":0,"byteLength":9}],"buffers":[{"uri":"data:application/octet-stream;base64,AAAAAQAAAAEA"}]}"#;
    assert_eq!(good("a.gltf", inline.as_bytes()).positions, [DVec3::ZERO, DVec3::X, DVec3::Y]);
    assert!(
        bad("a.gltf", inline.replace("\"count\":3", "\"count\":3000000000").as_bytes()).contains("promises 3000000000")
    );
    assert!(bad("a.gltf", inline.replace("data:app", "../x").as_bytes()).contains("outside the folder"));
    assert!(bad("a.gltf", b"{").contains("not a glTF"));
    assert!(bad("a.glb", &glb()[..100]).contains("cut off"));
    let circle = r#"{"scenes":[{"nodes":[0]}],"nodes":[{"children":[0]}]}"#;
    assert!(bad("a.gltf", circle.as_bytes()).contains("tree"));
    let draco = r#"{"extensionsRequired":["KHR_draco_mesh_compression"]}"#;
    assert!(bad("a.gltf", draco.as_bytes()).contains("KHR_draco_mesh_compression"));
}

#[test]
fn text_points_with_and_without_normals() {
    let raw = good("a.xyz", b"3\n# a cloud\n0 0 0 0 0 1\n1,0,0,0,0,1\n0;1;0;0;0;1\n");
    assert_eq!((raw.positions.len(), raw.normals.unwrap()[2]), (3, DVec3::Z));
    assert!(good("a.txt", b"0 0 0\n1 1 1\n").normals.is_none());
    assert!(bad("a.xyz", b"0 0 0\n1 1 1 0 0 1\n").contains("line 2"));
}

#[test]
fn missing_files_and_folders_are_told() {
    let folder = std::env::temp_dir();
    assert!(read(&folder).unwrap_err().to_string().contains("folder"));
    assert!(read(&folder.join("no-such-mesh.obj")).unwrap_err().to_string().contains("does not exist"));
}

/// Cut off at every byte and damaged at many: an answer each time, never a panic, never much memory.
#[test]
fn damaged_files_never_panic() {
    let stl_text = b"solid t\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid\n";
    let inputs: [(&str, Vec<u8>); 7] = [
        ("a.obj", CUBE.as_bytes().to_vec()),
        ("a.ply", binary_ply(false)),
        ("a.ply", binary_ply(true)),
        ("a.stl", binary_stl(4, &tetrahedron())),
        ("a.stl", stl_text.to_vec()),
        ("a.glb", glb()),
        ("a.xyz", b"0 0 0 0 0 1\n1 0 0 0 0 1\n".to_vec()),
    ];
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for (name, bytes) in inputs {
        for length in 0..bytes.len() {
            use_it(parsed(name, &bytes[..length]));
        }
        for _ in 0..3000 {
            let mut damaged = bytes.clone();
            for _ in 0..=random(4) {
                let at = random(damaged.len());
                damaged[at] = [0, 0xff, b'9', b'-', b'/', b' ', random(256) as u8][random(7)];
            }
            use_it(parsed(name, &damaged));
        }
    }
}

/// What was read must also be fit for everything that follows.
fn use_it(raw: Result<Raw, Diagnostic>) {
    use crate::geometry::{Mesh, MeshShape, Shape};
    if let Ok(mut mesh) = raw.and_then(Mesh::from_raw) {
        mesh.repair();
        let d = MeshShape::new(&mesh).distance(DVec3::splat(0.2));
        assert!(!d.is_nan());
    }
}
