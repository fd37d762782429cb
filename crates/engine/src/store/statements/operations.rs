//! Writes, undoes and redoes operations: each logged change of memories, entities and relations is one transaction.
//!
//! An operation stores the records before it, and the revision of each record before and after it ([`super::revisions`]). `undo` restores
//! the records before with their revisions, if the present ones still have those after, and refuses otherwise; what was undone is
//! stored in the same way, so that it can be done again.

use std::collections::HashSet;
use std::ops::Deref;

use rusqlite::{Row, params};
use yore_core::conflict::Assertion;
use yore_core::id::{EntityId, MemoryId, ProjectId, RelationId, TurnId};
use yore_core::memory::{Event, Evidence, Lane, Memory, Status, keeps_contested};
use yore_core::operation::{Actor, Cause, Change, Operation, OperationKind, Record, Subject};
use yore_core::relation::{Node, Relation, RelationType};
use yore_core::time::UtcMillis;

use super::revisions::{Revision, changed_otherwise};
use crate::store::keys::hex_of;
use crate::store::local::transaction::{View, WriteTx};
use crate::store::{Store, StoreError, StoreResult};

/// State of the indexes that names the memories that wait to be compared.
pub(super) const TO_COMPARE: &str = "compare-again";
/// Most relations of one node that an operation moves or removes.
const MOST_RELATIONS: usize = 100_000;

/// A stored change.
struct StoredChange {
    subject: Subject,
    before: Option<Record>,
    before_rev: Option<Revision>,
    /// `None`: there is no record after it.
    after_rev: Option<Revision>,
}

/// An operation to be logged.
#[derive(Clone, Debug)]
pub(crate) struct NewOperation {
    pub kind: OperationKind,
    pub cause: Cause,
    pub at: UtcMillis,
    /// What it does, in one line.
    pub summary: String,
}

/// A direction: an operation is undone, or done again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Undoing {
    Undo,
    Redo,
}

/// A reason why an operation is neither undone nor done again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UndoError {
    /// There is no such operation.
    #[error("there is no operation {0}")]
    Unknown(u64),
    /// It is undone already.
    #[error("operation {number} was undone by operation {by}")]
    AlreadyUndone {
        /// The operation.
        number: u64,
        /// The operation that undid it.
        by: u64,
    },
    /// It is not undone, so that it cannot be done again.
    #[error("operation {0} is not undone")]
    NotUndone(u64),
    /// Its content was forgotten.
    #[error("the content of operation {0} was forgotten, and cannot come back")]
    Forgotten(u64),
    /// A later operation builds on it.
    #[error("operation {by} has changed {subject} since; undo that one first")]
    BuiltOn {
        /// What was changed since.
        subject: Subject,
        /// The operation that changed it.
        by: u64,
    },
    /// Something other than an operation changed it.
    #[error("{0} has changed since, other than by an operation (such as a merge of projects)")]
    Changed(Subject),
}

/// The transaction of an operation: writes records, remembers what they were before, and reads as a [`View`] does.
pub(crate) struct OperationTx<'t, 'c> {
    tx: &'t WriteTx<'c>,
    /// Its number.
    number: Revision,
    /// The changed subjects in order, each with the record before and its revision.
    before: Vec<(Subject, Option<Record>, Option<Revision>)>,
    /// The same subjects.
    seen: HashSet<Subject>,
}

impl<'t, 'c> OperationTx<'t, 'c> {
    /// Begins an operation. Its number is the next one, which nobody else can take in this transaction.
    fn begin(tx: &'t WriteTx<'c>) -> StoreResult<Self> {
        let last: Option<Revision> = tx.first_value("SELECT seq FROM sqlite_sequence WHERE name = 'operation'", [])?;
        Ok(Self { tx, number: last.unwrap_or_default() + 1, before: Vec::new(), seen: HashSet::new() })
    }

