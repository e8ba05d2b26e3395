//! The cell grid: points sorted into cubic cells by counting.

use crate::geometry::Bounds;
use glam::DVec3;
use std::ops::Range;

/// Points in a layer of cells from which on three layers no longer fit into the cache of a core.
const LARGE_LAYER: usize = 5000;
/// Cells across a strip of a large grid.
const STRIP: i64 = 4;

/// Order of the points by cell (x fastest, then y, then z) and by index inside a cell: entry k is the index of the
/// point that comes k-th. Points with non-finite coordinates come last. Where layers of equal z are large, the order runs
/// through strips a few cells wide in y, one after the other: neighbors then lie nearer in memory.
pub fn cell_order(positions: &[DVec3], cell_edge: f64) -> Vec<u32> {
    let grid = Grid::new(positions, cell_edge);
    let layer = positions.len() / grid.dims[2].max(1) as usize;
    let mut order = if layer > LARGE_LAYER { grid.strip_order() } else { grid.indices };
    order.extend((0..positions.len() as u32).filter(|&i| !positions[i as usize].is_finite()));
    order
}

/// Points sorted into cubic cells, ready for questions about who is near.
#[derive(Debug, Clone, Default)]
pub struct Grid {
    origin: DVec3,
    cell_edge: f64,
    per_edge: f64,
    bounds: Option<Bounds>,
    /// Cells along each axis.
    dims: [i64; 3],
    /// Whether cell numbers go around along an axis.
    wrapped: [bool; 3],
    /// First point of each cell in sorted order, and one past the end.
    starts: Vec<u32>,
    /// Original index of each sorted point.
    pub(super) indices: Vec<u32>,
    /// Positions of the sorted points [m].
    pub(super) sorted: Vec<DVec3>,
}

/// Cells of one axis that a query touches: `count` cells from `first` on, going around at the end.
#[derive(Clone, Copy, PartialEq, Default)]
struct Span {
    first: i64,
    count: i64,
}

impl Grid {
    /// Sorts the points into cells of the given edge [m]; best near the radius of later queries. An edge that is not
    /// positive and finite is replaced by a hundredth of the extent.
    pub fn new(positions: &[DVec3], cell_edge: f64) -> Self {
        let finite = || positions.iter().copied().filter(|p| p.is_finite());
        let bounds = Bounds::of(finite());
        let count = finite().count();
        if count == 0 {
            return Self { cell_edge: 1.0, per_edge: 1.0, dims: [0; 3], starts: vec![0], ..Self::default() };
        }
        let extent = bounds.size().max_element();
        let fallback = if extent > 0.0 && extent.is_finite() { 0.01 * extent } else { 1.0 };
        let usable = cell_edge > 0.0 && cell_edge.is_finite() && (1.0 / cell_edge).is_finite();
        let cell_edge = if usable { cell_edge } else { fallback };
        let (dims, wrapped) = cells_along(bounds.size() / cell_edge, count);
        let mut grid = Self {
            origin: bounds.min,
            cell_edge,
            per_edge: 1.0 / cell_edge,
            bounds: Some(bounds),
            dims,
            wrapped,
            ..Self::default()
        };
        grid.sort(positions, count);
        grid
    }

    /// Edge of a cell [m].
    pub fn cell_edge(&self) -> f64 {
        self.cell_edge
    }

    /// Number of points in the grid (those with finite coordinates).
    pub fn len(&self) -> usize {
        self.indices.len()
    }

    /// Whether the grid holds no point.
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    /// Calls `visit(j, r2)` for each point j closer to `p` than `radius` [m], with the squared distance [m²], in
    /// cell order.
    pub fn for_each_within(&self, p: DVec3, radius: f64, mut visit: impl FnMut(usize, f64)) {
        if self.is_empty() || !p.is_finite() || radius.is_nan() || radius <= 0.0 {
            return;
        }
        let r2_max = radius * radius;
        let (low, high) = self.cells_around(p, radius);
        self.for_each_range(low, high, |range| {
            for k in range {
                let r2 = (self.sorted[k] - p).length_squared();
                if r2 < r2_max {
                    visit(self.indices[k] as usize, r2);
                }
            }
        });
    }

    /// Indices of the points closer to `p` than `radius` [m], ascending.
    pub fn within(&self, p: DVec3, radius: f64) -> Vec<u32> {
        let mut found = Vec::new();
        self.for_each_within(p, radius, |j, _| found.push(j as u32));
        found.sort_unstable();
        found
    }

