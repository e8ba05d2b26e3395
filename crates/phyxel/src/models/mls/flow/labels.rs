//! Connected pieces: which matter hangs together.

use super::bonds::Stencil;
use super::pairs::{Kind, Pairs};
use crate::groups::Groups;

/// Gives every managed point the label of its piece, the lowest point in it; others keep theirs.
///
/// Matter hangs together through bonds of the solid, and where one of two is melted also through pairs of the piece that
/// are near enough, and through touching pairs.
pub(crate) fn find_labels(labels: &mut [u32], pairs: &Pairs, stencils: &[Stencil]) {
    let mut groups = Groups::new(labels.len());
    let one_piece = pairs.is_one_piece();
    let managed = |s: &usize| pairs.kinds[*s] != Kind::Foreign;
    for s in (0..pairs.points.len()).filter(managed) {
        let i = pairs.points[s];
        for bond in stencils[i as usize].bonds.iter().filter(|b| b.to > i) {
            groups.unite(i, bond.to);
        }
        let melted = |t: u32| pairs.kinds[s] == Kind::Melted || pairs.kinds[t as usize] == Kind::Melted;
        for &t in pairs.joined_of(s).iter().filter(|&&t| t as usize > s && melted(t)) {
            groups.unite(i, pairs.points[t as usize]);
        }
        if !one_piece {
            pairs.touching_of(s).filter(|&t| melted(t)).for_each(|t| groups.unite(i, pairs.points[t as usize]));
        }
    }
    for s in (0..pairs.points.len()).filter(managed) {
        let i = pairs.points[s];
        labels[i as usize] = groups.lowest(i);
    }
}
