//! What can go wrong, said once and in full: what, where, what was expected, what to try.

use std::fmt;
use std::path::{Path, PathBuf};

/// Result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// One fault of the user's input, complete enough to be mended without looking anything up.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Diagnostic {
    /// What is wrong, one sentence without a full stop.
    pub what: String,
    /// The file it was found in.
    pub file: Option<PathBuf>,
    /// Line in that file, counted from 1.
    pub line: Option<usize>,
    /// Key path such as `body[0].material.young`.
    pub key: Option<String>,
    /// What would have been right.
    pub expected: Option<String>,
    /// What to try.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// A fault with only its `what`.
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), ..Self::default() }
    }
    /// Adds the key path.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }
    /// Adds the file.
    pub fn file(mut self, file: impl AsRef<Path>) -> Self {
        self.file = Some(file.as_ref().to_path_buf());
        self
    }
    /// Adds the line.
    pub fn line(mut self, line: usize) -> Self {
        self.line = Some(line);
        self
    }
    /// Adds what was expected.
    pub fn expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = Some(expected.into());
        self
    }
    /// Adds what to try.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.what)?;
        let place = match (&self.file, self.line) {
            (Some(file), Some(line)) => Some(format!("{}:{line}", file.display())),
            (Some(file), None) => Some(file.display().to_string()),
            (None, Some(line)) => Some(format!("line {line}")),
            (None, None) => None,
        };
        match (place, &self.key) {
            (Some(place), Some(key)) => write!(f, "\n  where: {place}, {key}")?,
            (Some(place), None) => write!(f, "\n  where: {place}")?,
            (None, Some(key)) => write!(f, "\n  where: {key}")?,
            (None, None) => {}
        }
        if let Some(expected) = &self.expected {
            write!(f, "\n  expected: {expected}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  try: {hint}")?;
        }
        Ok(())
    }
}

/// Everything that can go wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The command line, the scene or an input file is wrong (exit code 2).
    #[error("{0}")]
    Input(Box<Diagnostic>),
    /// A file could not be written (exit code 1), or the output folder is not usable (exit code 2 when found at the start).
    #[error("cannot write {path}: {source}")]
    Write {
        /// The path that could not be written.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The run blew up and could not be rescued (exit code 1).
    #[error("{0}")]
    Diverged(Box<Diagnostic>),
}

impl Error {
    /// The same fault of the input, said to lie under the scene key `key`.
    pub fn under_key(self, key: &str) -> Self {
        match self {
            Self::Input(mut diagnostic) => {
                let inner = diagnostic.key.take().map_or(String::new(), |k| format!(".{k}"));
                diagnostic.key = Some(format!("{key}{inner}"));
                Self::Input(diagnostic)
            }
            other => other,
        }
    }
}

impl From<Diagnostic> for Error {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Input(Box::new(diagnostic))
    }
}
