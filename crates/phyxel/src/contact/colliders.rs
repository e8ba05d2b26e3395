//! All colliders of a world against all points: broad phase, velocity correction, reactions.
//!
//! Points are handled in fixed chunks of consecutive points. The box swept by a chunk in the step is compared with
//! each collider first, so bodies in the air cost one pass over their positions and velocities. Each chunk writes its
//! own velocities and its own sums; the sums are added in chunk order, so the bits do not depend on the threads.

use super::Collider;
use super::resolve::{push_speed, respond_plane};
use crate::geometry::Bounds;
use crate::points::Points;
use glam::DVec3;
use rayon::prelude::*;

/// Points per chunk of the broad phase.
const CHUNK: usize = 64;
/// Chunks per parallel task at least.
const CHUNKS_PER_TASK: usize = 32;

/// Times a chunk that touches several colliders goes through them.
const ROUNDS: usize = 3;

/// The colliders of a world and what the points did to them.
#[derive(Debug, Default)]
pub struct Colliders {
    /// In scene order.
    pub list: Vec<Collider>,
    /// Contact radius per point [m].
    radii: Vec<f64>,
    /// Largest contact radius per chunk [m].
    chunk_radii: Vec<f64>,
    /// Per chunk and collider, written by `collide`.
    sums: Vec<Sum>,
    /// Per collider, written by `collide`.
    pub(super) totals: Vec<Sum>,
    /// How far each point of each chunk was from each collider when it was last asked, chunk by chunk. Written by
    /// `collide`; what is skipped because of it could not touch, so it never changes a result.
    seen: Vec<Seen>,
    /// Broad phase data per collider, written by `advance`.
    reaches: Vec<Reach>,
}

/// A point that would touch a collider within the step, for implicit solvers: keep
/// `(velocity - collider_velocity) · normal >= min_normal_velocity`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContactConstraint {
    /// Index of the point.
    pub point: u32,
    /// Index of the collider.
    pub collider: u32,
    /// Unit outward normal of the collider.
    pub normal: DVec3,
    /// Least normal velocity relative to the collider [m/s].
    pub min_normal_velocity: f64,
    /// Coulomb friction coefficient.
    pub friction: f64,
    /// Velocity of the collider at the point [m/s].
    pub collider_velocity: DVec3,
}

/// What contact did during one step.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Sum {
    /// Impulse given to the points [N s].
    pub impulse: DVec3,
    /// Work on the points, force times the way they go [J].
    pub work: f64,
    /// Points that were touched.
    pub touched: u32,
}

impl Sum {
    pub fn add(&mut self, other: &Self) {
        self.impulse += other.impulse;
        self.work += other.work;
        self.touched += other.touched;
    }
}

/// How far a collider reaches during the step.
#[derive(Debug, Clone, Copy)]
enum Reach {
    /// Removed.
    Nowhere,
    /// A half-space that stands still: normal, offset.
    Plane(DVec3, f64),
    /// A half-space that moves: at the start and at the end.
    MovingPlane([(DVec3, f64); 2]),
    /// Anything else by its box.
    Within(Bounds),
}

/// Where a point was and how far it could go there without touching a collider [m].
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    place: DVec3,
    clear: f64,
}

/// What a point knows of a collider.
enum Look {
    /// It cannot touch it in this step.
    Clear,
    /// It may; its distance [m].
    Near(f64),
}

/// Distances may grow a little faster than the way that is gone where they are not exact.
const LIPSCHITZ: f64 = 1.05;

impl Colliders {
    /// The given colliders; contact radii are half the spacing of each point until `set_radii`.
    pub fn new(list: Vec<Collider>) -> Self {
        let mut colliders = Self { list, ..Self::default() };
        colliders.advance(0.0, 0.0);
        colliders
    }

    /// Contact radius of every point [m].
    pub fn radii(&self) -> &[f64] {
        &self.radii
    }

    /// Sets the contact radius of every point [m].
    pub fn set_radii(&mut self, radii: Vec<f64>) {
        self.seen.clear();
        self.chunk_radii = radii.chunks(CHUNK).map(|c| c.iter().copied().fold(0.0, f64::max)).collect();
        self.radii = radii;
    }

    /// Moves the colliders: poses at the start `time` and at the end `time + dt` of the step [s].
    pub fn advance(&mut self, time: f64, dt: f64) {
        for collider in self.list.iter_mut().filter(|c| c.active && !c.is_still()) {
            collider.advance(time, dt);
        }
        self.reaches.clear();
        self.reaches.extend(self.list.iter().map(reach));
    }

