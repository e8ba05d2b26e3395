//! Tests of the guard on made-up sequences of steps.

use super::*;
use crate::points::Points;

fn guard() -> Guard {
    let mut guard = Guard::new(Limits::new(30.0, 10.0, 2.0));
    guard.save(|s| s.time = 0.0);
    guard
}

fn reading(time: f64) -> Reading {
    Reading { time, frame: 3, dt: 1e-4, finite: true, max_speed: 5.0, max_strain: 0.1, energy: None }
}

fn culprit() -> Culprit {
    Culprit { body: "bust".into(), point: 17, phase: "forces", volume_ratio: 1.0, ..Culprit::default() }
}

fn energy(kinetic: f64, stored: f64, gravity: f64, work: f64) -> Option<Energy> {
    Some(Energy { kinetic, stored, gravity, work, switched: 0.0, dissipated: 0.0 })
}

#[test]
fn good_steps_pass_and_snapshots_come_at_intervals() {
    let mut guard = guard();
    let mut saved = 0;
    for k in 1..=640 {
        assert_eq!(guard.inspect(&reading(k as f64 * 1e-4), culprit), Verdict::Good);
        if guard.wants_snapshot() {
            guard.save(|s| s.time = k as f64 * 1e-4);
            saved += 1;
        }
    }
    assert_eq!((saved, guard.step_factor()), (10, 1.0));
    assert!((guard.snapshot().time - 0.064).abs() < 1e-12);
}

#[test]
fn every_sign_of_trouble_is_seen() {
    let bad = [
        Reading { finite: false, ..reading(1.0) },
        Reading { max_speed: f64::NAN, ..reading(1.0) },
        Reading { max_speed: 401.0, ..reading(1.0) },
        Reading { max_strain: 1e3, ..reading(1.0) },
        Reading { energy: energy(f64::INFINITY, 0.0, 0.0, 0.0), ..reading(1.0) },
    ];
    for reading in bad {
        let mut guard = guard();
        assert!(matches!(guard.inspect(&reading, culprit), Verdict::Rescue(_)), "{reading:?}");
        assert_eq!(guard.step_factor(), 0.5);
    }
}

#[test]
fn the_step_grows_back_slowly_after_a_rescue() {
    let mut guard = guard();
    let Verdict::Rescue(rescue) = guard.inspect(&Reading { finite: false, ..reading(0.5) }, culprit) else {
        panic!("no rescue")
    };
    assert_eq!((rescue.frame, rescue.time), (3, 0.5));
    assert!(rescue.why.contains("point 17 of body \"bust\"") && rescue.why.contains("stiffness against step"));
    let steps = (1..2000).take_while(|k| {
        guard.inspect(&reading(0.4 + 5e-5 * *k as f64), culprit);
        guard.step_factor() < 1.0
    });
    assert_eq!(steps.count(), 4 * 64 - 1);
}

#[test]
fn five_rescues_in_a_row_are_tried_and_the_sixth_gives_up_with_a_diagnosis() {
    let mut guard = guard();
    let bad = Reading { max_strain: 1e9, ..reading(0.5) };
    for k in 0..5 {
        assert!(matches!(guard.inspect(&bad, culprit), Verdict::Rescue(_)), "{k}");
        for step in 0..20 {
            assert_eq!(guard.inspect(&reading(0.49 + step as f64 * 1e-5), culprit), Verdict::Good);
        }
    }
    assert_eq!(guard.step_factor(), 1.0 / 32.0);
    let Verdict::Diverged(diagnostic) = guard.inspect(&bad, culprit) else { panic!("went on") };
    for part in ["0.500000 s", "frame 3", "point 17", "bust", "forces", "inverted region"] {
        assert!(diagnostic.what.contains(part), "{part}: {}", diagnostic.what);
    }
    assert!(diagnostic.hint.unwrap().contains("collapse_stiffness"));
}

#[test]
fn rescues_far_apart_in_time_are_never_too_many() {
    let mut guard = guard();
    for k in 0..50 {
        let time = k as f64;
        assert!(matches!(guard.inspect(&Reading { finite: false, ..reading(time) }, culprit), Verdict::Rescue(_)));
        for step in 0..400 {
            guard.inspect(&reading(time + step as f64 * 1e-3), culprit);
        }
    }
}

