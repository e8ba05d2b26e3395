//! World::step: THE list of phases, and the choice of the time step.
//!
//! Leap-frog: velocities live half a step behind positions, so `v += dt a; x += dt v` is the whole explicit scheme.
//! The implicit scheme replaces the velocity phase only; contact, pins and motion are the same.

use crate::Result;
use crate::body::Region;
use crate::external::Load;
use crate::materials::ElasticLaw;
use crate::measure::Target;
use crate::models::mls::damping::RigidMotion;
use crate::models::mls::implicit::{ContactConstraint, Held, Problem};
use crate::scene::{RegionPlace, RegionSpec};
use crate::world::World;
use glam::{BVec3, DVec3};
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Longest implicit time step when the scene does not say [s]; [MKN04] table 1 uses it.
pub const IMPLICIT_TIME_STEP: f64 = 0.01;
/// Damping is applied once in this many stable explicit steps: fast enough for waves that cross a point in a few of
/// them, rarely enough to be cheap.
const DAMPING_STEPS: f64 = 8.0;
/// Points per parallel task.
const CHUNK: usize = 2048;

impl World {
    /// Advances by one time step of at most `max_dt` [s] and returns its length.
    pub fn step(&mut self, max_dt: f64) -> Result<f64> {
        self.phase("resampling", Self::resample_if_due);
        let dt = self.choose_time_step(max_dt);
        self.phase("events", Self::apply_events)?;
        self.phase("clamps", Self::clamp_pins);
        self.phase("colliders", |w| w.colliders.advance(w.time, dt));
        self.phase("external forces", |w| w.add_external_forces(dt));
        self.phase("body contact", |w| w.add_contact_forces(dt));
        self.phase("flow lists", |w| w.flow.find_pairs(&w.points, &w.colliders));
        self.phase("flow fit", |w| w.flow.fit(&w.points, &w.colliders));
        self.work +=
            self.phase("flow forces", |w| w.flow.add_forces(&mut w.points, &w.colliders, dt, &mut w.collider_impulses));
        if !self.shells.is_empty() && !self.shells.is_implicit() {
            self.phase("shell forces", |w| w.shells.add_forces(&mut w.points, dt));
            self.dissipated += self.phase("shell flow", |w| w.shells.flow(dt));
            self.switched += self.phase("shell fracture", |w| w.shells.break_fibers(&w.points, w.time));
        }
        if !self.lattice.is_empty() {
            self.phase("lattice bonds", |w| w.lattice.prepare(&w.points, dt, w.substeps));
            self.switched += self.phase("lattice phases", |w| w.lattice.change_phases(&mut w.points, dt, w.substeps));
            if !self.lattice.is_implicit() {
                self.phase("lattice forces", |w| w.lattice.add_forces(&mut w.points, dt));
            }
        }
        if !self.embedded.is_empty() {
            self.dissipated += self.phase("embedded flow", |w| w.embedded.deform(&w.points, dt));
            self.switched += self.phase("embedding", |w| w.embedded.renew_if_due(&w.points, w.substeps));
            self.phase("embedded forces", |w| w.embedded.add_forces(&mut w.points));
        }
        let damps = self.damping_is_due(dt);
        if damps {
            self.phase("damp", |w| w.scratch.start_velocities.clone_from(&w.points.velocities));
        }
        if self.shells.is_implicit() {
            self.phase("implicit solve", |w| w.solve_shells(dt));
        } else if self.implicit.is_some() {
            self.phase("implicit solve", |w| w.solve_velocities(dt));
        } else {
            self.phase("stress", |w| w.dissipated += w.mls.flow_and_compute_stresses(&w.points, dt));
            self.phase("forces", |w| w.mls.integrate_velocities(&mut w.points, dt, w.scene.gravity));
        }
        if damps {
            self.phase("damp", Self::damp);
        }
        if !self.lattice.is_empty() {
            self.phase("lattice damping", |w| w.lattice.damp(&mut w.points, dt));
            self.phase("liquid", |w| {
                let gravity = w.scene.gravity;
                w.work += w.lattice.flow(&mut w.points, &w.colliders, gravity, dt, &mut w.collider_impulses).work;
            });
        }
        if self.lattice.is_implicit() {
            self.phase("lattice solve", |w| w.solve_lattice(dt));
        }
        if !self.embedded.is_empty() {
            self.phase("embedded viscosity", |w| w.embedded.damp(&mut w.points, dt, w.substeps));
        }
        if !self.shells.is_empty() {
            self.phase("shell contact", |w| w.touch_shells(dt));
        }
        self.phase("collide", |w| w.collide(dt));
        // Pins come last: they win over everything, save that shells pass through each other.
        self.phase("pins", |w| w.hold_pins(dt));
        if !self.shells.is_empty() {
            self.phase("shell contact", |w| w.shells.keep_apart(&mut w.points, dt));
        }
        let report = self.phase("move", |w| w.mls.move_points(&mut w.points, dt));
        if self.lattice.is_implicit() {
            self.phase("lattice solve", |w| w.lattice.carry_on(&mut w.points));
        }
        if self.implicit.is_some() {
            self.phase("reactions", |w| w.find_reactions(dt));
            self.phase("plastic flow", |w| w.flow(dt));
        }
        if self.shells.is_implicit() {
            self.phase("shell flow", |w| w.flow_shells(dt));
            self.switched += self.phase("shell fracture", |w| w.shells.break_fibers(&w.points, w.time));
        }
        self.time += dt;
        self.substeps += 1;
        self.steps.count(dt);
        if self.heat.is_some() {
            self.phase("heat", |w| w.exchange_heat(dt, dt >= max_dt * (1.0 - 1e-9)));
        }
        self.phase("guard", |w| w.inspect(report, dt))?;
        Ok(dt)
    }

