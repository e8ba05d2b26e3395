//! glTF 2.0, text with buffers beside it or inside it, and GLB: triangles of all meshes at their nodes' places.
//!
//! Only what a solid needs is decoded: positions, normals, vertex colors, the first texture coordinates. The values are read
//! by hand with every range checked, since a file may claim anything.

use super::Raw;
use super::text::byte;
use crate::Diagnostic;
use glam::{DAffine3, DMat3, DMat4, DQuat, DVec2, DVec3};
use serde::Deserialize;
use std::path::{Component, Path};

type Outcome<T> = Result<T, Diagnostic>;

const TRIANGLES: u32 = 4;
const STRIP: u32 = 5;
const FAN: u32 = 6;
/// Deeper than any real scene; keeps the stack small.
const MOST_LEVELS: usize = 200;
/// Nodes that show a mesh may be many; what they unfold to is bounded.
const MOST_CORNERS: usize = 50_000_000;

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Document {
    extensions_required: Vec<String>,
    scene: Option<usize>,
    scenes: Vec<Scene>,
    nodes: Vec<Node>,
    meshes: Vec<MeshItem>,
    accessors: Vec<Accessor>,
    buffer_views: Vec<View>,
    buffers: Vec<Buffer>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Scene {
    nodes: Vec<usize>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Node {
    children: Vec<usize>,
    mesh: Option<usize>,
    skin: Option<usize>,
    matrix: Option<[f64; 16]>,
    translation: Option<[f64; 3]>,
    rotation: Option<[f64; 4]>,
    scale: Option<[f64; 3]>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct MeshItem {
    primitives: Vec<Primitive>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Primitive {
    attributes: Attributes,
    indices: Option<usize>,
    mode: Option<u32>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Attributes {
    #[serde(rename = "POSITION")]
    position: Option<usize>,
    #[serde(rename = "NORMAL")]
    normal: Option<usize>,
    #[serde(rename = "COLOR_0")]
    color: Option<usize>,
    #[serde(rename = "TEXCOORD_0")]
    uv: Option<usize>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Accessor {
    buffer_view: Option<usize>,
    byte_offset: usize,
    component_type: u32,
    normalized: bool,
    count: usize,
    #[serde(rename = "type")]
    shape: String,
    sparse: Option<serde_json::Value>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct View {
    buffer: usize,
    byte_offset: usize,
    byte_length: usize,
    byte_stride: Option<usize>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Buffer {
    uri: Option<String>,
}

struct File {
    document: Document,
    buffers: Vec<Vec<u8>>,
}

pub(super) fn parse(bytes: &[u8], folder: &Path) -> Outcome<Raw> {
    let (json, blob) = if bytes.starts_with(b"glTF") { chunks(bytes)? } else { (bytes, None) };
    let document: Document = serde_json::from_slice(json)
        .map_err(|error| Diagnostic::new(format!("not a glTF file: {error}")).line(error.line()))?;
    if let Some(extension) = document.extensions_required.iter().find(|e| changes_geometry(e)) {
        return Err(Diagnostic::new(format!("the file needs the extension {extension}"))
            .hint("export it again without mesh compression"));
    }
    let buffers = document
        .buffers
        .iter()
        .enumerate()
        .map(|(i, buffer)| match &buffer.uri {
            Some(uri) => from_uri(uri, folder),
            None if i == 0 => blob.map(<[u8]>::to_vec).ok_or_else(|| Diagnostic::new("buffer 0 has no data")),
            None => Err(Diagnostic::new(format!("buffer {i} has no data"))),
        })
        .collect::<Outcome<Vec<_>>>()?;
    let file = File { document, buffers };
    let mut unfold =
        Unfold { file: &file, corners: 0, raw: Raw::default(), parts: Parts::default(), skinned: false, others: 0 };
    unfold.scene()?;
    unfold.finish()
}

fn changes_geometry(extension: &str) -> bool {
    ["draco", "meshopt"].iter().any(|word| extension.to_ascii_lowercase().contains(word))
}

/// The JSON and the binary chunk of a GLB.
fn chunks(bytes: &[u8]) -> Outcome<(&[u8], Option<&[u8]>)> {
    let word = |at: usize| bytes.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize);
    let cut_off = || Diagnostic::new(format!("the GLB file is cut off after {} bytes", bytes.len()));
    if word(4) != Some(2) {
        return Err(Diagnostic::new("the GLB file is not of version 2"));
    }
    let mut at = 12;
    let (mut json, mut blob) = (None, None);
    while at < bytes.len() {
        let (Some(length), Some(kind)) = (word(at), word(at + 4)) else { return Err(cut_off()) };
        let data = bytes.get(at + 8..).and_then(|rest| rest.get(..length)).ok_or_else(cut_off)?;
        match kind {
            0x4e4f_534a if json.is_none() => json = Some(data),
            0x004e_4942 if blob.is_none() => blob = Some(data),
            _ => {}
        }
        at += 8 + length;
    }
    Ok((json.ok_or_else(cut_off)?, blob))
}

/// Data of a buffer: written in the file as base64, or a file in the same folder or below.
fn from_uri(uri: &str, folder: &Path) -> Outcome<Vec<u8>> {
    if let Some(rest) = uri.strip_prefix("data:") {
        let data = rest.split_once(";base64,").map(|(_, data)| data);
        return data
            .and_then(base64)
            .ok_or_else(|| Diagnostic::new("a buffer written in the file is not valid base64"));
    }
    let name = percent_decoded(uri);
    let plain = Path::new(&name).components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
    if !plain || name.contains("://") {
        return Err(Diagnostic::new(format!("the buffer {name:?} is outside the folder of the file")));
    }
    super::bytes_of(&folder.join(&name))
        .map_err(|error| Diagnostic::new(format!("the buffer {name:?} cannot be used: {error}")))
}

fn base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held) = (0_u32, 0);
    for c in text.trim_end_matches('=').bytes() {
        let value = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(value)) & 0xff_ffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    Some(bytes)
}

fn percent_decoded(uri: &str) -> String {
    let mut bytes = Vec::with_capacity(uri.len());
    let mut rest = uri.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let code = (first == b'%').then(|| tail.get(..2)).flatten().and_then(|hex| std::str::from_utf8(hex).ok());
        if let Some(value) = code.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            bytes.push(value);
            rest = &tail[2..];
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

impl File {
    /// Values of an accessor with `N` components; fewer are filled with `fill`.
    fn values<const N: usize>(&self, accessor: usize, fill: f64) -> Outcome<Vec<[f64; N]>> {
        let fault = |what: &str| Diagnostic::new(format!("accessor {accessor}: {what}"));
        let a = self.document.accessors.get(accessor).ok_or_else(|| fault("does not exist"))?;
        if a.sparse.is_some() {
            return Err(fault("sparse accessors cannot be read").hint("export the mesh without shape keys"));
        }
        let components = match a.shape.as_str() {
            "SCALAR" => 1,
            "VEC2" => 2,
            "VEC3" => 3,
            "VEC4" => 4,
            _ => return Err(fault("is not a scalar or a vector")),
        };
        let size = match a.component_type {
            5120 | 5121 => 1,
            5122 | 5123 => 2,
            5125 | 5126 => 4,
            _ => return Err(fault("has an unknown component type")),
        };
        let view = a.buffer_view.ok_or_else(|| fault("has no data"))?;
        let view = self.document.buffer_views.get(view).ok_or_else(|| fault("has no buffer view"))?;
        let data = self
            .buffers
            .get(view.buffer)
            .and_then(|b| b.get(view.byte_offset..))
            .and_then(|b| b.get(..view.byte_length));
        let data =
            data.and_then(|b| b.get(a.byte_offset..)).ok_or_else(|| fault("starts behind the end of its buffer"))?;
        let stride = view.byte_stride.unwrap_or(components * size).max(components * size);
        // The last item needs no room behind it.
        let needed = a.count.saturating_sub(1) as u128 * stride as u128 + (components * size) as u128;
        if a.count > 0 && needed > data.len() as u128 {
            return Err(fault(&format!(
                "promises {} items, {needed} bytes, but its buffer has {}",
                a.count,
                data.len()
            )));
        }
        let row = |i: usize| {
            let mut values = [fill; N];
            for (k, value) in values.iter_mut().enumerate().take(components) {
                *value = component(&data[i * stride + k * size..], a.component_type, a.normalized);
            }
            values
        };
        Ok((0..a.count).map(row).collect())
    }
}

fn component(b: &[u8], kind: u32, normalized: bool) -> f64 {
    let (value, full) = match kind {
        5120 => (f64::from(b[0] as i8), 127.0),
        5121 => (f64::from(b[0]), 255.0),
        5122 => (f64::from(i16::from_le_bytes([b[0], b[1]])), 32767.0),
        5123 => (f64::from(u16::from_le_bytes([b[0], b[1]])), 65535.0),
        5125 => (f64::from(u32::from_le_bytes([b[0], b[1], b[2], b[3]])), 1.0),
        _ => (f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]])), 1.0),
    };
    if normalized { (value / full).max(-1.0) } else { value }
}

/// Attributes gathered so far; one that any part lacks is dropped at the end.
#[derive(Default)]
struct Parts {
    normals: Vec<DVec3>,
    colors: Vec<[u8; 3]>,
    uvs: Vec<DVec2>,
}

struct Unfold<'a> {
    file: &'a File,
    corners: usize,
    raw: Raw,
    parts: Parts,
    skinned: bool,
    others: usize,
}

impl Unfold<'_> {
    fn scene(&mut self) -> Outcome<()> {
        let document = &self.file.document;
        if document.scenes.is_empty() && document.nodes.is_empty() {
            return (0..document.meshes.len()).try_for_each(|mesh| self.mesh(mesh, DAffine3::IDENTITY));
        }
        let roots: Vec<usize> = match document.scenes.get(document.scene.unwrap_or(0)) {
            Some(scene) => scene.nodes.clone(),
            None => {
                let mut is_root = vec![true; document.nodes.len()];
                for &child in document.nodes.iter().flat_map(|n| &n.children) {
                    if let Some(root) = is_root.get_mut(child) {
                        *root = false;
                    }
                }
                (0..is_root.len()).filter(|&i| is_root[i]).collect()
            }
        };
        let mut visits = 0;
        roots.into_iter().try_for_each(|root| self.node(root, DAffine3::IDENTITY, 0, &mut visits))
    }

    fn node(&mut self, index: usize, parent: DAffine3, level: usize, visits: &mut usize) -> Outcome<()> {
        let nodes = &self.file.document.nodes;
        let node = nodes.get(index).ok_or_else(|| Diagnostic::new(format!("there is no node {index}")))?;
        *visits += 1;
        // In a tree every node is met once; more is a circle.
        if level > MOST_LEVELS || *visits > nodes.len() {
            return Err(Diagnostic::new("the nodes do not form a tree"));
        }
        let place = parent * local(node);
        if let Some(mesh) = node.mesh {
            self.skinned |= node.skin.is_some();
            self.mesh(mesh, place)?;
        }
        node.children.iter().try_for_each(|&child| self.node(child, place, level + 1, visits))
    }

    fn mesh(&mut self, index: usize, place: DAffine3) -> Outcome<()> {
        let mesh = self.file.document.meshes.get(index);
        let mesh = mesh.ok_or_else(|| Diagnostic::new(format!("there is no mesh {index}")))?;
        mesh.primitives.iter().try_for_each(|primitive| self.primitive(primitive, place))
    }

    fn primitive(&mut self, primitive: &Primitive, place: DAffine3) -> Outcome<()> {
        let mode = primitive.mode.unwrap_or(TRIANGLES);
        let Some(position) = primitive.attributes.position.filter(|_| (TRIANGLES..=FAN).contains(&mode)) else {
            self.others += 1;
            return Ok(());
        };
        let first = self.raw.positions.len();
        let positions = self.file.values::<3>(position, 0.0)?;
        let count = positions.len();
        let indices: Vec<usize> = match primitive.indices {
            Some(accessor) => self.file.values::<1>(accessor, 0.0)?.iter().map(|v| v[0] as usize).collect(),
            None => (0..count).collect(),
        };
        self.corners += indices.len() + count;
        if self.corners > MOST_CORNERS || first + count > u32::MAX as usize {
            return Err(Diagnostic::new("the scene in the file is too large"));
        }
        if let Some(bad) = indices.iter().find(|&&v| v >= count) {
            return Err(Diagnostic::new(format!("a triangle uses vertex {bad}, but its part has only {count}")));
        }
        self.raw.positions.extend(positions.iter().map(|&x| place.transform_point3(DVec3::from(x))));
        self.attributes(&primitive.attributes, count, place)?;
        let mirrored = place.matrix3.determinant() < 0.0;
        let mut add = |a: usize, b: usize, c: usize| {
            let [b, c] = if mirrored { [c, b] } else { [b, c] };
            self.raw.triangles.push([a, b, c].map(|k| (first + indices[k]) as u32));
        };
        match mode {
            STRIP => {
                (2..indices.len()).for_each(|i| if i % 2 == 0 { add(i - 2, i - 1, i) } else { add(i - 1, i - 2, i) })
            }
            FAN => (2..indices.len()).for_each(|i| add(0, i - 1, i)),
            _ => (0..indices.len() / 3).for_each(|t| add(3 * t, 3 * t + 1, 3 * t + 2)),
        }
        Ok(())
    }

    fn attributes(&mut self, attributes: &Attributes, count: usize, place: DAffine3) -> Outcome<()> {
        if let Some(accessor) = attributes.normal {
            let turn = place.matrix3.inverse().transpose();
            let turn = if turn.is_finite() { turn } else { DMat3::IDENTITY };
            let values = self.file.values::<3>(accessor, 0.0)?;
            self.parts.normals.extend(values.iter().take(count).map(|&n| turn * DVec3::from(n)));
        }
        if let Some(accessor) = attributes.color {
            // Vertex colors are linear in this format.
            let values = self.file.values::<4>(accessor, 1.0)?;
            self.parts.colors.extend(values.iter().take(count).map(|c| [c[0], c[1], c[2]].map(|v| byte(srgb(v)))));
        }
        if let Some(accessor) = attributes.uv {
            let values = self.file.values::<2>(accessor, 0.0)?;
            self.parts.uvs.extend(values.iter().take(count).map(|&v| DVec2::from(v)));
        }
        Ok(())
    }

    fn finish(mut self) -> Outcome<Raw> {
        let count = self.raw.positions.len();
        self.raw.normals = (self.parts.normals.len() == count && count > 0).then_some(self.parts.normals);
        self.raw.colors = (self.parts.colors.len() == count && count > 0).then_some(self.parts.colors);
        self.raw.uvs = (self.parts.uvs.len() == count && count > 0).then_some(self.parts.uvs);
        if self.others > 0 {
            self.raw.warnings.push(format!("{} parts that are lines or points are passed over", self.others));
        }
        if self.skinned {
            self.raw.warnings.push("the skeleton is not applied; the mesh is taken as modeled".into());
        }
        Ok(self.raw)
    }
}

fn local(node: &Node) -> DAffine3 {
    if let Some(matrix) = node.matrix {
        return DAffine3::from_mat4(DMat4::from_cols_array(&matrix));
    }
    let rotation = DQuat::from_array(node.rotation.unwrap_or([0.0, 0.0, 0.0, 1.0]));
    let rotation = if rotation.length_squared() > 0.0 { rotation.normalize() } else { DQuat::IDENTITY };
    DAffine3::from_scale_rotation_translation(
        DVec3::from(node.scale.unwrap_or([1.0; 3])),
        rotation,
        DVec3::from(node.translation.unwrap_or([0.0; 3])),
    )
}

/// From linear light to the sRGB curve.
fn srgb(linear: f64) -> f64 {
    let v = linear.clamp(0.0, 1.0);
    if v <= 0.003_130_8 { 12.92 * v } else { 1.055 * v.powf(1.0 / 2.4) - 0.055 }
}
