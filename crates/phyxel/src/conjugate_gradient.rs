//! Conjugate gradients on arrays of 3-vectors, with the same bits on any number of threads.
//!
//! Sums run over chunks of fixed size whose results are added in order, so that the number of threads never shows.

use glam::DVec3;
use rayon::prelude::*;
use std::ops::{Add, Range};

/// Number of entries summed by one task.
pub const CHUNK: usize = 1024;

/// Sums `part(range)` over `0..len` cut into fixed chunks; chunk results are added serially, in order.
pub fn chunked_sum<T>(len: usize, zero: T, part: impl Fn(Range<usize>) -> T + Sync) -> T
where
    T: Add<Output = T> + Send + Copy,
{
    let range = |chunk: usize| chunk * CHUNK..len.min((chunk + 1) * CHUNK);
    let chunks = len.div_ceil(CHUNK);
    if chunks < 4 {
        return (0..chunks).fold(zero, |sum, chunk| sum + part(range(chunk)));
    }
    let parts: Vec<T> = (0..chunks).into_par_iter().map(|chunk| part(range(chunk))).collect();
    parts.into_iter().fold(zero, |sum, value| sum + value)
}

/// Σ a·b.
pub fn dot(a: &[DVec3], b: &[DVec3]) -> f64 {
    chunked_sum(a.len(), 0.0, |range| a[range.clone()].iter().zip(&b[range]).map(|(a, b)| a.dot(*b)).sum())
}

/// Σ a b, component by component.
pub fn dot_per_axis(a: &[DVec3], b: &[DVec3]) -> DVec3 {
    chunked_sum(a.len(), DVec3::ZERO, |range| a[range.clone()].iter().zip(&b[range]).map(|(a, b)| *a * *b).sum())
}

/// How a solve ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// Applications of the operator.
    pub iterations: usize,
    /// Residual norm over its value at the start (the largest over the axes, if solved per axis).
    pub residual: f64,
    /// Whether `residual` reached the wanted tolerance.
    pub converged: bool,
}

/// When to stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stop {
    /// Wanted residual norm over its value at the start.
    pub tolerance: f64,
    /// Most applications of the operator.
    pub max_iterations: usize,
}

/// Solves H q = right for the three components at once, each its own system with the same scalar operator.
///
/// `apply` writes H times its first argument. H is symmetric positive semidefinite and `right` must be free of its null
/// space. Starts from 0; if the tolerance is not reached the best iterate met is returned.
pub fn solve_per_axis(
    mut apply: impl FnMut(&[DVec3], &mut [DVec3]),
    inverse_diagonal: &[f64],
    right: &[DVec3],
    stop: Stop,
) -> (Vec<DVec3>, Outcome) {
    let n = right.len();
    let (mut q, mut r) = (vec![DVec3::ZERO; n], right.to_vec());
    let (mut p, mut image) = (vec![DVec3::ZERO; n], vec![DVec3::ZERO; n]);
    let [mut rz, start] = descend_per_axis(&mut q, &mut r, &p, &image, DVec3::ZERO, inverse_diagonal);
    turn_per_axis(&mut p, &r, inverse_diagonal, DVec3::ZERO);
    let relative = |norm: DVec3| (0..3).map(move |c| if start[c] > 0.0 { (norm[c] / start[c]).sqrt() } else { 0.0 });
    let (mut best, mut best_residual) = (q.clone(), 1.0_f64);
    let mut residual = relative(start).fold(0.0, f64::max);
    let mut iterations = 0;
    while residual > stop.tolerance && iterations < stop.max_iterations {
        apply(&p, &mut image);
        iterations += 1;
        let curvature = dot_per_axis(&p, &image);
        // An axis that is solved, or has no curvature left, stands still.
        let step = DVec3::from_array([0, 1, 2].map(|c| if curvature[c] > 0.0 { rz[c] / curvature[c] } else { 0.0 }));
        if step == DVec3::ZERO {
            break;
        }
        let [next, norm] = descend_per_axis(&mut q, &mut r, &p, &image, step, inverse_diagonal);
        let turn = DVec3::from_array([0, 1, 2].map(|c| if rz[c] > 0.0 { next[c] / rz[c] } else { 0.0 }));
        rz = next;
        turn_per_axis(&mut p, &r, inverse_diagonal, turn);
        residual = relative(norm).fold(0.0, f64::max);
        if residual < 0.5 * best_residual || residual <= stop.tolerance {
            best_residual = residual;
            best.copy_from_slice(&q);
        }
    }
    let converged = residual <= stop.tolerance;
    (best, Outcome { iterations, residual: if converged { residual } else { best_residual }, converged })
}

