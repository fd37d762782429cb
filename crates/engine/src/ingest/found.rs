//! Units that were found, and how they stood.

use std::collections::HashMap;

use serde_json::Value;
use yore_core::time::UtcMillis;

use super::source::{Known, Source, Stamp, Unit};
use crate::store::{Checkpoint, FileRow, Store};

/// A unit that is to be read.
pub(super) struct FoundUnit {
    pub(super) source: &'static dyn Source,
    pub(super) unit: Unit,
    pub(super) name: String,
    /// The name as the store has it: without the secrets that somebody put into the name of a file.
    pub(super) stored: String,
    pub(super) row: Option<FileRow>,
    /// First recorded time, as text; orders units that are read for the first time.
    pub(super) began: String,
    pub(super) content: Content,
}

/// Where a unit's lines come from.
pub(super) enum Content {
    /// From the source.
    OnDisk,
    /// From whoever asked: a note, a page. The state is what he wants to know the next time.
    Given { records: Vec<Value>, state: String },
}

/// How the units of one source stood.
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
        // Only better names come from it: a store that fails here fails where it matters, too.
        self.store.project_directories().unwrap_or_default()
    }
}

/// How a unit stood when it was last read.
pub(super) fn stamp_of(at: &Checkpoint) -> Stamp {
    Stamp { size: at.size, version: at.mtime_ns }
}
