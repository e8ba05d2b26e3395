//! STL, binary and text; equal corners become one vertex.

use super::Raw;
use super::text::Words;
use crate::Diagnostic;
use glam::DVec3;
use std::collections::HashMap;

const HEADER: usize = 84;
const RECORD: usize = 50;

pub(super) fn parse(bytes: &[u8]) -> Result<Raw, Diagnostic> {
    let count = bytes.get(80..HEADER).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as u64);
    let needed = count.map(|n| HEADER as u64 + RECORD as u64 * n);
    let is_text = bytes.trim_ascii_start().starts_with(b"solid") && needed != Some(bytes.len() as u64);
    if is_text {
        return text(bytes);
    }
    let (Some(count), Some(needed)) = (count, needed) else {
        return Err(Diagnostic::new(format!("the file ends after {} bytes", bytes.len()))
            .expected("an STL file: a header of 84 bytes, or text that starts with `solid`"));
    };
    if needed > bytes.len() as u64 {
        return Err(Diagnostic::new(format!(
            "the header promises {count} triangles, the file ends after {} bytes",
            bytes.len()
        ))
        .expected(format!("{needed} bytes"))
        .hint("the file is cut off or not an STL file"));
    }
    let mut soup = Soup::default();
    for record in bytes[HEADER..needed as usize].chunks_exact(RECORD) {
        let value = |i: usize| f64::from(f32::from_le_bytes([record[i], record[i + 1], record[i + 2], record[i + 3]]));
        let corner = |k: usize| DVec3::new(value(12 + 12 * k), value(16 + 12 * k), value(20 + 12 * k));
        soup.triangle([corner(0), corner(1), corner(2)]);
    }
    Ok(soup.raw)
}

fn text(bytes: &[u8]) -> Result<Raw, Diagnostic> {
    let mut words = Words::new(bytes, 1);
    let mut soup = Soup::default();
    let mut corners: Vec<DVec3> = Vec::new();
    while let Some(word) = words.word() {
        if word.eq_ignore_ascii_case(b"vertex") {
            corners.push(DVec3::new(words.number()?, words.number()?, words.number()?));
        } else if word.eq_ignore_ascii_case(b"endloop") {
            let &[a, b, c] = corners.as_slice() else {
                return Err(Diagnostic::new(format!("a facet with {} corners", corners.len()))
                    .line(words.line)
                    .expected("three `vertex` lines between `outer loop` and `endloop`"));
            };
            soup.triangle([a, b, c]);
            corners.clear();
        }
    }
    if corners.is_empty() {
        Ok(soup.raw)
    } else {
        Err(Diagnostic::new("the file ends in the middle of a facet").line(words.line))
    }
}

#[derive(Default)]
struct Soup {
    raw: Raw,
    known: HashMap<[u64; 3], u32>,
}

impl Soup {
    fn triangle(&mut self, corners: [DVec3; 3]) {
        let indices = corners.map(|x| {
            // Adding zero makes -0 and 0 the same place.
            let key = (x + DVec3::ZERO).to_array().map(f64::to_bits);
            *self.known.entry(key).or_insert_with(|| {
                self.raw.positions.push(x);
                (self.raw.positions.len() - 1) as u32
            })
        });
        self.raw.triangles.push(indices);
    }
}
