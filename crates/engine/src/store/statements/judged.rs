//! Records which memories a model has compared.

use rusqlite::params;
use yore_core::memory::{MemoryKind, Outdated, Status};
use yore_core::time::UtcMillis;

use super::operations::{OperationTx, TO_COMPARE};
use crate::store::keys::{MemoryKey, ProjectKey};
use crate::store::{Store, StoreResult};

/// A memory that no model has compared yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnjudgedMemory {
    pub row: MemoryKey,
    pub project: Option<ProjectKey>,
    /// True if it holds or is contested.
    pub is_in_effect: bool,
}

/// Memories that were compared with others.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Compared<'q> {
    /// These, by a model.
    ByModel(&'q [MemoryKey]),
    /// Those that held again since others were forgotten for good.
    Freed,
}

impl Store {
    /// Returns the memories that no model has compared yet (`again`: all), of the kinds that may be replaced or closed, by project and in
    /// the order in which they were recorded.
    pub(crate) fn unjudged_memories(&self, again: bool) -> StoreResult<Vec<UnjudgedMemory>> {
        let kinds = MemoryKind::ALL.iter().filter(|kind| kind.when_outdated() != Outdated::Kept);
        let kinds = serde_json::Value::from(kinds.map(|kind| kind.as_str()).collect::<Vec<_>>()).to_string();
        self.read(|view| {
            view.all(
                "SELECT id, project_id, status IN (?2, ?3) FROM memory
                 WHERE kind IN (SELECT value FROM json_each(?1)) AND (?4 OR id NOT IN (SELECT memory_id FROM memory_judged))
                 ORDER BY project_id, id",
                params![kinds, Status::Holds.as_str(), Status::Contested.as_str(), again],
                |row| Ok(UnjudgedMemory { row: row.get(0)?, project: row.get(1)?, is_in_effect: row.get(2)? }),
            )
        })
    }

    /// Notes that memories were compared.
    pub(crate) fn note_compared(&self, what: Compared<'_>, at: UtcMillis) -> StoreResult<()> {
        self.write(|tx| match what {
            Compared::ByModel(rows) => rows.iter().try_for_each(|row| tx.note_judged(*row, at)),
            Compared::Freed => tx.execute("DELETE FROM index_state WHERE name = ?1", [TO_COMPARE]).map(drop),
        })
    }
}

impl crate::store::local::transaction::WriteTx<'_> {
    fn note_judged(&self, row: MemoryKey, at: UtcMillis) -> StoreResult<()> {
        // It may have been forgotten meanwhile.
        self.execute(
            "INSERT OR REPLACE INTO memory_judged (memory_id, at_ms) SELECT id, ?2 FROM memory WHERE id = ?1",
            params![row, at],
        )
        .map(drop)
    }
}

impl OperationTx<'_, '_> {
    /// Notes that memories were compared, together with what came of it.
    pub(crate) fn note_compared(&self, rows: &[MemoryKey], at: UtcMillis) -> StoreResult<()> {
        rows.iter().try_for_each(|row| self.write().note_judged(*row, at))
    }
}
