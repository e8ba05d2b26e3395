//! What eight points do in a step at once that have never flowed and do not flow now: `together` without what flow remembers, in f32.
//!
//! P is one, so F = G. Sums over pairs are f32 already; strain in f32 is as good as they are. What each point sends is all that is
//! written: the deformation itself is found again when a renewal asks for it.
#![allow(unsafe_code, reason = "functions that need CPU features checked at start")]

use super::four::*;
use super::matter::Matter;
use super::part::{Part, Send};
use super::state::Memory;
use super::stencils::{Place, Stencils};
use super::together::{INVERSE_ROOT, SMALL, deviatoric_norm, stress, terms_for};
use crate::models::mls::flow::lanes::{LANES, Lanes, Plain, Row, SEQUENCE};
use glam::DMat3;

/// What eight points that have never flowed are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group {
    /// M⁻¹ [1/m²]: xx, yy, zz, xy, xz, yz.
    inverse: [Row; 6],
    /// [m³].
    volume: Row,
    /// κ [N/m].
    control: Row,
    /// Whether they can be done together: none has flowed, all have whole neighborhoods.
    pub firm: bool,
}

impl Group {
    const OTHER: Self = Self { inverse: [Row::ZERO; 6], volume: Row::ZERO, control: Row::ZERO, firm: false };
}

/// Whether a point is as it was at the start.
fn is_new(memory: &Memory) -> bool {
    memory.flow == 0.0 && memory.recent == 0.0 && !memory.lost && memory.plastic == DMat3::IDENTITY
}

impl Part {
    /// Finds which points can be done together.
    pub(super) fn group(&mut self, matter: &Matter) {
        let Self { groups, memories, stencils, volumes, .. } = self;
        groups.clear();
        groups.extend((0..memories.len().div_ceil(LANES)).map(|g| {
            let points = g * LANES..memories.len().min((g + 1) * LANES);
            let usual = |i: usize| is_new(&memories[i]) && stencils.priors[i] == DMat3::ZERO;
            if points.len() < LANES || !points.clone().all(usual) {
                return Group::OTHER;
            }
            let mut group = Group { firm: true, ..Group::OTHER };
            for (l, i) in points.enumerate() {
                let m = &stencils.inverses[i];
                let entries = [m.x_axis.x, m.y_axis.y, m.z_axis.z, m.y_axis.x, m.z_axis.x, m.z_axis.y];
                for (row, x) in group.inverse.iter_mut().zip(entries) {
                    row.0[l] = x as f32;
                }
                group.volume.0[l] = volumes[i] as f32;
                group.control.0[l] = (matter.control * matter.young * volumes[i] / stencils.traces[i]) as f32;
            }
            group
        }));
    }
}

/// Finds what eight points send; their largest strain, or None, and nothing done, where strain is large or something flows.
#[inline]
pub(super) fn deform_firm(
    (matter, limit): (&Matter, f64),
    group: &Group,
    (stencils, places): (&Stencils, &[Place]),
    first: usize,
    sends: &mut [Send],
) -> Option<f64> {
    let mut moments = [[Row::ZERO; LANES]; 2];
    let mut at = [Row::ZERO; LANES];
    for l in 0..LANES {
        let i = first + l;
        let Place { world, embedded } = places[i];
        [moments[0][l], moments[1][l]] = stencils.list(i).moments(places, places[i]);
        at[l] = Row([world.x, world.y, world.z, 0.0, embedded.x, embedded.y, embedded.z, 0.0]);
    }
    let given = Given { matter, limit, group, moments, at };
    match stencils.wide {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the processor has AVX2 and FMA.
        true => unsafe { deform_wide(&given, sends) },
        _ => deform_lanes::<Plain>(&given, sends),
    }
}

struct Given<'a> {
    matter: &'a Matter,
    /// Norm of the deviatoric stress beyond which something flows [Pa].
    limit: f64,
    group: &'a Group,
    moments: [[Row; LANES]; 2],
    at: [Row; LANES],
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn deform_wide(given: &Given, sends: &mut [Send]) -> Option<f64> {
    deform_lanes::<crate::models::mls::flow::lanes::Wide<true>>(given, sends)
}

/// Value k of each row in lanes of the k-th result.
#[inline(always)]
fn turned<L: Lanes>(rows: &[Row; LANES]) -> [L; LANES] {
    // SAFETY: there are as many rows as indices.
    unsafe { L::gather(rows.as_ptr(), 1, &SEQUENCE) }
}

#[inline(always)]
fn deform_lanes<L: Lanes>(given: &Given, sends: &mut [Send]) -> Option<f64> {
    let (matter, group) = (given.matter, given.group);
    let [a, b] = [turned::<L>(&given.moments[0]), turned::<L>(&given.moments[1])];
    let moments: Matrix<L> = [[a[0], a[1], a[2]], [a[4], a[5], a[6]], [b[0], b[1], b[2]]];
    let mut inverse = [L::splat(0.0); 6];
    for k in 0..6 {
        inverse[k] = L::load(&group.inverse[k]);
    }
    let inverse = full(&inverse);
    let gradient = product(&moments, &inverse);
    let base = Base::new(green(&gradient));
    let (squares, determinants) = (base.trace2.store().0, determinant(&gradient).store().0);
    let mut size2 = 0.0f32;
    for l in 0..LANES {
        // Nobody is inside out: series give the stretch of what is near a rotation, and of its mirror image too.
        if !(squares[l] <= (SMALL * SMALL) as f32 && determinants[l] > 0.0) {
            return None;
        }
        size2 = size2.max(squares[l]);
    }
    let series = base.series(&INVERSE_ROOT[..terms_for(f64::from(size2.sqrt()))]);
    let strain = shifted(&base.matrix(&base.times_one_and_base(&series)), L::splat(-1.0));
    if (deviatoric_norm(matter, &strain) - L::splat(given.limit as f32)).any_positive() {
        return None;
    }
    let rotation = product(&gradient, &full(&base.matrix(&series)));
    let strength = product(&product(&rotation, &full(&stress(matter, &strain))), &inverse);
    let (volume, control) = (L::load(&group.volume), L::load(&group.control));
    let at = turned::<L>(&given.at);
    let mut out = [[L::splat(0.0); LANES]; 2];
    for c in 0..3 {
        for r in 0..3 {
            let entry = strength[c][r] * volume - gradient[c][r] * control;
            out[(3 * c + r) / LANES][(3 * c + r) % LANES] = entry;
            let pull = if c == 0 { at[r] * control } else { out[1][2 + r] };
            out[1][2 + r] = entry.mul_add(at[4 + c], pull);
            out[1][5 + c] = at[c];
        }
    }
    out[1][1] = control;
    for half in 0..2 {
        let mut rows = [Row::ZERO; LANES];
        for k in 0..LANES {
            rows[k] = out[half][k].store();
        }
        let all = turned::<L>(&rows);
        for l in 0..LANES {
            sends[l][half] = all[l].store();
        }
    }
    let lengths = double_dot(&strain, &strain).sqrt().store().0;
    let length = f64::from(lengths.iter().fold(0.0f32, |m, x| m.max(*x)));
    Some(length + 0.5 * length * length)
}
