//! `ShellModel`: all shells of a world, and their explicit steps; `stepping` has the implicit ones.

use super::body::Shell;
use super::contact::{ContactSheet, ShellContact};
use super::cracks::{CrackEvent, Piece};
use super::fabric::Fabric;
use super::fracture::{Fracture, FractureLaw, Moment};
use super::law::{Sheet, ShellLaw};
use super::loads::GasState;
use super::network::{Nodes, frame};
use super::plastic::ShellFlow;
use super::stepping::ImplicitPart;
use super::stiffening::Stiffening;
use crate::models::mls::damping::RigidMotion;
use crate::points::Points;
use crate::scene::MaterialSpec;
use glam::{DMat3, DVec3};
use rayon::prelude::*;
use std::ops::Range;

/// Part of the square of step times frequency that `smoothing` takes from a vibration per step.
const RATE_DAMPING: f64 = 0.2;

/// Stiffness of contact with solids in masses of a node per squared step.
const CONTACT: f64 = 0.3;

/// One body to be moved by the model.
#[derive(Debug, Clone)]
pub struct ShellBody {
    /// Number of the body in the world.
    pub body: usize,
    /// Its points.
    pub range: Range<usize>,
    /// Its nodes at rest, in the order of the points.
    pub nodes: Nodes,
    /// Its energy.
    pub law: ShellLaw,
    /// Its elastic constants.
    pub sheet: Sheet,
    /// Mass per volume [kg/m³].
    pub density: f64,
    /// Strength with which vibrations a few nodes long are taken away, 0 to 1.
    pub smoothing: f64,
    /// How it yields.
    pub flow: ShellFlow,
    /// How it breaks.
    pub fracture: FractureLaw,
    /// Strength of each node in that of the material.
    pub strengths: Vec<f64>,
    /// Coulomb friction coefficient against itself and other shells.
    pub friction: f64,
    /// How its matter depends on direction and place.
    pub fabric: Fabric,
    /// How its stiffness depends on strain.
    pub stiffening: Stiffening,
}

/// What an event may change of a shell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShellMaterial {
    /// Elastic constants.
    pub sheet: Sheet,
    /// Mass per volume [kg/m³].
    pub density: f64,
    /// Strength with which vibrations a few nodes long are taken away, 0 to 1.
    pub smoothing: f64,
    /// How it yields.
    pub flow: ShellFlow,
    /// How it breaks.
    pub fracture: FractureLaw,
    /// Coulomb friction coefficient against itself and other shells.
    pub friction: f64,
}

impl ShellMaterial {
    /// From what the scene says; a thickness of 0 for bodies that are no shells.
    pub fn from_spec(spec: &MaterialSpec) -> Self {
        let thickness = spec.shell.map_or(0.0, |s| s.thickness);
        let breaks = spec.shell.map(|s| s.breaks).unwrap_or_default();
        Self {
            sheet: Sheet { young: spec.young, poisson: spec.poisson, thickness },
            density: spec.density,
            smoothing: spec.smoothing,
            friction: spec.friction,
            flow: ShellFlow {
                yield_strain: spec.yield_strain,
                creep: spec.creep,
                most: spec.max_plastic_strain,
                thickness,
                poisson: spec.poisson,
                fatigue: breaks.fatigue,
                hardening: spec.shell.map_or(0.0, |s| s.hardening) / spec.young,
            },
            fracture: FractureLaw {
                tension: breaks.strain.unwrap_or(f64::INFINITY),
                bending: breaks.bending.unwrap_or(f64::INFINITY),
                microcracks: breaks.microcracks,
                thickness,
            },
        }
    }
}

