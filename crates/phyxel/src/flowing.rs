//! The world and its flow: which bodies flow, which of their points are melted, how many pieces there are.

use crate::contact::{GrainKind, GrainMatter};
use crate::heat::Heat;
use crate::models::embedded::{EmbeddedBody, EmbeddedModel};
use crate::models::lattice::{Phase, Warmth};
use crate::models::mls::flow::{FlowModel, MeltMatter};
use crate::scene::ModelKind;
use crate::setup::{anything_flows, fall_height};
use crate::world::World;

/// Speed of sound of melted matter over the speed of a free fall through the scene: keeps its density within a few percent.
const SOUND_OVER_FALL: f64 = 4.5;
/// The same of embedded bodies, whose elasticity takes part of the load.
const EMBEDDED_SOUND: f64 = 3.2;
/// Melted fraction above which solid matter melts ...
const MELTS: f64 = 0.6;
/// ... and below which melted matter freezes.
const FREEZES: f64 = 0.4;
/// Melted fraction from which a body is softer than the elastic model can say.
const SOFTENS: f64 = 0.01;

impl World {
    /// Makes the flow model; bodies that flow from the start are melted.
    pub(crate) fn start_flow(&mut self) {
        let laws: Vec<_> = self.mls.laws().collect();
        let bodies = self.bodies.iter().zip(laws).map(|(b, law)| (b.range.clone(), law, &b.material));
        let fall = (2.0 * self.scene.gravity.length() * fall_height(self)).sqrt();
        let fastest = self.points.velocities.iter().fold(0.0, |m, v| f64::max(m, v.length()));
        let own = self.bodies.iter().map(|b| MeltMatter::new(&b.material).own_speed()).fold(0.0, f64::max);
        let sound = (SOUND_OVER_FALL * fall.max(fastest)).max(own);
        self.flow = FlowModel::new(&self.points, bodies, sound);
        self.lattice.expect_speed(fall.max(fastest));
        self.start_embedded(EMBEDDED_SOUND * fall.max(fastest));
        self.add_grains();
        self.change_phases();
    }

    /// Makes the model of embedded bodies.
    fn start_embedded(&mut self, sound: f64) {
        let embedded = self.bodies.iter().enumerate().filter(|(_, b)| b.material.embedded.is_some());
        let bodies: Vec<EmbeddedBody> = embedded
            .map(|(b, body)| EmbeddedBody {
                body: b,
                range: body.range.clone(),
                slots_end: body.slots.end,
                material: body.material.clone(),
            })
            .collect();
        self.embedded = EmbeddedModel::new(&bodies, &self.points, sound);
        for body in bodies {
            self.mls.retire(body.body);
            // What flows has no skin that others could feel; embedded bodies meet point by point.
            match body.material.creep > 0.0 {
                true => self.body_contacts.exclude(body.body),
                false => self.body_contacts.add_lattice(body.body),
            }
        }
    }

    /// Tells the contact between bodies whose points meet other models one by one: embedded matter that flows, and what may melt
    /// above a sheet.
    fn add_grains(&mut self) {
        let specs = &self.scene.bodies;
        let all = |kind: ModelKind| specs.iter().all(|b| b.model == kind);
        let sheets = specs.iter().any(|b| b.model == ModelKind::Shell) && anything_flows(&self.scene);
        for (b, body) in self.bodies.iter().enumerate() {
            let kind = match specs[b].model {
                ModelKind::Embedded if body.material.creep > 0.0 && !all(ModelKind::Embedded) => GrainKind::Embedded,
                ModelKind::Mls if sheets => GrainKind::Melt,
                _ => continue,
            };
            self.body_contacts.add_grains(b, kind, body.range.clone());
        }
    }

    /// Tells the contact between bodies what grains are made of now.
    pub(crate) fn tell_grains(&mut self) {
        if !self.body_contacts.has_grains() {
            return;
        }
        let own = |b: usize| self.embedded.grain(b).unwrap_or_else(|| self.flow.grain(b));
        let matters: Vec<GrainMatter> = (0..self.bodies.len())
            .map(|b| GrainMatter { friction: self.bodies[b].material.friction, ..own(b) })
            .collect();
        let (lattice, of) = (&self.lattice, &self.points.bodies);
        // Lattices were added first, so that numbers of their grains are numbers of their particles.
        self.body_contacts.set_grain_matter(|k, i| match lattice.manages(of[i] as usize) {
            true => lattice.grain(k),
            false => matters[of[i] as usize],
        });
    }

