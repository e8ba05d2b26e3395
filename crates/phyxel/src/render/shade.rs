//! Shade: blended samples to light on the film.
//!
//! A key light with a soft shadow from the upper left of the camera, a sky that is darkened where things are near each
//! other, light thrown back by the ground, a faint rim light, a sheen. Every term is smooth in normal and place.

use super::View;
use super::camera::Camera;
use super::color::{from_display, to_display};
use super::depth_map::DepthMap;
use super::floor::{Floor, FloorPixel, pixel_ray, smooth};
use super::ground::Ground;
use super::light::sky_radiance;
use super::project::Projection;
use super::raster::{ALBEDO, CHANNELS, CLOSED, INVERSE_DEPTH, NORMAL, SEEN, TILE_WIDTH, Tile, WEIGHT};
use super::vicinity::CLOSED_SHARE;
use glam::Vec3;

const KEY_COLOR: Vec3 = Vec3::new(1.08, 1.03, 0.96);
const SKY_COLOR: Vec3 = Vec3::new(0.32, 0.335, 0.365);
const RIM_COLOR: Vec3 = Vec3::new(0.15, 0.16, 0.19);
/// How far around the terminator the key light reaches: soft matter scatters.
const WRAP: f32 = 0.12;

/// Share of the light between near surfaces that bounces on.
const BOUNCE: f32 = 0.8;
/// Share of the sky that the deepest crevice sees: the maps are too coarse to look into it.
const CREVICE: f32 = 0.1;

/// All that is the same for every pixel of a picture.
pub(super) struct Shader<'a> {
    pub projection: Projection,
    lamps: Lamps,
    ground: &'a [Ground],
    key_maps: &'a [DepthMap],
    floor: &'a [FloorPixel],
    width: usize,
}

/// The direction towards the key light: upper left of the camera, level with the world.
pub(super) fn key_direction(camera: &Camera) -> Vec3 {
    around_camera(camera, -48.0, 50.0)
}

/// A direction given by its azimuth from the camera's and its elevation [degrees].
fn around_camera(camera: &Camera, azimuth: f32, elevation: f32) -> Vec3 {
    let back = -camera.basis().forward;
    let level = Vec3::new(back.x, 0.0, back.z).try_normalize().unwrap_or(Vec3::Z);
    let (sin, cos) = azimuth.to_radians().sin_cos();
    let (rise, flat) = elevation.to_radians().sin_cos();
    Vec3::new(level.x * cos + level.z * sin, 0.0, level.z * cos - level.x * sin) * flat + Vec3::Y * rise
}

