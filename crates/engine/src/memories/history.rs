//! The operations that changed memories.

use yore_core::operation::{Cause, Change, Operation, Subject};

use crate::Engine;
use crate::error::{EngineError, MemoryError};

impl Engine {
    /// Returns the latest operations before one (`None`: all), newest first; with `subject` only those that changed
    /// it.
    pub fn operations(&self, before: Option<u64>, subject: Option<Subject>, limit: usize) -> Result<Vec<Operation>, EngineError> {
        Ok(self.store().operations(before, subject, limit)?)
    }

    /// Returns an operation with what it changed. The records after it are known as long as nothing changed them
    /// since.
    pub fn operation(&self, number: u64) -> Result<Option<(Operation, Vec<Change>)>, EngineError> {
        Ok(self.store().operation(number)?)
    }

    /// Undoes an operation, completely or not at all; undoing an undoing does the operation again. Returns the number
    /// of the new operation.
    ///
    /// # Errors
    /// [`MemoryError::Undo`] with the reason, such as a later operation that builds on it.
    pub fn undo(&self, number: u64, cause: &Cause) -> Result<u64, EngineError> {
        Ok(self.store().undo(number, cause, self.now())?.map_err(MemoryError::from)?)
    }

    /// Does an operation again that was undone. Returns the number of the new operation.
    ///
    /// # Errors
    /// As [`Self::undo`].
    pub fn redo(&self, number: u64, cause: &Cause) -> Result<u64, EngineError> {
        Ok(self.store().redo(number, cause, self.now())?.map_err(MemoryError::from)?)
    }
}
