//! The implicit surface of matter that has flowed: a smooth density of the points, cut at half its value inside.
//!
//! After [YT13]: every point is smeared over an ellipsoid shaped like its neighborhood (a flat pancake at a surface, a ball
//! inside), centered at a smoothed position, so that the surface is flat where the matter is flat and shows no bumps of the
//! size of points. The kernels are normalized: a half-space filled with points has density 1 inside and its iso-surface half
//! a spacing beyond the outermost points, where the drawn surface of a solid lies too.
//!
//! Differs from [YT13]: the positions are smoothed only by what differs from their neighbors' shift, so that the surface
//! does not shrink; lone points fade to balls by the weight of their neighborhood, not by a count, so that nothing jumps.
//!
//! At the walls of molds the density is divided by the share of the surroundings that points could fill (`walls.rs`): it is 1 in full
//! matter up to the wall and into relief narrower than the points, and its surface meets the wall at a right angle. Points there are smeared
//! over balls, as that share is measured; ellipsoids would keep each finger of a rim one point wide, too.

use super::kernel::{AXES, KERNEL, Kernel, NEAR, Shape, company, kernel, shape};
use super::near::{List, Near};
use super::walls::Walls;
use crate::geometry::{Moments, WIDE, WIDE_SUM, wide_weight};
use crate::neighbors::{Grid, Neighborhoods};
use glam::{DVec3, Mat3A, Vec3, Vec3A};
use rayon::prelude::*;

/// Density at the surface.
pub(super) const ISO: f32 = 0.5;
/// Below this density of the points themselves there is nothing, however little room they have.
const BARE: f32 = 0.004;
/// Loss of density on the way into a nook [per spacing].
const INWARD: f32 = 0.03;
/// A nook is at most this many times as full as its mouth.
const MOUTH: f32 = 2.0;
/// Half the distance over which slopes in nooks are taken [spacings].
const DIFFERENCE: f32 = 0.1;
/// Edge of the cells that share lists of what is near [surfel spacings], and its bounds [radii of the largest kernel].
const SHARED: f32 = 4.0;
const CELL: (f32, f32) = (0.06, 0.25);
/// Points per parallel task.
const CHUNK: usize = 128;

/// The smeared points.
#[derive(Debug, Default)]
pub(super) struct Field {
    /// Cells of the smoothed positions.
    grid: Grid,
    /// Smoothed positions, relative to `middle` [m].
    centers: Vec<Vec3A>,
    /// Squared inverse shape of each kernel [1/m²].
    shapes: Vec<Mat3A>,
    /// Density at the center of each kernel.
    heights: Vec<f32>,
    /// One over the shortest axis of each kernel [1/m].
    steepness: Vec<f32>,
    /// Mean place of the neighbors relative to the point [spacings]: points inward where there is a surface.
    pub inward: Vec<DVec3>,
    /// 0 for a lone point, 1 for one with enough neighbors.
    pub company: Vec<f32>,
    /// Smoothed positions [m].
    pub smoothed: Vec<DVec3>,
    /// Piece of each point: only those of one piece make a surface together.
    labels: Vec<u32>,
    /// Where f32 coordinates count from [m].
    pub middle: DVec3,
    /// Radius of the largest kernel [m].
    reach: f64,
    /// Edge of the cells that share lists of what is near [m].
    pub cell: f32,
}

/// Density and its gradient at a place.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sample {
    pub density: f32,
    /// [1/m].
    pub gradient: Vec3A,
}

/// Where a place ended on the surface.
#[derive(Debug, Clone, Copy)]
pub(super) struct Projected {
    /// On the surface, relative to `Field::middle` [m].
    pub position: Vec3A,
    /// Unit outward normal.
    pub normal: Vec3A,
    /// The point whose center is nearest, or nearly so.
    pub nearest: u32,
}