    /// Returns the transaction, for records that are no part of the operation.
    pub(in crate::store) fn write(&self) -> &WriteTx<'c> {
        self.tx
    }

    /// Returns the memory that holds and states the same in the same project and of the same kind.
    pub(crate) fn same_statement(&self, memory: &Memory) -> StoreResult<Option<MemoryId>> {
        self.tx.first(
            "SELECT memory.uid FROM memory LEFT JOIN project ON project.id = memory.project_id
             WHERE substr(memory.statement, 1, 32) = substr(?1, 1, 32) AND memory.statement = ?1 AND memory.kind = ?2 AND memory.status IN ('holds', 'contested') AND project.uid IS ?3",
            params![memory.statement, memory.kind.as_str(), memory.project.as_ref().map(ProjectId::as_bytes)],
            |row| row.get(0).map(MemoryId::from_bytes),
        )
    }

    /// See [`View::assertions_near`].
    pub(crate) fn assertions_near(&self, memory: &Memory, assertion: &Assertion) -> StoreResult<Vec<MemoryId>> {
        self.tx.renew_assertions()?;
        self.tx.assertions_near(memory, assertion)
    }

    /// Returns the relations of a node.
    pub(crate) fn relations_of(&self, node: &Node) -> StoreResult<Vec<Relation>> {
        self.tx.relations_of(node, MOST_RELATIONS)
    }

    /// Stores a record, in the place of the one with its id if there is one.
    ///
    /// # Errors
    /// [`StoreError::UnknownNode`] for a relation whose end does not exist.
    pub(crate) fn put(&mut self, record: &Record) -> StoreResult<()> {
        let subject = record.subject();
        self.remember(subject)?;
        if !matches!(subject, Subject::Memory(_)) {
            self.tx.remove_record(subject)?;
        }
        self.tx.add_record(record, self.number)
    }

    /// Removes a record; with a memory or an entity, its relations too.
    pub(crate) fn remove(&mut self, subject: Subject) -> StoreResult<()> {
        if let Some(node) = node_of(subject) {
            for relation in self.relations_of(&node)? {
                self.remove(Subject::Relation(relation.id))?;
            }
        }
        self.remember(subject)?;
        self.tx.remove_record(subject)
    }

    fn remember(&mut self, subject: Subject) -> StoreResult<()> {
        if self.seen.insert(subject) {
            self.before.push((subject, self.tx.record(subject)?, self.tx.revision(subject)?));
        }
        Ok(())
    }

    /// Logs the operation with the changes that it made; `None` if it made none.
    fn log(self, operation: &NewOperation, of: Option<u64>) -> StoreResult<Option<u64>> {
        let tx = self.tx;
        let mut changes = Vec::with_capacity(self.before.len());
        for (subject, before, before_rev) in self.before {
            if before != tx.record(subject)? {
                changes.push((subject, json_of(tx, before.as_ref())?, before_rev, tx.revision(subject)?));
            } else if let Some(rev) = before_rev {
                tx.set_revision(subject, rev)?;
            }
        }
        if changes.is_empty() && of.is_none() {
            return Ok(None);
        }
        let NewOperation { kind, cause, at, summary } = operation;
        let number: i64 = tx.insert(
            "INSERT INTO operation (number, kind, at_ms, actor, cause, input, summary, of_number)
             VALUES (?8, ?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![kind.as_str(), at, cause.actor.as_str(), cause.by, cause.input, summary, of.map(|of| of as i64), self.number],
        )?;
        for (position, (subject, before, before_rev, after_rev)) in (0i64..).zip(&changes) {
            tx.execute(
                "INSERT INTO operation_change (operation, position, kind, uid, before, before_rev, after_rev)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![number, position, &subject.kind()[..1], subject.key(), before, before_rev, after_rev],
            )?;
        }
        Ok(Some(number as u64))
    }
}

impl<'c> Deref for OperationTx<'_, 'c> {
    type Target = View<'c>;

    fn deref(&self) -> &View<'c> {
        self.tx
    }
}

/// Returns the node that a subject is in the graph; a relation is none.
fn node_of(subject: Subject) -> Option<Node> {
    match subject {
        Subject::Memory(id) => Some(Node::Memory(id)),
        Subject::Entity(id) => Some(Node::Entity(id)),
        Subject::Relation(_) => None,
    }
}

