//! `phyxel resume`: go on with a run from its newest checkpoint.

use crate::common::{self, WorkArgs};
use crate::progress::Display;
use crate::run::{Job, RunArgs};
use anyhow::Result;
use phyxel::Diagnostic;
use phyxel::geometry::Files;
use phyxel::run::Resume;
use phyxel::scene::Scene;
use phyxel::sinks::{FrameReader, MetricsTable, RunFolder, checkpoint_file};
use phyxel::world::World;
use std::path::PathBuf;
use std::process::ExitCode;

/// Flags of `phyxel resume`.
#[derive(clap::Args)]
pub struct Args {
    /// Run folder
    folder: PathBuf,
    #[command(flatten)]
    work: WorkArgs,
    #[command(flatten)]
    run: RunArgs,
}

pub fn command(args: Args) -> Result<ExitCode> {
    let threads = args.work.start_threads()?;
    let dir = args.folder;
    let path = dir.join("scene.toml");
    let text = std::fs::read_to_string(&path).map_err(|e| {
        let fault = Diagnostic::new(format!("cannot read the run: {e}")).file(&path);
        common::input(fault.expected("a folder written by `phyxel run`"))
    })?;
    let scene = Scene::from_toml(&text, Some(&path), &[])?;
    let mut display = Display::new(args.work.quiet);
    display.stage("sampling the bodies");
    let world = World::new(&scene, &Files { base: dir.clone(), allow_outside: true })?;
    let metrics = MetricsTable::read(&dir.join("metrics.csv"))?;
    let frames = FrameReader::open(dir.join("frames"));
    let found = checkpoint_file::newest(&dir.join("checkpoints"));
    // A checkpoint is worth something only with the frames before it.
    let usable = found.filter(|(c, _)| c.frame < frames.count() && (c.frame as usize) < metrics.rows.len());
    let folder = RunFolder::resume(&dir, metrics.clone());
    let resume = usable.map(|(carried, state)| Resume { carried, state, frames, metrics });
    Job { dir, threads, work: args.work, run: args.run, display }.go(&scene, world, folder, resume)
}
