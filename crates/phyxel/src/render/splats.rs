//! Splats: everything drawn in one frame as flat arrays, ellipses and balls, with linear colors.

use super::camera::Bounds;
use super::color::{color_map, to_linear};
use super::field::{self, PointCells};
use super::{Coloring, Draw, View};
use crate::frame::{BodyFrame, ColliderLook, Frame};
use crate::surface::Surfels;
use glam::{Mat3, Vec3};
use rayon::prelude::*;

/// All ellipses and balls of a frame. An ellipse has axes and a normal; a ball has a zero normal.
#[derive(Debug, Default)]
pub(super) struct Splats {
    /// Centers [m].
    pub positions: Vec<Vec3>,
    /// Half-axes [m]; zero for balls.
    pub axes_u: Vec<Vec3>,
    pub axes_v: Vec<Vec3>,
    /// Unit normals; zero for balls.
    pub normals: Vec<Vec3>,
    /// Longer half-axis or radius [m].
    pub radii: Vec<f32>,
    /// Linear colors.
    pub albedos: Vec<Vec3>,
    /// How much larger the ellipses are drawn, so that their weights overlap well.
    pub grows: Vec<f32>,
    /// One over the summed weight at which the surface counts as closed.
    pub inverse_closed: Vec<f32>,
    /// Box around all of it.
    pub bounds: Bounds,
    cells: PointCells,
    surfel_values: Vec<f32>,
}

/// A surface counts as closed at this share of the mean weight: what a straight border has.
pub(super) const CLOSED_SHARE: f32 = 0.5;
/// Gray for what a field coloring does not reach.
const NO_VALUE: [u8; 3] = [150, 150, 150];

impl Splats {
    /// Collects the frame. Elements with a position, axis or normal that is not finite are left out.
    pub fn gather(&mut self, frame: &Frame, view: &View, range: Option<(f32, f32)>) {
        self.clear();
        for body in &frame.bodies {
            if body.hidden && view.draw != Draw::Points {
                continue;
            }
            if view.draw == Draw::Points || body.surfels.is_empty() {
                self.add_points(body, view, range);
            } else {
                self.add_body_surfels(body, view, range);
            }
        }
        for collider in &frame.colliders {
            if let ColliderLook::Surfels(surfels) = &collider.look {
                let pose = collider.pose.as_affine3();
                let start = self.len();
                let color = to_linear(collider.color);
                for i in 0..surfels.len() {
                    self.add_surfel(surfels, i, color, |p| pose.transform_point3(p), pose.matrix3);
                }
                self.set_closed(start);
            }
        }
    }

    pub fn len(&self) -> usize {
        self.positions.len()
    }

    fn clear(&mut self) {
        self.positions.clear();
        self.axes_u.clear();
        self.axes_v.clear();
        self.normals.clear();
        self.radii.clear();
        self.albedos.clear();
        self.grows.clear();
        self.inverse_closed.clear();
        self.bounds = Bounds::default();
    }

    fn add_points(&mut self, body: &BodyFrame, view: &View, range: Option<(f32, f32)>) {
        for (i, &p) in body.positions.iter().enumerate() {
            let radius = 0.5 * body.spacings.get(i).copied().unwrap_or(0.0);
            if !(p.is_finite() && radius > 0.0 && radius.is_finite()) {
                continue;
            }
            let color = match &view.color {
                Coloring::Body => body.color,
                Coloring::Field { name, .. } => field_color(field::value(body, name, i), range),
            };
            self.push(p, [Vec3::ZERO; 3], radius, to_linear(color));
        }
        self.grows.resize(self.len(), 1.0);
        self.inverse_closed.resize(self.len(), 1e6);
    }

