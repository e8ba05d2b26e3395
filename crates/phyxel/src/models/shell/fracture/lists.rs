//! Who is whose neighbor beside cracks: a function of the pieces alone, so that a checkpoint holds nothing else.

use super::Fracture;
use crate::models::shell::body::Shell;
use crate::models::shell::cracks::Piece;
use crate::models::shell::network::MOST_NEIGHBORS;
use crate::models::shell::rebuild::Change;
use glam::DVec3;
use std::collections::BTreeMap;

/// Nodes of a piece that is rebuilt as a whole, at most.
const SMALL_PIECE: usize = 40;

impl Fracture {
    /// The nodes whose neighbors have changed by the pieces from `first` on, in rising order.
    pub(super) fn changes(&mut self, shell: &Shell, first: usize) -> Vec<Change> {
        let positions = &shell.nodes.positions;
        let h = shell.spacing();
        let mut zone: Vec<u32> = Vec::new();
        for piece in &self.pieces[first..] {
            zone.extend(self.grid.within(piece.disc.center, piece.disc.radius + 4.0 * h));
        }
        zone.sort_unstable();
        zone.dedup();
        let mut touched = zone.clone();
        for &i in &zone {
            let new = self.replacements(shell, i);
            if let Some(old) = self.added.remove(&i) {
                touched.extend(old);
            }
            if !new.is_empty() {
                touched.extend(&new);
                self.added.insert(i, new);
            }
        }
        touched.sort_unstable();
        touched.dedup();
        let change = |i: u32| {
            let list = self.list(positions, i);
            let mut now = shell.network.neighbors_of(i as usize).to_vec();
            let mut new = list.clone();
            now.sort_unstable();
            new.sort_unstable();
            (now != new).then_some(Change { node: i, list })
        };
        let changes: Vec<Change> = touched.iter().filter_map(|&i| change(i)).collect();
        self.with_small_pieces(shell, changes)
    }

    /// Adds the rest of pieces so small that they may have lost all nodes that measure a tensor.
    fn with_small_pieces(&self, shell: &Shell, mut changes: Vec<Change>) -> Vec<Change> {
        let known: BTreeMap<u32, Vec<u32>> = changes.iter().map(|c| (c.node, c.list.clone())).collect();
        let near = |i: u32| match known.get(&i) {
            Some(list) => list.clone(),
            None => shell.network.neighbors_of(i as usize).to_vec(),
        };
        let mut seen: Vec<u32> = Vec::new();
        for &start in known.keys() {
            if seen.binary_search(&start).is_ok() {
                continue;
            }
            let mut piece = vec![start];
            let mut next = 0;
            while next < piece.len() && piece.len() <= SMALL_PIECE {
                let more: Vec<u32> = near(piece[next]).into_iter().filter(|j| !piece.contains(j)).collect();
                piece.extend(more);
                next += 1;
            }
            seen.extend(&piece);
            seen.sort_unstable();
            if piece.len() <= SMALL_PIECE {
                let others = piece.iter().filter(|i| !known.contains_key(i));
                changes.extend(others.map(|&i| Change { node: i, list: self.list(&shell.nodes.positions, i) }));
            }
        }
        changes.sort_unstable_by_key(|c| c.node);
        changes.dedup_by_key(|c| c.node);
        changes
    }

    /// Nodes farther away that take the place of neighbors beyond cracks: neighbors of those that are left, so that what moved apart
    /// is never joined.
    fn replacements(&self, shell: &Shell, i: u32) -> Vec<u32> {
        let (positions, whole) = (&shell.nodes.positions, &self.whole.network);
        let x = positions[i as usize];
        let near = self.pieces_near(x, 5.0 * shell.spacing());
        let seen =
            |a: u32, b: u32| !near.iter().any(|p| p.disc.separates(positions[a as usize], positions[b as usize]));
        let own = whole.neighbors_of(i as usize);
        let kept: Vec<u32> = own.iter().copied().filter(|&j| seen(i, j)).collect();
        let wanted = own.len().min(shell.options.neighbors).saturating_sub(kept.len());
        if wanted == 0 {
            return Vec::new();
        }
        let beyond = |k: u32| whole.neighbors_of(k as usize).iter().copied().filter(move |&j| seen(k, j));
        let mut others: Vec<u32> = kept.iter().flat_map(|&k| beyond(k)).collect();
        others.retain(|j| *j != i && !own.contains(j));
        let distance = |j: u32| positions[j as usize].distance_squared(x);
        others.sort_by(|&a, &b| distance(a).total_cmp(&distance(b)).then(a.cmp(&b)));
        others.dedup();
        others.into_iter().filter(|&j| seen(i, j)).take(wanted).collect()
    }

    /// The neighbors of a node now, nearest first.
    pub(super) fn list(&self, positions: &[DVec3], i: u32) -> Vec<u32> {
        let x = positions[i as usize];
        let own = self.whole.network.neighbors_of(i as usize);
        let reach = own.iter().map(|&j| positions[j as usize].distance(x)).fold(0.0, f64::max);
        let near = self.pieces_near(x, 2.0 * reach);
        let seen = |j: u32| !near.iter().any(|p| p.disc.separates(x, positions[j as usize]));
        let mut list: Vec<u32> = own.iter().copied().filter(|&j| seen(j)).collect();
        list.extend(self.added.get(&i).into_iter().flatten());
        list.extend(self.added.iter().filter(|(_, asked)| asked.contains(&i)).map(|(j, _)| j));
        let distance = |j: u32| positions[j as usize].distance_squared(x);
        list.sort_by(|&a, &b| distance(a).total_cmp(&distance(b)).then(a.cmp(&b)));
        list.dedup();
        list.truncate(MOST_NEIGHBORS);
        list
    }

    fn pieces_near(&self, x: DVec3, reach: f64) -> Vec<&Piece> {
        self.pieces.iter().filter(|p| p.disc.center.distance(x) < reach + p.disc.radius).collect()
    }
}
