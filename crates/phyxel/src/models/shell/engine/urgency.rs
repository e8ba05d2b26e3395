//! How near the fibers are to breaking.

use super::{CHUNK, Engine, LANES, Stored};
use crate::models::shell::fiber::GUARD_ANGLE;
use rayon::prelude::*;

/// Strains at which fibers break.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BreakLimits {
    /// Elastic strain of the length, stretch less 1; infinite: never.
    pub tension: f64,
    /// Elastic strain on the outer side by bending; infinite: never.
    pub bending: f64,
    /// Thickness of the sheet [m].
    pub thickness: f64,
}

/// A fiber that is to break.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Urgent {
    /// Node in its middle.
    pub node: u32,
    /// Its place among the fibers of that node.
    pub fiber: u32,
    /// Strain over what it bears; above 1.
    pub urgency: f64,
    /// By bending, and not by tension.
    pub bends: bool,
    /// What fatigue has left of the strength that it breaks by.
    pub tired: f64,
}

impl Engine {
    /// Appends the fibers that are to break at what the last `measure` saw, node after node. Each node has a factor of strength.
    pub fn urgent(&self, limits: &BreakLimits, strengths: &[f64], out: &mut Vec<Urgent>) {
        let chunks = self.centers.par_chunks(CHUNK).zip(self.own.par_chunks(CHUNK));
        let chunks = chunks.zip(self.seen.par_chunks(self.group_stride));
        let found: Vec<Vec<Urgent>> = chunks
            .map(|((centers, own), seen)| {
                let mut found = Vec::new();
                let mut place = 0;
                for (center, own) in centers.iter().zip(own) {
                    let strength = strengths[center.node as usize];
                    // Green strain at which a fiber may break by tension.
                    let stretch = 1.0 + limits.tension * strength;
                    let quiet = limits.bending.is_infinite() && 1.0 + 2.0 * own.strain[0] <= stretch * stretch;
                    for (k, g) in center.group_range().enumerate() {
                        if !quiet {
                            self.look_at_group(limits, g, seen[place], |lane, tension, bend, tired| {
                                let bends = bend > tension;
                                let (urgency, tired) = if bends { (bend, tired) } else { (tension, 1.0) };
                                if urgency > strength {
                                    let fiber = (k * LANES + lane) as u32;
                                    let urgency = urgency / strength;
                                    found.push(Urgent { node: center.node, fiber, urgency, bends, tired });
                                }
                            });
                        }
                        place += 1;
                    }
                }
                found
            })
            .collect();
        found.into_iter().for_each(|list| out.extend(list));
    }

    fn look_at_group(
        &self,
        limits: &BreakLimits,
        g: usize,
        [lengths, angles]: [Stored; 2],
        mut look: impl FnMut(usize, f64, f64, f64),
    ) {
        let ([rest_lengths, rest_angles], per_turn) = (self.groups[g].rest(), self.groups[g].per_turn);
        for lane in 0..LANES {
            let rest = rest_lengths.0[lane];
            if rest <= 0.0 {
                continue;
            }
            let tension = (lengths.0[lane] / rest - 1.0) / limits.tension;
            let tired = self.strengths.get(g).map_or(1.0, |s| s.0[lane]);
            // An angle that is about to jump says nothing.
            let known = angles.0[lane].abs() < GUARD_ANGLE[0];
            let turn = if known { (angles.0[lane] - rest_angles.0[lane]).abs() } else { 0.0 };
            let bend = 0.5 * limits.thickness * turn * per_turn.0[lane] / (limits.bending * tired);
            look(lane, tension, bend, tired);
        }
    }

    /// Elastic strain and change of curvature [1/m] of the fibers of a node, in order, at the last `measure`.
    pub fn measured(&self, i: usize) -> Vec<[f64; 2]> {
        let first = CHUNK * (i / CHUNK);
        let before: usize = self.centers[first..i].iter().map(|c| usize::from(c.groups)).sum();
        let place = i / CHUNK * self.group_stride + before;
        let mut out = Vec::new();
        for (k, g) in self.centers[i].group_range().enumerate() {
            let ([lengths, angles], [rest_lengths, rest_angles]) = (self.seen[place + k], self.groups[g].rest());
            for lane in (0..LANES).filter(|&lane| rest_lengths.0[lane] > 0.0) {
                let stretch = lengths.0[lane] / rest_lengths.0[lane];
                let known = angles.0[lane].abs() < GUARD_ANGLE[0];
                let turn = if known { angles.0[lane] - rest_angles.0[lane] } else { 0.0 };
                out.push([0.5 * (stretch * stretch - 1.0), turn * self.groups[g].per_turn.0[lane]]);
            }
        }
        out
    }
}
