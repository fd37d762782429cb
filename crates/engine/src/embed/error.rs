use std::path::{Path, PathBuf};

use super::Role;

/// What can go wrong with a local model. None of it touches what is stored: recall goes on without
/// the model.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// A file of the model is not there.
    #[error("the model file {0} is not there")]
    Missing(PathBuf),
    /// A file is not, byte for byte, the one that the model needs: cut short, damaged or exchanged.
    #[error("the model file {file} is damaged or another one: {detail}")]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What differs.
        detail: String,
    },
    /// Nothing says what kind of model a folder holds.
    #[error("{0} is no model that yore knows, and holds no model.json that describes one")]
    Unknown(PathBuf),
    /// The folder holds a model for something else.
    #[error("{folder} holds {id}, which is a model for {}, not for {}", .is.purpose(), .wanted.purpose())]
    WrongRole {
        /// The folder.
        folder: PathBuf,
        /// The model.
        id: String,
        /// What it is for.
        is: Role,
        /// What was asked for.
        wanted: Role,
    },
    /// A description of a model of one's own cannot be used.
    #[error("{file}: {detail}")]
    Description {
        /// The `model.json`.
        file: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// The model cuts words into other pieces than ours.
    #[error("{file} is not the vocabulary of bert-base-uncased, the only one that yore cuts words with: {detail}")]
    Vocabulary {
        /// The file with the vocabulary.
        file: PathBuf,
        /// What differs.
        detail: String,
    },
    /// The file is no network that can be run, or one with other inputs or outputs.
    #[error("the model file {file} cannot be used: {detail}")]
    Unsuitable {
        /// The file.
        file: PathBuf,
        /// What the runtime says.
        detail: String,
    },
    /// The model failed on a text.
    #[error("the model {id} failed on a text: {detail}")]
    Run {
        /// The model.
        id: String,
        /// What the runtime says.
        detail: String,
    },
    /// The model gave what is no finite number, or only zeros.
    #[error("the model {0} gave numbers that are no vector and no score")]
    NotFinite(String),
    /// A file operation failed.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl EmbedError {
    /// A name for scripts that does not change.
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

    /// Whether fetching the model again mends it.
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
