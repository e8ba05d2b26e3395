//! Lasting stretch and lasting creases: the rest lengths and rest angles of fibers creep after what is measured [WSG05] sec. 5.
//!
//! Differs from [WSG05] eqs. 22-26: the yield of lengths is relative, that of angles is the strain it means on the outer side of
//! the sheet (curvature times half the thickness), so that both depend on the material and not on the sampling; and the
//! exponential of the step makes any rate stable.

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
}

impl ShellFlow {
    /// Whether there is any.
    pub fn is_active(&self) -> bool {
        self.creep > 0.0
    }
}

/// Shortest rest length in that at the start.
const SHORTEST: f64 = 0.2;

impl Engine {
    /// Lets the fibers flow for `dt` [s] at what the last `measure` saw; says whether any did.
    pub fn flow(&mut self, law: &ShellFlow, dt: f64) -> bool {
        let part = 1.0 - (-law.creep * dt).exp();
        let mut any = false;
        self.for_each_group(|rest, original, [length, angle]| {
            for k in 0..LANES {
                let [whole, start, turn] = original.map(|lane: Stored| lane.0[k]);
                if whole <= 0.0 {
                    continue;
                }
                let over = length.0[k] - rest[0].0[k];
                if over.abs() > law.yield_strain * whole {
                    let most = law.most * whole;
                    let wanted = rest[0].0[k] + part * over;
                    rest[0].0[k] = wanted.clamp(whole - most, whole + most).max(SHORTEST * whole);
                    any = true;
                }
                // Angle per strain on the outer side.
                let per_strain = 2.0 * turn / law.thickness;
                let over = angle.0[k] - rest[1].0[k];
                if over.abs() > law.yield_strain * per_strain {
                    let most = law.most * per_strain;
                    rest[1].0[k] = (rest[1].0[k] + part * over).clamp(start - most, start + most);
                    any = true;
                }
            }
        });
        any
    }

    /// Largest plastic strain of the fibers of each node, of lengths or on the outer side by bending.
    pub fn plastic_strains(&self, thickness: f64, out: &mut [f32]) {
        self.for_each_center(|node, rest, original| {
            for k in 0..LANES {
                let [whole, start, turn] = original.map(|lane: Stored| lane.0[k]);
                if whole > 0.0 {
                    let stretch = (rest[0].0[k] - whole).abs() / whole;
                    let bend = 0.5 * thickness * (rest[1].0[k] - start).abs() / turn;
                    out[node] = out[node].max(stretch.max(bend) as f32);
                }
            }
        });
    }
}
