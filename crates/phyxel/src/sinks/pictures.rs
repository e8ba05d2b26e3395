//! Pictures of a run: film, poster and contact sheet, drawn from the frames in the run folder.
//!
//! They are drawn when the run is over: only then is known what the camera, which stands still, must keep in view.

use super::replay::chosen;
use super::{FrameReader, FrameView, RunInfo, Sink};
use crate::error::{Diagnostic, Result};
use crate::frame::Frame;
use crate::render::camera::{self, Bounds, Camera};
use crate::render::{Coloring, Draw, Film, Image, Renderer, View, field, sheet};
use crate::run::Summary;
use crate::scene::CameraSpec;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Pictures in the contact sheet.
const SHEET_PICTURES: usize = 12;
/// Width of each of them [pixels].
const SHEET_WIDTH: usize = 480;

/// How to draw a run.
#[derive(Debug, Clone)]
pub struct Drawing {
    /// Pixels across and down.
    pub size: (usize, usize),
    /// Where from; what is None is found from what is seen over the whole run.
    pub camera: CameraSpec,
    /// Field that gives the color; None: the colors of the bodies.
    pub color: Option<String>,
    /// Surfaces or points.
    pub draw: Draw,
    /// Frames per second of the film.
    pub fps: f64,
}

/// Where pictures go and who is told how far they are.
pub struct Drawer<'a> {
    drawing: Drawing,
    frames: FrameReader,
    count: u32,
    boxes: Vec<Bounds>,
    progress: &'a mut dyn FnMut(u32, u32),
}

impl<'a> Drawer<'a> {
    /// A drawer of the first `count` frames that keeps `boxes` in view; `progress` is told pictures done and to do.
    pub fn new(
        drawing: Drawing,
        frames: FrameReader,
        count: u32,
        boxes: Vec<Bounds>,
        progress: &'a mut dyn FnMut(u32, u32),
    ) -> Self {
        Self { drawing, frames, count, boxes, progress }
    }

    /// Writes `preview.mp4`, `poster.png` and `sheet.png` into `dir`.
    pub fn film(mut self, dir: &Path) -> Result<()> {
        let view = self.view()?;
        let (width, height) = self.drawing.size;
        let mut renderer = Renderer::new(width, height);
        let mut film = Film::create(dir.join("preview.mp4"), width, height, film_rate(self.drawing.fps))?;
        let sheet_frames = chosen(self.count as usize, SHEET_PICTURES);
        // Early enough to show what happens, late enough that it has begun.
        let poster = self.count / 3;
        let mut small: Vec<(Image, String)> = Vec::new();
        for i in 0..self.count {
            let frame = self.frames.read(i)?;
            let image = renderer.render(&frame, &view);
            film.push(image)?;
            if i == poster {
                image.write_png(dir.join("poster.png"))?;
            }
            if sheet_frames.contains(&(i as usize)) {
                small.push((image.shrunk_to_width(SHEET_WIDTH.min(width)), format!("{:.2} s", frame.time)));
            }
            (self.progress)(i + 1, self.count);
        }
        film.finish()?;
        if !small.is_empty() {
            sheet(&small, 4).write_png(dir.join("sheet.png"))?;
        }
        Ok(())
    }

    /// Writes one frame as a picture.
    pub fn still(mut self, index: u32, path: &Path) -> Result<()> {
        let view = self.view()?;
        let frame = self.frames.read(index)?;
        let (width, height) = self.drawing.size;
        Renderer::new(width, height).render(&frame, &view).write_png(path)
    }

    /// Camera and coloring, the same for all pictures.
    fn view(&mut self) -> Result<View> {
        let (width, height) = self.drawing.size;
        let camera = camera_of(&self.drawing.camera, &self.boxes, width as f32 / height as f32);
        let color = match self.drawing.color.take() {
            None => Coloring::Body,
            Some(name) => Coloring::Field { range: Some(self.range(&name)?), name },
        };
        Ok(View { camera, color, draw: self.drawing.draw, ..View::default() })
    }

