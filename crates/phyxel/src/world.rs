//! World: what evolves, and questions about it; no algorithm.
//!
//! Set-up is in `setup.rs`, the step in `step.rs`, the state that survives a restart in `checkpoint.rs`.

use crate::body::Body;
use crate::contact::{Bodies, Colliders, ContactConstraint, PairPenalty};
use crate::events::Event;
use crate::external::ExternalForce;
use crate::frame::{BodyFrame, ColliderFrame, ColliderLook, Frame};
use crate::guard::Guard;
use crate::heat::Heat;
use crate::linalg::SymmetricEigen;
use crate::materials::elastic::green_strain;
use crate::materials::{ElasticLaw, von_mises};
use crate::measure::{MetricsRow, Probe, Timings, totals};
use crate::models::embedded::{EmbeddedModel, Fields};
use crate::models::lattice::LatticeModel;
use crate::models::mls::MlsModel;
use crate::models::mls::flow::FlowModel;
use crate::models::mls::implicit::{Constraints, Solver};
use crate::models::mls::smoothing::Smoothing;
use crate::models::shell::ShellModel;
use crate::models::shell::cracks::Disc;
use crate::pins::Pin;
use crate::points::Points;
use crate::run::Rescue;
use crate::scene::Scene;
use crate::surface::{Breaks, Carrier, Carriers, FlowingSurface, IsoSurface, Manner, Skin, velocities_among};
use glam::{DMat3, DVec3, Vec3};
use rayon::prelude::*;

/// Everything that evolves in a run.
pub struct World {
    /// What the user wrote.
    pub(crate) scene: Scene,
    /// Simulated time [s].
    pub(crate) time: f64,
    /// Number of the last finished frame.
    pub(crate) frame: u32,
    /// Time steps so far.
    pub(crate) substeps: u64,
    /// The shared table.
    pub(crate) points: Points,
    /// One entry per `[[body]]`.
    pub(crate) bodies: Vec<Body>,
    /// One entry per `[[collider]]`.
    pub(crate) colliders: Colliders,
    /// Impulse each collider gave to the points since the last frame [N s]. Written by `collide`.
    pub(crate) collider_impulses: Vec<DVec3>,
    /// One entry per `[[pin]]`.
    pub(crate) pins: Vec<Pin>,
    /// One entry per `[[force]]`.
    pub(crate) external: Vec<ExternalForce>,
    /// One entry per `[[event]]`.
    pub(crate) events: Vec<Event>,
    /// Events that have happened, in that order. Written by `apply_events`.
    pub(crate) event_log: Vec<usize>,
    /// One entry per `[[probe]]`.
    pub(crate) probes: Vec<Probe>,
    /// Their values now. Written at the end of each frame.
    pub(crate) probe_values: Vec<f64>,
    /// Elastic solids.
    pub(crate) mls: MlsModel,
    /// Thin shells.
    pub(crate) shells: ShellModel,
    /// Close-packed lattices, solid and liquid.
    pub(crate) lattice: LatticeModel,
    /// Clay, dough, gum.
    pub(crate) embedded: EmbeddedModel,
    /// Pins that clamp shells now. Written by `set_clamps`.
    pub(crate) clamped: Vec<usize>,
    /// Bodies that flow or have flowed.
    pub(crate) flow: FlowModel,
    /// Present when some body takes part in heat.
    pub(crate) heat: Option<Heat>,
    /// Present when the world is integrated implicitly.
    pub(crate) implicit: Option<Solver>,
    /// Bodies against each other.
    pub(crate) body_contacts: Bodies,
    /// Watches every step.
    pub(crate) guard: Guard,
    /// Work done on the points by forces, pins and colliders since the start [J].
    pub(crate) work: f64,
    /// Energy that plastic flow has taken since the start [J]. Written by the stress phase.
    pub(crate) dissipated: f64,
    /// Energy that changes of material and phase have put in since the start [J]. Written by `switch`.
    pub(crate) switched: f64,
    /// What the guard mended since the last frame.
    pub(crate) rescues: Vec<Rescue>,
    /// Time since damping was last applied [s]. Written by `damp`.
    pub(crate) undamped_time: f64,
    /// Smooths velocities.
    pub(crate) smoothing: Smoothing,
    /// The drawn surfaces, one per body. Physics never reads them.
    pub(crate) surfaces: Vec<Surface>,
    /// The surface of all bodies that flow or have flowed. Written by `follow_flow`.
    pub(crate) flowing: FlowingSurface,
    /// When that was last brought up to date [s]. Written by `follow_flow`.
    pub(crate) drawn_time: f64,
    /// When the frame that ends next, or has just ended, began [s]. Written by `begin_frame`.
    pub(crate) frame_start: f64,
    /// How colliders are drawn, one per visible collider with its index.
    pub(crate) collider_looks: Vec<(usize, ColliderLook)>,
    /// Number of connected pieces of each body. Written at set-up.
    pub(crate) pieces: Vec<usize>,
    /// Number of connected pieces of matter in the world. Written by `measure`.
    pub(crate) all_pieces: usize,
    /// What was found odd at set-up, for the user.
    pub(crate) warnings: Vec<String>,
    /// Step sizes since the last frame.
    pub(crate) steps: StepCount,
    /// Wall time by phase.
    pub(crate) timings: Timings,
    /// Disposable, reused.
    pub(crate) scratch: Scratch,
}

