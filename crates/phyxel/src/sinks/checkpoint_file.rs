//! Checkpoint files: the state after a frame, complete or refused.

use super::bytes::{Reader, Writer};
use super::files::write_durable;
use crate::error::{Diagnostic, Result};
use crate::run::Carried;
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"PHYXCHKP";
const VERSION: u32 = 1;

/// Name of the checkpoint after a frame.
fn name(frame: u32) -> String {
    format!("checkpoint_{frame:05}.bin")
}

/// Writes a checkpoint into `dir`, then removes all but the newest two.
pub fn write(dir: &Path, carried: &Carried, state: &[u8]) -> Result<()> {
    let header = serde_json::to_vec(carried).unwrap_or_default();
    let mut bytes = Vec::with_capacity(header.len() + state.len() + 64);
    let mut w = Writer(&mut bytes);
    w.bytes(MAGIC);
    w.u32(VERSION);
    w.u64(header.len() as u64);
    w.bytes(&header);
    w.u64(state.len() as u64);
    w.bytes(state);
    let sum = checksum(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    write_durable(&dir.join(name(carried.frame)), &bytes)?;
    for old in list(dir).into_iter().rev().skip(2) {
        // A leftover does no harm.
        let _ = std::fs::remove_file(old);
    }
    Ok(())
}

/// Paths of the checkpoints in `dir`, oldest first.
pub fn list(dir: &Path) -> Vec<PathBuf> {
    let is_checkpoint = |path: &PathBuf| {
        let name = path.file_name().and_then(|n| n.to_str());
        name.is_some_and(|n| n.starts_with("checkpoint_") && n.ends_with(".bin"))
    };
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|e| e.path()).filter(is_checkpoint).collect();
    // Longer numbers are later.
    paths.sort_by_key(|p| (p.as_os_str().len(), p.clone()));
    paths
}

/// Reads one checkpoint: what the run carries on, and the state of the world.
pub fn read(path: &Path) -> Result<(Carried, Vec<u8>)> {
    let bytes =
        std::fs::read(path).map_err(|e| Diagnostic::new(format!("cannot read the checkpoint: {e}")).file(path))?;
    decode(&bytes).ok_or_else(|| {
        Diagnostic::new("the checkpoint is damaged or of another version")
            .file(path)
            .expected(format!("a checkpoint of format version {VERSION}"))
            .hint("remove it: the one before it is used then")
            .into()
    })
}

/// The newest checkpoint in `dir` that is whole; None if there is none.
pub fn newest(dir: &Path) -> Option<(Carried, Vec<u8>)> {
    list(dir).iter().rev().find_map(|path| read(path).ok())
}

fn decode(bytes: &[u8]) -> Option<(Carried, Vec<u8>)> {
    let (body, sum) = bytes.split_last_chunk::<8>()?;
    let mut r = Reader(body);
    if checksum(body) != u64::from_le_bytes(*sum) || r.bytes(8)? != MAGIC || r.u32()? != VERSION {
        return None;
    }
    let count = r.u64()? as usize;
    let carried = serde_json::from_slice(r.bytes(count)?).ok()?;
    let count = r.u64()? as usize;
    Some((carried, r.bytes(count)?.to_vec()))
}

/// FNV-1a over 8-byte words, then the rest: enough against a torn or damaged file.
fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mix = |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29);
    let sum = words.iter().fold(0xcbf2_9ce4_8422_2325, |sum, w| mix(sum, u64::from_le_bytes(*w)));
    rest.iter().fold(sum, |sum, b| mix(sum, u64::from(*b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_newest_two_and_skips_damaged_ones() {
        let dir = std::env::temp_dir().join(format!("phyxel-checkpoints-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        for frame in [5, 10, 15] {
            let carried = Carried { frame, ..Default::default() };
            write(&dir, &carried, &[frame as u8; 100]).unwrap();
        }
        assert_eq!(list(&dir).len(), 2);
        let (carried, state) = newest(&dir).unwrap();
        assert_eq!((carried.frame, state), (15, vec![15; 100]));

        let last = dir.join(name(15));
        let mut bytes = std::fs::read(&last).unwrap();
        bytes[60] ^= 1;
        std::fs::write(&last, bytes).unwrap();
        assert!(read(&last).is_err());
        assert_eq!(newest(&dir).unwrap().0.frame, 10);
        std::fs::remove_dir_all(dir).unwrap();
    }
}
