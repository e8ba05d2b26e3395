//! Changes of phase: taking a body over, melting, freezing.

use super::bonds::{Bond, Stencil, join, leave};
use super::pairs::Kind;
use super::{FlowModel, MeltMatter};
use crate::materials::ElasticLaw;
use crate::models::mls::Stencils;
use crate::points::Points;
use crate::scene::MaterialSpec;
use glam::{DMat3, DVec3};

/// Support radius of stencils that freeze, over the spacing.
const FROZEN_SUPPORT: f64 = 2.0;

impl FlowModel {
    /// Takes a solid body over with the stencils it has; `step` is its largest step [s]. Nothing changes for it.
    pub(crate) fn take_over(&mut self, body: usize, stencils: &Stencils, step: f64) {
        if self.manages(body) {
            return;
        }
        let range = self.bodies[body].range.clone();
        self.bodies[body].managed = true;
        self.state.solid_steps[body] = step;
        for i in range {
            self.state.kinds[i] = Kind::Solid;
            self.state.stencils[i] = import(stencils, i);
        }
        self.forget_lists();
    }

    /// Changes the constants of a body.
    pub(crate) fn set_material(&mut self, body: usize, material: &MaterialSpec, law: ElasticLaw) {
        self.matters[body] = MeltMatter::new(material);
        let stiffer = law.longitudinal_modulus() / self.bodies[body].law.longitudinal_modulus();
        self.state.solid_steps[body] /= stiffer.sqrt();
        self.bodies[body].law = law;
        self.bodies[body].thermal = material.can_melt();
        self.solid.forget();
    }

    /// Forgets what follows from kinds and stencils.
    fn forget_lists(&mut self) {
        self.pairs.clear();
        self.solid.forget();
    }

    /// Melts points, ascending, that are solid.
    pub(crate) fn melt(&mut self, points: &[u32]) {
        if points.is_empty() {
            return;
        }
        for &i in points {
            leave(&mut self.state.stencils, i as usize);
            self.state.kinds[i as usize] = Kind::Melted;
            self.state.strains[i as usize] = DMat3::ZERO;
        }
        self.forget_lists();
    }

    /// Freezes points, ascending, that are melted, in the shape they have, without stress.
    ///
    /// A solid neighbor j takes a new point i in at x_ji = J_j⁻¹ y_ji: that lies on its present fit, so that its stress and its
    /// residuals do not change.
    pub(crate) fn freeze(&mut self, frozen: &[u32], points: &Points) {
        if frozen.is_empty() {
            return;
        }
        let is_new = |i: u32| frozen.binary_search(&i).is_ok();
        self.build_pairs(points);
        for &i in frozen {
            self.state.kinds[i as usize] = Kind::Solid;
            self.state.strains[i as usize] = DMat3::ZERO;
            self.state.stencils[i as usize] =
                Stencil { radius: FROZEN_SUPPORT * self.sizes[i as usize], ..Stencil::EMPTY };
        }
        let mut joins: Vec<(u32, u32, DVec3, DVec3)> = Vec::new();
        for &i in frozen {
            let slot = self.pairs.slots[i as usize] as usize;
            for &t in self.pairs.linked_of(slot) {
                let j = self.pairs.points[t as usize];
                if self.state.kinds[j as usize] != Kind::Solid || (is_new(j) && j < i) {
                    continue;
                }
                let y = points.positions[j as usize] - points.positions[i as usize];
                let seen = if is_new(j) { -y } else { self.rest_vector(j as usize, -y, points) };
                let reaches = |k: u32, x: DVec3| x.length() < self.state.stencils[k as usize].radius;
                if reaches(i, y) && reaches(j, seen) {
                    joins.push((i, j, y, seen));
                }
            }
        }
        self.bond(&joins, points);
        self.forget_lists();
    }

    /// Where a point at `y` from j lies in the rest shape of j's stencil.
    fn rest_vector(&self, j: usize, y: DVec3, points: &Points) -> DVec3 {
        let stencil = &self.state.stencils[j];
        if !stencil.fits() {
            return y;
        }
        let at = points.positions[j];
        let deformation = DMat3::IDENTITY + stencil.gradient(|b| points.positions[b.to as usize] - at);
        let rest = deformation.inverse() * y;
        if rest.is_finite() { rest } else { y }
    }

    fn bond(&mut self, joins: &[(u32, u32, DVec3, DVec3)], points: &Points) {
        let stencils = &mut self.state.stencils;
        let mut touched: Vec<u32> = joins.iter().flat_map(|j| [j.0, j.1]).collect();
        touched.sort_unstable();
        touched.dedup();
        // A stencil of springs starts anew from the present shape: it had none.
        for &j in &touched {
            let at = points.positions[j as usize];
            if !stencils[j as usize].fits() {
                stencils[j as usize].bonds.iter_mut().for_each(|b| b.rest = points.positions[b.to as usize] - at);
            }
        }
        for &(i, j, from_i, from_j) in joins {
            join(stencils, i as usize, j as usize, from_i, from_j);
        }
        for &j in &touched {
            stencils[j as usize].refit();
        }
    }

    /// Points of a body that are solid, or melted.
    pub(crate) fn points_in(&self, body: usize, melted: bool) -> Vec<u32> {
        let wanted = if melted { Kind::Melted } else { Kind::Solid };
        let range = self.bodies[body].range.clone();
        range.filter(|&i| self.state.kinds[i] == wanted).map(|i| i as u32).collect()
    }
}

/// The stencil of a point as the elastic model has it, corrected gradient vectors included.
fn import(stencils: &Stencils, i: usize) -> Stencil {
    let (neighbors, weights) = stencils.row(i);
    let bond = |(&j, &weight): (&u32, &f64)| Bond {
        to: j,
        twin: stencils.row(j as usize).0.binary_search(&(i as u32)).unwrap_or(0) as u32,
        weight,
        rest: stencils.rest_vector(i, j as usize),
        slope: stencils.gradient_vector(i, j as usize, weight),
    };
    Stencil {
        bonds: neighbors.iter().zip(weights).map(bond).collect(),
        inverse: stencils.inverse_moments[i],
        trace: stencils.moment_traces[i],
        rank: stencils.ranks[i],
        normal: missing_direction(stencils, i),
        radius: stencils.support_radii[i],
        worth: 1.0,
        plastic: DMat3::ZERO,
    }
}

fn missing_direction(stencils: &Stencils, i: usize) -> DVec3 {
    if stencils.ranks[i] != 2 {
        return DVec3::ZERO;
    }
    crate::linalg::SymmetricEigen::new(stencils.inverse_moments[i]).vectors.x_axis
}
