//! Ground: infinite planes with soft shadows that fade into the background.

use super::camera::Bounds;
use super::color::to_linear;
use super::depth_map::DepthMap;
use super::light::sky_radiance;
use crate::frame::{ColliderFrame, ColliderLook};
use glam::{Vec2, Vec3};
use rayon::prelude::*;

/// Cells along a side of the key light's and the sky's grids.
const KEY_CELLS: usize = 128;
const SKY_CELLS: usize = 80;

/// Change of the key light over two cells from which on the grid begins to be, and is, too coarse.
const STEEP: (f32, f32) = (0.25, 0.55);

/// One plane and the light on it.
#[derive(Debug, Default)]
pub(super) struct Ground {
    pub origin: Vec3,
    pub normal: Vec3,
    side: Vec3,
    forward: Vec3,
    pub albedo: Vec3,
    key: Grid,
    sky: Grid,
}

/// Values on a square of the plane, 1 outside.
#[derive(Debug, Default)]
struct Grid {
    center: Vec2,
    half: f32,
    cells: usize,
    values: Vec<f32>,
    /// Blurred values, and the range of the exact ones around them.
    smooth: Vec<[f32; 2]>,
}

impl Ground {
    /// Takes over the place and color of a collider that is a plane; false if it is not one.
    pub fn set(&mut self, collider: &ColliderFrame) -> bool {
        if !matches!(collider.look, ColliderLook::Plane) || !collider.pose.is_finite() {
            return false;
        }
        let pose = collider.pose.as_affine3();
        self.origin = pose.translation;
        self.normal = pose.transform_vector3(Vec3::Y).try_normalize().unwrap_or(Vec3::Y);
        // Axes that are the world's for a level floor, so that the grid lines lie straight.
        self.side = (Vec3::X - self.normal * self.normal.x).try_normalize().unwrap_or(Vec3::Z);
        self.forward = self.side.cross(self.normal);
        self.albedo = to_linear(collider.color);
        true
    }

    /// Evaluates the maps on the grids around what casts shadows.
    pub fn update(&mut self, key_maps: &[DepthMap], sky_maps: &[DepthMap], bounds: &Bounds, key: Vec3) {
        if bounds.is_empty() {
            self.key.half = 0.0;
            self.sky.half = 0.0;
            return;
        }
        let (center, radius) = (0.5 * (bounds.min + bounds.max), 0.5 * (bounds.max - bounds.min).length());
        let height = (center - self.origin).dot(self.normal);
        let (mut key_grid, mut sky) = (std::mem::take(&mut self.key), std::mem::take(&mut self.sky));

        // Along the light onto the plane; a grazing light throws no shadow that could be drawn.
        let slope = key_slope(self.normal, key);
        let along = slope.map_or(0.0, |s| height.max(-radius) / s);
        let reach = slope.map_or(0.0, |s| 1.05 * radius / s + 0.16 * (height.abs() + radius));
        key_grid.place(self.local(center - key * along), reach, KEY_CELLS);
        key_grid.fill(key_maps, |_| 1.0, |at| self.place(at), 1.0);
        key_grid.blur();

        // The sky's shadow reaches as far as things are high.
        sky.place(self.local(center), 1.3 * radius + 0.9 * (height + radius).clamp(0.0, 2.0 * radius), SKY_CELLS);
        let weight = |direction: Vec3| self.normal.dot(direction).max(0.0) * sky_radiance(direction.y);
        sky.fill(sky_maps, weight, |at| self.place(at), 1.5);
        sky.fade_out();
        sky.blur();
        (self.key, self.sky) = (key_grid, sky);
    }

    fn local(&self, p: Vec3) -> Vec2 {
        let d = p - self.origin;
        Vec2::new(d.dot(self.side), d.dot(self.forward))
    }

    fn place(&self, at: Vec2) -> Vec3 {
        self.origin + self.side * at.x + self.forward * at.y
    }

    /// Coordinates in the plane of a place on it [m].
    pub fn coordinates(&self, p: Vec3) -> Vec2 {
        self.local(p)
    }

    /// Fraction of key and sky light at a place on the plane. Where the key light changes sharply, the maps are
    /// asked themselves.
    pub fn light(&self, at: Vec2, key_maps: &[DepthMap]) -> (f32, f32) {
        let (smooth, spread) = self.key.lookup(at);
        let sharp = ((spread - STEEP.0) / (STEEP.1 - STEEP.0)).clamp(0.0, 1.0);
        let key = if sharp > 0.0 { smooth + (mean_visible(key_maps, self.place(at)) - smooth) * sharp } else { smooth };
        (key, self.sky.lookup(at).0)
    }

