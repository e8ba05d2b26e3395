//! A watertight mesh around surfels.
//!
//! On a grid of cells a little wider than the distance of the surfels the winding number of the surfels (`inside.rs`) tells inside from
//! outside, whatever gaps they leave and whatever lies astray. Each cell is cut into six tetrahedra: the surface between inside and
//! outside nodes then is closed and manifold whatever the values are. Small shells, of flakes outside and of bubbles inside, are
//! left out, and small handles are cut (`handles.rs`). Vertices are led to the planes of the surfels around, without those astray, and take their colors.

use super::flowing::spacing_of;
use super::inside::Inside;
use super::{Surfels, handles};
use crate::geometry::{Bounds, Mesh};
use crate::neighbors::Grid;
use glam::{DVec3, IVec3, Vec3};
use rayon::prelude::*;

/// Edge of a cell, in distances between surfels.
pub(super) const CELL: f64 = 1.4;
/// Surfels are smeared over this length for their winding number, in distances between them.
const SMEARED: f64 = 0.5;
/// Nodes are near a surfel within this [cells].
const NEAR: usize = 2;
/// Far from surfels one node of this many along each axis is asked.
const COARSE: usize = 4;
/// Winding numbers nearer to 1/2 than this are not taken for those around.
const SURE: f32 = 0.25;
/// Most nodes; more make the cells wider.
const MOST: f64 = 3e7;
/// Surfels with winding numbers below the first or above the second lie astray.
const ASTRAY: (f64, f64) = (0.06, 0.94);
/// Steps of a vertex to the planes around it, and the farthest that it goes [cells].
const STEPS: usize = 3;
const FARTHEST: f64 = 0.45;
/// Part of that way that it goes: vertices of a fold, one above the other, must not end in one place.
const LED: f64 = 0.98;
/// Planes that lead a vertex face as its surroundings with at least this cosine.
const FACING: f32 = 0.2;
/// Heights over the surface at which it is cut in turn while it has handles [cells]. Gaps that are nearly closed make tunnels, those that are
/// hardly open make bridges; vertices are led to the surfels from whichever height has the fewest.
const LEVELS: [f32; 3] = [0.0, 0.2, -0.2];
/// Handles with a way around them that is shorter than this are cut, in distances of surfels: they are narrower than matter of one point.
const WAY: f64 = 12.0;
/// Shells of fewer vertices, or around less than this many cubes of the surfels' distance, are left out.
const FEWEST: u32 = 50;
const CRUMB: f64 = 8.0;
/// Cavities smaller than this many cubes of the surfels' distance are filled: bubbles between points.
const BUBBLE: f64 = 1000.0;
/// Corners of the tetrahedra of a cell: ways from corner 0 to corner 7 along the axes, in all orders.
const TETRAHEDRA: [[usize; 4]; 6] =
    [[0, 1, 3, 7], [0, 3, 2, 7], [0, 2, 6, 7], [0, 6, 4, 7], [0, 4, 5, 7], [0, 5, 1, 7]];

/// The watertight mesh around surfels that lie `spacing` [m] apart; empty where there are none. Shells of fewer than fifty
/// vertices and cavities narrower than about ten surfels are left out.
pub fn mesh_around(surfels: &Surfels, spacing: f64) -> Mesh {
    let sound = |i: &usize| surfels.positions[*i].is_finite() && surfels.normals[*i].is_finite();
    let all: Vec<usize> = (0..surfels.len()).filter(sound).collect();
    if all.is_empty() || !(spacing > 0.0 && spacing.is_finite()) {
        return Mesh::default();
    }
    let places: Vec<DVec3> = all.iter().map(|&i| surfels.positions[i].as_dvec3()).collect();
    let normals: Vec<Vec3> = all.iter().map(|&i| surfels.normals[i]).collect();
    let bounds = Bounds::of(places.iter().copied());
    let volume = |cell: f64| (bounds.size() / cell + 8.0).element_product();
    let mut cell = CELL * spacing;
    while volume(cell) > MOST {
        cell *= 1.1;
    }
    let inside = Inside::new(&places, &normals, spacing, SMEARED * SMEARED);
    let field = Field::new(&places, &inside, bounds, (cell, spacing));
    let (vertices, triangles) = field.simplest(spacing);
    let on = |k: &usize| (ASTRAY.0..=ASTRAY.1).contains(&inside.at(places[*k]));
    let kept: Vec<usize> = (0..places.len()).into_par_iter().with_min_len(64).filter(on).collect();
    let color =
        |k: usize| surfels.colors.get(all[k]).map_or(Vec3::splat(128.0), |c| Vec3::from_array(c.map(f32::from)));
    Planes {
        grid: Grid::new(&kept.iter().map(|&k| places[k]).collect::<Vec<_>>(), NEAR as f64 * cell),
        planes: kept.iter().map(|&k| (places[k], normals[k], color(k))).collect(),
        width: 0.8 * cell,
        reach: NEAR as f64 * cell,
        farthest: FARTHEST * cell,
    }
    .finish(vertices, triangles)
}

