//! What embedded matter does at one point: corotated linear elasticity and multiplicative flow, [War12] 3.3.
//!
//! With F = U Σ Vᵀ the energy density is ψ = μ|Σ - 1|² + λ/2 tr(Σ - 1)², and n = |dev 2μ(Σ - 1)| the norm of the deviatoric stress.
//! Beyond the limit Y the part (1 - exp(-creep dt)) (n - Y)/n of the logarithmic deviatoric stretch turns into flow: F̂ₚ = (Σ/det^⅓)^γ,
//! which relaxes n to Y at the rate `creep` and never past it. Departs from [War12] eq. 3.20, which takes dt creep in place of
//! the exponential and the norm of all of the stress, so that pressure makes matter flow.

use super::state::FULL_FLOW;
use super::svd::Svd;
use crate::linalg::{double_dot, trace};
use crate::scene::MaterialSpec;
use glam::{DMat3, DVec3};

/// Largest logarithmic flow of a step.
pub(super) const MOST_FLOW: f64 = 0.1;
/// Singular value below which nothing flows: logarithms would not be of use.
const LEAST_STRETCH: f64 = 0.1;
/// Default strength of the control of zero-energy modes.
pub const CONTROL: f64 = 0.1;

/// Flow between two renewals at which a point is anchored in the world, over the flow after which soft matter has forgotten all.
const ANCHORING: f64 = 0.4;
/// Elastic strain up to which flowing matter counts as soft.
const SOFT: f64 = 0.05;
/// Most that matter can flow before it has flowed in every respect.
const MOST_FULL_FLOW: f64 = 10.0;

/// What the points of one body are made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Matter {
    /// Lamé constants [Pa].
    pub lambda: f64,
    /// Shear modulus [Pa].
    pub mu: f64,
    /// Young's modulus [Pa].
    pub young: f64,
    /// Mass per volume [kg/m³].
    pub density: f64,
    /// Norm of the deviatoric stress from which on it flows [Pa].
    pub yield_stress: f64,
    /// Rise of that per accumulated flow [Pa]; negative: it softens.
    pub hardening: f64,
    /// Rate of flow [1/s]; 0: elastic.
    pub creep: f64,
    /// Viscosity along pair axes [Pa s].
    pub viscosity: f64,
    /// Strength of the control of zero-energy modes.
    pub control: f64,
    /// Modulus of the pressure that keeps apart what has flowed [Pa].
    pub pressure: f64,
    /// Accumulated flow at which it parts; infinite: never.
    pub break_flow: f64,
    /// Accumulated flow from which on it has flowed in every respect.
    pub full_flow: f64,
}

/// What a step of flow does to the principal stretches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flow {
    /// Plastic stretch F̂ₚ along the principal axes.
    pub plastic: DVec3,
    /// Accumulated plastic strain: γ times the norm of the logarithmic deviatoric stretch.
    pub strain: f64,
}

impl Matter {
    /// That of a scene's material. `sound` [m/s]: speed of sound that keeps the density of what has flowed.
    pub fn new(material: &MaterialSpec, sound: f64) -> Self {
        let (young, poisson) = (material.young, material.poisson);
        let mu = young / (2.0 * (1.0 + poisson));
        let own = material.embedded.unwrap_or_default();
        let stronger = own.hardening.max(0.0) * 2.0 / 3.0 * FULL_FLOW / (2.0 * mu);
        let lambda = young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson));
        Self {
            lambda,
            mu,
            young,
            density: material.density,
            yield_stress: 2.0 * mu * material.yield_strain,
            // H acts on von Mises stress and equivalent strain, each √(2/3) of the norms.
            hardening: own.hardening * 2.0 / 3.0,
            creep: material.creep,
            viscosity: material.viscosity,
            control: material.control.unwrap_or(CONTROL),
            // Never softer than the matter itself.
            pressure: (material.density * sound * sound).max(lambda + mu * 2.0 / 3.0),
            break_flow: own.break_strain.unwrap_or(f64::INFINITY),
            full_flow: full_flow(material.yield_strain + stronger),
        }
    }

    /// Flow between two renewals at which a point is anchored in the world rather than in its past.
    pub fn anchoring(&self) -> f64 {
        ANCHORING * self.full_flow * (self.full_flow / FULL_FLOW)
    }

    /// Speed of the fastest wave [m/s].
    pub fn wave_speed(&self) -> f64 {
        let elastic = self.lambda + 2.0 * self.mu;
        (if self.creep > 0.0 { elastic.max(self.pressure) } else { elastic } / self.density).sqrt()
    }

    /// Norm of the deviatoric stress at which it flows after a given accumulated flow [Pa].
    #[inline]
    pub fn limit(&self, flowed: f64) -> f64 {
        (self.yield_stress + self.hardening * flowed).max(0.0)
    }

    /// Energy density at principal stretches [Pa].
    #[inline]
    pub fn energy_density(&self, sigma: DVec3) -> f64 {
        let strain = sigma - DVec3::ONE;
        self.mu * strain.length_squared() + 0.5 * self.lambda * strain.element_sum().powi(2)
    }

    /// Principal values of the first Piola-Kirchhoff stress [Pa].
    #[inline]
    pub fn principal_stress(&self, sigma: DVec3) -> DVec3 {
        let strain = sigma - DVec3::ONE;
        2.0 * self.mu * strain + DVec3::splat(self.lambda * strain.element_sum())
    }

    /// First Piola-Kirchhoff stress [Pa] at the rotation and the symmetric stretch of F = R S.
    #[inline]
    pub fn stress(&self, rotation: DMat3, stretch: DMat3) -> DMat3 {
        let strain = stretch - DMat3::IDENTITY;
        let pressure = self.lambda * (strain.x_axis.x + strain.y_axis.y + strain.z_axis.z);
        rotation * (strain * (2.0 * self.mu) + DMat3::from_diagonal(DVec3::splat(pressure)))
    }

    /// Norm of the deviatoric stress at principal stretches [Pa].
    #[inline]
    pub fn deviatoric_norm(&self, sigma: DVec3) -> f64 {
        let mean = sigma.element_sum() / 3.0;
        2.0 * self.mu * (sigma - DVec3::splat(mean)).length()
    }

    /// The flow over `part` = 1 - exp(-creep dt) of the excess over `limit` [Pa]; None where nothing flows. Matter that has
    /// `flowed` (0 to 1) loses volume strain too: its volume is kept by the pressure.
    #[inline]
    pub fn flow(&self, sigma: DVec3, limit: f64, part: f64, flowed: f64) -> Option<Flow> {
        let norm = self.deviatoric_norm(sigma);
        if part <= 0.0 || norm <= limit || sigma.z <= LEAST_STRETCH {
            return None;
        }
        let logs = DVec3::new(sigma.x.ln(), sigma.y.ln(), sigma.z.ln());
        let volume = logs.element_sum() / 3.0;
        let shape = logs - DVec3::splat(volume);
        let size = shape.length();
        if size <= 0.0 {
            return None;
        }
        let gamma = (part * (norm - limit) / norm).min(MOST_FLOW / size);
        let exponents = (shape + DVec3::splat(flowed * volume)) * gamma;
        Some(Flow { plastic: exponents.exp(), strain: gamma * size })
    }
}

