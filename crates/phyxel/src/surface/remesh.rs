//! A watertight mesh around surfels.
//!
//! On a grid of cells a little wider than the distance of the surfels, nodes near surfels get the weighted mean of the distances
//! to their planes; what no surfel is near to is outside if it can be reached from the border, else inside. Each cell is cut into
//! six tetrahedra: the surface between inside and outside nodes then is closed and manifold whatever the values are. Vertices are
//! led to the planes of the surfels around and take their colors.

use super::Surfels;
use super::flowing::spacing_of;
use crate::geometry::{Bounds, Mesh};
use crate::neighbors::Grid;
use glam::{DVec3, IVec3, Vec3};
use rayon::prelude::*;

/// Edge of a cell, in distances between surfels.
const CELL: f64 = 1.4;
/// Nodes are near a surfel within this [cells].
const NEAR: f64 = 2.0;
/// Most nodes; more make the cells wider.
const MOST: f64 = 3e7;
/// Steps of a vertex to the planes around it, and the farthest that it goes [cells].
const STEPS: usize = 3;
const FARTHEST: f64 = 0.45;
/// Corners of the tetrahedra of a cell: ways from corner 0 to corner 7 along the axes, in all orders.
const TETRAHEDRA: [[usize; 4]; 6] =
    [[0, 1, 3, 7], [0, 3, 2, 7], [0, 2, 6, 7], [0, 6, 4, 7], [0, 4, 5, 7], [0, 5, 1, 7]];

/// The watertight mesh around surfels that lie `spacing` [m] apart; empty where there are none. Components of fewer than fifty
/// vertices are left out.
pub fn mesh_around(surfels: &Surfels, spacing: f64) -> Mesh {
    let places: Vec<DVec3> = surfels.positions.iter().map(|p| p.as_dvec3()).collect();
    if places.is_empty() || !(spacing > 0.0 && spacing.is_finite()) {
        return Mesh::default();
    }
    let bounds = Bounds::of(places.iter().copied().filter(|p| p.is_finite()));
    let volume = |cell: f64| (bounds.size() / cell + 8.0).element_product();
    let mut cell = CELL * spacing;
    while volume(cell) > MOST {
        cell *= 1.1;
    }
    let grid = Grid::new(&places, NEAR * cell);
    let field = Field::new(&grid, surfels, bounds, cell);
    field.mesh(&Planes { grid: &grid, surfels, width: 0.8 * cell })
}

/// The watertight mesh around surfels, at the distance that they are found to have.
pub fn mesh_of_surfels(surfels: &Surfels) -> Mesh {
    mesh_around(surfels, f64::from(spacing_of(surfels)))
}

/// Velocities at places near surfels [m/s]: those of the nearest ones; empty where surfels have none.
pub fn velocities_near(surfels: &Surfels, places: &[DVec3]) -> Vec<Vec3> {
    if surfels.velocities.len() != surfels.len() || surfels.is_empty() {
        return Vec::new();
    }
    let centers: Vec<DVec3> = surfels.positions.iter().map(|p| p.as_dvec3()).collect();
    let grid = Grid::new(&centers, f64::from(2.0 * spacing_of(surfels)));
    let nearest = |p: &DVec3| grid.nearest(*p).map_or(Vec3::ZERO, |(j, _)| surfels.velocities[j]);
    places.par_iter().with_min_len(256).map(nearest).collect()
}

/// The planes of surfels.
struct Planes<'a> {
    grid: &'a Grid,
    surfels: &'a Surfels,
    /// Distance at which the weight of a plane has fallen to 1/e [m].
    width: f64,
}

