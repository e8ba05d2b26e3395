//! Frames of a run as files of other programs: one file per body and frame, with the topology of that frame.

mod obj;
mod ply;

use super::files::{create_folder, write_whole};
use crate::Result;
use crate::frame::{BodyFrame, Frame, MeshFrame};
use crate::surface::{mesh_of_surfels, velocities_near};
use glam::DVec3;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// What files are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Wavefront OBJ, text: mesh with normals, texture coordinates, colors and material slots; of sheets without one the points.
    Obj,
    /// PLY, binary: the same, and velocities and numbers of the vertices; of sheets without a mesh the surfels.
    Ply,
}

impl Format {
    /// How names of its files end.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Obj => "obj",
            Self::Ply => "ply",
        }
    }

    fn encode(self, body: &BodyFrame) -> Vec<u8> {
        match self {
            Self::Obj => obj::encode(body),
            Self::Ply => ply::encode(body),
        }
    }
}

/// The bodies of a frame that are drawn, as they are written. Those with a closed surface have a mesh: around their surfels, watertight,
/// where they have none of their own. Bodies that have fused have one, which the first of them has; that of the others is empty.
pub fn exported(frame: &Frame) -> Vec<Cow<'_, BodyFrame>> {
    let drawn = frame.bodies.iter().enumerate().filter(|(_, b)| !b.hidden);
    drawn.map(|(k, body)| meshed(k as u32, body, &frame.bodies)).collect()
}

fn meshed<'a>(k: u32, body: &'a BodyFrame, all: &[BodyFrame]) -> Cow<'a, BodyFrame> {
    let led = |first: u32| all.get(first as usize).is_some_and(|b| b.mesh.is_empty());
    if !body.mesh.is_empty() || body.two_sided || body.surfels.is_empty() || body.joined.is_some_and(led) {
        return Cow::Borrowed(body);
    }
    let mut surfels = Cow::Borrowed(&body.surfels);
    let others = all.iter().filter(|b| b.joined == Some(k) && b.mesh.is_empty());
    others.for_each(|b| surfels.to_mut().append(&b.surfels));
    let made = mesh_of_surfels(&surfels);
    let vectors = |list: &[DVec3]| list.iter().map(|v| v.as_vec3()).collect();
    let mesh = MeshFrame {
        positions: vectors(&made.positions),
        normals: vectors(&made.normals),
        velocities: velocities_near(&surfels, &made.positions),
        triangles: made.triangles,
        colors: made.colors.unwrap_or_default(),
        ..MeshFrame::default()
    };
    Cow::Owned(BodyFrame { mesh, ..body.clone() })
}

