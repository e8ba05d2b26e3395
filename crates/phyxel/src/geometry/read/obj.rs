//! Wavefront OBJ: vertices (with colors), normals, texture coordinates, polygons; names of materials; groups are passed over.

use super::Raw;
use super::polygon::triangulate;
use super::text::{byte, number};
use crate::Diagnostic;
use glam::{DVec2, DVec3};
use std::collections::HashMap;

/// Index of a corner's texture coordinate or normal that is not there.
const NONE: u32 = u32::MAX;

#[derive(Default)]
struct Tables {
    positions: Vec<DVec3>,
    colors: Vec<[u8; 3]>,
    uvs: Vec<DVec2>,
    normals: Vec<DVec3>,
    /// Position, texture coordinate and normal of each triangle's corners.
    triangles: Vec<[[u32; 3]; 3]>,
    /// Names of the materials in use, in their order.
    materials: Vec<String>,
    /// Which of them each triangle has; `NO_MATERIAL` before the first is named.
    slots: Vec<u16>,
    slot: Option<u16>,
}

/// Slot of a triangle before any material is named.
const NO_MATERIAL: u16 = u16::MAX;

pub(super) fn parse(bytes: &[u8]) -> Result<Raw, Diagnostic> {
    let mut tables = Tables::default();
    let mut polygon = Vec::new();
    let mut joined: Vec<u8> = Vec::new();
    for (i, line) in bytes.split(|&b| b == b'\n').enumerate() {
        // A backslash at the end goes on in the next line.
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Some(head) = line.strip_suffix(b"\\") {
            joined.extend_from_slice(head);
            joined.push(b' ');
            continue;
        }
        if joined.is_empty() {
            statement(line, i + 1, &mut tables, &mut polygon)?;
        } else {
            joined.extend_from_slice(line);
            statement(&joined, i + 1, &mut tables, &mut polygon)?;
            joined.clear();
        }
    }
    Ok(assemble(tables))
}

fn statement(line: &[u8], at: usize, tables: &mut Tables, polygon: &mut Vec<[u32; 3]>) -> Result<(), Diagnostic> {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
    match words.next() {
        Some(b"v") => {
            let (v, count) = numbers::<6>(words, at)?;
            expect(count >= 3, "three coordinates", at)?;
            tables.positions.push(DVec3::new(v[0], v[1], v[2]));
            if count == 6 {
                tables.colors.push([byte(v[3]), byte(v[4]), byte(v[5])]);
            }
        }
        Some(b"vt") => {
            let (v, count) = numbers::<3>(words, at)?;
            expect(count >= 1, "texture coordinates", at)?;
            tables.uvs.push(DVec2::new(v[0], v[1]));
        }
        Some(b"vn") => {
            let (v, count) = numbers::<3>(words, at)?;
            expect(count == 3, "three components", at)?;
            tables.normals.push(DVec3::from_array(v));
        }
        Some(b"f") => {
            polygon.clear();
            for word in words.take_while(|w| !w.starts_with(b"#")) {
                polygon.push(corner(word, at, tables)?);
            }
            expect(polygon.len() >= 3, "at least three corners", at)?;
            let places: Vec<DVec3> = polygon.iter().map(|c| tables.positions[c[0] as usize]).collect();
            triangulate(&places, |t| tables.triangles.push(t.map(|k| polygon[k])));
            tables.slots.resize(tables.triangles.len(), tables.slot.unwrap_or(NO_MATERIAL));
        }
        Some(b"usemtl") => {
            let name = String::from_utf8_lossy(words.next().unwrap_or_default()).into_owned();
            let known = tables.materials.iter().position(|m| *m == name);
            let slot = known.unwrap_or(tables.materials.len());
            expect(slot < usize::from(NO_MATERIAL), "fewer than 65,535 materials", at)?;
            if known.is_none() {
                tables.materials.push(name);
            }
            tables.slot = Some(slot as u16);
        }
        _ => {}
    }
    Ok(())
}

fn expect(fine: bool, expected: &str, line: usize) -> Result<(), Diagnostic> {
    if fine { Ok(()) } else { Err(Diagnostic::new("the line is incomplete").line(line).expected(expected)) }
}

