//! Mesh and point files: found, recognized by name and content, parsed without trusting a single number in them.
//!
//! Every parser takes the whole file as bytes, so what a header promises can be compared with what is there before
//! anything is allocated.

// Errors end the reading; their size does not matter.
#![allow(clippy::result_large_err)]

mod gltf;
mod obj;
mod ply;
mod polygon;
mod stl;
mod text;
mod xyz;

pub(super) use polygon::triangulate;

use crate::scene::builtin;
use crate::{Diagnostic, Result};
use glam::{DVec2, DVec3};
use std::path::Path;

/// Farther away than any scene [m]; keeps all products of coordinates finite.
const FARTHEST: f64 = 1e12;

/// What a file holds, as it stands there.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Raw {
    pub positions: Vec<DVec3>,
    pub triangles: Vec<[u32; 3]>,
    pub normals: Option<Vec<DVec3>>,
    pub colors: Option<Vec<[u8; 3]>>,
    pub uvs: Option<Vec<DVec2>>,
    /// Number of each vertex in the file, where that is not its place in the list.
    pub ids: Option<Vec<u32>>,
    /// Material slot of each triangle; empty if there is one at most.
    pub slots: Vec<u16>,
    pub materials: Vec<String>,
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Obj,
    Ply,
    Stl,
    Gltf,
    Xyz,
}

/// Reads and parses a file; coordinates are finite and indices in range.
pub(super) fn read(path: &Path) -> Result<Raw> {
    let bytes = bytes_of(path)?;
    parse(path, &bytes).map_err(|diagnostic| diagnostic.file(path).into())
}

fn parse(path: &Path, bytes: &[u8]) -> Result<Raw, Diagnostic> {
    if bytes.is_empty() {
        return Err(Diagnostic::new("the file is empty"));
    }
    let mut raw = match recognize(path, bytes)? {
        Format::Obj => obj::parse(bytes)?,
        Format::Ply => ply::parse(bytes)?,
        Format::Stl => stl::parse(bytes)?,
        Format::Gltf => gltf::parse(bytes, path.parent().unwrap_or(Path::new(".")))?,
        Format::Xyz => xyz::parse(bytes)?,
    };
    check(&raw)?;
    // A file may list attributes for some of its vertices only; then they are of no use.
    let count = raw.positions.len();
    raw.normals = raw.normals.filter(|v| v.len() == count);
    raw.colors = raw.colors.filter(|v| v.len() == count);
    raw.uvs = raw.uvs.filter(|v| v.len() == count);
    Ok(raw)
}

/// The whole file, or why not.
fn bytes_of(path: &Path) -> Result<Vec<u8>> {
    let fault = |what: String| Diagnostic::new(what).file(path);
    if let Some(bytes) = builtin::file(path).filter(|_| !path.exists()) {
        return Ok(bytes.to_vec());
    }
    let metadata = std::fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            fault("the file does not exist".into()).hint("check the name; files are looked up beside the scene file")
        }
        _ => fault(format!("the file cannot be read: {error}")),
    })?;
    if metadata.is_dir() {
        return Err(fault("this is a folder".into()).expected("a mesh or point file").into());
    }
    if !metadata.is_file() {
        return Err(fault("this is not a regular file".into()).expected("a mesh or point file").into());
    }
    Ok(std::fs::read(path).map_err(|error| fault(format!("the file cannot be read: {error}")))?)
}

/// The content decides where it can be told; the name's ending otherwise.
fn recognize(path: &Path, bytes: &[u8]) -> Result<Format, Diagnostic> {
    let ending = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
    let by_name = match ending.as_str() {
        "obj" => Some(Format::Obj),
        "ply" => Some(Format::Ply),
        "stl" => Some(Format::Stl),
        "gltf" | "glb" => Some(Format::Gltf),
        "xyz" | "pts" | "txt" | "csv" | "asc" => Some(Format::Xyz),
        _ => None,
    };
    let by_content = if bytes.starts_with(b"ply\n") || bytes.starts_with(b"ply\r") {
        Some(Format::Ply)
    } else if bytes.starts_with(b"glTF") {
        Some(Format::Gltf)
    } else {
        None
    };
    let binary = bytes[..bytes.len().min(4096)].contains(&0);
    match by_content.or(by_name) {
        Some(format @ (Format::Obj | Format::Xyz)) if binary => {
            Err(Diagnostic::new(format!("the file is named like {format:?} text but holds binary data")))
        }
        Some(Format::Ply) if by_content.is_none() => {
            Err(Diagnostic::new("not a PLY file").line(1).expected("the line `ply` first"))
        }
        Some(format) => Ok(format),
        None => Err(Diagnostic::new(format!("files ending in {ending:?} cannot be read"))
            .expected("obj, ply, stl, gltf, glb; for point clouds also xyz")),
    }
}

/// Numbers that must hold whatever the format.
fn check(raw: &Raw) -> Result<(), Diagnostic> {
    if raw.positions.len() > u32::MAX as usize {
        return Err(Diagnostic::new("the file has more than 4 billion vertices"));
    }
    for (i, x) in raw.positions.iter().enumerate() {
        if !x.is_finite() || x.abs().max_element() > FARTHEST {
            return Err(Diagnostic::new(format!("vertex {} (counted from 1) is at {x}", i + 1))
                .expected(format!("finite coordinates below {FARTHEST:e}")));
        }
    }
    let count = raw.positions.len() as u32;
    for (i, triangle) in raw.triangles.iter().enumerate() {
        if let Some(&v) = triangle.iter().find(|&&v| v >= count) {
            return Err(Diagnostic::new(format!(
                "triangle {} (counted from 1) uses vertex {v} (from 0), but there are only {count}",
                i + 1
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
