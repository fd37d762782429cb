//! What can go wrong with a vector index, and why one is empty.

use std::path::{Path, PathBuf};

/// Dimensions that a sum of products cannot overflow with, and then some.
pub(super) const MAX_DIMENSIONS: usize = 16_384;

/// What can go wrong with the vector index. Its directory can always be deleted: it is made again
/// from the store.
#[derive(Debug, thiserror::Error)]
pub enum VectorError {
    /// No space left where the index lies.
    #[error("no space left for the vector index {0}; make room, the index goes on where it stopped")]
    DiskFull(PathBuf),
    /// A file of the index could not be read or written.
    #[error("the vector index {path}: {source}; check the directory's permissions, or delete it to have it made again")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A file of the index is not what was written; found by [`super::VectorIndex::verify`].
    #[error("the vector index {path} is damaged: {detail}; delete its directory to have it made again")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What differs.
        detail: String,
    },
    /// A vector or a question of another length than the index was opened for.
    #[error("a vector of {found} dimensions does not fit an index of {expected}")]
    Dimensions {
        /// What the index holds.
        expected: usize,
        /// What came.
        found: usize,
    },
    /// An index of no dimensions, or of too many.
    #[error("an index of {0} dimensions: from 1 to {MAX_DIMENSIONS} are possible")]
    BadDimensions(usize),
    /// More vectors in one batch than a segment can number.
    #[error("a batch of vectors is too large; write it in parts")]
    BatchFull,
}

impl VectorError {
    pub(super) fn io(path: &Path, source: std::io::Error) -> Self {
        match source.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Self::DiskFull(path.to_path_buf()),
            _ => Self::Io { path: path.to_path_buf(), source },
        }
    }
}

/// Why an index is empty although its owner may have filled one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResetReason {
    /// There is no index, or one that was never written.
    Missing,
    /// It was written by another version of the program.
    OtherFormat,
    /// Its vectors are of another model, or of another length.
    OtherVectors,
    /// It belongs to another store.
    OtherStore,
    /// Something is missing, cut short or exchanged.
    Damaged(String),
}
