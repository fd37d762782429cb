//! Checks the store, archive, indexes, key, permissions and disk for faults (`Engine::examine`, used by `yore doctor`). The
//! findings are plain facts; the caller that shows them adds the wording and the advice.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::UpkeepState;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::ingest::{Keys, damaged_blobs};
use crate::platform;
use crate::store::{BlobKey, DATABASE_FILE, RowKey, StoreError, Wanted, backup};
use yore_sources::disk::is_there;
use yore_sources::foreign::{changed_within, size_with_log};
use yore_sources::source::ReaderOptions;

/// A source that changed within this time is not reported as behind: its reader has not had the time.
const BEING_WRITTEN: Duration = Duration::from_secs(60);
/// Bytes that should be free beside a small database.
const LEAST_ROOM: u64 = 200_000_000;

/// A time that is further after now is no matter of time zones or of clocks that differ a little.
const CLOCKS_DIFFER_MS: i64 = 86_400_000;

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// As it should be.
    Fine,
    /// Worth knowing.
    Note,
    /// Something is not as it should be; nothing is lost.
    Warning,
    /// Something is broken.
    Broken,
}

/// One result of an examination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The database opens; its content was not checked.
    StoreUnchecked(PathBuf),
    /// The whole database is sound.
    StoreSound(PathBuf),
    /// The damage that SQLite reports, a line each.
    StoreDamaged(Vec<String>),
    /// The content of every blob of the archive matches its hash.
    BlobsSound,
    /// The content of these blobs does not match their hashes.
    BlobsDamaged(Vec<i64>),
    /// The archive cannot be read, and the reason.
    BlobsUnreadable(String),
    /// Every turn in the database matches the archive.
    TurnsSound,
    /// Some turns of the archive are missing from the database or have other content there.
    TurnsDiffer {
        /// Number of missing turns.
        missing: u64,
        /// Number of turns with other content.
        changed: u64,
    },
    /// The turns cannot be compared, and the reason.
    TurnsUnreadable(String),
    /// The key is not the one that the memory was written with, or cannot be read.
    KeyRefused {
        /// Message of the error.
        error: String,
        /// True if the right key would solve the problem.
        is_other: bool,
    },
    /// Some of the stored content was redacted with other rules than the current ones.
    RedactionDue,
    /// Number of source files that changed a moment ago and are not read yet.
    SourcesBeingWritten(u64),
    /// Every source was read to its end.
    SourcesRead,
    /// Number of sources that no longer exist; the archive has their content.
    SourcesGone(u64),
    /// Some sources have bytes that are not archived.
    SourcesBehind {
        /// Number of these sources.
        files: u64,
        /// Number of bytes that are not archived.
        bytes: u64,
        /// Number of other sources that no longer exist; the archive has their content.
        gone: u64,
    },
    /// The full-text index holds all turns; the number is theirs.
    IndexWhole(u64),
    /// Number of turns that wait for the full-text index.
    IndexBehind(u64),
    /// The full-text index does not hold as many turns as it should.
    IndexDiffers {
        /// Turns that it holds.
        indexed: u64,
        /// Turns that it should hold.
        expected: u64,
    },
    /// Number of damaged files of the full-text index.
    IndexFilesDamaged(usize),
    /// Number of files of the full-text index that it does not use, and that may hold removed words.
    IndexFilesDead(usize),
    /// A hard forgetting is going on, or was cut short.
    ForgettingUnfinished,
    /// A kind of upkeep failed since it was done last.
    UpkeepFails(UpkeepState),
    /// The vector indexes cannot be used, and the reason.
    VectorsUnusable(String),
    /// The index of the static table holds all turns that have words; the number is theirs.
    VectorsWhole(u64),
    /// Number of turns that wait for the vector indexes.
    VectorsBehind(u64),
    /// A vector index is damaged; the text describes the damage.
    VectorFilesDamaged(String),
    /// All turns have vectors of the local model; the number is theirs.
    Embedded(u64),
    /// Some turns have no vectors of the local model.
    Unembedded {
        /// Turns without vectors.
        waiting: u64,
        /// Turns with vectors.
        embedded: u64,
    },
    /// The local model failed on some turns.
    EmbedFailed {
        /// Number of these turns.
        turns: u64,
        /// Message of the last failure.
        error: String,
    },
    /// Only the owner can read the data directory.
    Private,
    /// Other users can read these paths.
    OpenToOthers(Vec<PathBuf>),
    /// The data directory belongs to another user, who may change it.
    OfAnother(PathBuf),
    /// Free bytes of the data directory's file system.
    DiskRoom(u64),
    /// The data directory's file system has too few free bytes to rewrite the database, or to rebuild an index.
    DiskLow {
        /// Free bytes.
        free: u64,
        /// Bytes that should be free.
        wanted: u64,
    },
    /// Number of backups from upgrades beside the database.
    UpgradeBackups(usize),
    /// Some times are more than a day after now: a clock was wrong.
    TimesToCome {
        /// Number of turns said then.
        turns: u64,
        /// Number of memories recorded, changed or found in words said then.
        memories: u64,
        /// Number of backups made then.
        backups: u64,
    },
}