pub(super) struct Part {
    pub(super) body: usize,
    pub(super) range: Range<usize>,
    pub(super) shell: Shell,
    pub(super) density: f64,
    smoothing: f64,
    flow: ShellFlow,
    friction: f64,
    /// Version of the network that contact knows.
    contact_version: u64,
    /// Whether it yields or once did, so that its rest state is kept.
    plastic: bool,
    /// Longest step at rest [s].
    step: f64,
    /// Where the forces are evaluated [m]. Written by `add_forces`.
    ahead: Vec<DVec3>,
    /// Its cracks, if it can break.
    fracture: Option<Fracture>,
    /// Volume inside before any crack [m³]; 0 of what was never closed.
    pub(super) whole_volume: f64,
    /// Part of the pressure, or of the gas, inside that has not leaked. Written by `add_pressure` and `add_gas`.
    pub(super) kept: f64,
    /// The gas inside, at the last step. Written by `add_gas`.
    pub(super) gas: GasState,
    /// Present when it is stepped implicitly.
    pub(super) implicit: Option<Box<ImplicitPart>>,
}

impl Part {
    /// Whether a crack has opened.
    pub(super) fn is_torn(&self) -> bool {
        self.fracture.as_ref().is_some_and(|f| !f.pieces().is_empty())
    }

    fn sheet(&self) -> ContactSheet {
        ContactSheet::of(&self.shell, self.range.start, self.friction)
    }
}

/// Step of an even net in spacings over the speed of waves.
const EVEN_STEP: f64 = 0.5;
/// A net whose step is shorter than this part of that of an even one is rough.
const ROUGH: f64 = 0.25;

/// All bodies that are thin shells.
#[derive(Default)]
pub struct ShellModel {
    pub(super) parts: Vec<Part>,
    /// Cracks that opened or grew since the last frame. Written by `break_fibers`.
    events: Vec<CrackEvent>,
    /// Keeps them apart.
    contact: ShellContact,
}

impl ShellModel {
    /// Builds networks and energies.
    pub fn new(bodies: Vec<ShellBody>, points: &Points) -> Self {
        let part = |b: ShellBody| {
            let mut shell = Shell::new(b.nodes, b.law, b.sheet).with_fabric(b.fabric).with_stiffening(b.stiffening);
            let step = shell.time_step(&points.masses[b.range.clone()]);
            let breaks = b.fracture.is_active();
            let fracture = breaks.then(|| Fracture::new(b.fracture, &shell, b.strengths));
            Part {
                fracture,
                kept: 1.0,
                whole_volume: shell.gas.rest_volume(),
                body: b.body,
                range: b.range,
                shell,
                density: b.density,
                smoothing: b.smoothing,
                flow: b.flow,
                friction: b.friction,
                contact_version: 0,
                plastic: b.flow.is_active(),
                step,
                ahead: Vec::new(),
                gas: GasState::default(),
                implicit: None,
            }
        };
        let parts: Vec<Part> = bodies.into_iter().map(part).collect();
        let sheets = parts.iter().map(Part::sheet).collect();
        Self { parts, events: Vec::new(), contact: ShellContact::new(sheets, points.len()) }
    }

