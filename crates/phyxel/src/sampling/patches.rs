//! Pieces of a shape's surface for integrals over it.

use super::SurfacePatch;
use super::triangulation::Triangulation;
use crate::geometry::Shape;
use glam::DVec3;

/// Patches about half a spacing apart around a shape of the given volume [m³].
///
/// They are the triangles of a closed surface, so that the sum of area times normal is zero and, with s the position,
/// the sum of area times normal sᵀ is the volume times the unit matrix, both to rounding. The surface is scaled about
/// its middle by the hair that makes its volume the given one. Empty when the shape is too thin to be seen.
pub(super) fn surface_patches(shape: &dyn Shape, spacing: f64, volume: f64) -> Vec<SurfacePatch> {
    let center = shape.bounds().center();
    let mut patches = Vec::new();
    // Thin parts may slip through the first grid; then a finer one is tried.
    for edge in [0.5 * spacing, 0.25 * spacing] {
        patches = merged_triangles(&Triangulation::new(shape, edge));
        let enclosed: f64 = patches.iter().map(|p| p.area * p.normal.dot(p.position - center) / 3.0).sum();
        let scale = (volume / enclosed).cbrt();
        if (scale - 1.0).abs() < 0.01 {
            for p in &mut patches {
                p.position = center + scale * (p.position - center);
                p.area *= scale * scale;
            }
            break;
        }
    }
    patches
}

/// One patch per triangle, or per quadrilateral where its halves lie in one plane.
fn merged_triangles(surface: &Triangulation) -> Vec<SurfacePatch> {
    let mut patches = Vec::with_capacity(surface.triangles.len());
    let tiny = 1e-9 * surface.edge * surface.edge;
    for first in (0..surface.triangles.len()).step_by(2) {
        let half = |t: usize| {
            let [a, b, c] = surface.corners(t);
            let vector = surface.area_vector(t);
            (vector, vector.length(), (a + b + c) / 3.0)
        };
        let ((va, a, pa), (vb, b, pb)) = (half(first), half(first + 1));
        let mut push = |vector: DVec3, area: f64, position: DVec3| {
            if area > tiny {
                patches.push(SurfacePatch { position, normal: vector / area, area });
            }
        };
        if va.dot(vb) >= (1.0 - 1e-12) * a * b && a + b > 0.0 {
            push(va + vb, (va + vb).length(), (a * pa + b * pb) / (a + b));
        } else {
            push(va, a, pa);
            push(vb, b, pb);
        }
    }
    patches
}
