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

/// The skin of a solid in the frame of its shape: the triangles of its file as they are, else some of its surface.
pub(super) fn solid_skin(b: usize, scene: &Scene, built: &Built) -> Result<Option<Mesh>> {
    let spec = &scene.bodies[b];
    if spec.surface.kind != SurfaceKind::Skin {
        return Ok(None);
    }
    let melts = |action: &EventAction| matches!(action, EventAction::Melt(name) if *name == spec.name);
    let fault = |does: &str, follows: &str| {
        let what = format!("the body '{}' {does}, which a skin of triangles cannot follow", spec.name);
        let fault = Diagnostic::new(what).key(format!("body[{b}].surface.kind"));
        Err(fault.expected("a body that stays solid").hint(format!("\"{follows}\" follows such matter")).into())
    };
    let lattice = spec.model == ModelKind::Lattice;
    let follows = if lattice { "mesh" } else { "detail" };
    if lattice && spec.phase == Phase::Liquid {
        return fault("is liquid", follows);
    }
    if becomes(scene, spec, |m| m.flows() || m.can_melt()) || scene.events.iter().any(|e| melts(&e.action)) {
        return fault("melts", follows);
    }
    if lattice && becomes(scene, spec, |m| !m.lattice.is_none_or(|l| l.stays_whole())) {
        return fault("breaks or yields", follows);
    }
    if spec.dimensions == 2 {
        return fault("lies in the plane", "points");
    }
    let mesh = built.mesh.as_deref().filter(|m| !m.ids.is_empty());
    let mesh = mesh.cloned().unwrap_or_else(|| mesh_of(&*built.shape, spec.surface.count));
    Ok(Some(painted(mesh, spec)))
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
) -> Skin {
    let range = body.range.clone();
    let rest = &points.rest_positions[range.clone()];
    let mesh = mesh.transformed(DVec3::ONE, pose);
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
