//! The depth below a shape's surface on a coarse grid, interpolated: many questions for the price of few.

use crate::geometry::Shape;
use glam::DVec3;
use rayon::prelude::*;

/// Most nodes of the grid; a finer one is made coarser.
const MOST_NODES: f64 = 8e6;

/// Depths at the nodes of a cubic grid around a shape.
pub(super) struct DepthField {
    origin: DVec3,
    edge: f64,
    dims: [usize; 3],
    depths: Vec<f32>,
}

impl DepthField {
    /// Measures a bounded shape on cells of the given edge [m].
    pub fn new(shape: &dyn Shape, edge: f64) -> Self {
        let bounds = shape.bounds();
        let nodes = |edge: f64| (bounds.size() / edge).ceil() + 2.0;
        let mut edge = edge;
        while nodes(edge).element_product() > MOST_NODES {
            edge *= 1.1;
        }
        let dims = nodes(edge).to_array().map(|n| n as usize);
        let origin = bounds.center() - 0.5 * edge * (nodes(edge) - 1.0);
        let mut depths = vec![0.0; dims[0] * dims[1] * dims[2]];
        depths.par_chunks_mut(dims[0]).enumerate().for_each(|(row, depths)| {
            for (x, depth) in depths.iter_mut().enumerate() {
                let at = DVec3::new(x as f64, (row % dims[1]) as f64, (row / dims[1]) as f64);
                *depth = -shape.distance(origin + edge * at) as f32;
            }
        });
        Self { origin, edge, dims, depths }
    }

    /// Depth at a place [m], negative outside; places beyond the grid count as at its border.
    pub fn at(&self, p: DVec3) -> f64 {
        let last = DVec3::from_array(self.dims.map(|n| n as f64 - 1.001));
        let place = ((p - self.origin) / self.edge).clamp(DVec3::ZERO, last);
        let part = place - place.floor();
        let [nx, ny, _] = self.dims;
        let node = (place.z as usize * ny + place.y as usize) * nx + place.x as usize;
        let along =
            |node: usize| f64::from(self.depths[node]) * (1.0 - part.x) + f64::from(self.depths[node + 1]) * part.x;
        let layer = |node: usize| along(node) * (1.0 - part.y) + along(node + nx) * part.y;
        layer(node) * (1.0 - part.z) + layer(node + nx * ny) * part.z
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Sphere;
    use crate::random::Random;

    #[test]
    fn interpolated_depths_are_near_the_true_ones() {
        let shape = Sphere { radius: 0.5 };
        let field = DepthField::new(&shape, 0.05);
        for i in 0..1000 {
            let p = 0.6 * Random::new(1, i).in_cube();
            let error = field.at(p) + shape.distance(p);
            assert!(p.length() > 0.5 || error.abs() < 0.03, "{p}: {error}");
            assert!(field.at(100.0 * p).is_finite());
        }
    }
}
