//! Shells: from their surfaces to nodes, with all that depends on place.

use super::skin::painted;
use super::{Sampled, find_regions};
use crate::body::{Body, Region};
use crate::contact::ContactSurface;
use crate::geometry::{Files, OpenSurface, Pose, ShapeLibrary, build, build_open};
use crate::models::shell::fabric::{Fabric, Grain, NodeFactors};
use crate::models::shell::law::ShellLaw;
use crate::models::shell::stiffening::Stiffening;
use crate::models::shell::{ShellBody, ShellMaterial, ShellModel};
use crate::points::Points;
use crate::sampling::{ShellNodes, ShellSource, ShellSurface, fiber_surfels, paint_of};
use crate::scene::{BodySpec, Sampling, Scene, ShellEnergy, SurfaceKind};
use crate::{Diagnostic, Error, Result};
use std::ops::Range;

/// Samples the surface of a shell and appends its nodes.
pub(super) fn add_shell(
    b: usize,
    scene: &Scene,
    (shapes, files): (&ShapeLibrary, &Files),
    points: &mut Points,
    warnings: &mut Vec<String>,
) -> Result<(Body, Sampled, ShellBody)> {
    let spec = &scene.bodies[b];
    let pose = Pose { scale: spec.scale, ..Pose::from_degrees(spec.at, spec.rotate) };
    let seed = scene.seed.wrapping_add(b as u64);
    let under = |e: Error| e.under_key(&format!("body[{b}] '{}'", spec.name));
    let open = build_open(&spec.shape, shapes, files).map_err(under)?;
    let solid = match open {
        None => Some(build(&spec.shape, shapes, files).map_err(under)?),
        Some(_) => None,
    };
    let source = match (&open, &solid) {
        (Some(open), _) => ShellSource::Open(open),
        (None, Some(solid)) => ShellSource::Solid(&*solid.shape),
        (None, None) => return Err(under(Diagnostic::new("the shape has no surface").key("shape").into())),
    };
    let mut surface = ShellSurface::new(source, &spec.cuts).map_err(under)?;
    let rows = spec.sampling == Sampling::Regular;
    let spacing = spec.spacing.map(|s| s / spec.scale);
    let sampled = surface.nodes(spacing, spec.points.unwrap_or(2000), rows, seed).map_err(under)?;
    let ShellNodes { mut nodes, spacing } = sampled;
    let surfels = match spec.surface.kind {
        SurfaceKind::Surfels => Some(surface.surfels(spec.surface.count, spec.color, seed)),
        SurfaceKind::Fibers => Some(fiber_surfels(&nodes, spacing, spec.surface.count, spec.color)),
        _ => None,
    };
    let skin = (spec.surface.kind == SurfaceKind::Skin).then(|| painted(surface.mesh(spec.surface.count), spec));
    let told = solid.iter().flat_map(|s| &s.warnings).chain(surface.warnings());
    warnings.extend(told.map(|w| format!("body '{}': {w}", spec.name)));
    let places = nodes.positions.clone();
    nodes.positions.iter_mut().for_each(|p| *p = pose.point(*p));
    nodes.normals.iter_mut().for_each(|n| *n = pose.vector(*n));
    nodes.areas.iter_mut().for_each(|a| *a *= spec.scale * spec.scale);
    let material = &spec.material;
    let shell = material.shell.unwrap_or_default();
    let first = points.len();
    for (p, a) in nodes.positions.iter().zip(&nodes.areas) {
        let volume = a * shell.thickness;
        points.push(b as u32, *p, material.density * volume, volume, spacing * spec.scale);
    }
    let range = first..points.len();
    let paint = || match &open {
        Some(OpenSurface::Mesh(mesh)) => paint_of(mesh, &places),
        _ => Vec::new(),
    };
    let regions = find_regions(b, scene, range.clone(), points, &paint)?;
    let factors = patch_factors(spec, &regions, range.clone());
    for (i, factor) in range.clone().zip(&factors) {
        points.masses[i] *= factor.thickness;
        points.volumes[i] *= factor.thickness;
    }
    let made_of = ShellMaterial::from_spec(material);
    let grain = material.anisotropy.clone().map(|anisotropy| Grain { anisotropy, rotation: pose.rotation });
    let constants = [made_of.sheet.young, made_of.sheet.poisson];
    let fabric = match grain.is_some() || !spec.patches.is_empty() {
        true => Fabric::new(&nodes.normals, grain.as_ref(), constants, factors).map_err(under)?,
        false => Fabric::default(),
    };
    let law = match shell.law {
        ShellEnergy::Tensor => ShellLaw::Tensor,
        ShellEnergy::Weights => ShellLaw::Weights,
        ShellEnergy::Published => ShellLaw::Published(None),
    };
    let mut strengths = vec![1.0; range.len()];
    for weak in &spec.weak {
        let held = regions.iter().filter(|r| r.name == weak.region).flat_map(|r| &r.points);
        held.for_each(|&i| strengths[i as usize - first] = weak.strength);
    }
    let shell = ShellBody {
        fracture: made_of.fracture,
        strengths,
        body: b,
        range: range.clone(),
        nodes,
        law,
        sheet: made_of.sheet,
        density: material.density,
        smoothing: material.smoothing,
        flow: made_of.flow,
        friction: made_of.friction,
        fabric,
        stiffening: Stiffening { rise: shell.stiffening, strain: shell.stiffening_strain },
    };
    let half = 0.5 * made_of.sheet.thickness;
    let contact = ContactSurface::Sheet(shell.nodes.normals.clone(), half);
    let sampled = Sampled { patches: Vec::new(), surfels, skin, pose, surface: contact };
    let body = Body {
        name: spec.name.clone(),
        slots: range.clone(),
        sampled: range.len(),
        range,
        material: material.clone(),
        melted: None,
        color: spec.color,
        regions,
    };
    Ok((body, sampled, shell))
}

/// Stiffness and thickness at the points of a shell in those of its material.
fn patch_factors(spec: &BodySpec, regions: &[Region], range: Range<usize>) -> Vec<NodeFactors> {
    let mut factors = vec![NodeFactors::ONE; range.len()];
    for patch in &spec.patches {
        let held = regions.iter().filter(|r| r.name == patch.region).flat_map(|r| &r.points);
        for &i in held {
            let factor = &mut factors[i as usize - range.start];
            factor.stiffness *= patch.stiffness;
            factor.thickness *= patch.thickness;
        }
    }
    factors
}

/// A shell of too few nodes would fall to dust.
pub(super) fn check_held(shells: &ShellModel, bodies: &[Body]) -> Result<()> {
    for (b, range) in shells.ranges() {
        let loose = shells.shell(b).map_or(0, |s| s.network().loose());
        if loose > 0 {
            let what =
                format!("{loose} of {} nodes of the shell '{}' are held by no fiber", range.len(), bodies[b].name);
            let fault = Diagnostic::new(what).key(format!("body[{b}].spacing"));
            return Err(fault.expected("several nodes across every piece of it").hint("a smaller spacing").into());
        }
    }
    Ok(())
}

/// Young's modulus of a body in contact [Pa]; of a shell one that its light nodes can bear.
pub(crate) fn contact_young(b: usize, body: &Body, shells: &ShellModel, points: &Points) -> f64 {
    let spacing = points.spacings[body.range.clone()].first().copied().unwrap_or(1.0);
    shells.contact_stiffness(b, points).map_or(body.material.young, |stiffness| stiffness / spacing)
}