    /// Steps to the time of the next frame; returns false when cancelled on the way.
    pub(crate) fn step_to_next_frame(&mut self, cancel: &AtomicBool) -> Result<bool> {
        let start = Instant::now();
        self.begin_frame();
        let target = f64::from(self.frame + 1) / self.scene.fps;
        // In the pool as a whole: entering it for every loop would cost more than many of them.
        let complete = rayon::scope(|_| -> Result<bool> {
            while self.time < target * (1.0 - 1e-12) {
                if cancel.load(Ordering::Relaxed) {
                    return Ok(false);
                }
                self.step(target - self.time)?;
                let step_end = Instant::now();
                self.phase("surface", |w| w.follow_fast_flow(target));
                self.steps.seconds_surface += step_end.elapsed().as_secs_f64();
            }
            Ok(true)
        })?;
        if !complete {
            return Ok(false);
        }
        self.time = target;
        self.frame += 1;
        self.steps.seconds_physics = start.elapsed().as_secs_f64() - self.steps.seconds_surface;
        Ok(true)
    }

    fn phase<T>(&mut self, name: &'static str, work: impl FnOnce(&mut Self) -> T) -> T {
        let start = Instant::now();
        let result = work(self);
        self.timings.add(name, start.elapsed().as_secs_f64());
        result
    }

    /// Longest step that is stable, as an equal part of what is left to the next frame or event.
    fn choose_time_step(&mut self, max_dt: f64) -> f64 {
        let until = self.next_event_time().map_or(max_dt, |t| max_dt.min(t - self.time).max(1e-9 * max_dt));
        self.tell_grains();
        self.body_contacts.prepare(&self.points, self.time);
        let limit = self.stable_time_step();
        // A count that is a hair above a whole number is that number.
        let parts = (until / limit - 1e-9).ceil().max(1.0);
        until / parts
    }

