//! The frame loop: steps the world from frame to frame and hands each frame to the sinks; progress, cancellation,
//! checkpoints, expectations.

mod summary;

pub use summary::{Carried, Expectation, Outcome, Rescue, Seconds, Summary, peak_memory_bytes};

use crate::error::{Diagnostic, Error, Result};
use crate::frame::Frame;
use crate::measure::{MetricsRow, evaluate};
use crate::scene::{ExpectSpec, ExpectTime, Scene};
use crate::sinks::{FrameReader, FrameView, MetricsTable, RunInfo, Sink};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What the loop needs of a world.
pub trait Simulation {
    /// Steps to the time of the next frame; returns early when cancelled.
    fn advance_frame(&mut self, cancel: &AtomicBool) -> Result<Advance>;
    /// The world as it is now; `metrics` has been called since the last step.
    fn frame(&mut self, out: &mut Frame);
    /// Numbers of the world as it is now.
    fn metrics(&mut self) -> MetricsRow;
    /// Values of the probes, in scene order.
    fn probe_values(&self) -> &[f64];
    /// Wall time by phase since the start or the restore [s].
    fn phases(&self) -> Vec<(&'static str, f64)>;
    /// The state from which the run goes on with the same bits.
    fn checkpoint(&self) -> Vec<u8>;
    /// Takes a state made by `checkpoint`.
    fn restore(&mut self, state: &[u8]) -> Result<()>;
}

/// What the steps from one frame to the next did.
#[derive(Debug, Clone, Default)]
pub struct Advance {
    /// Whether the next frame was reached; false: cancelled on the way.
    pub complete: bool,
    /// What the guard mended on the way.
    pub rescues: Vec<Rescue>,
}

/// How to run.
#[derive(Debug)]
pub struct Options {
    /// Number of frames, frame 0 included; None: as many as the scene's duration asks for.
    pub frames: Option<u32>,
    /// Number of threads in use, for the summary.
    pub threads: usize,
    /// Wall time between checkpoints.
    pub checkpoint_every: Duration,
    /// Where to go on; None: from the start.
    pub resume: Option<Resume>,
}

impl Default for Options {
    fn default() -> Self {
        Self { frames: None, threads: 1, checkpoint_every: Duration::from_secs(20), resume: None }
    }
}

/// An earlier run to go on from.
#[derive(Debug)]
pub struct Resume {
    /// What the run carried.
    pub carried: Carried,
    /// State of the world.
    pub state: Vec<u8>,
    /// Frames up to the checkpoint.
    pub frames: FrameReader,
    /// Metrics up to the checkpoint.
    pub metrics: MetricsTable,
}

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Frame just done.
    pub frame: u32,
    /// Number of frames, frame 0 included.
    pub frames: u32,
    /// Time steps so far.
    pub substeps: u64,
    /// Simulated time [s].
    pub time: f64,
    /// Wall time so far [s].
    pub elapsed: f64,
    /// Estimated wall time left [s]; None before the first computed frame.
    pub left: Option<f64>,
}

/// Number of frames of a scene, frame 0 included.
pub fn frame_count(scene: &Scene) -> u32 {
    // A little more than a whole number is that number: 0.1 s at 30 /s are 3 intervals.
    (scene.duration * scene.fps - 1e-6).ceil().clamp(0.0, f64::from(u32::MAX - 1)) as u32 + 1
}