    /// The point nearest to `p` and its squared distance [m²]; of equally near ones the lowest index. None when the
    /// grid is empty or `p` is not finite.
    pub fn nearest(&self, p: DVec3) -> Option<(usize, f64)> {
        let mut best: Option<(usize, f64)> = None;
        self.widening(p, |radius| {
            self.for_each_within(p, radius, |j, r2| {
                if best.is_none_or(|(i, b)| r2 < b || (r2 == b && j < i)) {
                    best = Some((j, r2));
                }
            });
            best.is_some()
        });
        best
    }

    /// The `k` points nearest to `p` with their squared distances [m²], nearest first, equal distances by index;
    /// fewer when the grid holds fewer. A point of the grid at `p` is among them.
    pub fn k_nearest(&self, p: DVec3, k: usize) -> Vec<(usize, f64)> {
        let mut found: Vec<(usize, f64)> = Vec::new();
        let wanted = k.min(self.len());
        if wanted == 0 {
            return found;
        }
        self.widening(p, |radius| {
            found.clear();
            self.for_each_within(p, radius, |j, r2| found.push((j, r2)));
            found.len() >= wanted
        });
        found.sort_unstable_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        found.truncate(wanted);
        found
    }

    /// Tries growing radii until `enough(radius)`, at most until every point is within the radius.
    fn widening(&self, p: DVec3, mut enough: impl FnMut(f64) -> bool) {
        let Some(bounds) = self.bounds.filter(|_| p.is_finite()) else { return };
        let outside = (p - p.clamp(bounds.min, bounds.max)).length();
        let farthest = (p - bounds.min).abs().max((p - bounds.max).abs()).length();
        let mut step = self.cell_edge;
        loop {
            let radius = outside + step;
            if enough(radius) || radius > farthest * 1.001 {
                return;
            }
            step *= 2.0;
        }
    }

    /// Lowest and highest cell coordinates within `radius` of `p`, with a hair of slack so that rounding never hides a
    /// point that the distance test would accept: lists stay symmetric.
    fn cells_around(&self, p: DVec3, radius: f64) -> ([i64; 3], [i64; 3]) {
        let radius = radius * (1.0 + 1e-6);
        (self.cell(p - radius), self.cell(p + radius))
    }

    /// Original index of each point in cell order.
    pub(crate) fn order(&self) -> &[u32] {
        &self.indices
    }

    /// Cells along each axis (x fastest), whether their numbers go around, and where each begins in cell order.
    pub(crate) fn cells(&self) -> ([usize; 3], [bool; 3], &[u32]) {
        (self.dims.map(|d| d as usize), self.wrapped, &self.starts)
    }

    /// Position of a sorted point.
    pub(crate) fn position(&self, sorted: usize) -> DVec3 {
        self.sorted[sorted]
    }

    /// Middle of a cell.
    pub(crate) fn cell_center(&self, cell: [i64; 3]) -> DVec3 {
        let [x, y, z] = cell.map(|c| c as f64 + 0.5);
        self.origin + self.cell_edge * DVec3::new(x, y, z)
    }

    /// Cell coordinates of a position; the numbers are bounded so that far away points share the outermost cell.
    pub(crate) fn cell(&self, p: DVec3) -> [i64; 3] {
        const FAR: f64 = (1u64 << 50) as f64;
        ((p - self.origin) * self.per_edge).to_array().map(|c| {
            let c = c.clamp(-FAR, FAR);
            let whole = c as i64;
            whole - i64::from(whole as f64 > c)
        })
    }

    /// Calls `visit` with the sorted-point ranges of all cells from `low` to `high`, each cell once, ascending unless
    /// an axis is wrapped.
    pub(crate) fn for_each_range(&self, low: [i64; 3], high: [i64; 3], mut visit: impl FnMut(Range<usize>)) {
        let [sx, sy, sz] = [0, 1, 2].map(|a| self.span(a, low[a], high[a]));
        let [dx, dy, dz] = self.dims;
        let around = |i: i64, dim: i64| if i >= dim { i - dim } else { i };
        let before_end = sx.count.min(dx - sx.first);
        for k in 0..sz.count {
            let z = around(sz.first + k, dz);
            for j in 0..sy.count {
                let row = (z * dy + around(sy.first + j, dy)) * dx;
                let first = (row + sx.first) as usize;
                visit(self.starts[first] as usize..self.starts[first + before_end as usize] as usize);
                if sx.count > before_end {
                    let (first, rest) = (row as usize, (sx.count - before_end) as usize);
                    visit(self.starts[first] as usize..self.starts[first + rest] as usize);
                }
            }
        }
    }