    /// Phase: melts and freezes what temperatures say, and books the energy of it.
    pub(crate) fn update_phases(&mut self) {
        self.warm_lattices();
        if (0..self.bodies.len()).any(|b| self.changes_phase(b)) {
            self.switch(Self::change_phases);
            // Going back must not go behind a change of phase.
            self.save_only_snapshot();
        } else {
            self.update_melted_fractions();
        }
    }

    /// Melts and freezes what events, materials and temperatures say.
    pub(crate) fn change_phases(&mut self) {
        for b in 0..self.bodies.len() {
            if self.lattice.manages(b) || self.embedded.manages(b) {
                continue;
            }
            let wanted = self.wanted_phase(b);
            if !self.flow.manages(b) && self.starts_to_flow(b, wanted) {
                self.take_over(b);
            }
            if self.flow.manages(b) {
                let (melting, freezing) = self.changing_points(b, wanted);
                self.flow.melt(&melting);
                self.flow.freeze(&freezing, &self.points);
            }
        }
        self.pass_melted_fractions();
    }

    /// Tells the flow how far heat has melted each point, and books the energy of getting stiffer or softer.
    pub(crate) fn update_melted_fractions(&mut self) {
        self.switched += self.pass_melted_fractions();
    }

    fn pass_melted_fractions(&mut self) -> f64 {
        let heat = self.heat.as_ref();
        self.flow.set_melted_fractions(&self.points, |i| heat.map_or(0.0, |heat| heat.melted_fraction(i)))
    }

    /// Whether a body starts to flow now, or some of its points melt or freeze.
    fn changes_phase(&self, b: usize) -> bool {
        if self.lattice.manages(b) || self.embedded.manages(b) {
            return false;
        }
        let wanted = self.wanted_phase(b);
        if !self.flow.manages(b) {
            return self.starts_to_flow(b, wanted);
        }
        let (melting, freezing) = self.changing_points(b, wanted);
        !melting.is_empty() || !freezing.is_empty()
    }

    /// Melted or solid as a whole; None: as warm as each point is.
    fn wanted_phase(&self, b: usize) -> Option<bool> {
        let body = &self.bodies[b];
        let by_heat = body.material.can_melt() && self.heat.is_some();
        body.melted.or(if by_heat { None } else { Some(body.material.flows()) })
    }

    fn starts_to_flow(&self, b: usize, wanted: Option<bool>) -> bool {
        let warm = |heat: &Heat| self.bodies[b].range.clone().any(|i| heat.melted_fraction(i) > SOFTENS);
        wanted.unwrap_or_else(|| self.heat.as_ref().is_some_and(warm))
    }

    /// Solid points that melt and melted ones that freeze; what is half melted stays what it is.
    fn changing_points(&self, b: usize, wanted: Option<bool>) -> (Vec<u32>, Vec<u32>) {
        let fraction = |i: u32| self.heat.as_ref().map_or(0.0, |heat| heat.melted_fraction(i as usize));
        let (mut melting, mut freezing) = (self.flow.points_in(b, false), self.flow.points_in(b, true));
        melting.retain(|&i| wanted.unwrap_or_else(|| fraction(i) > MELTS));
        freezing.retain(|&i| !wanted.unwrap_or_else(|| fraction(i) >= FREEZES));
        (melting, freezing)
    }

    /// Makes a body melted or solid from now on.
    pub(crate) fn force_phase(&mut self, name: &str, melted: bool) {
        for body in self.bodies.iter_mut().filter(|b| b.name == name) {
            body.melted = Some(melted);
        }
        self.warm_lattices();
        self.change_phases();
    }

    /// Tells the lattices how warm they are, and what events want of them.
    pub(crate) fn warm_lattices(&mut self) {
        let (bodies, heat, of) = (&self.bodies, self.heat.as_ref(), &self.points.bodies);
        self.lattice.set_warmth(|i| {
            let body = &bodies[of[i] as usize];
            let above = || heat.and_then(|heat| heat.above_melting(i, &body.material));
            match body.melted {
                Some(melted) => Warmth::Must(if melted { Phase::Liquid } else { Phase::Solid }),
                None => above().map_or(Warmth::Stays, Warmth::Heat),
            }
        });
    }

