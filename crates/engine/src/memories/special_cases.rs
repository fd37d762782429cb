//! Handles special cases: statements that hold only in a project, on a branch or under a condition. A special case qualifies what
//! holds in general and does not take its place; the fact of a branch does so when the branch is merged (`merged_branches`).

use std::collections::BTreeSet;

use yore_core::conflict::{Condition, ConflictKind};
use yore_core::id::MemoryId;
use yore_core::memory::{Lane, Memory, MemoryKind};
use yore_core::operation::Subject;
use yore_core::relation::{Basis, Node, Origin, Relation, RelationType};
use yore_core::time::UtcMillis;

use super::step::{draw_relation, state};
use crate::error::EngineError;
use crate::store::{EvidenceOf, OperationTx};

/// Branches into which others are merged.
pub(crate) const TRUNKS: &[&str] = &["main", "master", "trunk", "develop", "development", "dev"];
/// Characters of a condition in a reason.
const CONDITION_CHARS: usize = 120;
/// Longest name of a branch, in bytes.
const LONGEST_BRANCH: usize = 250;

/// A memory that holds in a part of where another one holds.
#[derive(Debug)]
pub(super) struct SpecialCase {
    special: MemoryId,
    general: MemoryId,
    basis: Basis,
    /// The condition, if it has one.
    condition: Option<String>,
}

impl SpecialCase {
    /// States it.
    pub(super) fn state(self, tx: &mut OperationTx<'_, '_>, now: UtcMillis) -> Result<(), EngineError> {
        let Self { special, general, basis, condition } = self;
        let reason = match (&basis, condition) {
            (Basis::Branch(branch), _) => format!("on branch {branch} until it is merged"),
            (Basis::Project, None) => "in its project".to_owned(),
            (_, condition) => condition.unwrap_or_default(),
        };
        let (from, to) = (Node::Memory(special), Node::Memory(general));
        let new = Relation::new(draw_relation(now)?, from, RelationType::Qualifies, to, now);
        state(tx, Relation { reason: Some(reason), basis: Some(basis), origin: Origin::Implicit, ..new })
    }

    /// Makes the fact of a branch a special case of another memory, if it is one that was not merged.
    pub(super) fn of_branch(tx: &OperationTx<'_, '_>, special: &Memory, general: &Memory) -> Result<Option<Self>, EngineError> {
        let branch = branch_of(tx, special)?;
        let basis = branch.map(Basis::Branch);
        Ok(basis.map(|basis| Self { special: special.id, general: general.id, basis, condition: None }))
    }
}

/// Returns which of two statements that conflict is a special case of the other; `newer` before `older` if each is one of its own. None:
/// both are of one place, or an extracted statement would be one of what a person said, which it does not touch.
pub(super) fn special_case(
    tx: &OperationTx<'_, '_>,
    newer: &Memory,
    older: &Memory,
    conflict: ConflictKind,
) -> Result<Option<SpecialCase>, EngineError> {
    let case = |special: &Memory, general: &Memory, basis: Basis, condition: Option<String>| {
        let is_persons = general.lane == Lane::Curated && special.lane == Lane::Extracted;
        (!is_persons).then_some(SpecialCase { special: special.id, general: general.id, basis, condition })
    };
    let in_project = |special: &Memory, general: &Memory| match Condition::of(&special.statement) {
        Some(condition) => case(special, general, Basis::Condition, Some(format!("in its project, {}", cut(&condition.text)))),
        None => case(special, general, Basis::Project, None),
    };
    let under = |special: &Memory, general: &Memory, condition: &Condition| {
        case(special, general, Basis::Condition, Some(cut(&condition.text)))
    };
    match (newer.project, older.project) {
        (Some(_), None) => return Ok(in_project(newer, older)),
        (None, Some(_)) => return Ok(in_project(older, newer)),
        _ => {}
    }
    match (branch_of(tx, newer)?, branch_of(tx, older)?) {
        (newer_on, older_on) if newer_on == older_on => {}
        (Some(branch), _) => return Ok(case(newer, older, Basis::Branch(branch), None)),
        (None, Some(branch)) => return Ok(case(older, newer, Basis::Branch(branch), None)),
        (None, None) => {}
    }
    // A denial may deny it under every condition.
    if !matches!(conflict, ConflictKind::Value | ConflictKind::Temporal) {
        return Ok(None);
    }
    Ok(match (Condition::of(&newer.statement), Condition::of(&older.statement)) {
        (Some(one), Some(other)) if !one.may_be(&other) => under(newer, older, &one),
        (Some(one), None) => under(newer, older, &one),
        (None, Some(other)) => under(older, newer, &other),
        _ => None,
    })
}

/// Takes back that the fact of a branch holds on it alone, if it was said elsewhere since. Returns whether that was so.
pub(super) fn lift_branch(tx: &mut OperationTx<'_, '_>, fact: &Memory) -> Result<bool, EngineError> {
    let mut is_lifted = false;
    for relation in tx.relations_of(&Node::Memory(fact.id))? {
        let is_of_branch = relation.relation_type == RelationType::Qualifies
            && relation.from == Node::Memory(fact.id)
            && matches!(relation.basis, Some(Basis::Branch(_)));
        if is_of_branch && branch_of(tx, fact)?.is_none() {
            tx.remove(Subject::Relation(relation.id))?;
            is_lifted = true;
        }
    }
    Ok(is_lifted)
}

/// Returns the branch of a fact that was said on it alone and that was not merged since; `None`: it holds on all, or nobody knows.
fn branch_of(tx: &OperationTx<'_, '_>, memory: &Memory) -> Result<Option<String>, EngineError> {
    // A person's word, a decision or a rule is not one of the code of a branch.
    if memory.kind != MemoryKind::Fact || memory.lane != Lane::Extracted {
        return Ok(None);
    }
    let evidence = tx.evidence_of(EvidenceOf::Memory(memory.id))?;
    let mut branches: BTreeSet<Option<String>> = evidence.into_iter().map(|evidence| evidence.branch).collect();
    let branch = branches.pop_first().filter(|_| branches.is_empty()).flatten();
    Ok(branch.filter(|branch| !TRUNKS.contains(&branch.as_str()) && branch.len() <= LONGEST_BRANCH))
}

fn cut(text: &str) -> String {
    text.chars().take(CONDITION_CHARS).collect()
}
