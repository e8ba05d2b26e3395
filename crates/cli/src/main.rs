//! The program `phyxel`: reads the command line, runs one command, reports an error once, sets the exit code.
//!
//! Exit codes: 0 done and every expectation held; 1 the run failed, was stopped, or an expectation did not hold;
//! 2 bad command line, scene or input file.

mod bench;
mod bench_cases;
mod check;
mod common;
mod export;
mod new;
mod output;
mod progress;
mod render;
mod resume;
mod run;
mod scenes;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

const AFTER_HELP: &str = "\
First steps:  phyxel run bounce        simulate a built-in scene; the film is runs/bounce/preview.mp4
              phyxel new statue.obj    write a scene for a mesh, then `phyxel run statue.toml`

Exit codes: 0 done and every expectation held; 1 the run failed, was stopped (Ctrl-C), or an expectation did not hold;
2 bad command line, scene or input file.";

/// Animates matter sampled by points only: from a scene file or a mesh to a film.
#[derive(Parser)]
#[command(name = "phyxel", version, max_term_width = 110, after_help = AFTER_HELP)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Simulate a scene and write a run folder with a preview film
    Run(run::Args),
    /// Read and sample a scene only: what is wrong and where, sizes, time step, estimates
    Check(check::Args),
    /// List the built-in scenes, or print one
    Scenes(scenes::Args),
    /// Write a commented starter scene for a mesh
    New(new::Args),
    /// Draw the pictures and the film of a run again: other camera, size, coloring
    Render(render::Args),
    /// Write the frames of a run as files of other programs: meshes, surfels, points
    Export(export::Args),
    /// Go on with a run after a crash, a kill or its end
    Resume(resume::Args),
    /// Measure the speed of the parts, CPU time per point and substep
    Bench(bench::Args),
}

fn main() -> ExitCode {
    // A broken promise of ours is said in one sentence; it is never the user's stack trace to read.
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(|l| format!("{}:{}", l.file(), l.line())).unwrap_or_default();
        output::note(&format!(
            "error: an internal fault in phyxel at {place}; please report it with the scene and the command that led to it"
        ));
    }));
    let cli = Cli::parse();
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| match cli.command {
        Command::Run(args) => run::command(args),
        Command::Check(args) => check::command(args),
        Command::Scenes(args) => scenes::command(args),
        Command::New(args) => new::command(args),
        Command::Render(args) => render::command(args),
        Command::Export(args) => export::command(args),
        Command::Resume(args) => resume::command(args),
        Command::Bench(args) => bench::command(args),
    }));
    match result {
        Ok(Ok(code)) => code,
        Ok(Err(error)) => {
            output::note(&format!("error: {error:#}"));
            ExitCode::from(if common::is_input_error(&error) { 2 } else { 1 })
        }
        // The hook has said it.
        Err(_) => ExitCode::from(1),
    }
}
