//! Imports memories, entities and relations from files of other programs and of people, as one operation.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde::{Deserialize, Serialize};
use yore_core::consolidation::PipelineStatistics;
use yore_core::entity::{Entity, EntityKind, check_entity, key_of};
use yore_core::id::{EntityId, MemoryId, ProjectId};
use yore_core::memory::{Absorbed, Arrival, Event, Memory, PutAway, SourceKind, Status};
use yore_core::operation::{Actor, Cause, OperationKind, Record, Subject};
use yore_core::relation::{Node, Relation, RelationType, check_relation};
use yore_core::time::UtcMillis;

use super::export_jsonl::{Exported, Imported, skip};
use super::record::{NewMemory, Prepared};
use super::retire_or_contest::{change, put, settle_by_stated_value, settle_by_words};
use super::step::{draw, draw_relation, entity_for};
use crate::Engine;
use crate::error::{EngineError, MemoryError};
use crate::ingest::Ingest;
use crate::store::{Memories, MemoryFilter, MemoryOutline, OperationTx};

/// Records from files. The place of a memory's source is a path, with `:` and a line.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct GivenRecords {
    /// Memories.
    pub memories: Vec<NewMemory>,
    /// Entities.
    pub entities: Vec<GivenEntity>,
    /// Relations between entities.
    pub relations: Vec<GivenRelation>,
    /// Paths of files whose memories are all here: those that were read from them before and are not here any more
    /// are put away.
    pub whole: Vec<String>,
}

/// An entity as it is given.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct GivenEntity {
    /// Its kind, by any name.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Other names.
    pub aliases: Vec<String>,
    /// Description.
    pub description: Option<String>,
}

/// A relation between entities as it is given.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct GivenRelation {
    /// Name of the first end.
    pub from: String,
    /// Name of the relation; one that is no type of yore relates them, and the reason says which from which.
    pub name: String,
    /// Name of the second end.
    pub to: String,
}

impl Engine {
    /// Stores records from files, as one operation. What is known as it is stays, also where a person corrected or
    /// put away what the file says; what cannot be stored is skipped and told.
    pub fn import_given(&self, given: &GivenRecords, cause: &Cause) -> Result<Imported, EngineError> {
        let now = self.now();
        let ingester = self.ingester()?;
        let mut imported = Imported::default();
        let mut memories: Vec<Prepared> = Vec::new();
        for new in &given.memories {
            match self.prepared(new, now) {
                // A statement that was forgotten for good stays so, although the file still says it.
                Ok(prepared) if ingester.is_statement_buried(&prepared.memory.statement) => imported.known += 1,
                Ok(prepared) => memories.push(prepared),
                Err(EngineError::Memory(error)) => {
                    let place = new.memory.source.place.clone().unwrap_or_default();
                    skip(&mut imported, place, error.to_string());
                }
                Err(error) => return Err(error),
            }
        }
        let known = self.known_of_files()?;
        let by_hand = self.edited_by_hand(&memories, &known)?;
        // Statements that are new in the files are compared with what is near them; one is stored even if that fails.
        let is_new = |prepared: &Prepared| key(&prepared.memory).is_none_or(|key| !known.contains_key(&key));
        let near =
            |prepared: &Prepared| if is_new(prepared) { self.near(&prepared.memory).unwrap_or_default() } else { Vec::new() };
        let near: Vec<Vec<MemoryOutline>> = memories.iter().map(near).collect();
        let (mut entities, mut relations) =
            (self.redacted_entities(&given.entities)?, self.redacted_relations(&given.relations)?);
        // The name of something that was forgotten for good with its memories stays so, unless it is known by others.
        let mut gone: HashSet<String> = HashSet::new();
        let names = entities.iter().map(|entity| &entity.name);
        for name in names.chain(relations.iter().flat_map(|relation| [&relation.from, &relation.to])) {
            if self.is_entity_gone(&ingester, name)? {
                gone.insert(name.clone());
            }
        }
        entities.retain(|entity| !gone.contains(&entity.name));
        relations.retain(|relation| !gone.contains(&relation.from) && !gone.contains(&relation.to));
        // A file is only read whole if everything in it could be stored.
        let refused: HashSet<&str> = imported.problems.iter().filter_map(|(place, _)| file_of_place(place)).collect();
        let whole: HashSet<&str> = given.whole.iter().map(String::as_str).filter(|file| !refused.contains(file)).collect();
        let count = memories.len() + entities.len() + relations.len();
        let mut imported = imported.clone();
        let (imported, operation) = self.operate(OperationKind::Import, cause, format!("imported {count} records"), |tx| {
            for entity in &entities {
                let done = put_entity(tx, entity, now);
                count_in(&mut imported, &entity.name, done, |stored| &mut stored.entities)?;
            }
            let mut met: HashSet<MemoryId> = HashSet::new();
            let mut fresh: Vec<(MemoryId, &Vec<MemoryOutline>)> = Vec::new();
            for (prepared, near) in memories.iter().zip(&near) {
                let place = prepared.memory.source.place.clone().unwrap_or_default();
                let done = take(tx, prepared, &known, &by_hand, &mut met, now);
                if let Ok((true, Some(id))) = &done {
                    fresh.push((*id, near));
                }
                let done = done.map(|(is_changed, _)| is_changed);
                count_in(&mut imported, &place, done, |stored| &mut stored.memories)?;
            }
            for relation in &relations {
                let done = put_relation(tx, relation, now);
                count_in(&mut imported, &relation.from, done, |stored| &mut stored.relations)?;
            }
            for ((file, ..), id) in known.iter().filter(|(_, id)| !met.contains(id)) {
                // Another process may have changed it meanwhile.
                let Some(memory) = tx.memory(*id)? else { continue };
                if !whole.contains(file.as_str()) || !memory.is_in_effect() {
                    continue;
                }
                let file = file.rsplit('/').next().unwrap_or(file).to_owned();
                change(tx, &memory, &Event::PutAway(PutAway::GoneFrom(file)), Actor::Import, now)?;
                imported.put_away += 1;
            }
            // Not with what the file no longer says.
            for (id, near) in fresh {
                settle_by_words(tx, id, &[], near.iter(), Actor::Import, now)?;
            }
            Ok::<_, EngineError>(imported)
        })?;
        Ok(Imported { operation, ..imported })
    }

