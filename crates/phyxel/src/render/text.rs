//! Text in pictures: a small stroke font of our own for ASCII, drawn with soft edges at any size.
//!
//! A glyph is a list of polylines on a grid: x 0 to 4, y 0 to 8 with the baseline at 2 and capitals reaching 8. Each
//! point is two digits; polylines are separated by spaces; `~` in front means that the corners are rounded.

use super::image::Image;
use glam::Vec2;

/// Draws one line of text whose baseline starts at `place` [pixels]; `size` is the height of capitals plus a third.
pub fn draw(image: &mut Image, place: (f32, f32), size: f32, text: &str, color: [u8; 3]) {
    let unit = size / 8.0;
    let mut pen = Vec2::new(place.0, place.1);
    for letter in text.chars() {
        let glyph = glyph(letter);
        for line in glyph.split(' ').filter(|line| !line.is_empty()) {
            draw_polyline(image, &points(line), pen, unit, color);
        }
        pen.x += advance(letter) * unit;
    }
}

/// Width of a line of text of that size [pixels].
pub fn width(size: f32, text: &str) -> f32 {
    text.chars().map(advance).sum::<f32>() * size / 8.0
}

fn advance(letter: char) -> f32 {
    match letter {
        'i' | 'l' | '.' | ',' | ':' | ';' | '\'' | '!' | '|' | '°' => 3.2,
        ' ' => 4.0,
        _ => 5.7,
    }
}

/// Digit pairs to points; narrow letters are drawn around x = 1, so nothing else is needed for proportional text.
fn points(line: &str) -> Vec<Vec2> {
    let smooth = line.starts_with('~');
    let digits: Vec<f32> = line.bytes().filter(u8::is_ascii_digit).map(|b| f32::from(b - b'0')).collect();
    let mut points: Vec<Vec2> = digits.chunks_exact(2).map(|p| Vec2::new(p[0], p[1] - 2.0)).collect();
    if smooth {
        // Corner cutting (Chaikin) twice makes the polygon round; closed ones stay closed.
        for _ in 0..2 {
            points = cut_corners(&points);
        }
    }
    points
}

fn cut_corners(points: &[Vec2]) -> Vec<Vec2> {
    let closed = points.len() > 2 && points.first() == points.last();
    let mut out = Vec::with_capacity(2 * points.len());
    if !closed {
        out.extend(points.first());
    }
    for pair in points.windows(2) {
        out.push(pair[0].lerp(pair[1], 0.25));
        out.push(pair[0].lerp(pair[1], 0.75));
    }
    out.extend(if closed { out.first().copied() } else { points.last().copied() });
    out
}

fn draw_polyline(image: &mut Image, points: &[Vec2], pen: Vec2, unit: f32, color: [u8; 3]) {
    let half_width = (0.42 * unit).max(0.45);
    let on_screen: Vec<Vec2> = points.iter().map(|p| pen + Vec2::new(p.x, -p.y) * unit).collect();
    let reach = Vec2::splat(half_width + 1.0);
    let lo = on_screen.iter().fold(Vec2::INFINITY, |a, &b| a.min(b)) - reach;
    let hi = on_screen.iter().fold(Vec2::NEG_INFINITY, |a, &b| a.max(b)) + reach;
    if !(lo.is_finite() && hi.is_finite()) {
        return;
    }
    for y in lo.y as i64..=hi.y as i64 {
        for x in lo.x as i64..=hi.x as i64 {
            let p = Vec2::new(x as f32 + 0.5, y as f32 + 0.5);
            let distance = match on_screen.len() {
                1 => on_screen[0].distance(p),
                _ => on_screen.windows(2).map(|s| distance_to_segment(p, s[0], s[1])).fold(f32::MAX, f32::min),
            };
            let alpha = half_width + 0.5 - distance;
            if alpha > 0.0 {
                image.blend(x, y, color, alpha);
            }
        }
    }
}

fn distance_to_segment(p: Vec2, a: Vec2, b: Vec2) -> f32 {
    let ab = b - a;
    let t = ((p - a).dot(ab) / ab.length_squared().max(1e-12)).clamp(0.0, 1.0);
    p.distance(a + ab * t)
}

