//! A run whose requests to a language model are sent as a batch at half the price; a later run takes the answers.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use yore_engine::llm::{BATCHES, Batches, Collected, LlmError, Model};
use yore_engine::platform::{self, FileLock};
use yore_engine::{Engine, Terms};

use crate::error::{CliError, CliResult};
use crate::results::words;

/// A run whose requests are sent as a batch.
pub struct BatchRun {
    model: Arc<Model>,
    terms: Terms,
    batches: Arc<Batches>,
    /// The fate of the batches that earlier runs sent.
    pub collected: Collected,
    /// Held from the first look until what is new was sent: two runs would send the same.
    _lock: FileLock,
}

/// How a run that is to send batches can begin.
pub enum Begun {
    /// It can; the answers that came are there.
    Batch(BatchRun),
    /// The server of the model takes no batches.
    NoBatches,
    /// Another process sends one.
    Busy,
}

impl BatchRun {
    /// Takes the answers to earlier batches that came. `directory`: the data directory.
    ///
    /// # Errors
    /// The folder of batches cannot be used, or the server cannot be asked at all.
    pub fn begin(
        engine: &Engine,
        (model, terms): (Arc<Model>, Terms),
        is_stopped: &AtomicBool,
        directory: &Path,
    ) -> CliResult<Begun> {
        let folder = directory.join(BATCHES);
        let Some((model, batches)) = model.in_batches(folder.clone()) else { return Ok(Begun::NoBatches) };
        let io = |error: std::io::Error| CliError::io(&folder, &error);
        platform::create_private_directory(&folder).map_err(io)?;
        let lock = FileLock::open(&folder.join("lock")).map_err(io)?;
        if !lock.try_lock().map_err(io)? {
            return Ok(Begun::Busy);
        }
        let terms = terms.in_batches();
        let collected = batches.collect(&engine.accounts(terms.clone(), is_stopped)).map_err(|error| failed(&error))?;
        Ok(Begun::Batch(Self { model: Arc::new(model), terms, batches, collected, _lock: lock }))
    }

    /// Returns the model that gathers requests, and its terms, in place of the chosen one; `None`: another model was chosen.
    pub fn in_place_of(&self, chosen: &Model) -> Option<(Arc<Model>, Terms)> {
        (chosen.name() == self.model.name()).then(|| (Arc::clone(&self.model), self.terms.clone()))
    }

    /// Sends what was gathered; returns the number of requests, and why no more were sent.
    pub fn send(&self, engine: &Engine, is_stopped: &AtomicBool) -> (u64, Result<(), LlmError>) {
        self.batches.send(&engine.accounts(self.terms.clone(), is_stopped))
    }
}

/// Returns an error of a model for a person.
pub fn failed(error: &LlmError) -> CliError {
    CliError::usage(words::language_model(error), None)
}
