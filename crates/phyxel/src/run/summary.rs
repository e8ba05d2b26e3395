//! What came out of a run: `summary.json`.

use crate::error::Diagnostic;
use serde::{Deserialize, Serialize, Serializer};

/// Outcome and cost of a run; its fields are the keys of `summary.json`.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// Version of the program.
    pub version: String,
    /// Name of the scene.
    pub scene: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Number of frames there are, frame 0 included.
    pub frames: u32,
    /// Number of time steps.
    pub substeps: u64,
    /// Number of points.
    pub points: usize,
    /// Number of surfels.
    pub surfels: usize,
    /// Number of threads.
    pub threads: usize,
    /// Wall time by kind [s].
    pub seconds: Seconds,
    /// Largest memory the process has held [bytes]; 0 where the system does not tell.
    pub peak_memory_bytes: u64,
    /// Wall time by phase of the step [s].
    #[serde(serialize_with = "as_map")]
    pub phases: Vec<(String, f64)>,
    /// What the guard mended.
    pub rescues: Vec<Rescue>,
    /// The expectations, judged.
    pub expect: Vec<Expectation>,
    /// Why the run diverged, if it did.
    #[serde(skip)]
    pub failure: Option<Diagnostic>,
    /// Simulated time reached [s].
    #[serde(skip)]
    pub time: f64,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// All frames, every expectation held.
    Done,
    /// All frames, an expectation did not hold.
    ExpectationFailed,
    /// Blew up and could not be rescued; the frames before are valid.
    Diverged,
    /// Cancelled; the frames before are valid.
    Stopped,
}

/// Wall time by kind [s]. Pictures are drawn while the physics goes on, so the parts may sum to more than the total.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Seconds {
    /// From start to end.
    pub total: f64,
    /// Time steps.
    pub physics: f64,
    /// Moving the surface.
    pub surface: f64,
    /// Drawing and film.
    pub render: f64,
    /// Writing files.
    pub write: f64,
}

/// A step that went wrong and was taken again with a smaller time step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rescue {
    /// Frame that was being computed.
    pub frame: u32,
    /// Simulated time [s].
    pub time: f64,
    /// What was seen, where, the likely cause.
    pub why: String,
}

/// One judged `[[expect]]`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Expectation {
    /// Probe.
    pub probe: String,
    /// When, as the scene says it.
    pub at: String,
    /// The judged value; None where there is none.
    pub value: Option<f64>,
    /// What was wanted, in words.
    pub want: String,
    /// Whether it held; None: the run ended before that could be said.
    pub ok: Option<bool>,
}

/// What a run carries across a checkpoint beside the state of the world.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Carried {
    /// Frame after which the checkpoint was made.
    pub frame: u32,
    /// Time steps so far.
    pub substeps: u64,
    /// Wall time so far.
    pub seconds: Seconds,
    /// Wall time by phase so far [s].
    pub phases: Vec<(String, f64)>,
    /// Rescues so far.
    pub rescues: Vec<Rescue>,
}

fn as_map<S: Serializer>(phases: &[(String, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(phases.iter().map(|(name, seconds)| (name, seconds)))
}

/// Largest memory this process has held so far [bytes]; 0 where the system does not tell.
pub fn peak_memory_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok()).map_or(0, |kib| kib * 1024)
}
