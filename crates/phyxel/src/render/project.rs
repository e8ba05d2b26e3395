//! Projection: splats on the screen, exactly.
//!
//! An ellipse with center c and half-axes u, v is seen through the homogeneous map M = [u v c]; the rows of its inverse
//! give at every sample the ellipse coordinates (a, b) and the inverse depth as linear functions, so perspective is exact
//! and a sample costs a few multiplications. A clipping plane is one more linear function. Splats thinner than a sample
//! are widened to it.

use super::camera::{Basis, Camera};
use super::raster::{
    ALBEDO, CHANNELS, CLOSED, INVERSE_DEPTH, NORMAL, SEEN, SUB, TILE_HEIGHT, TILE_WIDTH, TURNING, WEIGHT,
};
use super::splats::Splats;
use super::vicinity::Vicinity;
use glam::{Mat3, Vec3};
use std::ops::Range;

/// Radius to which thin splats are widened [samples].
const THIN: f32 = 1.0;

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
    /// Linear function of the sample that is positive where the splat is clipped; zero: nowhere.
    clip: Vec3,
    /// Projected center [samples].
    at: (f32, f32),
    /// Inverse depth of the center.
    inverse_depth: f32,
    /// How much farther (in inverse depth) than the nearest one it may be and still be blended.
    pub slack: f32,
    /// First and one past the last sample it may touch; empty: not on the screen.
    pub lo: (u16, u16),
    pub hi: (u16, u16),
    kind: Kind,
    /// Whether it shows its back.
    pub back: bool,
    /// Number of its sheet; 0: none.
    pub sheet: u16,
    /// Number of the surface that it belongs to, from 1 on.
    pub surface: u16,
    /// What is blended.
    pub attributes: [f32; CHANNELS],
    /// Change of the first ones, normal and light, along each half-axis.
    turns: [[f32; TURNING]; 2],
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Ellipse,
    /// Thinner than a sample somewhere.
    Thin,
    Ball {
        /// Squared distance minus squared radius, the constant of the ray equation.
        c: f32,
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
    pub fn splat(&self, splats: &Splats, vicinity: &Vicinity, i: usize) -> Option<ScreenSplat> {
        let center = self.view(splats.positions[i] - self.eye);
        let radius = splats.radii[i];
        let grow = vicinity.grows[i];
        if center.z <= 1.01 * grow * radius {
            return None;
        }
        let c = self.homogeneous(center);
        let at = (c.x / c.z, c.y / c.z);
        let inverse_depth = 1.0 / c.z;
        let sheet = splats.sheets[i];
        let surface = splats.surface_of(i);
        // A sheet shows a front on both sides.
        let away = sheet > 0 && splats.normals[i].dot(self.eye - splats.positions[i]) < 0.0;
        let side = if away { -1.0 } else { 1.0 };
        let normal = side * splats.normals[i];
        let mut attributes = [0.0; CHANNELS];
        attributes[WEIGHT] = 1.0;
        attributes[NORMAL..NORMAL + 3].copy_from_slice(&normal.to_array());
        attributes[ALBEDO..ALBEDO + 3].copy_from_slice(&splats.albedos[i].to_array());
        attributes[SEEN..SEEN + 3].copy_from_slice(&vicinity.seen[i]);
        attributes[CLOSED] = vicinity.inverse_closed[i];
        // Neighbors on one surface differ in depth by a part of their radius, or of the widened radius.
        let facing = normal.dot(self.eye - splats.positions[i]) * inverse_depth;
        let widened = 1.5 * THIN * center.z / (self.focal * facing.abs().max(0.08));
        let back = facing < -0.05;
        let slack = (0.6 * radius).max(widened) * inverse_depth * inverse_depth;
        let mut turns = [[0.0; TURNING]; 2];
        for (out, turn) in turns.iter_mut().zip(&vicinity.turns[i]) {
            out[NORMAL..NORMAL + 3].copy_from_slice(&(turn.normal * (side * grow)).to_array());
            out[SEEN..SEEN + 3].copy_from_slice(&turn.seen.map(|s| s * grow));
        }
        let base = |rows, clip, kind, (lo, hi)| ScreenSplat {
            rows,
            clip,
            at,
            inverse_depth,
            slack,
            lo,
            hi,
            kind,
            back,
            sheet,
            surface,
            attributes,
            turns,
        };

        if normal == Vec3::ZERO {
            let bounds = self.ball_bounds(center, radius)?;
            let kind = Kind::Ball { c: center.length_squared() - radius * radius };
            return Some(base([center, Vec3::ZERO, Vec3::ZERO], Vec3::ZERO, kind, bounds));
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
        // Height over the clipping plane, times inverse depth.
        let clip = &vicinity.clips[i];
        let over = |axis: Vec3| axis.dot(clip.normal) * grow;
        let height = splats.positions[i].dot(clip.normal) - clip.offset;
        let clip = rows[0] * over(splats.axes_u[i]) + rows[1] * over(splats.axes_v[i]) + rows[2] * height;
        Some(base(rows, clip, kind, bounds))
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

/// A place on an ellipse.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// Along the half-axes; 0 for thin ones.
    a: f32,
    b: f32,
    /// Squared radius, at most 1.
    square: f32,
}

impl Place {
    /// Its weight in a blend.
    pub fn weight(self) -> f32 {
        (1.0 - self.square) * (1.0 - self.square)
    }
}

type SampleBox = ((u16, u16), (u16, u16));

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

    /// Calls `act` for every sample of a tile that it covers, with the number of the sample in the tile, the place on the
    /// ellipse and the inverse depth.
    #[inline(always)]
    pub fn for_each_sample(&self, corner: (usize, usize), mut act: impl FnMut(usize, Place, f32)) {
        let (x0, x1, y0, y1) = self.range(corner);
        let first = (corner.0 + x0) as f32 + 0.5;
        let mut places = [[0.0; 3]; TILE_WIDTH];
        for y in y0..y1 {
            let (fy, start) = ((corner.1 + y) as f32 + 0.5, y * TILE_WIDTH + x0);
            if self.kind == Kind::Thin {
                for k in 0..x1 - x0 {
                    let (square, depth) = self.thin_at(first + k as f32, fy);
                    if square < 1.0 {
                        act(start + k, Place { a: 0.0, b: 0.0, square }, depth);
                    }
                }
            } else {
                let row = self.row(first, fy);
                let span = row.span(x1 - x0);
                // First all places of the row, in vectors.
                let [a, b, c] = row.lines;
                for (k, out) in places[..span.len()].iter_mut().enumerate() {
                    let x = (span.start + k) as i32 as f32;
                    let depth = c.0 * x + c.1;
                    let inverse = 1.0 / depth;
                    *out = [(a.0 * x + a.1) * inverse, (b.0 * x + b.1) * inverse, depth];
                }
                for (k, &[a, b, depth]) in span.clone().zip(&places[..span.len()]) {
                    act(start + k, Place { a, b, square: (a * a + b * b).min(1.0) }, depth);
                }
            }
        }
    }

    /// Raises the inverse depths of a tile to its own where they are smaller.
    pub fn raise(&self, projection: &Projection, corner: (usize, usize), nearest: &mut [f32]) {
        let raise = |nearest: &mut f32, here: f32| *nearest = if here > *nearest { here } else { *nearest };
        let (x0, x1, y0, y1) = self.range(corner);
        let first = (corner.0 + x0) as f32 + 0.5;
        match self.kind {
            Kind::Ellipse => {
                for y in y0..y1 {
                    let row = self.row(first, (corner.1 + y) as f32 + 0.5);
                    let (span, start, (slope, c)) = (row.span(x1 - x0), y * TILE_WIDTH + x0, row.lines[2]);
                    let mut x = span.start as f32;
                    for nearest in &mut nearest[start + span.start..start + span.end] {
                        raise(nearest, slope * x + c);
                        x += 1.0;
                    }
                }
            }
            Kind::Thin => self.for_each_sample(corner, |i, _, depth| raise(&mut nearest[i], depth)),
            Kind::Ball { .. } => {
                self.for_each_ball_sample(projection, corner, |i, depth, _| raise(&mut nearest[i], depth));
            }
        }
    }

    /// Calls `act` for every sample of a ball's box, with its number, the inverse depth (0 outside) and its place.
    pub fn for_each_ball_sample(
        &self,
        projection: &Projection,
        corner: (usize, usize),
        mut act: impl FnMut(usize, f32, (f32, f32)),
    ) {
        let Kind::Ball { c, .. } = self.kind else { return };
        let (x0, x1, y0, y1) = self.range(corner);
        for y in y0..y1 {
            for x in x0..x1 {
                let at = ((corner.0 + x) as f32 + 0.5, (corner.1 + y) as f32 + 0.5);
                act(y * TILE_WIDTH + x, projection.ball_at(self, c, at.0, at.1), at);
            }
        }
    }

    /// Whether its box and that of the samples from `lo` to before `hi` overlap.
    pub fn touches(&self, lo: (usize, usize), hi: (usize, usize)) -> bool {
        let apart = |own: (u16, u16), lo: usize, hi: usize| own.0 as usize >= hi || own.1 as usize <= lo;
        !apart((self.lo.0, self.hi.0), lo.0, hi.0) && !apart((self.lo.1, self.hi.1), lo.1, hi.1)
    }

    /// Whether it is a ball.
    pub fn is_ball(&self) -> bool {
        matches!(self.kind, Kind::Ball { .. })
    }

    /// Its linear functions along one row of samples, from the one at `x` on.
    fn row(&self, x: f32, y: f32) -> Row {
        let line = |r: Vec3| (r.x, r.x * x + (r.y * y + r.z));
        Row { lines: self.rows.map(line), clip: line(self.clip) }
    }

    /// Squared radius and inverse depth of a thin one at a sample: the smaller radius of the ellipse and of the widened
    /// center; a radius of 1 outside.
    fn thin_at(&self, x: f32, y: f32) -> (f32, f32) {
        let [a, b, c] = self.rows.map(|r| r.x * x + (r.y * y + r.z));
        let (dx, dy) = (x - self.at.0, y - self.at.1);
        let wide = (dx * dx + dy * dy) / (THIN * THIN);
        let clipped = self.clip.x * x + (self.clip.y * y + self.clip.z) > 0.0;
        let exact = if c > 0.0 && !clipped { (a * a + b * b) / (c * c) } else { f32::INFINITY };
        if exact < 1.0 {
            (exact.min(wide), c)
        } else if wide < 1.0 {
            (wide, self.inverse_depth)
        } else {
            (1.0, 0.0)
        }
    }

    /// Adds it to a blended sample.
    #[inline(always)]
    pub fn add(&self, sample: &mut [f32; CHANNELS], place: Place, inverse_depth: f32) {
        let weight = place.weight();
        for k in 0..TURNING {
            let turned = self.attributes[k] + (place.a * self.turns[0][k] + place.b * self.turns[1][k]);
            sample[k] += weight * turned;
        }
        for k in TURNING..CHANNELS - 1 {
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

    /// What a ball shows at a sample.
    pub fn ball_sample(&self, s: &ScreenSplat, inverse_depth: f32, (x, y): (f32, f32)) -> [f32; CHANNELS] {
        let ray = Vec3::new((x - self.center.0) / self.focal, (self.center.1 - y) / self.focal, 1.0);
        let normal = (ray / inverse_depth - s.rows[0]).normalize_or_zero();
        let turn = Mat3::from_cols(self.basis.right, self.basis.up, self.basis.forward);
        let mut sample = s.attributes;
        sample[NORMAL..NORMAL + 3].copy_from_slice(&(turn * normal).to_array());
        sample[INVERSE_DEPTH] = inverse_depth;
        sample
    }
}

/// Linear functions along a row of samples: slope, and value at the first one.
struct Row {
    /// Ellipse coordinates times inverse depth, and inverse depth.
    lines: [(f32, f32); 3],
    clip: (f32, f32),
}

impl Row {
    /// The samples, of the first `count`, inside the ellipse and not clipped.
    #[inline(always)]
    fn span(&self, count: usize) -> Range<usize> {
        // a^2 + b^2 < c^2 is quadratic in the sample.
        let [a, b, c] = self.lines;
        let square = a.0 * a.0 + b.0 * b.0 - c.0 * c.0;
        let half = a.0 * a.1 + b.0 * b.1 - c.0 * c.1;
        let root = half * half - square * (a.1 * a.1 + b.1 * b.1 - c.1 * c.1);
        if !(square > 0.0 && root > 0.0) {
            return 0..0;
        }
        let (root, inverse) = (root.sqrt(), 1.0 / square);
        let (mut lo, mut hi) = ((-half - root) * inverse, (-half + root) * inverse);
        let edge = -self.clip.1 / self.clip.0;
        if self.clip.0 > 0.0 {
            hi = hi.min(edge);
        } else if self.clip.0 < 0.0 {
            lo = lo.max(edge);
        } else if self.clip.1 > 0.0 {
            return 0..0;
        }
        let count = count as f32;
        let (lo, hi) = (lo.clamp(0.0, count), hi.clamp(-1.0, count - 1.0));
        let first = lo as i32 as usize;
        let first = first + usize::from((first as f32) < lo);
        first..((hi + 1.0) as i32 as usize).max(first)
    }
}
