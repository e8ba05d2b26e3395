//! A distance that is dear to ask for, sampled on a grid.
//!
//! The grid is made of bricks, which are filled when they are first asked: what a place is told depends on the place alone, not on who
//! asks first. Between nodes the distance is trilinear, so that it is continuous, or smoothed by splines; it is as exact as the shape is
//! smooth over a cell.

use super::{Bounds, Shape};
use glam::DVec3;
use std::sync::{Arc, OnceLock};

/// Cells along the side of a brick, and nodes.
const CELLS: usize = 8;
/// One node more on each side, for the spline.
const NODES: usize = CELLS + 3;
/// Most bricks of a grid.
const MOST: f64 = 2e6;
/// Shapes whose distance costs less than this many simple ones are quicker without a grid.
const DEAR: usize = 16;

/// The distance of a shape on a grid.
pub struct Baked {
    shape: Arc<dyn Shape>,
    origin: DVec3,
    cell: f64,
    /// Bricks along each axis.
    counts: [usize; 3],
    bricks: Vec<OnceLock<Box<[f32]>>>,
}

impl Baked {
    /// For places within `reach` [m] of a shape, in cells of `cell` [m]; None if the shape is quick to ask or the grid would be too large.
    pub fn new(shape: &Arc<dyn Shape>, cell: f64, reach: f64) -> Option<Self> {
        let bounds = shape.bounds().grown(reach);
        if shape.cost() < DEAR || !bounds.is_finite() || !(cell > 0.0 && cell.is_finite()) {
            return None;
        }
        let sides = (bounds.size() / (cell * CELLS as f64)).ceil().max(DVec3::ONE);
        if sides.element_product() > MOST {
            return None;
        }
        let counts = sides.to_array().map(|n| n as usize);
        let bricks = (0..counts.iter().product()).map(|_| OnceLock::new()).collect();
        Some(Self { shape: shape.clone(), origin: bounds.min, cell, counts, bricks })
    }

    /// The brick that knows a place, and where the place lies in it [cells]; None outside of the grid.
    fn locate(&self, p: DVec3) -> Option<(&[f32], DVec3)> {
        let at = (p - self.origin) / self.cell;
        let top = DVec3::from_array(self.counts.map(|n| (n * CELLS) as f64));
        if !(at.cmpge(DVec3::ZERO).all() && at.cmplt(top).all()) {
            return None;
        }
        let [x, y, z] = at.to_array().map(|x| x as usize / CELLS);
        let [nx, ny, _] = self.counts;
        let brick = self.bricks[(z * ny + y) * nx + x].get_or_init(|| self.fill([x, y, z]));
        let corner = DVec3::new(x as f64, y as f64, z as f64) * CELLS as f64;
        Some((brick, at - corner))
    }

    /// Edge of its cells [m].
    pub fn cell(&self) -> f64 {
        self.cell
    }

    /// Signed distance [m], trilinear between nodes.
    fn linear(&self, p: DVec3) -> f64 {
        let Some((brick, at)) = self.locate(p) else { return self.shape.distance(p) };
        let [i, j, k] = at.to_array().map(|x| x as usize + 1);
        let part = at - at.floor();
        let row = |j: usize, k: usize| {
            let first = (k * NODES + j) * NODES + i;
            let (a, b) = (f64::from(brick[first]), f64::from(brick[first + 1]));
            a + part.x * (b - a)
        };
        let plane = |k: usize| {
            let (a, b) = (row(j, k), row(j + 1, k));
            a + part.y * (b - a)
        };
        let (a, b) = (plane(k), plane(k + 1));
        a + part.z * (b - a)
    }

    /// The distance smoothed over about a cell [m], and its gradient: quadratic splines through the nodes around. Where the shape is plane
    /// it is the distance; kinks are rounded. The gradient is that of this very field, so what follows from it keeps energy.
    pub fn smooth(&self, p: DVec3) -> (f64, DVec3) {
        let Some((brick, at)) = self.locate(p) else { return self.shape.distance_normal(p) };
        let (value, slope) = nodes_around(brick, NODES, at);
        (value, slope / self.cell)
    }

    /// The least that the distance of the shape can be [m]: it changes by no more than the way, which is at most 0.87 cells from a place to
    /// the nodes around it on average.
    pub fn least_distance(&self, p: DVec3) -> f64 {
        self.linear(p) - self.roughness()
    }

    /// How much less than the distance `least_distance` is on average [m].
    pub fn roughness(&self) -> f64 {
        0.9 * self.cell
    }

