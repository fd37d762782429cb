//! Promotes the facts of merged branches to the whole project, where they supersede what they contradict.

use std::collections::BTreeSet;

use yore_core::id::{MemoryId, ProjectId, RelationId};
use yore_core::memory::{Memory, Replacement};
use yore_core::operation::{Actor, Cause, OperationKind, Subject};
use yore_core::relation::{Node, RelationType};
use yore_core::time::UtcMillis;

use super::detect_conflicts::difference;
use super::retire_or_contest::{contest_marked, may_replace};
use super::special_cases::{SpecialCase, TRUNKS};
use super::status_changes::supersede;
use super::step::connect;
use crate::Engine;
use crate::error::EngineError;
use crate::store::{OperationTx, Relations};

/// The fact of a branch beside what holds elsewhere.
#[derive(Clone, Debug)]
struct BranchFact {
    /// The relation that says so.
    relation: RelationId,
    fact: MemoryId,
    general: MemoryId,
}

impl Engine {
    /// Returns the branches on which extracted facts in effect of a project were said, and that were not merged since, each with the time
    /// when the last of that was said.
    pub(crate) fn open_branches(&self, project: ProjectId) -> Result<Vec<(String, UtcMillis)>, EngineError> {
        let mut branches = self.store().branches_of_facts(project)?;
        branches.retain(|(branch, _)| !TRUNKS.contains(&branch.as_str()));
        Ok(branches)
    }

    /// Lets the facts of a branch that was merged hold everywhere; returns how many stood beside something that they exclude.
    pub(crate) fn settle_merged(&self, project: ProjectId, branch: &str) -> Result<u64, EngineError> {
        let now = self.now();
        let cases = self.store().relations(Relations::OfBranch(project, branch))?.into_iter();
        let facts = cases.filter_map(|case| match (case.from, case.to) {
            (Node::Memory(fact), Node::Memory(general)) => Some(BranchFact { relation: case.id, fact, general }),
            _ => None,
        });
        let mut settled: BTreeSet<MemoryId> = BTreeSet::new();
        for fact in facts {
            let cause = Cause { actor: Actor::Rule, by: "merged branches".to_owned(), input: None };
            let summary = format!("its branch was merged: {} holds everywhere", fact.fact.short());
            let (is_done, _) =
                self.operate(OperationKind::Supersede, &cause, summary, |tx| settle(tx, &fact, cause.actor, now))?;
            if is_done {
                settled.insert(fact.fact);
            }
        }
        // After that, so that an end in between is made up for.
        self.store().note_merged(project, branch, now)?;
        Ok(settled.len() as u64)
    }
}

fn settle(tx: &mut OperationTx<'_, '_>, fact: &BranchFact, actor: Actor, now: UtcMillis) -> Result<bool, EngineError> {
    let in_effect = |memory: Option<Memory>| memory.filter(Memory::is_in_effect);
    let (own, other) = (in_effect(tx.memory(fact.fact)?), in_effect(tx.memory(fact.general)?));
    tx.remove(Subject::Relation(fact.relation))?;
    let (Some(own), Some(other)) = (own, other) else { return Ok(false) };
    // The other may be one of a branch of its own.
    if let Some(case) = SpecialCase::of_branch(tx, &other, &own)? {
        case.state(tx, now)?;
        return Ok(true);
    }
    let (newer, older) = if own.is_later_than(&other, now) == Some(false) { (&other, &own) } else { (&own, &other) };
    let is_excluded = newer.assertion().zip(older.assertion()).is_some_and(|(a, b)| a.excludes(&b));
    if is_excluded && may_replace(tx, newer, older, actor, now)? {
        supersede(tx, older, newer, Replacement::BranchMerged, now)?;
    } else if let Some(conflict) = difference(older, newer) {
        contest_marked(tx, older, newer, &conflict, now)?;
    } else {
        connect(tx, Node::Memory(newer.id), RelationType::BuildsOn, Node::Memory(older.id), now)?;
    }
    Ok(true)
}
