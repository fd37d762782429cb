//! Records, edits, confirms, rejects, pins, tags and archives memories.

use std::collections::HashSet;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use yore_core::conflict::StatedValue;
use yore_core::consolidation::{Phase, PipelineStatistics};
use yore_core::entity::check_entity;
use yore_core::id::{MemoryId, ProjectId};
use yore_core::memory::{
    Absorbed, Anchor, AnchorKind, Arrival, Confidence, Event, Evidence, Fields, Lane, Memory, MemoryKind, PutAway, Reach,
    Replacement, Status, StatusCause, check,
};
use yore_core::operation::{Actor, Cause, OperationKind, Record, Subject};
use yore_core::relation::{Category, Node, Relation, RelationType};
use yore_core::text::{Question, Tokenizer, Tokens, commands, fragments, paths, versions};
use yore_core::time::UtcMillis;

use super::retire_or_contest::{change, compare_again, put, revive_replaced, settle_by_stated_value, settle_by_words};
use super::status_changes::{apply, contradictions, release, supersede};
use super::step::{connect, connect_as_stated, draw, draw_relation, entity_for, known_entity, micros, timed};
use crate::Engine;
use crate::error::{EngineError, MemoryError};
use crate::ingest::note_first_commits;
use crate::retrieve::{project_here, projects_named};
use crate::rules::{self, StatedRelation};
use crate::store::{Named, NewOperation, OperationTx};
use yore_sources::project_names::ProjectNames;

/// Length of the statement in the summary of an operation, in characters.
const SUMMARY_CHARS: usize = 60;
/// Files in the words of a memory that it is compared with, and the longest of their paths, in bytes.
const MOST_NAMED: usize = 5;
const LONGEST_PATH: usize = 200;
/// The command that forgets.
pub(crate) const FORGET: &str = "forget";
/// A piece of evidence as it is given.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct GivenEvidence {
    /// Id of the turn, or the beginning of one.
    pub turn: String,
    /// Words that stand in the turn; `None`: the part of it that says most of the statement.
    pub quote: Option<String>,
}

/// A memory to record.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct NewMemory {
    /// The record; its id, times and evidence are set when it is stored.
    pub memory: Memory,
    /// Evidence.
    pub evidence: Vec<GivenEvidence>,
    /// Names of entities that it is about; those that are not known are recorded.
    pub entities: Vec<String>,
    /// The memory whose place it takes, by its id or the beginning of it.
    pub replaces: Option<String>,
    /// Ids of memories beside which it holds: whoever gives them decided that neither changes the other.
    #[serde(default)]
    pub beside: Vec<String>,
    /// The memory that says the same, which gets what this one has beyond it: nothing new is recorded.
    #[serde(default)]
    pub same: Option<String>,
    /// Ids of memories, notes and turns that it relates to.
    #[serde(default)]
    pub related: Vec<String>,
    /// Relations between entities that its words state.
    #[serde(default)]
    pub stated: Vec<StatedRelation>,
    /// Other names that its words give entities: the entity, and the name.
    #[serde(default)]
    pub aliases: Vec<(String, String)>,
    /// The directory whose project it belongs to, in the place of the record's project.
    #[serde(default)]
    pub here: Option<ProjectNames>,
    /// Name, id or directory of the project that it belongs to, before all else.
    #[serde(default)]
    pub project: Option<String>,
}

impl NewMemory {
    /// Makes a memory without evidence that holds everywhere.
    pub fn new(kind: MemoryKind, statement: impl Into<String>) -> Self {
        let memory = Memory::new(MemoryId::from_bytes([0; 16]), kind, statement, 0);
        let (evidence, entities, related) = (Vec::new(), Vec::new(), Vec::new());
        let (stated, aliases) = (Vec::new(), Vec::new());
        Self {
            memory,
            evidence,
            entities,
            replaces: None,
            beside: Vec::new(),
            same: None,
            related,
            stated,
            aliases,
            here: None,
            project: None,
        }
    }
}

/// A memory that can be stored.
pub(super) struct Prepared {
    pub(super) memory: Memory,
    entities: Vec<String>,
    related: Vec<Node>,
    stated: Vec<StatedRelation>,
    aliases: Vec<(String, String)>,
    replaces: Option<MemoryId>,
    beside: Vec<MemoryId>,
    same: Option<MemoryId>,
}

