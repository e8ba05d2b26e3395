//! The loop with a stand-in for the world: how runs end, and what is kept.

use super::*;
use crate::geometry::Files;
use crate::scene::{CameraSpec, Integrator, Precision, ProbeSpec, Want};
use crate::sinks::frame_file::tests::sample;
use crate::sinks::{Null, Pictures, Replay, RunFolder, checkpoint_file};
use glam::DVec3;
use std::path::{Path, PathBuf};

/// A scene of 4 intervals with one probe.
pub(crate) fn scene() -> Scene {
    Scene {
        format: 1,
        name: "test".into(),
        gravity: DVec3::ZERO,
        duration: 0.4,
        fps: 10.0,
        seed: 1,
        integrator: Integrator::Auto,
        precision: Precision::Mixed,
        time_step: None,
        shapes: Default::default(),
        bodies: Vec::new(),
        colliders: Vec::new(),
        pins: Vec::new(),
        forces: Vec::new(),
        air: None,
        heats: Vec::new(),
        events: Vec::new(),
        probes: vec![ProbeSpec {
            name: "p".into(),
            body: None,
            region: "all".into(),
            to_region: None,
            pin: None,
            collider: None,
            measure: "mean_y".into(),
        }],
        expects: Vec::new(),
        camera: CameraSpec::default(),
    }
}

/// Files beside the tests.
pub(crate) fn here() -> Files {
    Files { base: PathBuf::new(), allow_outside: false }
}

/// Counts frames; the probe is the frame number.
struct Counter {
    frame: u32,
    probe: [f64; 1],
    diverge_at: u32,
    cancel_at: u32,
}

impl Counter {
    fn new() -> Self {
        Self { frame: 0, probe: [0.0], diverge_at: u32::MAX, cancel_at: u32::MAX }
    }
}

impl Simulation for Counter {
    fn advance_frame(&mut self, cancel: &AtomicBool) -> Result<Advance> {
        if self.frame + 1 == self.diverge_at {
            return Err(Error::Diverged(Box::new(Diagnostic::new("blew up"))));
        }
        if self.frame + 1 == self.cancel_at {
            cancel.store(true, Ordering::Relaxed);
            return Ok(Advance::default());
        }
        self.frame += 1;
        self.probe[0] = f64::from(self.frame);
        Ok(Advance { complete: true, rescues: Vec::new() })
    }
    fn frame(&mut self, out: &mut Frame) {
        *out = sample(self.frame);
        out.time = f64::from(self.frame) / 10.0;
    }
    fn metrics(&mut self) -> MetricsRow {
        MetricsRow {
            frame: self.frame,
            time: f64::from(self.frame) / 10.0,
            substeps: 2,
            points: 50,
            ..Default::default()
        }
    }
    fn probe_values(&self) -> &[f64] {
        &self.probe
    }
    fn phases(&self) -> Vec<(&'static str, f64)> {
        vec![("forces", 0.5)]
    }
    fn checkpoint(&self) -> Vec<u8> {
        self.frame.to_le_bytes().to_vec()
    }
    fn restore(&mut self, state: &[u8]) -> Result<()> {
        self.frame = u32::from_le_bytes(state.try_into().unwrap());
        Ok(())
    }
}

fn go(world: &mut Counter, scene: &Scene, options: Options, sinks: &mut [&mut dyn Sink]) -> Summary {
    run(world, scene, options, sinks, &AtomicBool::new(false), &mut |_| {}).unwrap()
}

fn expecting(at: ExpectTime, want: Want) -> Scene {
    Scene { expects: vec![ExpectSpec { probe: "p".into(), at, want }], ..scene() }
}