/// sRGB color of a body at a place at rest [m].
pub(crate) type Painting = Box<dyn Fn(Vec3) -> [u8; 3] + Send + Sync>;

/// The drawn surface of one body.
#[derive(Default)]
pub(crate) struct Surface {
    /// Binds rest surfels to points; None: the points are drawn, or nothing.
    pub carrier: Option<Carrier>,
    /// Opens these where a lattice breaks; None: it does not.
    pub breaks: Option<Box<Breaks>>,
    /// The mesh that rides on its points and opens at cracks.
    pub skin: Option<Skin>,
    /// Whether anything is drawn.
    pub visible: bool,
    /// Whether the mesh around its particles is drawn.
    pub mesh: bool,
    /// sRGB color of that mesh where matter has melted; None: that of the body.
    pub molten: Option<[u8; 3]>,
    /// How it behaves where matter flows.
    pub manner: Manner,
    /// sRGB color at a place at rest [m]; None: nothing to tell apart.
    pub paint: Option<Painting>,
    /// Vertices of that mesh in the last frame.
    pub vertices: usize,
}

/// Step sizes and times since the last frame.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StepCount {
    pub substeps: u64,
    pub dt_min: f64,
    pub dt_max: f64,
    pub seconds_physics: f64,
    pub seconds_surface: f64,
}

impl StepCount {
    /// Counts one step of `dt` [s].
    pub fn count(&mut self, dt: f64) {
        self.dt_min = if self.substeps == 0 { dt } else { self.dt_min.min(dt) };
        self.dt_max = self.dt_max.max(dt);
        self.substeps += 1;
    }
}

/// Buffers that are reused and never read across steps.
#[derive(Default)]
pub(crate) struct Scratch {
    pub contacts: Vec<ContactConstraint>,
    pub pairs: Vec<PairPenalty>,
    pub constraints: Constraints,
    /// Velocities before the kick of a step that damps [m/s]; implicit steps all do.
    pub start_velocities: Vec<DVec3>,
    /// External forces of a step in which shells are integrated implicitly [N].
    pub external: Vec<DVec3>,
    /// Internal forces after it [N]; or, of shells, the impulses of pins and colliders [N s].
    pub internal: Vec<DVec3>,
    pub gradients: Vec<DMat3>,
    /// Plastic strains for the implicit solver.
    pub stored_strains: Vec<DMat3>,
    pub fields: PointFields,
}

/// Scalars on the points, computed once per frame from the deformation.
#[derive(Debug, Default)]
pub(crate) struct PointFields {
    /// Largest principal Green strain by absolute value.
    pub strain: Vec<f32>,
    /// Von Mises stress [Pa].
    pub stress: Vec<f32>,
    /// Volume ratio.
    pub volume_ratio: Vec<f32>,
    /// Norm of the plastic Green strain; empty while no body is or was plastic.
    pub plastic: Vec<f32>,
}

