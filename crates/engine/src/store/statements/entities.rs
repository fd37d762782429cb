//! Reads and writes entities and relations.

use rusqlite::{Row, params};
use yore_core::entity::{Entity, EntityKind, key_of};
use yore_core::id::{EntityId, ProjectId, RelationId, TurnId};
use yore_core::memory::Confidence;
use yore_core::relation::{Basis, Node, Origin, Relation, RelationType};

use super::revisions::Revision;
use crate::store::keys::RelationKey;
use crate::store::local::transaction::{View, WriteTx};
use crate::store::{Store, StoreResult};

fn entity_of(row: &Row<'_>) -> rusqlite::Result<(i64, Entity)> {
    let entity = Entity {
        id: EntityId::from_bytes(row.get(1)?),
        kind: EntityKind::parse(&row.get::<_, String>(2)?).unwrap_or_default(),
        given_kind: row.get(3)?,
        name: row.get(4)?,
        description: row.get(5)?,
        recorded: row.get(6)?,
        aliases: Vec::new(),
    };
    Ok((row.get(0)?, entity))
}

const RELATION: &str = "SELECT uid, from_kind, from_key, to_kind, to_key, type, weight, confidence, origin, valid_from_ms,
    valid_until_ms, recorded_ms, evidence_uid, reason, id, basis FROM relation";

/// Returns the stored form of a basis.
pub(in crate::store) fn basis_json(basis: &Basis) -> serde_json::Result<String> {
    serde_json::to_string(basis)
}

fn relation_of(row: &Row<'_>) -> rusqlite::Result<Option<Relation>> {
    let name = |column: usize| row.get::<_, String>(column);
    let optional_name = |column: usize| row.get::<_, Option<String>>(column);
    let node = |kind: usize| Ok::<_, rusqlite::Error>(Node::of(&name(kind)?, &row.get::<_, Vec<u8>>(kind + 1)?));
    // A type that a later yore added is left alone.
    let Some(relation_type) = RelationType::parse(&name(5)?) else { return Ok(None) };
    let (Some(from), Some(to)) = (node(1)?, node(3)?) else { return Ok(None) };
    Ok(Some(Relation {
        id: RelationId::from_bytes(row.get(0)?),
        from,
        to,
        relation_type,
        weight: row.get::<_, f64>(6)? as f32,
        confidence: optional_name(7)?.map_or(Some(Confidence::Verified), |name| Confidence::parse(&name)).unwrap_or_default(),
        origin: optional_name(8)?.map_or(Some(Origin::Explicit), |name| Origin::parse(&name)).unwrap_or_default(),
        valid_from: row.get(9)?,
        valid_until: row.get(10)?,
        recorded: row.get(11)?,
        evidence: row.get::<_, Option<[u8; 16]>>(12)?.map(TurnId::from_bytes),
        reason: row.get(13)?,
        basis: optional_name(15)?.and_then(|json| serde_json::from_str(&json).ok()),
    }))
}

