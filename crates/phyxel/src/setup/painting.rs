//! What is painted on a body, as a function of the place at rest.

use crate::geometry::Pose;
use crate::neighbors::Grid;
use crate::scene::BodySpec;
use crate::surface::Surfels;
use crate::world::Painting;
use glam::DVec3;

/// The color at a place at rest, in the world: of the pattern, else that of the surfel there. None where there is one color.
pub(super) fn painting(surfels: &Surfels, spec: &BodySpec, pose: Pose) -> Option<Painting> {
    if surfels.colors.windows(2).all(|c| c[0] == c[1]) {
        return None;
    }
    let places: Vec<DVec3> = surfels.positions.iter().map(|p| p.as_dvec3()).collect();
    let radius = surfels.axes_u.first().map_or(1.0, |u| f64::from(u.length()));
    let (grid, colors) = (Grid::new(&places, 2.0 * radius), surfels.colors.clone());
    let (pattern, plain) = (spec.surface.pattern, spec.color);
    // Ground under a pattern is plain unless a mesh brings colors.
    let plain_ground = pattern.is_some_and(|p| colors.iter().all(|c| *c == plain || *c == p.color));
    Some(Box::new(move |p| {
        let p = pose.point_back(p.as_dvec3());
        match pattern {
            Some(pattern) if pattern.covers(p) => pattern.color,
            Some(_) if plain_ground => plain,
            _ => grid.nearest(p).map_or(plain, |(j, _)| colors[j]),
        }
    }))
}