    /// Largest step that stability, contact and the guard allow now [s].
    pub fn stable_time_step(&self) -> f64 {
        let wanted = self.scene.time_step.unwrap_or(f64::INFINITY);
        let model = match self.implicit {
            Some(_) => {
                IMPLICIT_TIME_STEP.max(self.scene.time_step.unwrap_or(0.0)).min(self.body_contacts.max_travel_step())
            }
            None if self.shells.is_implicit() => {
                self.shells.implicit_time_step().min(self.body_contacts.max_travel_step())
            }
            None => (self.mls.stable_time_step() * self.mls.step_reduction())
                .min(self.flow.stable_time_step())
                .min(self.shells.stable_time_step())
                .min(self.lattice.stable_time_step())
                .min(self.lattice.travel_time_step(&self.points))
                .min(self.embedded.stable_time_step())
                .min(self.lattice.liquid_time_step(&self.points, self.scene.gravity))
                .min(self.body_contacts.max_time_step(&self.points)),
        };
        wanted.min(model) * self.guard.step_factor()
    }

    fn begin_frame(&mut self) {
        self.steps = Default::default();
        self.frame_start = self.time;
        self.rescues.clear();
        self.collider_impulses.fill(DVec3::ZERO);
        for pin in &mut self.pins {
            pin.impulse = DVec3::ZERO;
        }
        // From here on nothing depends on what was done before the frame, so that a resumed run has the same bits.
        self.tell_grains();
        self.body_contacts.refresh(&self.points, self.time);
        self.flow.refresh();
        self.lattice.forget();
        self.embedded.refresh(&self.points);
        self.mls.load_positions(&self.points);
        self.mls.compute_stresses(&self.points);
        self.set_clamps();
        self.shells.measure(&self.points);
        self.shells.forget();
        self.shells.refresh_contact();
        self.save_only_snapshot();
    }

    /// Forces between bodies; the implicit solver takes them as springs, and friction as a force.
    fn add_contact_forces(&mut self, dt: f64) {
        match self.implicit {
            None => self.body_contacts.add_forces(&mut self.points, self.time, dt),
            Some(_) => self.body_contacts.add_springs(&mut self.points, self.time, dt, &mut self.scratch.pairs),
        }
    }

    fn add_external_forces(&mut self, dt: f64) {
        let mut any = false;
        for force in self.external.iter().filter(|f| f.is_active(self.time)) {
            force.add(&mut self.points);
            match (force.pressure(self.time), &force.load) {
                (Some((body, pressure, None)), _) => self.shells.add_pressure(body, pressure, &mut self.points, dt),
                (Some((body, pressure, Some(outside))), _) => {
                    self.shells.add_gas(body, [pressure, outside], &mut self.points, dt);
                }
                (None, Load::Wind { bodies, wind }) => {
                    bodies.iter().for_each(|&b| self.shells.add_wind(b, wind, dt, &mut self.points));
                }
                _ => {}
            }
            any = true;
        }
        if self.shells.is_implicit() {
            self.scratch.external.clear();
            self.scratch.external.extend_from_slice(&self.points.forces);
        } else if any {
            let points = &self.points;
            let power =
                |i: usize| points.forces[i].dot(points.velocities[i] + 0.5 * dt * points.forces[i] / points.masses[i]);
            self.work += dt * (0..points.len()).map(power).sum::<f64>();
        }
    }

    /// Keeps shells from each other and from themselves; what a pin holds in all directions cannot be pushed.
    fn touch_shells(&mut self, dt: f64) {
        let (time, pins) = (self.time, &self.pins);
        let held = pins.iter().filter(|p| p.is_active(time) && p.axes == [true; 3]).flat_map(|p| &p.points);
        self.shells.touch(&mut self.points, held, dt);
    }

    /// Heat runs when it is due, and at the end of a frame.
    fn exchange_heat(&mut self, dt: f64, ends_frame: bool) {
        let Some(heat) = &mut self.heat else { return };
        heat.advance(dt);
        if ends_frame || heat.is_due() {
            if self.flow.is_active() {
                heat.set_labels(self.flow.labels());
            }
            heat.run(&self.points, &self.colliders, self.time);
            self.update_phases();
        }
    }

