//! Sums over pairs that are near each other in the world, eight pairs at a time: density, pressure with repulsion, viscosity.
#![allow(unsafe_code, reason = "gathers by index, and functions that need CPU features checked at start")]

use super::crowd::Member;
use super::guards::{Guard, on};
use super::sums::wide_available;
use crate::models::mls::flow::lanes::{LANES, Lanes, Plain, Row};
use crate::neighbors::Neighborhoods;
use glam::Vec3A;
use rayon::prelude::*;
use std::f32::consts::PI;

/// Distance in spacings below which points of one body repel each other, and those of two bodies.
pub(super) const NEAR: [f32; 2] = [0.75, 1.0];
/// Strength of that in k a².
pub(super) const NEAR_STRENGTH: f32 = 0.2;
/// Distances in spacings between which thin matter of one body holds together, and how strongly, in k a².
pub(super) const HOLD: [f32; 2] = [1.0, 1.9];
pub(super) const HOLD_STRENGTH: f32 = 0.01;
/// Numbers of bodies are this far apart in a charge; how thin matter is at a point, 0 to 1, is added.
const APART: f32 = 4.0;
/// Points per parallel task.
const CHUNK: usize = 256;
/// Points nearer than this have no axis [m].
const LEAST: f32 = 1e-12;
/// Distance of nobody, squared without overflow [m].
const FAR: f32 = 1e15;

/// What a point is to its neighbors: place [m], volume [m³], spacing [m], pressure over the full density [Pa], body and how thin matter is
/// there, and modulus times how far it has flowed [Pa].
pub(super) type Charge = [Row; 1];
/// The same with viscosity [Pa s] in place of the last three, and its velocity [m/s].
pub(super) type Mover = [Row; 2];

/// A charge without pressure yet.
pub(super) fn charge(at: Vec3A, m: &Member) -> Charge {
    let kind = APART * m.kind as f32 + m.thin;
    let modulus = if on(Guard::Repulsion) { m.modulus * m.flowed } else { 0.0 };
    [Row([at.x, at.y, at.z, m.volume, m.spacing, 0.0, kind, modulus])]
}

/// One that is far from everybody.
pub(super) const NOBODY: Row = Row([FAR, FAR, FAR, 0.0, 1.0, 0.0, 0.0, 0.0]);

/// What a pair adds to N sums of a point.
pub(super) trait Term<const K: usize, const N: usize>: Sync {
    /// From the records of both.
    fn of<L: Lanes>(&self, own: &[[L; LANES]; K], other: &[[L; LANES]; K]) -> [L; N];
}

/// Σ v W without the factor of the kernel.
pub(super) struct Density;

impl Term<1, 1> for Density {
    #[inline(always)]
    fn of<L: Lanes>(&self, [own]: &[[L; LANES]; 1], [other]: &[[L; LANES]; 1]) -> [L; 1] {
        let (_, r2) = apart(own, other);
        let inverse = L::splat(1.0) / (own[4] + other[4]);
        let q = (L::splat(1.0) - r2.sqrt() * inverse).max(L::splat(0.0)) * inverse;
        [other[3] * q * q * q]
    }
}

/// Force of the pressure, of the repulsion below a distance, and of what holds thin matter together.
pub(super) struct Pull {
    /// Modulus of the repulsion between two bodies [Pa].
    pub modulus: f32,
}

impl Term<1, 3> for Pull {
    #[inline(always)]
    fn of<L: Lanes>(&self, [own]: &[[L; LANES]; 1], [other]: &[[L; LANES]; 1]) -> [L; 3] {
        let (zero, one) = (L::splat(0.0), L::splat(1.0));
        let (to, r2) = apart(own, other);
        let (reach, r) = (own[4] + other[4], r2.sqrt());
        let inverse = one / reach;
        let q = (one - r * inverse).max(zero) * inverse * inverse;
        let squeeze = own[3] * other[3] * (own[5] + other[5]) * q * q * L::splat(45.0 / PI);
        // Of one body or of two.
        let unlike = other[6] - own[6];
        let same = (L::splat(2.0) - unlike.max(zero - unlike)).max(zero).min(one);
        let mean = L::splat(0.5) * reach;
        let near = mean * (L::splat(NEAR[1]) - same * L::splat(NEAR[1] - NEAR[0]));
        let flowed = L::splat(0.5) * (own[7] + other[7]) * same;
        let area = mean * mean;
        let modulus = flowed + L::splat(self.modulus) * (one - same);
        let repel = (one - r / near).max(zero) * L::splat(NEAR_STRENGTH) * modulus * area;
        let thin = (L::splat(0.5) * (own[6] + other[6]) - L::splat(APART) * floor_of(own[6])) * flowed;
        let hold = bump(r / mean) * L::splat(HOLD_STRENGTH) * thin * area;
        let pull = (hold - squeeze - repel) / r.max(L::splat(LEAST));
        [to[0] * pull, to[1] * pull, to[2] * pull]
    }
}

/// (1 - t²)², t from -1 to 1 between the distances in spacings at which thin matter holds together.
#[inline(always)]
fn bump<L: Lanes>(q: L) -> L {
    let half = 0.5 * (HOLD[1] - HOLD[0]);
    let t = (q - L::splat(HOLD[0] + half)) * L::splat(1.0 / half);
    let b = (L::splat(1.0) - t * t).max(L::splat(0.0));
    b * b
}

