//! The surface that a shell is made from: triangles, their border, and dense samples.

use glam::DVec3;
use std::collections::HashMap;

/// Borders turn more sharply than this only at corners [rad].
const CORNER: f64 = 35.0 / 180.0 * std::f64::consts::PI;
/// Most pieces along the side of a triangle.
const MOST_PIECES: f64 = 4000.0;

/// Triangles, oriented alike.
#[derive(Debug, Clone, Default)]
pub struct TriangleSurface {
    /// Corners [m].
    pub positions: Vec<DVec3>,
    /// Counter-clockwise seen from the outside.
    pub triangles: Vec<[u32; 3]>,
}

/// Samples of a surface, many per node.
#[derive(Debug, Clone, Default)]
pub struct DenseSurface {
    /// Positions [m].
    pub positions: Vec<DVec3>,
    /// Unit normals.
    pub normals: Vec<DVec3>,
    /// Areas [m²]; they sum to that of the surface.
    pub areas: Vec<f64>,
    /// Radius of a disc around each that covers its piece [m].
    pub radii: Vec<f64>,
}

/// A piece of border between two corners, or a ring without any.
#[derive(Debug, Clone, PartialEq)]
pub struct Border {
    /// Its points in order [m].
    pub points: Vec<DVec3>,
    /// Whether the last one is followed by the first.
    pub closed: bool,
}

impl TriangleSurface {
    /// A rectangle about the origin in the plane y = 0, facing up.
    pub fn rectangle(x: f64, z: f64) -> Self {
        let corner = |a: f64, b: f64| DVec3::new(0.5 * a * x, 0.0, 0.5 * b * z);
        let positions = vec![corner(-1.0, -1.0), corner(-1.0, 1.0), corner(1.0, 1.0), corner(1.0, -1.0)];
        Self { positions, triangles: vec![[0, 1, 2], [0, 2, 3]] }
    }

    fn corners(&self, triangle: &[u32; 3]) -> [DVec3; 3] {
        triangle.map(|v| self.positions[v as usize])
    }

    /// Area [m²].
    pub fn area(&self) -> f64 {
        self.triangles.iter().map(|t| area_vector(self.corners(t)).length()).sum()
    }

    /// Splits the triangles into pieces of at most `piece` [m²] and puts a sample in the middle of each.
    pub fn dense(&self, piece: f64) -> DenseSurface {
        let mut dense = DenseSurface::default();
        for triangle in &self.triangles {
            let [a, b, c] = self.corners(triangle);
            let vector = area_vector([a, b, c]);
            let area = vector.length();
            let Some(normal) = vector.try_normalize() else { continue };
            let parts = (area / piece).sqrt().ceil().clamp(1.0, MOST_PIECES) as usize;
            let at = |i: usize, j: usize| {
                let (u, v) = (i as f64 / parts as f64, j as f64 / parts as f64);
                a + u * (b - a) + v * (c - a)
            };
            let mut push = |p: DVec3, q: DVec3, r: DVec3| {
                let middle = (p + q + r) / 3.0;
                dense.positions.push(middle);
                dense.normals.push(normal);
                dense.areas.push(area / (parts * parts) as f64);
                let far = |x: DVec3| middle.distance(x);
                dense.radii.push(far(p).max(far(q)).max(far(r)));
            };
            for i in 0..parts {
                for j in 0..parts - i {
                    push(at(i, j), at(i + 1, j), at(i, j + 1));
                    if i + j + 1 < parts {
                        push(at(i + 1, j), at(i + 1, j + 1), at(i, j + 1));
                    }
                }
            }
        }
        dense
    }

    /// The part of the surface where `outside` is below zero; triangles across its zero are cut there.
    pub fn clipped(&self, outside: &dyn Fn(DVec3) -> f64) -> Self {
        let places = self.places();
        let values: Vec<f64> = self.positions.iter().map(|p| outside(*p)).collect();
        let mut out = Self { positions: self.positions.clone(), triangles: Vec::new() };
        let mut between: HashMap<(u32, u32), u32> = HashMap::new();
        for t in &self.triangles {
            let t = t.map(|v| places[v as usize]);
            let mut polygon: Vec<u32> = Vec::with_capacity(4);
            for k in 0..3 {
                let (a, b) = (t[k], t[(k + 1) % 3]);
                let (va, vb) = (values[a as usize], values[b as usize]);
                if va < 0.0 {
                    polygon.push(a);
                }
                if (va < 0.0) != (vb < 0.0) {
                    let key = (a.min(b), a.max(b));
                    let new = *between.entry(key).or_insert_with(|| {
                        let ends = [key.0, key.1].map(|v| self.positions[v as usize]);
                        out.positions.push(crossing(ends, outside));
                        out.positions.len() as u32 - 1
                    });
                    polygon.push(new);
                }
            }
            for k in 2..polygon.len() {
                out.triangles.push([polygon[0], polygon[k - 1], polygon[k]]);
            }
        }
        out
    }

