//! Operations: logged changes of memories, entities and relations, each with its actor, cause and records.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::entity::Entity;
use crate::id::{EntityId, MemoryId, RelationId};
use crate::memory::Memory;
use crate::relation::Relation;
use crate::time::UtcMillis;

named_enum! {
    /// The kind of an operation.
    OperationKind {
        /// A memory was recorded.
        Create = "create",
        /// A memory or entity was changed.
        Edit = "edit",
        /// A memory took the place of another.
        Supersede = "supersede",
        /// A memory was found to be wrong.
        Invalidate = "invalidate",
        /// A memory was confirmed by a person.
        Confirm = "confirm",
        /// An extracted memory was rejected.
        Reject = "reject",
        /// A memory was pinned, or no longer is.
        Pin = "pin",
        /// Tags were changed.
        Retag = "retag",
        /// A memory was put away, or taken out again.
        Archive = "archive",
        /// A relation was stated or taken back.
        Relate = "relate",
        /// Two entities or memories became one.
        Merge = "merge",
        /// An entity became two.
        Split = "split",
        /// An extraction from a session.
        Extract = "extract",
        /// An import of a file.
        Import = "import",
        /// What was forgotten: without its content, and for good.
        Forget = "forget",
        /// An operation was undone.
        Undo = "undo",
        /// An undone operation was done again.
        Redo = "redo",
    }
}

/// Who caused an operation, and by what.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// The actor: `person`, `agent`, `rule`, `model`, `import`.
    pub actor: Actor,
    /// The command, tool, or extractor with its version.
    pub by: String,
    /// What it was done to or for, such as a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
}

named_enum! {
    /// Who causes operations.
    #[derive(Default)]
    Actor {
        /// The person.
        #[default]
        Person = "person",
        /// A coding agent.
        Agent = "agent",
        /// A rule of yore.
        Rule = "rule",
        /// A language model.
        Model = "model",
        /// An import.
        Import = "import",
    }
}

/// The id of what an operation changes.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// A memory.
    Memory(MemoryId),
    /// An entity.
    Entity(EntityId),
    /// A relation.
    Relation(RelationId),
}

impl Subject {
    /// Returns the name of its kind.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Memory(_) => "memory",
            Self::Entity(_) => "entity",
            Self::Relation(_) => "relation",
        }
    }

    /// Returns the 16 bytes of its id.
    pub fn key(&self) -> &[u8; 16] {
        match self {
            Self::Memory(id) => id.as_bytes(),
            Self::Entity(id) => id.as_bytes(),
            Self::Relation(id) => id.as_bytes(),
        }
    }

    /// Returns its id in hexadecimal digits.
    pub fn id(self) -> String {
        match self {
            Self::Memory(id) => id.to_string(),
            Self::Entity(id) => id.to_string(),
            Self::Relation(id) => id.to_string(),
        }
    }

    /// Returns the subject with a kind and an id.
    pub fn of(kind: &str, key: [u8; 16]) -> Option<Self> {
        match kind {
            "memory" => Some(Self::Memory(MemoryId::from_bytes(key))),
            "entity" => Some(Self::Entity(EntityId::from_bytes(key))),
            "relation" => Some(Self::Relation(RelationId::from_bytes(key))),
            _ => None,
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(id) => write!(f, "memory {}", id.short()),
            Self::Entity(id) => write!(f, "entity {}", id.short()),
            Self::Relation(id) => write!(f, "relation {}", id.short()),
        }
    }
}

/// The whole record of a subject.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// A memory.
    Memory(Box<Memory>),
    /// An entity.
    Entity(Box<Entity>),
    /// A relation.
    Relation(Box<Relation>),
}

impl Record {
    /// Returns the id of what it is the record of.
    pub fn subject(&self) -> Subject {
        match self {
            Self::Memory(memory) => Subject::Memory(memory.id),
            Self::Entity(entity) => Subject::Entity(entity.id),
            Self::Relation(relation) => Subject::Relation(relation.id),
        }
    }
}

/// A change of one subject by an operation.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Change {
    /// What was changed.
    pub subject: Subject,
    /// The record before; `None`: there was none.
    pub before: Option<Record>,
    /// The record after; `None`: there is none.
    pub after: Option<Record>,
}

/// An operation as it is listed.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Operation {
    /// Its number, from 1, in the order of operations.
    pub number: u64,
    /// Its kind.
    pub kind: OperationKind,
    /// When it was done.
    pub at: UtcMillis,
    /// Who caused it, and by what.
    pub cause: Cause,
    /// What it did, in one line; without content if that was forgotten.
    pub summary: String,
    /// The operation that it undoes or does again.
    pub of: Option<u64>,
    /// The operation that undid it, if it is undone now.
    pub undone_by: Option<u64>,
    /// True if its content was forgotten, so that it cannot be undone.
    pub is_forgotten: bool,
    /// True if a memory that it changed is forgotten softly, whose words are not told.
    pub is_of_forgotten: bool,
}