impl<'a> Shader<'a> {
    /// `floor` holds `width` pixels per row.
    pub fn new(
        projection: Projection,
        view: &View,
        (floor, width): (&'a Floor, usize),
        ground: &'a [Ground],
        key_maps: &'a [DepthMap],
    ) -> Self {
        Self { projection, lamps: Lamps::new(view), ground, key_maps, floor: &floor.pixels, width }
    }

    /// Color of pixel (`x`, `y`) from its samples, which start at `first` in the tile; without a tile nothing is there.
    pub fn pixel(&self, tile: Option<&Tile>, first: usize, x: usize, y: usize) -> [u8; 3] {
        let four = [0, 1, TILE_WIDTH, TILE_WIDTH + 1].map(|k| first + k);
        match tile {
            Some(tile) if four.iter().any(|&i| !tile.is_empty(i)) => {
                to_display(self.resolve(tile, four, (x, y)), dither(x, y))
            }
            _ => self.floor_pixel(x, y),
        }
    }

    fn resolve(&self, tile: &Tile, four: [usize; 4], (x, y): (usize, usize)) -> Vec3 {
        let floor = &self.floor[y * self.width + x];
        let ray = pixel_ray(&self.projection, x, y);
        let fronts = four.map(|i| &tile.samples[i]);
        // One smooth, closed surface: shade the mean of the samples once.
        if fronts.iter().all(|s| s[CLOSED] >= 1.0) && same_surface(fronts) {
            let mut mean = [0.0; CHANNELS];
            for s in fronts {
                let scale = 1.0 / s[WEIGHT];
                for k in 0..CHANNELS {
                    mean[k] += s[k] * scale;
                }
            }
            if !below(floor, &mean) {
                return self.surface(&mean, ray);
            }
        }
        let mut layers = Layers { shader: self, ray, floor, ground: None };
        four.into_iter().map(|i| layers.sample(tile, i)).sum::<Vec3>() * 0.25
    }

    /// Light from a blended sample towards the eye; channels need not be divided by the weight.
    fn surface(&self, s: &[f32; CHANNELS], ray: Vec3) -> Vec3 {
        let scale = 1.0 / s[WEIGHT];
        let view = -ray.normalize();
        let mut n = Vec3::new(s[NORMAL], s[NORMAL + 1], s[NORMAL + 2]).try_normalize().unwrap_or(view);
        let facing = n.dot(view);
        if facing < -0.3 {
            // The back of a sheet.
            n = -n;
        } else if facing < 0.05 {
            // Just over the outline: bend into view, so that the rim is neither dark nor noisy.
            n = (n + view * (0.05 - facing)).normalize();
        }
        let facing = n.dot(view).max(0.05);
        let albedo = Vec3::new(s[ALBEDO], s[ALBEDO + 1], s[ALBEDO + 2]) * scale;
        let [key_seen, sky_seen, below] = [SEEN, SEEN + 1, SEEN + 2].map(|k| (s[k] * scale).clamp(0.0, 1.0));

        let key = ((n.dot(self.lamps.key) + WRAP) / (1.0 + WRAP)).max(0.0) * key_seen;
        // What is not sky is near matter of the same color that sees as much of it: L = s + (1 - s) albedo L. So bright
        // matter has lighter, colored crevices.
        let sky_seen = CREVICE + (1.0 - CREVICE) * sky_seen;
        let sky_seen = Vec3::splat(sky_seen) / (1.0 - albedo * (BOUNCE * (1.0 - sky_seen)));
        let up = 0.5 + 0.5 * n.y;
        let ground_albedo = self.ground.first().map_or(Vec3::splat(0.3), |g| g.albedo);
        let mut light = KEY_COLOR * key + SKY_COLOR * (up * 1.25) * sky_seen;
        light += ground_albedo * (KEY_COLOR * 0.5 + SKY_COLOR * 0.5) * ((1.0 - up) * below * 0.9);
        light += RIM_COLOR * n.dot(self.lamps.rim).max(0.0) * sky_seen;
        albedo * light + self.sheen(n, view, facing, key_seen, sky_seen.y)
    }

    /// Reflection of a rough, uncolored coat: key highlight and sky, stronger at grazing angles.
    fn sheen(&self, n: Vec3, view: Vec3, facing: f32, key_seen: f32, sky_seen: f32) -> Vec3 {
        let half = (self.lamps.key + view).normalize_or_zero();
        let highlight = n.dot(half).max(0.0).powi(28) * n.dot(self.lamps.key).clamp(0.0, 0.3) / 0.3;
        let grazing = (1.0 - facing).powi(4);
        let reflected = 2.0 * facing * n - view;
        let sky = sky_radiance(reflected.y) * (0.3 + 0.7 * (0.5 + 0.5 * reflected.y).clamp(0.0, 1.0));
        KEY_COLOR * (0.11 * highlight * key_seen) + SKY_COLOR * (0.03 + 0.16 * grazing) * sky * sky_seen * sky_seen
    }

    /// Light of the ground and the backdrop.
    fn floor_light(&self, floor: &FloorPixel) -> Vec3 {
        self.lamps.floor(floor, self.ground, self.floor_seen(floor))
    }

    /// Fractions of key and sky light on the ground.
    fn floor_seen(&self, floor: &FloorPixel) -> (f32, f32) {
        match floor.plane_share > 0.0 {
            true => self.ground[floor.plane as usize].light(floor.at, self.key_maps),
            false => (1.0, 1.0),
        }
    }

    /// A pixel with nothing but the floor.
    fn floor_pixel(&self, x: usize, y: usize) -> [u8; 3] {
        let floor = &self.floor[y * self.width + x];
        match self.floor_seen(floor) {
            (1.0, 1.0) => floor.plain,
            seen => to_display(self.lamps.floor(floor, self.ground, seen), dither(x, y)),
        }
    }
}

/// Where the lamps stand, and the backdrop.
pub(super) struct Lamps {
    key: Vec3,
    rim: Vec3,
    background: Vec3,
}

impl Lamps {
    pub fn new(view: &View) -> Self {
        Self {
            key: key_direction(&view.camera),
            rim: around_camera(&view.camera, 150.0, 28.0),
            background: from_display(view.background),
        }
    }

