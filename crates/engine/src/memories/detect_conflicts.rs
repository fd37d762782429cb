//! Detects contradictions of a new memory with known ones, and records them as relations.
//!
//! Only what is so can be contradicted ([`yore_core::memory::MemoryKind::is_state`]); what happened is history. Two statements are
//! compared if they share words, or an entity ([`Claims::conflict`]). Words can mislead, so nothing is decided here:
//! `settle` knows what is certain.

use std::cmp::Ordering;
use std::collections::HashSet;

use yore_core::conflict::{
    Assertion, Change, ChangeGrade, Claims, Conflict, ConflictKind, ConflictSeverity, Statement, conflict,
};
use yore_core::id::MemoryId;
use yore_core::memory::Memory;
use yore_core::operation::Record;
use yore_core::relation::{Basis, Node, Origin, Relation, RelationType, check_relation};
use yore_core::text::Tokenizer;
use yore_core::time::UtcMillis;

use super::step::{draw_relation, kind_and_name};
use crate::embed::TextLikeness;
use crate::error::{EngineError, MemoryError};
use crate::rules::is_done_once;
use crate::store::{MemoryOutline, OperationTx, Outlines};

/// Words that a reason tells, and its longest length in characters.
const MOST_TOLD: usize = 8;
const REASON_CHARS: usize = 200;
/// Words that two statements must share beside a conflict, if no entity is shared, to be of one subject.
const LEAST_ABOUT: usize = 3;
/// Most contradictions that are stated of a new memory, the clearest.
const MOST_CONTESTED: usize = 8;
/// Memories about an entity, the latest, that a new one is compared with.
const MOST_OF_ENTITY: usize = 200;

/// Returns the conflict of two assertions that exclude each other.
pub(super) fn conflict_of([first, second]: [&Assertion; 2]) -> Conflict {
    Conflict {
        kind: ConflictKind::Value,
        first: 0..0,
        second: 0..0,
        about: first.subject.clone(),
        values: Some([first.value.clone(), second.value.clone()]),
        ended_by: None,
        overlap: 1.0,
    }
}

/// Returns whether a conflict is one of one subject.
fn is_certain(conflict: &Conflict, shares_entity: bool) -> bool {
    conflict.kind != ConflictKind::Granularity && (shares_entity || conflict.about.len() >= LEAST_ABOUT)
}

/// Returns what two statements differ in, however alike their words are.
pub(super) fn difference(first: &Memory, second: &Memory) -> Option<Conflict> {
    let is_state = first.kind.is_state() && second.kind.is_state();
    let asserted = first.assertion().zip(second.assertion()).filter(|(a, b)| a.excludes(b));
    if let Some((a, b)) = asserted {
        return Some(conflict_of([&a, &b]));
    }
    conflict(&first.statement, &second.statement).filter(|conflict| is_state && conflict.kind != ConflictKind::Granularity)
}

