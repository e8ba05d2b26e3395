//! PLY, binary, little-endian.

use crate::frame::{BodyFrame, MeshFrame};
use glam::Vec3;

/// A body as bytes: its mesh, or its surfels, or its points; nothing where another body has its mesh.
pub(super) fn encode(body: &BodyFrame) -> Vec<u8> {
    if !body.mesh.is_empty() || body.joined.is_some() {
        return table(&body.mesh, body.color);
    }
    // Surfels and points are a mesh without triangles.
    let s = &body.surfels;
    let points = match s.is_empty() {
        true => MeshFrame {
            positions: body.positions.clone(),
            velocities: body.velocities.clone(),
            ids: body.ids.clone(),
            ..MeshFrame::default()
        },
        false => MeshFrame {
            positions: s.positions.clone(),
            normals: s.normals.clone(),
            velocities: s.velocities.clone(),
            colors: s.colors.clone(),
            ..MeshFrame::default()
        },
    };
    table(&points, body.color)
}

fn table(mesh: &MeshFrame, color: [u8; 3]) -> Vec<u8> {
    let count = mesh.positions.len();
    let has = [mesh.normals.len(), mesh.velocities.len(), mesh.uvs.len(), mesh.ids.len()].map(|n| n == count && n > 0);
    let names = [["nx", "ny", "nz"].as_slice(), &["vx", "vy", "vz"], &["s", "t"]];
    let mut head = String::from("ply\nformat binary_little_endian 1.0\ncomment phyxel, meters, y up\n");
    head += &format!("element vertex {count}\nproperty float x\nproperty float y\nproperty float z\n");
    for name in names.iter().zip(has).filter(|(_, has)| *has).flat_map(|(names, _)| names.iter()) {
        head += &format!("property float {name}\n");
    }
    head += "property uchar red\nproperty uchar green\nproperty uchar blue\n";
    head += if has[3] { "property int id\n" } else { "" };
    head += &format!("element face {}\nproperty list uchar uint vertex_indices\n", mesh.triangles.len());
    head += if mesh.slots.is_empty() { "" } else { "property ushort material\n" };
    head += "end_header\n";
    let mut out = head.into_bytes();
    let put = |out: &mut Vec<u8>, v: Vec3| v.to_array().iter().for_each(|x| out.extend(x.to_le_bytes()));
    for v in 0..count {
        put(&mut out, mesh.positions[v]);
        if has[0] {
            put(&mut out, mesh.normals[v]);
        }
        if has[1] {
            put(&mut out, mesh.velocities[v]);
        }
        if has[2] {
            mesh.uvs[v].to_array().iter().for_each(|x| out.extend(x.to_le_bytes()));
        }
        out.extend(mesh.colors.get(v).copied().unwrap_or(color));
        if has[3] {
            // New vertices come out as -1.
            out.extend(mesh.ids[v].to_le_bytes());
        }
    }
    for (t, corners) in mesh.triangles.iter().enumerate() {
        out.push(3);
        corners.iter().for_each(|v| out.extend(v.to_le_bytes()));
        if let Some(slot) = mesh.slots.get(t) {
            out.extend(slot.to_le_bytes());
        }
    }
    out
}