impl Prepared {
    /// Stores the memory, unless the same statement is known: then that one gets what it lacks. Returns the one that
    /// is in effect, and whether it is new or changed.
    pub(super) fn record(
        &self,
        tx: &mut OperationTx<'_, '_>,
        now: UtcMillis,
        statistics: &mut PipelineStatistics,
    ) -> Result<(MemoryId, bool), EngineError> {
        let began = Instant::now();
        // The same words may have been recorded a moment ago, by the call that asked for the decision.
        let recorded = tx.same_statement(&self.memory)?.filter(|known| Some(*known) != self.replaces);
        let known = match self.same {
            Some(same) => Some(in_effect(tx, same)?),
            None => recorded.map(|known| tx.memory(known)).transpose()?.flatten(),
        };
        let before = known.clone();
        let memory = match known {
            Some(known) => match known.absorb(&self.memory, Arrival::ByHand, now) {
                Absorbed::Changed(changed) => *changed,
                Absorbed::Known | Absorbed::Refused => known,
            },
            None => self.memory.clone(),
        };
        check(&memory).map_err(MemoryError::from)?;
        tx.put(&Record::Memory(Box::new(memory.clone())))?;
        if let (Some(same), Some(twin)) = (self.same, recorded)
            && same != twin
            && let Some(twin) = tx.memory(twin)?
        {
            apply(tx, &twin, &Event::PutAway(PutAway::SameAs(same)), now)?;
            connect(tx, Node::Memory(same), RelationType::SimilarTo, Node::Memory(twin.id), now)?;
        }
        for other in &self.beside {
            stand_beside(tx, memory.id, *other, now)?;
        }
        if let Some(old) = self.replaces {
            let old = in_effect(tx, old)?;
            supersede(tx, &old, &memory, Replacement::Stated(None), now)?;
        }
        statistics.worked(Phase::WriteGraph, 1, micros(began));
        self.link(tx, memory.id, now, statistics)?;
        Ok((memory.id, before.is_none_or(|before| before != memory)))
    }

    /// Links a memory that says this with what is named here: entities, what was stated of them, and other memories. Names that are not
    /// known become entities.
    pub(super) fn link(
        &self,
        tx: &mut OperationTx<'_, '_>,
        memory: MemoryId,
        now: UtcMillis,
        statistics: &mut PipelineStatistics,
    ) -> Result<(), EngineError> {
        let mut entities = Vec::with_capacity(self.entities.len());
        for name in &self.entities {
            let found = timed(statistics, Phase::SearchEntities, || known_entity(tx, name))?;
            entities.push(timed(statistics, Phase::ResolveEntities, || match found {
                Some(id) => Ok(id),
                None => entity_for(tx, name, now),
            })?);
        }
        let began = Instant::now();
        for entity in entities {
            connect(tx, Node::Memory(memory), RelationType::About, Node::Entity(entity), now)?;
        }
        for StatedRelation { from, relation, to } in &self.stated {
            let (from, to) = (entity_for(tx, from, now)?, entity_for(tx, to, now)?);
            if from != to {
                let evidence = self.memory.evidence.first().map(|evidence| evidence.turn);
                connect_as_stated(tx, Node::Entity(from), *relation, Node::Entity(to), evidence, now)?;
            }
        }
        for (name, alias) in &self.aliases {
            let id = entity_for(tx, name, now)?;
            // A name that something has already is not taken from it.
            if let (true, Some(mut entity)) = (tx.entities(Some(alias), 100)?.is_empty(), tx.entity(id)?) {
                entity.aliases.push(alias.clone());
                let entity = entity.normalised();
                check_entity(&entity).map_err(MemoryError::from)?;
                tx.put(&Record::Entity(Box::new(entity)))?;
            }
        }
        for node in self.related.iter().filter(|node| **node != Node::Memory(memory)) {
            connect(tx, Node::Memory(memory), RelationType::RelatesTo, node.clone(), now)?;
        }
        statistics.worked(Phase::WriteGraph, 0, micros(began));
        Ok(())
    }
}

