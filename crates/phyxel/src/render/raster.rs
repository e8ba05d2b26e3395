//! Raster: splats projected exactly and blended into the samples of one tile.
//!
//! An ellipse with center c and half-axes u, v is seen through the homogeneous map M = [u v c]; the rows of its inverse
//! give at every sample the ellipse coordinates (a, b) and the inverse depth as linear functions, so perspective is exact
//! and a sample costs a few multiplications. First the nearest depth per sample, then a blend, weighted (1 - a² - b²)²,
//! of everything within a small distance of it. Splats thinner than a sample are widened to it.
//!
//! Where the weights do not add up to a closed surface (rims that stick out over an edge), the same is done once more for
//! what lies behind: the shader lets it shine through, so that edges come out straight although ellipses are round. Splats
//! that show their back are drawn only where nothing shows its front, for sheets seen from behind.

use super::camera::{Basis, Camera};
use super::splats::Splats;
use glam::{Mat3, Vec3};

/// Samples per pixel side.
pub(super) const SUB: usize = 2;
/// Size of a tile [samples].
pub(super) const TILE_WIDTH: usize = 64;
pub(super) const TILE_HEIGHT: usize = 32;
/// Radius to which thin splats are widened [samples].
const THIN: f32 = 1.0;

/// Channels of a blended sample.
pub(super) const WEIGHT: usize = 0;
pub(super) const NORMAL: usize = 1;
pub(super) const ALBEDO: usize = 4;
pub(super) const SEEN: usize = 7;
pub(super) const CLOSED: usize = 10;
pub(super) const INVERSE_DEPTH: usize = 11;
pub(super) const CHANNELS: usize = 12;

/// The camera in samples.
#[derive(Debug, Clone, Copy)]
pub(super) struct Projection {
    pub eye: Vec3,
    pub basis: Basis,
    /// Focal length [samples].
    pub focal: f32,
    /// Middle of the picture [samples].
    pub center: (f32, f32),
}

/// One splat on the screen.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScreenSplat {
    /// Linear functions of the sample: ellipse coordinates times inverse depth, and inverse depth. For balls: the center.
    rows: [Vec3; 3],
    /// Projected center [samples].
    at: (f32, f32),
    /// Inverse depth of the center.
    inverse_depth: f32,
    /// How much farther (in inverse depth) than the nearest one it may be and still be blended.
    slack: f32,
    /// First and one past the last sample it may touch; empty: not on the screen.
    pub lo: (u16, u16),
    pub hi: (u16, u16),
    kind: Kind,
    /// Whether it shows its back.
    back: bool,
    /// What is blended.
    attributes: [f32; CHANNELS],
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Ellipse,
    /// Thinner than a sample somewhere.
    Thin,
    Ball {
        /// Squared distance minus squared radius, the constant of the ray equation.
        c: f32,
        radius: f32,
    },
}

impl Projection {
    pub fn new(camera: &Camera, width: usize, height: usize) -> Self {
        let (w, h) = ((width * SUB) as f32, (height * SUB) as f32);
        Self { eye: camera.from, basis: camera.basis(), focal: 0.5 * h / camera.tan_half(), center: (0.5 * w, 0.5 * h) }
    }

    /// Camera coordinates: right, up, depth.
    fn view(&self, d: Vec3) -> Vec3 {
        Vec3::new(d.dot(self.basis.right), d.dot(self.basis.up), d.dot(self.basis.forward))
    }

    /// Homogeneous sample coordinates of a vector in camera coordinates.
    fn homogeneous(&self, p: Vec3) -> Vec3 {
        Vec3::new(self.focal * p.x + self.center.0 * p.z, self.center.1 * p.z - self.focal * p.y, p.z)
    }

    /// Ray through a sample position, of depth 1.
    pub fn ray(&self, x: f32, y: f32) -> Vec3 {
        let (a, b) = ((x - self.center.0) / self.focal, (self.center.1 - y) / self.focal);
        self.basis.forward + self.basis.right * a + self.basis.up * b
    }