#[test]
fn trouble_that_comes_again_goes_back_farther() {
    let mut guard = guard();
    guard.save(|s| s.time = 0.1);
    guard.save(|s| s.time = 0.2);
    let bad = Reading { finite: false, ..reading(0.21) };
    guard.inspect(&bad, culprit);
    assert_eq!(guard.snapshot().time, 0.2);
    guard.inspect(&bad, culprit);
    assert_eq!(guard.snapshot().time, 0.1);
    guard.inspect(&bad, culprit);
    assert_eq!(guard.snapshot().time, 0.1);
}

#[test]
fn energy_from_nowhere_is_seen_and_explained_energy_is_not() {
    let with = |time: f64, e: Option<Energy>| Reading { energy: e, ..reading(time) };
    // A fall, a bounce, a pull by a pin: kinetic, stored and potential energy change into each other.
    let mut guard = guard();
    for e in [
        energy(0.0, 0.0, 10.0, 0.0),
        energy(6.0, 0.0, 4.0, 0.0),
        energy(1.0, 9.5, 0.0, 0.0),
        energy(5.0, 1.0, 3.0, 0.0),
        energy(5.0, 40.0, 3.0, 39.0),
    ] {
        assert_eq!(guard.inspect(&with(0.1, e), culprit), Verdict::Good, "{e:?}");
    }
    // A slow instability: one percent per check.
    let mut guard = self::guard();
    let mut seen = None;
    for k in 0..200 {
        let grown = 10.0 * 1.01f64.powi(k);
        let verdict = guard.inspect(&with(0.001 * k as f64, energy(grown, 0.0, 0.0, 0.0)), culprit);
        if verdict != Verdict::Good {
            seen = Some((k, verdict));
            break;
        }
    }
    let (k, verdict) = seen.unwrap();
    assert!(k < 40, "{k}");
    let Verdict::Rescue(rescue) = verdict else { panic!("gave up at once") };
    assert!(rescue.why.contains("energy came from nowhere"), "{}", rescue.why);
    // Things at rest may tremble a little.
    let mut guard = self::guard();
    for kinetic in [0.0, 1e-3, 0.0, 2e-3] {
        assert_eq!(guard.inspect(&with(0.1, energy(kinetic, 0.0, 0.0, 0.0)), culprit), Verdict::Good);
    }
}

#[test]
fn causes_are_told_apart() {
    let say = |culprit: Culprit| {
        let mut guard = Guard::new(Limits::new(30.0, 10.0, 2.0));
        match guard.inspect(&Reading { finite: false, ..reading(0.5) }, || culprit) {
            Verdict::Diverged(diagnostic) => diagnostic.to_string(),
            other => panic!("without a snapshot: {other:?}"),
        }
    };
    assert!(say(Culprit { overlapped: true, ..culprit() }).contains("overlap at the start"));
    assert!(say(Culprit { degenerate: true, ..culprit() }).contains("degenerate neighborhood"));
    assert!(say(Culprit { hit_speed: 40.0, wave_speed: 10.0, ..culprit() }).contains("hit too fast"));
    assert!(say(Culprit { volume_ratio: 0.01, ..culprit() }).contains("inverted region"));
    assert!(say(culprit()).contains("stiffness against step"));
}

#[test]
fn the_worst_point_is_the_first_broken_one_or_the_fastest() {
    let mut points = Points::default();
    assert_eq!(worst_point(&points), None);
    for k in 0..4 {
        points.push(0, DVec3::splat(k as f64), 1.0, 1.0, 1.0);
        points.velocities[k] = DVec3::X * [1.0, 3.0, 3.0, 2.0][k];
    }
    assert_eq!(worst_point(&points), Some(1));
    points.positions[3].y = f64::NAN;
    assert_eq!(worst_point(&points), Some(3));
}

#[test]
fn state_survives_a_restart() {
    let mut guard = guard();
    let fresh = Guard::new(Limits::new(30.0, 10.0, 2.0));
    let mut other = Guard::new(Limits::new(30.0, 10.0, 2.0));
    other.restore_state(&fresh.state());
    assert_eq!(other.memory, fresh.memory.finite());
    guard.inspect(&Reading { energy: energy(0.1, 0.2, 0.3, 0.0), ..reading(0.4) }, culprit);
    guard.inspect(&Reading { finite: false, ..reading(0.5) }, culprit);
    other.restore_state(&guard.state());
    assert_eq!(other.memory, guard.memory);
    other.restore_state("nonsense");
    assert_eq!(other.memory, guard.memory);
}
