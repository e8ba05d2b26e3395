//! Strain-state plasticity [MKN04] section 4.1: elastic strain beyond a threshold turns into lasting strain.
//!
//! With the total Green strain G of a fixed reference, the plastic part Gᵖ, both in reference coordinates, and the metric
//! M = I + 2Gᵖ = FᵖᵀFᵖ of the shape without stress, a step of dt does
//!
//! ```text
//! S = C : (G - Gᵖ)                       stress in reference coordinates [Pa]
//! K = M S M - tr(M S)/3 M,  n = |dev(Fᵖ S Fᵖᵀ)| / 2μ
//! Gᵖ += (1 - exp(-creep dt)) (n - yield) (2μ)² n / (K : C : K) · K      where n > yield
//! Gᵖ *= limit / |Gᵖ|                                                  where |Gᵖ| > limit
//! ```
//!
//! Fᵖ S Fᵖᵀ is the stress as the shape without stress carries it (at small elastic strain the force over the area as
//! deformed), and K = Fᵖᵀ dev(Fᵖ S Fᵖᵀ) Fᵖ the change of Gᵖ that flow along it means: the shape changes, its volume does not,
//! whatever has flowed before. The factor lets the excess decay at the rate `creep` at held shape. Flow along the stress can only take
//! energy, for every stiffness C.
//!
//! [MKN04] takes M = I: yield and flow in Green strain itself. To first order in strain the two agree, and with M = I this
//! is its rule exactly; but at a stretch of 1.03 that rule yields at 7 % too much stress, and it loses volume (7 % at a plastic
//! strain of 0.25). It writes strain as JᵀJ - I, twice the Green strain: its c_min and c_max are twice `yield_strain` and
//! `max_plastic_strain`, c_creep is `creep`. One more thing departs from it: matter that is already beyond the limit, because an
//! event lowered it, stays where it is instead of springing back.

use crate::scene::MaterialSpec;

/// Symmetric tensor in the order xx yy zz yz zx xy; shears are tensor components, not doubled.
pub type Symmetric = [f64; 6];

/// When and how fast matter yields.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PlasticLaw {
    /// Norm of the deviatoric stress over 2μ from which on matter flows: that of the deviatoric elastic strain.
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
    /// Norm of the deviatoric stress over 2μ from which on matter flows: that of the deviatoric elastic strain.
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

    /// Change of the plastic Green strain at the total Green strain `green`, for matter of shear stiffness `two_mu` [Pa] whose
    /// elastic strain makes the stress `stress` [Pa]; `metric` is FᵖᵀFᵖ.
    #[inline(always)]
    pub fn change(
        &self,
        green: &Symmetric,
        metric: &Symmetric,
        plastic: &Symmetric,
        two_mu: f64,
        stress: impl Fn(&Symmetric) -> Symmetric,
    ) -> Symmetric {
        let elastic: Symmetric = std::array::from_fn(|k| green[k] - plastic[k]);
        let s = stress(&elastic);
        let third = contract(metric, &s) / 3.0;
        let pushed = sandwich(metric, &s);
        let along: Symmetric = std::array::from_fn(|k| pushed[k] - third * metric[k]);
        // tr(M S M S) - tr(M S)² / 3 = |dev(Fᵖ S Fᵖᵀ)|²
        let n = (contract(&along, &s)).max(0.0).sqrt() / two_mu;
        let excess = n - self.yield_strain;
        let resistance = contract(&along, &stress(&along));
        // No branches, so that eight points go through at once.
        let flows = excess > 0.0 && resistance > 0.0;
        let factor = if flows { self.part * excess * n * two_mu * two_mu / resistance } else { 0.0 };
        let moved: Symmetric = std::array::from_fn(|k| plastic[k] + factor * along[k]);
        let size = norm(&moved);
        let scale = if size > self.limit { self.limit / size } else { 1.0 };
        std::array::from_fn(|k| scale * moved[k] - plastic[k])
    }
}

/// The metric FᵀF = I + 2G of a shape with Green strain G.
#[inline(always)]
pub fn metric(green: &Symmetric) -> Symmetric {
    std::array::from_fn(|k| 2.0 * green[k] + if k < 3 { 1.0 } else { 0.0 })
}

/// Stress of an isotropic solid [Pa] with the Lamé constants [Pa].
#[inline(always)]
pub fn isotropic_stress(lambda: f64, two_mu: f64, e: &Symmetric) -> Symmetric {
    let volumetric = lambda * (e[0] + e[1] + e[2]);
    std::array::from_fn(|k| two_mu * e[k] + if k < 3 { volumetric } else { 0.0 })
}