    /// Returns whether nothing with a name is known any more because the memories about it were forgotten for good.
    pub(super) fn is_entity_gone(&self, ingester: &Ingest<'_>, name: &str) -> Result<bool, EngineError> {
        Ok(ingester.is_entity_buried(name) && self.store().entities(Some(name), 1)?.is_empty())
    }

    /// Returns the memories that were read from files, by file, project and statement.
    fn known_of_files(&self) -> Result<HashMap<FileStatement, MemoryId>, EngineError> {
        // The newest of them counts: the list begins with those that were changed last.
        let mut known = HashMap::new();
        for (_, memory) in self.store().memories(Memories::Meeting(&MemoryFilter::default(), usize::MAX >> 1))? {
            if let Some(key) = key(&memory).filter(|_| memory.source.kind == SourceKind::Import) {
                known.entry(key).or_insert(memory.id);
            }
        }
        Ok(known)
    }

    /// Returns the paths of the files that memories which hold were read from.
    pub fn imported_files(&self) -> Result<Vec<String>, EngineError> {
        let filter = MemoryFilter { statuses: vec![Status::Holds, Status::Contested], ..MemoryFilter::default() };
        let memories = self.store().memories(Memories::Meeting(&filter, usize::MAX >> 1))?;
        let imported = memories.iter().map(|(_, memory)| memory).filter(|memory| memory.source.kind == SourceKind::Import);
        let files: BTreeSet<&str> = imported.filter_map(file_of).collect();
        Ok(files.into_iter().map(str::to_owned).collect())
    }

    /// Returns those of the memories whose title or details a person changed last: they stay as they are.
    fn edited_by_hand(
        &self,
        memories: &[Prepared],
        known: &HashMap<FileStatement, MemoryId>,
    ) -> Result<HashSet<MemoryId>, EngineError> {
        let mut by_hand = HashSet::new();
        for prepared in memories {
            let Some(id) = key(&prepared.memory).and_then(|key| known.get(&key)) else { continue };
            let Some(memory) = self.store().memory(*id)? else { continue };
            if words_of(&memory) != words_of(&prepared.memory) {
                let last = self.store().operations(None, Some(Subject::Memory(*id)), 1)?;
                by_hand.extend(last.first().is_some_and(|last| last.cause.actor != Actor::Import).then_some(*id));
            }
        }
        Ok(by_hand)
    }

    fn redacted_relations(&self, relations: &[GivenRelation]) -> Result<Vec<GivenRelation>, EngineError> {
        let mut relations = relations.to_vec();
        for relation in &mut relations {
            self.redact([&mut relation.from, &mut relation.name, &mut relation.to].into_iter())?;
        }
        Ok(relations)
    }

    fn redacted_entities(&self, entities: &[GivenEntity]) -> Result<Vec<GivenEntity>, EngineError> {
        let mut entities = entities.to_vec();
        for entity in &mut entities {
            let names = entity.aliases.iter_mut().chain([&mut entity.name, &mut entity.kind]);
            self.redact(names.chain(&mut entity.description))?;
        }
        Ok(entities)
    }
}

/// A statement of a file: the file, the project, the statement.
type FileStatement = (String, Option<ProjectId>, String);

fn key(memory: &Memory) -> Option<FileStatement> {
    Some((file_of(memory)?.to_owned(), memory.project, memory.statement.clone()))
}

/// Returns the path of the file that a memory was read from.
fn file_of(memory: &Memory) -> Option<&str> {
    memory.source.place.as_deref().and_then(file_of_place)
}

/// Returns a place without its line.
fn file_of_place(place: &str) -> Option<&str> {
    Some(match place.rsplit_once(':') {
        Some((file, line)) if line.bytes().all(|letter| letter.is_ascii_digit()) => file,
        _ => place,
    })
}

