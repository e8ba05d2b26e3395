//! The contact surface of [MKN04] 5.2.3: flowing matter takes the print of molds, far finer than its points.
//!
//! A surfel that has entered a mold is put on the mold's surface and takes its normal. One that is near is drawn to it where the
//! matter has come to the wall: points cannot fill relief finer than their spacing, and surfels that only happen to cross would
//! leave it empty. The way there is taken in steps, so that no crack opens at the front. While it touches, the implicit surface
//! has no say over a surfel; once the matter is solid the print is its detail and moves with it.

use super::resample::Cover;
use super::{Element, FlowingSurface, NONE};
use glam::{DVec3, Vec3};
use rayon::prelude::*;

/// Farthest that a surfel inside a mold is led out, and that a point may be off the wall for its surfels to be drawn there
/// [spacings].
const FARTHEST: f64 = 1.0;
/// Surfels nearer than this are drawn to the wall, those nearer by `FULL` wholly [spacings].
const WETTING: f64 = 0.6;
const FULL: f64 = 0.3;
/// A step along the distance from nearer than this needs no other one [of the farthest way].
const NEAR: f64 = 0.02;
/// What is deeper in a mold than this is not on the surface of another [spacings].
const INSIDE: f64 = 0.05;
/// Surfels farther than this from all points are not held by a mold [spacings].
const LEFT: f64 = 1.6;
/// Longest step toward the wall in a frame [spacings].
const STEP: f64 = 0.12;
/// Surface grows along a mold only this near to a point at the wall [spacings] ...
const BACKED: f64 = 1.15;
/// ... and where no surfel lies beneath, that is on its way there, within this depth [spacings] and this far aside [surfel
/// spacings].
const BENEATH: f64 = 0.7;
const ASIDE: f32 = 1.0;

/// Signed distance [m], positive outside of the mold, and unit outward normal at a place [m].
pub type Probe<'a> = &'a (dyn Fn(DVec3) -> (f64, DVec3) + Sync);

/// A mold whose print flowing matter takes.
#[derive(Clone, Copy)]
pub struct Mold<'a> {
    /// Its signed distance and normal.
    pub probe: Probe<'a>,
}

impl FlowingSurface {
    /// Distance of each member to each mold [m]; infinite where it does not matter.
    pub(super) fn approach(&mut self, molds: &[Mold]) {
        let s = &self.scratch;
        let near = molds.iter().map(|mold| {
            let one = |i: usize| if s.detailed[i] { (mold.probe)(s.positions[i]).0 } else { f64::INFINITY };
            (0..s.positions.len()).into_par_iter().with_min_len(32).map(one).collect()
        });
        self.scratch.walls = near.collect();
    }

    /// Puts surfels on the molds that they touch.
    pub(super) fn press(&mut self, molds: &[Mold]) {
        let (s, marks) = (&self.scratch, &self.marks);
        if marks.is_empty() {
            return;
        }
        let all = self.elements.par_iter_mut().with_min_len(super::carry::CHUNK);
        all.filter(|e| e.origin == NONE).for_each(|e| {
            let h = e.host as usize;
            // What is solid keeps its print wherever the mold goes.
            if !s.detailed[h] || !marks[h].is_flowing() {
                e.contact = 0.0;
                return;
            }
            let spacing = s.spacings[h];
            // Where the matter has left the wall nothing stays behind.
            if e.position.as_dvec3().distance_squared(s.positions[h]) > (LEFT * spacing).powi(2) {
                e.contact = 0.0;
                return;
            }
            let mut contact = 0f32;
            for (mold, walls) in molds.iter().zip(&s.walls) {
                if walls[h] < (FARTHEST + WETTING) * spacing {
                    contact = contact.max(press(e, mold, walls[h], spacing));
                }
            }
            e.contact = contact;
        });
    }

