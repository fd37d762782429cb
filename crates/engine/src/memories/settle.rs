//! Settles by itself what is certain: another value of what has one value at a time takes the place of the one before.
//!
//! Both memories must assert something of the same aspect of the same subject ([`yore_core::conflict::Assertion`]), in the same
//! project; the newer one, by the time since when it is true, retires the older one if whoever said it counts at least as much. What a
//! person gave or pinned is retired by a person alone: an extracted statement that contradicts it is contested until somebody
//! settles that. So is one that clearly denies what holds; one that says that something is no longer so ends what was said word for word
//! before. A special case (`scope`) qualifies what holds in general, and takes no place. Everything else is stated as a contradiction,
//! and both hold.

use yore_core::conflict::{Conflict, ConflictKind, ConflictSeverity, SURE, Which};
use yore_core::id::{MemoryId, RelationId};
use yore_core::memory::{Confidence, Lane, Memory, REPLACED, SourceKind, Status};
use yore_core::operation::{Actor, Record, Subject};
use yore_core::relation::{Node, Relation, RelationType};
use yore_core::time::UtcMillis;

use super::contest::{against, conflict_of, contest, is_settled};
use super::known::is_done;
use super::scope::special_case;
use super::step::connect;
use crate::error::EngineError;
use crate::store::OperationTx;

/// End of the cause of a memory that another one says is no longer so.
pub(super) const NO_LONGER_SO: &str = "it is no longer so";
/// Characters of a value in a cause.
const VALUE_CHARS: usize = 60;

/// How much it counts who said a statement: a person's word and an outcome before what an agent says, that before a guess.
pub(super) fn authority(memory: &Memory) -> u8 {
    match () {
        () if memory.lane == Lane::Curated => 3,
        () if memory.confidence == Confidence::Speculative => 0,
        () if memory.source.kind == SourceKind::User || memory.confidence == Confidence::Verified || is_done(memory) => 2,
        () => 1,
    }
}

/// Compares a memory with those that assert another value of the same, and settles what is certain.
pub(super) fn settle_by_itself(
    tx: &mut OperationTx<'_, '_>,
    id: MemoryId,
    actor: Actor,
    now: UtcMillis,
) -> Result<(), EngineError> {
    let Some(own) = tx.memory(id)?.filter(Memory::is_in_effect) else { return Ok(()) };
    let Some(assertion) = own.assertion() else { return Ok(()) };
    for other in tx.assertions_near(&own, &assertion)? {
        // An earlier pair may have retired either of them.
        let Some(own) = tx.memory(id)?.filter(Memory::is_in_effect) else { break };
        let Some(other) = tx.memory(other)?.filter(Memory::is_in_effect) else { continue };
        let Some(of_other) = other.assertion().filter(|of_other| of_other.excludes(&assertion)) else { continue };
        if !own.may_meet(&other) || is_settled(tx, own.id, other.id)? {
            continue;
        }
        if let Some(case) = special_case(tx, &own, &other, ConflictKind::Value)? {
            case.state(tx, now)?;
            continue;
        }
        let (older, newer, values) = match is_later(&own, &other) {
            Some(false) => (&own, &other, [&assertion, &of_other]),
            _ => (&other, &own, [&of_other, &assertion]),
        };
        if newer.is_of_same_place(older) && may_replace(tx, newer, older, actor, now)? {
            // Its own value alone: the other's words are the other's.
            let value: String = values[0].value.chars().take(VALUE_CHARS).collect();
            let cause = format!("{REPLACED}{value} has another value since");
            replace(tx, older, newer, cause, now)?;
            continue;
        }
        contest_marked(tx, older, newer, &conflict_of(values), now)?;
    }
    Ok(())
}

/// States that two memories contradict each other. An extracted statement never speaks against a person's word unmarked.
pub(super) fn contest_marked(
    tx: &mut OperationTx<'_, '_>,
    older: &Memory,
    newer: &Memory,
    conflict: &Conflict,
    now: UtcMillis,
) -> Result<(), EngineError> {
    let is_stated = contest(tx, older.id, newer.id, conflict, now)?;
    let (curated, extracted) = if older.lane == Lane::Curated { (older, newer) } else { (newer, older) };
    if is_stated && curated.lane == Lane::Curated && extracted.lane == Lane::Extracted {
        mark(tx, extracted, curated, now)?;
    }
    Ok(())
}

