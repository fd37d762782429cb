//! Reads memories for answers, with their evidence and the memories that superseded them.

use std::ops::Deref;

use rusqlite::{Row, params};
use yore_core::conflict::ChangeGrade;
use yore_core::entity::key_of;
use yore_core::id::{EntityId, MemoryId, TurnId};
use yore_core::memory::Memory;
use yore_core::operation::Record;
use yore_core::query::MemoryConditions;
use yore_core::relation::{Basis, Node};
use yore_core::time::UtcMillis;

use super::memories::{COLUMNS, FROM, memory_of};
use crate::store::keys::{EpisodeKey, ItemKey, MemoryKey, ProjectKey, RowKey, TurnKey, hex_of, json_of};
use crate::store::local::transaction::View;
use crate::store::{Store, StoreResult};

/// Number up to which relations of a node are counted.
const MOST_COUNTED: i64 = 1_000;

/// A turn that is evidence of a memory.
#[derive(Clone, Debug)]
pub(crate) struct EvidenceRow {
    /// Row of the memory.
    pub memory: MemoryKey,
    /// Its row.
    pub key: TurnKey,
    /// Its id.
    pub turn: TurnId,
    /// The session in which it was said.
    pub episode: EpisodeKey,
    /// True if its session is forgotten softly.
    pub is_forgotten: bool,
    /// When it was said.
    pub at: Option<UtcMillis>,
    /// The branch on which it was said, unless that was merged since.
    pub branch: Option<String>,
}

/// A memory of the past.
#[derive(Clone, Debug)]
pub(crate) enum Past {
    /// A memory as it stood then.
    Itself(Box<Memory>),
    /// The one that stood in the place of a memory then, and was undone since: it is in the log alone.
    UndoneSuccessorOf(MemoryId),
}

/// The memories whose evidence a caller wants.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EvidenceOf<'q> {
    Keys(&'q [MemoryKey]),
    Memory(MemoryId),
}

/// The outlines that a caller wants.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Outlines<'q> {
    /// The outlines of these memories, in their order.
    Keys(&'q [MemoryKey]),
    /// The outlines of these memories that hold or are contested, in their order.
    Ids(&'q [MemoryId]),
    /// The latest memories about an entity, at most so many.
    About(EntityId, usize),
    /// The latest memories that were recorded after one, at most so many.
    After(MemoryKey, usize),
    /// The memories of projects (`None`: of all) that hold or are contested, and those that hold everywhere: the last recorded ones, at most so
    /// many.
    InEffect(Option<&'q [ProjectKey]>, usize),
}

/// The outlines with names of projects that a caller wants.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Named<'q> {
    /// These memories.
    Keys(&'q [MemoryKey]),
    /// The memory that took the place of another, the last one stated.
    SuccessorOf(MemoryId),
    /// The memories whose place one took, before a time if one is given, the last ones first, at most so many.
    PredecessorsOf(MemoryId, Option<UtcMillis>, usize),
    /// The memories that hold and were recorded after one, the earliest first, at most so many.
    HoldingAfter(MemoryKey, usize),
}

/// Facts about all memories and entities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StatementFacts {
    /// Number of memories.
    pub memories: usize,
    /// The memory that was recorded last.
    pub last: MemoryKey,
    pub has_entities: bool,
    /// True if an answer has some memories only if it is asked for their status.
    pub has_unlisted: bool,
}

/// Numbers of which one changes with each change of memories, entities and relations, and when something is forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryStamp {
    operation: i64,
    changed: UtcMillis,
    memories: i64,
    forgotten_episodes: i64,
}

/// The entities whose names a caller wants.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EntityNames<'q> {
    /// Those that a memory is about, the heaviest first.
    OfMemory(MemoryId),
    /// Those that these memories are about, by name, each looked for by the whole id of its memory.
    OfMemories(&'q [MemoryId]),
    /// Those with these names or aliases.
    Known(&'q [String]),
}

/// An entity with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EntityName {
    /// The name in the form that is compared, or its own one.
    pub looked_for: String,
    pub id: EntityId,
    pub name: String,
    /// Number of its relations, those from it and those to it each counted up to a limit.
    pub degree: usize,
}

