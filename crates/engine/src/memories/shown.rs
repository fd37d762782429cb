//! Reads memories for display: opens and lists them with relations, and logs their uses.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use yore_core::id::{MemoryId, ProjectId};
use yore_core::memory::dynamics::{Standing, Tier, used_together};
use yore_core::memory::{Memory, Use};
use yore_core::operation::{Operation, Subject};
use yore_core::relation::{Node, Relation, RelationType};
use yore_core::time::UtcMillis;

use super::record::shortened;
use crate::Engine;
use crate::error::{EngineError, MemoryError};
use crate::store::{EvidenceOf, LoggedUse, MemoryFilter, MemoryUse, ProjectKey, Relations, WantedUses};
use yore_sources::project_names::ProjectNames;

/// Length of a question in the log of uses, in characters.
const QUESTION_CHARS: usize = 500;
/// Operations that are shown with a memory, the latest.
const OPERATIONS: usize = 10;
/// Memories that were used together with one that are shown with it.
const USED_WITH: usize = 5;

/// A memory as it is shown.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct StoredMemory {
    /// The record.
    pub memory: Memory,
    /// Name of its project; `None`: it holds everywhere.
    pub project: Option<String>,
    /// How often it was used.
    pub uses: MemoryUse,
    /// Its strength, retention and tier now.
    #[serde(default)]
    pub standing: Standing,
    /// Its relations, each with the name that it has from here.
    pub relations: Vec<Relation>,
}

/// A memory that was opened.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct OpenedMemory {
    /// The memory.
    pub stored: StoredMemory,
    /// Its relations, as they are read from it.
    pub relations: Vec<NamedRelation>,
    /// The operations that changed it, newest first.
    pub operations: Vec<Operation>,
}

/// A relation as it is read from one of its ends.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct NamedRelation {
    /// Its name, read from there.
    pub name: String,
    /// The other end.
    pub node: Node,
    /// Name of an entity, or the statement of a memory, shortened.
    pub label: Option<String>,
    /// Weight, 0 to 1.
    pub weight: f32,
    /// Why it was stated, if that is known.
    #[serde(default)]
    pub reason: Option<String>,
}

/// The memories that a list wants.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct MemoryList {
    /// The filter.
    pub filter: MemoryFilter,
    /// Names of projects, in the place of the filter's.
    pub projects: Vec<String>,
    /// The directory whose project's memories are wanted, with those that hold everywhere.
    #[serde(default)]
    pub here: Option<ProjectNames>,
    /// Names of entities, in the place of the filter's nodes.
    pub entities: Vec<String>,
    /// Only memories of these tiers; empty: of all.
    #[serde(default)]
    pub tiers: Vec<Tier>,
    /// The least decay score, 0 to 1.
    #[serde(default)]
    pub least_decay: Option<f32>,
    /// First those that deserve a person's look most, and not those that were changed last.
    #[serde(default)]
    pub is_by_doubt: bool,
    /// Maximum number of memories.
    pub limit: usize,
}

impl Engine {
    /// Returns a memory by its id or the beginning of it as it is shown.
    ///
    /// # Errors
    /// [`MemoryError::Unknown`], [`EngineError::AmbiguousId`].
    pub fn memory(&self, id: &str) -> Result<StoredMemory, EngineError> {
        let id = self.memory_named(id)?;
        let memory = self.store().memory(id)?.ok_or_else(|| MemoryError::Unknown(id.short()))?;
        self.stored(memory, true, &self.project_names_by_id()?)
    }

    pub(crate) fn project_ids_by_key(&self) -> Result<HashMap<ProjectKey, ProjectId>, EngineError> {
        Ok(self.store().projects()?.into_iter().map(|known| (known.key, known.id)).collect())
    }

    pub(super) fn project_names_by_id(&self) -> Result<HashMap<ProjectId, String>, EngineError> {
        Ok(self.store().projects()?.into_iter().map(|known| (known.id, known.name)).collect())
    }

    /// Lists memories, changed last first; without their relations.
    pub fn memories(&self, list: &MemoryList) -> Result<Vec<StoredMemory>, EngineError> {
        let names = self.project_names_by_id()?;
        let found = self.of_standing(list)?;
        found.into_iter().map(|(_, memory)| self.stored(memory, false, &names)).collect()
    }

