//! `metrics.csv`: one row per frame, written as the frames come, and read back.

use super::FrameView;
use super::files::{failed, write_whole};
use crate::error::{Diagnostic, Result};
use crate::measure::MetricsRow;
use glam::DVec3;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The rows of a run so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MetricsTable {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// One row per frame, one value per column.
    pub rows: Vec<Vec<f64>>,
}

impl MetricsTable {
    /// An empty table with the fixed columns and one per probe.
    pub fn new(probes: &[String]) -> Self {
        let fixed = MetricsRow::COLUMNS.iter().map(|c| c.to_string());
        Self { columns: fixed.chain(probes.iter().cloned()).collect(), rows: Vec::new() }
    }

    /// Reads `metrics.csv`.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .map_err(|e| Diagnostic::new(format!("cannot read the metrics: {e}")).file(path))?;
        let mut lines = text.lines();
        let columns = split(lines.next().unwrap_or_default());
        let mut rows = Vec::new();
        for (i, line) in lines.enumerate() {
            let row: Option<Vec<f64>> = line.split(',').map(|cell| cell.parse().ok()).collect();
            // The last line may have been cut by a kill.
            match row.filter(|r| r.len() == columns.len()) {
                Some(row) => rows.push(row),
                None if !text.ends_with('\n') => break,
                None => return Err(Diagnostic::new("a row of the metrics is damaged").file(path).line(i + 2).into()),
            }
        }
        Ok(Self { columns, rows })
    }

    /// One column over the frames; empty if there is no such column.
    pub fn column(&self, name: &str) -> Vec<f64> {
        match self.columns.iter().position(|c| c == name) {
            Some(i) => self.rows.iter().map(|r| r[i]).collect(),
            None => Vec::new(),
        }
    }

    /// Row `i` without the probes, and the probes; None if there is none, or if the columns are those of another version.
    pub fn row(&self, i: usize) -> Option<(MetricsRow, &[f64])> {
        let fixed = MetricsRow::COLUMNS.len();
        if !self.columns.iter().take(fixed).eq(MetricsRow::COLUMNS.iter()) {
            return None;
        }
        let (v, probes) = self.rows.get(i)?.split_at_checked(fixed)?;
        let vector = |i: usize| DVec3::new(v[i], v[i + 1], v[i + 2]);
        let row = MetricsRow {
            frame: v[0] as u32,
            time: v[1],
            dt_min: v[2],
            dt_max: v[3],
            substeps: v[4] as u64,
            kinetic: v[5],
            elastic: v[6],
            gravity: v[7],
            heat: v[8],
            work: v[9],
            dissipated: v[10],
            switched: v[11],
            momentum: vector(12),
            angular: vector(15),
            mass: v[18],
            volume: v[19],
            points: v[20] as usize,
            surfels: v[21] as usize,
            pieces: v[22] as usize,
            max_speed: v[23],
            max_strain: v[24],
            min_det_f: v[25],
            seconds_physics: v[26],
            seconds_surface: v[27],
        };
        Some((row, probes))
    }

    fn header(&self) -> String {
        self.columns.iter().map(|c| quoted(c)).collect::<Vec<_>>().join(",") + "\n"
    }
}

/// A row as a line; numbers are written so that they read back to the same bits.
fn line(row: &[f64]) -> String {
    let mut line = String::new();
    for (i, x) in row.iter().enumerate() {
        let comma = if i == 0 { "" } else { "," };
        // Writing to a string cannot fail. Very small and large numbers are shorter with an exponent.
        let _ = match x.abs() {
            a if a == 0.0 || (1e-4..1e15).contains(&a) => write!(line, "{comma}{x}"),
            _ => write!(line, "{comma}{x:e}"),
        };
    }
    line + "\n"
}

/// A name as a cell: quoted where it holds a comma, a quote or a line break.
fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) { format!("\"{}\"", name.replace('"', "\"\"")) } else { name.to_string() }
}

/// Cells of a header line.
fn split(line: &str) -> Vec<String> {
    let (mut cells, mut inside) = (vec![String::new()], false);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if inside && chars.peek() == Some(&'"') => {
                chars.next();
                if let Some(cell) = cells.last_mut() {
                    cell.push('"');
                }
            }
            '"' => inside = !inside,
            ',' if !inside => cells.push(String::new()),
            c => {
                if let Some(cell) = cells.last_mut() {
                    cell.push(c);
                }
            }
        }
    }
    cells
}

/// Writes rows as they come; what is in the file is always whole rows.
#[derive(Debug)]
pub(super) struct MetricsFile {
    path: PathBuf,
    file: File,
    pub table: MetricsTable,
}

impl MetricsFile {
    /// Starts the file with its header, or with the rows of `table` that are kept.
    pub fn create(path: PathBuf, table: MetricsTable) -> Result<Self> {
        let rows: String = table.rows.iter().map(|r| line(r)).collect();
        write_whole(&path, (table.header() + &rows).as_bytes())?;
        let file = OpenOptions::new().append(true).open(&path).map_err(|e| failed(&path, e))?;
        Ok(Self { path, file, table })
    }

    /// Appends one frame.
    pub fn push(&mut self, view: &FrameView) -> Result<()> {
        let row: Vec<f64> = view.metrics.values().iter().chain(view.probes).copied().collect();
        self.file.write_all(line(&row).as_bytes()).map_err(|e| failed(&self.path, e))?;
        self.table.rows.push(row);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Frame;

    #[test]
    fn rows_read_back_to_the_same_bits() {
        let path = std::env::temp_dir().join(format!("phyxel-metrics-{}.csv", std::process::id()));
        let table = MetricsTable::new(&["tip, \"left\"".into()]);
        let mut file = MetricsFile::create(path.clone(), table).unwrap();
        let momentum = DVec3::new(0.1, 1e-300, -1.0 / 3.0);
        let metrics = MetricsRow { frame: 2, time: 0.1 + 0.2, substeps: 7, momentum, pieces: 3, ..Default::default() };
        let frame = Frame::default();
        file.push(&FrameView { frame: &frame, metrics: &metrics, probes: &[f64::NAN], replayed: false }).unwrap();
        // A kill in the middle of a row loses that row only.
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"3,0.1").unwrap();

        let back = MetricsTable::read(&path).unwrap();
        assert_eq!(back.columns, file.table.columns);
        assert_eq!(back.columns.last().unwrap(), "tip, \"left\"");
        let (row, probes) = back.row(0).unwrap();
        assert_eq!(row, metrics);
        assert!(probes[0].is_nan() && back.rows.len() == 1);
        std::fs::remove_file(path).unwrap();
        let older = MetricsTable { columns: back.columns[1..].to_vec(), rows: vec![vec![0.0; 40]] };
        assert!(older.row(0).is_none(), "columns of another version");
    }
}