/// Returns the subject with an id and the first letters of its kind.
pub(in crate::store) fn subject_of(letters: &str, key: [u8; 16]) -> Option<Subject> {
    ["memory", "entity", "relation"].into_iter().find(|kind| kind.starts_with(letters)).and_then(|kind| Subject::of(kind, key))
}

fn json_of(view: &View<'_>, record: Option<&Record>) -> StoreResult<Option<String>> {
    record.map(serde_json::to_string).transpose().map_err(|error| view.failed(error.into()))
}

impl View<'_> {
    fn record(&self, subject: Subject) -> StoreResult<Option<Record>> {
        Ok(match subject {
            Subject::Memory(id) => self.memory(id)?.map(|memory| Record::Memory(Box::new(memory))),
            Subject::Entity(id) => self.entity(id)?.map(|entity| Record::Entity(Box::new(entity))),
            Subject::Relation(id) => self.relation(id)?.map(|relation| Record::Relation(Box::new(relation))),
        })
    }

    fn operation(&self, number: u64) -> StoreResult<Option<Operation>> {
        let sql = format!("{OPERATION} WHERE number = ?1");
        self.first(&sql, [number as i64], operation_of)
    }

    /// Returns what an operation changed.
    fn changes(&self, number: u64) -> StoreResult<Vec<StoredChange>> {
        let rows = self.all(
            "SELECT kind, uid, before, before_rev, after_rev FROM operation_change WHERE operation = ?1 ORDER BY position",
            [number as i64],
            |row| {
                let subject = subject_of(&row.get::<_, String>(0)?, row.get(1)?);
                Ok((subject, row.get::<_, Option<String>>(2)?, row.get(3)?, row.get(4)?))
            },
        )?;
        rows.into_iter()
            .filter_map(|(subject, before, before_rev, after_rev)| Some((subject?, before, before_rev, after_rev)))
            .map(|(subject, before, before_rev, after_rev)| {
                let before =
                    before.map(|json| serde_json::from_str(&json)).transpose().map_err(|error| self.failed(error.into()))?;
                Ok(StoredChange { subject, before, before_rev, after_rev })
            })
            .collect()
    }

    /// Returns the last operation after `number` that changed a subject and is in effect.
    fn changed_since(&self, subject: Subject, number: u64) -> StoreResult<Option<u64>> {
        let found: Option<i64> = self.first_value(
            "SELECT operation.number FROM operation_change JOIN operation ON operation.number = operation_change.operation
             WHERE operation_change.uid = ?1 AND operation.number > ?2 AND operation.undone_by IS NULL
               AND operation.kind NOT IN ('undo', 'redo')
             ORDER BY operation.number DESC LIMIT 1",
            params![subject.key(), number as i64],
        )?;
        Ok(found.map(|number| number as u64))
    }
}

