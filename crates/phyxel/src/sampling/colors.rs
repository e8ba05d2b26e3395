//! Surfel colors from the vertex colors of a mesh.

use crate::geometry::Mesh;
use crate::neighbors::Grid;
use crate::surface::Surfels;
use glam::{DVec3, Vec3};
use rayon::prelude::*;

/// Vertices whose triangles are looked at for the one nearest to a surfel.
const NEAR_VERTICES: usize = 4;

/// Gives each surfel the color of the mesh at the nearest place of a triangle near it. Nothing happens when the mesh
/// has no colors.
pub fn color_by_mesh(surfels: &mut Surfels, mesh: &Mesh) {
    let Some(colors) = mesh.colors.as_ref().filter(|c| c.len() == mesh.positions.len()) else { return };
    if mesh.triangles.is_empty() {
        return;
    }
    let spacing = (mesh.area() / mesh.positions.len() as f64).sqrt();
    let grid = Grid::new(&mesh.positions, 2.0 * spacing);

    // Triangles of each vertex.
    let mut starts = vec![0u32; mesh.positions.len() + 1];
    mesh.triangles.iter().flatten().for_each(|&v| starts[v as usize + 1] += 1);
    (0..mesh.positions.len()).for_each(|v| starts[v + 1] += starts[v]);
    let mut triangles = vec![0u32; starts[mesh.positions.len()] as usize];
    let mut next = starts.clone();
    for (t, corners) in mesh.triangles.iter().enumerate() {
        for &v in corners {
            triangles[next[v as usize] as usize] = t as u32;
            next[v as usize] += 1;
        }
    }

    surfels.colors.resize(surfels.positions.len(), [255; 3]);
    surfels.colors.par_iter_mut().zip(&surfels.positions).for_each(|(color, p)| {
        let p = p.as_dvec3();
        let mut best = (f64::INFINITY, Vec3::splat(255.0));
        for (v, _) in grid.k_nearest(p, NEAR_VERTICES) {
            for &t in &triangles[starts[v] as usize..starts[v + 1] as usize] {
                let corners = mesh.corners(t as usize);
                let [a, b, c] = barycentric(corners, p);
                let distance = (a * corners[0] + b * corners[1] + c * corners[2] - p).length_squared();
                if distance < best.0 {
                    let [ca, cb, cc] =
                        mesh.triangles[t as usize].map(|v| Vec3::from_array(colors[v as usize].map(f32::from)));
                    best = (distance, a as f32 * ca + b as f32 * cb + c as f32 * cc);
                }
            }
        }
        *color = best.1.to_array().map(|c| c.round() as u8);
    });
}

/// Colors of a mesh at places [m]; empty when it has none.
pub fn paint_of(mesh: &Mesh, places: &[DVec3]) -> Vec<[u8; 3]> {
    let mut surfels = Surfels { positions: places.iter().map(|p| p.as_vec3()).collect(), ..Surfels::default() };
    color_by_mesh(&mut surfels, mesh);
    surfels.colors
}

/// Weights of the corners at the place of the triangle's plane nearest to `p`, moved into the triangle.
pub(crate) fn barycentric([a, b, c]: [DVec3; 3], p: DVec3) -> [f64; 3] {
    let normal = (b - a).cross(c - a);
    let area = normal.length_squared();
    if area <= 0.0 {
        return [1.0, 0.0, 0.0];
    }
    let weight = |q: DVec3, r: DVec3| ((r - q).cross(p - q).dot(normal) / area).max(0.0);
    let weights = [weight(b, c), weight(c, a), weight(a, b)];
    let sum: f64 = weights.iter().sum();
    weights.map(|w| w / sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_surfel_takes_the_color_of_the_mesh_where_it_lies() {
        let mesh = Mesh {
            positions: vec![DVec3::ZERO, DVec3::X, DVec3::Y],
            triangles: vec![[0, 1, 2]],
            colors: Some(vec![[255, 0, 0], [0, 255, 0], [0, 0, 255]]),
            ..Mesh::default()
        };
        let mut surfels = Surfels { positions: vec![Vec3::X * 0.99, Vec3::new(0.33, 0.33, 0.1)], ..Surfels::default() };
        color_by_mesh(&mut surfels, &mesh);
        assert!(surfels.colors[0][1] > 250 && surfels.colors[0][2] < 10);
        assert!(surfels.colors[1].iter().all(|c| (80..90).contains(c)), "{:?}", surfels.colors[1]);
        color_by_mesh(&mut surfels, &Mesh::default());
        assert!(surfels.colors[0][1] > 250);
    }
}
