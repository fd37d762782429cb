//! Checks a model's decisions about similar memories, and carries out those that the rules allow.
//!
//! Its answers are claims like any others: which of two statements came later is read from them and not from the model, a person's word
//! is retired by a person, what is pinned or was said again since stays, and what happened is history. Where it may not decide,
//! the two are stated as contradicting each other, for a person to settle.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashSet};

use yore_core::conflict::{Conflict, ConflictKind};
use yore_core::consolidation::Decision;
use yore_core::id::MemoryId;
use yore_core::memory::{Confidence, Event, Lane, Memory, Outdated, PutAway, Replacement, Status};
use yore_core::operation::{Actor, Cause, OperationKind, Subject};
use yore_core::relation::{Basis, Node, Relation, RelationType};
use yore_core::time::UtcMillis;

use super::consolidate::absorb_extracted;
use super::detect_conflicts::{contest, difference, is_settled};
use super::retire_or_contest::{authority, change, may_replace};
use super::special_cases::special_case;
use super::status_changes::supersede;
use super::step::{close, connect, draw_relation, state};
use crate::Engine;
use crate::error::EngineError;
use crate::rules::content_words;
use crate::store::{MemoryKey, OperationTx};

/// Words that one of two statements that say the same may have beyond the other and be put away.
const MOST_LOST: usize = 4;
/// Longest reason that is kept, in characters.
const REASON_CHARS: usize = 160;

/// A decision about a memory and another one near it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Judgement {
    pub memory: MemoryId,
    pub decision: Decision,
    pub other: MemoryId,
    pub reason: String,
}

/// A decision that was carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The decision in the end: a model may propose more than it may do.
    pub decision: Decision,
    /// The memory that holds, or one of two that contradict each other.
    pub memory: MemoryId,
    /// The memory that is known twice, was replaced or closed, or the other of the two.
    pub other: MemoryId,
    /// The reason.
    pub reason: String,
}

/// The outcome of the decisions about a group.
#[derive(Debug)]
pub(crate) struct CarriedOut {
    /// Decisions that were carried out.
    pub done: Vec<Judged>,
    /// Why others were not.
    pub problems: Vec<String>,
    /// Number of the operation, if it changed anything.
    pub operation: Option<u64>,
}

impl Engine {
    /// Carries decisions out, in one operation, and notes that the memories of `rows` were compared.
    pub(crate) fn carry_out(
        &self,
        judgements: &[Judgement],
        rows: &[MemoryKey],
        cause: &Cause,
    ) -> Result<CarriedOut, EngineError> {
        let now = self.now();
        let summary = format!("compared {} memories with those near them", rows.len());
        let ((done, problems), operation) = self.operate(OperationKind::Merge, cause, summary, |tx| {
            let (mut done, mut problems) = (Vec::new(), Vec::new());
            let mut seen: HashSet<[MemoryId; 2]> = HashSet::new();
            for judgement in judgements {
                let pair = [judgement.memory.min(judgement.other), judgement.memory.max(judgement.other)];
                // A model may name a pair from either side.
                if !seen.insert(pair) {
                    continue;
                }
                match carry_out(tx, judgement, cause.actor, now)? {
                    Ok(Some(judged)) => done.push(judged),
                    Ok(None) => {}
                    Err(problem) => problems.push(format!(
                        "{} {} {}: {problem}",
                        judgement.decision.as_str(),
                        judgement.memory.short(),
                        judgement.other.short()
                    )),
                }
            }
            tx.note_compared(rows, now)?;
            Ok::<_, EngineError>((done, problems))
        })?;
        Ok(CarriedOut { done, problems, operation })
    }
}

