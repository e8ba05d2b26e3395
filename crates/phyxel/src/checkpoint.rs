//! The state that survives a restart, and the world as the frame loop sees it.
//!
//! Everything else (stencils, surfels, regions, materials) follows from the scene, the same way each time; events that
//! have happened are done again on restore, in the order in which they happened.

use crate::frame::Frame;
use crate::measure::MetricsRow;
use crate::run::{Advance, Simulation};
use crate::world::World;
use crate::{Diagnostic, Result};
use glam::DVec3;
use serde::{Deserialize, Serialize};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// The small part of the state; the large arrays follow it in the file.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    points: usize,
    time: f64,
    /// When the surface of what flows was last brought up to date [s].
    drawn_time: f64,
    frame: u32,
    substeps: u64,
    undamped_time: f64,
    events: Vec<usize>,
    probe_values: Vec<Option<f64>>,
    warm_start: usize,
    drags: usize,
    /// Points with a plastic strain: all or none.
    plastic: usize,
    work: f64,
    dissipated: f64,
    switched: f64,
    /// Numbers of heat.
    heat: usize,
    guard: String,
    /// Bodies in the care of the flow, and the length of its state at the end of the file [bytes].
    flowing: Vec<usize>,
    flow: usize,
    surface: usize,
    /// Numbers of shells that yield or once did.
    shell: usize,
    /// Length of the state of the lattices [bytes].
    lattice: usize,
    /// Length of the state of the embedded bodies [bytes].
    embedded: usize,
    /// Length of the state of bodies whose points are split and joined [bytes].
    resampled: usize,
    /// What pins that began late hold: pin, points, where they were [m].
    grips: Vec<(usize, Vec<u32>, Vec<DVec3>)>,
}

impl Simulation for World {
    fn advance_frame(&mut self, cancel: &AtomicBool) -> Result<Advance> {
        let complete = self.step_to_next_frame(cancel)?;
        Ok(Advance { complete, rescues: std::mem::take(&mut self.rescues) })
    }

    fn frame(&mut self, out: &mut Frame) {
        let start = Instant::now();
        self.write_frame(out);
        let seconds = start.elapsed().as_secs_f64();
        self.steps.seconds_surface += seconds;
        self.timings.add("surface", seconds);
    }

    fn metrics(&mut self) -> MetricsRow {
        self.measure()
    }

    fn probe_values(&self) -> &[f64] {
        &self.probe_values
    }

    fn phases(&self) -> Vec<(&'static str, f64)> {
        self.timings.phases().to_vec()
    }

    fn checkpoint(&self) -> Vec<u8> {
        let warm: &[DVec3] = self.implicit.as_ref().map_or(&[], |s| s.warm_start());
        let mut plastic = Vec::new();
        self.mls.plastic_strains(&mut plastic);
        let mut flow = Vec::new();
        self.flow.save(&mut flow);
        let mut heat = Vec::new();
        if let Some(own) = &self.heat {
            own.save_all(&mut heat);
        }
        let surface = if self.flowing.is_empty() { Vec::new() } else { self.flowing.state() };
        let mut shell = Vec::new();
        self.shells.save(&mut shell);
        let mut lattice = Vec::new();
        self.lattice.save(&mut lattice);
        let mut embedded = Vec::new();
        self.embedded.save(&mut embedded);
        let mut resampled = Vec::new();
        self.save_resampling(&mut resampled);
        let header = Header {
            resampled: resampled.len(),
            embedded: embedded.len(),
            lattice: lattice.len(),
            shell: shell.len(),
            flowing: (0..self.bodies.len()).filter(|&b| self.flow.manages(b)).collect(),
            flow: flow.len(),
            surface: surface.len(),
            grips: self.late_grips(),
            points: self.points.len(),
            time: self.time,
            drawn_time: self.drawn_time,
            frame: self.frame,
            substeps: self.substeps,
            undamped_time: self.undamped_time,
            events: self.event_log.clone(),
            probe_values: self.probe_values.iter().map(|v| v.is_finite().then_some(*v)).collect(),
            warm_start: warm.len(),
            drags: self.body_contacts.state().len(),
            plastic: plastic.len(),
            work: self.work,
            dissipated: self.dissipated,
            switched: self.switched,
            heat: heat.len(),
            guard: self.guard.state(),
        };
        let text = serde_json::to_vec(&header).expect("plain numbers always serialize");
        let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
        bytes.extend(text);
        for array in [&self.points.positions[..], &self.points.velocities, warm, self.body_contacts.state()] {
            bytes.extend(array.iter().flat_map(|v| v.to_array()).flat_map(f64::to_le_bytes));
        }
        bytes.extend(plastic.into_iter().flatten().flat_map(f64::to_le_bytes));
        bytes.extend(heat.iter().flat_map(|x| x.to_le_bytes()));
        bytes.extend(flow);
        bytes.extend(surface);
        bytes.extend(shell.iter().flat_map(|x| x.to_le_bytes()));
        bytes.extend(lattice);
        bytes.extend(resampled);
        bytes.extend(embedded);
        bytes
    }

