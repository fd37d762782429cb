//! Resolves ids and names that callers give to memories, notes, turns and entities.

use yore_core::entity::EntityKind;
use yore_core::id::MemoryId;
use yore_core::note::NoteKind;
use yore_core::operation::Cause;
use yore_core::relation::Node;

use crate::Engine;
use crate::error::{EngineError, MemoryError};
use crate::store::{Memories, ShownTurn, TurnChoice, Turns};

/// Fewest hexadecimal digits by which a memory is named.
pub(crate) const FEWEST_DIGITS: usize = 4;

impl Engine {
    /// Returns the memory that a whole id, or the beginning of a short one, names.
    pub(super) fn memory_named(&self, id: &str) -> Result<MemoryId, EngineError> {
        let digits: String = id.chars().filter(|letter| *letter != '-').map(|letter| letter.to_ascii_lowercase()).collect();
        let is_one = digits.len() >= FEWEST_DIGITS && digits.chars().all(|letter| letter.is_ascii_hexdigit());
        let found = if is_one { self.store().memories(Memories::Named(&digits, 9))? } else { Vec::new() };
        match found.as_slice() {
            [(_, one)] => Ok(one.id),
            [] => Err(MemoryError::Unknown(id.to_owned()).into()),
            several => Err(EngineError::AmbiguousId {
                id: id.to_owned(),
                candidates: several.iter().map(|(_, memory)| memory.id.short()).collect(),
            }),
        }
    }

    /// Returns the memory with an id, or the beginning of one; `None` if it names none, or several.
    pub(crate) fn memory_of_id(&self, id: &str) -> Result<Option<MemoryId>, EngineError> {
        match self.memory_named(id.trim()) {
            Ok(id) => Ok(Some(id)),
            Err(EngineError::Memory(MemoryError::Unknown(_)) | EngineError::AmbiguousId { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns what an id or a name means: a memory, note or turn, else the entity of this name, which is recorded if it is
    /// new. `None`: it names nothing.
    pub(crate) fn node_of_words(&self, words: &str, cause: &Cause) -> Result<Option<Node>, EngineError> {
        let words = words.trim();
        let looks_like_id =
            words.len() >= FEWEST_DIGITS && words.chars().all(|letter| letter.is_ascii_hexdigit() || letter == '-');
        match self.node_of_id(words) {
            Ok(node) => return Ok(Some(node)),
            Err(EngineError::AmbiguousId { .. }) => return Ok(None),
            Err(_) if looks_like_id && words.chars().any(|letter| letter.is_ascii_digit()) => return Ok(None),
            Err(_) => {}
        }
        match self.entity_named(words) {
            Ok(entity) => Ok(Some(Node::Entity(entity.id))),
            Err(EngineError::Memory(MemoryError::UnknownEntity(_))) if !words.is_empty() => {
                let (entity, _) = self.put_entity(EntityKind::default().as_str(), words, &[], None, cause)?;
                Ok(Some(Node::Entity(entity.id)))
            }
            Err(EngineError::Memory(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the memory, note or turn with an id.
    pub(super) fn node_of_id(&self, id: &str) -> Result<Node, EngineError> {
        match self.memory_named(id) {
            Err(EngineError::Memory(MemoryError::Unknown(_))) => {}
            found => return found.map(Node::Memory),
        }
        match self.stored_note(id) {
            Err(EngineError::UnknownId(_)) => self.turn_named(id).map(|turn| Node::Turn(turn.id)),
            Ok(note) if note.facts.kind == NoteKind::Context => Ok(Node::Context(note.episode)),
            found => found.map(|note| Node::Session(note.episode)),
        }
    }

    pub(super) fn turn_named(&self, id: &str) -> Result<ShownTurn, EngineError> {
        let mut rows = self.store().turn_keys(TurnChoice::Named(id, 2))?;
        match rows.len() {
            1 => {}
            0 => return Err(EngineError::UnknownId(id.to_owned())),
            _ => return Err(EngineError::AmbiguousId { id: id.to_owned(), candidates: Vec::new() }),
        }
        rows.truncate(1);
        self.store().turns(Turns::Keys(&rows))?.pop().ok_or_else(|| EngineError::UnknownId(id.to_owned()))
    }
}
