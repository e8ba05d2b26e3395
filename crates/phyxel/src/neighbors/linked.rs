//! Which near points are matter of one piece: the two-step rule.
//!
//! Distance alone would let heat jump over a gap and melted matter bond across it. Two near points of one piece are
//! linked when they are closer than 1.5 spacings, or when some third point of the piece is that close to both: matter
//! without a gap passes (all 56 neighbors of a cubic lattice within 2.33 spacings do), the other side of a gap does
//! not. Points of different pieces are linked only where the pieces touch, closer than 1.2 spacings; the difference of
//! both distances is the hysteresis between joining and parting.

use super::Neighborhoods;
use glam::DVec3;
use rayon::prelude::*;

/// Points of one piece closer than this are bonded directly, in spacings.
pub const BOND_REACH: f64 = 1.5;
/// Points of different pieces closer than this touch, in spacings.
pub const TOUCH_REACH: f64 = 1.2;

/// Points per parallel task.
const CHUNK: usize = 256;

/// What the rule looks at; one entry per point.
#[derive(Debug, Clone, Copy)]
pub struct Matter<'a> {
    /// Positions now [m].
    pub positions: &'a [DVec3],
    /// Local distance between points [m]; of two points the mean counts.
    pub spacings: &'a [f64],
    /// Connected piece that each point belongs to.
    pub labels: &'a [u32],
}

impl Matter<'_> {
    /// Whether both points are of one piece and closer than `BOND_REACH` spacings.
    pub fn is_bond(&self, i: usize, j: usize) -> bool {
        self.labels[i] == self.labels[j] && self.is_within(i, j, BOND_REACH)
    }

    /// Whether the points are of different pieces and closer than `TOUCH_REACH` spacings.
    pub fn is_touch(&self, i: usize, j: usize) -> bool {
        self.labels[i] != self.labels[j] && self.is_within(i, j, TOUCH_REACH)
    }

    #[inline]
    fn is_within(&self, i: usize, j: usize, reach: f64) -> bool {
        let limit = reach * 0.5 * (self.spacings[i] + self.spacings[j]);
        (self.positions[j] - self.positions[i]).length_squared() < limit * limit
    }
}

/// Finds linked pairs; keeps its buffers from call to call.
#[derive(Debug, Clone, Default)]
pub struct Linker {
    /// Direct bonds of each point.
    bonds: Neighborhoods,
}

impl Linker {
    /// Writes those pairs of `near` that are linked to `out`, in the same order. `near` must hold j for i whenever it
    /// holds i for j and must reach `BOND_REACH` spacings; then `out` is symmetric too.
    pub fn link(&mut self, matter: &Matter, near: &Neighborhoods, out: &mut Neighborhoods) {
        let one_piece = matter.labels.windows(2).all(|l| l[0] == l[1]);
        sift(near, &mut self.bonds, |i, list, kept, _| {
            if one_piece {
                list.iter().for_each(|&j| kept.push_if(j, matter.is_within(i, j as usize, BOND_REACH)));
            } else {
                list.iter().for_each(|&j| kept.push_if(j, matter.is_bond(i, j as usize)));
            }
        });
        let bonds = |i: usize| &self.bonds.neighbors[self.bonds.starts[i] as usize..self.bonds.starts[i + 1] as usize];
        sift(near, out, |i, list, kept, stamps| {
            // Everything one or two bonds away carries the stamp of this point.
            let stamp = i as u32 + 1;
            for &k in bonds(i) {
                stamps[k as usize] = stamp;
                bonds(k as usize).iter().for_each(|&j| stamps[j as usize] = stamp);
            }
            if one_piece {
                list.iter().for_each(|&j| kept.push_if(j, stamps[j as usize] == stamp));
            } else {
                let linked = |j: usize| stamps[j] == stamp || matter.is_touch(i, j);
                list.iter().for_each(|&j| kept.push_if(j, linked(j as usize)));
            }
        });
    }

    /// The direct bonds found by the last `link`: pairs of one piece closer than `BOND_REACH` spacings.
    pub fn bonds(&self) -> &Neighborhoods {
        &self.bonds
    }
}

/// What is kept of the lists of one task. Every candidate is written and the end moves only past the kept: no branch to
/// mispredict.
struct Kept {
    list: Vec<u32>,
    len: usize,
}

impl Kept {
    #[inline(always)]
    fn push_if(&mut self, j: u32, kept: bool) {
        self.list[self.len] = j;
        self.len += usize::from(kept);
    }
}

