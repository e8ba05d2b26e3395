//! Points that fill a shape, with the volume of each.

use super::VolumeSamples;
use super::depth::DepthField;
use super::occupancy::Occupancy;
use super::patches::surface_patches;
use super::relaxed::{self, move_inside};
use super::voronoi::share_out;
use crate::error::{Diagnostic, Result};
use crate::geometry::Shape;
use crate::neighbors::cell_order;
use crate::scene::Sampling;
use glam::DVec3;
use rayon::prelude::*;

/// How fine to sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SampleSize {
    /// Distance between points [m]; at the surface for a graded sampling.
    Spacing(f64),
    /// Number of points, met within 10 %.
    Points(usize),
}

/// Most points of one body.
const MOST_POINTS: f64 = 20e6;
/// Cells of the fine grid along one spacing.
const FINENESS: f64 = 5.0;
/// Fastest growth of the spacing per meter of depth of a graded sampling, and its limit: steps of at most 15 % from
/// cell to cell, up to twice the spacing of the surface.
const GROWTH: f64 = 0.15;
const COARSEST: f64 = 2.0;

/// Fills the shape with points. The volumes are those of the points' Voronoi cells inside the shape.
///
/// `Regular` puts the points in the middle of cubic cells that are aligned with the shape's bounding box; a cell that
/// the surface cuts keeps its point, moved inside where needed, if about half of it is inside. `Poisson` and `Graded`
/// follow `seed`.
pub fn sample_volume(shape: &dyn Shape, kind: Sampling, size: SampleSize, seed: u64) -> Result<VolumeSamples> {
    let extent = Extent::measure(shape)?;
    match size {
        SampleSize::Spacing(s) if !(s > 0.0 && s.is_finite()) => {
            return Err(Diagnostic::new(format!("the spacing {s} m is not a positive length")).key("spacing").into());
        }
        SampleSize::Spacing(s) if extent.volume / s.powi(3) > MOST_POINTS => {
            return Err(too_many(extent.volume / s.powi(3), extent.volume));
        }
        SampleSize::Points(0) => {
            return Err(Diagnostic::new("a body needs at least one point").key("points").into());
        }
        SampleSize::Points(n) if n as f64 > MOST_POINTS => return Err(too_many(n as f64, extent.volume)),
        _ => {}
    }
    let (mut positions, spacing) = match kind {
        Sampling::Regular => regular(shape, &extent, size),
        Sampling::Poisson => poisson(shape, &extent, size, seed),
        Sampling::Graded => graded(shape, &extent, size, seed),
    };
    if positions.is_empty() {
        return Err(too_thin(size, &extent));
    }
    let order = cell_order(&positions, 2.0 * spacing);
    positions = order.iter().map(|&i| positions[i as usize]).collect();
    let local = |p: &DVec3| if kind == Sampling::Graded { graded_spacing(shape, spacing, *p) } else { spacing };
    let spacings: Vec<f64> = positions.par_iter().map(local).collect();
    let (volumes, volume) = volumes(shape, &extent, &positions, spacing, &spacings);
    let patches = surface_patches(shape, spacing, volume);
    Ok(VolumeSamples { positions, volumes, spacings, patches, volume })
}

/// What is known of a shape before it is sampled.
struct Extent {
    /// Size of the bounding box [m].
    size: DVec3,
    center: DVec3,
    /// Volume [m³], to about a percent.
    volume: f64,
    /// Places inside with their volume and depth.
    places: Vec<(DVec3, f64)>,
}

impl Extent {
    fn measure(shape: &dyn Shape) -> Result<Self> {
        let bounds = shape.bounds();
        let size = bounds.size();
        if bounds.min.cmpgt(bounds.max).any() || size.is_nan() {
            return Err(Diagnostic::new("the shape is empty: there is nothing to sample").into());
        }
        if !size.is_finite() {
            let fault = Diagnostic::new("the shape reaches to infinity: it cannot be filled with points");
            return Err(fault.hint("intersect the plane with a box").into());
        }
        // Look closer until the volume no longer changes: thin shapes show up late.
        let (mut edge, mut volume) = (size.max_element() / 32.0, 0.0);
        for step in 0..4 {
            if edge <= 0.0 {
                break;
            }
            let grid = Occupancy::new(shape, bounds.min, edge);
            let before = std::mem::replace(&mut volume, grid.volume());
            if step == 3 || (volume > 0.0 && (volume - before).abs() < 0.01 * volume) {
                let mut places = Vec::new();
                grid.for_each_cell(|p, part| places.push((p, part * edge.powi(3))));
                return Ok(Self { size, center: bounds.center(), volume, places });
            }
            edge *= 0.5;
        }
        Ok(Self { size, center: bounds.center(), volume: 0.0, places: Vec::new() })
    }
}

