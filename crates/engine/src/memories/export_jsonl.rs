//! Exports memories, entities, relations and notes as JSON lines, and imports them with the same ids.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, Write};

use serde::{Deserialize, Serialize};
use yore_core::entity::{Entity, check_entity, key_of};
use yore_core::episode::Role;
use yore_core::id::{EntityId, MemoryId, ProjectId};
use yore_core::memory::{Absorbed, Arrival, Confidence, Lane, Memory, MemoryKind, Source, SourceKind, Status, check};
use yore_core::note::NoteFacts;
use yore_core::operation::{Cause, OperationKind, Record};
use yore_core::relation::{Node, Relation, check_relation};
use yore_core::scope::ProjectAlias;
use yore_core::time::UtcMillis;

use crate::Engine;
use crate::error::{EngineError, MemoryError};
use crate::ingest::{GivenDocument, IngestRequest, export_key};
use crate::store::{Episodes, OperationTx, RecordKey, StoreError, StoredAlias, Versions};
use yore_sources::source::note::{KIND, MAX_BYTES, Note, note_records, note_unit};
use yore_sources::source::{Notes, Stamp};

/// Version of the format.
const FORMAT: u32 = 1;
/// Records read from the store at once.
const PAGE: usize = 1_000;
/// Bytes of the texts of a note in one line; escaped, they may be six times as long.
const LINE_BYTES: usize = 2 * 1024 * 1024;
/// Longest line that is read.
const MOST_BYTES: u64 = 16 * 1024 * 1024;
/// Maximum time that an import waits for another process that writes the index.
const INDEX_PATIENCE_MS: u64 = 2_000;
/// How far the clock of another computer may be ahead.
const CLOCK_SKEW_MS: i64 = 60 * 60 * 1_000;
/// Why something with such a time is not stored.
const LATER: &str = "it says that it was recorded or changed at a time that is still to come";
/// Why something that was forgotten is not stored.
const BURIED: &str = "it was forgotten for good";
/// Maximum number of lines that are told with their problem.
const MOST_PROBLEMS: usize = 20;

/// A line of an export.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    /// The first line.
    Yore { format: u32 },
    /// A project that memories belong to.
    Project { id: ProjectId, name: String, aliases: Vec<Alias> },
    /// An entity.
    Entity(Box<Entity>),
    /// A memory.
    Memory(Box<Memory>),
    /// A relation.
    Relation(Box<Relation>),
    /// A note or a context, in every version.
    Note { id: String, directory: Option<String>, versions: Vec<NoteVersion> },
    /// The last line: a keyed hash of all lines before, by which the memory that wrote them recognises them.
    Seal(String),
}

/// A version of a note.
#[derive(Debug, Deserialize, Serialize)]
struct NoteVersion {
    at: UtcMillis,
    #[serde(default, skip_serializing_if = "is_false")]
    by_agent: bool,
    #[serde(flatten)]
    facts: NoteFacts,
    text: String,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// A name by which a project is recognised.
#[derive(Debug, Deserialize, Serialize)]
struct Alias {
    kind: String,
    value: String,
    recorded: String,
}

/// Counts of the records that were written.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct Exported {
    /// Number of memories.
    pub memories: u64,
    /// Number of entities.
    pub entities: u64,
    /// Number of relations.
    pub relations: u64,
    /// Number of notes and contexts.
    #[serde(default)]
    pub notes: u64,
}

/// Counts of the records that were read.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct Imported {
    /// Records that were new, or newer than the known ones.
    pub stored: Exported,
    /// Number of records that were known as they are, or newer.
    pub known: u64,
    /// Number of lines that were not stored.
    pub skipped: u64,
    /// The places of the first of these, such as `line 3`, each with its problem.
    pub problems: Vec<(String, String)>,
    /// Number of memories that wait for a review: this memory did not write the file, and the person does not vouch for it.
    #[serde(default)]
    pub waiting: u64,
    /// Short ids of memories of the person that a line changed.
    #[serde(default)]
    pub replaced: Vec<String>,
    /// Statements of the stored standards and preferences that are told in every project.
    #[serde(default)]
    pub everywhere: Vec<String>,
    /// Number of memories that were put away, because their file no longer says them.
    #[serde(default)]
    pub put_away: u64,
    /// Number of the operation; `None`: nothing was stored.
    pub operation: Option<u64>,
}