/// M S M.
#[inline(always)]
fn sandwich(m: &Symmetric, s: &Symmetric) -> Symmetric {
    let rows = |a: &Symmetric| [[a[0], a[5], a[4]], [a[5], a[1], a[3]], [a[4], a[3], a[2]]];
    let (m, s) = (rows(m), rows(s));
    let product = |a: &[[f64; 3]; 3], b: &[[f64; 3]; 3], r: usize, c: usize| {
        a[r][0] * b[0][c] + a[r][1] * b[1][c] + a[r][2] * b[2][c]
    };
    let ms: [[f64; 3]; 3] = std::array::from_fn(|r| std::array::from_fn(|c| product(&m, &s, r, c)));
    [(0, 0), (1, 1), (2, 2), (1, 2), (2, 0), (0, 1)].map(|(r, c)| product(&ms, &m, r, c))
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

    const FLAT: Symmetric = [1.0, 1.0, 1.0, 0.0, 0.0, 0.0];

    /// By the rule of an isotropic solid of ν = 0.3.
    fn change(flow: &Flow, green: &Symmetric, metric: &Symmetric, plastic: &Symmetric) -> Symmetric {
        flow.change(green, metric, plastic, 2.0, |e| isotropic_stress(1.5, 2.0, e))
    }

    #[test]
    fn result_does_not_depend_on_how_time_is_cut() {
        let mut random = Random::new(7, 0);
        let law = PlasticLaw { yield_strain: 0.05, creep: 30.0, limit: 10.0 };
        for _ in 0..50 {
            let (green, start) = (random_strain(&mut random, 0.3), random_strain(&mut random, 0.1));
            let run = |metric: fn(&Symmetric) -> Symmetric, steps: usize| {
                let mut plastic = start;
                for _ in 0..steps {
                    let change = change(&law.over(0.1 / steps as f64), &green, &metric(&plastic), &plastic);
                    plastic.iter_mut().zip(change).for_each(|(p, c)| *p += c);
                }
                plastic
            };
            // To first order the flow keeps its direction, and the sum of the steps is exact.
            let (once, often) = (run(|_| FLAT, 1), run(|_| FLAT, 64));
            for k in 0..6 {
                assert!((once[k] - often[k]).abs() < 1e-13, "{once:?} {often:?}");
            }
            // At any strain, within what a quarter of the step may change.
            let (coarse, fine) = (run(metric, 64), run(metric, 256));
            let apart: Symmetric = std::array::from_fn(|k| coarse[k] - fine[k]);
            let way: Symmetric = std::array::from_fn(|k| fine[k] - start[k]);
            assert!(norm(&apart) <= 0.02 * norm(&way), "{coarse:?} {fine:?}");
        }
    }

    #[test]
    fn flow_only_takes_energy() {
        let mut random = Random::new(8, 0);
        for _ in 0..500 {
            let flow = Flow { yield_strain: 0.02, part: random.unit(), limit: 10.0 };
            let (green, plastic) = (random_strain(&mut random, 0.3), random_strain(&mut random, 0.2));
            let change = change(&flow, &green, &metric(&plastic), &plastic);
            let stress = |e: &Symmetric| isotropic_stress(1.5, 2.0, e);
            let elastic: Symmetric = std::array::from_fn(|k| green[k] - plastic[k]);
            let lost = contract(&stress(&elastic), &change) - 0.5 * contract(&stress(&change), &change);
            assert!(lost >= -1e-16, "{lost}");
        }
    }

    #[test]
    fn flow_keeps_the_volume() {
        // Pulled to three times its length in small steps, an all but rigid-plastic bar keeps its volume when let go.
        let law = PlasticLaw { yield_strain: 1e-3, creep: 1e3, limit: 10.0 };
        let mut plastic = [0.0; 6];
        for step in 1..=4000 {
            let stretch = 1.0 + f64::from(step) / 2000.0;
            // The sides are free: no stress across.
            let along = 0.5 * (stretch * stretch - 1.0);
            let across = plastic[1] - 0.3 * (along - plastic[0]);
            let green = [along, across, across, 0.0, 0.0, 0.0];
            let change = change(&law.over(1.0), &green, &metric(&plastic), &plastic);
            plastic.iter_mut().zip(change).for_each(|(p, c)| *p += c);
        }
        let volume = metric(&plastic)[..3].iter().product::<f64>().sqrt();
        assert!((volume - 1.0).abs() < 0.02, "{volume}");
    }

    #[test]
    fn degenerate_states_have_an_answer() {
        let flow = Flow { yield_strain: 0.0, part: 1.0, limit: 0.0 };
        assert_eq!(change(&flow, &[0.0; 6], &FLAT, &[0.0; 6]), [0.0; 6]);
        assert_eq!(change(&flow, &[0.1; 6], &FLAT, &[0.0; 6]), [0.0; 6]);
        // A shape flattened to nothing does not flow.
        let flat = [-0.5, -0.5, -0.5, 0.0, 0.0, 0.0];
        assert_eq!(change(&Flow { limit: 10.0, ..flow }, &FLAT, &metric(&flat), &flat), [0.0; 6]);
        // Beyond a lowered limit nothing springs back.
        let flow = Flow { yield_strain: 1.0, part: 1.0, limit: 0.1 };
        let beyond = [0.2, -0.2, 0.0, 0.0, 0.0, 0.0];
        assert_eq!(change(&flow.with_room_for(&beyond), &beyond, &metric(&beyond), &beyond), [0.0; 6]);
    }
}
