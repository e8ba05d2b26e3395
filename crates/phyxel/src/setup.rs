//! Scene to World: shapes are built, sampled, put in cell order and handed to the models.

mod declared;
mod lattice;
mod molds;
mod painting;
mod remarks;
mod shell;
mod skin;

use declared::{add_force, add_pin, add_probe, awaited};
use lattice::{add_lattice, add_lattice_contact, breaks, shared_sites};
use molds::measure_molds;
use remarks::{describe_buried, describe_flat, describe_overlap, describe_rough};
pub(crate) use shell::contact_young;
use shell::{add_shell, check_held};
use skin::{bind_skin, skin_flows, solid_skin};

use crate::body::{Body, Region};
use crate::contact::{Bodies, Collider, Colliders, ContactBody, ContactSurface};
use crate::events::Event;
use crate::frame::ColliderLook;
use crate::geometry::{Bounds, Built, Files, Mesh, Placed, Pose, ShapeLibrary, build};
use crate::guard::Guard;
use crate::heat::Heat;
use crate::materials::elastic::PLASTIC_CONTROL;
use crate::measure::{Probe, count_pieces};
use crate::models::lattice::{LIQUID_RADIUS, LatticeModel};
use crate::models::mls::flow::bake_walls;
use crate::models::mls::implicit::Solver;
use crate::models::mls::{MlsBody, MlsModel};
use crate::models::shell::ShellModel;
use crate::neighbors::cell_order;
use crate::points::Points;
use crate::sampling::{SampleSize, SurfacePatch, color_by_mesh, paint_of, sample_surfels, sample_volume};
use crate::scene::{
    BodySpec, EventAction, EventSpec, EventTime, Integrator, MaterialSpec, ModelKind, RegionPlace, RegionSpec, Scene,
    ShapeKind, SurfaceKind,
};
use crate::surface::{Carrier, Falloff, Manner, Surfels};
use crate::world::{Surface, World};
use crate::{Diagnostic, Result};
use glam::DVec3;
use painting::painting;
use std::ops::Range;
use std::sync::Arc;

/// Points are sorted into cells of this many spacings: about the support radius, so that neighbors lie near in memory.
const CELL_SPACINGS: f64 = 1.75;
/// Least contact radius of a node of a shell, in spacings: between the nodes a sheet cuts corners.
const SHELL_GAP: f64 = 0.2;
/// How far a node of a shell carries surfels, in spacings.
const SHELL_REACH: f64 = 1.8;
/// Surfels per collider.
const COLLIDER_SURFELS: usize = 20_000;
/// Explicit steps per frame from which implicit integration is the cheaper choice: three implicit steps per frame at
/// about 0.16 ms per point against 0.1 µs per point and explicit step (`phyxel bench implicit-20k elastic-20k`).
const IMPLICIT_FROM_STEPS: f64 = 5000.0;

/// The same for shells: about 0.7 ms per node and frame against 0.4 µs per node and explicit step (`phyxel bench foil`).
const IMPLICIT_SHELLS_FROM_STEPS: f64 = 5000.0;
/// The same for lattices.
const IMPLICIT_LATTICE_FROM_STEPS: f64 = 300.0;
/// Distance within which the particles of a lattice carry a surfel, in spacings, [WHP06] eq. 19.
const LATTICE_REACH: f64 = 1.8;

/// A body between sampling and the world.
struct Sampled {
    patches: Vec<SurfacePatch>,
    surfels: Option<Surfels>,
    /// The triangles that ride on it, in the frame of its shape.
    skin: Option<Mesh>,
    pose: Pose,
    surface: ContactSurface,
}

