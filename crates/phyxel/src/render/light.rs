//! Light: how much of the key light and of the sky each splat and each place of the ground sees.
//!
//! One depth map per direction: a cone of directions for the key light makes its shadow soft and sharp where things
//! touch; directions over the dome make the sky light. Directions are fixed and maps follow the bounds of the scene, so
//! nothing flickers. Every value is gathered over the maps in a fixed order: the same bits for any number of threads.

use super::ground::Ground;
use super::splats::Splats;
use glam::{Vec2, Vec3};
use rayon::prelude::*;

/// Directions within the key light's cone.
const KEY_MAPS: usize = 16;
/// Directions over the sky dome.
const SKY_MAPS: usize = 32;
/// Tangent of the half-angle of the key light.
const KEY_SPREAD: f32 = 0.075;
/// More casters than this are thinned out for the sky maps.
const SKY_CASTERS: usize = 8_000;

/// Splats evaluated together: all of them ask one map before the next, which keeps it in the cache.
const CHUNK: usize = 512;

/// Depths seen from one direction, orthographic.
#[derive(Debug, Default, Clone)]
pub(super) struct DepthMap {
    /// Towards the light.
    pub direction: Vec3,
    /// Across the map, per texel.
    side: Vec3,
    up: Vec3,
    /// Added to projected places.
    origin: Vec3,
    size: usize,
    texel: f32,
    depths: Vec<f32>,
}

/// What splats see of the lights; written by `update`.
#[derive(Debug, Default)]
pub(super) struct Light {
    key: Vec<DepthMap>,
    sky: Vec<DepthMap>,
    /// Per splat: fraction of the key light, of the sky light, and brightness of the ground it faces.
    pub seen: Vec<[f32; 3]>,
}

impl Light {
    /// Draws all maps and evaluates them at the splats and on the ground.
    pub fn update(&mut self, splats: &Splats, key: Vec3, ground: &mut [Ground], eye: Vec3) {
        self.draw_maps(splats, key);
        for plane in ground.iter_mut() {
            plane.update(&self.key, &self.sky, &splats.bounds, key);
        }
        let (key_maps, sky_maps, ground) = (&self.key[..], &self.sky[..], &*ground);
        self.seen.clear();
        self.seen.resize(splats.len(), [0.0; 3]);
        self.seen.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, seen)| {
            see(splats, chunk * CHUNK, eye, key_maps, sky_maps, seen);
            for (k, seen) in seen.iter_mut().enumerate() {
                let i = chunk * CHUNK + k;
                seen[2] = ground.first().map_or(0.5, |g| g.brightness_below(splats.positions[i], splats.normals[i]));
            }
        });
    }

    /// The key light's maps, for places that want them exactly.
    pub fn key_maps(&self) -> &[DepthMap] {
        &self.key
    }

    fn draw_maps(&mut self, splats: &Splats, key: Vec3) {
        self.key.resize(KEY_MAPS, DepthMap::default());
        self.sky.resize(SKY_MAPS, DepthMap::default());
        let (center, radius) = match splats.bounds.is_empty() {
            true => (Vec3::ZERO, 1.0),
            false => {
                let b = &splats.bounds;
                (0.5 * (b.min + b.max), 0.5 * (b.max - b.min).length())
            }
        };
        let mean_radius = splats.radii.iter().sum::<f32>() / splats.len().max(1) as f32;
        let resolution = |per_radius: f32, lo: usize, hi: usize| {
            // In steps, so that it rarely changes during a run.
            let wanted = 2.0 * radius * per_radius / mean_radius.max(1e-9);
            ((wanted / 64.0).ceil() as usize * 64).clamp(lo, hi)
        };
        let key_size = resolution(1.25, 128, 512);
        let sky_size = resolution(0.7, 64, 192);
        self.key.par_iter_mut().enumerate().for_each(|(k, map)| {
            map.look(key_direction(key, k), center, radius, key_size);
            map.draw_exact(splats);
        });
        let stride = splats.len().div_ceil(SKY_CASTERS).max(1);
        self.sky.par_iter_mut().enumerate().for_each(|(k, map)| {
            map.look(sky_direction(k), center, radius, sky_size);
            map.draw_coarse(splats, stride);
        });
    }
}

/// Directions on a disk around the key light (sunflower pattern).
fn key_direction(key: Vec3, k: usize) -> Vec3 {
    let (side, up) = key.any_orthonormal_pair();
    let r = ((k as f32 + 0.5) / KEY_MAPS as f32).sqrt() * KEY_SPREAD;
    let (sin, cos) = (k as f32 * GOLDEN_ANGLE).sin_cos();
    (key + (side * cos + up * sin) * r).normalize()
}

const GOLDEN_ANGLE: f32 = 2.399_963_2;

