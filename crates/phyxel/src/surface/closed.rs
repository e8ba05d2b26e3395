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
    let places: Vec<DVec3> = surfels.positions.iter().map(|p| p.as_dvec3()).collect();
    let inside = Inside::new(&places, &surfels.normals, f64::from(spacing_of(surfels)), SMEARED);
    let own: Vec<Plate> = (0..surfels.len()).map(|i| Plate::of(surfels, i)).collect();
    around(surfels, views, pixel).par_iter().flat_map_iter(|view| holes(view, &own, &inside)).collect()
}

/// Which surfels one sees, whole or in part, in views from `views` sides with pixels of `pixel` [m]. What is no farther than `depth` [m] behind
/// that which hides it counts as seen.
pub fn seen(surfels: &Surfels, views: usize, pixel: f32, depth: f32) -> Vec<bool> {
    let plates: Vec<Plate> = (0..surfels.len()).map(|i| Plate::of(surfels, i)).collect();
    let from = |view: &View| {
        let mut front = vec![f32::NEG_INFINITY; view.size * view.size];
        plates.iter().for_each(|p| view.draw(p, |at, d| front[at] = front[at].max(d)));
        let mut seen = vec![false; plates.len()];
        for (plate, seen) in plates.iter().zip(&mut seen) {
            view.draw(plate, |at, d| *seen |= d >= front[at] - depth);
        }
        seen
    };
    let both = |mut a: Vec<bool>, b: Vec<bool>| {
        a.iter_mut().zip(b).for_each(|(a, b)| *a |= b);
        a
    };
    around(surfels, views, pixel).par_iter().map(from).reduce(|| vec![false; plates.len()], both)
}

/// Views of all surfels from evenly spread sides.
fn around(surfels: &Surfels, views: usize, pixel: f32) -> Vec<View> {
    let middle = surfels.positions.iter().sum::<Vec3>() / surfels.len().max(1) as f32;
    let reach = surfels.positions.iter().fold(0f32, |m, p| m.max(p.distance(middle)));
    let size = ((2.0 * reach / pixel) as usize).min(2000) + 12;
    (0..views).map(|k| View { toward: spiral(k, views).as_vec3(), middle, pixel, size }).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds even surfels on a ball around `center` [m], facing outward.
    fn ball(surfels: &mut Surfels, center: Vec3, radius: f32, count: usize) {
        let half_axis = 1.2 * radius * (4.0 * std::f32::consts::PI / count as f32).sqrt();
        for k in 0..count {
            let normal = spiral(k, count).as_vec3();
            let (u, v) = normal.any_orthonormal_pair();
            surfels.positions.push(center + radius * normal);
            surfels.axes_u.push(half_axis * u);
            surfels.axes_v.push(half_axis * v);
            surfels.normals.push(normal);
        }
    }

    #[test]
    fn one_sees_all_that_is_outermost_and_nothing_behind_it() {
        let mut surfels = Surfels::default();
        ball(&mut surfels, Vec3::ZERO, 1.0, 2000);
        ball(&mut surfels, Vec3::ZERO, 0.6, 1000);
        ball(&mut surfels, Vec3::new(0.0, 3.0, 0.0), 0.5, 500);
        let shown = seen(&surfels, 20, 0.02, 0.02);
        let count = |from: usize, to: usize| shown[from..to].iter().filter(|s| **s).count();
        assert_eq!((count(0, 2000), count(2000, 3000), count(3000, 3500)), (2000, 0, 500));
        // Deep enough, what lies behind is taken for seen too.
        let deep = seen(&surfels, 20, 0.02, 0.5);
        assert_eq!(deep.iter().filter(|s| **s).count(), 3500);
    }
}
