//! Errors of the full-text index.

use std::path::{Path, PathBuf};

use tantivy::TantivyError;

use crate::store::StoreError;

/// An error of the full-text index. The index can always be deleted and rebuilt.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no usable index, and none may be created now.
    #[error("no index {0} yet")]
    Missing(PathBuf),
    /// No space is left for the index.
    #[error("no space left for the index {0}")]
    DiskFull(PathBuf),
    /// Another process has replaced the index, or is about to, since it was opened.
    #[error("the index {0} was replaced by another process")]
    Replaced(PathBuf),
    /// A vector index failed.
    #[error(transparent)]
    Vectors(Box<crate::index::vector::VectorError>),
    /// The index directory failed.
    #[error("the index {path}: {detail}")]
    Failed {
        /// The index directory.
        path: PathBuf,
        /// Message of the library.
        detail: String,
    },
}

pub(super) fn failure(directory: &Path, error: TantivyError) -> IndexError {
    if let TantivyError::IoError(error) = &error {
        return io_failure(directory, error);
    }
    let text = error.to_string();
    // Write errors arrive wrapped in several layers.
    if text.contains("StorageFull") || text.contains("os error 28") {
        return IndexError::DiskFull(directory.to_path_buf());
    }
    // The library does not report the original error.
    let is_lost = matches!(error, TantivyError::ErrorInThread(_));
    let detail = if is_lost { "it could not be written: the disk failed, or is full".to_owned() } else { text };
    IndexError::Failed { path: directory.to_path_buf(), detail }
}

pub(in crate::index) fn io_failure(directory: &Path, error: &std::io::Error) -> IndexError {
    match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => IndexError::DiskFull(directory.to_path_buf()),
        _ => IndexError::Failed { path: directory.to_path_buf(), detail: error.to_string() },
    }
}
