//! Reads other programs' SQLite databases in place, without changing them or locking them for long.
//!
//! There are three ways to open one, depending on the files beside it:
//!
//! - nothing (or an empty log): the file does not change unless a log appears, so it is opened as immutable,
//!   without a lock, and checked again afterwards
//! - a write-ahead log and its index (`-wal`, `-shm`): opened as one more reader of the running program
//! - a log without an index (the program crashed, or this is a copy): the log is read through an index in our
//!   own memory, since the usual way would leave an index file behind; also checked again afterwards
//!
//! A rollback journal means that a transaction is in progress, so the database is read later.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use rusqlite::config::DbConfig;
use rusqlite::types::{ToSql, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::stamp::Stamp;

/// How long to wait for a busy database.
const BUSY_TIMEOUT: Duration = Duration::from_millis(1000);
/// Maximum size of a value in bytes. A longer value is not part of a conversation and is omitted.
const MAX_VALUE_BYTES: usize = 64 << 20;

/// The VFS that takes no locks. It is used only where the file is watched instead.
#[cfg(windows)]
const LOCKLESS: &str = "win32-none";
#[cfg(not(windows))]
const LOCKLESS: &str = "unix-none";

/// Another program's database, open for reading. Keep it for one enumeration or one unit only.
pub struct ForeignDatabase {
    connection: Connection,
    path: PathBuf,
    /// State of the files when the database was opened, if no lock keeps others from changing them.
    watched: Option<Files>,
}

/// One row of a query result.
pub struct Row<'r>(&'r rusqlite::Row<'r>);

impl Row<'_> {
    /// Returns a column as text: TEXT and BLOB with invalid UTF-8 replaced, numbers as written. Returns
    /// `None` for NULL, for a missing column, and for values over 64 MiB.
    pub fn text(&self, column: usize) -> Option<String> {
        match self.0.get_ref(column).ok()? {
            ValueRef::Null => None,
            ValueRef::Integer(number) => Some(number.to_string()),
            ValueRef::Real(number) => Some(number.to_string()),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) if bytes.len() > MAX_VALUE_BYTES => None,
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        }
    }

    /// Returns the bytes of a TEXT or BLOB column; `None` as for [`Row::text`].
    pub fn bytes(&self, column: usize) -> Option<&[u8]> {
        match self.0.get_ref(column).ok()? {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) if bytes.len() <= MAX_VALUE_BYTES => Some(bytes),
            _ => None,
        }
    }

    /// Returns a column as an integer. Numbers stored as text are parsed, fractions are truncated.
    pub fn integer(&self, column: usize) -> Option<i64> {
        match self.0.get_ref(column).ok()? {
            ValueRef::Integer(number) => Some(number),
            ValueRef::Real(number) if number.is_finite() => Some(number as i64),
            ValueRef::Text(bytes) => std::str::from_utf8(bytes).ok()?.trim().parse().ok(),
            _ => None,
        }
    }
}

impl ForeignDatabase {
    /// Opens a database.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`]; [`io::ErrorKind::InvalidData`] when it is not an SQLite database, or is
    /// damaged or encrypted; [`io::ErrorKind::WouldBlock`] when its program is busy with it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let path = std::path::absolute(path)?;
        let files = Files::of(&path)?;
        if files.journal {
            return Err(changing(&path));
        }
        let (query, is_alone) = match (files.log.is_some(), files.index) {
            (_, true) => ("mode=ro".to_owned(), false),
            (false, false) => ("mode=ro&immutable=1".to_owned(), true),
            (true, false) => (format!("mode=ro&vfs={LOCKLESS}"), true),
        };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(uri(&path, &query), flags).map_err(|error| explain(&path, &error))?;
        let database = Self { connection, path, watched: is_alone.then(|| files.clone()) };
        database.prepare(files.log.is_some() && is_alone).map_err(|error| database.failure(&error))?;
        Ok(database)
    }

    /// Returns the stamp of a database: size and time of the file and of its write-ahead log.
    ///
    /// # Errors
    /// When the file does not exist.
    pub fn stamp(path: &Path) -> io::Result<Stamp> {
        let files = Files::of(path)?;
        let (size, changed) = files.main;
        let (log_size, log_changed) = files.log.unwrap_or_default();
        let mut hasher = blake3::Hasher::new();
        for number in [u128::from(size), changed, u128::from(log_size), log_changed] {
            hasher.update(&number.to_le_bytes());
        }
        let mut version = [0; 8];
        hasher.finalize_xof().fill(&mut version);
        Ok(Stamp { size: size.saturating_add(log_size), version: i64::from_le_bytes(version) })
    }

    /// Returns the columns of a table or view; empty if there is none of this name.
    ///
    /// # Errors
    /// As for [`ForeignDatabase::each`].
    pub fn columns(&self, table: &str) -> io::Result<Vec<String>> {
        let mut columns = Vec::new();
        self.each("SELECT name FROM pragma_table_info(?1)", &[&table], |row| {
            columns.extend(row.text(0));
            Ok(true)
        })?;
        Ok(columns)
    }

    /// Passes the rows of a query to `take` until it returns false, in one short read transaction.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] when the program is busy with the database or changed it meanwhile (rows
    /// already passed may then be inconsistent), [`io::ErrorKind::InvalidData`] when it is damaged, and any
    /// error of `take`.
    pub fn each(&self, sql: &str, params: &[&dyn ToSql], mut take: impl FnMut(&Row<'_>) -> io::Result<bool>) -> io::Result<()> {
        let mut statement = self.connection.prepare_cached(sql).map_err(|error| self.failure(&error))?;
        let mut rows = statement.query(params).map_err(|error| self.failure(&error))?;
        while let Some(row) = rows.next().map_err(|error| self.failure(&error))? {
            if !take(&Row(row))? {
                break;
            }
        }
        self.still()
    }

    /// Returns the first column of the first row, as text.
    ///
    /// # Errors
    /// As for [`ForeignDatabase::each`].
    pub fn text(&self, sql: &str, params: &[&dyn ToSql]) -> io::Result<Option<String>> {
        let mut found = None;
        self.each(sql, params, |row| {
            found = row.text(0);
            Ok(false)
        })?;
        Ok(found)
    }

    fn prepare(&self, has_own_index: bool) -> rusqlite::Result<()> {
        let connection = &self.connection;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        // Checkpointing the log is left to the other program.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        connection.pragma_update(None, "query_only", true)?;
        connection.pragma_update(None, "temp_store", "memory")?;
        connection.pragma_update(None, "mmap_size", 0)?;
        if has_own_index {
            // Set before the first read, this keeps the index in memory, without an index file.
            connection.pragma_update_and_check(None, "locking_mode", "exclusive", |_| Ok(()))?;
        }
        // The first read shows whether the file is a database at all.
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
    }

    /// Returns an error if the files changed since they were opened, so that the rows may be inconsistent.
    fn still(&self) -> io::Result<()> {
        match &self.watched {
            Some(files) if Files::of(&self.path).as_ref().ok() != Some(files) => Err(changing(&self.path)),
            _ => Ok(()),
        }
    }

    fn failure(&self, error: &rusqlite::Error) -> io::Error {
        match self.still() {
            Ok(()) => explain(&self.path, error),
            // A file that changes while it is read without a lock looks damaged.
            Err(changing) => changing,
        }
    }
}

