//! Progress on stderr: a bar on a terminal, plain lines elsewhere, nothing when quiet.

use crate::output;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use phyxel::run::Progress;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Shows how far a job has come.
pub struct Display {
    bar: Option<ProgressBar>,
    lines: bool,
    last_line: Option<Instant>,
}

impl Display {
    /// A display for `quiet` or not, on a terminal or not.
    pub fn new(quiet: bool) -> Self {
        let terminal = std::io::stderr().is_terminal();
        Self { bar: (!quiet && terminal).then(new_bar), lines: !quiet && !terminal, last_line: None }
    }

    /// A step without known length begins.
    pub fn stage(&mut self, what: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(what.to_string());
            bar.tick();
        } else if self.lines {
            output::note(what);
        }
    }

    /// A frame of the run is done.
    pub fn frame(&mut self, p: &Progress) {
        let left = p.left.map_or(String::new(), |s| format!(", {} left", output::duration(s)));
        let text = format!("t {:.3} s, {} substeps{left}", p.time, p.substeps);
        self.show("frame", p.frame, p.frames.saturating_sub(1), &text);
    }

    /// A picture is drawn.
    pub fn picture(&mut self, done: u32, of: u32) {
        self.show("picture", done, of, "drawing the film");
    }

    fn show(&mut self, what: &str, done: u32, of: u32, text: &str) {
        if let Some(bar) = &self.bar {
            bar.set_length(u64::from(of));
            bar.set_position(u64::from(done));
            bar.set_message(format!("{what} {done}/{of}, {text}"));
        } else if self.lines {
            // A few lines a minute, and always the last.
            let due = self.last_line.is_none_or(|t| t.elapsed() >= Duration::from_secs(5));
            if due || done == of {
                output::note(&format!("{what} {done}/{of}, {text}"));
                self.last_line = Some(Instant::now());
            }
        }
    }

    /// Removes the bar.
    pub fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

fn new_bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr_with_hz(10));
    let style = ProgressStyle::with_template("{spinner} [{bar:30}] {wide_msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
