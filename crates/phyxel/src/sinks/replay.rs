//! `replay.html`: one self-contained page that plays the run in any browser, offline.
//!
//! Surfels are thinned and frames skipped until the data fits a budget; the page mixes neighboring frames. Places are
//! 16-bit fractions of the box around the run, normals two bytes, colors constant over time.

use super::files::write_whole;
use super::{FrameReader, FrameView, RunInfo, Sink};
use crate::error::Result;
use crate::frame::{BodyFrame, ColliderLook, Frame};
use crate::render::camera::{self, Bounds};
use crate::run::Summary;
use crate::surface::Surfels;
use glam::{DAffine3, Vec2, Vec3};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Instant;

const PAGE: &str = include_str!("replay.html");
/// Most frames in the page.
const MAX_FRAMES: usize = 100;
/// Most surfels of all bodies in one frame.
const MAX_SURFELS: usize = 30_000;
/// Most bytes of moving surfels; the page is a third larger (base64).
const MAX_BYTES: usize = 14_000_000;
/// Bytes of one surfel in one frame: three 16-bit coordinates, two bytes of normal.
const STRIDE: usize = 8;

/// Writes the page when the run is over, from the frames in the run folder.
#[derive(Debug)]
pub struct Replay {
    dir: PathBuf,
    name: String,
    bounds: Bounds,
    camera: crate::scene::CameraSpec,
}

impl Replay {
    /// A page for the run folder `dir`.
    pub fn new(dir: &Path) -> Self {
        Self { dir: dir.to_path_buf(), name: String::new(), bounds: Bounds::default(), camera: Default::default() }
    }
}

impl Sink for Replay {
    fn begin(&mut self, info: &RunInfo) -> Result<()> {
        self.name.clone_from(&info.scene.name);
        self.camera = info.scene.camera;
        Ok(())
    }

    fn frame(&mut self, view: &FrameView) -> Result<()> {
        self.bounds.join(&Bounds::of_frame(view.frame));
        Ok(())
    }

    fn finish(&mut self, summary: &mut Summary) -> Result<()> {
        let start = Instant::now();
        let mut frames = FrameReader::open(self.dir.join("frames"));
        let indices = chosen(summary.frames as usize, MAX_FRAMES);
        let mut page = Page::new(self.bounds, indices.len());
        for i in indices {
            page.add(&frames.read(i as u32)?);
        }
        let view = super::pictures::camera_of(&self.camera, &[self.bounds], 16.0 / 9.0);
        write_whole(&self.dir.join("replay.html"), page.html(&self.name, &view).as_bytes())?;
        summary.seconds.write += start.elapsed().as_secs_f64();
        Ok(())
    }
}

/// At most `most` of `count` frames, evenly spread, first and last included.
pub(super) fn chosen(count: usize, most: usize) -> Vec<usize> {
    let n = count.min(most);
    (0..n).map(|i| if n < 2 { 0 } else { (i * (count - 1) + (n - 1) / 2) / (n - 1) }).collect()
}

/// The page being put together.
struct Page {
    /// Box around everything that moves; places are fractions of it.
    bounds: Bounds,
    /// Number of frames there will be.
    frames: usize,
    bytes: Vec<u8>,
    times: Vec<f64>,
    groups: Vec<Group>,
    planes: Vec<Group>,
}

/// Things drawn together: a body, or a collider.
struct Group {
    name: String,
    count: usize,
    moving: bool,
    ball: bool,
    color: [u8; 3],
    /// Offset of the colors in the data; None: one color.
    colors: Option<usize>,
    low: Vec3,
    size: Vec3,
    radius: f32,
    /// Offsets of the frames in the data.
    offsets: Vec<usize>,
    poses: Vec<DAffine3>,
}

impl Page {
    fn new(bounds: Bounds, frames: usize) -> Self {
        let empty = Vec::new;
        let bounds = if bounds.is_empty() { Bounds { min: Vec3::ZERO, max: Vec3::ONE } } else { bounds };
        Self { bounds, frames, bytes: Vec::new(), times: empty(), groups: Vec::new(), planes: Vec::new() }
    }

