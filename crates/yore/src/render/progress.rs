//! A bar on a terminal while work takes long, nothing elsewhere.

use std::io::Write;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use yore_engine::ingest::{LearnedUnit, Observer};

use super::text;

/// Shows how far reading is.
pub struct Progress {
    bar: ProgressBar,
    /// Whether each conversation gets a line, on standard error.
    has_lines: bool,
}

impl Progress {
    /// A bar for `what`, hidden unless `is_shown`.
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

    /// The same with a line for each conversation that is read.
    #[must_use]
    pub fn with_lines(self, has_lines: bool) -> Self {
        Self { has_lines, ..self }
    }

    fn line(&self, line: &str) {
        if self.has_lines {
            // Nothing that can be done when nobody can hear it.
            self.bar.suspend(|| writeln!(std::io::stderr(), "{line}").unwrap_or_default());
        }
    }

    /// The same bar, counting turns that are indexed.
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

    /// Takes the bar away.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for Progress {
    fn found(&mut self, files: usize, bytes: u64) {
        self.bar.set_length(bytes);
        self.line(&format!("{} to look at, {}", text::counted(files as u64, "file"), text::bytes(bytes)));
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
