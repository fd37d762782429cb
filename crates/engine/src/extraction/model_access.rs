//! Chooses the language model of a project, and reads the ledger of calls.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::budget::{self, Ledger, Terms};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::extraction::run::FailReason;
use crate::llm::Model;
use crate::platform::{self, FileLock};
use crate::store::{LedgerRow, Spent, StoreError};

/// Tells who reads the conversations of a project, and on which terms; `None`: nobody. The error says what is missing.
pub type ChooseModel<'c> = dyn FnMut(Option<&str>) -> Result<Option<(Arc<Model>, Terms)>, String> + 'c;

/// Chooses models for a run and books their calls.
pub struct ModelAccess<'r> {
    /// Who reads.
    pub choose: &'r mut ChooseModel<'r>,
    /// The memory whose limits hold and in whose ledger calls are booked, if it is another one.
    pub books: Option<&'r Engine>,
    /// Set to give up what is running.
    pub is_stopped: &'r AtomicBool,
}

/// The reason why a run of a language model ended before its work was done.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StopReason {
    /// Another process lets a model read.
    #[error("another process lets a model read")]
    OtherProcess,
    /// The caller ended it.
    #[error("stopped")]
    Asked,
    /// No model could be chosen; the caller's own words say what is missing.
    #[error("{0}")]
    NoModel(String),
    /// Every further request would fail in the same way.
    #[error(transparent)]
    Failed(FailReason),
    /// So many conversations failed one after the other.
    #[error("{0} conversations failed one after the other")]
    Conversations(u32),
    /// So many requests failed one after the other.
    #[error("{0} requests failed one after the other")]
    Requests(u32),
}

/// Failures one after the other that end a run: then it is not the conversation.
pub(crate) const MOST_FAILURES: u32 = 3;

impl ModelAccess<'_> {
    /// Returns who reads the conversations of a project, and the accounts for that; `None`: nobody.
    ///
    /// # Errors
    /// A sentence that says what is missing.
    pub(crate) fn reader<'e>(
        &'e mut self,
        engine: &'e Engine,
        project: Option<&str>,
    ) -> Result<Option<(Arc<Model>, Ledger<'e>)>, String> {
        let chosen = (self.choose)(project)?;
        Ok(chosen.map(|(model, terms)| {
            let books = self.books.unwrap_or(engine);
            (model, books.accounts(terms, self.is_stopped).for_project(project.map(str::to_owned)))
        }))
    }
}

impl Engine {
    /// Opens the accounts of a purpose; `is_stopped`: gives up what is running.
    pub fn accounts<'e>(&'e self, terms: Terms, is_stopped: &'e AtomicBool) -> Ledger<'e> {
        Ledger::new(self.store(), self.directory(), self.clock(), terms, is_stopped)
    }

    /// Takes the lock of those who let a model read conversations; `None`: another process has it.
    pub(crate) fn lock_for_models(&self) -> Result<Option<FileLock>, EngineError> {
        let locks = self.directory().join("locks");
        let path = locks.join("model");
        let io = |error: std::io::Error| StoreError::Io { path: path.clone(), error };
        platform::create_private_directory(&locks).map_err(io)?;
        let lock = FileLock::open(&path).map_err(io)?;
        Ok(lock.try_lock().map_err(io)?.then_some(lock))
    }

    /// Returns the day that it is for somebody whose clock is so many minutes ahead of UTC, in days since 1970.
    pub fn day(&self, offset_minutes: i32) -> i64 {
        budget::day(self.now(), offset_minutes)
    }

    /// Returns what models took on a day.
    pub fn spent_on(&self, day: i64) -> Result<Spent, EngineError> {
        Ok(self.store().spent_on(day)?)
    }

    /// Returns what models took since a day, by day, purpose, model and project, the last day first.
    pub fn ledger(&self, since: i64) -> Result<Vec<LedgerRow>, EngineError> {
        Ok(self.store().ledger(since)?)
    }

    /// Returns whether all models are switched off.
    pub fn are_models_off(&self) -> bool {
        budget::are_off(self.directory())
    }

    /// Switches all models off, also what is running, or on again.
    ///
    /// # Errors
    /// The data directory cannot be written.
    pub fn switch_models(&self, is_off: bool) -> std::io::Result<()> {
        budget::switch_models(self.directory(), is_off)
    }
}
