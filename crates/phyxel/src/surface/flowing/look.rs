//! What surfels see around them: how crowded they are, gaps beside them, edges of the surface.
//!
//! A gap is a place one spacing from a surfel with no other within 0.75; a surfel is crowded when another is within half a spacing: between the
//! two nothing happens, so that a surface at rest stays as it is.

use super::carry::CHUNK;
use super::cover::Cover;
use super::paint::slope_around;
use super::{Element, FlowingSurface, NONE};
use crate::random::Random;
use glam::{Mat3, Vec3, Vec4};
use rayon::prelude::*;

/// Surfels that act on one another are nearer than this [surfel spacings].
pub(super) const SEEN: f32 = 1.8;
/// Range and strength of the mutual push, and its bounds per frame [surfel spacings].
const PUSH: (f32, f32, f32, f32) = (1.5, 0.12, 0.02, 0.2);
/// Half-axes [of the distance to the sixth nearest, at least one surfel spacing] where the surface is flat or hollow, and where it is round;
/// what covers a plane well (0.9) leaves slits where the surface is saddled, seen at grazing angles, but larger discs stand over round edges.
const REACH: (f32, f32) = (1.0, 0.9);
/// How far others lie behind the plane of a surfel where the surface counts as flat, and as round [surfel spacings, one spacing away].
const ROUNDNESS: (f32, f32) = (0.05, 0.15);
/// Longest half-axis [surfel spacings].
const WIDEST: f32 = 1.6;
/// Steps in the relief of a mold from this height on are covered [surfel spacings].
const RISE: f32 = 0.6;
/// Directions in which a surfel looks for a gap.
const LOOKS: usize = 7;
/// Normals of the same side of a surface have at least this cosine.
pub(super) const SAME_SIDE: f32 = 0.3;
/// Nearer ones are crowded.
pub(super) const CROWDED: f32 = 0.5;
/// A new surfel has this much room.
pub(super) const ROOM: f32 = 0.75;
/// Cosines and sines of the angles from the first of them; the last lane repeats it.
const TURNS: ([Vec4; 2], [Vec4; 2]) = (
    [Vec4::new(1.0, 0.623_489_8, -0.222_520_9, -0.900_968_9), Vec4::new(-0.900_968_9, -0.222_520_9, 0.623_489_8, 1.0)],
    [Vec4::new(0.0, 0.781_831_5, 0.974_927_9, 0.433_883_7), Vec4::new(-0.433_883_7, -0.974_927_9, -0.781_831_5, 0.0)],
);

/// What a surfel sees around it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Around {
    /// Step away from the others [m].
    pub push: Vec3,
    /// How the place at rest changes along the surface.
    pub slope: Mat3,
    /// Half-axis that closes the surface [m].
    pub radius: f32,
    /// Unit direction across the nearest edge, and how far it is [m]; zero where there is none.
    pub edge: (Vec3, f32),
    /// Distance to the nearest [m], and which it is.
    pub nearest: (f32, u32),
    /// Places of gaps [m].
    pub gaps: [Option<Vec3>; 2],
    /// Whether it was on a mold.
    pub touched: bool,
}

impl FlowingSurface {
    /// What each surfel sees.
    pub(super) fn look_around(&self, cover: &Cover) -> Vec<Around> {
        let all = (0..self.elements.len()).into_par_iter().with_min_len(CHUNK);
        all.map_init(<(Vec<(Vec3, u32)>, Vec<Vec3>)>::default, |(seen, offsets), i| {
            let e = &self.elements[i];
            // Those that have all their detail are not moved, and have no gaps to fill.
            let whole = e.blend == 0.0 && e.contact == 0.0 && self.scratch.detailed.get(e.host as usize) == Some(&true);
            if e.origin != NONE || whole {
                return Around::default();
            }
            let (spacing, own) = (self.spacing(e.body), self.label(e));
            let free = e.blend >= 1.0 || e.contact >= 1.0;
            let mut edge = (Vec3::ZERO, SEEN * spacing);
            seen.clear();
            offsets.clear();
            cover.for_each_spot(e.position, SEEN * spacing, |j, spot, offset| {
                if j == i as u32 || spot.label != own {
                    return;
                }
                offsets.push(offset);
                if spot.normal.dot(e.normal) > SAME_SIDE {
                    seen.push((offset, j));
                } else if e.contact == 0.0 || !spot.touches {
                    // On a mold only the rim of the matter is an edge: steep relief has more of them than surfels could follow.
                    edge = nearer_edge(edge, e, spot.normal, offset, spacing);
                }
            });
            let slope = if free && self.is_followed(e.source) {
                slope_around(e, spacing, seen, &self.elements)
            } else {
                Mat3::ZERO
            };
            let touched = e.contact >= 1.0;
            let mut around = Around { slope, edge, touched, ..look(e, spacing, seen) };
            if e.contact >= 1.0 && around.gaps[1].is_none() {
                around.gaps[1] = riser(e, spacing, seen, offsets);
            }
            around
        })
        .collect()
    }
}

