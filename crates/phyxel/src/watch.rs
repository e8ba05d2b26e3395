//! The world as its guard sees it: readings after each step, states to go back to.

use crate::guard::{Culprit, Energy, Limits, Reading, Snapshot, Verdict, worst_point};
use crate::models::mls::MoveReport;
use crate::world::World;
use crate::{Error, Result};
use glam::DVec3;

/// Steps between two looks at the energy.
const ENERGY_INTERVAL: u64 = 128;

impl World {
    /// Phase: judges the step, keeps good states, goes back when something is wrong.
    pub(crate) fn inspect(&mut self, report: MoveReport, dt: f64) -> Result<()> {
        let reading = Reading {
            time: self.time,
            frame: self.frame + 1,
            dt,
            finite: report.finite,
            max_speed: report.max_speed,
            max_strain: if self.is_implicit() {
                0.0
            } else {
                self.mls.extremes().max_strain.max(self.shells.max_strain()).max(self.embedded.max_strain())
            },
            energy: self.energy_if_due(),
        };
        let mut guard = std::mem::take(&mut self.guard);
        let verdict = guard.inspect(&reading, || self.culprit());
        self.guard = guard;
        match verdict {
            Verdict::Good => {
                if self.guard.wants_snapshot() {
                    let mut guard = std::mem::take(&mut self.guard);
                    guard.save(|snapshot| self.fill(snapshot));
                    self.guard = guard;
                }
                Ok(())
            }
            Verdict::Rescue(rescue) => {
                self.rescues.push(rescue);
                self.go_back();
                Ok(())
            }
            Verdict::Diverged(diagnostic) => Err(Error::Diverged(diagnostic)),
        }
    }

    /// Keeps the present state and forgets earlier ones.
    pub(crate) fn save_only_snapshot(&mut self) {
        let mut guard = std::mem::take(&mut self.guard);
        guard.save_only(|snapshot| self.fill(snapshot));
        self.guard = guard;
    }

    /// What is out of any physical range in this world.
    pub(crate) fn limits(&self) -> Limits {
        let points = &self.points;
        let start = points.velocities.iter().fold(0.0, |m, v| f64::max(m, v.length()));
        let fall = self.scene.gravity.length() * self.scene.duration;
        let fields = self.external.iter().map(|f| f.largest_speed_gain(points, self.scene.duration)).sum::<f64>();
        let end = self.scene.duration;
        let reach = points.positions.iter().fold(0.0, |m, p| f64::max(m, p.length()));
        let driven = |motion: &crate::motion::Motion| {
            let (speed, spin) = motion.max_speeds(0.0, end);
            2.0 * (speed + spin * reach)
        };
        let pins = self.pins.iter().map(|p| driven(&p.motion)).fold(0.0, f64::max);
        let colliders = self.colliders.list.iter().map(|c| driven(c.motion())).fold(0.0, f64::max);
        Limits::new(
            self.mls.wave_speed().max(self.shells.wave_speed()).max(self.embedded.wave_speed()),
            start + fall + fields + pins + colliders,
            points.masses.iter().sum(),
        )
    }

    fn energy_if_due(&mut self) -> Option<Energy> {
        if !self.substeps.is_multiple_of(ENERGY_INTERVAL) {
            return None;
        }
        let all = crate::measure::totals(&self.points, 0..self.points.len());
        let mut elastic = vec![0.0; self.bodies.len()];
        self.mls.elastic_energy(&self.points, &mut elastic);
        self.flow.add_energy(&self.points, &mut elastic);
        self.shells.add_energy(&self.points, &mut elastic);
        self.lattice.add_energy(&self.points, &mut elastic);
        self.embedded.add_energy(&self.points, &mut elastic);
        Some(Energy {
            kinetic: all.kinetic,
            stored: elastic.iter().sum::<f64>() + self.body_contacts.energy(),
            gravity: -all.mass * self.scene.gravity.dot(all.center),
            work: self.work,
            switched: self.switched,
            dissipated: self.dissipated,
        })
    }

    /// Does what changes materials or phases, and books the energy that it puts in or takes.
    pub(crate) fn switch<T>(&mut self, change: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.mechanical_energy();
        let result = change(self);
        self.switched += self.mechanical_energy() - before;
        result
    }

