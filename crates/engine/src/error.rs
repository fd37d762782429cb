//! What can go wrong with the engine.

use std::path::PathBuf;

use crate::embed::EmbedError;
use crate::index::IndexError;
use crate::ingest::IngestError;
use crate::store::StoreError;
use crate::transport::FetchError;

/// What can go wrong, by who can mend it.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The full-text index.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// Reading histories.
    #[error(transparent)]
    Ingest(#[from] IngestError),
    /// The local model.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// A page was not fetched.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// A note that cannot be kept: it is empty, or too long.
    #[error("{0}")]
    BadNote(&'static str),
    /// No name for a project, and why.
    #[error("{0}")]
    BadProjectName(&'static str),
    /// No backup can be restored.
    #[error("there is no backup in {} that is whole", directory.display())]
    NoBackup {
        /// The data directory.
        directory: PathBuf,
        /// Those that are there and are damaged.
        damaged: Vec<PathBuf>,
    },
    /// A local model is needed, and none was named.
    #[error("no local model is here")]
    NoModel,
    /// No project is known by this name.
    #[error("no project is known as {name:?}")]
    UnknownProject {
        /// What was asked for.
        name: String,
        /// Names of the known ones.
        known: Vec<String>,
    },
    /// No session is known by this id.
    #[error("no session is known as {0:?}")]
    UnknownSession(String),
    /// Neither session nor turn is known by this id.
    #[error("nothing is known as {0:?}")]
    UnknownId(String),
    /// A note has no such version.
    #[error("note {note} has no such version: there {} {count}", if *.count == 1 { "is" } else { "are" })]
    UnknownVersion {
        /// The note's id.
        note: String,
        /// How many versions it has.
        count: u64,
    },
    /// The beginning of an id fits several.
    #[error("{id:?} is the beginning of several ids")]
    AmbiguousId {
        /// What was asked for.
        id: String,
        /// Some of what it fits.
        candidates: Vec<String>,
    },
    /// The id is a sub-agent's, which is forgotten with its session only.
    #[error("{id:?} is a side conversation of session {session}")]
    NotASession {
        /// What was asked for.
        id: String,
        /// The session it belongs to.
        session: String,
    },
}

impl EngineError {
    /// A stable code for scripts.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Store(error) | Self::Index(IndexError::Store(error)) | Self::Ingest(IngestError::Store(error)) => error.code(),
            Self::Index(IndexError::Missing(_)) => "index/missing",
            Self::Index(IndexError::DiskFull(_)) => "index/disk-full",
            Self::Index(IndexError::Failed { .. }) => "index/failed",
            Self::Index(IndexError::Vectors(_)) => "index/vectors",
            Self::Embed(error) => error.code(),
            Self::Fetch(error) => error.code(),
            Self::BadNote(_) => "bad-note",
            Self::BadProjectName(_) => "bad-project-name",
            Self::NoBackup { .. } => "no-backup",
            Self::NoModel => "model/none",
            Self::Ingest(IngestError::DataDirectory { .. }) => "data-directory",
            Self::Ingest(IngestError::Key { .. }) => "key",
            Self::Ingest(IngestError::UnknownSource(_)) => "unknown-source",
            Self::Ingest(IngestError::RedactionPattern(_)) => "redaction-pattern",
            Self::UnknownProject { .. } => "unknown-project",
            Self::UnknownSession(_) => "unknown-session",
            Self::UnknownId(_) => "unknown-id",
            Self::UnknownVersion { .. } => "unknown-version",
            Self::AmbiguousId { .. } => "ambiguous-id",
            Self::NotASession { .. } => "not-a-session",
        }
    }

    /// The store's own error, where that is what went wrong.
    pub fn store_error(&self) -> Option<&StoreError> {
        match self {
            Self::Store(error) | Self::Index(IndexError::Store(error)) | Self::Ingest(IngestError::Store(error)) => Some(error),
            _ => None,
        }
    }

    /// Whether the same call may succeed later without anybody asking differently: another process
    /// in the way, a full disk, a file system that is away for a moment.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Index(IndexError::DiskFull(_)) | Self::Ingest(IngestError::DataDirectory { .. }) => true,
            other => other.store_error().is_some_and(|error| {
                error.is_transient()
                    || matches!(error, StoreError::DiskFull(_) | StoreError::ReadOnly { .. } | StoreError::Io { .. })
            }),
        }
    }
}
