//! Files that are whole or not there: written under a temporary name, then renamed.

use crate::error::{Error, Result};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Name a file has while it is being written.
pub(super) fn temporary(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".part");
    path.with_file_name(name)
}

/// Writes a file under a temporary name and renames it. What was written in vain is removed.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    write_with(path, |file| file.write_all(bytes))
}

/// As [`write_whole`], and on the disk before it gets its name, so that even a power cut leaves the old or the new one.
pub(super) fn write_durable(path: &Path, bytes: &[u8]) -> Result<()> {
    write_with(path, |file| file.write_all(bytes).and_then(|()| file.sync_data()))
}

fn write_with(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> Result<()> {
    let part = temporary(path);
    let result = File::create(&part).and_then(|mut file| write(&mut file)).and_then(|()| std::fs::rename(&part, path));
    result.map_err(|source| {
        // Best effort: the error that matters is the first one.
        let _ = std::fs::remove_file(&part);
        failed(path, source)
    })
}

/// The error for a file that could not be written.
pub(super) fn failed(path: &Path, source: io::Error) -> Error {
    Error::Write { path: path.to_path_buf(), source }
}

/// Creates a folder and its parents.
pub(super) fn create_folder(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).map_err(|e| failed(path, e))
}
