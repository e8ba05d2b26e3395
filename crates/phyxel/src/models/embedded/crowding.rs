//! The density at which a point is at rest.
//!
//! Gum that has been drawn out has its points close across and far apart along. Such a neighborhood reads as crowded though nothing is
//! compressed, and the pressure would shake it as soon as the elastic stretch is let go. What has flowed little beside what it bears
//! keeps its neighbors, and their places at rest are known: those in embedded space. So a point is at rest at
//!
//! ```text
//! δ₀ = 1 + (1 - χ) max(0, δ_e - 1)
//! ```
//!
//! in that of a full lattice, with δ_e the density of embedded space and χ how far it has flowed. What has flowed in every respect
//! (χ = 1) is anchored in the world, embedded space has its clumps too, and only the full lattice counts.

use super::crowd::{Member, reading};
use super::guards::{Guard, on};
use super::part::Part;
use super::stencils::CHUNK;
use rayon::prelude::*;

impl Part {
    /// Phase: finds the density of embedded space where that counts; the neighborhoods must be new.
    pub(super) fn find_crowding(&mut self) {
        let mut crowding = std::mem::take(&mut self.crowding);
        crowding.clear();
        crowding.resize(self.len(), 1.0);
        if self.flowed && self.published.is_none() {
            crowding.par_iter_mut().enumerate().with_min_len(CHUNK).for_each(|(i, out)| {
                let flowed = self.memories[i].flowed();
                if flowed > 0.0 && flowed < 1.0 {
                    *out = self.crowding_at(i).max(1.0);
                }
            });
        }
        self.crowding = crowding;
    }

    fn crowding_at(&self, i: usize) -> f32 {
        let at = self.places[i].embedded;
        let other = |&j: &u32| {
            let j = j as usize;
            [at.distance(self.places[j].embedded), self.volumes[j] as f32, self.spacings[j] as f32]
        };
        let others = self.stencils.list(i).neighbors.iter().map(other);
        reading(self.volumes[i] as f32, self.spacings[i] as f32, others)
    }

    /// What a point is to others now.
    #[inline]
    pub(super) fn squeezable(&self, k: usize, member: &Member) -> Member {
        let flowed = self.memories[k].flowed() as f32;
        let pressure = if on(Guard::Pressure) { member.modulus * flowed } else { 0.0 };
        Member { flowed, pressure, rest: 1.0 + (1.0 - flowed) * (self.crowding[k] - 1.0), ..*member }
    }
}
