//! Lists contradictions between memories, and resolves one as a person decides. `detect_conflicts` finds them.

use serde::{Deserialize, Serialize};
use yore_core::conflict::{ChangeGrade, Conflict, ConflictKind, ConflictSeverity, Resolution, conflict};
use yore_core::id::MemoryId;
use yore_core::memory::{Lane, Memory, Replacement};
use yore_core::operation::{Actor, Cause, OperationKind, Record, Subject};
use yore_core::relation::{Basis, Node, Relation, RelationType};
use yore_core::time::UtcMillis;

use super::detect_conflicts::difference;
use super::record::Done;
use super::retire_or_contest::authority;
use super::shown::StoredMemory;
use super::status_changes::{release, supersede};
use super::step::{draw_relation, state};
use crate::Engine;
use crate::error::{EngineError, MemoryError};
use crate::store::Relations;

/// A conflict of two memories that is not settled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenConflict {
    /// The memory that became true first, as far as is known.
    pub older: StoredMemory,
    /// The other one.
    pub newer: StoredMemory,
    /// The conflict that their words show; `None` if the conflict was stated, and they show none.
    pub conflict: Option<Conflict>,
    /// Why it was stated.
    pub reason: Option<String>,
    /// How surely the newer one changes the older, if that is all that was found.
    #[serde(default)]
    pub change: Option<ChangeGrade>,
}

/// The place of a conflict in their list: its severity, since when the newer memory is true, and both memories.
pub type ConflictPlace = (ConflictSeverity, Option<UtcMillis>, MemoryId, MemoryId);

impl OpenConflict {
    /// Returns its place in the list of conflicts.
    pub fn place(&self, now: UtcMillis) -> ConflictPlace {
        (self.severity(), self.newer.memory.true_since(now), self.newer.memory.id, self.older.memory.id)
    }

    /// Returns how much it weighs.
    pub fn severity(&self) -> ConflictSeverity {
        match self.change {
            Some(ChangeGrade::Possible) => ConflictSeverity::Minor,
            Some(ChangeGrade::Likely) => ConflictSeverity::Major,
            None => self.conflict.as_ref().map_or(ConflictSeverity::Major, Conflict::severity),
        }
    }

    /// Returns how it should be settled.
    pub fn resolution(&self) -> Resolution {
        let (older, newer) = (&self.older.memory, &self.newer.memory);
        match self.advice() {
            Some(_) if (older.lane == Lane::Curated) != (newer.lane == Lane::Curated) => Resolution::Authority,
            Some(_) => Resolution::Recency,
            None if self.severity() == ConflictSeverity::Minor => Resolution::Conditional,
            None => Resolution::Escalate,
        }
    }

    /// Returns the memory that likely holds, and why: that of the person before that of an agent, else the newer one of a value or a
    /// date; `None`: only somebody who knows can tell.
    pub fn advice(&self) -> Option<(MemoryId, &'static str)> {
        let (older, newer) = (&self.older.memory, &self.newer.memory);
        let is_of_person = |memory: &Memory| memory.lane == Lane::Curated;
        match (is_of_person(older), is_of_person(newer)) {
            (true, false) => Some((older.id, "a person said it")),
            (false, true) => Some((newer.id, "a person said it")),
            _ if self.change.is_some() => Some((newer.id, "it is newer")),
            _ if older.valid_from.is_none() || newer.valid_from.is_none() => None,
            _ => match self.conflict.as_ref()?.kind {
                ConflictKind::Value | ConflictKind::Temporal => Some((newer.id, "it is newer")),
                ConflictKind::Direct | ConflictKind::Granularity => None,
            },
        }
    }
}

/// Relations of a memory among which a later one that likely changes it is looked for.
const MOST_RELATIONS: usize = 100;

/// How a conflict is settled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Settlement {
    /// This memory holds, and takes the place of the other.
    Keep(String),
    /// Both hold, each under its own condition, which the reason tells.
    Both,
    /// Nothing is settled: it is asked again at this time.
    Later(UtcMillis),
}