    /// Projects splat `i`; None if it is behind the eye or outside the picture.
    pub fn splat(&self, splats: &Splats, i: usize, seen: [f32; 3]) -> Option<ScreenSplat> {
        let center = self.view(splats.positions[i] - self.eye);
        let radius = splats.radii[i];
        let grow = splats.grows[i];
        if center.z <= 1.01 * grow * radius {
            return None;
        }
        let c = self.homogeneous(center);
        let at = (c.x / c.z, c.y / c.z);
        let inverse_depth = 1.0 / c.z;
        let normal = splats.normals[i];
        let mut attributes = [0.0; CHANNELS];
        attributes[WEIGHT] = 1.0;
        attributes[NORMAL..NORMAL + 3].copy_from_slice(&normal.to_array());
        attributes[ALBEDO..ALBEDO + 3].copy_from_slice(&splats.albedos[i].to_array());
        attributes[SEEN..SEEN + 3].copy_from_slice(&seen);
        attributes[CLOSED] = splats.inverse_closed[i];
        // Neighbors on one surface differ in depth by a part of their radius, or of the widened radius.
        let facing = normal.dot(self.eye - splats.positions[i]) * inverse_depth;
        let widened = 1.5 * THIN * center.z / (self.focal * facing.abs().max(0.08));
        let back = facing < -0.05;
        let slack = (0.6 * radius).max(widened) * inverse_depth * inverse_depth;
        let base =
            |rows, kind, (lo, hi)| ScreenSplat { rows, at, inverse_depth, slack, lo, hi, kind, back, attributes };

        if normal == Vec3::ZERO {
            let bounds = self.ball_bounds(center, radius)?;
            let kind = Kind::Ball { c: center.length_squared() - radius * radius, radius };
            return Some(base([center, Vec3::ZERO, Vec3::ZERO], kind, bounds));
        }
        let axis = |a: Vec3| self.homogeneous(self.view(a * grow));
        let (a, b) = (axis(splats.axes_u[i]), axis(splats.axes_v[i]));
        let bounds = self.ellipse_bounds(a, b, c, at)?;
        let determinant = a.dot(b.cross(c));
        // Semi-axes on the screen, to first order.
        let flat = |d: Vec3| ((d.x - at.0 * d.z) / c.z, (d.y - at.1 * d.z) / c.z);
        let (u, v) = (flat(a), flat(b));
        let area = (u.0 * v.1 - u.1 * v.0).abs();
        let square = u.0 * u.0 + u.1 * u.1 + v.0 * v.0 + v.1 * v.1;
        let long = (0.5 * (square + (square * square - 4.0 * area * area).max(0.0).sqrt())).sqrt();
        let kind = if area < 1.5 * THIN * long { Kind::Thin } else { Kind::Ellipse };
        let rows = if area > 1e-4 * long && area > 1e-6 {
            let scale = 1.0 / determinant;
            [b.cross(c) * scale, c.cross(a) * scale, a.cross(b) * scale]
        } else {
            // Seen edge-on: only the widened center is drawn.
            [Vec3::splat(0.0), Vec3::new(0.0, 0.0, 1.0), Vec3::ZERO]
        };
        Some(base(rows, kind, bounds))
    }

    /// Box of the projected ellipse from its dual conic, joined with the widened center.
    fn ellipse_bounds(&self, a: Vec3, b: Vec3, c: Vec3, at: (f32, f32)) -> Option<SampleBox> {
        let w = a.z * a.z + b.z * b.z - c.z * c.z;
        if w >= -1e-6 * c.z * c.z {
            return None;
        }
        let side = |a: f32, b: f32, c: f32, aw: f32, bw: f32, cw: f32, middle: f32| {
            let (cross, square) = (a * aw + b * bw - c * cw, a * a + b * b - c * c);
            let root = (cross * cross - square * w).max(0.0).sqrt();
            let (p, q) = ((cross + root) / w, (cross - root) / w);
            (p.min(middle - THIN), q.max(middle + THIN))
        };
        let x = side(a.x, b.x, c.x, a.z, b.z, c.z, at.0);
        let y = side(a.y, b.y, c.y, a.z, b.z, c.z, at.1);
        self.clip(x, y)
    }

