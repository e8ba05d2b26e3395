//! What triangles from a file are like: cleaned, oriented alike, whole or fallen apart.

use super::surface::TriangleSurface;
use crate::geometry::NormalGraph;
use crate::groups::Groups;
use crate::neighbors::Grid;
use glam::DVec3;
use rayon::prelude::*;
use std::collections::HashSet;

/// Triangles whose height is below this part of their longest side have no normal to speak of.
const SLIVER: f64 = 1e-9;
/// Pieces from which on triangles may have fallen apart, and the triangles that such a piece has at most on average.
const SOUP: (usize, usize) = (8, 4);
/// Part of the sides whose gaps are at most as wide as is said; those of the border have none.
const MOST_GAPS: f64 = 0.6;
/// Pieces of a triangle that distances are measured to.
const PIECES: f64 = 16.0;

/// A side by its ends in rising order: low, high, triangle, whether it runs from low to high.
type Side = (u32, u32, u32, bool);

impl TriangleSurface {
    /// Drops triangles without extent and those that are there twice.
    pub fn clean(&mut self) {
        let places = self.places();
        let mut known = HashSet::with_capacity(self.triangles.len());
        let positions = &self.positions;
        self.triangles.retain(|t| {
            let [a, b, c] = t.map(|v| positions[v as usize]);
            let longest = a.distance_squared(b).max(b.distance_squared(c)).max(c.distance_squared(a));
            let mut key = t.map(|v| places[v as usize]);
            key.sort_unstable();
            (b - a).cross(c - a).length() > SLIVER * longest && known.insert(key)
        });
    }

    /// Turns triangles so that neighbors agree; the first of each piece stays. Says where they cannot agree: the surface has one
    /// side only.
    pub fn orient(&mut self) -> Option<DVec3> {
        let sides = self.sides();
        let pairs: Vec<_> = pairs(&sides).collect();
        let mut around: Vec<Vec<(u32, bool)>> = vec![Vec::new(); self.triangles.len()];
        for (a, b) in &pairs {
            let disagree = a.3 == b.3;
            around[a.2 as usize].push((b.2, disagree));
            around[b.2 as usize].push((a.2, disagree));
        }
        let mut turned: Vec<Option<bool>> = vec![None; self.triangles.len()];
        let mut open = Vec::new();
        for seed in 0..turned.len() {
            if turned[seed].is_some() {
                continue;
            }
            turned[seed] = Some(false);
            open.push(seed);
            while let Some(t) = open.pop() {
                for &(n, disagree) in &around[t] {
                    if turned[n as usize].is_none() {
                        turned[n as usize] = turned[t].map(|state| state != disagree);
                        open.push(n as usize);
                    }
                }
            }
        }
        let clash = pairs.iter().find(|(a, b)| (turned[a.2 as usize] == turned[b.2 as usize]) == (a.3 == b.3));
        let place = clash.map(|(a, _)| 0.5 * (self.positions[a.0 as usize] + self.positions[a.1 as usize]));
        for (t, turned) in self.triangles.iter_mut().zip(&turned) {
            if *turned == Some(true) {
                t.swap(1, 2);
            }
        }
        place
    }

    /// Number of pieces that hang together by sides.
    pub fn pieces(&self) -> usize {
        let mut groups = Groups::new(self.triangles.len());
        pairs(&self.sides()).for_each(|(a, b)| groups.unite(a.2, b.2));
        groups.count()
    }

    /// Whether the triangles have fallen apart: many pieces of a few triangles each.
    pub fn is_soup(&self) -> bool {
        let pieces = self.pieces();
        pieces >= SOUP.0 && self.triangles.len() <= SOUP.1 * pieces
    }

    /// For each side of each triangle the nearest other triangles and their distances from its middle [m], the nearest first.
    fn beside(&self) -> Vec<Vec<(u32, f64)>> {
        let piece = self.area() / (PIECES * self.triangles.len().max(1) as f64);
        let (mut samples, mut owners) = (Vec::new(), Vec::new());
        for (t, triangle) in self.triangles.iter().enumerate() {
            let positions = triangle.map(|v| self.positions[v as usize]).to_vec();
            let dense = Self { positions, triangles: vec![[0, 1, 2]] }.dense(piece);
            owners.resize(owners.len() + dense.positions.len(), t as u32);
            samples.extend(dense.positions);
        }
        let grid = Grid::new(&samples, 2.0 * piece.max(f64::MIN_POSITIVE).sqrt());
        let side = |k: usize| {
            let (t, triangle) = (k as u32 / 3, self.triangles[k / 3]);
            let [a, b] = [triangle[k % 3], triangle[(k + 1) % 3]].map(|v| self.positions[v as usize]);
            let mut found: Vec<(u32, f64)> = Vec::new();
            for (j, r2) in grid.k_nearest(0.5 * (a + b), 4 * PIECES as usize) {
                if owners[j] != t && found.len() < 3 && found.iter().all(|f| f.0 != owners[j]) {
                    found.push((owners[j], r2.sqrt()));
                }
            }
            found
        };
        (0..3 * self.triangles.len()).into_par_iter().map(side).collect()
    }