impl Engine {
    /// Returns the conflicts that are not settled and not put off, the gravest and newest first. `projects`: names; none: of all.
    /// `after`: the place of the last conflict of the page before.
    ///
    /// # Errors
    /// [`EngineError::UnknownProject`].
    pub fn conflicts(
        &self,
        projects: &[String],
        after: Option<&ConflictPlace>,
        limit: usize,
    ) -> Result<Vec<OpenConflict>, EngineError> {
        let wanted = self.project_ids(projects)?;
        let is_wanted = |memory: &Memory| memory.project.is_some_and(|project| wanted.contains(&project));
        // A memory without a project holds in each.
        let are_global = |a: &Memory, b: &Memory| a.project.is_none() && b.project.is_none();
        let is_of = |a: &Memory, b: &Memory| projects.is_empty() || is_wanted(a) || is_wanted(b) || are_global(a, b);
        let now = self.now();
        let mut stated = self.store().relations(Relations::Contradicting)?;
        // Somebody wants to be asked later.
        stated.retain(|relation| relation.valid_from.is_none_or(|from| from <= now));
        let mut open = self.open_of(stated, &is_of)?;
        open.retain(|open| after.is_none_or(|after| open.place(now) < *after));
        open.sort_by_key(|open| std::cmp::Reverse(open.place(now)));
        open.truncate(limit);
        Ok(open)
    }

    /// Returns when the next of the conflicts that are put off is asked about again, and how many are put off; none: no conflict is.
    pub fn conflicts_put_off(&self) -> Result<Option<(UtcMillis, usize)>, EngineError> {
        let now = self.now();
        let mut later = Vec::new();
        for relation in self.store().relations(Relations::Contradicting)? {
            let at = relation.valid_from.filter(|at| *at > now);
            if let Some(at) = at
                && !self.open_of(vec![relation], &|_, _| true)?.is_empty()
            {
                later.push(at);
            }
        }
        Ok(later.iter().min().map(|at| (*at, later.len())))
    }

    /// Returns the conflicts of a memory that are not settled.
    ///
    /// # Errors
    /// [`MemoryError::Unknown`].
    pub fn conflicts_of(&self, id: &str) -> Result<Vec<OpenConflict>, EngineError> {
        let id = self.memory_named(id)?;
        let mut relations = self.store().relations(Relations::Of(&Node::Memory(id), usize::MAX >> 1))?;
        relations.retain(|relation| relation.relation_type == RelationType::Contradicts);
        self.open_of(relations, &|_, _| true)
    }

    /// Returns the conflicts of memories in effect that relations state.
    fn open_of(
        &self,
        relations: Vec<Relation>,
        is_wanted: &dyn Fn(&Memory, &Memory) -> bool,
    ) -> Result<Vec<OpenConflict>, EngineError> {
        let (names, now) = (self.project_names_by_id()?, self.now());
        let mut open = Vec::new();
        for relation in relations {
            let (Node::Memory(a), Node::Memory(b)) = (&relation.from, &relation.to) else { continue };
            let (Some(a), Some(b)) = (self.holding(*a)?, self.holding(*b)?) else { continue };
            if !is_wanted(&a, &b) {
                continue;
            }
            let is_first = |a: &Memory, b: &Memory| a.true_since(now) <= b.true_since(now);
            let (older, newer) = if is_first(&a, &b) { (a, b) } else { (b, a) };
            // As it was found: what somebody states of subject and value before the words.
            let conflict = difference(&older, &newer).or_else(|| conflict(&older.statement, &newer.statement));
            open.push(OpenConflict {
                older: self.stored(older, false, &names)?,
                newer: self.stored(newer, false, &names)?,
                conflict,
                reason: relation.reason.clone(),
                change: match relation.basis {
                    Some(Basis::Change(grade)) => Some(grade),
                    _ => None,
                },
            });
        }
        Ok(open)
    }

    /// Returns those of some memories in effect that a later one of the same place likely changes, each with the id of the later one.
    pub(crate) fn likely_changed(&self, memories: &[Memory]) -> Result<Vec<(Memory, MemoryId)>, EngineError> {
        let now = self.now();
        let mut changed = Vec::new();
        for memory in memories {
            for relation in self.store().relations(Relations::Of(&Node::Memory(memory.id), MOST_RELATIONS))? {
                let is_likely = relation.basis == Some(Basis::Change(ChangeGrade::Likely));
                let other = relation.contradicting(memory.id).filter(|_| is_likely);
                let Some(newer) = other.map(|other| self.holding(other)).transpose()?.flatten() else { continue };
                if newer.true_since(now) > memory.true_since(now) && newer.is_of_same_place(memory) {
                    changed.push((memory.clone(), newer.id));
                }
            }
        }
        Ok(changed)
    }