impl World {
    /// Builds the world of a scene; `files` says where the scene's files are.
    pub fn new(scene: &Scene, files: &Files) -> Result<Self> {
        let shapes = ShapeLibrary::new(&scene.shapes, &|_| None);
        let mut warnings = Vec::new();
        let mut points = Points::default();
        let (mut bodies, mut sampled, mut shell_bodies) = (Vec::new(), Vec::new(), Vec::new());
        let (sites, mut lattice_bodies) = (shared_sites(scene, &shapes, files)?, Vec::new());
        for (b, spec) in scene.bodies.iter().enumerate() {
            let key = format!("body[{b}]");
            if spec.model == ModelKind::Shell {
                let (body, one, shell) = add_shell(b, scene, (&shapes, files), &mut points, &mut warnings)?;
                bodies.push(body);
                sampled.push(one);
                shell_bodies.push(shell);
                continue;
            }
            let built = build(&spec.shape, &shapes, files).map_err(|e| e.under_key(&key))?;
            warnings.extend(built.warnings.iter().map(|w| format!("body '{}': {w}", spec.name)));
            if let Some(sites) = sites.as_ref().filter(|_| spec.model == ModelKind::Lattice) {
                let (body, one, lattice) = add_lattice(b, scene, &built, sites, &mut points)?;
                bodies.push(body);
                sampled.push(one);
                lattice_bodies.push(lattice);
                continue;
            }
            let (mut body, one) = add_body(b, scene, &built, &mut points)?;
            if spec.model == ModelKind::Mls && becomes(scene, spec, MaterialSpec::is_plastic) {
                // The same through all events, so that none of them springs a bend back.
                body.material.control.get_or_insert(PLASTIC_CONTROL);
            }
            bodies.push(body);
            sampled.push(one);
        }
        let mls_bodies: Vec<MlsBody> = bodies
            .iter()
            .zip(&sampled)
            .map(|(body, one)| MlsBody {
                range: body.slots.clone(),
                material: &body.material,
                patches: &one.patches,
                rotation: one.pose.rotation,
            })
            .collect();
        let mut mls = MlsModel::new(&points, &mls_bodies, scene.precision)?;
        bodies.iter().for_each(|b| (b.range.end..b.slots.end).for_each(|i| points.clear(i)));
        let mut shells = ShellModel::new(shell_bodies, &points);
        shells.ranges().for_each(|(b, _)| mls.retire(b));
        lattice_bodies.iter().for_each(|l| mls.retire(l.body));
        let mut lattice = LatticeModel::new(&lattice_bodies, sites, &points, scene.seed);
        if scene.integrator == Integrator::Explicit {
            lattice.flow_explicitly();
        }
        check_held(&shells, &bodies)?;
        let mut body_contacts = Bodies::new(&points, &contact_bodies(&bodies, &sampled, &shells, &points));
        add_lattice_contact(scene, &lattice_bodies, &mut body_contacts);
        let is_lattice = |b: u32| lattice.manages(b as usize);
        let overlaps = body_contacts.overlaps().iter().filter(|o| !is_lattice(o.body_a) || !is_lattice(o.body_b));
        warnings.extend(overlaps.map(|o| describe_overlap(o, &bodies)));
        let mut radii = body_contacts.radii().to_vec();
        for (b, range) in shells.ranges() {
            let half = 0.5 * bodies[b].material.shell.map_or(0.0, |s| s.thickness);
            range.for_each(|i| radii[i] = half.max(SHELL_GAP * points.spacings[i]));
        }
        let liquids = lattice_bodies.iter().filter(|l| l.liquid).flat_map(|l| l.range.clone());
        liquids.for_each(|i| radii[i] = LIQUID_RADIUS * points.spacings[i]);
        let heat = Heat::new(scene, &bodies, &points, &radii);
        let (mut colliders, collider_looks) = add_colliders(scene, &shapes, files, radii, &mut warnings)?;
        if anything_flows(scene) {
            let own = |b: &Body| points.spacings[b.range.clone()].iter().copied().fold(f64::INFINITY, f64::min);
            bake_walls(&mut colliders, bodies.iter().map(own).fold(f64::INFINITY, f64::min));
        }
        measure_molds(scene, &mut colliders, &bodies, &points);
        warnings.extend(describe_flat(&mls, &shells, &lattice_bodies));
        warnings.extend(describe_rough(&shells, &bodies));
        warnings.extend(describe_buried(&colliders, &bodies, &points));
        let implicit = (shells.is_empty() && lattice.is_empty() && choose_implicit(scene, &mls)).then(Solver::default);
        let stepped = choose_implicit_lattice(scene, &lattice);
        if stepped {
            lattice.step_implicitly();
        }
        if choose_implicit_shells(scene, &shells) {
            shells.step_implicitly();
        } else if scene.integrator == Integrator::Implicit && !shells.is_empty() {
            warnings
                .push("shells together with other bodies are stepped explicitly: the integrator is explicit".into());
        } else if scene.integrator == Integrator::Implicit && !lattice.is_empty() && !stepped {
            warnings.push("lattices that break or yield are stepped explicitly: the integrator is explicit".into());
        } else if scene.integrator == Integrator::Implicit && implicit.is_none() && !stepped {
            warnings.push("matter that flows is stepped explicitly: the integrator is explicit".into());
        }
        let surfaces = bodies
            .iter()
            .zip(sampled)
            .zip(&scene.bodies)
            .map(|((b, s), spec)| bind(b, s, spec, &points, &mls, &shells));
        let surfaces = surfaces.collect();
        let pins =
            scene.pins.iter().enumerate().map(|(k, p)| add_pin(k, p, &bodies, &points)).collect::<Result<_>>()?;
        let external = scene.forces.iter().enumerate().map(|(k, f)| add_force(k, f, &bodies, &points, &shells));
        let external = external.collect::<Result<_>>()?;
        let probes: Vec<Probe> =
            scene.probes.iter().enumerate().map(|(k, p)| add_probe(k, p, scene, &bodies)).collect::<Result<_>>()?;
        let events = scene.events.iter().map(|spec| Event {
            spec: spec.clone(),
            probe: awaited(&spec.when, &probes),
            done: false,
        });
        let pieces = bodies.iter().enumerate();
        let pieces = pieces.map(|(b, body)| shells.count_pieces(b).unwrap_or_else(|| pieces_of(body, &mls))).collect();
        let mut world = World {
            scene: scene.clone(),
            time: 0.0,
            frame: 0,
            substeps: 0,
            events: events.collect(),
            collider_impulses: vec![DVec3::ZERO; colliders.list.len()],
            event_log: Vec::new(),
            guard: Guard::default(),
            work: 0.0,
            dissipated: 0.0,
            switched: 0.0,
            rescues: Vec::new(),
            undamped_time: 0.0,
            smoothing: Default::default(),
            probe_values: Vec::new(),
            steps: Default::default(),
            timings: Default::default(),
            scratch: Default::default(),
            points,
            bodies,
            colliders,
            pins,
            external,
            probes,
            mls,
            shells,
            lattice,
            embedded: Default::default(),
            clamped: Vec::new(),
            implicit,
            heat,
            body_contacts,
            surfaces,
            flowing: Default::default(),
            drawn_time: 0.0,
            frame_start: 0.0,
            collider_looks,
            all_pieces: 0,
            pieces,
            warnings,
            flow: Default::default(),
        };
        world.set_clamps();
        world.start_moving();
        world.start_flow();
        world.warm_lattices();
        world.tell_grains();
        world.body_contacts.begin_grains(&world.points);
        world.warnings.extend(world.describe_demands());
        world.guard = Guard::new(world.limits());
        Ok(world)
    }

