//! Takes the memories that colleagues share in files of a project's repository, as one operation.
//!
//! A file is somebody else's word. Its memory is one of its own: it adds nothing to what the person's sessions say, and as long as the
//! person has not accepted its author it is compared with nothing. What the person says in the same words is theirs from then on
//! ([`yore_core::memory::Memory::absorb`]).

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};
use yore_core::id::{MemoryId, ProjectId};
use yore_core::memory::{Confidence, Event, Lane, Memory, MemoryKind, PutAway, Replacement, SourceKind, StatusCause, check};
use yore_core::operation::{Actor, Cause, OperationKind, Record};
use yore_core::time::UtcMillis;
use yore_sources::project_names::ProjectNames;

use super::record::{NewMemory, Prepared};
use super::retire_or_contest::{change, settle_by_stated_value, settle_by_words};
use crate::Engine;
use crate::error::{EngineError, MemoryError};
use crate::store::{Memories, MemoryFilter, MemoryOutline, OperationTx, ProjectKey};

/// Folder of the data directory that exists once a repository shared memories.
pub const SHARED_CHECKOUTS: &str = "shared";
/// Name of what causes the operation.
const BY: &str = "yore share";
/// Beginning of the cause of a memory that a file retires.
const RETIRED: &str = "retired by ";
/// Highest importance, and certainty before and after the person accepted the author: a file cannot claim more.
const MOST_IMPORTANT: f32 = 0.5;
const UNACCEPTED: f32 = 0.3;
const ACCEPTED: f32 = 0.7;

/// A memory as a file of the repository says it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct SharedRecord {
    /// The memory. Its source has the file, the author and the commit.
    pub memory: NewMemory,
    /// True if the person accepted its author.
    pub is_accepted: bool,
    /// Who retired it, and why, if a file does so that counts.
    pub retired: Option<String>,
}

/// All memories that a project's repository shares.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct SharedRequest {
    /// The project.
    pub here: ProjectNames,
    /// Its shared memories; those that were taken before and are not here any more are put away.
    pub records: Vec<SharedRecord>,
}

/// What was taken of the shared memories.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct SharedTaken {
    /// Memories that were recorded.
    pub recorded: u64,
    /// Memories whose words, author, trust or status changed.
    pub changed: u64,
    /// Memories that no file has any more.
    pub put_away: u64,
    /// Memories that stay as they are: known, the person's own, retired before they came, or forgotten for good.
    pub known: u64,
    /// Files whose memory cannot be stored, and why.
    pub refused: Vec<(String, String)>,
    /// Number of the operation; `None`: nothing was changed.
    pub operation: Option<u64>,
}

/// A memory that can be stored, and what is said of it.
struct Offered<'r> {
    prepared: Prepared,
    record: &'r SharedRecord,
    /// Memories to compare it with.
    near: Vec<MemoryOutline>,
}