    /// Returns the number of memories that a list would have without its limit.
    pub fn count_memories(&self, list: &MemoryList) -> Result<u64, EngineError> {
        if list.tiers.is_empty() && list.least_decay.is_none() {
            return Ok(self.store().times_held(&self.filter_of(list)?)?.len() as u64);
        }
        Ok(self.of_standing(&MemoryList { limit: usize::MAX, ..list.clone() })?.len() as u64)
    }

    /// Returns the filter of a list. What was forgotten softly is listed only if the list asks for it.
    pub(super) fn filter_of(&self, list: &MemoryList) -> Result<MemoryFilter, EngineError> {
        let mut filter = list.filter.clone();
        filter.is_forgotten.get_or_insert(false);
        if !list.projects.is_empty() {
            filter.projects = Some(self.project_ids(&list.projects)?);
        } else if let Some(here) = &list.here {
            (filter.projects, filter.with_global) = (Some(self.project_of(here)?.into_iter().collect()), true);
        }
        for name in &list.entities {
            filter.related_to.push(Node::Entity(self.entity_named(name)?.id));
        }
        Ok(filter)
    }

    /// Returns a memory that may be told: one that exists and was not forgotten softly. Every way to read memories goes
    /// through this or a filter that says the same.
    pub(crate) fn told_memory(&self, id: MemoryId) -> Result<Option<Memory>, EngineError> {
        Ok(self.store().memory(id)?.filter(|memory| !memory.is_forgotten()))
    }

    /// Counts a use of memories and logs it, unless another process writes now or the medium takes no writes: counts are no reason
    /// to wait, nor to withhold what can be read.
    pub fn record_memory_uses(
        &self,
        memories: &[MemoryId],
        way: Use,
        session: Option<&str>,
        question: Option<&str>,
    ) -> Result<(), EngineError> {
        self.record_memory_uses_at(self.now(), memories, way, session, question)
    }

    /// Returns the logged uses of memories in sessions, by their native ids, the oldest first.
    ///
    /// # Errors
    /// Those of the store.
    pub fn uses_in(&self, sessions: &[String]) -> Result<Vec<LoggedUse>, EngineError> {
        Ok(self.store().uses(WantedUses::InAny(sessions))?)
    }

    /// Does [`Self::record_memory_uses`] for a use at a time that may have passed.
    ///
    /// # Errors
    /// As [`Self::record_memory_uses`].
    pub fn record_memory_uses_at(
        &self,
        at: UtcMillis,
        memories: &[MemoryId],
        way: Use,
        session: Option<&str>,
        question: Option<&str>,
    ) -> Result<(), EngineError> {
        // Redacted before it is cut: half a secret would not be recognised.
        let mut question = question.map(str::to_owned);
        self.redact(question.iter_mut())?;
        let question = question.map(|question| question.chars().take(QUESTION_CHARS).collect::<String>());
        Ok(self.store().record_uses(memories, way, at.min(self.now()), session, question.as_deref())?)
    }

    /// Opens a memory: counts the use, and returns the memory with its relations and history.
    ///
    /// # Errors
    /// As [`Self::memory`].
    pub fn open_memory(&self, id: &str, session: Option<&str>) -> Result<OpenedMemory, EngineError> {
        let opened = self.read_memory(self.memory_named(id)?)?;
        if !self.store().is_passive() {
            self.record_memory_uses(&[opened.stored.memory.id], Use::Opened, session, None)?;
        }
        Ok(opened)
    }

    /// Returns a memory with its relations and history, and counts no use. One that was forgotten softly is unknown.
    ///
    /// # Errors
    /// [`MemoryError::Unknown`].
    pub fn read_memory(&self, id: MemoryId) -> Result<OpenedMemory, EngineError> {
        let memory = self.told_memory(id)?.ok_or_else(|| MemoryError::Unknown(id.short()))?;
        let stored = self.stored(memory, true, &self.project_names_by_id()?)?;
        let mut relations = self.named_relations(&Node::Memory(stored.memory.id), &stored.relations)?;
        relations.extend(self.used_with(&stored.memory)?);
        let operations = self.operations(None, Some(Subject::Memory(stored.memory.id)), OPERATIONS)?;
        Ok(OpenedMemory { stored, relations, operations })
    }

