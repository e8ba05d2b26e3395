//! Ellipses that draw a mesh: pictures are made of them.

use crate::frame::MeshFrame;
use crate::geometry::Mesh;
use crate::surface::Surfels;
use glam::Vec3;
use rayon::prelude::*;

/// How much larger than through the corners of its triangle an ellipse is: weights fade to zero at its rim.
const LARGER: f32 = 1.25;
/// Most pieces along the side of a triangle.
const MOST_PIECES: f64 = 60.0;
/// Ellipses per parallel task.
const CHUNK: usize = 1024;

/// Where an ellipse is: its triangle, and the corners of its piece of it in parts of the sides.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spot {
    triangle: u32,
    corners: [[f32; 2]; 3],
}

/// Spots that cover some triangles with pieces of at most `piece` [m²] at rest.
pub(super) fn spots(mesh: &Mesh, piece: f64) -> Vec<Spot> {
    let mut spots = Vec::new();
    for t in 0..mesh.triangles.len() {
        let [a, b, c] = mesh.corners(t);
        let area = 0.5 * (b - a).cross(c - a).length();
        let parts = (area / piece).sqrt().ceil().clamp(1.0, MOST_PIECES) as usize;
        let at = |i: usize, j: usize| [i as f32 / parts as f32, j as f32 / parts as f32];
        for i in 0..parts {
            for j in 0..parts - i {
                spots.push(Spot { triangle: t as u32, corners: [at(i, j), at(i + 1, j), at(i, j + 1)] });
                if i + j + 1 < parts {
                    spots.push(Spot { triangle: t as u32, corners: [at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)] });
                }
            }
        }
    }
    spots
}

/// Draws the mesh as it is now: one ellipse through the corners of each spot, a little larger.
pub(super) fn draw(mesh: &MeshFrame, spots: &[Spot], color: [u8; 3], out: &mut Surfels) {
    let count = spots.len();
    for list in [&mut out.positions, &mut out.axes_u, &mut out.axes_v, &mut out.normals, &mut out.velocities] {
        list.resize(count, Vec3::ZERO);
    }
    out.colors.resize(count, color);
    let places = out.positions.par_iter_mut().zip(&mut out.axes_u).zip(&mut out.axes_v);
    let looks = out.normals.par_iter_mut().zip(&mut out.velocities).zip(&mut out.colors);
    let all = places.zip(looks).zip(spots).with_min_len(CHUNK);
    all.for_each(|((((place, u), v), ((normal, velocity), shade)), spot)| {
        let corners = mesh.triangles[spot.triangle as usize].map(|v| v as usize);
        let blend = |list: &[Vec3], [s, t]: [f32; 2]| {
            let [a, b, c] = corners.map(|v| list[v]);
            a + s * (b - a) + t * (c - a)
        };
        let middle = [0, 1].map(|k| spot.corners.iter().map(|c| c[k]).sum::<f32>() / 3.0);
        let [_, q, r] = spot.corners.map(|c| blend(&mesh.positions, c));
        *place = blend(&mesh.positions, middle);
        // Conjugate half-axes of the least ellipse through three corners.
        *u = LARGER * (blend(&mesh.positions, spot.corners[0]) - *place);
        *v = LARGER * (r - q) / 3f32.sqrt();
        let flat = u.cross(*v).normalize_or_zero();
        *normal = blend(&mesh.normals, middle).try_normalize().unwrap_or(flat);
        *velocity = blend(&mesh.velocities, middle);
        if !mesh.colors.is_empty() {
            let [a, b, c] = corners.map(|v| Vec3::from_array(mesh.colors[v].map(f32::from)));
            let mixed = a + middle[0] * (b - a) + middle[1] * (c - a);
            *shade = mixed.to_array().map(|x| x.round() as u8);
        }
    });
}
