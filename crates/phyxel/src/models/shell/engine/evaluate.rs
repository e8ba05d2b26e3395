//! Pass 1 of the evaluation: what the fibers of a center measure, the fitted tensors, and the forces on the neighbors.

use super::group::{Center, Group, Terms};
use super::{Own, ShellExtremes};
use crate::models::shell::lanes::{LANES, Lane, Stored, Vector};
use crate::models::shell::measure::{Angles, Lengths, Splines};
use crate::models::shell::network::{MOST_FIBERS, MOST_NEIGHBORS};
use crate::models::shell::stiffening;
use glam::DVec3;

/// Most groups of four fibers per center.
const MOST_GROUPS: usize = MOST_FIBERS.div_ceil(LANES);

/// What four fibers measured, kept between fit and force.
#[derive(Debug, Clone, Copy, Default)]
struct Measured<const W: bool> {
    lengths: Lengths<W>,
    angles: Angles<W>,
    strain: Lane<W>,
    /// Strain of the lanes that hold a fiber.
    seen: Lane<W>,
    curvature: Lane<W>,
    /// Derivatives of strain by length and of curvature by angle.
    slopes: [Lane<W>; 2],
}

/// Reused by the centers of a chunk.
#[derive(Debug, Clone, Copy)]
struct Scratch<const W: bool> {
    measured: [Measured<W>; MOST_GROUPS],
    d: [DVec3; MOST_NEIGHBORS],
}

/// Largest values of a chunk.
#[derive(Default)]
struct Largest<const W: bool> {
    /// Of strain by absolute value.
    strain: Lane<W>,
    /// Of strain.
    stretch: Lane<W>,
    /// Of the factor by which matter has become stiffer.
    stiffness: f64,
}

/// The fitted tensor and the plain fit of one part of the energy.
#[derive(Clone, Copy, Default)]
pub(super) struct Fitted<const W: bool> {
    tensor: Vector<W>,
    plain: Vector<W>,
}

impl<const W: bool> Fitted<W> {
    #[inline(always)]
    pub(super) fn add(&mut self, terms: &Terms, value: Lane<W>) {
        self.tensor += terms.tensor.cast::<W>() * value;
        self.plain += terms.plain.cast::<W>() * value;
    }
}

/// A fitted tensor, its stress and its energy.
pub(super) struct Stress<const W: bool> {
    plain: Vector<W>,
    stress: Vector<W>,
    /// The plain fit.
    pub(super) fit: DVec3,
    pub(super) energy: f64,
}

impl<const W: bool> Stress<W> {
    #[inline(always)]
    pub(super) fn new(fitted: &Fitted<W>, [mean, deviator]: [f64; 2]) -> Self {
        let (e, plain) = (fitted.tensor.sum(), fitted.plain.sum());
        let stress = DVec3::new(mean * e.x, deviator * e.y, deviator * e.z);
        Self { plain: Vector::splat(plain), stress: Vector::splat(stress), fit: plain, energy: 0.5 * e.dot(stress) }
    }

    /// Derivative of the energy by what the fibers measure; adds the residual's energy.
    #[inline(always)]
    pub(super) fn derivative(&self, terms: &Terms, value: Lane<W>, energy: &mut Lane<W>) -> Lane<W> {
        let residual = value - terms.response.cast::<W>().dot(self.plain);
        let pull = terms.residual.cast::<W>() * residual;
        *energy += pull * residual;
        terms.tensor.cast::<W>().dot(self.stress) + pull
    }
}

/// Everything a center reads.
#[derive(Clone, Copy)]
pub(super) struct Packed<'a> {
    pub(super) neighbors: &'a [u32],
    pub(super) groups: &'a [Group],
    pub(super) floor: f64,
    pub(super) rise: f64,
    pub(super) positions: &'a [DVec3],
}

/// What one task reads and writes.
pub(super) struct Chunk<'a> {
    pub(super) packed: Packed<'a>,
    pub(super) centers: &'a [Center],
    pub(super) pulls: &'a mut [DVec3],
    pub(super) own: &'a mut [Own],
    pub(super) seen: &'a mut [[Stored; 2]],
    pub(super) guards: &'a mut [Stored],
    pub(super) extremes: &'a mut ShellExtremes,
}

