//! Point algebra of melt stencils, eight points in lanes; matrices row by row.

use super::lanes::{Lanes, Row};
use super::melt::{CONTROL, FADE, MeltMatter, OPEN_SIDE, SPIN_SLACK, Scale, TENSION, full_trace};
use super::pairs::{Kind, SUPPORT};

/// A matrix in lanes.
pub(crate) type Matrix<L> = [L; 9];

/// Sums over a block's neighborhoods. Lengths in units.
#[derive(Clone, Copy)]
pub(crate) struct Moments<L> {
    /// A: xx, xy, xz, yy, yz, zz.
    pub a: [L; 6],
    /// Σ w v yᵀ.
    pub flow: Matrix<L>,
    /// Σ w.
    pub weight: L,
    /// Density over that of a full neighborhood, without walls and without what is missing at a free surface.
    pub density: L,
    /// m̃: toward where more matter is.
    pub side: [L; 3],
}

/// Constants of eight points.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Constants {
    /// ½ λ v and μ v over the length unit [N].
    pub lambda: Row,
    pub mu: Row,
    /// Part of the strain that does not creep away in this step.
    pub kept: Row,
    /// κ of a full neighborhood times its weight [kg/s].
    pub control: Row,
    /// ρ c² [Pa].
    pub stiffness: Row,
    /// Viscosity [Pa s].
    pub viscosity: Row,
    /// Largest tension [Pa].
    pub cohesion: Row,
    /// 1 where the point has a melt stencil, else 0.
    pub flows: Row,
    /// 1 where the point is melted, else 0.
    pub liquid: Row,
    /// Density that walls add, as a part of the full one.
    pub wall: Row,
    /// m of the half-spaces behind walls.
    pub wall_side: [Row; 3],
}

impl Constants {
    /// Points that do not flow.
    pub const NONE: Self = Self {
        lambda: Row::ZERO,
        mu: Row::ZERO,
        kept: Row::ZERO,
        control: Row::ZERO,
        stiffness: Row::ZERO,
        viscosity: Row::ZERO,
        cohesion: Row::ZERO,
        flows: Row::ZERO,
        liquid: Row::ZERO,
        wall: Row::ZERO,
        wall_side: [Row::ZERO; 3],
    };

    /// Sets one lane to a point of the given volume [m³] and spacing [m], without walls and creep.
    pub fn set(&mut self, lane: usize, kind: Kind, matter: &MeltMatter, scale: &Scale, volume: f64, size: f64) {
        let number = |yes: bool| if yes { 1.0 } else { 0.0 };
        let control = CONTROL * matter.density * volume * scale.sound / (SUPPORT * size);
        self.lambda.0[lane] = (0.5 * matter.lambda * volume / scale.unit) as f32;
        self.mu.0[lane] = (matter.mu * volume / scale.unit) as f32;
        self.kept.0[lane] = 1.0;
        self.control.0[lane] = control as f32;
        self.stiffness.0[lane] = (matter.density * scale.sound * scale.sound) as f32;
        self.viscosity.0[lane] = matter.viscosity as f32;
        self.cohesion.0[lane] = matter.cohesion as f32;
        self.flows.0[lane] = number(kind.flows());
        self.liquid.0[lane] = number(kind == Kind::Melted);
        self.wall.0[lane] = 0.0;
        self.wall_side.iter_mut().for_each(|g| g.0[lane] = 0.0);
    }
}

/// What eight points send.
#[derive(Clone, Copy)]
pub(crate) struct Charges<L> {
    /// C P B - κ L [N per length unit].
    pub stress: Matrix<L>,
    /// κ [kg/s].
    pub control: L,
    /// p / δ² [Pa].
    pub pressure: L,
    /// 2 κ (δ₀ p / δ² m + s m̃) / h⁴ [Pa over length units⁴].
    pub lean: [L; 3],
    /// 2 κ m / h⁴.
    pub open: [L; 3],
    /// δ over that of a full neighborhood.
    pub density: L,
    /// κ |m̃|², the part of it that fills the open side.
    pub missing: L,
    /// Stored strain: xx, xy, xz, yy, yz, zz.
    pub strain: [L; 6],
}

#[inline(always)]
pub(crate) fn full<L: Copy>(s: [L; 6]) -> Matrix<L> {
    [s[0], s[1], s[2], s[1], s[3], s[4], s[2], s[4], s[5]]
}

#[inline(always)]
pub(crate) fn transposed<L: Copy>(m: &Matrix<L>) -> Matrix<L> {
    [m[0], m[3], m[6], m[1], m[4], m[7], m[2], m[5], m[8]]
}