/// Strokes of a letter; what is not ASCII is a box.
fn glyph(letter: char) -> &'static str {
    match letter {
        ' ' => "",
        '!' => "1814 12",
        '"' => "1816 2826",
        '#' => "1218 3238 0444 0646",
        '$' => "~47380807053543433202 2921",
        '%' => "0248 ~080717180828 ~324243333232",
        '&' => "~42042728180506254243 ",
        '\'' => "1816",
        '(' => "~39161431",
        ')' => "~19363411",
        '*' => "2824 0745 4705",
        '+' => "2327 0545",
        ',' => "~13111000",
        '-' => "0545",
        '.' => "12",
        '/' => "0248",
        '0' => "~2808070302224243474828",
        '1' => "072822 1232",
        '2' => "~070828484605 05020242",
        '3' => "~07083848463515 ~153545444232020203",
        '4' => "38044434 3235",
        '5' => "48080515 ~1536464442321203",
        '6' => "~4738180602224244263603",
        '7' => "084812",
        '8' => "~2808050525454828 ~2505022242452525",
        '9' => "~0312324248280806152545",
        ':' => "12 16",
        ';' => "~13111000 16",
        '<' => "470543",
        '=' => "0444 0646",
        '>' => "074503",
        '?' => "~0708384836252424 22",
        '@' => "~34142646244444481808020242",
        'A' => "022842 0434",
        'B' => "020828 ~283848453525 0525 ~2535454232220202 0202",
        'C' => "~47482808070302224243",
        'D' => "0208 ~08284846424222020202",
        'E' => "48080242 0535",
        'F' => "480802 0535",
        'G' => "~47482808030222424524 ",
        'H' => "0208 4248 0545",
        'I' => "1838 1232 2822",
        'J' => "~4843422202030304",
        'K' => "0208 4805 1642",
        'L' => "080242",
        'M' => "0208244842",
        'N' => "02084248",
        'O' => "~280808070302022242424347484828",
        'P' => "0208 ~0838484835150505",
        'Q' => "~280807030222424347484828 2442",
        'R' => "0208 ~0838484835150505 2542",
        'S' => "~47482808060515354543422202030303",
        'T' => "0848 2822",
        'U' => "~0803022242434848",
        'V' => "082248",
        'W' => "0812253248",
        'X' => "0248 0842",
        'Y' => "082548 2522",
        'Z' => "08480242",
        '[' => "29191131",
        '\\' => "0842",
        ']' => "19292111",
        '^' => "062846",
        '_' => "0141",
        '`' => "1827",
        '°' => "~0626280806",
        'a' => "~0636464342 ~45150503122343",
        'b' => "0802 ~0516364643322203",
        'c' => "~453616050312324344",
        'd' => "4842 ~4536160503123243",
        'e' => "~04444516161605040302323243",
        'f' => "~4838281715 1512 0636",
        'g' => "~4536160503123243 ~464140201001",
        'h' => "0802 ~0516364642",
        'i' => "1612 18",
        'j' => "~26212000 28",
        'k' => "0802 3603 1432",
        'l' => "1812",
        'm' => "0206 ~041626242422 ~243646444442",
        'n' => "0206 ~0516364642",
        'o' => "~26060302224243464626",
        'p' => "0600 ~0516364643321203",
        'q' => "4640 ~4536160503123243",
        'r' => "0206 ~04163645",
        's' => "~45361605143443321203",
        't' => "~182812233242 0636",
        'u' => "~060302123244 4642",
        'v' => "062246",
        'w' => "0612243246",
        'x' => "0246 0642",
        'y' => "0622 ~46222010000",
        'z' => "06460242",
        '{' => "~391815050403121120",
        '|' => "1911",
        '}' => "~192835454433322110",
        '~' => "~0416243546",
        _ => "0208484202",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ascii_letter_draws_something_inside_its_box() {
        for letter in '!'..='~' {
            let mut image = Image::new(40, 60, [255; 3]);
            draw(&mut image, (6.0, 40.0), 32.0, &letter.to_string(), [0; 3]);
            let dark: u32 = image.rgb.iter().map(|&b| u32::from(b < 128)).sum();
            assert!(dark > 10, "{letter} is invisible");
            assert!((0..60).all(|y| image.pixel(39, y) == [255; 3]), "{letter} is too wide");
        }
    }

    #[test]
    fn text_outside_the_picture_is_cut() {
        let mut image = Image::new(8, 8, [9; 3]);
        draw(&mut image, (-50.0, 500.0), 20.0, "outside \u{fc}", [0; 3]);
        draw(&mut image, (f32::NAN, 0.0), 20.0, "nan", [0; 3]);
        assert_eq!(image, Image::new(8, 8, [9; 3]));
    }
}
