//! The world and its flow: which bodies flow, which of their points are melted, how many pieces there are.

use crate::models::mls::flow::FlowModel;
use crate::setup::fall_height;
use crate::world::World;

/// Speed of sound of melted matter over the speed of a free fall through the scene: keeps its density within a few percent.
const SOUND_OVER_FALL: f64 = 4.5;

impl World {
    /// Makes the flow model; bodies that flow from the start are melted.
    pub(crate) fn start_flow(&mut self) {
        let laws: Vec<_> = self.mls.laws().collect();
        let bodies = self.bodies.iter().zip(laws).map(|(b, law)| (b.range.clone(), law, &b.material));
        let fall = (2.0 * self.scene.gravity.length() * fall_height(self)).sqrt();
        let fastest = self.points.velocities.iter().fold(0.0, |m, v| f64::max(m, v.length()));
        let sound = SOUND_OVER_FALL * fall.max(fastest).max(1e-3);
        self.flow = FlowModel::new(&self.points, bodies, sound);
        self.update_phases();
    }

    /// Melts and freezes what the materials say.
    pub(crate) fn update_phases(&mut self) {
        for b in 0..self.bodies.len() {
            let flows = self.bodies[b].melted.unwrap_or(self.bodies[b].material.flows());
            if flows && !self.flow.manages(b) {
                self.take_over(b);
            }
            if self.flow.manages(b) {
                let changing = self.flow.points_in(b, !flows);
                match flows {
                    true => self.flow.melt(&changing),
                    false => self.flow.freeze(&changing, &self.points),
                }
            }
        }
    }

    /// Makes a body melted or solid from now on.
    pub(crate) fn force_phase(&mut self, name: &str, melted: bool) {
        for body in self.bodies.iter_mut().filter(|b| b.name == name) {
            body.melted = Some(melted);
        }
        self.update_phases();
    }

    /// Hands a body over from the elastic model to the flow.
    pub(crate) fn take_over(&mut self, body: usize) {
        if !self.flow.manages(body) {
            self.flow.take_over(body, self.mls.stencils(), self.mls.body_time_step(body));
            self.mls.retire(body);
            self.body_contacts.exclude(body);
        }
    }

    /// Counts the pieces of bodies that flow.
    pub(crate) fn count_pieces(&mut self) {
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
