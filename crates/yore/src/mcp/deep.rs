//! Has a language model read an archive on request of a tool.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use yore_engine::{DeepAnswer, DeepRequest};

use super::progress::{Progress, Stage};
use crate::error::CliResult;
use crate::llm::reading;
use crate::settings::Settings;

/// Interval in which it is looked whether the call was cancelled.
const LOOK: Duration = Duration::from_millis(200);

/// Answers a question by reading an archive. Reports its progress, and ends when the call is cancelled.
pub type DeepReader = Arc<dyn Fn(DeepRequest, &Progress) -> CliResult<DeepAnswer> + Send + Sync>;

/// Returns a reader that works like `yore rlm run`.
pub fn deep_reader(settings: &Settings) -> DeepReader {
    let settings = settings.clone();
    Arc::new(move |request, progress| {
        let (is_stopped, is_done) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) && !is_stopped.load(Ordering::Relaxed) {
                    is_stopped.store(progress.is_unheard(), Ordering::Relaxed);
                    std::thread::sleep(LOOK);
                }
            });
            let answer = reading::read_deeply(&settings, request, &is_stopped, &mut |step| {
                progress.say(Stage {
                    what: "reading the archive (calls of the model)",
                    done: Some(step.spent.calls),
                    total: None,
                });
            });
            is_done.store(true, Ordering::Relaxed);
            answer
        })
    })
}
