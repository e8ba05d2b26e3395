//! Normals of points of a surface: found by the plane of the nearest points, oriented along the surface.
//!
//! A point whose normal is known tells it to the neighbor whose normal is most parallel to its own, and so on: the least spanning
//! tree with the costs 1 - |n·n'| [HDD92]. Each connected piece is then turned outward as a whole.

use crate::linalg::{SymmetricEigen, outer};
use crate::neighbors::Grid;
use glam::{DMat3, DVec3};
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Nearest points that a plane is laid through.
const PLANE: usize = 12;
/// Nearest points that normals are handed on to.
const LINKS: usize = 8;
/// Second eigenvalue over the third below which points lie on a line.
const LINE: f64 = 1e-4;
/// Neighbors with normals that are this parallel ...
const PARALLEL: f64 = 0.9;
/// ... and lie beside each other, not above each other, belong to the same side.
const BESIDE: f64 = 0.3;
/// Conflicts per root of the number of points that a rough spot may have; the seam of a one-sided surface has more.
const FEW_CONFLICTS: f64 = 0.25;

/// Points that tell each other which way is out.
pub struct NormalGraph<'a> {
    positions: &'a [DVec3],
    /// Who tells whom.
    links: Vec<Vec<u32>>,
}

/// Unit normals by the plane through the nearest points, with any sign; None where the points lie on a line.
pub fn plane_normals(positions: &[DVec3], spacing: f64) -> Vec<Option<DVec3>> {
    let grid = Grid::new(positions, 2.0 * spacing);
    let normal = |p: &DVec3| {
        let near = grid.k_nearest(*p, PLANE + 1);
        let middle = near.iter().map(|&(j, _)| positions[j]).sum::<DVec3>() / near.len().max(1) as f64;
        let spread: DMat3 = near.iter().map(|&(j, _)| outer(positions[j] - middle, positions[j] - middle)).sum();
        let eigen = SymmetricEigen::new(spread);
        let flat = eigen.values.y > LINE * eigen.values.z && eigen.values.z > 0.0;
        flat.then(|| eigen.vectors.x_axis.normalize_or_zero()).filter(|n| n.is_normalized())
    };
    positions.par_iter().map(normal).collect()
}

impl<'a> NormalGraph<'a> {
    /// Links each point with its nearest ones; `spacing` is about their distance [m].
    pub fn new(positions: &'a [DVec3], spacing: f64) -> Self {
        let grid = Grid::new(positions, 2.0 * spacing);
        let near = |(i, p): (usize, &DVec3)| {
            let found = grid.k_nearest(*p, LINKS + 1);
            found.iter().map(|&(j, _)| j as u32).filter(|&j| j != i as u32).collect()
        };
        Self { positions, links: positions.par_iter().enumerate().map(near).collect() }
    }

    /// With given links.
    pub fn with_links(positions: &'a [DVec3], links: Vec<Vec<u32>>) -> Self {
        Self { positions, links }
    }

    /// Turns normals so that neighbors agree and each piece looks outward; says where they cannot agree, as on a surface with one
    /// side only.
    pub fn orient(&self, normals: &mut [DVec3]) -> Option<DVec3> {
        let count = normals.len();
        let back = self.reversed();
        let mut done = vec![false; count];
        let mut heap: BinaryHeap<Reverse<(u64, u32, u32)>> = BinaryHeap::new();
        for seed in 0..count {
            if done[seed] {
                continue;
            }
            let mut piece = Vec::new();
            heap.push(Reverse((0, seed as u32, seed as u32)));
            while let Some(Reverse((_, i, from))) = heap.pop() {
                let (i, from) = (i as usize, from as usize);
                if std::mem::replace(&mut done[i], true) {
                    continue;
                }
                if normals[i].dot(normals[from]) < 0.0 {
                    normals[i] = -normals[i];
                }
                piece.push(i);
                let own = self.links[i].iter().chain(&back.1[back.0[i] as usize..back.0[i + 1] as usize]);
                for &j in own.filter(|&&j| !done[j as usize]) {
                    // Positive numbers order like their bits.
                    let cost = (1.0 - normals[i].dot(normals[j as usize]).abs()).max(0.0);
                    heap.push(Reverse((cost.to_bits(), j, i as u32)));
                }
            }
            self.turn_outward(&piece, normals);
        }
        self.conflict(normals)
    }

