//! Who is near whom now, and which of the near belong to the same piece of matter.
//!
//! Lists are built on present positions with a margin and kept for a few steps. A pair within the support radius is
//! *linked* (it may exchange stress, pressure and heat) when
//!
//! ```text
//! pieces differ:  r < 1.2 a, one melted      same piece:  r < 1.5 a, or some k with |ik|, |kj| < 1.5 a
//! ```
//!
//! The two-step rule lets all neighbors of a filled region through, but not the other side of a gap; joining at a shorter
//! distance than parting is the hysteresis. Pairs that are not linked and not bonded only push each other away.
//!
//! Melted points of one piece *flow together* whether they are linked or not. In disordered melt many pairs near the end of
//! the support have no third point between them, and the rule would take them in and leave them out as that point comes
//! and goes: each time density and forces jump, and the jumps feed motion (a drop without viscosity gained a quarter of its
//! energy in two seconds, and pools trembled).

use super::lanes::LANES;
use super::travel::Travel;
use crate::neighbors::{Grid, Linker, Matter, Neighborhoods, TOUCH_REACH};
use glam::DVec3;
use rayon::prelude::*;

/// Support radius over spacing.
pub(crate) const SUPPORT: f64 = 2.33;
/// Lists reach this many spacings beyond the support, and hold while near points move less than that against each other.
const MARGIN: f64 = 0.4;
/// Farthest that any two points move against each other meanwhile, in spacings: those of different pieces that were not seen
/// to be near do not touch.
const STRAY: f64 = SUPPORT + MARGIN - TOUCH_REACH;
/// Steps after which lists are built again in any case: links and pieces must not be older.
const LIFETIME: u32 = 10;
/// Points per parallel task.
pub(crate) const CHUNK: usize = 128;

/// What a point is to the flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Kind {
    /// Of a body that does not take part: only touched.
    #[default]
    Foreign,
    /// Solid, all linked neighbors solid.
    Solid,
    /// Solid with melt beside it: it also carries a melt stencil.
    Skin,
    /// Melted.
    Melted,
}

impl Kind {
    /// Whether it has a melt stencil.
    pub fn flows(self) -> bool {
        matches!(self, Self::Skin | Self::Melted)
    }
}

/// Lists of near points in cell order ("slots"), valid for a few steps.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    /// Point of each slot.
    pub points: Vec<u32>,
    /// Slot of each point; `u32::MAX` where it has none.
    pub slots: Vec<u32>,
    /// Kind of each slot.
    pub kinds: Vec<Kind>,
    /// Spacing of each slot [m].
    pub sizes: Vec<f64>,
    /// Linked slots of each slot.
    pub linked: Neighborhoods,
    /// Slots that flow together with each slot: the linked ones, and melt of its piece.
    pub flowing: Neighborhoods,
    /// Those of them that matter, for eight slots at a time.
    pub blocks: Blocks,
    /// Slots that only push, nearer than the spacing and the margin.
    pub apart: Neighborhoods,
    labels: Vec<u32>,
    places: Vec<DVec3>,
    age: u32,
    flows: bool,
    /// Whether there is only one solid piece in the world: nothing needs lists.
    alone: bool,
    travel: Travel,
    linker: Linker,
}

/// Lists of eight slots at a time: entry k has the k-th neighbor of each, or nobody where the list is shorter.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// Lists of block b are `indices[starts[b]..starts[b + 1]]`.
    starts: Vec<u32>,
    indices: Vec<[u32; LANES]>,
}

impl Blocks {
    /// Number of blocks.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Neighbors of the slots of a block.
    #[inline(always)]
    pub fn of(&self, block: usize) -> &[[u32; LANES]] {
        &self.indices[self.starts[block] as usize..self.starts[block + 1] as usize]
    }

    /// Takes those neighbors in `lists` that `counts(s, t)`, those that are `near` now before the others; the index after
    /// the last block is nobody.
    pub fn fill(
        &mut self,
        lists: &Neighborhoods,
        counts: impl Fn(usize, usize) -> bool + Sync,
        near: impl Fn(usize, usize) -> bool + Sync,
    ) {
        let blocks = lists.len().div_ceil(LANES);
        let nobody = (blocks * LANES) as u32;
        let slots = |b: usize| b * LANES..((b + 1) * LANES).min(lists.len());
        let longest = |b: usize| {
            let length = |s: usize| lists.of(s).filter(|&t| counts(s, t)).count();
            slots(b).map(length).max().unwrap_or(0) as u32
        };
        let lengths: Vec<u32> = (0..blocks).into_par_iter().with_min_len(CHUNK / LANES).map(longest).collect();
        self.starts.clear();
        self.starts.push(0);
        let mut end = 0;
        self.starts.extend(lengths.iter().map(|n| {
            end += n;
            end
        }));
        self.indices.clear();
        self.indices.resize(end as usize, [nobody; LANES]);
        let mut pieces = Vec::with_capacity(blocks);
        let mut rest = self.indices.as_mut_slice();
        for (b, n) in lengths.iter().enumerate() {
            let (piece, tail) = rest.split_at_mut(*n as usize);
            pieces.push((b, piece));
            rest = tail;
        }
        let fill_block = |later: &mut Vec<u32>, (b, piece): (usize, &mut [[u32; LANES]])| {
            for s in slots(b) {
                later.clear();
                let (lane, mut k) = (s - b * LANES, 0);
                for t in lists.of(s).filter(|&t| counts(s, t)) {
                    if near(s, t) {
                        piece[k][lane] = t as u32;
                        k += 1;
                    } else {
                        later.push(t as u32);
                    }
                }
                piece[k..].iter_mut().zip(later.iter()).for_each(|(row, t)| row[lane] = *t);
            }
        };
        pieces.into_par_iter().with_min_len(CHUNK / LANES).for_each_init(Vec::new, fill_block);
    }
}