impl Field {
    /// The field of points with their spacings [m] and pieces; those that are `round` are smeared over balls.
    /// `spacing` is that of the surfels that will ask [m].
    pub fn build(&mut self, positions: &[DVec3], spacings: &[f64], labels: &[u32], round: &[bool], spacing: f32) {
        self.labels.clear();
        self.labels.extend_from_slice(labels);
        let radii: Vec<f64> = spacings.iter().map(|a| NEAR * a).collect();
        let near = Neighborhoods::with_radii(positions, &radii);
        let shapes: Vec<Shape> = (0..positions.len())
            .into_par_iter()
            .with_min_len(CHUNK)
            .map(|i| shape(i, positions, &radii, labels, &near))
            .collect();
        let kernels: Vec<Kernel> = (0..positions.len())
            .into_par_iter()
            .with_min_len(CHUNK)
            .map(|i| kernel((i, round.get(i) == Some(&true)), positions, spacings, labels, &shapes, &near))
            .collect();
        self.smoothed.clear();
        self.smoothed.extend(kernels.iter().map(|k| k.center));
        let finite = || self.smoothed.iter().filter(|p| p.is_finite());
        self.middle = finite().sum::<DVec3>() / finite().count().max(1) as f64;
        self.centers.clear();
        self.centers.extend(kernels.iter().map(|k| (k.center - self.middle).as_vec3a()));
        self.shapes.clear();
        self.shapes.extend(kernels.iter().map(|k| k.shape));
        self.heights.clear();
        self.heights.extend(kernels.iter().map(|k| k.height));
        self.steepness.clear();
        self.steepness.extend(kernels.iter().map(|k| k.steepness));
        self.inward.clear();
        self.inward.extend(shapes.iter().zip(spacings).map(|(s, a)| s.shift / *a));
        self.company.clear();
        self.company.extend(shapes.iter().map(|s| company(s.weight) as f32));
        self.reach = AXES.1 * KERNEL * spacings.iter().copied().filter(|a| a.is_finite()).fold(0.0, f64::max);
        self.grid = Grid::new(&self.smoothed, 0.5 * self.reach);
        let largest = self.reach as f32;
        self.cell = (SHARED * spacing).clamp(CELL.0 * largest, CELL.1 * largest);
        if !(self.cell > 0.0 && self.cell.is_finite()) {
            self.cell = 1.0;
        }
    }

    /// Density and gradient of a piece at `p` (relative to `middle`) beside what there is room for.
    fn fullness(&self, p: Vec3A, label: u32, walls: Walls, near: &mut Near) -> Sample {
        if walls.is_empty() {
            return self.sample(p, &near.of(self, p, label).reaching);
        }
        let (found, depth) = self.beside_walls(p, label, walls, near);
        if depth <= 0.0 {
            return found;
        }
        // How the mouth changes from place to place is not known: differences tell.
        let half = DIFFERENCE * walls.spacing();
        let mut along = |way: Vec3A| {
            let mut at = |p: Vec3A| self.beside_walls(p, label, walls, near).0.density;
            (at(p + half * way) - at(p - half * way)) / (2.0 * half)
        };
        Sample { gradient: Vec3A::new(along(Vec3A::X), along(Vec3A::Y), along(Vec3A::Z)), ..found }
    }

    /// Density and gradient beside what walls leave room for; in a nook those at its mouth, deep in it the density that what is around tells.
    /// And how long the way from the mouth is [m].
    fn beside_walls(&self, p: Vec3A, label: u32, walls: Walls, near: &mut Near) -> (Sample, f32) {
        let open = walls.at(self.middle + p.as_dvec3());
        let place = (open.place - self.middle).as_vec3a();
        let bare = self.sample(place, &near.of(self, place, label).reaching);
        if bare.density < BARE {
            return (bare, 0.0);
        }
        let full = bare.density / open.share;
        let gradient = open.gradient((bare.gradient - full * open.slope) / open.share);
        // A nook fills from its mouth on, as far as matter has come around it.
        let mut density = (full - INWARD / walls.spacing() * open.depth).max(0.0);
        if open.depth > 0.0 {
            let (level, trust) = self.level(open.own, label, walls.spacing(), &open.wide);
            let deep = (open.depth / walls.spacing()).min(1.0) * trust;
            density += deep * (level.clamp(0.0, MOUTH * density) - density);
        }
        (Sample { density, gradient }, open.depth)
    }

    /// How full a nook is at `place` [m] by how far matter has come around it, and how far that is to be trusted, 0 ..= 1.
    fn level(&self, place: DVec3, label: u32, spacing: f32, open: &Moments) -> (f32, f32) {
        let reach = WIDE * f64::from(spacing);
        let (mut sum, mut first) = (0.0, DVec3::ZERO);
        self.grid.for_each_within(place, reach, |j, r2| {
            if self.labels[j] == label {
                let w = wide_weight(r2 / (reach * reach));
                sum += w;
                first += w * (self.smoothed[j] - place);
            }
        });
        let each = WIDE.powi(-3) / WIDE_SUM;
        let (full, trust) = open.fullness(each * sum, each / reach * first);
        (full as f32, trust as f32)
    }

