//! Records of the pair loops: what is gathered per neighbor, what is kept per block of eight points, and the pair lists.
//!
//! With symmetric weights w_ij, `x_ij = x_j - x_i`, and the corrected gradient vectors
//! `d_ij = w_ij (B_i x_ij + v_i q_ij)`, everything a substep needs is in four sums per point:
//!
//! ```text
//! pass 1   W_i = sum_j w u_ij x_ijᵀ,  Q_i = sum_j w u_ij q_ijᵀ,  c_i = sum_j w (kappa_i + kappa_j) u_ij
//!          H_i = W_i B_iᵀ + v_i Q_i                     (corrected J - I)
//!          H0_i = W_i A_i⁻¹                             (plain, for the zero-energy control)
//!          M_i = P_i B_i - kappa_i H0_i,  N_i = v_i P_i
//! pass 2   f_i = c_i + M_i s_i + N_i t_i + sum_j w (M_j x_ij + N_j q_ij),  s_i = sum_j w x_ij,  t_i = sum_j w q_ij
//! ```
//!
//! so that no pair vector is stored: a pair is an index and a weight, and (x, kappa, q) of a point is one 8-lane vector.

use super::real::Real;
use glam::DVec3;
use std::ops::Range;

/// Points in a block; the point algebra runs over them in lanes.
pub(crate) const LANES: usize = 8;
/// Points that share one interleaved list; one loop end, hence at most one branch miss, per group.
pub(crate) const GROUP: usize = 2;
/// Indices are stored times 16, so that 64- and 128-byte records are reached by scaled addressing without a shift.
pub(crate) const INDEX_SCALE: u32 = 16;
/// Blocks in a chunk, the unit of parallel work. Fixed: chunk results are summed in order.
pub(crate) const CHUNK_BLOCKS: usize = 32;
/// Points in a chunk.
pub(crate) const CHUNK: usize = CHUNK_BLOCKS * LANES;

/// Whose points a block holds: lanes below `split` belong to `first`, lanes from `rest` on to `last`; `rest` lies past the
/// end if these are the same body. Bodies in between lie wholly inside the block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owners {
    pub first: usize,
    pub last: usize,
    pub split: usize,
    pub rest: usize,
}

impl Owners {
    /// Of the block of points `block`, cut at the last point.
    pub fn of(block: Range<usize>, bodies: &[Range<usize>]) -> Self {
        let body_of = |i: usize| bodies.partition_point(|body| body.end <= i);
        let (first, last) = (body_of(block.start), body_of(block.end - 1));
        let split = bodies[first].end.min(block.end) - block.start;
        let rest = if first == last { block.len() } else { bodies[last].start - block.start };
        Self { first, last, split, rest }
    }
}

/// Displacement of a point in a node [m].
pub(crate) trait Displacement: Copy + Default + Send + Sync + 'static {
    /// Whether displacements must be measured from a moving origin to be exact enough.
    const NEEDS_ORIGIN: bool;
    /// Rounds to this format.
    fn of(u: DVec3) -> Self;
    /// `self - other` in f64 [m].
    fn minus(&self, other: &Self) -> DVec3;
}

/// Four values in one number format, the fourth 0.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C, align(16))]
pub(crate) struct Single<T>(pub [T; 4]);

/// An f64 as the sum of two f32 (48 bits): its differences cost no conversion, three operations on f32 lanes.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C, align(32))]
pub(crate) struct Split {
    /// Rounded to f32.
    pub high: [f32; 4],
    /// The rest, rounded to f32.
    pub low: [f32; 4],
}

impl<T: Real> Displacement for Single<T> {
    const NEEDS_ORIGIN: bool = size_of::<T>() < size_of::<f64>();
    #[inline(always)]
    fn of(u: DVec3) -> Self {
        Self([T::of(u.x), T::of(u.y), T::of(u.z), T::default()])
    }
    #[inline(always)]
    fn minus(&self, other: &Self) -> DVec3 {
        DVec3::from_array(std::array::from_fn(|k| self.0[k].f64() - other.0[k].f64()))
    }
}

impl Displacement for Split {
    const NEEDS_ORIGIN: bool = false;
    #[inline(always)]
    fn of(u: DVec3) -> Self {
        let high = [u.x as f32, u.y as f32, u.z as f32, 0.0];
        let low = [(u.x - high[0] as f64) as f32, (u.y - high[1] as f64) as f32, (u.z - high[2] as f64) as f32, 0.0];
        Self { high, low }
    }
    #[inline(always)]
    fn minus(&self, other: &Self) -> DVec3 {
        let part = |a: &[f32; 4], b: &[f32; 4], k: usize| a[k] as f64 - b[k] as f64;
        DVec3::from_array(std::array::from_fn(|k| part(&self.high, &other.high, k) + part(&self.low, &other.low, k)))
    }
}

