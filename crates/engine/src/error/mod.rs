//! Errors of the engine; `memory` has those of memories.

mod memory;

use std::path::PathBuf;

pub use self::memory::MemoryError;
use crate::embed::EmbedError;
use crate::index::IndexError;
use crate::ingest::IngestError;
use crate::llm::LlmError;
use crate::store::StoreError;
use crate::transport::FetchError;

/// The reason why a project cannot be renamed, merged or parted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProjectNameError {
    /// The name is empty, too long or has a control character.
    #[error("a name has 1 to 100 characters, on one line")]
    Invalid,
    /// Another project has the name.
    #[error("another project has this name")]
    Taken,
    /// Both names are of one project.
    #[error("both are the same project")]
    Same,
    /// No such merge is known.
    #[error("no merge of such a project is known, so there is nothing to undo")]
    NotMerged,
}

/// An error of the engine, grouped by the part that failed.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The full-text index failed.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// Reading histories failed.
    #[error(transparent)]
    Ingest(#[from] IngestError),
    /// The local model failed.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// A model on a server failed, or may not be asked.
    #[error(transparent)]
    Llm(#[from] LlmError),
    /// Memories were not changed.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A page was not fetched.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// A note that cannot be kept: it is empty, or too long.
    #[error("{0}")]
    BadNote(&'static str),
    /// A project name that cannot be used, and the reason.
    #[error(transparent)]
    BadProjectName(#[from] ProjectNameError),
    /// No backup can be restored.
    #[error("no undamaged backup in {}", directory.display())]
    NoBackup {
        /// The data directory.
        directory: PathBuf,
        /// Backups that exist and are damaged.
        damaged: Vec<PathBuf>,
    },
    /// The file that was named is no backup that can be restored.
    #[error("{} cannot be restored: {detail}", path.display())]
    BadBackup {
        /// The file.
        path: PathBuf,
        /// The problem with it.
        detail: String,
    },
    /// A local model is needed, and none was configured.
    #[error("no local model is installed")]
    NoModel,
    /// No project is known by this name.
    #[error("unknown project {name:?}")]
    UnknownProject {
        /// The requested name.
        name: String,
        /// Names of the known projects.
        known: Vec<String>,
    },
    /// No session has this id.
    #[error("unknown session {0:?}")]
    UnknownSession(String),
    /// No run of the recursive lane has this id, or several begin with it.
    #[error("unknown run {0:?}")]
    UnknownRun(String),
    /// The archive has not the words any more that a run has read.
    #[error("run {0} cannot be made again: the archive has changed since")]
    RunChanged(String),
    /// The record of a run cannot be read or written.
    #[error("{path}: {error}")]
    Run {
        /// The file.
        path: String,
        /// The reason.
        error: std::io::Error,
    },
    /// Neither a session nor a turn has this id.
    #[error("unknown id {0:?}")]
    UnknownId(String),
    /// A note has no such version.
    #[error("note {note} has no such version: there {} {count}", if *.count == 1 { "is" } else { "are" })]
    UnknownVersion {
        /// The note's id.
        note: String,
        /// Number of its versions.
        count: u64,
    },
    /// Several ids begin with this one.
    #[error("several ids begin with {id:?}")]
    AmbiguousId {
        /// The requested beginning.
        id: String,
        /// Some of the ids that begin with it.
        candidates: Vec<String>,
    },
    /// A selection of what to forget has no condition.
    #[error("nothing says what to forget")]
    NothingSelected,
    /// The id belongs to a sub-agent, which is forgotten with its session only.
    #[error("{id:?} is a side conversation of session {session}")]
    NotASession {
        /// The requested id.
        id: String,
        /// The session that the sub-agent belongs to.
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
            Self::Index(IndexError::Replaced(_)) => "index/replaced",
            Self::Index(IndexError::Failed { .. }) => "index/failed",
            Self::Index(IndexError::Vectors(_)) => "index/vectors",
            Self::Embed(error) => error.code(),
            Self::Fetch(error) => error.code(),
            Self::Llm(error) => error.code(),
            Self::Memory(error) => error.code(),
            Self::BadNote(_) => "bad-note",
            Self::BadProjectName(_) => "bad-project-name",
            Self::NoBackup { .. } => "no-backup",
            Self::BadBackup { .. } => "backup/damaged",
            Self::NoModel => "model/none",
            Self::Ingest(IngestError::DataDirectory { .. }) => "data-directory",
            Self::Ingest(IngestError::Key { .. }) => "key",
            Self::Ingest(IngestError::UnknownSource(_)) => "unknown-source",
            Self::Ingest(IngestError::RedactionPattern(_)) => "redaction-pattern",
            Self::UnknownProject { .. } => "unknown-project",
            Self::UnknownRun(_) => "run/unknown",
            Self::RunChanged(_) => "run/changed",
            Self::Run { .. } => "run/file",
            Self::UnknownSession(_) => "unknown-session",
            Self::UnknownId(_) => "unknown-id",
            Self::UnknownVersion { .. } => "unknown-version",
            Self::AmbiguousId { .. } => "ambiguous-id",
            Self::NothingSelected => "nothing-selected",
            Self::NotASession { .. } => "not-a-session",
        }
    }

    /// Returns the error of the store if that is the cause.
    pub fn store_error(&self) -> Option<&StoreError> {
        match self {
            Self::Store(error) | Self::Index(IndexError::Store(error)) | Self::Ingest(IngestError::Store(error)) => Some(error),
            _ => None,
        }
    }

    /// Returns whether the same call may succeed later unchanged: another process was in the way, the disk
    /// was full, or a file system was away for a moment.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Index(IndexError::DiskFull(_) | IndexError::Replaced(_)) | Self::Ingest(IngestError::DataDirectory { .. }) => {
                true
            }
            other => other.store_error().is_some_and(|error| {
                error.is_transient()
                    || matches!(error, StoreError::DiskFull(_) | StoreError::ReadOnly { .. } | StoreError::Io { .. })
            }),
        }
    }
}
