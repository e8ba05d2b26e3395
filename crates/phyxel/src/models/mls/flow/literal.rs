//! The formulas of `melt` word for word in f64: what the packed passes are checked against.

use super::melt::{CONTROL, FADE, MeltMatter, NEAR, SPIN_SLACK, TENSION, full_trace, spiky};
use super::pairs::{Kind, Pairs, SUPPORT};
use crate::linalg::{double_dot, outer, trace};
use glam::{DMat3, DVec3};
use std::f64::consts::PI;

/// What the passes know about each slot.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Slot {
    pub position: DVec3,
    pub velocity: DVec3,
    pub volume: f64,
    pub size: f64,
    pub kind: Kind,
    pub matter: u32,
    /// Density that walls add, as a part of the full one.
    pub wall: f64,
}

/// Fit of a slot's neighborhood. Written by `fit`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fit {
    /// B [1/m²].
    pub inverse: DMat3,
    /// C.
    pub filter: DMat3,
    /// Filtered velocity gradient L [1/s].
    pub velocity_gradient: DMat3,
    /// Σ w.
    pub weight: f64,
    /// Density δ over that of the full neighborhood.
    pub density: f64,
    /// 2 κ m / h⁴ [1/m⁴].
    pub open: DVec3,
}

/// What a slot sends to its neighbors. Written by `charge`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Charge {
    /// C P B - κ L [N/m²].
    pub stress: DMat3,
    /// κ [kg/s].
    pub control: f64,
    /// p / δ² [Pa].
    pub pressure: f64,
    /// 2 κ m (δ₀ p / δ² + s) / h⁴ [Pa/m⁴].
    pub lean: DVec3,
}

impl Charge {
    /// Sends nothing.
    pub const NONE: Self = Self { stress: DMat3::ZERO, control: 0.0, pressure: 0.0, lean: DVec3::ZERO };
}

/// Matter and scale of a melt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flow<'a> {
    pub matters: &'a [MeltMatter],
    /// Speed of sound that keeps the density [m/s].
    pub sound: f64,
    /// δ of a filled lattice.
    pub full_density: f64,
    /// Stiffness that keeps points apart, as a part of that of the pressure.
    pub near: f64,
    /// κ.
    pub open_side: f64,
}