impl View<'_> {
    /// Returns an entity.
    pub(crate) fn entity(&self, id: EntityId) -> StoreResult<Option<Entity>> {
        let sql = "SELECT id, uid, kind, given_kind, name, description, recorded_ms FROM entity WHERE uid = ?1";
        self.first(sql, [id.as_bytes()], entity_of)?.map(|found| self.whole_entity(found)).transpose()
    }

    fn whole_entity(&self, (row, mut entity): (i64, Entity)) -> StoreResult<Entity> {
        entity.aliases = self.column("SELECT alias FROM entity_alias WHERE entity_id = ?1 ORDER BY alias_key", [row])?;
        Ok(entity)
    }

    /// Returns the entities with this name or alias; `None`: all. At most `limit`, by name.
    pub(crate) fn entities(&self, name: Option<&str>, limit: usize) -> StoreResult<Vec<Entity>> {
        let found = self.all(
            "SELECT id, uid, kind, given_kind, name, description, recorded_ms FROM entity
             WHERE ?1 IS NULL OR name_key = ?1 OR id IN (SELECT entity_id FROM entity_alias WHERE alias_key = ?1)
             ORDER BY name_key, kind LIMIT ?2",
            params![name.map(key_of), limit as i64],
            entity_of,
        )?;
        found.into_iter().map(|found| self.whole_entity(found)).collect()
    }

    /// Returns a relation.
    pub(in crate::store) fn relation(&self, id: RelationId) -> StoreResult<Option<Relation>> {
        Ok(self.first(&format!("{RELATION} WHERE uid = ?1"), [id.as_bytes()], relation_of)?.flatten())
    }

    /// Returns the relations of a node, in the order in which they were recorded; at most `limit`.
    pub(super) fn relations_of(&self, node: &Node, limit: usize) -> StoreResult<Vec<Relation>> {
        let sql = format!(
            "{RELATION} WHERE from_key = ?1 AND from_kind = ?2 UNION ALL {RELATION} WHERE to_key = ?1 AND to_kind = ?2
             ORDER BY recorded_ms, id LIMIT ?3"
        );
        Ok(self.all(&sql, params![node.key(), node.kind(), limit as i64], relation_of)?.into_iter().flatten().collect())
    }

    /// Returns the heaviest relations of a node that are of these types (empty: of all) and weigh enough; at most
    /// `limit`.
    fn heaviest_relations(&self, node: &Node, types: &[RelationType], least: f32, limit: usize) -> StoreResult<Vec<Relation>> {
        let types = serde_json::Value::from(types.iter().map(|known| known.as_str()).collect::<Vec<_>>()).to_string();
        // Among equal weights, the newest come first.
        let from_end = |end: &str| {
            format!(
                "{RELATION} WHERE {end}_key = ?1 AND {end}_kind = ?2 AND weight >= ?4
                 AND (?3 = '[]' OR type IN (SELECT value FROM json_each(?3))) ORDER BY weight DESC, id DESC LIMIT ?5"
            )
        };
        let mut found: Vec<(i64, Relation)> = Vec::new();
        for sql in [from_end("from"), from_end("to")] {
            let known = self.all(&sql, params![node.key(), node.kind(), types, f64::from(least), limit as i64], |row| {
                Ok((row.get::<_, i64>(14)?, relation_of(row)?))
            })?;
            found.extend(known.into_iter().filter_map(|(row, relation)| Some((row, relation?))));
        }
        found.sort_by(|(a_row, a), (b_row, b)| b.weight.total_cmp(&a.weight).then(b_row.cmp(a_row)));
        found.truncate(limit);
        Ok(found.into_iter().map(|(_, relation)| relation).collect())
    }

    /// Returns relations in the order in which they were stored, after one; at most `limit`. One of a type that a later yore added is `None`.
    pub(super) fn relations_after(&self, after: RelationKey, limit: usize) -> StoreResult<Vec<(RelationKey, Option<Relation>)>> {
        let sql = format!("{RELATION} WHERE id > ?1 ORDER BY id LIMIT ?2");
        self.all(&sql, params![after, limit as i64], |row| Ok((row.get(14)?, relation_of(row)?)))
    }

    /// Returns the relations that have a reason.
    pub(in crate::store) fn relations_with_reason(&self) -> StoreResult<Vec<Relation>> {
        let sql = format!("{RELATION} WHERE reason IS NOT NULL");
        Ok(self.all(&sql, [], relation_of)?.into_iter().flatten().collect())
    }

    /// Returns the relation of a type from one node to another.
    pub(crate) fn relation_between(&self, from: &Node, relation_type: RelationType, to: &Node) -> StoreResult<Option<Relation>> {
        let sql = format!("{RELATION} WHERE from_key = ?1 AND to_key = ?2 AND type = ?3 AND from_kind = ?4 AND to_kind = ?5");
        let found =
            self.first(&sql, params![from.key(), to.key(), relation_type.as_str(), from.kind(), to.kind()], relation_of)?;
        Ok(found.flatten())
    }

    /// Returns whether a node exists. A file is only a name, and always does; a turn or a session may be read
    /// later.
    pub(super) fn has_node(&self, node: &Node) -> StoreResult<bool> {
        match node {
            Node::Memory(id) => self.exists("SELECT 1 FROM memory WHERE uid = ?1", [id.as_bytes()]),
            Node::Entity(id) => self.exists("SELECT 1 FROM entity WHERE uid = ?1", [id.as_bytes()]),
            Node::Turn(_) | Node::Session(_) | Node::Path(_) | Node::Context(_) => Ok(true),
        }
    }
}

impl WriteTx<'_> {
    /// Stores an entity that is not there, with a revision.
    pub(super) fn add_entity(&self, entity: &Entity, rev: Revision) -> StoreResult<()> {
        let row: i64 = self.insert(
            "INSERT INTO entity (uid, kind, given_kind, name, name_key, description, recorded_ms, rev)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                entity.id.as_bytes(),
                entity.kind.as_str(),
                entity.given_kind,
                entity.name,
                key_of(&entity.name),
                entity.description,
                entity.recorded,
                rev
            ],
        )?;
        for alias in &entity.aliases {
            self.execute(
                "INSERT OR IGNORE INTO entity_alias (alias_key, entity_id, alias) VALUES (?1, ?2, ?3)",
                params![key_of(alias), row, alias],
            )?;
        }
        Ok(())
    }

    /// Removes an entity.
    pub(super) fn remove_entity(&self, id: EntityId) -> StoreResult<()> {
        self.execute("DELETE FROM entity WHERE uid = ?1", [id.as_bytes()]).map(drop)
    }

    /// Stores a relation that is not there, with a revision.
    pub(super) fn add_relation(&self, relation: &Relation, rev: Revision) -> StoreResult<()> {
        self.execute(
            "INSERT INTO relation (uid, from_kind, from_key, to_kind, to_key, type, weight, confidence, origin, valid_from_ms,
                 valid_until_ms, recorded_ms, evidence_uid, reason, basis, rev)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
            params![
                relation.id.as_bytes(),
                relation.from.kind(),
                relation.from.key(),
                relation.to.kind(),
                relation.to.key(),
                relation.relation_type.as_str(),
                f64::from(relation.weight),
                Some(relation.confidence).filter(|confidence| *confidence != Confidence::Verified).map(Confidence::as_str),
                Some(relation.origin).filter(|origin| *origin != Origin::Explicit).map(Origin::as_str),
                relation.valid_from,
                relation.valid_until,
                relation.recorded,
                relation.evidence.as_ref().map(TurnId::as_bytes),
                relation.reason,
                relation.basis.as_ref().map(basis_json).transpose().map_err(|error| self.failed(error.into()))?,
                rev
            ],
        )
        .map(drop)
    }

    /// Removes a relation.
    pub(super) fn remove_relation(&self, id: RelationId) -> StoreResult<()> {
        self.execute("DELETE FROM relation WHERE uid = ?1", [id.as_bytes()]).map(drop)
    }
}