    /// Gives every body its initial velocity and spin.
    fn start_moving(&mut self) {
        for (body, spec) in self.bodies.iter().zip(&self.scene.bodies) {
            let center = crate::measure::totals(&self.points, body.range.clone()).center;
            for i in body.range.clone() {
                self.points.velocities[i] = spec.velocity + spec.spin.cross(self.points.positions[i] - center);
            }
        }
    }
}

/// Whether a body's material is of a kind at the start or after one of its events.
fn becomes(scene: &Scene, body: &BodySpec, is: impl Fn(&MaterialSpec) -> bool) -> bool {
    let mut material = body.material.clone();
    let mut found = is(&material);
    for event in &scene.events {
        if let EventAction::Set { body: name, set } = &event.action
            && *name == body.name
        {
            material.change(set);
            found |= is(&material);
        }
    }
    found
}

/// Whether any body flows at some time.
pub(crate) fn anything_flows(scene: &Scene) -> bool {
    // An event may hold a body solid from the start, however hot it gets.
    let stays_solid = |body: &BodySpec| {
        let at_start = |e: &EventSpec| matches!(e.when, EventTime::At(t) if t <= 0.0);
        let solid = |e: &EventSpec| matches!(&e.action, EventAction::Solidify(name) if *name == body.name);
        scene.events.iter().any(|e| at_start(e) && solid(e))
    };
    let may_flow =
        |body: &BodySpec| body.model == ModelKind::Mls && becomes(scene, body, |m| m.flows() || m.can_melt());
    scene.bodies.iter().any(|body| may_flow(body) && !stays_solid(body))
        || scene.events.iter().any(|e| matches!(e.action, EventAction::Melt(_)))
}

