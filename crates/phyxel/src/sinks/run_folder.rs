//! The run folder: resolved scene, frames, metrics, checkpoints, summary. Never overwrites a run silently.

use super::crack_file::CrackFile;
use super::files::{create_folder, failed, write_whole};
use super::frame_file::{self, Looks};
use super::metrics_file::{MetricsFile, MetricsTable};
use super::{FrameView, RunInfo, Sink, checkpoint_file, scene_files};
use crate::error::{Diagnostic, Result};
use crate::geometry::Files;
use crate::run::{Carried, Summary};
use crate::scene::Scene;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Files of a run folder, without what is inside its folders.
const FILES: [&str; 8] = [
    "scene.toml",
    "summary.json",
    "metrics.csv",
    "cracks.csv",
    "preview.mp4",
    "poster.png",
    "sheet.png",
    "replay.html",
];
/// Folders of a run folder.
const FOLDERS: [&str; 3] = ["frames", "checkpoints", "plots"];

/// Whether a folder holds a run, finished or not.
pub fn holds_run(dir: &Path) -> bool {
    let holds = |folder: &&str| std::fs::read_dir(dir.join(folder)).is_ok_and(|mut entries| entries.next().is_some());
    FILES.iter().any(|name| dir.join(name).symlink_metadata().is_ok()) || FOLDERS.iter().any(holds)
}

/// `dir`, or `dir-2`, `dir-3`, ...: the first that does not exist or is empty.
pub fn unused_folder(dir: &Path) -> PathBuf {
    let free = |path: &PathBuf| match std::fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_none(),
        Err(e) => e.kind() == io::ErrorKind::NotFound,
    };
    let numbered = (2..10_000).map(|i| {
        let mut name = dir.file_name().unwrap_or_default().to_os_string();
        name.push(format!("-{i}"));
        dir.with_file_name(name)
    });
    std::iter::once(dir.to_path_buf()).chain(numbered).find(free).unwrap_or_else(|| dir.to_path_buf())
}

/// Writes the run folder, all but the pictures.
#[derive(Debug)]
pub struct RunFolder {
    dir: PathBuf,
    /// Metrics of the run that is resumed.
    kept: Option<MetricsTable>,
    metrics: Option<MetricsFile>,
    cracks: CrackFile,
    looks: Looks,
    /// The bytes of a frame, reused.
    bytes: Vec<u8>,
    seconds_write: f64,
}

impl RunFolder {
    /// Prepares `dir` for a new run of `scene`, whose files are copied into it. A folder that holds a run is refused.
    pub fn create(dir: &Path, scene: &Scene, files: &Files) -> Result<Self> {
        if holds_run(dir) {
            return Err(Diagnostic::new("the output folder already holds a run")
                .file(dir)
                .expected("a new or empty folder")
                .hint("give another folder with --out, or --force to replace the run in it")
                .into());
        }
        prepare(dir).map_err(unusable)?;
        // The scene is the first file there is: a folder with it is a run.
        let text = scene_files::gather(scene, files, dir).map_err(unusable)?.to_toml();
        write_whole(&dir.join("scene.toml"), text.as_bytes()).map_err(unusable)?;
        Ok(Self::new(dir, Looks::default(), None))
    }

    /// Goes on writing the run that is in `dir` already, with its metrics so far.
    pub fn resume(dir: &Path, metrics: MetricsTable) -> Self {
        Self::new(dir, Looks::load(&dir.join("frames")), Some(metrics))
    }

    fn new(dir: &Path, looks: Looks, kept: Option<MetricsTable>) -> Self {
        Self {
            dir: dir.to_path_buf(),
            kept,
            metrics: None,
            cracks: CrackFile::default(),
            looks,
            bytes: Vec::new(),
            seconds_write: 0.0,
        }
    }

    /// Removes the run that is in `dir`: the files a run folder has, nothing else.
    pub fn clear(dir: &Path) -> Result<()> {
        let gone = |path: PathBuf, result: io::Result<()>| match result {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(failed(&path, e)),
            _ => Ok(()),
        };
        for name in FILES {
            let path = dir.join(name);
            gone(path.clone(), std::fs::remove_file(&path)).map_err(unusable)?;
        }
        for folder in FOLDERS {
            let entries = std::fs::read_dir(dir.join(folder)).into_iter().flatten().flatten();
            for path in entries.map(|e| e.path()).filter(|p| is_ours(p)) {
                gone(path.clone(), std::fs::remove_file(&path)).map_err(unusable)?;
            }
        }
        Ok(())
    }
}

/// Whether a file in a folder of a run folder was written by a run.
fn is_ours(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let starts = ["frame_", "look_", "checkpoint_"].iter().any(|start| name.starts_with(start));
    (starts && (name.ends_with(".bin") || name.ends_with(".part"))) || name.ends_with(".svg")
}

