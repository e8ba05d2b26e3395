//! Where a crack goes: its direction from the fitted tensors, and where it meets an edge or another crack.

use super::body::Shell;
use super::cracks::{NONE, Piece, Tip};
use super::fit::Fit;
use super::fracture::FractureLaw;
use super::network::{Network, frame};
use crate::linalg::outer;
use crate::neighbors::Grid;
use glam::{DMat3, DVec3};

/// Length of a new piece, in spacings.
pub(super) const ADVANCE: f64 = 1.0;
/// How far around a place tensors are looked at, in spacings.
const VIEW: f64 = 2.2;
/// How far before a tip they count most, in spacings.
const AHEAD: f64 = 1.0;
/// Width of the view, in spacings.
const WIDTH: f64 = 1.0;
/// Width of the view at a node itself, in spacings.
const NODE_WIDTH: f64 = 1.5;
/// Sharpest turn of a crack [degrees], and the step in which directions are tried.
const MOST_TURN: i32 = 65;
const TURN_STEP: i32 = 5;
/// Part of its pull that a direction at right angles would lose: cracks run on straight where they may.
const STRAIGHT: f64 = 0.3;
/// Where the strength ahead is looked at, and how wide, in spacings: narrower than a path of weak nodes.
const STRENGTH_AHEAD: [f64; 3] = [0.75, 1.25, 1.75];
const STRENGTH_WIDTH: f64 = 0.5;
/// Strength below which a place leads a crack no more than this.
const LEAST_STRENGTH: f64 = 0.05;
/// A crack goes straight to an edge or another crack that is nearer than this, in spacings.
const SIGHT: f64 = 1.1;
/// How far a crack reaches beyond the edge, and beyond another crack, in spacings.
const BEYOND_EDGE: f64 = 0.6;
const BEYOND_CRACK: f64 = 0.1;
/// How far around a new crack nodes are counted, in spacings.
const SIDE: f64 = 3.0;
/// Step in which edges are looked for, in spacings.
const LOOK_STEP: f64 = 0.1;

/// Elastic strain and change of curvature at a node, as tensors at rest.
struct Sample {
    at: DVec3,
    strain: DMat3,
    curvature: DMat3,
    /// In that of the material.
    strength: f64,
}

/// The surface that cracks run on.
pub(super) struct Ground<'a> {
    pub shell: &'a Shell,
    /// The network before any crack.
    pub whole: &'a Network,
    pub grid: &'a Grid,
    pub pieces: &'a [Piece],
    pub law: &'a FractureLaw,
    /// Strength of each node in that of the material, by which the artist leads cracks.
    pub strengths: &'a [f64],
    /// Distance of the nodes [m].
    pub h: f64,
}

/// Where directions are compared: so far ahead and so wide, in spacings, and turned so far [degrees].
#[derive(Clone, Copy)]
struct View {
    lead: f64,
    width: f64,
    turns: i32,
}

/// Tensors around a place.
pub(super) struct Field(Vec<Sample>);

