//! Lattices: one spacing for all of a scene, and particles in the sites inside each shape.

use super::skin::{lattice_skin, may_flow};
use super::{Sampled, becomes, colored_surfels, find_regions, painted_surfels};
use crate::body::Body;
use crate::contact::{Bodies, ContactSurface, GrainKind};
use crate::geometry::{Built, Files, Placed, Pose, ShapeLibrary, build};
use crate::models::lattice::{LatticeBody, Sites, measure, sample};
use crate::neighbors::cell_order;
use crate::points::Points;
use crate::sampling::paint_of;
use crate::scene::{BodySpec, EventAction, EventSpec, LatticeSpec, MaterialSpec, ModelKind, Phase, Scene, SurfaceKind};
use crate::surface::{Breaks, Carrier};
use crate::{Diagnostic, Result};
use glam::DVec3;
use std::sync::Arc;

/// Particles are sorted into cells of this many spacings.
const CELL_SPACINGS: f64 = 2.0;

/// The lattice that all lattice bodies of a scene share; None when there are none. The spacing is what a body says, or that which
/// gives the wanted number of particles in all.
pub(super) fn shared_sites(scene: &Scene, shapes: &ShapeLibrary, files: &Files) -> Result<Option<Sites>> {
    let lattices = || scene.bodies.iter().enumerate().filter(|(_, b)| b.model == ModelKind::Lattice);
    let Some((_, first)) = lattices().next() else { return Ok(None) };
    let dimensions = usize::from(first.dimensions);
    if let Some(spacing) = lattices().find_map(|(_, b)| b.spacing) {
        return Ok(Some(Sites::new(dimensions, spacing)));
    }
    let (mut wanted, mut volume) = (0.0, 0.0);
    for (b, spec) in lattices() {
        let built = build(&spec.shape, shapes, files).map_err(|e| e.under_key(&format!("body[{b}]")))?;
        wanted += spec.points.unwrap_or(2000) as f64;
        volume += measure(&*built.shape, dimensions) * spec.scale.powi(dimensions as i32);
    }
    let unit = Sites::new(dimensions, 1.0).cell_volume;
    let spacing = (volume / (wanted * unit)).powf(1.0 / dimensions as f64);
    let usable = spacing > 0.0 && spacing.is_finite();
    Ok(Some(Sites::new(dimensions, if usable { spacing } else { 1.0 })))
}

/// Lattices meet each other particle by particle. Other bodies feel the skins of those that stay whole, and the particles of all
/// others.
pub(super) fn add_lattice_contact(scene: &Scene, lattices: &[LatticeBody], contacts: &mut Bodies) {
    let others = scene.bodies.iter().any(|b| b.model != ModelKind::Lattice);
    let melts = |b: usize| {
        let named = |e: &EventSpec| matches!(&e.action, EventAction::Melt(name) if *name == scene.bodies[b].name);
        scene.events.iter().any(named)
    };
    for lattice in lattices {
        let material = &lattice.material;
        let whole = material.lattice.is_some_and(|l| l.stays_whole());
        let solid = !lattice.liquid && !material.can_melt() && !melts(lattice.body);
        match others && whole && solid {
            true => contacts.add_lattice(lattice.body),
            false => contacts.exclude(lattice.body),
        }
        if others {
            contacts.add_grains(lattice.body, GrainKind::Lattice, lattice.range.clone());
        }
    }
}

/// Fills the shape of a body with particles and appends them, in cell order, in world space.
pub(super) fn add_lattice(
    b: usize,
    scene: &Scene,
    built: &Built,
    sites: &Sites,
    points: &mut Points,
) -> Result<(Body, Sampled, LatticeBody)> {
    let spec = &scene.bodies[b];
    let pose = Pose { scale: spec.scale, ..Pose::from_degrees(spec.at, spec.rotate) };
    let local = Sites::new(sites.dimensions, sites.spacing / spec.scale);
    let found = sample(&*built.shape, &local).map_err(|e| e.under_key(&format!("body[{b}] '{}'", spec.name)))?;
    let order = cell_order(&found, CELL_SPACINGS * local.spacing);
    let first = points.len();
    for &k in &order {
        let (at, mass) = (pose.point(found[k as usize]), spec.material.density * sites.cell_volume);
        let index = points.push(b as u32, at, mass, sites.cell_volume, sites.spacing);
        points.ids[index] = first as u32 + k;
    }
    let range = first..points.len();
    let places: Vec<DVec3> = order.iter().map(|&k| found[k as usize]).collect();
    let paint = || built.mesh.as_deref().map_or(Vec::new(), |mesh| paint_of(mesh, &places));
    let regions = find_regions(b, scene, range.clone(), points, &paint)?;
    check_detail(b, scene)?;
    let seed = scene.seed.wrapping_add(b as u64);
    let surfels = match spec.surface.kind {
        _ if sites.dimensions == 2 || spec.phase == Phase::Liquid => None,
        SurfaceKind::Surfels => Some(colored_surfels(built, spec.surface.count, spec.color, seed)),
        SurfaceKind::Detail => Some(painted_surfels(built, spec, seed)),
        _ => None,
    };
    let surface = ContactSurface::Solid(Arc::new(Placed::new(built.shape.clone(), pose)));
    let body = Body {
        name: spec.name.clone(),
        range: range.clone(),
        slots: range.clone(),
        sampled: range.len(),
        material: spec.material.clone(),
        melted: None,
        color: spec.color,
        regions,
    };
    let lattice = LatticeBody {
        body: b,
        range,
        material: spec.material.clone(),
        rotation: pose.rotation,
        liquid: spec.phase == Phase::Liquid,
    };
    Ok((body, Sampled { patches: Vec::new(), surfels, skin: lattice_skin(b, scene, built)?, pose, surface }, lattice))
}

/// Refuses a detail surface where nothing could carry it.
fn check_detail(b: usize, scene: &Scene) -> Result<()> {
    let spec = &scene.bodies[b];
    let breaks = |m: &MaterialSpec| m.lattice.is_some_and(|l| l.break_strain.is_some());
    let (does, follows) = if spec.dimensions == 2 {
        ("lies in the plane", "points")
    } else if spec.phase == Phase::Liquid {
        ("is liquid from the start", "mesh")
    } else if becomes(scene, spec, |m| m.lattice.is_some_and(|l| l.yield_bound < LatticeSpec::PLASTIC)) {
        ("yields", "mesh")
    } else if may_flow(scene, spec) && becomes(scene, spec, breaks) {
        ("melts and breaks", "mesh")
    } else {
        return Ok(());
    };
    if spec.surface.kind != SurfaceKind::Detail {
        return Ok(());
    }
    let what = format!("the body '{}' {does}, which a detail surface of a lattice cannot follow", spec.name);
    let fault = Diagnostic::new(what).key(format!("body[{b}].surface.kind"));
    Err(fault.expected("a solid in space").hint(format!("\"{follows}\" shows such matter")).into())
}

/// What opens the surfels of a lattice where it breaks; None: they stay whole.
pub(super) fn breaks(
    carrier: &Carrier,
    (body, spec): (&Body, &BodySpec),
    surface: &ContactSurface,
    points: &Points,
) -> Option<Box<Breaks>> {
    let ContactSurface::Solid(shape) = surface else { return None };
    if spec.model != ModelKind::Lattice || spec.surface.kind != SurfaceKind::Detail {
        return None;
    }
    let rest = &points.rest_positions[body.range.clone()];
    let spacing = points.spacings[body.range.start];
    Some(Box::new(Breaks::new(carrier, shape.clone(), rest, spacing, spec.surface.inner)))
}