    fn add(&mut self, frame: &Frame) {
        if self.times.is_empty() {
            self.start(frame);
        }
        self.times.push(frame.time);
        let (low, size) = (self.bounds.min, self.bounds.max - self.bounds.min);
        for group in &mut self.groups {
            let offset = self.bytes.len();
            if let Some(body) = frame.bodies.iter().find(|b| group.moving && b.name == group.name) {
                put(&mut self.bytes, body, group.count, low, size);
                group.offsets.push(offset);
            }
        }
        // A collider that has been removed stays where it was last seen.
        for group in self.groups.iter_mut().filter(|g| !g.moving).chain(&mut self.planes) {
            let now = frame.colliders.iter().find(|c| c.name == group.name).map(|c| c.pose);
            let pose = now.or(group.poses.last().copied()).unwrap_or_default();
            group.poses.push(pose);
        }
    }

    /// The first frame says what there is, and how much of it fits.
    fn start(&mut self, frame: &Frame) {
        let (low, size) = (self.bounds.min, self.bounds.max - self.bounds.min);
        let total: usize = frame.bodies.iter().map(|b| places(b).len()).sum();
        let budget = MAX_SURFELS.min(MAX_BYTES / (STRIDE * self.frames.max(1)));
        for body in &frame.bodies {
            let all = places(body).len();
            let count = if total <= budget { all } else { (all * budget).div_ceil(total) };
            let ball = body.surfels.is_empty();
            let radius = if ball { mean(body.spacings.iter().map(|s| 0.5 * s)) } else { mean_radius(&body.surfels) };
            // Fewer discs cover the same surface when they are larger, and a stretched one when they overlap.
            let radius = radius * if ball { 1.0 } else { 1.3 } * (all as f32 / count.max(1) as f32).sqrt();
            let colors = (!ball).then(|| put_colors(&mut self.bytes, &body.surfels, count));
            self.groups.push(Group {
                ball,
                radius,
                low,
                size,
                colors,
                ..Group::new(&body.name, count, true, body.color)
            });
        }
        for collider in &frame.colliders {
            let look = match &collider.look {
                ColliderLook::Plane => {
                    self.planes.push(Group::new(&collider.name, 0, false, collider.color));
                    continue;
                }
                ColliderLook::Surfels(look) => look,
            };
            let mut own = Bounds::default();
            look.positions.iter().for_each(|p| own.add(*p));
            let count = look.len().min(MAX_SURFELS);
            let radius = mean_radius(look) * (look.len() as f32 / count.max(1) as f32).sqrt();
            let (low, size) = if own.is_empty() { (Vec3::ZERO, Vec3::ONE) } else { (own.min, own.max - own.min) };
            align(&mut self.bytes);
            let offsets = vec![self.bytes.len()];
            for i in thinned(look.len(), count) {
                put_one(&mut self.bytes, (look.positions[i] - low) / size, look.normals[i]);
            }
            let group = Group::new(&collider.name, count, false, collider.color);
            self.groups.push(Group { radius, low, size, offsets, ..group });
        }
        align(&mut self.bytes);
    }

    fn html(&self, name: &str, view: &camera::Camera) -> String {
        let size = self.bounds.max - self.bounds.min;
        let meta = json!({
            "times": self.times,
            "extent": size.length().max(1e-6),
            "camera": { "from": view.from.to_array(), "look_at": view.look_at.to_array(), "fov": view.fov_y },
            "groups": self.groups.iter().map(Group::json).collect::<Vec<_>>(),
            "planes": self.planes.iter().map(Group::json).collect::<Vec<_>>(),
        });
        // Inside a script element only "</" could end it.
        let meta = meta.to_string().replace("</", "<\\/");
        PAGE.replace("__TITLE__", &escaped(name)).replace("__META__", &meta).replace("__DATA__", &base64(&self.bytes))
    }
}

impl Group {
    fn new(name: &str, count: usize, moving: bool, color: [u8; 3]) -> Self {
        let (offsets, poses) = (Vec::new(), Vec::new());
        let (low, size) = (Vec3::ZERO, Vec3::ONE);
        let name = name.to_string();
        Self { name, count, moving, ball: false, color, colors: None, low, size, radius: 0.0, offsets, poses }
    }