    /// Smallest and largest value of a field over all frames.
    fn range(&mut self, name: &str) -> Result<(f32, f32)> {
        let mut found: Option<(f32, f32)> = None;
        for i in 0..self.count {
            let frame = self.frames.read(i)?;
            if i == 0 {
                check_field(&frame, name)?;
            }
            if let Some((low, high)) = field::range(&frame, name) {
                found = Some(found.map_or((low, high), |(a, b)| (a.min(low), b.max(high))));
            }
        }
        Ok(found.unwrap_or((0.0, 1.0)))
    }
}

/// The field must be there; if not, the message says which are.
fn check_field(frame: &Frame, name: &str) -> Result<()> {
    let mut known = vec!["speed"];
    for (field, _) in frame.bodies.iter().flat_map(|b| &b.fields) {
        if !known.contains(field) {
            known.push(field);
        }
    }
    if known.contains(&name) {
        return Ok(());
    }
    Err(Diagnostic::new(format!("the run has no field named `{name}`"))
        .expected(format!("one of {}", known.join(", ")))
        .into())
}

/// Frames per second that players and screens can show; scenes with a higher rate play slowly.
fn film_rate(fps: f64) -> f64 {
    if fps.is_finite() { fps.clamp(1.0, 60.0) } else { 30.0 }
}

/// The scene's camera, completed by one that keeps `boxes` in view.
pub fn camera_of(spec: &CameraSpec, boxes: &[Bounds], aspect: f32) -> Camera {
    let mut camera = camera::auto(boxes, aspect);
    if let Some(look_at) = spec.look_at {
        // A given target moves the found eye along.
        let moved = look_at.as_vec3() - camera.look_at;
        camera.look_at += moved;
        camera.from += moved;
    }
    if let Some(from) = spec.from {
        camera.from = from.as_vec3();
    }
    if let Some(fov) = spec.fov {
        camera.fov_y = fov.to_radians() as f32;
    }
    camera
}

/// Boxes around everything in the first `count` frames.
pub fn boxes_of(frames: &mut FrameReader, count: u32) -> Result<Vec<Bounds>> {
    let mut boxes = Vec::new();
    for i in 0..count {
        Bounds::each_of_frame(&frames.read(i)?, &mut boxes);
    }
    Ok(boxes)
}

/// Draws film, poster and sheet into the run folder when the run is over.
pub struct Pictures<'a> {
    dir: PathBuf,
    size: (usize, usize),
    camera: CameraSpec,
    fps: f64,
    boxes: Vec<Bounds>,
    progress: &'a mut dyn FnMut(u32, u32),
}

impl<'a> Pictures<'a> {
    /// Pictures of `width` times `height` pixels for the run folder `dir`; `progress` is told pictures done and to do.
    pub fn new(dir: &Path, width: usize, height: usize, progress: &'a mut dyn FnMut(u32, u32)) -> Self {
        let camera = CameraSpec::default();
        Self { dir: dir.to_path_buf(), size: (width, height), camera, fps: 30.0, boxes: Vec::new(), progress }
    }
}

impl Sink for Pictures<'_> {
    fn begin(&mut self, info: &RunInfo) -> Result<()> {
        self.camera = info.scene.camera;
        self.fps = info.scene.fps;
        Ok(())
    }

    fn frame(&mut self, view: &FrameView) -> Result<()> {
        Bounds::each_of_frame(view.frame, &mut self.boxes);
        Ok(())
    }

    fn finish(&mut self, summary: &mut Summary) -> Result<()> {
        let start = Instant::now();
        let drawing = Drawing { size: self.size, camera: self.camera, color: None, draw: Draw::Surface, fps: self.fps };
        let frames = FrameReader::open(self.dir.join("frames"));
        let boxes = std::mem::take(&mut self.boxes);
        Drawer::new(drawing, frames, summary.frames, boxes, &mut *self.progress).film(&self.dir)?;
        summary.seconds.render += start.elapsed().as_secs_f64();
        Ok(())
    }
}
