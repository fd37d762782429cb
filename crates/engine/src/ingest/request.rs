//! What is to be read, and how.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use super::lines::MAX_LINE_BYTES;
use super::policy::CapturePolicy;
use super::source::{ReaderOptions, Stamp};

/// A place to look for histories of one source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceRoot {
    /// Source kind, such as `claude-code`.
    pub source: String,
    /// A directory, or one file.
    pub path: PathBuf,
}

/// What to read and how.
#[derive(Clone, Debug)]
pub struct IngestRequest {
    /// Where to look.
    pub roots: Vec<SourceRoot>,
    /// Told to readers.
    pub reader: ReaderOptions,
    /// Longer lines are counted and skipped.
    pub max_line_bytes: usize,
    /// What may be kept at all.
    pub policy: Arc<CapturePolicy>,
    /// Only look: write nothing.
    pub is_dry_run: bool,
    /// Only units with these names (as [`super::source::Unit::name`] gives them), where that is said.
    pub only: Option<Arc<HashSet<String>>>,
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
        }
    }
}

/// A document that is given, not found.
#[derive(Clone, Debug, Default)]
pub struct GivenDocument {
    /// The name of its unit: `note:…`, a page's address.
    pub name: String,
    /// How it stands: nothing is done if this is the known one.
    pub stamp: Stamp,
    /// Whatever the giver wants to know the next time, kept beside the checkpoint.
    pub state: String,
    /// Its records, as [`super::source::Source::records`] would give them.
    pub records: Vec<Value>,
}
