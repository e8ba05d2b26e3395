//! Particles of a lattice inside a shape.

use super::sites::Sites;
use crate::geometry::Shape;
use crate::{Diagnostic, Result};
use glam::DVec3;
use rayon::prelude::*;

/// Cells along the longest side when the volume of a shape is measured.
const MEASURED_CELLS: f64 = 48.0;
/// Most particles of one body.
const MOST_PARTICLES: f64 = 2e7;

/// Volume of a shape [m³], or in the plane the area of its section at z = 0 [m²], to about a percent.
pub fn measure(shape: &dyn Shape, dimensions: usize) -> f64 {
    let bounds = shape.bounds();
    let mut size = bounds.size();
    if dimensions == 2 {
        size.z = 0.0;
    }
    if !bounds.is_finite() || size.max_element() <= 0.0 {
        return 0.0;
    }
    let edge = size.max_element() / MEASURED_CELLS;
    let cells = (size / edge).ceil().max(DVec3::ONE);
    let middle = |k: usize| {
        let (x, rest) = (k % cells.x as usize, k / cells.x as usize);
        let (y, z) = (rest % cells.y as usize, rest / cells.y as usize);
        let at = bounds.min + edge * (DVec3::new(x as f64, y as f64, z as f64) + 0.5);
        if dimensions == 2 { at.with_z(0.0) } else { at }
    };
    let count = (cells.x * cells.y * cells.z) as usize;
    // A cell that the surface cuts counts by its distance.
    let parts: Vec<f64> =
        (0..count).into_par_iter().map(|k| (0.5 - shape.distance(middle(k)) / edge).clamp(0.0, 1.0)).collect();
    parts.iter().sum::<f64>() * edge.powi(dimensions as i32)
}

/// Places of the lattice's sites inside a shape; of a few shifts of the lattice the one whose cells come nearest to its volume.
pub fn sample(shape: &dyn Shape, sites: &Sites) -> Result<Vec<DVec3>> {
    let wanted = measure(shape, sites.dimensions) / sites.cell_volume;
    if wanted > MOST_PARTICLES {
        let fault = Diagnostic::new(format!("about {wanted:.1e} particles would be needed")).key("spacing");
        return Err(fault.expected(format!("at most {MOST_PARTICLES:.0e} particles in a body")).into());
    }
    let mut best: Vec<DVec3> = Vec::new();
    for shift in 0..1usize << sites.dimensions {
        let half = |k: usize| if shift >> k & 1 == 1 { 0.5 } else { 0.0 };
        let found = fill(shape, sites, [half(0), half(1), half(2)]);
        let off = |count: usize| (count as f64 - wanted).abs();
        if best.is_empty() || off(found.len()) < off(best.len()) {
            best = found;
        }
    }
    if best.is_empty() {
        let fault = Diagnostic::new(format!("no particles inside at a spacing of {:.3e} m", sites.spacing));
        return Err(fault.key("spacing").hint("a smaller spacing").into());
    }
    Ok(best)
}

/// All sites inside, with the lattice shifted against the middle of the shape, in steps between its layers.
fn fill(shape: &dyn Shape, sites: &Sites, shift: [f64; 3]) -> Vec<DVec3> {
    let bounds = shape.bounds();
    let center = bounds.center();
    let flat = sites.dimensions == 2;
    let step = match flat {
        true => DVec3::new(0.5, 0.75f64.sqrt(), 1.0) * sites.spacing,
        false => DVec3::splat(sites.spacing / 2f64.sqrt()),
    };
    let reach = (0.5 * bounds.size() / step).ceil() + 1.0;
    let span = |n: f64| -(n as i64)..=n as i64;
    let deep = if flat { 0.0 } else { reach.z };
    let mut candidates = Vec::new();
    for z in span(deep) {
        for y in span(reach.y) {
            for x in span(reach.x) {
                // In the plane every other site of a row, so that rows interlock; in space those of even sum.
                if (x + y + z).rem_euclid(2) == 0 {
                    let k = DVec3::new(x as f64 + shift[0], y as f64 + shift[1], z as f64 + shift[2]);
                    let at = center + step * k;
                    candidates.push(if flat { at.with_z(0.0) } else { at });
                }
            }
        }
    }
    let margin = 1e-6 * sites.spacing;
    let inside: Vec<bool> = candidates.par_iter().map(|p| shape.distance(*p) < -margin).collect();
    candidates.into_iter().zip(inside).filter(|(_, inside)| *inside).map(|(p, _)| p).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{Cuboid, Sphere};

    #[test]
    fn cells_add_up_to_the_volume() {
        let ball = Sphere { radius: 0.5 };
        for dimensions in [2, 3] {
            let sites = Sites::new(dimensions, 0.06);
            let found = sample(&ball, &sites).unwrap();
            let exact = if dimensions == 3 { std::f64::consts::PI / 6.0 } else { 0.25 * std::f64::consts::PI };
            assert!((found.len() as f64 * sites.cell_volume / exact - 1.0).abs() < 0.03, "{}", found.len());
            assert!(found.iter().all(|p| p.length() < 0.5 && (dimensions == 3 || p.z == 0.0)));
        }
    }

    #[test]
    fn neighbors_are_one_spacing_apart() {
        let block = Cuboid::new(DVec3::splat(0.4), 0.0);
        for dimensions in [2, 3] {
            let found = sample(&block, &Sites::new(dimensions, 0.1)).unwrap();
            let nearest = |p: &DVec3| {
                let others = found.iter().filter(|q| *q != p).map(|q| q.distance(*p));
                others.fold(f64::INFINITY, f64::min)
            };
            assert!(found.iter().all(|p| (nearest(p) - 0.1).abs() < 1e-9));
        }
    }
}
