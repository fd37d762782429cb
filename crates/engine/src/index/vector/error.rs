//! Errors of a vector index, and the reasons why one starts empty.

use std::path::{Path, PathBuf};

/// Maximum number of dimensions; a sum of products cannot overflow below it, with a margin.
pub(super) const MAX_DIMENSIONS: usize = 16_384;

/// An error of the vector index. Its directory can always be deleted: the index is rebuilt from the store.
#[derive(Debug, thiserror::Error)]
pub enum VectorError {
    /// No space is left for the index.
    #[error("no space left for the vector index {0}; free some space, indexing resumes where it stopped")]
    DiskFull(PathBuf),
    /// A file of the index could not be read or written.
    #[error("the vector index {path}: {source}; check the directory's permissions, or delete it to have it made again")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A file of the index differs from what was written; found by [`super::VectorIndex::verify`].
    #[error("the vector index {path} is damaged: {detail}; delete its directory to have it made again")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The difference.
        detail: String,
    },
    /// A vector or a query has a different length than the index.
    #[error("a vector of {found} dimensions does not fit an index of {expected}")]
    Dimensions {
        /// Dimensions of the index.
        expected: usize,
        /// Dimensions of the vector.
        found: usize,
    },
    /// An index cannot have no dimensions, or this many.
    #[error("an index of {0} dimensions is not supported, expected 1 to {MAX_DIMENSIONS}")]
    BadDimensions(usize),
    /// The batch has more vectors than a segment can number.
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

/// The reason why an index is empty although its owner may have filled one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResetReason {
    /// There is no index, or one that was never written.
    Missing,
    /// It was written by another version of the program.
    OtherFormat,
    /// Its vectors are of another model, or have another length.
    OtherVectors,
    /// It belongs to another store.
    OtherStore,
    /// A file is missing, cut short or exchanged.
    Damaged(String),
}
