//! How near two parts of a sheet are: a node and a triangle, or two edges; now and along their way through a step.

use glam::DVec3;

/// Part of the distance at the start that two parts keep when they meet on their way, and of one that is small already: it must not
/// fade away from step to step.
const KEEP: f64 = 0.1;
const KEEP_SMALL: f64 = 0.6;
/// Part of the way to a possible meeting that is gone at once.
const STRIDE: f64 = 0.9;
/// Looks at one pair at most; one that is not clear by then counts as a meeting.
const MOST_LOOKS: usize = 64;

/// Which parts of a sheet may meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Corner 0 and the triangle 1, 2, 3.
    NodeTriangle,
    /// The edges 0, 1 and 2, 3.
    Edges,
}

impl Kind {
    /// Number of corners of the first part.
    pub fn first(self) -> usize {
        match self {
            Self::NodeTriangle => 1,
            Self::Edges => 2,
        }
    }

    /// Weights of the corners such that their weighted sum is the shortest way from the second part to the first.
    pub fn weights(self, x: &[DVec3; 4]) -> [f64; 4] {
        match self {
            Self::NodeTriangle => {
                let [a, b, c] = on_triangle(x[0], [x[1], x[2], x[3]]);
                [1.0, -a, -b, -c]
            }
            Self::Edges => {
                let [s, t] = on_segments(x);
                [1.0 - s, s, t - 1.0, -t]
            }
        }
    }
}

/// Sum of vectors with weights.
pub fn weighted(weights: &[f64; 4], x: &[DVec3; 4]) -> DVec3 {
    weights[0] * x[0] + weights[1] * x[1] + weights[2] * x[2] + weights[3] * x[3]
}

/// A meeting of two parts on their way through a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Meeting {
    /// Weights of the corners where they meet.
    pub weights: [f64; 4],
    /// Unit vector from the second part to the first.
    pub normal: DVec3,
    /// Distance at the start [m].
    pub start: f64,
}

/// Where two parts at `x` that go `way` [m] come nearer than about a tenth of their distance, more of one below `small` [m]; None
/// when they do not, or are farther apart than `most` [m]. Never misses one: it goes on by no more than they can approach [LKJ21].
pub fn meeting(kind: Kind, x: &[DVec3; 4], way: &[DVec3; 4], most: f64, small: f64) -> Option<Meeting> {
    let mean = 0.25 * way.iter().sum::<DVec3>();
    let way = way.map(|w| w - mean);
    let longest = |part: &[DVec3]| part.iter().fold(0.0, |m: f64, w| m.max(w.length_squared())).sqrt();
    let fastest = longest(&way[..kind.first()]) + longest(&way[kind.first()..]);
    if fastest <= 0.0 {
        return None;
    }
    let start = weighted(&kind.weights(x), x).length();
    let part = if start < small { KEEP_SMALL } else { KEEP };
    if start > most || fastest <= (1.0 - part) * start {
        return None;
    }
    let kept = part * start;
    let (mut time, mut step) = (0.0, STRIDE * (start - kept) / fastest);
    for look in 0..MOST_LOOKS {
        time += step;
        if time > 1.0 {
            return None;
        }
        let now: [DVec3; 4] = std::array::from_fn(|k| x[k] + time * way[k]);
        let weights = kind.weights(&now);
        let offset = weighted(&weights, &now);
        let distance = offset.length();
        if distance <= 1.2 * kept || look + 1 == MOST_LOOKS {
            let normal = offset.try_normalize()?;
            return Some(Meeting { weights, normal, start });
        }
        step = STRIDE * (distance - kept) / fastest;
    }
    None
}

/// Weights of the corners of a triangle at the place nearest to `p`.
fn on_triangle(p: DVec3, [a, b, c]: [DVec3; 3]) -> [f64; 3] {
    let (ab, ac, ap) = (b - a, c - a, p - a);
    let (d1, d2) = (ab.dot(ap), ac.dot(ap));
    if d1 <= 0.0 && d2 <= 0.0 {
        return [1.0, 0.0, 0.0];
    }
    let bp = p - b;
    let (d3, d4) = (ab.dot(bp), ac.dot(bp));
    if d3 >= 0.0 && d4 <= d3 {
        return [0.0, 1.0, 0.0];
    }
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        let t = ratio(d1, d1 - d3);
        return [1.0 - t, t, 0.0];
    }
    let cp = p - c;
    let (d5, d6) = (ab.dot(cp), ac.dot(cp));
    if d6 >= 0.0 && d5 <= d6 {
        return [0.0, 0.0, 1.0];
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        let t = ratio(d2, d2 - d6);
        return [1.0 - t, 0.0, t];
    }
    let va = d3 * d6 - d5 * d4;
    if va <= 0.0 && d4 - d3 >= 0.0 && d5 - d6 >= 0.0 {
        let t = ratio(d4 - d3, (d4 - d3) + (d5 - d6));
        return [0.0, 1.0 - t, t];
    }
    let sum = va + vb + vc;
    [va / sum, vb / sum, vc / sum]
}