    /// Density and gradient at `p` (relative to `middle`), from the points in `list`.
    pub fn sample(&self, p: Vec3A, list: &[u32]) -> Sample {
        let mut sample = Sample::default();
        for &j in list {
            let j = j as usize;
            let r = p - self.centers[j];
            let toward = self.shapes[j] * r;
            let inside = 1.0 - r.dot(toward);
            if inside > 0.0 {
                let square = self.heights[j] * inside * inside;
                sample.density += square * inside;
                sample.gradient -= (6.0 * square) * toward;
            }
        }
        sample
    }

    /// Lists what of a piece is near a cell around `middle` (relative to that of the field).
    pub fn list(&self, list: &mut List, middle: Vec3A, label: u32) {
        list.reaching.clear();
        list.nearest.clear();
        // From the middle of a cell to its corners, and a little for rounding.
        let half = 0.867 * self.cell;
        let mut least = f32::INFINITY;
        self.grid.for_each_within(self.middle + middle.as_dvec3(), self.reach + f64::from(half), |j, r2| {
            if self.labels[j] == label {
                least = least.min(r2 as f32);
                list.nearest.push(j as u32);
            }
        });
        let reaches = |&j: &u32| {
            let r = middle - self.centers[j as usize];
            r.dot(self.shapes[j as usize] * r).sqrt() < 1.0 + half * self.steepness[j as usize]
        };
        list.reaching.extend(list.nearest.iter().copied().filter(reaches));
        let farthest = (least.sqrt() + 2.0 * half) * 1.0001;
        list.nearest.retain(|&j| (self.centers[j as usize] - middle).length_squared() < farthest * farthest);
    }

    /// Moves `p` (relative to `middle`) to the surface of a piece, along the gradient of the density, by at most `farthest` [m].
    /// None if the surface is not found within that distance: `p` is deep inside, or far outside.
    pub fn project(&self, p: Vec3A, label: u32, farthest: f32, walls: Walls, near: &mut Near) -> Option<Projected> {
        let mut x = p;
        for _ in 0..8 {
            let at = self.fullness(x, label, walls, near);
            let slope = at.gradient.length();
            if slope * farthest < 1e-3 {
                // Outside all kernels the way to the surface is the way to the matter; inside there is none.
                if at.density > ISO {
                    return None;
                }
                let nearest = self.nearest(x, &near.of(self, x, label).nearest)?;
                x += (self.centers[nearest as usize] - x).clamp_length_max(0.15 * farthest);
                continue;
            }
            let step = ((ISO - at.density) / slope).clamp(-0.5 * farthest, 0.5 * farthest);
            x += at.gradient * (step / slope);
            if (x - p).length_squared() > farthest * farthest {
                return None;
            }
            if step.abs() < 0.01 * farthest {
                let nearest = self.nearest(x, &near.of(self, x, label).nearest)?;
                let normal = -at.gradient / slope;
                return Some(Projected { position: x, normal, nearest });
            }
        }
        None
    }

    /// Calls `visit` with every point whose center is nearer to a place than `radius` [m].
    pub fn for_each_near(&self, place: DVec3, radius: f64, mut visit: impl FnMut(usize)) {
        self.grid.for_each_within(place, radius, |j, _| visit(j));
    }

    /// The point of a piece whose center is nearest to `p` [m], if it is within `radius` [m].
    pub fn nearest_within(&self, p: Vec3, label: u32, radius: f32, near: &mut Near) -> Option<u32> {
        let local = self.local(p);
        let found = self.nearest(local, &near.of(self, local, label).nearest)?;
        let within = (self.centers[found as usize] - local).length_squared() < radius * radius;
        within.then_some(found)
    }

    /// Density of a piece at a place [m], as far as walls leave room for it.
    pub fn density_at(&self, p: Vec3, label: u32, walls: Walls, near: &mut Near) -> f32 {
        let local = self.local(p);
        let found = match walls.is_empty() {
            true => self.sample(local, &near.of(self, local, label).reaching).density,
            false => self.beside_walls(local, label, walls, near).0.density,
        };
        if found < BARE { 0.0 } else { found }
    }

    /// Whether there is matter of a piece at `p` (relative to `middle`), or hardly any.
    pub fn touches(&self, p: Vec3A, label: u32, near: &mut Near) -> bool {
        self.sample(p, &near.of(self, p, label).reaching).density > 0.05 * ISO
    }

    /// Relative to `middle`.
    fn local(&self, p: Vec3) -> Vec3A {
        (p.as_dvec3() - self.middle).as_vec3a()
    }

