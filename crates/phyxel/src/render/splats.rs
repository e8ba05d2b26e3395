//! Splats: everything drawn in one frame as flat arrays, ellipses and balls, with linear colors.

use super::camera::Bounds;
use super::color::{map_of, to_linear};
use super::field::{self, PointCells};
use super::{Coloring, Draw, View};
use crate::frame::{BodyFrame, ColliderLook, Frame};
use crate::surface::Surfels;
use glam::{Mat3, Vec3};
use rayon::prelude::*;
use std::ops::Range;

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
    /// Number of the sheet that each belongs to, whose both sides are seen; 0: none.
    pub sheets: Vec<u16>,
    /// The ellipses of each body or collider.
    pub surfaces: Vec<Range<usize>>,
    /// Box around all of it.
    pub bounds: Bounds,
    /// Number of the sheet that is being added.
    sheet: u16,
    cells: PointCells,
    surfel_values: Vec<f32>,
}

/// Gray for what a field coloring does not reach.
const NO_VALUE: [u8; 3] = [150, 150, 150];

impl Splats {
    /// Collects the frame. Elements with a position, axis or normal that is not finite are left out.
    pub fn gather(&mut self, frame: &Frame, view: &View, range: Option<(f32, f32)>) {
        self.clear();
        for (b, body) in frame.bodies.iter().enumerate() {
            self.sheet = if body.two_sided { b.min(usize::from(u16::MAX) - 1) as u16 + 1 } else { 0 };
            if body.hidden && view.draw != Draw::Points {
                continue;
            }
            if view.draw == Draw::Points || body.surfels.is_empty() {
                self.add_points(body, view, range);
            } else {
                self.add_body_surfels(body, view, range);
            }
        }
        self.sheet = 0;
        for collider in &frame.colliders {
            if let ColliderLook::Surfels(surfels) = &collider.look {
                let pose = collider.pose.as_affine3();
                let start = self.len();
                let color = to_linear(collider.color);
                for i in 0..surfels.len() {
                    self.add_surfel(surfels, i, color, |p| pose.transform_point3(p), pose.matrix3);
                }
                self.surfaces.push(start..self.len());
            }
        }
    }

    /// Number of the surface that a splat belongs to, from 1 on; any for balls.
    pub fn surface_of(&self, i: usize) -> u16 {
        (self.surfaces.partition_point(|s| s.end <= i) + 1).min(usize::from(u16::MAX)) as u16
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
        self.sheets.clear();
        self.surfaces.clear();
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
                Coloring::Field { name, .. } => field_color(name, field::value(body, name, i), range),
            };
            self.push(p, [Vec3::ZERO; 3], radius, to_linear(color));
        }
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
            let color = match &view.color {
                Coloring::Field { name, .. } => field_color(name, values.get(i).copied(), range),
                Coloring::Body => surfels.colors.get(i).copied().unwrap_or(body.color),
            };
            self.add_surfel(surfels, i, to_linear(color), |p| p, Mat3::IDENTITY);
        }
        self.surfel_values = values;
        self.surfaces.push(start..self.len());
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
        self.sheets.push(self.sheet);
        self.bounds.add(p - radius);
        self.bounds.add(p + radius);
    }
}

fn field_color(name: &str, value: Option<f32>, range: Option<(f32, f32)>) -> [u8; 3] {
    match (value.filter(|v| v.is_finite()), range) {
        (Some(value), Some((lo, hi))) => map_of(name)((value - lo) / (hi - lo).max(1e-30)),
        _ => NO_VALUE,
    }
}
