//! Creates the schema and runs the numbered migrations (`user_version`), after a backup where one is needed. All due migrations
//! run forward in one transaction. A database is backed up once before the first of them that changes ground or derived tables. A
//! newer one is refused, and one that is too old for the migrations is left to `repair`.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::options::StoreOptions;
use super::transaction::WriteTx;
use crate::platform::{self, FileLock};
use crate::store::archive::merges::renew_directories;
use crate::store::error::{StoreError, StoreResult};

/// "yore" in ASCII: SQLite's application id, so that a foreign database is recognised.
const APPLICATION_ID: i32 = 0x796f_7265;

/// One step, never edited after a release.
struct Migration {
    version: i32,
    /// True if it changes ground or derived tables, so that a backup is needed.
    is_precious: bool,
    sql: &'static str,
}

/// The whole schema of [`SCHEMA_VERSION`], for a new database.
const SCHEMA: &str = include_str!("schema.sql");
/// The steps from [`OLDEST`] to [`SCHEMA_VERSION`]. Each one is also in [`SCHEMA`].
const MIGRATIONS: &[Migration] = &[
    Migration { version: 20, is_precious: true, sql: include_str!("migrations/20.sql") },
    Migration { version: 21, is_precious: true, sql: include_str!("migrations/21.sql") },
    Migration { version: 22, is_precious: false, sql: include_str!("migrations/22.sql") },
    Migration { version: 23, is_precious: false, sql: include_str!("migrations/23.sql") },
    Migration { version: 24, is_precious: false, sql: include_str!("migrations/24.sql") },
];

/// The oldest schema that the migrations start from. Older databases are rebuilt from their archive by `repair`.
const OLDEST: i32 = MIGRATIONS[0].version - 1;
/// The schema with which keys of directories have another form, and an unknown project is told apart from all projects.
const UNKNOWN_REACH: i32 = 20;
/// The schema with which causes and bases are values, and records have revisions.
const REVISIONS: i32 = 21;
/// Maximum number of copies before an upgrade gives up because another process writes during each. Opening
/// counts as writing if the other process changes the journal's mode.
const MOST_COPIES: u32 = 10;

/// The schema that this program reads and writes.
pub const SCHEMA_VERSION: i32 = MIGRATIONS[MIGRATIONS.len() - 1].version;

/// Returns the database's schema version.
///
/// # Errors
/// [`StoreError::Newer`], [`StoreError::TooOld`] or [`StoreError::Foreign`] if this yore must not change the database.
pub(super) fn check(db: &Connection, path: &Path) -> StoreResult<i32> {
    let fail = |error| StoreError::from_sqlite(path, error);
    let version: i32 = db.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(fail)?;
    let application: i32 = db.query_row("PRAGMA application_id", [], |row| row.get(0)).map_err(fail)?;
    let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(fail)?;
    if application != APPLICATION_ID && (tables > 0 || version != 0) {
        return Err(StoreError::Foreign(path.to_path_buf()));
    }
    if version > SCHEMA_VERSION {
        return Err(StoreError::Newer { path: path.to_path_buf(), found: version, known: SCHEMA_VERSION });
    }
    if (1..OLDEST).contains(&version) {
        return Err(StoreError::TooOld { path: path.to_path_buf(), found: version, oldest: OLDEST });
    }
    Ok(version)
}

/// Upgrades the database to [`SCHEMA_VERSION`], completely or not at all. If two processes try at once, the
/// second checks again inside its transaction.
pub(in crate::store) fn run(db: &mut Connection, path: &Path, options: &StoreOptions) -> StoreResult<()> {
    let fail = |error| StoreError::from_sqlite(path, error);
    if check(db, path)? == SCHEMA_VERSION {
        return Ok(());
    }
    // One process backs up and upgrades, the others then find it done. Without working locks, there is no
    // wait.
    let _turn = turn(path).ok();
    let version = check(db, path)?;
    let owes_backup = MIGRATIONS.iter().any(|step| step.version > version && step.is_precious);
    let makes_backup = version > 0 && owes_backup && options.backup_before_upgrade;
    let mut attempts = 0;
    let tx = loop {
        let commits = commits_of_others(db).map_err(fail)?;
        if makes_backup {
            back_up(db, path, version)?;
        }
        let tx = db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fail)?;
        // An older yore may have written during the copy.
        if !makes_backup || commits_of_others(&tx).map_err(fail)? == commits {
            break tx;
        }
        attempts += 1;
        if attempts == MOST_COPIES {
            return Err(StoreError::Busy(path.to_path_buf()));
        }
    };
    let version = check(&tx, path)?;
    if version == 0 {
        tx.execute_batch(SCHEMA).map_err(fail)?;
    }
    for step in MIGRATIONS.iter().filter(|step| version > 0 && step.version > version) {
        tx.execute_batch(step.sql).map_err(fail)?;
    }
    adapt_rows(&tx, path, version)?;
    tx.pragma_update(None, "application_id", APPLICATION_ID).map_err(fail)?;
    tx.pragma_update(None, "user_version", SCHEMA_VERSION).map_err(fail)?;
    tx.commit().map_err(fail)
}