/// Places along the segments 0-1 and 2-3 that are nearest to each other, 0 to 1.
fn on_segments(x: &[DVec3; 4]) -> [f64; 2] {
    let (u, v, r) = (x[1] - x[0], x[3] - x[2], x[0] - x[2]);
    let (a, e, f) = (u.length_squared(), v.length_squared(), v.dot(r));
    let (b, c) = (u.dot(v), u.dot(r));
    let clamped = |numerator: f64, denominator: f64| ratio(numerator, denominator).clamp(0.0, 1.0);
    // Nearly parallel: any place will do.
    let across = a * e - b * b;
    let s = if across > 1e-12 * a * e { clamped(b * f - c * e, across) } else { 0.5 };
    let t = ratio(b * s + f, e);
    match t {
        t if t < 0.0 => [clamped(-c, a), 0.0],
        t if t > 1.0 => [clamped(b - c, a), 1.0],
        t => {
            // At the clamped place of the other.
            let s = if across > 1e-12 * a * e { s } else { clamped(b * t - c, a) };
            [s, t]
        }
    }
}

fn ratio(numerator: f64, denominator: f64) -> f64 {
    if denominator.abs() > f64::MIN_POSITIVE { numerator / denominator } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn corners(i: u64) -> [DVec3; 4] {
        let mut random = Random::new(11, i);
        std::array::from_fn(|_| random.in_cube())
    }

    #[test]
    fn no_place_is_nearer() {
        for i in 0..2000 {
            let x = corners(i);
            for kind in [Kind::NodeTriangle, Kind::Edges] {
                let weights = kind.weights(&x);
                let best = weighted(&weights, &x).length();
                assert!((weights.iter().sum::<f64>()).abs() < 1e-12);
                let mut random = Random::new(12, i);
                for _ in 0..60 {
                    let (s, t) = (random.unit(), random.unit());
                    let other = match kind {
                        Kind::NodeTriangle => {
                            let (s, t) = if s + t > 1.0 { (1.0 - s, 1.0 - t) } else { (s, t) };
                            [1.0, s + t - 1.0, -s, -t]
                        }
                        Kind::Edges => [1.0 - s, s, t - 1.0, -t],
                    };
                    assert!(weighted(&other, &x).length() > best - 1e-9, "{kind:?} {i}");
                }
            }
        }
    }

    #[test]
    fn degenerate_parts_have_an_answer() {
        let same = [DVec3::ONE; 4];
        let line = [DVec3::Y, DVec3::ZERO, DVec3::X, 2.0 * DVec3::X];
        let parallel = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::X + DVec3::Y];
        for x in [same, line, parallel] {
            for kind in [Kind::NodeTriangle, Kind::Edges] {
                assert!(kind.weights(&x).iter().all(|w| w.is_finite()));
            }
        }
        let w = Kind::Edges.weights(&parallel);
        assert!((weighted(&w, &parallel).length() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn fast_parts_are_not_missed_and_slow_ones_are_left_alone() {
        let x = [DVec3::new(0.2, 0.1, 0.2), DVec3::ZERO, DVec3::X, DVec3::Z];
        let fall = |y: f64| [DVec3::Y * y, DVec3::ZERO, DVec3::ZERO, DVec3::ZERO];
        assert!(meeting(Kind::NodeTriangle, &x, &fall(-0.05), 1e9, 0.0).is_none());
        for y in [-0.1, -1.0, -100.0] {
            let found = meeting(Kind::NodeTriangle, &x, &fall(y), 1e9, 0.0).unwrap();
            assert!(found.normal.dot(DVec3::Y) > 0.99 && (found.weights[2] + 0.2).abs() < 0.01, "{found:?}");
        }
        // Past the triangle, not through it.
        let mut beside = x;
        beside[0].x = 1.5;
        assert!(meeting(Kind::NodeTriangle, &beside, &fall(-100.0), 1e9, 0.0).is_none());
        // All fall together.
        assert!(meeting(Kind::NodeTriangle, &x, &[DVec3::Y * -9.0; 4], 1e9, 0.0).is_none());
        let cross = [DVec3::new(-1.0, 0.1, 0.0), DVec3::new(1.0, 0.1, 0.0), -DVec3::Z, DVec3::Z];
        let way = [DVec3::Y * -5.0, DVec3::Y * -5.0, DVec3::ZERO, DVec3::ZERO];
        assert!(meeting(Kind::Edges, &cross, &way, 1e9, 0.0).unwrap().normal.y > 0.99);
    }
}
