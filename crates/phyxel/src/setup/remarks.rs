//! What is odd about a world at its start, in words.

use crate::body::Body;
use crate::contact::{Colliders, Overlap};
use crate::models::lattice::LatticeBody;
use crate::models::mls::MlsModel;
use crate::models::shell::ShellModel;
use crate::points::Points;

pub(super) fn describe_overlap(overlap: &Overlap, bodies: &[Body]) -> String {
    let name = |b: u32| &bodies[b as usize].name;
    format!(
        "bodies '{}' and '{}' overlap at the start by {:.3} m ({} points); they are pushed apart gently",
        name(overlap.body_a),
        name(overlap.body_b),
        overlap.depth,
        overlap.points
    )
}

/// Points without stiffness in some direction, if there are any.
pub(super) fn describe_flat(mls: &MlsModel, shells: &ShellModel, lattices: &[LatticeBody]) -> Option<String> {
    let shell = |i: usize| {
        shells.ranges().any(|(_, range)| range.contains(&i)) || lattices.iter().any(|l| l.range.contains(&i))
    };
    let ranks = mls.stencils().ranks.iter().enumerate().filter(|(i, _)| !shell(*i));
    let (count, flat) = ranks.fold((0, 0), |(n, flat), (_, &rank)| (n + 1, flat + usize::from(rank < 3)));
    (flat > 0).then(|| {
        format!(
            "{flat} of {count} points have too few neighbors or lie in a plane with them: no stiffness across it; \
             a smaller spacing helps"
        )
    })
}

/// Shells whose surface is finer than their nodes.
pub(super) fn describe_rough<'a>(shells: &'a ShellModel, bodies: &'a [Body]) -> impl Iterator<Item = String> + 'a {
    shells.rough().map(|(body, spacing, times)| {
        format!(
            "body '{}': its surface has detail finer than its nodes, {:.2e} m apart, which makes steps {times:.0} times \
             shorter than an even net needs; a smaller spacing or a smoother shape helps",
            bodies[body].name, spacing
        )
    })
}

/// Bodies that start inside a collider.
pub(super) fn describe_buried(colliders: &Colliders, bodies: &[Body], points: &Points) -> Vec<String> {
    let mut found = Vec::new();
    for collider in &colliders.list {
        for body in bodies {
            let depth = |i: usize| -collider.distance(points.positions[i]);
            let inside = body.range.clone().map(depth).filter(|&d| d > 0.0);
            let (count, deepest) = inside.fold((0, 0.0), |(n, most), d| (n + 1, f64::max(most, d)));
            if count > 0 {
                found.push(format!(
                    "body '{}' starts inside collider '{}' ({count} points, up to {deepest:.3} m deep); what is not \
                     pinned is pushed out gently",
                    body.name, collider.name
                ));
            }
        }
    }
    found
}
