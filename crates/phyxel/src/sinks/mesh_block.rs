//! The mesh of a body in a frame file.

use super::bytes::{Reader, Writer};
use super::frame_file::{from_octahedral, octahedral};
use crate::frame::MeshFrame;
use glam::Vec2;

/// Bits that say what a mesh has.
const UVS: u8 = 1;
const COLORS: u8 = 2;
const SLOTS: u8 = 4;
/// Most material slots.
const MOST_SLOTS: u32 = 65_536;

pub(super) fn encode(w: &mut Writer, mesh: &MeshFrame) {
    let has = |yes: bool, bit: u8| if yes { bit } else { 0 };
    w.u32(mesh.positions.len() as u32);
    w.u32(mesh.triangles.len() as u32);
    w.u8(has(!mesh.uvs.is_empty(), UVS) | has(!mesh.colors.is_empty(), COLORS) | has(!mesh.slots.is_empty(), SLOTS));
    w.vec3s(&mesh.positions);
    w.vec3s(&mesh.velocities);
    for n in &mesh.normals {
        let o = octahedral(*n) * 32767.0;
        w.bytes(&(o.x.round() as i16).to_le_bytes());
        w.bytes(&(o.y.round() as i16).to_le_bytes());
    }
    mesh.ids.iter().chain(mesh.triangles.iter().flatten()).for_each(|&v| w.u32(v));
    mesh.uvs.iter().for_each(|uv| w.f32s(&uv.to_array()));
    mesh.colors.iter().for_each(|color| w.bytes(color));
    mesh.slots.iter().for_each(|slot| w.bytes(&slot.to_le_bytes()));
    w.u32(mesh.materials.len() as u32);
    mesh.materials.iter().for_each(|name| w.text(name));
}

/// None: cut short, or a triangle names a vertex that is not there.
pub(super) fn decode(r: &mut Reader) -> Option<MeshFrame> {
    let (vertices, triangles, has) = (r.u32()? as usize, r.u32()? as usize, r.u8()?);
    let i16_at = |b: &[u8; 4], i: usize| f32::from(i16::from_le_bytes([b[i], b[i + 1]]));
    let f32_at = |b: &[u8; 8], i: usize| f32::from_le_bytes([b[i], b[i + 1], b[i + 2], b[i + 3]]);
    let u32_at = |b: &[u8; 12], i: usize| u32::from_le_bytes([b[i], b[i + 1], b[i + 2], b[i + 3]]);
    let mut mesh = MeshFrame { positions: r.vec3s(vertices)?, velocities: r.vec3s(vertices)?, ..MeshFrame::default() };
    mesh.normals = r.items::<4, _>(vertices, |b| from_octahedral(Vec2::new(i16_at(b, 0), i16_at(b, 2)) / 32767.0))?;
    mesh.ids = r.u32s(vertices)?;
    mesh.triangles = r.items::<12, _>(triangles, |b| [u32_at(b, 0), u32_at(b, 4), u32_at(b, 8)])?;
    if has & UVS != 0 {
        mesh.uvs = r.items::<8, _>(vertices, |b| Vec2::new(f32_at(b, 0), f32_at(b, 4)))?;
    }
    if has & COLORS != 0 {
        mesh.colors = r.items::<3, _>(vertices, |b| *b)?;
    }
    if has & SLOTS != 0 {
        mesh.slots = r.items::<2, _>(triangles, |b| u16::from_le_bytes(*b))?;
    }
    let names = r.u32().filter(|n| *n <= MOST_SLOTS)?;
    mesh.materials = (0..names).map(|_| r.text()).collect::<Option<_>>()?;
    mesh.triangles.iter().flatten().all(|v| (*v as usize) < vertices).then_some(mesh)
}
