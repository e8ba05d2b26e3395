//! What four points do in a step at once: `deform` and what they send, where strain is small.
//!
//! With D = FᵀF - 1 all that is wanted is a function of D: S⁻¹ = (1 + D)^-½, S, ln S and exp of a part of it. Their power series are
//! summed as polynomials a + b D + c D², six products a term, and only the results are made into matrices.
#![allow(unsafe_code, reason = "functions that need CPU features checked at start")]

use super::four::*;
use super::matter::{MOST_FLOW, Matter};
use super::part::Fit;
use super::state::Memory;
use glam::DMat3;

/// Norm of D up to which series are taken.
pub(super) const SMALL: f64 = 0.3;
/// What a series leaves out.
const ERROR: f64 = 1e-8;
/// Terms of the series.
const TERMS: usize = 18;
/// Of (1 + D)^-½.
pub(super) const INVERSE_ROOT: [f64; TERMS] = inverse_root();
/// Of ½ ln (1 + D).
const LOGARITHM: [f64; TERMS] = logarithm();

const fn inverse_root() -> [f64; TERMS] {
    let mut all = [1.0; TERMS];
    let mut k = 1;
    while k < TERMS {
        all[k] = -all[k - 1] * (2 * k - 1) as f64 / (2 * k) as f64;
        k += 1;
    }
    all
}

const fn logarithm() -> [f64; TERMS] {
    let mut all = [0.0; TERMS];
    let mut k = 1;
    while k < TERMS {
        all[k] = if k % 2 == 1 { 0.5 } else { -0.5 } / k as f64;
        k += 1;
    }
    all
}

/// What four points are before a step.
pub(super) struct Given<'a> {
    pub matter: &'a Matter,
    /// 1 - exp(-creep dt).
    pub part: f64,
    pub gradients: [DMat3; TOGETHER],
    /// M⁻¹ [1/m²].
    pub inverses: [&'a DMat3; TOGETHER],
    /// [m³].
    pub volumes: [f64; TOGETHER],
    /// κ of matter that has not flowed [N/m].
    pub controls: [f64; TOGETHER],
}

/// What comes of a step.
pub(super) struct Done {
    /// v PK P⁻ᵀ M⁻¹ - κ G [N/m].
    pub pulls: [DMat3; TOGETHER],
    /// Energy density that flow took, if any [Pa].
    pub taken: [Option<f64>; TOGETHER],
    /// Norm of the elastic strain.
    pub strains: [f64; TOGETHER],
    /// κ [N/m].
    pub controls: [f64; TOGETHER],
}