    fn hold_pins(&mut self, dt: f64) {
        let (time, t_end) = (self.time, self.time + dt);
        for k in 0..self.pins.len() {
            if !self.pins[k].gripped && time >= self.pins[k].from - 1e-9 {
                self.grip(k);
            }
        }
        for pin in self.pins.iter_mut().filter(|p| p.is_active(time)) {
            self.work += pin.hold(&mut self.points, t_end, dt);
        }
    }

    /// Begins a pin: what lies in its region now is held.
    fn grip(&mut self, k: usize) {
        let (spec, pin) = (&self.scene.pins[k], &mut self.pins[k]);
        let everything = RegionSpec { name: "all".into(), place: RegionPlace::All };
        let regions = &self.scene.bodies[pin.body].regions;
        let region = regions.iter().find(|r| r.name == spec.region).unwrap_or(&everything);
        let body = &self.bodies[pin.body];
        let found = match region.place {
            RegionPlace::Painted { .. } => body.region(&spec.region).map_or(Vec::new(), |r| r.points.clone()),
            _ => Region::find(region, body.range.clone(), &self.points).points,
        };
        pin.grip(found, &self.points);
    }

    fn collide(&mut self, dt: f64) {
        self.colliders.collide(&mut self.points, dt);
        if !self.shells.is_empty() && !self.shells.is_implicit() {
            let sheets = self.shells.contact();
            self.colliders.collide_between(sheets.triangles(), sheets.halves(), &mut self.points, dt);
        }
        self.work += self.colliders.work();
        for (k, impulse) in self.collider_impulses.iter_mut().enumerate() {
            *impulse += self.colliders.impulse(k);
        }
    }

    /// Whether this step damps. It must know before velocities change.
    fn damping_is_due(&mut self, dt: f64) -> bool {
        self.undamped_time += dt;
        let models =
            self.flow.stable_time_step().min(self.shells.stable_time_step()).min(self.lattice.stable_time_step());
        let step = self.mls.stable_time_step().min(models).min(self.embedded.stable_time_step());
        self.is_implicit() || self.undamped_time >= (DAMPING_STEPS - 0.5) * step
    }

    /// Damps the velocities at the time of the positions, which lie between those before and after the kick. Damping the
    /// ones after it would feed vibrations that keep time with the damping steps.
    fn damp(&mut self) {
        if !self.is_implicit() {
            let velocities = self.points.velocities.par_chunks_mut(CHUNK);
            velocities.zip(self.scratch.start_velocities.par_chunks_mut(CHUNK)).for_each(|(velocities, before)| {
                for (v, before) in velocities.iter_mut().zip(before) {
                    let half_kick = 0.5 * (*v - *before);
                    *v -= half_kick;
                    *before = half_kick;
                }
            });
        }
        let elapsed = std::mem::take(&mut self.undamped_time);
        for b in 0..self.bodies.len() {
            if !self.flow.has_melt(b) && !self.lattice.manages(b) {
                self.damp_body(b, elapsed);
            }
        }
        if !self.is_implicit() {
            let velocities = self.points.velocities.par_chunks_mut(CHUNK);
            velocities.zip(self.scratch.start_velocities.par_chunks(CHUNK)).for_each(|(velocities, half_kicks)| {
                velocities.iter_mut().zip(half_kicks).for_each(|(v, half_kick)| *v += *half_kick);
            });
        }
    }

    /// Motion other than rigid motion dies away, and so do vibrations a few points long (the implicit scheme damps those
    /// by itself). A pinned body's rigid motion is that of its first active pin.
    fn damp_body(&mut self, b: usize, elapsed: f64) {
        let (range, material) = (self.bodies[b].range.clone(), &self.bodies[b].material);
        if material.damping > 0.0 {
            let factor = (-material.damping * elapsed).exp();
            match self.pins.iter().find(|p| p.body == b && p.is_active(self.time)) {
                None => self.mls.damp(&mut self.points, b, factor),
                Some(pin) => {
                    let motion = pin.motion.at(self.time);
                    let center = pin.center + motion.offset;
                    let rigid = RigidMotion { velocity: motion.velocity, spin: motion.spin, center };
                    self.mls.damp_towards(&mut self.points, range.clone(), factor, rigid);
                }
            }
        }
        if material.smoothing > 0.0
            && self.implicit.is_none()
            && !self.flow.manages(b)
            && !self.shells.manages(b)
            && !self.embedded.manages(b)
        {
            self.smoothing.sweep(self.mls.stencils(), &mut self.points, 0, range, material.smoothing);
        }
    }
}

