//! Surfels beside cracks follow their own side alone.

use super::Carrier;
use crate::models::shell::cracks::Disc;
use crate::neighbors::Grid;
use glam::DVec3;

/// Nodes that are asked to carry a surfel whose own ones all lie beyond a crack.
const CANDIDATES: usize = 24;

/// What carried the surfels before any crack.
#[derive(Debug, Clone, Default)]
pub(super) struct Uncut {
    points: Vec<u32>,
    weights: Vec<f32>,
    /// Discs that have been looked at.
    seen: usize,
    /// How far from a surfel the points lie that carry it, at most [m].
    reach: f64,
}

impl Carrier {
    /// Takes the points beyond cracks from the surfels; `discs` are all cracks so far, oldest first. What a surfel has in the end
    /// does not depend on how often this was called in between.
    pub fn cut(&mut self, discs: &[Disc], rest_positions: &[DVec3]) {
        let Some(new) = discs.get(self.uncut.seen..).filter(|new| !new.is_empty()) else { return };
        if self.uncut.weights.is_empty() {
            self.uncut.points.clone_from(&self.points);
            self.uncut.weights.clone_from(&self.weights);
            self.uncut.reach = self.reach(rest_positions);
        }
        let farthest = self.uncut.reach;
        let near = |disc: &Disc, p: DVec3| {
            let reach = disc.radius + farthest;
            disc.center.distance_squared(p) < reach * reach
        };
        let places = self.rest.positions.iter().enumerate();
        let touched: Vec<usize> =
            places.filter(|(_, p)| new.iter().any(|d| near(d, p.as_dvec3()))).map(|(s, _)| s).collect();
        let mut grid = None;
        for s in touched {
            let p = self.rest.positions[s].as_dvec3();
            let around: Vec<&Disc> = discs.iter().filter(|d| near(d, p)).collect();
            let hidden = |i: u32| around.iter().any(|d| d.separates(p, rest_positions[i as usize]));
            let range = self.starts[s] as usize..self.starts[s + 1] as usize;
            self.points[range.clone()].copy_from_slice(&self.uncut.points[range.clone()]);
            let mut sum = 0.0;
            for k in range.clone() {
                self.weights[k] = if hidden(self.points[k]) { 0.0 } else { self.uncut.weights[k] };
                sum += self.weights[k];
            }
            if sum > 0.0 {
                self.weights[range].iter_mut().for_each(|w| *w /= sum);
                self.fit_fold(s);
                continue;
            }
            let grid = grid.get_or_insert_with(|| Grid::new(rest_positions, farthest));
            let candidates = grid.k_nearest(p, CANDIDATES.min(rest_positions.len()));
            if let Some(&(i, _)) = candidates.iter().find(|(i, _)| !hidden(*i as u32)).or(candidates.first()) {
                self.points[range.start] = i as u32;
                self.weights[range.start] = 1.0;
            }
            self.fit_fold(s);
        }
        self.uncut.seen = discs.len();
    }

    fn reach(&self, rest_positions: &[DVec3]) -> f64 {
        let farthest = |s: usize| {
            let p = self.rest.positions[s].as_dvec3();
            self.carrying(s).iter().map(|&i| rest_positions[i as usize].distance(p)).fold(0.0, f64::max)
        };
        (0..self.rest.len()).map(farthest).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::Surfels;
    use glam::{DMat3, Vec3};

    #[test]
    fn beside_a_crack_surfels_follow_their_own_side() {
        let points: Vec<DVec3> = (0..110).map(|k| DVec3::new(f64::from(k % 11), 0.0, f64::from(k / 11))).collect();
        let mut surfels = Surfels::default();
        for k in 0..900 {
            surfels.positions.push(Vec3::new((k % 30) as f32 / 3.0, 0.0, (k / 30) as f32 / 3.0));
            surfels.axes_u.push(0.2 * Vec3::X);
            surfels.axes_v.push(0.2 * Vec3::Z);
            surfels.normals.push(Vec3::Y);
        }
        let carrier = Carrier::bind(surfels, &points, &[1.8; 110]).follow_folds(&points, &[1.8; 110]);
        let disc = |z: f64| Disc { center: DVec3::new(5.4, 0.0, z), normal: DVec3::X, radius: 0.6 };
        let discs: Vec<Disc> = (-1..12).map(|z| disc(f64::from(z))).collect();
        let mut once = carrier.clone();
        once.cut(&discs, &points);
        let mut often = carrier.clone();
        (1..=discs.len()).for_each(|n| often.cut(&discs[..n], &points));
        assert!(once.weights == often.weights && once.points == often.points);
        // The right half moves away: every surfel keeps its side, and nothing is in between.
        let moved: Vec<DVec3> = points.iter().map(|p| if p.x > 5.4 { *p + 10.0 * DVec3::X } else { *p }).collect();
        let mut out = Surfels::default();
        once.update(&moved, &points, &[DMat3::IDENTITY; 110], &mut out);
        for (p, rest) in out.positions.iter().zip(&once.rest().positions) {
            let expected = if rest.x > 5.4 { *rest + 10.0 * Vec3::X } else { *rest };
            assert!(p.distance(expected) < 1e-5, "{rest} to {p}");
        }
        // Nor are any drawn out after the other side.
        assert!(out.axes_u.iter().all(|u| u.distance(0.2 * Vec3::X) < 1e-5));
    }
}