impl World {
    /// The scene the world was made from.
    pub fn scene(&self) -> &Scene {
        &self.scene
    }
    /// Simulated time [s].
    pub fn time(&self) -> f64 {
        self.time
    }
    /// The table of points.
    pub fn points(&self) -> &Points {
        &self.points
    }
    /// The bodies, in scene order.
    pub fn bodies(&self) -> &[Body] {
        &self.bodies
    }
    /// The elastic solids.
    pub fn mls(&self) -> &MlsModel {
        &self.mls
    }
    /// The thin shells.
    pub fn shells(&self) -> &ShellModel {
        &self.shells
    }
    /// The lattices.
    pub fn lattice(&self) -> &LatticeModel {
        &self.lattice
    }
    /// The embedded bodies.
    pub fn embedded(&self) -> &EmbeddedModel {
        &self.embedded
    }
    /// The heat, when some body takes part in it.
    pub fn heat(&self) -> Option<&Heat> {
        self.heat.as_ref()
    }
    /// Time steps so far.
    pub fn substeps(&self) -> u64 {
        self.substeps
    }
    /// What was found odd at set-up.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
    /// Whether the world is integrated implicitly.
    pub fn is_implicit(&self) -> bool {
        self.implicit.is_some() || self.shells.is_implicit()
    }
    /// Number of surfels of all bodies.
    pub fn surfel_count(&self) -> usize {
        let solid = self.surfaces.iter().enumerate().filter(|(b, _)| !self.flowing.has(*b as u32));
        solid.filter_map(|(_, s)| s.carrier.as_ref()).map(|c| c.rest().len()).sum::<usize>()
            + self.surfaces.iter().map(|s| s.vertices).sum::<usize>()
            + self.flowing.len()
    }
    /// Wall time by phase [s].
    pub fn timings(&self) -> &Timings {
        &self.timings
    }

    /// Energies, momenta and extremes now. Also brings probes and point fields up to date.
    pub(crate) fn measure(&mut self) -> MetricsRow {
        self.update_fields();
        let all = totals(&self.points, 0..self.points.len());
        let mut elastic = vec![0.0; self.bodies.len()];
        self.mls.elastic_energy(&self.points, &mut elastic);
        self.flow.add_energy(&self.points, &mut elastic);
        self.shells.add_energy(&self.points, &mut elastic);
        self.lattice.add_energy(&self.points, &mut elastic);
        self.embedded.add_energy(&self.points, &mut elastic);
        self.count_pieces();
        self.probe_values = self.probes.iter().map(|p| p.value(self, &elastic)).collect();
        let fields = &self.scratch.fields;
        let volume = self.points.volumes.iter().zip(&fields.volume_ratio).map(|(v, j)| v * f64::from(*j)).sum();
        MetricsRow {
            frame: self.frame,
            time: self.time,
            dt_min: self.steps.dt_min,
            dt_max: self.steps.dt_max,
            substeps: self.steps.substeps,
            kinetic: all.kinetic,
            elastic: elastic.iter().sum(),
            gravity: -all.mass * self.scene.gravity.dot(all.center),
            heat: self.heat.as_ref().map_or(0.0, Heat::content_above_start),
            work: self.work,
            dissipated: self.dissipated,
            switched: self.switched,
            momentum: all.momentum,
            angular: all.angular,
            mass: all.mass,
            volume,
            points: self.bodies.iter().map(|b| b.range.len()).sum(),
            surfels: self.surfel_count(),
            pieces: self.all_pieces,
            max_speed: all.max_speed,
            max_strain: fields.strain.iter().fold(0.0, |m, &s| f64::max(m, f64::from(s))),
            min_det_f: fields.volume_ratio.iter().fold(f64::INFINITY, |m, &j| f64::min(m, f64::from(j))),
            seconds_physics: self.steps.seconds_physics,
            seconds_surface: self.steps.seconds_surface,
        }
    }