    /// Kinetic and stored energy and that in the field of gravity, at the present positions [J].
    fn mechanical_energy(&mut self) -> f64 {
        let all = crate::measure::totals(&self.points, 0..self.points.len());
        let mut elastic = vec![0.0; self.bodies.len()];
        self.mls.elastic_energy(&self.points, &mut elastic);
        self.shells.add_energy(&self.points, &mut elastic);
        self.lattice.add_energy(&self.points, &mut elastic);
        self.embedded.add_energy(&self.points, &mut elastic);
        let flow = self.flow.measure_energy(&self.points, &self.colliders);
        all.kinetic - all.mass * self.scene.gravity.dot(all.center) + elastic.iter().sum::<f64>() + flow
    }

    fn fill(&self, snapshot: &mut Snapshot) {
        snapshot.time = self.time;
        snapshot.substeps = self.substeps;
        snapshot.positions.clone_from(&self.points.positions);
        snapshot.velocities.clone_from(&self.points.velocities);
        snapshot.vectors.clear();
        snapshot.vectors.extend_from_slice(self.body_contacts.state());
        snapshot.vectors.extend(self.pins.iter().map(|p| p.impulse));
        snapshot.vectors.extend_from_slice(&self.collider_impulses);
        snapshot.numbers.clear();
        snapshot.numbers.extend([self.undamped_time, self.work, self.dissipated, self.switched]);
        self.shells.save(&mut snapshot.numbers);
        if let Some(heat) = &self.heat {
            heat.save(&mut snapshot.numbers);
        }
        self.mls.plastic_strains(&mut snapshot.tensors);
        snapshot.flow.clear();
        self.flow.save(&mut snapshot.flow);
        snapshot.lattice.clear();
        self.lattice.save(&mut snapshot.lattice);
        snapshot.embedded.clear();
        self.embedded.save(&mut snapshot.embedded);
    }

    fn go_back(&mut self) {
        let guard = std::mem::take(&mut self.guard);
        let snapshot = guard.snapshot();
        self.time = snapshot.time;
        self.substeps = snapshot.substeps;
        self.points.positions.clone_from(&snapshot.positions);
        self.points.velocities.clone_from(&snapshot.velocities);
        self.points.forces.fill(DVec3::ZERO);
        let (drags, impulses) = snapshot.vectors.split_at(self.body_contacts.state().len());
        self.body_contacts.set_state(drags);
        let (pins, colliders) = impulses.split_at(self.pins.len());
        for (pin, impulse) in self.pins.iter_mut().zip(pins) {
            pin.impulse = *impulse;
        }
        self.collider_impulses.copy_from_slice(colliders);
        let mut booked = self.switched;
        if let Some((&[undamped, work, dissipated, switched], numbers)) = snapshot.numbers.split_first_chunk() {
            (self.undamped_time, self.work, self.dissipated) = (undamped, work, dissipated);
            booked = switched;
            // It always fits: the snapshot is of this world.
            let numbers = self.shells.load(numbers).unwrap_or(&[]);
            if let Some(heat) = &mut self.heat {
                let _ = heat.load(numbers);
            }
        }
        self.mls.set_plastic_strains(&snapshot.tensors);
        self.flow.restore(&snapshot.flow);
        // It always fits: the snapshot is of this world.
        let _ = self.lattice.load(&snapshot.lattice);
        let _ = self.embedded.load(&snapshot.embedded);
        self.warm_lattices();
        self.update_melted_fractions();
        self.switched = booked;
        self.guard = guard;
        self.tell_grains();
        self.body_contacts.refresh(&self.points, self.time);
        self.mls.load_positions(&self.points);
        self.mls.compute_stresses(&self.points);
        self.shells.measure(&self.points);
        self.shells.forget();
    }

    fn culprit(&self) -> Culprit {
        let i = worst_point(&self.points).unwrap_or(0);
        let body = self.points.bodies.get(i).copied().unwrap_or(0);
        let place = self.points.positions.get(i).filter(|p| p.is_finite()).or(self.points.rest_positions.get(i));
        Culprit {
            body: self.bodies.get(body as usize).map_or(String::new(), |b| b.name.clone()),
            point: self.points.ids.get(i).copied().unwrap_or(0),
            position: place.copied().unwrap_or_default(),
            phase: if self.is_implicit() { "implicit solve" } else { "move" },
            overlapped: self.body_contacts.overlaps().iter().any(|o| o.body_a == body || o.body_b == body),
            degenerate: !self.shells.manages(body as usize) && self.mls.stencils().ranks.get(i).is_some_and(|&r| r < 3),
            volume_ratio: self.mls.extremes().min_det,
            wave_speed: self.mls.wave_speed(),
            ..Culprit::default()
        }
    }
}
