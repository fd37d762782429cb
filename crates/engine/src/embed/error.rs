//! Errors of local models.

use std::path::{Path, PathBuf};

use super::Role;

/// An error of a local model. Stored data is not affected: recall continues without the model.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// A file of the model is missing.
    #[error("the model file {0} is missing")]
    Missing(PathBuf),
    /// A file is not, byte for byte, the one that the model needs: it is cut short, damaged or replaced.
    #[error("the model file {file} is damaged or not the expected one: {detail}")]
    Damaged {
        /// The file.
        file: PathBuf,
        /// The difference.
        detail: String,
    },
    /// A folder has neither a known model nor a description.
    #[error("{0} is not a known model and has no model.json that describes one")]
    Unknown(PathBuf),
    /// The model in the folder has another role.
    #[error("{folder} holds {id}, which is a model for {}, not for {}", .is.purpose(), .wanted.purpose())]
    WrongRole {
        /// The folder.
        folder: PathBuf,
        /// Id of the model.
        id: String,
        /// Its role.
        is: Role,
        /// The requested role.
        wanted: Role,
    },
    /// The description of a user's own model cannot be used.
    #[error("{file}: {detail}")]
    Description {
        /// The `model.json`.
        file: PathBuf,
        /// Description of the problem.
        detail: String,
    },
    /// The vocabulary of the model differs from the built-in one.
    #[error("{file} is not the vocabulary of bert-base-uncased, the only supported one: {detail}")]
    Vocabulary {
        /// The file with the vocabulary.
        file: PathBuf,
        /// The difference.
        detail: String,
    },
    /// The file is not a usable network, or has other inputs or outputs.
    #[error("the model file {file} cannot be used: {detail}")]
    Unsuitable {
        /// The file.
        file: PathBuf,
        /// Message of the runtime.
        detail: String,
    },
    /// The model failed on a text.
    #[error("the model {id} failed on a text: {detail}")]
    Run {
        /// Id of the model.
        id: String,
        /// Message of the runtime.
        detail: String,
    },
    /// The model returned a number that is not finite, or only zeros.
    #[error("the model {0} returned zeros or numbers that are not finite")]
    NotFinite(String),
    /// A file operation failed.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}

impl EmbedError {
    /// A stable code for scripts.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Missing(_) => "model/missing",
            Self::Damaged { .. } => "model/damaged",
            Self::Unknown(_) => "model/unknown",
            Self::WrongRole { .. } => "model/wrong-role",
            Self::Description { .. } => "model/description",
            Self::Vocabulary { .. } => "model/vocabulary",
            Self::Unsuitable { .. } => "model/unsuitable",
            Self::Run { .. } => "model/run",
            Self::NotFinite(_) => "model/not-finite",
            Self::Io { .. } => "model/io",
        }
    }

    /// Returns whether fetching the model again solves the problem.
    pub fn is_mended_by_fetching(&self) -> bool {
        matches!(self, Self::Missing(_) | Self::Damaged { .. })
    }

    pub(super) fn io(path: &Path, source: std::io::Error) -> Self {
        if source.kind() == std::io::ErrorKind::NotFound {
            Self::Missing(path.to_path_buf())
        } else {
            Self::Io { path: path.to_path_buf(), source }
        }
    }
}
