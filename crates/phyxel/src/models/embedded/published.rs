//! `law = "published"`: the method as in [War12], with what is wrong in print put right, for comparison.
//!
//! The 32 nearest neighbors in embedded space, faded in and out over ten steps; a permanent prior λ F_prev in the fit; flow, an embedding of
//! all positions and a new fit of P in every step in which anything flows. Neither pressure nor anchoring: soft matter clumps, and
//! its rest shape drifts (`docs/methods/embedded.md`). All in f64.

use super::matter::Matter;
use super::part::Flowed;
use crate::conjugate_gradient::{Stop, solve_per_axis};
use crate::linalg::{double_dot, outer, trace};
use crate::neighbors::Grid;
use glam::{DMat3, DVec3};
use rayon::prelude::*;

/// Neighbors of a point.
const NEIGHBORS: usize = 32;
/// Support over the mean distance of the neighbors at the start.
const SUPPORT: f64 = 2.0;
/// λ in squared distances of nearest neighbors.
const PRIOR: f64 = 0.2;
/// Range of the singular values of P.
const PLASTIC: f64 = 1.5;
/// Change of a pair's fade per step.
const FADE: f64 = 0.1;
const EMBEDDING: Stop = Stop { tolerance: 1e-5, max_iterations: 60 };

/// Neighborhoods that are not the same from both sides, and what is fitted on them; all indices are those of a body.
#[derive(Debug, Clone, Default)]
pub struct Published {
    /// First pair of each point; one more entry than points.
    pub starts: Vec<u32>,
    /// Neighbor of each pair.
    pub neighbors: Vec<u32>,
    /// How much of a pair counts, 0 to 1, and whether it grows.
    pub fades: Vec<f64>,
    /// Support of each point [m].
    pub supports: Vec<f64>,
    /// λ of each point [m²].
    pub priors: Vec<f64>,
    /// Pairs of others that hold a point: (whose, pair), by point.
    incoming: Vec<Vec<(u32, u32)>>,
    /// P of each point.
    pub plastics: Vec<DMat3>,
    /// F of each point after the last step.
    pub previous: Vec<DMat3>,
    /// Scratch of a step.
    pub(super) fits: Vec<PublishedFit>,
}

/// What a step found at a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PublishedFit {
    /// A = λ I + Σ w u uᵀ [m²].
    pub moment: DMat3,
    /// F before flow.
    pub gradient: DMat3,
    /// Fₚ of the step.
    pub plastic: DMat3,
    /// Elastic deformation after flow.
    pub elastic: DMat3,
    /// v PK Fₚ⁻ᵀ A⁻¹ [N/m].
    pub pull: DMat3,
    /// κ of the control of zero-energy modes [N/m].
    pub control: f64,
}

impl Published {
    /// The method at the start, on embedded positions [m].
    pub fn new(embedded: &[DVec3]) -> Self {
        let count = embedded.len();
        let rough = crate::geometry::Bounds::of(embedded.iter().copied()).size().max_element();
        let grid = Grid::new(embedded, (rough / (count as f64).cbrt()).max(f64::MIN_POSITIVE));
        let around: Vec<Vec<(usize, f64)>> =
            (0..count).into_par_iter().map(|i| nearest(&grid, embedded[i], i, NEIGHBORS)).collect();
        let mean = |list: &Vec<(usize, f64)>| list.iter().map(|n| n.1).sum::<f64>() / list.len().max(1) as f64;
        let first = |list: &Vec<(usize, f64)>| list.first().map_or(0.0, |n| n.1);
        let closest = around.iter().map(first).sum::<f64>() / count.max(1) as f64;
        let mut published = Self {
            supports: around.iter().map(|list| SUPPORT * mean(list)).collect(),
            priors: vec![PRIOR * closest * closest; count],
            plastics: vec![DMat3::IDENTITY; count],
            previous: vec![DMat3::IDENTITY; count],
            ..Self::default()
        };
        let lists = around.iter().map(|list| list.iter().map(|n| (n.0 as u32, 1.0)).collect());
        published.set_lists(lists.collect());
        published
    }