    /// Mean force of a pin on its body over the last frame [N].
    pub(crate) fn pin_reaction(&self, pin: usize) -> DVec3 {
        self.pins[pin].impulse * self.scene.fps
    }

    /// Mean force of a collider on the points over the last frame [N].
    pub(crate) fn collider_reaction(&self, collider: usize) -> DVec3 {
        self.collider_impulses[collider] * self.scene.fps
    }

    /// Recomputes the deformation of solids and of what flows.
    pub(crate) fn update_gradients(&mut self) {
        self.mls.deformation_gradients(&self.points, &mut self.scratch.gradients);
        self.flow.write_deformations(&mut self.scratch.gradients);
    }

    /// Recomputes strain, stress and volume ratio of all points.
    fn update_fields(&mut self) {
        self.update_gradients();
        let Scratch { gradients, fields, .. } = &mut self.scratch;
        self.shells.write_deformations(&self.points, gradients);
        self.lattice.write_deformations(&self.points, gradients);
        let stencils = self.mls.stencils();
        self.embedded.write_deformations(&self.points, |i| stencils.of(i), gradients);
        let laws: Vec<ElasticLaw> = self.mls.laws().collect();
        let bodies = &self.points.bodies;
        for field in [&mut fields.strain, &mut fields.stress, &mut fields.volume_ratio] {
            field.resize(gradients.len(), 0.0);
        }
        let mls = &self.mls;
        fields.plastic.clear();
        if mls.has_plastic() {
            fields.plastic.extend((0..gradients.len()).map(|i| mls.plastic_norm(i) as f32));
        }
        let outputs = (&mut fields.strain, &mut fields.stress, &mut fields.volume_ratio);
        (outputs, &*gradients, bodies).into_par_iter().with_min_len(1024).enumerate().for_each(
            |(i, ((strain, stress, ratio), deformation, &body))| {
                let state = point_state(*deformation, mls.stored_strain(i), &laws[body as usize]);
                (*strain, *stress, *ratio) = (state[0] as f32, state[1] as f32, state[2] as f32);
            },
        );
        self.flow.write_melt_stress(&self.points, &mut fields.stress);
        if self.shells.has_plastic() {
            fields.plastic.resize(gradients.len(), 0.0);
            self.shells.write_plastic(&mut fields.plastic);
        }
        if !self.embedded.is_empty() {
            fields.plastic.resize(gradients.len(), 0.0);
            let PointFields { strain, stress, volume_ratio, plastic } = fields;
            self.embedded.write_fields(&self.points, &mut Fields { strain, stress, volume_ratio, plastic });
        }
        self.shells.measure(&self.points);
        self.shells.write_fields(gradients, &mut fields.strain, &mut fields.stress, &mut fields.volume_ratio);
    }