    fn ball_bounds(&self, center: Vec3, radius: f32) -> Option<SampleBox> {
        // In each direction the tangent lines of a circle of that radius.
        let side = |x: f32| {
            let w = center.z * center.z - radius * radius;
            let root = radius * (x * x + w).max(0.0).sqrt();
            ((x * center.z - root) / w, (x * center.z + root) / w)
        };
        let (x, y) = (side(center.x), side(center.y));
        let f = self.focal;
        self.clip(
            (self.center.0 + f * x.0 - 0.5, self.center.0 + f * x.1 + 0.5),
            (self.center.1 - f * y.1 - 0.5, self.center.1 - f * y.0 + 0.5),
        )
    }

    fn clip(&self, x: (f32, f32), y: (f32, f32)) -> Option<SampleBox> {
        let clip = |(lo, hi): (f32, f32), size: f32| {
            let (lo, hi) = ((lo - 0.5).ceil().max(0.0), (hi + 0.5).floor().min(size));
            (lo < hi).then_some((lo as u16, hi as u16))
        };
        let (x, y) = (clip(x, 2.0 * self.center.0)?, clip(y, 2.0 * self.center.1)?);
        Some(((x.0, y.0), (x.1, y.1)))
    }
}

type SampleBox = ((u16, u16), (u16, u16));

/// Buffers of one tile, reused.
#[derive(Debug)]
pub(super) struct Tile {
    /// Largest inverse depth of a front, 0 where there is none.
    nearest: Vec<f32>,
    /// Blended front samples, row by row.
    pub samples: Vec<[f32; CHANNELS]>,
    /// Whether `behind` holds something; only then it is valid.
    pub has_behind: bool,
    /// The same for fronts behind the nearest one, and for backs, at the samples that are not closed.
    open: Vec<bool>,
    nearest_behind: Vec<f32>,
    nearest_back: Vec<f32>,
    /// Blended fronts behind, or backs if there is no front at all.
    pub behind: Vec<[f32; CHANNELS]>,
    /// How closed the backs between the nearest front and the one behind are: 1 says that this is inside a body.
    pub inside: Vec<f32>,
    /// The same for the backs farther than that.
    pub beyond: Vec<f32>,
}

impl Default for Tile {
    fn default() -> Self {
        let n = TILE_WIDTH * TILE_HEIGHT;
        Self {
            nearest: vec![0.0; n],
            samples: vec![[0.0; CHANNELS]; n],
            has_behind: false,
            open: vec![false; n],
            nearest_behind: vec![0.0; n],
            nearest_back: vec![0.0; n],
            behind: vec![[0.0; CHANNELS]; n],
            inside: vec![0.0; n],
            beyond: vec![0.0; n],
        }
    }
}

impl Tile {
    /// Draws the listed splats into the tile whose first sample is `corner`.
    pub fn draw(&mut self, projection: &Projection, all: &[Option<ScreenSplat>], list: &[u32], corner: (usize, usize)) {
        let splats = || list.iter().filter_map(|&i| all[i as usize].as_ref());
        self.nearest.fill(0.0);
        self.samples.fill([0.0; CHANNELS]);
        for splat in splats().filter(|s| !s.back) {
            self.find_nearest(projection, splat, corner);
        }
        for splat in splats().filter(|s| !s.back) {
            self.blend(projection, splat, corner);
        }

        for (open, sample) in self.open.iter_mut().zip(&self.samples) {
            *open = sample[CLOSED] < 1.0;
        }
        self.has_behind = self.open.contains(&true);
        if self.has_behind {
            self.nearest_behind.fill(0.0);
            self.nearest_back.fill(0.0);
            self.behind.fill([0.0; CHANNELS]);
            self.inside.fill(0.0);
            self.beyond.fill(0.0);
            for splat in splats().filter(|s| !matches!(s.kind, Kind::Ball { .. })) {
                self.find_behind(splat, corner);
            }
            for splat in splats().filter(|s| !matches!(s.kind, Kind::Ball { .. })) {
                self.blend_behind(splat, corner);
            }
        }
    }

