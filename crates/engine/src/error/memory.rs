//! Errors of memories: invalid records, unknown ids, refused changes.

use yore_core::entity::InvalidEntity;
use yore_core::memory::Invalid;
use yore_core::relation::InvalidRelation;

use crate::store::UndoError;

/// A reason why memories were not changed.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The memory cannot be stored so.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The entity cannot be stored so.
    #[error(transparent)]
    InvalidEntity(#[from] InvalidEntity),
    /// The relation cannot be stored so.
    #[error(transparent)]
    InvalidRelation(#[from] InvalidRelation),
    /// An operation is neither undone nor done again.
    #[error(transparent)]
    Undo(#[from] UndoError),
    /// No memory has this id.
    #[error("there is no memory {0}")]
    Unknown(String),
    /// No entity has this name.
    #[error("there is no entity {0:?}")]
    UnknownEntity(String),
    /// Several entities have this name.
    #[error("several entities are called {name:?}: {}", kinds.join(", "))]
    AmbiguousEntity {
        /// The name.
        name: String,
        /// Their kinds.
        kinds: Vec<&'static str>,
    },
    /// The words are not in the turn.
    #[error("turn {turn} does not say {quote:?}")]
    NotSaid {
        /// The turn.
        turn: String,
        /// The words that were to be found in it.
        quote: String,
    },
    /// The turn says nothing that can be quoted.
    #[error("turn {0} has no spoken text to quote")]
    SaysNothing(String),
    /// A newer yore wrote the export.
    #[error("the export has format {0}, which a newer yore wrote")]
    NewerFormat(u32),
    /// There is no such relation.
    #[error("there is no such relation")]
    NotRelated,
    /// A memory would take the place of one that took its own.
    #[error("the other memory took the place of this one; undo that first")]
    Circle,
    /// The memory is no longer the one in effect.
    #[error("memory {id} is {status} already")]
    NotInEffect {
        /// The memory.
        id: String,
        /// Its status.
        status: &'static str,
    },
    /// A person wrote or confirmed the memory.
    #[error("memory {0} is a person's, and only a person replaces it")]
    OfPerson(String),
    /// A file that this memory did not write would change the memory.
    #[error("memory {0} is known here, and a file that this memory did not write changes nothing that is known")]
    NotVouched(String),
    /// An open question, todo or problem would take the place of something that holds.
    #[error("memory {0} is open, and takes the place of nothing that holds")]
    IsOpen(String),
    /// The person is one entity, and stays that.
    #[error("the person is one entity and is neither merged into another nor split")]
    IsUser,
}

impl MemoryError {
    /// A stable code for scripts.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "memory/invalid",
            Self::InvalidEntity(_) => "memory/invalid-entity",
            Self::InvalidRelation(_) | Self::NotRelated | Self::Circle => "memory/invalid-relation",
            Self::Undo(_) => "memory/not-undone",
            Self::Unknown(_) => "memory/unknown",
            Self::UnknownEntity(_) => "memory/unknown-entity",
            Self::AmbiguousEntity { .. } => "memory/ambiguous-entity",
            Self::NotSaid { .. } | Self::SaysNothing(_) => "memory/not-said",
            Self::NotInEffect { .. } => "memory/not-in-effect",
            Self::IsUser => "memory/is-user",
            Self::OfPerson(_) => "memory/of-person",
            Self::NotVouched(_) => "memory/not-vouched",
            Self::IsOpen(_) => "memory/is-open",
            Self::NewerFormat(_) => "memory/newer-format",
        }
    }
}