    /// Returns the memories that were opened or cited in the same sessions as one, the heaviest first, as relations that follow from the
    /// log of uses and are stored nowhere.
    fn used_with(&self, memory: &Memory) -> Result<Vec<NamedRelation>, EngineError> {
        let mut together: HashMap<MemoryId, HashMap<String, UtcMillis>> = HashMap::new();
        for used in self.store().uses(WantedUses::Beside(memory.id))?.into_iter().filter(|used| used.memory != memory.id) {
            together.entry(used.memory).or_default().insert(used.session, used.at);
        }
        let mut weighed = Vec::new();
        for (id, sessions) in together {
            let times: Vec<UtcMillis> = sessions.into_values().collect();
            let weight = used_together(&times, self.now(), self.dynamics().mean_days);
            let other = if weight > 0.0 { self.told_memory(id)? } else { None };
            weighed.extend(other.filter(|other| other.is_of_same_place(memory)).map(|other| (weight, other)));
        }
        weighed.sort_by(|(a, one), (b, other)| b.total_cmp(a).then(one.id.cmp(&other.id)));
        weighed.truncate(USED_WITH);
        let named = |(weight, other): (f32, Memory)| NamedRelation {
            name: RelationType::CoAccessed.as_str().to_owned(),
            node: Node::Memory(other.id),
            label: Some(shortened(&other.statement)),
            weight,
            reason: None,
        };
        Ok(weighed.into_iter().map(named).collect())
    }

    /// Returns relations as they are read from one of their ends.
    ///
    /// Relations with a memory that was forgotten softly are left out. The words of a memory of another project, and the reason of the relation, are not told: a rule that holds everywhere is shown in all
    /// of them.
    pub fn named_relations(&self, from: &Node, relations: &[Relation]) -> Result<Vec<NamedRelation>, EngineError> {
        let own = match from {
            Node::Memory(id) => self.store().memory(*id)?.map(|memory| memory.project),
            _ => None,
        };
        let may_be_told =
            |other: &Memory| own.is_none_or(|own| other.is_global() || other.project.is_some() && other.project == own);
        let named = |relation: &Relation| {
            let is_reversed = relation.from != *from;
            let other = if is_reversed { &relation.from } else { &relation.to };
            let memory = match other {
                Node::Memory(id) => match self.told_memory(*id)? {
                    None => return Ok(None),
                    told => told,
                },
                _ => None,
            };
            let is_told = memory.as_ref().is_none_or(may_be_told);
            let label = match (other, memory) {
                (Node::Entity(id), _) => self.store().entity(*id)?.map(|entity| entity.name),
                (_, Some(_)) if !is_told => Some("(of another project)".to_owned()),
                (_, memory) => memory.map(|memory| shortened(&memory.statement)),
            };
            let name = relation.relation_type.name_from(is_reversed).to_owned();
            let reason = relation.reason.clone().filter(|_| is_told);
            Ok(Some(NamedRelation { name, node: other.clone(), label, weight: relation.weight, reason }))
        };
        relations.iter().filter_map(|relation| named(relation).transpose()).collect()
    }

    /// Makes a memory that is shown; `names`: names of projects by their ids.
    pub(super) fn stored(
        &self,
        mut memory: Memory,
        with_relations: bool,
        names: &HashMap<ProjectId, String>,
    ) -> Result<StoredMemory, EngineError> {
        // Quotes of softly forgotten sessions are in no answer until they are restored.
        if !memory.evidence.is_empty() {
            let mut forgotten = self.store().evidence_of(EvidenceOf::Memory(memory.id))?;
            forgotten.retain(|evidence| evidence.is_forgotten);
            memory.evidence.retain(|evidence| forgotten.iter().all(|forgotten| forgotten.turn != evidence.turn));
        }
        let project = memory.project.and_then(|id| names.get(&id).cloned());
        let relations =
            if with_relations { self.store().relations(Relations::Of(&Node::Memory(memory.id), 1_000))? } else { Vec::new() };
        let vitals = self.store().vitals_of(&[memory.id])?.remove(&memory.id).unwrap_or_default();
        let standing = self.standing_by(&memory, &vitals, self.now());
        Ok(StoredMemory { project, uses: vitals.counts, standing, relations, memory })
    }
}
