//! `phyxel export`: the frames of a run as files of other programs.

use crate::common::{self, WorkArgs};
use crate::output;
use anyhow::Result;
use phyxel::Diagnostic;
use phyxel::sinks::export::{Format, write_frame};
use phyxel::sinks::{FrameReader, holds_run};
use std::path::PathBuf;
use std::process::ExitCode;

/// Flags of `phyxel export`.
#[derive(clap::Args)]
pub struct Args {
    /// Run folder
    run: PathBuf,
    /// What files to write
    #[arg(long, value_name = "FORMAT", value_enum)]
    to: Target,
    /// Only this frame
    #[arg(long, value_name = "N")]
    frame: Option<u32>,
    /// Folder for the files [default: export-FORMAT in the run folder]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    work: WorkArgs,
}

/// `--to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Target {
    /// Wavefront OBJ, one file per body and frame
    Obj,
    /// Binary PLY, one file per body and frame, with velocities and numbers of the vertices
    Ply,
}

pub fn command(args: Args) -> Result<ExitCode> {
    if !holds_run(&args.run) {
        let fault =
            Diagnostic::new("there is no run here").file(&args.run).expected("a folder written by `phyxel run`");
        return Err(common::input(fault));
    }
    let format = match args.to {
        Target::Obj => Format::Obj,
        Target::Ply => Format::Ply,
    };
    let mut frames = FrameReader::open(args.run.join("frames"));
    let count = frames.count();
    let wanted = match args.frame {
        Some(frame) => frame..frame.saturating_add(1),
        None => 0..count,
    };
    if wanted.is_empty() || wanted.end > count {
        let have = if count == 0 { "no frames".into() } else { format!("frames 0 to {}", count - 1) };
        let fault = Diagnostic::new(format!("there is no frame {}", wanted.start)).file(&args.run).expected(have);
        return Err(common::input(fault));
    }
    let dir = args.out.clone().unwrap_or_else(|| args.run.join(format!("export-{}", format.extension())));
    let mut files = Vec::new();
    for index in wanted {
        let frame = frames.read(index)?;
        files.extend(write_frame(&frame, format, &dir, common::file_name).map_err(common::cannot_write)?);
    }
    if args.work.json {
        let paths: Vec<String> = files.iter().map(|p| p.display().to_string()).collect();
        output::result(&serde_json::to_string_pretty(&serde_json::json!({ "files": paths }))?);
    } else if !args.work.quiet {
        output::note(&format!("wrote {} files to {}", files.len(), dir.display()));
    }
    Ok(ExitCode::SUCCESS)
}
