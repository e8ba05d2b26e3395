//! Point clouds as text: `x y z` or `x y z nx ny nz` per line, separated by blanks, commas or semicolons.

use super::Raw;
use super::text::number;
use crate::Diagnostic;
use glam::DVec3;

pub(super) fn parse(bytes: &[u8]) -> Result<Raw, Diagnostic> {
    let mut positions = Vec::new();
    let mut normals = Vec::new();
    let mut columns = None;
    for (i, line) in bytes.split(|&b| b == b'\n').enumerate() {
        let line = line.split(|&b| b == b'#').next().unwrap_or_default();
        let separator = |b: &u8| b.is_ascii_whitespace() || matches!(b, b',' | b';');
        let words: Vec<&[u8]> = line.split(separator).filter(|w| !w.is_empty()).collect();
        // A title line or a count before the first point is passed over.
        let title = positions.is_empty() && (words.len() < 3 || number(words[0], i + 1).is_err());
        if words.is_empty() || title {
            continue;
        }
        if words.len() < 3 || columns.is_some_and(|n| n != words.len()) {
            return Err(Diagnostic::new(format!("a point with {} numbers", words.len()))
                .line(i + 1)
                .expected(columns.map_or("3 or 6 numbers".into(), |n| format!("{n} numbers as in the lines before"))));
        }
        columns = Some(words.len());
        let value = |k: usize| number(words[k], i + 1);
        positions.push(DVec3::new(value(0)?, value(1)?, value(2)?));
        if words.len() >= 6 {
            normals.push(DVec3::new(value(3)?, value(4)?, value(5)?));
        }
    }
    Ok(Raw { normals: (!normals.is_empty()).then_some(normals), positions, ..Raw::default() })
}
