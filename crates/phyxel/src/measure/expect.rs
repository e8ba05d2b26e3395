//! Expectations: `[[expect]]` against the values a probe took over the run.

use crate::scene::{ExpectSpec, ExpectTime, Want};

/// How one expectation came out.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Name of the probe.
    pub probe: String,
    /// When, as the scene says it.
    pub at: String,
    /// The value that was judged; NaN where the probe has none.
    pub value: f64,
    /// What was wanted, in words.
    pub want: String,
    /// Whether it held.
    pub ok: bool,
}

/// Judges one expectation by the probe's `(time, value)` history.
pub fn evaluate(expect: &ExpectSpec, history: &[(f64, f64)]) -> Outcome {
    let outcome = |at: String, value: f64, ok: bool| Outcome {
        probe: expect.probe.clone(),
        at,
        value,
        want: describe(&expect.want),
        ok,
    };
    let judged = |at: &str, value: Option<f64>| {
        let value = value.unwrap_or(f64::NAN);
        outcome(at.into(), value, holds(&expect.want, value))
    };
    let values = history.iter().map(|&(_, v)| v);
    match expect.at {
        ExpectTime::End => judged("end", history.last().map(|&(_, v)| v)),
        ExpectTime::Max => judged("max", values.reduce(f64::max)),
        ExpectTime::Min => judged("min", values.reduce(f64::min)),
        ExpectTime::Time(t) => {
            let nearest = history.iter().min_by(|a, b| (a.0 - t).abs().total_cmp(&(b.0 - t).abs()));
            let last = history.last().map_or(0.0, |h| h.0);
            // A run that ended early has no value there.
            let reached = t <= last + 1e-9 || nearest.is_some_and(|n| (n.0 - t).abs() < 1e-9);
            judged(&format!("{t} s"), nearest.filter(|_| reached).map(|&(_, v)| v))
        }
        ExpectTime::Always => {
            // A value that is no number fails; otherwise the worst one decides.
            let worst = values.min_by(|a, b| margin(&expect.want, *a).total_cmp(&margin(&expect.want, *b)));
            judged("always", worst)
        }
    }
}

fn holds(want: &Want, value: f64) -> bool {
    match *want {
        Want::Between([from, to]) => from <= value && value <= to,
        Want::Below(limit) => value < limit,
        Want::Above(limit) => value > limit,
        Want::Near { value: center, tolerance } => (value - center).abs() <= tolerance,
    }
}

/// How far a value is inside what is wanted; negative outside, lowest for what is no number.
fn margin(want: &Want, value: f64) -> f64 {
    let inside = match *want {
        Want::Between([from, to]) => (value - from).min(to - value),
        Want::Below(limit) => limit - value,
        Want::Above(limit) => value - limit,
        Want::Near { value: center, tolerance } => tolerance - (value - center).abs(),
    };
    if value.is_nan() { f64::NEG_INFINITY } else { inside }
}

fn describe(want: &Want) -> String {
    match *want {
        Want::Between([from, to]) => format!("between {from} and {to}"),
        Want::Below(limit) => format!("below {limit}"),
        Want::Above(limit) => format!("above {limit}"),
        Want::Near { value, tolerance } => format!("{value} ± {tolerance}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(at: ExpectTime, want: Want, ok: bool) {
        let history = [(0.0, 1.0), (0.5, 3.0), (1.0, 2.0)];
        let expect = ExpectSpec { probe: "p".into(), at, want };
        assert_eq!(evaluate(&expect, &history).ok, ok, "{expect:?}");
    }

    #[test]
    fn judges_by_time() {
        check(ExpectTime::End, Want::Near { value: 2.0, tolerance: 0.0 }, true);
        check(ExpectTime::Max, Want::Above(2.9), true);
        check(ExpectTime::Min, Want::Below(0.9), false);
        check(ExpectTime::Time(0.5), Want::Between([2.9, 3.1]), true);
        check(ExpectTime::Always, Want::Between([0.5, 2.5]), false);
        check(ExpectTime::Time(2.0), Want::Above(0.0), false);
    }

    #[test]
    fn always_reports_the_worst_value() {
        let history = [(0.0, 1.0), (0.5, 3.0), (1.0, 2.0)];
        let expect = ExpectSpec { probe: "p".into(), at: ExpectTime::Always, want: Want::Below(4.0) };
        let outcome = evaluate(&expect, &history);
        assert!(outcome.ok && outcome.value == 3.0);
        let broken = [(0.0, 1.0), (0.5, f64::NAN)];
        assert!(!evaluate(&expect, &broken).ok);
    }

    #[test]
    fn nothing_measured_never_holds() {
        let expect = ExpectSpec { probe: "p".into(), at: ExpectTime::End, want: Want::Below(1.0) };
        assert!(!evaluate(&expect, &[]).ok);
    }
}
