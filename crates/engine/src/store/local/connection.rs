//! [`Store`]: opens the database, and provides connections for reading and writing.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::migrate::{self, SCHEMA_VERSION};
use super::options::StoreOptions;
use super::transaction::{View, WriteTx};
use crate::platform::{FileId, Owner, close_to_writers, file_id};
use crate::store::error::{StoreError, StoreResult};

/// Name of the database in the data directory.
pub const DATABASE_FILE: &str = "yore.db";

/// Pause between two attempts to change the journal's mode.
const MODE_PAUSE: Duration = Duration::from_millis(10);

/// The database. Threads may share it freely: writes run one at a time, and reads do not wait for them.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    pub(in crate::store) options: StoreOptions,
    writer: Mutex<Option<Connection>>,
    readers: Mutex<Vec<Connection>>,
    /// Identity of the file that was opened.
    file: Option<FileId>,
}

impl Store {
    /// Opens the database in `directory`, creates both if `create` is set, and upgrades an older schema after
    /// a backup. A directory that other users may write to is made private first.
    ///
    /// # Errors
    /// [`StoreError::Missing`] without `create`; [`StoreError::OpenToOthers`] if the directory cannot be made
    /// private; every other [`StoreError`].
    pub fn open(directory: &Path, create: bool, options: StoreOptions) -> StoreResult<Self> {
        let path = directory.join(DATABASE_FILE);
        let mut store = Self { path, options, writer: Mutex::new(None), readers: Mutex::new(Vec::new()), file: None };
        let exists = store.path.metadata().map(|meta| meta.len() > 0).unwrap_or(false);
        if !exists && !create {
            return Err(StoreError::Missing(directory.to_path_buf()));
        }
        if !exists {
            crate::platform::create_private_directory(directory).map_err(|error| StoreError::from_io(directory, error))?;
        }
        if close_to_writers(directory).map_err(|error| StoreError::from_io(directory, error))? == Owner::OtherAndOpen {
            return Err(StoreError::OpenToOthers(directory.to_path_buf()));
        }
        if !exists {
            crate::platform::create_private_file(&store.path).map_err(|error| StoreError::from_io(&store.path, error))?;
            store.with_writer(|_| Ok(()))?;
            store.file = file_id(&store.path);
            return Ok(store);
        }
        store.file = file_id(&store.path);
        let version = store.with_reader(|db| migrate::check(db, &store.path))?;
        if version < SCHEMA_VERSION {
            if store.options.is_passive {
                return Err(StoreError::Older(store.path));
            }
            store.readers().clear();
            store.with_writer(|_| Ok(()))?;
        }
        Ok(store)
    }

    /// Returns whether another database is in the place of the one that was opened. Always `false` where files have
    /// no numbers.
    pub(crate) fn is_replaced(&self) -> bool {
        self.file.is_some() && file_id(&self.path) != self.file
    }

    /// Returns whether upgrades and new indexes are forbidden.
    pub(crate) fn is_passive(&self) -> bool {
        self.options.is_passive
    }

    /// Returns the compression level of the archive.
    pub(crate) fn compression_level(&self) -> i32 {
        self.options.compression_level
    }