/// A memory without its tags, evidence and anchors, to be compared with others: it cannot be stored.
#[derive(Clone, Debug)]
pub(crate) struct MemoryOutline(Memory);

impl MemoryOutline {
    /// Returns the outline of a whole memory.
    pub(crate) fn of(memory: Memory) -> Self {
        Self(memory)
    }
}

impl Deref for MemoryOutline {
    type Target = Memory;

    fn deref(&self) -> &Memory {
        &self.0
    }
}

/// A memory with the name of its project.
pub(crate) type NamedMemory = (Memory, Option<String>);

impl View<'_> {
    /// Returns the turns that are evidence of a memory, whether or not they are still there.
    pub(super) fn evidence_ids(&self, memory: MemoryId) -> StoreResult<Vec<TurnId>> {
        self.all(
            "SELECT turn_uid FROM memory_evidence JOIN memory ON memory.id = memory_id WHERE memory.uid = ?1",
            [memory.as_bytes()],
            |row| row.get(0).map(TurnId::from_bytes),
        )
    }
}

impl View<'_> {
    /// Returns memories without their tags, evidence and anchors. Those that are gone are left out.
    pub(crate) fn outlines(&self, wanted: Outlines<'_>) -> StoreResult<Vec<MemoryOutline>> {
        let found = match wanted {
            Outlines::Keys(keys) => {
                let sql = format!("SELECT {COLUMNS} {FROM} WHERE memory.id = ?1");
                keys.iter().filter_map(|key| self.first(&sql, [key], memory_of).transpose()).collect::<StoreResult<_>>()?
            }
            Outlines::Ids(ids) => {
                let sql = format!("SELECT {COLUMNS} {FROM} WHERE memory.uid = ?1 AND memory.status IN ('holds', 'contested')");
                let one = |id: &MemoryId| self.first(&sql, [id.as_bytes()], memory_of).transpose();
                ids.iter().filter_map(one).collect::<StoreResult<_>>()?
            }
            Outlines::About(entity, limit) => {
                let sql = format!(
                    "SELECT {COLUMNS} FROM relation JOIN memory ON memory.uid = relation.from_key
                     LEFT JOIN project ON project.id = memory.project_id
                     WHERE relation.to_key = ?1 AND relation.to_kind = 'entity' AND relation.from_kind = 'memory'
                         AND relation.type = 'about'
                     ORDER BY relation.id DESC LIMIT ?2"
                );
                self.all(&sql, params![entity.as_bytes(), limit as i64], memory_of)?
            }
            Outlines::After(key, limit) => {
                let sql = format!("SELECT {COLUMNS} {FROM} WHERE memory.id > ?1 ORDER BY memory.id DESC LIMIT ?2");
                self.all(&sql, params![key, limit as i64], memory_of)?
            }
            Outlines::InEffect(projects, limit) => {
                let sql = format!(
                    "SELECT {COLUMNS} {FROM} WHERE memory.status IN ('holds', 'contested')
                         AND (?1 IS NULL OR memory.project_id IN (SELECT value FROM json_each(?1))
                             OR memory.project_id IS NULL AND json_extract(memory.rest, '$.reach') IS NULL)
                     ORDER BY memory.recorded_ms DESC, memory.id DESC LIMIT ?2"
                );
                self.all(&sql, params![projects.map(json_of), limit as i64], memory_of)?
            }
        };
        Ok(found.into_iter().map(|(_, memory)| MemoryOutline(memory)).collect())
    }

    /// Returns the turns that are evidence of memories, as far as they are still there, in the order of the evidence.
    pub(crate) fn evidence_of(&self, memories: EvidenceOf<'_>) -> StoreResult<Vec<EvidenceRow>> {
        let (keys, condition) = match memories {
            EvidenceOf::Keys(keys) => (json_of(keys), "memory.id IN (SELECT value FROM json_each(?1))"),
            EvidenceOf::Memory(id) => {
                (hex_of(std::iter::once(id.as_bytes().as_slice())), "memory.uid IN (SELECT unhex(value) FROM json_each(?1))")
            }
        };
        let sql = format!(
            "SELECT memory.id, turn.id, turn.uid, episode.id, episode.forgotten_ms IS NOT NULL, turn.at_ms,
                 CASE WHEN merged_branch.at_ms >= coalesce(turn.at_ms, 0) THEN NULL ELSE label.text END
             FROM memory JOIN memory_evidence ON memory_evidence.memory_id = memory.id
             JOIN turn ON turn.uid = turn_uid JOIN episode ON episode.id = turn.episode_id
             LEFT JOIN label ON label.id = turn.branch_id
             LEFT JOIN merged_branch ON merged_branch.project_id = memory.project_id AND merged_branch.branch_id = turn.branch_id
             WHERE {condition} ORDER BY memory.id, memory_evidence.position"
        );
        self.all(&sql, [keys], |row| {
            Ok(EvidenceRow {
                memory: row.get(0)?,
                key: row.get(1)?,
                turn: TurnId::from_bytes(row.get(2)?),
                episode: row.get(3)?,
                is_forgotten: row.get(4)?,
                at: row.get(5)?,
                branch: row.get(6)?,
            })
        })
    }
}