impl Ground<'_> {
    /// Whether a crack lies between two places.
    pub fn separated(&self, a: DVec3, b: DVec3) -> bool {
        self.pieces.iter().any(|p| p.disc.separates(a, b))
    }

    /// Unit normal of the surface at a place.
    pub fn up(&self, p: DVec3) -> DVec3 {
        let mut sum = DVec3::ZERO;
        let radius = 1.2 * self.h;
        self.grid.for_each_within(p, radius, |i, r2| {
            sum += (1.0 - r2 / (radius * radius)) * self.shell.nodes.normals[i];
        });
        let nearest = || self.grid.nearest(p).map_or(DVec3::Y, |(i, _)| self.shell.nodes.normals[i]);
        sum.try_normalize().unwrap_or_else(nearest)
    }

    /// Number of nodes around a place on the side of a line through it that has fewer, by the vector across the line.
    pub fn least_side(&self, p: DVec3, across: DVec3) -> usize {
        let mut sides = [0, 0];
        self.grid.for_each_within(p, SIDE * self.h, |i, _| {
            sides[usize::from((self.shell.nodes.positions[i] - p).dot(across) > 0.0)] += 1;
        });
        sides[0].min(sides[1])
    }

    /// The place moved along the normals onto the surface.
    fn settle(&self, p: DVec3) -> DVec3 {
        let (mut sum, mut weight) = (DVec3::ZERO, 0.0);
        let radius = 1.2 * self.h;
        self.grid.for_each_within(p, radius, |i, r2| {
            let (n, w) = (self.shell.nodes.normals[i], (1.0 - r2 / (radius * radius)).powi(2));
            sum += w * (p - self.shell.nodes.positions[i]).dot(n) * n;
            weight += w;
        });
        if weight > 0.0 { p - sum / weight } else { p }
    }

    /// Whether a place lies beyond the edge that the shell had before any crack.
    fn is_outside(&self, p: DVec3) -> bool {
        let Some((i, distance2)) = self.grid.nearest(p) else { return true };
        if distance2 > 4.0 * self.h * self.h {
            return true;
        }
        let list = self.whole.neighbors_of(i);
        let (Some(&first), Some(&last), false) = (list.first(), list.last(), self.whole.closed[i]) else {
            return list.is_empty();
        };
        let (e1, e2) = frame(self.shell.nodes.normals[i]);
        let angle = |d: DVec3| d.dot(e2).atan2(d.dot(e1));
        let x = &self.shell.nodes.positions;
        let turn = |from: f64, to: f64| (to - from).rem_euclid(std::f64::consts::TAU);
        let from = angle(x[first as usize] - x[i]);
        // The fan turns from the first neighbor to the last; the rest is outside.
        turn(from, angle(p - x[i])) > turn(from, angle(x[last as usize] - x[i])) && p.distance_squared(x[i]) > 0.0
    }

    /// Distance along `direction` at which the edge is crossed; None: not within `most`.
    fn edge_along(&self, from: DVec3, direction: DVec3, most: f64) -> Option<f64> {
        let steps = (most / (LOOK_STEP * self.h)).ceil() as usize;
        (1..=steps).map(|k| k as f64 * LOOK_STEP * self.h).find(|s| self.is_outside(self.settle(from + *s * direction)))
    }

    /// The nearest place ahead on another crack; None: not within sight.
    fn crack_ahead(&self, from: DVec3, direction: DVec3, own: &[u32]) -> Option<DVec3> {
        let mut best: Option<(f64, DVec3)> = None;
        for (k, piece) in self.pieces.iter().enumerate() {
            let at = piece.nearest(from);
            let (d, ahead) = (at - from, (at - from).dot(direction));
            let length = d.length();
            let near = length < SIGHT * self.h && ahead > 0.3 * length;
            if near && !own.contains(&(k as u32)) && best.is_none_or(|(l, _)| length < l) {
                best = Some((length, at));
            }
        }
        best.map(|(_, at)| at)
    }

    /// Where a crack ends that runs for `length` [m] from a place, and whether that is an edge or another crack.
    pub fn reach(&self, from: DVec3, direction: DVec3, length: f64, own: &[u32]) -> (DVec3, bool) {
        let up = self.up(from);
        let aside = up.cross(direction).normalize_or_zero();
        let turned = |degrees: f64| {
            let (sin, cos) = degrees.to_radians().sin_cos();
            cos * direction + sin * aside
        };
        // The shortest way to the edge, of a few directions; straight on it may be farther away.
        let mut edge: Option<(f64, DVec3)> = None;
        for degrees in [0.0, -25.0, 25.0, -50.0, 50.0] {
            let way = turned(degrees);
            let most = if degrees == 0.0 { length + SIGHT * 0.5 * self.h } else { SIGHT * self.h };
            if let Some(s) = self.edge_along(from, way, most)
                && edge.is_none_or(|(best, _)| s < 0.9 * best)
            {
                edge = Some((s, way));
            }
        }
        let crack = self.crack_ahead(from, direction, own);
        match (edge, crack) {
            (Some((s, _)), Some(at)) if from.distance(at) < s => (self.beyond(from, at), true),
            (None, Some(at)) => (self.beyond(from, at), true),
            (Some((s, way)), _) => (from + (s + BEYOND_EDGE * self.h) * way, true),
            (None, None) => (self.settle(from + length * direction), false),
        }
    }

    fn beyond(&self, from: DVec3, at: DVec3) -> DVec3 {
        at + BEYOND_CRACK * self.h * (at - from).normalize_or_zero()
    }

    /// Tensors around a place, of nodes that no crack hides.
    pub fn field(&self, p: DVec3) -> Field {
        let fits = [&self.shell.fitted.membrane.0, &self.shell.fitted.bending.0];
        let mut near: Vec<u32> = self.grid.within(p, VIEW * self.h);
        near.sort_unstable();
        let visible = |i: &&u32| !self.separated(p, self.shell.nodes.positions[**i as usize]);
        Field(near.iter().filter(visible).filter_map(|&i| self.sample(fits, i as usize)).collect())
    }

    fn sample(&self, fits: [&Fit; 2], i: usize) -> Option<Sample> {
        if !fits[0].covers(i) {
            return None;
        }
        let measured = self.shell.engine.measured(i);
        let range = self.shell.network.fiber_range(i);
        let (e1, e2) = frame(self.shell.nodes.normals[i]);
        let tensor = |kind: usize| {
            let plain = fits[kind].plain[range.clone()].iter();
            let [m, d, s] = plain.zip(&measured).map(|(q, x)| *q * x[kind]).sum::<DVec3>().to_array();
            (m + d) * outer(e1, e1) + (m - d) * outer(e2, e2) + s * (outer(e1, e2) + outer(e2, e1))
        };
        let curvature = if fits[1].covers(i) { tensor(1) } else { DMat3::ZERO };
        let (at, strength) = (self.shell.nodes.positions[i], self.strengths[i]);
        Some(Sample { at, strain: tensor(0), curvature, strength })
    }

    /// Direction in which a crack from a place opens most, of those that `turns` away from `straight` [degrees].
    fn best_direction(&self, field: &Field, from: DVec3, straight: DVec3, view: View) -> Option<(f64, DVec3)> {
        let up = self.up(from);
        let straight = (straight - straight.dot(up) * up).try_normalize()?;
        let aside = up.cross(straight);
        let View { lead, width, turns } = view;
        let mut best: Option<(f64, DVec3)> = None;
        for k in -turns / TURN_STEP..=turns / TURN_STEP {
            let (sin, cos) = f64::from(k * TURN_STEP).to_radians().sin_cos();
            let way = cos * straight + sin * aside;
            let across = up.cross(way);
            let pull = field.pull(self.law, from + lead * self.h * way, across, width * self.h)?;
            let bias = if lead > 0.0 { 1.0 - STRAIGHT * sin * sin } else { 1.0 };
            if best.is_none_or(|(most, _)| bias * pull > most) {
                best = Some((bias * pull, way));
            }
        }
        best
    }

    /// Direction in which a tip goes on.
    pub fn onward(&self, tip: &Tip) -> DVec3 {
        let field = self.field(tip.at + 0.2 * self.h * tip.direction);
        let view = View { lead: AHEAD, width: WIDTH, turns: MOST_TURN };
        let way = self.best_direction(&field, tip.at, tip.direction, view).map_or(tip.direction, |(_, way)| way);
        if field.is_alike() { way } else { self.led(&field, tip, way) }
    }

    /// The direction in which a crack that is driven along `driven` gives most energy for what its growth takes. Turned by an angle it
    /// gives cos⁴ of half of that ([CR80], opening mode), and what it takes goes with the square of the strength.
    fn led(&self, field: &Field, tip: &Tip, driven: DVec3) -> DVec3 {
        let up = self.up(tip.at);
        let Some(straight) = (tip.direction - tip.direction.dot(up) * up).try_normalize() else { return driven };
        let aside = up.cross(straight);
        let turned = |k: i32| {
            let (sin, cos) = f64::from(k * TURN_STEP).to_radians().sin_cos();
            cos * straight + sin * aside
        };
        let spare = |way: DVec3| {
            let half = 0.5 * way.angle_between(driven);
            let strengths =
                STRENGTH_AHEAD.map(|ahead| field.strength(tip, ahead * self.h * way, STRENGTH_WIDTH * self.h));
            half.cos().powi(4) / (strengths.iter().sum::<f64>() / 3.0).powi(2)
        };
        let ways = (-MOST_TURN / TURN_STEP..=MOST_TURN / TURN_STEP).map(turned);
        ways.fold((spare(driven), driven), |best, way| if spare(way) > best.0 { (spare(way), way) } else { best }).1
    }

    /// Direction in which a crack begins at a node, and how hard it is pulled apart across it, in parts of what the material bears;
    /// None where nothing is known.
    pub fn outset(&self, i: usize) -> Option<(f64, DVec3)> {
        let x = self.shell.nodes.positions[i];
        let view = View { lead: 0.0, width: NODE_WIDTH, turns: 90 };
        self.best_direction(&self.field(x), x, frame(self.shell.nodes.normals[i]).0, view)
    }
}

