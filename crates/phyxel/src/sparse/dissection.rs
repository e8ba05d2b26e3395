//! Nested dissection by place: a set of points is cut in two by a strip of points that no entry of the matrix reaches across;
//! the halves come first, the strip last. On a surface of n points the factor then has about n log n entries.

use super::BlockMatrix;
use glam::DVec3;

/// Sets of at most this many points are not cut.
const LEAF: usize = 12;

/// A set of points that is eliminated at once, after its children.
#[derive(Debug, Clone, Default)]
pub struct Piece {
    /// The two halves; none for a set that was not cut.
    pub children: Vec<Piece>,
    /// The points of the strip, or all.
    pub points: Vec<u32>,
}

/// The order in which points at `places` are eliminated, as a tree.
pub fn dissect(matrix: &BlockMatrix, places: &[DVec3]) -> Piece {
    let mut side = vec![0; places.len()];
    cut(matrix, places, (0..places.len() as u32).collect(), &mut side)
}

fn cut(matrix: &BlockMatrix, places: &[DVec3], mut set: Vec<u32>, side: &mut [u8]) -> Piece {
    if set.len() <= LEAF {
        return Piece { children: Vec::new(), points: set };
    }
    let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    for &i in &set {
        (low, high) = (low.min(places[i as usize]), high.max(places[i as usize]));
    }
    let size = high - low;
    let axis = (0..3).fold(0, |best, k| if size[k] > size[best] { k } else { best });
    // Points that have no place at all are still cut in two, by their number.
    let order = |a: &u32, b: &u32| places[*a as usize][axis].total_cmp(&places[*b as usize][axis]).then(a.cmp(b));
    let middle = set.len() / 2;
    set.select_nth_unstable_by(middle, order);
    let halves = [set[..middle].to_vec(), set[middle..].to_vec()];
    for (half, mark) in halves.iter().zip([1, 2]) {
        half.iter().for_each(|&i| side[i as usize] = mark);
    }
    let touches = |i: &u32, other: u8| matrix.row(*i as usize).iter().any(|&j| side[j as usize] == other);
    let strips = [(0, 2), (1, 1)].map(|(k, other)| halves[k].iter().filter(|i| touches(i, other)).count());
    let thinner = usize::from(strips[1] < strips[0]);
    let other = if thinner == 0 { 2 } else { 1 };
    let [mut first, mut second] = halves;
    let cut_half = if thinner == 0 { &mut first } else { &mut second };
    let (mut strip, mut rest): (Vec<u32>, Vec<u32>) = cut_half.iter().partition(|i| touches(i, other));
    strip.sort_unstable();
    std::mem::swap(cut_half, &mut rest);
    set.iter().for_each(|&i| side[i as usize] = 0);
    let halves = [first, second].into_iter().filter(|half| !half.is_empty());
    let children = halves.map(|half| cut(matrix, places, half, side)).collect();
    Piece { children, points: strip }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visit(piece: &Piece, out: &mut Vec<u32>) {
        piece.children.iter().for_each(|c| visit(c, out));
        out.extend(&piece.points);
    }

    fn check(matrix: &BlockMatrix, piece: &Piece) {
        if let [a, b] = &piece.children[..] {
            let (mut left, mut right) = (Vec::new(), Vec::new());
            visit(a, &mut left);
            visit(b, &mut right);
            assert!(left.iter().all(|&i| matrix.row(i as usize).iter().all(|j| !right.contains(j))));
        }
        piece.children.iter().for_each(|c| check(matrix, c));
    }

    #[test]
    fn every_point_comes_once_and_no_entry_crosses_a_strip() {
        let across = 20;
        let places: Vec<DVec3> =
            (0..across * across).map(|k| DVec3::new((k % across) as f64, 0.0, (k / across) as f64)).collect();
        let cliques: Vec<Vec<u32>> = (0..across * across)
            .map(|k| {
                let near = |j: &usize| places[*j].distance(places[k]) < 1.5;
                (0..places.len()).filter(near).map(|j| j as u32).collect()
            })
            .collect();
        let matrix = BlockMatrix::of_cliques(places.len(), cliques.iter().map(|c| &c[..]));
        let tree = dissect(&matrix, &places);
        let mut all = Vec::new();
        visit(&tree, &mut all);
        all.sort_unstable();
        assert!(all.iter().enumerate().all(|(k, &i)| k == i as usize) && all.len() == places.len());
        check(&matrix, &tree);
        // Points all at one place.
        let same = vec![DVec3::ZERO; places.len()];
        check(&matrix, &dissect(&matrix, &same));
    }
}