/// Changes of a memory; `None` leaves things as they are.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct MemoryEdit {
    /// Another statement: a new memory takes the place of this one.
    pub statement: Option<String>,
    /// Another title, or none if it is empty.
    pub title: Option<String>,
    /// Other details, or none if they are empty: a new memory as well.
    pub details: Option<String>,
    /// Another kind.
    pub kind: Option<MemoryKind>,
    /// Other fields.
    pub fields: Option<Fields>,
    /// Other tags.
    pub tags: Option<Vec<String>>,
    /// Another importance.
    pub importance: Option<f32>,
    /// Another confidence.
    pub confidence: Option<Confidence>,
    /// When it becomes true.
    pub valid_from: Option<UtcMillis>,
    /// When it ceases to be true.
    pub valid_until: Option<UtcMillis>,
    /// Names of the entities that it is about, in the place of those before.
    #[serde(default)]
    pub entities: Option<Vec<String>>,
    /// What it says of something that has one value at a time. Without it, what was stated before stays where the
    /// statement still has the value.
    #[serde(default)]
    pub asserts: Option<StatedValue>,
    /// True: from now on it holds everywhere.
    #[serde(default)]
    pub is_global: bool,
}

/// What an operation did.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Done {
    /// The memory that is in effect now.
    pub memory: MemoryId,
    /// Number of the operation; `None`: everything was so already.
    pub operation: Option<u64>,
}

impl Engine {
    /// Records a memory. The same statement of the same kind in the same project is recorded once: the known memory
    /// gets the evidence, tags, anchors and entities that it lacks.
    ///
    /// # Errors
    /// [`MemoryError`]: the record is not valid, the evidence does not say it, there is no memory to replace;
    /// [`EngineError::UnknownId`]: there is nothing with an id that it relates to.
    pub fn add_memory(&self, new: &NewMemory, cause: &Cause) -> Result<Done, EngineError> {
        let now = self.now();
        let prepared = self.prepared(new, now)?;
        let kind = if prepared.replaces.is_some() { OperationKind::Supersede } else { OperationKind::Create };
        let memory = &prepared.memory;
        let summary = format!("{} {}: {}", verb(kind), memory.kind.as_str(), shortened(&memory.statement));
        let names: Vec<String> = prepared.entities.iter().cloned().chain(rules::entities(&memory.statement)).collect();
        // If the search fails, the memory is recorded without a comparison.
        let (position, mut near) = (self.store_position()?, self.near(memory).unwrap_or_default());
        let (id, operation) = self.operate(kind, cause, summary, |tx| {
            near.extend(position.since(tx)?);
            let (id, is_changed) = prepared.record(tx, now, &mut PipelineStatistics::default())?;
            // An unchanged memory was compared when it was recorded.
            if is_changed {
                settle_by_stated_value(tx, id, cause.actor, now)?;
                settle_by_words(tx, id, &names, near.iter(), cause.actor, now)?;
            }
            Ok::<_, EngineError>(id)
        })?;
        Ok(Done { memory: id, operation })
    }

    /// Makes a memory that can be stored of a given one: redacted, in its project, with checked evidence.
    pub(super) fn prepared(&self, new: &NewMemory, now: UtcMillis) -> Result<Prepared, EngineError> {
        let replaces = new.replaces.as_deref().map(|id| self.memory_named(id)).transpose()?;
        let same = new.same.as_deref().map(|id| self.memory_named(id)).transpose()?;
        let beside = new.beside.iter().map(|id| self.memory_named(id)).collect::<Result<Vec<MemoryId>, _>>()?;
        let mut memory = self.redacted_memory(new.memory.clone())?;
        memory.project = match (&new.project, &new.here) {
            (Some(named), _) => self.project_id(named)?,
            (None, Some(here)) => self.project_of_memory(here)?,
            (None, None) => memory.project,
        };
        if memory.project.is_some() {
            memory.reach = Reach::Everywhere;
        }
        memory.evidence.extend(self.evidence_of(&new.evidence, &memory.statement)?);
        if memory.anchors.is_empty() && memory.project.is_some() {
            // The files that its words name are what it stands on.
            let named = paths(&memory.statement).into_iter().map(|named| named.path.to_owned());
            let named = named.filter(|path| path.len() <= LONGEST_PATH).take(MOST_NAMED);
            memory.anchors = named.map(|text| Anchor { kind: AnchorKind::SourceFile, text }).collect();
        }
        if memory.project.is_some() && !memory.anchors.iter().any(|anchor| anchor.kind.is_of_tool()) {
            memory.anchors.extend(tools_of(&memory.statement));
        }
        let memory = Memory { id: draw_memory(now)?, recorded: now, changed: now, ..memory.normalised() };
        check(&memory).map_err(MemoryError::from)?;
        let entities = self.redacted_names(&new.entities)?;
        let related = new.related.iter().map(|id| self.node_of_id(id)).collect::<Result<Vec<Node>, _>>()?;
        let mut stated = new.stated.clone();
        self.redact(stated.iter_mut().flat_map(|one| [&mut one.from, &mut one.to]))?;
        let mut aliases = new.aliases.clone();
        self.redact(aliases.iter_mut().flat_map(|(name, alias)| [name, alias]))?;
        Ok(Prepared { memory, entities, related, stated, aliases, replaces, beside, same })
    }