/// Whether the machine adds four f64 at once. Products and sums are not fused, so the bits are the same with and without.
pub(crate) fn wide_vectors() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx2");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// `measure_chunk` on wide vectors; call only where `wide_vectors`.
#[cfg(target_arch = "x86_64")]
#[allow(
    unsafe_code,
    reason = "the plain code compiled once more with vector instructions that the caller has looked for"
)]
pub(super) fn measure_chunk_wide(chunk: Chunk) {
    #[target_feature(enable = "avx2")]
    fn wide(chunk: Chunk) {
        measure_chunk::<true>(chunk);
    }
    // SAFETY: `measure` asks `wide_vectors` before.
    unsafe { wide(chunk) }
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn measure_chunk_wide(chunk: Chunk) {
    measure_chunk::<false>(chunk);
}

#[inline(always)]
pub(super) fn measure_chunk<const W: bool>(chunk: Chunk) {
    let Chunk { packed, centers, pulls, own, seen, guards, extremes } = chunk;
    let mut scratch = Scratch { measured: [Measured::<W>::default(); MOST_GROUPS], d: [DVec3::ZERO; MOST_NEIGHBORS] };
    let (mut largest, mut place, mut group) = (Largest::<W>::default(), 0, 0);
    for (center, own) in centers.iter().zip(own) {
        let count = usize::from(center.neighbors);
        *own = measure_center(packed, center, &mut pulls[place..place + count], &mut scratch, &mut largest);
        place += count;
        for measured in &scratch.measured[..usize::from(center.groups)] {
            seen[group] = [measured.lengths.value.cast(), measured.angles.value.cast()];
            guards[group] = measured.angles.guard.cast();
            group += 1;
        }
    }
    let fold = |lane: Lane<W>| lane.0.iter().fold(0.0, |m: f64, &x| if x > m { x } else { m });
    *extremes = ShellExtremes {
        max_strain: fold(largest.strain),
        max_stretch: (1.0 + 2.0 * fold(largest.stretch)).sqrt(),
        stiffness: largest.stiffness.max(1.0),
    };
}

#[inline(always)]
fn measure_center<const W: bool>(
    packed: Packed,
    center: &Center,
    pulls: &mut [DVec3],
    scratch: &mut Scratch<W>,
    largest: &mut Largest<W>,
) -> Own {
    let list = &packed.neighbors[center.first as usize..][..usize::from(center.neighbors)];
    let groups = &packed.groups[center.first_group as usize..][..usize::from(center.groups)];
    let x = packed.positions[center.node as usize];
    let d = &mut scratch.d[..list.len()];
    d.iter_mut().zip(list).for_each(|(d, &j)| *d = packed.positions[j as usize] - x);
    let normal = fan_normal(d, center.closed);
    let n = Vector::<W>::splat(normal);
    let n2 = Lane::splat(normal.length_squared());
    let (mut membrane, mut bending) = (Fitted::<W>::default(), Fitted::<W>::default());
    let measured = &mut scratch.measured[..groups.len()];
    let mut strain = Lane::<W>::ZERO;
    for (group, out) in groups.iter().zip(measured.iter_mut()) {
        *out = Measured::new(group, d, n, n2, packed.floor);
        membrane.add(&group.membrane, out.strain);
        bending.add(&group.bending, out.curvature);
        strain = strain.max(out.seen.abs());
        largest.stretch = largest.stretch.max(out.seen);
    }
    largest.strain = largest.strain.max(strain);
    let strain = [strain.0.iter().fold(0.0, |m: f64, &x| if x > m { x } else { m }), membrane.plain.x.sum()];
    let membrane = Stress::new(&membrane, center.membrane);
    let bending = Stress::new(&bending, center.bending);
    let factors = match packed.rise == 0.0 {
        true => [1.0; 2],
        false => stiffened(packed.rise, center, [&membrane, &bending], groups, measured, &mut largest.stiffness),
    };
    let [stiffer, stiffer_bent] = factors.map(Lane::<W>::splat);
    let mut energies = [Lane::<W>::ZERO; 2];
    let mut turn = Vector::<W>::default();
    pulls.fill(DVec3::ZERO);
    for (group, m) in groups.iter().zip(measured.iter()) {
        let [mut stretch, mut bend] = m.slopes;
        stretch = stretch * membrane.derivative(&group.membrane, m.strain, &mut energies[0]) * stiffer;
        bend = bend * bending.derivative(&group.bending, m.curvature, &mut energies[1]) * stiffer_bent;
        turn += m.angles.normal * bend;
        for end in 0..2 {
            let pull = m.lengths.ends[end] * stretch + m.angles.ends[end] * bend;
            for lane in 0..LANES {
                pulls[usize::from(group.ends[end][lane])] -= pull.lane(lane);
            }
        }
    }
    add_turn(d, center.closed, turn.sum(), pulls);
    let mut energy = [membrane.energy + 0.5 * energies[0].sum(), bending.energy + 0.5 * energies[1].sum()];
    if packed.rise != 0.0 {
        (0..2).for_each(|k| energy[k] = stiffening::energy(packed.rise, center.per_energy[k], energy[k]));
    }
    Own { force: -pulls.iter().sum::<DVec3>(), energy, strain, plain: [membrane.fit, bending.fit] }
}

/// Factors on the derivatives of stretching and bending where stiffness depends on strain.
#[inline(always)]
fn stiffened<const W: bool>(
    rise: f64,
    center: &Center,
    stress: [&Stress<W>; 2],
    groups: &[Group],
    measured: &[Measured<W>],
    stiffest: &mut f64,
) -> [f64; 2] {
    let mut residuals = [Lane::<W>::ZERO; 2];
    for (group, m) in groups.iter().zip(measured) {
        stress[0].derivative(&group.membrane, m.strain, &mut residuals[0]);
        stress[1].derivative(&group.bending, m.curvature, &mut residuals[1]);
    }
    let x = |k: usize| center.per_energy[k] * (stress[k].energy + 0.5 * residuals[k].sum());
    [0, 1].map(|k| {
        *stiffest = stiffest.max(stiffening::stiffest(rise, x(k)));
        stiffening::secant(rise, x(k))
    })
}

impl<const W: bool> Measured<W> {
    #[inline(always)]
    fn new(group: &Group, d: &[DVec3], n: Vector<W>, n2: Lane<W>, floor: f64) -> Self {
        let [d1, d2] = group.ends.map(|ends| gather::<W>(d, ends));
        let splines = Splines::new(group.h1.cast(), group.inverse.map(|h| h.cast()), d1, d2);
        let lengths = splines.lengths();
        let angles = splines.angles(d2 - d1, n, n2);
        let half = Lane::<W>::splat(0.5);
        let inverse_rest2 = group.inverse_rest2.cast::<W>();
        // A lane without a fiber has an inverse of 0 and a strain of -1/2, which has no weight.
        let strain = half * (lengths.value * lengths.value * inverse_rest2) - half;
        let seen = Lane::ZERO.pick_above(-inverse_rest2, strain, Lane::ZERO);
        let per_turn = group.per_turn.cast::<W>() * angles.guard.max(Lane::splat(floor));
        Self {
            strain,
            seen,
            curvature: (angles.value - group.rest_angle.cast()) * per_turn,
            slopes: [lengths.value * inverse_rest2, per_turn],
            lengths,
            angles,
        }
    }
}

#[inline(always)]
fn gather<const W: bool>(d: &[DVec3], ends: [u8; LANES]) -> Vector<W> {
    let mut out = Vector::default();
    for lane in 0..LANES {
        let v = d[usize::from(ends[lane])];
        (out.x.0[lane], out.y.0[lane], out.z.0[lane]) = (v.x, v.y, v.z);
    }
    out
}

/// Area vector of a fan.
#[inline(always)]
fn fan_normal(d: &[DVec3], closed: bool) -> DVec3 {
    let mut sum = match (closed, d) {
        (true, [first, .., last]) => last.cross(*first),
        _ => DVec3::ZERO,
    };
    for pair in d.windows(2) {
        sum += pair[0].cross(pair[1]);
    }
    sum
}

/// Forces on the neighbors of the energy's derivative by the fan normal.
#[inline(always)]
fn add_turn(d: &[DVec3], closed: bool, turn: DVec3, pulls: &mut [DVec3]) {
    let count = d.len();
    if count < 2 {
        return;
    }
    for f in 0..count - 1 {
        pulls[f] -= d[f + 1].cross(turn);
        pulls[f + 1] -= turn.cross(d[f]);
    }
    if closed {
        pulls[count - 1] -= d[0].cross(turn);
        pulls[0] -= turn.cross(d[count - 1]);
    }
}
