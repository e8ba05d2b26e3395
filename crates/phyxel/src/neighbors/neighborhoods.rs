//! Neighbor lists of all points in one flat table.
//!
//! Each cell copies the coordinates of its 27 cells once, in f32 relative to itself, and tests them for all its points
//! eight at a time. Where f32 leaves a doubt the test is repeated in f64, so the lists are those of f64.

use super::Grid;
#[cfg(target_arch = "x86_64")]
use super::avx2;
use glam::DVec3;
use rayon::prelude::*;
use std::ops::Range;

/// For each point the indices of its neighbors, itself excluded, ascending. Compressed rows: the neighbors of point i
/// are `neighbors[starts[i]..starts[i + 1]]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Neighborhoods {
    /// First entry of each point in `neighbors`; one more entry than points.
    pub starts: Vec<u32>,
    /// Indices of the neighbors.
    pub neighbors: Vec<u32>,
}

/// Points per parallel task; fixed, so that the work is cut the same for any number of threads.
const CHUNK: usize = 256;

impl Neighborhoods {
    /// Points j with |x_j - x_i| < radius [m].
    ///
    /// # Panics
    /// When there are more than 2³² pairs: a radius far beyond any use.
    pub fn within_radius(positions: &[DVec3], radius: f64) -> Self {
        Self::with_radii(positions, &vec![radius; positions.len()])
    }

    /// Points j with |x_j - x_i| < (radius_i + radius_j) / 2 [m]: j is a neighbor of i whenever i is one of j, whatever
    /// the radii. Radii that are not positive and finite count as 0.
    ///
    /// # Panics
    /// When there are more than 2³² pairs, or when the lengths differ.
    pub fn with_radii(positions: &[DVec3], radii: &[f64]) -> Self {
        assert_eq!(positions.len(), radii.len(), "one radius per point");
        let largest = radii.iter().fold(0.0f64, |m, &r| m.max(usable(r)));
        if largest == 0.0 {
            return Self { starts: vec![0; positions.len() + 1], neighbors: Vec::new() };
        }
        // A hair wider than the radius, so that rounding never puts two neighbors two cells apart.
        let grid = Grid::new(positions, largest * (1.0 + 1e-6));
        Self::build(&Cloud { positions, radii, grid })
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Neighbors of point i, ascending.
    pub fn of(&self, i: usize) -> impl ExactSizeIterator<Item = usize> + Clone + '_ {
        self.neighbors[self.starts[i] as usize..self.starts[i + 1] as usize].iter().map(|&j| j as usize)
    }

    /// Lists per sorted point in parallel chunks, then gathered into the order of the points.
    fn build(cloud: &Cloud) -> Self {
        let (points, grid) = (cloud.positions.len(), &cloud.grid);
        let chunks: Vec<Chunk> = (0..grid.len().div_ceil(CHUNK))
            .into_par_iter()
            .map_init(Around::default, |around, c| {
                Chunk::search(cloud, around, c * CHUNK..((c + 1) * CHUNK).min(grid.len()))
            })
            .collect();

        // Where each point stands in sorted order; points outside the grid stand nowhere.
        let mut ranks = vec![u32::MAX; points];
        for (s, &i) in grid.indices.iter().enumerate() {
            ranks[i as usize] = s as u32;
        }
        let list = |i: usize| -> &[u32] {
            let s = ranks[i] as usize;
            let Some(chunk) = chunks.get(s / CHUNK) else { return &[] };
            let local = s % CHUNK;
            let first = if local == 0 { 0 } else { chunk.ends[local - 1] };
            &chunk.found[first as usize..chunk.ends[local] as usize]
        };
        let mut starts = vec![0u32; points + 1];
        for i in 0..points {
            let end = starts[i].checked_add(list(i).len() as u32);
            starts[i + 1] = end.expect("at most 2^32 pairs of neighbors");
        }

        let mut neighbors = vec![0u32; starts[points] as usize];
        let mut pieces = Vec::with_capacity(points.div_ceil(CHUNK));
        let mut rest = neighbors.as_mut_slice();
        for first in (0..points).step_by(CHUNK) {
            let end = (first + CHUNK).min(points);
            let (piece, tail) = rest.split_at_mut((starts[end] - starts[first]) as usize);
            pieces.push((first..end, piece));
            rest = tail;
        }
        pieces.into_par_iter().for_each(|(range, mut piece)| {
            for i in range {
                let from = list(i);
                let (to, tail) = piece.split_at_mut(from.len());
                to.copy_from_slice(from);
                if !to.is_sorted() {
                    to.sort_unstable();
                }
                piece = tail;
            }
        });
        Self { starts, neighbors }
    }
}

