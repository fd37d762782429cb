//! The request of an ingestion: roots, sources, limits, given documents.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use super::policy::CapturePolicy;
use yore_sources::lines::MAX_LINE_BYTES;
use yore_sources::source::{ReaderOptions, Stamp};

/// A place to look for histories of one source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceRoot {
    /// Source kind, such as `claude-code`.
    pub source: String,
    /// A directory, or one file.
    pub path: PathBuf,
}

/// Settings of an ingestion: what to read and how.
#[derive(Clone, Debug)]
pub struct IngestRequest {
    /// Places to search for histories.
    pub roots: Vec<SourceRoot>,
    /// Options passed to the readers.
    pub reader: ReaderOptions,
    /// Maximum length of a line in bytes. Longer lines are counted and skipped.
    pub max_line_bytes: usize,
    /// Rules for what may be kept.
    pub policy: Arc<CapturePolicy>,
    /// True to search only and write nothing.
    pub is_dry_run: bool,
    /// If set, only units with these names, as [`yore_sources::source::Unit::name`] returns them.
    pub only: Option<Arc<HashSet<String>>>,
    /// If set, of the units that were never read only the newest ones, of so many bytes in all, and at least one.
    pub newest_bytes: Option<u64>,
}

impl IngestRequest {
    /// Reads these roots with the usual settings.
    pub fn new(roots: Vec<SourceRoot>) -> Self {
        Self {
            roots,
            reader: ReaderOptions::default(),
            max_line_bytes: MAX_LINE_BYTES,
            policy: Arc::default(),
            is_dry_run: false,
            only: None,
            newest_bytes: None,
        }
    }
}

/// A document that a caller gives, as opposed to one found on disk.
#[derive(Clone, Debug, Default)]
pub struct GivenDocument {
    /// Name of its unit: `note:…`, or a page's address.
    pub name: String,
    /// Stamp of its current state. Nothing is done if it equals the known one.
    pub stamp: Stamp,
    /// State that the caller needs the next time, kept beside the checkpoint.
    pub state: String,
    /// Its records, as [`yore_sources::source::Source::records`] would return them.
    pub records: Vec<Value>,
}