    fn span(&self, axis: usize, low: i64, high: i64) -> Span {
        let dim = self.dims[axis];
        if !self.wrapped[axis] {
            // Cells beyond the end are those at the end: that is where rounding may have put a point.
            let (low, high) = (low.clamp(0, dim - 1), high.clamp(0, dim - 1));
            return Span { first: low, count: high - low + 1 };
        }
        let count = high - low + 1;
        if count >= dim { Span { first: 0, count: dim } } else { Span { first: low.rem_euclid(dim), count } }
    }

    /// Number of the cell a position falls in.
    fn cell_number(&self, p: DVec3) -> usize {
        let c = self.cell(p);
        let [x, y, z] = [0, 1, 2]
            .map(|a| if self.wrapped[a] { c[a].rem_euclid(self.dims[a]) } else { c[a].clamp(0, self.dims[a] - 1) });
        ((z * self.dims[1] + y) * self.dims[0] + x) as usize
    }

    /// Indices of the points, strip by strip; inside a strip z slowest, x fastest.
    fn strip_order(&self) -> Vec<u32> {
        let [nx, ny, nz] = self.dims;
        let mut order = Vec::with_capacity(self.indices.len());
        for strip in (0..ny).step_by(STRIP as usize) {
            for (z, y) in (0..nz).flat_map(|z| (strip..(strip + STRIP).min(ny)).map(move |y| (z, y))) {
                let first = ((z * ny + y) * nx) as usize;
                let row = self.starts[first] as usize..self.starts[first + nx as usize] as usize;
                order.extend_from_slice(&self.indices[row]);
            }
        }
        order
    }

    /// Counting sort: count per cell, running sum, place in index order.
    fn sort(&mut self, positions: &[DVec3], count: usize) {
        const NONE: u32 = u32::MAX;
        let cells = (self.dims[0] * self.dims[1] * self.dims[2]) as usize;
        let numbers: Vec<u32> =
            positions.iter().map(|&p| if p.is_finite() { self.cell_number(p) as u32 } else { NONE }).collect();
        let mut starts = vec![0u32; cells + 2];
        for &c in numbers.iter().filter(|&&c| c != NONE) {
            starts[c as usize + 2] += 1;
        }
        for c in 2..starts.len() {
            starts[c] += starts[c - 1];
        }
        (self.indices, self.sorted) = (vec![0; count], vec![DVec3::ZERO; count]);
        for (i, &c) in numbers.iter().enumerate() {
            if c == NONE {
                continue;
            }
            let slot = &mut starts[c as usize + 1];
            let k = *slot as usize;
            *slot += 1;
            self.indices[k] = i as u32;
            self.sorted[k] = positions[i];
        }
        starts.pop();
        self.starts = starts;
    }
}