impl WriteTx<'_> {
    fn add_record(&self, record: &Record, rev: Revision) -> StoreResult<()> {
        match record {
            Record::Memory(memory) => self.put_memory(memory, rev),
            Record::Entity(entity) => self.add_entity(entity, rev),
            Record::Relation(relation) => {
                for end in [&relation.from, &relation.to] {
                    if !self.has_node(end)? {
                        return Err(StoreError::UnknownNode(end.clone()));
                    }
                }
                self.add_relation(relation, rev)
            }
        }
    }

    fn remove_record(&self, subject: Subject) -> StoreResult<()> {
        match subject {
            Subject::Memory(id) => self.remove_memory(id),
            Subject::Entity(id) => self.remove_entity(id),
            Subject::Relation(id) => self.remove_relation(id),
        }
    }

    /// Replaces the records after an operation by those before, and logs that. `from`: the operation whose changes
    /// are taken back, which is the one to be undone, or the one that undid it.
    fn take_back(&self, from: u64, of: u64, operation: &NewOperation) -> StoreResult<Result<u64, UndoError>> {
        let changes = self.changes(from)?;
        let subjects: HashSet<Subject> = changes.iter().map(|change| change.subject).collect();
        for StoredChange { subject, before, after_rev, .. } in &changes {
            if self.revision(*subject)? != *after_rev {
                let changed = self.changed_since(*subject, from)?;
                return Ok(Err(changed.map_or(UndoError::Changed(*subject), |by| UndoError::BuiltOn { subject: *subject, by })));
            }
            // What is to be removed may have got relations since.
            let node = if before.is_none() { node_of(*subject) } else { None };
            for relation in node.map(|node| self.relations_of(&node, MOST_RELATIONS)).transpose()?.unwrap_or_default() {
                let subject = Subject::Relation(relation.id);
                if !subjects.contains(&subject) {
                    let by = self.changed_since(subject, from)?;
                    return Ok(Err(by.map_or(UndoError::Changed(subject), |by| UndoError::BuiltOn { subject, by })));
                }
            }
            // What is to come back may have lost an end since.
            if let Some(Record::Relation(relation)) = before {
                for end in [&relation.from, &relation.to] {
                    let returns =
                        |change: &StoredChange| change.before.is_some() && node_of(change.subject).as_ref() == Some(end);
                    if !self.has_node(end)? && !changes.iter().any(returns) {
                        return Ok(Err(UndoError::Changed(*subject)));
                    }
                }
            }
        }
        let mut made = OperationTx::begin(self)?;
        for change in &changes {
            made.remember(change.subject)?;
        }
        // Names and ends must be free before others take them.
        for StoredChange { subject, before, .. } in &changes {
            if before.is_none() || !matches!(subject, Subject::Memory(_)) {
                self.remove_record(*subject)?;
            }
        }
        let is_relation = |change: &&StoredChange| matches!(change.subject, Subject::Relation(_));
        let (relations, nodes): (Vec<&StoredChange>, Vec<&StoredChange>) = changes.iter().partition(is_relation);
        for StoredChange { before, before_rev, .. } in nodes.into_iter().chain(relations) {
            if let Some(record) = before {
                self.add_record(record, before_rev.unwrap_or_default())?;
            }
        }
        Ok(made.log(operation, Some(of))?.ok_or(UndoError::Unknown(of)))
    }
}