impl Finding {
    /// Stable code of the thing that was checked.
    pub fn code(&self) -> &'static str {
        match self {
            Self::StoreUnchecked(_) | Self::StoreSound(_) | Self::StoreDamaged(_) => "store",
            Self::BlobsSound | Self::BlobsDamaged(_) | Self::BlobsUnreadable(_) => "archive",
            Self::TurnsSound | Self::TurnsDiffer { .. } | Self::TurnsUnreadable(_) => "turns",
            Self::KeyRefused { .. } => "key",
            Self::RedactionDue => "redaction",
            Self::SourcesBeingWritten(_) | Self::SourcesRead | Self::SourcesGone(_) | Self::SourcesBehind { .. } => {
                "archive-sources"
            }
            Self::IndexWhole(_) | Self::IndexBehind(_) | Self::IndexDiffers { .. } => "index",
            Self::IndexFilesDamaged(_) | Self::IndexFilesDead(_) => "index-files",
            Self::ForgettingUnfinished => "forgetting",
            Self::UpkeepFails(_) => "upkeep",
            Self::VectorsUnusable(_) | Self::VectorsWhole(_) | Self::VectorsBehind(_) => "vectors",
            Self::VectorFilesDamaged(_) => "vectors-files",
            Self::Embedded(_) | Self::Unembedded { .. } | Self::EmbedFailed { .. } => "embedding",
            Self::Private | Self::OpenToOthers(_) | Self::OfAnother(_) => "permissions",
            Self::DiskRoom(_) | Self::DiskLow { .. } => "disk",
            Self::UpgradeBackups(_) => "backups",
            Self::TimesToCome { .. } => "times",
        }
    }

    /// Returns the severity of the finding.
    pub fn severity(&self) -> Severity {
        match self {
            Self::StoreSound(_)
            | Self::BlobsSound
            | Self::TurnsSound
            | Self::SourcesRead
            | Self::IndexWhole(_)
            | Self::VectorsWhole(_)
            | Self::Embedded(_)
            | Self::Private
            | Self::DiskRoom(_) => Severity::Fine,
            Self::StoreUnchecked(_)
            | Self::RedactionDue
            | Self::SourcesBeingWritten(_)
            | Self::SourcesGone(_)
            | Self::IndexBehind(_)
            // The next write removes them; words that must go keep a forgetting unfinished.
            | Self::IndexFilesDead(_)
            | Self::VectorsBehind(_)
            | Self::Unembedded { .. }
            | Self::EmbedFailed { .. }
            | Self::UpgradeBackups(_)
            | Self::TimesToCome { .. } => Severity::Note,
            Self::TurnsDiffer { .. }
            | Self::TurnsUnreadable(_)
            | Self::SourcesBehind { .. }
            | Self::IndexDiffers { .. }
            | Self::IndexFilesDamaged(_)
            | Self::ForgettingUnfinished
            | Self::UpkeepFails(_)
            | Self::VectorsUnusable(_)
            | Self::VectorFilesDamaged(_)
            | Self::OfAnother(_)
            | Self::DiskLow { .. } => Severity::Warning,
            Self::StoreDamaged(_)
            | Self::BlobsDamaged(_)
            | Self::BlobsUnreadable(_)
            | Self::KeyRefused { .. }
            | Self::OpenToOthers(_) => Severity::Broken,
        }
    }
}

