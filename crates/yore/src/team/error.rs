//! Reasons why a synchronization with a team's server ended early.

use std::io;
use std::path::Path;

use super::remote::RemoteError;
use crate::error::CliError;

/// Reason why a synchronization ended early. What was done stays done.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// A file of the data directory.
    #[error(transparent)]
    File(#[from] io::Error),
    /// The server.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// The memory.
    #[error("{}", .0.message)]
    Memory(CliError),
}

impl SyncError {
    /// Returns the error as a person sees it. `data`: the data directory.
    pub fn told(self, data: &Path) -> CliError {
        match self {
            Self::File(error) => CliError::io(data, &error),
            Self::Remote(error) => error.told(),
            Self::Memory(error) => error,
        }
    }

    /// Returns whether this computer has no access any more.
    pub fn is_shut_out(&self) -> bool {
        matches!(self, Self::Remote(RemoteError::Refused { status: 401, .. }))
    }
}
