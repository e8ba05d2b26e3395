//! Molds: prepared for the points whose surface takes their print.

use crate::body::Body;
use crate::contact::Colliders;
use crate::points::Points;
use crate::scene::{Scene, SurfaceKind};

/// Spacings that differ by less than this factor are one.
const ALIKE: f64 = 1.1;

/// Lets molds tell how open they are to the points of bodies with detail surfaces.
pub(super) fn measure_molds(scene: &Scene, colliders: &mut Colliders, bodies: &[Body], points: &Points) {
    let mut spacings: Vec<f64> = Vec::new();
    let detailed = |kind: &SurfaceKind| matches!(kind, SurfaceKind::Detail | SurfaceKind::Skin);
    for (body, _) in bodies.iter().zip(&scene.bodies).filter(|(_, spec)| detailed(&spec.surface.kind)) {
        let own = &points.spacings[body.range.clone()];
        let mean = own.iter().sum::<f64>() / own.len().max(1) as f64;
        let known = spacings.iter().any(|s| (mean / s).max(s / mean) < ALIKE);
        if mean > 0.0 && mean.is_finite() && !known {
            spacings.push(mean);
        }
    }
    for (collider, _) in colliders.list.iter_mut().zip(&scene.colliders).filter(|(_, spec)| spec.mold) {
        spacings.iter().for_each(|spacing| collider.measure_openness(*spacing));
    }
}