impl Engine {
    /// Checks everything that can be wrong. With `deep`, reads every blob, turn and index file too, as a
    /// reader with these options would read them.
    ///
    /// # Errors
    /// When the store or an index cannot be queried at all.
    pub fn examine(&self, deep: Option<&ReaderOptions>) -> Result<Vec<Finding>, EngineError> {
        let mut findings = Vec::new();
        match deep {
            Some(options) => findings.extend(self.examine_content(options)),
            None => findings.push(Finding::StoreUnchecked(self.store().path().to_path_buf())),
        }
        findings.extend(self.examine_key());
        if self.is_scan_due().unwrap_or(false) {
            findings.push(Finding::RedactionDue);
        }
        if self.owes_forgetting()? {
            findings.push(Finding::ForgettingUnfinished);
        }
        findings.extend(self.upkeep()?.into_iter().filter(UpkeepState::is_failing).map(Finding::UpkeepFails));
        findings.extend(examine_disk(self.directory()));
        self.examine_sources(&mut findings)?;
        self.examine_indexes(&mut findings)?;
        let open: Vec<PathBuf> = private_paths(self.directory())
            .into_iter()
            .filter(|path| platform::is_open_to_others(path).unwrap_or(false))
            .collect();
        findings.push(if !open.is_empty() {
            Finding::OpenToOthers(open)
        } else if platform::close_to_writers(self.directory()).is_ok_and(|owner| owner == platform::Owner::Other) {
            Finding::OfAnother(self.directory().to_path_buf())
        } else {
            Finding::Private
        });
        if self.has_embedder()
            && let Some((turns, error)) = self.store().vector_counts(None)?.failures
        {
            findings.push(Finding::EmbedFailed { turns, error });
        }
        let backups = self.store().upgrade_backups();
        if !backups.is_empty() {
            findings.push(Finding::UpgradeBackups(backups.len()));
        }
        let limit = self.now().saturating_add(CLOCKS_DIFFER_MS);
        let (turns, memories) = self.store().counts_after(limit)?;
        let backups = backup::list(self.directory()).iter().filter(|backup| backup.made > limit).count() as u64;
        if turns + memories + backups > 0 {
            findings.push(Finding::TimesToCome { turns, memories, backups });
        }
        Ok(findings)
    }

    /// Checks the database, the archive and the turns to the last byte. Damage is a finding here, never an
    /// error.
    fn examine_content(&self, options: &ReaderOptions) -> [Finding; 3] {
        let store = match self.store().integrity_problems() {
            Ok(problems) if problems.is_empty() => Finding::StoreSound(self.store().path().to_path_buf()),
            Ok(problems) => Finding::StoreDamaged(problems),
            Err(error) => Finding::StoreDamaged(vec![error.to_string()]),
        };
        let blobs = match damaged_blobs(self.store()) {
            Ok(blobs) if blobs.is_empty() => Finding::BlobsSound,
            Ok(blobs) => Finding::BlobsDamaged(blobs.into_iter().map(BlobKey::get).collect()),
            Err(error) => Finding::BlobsUnreadable(error.to_string()),
        };
        let differing = self.ingester().and_then(|ingester| Ok({ ingester }.compare(options)?));
        let turns = match differing {
            Ok(differing) if differing.missing == 0 && differing.changed == 0 => Finding::TurnsSound,
            Ok(differing) => Finding::TurnsDiffer { missing: differing.missing, changed: differing.changed },
            Err(error) => Finding::TurnsUnreadable(error.to_string()),
        };
        [store, blobs, turns]
    }

    fn examine_key(&self) -> Option<Finding> {
        match Keys::problem(self.store(), self.directory()) {
            Ok(None) => None,
            Ok(Some(problem)) => {
                let error = Keys::refused(self.store(), &self.directory().join("key"), problem);
                Some(Finding::KeyRefused { error: error.to_string(), is_other: true })
            }
            Err(error) => Some(Finding::KeyRefused { error: error.to_string(), is_other: false }),
        }
    }

