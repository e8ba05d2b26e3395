//! Floor: what each pixel sees of the ground and the backdrop when nothing is in front.
//!
//! It depends on the camera, the background and the planes only, so a still camera computes it once for a whole film.

use super::View;
use super::camera::Camera;
use super::color::to_display;
use super::ground::Ground;
use super::project::Projection;
use super::raster::SUB;
use super::shade::{Lamps, dither};
use glam::{Vec2, Vec3};
use rayon::prelude::*;

/// One pixel of the floor.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FloorPixel {
    /// Place on the plane, in its coordinates [m].
    pub at: Vec2,
    /// Inverse depth of the plane; 0 where only the backdrop is seen.
    pub inverse_depth: f32,
    /// Share of the plane's light in the pixel: less in the distance and on grid lines.
    pub plane_share: f32,
    /// Share of the background's color.
    pub backdrop_share: f32,
    /// Which plane.
    pub plane: u32,
    /// The pixel as it is shown where no shadow falls.
    pub plain: [u8; 3],
}

/// The pixels of a view, and what they were computed for.
#[derive(Debug, Default)]
pub(super) struct Floor {
    pub pixels: Vec<FloorPixel>,
    camera: Option<Camera>,
    background: [u8; 3],
    /// Origin, normal and color of the planes.
    planes: Vec<[Vec3; 3]>,
}

impl Floor {
    /// Recomputes the pixels if the camera, the background or a plane has changed.
    pub fn update(&mut self, view: &View, projection: &Projection, ground: &[Ground], width: usize, height: usize) {
        let unmoved = self.planes.len() == ground.len()
            && self.planes.iter().zip(ground).all(|(old, new)| *old == [new.origin, new.normal, new.albedo])
            && self.background == view.background;
        if unmoved && self.camera == Some(view.camera) && self.pixels.len() == width * height {
            return;
        }
        self.camera = Some(view.camera);
        self.background = view.background;
        self.planes.clear();
        self.planes.extend(ground.iter().map(|g| [g.origin, g.normal, g.albedo]));
        self.pixels.resize(width * height, FloorPixel::default());
        let eye = Eye::new(&view.camera, projection);
        let lamps = Lamps::new(view);
        self.pixels.par_chunks_mut(width).enumerate().for_each(|(y, row)| {
            for (x, pixel) in row.iter_mut().enumerate() {
                *pixel = eye.pixel(pixel_ray(projection, x, y), ground);
                pixel.plain = to_display(lamps.floor(pixel, ground, (1.0, 1.0)), dither(x, y));
            }
        });
    }
}

/// Ray through the middle of a pixel, of depth 1.
pub(super) fn pixel_ray(projection: &Projection, x: usize, y: usize) -> Vec3 {
    projection.ray(((x * SUB) as f32) + 0.5 * SUB as f32, ((y * SUB) as f32) + 0.5 * SUB as f32)
}

/// The camera, with the scale of the scene that follows from it.
struct Eye {
    place: Vec3,
    look_at: Vec3,
    /// From the eye to the looked-at place [m].
    distance: f32,
    /// Distance between grid lines [m].
    line_spacing: f32,
    /// Size of a pixel at depth 1.
    pixel: f32,
}

impl Eye {
    fn new(camera: &Camera, projection: &Projection) -> Self {
        let distance = camera.from.distance(camera.look_at).max(1e-6);
        let step = 10f32.powf((distance / 14.0).log10().floor());
        let line_spacing = step * [5.0, 2.0, 1.0].into_iter().find(|m| m * step <= distance / 14.0).unwrap_or(1.0);
        let pixel = SUB as f32 / projection.focal;
        Self { place: camera.from, look_at: camera.look_at, distance, line_spacing, pixel }
    }

    fn pixel(&self, ray: Vec3, ground: &[Ground]) -> FloorPixel {
        let length = ray.length();
        // The backdrop is a little lighter towards the horizon.
        let backdrop = 1.0 - 0.30 * smooth((ray.y / length).max(0.0) / 0.7);
        let Some((plane, t)) = self.hit(ray, ground) else {
            return FloorPixel { backdrop_share: backdrop, ..FloorPixel::default() };
        };
        let p = self.place + ray * t;
        let far = p.distance(self.look_at) / self.distance;
        let fade = smooth((far - 0.35) / 2.3);
        let at = ground[plane].coordinates(p);
        let grazing = (ray.dot(ground[plane].normal) / length).abs().max(0.02);
        let line = 0.35 * self.line(at, t / grazing) * (1.0 - smooth(far / 1.6));
        FloorPixel {
            at,
            inverse_depth: 1.0 / t,
            plane_share: (1.0 - fade) * (1.0 - line),
            backdrop_share: fade * backdrop,
            plane: plane as u32,
            plain: [0; 3],
        }
    }

    /// The nearest plane that a ray hits from its front, and the depth of the place.
    fn hit(&self, ray: Vec3, ground: &[Ground]) -> Option<(usize, f32)> {
        let mut nearest: Option<(usize, f32)> = None;
        for (k, plane) in ground.iter().enumerate() {
            let down = ray.dot(plane.normal);
            let height = (self.place - plane.origin).dot(plane.normal);
            let t = -height / down;
            if down < 0.0 && height > 0.0 && nearest.is_none_or(|(_, old)| t < old) {
                nearest = Some((k, t));
            }
        }
        nearest
    }

    /// Thin lines on the ground that give the eye a scale; they vanish where they would alias.
    fn line(&self, at: Vec2, distance: f32) -> f32 {
        let width = 0.008 + 0.7 * distance * self.pixel / self.line_spacing;
        let strength = |x: f32| (1.0 - (x - x.round()).abs() / width).max(0.0) * (0.008 / width);
        (strength(at.x / self.line_spacing) + strength(at.y / self.line_spacing)).min(1.0)
    }
}

/// From 0 to 1 with level ends.
pub(super) fn smooth(t: f32) -> f32 {
    let t = t.clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}