    /// Returns the path of the database file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs `work` on a read-only connection. Each statement sees everything committed before it began.
    pub(in crate::store) fn read<T>(&self, work: impl FnOnce(&View<'_>) -> StoreResult<T>) -> StoreResult<T> {
        self.with_reader(|db| work(&View::new(db, &self.path)))
    }

    /// Runs `work` in one `BEGIN IMMEDIATE` transaction: all of it or nothing.
    pub(in crate::store) fn write<T>(&self, work: impl FnOnce(&WriteTx<'_>) -> StoreResult<T>) -> StoreResult<T> {
        self.with_writer(|db| {
            let tx = db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(|error| self.fail(error))?;
            let value = work(&WriteTx::new(&tx, &self.path))?;
            tx.commit().map_err(|error| self.fail(error))?;
            Ok(value)
        })
    }

    /// Runs `work` as [`Self::write`] does, unless anybody else writes now or the medium takes no writes; then returns false.
    pub(in crate::store) fn write_if_free(&self, work: impl FnOnce(&WriteTx<'_>) -> StoreResult<()>) -> StoreResult<bool> {
        match self.write_unless_busy(work) {
            Err(error) if error.is_unwritable() => Ok(false),
            outcome => outcome,
        }
    }

    fn write_unless_busy(&self, work: impl FnOnce(&WriteTx<'_>) -> StoreResult<()>) -> StoreResult<bool> {
        let Ok(mut writer) = self.writer.try_lock() else { return Ok(false) };
        if writer.is_none() {
            *writer = Some(self.open_writer()?);
        }
        let Some(db) = writer.as_mut() else { return Ok(false) };
        db.busy_timeout(Duration::ZERO).map_err(|error| self.fail(error))?;
        let outcome = match db.transaction_with_behavior(TransactionBehavior::Immediate) {
            Ok(tx) => {
                work(&WriteTx::new(&tx, &self.path)).and_then(|()| tx.commit().map_err(|error| self.fail(error))).map(|()| true)
            }
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Ok(false),
            Err(error) => Err(self.fail(error)),
        };
        db.busy_timeout(self.options.busy_timeout).map_err(|error| self.fail(error))?;
        outcome
    }

    pub(super) fn with_reader<T>(&self, work: impl FnOnce(&Connection) -> StoreResult<T>) -> StoreResult<T> {
        let pooled = self.readers().pop();
        let connection = match pooled {
            Some(connection) => connection,
            None => self.open_reader()?,
        };
        let result = work(&connection);
        self.readers().push(connection);
        result
    }

    /// Runs `work` on the writing connection outside a transaction (checkpoint, vacuum, backup).
    pub(super) fn with_writer<T>(&self, work: impl FnOnce(&mut Connection) -> StoreResult<T>) -> StoreResult<T> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if writer.is_none() {
            *writer = Some(self.open_writer()?);
        }
        let Some(db) = writer.as_mut() else { return Err(StoreError::Missing(self.path.clone())) };
        work(db)
    }

    /// Converts an error of SQLite, with the path of this database.
    pub(super) fn fail(&self, error: rusqlite::Error) -> StoreError {
        StoreError::from_sqlite(&self.path, error)
    }

    /// Rewrites the whole database. Deleting overwrites the deleted rows, but a page that was rebalanced
    /// earlier may hold copies of its rows in its unused space; rewritten pages hold the current rows and
    /// nothing else. Needs the same space again while it runs.
    pub(crate) fn rewrite(&self) -> StoreResult<()> {
        self.with_writer(|db| db.execute_batch("VACUUM").map_err(|error| self.fail(error)))
    }

    /// Moves the log into the database and empties it.
    pub(crate) fn checkpoint(&self) -> StoreResult<()> {
        self.with_writer(|db| db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).map_err(|error| self.fail(error)))
    }

    /// Runs SQLite's own check of the whole file; empty if it is sound.
    pub(crate) fn integrity_problems(&self) -> StoreResult<Vec<String>> {
        self.read(|view| {
            let mut problems: Vec<String> = view.column("PRAGMA integrity_check(20)", [])?;
            problems.retain(|line| line != "ok");
            let foreign: Vec<String> = view.all("PRAGMA foreign_key_check", [], |row| {
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

    pub(in crate::store) fn readers(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn open_reader(&self) -> StoreResult<Connection> {
        // The connection is read-write, because a reader may have to recover the log after a crash;
        // `query_only` prevents all other writes. It is read-only if the directory cannot be written.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(&self.path, flags)
            .or_else(|_| {
                Connection::open_with_flags(&self.path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)
            })
            .map_err(|error| self.fail(error))?;
        // Without write access, not even the memory that readers share can be created: SQLite is then told
        // that there is no writer.
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

    /// Returns whether all writes are in the database file itself.
    fn has_no_log(&self) -> bool {
        self.path.with_extension("db-wal").metadata().map_or(true, |meta| meta.len() == 0)
    }

    /// Returns the URI that makes SQLite treat the database as immutable.
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

    pub(super) fn open_writer(&self) -> StoreResult<Connection> {
        let directory = self.path.parent().unwrap_or(Path::new("."));
        if let Some(kind) = crate::platform::network_file_system(directory) {
            return Err(StoreError::NetworkFileSystem { path: directory.to_path_buf(), kind });
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut db = Connection::open_with_flags(&self.path, flags).map_err(|error| self.fail(error))?;
        db.busy_timeout(self.options.busy_timeout).map_err(|error| self.fail(error))?;
        // SQLite does not wait while it changes the journal's mode, which every process does on opening.
        let mut patience = self.options.busy_timeout.as_millis() / MODE_PAUSE.as_millis();
        while let Err(error) = db.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON;
             PRAGMA trusted_schema = OFF; PRAGMA cache_size = -32768; PRAGMA journal_size_limit = 67108864;",
        ) {
            let is_busy = matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked));
            if !is_busy || patience == 0 {
                return Err(self.fail(error));
            }
            patience -= 1;
            std::thread::sleep(MODE_PAUSE);
        }
        db.set_prepared_statement_cache_capacity(128);
        migrate::run(&mut db, &self.path, &self.options)?;
        Ok(db)
    }
}
