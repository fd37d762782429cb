//! Stores the verdicts of code checks on memories.

use std::collections::HashMap;

use rusqlite::params;
use yore_core::memory::{AnchorVerdict, Verdict};
use yore_core::time::UtcMillis;

use crate::store::keys::{MemoryKey, json_of};
use crate::store::{Store, StoreResult};

/// A verdict as it is stored: on the whole memory, and on each thing that it speaks of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredVerdict {
    pub verdict: Verdict,
    pub found: Vec<AnchorVerdict>,
    pub at: UtcMillis,
}

impl Store {
    /// Stores verdicts; a memory without one loses the one that it had.
    pub(crate) fn put_verdicts(&self, verdicts: &[(MemoryKey, Option<StoredVerdict>)]) -> StoreResult<()> {
        self.write(|tx| {
            for (row, stored) in verdicts {
                tx.execute("DELETE FROM memory_witness WHERE memory_id = ?1", [row])?;
                let Some(stored) = stored else { continue };
                let found = serde_json::to_string(&stored.found).map_err(|error| tx.failed(error.into()))?;
                // It may have been forgotten meanwhile.
                tx.execute(
                    "INSERT INTO memory_witness (memory_id, verdict, found, at_ms)
                     SELECT id, ?2, ?3, ?4 FROM memory WHERE id = ?1",
                    params![row, stored.verdict.as_str(), found, stored.at],
                )?;
            }
            Ok(())
        })
    }

    /// Returns the verdicts on memories that are not fresh.
    pub(crate) fn verdicts_of(&self, rows: &[MemoryKey]) -> StoreResult<HashMap<MemoryKey, StoredVerdict>> {
        self.read(|view| {
            let found = view.all(
                "SELECT memory_id, verdict, found, at_ms FROM memory_witness
                 WHERE verdict <> 'fresh' AND memory_id IN (SELECT value FROM json_each(?1))",
                [json_of(rows)],
                |row| {
                    let verdict = Verdict::parse(&row.get::<_, String>(1)?).unwrap_or(Verdict::Fresh);
                    let found = serde_json::from_str(&row.get::<_, String>(2)?).unwrap_or_default();
                    Ok((row.get(0)?, StoredVerdict { verdict, found, at: row.get(3)? }))
                },
            )?;
            Ok(found.into_iter().collect())
        })
    }
}
