//! Consolidation: makes memories of the findings of extractors, agents and models, or merges them into known ones. A
//! hand-given statement is merged only with an equal one (`record`).
//!
//! [`Phase`] names the steps. The statements are checked and brought into the form by which they are compared, and the known memories
//! near each are found; then one transaction looks the entities up, decides about each statement, and writes all of it or nothing. Names
//! are looked up there and not before, so that two processes make one entity of a name.
//!
//! A known memory gets the evidence of a proposal that says the same. A person decides for good: nothing that they rejected, put away,
//! replaced or forgot is recorded again. The memories that an extractor finds in a conversation take the place of those that it found
//! there before, except for those that a person confirmed or pinned. What a model adds to these rules is in `model_decisions`.

use std::collections::HashSet;
use std::time::Instant;

use yore_core::conflict::Repetition;
use yore_core::consolidation::{Decision, Phase, PipelineStatistics};
use yore_core::id::MemoryId;
use yore_core::memory::{Absorbed, Arrival, Event, Lane, Memory, PutAway, REPEATED, Status};
use yore_core::operation::{Actor, Cause, OperationKind, Record};
use yore_core::relation::{Node, RelationType};
use yore_core::text::Tokenizer;
use yore_core::time::UtcMillis;

use super::comparable::Comparable;
use super::detect_conflicts::{conflicts_with_known, difference};
use super::entities::{NamedEntity, place_entity};
use super::record::{NewMemory, Prepared};
use super::retire_or_contest::{change, compare_again, put, revive_replaced, settle_by_stated_value, settle_clash};
use super::special_cases::lift_branch;
use super::step::{close, connect, micros, timed};
use crate::Engine;
use crate::error::{EngineError, MemoryError};
use crate::rules::{self, form};
use crate::store::{EpisodeKey, Memories, MemoryOutline, OperationTx};

/// The findings of an extractor in a conversation.
#[derive(Clone, Debug)]
pub(crate) struct Extraction<'e> {
    /// Row of the session.
    pub episode: EpisodeKey,
    /// The agent's own id of the session.
    pub session: &'e str,
    /// Name of the extractor, without its version.
    pub extractor: &'e str,
    /// Its version.
    pub version: u32,
    /// Its kind of actor.
    pub actor: Actor,
    /// True if these are all memories of the conversation: what it found there before and finds no more is put away.
    pub is_whole: bool,
    /// Memories in whose place proposals are put: none of these is a repetition of them.
    pub restated: HashSet<MemoryId>,
    /// Kinds and descriptions of the things that its proposals are about.
    pub entities: Vec<NamedEntity>,
    /// The proposals, each with its project.
    pub proposals: Vec<NewMemory>,
}

/// Counts of proposals by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extracted {
    /// New memories.
    pub recorded: u64,
    /// Known memories that got evidence.
    pub joined: u64,
    /// Known already, with this evidence.
    pub known: u64,
    /// Not recorded: a person rejected, replaced, put away or forgot it, or it cannot be stored.
    pub refused: u64,
    /// Memories of an earlier extraction that were put away.
    pub put_away: u64,
}

impl Extracted {
    /// Adds other counts.
    pub fn add(&mut self, other: Self) {
        self.recorded += other.recorded;
        self.joined += other.joined;
        self.known += other.known;
        self.refused += other.refused;
        self.put_away += other.put_away;
    }
}

/// The result of a consolidation.
#[derive(Debug, Default)]
pub(crate) struct Consolidated {
    /// Counts of proposals by what became of them.
    pub counts: Extracted,
    /// The fate of each proposal.
    pub fates: Vec<Fate>,
    /// Work of the phases, and decisions.
    pub statistics: PipelineStatistics,
}

/// The fate of a proposal.
#[derive(Debug)]
pub(crate) enum Fate {
    /// This memory says it now.
    Memory(MemoryId),
    /// A person rejected, replaced, put away or forgot the same.
    Refused,
    /// It cannot be stored.
    Invalid(MemoryError),
}

/// A proposal on its way.
struct Proposed {
    /// Its place among those that were given.
    number: usize,
    prepared: Prepared,
    comparable: Comparable,
    /// The known memories near it, in outline.
    near: Vec<(Comparable, MemoryOutline)>,
}

