//! Sparse Cholesky factor, front by front.
//!
//! Each piece of the dissection collects its own entries and what its children left to factor, eliminates its columns and hands
//! on the rest. Halves are independent and run side by side; every sum has one order, so the bits do not depend on the threads.

use super::BlockMatrix;
use super::dense::Front;
use super::dissection::{Piece, dissect};
use crate::models::mls::implicit::widest;
use crate::models::shell::engine::wide_vectors;
use crate::models::shell::lanes::{LANES, Lane};
use glam::{DMat3, DVec3};

/// Pieces with fewer points below them are not worth a task.
const TASK: usize = 200;

/// The factor of a matrix whose places of entries are fixed.
#[derive(Debug, Clone, Default)]
pub struct Cholesky {
    root: Node,
    /// Number of each point in the order of elimination.
    order: Vec<u32>,
    /// Solution in that order. Written by `solve`.
    work: Vec<f64>,
}

#[derive(Debug, Clone, Default)]
struct Node {
    children: Vec<Node>,
    /// First of its points in the order of elimination, and their number.
    first: usize,
    count: usize,
    /// Points of later pieces that its columns reach, ascending.
    rows: Vec<u32>,
    /// Where the rows of each child lie in this front.
    maps: Vec<Vec<u32>>,
    /// Entries of the matrix: row and column in this front, place among the blocks, whether it is turned over.
    entries: Vec<Entry>,
    /// Points in it and its children.
    points: usize,
    /// Columns of the factor, row by row. Written by `factor`.
    panel: Vec<f64>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    row: u32,
    column: u32,
    block: u32,
}

impl Cholesky {
    /// Orders the points at `places`; `matrix` gives where entries may be.
    pub fn new(matrix: &BlockMatrix, places: &[DVec3]) -> Self {
        let tree = dissect(matrix, places);
        let mut numbered = Vec::with_capacity(places.len());
        let mut root = Node::default();
        root.number(&tree, &mut numbered);
        let mut order = vec![0; numbered.len()];
        numbered.iter().enumerate().for_each(|(k, &i)| order[i as usize] = k as u32);
        root.reach(matrix, &numbered, &order);
        Self { root, order, work: vec![0.0; 3 * places.len()] }
    }

    /// Factors a matrix with the places of entries that `new` saw.
    pub fn factor(&mut self, matrix: &BlockMatrix) {
        self.root.factor(&matrix.blocks);
    }

    /// Numbers in the factor.
    pub fn size(&self) -> usize {
        self.root.size()
    }

    /// Writes the solution for a right side; entries of both are points.
    pub fn solve(&mut self, right: &[DVec3], out: &mut [DVec3]) {
        for (r, &k) in right.iter().zip(&self.order) {
            self.work[3 * k as usize..][..3].copy_from_slice(&r.to_array());
        }
        let wide = wide_vectors();
        self.root.forward(wide, &mut self.work);
        self.root.backward(wide, &mut self.work);
        for (out, &k) in out.iter_mut().zip(&self.order) {
            *out = DVec3::from_slice(&self.work[3 * k as usize..]);
        }
    }
}

impl Node {
    fn number(&mut self, piece: &Piece, numbered: &mut Vec<u32>) {
        let before = numbered.len();
        self.children = vec![Self::default(); piece.children.len()];
        for (node, piece) in self.children.iter_mut().zip(&piece.children) {
            node.number(piece, numbered);
        }
        (self.first, self.count) = (numbered.len(), piece.points.len());
        numbered.extend(&piece.points);
        self.points = numbered.len() - before;
    }

    fn reach(&mut self, matrix: &BlockMatrix, numbered: &[u32], order: &[u32]) {
        let end = (self.first + self.count) as u32;
        let mut rows = Vec::new();
        for child in &mut self.children {
            child.reach(matrix, numbered, order);
            rows.extend(child.rows.iter().filter(|&&r| r >= end));
        }
        for &i in &numbered[self.first..end as usize] {
            rows.extend(matrix.row(i as usize).iter().map(|&j| order[j as usize]).filter(|&r| r >= end));
        }
        rows.sort_unstable();
        rows.dedup();
        self.rows = rows;
        self.maps = self.children.iter().map(|c| c.rows.iter().map(|&r| self.place(r)).collect()).collect();
        let mut entries = Vec::new();
        for column in 0..self.count {
            let i = numbered[self.first + column] as usize;
            for (k, &j) in matrix.row(i).iter().enumerate() {
                let r = order[j as usize];
                if r as usize >= self.first + column {
                    let block = matrix.starts[i] + k as u32;
                    entries.push(Entry { row: self.place(r), column: column as u32, block });
                }
            }
        }
        self.entries = entries;
    }

