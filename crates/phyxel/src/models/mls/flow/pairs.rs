//! Who is near whom now, and which of the near belong to the same piece of matter.
//!
//! Lists are built on present positions with a margin and kept for a few steps. A pair within the support radius is
//! *linked* (it may exchange stress, pressure and heat) when
//!
//! ```text
//! pieces differ:  r < 1.2 a          same piece:  r < 1.5 a, or some k with |ik|, |kj| < 1.5 a
//! ```
//!
//! The two-step rule lets all neighbors of a filled region through, but not the other side of a gap; joining at a shorter
//! distance than parting is the hysteresis. Pairs that are not linked and not bonded only push each other away.

use crate::neighbors::{Neighborhoods, cell_order};
use glam::DVec3;
use rayon::prelude::*;

/// Support radius over spacing.
pub(crate) const SUPPORT: f64 = 2.33;
/// Pieces join when points come nearer than this many spacings ...
pub(crate) const JOIN: f64 = 1.2;
/// ... and part when none are nearer than this.
pub(crate) const PART: f64 = 1.5;
/// Lists reach this many spacings beyond the support, and hold while points move less than half of it.
const MARGIN: f64 = 0.25;
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
    /// Linked slots of slot s are `linked[linked_starts[s]..linked_starts[s + 1]]`, ascending.
    pub linked_starts: Vec<u32>,
    pub linked: Vec<u32>,
    /// Slots that only push, nearer than the spacing and the margin.
    pub apart_starts: Vec<u32>,
    pub apart: Vec<u32>,
    places: Vec<DVec3>,
    age: u32,
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
    pub fn are_stale(&self, positions: &[DVec3]) -> bool {
        if self.places.is_empty() || self.age >= LIFETIME {
            return true;
        }
        // Motion that all share keeps the lists.
        let moved = |s: usize| positions[self.points[s] as usize] - self.places[s];
        let shared = moved(0);
        let far = |s: usize| (moved(s) - shared).length_squared() > (0.5 * MARGIN * self.sizes[s]).powi(2);
        (0..self.points.len()).into_par_iter().with_min_len(4096).any(far)
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
        let order = cell_order(&found, (SUPPORT + MARGIN) * largest);
        self.points.clear();
        self.points.extend(order.iter().map(|&k| members[k as usize]));
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
    }

    /// Sorts near pairs into linked and apart.
    fn split(&mut self, cloud: &Cloud) {
        let radii: Vec<f64> = self.sizes.iter().map(|a| (SUPPORT + MARGIN) * a).collect();
        let around = Neighborhoods::with_radii(&self.places, &radii);
        let labels: Vec<u32> = self.points.iter().map(|&i| cloud.labels[i as usize]).collect();
        let near: Vec<Vec<u32>> = (0..self.points.len())
            .into_par_iter()
            .with_min_len(CHUNK)
            .map(|s| {
                let close = |&t: &usize| labels[t] == labels[s] && self.distance_in_sizes(s, t) < PART;
                around.of(s).filter(close).map(|t| t as u32).collect()
            })
            .collect();
        let sorted: Vec<(Vec<u32>, Vec<u32>)> = (0..self.points.len())
            .into_par_iter()
            .with_min_len(CHUNK)
            .map(|s| {
                let (mut linked, mut apart) = (Vec::with_capacity(around.of(s).len()), Vec::new());
                for t in around.of(s) {
                    let r = self.distance_in_sizes(s, t);
                    if self.is_linked(s, t, r, &labels, &near) {
                        linked.push(t as u32);
                    } else if r < 1.0 + MARGIN && !(cloud.bonded)(self.points[s], self.points[t]) {
                        apart.push(t as u32);
                    }
                }
                (linked, apart)
            })
            .collect();
        flatten(sorted.iter().map(|p| &p.0), &mut self.linked_starts, &mut self.linked);
        flatten(sorted.iter().map(|p| &p.1), &mut self.apart_starts, &mut self.apart);
    }

    fn is_linked(&self, s: usize, t: usize, r: f64, labels: &[u32], near: &[Vec<u32>]) -> bool {
        if self.kinds[s] == Kind::Foreign || self.kinds[t] == Kind::Foreign {
            return false;
        }
        if labels[s] != labels[t] {
            return r < JOIN;
        }
        r < PART || meet(&near[s], &near[t])
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

    /// Linked slots of a slot.
    #[inline]
    pub fn linked_of(&self, s: usize) -> &[u32] {
        &self.linked[self.linked_starts[s] as usize..self.linked_starts[s + 1] as usize]
    }

    /// Slots that only push a slot.
    #[inline]
    pub fn apart_of(&self, s: usize) -> &[u32] {
        &self.apart[self.apart_starts[s] as usize..self.apart_starts[s + 1] as usize]
    }
}

fn flatten<'a>(lists: impl Iterator<Item = &'a Vec<u32>>, starts: &mut Vec<u32>, all: &mut Vec<u32>) {
    starts.clear();
    all.clear();
    starts.push(0);
    for list in lists {
        all.extend_from_slice(list);
        starts.push(all.len() as u32);
    }
}

/// Whether two ascending lists have an entry in common.
fn meet(a: &[u32], b: &[u32]) -> bool {
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Equal => return true,
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
        }
    }
    false
}
