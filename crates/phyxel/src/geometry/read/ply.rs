//! PLY: text and binary of both byte orders, polygons, triangle strips, colors, normals, any further properties.

use super::Raw;
use super::polygon::triangulate;
use super::text::{Words, byte};
use crate::Diagnostic;
use glam::{DVec2, DVec3};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Text,
    Little,
    Big,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scalar {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    F32,
    F64,
}

#[derive(Debug)]
struct Property {
    name: String,
    scalar: Scalar,
    /// Type of the count, for lists.
    count: Option<Scalar>,
}

#[derive(Debug)]
struct Element {
    name: String,
    count: u64,
    properties: Vec<Property>,
}

struct Header {
    encoding: Encoding,
    elements: Vec<Element>,
    /// Bytes and lines of the header.
    bytes: usize,
    lines: usize,
}

pub(super) fn parse(bytes: &[u8]) -> Result<Raw, Diagnostic> {
    let header = header(bytes)?;
    let body = &bytes[header.bytes..];
    let mut source = match header.encoding {
        Encoding::Text => Source::Text(Words::new(body, header.lines + 1)),
        Encoding::Little => Source::Binary { body, at: 0, start: header.bytes, big: false },
        Encoding::Big => Source::Binary { body, at: 0, start: header.bytes, big: true },
    };
    let mut raw = Raw::default();
    for element in &header.elements {
        check_size(element, &source)?;
        match element.name.as_str() {
            "vertex" => vertices(element, &mut source, &mut raw)?,
            "face" | "tristrips" => faces(element, &mut source, &mut raw)?,
            _ => skip(element, &mut source)?,
        }
    }
    Ok(raw)
}

fn header(bytes: &[u8]) -> Result<Header, Diagnostic> {
    let mut header = Header { encoding: Encoding::Text, elements: Vec::new(), bytes: 0, lines: 0 };
    let mut format_seen = false;
    loop {
        let rest = &bytes[header.bytes..];
        let Some(end) = rest.iter().position(|&b| b == b'\n') else {
            return Err(Diagnostic::new("the header does not end")
                .line(header.lines + 1)
                .expected("a line `end_header`"));
        };
        header.bytes += end + 1;
        header.lines += 1;
        let line = header.lines;
        let text = String::from_utf8_lossy(&rest[..end]);
        let fault = |what: &str| {
            Diagnostic::new(format!("{what}: {:?}", text.trim().chars().take(80).collect::<String>())).line(line)
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        match words.as_slice() {
            ["end_header", ..] => break,
            ["format", encoding, ..] => {
                format_seen = true;
                header.encoding = match *encoding {
                    "ascii" => Encoding::Text,
                    "binary_little_endian" => Encoding::Little,
                    "binary_big_endian" => Encoding::Big,
                    _ => {
                        return Err(
                            fault("unknown format").expected("ascii, binary_little_endian or binary_big_endian")
                        );
                    }
                };
            }
            ["element", name, count] => {
                let count = count.parse().map_err(|_| fault("the count is not a whole number"))?;
                header.elements.push(Element { name: (*name).to_owned(), count, properties: Vec::new() });
            }
            ["property", rest @ ..] => {
                let property = property(rest).ok_or_else(|| fault("unknown property"))?;
                let element = header.elements.last_mut().ok_or_else(|| fault("a property before any element"))?;
                element.properties.push(property);
            }
            ["ply" | "comment" | "obj_info", ..] | [] => {}
            _ => return Err(fault("unknown header line")),
        }
    }
    if format_seen { Ok(header) } else { Err(Diagnostic::new("the header has no `format` line").line(header.lines)) }
}

fn property(words: &[&str]) -> Option<Property> {
    match words {
        ["list", count, scalar, name] => Some(Property {
            name: (*name).to_owned(),
            scalar: Scalar::named(scalar)?,
            count: Some(Scalar::named(count)?),
        }),
        [scalar, name] => Some(Property { name: (*name).to_owned(), scalar: Scalar::named(scalar)?, count: None }),
        _ => None,
    }
}

impl Scalar {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "char" | "int8" => Self::I8,
            "uchar" | "uint8" => Self::U8,
            "short" | "int16" => Self::I16,
            "ushort" | "uint16" => Self::U16,
            "int" | "int32" => Self::I32,
            "uint" | "uint32" => Self::U32,
            "float" | "float32" => Self::F32,
            "double" | "float64" => Self::F64,
            _ => return None,
        })
    }

    fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    fn value(self, b: &[u8], big: bool) -> f64 {
        let mut w = [0_u8; 8];
        // To little-endian order, whatever the file has.
        for (i, slot) in w[..self.size()].iter_mut().enumerate() {
            *slot = b[if big { self.size() - 1 - i } else { i }];
        }
        match self {
            Self::I8 => f64::from(w[0] as i8),
            Self::U8 => f64::from(w[0]),
            Self::I16 => f64::from(i16::from_le_bytes([w[0], w[1]])),
            Self::U16 => f64::from(u16::from_le_bytes([w[0], w[1]])),
            Self::I32 => f64::from(i32::from_le_bytes([w[0], w[1], w[2], w[3]])),
            Self::U32 => f64::from(u32::from_le_bytes([w[0], w[1], w[2], w[3]])),
            Self::F32 => f64::from(f32::from_le_bytes([w[0], w[1], w[2], w[3]])),
            Self::F64 => f64::from_le_bytes(w),
        }
    }

    /// What a full color channel is.
    fn full(self) -> f64 {
        match self {
            Self::F32 | Self::F64 => 1.0,
            Self::U16 | Self::I16 => 65535.0,
            _ => 255.0,
        }
    }
}