    /// Changes a memory. Other words are a new memory that takes its place; the old words stay readable.
    ///
    /// # Errors
    /// [`MemoryError`]: there is no such memory, another one took its place, the new record is not valid.
    pub fn edit_memory(&self, id: &str, edit: &MemoryEdit, cause: &Cause) -> Result<Done, EngineError> {
        let (id, now) = (self.memory_named(id)?, self.now());
        let mut edit = edit.clone();
        self.redact(edit.statement.iter_mut().chain(&mut edit.title).chain(&mut edit.details))?;
        self.redact(edit.tags.iter_mut().flatten().chain(edit.entities.iter_mut().flatten()))?;
        self.redact(edit.asserts.iter_mut().flat_map(|asserts| [&mut asserts.subject, &mut asserts.value]))?;
        let fresh = draw_memory(now)?;
        let position = self.store_position()?;
        let mut near = match (&edit.statement, self.store().memory(id)?) {
            (Some(_), Some(known)) => self.near(&edited(known, &edit)).unwrap_or_default(),
            _ => Vec::new(),
        };
        let is_reworded = edit.statement.is_some() || edit.details.is_some();
        let kind = if is_reworded { OperationKind::Supersede } else { OperationKind::Edit };
        let summary = match &edit.statement {
            Some(statement) => format!("corrected memory {}: {}", id.short(), shortened(statement)),
            None => format!("changed memory {}", id.short()),
        };
        let (memory, operation) = self.operate(kind, cause, summary, |tx| {
            let known = in_effect(tx, id)?;
            let changed = edited(known.clone(), &edit);
            if !is_reworded || changed == known {
                if changed != known {
                    let changed = Memory { changed: now, ..changed }.normalised();
                    check(&changed).map_err(MemoryError::from)?;
                    tx.put(&Record::Memory(Box::new(changed)))?;
                }
                about_only(tx, id, edit.entities.as_deref(), now)?;
                return Ok(id);
            }
            let mut changed = Memory { changed: now, ..changed }.normalised();
            (changed.id, changed.recorded) = (fresh, now);
            let is_persons = cause.actor == Actor::Person;
            // The new words are compared anew.
            changed = changed.after(if is_persons { &Event::Vouched } else { &Event::Released }, now).unwrap_or(changed);
            if is_persons {
                (changed.lane, changed.source.kind) = (Lane::Curated, Default::default());
            }
            // Another memory may have the words already: then that one takes its place.
            let twin = match tx.same_statement(&changed)? {
                Some(twin) if twin != id => tx.memory(twin)?,
                _ => None,
            };
            let is_known = twin.is_some();
            if let Some(twin) = twin {
                changed = match twin.absorb(&changed, Arrival::ByHand, now) {
                    Absorbed::Changed(joined) => *joined,
                    Absorbed::Known | Absorbed::Refused => twin,
                };
            }
            check(&changed).map_err(MemoryError::from)?;
            tx.put(&Record::Memory(Box::new(changed.clone())))?;
            for relation in tx.relations_of(&Node::Memory(id))? {
                pass_on(tx, relation, id, changed.id, now)?;
            }
            about_only(tx, changed.id, edit.entities.as_deref(), now)?;
            supersede(tx, &known, &changed, Replacement::Stated(None), now)?;
            if is_known {
                return Ok(changed.id);
            }
            settle_by_stated_value(tx, fresh, cause.actor, now)?;
            near.extend(position.since(tx)?);
            let names: Vec<String> = edit.entities.iter().flatten().cloned().chain(rules::entities(&changed.statement)).collect();
            settle_by_words(tx, fresh, &names, near.iter(), cause.actor, now)?;
            Ok(fresh)
        })?;
        Ok(Done { memory, operation })
    }

