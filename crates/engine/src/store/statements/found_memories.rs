//! Reads memories for answers, with their evidence and the memories that superseded them.

use std::collections::HashMap;
use std::ops::Deref;

use rusqlite::params;
use yore_core::entity::key_of;
use yore_core::id::{EntityId, MemoryId, ProjectId, TurnId};
use yore_core::memory::{Memory, MemoryKind};
use yore_core::operation::Record;
use yore_core::query::MemoryConditions;
use yore_core::relation::Node;
use yore_core::time::UtcMillis;

use super::memories::{COLUMNS, FROM, memory_of};
use crate::store::keys::{ItemKey, MemoryKey, ProjectKey, RowKey, TurnKey, hex_of, json_of};
use crate::store::local::transaction::View;
use crate::store::{Store, StoreResult};

/// Number up to which relations of a node are counted.
const MOST_COUNTED: i64 = 1_000;

/// A turn that is evidence of a memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EvidenceRow {
    /// Row of the memory.
    pub memory: MemoryKey,
    /// Its row.
    pub key: TurnKey,
    /// Its id.
    pub turn: TurnId,
    /// True if its session is forgotten softly.
    pub is_forgotten: bool,
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
    /// Returns the turns that are evidence of memories, as far as they are still there, in the order of the evidence.
    pub(in crate::store) fn evidence_of(&self, rows: &[MemoryKey]) -> StoreResult<Vec<EvidenceRow>> {
        self.all(
            "SELECT memory_id, turn.id, turn.uid, episode.forgotten_ms IS NOT NULL FROM memory_evidence
             JOIN turn ON turn.uid = turn_uid JOIN episode ON episode.id = turn.episode_id
             WHERE memory_id IN (SELECT value FROM json_each(?1)) ORDER BY memory_id, memory_evidence.position",
            [json_of(rows)],
            |row| {
                let turn = TurnId::from_bytes(row.get(2)?);
                Ok(EvidenceRow { memory: row.get(0)?, key: row.get(1)?, turn, is_forgotten: row.get(3)? })
            },
        )
    }

    /// Returns the turns that are evidence of a memory, whether or not they are still there.
    pub(in crate::store) fn evidence_ids(&self, memory: MemoryId) -> StoreResult<Vec<TurnId>> {
        self.all(
            "SELECT turn_uid FROM memory_evidence JOIN memory ON memory.id = memory_id WHERE memory.uid = ?1",
            [memory.as_bytes()],
            |row| row.get(0).map(TurnId::from_bytes),
        )
    }

    pub(in crate::store) fn memory_of_row(&self, row: MemoryKey) -> StoreResult<Option<Memory>> {
        let sql = format!("SELECT {COLUMNS} {FROM} WHERE memory.id = ?1");
        self.first(&sql, [row], memory_of)?.map(|found| self.whole(found)).transpose()
    }
}

impl View<'_> {
    /// Returns memories without their tags, evidence and anchors. Those that are gone are left out.
    pub(crate) fn outlines(&self, rows: &[MemoryKey]) -> StoreResult<Vec<MemoryOutline>> {
        let sql = format!("SELECT {COLUMNS} {FROM} WHERE memory.id = ?1");
        rows.iter()
            .filter_map(|row| self.first(&sql, [row], memory_of).transpose())
            .map(|found| Ok(MemoryOutline(found?.1)))
            .collect()
    }

    /// Returns the latest memories about an entity, at most `limit`, as [`Self::outlines`] does.
    pub(crate) fn outlines_about(&self, entity: EntityId, limit: usize) -> StoreResult<Vec<MemoryOutline>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM relation JOIN memory ON memory.uid = relation.from_key
             LEFT JOIN project ON project.id = memory.project_id
             WHERE relation.to_key = ?1 AND relation.to_kind = 'entity' AND relation.from_kind = 'memory' AND relation.type = 'about'
             ORDER BY relation.id DESC LIMIT ?2"
        );
        let found = self.all(&sql, params![entity.as_bytes(), limit as i64], memory_of)?;
        Ok(found.into_iter().map(|(_, memory)| MemoryOutline(memory)).collect())
    }

    /// Returns the memories that were recorded after one, the latest `limit`, as [`Self::outlines`] does.
    pub(crate) fn outlines_after(&self, after: MemoryKey, limit: usize) -> StoreResult<Vec<MemoryOutline>> {
        let rows: Vec<MemoryKey> =
            self.column("SELECT id FROM memory WHERE id > ?1 ORDER BY id DESC LIMIT ?2", params![after, limit as i64])?;
        self.outlines(&rows)
    }
}