impl Planes<'_> {
    /// Weighted mean distance to the planes within `reach` of `p` that face like the nearest, their mean normal and color.
    fn at(&self, p: DVec3, reach: f64) -> Option<(f64, Vec3, Vec3)> {
        let mut nearest = (f64::INFINITY, usize::MAX);
        self.grid.for_each_within(p, reach, |j, r2| {
            if r2 < nearest.0 || (r2 == nearest.0 && j < nearest.1) {
                nearest = (r2, j);
            }
        });
        let first = *self.surfels.normals.get(nearest.1)?;
        let (mut sum, mut distance, mut normal, mut color) = (0.0, 0.0, Vec3::ZERO, Vec3::ZERO);
        let per_width2 = 1.0 / (self.width * self.width);
        self.grid.for_each_within(p, reach, |j, r2| {
            let n = self.surfels.normals[j];
            if n.dot(first) > 0.2 {
                let w = ((nearest.0 - r2) * per_width2).exp();
                sum += w;
                distance += w * n.as_dvec3().dot(p - self.surfels.positions[j].as_dvec3());
                normal += w as f32 * n;
                let c = self.surfels.colors.get(j).copied().unwrap_or([128; 3]);
                color += w as f32 * Vec3::from_array(c.map(f32::from));
            }
        });
        Some((distance / sum, normal.normalize_or(first), color / sum as f32))
    }
}

/// Signed distances on the nodes of a grid.
struct Field {
    origin: DVec3,
    cell: f64,
    /// Nodes along each axis.
    dims: [usize; 3],
    values: Vec<f32>,
}

impl Field {
    fn new(grid: &Grid, surfels: &Surfels, bounds: Bounds, cell: f64) -> Self {
        let origin = bounds.min - 3.5 * cell;
        let dims = (bounds.size() / cell).to_array().map(|n| n.ceil() as usize + 8);
        let mut field = Self { origin, cell, dims, values: vec![f32::NAN; dims[0] * dims[1] * dims[2]] };
        let planes = Planes { grid, surfels, width: 0.8 * cell };
        let row = dims[0];
        let place =
            |k: usize, x: usize| origin + cell * DVec3::new(x as f64, (k % dims[1]) as f64, (k / dims[1]) as f64);
        field.values.par_chunks_mut(row).enumerate().for_each(|(k, values)| {
            for (x, value) in values.iter_mut().enumerate() {
                if let Some((distance, _, _)) = planes.at(place(k, x), NEAR * cell) {
                    // Never on the surface itself: every edge is crossed or not.
                    *value = if distance.abs() < 1e-6 * cell { 1e-6 } else { (distance / cell) as f32 };
                }
            }
        });
        field.flood();
        field
    }

    /// Tells outside from inside where no surfel is near: what the border reaches is outside.
    fn flood(&mut self) {
        let [nx, ny, nz] = self.dims;
        let mut open = vec![0usize];
        self.values[0] = 1.0;
        while let Some(k) = open.pop() {
            let (x, y, z) = (k % nx, k / nx % ny, k / (nx * ny));
            let mut visit = |inside: bool, next: usize| {
                if inside && self.values[next].is_nan() {
                    self.values[next] = 1.0;
                    open.push(next);
                }
            };
            visit(x > 0, k.wrapping_sub(1));
            visit(x + 1 < nx, if x + 1 < nx { k + 1 } else { 0 });
            visit(y > 0, if y > 0 { k - nx } else { 0 });
            visit(y + 1 < ny, if y + 1 < ny { k + nx } else { 0 });
            visit(z > 0, if z > 0 { k - nx * ny } else { 0 });
            visit(z + 1 < nz, if z + 1 < nz { k + nx * ny } else { 0 });
        }
        self.values.iter_mut().filter(|v| v.is_nan()).for_each(|v| *v = -1.0);
    }

    fn mesh(&self, planes: &Planes) -> Mesh {
        let [nx, ny, nz] = self.dims;
        // Vertices by the lower node and the direction of their edge, seven per node.
        let mut numbers = std::collections::HashMap::new();
        let (mut places, mut triangles): (Vec<DVec3>, Vec<[u32; 3]>) = (Vec::new(), Vec::new());
        for z in 0..nz - 1 {
            for y in 0..ny - 1 {
                for x in 0..nx - 1 {
                    let node = |c: usize| ((z + (c >> 2)) * ny + y + (c >> 1 & 1)) * nx + x + (c & 1);
                    let inside = |c: usize| self.values[node(c)] < 0.0;
                    let count = (0..8).filter(|&c| inside(c)).count();
                    if count == 0 || count == 8 {
                        continue;
                    }
                    let corner =
                        |c: usize| IVec3::new((x + (c & 1)) as i32, (y + (c >> 1 & 1)) as i32, (z + (c >> 2)) as i32);
                    let mut vertex = |a: usize, b: usize| {
                        let (a, b) = (a.min(b), a.max(b));
                        *numbers.entry((node(a), b - a)).or_insert_with(|| {
                            let (fa, fb) = (self.values[node(a)], self.values[node(b)]);
                            let t = f64::from(fa / (fa - fb)).clamp(0.02, 0.98);
                            let at = |c: usize| corner(c).as_dvec3();
                            places.push(self.origin + self.cell * (at(a) + t * (at(b) - at(a))));
                            places.len() as u32 - 1
                        })
                    };
                    for tetrahedron in TETRAHEDRA {
                        cut(tetrahedron, &inside, &mut vertex, &mut triangles);
                    }
                }
            }
        }
        let (places, triangles) = drop_crumbs(places, triangles);
        self.finish(places, triangles, planes)
    }