/// Four points at once; None, and nothing done, where strain is large or a point is lost.
#[inline]
pub(super) fn deform_four(
    given: &Given,
    wide: bool,
    memories: &mut [Memory; TOGETHER],
    fits: &mut [Fit; TOGETHER],
) -> Option<Done> {
    match wide {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the processor has AVX2 and FMA.
        true => unsafe { deform_wide(given, memories, fits) },
        _ => deform_lanes::<false>(given, memories, fits),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn deform_wide(given: &Given, memories: &mut [Memory; TOGETHER], fits: &mut [Fit; TOGETHER]) -> Option<Done> {
    deform_lanes::<true>(given, memories, fits)
}

#[inline(always)]
fn deform_lanes<const FMA: bool>(
    given: &Given,
    memories: &mut [Memory; TOGETHER],
    fits: &mut [Fit; TOGETHER],
) -> Option<Done> {
    let matter = given.matter;
    let [m0, m1, m2, m3] = &*memories;
    let [g0, g1, g2, g3] = &given.gradients;
    let gradients = gather::<FMA>([g0, g1, g2, g3]);
    let mut elastic = product(&gradients, &gather([&m0.inverse, &m1.inverse, &m2.inverse, &m3.inverse]));
    let base = Base::new(green(&elastic));
    let (determinant, mut size2) = (determinant(&elastic), 0.0f64);
    for l in 0..TOGETHER {
        let square = base.trace2.0[l];
        // Nobody is inside out: series give the stretch of what is near a rotation, and of its mirror image too.
        if !(square <= SMALL * SMALL && determinant.0[l] > 0.0) || memories[l].lost {
            return None;
        }
        size2 = size2.max(square);
    }
    let terms = terms_for(size2.sqrt());
    let inverse = base.series(&INVERSE_ROOT[..terms]);
    let rotation = product(&elastic, &full(&base.matrix(&inverse)));
    let mut stretch = base.times_one_and_base(&inverse);
    let mut strain = base.matrix(&stretch);
    strain = shifted(&strain, Four::splat(-1.0));
    let length = double_dot(&strain, &strain).sqrt();
    let flow = Flowing::new(given, memories, &base, &strain, terms);
    let mut taken = [None; TOGETHER];
    if let Some(flow) = flow {
        let x = flow.part;
        let forth = full(&base.matrix(&base.exponential(&x)));
        let back = base.exponential(&scaled(&x, Four::splat(-1.0)));
        stretch = base.product(&stretch, &back);
        elastic = product(&elastic, &full(&base.matrix(&back)));
        strain = shifted(&base.matrix(&stretch), Four::splat(-1.0));
        let [m0, m1, m2, m3] = &*memories;
        let plastic = product(&forth, &gather([&m0.plastic, &m1.plastic, &m2.plastic, &m3.plastic]));
        // The work of the stress that is left: what the step put in beyond it, no force has done.
        let work = double_dot(&stress(matter, &strain), &base.matrix(&base.product(&stretch, &x)));
        for l in 0..TOGETHER {
            if flow.norms.0[l] <= 0.0 {
                continue;
            }
            let memory = &mut memories[l];
            memory.set_plastic(matrix(&plastic, l));
            memory.flow += flow.norms.0[l];
            memory.recent += flow.norms.0[l];
            taken[l] = Some(work.0[l]);
        }
    }
    let [m0, m1, m2, m3] = &*memories;
    let strength = product(&rotation, &full(&stress(matter, &strain)));
    let inverses = transposed(&gather([&m0.inverse, &m1.inverse, &m2.inverse, &m3.inverse]));
    let [i0, i1, i2, i3] = given.inverses;
    let pulls = product(&product(&strength, &inverses), &gather([i0, i1, i2, i3]));
    let mut done = Done { pulls: [DMat3::ZERO; TOGETHER], taken, strains: [0.0; TOGETHER], controls: [0.0; TOGETHER] };
    for l in 0..TOGETHER {
        let (fit, size) = (&mut fits[l], length.0[l]);
        done.controls[l] = given.controls[l] * (1.0 - memories[l].flowed());
        done.pulls[l] = matrix(&pulls, l) * given.volumes[l] - given.gradients[l] * done.controls[l];
        done.strains[l] = size + 0.5 * size * size;
        fit.gradient = given.gradients[l];
        fit.elastic = matrix(&elastic, l);
        fit.rotation = matrix(&rotation, l);
        // An upper bound is good enough.
        fit.stretch = 1.0 + size;
    }
    Some(done)
}

/// Terms after which a series of a matrix of a norm is good enough.
pub(super) fn terms_for(norm: f64) -> usize {
    let mut left = norm;
    let mut terms = 2;
    while left > ERROR && terms < TERMS {
        left *= norm;
        terms += 1;
    }
    terms
}

/// Stress over the rotation [Pa].
#[inline(always)]
pub(super) fn stress<N: Number>(matter: &Matter, strain: &Symmetric<N>) -> Symmetric<N> {
    let pressure = (strain[0] + strain[1] + strain[2]) * N::splat(matter.lambda);
    let (mut out, factor) = (*strain, N::splat(2.0 * matter.mu));
    for k in 0..6 {
        out[k] = out[k] * factor;
    }
    shifted(&out, pressure)
}

/// Norm of the deviatoric stress [Pa].
#[inline(always)]
pub(super) fn deviatoric_norm<N: Number>(matter: &Matter, strain: &Symmetric<N>) -> N {
    let shape = shifted(strain, (strain[0] + strain[1] + strain[2]) * N::splat(-1.0 / 3.0));
    double_dot(&shape, &shape).sqrt() * N::splat(2.0 * matter.mu)
}

/// The logarithm of what flows, and its deviatoric norm; as `Matter::flow` says.
struct Flowing<const FMA: bool> {
    part: Polynomial<Four<FMA>>,
    norms: Four<FMA>,
}

impl<const FMA: bool> Flowing<FMA> {
    #[inline(always)]
    fn new(
        given: &Given,
        memories: &[Memory; TOGETHER],
        base: &Base<Four<FMA>>,
        strain: &Symmetric<Four<FMA>>,
        terms: usize,
    ) -> Option<Self> {
        let Given { matter, part, .. } = *given;
        if part <= 0.0 {
            return None;
        }
        let norm = deviatoric_norm(matter, strain);
        let mut limits = [0.0; TOGETHER];
        let mut any = false;
        for l in 0..TOGETHER {
            limits[l] = matter.limit(memories[l].flow);
            any |= norm.0[l] > limits[l];
        }
        if !any {
            return None;
        }
        let log = base.series(&LOGARITHM[..terms]);
        let third = base.trace(&log) * Four::splat(1.0 / 3.0);
        let shape = shifted(&base.matrix(&log), Four::splat(0.0) - third);
        let size = double_dot(&shape, &shape).sqrt();
        let (mut gamma, mut flowed) = (Four::splat(0.0), Four::splat(0.0));
        for l in 0..TOGETHER {
            let (norm, limit, size) = (norm.0[l], limits[l], size.0[l]);
            if norm > limit && size > 0.0 {
                gamma.0[l] = (part * (norm - limit) / norm).min(MOST_FLOW / size);
            }
            flowed.0[l] = memories[l].flowed();
        }
        let volume = third * flowed - third;
        Some(Self { part: [gamma * (log[0] + volume), gamma * log[1], gamma * log[2]], norms: gamma * size })
    }
}

#[cfg(test)]
mod tests {
    use super::super::deform::deform;
    use super::*;
    use crate::linalg::rotation_xyz;
    use crate::random::Random;
    use crate::scene::MaterialSpec;
    use glam::DVec3;

    /// Four points with random small strain, one by one and together.
    #[test]
    fn four_points_do_what_one_does() {
        let material = MaterialSpec { young: 1e5, poisson: 0.3, yield_strain: 0.02, creep: 50.0, ..Default::default() };
        let matter = Matter::new(&material, 20.0);
        let mut random = Random::new(3, 9);
        for (amount, part) in [(0.01, 0.3), (0.03, 0.3), (0.05, 1.0), (0.03, 0.0)] {
            let mut some = |turn: f64, amount: f64| {
                let [a, b, c] = [random.in_cube(), random.in_cube(), random.in_cube()];
                let turn = DMat3::from_quat(rotation_xyz(random.in_cube() * turn));
                turn * (DMat3::IDENTITY + DMat3::from_cols(a, b, c) * amount)
            };
            let gradients: [DMat3; TOGETHER] = std::array::from_fn(|_| some(200.0, amount));
            let start: [Memory; TOGETHER] = std::array::from_fn(|l| {
                let mut memory = Memory { flow: 0.2 * l as f64, ..Memory::NEW };
                memory.set_plastic(some(5.0, 0.02));
                memory
            });
            for wide in [false, super::super::sums::wide_available()] {
                let (mut memories, mut fits) = (start, [Fit::REST; TOGETHER]);
                let inverse = DMat3::from_diagonal(DVec3::new(1.0, 2.0, 3.0));
                let given = Given {
                    matter: &matter,
                    part,
                    gradients,
                    inverses: [&inverse; TOGETHER],
                    volumes: [2.0; TOGETHER],
                    controls: [5.0; TOGETHER],
                };
                let done = deform_four(&given, wide, &mut memories, &mut fits).expect("small strain");
                for l in 0..TOGETHER {
                    let (mut memory, mut fit) = (start[l], Fit::REST);
                    let (taken, strain) = deform(&matter, &mut memory, &mut fit, gradients[l], part);
                    let stress = matter.stress(fit.rotation, fit.rotation.transpose() * fit.elastic);
                    let pull = stress * memory.inverse.transpose() * inverse * 2.0
                        - gradients[l] * (5.0 * (1.0 - memory.flowed()));
                    let off =
                        |a: DMat3, b: DMat3| (a - b).to_cols_array().iter().fold(0.0, |m, x| f64::max(m, x.abs()));
                    assert!(off(fit.elastic, fits[l].elastic) < 1e-6);
                    assert!(off(fit.rotation, fits[l].rotation) < 1e-7);
                    assert!(off(memory.plastic, memories[l].plastic) < 1e-6);
                    assert!((memory.flow - memories[l].flow).abs() < 1e-6, "{} {}", memory.flow, memories[l].flow);
                    assert!(off(pull, done.pulls[l]) < 1e-6 * 1e5 * 6.0);
                    assert!((strain - done.strains[l]).abs() < 1e-7);
                    assert_eq!(taken.is_some(), done.taken[l].is_some());
                    if let (Some(a), Some(b)) = (taken, done.taken[l]) {
                        assert!((a - b).abs() < 1e-4 * a.abs() + 1e-3, "{a} {b}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_inverted_or_far_is_left_to_others() {
        let matter = Matter::new(&MaterialSpec { young: 1e5, creep: 50.0, ..Default::default() }, 20.0);
        for odd in [DMat3::from_diagonal(DVec3::new(1.0, 1.0, -1.0)), DMat3::IDENTITY * 1.3, DMat3::NAN] {
            let mut gradients = [DMat3::IDENTITY; TOGETHER];
            gradients[2] = odd;
            let (mut memories, mut fits) = ([Memory::NEW; TOGETHER], [Fit::REST; TOGETHER]);
            let given = Given {
                matter: &matter,
                part: 0.5,
                gradients,
                inverses: [&DMat3::IDENTITY; TOGETHER],
                volumes: [1.0; TOGETHER],
                controls: [0.0; TOGETHER],
            };
            assert!(deform_four(&given, false, &mut memories, &mut fits).is_none());
        }
    }
}
