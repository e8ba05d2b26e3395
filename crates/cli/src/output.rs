//! What goes to the screen: results to stdout, everything else to stderr; a closed pipe is not an error.

use std::io::Write;

/// A result, to stdout.
pub fn result(text: &str) {
    // The reader may have gone (`phyxel scenes | head`): nothing to be done, nothing to report.
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Anything that is not the result, to stderr.
pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Rows of cells as aligned columns; the first row is the header. Cells of columns in `right` are right-aligned.
pub fn table(rows: &[Vec<String>], right: &[usize]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let cell = |row: &'_ Vec<String>, c: usize| row.get(c).cloned().unwrap_or_default();
    let width = |c: usize| rows.iter().map(|r| cell(r, c).chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let lines: Vec<String> = rows
        .iter()
        .map(|row| {
            let cells = (0..columns).map(|c| match right.contains(&c) {
                true => format!("{:>w$}", cell(row, c), w = widths[c]),
                false => format!("{:<w$}", cell(row, c), w = widths[c]),
            });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_string()
        })
        .collect();
    lines.join("\n")
}

/// Seconds in a form that is read at a glance.
pub fn duration(seconds: f64) -> String {
    let s = seconds.max(0.0);
    match s {
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 99.5 => format!("{s:.0} s"),
        s if s < 5970.0 => format!("{:.0} min {:02.0} s", (s / 60.0).floor(), (s % 60.0).floor()),
        s => format!("{:.0} h {:02.0} min", (s / 3600.0).floor(), (s % 3600.0 / 60.0).floor()),
    }
}

/// Bytes in a form that is read at a glance.
pub fn bytes(bytes: f64) -> String {
    match bytes {
        b if b < 1e6 => format!("{:.0} kB", b / 1e3),
        b if b < 1e9 => format!("{:.0} MB", b / 1e6),
        b => format!("{:.1} GB", b / 1e9),
    }
}

/// A length, a time, an energy ...: four digits and a prefix.
pub fn quantity(value: f64, unit: &str) -> String {
    let (scale, prefix) = match value.abs() {
        v if v == 0.0 || !v.is_finite() => (1.0, ""),
        v if v < 1e-6 => (1e9, "n"),
        v if v < 1e-3 => (1e6, "µ"),
        v if v < 1.0 => (1e3, "m"),
        v if v < 1e3 => (1.0, ""),
        v if v < 1e6 => (1e-3, "k"),
        _ => (1e-6, "M"),
    };
    format!("{:.4} {prefix}{unit}", Short(value * scale))
}

/// Prints about as many digits as the precision asks for.
struct Short(f64);

impl std::fmt::Display for Short {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digits = f.precision().unwrap_or(4);
        let whole = self.0.abs().max(1.0).log10().floor() as usize + 1;
        let text = format!("{:.*}", digits.saturating_sub(whole), self.0);
        let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
        f.write_str(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(quantity(0.02, "m"), "20 mm");
        assert_eq!(quantity(1.23456e-4, "s"), "123.5 µs");
        assert_eq!(quantity(5e5, "Pa"), "500 kPa");
        assert_eq!(
            (duration(3.21), duration(75.0), duration(125.0)),
            ("3.2 s".into(), "75 s".into(), "2 min 05 s".into())
        );
    }

    #[test]
    fn columns_line_up() {
        let rows = [vec!["name".into(), "n".into()], vec!["a".into(), "100".into()]];
        assert_eq!(table(&rows, &[1]), "name    n\na     100");
    }
}