    /// Index of the collider with this name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.list.iter().position(|c| c.name == name)
    }

    /// Takes a collider out of the world; says whether there was one of this name.
    pub fn remove(&mut self, name: &str) -> bool {
        let Some(k) = self.find(name) else { return false };
        self.list[k].active = false;
        self.reaches[k] = Reach::Nowhere;
        true
    }

    /// Corrects the velocities of points that would enter a collider during the step of `dt` [s].
    ///
    /// Call after `advance`, after velocities are integrated and before points move by `dt * velocity`.
    pub fn collide(&mut self, points: &mut Points, dt: f64) {
        let count = self.list.len();
        self.totals.clear();
        self.totals.resize(count, Sum::default());
        if count == 0 || points.is_empty() || dt <= 0.0 {
            return;
        }
        if self.radii.len() != points.len() {
            self.set_radii(points.spacings.iter().map(|s| 0.5 * s).collect());
        }
        self.sums.resize(self.chunk_radii.len() * count, Sum::default());
        let (list, reaches, radii, chunk_radii) = (&self.list, &self.reaches, &self.radii, &self.chunk_radii);
        let (positions, masses) = (&points.positions, &points.masses);
        let velocities = points.velocities.par_chunks_mut(CHUNK);
        let sums = self.sums.par_chunks_mut(count);
        self.seen.resize(chunk_radii.len() * count * CHUNK, Seen::default());
        let seen = self.seen.par_chunks_mut(count * CHUNK);
        let tasks = velocities.zip(sums).zip(seen).enumerate().with_min_len(CHUNKS_PER_TASK);
        tasks.for_each(|(c, ((velocities, sums), seen))| {
            let range = c * CHUNK..c * CHUNK + velocities.len();
            let mut chunk = Chunk {
                positions: &positions[range.clone()],
                velocities,
                seen,
                masses: &masses[range.clone()],
                radii: &radii[range],
                radius: chunk_radii[c],
                dt,
            };
            sums.fill(Sum::default());
            chunk.collide_all(list, reaches, sums);
        });
        for sums in self.sums.chunks(count) {
            for (total, sum) in self.totals.iter_mut().zip(sums).filter(|(_, s)| s.touched > 0) {
                total.add(sum);
            }
        }
    }

    /// Impulse that the last `collide` gave to the points through collider `k` [N s]. The force of the points on the
    /// collider, averaged over the step, is minus this over the step.
    pub fn impulse(&self, k: usize) -> DVec3 {
        self.totals.get(k).map_or(DVec3::ZERO, |t| t.impulse)
    }

    /// Work of the last `collide` on the points, force times the way they go in the step [J].
    pub fn work(&self) -> f64 {
        self.totals.iter().map(|t| t.work).sum()
    }

    /// Corrections made by the last `collide`; about the number of points in contact.
    pub fn touched(&self) -> usize {
        self.totals.iter().map(|t| t.touched as usize).sum()
    }

    /// Points that would touch a collider within the step, in the order of points, then colliders. `out` is cleared.
    pub fn constraints(&self, points: &Points, dt: f64, out: &mut Vec<ContactConstraint>) {
        out.clear();
        if self.list.is_empty() || dt <= 0.0 {
            return;
        }
        for (c, positions) in points.positions.chunks(CHUNK).enumerate() {
            let velocities = &points.velocities[c * CHUNK..][..positions.len()];
            let spacings = &points.spacings[c * CHUNK..][..positions.len()];
            let radius = spacings.iter().fold(0.0, |r, s| f64::max(r, 0.5 * s));
            let swept = swept(positions, velocities, dt);
            if !self.reaches.iter().any(|reach| near(reach, swept, radius)) {
                continue;
            }
            for i in 0..positions.len() {
                let point = c * CHUNK + i;
                let radius = self.radii.get(point).copied().unwrap_or(0.5 * spacings[i]);
                for (k, collider) in self.list.iter().enumerate().filter(|(_, c)| c.active) {
                    let Some(touch) = collider.touch(positions[i], velocities[i], radius, dt, None) else { continue };
                    out.push(ContactConstraint {
                        point: point as u32,
                        collider: k as u32,
                        normal: touch.normal,
                        min_normal_velocity: touch.min_normal_velocity,
                        friction: collider.friction,
                        collider_velocity: touch.carried,
                    });
                }
            }
        }
    }
}

/// A chunk of consecutive points.
struct Chunk<'a> {
    positions: &'a [DVec3],
    velocities: &'a mut [DVec3],
    /// CHUNK entries per collider.
    seen: &'a mut [Seen],
    masses: &'a [f64],
    radii: &'a [f64],
    radius: f64,
    dt: f64,
}