/// The watertight mesh around surfels, at the distance that they are found to have.
pub fn mesh_of_surfels(surfels: &Surfels) -> Mesh {
    mesh_around(surfels, f64::from(spacing_of(surfels)))
}

/// The planes of the surfels that lead vertices.
struct Planes {
    grid: Grid,
    /// Place [m], normal and color of each.
    planes: Vec<(DVec3, Vec3, Vec3)>,
    /// Distance at which the weight of a plane has fallen to 1/e, farthest plane, farthest way of a vertex [m].
    width: f64,
    reach: f64,
    farthest: f64,
}

impl Planes {
    /// Weighted mean distance to the planes around `p` that face about as `toward`, their mean normal and color.
    fn at(&self, p: DVec3, toward: Vec3) -> Option<(f64, Vec3, Vec3)> {
        let mut nearest = f64::INFINITY;
        self.grid.for_each_within(p, self.reach, |j, r2| {
            if r2 < nearest && self.planes[j].1.dot(toward) > FACING {
                nearest = r2;
            }
        });
        let (mut sum, mut distance, mut normal, mut color) = (0.0, 0.0, Vec3::ZERO, Vec3::ZERO);
        let per_width2 = 1.0 / (self.width * self.width);
        self.grid.for_each_within(p, self.reach, |j, r2| {
            let (place, n, c) = self.planes[j];
            if n.dot(toward) > FACING {
                let w = ((nearest - r2) * per_width2).exp();
                sum += w;
                distance += w * n.as_dvec3().dot(p - place);
                normal += w as f32 * n;
                color += w as f32 * c;
            }
        });
        (sum > 0.0).then(|| (distance / sum, normal.normalize_or(toward), color / sum as f32))
    }

    /// Leads the vertices to the surfels and paints them.
    fn finish(&self, mut vertices: Vec<DVec3>, triangles: Vec<[u32; 3]>) -> Mesh {
        let mut outward = vec![DVec3::ZERO; vertices.len()];
        for t in &triangles {
            let [a, b, c] = t.map(|v| vertices[v as usize]);
            t.iter().for_each(|&v| outward[v as usize] += (b - a).cross(c - a));
        }
        let look = |(p, outward): (&mut DVec3, &DVec3)| {
            let (start, toward) = (*p, outward.normalize_or(DVec3::Y).as_vec3());
            let mut found = (toward, None);
            for _ in 0..STEPS {
                let Some((distance, normal, color)) = self.at(*p, toward) else { break };
                found = (normal, Some(color));
                let next = *p - distance * normal.as_dvec3();
                if next.distance(start) > self.farthest {
                    break;
                }
                *p = next;
            }
            *p = start + LED * (*p - start);
            let nearest = || self.grid.nearest(*p).map_or(Vec3::splat(128.0), |(j, _)| self.planes[j].2);
            (found.0, found.1.unwrap_or_else(nearest))
        };
        let looks: Vec<(Vec3, Vec3)> = vertices.par_iter_mut().zip(&outward).map(look).collect();
        Mesh {
            positions: vertices,
            triangles,
            normals: looks.iter().map(|l| l.0.as_dvec3()).collect(),
            colors: Some(looks.iter().map(|l| l.1.to_array().map(|c| c.round() as u8)).collect()),
            ..Mesh::default()
        }
    }
}

