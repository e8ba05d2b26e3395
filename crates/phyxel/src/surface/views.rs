//! Views of flat ellipses without perspective: what of a surface is seen from a side, and what of it from behind.

use super::Surfels;
use glam::Vec3;

/// What is seen at a smaller cosine to the eye covers nothing.
const EDGE: f32 = 1e-3;
/// Ellipses are seen from behind if the cosine to the eye is below minus this: those that are nearly seen from the side may belong to an edge.
const SLANT: f32 = 0.2;

/// A flat ellipse.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plate {
    /// Center, half-axes [m] and unit normal.
    pub position: Vec3,
    pub axis_u: Vec3,
    pub axis_v: Vec3,
    pub normal: Vec3,
}

impl Plate {
    /// That of a surfel.
    pub fn of(surfels: &Surfels, i: usize) -> Self {
        Self {
            position: surfels.positions[i],
            axis_u: surfels.axes_u[i],
            axis_v: surfels.axes_v[i],
            normal: surfels.normals[i],
        }
    }
}

/// A view.
pub(super) struct View {
    /// Unit direction to the eye.
    pub toward: Vec3,
    /// What is in the middle of the picture [m].
    pub middle: Vec3,
    /// Width of a pixel [m].
    pub pixel: f32,
    /// Pixels in a row.
    pub size: usize,
}

impl View {
    /// Calls `visit` with the number of each pixel that an ellipse covers if it faces the eye, and its depth there toward the eye [m].
    pub fn draw(&self, plate: &Plate, visit: impl FnMut(usize, f32)) {
        if plate.normal.dot(self.toward) > EDGE {
            self.cover(plate, visit);
        }
    }

    /// The same if it is seen from behind.
    pub fn draw_back(&self, plate: &Plate, visit: impl FnMut(usize, f32)) {
        if plate.normal.dot(self.toward) < -SLANT {
            self.cover(plate, visit);
        }
    }

    /// The place at the middle of a pixel [m], at a depth.
    pub fn place(&self, pixel: usize, depth: f32) -> Vec3 {
        let (x, y) = self.toward.any_orthonormal_pair();
        let along = |n: usize| (n as f32 + 0.5 - 0.5 * self.size as f32) * self.pixel;
        self.middle + along(pixel % self.size) * x + along(pixel / self.size) * y + depth * self.toward
    }

    fn cover(&self, plate: &Plate, mut visit: impl FnMut(usize, f32)) {
        let Plate { position, axis_u: u, axis_v: v, normal } = *plate;
        let (per_u, per_v) = (u / u.length_squared(), v / v.length_squared());
        // Half-axes of the same ellipse that belong together also where the given ones are not at right angles.
        let (across_u, across_v) = (per_v.cross(normal), normal.cross(per_u));
        let (half_u, half_v) = (across_u / per_u.dot(across_u), across_v / per_v.dot(across_v));
        if !(position.is_finite() && half_u.is_finite() && half_v.is_finite()) {
            return;
        }
        let (size, facing, p) = (self.size, normal.dot(self.toward), position - self.middle);
        let (x, y) = self.toward.any_orthonormal_pair();
        let place = |axis: Vec3| p.dot(axis) / self.pixel + 0.5 * size as f32;
        // Pixels whose middle may be covered.
        let span = |axis: Vec3| {
            let (middle, reach) = (place(axis), half_u.dot(axis).hypot(half_v.dot(axis)) / self.pixel);
            (middle - reach + 0.5).max(0.0) as usize..((middle + reach + 0.5).max(0.0) as usize).min(size)
        };
        let (px, py, columns) = (place(x), place(y), span(x));
        for row in span(y) {
            for column in columns.clone() {
                let flat = ((column as f32 + 0.5 - px) * x + (row as f32 + 0.5 - py) * y) * self.pixel;
                let depth = -flat.dot(normal) / facing;
                let d = flat + depth * self.toward;
                if d.dot(per_u).powi(2) + d.dot(per_v).powi(2) < 1.0 {
                    visit(row * size + column, depth + p.dot(self.toward));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ellipse_covers_every_pixel_whose_middle_is_in_it() {
        let toward = Vec3::new(0.3, 0.5, 0.8).normalize();
        let view = View { toward, middle: Vec3::ONE, pixel: 0.1, size: 80 };
        let normal = Vec3::new(-0.2, 0.9, 0.4).normalize();
        let (x, y) = normal.any_orthonormal_pair();
        // Axes at right angles, at 50 degrees, and nearly along one another.
        for axis_v in [0.7 * y, 0.4 * x + 0.5 * y, 1.2 * x + 0.3 * y] {
            for normal in [normal, -normal] {
                let plate = Plate { position: Vec3::new(1.1, 0.8, 1.3), axis_u: 1.5 * x, axis_v, normal };
                let mut drawn = vec![None; 80 * 80];
                view.draw(&plate, |at, depth| drawn[at] = Some(depth));
                view.draw_back(&plate, |at, depth| drawn[at] = Some(depth));
                let mut covered = 0;
                for (at, drawn) in drawn.into_iter().enumerate() {
                    let way = view.place(at, 0.0) - plate.position;
                    let depth = -way.dot(normal) / normal.dot(toward);
                    let d = way + depth * toward;
                    let (a, b) = (d.dot(plate.axis_u) / 2.25, d.dot(axis_v) / axis_v.length_squared());
                    let inside = a * a + b * b < 1.0;
                    covered += usize::from(inside);
                    assert!((a.hypot(b) - 1.0).abs() < 1e-4 || inside == drawn.is_some(), "{at}: {a} {b}");
                    assert!(drawn.is_none_or(|seen| (seen - depth).abs() < 1e-4), "{at}");
                }
                assert!(covered > 20, "{covered}");
            }
        }
    }
}
