//! Events: what happens at a time, or when a probe crosses a value.

use crate::Result;
use crate::models::shell::ShellMaterial;
use crate::scene::{EventAction, EventSpec, EventTime};
use crate::setup::contact_young;
use crate::world::World;

/// One `[[event]]` of the world; it happens once.
#[derive(Debug, Clone)]
pub struct Event {
    /// When and what.
    pub spec: EventSpec,
    /// Index of the probe it waits for, if it does.
    pub probe: Option<usize>,
    /// Whether it has happened. Written by `apply_events`.
    pub done: bool,
}

impl World {
    /// Time of the next timed event or release of a pin, so that steps end there [s].
    pub(crate) fn next_event_time(&self) -> Option<f64> {
        let timed = self.events.iter().filter(|e| !e.done).filter_map(|e| match e.spec.when {
            EventTime::At(t) => Some(t),
            _ => None,
        });
        let released = self.pins.iter().filter(|p| !p.released).flat_map(|p| [p.from, p.until]);
        let switched = self.external.iter().flat_map(|f| [f.from, f.until]);
        timed.chain(released).chain(switched).filter(|&t| t > self.time + 1e-12).reduce(f64::min)
    }

    /// Phase: does what is due now.
    pub(crate) fn apply_events(&mut self) -> Result<()> {
        let mut any = false;
        for k in 0..self.events.len() {
            if !self.events[k].done && self.is_due(k) {
                self.apply_event(k)?;
                any = true;
            }
        }
        if any {
            // Going back must not go behind the event.
            self.save_only_snapshot();
        }
        Ok(())
    }

    /// Does an event now, whether it is due or not.
    pub(crate) fn apply_event(&mut self, k: usize) -> Result<()> {
        self.events[k].done = true;
        self.event_log.push(k);
        let action = self.events[k].spec.action.clone();
        self.switch(|world| world.apply_action(&action))
    }

    fn is_due(&self, k: usize) -> bool {
        let event = &self.events[k];
        // Probes are read at the end of each frame; an event that waits for one happens at the start of the next.
        let probe = event.probe.and_then(|p| self.probe_values.get(p)).copied().unwrap_or(f64::NAN);
        match event.spec.when {
            EventTime::At(t) => self.time >= t - 1e-9,
            EventTime::Below { value, .. } => probe < value,
            EventTime::Above { value, .. } => probe > value,
        }
    }

    fn apply_action(&mut self, action: &EventAction) -> Result<()> {
        match action {
            EventAction::Set { body, set } => {
                let Some(b) = self.bodies.iter().position(|x| x.name == *body) else { return Ok(()) };
                let range = self.bodies[b].range.clone();
                let old_density = self.bodies[b].material.density;
                self.bodies[b].material.change(set);
                let ratio = self.bodies[b].material.density / old_density;
                self.points.masses[range].iter_mut().for_each(|m| *m *= ratio);
                let material = self.bodies[b].material.clone();
                self.mls.set_material(b, &material)?;
                self.shells.set_material(b, &ShellMaterial::from_spec(&material), &self.points);
                let young = contact_young(b, &self.bodies[b], &self.shells, &self.points);
                self.body_contacts.set_material(b, young, material.friction);
                if let Some(law) = self.mls.laws().nth(b) {
                    self.flow.set_material(b, &material, law);
                }
                self.lattice.set_material(b, &material, &self.points);
                self.embedded.set_material(b, &material, &self.points);
                self.change_phases();
                if let Some(heat) = &mut self.heat {
                    heat.set_material(b, &material, &self.points);
                }
            }
            EventAction::Release(name) => {
                self.pins.iter_mut().filter(|p| p.name == *name).for_each(|p| p.released = true)
            }
            EventAction::Remove(name) => {
                self.colliders.remove(name);
            }
            EventAction::Melt(name) => self.force_phase(name, true),
            EventAction::Solidify(name) => self.force_phase(name, false),
        }
        Ok(())
    }
}
