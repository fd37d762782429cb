//! Takes the memories that accepted colleagues share in files of a project's repository, as one operation.
//!
//! A file is somebody else's word, so nothing of an author whom the person has not accepted gets into the store: such memories are told
//! from the files alone. One of an accepted author is a memory of its own, below the person's: it adds nothing to what these say, and
//! retires none. What the person says in the same words is theirs from then on ([`yore_core::memory::Memory::absorb`]).

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};
use yore_core::id::{MemoryId, ProjectId};
use yore_core::memory::{Confidence, Event, Lane, Memory, PutAway, Replacement, SourceKind, StatusCause, check};
use yore_core::operation::{Actor, Cause, OperationKind, Record, Subject};
use yore_core::time::UtcMillis;
use yore_sources::project_names::ProjectNames;

use super::record::{NewMemory, Prepared};
use super::retire_or_contest::{change, settle_by_stated_value, settle_by_words};
use crate::Engine;
use crate::error::{EngineError, MemoryError};
use crate::store::{Memories, MemoryFilter, MemoryOutline, OperationTx};

/// Name of what causes the operation.
pub const TAKES_SHARED: &str = "yore share";
/// Beginning of the cause of a memory that a file retires.
const RETIRED: &str = "retired by ";
/// Highest importance and certainty: a file cannot claim more.
const MOST_IMPORTANT: f32 = 0.5;
const MOST_CERTAIN: f32 = 0.7;

/// A memory as a file of the repository says it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct SharedRecord {
    /// The memory. Its source has the file, the author and the commit.
    pub memory: NewMemory,
    /// True if the person accepted its author; else it is not taken.
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
    /// Files that are on the branch that everybody has, and in no checkout here: what was taken of them stays.
    pub elsewhere: Vec<String>,
}

/// Outcome of the taking of shared memories.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct SharedTaken {
    /// Memories that were recorded.
    pub recorded: u64,
    /// Memories whose words, author or status changed.
    pub changed: u64,
    /// Memories that no file of an accepted author has any more, or whose statement the person or another memory has.
    pub put_away: u64,
    /// Files whose statement the person has, or had and decided about, or forgot for good.
    pub own: Vec<String>,
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

/// The memories of a project and those that hold everywhere, of any status.
#[derive(Default)]
struct Known {
    /// Statements of the person and of their sessions.
    own: HashSet<String>,
    /// Statements of files, each with the id of its memory.
    shared: HashMap<String, MemoryId>,
    /// Memories whose statement another memory of a file has, with another kind.
    doubled: Vec<MemoryId>,
}