/// How another memory stands to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stands {
    /// They contradict each other.
    Against,
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
    pub(crate) fn outlines(&self, rows: &[MemoryKey]) -> StoreResult<Vec<MemoryOutline>> {
        self.read(|view| view.outlines(rows))
    }

    /// Returns the row of the memory that was recorded last; 0 without any.
    pub(crate) fn last_memory(&self) -> StoreResult<MemoryKey> {
        self.read(|view| view.value("SELECT coalesce(max(id), 0) FROM memory", []))
    }

    /// Returns the row of a project.
    pub(crate) fn project_row(&self, project: ProjectId) -> StoreResult<Option<ProjectKey>> {
        self.read(|view| view.first_value("SELECT id FROM project WHERE uid = ?1", [project.as_bytes()]))
    }

    /// Returns memories with the names of their projects. Those that are gone are left out.
    pub(crate) fn memories_of_rows(&self, rows: &[MemoryKey]) -> StoreResult<HashMap<MemoryKey, NamedMemory>> {
        self.read(|view| {
            let mut found = HashMap::new();
            for row in rows {
                let Some(memory) = view.memory_of_row(*row)? else { continue };
                let name = "SELECT project.name FROM memory JOIN project ON project.id = project_id WHERE memory.id = ?1";
                found.insert(*row, (memory, view.first_value(name, [row])?));
            }
            Ok(found)
        })
    }

    /// Returns memories with the names of their projects, without tags, evidence and anchors. Those that are gone are left out.
    pub(crate) fn named_outlines(&self, rows: &[MemoryKey]) -> StoreResult<HashMap<MemoryKey, NamedMemory>> {
        let sql = format!("SELECT {COLUMNS}, project.name {FROM} WHERE memory.id IN (SELECT value FROM json_each(?1))");
        self.read(|view| {
            let found = view.all(&sql, [json_of(rows)], |row| {
                let (id, memory) = memory_of(row)?;
                Ok((MemoryKey::new(id), (memory, row.get("name")?)))
            })?;
            Ok(found.into_iter().collect())
        })
    }

    /// Returns the turns that are evidence of memories, as far as they are still there, in the order of the evidence.
    pub(crate) fn evidence_of(&self, rows: &[MemoryKey]) -> StoreResult<Vec<EvidenceRow>> {
        self.read(|view| view.evidence_of(rows))
    }

    /// Returns the turns of softly forgotten sessions that are evidence of a memory.
    pub(crate) fn forgotten_evidence(&self, memory: MemoryId) -> StoreResult<Vec<TurnId>> {
        self.read(|view| {
            view.all(
                "SELECT turn.uid FROM memory_evidence JOIN memory ON memory.id = memory_id
                 JOIN turn ON turn.uid = turn_uid JOIN episode ON episode.id = turn.episode_id
                 WHERE memory.uid = ?1 AND episode.forgotten_ms IS NOT NULL",
                [memory.as_bytes()],
                |row| row.get(0).map(TurnId::from_bytes),
            )
        })
    }

    /// Returns a memory as it stood at a time, by the operations that changed it since; `None` if it was not recorded
    /// yet, or was taken back at that time.
    pub(crate) fn memory_as_of(&self, memory: Memory, at: UtcMillis) -> StoreResult<Option<Memory>> {
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
    pub(crate) fn undone_successor(&self, of: MemoryId, at: UtcMillis) -> StoreResult<Option<Memory>> {
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

    /// Returns the memories of a project (`None`: those that hold everywhere) that hold, are of these kinds and not closed, pinned ones
    /// first, then a person's, then the latest; extracted ones only from this certainty on. Rules that agents read by themselves are left out.
    pub(crate) fn latest_memories(
        &self,
        project: Option<ProjectKey>,
        kinds: &[MemoryKind],
        least_certainty: f32,
        now: UtcMillis,
        limit: usize,
    ) -> StoreResult<Vec<Memory>> {
        // A time after now is no reason to come first: the clock was wrong, or it is a plan.
        let kinds = serde_json::Value::from(kinds.iter().map(|kind| kind.as_str()).collect::<Vec<_>>()).to_string();
        self.read(|view| {
            let rows: Vec<MemoryKey> = view.column(
                "SELECT id FROM memory WHERE project_id IS ?1 AND (?1 IS NOT NULL OR json_extract(rest, '$.reach') IS NULL)
                     AND status = 'holds' AND kind IN (SELECT value FROM json_each(?2))
                     AND (lane = 'curated' OR coalesce(json_extract(rest, '$.certainty'), 1.0) >= ?3)
                     AND coalesce(json_extract(rest, '$.fields.is_closed'), 0) = 0
                 ORDER BY is_pinned DESC, lane = 'curated' DESC,
                     CASE WHEN valid_from_ms <= ?4 THEN valid_from_ms WHEN recorded_ms <= ?4 THEN recorded_ms ELSE 0 END DESC, id DESC",
                params![project, kinds, f64::from(least_certainty), now],
            )?;
            let found = rows.into_iter().filter_map(|row| view.memory_of_row(row).transpose());
            let is_told = |memory: &StoreResult<Memory>| memory.as_ref().map_or(true, |memory| !memory.is_read_by_agents());
            found.filter(is_told).take(limit).collect()
        })
    }

    /// Returns the memory that took the place of another, the last one stated.
    pub(crate) fn successor(&self, of: MemoryId) -> StoreResult<Option<MemoryKey>> {
        self.read(|view| {
            view.first_value(
                "SELECT memory.id FROM relation JOIN memory ON memory.uid = from_key
                 WHERE to_key = ?1 AND to_kind = 'memory' AND from_kind = 'memory' AND type = 'supersedes'
                 ORDER BY relation.recorded_ms DESC, relation.id DESC LIMIT 1",
                [of.as_bytes()],
            )
        })
    }

    /// Returns the memories whose place another took, before a time if one is given, the last ones first: without tags, evidence and
    /// anchors.
    pub(crate) fn predecessors(
        &self,
        of: MemoryId,
        before: Option<UtcMillis>,
        limit: usize,
    ) -> StoreResult<Vec<(MemoryKey, Memory)>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM relation JOIN memory ON memory.uid = to_key LEFT JOIN project ON project.id = memory.project_id
             WHERE from_key = ?1 AND to_kind = 'memory' AND from_kind = 'memory' AND type = 'supersedes'
                 AND (?3 IS NULL OR relation.recorded_ms < ?3)
             ORDER BY relation.recorded_ms DESC, relation.id DESC LIMIT ?2"
        );
        self.read(|view| {
            let found = view.all(&sql, params![of.as_bytes(), limit as i64, before], memory_of)?;
            Ok(found.into_iter().map(|(row, memory)| (MemoryKey::new(row), memory)).collect())
        })
    }

    /// Returns the memories in effect that a memory contradicts, qualifies, or is qualified by, the latest relation first: without tags,
    /// evidence and anchors.
    pub(crate) fn beside(&self, memory: MemoryId, limit: usize) -> StoreResult<Vec<Beside>> {
        let sql = format!(
            "SELECT {COLUMNS}, beside.type AS beside_type, beside.is_own AS beside_is_own, beside.reason AS beside_reason FROM (
                 SELECT to_key AS key, recorded_ms, type, 1 AS is_own, reason FROM relation
                 WHERE from_key = ?1 AND from_kind = 'memory' AND to_kind = 'memory' AND type IN ('contradicts', 'qualifies')
                 UNION ALL SELECT from_key, recorded_ms, type, 0, reason FROM relation
                 WHERE to_key = ?1 AND from_kind = 'memory' AND to_kind = 'memory' AND type IN ('contradicts', 'qualifies')
             ) AS beside
             JOIN memory ON memory.uid = beside.key LEFT JOIN project ON project.id = memory.project_id
             WHERE memory.status IN ('holds', 'contested') ORDER BY beside.recorded_ms DESC, memory.id LIMIT ?2"
        );
        self.read(|view| {
            view.all(&sql, params![memory.as_bytes(), limit as i64], |row| {
                let (key, memory) = memory_of(row)?;
                let standing = match (row.get::<_, String>("beside_type")?.as_str(), row.get("beside_is_own")?) {
                    ("contradicts", _) => Stands::Against,
                    (_, true) => Stands::Above,
                    (_, false) => Stands::Below,
                };
                Ok(Beside { row: MemoryKey::new(key), memory, standing, reason: row.get("beside_reason")? })
            })
        })
    }

    /// Returns the names of the entities that a memory is about.
    pub(crate) fn entities_of(&self, memory: MemoryId) -> StoreResult<Vec<(EntityId, String)>> {
        self.read(|view| {
            view.all(
                "SELECT entity.uid, entity.name FROM relation JOIN entity ON entity.uid = to_key
                 WHERE from_key = ?1 AND from_kind = 'memory' AND to_kind = 'entity' ORDER BY relation.weight DESC, entity.name",
                [memory.as_bytes()],
                |row| Ok((EntityId::from_bytes(row.get(0)?), row.get(1)?)),
            )
        })
    }

    /// Returns whether there is any entity.
    pub(crate) fn has_entities(&self) -> StoreResult<bool> {
        self.read(|view| view.exists("SELECT 1 FROM entity", []))
    }

    /// Returns the entities with each of these names or aliases, with their own names.
    pub(crate) fn entities_of_names(&self, names: &[String]) -> StoreResult<HashMap<String, Vec<(EntityId, String)>>> {
        let keys: Vec<String> = names.iter().map(|name| key_of(name)).collect();
        self.read(|view| {
            let rows = view.all(
                "SELECT name_key, uid, name FROM entity WHERE name_key IN (SELECT value FROM json_each(?1))
                 UNION SELECT alias_key, uid, name FROM entity_alias JOIN entity ON entity.id = entity_id
                 WHERE alias_key IN (SELECT value FROM json_each(?1))",
                [serde_json::Value::from(keys).to_string()],
                |row| Ok((row.get::<_, String>(0)?, EntityId::from_bytes(row.get(1)?), row.get::<_, String>(2)?)),
            )?;
            let mut found: HashMap<String, Vec<(EntityId, String)>> = HashMap::new();
            for (key, id, name) in rows {
                found.entry(key).or_default().push((id, name));
            }
            Ok(found)
        })
    }

    /// Returns the number of memories, counted up to `limit`.
    pub(crate) fn memory_count(&self, limit: usize) -> StoreResult<usize> {
        self.read(|view| {
            view.count("SELECT count(*) FROM (SELECT 1 FROM memory LIMIT ?1)", [limit as i64]).map(|count| count as usize)
        })
    }

    /// Returns the numbers of relations of entities, each counted up to a limit.
    pub(crate) fn degrees_of(&self, entities: &[EntityId]) -> StoreResult<HashMap<EntityId, usize>> {
        // An id is that of one node, and the indexes alone answer if no kind is asked for.
        self.read(|view| {
            let degrees = view.all(
                "SELECT unhex(value), (SELECT count(*) FROM (SELECT 1 FROM relation WHERE from_key = unhex(value) LIMIT ?2))
                     + (SELECT count(*) FROM (SELECT 1 FROM relation WHERE to_key = unhex(value) LIMIT ?2))
                 FROM json_each(?1)",
                params![hex_of(entities.iter().map(|id| id.as_bytes().as_slice())), MOST_COUNTED],
                |row| Ok((EntityId::from_bytes(row.get(0)?), row.get::<_, i64>(1)?.max(0) as usize)),
            )?;
            Ok(degrees.into_iter().collect())
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

    /// Returns whether there are memories that an answer has only if it is asked for their status.
    pub(crate) fn has_unlisted_memories(&self) -> StoreResult<bool> {
        self.read(|view| {
            let has = |sql| view.exists(sql, []);
            Ok(has("SELECT 1 FROM memory WHERE status = 'archived'")? || has("SELECT 1 FROM memory WHERE status = 'proposed'")?)
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
