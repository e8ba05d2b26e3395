//! `cracks.csv`: what tore, where and when. Written once something has.

use super::files::write_whole;
use crate::error::Result;
use crate::frame::Frame;
use std::fmt::Write;
use std::path::PathBuf;

const HEADER: &str =
    "frame,time,body,kind,cause,x,y,z,rest_x,rest_y,rest_z,direction_x,direction_y,direction_z,length\n";

/// The cracks of a run so far.
#[derive(Debug, Default)]
pub struct CrackFile {
    path: PathBuf,
    text: String,
}

impl CrackFile {
    /// A new file, or the one of a run that is resumed at frame `first`.
    pub fn open(path: PathBuf, first: u32) -> Self {
        let old = if first > 0 { std::fs::read_to_string(&path).unwrap_or_default() } else { String::new() };
        let before = |row: &&str| row.split(',').next().and_then(|x| x.parse().ok()).is_some_and(|f: u32| f < first);
        let mut text = HEADER.to_string();
        old.lines().filter(before).for_each(|row| text += &format!("{row}\n"));
        Self { path, text }
    }

    /// Adds the cracks of a frame.
    pub fn push(&mut self, frame: &Frame) -> Result<()> {
        if frame.cracks.is_empty() {
            return Ok(());
        }
        for c in &frame.cracks {
            let body = frame.bodies.get(c.body).map_or("", |b| b.name.as_str());
            let kind = if c.begins { "begins" } else { "grows" };
            let cause = if c.bending { "bending" } else { "tension" };
            let _ = write!(self.text, "{},{},{body},{kind},{cause}", frame.index, c.time);
            for v in [c.place, c.rest, c.direction] {
                let _ = write!(self.text, ",{},{},{}", v.x, v.y, v.z);
            }
            let _ = writeln!(self.text, ",{}", c.length);
        }
        write_whole(&self.path, self.text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::shell::cracks::CrackEvent;

    #[test]
    fn a_resumed_run_keeps_what_tore_before() {
        let path = std::env::temp_dir().join(format!("phyxel-cracks-{}.csv", std::process::id()));
        let frame = |index: u32| Frame {
            index,
            cracks: vec![CrackEvent { time: 0.5, begins: true, ..CrackEvent::default() }],
            ..Frame::default()
        };
        let mut file = CrackFile::open(path.clone(), 0);
        (1..4).for_each(|k| file.push(&frame(k)).unwrap());
        let mut file = CrackFile::open(path.clone(), 3);
        file.push(&frame(7)).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let frames: Vec<&str> = text.lines().skip(1).filter_map(|row| row.split(',').next()).collect();
        assert_eq!(frames, ["1", "2", "7"]);
        assert!(text.starts_with(HEADER) && text.contains(",begins,tension,"));
        std::fs::remove_file(path).unwrap();
    }
}
