//! Stores source files with their checkpoints, leases and skipped lines.

use std::collections::{BTreeMap, HashSet};

use rusqlite::{Row, params};
use yore_core::id::EpisodeId;
use yore_core::time::UtcMillis;

use crate::store::keys::FileKey;
use crate::store::local::transaction::{View, WriteTx};
use crate::store::{Store, StoreError, StoreResult};

/// The progress of archiving and reading a file. `archived` is the end of the stored lines, `read` the first
/// line that must be parsed again, because a message that began there may continue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    pub generation: i64,
    pub size: u64,
    pub mtime_ns: i64,
    pub archived_bytes: u64,
    pub archived_lines: u64,
    pub read_bytes: u64,
    pub read_lines: u64,
    pub reader_state: String,
    /// Keyed hashes of the file's beginning and of the bytes before `archived_bytes`.
    pub fingerprint: Option<Vec<u8>>,
    /// Version of the redaction rules that the last lines were checked with.
    pub rules_version: u32,
    /// A directory whose lines were kept out; empty when it was not recorded.
    pub kept_out: Option<String>,
}

/// Skipped lines: (reason, detail) to (count, first line, first offset).
pub(crate) type Skips = BTreeMap<(String, String), (u64, u64, u64)>;

/// Parameters for moving a checkpoint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Advance<'a> {
    /// Owner of the lease.
    pub owner: &'a str,
    pub now: UtcMillis,
    /// True to release the lease.
    pub release: bool,
}

/// A stored file.
#[derive(Clone, Debug)]
pub(crate) struct FileRow {
    pub id: FileKey,
    pub source: String,
    pub path: String,
    pub checkpoint: Checkpoint,
    pub lease_owner: Option<String>,
    pub gone_ms: Option<UtcMillis>,
    pub last_read_ms: Option<UtcMillis>,
}

/// A source file for display.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct SourceFileSummary {
    /// Source kind.
    pub source: String,
    /// Path as it was read.
    pub path: String,
    /// Bytes that are in the archive.
    pub archived_bytes: u64,
    /// True if it is a file of lines that is read on from its last byte.
    pub grows_at_its_end: bool,
    /// Size when last read.
    pub size: u64,
    /// Modification time when last read, in nanoseconds since 1970.
    pub mtime_ns: i64,
    /// Time when the file was found missing.
    pub gone_ms: Option<UtcMillis>,
    /// Time when some of it was last read.
    pub last_read_ms: Option<UtcMillis>,
}

const FILE_COLUMNS: &str = "id, source, path, generation, size, mtime_ns, archived_bytes, archived_lines, read_bytes, read_lines, reader_state, fingerprint, lease_owner, gone_ms, rules_version, kept_out, last_read_ms";

fn file_row(row: &Row<'_>) -> rusqlite::Result<FileRow> {
    Ok(FileRow {
        id: row.get(0)?,
        source: row.get(1)?,
        path: row.get(2)?,
        checkpoint: Checkpoint {
            generation: row.get(3)?,
            size: row.get::<_, i64>(4)? as u64,
            mtime_ns: row.get(5)?,
            archived_bytes: row.get::<_, i64>(6)? as u64,
            archived_lines: row.get::<_, i64>(7)? as u64,
            read_bytes: row.get::<_, i64>(8)? as u64,
            read_lines: row.get::<_, i64>(9)? as u64,
            reader_state: row.get(10)?,
            fingerprint: row.get(11)?,
            rules_version: row.get(14)?,
            kept_out: row.get(15)?,
        },
        lease_owner: row.get(12)?,
        gone_ms: row.get(13)?,
        last_read_ms: row.get(16)?,
    })
}

impl From<FileRow> for SourceFileSummary {
    fn from(file: FileRow) -> Self {
        Self {
            source: file.source,
            path: file.path,
            archived_bytes: file.checkpoint.archived_bytes,
            grows_at_its_end: file.checkpoint.fingerprint.is_some(),
            size: file.checkpoint.size,
            mtime_ns: file.checkpoint.mtime_ns,
            gone_ms: file.gone_ms,
            last_read_ms: file.last_read_ms,
        }
    }
}