    /// Takes over lists of neighbors and their fades.
    pub fn set_lists(&mut self, lists: Vec<Vec<(u32, f64)>>) {
        self.starts = vec![0];
        self.neighbors.clear();
        self.fades.clear();
        self.incoming = vec![Vec::new(); lists.len()];
        for (i, mut list) in lists.into_iter().enumerate() {
            list.sort_unstable_by_key(|n| n.0);
            for (j, fade) in list {
                self.incoming[j as usize].push((i as u32, self.neighbors.len() as u32));
                self.neighbors.push(j);
                self.fades.push(fade);
            }
            self.starts.push(self.neighbors.len() as u32);
        }
    }

    fn pairs(&self, i: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let range = self.starts[i] as usize..self.starts[i + 1] as usize;
        range.map(|k| (k, self.neighbors[k] as usize))
    }

    /// Weight of a pair of point i.
    pub fn weight(&self, i: usize, pair: usize, embedded: &[DVec3]) -> f64 {
        let j = self.neighbors[pair] as usize;
        let q = 1.0 - embedded[i].distance_squared(embedded[j]) / (self.supports[i] * self.supports[i]);
        q.max(0.0).powi(3) * self.fades[pair]
    }

    /// A and F of a point, [War12] eqs. 3.13 and 3.14, and the sum of the weights.
    pub fn fit(&self, i: usize, world: &[DVec3], embedded: &[DVec3]) -> (DMat3, DMat3, f64) {
        let lambda = self.priors[i];
        let (mut moment, mut moved) = (DMat3::from_diagonal(DVec3::splat(lambda)), self.previous[i] * lambda);
        let mut sum = 0.0;
        for (k, j) in self.pairs(i) {
            let w = self.weight(i, k, embedded);
            let u = self.plastics[i] * (embedded[j] - embedded[i]);
            moment += outer(u, u * w);
            moved += outer(world[j] - world[i], u * w);
            sum += w;
        }
        (moment, moved * moment.inverse(), sum)
    }

    /// One step of flow over `dt` [s]: fits, flow and what is sent. `flows` is the accumulated flow of each point, by which it hardens.
    pub fn deform(
        &mut self,
        matter: &Matter,
        volumes: &[f64],
        [world, embedded]: [&[DVec3]; 2],
        dt: f64,
        flows: &[f64],
    ) -> Flowed {
        let one = |i: usize| {
            let (moment, gradient, _) = self.fit(i, world, embedded);
            let hardened = Matter { yield_stress: matter.limit(flows[i]), ..*matter };
            let flow = hardened.published_flow(gradient, dt, 0.0, 0.0);
            let inverse = moment.inverse();
            let pull = flow.stress * flow.plastic.inverse().transpose() * inverse * volumes[i];
            let control = matter.control * matter.young * volumes[i] / trace(moment);
            let fit = PublishedFit { moment, gradient, plastic: flow.plastic, elastic: flow.elastic, pull, control };
            let flowed = flow.plastic - DMat3::IDENTITY;
            let taken = if flow.gamma > 0.0 { double_dot(flow.elastic.transpose() * flow.stress, flowed) } else { 0.0 };
            (fit, taken * volumes[i], flow.gamma > 0.0)
        };
        let all: Vec<_> = (0..volumes.len()).into_par_iter().map(one).collect();
        let mut sum = Flowed::default();
        self.fits.clear();
        for (fit, taken, flows) in all {
            let strain = fit.elastic.transpose() * fit.elastic - DMat3::IDENTITY;
            self.fits.push(fit);
            sum.dissipated += taken;
            sum.any |= flows;
            sum.strain = sum.strain.max(0.5 * double_dot(strain, strain).sqrt());
        }
        sum
    }

