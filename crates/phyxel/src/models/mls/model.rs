//! `MlsModel`: all elastic bodies of a world, stepped explicitly by leap-frog.
//!
//! A substep is `compute_stresses`, `integrate_velocities`, (contacts, pins: changes of velocity), `move_points`. The state of
//! record is in `Points` (f64); the model keeps packed copies of the displacements (`fast`), which depend on nothing else,
//! so that a restart from positions and velocities gives the same bits.

use super::damping::{RigidMotion, damp_towards};
use super::fast::{Engine, Extremes, Instructions, MoveReport, PackedEngine, Passes, PointKick, Single, Split};
use super::stencils::{StencilOptions, StencilReport, Stencils};
use super::time_step::{STEP_SAFETY, estimated_limit};
use crate::error::{Diagnostic, Result};
use crate::materials::plastic::{self, Symmetric, to_matrix};
use crate::materials::{ElasticLaw, Grain, PlasticLaw};
use crate::points::Points;
use crate::sampling::SurfacePatch;
use crate::scene::{MaterialSpec, Precision};
use glam::{DMat3, DVec3};
use rayon::prelude::*;
use std::ops::Range;

/// One body to be moved by the model.
#[derive(Debug, Clone)]
pub struct MlsBody<'a> {
    /// Its points; bodies are consecutive in the table of points.
    pub range: Range<usize>,
    /// What it is made of.
    pub material: &'a MaterialSpec,
    /// Rotation of the body's frame at the start, which turns the axes of a direction-dependent material.
    pub rotation: DMat3,
    /// Patches that tile its surface; empty: unknown, and the gradients are not corrected.
    pub patches: &'a [SurfacePatch],
}

/// All bodies that are moved by moving-least-squares elasticity.
pub struct MlsModel {
    /// Whether `integrate_velocities` reads and zeroes `Points::forces`; switch off while there are none.
    pub external_forces: bool,
    stencils: Stencils,
    report: StencilReport,
    bodies: Vec<Body>,
    range: Range<usize>,
    engine: Box<dyn Engine>,
    extremes: Extremes,
}

struct Body {
    range: Range<usize>,
    rotation: DMat3,
    law: ElasticLaw,
    plastic_law: PlasticLaw,
    density: f64,
    /// Estimated limit of stability [s].
    step_limit: f64,
    /// Whether another model has it.
    retired: bool,
}

impl MlsModel {
    /// Builds stencils and packed state of all bodies, on the fastest instructions of the machine.
    pub fn new(points: &Points, bodies: &[MlsBody], precision: Precision) -> Result<Self> {
        Self::with_instructions(points, bodies, precision, Instructions::best())
    }

    /// As `new`, on given instructions: `Instructions::reproducible` gives the same bits on every machine.
    pub fn with_instructions(
        points: &Points,
        bodies: &[MlsBody],
        precision: Precision,
        instructions: Instructions,
    ) -> Result<Self> {
        let first = bodies.first().map_or(0, |body| body.range.start);
        let mut end = first;
        for body in bodies {
            assert_eq!(body.range.start, end, "bodies are consecutive");
            end = body.range.end;
        }
        let range = first..end;
        let ranges: Vec<_> = bodies.iter().map(|body| body.range.start - first..body.range.end - first).collect();
        let patches: Vec<_> = bodies.iter().map(|body| body.patches).collect();
        let rest_positions = &points.rest_positions[range.clone()];
        let volumes = &points.volumes[range.clone()];
        let laws = bodies.iter().map(|body| ElasticLaw::from_spec(body.material, body.rotation));
        let laws: Vec<ElasticLaw> = laws.collect::<Result<_>>()?;
        let grains: Vec<_> = laws.iter().map(|law| Grain::of(&law.stiffness)).collect();
        let options = StencilOptions::default();
        let (stencils, report) =
            Stencils::build_with_grain(rest_positions, volumes, &ranges, &patches, &grains, &options);
        if stencils.reverse.is_some() || stencils.neighbors.len() as u64 * 2 > u32::MAX as u64 {
            return Err(Diagnostic::new("the neighborhoods of the points are too large to be packed").into());
        }
        let engine: Box<dyn Engine> = match precision {
            Precision::Mixed => {
                Box::new(PackedEngine::new(&stencils, &ranges, Passes::<f32, Split>::select(instructions)))
            }
            Precision::F32 => {
                Box::new(PackedEngine::new(&stencils, &ranges, Passes::<f32, Single<f32>>::select(instructions)))
            }
            Precision::F64 => {
                Box::new(PackedEngine::new(&stencils, &ranges, Passes::<f64, Single<f64>>::select(instructions)))
            }
        };
        let mut model = Self {
            external_forces: true,
            stencils,
            report,
            bodies: Vec::with_capacity(bodies.len()),
            range,
            engine,
            extremes: Extremes::REST,
        };
        for ((body, range), law) in bodies.iter().zip(ranges).zip(laws) {
            let density = body.material.density;
            let plastic_law = PlasticLaw::from_spec(body.material);
            let step_limit = f64::INFINITY;
            let rotation = body.rotation;
            model.bodies.push(Body { range, rotation, law, plastic_law, density, step_limit, retired: false });
            model.apply_law(model.bodies.len() - 1);
        }
        model.load_positions(points);
        Ok(model)
    }

