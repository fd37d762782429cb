//! Makes, rotates and restores backups, repairs a damaged database, and applies new redaction rules to stored text.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use yore_core::time::UtcMillis;

use crate::engine::{Engine, EngineOptions};
use crate::error::EngineError;
use crate::ingest::{self, Keys, Observer, ReindexReport, ScanReport};
use crate::platform::{self, FileLock};
use crate::store::{Again, Backup, Content, Files, RowKey, Salvage, Store, StoreError, StoredBlob, Unused, backup};
use yore_sources::source::ReaderOptions;

/// Minimum time between two automatic backups.
const BETWEEN_BACKUPS_MS: i64 = 20 * 3600 * 1000;

/// Result of a repair: what was saved, and what was lost.
#[derive(Clone, Debug, Default)]
pub struct RepairReport {
    /// New path of the damaged database.
    pub replaced: Option<PathBuf>,
    /// Blobs of the archive that are intact.
    pub blobs: u64,
    /// Blobs that are lost.
    pub lost_blobs: u64,
    /// Sources with lost lines: path, number of lines, and true if the source still exists.
    pub lost: Vec<(String, u64, bool)>,
    /// Rows that were too damaged to keep.
    pub refused_rows: u64,
    /// Result of reading the archive again.
    pub reindex: ReindexReport,
}

impl Engine {
    /// Copies the database and its key into the data directory, or to `target`, and verifies the copy. In the
    /// data directory, only the newest `keep` backups stay.
    ///
    /// # Errors
    /// [`StoreError::Backup`] when there is no room, or the database is damaged; older backups stay then.
    pub fn back_up(&self, target: Option<&Path>, keep: usize) -> Result<Backup, EngineError> {
        let made = self.store().back_up(target, self.now())?;
        let remove = |backup: &Path| {
            let _ = fs::remove_file(backup::key_of(backup));
            fs::remove_file(backup)
        };
        if let Some(detail) = backup::problem(&made.path, is_whole)? {
            let _ = remove(&made.path);
            return Err(StoreError::Backup {
                path: self.store().path().to_path_buf(),
                detail: format!("it is damaged: {detail}"),
            }
            .into());
        }
        if target.is_none() {
            let own = backup::directory_of(self.directory());
            let kept = backup::list(self.directory()).into_iter().filter(|backup| backup.path.starts_with(&own));
            for old in kept.skip(keep.max(1)) {
                remove(&old.path).map_err(|error| StoreError::Io { path: old.path.clone(), error })?;
            }
        }
        Ok(made)
    }

    /// Does [`Engine::back_up`] if the last backup is from another day and the database was written since.
    ///
    /// # Errors
    /// As [`Engine::back_up`].
    pub fn back_up_if_due(&self, keep: usize) -> Result<Option<Backup>, EngineError> {
        if keep == 0 {
            return Ok(None);
        }
        let own = backup::directory_of(self.directory());
        let last = backup::list(self.directory()).into_iter().find(|backup| backup.path.starts_with(&own));
        let now = self.now();
        let is_due = last.is_none_or(|last| {
            // One from the future was made while the clock was wrong.
            last.made > now
                || now - last.made >= BETWEEN_BACKUPS_MS && self.written_at().is_none_or(|written| written > last.made)
        });
        if is_due && self.store().is_keyed()? { self.back_up(None, keep).map(Some) } else { Ok(None) }
    }

    /// Returns when the database or its log was last written.
    fn written_at(&self) -> Option<UtcMillis> {
        let path = self.store().path();
        let log = path.with_extension("db-wal");
        let modified = |path: &Path| {
            let since = fs::metadata(path).ok()?.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
            i64::try_from(since.as_millis()).ok()
        };
        modified(path).max(modified(&log))
    }

    /// Returns whether some stored content was never scanned with the current redaction rules.
    ///
    /// # Errors
    /// As [`Engine::scan`].
    pub fn is_scan_due(&self) -> Result<bool, EngineError> {
        Ok(self.store().is_keyed()? && !self.ingester()?.is_scanned()?)
    }