/// Returns whether it was settled how two memories stand to each other: then it stays so.
pub(super) fn is_settled(tx: &OperationTx<'_, '_>, first: MemoryId, second: MemoryId) -> Result<bool, EngineError> {
    let (from, to) = (Node::Memory(first), Node::Memory(second));
    for settled in [RelationType::Qualifies, RelationType::BuildsOn, RelationType::Supersedes] {
        if tx.relation_between(&from, settled, &to)?.is_some() || tx.relation_between(&to, settled, &from)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// How two memories that do not simply stand side by side relate; at least one of the two is given.
#[derive(Clone, Debug)]
pub(super) struct Clash {
    /// Their words contradict each other.
    pub(super) conflict: Option<Conflict>,
    /// The later one may change the earlier.
    pub(super) change: Option<Change>,
}

impl Clash {
    /// Returns whether it is one of words that leave little doubt, and how strong it is.
    fn weight(&self) -> (bool, f32) {
        let (conflict, change) = (self.conflict.as_ref(), self.change);
        let overlap = conflict.map_or(0.0, |conflict| conflict.overlap);
        (conflict.is_some_and(|conflict| conflict.ended_by.is_some()), overlap.max(change.map_or(0.0, |change| change.chance)))
    }

    /// Returns the change if it is likely, and surer than what the words contradict.
    pub(super) fn likely_change(&self) -> Option<Change> {
        let is_doubtful = |conflict: &Conflict| conflict.ended_by.is_none() && conflict.severity() != ConflictSeverity::Critical;
        self.change.filter(|change| change.grade == ChangeGrade::Likely && self.conflict.as_ref().is_none_or(is_doubtful))
    }
}

/// States that the later of two memories may change the earlier.
pub(super) fn state_change(
    tx: &mut OperationTx<'_, '_>,
    older: &Memory,
    newer: &Memory,
    change: Change,
    now: UtcMillis,
) -> Result<bool, EngineError> {
    let reason = format!("{} change", change.grade.as_str());
    state_contradiction(tx, older, newer, change.chance, reason, Basis::Change(change.grade), now)
}

/// States that two memories contradict each other, and why. Returns whether that is stated now.
pub(super) fn contest(
    tx: &mut OperationTx<'_, '_>,
    first: MemoryId,
    second: MemoryId,
    conflict: &Conflict,
    now: UtcMillis,
) -> Result<bool, EngineError> {
    let (Some(one), Some(other)) = (tx.memory(first)?, tx.memory(second)?) else { return Ok(false) };
    let about = conflict.about.iter().take(MOST_TOLD).cloned().collect::<Vec<_>>().join(", ");
    let reason = match &conflict.values {
        Some([a, b]) => format!("{}: {a} / {b} ({about})", conflict.kind.as_str()),
        None => format!("{} ({about})", conflict.kind.as_str()),
    };
    state_contradiction(tx, &one, &other, conflict.overlap, reason, Basis::Conflict(conflict.kind), now)
}

/// States a contradiction of two memories in effect, unless one is known or it was settled how they stand. Returns whether it is stated now.
fn state_contradiction(
    tx: &mut OperationTx<'_, '_>,
    one: &Memory,
    other: &Memory,
    weight: f32,
    reason: String,
    basis: Basis,
    now: UtcMillis,
) -> Result<bool, EngineError> {
    // One that ceased to be true before the other began is history.
    let ended = |a: &Memory, b: &Memory| a.valid_until.zip(b.valid_from).is_some_and(|(until, from)| until <= from);
    if one.id == other.id || !one.is_in_effect() || !other.is_in_effect() || ended(one, other) || ended(other, one) {
        return Ok(false);
    }
    let (from, to) = (Node::Memory(one.id), Node::Memory(other.id));
    if is_settled(tx, one.id, other.id)? {
        return Ok(false);
    }
    let reason: String = reason.chars().take(REASON_CHARS).collect();
    let new = Relation::new(draw_relation(now)?, from, RelationType::Contradicts, to, now);
    let (weight, origin) = (weight.clamp(0.0, 1.0), Origin::Implicit);
    let relation = Relation { weight, origin, reason: Some(reason), basis: Some(basis), ..new }.normalised();
    let is_change = |relation: &Relation| matches!(relation.basis, Some(Basis::Change(_)));
    let relation = match tx.relation_between(&relation.from, RelationType::Contradicts, &relation.to)? {
        // A contradiction takes the place of a change that is only likely or possible.
        Some(known) if is_change(&known) && !is_change(&relation) => Relation { id: known.id, ..relation },
        Some(_) => return Ok(true),
        None => relation,
    };
    check_relation(&relation).map_err(MemoryError::from)?;
    tx.put(&Record::Relation(Box::new(relation)))?;
    Ok(true)
}

/// Returns the memories about entities with these names, and of those that are near by their words, that cannot hold together with one,
/// each as the first of the conflict.
pub(super) fn conflicts_with_known<'m>(
    tx: &OperationTx<'_, '_>,
    memory: &Memory,
    names: &[String],
    near: impl Iterator<Item = &'m MemoryOutline>,
    now: UtcMillis,
) -> Result<Vec<(MemoryId, Clash)>, EngineError> {
    let mut found = Vec::new();
    if !memory.kind.is_state() {
        return Ok(found);
    }
    let mut tokenizer = Tokenizer::default();
    let claims = Claims::of(&memory.statement, &mut tokenizer);
    let statement = Statement::claim_of(&memory.statement, &mut tokenizer);
    let likeness = TextLikeness::default();
    let near: Vec<&MemoryOutline> = near.collect();
    let ids: HashSet<MemoryId> = near.iter().map(|near| near.id).collect();
    let mut compared: HashSet<MemoryId> = HashSet::from([memory.id]);
    let mut compare = |other: &Memory, shares_entity: bool| {
        let may_conflict = other.kind.is_state() && other.is_in_effect() && other.may_meet(memory);
        if !compared.insert(other.id) || !may_conflict {
            return;
        }
        let conflict = Claims::of(&other.statement, &mut tokenizer).conflict(&claims);
        let conflict = conflict.filter(|conflict| is_certain(conflict, shares_entity));
        // An entity may have hundreds of memories, and this comparison costs more than that of words. Plans and commits that are alike are
        // about the same parts, and none of them changes what another did.
        let is_of_records = is_done_once(memory) || is_done_once(other);
        let change = (ids.contains(&other.id) && !is_of_records).then(|| {
            let known = Statement::claim_of(&other.statement, &mut tokenizer);
            let is_earlier = memory.is_later_than(other, now) == Some(false);
            let (earlier, later) = if is_earlier { (&statement, &known) } else { (&known, &statement) };
            Change::of(earlier, later, &|a, b| likeness.of(a, b))
        });
        let change = change.flatten();
        if conflict.is_none() && change.is_none() {
            return;
        }
        found.push((other.id, Clash { conflict, change }));
    };
    for name in names {
        let (_, plain) = kind_and_name(name);
        for entity in tx.entities(Some(plain), 100)? {
            tx.outlines(Outlines::About(entity.id, MOST_OF_ENTITY))?.iter().for_each(|other| compare(other, true));
        }
    }
    near.iter().for_each(|other| compare(other, false));
    // A statement that contradicts many is about something that changes all the time; nobody settles each.
    found.sort_by(|(_, a), (_, b)| b.weight().partial_cmp(&a.weight()).unwrap_or(Ordering::Equal));
    found.truncate(MOST_CONTESTED);
    Ok(found)
}