    /// The border: sides that belong to one triangle, put together and cut at corners, which are looked for on a length of
    /// `scale` [m].
    pub fn borders(&self, scale: f64) -> Vec<Border> {
        let places = self.places();
        let mut sides: Vec<(u32, u32, bool)> = Vec::with_capacity(3 * self.triangles.len());
        for t in &self.triangles {
            for k in 0..3 {
                let (a, b) = (places[t[k] as usize], places[t[(k + 1) % 3] as usize]);
                if a != b {
                    sides.push((a.min(b), a.max(b), a < b));
                }
            }
        }
        sides.sort_unstable();
        let same = |x: &(u32, u32, bool), y: &(u32, u32, bool)| (x.0, x.1) == (y.0, y.1);
        let open = sides.chunk_by(same).filter(|group| group.len() == 1).map(|group| match group[0] {
            (low, high, true) => (low, high),
            (low, high, false) => (high, low),
        });
        let mut open: Vec<(u32, u32)> = open.collect();
        open.sort_unstable();
        let mut used = vec![false; open.len()];
        let mut borders = Vec::new();
        for first in 0..open.len() {
            if used[first] {
                continue;
            }
            let mut ring = Vec::new();
            let mut next = Some(first);
            while let Some(k) = next {
                used[k] = true;
                ring.push(self.positions[open[k].0 as usize]);
                let from = open.partition_point(|e| e.0 < open[k].1);
                next = (from..open.len()).take_while(|&e| open[e].0 == open[k].1).find(|&e| !used[e]);
                if next.is_none() && open[k].1 != open[first].0 {
                    ring.push(self.positions[open[k].1 as usize]);
                    borders.extend(cut_at_corners(&ring, false, scale));
                    ring.clear();
                }
            }
            if !ring.is_empty() {
                borders.extend(cut_at_corners(&ring, true, scale));
            }
        }
        borders
    }

    /// For each corner the first one at the same place.
    pub(super) fn places(&self) -> Vec<u32> {
        let mut known = HashMap::with_capacity(self.positions.len());
        let place =
            |(i, x): (usize, &DVec3)| *known.entry((*x + DVec3::ZERO).to_array().map(f64::to_bits)).or_insert(i as u32);
        self.positions.iter().enumerate().map(place).collect()
    }
}

impl Border {
    /// Length [m].
    pub fn length(&self) -> f64 {
        let open: f64 = self.points.windows(2).map(|w| w[0].distance(w[1])).sum();
        let last = match (self.closed, self.points.as_slice()) {
            (true, [first, .., last]) => first.distance(*last),
            _ => 0.0,
        };
        open + last
    }

    /// Points at even distances near `spacing`, the ends of an open piece included.
    pub fn spread(&self, spacing: f64) -> Vec<DVec3> {
        let length = self.length();
        let parts = (length / spacing).round().max(if self.closed { 3.0 } else { 1.0 });
        if self.points.len() < 2 || length.is_nan() || length <= 0.0 {
            return self.points.clone();
        }
        let mut walk = self.points.clone();
        if self.closed {
            walk.push(self.points[0]);
        }
        let count = parts as usize + usize::from(!self.closed);
        let mut out = Vec::with_capacity(count);
        let (mut segment, mut gone) = (0, 0.0);
        for k in 0..count {
            let wanted = length * k as f64 / parts;
            while segment + 2 < walk.len() && gone + walk[segment].distance(walk[segment + 1]) < wanted {
                gone += walk[segment].distance(walk[segment + 1]);
                segment += 1;
            }
            let (a, b) = (walk[segment], walk[segment + 1]);
            out.push(a + (b - a) * ((wanted - gone) / a.distance(b).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0));
        }
        out
    }
}

/// Area times normal [m²].
fn area_vector([a, b, c]: [DVec3; 3]) -> DVec3 {
    0.5 * (b - a).cross(c - a)
}

/// Where the segment crosses zero, which its ends lie on different sides of.
fn crossing([mut a, mut b]: [DVec3; 2], outside: &dyn Fn(DVec3) -> f64) -> DVec3 {
    let inside_first = outside(a) < 0.0;
    for _ in 0..40 {
        let middle = 0.5 * (a + b);
        if (outside(middle) < 0.0) == inside_first {
            a = middle;
        } else {
            b = middle;
        }
    }
    0.5 * (a + b)
}