/// Samples a body in its own frame and appends its points, in cell order, in world space.
fn add_body(b: usize, scene: &Scene, built: &Built, points: &mut Points) -> Result<(Body, Sampled)> {
    let (spec, seed) = (&scene.bodies[b], scene.seed);
    let pose = Pose { scale: spec.scale, ..Pose::from_degrees(spec.at, spec.rotate) };
    let size = match (spec.spacing, spec.points) {
        (Some(spacing), _) => SampleSize::Spacing(spacing / spec.scale),
        (None, Some(count)) => SampleSize::Points(count),
        (None, None) => SampleSize::Points(2000),
    };
    let seed = seed.wrapping_add(b as u64);
    let samples = sample_volume(&*built.shape, spec.sampling, size, seed)
        .map_err(|e| e.under_key(&format!("body[{b}] '{}'", spec.name)))?;
    let spacing = samples.spacings.iter().sum::<f64>() / samples.spacings.len() as f64;
    let order = cell_order(&samples.positions, CELL_SPACINGS * spacing);
    let first = points.len();
    for &i in &order {
        let i = i as usize;
        let volume = samples.volumes[i] * spec.scale.powi(3);
        let local = samples.spacings[i] * spec.scale;
        let index =
            points.push(b as u32, pose.point(samples.positions[i]), spec.material.density * volume, volume, local);
        points.ids[index] = (first + i) as u32;
    }
    let range = first..points.len();
    let places: Vec<DVec3> = order.iter().map(|&i| samples.positions[i as usize]).collect();
    let paint = || built.mesh.as_deref().map_or(Vec::new(), |mesh| paint_of(mesh, &places));
    let regions = find_regions(b, scene, range.clone(), points, &paint)?;
    let surfels = (matches!(spec.surface.kind, SurfaceKind::Surfels | SurfaceKind::Detail) || skin_flows(scene, spec))
        .then(|| painted_surfels(built, spec, seed));
    let patches = samples.patches.iter().map(|p| SurfacePatch {
        position: pose.point(p.position),
        normal: pose.vector(p.normal),
        area: p.area * spec.scale * spec.scale,
    });
    let surface = ContactSurface::Solid(Arc::new(Placed::new(built.shape.clone(), pose)));
    let sampled = Sampled { patches: patches.collect(), surfels, skin: solid_skin(spec, built), pose, surface };
    let slots = range.start..range.end + add_spare(b, spec, range.clone(), points);
    let body = Body {
        name: spec.name.clone(),
        slots,
        sampled: range.len(),
        range,
        material: spec.material.clone(),
        melted: None,
        color: spec.color,
        regions,
    };
    Ok((body, sampled))
}

/// Appends places for points that come by splitting; returns how many. At rest they are a copy of a part of the body, aside of it, so
/// that nothing is degenerate where neighborhoods at rest are made.
fn add_spare(b: usize, spec: &BodySpec, range: Range<usize>, points: &mut Points) -> usize {
    let spare = ((spec.resample - 1.0) * range.len() as f64) as usize;
    let size = Bounds::of(points.positions[range.clone()].iter().copied()).size().x;
    let widest = points.spacings[range.clone()].iter().copied().fold(0.0, f64::max);
    for k in 0..spare {
        let from = range.start + k % range.len();
        let aside = (1 + k / range.len()) as f64 * (size + 10.0 * widest);
        let (mass, volume, spacing) = (points.masses[from], points.volumes[from], points.spacings[from]);
        let at = points.rest_positions[from];
        let i = points.push(b as u32, at, mass, volume, spacing);
        points.rest_positions[i].x += aside;
    }
    spare
}

/// The regions of a body; the first is `all`.
fn find_regions(
    b: usize,
    scene: &Scene,
    range: Range<usize>,
    points: &Points,
    paint: &dyn Fn() -> Vec<[u8; 3]>,
) -> Result<Vec<Region>> {
    let spec = &scene.bodies[b];
    let pins = scene.pins.iter().filter(|p| p.body == spec.name && p.from > 0.0);
    let later: Vec<&str> = pins.map(|p| p.region.as_str()).collect();
    let everything = RegionSpec { name: "all".into(), place: RegionPlace::All };
    let mut regions = vec![Region::find(&everything, range.clone(), points)];
    for (k, region) in spec.regions.iter().enumerate() {
        let found = match region.place {
            RegionPlace::Painted { color } => Region::painted(&region.name, color, range.clone(), &paint()),
            _ => Region::find(region, range.clone(), points),
        };
        // A pin that begins later grips what is there then.
        if found.points.is_empty() && !later.contains(&region.name.as_str()) {
            return Err(Diagnostic::new(format!("region '{}' holds no points of body '{}'", region.name, spec.name))
                .key(format!("body[{b}].regions[{k}]"))
                .expected(
                    "a place that covers at least one point; regions are in world space at the start, paint is that of a mesh",
                )
                .hint("a larger region or a smaller spacing")
                .into());
        }
        regions.push(found);
    }
    Ok(regions)
}

