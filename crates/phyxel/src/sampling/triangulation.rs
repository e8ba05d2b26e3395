//! The surface of a shape as triangles, by dual contouring [JLS02] of its signed distance on a cubic grid.
//!
//! One vertex per cell that the surface passes, placed on sharp edges and corners where the normals of the crossings
//! ask for it, and one quadrilateral per grid edge that the surface crosses. The result is always closed: it is the
//! deformed boundary of the grid nodes that lie inside. Parts thinner than a cell can be missed.

use crate::geometry::Shape;
use glam::DVec3;
use rayon::prelude::*;

/// Most nodes of the grid; a finer one is made coarser.
const MOST_NODES: f64 = 2e7;

/// Triangles, counter-clockwise seen from outside. Triangles 2k and 2k + 1 are the halves of one quadrilateral.
pub(super) struct Triangulation {
    pub positions: Vec<DVec3>,
    pub triangles: Vec<[u32; 3]>,
    /// Edge of the grid's cells [m].
    pub edge: f64,
}

impl Triangulation {
    /// Contours a bounded shape on cells of the given edge [m].
    pub fn new(shape: &dyn Shape, edge: f64) -> Self {
        let grid = NodeGrid::new(shape, edge);
        let crossings = grid.crossings(shape);
        let cells = grid.active_cells(&crossings);
        let positions = cells.par_iter().map(|&cell| grid.vertex(shape, cell, &crossings)).collect::<Vec<_>>();
        let quads = crossings.par_iter().map(|crossing| grid.quad(shape, crossing, &cells, &positions));
        let triangles = quads.collect::<Vec<_>>().into_iter().flatten().collect();
        Self { positions, triangles, edge: grid.edge }
    }

    /// Corners of a triangle [m].
    pub fn corners(&self, triangle: usize) -> [DVec3; 3] {
        self.triangles[triangle].map(|v| self.positions[v as usize])
    }

    /// Area times outward normal of a triangle [m²].
    pub fn area_vector(&self, triangle: usize) -> DVec3 {
        let [a, b, c] = self.corners(triangle);
        0.5 * (b - a).cross(c - a)
    }
}

/// Signed distances at the nodes of a grid around a shape.
struct NodeGrid {
    origin: DVec3,
    edge: f64,
    dims: [usize; 3],
    values: Vec<f32>,
}

/// Where a grid edge meets the surface.
struct Crossing {
    /// Three times the number of the lower node, plus the axis.
    key: u64,
    position: DVec3,
    normal: DVec3,
    /// Whether the lower node is inside.
    leaves: bool,
}

impl NodeGrid {
    fn new(shape: &dyn Shape, edge: f64) -> Self {
        let bounds = shape.bounds();
        let nodes = |edge: f64| (bounds.size() / edge).ceil() + 4.0;
        let mut edge = edge;
        while nodes(edge).element_product() > MOST_NODES {
            edge *= 1.1;
        }
        // Faces of a box of whole cells fall in the middle of cells, away from the nodes.
        let count = nodes(edge);
        let origin = bounds.center() - 0.5 * edge * (count - 1.0);
        let dims = count.to_array().map(|n| n as usize);
        let mut grid = Self { origin, edge, dims, values: vec![0.0; dims[0] * dims[1] * dims[2]] };
        let mut values = std::mem::take(&mut grid.values);
        values.par_chunks_mut(SLAB * dims[0] * dims[1]).enumerate().for_each(|(k, slab)| {
            grid.measure_slab(shape, k * SLAB, slab);
        });
        grid.values = values;
        grid
    }

    fn node(&self, at: [usize; 3]) -> DVec3 {
        self.origin + self.edge * DVec3::new(at[0] as f64, at[1] as f64, at[2] as f64)
    }

    /// Distances of a slab of layers from `first` on, cube by cube: a cube far from the surface needs one look only.
    fn measure_slab(&self, shape: &dyn Shape, first: usize, slab: &mut [f32]) {
        let [nx, ny, _] = self.dims;
        let layers = slab.len() / (nx * ny);
        for y0 in (0..ny).step_by(SLAB) {
            for x0 in (0..nx).step_by(SLAB) {
                let middle = self.node([x0, y0, first]) + 0.5 * (SLAB - 1) as f64 * self.edge;
                let distance = shape.distance(middle);
                // A cube and one more cell around it.
                let far = distance.abs() > 0.5 * 3f64.sqrt() * (SLAB + 1) as f64 * self.edge;
                for z in 0..layers {
                    for y in y0..(y0 + SLAB).min(ny) {
                        for x in x0..(x0 + SLAB).min(nx) {
                            let d = if far { distance } else { shape.distance(self.node([x, y, first + z])) };
                            slab[(z * ny + y) * nx + x] = d as f32;
                        }
                    }
                }
            }
        }
    }

    fn coordinates(&self, node: u64) -> [usize; 3] {
        let (node, [nx, ny, _]) = (node as usize, self.dims);
        [node % nx, node / nx % ny, node / (nx * ny)]
    }

    fn steps(&self) -> [usize; 3] {
        [1, self.dims[0], self.dims[0] * self.dims[1]]
    }

