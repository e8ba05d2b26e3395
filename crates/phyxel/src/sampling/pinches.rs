//! Edges of a closed mesh at which two parts of it touch: opened, so that two triangles meet at each.
//!
//! Where a surface comes near to itself within a cell, dual contouring gives an edge to four triangles. The two that bound the
//! same wedge of matter belong together: each such pair gets a vertex of its own in the middle of the edge, moved a little into
//! its matter.

use glam::DVec3;
use std::collections::BTreeMap;

/// How far the new vertex goes from the middle of the edge toward that of the corners across it.
const INWARD: f64 = 0.2;
/// A triangle has three edges, so that this many rounds reach all of them.
const ROUNDS: usize = 3;

/// An edge, and its triangles with the corner across it and whether it runs there as in the key.
type Edges = BTreeMap<(u32, u32), Vec<(usize, u32, bool)>>;

/// Opens the edges with four triangles.
pub(super) fn open_pinches(positions: &mut Vec<DVec3>, triangles: &mut Vec<[u32; 3]>) {
    for _ in 0..ROUNDS {
        let pinched: Vec<_> = edges(triangles).into_iter().filter(|(_, around)| around.len() == 4).collect();
        let mut touched = vec![false; triangles.len()];
        for ((a, b), around) in pinched {
            // One edge of a triangle per round.
            if around.iter().any(|&(t, ..)| touched[t]) {
                continue;
            }
            let Some(pairs) = pairs(positions, [a, b], &around) else { continue };
            for pair in pairs {
                let across = pair.map(|(_, c, _)| positions[c as usize]);
                let middle = 0.5 * (positions[a as usize] + positions[b as usize]);
                let new = positions.len() as u32;
                positions.push(middle.lerp(0.5 * (across[0] + across[1]), INWARD));
                for (t, ..) in pair {
                    touched[t] = true;
                    let old = triangles[t];
                    triangles[t] = old.map(|v| if v == b { new } else { v });
                    triangles.push(old.map(|v| if v == a { new } else { v }));
                }
            }
        }
    }
}

fn edges(triangles: &[[u32; 3]]) -> Edges {
    let mut edges = Edges::new();
    for (t, corners) in triangles.iter().enumerate() {
        for k in 0..3 {
            let (a, b, c) = (corners[k], corners[(k + 1) % 3], corners[(k + 2) % 3]);
            edges.entry((a.min(b), a.max(b))).or_default().push((t, c, a < b));
        }
    }
    edges
}

/// The triangles around an edge, two and two with matter between them; None if they are not two and two.
fn pairs(x: &[DVec3], ends: [u32; 2], around: &[(usize, u32, bool)]) -> Option<[[(usize, u32, bool); 2]; 2]> {
    let [from, to] = ends.map(|v| x[v as usize]);
    let axis = (to - from).try_normalize()?;
    let e1 = axis.any_orthonormal_vector();
    let angle = |c: u32| {
        let d = x[c as usize] - from;
        d.dot(axis.cross(e1)).atan2(d.dot(e1))
    };
    let mut order = around.to_vec();
    order.sort_by(|p, q| angle(p.1).total_cmp(&angle(q.1)).then(p.0.cmp(&q.0)));
    // The outside is at larger angles of a triangle that runs along the axis: matter is before it. What is left after one such wedge
    // is the other; where triangles are folded over it may lie around the first.
    let first = (0..4).find(|&k| !order[k].2 && order[(k + 1) % 4].2)?;
    order.rotate_left(first);
    (order[2].2 != order[3].2).then(|| [[order[0], order[1]], [order[2], order[3]]])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two tetrahedra that share an edge.
    fn touching() -> (Vec<DVec3>, Vec<[u32; 3]>) {
        let positions = [[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, -1, 0], [-1, 1, 0], [-1, -1, 0]];
        let positions = positions.map(|p| DVec3::from_array(p.map(f64::from))).to_vec();
        let outward = |t: [u32; 3], inside: DVec3| {
            let [a, b, c] = t.map(|v| positions[v as usize]);
            if (b - a).cross(c - a).dot(inside - a) < 0.0 { t } else { [t[0], t[2], t[1]] }
        };
        let solid = |c: u32, d: u32| {
            let inside = [0, 1, c, d].iter().map(|&v| positions[v as usize]).sum::<DVec3>() / 4.0;
            [[0, 1, c], [0, 1, d], [0, c, d], [1, c, d]].map(|t| outward(t, inside))
        };
        let triangles = [solid(2, 3), solid(4, 5)].concat();
        (positions, triangles)
    }

    #[test]
    fn two_solids_that_share_an_edge_get_one_each() {
        let (mut positions, mut triangles) = touching();
        let volume = |x: &[DVec3], all: &[[u32; 3]]| {
            let part = |t: &[u32; 3]| t.map(|v| x[v as usize]);
            all.iter().map(part).map(|[a, b, c]| a.dot(b.cross(c)) / 6.0).sum::<f64>()
        };
        let before = volume(&positions, &triangles);
        open_pinches(&mut positions, &mut triangles);
        assert_eq!((positions.len(), triangles.len()), (8, 12));
        let edges = edges(&triangles);
        assert!(edges.values().all(|around| around.len() == 2 && around[0].2 != around[1].2));
        // Each went into its own matter, so that both got smaller.
        assert!(positions[6].x * positions[7].x < 0.0);
        let after = volume(&positions, &triangles);
        assert!(after < before && after > 0.7 * before, "{before} {after}");
    }
}