/// Signed distances on the nodes of a grid, negative inside.
struct Field {
    origin: DVec3,
    cell: f64,
    /// Nodes along each axis.
    dims: [usize; 3],
    /// [cells].
    values: Vec<f32>,
}

impl Field {
    fn new(places: &[DVec3], inside: &Inside, bounds: Bounds, (cell, spacing): (f64, f64)) -> Self {
        let origin = bounds.min - 3.5 * cell;
        let dims = (bounds.size() / cell).to_array().map(|n| n.ceil() as usize + 8);
        let [nx, ny, nz] = dims;
        let node = |x: usize, y: usize, z: usize| origin + cell * DVec3::new(x as f64, y as f64, z as f64);
        let mut near = vec![false; nx * ny * nz];
        for p in places {
            let [x, y, z] = ((*p - origin) / cell).to_array().map(|c| c as usize);
            for (z, y) in (z - 1..=z + NEAR).flat_map(|z| (y - 1..=y + NEAR).map(move |y| (z, y))) {
                near[(z * ny + y) * nx..][x - 1..=x + NEAR].fill(true);
            }
        }
        // Far from surfels the winding number is smooth: a coarse grid tells where it needs no other look.
        let [cx, cy, cz] = dims.map(|n| n / COARSE + 2);
        let coarse: Vec<f32> = (0..cx * cy * cz)
            .into_par_iter()
            .with_min_len(64)
            .map(|k| inside.at(node(COARSE * (k % cx), COARSE * (k / cx % cy), COARSE * (k / (cx * cy)))) as f32)
            .collect();
        let told = |x: usize, y: usize, z: usize| {
            let first = ((z / COARSE) * cy + y / COARSE) * cx + x / COARSE;
            let w = |c: usize| coarse[first + (c & 1) + (c >> 1 & 1) * cx + (c >> 2) * cx * cy] - 0.5;
            let sure = (0..8).all(|c| w(c).abs() > SURE && (w(c) > 0.0) == (w(0) > 0.0));
            sure.then(|| if w(0) > 0.0 { -1.0 } else { 1.0 })
        };
        let mut values = vec![0f32; nx * ny * nz];
        let per_cell = SMEARED * spacing / cell;
        values.par_chunks_mut(nx).zip(near.par_chunks(nx)).enumerate().for_each(|(k, (row, near))| {
            let (y, z) = (k % ny, k / ny);
            for (x, value) in row.iter_mut().enumerate() {
                // At the end of the grid nothing is inside, whatever the surfels say: the mesh would be open there.
                let last = [(x, nx), (y, ny), (z, nz)].iter().any(|(at, count)| *at == 0 || at + 1 == *count);
                let known = match (last, near[x]) {
                    (true, _) => Some(1.0),
                    (false, true) => None,
                    (false, false) => told(x, y, z),
                };
                *value = known.unwrap_or_else(|| {
                    // A smeared plane has the winding number 1/2 (1 - h / √(h² + e²)) at the height h.
                    let u = (1.0 - 2.0 * inside.at(node(x, y, z))).clamp(-0.98, 0.98);
                    let distance = per_cell * u / (1.0 - u * u).sqrt();
                    distance as f32
                });
            }
        });
        Self { origin, cell, dims, values }
    }

    /// Vertices and triangles of the cut with the fewest handles, without small shells.
    fn simplest(&self, spacing: f64) -> (Vec<DVec3>, Vec<[u32; 3]>) {
        let mut best = (i64::MAX, Vec::new(), Vec::new());
        for level in LEVELS {
            let (vertices, triangles) = self.cut(level);
            let (mut vertices, mut triangles, shells) = drop_small(vertices, triangles, spacing);
            // Every shell has the Euler number 2 less twice its handles, and two triangles for three edges.
            let handles = shells as i64 - (vertices.len() as i64 - triangles.len() as i64 / 2) / 2;
            let handles = handles::cut_small(&mut vertices, &mut triangles, handles, WAY * spacing);
            if handles < best.0 && (shells > 0 || best.0 == i64::MAX) {
                best = (handles, vertices, triangles);
            }
            if best.0 <= 0 {
                break;
            }
        }
        (best.1, best.2)
    }