impl Engine {
    /// Writes all memories, entities, relations, notes and contexts, one JSON object per line, projects first.
    pub fn export_memories(&self, out: &mut dyn Write) -> Result<Exported, EngineError> {
        let failed = |error: std::io::Error| EngineError::Store(StoreError::Io { path: "the export".into(), error });
        let mut seal = export_key(self.directory()).map_err(failed)?.map(|key| blake3::Hasher::new_keyed(&key));
        let mut write_bytes = |bytes: &[u8]| out.write_all(bytes).map_err(failed);
        let mut write = |line: &Line| {
            let mut bytes = serde_json::to_vec(line).map_err(|error| failed(error.into()))?;
            bytes.push(b'\n');
            if let Some(seal) = &mut seal {
                seal.update(&bytes);
            }
            write_bytes(&bytes)
        };
        write(&Line::Yore { format: FORMAT })?;
        for known in self.store().projects()?.into_iter().filter(|known| known.has_memories) {
            let alias = |alias: StoredAlias| Alias { kind: alias.kind, value: alias.value, recorded: alias.recorded };
            let mut aliases: Vec<Alias> = known.aliases.into_iter().map(alias).collect();
            aliases.sort_by(|a, b| (&a.kind, &a.value).cmp(&(&b.kind, &b.value)));
            write(&Line::Project { id: known.id, name: known.name, aliases })?;
        }
        let mut exported = Exported::default();
        for entity in self.store().entities(None, usize::MAX >> 1)? {
            exported.entities += 1;
            write(&Line::Entity(Box::new(entity)))?;
        }
        let mut after = RecordKey::start();
        loop {
            let page = self.store().records_after(after, PAGE)?;
            let Some((last, _)) = page.last() else { break };
            after = *last;
            for record in page.into_iter().filter_map(|(_, record)| record) {
                match record {
                    Record::Memory(memory) => {
                        exported.memories += 1;
                        write(&Line::Memory(memory))?;
                    }
                    Record::Relation(relation) => {
                        exported.relations += 1;
                        write(&Line::Relation(relation))?;
                    }
                    Record::Entity(_) => {}
                }
            }
        }
        let mut notes = self.store().notes(Versions::Newest, usize::MAX, |note| !note.is_forgotten)?;
        notes.sort_by(|a, b| a.native_id.cmp(&b.native_id));
        for note in notes {
            exported.notes += 1;
            let mut versions: Vec<NoteVersion> = Vec::new();
            for version in self.store().notes(Versions::Of(note.row), usize::MAX, |_| true)? {
                // A line must be short enough to be read.
                if versions.iter().map(|version| version.text.len()).sum::<usize>() + version.text.len() > LINE_BYTES {
                    let (id, directory) = (note.native_id.clone(), note.directory.clone());
                    write(&Line::Note { id, directory, versions: std::mem::take(&mut versions) })?;
                }
                versions.push(NoteVersion {
                    at: version.at.unwrap_or_default(),
                    by_agent: version.role == Role::Assistant,
                    facts: version.facts,
                    text: version.text,
                });
            }
            write(&Line::Note { id: note.native_id, directory: note.directory, versions })?;
        }
        if let Some(seal) = &seal {
            let line = serde_json::to_vec(&Line::Seal(seal.finalize().to_hex().to_string()));
            write_bytes(&line.map_err(|error| failed(error.into()))?)?;
            write_bytes(b"\n")?;
        }
        Ok(exported)
    }

