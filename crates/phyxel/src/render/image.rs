//! Images: RGB8 pictures, PNG files, contact sheets.

use super::text;
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

/// A picture: rows from the top, three bytes per pixel, sRGB.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Image {
    /// Pixels per row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// `3 * width * height` bytes.
    pub rgb: Vec<u8>,
}

impl Image {
    /// A picture of one color.
    pub fn new(width: usize, height: usize, color: [u8; 3]) -> Self {
        Self { width, height, rgb: color.repeat(width * height) }
    }

    /// The color of a pixel; black outside.
    pub fn pixel(&self, x: usize, y: usize) -> [u8; 3] {
        if x >= self.width || y >= self.height {
            return [0; 3];
        }
        let i = 3 * (y * self.width + x);
        [self.rgb[i], self.rgb[i + 1], self.rgb[i + 2]]
    }

    /// Mixes a color into a pixel; nothing happens outside. `alpha` in 0 ..= 1.
    pub fn blend(&mut self, x: i64, y: i64, color: [u8; 3], alpha: f32) {
        if x < 0 || y < 0 || x >= self.width as i64 || y >= self.height as i64 {
            return;
        }
        let i = 3 * (y as usize * self.width + x as usize);
        let alpha = alpha.clamp(0.0, 1.0);
        for (k, &c) in color.iter().enumerate() {
            let old = f32::from(self.rgb[i + k]);
            self.rgb[i + k] = (old + (f32::from(c) - old) * alpha + 0.5) as u8;
        }
    }

    /// Mixes a color into a rectangle, cut at the borders.
    pub fn blend_rectangle(&mut self, corner: (i64, i64), size: (i64, i64), color: [u8; 3], alpha: f32) {
        for y in corner.1..corner.1 + size.1 {
            for x in corner.0..corner.0 + size.0 {
                self.blend(x, y, color, alpha);
            }
        }
    }

    /// A smaller copy whose pixels are averages; never larger than this picture.
    pub fn shrunk_to_width(&self, width: usize) -> Image {
        let width = width.clamp(1, self.width.max(1));
        if self.width == 0 || self.height == 0 {
            return Image::default();
        }
        let scale = self.width as f64 / width as f64;
        let height = ((self.height as f64 / scale).round() as usize).clamp(1, self.height);
        let scale_y = self.height as f64 / height as f64;
        let mut out = Image::new(width, height, [0; 3]);
        for y in 0..height {
            for x in 0..width {
                let columns = (x as f64 * scale, (x + 1) as f64 * scale);
                let rows = (y as f64 * scale_y, (y + 1) as f64 * scale_y);
                out.rgb[3 * (y * width + x)..][..3].copy_from_slice(&self.box_average(columns, rows));
            }
        }
        out
    }

    /// Average over a rectangle with fractional borders.
    fn box_average(&self, columns: (f64, f64), rows: (f64, f64)) -> [u8; 3] {
        let mut sum = [0.0; 3];
        let mut total = 0.0;
        for y in rows.0 as usize..(rows.1.ceil() as usize).min(self.height) {
            let wy = (rows.1.min(y as f64 + 1.0) - rows.0.max(y as f64)).max(0.0);
            for x in columns.0 as usize..(columns.1.ceil() as usize).min(self.width) {
                let weight = wy * (columns.1.min(x as f64 + 1.0) - columns.0.max(x as f64)).max(0.0);
                total += weight;
                for (s, c) in sum.iter_mut().zip(self.pixel(x, y)) {
                    *s += weight * f64::from(c);
                }
            }
        }
        sum.map(|s| (s / total.max(1e-9) + 0.5) as u8)
    }

    /// Writes a PNG file, under a temporary name first, so that a reader never sees half a picture.
    pub fn write_png(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let temporary = temporary_name(path);
        let fail = |source| Error::Write { path: path.to_path_buf(), source };
        self.encode_png(&temporary).and_then(|()| std::fs::rename(&temporary, path)).map_err(|source| {
            let _ = std::fs::remove_file(&temporary);
            fail(source)
        })
    }

