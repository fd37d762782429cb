//! Resolves contradictions automatically where the outcome is certain: for one value of a thing, the newer supersedes the older.
//!
//! Both memories must assert something of the same aspect of the same subject ([`yore_core::conflict::Assertion`]), in the same
//! project; the newer one, by the time since when it is true, retires the older one if whoever said it counts at least as much. What a
//! person gave or pinned is retired by a person alone: an extracted statement that contradicts it is contested until somebody
//! settles that. So is one that clearly denies what holds; "X no longer holds" supersedes an earlier "X" of the same words. A
//! special case (`special_cases`) qualifies what holds in general, and takes no place. Everything else is stated as a contradiction, and
//! both hold.

use yore_core::conflict::{Change, ChangeGrade, Conflict, ConflictKind, ConflictSeverity, Which};
use yore_core::id::{MemoryId, RelationId};
use yore_core::memory::{Confidence, Event, Lane, Memory, Replacement, SourceKind, is_clear_denial};
use yore_core::operation::{Actor, Cause, OperationKind, Subject};
use yore_core::relation::{Node, RelationType};
use yore_core::time::UtcMillis;

use super::comparable::is_done;
use super::detect_conflicts::{Clash, conflict_of, conflicts_with_known, contest, is_settled, state_change};
use super::special_cases::special_case;
use super::status_changes::{apply, contradictions, mark_contested, store, supersede};
use crate::Engine;
use crate::error::EngineError;
use crate::store::{Compared, EvidenceOf, MemoryOutline, OperationTx};

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
        Ok(self.store().note_compared(Compared::Freed, now)?)
    }
}

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
pub(super) fn settle_by_stated_value(
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
        let (older, newer, values) = match own.is_later_than(&other, now) {
            Some(false) => (&own, &other, [&assertion, &of_other]),
            _ => (&other, &own, [&of_other, &assertion]),
        };
        if newer.is_of_same_place(older) && may_replace(tx, newer, older, actor, now)? {
            // The cause names only the older memory's value, never words of the newer, which may be forgotten.
            supersede(tx, older, newer, Replacement::OtherValue(values[0].value.clone()), now)?;
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
        mark_contested(tx, extracted, curated, now)?;
    }
    Ok(())
}

/// States a conflict that words show, of a known memory and a new one, and settles it if that is certain: the newer one says that what
/// the older one says is no longer so. What clearly denies a known memory is not told as true until somebody settles that.
fn settle_or_contest(
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
        return supersede(tx, ended, ending, Replacement::NoLongerSo, now);
    }
    let is_stated = contest(tx, known.id, new.id, conflict, now)?;
    match (known.lane, new.lane) {
        _ if !is_sure || !is_stated => Ok(()),
        (_, Lane::Extracted) => mark_contested(tx, &new, &known, now),
        (Lane::Extracted, Lane::Curated) => mark_contested(tx, &known, &new, now),
        (Lane::Curated, Lane::Curated) => Ok(()),
    }
}

/// Compares a memory with those about entities with these names, and with others that are near.
pub(super) fn settle_by_words<'m>(
    tx: &mut OperationTx<'_, '_>,
    id: MemoryId,
    names: &[String],
    near: impl Iterator<Item = &'m MemoryOutline>,
    actor: Actor,
    now: UtcMillis,
) -> Result<(), EngineError> {
    let Some(memory) = tx.memory(id)? else { return Ok(()) };
    for (other, clash) in conflicts_with_known(tx, &memory, names, near, now)? {
        settle_clash(tx, other, id, &clash, actor, now)?;
    }
    Ok(())
}

/// Settles how a known memory and a new one stand that do not simply stand side by side, or states it.
pub(super) fn settle_clash(
    tx: &mut OperationTx<'_, '_>,
    known: MemoryId,
    new: MemoryId,
    clash: &Clash,
    actor: Actor,
    now: UtcMillis,
) -> Result<(), EngineError> {
    if let Some(change) = clash.likely_change().or(clash.change.filter(|_| clash.conflict.is_none()))
        && grade_change(tx, known, new, change, now)?
    {
        return Ok(());
    }
    match &clash.conflict {
        Some(conflict) => settle_or_contest(tx, known, new, conflict, actor, now),
        None => Ok(()),
    }
}

