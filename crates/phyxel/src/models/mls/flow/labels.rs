//! Connected pieces: which matter hangs together.

use super::bonds::Stencil;
use super::pairs::{JOIN, Kind, PART, Pairs};
use glam::DVec3;

/// Gives every managed point the label of its piece, the lowest point in it; others keep theirs.
///
/// Matter hangs together through bonds of the solid, and through linked pairs with a melted end that are near enough.
pub(crate) fn find_labels(labels: &mut [u32], pairs: &Pairs, stencils: &[Stencil], positions: &[DVec3]) {
    let before = labels.to_vec();
    let mut parents: Vec<u32> = (0..labels.len() as u32).collect();
    for (s, &i) in pairs.points.iter().enumerate() {
        if pairs.kinds[s] == Kind::Foreign {
            continue;
        }
        for bond in stencils[i as usize].bonds.iter().filter(|b| b.to > i) {
            unite(&mut parents, i, bond.to);
        }
        for &t in pairs.linked_of(s).iter().filter(|&&t| t as usize > s) {
            let j = pairs.points[t as usize];
            let melted = pairs.kinds[s] == Kind::Melted || pairs.kinds[t as usize] == Kind::Melted;
            let reach = if before[i as usize] == before[j as usize] { PART } else { JOIN };
            let size = 0.5 * (pairs.sizes[s] + pairs.sizes[t as usize]);
            if melted && positions[i as usize].distance_squared(positions[j as usize]) < (reach * size).powi(2) {
                unite(&mut parents, i, j);
            }
        }
    }
    for (s, &i) in pairs.points.iter().enumerate() {
        if pairs.kinds[s] != Kind::Foreign {
            labels[i as usize] = root(&mut parents, i);
        }
    }
}

fn unite(parents: &mut [u32], a: u32, b: u32) {
    let (a, b) = (root(parents, a), root(parents, b));
    parents[a.max(b) as usize] = a.min(b);
}

fn root(parents: &mut [u32], mut i: u32) -> u32 {
    while parents[i as usize] != i {
        let up = parents[parents[i as usize] as usize];
        parents[i as usize] = up;
        i = up;
    }
    i
}