fn too_many(points: f64, volume: f64) -> crate::Error {
    let fault = Diagnostic::new(format!("about {points:.1e} points would be needed")).key("spacing");
    let enough = (volume / 1e6).cbrt();
    fault
        .expected(format!("at most {MOST_POINTS:.0e} points in a body"))
        .hint(format!("spacing = \"{enough:.2e} m\" gives about a million"))
        .into()
}

fn too_thin(size: SampleSize, extent: &Extent) -> crate::Error {
    if extent.volume <= 0.0 {
        let fault = Diagnostic::new(format!(
            "no points inside: the shape, {:.3e} m long, encloses no volume that could be found",
            extent.size.max_element()
        ));
        return fault.hint("is the shape flat, or its mesh open or inside out?").into();
    }
    let what = match size {
        SampleSize::Spacing(s) => format!("no points inside: the spacing {s:.3e} m is larger than the shape is thick"),
        SampleSize::Points(_) => "no points inside: the shape is too thin for so few points".into(),
    };
    let enough = (extent.volume / 100.0).cbrt();
    Diagnostic::new(what).key("spacing").hint(format!("spacing = \"{enough:.2e} m\" or less")).into()
}

/// Spacing of a cubic grid and its shift in half cells per axis.
#[derive(Clone, Copy)]
struct Lattice {
    spacing: f64,
    shift: [bool; 3],
}

impl Lattice {
    /// Cells that get a point, and whether the point must be moved inside.
    fn fill(self, shape: &dyn Shape, extent: &Extent) -> Vec<(DVec3, bool)> {
        // Whole cells are centered on the bounding box, so that a box of whole cells is met exactly.
        let cells = (extent.size / self.spacing).round().max(DVec3::ONE);
        let shift = DVec3::from_array(self.shift.map(|s| if s { 0.5 } else { 0.0 }));
        let corner = extent.center - self.spacing * (0.5 * cells + shift);
        let mut found = Vec::new();
        // Part 0.4: the middle of the cell is at most a tenth of the spacing outside; 0.7: a fifth inside.
        Occupancy::new(shape, corner, self.spacing).for_each_cell(|p, part| {
            if part >= 0.4 {
                found.push((p, part < 0.7));
            }
        });
        found
    }
}

fn regular(shape: &dyn Shape, extent: &Extent, size: SampleSize) -> (Vec<DVec3>, f64) {
    let (lattice, cells) = match size {
        SampleSize::Spacing(spacing) => {
            let lattice = Lattice { spacing, shift: [false; 3] };
            (lattice, lattice.fill(shape, extent))
        }
        SampleSize::Points(n) => lattice_of(shape, extent, n),
    };
    let place = |&(p, cut): &(DVec3, bool)| {
        if cut { move_inside(shape, p, 0.2 * lattice.spacing) } else { (p, -0.2 * lattice.spacing) }
    };
    let placed: Vec<(DVec3, f64)> = cells.par_iter().map(place).collect();
    let inside: Vec<DVec3> = placed.into_iter().filter(|&(_, distance)| distance < 0.0).map(|(p, _)| p).collect();
    if inside.is_empty() && matches!(size, SampleSize::Points(_)) {
        // Every cell has its middle in a hole: so few points need no grid.
        return poisson(shape, extent, size, 0);
    }
    (inside, lattice.spacing)
}

/// The lattice whose number of points comes nearest to `points`: the spacing is corrected a few times; if the count
/// jumps (a box gains whole layers), spacings and shifts nearby are tried.
fn lattice_of(shape: &dyn Shape, extent: &Extent, points: usize) -> (Lattice, Vec<(DVec3, bool)>) {
    let wanted = points as f64;
    let error = |found: usize| (found as f64 / wanted - 1.0).abs();
    let first = (extent.volume / wanted).cbrt();
    let mut lattice = Lattice { spacing: first, shift: [false; 3] };
    let mut best = (lattice, lattice.fill(shape, extent));
    let mut count = best.1.len();
    for _ in 0..6 {
        if error(best.1.len()) <= 0.02 {
            return best;
        }
        lattice.spacing *= (count.max(1) as f64 / wanted).cbrt().clamp(0.7, 1.4);
        let found = lattice.fill(shape, extent);
        count = found.len();
        if error(count) < error(best.1.len()) {
            best = (lattice, found);
        }
    }
    for step in 0..25 {
        for shift in 0..8 {
            if error(best.1.len()) <= 0.05 {
                return best;
            }
            let spacing = first * (0.82 + 0.015 * f64::from(step));
            let tried = Lattice { spacing, shift: [shift & 1 > 0, shift & 2 > 0, shift & 4 > 0] };
            let found = tried.fill(shape, extent);
            if error(found.len()) < error(best.1.len()) {
                best = (tried, found);
            }
        }
    }
    best
}

