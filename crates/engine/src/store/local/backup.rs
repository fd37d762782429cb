//! Writes, lists and verifies backups of the database, each with the key that it was written with.
//!
//! They are in `backups/store` of the data directory: `yore-MS-NUMBER.db` and `yore-MS-NUMBER.key`, named after the
//! time at which they were made in milliseconds, and a number that grows; `replaced-MS.db` is a database that a restore or repair replaced. An
//! upgrade leaves `yore.db.backup-SCHEMA` beside the database.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};
use yore_core::time::UtcMillis;

use super::migrate;
use crate::platform;
use crate::store::{DATABASE_FILE, Store, StoreError, StoreResult};

/// A backup of the database.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Backup {
    /// Path of the file.
    pub path: PathBuf,
    /// Time when it was made.
    pub made: UtcMillis,
    /// Size in bytes.
    pub bytes: u64,
}

/// Returns the directory of the backups.
pub(crate) fn directory_of(data: &Path) -> PathBuf {
    data.join("backups").join("store")
}

/// Returns the path of the key beside a backup.
pub(crate) fn key_of(backup: &Path) -> PathBuf {
    backup.with_extension("key")
}

/// Returns the backups of a data directory that can be restored, newest first. Their numbers decide: the clock may have
/// been wrong when one was made.
pub(crate) fn list(data: &Path) -> Vec<Backup> {
    // The time of an upgrade's backup is that of the file.
    let made_by_upgrade = |path: &Path, meta: &fs::Metadata| {
        let is_number = |rest: &&str| rest.bytes().all(|byte| byte.is_ascii_digit());
        path.file_name()?.to_str()?.strip_prefix("yore.db.backup-").filter(is_number)?;
        let age = meta.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
        i64::try_from(age.as_millis()).ok()
    };
    let mut found: Vec<Backup> = [directory_of(data), data.to_path_buf()]
        .iter()
        .filter_map(|directory| fs::read_dir(directory).ok())
        .flat_map(Iterator::flatten)
        .filter_map(|entry| {
            let meta = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            let made = named(&entry.path()).map(|(made, _)| made).or_else(|| made_by_upgrade(&entry.path(), &meta))?;
            Some(Backup { path: entry.path(), made, bytes: meta.len() })
        })
        .collect();
    let numbered: Vec<(u64, UtcMillis)> = found.iter().filter_map(|backup| Some((named(&backup.path)?.1, backup.made))).collect();
    // An upgrade's backup follows those that were made before it.
    let before = |made| numbered.iter().filter(|(_, at)| *at <= made).map(|(number, _)| *number).max().unwrap_or(0);
    found.sort_by_key(|backup| {
        let number = named(&backup.path).map_or_else(|| before(backup.made), |(_, number)| number);
        std::cmp::Reverse((number, backup.made))
    });
    found
}

/// Returns the time and the number of a backup from its name. Backups of older versions have no number.
fn named(path: &Path) -> Option<(UtcMillis, u64)> {
    let name = path.file_name()?.to_str()?.strip_prefix("yore-")?.strip_suffix(".db")?;
    let (made, number) = name.split_once('-').unwrap_or((name, "0"));
    Some((made.parse().ok()?, number.parse().ok()?))
}

/// Returns every file with earlier content of the database: backups, their keys, and databases that were
/// replaced or not finished.
pub(crate) fn files(data: &Path) -> Vec<PathBuf> {
    let mut found = migrate::backups(&data.join(DATABASE_FILE));
    found.extend(fs::read_dir(directory_of(data)).into_iter().flatten().flatten().map(|entry| entry.path()));
    found.sort();
    found
}

/// Returns a new path for a database that is moved away.
pub(crate) fn place_of_replaced(data: &Path, now: UtcMillis) -> PathBuf {
    directory_of(data).join(format!("replaced-{now}.db"))
}

/// How often the backups are listed until none is left.
const LISTINGS: u32 = 10;

impl Store {
    /// Copies the database, and the key beside it, to `backups/store` or to `target`; leaves no partial copy.
    /// Other processes may read and write meanwhile.
    ///
    /// # Errors
    /// [`StoreError::Backup`] if there is no room, or the database is too damaged to be copied.
    pub(crate) fn back_up(&self, target: Option<&Path>, now: UtcMillis) -> StoreResult<Backup> {
        let data = self.path().parent().unwrap_or(Path::new("."));
        let fail = |error: io::Error| StoreError::Backup { path: self.path().to_path_buf(), detail: error.to_string() };
        let target = match target {
            Some(target) => {
                let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
                fs::metadata(folder).map_err(|error| StoreError::Io { path: folder.to_path_buf(), error })?;
                target.to_path_buf()
            }
            None => {
                let directory = directory_of(data);
                if let Some(above) = directory.parent() {
                    platform::create_private_directory(above).map_err(fail)?;
                }
                platform::create_private_directory(&directory).map_err(fail)?;
                let newest = list(data).iter().filter_map(|backup| named(&backup.path)).map(|(_, number)| number).max();
                // Another process may be making one.
                (newest.unwrap_or(0) + 1..)
                    .map(|number| directory.join(format!("yore-{now}-{number}.db")))
                    .find(|path| !path.exists())
                    .unwrap_or_default()
            }
        };
        let db = Connection::open_with_flags(self.path(), OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)
            .map_err(|error| self.fail(error))?;
        db.busy_timeout(self.options.busy_timeout).map_err(|error| self.fail(error))?;
        migrate::copy_database(&db, self.path(), &target)?;
        let key = data.join("key");
        // The key of another memory, whose copy this one replaces, must not stay beside it.
        let _ = fs::remove_file(key_of(&target));
        if key.is_file() {
            let bytes = fs::read(&key).map_err(fail)?;
            platform::write_new_private_file(&key_of(&target), &bytes).map_err(fail)?;
        }
        let bytes = target.metadata().map_err(fail)?.len();
        Ok(Backup { path: target, made: now, bytes })
    }