/// Carries a decision out; the error says why not.
pub(super) fn carry_out(
    tx: &mut OperationTx<'_, '_>,
    judgement: &Judgement,
    actor: Actor,
    now: UtcMillis,
) -> Result<Result<Option<Judged>, &'static str>, EngineError> {
    let Judgement { memory, decision, other, reason } = judgement;
    let (Some(one), Some(two)) = (tx.memory(*memory)?, tx.memory(*other)?) else { return Ok(Err("one of them is gone")) };
    if one.id == two.id {
        return Ok(Err("it names the memory itself"));
    }
    if !one.is_in_effect() || !two.is_in_effect() {
        return Ok(Err("one of them holds no more"));
    }
    if !one.is_of_same_place(&two) {
        return Ok(Err("they are of different projects"));
    }
    if *decision == Decision::Skip && one.is_shared() != two.is_shared() {
        return Ok(Err("a colleague shared one of them"));
    }
    if is_settled(tx, one.id, two.id)? {
        return Ok(Err("it was settled how they stand to each other"));
    }
    let reason: String = reason.chars().take(REASON_CHARS).collect();
    let judged = |decision, memory: &Memory, other: &Memory| Judged {
        decision,
        memory: memory.id,
        other: other.id,
        reason: reason.clone(),
    };
    match decision {
        Decision::Refuse => Ok(Ok(None)),
        // Both stay, and the later one leads to what it changes a part of.
        Decision::Add => {
            let (newer, older) = if one.is_later_than(&two, now) == Some(false) { (two, one) } else { (one, two) };
            relate(tx, &newer, RelationType::BuildsOn, &older, &reason, now)?;
            Ok(Ok(Some(judged(Decision::Add, &newer, &older))))
        }
        Decision::Skip => {
            // The one that says more, and of two that say as much the older; a person's before any.
            let worth = |memory: &Memory| (memory.lane == Lane::Curated || memory.is_pinned, words_of(memory).len());
            let is_first = match worth(&one).cmp(&worth(&two)) {
                Ordering::Equal => one.id < two.id,
                unequal => unequal == Ordering::Greater,
            };
            let (keep, twice) = if is_first { (one, two) } else { (two, one) };
            if let Some(problem) = told_apart(tx, &keep, &twice)? {
                return Ok(Err(problem));
            }
            absorb_extracted(tx, &keep, &twice, false, now)?;
            let done = judged(Decision::Skip, &keep, &twice);
            pass_on_replaced(tx, twice.id, keep.id, now)?;
            // The reason stands in the relation, which goes with either of them.
            relate(tx, &keep, RelationType::SimilarTo, &twice, &reason, now)?;
            change(tx, &twice, &Event::PutAway(PutAway::SameAs(keep.id)), actor, now)?;
            Ok(Ok(Some(done)))
        }
        Decision::Update | Decision::Invalidate => {
            let (newer, older) = match one.is_later_than(&two, now) {
                Some(true) => (one, two),
                Some(false) => (two, one),
                None => return contested(tx, &one, &two, reason, now),
            };
            if newer.is_shared() && !older.is_shared() {
                return contested(tx, &newer, &older, reason, now);
            }
            if newer.status != Status::Holds || newer.confidence == Confidence::Speculative {
                return Ok(Err("the later one is contested, or a guess"));
            }
            match older.kind.when_outdated() {
                Outdated::Kept => Ok(Err("what happened stays true")),
                Outdated::Closed if newer.kind.when_outdated() == Outdated::Closed => Ok(Err("both are open")),
                Outdated::Closed => {
                    if !close(tx, older.id, actor, now)? {
                        let is_persons = older.lane == Lane::Curated || older.is_pinned;
                        return Ok(Err(if is_persons { "a person closes what they noted or pinned" } else { "it is closed" }));
                    }
                    relate(tx, &newer, RelationType::Solves, &older, &reason, now)?;
                    Ok(Ok(Some(judged(*decision, &newer, &older))))
                }
                Outdated::Replaced if !newer.kind.may_replace(older.kind) => Ok(Err("an open question replaces nothing")),
                Outdated::Replaced => match special_case(tx, &newer, &older, ConflictKind::Value)? {
                    Some(case) => {
                        case.state(tx, now)?;
                        Ok(Ok(Some(judged(Decision::Add, &newer, &older))))
                    }
                    None if may_replace(tx, &newer, &older, actor, now)? => {
                        let done = judged(*decision, &newer, &older);
                        relate(tx, &newer, RelationType::Supersedes, &older, &reason, now)?;
                        let why = match decision {
                            Decision::Invalidate => Replacement::DeniedByModel,
                            _ => Replacement::ChangedByModel,
                        };
                        supersede(tx, &older, &newer, why, now)?;
                        Ok(Ok(Some(done)))
                    }
                    None => contested(tx, &newer, &older, reason, now),
                },
            }
        }
        Decision::Contest => contested(tx, &one, &two, reason, now),
    }
}