/// Steps q along p and updates the residual; returns its products with its preconditioned form and with itself.
fn descend_per_axis(
    q: &mut [DVec3],
    r: &mut [DVec3],
    p: &[DVec3],
    image: &[DVec3],
    step: DVec3,
    inverse_diagonal: &[f64],
) -> [DVec3; 2] {
    let old = p.par_chunks(CHUNK).zip(image.par_chunks(CHUNK)).zip(inverse_diagonal.par_chunks(CHUNK));
    let parts: Vec<[DVec3; 2]> = q
        .par_chunks_mut(CHUNK)
        .zip(r.par_chunks_mut(CHUNK))
        .zip(old)
        .map(|((q, r), ((p, image), diagonal))| {
            let (mut preconditioned, mut norm) = (DVec3::ZERO, DVec3::ZERO);
            for k in 0..q.len() {
                q[k] += step * p[k];
                r[k] -= step * image[k];
                let square = r[k] * r[k];
                norm += square;
                preconditioned += square * diagonal[k];
            }
            [preconditioned, norm]
        })
        .collect();
    parts.into_iter().fold([DVec3::ZERO; 2], |sum, part| [sum[0] + part[0], sum[1] + part[1]])
}

/// The next direction: the preconditioned residual plus `turn` times the last one.
fn turn_per_axis(p: &mut [DVec3], r: &[DVec3], inverse_diagonal: &[f64], turn: DVec3) {
    let chunks = p.par_chunks_mut(CHUNK).zip(r.par_chunks(CHUNK)).zip(inverse_diagonal.par_chunks(CHUNK));
    chunks.for_each(|((p, r), diagonal)| {
        for k in 0..p.len() {
            p[k] = r[k] * diagonal[k] + turn * p[k];
        }
    });
}

/// Arrays of a preconditioned solve, kept between solves so that a step allocates next to nothing.
#[derive(Debug, Clone, Default)]
pub struct Workspace {
    residual: Vec<DVec3>,
    preconditioned: Vec<DVec3>,
    direction: Vec<DVec3>,
    image: Vec<DVec3>,
}

/// Solves A x = right from x = 0 for a positive definite A.
///
/// `apply` writes A times its first argument; `precondition(i, r)` is entry i of the preconditioned residual. The residual
/// is measured in the preconditioner's norm. Ends early at a direction without positive curvature.
pub fn solve(
    apply: impl FnMut(&[DVec3], &mut [DVec3]),
    precondition: impl Fn(usize, DVec3) -> DVec3 + Sync,
    right: &[DVec3],
    x: &mut Vec<DVec3>,
    stop: Stop,
    work: &mut Workspace,
) -> Outcome {
    iterate(apply, right, x, stop, work, |work, x, step| work.descend(x, step, &precondition))
}

/// `solve` with a preconditioner that sees the whole residual: it writes the preconditioned form of its first argument.
pub fn solve_with(
    apply: impl FnMut(&[DVec3], &mut [DVec3]),
    mut precondition: impl FnMut(&[DVec3], &mut [DVec3]),
    right: &[DVec3],
    x: &mut Vec<DVec3>,
    stop: Stop,
    work: &mut Workspace,
) -> Outcome {
    iterate(apply, right, x, stop, work, |work, x, step| {
        x.iter_mut().zip(&work.direction).for_each(|(x, p)| *x += *p * step);
        work.residual.iter_mut().zip(&work.image).for_each(|(r, image)| *r -= *image * step);
        precondition(&work.residual, &mut work.preconditioned);
        dot(&work.residual, &work.preconditioned)
    })
}