/// States a conflict that words show, of a known memory and a new one, and settles it if that is certain: the newer one says that what
/// the older one says is no longer so. What clearly denies a known memory is not told as true until somebody settles that.
pub(super) fn settle_or_contest(
    tx: &mut OperationTx<'_, '_>,
    known: MemoryId,
    new: MemoryId,
    conflict: &Conflict,
    actor: Actor,
    now: UtcMillis,
) -> Result<(), EngineError> {
    let (Some(known), Some(new)) = (tx.memory(known)?, tx.memory(new)?) else { return Ok(()) };
    let may_meet = known.may_meet(&new) && known.is_in_effect() && new.is_in_effect();
    if known.id == new.id || !may_meet || is_settled(tx, known.id, new.id)? {
        return Ok(());
    }
    let is_sure = conflict.severity() == ConflictSeverity::Critical;
    // A plain denial elsewhere is likely one of something else.
    let is_likely = is_sure || conflict.kind == ConflictKind::Value || known.is_of_same_place(&new);
    if let Some(case) = special_case(tx, &new, &known, conflict.kind)? {
        return if is_likely { case.state(tx, now) } else { Ok(()) };
    }
    if !is_likely {
        return Ok(());
    }
    let ends = conflict.ended_by.filter(|_| known.is_of_same_place(&new));
    let ends = ends.map(|by| if by == Which::First { (&known, &new) } else { (&new, &known) });
    if let Some((ending, ended)) = ends.filter(|_| is_sure)
        && may_replace(tx, ending, ended, actor, now)?
    {
        return replace(tx, ended, ending, format!("{REPLACED}{NO_LONGER_SO}"), now);
    }
    let is_stated = contest(tx, known.id, new.id, conflict, now)?;
    match (known.lane, new.lane) {
        _ if !is_sure || !is_stated => Ok(()),
        (_, Lane::Extracted) => mark(tx, &new, &known, now),
        (Lane::Extracted, Lane::Curated) => mark(tx, &known, &new, now),
        (Lane::Curated, Lane::Curated) => Ok(()),
    }
}

/// Compares a memory with those about entities with these names, and with others that are near.
pub(super) fn settle_with<'m>(
    tx: &mut OperationTx<'_, '_>,
    id: MemoryId,
    names: &[String],
    near: impl Iterator<Item = &'m Memory>,
    actor: Actor,
    now: UtcMillis,
) -> Result<(), EngineError> {
    let Some(memory) = tx.memory(id)? else { return Ok(()) };
    for (other, conflict) in against(tx, &memory, names, near)? {
        settle_or_contest(tx, other, id, &conflict, actor, now)?;
    }
    Ok(())
}

/// Settles and marks a memory that is in effect again.
pub(super) fn settle_again(tx: &mut OperationTx<'_, '_>, id: MemoryId, actor: Actor, now: UtcMillis) -> Result<(), EngineError> {
    settle_by_itself(tx, id, actor, now)?;
    for (other, is_blocking) in contradicted(tx, id)? {
        let Some(own) = tx.memory(id)?.filter(Memory::is_in_effect) else { break };
        let Some(other) = tx.memory(other)?.filter(Memory::is_in_effect) else { continue };
        match (own.lane, other.lane) {
            (Lane::Extracted, Lane::Curated) => mark(tx, &own, &other, now)?,
            (Lane::Curated, Lane::Extracted) => mark(tx, &other, &own, now)?,
            (Lane::Extracted, Lane::Extracted) if is_blocking => mark(tx, &own, &other, now)?,
            _ => {}
        }
    }
    Ok(())
}

/// Returns whether a memory became true after another; `None` if nobody knows.
pub(super) fn is_later(one: &Memory, other: &Memory) -> Option<bool> {
    since(one).zip(since(other)).filter(|(a, b)| a != b).map(|(a, b)| a > b)
}

/// Returns whether a memory may take the place of another by itself: it is true now, became so later, and who said it counts as much.
/// The older one was not said again since, and what a person gave is retired by a person.
pub(super) fn may_replace(
    tx: &OperationTx<'_, '_>,
    newer: &Memory,
    older: &Memory,
    actor: Actor,
    now: UtcMillis,
) -> Result<bool, EngineError> {
    let is_so_now = newer.is_valid_at(now) && since(newer).is_some_and(|since| since <= now);
    let by_person = older.lane == Lane::Extracted || newer.lane == Lane::Curated && actor == Actor::Person;
    let may = is_later(newer, older) == Some(true)
        && is_so_now
        && authority(newer) >= authority(older)
        && !older.is_pinned
        && by_person;
    if !may {
        return Ok(false);
    }
    Ok(tx.last_said(older.id)?.zip(since(newer)).is_none_or(|(said, since)| said <= since))
}