/// What a surfel makes of those it sees (offsets and numbers).
pub(super) fn look(e: &Element, spacing: f32, seen: &[(Vec3, u32)]) -> Around {
    let (range, strength, least, most) = PUSH;
    let mut push = Vec3::ZERO;
    // Distances to the six nearest, ascending.
    let mut six = [SEEN * spacing; 6];
    let mut nearest = (f32::INFINITY, NONE);
    let mut round = 0f32;
    for &(offset, j) in seen {
        let r = offset.length();
        if r < nearest.0 || (r == nearest.0 && j < nearest.1) {
            nearest = (r, j);
        }
        round = round.max(-e.normal.dot(offset) * spacing / (r * r + CROWDED * CROWDED * spacing * spacing));
        let mut longer = r;
        for slot in &mut six {
            (*slot, longer) = (slot.min(longer), slot.max(longer));
        }
        if r < range * spacing {
            push -= offset / r.max(1e-3 * spacing) * (1.0 - r / (range * spacing));
        }
    }
    push = (push - e.normal * e.normal.dot(push)) * strength * spacing;
    push = if push.length() < least * spacing { Vec3::ZERO } else { push.clamp_length_max(most * spacing) };
    let part = ((round - ROUNDNESS.0) / (ROUNDNESS.1 - ROUNDNESS.0)).clamp(0.0, 1.0);
    let reach = REACH.0 + part * (REACH.1 - REACH.0);
    let radius = (reach * six[5].max(spacing)).min(WIDEST * spacing);
    Around { push, radius, nearest, gaps: gaps(e, spacing, seen), ..Around::default() }
}

/// The nearer one of a known edge and the one at which the plane of another surfel cuts that of this one. Only where the surface
/// is convex: there discs would stand over.
fn nearer_edge(known: (Vec3, f32), e: &Element, normal: Vec3, offset: Vec3, spacing: f32) -> (Vec3, f32) {
    let across = normal - e.normal * e.normal.dot(normal);
    let slant = across.length();
    let behind = normal.dot(offset);
    // The other must lie behind this one's plane too; opposite sides of a sheet have no edge.
    if slant < 0.5 || behind < -0.2 * spacing || e.normal.dot(offset) > 0.2 * spacing {
        return known;
    }
    let way = behind.max(0.0) / slant;
    if way < known.1 { (across / slant, way) } else { known }
}

/// Up to two places, one spacing away, with no surfel near.
fn gaps(e: &Element, spacing: f32, seen: &[(Vec3, u32)]) -> [Option<Vec3>; 2] {
    let (x, y) = e.normal.any_orthonormal_pair();
    let start = Random::new(0x9a95, u64::from(e.id)).unit() as f32;
    let (sin, cos) = (std::f32::consts::TAU * start).sin_cos();
    // The places in the plane of the surfel, all at once; the last lane repeats the first.
    let ([c0, c1], [s0, s1]) = TURNS;
    let ways_x = [spacing * (cos * c0 - sin * s0), spacing * (cos * c1 - sin * s1)];
    let ways_y = [spacing * (sin * c0 + cos * s0), spacing * (sin * c1 + cos * s1)];
    let mut open = (1 << LOOKS) - 1;
    for &(offset, _) in seen {
        let rise = e.normal.dot(offset);
        // What lies a little above or below is where a new one would come to lie.
        let rise = if rise.abs() < RISE * spacing { 0.0 } else { rise };
        let room = Vec4::splat(ROOM * ROOM * spacing * spacing - rise * rise);
        let (along, across) = (Vec4::splat(x.dot(offset)), Vec4::splat(y.dot(offset)));
        let free = |k: usize| {
            let (u, v) = (ways_x[k] - along, ways_y[k] - across);
            (u * u + v * v).cmpgt(room).bitmask()
        };
        open &= free(0) | free(1) << 4;
        if open == 0 {
            return [None; 2];
        }
    }
    let mut next = || {
        let k = (open != 0).then(|| open.trailing_zeros() as usize)?;
        open &= open - 1;
        Some(e.position + ways_x[k / 4][k % 4] * x + ways_y[k / 4][k % 4] * y)
    };
    [next(), next()]
}

/// The middle of a step in the relief of a mold that no surfel covers: between a surfel and one of the same side above or below it.
fn riser(e: &Element, spacing: f32, seen: &[(Vec3, u32)], offsets: &[Vec3]) -> Option<Vec3> {
    let bare = |offset: &Vec3| {
        let (rise, middle) = (e.normal.dot(*offset).abs(), 0.5 * *offset);
        let room = CROWDED * CROWDED * spacing * spacing;
        rise > RISE * spacing && offsets.iter().all(|o| (*o - middle).length_squared() > room)
    };
    seen.iter().map(|s| s.0).find(bare).map(|offset| e.position + 0.5 * offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytemuck::Zeroable;

    /// Half-axis of a surfel at the top of a surface of points at distances of one, z = bend · (x² + side · y²).
    fn half_axis(bend: f32, side: f32) -> f32 {
        let e = Element { normal: Vec3::Z, ..Element::zeroed() };
        let ring = |k: u32| glam::Vec2::from_angle(k as f32 * std::f32::consts::TAU / 6.0);
        let seen: Vec<(Vec3, u32)> = (0..6)
            .map(|k| {
                let o = ring(k);
                (Vec3::new(o.x, o.y, bend * (o.x * o.x + side * o.y * o.y)), k)
            })
            .collect();
        look(&e, 1.0, &seen).radius
    }

    #[test]
    fn discs_are_larger_where_they_do_not_stand_over() {
        assert!((half_axis(0.0, 1.0) - REACH.0).abs() < 1e-6, "flat");
        assert!(half_axis(0.3, 1.0) >= REACH.0, "hollow");
        assert!(half_axis(-0.3, 1.0) < 0.95 && half_axis(-0.3, 1.0) >= REACH.1, "round");
        assert!(half_axis(0.3, -1.0) < 0.98, "a saddle has an edge to stand over");
    }
}
