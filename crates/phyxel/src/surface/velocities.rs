//! Velocities of surface that is made anew in each frame, for motion blur.

use super::Surfels;
use super::flowing::spacing_of;
use crate::linalg::{outer, trace};
use crate::neighbors::Grid;
use glam::{DMat3, DVec3, Vec3};
use rayon::prelude::*;

/// Points have a say in the velocity of surface within this many of their spacings.
const REACH: f64 = 2.0;
/// Spread of points that is too small to tell a slope [of their squared spread in all].
const LEAN: f64 = 1e-3;

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

/// Velocities at `places` on the surface of points [m/s]: of the field that fits the points around each best, those of a rigid motion
/// to a few parts in a thousand.
pub fn velocities_among(positions: &[Vec3], spacings: &[f32], velocities: &[Vec3], places: &[Vec3]) -> Vec<Vec3> {
    let sound = |i: &usize| positions[*i].is_finite() && velocities[*i].is_finite() && spacings[*i] > 0.0;
    let all: Vec<usize> = (0..positions.len()).filter(sound).collect();
    let least = all.iter().map(|&i| spacings[i]).fold(f32::INFINITY, f32::min);
    if !least.is_finite() {
        return vec![Vec3::ZERO; places.len()];
    }
    let points: Vec<DVec3> = all.iter().map(|&i| positions[i].as_dvec3()).collect();
    let grid = Grid::new(&points, REACH * f64::from(least));
    let speed = |j: usize| velocities[all[j]].as_dvec3();
    let fit = |place: &Vec3| {
        let p = place.as_dvec3();
        let Some((nearest, squared)) = grid.nearest(p) else { return Vec3::ZERO };
        let reach = (REACH * f64::from(spacings[all[nearest]])).max(1.5 * squared.sqrt());
        let weight = |r2: f64| (1.0 - r2 / (reach * reach)).powi(2);
        let (mut sum, mut middle, mut mean) = (0.0, DVec3::ZERO, DVec3::ZERO);
        grid.for_each_within(p, reach, |j, r2| {
            let w = weight(r2);
            (sum, middle, mean) = (sum + w, middle + w * points[j], mean + w * speed(j));
        });
        let (middle, mean) = (middle / sum, mean / sum);
        let (mut moment, mut moved) = (DMat3::ZERO, DMat3::ZERO);
        grid.for_each_within(p, reach, |j, r2| {
            let r = points[j] - middle;
            moment += outer(weight(r2) * r, r);
            moved += outer(speed(j) - mean, weight(r2) * r);
        });
        // Points in a line or nearly in a plane say nothing of what is beside them.
        let lean = LEAN * trace(moment);
        let gradient = match lean > 0.0 {
            true => moved * (moment + DMat3::from_diagonal(DVec3::splat(lean))).inverse(),
            false => DMat3::ZERO,
        };
        (mean + gradient * (p - middle)).as_vec3()
    };
    places.par_iter().with_min_len(64).map(fit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::IsoSurface;

    #[test]
    fn the_surface_of_points_turns_with_them() {
        let spacing = 0.1f32;
        let all = (0..15 * 15 * 15).map(|k| Vec3::new((k % 15) as f32, (k / 15 % 15) as f32, (k / 225) as f32) - 7.0);
        let points: Vec<Vec3> = all.map(|p| spacing * p).filter(|p| p.length() < 0.6).collect();
        let motion = |p: Vec3| Vec3::new(0.5, -2.0, 0.0) + Vec3::new(0.3, 1.0, -0.2).cross(p);
        let velocities: Vec<Vec3> = points.iter().map(|p| motion(*p)).collect();
        let surface = IsoSurface::around(&points, spacing);
        let found = velocities_among(&points, &vec![spacing; points.len()], &velocities, &surface.positions);
        assert_eq!(found.len(), surface.positions.len());
        for (p, v) in surface.positions.iter().zip(&found) {
            assert!((*v - motion(*p)).length() < 2e-3, "{v} {}", motion(*p));
        }
    }

    #[test]
    fn drops_and_nothing_have_an_answer() {
        let one = velocities_among(&[Vec3::ZERO], &[0.1], &[Vec3::X], &[Vec3::Y * 0.05, Vec3::Y * 7.0]);
        assert_eq!(one, [Vec3::X; 2]);
        assert_eq!(velocities_among(&[], &[], &[], &[Vec3::Y]), [Vec3::ZERO]);
        let broken = velocities_among(&[Vec3::NAN, Vec3::X], &[0.1; 2], &[Vec3::X, Vec3::Y], &[Vec3::ZERO]);
        assert_eq!(broken, [Vec3::Y]);
    }
}
