//! Units that a discovery found, with their stored checkpoints.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;
use yore_core::time::UtcMillis;

use crate::store::{Checkpoint, FileRow, Store, StoredProject};
use yore_sources::source::{Known, Source, Stamp, Unit};

/// A unit to be read.
pub(super) struct FoundUnit {
    pub(super) source: &'static dyn Source,
    pub(super) unit: Unit,
    pub(super) name: String,
    /// The name as it is stored: secrets in the file name are redacted.
    pub(super) stored: String,
    pub(super) row: Option<FileRow>,
    /// First recorded time, as text. Units that are read for the first time are ordered by it.
    pub(super) began: String,
    pub(super) content: Content,
}

/// Origin of a unit's lines.
pub(super) enum Content {
    /// The source reads them.
    OnDisk,
    /// The caller gave them, as for a note or a page. `state` is what the caller needs the next time.
    Given { records: Vec<Value>, state: String },
}

/// Known state of the units of one source.
pub(super) struct KnownUnits<'a> {
    pub(super) source: &'static str,
    pub(super) rows: &'a HashMap<(&'a str, &'a str), &'a FileRow>,
    pub(super) now: UtcMillis,
    pub(super) store: &'a Store,
}

impl Known for KnownUnits<'_> {
    fn stamp(&self, name: &str) -> Option<Stamp> {
        let row = self.rows.get(&(self.source, name))?;
        (row.lease_owner.is_none() && row.gone_ms.is_none()).then(|| stamp_of(&row.checkpoint))
    }

    fn now(&self) -> UtcMillis {
        self.now
    }

    fn names(&self) -> Vec<&str> {
        self.rows.keys().filter(|(source, _)| *source == self.source).map(|(_, name)| *name).collect()
    }

    fn directories(&self) -> Vec<String> {
        // This only improves names. A store that fails here also fails where it matters.
        self.store.projects().map(|known| directories_of(&known)).unwrap_or_default()
    }
}

/// Returns the directories by which projects are recognised, as recorded.
pub(crate) fn directories_of(projects: &[StoredProject]) -> Vec<String> {
    let directories: BTreeSet<&String> = projects.iter().flat_map(|known| known.recorded("directory")).collect();
    directories.into_iter().cloned().collect()
}

/// Returns the stamp of a unit when it was last read.
pub(super) fn stamp_of(at: &Checkpoint) -> Stamp {
    Stamp { size: at.size, version: at.mtime_ns }
}