    /// Writes the world as it is now into `out`; `measure` must have run since the last step.
    pub(crate) fn write_frame(&mut self, out: &mut Frame) {
        // Whoever has not asked for `measure` has no fields yet.
        if self.scratch.fields.strain.len() != self.points.len() {
            self.update_fields();
        }
        out.index = self.frame;
        out.time = self.time;
        out.cracks = self.shells.take_events();
        out.bodies.resize_with(self.bodies.len(), BodyFrame::default);
        let joined = self.follow_flow();
        for (b, body) in self.bodies.iter().enumerate() {
            write_body(body, &self.points, &self.scratch.fields, &mut out.bodies[b]);
            if let Some(heat) = self.heat.as_ref().filter(|_| body.material.is_thermal()) {
                let temperature = |i: usize| heat.temperature(i).unwrap_or(f64::NAN) as f32;
                out.bodies[b].fields.push(("temperature", body.range.clone().map(temperature).collect()));
            }
            if let Some(part) = self.embedded.part(b) {
                for (axis, name) in crate::sinks::EMBEDDED.into_iter().enumerate() {
                    out.bodies[b].fields.push((name, part.embedded.iter().map(|e| e[axis] as f32).collect()));
                }
                out.bodies[b].fields.push(("hardening", part.limits().collect()));
                out.bodies[b].fields.push(("fade", part.memories.iter().map(|m| m.flowed() as f32).collect()));
            }
            out.bodies[b].hidden = !self.surfaces[b].visible;
            out.bodies[b].two_sided = self.shells.manages(b);
            out.bodies[b].joined = joined.get(b).copied().flatten();
            if self.surface_flows(b) {
                self.flowing.write(b as u32, &mut out.bodies[b].surfels);
            } else if self.surfaces[b].mesh {
                let BodyFrame { positions, spacings, .. } = &out.bodies[b];
                let (mesh, spacing) = match self.embedded.manages(b) {
                    true => IsoSurface::around_tough(positions, spacings),
                    // Particles of lattices are all of one spacing.
                    false => {
                        let spacing = spacings.first().copied().unwrap_or(1.0);
                        (IsoSurface::around(positions, spacing), spacing)
                    }
                };
                self.surfaces[b].vertices = mesh.positions.len();
                mesh.write_surfels(spacing, body.color, &mut out.bodies[b].surfels);
                let BodyFrame { positions, spacings, velocities, surfels, .. } = &mut out.bodies[b];
                surfels.velocities = velocities_among(positions, spacings, velocities, &surfels.positions);
                if let Some(molten) = self.surfaces[b].molten {
                    let melted = |i: usize| 1.0 - self.lattice.solidity(i).unwrap_or(1.0) as f32;
                    let melted: Vec<f32> = body.range.clone().map(melted).collect();
                    let parts = mesh.mean_of(&melted, &out.bodies[b].positions, spacing);
                    let colors = &mut out.bodies[b].surfels.colors;
                    colors.iter_mut().zip(&parts).for_each(|(c, part)| *c = mixed(*c, molten, *part));
                }
            } else if let Surface { skin: Some(skin), carrier, vertices, .. } = &mut self.surfaces[b] {
                let range = body.range.clone();
                let points = Carriers {
                    positions: &self.points.positions[range.clone()],
                    rest_positions: &self.points.rest_positions[range.clone()],
                    velocities: &self.points.velocities[range.clone()],
                    gradients: &self.scratch.gradients[range],
                };
                skin.open(self.shells.cracks(b), points.rest_positions);
                let BodyFrame { mesh, surfels, .. } = &mut out.bodies[b];
                skin.write(&points, mesh);
                if let Some(shell) = self.shells.shell(b) {
                    lead_out(&self.colliders, 0.5 * shell.sheet().thickness, &mut mesh.positions);
                }
                match carrier {
                    // Where matter may flow it has surfels beside it, and these are drawn.
                    Some(carrier) => {
                        carrier.update(points.positions, points.rest_positions, points.gradients, surfels);
                        carrier.write_velocities(points.positions, points.velocities, surfels);
                    }
                    None => skin.draw(mesh, body.color, surfels),
                }
                *vertices = mesh.positions.len();
            } else if let Surface { carrier: Some(carrier), breaks, .. } = &mut self.surfaces[b] {
                let range = body.range.clone();
                let discs: Vec<Disc> = self.shells.cracks(b).iter().map(|piece| piece.disc).collect();
                carrier.cut(&discs, &self.points.rest_positions[range.clone()]);
                if let Some(breaks) = breaks {
                    breaks.follow(carrier, |i, j| self.lattice.is_broken([range.start + i, range.start + j]));
                    out.bodies[b].surfels.colors.clear();
                }
                carrier.update(
                    &self.points.positions[range.clone()],
                    &self.points.rest_positions[range.clone()],
                    &self.scratch.gradients[range],
                    &mut out.bodies[b].surfels,
                );
                let range = body.range.clone();
                let velocities = &self.points.velocities[range.clone()];
                carrier.write_velocities(&self.points.positions[range], velocities, &mut out.bodies[b].surfels);
                if let Some(shell) = self.shells.shell(b) {
                    lead_out(&self.colliders, 0.5 * shell.sheet().thickness, &mut out.bodies[b].surfels.positions);
                    out.bodies[b].surfels.exact.clear();
                }
            }
        }
        self.write_coats(&mut out.bodies);
        out.colliders.clear();
        for (k, look) in &self.collider_looks {
            let (collider, spec) = (&self.colliders.list[*k], &self.scene.colliders[*k]);
            if collider.active {
                out.colliders.push(ColliderFrame {
                    name: spec.name.clone(),
                    color: spec.color,
                    pose: collider.affine(),
                    look: look.clone(),
                });
            }
        }
    }
}