fn prepare(dir: &Path) -> Result<()> {
    for folder in FOLDERS {
        create_folder(&dir.join(folder))?;
    }
    Ok(())
}

/// An output folder that cannot be used is a fault of the input when found at the start.
fn unusable(error: crate::Error) -> crate::Error {
    match error {
        crate::Error::Write { path, source } => Diagnostic::new(format!("cannot write the output: {source}"))
            .file(path)
            .expected("a folder that can be created and written")
            .hint("give another folder with --out")
            .into(),
        other => other,
    }
}

impl Sink for RunFolder {
    fn begin(&mut self, info: &RunInfo) -> Result<()> {
        prepare(&self.dir)?;
        let mut table = self.kept.take().unwrap_or_else(|| MetricsTable::new(info.probes));
        table.rows.truncate(info.first as usize);
        self.metrics = Some(MetricsFile::create(self.dir.join("metrics.csv"), table)?);
        self.cracks = CrackFile::open(self.dir.join("cracks.csv"), info.first);
        Ok(())
    }

    fn frame(&mut self, view: &FrameView) -> Result<()> {
        if view.replayed {
            return Ok(());
        }
        let start = Instant::now();
        let dir = self.dir.join("frames");
        for (name, bytes) in frame_file::encode(view.frame, &mut self.looks, &mut self.bytes) {
            write_whole(&dir.join(name), &bytes)?;
        }
        write_whole(&dir.join(frame_file::frame_name(view.frame.index)), &self.bytes)?;
        if let Some(metrics) = &mut self.metrics {
            metrics.push(view)?;
        }
        self.cracks.push(view.frame)?;
        self.seconds_write += start.elapsed().as_secs_f64();
        Ok(())
    }

    fn keeps_checkpoints(&self) -> bool {
        true
    }

    fn checkpoint(&mut self, carried: &Carried, state: &[u8]) -> Result<()> {
        let start = Instant::now();
        checkpoint_file::write(&self.dir.join("checkpoints"), carried, state)?;
        self.seconds_write += start.elapsed().as_secs_f64();
        Ok(())
    }

    fn finish(&mut self, summary: &mut Summary) -> Result<()> {
        let start = Instant::now();
        if let Some(metrics) = &self.metrics {
            super::plots::write(&self.dir.join("plots"), &metrics.table)?;
        }
        summary.seconds.write += self.seconds_write + start.elapsed().as_secs_f64();
        let text = serde_json::to_string_pretty(summary).map_err(|e| failed(&self.dir, e.into()))?;
        write_whole(&self.dir.join("summary.json"), (text + "\n").as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::{here, scene};
    use crate::sinks::frame_file::tests::sample;

    fn fresh(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("phyxel-run-folder-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        dir
    }

    #[test]
    fn a_run_is_never_overwritten_silently() {
        let dir = fresh("twice");
        assert_eq!(unused_folder(&dir), dir);
        RunFolder::create(&dir, &scene(), &here()).unwrap();
        assert!(RunFolder::create(&dir, &scene(), &here()).is_err());
        let second = unused_folder(&dir);
        assert!(second.to_str().unwrap().ends_with("-2") && !second.exists());
        std::fs::write(dir.join("mine.txt"), "kept").unwrap();
        RunFolder::clear(&dir).unwrap();
        assert!(!dir.join("scene.toml").exists());
        // The empty folders are left, and are no run.
        RunFolder::create(&dir, &scene(), &here()).unwrap();
        assert!(dir.join("mine.txt").exists());
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_one_error_and_keeps_the_frames_before() {
        let dir = fresh("full");
        let mut folder = RunFolder::create(&dir, &scene(), &here()).unwrap();
        let scene = scene();
        folder.begin(&RunInfo { scene: &scene, frames: 3, first: 0, probes: &[] }).unwrap();
        let mut write = |index: u32| {
            let (frame, metrics) = (sample(index), Default::default());
            folder.frame(&FrameView { frame: &frame, metrics: &metrics, probes: &[], replayed: false })
        };
        write(0).unwrap();
        // Whatever is written to this device fails as on a full disk.
        let part = super::super::files::temporary(&dir.join("frames").join(frame_file::frame_name(1)));
        std::os::unix::fs::symlink("/dev/full", &part).unwrap();
        let error = write(1).unwrap_err();
        assert!(error.to_string().contains("frame_00001.bin") && error.to_string().contains("space"), "{error}");
        assert_eq!(frame_file::FrameReader::open(dir.join("frames")).count(), 1);
        assert!(!part.exists());
        std::fs::remove_dir_all(dir).unwrap();
    }
}