    /// Confirms a memory for the person: from now on it is curated and verified, and holds if it waited for a review. One that was replaced by what is there no more holds again.
    ///
    /// # Errors
    /// [`MemoryError::Unknown`].
    pub fn confirm_memory(&self, id: &str, cause: &Cause) -> Result<Done, EngineError> {
        let is_left_alone = self.store().named_outlines(Named::SuccessorOf(self.memory_named(id)?))?.is_empty();
        self.change_memory(id, OperationKind::Confirm, cause, Some(&Event::Confirmed { is_left_alone }), &|memory| {
            (memory.lane, memory.confidence) = (Lane::Curated, Confidence::Verified);
        })
    }

    /// Says that a memory is wrong, and why. It stays readable, and no longer holds.
    ///
    /// # Errors
    /// [`MemoryError::Unknown`].
    pub fn invalidate_memory(&self, id: &str, reason: Option<&str>, cause: &Cause) -> Result<Done, EngineError> {
        let mut reason = reason.map(str::to_owned);
        self.redact(reason.iter_mut())?;
        self.change_memory(id, OperationKind::Invalidate, cause, Some(&Event::FoundWrong { reason }), &|_| {})
    }

    /// Pins a memory, so that it never fades, or unpins it.
    ///
    /// # Errors
    /// [`MemoryError::Unknown`].
    pub fn pin_memory(&self, id: &str, is_pinned: bool, cause: &Cause) -> Result<Done, EngineError> {
        self.change_memory(id, OperationKind::Pin, cause, None, &|memory| memory.is_pinned = is_pinned)
    }

    /// Puts a memory away, or takes it out again.
    ///
    /// # Errors
    /// [`MemoryError::Unknown`].
    pub fn archive_memory(&self, id: &str, is_archived: bool, cause: &Cause) -> Result<Done, EngineError> {
        let memory = self.memory_named(id)?;
        Ok(Done { memory, operation: self.archive_memories(&[memory], is_archived, cause)? })
    }

    /// Puts memories away, or takes them out again, in one operation. Returns its number. Forgetting reaches what they
    /// replaced too, and gives each its status back.
    pub fn archive_memories(&self, ids: &[MemoryId], is_archived: bool, cause: &Cause) -> Result<Option<u64>, EngineError> {
        let now = self.now();
        let by_forget = cause.by == FORGET;
        let summary = match (ids, is_archived) {
            ([id], true) => format!("put away memory {}", id.short()),
            ([id], false) => format!("took out memory {}", id.short()),
            (ids, true) => format!("put away {} memories", ids.len()),
            (ids, false) => format!("took out {} memories", ids.len()),
        };
        let ((), operation) = self.operate(OperationKind::Archive, cause, summary, |tx| {
            let mut waiting: Vec<(MemoryId, bool)> = ids.iter().map(|id| (*id, true)).collect();
            let mut seen: HashSet<MemoryId> = HashSet::new();
            while let Some((id, is_named)) = waiting.pop() {
                if !seen.insert(id) {
                    continue;
                }
                let known = tx.memory(id)?.ok_or_else(|| MemoryError::Unknown(id.short()))?;
                let event = match is_archived {
                    true if by_forget => Some(Event::Forgotten),
                    true => Some(Event::PutAway(PutAway::Wanted)),
                    false if is_named || known.is_forgotten() => Some(Event::TakenOut),
                    false => None,
                };
                if let Some(event) = event {
                    change(tx, &known, &event, cause.actor, now)?;
                }
                if by_forget {
                    for relation in tx.relations_of(&Node::Memory(id))? {
                        if let (RelationType::Supersedes, Node::Memory(newer), Node::Memory(older)) =
                            (relation.relation_type, relation.from, relation.to)
                            && newer == id
                        {
                            waiting.push((older, false));
                        }
                    }
                }
            }
            Ok::<_, EngineError>(())
        })?;
        Ok(operation)
    }

