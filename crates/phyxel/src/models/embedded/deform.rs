//! What one point does in a step: elastic deformation, flow into P, and the prior that gives way.

use super::guards::{Guard, on};
use super::matter::{Matter, exponential};
use super::part::{Fit, PLASTIC};
use super::state::Memory;
use super::stencils::clamp_stretches;
use super::svd::{Svd, nearest_rotation, newton_rotation};
use crate::linalg::double_dot;
use glam::{DMat3, DVec3};

/// Elastic stretches that flowing matter can have.
const STRETCHES: [f64; 2] = [0.25, 4.0];
/// Norm of the strain up to which logarithms are taken by their series.
const SMALL: f64 = 0.15;

/// Elastic deformation and flow of one point; returns the energy density that flow took, if any, and the strain.
#[inline]
pub(super) fn deform(
    matter: &Matter,
    memory: &mut Memory,
    fit: &mut Fit,
    gradient: DMat3,
    part: f64,
) -> (Option<f64>, f64) {
    let f = gradient * memory.inverse;
    fit.gradient = gradient;
    fit.elastic = f;
    let Some(rotation) = newton_rotation(f) else { return deform_far(matter, memory, fit, part) };
    let stretch = rotation.transpose() * f;
    let strain = stretch - DMat3::IDENTITY;
    let size2 = double_dot(strain, strain);
    let flows = part > 0.0 && !memory.lost;
    if flows && size2 > SMALL * SMALL {
        return deform_far(matter, memory, fit, part);
    }
    let length = size2.sqrt();
    fit.rotation = rotation;
    // An upper bound is good enough.
    fit.stretch = 1.0 + length;
    let mut taken = None;
    if flows {
        let change = matter.small_flow(strain, memory.flow, part, memory.flowed());
        if let Some((x, norm)) = change {
            let [forth, back] = [exponential(x), exponential(-x)];
            fit.elastic = f * back;
            memory.set_plastic(forth * memory.plastic);
            memory.flow += norm;
            memory.recent += norm;
            // The work of the stress that is left: what the step put in beyond it, no force has done.
            let relaxed = stretch * back;
            taken = Some(double_dot(matter.stress(DMat3::IDENTITY, relaxed), relaxed * x));
        }
    }
    (taken, length + 0.5 * length * length)
}

/// The same by singular values, for large strain and inverted matter.
#[cold]
fn deform_far(matter: &Matter, memory: &mut Memory, fit: &mut Fit, part: f64) -> (Option<f64>, f64) {
    let svd = Svd::new(fit.elastic);
    let mut sigma = svd.sigma;
    fit.rotation = svd.rotation();
    let mut taken = None;
    if part > 0.0 && !memory.lost {
        let kept = sigma.clamp(DVec3::splat(STRETCHES[0]), DVec3::splat(STRETCHES[1]));
        if kept != sigma && on(Guard::Stretches) {
            fit.elastic = svd.with(kept);
            memory.set_plastic(clamp_stretches(fit.elastic.inverse() * fit.gradient, PLASTIC[0], PLASTIC[1]).0);
            sigma = kept;
        }
        if let Some(flow) = matter.flow(sigma, matter.limit(memory.flow), part, memory.flowed()) {
            sigma /= flow.plastic;
            fit.elastic = svd.with(sigma);
            let change = svd.v * DMat3::from_diagonal(flow.plastic) * svd.v.transpose();
            memory.set_plastic(change * memory.plastic);
            memory.flow += flow.strain;
            memory.recent += flow.strain;
            let logs = DVec3::new(flow.plastic.x.ln(), flow.plastic.y.ln(), flow.plastic.z.ln());
            taken = Some(matter.principal_stress(sigma).dot(sigma * logs));
        }
    }
    fit.stretch = sigma.x;
    (taken, 0.5 * (sigma * sigma - DVec3::ONE).length())
}

impl Memory {
    /// Sets P and its inverse.
    #[inline]
    pub(super) fn set_plastic(&mut self, plastic: DMat3) {
        self.plastic = plastic;
        self.inverse = plastic.inverse();
    }

    /// Turns the prior with the point, and lets its stress go down: what neighbors do not see, across a sheet or along a thread, is
    /// free to take its own width, as it would be in thin matter. `share` = Λ M⁻¹ is how much of the gradient is the prior's. A prior
    /// without strain instead would hold the width, and give the stress along the sheet energy from nowhere with every flow.
    pub(super) fn relax_prior(&mut self, matter: &Matter, fit: &Fit, share: DMat3) {
        if !on(Guard::Priors) {
            return;
        }
        let strained = self.prior * self.inverse;
        let turned = fit.rotation * nearest_rotation(strained).transpose() * self.prior;
        let slope =
            matter.stress(fit.rotation, fit.rotation.transpose() * fit.elastic) * self.inverse.transpose() * share;
        let stiffness = (3.0 * matter.lambda + 2.0 * matter.mu) * double_dot(self.inverse, self.inverse);
        self.prior = turned - slope * (1.0 / stiffness);
    }
}
