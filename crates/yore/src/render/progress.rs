//! Shows a progress bar on a terminal.

use std::io::Write;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use yore_engine::ingest::{LearnedUnit, Observer};

use super::text;

/// Shows the progress of reading.
pub struct Progress {
    bar: ProgressBar,
    /// True if each conversation that is read gets a line on standard error.
    has_lines: bool,
}

impl Progress {
    /// Creates a bar labelled `what`, hidden unless `is_shown`.
    pub fn new(what: &'static str, is_shown: bool) -> Self {
        let bar = ProgressBar::with_draw_target(
            Some(0),
            if is_shown { ProgressDrawTarget::stderr_with_hz(8) } else { ProgressDrawTarget::hidden() },
        );
        if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {bytes}/{total_bytes} {eta}") {
            bar.set_style(style);
        }
        bar.set_message(what);
        Self { bar, has_lines: false }
    }

    /// Adds a line for each conversation that is read.
    #[must_use]
    pub fn with_lines(self, has_lines: bool) -> Self {
        Self { has_lines, ..self }
    }

    fn line(&self, line: &str) {
        if self.has_lines {
            // If standard error is closed, nothing can be done.
            self.bar.suspend(|| writeln!(std::io::stderr(), "{line}").unwrap_or_default());
        }
    }

    /// Creates a bar that counts turns instead of bytes.
    pub fn counting(what: &'static str, total: u64, is_shown: bool) -> ProgressBar {
        let bar = ProgressBar::with_draw_target(
            Some(total),
            if is_shown { ProgressDrawTarget::stderr_with_hz(8) } else { ProgressDrawTarget::hidden() },
        );
        if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {eta}") {
            bar.set_style(style);
        }
        bar.set_message(what);
        bar
    }

    /// Removes the bar.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for Progress {
    fn found(&mut self, files: usize, bytes: u64) {
        self.bar.set_length(bytes);
        self.line(&format!("{} to read, {}", text::counted(files as u64, "file"), text::bytes(bytes)));
    }

    fn advanced(&mut self, bytes: u64) {
        self.bar.inc(bytes);
    }

    fn learned(&mut self, unit: &LearnedUnit<'_>) {
        let completed =
            if unit.turns_updated > 0 { format!(", {} completed", text::count(unit.turns_updated)) } else { String::new() };
        let added = text::counted(unit.turns_added, "new turn");
        self.line(&format!("{}: {}: {added}{completed}", unit.source, text::harmless(unit.name)));
    }
}
