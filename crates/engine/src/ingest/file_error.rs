//! Errors that end the reading of one file.

use std::io;

use crate::store::StoreError;

/// The error that ends the reading of one file.
pub(super) enum FileError {
    Store(StoreError),
    Io(io::Error),
}

impl From<StoreError> for FileError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<io::Error> for FileError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
