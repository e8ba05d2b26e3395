//! The points around a place at rest, in the groups that intact links make of them, and which of these the place belongs to.
//!
//! A group's share of a place x is Σ exp(-K |x - x_i|² / spacing²) over its points: the place belongs to the group with the largest one.
//! Between two groups the border is smooth, where that between the cells of single points would be all facets.

use super::Links;
use glam::DVec3;

/// Points are around a place within this distance [spacings]; that of what carries its surfel.
pub(super) const REACH: f64 = 1.8;
/// Those within this distance tell whether matter hangs together there [spacings]: larger ones hide the ends of cracks.
const NEAR: f64 = 1.25;
/// No group.
const NONE: u32 = u32::MAX;
/// K: larger ones show the single points, smaller ones leave too little to a point that is alone.
const SHARP: f64 = 2.5;
/// Least share: so that its logarithm is finite.
const LEAST: f64 = 1e-200;

/// The points around a place.
#[derive(Debug, Clone, Default)]
pub(super) struct Local {
    /// Their numbers, ascending.
    pub members: Vec<u32>,
    /// The group of each: 0, 1, ...
    pub groups: Vec<u32>,
    /// Number of groups.
    pub count: usize,
}

/// What a group has of a place.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Share {
    /// Logarithm of the share.
    pub log: f64,
    /// Its gradient [1/m].
    pub slope: DVec3,
}

/// Where a group ends, seen from a place of its own along a plane.
#[derive(Debug, Clone, Copy)]
pub(super) struct Border {
    /// Unit direction to it.
    pub across: DVec3,
    /// How far it is [m].
    pub way: f64,
    /// What is beyond; None: the outside of the body.
    pub beyond: Option<u32>,
}

impl Local {
    /// The points of `links` around a place [m].
    pub fn at(place: DVec3, links: &Links) -> Self {
        let mut members = links.grid.within(place, REACH * links.spacing);
        members.sort_unstable();
        let near2 = (NEAR * links.spacing).powi(2);
        let near: Vec<bool> =
            members.iter().map(|&i| links.places[i as usize].distance_squared(place) < near2).collect();
        let mut local = Self { groups: vec![NONE; members.len()], members, count: 0 };
        local.spread(links, |k| near[k]);
        // What is farther away goes with the group that reaches it first: it holds nothing together here.
        let mut reached: Vec<usize> = (0..near.len()).filter(|k| near[*k]).collect();
        while !reached.is_empty() {
            reached = local.pass_on(&reached, links);
        }
        local.spread(links, |_| true);
        local
    }

    /// Makes groups of those of a kind that have none.
    fn spread(&mut self, links: &Links, is: impl Fn(usize) -> bool) {
        let mut open = Vec::new();
        for first in 0..self.members.len() {
            if self.groups[first] != NONE || !is(first) {
                continue;
            }
            let group = self.count as u32;
            self.count += 1;
            self.groups[first] = group;
            open.push(first);
            while let Some(k) = open.pop() {
                for other in self.linked(k, links).filter(|k| is(*k)).collect::<Vec<_>>() {
                    if self.groups[other] == NONE {
                        self.groups[other] = group;
                        open.push(other);
                    }
                }
            }
        }
    }

    /// Gives the groups of some members to those that are linked to them and have none; returns these.
    fn pass_on(&mut self, from: &[usize], links: &Links) -> Vec<usize> {
        let mut reached = Vec::new();
        for &k in from {
            for other in self.linked(k, links).collect::<Vec<_>>() {
                if self.groups[other] == NONE {
                    self.groups[other] = self.groups[k];
                    reached.push(other);
                }
            }
        }
        reached
    }

    /// The members that a member is linked to.
    fn linked<'a>(&'a self, k: usize, links: &'a Links) -> impl Iterator<Item = usize> + 'a {
        links.intact(self.members[k] as usize).filter_map(|j| self.members.binary_search(&j).ok())
    }

    /// The group of a point; None if it is not around.
    pub fn group_of(&self, point: u32) -> Option<u32> {
        self.members.binary_search(&point).ok().map(|k| self.groups[k])
    }

    /// The shares that the groups have of a place [m].
    pub fn shares(&self, place: DVec3, links: &Links, out: &mut Vec<Share>) {
        out.clear();
        out.resize(self.count, Share::default());
        let sharp = SHARP / (links.spacing * links.spacing);
        for (&i, &group) in self.members.iter().zip(&self.groups) {
            let away = place - links.places[i as usize];
            let part = (-sharp * away.length_squared()).exp();
            let share = &mut out[group as usize];
            share.log += part;
            share.slope -= 2.0 * sharp * part * away;
        }
        for share in out {
            let sum = share.log.max(LEAST);
            (share.log, share.slope) = (sum.ln(), share.slope / sum);
        }
    }
}

/// The group with the largest share; the first of equal ones.
pub(super) fn owner(shares: &[Share]) -> u32 {
    let mut best = 0;
    for (k, share) in shares.iter().enumerate() {
        if share.log > shares[best].log {
            best = k;
        }
    }
    best as u32
}

/// The nearest border of a group in the plane across `normal`; `without` is a group that does not count.
pub(super) fn border(shares: &[Share], own: u32, without: Option<u32>, normal: DVec3) -> Option<Border> {
    let mine = shares[own as usize];
    let mut nearest: Option<Border> = None;
    for (k, other) in shares.iter().enumerate().filter(|(k, _)| *k as u32 != own && Some(*k as u32) != without) {
        let fall = other.slope - mine.slope;
        let flat = fall - normal * normal.dot(fall);
        let way = (mine.log - other.log).max(0.0) / flat.length();
        if way.is_finite() && nearest.is_none_or(|n| way < n.way) {
            nearest = Some(Border { across: flat.normalize_or_zero(), way, beyond: Some(k as u32) });
        }
    }
    nearest
}