    /// Distances at the nodes of a brick.
    fn fill(&self, brick: [usize; 3]) -> Box<[f32]> {
        let [x, y, z] = brick.map(|b| b * CELLS);
        let node = |n: usize| {
            let (i, j, k) = (n % NODES, n / NODES % NODES, n / (NODES * NODES));
            let place = DVec3::new((x + i) as f64, (y + j) as f64, (z + k) as f64) - 1.0;
            self.shape.distance(self.origin + self.cell * place) as f32
        };
        (0..NODES * NODES * NODES).map(node).collect()
    }

    /// Box in which it knows the distance.
    pub fn reach(&self) -> Bounds {
        let size = DVec3::from_array(self.counts.map(|n| n as f64)) * (self.cell * CELLS as f64);
        Bounds { min: self.origin, max: self.origin + size }
    }
}

/// The shape without what is finer than a cell.
impl Shape for Baked {
    fn distance(&self, p: DVec3) -> f64 {
        self.smooth(p).0
    }
    fn bounds(&self) -> Bounds {
        self.shape.bounds()
    }
    fn normal(&self, p: DVec3) -> DVec3 {
        self.smooth(p).1.try_normalize().unwrap_or(DVec3::Y)
    }
    fn distance_normal(&self, p: DVec3) -> (f64, DVec3) {
        let (distance, slope) = self.smooth(p);
        (distance, slope.try_normalize().unwrap_or(DVec3::Y))
    }
}

/// The value of quadratic splines through the nodes of a brick, `side` along each axis of which the first is at -1, and its slope per cell.
pub(super) fn nodes_around(brick: &[f32], side: usize, at: DVec3) -> (f64, DVec3) {
    let middle = (at + 0.5).floor();
    let [i, j, k] = middle.to_array().map(|x| x as usize);
    let away = at - middle;
    let [(wx, sx), (wy, sy), (wz, sz)] = away.to_array().map(spline);
    let (mut value, mut slope) = (0.0, DVec3::ZERO);
    for c in 0..3 {
        for b in 0..3 {
            let first = ((k + c) * side + j + b) * side + i;
            let nodes = [brick[first], brick[first + 1], brick[first + 2]].map(f64::from);
            let along = wx[0] * nodes[0] + wx[1] * nodes[1] + wx[2] * nodes[2];
            let steep = sx[0] * nodes[0] + sx[1] * nodes[1] + sx[2] * nodes[2];
            value += wz[c] * wy[b] * along;
            slope += DVec3::new(wz[c] * wy[b] * steep, wz[c] * sy[b] * along, sz[c] * wy[b] * along);
        }
    }
    (value, slope)
}

/// Weights of three nodes, and their slopes, for a place `x` cells from the middle one, -0.5 ..= 0.5.
fn spline(x: f64) -> ([f64; 3], [f64; 3]) {
    let (before, after) = (0.5 - x, 0.5 + x);
    ([0.5 * before * before, 0.75 - x * x, 0.5 * after * after], [-before, -2.0 * x, after])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{MeshShape, Sphere};
    use crate::random::Random;
    use crate::sampling::mesh_of;

    #[test]
    fn it_tells_the_distance_of_the_shape_and_is_continuous() {
        let mesh: Arc<dyn Shape> = Arc::new(MeshShape::new(&mesh_of(&Sphere { radius: 1.0 }, 3000)));
        let baked = Baked::new(&mesh, 0.05, 0.3).unwrap();
        assert!(baked.reach().contains(DVec3::splat(1.2)));
        for k in 0..2000 {
            let p = 1.5 * Random::new(3, k).in_cube();
            // Around the middle the distance has a kink.
            let tolerance = if p.length() > 0.2 { 0.004 } else { 0.05 };
            assert!((baked.linear(p) - mesh.distance(p)).abs() < tolerance, "{p}");
            assert!(baked.least_distance(p) < mesh.distance(p));
            let step = 1e-4 * Random::new(4, k).direction();
            assert!((baked.linear(p + step) - baked.linear(p)).abs() < 2e-4, "{p}");
            let (smooth, slope) = baked.smooth(p);
            assert!((smooth - mesh.distance(p)).abs() < 2.0 * tolerance, "{p}");
            // The slope is that of the smoothed field, across the borders of cells and bricks too.
            let inside = [p + step, p - step].iter().all(|q| baked.reach().contains(*q));
            let change = baked.smooth(p + step).0 - baked.smooth(p - step).0;
            assert!(!inside || (change - 2.0 * slope.dot(step)).abs() < 2e-7, "{change} at {p}");
        }
        let ball: Arc<dyn Shape> = Arc::new(Sphere { radius: 1.0 });
        assert!(Baked::new(&ball, 0.05, 0.3).is_none() && Baked::new(&mesh, 1e-9, 0.3).is_none());
    }
}
