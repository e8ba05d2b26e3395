//! Whether a surface of surfels can be seen through: a measure for tests and for runs.

use super::Surfels;
use super::flowing::{spacing_of, spiral};
use super::inside::Inside;
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
    let view = |k: usize| View { toward: spiral(k, views).as_vec3(), middle, pixel, size };
    (0..views).into_par_iter().flat_map_iter(|k| view(k).holes(surfels, &inside)).collect()
}

/// A view without perspective.
struct View {
    /// To the eye.
    toward: Vec3,
    middle: Vec3,
    pixel: f32,
    /// Pixels in a row.
    size: usize,
}

impl View {
    fn holes(&self, surfels: &Surfels, inside: &Inside) -> Vec<(Vec3, Vec3)> {
        let (size, picture) = (self.size, self.draw(surfels));
        let (x, y) = self.toward.any_orthonormal_pair();
        let along = |n: usize| (n as f32 + 0.5 - 0.5 * size as f32) * self.pixel;
        let beside = |k: usize| (0..25).map(move |n| k + (n / 5) * size + n % 5 - 2 * size - 2);
        let hole = |k: usize| {
            let Pixel { front, back, radius } = picture[k];
            let enclosed = |q: usize| picture[q].back > picture[q].front || picture[q].front > back - 2.0 * radius;
            let place = self.middle + along(k % size) * x + along(k / size) * y + back * self.toward;
            let before = (place + BEFORE * radius * self.toward).as_dvec3();
            let open = back > front + 2.0 * radius && beside(k).all(enclosed) && inside.at(before) > 0.5;
            open.then_some((place, self.toward))
        };
        (2 * size + 2..size * (size - 2) - 2).filter_map(hole).collect()
    }

    fn draw(&self, surfels: &Surfels) -> Vec<Pixel> {
        let size = self.size;
        let (x, y) = self.toward.any_orthonormal_pair();
        let mut picture = vec![EMPTY; size * size];
        for k in 0..surfels.len() {
            let (p, normal) = (surfels.positions[k] - self.middle, surfels.normals[k]);
            let (u, v) = (surfels.axes_u[k], surfels.axes_v[k]);
            let facing = normal.dot(self.toward);
            // What is seen exactly from the side covers nothing.
            if facing.abs() < 1e-3 {
                continue;
            }
            let place = |axis: Vec3| p.dot(axis) / self.pixel + 0.5 * size as f32;
            let (px, py, radius) = (place(x), place(y), u.length().max(v.length()));
            let span = |c: f32| {
                let reach = radius / self.pixel + 1.0;
                (c - reach).max(0.0) as usize..((c + reach) as usize + 1).min(size)
            };
            for (row, column) in span(py).flat_map(|row| span(px).map(move |column| (row, column))) {
                let flat = ((column as f32 + 0.5 - px) * x + (row as f32 + 0.5 - py) * y) * self.pixel;
                let depth = -flat.dot(normal) / facing;
                let d = flat + depth * self.toward;
                let (a, b) = (d.dot(u) / u.length_squared(), d.dot(v) / v.length_squared());
                let (depth, pixel) = (depth + p.dot(self.toward), &mut picture[row * size + column]);
                if a * a + b * b < 1.0 && facing > 0.0 {
                    pixel.front = pixel.front.max(depth);
                } else if a * a + b * b < 1.0 && facing < -0.2 && depth > pixel.back {
                    (pixel.back, pixel.radius) = (depth, radius);
                }
            }
        }
        picture
    }
}