/// Cells along each axis for an extent given in cell edges, and which axes are wrapped to keep the number of cells
/// in proportion to the number of points.
fn cells_along(extent: DVec3, points: usize) -> ([i64; 3], [bool; 3]) {
    const FAR: f64 = (1u64 << 50) as f64;
    let limit = (4.0 * points as f64 + 4096.0).min(1e9);
    let mut dims = extent.to_array().map(|e| e.clamp(0.0, FAR).floor() + 1.0);
    let mut wrapped = [false; 3];
    while dims[0] * dims[1] * dims[2] > limit {
        // Halve the longest axis; it is always far above the three cells that a query needs to stay distinct.
        let axis = (0..3).fold(0, |m, a| if dims[a] > dims[m] { a } else { m });
        dims[axis] = (0.5 * dims[axis]).ceil();
        wrapped[axis] = true;
    }
    (dims.map(|d| d as i64), wrapped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn cloud(n: u64, size: DVec3) -> Vec<DVec3> {
        (0..n).map(|i| Random::new(11, i).in_cube() * 0.5 * size).collect()
    }

    fn brute(points: &[DVec3], p: DVec3, radius: f64) -> Vec<u32> {
        let near = |&i: &u32| (points[i as usize] - p).length_squared() < radius * radius;
        (0..points.len() as u32).filter(near).collect()
    }

    /// Clouds that are compact, flat, long, and split into far apart clumps (wrapped axes).
    fn clouds() -> Vec<Vec<DVec3>> {
        let mut clumps = cloud(600, DVec3::ONE);
        for (i, p) in clumps.iter_mut().enumerate() {
            *p += [DVec3::ZERO, DVec3::new(1e6, 0.3, -2e5), DVec3::new(-3e4, 7e7, 0.0)][i % 3];
        }
        vec![
            cloud(500, DVec3::ONE),
            cloud(500, DVec3::new(1.0, 0.0, 1.0)),
            cloud(500, DVec3::new(0.01, 0.0, 9.0)),
            clumps,
        ]
    }

    #[test]
    fn within_equals_brute_force_for_any_edge_and_radius() {
        for points in clouds() {
            for edge in [0.03, 0.2, 50.0] {
                let grid = Grid::new(&points, edge);
                for (radius, k) in [(0.05, 3), (0.2, 77), (0.9, 5), (400.0, 9), (1e9, 9)] {
                    for p in [points[k], points[k] + DVec3::new(0.1, -0.1, 0.02), DVec3::new(5.0, 0.0, 0.0)] {
                        assert_eq!(grid.within(p, radius), brute(&points, p, radius), "edge {edge}, radius {radius}");
                    }
                }
            }
        }
    }

    #[test]
    fn nearest_ones_equal_brute_force_and_ties_go_to_the_lower_index() {
        for mut points in clouds() {
            points.extend_from_within(..40);
            let grid = Grid::new(&points, 0.1);
            for p in [points[20], DVec3::new(0.3, 0.1, 0.0), DVec3::new(-40.0, 3.0, 0.0)] {
                let mut all: Vec<_> = points.iter().enumerate().map(|(i, q)| (i, (*q - p).length_squared())).collect();
                all.sort_by(|a, b| a.1.total_cmp(&b.1));
                assert_eq!(grid.nearest(p), Some(all[0]));
                for k in [0, 1, 10, 200, points.len(), points.len() + 5] {
                    assert_eq!(grid.k_nearest(p, k), all[..k.min(all.len())]);
                }
            }
        }
    }

    #[test]
    fn cell_order_runs_x_fastest_and_keeps_index_order_inside_a_cell() {
        let at = |x, y, z| DVec3::new(x, y, z);
        let points = [at(0.5, 0.5, 1.5), at(1.5, 0.5, 0.5), at(0.0, 0.0, 0.0), at(0.9, 0.1, 0.1), at(0.2, 1.5, 0.2)];
        assert_eq!(cell_order(&points, 1.0), [2, 3, 1, 4, 0]);
    }

    #[test]
    fn large_layers_are_cut_into_strips() {
        let points: Vec<DVec3> =
            (0..40_000).map(|i| DVec3::new((i % 100) as f64, (i / 100 % 100) as f64, (i / 10_000) as f64)).collect();
        let order = cell_order(&points, 1.0);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert!(sorted.iter().enumerate().all(|(k, &i)| k == i as usize), "every point once");
        let strip = |i: u32| points[i as usize].y as i64 / STRIP;
        assert!(order.is_sorted_by_key(|&i| (strip(i), points[i as usize].z as i64)), "strip by strip, layer by layer");
    }

    #[test]
    fn points_that_are_not_finite_are_in_no_cell_and_come_last() {
        let points = [DVec3::NAN, DVec3::ONE, DVec3::new(0.0, f64::INFINITY, 0.0), DVec3::ZERO];
        let grid = Grid::new(&points, 0.1);
        assert_eq!(grid.len(), 2);
        assert_eq!(grid.within(DVec3::ZERO, 1e300), [1, 3]);
        assert_eq!(grid.nearest(DVec3::NAN), None);
        assert_eq!(cell_order(&points, 0.1), [3, 1, 0, 2]);
        assert!(Grid::new(&[DVec3::NAN], 1.0).nearest(DVec3::ZERO).is_none());
        assert!(Grid::new(&[], 1.0).k_nearest(DVec3::ZERO, 3).is_empty());
    }

    #[test]
    fn memory_is_bounded_by_the_number_of_points_whatever_the_extent_or_edge() {
        for points in [vec![DVec3::splat(-1e300), DVec3::splat(1e300)], cloud(1000, DVec3::splat(1e12))] {
            for edge in [1e-300, 1e-3, f64::NAN, -1.0, f64::INFINITY] {
                let grid = Grid::new(&points, edge);
                assert!(grid.starts.len() < 4 * points.len() + 5000);
                assert_eq!(grid.nearest(points[1]), Some((1, 0.0)));
            }
        }
    }
}
