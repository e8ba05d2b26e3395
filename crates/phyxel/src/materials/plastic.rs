//! Strain-state plasticity [MKN04] section 4.1: elastic strain beyond a threshold turns into lasting strain.
//!
//! With the total Green strain G of a fixed reference and the plastic part Gᵖ, both in reference coordinates, a step of
//! dt does
//!
//! ```text
//! D = dev(G - Gᵖ),  n = |D|            (Frobenius norm)
//! Gᵖ += (1 - exp(-creep dt)) (n - yield) / n · D    where n > yield
//! Gᵖ *= limit / |Gᵖ|                                where |Gᵖ| > limit
//! ```
//!
//! The first line is the exact solution of dGᵖ/dt = creep (n - yield) D/n at held strain, so the result does not depend on
//! how time is cut into steps. [MKN04] writes strain as JᵀJ - I, twice the Green strain: its c_min and c_max are twice
//! `yield_strain` and `max_plastic_strain`, c_creep is `creep`. Departs from it in one thing: matter that is already
//! beyond the limit, because an event lowered it, stays where it is instead of springing back.
//!
//! At held strain the elastic energy can only fall: the flow goes down the gradient of ½ (G - Gᵖ):C:(G - Gᵖ) inside a
//! ball. For stiffness that depends on direction this is not so for every state; there the step is not taken.

use crate::scene::MaterialSpec;

/// Symmetric tensor in the order xx yy zz yz zx xy; shears are tensor components, not doubled.
pub type Symmetric = [f64; 6];

/// When and how fast matter yields.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PlasticLaw {
    /// Norm of the deviatoric elastic Green strain from which on matter flows.
    pub yield_strain: f64,
    /// Rate of the flow [1/s]; 0: none.
    pub creep: f64,
    /// Largest norm of the plastic Green strain.
    pub limit: f64,
}

impl PlasticLaw {
    /// The law of a scene's material; rate 0 unless it is a plastic solid.
    pub fn from_spec(spec: &MaterialSpec) -> Self {
        let creep = if spec.is_plastic() { spec.creep } else { 0.0 };
        Self { yield_strain: spec.yield_strain, creep, limit: spec.max_plastic_strain }
    }

    /// The flow of a step of `dt` [s].
    pub fn over(&self, dt: f64) -> Flow {
        Flow { yield_strain: self.yield_strain, part: -(-self.creep * dt).exp_m1(), limit: self.limit }
    }
}

/// What a step of given length does.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Flow {
    /// Norm of the deviatoric elastic Green strain from which on matter flows.
    pub yield_strain: f64,
    /// Part of the excess that flows in the step, 1 - exp(-creep dt).
    pub part: f64,
    /// Largest norm of the plastic Green strain.
    pub limit: f64,
}

impl Flow {
    /// The same with room for a strain that is already there: after an event has lowered the limit, nothing springs back.
    #[inline(always)]
    pub fn with_room_for(&self, plastic: &Symmetric) -> Self {
        let present = norm(plastic);
        Self { limit: if present > self.limit { present } else { self.limit }, ..*self }
    }

    /// Change of the plastic Green strain at the total Green strain `green`.
    #[inline(always)]
    pub fn change(&self, green: &Symmetric, plastic: &Symmetric) -> Symmetric {
        let mut deviator: Symmetric = std::array::from_fn(|k| green[k] - plastic[k]);
        let mean = (deviator[0] + deviator[1] + deviator[2]) / 3.0;
        for d in &mut deviator[..3] {
            *d -= mean;
        }
        let n = norm(&deviator);
        let excess = n - self.yield_strain;
        // No branches, so that eight points go through at once.
        let factor = if excess > 0.0 { self.part * excess / n } else { 0.0 };
        let moved: Symmetric = std::array::from_fn(|k| plastic[k] + factor * deviator[k]);
        let size = norm(&moved);
        let scale = if size > self.limit { self.limit / size } else { 1.0 };
        std::array::from_fn(|k| scale * moved[k] - plastic[k])
    }
}

/// Frobenius norm.
#[inline(always)]
pub fn norm(s: &Symmetric) -> f64 {
    contract(s, s).sqrt()
}

/// a : b.
#[inline(always)]
pub fn contract(a: &Symmetric, b: &Symmetric) -> f64 {
    (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) + 2.0 * (a[3] * b[3] + a[4] * b[4] + a[5] * b[5])
}

/// As a matrix.
#[inline]
pub fn to_matrix(s: &Symmetric) -> glam::DMat3 {
    glam::DMat3::from_cols_array(&[s[0], s[5], s[4], s[5], s[1], s[3], s[4], s[3], s[2]])
}

/// From a symmetric matrix.
#[inline]
pub fn from_matrix(m: glam::DMat3) -> Symmetric {
    [m.x_axis.x, m.y_axis.y, m.z_axis.z, m.y_axis.z, m.x_axis.z, m.x_axis.y]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn random_strain(random: &mut Random, size: f64) -> Symmetric {
        std::array::from_fn(|_| size * (2.0 * random.unit() - 1.0))
    }

    #[test]
    fn result_does_not_depend_on_how_time_is_cut() {
        let mut random = Random::new(7, 0);
        let law = PlasticLaw { yield_strain: 0.05, creep: 30.0, limit: 10.0 };
        for _ in 0..50 {
            let (green, start) = (random_strain(&mut random, 0.3), random_strain(&mut random, 0.1));
            let run = |steps: usize| {
                let mut plastic = start;
                for _ in 0..steps {
                    let change = law.over(0.1 / steps as f64).change(&green, &plastic);
                    plastic.iter_mut().zip(change).for_each(|(p, c)| *p += c);
                }
                plastic
            };
            let (once, often) = (run(1), run(64));
            for k in 0..6 {
                assert!((once[k] - often[k]).abs() < 1e-13, "{once:?} {often:?}");
            }
        }
    }

    #[test]
    fn flow_keeps_the_trace_and_only_takes_energy() {
        let mut random = Random::new(8, 0);
        for k in 0..500 {
            let flow = Flow { yield_strain: 0.02, part: random.unit(), limit: if k % 2 == 0 { 0.1 } else { 10.0 } };
            let (green, mut plastic) = (random_strain(&mut random, 0.3), random_strain(&mut random, 0.2));
            let mean = (plastic[0] + plastic[1] + plastic[2]) / 3.0;
            plastic[..3].iter_mut().for_each(|p| *p -= mean);
            let change = flow.with_room_for(&plastic).change(&green, &plastic);
            assert!((change[0] + change[1] + change[2]).abs() < 1e-14);
            // 2 mu dev(G - Gp) : change - mu |change|², the energy lost by an isotropic solid, over mu.
            let elastic: Symmetric = std::array::from_fn(|k| green[k] - plastic[k]);
            let lost = 2.0 * contract(&elastic, &change) - contract(&change, &change);
            assert!(lost >= -1e-16, "{lost}");
        }
    }

    #[test]
    fn degenerate_states_have_an_answer() {
        let flow = Flow { yield_strain: 0.0, part: 1.0, limit: 0.0 };
        assert_eq!(flow.change(&[0.0; 6], &[0.0; 6]), [0.0; 6]);
        assert_eq!(flow.change(&[0.1; 6], &[0.0; 6]), [0.0; 6]);
        // Beyond a lowered limit nothing springs back.
        let flow = Flow { yield_strain: 1.0, part: 1.0, limit: 0.1 };
        let beyond = [0.2, -0.2, 0.0, 0.0, 0.0, 0.0];
        assert_eq!(flow.with_room_for(&beyond).change(&beyond, &beyond), [0.0; 6]);
    }
}