    /// Hands a body over from the elastic model to the flow.
    pub(crate) fn take_over(&mut self, body: usize) {
        if !self.flow.manages(body) {
            self.flow.take_over(body, self.mls.stencils(), self.mls.body_time_step(body));
            self.mls.retire(body);
            self.body_contacts.exclude(body);
        }
    }

    /// Counts the pieces of bodies that flow or break.
    pub(crate) fn count_pieces(&mut self) {
        for b in (0..self.bodies.len()).filter(|&b| !self.shells.cracks(b).is_empty()) {
            self.pieces[b] = self.shells.count_pieces(b).unwrap_or(1);
        }
        for b in 0..self.bodies.len() {
            let embedded = self.embedded.count_pieces(b, &self.points);
            if let Some(pieces) = self.lattice.count_pieces(b).or(embedded) {
                self.pieces[b] = pieces;
            }
        }
        for (b, body) in self.bodies.iter().enumerate().filter(|(b, _)| self.flow.manages(*b)) {
            self.pieces[b] = distinct(self.flow.labels()[body.range.clone()].to_vec());
        }
        if self.flow.is_active() {
            let flowing = self.bodies.iter().enumerate().filter(|(b, _)| self.flow.manages(*b));
            let labels = flowing.flat_map(|(_, body)| self.flow.labels()[body.range.clone()].iter().copied());
            let rest: usize = (0..self.bodies.len()).filter(|&b| !self.flow.manages(b)).map(|b| self.pieces[b]).sum();
            self.all_pieces = distinct(labels.collect()) + rest;
        } else {
            self.all_pieces = self.pieces.iter().sum();
        }
    }
}

fn distinct(mut labels: Vec<u32>) -> usize {
    labels.sort_unstable();
    labels.dedup();
    labels.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Files;
    use crate::run::Simulation;
    use crate::scene::Scene;
    use std::sync::atomic::AtomicBool;

    /// A block falls on a floor, melts in the middle of the bounce, spreads, turns solid under strain, stiffens and is carried
    /// up by a pin.
    const MELT_AND_FREEZE: &str = r#"
        format = 1
        name = "ledger"
        duration = "1 s"
        fps = 60
        [[body]]
        name = "block"
        shape = { kind = "box", size = [0.2, 0.2, 0.2] }
        at = [0, 0.15, 0]
        spacing = 0.025
        material = { young = "50 kPa", poisson = 0.3, density = 1000, melt_young = "5 kPa", melt_creep = 20 }
        surface = { kind = "none" }
        [[collider]]
        name = "floor"
        shape = { kind = "plane" }
        [[event]]
        at = "0.15 s"
        melt = "block"
        [[event]]
        at = "0.45 s"
        solidify = "block"
        [[event]]
        at = "0.5 s"
        body = "block"
        set = { young = "200 kPa" }
        [[pin]]
        name = "hand"
        body = "block"
        from = "0.6 s"
        motion = [ { t = 0.6, at = [0, 0, 0] }, { t = 1, at = [0, 0.2, 0] } ]
    "#;

    #[test]
    fn energy_never_appears_from_nowhere_through_melting_and_freezing() {
        let scene = Scene::from_toml(MELT_AND_FREEZE, None, &[]).unwrap_or_else(|e| panic!("{e}"));
        let mut world = World::new(&scene, &Files { base: ".".into(), allow_outside: false }).unwrap();
        let mut lowest = f64::INFINITY;
        let mut rise: f64 = 0.0;
        let mut switched: f64 = 0.0;
        let fall = 8.0 * 9.81 * 0.05;
        for _ in 0..60 {
            assert!(world.advance_frame(&AtomicBool::new(false)).unwrap().rescues.is_empty());
            let row = world.metrics();
            let total = row.kinetic + row.elastic + row.gravity + row.dissipated - row.work - row.switched;
            lowest = lowest.min(total);
            rise = rise.max(total - lowest);
            switched = switched.max(row.switched.abs());
        }
        assert!(rise < 0.005 * fall, "{rise} J of {fall} J");
        assert!(switched > 0.0);
    }
}
