//! Who hangs together: sets that are joined pair by pair.

/// A division of 0..n into groups; the lowest member of a group stands for it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Groups {
    /// A member of the same group that is not higher; itself for the lowest.
    parents: Vec<u32>,
}

impl Groups {
    /// Everyone alone.
    pub fn new(count: usize) -> Self {
        Self { parents: (0..count as u32).collect() }
    }

    /// Joins the groups of two members.
    #[inline]
    pub fn unite(&mut self, a: u32, b: u32) {
        // Most pairs are found to be of one group already.
        if self.parents[a as usize] != self.parents[b as usize] {
            let (a, b) = (self.lowest(a), self.lowest(b));
            self.parents[a.max(b) as usize] = a.min(b);
        }
    }

    /// Lowest member of the group of `i`.
    pub fn lowest(&mut self, mut i: u32) -> u32 {
        while self.parents[i as usize] != i {
            let up = self.parents[self.parents[i as usize] as usize];
            self.parents[i as usize] = up;
            i = up;
        }
        i
    }

    /// Number of groups.
    pub fn count(&self) -> usize {
        self.parents.iter().enumerate().filter(|&(i, &p)| i == p as usize).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_and_single_ones_are_told_apart() {
        let mut groups = Groups::new(7);
        for (a, b) in [(4, 2), (6, 5), (0, 4), (2, 0), (5, 6)] {
            groups.unite(a, b);
        }
        let lowest: Vec<u32> = (0..7).map(|i| groups.lowest(i)).collect();
        assert_eq!(lowest, [0, 1, 0, 3, 0, 5, 5]);
        assert_eq!(groups.count(), 4);
        assert_eq!(Groups::new(0).count(), 0);
    }
}