impl WriteTx<'_> {
    /// Forgets, for good, what memories have from these turns: a memory that rests on them alone is removed with its
    /// relations, one that rests on more loses their quotes. Operations that changed such a memory keep no content.
    pub(in crate::store) fn forget_evidence(&self, turns: &[TurnId], at: UtcMillis) -> StoreResult<()> {
        let list = hex_of(turns.iter().map(|id| id.as_bytes().as_slice()));
        let touched: Vec<[u8; 16]> = self.column(
            "SELECT DISTINCT memory.uid FROM memory_evidence JOIN memory ON memory.id = memory_evidence.memory_id
             WHERE turn_uid IN (SELECT unhex(value) FROM json_each(?1))",
            [&list],
        )?;
        // Between two names, it is what these turns state.
        let stated: Vec<[u8; 16]> = self.column(
            "SELECT uid FROM relation WHERE from_kind = 'entity' AND to_kind = 'entity'
             AND evidence_uid IN (SELECT unhex(value) FROM json_each(?1))",
            [&list],
        )?;
        for id in stated.into_iter().map(RelationId::from_bytes) {
            if let Some(relation) = self.relation(id)? {
                self.forget_relation(relation)?;
            }
        }
        self.execute(
            "UPDATE relation SET evidence_uid = NULL, rev = -abs(rev) - 1 WHERE evidence_uid IN (SELECT unhex(value) FROM json_each(?1))",
            [&list],
        )?;
        let gone: HashSet<TurnId> = turns.iter().copied().collect();
        let mut removed = 0;
        for id in touched.iter().copied().map(MemoryId::from_bytes) {
            let Some(mut memory) = self.memory(id)? else { continue };
            // An extractor tells its finding in the words of the first evidence.
            let is_told_in = |evidence: &Evidence| memory.lane == Lane::Extracted && gone.contains(&evidence.turn);
            let is_in_their_words = memory.source.extractor.is_some() && memory.evidence.first().is_some_and(is_told_in);
            memory.evidence.retain(|evidence| !gone.contains(&evidence.turn));
            if memory.evidence.is_empty() || is_in_their_words {
                self.extract_again(&memory.evidence)?;
                self.forget_memory(id, at)?;
                removed += 1;
            } else {
                self.put_memory_otherwise(&memory)?;
                self.forget_changes(Subject::Memory(id))?;
            }
        }
        if touched.is_empty() {
            return Ok(());
        }
        self.log_forgetting(&format!("forgot {removed} memories and the evidence of {}", touched.len() - removed), at)
    }

    /// Stores a memory that is changed by no operation.
    fn put_memory_otherwise(&self, memory: &Memory) -> StoreResult<()> {
        let rev = self.revision(Subject::Memory(memory.id))?;
        self.put_memory(memory, changed_otherwise(rev))
    }

    /// Lets extractors read the conversations of this evidence again: they say the same in words of their own.
    fn extract_again(&self, evidence: &[Evidence]) -> StoreResult<()> {
        let list = hex_of(evidence.iter().map(|evidence| evidence.turn.as_bytes().as_slice()));
        self.execute(
            "DELETE FROM extraction WHERE episode_id IN (SELECT episode_id FROM turn WHERE uid IN (SELECT unhex(value) FROM json_each(?1)))",
            [&list],
        )
        .map(drop)
    }

    /// Forgets, for good, the relations of what is no memory, such as a context, and the log of its uses.
    pub(in crate::store) fn forget_node(&self, node: &Node) -> StoreResult<()> {
        self.forget_relations(node)?;
        self.execute("DELETE FROM memory_access WHERE memory_uid = ?1", [node.key()]).map(drop)
    }

    /// Removes the relations of a node, the content of every operation that changed them, and the entities that are then
    /// nothing but a name that is related to nothing: a name may be what was to be forgotten.
    fn forget_relations(&self, node: &Node) -> StoreResult<()> {
        self.relations_of(node, MOST_RELATIONS)?.into_iter().try_for_each(|relation| self.forget_relation(relation))
    }

    fn forget_relation(&self, relation: Relation) -> StoreResult<()> {
        self.forget_changes(Subject::Relation(relation.id))?;
        self.remove_relation(relation.id)?;
        for end in [relation.from, relation.to] {
            let Node::Entity(id) = end else { continue };
            let Some(entity) = self.entity(id)?.filter(|entity| entity.id != EntityId::USER) else { continue };
            let is_bare = entity.description.is_none() && entity.aliases.is_empty();
            if is_bare && self.relations_of(&Node::Entity(id), 1)?.is_empty() {
                self.remove_entity(id)?;
                self.forget_changes(Subject::Entity(id))?;
            }
        }
        Ok(())
    }

    /// Removes a memory with its relations, and the content of every operation that changed it.
    ///
    /// Memories that it superseded automatically hold again, and so do those that were contested for it; they wait to be compared with the
    /// others ([`Store::to_compare`]).
    fn forget_memory(&self, id: MemoryId, at: UtcMillis) -> StoreResult<()> {
        let is_in_effect = self.memory(id)?.is_some_and(|memory| memory.is_in_effect());
        for relation in self.relations_of(&Node::Memory(id), MOST_RELATIONS)? {
            let superseded = match (relation.relation_type, &relation.from, &relation.to) {
                (RelationType::Supersedes, Node::Memory(newer), Node::Memory(older)) if *newer == id => Some(*older),
                _ => None,
            };
            let Some(other) = superseded.or_else(|| relation.contradicting(id)) else { continue };
            let Some(other) = self.memory(other)? else { continue };
            let event = match other.status {
                Status::Superseded if is_in_effect => Event::Revived,
                Status::Contested if !self.stays_contested(other.id, id)? => Event::Released,
                _ => continue,
            };
            if let Some(freed) = other.after(&event, at) {
                self.put_memory_otherwise(&freed)?;
                let waiting: Option<String> = self.first_value("SELECT value FROM index_state WHERE name = ?1", [TO_COMPARE])?;
                self.set_state(TO_COMPARE, &format!("{} {}", waiting.unwrap_or_default(), freed.id))?;
            }
        }
        self.forget_aliases(id)?;
        self.forget_relations(&Node::Memory(id))?;
        self.execute("DELETE FROM memory_use WHERE memory_uid = ?1", [id.as_bytes()])?;
        self.execute("DELETE FROM memory_access WHERE memory_uid = ?1", [id.as_bytes()])?;
        self.remove_memory(id)?;
        self.forget_changes(Subject::Memory(id))
    }

    /// Removes the other names that the statement of a memory gives the entities that it is about.
    fn forget_aliases(&self, id: MemoryId) -> StoreResult<()> {
        let Some(statement) = self.memory(id)?.map(|memory| memory.statement.to_lowercase()) else { return Ok(()) };
        for relation in self.relations_of(&Node::Memory(id), MOST_RELATIONS)? {
            let Node::Entity(entity) = relation.to else { continue };
            let Some(entity) = self.entity(entity)?.filter(|entity| entity.id != EntityId::USER) else { continue };
            let said = entity.aliases.iter().filter(|alias| statement.contains(&alias.to_lowercase()));
            let said: Vec<&String> = said.collect();
            for alias in &said {
                self.execute(
                    "DELETE FROM entity_alias WHERE alias = ?2 AND entity_id = (SELECT id FROM entity WHERE uid = ?1)",
                    params![entity.id.as_bytes(), alias],
                )?;
            }
            if !said.is_empty() {
                self.forget_changes(Subject::Entity(entity.id))?;
            }
        }
        Ok(())
    }

    /// Returns whether a contested memory stays so for another one than `except`.
    fn stays_contested(&self, id: MemoryId, except: MemoryId) -> StoreResult<bool> {
        for relation in self.relations_of(&Node::Memory(id), MOST_RELATIONS)? {
            let Some(other) = relation.contradicting(id) else { continue };
            if other != except && self.memory(other)?.is_some_and(|other| keeps_contested(&relation, &other)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn log_forgetting(&self, summary: &str, at: UtcMillis) -> StoreResult<()> {
        self.execute(
            "INSERT INTO operation (kind, at_ms, actor, cause, summary, is_forgotten) VALUES ('forget', ?1, 'person', 'forget', ?2, 1)",
            params![at, summary],
        )
        .map(drop)
    }

    /// Removes what operations say of a subject. An import, extraction or comparison by a model, which changes many things that have
    /// nothing to do with each other, keeps the rest; any other operation, whose parts make one thing, keeps no content.
    fn forget_changes(&self, subject: Subject) -> StoreResult<()> {
        self.execute(
            "DELETE FROM operation_change WHERE uid = ?1
             AND operation IN (SELECT number FROM operation WHERE kind IN ('import', 'extract') OR kind = 'merge' AND actor = 'model')
             AND EXISTS (SELECT 1 FROM operation_change AS rest WHERE rest.operation = operation_change.operation AND rest.uid <> ?1)",
            [subject.key()],
        )?;
        // An operation may have changed many: its content goes once.
        let operations: Vec<i64> = self.column(
            "SELECT number FROM operation WHERE is_forgotten = 0
             AND number IN (SELECT operation FROM operation_change WHERE uid = ?1)",
            [subject.key()],
        )?;
        for number in operations {
            self.execute(
                "UPDATE operation SET is_forgotten = 1, summary = 'forgotten', input = NULL WHERE number = ?1",
                [number],
            )?;
            self.execute(
                "UPDATE operation_change SET before = NULL, before_rev = NULL, after_rev = NULL WHERE operation = ?1",
                [number],
            )?;
        }
        Ok(())
    }
}

// The few memories that are archived are looked for among the changes, which may be thousands.
const OPERATION: &str = "SELECT number, kind, at_ms, actor, cause, input, summary, of_number, undone_by, is_forgotten,
        EXISTS (SELECT 1 FROM memory CROSS JOIN operation_change
                ON operation_change.uid = memory.uid AND operation_change.operation = operation.number
                WHERE memory.status = 'archived' AND json_extract(memory.rest, '$.cause.kind') = 'forgotten')
    FROM operation";

fn operation_of(row: &Row<'_>) -> rusqlite::Result<Operation> {
    let number = |column: usize| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(column)?.map(|number| number as u64));
    Ok(Operation {
        number: number(0)?.unwrap_or_default(),
        kind: OperationKind::parse(&row.get::<_, String>(1)?).unwrap_or(OperationKind::Edit),
        at: row.get(2)?,
        cause: Cause { actor: Actor::parse(&row.get::<_, String>(3)?).unwrap_or_default(), by: row.get(4)?, input: row.get(5)? },
        summary: row.get(6)?,
        of: number(7)?,
        undone_by: number(8)?,
        is_forgotten: row.get(9)?,
        is_of_forgotten: row.get(10)?,
    })
}

impl Store {
    /// Forgets memories for good: their records, relations, uses, vectors, and the content of the operations that changed them; of those that
    /// are only `logged`, which stay as they are, that content alone. The caller removes them from the indexes and from the backups.
    pub(crate) fn forget_memories(&self, ids: &[MemoryId], logged: &[MemoryId], at: UtcMillis) -> StoreResult<()> {
        self.write(|tx| {
            for id in ids {
                tx.forget_memory(*id, at)?;
            }
            let what = if ids.len() == 1 { "a memory".to_owned() } else { format!("{} memories", ids.len()) };
            tx.log_forgetting(&format!("forgot {what}"), at)?;
            tx.forget_repetitions()?;
            tx.set_state("purge", "owed")?;
            tx.set_state("purge-vectors", "owed")?;
            tx.release_vectors()?;
            logged.iter().try_for_each(|id| tx.forget_changes(Subject::Memory(*id)))
        })
    }

    /// Returns the records of memories that the log holds, the latest first, each with whether the memory is still there: one that was
    /// undone is in the log alone.
    pub(crate) fn logged_memories(&self) -> StoreResult<Vec<(Memory, bool)>> {
        self.read(|view| {
            let records: Vec<(String, bool)> = view.all(
                "SELECT before, EXISTS (SELECT 1 FROM memory WHERE memory.uid = change.uid) FROM operation_change AS change
                 WHERE kind IN ('m', 'memory') AND before IS NOT NULL ORDER BY operation DESC",
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )?;
            let memory = |(record, is_there): (String, bool)| match serde_json::from_str(&record) {
                Ok(Record::Memory(memory)) => Some((*memory, is_there)),
                _ => None,
            };
            Ok(records.into_iter().filter_map(memory).collect())
        })
    }

    /// Returns the memories that hold again since others were forgotten for good, and that were not compared with the rest since.
    pub(crate) fn to_compare(&self) -> StoreResult<Vec<MemoryId>> {
        let waiting = self.index_state(TO_COMPARE)?.unwrap_or_default();
        Ok(waiting.split_whitespace().filter_map(|id| id.parse().ok()).collect())
    }

    /// Runs an operation in one transaction and logs it. Returns what `work` returns, and the number of the
    /// operation; no number if it changed nothing.
    ///
    /// # Errors
    /// Those of `work`; then nothing was changed.
    pub(crate) fn operate<T, E: From<StoreError>>(
        &self,
        operation: &NewOperation,
        work: impl FnOnce(&mut OperationTx<'_, '_>) -> Result<T, E>,
    ) -> Result<(T, Option<u64>), E> {
        let mut refused = None;
        let done = self.write(|tx| {
            let mut made = OperationTx::begin(tx)?;
            match work(&mut made) {
                Ok(value) => Ok((value, made.log(operation, None)?)),
                Err(error) => {
                    refused = Some(error);
                    // Ends the transaction without a commit.
                    Err(StoreError::Refused)
                }
            }
        });
        match (done, refused) {
            (_, Some(error)) => Err(error),
            (done, None) => Ok(done?),
        }
    }

    /// Returns the latest operations before one (`None`: all), newest first; with `subject` only those that changed
    /// it.
    pub(crate) fn operations(&self, before: Option<u64>, subject: Option<Subject>, limit: usize) -> StoreResult<Vec<Operation>> {
        self.read(|view| {
            let sql = format!(
                "{OPERATION} WHERE (?1 IS NULL OR number < ?1)
                   AND (?2 IS NULL OR number IN (SELECT operation FROM operation_change WHERE uid = ?2))
                 ORDER BY number DESC LIMIT ?3"
            );
            let key = subject.as_ref().map(Subject::key);
            view.all(&sql, params![before.map(|number| number as i64), key, limit as i64], operation_of)
        })
    }

    /// Returns an operation with what it changed: the records before it, and as far as nothing changed them since,
    /// those after it.
    pub(crate) fn operation(&self, number: u64) -> StoreResult<Option<(Operation, Vec<Change>)>> {
        self.read(|view| {
            let Some(operation) = view.operation(number)? else { return Ok(None) };
            let mut changes = Vec::new();
            for StoredChange { subject, before, after_rev, .. } in view.changes(number)? {
                let is_after = view.revision(subject)? == after_rev;
                changes.push(Change { subject, before, after: view.record(subject)?.filter(|_| is_after) });
            }
            Ok(Some((operation, changes)))
        })
    }

    /// Undoes an operation, or does one again that was undone; undoing an undoing does it again, and so on. Returns the number of the new
    /// operation.
    pub(crate) fn undo(&self, number: u64, way: Undoing, cause: &Cause, at: UtcMillis) -> StoreResult<Result<u64, UndoError>> {
        self.write(|tx| {
            if way == Undoing::Redo {
                return redo(tx, number, cause, at);
            }
            let Some(operation) = tx.operation(number)? else { return Ok(Err(UndoError::Unknown(number))) };
            match (operation.kind, operation.of) {
                (OperationKind::Undo, Some(of)) => redo(tx, of, cause, at),
                (OperationKind::Redo, Some(of)) => undo(tx, of, cause, at),
                _ => undo(tx, number, cause, at),
            }
        })
    }
}

fn undo(tx: &WriteTx<'_>, number: u64, cause: &Cause, at: UtcMillis) -> StoreResult<Result<u64, UndoError>> {
    let Some(operation) = tx.operation(number)? else { return Ok(Err(UndoError::Unknown(number))) };
    if operation.is_forgotten || operation.kind == OperationKind::Forget {
        return Ok(Err(UndoError::Forgotten(number)));
    }
    if let Some(by) = operation.undone_by {
        return Ok(Err(UndoError::AlreadyUndone { number, by }));
    }
    let summary = format!("undid {number}: {}", operation.summary);
    let new = NewOperation { kind: OperationKind::Undo, cause: cause.clone(), at, summary };
    // After a redo, the records are as that left them.
    let done = tx.take_back(last_doing(tx, number)?, number, &new)?;
    if let Ok(by) = done {
        tx.execute("UPDATE operation SET undone_by = ?2 WHERE number = ?1", params![number as i64, by as i64])?;
    }
    Ok(done)
}

fn redo(tx: &WriteTx<'_>, number: u64, cause: &Cause, at: UtcMillis) -> StoreResult<Result<u64, UndoError>> {
    let Some(operation) = tx.operation(number)? else { return Ok(Err(UndoError::Unknown(number))) };
    let Some(by) = operation.undone_by else { return Ok(Err(UndoError::NotUndone(number))) };
    if operation.is_forgotten {
        return Ok(Err(UndoError::Forgotten(number)));
    }
    let summary = format!("did {number} again: {}", operation.summary);
    let new = NewOperation { kind: OperationKind::Redo, cause: cause.clone(), at, summary };
    let done = tx.take_back(by, number, &new)?;
    if done.is_ok() {
        tx.execute("UPDATE operation SET undone_by = NULL WHERE number = ?1", [number as i64])?;
    }
    Ok(done)
}

/// Returns the operation that last made the changes of `number`: itself, or the last one that did it again.
fn last_doing(tx: &WriteTx<'_>, number: u64) -> StoreResult<u64> {
    let found: Option<i64> = tx.first_value(
        "SELECT number FROM operation WHERE of_number = ?1 AND kind = 'redo' ORDER BY number DESC LIMIT 1",
        [number as i64],
    )?;
    Ok(found.map_or(number, |number| number as u64))
}