    fn encode_png(&self, path: &Path) -> std::io::Result<()> {
        let file = std::io::BufWriter::new(std::fs::File::create(path)?);
        let mut encoder = png::Encoder::new(file, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::Balanced);
        let mut writer = encoder.write_header().map_err(std::io::Error::other)?;
        writer.write_image_data(&self.rgb).map_err(std::io::Error::other)?;
        writer.finish().map_err(std::io::Error::other)
    }
}

/// The name a file has while it is being written, in the same folder so that renaming it is atomic.
pub(super) fn temporary_name(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".tmp");
    path.with_file_name(name)
}

/// Puts pictures side by side on a light ground, row by row, each with its caption (times, usually) in the corner.
/// Pictures of other sizes than the first are cut or padded.
pub fn sheet(images: &[(Image, String)], columns: usize) -> Image {
    const GAP: usize = 6;
    let Some((first, _)) = images.first() else {
        return Image::default();
    };
    let columns = columns.clamp(1, images.len());
    let rows = images.len().div_ceil(columns);
    let (width, height) = (first.width, first.height);
    let mut out = Image::new(columns * (width + GAP) + GAP, rows * (height + GAP) + GAP, [250, 250, 250]);
    for (k, (image, caption)) in images.iter().enumerate() {
        let left = GAP + (k % columns) * (width + GAP);
        let top = GAP + (k / columns) * (height + GAP);
        for y in 0..height.min(image.height) {
            let from = 3 * y * image.width;
            let bytes = 3 * width.min(image.width);
            let to = 3 * ((top + y) * out.width + left);
            out.rgb[to..to + bytes].copy_from_slice(&image.rgb[from..from + bytes]);
        }
        let size = (height as f32 / 14.0).clamp(9.0, 28.0);
        let place = (left as f32 + 0.6 * size, (top + height) as f32 - 0.7 * size);
        text::draw(&mut out, place, size, caption, [40, 42, 46]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn png_round_trip() {
        let mut image = Image::new(7, 5, [10, 20, 30]);
        image.blend(3, 2, [255, 0, 0], 1.0);
        image.blend(-1, 99, [255, 0, 0], 1.0);
        let path = std::env::temp_dir().join(format!("phyxel_png_{}.png", std::process::id()));
        image.write_png(&path).unwrap();
        let decoder = png::Decoder::new(std::io::BufReader::new(std::fs::File::open(&path).unwrap()));
        let mut reader = decoder.read_info().unwrap();
        let mut rgb = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut rgb).unwrap();
        assert_eq!(rgb, image.rgb);
        assert!(!temporary_name(&path).exists());
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn unwritable_png_is_an_error() {
        let error = Image::new(2, 2, [0; 3]).write_png("/nonexistent_folder/a.png").unwrap_err();
        assert!(matches!(error, Error::Write { .. }), "{error}");
    }

    #[test]
    fn sheet_places_every_picture() {
        let images: Vec<_> = (0..5).map(|k| (Image::new(20, 10, [k * 40, 0, 0]), String::new())).collect();
        let sheet = sheet(&images, 2);
        assert_eq!((sheet.width, sheet.height), (2 * 26 + 6, 3 * 16 + 6));
        for k in 0..5 {
            assert_eq!(sheet.pixel(6 + (k % 2) * 26 + 3, 6 + (k / 2) * 16 + 3), [k as u8 * 40, 0, 0]);
        }
    }

    #[test]
    fn empty_sheet_is_an_empty_picture() {
        assert_eq!(sheet(&[], 3), Image::default());
    }

    #[test]
    fn shrinking_keeps_a_flat_color() {
        let small = Image::new(101, 57, [12, 200, 99]).shrunk_to_width(33);
        assert_eq!(small.width, 33);
        assert!(small.rgb.chunks(3).all(|c| c == [12, 200, 99]));
    }
}
