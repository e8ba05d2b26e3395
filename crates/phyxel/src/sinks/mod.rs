//! Where frames go: the run folder, pictures and film, the replay page, nowhere. One file per sink, one trait for all.

pub(crate) mod bytes;
pub mod checkpoint_file;
mod crack_file;
pub mod export;
mod files;
pub mod frame_file;
mod mesh_block;
pub mod metrics_file;
pub mod pictures;
mod plots;
mod replay;
mod run_folder;
mod scene_files;
mod space;

pub use frame_file::FrameReader;
pub use metrics_file::MetricsTable;
pub use pictures::Pictures;
pub use replay::Replay;
pub use run_folder::{RunFolder, holds_run, unused_folder};
pub use space::{EMBEDDED, Space};

use crate::error::Result;
use crate::frame::Frame;
use crate::measure::MetricsRow;
use crate::run::{Carried, Summary};
use crate::scene::Scene;

/// Takes the frames of a run, in order.
pub trait Sink {
    /// Called once before the first frame.
    fn begin(&mut self, info: &RunInfo) -> Result<()>;

    /// Called for every frame.
    fn frame(&mut self, view: &FrameView) -> Result<()>;

    /// Whether this sink keeps checkpoints; if none does, none is made.
    fn keeps_checkpoints(&self) -> bool {
        false
    }

    /// Called from time to time after a frame with the state that goes on from there.
    fn checkpoint(&mut self, _carried: &Carried, _state: &[u8]) -> Result<()> {
        Ok(())
    }

    /// Called once after the last frame, in the order of the sinks; a sink may add what it spent to the summary.
    fn finish(&mut self, summary: &mut Summary) -> Result<()>;
}

/// What is known before the first frame.
#[derive(Debug, Clone, Copy)]
pub struct RunInfo<'a> {
    /// The scene.
    pub scene: &'a Scene,
    /// Number of frames that will come, frame 0 included.
    pub frames: u32,
    /// First frame that is computed; those before come from the run folder.
    pub first: u32,
    /// Names of the probes.
    pub probes: &'a [String],
}

/// One frame with its numbers.
#[derive(Debug, Clone, Copy)]
pub struct FrameView<'a> {
    /// What is seen.
    pub frame: &'a Frame,
    /// What was measured.
    pub metrics: &'a MetricsRow,
    /// Values of the probes.
    pub probes: &'a [f64],
    /// Whether the frame comes from the run folder that is being resumed.
    pub replayed: bool,
}

/// Takes everything, keeps nothing: for benchmarks and tests.
#[derive(Debug, Default)]
pub struct Null;

impl Sink for Null {
    fn begin(&mut self, _: &RunInfo) -> Result<()> {
        Ok(())
    }
    fn frame(&mut self, _: &FrameView) -> Result<()> {
        Ok(())
    }
    fn finish(&mut self, _: &mut Summary) -> Result<()> {
        Ok(())
    }
}