    /// Light of the ground and the backdrop, where the ground sees these fractions of key and sky light.
    pub fn floor(&self, floor: &FloorPixel, ground: &[Ground], (key, sky): (f32, f32)) -> Vec3 {
        let backdrop = self.background * floor.backdrop_share;
        if floor.plane_share <= 0.0 {
            return backdrop;
        }
        let plane = &ground[floor.plane as usize];
        let light = KEY_COLOR * (self.key.dot(plane.normal).max(0.0) * key) + SKY_COLOR * (1.25 * sky);
        backdrop + plane.albedo * light * floor.plane_share
    }
}

/// Whether a sample lies below the ground, or in it but for rounding.
fn below(floor: &FloorPixel, s: &[f32; CHANNELS]) -> bool {
    s[INVERSE_DEPTH] <= floor.inverse_depth * 1.0002 * s[WEIGHT]
}

/// Opacity of a sample from how closed it is: full where a straight border runs, none a little outside.
fn opacity(closed: f32) -> f32 {
    smooth((closed - 0.6) / 0.4)
}

/// One pixel's ray through the layers of its samples; the ground is shaded once, if at all.
struct Layers<'a> {
    shader: &'a Shader<'a>,
    ray: Vec3,
    floor: &'a FloorPixel,
    ground: Option<Vec3>,
}

impl Layers<'_> {
    fn sample(&mut self, tile: &Tile, i: usize) -> Vec3 {
        let (front, behind) = (&tile.samples[i], &tile.behind[i]);
        let alone = self.opacity(front);
        if alone >= 1.0 || !tile.has_behind {
            return self.over(front, alone, None);
        }
        if front[WEIGHT] == 0.0 {
            // A sheet seen from behind; the rims of a body's far side, only half covered, vanish.
            let covered = smooth((behind[CLOSED] * CLOSED_SHARE - 0.6) / 0.2);
            return self.over(behind, self.opacity(behind).min(covered), None);
        }
        // A gap is no window: the inside of a body is never seen through its surface.
        let hidden = below(self.floor, front);
        let with_inside = if hidden { 0.0 } else { opacity(front[CLOSED] + tile.inside[i]) };
        let far = (behind[WEIGHT] > 0.0).then(|| {
            let rest = self.deeper(tile, i, 0);
            self.over(behind, self.with_beyond(tile, i, behind), rest)
        });
        self.over(front, with_inside, far)
    }

    /// Light of the layers from `k` on beyond the second one; None where nothing is there.
    fn deeper(&mut self, tile: &Tile, i: usize, k: usize) -> Option<Vec3> {
        let layer = tile.deeper(i, k)?;
        let rest = self.deeper(tile, i, k + 1);
        Some(self.over(layer, self.with_beyond(tile, i, layer), rest))
    }

    /// Opacity of a layer behind the first: what closes a body beyond it counts, for its inside is never seen.
    fn with_beyond(&self, tile: &Tile, i: usize, s: &[f32; CHANNELS]) -> f32 {
        if below(self.floor, s) { 0.0 } else { opacity(s[CLOSED] + tile.beyond[i]) }
    }

    fn opacity(&self, s: &[f32; CHANNELS]) -> f32 {
        if s[WEIGHT] <= 0.0 || below(self.floor, s) { 0.0 } else { opacity(s[CLOSED]) }
    }

    fn over(&mut self, s: &[f32; CHANNELS], opacity: f32, far: Option<Vec3>) -> Vec3 {
        if opacity >= 1.0 {
            return self.shader.surface(s, self.ray);
        }
        let far = far.unwrap_or_else(|| *self.ground.get_or_insert_with(|| self.shader.floor_light(self.floor)));
        if opacity <= 0.0 { far } else { far + (self.shader.surface(s, self.ray) - far) * opacity }
    }
}

/// Whether four samples can be shaded as one: near in depth, alike in normal and color.
fn same_surface(four: [&[f32; CHANNELS]; 4]) -> bool {
    let normal = |s: &[f32; CHANNELS]| Vec3::new(s[NORMAL], s[NORMAL + 1], s[NORMAL + 2]) / s[WEIGHT];
    let albedo = |s: &[f32; CHANNELS]| Vec3::new(s[ALBEDO], s[ALBEDO + 1], s[ALBEDO + 2]) / s[WEIGHT];
    let depth = |s: &[f32; CHANNELS]| s[INVERSE_DEPTH] / s[WEIGHT];
    let (n, a, d) = (normal(four[0]), albedo(four[0]), depth(four[0]));
    four[1..].iter().all(|s| {
        normal(s).distance_squared(n) < 0.08 && albedo(s).distance_squared(a) < 0.01 && (depth(s) - d).abs() < 0.02 * d
    })
}

/// A fixed pattern in 0 .. 1 that hides the steps of eight bits in smooth gradients.
pub(super) fn dither(x: usize, y: usize) -> f32 {
    // Positive numbers: cutting to an integer is much quicker than asking for the fraction.
    let fraction = |v: f32| v - (v as i32) as f32;
    fraction(52.982_918 * fraction(0.067_110_56 * x as f32 + 0.005_837_15 * y as f32))
}
