//! Lasting stretch and lasting creases [WSG05] sec. 7.1: rest lengths and rest angles of fibers creep after what is measured.
//!
//! Differs from [WSG05] eqs. 22-26: where the fibers of a node fit a tensor, it is the tensor that yields (von Mises in the plane of
//! the sheet, flow along its normal), and all rest lengths of the node follow it together. Fibers that yield each for itself end with lengths
//! that no shape has: crumpled metal locks and rings. Where there is no tensor, single fibers yield; then the yield of lengths is relative, that of angles
//! is the strain it means on the outer side of the sheet (curvature times half the thickness), so that both depend on the
//! material and not on the sampling. The exponential of the step makes any rate stable. Fatigue counts plastic strain on the outer side, not angles.

use super::engine::Engine;
use super::lanes::{LANES, Stored};
use glam::DVec3;

/// How a shell yields.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ShellFlow {
    /// Elastic strain beyond which a fiber flows: of its length, or on the outer side by bending.
    pub yield_strain: f64,
    /// Rate at which elastic strain becomes plastic [1/s]; 0: none.
    pub creep: f64,
    /// Largest plastic strain.
    pub most: f64,
    /// Thickness of the sheet [m].
    pub thickness: f64,
    /// Poisson's ratio.
    pub poisson: f64,
    /// Loss of strength in bending per plastic strain on the outer side.
    pub fatigue: f64,
    /// Rise of the yield strain per plastic strain.
    pub hardening: f64,
}

impl ShellFlow {
    /// The law of what has a plastic strain already: harder or softer, but never below a tenth of its yield strain.
    pub(super) fn after(&self, plastic: f64) -> Self {
        let yield_strain = (self.yield_strain + self.hardening * plastic).max(LEAST_YIELD * self.yield_strain);
        Self { yield_strain, ..*self }
    }

    /// Whether there is any.
    pub fn is_active(&self) -> bool {
        self.creep > 0.0
    }
}

/// Yield strain of what has softened, at least, in that at the start.
const LEAST_YIELD: f64 = 0.1;
/// Shortest rest length in that at the start.
const SHORTEST: f64 = 0.2;

/// A fiber that may flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flowing {
    /// Rest length [m].
    pub length: f64,
    /// Rest angle [rad].
    pub angle: f64,
    /// What is left of its strength in bending.
    pub strength: f64,
}

impl ShellFlow {
    /// Lets one fiber flow by a `part` of what is beyond its elastic range. `original` is its length [m],
    /// angle [rad] and curvature length [m] before any flow, `seen` its length and angle now.
    pub fn advance(&self, part: f64, original: [f64; 3], seen: [f64; 2], fiber: &mut Flowing) {
        let (over, plastic) = (seen[0] - fiber.length, (fiber.length - original[0]).abs() / original[0]);
        if over.abs() > self.after(plastic).yield_strain * original[0] {
            self.set_length(fiber.length + part * over, original[0], fiber);
        }
        let (over, per_strain) = (seen[1] - fiber.angle, self.angle_per_strain(original[2]));
        // A fiber that does not count for bending has no curvature length.
        let yields =
            || over.abs() > self.after((fiber.angle - original[1]).abs() / per_strain).yield_strain * per_strain;
        if original[2] > 0.0 && yields() {
            self.set_angle(fiber.angle + part * over, original, fiber);
        }
    }

    /// Angle of a fiber per strain on the outer side, by its curvature length [m].
    fn angle_per_strain(&self, turn: f64) -> f64 {
        2.0 * turn / self.thickness
    }

    /// Gives a fiber of `whole` length at the start another one, within bounds.
    pub(super) fn set_length(&self, length: f64, whole: f64, fiber: &mut Flowing) {
        let most = self.most * whole;
        fiber.length = length.clamp(whole - most, whole + most).max(SHORTEST * whole);
    }

