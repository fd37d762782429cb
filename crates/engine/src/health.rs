//! Looks at everything that can be wrong with a memory. What is found are facts; whoever tells a person finds the
//! words and the advice.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::ingest::source::ReaderOptions;
use crate::ingest::{Keys, changed_within, damaged_blobs, is_there, size_with_log};
use crate::platform;
use crate::store::{BlobKey, RowKey, StoreError};

/// Sources that changed within so much time are not said to be behind: whoever reads them has not had the time.
const BEING_WRITTEN: Duration = Duration::from_secs(60);

/// How bad a finding is.
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

/// One thing that was looked at, and how it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The database opens; what is in it was not looked at.
    StoreUnchecked(PathBuf),
    /// The whole database is sound.
    StoreSound(PathBuf),
    /// What SQLite says of damage.
    StoreDamaged(Vec<String>),
    /// Every blob of the archive holds what its hash says.
    BlobsSound,
    /// These do not.
    BlobsDamaged(Vec<i64>),
    /// The archive cannot be read, and why.
    BlobsUnreadable(String),
    /// Every turn says what the archive says.
    TurnsSound,
    /// Turns that the archive has and the database has not, and turns that say something else.
    TurnsDiffer {
        /// How many are not there.
        missing: u64,
        /// How many are different.
        changed: u64,
    },
    /// The turns cannot be compared, and why.
    TurnsUnreadable(String),
    /// The key is not the one that the memory was written with, or cannot be read.
    KeyRefused {
        /// What is wrong.
        error: String,
        /// Whether the right key would mend it.
        is_other: bool,
    },
    /// Some of what is kept was redacted with other rules than today's.
    RedactionDue,
    /// So many source files changed a moment ago and are not read yet.
    SourcesBeingWritten(u64),
    /// Every source was read to its end.
    SourcesRead,
    /// So many are gone; the archive has them.
    SourcesGone(u64),
    /// Some have bytes that are not archived.
    SourcesBehind {
        /// How many.
        files: u64,
        /// How many bytes.
        bytes: u64,
        /// How many others are gone, and archived.
        gone: u64,
    },
    /// The full-text index holds all turns: so many.
    IndexWhole(u64),
    /// So many turns wait for it.
    IndexBehind(u64),
    /// It does not hold as many turns as it should.
    IndexDiffers {
        /// That it holds.
        indexed: u64,
        /// That it should hold.
        expected: u64,
    },
    /// So many of its files are damaged.
    IndexFilesDamaged(usize),
    /// The vector indexes cannot be used, and why.
    VectorsUnusable(String),
    /// The static table's index holds so many turns, all that have words.
    VectorsWhole(u64),
    /// So many turns wait for the vector indexes.
    VectorsBehind(u64),
    /// A vector index is damaged, and how.
    VectorFilesDamaged(String),
    /// All turns have vectors of the local model: so many.
    Embedded(u64),
    /// Some do not.
    Unembedded {
        /// That lack vectors.
        waiting: u64,
        /// That have them.
        embedded: u64,
    },
    /// The local model failed on some.
    EmbedFailed {
        /// How many.
        turns: u64,
        /// What it said last.
        error: String,
    },
    /// Only the owner can read the data directory.
    Private,
    /// Others can read these.
    OpenToOthers(Vec<PathBuf>),
    /// So many backups from upgrades lie beside the database.
    UpgradeBackups(usize),
}

impl Finding {
    /// A stable code of what was looked at.
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
            Self::IndexFilesDamaged(_) => "index-files",
            Self::VectorsUnusable(_) | Self::VectorsWhole(_) | Self::VectorsBehind(_) => "vectors",
            Self::VectorFilesDamaged(_) => "vectors-files",
            Self::Embedded(_) | Self::Unembedded { .. } | Self::EmbedFailed { .. } => "embedding",
            Self::Private | Self::OpenToOthers(_) => "permissions",
            Self::UpgradeBackups(_) => "backups",
        }
    }

    /// How bad it is.
    pub fn severity(&self) -> Severity {
        match self {
            Self::StoreSound(_)
            | Self::BlobsSound
            | Self::TurnsSound
            | Self::SourcesRead
            | Self::IndexWhole(_)
            | Self::VectorsWhole(_)
            | Self::Embedded(_)
            | Self::Private => Severity::Fine,
            Self::StoreUnchecked(_)
            | Self::RedactionDue
            | Self::SourcesBeingWritten(_)
            | Self::SourcesGone(_)
            | Self::IndexBehind(_)
            | Self::VectorsBehind(_)
            | Self::Unembedded { .. }
            | Self::EmbedFailed { .. }
            | Self::UpgradeBackups(_) => Severity::Note,
            Self::TurnsDiffer { .. }
            | Self::TurnsUnreadable(_)
            | Self::SourcesBehind { .. }
            | Self::IndexDiffers { .. }
            | Self::IndexFilesDamaged(_)
            | Self::VectorsUnusable(_)
            | Self::VectorFilesDamaged(_) => Severity::Warning,
            Self::StoreDamaged(_)
            | Self::BlobsDamaged(_)
            | Self::BlobsUnreadable(_)
            | Self::KeyRefused { .. }
            | Self::OpenToOthers(_) => Severity::Broken,
        }
    }
}

impl Engine {
    /// Looks at everything that can be wrong; with `deep` every blob, turn and index file is read, as a reader with
    /// these options would read them.
    ///
    /// # Errors
    /// When the store or an index cannot be asked at all.
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
        self.examine_sources(&mut findings)?;
        self.examine_indexes(&mut findings)?;
        let open: Vec<PathBuf> = private_paths(self.directory())
            .into_iter()
            .filter(|path| platform::is_open_to_others(path).unwrap_or(false))
            .collect();
        findings.push(if open.is_empty() { Finding::Private } else { Finding::OpenToOthers(open) });
        if self.has_model_folder()
            && let Some((turns, error)) = self.store().embed_failures()?
        {
            findings.push(Finding::EmbedFailed { turns, error });
        }
        let backups = self.store().backups();
        if !backups.is_empty() {
            findings.push(Finding::UpgradeBackups(backups.len()));
        }
        Ok(findings)
    }

    /// The database, the archive and the turns, read to the last byte. Damage is never an error here: it is what is
    /// looked for.
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
        let differing = self.reader().and_then(|reader| Ok({ reader }.compare(options)?));
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
            // Notes and pages are no files, and a part of a database is there as long as that is.
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
                // What is not read on from its end is archived in another form, and what stands in a database's log
                // counts as part of it.
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
        let health = self.index_health()?;
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

    /// Takes all permissions on the data directory from others.
    pub fn make_private(&self) -> Result<(), EngineError> {
        for path in private_paths(self.directory()) {
            platform::make_private(&path).map_err(|error| StoreError::Io { path, error })?;
        }
        Ok(())
    }
}

/// The data directory and everything in it that must be private.
fn private_paths(directory: &Path) -> Vec<PathBuf> {
    let mut paths = vec![directory.to_path_buf()];
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        paths.push(entry.path());
    }
    paths
}
