//! `phyxel run`: simulate a scene, write the run folder, say how it went.

use crate::common::{self, SceneArgs, Size, WorkArgs};
use crate::output;
use crate::progress::Display;
use anyhow::Result;
use phyxel::run::{Options, Outcome, Resume, Summary};
use phyxel::sinks::{FrameReader, Pictures, Replay, RunFolder, Sink};
use phyxel::world::World;
use phyxel::{Diagnostic, Error};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Flags of `phyxel run`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    scene: SceneArgs,
    /// Folder to write [default: runs/SCENE, numbered if that holds a run]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace the run that is in the folder
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    work: WorkArgs,
    #[command(flatten)]
    run: RunArgs,
}

/// Flags of `phyxel run` and `phyxel resume`.
#[derive(clap::Args)]
pub struct RunArgs {
    /// Number of frames, frame 0 included [default: as the scene's duration asks for]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub frames: Option<u32>,
    /// Size of the film and the pictures
    #[arg(long, value_name = "WxH", default_value = "1280x720")]
    pub size: Size,
    /// Do not draw pictures nor the replay page
    #[arg(long)]
    pub no_pictures: bool,
}

pub fn command(args: Args) -> Result<ExitCode> {
    let threads = args.work.start_threads()?;
    let mut display = Display::new(args.work.quiet);
    let loaded = args.scene.load()?;
    let dir = match &args.out {
        Some(dir) => dir.clone(),
        None => common::default_folder(&loaded.scene),
    };
    // Matter is made before the folder: a scene that cannot run leaves nothing behind.
    display.stage("sampling the bodies");
    let world = World::new(&loaded.scene, &loaded.files)?;
    if args.force && phyxel::sinks::holds_run(&dir) {
        RunFolder::clear(&dir)?;
    }
    let folder = RunFolder::create(&dir, &loaded.scene, &loaded.files)?;
    if !args.work.quiet && args.out.is_none() && dir.file_name() != Some(common::file_name(&loaded.scene.name).as_ref())
    {
        output::note(&format!(
            "runs/{} holds a run already; writing {}",
            common::file_name(&loaded.scene.name),
            dir.display()
        ));
    }
    let job = Job { dir, threads, work: args.work, run: args.run, display };
    job.go(&loaded.scene, world, folder, None)
}

/// A run about to start, new or resumed.
pub struct Job {
    /// Run folder.
    pub dir: PathBuf,
    /// Number of threads.
    pub threads: usize,
    /// How to work.
    pub work: WorkArgs,
    /// What to do.
    pub run: RunArgs,
    /// Where progress goes.
    pub display: Display,
}

impl Job {
    /// Runs, and reports.
    pub fn go(
        self,
        scene: &phyxel::scene::Scene,
        mut world: World,
        mut folder: RunFolder,
        resume: Option<Resume>,
    ) -> Result<ExitCode> {
        let cancel = common::stop_switch(self.work.quiet);
        let display = RefCell::new(self.display);
        let warnings: Vec<String> = world.warnings().to_vec();
        let options = Options { frames: self.run.frames, threads: self.threads, resume, ..Default::default() };
        let mut draws = |done, of| display.borrow_mut().picture(done, of);
        let mut pictures = Pictures::new(&self.dir, self.run.size.width, self.run.size.height, &mut draws);
        let mut replay = Replay::new(&self.dir);
        let mut sinks: Vec<&mut dyn Sink> = Vec::new();
        if !self.run.no_pictures {
            sinks.push(&mut pictures);
            sinks.push(&mut replay);
        }
        // Last, so that the summary knows what the pictures took.
        sinks.push(&mut folder);
        let result =
            phyxel::run::run(&mut world, scene, options, &mut sinks, &cancel, &mut |p| display.borrow_mut().frame(p));
        display.borrow_mut().clear();
        let summary = result.map_err(|error| explain(error, &self.dir))?;
        if !self.work.quiet {
            for warning in &warnings {
                output::note(&format!("warning: {warning}"));
            }
            output::note(&report(&summary, &self.dir, !self.run.no_pictures));
        }
        if self.work.json {
            let mut json = serde_json::to_value(&summary)?;
            json["folder"] = self.dir.display().to_string().into();
            output::result(&serde_json::to_string_pretty(&json)?);
        }
        if let Some(failure) = &summary.failure {
            output::note(&format!("error: {failure}"));
        } else if self.work.quiet && summary.outcome == Outcome::ExpectationFailed {
            output::note(&format!("error: an expectation did not hold\n{}", expectations(&summary)));
        }
        Ok(ExitCode::from(u8::from(summary.outcome != Outcome::Done)))
    }
}

/// An error in the middle of a run says what was kept.
fn explain(error: Error, dir: &Path) -> anyhow::Error {
    let Error::Write { path, source } = error else { return error.into() };
    let kept = FrameReader::open(dir.join("frames")).count();
    anyhow::anyhow!(
        "{}",
        Diagnostic::new(format!("cannot write the output: {source}"))
            .file(path)
            .expected("room on the disk and permission to write")
            .hint(format!("make room, then `phyxel resume {0}`; {kept} frames are kept in {0}/frames", dir.display()))
    )
}

/// How it went, in a few lines.
fn report(s: &Summary, dir: &Path, pictures: bool) -> String {
    let mut lines = Vec::new();
    let ended = match s.outcome {
        Outcome::Done | Outcome::ExpectationFailed => "done",
        Outcome::Diverged => "diverged",
        Outcome::Stopped => "stopped",
    };
    lines.push(format!(
        "{ended}: {} frames, {:.3} s simulated in {} ({} substeps, {} points, {} surfels, {})",
        s.frames,
        s.time,
        output::duration(s.seconds.total),
        s.substeps,
        s.points,
        s.surfels,
        speed(s)
    ));
    for rescue in &s.rescues {
        lines.push(format!("rescue at {:.4} s: {}", rescue.time, rescue.why));
    }
    if !s.expect.is_empty() {
        lines.push(expectations(s));
    }
    match pictures {
        true => lines.push(format!("film:   {}", dir.join("preview.mp4").display())),
        false => lines.push(format!("folder: {}", dir.display())),
    }
    if pictures {
        lines.push(format!("replay: {} (open in a browser)", dir.join("replay.html").display()));
    }
    if matches!(s.outcome, Outcome::Diverged | Outcome::Stopped) {
        lines.push(format!("the frames so far are complete; `phyxel resume {}` goes on", dir.display()));
    }
    lines.join("\n")
}

/// Simulated time over the time it took.
fn speed(s: &Summary) -> String {
    let cost = s.seconds.physics + s.seconds.surface;
    match s.time / cost {
        factor if cost <= 0.0 || !factor.is_finite() => "no steps".into(),
        factor if factor >= 1.0 => format!("{factor:.1} times real time"),
        factor => format!("{:.1} times slower than real time", 1.0 / factor),
    }
}

/// The expectations as a table.
fn expectations(s: &Summary) -> String {
    let mut rows = vec![["", "probe", "at", "value", "wanted"].map(String::from).to_vec()];
    for e in &s.expect {
        let mark = match e.ok {
            Some(true) => "ok",
            Some(false) => "FAILED",
            None => "not reached",
        };
        let value = e.value.map_or("-".into(), |v| format!("{v:.6}"));
        rows.push(vec![mark.into(), e.probe.clone(), e.at.clone(), value, e.want.clone()]);
    }
    output::table(&rows, &[3])
}
