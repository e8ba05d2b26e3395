//! The least-squares embedding: one scalar Laplacian for all three axes, [War12] eq. 3.26.
//!
//! Minimizes Σ w |d_ij - (Δe_j - Δe_i)|² for what each neighborhood asks of its pairs, d_ij = A_i e_ij + B_i x_ij:
//!
//! ```text
//! 2 Σ_j w (Δe_i - Δe_j) = -Σ_j w ((A_i + A_j) e_ij + (B_i + B_j) x_ij)
//! ```
//!
//! The right side sums to zero, so the singular system has solutions; the one without a mean is taken piece by piece. Where nothing
//! has flowed nothing is asked, and Δe = 0 is the answer. Departs from [War12] eq. 3.25: increments, not
//! positions, are solved for, without which points drift while nothing flows.

use super::region::Region;
use super::stencils::{CHUNK, Place, Stencils, single};
use super::sums::{List, pack, times, vector};
use crate::models::mls::flow::lanes::Row;
use glam::{DMat3, DVec3, Mat3A, Vec3A};
use rayon::prelude::*;

/// When the solve is good enough, relative to the start, and after how many iterations at most: what it leaves is in P.
const TOLERANCE: f64 = 1e-2;
const ITERATIONS: usize = 15;
/// Where in the record of a point A e + B x is, and where x.
const WANTED: usize = 18;
const WORLD: usize = 21;

/// What a neighborhood asks of its pairs: Δe_ij = A e_ij + B x_ij.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    a: Mat3A,
    b: Mat3A,
}

impl Target {
    /// Stay as you are.
    pub const NOTHING: Self = Self { a: Mat3A::ZERO, b: Mat3A::ZERO };

    /// From A and B.
    pub fn new(a: DMat3, b: DMat3) -> Self {
        Self { a: single(a), b: single(b) }
    }
}

/// The solver and its arrays.
#[derive(Debug, Clone)]
pub struct Embedding {
    /// Wanted residual over that at the start.
    pub tolerance: f64,
    /// Most iterations.
    pub iterations: usize,
    /// A, B, A e + B x and x of each point.
    records: Vec<[Row; 3]>,
    right: Vec<Vec3A>,
    inverse: Vec<f32>,
    totals: Vec<f32>,
    change: Vec<Vec3A>,
    direction: Vec<Vec3A>,
    image: Vec<Vec3A>,
    /// Iterations of the last solve.
    pub spent: usize,
}

impl Default for Embedding {
    fn default() -> Self {
        Self {
            tolerance: TOLERANCE,
            iterations: ITERATIONS,
            records: Vec::new(),
            right: Vec::new(),
            inverse: Vec::new(),
            totals: Vec::new(),
            change: Vec::new(),
            direction: Vec::new(),
            image: Vec::new(),
            spent: 0,
        }
    }
}

impl Embedding {
    /// A solver that ends at a residual over that at the start, or after some iterations.
    pub fn until(tolerance: f64, iterations: usize) -> Self {
        Self { tolerance, iterations, ..Self::default() }
    }

    /// Changes of the embedded positions [m].
    pub fn solve(&mut self, stencils: &Stencils, targets: &[Target], places: &[Place]) -> Vec<DVec3> {
        self.solve_from(&[], stencils, targets, places);
        self.change.iter().map(|c| c.as_dvec3()).collect()
    }

    /// The same, beginning with the changes of the last time; empty: with nothing.
    pub(super) fn solve_from(
        &mut self,
        last: &[Vec3A],
        stencils: &Stencils,
        targets: &[Target],
        places: &[Place],
    ) -> &[Vec3A] {
        self.record(targets, places);
        let all: Vec<(Vec3A, f32)> =
            (0..targets.len()).into_par_iter().with_min_len(CHUNK).map(|i| self.right(i, stencils, places)).collect();
        (self.right, self.totals) = all.into_iter().unzip();
        self.iterate(last, |i| stencils.list(i));
        &self.change
    }

