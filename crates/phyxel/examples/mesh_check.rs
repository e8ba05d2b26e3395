//! Checks the meshes of a run as `phyxel export` writes them (those of skins, else those around the surfels), frame by frame.
//!
//! Vertices at exactly the same place (seams of a texture) count as one. An edge is bad unless it has two triangles, one on each side; a vertex
//! unless its triangles are one fan; a triangle if two of its corners are one. `odd` counts what does not fit together: lists of
//! different lengths, vertices that are not finite, no velocities. Beside these the number of shells and of handles, and the volume
//! beside that of the matter.
//!
//! `cargo run --release --example mesh_check -- RUN [FIRST [LAST [STEP]]]`. Ends with an error if anything is bad.

use glam::DVec3;
use phyxel::frame::{BodyFrame, MeshFrame};
use phyxel::geometry::Mesh;
use phyxel::sinks::FrameReader;
use phyxel::sinks::export::exported;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::AddAssign;
use std::path::Path;
use std::process::ExitCode;

/// What is found in the meshes of a frame.
#[derive(Default)]
struct Found {
    /// Edges, vertices and triangles that are bad, and lists that do not fit.
    edges: usize,
    vertices: usize,
    triangles: usize,
    odd: usize,
    /// Volume [m³] and Euler number of each shell.
    shells: Vec<(f64, i64)>,
}

impl AddAssign for Found {
    fn add_assign(&mut self, other: Self) {
        self.edges += other.edges;
        self.vertices += other.vertices;
        self.triangles += other.triangles;
        self.odd += other.odd;
        self.shells.extend(other.shells);
    }
}

impl Found {
    fn bad(&self) -> usize {
        self.edges + self.vertices + self.triangles + self.odd
    }

    fn handles(&self) -> i64 {
        self.shells.len() as i64 - self.shells.iter().map(|s| s.1).sum::<i64>() / 2
    }
}

/// The lowest vertex that hangs together with `v`.
fn head(parents: &mut [u32], mut v: u32) -> u32 {
    while parents[v as usize] != v {
        parents[v as usize] = parents[parents[v as usize] as usize];
        v = parents[v as usize];
    }
    v
}

/// Triangles of a mesh, with vertices at the same place taken as one.
fn merged(mesh: &MeshFrame) -> Vec<[u32; 3]> {
    let positions = mesh.positions.iter().map(|p| p.as_dvec3()).collect();
    let places = Mesh { positions, ..Mesh::default() }.places();
    mesh.triangles.iter().map(|t| t.map(|v| places[v as usize])).collect()
}

fn examine(mesh: &MeshFrame) -> Found {
    let (triangles, place) = (merged(mesh), |v: u32| mesh.positions[v as usize].as_dvec3());
    let mut parents: Vec<u32> = (0..mesh.positions.len() as u32).collect();
    let mut edges: HashMap<(u32, u32), [u32; 2]> = HashMap::new();
    for t in &triangles {
        for k in 0..3 {
            let (a, b) = (t[k], t[(k + 1) % 3]);
            edges.entry((a.min(b), a.max(b))).or_default()[usize::from(a < b)] += 1;
            let (a, b) = (head(&mut parents, a), head(&mut parents, b));
            parents[a.max(b) as usize] = a.min(b);
        }
    }
    let mut shells: BTreeMap<u32, (f64, i64)> = BTreeMap::new();
    let used: BTreeSet<u32> = triangles.iter().flatten().copied().collect();
    for v in used {
        shells.entry(head(&mut parents, v)).or_default().1 += 1;
    }
    for (a, _) in edges.keys() {
        shells.entry(head(&mut parents, *a)).or_default().1 -= 1;
    }
    for t in &triangles {
        let shell = shells.entry(head(&mut parents, t[0])).or_default();
        let [a, b, c]: [DVec3; 3] = t.map(|v| place(v) - place(0));
        shell.0 += a.dot(b.cross(c)) / 6.0;
        shell.1 += 1;
    }
    Found {
        edges: edges.values().filter(|n| **n != [1, 1]).count(),
        vertices: pinched(&triangles),
        triangles: triangles.iter().filter(|[a, b, c]| a == b || b == c || c == a).count(),
        odd: misfits(mesh),
        shells: shells.into_values().collect(),
    }
}