/// Writes the bodies of a frame into a folder, as `<body>_00012.obj`; returns the files. `name` makes a body's name fit for files.
pub fn write_frame(frame: &Frame, format: Format, dir: &Path, name: impl Fn(&str) -> String) -> Result<Vec<PathBuf>> {
    create_folder(dir)?;
    let mut files = Vec::new();
    for body in exported(frame) {
        let path = dir.join(format!("{}_{:05}.{}", name(&body.name), frame.index, format.extension()));
        write_whole(&path, &format.encode(&body))?;
        files.push(path);
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{Mesh, Sphere};
    use crate::sampling::sample_surfels;
    use crate::surface::{NEW_VERTEX, Surfels};
    use glam::{Vec2, Vec3};

    /// Two triangles of two materials that a crack has parted.
    fn body() -> BodyFrame {
        let x = [0.0, 0.0, 1.0, 1.5, 1.5, 2.5];
        let positions: Vec<Vec3> = (0..6).map(|i| Vec3::new(x[i], 0.25, [0.0, 1.0, 0.1][i % 3])).collect();
        let mesh = MeshFrame {
            normals: vec![-Vec3::Y; 6],
            velocities: vec![Vec3::new(1.0, 2.0, 3.0); 6],
            triangles: vec![[0, 2, 1], [3, 5, 4]],
            ids: vec![0, 1, NEW_VERTEX, NEW_VERTEX, 4, 5],
            uvs: (0..6).map(|i| Vec2::new(x[i] / 4.0, 0.5)).collect(),
            colors: (0..6).map(|i| [i as u8, 100, 255]).collect(),
            slots: vec![1, 0],
            materials: vec!["red".into(), "blue".into()],
            positions,
        };
        BodyFrame { name: "a".into(), mesh, ..BodyFrame::default() }
    }

    #[test]
    fn meshes_read_back() {
        let dir = std::env::temp_dir().join(format!("phyxel-export-{}", std::process::id()));
        let frame = Frame { index: 7, bodies: vec![body()], ..Frame::default() };
        for format in [Format::Obj, Format::Ply] {
            let files = write_frame(&frame, format, &dir, |n| n.into()).unwrap();
            assert_eq!(files, [dir.join(format!("a_00007.{}", format.extension()))]);
            let (read, mesh) = (Mesh::read_open(&files[0]).unwrap(), &frame.bodies[0].mesh);
            assert_eq!(read.triangles.len(), 2);
            for t in 0..2 {
                for k in 0..3 {
                    let (v, w) = (read.triangles[t][k] as usize, mesh.triangles[t][k] as usize);
                    assert_eq!(read.positions[v].as_vec3(), mesh.positions[w]);
                    assert_eq!(read.uvs.as_ref().unwrap()[v].as_vec2(), mesh.uvs[w]);
                    assert_eq!(read.colors.as_ref().unwrap()[v], mesh.colors[w]);
                    assert_eq!(read.normals[v].as_vec3(), mesh.normals[w]);
                }
            }
            if format == Format::Obj {
                let names: Vec<&str> = read.slots.iter().map(|s| read.materials[usize::from(*s)].as_str()).collect();
                assert_eq!(names, ["blue", "red"]);
            }
        }
        std::fs::remove_dir_all(&dir).unwrap();
    }

    /// A ball of surfels that moves, those above a height or those below it.
    fn part(above: bool, joined: Option<u32>) -> BodyFrame {
        let ball = sample_surfels(&Sphere { radius: 1.0 }, 3000, [1, 2, 3], 1);
        let own = |k: &usize| (ball.positions[*k].y > 0.3) == above;
        let mut surfels = Surfels::default();
        for k in (0..ball.len()).filter(own) {
            surfels.positions.push(ball.positions[k]);
            surfels.axes_u.push(ball.axes_u[k]);
            surfels.axes_v.push(ball.axes_v[k]);
            surfels.normals.push(ball.normals[k]);
            surfels.colors.push(ball.colors[k]);
            surfels.velocities.push(Vec3::X);
        }
        BodyFrame { surfels, joined, mesh: MeshFrame::default(), ..body() }
    }

    #[test]
    fn bodies_that_have_fused_are_one_watertight_mesh() {
        let frame = Frame { bodies: vec![part(true, None), part(false, Some(0))], ..Frame::default() };
        let written = exported(&frame);
        let mesh = &written[0].mesh;
        let positions = mesh.positions.iter().map(|p| p.as_dvec3()).collect();
        let closed = Mesh { positions, triangles: mesh.triangles.clone(), ..Mesh::default() };
        assert!(closed.is_closed());
        let volume = 4.0 / 3.0 * std::f64::consts::PI;
        assert!((closed.volume() / volume - 1.0).abs() < 0.03, "{}", closed.volume());
        assert_eq!(mesh.velocities, vec![Vec3::X; mesh.positions.len()]);
        assert!(written[1].mesh.is_empty());
        assert!(String::from_utf8_lossy(&ply::encode(&written[1])).contains("element vertex 0\n"));
        assert!(!String::from_utf8(obj::encode(&written[1])).unwrap().contains("\nv "));
    }

    #[test]
    fn bodies_without_a_mesh_are_points() {
        let points = BodyFrame { positions: vec![Vec3::X, Vec3::Y], mesh: MeshFrame::default(), ..body() };
        assert_eq!(String::from_utf8(obj::encode(&points)).unwrap().matches("\nv ").count(), 2);
        let header = String::from_utf8_lossy(&ply::encode(&points)).into_owned();
        assert!(header.contains("element vertex 2") && header.contains("element face 0"));
    }
}