/// Surfels of one color, or of the mesh's own colors if it has any.
fn colored_surfels(built: &Built, count: usize, color: [u8; 3], seed: u64) -> Surfels {
    let mut surfels = sample_surfels(&*built.shape, count, color, seed);
    if let Some(mesh) = built.mesh.as_deref().filter(|m| m.colors.is_some()) {
        color_by_mesh(&mut surfels, mesh);
    }
    surfels
}

/// Surfels of detail surfaces are larger by this: no pore is left between any three of them.
const CLOSED: f32 = 1.15;

/// Surfels of a body with its pattern.
fn painted_surfels(built: &Built, spec: &BodySpec, seed: u64) -> Surfels {
    let mut surfels = colored_surfels(built, spec.surface.count, spec.color, seed);
    if spec.surface.kind == SurfaceKind::Detail {
        surfels.axes_u.iter_mut().chain(&mut surfels.axes_v).for_each(|axis| *axis *= CLOSED);
    }
    if let Some(pattern) = &spec.surface.pattern {
        for (color, p) in surfels.colors.iter_mut().zip(&surfels.positions) {
            if pattern.covers(p.as_dvec3()) {
                *color = pattern.color;
            }
        }
    }
    surfels
}

fn contact_bodies(bodies: &[Body], sampled: &[Sampled], shells: &ShellModel, points: &Points) -> Vec<ContactBody> {
    let one = |(b, (body, sampled)): (usize, (&Body, &Sampled))| ContactBody {
        points: body.range.clone(),
        surface: sampled.surface.clone(),
        young: contact_young(b, body, shells, points),
        friction: body.material.friction,
    };
    bodies.iter().zip(sampled).enumerate().map(one).collect()
}

fn add_colliders(
    scene: &Scene,
    shapes: &ShapeLibrary,
    files: &Files,
    radii: Vec<f64>,
    warnings: &mut Vec<String>,
) -> Result<(Colliders, Vec<(usize, ColliderLook)>)> {
    let (mut list, mut looks) = (Vec::new(), Vec::new());
    for (k, spec) in scene.colliders.iter().enumerate() {
        let key = format!("collider[{k}]");
        let built = build(&spec.shape, shapes, files).map_err(|e| e.under_key(&key))?;
        warnings.extend(built.warnings.iter().map(|w| format!("collider '{}': {w}", spec.name)));
        if spec.visible {
            let look = match &spec.shape.kind {
                ShapeKind::Plane { .. } => ColliderLook::Plane,
                _ => {
                    let surfels = colored_surfels(&built, COLLIDER_SURFELS, spec.color, scene.seed);
                    ColliderLook::Surfels(Arc::new(surfels))
                }
            };
            looks.push((k, look));
        }
        list.push(Collider::from_spec(spec, built.shape));
    }
    let mut colliders = Colliders::new(list);
    colliders.set_radii(radii);
    Ok((colliders, looks))
}

/// `auto` is explicit, which keeps vibrations, unless that would take very many steps per frame.
fn choose_implicit(scene: &Scene, mls: &MlsModel) -> bool {
    match scene.integrator {
        _ if anything_flows(scene) => false,
        _ if scene.bodies.iter().any(|b| b.model == ModelKind::Embedded) => false,
        Integrator::Explicit => false,
        Integrator::Implicit => true,
        Integrator::Auto => 1.0 / (scene.fps * mls.stable_time_step()) > IMPLICIT_FROM_STEPS,
    }
}

/// Whether shells are stepped implicitly: only where all bodies are shells.
fn choose_implicit_shells(scene: &Scene, shells: &ShellModel) -> bool {
    let only = !shells.is_empty() && scene.bodies.iter().all(|b| b.model == ModelKind::Shell);
    match scene.integrator {
        _ if !only => false,
        Integrator::Explicit => false,
        Integrator::Implicit => true,
        // A crack grows once per step: tearing wants short ones.
        Integrator::Auto if shells.can_break() => false,
        Integrator::Auto => 1.0 / (scene.fps * shells.stable_time_step()) > IMPLICIT_SHELLS_FROM_STEPS,
    }
}

