//! Small bodies for the tests of this folder.

use super::stencils::{StencilOptions, StencilReport, Stencils};
use crate::random::Random;
use crate::sampling::SurfacePatch;
use glam::DVec3;

/// A box of points, cell-centered, moved by at most `jitter` spacings, with the patches of its six sides.
pub struct BoxBody {
    pub positions: Vec<DVec3>,
    pub volumes: Vec<f64>,
    pub patches: Vec<SurfacePatch>,
    pub size: DVec3,
}

impl BoxBody {
    pub fn new(cells: [usize; 3], spacing: f64, jitter: f64) -> Self {
        let mut positions = Vec::new();
        for z in 0..cells[2] {
            for y in 0..cells[1] {
                for x in 0..cells[0] {
                    let center = DVec3::new(x as f64 + 0.5, y as f64 + 0.5, z as f64 + 0.5);
                    let shift = Random::new(7, positions.len() as u64).in_cube();
                    positions.push((center + shift * jitter) * spacing);
                }
            }
        }
        let volumes = vec![spacing.powi(3); positions.len()];
        let size = DVec3::from_array(cells.map(|c| c as f64)) * spacing;
        Self { positions, volumes, patches: sides(cells, spacing, size), size }
    }

    pub fn stencils(&self, options: &StencilOptions) -> (Stencils, StencilReport) {
        let range = 0..self.positions.len();
        Stencils::build(&self.positions, &self.volumes, &[range], &[&self.patches], options)
    }
}

fn sides(cells: [usize; 3], spacing: f64, size: DVec3) -> Vec<SurfacePatch> {
    let mut patches = Vec::new();
    for axis in 0..3 {
        let (b, c) = ((axis + 1) % 3, (axis + 2) % 3);
        for (place, sign) in [(0.0, -1.0), (size[axis], 1.0)] {
            for k in 0..cells[b] * cells[c] {
                let mut position = DVec3::ZERO;
                position[axis] = place;
                position[b] = ((k % cells[b]) as f64 + 0.5) * spacing;
                position[c] = ((k / cells[b]) as f64 + 0.5) * spacing;
                let mut normal = DVec3::ZERO;
                normal[axis] = sign;
                patches.push(SurfacePatch { position, normal, area: spacing * spacing });
            }
        }
    }
    patches
}

/// A field that is the same on every machine: each component between -1 and 1.
pub fn noise(count: usize, seed: u64) -> Vec<DVec3> {
    (0..count).map(|i| Random::new(seed, i as u64).in_cube()).collect()
}