    fn restore(&mut self, state: &[u8]) -> Result<()> {
        let (header, arrays) = split(state).ok_or_else(|| damaged("it is cut short"))?;
        if header.points != self.points.len() || header.events.iter().any(|&e| e >= self.events.len()) {
            return Err(damaged("it was made from another scene or version"));
        }
        let vectors = 24 * (2 * (header.points + header.plastic) + header.warm_start + header.drags);
        let shell = header.shell.checked_mul(8);
        let tail = header
            .flow
            .checked_add(header.surface)
            .and_then(|tail| tail.checked_add(shell?)?.checked_add(header.lattice)?.checked_add(header.embedded))
            .and_then(|tail| tail.checked_add(header.resampled));
        let length = header.heat.checked_mul(8).and_then(|heat| heat.checked_add(vectors)?.checked_add(tail?));
        if length != Some(arrays.len()) || header.flowing.iter().any(|&b| b >= self.bodies.len()) {
            return Err(damaged("its length is wrong"));
        }
        let (arrays, rest) = arrays.split_at(vectors);
        let (heat, rest) = rest.split_at(8 * header.heat);
        let (flow, rest) = rest.split_at(header.flow);
        let (surface, rest) = rest.split_at(header.surface);
        let (shell, rest) = rest.split_at(8 * header.shell);
        let (lattice, rest) = rest.split_at(header.lattice);
        let (resampled, embedded) = rest.split_at(header.resampled);
        (self.time, self.drawn_time) = (header.time, header.drawn_time);
        self.frame = header.frame;
        self.substeps = header.substeps;
        self.undamped_time = header.undamped_time;
        self.work = header.work;
        self.dissipated = header.dissipated;
        self.probe_values = header.probe_values.iter().map(|v| v.unwrap_or(f64::NAN)).collect();
        for event in header.events {
            self.apply_event(event)?;
        }
        self.guard.restore_state(&header.guard);
        if let Some(own) = &mut self.heat {
            let (words, _) = heat.as_chunks::<8>();
            let numbers: Vec<f64> = words.iter().map(|b| f64::from_le_bytes(*b)).collect();
            own.load_all(&numbers).ok_or_else(|| damaged("its heat does not fit the scene"))?;
        }
        let (positions, rest) = arrays.split_at(24 * header.points);
        let (velocities, rest) = rest.split_at(24 * header.points);
        let (warm, rest) = rest.split_at(24 * header.warm_start);
        let (drags, plastic) = rest.split_at(24 * header.drags);
        read_vectors(positions, &mut self.points.positions);
        read_vectors(velocities, &mut self.points.velocities);
        if let Some(solver) = &mut self.implicit {
            let mut change = vec![DVec3::ZERO; header.warm_start];
            read_vectors(warm, &mut change);
            solver.set_warm_start(change);
        }
        let mut state = vec![DVec3::ZERO; header.drags];
        read_vectors(drags, &mut state);
        self.body_contacts.set_state(&state);
        let mut strains = vec![DVec3::ZERO; 2 * header.plastic];
        read_vectors(plastic, &mut strains);
        let strain = |pair: &[DVec3; 2]| [pair[0].x, pair[0].y, pair[0].z, pair[1].x, pair[1].y, pair[1].z];
        let strains: Vec<_> = strains.as_chunks::<2>().0.iter().map(strain).collect();
        self.mls.set_plastic_strains(&strains);
        for (k, held, start) in header.grips {
            let Some(pin) = self.pins.get_mut(k) else { return Err(damaged("it names a pin that is not there")) };
            if held.iter().any(|&i| i as usize >= self.points.len()) || held.len() != start.len() {
                return Err(damaged("a pin holds points that are not there"));
            }
            pin.grip(held, &self.points);
            pin.center = start.iter().sum::<DVec3>() / start.len().max(1) as f64;
            pin.start = start;
        }
        for body in header.flowing {
            self.take_over(body);
        }
        if !self.flow.restore(flow) {
            return Err(damaged("the state of its melted matter cannot be read"));
        }
        self.update_melted_fractions();
        self.switched = header.switched;
        if !surface.is_empty() && self.flowing.restore(surface, header.points).is_none() {
            return Err(damaged("the surface of its melted matter cannot be read"));
        }
        let numbers: Vec<f64> = shell.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
        if self.shells.load(&numbers).is_none_or(|left| !left.is_empty()) {
            return Err(damaged("its shells do not fit the scene"));
        }
        if self.lattice.load(lattice).is_none() {
            return Err(damaged("its lattices do not fit the scene"));
        }
        if self.load_resampling(resampled).is_none() {
            return Err(damaged("the points of its resampled bodies do not fit the scene"));
        }
        if self.embedded.load(embedded).is_none() {
            return Err(damaged("its embedded bodies do not fit the scene"));
        }
        self.warm_lattices();
        self.mls.load_positions(&self.points);
        self.colliders.advance(self.time, 0.0);
        Ok(())
    }
}

impl World {
    fn late_grips(&self) -> Vec<(usize, Vec<u32>, Vec<DVec3>)> {
        let late = self.pins.iter().enumerate().filter(|(_, p)| p.gripped && p.from > 0.0);
        late.map(|(k, p)| (k, p.points.clone(), p.start.clone())).collect()
    }
}

fn split(state: &[u8]) -> Option<(Header, &[u8])> {
    let length = u64::from_le_bytes(state.get(..8)?.try_into().ok()?) as usize;
    let text = state.get(8..8usize.checked_add(length)?)?;
    Some((serde_json::from_slice(text).ok()?, &state[8 + length..]))
}

fn read_vectors(bytes: &[u8], out: &mut [DVec3]) {
    for (v, b) in out.iter_mut().zip(bytes.chunks_exact(24)) {
        let number = |k: usize| f64::from_le_bytes(b[8 * k..8 * k + 8].try_into().expect("eight bytes"));
        *v = DVec3::new(number(0), number(1), number(2));
    }
}

fn damaged(why: &str) -> crate::Error {
    Diagnostic::new(format!("the checkpoint cannot be used: {why}"))
        .expected("a checkpoint of the same scene and version")
        .hint("run the scene again from the start")
        .into()
}