/// Writes those pairs of `near` to `out` that `judge` pushes, point by point; it also gets one stamp per point, its own for
/// each task.
fn sift(near: &Neighborhoods, out: &mut Neighborhoods, judge: impl Fn(usize, &[u32], &mut Kept, &mut [u32]) + Sync) {
    let sift_chunk = |stamps: &mut Vec<u32>, c: usize| {
        let range = c * CHUNK..((c + 1) * CHUNK).min(near.len());
        let total = (near.starts[range.end] - near.starts[range.start]) as usize;
        // One more, where the last one that is not kept goes.
        let mut kept = Kept { list: vec![0; total + 1], len: 0 };
        let ends: Vec<u32> = range
            .map(|i| {
                let list = &near.neighbors[near.starts[i] as usize..near.starts[i + 1] as usize];
                judge(i, list, &mut kept, stamps);
                kept.len as u32
            })
            .collect();
        kept.list.truncate(kept.len);
        (ends, kept.list)
    };
    let tasks = (0..near.len().div_ceil(CHUNK)).into_par_iter();
    let chunks: Vec<_> = tasks.map_init(|| vec![0u32; near.len()], sift_chunk).collect();
    out.starts.clear();
    out.starts.push(0);
    out.neighbors.clear();
    out.neighbors.reserve(chunks.iter().map(|(_, kept)| kept.len()).sum());
    for (ends, kept) in &chunks {
        let first = out.neighbors.len() as u32;
        out.starts.extend(ends.iter().map(|end| first + end));
        out.neighbors.extend_from_slice(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    const SPACING: f64 = 0.1;

    fn lattice(n: usize, jitter: f64) -> Vec<DVec3> {
        let cell = |i: usize| DVec3::new((i % n) as f64, (i / n % n) as f64, (i / n / n) as f64);
        (0..n * n * n).map(|i| SPACING * (cell(i) + jitter * Random::new(3, i as u64).in_cube())).collect()
    }

    fn linked(positions: &[DVec3], labels: &[u32]) -> Neighborhoods {
        let spacings = vec![SPACING; positions.len()];
        let near = Neighborhoods::within_radius(positions, 2.33 * SPACING);
        let mut out = Neighborhoods::default();
        Linker::default().link(&Matter { positions, spacings: &spacings, labels }, &near, &mut out);
        out
    }

    #[test]
    fn lattice_neighbors_all_pass() {
        let positions = lattice(6, 0.0);
        let near = Neighborhoods::within_radius(&positions, 2.33 * SPACING);
        assert_eq!(linked(&positions, &[0; 216]), near);
        assert_eq!(near.of(2 + 6 * 2 + 36 * 2).count(), 56);
    }

    #[test]
    fn lists_equal_the_rule_word_for_word() {
        let positions = lattice(7, 0.6);
        let labels: Vec<u32> = positions.iter().map(|p| u32::from(p.x > 0.3)).collect();
        let lists = linked(&positions, &labels);
        let close = |i: usize, j: usize, reach: f64| positions[i].distance(positions[j]) < reach * SPACING;
        for i in 0..positions.len() {
            let rule = |j: usize| match labels[i] == labels[j] {
                false => close(i, j, 1.2),
                true => {
                    let over = |k: usize| labels[k] == labels[i] && close(i, k, 1.5) && close(k, j, 1.5);
                    close(i, j, 1.5) || (0..positions.len()).any(over)
                }
            };
            let expected: Vec<usize> =
                (0..positions.len()).filter(|&j| j != i && close(i, j, 2.33) && rule(j)).collect();
            assert_eq!(lists.of(i).collect::<Vec<_>>(), expected, "point {i}");
        }
    }

    #[test]
    fn gaps_part_and_touching_pieces_meet() {
        let block = lattice(4, 0.0);
        let pair = |gap: f64| -> Vec<DVec3> {
            let shift = DVec3::X * (3.0 + gap) * SPACING;
            block.iter().copied().chain(block.iter().map(|p| *p + shift)).collect()
        };
        let crossing = |positions: &[DVec3], labels: &[u32]| -> usize {
            let lists = linked(positions, labels);
            (0..64).map(|i| lists.of(i).filter(|&j| j >= 64).count()).sum()
        };
        let two: Vec<u32> = (0..128).map(|i| i / 64).collect();
        assert_eq!(crossing(&pair(1.6), &[0; 128]), 0);
        assert_eq!(crossing(&pair(2.2), &[0; 128]), 0);
        assert_eq!(crossing(&pair(1.25), &two), 0);
        assert_eq!(crossing(&pair(1.1), &two), 16);
        assert!(crossing(&pair(1.4), &[0; 128]) > 16);
    }

    #[test]
    fn no_points_and_lost_points_have_no_links() {
        assert!(linked(&[], &[]).neighbors.is_empty());
        assert_eq!(linked(&[DVec3::ZERO, DVec3::NAN, DVec3::X * 0.1], &[0; 3]).neighbors, [2u32, 0]);
    }
}