    /// Gives a fiber another angle, within bounds, and lets it tire by that.
    pub(super) fn set_angle(&self, angle: f64, [_, start, turn]: [f64; 3], fiber: &mut Flowing) {
        if turn <= 0.0 {
            return;
        }
        let per_strain = self.angle_per_strain(turn);
        let (before, most) = (fiber.angle, self.most * per_strain);
        fiber.angle = angle.clamp(start - most, start + most);
        // [WSG05] eq. 29, its step taken exactly.
        fiber.strength *= (-self.fatigue * (fiber.angle - before).abs() / per_strain).exp();
    }

    /// How many times a fiber may take the plastic Green strain `added` in one step, by its rest length over that at the start and
    /// the square of its elastic stretch: the rest length that leaves `stretch2` less twice the strain is to be within bounds.
    pub(super) fn room_of_length(&self, rest: f64, stretch2: f64, added: f64) -> f64 {
        let bound = if added > 0.0 { 1.0 + self.most } else { (1.0 - self.most).max(SHORTEST) };
        let left = stretch2 * (rest / bound).powi(2);
        // Never beyond half of the stretch: an absurd state is not to become a worse one.
        let left = if added > 0.0 { left.max(0.25 * stretch2) } else { left };
        match added == 0.0 {
            true => f64::INFINITY,
            false => (stretch2 - left) / (2.0 * added),
        }
    }

    /// How many times a fiber that has turned by `angle` [rad] and has the curvature length `turn` [m] may take the plastic
    /// curvature `added` [1/m].
    pub(super) fn room_of_angle(&self, angle: f64, turn: f64, added: f64) -> f64 {
        let most = self.most * self.angle_per_strain(turn);
        match added * turn == 0.0 {
            true => f64::INFINITY,
            false => (most.copysign(added) - angle) / (added * turn),
        }
    }

    /// Part of the strain beyond the elastic range that flows in `dt` [s].
    pub fn part(&self, dt: f64) -> f64 {
        1.0 - (-self.creep * dt).exp()
    }
}

impl ShellFlow {
    /// The stress of an elastic strain (mean, deviator, shear), per Young's modulus.
    fn stress(&self, e: DVec3) -> DVec3 {
        let [mean, deviator] = self.moduli();
        DVec3::new(mean * e.x, deviator * e.y, deviator * e.z)
    }

    fn moduli(&self) -> [f64; 2] {
        [1.0 / (1.0 - self.poisson), 1.0 / (1.0 + self.poisson)]
    }

    /// Whether a plain fit of strain and one of curvature [1/m] are surely below the least yield strain; rounding aside.
    pub(super) fn stays_elastic(&self, [strain, curvature]: [DVec3; 2]) -> bool {
        let softest = if self.hardening < 0.0 { LEAST_YIELD } else { 1.0 };
        let least = (1.0 - 1e-6) * softest * self.yield_strain;
        let below = |e: DVec3| equivalent(self.stress(e)) < least;
        below(strain) && below(curvature * (0.5 * self.thickness))
    }

    /// What of the elastic strain (mean, deviator, shear) becomes plastic, a `part` of it at most and never so much that it
    /// falls below the yield strain; None where it does not yield. Plane stress, von Mises: f² = p² + 3 (d² + s²) is the square
    /// of the stress in a simple pull, and the flow is along its gradient (p, 3 d, 3 s), taken at the end.
    pub fn increment(&self, part: f64, e: DVec3) -> Option<DVec3> {
        let stress = self.stress(e);
        let size = equivalent(stress);
        if size <= self.yield_strain || !size.is_finite() {
            return None;
        }
        let [mean, deviator] = self.moduli();
        let goal = (size * (1.0 - part)).max(self.yield_strain);
        let wanted = goal * goal * (1.0 + SPARED);
        let (mut flow, mut left) = (0.0, stress);
        // f² falls with the flow and is convex: from 0 on Newton's method comes to the goal from above, and never below the yield strain.
        for _ in 0..MOST_ROUNDS {
            let shrunk = [1.0 / (1.0 + flow * mean), 1.0 / (1.0 + 3.0 * flow * deviator)];
            left = stress * DVec3::new(shrunk[0], shrunk[1], shrunk[1]);
            let (even, uneven) = (left.x * left.x, 3.0 * (left.y * left.y + left.z * left.z));
            let over = even + uneven - wanted;
            if over <= 0.1 * SPARED * wanted {
                break;
            }
            flow += over / (2.0 * mean * shrunk[0] * even + 6.0 * deviator * shrunk[1] * uneven);
        }
        Some(flow * DVec3::new(left.x, 3.0 * left.y, 3.0 * left.z))
    }
}

