//! The surface of a solid that breaks between its points, made at rest: it opens where links are gone.
//!
//! Which points are linked is told by the model. Around each place the links that are left make groups of points (`local.rs`); the place
//! belongs to one of them. Where the borders of groups meet the skin, surfels are cut in two, each part for its own side (`skin.rs`). Along
//! the borders inside the body lie two faces, back to back (`faces.rs`), and where a crack ends there is a plate across it (`tips.rs`). Each surfel is carried by points of its own group alone. So nothing
//! moves when a bond breaks: what is new shows when the sides go apart, and they fit together exactly. A crack that ends in the
//! body opens too, because groups are made of what is near.
//!
//! All is a function of the links that are gone, so that nothing has to be saved. Where none is gone, carriers are left as they were.

mod faces;
mod local;
mod skin;
#[cfg(test)]
mod tests;
mod tips;

use super::displacement::Falloff;
use super::flowing::spacing_of;
use super::{Carrier, Surfels};
use crate::geometry::Shape;
use crate::neighbors::{Grid, Neighborhoods};
use faces::Spot;
use glam::{DVec3, Vec3};
use local::{Border, Local, REACH};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Points whose distance at rest is below this may be linked [spacings]: the two shells of a lattice.
const LINKED: f64 = 1.5;
/// The nearer shell.
const NEXT: f64 = 1.2;
/// Neighbors in the nearer shell of a point inside a body.
const AROUND: usize = 12;
/// A link holds its ends in place while so many points are linked to both of them.
const BESIDE: usize = 2;
/// Ellipses stand over the border of their side by this, in their half-axis across it.
const OVER: f64 = 0.2;

/// Which points at rest are linked.
pub(super) struct Links {
    /// The points at rest [m].
    places: Vec<DVec3>,
    grid: Grid,
    /// Distance between points [m].
    spacing: f64,
    /// Pairs that may be linked.
    pairs: Neighborhoods,
    /// Whether the model says that they are not, for each entry of `pairs`. Written by `update`.
    broken: Vec<bool>,
    /// The same with hinges. Written by `update`.
    severed: Vec<bool>,
    /// Whether any link of a point is gone. Written by `update`.
    scarred: Vec<bool>,
}

impl Links {
    /// Takes note of which links are gone; true if that is news. One that has lost the points beside it, which were linked to both of its
    /// ends, is a hinge that holds nothing in place: it is gone too.
    fn update(&mut self, is_gone: impl Fn(usize, usize) -> bool + Sync) -> bool {
        let rows = |row: &(dyn Fn(usize) -> Vec<bool> + Sync)| -> Vec<bool> {
            let all = (0..self.pairs.len()).into_par_iter().with_min_len(256).map(row);
            all.collect::<Vec<_>>().into_iter().flatten().collect()
        };
        let gone = rows(&|i| self.pairs.of(i).map(|j| is_gone(i, j)).collect());
        if gone == self.broken {
            return false;
        }
        self.broken = gone;
        self.severed.clone_from(&self.broken);
        let scarred: Vec<bool> = (0..self.pairs.len()).map(|i| self.row(i).any(|(_, gone)| gone)).collect();
        let beside = |i: usize, j: usize| self.intact(i).filter(|k| self.is_intact(j, *k)).count();
        let whole = |i: usize, j: usize| self.pairs.of(i).filter(|k| self.pairs.of(j).any(|l| l == *k)).count();
        let hinge = |i: usize, j: usize| (scarred[i] || scarred[j]) && beside(i, j) < BESIDE && whole(i, j) >= BESIDE;
        self.severed = rows(&|i| self.row(i).map(|(j, gone)| gone || hinge(i, j as usize)).collect());
        self.scarred = (0..self.pairs.len()).map(|i| self.row(i).any(|(_, gone)| gone)).collect();
        true
    }

    /// Whether two points are still linked.
    fn is_intact(&self, i: usize, j: u32) -> bool {
        self.intact(i).any(|k| k == j)
    }

    /// Points that may be linked to a point, and whether they are not.
    fn row(&self, i: usize) -> impl Iterator<Item = (u32, bool)> + '_ {
        let range = self.pairs.starts[i] as usize..self.pairs.starts[i + 1] as usize;
        self.pairs.neighbors[range.clone()].iter().copied().zip(self.severed[range].iter().copied())
    }

    /// Points that are still linked to a point.
    fn intact(&self, i: usize) -> impl Iterator<Item = u32> + '_ {
        self.row(i).filter(|(_, gone)| !gone).map(|(j, _)| j)
    }
}

/// A body's surface that opens where it breaks.
pub struct Breaks {
    /// The surface of the whole body.
    whole: Carrier,
    /// The body at rest.
    shape: Arc<dyn Shape>,
    links: Links,
    /// Whether a point has surface beside it.
    outer: Vec<bool>,
    /// Distance between surfels [m].
    distance: f64,
    /// sRGB color of what a break lays open; None: that of the surface nearby.
    inner: Option<[u8; 3]>,
    /// Places on borders by pair, with the groups that they were found for. Written by `faces`.
    known: BTreeMap<[u32; 2], (Vec<u32>, Vec<Spot>)>,
    /// The surfels of the whole body, to ask for the nearest; empty where there is an inner color.
    skin: Grid,
}