    /// Reads such lines, as one operation; notes are no part of it, since their words are said and not derived. A record that is known as it is, or newer, stays; a line that is none is
    /// skipped and told. An entity with the name and kind of a known one becomes that one, and a project is found by
    /// its names first.
    ///
    /// What the lines say of their own rank holds if this memory wrote them, or if the person vouches for them (`is_trusted`). Otherwise
    /// memories wait for a review, notes are told on request only, and nothing that is known changes. Times after now are refused.
    pub fn import_memories(&self, input: &mut dyn BufRead, is_trusted: bool, cause: &Cause) -> Result<Imported, EngineError> {
        let ingester = self.ingester()?;
        let now = self.now();
        let mut imported = Imported::default();
        let key = export_key(self.directory());
        let key = key.map_err(|error| EngineError::Store(StoreError::Io { path: self.directory().join("key"), error }))?;
        let mut seal = key.map(|key| blake3::Hasher::new_keyed(&key));
        let mut is_sealed = false;
        let mut records: Vec<(u64, Record)> = Vec::new();
        let mut notes: Vec<(u64, GivenNote)> = Vec::new();
        let mut projects: HashMap<ProjectId, ProjectId> = HashMap::new();
        let mut bytes = Vec::new();
        for number in 1.. {
            bytes.clear();
            let read = std::io::Read::take(&mut *input, MOST_BYTES).read_until(b'\n', &mut bytes);
            let read = read.map_err(|error| EngineError::Store(StoreError::Io { path: "the import".into(), error }))?;
            if read == 0 {
                break;
            }
            if bytes.trim_ascii().is_empty() {
                continue;
            }
            let parsed = serde_json::from_slice::<Line>(&bytes);
            // A seal counts if it is the last line.
            is_sealed = match (&parsed, &seal) {
                (Ok(Line::Seal(told)), Some(seal)) => seal.finalize().to_hex().as_str() == told,
                _ => false,
            };
            if let Some(seal) = &mut seal {
                seal.update(&bytes);
            }
            match parsed {
                Ok(Line::Seal(_)) => {}
                Ok(line) if line.latest() > now + CLOCK_SKEW_MS => skip(&mut imported, place(number), LATER.to_owned()),
                Ok(Line::Yore { format }) if format > FORMAT => {
                    return Err(MemoryError::NewerFormat(format).into());
                }
                Ok(Line::Yore { .. }) => {}
                Ok(Line::Project { id, name, aliases }) => {
                    let aliases: Vec<(ProjectAlias, String)> = aliases
                        .into_iter()
                        .filter_map(|alias| Some((ProjectAlias::of(&alias.kind, &alias.value)?, alias.recorded)))
                        .collect();
                    projects.insert(id, self.store().known_project(Some(id), &aliases, &name, self.now())?);
                }
                Ok(Line::Entity(entity)) if self.is_entity_gone(&ingester, &entity.name)? => {
                    skip(&mut imported, place(number), BURIED.to_owned());
                }
                Ok(Line::Entity(mut entity)) => {
                    let names = entity.aliases.iter_mut().chain([&mut entity.name]);
                    self.redact(names.chain(&mut entity.description).chain(&mut entity.given_kind))?;
                    records.push((number, Record::Entity(Box::new(entity.normalised()))));
                }
                Ok(Line::Memory(memory)) if ingester.is_memory_buried(memory.id) => {
                    skip(&mut imported, place(number), BURIED.to_owned());
                }
                Ok(Line::Memory(memory)) => {
                    let project = memory.project.map(|id| projects.get(&id).copied().unwrap_or(id));
                    let memory = self.redacted_memory(Memory { project, ..*memory })?;
                    records.push((number, Record::Memory(Box::new(memory.normalised()))));
                }
                Ok(Line::Relation(mut relation)) => {
                    self.redact(relation.reason.iter_mut())?;
                    records.push((number, Record::Relation(Box::new(relation.with_read_basis().normalised()))));
                }
                Ok(Line::Note { id, directory, versions }) => notes.push((number, GivenNote { id, directory, versions })),
                Err(error) => skip(&mut imported, place(number), error.to_string()),
            }
        }
        let is_trusted = is_trusted || is_sealed;
        let mut counted: HashSet<String> = HashSet::new();
        for (number, mut note) in notes {
            if !is_trusted {
                note.versions.iter_mut().for_each(|version| version.facts.is_confirmed = false);
            }
            match self.import_note(&note)? {
                // A note of many versions has several lines.
                Ok(true) => imported.stored.notes += u64::from(counted.insert(note.id.clone())),
                Ok(false) => imported.known += 1,
                Err(problem) => skip(&mut imported, place(number), problem.to_owned()),
            }
        }
        // Relations need their ends.
        records.sort_by_key(|(_, record)| match record {
            Record::Entity(_) => 0,
            Record::Memory(_) => 1,
            Record::Relation(_) => 2,
        });
        let summary = format!("imported {} records", records.len());
        let (imported, operation) = self.operate(OperationKind::Import, cause, summary, |tx| {
            let mut taking = Taking { is_trusted, same: HashMap::new(), new: HashSet::new() };
            for (number, record) in records {
                match taking.take(tx, record, now, &mut imported) {
                    Ok(Some(kind)) => *kind(&mut imported.stored) += 1,
                    Ok(None) => imported.known += 1,
                    Err(EngineError::Memory(error)) => skip(&mut imported, place(number), error.to_string()),
                    Err(EngineError::Store(error @ (StoreError::UnknownNode(_) | StoreError::UnknownProject(_)))) => {
                        skip(&mut imported, place(number), error.to_string());
                    }
                    Err(error) => return Err(error),
                }
            }
            Ok(imported)
        })?;
        let _ = self.sync_index(INDEX_PATIENCE_MS, &mut |_| {});
        Ok(Imported { operation, ..imported })
    }