/// Changes rows that a yore of schema `from` wrote to what this schema means by them. The tables are those of this schema already.
pub(super) fn adapt_rows(tx: &Transaction<'_>, path: &Path, from: i32) -> StoreResult<()> {
    let adapted = WriteTx::new(tx, path);
    if (1..UNKNOWN_REACH).contains(&from) {
        // Nobody knows where a statement holds that was extracted from a conversation of no known project.
        let sql = "UPDATE memory SET rest = json_set(rest, '$.reach', 'unknown') WHERE project_id IS NULL AND lane = 'extracted'";
        tx.execute(sql, []).map_err(|error| StoreError::from_sqlite(path, error))?;
        renew_directories(&adapted)?;
    }
    if (1..REVISIONS).contains(&from) {
        adapted.read_sentences()?;
        adapted.fill_revisions()?;
    }
    Ok(())
}

/// Returns a number that changes with each commit of another connection.
fn commits_of_others(db: &Connection) -> rusqlite::Result<i64> {
    db.query_row("PRAGMA data_version", [], |row| row.get(0))
}

/// Waits for the process that is upgrading this database.
fn turn(path: &Path) -> io::Result<FileLock> {
    let locks = path.parent().unwrap_or(Path::new(".")).join("locks");
    platform::create_private_directory(&locks)?;
    let lock = FileLock::open(&locks.join("upgrade"))?;
    lock.wait()?;
    Ok(lock)
}

/// Returns the backups beside a database, oldest schema first.
pub(in crate::store) fn backups(path: &Path) -> Vec<PathBuf> {
    let Some(directory) = path.parent() else { return Vec::new() };
    let mut found: Vec<PathBuf> = std::fs::read_dir(directory)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|candidate| {
            let name = candidate.file_name().and_then(|name| name.to_str()).unwrap_or("");
            name.starts_with("yore.db.backup-")
        })
        .collect();
    found.sort();
    found
}

/// Copies the database to `yore.db.backup-VERSION`; leaves no partial copy.
fn back_up(db: &Connection, path: &Path, version: i32) -> StoreResult<()> {
    let copied = copy_database(db, path, &path.with_file_name(format!("yore.db.backup-{version}")));
    copied.map_err(|error| match error {
        StoreError::Backup { path, detail } => {
            StoreError::Backup { path, detail: format!("needed before the upgrade: {detail}") }
        }
        other => other,
    })
}

/// Copies the database of a connection to `target`, for its owner only; leaves no partial copy.
///
/// # Errors
/// [`StoreError::Backup`] if there is no room, or a page cannot be read.
pub(super) fn copy_database(db: &Connection, path: &Path, target: &Path) -> StoreResult<()> {
    let fail = |detail: String| StoreError::Backup { path: path.to_path_buf(), detail };
    let mut partial = target.to_path_buf().into_os_string();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    let remove = |error: io::Error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) };
    std::fs::remove_file(&partial).or_else(remove).map_err(|error| fail(error.to_string()))?;
    let size =
        |pragma| db.query_row(pragma, [], |row| row.get::<_, i64>(0)).map_err(|error| StoreError::from_sqlite(path, error));
    let bytes = size("PRAGMA page_count")?.saturating_mul(size("PRAGMA page_size")?).unsigned_abs();
    // If the file system does not report its free space, the copy is tried.
    if let Ok(free) = fs4::available_space(target.parent().unwrap_or(Path::new("."))) {
        room_for(bytes, free).map_err(fail)?;
    }
    platform::create_private_file(&partial).map_err(|error| fail(error.to_string()))?;
    // The copy is written into an existing empty file, so that others can never read it, not even briefly.
    let Some(name) = partial.to_str() else { return Err(fail("the path is not UTF-8".to_owned())) };
    let made = db.execute("VACUUM INTO ?1", [name]).map_err(|error| fail(error.to_string()));
    let made = made.and_then(|_| std::fs::rename(&partial, target).map_err(|error| fail(error.to_string())));
    if made.is_err() {
        let _ = std::fs::remove_file(&partial);
    }
    made
}

/// Checks that `free` bytes are enough for a copy of a database of `bytes` and the following upgrade, whose
/// log may become as large again.
fn room_for(bytes: u64, free: u64) -> Result<(), String> {
    const MARGIN: u64 = 16 << 20;
    let needed = bytes.saturating_mul(2).saturating_add(MARGIN);
    if free >= needed {
        return Ok(());
    }
    let megabytes = |bytes: u64| bytes.div_ceil(1 << 20);
    Err(format!("it needs {} MiB on this disk, and {} MiB are free", megabytes(needed), free >> 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backup_is_not_begun_on_a_disk_that_cannot_hold_it_and_the_upgrade() {
        assert_eq!(room_for(100 << 20, 216 << 20), Ok(()));
        assert_eq!(room_for(100 << 20, 215 << 20), Err("it needs 216 MiB on this disk, and 215 MiB are free".to_owned()));
        assert!(room_for(u64::MAX, u64::MAX - 1).is_err());
    }
}
