//! The ways to a `Scene`: a text, a file, or the name of a built-in one.

use super::suggest::closest;
use super::{Scene, builtin, overrides, read, tree};
use crate::error::{Diagnostic, Result};
use std::io::Read;
use std::path::Path;

/// Scenes are written by hand or by small programs; more than this is some other file.
const MAX_BYTES: u64 = 16 << 20;

impl Scene {
    /// Reads a scene. `file` is for messages and the default name; `overrides` are pairs of key path and value as given
    /// to `--set`, the value in TOML or, where it is none, a plain string.
    pub fn from_toml(text: &str, file: Option<&Path>, overrides: &[(String, String)]) -> Result<Self> {
        let mut root = tree::parse(text, file)?;
        for (path, value) in overrides {
            overrides::apply(&mut root, path, value)?;
        }
        read::read_scene(&root, file)
    }

    /// Reads a scene file.
    pub fn from_file(path: &Path, overrides: &[(String, String)]) -> Result<Self> {
        Self::from_toml(&read_text(path)?, Some(path), overrides)
    }

    /// Reads a scene file or, where there is no such file, the built-in scene of that name.
    pub fn open(file_or_name: &str, overrides: &[(String, String)]) -> Result<Self> {
        let path = Path::new(file_or_name);
        match builtin::find(file_or_name) {
            // A folder that happens to have the name of a scene does not hide it.
            Some(builtin) if !path.is_file() => {
                let file = format!("built-in scene {}", builtin.name);
                Self::from_toml(builtin.toml, Some(Path::new(&file)), overrides)
            }
            _ if path.exists() => Self::from_file(path, overrides),
            _ => {
                let mut fault =
                    Diagnostic::new(format!("there is neither a file nor a built-in scene \"{file_or_name}\""))
                        .expected("a scene file, or a name that `phyxel scenes` lists");
                let names = builtin::list().iter().map(|b| b.name);
                fault.hint = closest(file_or_name, names).map(|n| format!("phyxel run {n}"));
                Err(fault.into())
            }
        }
    }
}

fn read_text(path: &Path) -> Result<String> {
    let fault = |what: String| Diagnostic::new(what).file(path).expected("a scene file in TOML");
    let cannot = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::NotFound => fault("there is no such file".into()),
        _ => fault(format!("the file cannot be read: {e}")),
    };
    if path.is_dir() {
        return Err(fault("this is a folder".into()).hint("the scene.toml in it, if it is a run folder").into());
    }
    // The size of a device or a pipe is not known beforehand: read up to the bound, and one byte more.
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(cannot)?;
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(fault(format!("the file is larger than {} MB", MAX_BYTES >> 20)).into());
    }
    String::from_utf8(bytes).map_err(|e| {
        let line = 1 + e.as_bytes()[..e.utf8_error().valid_up_to()].iter().filter(|b| **b == b'\n').count();
        fault("the file is not text in UTF-8".into()).line(line).into()
    })
}
