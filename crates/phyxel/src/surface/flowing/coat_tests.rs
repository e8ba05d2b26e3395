//! Triangles with a texture on balls that part and fuse.

use super::tests::{Lab, RADIUS, SPACING};
use super::*;
use crate::frame::MeshFrame;
use crate::surface::NEW_VERTEX;
use crate::surface::sew::shells_and_handles;
use glam::DVec2;

/// Vertices around and from pole to pole; the seam has vertices on both sides.
const AROUND: u32 = 64;
const DOWN: u32 = 32;

/// A ball of triangles with a texture and two materials.
fn globe(center: DVec3) -> Mesh {
    let mut mesh = Mesh::default();
    let mut uvs = Vec::new();
    for k in 0..(AROUND + 1) * (DOWN + 1) {
        let (i, j) = (k % (AROUND + 1), k / (AROUND + 1));
        let (u, v) = (f64::from(i) / f64::from(AROUND), f64::from(j) / f64::from(DOWN));
        // The same bits on both sides of the seam.
        let (sin, cos) = (std::f64::consts::TAU * f64::from(i % AROUND) / f64::from(AROUND)).sin_cos();
        let (out, up) = match j {
            0 => (0.0, 1.0),
            DOWN => (0.0, -1.0),
            _ => (std::f64::consts::PI * v).sin_cos(),
        };
        mesh.positions.push(center + RADIUS * DVec3::new(out * cos, up, out * sin));
        uvs.push(DVec2::new(u, v));
    }
    for (i, j) in (0..DOWN).flat_map(|j| (0..AROUND).map(move |i| (i, j))) {
        let at = |i: u32, j: u32| j * (AROUND + 1) + i;
        let quad = [[at(i, j), at(i + 1, j), at(i + 1, j + 1)], [at(i, j), at(i + 1, j + 1), at(i, j + 1)]];
        // At the poles one of the two has no extent.
        let skip = if j == 0 { 0 } else { 1 };
        for (_, t) in quad.into_iter().enumerate().filter(|(k, _)| (j != 0 && j != DOWN - 1) || *k != skip) {
            mesh.triangles.push(t);
            mesh.slots.push(u16::from(j < DOWN / 2));
        }
    }
    mesh.uvs = Some(uvs);
    mesh.materials = vec!["south".into(), "north".into(), "inner".into()];
    mesh.compute_normals();
    mesh
}

/// A lab whose bodies wear globes.
struct Worns {
    lab: Lab,
    globes: Vec<Mesh>,
    carriers: Vec<Carrier>,
}

impl Worns {
    fn new(centers: &[DVec3]) -> Self {
        let globes: Vec<Mesh> = centers.iter().map(|c| globe(*c)).collect();
        for mesh in &globes {
            assert!(mesh.is_closed() && mesh.volume() > 0.0);
        }
        let mut lab = Lab::make(centers, 1.0, true);
        let mut surface = std::mem::take(&mut lab.surface);
        // Vertices find their hosts among the points from the first of their body on: in the order in which bodies join.
        lab.with(&lab.rest, |points| {
            for (b, mesh) in globes.iter().enumerate() {
                surface.join_coat(b as u32, mesh, points);
            }
        });
        lab.surface = surface;
        let carriers = centers.iter().map(|_| Carrier::bind(Surfels::default(), &lab.rest, &vec![0.4; lab.rest.len()]));
        Self { carriers: carriers.collect(), lab, globes }
    }

    fn frame(&mut self, map: impl Fn(usize, DVec3) -> DVec3) {
        let positions: Vec<DVec3> = self.lab.rest.iter().enumerate().map(|(i, &p)| map(i, p)).collect();
        let none = Surfels::default();
        let mut surface = std::mem::take(&mut self.lab.surface);
        let coat = |(mesh, carrier)| Coated { mesh, carrier, vertices: &none };
        let carried: Vec<Option<Carried>> = self
            .globes
            .iter()
            .zip(&self.carriers)
            .map(|(m, carrier)| Some(Carried { carrier, surfels: &none, paint: None, coat: Some(coat((m, carrier))) }))
            .collect();
        self.lab.with(&positions, |points| surface.update(points, &carried, &[]));
        self.lab.surface = surface;
    }

    fn meshes(&self) -> Vec<MeshFrame> {
        let worn: Vec<Worn> = self.globes.iter().enumerate().map(|(b, m)| (b as u32, m)).collect();
        let mut meshes = vec![MeshFrame::default(); worn.len()];
        self.lab.surface.write_coats(&worn, |b, mesh| meshes[b as usize] = mesh);
        meshes
    }
}

/// Shells and handles of a mesh, which is closed and manifold, and its volume.
fn examine(mesh: &MeshFrame) -> (usize, i64, f64) {
    let positions = mesh.positions.iter().map(|p| p.as_dvec3()).collect();
    let whole = Mesh { positions, triangles: mesh.triangles.clone(), ..Mesh::default() };
    let (shells, handles) = shells_and_handles(&mesh.triangles, &whole.places());
    (shells, handles, whole.volume())
}

