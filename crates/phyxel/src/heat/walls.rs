//! Which points meet which colliders.
//!
//! A wall is felt by the points that touch it and by those behind them within the support radius: a body that hovers
//! above a hot floor is not heated by it.

use super::conduction::CHUNK;
use super::exchange::Wall;
use crate::contact::{Collider, Colliders};
use crate::neighbors::Neighborhoods;
use glam::DVec3;
use rayon::prelude::*;

/// A point touches a wall when the gap to it is less than this, in spacings.
const TOUCH_GAP: f64 = 0.25;
/// Walls that came nearer or went away by less than this, in spacings, are where they were.
const SAME_DISTANCE: f64 = 0.05;

/// A point at a collider.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WallContact {
    /// The point.
    pub point: u32,
    /// Index of the collider.
    pub collider: u32,
    /// Where the wall is.
    pub wall: Wall,
}

impl WallContact {
    /// As numbers, for `from_numbers`.
    pub fn to_numbers(self) -> [f64; 6] {
        let n = self.wall.normal;
        [f64::from(self.point), f64::from(self.collider), self.wall.distance, n.x, n.y, n.z]
    }

    /// The contact of a point below `count`; None otherwise.
    pub fn from_numbers(&[point, collider, distance, x, y, z]: &[f64; 6], count: usize) -> Option<Self> {
        let wall = Wall { distance, normal: DVec3::new(x, y, z) };
        (point < count as f64).then_some(Self { point: point as u32, collider: collider as u32, wall })
    }
}

/// What is asked for all points at once; one entry per point.
#[derive(Debug, Clone, Copy)]
pub struct WallSearch<'a> {
    /// Positions [m].
    pub positions: &'a [DVec3],
    /// Local distance between points [m].
    pub spacings: &'a [f64],
    /// Support radii [m].
    pub radii: &'a [f64],
    /// Distance of a touching point from the wall [m].
    pub contact_radii: &'a [f64],
}

/// Distances of all points from the colliders that count.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WallDistances {
    /// Per collider in question, in order: its index, and the distance of each point [m], infinite beyond the support
    /// radius.
    rows: Vec<(u32, Vec<f64>)>,
}

impl WallDistances {
    /// Distances now, for those colliders that `counts` picks by index.
    pub fn find(search: &WallSearch, colliders: &Colliders, counts: impl Fn(usize) -> bool) -> Self {
        let picked = colliders.list.iter().enumerate().filter(|(k, c)| c.active && counts(*k));
        Self { rows: picked.map(|(k, collider)| (k as u32, distances(search, collider))).collect() }
    }

    /// Whether a wall has come or gone or moved since `before`.
    pub fn differ(&self, before: &Self, spacings: &[f64]) -> bool {
        let same = |(k, now): &(u32, Vec<f64>), (l, then): &(u32, Vec<f64>)| {
            let near = |i: usize| now[i] == then[i] || (now[i] - then[i]).abs() < SAME_DISTANCE * spacings[i];
            k == l && now.len() == then.len() && (0..now.len()).all(near)
        };
        self.rows.len() != before.rows.len() || !self.rows.iter().zip(&before.rows).all(|(a, b)| same(a, b))
    }

    /// Appends all to `numbers`.
    pub fn save(&self, numbers: &mut Vec<f64>) {
        numbers.push(self.rows.len() as f64);
        for (k, distances) in &self.rows {
            numbers.push(f64::from(*k));
            numbers.extend_from_slice(distances);
        }
    }

    /// What `save` appended for `count` points, and what follows it.
    pub fn load(numbers: &[f64], count: usize) -> Option<(Self, &[f64])> {
        let (&rows, mut numbers) = numbers.split_first()?;
        let mut walls = Self::default();
        for _ in 0..rows as usize {
            let (row, rest) = numbers.split_at_checked(1 + count)?;
            walls.rows.push((row[0] as u32, row[1..].to_vec()));
            numbers = rest;
        }
        Some((walls, numbers))
    }

    /// The contacts, by collider, then by point.
    pub fn contacts(&self, search: &WallSearch, links: &Neighborhoods, colliders: &Colliders) -> Vec<WallContact> {
        let mut found = Vec::new();
        for (k, distances) in &self.rows {
            let collider = &colliders.list[*k as usize];
            let touches = |i: usize| distances[i] - search.contact_radii[i] < TOUCH_GAP * search.spacings[i];
            for i in 0..distances.len() {
                if distances[i].is_finite() && (touches(i) || links.of(i).any(touches)) {
                    let pose = collider.pose();
                    let (_, normal) = collider.shape.distance_normal(pose.to_own(search.positions[i]));
                    let wall = Wall::new(distances[i], pose.axes * normal, search.spacings[i]);
                    found.push(WallContact { point: i as u32, collider: *k, wall });
                }
            }
        }
        found
    }
}

fn distances(search: &WallSearch, collider: &Collider) -> Vec<f64> {
    let bounds = collider.bounds();
    let one = |i: usize| {
        let (p, radius) = (search.positions[i], search.radii[i]);
        if !p.is_finite() || bounds.distance(p) >= radius {
            return f64::INFINITY;
        }
        let distance = collider.distance(p);
        if distance < radius { distance } else { f64::INFINITY }
    };
    (0..search.positions.len()).into_par_iter().with_min_len(CHUNK).map(one).collect()
}