/// Whether lattices are stepped implicitly: only where none can break or yield, which wants short steps.
fn choose_implicit_lattice(scene: &Scene, lattice: &LatticeModel) -> bool {
    match scene.integrator {
        _ if !lattice.stays_whole() => false,
        Integrator::Explicit => false,
        Integrator::Implicit => true,
        Integrator::Auto => 1.0 / (scene.fps * lattice.stable_time_step()) > IMPLICIT_LATTICE_FROM_STEPS,
    }
}

fn bind(
    body: &Body,
    sampled: Sampled,
    spec: &BodySpec,
    points: &Points,
    mls: &MlsModel,
    shells: &ShellModel,
) -> Surface {
    let paint = sampled.surfels.as_ref().and_then(|surfels| painting(surfels, spec, sampled.pose));
    let carrier = sampled.surfels.map(|mut surfels| {
        place(&mut surfels, &sampled.pose);
        let range = body.range.clone();
        let rest = &points.rest_positions[range.clone()];
        if spec.model == ModelKind::Lattice {
            let radii: Vec<f64> = points.spacings[range].iter().map(|s| LATTICE_REACH * s).collect();
            return Carrier::bind_with(surfels, rest, &radii, Falloff::Spline);
        }
        match shells.ranges().any(|(_, shell)| shell == range) {
            false => Carrier::bind(surfels, rest, &mls.support_radii()[range]),
            true => {
                let radii: Vec<f64> = points.spacings[range].iter().map(|s| SHELL_REACH * s).collect();
                Carrier::bind(surfels, rest, &radii).follow_folds(rest, &radii)
            }
        }
    });
    // Triangles on matter that may flow have surfels beside them.
    let flows = carrier.is_some();
    let skin = sampled.skin.map(|mesh| bind_skin(mesh, &sampled.pose, (body, spec), points, mls, flows));
    // Liquids have nothing that could carry surfels.
    let liquid = spec.phase == crate::scene::Phase::Liquid && spec.surface.kind == SurfaceKind::Surfels;
    let mesh = spec.dimensions == 3 && (spec.surface.kind == SurfaceKind::Mesh || liquid);
    let breaks = carrier.as_ref().and_then(|carrier| breaks(carrier, (body, spec), &sampled.surface, points));
    let visible = spec.surface.kind != SurfaceKind::None;
    let manner = Manner {
        detail: matches!(spec.surface.kind, SurfaceKind::Detail | SurfaceKind::Skin),
        inner: spec.surface.inner,
    };
    Surface { carrier, breaks, skin, visible, mesh, molten: spec.surface.molten, manner, paint, vertices: 0 }
}

/// Moves surfels from the body's frame to the world.
fn place(surfels: &mut Surfels, pose: &Pose) {
    for p in &mut surfels.positions {
        *p = pose.point(p.as_dvec3()).as_vec3();
    }
    for axis in surfels.axes_u.iter_mut().chain(&mut surfels.axes_v) {
        *axis = (pose.vector(axis.as_dvec3()) * pose.scale).as_vec3();
    }
    for normal in &mut surfels.normals {
        *normal = pose.vector(normal.as_dvec3()).as_vec3();
    }
}

fn pieces_of(body: &Body, mls: &MlsModel) -> usize {
    let first = body.range.start;
    count_pieces(body.range.len(), |i| mls.stencils().of(first + i).map(move |(j, _)| j - first))
}

/// How far matter may fall: from the highest point of a body to where gravity lets its points meet a collider [m].
pub(crate) fn fall_height(world: &World) -> f64 {
    let down = world.scene.gravity.normalize_or_zero();
    let extent = Bounds::of(world.points.positions.iter().copied()).size();
    let mut most = down.dot(extent).abs();
    for &at in world.points.positions.iter().step_by(1 + world.points.len() / 500) {
        most = most.max(free_path(world, at, down));
    }
    most
}

/// Length of the way along `down` until a collider [m]; 0 when there is none.
fn free_path(world: &World, from: DVec3, down: DVec3) -> f64 {
    let mut way = 0.0;
    for _ in 0..100 {
        let nearest = |c: &Collider| c.distance(from + down * way);
        let gap = world.colliders.list.iter().map(nearest).fold(f64::INFINITY, f64::min);
        if !gap.is_finite() || way > 1e6 {
            return 0.0;
        }
        if gap < 1e-3 * (way + 1e-3) {
            return way;
        }
        way += gap;
    }
    way
}
