//! Opens the database, and hands out connections.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::error::{StoreError, StoreResult};
use super::migrate::{self, SCHEMA_VERSION};
use super::options::StoreOptions;
use super::transaction::{View, WriteTx};

/// Name of the database in the data directory.
pub const DATABASE_FILE: &str = "yore.db";

/// Between two attempts to change the journal's mode.
const MODE_PAUSE: Duration = Duration::from_millis(10);

/// The database. Shared freely between threads: writes take turns, reads do not wait for them.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    pub(super) options: StoreOptions,
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

    /// Whether nothing may be upgraded or begun.
    pub(crate) fn is_passive(&self) -> bool {
        self.options.is_passive
    }

    /// How much the archive is compressed.
    pub(crate) fn compression_level(&self) -> i32 {
        self.options.compression_level
    }

    /// The database file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs `work` on a connection that only reads. Each statement sees what was committed when it began.
    pub(super) fn read<T>(&self, work: impl FnOnce(&View<'_>) -> StoreResult<T>) -> StoreResult<T> {
        self.with_reader(|db| work(&View::new(db, &self.path)))
    }

    /// Runs `work` in one `BEGIN IMMEDIATE` transaction: all of it or nothing.
    pub(super) fn write<T>(&self, work: impl FnOnce(&WriteTx<'_>) -> StoreResult<T>) -> StoreResult<T> {
        self.with_writer(|db| {
            let tx = db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(|error| self.fail(error))?;
            let value = work(&WriteTx::new(&tx, &self.path))?;
            tx.commit().map_err(|error| self.fail(error))?;
            Ok(value)
        })
    }

    fn with_reader<T>(&self, work: impl FnOnce(&Connection) -> StoreResult<T>) -> StoreResult<T> {
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

    /// Names this database in an error of SQLite.
    pub(super) fn fail(&self, error: rusqlite::Error) -> StoreError {
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

    pub(super) fn readers(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn open_reader(&self) -> StoreResult<Connection> {
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

    pub(super) fn open_writer(&self) -> StoreResult<Connection> {
        let directory = self.path.parent().unwrap_or(Path::new("."));
        if let Some(kind) = crate::platform::network_file_system(directory) {
            return Err(StoreError::NetworkFileSystem { path: directory.to_path_buf(), kind });
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut db = Connection::open_with_flags(&self.path, flags).map_err(|error| self.fail(error))?;
        db.busy_timeout(self.options.busy_timeout).map_err(|error| self.fail(error))?;
        // SQLite waits for nobody while it changes the journal's mode, which each of several that open at once does.
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