fn poisson(shape: &dyn Shape, extent: &Extent, size: SampleSize, seed: u64) -> (Vec<DVec3>, f64) {
    let count = match size {
        SampleSize::Spacing(s) => (extent.volume / s.powi(3)).round() as usize,
        SampleSize::Points(n) => n,
    };
    if count == 0 || extent.volume <= 0.0 {
        return (Vec::new(), extent.size.max_element());
    }
    let spacing = (extent.volume / count as f64).cbrt();
    (relaxed::sample(shape, count, (spacing, spacing), &|_| spacing, seed), spacing)
}

/// Spacing at a place of a graded sampling that has `surface` [m] at the surface.
fn graded_spacing(shape: &dyn Shape, surface: f64, p: DVec3) -> f64 {
    spacing_at_depth(surface, -shape.distance(p))
}

fn spacing_at_depth(surface: f64, depth: f64) -> f64 {
    // The outermost cells, whose middle is half a spacing deep, have the spacing of the surface.
    let grown = surface + GROWTH * (depth - 0.5 * surface).max(0.0);
    grown.min(COARSEST * surface)
}

fn graded(shape: &dyn Shape, extent: &Extent, size: SampleSize, seed: u64) -> (Vec<DVec3>, f64) {
    let coarse = DepthField::new(shape, 0.02 * extent.size.max_element());
    let places: Vec<(f64, f64)> = extent.places.iter().map(|&(p, v)| (coarse.at(p), v)).collect();
    let count = |surface: f64| -> f64 { places.iter().map(|&(d, v)| v / spacing_at_depth(surface, d).powi(3)).sum() };
    let (surface, wanted) = match size {
        SampleSize::Spacing(s) => (s, count(s).round() as usize),
        SampleSize::Points(n) => {
            // The number falls as the spacing grows.
            let mut low = (extent.volume / n as f64).cbrt() / COARSEST;
            let mut high = low * COARSEST;
            for _ in 0..40 {
                let middle = 0.5 * (low + high);
                if count(middle) > n as f64 { low = middle } else { high = middle }
            }
            (high, n)
        }
    };
    if wanted == 0 || extent.volume <= 0.0 {
        return (Vec::new(), surface);
    }
    let deepest = places.iter().fold(0.0f64, |m, &(d, _)| m.max(d));
    let coarsest = spacing_at_depth(surface, deepest + 0.1 * surface);
    let field = DepthField::new(shape, surface);
    let spacing = |p: DVec3| spacing_at_depth(surface, field.at(p));
    (relaxed::sample(shape, wanted, (surface, coarsest), &spacing, seed), surface)
}

/// Volume of each point's cell, and their sum [m³].
fn volumes(shape: &dyn Shape, extent: &Extent, positions: &[DVec3], spacing: f64, spacings: &[f64]) -> (Vec<f64>, f64) {
    // Cells of the fine grid divide the cells of a regular sampling; few points are not measured more coarsely.
    let cells = (extent.size / spacing).round().max(DVec3::ONE);
    let corner = extent.center - 0.5 * spacing * cells;
    let fineness = FINENESS.max((FINENESS * 6.4 * spacing / extent.size.max_element()).ceil());
    let grid = Occupancy::new(shape, corner, spacing / fineness);
    let shares = share_out(&grid, positions, spacings);
    let cell = grid.edge.powi(3);
    // No point is without volume: one whose cell fell through the fine grid gets half a cell of it.
    let mut volumes: Vec<f64> = shares.iter().map(|s| s.weight.max(0.5) * cell).collect();
    let total: f64 = volumes.iter().sum();
    let volume = grid.volume();
    volumes.iter_mut().for_each(|v| *v *= volume / total);
    (volumes, volume)
}