    /// Deletes every backup, including those left by an upgrade, a restore or a repair.
    ///
    /// # Errors
    /// [`StoreError::Io`] with the first that could not be deleted.
    pub(crate) fn purge_backups(&self) -> StoreResult<Vec<PathBuf>> {
        let mut removed = Vec::new();
        // Another process that makes a backup renames it, and removes its journal: what is missing may be there by
        // another name.
        for _ in 0..LISTINGS {
            let found = self.backups();
            if found.is_empty() {
                break;
            }
            for backup in found {
                match fs::remove_file(&backup) {
                    Ok(()) => removed.push(backup),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => return Err(StoreError::from_io(&backup, error)),
                }
            }
        }
        Ok(removed)
    }

    /// Returns the backups that upgrades left beside the database.
    pub(crate) fn upgrade_backups(&self) -> Vec<PathBuf> {
        migrate::backups(self.path())
    }

    /// Returns every file with earlier content of the database.
    pub(crate) fn backups(&self) -> Vec<PathBuf> {
        self.path().parent().map(files).unwrap_or_default()
    }
}

/// Returns the problem of a database file, found by SQLite's own check, by its owner, or by `is_whole`, which
/// is called with the hash, size and data of each blob; `None` if the database can be used.
///
/// # Errors
/// [`StoreError::Newer`] and [`StoreError::Foreign`] for a database that this yore cannot use.
pub(crate) fn problem(path: &Path, is_whole: impl Fn(&[u8; 32], usize, &[u8]) -> bool) -> StoreResult<Option<String>> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let look = |db: &Connection| -> rusqlite::Result<Option<String>> {
        let told: String = db.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
        if told != "ok" {
            return Ok(Some(told));
        }
        let mut statement = db.prepare("SELECT id, hash, raw_bytes, data FROM blob")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let data = row.get_ref(3)?.as_blob()?;
            if !is_whole(&row.get(1)?, row.get::<_, i64>(2)? as usize, data) {
                return Ok(Some(format!("blob {} does not match its hash", row.get::<_, i64>(0)?)));
            }
        }
        Ok(None)
    };
    let db = match Connection::open_with_flags(path, flags) {
        Ok(db) => db,
        Err(error) => return Ok(Some(error.to_string())),
    };
    match migrate::check(&db, path) {
        // One that is too old can be repaired once it is in place.
        Ok(_) | Err(StoreError::TooOld { .. }) => {}
        Err(error @ (StoreError::Newer { .. } | StoreError::Foreign(_))) => return Err(error),
        Err(error) => return Ok(Some(error.to_string())),
    }
    look(&db).or_else(|error| Ok(Some(error.to_string())))
}

/// Replaces the database of a data directory by `source`; an existing one is moved to [`place_of_replaced`].
/// The caller makes sure that no other process uses either.
///
/// # Errors
/// [`StoreError::Io`]; the database is the old one then, or, if the computer failed between two renames,
/// intact in both other places.
pub(crate) fn put_in_place(data: &Path, source: &Path, now: UtcMillis) -> StoreResult<Option<PathBuf>> {
    let path = data.join(DATABASE_FILE);
    let fail = |path: &Path| {
        let path = path.to_path_buf();
        move |error| StoreError::from_io(&path, error)
    };
    let replaced = place_of_replaced(data, now);
    let directory = directory_of(data);
    if let Some(above) = directory.parent() {
        platform::create_private_directory(above).map_err(fail(above))?;
    }
    platform::create_private_directory(&directory).map_err(fail(&directory))?;
    let had_one = path.is_file();
    // The log is moved first: without it the database is an older, but intact one; the log would not match
    // another database.
    for ending in ["-wal", "-shm", ""] {
        let from = data.join(format!("{DATABASE_FILE}{ending}"));
        let to = directory.join(format!("replaced-{now}.db{ending}"));
        match fs::rename(&from, &to) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(StoreError::from_io(&from, error)),
        }
    }
    fs::rename(source, &path).map_err(fail(&path))?;
    platform::sync_directory(data).map_err(fail(data))?;
    Ok(had_one.then_some(replaced))
}
