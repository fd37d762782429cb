//! Learning by a language model: the sessions that wait for it, what reading them takes, and a run over those that are quiet.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use yore_core::memory::{Lane, MemoryKind};
use yore_core::time::UtcMillis;

use crate::archive::sessions::TITLES;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::extraction::material::{BY_AGENT, NEW_CHARS, chars_of};
use crate::extraction::model::{CHECKPOINT, MISFORMED, ModelReport, frame_tokens};
use crate::extraction::model_access::ModelAccess;
use crate::extraction::run::ExtractRequest;
use crate::store::{EpisodeKey, EpisodeSummary, Memories, MemoryFilter, SessionFilter, SessionOrder, Turns};

/// Fewest new turns of a session that waits: a question and its answer.
const LEAST_TURNS: i64 = 2;
/// Sessions whose words are counted for an estimate; the others are taken to be like them.
const COUNTED: usize = 40;
/// Tokens that a call writes: 2,400 in 21 calls over 12 sessions (`docs/measurements.md`, "Extraction").
const WRITTEN: u64 = 1_400;
/// Characters of a token, about.
const CHARS: u64 = 4;

/// The sessions that a model may read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LearnRequest {
    /// Names of projects whose sessions no model may read.
    pub without: Vec<String>,
    /// Milliseconds since the last turn after which a session counts as quiet.
    pub quiet_ms: UtcMillis,
    /// Only memories of these kinds; empty: of all.
    pub kinds: Vec<MemoryKind>,
    /// Start of the day whose finds are counted.
    pub since: UtcMillis,
    /// True if it is estimated what reading takes, for which sessions are read.
    pub is_estimated: bool,
}

/// The sessions that wait for a model, and the memories that it found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Learning {
    /// Sessions that wait.
    pub sessions: u64,
    /// Calls, and tokens of their prompts and answers, that reading them takes, about.
    pub calls: u64,
    /// See [`Self::calls`].
    pub input: u64,
    /// See [`Self::calls`].
    pub output: u64,
    /// Sessions that were read so far.
    pub read: u64,
    /// Memories that were found since the start of the day.
    pub found: u64,
    /// Why learning in the background failed, if it was not done since: code and text.
    pub failure: Option<(String, String)>,
}

/// The result of a run over quiet sessions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LearnReport {
    /// The work of the model.
    pub report: ModelReport,
    /// Milliseconds until the next session that waits is quiet; `None`: none waits.
    pub next_ms: Option<UtcMillis>,
}

impl Engine {
    /// Lets a model read the sessions that wait and are quiet, the newest first. A run that ends goes on where it stood.
    ///
    /// # Errors
    /// The store cannot be read. Failures of the model are in the report.
    pub fn learn(
        &self,
        by: ModelAccess<'_>,
        request: &LearnRequest,
        proceed: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<LearnReport, EngineError> {
        let until = self.now() - request.quiet_ms;
        let is_quiet = |session: &EpisodeSummary| session.updated.is_none_or(|updated| updated <= until);
        let (quiet, busy): (Vec<EpisodeSummary>, Vec<EpisodeSummary>) =
            self.waiting(request, &self.read_by_models()?)?.into_iter().partition(is_quiet);
        let next_ms = busy.iter().filter_map(|session| session.updated).min().map(|updated| (updated - until).max(0));
        let extract = ExtractRequest { kinds: request.kinds.clone(), ..ExtractRequest::default() };
        Ok(LearnReport { report: self.read_by_model(by, &quiet, &extract, proceed)?, next_ms })
    }

    /// Returns what waits for a model and what it found. The words of the newest sessions are counted, and the others are taken to be like
    /// them.
    pub fn learning(&self, request: &LearnRequest) -> Result<Learning, EngineError> {
        let read = self.read_by_models()?;
        let waiting = self.waiting(request, &read)?;
        let new_turns = |session: &EpisodeSummary| session.turns.saturating_sub(read.get(&session.row).copied().unwrap_or(0));
        let mut learning = Learning { sessions: waiting.len() as u64, ..Learning::default() };
        let mut counted = 0;
        for session in waiting.iter().take(if request.is_estimated { COUNTED } else { 0 }) {
            let skipped = read.get(&session.row).copied().unwrap_or(0) as usize;
            let turns = self.store().turns(Turns::OfEpisode(session.row))?;
            let chars = chars_of(&turns, skipped);
            let calls = chars.div_ceil(NEW_CHARS) as u64;
            counted += new_turns(session);
            learning.calls += calls;
            learning.input += chars as u64 / CHARS + calls * frame_tokens();
            learning.output += calls * WRITTEN;
        }
        let all: u64 = waiting.iter().map(new_turns).sum();
        for number in [&mut learning.calls, &mut learning.input, &mut learning.output] {
            *number = (u128::from(*number) * u128::from(all)).div_ceil(u128::from(counted.max(1))) as u64;
        }
        learning.read = self.store().shapes(Some(CHECKPOINT))?.len() as u64;
        learning.found = self.found_by_models(request.since)?;
        learning.failure = self.learning_failure()?;
        Ok(learning)
    }

    /// Returns the sessions with turns that neither a model nor an agent has distilled, the newest first. `read`: the number of turns of
    /// each session that one has. A session whose answers could not be used waits when it goes on.
    fn waiting(&self, request: &LearnRequest, read: &HashMap<EpisodeKey, u64>) -> Result<Vec<EpisodeSummary>, EngineError> {
        let filter = SessionFilter {
            without_documents: true,
            has_more: Some((CHECKPOINT, LEAST_TURNS)),
            title: Some(TITLES),
            ..SessionFilter::default()
        };
        let mut waiting = self.store().sessions(&filter, SessionOrder::Recent, usize::MAX >> 1)?;
        let misformed = self.store().shapes(Some(MISFORMED))?;
        let shapes = if misformed.is_empty() { HashMap::new() } else { self.store().shapes(None)? };
        waiting.retain(|session| {
            let read = read.get(&session.row).copied().unwrap_or(0);
            let is_misformed = misformed.get(&session.row).is_some_and(|shape| shapes.get(&session.row) == Some(shape));
            let is_left_out = session.project.as_ref().is_some_and(|project| request.without.contains(project));
            session.turns >= read + LEAST_TURNS as u64 && !is_misformed && !is_left_out
        });
        Ok(waiting)
    }

    /// Returns the number of turns of each session that a model or an agent has distilled.
    fn read_by_models(&self) -> Result<HashMap<EpisodeKey, u64>, EngineError> {
        let mut read: HashMap<EpisodeKey, u64> = HashMap::new();
        for checkpoint in [CHECKPOINT, BY_AGENT.checkpoint] {
            for (session, shape) in self.store().shapes(Some(checkpoint))? {
                let turns = read.entry(session).or_default();
                *turns = (*turns).max(shape.turns.max(0) as u64);
            }
        }
        Ok(read)
    }

    /// Returns the number of memories that models found since a time.
    fn found_by_models(&self, since: UtcMillis) -> Result<u64, EngineError> {
        let filter = MemoryFilter { since: Some(since), lane: Some(Lane::Extracted), ..MemoryFilter::default() };
        let found = self.store().memories(Memories::Meeting(&filter, usize::MAX >> 1))?;
        let is_of_model = |extractor: &str| matches!(extractor.split('/').next(), Some("model" | "small-model"));
        let found = found.iter().filter(|(_, memory)| memory.id.drawn_at() >= since);
        Ok(found.filter(|(_, memory)| memory.source.extractor.as_deref().is_some_and(is_of_model)).count() as u64)
    }
}
