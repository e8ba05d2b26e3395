//! Nearest point of a triangle, and whether two triangles cross.

use glam::DVec3;

/// Part of a triangle a point is nearest to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Feature {
    /// The corner with this number.
    Corner(usize),
    /// The edge from this corner to the next.
    Edge(usize),
    Face,
}

/// Nearest point of the triangle and the part it is on; regions by the signs of barycentric products.
#[inline]
pub(crate) fn closest([a, b, c]: &[DVec3; 3], p: DVec3) -> (DVec3, Feature) {
    let (ab, ac, ap) = (*b - *a, *c - *a, p - *a);
    let (d1, d2) = (ab.dot(ap), ac.dot(ap));
    if d1 <= 0.0 && d2 <= 0.0 {
        return (*a, Feature::Corner(0));
    }
    let bp = p - *b;
    let (d3, d4) = (ab.dot(bp), ac.dot(bp));
    if d3 >= 0.0 && d4 <= d3 {
        return (*b, Feature::Corner(1));
    }
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        return (*a + ab * ratio(d1, d1 - d3), Feature::Edge(0));
    }
    let cp = p - *c;
    let (d5, d6) = (ab.dot(cp), ac.dot(cp));
    if d6 >= 0.0 && d5 <= d6 {
        return (*c, Feature::Corner(2));
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        return (*a + ac * ratio(d2, d2 - d6), Feature::Edge(2));
    }
    let va = d3 * d6 - d5 * d4;
    let (s, t) = (d4 - d3, d5 - d6);
    if va <= 0.0 && s >= 0.0 && t >= 0.0 {
        return (*b + (*c - *b) * ratio(s, s + t), Feature::Edge(1));
    }
    let sum = va + vb + vc;
    (*a + ab * ratio(vb, sum) + ac * ratio(vc, sum), Feature::Face)
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// Whether the triangles cross: an edge of one passes through the inside of the other. Touching is not crossing.
pub(super) fn cross(s: &[DVec3; 3], t: &[DVec3; 3]) -> bool {
    let through =
        |edges: &[DVec3; 3], face: &[DVec3; 3]| (0..3).any(|k| segment_crosses(edges[k], edges[(k + 1) % 3], face));
    through(s, t) || through(t, s)
}

fn segment_crosses(p: DVec3, q: DVec3, [a, b, c]: &[DVec3; 3]) -> bool {
    let side = |x: DVec3| (*b - *a).cross(*c - *a).dot(x - *a);
    if side(p) * side(q) >= 0.0 {
        return false;
    }
    // The line runs round all three edges in the same sense.
    let around = |x: DVec3, y: DVec3| (q - p).dot((x - p).cross(y - p));
    let (u, v, w) = (around(*a, *b), around(*b, *c), around(*c, *a));
    (u > 0.0 && v > 0.0 && w > 0.0) || (u < 0.0 && v < 0.0 && w < 0.0)
}