    pub(crate) fn project_ids(&self, named: &[String]) -> Result<Vec<ProjectId>, EngineError> {
        let rows = projects_named(self.store(), named)?;
        let known = self.store().projects()?;
        Ok(known.into_iter().filter(|known| rows.contains(&known.key)).map(|known| known.id).collect())
    }

    /// Returns the one project with a name, id or directory.
    fn project_id(&self, named: &str) -> Result<Option<ProjectId>, EngineError> {
        let ids = self.project_ids(&[named.to_owned()])?;
        if ids.len() > 1 {
            let candidates = ids.iter().map(ProjectId::short).collect();
            return Err(EngineError::AmbiguousId { id: named.to_owned(), candidates });
        }
        Ok(ids.into_iter().next())
    }

    /// Returns the project that a memory from a directory belongs to: the one of its repository, which becomes known
    /// with that, or a known one around it. `None`: the memory holds everywhere.
    pub fn project_of_memory(&self, here: &ProjectNames) -> Result<Option<ProjectId>, EngineError> {
        if !here.is_in_repository() {
            return self.project_of(here);
        }
        let project = self.store().known_project(None, &here.aliases, &here.name, self.now())?;
        note_first_commits(self.store(), self.now())?;
        Ok(Some(project))
    }

    /// Returns the id of the known project of a directory.
    pub fn project_of(&self, here: &ProjectNames) -> Result<Option<ProjectId>, EngineError> {
        let row = project_here(self.store(), here)?;
        let known = self.store().projects()?;
        Ok(known.into_iter().find(|known| Some(known.key) == row).map(|known| known.id))
    }

    fn change_memory(
        &self,
        id: &str,
        kind: OperationKind,
        cause: &Cause,
        event: Option<&Event>,
        change: &dyn Fn(&mut Memory),
    ) -> Result<Done, EngineError> {
        let (id, now) = (self.memory_named(id)?, self.now());
        let summary = format!("{} memory {}", verb(kind), id.short());
        let ((), operation) = self.operate(kind, cause, summary, |tx| {
            let known = tx.memory(id)?.ok_or_else(|| MemoryError::Unknown(id.short()))?;
            let mut changed = known.clone();
            change(&mut changed);
            changed = event.and_then(|event| changed.after(event, now)).unwrap_or(changed);
            if changed != known {
                changed.changed = now;
                check(&changed).map_err(MemoryError::from)?;
                let (was, is, lane) = (known.is_in_effect(), changed.is_in_effect(), changed.lane);
                put(tx, &known, changed, cause.actor, now)?;
                if was && !is {
                    // A wrong memory has replaced nothing.
                    revive_replaced(tx, id, &[], cause.actor, now)?;
                } else if was && is && lane != known.lane {
                    // Extracted statements against a person's word are marked.
                    compare_again(tx, id, cause.actor, now)?;
                }
            }
            Ok(())
        })?;
        Ok(Done { memory: id, operation })
    }

    /// Runs an operation now.
    pub(super) fn operate<T>(
        &self,
        kind: OperationKind,
        cause: &Cause,
        summary: String,
        work: impl FnOnce(&mut OperationTx<'_, '_>) -> Result<T, EngineError>,
    ) -> Result<(T, Option<u64>), EngineError> {
        self.store().operate(&NewOperation { kind, cause: cause.clone(), at: self.now(), summary }, work)
    }

    /// Redacts all text of a memory.
    pub(super) fn redacted_memory(&self, mut memory: Memory) -> Result<Memory, EngineError> {
        self.redact([&mut memory.statement].into_iter().chain(&mut memory.title).chain(&mut memory.details))?;
        self.redact(memory.tags.iter_mut().chain(memory.anchors.iter_mut().map(|anchor| &mut anchor.text)))?;
        self.redact(memory.asserts.iter_mut().flat_map(|asserts| [&mut asserts.subject, &mut asserts.value]))?;
        self.redact(
            memory
                .evidence
                .iter_mut()
                .map(|evidence| &mut evidence.quote)
                .chain(memory.cause.as_mut().and_then(StatusCause::text_mut)),
        )?;
        let mut fields = serde_json::to_string(&memory.fields).unwrap_or_default();
        let before = fields.clone();
        self.redact([&mut fields].into_iter())?;
        if fields != before {
            memory.fields = serde_json::from_str(&fields).unwrap_or_default();
        }
        Ok(memory)
    }