    /// A place where neighbors that lie beside each other have opposite normals; None when there are only a few.
    pub fn conflict(&self, normals: &[DVec3]) -> Option<DVec3> {
        let (mut count, mut first) = (0, None);
        for (i, list) in self.links.iter().enumerate() {
            for &j in list {
                let way = (self.positions[j as usize] - self.positions[i]).normalize_or_zero();
                let beside = way.dot(normals[i]).abs() < BESIDE && way.dot(normals[j as usize]).abs() < BESIDE;
                if beside && normals[i].dot(normals[j as usize]) < -PARALLEL {
                    count += 1;
                    first = first.or(Some(0.5 * (self.positions[i] + self.positions[j as usize])));
                }
            }
        }
        first.filter(|_| count as f64 > FEW_CONFLICTS * (normals.len() as f64).sqrt())
    }

    /// Links seen from the other end: first entry of each point and the end, and the points.
    fn reversed(&self) -> (Vec<u32>, Vec<u32>) {
        let mut starts = vec![0u32; self.links.len() + 1];
        self.links.iter().flatten().for_each(|&j| starts[j as usize + 1] += 1);
        (0..self.links.len()).for_each(|i| starts[i + 1] += starts[i]);
        let count = self.links.iter().map(Vec::len).sum();
        let (mut next, mut from) = (starts.clone(), vec![0u32; count]);
        for (i, list) in self.links.iter().enumerate() {
            for &j in list {
                from[next[j as usize] as usize] = i as u32;
                next[j as usize] += 1;
            }
        }
        (starts, from)
    }

    fn turn_outward(&self, piece: &[usize], normals: &mut [DVec3]) {
        let middle = piece.iter().map(|&i| self.positions[i]).sum::<DVec3>() / piece.len().max(1) as f64;
        let volume: f64 = piece.iter().map(|&i| normals[i].dot(self.positions[i] - middle)).sum();
        let size: f64 = piece.iter().map(|&i| self.positions[i].distance(middle)).sum();
        // Flat pieces have no outside; they look up.
        let upward = || piece.iter().map(|&i| normals[i]).sum::<DVec3>().dot(DVec3::new(0.1, 1.0, 0.01));
        let inward = if volume.abs() > 1e-6 * size { volume < 0.0 } else { upward() < 0.0 };
        if inward {
            piece.iter().for_each(|&i| normals[i] = -normals[i]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn found(positions: &[DVec3], spacing: f64) -> (Vec<DVec3>, Option<DVec3>) {
        let mut normals: Vec<DVec3> = plane_normals(positions, spacing).into_iter().map(|n| n.unwrap()).collect();
        let conflict = NormalGraph::new(positions, spacing).orient(&mut normals);
        (normals, conflict)
    }

    #[test]
    fn a_ball_and_a_sheet_get_normals_that_look_out() {
        let ball: Vec<DVec3> = (0..2000).map(|i| Random::new(1, i).direction()).collect();
        let (normals, conflict) = found(&ball, 0.08);
        assert!(conflict.is_none());
        assert!(ball.iter().zip(&normals).all(|(p, n)| p.dot(*n) > 0.8));
        let sheet: Vec<DVec3> = (0..600).map(|i| Random::new(2, i).in_cube() * DVec3::new(1.0, 0.0, 1.0)).collect();
        let (normals, conflict) = found(&sheet, 0.08);
        assert!(conflict.is_none() && normals.iter().all(|n| n.y > 0.999));
    }

    #[test]
    fn two_sides_of_a_thin_plate_do_not_mix() {
        let side = |i: u64| if i.is_multiple_of(2) { 0.03 } else { -0.03 };
        let plate: Vec<DVec3> =
            (0..3000).map(|i| Random::new(3, i).in_cube() * DVec3::new(1.0, 0.0, 1.0) + DVec3::Y * side(i)).collect();
        let (_, conflict) = found(&plate, 0.06);
        assert!(conflict.is_none());
    }

    #[test]
    fn a_surface_with_one_side_is_told() {
        let strip: Vec<DVec3> = (0..3000)
            .map(|i| {
                let mut random = Random::new(4, i);
                let (a, w) = (random.between(0.0, std::f64::consts::TAU), random.between(-0.3, 0.3));
                let r = 1.0 + w * (0.5 * a).cos();
                DVec3::new(r * a.cos(), w * (0.5 * a).sin(), r * a.sin())
            })
            .collect();
        assert!(found(&strip, 0.035).1.is_some());
    }

    #[test]
    fn points_on_a_line_have_no_normal() {
        let line: Vec<DVec3> = (0..30).map(|i| DVec3::X * f64::from(i)).collect();
        assert!(plane_normals(&line, 1.0).iter().all(Option::is_none));
        assert!(plane_normals(&[DVec3::ZERO; 20], 1.0).iter().all(Option::is_none));
    }
}