    /// A surfel like its parent near another place on the mold that it touches, if matter stands behind it there.
    pub(super) fn place_on_mold(
        &self,
        parent: &Element,
        place: Vec3,
        molds: &[Mold],
        cover: &Cover,
    ) -> Option<(Vec3, Vec3, u32)> {
        let s = &self.scratch;
        let spacing = s.spacings.get(parent.host as usize).copied()?;
        let mut best: Option<(DVec3, DVec3, f64, usize)> = None;
        for (k, mold) in molds.iter().enumerate() {
            let Some((p, normal)) = on_mold(mold, place.as_dvec3(), WETTING * spacing) else { continue };
            let moved = p.distance(place.as_dvec3());
            if best.is_none_or(|b| moved < b.2) {
                best = Some((p, normal, moved, k));
            }
        }
        let (p, normal, _, mold) = best?;
        // Where two molds meet, the surface of one ends in the other.
        if molds.iter().any(|other| (other.probe)(p).0 < -INSIDE * spacing) {
            return None;
        }
        let host = s.field.nearest_within(p, s.labels[parent.host as usize], BACKED * spacing)?;
        if s.walls[mold][host as usize] > FARTHEST * spacing {
            return None;
        }
        let (p, normal) = (p.as_vec3(), -normal.as_vec3());
        let aside = ASIDE * self.spacing(parent.body);
        let mut beneath = false;
        cover.near(&self.elements, p, (BENEATH * spacing) as f32, |j, offset| {
            let e = &self.elements[j as usize];
            let across = offset - normal * normal.dot(offset);
            beneath |= e.contact < 1.0 && e.normal.dot(normal) > 0.0 && across.length() < aside;
        });
        (!beneath).then_some((p, normal, host))
    }
}

/// Presses a surfel on a mold; returns how much it touches, 0 ..= 1.
fn press(e: &mut Element, mold: &Mold, wall: f64, spacing: f64) -> f32 {
    let p = e.position.as_dvec3();
    let (distance, normal) = (mold.probe)(p);
    let near = (WETTING * spacing - distance) / (FULL * spacing);
    if near <= 0.0 || distance < -FARTHEST * spacing || (distance > 0.0 && wall > FARTHEST * spacing) {
        return 0.0;
    }
    let t = near.min(1.0);
    let share = t * t * (3.0 - 2.0 * t);
    let free = e.contact >= 1.0 || distance < 0.0;
    let whole = free || distance < STEP * spacing;
    if share >= 1.0
        && whole
        && let Some((p, normal)) = lead(mold, p, (distance, normal), FARTHEST * spacing)
    {
        (e.position, e.normal) = (p.as_vec3(), -normal.as_vec3());
        turn_axes(e);
        return 1.0;
    }
    let step = (share * distance).clamp(-FARTHEST * spacing, STEP * spacing);
    e.position = (p - step * normal).as_vec3();
    let part = (step / distance.max(1e-9 * spacing)).clamp(0.0, 1.0) as f32;
    let blended = e.normal + part * (-normal.as_vec3() - e.normal);
    e.normal = blended.try_normalize().unwrap_or(e.normal);
    turn_axes(e);
    // Not yet on the wall: the implicit surface must not take it back.
    0.5
}

/// The place on a mold next to `p`, and the mold's normal there; None if it is farther than `farthest` [m].
fn on_mold(mold: &Mold, p: DVec3, farthest: f64) -> Option<(DVec3, DVec3)> {
    lead(mold, p, (mold.probe)(p), farthest)
}

/// The same from what is known at `p`.
fn lead(mold: &Mold, p: DVec3, (mut distance, mut normal): (f64, DVec3), farthest: f64) -> Option<(DVec3, DVec3)> {
    let mut x = p - distance * normal;
    // Distances of smooth combinations are not exact far off: some steps more get there.
    for _ in 0..3 {
        if distance.abs() < NEAR * farthest {
            break;
        }
        (distance, normal) = (mold.probe)(x);
        x -= distance * normal;
    }
    (x.is_finite() && x.distance(p) <= farthest).then_some((x, normal))
}

/// Turns the axes into the plane across the normal, of the lengths that they have.
fn turn_axes(e: &mut Element) {
    let n = e.normal;
    let flat = |a: Vec3| (a - n * n.dot(a)).try_normalize();
    let (long_u, long_v) = (e.axis_u.length(), e.axis_v.length());
    let u = flat(e.axis_u).unwrap_or_else(|| n.any_orthonormal_vector());
    let v = flat(e.axis_v).filter(|v| v.dot(u).abs() < 0.9).unwrap_or(n.cross(u));
    (e.axis_u, e.axis_v) = (u * long_u, v * long_v);
}