    /// The same with the unknowns of a region; what moves as one asks for nothing.
    pub(super) fn solve_in(
        &mut self,
        region: &Region,
        last: &[Vec3A],
        (stencils, targets, places): (&Stencils, &[Target], &[Place]),
    ) -> Vec<Vec3A> {
        self.record(targets, places);
        let points = &region.points;
        let one = |&i: &u32| self.right(i as usize, stencils, places);
        let all: Vec<(Vec3A, f32)> = points.par_iter().with_min_len(CHUNK).map(one).collect();
        (self.right, self.totals) = all.into_iter().unzip();
        let pairs = Pairs::new(region, stencils);
        self.right.resize(region.count, Vec3A::ZERO);
        self.totals.resize(region.count, 0.0);
        for k in points.len()..region.count {
            self.totals[k] = pairs.list(k).weights.iter().sum();
        }
        let mut start = Vec::new();
        if last.len() == region.unknowns.len() {
            start.resize(region.count, Vec3A::ZERO);
            region.unknowns.iter().zip(last).for_each(|(u, l)| start[*u as usize] = *l);
        }
        self.iterate(&start, |k| pairs.list(k));
        region.unknowns.iter().map(|u| self.change[*u as usize]).collect()
    }

    /// Conjugate gradients for the right side and the sums of the weights of each row.
    fn iterate<'a>(&mut self, last: &[Vec3A], list: impl Fn(usize) -> List<'a> + Sync) {
        self.inverse.clear();
        self.inverse.extend(self.totals.iter().map(|t| if *t > 0.0 { 0.5 / t } else { 0.0 }));
        self.change.clear();
        self.change.resize(self.right.len(), Vec3A::ZERO);
        // Three systems at once; each axis has its own numbers.
        let [start, _] = self.products();
        let wanted = start * (self.tolerance * self.tolerance);
        self.begin_with(last, &list, start);
        let [_, mut rz] = self.products();
        self.spent = 0;
        for _ in 0..self.iterations {
            apply(&list, &self.totals, &self.direction, &mut self.image);
            let curvature = per_axis(&self.direction, &self.image);
            let step = ratio(rz, curvature);
            if step == DVec3::ZERO {
                break;
            }
            self.spent += 1;
            let step32 = step.as_vec3a();
            for k in 0..self.right.len() {
                self.change[k] += self.direction[k] * step32;
                self.right[k] -= self.image[k] * step32;
            }
            let [square, next] = self.products();
            if square.cmple(wanted).all() {
                break;
            }
            let turn = ratio(next, rz).as_vec3a();
            rz = next;
            for k in 0..self.right.len() {
                self.direction[k] = self.right[k] * self.inverse[k] + self.direction[k] * turn;
            }
        }
    }

    /// Takes the last changes for a start where that leaves less to be done than nothing does.
    fn begin_with<'a>(&mut self, last: &[Vec3A], list: &(impl Fn(usize) -> List<'a> + Sync), start: DVec3) {
        if last.len() == self.right.len() {
            apply(list, &self.totals, last, &mut self.image);
            let left = |k: usize| self.right[k] - self.image[k];
            let size = (0..last.len()).fold(DVec3::ZERO, |sum, k| sum + (left(k) * left(k)).as_dvec3());
            if size.cmplt(start).all() {
                self.change.copy_from_slice(last);
                for (r, image) in self.right.iter_mut().zip(&self.image) {
                    *r -= *image;
                }
            }
        }
        self.direction.clear();
        self.direction.extend(self.right.iter().zip(&self.inverse).map(|(r, i)| *r * *i));
    }

    /// Takes over what each neighborhood asks for.
    fn record(&mut self, targets: &[Target], places: &[Place]) {
        let record = |(target, place): (&Target, &Place)| -> [Row; 3] {
            let wanted = target.a * place.embedded + target.b * place.world;
            let matrices = [target.a, target.b].into_iter().flat_map(|m| m.to_cols_array());
            pack(matrices.chain(wanted.to_array()).chain(place.world.to_array()))
        };
        self.records.clear();
        self.records.par_extend(targets.par_iter().zip(places).with_min_len(CHUNK).map(record));
    }

    /// The right side of a point, and the sum of its weights.
    fn right(&self, i: usize, stencils: &Stencils, places: &[Place]) -> (Vec3A, f32) {
        let (own, Place { world, embedded }) = (&self.records[i], places[i]);
        let sum = stencils.list(i).records(&self.records);
        let (apart, weight) = stencils.sums[i];
        let straight = vector(&sum, WORLD) - world * weight;
        let own = times(own, 0, apart) + times(own, 9, straight);
        let others = vector(&sum, WANTED) - times(&sum, 0, embedded) - times(&sum, 9, world);
        (-own - others, weight)
    }

    /// Σ r² and Σ r² / diagonal, axis by axis.
    fn products(&self) -> [DVec3; 2] {
        let mut sums = [DVec3::ZERO; 2];
        for (r, i) in self.right.iter().zip(&self.inverse) {
            let square = (*r * *r).as_dvec3();
            sums[0] += square;
            sums[1] += square * f64::from(*i);
        }
        sums
    }
}