    /// Redacts names.
    pub(super) fn redacted_names(&self, names: &[String]) -> Result<Vec<String>, EngineError> {
        let mut names = names.to_vec();
        self.redact(names.iter_mut())?;
        Ok(names)
    }

    /// Checks evidence: a quote must stand in its turn; without one, the part of the turn that says most of the
    /// statement is quoted.
    fn evidence_of(&self, given: &[GivenEvidence], statement: &str) -> Result<Vec<Evidence>, EngineError> {
        given
            .iter()
            .map(|given| {
                let turn = self.turn_named(&given.turn)?;
                let quote = match &given.quote {
                    Some(quote) if turn.text.contains(quote.as_str()) || turn.tool_text.contains(quote.as_str()) => quote.clone(),
                    Some(quote) => {
                        return Err(MemoryError::NotSaid { turn: turn.id.short(), quote: shortened(quote) }.into());
                    }
                    None => {
                        best_fragment(&turn.text, statement).ok_or_else(|| MemoryError::SaysNothing(turn.id.short()))?.to_owned()
                    }
                };
                Ok(Evidence { turn: turn.id, quote })
            })
            .collect()
    }
}

/// States that a memory stands beside another one, and takes back that they contradict each other.
fn stand_beside(tx: &mut OperationTx<'_, '_>, memory: MemoryId, other: MemoryId, now: UtcMillis) -> Result<(), EngineError> {
    in_effect(tx, other)?;
    for (contradiction, against) in contradictions(tx, memory)? {
        if against.id == other {
            tx.remove(Subject::Relation(contradiction.id))?;
        }
    }
    if memory != other {
        connect(tx, Node::Memory(memory), RelationType::BuildsOn, Node::Memory(other), now)?;
    }
    release(tx, memory, now)?;
    release(tx, other, now)
}

/// Gives a relation of a memory to the one that takes its place. The old one keeps what it is about and what it
/// replaced; relations with other memories and things move, so that they lead to what holds.
fn pass_on(
    tx: &mut OperationTx<'_, '_>,
    relation: Relation,
    old: MemoryId,
    new: MemoryId,
    now: UtcMillis,
) -> Result<(), EngineError> {
    if relation.relation_type.category() == Category::Versioning {
        return Ok(());
    }
    if relation.basis.is_some() {
        // It was found by the words before; the new words are compared anew.
        return Ok(tx.remove(Subject::Relation(relation.id))?);
    }
    if matches!(relation.relation_type, RelationType::About | RelationType::Mentions) && relation.from == Node::Memory(old) {
        return connect(tx, Node::Memory(new), relation.relation_type, relation.to, now);
    }
    let moved = |node: &Node| if *node == Node::Memory(old) { Node::Memory(new) } else { node.clone() };
    let moved = Relation { id: draw_relation(now)?, from: moved(&relation.from), to: moved(&relation.to), ..relation.clone() };
    let moved = moved.normalised();
    tx.remove(Subject::Relation(relation.id))?;
    if moved.from != moved.to && tx.relation_between(&moved.from, moved.relation_type, &moved.to)?.is_none() {
        tx.put(&Record::Relation(Box::new(moved)))?;
    }
    Ok(())
}

/// Lets a memory be about these entities alone; `None` leaves them as they are.
fn about_only(
    tx: &mut OperationTx<'_, '_>,
    id: MemoryId,
    entities: Option<&[String]>,
    now: UtcMillis,
) -> Result<(), EngineError> {
    let Some(entities) = entities else { return Ok(()) };
    let mut wanted = Vec::new();
    for name in entities.iter().filter(|name| !name.trim().is_empty()) {
        wanted.push(Node::Entity(entity_for(tx, name, now)?));
    }
    for relation in tx.relations_of(&Node::Memory(id))? {
        let is_about = relation.relation_type == RelationType::About && matches!(relation.to, Node::Entity(_));
        if is_about && relation.from == Node::Memory(id) && !wanted.contains(&relation.to) {
            tx.remove(Subject::Relation(relation.id))?;
        }
    }
    for node in wanted {
        connect(tx, Node::Memory(id), RelationType::About, node, now)?;
    }
    Ok(())
}