/// Points with their radii, in the user's order and in cells.
struct Cloud<'a> {
    positions: &'a [DVec3],
    radii: &'a [f64],
    grid: Grid,
}

/// Lists of one run of sorted points.
struct Chunk {
    /// End of each point's list in `found`.
    ends: Vec<u32>,
    found: Vec<u32>,
}

impl Chunk {
    fn search(cloud: &Cloud, around: &mut Around, range: Range<usize>) -> Self {
        let grid = &cloud.grid;
        let mut chunk = Self { ends: Vec::with_capacity(range.len()), found: vec![0; 40 * range.len()] };
        let (mut first, mut len) = (range.start, 0);
        while first < range.end {
            let cell = grid.cell(grid.position(first));
            let same = (first..range.end).take_while(|&s| grid.cell(grid.position(s)) == cell).count();
            let slot = around.gather(cloud, cell, first);
            for k in 0..same {
                if chunk.found.len() < len + around.x.len() {
                    chunk.found.resize(2 * (len + around.x.len()), 0);
                }
                len += around.select(cloud, slot + k, &mut chunk.found[len..]);
                chunk.ends.push(len as u32);
            }
            first += same;
        }
        chunk.found.truncate(len);
        chunk
    }
}

/// Points tested at a time.
const LANES: usize = 8;

/// The points in and around one cell, in cell order, filled up to whole blocks of `LANES` with points at infinity.
#[derive(Default)]
struct Around {
    /// Coordinates relative to the cell's center [m].
    x: Vec<f32>,
    y: Vec<f32>,
    z: Vec<f32>,
    /// Half of each point's radius [m].
    half_radii: Vec<f32>,
    indices: Vec<u32>,
}

impl Around {
    /// Collects the points around `cell` and returns the place of sorted point `own`, which lies in the cell.
    fn gather(&mut self, cloud: &Cloud, cell: [i64; 3], own: usize) -> usize {
        let grid = &cloud.grid;
        let center = grid.cell_center(cell);
        let mut slot = 0;
        self.indices.clear();
        self.x.clear();
        self.y.clear();
        self.z.clear();
        self.half_radii.clear();
        grid.for_each_range(cell.map(|c| c - 1), cell.map(|c| c + 1), |range| {
            if range.contains(&own) {
                slot = self.x.len() + own - range.start;
            }
            let points = &grid.sorted[range.clone()];
            self.x.extend(points.iter().map(|p| (p.x - center.x) as f32));
            self.y.extend(points.iter().map(|p| (p.y - center.y) as f32));
            self.z.extend(points.iter().map(|p| (p.z - center.z) as f32));
            let indices = &grid.indices[range];
            self.half_radii.extend(indices.iter().map(|&i| 0.5 * usable(cloud.radii[i as usize]) as f32));
            self.indices.extend_from_slice(indices);
        });
        let whole = self.x.len().next_multiple_of(LANES);
        self.x.resize(whole, f32::INFINITY);
        self.y.resize(whole, 0.0);
        self.z.resize(whole, 0.0);
        self.half_radii.resize(whole, 0.0);
        self.indices.resize(whole, 0);
        slot
    }

    /// Writes the neighbors of the point in place `slot` to `found` and returns how many.
    fn select(&mut self, cloud: &Cloud, slot: usize, found: &mut [u32]) -> usize {
        // While it looks around the point itself is out of sight.
        let x = std::mem::replace(&mut self.x[slot], f32::INFINITY);
        let point = [x, self.y[slot], self.z[slot], self.half_radii[slot]];
        let count = self.select_all(cloud, self.indices[slot], point, found);
        self.x[slot] = x;
        count
    }

