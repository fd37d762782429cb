//! Reads from the tables of uses, operations and verdicts what the standing of memories follows from, and what sessions were given.

use std::collections::HashMap;

use rusqlite::Row;
use serde::{Deserialize, Serialize};
use yore_core::id::MemoryId;
use yore_core::memory::dynamics::Reinforcement;
use yore_core::memory::{Use, Verdict};
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
    /// The times at which it was opened, cited, confirmed, and said again by the person.
    pub uses: Reinforcement,
    /// The verdict on the code that it speaks of; `None`: nothing was compared.
    pub code: Option<Verdict>,
}

/// A use of a memory in a session, as it was logged.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct LoggedUse {
    /// The memory.
    pub memory: MemoryId,
    /// How it was used.
    pub way: Use,
    /// The time.
    pub at: UtcMillis,
    /// The session, by its native id.
    pub session: String,
    /// The question or prompt that led to it, where it was noted.
    pub question: Option<String>,
}

/// The logged uses that a caller wants.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WantedUses<'q> {
    /// Those in a session, by its native id.
    In(&'q str),
    /// Those in any of these sessions, by their native ids.
    InAny(&'q [String]),
    /// The reinforcing ones in the sessions in which a memory was used so.
    Beside(MemoryId),
}

impl Store {
    /// Returns logged uses in sessions, the oldest first.
    pub(crate) fn uses(&self, wanted: WantedUses<'_>) -> StoreResult<Vec<LoggedUse>> {
        let logged = |row: &Row<'_>| {
            let way = Use::parse(&row.get::<_, String>(1)?).unwrap_or(Use::Shown);
            Ok(LoggedUse {
                memory: MemoryId::from_bytes(row.get(0)?),
                way,
                at: row.get(2)?,
                session: row.get(3)?,
                question: row.get(4)?,
            })
        };
        let select = "SELECT memory_uid, way, at_ms, session, question FROM memory_access";
        self.read(|view| match wanted {
            WantedUses::In(session) => view.all(&format!("{select} WHERE session = ?1 ORDER BY id"), [session], logged),
            WantedUses::InAny(sessions) => {
                let sql = format!("{select} WHERE session IN (SELECT value FROM json_each(?1)) ORDER BY id");
                view.all(&sql, [serde_json::to_string(sessions).unwrap_or_default()], logged)
            }
            WantedUses::Beside(memory) => {
                let sql = format!(
                    "{select} WHERE way IN ('opened', 'cited') AND session IN (
                         SELECT session FROM memory_access WHERE memory_uid = ?1 AND way IN ('opened', 'cited')) ORDER BY id"
                );
                view.all(&sql, [memory.as_bytes()], logged)
            }
        })
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
            // The person said so again in another session: that is a confirmation. An agent's words may only repeat what it was given.
            for (id, at) in timed(
                "SELECT memory.uid, min(turn.at_ms) FROM memory
                 JOIN memory_evidence ON memory_evidence.memory_id = memory.id AND memory_evidence.position > 0
                 JOIN turn ON turn.uid = memory_evidence.turn_uid
                 WHERE memory.uid IN (SELECT unhex(value) FROM json_each(?1)) AND turn.role = 'human' AND turn.at_ms IS NOT NULL
                     AND turn.episode_id IS NOT (
                         SELECT first.episode_id FROM memory_evidence AS own JOIN turn AS first ON first.uid = own.turn_uid
                         WHERE own.memory_id = memory.id AND own.position = 0)
                 GROUP BY memory.id, turn.episode_id",
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