fn words_of(memory: &Memory) -> (&Option<String>, &Option<String>) {
    (&memory.title, &memory.details)
}

/// Counts a record that was stored, was known, or cannot be stored.
fn count_in(
    imported: &mut Imported,
    place: &str,
    done: Result<bool, EngineError>,
    counter: fn(&mut Exported) -> &mut u64,
) -> Result<(), EngineError> {
    match done {
        Ok(true) => *counter(&mut imported.stored) += 1,
        Ok(false) => imported.known += 1,
        Err(EngineError::Memory(error)) => skip(imported, place.to_owned(), error.to_string()),
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Stores a memory unless the file said the same before. Returns whether anything was changed.
fn take(
    tx: &mut OperationTx<'_, '_>,
    prepared: &Prepared,
    known: &HashMap<FileStatement, MemoryId>,
    by_hand: &HashSet<MemoryId>,
    met: &mut HashSet<MemoryId>,
    now: UtcMillis,
) -> Result<(bool, Option<MemoryId>), EngineError> {
    let given = &prepared.memory;
    let known = key(given).and_then(|key| known.get(&key)).copied();
    let Some(memory) = known.map(|id| tx.memory(id)).transpose()?.flatten() else {
        return take_new(tx, prepared, met, now);
    };
    // A file may say a thing twice; the first place counts.
    if !met.insert(memory.id) {
        return Ok((false, None));
    }
    let arrival = Arrival::FileRead { keeps_words: by_hand.contains(&memory.id) };
    let Absorbed::Changed(changed) = memory.absorb(given, arrival, now) else { return Ok((false, None)) };
    if (Memory { source: memory.source.clone(), ..(*changed).clone() }) == memory {
        // It only stands at another line.
        tx.put(&Record::Memory(changed))?;
        return Ok((false, None));
    }
    put(tx, &memory, *changed, Actor::Import, now)?;
    Ok((true, None))
}

/// Stores a memory that no file said before. Returns whether something changed, and the memory if it is new. If another source has the same statement, that memory gets what it lacks;
/// one that was only extracted is from now on that of the file.
fn take_new(
    tx: &mut OperationTx<'_, '_>,
    prepared: &Prepared,
    met: &mut HashSet<MemoryId>,
    now: UtcMillis,
) -> Result<(bool, Option<MemoryId>), EngineError> {
    let given = &prepared.memory;
    let before = tx.same_statement(given)?.map(|id| tx.memory(id)).transpose()?.flatten();
    let (id, _) = prepared.record(tx, now, &mut PipelineStatistics::default())?;
    met.insert(id);
    settle_by_stated_value(tx, id, Actor::Import, now)?;
    let Some(before) = before else { return Ok((true, Some(id))) };
    let Some(joined) = tx.memory(id)? else { return Ok((false, None)) };
    Ok((joined != before, None))
}

/// Records an entity, or adds what is new to the known one. Returns whether anything was changed.
fn put_entity(tx: &mut OperationTx<'_, '_>, given: &GivenEntity, now: UtcMillis) -> Result<bool, EngineError> {
    let (kind, given_kind) = EntityKind::read(&given.kind);
    let named = tx.entities(Some(&given.name), 100)?;
    let known = named.into_iter().find(|known| known.kind == kind && key_of(&known.name) == key_of(&given.name));
    let mut entity = match &known {
        Some(known) => known.clone(),
        None => Entity::new(EntityId::new(now.max(0) as u64, draw()?), kind, given.name.clone(), now),
    };
    entity.given_kind = entity.given_kind.or(given_kind);
    entity.description = given.description.clone().or(entity.description);
    entity.aliases.extend(given.aliases.iter().cloned());
    let entity = entity.normalised();
    if known.as_ref() == Some(&entity) {
        return Ok(false);
    }
    check_entity(&entity).map_err(MemoryError::from)?;
    tx.put(&Record::Entity(Box::new(entity)))?;
    Ok(true)
}

/// States a relation between entities. Returns whether it is new.
fn put_relation(tx: &mut OperationTx<'_, '_>, given: &GivenRelation, now: UtcMillis) -> Result<bool, EngineError> {
    let (from, to) = (entity_for(tx, &given.from, now)?, entity_for(tx, &given.to, now)?);
    let read = RelationType::read(&given.name.trim().replace([' ', '-'], "_"));
    let (relation_type, is_reversed) = read.unwrap_or_default();
    let (from, to) = if is_reversed { (to, from) } else { (from, to) };
    let relation = Relation::new(draw_relation(now)?, Node::Entity(from), relation_type, Node::Entity(to), now).normalised();
    // Relations of no known type have no direction, so the reason says it.
    let reason = read.is_none().then(|| format!("{} {} {}", given.from.trim(), given.name.trim(), given.to.trim()));
    if from == to || tx.relation_between(&relation.from, relation_type, &relation.to)?.is_some() {
        return Ok(false);
    }
    let relation = Relation { reason, ..relation };
    check_relation(&relation).map_err(MemoryError::from)?;
    tx.put(&Record::Relation(Box::new(relation)))?;
    Ok(true)
}