    /// Vertices and triangles between the nodes below a level [cells] and the others.
    fn cut(&self, level: f32) -> (Vec<DVec3>, Vec<[u32; 3]>) {
        let [nx, ny, nz] = self.dims;
        // Vertices by the lower node and the direction of their edge, seven per node.
        let mut numbers = std::collections::HashMap::new();
        let (mut places, mut triangles): (Vec<DVec3>, Vec<[u32; 3]>) = (Vec::new(), Vec::new());
        for z in 0..nz - 1 {
            for y in 0..ny - 1 {
                for x in 0..nx - 1 {
                    let node = |c: usize| ((z + (c >> 2)) * ny + y + (c >> 1 & 1)) * nx + x + (c & 1);
                    let inside = |c: usize| self.values[node(c)] < level;
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
                            let t = f64::from((fa - level) / (fa - fb)).clamp(0.02, 0.98);
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
        (places, triangles)
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

/// Leaves out small shells: flakes, and bubbles, whose volume is negative. Says how many stay.
fn drop_small(places: Vec<DVec3>, triangles: Vec<[u32; 3]>, spacing: f64) -> (Vec<DVec3>, Vec<[u32; 3]>, usize) {
    let mut groups = crate::groups::Groups::new(places.len());
    for t in &triangles {
        groups.unite(t[0], t[1]);
        groups.unite(t[0], t[2]);
    }
    let heads: Vec<u32> = (0..places.len() as u32).map(|v| groups.lowest(v)).collect();
    let mut shells = vec![(0u32, 0f64); places.len()];
    heads.iter().for_each(|&h| shells[h as usize].0 += 1);
    for t in &triangles {
        let [a, b, c] = t.map(|v| places[v as usize] - places[0]);
        shells[heads[t[0] as usize] as usize].1 += a.dot(b.cross(c)) / 6.0;
    }
    let cube = spacing * spacing * spacing;
    let stays = |v: u32| {
        let (count, volume) = shells[heads[v as usize] as usize];
        count >= FEWEST && (volume > CRUMB * cube || volume < -BUBBLE * cube)
    };
    let mut numbers = vec![u32::MAX; places.len()];
    let mut kept = Vec::with_capacity(places.len());
    for (v, p) in places.iter().enumerate().filter(|(v, _)| stays(*v as u32)) {
        numbers[v] = kept.len() as u32;
        kept.push(*p);
    }
    let count = (0..places.len() as u32).filter(|&v| heads[v as usize] == v && stays(v)).count();
    let whole = triangles.into_iter().filter(|t| stays(t[0]));
    (kept, whole.map(|t| t.map(|v| numbers[v as usize])).collect(), count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::surface::velocities_near;
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
    fn holes_flakes_and_bubbles_do_not_change_the_pieces() {
        let count = 6000;
        let spacing = (4.0 * std::f64::consts::PI / count as f64).sqrt();
        let mut ball = balls(&[Vec3::ZERO], count);
        let mut small = balls(&[Vec3::ZERO], 300);
        // A bubble of surfels, a flake inside, one outside, and a hole five surfels wide.
        for k in 0..small.len() {
            let n = small.normals[k];
            (small.positions[k], small.normals[k]) = (0.1 * n + 0.3 * Vec3::X, -n);
        }
        let flake = |middle: Vec3, normal: Vec3, s: &mut Surfels| {
            let (u, v) = normal.any_orthonormal_pair();
            for k in 0..36 {
                let (a, b) = ((k % 6) as f32 - 2.5, (k / 6) as f32 - 2.5);
                s.positions.push(middle + spacing as f32 * (a * u + b * v));
                s.normals.push(normal);
                s.colors.push([0; 3]);
            }
        };
        flake(Vec3::new(-0.8, 0.0, 0.0), Vec3::X, &mut small);
        flake(Vec3::new(0.0, 0.0, 1.2), Vec3::new(0.0, 0.6, 0.8), &mut small);
        flake(Vec3::new(0.0, 0.0, -0.95), Vec3::Y, &mut small);
        let hole = |p: &Vec3| p.distance(Vec3::Y) < 2.5 * spacing as f32;
        let kept: Vec<usize> = (0..ball.len()).filter(|&i| !hole(&ball.positions[i])).collect();
        let pick = |list: &[Vec3]| kept.iter().map(|&i| list[i]).collect::<Vec<_>>();
        (ball.positions, ball.normals) = (pick(&ball.positions), pick(&ball.normals));
        ball.colors = kept.iter().map(|&i| ball.colors[i]).collect();
        ball.positions.extend(small.positions);
        ball.normals.extend(small.normals);
        ball.colors.extend(small.colors);
        let mesh = mesh_around(&ball, spacing);
        assert_eq!(euler(&mesh), 2);
        let far = mesh.positions.iter().map(|p| (p.length() - 1.0).abs()).fold(0.0, f64::max);
        assert!(far < spacing, "{}", far / spacing);
    }

    #[test]
    fn vertices_above_each_other_do_not_end_in_one_place() {
        // A flat wall, and two layers of a fold that both face out of it.
        let wall: Vec<DVec3> =
            (0..400).map(|k| DVec3::new(f64::from(k % 20) * 0.1, 1.0, f64::from(k / 20) * 0.1)).collect();
        let planes = Planes {
            grid: Grid::new(&wall, 0.3),
            planes: wall.iter().map(|p| (*p, Vec3::Y, Vec3::ZERO)).collect(),
            width: 0.1,
            reach: 0.3,
            farthest: 0.06,
        };
        let layer = |y: f64| [DVec3::new(0.9, y, 0.9), DVec3::new(0.9, y, 1.0), DVec3::new(1.0, y, 0.9)];
        let mesh = planes.finish([layer(1.05), layer(0.96)].concat(), vec![[0, 1, 2], [3, 4, 5]]);
        for k in 0..3 {
            let [a, b] = [mesh.positions[k], mesh.positions[k + 3]].map(|p| p.as_vec3());
            assert!(a != b && (a.y - 1.0).abs() < 0.002 && (b.y - 1.0).abs() < 0.002, "{a} {b}");
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
    fn whatever_the_surfels_are_the_mesh_is_closed() {
        for seed in 0..60 {
            let mut random = Random::new(7, seed);
            let mut s = Surfels::default();
            // From a few to many, in a box or in thin sheets, that face to any side or all inward.
            let flat = [1.0, 0.3, 0.03, 0.0][seed as usize % 4];
            let inward = seed % 3 == 0;
            for _ in 0..[40, 400, 3000][seed as usize % 3] {
                let p = (random.in_cube() * DVec3::new(1.0, flat, 1.0)).as_vec3();
                let n = if inward { -p } else { random.in_cube().as_vec3() };
                s.positions.push(p);
                s.normals.push(n.try_normalize().unwrap_or(Vec3::Y));
            }
            euler(&mesh_around(&s, 0.05));
        }
        // Two sheets that face up: all that is below is behind both.
        let sheets = |k: i32| Vec3::new((k % 40) as f32, (k / 1600) as f32 * 6.0, (k / 40 % 40) as f32);
        let positions: Vec<Vec3> = (0..3200).map(|k| 0.05 * sheets(k)).collect();
        let s = Surfels { normals: vec![Vec3::Y; positions.len()], positions, ..Surfels::default() };
        let mesh = mesh_around(&s, 0.05);
        assert!(!mesh.triangles.is_empty());
        euler(&mesh);
    }

    #[test]
    fn nothing_and_odd_input_have_an_answer() {
        assert!(mesh_around(&Surfels::default(), 0.1).triangles.is_empty());
        let one = Surfels { positions: vec![Vec3::ZERO], normals: vec![Vec3::Y], ..Surfels::default() };
        assert!(mesh_around(&one, f64::NAN).triangles.is_empty());
        mesh_around(&one, 0.1);
    }
}