/// Between the nodes of a sheet its drawn surface may dip a little into a collider: it is led out, to `gap` [m] above.
fn lead_out(colliders: &Colliders, gap: f64, places: &mut [Vec3]) {
    for collider in colliders.list.iter().filter(|c| c.active) {
        let near = collider.bounds().grown(gap);
        places.par_iter_mut().with_min_len(1024).for_each(|place| {
            let p = place.as_dvec3();
            if near.contains(p) {
                let inside = gap - collider.distance(p);
                if inside > 0.0 {
                    *place = (p + inside * collider.normal(p)).as_vec3();
                }
            }
        });
    }
}

/// Strain, von Mises Cauchy stress and volume ratio at a deformation gradient and a plastic strain.
fn point_state(deformation: DMat3, stored_strain: DMat3, law: &ElasticLaw) -> [f64; 3] {
    let gradient = deformation - DMat3::IDENTITY;
    let green = green_strain(gradient, DMat3::ZERO);
    let ratio = deformation.determinant();
    let strain = SymmetricEigen::new(green).values.abs().max_element();
    [strain, von_mises(law.cauchy_stress(gradient, stored_strain)), ratio]
}

/// `part` of the second color in the first.
fn mixed(one: [u8; 3], other: [u8; 3], part: f32) -> [u8; 3] {
    let channel = |k: usize| f32::from(one[k]) + part * (f32::from(other[k]) - f32::from(one[k]));
    std::array::from_fn(|k| channel(k).round() as u8)
}

fn write_body(body: &Body, points: &Points, fields: &PointFields, out: &mut BodyFrame) {
    let range = body.range.clone();
    out.name.clone_from(&body.name);
    out.color = body.color;
    out.ids.clear();
    out.ids.extend_from_slice(&points.ids[range.clone()]);
    out.positions.clear();
    out.positions.extend(points.positions[range.clone()].iter().map(|p| p.as_vec3()));
    out.velocities.clear();
    out.velocities.extend(points.velocities[range.clone()].iter().map(|v| v.as_vec3()));
    out.spacings.clear();
    out.spacings.extend(points.spacings[range.clone()].iter().map(|&s| s as f32));
    out.fields.clear();
    for (name, values) in [
        ("strain", &fields.strain),
        ("stress", &fields.stress),
        ("volume_ratio", &fields.volume_ratio),
        ("plastic", &fields.plastic),
    ] {
        if let Some(values) = values.get(range.clone()) {
            out.fields.push((name, values.to_vec()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniaxial_pull_has_its_known_state() {
        // G = (1.2² - 1) / 2 = 0.22, S = E G, σ = F S F / |F| = 1.2 E G.
        let law = ElasticLaw::isotropic(1e6, 0.0);
        let [strain, stress, ratio] = point_state(DMat3::from_diagonal(DVec3::new(1.2, 1.0, 1.0)), DMat3::ZERO, &law);
        assert!((strain - 0.22).abs() < 1e-12 && (stress - 0.264e6).abs() < 1e-6 && (ratio - 1.2).abs() < 1e-12);
    }

    #[test]
    fn von_mises_of_uniaxial_and_shear_stress() {
        assert!((von_mises(DMat3::from_diagonal(DVec3::X * 7.0)) - 7.0).abs() < 1e-12);
        assert!(von_mises(DMat3::IDENTITY * 3.0) < 1e-12);
        let shear = DMat3::from_cols(DVec3::Y, DVec3::X, DVec3::ZERO);
        assert!((von_mises(shear) - 3f64.sqrt()).abs() < 1e-12);
    }
}