/// Vertices whose triangles are more than one fan.
fn pinched(triangles: &[[u32; 3]]) -> usize {
    // From corner to corner around each vertex.
    let mut around: HashMap<u32, HashMap<u32, u32>> = HashMap::new();
    for t in triangles {
        for k in 0..3 {
            around.entry(t[k]).or_default().insert(t[(k + 1) % 3], t[(k + 2) % 3]);
        }
    }
    let one_fan = |next: &HashMap<u32, u32>| {
        let start = next.keys().next().copied();
        let way = std::iter::successors(start, |v| next.get(v).copied().filter(|v| Some(*v) != start));
        way.take(next.len() + 1).count() == next.len()
    };
    around.values().filter(|next| !one_fan(next)).count()
}

/// Lists that do not have one entry per vertex or triangle, vertices that are not finite, normals without length.
fn misfits(mesh: &MeshFrame) -> usize {
    let (vertices, triangles) = (mesh.positions.len(), mesh.triangles.len());
    let full = [mesh.normals.len(), mesh.velocities.len()];
    let maybe = [mesh.ids.len(), mesh.uvs.len(), mesh.colors.len()];
    let lists = full.iter().filter(|n| **n != vertices).count()
        + maybe.iter().filter(|n| **n != 0 && **n != vertices).count()
        + usize::from(!mesh.slots.is_empty() && mesh.slots.len() != triangles);
    let used: BTreeSet<u32> = mesh.triangles.iter().flatten().copied().collect();
    let sound = |v: &u32| {
        let vectors = [&mesh.positions, &mesh.normals, &mesh.velocities].map(|list| list.get(*v as usize));
        vectors.iter().flatten().all(|p| p.is_finite()) && vectors[1].is_none_or(|n| (n.length() - 1.0).abs() < 1e-3)
    };
    lists + used.iter().filter(|v| !sound(v)).count()
}

/// A column of the run's table; empty if there is none.
fn column(run: &Path, name: &str) -> Vec<f64> {
    let table = std::fs::read_to_string(run.join("metrics.csv")).unwrap_or_default();
    let Some(at) = table.lines().next().and_then(|l| l.split(',').position(|c| c == name)) else { return Vec::new() };
    table.lines().skip(1).filter_map(|l| l.split(',').nth(at)?.parse().ok()).collect()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let Some(run) = arguments.get(1).map(Path::new) else {
        eprintln!("which run?");
        return ExitCode::FAILURE;
    };
    let mut frames = FrameReader::open(run.join("frames"));
    let number = |k: usize, default: u32| arguments.get(k).and_then(|a| a.parse().ok()).unwrap_or(default);
    let (volumes, pieces) = (column(run, "volume"), column(run, "pieces"));
    let (mut count, mut worst, mut handles, mut others) = (0, 0, 0, 0);
    for index in (number(2, 0)..=number(3, frames.count().saturating_sub(1))).step_by(number(4, 1).max(1) as usize) {
        let Ok(frame) = frames.read(index) else {
            eprintln!("frame {index} cannot be read");
            return ExitCode::FAILURE;
        };
        let mut found = Found::default();
        // Bodies that have fused have one mesh, which the first of them has.
        let closed = |b: &BodyFrame| !b.two_sided && !b.surfels.is_empty() && b.joined.is_none();
        for body in exported(&frame) {
            if closed(&body) {
                found += examine(&body.mesh);
            }
        }
        let volume: f64 = found.shells.iter().map(|s| s.0).sum();
        let matter = volumes.get(index as usize).copied().unwrap_or(f64::NAN);
        let known = pieces.get(index as usize).copied().unwrap_or(f64::NAN);
        println!(
            "{index}: {} shells of {known} pieces, {} handles, bad: {} edges, {} vertices, {} triangles, {} odd; {volume:.4e} m3 of {matter:.4e} ({:+.1} %)",
            found.shells.len(),
            found.handles(),
            found.edges,
            found.vertices,
            found.triangles,
            found.odd,
            100.0 * (volume / matter - 1.0)
        );
        count += 1;
        worst = worst.max(found.bad());
        handles = handles.max(found.handles());
        others += usize::from(found.shells.len() as f64 != known);
    }
    println!(
        "{count} frames: at most {worst} bad, at most {handles} handles, {others} frames with another number of shells than of pieces"
    );
    if worst == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