    /// Bodies with surfaces finer than their nodes, by what they ask of the step: body, distance of the nodes [m], and how many times
    /// shorter the step is than that of an even net.
    pub fn rough(&self) -> impl Iterator<Item = (usize, f64, f64)> + '_ {
        self.parts.iter().filter_map(|part| {
            let (sheet, spacing) = (part.shell.sheet(), part.shell.spacing());
            let speed = (sheet.young / (part.density * (1.0 - sheet.poisson.powi(2)))).sqrt();
            let even = EVEN_STEP * spacing / (speed * (1.0 + 2.0 * sheet.thickness / spacing));
            (part.step < ROUGH * even).then(|| (part.body, spacing, even / part.step))
        })
    }

    /// Whether there are no shells.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Whether a body of the world is a shell.
    pub fn manages(&self, body: usize) -> bool {
        self.parts.iter().any(|p| p.body == body)
    }

    /// The shell of a body of the world.
    pub fn shell(&self, body: usize) -> Option<&Shell> {
        self.parts.iter().find(|p| p.body == body).map(|p| &p.shell)
    }

    /// Changes the material of a body.
    pub fn set_material(&mut self, body: usize, material: &ShellMaterial, points: &Points) {
        for part in self.parts.iter_mut().filter(|p| p.body == body) {
            part.shell.set_sheet(material.sheet);
            part.density = material.density;
            part.smoothing = material.smoothing;
            part.flow = material.flow;
            part.friction = material.friction;
            part.plastic |= material.flow.is_active();
            part.step = part.shell.time_step(&points.masses[part.range.clone()]);
            if let Some(fracture) = &mut part.fracture {
                fracture.set_law(material.fracture);
            }
        }
        for (s, part) in self.parts.iter().enumerate() {
            self.contact.set_friction(s, part.friction);
        }
    }

    /// Tells contact of shells whose networks cracks have changed.
    fn update_contact(&mut self) {
        for (s, part) in self.parts.iter_mut().enumerate().filter(|(_, p)| p.shell.version() != p.contact_version) {
            part.contact_version = part.shell.version();
            self.contact.part(s, part.shell.network(), part.range.start);
        }
    }

    /// Forgets what contact found, after positions were set from outside.
    pub fn refresh_contact(&mut self) {
        self.contact.refresh();
    }

    /// Takes the velocities away by which shells would meet others or themselves in a step of `dt` [s]; held points cannot be
    /// pushed.
    pub fn touch<'a>(&mut self, points: &mut Points, held: impl Iterator<Item = &'a u32>, dt: f64) {
        self.update_contact();
        self.contact.hold(&points.masses, held);
        self.contact.touch(points, dt);
    }

    /// Contact among the shells, for what else may touch their triangles.
    pub fn contact(&self) -> &ShellContact {
        &self.contact
    }

    /// After all else has changed the velocities: stops what would still meet.
    pub fn keep_apart(&mut self, points: &mut Points, dt: f64) {
        self.contact.keep_apart(points, dt);
    }

    /// Pairs of edges and triangles of shells that cross at these positions; none in a world that began without any.
    pub fn crossings(&self, points: &Points) -> usize {
        self.contact.crossings(&points.positions)
    }

    /// Stiffness against what presses on a node of a shell [N/m], such that its step need not be much smaller.
    pub fn contact_stiffness(&self, body: usize, points: &Points) -> Option<f64> {
        let part = self.parts.iter().find(|p| p.body == body)?;
        let masses = &points.masses[part.range.clone()];
        let mass = masses.iter().sum::<f64>() / masses.len().max(1) as f64;
        Some(CONTACT * mass / (part.step * part.step))
    }

    /// Longest step now [s]; stretch stiffens a shell, and so may its material. Infinite when there is none.
    pub fn stable_time_step(&self) -> f64 {
        let step = |part: &Part| {
            let extremes = part.shell.extremes();
            let stretch = extremes.max_stretch.clamp(1.0, 100.0);
            let stiffer = extremes.stiffness.max(1.0);
            let alone = part.step / (0.5 * (3.0 * stretch * stretch - 1.0) * stiffer).sqrt();
            alone / (1.0 + part.gas.rate2 * alone * alone).sqrt()
        };
        self.parts.iter().map(step).fold(f64::INFINITY, f64::min)
    }

    /// Speed of the fastest wave at rest [m/s].
    pub fn wave_speed(&self) -> f64 {
        let speed =
            |part: &Part| (part.shell.sheet().membrane() / (part.density * part.shell.sheet().thickness)).sqrt();
        self.parts.iter().map(speed).fold(0.0, f64::max)
    }

    /// Largest strain of a fiber at the last evaluation.
    pub fn max_strain(&self) -> f64 {
        self.parts.iter().map(|p| p.shell.extremes().max_strain).fold(0.0, f64::max)
    }

    /// Looks at the present positions, for the step and the guard.
    pub fn measure(&mut self, points: &Points) {
        for part in &mut self.parts {
            part.shell.measure(&points.positions[part.range.clone()]);
        }
    }

    /// Adds the internal forces of a step of `dt` [s].
    ///
    /// With smoothing they are evaluated a little ahead, where motion other than rigid motion takes the points in a part of the
    /// step: that adds -c dt K v to the forces, which takes away the fastest vibrations and spares slow ones.
    pub fn add_forces(&mut self, points: &mut Points, dt: f64) {
        for part in &mut self.parts {
            let range = part.range.clone();
            let positions = &points.positions[range.clone()];
            let lead = RATE_DAMPING * part.smoothing * dt;
            if lead > 0.0 {
                let motion = RigidMotion::of(points, range.clone());
                part.ahead.resize(positions.len(), DVec3::ZERO);
                let all = part.ahead.par_iter_mut().zip(positions).zip(&points.velocities[range.clone()]);
                all.with_min_len(2048).for_each(|((out, x), v)| *out = *x + lead * (*v - motion.at(*x)));
                part.shell.measure(&part.ahead);
            } else {
                part.shell.measure(positions);
            }
            part.shell.add_forces(&mut points.forces[range]);
        }
    }

    /// Adds the forces of a pressure inside of a body [Pa] in a step of `dt` [s]; what is torn leaks.
    pub fn add_pressure(&mut self, body: usize, pressure: f64, points: &mut Points, dt: f64) {
        for part in self.parts.iter_mut().filter(|p| p.body == body) {
            let range = part.range.clone();
            if part.is_torn() {
                part.kept *= part.shell.leak(&points.positions[range.clone()], part.kept * pressure, dt);
            }
            let pressure = part.kept * pressure;
            part.shell.add_pressure(&points.positions[range.clone()], pressure, &mut points.forces[range]);
        }
    }

    /// Plastic flow of a step of `dt` [s], at what `add_forces` saw; returns the energy that it takes [J].
    pub fn flow(&mut self, dt: f64) -> f64 {
        let active = self.parts.iter_mut().filter(|p| p.flow.is_active());
        active.filter_map(|part| part.shell.flow(&part.flow, dt)).sum()
    }

    /// Sets the factors of the bending stiffness of the nodes of a body at the edges of clamps; empty: all 1.
    pub fn set_clamps(&mut self, body: usize, clamps: &[f64], points: &Points) {
        for part in self.parts.iter_mut().filter(|p| p.body == body) {
            part.shell.set_clamps(clamps.to_vec());
            part.step = part.shell.time_step(&points.masses[part.range.clone()]);
            part.shell.measure(&points.positions[part.range.clone()]);
        }
    }

    /// Breaks the most urgent fibers at what `add_forces` saw, at most one crack per shell; returns the energy that appeared, or less
    /// than 0 that went [J].
    pub fn break_fibers(&mut self, points: &Points, time: f64) -> f64 {
        let mut energy = 0.0;
        for part in &mut self.parts {
            let Some(fracture) = &mut part.fracture else { continue };
            let moment = Moment {
                time,
                positions: &points.positions[part.range.clone()],
                masses: &points.masses[part.range.clone()],
                density: part.density,
            };
            if let Some(opened) = fracture.crack(&mut part.shell, &moment) {
                energy += opened.energy;
                part.step = part.step.min(opened.step);
                self.events.extend(opened.event.map(|event| CrackEvent { body: part.body, ..event }));
            }
        }
        energy
    }

    /// Whether a shell can break.
    pub fn can_break(&self) -> bool {
        self.parts.iter().any(|p| p.fracture.is_some())
    }

    /// Cracks that opened or grew since the last call.
    pub fn take_events(&mut self) -> Vec<CrackEvent> {
        std::mem::take(&mut self.events)
    }

    /// The pieces of the cracks of a body, oldest first.
    pub fn cracks(&self, body: usize) -> &[Piece] {
        let fracture = self.parts.iter().find(|p| p.body == body).and_then(|p| p.fracture.as_ref());
        fracture.map_or(&[], Fracture::pieces)
    }

    /// Number of pieces that the nodes of a body make, by their neighborhoods; None for a body that is no shell.
    pub fn count_pieces(&self, body: usize) -> Option<usize> {
        let network = self.shell(body)?.network();
        let near = |i: usize| network.neighbors_of(i).iter().map(|&j| j as usize);
        Some(crate::measure::count_pieces(network.len(), near))
    }

    /// Whether a shell yields or once did.
    pub fn has_plastic(&self) -> bool {
        self.parts.iter().any(|p| p.plastic)
    }

    /// Writes the largest plastic strain at each node.
    pub fn write_plastic(&self, out: &mut [f32]) {
        self.parts.iter().for_each(|part| part.shell.plastic_strains(&mut out[part.range.clone()]));
    }

    /// Appends the cracks of shells that can break, and the rest state of those that yield or once did.
    pub fn save(&self, out: &mut Vec<f64>) {
        out.push(self.events.len() as f64);
        for part in &self.parts {
            if let Some(fracture) = &part.fracture {
                out.extend([part.step, part.kept]);
                fracture.save(out);
            }
            if part.plastic {
                part.shell.save_rest(out);
            }
        }
        self.save_paces(out);
    }

    /// Puts back what `save` gave and returns the rest of the numbers; None when there are too few.
    pub fn load<'a>(&mut self, numbers: &'a [f64]) -> Option<&'a [f64]> {
        let (&events, mut numbers) = numbers.split_first()?;
        self.events.truncate(events as usize);
        for part in &mut self.parts {
            if let Some(fracture) = &mut part.fracture {
                let (&[step, kept], cracks) = numbers.split_first_chunk()?;
                (part.step, part.kept) = (step, kept);
                numbers = fracture.load(&mut part.shell, cracks)?;
            }
            if part.plastic {
                numbers = part.shell.load_rest(numbers)?;
            }
        }
        self.load_paces(numbers)
    }

    /// Adds the elastic energy of each body at the present positions [J].
    pub fn add_energy(&mut self, points: &Points, per_body: &mut [f64]) {
        for part in &mut self.parts {
            part.shell.measure(&points.positions[part.range.clone()]);
            per_body[part.body] += part.shell.energy().iter().sum::<f64>();
        }
    }

    /// Writes the deformation gradients of the nodes.
    pub fn write_deformations(&self, points: &Points, gradients: &mut [DMat3]) {
        for part in &self.parts {
            let range = part.range.clone();
            part.shell.gradients(&points.positions[range.clone()], &mut gradients[range]);
        }
    }

    /// Writes strain, von Mises stress [Pa] and volume ratio of the nodes, of the middle surface: the largest strain of a fiber, plane
    /// stress of the deformation in the tangent plane, and the area ratio. `measure` must have looked at the positions.
    pub fn write_fields(&self, gradients: &[DMat3], strain: &mut [f32], stress: &mut [f32], ratio: &mut [f32]) {
        for part in &self.parts {
            for (i, [largest, mean]) in part.range.clone().zip(part.shell.strains()) {
                strain[i] = largest as f32;
                ratio[i] = (1.0 + 2.0 * mean).max(0.0) as f32;
            }
            let normals = &part.shell.nodes().normals;
            for (k, i) in part.range.clone().enumerate() {
                let (e1, e2) = frame(normals[k]);
                let (a, b) = (gradients[i] * e1, gradients[i] * e2);
                let (xx, yy, xy) = (0.5 * (a.dot(a) - 1.0), 0.5 * (b.dot(b) - 1.0), 0.5 * a.dot(b));
                let [sx, sy, shear] = part.shell.stress(k, [xx, yy, xy]);
                stress[i] = (sx * sx - sx * sy + sy * sy + 3.0 * shear * shear).sqrt() as f32;
            }
        }
    }

    /// Bodies and points of all shells.
    pub fn ranges(&self) -> impl Iterator<Item = (usize, Range<usize>)> + '_ {
        self.parts.iter().map(|p| (p.body, p.range.clone()))
    }
}
