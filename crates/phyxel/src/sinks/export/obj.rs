//! Wavefront OBJ. Colors stand behind the coordinates, as most programs read them.

use crate::frame::BodyFrame;
use glam::Vec3;
use std::fmt::Write;

/// A body as text: its mesh, or its points; nothing where another body has its mesh.
pub(super) fn encode(body: &BodyFrame) -> Vec<u8> {
    let mesh = &body.mesh;
    let mut out = format!("# phyxel, meters, y up\no {}\n", body.name.replace(char::is_whitespace, "_"));
    let places = if mesh.is_empty() && body.joined.is_none() { &body.positions } else { &mesh.positions };
    let color = |v: usize| mesh.colors.get(v).map(|c| c.map(|x| f32::from(x) / 255.0));
    // Writing to a string cannot fail.
    for (v, p) in places.iter().enumerate() {
        let _ = write!(out, "v {} {} {}", p.x, p.y, p.z);
        let _ = match color(v) {
            Some([r, g, b]) => writeln!(out, " {r:.4} {g:.4} {b:.4}"),
            None => writeln!(out),
        };
    }
    for uv in &mesh.uvs {
        let _ = writeln!(out, "vt {} {}", uv.x, uv.y);
    }
    for Vec3 { x, y, z } in &mesh.normals {
        let _ = writeln!(out, "vn {x} {y} {z}");
    }
    let mut slot = None;
    for (t, corners) in mesh.triangles.iter().enumerate() {
        let own = mesh.slots.get(t).copied().filter(|s| usize::from(*s) < mesh.materials.len());
        if own != slot {
            slot = own;
            let name = own.map_or("default", |s| mesh.materials[usize::from(s)].as_str());
            let _ = writeln!(out, "usemtl {name}");
        }
        out.push('f');
        for v in corners.map(|v| v + 1) {
            let _ = match mesh.uvs.is_empty() {
                true => write!(out, " {v}//{v}"),
                false => write!(out, " {v}/{v}/{v}"),
            };
        }
        out.push('\n');
    }
    out.into_bytes()
}
