//! `phyxel bench`: CPU time of the parts, one case at a time.

use crate::bench_cases::{CASES, Measured};
use crate::common::{self, WorkArgs};
use crate::output;
use anyhow::Result;
use phyxel::Diagnostic;
use serde_json::{Map, json};
use std::process::ExitCode;
use std::time::Instant;

/// Flags of `phyxel bench`.
#[derive(clap::Args)]
pub struct Args {
    /// Case to measure [default: all]
    name: Option<String>,
    #[command(flatten)]
    work: WorkArgs,
}

pub fn command(mut args: Args) -> Result<ExitCode> {
    // CPU time per point is comparable on one thread.
    args.work.threads.get_or_insert(1);
    let threads = args.work.start_threads()?;
    let chosen: Vec<_> = CASES.iter().filter(|c| args.name.as_deref().is_none_or(|n| n == c.name)).collect();
    if chosen.is_empty() {
        let names: Vec<_> = CASES.iter().map(|c| c.name).collect();
        let fault = Diagnostic::new("there is no such benchmark").expected(format!("one of {}", names.join(", ")));
        return Err(common::input(fault));
    }
    let mut rows = Vec::new();
    for case in chosen {
        if !args.work.quiet {
            output::note(&format!("measuring {} ...", case.name));
        }
        rows.push((case, (case.measure)()?));
    }
    if args.work.json {
        let json: Vec<_> = rows.iter().map(|(case, m)| row_json(case.name, case.model, threads, m)).collect();
        output::result(&serde_json::to_string_pretty(&json)?);
    } else {
        let header = [
            "name",
            "points",
            "threads",
            "substeps",
            "CPU ns/point/substep",
            "best",
            "wall ns",
            "sim s/CPU s",
            "set-up s",
            "B/point",
            "phases",
        ];
        let mut cells = vec![header.map(String::from).to_vec()];
        cells.extend(rows.iter().map(|(case, m)| row_cells(case.name, threads, m)));
        output::result(&output::table(&cells, &[1, 2, 3, 4, 5, 6, 7, 8, 9]));
    }
    Ok(ExitCode::SUCCESS)
}

fn per_point(seconds: f64, m: &Measured) -> f64 {
    1e9 * seconds / (m.points as f64 * m.substeps as f64)
}

/// CPU time by phase [ns per point and substep]: the wall time of the phases, scaled as a whole.
fn phases(m: &Measured) -> Vec<(&str, f64)> {
    let share = m.cpu_seconds / m.wall_seconds;
    m.phases.iter().map(|(name, seconds)| (name.as_str(), share * per_point(*seconds, m))).collect()
}

fn row_json(name: &str, model: &str, threads: usize, m: &Measured) -> serde_json::Value {
    let phases: Map<_, _> = phases(m).into_iter().map(|(p, ns)| (p.to_string(), json!(ns))).collect();
    json!({
        "name": name, "model": model, "points": m.points, "threads": threads, "substeps": m.substeps,
        "cpu_ns_per_point_substep": per_point(m.cpu_seconds, m),
        "best_cpu_ns_per_point_substep": per_point(m.best_seconds, m),
        "setup_seconds": m.setup_seconds, "bytes_per_point": m.bytes_per_point,
        "wall_ns_per_point_substep": per_point(m.wall_seconds, m),
        "sim_seconds_per_cpu_second": m.sim_seconds / m.cpu_seconds,
        "phases": phases,
    })
}

fn row_cells(name: &str, threads: usize, m: &Measured) -> Vec<String> {
    let mut phases: Vec<_> = phases(m).into_iter().filter(|(_, ns)| *ns >= 0.5).collect();
    phases.sort_by(|a, b| b.1.total_cmp(&a.1));
    let phases: Vec<String> = phases.iter().map(|(p, ns)| format!("{p} {ns:.1}")).collect();
    let ratio = m.sim_seconds / m.cpu_seconds;
    vec![
        name.into(),
        m.points.to_string(),
        threads.to_string(),
        m.substeps.to_string(),
        format!("{:.1}", per_point(m.cpu_seconds, m)),
        format!("{:.1}", per_point(m.best_seconds, m)),
        format!("{:.1}", per_point(m.wall_seconds, m)),
        number(ratio, 4),
        number(m.setup_seconds, 2),
        number(m.bytes_per_point, 0),
        phases.join(", "),
    ]
}

/// A number, or a dash where there is none.
fn number(value: f64, digits: usize) -> String {
    if value > 0.0 { format!("{value:.digits$}") } else { "-".into() }
}

/// Largest memory this process has had so far [bytes]; 0 where the system does not tell.
pub fn peak_memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|text| text.trim().trim_end_matches(" kB").parse::<f64>().ok()).map_or(0.0, |kb| 1024.0 * kb)
}

/// Measures CPU and wall time from its making on.
pub struct Clock {
    wall: Instant,
    cpu: f64,
}

impl Clock {
    /// Starts.
    pub fn start() -> Self {
        Self { wall: Instant::now(), cpu: cpu_seconds() }
    }
    /// CPU and wall time since the start [s]. Where the system does not tell CPU time, wall time stands for it.
    pub fn stop(&self) -> (f64, f64) {
        let wall = self.wall.elapsed().as_secs_f64();
        let cpu = cpu_seconds() - self.cpu;
        (if cpu > 0.0 { cpu } else { wall }, wall)
    }
}

/// CPU time of all threads of this process so far [s]; 0 where the system does not tell.
fn cpu_seconds() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let nanoseconds = |task: std::fs::DirEntry| -> Option<u64> {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse().ok()
    };
    tasks.filter_map(nanoseconds).sum::<u64>() as f64 * 1e-9
}
