//! Plots: line charts as SVG files, written by hand: no fonts, no dependencies, readable in any browser.

use std::fmt::Write;

/// One line of a chart. A value that is not finite is a gap.
#[derive(Debug, Clone, Copy)]
pub struct Series<'a> {
    /// Name in the legend.
    pub name: &'a str,
    /// Horizontal values.
    pub xs: &'a [f64],
    /// Vertical values, as many as `xs`; what is missing is left out.
    pub ys: &'a [f64],
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 52.0;
const BOTTOM: f64 = 56.0;
/// Colors that stay apart for most color-blind eyes.
const COLORS: [&str; 8] = ["#2c6fbb", "#d1622b", "#3d9970", "#8e5bb5", "#b8860b", "#c23b6b", "#4aa3b5", "#6b6b6b"];

/// A line chart: title, axes with round ticks, a legend if there is more than one line. Labels carry the units, e.g.
/// `time [s]`. Without any finite value the axes are drawn and the chart says so.
pub fn line_plot(title: &str, x_label: &str, y_label: &str, series: &[Series]) -> String {
    let points = || series.iter().flat_map(|s| s.xs.iter().zip(s.ys)).filter(|(x, y)| usable(**x, **y));
    let x_axis = Axis::around(points().map(|p| *p.0), LEFT, WIDTH - RIGHT, 0.0);
    let y_axis = Axis::around(points().map(|p| *p.1), HEIGHT - BOTTOM, TOP, 0.05);
    let mut svg = String::new();
    let _ = writeln!(
        svg,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" font-family="system-ui, Helvetica, Arial, sans-serif" font-size="12" fill="#3a3d42">
<rect width="{WIDTH}" height="{HEIGHT}" fill="#fcfcfb"/>
<text x="{LEFT}" y="28" font-size="16" font-weight="600">{}</text>"##,
        escape(title)
    );
    draw_axes(&mut svg, &x_axis, &y_axis, x_label, y_label);
    for (k, s) in series.iter().enumerate() {
        draw_line(&mut svg, s, COLORS[k % COLORS.len()], &x_axis, &y_axis);
    }
    if points().next().is_none() {
        let (x, y) = (0.5 * (LEFT + WIDTH - RIGHT), 0.5 * (TOP + HEIGHT - BOTTOM));
        let _ = writeln!(svg, r##"<text x="{x}" y="{y}" text-anchor="middle" fill="#8a8d92">no values</text>"##);
    }
    if series.len() > 1 {
        draw_legend(&mut svg, series);
    }
    svg.push_str("</svg>\n");
    svg
}

/// Whether a point can be drawn: finite, and not so enormous that differences overflow.
fn usable(x: f64, y: f64) -> bool {
    x.abs() < 1e300 && y.abs() < 1e300
}

/// Maps values to pixels, with round ticks.
struct Axis {
    lo: f64,
    hi: f64,
    step: f64,
    start: f64,
    end: f64,
}

impl Axis {
    /// Around some values with a margin given as a fraction of their range; a constant gets room on both sides.
    fn around(values: impl Iterator<Item = f64>, start: f64, end: f64, margin: f64) -> Self {
        let (mut lo, mut hi) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
        if lo > hi {
            (lo, hi) = (0.0, 1.0);
        }
        // Differences that are only rounding are drawn as a constant.
        if hi - lo <= 1e-9 * lo.abs().max(hi.abs()) {
            let room = if lo == 0.0 { 1.0 } else { 0.1 * lo.abs() };
            (lo, hi) = (lo - room, hi + room);
        }
        let room = margin * (hi - lo);
        (lo, hi) = (lo - room, hi + room);
        Self { lo, hi, step: round_step((hi - lo) / 6.0), start, end }
    }

    fn pixel(&self, value: f64) -> f64 {
        self.start + (value - self.lo) / (self.hi - self.lo) * (self.end - self.start)
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        let (first, step) = ((self.lo / self.step).ceil(), self.step);
        let count = ((self.hi / step).floor() - first).clamp(-1.0, 20.0) as i64;
        (0..=count).map(move |k| (first + k as f64) * step)
    }

    /// A tick's text, all of an axis with the same number of digits.
    fn label(&self, value: f64) -> String {
        let largest = self.lo.abs().max(self.hi.abs());
        let value = if value.abs() < 1e-9 * self.step { 0.0 } else { value };
        if !(1e-3..1e5).contains(&largest) {
            let digits = (largest / self.step).log10().ceil().clamp(0.0, 12.0) as usize;
            return format!("{value:.digits$e}");
        }
        let digits = (-self.step.log10().floor()).clamp(0.0, 12.0) as usize;
        format!("{value:.digits$}")
    }
}

/// 1, 2 or 5 times a power of ten, at least as large as asked.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.max(1e-300).log10().floor());
    [1.0, 2.0, 5.0].into_iter().map(|m| m * power).find(|&s| s >= least * 0.999).unwrap_or(10.0 * power)
}

