//! Neighborhoods in embedded space: who, with which weight, and the inverse of the moment matrix.
//!
//! All neighbors within the support take part, with weights ŵ = (1 - r²/h²)³ of the embedded distance that fall to zero smoothly, so
//! that nothing jumps when neighbors come and go. Departs from [War12] 3.2, which takes the 32 nearest and fades them in and out.
//! The support of a pair is the mean of those of its points: weights are the same from both sides.
//!
//! Matter that has flowed may lie anywhere in embedded space once it is torn off. Weights of pairs that are far apart in the world,
//! beyond what the elastic stretch allows, therefore fade: `cut`.

use super::guards::{Guard, on};
use super::region::Region;
use super::sums::{List, columns, mean, wide_available};
use super::svd::Svd;
use crate::linalg::{SymmetricEigen, cofactor, double_dot, trace};
use crate::neighbors::Neighborhoods;
use glam::{DMat3, DVec3, Mat3A, Vec3A};
use rayon::prelude::*;

/// Support radius in spacings.
pub const SUPPORT: f64 = 2.3;
/// Candidates are listed this much beyond, in spacings.
const SKIN: f64 = 0.3;
/// Least eigenvalue of the moment matrix in squared spacings: what a point alone would have.
const LEAST_MOMENT: f64 = 0.5;
/// World distance at which pairs begin to be cut, and at which they are cut, in supports.
const CUT: [f32; 2] = [1.77, 2.5];
/// The same for matter that is broken.
const BROKEN_CUT: [f32; 2] = [0.55, 0.75];
/// Weights below this are none.
const LEAST_WEIGHT: f32 = 1e-6;
/// Points per parallel task.
pub(super) const CHUNK: usize = 256;

/// What the weights depend on beside the embedded positions.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Look {
    /// World position [m].
    pub position: DVec3,
    /// How much the point has flowed, 0 to 1.
    pub flowed: f64,
    /// Largest elastic stretch.
    pub stretch: f64,
    /// Whether it is broken.
    pub broken: bool,
}

/// A point in the world and in embedded space, each relative to the mean of its body [m].
#[derive(Debug, Clone, Copy, Default)]
pub struct Place {
    /// In the world.
    pub world: Vec3A,
    /// In embedded space.
    pub embedded: Vec3A,
}

/// Neighborhoods of the points of one body; all indices are its own.
#[derive(Debug, Clone, Default)]
pub struct Stencils {
    /// First entry of each point; one more entry than points.
    pub starts: Vec<u32>,
    /// Neighbors, ascending.
    pub neighbors: Vec<u32>,
    /// Their weights.
    pub weights: Vec<f32>,
    /// Inverse of M = Λ + Σ w e eᵀ [1/m²].
    pub inverses: Vec<DMat3>,
    /// Λ [m²]: what the sum lacks in directions that neighbors do not see; zero unless they are few or in a plane.
    pub priors: Vec<DMat3>,
    /// Trace of M [m²].
    pub traces: Vec<f64>,
    /// Σ w e [m] and Σ w of each point.
    pub(super) sums: Vec<(Vec3A, f32)>,
    /// Whether the processor has wide vectors.
    pub(super) wide: bool,
    /// Who may come near, and the embedded positions at which that was found [m].
    candidates: Neighborhoods,
    anchors: Vec<DVec3>,
}

/// Rows of a few points.
#[derive(Default)]
struct Rows {
    ends: Vec<u32>,
    neighbors: Vec<u32>,
    weights: Vec<f32>,
    moments: Vec<Moments>,
}

/// M⁻¹, Λ, the trace of M, and sums of weighted vectors and weights.
struct Moments {
    inverse: DMat3,
    prior: DMat3,
    trace: f64,
    sums: (Vec3A, f32),
}

impl Stencils {
    /// Finds the neighborhoods at the embedded positions [m]; `places` are the same in f32.
    pub fn update(&mut self, embedded: &[DVec3], places: &[Place], spacings: &[f64], look: &[Look]) {
        self.update_in(None, embedded, places, spacings, look);
    }