    /// Forces [N], [War12] eq. 3.24 with factor one, and the control of zero-energy modes.
    pub fn add_forces(&self, [world, embedded]: [&[DVec3]; 2], forces: &mut [DVec3]) {
        let pull = |i: usize, k: usize, j: usize| {
            let (fit, w) = (&self.fits[i], self.weight(i, k, embedded));
            let u = self.plastics[i] * (embedded[j] - embedded[i]);
            let left = world[j] - world[i] - fit.gradient * u;
            (fit.pull * u + left * fit.control) * w
        };
        forces.par_iter_mut().enumerate().for_each(|(i, force)| {
            let own: DVec3 = self.pairs(i).map(|(k, j)| pull(i, k, j)).sum();
            let others: DVec3 = self.incoming[i].iter().map(|&(j, k)| pull(j as usize, k as usize, i)).sum();
            *force += own - others;
        });
    }

    /// Elastic energy with that of the control, at given positions, without flow [J].
    pub fn energy(&self, matter: &Matter, volumes: &[f64], [world, embedded]: [&[DVec3]; 2]) -> f64 {
        let one = |i: usize| {
            let (moment, gradient, _) = self.fit(i, world, embedded);
            let control = matter.control * matter.young * volumes[i] / trace(moment);
            let left = |(k, j): (usize, usize)| {
                let u = self.plastics[i] * (embedded[j] - embedded[i]);
                self.weight(i, k, embedded) * (world[j] - world[i] - gradient * u).length_squared()
            };
            let squares: f64 = self.pairs(i).map(left).sum();
            volumes[i] * matter.energy_density(super::svd::Svd::new(gradient).sigma) + 0.5 * control * squares
        };
        let all: Vec<f64> = (0..volumes.len()).into_par_iter().map(one).collect();
        all.iter().sum()
    }

    /// New embedded positions by least squares with the mean kept, [War12] eqs. 3.25 and 3.26: all of them, or (which [War12] does not)
    /// the increment that Fₚ asks for.
    pub fn embed(&self, plastics: &[DMat3], embedded: &[DVec3], incremental: bool, stop: Stop) -> Vec<DVec3> {
        let target = |i: usize, j: usize| {
            let e = embedded[j] - embedded[i];
            let kept = if incremental { plastics[i] - DMat3::IDENTITY } else { plastics[i] };
            kept * (self.plastics[i] * e)
        };
        let count = embedded.len();
        let weights: Vec<f64> = (0..count)
            .flat_map(|i| self.pairs(i).map(move |p| (i, p.0)))
            .map(|(i, k)| self.weight(i, k, embedded))
            .collect();
        let right = |i: usize| {
            let own: DVec3 = self.pairs(i).map(|(k, j)| target(i, j) * weights[k]).sum();
            let others = self.incoming[i].iter().map(|&(j, k)| target(j as usize, i) * weights[k as usize]);
            others.sum::<DVec3>() - own
        };
        let apply = |q: &[DVec3], out: &mut [DVec3]| {
            out.par_iter_mut().enumerate().for_each(|(i, out)| {
                let own: DVec3 = self.pairs(i).map(|(k, j)| (q[i] - q[j]) * weights[k]).sum();
                let others = self.incoming[i].iter().map(|&(j, k)| (q[i] - q[j as usize]) * weights[k as usize]);
                *out = own + others.sum::<DVec3>();
            });
        };
        let mut start = vec![DVec3::ZERO; count];
        if !incremental {
            apply(embedded, &mut start);
        }
        let rights: Vec<DVec3> = (0..count).map(|i| right(i) - start[i]).collect();
        let diagonal = |i: usize| {
            let own: f64 = self.pairs(i).map(|(k, _)| weights[k]).sum();
            let others: f64 = self.incoming[i].iter().map(|&(_, k)| weights[k as usize]).sum();
            if own + others > 0.0 { 1.0 / (own + others) } else { 0.0 }
        };
        let inverse: Vec<f64> = (0..count).map(diagonal).collect();
        let (change, _) = solve_per_axis(apply, &inverse, &rights, stop);
        let mean = change.iter().sum::<DVec3>() / count.max(1) as f64;
        embedded.iter().zip(change).map(|(e, c)| *e + c - mean).collect()
    }