/// Energy of what holds two points at a distance in spacings together, over that of its strength through a spacing: less the nearer they
/// are.
pub(super) fn held(q: f32) -> f32 {
    let half = 0.5 * (HOLD[1] - HOLD[0]);
    let t = ((q - HOLD[0]) / half - 1.0).clamp(-1.0, 1.0);
    half * (t - 2.0 / 3.0 * t.powi(3) + 0.2 * t.powi(5) - 8.0 / 15.0)
}

/// Number of the body of a charge; the same in all lanes of a point.
#[inline(always)]
fn floor_of<L: Lanes>(charge: L) -> L {
    L::splat((charge.store().0[0] / APART).floor())
}

/// Impulse of the viscosity along the axis of the pair, over the time [s].
pub(super) struct Drag(pub f32);

impl Term<2, 3> for Drag {
    #[inline(always)]
    fn of<L: Lanes>(&self, own: &[[L; LANES]; 2], other: &[[L; LANES]; 2]) -> [L; 3] {
        let (to, r2) = apart(&own[0], &other[0]);
        let (reach, one) = (own[0][4] + other[0][4], L::splat(1.0));
        let inverse = one / reach;
        let (i2, t) = (inverse * inverse, (one - r2.sqrt() * inverse).max(L::splat(0.0)));
        let viscosity = L::splat(0.5 * self.0 * 45.0 / PI) * (own[0][5] + other[0][5]);
        let strength = viscosity * own[0][3] * other[0][3] * i2 * i2 * inverse * t;
        let v = [other[1][0] - own[1][0], other[1][1] - own[1][1], other[1][2] - own[1][2]];
        let along = to[0].mul_add(v[0], to[1].mul_add(v[1], to[2] * v[2]));
        let push = strength * along / r2.max(L::splat(LEAST * LEAST));
        [to[0] * push, to[1] * push, to[2] * push]
    }
}

#[inline(always)]
fn apart<L: Lanes>(own: &[L; LANES], other: &[L; LANES]) -> ([L; 3], L) {
    let to = [other[0] - own[0], other[1] - own[1], other[2] - own[2]];
    let r2 = to[0].mul_add(to[0], to[1].mul_add(to[1], to[2] * to[2]));
    (to, r2)
}

/// Sums of a term over the list of every point; `records` end with nobody.
pub(super) fn sum<const K: usize, const N: usize>(
    term: &impl Term<K, N>,
    lists: &Neighborhoods,
    records: &[[Row; K]],
    out: &mut Vec<[f32; N]>,
) {
    assert!(records.len() == lists.len() + 1, "a record for each point and for nobody");
    let wide = wide_available();
    out.resize(lists.len(), [0.0; N]);
    out.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, out)| match wide {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the processor has AVX2 and FMA; lists hold points only, and there is a record for each.
        true => unsafe { sum_wide(term, lists, records, chunk * CHUNK, out) },
        // SAFETY: lists hold points only, and there is a record for each.
        _ => unsafe { sum_lanes::<K, N, Plain>(term, lists, records, chunk * CHUNK, out) },
    });
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn sum_wide<const K: usize, const N: usize>(
    term: &impl Term<K, N>,
    lists: &Neighborhoods,
    records: &[[Row; K]],
    first: usize,
    out: &mut [[f32; N]],
) {
    use crate::models::mls::flow::lanes::Wide;
    // SAFETY: the caller vouches for the lists.
    unsafe { sum_lanes::<K, N, Wide<true>>(term, lists, records, first, out) }
}

#[inline(always)]
unsafe fn sum_lanes<const K: usize, const N: usize, L: Lanes>(
    term: &impl Term<K, N>,
    lists: &Neighborhoods,
    records: &[[Row; K]],
    first: usize,
    out: &mut [[f32; N]],
) {
    let rows: *const Row = records.as_ptr().cast();
    let nobody = (records.len() - 1) as u32;
    for (k, out) in out.iter_mut().enumerate() {
        let i = first + k;
        let (mut own, mut other) = ([[L::splat(0.0); LANES]; K], [[L::splat(0.0); LANES]; K]);
        for r in 0..K {
            for l in 0..LANES {
                own[r][l] = L::splat(records[i][r].0[l]);
            }
        }
        let mut sums = [L::splat(0.0); N];
        let list = &lists.neighbors[lists.starts[i] as usize..lists.starts[i + 1] as usize];
        let (blocks, rest) = list.as_chunks::<LANES>();
        let mut last = [nobody; LANES];
        last[..rest.len()].copy_from_slice(rest);
        for k in 0..blocks.len() + usize::from(!rest.is_empty()) {
            let indices = blocks.get(k).unwrap_or(&last);
            // Loops, not closures: those would be compiled without the features.
            for r in 0..K {
                // SAFETY: the caller vouches for the indices; row r of a record is r rows on.
                other[r] = unsafe { L::gather(rows.add(r), K, indices) };
            }
            let add = term.of(&own, &other);
            for n in 0..N {
                sums[n] = sums[n] + add[n];
            }
        }
        for n in 0..N {
            let s = sums[n].store().0;
            out[n] = ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]));
        }
    }
}
