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
const KEY_MAPS: usize = 24;
/// Directions over the sky dome.
const SKY_MAPS: usize = 44;
/// Tangent of the half-angle of the key light.
const KEY_SPREAD: f32 = 0.075;
/// More casters than this are thinned out for the sky maps.
const SKY_CASTERS: usize = 30_000;

/// Depths seen from one direction, orthographic.
#[derive(Debug, Default, Clone)]
pub(super) struct DepthMap {
    /// Towards the light.
    pub direction: Vec3,
    side: Vec3,
    up: Vec3,
    center: Vec3,
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
        self.seen.par_chunks_mut(256).enumerate().for_each(|(chunk, seen)| {
            for (k, seen) in seen.iter_mut().enumerate() {
                *seen = see(splats, chunk * 256 + k, key_maps, sky_maps, ground, eye);
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
        let key_size = resolution(1.6, 128, 512);
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

/// Key, sky and ground light that splat `i` sees.
fn see(splats: &Splats, i: usize, key: &[DepthMap], sky: &[DepthMap], ground: &[Ground], eye: Vec3) -> [f32; 3] {
    let (p, radius) = (splats.positions[i], splats.radii[i]);
    let mut normal = splats.normals[i];
    if normal == Vec3::ZERO {
        return see_ball(p, radius, key, sky, ground);
    }
    // The side that is seen counts, for sheets seen from behind. At the outline the given side is kept.
    let to_eye = (eye - p).normalize_or_zero();
    if normal.dot(to_eye) < -0.3 {
        normal = -normal;
    }
    let offset = |map: &DepthMap| p + normal * (1.2 * map.texel + 0.25 * radius);
    let key_seen = key.iter().map(|m| m.visible(offset(m), 0.5, 2.5)).sum::<f32>() / key.len() as f32;
    let (mut sum, mut total) = (0.0, 1e-6);
    for map in sky {
        let cosine = normal.dot(map.direction);
        if cosine > 0.0 {
            let weight = cosine * sky_radiance(map.direction.y);
            total += weight;
            sum += weight * map.visible(offset(map), 0.5, 3.0);
        }
    }
    // Normals that hardly see the dome have no ratio; lean on the middle.
    let sky_seen = (sum + 0.05) / (total + 0.1).max(sum + 0.05);
    [key_seen, sky_seen, ground_brightness(ground, p, normal)]
}

fn see_ball(p: Vec3, radius: f32, key: &[DepthMap], sky: &[DepthMap], ground: &[Ground]) -> [f32; 3] {
    let offset = |m: &DepthMap| p + m.direction * (1.15 * radius + m.texel);
    let mean = |maps: &[DepthMap], lo: f32, hi: f32| {
        maps.iter().map(|m| m.visible(offset(m), lo, hi)).sum::<f32>() / maps.len() as f32
    };
    [mean(key, 0.5, 2.0), mean(sky, 0.5, 3.0), ground_brightness(ground, p, Vec3::ZERO)]
}

/// How bright the ground is that a splat faces, 0 to 1; without a ground a dim, even light from below.
fn ground_brightness(ground: &[Ground], p: Vec3, normal: Vec3) -> f32 {
    ground.first().map_or(0.5, |plane| plane.brightness_below(p, normal))
}

impl DepthMap {
    /// Aims the map at a sphere and clears it.
    fn look(&mut self, direction: Vec3, center: Vec3, radius: f32, size: usize) {
        (self.side, self.up) = direction.any_orthonormal_pair();
        self.direction = direction;
        self.center = center;
        self.size = size;
        // Two texels of border stay empty, so that lookups need no other care.
        self.texel = 2.0 * radius.max(1e-9) / (size as f32 - 4.0);
        self.depths.clear();
        self.depths.resize(size * size, f32::NEG_INFINITY);
    }

    /// Texel coordinates (texel centers at integers) and height towards the light.
    fn project(&self, p: Vec3) -> (Vec2, f32) {
        let d = p - self.center;
        let middle = 0.5 * (self.size as f32 - 1.0);
        (Vec2::new(d.dot(self.side), d.dot(self.up)) / self.texel + middle, d.dot(self.direction))
    }

    /// Draws every splat as the ellipse it is, with the depth of its plane.
    fn draw_exact(&mut self, splats: &Splats) {
        for i in 0..splats.len() {
            let (at, height) = self.project(splats.positions[i]);
            let (mut u, mut v) = (splats.axes_u[i], splats.axes_v[i]);
            if splats.normals[i] == Vec3::ZERO {
                (u, v) = (self.side * splats.radii[i], self.up * splats.radii[i]);
            }
            let flat = |a: Vec3| Vec2::new(a.dot(self.side), a.dot(self.up)) / self.texel;
            let (u2, v2) = (flat(u), flat(v));
            let reach = (u2 * u2 + v2 * v2).map(f32::sqrt);
            let determinant = u2.perp_dot(v2);
            if reach.max_element() < 0.7 || determinant.abs() < 0.3 {
                self.raise(at.round(), height);
                continue;
            }
            // Coordinates along the axes are linear in the texel.
            let (a, b) = (Vec2::new(v2.y, -v2.x) / determinant, Vec2::new(-u2.y, u2.x) / determinant);
            let slope = a * u.dot(self.direction) + b * v.dot(self.direction);
            let (lo, hi) = (self.clamped((at - reach).ceil()), self.clamped((at + reach).floor()));
            for y in lo.1..=hi.1 {
                for x in lo.0..=hi.0 {
                    let d = Vec2::new(x as f32, y as f32) - at;
                    let (s, t) = (a.dot(d), b.dot(d));
                    let depth = &mut self.depths[y * self.size + x];
                    let here = height + slope.dot(d);
                    if s * s + t * t <= 1.0 && here > *depth {
                        *depth = here;
                    }
                }
            }
        }
    }

    /// Draws every `stride`-th splat, made larger accordingly, as a small rectangle of its center's height.
    fn draw_coarse(&mut self, splats: &Splats, stride: usize) {
        let grow = 0.8 * (stride as f32).sqrt() / self.texel;
        for i in (0..splats.len()).step_by(stride) {
            let (at, height) = self.project(splats.positions[i]);
            let (u, v) = (splats.axes_u[i], splats.axes_v[i]);
            let reach = if splats.normals[i] == Vec3::ZERO {
                Vec2::splat(splats.radii[i])
            } else {
                Vec2::new(u.dot(self.side).hypot(v.dot(self.side)), u.dot(self.up).hypot(v.dot(self.up)))
            } * grow;
            let (lo, hi) = (self.clamped((at - reach).round()), self.clamped((at + reach).round()));
            for y in lo.1..=hi.1 {
                for depth in &mut self.depths[y * self.size + lo.0..=y * self.size + hi.0] {
                    *depth = if height > *depth { height } else { *depth };
                }
            }
        }
    }

    fn raise(&mut self, at: Vec2, height: f32) {
        let (x, y) = self.clamped(at);
        let depth = &mut self.depths[y * self.size + x];
        *depth = depth.max(height);
    }

    fn clamped(&self, at: Vec2) -> (usize, usize) {
        let limit = self.size - 1;
        ((at.x.max(0.0) as usize).min(limit), (at.y.max(0.0) as usize).min(limit))
    }

    /// Fraction of the light that reaches a place, 0 to 1: four texels, each a soft comparison that starts to darken when
    /// the place lies `near` texels below what the map saw and is dark at `far`.
    pub fn visible(&self, p: Vec3, near: f32, far: f32) -> f32 {
        let (at, height) = self.project(p);
        let corner = at.floor();
        let limit = (self.size - 2) as f32;
        if !(corner.x >= 0.0 && corner.y >= 0.0 && corner.x <= limit && corner.y <= limit) {
            return 1.0;
        }
        let f = at - corner;
        let i = corner.y as usize * self.size + corner.x as usize;
        let scale = 1.0 / ((far - near) * self.texel);
        let top = height + far * self.texel;
        let lit = |depth: f32| ((top - depth) * scale).clamp(0.0, 1.0);
        let row = |i: usize| {
            let (a, b) = (lit(self.depths[i]), lit(self.depths[i + 1]));
            a + (b - a) * f.x
        };
        let (a, b) = (row(i), row(i + self.size));
        a + (b - a) * f.y
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
