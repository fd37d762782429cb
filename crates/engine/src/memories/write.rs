//! Changes the status of memories: the event, the record after it, and what follows for others.
//!
//! What an event makes of a memory is decided by `core::memory::lifecycle`. A memory that leaves effect releases those that were
//! contested for it alone, and one that is in effect again is compared with the others.

use yore_core::id::{MemoryId, RelationId};
use yore_core::memory::{Event, Lane, Memory, Replacement, Status, check, is_clear_denial, keeps_contested};
use yore_core::operation::{Actor, Cause, OperationKind, Record, Subject};
use yore_core::relation::{Node, Relation, RelationType};
use yore_core::time::UtcMillis;

use super::settle::{settle_by_itself, since};
use super::step::connect;
use crate::Engine;
use crate::error::{EngineError, MemoryError};
use crate::store::OperationTx;

/// Cause of an operation that compares memories again.
const BY_FORGETTING: &str = "what was forgotten for good";

impl Engine {
    /// Compares the memories that hold again since others were forgotten for good, as one operation.
    pub(crate) fn compare_freed(&self) -> Result<(), EngineError> {
        let freed = self.store().to_compare()?;
        if freed.is_empty() {
            return Ok(());
        }
        let (now, summary) = (self.now(), format!("compared {} memories that hold again", freed.len()));
        let cause = Cause { actor: Actor::Rule, by: BY_FORGETTING.to_owned(), input: None };
        self.operate(OperationKind::Relate, &cause, summary, |tx| {
            freed.iter().try_for_each(|id| compare_again(tx, *id, Actor::Rule, now))
        })?;
        Ok(self.store().note_compared()?)
    }
}

/// Applies an event to a memory, with what follows for others. Returns whether the event changed it.
pub(super) fn change(
    tx: &mut OperationTx<'_, '_>,
    known: &Memory,
    event: &Event,
    actor: Actor,
    now: UtcMillis,
) -> Result<bool, EngineError> {
    let Some(changed) = known.after(event, now) else { return Ok(false) };
    check(&changed).map_err(MemoryError::from)?;
    put(tx, known, changed, actor, now)?;
    Ok(true)
}

/// Stores a changed memory, and does what follows if it left effect or is in effect again.
pub(super) fn put(
    tx: &mut OperationTx<'_, '_>,
    known: &Memory,
    changed: Memory,
    actor: Actor,
    now: UtcMillis,
) -> Result<(), EngineError> {
    let (id, was, is) = (known.id, known.is_in_effect(), changed.is_in_effect());
    tx.put(&Record::Memory(Box::new(changed)))?;
    if was && !is {
        for (_, other) in contradictions(tx, id)? {
            release(tx, other.id, now)?;
        }
    }
    if is && !was { compare_again(tx, id, actor, now) } else { Ok(()) }
}

/// Lets the newer memory supersede the older one.
///
/// # Errors
/// [`MemoryError::Invalid`] for a reason that is too long.
pub(super) fn supersede(
    tx: &mut OperationTx<'_, '_>,
    older: &Memory,
    newer: &Memory,
    why: Replacement,
    actor: Actor,
    now: UtcMillis,
) -> Result<(), EngineError> {
    change(tx, older, &Event::Replaced { since: since(newer, now), why }, actor, now)?;
    connect(tx, Node::Memory(newer.id), RelationType::Supersedes, Node::Memory(older.id), now)
}

/// Marks an extracted memory that speaks against a person's one, or of two extracted ones that clearly deny each other the first, as
/// contested.
pub(super) fn compare_again(tx: &mut OperationTx<'_, '_>, id: MemoryId, actor: Actor, now: UtcMillis) -> Result<(), EngineError> {
    settle_by_itself(tx, id, actor, now)?;
    for (contradiction, other) in contradictions(tx, id)? {
        let Some(own) = tx.memory(id)?.filter(Memory::is_in_effect) else { break };
        let Some(other) = tx.memory(other.id)?.filter(Memory::is_in_effect) else { continue };
        match (own.lane, other.lane) {
            (Lane::Extracted, Lane::Curated) => mark(tx, &own, &other, now)?,
            (Lane::Curated, Lane::Extracted) => mark(tx, &other, &own, now)?,
            (Lane::Extracted, Lane::Extracted) if is_clear_denial(&contradiction) => mark(tx, &own, &other, now)?,
            _ => {}
        }
    }
    Ok(())
}

/// Marks a memory as contested.
pub(super) fn mark(tx: &mut OperationTx<'_, '_>, contested: &Memory, by: &Memory, now: UtcMillis) -> Result<(), EngineError> {
    if let Some(marked) = contested.after(&Event::Contested { by: by.id }, now) {
        tx.put(&Record::Memory(Box::new(marked)))?;
    }
    Ok(())
}

/// Lets a contested memory hold again, unless a contradiction keeps it contested.
pub(super) fn release(tx: &mut OperationTx<'_, '_>, id: MemoryId, now: UtcMillis) -> Result<(), EngineError> {
    let Some(contested) = tx.memory(id)?.filter(|memory| memory.status == Status::Contested) else { return Ok(()) };
    if contradictions(tx, id)?.iter().any(|(contradiction, other)| keeps_contested(contradiction, other)) {
        return Ok(());
    }
    match contested.after(&Event::Released, now) {
        Some(released) => Ok(tx.put(&Record::Memory(Box::new(released)))?),
        None => Ok(()),
    }
}

/// Lets those memories hold again that a memory superseded automatically, because it should not have been recorded; except for those
/// of `gone`.
pub(super) fn revive_replaced(
    tx: &mut OperationTx<'_, '_>,
    id: MemoryId,
    gone: &[MemoryId],
    actor: Actor,
    now: UtcMillis,
) -> Result<(), EngineError> {
    for relation in tx.relations_of(&Node::Memory(id))? {
        if let (RelationType::Supersedes, Node::Memory(newer), Node::Memory(older)) =
            (relation.relation_type, &relation.from, &relation.to)
            && *newer == id
            && !gone.contains(older)
        {
            revive(tx, *older, relation.id, actor, now)?;
        }
    }
    Ok(())
}

/// Lets a memory hold again that was superseded automatically, and removes the relation by which it was.
pub(super) fn revive(
    tx: &mut OperationTx<'_, '_>,
    id: MemoryId,
    by: RelationId,
    actor: Actor,
    now: UtcMillis,
) -> Result<(), EngineError> {
    let Some(older) = tx.memory(id)?.filter(Memory::was_replaced_by_itself) else { return Ok(()) };
    tx.remove(Subject::Relation(by))?;
    change(tx, &older, &Event::Revived, actor, now)?;
    Ok(())
}

/// Returns the contradictions of a memory, each with the other memory of it.
fn contradictions(tx: &OperationTx<'_, '_>, id: MemoryId) -> Result<Vec<(Relation, Memory)>, EngineError> {
    let mut found = Vec::new();
    for relation in tx.relations_of(&Node::Memory(id))? {
        let other = match (relation.relation_type, &relation.from, &relation.to) {
            (RelationType::Contradicts, Node::Memory(a), Node::Memory(b)) => {
                if *a == id {
                    *b
                } else {
                    *a
                }
            }
            _ => continue,
        };
        if let Some(other) = tx.memory(other)? {
            found.push((relation, other));
        }
    }
    Ok(found)
}
