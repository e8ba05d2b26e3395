//! Numbers and words of text files, with their line.

use crate::Diagnostic;

/// Words of a text one after the other, across lines.
pub(super) struct Words<'a> {
    rest: &'a [u8],
    /// Line of the last word, from 1.
    pub line: usize,
}

impl<'a> Words<'a> {
    pub fn new(text: &'a [u8], first_line: usize) -> Self {
        Self { rest: text, line: first_line }
    }

    pub fn word(&mut self) -> Option<&'a [u8]> {
        let blank = self.rest.iter().take_while(|b| b.is_ascii_whitespace()).count();
        self.line += self.rest[..blank].iter().filter(|&&b| b == b'\n').count();
        self.rest = &self.rest[blank..];
        let length = self.rest.iter().position(u8::is_ascii_whitespace).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }

    pub fn number(&mut self) -> Result<f64, Diagnostic> {
        let word = self.word().ok_or_else(|| Diagnostic::new("the file ends in the middle").line(self.line))?;
        number(word, self.line)
    }

    /// Bytes not read yet.
    pub fn left(&self) -> usize {
        self.rest.len()
    }
}

/// A number, `nan` and `inf` included: those are reported later with their vertex.
pub(super) fn number(word: &[u8], line: usize) -> Result<f64, Diagnostic> {
    let text = std::str::from_utf8(word).unwrap_or("?");
    text.parse().map_err(|_| {
        let shown: String = String::from_utf8_lossy(word).chars().take(40).collect();
        Diagnostic::new(format!("{shown:?} is not a number")).line(line)
    })
}

/// A color channel from 0..1 to a byte.
pub(super) fn byte(channel: f64) -> u8 {
    (channel.clamp(0.0, 1.0) * 255.0).round() as u8
}