    /// Brightness, 0 to 1, of the part of the plane that a splat at `p` faces.
    pub fn brightness_below(&self, p: Vec3, normal: Vec3) -> f32 {
        let height = (p - self.origin).dot(self.normal).max(0.0);
        let at = self.local(p + normal * height);
        let here = 0.6 * self.key.lookup(at).0 + 0.4 * self.sky.lookup(at).0;
        // From high up one sees a large, mostly lit part.
        let far = height / (height + 0.3 * self.sky.half + 1e-9);
        here + (0.9 - here) * far
    }
}

fn key_slope(normal: Vec3, key: Vec3) -> Option<f32> {
    let slope = normal.dot(key);
    (slope > 0.1).then_some(slope)
}

fn mean_visible(maps: &[DepthMap], p: Vec3) -> f32 {
    maps.iter().map(|m| m.visible(p, 0.0, 1.0)).sum::<f32>() / maps.len().max(1) as f32
}

impl Grid {
    fn place(&mut self, center: Vec2, half: f32, cells: usize) {
        (self.center, self.half, self.cells) = (center, half, cells);
        self.values.clear();
        self.values.resize(cells * cells, 1.0);
    }

    /// Weighted mean of what the maps let through, row by row, map by map.
    fn fill(
        &mut self,
        maps: &[DepthMap],
        weight: impl Fn(Vec3) -> f32 + Sync,
        place: impl Fn(Vec2) -> Vec3 + Sync,
        far: f32,
    ) {
        let (cells, corner) = (self.cells, self.center - self.half);
        let step = 2.0 * self.half / (cells as f32 - 1.0);
        let total = maps.iter().map(|m| weight(m.direction)).sum::<f32>().max(1e-6);
        self.values.par_chunks_mut(cells).enumerate().for_each(|(y, row)| {
            row.fill(0.0);
            for map in maps {
                let weight = weight(map.direction);
                for (x, value) in row.iter_mut().enumerate() {
                    let p = place(corner + Vec2::new(x as f32, y as f32) * step);
                    *value += weight * map.visible(p, 0.0, far);
                }
            }
            row.iter_mut().for_each(|value| *value /= total);
        });
    }

    /// Lets the values go to 1 in a circle, so that the border of the grid is not seen.
    fn fade_out(&mut self) {
        let middle = 0.5 * (self.cells as f32 - 1.0);
        for (i, v) in self.values.iter_mut().enumerate() {
            let d = Vec2::new((i % self.cells) as f32, (i / self.cells) as f32) / middle - 1.0;
            let t = ((1.0 - d.length()) / 0.6).clamp(0.0, 1.0);
            *v = 1.0 - (1.0 - *v) * t * t * (3.0 - 2.0 * t);
        }
    }

    /// Takes the steps of the single maps out of wide half-shadows, and notes how much the values change around each.
    fn blur(&mut self) {
        let (cells, values) = (self.cells, &self.values);
        self.smooth.clear();
        self.smooth.extend(values.iter().map(|&v| [v, 0.0]));
        for y in 1..cells - 1 {
            for x in 1..cells - 1 {
                let i = y * cells + x;
                let row = |i: usize| values[i - 1] + 2.0 * values[i] + values[i + 1];
                let mean = (row(i - cells) + 2.0 * row(i) + row(i + cells)) / 16.0;
                let (mut lo, mut hi) = (1.0f32, 0.0f32);
                for start in [i - cells - 1, i - 1, i + cells - 1] {
                    for &v in &values[start..start + 3] {
                        (lo, hi) = (lo.min(v), hi.max(v));
                    }
                }
                self.smooth[i] = [mean, hi - lo];
            }
        }
    }

    /// Smooth value, and how much the exact one changes around it; 1 and 0 outside.
    fn lookup(&self, at: Vec2) -> (f32, f32) {
        if self.half <= 0.0 {
            return (1.0, 0.0);
        }
        let g = (at - self.center + self.half) * ((self.cells as f32 - 1.0) / (2.0 * self.half));
        let limit = (self.cells - 1) as f32;
        if !(g.x >= 0.0 && g.y >= 0.0 && g.x < limit && g.y < limit) {
            return (1.0, 0.0);
        }
        let (x, y) = (g.x as i32, g.y as i32);
        let f = g - Vec2::new(x as f32, y as f32);
        let i = y as usize * self.cells + x as usize;
        let (low, high) = (&self.smooth[i..i + 2], &self.smooth[i + self.cells..i + self.cells + 2]);
        let mix = |k: usize| {
            let (a, b) = (low[0][k] + (low[1][k] - low[0][k]) * f.x, high[0][k] + (high[1][k] - high[0][k]) * f.x);
            a + (b - a) * f.y
        };
        (mix(0), mix(1))
    }
}
