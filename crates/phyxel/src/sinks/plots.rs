//! The plots of a run: energies, volume, cost, and one per probe, as SVG.

use super::files::write_whole;
use super::metrics_file::MetricsTable;
use crate::error::Result;
use crate::measure::MetricsRow;
use crate::plots::{Series, line_plot};
use std::path::Path;

/// Writes all plots into `dir`.
pub(super) fn write(dir: &Path, table: &MetricsTable) -> Result<()> {
    let time = table.column("time");
    let mut energies: Vec<(&str, Vec<f64>)> =
        ["kinetic", "elastic", "gravity", "heat"].iter().map(|name| (*name, table.column(name))).collect();
    energies.retain(|(name, values)| *name != "heat" || values.iter().any(|v| *v != 0.0));
    let total = (0..time.len()).map(|i| energies.iter().map(|(_, v)| v[i]).sum()).collect();
    energies.push(("total", total));
    plot(dir, "energy", "Energy", "energy [J]", &time, &energies)?;
    plot(dir, "volume", "Volume", "volume [m³]", &time, &[("volume", table.column("volume"))])?;
    let costs = [("physics", table.column("seconds_physics")), ("surface", table.column("seconds_surface"))];
    plot(dir, "timing", "Cost of a frame", "wall time [s]", &time, &costs)?;
    for probe in &table.columns[MetricsRow::COLUMNS.len().min(table.columns.len())..] {
        plot(dir, &file_stem(probe), probe, probe, &time, &[(probe, table.column(probe))])?;
    }
    Ok(())
}

fn plot(dir: &Path, file: &str, title: &str, label: &str, time: &[f64], lines: &[(&str, Vec<f64>)]) -> Result<()> {
    let series: Vec<Series> = lines.iter().map(|(name, ys)| Series { name, xs: time, ys }).collect();
    let svg = line_plot(title, "time [s]", label, &series);
    write_whole(&dir.join(format!("{file}.svg")), svg.as_bytes())
}

/// A file name for a probe; one named like a plot of ours gets a prefix.
fn file_stem(probe: &str) -> String {
    let clean = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let stem: String = probe.chars().map(clean).collect();
    let taken = ["energy", "volume", "timing"].contains(&stem.as_str()) || stem.starts_with('.') || stem.is_empty();
    if taken { format!("probe_{stem}") } else { stem }
}