fn numbers<'a, const N: usize>(
    words: impl Iterator<Item = &'a [u8]>,
    line: usize,
) -> Result<([f64; N], usize), Diagnostic> {
    let mut values = [0.0; N];
    let mut count = 0;
    for word in words.take(N).take_while(|w| !w.starts_with(b"#")) {
        values[count] = number(word, line)?;
        count += 1;
    }
    Ok((values, count))
}

/// `v`, `v/vt`, `v//vn` or `v/vt/vn`, counted from 1, negative from the end.
fn corner(word: &[u8], line: usize, tables: &Tables) -> Result<[u32; 3], Diagnostic> {
    let counts = [tables.positions.len(), tables.uvs.len(), tables.normals.len()];
    let mut indices = [NONE; 3];
    for (slot, part) in word.split(|&b| b == b'/').enumerate() {
        if slot < 3 && (slot == 0 || !part.is_empty()) {
            indices[slot] = index(part, counts[slot], line)?;
        }
    }
    Ok(indices)
}

fn index(word: &[u8], count: usize, line: usize) -> Result<u32, Diagnostic> {
    let text = String::from_utf8_lossy(word);
    let fault = |what: String| Diagnostic::new(what).line(line).expected(format!("an index from 1 to {count}"));
    let value: i64 = text.parse().map_err(|_| fault(format!("{text:?} is not an index")))?;
    let from_zero = if value < 0 { value.saturating_add(count as i64) } else { value - 1 };
    if (0..count as i64).contains(&from_zero) && from_zero < i64::from(NONE) {
        Ok(from_zero as u32)
    } else {
        Err(fault(format!("there is no item {value}")))
    }
}

/// One vertex for each combination of position, texture coordinate and normal in use.
fn assemble(mut tables: Tables) -> Raw {
    let (materials, slots) = material_slots(&mut tables);
    let colored = !tables.colors.is_empty() && tables.colors.len() == tables.positions.len();
    let plain = tables.triangles.iter().flatten().all(|c| c[1] == NONE && c[2] == NONE);
    if plain {
        // A point cloud lists one normal per vertex.
        let paired = tables.triangles.is_empty() && tables.normals.len() == tables.positions.len();
        return Raw {
            triangles: tables.triangles.iter().map(|t| t.map(|c| c[0])).collect(),
            normals: (paired && !tables.normals.is_empty()).then_some(tables.normals),
            colors: colored.then_some(tables.colors),
            positions: tables.positions,
            materials,
            slots,
            ..Raw::default()
        };
    }
    let corners = || tables.triangles.iter().flatten();
    let with_uvs = corners().all(|c| c[1] != NONE);
    let with_normals = corners().all(|c| c[2] != NONE);
    let mut raw = Raw { materials, slots, ..Raw::default() };
    let (mut uvs, mut normals, mut colors, mut ids) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut known = HashMap::new();
    for triangle in &tables.triangles {
        raw.triangles.push(triangle.map(|[v, t, n]| {
            let key = [v, if with_uvs { t } else { NONE }, if with_normals { n } else { NONE }];
            *known.entry(key).or_insert_with(|| {
                raw.positions.push(tables.positions[v as usize]);
                ids.push(v);
                if colored {
                    colors.push(tables.colors[v as usize]);
                }
                if with_uvs {
                    uvs.push(tables.uvs[t as usize]);
                }
                if with_normals {
                    normals.push(tables.normals[n as usize]);
                }
                (raw.positions.len() - 1) as u32
            })
        }));
    }
    raw.colors = colored.then_some(colors);
    raw.uvs = with_uvs.then_some(uvs);
    raw.normals = with_normals.then_some(normals);
    raw.ids = Some(ids);
    raw
}

/// Names of the materials and the slot of each triangle; none if no material is named.
fn material_slots(tables: &mut Tables) -> (Vec<String>, Vec<u16>) {
    let (mut materials, mut slots) = (std::mem::take(&mut tables.materials), std::mem::take(&mut tables.slots));
    if materials.is_empty() {
        return (materials, Vec::new());
    }
    if slots.contains(&NO_MATERIAL) {
        let unnamed = materials.len() as u16;
        materials.push("default".into());
        slots.iter_mut().filter(|s| **s == NO_MATERIAL).for_each(|s| *s = unnamed);
    }
    (materials, slots)
}
