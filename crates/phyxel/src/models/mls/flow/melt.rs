//! Melted matter: the reference follows the shape, so every stencil is fitted to present positions.
//!
//! ```text
//! A_i = Σ w y yᵀ    B = A (A² + μ² I)⁻¹    C = A B    F = Σ w v_ij yᵀ    L_i = Ω + C (F - Ω A) B
//! strain   e ← R exp(-c dt)(JᵀJ - I + e) Rᵀ,  J = (I - dt L)⁻¹,  R its rotation          [MKN04] §4.2
//! stress   P_i = v_i (½ λ tr e I + μ e)      f_i = Σ_j w_ij (C_i P_i B_i + C_j P_j B_j) y_ij
//! density  δ_i / δ_0 = (V_i W(0) + Σ V_j W(r)) / δ_0 + κ |m_i|²     m̃_i = Σ V_j w y / h⁴, m_i = m̃_i + that of walls     W spiky
//! pressure p = max(-p_c, ρ c² (δ/δ_0 - 1)), q = p/δ²
//!          f_i = -Σ_j V_i V_j (q_i + q_j) ∇W + Σ_j V_i V_j (w I - 6 (1 - r²/h²)² y yᵀ / h²)(l_i - l_j)
//!          l_i = 2 κ (δ_0 q_i m_i + s m̃_i) / h⁴
//! tension  energy V s κ |m̃|², s = 0.4 p_c
//! viscous  f_i += Σ_j η V_i V_j ∇²W (v_ij·ŷ) ŷ
//! control  f_i += Σ_j (κ_i + κ_j) w v_ij - w (κ_i L_i + κ_j L_j) y_ij
//! ```
//!
//! Departs from [MKN04] §4.2 and eq. 23: the stored strain turns with the matter, all of it creeps (volume belongs to the
//! pressure), and thin neighborhoods fade out instead of being inverted: C tends to 0 in the directions that are not
//! sampled. Applying C on both sides keeps rotation free of strain and the stress free of torque. The turn Ω that fits the
//! velocities best (Σ w y × (v - Ω y) = 0) is taken out before the filter, so that the control makes no torque either: what is
//! left, F - Ω A, is symmetric, and so is it filtered on both sides.
//!
//! The term with m fills the empty half of the neighborhood of a point at a free surface. Without it that point reads a sixth
//! too little density, is pulled in with all of the cohesion, and the outermost layer sinks until its points crowd: shapes lost
//! a tenth of their volume and their surfaces grew rough. m is the first moment of the weights of the fit: it tells how empty
//! one side is, its square is the missing density of faces in all directions of a lattice within a sixteenth of the full one,
//! and it hardly sees the disorder inside (0.014 for points shaken by a quarter spacing; with the gradient of W in its place
//! 0.030, and pools came to rest more slowly). Edges and corners lack more. The same |m̃|², without
//! walls, is what the tension of the surface costs: it draws in what is curved and levels bumps, and walls are not wetted.
//!
//! Lists and slots are in `pairs`; the sums run packed in f32 (`packed`, `algebra`).

use super::pairs::SUPPORT;
use crate::linalg::{double_dot, trace};
use glam::{DMat3, DVec3};
use std::f64::consts::PI;

/// Moments below this part of a filled neighborhood's fade out.
pub(crate) const FADE: f64 = 0.2;
/// Added to the moment of inertia that the turn is found with, as a part: points in a line do not resist a turn about it.
pub(crate) const SPIN_SLACK: f64 = 1e-4;
/// Strength of the viscous control.
pub(crate) const CONTROL: f64 = 0.2;
/// Points nearer than this many spacings are pushed apart ...
pub(crate) const NEAR: f64 = 0.75;
/// ... by this part of the pressure stiffness.
pub(crate) const NEAR_STIFFNESS: f64 = 0.05;

/// κ: the outermost layer of a cubic lattice has full density.
pub(crate) const OPEN_SIDE: f64 = 38.03;
/// Energy of an open side over the cohesion. A flat face has the tension 0.07 cohesion times the spacing.
pub(crate) const TENSION: f64 = 0.4;

/// Constants of one material that flows.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct MeltMatter {
    /// Lamé constants of the stored strain [Pa].
    pub lambda: f64,
    pub mu: f64,
    /// Rate at which stored strain is forgotten [1/s].
    pub creep: f64,
    /// Viscosity along pair axes [Pa s].
    pub viscosity: f64,
    /// Largest tension [Pa].
    pub cohesion: f64,
    /// Density [kg/m³].
    pub density: f64,
}