fn draw_axes(svg: &mut String, x_axis: &Axis, y_axis: &Axis, x_label: &str, y_label: &str) {
    let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    for value in y_axis.ticks() {
        let (y, label) = (y_axis.pixel(value), y_axis.label(value));
        let _ = writeln!(
            svg,
            r##"<path d="M{LEFT} {y:.1}H{right}" stroke="#e4e4e2"/><text x="{:.1}" y="{:.1}" text-anchor="end">{label}</text>"##,
            LEFT - 8.0,
            y + 4.0
        );
    }
    for value in x_axis.ticks() {
        let (x, label) = (x_axis.pixel(value), x_axis.label(value));
        let _ = writeln!(
            svg,
            r##"<path d="M{x:.1} {bottom}v5" stroke="#8a8d92"/><text x="{x:.1}" y="{:.1}" text-anchor="middle">{label}</text>"##,
            bottom + 19.0
        );
    }
    let (middle_x, middle_y) = (0.5 * (LEFT + right), 0.5 * (TOP + bottom));
    let _ = writeln!(
        svg,
        r##"<path d="M{LEFT} {TOP}V{bottom}H{right}" fill="none" stroke="#8a8d92"/>
<text x="{middle_x}" y="{}" text-anchor="middle">{}</text>
<text transform="translate(18 {middle_y}) rotate(-90)" text-anchor="middle">{}</text>"##,
        HEIGHT - 16.0,
        escape(x_label),
        escape(y_label)
    );
}

/// One path per stretch without gaps; a lone point is a dot.
fn draw_line(svg: &mut String, series: &Series, color: &str, x_axis: &Axis, y_axis: &Axis) {
    let mut path = String::new();
    let mut run = 0;
    for (&x, &y) in series.xs.iter().zip(series.ys) {
        if !usable(x, y) {
            run = 0;
            continue;
        }
        let command = if run == 0 { 'M' } else { 'L' };
        // A stretch of one point is shown by the round cap of a line of no length.
        let dot = if run == 0 { "h0" } else { "" };
        let _ = write!(path, "{command}{:.1} {:.1}{dot}", x_axis.pixel(x), y_axis.pixel(y));
        run += 1;
    }
    if !path.is_empty() {
        let _ = writeln!(
            svg,
            r#"<path d="{path}" fill="none" stroke="{color}" stroke-width="1.8" stroke-linejoin="round" stroke-linecap="round"/>"#
        );
    }
}

fn draw_legend(svg: &mut String, series: &[Series]) {
    // From the right, in the line of the title.
    let mut x = WIDTH - RIGHT;
    for (k, s) in series.iter().enumerate().rev() {
        x -= 7.0 * s.name.chars().count() as f64 + 34.0;
        let color = COLORS[k % COLORS.len()];
        let _ = writeln!(
            svg,
            r#"<path d="M{x:.1} 40h18" stroke="{color}" stroke-width="3"/><text x="{:.1}" y="44">{}</text>"#,
            x + 23.0,
            escape(s.name)
        );
    }
}

/// Text as it must be written in XML; what XML forbids altogether is left out.
fn escape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c < ' ' || ('\u{fffe}'..='\u{ffff}').contains(&c) => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every tag is closed, in order, and no attribute holds a number that is not one.
    fn check(svg: &str) {
        let mut open = Vec::new();
        for tag in svg.split('<').skip(1) {
            let (tag, text) = tag.split_once('>').expect("every tag ends");
            assert!(!text.contains('>'));
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop(), Some(name), "{svg}");
            } else if !tag.ends_with('/') {
                open.push(tag.split(' ').next().unwrap());
            }
            assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        }
        assert!(open.is_empty());
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }

    #[test]
    fn charts_are_well_formed_for_any_data() {
        let xs: Vec<f64> = (0..50).map(f64::from).collect();
        let wave: Vec<f64> = xs.iter().map(|x| (x * 0.3).sin() * 1e6).collect();
        let gaps: Vec<f64> = xs.iter().map(|x| if x % 7.0 == 3.0 { f64::NAN } else { *x }).collect();
        let huge = [f64::MAX, f64::MIN, f64::INFINITY];
        for ys in [&wave[..], &gaps[..], &[3.0; 50], &[0.0; 50], &[f64::NAN; 50], &[], &[1.0], &huge] {
            let one = Series { name: "a & <b>", xs: &xs, ys };
            check(&line_plot("t \"<&>\" \u{1}", "time [s]", "energy [J]", &[one]));
            check(&line_plot("two", "time [s]", "energy [J]", &[one, one]));
        }
        check(&line_plot("nothing", "", "", &[]));
    }

    #[test]
    fn gaps_break_the_line() {
        let svg = line_plot(
            "g",
            "x",
            "y",
            &[Series { name: "a", xs: &[0.0, 1.0, 2.0, 3.0], ys: &[0.0, 1.0, f64::NAN, 2.0] }],
        );
        let line = svg.lines().find(|l| l.contains("stroke-linejoin")).unwrap();
        assert_eq!((line.matches('M').count(), line.matches('L').count()), (2, 1), "{line}");
    }

    #[test]
    fn ticks_are_round() {
        let axis = Axis::around([0.0, 7.3].into_iter(), 0.0, 100.0, 0.0);
        assert_eq!(axis.ticks().collect::<Vec<_>>(), [0.0, 2.0, 4.0, 6.0]);
        assert_eq!(axis.label(2.0), "2");
        assert_eq!(Axis::around([0.0, 0.05].into_iter(), 0.0, 1.0, 0.0).label(0.03), "0.03");
        assert_eq!(Axis::around([0.0, 3e6].into_iter(), 0.0, 1.0, 0.0).label(5e5), "5.0e5");
    }
}