    /// Stores the versions of a note that are not known. Returns whether there were any, or why it is not stored.
    fn import_note(&self, note: &GivenNote) -> Result<Result<bool, &'static str>, EngineError> {
        if note.id.is_empty() || note.versions.iter().any(|version| version.text.len() > MAX_BYTES) {
            return Ok(Err("a note needs an id, and has at most 1 MiB"));
        }
        let mut ingester = self.ingester()?;
        if ingester.is_buried(&note.id)? {
            return Ok(Err(BURIED));
        }
        // From here on no other process stores or forgets.
        let lock = ingester.begin()?;
        let known: HashSet<UtcMillis> = match self.store().episodes(&Episodes::Native(Some(KIND), &note.id))?.first() {
            Some(known) => {
                let versions = self.store().notes(Versions::Of(known.key), usize::MAX, |_| true)?;
                versions.iter().filter_map(|version| version.at).collect()
            }
            None => HashSet::new(),
        };
        let mut is_new = false;
        for version in note.versions.iter().filter(|version| !known.contains(&version.at)) {
            let name = note_unit(&note.id);
            let before = self.known_unit(KIND, &name)?.map_or(i64::MIN, |(stamp, _)| stamp.version);
            let records = note_records(&Note {
                id: &note.id,
                text: &version.text,
                facts: &version.facts,
                directory: note.directory.as_deref(),
                is_by_agent: version.by_agent,
                at: version.at,
            });
            let stamp = Stamp { size: version.text.len() as u64, version: version.at.max(before.saturating_add(1)) };
            let document = GivenDocument { name, stamp, state: String::new(), records };
            let report = ingester.put_locked(&lock, &Notes, vec![document], &IngestRequest::new(Vec::new()))?;
            if let Some((path, error)) = report.unread().next() {
                let error = std::io::Error::other(error.clone());
                return Err(StoreError::Io { path: path.clone(), error }.into());
            }
            is_new = true;
        }
        Ok(Ok(is_new))
    }
}

/// A note of an import.
struct GivenNote {
    id: String,
    directory: Option<String>,
    versions: Vec<NoteVersion>,
}

fn place(number: u64) -> String {
    format!("line {number}")
}

impl Line {
    /// Returns the latest time at which the line says that something was recorded or changed.
    fn latest(&self) -> UtcMillis {
        match self {
            Self::Yore { .. } | Self::Project { .. } | Self::Seal(_) => UtcMillis::MIN,
            Self::Entity(entity) => entity.recorded,
            Self::Memory(memory) => memory.status_since.into_iter().fold(memory.recorded.max(memory.changed), UtcMillis::max),
            Self::Relation(relation) => relation.recorded,
            Self::Note { versions, .. } => versions.iter().map(|version| version.at).max().unwrap_or(UtcMillis::MIN),
        }
    }
}

/// The counter of a kind of records.
type Counter = fn(&mut Exported) -> &mut u64;

/// The records of an import on their way to the store.
struct Taking {
    /// True if what they say of their own rank holds.
    is_trusted: bool,
    /// Known entities by the ids of those of the import that they are.
    same: HashMap<EntityId, EntityId>,
    /// Memories that were not known before.
    new: HashSet<MemoryId>,
}