impl Chunk<'_> {
    fn swept(&self) -> Bounds {
        swept(self.positions, self.velocities, self.dt)
    }

    /// One collider after the other; again when several touch, because one may push into the other.
    fn collide_all(&mut self, list: &[Collider], reaches: &[Reach], sums: &mut [Sum]) {
        let mut swept = self.swept();
        for _ in 0..ROUNDS {
            let mut touching = 0;
            for (k, collider) in list.iter().enumerate() {
                if !near(&reaches[k], swept, self.radius) {
                    continue;
                }
                let sum = self.collide(k, collider, &reaches[k]);
                if sum.touched > 0 {
                    sums[k].add(&sum);
                    touching += 1;
                    swept = self.swept();
                }
            }
            if touching < 2 {
                break;
            }
        }
    }

    fn collide(&mut self, k: usize, collider: &Collider, reach: &Reach) -> Sum {
        let mut sum = Sum::default();
        for i in 0..self.positions.len() {
            let before = self.velocities[i];
            let after = match reach {
                Reach::Plane(normal, offset) => self.touch_plane(i, *normal, *offset, collider),
                Reach::Within(_) if collider.is_still() => match self.look(k, i, collider) {
                    Look::Clear => None,
                    Look::Near(distance) => self.touch(i, collider, Some(distance)),
                },
                _ => self.touch(i, collider, None),
            };
            let Some(after) = after else { continue };
            self.velocities[i] = after;
            let impulse = self.masses[i] * (after - before);
            sum.impulse += impulse;
            sum.work += impulse.dot(after);
            sum.touched += 1;
        }
        sum
    }

    fn touch(&self, i: usize, collider: &Collider, known: Option<f64>) -> Option<DVec3> {
        let touch = collider.touch(self.positions[i], self.velocities[i], self.radii[i], self.dt, known);
        touch.map(|t| t.velocity)
    }

    /// Whether point `i` can touch the still collider `k` in this step.
    fn look(&mut self, k: usize, i: usize, collider: &Collider) -> Look {
        let (position, way) = (self.positions[i], self.dt * self.velocities[i].length());
        let seen = &mut self.seen[k * CHUNK + i];
        if LIPSCHITZ * (position.distance(seen.place) + way) < seen.clear {
            return Look::Clear;
        }
        let distance = collider.distance_to_touch(position, self.radii[i]);
        let clear = distance - self.radii[i];
        *seen = Seen { place: position, clear };
        if LIPSCHITZ * way < clear { Look::Clear } else { Look::Near(distance) }
    }

    /// `Collider::touch` for a half-space that stands still.
    #[inline]
    fn touch_plane(&self, i: usize, normal: DVec3, offset: f64, collider: &Collider) -> Option<DVec3> {
        let velocity = self.velocities[i];
        let gap = normal.dot(self.positions[i]) - offset - self.radii[i];
        let end = gap + self.dt * normal.dot(velocity);
        if end >= 0.0 || end.is_nan() {
            return None;
        }
        let bound = if gap >= 0.0 { -gap / self.dt } else { push_speed(-gap, self.dt) };
        (normal.dot(velocity) < bound)
            .then(|| respond_plane(velocity, normal, bound, collider.friction, collider.restitution))
    }
}

fn reach(collider: &Collider) -> Reach {
    match collider.planes() {
        _ if !collider.active => Reach::Nowhere,
        Some([(normal, offset), _]) if collider.is_still() => Reach::Plane(normal, offset),
        Some(planes) => Reach::MovingPlane(planes),
        None => Reach::Within(collider.bounds()),
    }
}

/// Whether balls of `radius` inside the box may touch the collider.
fn near(reach: &Reach, swept: Bounds, radius: f64) -> bool {
    let above = |&(normal, offset): &(DVec3, f64)| {
        let lowest = DVec3::select(normal.cmplt(DVec3::ZERO), swept.max, swept.min);
        normal.dot(lowest) - offset > radius
    };
    match reach {
        Reach::Nowhere => false,
        Reach::Plane(normal, offset) => !above(&(*normal, *offset)),
        Reach::MovingPlane(planes) => !planes.iter().all(above),
        Reach::Within(bounds) => bounds.grown(radius).overlaps(swept),
    }
}

/// Box around the points at the start and at the end of the step.
fn swept(positions: &[DVec3], velocities: &[DVec3], dt: f64) -> Bounds {
    // Rows of two points are six numbers wide, which compilers turn into vector minima and maxima.
    const ROW: usize = 6;
    let (mut low, mut high) = ([f64::INFINITY; ROW], [f64::NEG_INFINITY; ROW]);
    let x: &[f64] = bytemuck::cast_slice(positions);
    let v: &[f64] = bytemuck::cast_slice(velocities);
    let mut grow = |x: &[f64], v: &[f64]| {
        for (k, (&x, &v)) in x.iter().zip(v).enumerate() {
            let end = x + dt * v;
            let (a, b) = (if x < end { x } else { end }, if x > end { x } else { end });
            low[k] = if a < low[k] { a } else { low[k] };
            high[k] = if b > high[k] { b } else { high[k] };
        }
    };
    let (xs, vs) = (x.as_chunks::<ROW>(), v.as_chunks::<ROW>());
    for (x, v) in xs.0.iter().zip(vs.0) {
        grow(x, v);
    }
    grow(xs.1, vs.1);
    let fold =
        |row: [f64; ROW], pick: fn(f64, f64) -> f64| DVec3::from_array([0, 1, 2].map(|c| pick(row[c], row[c + 3])));
    Bounds { min: fold(low, f64::min), max: fold(high, f64::max) }
}

#[cfg(test)]
#[path = "colliders_tests.rs"]
mod tests;
