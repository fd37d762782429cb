//! All of SQLite: one file, one writer at a time, any number of readers (WAL).
//!
//! - [`Store`]: opens, migrates and hands out connections
//! - `migrate`: numbered migrations, each in a transaction after a backup
//! - `upsert`, `episodes`, `words`: projects, episodes, turns: written, read, packed
//! - `archive`: blobs and segments
//! - `backup`, `salvage`: copies of the database, and what can be saved of a damaged one
//! - `sources`: files that were read, how far, by whom, what was skipped
//! - `queue`: turns that the lexical index must still take
//! - `shape`: code, files, tools and errors of turns; conversations as they are listed
//! - `vectors`: what was embedded, and turns that the embedder and the vector indexes must still take
//! - `jobs`: work that waits
//! - `notes`: notes, and what belongs to no project
//! - `forget`: deletion that leaves nothing
//! - `overview`: counts for people
//!
//! Rows never leave this module, domain types do. Every statement has fixed text and bound
//! parameters. A migrated table is described in `migrations/`.

mod archive;
pub(crate) mod backup;
mod episodes;
mod forget;
mod jobs;
mod migrate;
mod notes;
mod overview;
mod queue;
mod salvage;
mod shape;
mod sources;
mod upsert;
mod vectors;
mod words;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

pub(crate) use archive::{LineRun, StoredBlob};
pub use backup::Backup;
pub use episodes::ShownTurn;
pub(crate) use episodes::{IndexedTurn, SPOKEN_GAP};
pub use forget::Forgotten;
pub(crate) use jobs::{Failed, JobRow, NewJob};
pub use migrate::SCHEMA_VERSION;
pub(crate) use notes::StoredNote;
pub use overview::{
    AgentCount, EpisodeCount, EpisodeSummary, ProjectSummary, RedactionCount, SessionOrder, SkipCount, StoreStats,
};
pub(crate) use salvage::{Content, Salvage};
pub use shape::ConversationSummary;
pub(crate) use shape::{ChangeFilter, ConversationFilter};
pub use sources::SourceFileSummary;
pub(crate) use sources::{Advance, Checkpoint, FileRow};
pub(crate) use upsert::{TurnFacts, UpsertOutcome, Upserter};
pub(crate) use vectors::{EmbeddedTurn, MODEL_LIST, QueuedVector, STATIC_LIST, TextHash};

/// Name of the database in the data directory.
pub const DATABASE_FILE: &str = "yore.db";

/// "yore" in ASCII: SQLite's application id, so that a foreign database is recognised.
const APPLICATION_ID: i32 = 0x796f_7265;

/// What can go wrong with the store, by what the caller can do about it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no database yet.
    #[error("no memory at {0} yet")]
    Missing(PathBuf),
    /// A newer yore wrote the database.
    #[error("the database {path} has schema {found}, this yore knows {known}")]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its schema.
        found: i32,
        /// The newest schema that this program knows.
        known: i32,
    },
    /// An older yore wrote the database, and it may not be upgraded now.
    #[error("the database {0} waits for an upgrade")]
    Older(PathBuf),
    /// The file is some other program's database.
    #[error("{0} is a database, but not yore's")]
    Foreign(PathBuf),
    /// The file is damaged, or no database at all.
    #[error("the database {path} is damaged: {detail}")]
    Corrupt {
        /// The database.
        path: PathBuf,
        /// SQLite's words.
        detail: String,
    },
    /// No space left where the database lies.
    #[error("no space left for {0}")]
    DiskFull(PathBuf),
    /// The database or its directory cannot be written.
    #[error("cannot write {path}: {detail}")]
    ReadOnly {
        /// The database.
        path: PathBuf,
        /// The system's words.
        detail: String,
    },
    /// Another process held the database for longer than the busy timeout.
    #[error("{0} is busy: another process has been writing for too long")]
    Busy(PathBuf),
    /// WAL needs shared memory, which network file systems do not give.
    #[error("{path} lies on a network file system ({kind}), where SQLite cannot guard it")]
    NetworkFileSystem {
        /// The data directory.
        path: PathBuf,
        /// The file system's name.
        kind: String,
    },
    /// The backup that must precede an upgrade could not be made.
    #[error("cannot back up {path} before the upgrade: {detail}")]
    Backup {
        /// The database.
        path: PathBuf,
        /// Why.
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
            Self::Older(_) => "store/older",
            Self::Foreign(_) => "store/foreign",
            Self::Corrupt { .. } => "store/corrupt",
            Self::DiskFull(_) => "store/disk-full",
            Self::ReadOnly { .. } => "store/read-only",
            Self::Busy(_) => "store/busy",
            Self::NetworkFileSystem { .. } => "store/network-file-system",
            Self::Backup { .. } => "store/backup",
            Self::LeaseLost(_) => "store/lease-lost",
            Self::Io { .. } => "store/io",
            Self::Sqlite { .. } => "store/sqlite",
        }
    }

    /// Whether the same call may succeed later without anybody doing anything (S5-014).
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Busy(_) | Self::LeaseLost(_))
    }

    fn from_sqlite(path: &Path, error: rusqlite::Error) -> Self {
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

    fn from_io(path: &Path, error: std::io::Error) -> Self {
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

/// How the store is opened.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// How long to wait for another process's write.
    pub busy_timeout: Duration,
    /// Whether a database that needs an upgrade is backed up first.
    pub backup_before_upgrade: bool,
    /// Whether to be content with what is there: nothing is upgraded, and no index is begun.
    pub is_passive: bool,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self { busy_timeout: Duration::from_secs(5), backup_before_upgrade: true, is_passive: false }
    }
}

