//! What a lattice remembers from step to step, as bytes.

use super::LatticeModel;
use super::particles::Phase;
use crate::sinks::bytes::{Reader, Writer};
use glam::{DMat3, DVec3};

impl LatticeModel {
    /// Appends the state as bytes; nothing when there is no lattice.
    pub(crate) fn save(&self, out: &mut Vec<u8>) {
        if self.is_empty() {
            return;
        }
        let mut out = Writer(out);
        out.u32(self.particles.len() as u32);
        out.u64(self.bonds.broken);
        let particles = &self.particles;
        for i in 0..particles.len() {
            out.u32(particles.objects[i]);
            out.u8(particles.phases[i] as u8);
            out.u8(u8::from(self.bonds.cracked[i]));
            out.f64(particles.solidities[i]);
            out.f64(particles.pressures[i]);
            particles.rotations[i].to_cols_array().iter().for_each(|x| out.f64(*x));
        }
        self.bonds.partners.iter().for_each(|p| out.u32(*p));
        self.bonds.rates.iter().for_each(|r| out.f32(*r));
        out.u32(self.contacts.sticking().count() as u32);
        for (i, j, drag) in self.contacts.sticking() {
            out.u32(i);
            out.u32(j);
            drag.to_array().iter().for_each(|x| out.f64(*x));
        }
    }

    /// Takes back what `save` appended; None when it is something else.
    pub(crate) fn load(&mut self, bytes: &[u8]) -> Option<()> {
        if self.is_empty() {
            return bytes.is_empty().then_some(());
        }
        let mut bytes = Reader(bytes);
        let count = self.particles.len();
        if bytes.u32()? as usize != count {
            return None;
        }
        self.bonds.broken = bytes.u64()?;
        for i in 0..count {
            self.particles.objects[i] = bytes.u32()?;
            self.particles.phases[i] = Phase::from_number(bytes.u8()?)?;
            self.bonds.cracked[i] = bytes.u8()? != 0;
            self.particles.solidities[i] = bytes.f64()?;
            self.particles.pressures[i] = bytes.f64()?;
            let mut matrix = [0.0; 9];
            for x in &mut matrix {
                *x = bytes.f64()?;
            }
            self.particles.rotations[i] = DMat3::from_cols_array(&matrix);
        }
        for k in 0..self.bonds.partners.len() {
            let partner = bytes.u32()?;
            if partner as usize >= count && partner != super::particles::NOBODY {
                return None;
            }
            self.bonds.partners[k] = partner;
        }
        for rate in &mut self.bonds.rates {
            *rate = bytes.f32()?;
        }
        let mut sticking = Vec::new();
        for _ in 0..bytes.u32()? {
            let (i, j) = (bytes.u32()?, bytes.u32()?);
            sticking.push((i, j, DVec3::new(bytes.f64()?, bytes.f64()?, bytes.f64()?)));
        }
        if !sticking.is_sorted_by_key(|p| (p.0, p.1)) || sticking.last().is_some_and(|p| p.0 as usize >= count) {
            return None;
        }
        self.contacts.set_sticking(count, &sticking);
        self.forget();
        bytes.0.is_empty().then_some(())
    }

    /// Nothing depends on what was done before: lists are made anew at the next step.
    pub(crate) fn forget(&mut self) {
        self.lists.forget();
        self.bonds.incoming.rebuild(&self.bonds.partners, self.bonds.slots);
        self.forces.fill(DVec3::ZERO);
        if let Some(solver) = &mut self.implicit {
            solver.forget();
        }
    }
}