/// Runs a world made from `scene` to its end, to `options.frames`, or until cancelled. A run that diverges or is
/// cancelled is an `Ok` with that outcome; an error of a sink ends the run after the others have been finished.
pub fn run(
    world: &mut dyn Simulation,
    scene: &Scene,
    options: Options,
    sinks: &mut [&mut dyn Sink],
    cancel: &AtomicBool,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Summary> {
    let clock = Instant::now();
    let frames = options.frames.unwrap_or_else(|| frame_count(scene)).max(1);
    let mut state = Loop {
        whole: frames >= frame_count(scene),
        summary: empty_summary(scene, options.threads),
        history: Vec::new(),
        base: Carried::default(),
        frames,
        checkpoint_every: options.checkpoint_every,
        clock,
    };
    let result = state.frames(world, scene, options.resume, sinks, cancel, progress);
    if let Err(Error::Diverged(why)) = result {
        state.summary.outcome = Outcome::Diverged;
        state.summary.failure = Some(*why);
        return state.finish(world, scene, sinks);
    }
    if let Err(error) = result {
        // Best effort: leave what there is in a usable form, and report the first fault.
        state.summary.outcome = Outcome::Stopped;
        let _ = state.finish(world, scene, sinks);
        return Err(error);
    }
    state.finish(world, scene, sinks)
}

/// What the loop keeps between frames.
struct Loop {
    summary: Summary,
    /// Time and values of the probes, one per frame.
    history: Vec<(f64, Vec<f64>)>,
    /// What was carried over from the run that is resumed.
    base: Carried,
    frames: u32,
    /// Whether the frames asked for reach the end of the scene.
    whole: bool,
    checkpoint_every: Duration,
    clock: Instant,
}

impl Loop {
    fn frames(
        &mut self,
        world: &mut dyn Simulation,
        scene: &Scene,
        resume: Option<Resume>,
        sinks: &mut [&mut dyn Sink],
        cancel: &AtomicBool,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<()> {
        let probes: Vec<String> = scene.probes.iter().map(|p| p.name.clone()).collect();
        let first = resume.as_ref().map_or(0, |r| r.carried.frame + 1);
        let info = RunInfo { scene, frames: self.frames, first, probes: &probes };
        for sink in sinks.iter_mut() {
            sink.begin(&info)?;
        }
        let mut frame = Frame::default();
        match resume {
            Some(resume) => self.replay(world, resume, sinks)?,
            None => self.take(world, &mut frame, sinks)?,
        }
        self.report(progress, None);
        let (started, mut last_checkpoint) = (Instant::now(), Instant::now());
        let keeps = sinks.iter().any(|s| s.keeps_checkpoints());
        while self.summary.frames < self.frames {
            if cancel.load(Ordering::Relaxed) {
                self.summary.outcome = Outcome::Stopped;
                return Ok(());
            }
            let advance = world.advance_frame(cancel)?;
            self.summary.rescues.extend(advance.rescues);
            if !advance.complete {
                self.summary.outcome = Outcome::Stopped;
                return Ok(());
            }
            self.take(world, &mut frame, sinks)?;
            let done = self.summary.frames == self.frames;
            if keeps && (done || last_checkpoint.elapsed() >= self.checkpoint_every) {
                self.checkpoint(world, sinks)?;
                last_checkpoint = Instant::now();
            }
            let computed = f64::from(self.summary.frames - first.max(1));
            let left = f64::from(self.frames - self.summary.frames) * started.elapsed().as_secs_f64() / computed;
            self.report(progress, Some(left));
        }
        Ok(())
    }

    /// Takes the frames of the earlier run, then its state.
    fn replay(&mut self, world: &mut dyn Simulation, mut resume: Resume, sinks: &mut [&mut dyn Sink]) -> Result<()> {
        for i in 0..=resume.carried.frame {
            let frame = resume.frames.read(i)?;
            let (metrics, probes) = resume.metrics.row(i as usize).ok_or_else(|| {
                Diagnostic::new(format!("the metrics end before frame {i}, or another version wrote them"))
                    .hint("run the scene again")
            })?;
            let probes = probes.to_vec();
            self.hand_over(&FrameView { frame: &frame, metrics: &metrics, probes: &probes, replayed: true }, sinks)?;
        }
        self.summary.rescues.clone_from(&resume.carried.rescues);
        self.base = resume.carried;
        world.restore(&resume.state)
    }

    /// Takes a frame from the world.
    fn take(&mut self, world: &mut dyn Simulation, frame: &mut Frame, sinks: &mut [&mut dyn Sink]) -> Result<()> {
        let mut metrics = world.metrics();
        let start = Instant::now();
        world.frame(frame);
        metrics.seconds_surface += start.elapsed().as_secs_f64();
        let view = FrameView { frame, metrics: &metrics, probes: world.probe_values(), replayed: false };
        self.hand_over(&view, sinks)
    }

    fn hand_over(&mut self, view: &FrameView, sinks: &mut [&mut dyn Sink]) -> Result<()> {
        for sink in sinks.iter_mut() {
            sink.frame(view)?;
        }
        let s = &mut self.summary;
        s.frames = view.frame.index + 1;
        s.time = view.frame.time;
        s.substeps += view.metrics.substeps;
        s.points = view.metrics.points;
        s.surfels = view.metrics.surfels;
        s.seconds.physics += view.metrics.seconds_physics;
        s.seconds.surface += view.metrics.seconds_surface;
        self.history.push((view.frame.time, view.probes.to_vec()));
        Ok(())
    }

    fn checkpoint(&mut self, world: &dyn Simulation, sinks: &mut [&mut dyn Sink]) -> Result<()> {
        let carried = Carried {
            frame: self.summary.frames - 1,
            substeps: self.summary.substeps,
            seconds: Seconds { total: self.total(), ..self.summary.seconds },
            phases: self.phases(world),
            rescues: self.summary.rescues.clone(),
        };
        let state = world.checkpoint();
        sinks.iter_mut().try_for_each(|sink| sink.checkpoint(&carried, &state))
    }

    fn total(&self) -> f64 {
        self.base.seconds.total + self.clock.elapsed().as_secs_f64()
    }

    /// Wall time by phase, that of the earlier run included.
    fn phases(&self, world: &dyn Simulation) -> Vec<(String, f64)> {
        let mut phases = self.base.phases.clone();
        for (name, seconds) in world.phases() {
            match phases.iter_mut().find(|(known, _)| known == name) {
                Some((_, sum)) => *sum += seconds,
                None => phases.push((name.to_string(), seconds)),
            }
        }
        phases
    }

    fn report(&self, progress: &mut dyn FnMut(&Progress), left: Option<f64>) {
        let s = &self.summary;
        let elapsed = self.clock.elapsed().as_secs_f64();
        let frame = s.frames.saturating_sub(1);
        progress(&Progress { frame, frames: self.frames, substeps: s.substeps, time: s.time, elapsed, left });
    }

    /// Judges the expectations and finishes the sinks; the first error of a sink is returned after all have been tried.
    fn finish(mut self, world: &dyn Simulation, scene: &Scene, sinks: &mut [&mut dyn Sink]) -> Result<Summary> {
        let whole = self.whole && self.summary.outcome == Outcome::Done;
        self.summary.expect = scene.expects.iter().map(|e| self.judge(e, scene, whole)).collect();
        if self.summary.outcome == Outcome::Done && self.summary.expect.iter().any(|e| e.ok == Some(false)) {
            self.summary.outcome = Outcome::ExpectationFailed;
        }
        self.summary.phases = self.phases(world);
        self.summary.seconds.render = self.base.seconds.render;
        self.summary.seconds.write = self.base.seconds.write;
        let mut first_error = None;
        for sink in sinks.iter_mut() {
            self.summary.seconds.total = self.total();
            self.summary.peak_memory_bytes = peak_memory_bytes();
            if let Err(error) = sink.finish(&mut self.summary) {
                first_error.get_or_insert(error);
            }
        }
        self.summary.seconds.total = self.total();
        first_error.map_or(Ok(self.summary), Err)
    }

    /// Judges one expectation. A run cut short settles only what it reached, and an `always` that was broken.
    fn judge(&self, expect: &ExpectSpec, scene: &Scene, whole: bool) -> Expectation {
        let column = scene.probes.iter().position(|p| p.name == expect.probe);
        let value = |values: &[f64]| column.and_then(|i| values.get(i)).copied().unwrap_or(f64::NAN);
        let history: Vec<(f64, f64)> = self.history.iter().map(|(t, values)| (*t, value(values))).collect();
        let judged = evaluate(expect, &history);
        let settled = match expect.at {
            ExpectTime::Time(t) => whole || t <= self.summary.time + 0.5 / scene.fps,
            ExpectTime::Always => whole || !judged.ok,
            ExpectTime::End | ExpectTime::Max | ExpectTime::Min => whole,
        };
        Expectation {
            probe: judged.probe,
            at: judged.at,
            value: Some(judged.value).filter(|v| settled && v.is_finite()),
            want: judged.want,
            ok: settled.then_some(judged.ok),
        }
    }
}

fn empty_summary(scene: &Scene, threads: usize) -> Summary {
    Summary {
        version: env!("CARGO_PKG_VERSION").into(),
        scene: scene.name.clone(),
        outcome: Outcome::Done,
        frames: 0,
        substeps: 0,
        points: 0,
        surfels: 0,
        threads,
        seconds: Seconds::default(),
        peak_memory_bytes: 0,
        phases: Vec::new(),
        rescues: Vec::new(),
        expect: Vec::new(),
        failure: None,
        time: 0.0,
    }
}

#[cfg(test)]
pub(crate) mod tests;