/// The database. Shared freely between threads: writes take turns, reads do not wait for them.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    options: StoreOptions,
    writer: Mutex<Option<Connection>>,
    readers: Mutex<Vec<Connection>>,
}

impl Store {
    /// Opens the database in `directory`, creating both where `create` says so, and upgrades an
    /// older schema after a backup.
    ///
    /// # Errors
    /// [`StoreError::Missing`] without `create`, and everything that [`StoreError`] names.
    pub fn open(directory: &Path, create: bool, options: StoreOptions) -> StoreResult<Self> {
        let path = directory.join(DATABASE_FILE);
        let store = Self { path, options, writer: Mutex::new(None), readers: Mutex::new(Vec::new()) };
        let exists = store.path.metadata().map(|meta| meta.len() > 0).unwrap_or(false);
        if !exists {
            if !create {
                return Err(StoreError::Missing(directory.to_path_buf()));
            }
            crate::platform::create_private_directory(directory).map_err(|error| StoreError::from_io(directory, error))?;
            crate::platform::create_private_file(&store.path).map_err(|error| StoreError::from_io(&store.path, error))?;
            store.with_writer(|_| Ok(()))?;
            return Ok(store);
        }
        let version = store.read(|db| migrate::check(db, &store.path))?;
        if version < SCHEMA_VERSION {
            if store.options.is_passive {
                return Err(StoreError::Older(store.path));
            }
            store.readers().clear();
            store.with_writer(|_| Ok(()))?;
        }
        Ok(store)
    }

    /// Whether nothing may be upgraded or begun.
    pub(crate) fn is_passive(&self) -> bool {
        self.options.is_passive
    }

