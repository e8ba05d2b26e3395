//! `phyxel render`: pictures and film of a run again, seen otherwise.

use crate::common::{self, Place, Size, WorkArgs};
use crate::output;
use crate::progress::Display;
use anyhow::Result;
use phyxel::Diagnostic;
use phyxel::render::Draw;
use phyxel::scene::{CameraSpec, Scene};
use phyxel::sinks::pictures::{Drawer, Drawing, boxes_of};
use phyxel::sinks::{FrameReader, Space};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Flags of `phyxel render`.
#[derive(clap::Args)]
pub struct Args {
    /// Run folder
    run: PathBuf,
    /// Color by a field, with a legend: speed, stress, strain, plastic, ...; of embedded bodies also hardening and fade
    #[arg(long, value_name = "FIELD")]
    color: Option<String>,
    /// Size of the pictures
    #[arg(long, value_name = "WxH", default_value = "1280x720")]
    size: Size,
    /// Place of the eye [m]
    #[arg(long, value_name = "X,Y,Z", allow_hyphen_values = true)]
    camera_from: Option<Place>,
    /// Looked-at place [m]
    #[arg(long, value_name = "X,Y,Z", allow_hyphen_values = true)]
    look_at: Option<Place>,
    /// Draw the points instead of the surface
    #[arg(long)]
    points: bool,
    /// Which space is shown
    #[arg(long, value_name = "SPACE", value_enum, default_value = "world")]
    space: ShownSpace,
    /// Draw only this frame, as a PNG
    #[arg(long, value_name = "N")]
    frame: Option<u32>,
    /// Folder for the film and pictures, or the PNG of one frame [default: a name in the run folder]
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
    #[command(flatten)]
    work: WorkArgs,
}

/// `--space`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ShownSpace {
    /// The world
    World,
    /// Embedded bodies in their shape without stress
    Embedded,
    /// Embedded bodies in their shape at the start
    Rest,
}

pub fn command(args: Args) -> Result<ExitCode> {
    args.work.start_threads()?;
    let scene = read_scene(&args.run)?;
    let space = match args.space {
        ShownSpace::World => Space::World,
        ShownSpace::Embedded => Space::Embedded,
        ShownSpace::Rest => Space::Rest,
    };
    let mut frames = FrameReader::open(args.run.join("frames")).in_space(space);
    let count = frames.count();
    let wanted = args.frame.unwrap_or(0);
    if wanted >= count {
        let have = if count == 0 { "no frames".into() } else { format!("frames 0 to {}", count - 1) };
        let fault = Diagnostic::new(format!("there is no frame {wanted}")).file(&args.run).expected(have);
        return Err(common::input(fault));
    }
    let camera = CameraSpec {
        from: args.camera_from.map(|p| p.0).or(scene.camera.from),
        look_at: args.look_at.map(|p| p.0).or(scene.camera.look_at),
        fov: scene.camera.fov,
    };
    let draw = if args.points { Draw::Points } else { Draw::Surface };
    let size = (args.size.width, args.size.height);
    let drawing = Drawing { size, camera, color: args.color.clone(), draw, fps: scene.fps };
    let boxes = boxes_of(&mut frames, count)?;
    let mut display = Display::new(args.work.quiet);
    let mut progress = |done, of| display.picture(done, of);
    let drawer = Drawer::new(drawing, frames, count, boxes, &mut progress);
    let made = match args.frame {
        Some(index) => still(drawer, index, &args)?,
        None => film(drawer, &args)?,
    };
    display.clear();
    if args.work.json {
        let paths: Vec<String> = made.iter().map(|p| p.display().to_string()).collect();
        output::result(&serde_json::to_string_pretty(&serde_json::json!({ "files": paths }))?);
    } else if !args.work.quiet {
        made.iter().for_each(|path| output::note(&format!("wrote {}", path.display())));
    }
    Ok(ExitCode::SUCCESS)
}

fn read_scene(run: &Path) -> Result<Scene> {
    let path = run.join("scene.toml");
    if !path.is_file() {
        let fault = Diagnostic::new("there is no run here").file(run).expected("a folder written by `phyxel run`");
        return Err(common::input(fault));
    }
    Ok(Scene::from_file(&path, &[])?)
}

/// Name for pictures of this kind, so that those of the run itself stay.
fn label(args: &Args) -> String {
    let view = match (args.points, args.space) {
        (_, ShownSpace::Embedded) => "embedded",
        (_, ShownSpace::Rest) => "rest",
        (true, _) => "points",
        (false, _) => "view",
    };
    args.color.clone().unwrap_or_else(|| view.into())
}

fn still(drawer: Drawer, index: u32, args: &Args) -> Result<Vec<PathBuf>> {
    let default = || args.run.join(format!("{}_{index:05}.png", common::file_name(&label(args))));
    let path = args.out.clone().unwrap_or_else(default);
    if path.is_dir() {
        let fault = Diagnostic::new("this is a folder").file(&path).expected("the name of the PNG to write");
        return Err(common::input(fault));
    }
    drawer.still(index, &path).map_err(common::cannot_write)?;
    Ok(vec![path])
}

fn film(drawer: Drawer, args: &Args) -> Result<Vec<PathBuf>> {
    let default = || args.run.join(format!("render-{}", common::file_name(&label(args))));
    let dir = args.out.clone().unwrap_or_else(default);
    std::fs::create_dir_all(&dir)
        .map_err(|source| common::cannot_write(phyxel::Error::Write { path: dir.clone(), source }))?;
    drawer.film(&dir).map_err(common::cannot_write)?;
    Ok(["preview.mp4", "poster.png", "sheet.png"].map(|name| dir.join(name)).to_vec())
}