/// The relations that a caller wants.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Relations<'q> {
    /// Those of a node, in the order in which they were recorded, at most so many.
    Of(&'q Node, usize),
    /// Those by which two things contradict each other, the oldest first.
    Contradicting,
    /// Those by which a memory took the place of another.
    Superseding,
    /// The heaviest of a node that are of these types (empty: of all) and weigh enough.
    Heaviest { node: &'q Node, types: &'q [RelationType], least: f32, limit: usize },
    /// Those by which a memory in effect of a project qualifies another one on a branch.
    OfBranch(ProjectId, &'q str),
}

impl Store {
    /// Returns an entity.
    pub(crate) fn entity(&self, id: EntityId) -> StoreResult<Option<Entity>> {
        self.read(|view| view.entity(id))
    }

    /// Returns the entities with this name or alias; `None`: all. At most `limit`, by name.
    pub(crate) fn entities(&self, name: Option<&str>, limit: usize) -> StoreResult<Vec<Entity>> {
        self.read(|view| view.entities(name, limit))
    }

    /// Returns relations; those of a type that a later yore added are left out.
    pub(crate) fn relations(&self, wanted: Relations<'_>) -> StoreResult<Vec<Relation>> {
        self.read(|view| match wanted {
            Relations::Of(node, limit) => view.relations_of(node, limit),
            // Written out, so that the partial index serves it.
            Relations::Contradicting => {
                let sql = format!("{RELATION} WHERE type = 'contradicts' ORDER BY recorded_ms, id");
                Ok(view.all(&sql, [], relation_of)?.into_iter().flatten().collect())
            }
            Relations::Superseding => {
                let sql =
                    format!("{RELATION} WHERE type = 'supersedes' AND from_kind = 'memory' AND to_kind = 'memory' ORDER BY recorded_ms, id");
                Ok(view.all(&sql, [], relation_of)?.into_iter().flatten().collect())
            }
            Relations::Heaviest { node, types, least, limit } => view.heaviest_relations(node, types, least, limit),
            Relations::OfBranch(project, branch) => {
                let basis = basis_json(&Basis::Branch(branch.to_owned())).map_err(|error| view.failed(error.into()))?;
                let sql = format!(
                    "{RELATION} WHERE from_kind = 'memory' AND to_kind = 'memory' AND type = 'qualifies' AND basis = ?2
                     AND from_key IN (SELECT uid FROM memory WHERE project_id = (SELECT id FROM project WHERE uid = ?1)
                         AND status IN ('holds', 'contested'))"
                );
                Ok(view.all(&sql, params![project.as_bytes(), basis], relation_of)?.into_iter().flatten().collect())
            }
        })
    }

    /// Returns the nodes that the heaviest relations of a node lead to, with the weights of these, at most `limit`; for a memory also the
    /// turns that it rests on, with the weight `evidence`.
    pub(crate) fn neighbours(&self, node: &Node, limit: usize, evidence: f32) -> StoreResult<Vec<(Node, f32)>> {
        // Among equal weights, the newest come first.
        let from_end = |end: &str, other: &str| {
            format!(
                "SELECT * FROM (SELECT {other}_kind AS kind, {other}_key AS key, weight, id FROM relation
                 WHERE {end}_key = ?1 AND {end}_kind = ?2 AND weight > 0 ORDER BY weight DESC, id DESC LIMIT ?3)"
            )
        };
        let (out, back) = (from_end("from", "to"), from_end("to", "from"));
        let sql = format!("SELECT kind, key, weight FROM ({out} UNION ALL {back}) ORDER BY weight DESC, id DESC LIMIT ?3");
        self.read(|view| {
            let found = view.all(&sql, params![node.key(), node.kind(), limit as i64], |row| {
                Ok((Node::of(&row.get::<_, String>(0)?, &row.get::<_, Vec<u8>>(1)?), row.get::<_, f64>(2)? as f32))
            })?;
            let mut near: Vec<(Node, f32)> = found.into_iter().filter_map(|(node, weight)| Some((node?, weight))).collect();
            if let Node::Memory(memory) = node {
                let turns = view.evidence_ids(*memory)?;
                near.extend(turns.into_iter().map(|turn| (Node::Turn(turn), evidence)));
            }
            Ok(near)
        })
    }
}