impl Taking {
    /// Stores a record unless it is known as it is, or newer.
    fn take(
        &mut self,
        tx: &mut OperationTx<'_, '_>,
        record: Record,
        now: UtcMillis,
        imported: &mut Imported,
    ) -> Result<Option<Counter>, EngineError> {
        match record {
            Record::Entity(entity) => {
                check_entity(&entity).map_err(MemoryError::from)?;
                let known = tx.entities(Some(&entity.name), 100)?;
                let named =
                    known.into_iter().find(|known| known.kind == entity.kind && key_of(&known.name) == key_of(&entity.name));
                let known = match named {
                    Some(known) => Some(known),
                    None => tx.entity(entity.id)?,
                };
                let Some(known) = known else {
                    tx.put(&Record::Entity(entity))?;
                    return Ok(Some(|counts| &mut counts.entities));
                };
                self.same.insert(entity.id, known.id);
                let mut joined = known.clone();
                joined.aliases.extend(entity.aliases.iter().cloned().chain([entity.name.clone()]));
                joined.description = joined.description.or_else(|| entity.description.clone());
                let joined = joined.normalised();
                if joined == known || !self.is_trusted {
                    return Ok(None);
                }
                tx.put(&Record::Entity(Box::new(joined)))?;
                Ok(Some(|counts| &mut counts.entities))
            }
            Record::Memory(memory) => {
                check(&memory).map_err(MemoryError::from)?;
                let known = tx.memory(memory.id)?;
                let arrival = Arrival::Exported { is_trusted: self.is_trusted };
                let memory = match known.as_ref().map(|known| known.absorb(&memory, arrival, now)) {
                    Some(Absorbed::Known) => return Ok(None),
                    Some(Absorbed::Refused) => return Err(MemoryError::NotVouched(memory.id.short()).into()),
                    Some(Absorbed::Changed(memory)) => *memory,
                    None if self.is_trusted => *memory,
                    None => of_stranger(*memory),
                };
                let is_told = memory.status == Status::Holds && memory.is_global();
                match &known {
                    Some(known) if known.lane == Lane::Curated => imported.replaced.push(known.id.short()),
                    Some(_) => {}
                    None => drop(self.new.insert(memory.id)),
                }
                if is_told && matches!(memory.kind, MemoryKind::Standard | MemoryKind::Preference) {
                    imported.everywhere.push(memory.statement.clone());
                }
                imported.waiting += u64::from(memory.status == Status::Proposed);
                tx.put(&Record::Memory(Box::new(memory)))?;
                Ok(Some(|counts| &mut counts.memories))
            }
            Record::Relation(relation) => {
                let there = |node: &Node| match node {
                    Node::Entity(id) => Node::Entity(self.same.get(id).copied().unwrap_or(*id)),
                    node => node.clone(),
                };
                let relation = Relation { from: there(&relation.from), to: there(&relation.to), ..*relation }.normalised();
                check_relation(&relation).map_err(MemoryError::from)?;
                if tx.relation_between(&relation.from, relation.relation_type, &relation.to)?.is_some() {
                    return Ok(None);
                }
                let is_known = |node: &&Node| matches!(node, Node::Memory(id) if !self.new.contains(id));
                if let (false, Some(Node::Memory(id))) =
                    (self.is_trusted, [&relation.from, &relation.to].into_iter().find(is_known))
                {
                    return Err(MemoryError::NotVouched(id.short()).into());
                }
                tx.put(&Record::Relation(Box::new(relation)))?;
                Ok(Some(|counts| &mut counts.relations))
            }
        }
    }
}

/// Returns a memory of a file that nobody vouches for, as it may be stored: it waits for a review, whatever it says of itself.
fn of_stranger(memory: Memory) -> Memory {
    Memory {
        lane: Lane::Extracted,
        confidence: if memory.confidence == Confidence::Verified { Confidence::Inferred } else { memory.confidence },
        source: Source { kind: SourceKind::Import, ..memory.source.clone() },
        is_pinned: false,
        ..memory
    }
    .waiting_for_review()
}

/// Counts something that is not stored, and tells the first of them.
pub(super) fn skip(imported: &mut Imported, place: String, problem: String) {
    imported.skipped += 1;
    if imported.problems.len() < MOST_PROBLEMS {
        imported.problems.push((place, problem));
    }
}