    /// Leads the vertices to the surfels and paints them.
    fn finish(&self, mut places: Vec<DVec3>, triangles: Vec<[u32; 3]>, planes: &Planes) -> Mesh {
        let look = |p: &mut DVec3| {
            let start = *p;
            let mut found = (Vec3::Y, Vec3::splat(128.0));
            for _ in 0..STEPS {
                let Some((distance, normal, color)) = planes.at(*p, NEAR * self.cell) else { break };
                found = (normal, color);
                let next = *p - distance * normal.as_dvec3();
                if next.distance(start) > FARTHEST * self.cell {
                    break;
                }
                *p = next;
            }
            found
        };
        let looks: Vec<(Vec3, Vec3)> = places.par_iter_mut().map(look).collect();
        Mesh {
            positions: places,
            triangles,
            normals: looks.iter().map(|l| l.0.as_dvec3()).collect(),
            colors: Some(looks.iter().map(|l| l.1.to_array().map(|c| c.round() as u8)).collect()),
            ..Mesh::default()
        }
    }
}

/// The surface between the inside and the outside corners of a tetrahedron, seen counter-clockwise from outside.
fn cut(
    corners: [usize; 4],
    inside: &impl Fn(usize) -> bool,
    vertex: &mut impl FnMut(usize, usize) -> u32,
    triangles: &mut Vec<[u32; 3]>,
) {
    let [a, b, c, d] = corners;
    let mut one = |tip: usize, [p, q, r]: [usize; 3], within: bool| {
        let [p, q, r] = [vertex(tip, p), vertex(tip, q), vertex(tip, r)];
        triangles.push(if within { [p, q, r] } else { [p, r, q] });
    };
    // Seen from a corner the others go around counter-clockwise as listed: all tetrahedra have one orientation.
    match [a, b, c, d].map(inside) {
        [i, x, y, z] if i != x && x == y && y == z => one(a, [b, c, d], i),
        [x, i, y, z] if i != x && x == y && y == z => one(b, [a, d, c], i),
        [x, y, i, z] if i != x && x == y && y == z => one(c, [a, b, d], i),
        [x, y, z, i] if i != x && x == y && y == z => one(d, [a, c, b], i),
        [i, j, k, _] if i == j || i == k || j == k => {
            // Two and two: p, q on the side of a.
            let (q, r, s) = if i == j {
                (b, c, d)
            } else if i == k {
                (c, d, b)
            } else {
                (d, b, c)
            };
            if i == j && i == k {
                return;
            }
            let [ar, qr, qs, sa] = [vertex(a, r), vertex(q, r), vertex(q, s), vertex(a, s)];
            match i {
                true => triangles.extend([[ar, qs, qr], [ar, sa, qs]]),
                false => triangles.extend([[ar, qr, qs], [ar, qs, sa]]),
            }
        }
        _ => {}
    }
}

