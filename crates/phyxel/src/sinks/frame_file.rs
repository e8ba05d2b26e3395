//! Frame files: one binary file per frame, versioned, little-endian.
//!
//! `frame_00012.bin` holds the bodies (points with their fields, surfels) and the poses of the colliders. What colliders
//! look like does not change and is kept once, in `look_0.bin`, `look_1.bin`, ... Points and surfel centers are exact
//! f32; surfel axes are 16-bit fractions of the body's longest, normals 32-bit octahedral. Ids and spacings that follow
//! a rule (consecutive, all equal) take a few bytes.

use super::bytes::{Reader, Writer};
use super::mesh_block;
use super::space::{Space, put_back, show_embedded};
use crate::error::{Diagnostic, Result};
use crate::frame::{BodyFrame, ColliderFrame, ColliderLook, Frame, MeshFrame};
use crate::surface::Surfels;
use glam::{DAffine3, DMat3, DVec3, Vec2, Vec3};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

const FRAME_MAGIC: &[u8; 8] = b"PHYXFRAM";
const LOOK_MAGIC: &[u8; 8] = b"PHYXLOOK";
/// Version of the format; a reader refuses others.
pub const VERSION: u32 = 1;

/// Name of a frame's file in `frames/`.
pub fn frame_name(index: u32) -> String {
    format!("frame_{index:05}.bin")
}

/// Name of the file of a collider's look.
pub fn look_name(look: usize) -> String {
    format!("look_{look}.bin")
}

/// The looks that have been written so far, as bytes; a frame refers to them by number.
#[derive(Debug, Default)]
pub struct Looks {
    known: Vec<Vec<u8>>,
    /// Looks met in this process with their numbers, so that each is encoded once.
    met: Vec<(Arc<Surfels>, usize)>,
}

impl Looks {
    /// The looks that are in a folder of frames already.
    pub fn load(dir: &Path) -> Self {
        let known = (0..).map_while(|i| std::fs::read(dir.join(look_name(i))).ok()).collect();
        Self { known, met: Vec::new() }
    }

    /// Number of a look; one not seen before gets the next number.
    fn number(&mut self, look: &Arc<Surfels>) -> usize {
        if let Some((_, number)) = self.met.iter().find(|(known, _)| Arc::ptr_eq(known, look)) {
            return *number;
        }
        let bytes = encode_look(look);
        let number = self.known.iter().position(|k| *k == bytes).unwrap_or_else(|| {
            self.known.push(bytes);
            self.known.len() - 1
        });
        self.met.push((look.clone(), number));
        number
    }
}

/// Writes `frame` into `out` (cleared first). Returns the looks seen for the first time, as (file name, bytes).
pub fn encode(frame: &Frame, looks: &mut Looks, out: &mut Vec<u8>) -> Vec<(String, Vec<u8>)> {
    out.clear();
    let known = looks.known.len();
    let mut w = Writer(out);
    w.bytes(FRAME_MAGIC);
    w.u32(VERSION);
    w.u32(frame.index);
    w.f64(frame.time);
    w.u32(frame.bodies.len() as u32);
    w.u32(frame.colliders.len() as u32);
    for body in &frame.bodies {
        encode_body(&mut w, body);
    }
    for collider in &frame.colliders {
        w.text(&collider.name);
        w.bytes(&collider.color);
        for x in collider.pose.to_cols_array() {
            w.f64(x);
        }
        w.u32(match &collider.look {
            ColliderLook::Plane => 0,
            ColliderLook::Surfels(look) => 1 + looks.number(look) as u32,
        });
    }
    (known..looks.known.len()).map(|i| (look_name(i), looks.known[i].clone())).collect()
}

fn encode_look(look: &Surfels) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut w = Writer(&mut bytes);
    w.bytes(LOOK_MAGIC);
    w.u32(VERSION);
    encode_surfels(&mut w, look);
    bytes
}

