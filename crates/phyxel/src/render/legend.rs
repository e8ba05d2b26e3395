//! Legend of a field coloring, and captions.

use super::color::map_of;
use super::field;
use super::image::Image;
use super::text;

const INK: [u8; 3] = [45, 47, 52];
const PAPER: [u8; 3] = [250, 250, 250];

/// Draws the color bar with name, unit and the ends of the range at the right of a picture.
pub(super) fn draw(image: &mut Image, name: &str, range: Option<(f32, f32)>) {
    let size = (image.height as f32 / 40.0).clamp(9.0, 40.0);
    let (bar_height, bar_width) = ((0.34 * image.height as f32) as i64, (0.9 * size) as i64);
    let Some((lo, hi)) = range else {
        let message = format!("{name}: no values");
        caption(image, &message);
        return;
    };
    let labels = [hi, 0.5 * (lo + hi), lo].map(|v| quantity(field::shown(name, v), field::unit(name)));
    let label_width = labels.iter().map(|l| text::width(size, l)).fold(text::width(size, name), f32::max);
    let width = bar_width + (label_width + 2.2 * size) as i64;
    let height = bar_height + (4.0 * size) as i64;
    let left = image.width as i64 - width - (0.8 * size) as i64;
    let top = (image.height as i64 - height) / 2;
    image.blend_rectangle((left, top), (width, height), PAPER, 0.55);

    let (bar_left, bar_top) = (left + (0.7 * size) as i64, top + (2.6 * size) as i64);
    text::draw(image, (bar_left as f32, top as f32 + 1.6 * size), size, name, INK);
    let map = map_of(name);
    for y in 0..bar_height {
        let color = map(1.0 - (y as f32 + 0.5) / bar_height as f32);
        image.blend_rectangle((bar_left, bar_top + y), (bar_width, 1), color, 1.0);
    }
    for (k, label) in labels.iter().enumerate() {
        let y = bar_top as f32 + bar_height as f32 * k as f32 / 2.0;
        let tick = (bar_left + bar_width, (y - 0.5) as i64);
        image.blend_rectangle(tick, ((0.4 * size) as i64, 1), INK, 0.8);
        text::draw(image, ((bar_left + bar_width) as f32 + 0.7 * size, y + 0.37 * size), size, label, INK);
    }
}

/// Writes a line in the lower left corner.
pub(super) fn caption(image: &mut Image, line: &str) {
    let size = (image.height as f32 / 36.0).clamp(9.0, 40.0);
    let place = (size, image.height as f32 - size);
    text::draw(image, place, size, line, INK);
}

/// A number with three digits and a unit, with the prefix that keeps it short.
pub fn quantity(value: f32, unit: &str) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    let magnitude = value.abs();
    const PREFIXES: [(f32, &str); 6] = [(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "u")];
    let (scale, prefix) = match unit {
        "" | "°C" => (1.0, ""),
        _ if magnitude == 0.0 => (1.0, ""),
        _ => PREFIXES.into_iter().find(|(scale, _)| magnitude >= 0.9995 * scale).unwrap_or((1e-6, "u")),
    };
    let scaled = value / scale;
    let number = if scaled != 0.0 && !(0.01..1e5).contains(&scaled.abs()) {
        format!("{scaled:.2e}")
    } else {
        let whole_digits = scaled.abs().max(1.0).log10() as usize + 1;
        format!("{scaled:.*}", 3usize.saturating_sub(whole_digits))
    };
    format!("{number} {prefix}{unit}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_short() {
        let check = |value, unit, expected: &str| assert_eq!(quantity(value, unit), expected);
        check(0.0, "Pa", "0.00 Pa");
        check(12_345.0, "Pa", "12.3 kPa");
        check(999_900.0, "Pa", "1.00 MPa");
        check(0.002, "m/s", "2.00 mm/s");
        check(-1.5, "m/s", "-1.50 m/s");
        check(0.25, "", "0.25");
        check(0.0001, "", "1.00e-4");
        check(1234.4, "°C", "1234 °C");
        check(f32::NAN, "Pa", "-");
    }
}