/// Leaves out components of fewer than fifty vertices.
fn drop_crumbs(places: Vec<DVec3>, triangles: Vec<[u32; 3]>) -> (Vec<DVec3>, Vec<[u32; 3]>) {
    let mut groups = crate::groups::Groups::new(places.len());
    for t in &triangles {
        groups.unite(t[0], t[1]);
        groups.unite(t[0], t[2]);
    }
    let mut sizes = vec![0u32; places.len()];
    let heads: Vec<u32> = (0..places.len() as u32).map(|v| groups.lowest(v)).collect();
    heads.iter().for_each(|&h| sizes[h as usize] += 1);
    let stays = |v: u32| sizes[heads[v as usize] as usize] >= 50;
    let mut numbers = vec![u32::MAX; places.len()];
    let mut kept = Vec::with_capacity(places.len());
    for (v, p) in places.iter().enumerate().filter(|(v, _)| stays(*v as u32)) {
        numbers[v] = kept.len() as u32;
        kept.push(*p);
    }
    let whole = triangles.into_iter().filter(|t| stays(t[0]));
    (kept, whole.map(|t| t.map(|v| numbers[v as usize])).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn balls(centers: &[Vec3], count: usize) -> Surfels {
        let mut s = Surfels::default();
        for center in centers {
            for k in 0..count {
                let y = 1.0 - (2.0 * k as f64 + 1.0) / count as f64;
                let (sin, cos) = (2.399_963_229_728_653 * k as f64).sin_cos();
                let n = DVec3::new((1.0 - y * y).sqrt() * cos, y, (1.0 - y * y).sqrt() * sin).as_vec3();
                s.positions.push(*center + n);
                s.normals.push(n);
                s.colors.push([if n.y > 0.0 { 250 } else { 10 }, 0, 0]);
            }
        }
        s
    }

    /// Euler number of a mesh whose edges are all passed once in each direction.
    fn euler(mesh: &Mesh) -> i64 {
        let mut edges: BTreeMap<(u32, u32), [u32; 2]> = BTreeMap::new();
        for t in &mesh.triangles {
            for k in 0..3 {
                let (a, b) = (t[k], t[(k + 1) % 3]);
                edges.entry((a.min(b), a.max(b))).or_default()[usize::from(a < b)] += 1;
            }
        }
        assert!(edges.values().all(|n| *n == [1, 1]), "every edge has two triangles, one on each side");
        mesh.positions.len() as i64 - edges.len() as i64 + mesh.triangles.len() as i64
    }

    #[test]
    fn two_balls_are_two_closed_pieces_of_their_volume_and_color() {
        let spacing = (4.0 * std::f64::consts::PI / 4000.0).sqrt();
        let mesh = mesh_around(&balls(&[Vec3::ZERO, Vec3::X * 2.5], 4000), spacing);
        assert_eq!(euler(&mesh), 4);
        let volume: f64 = mesh
            .triangles
            .iter()
            .map(|t| {
                let [a, b, c] = t.map(|v| mesh.positions[v as usize]);
                a.dot(b.cross(c)) / 6.0
            })
            .sum();
        let wanted = 2.0 * 4.0 / 3.0 * std::f64::consts::PI;
        assert!((volume / wanted - 1.0).abs() < 0.01, "{volume} {wanted}");
        let colors = mesh.colors.as_ref().expect("it is painted");
        for (p, c) in mesh.positions.iter().zip(colors).filter(|(p, _)| p.y.abs() > 0.3) {
            assert!((p.y > 0.0) == (c[0] > 128), "{p} {c:?}");
        }
    }

    #[test]
    fn vertices_move_as_the_surfels_beside_them() {
        let mut ball = balls(&[Vec3::ZERO], 2000);
        assert!(velocities_near(&ball, &[DVec3::X]).is_empty());
        ball.velocities = ball.positions.iter().map(|p| Vec3::Y.cross(*p)).collect();
        let mesh = mesh_of_surfels(&ball);
        let velocities = velocities_near(&ball, &mesh.positions);
        assert_eq!(velocities.len(), mesh.positions.len());
        for (p, v) in mesh.positions.iter().zip(velocities) {
            assert!((v - Vec3::Y.cross(p.as_vec3())).length() < 0.06, "{p} {v}");
        }
    }

    #[test]
    fn nothing_and_odd_input_have_an_answer() {
        assert!(mesh_around(&Surfels::default(), 0.1).triangles.is_empty());
        let one = Surfels { positions: vec![Vec3::ZERO], normals: vec![Vec3::Y], ..Surfels::default() };
        assert!(mesh_around(&one, f64::NAN).triangles.is_empty());
        mesh_around(&one, 0.1);
    }
}