/// A surfel at rest with what carries it.
struct Part {
    position: DVec3,
    axis_u: DVec3,
    axis_v: DVec3,
    normal: DVec3,
    color: [u8; 3],
    carriers: Vec<(u32, f32)>,
}

impl Breaks {
    /// Of a body at rest whose surfels `whole` carries; `inner` is the sRGB color of what breaks lay open, if it has one.
    pub fn new(
        whole: &Carrier,
        shape: Arc<dyn Shape>,
        rest_positions: &[DVec3],
        spacing: f64,
        inner: Option<[u8; 3]>,
    ) -> Self {
        let pairs = Neighborhoods::within_radius(rest_positions, LINKED * spacing);
        let next = |i: usize, j: usize| rest_positions[i].distance(rest_positions[j]) < NEXT * spacing;
        let outer = |i: usize| pairs.of(i).filter(|&j| next(i, j)).count() < AROUND;
        let distance = f64::from(spacing_of(whole.rest()));
        let skin = whole.rest().positions.iter().filter(|_| inner.is_none()).map(|p| p.as_dvec3());
        Self {
            skin: Grid::new(&skin.collect::<Vec<_>>(), distance),
            outer: (0..rest_positions.len()).map(outer).collect(),
            links: Links {
                grid: Grid::new(rest_positions, REACH * spacing),
                places: rest_positions.to_vec(),
                spacing,
                broken: vec![false; pairs.neighbors.len()],
                severed: vec![false; pairs.neighbors.len()],
                scarred: vec![false; rest_positions.len()],
                pairs,
            },
            distance,
            whole: whole.clone(),
            known: BTreeMap::new(),
            shape,
            inner,
        }
    }

    /// Opens the surface where links are gone since the last call; `is_gone` is asked for points that may be linked.
    pub fn follow(&mut self, carrier: &mut Carrier, is_gone: impl Fn(usize, usize) -> bool + Sync) {
        if self.links.update(is_gone) {
            self.open(carrier);
        }
    }

    /// Makes the surface anew.
    fn open(&mut self, carrier: &mut Carrier) {
        let (mut surfels, mut lists) = (self.whole.rest().clone(), Vec::new());
        let all = (0..surfels.len()).into_par_iter().with_min_len(256);
        let cut: Vec<Option<Vec<Part>>> = all.map(|s| self.cut(s)).collect();
        let mut added = Vec::new();
        for (s, parts) in cut.into_iter().enumerate() {
            let mut parts = parts.into_iter().flatten();
            match parts.next() {
                Some(own) => {
                    own.write(s, &mut surfels);
                    lists.push(own.carriers);
                }
                None => lists.push(self.whole.bonds(s)),
            }
            added.extend(parts);
        }
        added.extend(self.faces());
        added.extend(self.tips());
        for part in added {
            let s = surfels.len();
            surfels.positions.push(Vec3::ZERO);
            surfels.axes_u.push(Vec3::ZERO);
            surfels.axes_v.push(Vec3::ZERO);
            surfels.normals.push(Vec3::ZERO);
            surfels.colors.push(part.color);
            part.write(s, &mut surfels);
            lists.push(part.carriers);
        }
        carrier.rebind(surfels, &lists);
    }

    /// The points of a group that carry a surfel at a place, with weights that sum to 1.
    fn carriers(&self, place: DVec3, local: &Local, group: u32) -> Vec<(u32, f32)> {
        let reach2 = (REACH * self.links.spacing).powi(2);
        let own = || local.members.iter().zip(&local.groups).filter(|(_, g)| **g == group).map(|(i, _)| *i);
        let r2 = |i: u32| self.links.places[i as usize].distance_squared(place) / reach2;
        let near: Vec<(u32, f64)> =
            own().filter(|&i| r2(i) < 1.0).map(|i| (i, Falloff::Spline.weight(r2(i)))).filter(|p| p.1 > 0.0).collect();
        let sum: f64 = near.iter().map(|p| p.1).sum();
        if near.is_empty() {
            return own().min_by(|a, b| r2(*a).total_cmp(&r2(*b))).map(|i| (i, 1.0)).into_iter().collect();
        }
        near.into_iter().map(|(i, w)| (i, (w / sum) as f32)).collect()
    }
}

impl Part {
    fn write(&self, s: usize, surfels: &mut Surfels) {
        surfels.positions[s] = self.position.as_vec3();
        surfels.axes_u[s] = self.axis_u.as_vec3();
        surfels.axes_v[s] = self.axis_v.as_vec3();
        surfels.normals[s] = self.normal.as_vec3();
    }

    /// Half its width in a direction along it [m].
    fn extent(&self, direction: DVec3) -> f64 {
        self.axis_u.dot(direction).hypot(self.axis_v.dot(direction))
    }

    /// What is left of it before a border, if that cuts it.
    fn before(mut self, border: Border) -> Self {
        let extent = self.extent(border.across);
        let way = border.way + OVER * extent;
        if way < extent {
            self.reshape(border.across, (-extent, way), 1.0);
        }
        self
    }

    /// Makes it reach from one distance to another along a direction [m], and to a part of its width across that.
    fn reshape(&mut self, direction: DVec3, (from, to): (f64, f64), part: f64) {
        let along = self.normal.cross(direction);
        self.axis_v = part * self.extent(along) * along;
        self.axis_u = 0.5 * (to - from) * direction;
        self.position += 0.5 * (from + to) * direction;
    }
}