    /// Changes the material of a body; stencils and state stay, and with them the directions of the first grain in the weights.
    pub fn set_material(&mut self, body: usize, material: &MaterialSpec) -> Result<()> {
        let rotation = self.bodies[body].rotation;
        self.bodies[body].law = ElasticLaw::from_spec(material, rotation)?;
        self.bodies[body].plastic_law = PlasticLaw::from_spec(material);
        self.bodies[body].density = material.density;
        self.apply_law(body);
        Ok(())
    }

    /// Takes a body out of the model: another one moves it from now on. Its points still get external forces and gravity.
    pub fn retire(&mut self, body: usize) {
        self.engine.retire(self.bodies[body].range.clone());
        self.bodies[body].step_limit = f64::INFINITY;
        self.bodies[body].retired = true;
    }

    /// Largest time step for one body [s]; infinite when it is retired.
    pub fn body_time_step(&self, body: usize) -> f64 {
        STEP_SAFETY * self.bodies[body].step_limit
    }

    fn apply_law(&mut self, body: usize) {
        self.engine.set_plastic_law(body, self.bodies[body].plastic_law);
        let body = &mut self.bodies[body];
        self.engine.set_law(&self.stencils, body.range.clone(), &body.law);
        if body.retired {
            return;
        }
        body.step_limit = estimated_limit(&self.stencils, body.range.clone(), &body.law, body.density);
    }

    /// Largest time step that leap-frog takes safely through impacts [s]; infinite when nothing is elastic.
    pub fn stable_time_step(&self) -> f64 {
        self.bodies.iter().map(|body| STEP_SAFETY * body.step_limit).fold(f64::INFINITY, f64::min)
    }

    /// Part of `stable_time_step` that the deformation at the last `compute_stresses` leaves.
    ///
    /// Stretch stiffens St. Venant-Kirchhoff matter, λ + 2μ growing by about 1 + 3|G|, and the collapse guard adds its
    /// own stiffness where it acts; the limit falls with the root of both. One value for all bodies, from the extremes.
    pub fn step_reduction(&self) -> f64 {
        let Extremes { max_strain, min_det, .. } = self.extremes;
        let growth = |body: &Body| {
            let crushed = if min_det < body.law.collapse_ratio { body.law.collapse_stiffness } else { 0.0 };
            1.0 + 3.0 * max_strain.min(10.0) + crushed / body.law.longitudinal_modulus()
        };
        let most = self.bodies.iter().map(growth).fold(1.0, f64::max);
        1.0 / most.sqrt()
    }

    /// Speed of the fastest longitudinal wave at rest [m/s].
    pub fn wave_speed(&self) -> f64 {
        let speed = |body: &Body| (body.law.longitudinal_modulus() / body.density).sqrt();
        self.bodies.iter().map(speed).fold(0.0, f64::max)
    }

    /// Takes over positions that were set from outside: at the start, after a restart or a roll-back.
    pub fn load_positions(&mut self, points: &Points) {
        let range = self.range.clone();
        self.engine.load(&points.positions[range.clone()], &points.rest_positions[range]);
    }

    /// Pass 1: strains and stresses at the present displacements; records the extremes.
    pub fn compute_stresses(&mut self, points: &Points) {
        self.flow_and_compute_stresses(points, 0.0);
    }

    /// As `compute_stresses`, after plastic flow over `dt` [s] at the present displacements; returns the energy that the
    /// flow took [J].
    pub fn flow_and_compute_stresses(&mut self, _points: &Points, dt: f64) -> f64 {
        self.extremes = match self.bodies.iter().all(|body| body.retired) {
            true => Extremes::REST,
            false => self.engine.compute_stresses(dt),
        };
        self.extremes.dissipated
    }

    /// Whether a body is or was plastic, so that plastic strain is kept.
    pub fn has_plastic(&self) -> bool {
        self.engine.has_plastic()
    }

    /// Plastic Green strain of each point of the model; empty while no body is or was plastic.
    pub fn plastic_strains(&self, out: &mut Vec<Symmetric>) {
        out.clear();
        if self.has_plastic() {
            out.extend((0..self.range.len()).map(|i| self.engine.plastic_strain(i)));
        }
    }