    /// P of a point at new embedded positions, [War12] eq. 3.28: the least-squares fit of the flowed rest vectors.
    pub fn refit(&self, i: usize, plastic: DMat3, old: &[DVec3], new: &[DVec3], prior: f64) -> DMat3 {
        let mut moment = DMat3::from_diagonal(DVec3::splat(prior));
        let mut moved = self.plastics[i] * prior;
        for (k, j) in self.pairs(i) {
            let (w, e) = (self.weight(i, k, old), new[j] - new[i]);
            moved += outer(plastic * (self.plastics[i] * (old[j] - old[i])), e * w);
            moment += outer(e, e * w);
        }
        moved * moment.inverse()
    }

    /// After a step in which something flowed: new embedded positions, P and F of the last step.
    pub fn follow(&mut self, embedded: &mut Vec<DVec3>) {
        let plastics: Vec<DMat3> = self.fits.iter().map(|f| f.plastic).collect();
        let new = self.embed(&plastics, embedded, false, EMBEDDING);
        let one = |i: usize| {
            let fitted = self.refit(i, plastics[i], embedded, &new, self.priors[i]);
            super::stencils::clamp_stretches(fitted, 1.0 / PLASTIC, PLASTIC).0
        };
        self.plastics = (0..new.len()).into_par_iter().map(one).collect();
        *embedded = new;
    }

    /// Ends a step: F is kept, pairs fade.
    pub fn end_step(&mut self, embedded: &[DVec3], flows: bool) {
        for (previous, fit) in self.previous.iter_mut().zip(&self.fits) {
            *previous = fit.gradient * fit.plastic.inverse();
        }
        if flows || self.fades.iter().any(|f| *f < 1.0) {
            self.fade(embedded);
        }
    }

    /// The 32 nearest within the support fade in, others out.
    fn fade(&mut self, embedded: &[DVec3]) {
        let largest = self.supports.iter().copied().fold(0.0, f64::max);
        let grid = Grid::new(embedded, largest.max(f64::MIN_POSITIVE));
        let one = |i: usize| {
            let near = nearest(&grid, embedded[i], i, NEIGHBORS);
            let wanted: Vec<u32> = near.iter().filter(|n| n.1 < self.supports[i]).map(|n| n.0 as u32).collect();
            let mut list: Vec<(u32, f64)> = Vec::with_capacity(wanted.len() + 8);
            for (k, j) in self.pairs(i) {
                let step = if wanted.contains(&(j as u32)) { FADE } else { -FADE };
                let fade = (self.fades[k] + step).min(1.0);
                if fade > 0.0 {
                    list.push((j as u32, fade));
                }
            }
            let known: Vec<u32> = list.iter().map(|n| n.0).collect();
            list.extend(wanted.into_iter().filter(|j| !known.contains(j)).map(|j| (j, FADE)));
            list
        };
        let lists = (0..embedded.len()).into_par_iter().map(one).collect();
        self.set_lists(lists);
    }
}

/// Volume of a point before calibration [m³], [War12] eq. 3.15 with a guard against few neighbors.
pub fn published_volume(moment: DMat3, weights: f64, guard: f64) -> f64 {
    (moment.determinant() / (guard + weights.powi(3))).sqrt()
}

/// The nearest other points and their distances [m], nearest first.
fn nearest(grid: &Grid, at: DVec3, itself: usize, count: usize) -> Vec<(usize, f64)> {
    let found = grid.k_nearest(at, count + 1);
    found.into_iter().filter(|n| n.0 != itself).take(count).map(|(j, r2)| (j, r2.sqrt())).collect()
}
