//! A combination of many shapes, cut into cells that each know the few parts that have a say in them.
//!
//! What is left out of a cell could not change the answer by a bit there, so places are told the same with and without cells. They are
//! filled when they are first asked, and depend on their place alone.

use super::{Bounds, Shape};
use glam::DVec3;
use std::sync::{Arc, OnceLock};

/// Most cells.
const MOST: f64 = 2e6;
/// Combinations of fewer simple shapes than this are quick enough.
const DEAR: usize = 4;

/// A shape in cells.
pub struct Celled {
    shape: Arc<dyn Shape>,
    origin: DVec3,
    cell: f64,
    /// Cells along each axis.
    counts: [usize; 3],
    /// The shape as it is in each cell; None: the whole of it.
    cells: Vec<OnceLock<Option<Arc<dyn Shape>>>>,
}

impl Celled {
    /// Cells of `cell` [m] over places within `reach` [m] of a shape; None if it is quick to ask or there would be too many.
    pub fn new(shape: &Arc<dyn Shape>, cell: f64, reach: f64) -> Option<Self> {
        let bounds = shape.bounds().grown(reach);
        if shape.cost() < DEAR || !bounds.is_finite() || !(cell > 0.0 && cell.is_finite()) {
            return None;
        }
        let sides = (bounds.size() / cell).ceil().max(DVec3::ONE);
        if sides.element_product() > MOST {
            return None;
        }
        let counts = sides.to_array().map(|n| n as usize);
        let cells = (0..counts.iter().product()).map(|_| OnceLock::new()).collect();
        Some(Self { shape: shape.clone(), origin: bounds.min, cell, counts, cells })
    }

    /// The shape as it is around a place.
    #[inline]
    fn at(&self, p: DVec3) -> &dyn Shape {
        let at = (p - self.origin) / self.cell;
        let top = DVec3::from_array(self.counts.map(|n| n as f64));
        if !(at.cmpge(DVec3::ZERO).all() && at.cmplt(top).all()) {
            return &*self.shape;
        }
        let [x, y, z] = at.to_array().map(|x| x as usize);
        let [nx, ny, _] = self.counts;
        let cell = &self.cells[(z * ny + y) * nx + x];
        cell.get_or_init(|| self.fill([x, y, z])).as_deref().unwrap_or(&*self.shape)
    }

    fn fill(&self, cell: [usize; 3]) -> Option<Arc<dyn Shape>> {
        let middle = DVec3::from_array(cell.map(|c| c as f64 + 0.5));
        // Half the diagonal, and a little for rounding.
        let radius = 0.5001 * 3f64.sqrt() * self.cell;
        self.shape.pruned(self.origin + self.cell * middle, radius)
    }
}

impl Shape for Celled {
    fn distance(&self, p: DVec3) -> f64 {
        self.at(p).distance(p)
    }
    fn bounds(&self) -> Bounds {
        self.shape.bounds()
    }
    fn normal(&self, p: DVec3) -> DVec3 {
        self.at(p).normal(p)
    }
    fn distance_normal(&self, p: DVec3) -> (f64, DVec3) {
        self.at(p).distance_normal(p)
    }
    fn color(&self, p: DVec3) -> Option<[u8; 3]> {
        self.at(p).color(p)
    }
    fn cost(&self) -> usize {
        self.shape.cost()
    }
    fn range(&self, center: DVec3, radius: f64) -> (f64, f64) {
        self.shape.range(center, radius)
    }
    fn pruned(&self, center: DVec3, radius: f64) -> Option<Arc<dyn Shape>> {
        self.shape.pruned(center, radius)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{Combined, Cuboid, Cylinder, Operation, Placed, Pose, Scaled, Sphere, Torus};
    use crate::random::Random;

    fn placed(shape: impl Shape + 'static, at: DVec3) -> Arc<dyn Shape> {
        Arc::new(Placed::new(Arc::new(shape), Pose::from_degrees(at, 50.0 * at)))
    }

    /// A box with a cavity of blended balls, a ring and a pipe.
    fn mold() -> Arc<dyn Shape> {
        let balls = (0..40).map(|k| placed(Sphere { radius: 0.12 }, 0.6 * Random::new(1, k).in_cube())).collect();
        let bumps: Arc<dyn Shape> = Arc::new(Combined::new(Operation::Union, balls, 0.03));
        let ring = Scaled::new(Arc::new(Torus { radius: 0.4, tube: 0.08 }), DVec3::new(1.0, 1.4, -0.7));
        let body = vec![bumps, placed(ring, DVec3::X * 0.1), placed(Sphere { radius: 0.35 }, DVec3::ZERO)];
        let body: Arc<dyn Shape> = Arc::new(Combined::new(Operation::Union, body, 0.05));
        let cut = vec![body, placed(Sphere { radius: 0.7 }, DVec3::Y * 0.1)];
        let cut: Arc<dyn Shape> = Arc::new(Combined::new(Operation::Intersection, cut, 0.02));
        let pipe = placed(Cylinder::new(0.1, 1.0, 0.0), DVec3::Y * 0.7);
        let cavity: Arc<dyn Shape> = Arc::new(Combined::new(Operation::Union, vec![cut, pipe], 0.0));
        let block: Arc<dyn Shape> = Arc::new(Cuboid::new(DVec3::splat(1.8), 0.0));
        Arc::new(Combined::new(Operation::Difference, vec![block, cavity], 0.0))
    }

    #[test]
    fn cells_answer_to_the_bit_as_the_whole_does() {
        let whole = mold();
        let celled = Celled::new(&whole, 0.1, 0.3).unwrap();
        for k in 0..20_000 {
            let p = 1.3 * Random::new(2, k).in_cube();
            assert_eq!(celled.distance(p), whole.distance(p), "{p}");
            assert_eq!(celled.distance_normal(p), whole.distance_normal(p), "{p}");
        }
        let parts: Vec<usize> = celled.cells.iter().filter_map(|c| Some(c.get()?.as_ref()?.cost())).collect();
        assert!(parts.len() > 1000 && parts.iter().sum::<usize>() < 8 * parts.len(), "{}", parts.iter().sum::<usize>());
        let ball: Arc<dyn Shape> = Arc::new(Sphere { radius: 1.0 });
        assert!(Celled::new(&ball, 0.1, 0.1).is_none() && Celled::new(&whole, 1e-9, 0.1).is_none());
    }
}