fn fresh(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("phyxel-run-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    dir
}

#[test]
fn frames_follow_from_duration_and_rate() {
    let count = |duration, fps| frame_count(&Scene { duration, fps, ..scene() });
    assert_eq!((count(0.1, 30.0), count(4.0, 30.0), count(0.0, 30.0), count(0.11, 30.0)), (4, 121, 1, 5));
}

#[test]
fn runs_end_as_they_should() {
    let s = go(&mut Counter::new(), &scene(), Options::default(), &mut [&mut Null]);
    assert_eq!((s.outcome, s.frames, s.substeps), (Outcome::Done, 5, 10));

    let bad = expecting(ExpectTime::End, Want::Below(4.0));
    let s = go(&mut Counter::new(), &bad, Options::default(), &mut [&mut Null]);
    assert_eq!((s.outcome, s.expect[0].value, s.expect[0].ok), (Outcome::ExpectationFailed, Some(4.0), Some(false)));

    let mut world = Counter { diverge_at: 3, ..Counter::new() };
    let s = go(&mut world, &bad, Options::default(), &mut [&mut Null]);
    assert_eq!((s.outcome, s.frames, s.expect[0].ok), (Outcome::Diverged, 3, None));
    assert_eq!(s.failure.unwrap().what, "blew up");

    let mut world = Counter { cancel_at: 2, ..Counter::new() };
    let s = go(&mut world, &scene(), Options::default(), &mut [&mut Null]);
    assert_eq!((s.outcome, s.frames), (Outcome::Stopped, 2));
}

#[test]
fn a_shortened_run_is_not_judged_by_its_end() {
    let bad = expecting(ExpectTime::End, Want::Above(4.0));
    let options = || Options { frames: Some(3), ..Default::default() };
    let s = go(&mut Counter::new(), &bad, options(), &mut [&mut Null]);
    assert_eq!((s.outcome, s.frames, s.expect[0].ok), (Outcome::Done, 3, None));
    let bad = expecting(ExpectTime::Always, Want::Below(1.5));
    let s = go(&mut Counter::new(), &bad, options(), &mut [&mut Null]);
    assert_eq!((s.outcome, s.expect[0].value), (Outcome::ExpectationFailed, Some(2.0)));
}

#[test]
fn a_resumed_run_leaves_the_same_folder() {
    let (whole, parted) = (fresh("whole"), fresh("parted"));
    let mut folder = RunFolder::create(&whole, &scene(), &here()).unwrap();
    go(&mut Counter::new(), &scene(), Options::default(), &mut [&mut folder]);

    let mut folder = RunFolder::create(&parted, &scene(), &here()).unwrap();
    let short = Options { frames: Some(3), ..Default::default() };
    go(&mut Counter::new(), &scene(), short, &mut [&mut folder]);
    let (carried, state) = checkpoint_file::newest(&parted.join("checkpoints")).unwrap();
    assert_eq!(carried.frame, 2);
    let frames = FrameReader::open(parted.join("frames"));
    let metrics = MetricsTable::read(&parted.join("metrics.csv")).unwrap();
    let mut folder = RunFolder::resume(&parted, metrics.clone());
    let resume = Some(Resume { carried, state, frames, metrics });
    let s = go(&mut Counter::new(), &scene(), Options { resume, ..Default::default() }, &mut [&mut folder]);
    assert_eq!((s.frames, s.substeps, s.phases[0].1), (5, 10, 1.0));

    let same =
        |name: &str| assert_eq!(std::fs::read(whole.join(name)).unwrap(), std::fs::read(parted.join(name)).unwrap());
    for i in 0..5 {
        same(&format!("frames/frame_{i:05}.bin"));
    }
    // All columns but the wall times.
    let measured = |dir: &Path| -> Vec<String> {
        let text = std::fs::read_to_string(dir.join("metrics.csv")).unwrap();
        let header = text.lines().next().unwrap_or_default();
        let walls: Vec<bool> = header.split(',').map(|name| name.starts_with("seconds_")).collect();
        let kept = |line: &str| {
            let cells = line.split(',').zip(&walls).filter(|(_, wall)| !**wall);
            cells.map(|(cell, _)| cell).collect::<Vec<_>>().join(",")
        };
        text.lines().map(kept).collect()
    };
    assert_eq!(measured(&whole), measured(&parted));
    assert!(measured(&whole)[0].ends_with("min_det_f,p"));
    for dir in [whole, parted] {
        std::fs::remove_dir_all(dir).unwrap();
    }
}

#[test]
fn the_summary_has_the_promised_keys() {
    let s =
        go(&mut Counter::new(), &expecting(ExpectTime::End, Want::Above(1.0)), Options::default(), &mut [&mut Null]);
    let json = serde_json::to_value(&s).unwrap();
    let keys = |v: &serde_json::Value| v.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(
        keys(&json),
        "version scene outcome frames substeps points surfels threads seconds peak_memory_bytes phases rescues expect"
    );
    assert_eq!(keys(&json["seconds"]), "total physics surface render write");
    assert_eq!(keys(&json["expect"][0]), "probe at value want ok");
    assert_eq!((json["outcome"].as_str(), json["phases"]["forces"].as_f64()), (Some("done"), Some(0.5)));
}

#[test]
fn a_run_leaves_film_pictures_plots_and_page() {
    let dir = fresh("pictures");
    let mut drawn = 0;
    let mut progress = |done: u32, _| drawn = done;
    let mut folder = RunFolder::create(&dir, &scene(), &here()).unwrap();
    let mut pictures = Pictures::new(&dir, 160, 90, &mut progress);
    let mut replay = Replay::new(&dir);
    let s = go(&mut Counter::new(), &scene(), Options::default(), &mut [&mut pictures, &mut replay, &mut folder]);
    assert!(s.seconds.render > 0.0 && drawn == 5);
    for name in
        ["preview.mp4", "poster.png", "sheet.png", "replay.html", "plots/energy.svg", "plots/p.svg", "summary.json"]
    {
        assert!(std::fs::metadata(dir.join(name)).is_ok_and(|m| m.len() > 100), "{name}");
    }
    std::fs::remove_dir_all(dir).unwrap();
}