    /// Where a point lies in this front.
    fn place(&self, r: u32) -> u32 {
        let own = (r as usize).wrapping_sub(self.first);
        if own < self.count {
            return own as u32;
        }
        self.rows.binary_search(&r).map_or(0, |k| (self.count + k) as u32)
    }

    /// Returns what is left to factor, of the size of `rows`, at the end of the front.
    fn factor(&mut self, blocks: &[DMat3]) -> Front {
        let left: Vec<Front> = match &mut self.children[..] {
            [a, b] if a.points.min(b.points) > TASK => {
                let (a, b) = rayon::join(|| a.factor(blocks), || b.factor(blocks));
                vec![a, b]
            }
            children => children.iter_mut().map(|c| c.factor(blocks)).collect(),
        };
        let mut front = Front::new(3 * (self.count + self.rows.len()));
        for entry in &self.entries {
            // The row of the matrix is this column of the front: blocks come turned over.
            let block = blocks[entry.block as usize].to_cols_array_2d();
            for (a, column) in block.iter().enumerate() {
                // Column a of the block of (column, row) is row a of that of (row, column).
                let at = (3 * entry.row as usize + a) * front.stride + 3 * entry.column as usize;
                front.data[at..at + 3].copy_from_slice(column);
            }
        }
        for (left, map) in left.iter().zip(&self.maps) {
            front.add(left, map);
        }
        drop(left);
        let width = 3 * self.count;
        front.eliminate(width);
        self.panel.clear();
        for i in 0..front.size {
            self.panel.extend_from_slice(&front.row(i)[..width]);
        }
        front
    }

    fn size(&self) -> usize {
        3 * self.count * (3 * (self.count + self.rows.len())) + self.children.iter().map(Self::size).sum::<usize>()
    }

    fn forward(&self, wide: bool, x: &mut [f64]) {
        self.children.iter().for_each(|c| c.forward(wide, x));
        if wide {
            widest(
                #[inline(always)]
                || self.forward_own::<true>(x),
            );
        } else {
            self.forward_own::<false>(x);
        }
    }

    fn backward(&self, wide: bool, x: &mut [f64]) {
        if wide {
            widest(
                #[inline(always)]
                || self.backward_own::<true>(x),
            );
        } else {
            self.backward_own::<false>(x);
        }
        self.children.iter().for_each(|c| c.backward(wide, x));
    }

    #[inline(always)]
    fn forward_own<const W: bool>(&self, x: &mut [f64]) {
        let width = 3 * self.count;
        if width == 0 {
            return;
        }
        let (own, later) = x[3 * self.first..].split_at_mut(width);
        for i in 0..width {
            let row = &self.panel[i * width..][..=i];
            own[i] = (own[i] - dot::<W>(&row[..i], own)) / row[i];
        }
        let below = self.panel[width * width..].chunks_exact(3 * width);
        for (&r, rows) in self.rows.iter().zip(below) {
            let at = 3 * (r as usize - self.first) - width;
            for (a, row) in rows.chunks_exact(width).enumerate() {
                later[at + a] -= dot::<W>(row, own);
            }
        }
    }

    #[inline(always)]
    fn backward_own<const W: bool>(&self, x: &mut [f64]) {
        let width = 3 * self.count;
        if width == 0 {
            return;
        }
        let (own, later) = x[3 * self.first..].split_at_mut(width);
        let below = self.panel[width * width..].chunks_exact(3 * width);
        for (&r, rows) in self.rows.iter().zip(below) {
            let at = 3 * (r as usize - self.first) - width;
            for (a, row) in rows.chunks_exact(width).enumerate() {
                subtract::<W>(own, row, later[at + a]);
            }
        }
        for i in (0..width).rev() {
            let row = &self.panel[i * width..][..=i];
            own[i] /= row[i];
            let known = own[i];
            subtract::<W>(&mut own[..i], &row[..i], known);
        }
    }
}

impl Front {
    /// Adds what a child left, whose rows lie at `map` here.
    fn add(&mut self, left: &Front, map: &[u32]) {
        let skipped = left.size - 3 * map.len();
        for (k, &row) in map.iter().enumerate() {
            for a in 0..3 {
                let from = &left.row(skipped + 3 * k + a)[skipped..];
                let at = (3 * row as usize + a) * self.stride;
                let to = &mut self.data[at..at + self.stride];
                for (from, &column) in from.chunks_exact(3).zip(&map[..=k]) {
                    let to = &mut to[3 * column as usize..][..3];
                    (0..3).for_each(|b| to[b] += from[b]);
                }
            }
        }
    }
}

