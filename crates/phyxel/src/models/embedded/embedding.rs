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
use glam::{DMat3, DVec3, Mat3A, Vec3A};
use rayon::prelude::*;

/// When the solve is good enough, relative to the start, and after how many iterations at most: what it leaves is in P.
const TOLERANCE: f64 = 1e-2;
const ITERATIONS: usize = 15;

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
        self.begin(stencils, targets, places);
        // Three systems at once; each axis has its own numbers.
        let [start, mut rz] = self.products();
        let wanted = start * (self.tolerance * self.tolerance);
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
        self.change.iter().map(|c| c.as_dvec3()).collect()
    }

    fn begin(&mut self, stencils: &Stencils, targets: &[Target], places: &[Place]) {
        let right = |i: usize| {
            let (own, at) = (&targets[i], places[i]);
            let (mut sum, mut diagonal) = (Vec3A::ZERO, 0.0);
            for (j, w) in stencils.of(i) {
                let other = &targets[j];
                let to = (places[j].embedded - at.embedded, places[j].world - at.world);
                let wanted = (own.a + other.a) * to.0 + (own.b + other.b) * to.1;
                sum -= wanted * w;
                diagonal += 2.0 * w;
            }
            (sum, if diagonal > 0.0 { 1.0 / diagonal } else { 0.0 })
        };
        let all: Vec<(Vec3A, f32)> = (0..targets.len()).into_par_iter().with_min_len(CHUNK).map(right).collect();
        (self.right, self.inverse) = all.into_iter().unzip();
        self.change.clear();
        self.change.resize(targets.len(), Vec3A::ZERO);
        self.direction.clear();
        self.direction.extend(self.right.iter().zip(&self.inverse).map(|(r, i)| *r * *i));
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
        let sum = stencils.of(i).fold(Vec3A::ZERO, |sum, (j, w)| sum + (own - q[j]) * w);
        sum * 2.0
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
