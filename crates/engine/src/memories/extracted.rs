//! Proposals of an extractor become memories, by one path for every extractor.
//!
//! A known memory gets the evidence of the proposal. A person decides for good: nothing that they rejected, put away, replaced
//! or forgot is recorded again. The memories that an extractor finds in a conversation take the place of those that it found
//! there before, except for those that a person confirmed or pinned.

use std::collections::{HashMap, HashSet};

use yore_core::id::{MemoryId, ProjectId};
use yore_core::memory::{Fields, Lane, Memory, MemoryKind, SourceKind, Status, check};
use yore_core::operation::{Actor, Cause, OperationKind, Record};
use yore_core::relation::{Node, RelationType};
use yore_core::text::{Shingles, steady};
use yore_core::time::UtcMillis;

use super::contest::{ComparedStatements, difference};
use super::record::{NewMemory, Prepared, joined};
use super::settle::{DONE, leave, revive_replaced, settle_again, settle_by_itself, settle_or_contest};
use super::step::{close, connect};
use crate::Engine;
use crate::error::{EngineError, MemoryError};
use crate::rules::{SAME, content_words, form};
use crate::store::{EpisodeKey, MemoryFilter, OperationTx};

/// A commit ([`DONE`]) may tell the end of a todo. It must have this share of the todo's words, and so many of them at least. Anything else that speaks of the same may only say more of it; an agent or a person states what it ends.
const DONE_SHARE: f32 = 0.7;
const LEAST_WORDS: usize = 5;
/// A repetition by the person, or of an error, in another session adds this to importance.
const REPEATED: f32 = 0.1;
/// Most evidence that an extractor gives a memory; a person may give more.
const MOST_EVIDENCE: usize = 40;
/// Cause of a memory that its extractor proposes no more.
const NO_LONGER: &str = "no longer proposed by ";

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

/// The memories of projects by their words, kept through a run over many conversations.
#[derive(Debug, Default)]
pub(crate) struct KnownStatements {
    by_project: HashMap<Option<ProjectId>, Vec<Known>>,
    /// Those that hold, for comparison.
    compared: HashMap<Option<ProjectId>, ComparedStatements>,
}

#[derive(Debug)]
struct Known {
    id: MemoryId,
    shingles: Shingles,
    /// Program of the commands that it tells, if it is about such.
    program: Option<String>,
    /// Words that say something, of a todo and of what may be its end.
    words: HashSet<String>,
    /// True if it is a todo, false if it tells something that may be the end of one.
    is_todo: bool,
    /// Since when it is true.
    at: Option<UtcMillis>,
    /// The error that it solves, without what differs from time to time, and its session.
    error: Option<String>,
    session: Option<String>,
}

impl Known {
    fn of(memory: &Memory) -> Self {
        let is_todo = memory.kind == MemoryKind::Todo;
        let is_end = memory.source.extractor.as_ref().is_some_and(|extractor| extractor.ends_with(DONE));
        Self {
            id: memory.id,
            shingles: Shingles::of(&memory.statement),
            program: form(&memory.statement).map(|(program, _)| program.to_owned()),
            words: if is_todo || is_end { content_words(&memory.statement).collect() } else { HashSet::new() },
            is_todo,
            at: memory.valid_from,
            error: match &memory.fields {
                Fields::Solution { error, .. } => error.as_deref().map(steady),
                _ => None,
            },
            session: memory.source.session.clone(),
        }
    }

    /// Returns whether it solves the error of another session again.
    fn meets_again(&self, other: &Self) -> bool {
        self.error.is_some() && self.error == other.error && self.session != other.session
    }

    /// Returns whether it tells that a todo was done, by its words.
    fn ends(&self, todo: &Self) -> bool {
        let is_later = todo.at.zip(self.at).is_some_and(|(todo, end)| end > todo);
        if !todo.is_todo || self.is_todo || self.words.is_empty() || !is_later {
            return false;
        }
        let shared = todo.words.intersection(&self.words).count();
        shared >= LEAST_WORDS && shared as f32 >= DONE_SHARE * todo.words.len() as f32
    }

    /// Returns how much it says the same as another, 0 to 1.
    fn likeness(&self, other: &Self) -> f32 {
        if self.is_todo != other.is_todo {
            return 0.0;
        }
        let is_variant = self.program.is_some() && self.program == other.program;
        if is_variant { 1.0 } else { self.shingles.similarity(&other.shingles) }
    }
}

