//! Triangles between two rings, and caps over one.

use glam::DVec3;

/// A ring of vertices and where they are [m]; the surface is on the left.
type Placed<'a> = (&'a [u32], &'a [DVec3]);

/// The band of least area between two rings, which run against each other. Every edge of both is used once, the other way round, and no two
/// vertices are joined twice: a band that went all around one ring from a single vertex of the other would come back to the edge that it
/// began with. So the first triangle lies along the first ring, the last one along the second, and neither ring is gone through in one go.
pub(super) fn band((a, x): Placed, (b, y): Placed) -> Vec<[u32; 3]> {
    let (from, to) = nearest_pair(x, y);
    let turned = |k: usize, count: usize, start: usize| (start + k) % count;
    let (n, m) = (a.len(), b.len());
    let at_a = |i: usize| turned(i, n, from);
    // The second ring runs the other way.
    let at_b = |j: usize| turned(m - j % m, m, to);
    let area = |p: DVec3, q: DVec3, r: DVec3| (q - p).cross(r - p).length();
    let allowed = |i: usize, j: usize| i + j == 0 || ((i > 0 || j == 0) && (j < m || i == n) && (i < n || j > 0));
    // Least area up to each pair, row by row, and whether the last step went along the first ring.
    let mut costs = vec![f64::INFINITY; m + 1];
    let mut along = vec![false; (n + 1) * (m + 1)];
    for i in 0..=n {
        for j in 0..=m {
            let (p, q) = (x[at_a(i)], y[at_b(j)]);
            let first = if i > 0 { costs[j] + area(x[at_a(i - 1)], p, q) } else { f64::INFINITY };
            let second = if j > 0 { costs[j - 1] + area(y[at_b(j - 1)], q, p) } else { f64::INFINITY };
            along[i * (m + 1) + j] = first <= second && i > 0;
            let least = if i + j == 0 { 0.0 } else { first.min(second) };
            costs[j] = if allowed(i, j) { least } else { f64::INFINITY };
        }
    }
    let (mut i, mut j) = (n, m);
    let mut triangles = Vec::with_capacity(n + m);
    while i + j > 0 {
        if i > 0 && (j == 0 || along[i * (m + 1) + j]) {
            triangles.push([a[at_a(i)], a[at_a(i - 1)], b[at_b(j)]]);
            i -= 1;
        } else {
            triangles.push([b[at_b(j - 1)], b[at_b(j)], a[at_a(i)]]);
            j -= 1;
        }
    }
    triangles
}

/// Triangles over a ring: one, or a fan around a middle that gets the number `next`.
pub(super) fn cap(ring: &[u32], places: &[DVec3], next: u32) -> (Vec<[u32; 3]>, Option<DVec3>) {
    let middle = places.iter().sum::<DVec3>() / places.len().max(1) as f64;
    let fan = (0..ring.len()).map(|k| [ring[(k + 1) % ring.len()], ring[k], next]);
    (fan.collect(), Some(middle))
}

/// The places of two lists that are nearest to each other.
fn nearest_pair(x: &[DVec3], y: &[DVec3]) -> (usize, usize) {
    let mut best = (f64::INFINITY, 0, 0);
    for (i, p) in x.iter().enumerate() {
        for (j, q) in y.iter().enumerate() {
            let squared = p.distance_squared(*q);
            if squared < best.0 {
                best = (squared, i, j);
            }
        }
    }
    (best.1, best.2)
}
