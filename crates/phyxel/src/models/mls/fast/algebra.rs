//! Point algebra between the passes, eight points in lanes: strain, stress, and what each point sends to its neighbors.
#![allow(unsafe_code, reason = "transposes through pointers into fixed-size arrays")]

use super::layout::{Block, LANES, OwnForces, Record, StiffnessBlock};
use super::pair::Pair;
use super::real::Real;

/// Sums of pass 1, one point per lane: entry 8 r + l is lane l of row r.
pub(crate) type LaneSums<T> = [[T; LANES]; 24];

/// What eight points send: M and N row by row, and the forces that need no neighbor loop.
pub(crate) struct StressLanes<T> {
    pub m: [[T; LANES]; 9],
    pub n: [[T; LANES]; 9],
    pub own: OwnForces<T>,
    pub zero: [T; LANES],
}

impl<T: Real> Default for StressLanes<T> {
    fn default() -> Self {
        Self {
            m: [[T::default(); LANES]; 9],
            n: [[T::default(); LANES]; 9],
            own: [[T::default(); LANES]; 3],
            zero: [T::default(); LANES],
        }
    }
}

/// Extremes of a chunk, lane by lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneExtremes<T> {
    /// Largest squared norm of the Green strain.
    pub strain_squared: [T; LANES],
    /// Smallest |J| - 1.
    pub volume_strain: [T; LANES],
    /// Sum of the squared norms: not finite if any is not, which maxima would hide.
    pub total: [T; LANES],
    /// Energy that plastic flow took [J].
    pub dissipated: f64,
}

impl<T: Real> Default for LaneExtremes<T> {
    fn default() -> Self {
        Self {
            strain_squared: [T::default(); LANES],
            volume_strain: [T::default(); LANES],
            total: [T::default(); LANES],
            dissipated: 0.0,
        }
    }
}

/// `a b + c d + e f`.
#[inline(always)]
fn dot<T: Real, const FMA: bool>(a: T, b: T, c: T, d: T, e: T, f: T) -> T {
    a.mul_add::<FMA>(b, c.mul_add::<FMA>(d, e * f))
}