    fn find_nearest(&mut self, projection: &Projection, s: &ScreenSplat, corner: (usize, usize)) {
        let (x0, x1, y0, y1) = s.range(corner);
        for y in y0..y1 {
            let fy = (corner.1 + y) as f32 + 0.5;
            let first = (corner.0 + x0) as f32 + 0.5;
            let row = &mut self.nearest[y * TILE_WIDTH + x0..y * TILE_WIDTH + x1];
            match s.kind {
                Kind::Ellipse => {
                    let [a, b, c] = s.rows.map(|r| (r.x, r.y * fy + r.z));
                    for (k, nearest) in row.iter_mut().enumerate() {
                        let fx = first + k as f32;
                        let (a, b, c) = (a.0 * fx + a.1, b.0 * fx + b.1, c.0 * fx + c.1);
                        let here = if a * a + b * b < c * c { c } else { 0.0 };
                        *nearest = if here > *nearest { here } else { *nearest };
                    }
                }
                Kind::Thin => {
                    for (k, nearest) in row.iter_mut().enumerate() {
                        let (_, here) = s.thin_at(first + k as f32, fy);
                        *nearest = if here > *nearest { here } else { *nearest };
                    }
                }
                Kind::Ball { c, .. } => {
                    for (k, nearest) in row.iter_mut().enumerate() {
                        let here = projection.ball_at(s, c, first + k as f32, fy);
                        *nearest = if here > *nearest { here } else { *nearest };
                    }
                }
            }
        }
    }

    fn blend(&mut self, projection: &Projection, s: &ScreenSplat, corner: (usize, usize)) {
        let (x0, x1, y0, y1) = s.range(corner);
        for y in y0..y1 {
            let fy = (corner.1 + y) as f32 + 0.5;
            for x in x0..x1 {
                let fx = (corner.0 + x) as f32 + 0.5;
                let i = y * TILE_WIDTH + x;
                if let Kind::Ball { c, radius } = s.kind {
                    let here = projection.ball_at(s, c, fx, fy);
                    if here > 0.0 && here >= self.nearest[i] {
                        self.samples[i] = projection.ball_sample(s, here, radius, (fx, fy));
                    }
                    continue;
                }
                let limit = self.nearest[i] - s.slack;
                let (r2, inverse_depth) = s.at(fx, fy, limit);
                if r2 < 1.0 && inverse_depth >= limit {
                    s.add(&mut self.samples[i], r2, inverse_depth);
                }
            }
        }
    }

    fn find_behind(&mut self, s: &ScreenSplat, corner: (usize, usize)) {
        let (x0, x1, y0, y1) = s.range(corner);
        for y in y0..y1 {
            let fy = (corner.1 + y) as f32 + 0.5;
            for x in x0..x1 {
                let i = y * TILE_WIDTH + x;
                if !self.open[i] {
                    continue;
                }
                let (r2, c) = s.at((corner.0 + x) as f32 + 0.5, fy, 0.0);
                if r2 < 1.0 && s.back {
                    self.nearest_back[i] = self.nearest_back[i].max(c);
                } else if r2 < 1.0 && c < self.nearest[i] - s.slack {
                    self.nearest_behind[i] = self.nearest_behind[i].max(c);
                }
            }
        }
    }

