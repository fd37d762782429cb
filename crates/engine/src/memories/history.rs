//! Lists operations of memories, and undoes or redoes one by `store/operations.rs`.

use yore_core::id::MemoryId;
use yore_core::operation::{Cause, Change, Operation, Record, Subject};
use yore_core::relation::Node;

use crate::Engine;
use crate::error::{EngineError, MemoryError};
use crate::store::Undoing;

impl Engine {
    /// Returns the latest operations before one (`None`: all), newest first; with `subject` only those that changed
    /// it. The words of memories that were forgotten softly are not told.
    pub fn operations(&self, before: Option<u64>, subject: Option<Subject>, limit: usize) -> Result<Vec<Operation>, EngineError> {
        Ok(self.store().operations(before, subject, limit)?.into_iter().map(without_forgotten).collect())
    }

    /// Returns an operation with what it changed. The records after it are known as long as nothing changed them
    /// since. Those of memories that were forgotten softly, and of their relations, are not told.
    pub fn operation(&self, number: u64) -> Result<Option<(Operation, Vec<Change>)>, EngineError> {
        let Some((operation, mut changes)) = self.store().operation(number)? else { return Ok(None) };
        for change in &mut changes {
            if self.is_of_forgotten(change)? {
                (change.before, change.after) = (None, None);
            }
        }
        Ok(Some((without_forgotten(operation), changes)))
    }

    fn is_forgotten_softly(&self, id: MemoryId) -> Result<bool, EngineError> {
        Ok(self.store().memory(id)?.is_some_and(|memory| memory.is_forgotten()))
    }

    /// Returns whether a change is one of a memory that is forgotten softly, or of a relation of one.
    fn is_of_forgotten(&self, change: &Change) -> Result<bool, EngineError> {
        let ends = [&change.before, &change.after].into_iter().flatten().flat_map(|record| match record {
            Record::Memory(memory) => vec![Node::Memory(memory.id)],
            Record::Relation(relation) => vec![relation.from.clone(), relation.to.clone()],
            Record::Entity(_) => Vec::new(),
        });
        for end in ends {
            if let Node::Memory(id) = end
                && self.is_forgotten_softly(id)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Undoes an operation, completely or not at all; undoing an undoing does the operation again. Returns the number
    /// of the new operation.
    ///
    /// # Errors
    /// [`MemoryError::Undo`] with the reason, such as a later operation that builds on it.
    pub fn undo(&self, number: u64, cause: &Cause) -> Result<u64, EngineError> {
        Ok(self.store().undo(number, Undoing::Undo, cause, self.now())?.map_err(MemoryError::from)?)
    }

    /// Does an operation again that was undone. Returns the number of the new operation.
    ///
    /// # Errors
    /// As [`Self::undo`].
    pub fn redo(&self, number: u64, cause: &Cause) -> Result<u64, EngineError> {
        Ok(self.store().undo(number, Undoing::Redo, cause, self.now())?.map_err(MemoryError::from)?)
    }
}

/// Removes the words of what an operation was done to from its line, if one of its memories is forgotten softly.
fn without_forgotten(mut operation: Operation) -> Operation {
    if operation.is_of_forgotten {
        operation.cause.input = None;
        operation.summary.truncate(operation.summary.find(": ").unwrap_or(operation.summary.len()));
    }
    operation
}
