//! Builds ingestion requests and the capture policy from the settings.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use yore_core::scope::{is_within, normalize_directory};
use yore_engine::ingest::{CapturePolicy, IngestRequest, SourceRoot};
use yore_sources::source::{self, ReaderOptions};

use crate::config::{CaptureMode, Config, ConfigError, Headless, Layers, load_here};
use crate::error::CliResult;
use crate::paths::MODEL_WORK;
use crate::settings::{Settings, find_project_file};

/// Returns the options for reading histories and the archive.
pub fn reader_options(config: &Config) -> ReaderOptions {
    ReaderOptions {
        tool_bytes: if config.index.tool_output { config.index.tool_result_bytes } else { 0 },
        headless: match config.capture.headless {
            Headless::Program => source::Headless::Program,
            Headless::Person => source::Headless::Person,
        },
        ..ReaderOptions::default()
    }
}

/// Builds the request that reads these roots, as configured.
pub fn request(roots: Vec<SourceRoot>, settings: &Settings) -> CliResult<IngestRequest> {
    let mut request = IngestRequest::new(roots);
    request.reader = reader_options(settings.config());
    // This program reads PDFs in a child process.
    request.reader.pdf_extractor = std::env::current_exe().ok();
    request.policy = Arc::new(policy(settings)?);
    Ok(request)
}

/// Returns the rules of capture: the user's settings, and each project's own.
pub fn policy(settings: &Settings) -> CliResult<CapturePolicy> {
    let capture = &settings.own_config()?.capture;
    let home = |entries: &[String]| -> Vec<String> { entries.iter().map(|entry| settings.paths.below_home(entry)).collect() };
    let only = (capture.mode == CaptureMode::OptIn).then(|| home(&capture.projects));
    let policy = CapturePolicy::new(&home(&capture.exclude_paths), &home(&capture.exclude_projects), only.as_deref())?;
    // The record that a program keeps of its run as a model is no work of the person.
    // Agents record the directory as the system resolves it.
    let resolved = std::fs::canonicalize(&settings.directory).unwrap_or_else(|_| settings.directory.clone());
    let own =
        [&settings.directory, &resolved].map(|directory| normalize_directory(&directory.join(MODEL_WORK).to_string_lossy()));
    // A project's file may switch capture off for that project; each file is read once.
    let known: Mutex<HashMap<PathBuf, bool>> = Mutex::default();
    let (user_file, environment) = (settings.user_file.clone(), settings.environment.clone());
    Ok(policy.with_project_switch(move |directory| {
        if own.iter().any(|own| is_within(&normalize_directory(directory), own)) {
            return true;
        }
        let Some(file) = find_project_file(Path::new(directory)) else { return false };
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        *known.entry(file.clone()).or_insert_with(|| {
            let layers =
                Layers { user_file: user_file.as_ref(), project_file: Some(&file), environment: &environment, flags: &[] };
            forbids_capture(&layers)
        })
    }))
}

/// Returns whether a project's file forbids capture. One that cannot be understood may have been meant to; one that asks for what it
/// may not is understood.
pub fn forbids_capture(layers: &Layers<'_>) -> bool {
    load_here(layers).map_or(true, |(resolved, ignored)| {
        !resolved.config.capture.enabled || ignored.iter().any(|problem| !matches!(problem, ConfigError::ProjectMayNot { .. }))
    })
}