/// Something that happened to a file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FileNote<'q> {
    /// This process no longer reads it.
    Released(&'q str),
    /// It no longer exists; its content stays.
    Gone(UtcMillis),
    /// A reading of the archive counts its skipped lines again.
    CountedAgain,
    /// This pass over the archive could not read all of it: its turns are kept as if they were seen.
    Damaged(i64),
}

/// The files that a list wants.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Files<'q> {
    /// All.
    All,
    /// The one of a source with a path.
    At(&'q str, &'q str),
    /// The one of a source with a path, and its parts.
    Within(&'q str, &'q str),
    /// Those that are named after a session.
    NamedAfter(&'q str),
    /// Those with content of a session.
    OfEpisode(&'q EpisodeId),
}

impl Store {
    /// Returns files, in the order in which they were first read.
    pub(crate) fn files(&self, wanted: Files<'_>) -> StoreResult<Vec<FileRow>> {
        let list = |condition: &str| format!("SELECT {FILE_COLUMNS} FROM source_file WHERE {condition} ORDER BY id");
        self.read(|view| match wanted {
            Files::All => view.all(&list("TRUE"), [], file_row),
            Files::At(source, path) => Ok(view.find_file_in(source, path)?.into_iter().collect()),
            // `$` is the character after `#`, which precedes the name of a part.
            Files::Within(source, path) => {
                view.all(&list("source = ?1 AND (path = ?2 OR path > ?2 || '#' AND path < ?2 || '$')"), [source, path], file_row)
            }
            Files::NamedAfter(session) => {
                // Few rows contain the name; the path shows which of them are named after the session.
                let mut files = view.all(&list("instr(path, ?1) > 0"), [session], file_row)?;
                files.retain(|file| {
                    let stem = std::path::Path::new(&file.path).file_stem().and_then(std::ffi::OsStr::to_str);
                    !session.is_empty() && stem.is_some_and(|stem| stem.ends_with(session))
                });
                Ok(files)
            }
            Files::OfEpisode(episode) => view.all(
                &list("id IN (SELECT file_id FROM file_episode JOIN episode ON episode.id = episode_id WHERE episode.uid = ?1)"),
                [episode.as_bytes()],
                file_row,
            ),
        })
    }

    /// Leases a file for reading. `is_alive` returns whether the process with an owner's name still runs;
    /// `None` if another live process has the file.
    pub(crate) fn lease_file(
        &self,
        source: &str,
        path: &str,
        owner: &str,
        now: UtcMillis,
        is_alive: impl Fn(&str) -> bool,
    ) -> StoreResult<Option<FileRow>> {
        self.write(|tx| {
            tx.execute(
                "INSERT OR IGNORE INTO source_file (source, path, first_seen_ms) VALUES (?1, ?2, ?3)",
                params![source, path, now],
            )?;
            let Some(file) = tx.find_file_in(source, path)? else { return Ok(None) };
            if file.lease_owner.as_deref().is_some_and(|other| other != owner && is_alive(other)) {
                return Ok(None);
            }
            tx.execute("UPDATE source_file SET lease_owner = ?2, gone_ms = NULL WHERE id = ?1", params![file.id, owner])?;
            Ok(Some(file))
        })
    }

    /// Records what happened to files.
    pub(crate) fn note_files(&self, files: &[FileKey], what: FileNote<'_>) -> StoreResult<()> {
        if files.is_empty() {
            return Ok(());
        }
        self.write(|tx| {
            for file in files {
                match what {
                    FileNote::Released(owner) => tx.execute(
                        "UPDATE source_file SET lease_owner = NULL WHERE id = ?1 AND lease_owner = ?2",
                        params![file, owner],
                    )?,
                    FileNote::Gone(now) => {
                        tx.execute("UPDATE source_file SET gone_ms = ?2 WHERE id = ?1 AND gone_ms IS NULL", params![file, now])?
                    }
                    FileNote::CountedAgain => {
                        tx.execute("DELETE FROM skip WHERE file_id = ?1 AND reason <> 'too-long'", [file])?
                    }
                    FileNote::Damaged(pass) => {
                        tx.execute("UPDATE turn SET reading = ?2 WHERE file_id = ?1", params![file, pass])?
                    }
                };
            }
            Ok(())
        })
    }

    /// Returns the keyed hashes of the sessions and messages that were forgotten for good.
    pub(crate) fn tombstones(&self) -> StoreResult<HashSet<[u8; 16]>> {
        self.read(|view| Ok(view.column("SELECT hash FROM tombstone", [])?.into_iter().collect()))
    }
}

impl View<'_> {
    fn find_file_in(&self, source: &str, path: &str) -> StoreResult<Option<FileRow>> {
        let sql = format!("SELECT {FILE_COLUMNS} FROM source_file WHERE source = ?1 AND path = ?2");
        self.first(&sql, [source, path], file_row)
    }
}

