//! Reads from the tables of uses, operations and verdicts what the standing of memories follows from, and what sessions were given.

use std::collections::HashMap;

use yore_core::id::MemoryId;
use yore_core::memory::Verdict;
use yore_core::memory::dynamics::Reinforcement;
use yore_core::time::UtcMillis;

use crate::store::keys::hex_of;
use crate::store::{MemoryUse, Store, StoreResult};

/// The parameters of a memory's standing that are not in its outline.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Vitals {
    /// Its tags, sorted.
    pub tags: Vec<String>,
    /// How often it was used.
    pub counts: MemoryUse,
    /// The times at which it was opened, cited and confirmed.
    pub uses: Reinforcement,
    /// The verdict on the code that it speaks of; `None`: nothing was compared.
    pub code: Option<Verdict>,
}

/// A memory that a session was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gift {
    /// The memory.
    pub memory: MemoryId,
    /// The first time that it was given.
    pub at: UtcMillis,
    /// True if the session is known to have cited it.
    pub is_cited: bool,
}

impl Store {
    /// Returns the memories that a session was given, by its native id, the first one first.
    pub(crate) fn gifts_to(&self, session: &str) -> StoreResult<Vec<Gift>> {
        let sql = "SELECT memory_uid, min(at_ms) FILTER (WHERE way = 'given') AS given_ms, max(way = 'cited') FROM memory_access
                   WHERE session = ?1 AND way IN ('given', 'cited') GROUP BY memory_uid HAVING given_ms IS NOT NULL ORDER BY given_ms, memory_uid";
        let gift = |row: &rusqlite::Row<'_>| {
            Ok(Gift { memory: MemoryId::from_bytes(row.get(0)?), at: row.get(1)?, is_cited: row.get(2)? })
        };
        self.read(|view| view.all(sql, [session], gift))
    }

    /// Returns the vitals of memories; one of which nothing is known is left out.
    pub(crate) fn vitals_of(&self, memories: &[MemoryId]) -> StoreResult<HashMap<MemoryId, Vitals>> {
        let ids = hex_of(memories.iter().map(|id| id.as_bytes().as_slice()));
        self.read(|view| {
            let mut vitals: HashMap<MemoryId, Vitals> = HashMap::new();
            let timed = |sql| view.all(sql, [&ids], |row| Ok((MemoryId::from_bytes(row.get(0)?), row.get(1)?)));
            let used = view.all(
                "SELECT memory_uid, shown, opened, given, cited, accessed_ms FROM memory_use
                 WHERE memory_uid IN (SELECT unhex(value) FROM json_each(?1))",
                [&ids],
                |row| {
                    let count = |column| crate::store::archive::overview::count(row, column);
                    let (shown, opened, given, cited) = (count(1)?, count(2)?, count(3)?, count(4)?);
                    Ok((MemoryId::from_bytes(row.get(0)?), MemoryUse { shown, opened, given, cited, accessed: row.get(5)? }))
                },
            )?;
            vitals.extend(used.into_iter().map(|(id, counts)| (id, Vitals { counts, ..Vitals::default() })));
            let reinforced = |vitals: &Vitals| vitals.counts.opened + vitals.counts.cited;
            if vitals.values().any(|vitals| reinforced(vitals) > 0) {
                for (id, at) in timed(
                    "SELECT memory_uid, at_ms FROM memory_access
                     WHERE way IN ('opened', 'cited') AND memory_uid IN (SELECT unhex(value) FROM json_each(?1))",
                )? {
                    vitals.entry(id).or_default().uses.times.push(at);
                }
            }
            for vitals in vitals.values_mut() {
                vitals.uses.earlier = reinforced(vitals).saturating_sub(vitals.uses.times.len() as u64);
            }
            for (id, at) in timed(
                "SELECT uid, at_ms FROM operation_change JOIN operation ON operation.number = operation_change.operation
                 WHERE operation.kind = 'confirm' AND operation.undone_by IS NULL
                     AND operation_change.uid IN (SELECT unhex(value) FROM json_each(?1))",
            )? {
                vitals.entry(id).or_default().uses.times.push(at);
            }
            let named = |sql| view.all(sql, [&ids], |row| Ok((MemoryId::from_bytes(row.get(0)?), row.get::<_, String>(1)?)));
            for (id, tag) in named(
                "SELECT memory.uid, tag FROM memory_tag JOIN memory ON memory.id = memory_tag.memory_id
                 WHERE memory.uid IN (SELECT unhex(value) FROM json_each(?1)) ORDER BY tag",
            )? {
                vitals.entry(id).or_default().tags.push(tag);
            }
            for (id, verdict) in named(
                "SELECT memory.uid, verdict FROM memory_witness JOIN memory ON memory.id = memory_witness.memory_id
                 WHERE memory.uid IN (SELECT unhex(value) FROM json_each(?1))",
            )? {
                vitals.entry(id).or_default().code = Verdict::parse(&verdict);
            }
            Ok(vitals)
        })
    }
}