/// Returns the size of a file in bytes, including its write-ahead log if it is a database that has one.
pub fn size_with_log(path: &Path) -> Option<u64> {
    ForeignDatabase::stamp(path).ok().map(|stamp| stamp.size)
}

/// Returns whether a file, or its write-ahead log, changed less than `time` ago.
pub fn changed_within(path: &Path, time: Duration) -> bool {
    let Ok(files) = Files::of(path) else { return false };
    let changed = files.log.map_or(files.main.1, |(_, changed)| changed.max(files.main.1));
    let now = UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos());
    now.abs_diff(changed) <= time.as_nanos()
}

/// The files of a database: size in bytes, and time of the last change in nanoseconds since 1970.
#[derive(Clone, PartialEq, Eq)]
struct Files {
    main: (u64, u128),
    /// The write-ahead log, unless it is empty.
    log: Option<(u64, u128)>,
    /// True if the log's index exists.
    index: bool,
    /// True if a rollback journal exists and is not empty.
    journal: bool,
}

impl Files {
    fn of(path: &Path) -> io::Result<Self> {
        let facts = |path: &Path| {
            let meta = path.metadata()?;
            let changed = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            io::Result::Ok((meta.len(), changed.map_or(0, |since| since.as_nanos())))
        };
        let beside = |ending: &str| {
            let mut name = OsString::from(path);
            name.push(ending);
            facts(Path::new(&name)).ok()
        };
        Ok(Self {
            main: facts(path)?,
            log: beside("-wal").filter(|(size, _)| *size > 0),
            index: beside("-shm").is_some() && beside("-wal").is_some(),
            journal: beside("-journal").is_some_and(|(size, _)| size > 0),
        })
    }
}

/// Returns a `file:` URI with all special characters escaped.
fn uri(path: &Path, query: &str) -> String {
    let mut uri = "file://".to_owned();
    #[cfg(windows)]
    let bytes = {
        let text = path.to_string_lossy().replace('\\', "/");
        let text = match (text.strip_prefix("//?/UNC/"), text.strip_prefix("//?/")) {
            (Some(share), _) => format!("//{share}"),
            (None, Some(plain)) => plain.to_owned(),
            (None, None) => text,
        };
        if text.starts_with('/') { text } else { format!("/{text}") }.into_bytes()
    };
    #[cfg(not(windows))]
    let bytes = path.as_os_str().as_encoded_bytes();
    for &byte in bytes.iter() {
        if byte.is_ascii_alphanumeric() || b"/-._~:".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri + "?" + query
}

fn changing(path: &Path) -> io::Error {
    let why = format!("{}: its program is writing to it; it is read the next time", path.display());
    io::Error::new(io::ErrorKind::WouldBlock, why)
}

fn explain(path: &Path, error: &rusqlite::Error) -> io::Error {
    let kind = match error.sqlite_error_code() {
        // Read-only means that something must be rolled back first, which is left to the other program.
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::ReadOnly | ErrorCode::SchemaChanged) => {
            io::ErrorKind::WouldBlock
        }
        Some(ErrorCode::NotADatabase) => {
            let why = format!("{}: not a SQLite database, or an encrypted one", path.display());
            return io::Error::new(io::ErrorKind::InvalidData, why);
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::TypeMismatch | ErrorCode::TooBig) => io::ErrorKind::InvalidData,
        Some(ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => io::ErrorKind::PermissionDenied,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests;