impl Flow<'_> {
    /// Fits one slot to its linked neighbors.
    pub fn fit(&self, s: usize, slots: &[Slot], pairs: &Pairs) -> Fit {
        let own = &slots[s];
        let (mut moment, mut flow, mut weight, mut torque) = (DMat3::ZERO, DMat3::ZERO, 0.0, DVec3::ZERO);
        let mut density = own.volume * spiky(0.0, SUPPORT * own.size);
        let mut side = DVec3::ZERO;
        for &t in pairs.flowing_of(s) {
            let other = &slots[t as usize];
            let y = other.position - own.position;
            let h = SUPPORT * 0.5 * (own.size + other.size);
            let r2 = y.length_squared();
            if r2 >= h * h {
                continue;
            }
            let q = 1.0 - r2 / (h * h);
            let w = q * q * q;
            moment += outer(y * w, y);
            flow += outer((other.velocity - own.velocity) * w, y);
            torque += y.cross(other.velocity - own.velocity) * w;
            weight += w;
            density += other.volume * spiky(r2.sqrt(), h);
            side += y * (other.volume * w);
        }
        let own_h4 = (SUPPORT * own.size).powi(4);
        let side = side / own_h4;
        let cut = FADE * full_trace(own.size) / 3.0;
        let square = moment * moment + DMat3::from_diagonal(DVec3::splat(cut * cut));
        let inverse = moment * square.inverse();
        let filter = moment * inverse;
        let slack = SPIN_SLACK * (trace(moment) + cut);
        let inertia = DMat3::from_diagonal(DVec3::splat(trace(moment) + slack)) - moment;
        let spin = inertia.inverse() * torque;
        let turn = DMat3::from_cols(spin.cross(DVec3::X), spin.cross(DVec3::Y), spin.cross(DVec3::Z));
        Fit {
            inverse,
            filter,
            velocity_gradient: turn + filter * (flow - turn * moment) * inverse,
            weight,
            density: density / self.full_density + own.wall + self.open_side * side.length_squared(),
            open: side * (2.0 * self.open_side / own_h4),
        }
    }

    /// Pressure at a density over the full one [Pa].
    pub fn pressure(&self, matter: &MeltMatter, density: f64) -> f64 {
        (matter.density * self.sound * self.sound * (density - 1.0)).max(-matter.cohesion)
    }

    /// What a slot with stored strain `strain` sends.
    pub fn charge(&self, slot: &Slot, fit: &Fit, strain: DMat3) -> Charge {
        let matter = &self.matters[slot.matter as usize];
        let stress = (DMat3::from_diagonal(DVec3::splat(0.5 * matter.lambda * trace(strain))) + strain * matter.mu)
            * slot.volume;
        let mass = matter.density * slot.volume;
        let solid_part = fit.filter.determinant();
        let control = if fit.weight > 0.0 {
            CONTROL * solid_part * mass * self.sound / (SUPPORT * slot.size * fit.weight)
        } else {
            0.0
        };
        let pressure = match slot.kind {
            Kind::Melted => self.pressure(matter, fit.density) / (fit.density * self.full_density).powi(2),
            _ => 0.0,
        };
        let stress = fit.filter * stress * fit.inverse - fit.velocity_gradient * control;
        let tension = match slot.kind {
            Kind::Melted => TENSION * matter.cohesion,
            _ => 0.0,
        };
        Charge { stress, control, pressure, lean: fit.open * (pressure * self.full_density + tension) }
    }

    /// Force of all linked neighbors on slot `s` [N].
    pub fn force(&self, s: usize, slots: &[Slot], charges: &[Charge], pairs: &Pairs) -> DVec3 {
        let mut force = DVec3::ZERO;
        let flows = slots[s].kind.flows();
        for &t in pairs.flowing_of(s) {
            if flows || slots[t as usize].kind.flows() {
                force += self.linked_force(&slots[s], &slots[t as usize], &charges[s], &charges[t as usize]);
            }
        }
        force
    }

    #[inline]
    fn linked_force(&self, a: &Slot, b: &Slot, from_a: &Charge, from_b: &Charge) -> DVec3 {
        let y = b.position - a.position;
        let size = 0.5 * (a.size + b.size);
        let h = SUPPORT * size;
        let r2 = y.length_squared();
        if r2 >= h * h {
            return DVec3::ZERO;
        }
        let relative = b.velocity - a.velocity;
        let q = 1.0 - r2 / (h * h);
        let w = q * q * q;
        let mut force = ((from_a.stress + from_b.stress) * y + relative * (from_a.control + from_b.control)) * w;
        let (liquid_a, liquid_b) = (a.kind == Kind::Melted, b.kind == Kind::Melted);
        if liquid_a || liquid_b {
            let r = r2.sqrt().max(1e-6 * size);
            let axis = y / r;
            let (near, volumes) = ((1.0 - r / h).max(0.0), a.volume * b.volume);
            // A solid partner mirrors the pressure of the melt.
            let pressure = match (liquid_a, liquid_b) {
                (true, true) => from_a.pressure + from_b.pressure,
                (true, false) => 2.0 * from_a.pressure,
                _ => 2.0 * from_b.pressure,
            };
            let slope = 45.0 / (PI * h.powi(4)) * near * near;
            let lean = (from_a.lean - from_b.lean) * volumes;
            force += lean * w - y * (6.0 * q * q / (h * h) * y.dot(lean));
            let viscosity =
                0.5 * (self.matters[a.matter as usize].viscosity + self.matters[b.matter as usize].viscosity);
            let drag = viscosity * 45.0 / (PI * h.powi(5)) * near * relative.dot(axis);
            let close = (1.0 - r / (NEAR * size)).max(0.0) * self.near * self.stiffness(a, b) * size * size;
            force += axis * (volumes * (drag - pressure * slope) - close);
        }
        force
    }

    fn stiffness(&self, a: &Slot, b: &Slot) -> f64 {
        let density = 0.5 * (self.matters[a.matter as usize].density + self.matters[b.matter as usize].density);
        density * self.sound * self.sound
    }
}

/// Stored strain (in the measure JᵀJ - I) after the matter moved for `dt` [s] with velocity gradient `l` [1/s] as seen
/// from where it is now, and crept at the rate `creep` [1/s].
pub(crate) fn carry_strain(strain: DMat3, l: DMat3, dt: f64, creep: f64) -> DMat3 {
    // Seen from the present positions the matter came through I - dt L; large steps of single points are cut.
    let back = DMat3::IDENTITY - limited(l * dt);
    absorb(strain, back.inverse(), (-creep * dt).exp())
}

/// Stored strain after the reference has followed the deformation `j`; `kept` is the part that does not creep away.
pub(crate) fn absorb(strain: DMat3, j: DMat3, kept: f64) -> DMat3 {
    let elastic = (j.transpose() * j - DMat3::IDENTITY + strain) * kept;
    let rotation = polar_rotation(j);
    rotation * elastic * rotation.transpose()
}

/// Rotation nearest to a deformation that is not too far from one.
pub(crate) fn polar_rotation(j: DMat3) -> DMat3 {
    let mut r = j;
    for _ in 0..6 {
        let next = (r + r.transpose().inverse()) * 0.5;
        let change = next - r;
        r = next;
        if double_dot(change, change) < 1e-24 {
            break;
        }
    }
    if r.is_finite() { r } else { DMat3::IDENTITY }
}

/// A displacement gradient of at most one half.
fn limited(gradient: DMat3) -> DMat3 {
    let norm = double_dot(gradient, gradient).sqrt();
    if norm > 0.5 { gradient * (0.5 / norm) } else { gradient }
}
