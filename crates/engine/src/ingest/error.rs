//! Errors of an ingestion, and problems of the secret key.

use std::io;
use std::path::PathBuf;

use crate::store::StoreError;
use yore_sources::redact::RedactionPatternError;

/// An error while histories are read.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// The store failed: nothing more can be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file of the data directory itself failed.
    #[error("{path}: {error}")]
    DataDirectory {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The data directory's key is not the one that the memory was written with; nothing was written.
    #[error("{} {}", path.display(), match problem {
        KeyProblem::Missing => "is missing: this memory was written with it",
        KeyProblem::Foreign => "is the key of another memory",
    })]
    Key {
        /// Path of the key file.
        path: PathBuf,
        /// The problem with the key.
        problem: KeyProblem,
        /// Number of permanently forgotten sessions and messages that would come back with another key.
        forgotten: u64,
    },
    /// No source has this name.
    #[error("unknown source {0:?}")]
    UnknownSource(String),
    /// A redaction pattern cannot be used; nothing was read.
    #[error(transparent)]
    RedactionPattern(#[from] RedactionPatternError),
}

/// A problem with the data directory's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyProblem {
    /// There is no key file, but the memory was written with one.
    Missing,
    /// The key file belongs to another memory.
    Foreign,
}
