//! Has the configured language model read an archive for a question, in this process.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use yore_engine::{DeepAnswer, DeepRequest, ModelAccess, Progress};

use super::ModelChooser;
use crate::error::{CliError, CliResult};
use crate::settings::Settings;

/// Purpose of these calls in the configuration and the ledger.
const PURPOSE: &str = "ask";

/// Returns this program, which runs what a model writes.
pub fn worker() -> Option<PathBuf> {
    std::env::current_exe().ok()
}

/// Answers a question by reading; each step is told to `watch`. Setting `is_stopped` gives up the call that runs.
///
/// # Errors
/// No model is configured; the request names what there is not; the memory cannot be read.
pub fn read_deeply(
    settings: &Settings,
    request: DeepRequest,
    is_stopped: &AtomicBool,
    watch: &mut dyn FnMut(&Progress),
) -> CliResult<DeepAnswer> {
    let mut chooser = ModelChooser::new(settings, PURPOSE)?;
    let mut choose = |project: Option<&str>| chooser.for_project(project).map_err(|error: CliError| error.message);
    let by = ModelAccess { choose: &mut choose, books: None, is_stopped };
    let request = DeepRequest { worker: worker(), ..request };
    Ok(settings.engine(false)?.read_deeply(&request, by, watch)?)
}

/// Makes a run again from its record, without a call.
///
/// # Errors
/// The run is not known, or the archive has changed since.
pub fn replay(settings: &Settings, run: &str) -> CliResult<DeepAnswer> {
    Ok(settings.engine(false)?.replay_run(run, worker().as_deref().map(Path::new))?)
}
