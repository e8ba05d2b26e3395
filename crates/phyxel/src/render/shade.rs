//! Shade: blended samples to light on the film.
//!
//! A key light with a soft shadow from the upper left of the camera, a sky that is darkened where things are near each
//! other, light thrown back by the ground, a faint rim light, a sheen. Every term is smooth in normal and place.

use super::camera::Camera;
use super::color::{from_display, to_display};
use super::ground::Ground;
use super::light::{DepthMap, sky_radiance};
use super::raster::{ALBEDO, CHANNELS, CLOSED, INVERSE_DEPTH, NORMAL, Projection, SEEN, SUB, TILE_WIDTH, WEIGHT};
use glam::Vec3;

const KEY_COLOR: Vec3 = Vec3::new(1.56, 1.48, 1.37);
const SKY_COLOR: Vec3 = Vec3::new(0.60, 0.63, 0.68);
const RIM_COLOR: Vec3 = Vec3::new(0.20, 0.22, 0.26);
/// How far around the terminator the key light reaches: soft matter scatters.
const WRAP: f32 = 0.12;

/// All that is the same for every pixel of a picture.
pub(super) struct Shader<'a> {
    pub projection: Projection,
    pub key: Vec3,
    rim: Vec3,
    background: Vec3,
    ground: &'a [Ground],
    key_maps: &'a [DepthMap],
    look_at: Vec3,
    distance: f32,
    line_spacing: f32,
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
    pub fn new(
        projection: Projection,
        camera: &Camera,
        background: [u8; 3],
        ground: &'a [Ground],
        key_maps: &'a [DepthMap],
    ) -> Self {
        let distance = camera.from.distance(camera.look_at).max(1e-6);
        let step = 10f32.powf((distance / 14.0).log10().floor());
        let line_spacing = step * [5.0, 2.0, 1.0].into_iter().find(|m| m * step <= distance / 14.0).unwrap_or(1.0);
        Self {
            projection,
            key: key_direction(camera),
            rim: around_camera(camera, 150.0, 28.0),
            background: from_display(background),
            ground,
            key_maps,
            look_at: camera.look_at,
            distance,
            line_spacing,
        }
    }

    /// Color of pixel (`x`, `y`) from its samples, which start at `first` in the tile.
    pub fn pixel(&self, samples: &[[f32; CHANNELS]], first: usize, x: usize, y: usize) -> [u8; 3] {
        let middle = ((x * SUB) as f32 + 0.5 * SUB as f32, (y * SUB) as f32 + 0.5 * SUB as f32);
        let ray = self.projection.ray(middle.0, middle.1);
        let four = [0, 1, TILE_WIDTH, TILE_WIDTH + 1].map(|k| &samples[first + k]);
        let light = self.resolve(four, ray);
        to_display(light, dither(x, y))
    }

    /// Color of a pixel that no splat touches.
    pub fn empty_pixel(&self, x: usize, y: usize) -> [u8; 3] {
        let middle = ((x * SUB) as f32 + 0.5 * SUB as f32, (y * SUB) as f32 + 0.5 * SUB as f32);
        to_display(self.behind(self.projection.ray(middle.0, middle.1)).0, dither(x, y))
    }

    fn resolve(&self, four: [&[f32; CHANNELS]; 4], ray: Vec3) -> Vec3 {
        if four.iter().all(|s| s[WEIGHT] == 0.0) {
            return self.behind(ray).0;
        }
        let ground_depth = self.hit(ray).map_or(0.0, |(_, t)| 1.0 / t);
        // One smooth, closed surface: shade the mean of the samples once.
        if four.iter().all(|s| s[CLOSED] >= 1.0) && same_surface(four) {
            let mut mean = [0.0; CHANNELS];
            for s in four {
                let scale = 1.0 / s[WEIGHT];
                for k in 0..CHANNELS {
                    mean[k] += s[k] * scale;
                }
            }
            if mean[INVERSE_DEPTH] * 0.25 > ground_depth * 1.0005 {
                return self.surface(&mean, ray);
            }
        }
        let behind = self.behind(ray).0;
        let mut sum = Vec3::ZERO;
        for s in four {
            let hidden = s[INVERSE_DEPTH] <= ground_depth * s[WEIGHT];
            let alpha = if s[WEIGHT] > 0.0 && !hidden { s[CLOSED].min(1.0) } else { 0.0 };
            sum += behind * (1.0 - alpha);
            if alpha > 0.0 {
                sum += self.surface(s, ray) * alpha;
            }
        }
        sum * 0.25
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
        let [key_seen, sky_seen, below] = [s[SEEN] * scale, s[SEEN + 1] * scale, s[SEEN + 2] * scale];

        let key = ((n.dot(self.key) + WRAP) / (1.0 + WRAP)).max(0.0) * key_seen;
        // Light between near surfaces bounces on: bright matter has lighter, colored crevices.
        let sky_seen = albedo * (sky_seen * 0.35 * (1.0 - sky_seen)) + sky_seen;
        let up = 0.5 + 0.5 * n.y;
        let ground_albedo = self.ground.first().map_or(Vec3::splat(0.3), |g| g.albedo);
        let mut light = KEY_COLOR * key + SKY_COLOR * (up * 1.25) * sky_seen;
        light += ground_albedo * (KEY_COLOR * 0.5 + SKY_COLOR * 0.5) * ((1.0 - up) * below * 0.9);
        light += RIM_COLOR * n.dot(self.rim).max(0.0) * sky_seen;
        albedo * light + self.sheen(n, view, facing, key_seen, sky_seen.y)
    }

    /// Reflection of a rough, uncolored coat: key highlight and sky, stronger at grazing angles.
    fn sheen(&self, n: Vec3, view: Vec3, facing: f32, key_seen: f32, sky_seen: f32) -> Vec3 {
        let half = (self.key + view).normalize_or_zero();
        let highlight = n.dot(half).max(0.0).powi(28) * n.dot(self.key).clamp(0.0, 0.3) / 0.3;
        let grazing = (1.0 - facing).powi(4);
        let reflected = 2.0 * facing * n - view;
        let sky = sky_radiance(reflected.y) * (0.3 + 0.7 * (0.5 + 0.5 * reflected.y).clamp(0.0, 1.0));
        KEY_COLOR * (0.11 * highlight * key_seen) + SKY_COLOR * (0.03 + 0.16 * grazing) * sky * sky_seen * sky_seen
    }

    /// The plane a ray hits from its front and the depth of the place.
    fn hit(&self, ray: Vec3) -> Option<(&Ground, f32)> {
        let mut nearest: Option<(&Ground, f32)> = None;
        for plane in self.ground {
            let down = ray.dot(plane.normal);
            let height = (self.projection.eye - plane.origin).dot(plane.normal);
            if down < 0.0 && height > 0.0 {
                let t = -height / down;
                if nearest.is_none_or(|(_, old)| t < old) {
                    nearest = Some((plane, t));
                }
            }
        }
        nearest
    }

    /// What a ray sees behind the splats: ground or background.
    fn behind(&self, ray: Vec3) -> (Vec3, f32) {
        let background = self.backdrop(ray);
        let Some((plane, t)) = self.hit(ray) else {
            return (background, 0.0);
        };
        let p = self.projection.eye + ray * t;
        let far = p.distance(self.look_at) / self.distance;
        let fade = smooth((far - 0.35) / 2.3);
        if fade >= 1.0 {
            return (background, 1.0 / t);
        }
        let (key, sky) = plane.light(p, self.key_maps);
        let mut light = KEY_COLOR * (self.key.dot(plane.normal).max(0.0) * key) + SKY_COLOR * (1.25 * sky);
        light *= 1.0 - 0.35 * self.line(plane, p, ray, t) * (1.0 - smooth(far / 1.6));
        (background + (plane.albedo * light - background) * (1.0 - fade), 1.0 / t)
    }

    /// Thin lines on the ground that give the eye a scale; they vanish where they would alias.
    fn line(&self, plane: &Ground, p: Vec3, ray: Vec3, t: f32) -> f32 {
        let at = plane.coordinates(p) / self.line_spacing;
        let pixel = t * SUB as f32 / self.projection.focal / self.line_spacing;
        let stretch = pixel / ray.normalize().dot(plane.normal).abs().max(0.02);
        let strength = |x: f32| {
            let distance = (x - x.round()).abs();
            let width = 0.008 + 0.7 * stretch;
            (1.0 - distance / width).max(0.0) * (0.008 / width).min(1.0)
        };
        (strength(at.x) + strength(at.y)).min(1.0)
    }

    /// A backdrop that is a little lighter towards the horizon.
    fn backdrop(&self, ray: Vec3) -> Vec3 {
        let up = ray.y / ray.length();
        self.background * (1.0 - 0.30 * smooth(up.max(0.0) / 0.7))
    }
}

fn smooth(t: f32) -> f32 {
    let t = t.clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
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
fn dither(x: usize, y: usize) -> f32 {
    (52.982_918 * (0.067_110_56 * x as f32 + 0.005_837_15 * y as f32).fract()).fract()
}