/// Directions evenly over the upper half sphere, not quite down to the horizon.
fn sky_direction(k: usize) -> Vec3 {
    let y = 0.04 + 0.96 * (k as f32 + 0.5) / SKY_MAPS as f32;
    let r = (1.0 - y * y).max(0.0).sqrt();
    let (sin, cos) = (k as f32 * GOLDEN_ANGLE).sin_cos();
    Vec3::new(r * cos, y, r * sin)
}

/// Radiance of the sky in a direction, relative; brighter above.
pub(super) fn sky_radiance(y: f32) -> f32 {
    0.62 + 0.5 * y.max(0.0)
}

/// Fractions of key and sky light that the splats from `start` on see, into the first two of `seen`.
fn see(splats: &Splats, start: usize, eye: Vec3, key: &[DepthMap], sky: &[DepthMap], seen: &mut [[f32; 3]]) {
    // The side that is seen counts, for sheets seen from behind. At the outline the given side is kept.
    let facing = |i: usize| {
        let (p, n) = (splats.positions[i], splats.normals[i]);
        if n.dot((eye - p).normalize_or_zero()) < -0.3 { -n } else { n }
    };
    let mut normals = [Vec3::ZERO; CHUNK];
    for k in 0..seen.len() {
        normals[k] = facing(start + k);
    }
    // Away from the surface by a little more than what the map can resolve. A ball is asked at its lit side.
    let place = |map: &DepthMap, k: usize| {
        let (p, r) = (splats.positions[start + k], splats.radii[start + k]);
        match normals[k] {
            Vec3::ZERO => p + map.direction * (1.15 * r + map.texel),
            n => p + n * (1.6 * map.texel + 0.4 * r),
        }
    };
    for map in key {
        for k in 0..seen.len() {
            seen[k][0] += map.visible(place(map, k), 0.5, 2.5) / KEY_MAPS as f32;
        }
    }
    // Normals that hardly see the dome have no ratio; lean on the middle.
    let mut totals = [0.1; CHUNK];
    seen.iter_mut().for_each(|s| s[1] = 0.05);
    for map in sky {
        let radiance = sky_radiance(map.direction.y);
        for k in 0..seen.len() {
            let cosine = if normals[k] == Vec3::ZERO { 0.5 } else { normals[k].dot(map.direction) };
            if cosine > 0.0 {
                totals[k] += cosine * radiance;
                seen[k][1] += cosine * radiance * map.visible(place(map, k), 0.5, 3.0);
            }
        }
    }
    for k in 0..seen.len() {
        seen[k][1] = (seen[k][1] / totals[k]).min(1.0);
    }
}

impl DepthMap {
    /// Aims the map at a sphere and clears it.
    fn look(&mut self, direction: Vec3, center: Vec3, radius: f32, size: usize) {
        self.direction = direction;
        self.size = size;
        // Two texels of border stay empty, so that lookups need no other care.
        self.texel = 2.0 * radius.max(1e-9) / (size as f32 - 4.0);
        let (side, up) = direction.any_orthonormal_pair();
        (self.side, self.up) = (side / self.texel, up / self.texel);
        let middle = 0.5 * (size as f32 - 1.0);
        self.origin = Vec3::new(middle - center.dot(self.side), middle - center.dot(self.up), -center.dot(direction));
        self.depths.clear();
        self.depths.resize(size * size, f32::NEG_INFINITY);
    }

    /// Texel coordinates (texel centers at integers) and height towards the light.
    fn project(&self, p: Vec3) -> (Vec2, f32) {
        let at = Vec2::new(p.dot(self.side) + self.origin.x, p.dot(self.up) + self.origin.y);
        (at, p.dot(self.direction) + self.origin.z)
    }

    /// Draws every splat as the ellipse it is, with the depth of its plane.
    fn draw_exact(&mut self, splats: &Splats) {
        for i in 0..splats.len() {
            let (at, height) = self.project(splats.positions[i]);
            let (u, v) = (splats.axes_u[i], splats.axes_v[i]);
            let ball = splats.normals[i] == Vec3::ZERO;
            let across = splats.radii[i] / self.texel;
            let flat = |a: Vec3| Vec2::new(a.dot(self.side), a.dot(self.up));
            let (u2, v2) = if ball { (Vec2::X * across, Vec2::Y * across) } else { (flat(u), flat(v)) };
            let reach = Vec2::new((u2.x * u2.x + v2.x * v2.x).sqrt(), (u2.y * u2.y + v2.y * v2.y).sqrt());
            let determinant = u2.perp_dot(v2);
            if reach.max_element() < 0.7 || determinant.abs() < 0.3 {
                let (x, y) = self.clamped(at + 0.5);
                self.raise(y * self.size + x, height);
                continue;
            }
            // Coordinates along the axes are linear in the texel.
            let (a, b) = (Vec2::new(v2.y, -v2.x) / determinant, Vec2::new(-u2.y, u2.x) / determinant);
            let slope = a * u.dot(self.direction) + b * v.dot(self.direction);
            let (lo, hi) = (self.clamped(at - reach + 1.0), self.clamped(at + reach));
            for y in lo.1..=hi.1 {
                for x in lo.0..=hi.0 {
                    let d = Vec2::new(x as f32, y as f32) - at;
                    let (s, t) = (a.dot(d), b.dot(d));
                    if s * s + t * t <= 1.0 {
                        self.raise(y * self.size + x, height + slope.dot(d));
                    }
                }
            }
        }
    }

