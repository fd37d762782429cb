//! Errors of the store.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use yore_core::relation::Node;

/// An error of the store, grouped by what the caller can do about it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no database yet.
    #[error("no memory at {0} yet")]
    Missing(PathBuf),
    /// A newer yore wrote the database.
    #[error("the database {path} has schema {found}, this yore supports {known}")]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its schema.
        found: i32,
        /// The newest schema that this program supports.
        known: i32,
    },
    /// The database is older than any that this yore can upgrade.
    #[error("the database {path} has schema {found}, which is older than {oldest}, the oldest that this yore upgrades")]
    TooOld {
        /// The database.
        path: PathBuf,
        /// Its schema.
        found: i32,
        /// The oldest schema that can be upgraded.
        oldest: i32,
    },
    /// An older yore wrote the database, and it may not be upgraded now.
    #[error("the database {0} needs an upgrade")]
    Older(PathBuf),
    /// The file is the database of another program.
    #[error("{0} is a database, but not yore's")]
    Foreign(PathBuf),
    /// The file is damaged, or not a database at all.
    #[error("the database {path} is damaged: {detail}")]
    Corrupt {
        /// The database.
        path: PathBuf,
        /// Message of SQLite.
        detail: String,
    },
    /// No space is left for the database.
    #[error("no space left for {0}")]
    DiskFull(PathBuf),
    /// The database or its directory cannot be written.
    #[error("cannot write {path}: {detail}")]
    ReadOnly {
        /// The database.
        path: PathBuf,
        /// Message of the system.
        detail: String,
    },
    /// Another process held the database for longer than the busy timeout.
    #[error("{0} is busy: another process has been writing for too long")]
    Busy(PathBuf),
    /// A restore or a repair has put another database in the place of the one that was opened.
    #[error("the database {0} was replaced by a restore or a repair")]
    Replaced(PathBuf),
    /// WAL needs shared memory, which network file systems do not provide.
    #[error("{path} is on a network file system ({kind}), which SQLite cannot use safely")]
    NetworkFileSystem {
        /// The data directory.
        path: PathBuf,
        /// The file system's name.
        kind: String,
    },
    /// Another user owns the data directory, and more users may write to it.
    #[error("the data directory {0} belongs to another user, and others may write to it")]
    OpenToOthers(PathBuf),
    /// A memory cannot belong to a project that is not known.
    #[error("there is no project {0}")]
    UnknownProject(String),
    /// A relation cannot have an end that does not exist.
    #[error("a relation cannot lead to a {} that does not exist", .0.kind())]
    UnknownNode(Node),
    /// The caller of a transaction refused to go on.
    #[error("nothing was changed")]
    Refused,
    /// A backup could not be made.
    #[error("cannot back up {path}: {detail}")]
    Backup {
        /// The database.
        path: PathBuf,
        /// The reason.
        detail: String,
    },
    /// Another process took over the file that was being read.
    #[error("another process is reading {0}")]
    LeaseLost(PathBuf),
    /// A file operation failed.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
    /// Any other failure of SQLite.
    #[error("the database {path}: {error}")]
    Sqlite {
        /// The database.
        path: PathBuf,
        /// SQLite's error.
        error: rusqlite::Error,
    },
}

impl StoreError {
    /// A stable code for scripts.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Missing(_) => "store/missing",
            Self::Newer { .. } => "store/newer",
            Self::TooOld { .. } => "store/too-old",
            Self::Older(_) => "store/older",
            Self::Foreign(_) => "store/foreign",
            Self::Corrupt { .. } => "store/corrupt",
            Self::DiskFull(_) => "store/disk-full",
            Self::ReadOnly { .. } => "store/read-only",
            Self::Busy(_) => "store/busy",
            Self::Replaced(_) => "store/replaced",
            Self::NetworkFileSystem { .. } => "store/network-file-system",
            Self::OpenToOthers(_) => "store/open-to-others",
            Self::Backup { .. } => "store/backup",
            Self::LeaseLost(_) => "store/lease-lost",
            Self::UnknownProject(_) => "store/unknown-project",
            Self::UnknownNode(_) => "store/unknown-node",
            Self::Refused => "store/refused",
            Self::Io { .. } => "store/io",
            Self::Sqlite { .. } => "store/sqlite",
        }
    }

    /// Returns whether the same call may succeed later without any action.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Busy(_) | Self::LeaseLost(_) | Self::Replaced(_))
    }

    /// Returns whether the medium takes no writes: it is read-only or full. What can be read is still there.
    pub fn is_unwritable(&self) -> bool {
        matches!(self, Self::ReadOnly { .. } | Self::DiskFull(_))
    }

    pub(super) fn from_sqlite(path: &Path, error: rusqlite::Error) -> Self {
        let path = path.to_path_buf();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Corrupt { path, detail: error.to_string() },
            Some(ErrorCode::DiskFull) => Self::DiskFull(path),
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
                Self::ReadOnly { path, detail: error.to_string() }
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy(path),
            _ => Self::Sqlite { path, error },
        }
    }

    pub(super) fn from_io(path: &Path, error: std::io::Error) -> Self {
        let path = path.to_path_buf();
        match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Self::DiskFull(path),
            std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
                Self::ReadOnly { path, detail: error.to_string() }
            }
            _ => Self::Io { path, error },
        }
    }
}

/// Result of a store operation.
pub type StoreResult<T> = Result<T, StoreError>;
