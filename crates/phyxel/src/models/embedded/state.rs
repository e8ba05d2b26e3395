//! What embedded matter remembers from step to step.

use super::model::EmbeddedModel;
use super::published::Published;
use crate::sinks::bytes::{Reader, Writer};
use glam::{DMat3, DQuat, DVec3};

/// What one point remembers beside its embedded position.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Memory {
    /// P: from embedded to rest vectors. Written by `fit` and `renew`.
    pub plastic: DMat3,
    /// P⁻¹.
    pub inverse: DMat3,
    /// P at the last renewal of the embedding.
    pub kept: DMat3,
    /// Gradient that counts where neighbors are too few: turned with the point, and without stress where it alone counts.
    pub prior: DMat3,
    /// Accumulated plastic strain q.
    pub flow: f64,
    /// The part of it since the last renewal.
    pub recent: f64,
    /// Accumulated plastic strain from which on it has flowed in every respect; that of its matter, not saved.
    pub full: f64,
    /// Rotation from embedded space to the world where it flows, relative to the mean of its piece.
    pub frame: DQuat,
    /// Whether it carries no stress until the next renewal, because its neighborhood makes no sense.
    pub lost: bool,
}

impl Memory {
    /// A point that has never flowed.
    pub const NEW: Self = Self {
        plastic: DMat3::IDENTITY,
        inverse: DMat3::IDENTITY,
        kept: DMat3::IDENTITY,
        prior: DMat3::IDENTITY,
        flow: 0.0,
        recent: 0.0,
        full: FULL_FLOW,
        frame: DQuat::IDENTITY,
        lost: false,
    };

    /// How much it has flowed, 0 to 1.
    #[inline]
    pub fn flowed(&self) -> f64 {
        (self.flow / self.full).min(1.0)
    }
}

/// Accumulated plastic strain from which on soft matter has flowed in every respect.
pub const FULL_FLOW: f64 = 0.5;

impl EmbeddedModel {
    /// Appends the state as bytes; nothing when there is no embedded body.
    pub(crate) fn save(&self, out: &mut Vec<u8>) {
        if self.is_empty() {
            return;
        }
        let mut out = Writer(out);
        out.u32(self.len() as u32);
        out.f64(self.crowd.waiting);
        for part in &self.parts {
            for k in 0..part.len() {
                let memory = &part.memories[k];
                for m in [memory.plastic, memory.kept, memory.prior] {
                    m.to_cols_array().iter().for_each(|x| out.f64(*x));
                }
                let look = &part.looks[k];
                for v in [part.embedded[k], look.position, DVec3::new(memory.flow, memory.recent, look.flowed)] {
                    v.to_array().iter().for_each(|x| out.f64(*x));
                }
                out.f64(look.stretch);
                memory.frame.to_array().iter().for_each(|x| out.f64(*x));
                out.u8(u8::from(memory.lost) | u8::from(look.broken) << 1);
            }
            if let Some(published) = &part.published {
                published.save(&mut out);
            }
        }
    }

    /// Takes back what `save` appended; None when it is something else.
    pub(crate) fn load(&mut self, bytes: &[u8]) -> Option<()> {
        if self.is_empty() {
            return bytes.is_empty().then_some(());
        }
        let mut bytes = Reader(bytes);
        if bytes.u32()? as usize != self.len() {
            return None;
        }
        self.crowd.waiting = bytes.f64()?;
        for part in &mut self.parts {
            part.changes.clear();
            for k in 0..part.len() {
                let memory = &mut part.memories[k];
                (memory.plastic, memory.kept, memory.prior) =
                    (matrix(&mut bytes)?, matrix(&mut bytes)?, matrix(&mut bytes)?);
                memory.inverse = memory.plastic.inverse();
                let mut vector = || Some(DVec3::new(bytes.f64()?, bytes.f64()?, bytes.f64()?));
                part.embedded[k] = vector()?;
                let look = &mut part.looks[k];
                look.position = vector()?;
                let numbers = vector()?;
                (memory.flow, memory.recent, look.flowed) = (numbers.x, numbers.y, numbers.z);
                look.stretch = bytes.f64()?;
                memory.frame = DQuat::from_xyzw(bytes.f64()?, bytes.f64()?, bytes.f64()?, bytes.f64()?);
                let flags = bytes.u8()?;
                (memory.lost, look.broken) = (flags & 1 > 0, flags & 2 > 0);
            }
            if let Some(published) = &mut part.published {
                published.load(&mut bytes)?;
            }
            part.flowed = part.memories.iter().any(|m| m.flow > 0.0);
            part.rebuild();
        }
        self.crowd.members.iter_mut().for_each(|m| (m.pressure, m.flowed, m.thin) = (0.0, 0.0, 0.0));
        self.crowd.forget();
        self.crowd.densities.clear();
        bytes.0.is_empty().then_some(())
    }
}

fn matrix(bytes: &mut Reader) -> Option<DMat3> {
    let mut entries = [0.0; 9];
    for x in &mut entries {
        *x = bytes.f64()?;
    }
    Some(DMat3::from_cols_array(&entries))
}

impl Published {
    fn save(&self, out: &mut Writer) {
        for m in self.plastics.iter().chain(&self.previous) {
            m.to_cols_array().iter().for_each(|x| out.f64(*x));
        }
        out.u32(self.neighbors.len() as u32);
        self.starts.iter().chain(&self.neighbors).for_each(|n| out.u32(*n));
        self.fades.iter().for_each(|f| out.f64(*f));
    }

    fn load(&mut self, bytes: &mut Reader) -> Option<()> {
        for m in self.plastics.iter_mut().chain(&mut self.previous) {
            *m = matrix(bytes)?;
        }
        let (points, pairs) = (self.plastics.len(), bytes.u32()? as usize);
        let (starts, neighbors) = (bytes.u32s(points + 1)?, bytes.u32s(pairs)?);
        let fades = bytes.items::<8, _>(pairs, |b| f64::from_le_bytes(*b))?;
        let fits = starts.is_sorted() && starts.last() == Some(&(pairs as u32));
        if !fits || neighbors.iter().any(|j| *j as usize >= points) {
            return None;
        }
        let row = |i: usize| (starts[i] as usize..starts[i + 1] as usize).map(|k| (neighbors[k], fades[k])).collect();
        self.set_lists((0..points).map(row).collect());
        Some(())
    }
}
