//! Renewal of the embedding: flow goes from P into the embedded positions, and neighborhoods follow.
//!
//! Every few steps, where anything has flowed, embedded positions move towards what the flow asks for: the least-squares fit of
//!
//! ```text
//! e_ij + Δe_ij = (1 - β) D e_ij + β Qᵀ V⁻¹ x_ij,   D = P_old⁻¹ P,   β = 1 - exp(-Δq/ε),   V the left elastic stretch
//! ```
//!
//! which is [War12] eq. 3.25 at β = 0 and the shape without stress as it lies in the world at β = 1; Q is the rotation from embedded
//! space to the world (`frames`), so that what turns stays as it is in embedded space. Then new neighborhoods are found, the gradient G
//! is fitted anew, and P = F⁻¹ G: the elastic state of every point is the same before and after, whatever moved. This departs from
//! [War12] eq. 3.28, whose fit of P changes the stress a little each time.

use super::embedding::{Embedding, Target};
use super::guards::{Guard, on};
use super::matter::Matter;
use super::part::{PLASTIC, Part};
use super::region::flood;
use super::state::Memory;
use super::stencils::{CHUNK, Look, clamp_stretches};
use super::svd::{Svd, nearest_rotation, newton_rotation};
use crate::points::Points;
use glam::{DMat3, DVec3, Vec3A};
use rayon::prelude::*;

/// Part of the points of a piece that must have flowed before it is put where it is in the world.
const ALL_FLOWED: f64 = 0.95;
/// How much the rotation of a point that has flowed counts in the mean of its piece, against one that has not.
const FLOWED_COUNTS: f64 = 0.05;

/// One connected piece of a body in embedded space.
#[derive(Debug, Clone, Copy, Default)]
struct Piece {
    count: f64,
    flowed: f64,
    gradient: DMat3,
    embedded: DVec3,
    world: DVec3,
    change: DVec3,
}

impl Piece {
    /// What is added to the changes of its points; `still` is the change of what stays, if anything does.
    fn shift(&self, still: Option<Vec3A>) -> DVec3 {
        let aligned = self.flowed >= ALL_FLOWED * self.count && on(Guard::Alignment);
        match still {
            Some(change) if !aligned => -change.as_dvec3(),
            _ if aligned => (self.world - self.embedded - self.change) / self.count,
            _ => -self.change / self.count,
        }
    }
}

impl Part {
    /// Whether anything has flowed since the last renewal.
    pub fn wants_renewal(&self) -> bool {
        self.flowed && self.memories.iter().any(|m| m.recent > 0.0)
    }

    /// Phase: moves the embedded positions after the flow; `fit` must have run at these positions.
    pub(super) fn renew(&mut self, points: &Points, embedding: &mut Embedding) {
        if self.published.is_some() || !self.wants_renewal() {
            return;
        }
        self.find_firm_fits();
        let positions = &points.positions[self.range.clone()];
        let mut labels = vec![u32::MAX; self.len()];
        let mut count = 0;
        flood(&self.stencils, &mut labels, u32::MAX, |_| {
            count += 1;
            count - 1
        });
        let mut pieces = self.pieces(&labels, positions);
        let turns: Vec<DMat3> = pieces.iter().map(|p| turn(p.gradient)).collect();
        let anchoring = self.matter.map_or(f64::INFINITY, |m| m.anchoring());
        let frames = self.frames(&labels, &turns);
        let targets: Vec<Target> = (0..self.len()).map(|i| self.target(i, frames[i].transpose(), anchoring)).collect();
        let region = self.region();
        let changes = match &region {
            Some(region) => embedding.solve_in(region, &self.changes, (&self.stencils, &targets, &self.places)),
            None => embedding.solve_from(&self.changes, &self.stencils, &targets, &self.places).to_vec(),
        };
        for (change, &label) in changes.iter().zip(&labels) {
            pieces[label as usize].change += change.as_dvec3();
        }
        // What moves as one in a piece and is the largest stays where it is; else the mean of the piece does.
        let still = region.as_ref().map(|r| r.largest(&labels, pieces.len())).unwrap_or(vec![None; pieces.len()]);
        let shifts: Vec<DVec3> =
            pieces.iter().zip(still).map(|(p, still)| p.shift(still.map(|i| changes[i]))).collect();
        for (i, &label) in labels.iter().enumerate() {
            self.embedded[i] += changes[i].as_dvec3() + shifts[label as usize];
        }
        self.changes = changes;
        self.look_again(positions);
        let touched = self.rebuild_in(region.as_ref());
        self.keep_elastic_state(&touched);
        self.send(&touched);
    }