    /// The database file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs `work` on a connection that only reads, with a consistent view if it begins a
    /// transaction.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Connection) -> StoreResult<T>) -> StoreResult<T> {
        let pooled = self.readers().pop();
        let connection = match pooled {
            Some(connection) => connection,
            None => self.open_reader()?,
        };
        let result = work(&connection);
        self.readers().push(connection);
        result
    }

    /// Runs `work` in one `BEGIN IMMEDIATE` transaction: all of it or nothing.
    pub(crate) fn write<T>(&self, work: impl FnOnce(&Transaction<'_>) -> StoreResult<T>) -> StoreResult<T> {
        self.with_writer(|db| {
            let tx = db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(|error| self.fail(error))?;
            let value = work(&tx)?;
            tx.commit().map_err(|error| self.fail(error))?;
            Ok(value)
        })
    }

    /// Runs `work` on the writing connection outside a transaction (checkpoint, vacuum, backup).
    pub(crate) fn with_writer<T>(&self, work: impl FnOnce(&mut Connection) -> StoreResult<T>) -> StoreResult<T> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if writer.is_none() {
            *writer = Some(self.open_writer()?);
        }
        let Some(db) = writer.as_mut() else { return Err(StoreError::Missing(self.path.clone())) };
        work(db)
    }

    /// Names this database in an error of SQLite.
    pub(crate) fn fail(&self, error: rusqlite::Error) -> StoreError {
        StoreError::from_sqlite(&self.path, error)
    }

    /// Writes the whole database anew. Deleting overwrites what is deleted, but a page that was
    /// rebalanced before may hold copies of its rows in the space that it does not use; pages
    /// that are written anew hold what is there and nothing else. Takes as much space again for
    /// as long as it lasts.
    pub(crate) fn rewrite(&self) -> StoreResult<()> {
        self.with_writer(|db| db.execute_batch("VACUUM").map_err(|error| self.fail(error)))
    }

    /// Moves the log into the database and empties it.
    pub(crate) fn checkpoint(&self) -> StoreResult<()> {
        self.with_writer(|db| db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).map_err(|error| self.fail(error)))
    }

    /// SQLite's own check of the whole file: empty when it is sound.
    pub(crate) fn integrity_problems(&self) -> StoreResult<Vec<String>> {
        self.read(|db| {
            let mut problems: Vec<String> = self.collect(db, "PRAGMA integrity_check(20)", |row| row.get(0))?;
            problems.retain(|line| line != "ok");
            let foreign: Vec<String> = self.collect(db, "PRAGMA foreign_key_check", |row| {
                Ok(format!(
                    "{} row {:?} refers to a missing row of {}",
                    row.get::<_, String>(0)?,
                    row.get::<_, Option<i64>>(1)?,
                    row.get::<_, String>(2)?
                ))
            })?;
            problems.extend(foreign);
            Ok(problems)
        })
    }

    /// All rows of a statement without parameters.
    pub(crate) fn collect<T>(
        &self,
        db: &Connection,
        sql: &'static str,
        map: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> StoreResult<Vec<T>> {
        let mut statement = db.prepare_cached(sql).map_err(|error| self.fail(error))?;
        let rows = statement.query_map([], map).map_err(|error| self.fail(error))?;
        rows.collect::<rusqlite::Result<_>>().map_err(|error| self.fail(error))
    }

    fn readers(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open_reader(&self) -> StoreResult<Connection> {
        // Read-write, because a reader may have to recover the log after a crash; `query_only`
        // keeps it from writing anything else. Falls back where the directory cannot be written.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(&self.path, flags)
            .or_else(|_| {
                Connection::open_with_flags(&self.path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)
            })
            .map_err(|error| self.fail(error))?;
        // Where nothing can be written, not even what readers share can be made: SQLite is told that nobody writes.
        let is_usable = |db: &Connection| db.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()));
        let db = match is_usable(&db) {
            Err(rusqlite::Error::SqliteFailure(failure, _))
                if matches!(
                    failure.code,
                    ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::SystemIoFailure | ErrorCode::DiskFull
                ) && self.has_no_log()
                    && self.path.parent().is_some_and(|directory| !crate::platform::is_writable(directory)) =>
            {
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
                Connection::open_with_flags(self.immutable_address(), flags).map_err(|error| self.fail(error))?
            }
            _ => db,
        };
        db.busy_timeout(self.options.busy_timeout).map_err(|error| self.fail(error))?;
        db.execute_batch(
            "PRAGMA query_only = ON; PRAGMA trusted_schema = OFF; PRAGMA mmap_size = 268435456; PRAGMA cache_size = -8192;",
        )
        .map_err(|error| self.fail(error))?;
        // A cached statement is planned once, whatever is bound to it.
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(|error| self.fail(error))?;
        db.set_prepared_statement_cache_capacity(64);
        Ok(db)
    }

    /// Whether all that was written is in the database itself.
    fn has_no_log(&self) -> bool {
        self.path.with_extension("db-wal").metadata().map_or(true, |meta| meta.len() == 0)
    }

    /// The database as an address by which SQLite takes it for unchanging.
    fn immutable_address(&self) -> String {
        let path = self.path.to_string_lossy();
        let mut address = String::from("file:");
        if !path.starts_with('/') {
            address.push('/');
        }
        for byte in path.replace('\\', "/").bytes() {
            if byte.is_ascii_alphanumeric() || b"/._-:~".contains(&byte) {
                address.push(char::from(byte));
            } else {
                address.push_str(&format!("%{byte:02X}"));
            }
        }
        address + "?immutable=1"
    }

    fn open_writer(&self) -> StoreResult<Connection> {
        let directory = self.path.parent().unwrap_or(Path::new("."));
        if let Some(kind) = crate::platform::network_file_system(directory) {
            return Err(StoreError::NetworkFileSystem { path: directory.to_path_buf(), kind });
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut db = Connection::open_with_flags(&self.path, flags).map_err(|error| self.fail(error))?;
        db.busy_timeout(self.options.busy_timeout).map_err(|error| self.fail(error))?;
        db.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON;
             PRAGMA trusted_schema = OFF; PRAGMA cache_size = -32768; PRAGMA journal_size_limit = 67108864;",
        )
        .map_err(|error| self.fail(error))?;
        db.set_prepared_statement_cache_capacity(128);
        migrate::run(&mut db, &self.path, &self.options)?;
        Ok(db)
    }
}
