//! Symmetric matrices of 3x3 blocks with few entries per row, and their factors.
//!
//! Made for the stiffness of surfaces: `dissection` orders the points so that the factor stays small, `cholesky` factors
//! dense pieces from the leaves of that order to its root, `dense` is the arithmetic of one piece.

pub mod cholesky;
mod dense;
mod dissection;

pub use cholesky::Cholesky;

use glam::{DMat3, DVec3};
use rayon::prelude::*;

/// Rows per parallel task.
const CHUNK: usize = 256;

/// A symmetric matrix of 3x3 blocks. All rows are stored whole, so that a product is a gather.
#[derive(Debug, Clone, Default)]
pub struct BlockMatrix {
    /// First entry of each row, and the end.
    pub starts: Vec<u32>,
    /// Column of each entry, ascending in a row; the diagonal is always there.
    pub columns: Vec<u32>,
    /// The entries.
    pub blocks: Vec<DMat3>,
}

impl BlockMatrix {
    /// A zero matrix with room for the pairs within each of the given sets of points.
    pub fn of_cliques<'a>(points: usize, cliques: impl Iterator<Item = &'a [u32]> + Clone) -> Self {
        let mut rows: Vec<Vec<u32>> = (0..points as u32).map(|i| vec![i]).collect();
        for clique in cliques {
            clique.iter().for_each(|&i| rows[i as usize].extend(clique));
        }
        let mut matrix = Self { starts: vec![0], ..Self::default() };
        for mut row in rows {
            row.sort_unstable();
            row.dedup();
            matrix.columns.extend(row);
            matrix.starts.push(matrix.columns.len() as u32);
        }
        matrix.blocks = vec![DMat3::ZERO; matrix.columns.len()];
        matrix
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Columns of a row.
    pub fn row(&self, i: usize) -> &[u32] {
        &self.columns[self.starts[i] as usize..self.starts[i + 1] as usize]
    }

    /// Where the entry of row `i` and column `j` lies, if there is room for it.
    pub fn place(&self, i: usize, j: usize) -> Option<usize> {
        self.row(i).binary_search(&(j as u32)).ok().map(|k| self.starts[i] as usize + k)
    }

    /// Writes the product with a vector.
    pub fn product(&self, x: &[DVec3], out: &mut [DVec3]) {
        out.par_iter_mut().enumerate().with_min_len(CHUNK).for_each(|(i, out)| {
            let range = self.starts[i] as usize..self.starts[i + 1] as usize;
            let pairs = self.columns[range.clone()].iter().zip(&self.blocks[range]);
            *out = pairs.fold(DVec3::ZERO, |sum, (&j, block)| sum + *block * x[j as usize]);
        });
    }
}