impl Engine {
    /// Takes the shared memories of a project: records those that are new, changes those whose files or authors changed, puts away those
    /// that are gone.
    pub fn take_shared(&self, request: &SharedRequest) -> Result<SharedTaken, EngineError> {
        let now = self.now();
        let mut taken = SharedTaken::default();
        let Some(project) = self.project_of_memory(&request.here)? else { return Ok(taken) };
        let known = self.known_statements(project)?;
        let ingester = self.ingester()?;
        let mut offered: Vec<Offered<'_>> = Vec::new();
        for record in &request.records {
            let place = || record.memory.memory.source.place.clone().unwrap_or_default();
            match self.prepared(&bounded(record, project), now) {
                Ok(prepared) if known.own.contains(&prepared.memory.statement) => taken.own.push(place()),
                Ok(prepared) if ingester.is_statement_buried(&prepared.memory.statement) => taken.own.push(place()),
                Ok(_) if !record.is_accepted => {}
                Ok(prepared) => {
                    let is_new = !known.shared.contains_key(&prepared.memory.statement);
                    // One is stored even if the search fails.
                    let near = if is_new { self.near(&prepared.memory).unwrap_or_default() } else { Vec::new() };
                    offered.push(Offered { prepared, record, near });
                }
                Err(EngineError::Memory(error)) => taken.refused.push((place(), error.to_string())),
                Err(error) => return Err(error),
            }
        }
        // A statement that two share as two kinds stands once: as the one that holds, and of the first kind.
        offered.sort_by_key(|offered| {
            let memory = &offered.prepared.memory;
            (offered.record.retired.is_some(), memory.kind.as_str(), memory.source.place.clone())
        });
        let mut said: HashSet<String> = HashSet::new();
        offered.retain(|offered| said.insert(offered.prepared.memory.statement.clone()));
        let edited = self.edited(known.shared.values())?;
        let cause = Cause { actor: Actor::Import, by: TAKES_SHARED.to_owned(), input: None };
        let summary = format!("took what others share about {}", request.here.name);
        let (taken, operation) = self.operate(OperationKind::Import, &cause, summary, |tx| {
            let mut taken = taken.clone();
            let mut met: HashSet<MemoryId> = HashSet::new();
            let mut fresh: Vec<(MemoryId, &Offered<'_>)> = Vec::new();
            for offered in &offered {
                let memory = &offered.prepared.memory;
                let of_file = known.shared.get(&memory.statement).map(|id| tx.memory(*id)).transpose()?.flatten();
                met.extend(of_file.as_ref().map(|memory| memory.id));
                match of_file {
                    // The person may have decided about a colleague's statement, and that stays.
                    Some(known) if known.is_shared() => {
                        taken.changed += u64::from(renew(tx, &known, offered, edited.contains(&known.id), now)?);
                    }
                    // A memory that was retired before it came is no news. Another process may have recorded it a moment ago.
                    None if offered.record.retired.is_none() && tx.same_statement(memory)?.is_none() => {
                        check(memory).map_err(MemoryError::from)?;
                        tx.put(&Record::Memory(Box::new(memory.clone())))?;
                        fresh.push((memory.id, offered));
                        taken.recorded += 1;
                    }
                    _ => {}
                }
            }
            for id in known.shared.values().chain(&known.doubled).filter(|id| !met.contains(id)) {
                let is_told = |memory: &Memory| memory.is_in_effect() || is_retired(memory);
                let Some(memory) = tx.memory(*id)?.filter(|memory| memory.is_shared() && is_told(memory)) else { continue };
                let file = memory.source.place.clone().unwrap_or_default();
                if request.elsewhere.contains(&file) {
                    continue;
                }
                let memory = memory.after(&Event::Confirmed { is_left_alone: true }, now).unwrap_or(memory);
                change(tx, &memory, &Event::PutAway(PutAway::GoneFrom(file)), Actor::Import, now)?;
                taken.put_away += 1;
            }
            for (id, offered) in &fresh {
                settle_by_stated_value(tx, *id, Actor::Import, now)?;
                settle_by_words(tx, *id, &[], offered.near.iter(), Actor::Import, now)?;
            }
            Ok::<_, EngineError>(taken)
        })?;
        Ok(SharedTaken { operation, ..taken })
    }

    /// Returns what is said in a project and everywhere, whatever became of it.
    fn known_statements(&self, project: ProjectId) -> Result<Known, EngineError> {
        let filter = MemoryFilter { projects: Some(vec![project]), with_global: true, ..MemoryFilter::default() };
        let mut known = Known::default();
        let mut memories = self.store().memories(Memories::Meeting(&filter, usize::MAX >> 1))?;
        // The one in effect counts among those with one statement, then the one that was changed last.
        memories.sort_by_key(|(_, memory)| !memory.is_in_effect());
        for (_, memory) in memories {
            if memory.source.kind == SourceKind::Colleague {
                match known.shared.entry(memory.statement) {
                    Entry::Vacant(place) => _ = place.insert(memory.id),
                    Entry::Occupied(_) => known.doubled.push(memory.id),
                }
            } else {
                known.own.insert(memory.statement);
            }
        }
        Ok(known)
    }

    /// Returns those of the memories that somebody here changed last: their words stay.
    fn edited<'m>(&self, memories: impl Iterator<Item = &'m MemoryId>) -> Result<HashSet<MemoryId>, EngineError> {
        let mut edited = HashSet::new();
        for id in memories {
            let last = self.store().operations(None, Some(Subject::Memory(*id)), 1)?;
            edited.extend(last.first().is_some_and(|last| last.cause.actor == Actor::Person).then_some(*id));
        }
        Ok(edited)
    }
}

/// Returns the memory of a record with no more trust than a colleague has.
fn bounded(record: &SharedRecord, project: ProjectId) -> NewMemory {
    let mut new = record.memory.clone();
    let memory = &mut new.memory;
    memory.project = Some(project);
    memory.lane = Lane::Extracted;
    memory.source.kind = SourceKind::Colleague;
    memory.importance = memory.importance.min(MOST_IMPORTANT);
    memory.certainty = memory.certainty.min(MOST_CERTAIN);
    memory.is_pinned = false;
    if memory.confidence == Confidence::Verified {
        memory.confidence = Confidence::Inferred;
    }
    NewMemory { evidence: Vec::new(), entities: Vec::new(), related: Vec::new(), stated: Vec::new(), aliases: Vec::new(), ..new }
}

/// Returns whether a file retired a memory.
fn is_retired(memory: &Memory) -> bool {
    matches!(&memory.cause, Some(StatusCause::Stated { words }) if words.starts_with(RETIRED))
}

/// Brings a shared memory to what its file says now; returns whether that changed anything. `keeps_words`: a person changed it.
fn renew(
    tx: &mut OperationTx<'_, '_>,
    known: &Memory,
    offered: &Offered<'_>,
    keeps_words: bool,
    now: UtcMillis,
) -> Result<bool, EngineError> {
    let event = match &offered.record.retired {
        Some(by) if known.is_in_effect() => {
            Some(Event::Replaced { since: None, why: Replacement::Stated(Some(format!("{RETIRED}{by}"))) })
        }
        Some(_) => None,
        None if is_retired(known) => Some(Event::Confirmed { is_left_alone: true }),
        None => Some(Event::InFileAgain),
    };
    let given = &offered.prepared.memory;
    let said = if keeps_words {
        Memory { source: given.source.clone(), ..known.clone() }
    } else {
        Memory {
            kind: given.kind,
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
            valid_until: if known.is_in_effect() { given.valid_until } else { known.valid_until },
            ..known.clone()
        }
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