/// Sum of products, four side by side.
#[inline(always)]
fn dot<const W: bool>(a: &[f64], b: &[f64]) -> f64 {
    let (a4, a1) = a.as_chunks::<LANES>();
    let (b4, b1) = b[..a.len()].as_chunks::<LANES>();
    let mut sums = Lane::<W>::ZERO;
    for (a, b) in a4.iter().zip(b4) {
        sums += Lane::<W>(*a) * Lane(*b);
    }
    let rest: f64 = a1.iter().zip(b1).map(|(a, b)| a * b).sum();
    sums.sum() + rest
}

/// x - factor times row, four side by side.
#[inline(always)]
fn subtract<const W: bool>(x: &mut [f64], row: &[f64], factor: f64) {
    let (x4, x1) = x.as_chunks_mut::<LANES>();
    let (row4, row1) = row.as_chunks::<LANES>();
    let factors = Lane::<W>::splat(factor);
    for (x, row) in x4.iter_mut().zip(row4) {
        *x = (Lane::<W>(*x) - Lane::<W>(*row) * factors).0;
    }
    x1.iter_mut().zip(row1).for_each(|(x, row)| *x -= row * factor);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::outer;
    use crate::random::Random;

    /// A grid of points with springs in all directions to all points within two spacings, held weakly.
    fn sheet(across: usize) -> (BlockMatrix, Vec<DVec3>) {
        let places: Vec<DVec3> = (0..across * across)
            .map(|k| {
                DVec3::new((k % across) as f64, 0.0, (k / across) as f64) + 0.2 * Random::new(3, k as u64).in_cube()
            })
            .collect();
        let near = |k: usize| -> Vec<u32> {
            (0..places.len()).filter(|&j| places[j].distance(places[k]) < 2.3).map(|j| j as u32).collect()
        };
        let pairs: Vec<[u32; 2]> =
            (0..places.len()).flat_map(|k| near(k).into_iter().map(move |j| [k as u32, j])).collect();
        let mut matrix = BlockMatrix::of_cliques(places.len(), pairs.iter().map(|p| &p[..]));
        for i in 0..places.len() {
            for &j in near(i).iter().filter(|&&j| j as usize != i) {
                let d = (places[j as usize] - places[i]).normalize();
                let block = outer(d, d) + 0.1 * outer(d.cross(DVec3::Y), d);
                let (own, other) = (matrix.place(i, i).unwrap(), matrix.place(i, j as usize).unwrap());
                let back = matrix.place(j as usize, i).unwrap();
                let far = matrix.place(j as usize, j as usize).unwrap();
                matrix.blocks[own] += 2.0 * outer(d, d) + 0.3 * DMat3::IDENTITY;
                matrix.blocks[far] += 0.3 * DMat3::IDENTITY;
                matrix.blocks[other] -= block;
                matrix.blocks[back] -= block.transpose();
            }
            let own = matrix.place(i, i).unwrap();
            matrix.blocks[own] += 1e-3 * DMat3::IDENTITY;
        }
        (matrix, places)
    }

    #[test]
    fn solves_what_it_factored() {
        for across in [1, 2, 5, 13, 24] {
            let (matrix, places) = sheet(across);
            let mut cholesky = Cholesky::new(&matrix, &places);
            cholesky.factor(&matrix);
            let right: Vec<DVec3> = (0..places.len() as u64).map(|i| Random::new(9, i).in_cube()).collect();
            let (mut x, mut back) = (vec![DVec3::ZERO; right.len()], vec![DVec3::ZERO; right.len()]);
            cholesky.solve(&right, &mut x);
            matrix.product(&x, &mut back);
            let error = back.iter().zip(&right).map(|(a, b)| (*a - *b).length()).fold(0.0, f64::max);
            assert!(error < 1e-10, "{across}: {error}");
        }
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let (matrix, places) = sheet(26);
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut cholesky = Cholesky::new(&matrix, &places);
                cholesky.factor(&matrix);
                let mut x = vec![DVec3::ZERO; places.len()];
                cholesky.solve(&places, &mut x);
                x
            })
        };
        assert_eq!(run(1), run(3));
    }
}