/// Vertices that stay have their numbers, texture and materials.
fn same_texture(mesh: &MeshFrame, globe: &Mesh) -> usize {
    let uvs = globe.uvs.as_ref().unwrap();
    let count = globe.positions.len();
    assert!((0..count).all(|v| mesh.ids[v] == v as u32 && mesh.uvs[v] == uvs[v].as_vec2()));
    assert!(mesh.ids[count..].iter().all(|id| *id == NEW_VERTEX));
    assert_eq!((mesh.uvs.len(), mesh.slots.len()), (mesh.positions.len(), mesh.triangles.len()));
    let old = |t: &[u32; 3]| t.iter().all(|&v| (v as usize) < count);
    let mut kept = 0;
    for (t, slot) in mesh.triangles.iter().zip(&mesh.slots).filter(|(t, _)| old(t)) {
        if let Some(k) = globe.triangles.iter().position(|g| g == t) {
            assert_eq!(*slot, globe.slots[k]);
            kept += 1;
        }
    }
    kept
}

#[test]
fn what_is_torn_is_two_closed_meshes_with_the_texture_where_matter_stayed_whole() {
    let mut worn = Worns::new(&[DVec3::ZERO]);
    let right: Vec<u32> = worn.lab.rest.iter().map(|p| u32::from(p.x > 0.0)).collect();
    worn.lab.labels.fill(7);
    let whole = worn.globes[0].volume();
    let mut kept = worn.globes[0].triangles.len();
    for k in 0..40 {
        if k == 5 {
            worn.lab.labels.clone_from(&right);
        }
        let gap = 0.02 * f64::from((k - 4).max(0));
        worn.frame(move |_, p| p + DVec3::X * gap * if p.x > 0.0 { 1.0 } else { -1.0 });
        let mesh = &worn.meshes()[0];
        let (shells, handles, volume) = examine(mesh);
        if k < 5 {
            assert_eq!(mesh.triangles, worn.globes[0].triangles);
        }
        if k > 12 {
            assert_eq!((shells, handles), (2, 0), "frame {k}");
        }
        // In the frames in which it parts the new faces are not there yet.
        let tolerance = if (5..=8).contains(&k) { 0.2 } else { 0.08 };
        assert!((volume / whole - 1.0).abs() < tolerance, "{k}: {volume} {whole}");
        // What is gone does not come back.
        let now = same_texture(mesh, &worn.globes[0]);
        assert!(now <= kept, "frame {k}: {now} after {kept}");
        kept = now;
        // What stays is where its half has carried it.
        let rest = &worn.globes[0].positions;
        for v in mesh.triangles.iter().flatten().map(|v| *v as usize).filter(|v| *v < rest.len()) {
            let p = rest[v];
            // Pairs that part are up to 1.5 spacings off the break, and are felt up to 2.2 spacings farther.
            if p.x.abs() > 3.8 * SPACING {
                let there = p + DVec3::X * gap * p.x.signum();
                assert!(mesh.positions[v].as_dvec3().distance(there) < 0.01 * SPACING, "{k} {p}");
            }
        }
    }
    // Up to 3.2 spacings from the break surfels fade by more than half; 36 % of the ball's surface lies farther off.
    assert!(10 * kept > 3 * worn.globes[0].triangles.len(), "{kept}");
    assert!(kept < worn.globes[0].triangles.len());
}

#[test]
fn what_fuses_is_one_closed_mesh() {
    let apart = 1.15 * RADIUS;
    let mut worn = Worns::new(&[DVec3::X * -apart, DVec3::X * apart]);
    let first = worn.lab.rest.len() / 2;
    for k in 0..40 {
        if k == 20 {
            worn.lab.labels.fill(0);
        }
        let t = 0.01 * f64::from(k.min(25));
        worn.frame(move |i, p| p + DVec3::X * if i < first { t } else { -t });
        let meshes = worn.meshes();
        if k < 20 {
            assert!(meshes.iter().zip(&worn.globes).all(|(m, g)| examine(m).0 == 1 && m.triangles == g.triangles));
        }
        if k == 39 {
            let (shells, handles, volume) = examine(&meshes[0]);
            assert_eq!((shells, handles), (1, 0));
            assert!((1.7..2.05).contains(&(volume / worn.globes[0].volume())), "{volume}");
            assert!(meshes[1].triangles.is_empty() && !meshes[1].is_empty());
            // The numbers of the second body follow those of the first.
            let count = worn.globes[0].positions.len();
            assert!((0..2 * count).all(|v| meshes[0].ids[v] == v as u32));
        }
    }
}

#[test]
fn coats_survive_a_restart_with_the_same_bits() {
    let mut worn = Worns::new(&[DVec3::ZERO]);
    let right: Vec<u32> = worn.lab.rest.iter().map(|p| u32::from(p.x > 0.0)).collect();
    let pull =
        |k: i32| move |_: usize, p: DVec3| p + DVec3::X * 0.02 * f64::from(k) * if p.x > 0.0 { 1.0 } else { -1.0 };
    for k in 0..6 {
        if k == 3 {
            worn.lab.labels.clone_from(&right);
        }
        worn.frame(pull(k));
    }
    let state = worn.lab.surface.state();
    worn.frame(pull(6));
    let straight = worn.meshes();
    let mut again = FlowingSurface::default();
    again.restore(&state, worn.lab.rest.len()).unwrap();
    worn.lab.surface = again;
    worn.frame(pull(6));
    assert_eq!(straight, worn.meshes());
    assert!(FlowingSurface::default().restore(&state[..state.len() - 4], worn.lab.rest.len()).is_none());
}