impl Engine {
    /// Records what an extractor found in a conversation, as one operation.
    pub(crate) fn record_extraction(&self, extraction: &Extraction<'_>) -> Result<Consolidated, EngineError> {
        let now = self.now();
        let before = self.earlier(extraction)?;
        let mut done = Consolidated::default();
        if extraction.proposals.is_empty() && before.is_empty() {
            return Ok(done);
        }
        let position = self.store_position()?;
        let mut proposals = self.proposed(extraction, now, &mut done)?;
        let name = format!("{}/{}", extraction.extractor, extraction.version);
        let cause = Cause { actor: extraction.actor, by: name.clone(), input: Some(extraction.session.to_owned()) };
        let count = if proposals.len() == 1 { "1 memory".to_owned() } else { format!("{} memories", proposals.len()) };
        let summary = format!("extracted {count} from session {}", extraction.session);
        let mut tokenizer = Tokenizer::default();
        let (done, _) = self.operate(OperationKind::Extract, &cause, summary, |tx| {
            let meanwhile = position.since(tx)?;
            for proposed in &mut proposals {
                let project = proposed.prepared.memory.project;
                let of_project = meanwhile.iter().filter(|memory| memory.project == project);
                proposed.near.extend(of_project.map(|memory| (Comparable::of(memory, &mut tokenizer), memory.clone())));
            }
            for entity in &extraction.entities {
                place_entity(tx, entity, now)?;
            }
            let restated = &extraction.restated;
            let mut run = Run { cause: &cause, now, restated, met: HashSet::new(), added: Vec::new(), done };
            for proposed in proposals {
                let number = proposed.number;
                run.done.fates[number] = run.resolve(tx, proposed)?;
            }
            let Run { met, mut done, .. } = run;
            let mut gone = Vec::new();
            for id in before.iter().filter(|id| extraction.is_whole && !met.contains(id)) {
                let Some(memory) = tx.memory(*id)? else { continue };
                let is_removed = memory.source.extractor.as_deref().is_some_and(rules::is_removed);
                let is_own = memory.lane == Lane::Extracted && !memory.is_pinned && !is_removed;
                if is_own && (memory.is_in_effect() || memory.status == Status::Proposed) {
                    let event = Event::PutAway(PutAway::NotProposedBy(name.clone()));
                    change(tx, &memory, &event, extraction.actor, now)?;
                    done.counts.put_away += 1;
                }
                if !is_removed {
                    gone.push(*id);
                }
            }
            for id in &gone {
                revive_replaced(tx, *id, &gone, extraction.actor, now)?;
            }
            Ok::<_, EngineError>(done)
        })?;
        Ok(done)
    }