/// Accumulated flow after which matter that yields at a given strain forgets its past. Matter under high tension must remember it longer:
/// neighborhoods that follow its points while it is stretched are unstable, as those of liquids under tension are.
fn full_flow(yield_strain: f64) -> f64 {
    (FULL_FLOW * (yield_strain / SOFT).powi(2)).clamp(FULL_FLOW, MOST_FULL_FLOW)
}

/// Flow at small elastic strain, without principal axes.
impl Matter {
    /// The logarithm X of Fₚ = exp X, and its deviatoric norm, as `flow` finds them, at a strain of at most 0.15; None where nothing
    /// flows. `accumulated` is the flow so far.
    #[inline]
    pub fn small_flow(&self, strain: DMat3, accumulated: f64, part: f64, flowed: f64) -> Option<(DMat3, f64)> {
        let mean = DMat3::from_diagonal(DVec3::splat(trace(strain) / 3.0));
        let shape = strain - mean;
        let norm = 2.0 * self.mu * double_dot(shape, shape).sqrt();
        let limit = self.limit(accumulated);
        if norm <= limit {
            return None;
        }
        let log = logarithm(strain);
        let third = trace(log) / 3.0;
        let shape = log - DMat3::from_diagonal(DVec3::splat(third));
        let size = double_dot(shape, shape).sqrt();
        if size <= 0.0 {
            return None;
        }
        let gamma = (part * (norm - limit) / norm).min(MOST_FLOW / size);
        let x = (shape + DMat3::from_diagonal(DVec3::splat(flowed * third))) * gamma;
        Some((x, gamma * size))
    }
}

/// ln(1 + strain) of a symmetric strain of norm 0.15 at most, to 3e-7.
#[inline]
fn logarithm(strain: DMat3) -> DMat3 {
    // Horner: e (1 - e (1/2 - e (1/3 - e (1/4 - e (1/5 - e/6))))).
    let scaled = |x: f64| DMat3::from_diagonal(DVec3::splat(x));
    let mut sum = scaled(1.0 / 5.0) - strain * (1.0 / 6.0);
    for k in [4.0, 3.0, 2.0, 1.0] {
        sum = scaled(1.0 / k) - strain * sum;
    }
    strain * sum
}

/// exp X for a symmetric X of norm 0.15 at most, to 1e-8.
#[inline]
pub(super) fn exponential(x: DMat3) -> DMat3 {
    let mut sum = DMat3::IDENTITY + x * 0.2;
    for k in [4.0, 3.0, 2.0, 1.0] {
        sum = DMat3::IDENTITY + x * sum * (1.0 / k);
    }
    sum
}

/// The flow of [War12] eqs. 3.19 to 3.23 with what is wrong in print put right, for comparison: one step at a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PublishedFlow {
    /// γ.
    pub gamma: f64,
    /// Fₚ.
    pub plastic: DMat3,
    /// F Fₚ⁻¹.
    pub elastic: DMat3,
    /// First Piola-Kirchhoff stress [Pa].
    pub stress: DMat3,
    /// α after the step [Pa s].
    pub alpha: f64,
}

