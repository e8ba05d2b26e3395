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

use super::stencils::{CHUNK, Place, Stencils, single};
use super::sums::{pack, times, vector};
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
        self.begin(stencils, targets, places);
        // Three systems at once; each axis has its own numbers.
        let [start, _] = self.products();
        let wanted = start * (self.tolerance * self.tolerance);
        self.begin_with(last, stencils, start);
        let [_, mut rz] = self.products();
        self.spent = 0;
        for _ in 0..self.iterations {
            apply(stencils, &self.direction, &mut self.image);
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
        &self.change
    }

    /// Takes the last changes for a start where that leaves less to be done than nothing does.
    fn begin_with(&mut self, last: &[Vec3A], stencils: &Stencils, start: DVec3) {
        if last.len() == self.right.len() {
            apply(stencils, last, &mut self.image);
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

    fn begin(&mut self, stencils: &Stencils, targets: &[Target], places: &[Place]) {
        let record = |(target, place): (&Target, &Place)| -> [Row; 3] {
            let wanted = target.a * place.embedded + target.b * place.world;
            let matrices = [target.a, target.b].into_iter().flat_map(|m| m.to_cols_array());
            pack(matrices.chain(wanted.to_array()).chain(place.world.to_array()))
        };
        let records = &mut self.records;
        records.clear();
        records.par_extend(targets.par_iter().zip(places).with_min_len(CHUNK).map(record));
        let records = &self.records;
        let right = |i: usize| {
            let (own, Place { world, embedded }) = (&records[i], places[i]);
            let sum = stencils.list(i).records(records);
            let (apart, weight) = stencils.sums[i];
            let straight = vector(&sum, WORLD) - world * weight;
            let own = times(own, 0, apart) + times(own, 9, straight);
            let others = vector(&sum, WANTED) - times(&sum, 0, embedded) - times(&sum, 9, world);
            (-own - others, if weight > 0.0 { 0.5 / weight } else { 0.0 })
        };
        let all: Vec<(Vec3A, f32)> = (0..targets.len()).into_par_iter().with_min_len(CHUNK).map(right).collect();
        (self.right, self.inverse) = all.into_iter().unzip();
        self.change.clear();
        self.change.resize(targets.len(), Vec3A::ZERO);
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

/// 2 Σ w (q_i - q_j).
fn apply(stencils: &Stencils, q: &[Vec3A], out: &mut Vec<Vec3A>) {
    let one = |i: usize| {
        let own = q[i];
        (own * stencils.sums[i].1 - stencils.list(i).vectors(q)) * 2.0
    };
    (0..q.len()).into_par_iter().with_min_len(CHUNK).map(one).collect_into_vec(out);
}

fn per_axis(a: &[Vec3A], b: &[Vec3A]) -> DVec3 {
    a.iter().zip(b).fold(DVec3::ZERO, |sum, (a, b)| sum + (*a * *b).as_dvec3())
}

/// a/b where b is positive, else 0: an axis that is solved stands still.
fn ratio(a: DVec3, b: DVec3) -> DVec3 {
    DVec3::from_array([0, 1, 2].map(|c| if b[c] > 0.0 { a[c] / b[c] } else { 0.0 }))
}