fn encode_body(w: &mut Writer, body: &BodyFrame) {
    w.text(&body.name);
    w.bytes(&body.color);
    let flags = [body.hidden, body.two_sided, !body.mesh.is_empty(), body.joined.is_some()];
    w.u8(flags.iter().enumerate().map(|(bit, set)| u8::from(*set) << bit).sum());
    body.joined.iter().for_each(|first| w.u32(*first));
    w.u32(body.positions.len() as u32);
    w.vec3s(&body.positions);
    w.vec3s(&body.velocities);
    // Ids: 1 = consecutive from the first, 0 = as they are.
    let consecutive = body.ids.windows(2).all(|p| p[0].checked_add(1) == Some(p[1]));
    w.u8(consecutive as u8);
    for id in &body.ids[..if consecutive { body.ids.len().min(1) } else { body.ids.len() }] {
        w.u32(*id);
    }
    // Spacings: 1 = all equal, 0 = as they are.
    let equal = body.spacings.windows(2).all(|p| p[0].to_bits() == p[1].to_bits());
    w.u8(equal as u8);
    w.f32s(&body.spacings[..if equal { body.spacings.len().min(1) } else { body.spacings.len() }]);
    w.u32(body.fields.len() as u32);
    for (name, values) in &body.fields {
        w.text(name);
        w.f32s(values);
    }
    encode_surfels(w, &body.surfels);
    if !body.mesh.is_empty() {
        mesh_block::encode(w, &body.mesh);
    }
}

fn encode_surfels(w: &mut Writer, s: &Surfels) {
    w.u32(s.len() as u32);
    w.vec3s(&s.positions);
    let longest = s.axes_u.iter().chain(&s.axes_v).fold(0.0f32, |m, a| m.max(a.abs().max_element()));
    let longest = if longest.is_finite() { longest } else { 0.0 };
    w.f32(longest);
    let scale = if longest > 0.0 { 32767.0 / longest } else { 0.0 };
    for axis in s.axes_u.iter().chain(&s.axes_v) {
        for x in axis.to_array() {
            // A float to integer cast saturates and sends NaN to 0.
            w.bytes(&((x * scale).round() as i16).to_le_bytes());
        }
    }
    for n in &s.normals {
        let o = octahedral(*n) * 32767.0;
        w.bytes(&(o.x.round() as i16).to_le_bytes());
        w.bytes(&(o.y.round() as i16).to_le_bytes());
    }
    let equal = s.colors.windows(2).all(|p| p[0] == p[1]);
    let moving = s.velocities.len() == s.len() && !s.is_empty();
    w.u8(equal as u8 | (moving as u8) << 1);
    for color in &s.colors[..if equal { s.colors.len().min(1) } else { s.colors.len() }] {
        w.bytes(color);
    }
    if moving {
        w.vec3s(&s.velocities);
    }
}

/// A unit vector as a point of the square [-1, 1]²: the octahedron |x|+|y|+|z| = 1 unfolded.
pub(super) fn octahedral(n: Vec3) -> Vec2 {
    let sum = n.abs().element_sum();
    if !(sum > 0.0 && sum.is_finite()) {
        return Vec2::ZERO;
    }
    let p = n.truncate() / sum;
    if n.z >= 0.0 { p } else { (Vec2::ONE - Vec2::new(p.y, p.x).abs()) * p.signum() }
}

pub(super) fn from_octahedral(p: Vec2) -> Vec3 {
    let z = 1.0 - p.abs().element_sum();
    let xy = if z >= 0.0 { p } else { (Vec2::ONE - Vec2::new(p.y, p.x).abs()) * p.signum() };
    xy.extend(z).try_normalize().unwrap_or(Vec3::Y)
}

/// Reads the frames of one run folder; looks are read once.
#[derive(Debug)]
pub struct FrameReader {
    dir: PathBuf,
    looks: Vec<Arc<Surfels>>,
    space: Space,
    /// The first frame, when its places are shown.
    first: Option<Arc<Frame>>,
}