/// Cuts a chain of border points where it turns sharply within `scale`.
fn cut_at_corners(points: &[DVec3], closed: bool, scale: f64) -> Vec<Border> {
    let n = points.len();
    // The point at a distance of `scale` from point k, walking forwards or backwards; the end of an open chain at most.
    let walk = |k: usize, step: usize| {
        let mut at = k;
        for _ in 0..n {
            if !closed && ((step == 1 && at + 1 == n) || (step != 1 && at == 0)) {
                break;
            }
            at = (at + step) % n;
            if points[at].distance(points[k]) >= scale {
                break;
            }
        }
        points[at]
    };
    let turn = |k: usize| (points[k] - walk(k, n - 1)).angle_between(walk(k, 1) - points[k]);
    let turns: Vec<f64> = (0..n).map(turn).collect();
    // Of several points near a corner the sharpest is it.
    let sharpest = |k: usize| {
        turns[k] > CORNER
            && (0..n).all(|j| {
                let nearer = turns[j] > turns[k] || (turns[j] == turns[k] && j < k);
                j == k || !nearer || points[j].distance(points[k]) >= scale
            })
    };
    let corners: Vec<usize> = match closed {
        true => (0..n).filter(|&k| sharpest(k)).collect(),
        false => [0].into_iter().chain((1..n.max(2) - 1).filter(|&k| sharpest(k))).chain([n - 1]).collect(),
    };
    if corners.is_empty() {
        return vec![Border { points: points.to_vec(), closed }];
    }
    let mut borders = Vec::new();
    let last = if closed { corners.len() } else { corners.len() - 1 };
    for c in 0..last {
        let (from, to) = (corners[c], corners[(c + 1) % corners.len()]);
        let steps = if to > from { to - from } else { to + n - from };
        borders.push(Border { points: (0..=steps).map(|k| points[(from + k) % n]).collect(), closed: false });
    }
    borders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rectangle_has_four_sides_and_its_area() {
        let sheet = TriangleSurface::rectangle(2.0, 1.0);
        assert_eq!(sheet.area(), 2.0);
        let borders = sheet.borders(0.05);
        assert_eq!(borders.len(), 4);
        assert!((borders.iter().map(Border::length).sum::<f64>() - 6.0).abs() < 1e-12);
        let dense = sheet.dense(1e-3);
        assert!((dense.areas.iter().sum::<f64>() - 2.0).abs() < 1e-12);
        assert!(dense.normals.iter().all(|n| *n == DVec3::Y));
        let points = borders[0].spread(0.3);
        let gap = points[0].distance(points[1]);
        assert!(points.windows(2).all(|w| (w[0].distance(w[1]) - gap).abs() < 1e-12));
    }

    #[test]
    fn a_cut_leaves_a_round_hole() {
        let sheet = TriangleSurface::rectangle(2.0, 2.0);
        // Finer triangles, so that the hole is round.
        let mut fine = TriangleSurface::default();
        for i in 0..=40u32 {
            for j in 0..=40 {
                fine.positions.push(DVec3::new(f64::from(i) / 20.0 - 1.0, 0.0, f64::from(j) / 20.0 - 1.0));
                if i < 40 && j < 40 {
                    let k = 41 * i + j;
                    fine.triangles.extend([[k, k + 1, k + 42], [k, k + 42, k + 41]]);
                }
            }
        }
        assert!((fine.area() - sheet.area()).abs() < 1e-12);
        let holed = fine.clipped(&|p| 0.5 - p.length());
        assert!((holed.area() - 4.0 + std::f64::consts::PI * 0.25).abs() < 2e-3);
        let borders = holed.borders(0.1);
        assert_eq!((borders.len(), borders.iter().filter(|b| b.closed).count()), (5, 1));
    }

    #[test]
    fn a_ring_without_corners_is_one_closed_border() {
        let n = 40;
        let at = |k: u32| DVec3::from_array([(f64::from(k) * 0.157).cos(), 0.0, -(f64::from(k) * 0.157).sin()]);
        let mut disc = TriangleSurface { positions: (0..n).map(at).collect(), triangles: Vec::new() };
        disc.positions.push(DVec3::ZERO);
        disc.triangles = (0..n).map(|k| [n, k, (k + 1) % n]).collect();
        let borders = disc.borders(0.1);
        assert!(borders.len() == 1 && borders[0].closed);
        assert_eq!(borders[0].spread(0.5).len(), 13);
    }
}