/// Returns why two memories are not the same, though a model says so; `None`: they may be.
fn told_apart(tx: &OperationTx<'_, '_>, keep: &Memory, twice: &Memory) -> Result<Option<&'static str>, EngineError> {
    let (one, other) = (Node::Memory(keep.id), Node::Memory(twice.id));
    let contradict = RelationType::Contradicts;
    let stated = [tx.relation_between(&one, contradict, &other)?, tx.relation_between(&other, contradict, &one)?];
    // A model knows better than words whether one only changes the other.
    let is_change = |relation: &Relation| matches!(relation.basis, Some(Basis::Change(_)));
    let is_contradicted = stated.iter().flatten().any(|relation| !is_change(relation));
    Ok(match () {
        () if twice.lane == Lane::Curated || twice.is_pinned => Some("both are a person's"),
        () if keep.kind != twice.kind || keep.is_open() != twice.is_open() => {
            Some("they are of different kinds, or one is closed")
        }
        () if keep.status != Status::Holds || authority(keep) < authority(twice) => Some("the one to keep counts less"),
        () if is_contradicted || difference(keep, twice).is_some() => Some("they contradict each other"),
        () if words_of(twice).difference(&words_of(keep)).count() > MOST_LOST => {
            Some("either says something that the other lacks")
        }
        () => None,
    })
}

/// States a relation with its reason, unless it is known.
fn relate(
    tx: &mut OperationTx<'_, '_>,
    from: &Memory,
    relation_type: RelationType,
    to: &Memory,
    reason: &str,
    now: UtcMillis,
) -> Result<(), EngineError> {
    let new = Relation::new(draw_relation(now)?, Node::Memory(from.id), relation_type, Node::Memory(to.id), now);
    state(tx, Relation { reason: Some(reason.to_owned()).filter(|reason| !reason.is_empty()), ..new })
}

/// Lets a memory stand in the place of one that says the same, above what that one replaced.
fn pass_on_replaced(tx: &mut OperationTx<'_, '_>, from: MemoryId, to: MemoryId, now: UtcMillis) -> Result<(), EngineError> {
    for relation in tx.relations_of(&Node::Memory(from))? {
        let is_replaced = relation.relation_type == RelationType::Supersedes && relation.from == Node::Memory(from);
        if is_replaced && relation.to != Node::Memory(to) {
            tx.remove(Subject::Relation(relation.id))?;
            connect(tx, Node::Memory(to), RelationType::Supersedes, relation.to, now)?;
        }
    }
    Ok(())
}

/// States that two memories contradict each other; the error says why not.
fn contested(
    tx: &mut OperationTx<'_, '_>,
    one: &Memory,
    two: &Memory,
    reason: String,
    now: UtcMillis,
) -> Result<Result<Option<Judged>, &'static str>, EngineError> {
    if !one.kind.is_state() || !two.kind.is_state() {
        return Ok(Err("only what is so can be contradicted"));
    }
    let conflict = Conflict {
        kind: ConflictKind::Value,
        first: 0..0,
        second: 0..0,
        about: vec![reason.clone()],
        values: None,
        ended_by: None,
        overlap: MODEL_SURE,
    };
    if !contest(tx, one.id, two.id, &conflict, now)? {
        return Ok(Err("one of them was true only before the other"));
    }
    Ok(Ok(Some(Judged { decision: Decision::Contest, memory: one.id, other: two.id, reason })))
}

/// Returns the words of a memory that say something, and its numbers.
fn words_of(memory: &Memory) -> BTreeSet<String> {
    let numbers = memory.statement.split(|letter: char| !letter.is_alphanumeric());
    let numbers = numbers.filter(|word| word.contains(|letter: char| letter.is_ascii_digit())).map(str::to_owned);
    content_words(&memory.statement).chain(numbers).collect()
}

/// How sure a conflict is that a model names: less than one that words show clearly.
const MODEL_SURE: f32 = 0.5;