impl FrameReader {
    /// Reader of the frames in `dir` (the folder `frames/` of a run).
    pub fn open(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), looks: Vec::new(), space: Space::World, first: None }
    }

    /// The same frames in a space of their own.
    pub fn in_space(self, space: Space) -> Self {
        Self { space, ..self }
    }

    /// Number of frames from 0 on without a gap.
    pub fn count(&self) -> u32 {
        (0..).find(|&i| !self.dir.join(frame_name(i)).is_file()).unwrap_or(0)
    }

    /// Reads one frame.
    pub fn read(&mut self, index: u32) -> Result<Frame> {
        let mut frame = self.read_world(index)?;
        if self.space == Space::Rest {
            if self.first.is_none() {
                self.first = Some(Arc::new(self.read_world(0)?));
            }
            self.first.iter().for_each(|first| put_back(&mut frame, first));
        }
        match self.space == Space::World || show_embedded(&mut frame) {
            true => Ok(frame),
            false => Err(Diagnostic::new("the run has no embedded space")
                .file(self.dir.join(frame_name(index)))
                .expected("a body with model = \"embedded\"")
                .into()),
        }
    }

    fn read_world(&mut self, index: u32) -> Result<Frame> {
        let path = self.dir.join(frame_name(index));
        let bytes = read_bytes(&path)?;
        let mut looks = std::mem::take(&mut self.looks);
        let mut failed = None;
        let frame = decode(&bytes, |i| {
            while looks.len() <= i {
                match read_look(&self.dir.join(look_name(looks.len()))) {
                    Ok(look) => looks.push(Arc::new(look)),
                    Err(error) => {
                        failed = Some(error);
                        return None;
                    }
                }
            }
            Some(looks[i].clone())
        });
        self.looks = looks;
        match (frame, failed) {
            (_, Some(error)) => Err(error),
            (Some(frame), None) => Ok(frame),
            (None, None) => Err(damaged(&path, &bytes, FRAME_MAGIC).into()),
        }
    }
}

/// Reads one frame file and the looks beside it.
pub fn read(path: &Path) -> Result<Frame> {
    let index = path.file_stem().and_then(|s| s.to_str()).and_then(|s| s.strip_prefix("frame_")?.parse().ok());
    let index = index.ok_or_else(|| {
        Diagnostic::new("this is not a frame file").file(path).expected("a name such as frame_00012.bin")
    })?;
    FrameReader::open(path.parent().unwrap_or(Path::new("."))).read(index)
}

fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|e| {
        Diagnostic::new(format!("cannot read a frame: {e}"))
            .file(path)
            .expected("a folder written by `phyxel run`")
            .into()
    })
}

fn read_look(path: &Path) -> Result<Surfels> {
    let bytes = read_bytes(path)?;
    let mut r = Reader(&bytes);
    let header = r.bytes(8) == Some(LOOK_MAGIC) && r.u32() == Some(VERSION);
    header.then(|| decode_surfels(&mut r)).flatten().ok_or_else(|| damaged(path, &bytes, LOOK_MAGIC).into())
}

/// Says why a file was refused.
fn damaged(path: &Path, bytes: &[u8], magic: &[u8; 8]) -> Diagnostic {
    let mut r = Reader(bytes);
    match (r.bytes(8) == Some(magic), r.u32()) {
        (true, Some(version)) if version != VERSION => {
            Diagnostic::new(format!("the file has format version {version}"))
                .file(path)
                .expected(format!("version {VERSION}"))
                .hint("use the version of phyxel that wrote it, or run the scene again")
        }
        (true, _) => Diagnostic::new("the file is cut short or damaged").file(path).hint("run the scene again"),
        (false, _) => Diagnostic::new("this is not a file of a phyxel run").file(path),
    }
}

/// Reads a frame from bytes; `look` gives the collider look of a number. None: not a frame of this version, or damaged.
pub fn decode(bytes: &[u8], mut look: impl FnMut(usize) -> Option<Arc<Surfels>>) -> Option<Frame> {
    let mut r = Reader(bytes);
    if r.bytes(8)? != FRAME_MAGIC || r.u32()? != VERSION {
        return None;
    }
    let mut frame = Frame { index: r.u32()?, time: r.f64()?, ..Frame::default() };
    let (bodies, colliders) = (r.u32()?, r.u32()?);
    for _ in 0..bodies {
        frame.bodies.push(decode_body(&mut r)?);
    }
    for _ in 0..colliders {
        let name = r.text()?;
        let color = r.bytes(3)?.try_into().ok()?;
        let mut c = [0.0; 12];
        for x in &mut c {
            *x = r.f64()?;
        }
        let column = |i: usize| DVec3::new(c[i], c[i + 1], c[i + 2]);
        let pose = DAffine3::from_mat3_translation(DMat3::from_cols(column(0), column(3), column(6)), column(9));
        let look = match r.u32()? {
            0 => ColliderLook::Plane,
            i => ColliderLook::Surfels(look(i as usize - 1)?),
        };
        frame.colliders.push(ColliderFrame { name, color, pose, look });
    }
    Some(frame)
}

