//! Stores status changes of memories: applies an event, and releases memories that were contested for the changed one alone.
//!
//! `core::memory::lifecycle` decides the status that an event leads to. `retire_or_contest` compares what is in effect again.

use yore_core::id::MemoryId;
use yore_core::memory::{Event, Memory, Replacement, Status, check, keeps_contested};
use yore_core::operation::Record;
use yore_core::relation::{Node, Relation, RelationType};
use yore_core::time::UtcMillis;

use super::step::connect;
use crate::error::{EngineError, MemoryError};
use crate::store::OperationTx;

/// Stores a changed memory, and releases those that were contested for it alone if it left effect. Returns whether it is in effect
/// again: then it must be compared with the others.
pub(super) fn store(tx: &mut OperationTx<'_, '_>, known: &Memory, changed: Memory, now: UtcMillis) -> Result<bool, EngineError> {
    check(&changed).map_err(MemoryError::from)?;
    let (id, was, is) = (known.id, known.is_in_effect(), changed.is_in_effect());
    tx.put(&Record::Memory(Box::new(changed)))?;
    if was && !is {
        for (_, other) in contradictions(tx, id)? {
            release(tx, other.id, now)?;
        }
    }
    Ok(is && !was)
}

/// Applies an event to a memory. Returns the same as [`store`].
pub(super) fn apply(tx: &mut OperationTx<'_, '_>, known: &Memory, event: &Event, now: UtcMillis) -> Result<bool, EngineError> {
    match known.after(event, now) {
        Some(changed) => store(tx, known, changed, now),
        None => Ok(false),
    }
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
    now: UtcMillis,
) -> Result<(), EngineError> {
    apply(tx, older, &Event::Replaced { since: newer.true_since(now), why }, now)?;
    connect(tx, Node::Memory(newer.id), RelationType::Supersedes, Node::Memory(older.id), now)
}

/// Marks a memory as contested.
pub(super) fn mark_contested(
    tx: &mut OperationTx<'_, '_>,
    contested: &Memory,
    by: &Memory,
    now: UtcMillis,
) -> Result<(), EngineError> {
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

/// Returns the contradictions of a memory, each with the other memory of it.
pub(super) fn contradictions(tx: &OperationTx<'_, '_>, id: MemoryId) -> Result<Vec<(Relation, Memory)>, EngineError> {
    let mut found = Vec::new();
    for relation in tx.relations_of(&Node::Memory(id))? {
        let Some(other) = relation.contradicting(id) else { continue };
        if let Some(other) = tx.memory(other)? {
            found.push((relation, other));
        }
    }
    Ok(found)
}