/// Gathered in pass 1: rest position, control strength and correction field (constant), displacement. One cache line in f32 and mixed.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C, align(64))]
pub(crate) struct Node<T, D> {
    /// x, y, z [m] from the body's center, kappa [N/m], three scaled components of q [1/m], 0.
    pub xkq: [T; 8],
    /// Written by `advance` and `load`.
    pub u: D,
}

/// Gathered in pass 2; two cache lines in f32. Written by pass 1 except `xq`, which is constant.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C, align(64))]
pub(crate) struct Record<T> {
    /// Row r of M and N: M_r0, M_r1, M_r2, 0, N_r0, N_r1, N_r2, 0.
    pub rows: [[T; 8]; 3],
    /// x, y, z, 0, q, 0 as in `Node`.
    pub xq: [T; 8],
}

/// Constants of eight points, one per lane.
#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Block<T> {
    /// Upper triangle of the inverse moment matrix A⁻¹ [1/m²]: xx xy xz yy yz zz.
    pub a: [[T; LANES]; 6],
    /// B = A⁻¹ - v ∇q [1/m²], row by row.
    pub b: [[T; LANES]; 9],
    /// s [m].
    pub s: [[T; LANES]; 3],
    /// t, scaled like q [1/m].
    pub t: [[T; LANES]; 3],
    /// Rest volume [m³].
    pub volume: [T; LANES],
    /// Rest volume over the mean one: the factor of the scaled q.
    pub relative_volume: [T; LANES],
    /// Control strength [N/m].
    pub kappa: [T; LANES],
    /// First Lamé constant [Pa].
    pub lambda: [T; LANES],
    /// Twice the second Lamé constant [Pa].
    pub two_mu: [T; LANES],
    /// Volume stiffness k_v [Pa].
    pub volume_stiffness: [T; LANES],
    /// Collapse stiffness k_c [Pa].
    pub collapse_stiffness: [T; LANES],
    /// Collapse ratio j_c minus 1.
    pub collapse_strain: [T; LANES],
    /// Index of the block's row in the table of full stiffnesses, `u32::MAX` when all lanes are isotropic.
    pub stiffness: u32,
}

impl<T: Real> Block<T> {
    /// Takes all stiffness away but that of the control.
    pub fn soften(&mut self) {
        let zero = [T::default(); LANES];
        (self.lambda, self.two_mu, self.volume_stiffness, self.collapse_stiffness) = (zero, zero, zero, zero);
        self.stiffness = u32::MAX;
    }
}

/// Upper triangle of the 6x6 stiffness of eight points [Pa], Voigt order xx yy zz yz zx xy, row by row.
pub(crate) type StiffnessBlock<T> = [[T; LANES]; 21];

/// Forces of eight points that need no neighbor loop: `c + M s + N t` [N]. Written by pass 1, read by pass 2.
pub(crate) type OwnForces<T> = [[T; LANES]; 3];

/// Symmetric pair lists. Lists of `GROUP` consecutive points are interleaved and padded to the longer one with (self, 0).
#[derive(Clone, Debug, Default)]
pub(crate) struct PairLists<T> {
    /// First entry of each group, and the end.
    pub starts: Vec<u32>,
    /// Neighbor index times `INDEX_SCALE`.
    pub indices: Vec<u32>,
    /// Weight.
    pub weights: Vec<T>,
}

impl<T: Real> PairLists<T> {
    /// Packs lists given point by point; `blocks` blocks of points, those past the end get empty lists.
    pub fn new(starts: &[u32], neighbors: &[u32], weights: &[T], blocks: usize) -> Self {
        let n = starts.len() - 1;
        let range = |i: usize| if i < n { starts[i] as usize..starts[i + 1] as usize } else { 0..0 };
        let mut lists = Self { starts: vec![0], ..Self::default() };
        lists.indices.reserve(neighbors.len() + neighbors.len() / 8);
        lists.weights.reserve(neighbors.len() + neighbors.len() / 8);
        for group in 0..blocks * LANES / GROUP {
            let points = group * GROUP..(group + 1) * GROUP;
            let longest = points.clone().map(|i| range(i).len()).max().unwrap_or(0);
            for k in 0..longest {
                for i in points.clone() {
                    let (j, w) = match range(i).nth(k) {
                        Some(entry) => (neighbors[entry], weights[entry]),
                        None => (i as u32, T::default()),
                    };
                    lists.indices.push(j * INDEX_SCALE);
                    lists.weights.push(w);
                }
            }
            lists.starts.push(lists.indices.len() as u32);
        }
        lists.indices.shrink_to_fit();
        lists.weights.shrink_to_fit();
        lists
    }

    /// Neighbors of point `i` with their weights, padding left out, in the order of the sums.
    pub fn of(&self, i: usize) -> impl Iterator<Item = (usize, T)> + '_ {
        let group = i / GROUP;
        let range = self.starts[group] as usize..self.starts[group + 1] as usize;
        range
            .skip(i % GROUP)
            .step_by(GROUP)
            .map(|k| ((self.indices[k] / INDEX_SCALE) as usize, self.weights[k]))
            .filter(move |&(j, _)| j != i)
    }
}