    /// Returns a memory if it holds.
    fn holding(&self, id: MemoryId) -> Result<Option<Memory>, EngineError> {
        let memory = self.store().memory(id)?;
        Ok(memory.filter(Memory::is_in_effect))
    }

    /// Settles the conflict of two memories.
    ///
    /// # Errors
    /// [`MemoryError::NotRelated`]: they do not contradict each other; [`MemoryError::Unknown`]: there is no such memory, or the kept
    /// one is neither of them; [`MemoryError::OfPerson`]: what a person said is retired only by a person.
    pub fn settle_conflict(
        &self,
        first: &str,
        second: &str,
        settlement: &Settlement,
        reason: Option<&str>,
        cause: &Cause,
    ) -> Result<Done, EngineError> {
        let (first, second, now) = (self.memory_named(first)?, self.memory_named(second)?, self.now());
        let mut reason = reason.map(str::to_owned);
        self.redact(reason.iter_mut())?;
        let kept = match settlement {
            Settlement::Keep(id) => {
                let kept = self.memory_named(id)?;
                Some(kept).filter(|kept| [first, second].contains(kept)).ok_or_else(|| MemoryError::Unknown(id.clone()))?
            }
            Settlement::Both | Settlement::Later(_) => second,
        };
        let other = if kept == first { second } else { first };
        let (kind, summary) = match settlement {
            Settlement::Keep(_) => {
                (OperationKind::Supersede, format!("settled: {} in the place of {}", kept.short(), other.short()))
            }
            Settlement::Both => (OperationKind::Relate, format!("settled: {} and {} both hold", first.short(), second.short())),
            Settlement::Later(_) => (OperationKind::Relate, format!("put off: {} or {}", first.short(), second.short())),
        };
        let ((), operation) = self.operate(kind, cause, summary, |tx| {
            let (from, to) = (Node::Memory(first), Node::Memory(second));
            let wanted = Relation::new(draw_relation(now)?, from, RelationType::Contradicts, to, now).normalised();
            let known =
                tx.relation_between(&wanted.from, RelationType::Contradicts, &wanted.to)?.ok_or(MemoryError::NotRelated)?;
            for id in [first, second] {
                let ended = tx.memory(id)?.filter(|memory| !memory.is_in_effect());
                if let Some(memory) = ended {
                    return Err(MemoryError::NotInEffect { id: id.short(), status: memory.status.as_str() }.into());
                }
            }
            match settlement {
                Settlement::Later(at) => {
                    return Ok(tx.put(&Record::Relation(Box::new(Relation { valid_from: Some(*at), ..known })))?);
                }
                Settlement::Keep(_) => {
                    let Some(retired) = tx.memory(other)? else { return Err(MemoryError::Unknown(other.to_string()).into()) };
                    let counts_less = tx.memory(kept)?.is_none_or(|kept| authority(&kept) < authority(&retired));
                    if (retired.lane == Lane::Curated || counts_less) && cause.actor != Actor::Person {
                        return Err(MemoryError::OfPerson(other.short()).into());
                    }
                    tx.remove(Subject::Relation(known.id))?;
                    let reason = reason.clone().or(known.reason);
                    let Some(kept) = tx.memory(kept)? else { return Err(MemoryError::Unknown(kept.to_string()).into()) };
                    supersede(tx, &retired, &kept, Replacement::Stated(reason), now)?;
                }
                Settlement::Both => {
                    tx.remove(Subject::Relation(known.id))?;
                    let (from, to) = (Node::Memory(second), Node::Memory(first));
                    let new = Relation::new(draw_relation(now)?, from, RelationType::Qualifies, to, now);
                    state(tx, Relation { reason: reason.clone(), ..new })?;
                }
            }
            release(tx, first, now)?;
            release(tx, second, now)
        })?;
        Ok(Done { memory: kept, operation })
    }
}
