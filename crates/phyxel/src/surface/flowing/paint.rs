//! What is painted on surface that did not exist at rest, [MKN04] 5.2.5.
//!
//! Every surfel carries the place of the body at rest that its spot of surface comes from. Where surfels are pushed along the
//! surface the place follows by its slope there; a new surfel takes it from a linear fit to those around. The color is what is
//! painted at that place, so that a pattern is stretched with the matter and stays as sharp as it was, however often surfels
//! are replaced. Surface that appears where matter breaks comes from no such place.
//!
//! Differs from [MKN04] 5.2.5: places are carried instead of colors, so that repeated interpolation blurs nothing.

use super::cover::Cover;
use super::{Element, FlowingSurface, Mold, NONE};
use glam::{Mat3, Vec3};

/// Neighbors whose places at rest are farther apart than this lie beyond a seam [surfel spacings].
const SEAM: f32 = 6.0;
/// Share of the moment matrix added to its diagonal.
const LEAN: f32 = 1e-3;
/// Largest norm of the slope of a place at rest.
const STEEPEST: f32 = 4.0;
/// Exposure at the start below which a point lay inside its body.
const INSIDE: f32 = 0.25;

/// Surfels nearer than this are beside one another [surfel spacings].
const BESIDE: f32 = 1.2;

/// sRGB color of the surface of a body at a place at rest [m].
pub type Paint<'a> = &'a (dyn Fn(Vec3) -> [u8; 3] + Sync);

/// What the surface is shown of the world beside its points.
#[derive(Clone, Copy)]
pub(super) struct Surroundings<'a> {
    pub molds: &'a [Mold<'a>],
    /// What is painted on each body; None: nothing to tell apart.
    pub paints: &'a [Option<Paint<'a>>],
}

/// A linear fit of places at rest.
#[derive(Default)]
struct Fit {
    weight: f32,
    offset: Vec3,
    place: Vec3,
    moment: Mat3,
    mixed: Mat3,
}

impl Fit {
    fn add(&mut self, weight: f32, offset: Vec3, place: Vec3) {
        self.weight += weight;
        self.offset += weight * offset;
        self.place += weight * place;
        self.moment += outer(weight * offset, offset);
        self.mixed += outer(weight * place, offset);
    }

    /// Slope of the places around their mean.
    fn slope(&self) -> Mat3 {
        let (offset, place) = (self.offset / self.weight, self.place / self.weight);
        let moment = self.moment * (1.0 / self.weight) - outer(offset, offset);
        let mixed = self.mixed * (1.0 / self.weight) - outer(place, offset);
        bounded(mixed, moment)
    }
}

/// a bᵀ.
fn outer(a: Vec3, b: Vec3) -> Mat3 {
    Mat3::from_cols(a * b.x, a * b.y, a * b.z)
}

/// The slope that fits moments best, bounded.
fn bounded(mixed: Mat3, moment: Mat3) -> Mat3 {
    let lean = LEAN * (moment.x_axis.x + moment.y_axis.y + moment.z_axis.z);
    if !(lean > 0.0 && lean.is_finite()) {
        return Mat3::ZERO;
    }
    let slope = mixed * (moment + Mat3::from_diagonal(Vec3::splat(lean))).inverse();
    let norm = slope.to_cols_array().iter().map(|x| x * x).sum::<f32>().sqrt();
    if norm.is_finite() { slope * (STEEPEST / norm.max(STEEPEST)) } else { Mat3::ZERO }
}

/// How the place at rest changes along the surface around a surfel, from those it sees (offsets and numbers).
pub(super) fn slope_around(e: &Element, spacing: f32, seen: &[(Vec3, u32)], elements: &[Element]) -> Mat3 {
    let (mut moment, mut mixed) = (Mat3::ZERO, Mat3::ZERO);
    for &(offset, j) in seen {
        let other = &elements[j as usize];
        let way = other.reference - e.reference;
        if other.source == e.source && way.length_squared() < (SEAM * spacing).powi(2) {
            let flat = offset - e.normal * e.normal.dot(offset);
            moment += outer(flat, flat);
            mixed += outer(way, flat);
        }
    }
    bounded(mixed, moment)
}

impl Element {
    /// Goes on along the surface by a way [m] on which its place at rest has a slope.
    pub(super) fn slide(&mut self, way: Vec3, slope: Mat3, paints: &[Option<Paint>]) {
        if self.source != NONE && way != Vec3::ZERO {
            self.reference += slope * way;
            self.repaint(paints);
        }
    }

    fn repaint(&mut self, paints: &[Option<Paint>]) {
        if let Some(Some(paint)) = paints.get(self.source as usize) {
            let [r, g, b] = paint(self.reference);
            self.color = [r, g, b, 0];
        }
    }
}

impl FlowingSurface {
    /// Paints a new surfel: with the color of the inside of the body where that has just been laid open, else as the surface
    /// around goes on, else like `parent`.
    pub(super) fn paint(&self, e: &mut Element, parent: Option<&Element>, cover: &Cover, paints: &[Option<Paint>]) {
        let own = self.joined.iter().find(|j| j.body == e.body);
        let mark = &self.marks[e.host as usize];
        // Elsewhere a surfel that fills a pore between painted ones belongs to them.
        let inside = mark.reference < INSIDE;
        let alone = || !self.painted_near(e, cover);
        let open = if parent.is_none() { mark.fresh > 0 || (inside && alone()) } else { mark.fresh > 0 && inside };
        if let Some(joined) = own.filter(|j| open && j.inner[3] != 0) {
            (e.color, e.source) = (joined.inner, NONE);
            return;
        }
        let near = parent.copied().or_else(|| cover.nearest(e.position).map(|j| self.elements[j]));
        let Some(near) = near else {
            (e.color, e.source) = (own.map_or([128, 128, 128, 0], |j| j.color), NONE);
            return;
        };
        (e.color, e.source, e.reference) = (near.color, near.source, near.reference);
        if self.is_followed(e.source) {
            e.reference = self.reference_at(e, cover);
            e.repaint(paints);
        }
    }

    /// Whether it is of interest where surface of a body at rest goes; false for `NONE`.
    pub(super) fn is_followed(&self, source: u32) -> bool {
        self.scratch.followed.get(source as usize) == Some(&true)
    }

    /// Whether surface that comes from somewhere is beside a new surfel.
    fn painted_near(&self, e: &Element, cover: &Cover) -> bool {
        let mut found = false;
        cover.near(&self.elements, e.position, BESIDE * self.spacing(e.body), |j, _| {
            found |= j < cover.painted && self.elements[j as usize].source != NONE;
        });
        found
    }

    /// Where surface at a new surfel comes from: as the places of those around go on there. Its own is a first guess.
    fn reference_at(&self, e: &Element, cover: &Cover) -> Vec3 {
        let spacing = self.spacing(e.body);
        let reach = super::look::SEEN * spacing;
        let mut fit = Fit::default();
        cover.near(&self.elements, e.position, reach, |j, offset| {
            let other = &self.elements[j as usize];
            let way = other.reference - e.reference;
            let same =
                j < cover.painted && other.source == e.source && other.normal.dot(e.normal) > super::look::SAME_SIDE;
            if same && way.length_squared() < (SEAM * spacing).powi(2) {
                let w = 1.0 - offset.length_squared() / (reach * reach);
                fit.add(w * w, offset - e.normal * e.normal.dot(offset), way);
            }
        });
        if fit.weight <= 0.0 {
            return e.reference;
        }
        let mean = fit.place / fit.weight;
        e.reference + mean - fit.slope() * (fit.offset / fit.weight)
    }
}
