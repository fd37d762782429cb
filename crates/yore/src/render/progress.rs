//! A bar on a terminal while work takes long, nothing elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use yore_engine::ingest::Observer;

/// Shows how far reading is.
pub struct Progress {
    bar: ProgressBar,
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
        Self { bar }
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
    fn found(&mut self, _files: usize, bytes: u64) {
        self.bar.set_length(bytes);
    }

    fn advanced(&mut self, bytes: u64) {
        self.bar.inc(bytes);
    }
}
