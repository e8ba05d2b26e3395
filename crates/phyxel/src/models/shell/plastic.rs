//! Lasting stretch and lasting creases: the rest lengths and rest angles of fibers creep after what is measured [WSG05] sec. 5.
//!
//! Differs from [WSG05] eqs. 22-26: the yield of lengths is relative, that of angles is the strain it means on the outer side of
//! the sheet (curvature times half the thickness), so that both depend on the material and not on the sampling; and the
//! exponential of the step makes any rate stable. Fatigue likewise counts plastic strain on the outer side, not angles.

use super::engine::Engine;
use super::lanes::{LANES, Stored};

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
    /// Loss of strength in bending per plastic strain on the outer side.
    pub fatigue: f64,
}

impl ShellFlow {
    /// Whether there is any.
    pub fn is_active(&self) -> bool {
        self.creep > 0.0
    }
}

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
    /// Lets one fiber flow by a `part` of what is beyond its elastic range, and says whether it did. `original` is its length [m],
    /// angle [rad] and curvature length [m] before any flow, `seen` its length and angle now.
    pub fn advance(&self, part: f64, original: [f64; 3], seen: [f64; 2], fiber: &mut Flowing) -> bool {
        let [whole, start, turn] = original;
        let mut any = false;
        let over = seen[0] - fiber.length;
        if over.abs() > self.yield_strain * whole {
            let most = self.most * whole;
            let wanted = fiber.length + part * over;
            fiber.length = wanted.clamp(whole - most, whole + most).max(SHORTEST * whole);
            any = true;
        }
        // Angle per strain on the outer side.
        let per_strain = 2.0 * turn / self.thickness;
        let over = seen[1] - fiber.angle;
        // A fiber that does not count for bending has no curvature length.
        if turn > 0.0 && over.abs() > self.yield_strain * per_strain {
            let most = self.most * per_strain;
            let before = fiber.angle;
            fiber.angle = (fiber.angle + part * over).clamp(start - most, start + most);
            // [WSG05] eq. 29, its step taken exactly.
            fiber.strength *= (-self.fatigue * (fiber.angle - before).abs() / per_strain).exp();
            any = true;
        }
        any
    }

    /// Part of the strain beyond the elastic range that flows in `dt` [s].
    pub fn part(&self, dt: f64) -> f64 {
        1.0 - (-self.creep * dt).exp()
    }
}

impl Engine {
    /// Lets the fibers flow for `dt` [s] at what the last `measure` saw; returns the energy that this takes [J], and None where
    /// nothing flows.
    pub fn flow(&mut self, law: &ShellFlow, dt: f64) -> Option<f64> {
        let part = law.part(dt);
        if law.fatigue > 0.0 {
            self.keep_strengths();
        }
        let changed = self.for_each_group(|rest, original, seen, strengths| {
            for k in 0..LANES {
                let original = original.map(|lane: Stored| lane.0[k]);
                if original[0] <= 0.0 {
                    continue;
                }
                let mut fiber = Flowing { length: rest[0].0[k], angle: rest[1].0[k], strength: strengths.0[k] };
                law.advance(part, original, seen.map(|lane| lane.0[k]), &mut fiber);
                (rest[0].0[k], rest[1].0[k], strengths.0[k]) = (fiber.length, fiber.angle, fiber.strength);
            }
        });
        (!changed.is_empty()).then(|| self.dissipated(&changed))
    }

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