    /// The same after points of a region moved; returns whose neighborhoods were found, others are as they were.
    pub(super) fn update_in(
        &mut self,
        region: Option<&Region>,
        embedded: &[DVec3],
        places: &[Place],
        spacings: &[f64],
        look: &[Look],
    ) -> Vec<bool> {
        self.wide = wide_available();
        self.find_candidates(embedded, spacings);
        let touched = match region {
            Some(region) => self.touched(region, look),
            None => vec![true; embedded.len()],
        };
        let count = embedded.len();
        let (this, candidates, looks) = (&*self, &self.candidates, Looks::new(look));
        let rows: Vec<Rows> = (0..count.div_ceil(CHUNK))
            .into_par_iter()
            .map(|chunk| {
                let mut rows = Rows::default();
                for i in chunk * CHUNK..count.min((chunk + 1) * CHUNK) {
                    match touched[i] {
                        true => rows.add(i, candidates, places, spacings, &looks),
                        false => rows.keep(i, this),
                    }
                }
                rows
            })
            .collect();
        self.inverses.clear();
        self.priors.clear();
        self.traces.clear();
        self.sums.clear();
        self.starts.clear();
        self.starts.push(0);
        self.neighbors.clear();
        self.weights.clear();
        for row in rows {
            let first = self.neighbors.len() as u32;
            self.starts.extend(row.ends.iter().map(|e| e + first));
            self.neighbors.extend_from_slice(&row.neighbors);
            self.weights.extend_from_slice(&row.weights);
            for moments in row.moments {
                self.inverses.push(moments.inverse);
                self.priors.push(moments.prior);
                self.traces.push(moments.trace);
                self.sums.push(moments.sums);
            }
        }
        touched
    }

    /// Whose neighborhood changes: points of the region and who is near them or was, or near what moves otherwise; and where matter has
    /// flowed, for weights depend on the world there.
    fn touched(&self, region: &Region, look: &[Look]) -> Vec<bool> {
        let mut touched = vec![false; region.unknowns.len()];
        let alone = region.count == region.points.len() + 1;
        for i in 0..touched.len() {
            let moves = region.moves(i);
            if moves || look[i].flowed > 0.0 {
                touched[i] = true;
                self.candidates.of(i).for_each(|j| touched[j] = true);
            } else if !alone {
                touched[i] |= self.candidates.of(i).any(|j| region.unknowns[j] != region.unknowns[i]);
            }
            if moves {
                self.list(i).neighbors.iter().for_each(|&j| touched[j as usize] = true);
            }
        }
        touched
    }

    fn find_candidates(&mut self, embedded: &[DVec3], spacings: &[f64]) {
        let least = spacings.iter().copied().fold(f64::INFINITY, f64::min);
        let limit = (0.5 * SKIN * least).powi(2);
        // What all points have in common moves nobody nearer to another.
        let common = mean(embedded) - mean(&self.anchors);
        let fresh = self.anchors.len() == embedded.len()
            && embedded.iter().zip(&self.anchors).all(|(e, a)| (*e - *a - common).length_squared() <= limit);
        if fresh {
            return;
        }
        let radii: Vec<f64> = spacings.iter().map(|a| SUPPORT * a + SKIN * least).collect();
        self.candidates = Neighborhoods::with_radii(embedded, &radii);
        self.anchors.clear();
        self.anchors.extend_from_slice(embedded);
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Neighbors of a point and their weights.
    #[inline]
    pub fn of(&self, i: usize) -> impl ExactSizeIterator<Item = (usize, f32)> + Clone + '_ {
        let range = self.starts[i] as usize..self.starts[i + 1] as usize;
        self.neighbors[range.clone()].iter().zip(&self.weights[range]).map(|(&j, &w)| (j as usize, w))
    }

    /// How much is lacking in the moments of a point, 0 to 1: 1 in a sheet one point thick.
    #[inline]
    pub(super) fn thinness(&self, i: usize, spacing: f64) -> f32 {
        let lacking = self.priors[i];
        if lacking == DMat3::ZERO { 0.0 } else { (trace(lacking) / (LEAST_MOMENT * spacing * spacing)).min(1.0) as f32 }
    }

    /// The list of a point.
    #[inline]
    pub(super) fn list(&self, i: usize) -> List<'_> {
        let range = self.starts[i] as usize..self.starts[i + 1] as usize;
        List { neighbors: &self.neighbors[range.clone()], weights: &self.weights[range], wide: self.wide }
    }

    /// The gradient G of world over embedded positions; `prior` counts where neighbors are too few.
    #[inline]
    pub fn gradient(&self, i: usize, places: &[Place], prior: DMat3) -> DMat3 {
        let sum = columns(&self.list(i).moments(places, places[i]));
        let lacking = self.priors[i];
        (if lacking == DMat3::ZERO { sum } else { sum + prior * lacking }) * self.inverses[i]
    }
}

impl Rows {
    /// The row of a point as it was.
    fn keep(&mut self, i: usize, from: &Stencils) {
        let list = from.list(i);
        self.neighbors.extend_from_slice(list.neighbors);
        self.weights.extend_from_slice(list.weights);
        self.ends.push(self.neighbors.len() as u32);
        let (inverse, prior) = (from.inverses[i], from.priors[i]);
        self.moments.push(Moments { inverse, prior, trace: from.traces[i], sums: from.sums[i] });
    }

