//! Checks the meshes of a run as they are exported (those of skins, else those around the surfels), frame by frame: every edge has two triangles, one on each side; number of shells and
//! of handles; volume beside that of the matter.
//!
//! `cargo run --release --example mesh_check -- RUN [FIRST [LAST [STEP]]]`. Ends with an error if an edge is bad.

use glam::DVec3;
use phyxel::frame::BodyFrame;
use phyxel::geometry::Mesh;
use phyxel::sinks::FrameReader;
use phyxel::surface::mesh_of_surfels;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::process::ExitCode;

/// Edges with other than two triangles, and volume [m³] and Euler number of each shell, largest first.
fn examine(mesh: &Mesh) -> (usize, Vec<(f64, i64)>) {
    let mut parents: Vec<u32> = (0..mesh.positions.len() as u32).collect();
    fn head(parents: &mut [u32], mut v: u32) -> u32 {
        while parents[v as usize] != v {
            parents[v as usize] = parents[parents[v as usize] as usize];
            v = parents[v as usize];
        }
        v
    }
    let mut edges: HashMap<(u32, u32), [u32; 2]> = HashMap::new();
    for t in &mesh.triangles {
        for k in 0..3 {
            let (a, b) = (t[k], t[(k + 1) % 3]);
            edges.entry((a.min(b), a.max(b))).or_default()[usize::from(a < b)] += 1;
            let (a, b) = (head(&mut parents, a), head(&mut parents, b));
            parents[a.max(b) as usize] = a.min(b);
        }
    }
    let bad = edges.values().filter(|n| **n != [1, 1]).count();
    let mut shells: BTreeMap<u32, (f64, i64)> = BTreeMap::new();
    let used: BTreeSet<u32> = mesh.triangles.iter().flatten().copied().collect();
    for v in used {
        shells.entry(head(&mut parents, v)).or_default().1 += 1;
    }
    for (a, _) in edges.keys() {
        shells.entry(head(&mut parents, *a)).or_default().1 -= 1;
    }
    for t in &mesh.triangles {
        let shell = shells.entry(head(&mut parents, t[0])).or_default();
        let [a, b, c]: [DVec3; 3] = t.map(|v| mesh.positions[v as usize] - mesh.positions[0]);
        shell.0 += a.dot(b.cross(c)) / 6.0;
        shell.1 += 1;
    }
    let mut shells: Vec<(f64, i64)> = shells.into_values().collect();
    shells.sort_by(|a, b| b.0.total_cmp(&a.0));
    (bad, shells)
}

/// The mesh that `phyxel export` writes, with vertices at the same place taken as one.
fn exported(body: &BodyFrame) -> Mesh {
    if body.mesh.is_empty() {
        return mesh_of_surfels(&body.surfels);
    }
    let positions = body.mesh.positions.iter().map(|p| p.as_dvec3()).collect();
    let mut mesh = Mesh { positions, triangles: body.mesh.triangles.clone(), ..Mesh::default() };
    let places = mesh.places();
    mesh.triangles.iter_mut().for_each(|t| *t = t.map(|v| places[v as usize]));
    mesh
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
    let mut worst = 0;
    for index in (number(2, 0)..=number(3, frames.count().saturating_sub(1))).step_by(number(4, 1).max(1) as usize) {
        let Ok(frame) = frames.read(index) else {
            eprintln!("frame {index} cannot be read");
            return ExitCode::FAILURE;
        };
        let (mut bad, mut shells) = (0, Vec::new());
        for body in frame.bodies.iter().filter(|b| !b.hidden && !b.two_sided) {
            let (edges, own) = examine(&exported(body));
            bad += edges;
            shells.extend(own);
        }
        worst = worst.max(bad);
        let volume: f64 = shells.iter().map(|s| s.0).sum();
        let euler: i64 = shells.iter().map(|s| s.1).sum();
        let matter = volumes.get(index as usize).copied().unwrap_or(f64::NAN);
        let known = pieces.get(index as usize).copied().unwrap_or(f64::NAN);
        let handles = shells.len() as i64 - euler / 2;
        println!(
            "{index}: {} shells of {known} pieces, {handles} handles, {bad} bad edges, {volume:.4e} m3 of {matter:.4e} ({:+.1} %)",
            shells.len(),
            100.0 * (volume / matter - 1.0)
        );
    }
    if worst == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