fn iterate(
    mut apply: impl FnMut(&[DVec3], &mut [DVec3]),
    right: &[DVec3],
    x: &mut Vec<DVec3>,
    stop: Stop,
    work: &mut Workspace,
    mut descend: impl FnMut(&mut Workspace, &mut [DVec3], f64) -> f64,
) -> Outcome {
    let n = right.len();
    x.clear();
    x.resize(n, DVec3::ZERO);
    work.residual.clear();
    work.residual.extend_from_slice(right);
    for array in [&mut work.preconditioned, &mut work.direction, &mut work.image] {
        array.clear();
        array.resize(n, DVec3::ZERO);
    }
    let start = descend(work, x, 0.0);
    work.direction.copy_from_slice(&work.preconditioned);
    let (mut rz, mut iterations) = (start, 0);
    let target = stop.tolerance * stop.tolerance * start;
    while rz > target && iterations < stop.max_iterations {
        apply(&work.direction, &mut work.image);
        iterations += 1;
        let curvature = dot(&work.direction, &work.image);
        if !(curvature > 0.0 && curvature.is_finite()) {
            break;
        }
        let next = descend(work, x, rz / curvature);
        let turn = next / rz;
        rz = next;
        let turned = work.direction.par_chunks_mut(CHUNK).zip(work.preconditioned.par_chunks(CHUNK));
        turned.for_each(|(p, z)| p.iter_mut().zip(z).for_each(|(p, z)| *p = *z + *p * turn));
    }
    let residual = if start > 0.0 { (rz.max(0.0) / start).sqrt() } else { 0.0 };
    Outcome { iterations, residual, converged: rz <= target }
}

impl Workspace {
    // Steps x along the direction, then updates the residual and its preconditioned form; returns their product.
    fn descend(&mut self, x: &mut [DVec3], step: f64, precondition: &(impl Fn(usize, DVec3) -> DVec3 + Sync)) -> f64 {
        let (directions, images) = (&self.direction, &self.image);
        let chunks = x
            .par_chunks_mut(CHUNK)
            .zip(self.residual.par_chunks_mut(CHUNK))
            .zip(self.preconditioned.par_chunks_mut(CHUNK))
            .enumerate();
        let parts: Vec<f64> = chunks
            .map(|(chunk, ((x, r), z))| {
                let mut sum = 0.0;
                for k in 0..x.len() {
                    let i = chunk * CHUNK + k;
                    x[k] += directions[i] * step;
                    r[k] -= images[i] * step;
                    z[k] = precondition(i, r[k]);
                    sum += r[k].dot(z[k]);
                }
                sum
            })
            .collect();
        parts.into_iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunked_sums_do_not_depend_on_threads() {
        let a: Vec<DVec3> = (0..10_000).map(|i| DVec3::new((i as f64).sin(), 0.1 * i as f64, 1.0)).collect();
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| dot(&a, &a))
        };
        assert_eq!(run(1).to_bits(), run(3).to_bits());
    }

    #[test]
    fn a_singular_system_is_solved_off_its_null_space() {
        // Path graph Laplacian: constants are its null space, each axis has its own right side.
        let n = 40;
        let apply = |p: &[DVec3], out: &mut [DVec3]| {
            for i in 0..n {
                let left = if i > 0 { p[i] - p[i - 1] } else { DVec3::ZERO };
                let right = if i + 1 < n { p[i] - p[i + 1] } else { DVec3::ZERO };
                out[i] = left + right;
            }
        };
        let mut right = vec![DVec3::ZERO; n];
        (right[0], right[n - 1]) = (DVec3::new(1.0, 0.0, -3.0), DVec3::new(-1.0, 0.0, 3.0));
        let stop = Stop { tolerance: 1e-12, max_iterations: 200 };
        let (q, outcome) = solve_per_axis(apply, &vec![1.0; n], &right, stop);
        assert!(outcome.converged);
        assert!((q[0] - q[n - 1] - DVec3::new(39.0, 0.0, -117.0)).length() < 1e-9);
    }

    #[test]
    fn preconditioned_solve_reaches_its_tolerance() {
        // A shifted path graph, with the diagonal as preconditioner.
        let n = 3000;
        let apply = |p: &[DVec3], out: &mut [DVec3]| {
            for i in 0..n {
                let left = if i > 0 { p[i - 1] } else { DVec3::ZERO };
                let right = if i + 1 < n { p[i + 1] } else { DVec3::ZERO };
                out[i] = p[i] * (2.1 + i as f64) - left - right;
            }
        };
        let wanted: Vec<DVec3> = (0..n).map(|i| DVec3::new((i as f64).cos(), 1.0, -2.0)).collect();
        let mut right = vec![DVec3::ZERO; n];
        apply(&wanted, &mut right);
        let (mut x, mut work) = (Vec::new(), Workspace::default());
        let stop = Stop { tolerance: 1e-12, max_iterations: 200 };
        let outcome = solve(apply, |i, r| r / (2.1 + i as f64), &right, &mut x, stop, &mut work);
        assert!(outcome.converged, "{outcome:?}");
        let error = x.iter().zip(&wanted).map(|(x, w)| (*x - *w).length()).fold(0.0, f64::max);
        assert!(error < 1e-8, "{error}");
    }
}
