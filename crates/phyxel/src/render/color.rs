//! Color: sRGB, the filmic tone curve, and the color map for fields.

use glam::{Vec3, Vec4};
use std::sync::LazyLock;

/// sRGB byte to linear light.
pub(super) fn to_linear(color: [u8; 3]) -> Vec3 {
    static TABLE: LazyLock<[f32; 256]> = LazyLock::new(|| {
        std::array::from_fn(|i| {
            let c = i as f32 / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        })
    });
    Vec3::from_array(color.map(|c| TABLE[c as usize]))
}

/// Steps of the table from scene light to sRGB, indexed by x / (x + middle): fine in the dark, endless in the bright.
const ENCODE_STEPS: usize = 4096;
const ENCODE_MIDDLE: f32 = 0.3;

static ENCODE: LazyLock<Vec<f32>> = LazyLock::new(|| {
    (0..=ENCODE_STEPS)
        .map(|i| {
            let t = i as f32 / ENCODE_STEPS as f32;
            let c = filmic(ENCODE_MIDDLE * t / (1.0 - t).max(1e-6));
            255.0 * if c <= 0.003_130_8 { 12.92 * c } else { 1.055 * c.powf(1.0 / 2.4) - 0.055 }
        })
        .collect()
});

/// Scene light to a display byte: filmic curve, sRGB, and a fixed dither in 0 .. 1 against banding.
pub(super) fn to_display(light: Vec3, dither: f32) -> [u8; 3] {
    let table = &ENCODE[..=ENCODE_STEPS];
    // Four lanes: one division for all colors.
    let light = light.extend(0.0).clamp(Vec4::ZERO, Vec4::splat(1e6));
    let steps = (light / (light + ENCODE_MIDDLE) * ENCODE_STEPS as f32 + 0.5).as_ivec4();
    let encode = |t: i32| (table[t.clamp(0, ENCODE_STEPS as i32) as usize] + dither) as u8;
    [encode(steps.x), encode(steps.y), encode(steps.z)]
}

/// S-shaped film response as a quotient of quadratics: a short toe, a long shoulder, 1 is never passed.
fn filmic(x: f32) -> f32 {
    let x = x.max(0.0);
    ((x * (2.51 * x + 0.03)) / (x * (2.43 * x + 0.59) + 0.14)).min(1.0)
}

/// The light that the film shows as this color: what a background must shine with to come out as asked.
pub(super) fn from_display(color: [u8; 3]) -> Vec3 {
    let inverse = |y: f32| {
        let y = y.min(0.98);
        let (a, b, c) = (2.51 - 2.43 * y, 0.03 - 0.59 * y, -0.14 * y);
        (-b + (b * b - 4.0 * a * c).sqrt()) / (2.0 * a)
    };
    let linear = to_linear(color);
    Vec3::new(inverse(linear.x), inverse(linear.y), inverse(linear.z))
}

/// Color map for fields, sRGB: dark blue over green to yellow, lightness growing evenly, so that it reads in gray too.
pub fn color_map(t: f32) -> [u8; 3] {
    // Anchors equally spaced in t; lightness (CIE L*) 17, 27, 38, 49, 60, 70, 80, 91.
    const ANCHORS: [[f32; 3]; 8] = [
        [62.0, 18.0, 84.0],
        [66.0, 54.0, 126.0],
        [49.0, 92.0, 141.0],
        [33.0, 125.0, 142.0],
        [36.0, 157.0, 133.0],
        [86.0, 186.0, 102.0],
        [166.0, 208.0, 58.0],
        [250.0, 230.0, 50.0],
    ];
    between(&ANCHORS, t)
}

/// Color map for temperatures, sRGB: from a dark, cold blue over red and orange to white heat, lightness growing.
pub fn heat_map(t: f32) -> [u8; 3] {
    const ANCHORS: [[f32; 3]; 8] = [
        [28.0, 28.0, 72.0],
        [72.0, 28.0, 110.0],
        [128.0, 36.0, 108.0],
        [182.0, 50.0, 82.0],
        [224.0, 82.0, 48.0],
        [246.0, 132.0, 32.0],
        [252.0, 188.0, 60.0],
        [253.0, 242.0, 190.0],
    ];
    between(&ANCHORS, t)
}

/// The color map that suits a field.
pub(super) fn map_of(field: &str) -> fn(f32) -> [u8; 3] {
    if field == "temperature" { heat_map } else { color_map }
}

/// Straight between anchors that are equally spaced in 0 .. 1; what is not finite is the first one.
fn between(anchors: &[[f32; 3]; 8], t: f32) -> [u8; 3] {
    let t = if t.is_finite() { t.clamp(0.0, 1.0) } else { 0.0 } * (anchors.len() - 1) as f32;
    let i = (t as usize).min(anchors.len() - 2);
    std::array::from_fn(|k| (anchors[i][k] + (anchors[i + 1][k] - anchors[i][k]) * (t - i as f32) + 0.5) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_inverts() {
        for c in [0u8, 3, 40, 128, 200, 240] {
            let shown = to_display(from_display([c; 3]), 0.5)[0];
            assert!((i32::from(shown) - i32::from(c)).abs() <= 1, "{c} became {shown}");
        }
        assert_eq!(to_display(Vec3::splat(1e30), 0.99), [255; 3]);
        assert_eq!(to_display(Vec3::splat(-1.0), 0.5), [0; 3]);
    }

    #[test]
    fn color_maps_grow_in_lightness() {
        for map in [color_map, heat_map] {
            let luminance = |t: f32| to_linear(map(t)).dot(Vec3::new(0.2126, 0.7152, 0.0722));
            assert!((0..100).all(|i| luminance(i as f32 / 100.0) <= luminance((i + 1) as f32 / 100.0) + 2e-3));
            assert_eq!(map(f32::NAN), map(0.0));
        }
    }
}
