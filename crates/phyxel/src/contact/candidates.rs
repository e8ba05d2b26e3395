//! Candidates: which skin points of different bodies may touch, kept until something has moved far enough.

use super::skin::Skin;
use crate::geometry::Bounds;
use crate::neighbors::Grid;
use crate::points::Points;
use glam::DVec3;
use rayon::prelude::*;

/// Reach of contact between two points, in mean spacings of the two.
pub(super) const REACH: f64 = 1.6;
/// Candidate lists hold for motions of half this many spacings.
const MARGIN: f64 = 0.5;
/// Skin points per chunk of the parallel loops.
const CHUNK: usize = 256;

/// For each active skin point the skin points of other bodies near it.
#[derive(Debug, Clone, Default)]
pub(super) struct Candidates {
    /// Skin points near another body, ascending.
    pub active: Vec<u32>,
    /// Row of each active point in `near`; one more entry than active points.
    pub starts: Vec<u32>,
    /// Positions in `active` of the candidates, ascending: j is in the row of i whenever i is in the row of j.
    pub near: Vec<u32>,
    /// Position of every skin point when the lists were made [m].
    made_at: Vec<DVec3>,
    /// Lists hold until a skin point has moved farther than this [m].
    allowed: f64,
    moved: Vec<f64>,
    extents: Vec<Extent>,
    /// Bodies that are left out; empty: none.
    excluded: Vec<bool>,
    /// Bodies that are sheets, which do not see each other here.
    sheets: Vec<usize>,
    /// Bodies that are lattices, which do not either.
    lattices: Vec<usize>,
}

/// Boxes around the positions and the velocities of a skin.
#[derive(Debug, Clone, Copy)]
struct Extent {
    /// [m].
    space: Range3,
    /// [m/s].
    speed: Range3,
    /// Spacing at most [m].
    spacing: f64,
}

#[derive(Debug, Clone, Copy)]
struct Range3 {
    min: DVec3,
    max: DVec3,
}

impl Range3 {
    const EMPTY: Self = Self { min: DVec3::INFINITY, max: DVec3::NEG_INFINITY };

    fn grow(&mut self, p: DVec3) {
        self.min = self.min.min(p);
        self.max = self.max.max(p);
    }

    /// Largest distance along an axis; negative when they overlap.
    fn apart(self, other: Self) -> f64 {
        (self.min - other.max).max(other.min - self.max).max_element()
    }
}

impl Extent {
    fn of(own: &[u32], points: &Points) -> Self {
        let mut extent = Self { space: Range3::EMPTY, speed: Range3::EMPTY, spacing: 0.0 };
        for &i in own {
            extent.space.grow(points.positions[i as usize]);
            extent.speed.grow(points.velocities[i as usize]);
            extent.spacing = extent.spacing.max(points.spacings[i as usize]);
        }
        extent
    }
}

impl Candidates {
    /// Leaves a body of `count` out from now on.
    pub fn exclude(&mut self, body: usize, count: usize) {
        self.excluded.resize(count, false);
        self.excluded[body] = true;
        self.made_at.clear();
    }

    /// Says that a body is a lattice.
    pub fn add_lattice(&mut self, body: usize) {
        self.lattices.push(body);
        self.forget();
    }

    /// Says that a body is a sheet.
    pub fn add_sheet(&mut self, body: usize) {
        self.sheets.push(body);
    }

    /// Forgets all lists.
    pub fn forget(&mut self) {
        *self = Self {
            sheets: std::mem::take(&mut self.sheets),
            lattices: std::mem::take(&mut self.lattices),
            excluded: std::mem::take(&mut self.excluded),
            ..Self::default()
        };
    }

    /// Whether a body is left out.
    pub fn is_out(&self, body: usize) -> bool {
        self.excluded.get(body) == Some(&true)
    }

    /// Whether a body is a sheet.
    pub fn is_sheet(&self, body: usize) -> bool {
        self.sheets.contains(&body)
    }

    /// Whether two bodies do not see each other.
    pub fn is_excluded(&self, a: usize, b: usize) -> bool {
        let out = |body: usize| self.is_out(body);
        let both = |kind: &[usize]| kind.contains(&a) && kind.contains(&b);
        out(a) || out(b) || both(&self.sheets) || both(&self.lattices)
    }

    /// Makes the lists anew if a skin point has moved too far since they were made.
    pub fn update(&mut self, skin: &Skin, points: &Points) {
        if self.made_at.len() == skin.len() && self.largest_move(skin, points) <= self.allowed {
            return;
        }
        self.made_at.clear();
        self.made_at.extend(skin.points.iter().map(|&i| points.positions[i as usize]));
        self.find_active(skin, points);
        self.find_near(skin, points);
    }

    /// Candidates of the active point `a`.
    pub fn of(&self, a: usize) -> &[u32] {
        &self.near[self.starts[a] as usize..self.starts[a + 1] as usize]
    }

