//! Walls as matter: a collider fills the part of a point's neighborhood that lies behind its face.
//!
//! Without it the layer at a wall sees half a neighborhood, takes in too many points and the pool sinks. The density is the
//! kernel integrated over the half-space behind the face, made twice as steep where the first layer rests: in matter that layer
//! would be held by its own pressure and by that of the layer below, which a wall does not have. The force is the exact gradient,
//! so that walls never feed energy; mirroring the pressure instead would.
//! Where several colliders meet, what lies behind two of them counts once: for faces at right angles the overlap of the two
//! integrals is nearly their product.

use super::kernel::{SUPPORT, WallTable};
use super::search::CHUNK;
use crate::contact::{Collider, Colliders};
use crate::neighbors::Grid;
use glam::DVec3;
use rayon::prelude::*;

/// How far around a point the slope of the distance is measured, in spacings. In a corner the nearest face changes at a
/// line; a slope that jumps there would throw points to and fro.
const BLUR: f64 = 0.25;
/// Distances may grow a little faster than the way that is gone where they are not exact.
const LIPSCHITZ: f64 = 1.05;
/// Nearest that a wall drags, in spacings.
const LEAST_GAP: f64 = 0.25;

/// A slot near a collider.
#[derive(Debug, Clone, Copy)]
pub(super) struct Touch {
    pub slot: u32,
    pub collider: u32,
    /// Gradient of the density the wall adds [1/H].
    pub gradient: DVec3,
    /// The density it adds.
    pub density: f64,
    /// Outward normal of the face, shorter where two faces are equally near.
    normal: DVec3,
    /// Velocity of the wall there [m/s].
    pub velocity: DVec3,
    /// Drag over dynamic viscosity and volume [1/m²]; 0 where the liquid slips.
    pub drag: f64,
}

impl Touch {
    /// Part of a velocity that the wall drags: what is along the face.
    pub fn along(&self, velocity: DVec3) -> DVec3 {
        let v = velocity - self.velocity;
        v - self.normal * self.normal.dot(v)
    }
}

/// Lengths and what they are made from.
pub(super) struct Reach<'a> {
    pub table: &'a WallTable,
    /// Support radius [m].
    pub support: f64,
    /// Half-space integral that counts as it is.
    pub share: f64,
    /// Rest density of the kernel sums.
    pub rest_density: f64,
    /// Time step [s].
    pub dt: f64,
}

/// Slots that feel a wall, ascending.
pub(super) fn find(
    grid: &Grid,
    slots: usize,
    position: impl Fn(usize) -> DVec3 + Sync,
    colliders: &Colliders,
    reach: &Reach,
) -> Vec<Touch> {
    let active: Vec<(usize, &Collider)> = colliders.list.iter().enumerate().filter(|(_, c)| c.active).collect();
    let chunk = |c: usize| {
        let mut found = Vec::new();
        let (mut slot, end) = (c * CHUNK, ((c + 1) * CHUNK).min(slots));
        while slot < end {
            let cell = grid.cell(grid.position(slot));
            let same = (slot..end).take_while(|&s| grid.cell(grid.position(s)) == cell).count();
            // Far cells are passed over as a whole.
            let middle = grid.position(slot);
            let far = (reach.support + 1.74 * grid.cell_edge()) * LIPSCHITZ;
            for &(k, collider) in &active {
                if collider.bounds().grown(far).contains(middle) && collider.distance(middle) < far {
                    let range = slot..slot + same;
                    found.extend(range.filter_map(|s| touch(s, k, collider, position(s), reach)));
                }
            }
            slot += same;
        }
        found.sort_unstable_by_key(|t: &Touch| (t.slot, t.collider));
        count_overlaps_once(&mut found);
        found
    };
    let chunks: Vec<Vec<Touch>> = (0..slots.div_ceil(CHUNK)).into_par_iter().map(chunk).collect();
    chunks.concat()
}

fn touch(slot: usize, k: usize, collider: &Collider, at: DVec3, reach: &Reach) -> Option<Touch> {
    let spacing = reach.support / SUPPORT;
    // As it is at the end of the step.
    let distance = collider.distance(at);
    let velocity = if collider.is_still() { DVec3::ZERO } else { collider.velocity_at(at) };
    if distance > reach.support + velocity.length() * reach.dt {
        return None;
    }
    let step = BLUR * spacing;
    let along = |axis: DVec3| collider.distance(at + axis * step) - collider.distance(at - axis * step);
    let normal = DVec3::new(along(DVec3::X), along(DVec3::Y), along(DVec3::Z)) / (2.0 * step);
    let distance = distance + normal.dot(velocity) * reach.dt;
    let (behind, plane) = reach.table.at(distance / reach.support);
    // Squared: as dense as the lattice half a layer away, and twice as steep there.
    let steep = 2.0 * behind * plane / reach.share;
    if plane <= 0.0 && behind < 0.5 * reach.rest_density {
        return None;
    }
    let sticks = if collider.friction > 0.0 { 1.0 } else { 0.0 };
    Some(Touch {
        slot: slot as u32,
        collider: k as u32,
        gradient: normal * (-steep / reach.rest_density),
        density: behind * behind / (reach.share * reach.rest_density),
        normal,
        velocity,
        // Of all that is near a face the weights 2 V plane add up to its area.
        drag: sticks * 2.0 * plane / (reach.support * distance.max(LEAST_GAP * spacing)),
    })
}

/// What lies behind two faces is counted once.
fn count_overlaps_once(touches: &mut [Touch]) {
    let mut rest = touches;
    while let Some(first) = rest.first() {
        let slot = first.slot;
        let count = rest.iter().take_while(|t| t.slot == slot).count();
        let (group, tail) = rest.split_at_mut(count);
        if count > 1 {
            let before: Vec<Touch> = group.to_vec();
            for (a, touch) in group.iter_mut().enumerate() {
                let shared: f64 = before
                    .iter()
                    .enumerate()
                    .filter(|(b, _)| *b != a)
                    .map(|(_, o)| (1.0 + touch.normal.dot(o.normal)).max(0.0) * o.density)
                    .sum();
                // Both lose half of the density; of the gradient each loses its part of the product.
                touch.density *= (1.0 - 0.5 * shared).max(0.0);
                touch.gradient *= (1.0 - shared).max(0.0);
            }
        }
        rest = tail;
    }
}