#[inline(always)]
pub(crate) fn product<L: Lanes>(a: &Matrix<L>, b: &Matrix<L>) -> Matrix<L> {
    let mut out = *a;
    for r in 0..3 {
        for c in 0..3 {
            out[3 * r + c] = a[3 * r].mul_add(b[c], a[3 * r + 1].mul_add(b[3 + c], a[3 * r + 2] * b[6 + c]));
        }
    }
    out
}

#[inline(always)]
pub(crate) fn cofactors<L: Lanes>(m: &Matrix<L>) -> Matrix<L> {
    let mut out = *m;
    for r in 0..3 {
        for c in 0..3 {
            let (a, b) = ((r + 1) % 3, (r + 2) % 3);
            let (p, q) = ((c + 1) % 3, (c + 2) % 3);
            out[3 * r + c] = m[3 * a + p] * m[3 * b + q] - m[3 * a + q] * m[3 * b + p];
        }
    }
    out
}

/// Inverse of the transpose, and the determinant.
#[inline(always)]
fn inverse_transposed<L: Lanes>(m: &Matrix<L>) -> (Matrix<L>, L) {
    let mut out = cofactors(m);
    let determinant = m[0].mul_add(out[0], m[1].mul_add(out[1], m[2] * out[2]));
    let part = L::splat(1.0) / determinant;
    for k in 0..9 {
        out[k] = out[k] * part;
    }
    (out, determinant)
}

/// Orthogonal factor of a matrix near the identity; `inverse_transposed` of it is known.
#[inline(always)]
fn orthogonal<L: Lanes>(m: &Matrix<L>, inverse_transposed_m: &Matrix<L>) -> Matrix<L> {
    let half = L::splat(0.5);
    let (mut r, mut other) = (*m, *inverse_transposed_m);
    // Singular values between 1/2 and 3/2 are within 1e-7 of one after four steps.
    for step in 0..4 {
        for k in 0..9 {
            r[k] = (r[k] + other[k]) * half;
        }
        if step < 3 {
            other = inverse_transposed(&r).0;
        }
    }
    r
}

/// Stored strain after the matter moved by the displacement gradient `d`, seen from where it is now; `kept` is the part that does
/// not creep away. Large steps of single points are cut.
#[inline(always)]
pub(crate) fn carry_strain<L: Lanes>(strain: [L; 6], d: &Matrix<L>, kept: L) -> [L; 6] {
    let mut squares = d[0] * d[0];
    for k in 1..9 {
        squares = d[k].mul_add(d[k], squares);
    }
    let one = L::splat(1.0);
    let cut = (L::splat(0.5) / squares.sqrt()).min(one);
    let (mut d, mut back) = (*d, *d);
    for k in 0..9 {
        d[k] = d[k] * cut;
        let unit = L::splat(if k % 4 == 0 { 1.0 } else { 0.0 });
        back[k] = unit - d[k];
    }
    // J = (I - D)⁻¹, H = J - I = J D: free of the cancellation in JᵀJ - I.
    let (j_transposed, _) = inverse_transposed(&back);
    let h = product(&transposed(&j_transposed), &d);
    let turn_back = orthogonal(&back, &j_transposed);
    absorb(strain, &h, &turn_back, kept)
}

/// `R kept (H + Hᵀ + HᵀH + strain) Rᵀ` for the transpose of R.
#[inline(always)]
fn absorb<L: Lanes>(strain: [L; 6], h: &Matrix<L>, turn_back: &Matrix<L>, kept: L) -> [L; 6] {
    let square = product(&transposed(h), h);
    let mut elastic = full(strain);
    for r in 0..3 {
        for c in 0..3 {
            let k = 3 * r + c;
            elastic[k] = ((h[k] + h[3 * c + r]) + (square[k] + elastic[k])) * kept;
        }
    }
    let turned = product(&product(&transposed(turn_back), &elastic), turn_back);
    [turned[0], turned[1], turned[2], turned[4], turned[5], turned[8]]
}