    /// Takes the boxes of all bodies, for `meeting_time`.
    pub fn measure(&mut self, skin: &Skin, points: &Points) {
        self.extents.clear();
        self.extents.extend((0..skin.body_count()).map(|body| Extent::of(&skin.points[skin.range(body)], points)));
    }

    /// Time until two bodies can have come as near as touching bodies may come in one step: `fraction` of a spacing
    /// more than they are apart [s]. Infinite for a single body.
    pub fn meeting_time(&self, fraction: f64) -> f64 {
        let mut earliest = f64::INFINITY;
        for (a, here) in self.extents.iter().enumerate() {
            for (b, there) in self.extents.iter().enumerate().skip(a + 1) {
                if self.is_excluded(a, b) {
                    continue;
                }
                let apart = here.space.apart(there.space).max(0.0);
                let way = (apart - REACH * here.spacing.max(there.spacing)).max(0.0);
                let allowed = way + fraction * here.spacing.min(there.spacing);
                // No two of their points can approach faster than this.
                let fastest = (here.speed.max - there.speed.min).max(there.speed.max - here.speed.min);
                let time = allowed / fastest.max(DVec3::ZERO).length();
                earliest = if time < earliest { time } else { earliest };
            }
        }
        earliest
    }

    fn largest_move(&mut self, skin: &Skin, points: &Points) -> f64 {
        self.moved.resize(skin.len().div_ceil(CHUNK), 0.0);
        let made_at = &self.made_at;
        self.moved.par_iter_mut().enumerate().with_min_len(8).for_each(|(c, moved)| {
            let range = c * CHUNK..((c + 1) * CHUNK).min(skin.len());
            let mut largest: f64 = 0.0;
            for s in range {
                largest = largest.max((points.positions[skin.points[s] as usize] - made_at[s]).length_squared());
            }
            *moved = largest;
        });
        self.moved.iter().copied().fold(0.0, f64::max).sqrt()
    }

    /// Active points: those inside the grown box of another body.
    fn find_active(&mut self, skin: &Skin, points: &Points) {
        let count = skin.body_count();
        let mut bounds = vec![Bounds::EMPTY; count];
        let mut spacings = vec![0.0f64; count];
        for s in 0..skin.len() {
            let body = skin.bodies[s] as usize;
            bounds[body] = bounds[body].union(Bounds::of([self.made_at[s]]));
            spacings[body] = spacings[body].max(points.spacings[skin.points[s] as usize]);
        }
        let widest = spacings.iter().copied().fold(0.0, f64::max);
        self.allowed = f64::INFINITY;
        // Boxes of the others, per body, that it has to look at.
        let mut others: Vec<Vec<Bounds>> = vec![Vec::new(); count];
        for a in 0..count {
            for b in (0..count).filter(|&b| b != a) {
                if self.is_excluded(a, b) {
                    continue;
                }
                let (reach, margin) = (REACH * 0.5 * (spacings[a] + spacings[b]), MARGIN * widest);
                let apart = (bounds[a].min - bounds[b].max).max(bounds[b].min - bounds[a].max).max_element();
                if apart < reach + margin {
                    others[a].push(bounds[b].grown(reach + margin));
                    self.allowed = self.allowed.min(0.5 * margin);
                } else if apart.is_finite() {
                    self.allowed = self.allowed.min(0.5 * (apart - reach));
                }
            }
        }
        self.active.clear();
        let within = |p: DVec3, b: &Bounds| p.cmpge(b.min).all() && p.cmple(b.max).all();
        let near =
            |s: &u32| others[skin.bodies[*s as usize] as usize].iter().any(|b| within(self.made_at[*s as usize], b));
        self.active.extend((0..skin.len() as u32).filter(near));
    }

    fn find_near(&mut self, skin: &Skin, points: &Points) {
        self.starts.clear();
        self.starts.push(0);
        self.near.clear();
        let places: Vec<DVec3> = self.active.iter().map(|&s| self.made_at[s as usize]).collect();
        let spacing = |a: usize| points.spacings[skin.points[self.active[a] as usize] as usize];
        let widest = (0..places.len()).map(spacing).fold(0.0, f64::max);
        let grid = Grid::new(&places, REACH * widest);
        let mut near = std::mem::take(&mut self.near);
        for a in 0..places.len() {
            let body = skin.bodies[self.active[a] as usize];
            let first = near.len();
            grid.for_each_within(places[a], (REACH + MARGIN) * widest, |b, r2| {
                let reach = REACH * 0.5 * (spacing(a) + spacing(b)) + MARGIN * widest;
                let other = skin.bodies[self.active[b] as usize];
                if other != body && r2 < reach * reach && !self.is_excluded(body as usize, other as usize) {
                    near.push(b as u32);
                }
            });
            near[first..].sort_unstable();
            self.starts.push(near.len() as u32);
        }
        self.near = near;
    }
}