    /// Scans all stored content with the current redaction rules, and removes what older rules let through
    /// from the archive, the turns, the indexes and the backups. A dry run only reports what would be
    /// removed.
    ///
    /// # Errors
    /// Those of ingestion. The next call finishes what this one began.
    pub fn scan(
        &self,
        is_dry_run: bool,
        options: &ReaderOptions,
        observer: &mut dyn Observer,
    ) -> Result<ScanReport, EngineError> {
        const OWED: &str = "scan";
        let mut ingester = self.ingester()?;
        if !is_dry_run {
            // The marker stays until everything is done: a killed process leaves old turns and indexes
            // behind.
            self.store().set_index_state(OWED, if self.store().index_state(OWED)?.is_some() { "again" } else { "begun" })?;
        }
        let report = ingester.scan(is_dry_run, observer)?;
        if is_dry_run {
            return Ok(report);
        }
        if !report.is_clean() || self.store().index_state(OWED)?.as_deref() == Some("again") {
            self.reindex(options, observer)?;
            self.store().release(Unused::Labels)?;
            self.finish_removal()?;
        }
        ingester.note_scanned()?;
        self.store().clear_index_state(OWED)?;
        Ok(report)
    }

    /// Accepts a key other than the one the memory was written with, or a new one.
    ///
    /// # Errors
    /// The key file can be neither read nor written.
    pub fn accept_key(&self) -> Result<(), EngineError> {
        Keys::accept(self.store(), self.directory())?;
        Ok(())
    }
}

/// Returns the backups of a data directory that can be restored, newest first.
pub fn backups(directory: &Path) -> Vec<Backup> {
    backup::list(directory)
}

/// Result of a restore.
#[derive(Clone, Debug)]
pub struct Restored {
    /// The backup that was restored.
    pub from: Backup,
    /// Newer backups that are damaged.
    pub damaged: Vec<PathBuf>,
    /// New path of the database that was replaced.
    pub replaced: Option<PathBuf>,
}

/// Replaces the database by a backup: `which`, or the newest that is intact. The replaced database is kept.
/// The indexes are rebuilt. No other process may have the data directory open.
///
/// # Errors
/// [`EngineError::NoBackup`] when no backup is intact; [`EngineError::BadBackup`] when `which` is not.
pub fn restore(options: &EngineOptions, which: Option<&Path>) -> Result<Restored, EngineError> {
    let data = &options.directory;
    let _lock = lock_ingestion(data)?;
    let candidates = match which {
        None => backup::list(data),
        Some(path) => vec![named_backup(path)?],
    };
    let mut damaged = Vec::new();
    let mut chosen = None;
    let mut newer = None;
    for candidate in candidates {
        let problem = match backup::problem(&candidate.path, is_whole) {
            // Of a version that was gone back from: an older backup will do.
            Err(error @ StoreError::Newer { .. }) if which.is_none() => {
                newer = newer.or(Some(error));
                continue;
            }
            Err(StoreError::Foreign(_)) if which.is_some() => Some("it is a database, but not yore's".to_owned()),
            checked => checked?,
        };
        match problem {
            None => {
                chosen = Some(candidate);
                break;
            }
            Some(detail) if which.is_some() => return Err(EngineError::BadBackup { path: candidate.path, detail }),
            Some(_) => damaged.push(candidate.path),
        }
    }
    let Some(from) = chosen else {
        let none = EngineError::NoBackup { directory: data.clone(), damaged };
        return Err(newer.map_or(none, EngineError::from));
    };
    let now = (options.now)();
    let draft = data.join("yore.db.restoring");
    copy_private(&from.path, &draft)?;
    let replaced = backup::put_in_place(data, &draft, now)?;
    put_key(data, &backup::key_of(&from.path), now)?;
    forget_indexes(options)?;
    Ok(Restored { from, damaged, replaced })
}

/// Returns the file that a caller names as a backup, if it may be one.
fn named_backup(path: &Path) -> Result<Backup, EngineError> {
    let bad = |detail: &str| EngineError::BadBackup { path: path.to_path_buf(), detail: detail.to_owned() };
    let meta = fs::metadata(path).map_err(|error| bad(&error.to_string()))?;
    if !meta.is_file() {
        return Err(bad("it is no file"));
    }
    // SQLite takes an empty file for an empty database.
    if meta.len() == 0 {
        return Err(bad("it is empty"));
    }
    Ok(Backup { path: path.to_path_buf(), made: 0, bytes: meta.len() })
}