    fn examine_sources(&self, findings: &mut Vec<Finding>) -> Result<(), EngineError> {
        let (mut files, mut bytes, mut gone, mut being_written) = (0u64, 0u64, 0u64, 0u64);
        for file in self.source_files()? {
            let path = Path::new(&file.path);
            // Notes and pages are not files. A part of a database exists as long as the database does.
            if !path.is_absolute() || !path.exists() && is_there(path) {
                continue;
            }
            let Ok(meta) = std::fs::metadata(path) else {
                gone += 1;
                continue;
            };
            let unread = if file.grows_at_its_end {
                meta.len().saturating_sub(file.archived_bytes)
            } else {
                // A source that is not read on from its end is archived in another form, and the log of a
                // database counts as part of its size.
                let size = size_with_log(path).unwrap_or(meta.len());
                if file.size == meta.len() { 0 } else { size.abs_diff(file.size) }
            };
            if unread == 0 {
                continue;
            }
            if changed_within(path, BEING_WRITTEN) {
                being_written += 1;
            } else {
                files += 1;
                bytes += unread;
            }
        }
        if being_written > 0 && files == 0 {
            findings.push(Finding::SourcesBeingWritten(being_written));
        }
        match (files, gone) {
            (0, 0) if being_written > 0 => {}
            (0, 0) => findings.push(Finding::SourcesRead),
            (0, gone) => findings.push(Finding::SourcesGone(gone)),
            (files, gone) => findings.push(Finding::SourcesBehind { files, bytes, gone }),
        }
        Ok(())
    }

    fn examine_indexes(&self, findings: &mut Vec<Finding>) -> Result<(), EngineError> {
        let health = self.index_health(self.store().stats(&Wanted::default())?.indexable)?;
        findings.push(if health.queued > 0 {
            Finding::IndexBehind(health.queued)
        } else if health.indexed != health.expected {
            Finding::IndexDiffers { indexed: health.indexed, expected: health.expected }
        } else {
            Finding::IndexWhole(health.indexed)
        });
        let damaged = self.damaged_index_files()?;
        if damaged > 0 {
            findings.push(Finding::IndexFilesDamaged(damaged));
        }
        let dead = self.dead_index_files()?;
        if dead > 0 {
            findings.push(Finding::IndexFilesDead(dead));
        }
        match self.vector_health() {
            Err(error) => findings.push(Finding::VectorsUnusable(error.to_string())),
            Ok(health) => {
                findings.push(match health.queued {
                    0 => Finding::VectorsWhole(health.static_turns),
                    queued => Finding::VectorsBehind(queued),
                });
                match (&health.model, health.waiting) {
                    (Some(_), 0) => findings.push(Finding::Embedded(health.embedded_turns)),
                    (Some(_), waiting) => findings.push(Finding::Unembedded { waiting, embedded: health.embedded_turns }),
                    (None, _) => {}
                }
            }
        }
        findings.extend(self.vector_damage().into_iter().map(Finding::VectorFilesDamaged));
        Ok(())
    }

    /// Removes all permissions of other users from the data directory.
    pub fn make_private(&self) -> Result<(), EngineError> {
        for path in private_paths(self.directory()) {
            platform::make_private(&path).map_err(|error| StoreError::Io { path, error })?;
        }
        Ok(())
    }
}

/// Returns the finding on the free space of a data directory's file system, also where no engine can be
/// opened; `None` where the system does not tell.
pub fn examine_disk(directory: &Path) -> Option<Finding> {
    let database = directory.join(DATABASE_FILE);
    let size = |path: &Path| path.metadata().map_or(0, |meta| meta.len());
    Some(disk(fs4::available_space(directory).ok()?, size(&database) + size(&database.with_extension("db-wal"))))
}

/// Decides whether the free bytes are enough for a database of this size: rewriting it takes its size for the
/// copy, and once more for the log.
fn disk(free: u64, database: u64) -> Finding {
    let wanted = LEAST_ROOM.max(database.saturating_mul(2));
    if free < wanted { Finding::DiskLow { free, wanted } } else { Finding::DiskRoom(free) }
}

/// Returns the data directory and its entries, all of which must be private.
fn private_paths(directory: &Path) -> Vec<PathBuf> {
    let mut paths = vec![directory.to_path_buf()];
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        paths.push(entry.path());
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disk_is_low_when_the_database_could_not_be_rewritten() {
        let mb = 1_000_000;
        assert_eq!(disk(200 * mb, 5 * mb), Finding::DiskRoom(200 * mb));
        assert_eq!(disk(199 * mb, 5 * mb), Finding::DiskLow { free: 199 * mb, wanted: 200 * mb });
        assert_eq!(disk(900 * mb, 500 * mb), Finding::DiskLow { free: 900 * mb, wanted: 1_000 * mb });
        assert_eq!(disk(0, 0).severity(), Severity::Warning);
        assert_eq!(disk(0, u64::MAX).code(), "disk");
    }
}
