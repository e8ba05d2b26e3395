//! Flags that several commands share, and what they mean.

use crate::output;
use anyhow::Result;
use phyxel::geometry::Files;
use phyxel::scene::Scene;
use phyxel::{Diagnostic, Error};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Which scene, and changes to it.
#[derive(clap::Args)]
pub struct SceneArgs {
    /// Scene file, or the name of a built-in scene (see `phyxel scenes`)
    pub scene: String,
    /// Change a key of the scene, such as body.0.material.young="1 MPa"; may be repeated
    #[arg(long, value_name = "KEY.PATH=VALUE")]
    pub set: Vec<String>,
    /// Let the scene use files outside its folder
    #[arg(long)]
    pub allow_outside: bool,
}

/// How to work and what to say.
#[derive(clap::Args)]
pub struct WorkArgs {
    /// Number of threads; the result has the same bits for any number [default: all cores; bench: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Say nothing but errors
    #[arg(long, short)]
    pub quiet: bool,
    /// Print the result as JSON on stdout, and nothing else there
    #[arg(long)]
    pub json: bool,
}

impl WorkArgs {
    /// Sets up the threads and returns their number.
    pub fn start_threads(&self) -> Result<usize> {
        let threads = match self.threads {
            Some(n) => usize::from(n),
            None => std::thread::available_parallelism().map_or(1, usize::from),
        };
        // The main thread is one of them: work is not handed over and waited for at every loop.
        rayon::ThreadPoolBuilder::new().num_threads(threads).use_current_thread().build_global()?;
        Ok(threads)
    }
}

/// A scene with the place of its files.
pub struct Loaded {
    /// The scene.
    pub scene: Scene,
    /// Where its files are.
    pub files: Files,
}

impl SceneArgs {
    /// Reads the scene with its changes.
    pub fn load(&self) -> Result<Loaded> {
        let changes = self.set.iter().map(|s| split_change(s)).collect::<Result<Vec<_>>>()?;
        let path = Path::new(&self.scene);
        let scene = Scene::open(&self.scene, &changes).map_err(|error| locate(error, path))?;
        let base = if path.is_file() { path.parent().unwrap_or(Path::new("")).to_path_buf() } else { PathBuf::new() };
        Ok(Loaded { scene, files: Files { base, allow_outside: self.allow_outside } })
    }
}

/// A scene that was not found: the message says where it was looked for.
fn locate(error: Error, path: &Path) -> Error {
    match error {
        Error::Input(mut fault) if !path.exists() && fault.file.is_none() && fault.key.is_none() => {
            fault.file = std::env::current_dir().ok().map(|here| here.join(path));
            Error::Input(fault)
        }
        Error::Input(mut fault) if path.is_dir() && path.join("scene.toml").is_file() => {
            let dir = path.display();
            fault.hint = Some(format!(
                "`phyxel run {dir}/scene.toml` runs its scene again, `phyxel resume {dir}` goes on with it"
            ));
            Error::Input(fault)
        }
        other => other,
    }
}

fn split_change(text: &str) -> Result<(String, String)> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().into(), value.trim().into())),
        _ => Err(input(
            Diagnostic::new(format!("cannot read `--set {text}`"))
                .expected("KEY.PATH=VALUE")
                .hint("--set body.0.material.young=\"1 MPa\""),
        )),
    }
}

/// A fault of the user's input.
pub fn input(fault: Diagnostic) -> anyhow::Error {
    Error::from(fault).into()
}

/// An output that cannot be written, found at the start: the command line is wrong.
pub fn cannot_write(error: Error) -> anyhow::Error {
    match error {
        Error::Write { path, source } => {
            input(Diagnostic::new(format!("cannot write: {source}")).file(path).hint("another place with --out"))
        }
        other => other.into(),
    }
}

/// Whether an error is the input's fault (exit code 2).
pub fn is_input_error(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref::<Error>(), Some(Error::Input(_)))
}

/// Size of pictures, `1280x720`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Size {
    /// Pixels across.
    pub width: usize,
    /// Pixels down.
    pub height: usize,
}

impl FromStr for Size {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let parts =
            text.split_once(['x', 'X']).and_then(|(w, h)| Some((w.trim().parse().ok()?, h.trim().parse().ok()?)));
        match parts {
            Some((width, height)) if (64..=3840).contains(&width) && (64..=2160).contains(&height) => {
                Ok(Self { width, height })
            }
            _ => Err("expected WIDTHxHEIGHT from 64x64 to 3840x2160, such as 1280x720".into()),
        }
    }
}

/// A place in space [m], `1,0.5,-2`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place(pub glam::DVec3);

impl FromStr for Place {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Result<Vec<f64>, _> = text.split(',').map(|part| part.trim().parse()).collect();
        let numbers: Option<[f64; 3]> = numbers.ok().and_then(|n| n.try_into().ok());
        let finite = numbers.filter(|n| n.iter().all(|x| x.is_finite()));
        finite.map(|n| Self(n.into())).ok_or_else(|| "expected three numbers in meters, such as 1,0.5,-2".into())
    }
}

/// A switch that Ctrl-C turns on; the second Ctrl-C leaves at once.
pub fn stop_switch(quiet: bool) -> Arc<AtomicBool> {
    let switch = Arc::new(AtomicBool::new(false));
    let handle = switch.clone();
    // Without a handler Ctrl-C simply ends the program, as it would anyway.
    let _ = ctrlc::set_handler(move || {
        if handle.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        if !quiet {
            output::note("stopping: finishing what is there (Ctrl-C again to leave at once)");
        }
    });
    switch
}

/// Name of a file or folder for a scene of any name.
pub fn file_name(name: &str) -> String {
    let clean = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = name.trim().chars().map(clean).collect();
    let name = name.trim_matches('.').to_string();
    if name.is_empty() { "scene".into() } else { name }
}

/// The run folder for a scene when the user names none: one that is not in use.
pub fn default_folder(scene: &Scene) -> PathBuf {
    phyxel::sinks::unused_folder(&Path::new("runs").join(file_name(&scene.name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!("320x180".parse(), Ok(Size { width: 320, height: 180 }));
        assert!("320".parse::<Size>().is_err() && "0x0".parse::<Size>().is_err() && "99999x9".parse::<Size>().is_err());
    }

    #[test]
    fn places() {
        assert_eq!("-1, 0.5,2".parse(), Ok(Place(glam::DVec3::new(-1.0, 0.5, 2.0))));
        assert!("1,2".parse::<Place>().is_err() && "1,2,nan".parse::<Place>().is_err());
    }

    #[test]
    fn folder_names_are_safe() {
        assert_eq!((file_name("../a b"), file_name("..")), ("-a-b".into(), "scene".into()));
    }
}