#[inline(always)]
fn cross<T: Real>(a: &[T; 3], b: &[T; 3]) -> [T; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// Turns the sums of eight points into what they send to their neighbors.
///
/// `G = (H + Hᵀ + HᵀH) / 2` and `|J| - 1 = tr H + minors of H + |H|` are free of the cancellation in `JᵀJ - I` and
/// `|J| - 1`, which f32 needs.
#[inline(always)]
pub(crate) fn stress<T: Real, const FMA: bool, const FULL: bool>(
    block: &Block<T>,
    stiffness: &StiffnessBlock<T>,
    sums: &LaneSums<T>,
    lanes: &mut StressLanes<T>,
    extremes: &mut LaneExtremes<T>,
) {
    let zero = T::default();
    let (one, half) = (T::of(1.0), T::of(0.5));
    let StressLanes { m: m_lanes, n: n_lanes, own, .. } = lanes;
    for l in 0..LANES {
        let w = |r: usize, k: usize| sums[8 * r + k][l];
        let a = |r: usize, c: usize| block.a[[[0, 1, 2], [1, 3, 4], [2, 4, 5]][r][c]][l];
        let b = |r: usize, c: usize| block.b[3 * r + c][l];
        let relative = block.relative_volume[l];
        let mut plain = [[zero; 3]; 3];
        let mut h = [[zero; 3]; 3];
        for r in 0..3 {
            for c in 0..3 {
                plain[r][c] = dot::<T, FMA>(w(r, 0), a(0, c), w(r, 1), a(1, c), w(r, 2), a(2, c));
                let straight = dot::<T, FMA>(w(r, 0), b(c, 0), w(r, 1), b(c, 1), w(r, 2), b(c, 2));
                h[r][c] = relative.mul_add::<FMA>(w(r, 4 + c), straight);
            }
        }
        let green = |p: usize, q: usize| {
            half * (h[p][q] + h[q][p] + dot::<T, FMA>(h[0][p], h[0][q], h[1][p], h[1][q], h[2][p], h[2][q]))
        };
        let g = [green(0, 0), green(1, 1), green(2, 2), green(1, 2), green(2, 0), green(0, 1)];
        let s = if FULL { full_stress::<T, FMA>(stiffness, l, &g) } else { isotropic_stress(block, l, &g) };
        let s = [[s[0], s[5], s[4]], [s[5], s[1], s[3]], [s[4], s[3], s[2]]];
        let mut j = h;
        for d in 0..3 {
            j[d][d] += one;
        }
        let cofactor = [cross(&j[1], &j[2]), cross(&j[2], &j[0]), cross(&j[0], &j[1])];
        let h_cofactor = cross(&h[1], &h[2]);
        let minors = (h[0][0] * h[1][1] - h[0][1] * h[1][0])
            + (h[0][0] * h[2][2] - h[0][2] * h[2][0])
            + (h[1][1] * h[2][2] - h[1][2] * h[2][1]);
        let volume_strain = (h[0][0] + h[1][1] + h[2][2])
            + minors
            + dot::<T, FMA>(h[0][0], h_cofactor[0], h[0][1], h_cofactor[1], h[0][2], h_cofactor[2]);
        let collapse = volume_strain - block.collapse_strain[l];
        let collapse = if collapse < zero { collapse } else { zero };
        // Constant once the volume has turned negative, see `materials::elastic`.
        let deepest = -(one + block.collapse_strain[l]);
        let collapse = if collapse > deepest { collapse } else { deepest };
        let pressure = block.volume_stiffness[l] * volume_strain + block.collapse_stiffness[l] * collapse;
        let (volume, kappa) = (block.volume[l], block.kappa[l]);
        for r in 0..3 {
            let mut p = [zero; 3];
            for c in 0..3 {
                let elastic = dot::<T, FMA>(j[r][0], s[0][c], j[r][1], s[1][c], j[r][2], s[2][c]);
                p[c] = volume * pressure.mul_add::<FMA>(cofactor[r][c], elastic);
            }
            let mut m = [zero; 3];
            let mut n = [zero; 3];
            for c in 0..3 {
                m[c] = dot::<T, FMA>(p[0], b(0, c), p[1], b(1, c), p[2], b(2, c)) - kappa * plain[r][c];
                n[c] = relative * p[c];
                m_lanes[3 * r + c][l] = m[c];
                n_lanes[3 * r + c][l] = n[c];
            }
            let from_m = dot::<T, FMA>(m[0], block.s[0][l], m[1], block.s[1][l], m[2], block.s[2][l]);
            let from_n = dot::<T, FMA>(n[0], block.t[0][l], n[1], block.t[1][l], n[2], block.t[2][l]);
            own[r][l] = w(r, 3) + (from_m + from_n);
        }
        let norm_squared = dot::<T, FMA>(g[0], g[0], g[1], g[1], g[2], g[2])
            + (one + one) * dot::<T, FMA>(g[3], g[3], g[4], g[4], g[5], g[5]);
        let largest = extremes.strain_squared[l];
        extremes.strain_squared[l] = if norm_squared > largest { norm_squared } else { largest };
        let smallest = extremes.volume_strain[l];
        extremes.volume_strain[l] = if volume_strain < smallest { volume_strain } else { smallest };
        extremes.total[l] += norm_squared;
    }
}

/// `S = lambda tr G I + 2 mu G` in Voigt order.
#[inline(always)]
fn isotropic_stress<T: Real>(block: &Block<T>, l: usize, g: &[T; 6]) -> [T; 6] {
    let two_mu = block.two_mu[l];
    let trace = block.lambda[l] * (g[0] + g[1] + g[2]);
    [two_mu * g[0] + trace, two_mu * g[1] + trace, two_mu * g[2] + trace, two_mu * g[3], two_mu * g[4], two_mu * g[5]]
}

/// `S = C G` in Voigt order with the engineering shears 2 G.
#[inline(always)]
fn full_stress<T: Real, const FMA: bool>(stiffness: &StiffnessBlock<T>, l: usize, g: &[T; 6]) -> [T; 6] {
    let mut s = [T::default(); 6];
    for p in 0..6 {
        for q in 0..6 {
            let (row, column) = (p.min(q), p.max(q));
            let c = stiffness[row * 6 - row * (row + 1) / 2 + column][l];
            let strain = if q < 3 { g[q] } else { g[q] + g[q] };
            s[p] = c.mul_add::<FMA>(strain, s[p]);
        }
    }
    s
}

/// Transposes M and N from lanes to the rows of eight records.
#[inline(always)]
pub(crate) fn write_rows<P: Pair>(stress: &StressLanes<P::T>, records: &mut [Record<P::T>; LANES]) {
    let records = records.as_mut_ptr();
    for r in 0..3 {
        let (m, n) = (&stress.m[3 * r..3 * r + 3], &stress.n[3 * r..3 * r + 3]);
        let zero = stress.zero.as_ptr();
        let from =
            [m[0].as_ptr(), m[1].as_ptr(), m[2].as_ptr(), zero, n[0].as_ptr(), n[1].as_ptr(), n[2].as_ptr(), zero];
        let mut to = [std::ptr::null_mut(); 8];
        for k in 0..LANES {
            // SAFETY: there are eight records and three rows in each.
            to[k] = unsafe { (&raw mut (*records.add(k)).rows[r]).cast() };
        }
        // SAFETY: every pointer is to eight values; the caller runs on a CPU that `P` was selected for.
        unsafe { P::transpose8(from, to) };
    }
}

/// Transposes the sums of eight points, 24 each, to lanes.
#[inline(always)]
pub(crate) fn to_lanes<P: Pair>(sums: &[[P::T; 24]; LANES], lanes: &mut LaneSums<P::T>) {
    for r in 0..3 {
        let (mut from, mut to) = ([std::ptr::null(); 8], [std::ptr::null_mut(); 8]);
        for k in 0..LANES {
            from[k] = sums[k][8 * r..].as_ptr();
            to[k] = lanes[8 * r + k].as_mut_ptr();
        }
        // SAFETY: every pointer is to eight values; the caller runs on a CPU that `P` was selected for.
        unsafe { P::transpose8(from, to) };
    }
}