impl Engine {
    /// Records what an extractor found in a conversation, as one operation. Returns counts, and the fate of each proposal.
    pub(crate) fn record_extraction(
        &self,
        extraction: &Extraction<'_>,
        known: &mut KnownStatements,
    ) -> Result<(Extracted, Vec<Fate>), EngineError> {
        let now = self.now();
        let before = self.earlier(extraction)?;
        let mut counts = Extracted::default();
        if extraction.proposals.is_empty() && before.is_empty() {
            return Ok((counts, Vec::new()));
        }
        let reader = self.reader()?;
        let mut proposals: Vec<(usize, Prepared)> = Vec::new();
        let mut fates: Vec<Fate> = Vec::new();
        for (number, new) in extraction.proposals.iter().enumerate() {
            // Until it is recorded.
            fates.push(Fate::Refused);
            match self.prepared(new, now) {
                Ok(prepared) if reader.is_statement_buried(&prepared.memory.statement) => counts.refused += 1,
                Ok(mut prepared) => {
                    // Like the turns that it rests on, it counts from when it was said.
                    let memory = &mut prepared.memory;
                    memory.recorded = memory.valid_from.map_or(now, |said| said.min(now));
                    proposals.push((number, prepared));
                }
                Err(EngineError::Memory(error)) => {
                    fates[number] = Fate::Invalid(error);
                    counts.refused += 1;
                }
                Err(error) => return Err(error),
            }
        }
        let projects: HashSet<Option<ProjectId>> = proposals.iter().map(|(_, prepared)| prepared.memory.project).collect();
        for project in &projects {
            self.load_known(*project, known)?;
        }
        let name = format!("{}/{}", extraction.extractor, extraction.version);
        let cause = Cause { actor: extraction.actor, by: name.clone(), input: Some(extraction.session.to_owned()) };
        let summary = format!("extracted {} memories from a session", proposals.len());
        let mut added: Vec<(Option<ProjectId>, Known)> = Vec::new();
        let (counts, _) = self.operate(OperationKind::Extract, &cause, summary, |tx| {
            let mut met: HashSet<MemoryId> = HashSet::new();
            for (number, prepared) in &proposals {
                let project = prepared.memory.project;
                let of_proposal = Known::of(&prepared.memory);
                let same = known
                    .by_project
                    .get(&project)
                    .into_iter()
                    .flatten()
                    .chain(added.iter().filter(|(of, _)| *of == project).map(|(_, known)| known));
                let same = same.map(|known| (known.likeness(&of_proposal), known.id)).filter(|(likeness, _)| *likeness >= SAME);
                let mut same: Vec<(f32, MemoryId)> = same.collect();
                same.sort_by(|(a, _), (b, _)| b.total_cmp(a));
                // Alike in words, and another value, date or verdict: that is no repetition, and a less similar one may be.
                let (mut repeated, mut other) = (None, None);
                for (_, id) in same {
                    let Some(memory) = tx.memory(id)? else { continue };
                    // A state that comes back has an interval of its own.
                    let is_later = memory.valid_until.zip(prepared.memory.valid_from).is_some_and(|(until, from)| from > until);
                    if memory.was_replaced_by_itself() && is_later {
                        continue;
                    }
                    let differs = if of_proposal.program.is_some() { None } else { difference(&memory, &prepared.memory) };
                    match differs {
                        None => {
                            repeated = Some(memory);
                            break;
                        }
                        Some(conflict) => other = other.or(Some((memory.id, conflict))),
                    }
                }
                match repeated {
                    Some(memory) => {
                        let id = memory.id;
                        join(tx, memory, &prepared.memory, &mut met, &mut counts, now)?;
                        if met.contains(&id) {
                            fates[*number] = Fate::Memory(id);
                        }
                    }
                    None => {
                        let id = prepared.record(tx, now)?;
                        met.insert(id);
                        fates[*number] = Fate::Memory(id);
                        counts.recorded += 1;
                        let new = Known { id, ..of_proposal };
                        let before = known.by_project.get(&project).into_iter().flatten();
                        for other in before.chain(added.iter().filter(|(of, _)| *of == project).map(|(_, known)| known)) {
                            if new.meets_again(other) {
                                raise(tx, new.id, now)?;
                                raise(tx, other.id, now)?;
                            }
                            if new.ends(other) {
                                end_todo(tx, new.id, other.id, &cause, now)?;
                            } else if other.ends(&new) {
                                end_todo(tx, other.id, new.id, &cause, now)?;
                            }
                        }
                        settle_by_itself(tx, id, extraction.actor, now)?;
                        let compared = known.compared.entry(project).or_default();
                        let recorded = Memory { id, ..prepared.memory.clone() };
                        for (other, conflict) in other.into_iter().chain(compared.against(&recorded)) {
                            settle_or_contest(tx, other, id, &conflict, extraction.actor, now)?;
                        }
                        compared.add(&recorded);
                        added.push((project, new));
                    }
                }
            }
            let mut gone = Vec::new();
            for id in before.iter().filter(|id| extraction.is_whole && !met.contains(id)) {
                let Some(memory) = tx.memory(*id)? else { continue };
                let is_own = memory.lane == Lane::Extracted && !memory.is_pinned;
                if is_own && memory.is_in_effect() {
                    let cause = Some(format!("{NO_LONGER}{name}"));
                    let put_away = Memory { status: Status::Archived, cause, status_since: Some(now), changed: now, ..memory };
                    leave(tx, put_away, now)?;
                    counts.put_away += 1;
                }
                gone.push(*id);
            }
            for id in &gone {
                revive_replaced(tx, *id, &gone, extraction.actor, now)?;
            }
            Ok::<_, EngineError>(counts)
        })?;
        for (project, memory) in added {
            known.by_project.entry(project).or_default().push(memory);
        }
        Ok((counts, fates))
    }