enum Source<'a> {
    Text(Words<'a>),
    Binary { body: &'a [u8], at: usize, start: usize, big: bool },
}

impl Source<'_> {
    fn left(&self) -> usize {
        match self {
            Self::Text(words) => words.left(),
            Self::Binary { body, at, .. } => body.len() - at,
        }
    }

    fn value(&mut self, scalar: Scalar) -> Result<f64, Diagnostic> {
        match self {
            Self::Text(words) => words.number(),
            Self::Binary { body, at, start, big } => {
                let Some(bytes) = body.get(*at..*at + scalar.size()) else {
                    return Err(Diagnostic::new(format!(
                        "the file ends in the middle, at byte {}",
                        *start + body.len()
                    )));
                };
                *at += scalar.size();
                Ok(scalar.value(bytes, *big))
            }
        }
    }

    /// The count of a list, checked against what is left of the file.
    fn count(&mut self, count: Scalar, item: Scalar) -> Result<usize, Diagnostic> {
        let n = self.value(count)?;
        let smallest = if let Self::Text(_) = self { 1 } else { item.size() };
        if n >= 0.0 && n * smallest as f64 <= self.left() as f64 {
            return Ok(n as usize);
        }
        let fault = Diagnostic::new(format!("a list of {n} items, but only {} bytes are left", self.left()));
        Err(match self {
            Self::Text(words) => fault.line(words.line),
            Self::Binary { at, start, .. } => {
                Diagnostic { what: format!("{} at byte {}", fault.what, *start + *at), ..fault }
            }
        })
    }
}

/// A header may promise anything: compare with the bytes that are there.
fn check_size(element: &Element, source: &Source) -> Result<(), Diagnostic> {
    let smallest: usize = match source {
        Source::Text(_) => 2 * element.properties.len(),
        Source::Binary { .. } => element.properties.iter().map(|p| p.count.unwrap_or(p.scalar).size()).sum(),
    };
    // The last number of a text needs no blank behind it.
    let needed = u128::from(element.count) * smallest as u128;
    if needed > source.left() as u128 + 1 {
        return Err(Diagnostic::new(format!(
            "the header promises {} of `{}`, at least {needed} bytes, but only {} are left in the file",
            element.count,
            element.name,
            source.left()
        ))
        .hint("the file is cut off or its header is wrong"));
    }
    Ok(())
}

