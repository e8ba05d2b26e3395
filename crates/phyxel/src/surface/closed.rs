//! Whether a surface of surfels can be seen through: a measure for tests and for runs.

use super::Surfels;
use super::flowing::{spacing_of, spiral};
use super::inside::Inside;
use super::views::{Plate, View};
use glam::{DVec3, Vec3};
use rayon::prelude::*;

/// Squared length over which surfels are smeared [of their area].
const SMEARED: f64 = 0.25;
/// How far before what is seen from behind one must be inside [radii].
const BEFORE: f32 = 1.5;

/// What a pixel of a view shows.
#[derive(Clone, Copy)]
struct Pixel {
    /// Depth of what faces the eye, and of what is seen from behind [m], toward the eye.
    front: f32,
    back: f32,
    /// Radius of what is seen from behind [m].
    radius: f32,
}

const EMPTY: Pixel = Pixel { front: f32::NEG_INFINITY, back: f32::NEG_INFINITY, radius: 0.0 };

/// Pixels, of `pixel` [m], of views from `views` sides in which one looks through a hole into the surface: a surfel is seen from behind,
/// no front is right behind it, all that is seen beside it is nearer or seen from behind too, and the place before it is inside by the
/// winding number of all surfels (`inside.rs`). Discs that stand over an edge are seen from behind too, but from outside. Holes at an
/// outline are not counted, and those narrower than a pixel may be missed. Gives for each the place that is
/// seen [m] and the direction to the eye.
pub fn seen_through(surfels: &Surfels, views: usize, pixel: f32) -> Vec<(Vec3, Vec3)> {
    let middle = surfels.positions.iter().sum::<Vec3>() / surfels.len().max(1) as f32;
    let reach = surfels.positions.iter().fold(0f32, |m, p| m.max(p.distance(middle)));
    let size = ((2.0 * reach / pixel) as usize).min(2000) + 12;
    let places: Vec<DVec3> = surfels.positions.iter().map(|p| p.as_dvec3()).collect();
    let inside = Inside::new(&places, &surfels.normals, f64::from(spacing_of(surfels)), SMEARED);
    let own: Vec<Plate> = (0..surfels.len()).map(|i| Plate::of(surfels, i)).collect();
    let view = |k: usize| View { toward: spiral(k, views).as_vec3(), middle, pixel, size };
    (0..views).into_par_iter().flat_map_iter(|k| holes(&view(k), &own, &inside)).collect()
}

fn holes(view: &View, surfels: &[Plate], inside: &Inside) -> Vec<(Vec3, Vec3)> {
    let (size, picture) = (view.size, draw(view, surfels));
    let beside = |k: usize| (0..25).map(move |n| k + (n / 5) * size + n % 5 - 2 * size - 2);
    let hole = |k: usize| {
        let Pixel { front, back, radius } = picture[k];
        let enclosed = |q: usize| picture[q].back > picture[q].front || picture[q].front > back - 2.0 * radius;
        let place = view.place(k, back);
        let before = (place + BEFORE * radius * view.toward).as_dvec3();
        let open = back > front + 2.0 * radius && beside(k).all(enclosed) && inside.at(before) > 0.5;
        open.then_some((place, view.toward))
    };
    (2 * size + 2..size * (size - 2) - 2).filter_map(hole).collect()
}

fn draw(view: &View, surfels: &[Plate]) -> Vec<Pixel> {
    let mut picture = vec![EMPTY; view.size * view.size];
    for surfel in surfels {
        let radius = surfel.axis_u.length().max(surfel.axis_v.length());
        view.draw(surfel, |at, depth| picture[at].front = picture[at].front.max(depth));
        view.draw_back(surfel, |at, depth| {
            if depth > picture[at].back {
                (picture[at].back, picture[at].radius) = (depth, radius);
            }
        });
    }
    picture
}