/// Implicit integration: the whole velocity phase as one solve.
impl World {
    fn solve_velocities(&mut self, dt: f64) {
        self.gather_constraints(dt);
        let laws: Vec<ElasticLaw> = self.mls.laws().collect();
        self.mls.stored_strains(&mut self.scratch.stored_strains);
        let Some(solver) = &mut self.implicit else { return };
        let problem = Problem {
            stencils: self.mls.stencils(),
            laws: &laws,
            stored_strains: &self.scratch.stored_strains,
            dt,
            gravity: self.scene.gravity,
            constraints: &self.scratch.constraints,
        };
        solver.solve(&problem, &mut self.points);
    }

    /// Plastic flow of an implicit step, at the strain that it ends with.
    fn flow(&mut self, dt: f64) {
        if self.mls.has_plastic() {
            self.dissipated += self.mls.flow_and_compute_stresses(&self.points, dt);
        }
    }

    /// Pins and colliders as constraints on the velocities at the end of the step.
    fn gather_constraints(&mut self, dt: f64) {
        let mut held = std::mem::take(&mut self.scratch.constraints.held);
        self.gather_pins(dt, &mut held);
        let constraints = &mut self.scratch.constraints;
        constraints.held = held;
        self.colliders.constraints(&self.points, dt, &mut self.scratch.contacts);
        constraints.contacts.clear();
        constraints.contacts.extend(self.scratch.contacts.iter().map(|c| ContactConstraint {
            point: c.point as usize,
            normal: c.normal,
            minimum_speed: c.min_normal_velocity + c.collider_velocity.dot(c.normal),
            friction: c.friction,
            collider_velocity: c.collider_velocity,
        }));
        constraints.pairs.clone_from(&self.scratch.pairs);
    }

    /// Where the pins want their points to go.
    pub(crate) fn gather_pins(&self, dt: f64, held: &mut Vec<Held>) {
        held.clear();
        for pin in self.pins.iter().filter(|p| p.is_active(self.time)) {
            let state = pin.motion.at(self.time + dt);
            held.extend((0..pin.points.len()).map(|k| Held {
                point: pin.points[k] as usize,
                axes: pin.axes,
                velocity: pin.wanted_velocity(k, &self.points, &state, dt),
            }));
        }
    }

    /// Plastic flow of shells in an implicit step, at the strain that it ends with.
    fn flow_shells(&mut self, dt: f64) {
        self.shells.measure(&self.points);
        self.dissipated += self.shells.flow(dt);
    }

    /// What pins and colliders gave to the points: the change of momentum that internal forces and gravity do not explain.
    fn find_reactions(&mut self, dt: f64) {
        let wanted = self.probes.iter().any(|p| matches!(p.target, Target::Pin(_) | Target::Collider(_)));
        if !wanted {
            return;
        }
        self.scratch.internal.resize(self.points.len(), DVec3::ZERO);
        self.mls.internal_forces(&self.points, &mut self.scratch.internal);
        let (points, scratch, gravity) = (&self.points, &self.scratch, self.scene.gravity);
        let unexplained = |i: usize| {
            let change = points.velocities[i] - scratch.start_velocities[i] - dt * gravity;
            points.masses[i] * change - dt * scratch.internal[i]
        };
        for pin in self.pins.iter_mut().filter(|p| p.is_active(self.time)) {
            for &i in &pin.points {
                let held = BVec3::from(pin.axes);
                pin.impulse += DVec3::select(held, unexplained(i as usize), DVec3::ZERO);
            }
        }
        for contact in &scratch.contacts {
            self.collider_impulses[contact.collider as usize] += unexplained(contact.point as usize);
        }
    }
}
