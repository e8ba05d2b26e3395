//! Skins: the triangles of a shape, bound to the points of its body.

use super::{LATTICE_REACH, SHELL_REACH, becomes};
use crate::body::Body;
use crate::geometry::{Built, Mesh, Pose};
use crate::models::mls::MlsModel;
use crate::points::Points;
use crate::sampling::mesh_of;
use crate::scene::{BodySpec, EventAction, ModelKind, Phase, Scene, SurfaceKind};
use crate::surface::{Falloff, Skin};
use crate::{Diagnostic, Result};
use glam::DVec3;

/// Whether a body melts or flows at any time.
pub(super) fn may_flow(scene: &Scene, spec: &BodySpec) -> bool {
    let melts = |action: &EventAction| matches!(action, EventAction::Melt(name) if *name == spec.name);
    becomes(scene, spec, |m| m.flows() || m.can_melt()) || scene.events.iter().any(|e| melts(&e.action))
}

/// Whether the triangles of a body ride on matter that may flow.
pub(super) fn skin_flows(scene: &Scene, spec: &BodySpec) -> bool {
    let flows = match spec.model {
        ModelKind::Mls => may_flow(scene, spec),
        ModelKind::Embedded => true,
        _ => false,
    };
    flows && spec.surface.kind == SurfaceKind::Skin
}

/// The skin of a lattice; refused where its particles do not stay together.
pub(super) fn lattice_skin(b: usize, scene: &Scene, built: &Built) -> Result<Option<Mesh>> {
    let spec = &scene.bodies[b];
    if spec.surface.kind != SurfaceKind::Skin {
        return Ok(None);
    }
    let (does, expected, follows) = if spec.dimensions == 2 {
        ("lies in the plane", "a body in space", "points")
    } else if spec.phase == Phase::Liquid {
        ("is liquid", "a body that stays solid", "mesh")
    } else if may_flow(scene, spec) {
        ("melts", "a body that stays solid", "mesh")
    } else if becomes(scene, spec, |m| !m.lattice.is_none_or(|l| l.stays_whole())) {
        ("breaks or yields", "a body that stays whole", "mesh")
    } else {
        return Ok(solid_skin(spec, built));
    };
    let what = format!("the body '{}' {does}, which a skin of triangles on a lattice cannot follow", spec.name);
    let fault = Diagnostic::new(what).key(format!("body[{b}].surface.kind"));
    Err(fault.expected(expected).hint(format!("\"{follows}\" shows such matter")).into())
}

/// The skin of a solid in the frame of its shape: the triangles of its file as they are, else some of its surface.
pub(super) fn solid_skin(spec: &BodySpec, built: &Built) -> Option<Mesh> {
    if spec.surface.kind != SurfaceKind::Skin {
        return None;
    }
    let mesh = built.mesh.as_deref().filter(|m| !m.ids.is_empty());
    let mesh = mesh.cloned().unwrap_or_else(|| mesh_of(&*built.shape, spec.surface.count));
    Some(painted(mesh, spec))
}

/// The mesh with the pattern of its body, if there is one.
pub(super) fn painted(mut mesh: Mesh, spec: &BodySpec) -> Mesh {
    if let Some(pattern) = &spec.surface.pattern {
        let color = |p: &DVec3| if pattern.covers(*p) { pattern.color } else { spec.color };
        mesh.colors = Some(mesh.positions.iter().map(color).collect());
    }
    mesh
}

/// Binds a skin to the points of its body.
pub(super) fn bind_skin(
    mesh: Mesh,
    pose: &Pose,
    (body, spec): (&Body, &BodySpec),
    points: &Points,
    mls: &MlsModel,
    flows: bool,
) -> Skin {
    let range = body.range.clone();
    let rest = &points.rest_positions[range.clone()];
    let mut mesh = mesh.transformed(DVec3::ONE, pose);
    if flows {
        // A break is as wide as a point or two: triangles that are larger would all be lost.
        mesh = mesh.split_longer(mean(&points.spacings[range.clone()]));
        know_inside(&mut mesh, spec);
    }
    match spec.model {
        ModelKind::Shell => {
            let radii: Vec<f64> = points.spacings[range].iter().map(|s| SHELL_REACH * s).collect();
            Skin::new(mesh, rest, &radii, spec.surface.count).follow_folds(rest, &radii)
        }
        ModelKind::Lattice => {
            let radii: Vec<f64> = points.spacings[range].iter().map(|s| LATTICE_REACH * s).collect();
            Skin::with_falloff(mesh, rest, &radii, spec.surface.count, Falloff::Spline)
        }
        _ => Skin::new(mesh, rest, &mls.support_radii()[range], spec.surface.count),
    }
}

/// Gives the mesh a material slot and a color for what breaks lay open.
fn know_inside(mesh: &mut Mesh, spec: &BodySpec) {
    mesh.slots.resize(mesh.triangles.len(), 0);
    if mesh.materials.is_empty() {
        mesh.materials.push("surface".into());
    }
    mesh.materials.push("inner".into());
    if spec.surface.inner.is_some() && mesh.colors.is_none() {
        mesh.colors = Some(vec![spec.color; mesh.positions.len()]);
    }
}

fn mean(list: &[f64]) -> f64 {
    list.iter().sum::<f64>() / list.len().max(1) as f64
}