impl Engine {
    /// Takes the shared memories of a project: records those that are new, changes those whose files or authors changed, puts away those
    /// that are gone.
    pub fn take_shared(&self, request: &SharedRequest) -> Result<SharedTaken, EngineError> {
        let now = self.now();
        let mut taken = SharedTaken::default();
        let Some(project) = self.project_of_memory(&request.here)? else { return Ok(taken) };
        let known = self.known_shared(project)?;
        let ingester = self.ingester()?;
        let mut offered: Vec<Offered<'_>> = Vec::new();
        for record in &request.records {
            match self.prepared(&bounded(record, project), now) {
                Ok(prepared) if ingester.is_statement_buried(&prepared.memory.statement) => taken.known += 1,
                Ok(prepared) => {
                    let is_compared = record.is_accepted && !known.contains_key(&key(&prepared.memory));
                    // One is stored even if the search fails.
                    let near = if is_compared { self.near(&prepared.memory).unwrap_or_default() } else { Vec::new() };
                    offered.push(Offered { prepared, record, near });
                }
                Err(EngineError::Memory(error)) => {
                    taken.refused.push((record.memory.memory.source.place.clone().unwrap_or_default(), error.to_string()));
                }
                Err(error) => return Err(error),
            }
        }
        let cause = Cause { actor: Actor::Import, by: BY.to_owned(), input: None };
        let summary = format!("took {} shared memories", offered.len());
        let (taken, operation) = self.operate(OperationKind::Import, &cause, summary, |tx| {
            let mut taken = taken.clone();
            let mut met: HashSet<MemoryId> = HashSet::new();
            let mut fresh: Vec<(MemoryId, &Offered<'_>)> = Vec::new();
            for offered in &offered {
                let memory = &offered.prepared.memory;
                let holding = tx.same_statement(memory)?.map(|id| tx.memory(id)).transpose()?.flatten();
                let of_file = known.get(&key(memory)).map(|id| tx.memory(*id)).transpose()?.flatten();
                // What the person says, and what they decided about a colleague's statement, stays as it is.
                let of_file = holding.or(of_file);
                met.extend(of_file.as_ref().map(|memory| memory.id));
                match of_file {
                    Some(known) if known.is_shared() && renew(tx, &known, offered, now)? => taken.changed += 1,
                    None if offered.record.retired.is_none() => {
                        check(memory).map_err(MemoryError::from)?;
                        tx.put(&Record::Memory(Box::new(memory.clone())))?;
                        fresh.push((memory.id, offered));
                        taken.recorded += 1;
                    }
                    _ => taken.known += 1,
                }
            }
            for id in known.values().filter(|id| !met.contains(id)) {
                let is_told = |memory: &Memory| memory.is_in_effect() || is_retired(memory);
                let Some(memory) = tx.memory(*id)?.filter(|memory| memory.is_shared() && is_told(memory)) else { continue };
                let gone = PutAway::GoneFrom(memory.source.place.clone().unwrap_or_default());
                let memory = memory.after(&Event::Confirmed { is_left_alone: true }, now).unwrap_or(memory);
                change(tx, &memory, &Event::PutAway(gone), Actor::Import, now)?;
                taken.put_away += 1;
            }
            for (id, offered) in fresh.iter().filter(|(_, offered)| offered.record.is_accepted) {
                settle_by_stated_value(tx, *id, Actor::Import, now)?;
                settle_by_words(tx, *id, &[], offered.near.iter(), Actor::Import, now)?;
            }
            Ok::<_, EngineError>(taken)
        })?;
        Ok(SharedTaken { operation, ..taken })
    }

    /// Returns the latest memories of a project that hold and whose authors are not accepted.
    pub(crate) fn unaccepted(&self, project: ProjectKey, limit: usize) -> Result<Vec<Memory>, EngineError> {
        // The memories of most computers are nobody else's.
        if !self.directory().join(SHARED_CHECKOUTS).exists() {
            return Ok(Vec::new());
        }
        let found = self.store().memories(Memories::Unaccepted(project, limit))?;
        Ok(found.into_iter().map(|(_, memory)| memory).collect())
    }

    /// Returns the memories of a project that came from its files, whatever became of them.
    fn known_shared(&self, project: ProjectId) -> Result<HashMap<Said, MemoryId>, EngineError> {
        let filter = MemoryFilter { projects: Some(vec![project]), ..MemoryFilter::default() };
        let memories = self.store().memories(Memories::Meeting(&filter, usize::MAX >> 1))?;
        let shared = memories.into_iter().map(|(_, memory)| memory).filter(|memory| memory.source.kind == SourceKind::Colleague);
        let mut known = HashMap::new();
        // The one that was changed last counts.
        for memory in shared {
            known.entry(key(&memory)).or_insert(memory.id);
        }
        Ok(known)
    }
}

/// A kind and a statement, which one memory of a project has.
type Said = (MemoryKind, String);

fn key(memory: &Memory) -> Said {
    (memory.kind, memory.statement.clone())
}

/// Returns the memory of a record with no more trust than a colleague has.
fn bounded(record: &SharedRecord, project: ProjectId) -> NewMemory {
    let mut new = record.memory.clone();
    let memory = &mut new.memory;
    memory.project = Some(project);
    memory.lane = Lane::Extracted;
    memory.source.kind = SourceKind::Colleague;
    memory.importance = memory.importance.min(MOST_IMPORTANT);
    memory.is_pinned = false;
    (memory.confidence, memory.certainty) = match record.is_accepted {
        true if memory.confidence != Confidence::Speculative => (Confidence::Inferred, memory.certainty.min(ACCEPTED)),
        _ => (Confidence::Speculative, memory.certainty.min(UNACCEPTED)),
    };
    NewMemory { evidence: Vec::new(), entities: Vec::new(), related: Vec::new(), stated: Vec::new(), aliases: Vec::new(), ..new }
}

/// Returns whether a file retired a memory.
fn is_retired(memory: &Memory) -> bool {
    matches!(&memory.cause, Some(StatusCause::Stated { words }) if words.starts_with(RETIRED))
}

/// Brings a shared memory to what its file says now; returns whether that changed anything.
fn renew(tx: &mut OperationTx<'_, '_>, known: &Memory, offered: &Offered<'_>, now: UtcMillis) -> Result<bool, EngineError> {
    let event = match &offered.record.retired {
        Some(by) if known.is_in_effect() => {
            Some(Event::Replaced { since: None, why: Replacement::Stated(Some(format!("{RETIRED}{by}"))) })
        }
        Some(_) => None,
        None if is_retired(known) => Some(Event::Confirmed { is_left_alone: true }),
        None => Some(Event::InFileAgain),
    };
    let given = &offered.prepared.memory;
    let memory = event.as_ref().and_then(|event| known.after(event, now)).unwrap_or_else(|| known.clone());
    let valid_until = if memory.is_in_effect() { given.valid_until } else { memory.valid_until };
    let said = Memory {
        title: given.title.clone(),
        details: given.details.clone(),
        fields: given.fields.clone(),
        tags: given.tags.clone(),
        confidence: given.confidence,
        certainty: given.certainty,
        source: given.source.clone(),
        anchors: given.anchors.clone(),
        asserts: given.asserts.clone(),
        valid_from: given.valid_from,
        valid_until,
        ..known.clone()
    };
    let is_reworded = said != *known;
    if is_reworded {
        check(&said).map_err(MemoryError::from)?;
        tx.put(&Record::Memory(Box::new(Memory { changed: now, ..said.clone() })))?;
    }
    if let Some(event) = event.filter(|event| said.after(event, now).is_some()) {
        change(tx, &said, &event, Actor::Import, now)?;
        return Ok(true);
    }
    Ok(is_reworded)
}
