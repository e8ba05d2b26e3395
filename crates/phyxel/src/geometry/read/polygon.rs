//! Polygons to triangles by ear clipping.

use glam::DVec3;

/// Above this a fan does: ear clipping costs the square of the count and more.
const MOST_CORNERS: usize = 512;

/// Splits the polygon with the given corners into triangles of the same orientation; concave ones too, if they are
/// nearly flat. `emit` gets indices into `corners`.
pub(in crate::geometry) fn triangulate(corners: &[DVec3], mut emit: impl FnMut([usize; 3])) {
    let n = corners.len();
    if !(4..=MOST_CORNERS).contains(&n) {
        (2..n).for_each(|i| emit([0, i - 1, i]));
        return;
    }
    // Newell: the area vector of the polygon.
    let normal: DVec3 = (0..n).map(|i| corners[i].cross(corners[(i + 1) % n])).sum();
    let mut left: Vec<usize> = (0..n).collect();
    while left.len() > 3 {
        let m = left.len();
        let triple = |i: usize| [left[(i + m - 1) % m], left[i], left[(i + 1) % m]];
        let is_ear = |i: usize| {
            let [a, b, c] = triple(i);
            turn(corners, [a, b, c], normal) > 0.0
                && left.iter().all(|&v| [a, b, c].contains(&v) || !covers(corners, [a, b, c], v, normal))
        };
        // The best-shaped ear first keeps quadrilaterals and fans of strips in shape; none: any corner, for an answer.
        let ear = (0..m).filter(|&i| is_ear(i)).max_by(|&i, &j| {
            let quality = |i: usize| shape_quality(triple(i).map(|v| corners[v]));
            quality(i).total_cmp(&quality(j)).then(j.cmp(&i))
        });
        let ear = ear.unwrap_or(0);
        emit(triple(ear));
        left.remove(ear);
    }
    emit([left[0], left[1], left[2]]);
}

fn turn(x: &[DVec3], [a, b, c]: [usize; 3], normal: DVec3) -> f64 {
    (x[b] - x[a]).cross(x[c] - x[b]).dot(normal)
}

/// Whether the corner `v` lies in the triangle seen along the normal, border included, unless it is one of the triangle's places.
fn covers(x: &[DVec3], [a, b, c]: [usize; 3], v: usize, normal: DVec3) -> bool {
    if [a, b, c].iter().any(|&t| x[t] == x[v]) {
        return false;
    }
    [[a, b], [b, c], [c, a]].iter().all(|&[s, t]| turn(x, [s, t, v], normal) >= 0.0)
}

/// Area over the squared edges: largest for an equilateral triangle.
fn shape_quality([a, b, c]: [DVec3; 3]) -> f64 {
    let edges = a.distance_squared(b) + b.distance_squared(c) + c.distance_squared(a);
    if edges > 0.0 { (b - a).cross(c - a).length() / edges } else { 0.0 }
}