    /// All grid edges whose ends lie on different sides, in the order of their keys.
    fn crossings(&self, shape: &dyn Shape) -> Vec<Crossing> {
        let inside = |node: usize| self.values[node] < 0.0;
        let [nx, ny, nz] = self.dims;
        let keys: Vec<Vec<u64>> = (0..nz)
            .into_par_iter()
            .map(|z| {
                let mut keys = Vec::new();
                for node in z * nx * ny..(z + 1) * nx * ny {
                    let at = self.coordinates(node as u64);
                    for axis in 0..3 {
                        if at[axis] + 1 < self.dims[axis] && inside(node) != inside(node + self.steps()[axis]) {
                            keys.push(3 * node as u64 + axis as u64);
                        }
                    }
                }
                keys
            })
            .collect();
        keys.into_par_iter().flatten().map(|key| self.cross(shape, key)).collect()
    }

    /// Finds the surface on a grid edge by the false position method, damped as in the Illinois variant.
    fn cross(&self, shape: &dyn Shape, key: u64) -> Crossing {
        let (node, axis) = ((key / 3) as usize, (key % 3) as usize);
        let (low, along) = (self.node(self.coordinates(key / 3)), self.edge * DVec3::AXES[axis]);
        let (mut a, mut b) = (0.0, 1.0);
        let (mut da, mut db) = (f64::from(self.values[node]), f64::from(self.values[node + self.steps()[axis]]));
        let leaves = da < 0.0;
        let mut t = 0.5;
        for _ in 0..8 {
            t = (a * db - b * da) / (db - da);
            if !(t > a && t < b) {
                t = 0.5 * (a + b);
            }
            let d = shape.distance(low + t * along);
            if d.abs() < 1e-6 * self.edge {
                break;
            }
            if (d < 0.0) == leaves {
                (a, da, db) = (t, d, 0.5 * db);
            } else {
                (b, db, da) = (t, d, 0.5 * da);
            }
        }
        let position = low + t * along;
        Crossing { key, position, normal: shape.normal(position), leaves }
    }

    /// Numbers (of their lowest nodes) of the cells around the crossings, ascending.
    fn active_cells(&self, crossings: &[Crossing]) -> Vec<u64> {
        let mut cells: Vec<u64> = crossings.iter().flat_map(|c| self.cells_around(c)).collect();
        cells.par_sort_unstable();
        cells.dedup();
        cells
    }

    /// The four cells around a grid edge, in turning order about its axis. The margin of the grid keeps them inside.
    fn cells_around(&self, crossing: &Crossing) -> [u64; 4] {
        let (node, axis) = ((crossing.key / 3) as usize, (crossing.key % 3) as usize);
        let (u, v) = (self.steps()[(axis + 1) % 3], self.steps()[(axis + 2) % 3]);
        [node, node - u, node - u - v, node - v].map(|cell| cell as u64)
    }

    /// The point of a cell that lies best on the tangent planes of the crossings on its edges.
    fn vertex(&self, shape: &dyn Shape, cell: u64, crossings: &[Crossing]) -> DVec3 {
        let mut planes: [(DVec3, DVec3); 12] = Default::default();
        let mut count = 0;
        let [x, y, z] = self.steps();
        for axis in 0..3 {
            let (u, v) = [(y, z), (z, x), (x, y)][axis];
            for offset in [0, u, v, u + v] {
                let key = 3 * (cell + offset as u64) + axis as u64;
                if let Ok(k) = crossings.binary_search_by_key(&key, |c| c.key) {
                    planes[count] = (crossings[k].position, crossings[k].normal);
                    count += 1;
                }
            }
        }
        let planes = &planes[..count];
        let mean = planes.iter().map(|(p, _)| *p).sum::<DVec3>() / count.max(1) as f64;

        // Least squares by a fixed number of descent steps from the mean: directions that the normals leave open
        // (flat or gently curved pieces) hardly move, those that they fix (edges, corners) are met.
        let mut p = mean;
        for _ in 0..60 {
            let pull: DVec3 = planes.iter().map(|(q, n)| n.dot(*q - p) * *n).sum();
            p += pull / count.max(1) as f64;
        }
        let low = self.node(self.coordinates(cell));
        p = p.clamp(low, low + self.edge);
        for _ in 0..2 {
            let distance = shape.distance(p);
            if distance.abs() < 1e-4 * self.edge {
                break;
            }
            p -= shape.normal(p) * distance.clamp(-self.edge, self.edge);
        }
        p
    }

    /// The two triangles around a crossing.
    fn quad(&self, shape: &dyn Shape, crossing: &Crossing, cells: &[u64], positions: &[DVec3]) -> [[u32; 3]; 2] {
        let find = |cell: u64| cells.binary_search(&cell).unwrap_or(0) as u32;
        let mut q = self.cells_around(crossing).map(find);
        if !crossing.leaves {
            q.reverse();
        }
        // Cut along the diagonal that lies on the surface, so that sharp edges are not cut off.
        let off = |a: u32, b: u32| shape.distance(0.5 * (positions[a as usize] + positions[b as usize])).abs();
        if off(q[0], q[2]) <= off(q[1], q[3]) {
            [[q[0], q[1], q[2]], [q[0], q[2], q[3]]]
        } else {
            [[q[1], q[2], q[3]], [q[1], q[3], q[0]]]
        }
    }
}

/// Nodes along the edge of a cube that is looked at as one.
const SLAB: usize = 6;