fn decode_body(r: &mut Reader) -> Option<BodyFrame> {
    let name = r.text()?;
    let color = r.bytes(3)?.try_into().ok()?;
    let flags = r.u8()?;
    let (hidden, two_sided) = (flags & 1 != 0, flags & 2 != 0);
    let joined = if flags & 8 != 0 { Some(r.u32()?) } else { None };
    let n = r.u32()? as usize;
    let positions = r.vec3s(n)?;
    let velocities = r.vec3s(n)?;
    let ids = match r.u8()? {
        0 => r.u32s(n)?,
        _ if n == 0 => Vec::new(),
        _ => {
            let first = r.u32()?;
            (0..n as u32).map(|i| first.wrapping_add(i)).collect()
        }
    };
    let spacings = match r.u8()? {
        0 => r.f32s(n)?,
        _ if n == 0 => Vec::new(),
        _ => vec![r.f32()?; n],
    };
    let mut fields = Vec::new();
    for _ in 0..r.u32()? {
        let name = intern(&r.text()?)?;
        fields.push((name, r.f32s(n)?));
    }
    let surfels = decode_surfels(r)?;
    let mesh = if flags & 4 != 0 { mesh_block::decode(r)? } else { MeshFrame::default() };
    Some(BodyFrame {
        name,
        color,
        hidden,
        two_sided,
        joined,
        ids,
        positions,
        velocities,
        spacings,
        fields,
        surfels,
        mesh,
    })
}

fn decode_surfels(r: &mut Reader) -> Option<Surfels> {
    let n = r.u32()? as usize;
    let positions = r.vec3s(n)?;
    let scale = r.f32()? / 32767.0;
    let i16_at = |b: &[u8], i: usize| f32::from(i16::from_le_bytes([b[i], b[i + 1]]));
    let axis = |b: &[u8; 6]| Vec3::new(i16_at(b, 0), i16_at(b, 2), i16_at(b, 4)) * scale;
    let axes_u = r.items::<6, _>(n, axis)?;
    let axes_v = r.items::<6, _>(n, axis)?;
    let normals = r.items::<4, _>(n, |b| from_octahedral(Vec2::new(i16_at(b, 0), i16_at(b, 2)) / 32767.0))?;
    let flags = r.u8()?;
    let colors = match flags & 1 {
        0 => r.items::<3, _>(n, |b| *b)?,
        _ if n == 0 => Vec::new(),
        _ => vec![r.bytes(3)?.try_into().ok()?; n],
    };
    let velocities = if flags & 2 != 0 { r.vec3s(n)? } else { Vec::new() };
    Some(Surfels { positions, axes_u, axes_v, normals, colors, velocities, exact: Vec::new() })
}

