//! What the guard says: which body, point and phase, the likely cause, and what to change.

use super::{Reading, Trouble};
use crate::error::Diagnostic;
use crate::points::Points;
use crate::run::Rescue;
use glam::DVec3;

/// Where something went wrong and what is known about the place.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Culprit {
    /// Name of the body.
    pub body: String,
    /// Stable id of the point.
    pub point: u32,
    /// Where it was in the last good state [m].
    pub position: DVec3,
    /// Phase of the step after which it was seen.
    pub phase: &'static str,
    /// Its body shared space with another one at the start.
    pub overlapped: bool,
    /// Its neighborhood does not span space (few, flat or coinciding neighbors).
    pub degenerate: bool,
    /// Smallest volume ratio around it in the last good state; 1 when not known.
    pub volume_ratio: f64,
    /// Fastest speed relative to a collider or body it touches [m/s]; 0 when it touches nothing.
    pub hit_speed: f64,
    /// Speed of elastic waves in its body [m/s]; 0 when not known.
    pub wave_speed: f64,
}

/// The first point with a value that is not finite, or else the fastest point.
pub fn worst_point(points: &Points) -> Option<usize> {
    let bad = |i: &usize| !(points.positions[*i].is_finite() && points.velocities[*i].is_finite());
    let speed = |i: &usize| points.velocities[*i].length_squared();
    (0..points.len()).find(bad).or_else(|| {
        // Of equally fast ones the first.
        (0..points.len()).rev().max_by(|a, b| speed(a).total_cmp(&speed(b)))
    })
}

/// Likely cause and what to try.
fn cause(trouble: Trouble, culprit: &Culprit) -> (&'static str, String) {
    let body = &culprit.body;
    if culprit.overlapped {
        let hint = format!("move \"{body}\" apart from the body it overlaps, or make one of them smaller");
        return ("bodies overlap at the start", hint);
    }
    if culprit.degenerate {
        let hint = format!("give \"{body}\" more points (smaller `spacing`): it is too thin there for its points");
        return ("degenerate neighborhood", hint);
    }
    if culprit.wave_speed > 0.0 && culprit.hit_speed > culprit.wave_speed {
        let hint = format!(
            "slow down, or make \"{body}\" stiffer: it was hit at {:.3} m/s, faster than the {:.3} m/s at which it can \
             pass that on",
            culprit.hit_speed, culprit.wave_speed
        );
        return ("hit too fast", hint);
    }
    if culprit.volume_ratio < 0.1 || matches!(trouble, Trouble::Strain(_)) {
        let hint = format!("make \"{body}\" stiffer or raise its `collapse_stiffness`, or load it less");
        return ("inverted region", hint);
    }
    let hint = "give a smaller `time_step`, or `integrator = \"implicit\"`, or lower `young`".to_string();
    ("stiffness against step", hint)
}

fn what(trouble: Trouble) -> String {
    match trouble {
        Trouble::NotFinite => "a value is not finite".to_string(),
        Trouble::Speed(speed) => format!("a speed of {speed:.3e} m/s"),
        Trouble::Strain(strain) => format!("a strain of {strain:.3e}"),
        Trouble::Energy(excess, known) => {
            format!("{excess:.3e} J of energy came from nowhere, with {known:.3e} J at most before")
        }
    }
}

fn place(culprit: &Culprit) -> String {
    let p = culprit.position;
    format!("point {} of body \"{}\" at [{:.4}, {:.4}, {:.4}]", culprit.point, culprit.body, p.x, p.y, p.z)
}

/// The note of a rescue.
pub(super) fn rescue(trouble: Trouble, culprit: &Culprit, reading: &Reading) -> Rescue {
    let why = format!(
        "{} ({}, after {}, step {:.3e} s); likely cause: {}",
        what(trouble),
        place(culprit),
        culprit.phase,
        reading.dt,
        cause(trouble, culprit).0
    );
    Rescue { frame: reading.frame, time: reading.time, why }
}

/// Why the run is given up.
pub(super) fn diagnosis(trouble: Trouble, culprit: &Culprit, reading: &Reading) -> Diagnostic {
    let (cause, hint) = cause(trouble, culprit);
    let what = format!(
        "the run blew up at {:.6} s (frame {}): {} at {}, after the phase \"{}\"; likely cause: {cause}",
        reading.time,
        reading.frame,
        what(trouble),
        place(culprit),
        culprit.phase
    );
    Diagnostic::new(what).hint(hint)
}