/// Marks a memory as contested.
fn mark(tx: &mut OperationTx<'_, '_>, contested: &Memory, by: &Memory, now: UtcMillis) -> Result<(), EngineError> {
    if contested.status != Status::Holds {
        return Ok(());
    }
    let cause = Some(format!("contradicts {}", by.id.short()));
    let contested = Memory { status: Status::Contested, cause, status_since: Some(now), changed: now, ..contested.clone() };
    Ok(tx.put(&Record::Memory(Box::new(contested)))?)
}

/// Returns since when a memory is true, as far as is known: one that somebody gives is so now, a file may be old.
fn since(memory: &Memory) -> Option<UtcMillis> {
    memory.valid_from.or(Some(memory.recorded).filter(|_| memory.source.kind != SourceKind::Import))
}

/// Lets the newer memory take the place of the older one.
pub(super) fn replace(
    tx: &mut OperationTx<'_, '_>,
    older: &Memory,
    newer: &Memory,
    cause: String,
    now: UtcMillis,
) -> Result<(), EngineError> {
    let retired = Memory {
        status: Status::Superseded,
        status_since: Some(now),
        changed: now,
        valid_until: older
            .valid_until
            .into_iter()
            .chain(since(newer))
            .min()
            .filter(|until| older.valid_from.is_none_or(|from| from <= *until)),
        cause: Some(cause),
        ..older.clone()
    };
    leave(tx, retired, now)?;
    connect(tx, Node::Memory(newer.id), RelationType::Supersedes, Node::Memory(older.id), now)
}

/// Stores a memory whose status has changed, and releases those that were contested for it alone.
pub(super) fn leave(tx: &mut OperationTx<'_, '_>, left: Memory, now: UtcMillis) -> Result<(), EngineError> {
    let id = left.id;
    tx.put(&Record::Memory(Box::new(left)))?;
    for (other, _) in contradicted(tx, id)? {
        release(tx, other, now)?;
    }
    Ok(())
}

/// Takes back what a memory replaced by itself, when it turns out that it should not have been recorded; except for those of `gone`.
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

/// Lets a memory hold again that was replaced by itself, and takes the relation back by which it was.
pub(super) fn revive(
    tx: &mut OperationTx<'_, '_>,
    id: MemoryId,
    by: RelationId,
    actor: Actor,
    now: UtcMillis,
) -> Result<(), EngineError> {
    let Some(older) = tx.memory(id)?.filter(Memory::was_replaced_by_itself) else { return Ok(()) };
    let revived =
        Memory { status: Status::Holds, cause: None, status_since: Some(now), changed: now, valid_until: None, ..older };
    tx.put(&Record::Memory(Box::new(revived)))?;
    tx.remove(Subject::Relation(by))?;
    settle_again(tx, id, actor, now)
}

/// Lets a contested memory hold again, unless it still contradicts a person's one that is in effect, or clearly denies another.
pub(super) fn release(tx: &mut OperationTx<'_, '_>, id: MemoryId, now: UtcMillis) -> Result<(), EngineError> {
    let Some(contested) = tx.memory(id)?.filter(|memory| memory.status == Status::Contested) else { return Ok(()) };
    for (other, is_blocking) in contradicted(tx, id)? {
        if tx.memory(other)?.is_some_and(|other| other.is_in_effect() && (is_blocking || other.lane == Lane::Curated)) {
            return Ok(());
        }
    }
    let released = Memory { status: Status::Holds, cause: None, status_since: Some(now), changed: now, ..contested };
    tx.put(&Record::Memory(Box::new(released)))?;
    Ok(())
}

/// Returns the memories that one contradicts, each with whether that is a clear denial.
fn contradicted(tx: &OperationTx<'_, '_>, id: MemoryId) -> Result<Vec<(MemoryId, bool)>, EngineError> {
    let relations = tx.relations_of(&Node::Memory(id))?;
    let of = |relation: Relation| {
        let is_denial = relation.reason.as_ref().is_some_and(|reason| reason.starts_with(ConflictKind::Direct.as_str()));
        let is_blocking = is_denial && relation.weight >= SURE;
        match (relation.relation_type, relation.from, relation.to) {
            (RelationType::Contradicts, Node::Memory(a), Node::Memory(b)) => Some((if a == id { b } else { a }, is_blocking)),
            _ => None,
        }
    };
    Ok(relations.into_iter().filter_map(of).collect())
}