/// Returns a memory that is in effect.
fn in_effect(tx: &OperationTx<'_, '_>, id: MemoryId) -> Result<Memory, EngineError> {
    let memory = tx.memory(id)?.ok_or_else(|| MemoryError::Unknown(id.short()))?;
    if matches!(memory.status, Status::Superseded | Status::Invalidated) {
        return Err(MemoryError::NotInEffect { id: id.short(), status: memory.status.as_str() }.into());
    }
    Ok(memory)
}

/// Returns the versions and commands that a statement names.
fn tools_of(statement: &str) -> Vec<Anchor> {
    let versions = versions(statement).into_iter();
    let versions = versions.map(|(name, version)| Anchor { kind: AnchorKind::Version, text: format!("{name} {version}") });
    versions.chain(commands(statement).into_iter().map(|text| Anchor { kind: AnchorKind::Command, text })).collect()
}

fn edited(mut memory: Memory, edit: &MemoryEdit) -> Memory {
    let text = |text: &String| Some(text.clone()).filter(|text| !text.trim().is_empty());
    if let Some(statement) = &edit.statement {
        memory.statement.clone_from(statement);
        // It was stated of the words before.
        memory.asserts = memory.asserts.filter(|stated| says(statement, &stated.value));
        memory.anchors.retain(|anchor| !anchor.kind.is_of_tool());
        if memory.project.is_some() {
            memory.anchors.extend(tools_of(statement));
        }
    }
    if let Some(title) = &edit.title {
        memory.title = text(title);
    }
    if let Some(details) = &edit.details {
        memory.details = text(details);
    }
    if let Some(kind) = edit.kind {
        (memory.kind, memory.memory_type) = (kind, kind.memory_type());
        if !memory.fields.fit(kind) {
            memory.fields = Fields::None;
        }
    }
    memory.fields = edit.fields.clone().unwrap_or(memory.fields);
    memory.tags = edit.tags.clone().unwrap_or(memory.tags);
    memory.importance = edit.importance.unwrap_or(memory.importance);
    memory.confidence = edit.confidence.unwrap_or(memory.confidence);
    if edit.is_global {
        (memory.project, memory.reach) = (None, Reach::Everywhere);
    }
    memory.valid_from = edit.valid_from.or(memory.valid_from);
    memory.valid_until = edit.valid_until.or(memory.valid_until);
    memory.asserts = edit.asserts.clone().or(memory.asserts);
    memory
}

/// Returns whether a statement has the words of a value, one after the other.
fn says(statement: &str, value: &str) -> bool {
    let words = |text: &str| {
        let words =
            text.split_whitespace().map(|word| word.trim_matches(|letter: char| !letter.is_alphanumeric()).to_lowercase());
        words.filter(|word| !word.is_empty()).collect::<Vec<_>>()
    };
    let (statement, value) = (words(statement), words(value));
    !value.is_empty() && statement.windows(value.len()).any(|window| window == value)
}

/// Returns the fragment of a text with most words of a statement, exactly as it stands there.
fn best_fragment<'t>(text: &'t str, statement: &str) -> Option<&'t str> {
    let mut tokenizer = Tokenizer::default();
    let wanted = Question::parse(statement, &mut tokenizer).terms;
    let mut tokens = Tokens::default();
    let mut best: Option<(usize, &str)> = None;
    for range in fragments(text) {
        let fragment = &text[range];
        tokenizer.tokenize(fragment, &mut tokens);
        let held = wanted.iter().filter(|term| tokens.iter().any(|token| token.text == term.as_str())).count();
        if best.is_none_or(|(most, _)| held > most) {
            best = Some((held, fragment));
        }
    }
    best.map(|(_, fragment)| fragment)
}

fn verb(kind: OperationKind) -> &'static str {
    match kind {
        OperationKind::Create => "recorded",
        OperationKind::Supersede => "replaced by a new",
        OperationKind::Confirm => "confirmed",
        OperationKind::Invalidate => "found wrong:",
        OperationKind::Pin => "pinned or unpinned",
        _ => "changed",
    }
}

pub(super) fn shortened(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default().trim();
    match line.char_indices().nth(SUMMARY_CHARS) {
        Some((at, _)) => format!("{}…", line[..at].trim_end()),
        None => line.to_owned(),
    }
}

fn draw_memory(now: UtcMillis) -> Result<MemoryId, EngineError> {
    Ok(MemoryId::new(now.max(0) as u64, draw()?))
}