/// A field's name that lives for ever: each different one is kept once, and only so many, so that a damaged file cannot
/// fill the memory.
fn intern(name: &str) -> Option<&'static str> {
    static NAMES: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    let mut names = NAMES.lock().ok()?;
    if let Some(known) = names.iter().find(|k| **k == name) {
        return Some(known);
    }
    if names.len() >= 256 || name.len() > 64 {
        return None;
    }
    let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.push(kept);
    Some(kept)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A frame with everything in it.
    pub(crate) fn sample(index: u32) -> Frame {
        let n = 50;
        let point = |i: usize| Vec3::new(i as f32 * 0.01, (i as f32).sin() + index as f32, -1e-3 * i as f32);
        let surfels = Surfels {
            positions: (0..n).map(point).collect(),
            axes_u: (0..n).map(|i| 0.01 * point(i + 1).normalize()).collect(),
            axes_v: (0..n).map(|i| 0.02 * point(i + 2).normalize()).collect(),
            normals: (0..n).map(|i| (point(i) + Vec3::new(0.3, -0.2, -0.9)).normalize()).collect(),
            colors: (0..n).map(|i| [i as u8, 2, 3]).collect(),
            velocities: (0..n).map(|i| point(i) * 2.0).collect(),
            exact: Vec::new(),
        };
        let mesh = MeshFrame {
            positions: (0..n).map(point).collect(),
            normals: vec![Vec3::Y; n],
            velocities: (0..n).map(|i| point(i) * 4.0).collect(),
            triangles: (0..48).map(|i| [i, i + 1, i + 2]).collect(),
            ids: (0..50).rev().collect(),
            uvs: (0..n).map(|i| point(i).truncate()).collect(),
            colors: (0..n).map(|i| [1, i as u8, 3]).collect(),
            slots: (0..48).collect(),
            materials: vec!["front".into(), "back".into()],
        };
        let body = |name: &str, ids: Vec<u32>, spacings: Vec<f32>| BodyFrame {
            name: name.into(),
            color: [200, 100, 50],
            hidden: true,
            two_sided: true,
            joined: (name == "b").then_some(0),
            ids,
            positions: (0..n).map(point).collect(),
            velocities: (0..n).map(|i| point(i) * 3.0).collect(),
            spacings,
            fields: vec![("stress", (0..n).map(|i| i as f32).collect())],
            surfels: surfels.clone(),
            mesh: mesh.clone(),
        };
        Frame {
            index,
            time: f64::from(index) / 30.0,
            bodies: vec![
                body("a", (7..57).collect(), vec![0.02; n]),
                body("b", (0..50).rev().collect(), (0..n).map(|i| i as f32).collect()),
                BodyFrame { name: "empty".into(), ..Default::default() },
            ],
            colliders: vec![ColliderFrame {
                name: "floor".into(),
                color: [1, 2, 3],
                pose: DAffine3::from_translation(DVec3::new(0.1, 0.2, 0.3)),
                look: ColliderLook::Plane,
            }],
            cracks: Vec::new(),
        }
    }

    #[test]
    fn a_frame_reads_back() {
        let dir = std::env::temp_dir().join(format!("phyxel-frame-file-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let mut frame = sample(3);
        let look = Arc::new(frame.bodies[0].surfels.clone());
        let pose = DAffine3::from_rotation_x(0.3) * DAffine3::from_translation(DVec3::X);
        let surfels = ColliderLook::Surfels(look);
        frame.colliders.push(ColliderFrame { name: "bowl".into(), color: [9, 8, 7], pose, look: surfels });
        let (mut looks, mut bytes) = (Looks::default(), Vec::new());
        for (name, bytes) in encode(&frame, &mut looks, &mut bytes) {
            std::fs::write(dir.join(name), bytes).unwrap();
        }
        std::fs::write(dir.join(frame_name(3)), &bytes).unwrap();
        assert!(encode(&frame, &mut looks, &mut bytes).is_empty(), "a look is written once");

        let back = read(&dir.join(frame_name(3))).unwrap();
        assert_eq!((back.index, back.time), (frame.index, frame.time));
        for (a, b) in frame.bodies.iter().zip(&back.bodies) {
            assert_eq!(
                (&a.name, a.color, a.hidden, &a.ids, a.two_sided),
                (&b.name, b.color, b.hidden, &b.ids, b.two_sided)
            );
            assert_eq!((&a.positions, &a.velocities), (&b.positions, &b.velocities));
            assert_eq!(a.joined, b.joined);
            assert_eq!((&a.spacings, &a.fields), (&b.spacings, &b.fields));
            let level = |m: &MeshFrame| MeshFrame { normals: vec![Vec3::Y; m.normals.len()], ..m.clone() };
            assert_eq!(a.mesh, level(&b.mesh));
            assert!(b.mesh.normals.iter().all(|n| n.distance(Vec3::Y) < 1e-4));
            assert_eq!((&a.surfels.positions, &a.surfels.colors), (&b.surfels.positions, &b.surfels.colors));
            for i in 0..a.surfels.len() {
                assert!(a.surfels.axes_u[i].distance(b.surfels.axes_u[i]) < 2e-6);
                assert!(a.surfels.axes_v[i].distance(b.surfels.axes_v[i]) < 2e-6);
                assert!(a.surfels.normals[i].distance(b.surfels.normals[i]) < 1e-4);
            }
        }
        assert_eq!(back.colliders[1].pose, frame.colliders[1].pose);
        assert!(matches!(&back.colliders[1].look, ColliderLook::Surfels(s) if s.len() == 50));
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn damage_is_an_error_not_a_panic() {
        let mut bytes = Vec::new();
        encode(&sample(0), &mut Looks::default(), &mut bytes);
        for cut in 0..bytes.len() {
            assert!(decode(&bytes[..cut], |_| None).is_none(), "cut at {cut}");
        }
        // Any flipped byte gives some frame or none, never a panic or a huge allocation.
        for i in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[i] ^= 0xff;
            decode(&bad, |_| None);
        }
    }
}