fn vertices(element: &Element, source: &mut Source, raw: &mut Raw) -> Result<(), Diagnostic> {
    let find =
        |names: &[&str]| element.properties.iter().position(|p| p.count.is_none() && names.contains(&p.name.as_str()));
    let triple = |a: &[&str], b: &[&str], c: &[&str]| Some([find(a)?, find(b)?, find(c)?]);
    let Some(place) = triple(&["x"], &["y"], &["z"]) else {
        return Err(Diagnostic::new("the vertices have no x, y and z"));
    };
    let normal = triple(&["nx", "normal_x"], &["ny", "normal_y"], &["nz", "normal_z"]);
    let color = triple(&["red", "r", "diffuse_red"], &["green", "g", "diffuse_green"], &["blue", "b", "diffuse_blue"]);
    let uv = find(&["u", "s", "texture_u"]).zip(find(&["v", "t", "texture_v"]));
    let (mut normals, mut colors, mut uvs) = (Vec::new(), Vec::new(), Vec::new());
    let mut row = vec![0.0; element.properties.len()];
    raw.positions.reserve(element.count as usize);
    for _ in 0..element.count {
        read_row(element, source, &mut row, None)?;
        let vector = |k: [usize; 3]| DVec3::new(row[k[0]], row[k[1]], row[k[2]]);
        raw.positions.push(vector(place));
        normals.extend(normal.map(vector));
        colors.extend(color.map(|k| k.map(|k| byte(row[k] / element.properties[k].scalar.full()))));
        uvs.extend(uv.map(|(u, v)| DVec2::new(row[u], row[v])));
    }
    raw.normals = normal.map(|_| normals);
    raw.colors = color.map(|_| colors);
    raw.uvs = uv.map(|_| uvs);
    Ok(())
}

fn faces(element: &Element, source: &mut Source, raw: &mut Raw) -> Result<(), Diagnostic> {
    let named = |p: &Property| p.count.is_some() && matches!(p.name.as_str(), "vertex_indices" | "vertex_index");
    let Some(list) = element.properties.iter().position(named) else {
        raw.warnings.push(format!("the element `{}` has no vertex_indices and is passed over", element.name));
        return skip(element, source);
    };
    let mut row = vec![0.0; element.properties.len()];
    let mut indices = Vec::new();
    let mut places = Vec::new();
    for i in 0..element.count {
        read_row(element, source, &mut row, Some((list, &mut indices)))?;
        if element.name == "tristrips" {
            strips(&indices, raw)?;
            continue;
        }
        places.clear();
        for &v in &indices {
            let index = vertex(v, raw).map_err(|d| Diagnostic { what: format!("face {}: {}", i + 1, d.what), ..d })?;
            places.push(raw.positions[index as usize]);
        }
        triangulate(&places, |t| raw.triangles.push(t.map(|k| indices[k] as u32)));
    }
    Ok(())
}

/// Triangle strips, separated by -1; every other triangle of a strip is turned round.
fn strips(indices: &[f64], raw: &mut Raw) -> Result<(), Diagnostic> {
    for strip in indices.split(|&v| v == -1.0) {
        for (i, window) in strip.windows(3).enumerate() {
            let [a, b, c] = [vertex(window[0], raw)?, vertex(window[1], raw)?, vertex(window[2], raw)?];
            raw.triangles.push(if i % 2 == 0 { [a, b, c] } else { [b, a, c] });
        }
    }
    Ok(())
}

fn vertex(value: f64, raw: &Raw) -> Result<u32, Diagnostic> {
    if value >= 0.0 && value < raw.positions.len() as f64 && value.fract() == 0.0 {
        Ok(value as u32)
    } else {
        Err(Diagnostic::new(format!("there is no vertex {value}, only {} (counted from 0)", raw.positions.len())))
    }
}

fn skip(element: &Element, source: &mut Source) -> Result<(), Diagnostic> {
    if element.properties.is_empty() {
        return Ok(());
    }
    let mut row = vec![0.0; element.properties.len()];
    (0..element.count).try_for_each(|_| read_row(element, source, &mut row, None))
}

/// Reads one row: scalars into `row`, the list with the given number into its vector; other lists are passed over.
fn read_row(
    element: &Element,
    source: &mut Source,
    row: &mut [f64],
    mut wanted: Option<(usize, &mut Vec<f64>)>,
) -> Result<(), Diagnostic> {
    for (i, property) in element.properties.iter().enumerate() {
        let Some(count) = property.count else {
            row[i] = source.value(property.scalar)?;
            continue;
        };
        let n = source.count(count, property.scalar)?;
        match &mut wanted {
            Some((list, items)) if *list == i => {
                items.clear();
                for _ in 0..n {
                    items.push(source.value(property.scalar)?);
                }
            }
            _ => (0..n).try_for_each(|_| source.value(property.scalar).map(drop))?,
        }
    }
    Ok(())
}