/// L = Ω + C (F - Ω A) B: the turn that fits best, and the filtered gradient of the rest.
#[inline(always)]
fn velocity_gradient<L: Lanes>(
    a: &Matrix<L>,
    flow: &Matrix<L>,
    filter: &Matrix<L>,
    inverse: &Matrix<L>,
    cut: L,
) -> Matrix<L> {
    let zero = L::splat(0.0);
    let trace = a[0] + a[4] + a[8];
    let diagonal = trace + L::splat(SPIN_SLACK as f32) * (trace + cut);
    let mut inertia = *a;
    for k in 0..9 {
        inertia[k] = if k % 4 == 0 { diagonal } else { zero } - a[k];
    }
    // Symmetric: the transpose of the inverse is the inverse.
    let (m, _) = inverse_transposed(&inertia);
    let torque = [flow[7] - flow[5], flow[2] - flow[6], flow[3] - flow[1]];
    let along = |r: usize| m[r].mul_add(torque[0], m[r + 1].mul_add(torque[1], m[r + 2] * torque[2]));
    let [x, y, z] = [along(0), along(3), along(6)];
    let turn = [zero, zero - z, y, z, zero, zero - x, zero - y, x, zero];
    let turned = product(&turn, a);
    let mut rest = *flow;
    for k in 0..9 {
        rest[k] = flow[k] - turned[k];
    }
    let mut gradient = product(&product(filter, &rest), inverse);
    for k in 0..9 {
        gradient[k] = gradient[k] + turn[k];
    }
    gradient
}

/// From the sums of eight points to what they send. `sizes` in units; `dt` [s] over the length unit.
#[inline(always)]
pub(crate) fn charge<L: Lanes>(
    sums: &Moments<L>,
    sizes: L,
    constants: &Constants,
    strain: &[Row; 6],
    dt: f32,
    full_density: f32,
) -> Charges<L> {
    let a = full(sums.a);
    let cut = L::splat((FADE * full_trace(1.0) / 3.0) as f32) * sizes * sizes;
    let mut square = product(&a, &a);
    for k in [0, 4, 8] {
        square[k] = cut.mul_add(cut, square[k]);
    }
    // The inverse is symmetric.
    let inverse = product(&a, &inverse_transposed(&square).0);
    let filter = product(&a, &inverse);
    let gradient = velocity_gradient(&a, &sums.flow, &filter, &inverse, cut);

    let flows = L::load(&constants.flows);
    let (mut d, dt) = (gradient, L::splat(dt));
    for k in 0..9 {
        d[k] = d[k] * dt;
    }
    let mut stored = [flows; 6];
    for k in 0..6 {
        stored[k] = L::load(&strain[k]);
    }
    let mut strain = carry_strain(stored, &d, L::load(&constants.kept));
    for k in 0..6 {
        strain[k] = strain[k] * flows;
    }

    let (lambda, mu) = (L::load(&constants.lambda) * flows, L::load(&constants.mu) * flows);
    let mut stress = full(strain);
    let volumetric = lambda * (strain[0] + strain[3] + strain[5]);
    for k in 0..9 {
        let diagonal = if k % 4 == 0 { volumetric } else { L::splat(0.0) };
        stress[k] = mu.mul_add(stress[k], diagonal);
    }
    let (_, solid_part) = inverse_transposed(&filter);
    let weight = sums.weight.max(L::splat(1e-6));
    let control = flows * L::load(&constants.control) * solid_part / weight;
    let mut sent = product(&product(&filter, &stress), &inverse);
    for k in 0..9 {
        sent[k] = sent[k] - control * gradient[k];
    }
    let square_of = |m: &[L; 3]| m[0].mul_add(m[0], m[1].mul_add(m[1], m[2] * m[2])) * L::splat(OPEN_SIDE as f32);
    let missing = square_of(&sums.side);
    let mut open = sums.side;
    for k in 0..3 {
        open[k] = open[k] + L::load(&constants.wall_side[k]);
    }
    let density = sums.density + L::load(&constants.wall) + square_of(&open);
    let pressure = L::load(&constants.stiffness) * (density - L::splat(1.0));
    let pressure = pressure.max(L::splat(0.0) - L::load(&constants.cohesion)) * L::load(&constants.liquid);
    let lattice = density * L::splat(full_density);
    let pressure = pressure / (lattice * lattice);
    let tension = L::load(&constants.cohesion) * L::load(&constants.liquid) * L::splat(TENSION as f32);
    let square = sizes * sizes * L::splat((SUPPORT * SUPPORT) as f32);
    let twice = L::splat(2.0 * OPEN_SIDE as f32) / (square * square);
    let (tension, pressed) = (tension * twice, pressure * L::splat(full_density));
    let mut lean = open;
    for k in 0..3 {
        open[k] = open[k] * twice;
        lean[k] = tension.mul_add(sums.side[k], pressed * open[k]);
    }
    Charges { stress: sent, control, pressure, lean, open, density, missing, strain }
}