    fn pieces(&self, labels: &[u32], positions: &[DVec3]) -> Vec<Piece> {
        let count = labels.iter().max().map_or(0, |m| *m as usize + 1);
        let mut pieces = vec![Piece::default(); count];
        for (i, &label) in labels.iter().enumerate() {
            let piece = &mut pieces[label as usize];
            piece.count += 1.0;
            piece.flowed += f64::from(u8::from(self.memories[i].flowed() >= 1.0));
            // Firm matter says where the past points to, as long as there is any.
            let firm = 1.0 - self.memories[i].flowed() + FLOWED_COUNTS;
            piece.gradient += self.fits[i].gradient * (self.volumes[i] * firm);
            piece.embedded += self.embedded[i];
            piece.world += positions[i];
        }
        pieces
    }

    /// What the neighborhood of a point asks for: Δe_ij = A e_ij + B x_ij.
    fn target(&self, i: usize, back: DMat3, anchoring: f64) -> Target {
        let memory = &self.memories[i];
        if memory.recent <= 0.0 {
            return Target::NOTHING;
        }
        let fit = &self.fits[i];
        let anchored = if on(Guard::Anchoring) { 1.0 - (-memory.recent / anchoring).exp() } else { 0.0 };
        let flow = memory.kept.inverse() * memory.plastic;
        // V⁻¹ = R F⁻¹.
        let relaxed = match memory.lost {
            true => DMat3::IDENTITY,
            false => fit.rotation * fit.elastic.inverse(),
        };
        Target::new(flow * (1.0 - anchored) - DMat3::IDENTITY, back * relaxed * anchored)
    }

    fn look_again(&mut self, positions: &[DVec3]) {
        let limit = self.matter.map_or(f64::INFINITY, |m| m.break_flow);
        for (i, look) in self.looks.iter_mut().enumerate() {
            let memory = &self.memories[i];
            *look = Look {
                position: positions[i],
                flowed: memory.flowed(),
                stretch: self.fits[i].stretch,
                broken: memory.flow > limit,
            };
        }
    }

    /// P = F⁻¹ G for the new G of points whose neighborhood was touched.
    fn keep_elastic_state(&mut self, touched: &[bool]) {
        let Some(matter) = self.matter else { return };
        let Self { memories, fits, stencils, places, .. } = self;
        let chunks = memories.par_chunks_mut(CHUNK).zip(fits.par_chunks_mut(CHUNK)).enumerate();
        chunks.for_each(|(chunk, (memories, fits))| {
            for (k, (memory, fit)) in memories.iter_mut().zip(fits).enumerate() {
                let i = chunk * CHUNK + k;
                if !touched[i] {
                    continue;
                }
                if memory.lost {
                    // It begins anew, without stress.
                    fit.elastic = fit.rotation;
                }
                let flowed = memory.flowed();
                if stencils.priors[i] != DMat3::ZERO {
                    memory.prior = fit.elastic * unstretched(memory, flowed);
                }
                fit.gradient = stencils.gradient(i, places, memory.prior);
                let wanted = fit.elastic.inverse() * fit.gradient;
                let (plastic, clamped) = clamp_stretches(wanted, PLASTIC[0], PLASTIC[1]);
                memory.set_plastic(plastic);
                memory.kept = plastic;
                memory.lost = false;
                if clamped {
                    let elastic = fit.gradient * memory.inverse;
                    let gains = || density(&matter, elastic) > density(&matter, fit.elastic);
                    memory.lost = on(Guard::Lost) && (flowed >= 1.0 || gains());
                    fit.elastic = elastic;
                    fit.rotation = nearest_rotation(fit.elastic);
                }
                memory.recent = if memory.lost { 1.0 } else { 0.0 };
            }
        });
    }
}

/// P, and its rotation alone the more a point has flowed: in a sheet nothing is known across it.
pub(super) fn unstretched(memory: &Memory, flowed: f64) -> DMat3 {
    memory.plastic * (1.0 - flowed) + nearest_rotation(memory.plastic) * flowed
}

/// The rotation of a sum of gradients; none where it is not clear.
fn turn(gradient: DMat3) -> DMat3 {
    let size = crate::linalg::double_dot(gradient, gradient).sqrt();
    let scaled = gradient * (3f64.sqrt() / size.max(f64::MIN_POSITIVE));
    newton_rotation(scaled).unwrap_or(DMat3::IDENTITY)
}

/// Energy density [Pa] at an elastic deformation.
fn density(matter: &Matter, elastic: DMat3) -> f64 {
    matter.energy_density(Svd::new(elastic).sigma)
}