/// Largest γ of a published step.
const MOST_GAMMA: f64 = 0.5;

impl Matter {
    /// One published step at F over `dt` [s]: hardening by K α, α the time integral of the norm of the stress while matter flows.
    pub fn published_flow(&self, f: DMat3, dt: f64, k: f64, alpha: f64) -> PublishedFlow {
        let svd = Svd::new(f);
        let norm = self.deviatoric_norm(svd.sigma);
        let excess = norm - self.yield_stress - k * alpha;
        let free = svd.sigma.z > LEAST_STRETCH && norm > 0.0;
        let gamma = if free { (dt * self.creep * excess / norm).clamp(0.0, MOST_GAMMA) } else { 0.0 };
        let hat = match gamma > 0.0 {
            true => {
                let scale = (svd.sigma.x * svd.sigma.y * svd.sigma.z).cbrt();
                (svd.sigma / scale).powf(gamma)
            }
            false => DVec3::ONE,
        };
        let plastic = svd.v * DMat3::from_diagonal(hat) * svd.v.transpose();
        let sigma = svd.sigma / hat;
        PublishedFlow {
            gamma,
            plastic,
            elastic: svd.with(sigma),
            stress: svd.with(self.principal_stress(sigma)),
            alpha: if gamma > 0.0 { alpha + dt * norm } else { alpha },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::rotation_xyz;

    fn matter() -> Matter {
        let material =
            MaterialSpec { young: 1e5, poisson: 0.3, yield_strain: 0.013, creep: 50.0, ..Default::default() };
        Matter::new(&material, 20.0)
    }

    #[test]
    fn stress_is_the_slope_of_the_energy() {
        let (matter, turn) = (matter(), DMat3::from_quat(rotation_xyz(DVec3::new(20.0, 40.0, -70.0))));
        let f = turn * DMat3::from_cols_array(&[1.2, 0.1, -0.2, 0.3, 0.9, 0.1, 0.05, -0.1, 1.1]);
        let d = DMat3::from_cols_array(&[0.3, -0.2, 0.5, 0.1, 0.4, -0.6, 0.2, 0.7, -0.1]);
        let energy = |f: DMat3| matter.energy_density(Svd::new(f).sigma);
        let slope = (energy(f + d * 1e-6) - energy(f - d * 1e-6)) / 2e-6;
        let rotation = Svd::new(f).rotation();
        let stress = matter.stress(rotation, rotation.transpose() * f);
        assert!((double_dot(stress, d) - slope).abs() < 1e-6 * slope.abs());
        let svd = Svd::new(f);
        let same = svd.with(matter.principal_stress(svd.sigma)) - stress;
        assert!(double_dot(same, same).sqrt() < 1e-9);
    }

    #[test]
    fn both_ways_to_the_flow_agree() {
        let (matter, turn) = (matter(), DMat3::from_quat(rotation_xyz(DVec3::new(15.0, 70.0, -20.0))));
        for (sigma, flowed) in [(DVec3::new(1.09, 1.02, 0.95), 0.3), (DVec3::new(1.03, 1.0, 0.99), 1.0)] {
            let strain = turn * DMat3::from_diagonal(sigma - DVec3::ONE) * turn.transpose();
            let (x, norm) = matter.small_flow(strain, 0.0, 0.4, flowed).unwrap();
            let flow = matter.flow(sigma, matter.limit(0.0), 0.4, flowed).unwrap();
            let plastic = turn * DMat3::from_diagonal(flow.plastic) * turn.transpose();
            let off = exponential(x) - plastic;
            assert!(double_dot(off, off).sqrt() < 1e-6 && (norm / flow.strain - 1.0).abs() < 1e-5);
            let one = exponential(x) * exponential(-x) - DMat3::IDENTITY;
            assert!(double_dot(one, one).sqrt() < 1e-8);
        }
    }

    #[test]
    fn flow_keeps_volume_and_goes_to_the_limit_and_no_further() {
        let matter = matter();
        let sigma = DVec3::new(1.06, 1.01, 0.95);
        let all = matter.flow(sigma, 1e3, 1.0, 0.0).unwrap();
        assert!((all.plastic.x * all.plastic.y * all.plastic.z - 1.0).abs() < 1e-14);
        let left = matter.deviatoric_norm(sigma / all.plastic);
        assert!((left / 1e3 - 1.0).abs() < 0.1, "{left}");
        assert!(matter.flow(sigma, 1e5, 1.0, 0.0).is_none());
        assert!(matter.flow(DVec3::new(1.0, 0.9, -0.2), 1e3, 1.0, 0.0).is_none());
        assert!(matter.flow(DVec3::ONE, 0.0, 1.0, 0.0).is_none());
        let far = matter.flow(DVec3::new(3.0, 1.0, 0.3), 0.0, 1.0, 1.0).unwrap();
        assert!((far.strain - MOST_FLOW).abs() < 1e-12);
    }
}