/// How another memory stands to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stands {
    /// They contradict each other.
    Against,
    /// The later of the two likely changes the earlier, or may do so.
    Change(ChangeGrade),
    /// The other holds in general, this one in a special case of it.
    Above,
    /// The other is a special case of this one.
    Below,
}

/// A memory in effect that another one is related to.
#[derive(Clone, Debug)]
pub(crate) struct Beside {
    pub row: MemoryKey,
    pub memory: Memory,
    pub standing: Stands,
    /// Why it was stated.
    pub reason: Option<String>,
}

impl Store {
    /// Returns memories without their tags, evidence and anchors. Those that are gone are left out.
    pub(crate) fn outlines(&self, wanted: Outlines<'_>) -> StoreResult<Vec<MemoryOutline>> {
        self.read(|view| view.outlines(wanted))
    }

    /// Returns memories with the names of their projects, without tags, evidence and anchors. Those that are gone are left out.
    pub(crate) fn named_outlines(&self, wanted: Named<'_>) -> StoreResult<Vec<(MemoryKey, NamedMemory)>> {
        let select = |from: &str| {
            format!("SELECT {COLUMNS}, project.name AS project_name {from} LEFT JOIN project ON project.id = memory.project_id")
        };
        let superseding = "type = 'supersedes' AND from_kind = 'memory' AND to_kind = 'memory'";
        let latest = "ORDER BY relation.recorded_ms DESC, relation.id DESC";
        let named = |row: &Row<'_>| {
            let (key, memory) = memory_of(row)?;
            Ok((MemoryKey::new(key), (memory, row.get("project_name")?)))
        };
        self.read(|view| match wanted {
            Named::Keys(keys) => {
                let sql = format!("{} WHERE memory.id IN (SELECT value FROM json_each(?1))", select("FROM memory"));
                view.all(&sql, [json_of(keys)], named)
            }
            Named::SuccessorOf(id) => {
                let from = select("FROM relation JOIN memory ON memory.uid = from_key");
                view.all(&format!("{from} WHERE to_key = ?1 AND {superseding} {latest} LIMIT 1"), [id.as_bytes()], named)
            }
            Named::PredecessorsOf(id, before, limit) => {
                let from = select("FROM relation JOIN memory ON memory.uid = to_key");
                let sql = format!(
                    "{from} WHERE from_key = ?1 AND {superseding} AND (?3 IS NULL OR relation.recorded_ms < ?3) {latest} LIMIT ?2"
                );
                view.all(&sql, params![id.as_bytes(), limit as i64, before], named)
            }
            Named::HoldingAfter(key, limit) => {
                let from = select("FROM memory");
                let sql = format!("{from} WHERE memory.id > ?1 AND memory.status = 'holds' ORDER BY memory.id LIMIT ?2");
                view.all(&sql, params![key, limit as i64], named)
            }
        })
    }

    /// Returns the turns that are evidence of memories, as far as they are still there, in the order of the evidence.
    pub(crate) fn evidence_of(&self, memories: EvidenceOf<'_>) -> StoreResult<Vec<EvidenceRow>> {
        self.read(|view| view.evidence_of(memories))
    }

    /// Returns facts about all memories and entities; memories are counted up to `limit`.
    pub(crate) fn statement_facts(&self, limit: usize) -> StoreResult<StatementFacts> {
        self.read(|view| {
            let has = |sql| view.exists(sql, []);
            Ok(StatementFacts {
                memories: view.count("SELECT count(*) FROM (SELECT 1 FROM memory LIMIT ?1)", [limit as i64])? as usize,
                last: view.value("SELECT coalesce(max(id), 0) FROM memory", [])?,
                has_entities: has("SELECT 1 FROM entity")?,
                has_unlisted: has("SELECT 1 FROM memory WHERE status = 'archived'")?
                    || has("SELECT 1 FROM memory WHERE status = 'proposed'")?,
            })
        })
    }

    /// Returns the numbers by which a caller sees that something about memories changed.
    pub(crate) fn memory_stamp(&self) -> StoreResult<MemoryStamp> {
        let sql = "SELECT (SELECT coalesce(max(number), 0) FROM operation), (SELECT coalesce(max(changed_ms), 0) FROM memory),
                       (SELECT count(*) FROM memory), (SELECT count(*) FROM episode WHERE forgotten_ms IS NOT NULL)";
        let stamp = |row: &Row<'_>| {
            let (operation, changed) = (row.get(0)?, row.get(1)?);
            Ok(MemoryStamp { operation, changed, memories: row.get(2)?, forgotten_episodes: row.get(3)? })
        };
        self.read(|view| view.one(sql, [], stamp))
    }

    /// Returns entities with the names by which they were looked for: their own, or that of the alias. `with_degrees`: with the numbers of their
    /// relations, which are 0 otherwise.
    pub(crate) fn entity_names(&self, wanted: EntityNames<'_>, with_degrees: bool) -> StoreResult<Vec<EntityName>> {
        let named = |row: &Row<'_>| {
            Ok(EntityName {
                looked_for: row.get(0)?,
                id: EntityId::from_bytes(row.get(1)?),
                name: row.get(2)?,
                degree: row.get::<_, u32>(3)? as usize,
            })
        };
        // An id is that of one node, and the indexes alone answer if no kind is asked for.
        let degree = format!(
            "iif(?2, (SELECT count(*) FROM (SELECT 1 FROM relation WHERE from_key = entity.uid LIMIT {MOST_COUNTED}))
                 + (SELECT count(*) FROM (SELECT 1 FROM relation WHERE to_key = entity.uid LIMIT {MOST_COUNTED})), 0)"
        );
        self.read(|view| match wanted {
            EntityNames::OfMemory(memory) => view.all(
                &format!(
                    "SELECT entity.name, entity.uid, entity.name, {degree} FROM relation JOIN entity ON entity.uid = to_key
                     WHERE from_key = ?1 AND from_kind = 'memory' AND to_kind = 'entity' ORDER BY relation.weight DESC, entity.name"
                ),
                params![memory.as_bytes(), with_degrees],
                named,
            ),
            EntityNames::OfMemories(memories) => view.all(
                &format!(
                    "SELECT lower(hex(from_key)), entity.uid, entity.name, {degree} FROM relation JOIN entity ON entity.uid = to_key
                     WHERE from_key IN (SELECT unhex(value) FROM json_each(?1)) AND from_kind = 'memory' AND to_kind = 'entity'
                         AND type = 'about' ORDER BY entity.name"
                ),
                params![hex_of(memories.iter().map(|id| id.as_bytes().as_slice())), with_degrees],
                named,
            ),
            EntityNames::Known(names) => {
                let keys: Vec<String> = names.iter().map(|name| key_of(name)).collect();
                view.all(
                    &format!(
                        "SELECT name_key, uid, name, {degree} FROM entity WHERE name_key IN (SELECT value FROM json_each(?1))
                         UNION SELECT alias_key, uid, name, {degree} FROM entity_alias JOIN entity ON entity.id = entity_id
                         WHERE alias_key IN (SELECT value FROM json_each(?1))"
                    ),
                    params![serde_json::Value::from(keys).to_string(), with_degrees],
                    named,
                )
            }
        })
    }

    /// Returns a memory as the log of operations has it at a time; `None` if there was none.
    pub(crate) fn past_memory(&self, wanted: Past, at: UtcMillis) -> StoreResult<Option<Memory>> {
        match wanted {
            Past::Itself(memory) => self.memory_as_of(*memory, at),
            Past::UndoneSuccessorOf(id) => self.undone_successor(id, at),
        }
    }

    /// Returns a memory as it stood at a time, by the operations that changed it since; `None` if it was not recorded
    /// yet, or was taken back at that time.
    fn memory_as_of(&self, memory: Memory, at: UtcMillis) -> StoreResult<Option<Memory>> {
        if memory.recorded >= at {
            return Ok(None);
        }
        let change: Option<(Option<String>, bool)> = self.read(|view| {
            view.first(
                "SELECT before, is_forgotten = 0 AND operation.kind NOT IN ('import', 'extract') FROM operation_change JOIN operation ON operation.number = operation_change.operation
                 WHERE uid = ?1 AND at_ms >= ?2 ORDER BY operation_change.operation LIMIT 1",
                params![memory.id.as_bytes(), at],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
        })?;
        match change {
            Some((Some(before), _)) => {
                if let Ok(Record::Memory(before)) = serde_json::from_str::<Record>(&before) {
                    return Ok(Some(*before));
                }
            }
            // An operation brought it back that had been undone: at that time it was not there.
            Some((None, true)) => return Ok(None),
            // An import brings a record from elsewhere, where it was there before; what was extracted was said before.
            Some((None, false)) | None => {}
        }
        Ok(Some(memory.as_of(at)))
    }

    /// Returns the memory that stood in the place of another at a time, and was undone since: it is in the log alone.
    fn undone_successor(&self, of: MemoryId, at: UtcMillis) -> StoreResult<Option<Memory>> {
        self.read(|view| {
            let record: Option<String> = view.first_value(
                "SELECT later.before FROM operation_change AS mine
                 JOIN operation_change AS made ON made.operation = mine.operation AND made.uid <> mine.uid AND made.kind IN ('m', 'memory')
                 JOIN operation_change AS later ON later.uid = made.uid AND later.before IS NOT NULL
                 JOIN operation ON operation.number = later.operation AND operation.at_ms >= ?2
                 WHERE mine.uid = ?1 AND NOT EXISTS (SELECT 1 FROM memory WHERE memory.uid = made.uid)
                     AND mine.operation = (
                         SELECT max(change.operation) FROM operation_change AS change
                         JOIN operation AS earlier ON earlier.number = change.operation WHERE change.uid = ?1 AND earlier.at_ms < ?2)
                 ORDER BY later.operation LIMIT 1",
                params![of.as_bytes(), at],
            )?;
            Ok(record.and_then(|record| match serde_json::from_str(&record) {
                Ok(Record::Memory(memory)) => Some(*memory),
                _ => None,
            }))
        })
    }

    /// Returns the memories in effect that a memory contradicts, likely changes or is likely changed by, qualifies, or is qualified by, the
    /// latest relation first: without tags, evidence and anchors.
    pub(crate) fn beside(&self, memory: MemoryId, limit: usize) -> StoreResult<Vec<Beside>> {
        let sql = format!(
            "SELECT {COLUMNS}, beside.type AS beside_type, beside.is_own AS beside_is_own, beside.reason AS beside_reason,
                 beside.basis AS beside_basis FROM (
                 SELECT to_key AS key, recorded_ms, type, 1 AS is_own, reason, basis FROM relation
                 WHERE from_key = ?1 AND from_kind = 'memory' AND to_kind = 'memory' AND type IN ('contradicts', 'qualifies')
                 UNION ALL SELECT from_key, recorded_ms, type, 0, reason, basis FROM relation
                 WHERE to_key = ?1 AND from_kind = 'memory' AND to_kind = 'memory' AND type IN ('contradicts', 'qualifies')
             ) AS beside
             JOIN memory ON memory.uid = beside.key LEFT JOIN project ON project.id = memory.project_id
             WHERE memory.status IN ('holds', 'contested') ORDER BY beside.recorded_ms DESC, memory.id LIMIT ?2"
        );
        self.read(|view| {
            view.all(&sql, params![memory.as_bytes(), limit as i64], |row| {
                let (key, memory) = memory_of(row)?;
                let basis = row.get::<_, Option<String>>("beside_basis")?.and_then(|basis| serde_json::from_str(&basis).ok());
                let standing = match (row.get::<_, String>("beside_type")?.as_str(), row.get("beside_is_own")?) {
                    ("contradicts", _) => match basis {
                        Some(Basis::Change(grade)) => Stands::Change(grade),
                        _ => Stands::Against,
                    },
                    (_, true) => Stands::Above,
                    (_, false) => Stands::Below,
                };
                Ok(Beside { row: MemoryKey::new(key), memory, standing, reason: row.get("beside_reason")? })
            })
        })
    }

    /// Returns the first memories and turns among nodes, at most `limit`, each with its number; those that are gone are left out.
    pub(crate) fn item_keys(&self, nodes: &[(&Node, f32)], limit: usize) -> StoreResult<Vec<(ItemKey, f32)>> {
        self.read(|view| {
            let mut keys = Vec::new();
            for (node, number) in nodes {
                if keys.len() == limit {
                    break;
                }
                let key = match node {
                    Node::Memory(id) => {
                        view.first_value("SELECT id FROM memory WHERE uid = ?1", [id.as_bytes()])?.map(ItemKey::Memory)
                    }
                    Node::Turn(id) => view.first_value("SELECT id FROM turn WHERE uid = ?1", [id.as_bytes()])?.map(ItemKey::Turn),
                    _ => None,
                };
                keys.extend(key.map(|key| (key, *number)));
            }
            Ok(keys)
        })
    }

    /// Returns the memories that meet conditions: their kinds, tags and entities, and whether they were true at a time.
    /// One that took the place of another is true since that was, unless it says otherwise.
    pub(crate) fn memories_meeting(
        &self,
        conditions: &MemoryConditions,
        entities: &[EntityId],
        valid_at: Option<UtcMillis>,
    ) -> StoreResult<Vec<MemoryKey>> {
        let names = |names: Vec<&str>| serde_json::Value::from(names).to_string();
        self.read(|view| {
            view.column(
                "SELECT id FROM memory
                 WHERE (?1 = '[]' OR kind IN (SELECT value FROM json_each(?1)))
                   AND (?2 = '[]' OR id IN (SELECT memory_id FROM memory_tag WHERE tag IN (SELECT value FROM json_each(?2))))
                   AND (?3 = '[]' OR uid IN (
                       SELECT from_key FROM relation WHERE from_kind = 'memory' AND to_key IN (SELECT unhex(value) FROM json_each(?3))
                       UNION SELECT to_key FROM relation WHERE to_kind = 'memory' AND from_key IN (SELECT unhex(value) FROM json_each(?3))))
                   AND (?4 IS NULL OR status <> 'invalidated' AND (valid_until_ms IS NULL OR valid_until_ms > ?4)
                       AND coalesce(valid_from_ms, (
                           SELECT max(older.valid_until_ms) FROM relation JOIN memory AS older ON older.uid = to_key
                           WHERE from_key = memory.uid AND from_kind = 'memory' AND to_kind = 'memory' AND type = 'supersedes'
                       ), ?4) <= ?4)",
                params![
                    names(conditions.kinds.iter().map(|kind| kind.as_str()).collect()),
                    names(conditions.tags.iter().map(String::as_str).collect()),
                    hex_of(entities.iter().map(|id| id.as_bytes().as_slice())),
                    valid_at
                ],
            )
        })
    }
}
