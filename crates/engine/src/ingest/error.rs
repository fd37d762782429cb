//! What can go wrong with reading histories.

use std::io;
use std::path::PathBuf;

use super::redact::RedactionPatternError;
use crate::store::StoreError;

/// What can go wrong while histories are read.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// The store failed: nothing more can be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The data directory's own files failed.
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
        /// The key file.
        path: PathBuf,
        /// What is wrong.
        problem: KeyProblem,
        /// Sessions and messages forgotten for good that would come back with another key.
        forgotten: u64,
    },
    /// No source has this name.
    #[error("there is no source {0:?}")]
    UnknownSource(String),
    /// A redaction pattern cannot be used; nothing was read.
    #[error(transparent)]
    RedactionPattern(#[from] RedactionPatternError),
}

/// What is wrong with the data directory's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyProblem {
    /// There is no key file, and the memory was written with one.
    Missing,
    /// The key file is that of another memory.
    Foreign,
}