/// Rows of a system in a region.
struct Pairs {
    starts: Vec<u32>,
    neighbors: Vec<u32>,
    weights: Vec<f32>,
    wide: bool,
}

impl Pairs {
    fn new(region: &Region, stencils: &Stencils) -> Self {
        let own = region.points.len();
        let mut pairs = Self { starts: vec![0], neighbors: Vec::new(), weights: Vec::new(), wide: stencils.wide };
        // Pairs of what moves as one with points that move on their own, from its side.
        let mut borders: Vec<(u32, u32, f32)> = Vec::new();
        for (k, &i) in region.points.iter().enumerate() {
            for (j, w) in stencils.of(i as usize) {
                let unknown = region.unknowns[j];
                pairs.neighbors.push(unknown);
                pairs.weights.push(w);
                if unknown as usize >= own {
                    borders.push((unknown, k as u32, w));
                }
            }
            pairs.starts.push(pairs.neighbors.len() as u32);
        }
        borders.sort_by_key(|b| b.0);
        let mut borders = borders.into_iter().peekable();
        for k in own..region.count {
            while let Some((_, to, w)) = borders.next_if(|b| b.0 as usize == k) {
                pairs.neighbors.push(to);
                pairs.weights.push(w);
            }
            pairs.starts.push(pairs.neighbors.len() as u32);
        }
        pairs
    }

    fn list(&self, k: usize) -> List<'_> {
        let range = self.starts[k] as usize..self.starts[k + 1] as usize;
        List { neighbors: &self.neighbors[range.clone()], weights: &self.weights[range], wide: self.wide }
    }
}

/// 2 Σ w (q_i - q_j).
fn apply<'a>(list: &(impl Fn(usize) -> List<'a> + Sync), totals: &[f32], q: &[Vec3A], out: &mut Vec<Vec3A>) {
    let one = |i: usize| (q[i] * totals[i] - list(i).vectors(q)) * 2.0;
    (0..q.len()).into_par_iter().with_min_len(CHUNK).map(one).collect_into_vec(out);
}

fn per_axis(a: &[Vec3A], b: &[Vec3A]) -> DVec3 {
    a.iter().zip(b).fold(DVec3::ZERO, |sum, (a, b)| sum + (*a * *b).as_dvec3())
}

/// a/b where b is positive, else 0: an axis that is solved stands still.
fn ratio(a: DVec3, b: DVec3) -> DVec3 {
    DVec3::from_array([0, 1, 2].map(|c| if b[c] > 0.0 { a[c] / b[c] } else { 0.0 }))
}
