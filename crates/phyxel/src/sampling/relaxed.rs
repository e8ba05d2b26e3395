//! Blue noise in a shape: darts of shrinking radius [MF92], then Lloyd steps [DFG99] that even the cells out.

use super::occupancy::{CELLS, Occupancy};
use super::voronoi::share_out;
use crate::geometry::Shape;
use crate::neighbors::Grid;
use crate::random::{Random, mix};
use glam::DVec3;
use rayon::prelude::*;

/// Lloyd steps after the darts.
const STEPS: usize = 20;

/// `count` points in the shape whose distances follow `spacing` [m], a function of the place that is nowhere below
/// `finest` and nowhere above `coarsest`.
pub(super) fn sample(
    shape: &dyn Shape,
    count: usize,
    (finest, coarsest): (f64, f64),
    spacing: &(dyn Fn(DVec3) -> f64 + Sync),
    seed: u64,
) -> Vec<DVec3> {
    let bounds = shape.bounds();
    let mut edge = finest / 3.0;
    let mut grid = Occupancy::new(shape, bounds.min, edge);
    // Few points in a small or thin shape: look closer, so that there are enough places to choose from.
    for _ in 0..4 {
        let places: usize = grid.blocks.iter().map(|b| (0..CELLS).filter(|&c| b.weight(c) > 0.5).count()).sum();
        if places >= 8 * count {
            break;
        }
        edge *= 0.5;
        grid = Occupancy::new(shape, bounds.min, edge);
    }
    let mut positions = throw_darts(&grid, count, coarsest, spacing, seed);

    // The cells of a centroidal Voronoi diagram have edges like density^(-1/5) in space [DFG99].
    let graded = coarsest > finest * (1.0 + 1e-9);
    let grid = if graded { grid.weighted(|p| (finest / spacing(p)).powi(5)) } else { grid };
    // How far each point is from the surface at least: far ones need not ask for the distance again.
    let mut clearances = vec![0.0f64; positions.len()];
    for _ in 0..STEPS {
        let spacings: Vec<f64> = positions.par_iter().map(|&p| spacing(p)).collect();
        let shares = share_out(&grid, &positions, &spacings);
        let points = positions.par_iter_mut().zip(&mut clearances).zip(&shares);
        points.filter(|(_, share)| share.weight > 0.0).for_each(|((p, clearance), share)| {
            let wanted = share.moment / share.weight;
            *clearance -= (wanted - *p).length();
            if *clearance >= 0.1 * finest {
                *p = wanted;
                return;
            }
            let (moved, distance) = move_inside(shape, wanted, 0.1 * finest);
            if distance < 0.0 {
                (*p, *clearance) = (moved, -distance);
            } else {
                *clearance = 0.0;
            }
        });
    }
    positions
}

/// Moves a point down the distance until it is `depth` inside, or as deep as a few steps bring it; the place and its
/// signed distance.
pub(super) fn move_inside(shape: &dyn Shape, mut p: DVec3, depth: f64) -> (DVec3, f64) {
    let mut deepest = (p, f64::INFINITY);
    for _ in 0..6 {
        let distance = shape.distance(p);
        if distance < deepest.1 {
            deepest = (p, distance);
        }
        if distance <= -depth {
            break;
        }
        p -= shape.normal(p) * (distance + 1.01 * depth);
    }
    deepest
}

/// Takes places in a random order, each if it is far enough from those taken; whenever no place is left the distance
/// asked for shrinks a little, until there are `count` points.
fn throw_darts(
    grid: &Occupancy,
    count: usize,
    coarsest: f64,
    spacing: &(dyn Fn(DVec3) -> f64 + Sync),
    seed: u64,
) -> Vec<DVec3> {
    let mut places = Vec::new();
    grid.for_each_cell(|center, part| {
        // The middle of a cell that is wholly inside is half an edge deep: so far may the dart go astray.
        let astray = if part < 1.0 { 0.0 } else { 0.5 * grid.edge / 3f64.sqrt() };
        if part > 0.5 {
            places.push(center + astray * Random::new(mix(seed, 1), places.len() as u64).in_cube());
        }
    });
    let spacings: Vec<f64> = places.par_iter().map(|&p| spacing(p)).collect();
    let mut order: Vec<u32> = (0..places.len() as u32).collect();
    order.sort_by_cached_key(|&i| mix(mix(seed, 2), u64::from(i)));

    let search = Grid::new(&places, coarsest);
    // Squared distance to the nearest taken place, in units of the local spacing.
    let mut closest = vec![f64::INFINITY; places.len()];
    let mut taken = Vec::with_capacity(count);
    let mut radius = 1.0f64;
    while taken.len() < count && radius > 1e-3 {
        for &i in &order {
            let i = i as usize;
            if closest[i] < radius * radius || taken.len() == count {
                continue;
            }
            taken.push(places[i]);
            search.for_each_within(places[i], spacings[i].min(coarsest), |j, r2| {
                let mean = 0.5 * (spacings[i] + spacings[j]);
                closest[j] = closest[j].min(r2 / (mean * mean));
            });
        }
        radius *= 0.96;
    }
    taken
}