    /// Turns triangles that have fallen apart so that those beside each other agree and each piece looks outward; gives the width
    /// of most gaps between them [m], or the place where they cannot agree.
    pub fn orient_soup(&mut self) -> Result<f64, DVec3> {
        let beside = self.beside();
        let mut gaps: Vec<f64> = beside.iter().filter_map(|list| list.first()).map(|f| f.1).collect();
        gaps.sort_unstable_by(f64::total_cmp);
        let gap = gaps.get((MOST_GAPS * gaps.len() as f64) as usize).copied().unwrap_or(0.0);
        let links = beside.chunks(3).map(|sides| {
            let mut list: Vec<u32> = sides.iter().flatten().map(|f| f.0).collect();
            list.sort_unstable();
            list.dedup();
            list
        });
        let corners = |t: &[u32; 3]| t.map(|v| self.positions[v as usize]);
        let middles: Vec<DVec3> = self.triangles.iter().map(|t| corners(t).iter().sum::<DVec3>() / 3.0).collect();
        let normal = |t: &[u32; 3]| (corners(t)[1] - corners(t)[0]).cross(corners(t)[2] - corners(t)[0]);
        let before: Vec<DVec3> = self.triangles.iter().map(|t| normal(t).normalize_or(DVec3::Y)).collect();
        let mut normals = before.clone();
        let conflict = NormalGraph::with_links(&middles, links.collect()).orient(&mut normals);
        let turned = normals.iter().zip(&before).map(|(a, b)| a.dot(*b) < 0.0);
        self.triangles.iter_mut().zip(turned).filter(|(_, turned)| *turned).for_each(|(t, _)| t.swap(1, 2));
        conflict.map_or(Ok(gap), Err)
    }

    fn sides(&self) -> Vec<Side> {
        let places = self.places();
        let mut sides = Vec::with_capacity(3 * self.triangles.len());
        for (t, triangle) in self.triangles.iter().enumerate() {
            for k in 0..3 {
                let (a, b) = (places[triangle[k] as usize], places[triangle[(k + 1) % 3] as usize]);
                sides.push((a.min(b), a.max(b), t as u32, a < b));
            }
        }
        sides.sort_unstable();
        sides
    }
}

/// Sides that two triangles share, and no third.
fn pairs(sides: &[Side]) -> impl Iterator<Item = (Side, Side)> + '_ {
    let groups = sides.chunk_by(|x, y| (x.0, x.1) == (y.0, y.1));
    groups.filter(|group| group.len() == 2).map(|group| (group[0], group[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A strip of 2 n triangles around a ring, half a turn twisted or not.
    fn ring(twisted: bool) -> TriangleSurface {
        let n = 40u32;
        let mut ring = TriangleSurface::default();
        for k in 0..n {
            let a = std::f64::consts::TAU * f64::from(k) / f64::from(n);
            let half = if twisted { 0.5 * a } else { 0.0 };
            for w in [-0.2, 0.2] {
                let r = 1.0 + w * half.cos();
                ring.positions.push(DVec3::new(r * a.cos(), w * half.sin(), r * a.sin()));
            }
        }
        for k in 0..n {
            let (a, b) = (2 * k, 2 * k + 1);
            // After a whole turn the two borders of a twisted strip have changed places.
            let (c, d) = match (k + 1 == n, twisted) {
                (true, true) => (1, 0),
                (true, false) => (0, 1),
                _ => (2 * k + 2, 2 * k + 3),
            };
            ring.triangles.extend([[a, b, d], [a, d, c]]);
        }
        ring
    }

    #[test]
    fn a_strip_with_half_a_turn_has_one_side_and_cut_open_it_has_two() {
        let mut flat = ring(false);
        flat.triangles[5].swap(0, 1);
        assert!(flat.orient().is_none());
        let area: DVec3 = flat
            .triangles
            .iter()
            .map(|t| {
                (flat.positions[t[1] as usize] - flat.positions[t[0] as usize])
                    .cross(flat.positions[t[2] as usize] - flat.positions[t[0] as usize])
            })
            .sum();
        assert!((0.5 * area.y.abs() / flat.area() - 1.0).abs() < 1e-9);
        let mut twisted = ring(true);
        assert!(twisted.orient().is_some());
        let mut open = ring(true).clipped(&|p| if p.x > 0.0 && p.z > 0.0 { p.x - 0.5 } else { -1.0 });
        open.clean();
        assert!(open.orient().is_none());
    }

    #[test]
    fn doubles_and_slivers_go() {
        let mut sheet = TriangleSurface::rectangle(1.0, 1.0);
        sheet.triangles.extend([[2, 0, 1], [0, 0, 1], [0, 2, 3]]);
        sheet.positions.push(0.5 * (sheet.positions[0] + sheet.positions[1]));
        sheet.triangles.push([0, 4, 1]);
        sheet.clean();
        assert_eq!(sheet.triangles, TriangleSurface::rectangle(1.0, 1.0).triangles);
        assert_eq!((sheet.pieces(), sheet.is_soup()), (1, false));
    }

    #[test]
    fn triangles_apart_are_soup_and_their_gaps_are_measured() {
        let whole = ring(false);
        let mut apart = TriangleSurface::default();
        for t in &whole.triangles {
            let corners = t.map(|v| whole.positions[v as usize]);
            let middle = corners.iter().sum::<DVec3>() / 3.0;
            let first = apart.positions.len() as u32;
            apart.positions.extend(corners.map(|x| middle + 0.8 * (x - middle)));
            apart.triangles.push([first, first + 1, first + 2]);
        }
        assert!(apart.is_soup() && !whole.is_soup());
        apart.triangles.iter_mut().step_by(3).for_each(|t| t.swap(0, 1));
        let gap = apart.orient_soup().unwrap();
        assert!(gap > 0.01 && gap < 0.05, "{gap}");
        let up = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|v| apart.positions[v as usize]);
            (b - a).cross(c - a).y > 0.0
        };
        assert!(apart.triangles.iter().all(up));
    }
}