/// States that the later of two memories may change the earlier, as far as who said it counts as much. Both hold. Returns false for a
/// special case of what holds in general.
fn grade_change(
    tx: &mut OperationTx<'_, '_>,
    known: MemoryId,
    new: MemoryId,
    change: Change,
    now: UtcMillis,
) -> Result<bool, EngineError> {
    let (Some(known), Some(new)) = (tx.memory(known)?, tx.memory(new)?) else { return Ok(false) };
    let (older, newer) = if new.is_later_than(&known, now) == Some(false) { (&new, &known) } else { (&known, &new) };
    let may_meet = older.is_of_same_place(newer) && special_case(tx, newer, older, ConflictKind::Value)?.is_none();
    if !may_meet || is_settled(tx, known.id, new.id)? {
        return Ok(false);
    }
    let counts_less = authority(newer) < authority(older)
        || older.is_pinned
        || older.lane == Lane::Curated && newer.lane == Lane::Extracted
        || newer.is_shared() && !older.is_shared();
    let grade = if counts_less { ChangeGrade::Possible } else { change.grade };
    state_change(tx, older, newer, Change { grade, ..change }, now)
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
    let is_so_now = newer.is_valid_at(now) && newer.true_since(now).is_some_and(|since| since <= now);
    let by_person = older.lane == Lane::Extracted || newer.lane == Lane::Curated && actor == Actor::Person;
    // Each member of a team retires their own.
    let is_own =
        !newer.is_shared() || older.is_shared() && older.source.author == newer.source.author && older.source.author.is_some();
    let may = newer.is_later_than(older, now) == Some(true)
        && is_so_now
        && authority(newer) >= authority(older)
        && !older.is_pinned
        && by_person
        && is_own;
    if !may {
        return Ok(false);
    }
    // A turn from after now was said while a clock was wrong.
    let evidence = tx.evidence_of(EvidenceOf::Memory(older.id))?;
    let said = evidence.into_iter().filter_map(|evidence| evidence.at).max().filter(|said| *said <= now);
    Ok(said.zip(newer.true_since(now)).is_none_or(|(said, since)| said <= since))
}

/// Applies an event to a memory, with what follows for others.
///
/// # Errors
/// [`MemoryError::Invalid`](crate::MemoryError) for a cause that is too long.
pub(super) fn change(
    tx: &mut OperationTx<'_, '_>,
    known: &Memory,
    event: &Event,
    actor: Actor,
    now: UtcMillis,
) -> Result<(), EngineError> {
    if apply(tx, known, event, now)? { compare_again(tx, known.id, actor, now) } else { Ok(()) }
}

/// Stores a changed memory, with what follows for others.
pub(super) fn put(
    tx: &mut OperationTx<'_, '_>,
    known: &Memory,
    changed: Memory,
    actor: Actor,
    now: UtcMillis,
) -> Result<(), EngineError> {
    if store(tx, known, changed, now)? { compare_again(tx, known.id, actor, now) } else { Ok(()) }
}

/// Compares a memory that is in effect again, or that is a person's from now on.
pub(super) fn compare_again(tx: &mut OperationTx<'_, '_>, id: MemoryId, actor: Actor, now: UtcMillis) -> Result<(), EngineError> {
    settle_by_stated_value(tx, id, actor, now)?;
    mark_contradicted(tx, id, now)
}

/// Marks extracted memories that contradict a person's one as contested, among this one and those that contradict it; of two extracted
/// ones that clearly deny each other this one.
pub(super) fn mark_contradicted(tx: &mut OperationTx<'_, '_>, id: MemoryId, now: UtcMillis) -> Result<(), EngineError> {
    for (contradiction, other) in contradictions(tx, id)? {
        let Some(own) = tx.memory(id)?.filter(Memory::is_in_effect) else { break };
        let Some(other) = tx.memory(other.id)?.filter(Memory::is_in_effect) else { continue };
        match (own.lane, other.lane) {
            (Lane::Extracted, Lane::Curated) => mark_contested(tx, &own, &other, now)?,
            (Lane::Curated, Lane::Extracted) => mark_contested(tx, &other, &own, now)?,
            (Lane::Extracted, Lane::Extracted) if is_clear_denial(&contradiction) => mark_contested(tx, &own, &other, now)?,
            _ => {}
        }
    }
    Ok(())
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
    change(tx, &older, &Event::Revived, actor, now)
}