/// Rounds of the search for the amount of flow, at most; from strains a thousand times too large some thirty are needed, else three.
const MOST_ROUNDS: usize = 60;
/// Part of the square of the stress by which it stays above the goal.
const SPARED: f64 = 1e-9;

/// Stress of a simple pull that yields as early.
fn equivalent(stress: DVec3) -> f64 {
    (stress.x * stress.x + 3.0 * (stress.y * stress.y + stress.z * stress.z)).sqrt()
}

impl Engine {
    /// Largest plastic strain of the fibers of each node, of lengths or on the outer side by bending.
    pub fn plastic_strains(&self, thickness: f64, out: &mut [f32]) {
        self.for_each_center(|node, rest, original| {
            for k in 0..LANES {
                let [whole, start, turn] = original.map(|lane: Stored| lane.0[k]);
                if whole > 0.0 {
                    let stretch = (rest[0].0[k] - whole).abs() / whole;
                    let bend = if turn > 0.0 { 0.5 * thickness * (rest[1].0[k] - start).abs() / turn } else { 0.0 };
                    out[node] = out[node].max(stretch.max(bend) as f32);
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAW: ShellFlow = ShellFlow {
        yield_strain: 0.01,
        creep: 1.0,
        most: 1.0,
        thickness: 0.01,
        poisson: 0.3,
        fatigue: 0.0,
        hardening: 0.0,
    };

    #[test]
    fn what_hardens_yields_later() {
        // Pulled to 0.05: E (0.05 - p) = E 0.01 + H p, so that p = 0.04 / (1 + H / E).
        let pulled = |hardening: f64| {
            let law = ShellFlow { hardening, ..LAW };
            let mut fiber = Flowing { length: 1.0, angle: 0.0, strength: 1.0 };
            (0..20_000).for_each(|_| law.advance(1e-3, [1.0, 0.0, 0.0], [1.05, 0.0], &mut fiber));
            fiber.length - 1.0
        };
        for hardening in [0.0, 0.5, 3.0] {
            let wanted = 0.04 / (1.0 + hardening);
            assert!((pulled(hardening) / wanted - 1.0).abs() < 0.01, "{hardening}: {}", pulled(hardening));
        }
        assert_eq!(ShellFlow { hardening: -1.0, ..LAW }.after(1.0).yield_strain, 0.001);
    }

    #[test]
    fn a_simple_pull_yields_at_the_yield_strain_and_thins_by_half() {
        let pull = |strain: f64| strain * DVec3::new(0.5 * 0.7, 0.5 * 1.3, 0.0);
        assert_eq!(LAW.increment(1.0, pull(0.00999)), None);
        let flow = LAW.increment(1.0, pull(0.03)).unwrap();
        let left = equivalent(LAW.stress(pull(0.03) - flow));
        assert!((0.01..0.010001).contains(&left), "{left}");
        // Plastic flow keeps the volume: of a pull, half goes across in the plane and half through the sheet.
        let flow = LAW.increment(1e-4, pull(0.03)).unwrap();
        let (along, across) = (flow.x + flow.y, flow.x - flow.y);
        assert!((across / along + 0.5).abs() < 1e-4, "{along} {across}");
    }

    #[test]
    fn any_state_comes_to_the_yield_strain_and_none_below() {
        for e in [DVec3::X, DVec3::Y, DVec3::Z, DVec3::new(-0.3, 0.2, 5.0), DVec3::new(1e3, -1e-3, 0.0)] {
            let left = equivalent(LAW.stress(e - LAW.increment(1.0, e).unwrap()));
            assert!((0.01..0.0101).contains(&left), "{e}: {left}");
            let slowly = equivalent(LAW.stress(e - LAW.increment(0.1, e).unwrap()));
            assert!((slowly / equivalent(LAW.stress(e)) - 0.9).abs() < 1e-5);
        }
    }
}