    fn blend_behind(&mut self, s: &ScreenSplat, corner: (usize, usize)) {
        let (x0, x1, y0, y1) = s.range(corner);
        for y in y0..y1 {
            let fy = (corner.1 + y) as f32 + 0.5;
            for x in x0..x1 {
                let i = y * TILE_WIDTH + x;
                if !self.open[i] {
                    continue;
                }
                let (r2, c) = s.at((corner.0 + x) as f32 + 0.5, fy, 0.0);
                if r2 >= 1.0 {
                    continue;
                }
                let near_front = c >= self.nearest[i] - s.slack;
                if !s.back && !near_front && c >= self.nearest_behind[i] - s.slack {
                    s.add(&mut self.behind[i], r2, c);
                } else if s.back && self.nearest[i] > 0.0 {
                    let sum = if c > self.nearest_behind[i] { &mut self.inside[i] } else { &mut self.beyond[i] };
                    *sum += (1.0 - r2) * (1.0 - r2) * s.attributes[CLOSED];
                } else if s.back && self.nearest[i] == 0.0 && c >= self.nearest_back[i] - s.slack {
                    s.add(&mut self.behind[i], r2, c);
                }
            }
        }
    }
}

impl ScreenSplat {
    /// The part of its box within a tile.
    fn range(&self, corner: (usize, usize)) -> (usize, usize, usize, usize) {
        let cut = |v: u16, corner: usize, size: usize| (v as usize).saturating_sub(corner).min(size);
        (
            cut(self.lo.0, corner.0, TILE_WIDTH),
            cut(self.hi.0, corner.0, TILE_WIDTH),
            cut(self.lo.1, corner.1, TILE_HEIGHT),
            cut(self.hi.1, corner.1, TILE_HEIGHT),
        )
    }

    /// Squared radius and inverse depth at a sample; a radius of 1 if it lies outside or is farther than `limit`.
    fn at(&self, x: f32, y: f32, limit: f32) -> (f32, f32) {
        if self.kind == Kind::Thin {
            return self.thin_at(x, y);
        }
        let [a, b, c] = self.rows.map(|r| r.x * x + (r.y * y + r.z));
        if c < limit { (1.0, 0.0) } else { ((a * a + b * b) / (c * c), c) }
    }

    /// The same for a thin one: the smaller radius of the ellipse and of the widened center; depth 0 outside.
    fn thin_at(&self, x: f32, y: f32) -> (f32, f32) {
        let [a, b, c] = self.rows.map(|r| r.x * x + (r.y * y + r.z));
        let (dx, dy) = (x - self.at.0, y - self.at.1);
        let wide = (dx * dx + dy * dy) / (THIN * THIN);
        let exact = if c > 0.0 { (a * a + b * b) / (c * c) } else { f32::INFINITY };
        if exact < 1.0 {
            (exact.min(wide), c)
        } else if wide < 1.0 {
            (wide, self.inverse_depth)
        } else {
            (1.0, 0.0)
        }
    }

    fn add(&self, sample: &mut [f32; CHANNELS], r2: f32, inverse_depth: f32) {
        let weight = (1.0 - r2) * (1.0 - r2);
        for k in 0..CHANNELS - 1 {
            sample[k] += weight * self.attributes[k];
        }
        sample[INVERSE_DEPTH] += weight * inverse_depth;
    }
}

impl Projection {
    /// Inverse depth of a ball at a sample; 0 if the ray misses it.
    fn ball_at(&self, s: &ScreenSplat, c: f32, x: f32, y: f32) -> f32 {
        let ray = Vec3::new((x - self.center.0) / self.focal, (self.center.1 - y) / self.focal, 1.0);
        let (a, b) = (ray.length_squared(), ray.dot(s.rows[0]));
        let square = b * b - a * c;
        if square < 0.0 { 0.0 } else { a / (b - square.sqrt()) }
    }

    fn ball_sample(&self, s: &ScreenSplat, inverse_depth: f32, radius: f32, (x, y): (f32, f32)) -> [f32; CHANNELS] {
        let ray = Vec3::new((x - self.center.0) / self.focal, (self.center.1 - y) / self.focal, 1.0);
        let normal = (ray / inverse_depth - s.rows[0]) / radius;
        let turn = Mat3::from_cols(self.basis.right, self.basis.up, self.basis.forward);
        let mut sample = s.attributes;
        sample[NORMAL..NORMAL + 3].copy_from_slice(&(turn * normal).to_array());
        sample[INVERSE_DEPTH] = inverse_depth;
        sample
    }
}