    /// Checks the proposals of an extractor and finds what is near each; those that cannot be stored, or that were forgotten for good, get
    /// their fate.
    fn proposed(
        &self,
        extraction: &Extraction<'_>,
        now: UtcMillis,
        done: &mut Consolidated,
    ) -> Result<Vec<Proposed>, EngineError> {
        let (ingester, mut tokenizer) = (self.ingester()?, Tokenizer::default());
        let statistics = &mut done.statistics;
        let mut proposals = Vec::new();
        for (number, new) in extraction.proposals.iter().enumerate() {
            // Until it is recorded.
            done.fates.push(Fate::Refused);
            statistics.worked(Phase::ExtractEntities, new.entities.len() as u64, 0);
            match timed(statistics, Phase::ExtractMemories, || self.prepared(new, now)) {
                Ok(prepared) if ingester.is_statement_buried(&prepared.memory.statement) => {
                    done.counts.refused += 1;
                    statistics.decided(Decision::Refuse);
                }
                Ok(mut prepared) => {
                    // Like the turns that it rests on, it counts from when it was said.
                    let memory = &mut prepared.memory;
                    memory.recorded = memory.valid_from.map_or(now, |said| said.min(now));
                    let comparable = timed(statistics, Phase::Embed, || Comparable::of(memory, &mut tokenizer));
                    let began = Instant::now();
                    let near = self.near(memory)?;
                    let near: Vec<(Comparable, MemoryOutline)> =
                        near.into_iter().map(|memory| (Comparable::of(&memory, &mut tokenizer), memory)).collect();
                    statistics.worked(Phase::RetrieveContext, near.len() as u64, micros(began));
                    proposals.push(Proposed { number, prepared, comparable, near });
                }
                Err(EngineError::Memory(error)) => {
                    done.fates[number] = Fate::Invalid(error);
                    done.counts.refused += 1;
                    statistics.decided(Decision::Refuse);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(proposals)
    }

    /// Returns the memories that the same extractor, in any version, found in the same conversation before.
    fn earlier(&self, extraction: &Extraction<'_>) -> Result<Vec<MemoryId>, EngineError> {
        let prefix = format!("{}/", extraction.extractor);
        let is_earlier = |memory: &Memory| {
            let source = &memory.source;
            source.session.as_deref() == Some(extraction.session)
                && source.extractor.as_ref().is_some_and(|extractor| extractor.starts_with(&prefix))
        };
        let memories = self.store().memories(Memories::RestingOn(extraction.episode))?;
        Ok(memories.iter().filter(|(_, memory)| is_earlier(memory)).map(|(_, memory)| memory.id).collect())
    }
}

/// The consolidation of the proposals of one extraction.
struct Run<'r> {
    cause: &'r Cause,
    now: UtcMillis,
    restated: &'r HashSet<MemoryId>,
    /// Memories that say what was proposed.
    met: HashSet<MemoryId>,
    /// Those of them that are new, in outline.
    added: Vec<(Comparable, MemoryOutline)>,
    done: Consolidated,
}

impl Run<'_> {
    /// Decides about a proposal, and records what was decided.
    fn resolve(&mut self, tx: &mut OperationTx<'_, '_>, proposed: Proposed) -> Result<Fate, EngineError> {
        let Proposed { mut prepared, mut comparable, near, .. } = proposed;
        let (began, now, actor) = (Instant::now(), self.now, self.cause.actor);
        let project = prepared.memory.project;
        let others = || near.iter().chain(self.added.iter().filter(|(_, memory)| memory.project == project));
        let may_repeat = others().filter(|(other, _)| !self.restated.contains(&other.id));
        let same = may_repeat.filter_map(|(other, _)| Some((other.repetition(&comparable)?, other.id)));
        let mut same: Vec<(Repetition, MemoryId)> = same.collect();
        // Memories that say the same are tried before those of which one says more.
        same.sort_by_key(|(repetition, _)| *repetition != Repetition::Same);
        let mut repeated = None;
        for (repetition, id) in same {
            let Some(memory) = tx.memory(id)? else { continue };
            let memory = kept(tx, memory)?;
            // A state that comes back has an interval of its own.
            let is_later = memory.valid_until.zip(prepared.memory.valid_from).is_some_and(|(until, from)| from > until);
            if memory.was_replaced_by_itself() && is_later {
                continue;
            }
            if comparable.tells_commands() || difference(&memory, &prepared.memory).is_none() {
                repeated = Some((memory, repetition));
                break;
            }
        }
        let statistics = &mut self.done.statistics;
        statistics.worked(Phase::ResolveMemories, near.len() as u64, micros(began));
        if let Some((memory, repetition)) = repeated {
            let (id, began) = (memory.id, Instant::now());
            let says_more = repetition == Repetition::SecondSaysMore;
            let absorbed = absorb_extracted(tx, &memory, &prepared.memory, says_more, now)?;
            statistics.worked(Phase::WriteGraph, 1, micros(began));
            let counts = &mut self.done.counts;
            match absorbed {
                Absorbed::Refused => counts.refused += 1,
                Absorbed::Known => counts.known += 1,
                Absorbed::Changed(_) => counts.joined += 1,
            }
            if absorbed == Absorbed::Refused {
                statistics.decided(Decision::Refuse);
                return Ok(Fate::Refused);
            }
            // A repetition may name what the first one did not.
            if prepared.memory.status == Status::Holds {
                prepared.link(tx, id, now, statistics)?;
            }
            self.met.insert(id);
            statistics.decided(Decision::Skip);
            return Ok(Fate::Memory(id));
        }
        // It says better what a restated one says, and rests on the same words.
        for (other, _) in near.iter().filter(|(other, _)| self.restated.contains(&other.id)) {
            let is_restated = other.repetition(&comparable).is_some();
            let restated = if is_restated { tx.memory(other.id)? } else { None };
            let evidence = &mut prepared.memory.evidence;
            for known in restated.into_iter().flat_map(|restated| restated.evidence) {
                if evidence.iter().all(|own| own.turn != known.turn) {
                    evidence.push(known);
                }
            }
        }
        let (id, _) = prepared.record(tx, now, statistics)?;
        self.met.insert(id);
        self.done.counts.recorded += 1;
        let began = Instant::now();
        comparable.id = id;
        let new = comparable;
        for (other, _) in others() {
            if new.meets_again(other) {
                raise(tx, new.id, now)?;
                raise(tx, other.id, now)?;
            }
            if new.ends(other) {
                end_todo(tx, new.id, other.id, self.cause, now)?;
            } else if other.ends(&new) {
                end_todo(tx, other.id, new.id, self.cause, now)?;
            }
        }
        settle_by_stated_value(tx, id, actor, now)?;
        let recorded = Memory { id, ..prepared.memory.clone() };
        for (other, clash) in conflicts_with_known(tx, &recorded, &[], others().map(|(_, memory)| memory), now)? {
            settle_clash(tx, other, id, &clash, actor, now)?;
        }
        statistics.decided(decision(tx, id)?);
        statistics.worked(Phase::ResolveMemories, 0, micros(began));
        self.added.push((new, MemoryOutline::of(recorded)));
        Ok(Fate::Memory(id))
    }
}

/// Returns what was decided about a memory that was just recorded, by what it did to others.
pub(super) fn decision(tx: &OperationTx<'_, '_>, id: MemoryId) -> Result<Decision, EngineError> {
    let mut decided = Decision::Add;
    for relation in tx.relations_of(&Node::Memory(id))? {
        match (relation.relation_type, relation.from, relation.to) {
            (RelationType::Supersedes, Node::Memory(newer), Node::Memory(older)) if newer == id => {
                let is_denied = tx.memory(older)?.is_some_and(|older| older.is_denied());
                return Ok(if is_denied { Decision::Invalidate } else { Decision::Update });
            }
            (RelationType::Contradicts, ..) => decided = Decision::Contest,
            _ => {}
        }
    }
    Ok(decided)
}

/// Makes an extracted memory that holds more important.
fn raise(tx: &mut OperationTx<'_, '_>, id: MemoryId, now: UtcMillis) -> Result<(), EngineError> {
    let is_own = |memory: &Memory| memory.lane == Lane::Extracted && memory.status == Status::Holds;
    if let Some(memory) = tx.memory(id)?.filter(is_own) {
        let importance = (memory.importance + REPEATED).min(1.0);
        tx.put(&Record::Memory(Box::new(Memory { importance, changed: now, ..memory })))?;
    }
    Ok(())
}

/// States that a memory tells the end of a todo, and closes that, unless the todo is a person's or either holds no more.
fn end_todo(
    tx: &mut OperationTx<'_, '_>,
    end: MemoryId,
    todo: MemoryId,
    cause: &Cause,
    now: UtcMillis,
) -> Result<(), EngineError> {
    let holds = tx.memory(end)?.is_some_and(|end| end.status == Status::Holds);
    if holds && close(tx, todo, cause.actor, now)? {
        connect(tx, Node::Memory(end), RelationType::Solves, Node::Memory(todo), now)?;
    }
    Ok(())
}

/// Returns the memory that was kept of two that say the same, if this is the other one.
fn kept(tx: &OperationTx<'_, '_>, memory: Memory) -> Result<Memory, EngineError> {
    if !memory.is_twin() {
        return Ok(memory);
    }
    for relation in tx.relations_of(&Node::Memory(memory.id))? {
        let other = if relation.from == Node::Memory(memory.id) { relation.to } else { relation.from };
        if let (RelationType::SimilarTo, Node::Memory(other)) = (relation.relation_type, other)
            && let Some(kept) = tx.memory(other)?.filter(Memory::is_in_effect)
        {
            return Ok(kept);
        }
    }
    Ok(memory)
}

/// Gives a known memory what an extractor or a model found that says the same, with what follows for others.
pub(super) fn absorb_extracted(
    tx: &mut OperationTx<'_, '_>,
    known: &Memory,
    incoming: &Memory,
    says_more: bool,
    now: UtcMillis,
) -> Result<Absorbed, EngineError> {
    let commands = |memory: &Memory| form(&memory.statement).map_or(0, |(_, count)| count);
    let arrival = Arrival::Extracted { says_more: says_more || commands(incoming) > commands(known) };
    let absorbed = known.absorb(incoming, arrival, now);
    let Absorbed::Changed(changed) = &absorbed else { return Ok(absorbed) };
    put(tx, known, (**changed).clone(), Actor::Rule, now)?;
    let was_in_effect = known.is_in_effect();
    if was_in_effect && !changed.is_in_effect() {
        revive_replaced(tx, known.id, &[], Actor::Rule, now)?;
    } else if lift_branch(tx, changed)? && was_in_effect {
        compare_again(tx, known.id, Actor::Rule, now)?;
    }
    Ok(absorbed)
}
