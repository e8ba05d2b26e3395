//! Light: how much of the key light and of the sky each splat and each place of the ground sees.
//!
//! One depth map per direction: a cone of directions for the key light makes its shadow soft and sharp where things
//! touch; directions over the dome make the sky light. Directions are fixed and maps follow the bounds of the scene, so
//! nothing flickers. Every value is gathered over the maps in a fixed order: the same bits for any number of threads.

use super::depth_map::DepthMap;
use super::ground::Ground;
use super::splats::Splats;
use glam::Vec3;
use rayon::prelude::*;
use std::ops::Range;

/// Directions within the key light's cone.
const KEY_MAPS: usize = 12;
/// Directions over the sky dome.
const SKY_MAPS: usize = 26;
/// Tangent of the half-angle of the key light.
const KEY_SPREAD: f32 = 0.075;
/// More splats than this of one surface are thinned out for the sky maps. Each surface for itself and only large ones:
/// when one that flows gains or loses splats, the choice changes, which must not be seen.
const SKY_CASTERS: usize = 30_000;

/// Splats evaluated together: all of them ask one map before the next, which keeps it in the cache.
const CHUNK: usize = 512;

/// What splats see of the lights; written by `update`.
#[derive(Debug, Default)]
pub(super) struct Light {
    key: Vec<DepthMap>,
    sky: Vec<DepthMap>,
    casters: Casters,
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
        self.casters.list(splats);
        let casters = &self.casters.parts;
        self.key.par_iter_mut().enumerate().for_each(|(k, map)| {
            map.look(key_direction(key, k), center, radius, key_size);
            casters.iter().for_each(|part| map.draw_exact(splats, part));
        });
        self.sky.par_iter_mut().enumerate().for_each(|(k, map)| {
            map.look(sky_direction(k), center, radius, sky_size);
            for part in casters {
                let stride = part.range.len().div_ceil(SKY_CASTERS).max(1);
                map.draw_coarse(splats, part, stride);
            }
        });
    }
}

/// What casts shadows, part by part.
#[derive(Debug, Default)]
struct Casters {
    parts: Vec<Caster>,
}

/// A surface, or the balls between two of them.
#[derive(Debug, Clone)]
pub(super) struct Caster {
    pub range: Range<usize>,
    /// Whether its backs are never seen from outside and can be left out.
    pub closed: bool,
}

impl Casters {
    fn list(&mut self, splats: &Splats) {
        self.parts.clear();
        let mut next = 0;
        for surface in splats.surfaces.iter().cloned().chain(std::iter::once(splats.len()..splats.len())) {
            self.parts.push(Caster { range: next..surface.start, closed: false });
            next = surface.end;
            self.parts.push(Caster { closed: is_closed(splats, surface.clone()), range: surface });
        }
        self.parts.retain(|part| !part.range.is_empty());
    }
}

/// Whether a surface encloses a volume, by the sum of its area vectors: it vanishes for a closed surface. It does so too
/// for a tube without ends, which loses the shadow that only its inside would throw.
fn is_closed(splats: &Splats, surface: Range<usize>) -> bool {
    let (mut sum, mut total) = (Vec3::ZERO, 0.0);
    for i in surface {
        let area = splats.axes_u[i].cross(splats.axes_v[i]).length();
        sum += area * splats.normals[i];
        total += area;
    }
    sum.length() < 0.1 * total
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
    let place = |map: &DepthMap, k: usize, away: f32| {
        let (p, r) = (splats.positions[start + k], splats.radii[start + k]);
        match normals[k] {
            Vec3::ZERO => p + map.direction * (1.15 * r + map.texel),
            n => p + n * (away * (map.texel + 0.25 * r)),
        }
    };
    for map in key {
        for k in 0..seen.len() {
            // What is turned away gets no light anyway.
            let lit = normals[k] == Vec3::ZERO || normals[k].dot(map.direction) > -0.25;
            seen[k][0] += if lit { map.visible(place(map, k, AWAY), 0.5, 2.5) } else { 0.0 } / KEY_MAPS as f32;
        }
    }
    let all = |_: &[f32; 3]| true;
    see_sky(&normals, sky, |map, k| place(map, k, AWAY), seen, all);
    // In a crease that place may lie behind the other wall, where nothing is seen: ask nearer too.
    let mut nearer = [[0.0; 3]; CHUNK];
    let nearer = &mut nearer[..seen.len()];
    nearer.copy_from_slice(seen);
    see_sky(&normals, sky, |map, k| place(map, k, 0.4 * AWAY), nearer, |seen| seen[1] < DARK);
    for (seen, nearer) in seen.iter_mut().zip(nearer) {
        seen[1] = seen[1].max(nearer[1].min(DARK));
    }
}

/// Distance from the surface at which a splat looks around, in texels and quarters of its radius.
const AWAY: f32 = 1.6;
/// A splat that sees less of the sky than this looks twice.
const DARK: f32 = 0.2;

/// Fraction of the sky light into the second of `seen`, for those that are asked for.
fn see_sky(
    normals: &[Vec3; CHUNK],
    sky: &[DepthMap],
    place: impl Fn(&DepthMap, usize) -> Vec3,
    seen: &mut [[f32; 3]],
    asked: impl Fn(&[f32; 3]) -> bool,
) {
    // Normals that hardly see the dome have no ratio; lean on the middle.
    let mut sums = [(0.05, 0.1); CHUNK];
    let mut list = [0u16; CHUNK];
    let mut count = 0;
    for (k, _) in seen.iter().enumerate().filter(|(_, s)| asked(s)) {
        list[count] = k as u16;
        count += 1;
    }
    for map in sky {
        let radiance = sky_radiance(map.direction.y);
        for k in list[..count].iter().map(|&k| k as usize) {
            let cosine = if normals[k] == Vec3::ZERO { 0.5 } else { normals[k].dot(map.direction) };
            if cosine > 0.0 {
                let (light, total) = &mut sums[k];
                *total += cosine * radiance;
                *light += cosine * radiance * map.visible(place(map, k), 0.5, 3.0);
            }
        }
    }
    for k in list[..count].iter().map(|&k| k as usize) {
        seen[k][1] = (sums[k].0 / sums[k].1).min(1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_are_unit_and_up() {
        assert!((0..SKY_MAPS).all(|k| sky_direction(k).is_normalized() && sky_direction(k).y > 0.0));
        let key = Vec3::new(1.0, 2.0, 0.5).normalize();
        assert!((0..KEY_MAPS).all(|k| key_direction(key, k).dot(key) > 0.99));
    }
}