    fn nearest(&self, p: Vec3A, list: &[u32]) -> Option<u32> {
        let mut best = (f32::INFINITY, None);
        for &j in list {
            let r2 = (self.centers[j as usize] - p).length_squared();
            if r2 < best.0 || (r2 == best.0 && best.1.is_some_and(|b| j < b)) {
                best = (r2, Some(j));
            }
        }
        best.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn slab(layers: usize, jitter: f64) -> Vec<DVec3> {
        let mut points = Vec::new();
        for x in -7..=7 {
            for y in 0..layers {
                for z in -7..=7 {
                    let p = DVec3::new(f64::from(x), -(y as f64), f64::from(z));
                    points.push(p + jitter * Random::new(1, points.len() as u64).in_cube());
                }
            }
        }
        points
    }

    /// Mean and rms of the height of the upper surface above the uppermost layer, and how many places found none.
    fn surface(points: &[DVec3]) -> [f32; 3] {
        let mut field = Field::default();
        field.build(points, &vec![1.0; points.len()], &vec![0; points.len()], &[], 0.2);
        let mut list = Near::default();
        let mut heights = Vec::new();
        let mut lost = 0.0;
        for i in 0..25 {
            for k in 0..25 {
                let top = DVec3::new(-3.0 + 0.25 * f64::from(i), 0.6, -3.0 + 0.25 * f64::from(k));
                match field.project((top - field.middle).as_vec3a(), 0, 2.0, Walls::NONE, &mut list) {
                    Some(p) => heights.push(p.position.y + field.middle.y as f32),
                    None => lost += 1.0,
                }
            }
        }
        let n = heights.len() as f32;
        let mean = heights.iter().sum::<f32>() / n;
        let rms = (heights.iter().map(|h| (h - mean) * (h - mean)).sum::<f32>() / n).sqrt();
        [mean, rms, lost]
    }

    #[test]
    fn a_flat_surface_lies_half_a_spacing_out_and_shows_a_third_of_the_jitter() {
        for layers in [5, 3, 2] {
            let [mean, rms, _] = surface(&slab(layers, 0.0));
            assert!((mean - 0.5).abs() < 0.06 && rms < 0.005, "{layers} layers: {mean} {rms}");
            // Jitter of 0.25 is 0.14 rms; the kernels and the smoothing leave less than 0.09.
            let [mean, rms, lost] = surface(&slab(layers, 0.25));
            assert!((mean - 0.5).abs() < 0.08 && rms < 0.09 && lost < 4.0, "{layers} layers: {mean} {rms} {lost}");
        }
        let [mean, _, _] = surface(&slab(1, 0.0));
        assert!((mean - 0.33).abs() < 0.02, "{mean}");
    }

    #[test]
    fn a_lone_point_is_a_drop_and_nothing_is_nothing() {
        let mut field = Field::default();
        field.build(&[DVec3::ONE], &[2.0], &[0], &[], 0.2);
        let on = field.project(Vec3A::new(0.5, 1.0, 0.5), 0, 2.0, Walls::NONE, &mut Near::default()).unwrap();
        assert!((on.position.length() - 1.0).abs() < 0.1, "{}", on.position.length());
        assert!(on.normal.dot(on.position.normalize()) > 0.999);
        field.build(&[], &[], &[], &[], f32::INFINITY);
        assert!(field.project(Vec3A::ZERO, 0, 1.0, Walls::NONE, &mut Near::default()).is_none());
        field.build(&[DVec3::NAN, DVec3::ONE], &[1.0, f64::NAN], &[0, 0], &[], 0.2);
        field.project(Vec3A::ZERO, 0, 1.0, Walls::NONE, &mut Near::default());
    }

    #[test]
    fn the_gradient_is_that_of_the_density() {
        let points = slab(3, 0.25);
        let mut field = Field::default();
        field.build(&points, &vec![1.0; points.len()], &vec![0; points.len()], &[], 0.2);
        let (mut near, p) = (Near::default(), Vec3A::new(0.3, 1.2, -0.2));
        let all: Vec<u32> = (0..points.len() as u32).collect();
        let at = field.sample(p, &all);
        // Lists leave out only what adds nothing.
        let listed = field.sample(p, &near.of(&field, p, 0).reaching);
        assert!((listed.density - at.density).abs() < 1e-6 && near.of(&field, p, 0).reaching.len() < all.len() / 4);
        for axis in [Vec3A::X, Vec3A::Y, Vec3A::Z] {
            let density = |s: f32| field.sample(p + s * axis, &all).density;
            let slope = (density(0.01) - density(-0.01)) / 0.02;
            assert!((slope - at.gradient.dot(axis)).abs() < 2e-3, "{slope} {}", at.gradient);
        }
    }
}