/// Saves the intact part of a damaged database into a new one, which replaces it, and reads the archive
/// again. The damaged database is kept. No other process may have the data directory open.
///
/// # Errors
/// Every [`StoreError`]; the damaged database then stays at its place.
pub fn repair(options: &EngineOptions, reader: &ReaderOptions, observer: &mut dyn Observer) -> Result<RepairReport, EngineError> {
    let data = &options.directory;
    let lock = lock_ingestion(data)?;
    let path = data.join(crate::store::DATABASE_FILE);
    let fail = |path: &Path| {
        let path = path.to_path_buf();
        move |error| EngineError::from(StoreError::Io { path, error })
    };
    if !path.is_file() {
        return Err(StoreError::Missing(data.clone()).into());
    }
    let place = data.join("repairing");
    match fs::remove_dir_all(&place) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(fail(&place)(error)),
        _ => {}
    }
    let salvage = Salvage::open(&path)?;
    let saved = {
        let store = Store::open(&place, true, options.store.clone())?;
        let saved = salvage.save_into(&store, content_of, empty_lines)?;
        store.checkpoint()?;
        saved
    };
    drop(salvage);
    let replaced = backup::put_in_place(data, &place.join(crate::store::DATABASE_FILE), (options.now)())?;
    let _ = fs::remove_dir_all(&place);
    drop(lock);
    forget_indexes(options)?;
    let engine = Engine::open(options.clone())?;
    let (reindex, _) = engine.reindex(reader, observer)?;
    let files: BTreeMap<i64, String> =
        engine.store().files(Files::All)?.into_iter().map(|file| (file.id.get(), file.path)).collect();
    let lost = saved.lost_lines.iter().map(|(file, lines)| {
        let path = files.get(file).cloned().unwrap_or_else(|| format!("file {file}"));
        let is_there = Path::new(&path).exists();
        (path, *lines, is_there)
    });
    Ok(RepairReport {
        replaced,
        blobs: saved.blobs,
        lost_blobs: saved.lost_blobs.len() as u64,
        lost: lost.collect(),
        refused_rows: saved.refused_rows,
        reindex,
    })
}

/// Returns whether the content of a blob matches its hash.
fn is_whole(hash: &[u8; 32], raw_bytes: usize, data: &[u8]) -> bool {
    ingest::unpack(data, raw_bytes, hash).is_some()
}

/// Returns the content that a blob's data decompresses to, ignoring what its row claims.
fn content_of(data: &[u8]) -> Option<Content> {
    let bytes = ingest::decompressed(data)?;
    let lines = memchr::memchr_iter(b'\n', &bytes).count() as i64 + 1;
    Some(Content { hash: *blake3::hash(&bytes).as_bytes(), raw_bytes: bytes.len(), lines })
}

/// Makes a blob of `count` empty lines.
fn empty_lines(count: u32) -> StoredBlob {
    let raw = vec![b'\n'; count.saturating_sub(1) as usize];
    let data = zstd::bulk::compress(&raw, 1).unwrap_or_default();
    StoredBlob { hash: *blake3::hash(&raw).as_bytes(), raw_bytes: raw.len(), data }
}

fn lock_ingestion(data: &Path) -> Result<FileLock, EngineError> {
    let locks = data.join("locks");
    let fail = |error| StoreError::Io { path: locks.clone(), error };
    platform::create_private_directory(&locks).map_err(fail)?;
    Ok(ingest::lock_ingestion(&locks, &|| false).map_err(fail)?)
}

/// Marks the indexes to be rebuilt: they may hold turns that the database lacks.
fn forget_indexes(options: &EngineOptions) -> Result<(), EngineError> {
    let store = Store::open(&options.directory, false, options.store.clone())?;
    store.clear_index_state("lexical")?;
    store.clear_index_state("vectors")?;
    store.queue_again(Again::Text)?;
    store.checkpoint()?;
    Ok(())
}

/// Copies a file so that only its owner can read it; leaves no partial copy.
fn copy_private(from: &Path, to: &Path) -> Result<(), EngineError> {
    let copy = || -> io::Result<()> {
        match fs::remove_file(to) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        platform::create_private_file(to)?;
        let mut target = fs::OpenOptions::new().write(true).open(to)?;
        io::copy(&mut fs::File::open(from)?, &mut target)?;
        target.sync_all()
    };
    copy().map_err(|error| {
        let _ = fs::remove_file(to);
        if matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
            StoreError::DiskFull(to.to_path_buf()).into()
        } else {
            StoreError::Io { path: to.to_path_buf(), error }.into()
        }
    })
}

/// Puts a backup's key beside its database; a different key is kept beside the replaced database.
fn put_key(data: &Path, key: &Path, now: UtcMillis) -> Result<(), EngineError> {
    let fail = |error| EngineError::from(StoreError::Io { path: data.join("key"), error });
    let Ok(wanted) = fs::read(key) else { return Ok(()) };
    let own = data.join("key");
    if fs::read(&own).is_ok_and(|bytes| bytes == wanted) {
        return Ok(());
    }
    if own.exists() {
        fs::rename(&own, backup::key_of(&backup::place_of_replaced(data, now))).map_err(fail)?;
    }
    platform::write_new_private_file(&own, &wanted).map_err(fail)
}