    #[cfg(target_arch = "x86_64")]
    fn select_all(&self, cloud: &Cloud, own: u32, point: [f32; 4], found: &mut [u32]) -> usize {
        if std::arch::is_x86_feature_detected!("avx2") {
            #[allow(unsafe_code, reason = "the processor has just been found to have AVX2")]
            // SAFETY: see the reason.
            return unsafe { self.select_avx2(cloud, own, point, found) };
        }
        self.select_portable(cloud, own, point, found)
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn select_all(&self, cloud: &Cloud, own: u32, point: [f32; 4], found: &mut [u32]) -> usize {
        self.select_portable(cloud, own, point, found)
    }

    fn blocks(&self) -> impl Iterator<Item = Block<'_>> {
        let (x, y, z) = (self.x.as_chunks().0, self.y.as_chunks().0, self.z.as_chunks().0);
        let (half_radii, indices) = (self.half_radii.as_chunks().0, self.indices.as_chunks().0);
        let blocks = x.iter().zip(y).zip(z).zip(half_radii).zip(indices);
        blocks.map(|((((x, y), z), half_radii), indices)| Block { x, y, z, half_radii, indices })
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn select_avx2(&self, cloud: &Cloud, own: u32, point: [f32; 4], found: &mut [u32]) -> usize {
        let mut count = 0;
        for block in self.blocks() {
            let Some((out, _)) = found[count..].split_first_chunk_mut() else { break };
            count += match avx2::near(point, DOUBT, &block, out) {
                Some(kept) => kept,
                None => block.exact(cloud, own, out),
            };
        }
        count
    }

    fn select_portable(&self, cloud: &Cloud, own: u32, point: [f32; 4], found: &mut [u32]) -> usize {
        let mut count = 0;
        for block in self.blocks() {
            let Some((out, _)) = found[count..].split_first_chunk_mut() else { break };
            count += match block.near(point, out) {
                Some(kept) => kept,
                None => block.exact(cloud, own, out),
            };
        }
        count
    }
}

/// Relative difference of squared lengths that f32 may get wrong, with a wide margin.
const DOUBT: f32 = 1e-5;

/// Eight candidates: coordinates, half radii [m] and indices.
pub(super) struct Block<'a> {
    pub x: &'a [f32; LANES],
    pub y: &'a [f32; LANES],
    pub z: &'a [f32; LANES],
    pub half_radii: &'a [f32; LANES],
    pub indices: &'a [u32; LANES],
}

impl Block<'_> {
    /// Writes the candidates near the point (x, y, z, half radius) to the front of `out` and returns how many; None when f32 leaves a
    /// doubt about one of them.
    fn near(&self, [x, y, z, half_radius]: [f32; 4], out: &mut [u32; LANES]) -> Option<usize> {
        let mut excess = [0.0f32; LANES];
        let mut certain = [0.0f32; LANES];
        for l in 0..LANES {
            let (dx, dy, dz) = (self.x[l] - x, self.y[l] - y, self.z[l] - z);
            let mean = half_radius + self.half_radii[l];
            excess[l] = dx * dx + dy * dy + dz * dz - mean * mean;
            certain[l] = excess[l].abs() - DOUBT * (mean * mean);
        }
        // Also in doubt when it is not a number: coordinates beyond the range of f32.
        if certain.iter().fold(false, |doubt, &c| doubt | (c.is_nan() | (c <= 0.0))) {
            return None;
        }
        // Every candidate is written and the end moves only past neighbors: no branch to mispredict.
        let mut kept = 0;
        for l in 0..LANES {
            out[kept % LANES] = self.indices[l];
            kept += usize::from(excess[l] < 0.0);
        }
        Some(kept)
    }

    /// The same in f64.
    fn exact(&self, cloud: &Cloud, own: u32, out: &mut [u32; LANES]) -> usize {
        let mut kept = 0;
        for l in 0..LANES {
            let empty = self.x[l] == f32::INFINITY && self.y[l] == 0.0 && self.half_radii[l] == 0.0;
            if !empty && is_near(cloud, own as usize, self.indices[l] as usize) {
                out[kept] = self.indices[l];
                kept += 1;
            }
        }
        kept
    }
}

/// The test in f64.
fn is_near(cloud: &Cloud, i: usize, j: usize) -> bool {
    let mean = 0.5 * (usable(cloud.radii[i]) + usable(cloud.radii[j]));
    i != j && (cloud.positions[j] - cloud.positions[i]).length_squared() < mean * mean
}