    /// Draws every `stride`-th splat, made larger accordingly, as a small rectangle of its center's height.
    fn draw_coarse(&mut self, splats: &Splats, stride: usize) {
        let grow = 0.8 * (stride as f32).sqrt();
        for i in (0..splats.len()).step_by(stride) {
            let (at, height) = self.project(splats.positions[i]);
            let (u, v) = (splats.axes_u[i], splats.axes_v[i]);
            let reach = if splats.normals[i] == Vec3::ZERO {
                Vec2::splat(grow * splats.radii[i] / self.texel)
            } else {
                let across = |axis: Vec3| (u.dot(axis) * u.dot(axis) + v.dot(axis) * v.dot(axis)).sqrt() * grow;
                Vec2::new(across(self.side), across(self.up))
            };
            let (lo, hi) = (self.clamped(at - reach + 0.5), self.clamped(at + reach + 0.5));
            for y in lo.1..=hi.1 {
                for depth in &mut self.depths[y * self.size + lo.0..=y * self.size + hi.0] {
                    *depth = if height > *depth { height } else { *depth };
                }
            }
        }
    }

    fn raise(&mut self, i: usize, height: f32) {
        let depth = &mut self.depths[i];
        *depth = if height > *depth { height } else { *depth };
    }

    /// The texel a place lies in, rounded down and kept inside.
    fn clamped(&self, at: Vec2) -> (usize, usize) {
        let limit = self.size as i32 - 1;
        ((at.x as i32).clamp(0, limit) as usize, (at.y as i32).clamp(0, limit) as usize)
    }

    /// Fraction of the light that reaches a place, 0 to 1: four texels, each a soft comparison that starts to darken when
    /// the place lies `near` texels below what the map saw and is dark at `far`.
    #[inline]
    pub fn visible(&self, p: Vec3, near: f32, far: f32) -> f32 {
        let (at, height) = self.project(p);
        let limit = (self.size - 1) as f32;
        if !(at.x >= 0.0 && at.y >= 0.0 && at.x < limit && at.y < limit) {
            return 1.0;
        }
        let (x, y) = (at.x as i32, at.y as i32);
        let (fx, fy) = (at.x - x as f32, at.y - y as f32);
        let i = y as usize * self.size + x as usize;
        let scale = 1.0 / ((far - near) * self.texel);
        let top = height + far * self.texel;
        let lit = |depth: f32| {
            let t = (top - depth) * scale;
            let t = if t < 1.0 { t } else { 1.0 };
            if t > 0.0 { t } else { 0.0 }
        };
        let (low, high) = (&self.depths[i..i + 2], &self.depths[i + self.size..i + self.size + 2]);
        let (a, b, c, d) = (lit(low[0]), lit(low[1]), lit(high[0]), lit(high[1]));
        let (a, c) = (a + (b - a) * fx, c + (d - c) * fx);
        a + (c - a) * fy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_shadows_what_is_below_it() {
        let mut splats = Splats::default();
        splats.positions.push(Vec3::Y);
        splats.axes_u.push(Vec3::X * 0.5);
        splats.axes_v.push(Vec3::Z * 0.5);
        splats.normals.push(Vec3::Y);
        splats.radii.push(0.5);
        let mut map = DepthMap::default();
        map.look(Vec3::Y, Vec3::ZERO, 2.0, 128);
        map.draw_exact(&splats);
        assert_eq!(map.visible(Vec3::ZERO, 0.0, 1.0), 0.0);
        assert_eq!(map.visible(Vec3::new(0.45, 0.0, 0.0), 0.0, 1.0), 0.0);
        assert_eq!(map.visible(Vec3::new(0.6, 0.0, 0.0), 0.0, 1.0), 1.0);
        assert_eq!(map.visible(Vec3::new(0.0, 1.2, 0.0), 0.0, 1.0), 1.0);
        assert_eq!(map.visible(Vec3::splat(1e6), 0.0, 1.0), 1.0);
    }

    #[test]
    fn directions_are_unit_and_up() {
        assert!((0..SKY_MAPS).all(|k| sky_direction(k).is_normalized() && sky_direction(k).y > 0.0));
        let key = Vec3::new(1.0, 2.0, 0.5).normalize();
        assert!((0..KEY_MAPS).all(|k| key_direction(key, k).dot(key) > 0.99));
    }
}