impl MeltMatter {
    /// Speed of sound that its own stress and tension ask for, where nothing falls [m/s]: full tension at 95 % of the density.
    pub fn own_speed(&self) -> f64 {
        ((self.lambda + 2.0 * self.mu).max(20.0 * self.cohesion) / self.density).sqrt()
    }
}

/// Scales of a melt.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Scale {
    /// Length unit of the packed state [m].
    pub unit: f64,
    /// Speed of sound that keeps the density [m/s].
    pub sound: f64,
    /// δ of a filled lattice.
    pub full_density: f64,
    /// Stiffness that keeps points apart, as a part of that of the pressure.
    pub near: f64,
}

/// Spiky kernel (15 / π h⁶)(h - r)³ [1/m³].
pub(crate) fn spiky(r: f64, h: f64) -> f64 {
    let t = (1.0 - r / h).max(0.0);
    15.0 / (PI * h.powi(3)) * t * t * t
}

/// δ of a point of a filled lattice.
pub(crate) fn full_density() -> f64 {
    let reach = SUPPORT.ceil() as i32;
    let axis = || -reach..=reach;
    let mut sum = 0.0;
    for (x, y, z) in axis().flat_map(|x| axis().flat_map(move |y| axis().map(move |z| (x, y, z)))) {
        let r = f64::from(x * x + y * y + z * z).sqrt();
        sum += spiky(r, SUPPORT);
    }
    sum
}

/// Trace of the moment matrix of a filled neighborhood [m²] for spacing `a` [m].
pub(crate) fn full_trace(a: f64) -> f64 {
    // 4π h⁵ / a³ ∫ (1 - q²)³ q⁴ dq
    4.0 * PI * (16.0 / 1155.0) * SUPPORT.powi(5) * a * a
}

/// A point that touches others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Touching {
    pub position: DVec3,
    pub velocity: DVec3,
    /// Spacing [m].
    pub size: f64,
    /// Density of its matter [kg/m³].
    pub density: f64,
}

/// Force on `a` in the contact of points that are not of one piece [N].
pub(crate) fn push(scale: &Scale, a: &Touching, b: &Touching) -> DVec3 {
    let y = b.position - a.position;
    let size = 0.5 * (a.size + b.size);
    let r = y.length();
    if r >= size {
        return DVec3::ZERO;
    }
    let axis = if r > 1e-6 * size { y / r } else { DVec3::Y };
    let approach = -(b.velocity - a.velocity).dot(axis);
    let stiffness = 0.5 * (a.density + b.density) * scale.sound * scale.sound;
    let damping = 0.5 * stiffness / scale.sound * size * size;
    // Damping never pulls.
    let push = stiffness * size * size * (1.0 - r / size) + damping * approach;
    axis * -push.max(0.0)
}

/// Energy per volume of a melt stencil with stored strain `strain` [J/m³].
pub(crate) fn strain_energy(matter: &MeltMatter, strain: DMat3) -> f64 {
    let trace = trace(strain);
    0.125 * matter.lambda * trace * trace + 0.25 * matter.mu * double_dot(strain, strain)
}

/// Density, over the full one, at which the tension reaches the cohesion.
pub(crate) fn least_density(scale: &Scale, matter: &MeltMatter) -> f64 {
    (1.0 - matter.cohesion / (matter.density * scale.sound * scale.sound)).max(0.1)
}

/// Energy per volume of an open side that lacks the part `missing` of the full density [J/m³].
pub(crate) fn tension_energy(matter: &MeltMatter, missing: f64) -> f64 {
    TENSION * matter.cohesion * missing
}

/// Energy per volume of the pressure at a density over the full one [J/m³].
pub(crate) fn pressure_energy(scale: &Scale, matter: &MeltMatter, density: f64) -> f64 {
    let stiffness = matter.density * scale.sound * scale.sound;
    let compressed = |x: f64| stiffness * (x.ln() + 1.0 / x - 1.0);
    let slack = least_density(scale, matter);
    let pressure = if density >= slack {
        compressed(density)
    } else {
        compressed(slack) + matter.cohesion * (1.0 / density - 1.0 / slack)
    };
    pressure / scale.full_density
}
