//! Connected pieces of matter.

use crate::groups::Groups;

/// Number of connected pieces among `count` points when `neighbors(i)` are joined to `i`.
pub fn count_pieces<N: Iterator<Item = usize>>(count: usize, neighbors: impl Fn(usize) -> N) -> usize {
    let mut groups = Groups::new(count);
    for i in 0..count {
        for j in neighbors(i) {
            groups.unite(i as u32, j as u32);
        }
    }
    groups.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_chains_and_single_points() {
        // 0-2-4 and 1-3 are chains, 5 is alone.
        let joined = |i: usize| (if i < 3 { Some(i + 2) } else { None }).into_iter();
        assert_eq!(count_pieces(6, joined), 3);
        assert_eq!(count_pieces(0, |_| std::iter::empty()), 0);
    }
}