    fn json(&self) -> Value {
        let round = |x: f64| (x * 1e7).round() / 1e7;
        let pose = |p: &DAffine3| p.to_cols_array().map(round).to_vec();
        let mut poses: Vec<Vec<f64>> = self.poses.iter().map(pose).collect();
        // What stands still needs one pose.
        if poses.windows(2).all(|p| p[0] == p[1]) {
            poses.truncate(1);
        }
        json!({
            "name": self.name, "count": self.count, "moving": self.moving, "ball": self.ball, "color": self.color,
            "colors": self.colors.map_or(-1, |c| c as i64), "low": self.low.to_array(), "size": self.size.to_array(),
            "radius": self.radius, "frames": self.offsets, "poses": if self.moving { Value::Null } else { json!(poses) },
        })
    }
}

/// What is drawn of a body: its surfels, or its points.
fn places(body: &BodyFrame) -> &[Vec3] {
    if body.surfels.is_empty() { &body.positions } else { &body.surfels.positions }
}

/// `count` of `all` indices, evenly spread.
fn thinned(all: usize, count: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |i| (i * all / count.max(1)).min(all.saturating_sub(1)))
}

fn put(bytes: &mut Vec<u8>, body: &BodyFrame, count: usize, low: Vec3, size: Vec3) {
    let places = places(body);
    if places.is_empty() {
        bytes.resize(bytes.len() + count * STRIDE, 0);
        return;
    }
    for i in thinned(places.len(), count) {
        let normal = body.surfels.normals.get(i).copied().unwrap_or(Vec3::Y);
        put_one(bytes, (places[i] - low) / size, normal);
    }
}

fn put_one(bytes: &mut Vec<u8>, fraction: Vec3, normal: Vec3) {
    for x in fraction.to_array() {
        // A cast saturates and sends NaN (a flat box) to 0.
        bytes.extend_from_slice(&((x * 65535.0).round() as u16).to_le_bytes());
    }
    let o: Vec2 = super::frame_file::octahedral(normal) * 127.0;
    bytes.extend_from_slice(&[(o.x.round() as i8) as u8, (o.y.round() as i8) as u8]);
}

/// Appends the colors and returns where they begin.
fn put_colors(bytes: &mut Vec<u8>, surfels: &Surfels, count: usize) -> usize {
    align(bytes);
    let offset = bytes.len();
    for i in thinned(surfels.len(), count) {
        bytes.extend_from_slice(&surfels.colors[i]);
    }
    align(bytes);
    offset
}

/// Vertex data begins at multiples of 4 bytes.
fn align(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

/// Mean of the longer half-axes.
fn mean_radius(s: &Surfels) -> f32 {
    mean((0..s.len()).map(|i| s.axes_u[i].length().max(s.axes_v[i].length())))
}

fn mean(values: impl ExactSizeIterator<Item = f32>) -> f32 {
    let n = values.len().max(1) as f32;
    values.sum::<f32>() / n
}

/// Text that is safe inside HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().enumerate().fold(0u32, |w, (i, b)| w | u32::from(*b) << (16 - 8 * i));
        for i in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * i)) as usize & 63] as char;
            text.push(if i <= chunk.len() { letter } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sinks::frame_file::tests::sample;

    #[test]
    fn base64_as_in_rfc_4648() {
        let check = |text: &str, want: &str| assert_eq!(base64(text.as_bytes()), want);
        check("", "");
        check("f", "Zg==");
        check("fo", "Zm8=");
        check("foobar", "Zm9vYmFy");
    }

    #[test]
    fn frames_are_spread_evenly() {
        assert_eq!(chosen(3, 100), [0, 1, 2]);
        assert_eq!(chosen(101, 3), [0, 50, 100]);
        assert!(chosen(0, 10).is_empty());
        assert_eq!(chosen(1, 12), [0]);
    }

    #[test]
    fn the_page_holds_all_frames_and_nothing_can_escape() {
        let mut bounds = Bounds::default();
        (0..3).for_each(|i| bounds.join(&Bounds::of_frame(&sample(i))));
        let mut page = Page::new(bounds, 3);
        (0..3).for_each(|i| page.add(&sample(i)));
        let html = page.html("</script><b>", &camera::auto(&[bounds], 1.8));
        assert!(!html.contains("__") && !html.contains("</script><b>"));
        assert_eq!(html.matches("</script>").count(), 3);
        assert_eq!(page.groups[0].offsets.len(), 3);
        let moved = page.groups[0].offsets[1] - page.groups[0].offsets[0];
        assert_eq!(moved, (50 + 50) * STRIDE);
    }
}