/// What lists are built from, one entry per point of the world.
pub(crate) struct Cloud<'a> {
    pub positions: &'a [DVec3],
    pub sizes: &'a [f64],
    /// Kind; `Skin` is found here.
    pub kinds: &'a [Kind],
    /// Piece of each point.
    pub labels: &'a [u32],
    /// Whether two points are bonded in the solid.
    pub bonded: &'a (dyn Fn(u32, u32) -> bool + Sync),
}

impl Pairs {
    /// Whether the lists do not hold any more.
    pub fn are_stale(&mut self, positions: &[DVec3]) -> bool {
        let (points, places, sizes) = (&self.points, &self.places, &self.sizes);
        let moved = |s: usize| (positions[points[s] as usize] - places[s], sizes[s]);
        if places.is_empty() || self.alone {
            return places.is_empty();
        }
        // Of solids alone only touching changes, and that follows from how far they move.
        (self.age >= LIFETIME && self.flows) || self.travel.exceeds(MARGIN, STRAY, moved)
    }

    /// Whether any slot has a melt stencil.
    pub fn any_flows(&self) -> bool {
        self.flows
    }

    /// Counts a step.
    pub fn grow_older(&mut self) {
        self.age += 1;
    }

    /// Forgets the lists.
    pub fn clear(&mut self) {
        self.places.clear();
    }

    /// Builds the lists over `members` (points, ascending).
    pub fn build(&mut self, cloud: &Cloud, members: &[u32]) {
        self.age = 0;
        let at = |&i: &u32| cloud.positions[i as usize];
        let found: Vec<DVec3> = members.iter().map(at).collect();
        let largest = members.iter().map(|&i| cloud.sizes[i as usize]).fold(0.0, f64::max);
        let grid = Grid::new(&found, (SUPPORT + MARGIN) * largest * (1.0 + 1e-6));
        self.travel.start(&grid);
        self.points.clear();
        self.points.extend(grid.order().iter().map(|&k| members[k as usize]));
        self.points.extend(members.iter().zip(&found).filter(|(_, p)| !p.is_finite()).map(|(i, _)| *i));
        self.places.clear();
        self.places.extend(self.points.iter().map(at));
        self.sizes.clear();
        self.sizes.extend(self.points.iter().map(|&i| cloud.sizes[i as usize]));
        self.slots.clear();
        self.slots.resize(cloud.positions.len(), u32::MAX);
        for (s, &i) in self.points.iter().enumerate() {
            self.slots[i as usize] = s as u32;
        }
        self.kinds.clear();
        self.kinds.extend(self.points.iter().map(|&i| match cloud.kinds[i as usize] {
            Kind::Skin => Kind::Solid,
            kind => kind,
        }));
        self.split(cloud);
        self.find_skin();
        self.flows = self.kinds.iter().any(|k| k.flows());
        self.alone = !self.flows && self.is_one_piece() && self.points.len() == cloud.positions.len();
        // Between points without melt stencils nothing flows.
        let kinds = &self.kinds;
        let all = kinds.iter().all(|k| k.flows());
        let counts = |s: usize, t: usize| all || kinds[s].flows() || kinds[t].flows();
        let (places, sizes) = (&self.places, &self.sizes);
        let near = |s: usize, t: usize| {
            let reach = SUPPORT * 0.5 * (sizes[s] + sizes[t]);
            places[s].distance_squared(places[t]) < reach * reach
        };
        self.blocks.fill(&self.flowing, counts, near);
    }

