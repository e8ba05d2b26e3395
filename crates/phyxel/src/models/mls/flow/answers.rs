//! Questions about the present state of the flow, and its state as bytes.

use super::melt;
use super::pairs::Kind;
use super::state::State;
use super::{FlowModel, thickness};
use crate::contact::Colliders;
use crate::materials::von_mises;
use crate::points::Points;
use crate::sinks::bytes::Reader;
use glam::{DMat3, DVec3};

impl FlowModel {
    /// Stored energy of all managed points at the present positions [J]. Finds lists and pieces anew where they are too
    /// old; the stored strains stay those of the last step.
    pub(crate) fn measure_energy(&mut self, points: &Points, colliders: &Colliders) -> f64 {
        if !self.is_active() {
            return 0.0;
        }
        self.find_pairs(points, colliders);
        if self.pairs.any_flows() {
            self.load(points, colliders);
            self.packed.fit(&self.pairs.blocks, &self.scale, 0.0);
        }
        self.evaluate_solid(points);
        let mut per_body = vec![0.0; self.bodies.len()];
        self.add_energy(points, &mut per_body);
        per_body.iter().sum()
    }

    /// Stored energy of each body's managed points [J], at the positions of the last `add_forces`.
    pub(crate) fn add_energy(&self, points: &Points, per_body: &mut [f64]) {
        for (s, &i) in self.pairs.points.iter().enumerate() {
            let (i, kind) = (i as usize, self.pairs.kinds[s]);
            let matter = &self.matters[points.bodies[i] as usize];
            let stored = || melt::strain_energy(matter, self.state.strains[i]) * thickness(self.fractions[i]);
            let mut density = if kind.flows() { stored() } else { 0.0 };
            if kind == Kind::Melted {
                density += melt::pressure_energy(&self.scale, matter, self.packed.density(s));
                density += melt::tension_energy(matter, self.packed.missing(s));
            }
            let melt = points.volumes[i] * density;
            per_body[points.bodies[i] as usize] += melt + self.solid.deformed(i).energy;
        }
    }

    /// Writes the deformation gradients of managed points over those of the elastic model.
    pub(crate) fn write_deformations(&self, out: &mut [DMat3]) {
        for (b, body) in self.bodies.iter().enumerate().filter(|(_, b)| b.managed) {
            for i in body.range.clone() {
                out[i] = self.deformation(i, b);
            }
        }
    }

    /// Writes the von Mises stress of melted points [Pa].
    pub(crate) fn write_melt_stress(&self, points: &Points, out: &mut [f32]) {
        for body in self.bodies.iter().filter(|b| b.managed) {
            for i in body.range.clone().filter(|&i| self.state.kinds[i] == Kind::Melted) {
                let matter = &self.matters[points.bodies[i] as usize];
                out[i] = von_mises(self.state.strains[i] * matter.mu) as f32;
            }
        }
    }

    /// Appends the state as bytes; nothing when no body flows.
    pub(crate) fn save(&self, out: &mut Vec<u8>) {
        if self.is_active() {
            self.state.write(out);
        }
    }

    /// Puts back what `save` wrote; says whether it fits this world.
    pub(crate) fn restore(&mut self, bytes: &[u8]) -> bool {
        self.pairs.clear();
        self.solid.forget();
        if bytes.is_empty() {
            return true;
        }
        let read = State::read(&mut Reader(bytes), self.sizes.len(), self.bodies.len());
        read.map(|state| self.state = state).is_some()
    }

    /// Deformation gradient of a managed point's solid stencil; what its density says where it is melted. Melt carries
    /// no more tension than its cohesion: a density below that is a surface, not a stretch.
    fn deformation(&self, i: usize, body: usize) -> DMat3 {
        match self.state.kinds[i] {
            Kind::Melted => {
                let slot = self.pairs.slots.get(i).map_or(u32::MAX, |&s| s) as usize;
                let density = self.packed.density(slot);
                let least = melt::least_density(&self.scale, &self.matters[body]);
                DMat3::from_diagonal(DVec3::splat(density.max(least).powf(-1.0 / 3.0)))
            }
            _ => DMat3::IDENTITY + self.solid.deformed(i).gradient,
        }
    }

    /// Memory of the packed state and the lists [bytes].
    pub fn memory_bytes(&self) -> usize {
        self.packed.bytes() + self.pairs.bytes() + self.solid.bytes()
    }

    /// Piece of each point: the same number for all that hang together.
    pub fn labels(&self) -> &[u32] {
        &self.state.labels
    }
}