/// A radius that is not positive and finite counts as 0.
fn usable(radius: f64) -> f64 {
    if radius > 0.0 && radius.is_finite() { radius } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn cloud(n: u64) -> Vec<DVec3> {
        (0..n).map(|i| Random::new(5, i).in_cube()).collect()
    }

    fn brute(points: &[DVec3], near: impl Fn(usize, usize, f64) -> bool) -> Neighborhoods {
        let mut lists = Neighborhoods { starts: vec![0], neighbors: Vec::new() };
        for i in 0..points.len() {
            let is_near = |&j: &usize| j != i && near(i, j, (points[j] - points[i]).length_squared());
            lists.neighbors.extend((0..points.len()).filter(is_near).map(|j| j as u32));
            lists.starts.push(lists.neighbors.len() as u32);
        }
        lists
    }

    #[test]
    fn lists_equal_brute_force() {
        let mut points = cloud(1500);
        points.extend_from_within(10..20);
        points.push(DVec3::NAN);
        points.push(DVec3::new(1e9, 0.0, 0.0));
        let lists = Neighborhoods::within_radius(&points, 0.3);
        assert_eq!(lists, brute(&points, |_, _, r2| r2 < 0.3 * 0.3));
        assert_eq!(lists.len(), points.len());
        assert_eq!(lists.of(1510).count(), 0);
    }

    #[test]
    fn unequal_radii_follow_the_mean_and_are_symmetric() {
        let points = cloud(1200);
        let radii: Vec<f64> =
            (0..1200).map(|i| if i == 7 { -1.0 } else { Random::new(6, i).between(0.1, 0.5) }).collect();
        let lists = Neighborhoods::with_radii(&points, &radii);
        let mean = |i: usize, j: usize| 0.5 * (radii[i].max(0.0) + radii[j].max(0.0));
        assert_eq!(lists, brute(&points, |i, j, r2| r2 < mean(i, j) * mean(i, j)));
        for i in 0..points.len() {
            assert!(lists.of(i).all(|j| lists.of(j).any(|k| k == i)));
        }
    }

    #[test]
    fn a_lattice_whose_spacing_divides_the_radius_has_symmetric_lists() {
        let points: Vec<DVec3> =
            (0..1000).map(|i| 0.1 * DVec3::new((i % 10) as f64, (i / 10 % 10) as f64, (i / 100) as f64)).collect();
        let lists = Neighborhoods::within_radius(&points, 0.30000000000000004);
        assert_eq!(lists, brute(&points, |_, _, r2| r2 < 0.30000000000000004f64.powi(2)));
    }

    #[test]
    fn the_same_bits_on_any_number_of_threads() {
        let points = cloud(5000);
        let lists = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| Neighborhoods::within_radius(&points, 0.2))
        };
        let one = lists(1);
        assert!((2..=4).all(|threads| lists(threads) == one));
    }

    #[test]
    fn both_forms_of_the_test_select_the_same() {
        let positions = cloud(3000);
        let radii = vec![0.3; positions.len()];
        let cloud = Cloud { positions: &positions, radii: &radii, grid: Grid::new(&positions, 0.3) };
        let mut around = Around::default();
        let cell = cloud.grid.cell(positions[5]);
        around.gather(&cloud, cell, 0);
        let mut found = [vec![0; around.x.len()], vec![0; around.x.len()]];
        for k in 0..around.x.len() {
            let point = [around.x[k], around.y[k], around.z[k], 0.15];
            let one = around.select_all(&cloud, around.indices[k], point, &mut found[0]);
            let other = around.select_portable(&cloud, around.indices[k], point, &mut found[1]);
            assert_eq!(found[0][..one], found[1][..other]);
        }
    }

    #[test]
    fn nothing_and_no_radius_give_empty_lists() {
        assert!(Neighborhoods::within_radius(&[], 1.0).is_empty());
        assert!(Neighborhoods::with_radii(&[], &[]).is_empty());
        let none = Neighborhoods::within_radius(&cloud(3), f64::NAN);
        assert_eq!((none.len(), none.neighbors.len()), (3, 0));
        assert!(Neighborhoods::with_radii(&cloud(3), &[0.0; 3]).neighbors.is_empty());
    }
}