    /// Sorts near pairs into linked and apart.
    fn split(&mut self, cloud: &Cloud) {
        // What does not flow is only touched.
        let reach = |kind: Kind| if kind == Kind::Foreign { 1.0 + MARGIN } else { SUPPORT + MARGIN };
        let radii: Vec<f64> = self.sizes.iter().zip(&self.kinds).map(|(a, kind)| reach(*kind) * a).collect();
        let around = Neighborhoods::with_radii(&self.places, &radii);
        self.labels.clear();
        self.labels.extend(self.points.iter().map(|&i| cloud.labels[i as usize]));
        let matter = Matter { positions: &self.places, spacings: &self.sizes, labels: &self.labels };
        self.linker.link(&matter, &around, &mut self.linked);
        // Of one piece that is all melted everything near enough to push is linked.
        if self.is_one_piece() && self.kinds.iter().all(|k| *k == Kind::Melted) {
            self.apart = Neighborhoods { starts: vec![0; self.points.len() + 1], neighbors: Vec::new() };
            self.flowing = around;
            return;
        }
        self.linked = select(&self.linked, |s, t| self.may_link(s, t));
        let melted = |s: usize| self.kinds[s] == Kind::Melted;
        self.flowing = select(&around, |s, t| {
            (melted(s) && melted(t) && self.labels[s] == self.labels[t]) || self.is_linked(s, t)
        });
        let reach = 1.0 + MARGIN;
        self.apart = select(&around, |s, t| {
            self.labels[s] != self.labels[t]
                && (self.kinds[s] != Kind::Foreign || self.kinds[t] != Kind::Foreign)
                && self.distance_in_sizes(s, t) < reach
                && !self.is_linked(s, t)
                && !(cloud.bonded)(self.points[s], self.points[t])
        });
    }

    /// Whether two slots that are near enough may be linked: solid pieces never join.
    fn may_link(&self, s: usize, t: usize) -> bool {
        let (a, b) = (self.kinds[s], self.kinds[t]);
        let melted = a == Kind::Melted || b == Kind::Melted;
        a != Kind::Foreign && b != Kind::Foreign && (melted || self.labels[s] == self.labels[t])
    }

    fn is_linked(&self, s: usize, t: usize) -> bool {
        self.linked_of(s).binary_search(&(t as u32)).is_ok()
    }

    /// Distance over the mean spacing of the two.
    fn distance_in_sizes(&self, s: usize, t: usize) -> f64 {
        self.places[s].distance(self.places[t]) / (0.5 * (self.sizes[s] + self.sizes[t]))
    }

    fn find_skin(&mut self) {
        let melted = |s: usize| {
            self.linked_of(s)
                .iter()
                .any(|&t| self.kinds[t as usize] == Kind::Melted && self.distance_in_sizes(s, t as usize) < SUPPORT)
        };
        let skin: Vec<usize> = (0..self.points.len()).filter(|&s| self.kinds[s] == Kind::Solid && melted(s)).collect();
        for s in skin {
            self.kinds[s] = Kind::Skin;
        }
    }

    /// Linked slots of a slot, ascending.
    #[inline]
    pub fn linked_of(&self, s: usize) -> &[u32] {
        &self.linked.neighbors[self.linked.starts[s] as usize..self.linked.starts[s + 1] as usize]
    }

    /// Slots that flow together with a slot, ascending.
    #[inline]
    #[cfg(test)]
    pub fn flowing_of(&self, s: usize) -> &[u32] {
        &self.flowing.neighbors[self.flowing.starts[s] as usize..self.flowing.starts[s + 1] as usize]
    }

    /// Slots of the same piece that a slot is joined to, if one of the two is melted, ascending.
    #[inline]
    pub fn joined_of(&self, s: usize) -> &[u32] {
        let bonds = self.linker.bonds();
        &bonds.neighbors[bonds.starts[s] as usize..bonds.starts[s + 1] as usize]
    }

    /// Linked slots that were of another piece: they touch.
    pub fn touching_of(&self, s: usize) -> impl Iterator<Item = u32> {
        self.linked_of(s).iter().copied().filter(move |&t| self.labels[t as usize] != self.labels[s])
    }

    /// Whether all slots were of one piece.
    pub fn is_one_piece(&self) -> bool {
        self.labels.windows(2).all(|l| l[0] == l[1])
    }

    /// Slots that only push a slot.
    #[inline]
    pub fn apart_of(&self, s: usize) -> &[u32] {
        &self.apart.neighbors[self.apart.starts[s] as usize..self.apart.starts[s + 1] as usize]
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let lists = size_of_val(&*self.linked.neighbors)
            + size_of_val(&*self.flowing.neighbors)
            + size_of_val(&*self.blocks.indices);
        lists + self.points.len() * (size_of::<DVec3>() + size_of::<f64>() + 5 * size_of::<u32>())
    }
}

/// The pairs of `lists` that `keep(s, t)`.
fn select(lists: &Neighborhoods, keep: impl Fn(usize, usize) -> bool + Sync) -> Neighborhoods {
    let chunk = |c: usize| {
        let slots = c * CHUNK..((c + 1) * CHUNK).min(lists.len());
        let (mut ends, mut kept) = (Vec::with_capacity(CHUNK), Vec::new());
        for s in slots {
            kept.extend(lists.of(s).filter(|&t| keep(s, t)).map(|t| t as u32));
            ends.push(kept.len() as u32);
        }
        (ends, kept)
    };
    let chunks: Vec<_> = (0..lists.len().div_ceil(CHUNK)).into_par_iter().map(chunk).collect();
    let mut out = Neighborhoods { starts: vec![0], neighbors: Vec::new() };
    for (ends, kept) in &chunks {
        let first = out.neighbors.len() as u32;
        out.starts.extend(ends.iter().map(|end| first + end));
        out.neighbors.extend_from_slice(kept);
    }
    out
}