    /// Puts back what `plastic_strains` gave.
    pub fn set_plastic_strains(&mut self, strains: &[Symmetric]) {
        strains.iter().enumerate().for_each(|(i, s)| self.engine.set_plastic_strain(i, *s));
    }

    /// Norm of the plastic Green strain of point i.
    pub fn plastic_norm(&self, i: usize) -> f64 {
        plastic::norm(&self.engine.plastic_strain(i))
    }

    /// Plastic strain of each point as JᵀJ - I measures it, for the implicit solver; empty as `plastic_strains`.
    pub fn stored_strains(&self, out: &mut Vec<DMat3>) {
        out.clear();
        if self.has_plastic() {
            out.extend((0..self.range.len()).map(|i| self.stored_strain(i)));
        }
    }

    /// Plastic strain of point i as JᵀJ - I measures it.
    pub fn stored_strain(&self, i: usize) -> DMat3 {
        to_matrix(&self.engine.plastic_strain(i)) * 2.0
    }

    /// Pass 2: `v += dt ((internal + external force) / m + gravity)`, external forces zeroed.
    pub fn integrate_velocities(&mut self, points: &mut Points, dt: f64, gravity: DVec3) {
        let range = self.range.clone();
        self.engine.kick(PointKick {
            velocities: &mut points.velocities[range.clone()],
            masses: &points.masses[range.clone()],
            forces: &mut points.forces[range],
            has_forces: self.external_forces,
            dt,
            gravity,
        });
    }

    /// `x += dt v`.
    pub fn move_points(&mut self, points: &mut Points, dt: f64) -> MoveReport {
        let range = self.range.clone();
        self.engine.advance(
            &mut points.positions[range.clone()],
            &mut points.velocities[range.clone()],
            &points.rest_positions[range],
            dt,
        )
    }

    /// Multiplies what is not rigid motion of a body by `factor`; momentum and angular momentum are kept.
    pub fn damp(&mut self, points: &mut Points, body: usize, factor: f64) {
        let range = &self.bodies[body].range;
        let range = range.start + self.range.start..range.end + self.range.start;
        let motion = RigidMotion::of(points, range.clone());
        damp_towards(points, range, factor, motion);
    }

    /// Multiplies what differs from a given rigid motion by `factor`, for bodies that are held.
    pub fn damp_towards(&self, points: &mut Points, range: Range<usize>, factor: f64, motion: RigidMotion) {
        damp_towards(points, range, factor, motion);
    }

    /// Extremes of the last `compute_stresses`.
    pub fn extremes(&self) -> Extremes {
        self.extremes
    }

    /// Neighborhoods at rest.
    pub fn stencils(&self) -> &Stencils {
        &self.stencils
    }

    /// What was found while the stencils were built.
    pub fn stencil_report(&self) -> &StencilReport {
        &self.report
    }

    /// Elastic law of each body.
    pub fn laws(&self) -> impl Iterator<Item = ElasticLaw> + '_ {
        self.bodies.iter().map(|body| body.law)
    }

    /// Support radius of each point [m].
    pub fn support_radii(&self) -> &[f64] {
        &self.stencils.support_radii
    }

    /// Memory of the packed state [bytes]; the stencils come on top.
    pub fn packed_bytes(&self) -> usize {
        self.engine.bytes()
    }

    /// Internal forces at the present positions [N], one per point of the model.
    pub fn internal_forces(&mut self, points: &Points, out: &mut [DVec3]) {
        self.load_positions(points);
        self.compute_stresses(points);
        self.engine.forces(out);
    }

    /// Elastic energy of each body at the present positions: strain, volume, collapse and control [J].
    pub fn elastic_energy(&mut self, points: &Points, per_body: &mut [f64]) {
        self.load_positions(points);
        let energy = |i: usize, law: &ElasticLaw| {
            let local = self.engine.local(i);
            let density = law.energy_density_stored(local.gradient, self.stored_strain(i));
            density * self.stencils.volumes[i] + local.control_energy
        };
        for (body, out) in self.bodies.iter().zip(per_body) {
            let energies: Vec<f64> = body.range.clone().into_par_iter().map(|i| energy(i, &body.law)).collect();
            *out = energies.iter().sum();
        }
    }

    /// Deformation gradients J at the present positions, one per point of the model.
    pub fn deformation_gradients(&mut self, points: &Points, out: &mut Vec<DMat3>) {
        self.load_positions(points);
        let gradient = |i: usize| DMat3::IDENTITY + self.engine.local(i).gradient;
        (0..self.range.len()).into_par_iter().map(gradient).collect_into_vec(out);
    }
}