    fn add(&mut self, i: usize, candidates: &Neighborhoods, places: &[Place], spacings: &[f64], looks: &Looks) {
        let (at, own) = (places[i].embedded, spacings[i]);
        let (mut a, mut b, mut c) = (Vec3A::ZERO, Vec3A::ZERO, Vec3A::ZERO);
        let mut sums = (Vec3A::ZERO, 0.0);
        for j in candidates.of(i) {
            let support = (0.5 * SUPPORT * (own + spacings[j])) as f32;
            let to = places[j].embedded - at;
            let q = 1.0 - to.length_squared() / (support * support);
            if q <= 0.0 {
                continue;
            }
            let w = q * q * q * looks.cut(i, j, support);
            if w > LEAST_WEIGHT {
                self.neighbors.push(j as u32);
                self.weights.push(w);
                let weighted = to * w;
                sums = (sums.0 + weighted, sums.1 + w);
                a += weighted * to.x;
                b += weighted * to.y;
                c += weighted * to.z;
            }
        }
        self.ends.push(self.neighbors.len() as u32);
        let sum = DMat3::from_cols(a.as_dvec3(), b.as_dvec3(), c.as_dvec3());
        let least = LEAST_MOMENT * own * own;
        let prior = prior(sum, least);
        let whole = sum + prior;
        self.moments.push(Moments { inverse: whole.inverse(), prior, trace: trace(whole), sums });
    }
}

/// What each eigenvalue lacks to the least one.
fn prior(sum: DMat3, least: f64) -> DMat3 {
    // λ₁ = det / (λ₂ λ₃) and λ₂ λ₃ is at most a quarter of the square of their sum: most points need no more.
    let whole = trace(sum);
    if 4.0 * sum.determinant() > least * whole * whole {
        return DMat3::ZERO;
    }
    SymmetricEigen::new(sum).map(|value| (least - value).clamp(0.0, least))
}

/// Looks relative to the mean position, in f32.
struct Looks {
    all: Vec<(Vec3A, f32, f32, bool)>,
    /// Whether none has flowed.
    none: bool,
}

impl Looks {
    fn new(looks: &[Look]) -> Self {
        let mean = looks.iter().map(|l| l.position).sum::<DVec3>() / looks.len().max(1) as f64;
        let single = |l: &Look| ((l.position - mean).as_vec3a(), l.flowed as f32, l.stretch as f32, l.broken);
        Self { all: looks.iter().map(single).collect(), none: looks.iter().all(|l| l.flowed == 0.0) }
    }

    /// How much of a pair is left at its distance in the world.
    #[inline]
    fn cut(&self, i: usize, j: usize, support: f32) -> f32 {
        if self.none || !on(Guard::Cut) {
            return 1.0;
        }
        let (a, b) = (&self.all[i], &self.all[j]);
        let flowed = a.1.max(b.1);
        let broken = a.3 || b.3;
        let near = CUT[0] * support;
        let distance2 = a.0.distance_squared(b.0);
        if flowed == 0.0 || (!broken && distance2 <= near * near) {
            return 1.0;
        }
        let distance = distance2.sqrt() / support;
        let within = |limits: [f32; 2], stretch: f32| {
            let t = ((distance / stretch - limits[0]) / (limits[1] - limits[0])).clamp(0.0, 1.0);
            1.0 - t * t * (3.0 - 2.0 * t)
        };
        let far = 1.0 - flowed * (1.0 - within(CUT, a.2.max(b.2).max(1.0)));
        if broken { far * within(BROKEN_CUT, 1.0) } else { far }
    }
}

/// Matrix with columns in f32.
#[inline]
pub(super) fn single(m: DMat3) -> Mat3A {
    Mat3A::from_cols(m.x_axis.as_vec3a(), m.y_axis.as_vec3a(), m.z_axis.as_vec3a())
}

/// The matrix with its singular values kept in a range, and whether that changed it.
pub(super) fn clamp_stretches(m: DMat3, least: f64, most: f64) -> (DMat3, bool) {
    // A quick test: all is well when the squared norms of the matrix and of its inverse allow it.
    let determinant = m.determinant();
    if determinant > 0.0 {
        let cofactor = cofactor(m);
        let inverse = double_dot(cofactor, cofactor) / (determinant * determinant);
        if double_dot(m, m) <= most * most && inverse <= 1.0 / (least * least) {
            return (m, false);
        }
    }
    let svd = Svd::new(m);
    let kept = svd.sigma.clamp(DVec3::splat(least), DVec3::splat(most));
    if kept == svd.sigma { (m, false) } else { (svd.with(kept), true) }
}