impl WriteTx<'_> {
    /// Moves a file's checkpoint, if it has not changed since this reading began and the lease is still held.
    pub(super) fn advance_file(&self, file: &FileRow, to: &Checkpoint, advance: Advance<'_>) -> StoreResult<()> {
        let from = &file.checkpoint;
        let moved = self.execute(
            "UPDATE source_file SET generation = ?2, size = ?3, mtime_ns = ?4, archived_bytes = ?5,
                 archived_lines = ?6, read_bytes = ?7, read_lines = ?8, reader_state = ?9, fingerprint = ?10,
                 rules_version = ?11, last_read_ms = ?12, lease_owner = CASE WHEN ?13 THEN NULL ELSE lease_owner END,
                 kept_out = ?18 WHERE id = ?1 AND lease_owner = ?14 AND generation = ?15 AND archived_bytes = ?16
                 AND read_bytes = ?17",
            params![
                file.id,
                to.generation,
                to.size as i64,
                to.mtime_ns,
                to.archived_bytes as i64,
                to.archived_lines as i64,
                to.read_bytes as i64,
                to.read_lines as i64,
                to.reader_state,
                to.fingerprint,
                to.rules_version,
                advance.now,
                advance.release,
                advance.owner,
                from.generation,
                from.archived_bytes as i64,
                from.read_bytes as i64,
                to.kept_out
            ],
        )?;
        if moved == 0 { Err(StoreError::LeaseLost(file.path.clone().into())) } else { Ok(()) }
    }

    /// Counts lines that could not be read: (reason, detail) to (count, first line, first offset).
    pub(super) fn count_skips(&self, file: FileKey, skips: &Skips) -> StoreResult<()> {
        for ((reason, detail), (count, line, offset)) in skips {
            self.execute(
                "INSERT INTO skip (file_id, reason, detail, count, first_line, first_offset) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                 ON CONFLICT (file_id, reason, detail) DO UPDATE SET count = count + excluded.count",
                params![file, reason, detail, *count as i64, *line as i64, *offset as i64],
            )?;
        }
        Ok(())
    }

    /// Deletes all counts of a file that is read again from its beginning.
    pub(super) fn reset_counts(&self, file: FileKey) -> StoreResult<()> {
        for sql in ["DELETE FROM skip WHERE file_id = ?1", "DELETE FROM redaction WHERE file_id = ?1"] {
            self.execute(sql, [file])?;
        }
        Ok(())
    }

    /// Counts redactions by kind.
    pub(super) fn count_redactions(&self, file: FileKey, counts: &[(&str, u64)]) -> StoreResult<()> {
        for (kind, count) in counts.iter().filter(|(_, count)| *count > 0) {
            self.execute(
                "INSERT INTO redaction (file_id, kind, count) VALUES (?1, ?2, ?3)
                 ON CONFLICT (file_id, kind) DO UPDATE SET count = count + excluded.count",
                params![file, kind, *count as i64],
            )?;
        }
        Ok(())
    }
}