    fn add_body_surfels(&mut self, body: &BodyFrame, view: &View, range: Option<(f32, f32)>) {
        let surfels = &body.surfels;
        let mut values = std::mem::take(&mut self.surfel_values);
        values.clear();
        if let Coloring::Field { name, .. } = &view.color {
            values.resize(surfels.len(), f32::NAN);
            if field::has(body, name) {
                self.cells.build(body, name);
                let cells = &self.cells;
                values.par_chunks_mut(512).zip(surfels.positions.par_chunks(512)).for_each(|(values, places)| {
                    for (value, &place) in values.iter_mut().zip(places) {
                        *value = if place.is_finite() { cells.at(&body.positions, place) } else { f32::NAN };
                    }
                });
            }
        }
        let start = self.len();
        for i in 0..surfels.len() {
            let color = match values.get(i) {
                Some(&value) => field_color(Some(value), range),
                None => surfels.colors.get(i).copied().unwrap_or(body.color),
            };
            self.add_surfel(surfels, i, to_linear(color), |p| p, Mat3::IDENTITY);
        }
        self.surfel_values = values;
        self.set_closed(start);
    }

    fn add_surfel(&mut self, s: &Surfels, i: usize, albedo: Vec3, place: impl Fn(Vec3) -> Vec3, turn: Mat3) {
        let (Some(&u), Some(&v), Some(&n)) = (s.axes_u.get(i), s.axes_v.get(i), s.normals.get(i)) else {
            return;
        };
        let (p, u, v) = (place(s.positions[i]), turn * u, turn * v);
        let radius = u.length().max(v.length());
        // The normal is kept as given, but a missing one follows from the axes.
        let normal = (turn * n).try_normalize().or_else(|| u.cross(v).try_normalize());
        if let Some(normal) = normal.filter(|_| p.is_finite() && radius.is_finite() && radius > 0.0) {
            self.push(p, [u, v, normal], radius, albedo);
        }
    }

    fn push(&mut self, p: Vec3, [u, v, normal]: [Vec3; 3], radius: f32, albedo: Vec3) {
        self.positions.push(p);
        self.axes_u.push(u);
        self.axes_v.push(v);
        self.normals.push(normal);
        self.radii.push(radius);
        self.albedos.push(albedo);
        self.bounds.add(p - radius);
        self.bounds.add(p + radius);
    }

    /// Finds how densely the ellipses from `start` on overlap, and from that the weight of a closed surface: low for thin
    /// coverage, so that it has no holes; higher for dense coverage, so that borders are straight and do not grow.
    fn set_closed(&mut self, start: usize) {
        let end = self.len();
        let overlap = self.mean_overlap(start, end);
        let grow = (1.75 / overlap.max(0.1)).sqrt().clamp(1.0, 1.6);
        let overlap = overlap * grow * grow;
        let closed = CLOSED_SHARE * overlap * ((overlap - 0.5) / 0.8).clamp(0.12, 1.0);
        self.grows.resize(end, grow);
        self.inverse_closed.resize(end, 1.0 / closed.max(0.02));
    }

    /// Mean sum of the splat weights over the surface, from the counts around a few surfels.
    fn mean_overlap(&self, start: usize, end: usize) -> f32 {
        const PROBES: usize = 24;
        let count = end - start;
        if count < 8 {
            return 0.6;
        }
        let mut total = 0usize;
        for k in 0..PROBES {
            let i = start + (k * count + count / 2) / PROBES;
            let (p, n, reach) = (self.positions[i], self.normals[i], 2.0 * self.radii[i]);
            total += (start..end)
                .filter(|&j| self.positions[j].distance_squared(p) < reach * reach && self.normals[j].dot(n) > 0.3)
                .count();
        }
        // A disk of twice the radius holds 4 pi r^2 times the density; the weight (1 - r^2)^2 integrates to pi r^2 / 3.
        total as f32 / PROBES as f32 / 12.0
    }
}

fn field_color(value: Option<f32>, range: Option<(f32, f32)>) -> [u8; 3] {
    match (value.filter(|v| v.is_finite()), range) {
        (Some(value), Some((lo, hi))) => color_map((value - lo) / (hi - lo).max(1e-30)),
        _ => NO_VALUE,
    }
}