    /// Loads the memories of a project, once in a run.
    fn load_known(&self, project: Option<ProjectId>, known: &mut KnownStatements) -> Result<(), EngineError> {
        if known.by_project.contains_key(&project) {
            return Ok(());
        }
        let filter = MemoryFilter {
            projects: Some(project.into_iter().collect()),
            with_global: project.is_none(),
            ..MemoryFilter::default()
        };
        let memories = self.store().memories(&filter, usize::MAX >> 1)?;
        known.by_project.insert(project, memories.iter().map(Known::of).collect());
        let compared = known.compared.entry(project).or_default();
        memories.iter().filter(|memory| memory.is_in_effect()).for_each(|memory| compared.add(memory));
        Ok(())
    }

    /// Returns the memories that the same extractor, in any version, found in the same conversation before.
    fn earlier(&self, extraction: &Extraction<'_>) -> Result<Vec<MemoryId>, EngineError> {
        let prefix = format!("{}/", extraction.extractor);
        let is_earlier = |memory: &Memory| {
            let source = &memory.source;
            source.session.as_deref() == Some(extraction.session)
                && source.extractor.as_ref().is_some_and(|extractor| extractor.starts_with(&prefix))
        };
        let memories = self.store().memories_with_evidence_in(extraction.episode)?;
        Ok(memories.iter().filter(|memory| is_earlier(memory)).map(|memory| memory.id).collect())
    }
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

/// Gives a known memory the evidence of a proposal that says the same, if it holds.
fn join(
    tx: &mut OperationTx<'_, '_>,
    known: Memory,
    proposed: &Memory,
    met: &mut HashSet<MemoryId>,
    counts: &mut Extracted,
    now: UtcMillis,
) -> Result<(), EngineError> {
    let is_back = known.status == Status::Archived && known.cause.as_ref().is_some_and(|cause| cause.starts_with(NO_LONGER));
    // One that was replaced by itself gets evidence of the time when it was so.
    if !known.is_in_effect() && !is_back && !known.was_replaced_by_itself() {
        counts.refused += 1;
        return Ok(());
    }
    met.insert(known.id);
    // A person's memory gets evidence, and no words.
    let offered = match known.lane {
        Lane::Curated => {
            Memory { title: None, details: None, tags: Vec::new(), anchors: Vec::new(), asserts: None, ..proposed.clone() }
        }
        Lane::Extracted => proposed.clone(),
    };
    let mut changed = joined(known.clone(), offered, now);
    if is_back {
        (changed.status, changed.cause, changed.status_since, changed.changed) = (Status::Holds, None, Some(now), now);
    }
    if changed == known {
        counts.known += 1;
        return Ok(());
    }
    // Commands that tell more take the place of the words, with what they rest on; what a person pinned keeps its own.
    let commands = |memory: &Memory| form(&memory.statement).map_or(0, |(_, count)| count);
    if known.lane == Lane::Extracted && !known.is_pinned && commands(proposed) > commands(&known) {
        changed.statement.clone_from(&proposed.statement);
        changed.evidence.clone_from(&proposed.evidence);
        changed.source.clone_from(&proposed.source);
    }
    // A long one is not refused for what it rests on.
    changed.evidence.truncate(MOST_EVIDENCE);
    let is_repeated = known.lane == Lane::Extracted
        && proposed.source.kind == SourceKind::User
        && proposed.source.session != known.source.session;
    if is_repeated {
        changed.importance = (changed.importance + REPEATED).min(1.0);
    }
    check(&changed).map_err(MemoryError::from)?;
    tx.put(&Record::Memory(Box::new(changed)))?;
    counts.joined += 1;
    if is_back {
        settle_again(tx, known.id, Actor::Rule, now)?;
    }
    Ok(())
}