impl Field {
    /// How hard the surface is pulled apart across a line at a place, in parts of what it bears.
    fn pull(&self, law: &FractureLaw, at: DVec3, across: DVec3, width: f64) -> Option<f64> {
        let (mut sum, mut weights) = (0.0, 0.0);
        for sample in &self.0 {
            let weight = (-sample.at.distance_squared(at) / (width * width)).exp();
            // Stretch less 1, as fibers measure it.
            let stretch = (1.0 + 2.0 * across.dot(sample.strain * across)).max(0.0).sqrt();
            let strain = (stretch - 1.0) / law.tension;
            let bend = 0.5 * law.thickness * across.dot(sample.curvature * across).abs() / law.bending;
            sum += weight * (strain + bend);
            weights += weight;
        }
        (weights > 0.0).then(|| sum / weights)
    }

    /// Whether it is as strong everywhere.
    fn is_alike(&self) -> bool {
        self.0.windows(2).all(|w| w[0].strength == w[1].strength)
    }

    /// Strength so far ahead of a tip, in that of the material. What the tip has passed leads it no longer.
    fn strength(&self, tip: &Tip, ahead: DVec3, width: f64) -> f64 {
        let (mut sum, mut weights) = (0.0, 0.0);
        for sample in self.0.iter().filter(|s| (s.at - tip.at).dot(tip.direction) > 0.0) {
            let weight = (-sample.at.distance_squared(tip.at + ahead) / (width * width)).exp();
            sum += weight * sample.strength;
            weights += weight;
        }
        if weights > 0.0 { (sum / weights).max(LEAST_STRENGTH) } else { 1.0 }
    }
}

/// Newest pieces of a tip after one more.
pub(super) fn newer(recent: [u32; 3], piece: usize) -> [u32; 3] {
    [piece as u32, recent[0], recent[1]]
}

/// No pieces.
pub(super) const NO_PIECES: [u32; 3] = [NONE; 3];
