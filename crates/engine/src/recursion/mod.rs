//! The recursive lane: a language model answers a question about more than fits into a prompt, by reading it in pieces.
//!
//! - [`PiecesRequest`], `pieces`: what is read, as numbered pieces with who said them and when
//! - `profile`, `choice`: properties of models by name, and the strategy that a question gets
//! - `lane`: what the strategies share: calls within the limits of a run, readers side by side, checked quotes
//! - `direct`, `planned`, `iterative`, `code`: the strategies
//! - `found`: what readers find, checked against the words of the pieces, and put together
//! - [`Trajectory`], `trajectory`: the steps and calls of a run as JSON lines, from which it can be replayed
//!
//! Limits are held here and in [`crate::llm::Run`], where nothing that a model writes reaches them. Pieces are data: what stands in one
//! is never an instruction, an answer or a limit, and nothing counts as evidence whose words are not in the piece that is named.

mod answer;
mod choice;
#[cfg(feature = "python")]
mod code;
mod direct;
mod found;
mod iterative;
mod lane;
mod pieces;
mod plan;
mod planned;
mod profile;
mod trajectory;

use std::path::Path;
use std::sync::Arc;

use yore_core::query::{Filter, ReadingStrategy, Wanted};
use yore_core::time::format_utc;

pub use self::answer::{Bound, DeepAnswer, DeepRequest, Progress, Stop};
pub use self::choice::is_aggregate;
#[cfg(feature = "python")]
pub use self::code::WORKER;
pub use self::found::Cited;
use self::lane::{Lane, Outcome, Recall, Strategy};
use self::pieces::Pieces;
pub use self::pieces::PiecesRequest;
use self::profile::Profile;
use self::trajectory::Begun;
pub use self::trajectory::{ShownLine, Trajectory, trajectories};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::extraction::ModelAccess;
use crate::llm::{Backoff, Journal, Model, RUNS, Run, RunLimits, Way};
use crate::retrieve::{Found, RecallRequest};

/// Most turns that recall gives to a model.
const MOST_RECALLED: usize = 200;

impl Engine {
    /// Answers a question by reading pieces with a language model, within the limits of the request. Each step is told to `watch`. With
    /// the limits of no call, only what the run would take is told.
    ///
    /// # Errors
    /// If a project or session is not known, or the store cannot be read. That a model did not answer is in the answer.
    pub fn read_deeply(
        &self,
        request: &DeepRequest,
        mut by: ModelAccess<'_>,
        watch: &mut dyn FnMut(&Progress),
    ) -> Result<DeepAnswer, EngineError> {
        let mut pieces = self.pieces(&request.pieces)?;
        let chosen = self.keep_readable(&mut pieces, &mut by);
        pieces.name_sessions();
        let (model, terms) = match chosen {
            Ok(Some(chosen)) => chosen,
            Ok(None) => return Ok(DeepAnswer::unread(Stop::LeftOut)),
            Err(reason) => return Ok(DeepAnswer::unread(Stop::NoModel(reason))),
        };
        let books = by.books.unwrap_or(self);
        let price = terms.price;
        let day = books.accounts(terms, by.is_stopped);
        let cost = move |input, output| price.map_or(0, |price| price.cost_micro(input, output));
        let profile = Profile::of(&model);
        let limits = RunLimits { calls: request.limits.calls.min(profile.most_calls), ..request.limits };
        let run = Run::new(limits, &day, cost, Journal::default());
        let choice = choice::choose(request, &pieces, &profile);
        let tiers = model.tiers(&day);
        let begun = Begun::of(today(self), request, &pieces, choice, (model.name(), profile), (limits, price), &tiers);
        let recall = |words: &str| self.recalled_pieces(&pieces, words);
        self.run_strategy(&begun, &pieces, (&model, request.worker.as_deref(), &recall), &run, watch)
    }

    /// Makes a run again from its trajectory, without any call; `worker`: see [`DeepRequest::worker`]. Returns its answer, whose trajectory is the same word for word as long as
    /// the archive has the pieces.
    ///
    /// # Errors
    /// [`EngineError::UnknownRun`]; [`EngineError::RunChanged`]: the archive has not the pieces of the run any more.
    pub fn replay_run(&self, id: &str, worker: Option<&Path>) -> Result<DeepAnswer, EngineError> {
        let trajectory = Trajectory::read(self.directory(), id)?;
        let begun = trajectory.begun()?;
        let pieces = self.pieces_again(&begun.read, &begun.pieces)?;
        let mut pieces = Pieces { left_out: begun.left_out, is_cut: begun.is_cut, ..pieces };
        pieces.name_sessions();
        if pieces.digest() != begun.digest {
            return Err(EngineError::RunChanged(id.to_owned()));
        }
        // It answers from the journal; nobody is asked.
        let backoff = Backoff { sleep: |_| {}, ..Backoff::default() };
        let model =
            Model::new(begun.model.clone(), Way::Folder(self.directory().join(RUNS)), backoff).in_tiers(begun.tiers.clone());
        let day = trajectory::Nobody::default();
        let price = begun.price;
        let cost = move |input, output| price.map_or(0, |price| price.cost_micro(input, output));
        let limits = RunLimits { milliseconds: u64::MAX >> 1, ..begun.limits };
        let run = Run::new(limits, &day, cost, Journal::of_earlier(trajectory.calls(), trajectory.reached()));
        let recalled = trajectory.recalled();
        let recall = |words: &str| recalled.get(words).cloned().unwrap_or_default();
        self.run_strategy(begun, &pieces, (&model, worker, &recall), &run, &mut |_| {})
    }

    fn run_strategy(
        &self,
        begun: &Begun,
        pieces: &Pieces,
        (model, worker, recall): (&Model, Option<&Path>, &Recall<'_>),
        run: &Run<'_>,
        watch: &mut dyn FnMut(&Progress),
    ) -> Result<DeepAnswer, EngineError> {
        #[cfg(not(feature = "python"))]
        let _ = worker;
        let strategy: Box<dyn Strategy> = match begun.strategy {
            ReadingStrategy::Direct => Box::new(direct::Direct),
            ReadingStrategy::Planned => Box::new(planned::Planned),
            #[cfg(feature = "python")]
            ReadingStrategy::Code if let Some(program) = worker => Box::new(code::Code { program }),
            ReadingStrategy::Iterative | ReadingStrategy::Code => Box::new(iterative::Iterative),
        };
        let mut lane = Lane::new(begun, pieces, (model, recall), run, watch);
        let bound = strategy.bound(&lane);
        let outcome = match begun.limits.calls {
            0 => Outcome::stopped(Stop::Preview),
            _ if pieces.list.is_empty() => Outcome::stopped(Stop::NothingToRead),
            _ => strategy.answer(&mut lane),
        };
        let mut answer = lane.ended(begun, bound, outcome);
        let DeepAnswer { answer: text, cited, .. } = &mut answer;
        self.redact_again(cited.iter_mut().flat_map(|cited| [&mut cited.quote, &mut cited.label]).chain([text]))?;
        if begun.limits.calls > 0 {
            let mut log = lane.trajectory(begun, &answer)?;
            self.redact_again([&mut log].into_iter())?;
            answer.run = Some(trajectory::write(self.directory(), &log)?);
        }
        Ok(answer)
    }

    /// Returns the numbers of the pieces that recall finds for words, best first; none if it fails.
    fn recalled_pieces(&self, pieces: &Pieces, words: &str) -> Vec<usize> {
        let filter = Filter { wanted: Wanted::Turns, ..Filter::default() };
        let request =
            RecallRequest { filter, limit: MOST_RECALLED, min_confidence: Some(0.0), is_bare: true, ..RecallRequest::new(words) };
        let hits = self.recall(&request).map(|answer| answer.hits).unwrap_or_default();
        let found = hits.iter().filter_map(|hit| match &hit.found {
            Found::Turn(turn) => Some(turn.id.to_string()),
            Found::Memory(_) => None,
        });
        found.filter_map(|id| pieces.list.iter().position(|piece| *piece.opens == *id)).collect()
    }

    /// Leaves out the pieces of projects that nobody may read, or that another model reads than that of the latest piece. Returns who reads.
    fn keep_readable(
        &self,
        pieces: &mut Pieces,
        by: &mut ModelAccess<'_>,
    ) -> Result<Option<(Arc<Model>, crate::budget::Terms)>, String> {
        let mut projects: Vec<Option<Arc<str>>> = Vec::new();
        for piece in pieces.list.iter().rev() {
            if !projects.contains(&piece.project) {
                projects.push(piece.project.clone());
            }
        }
        if projects.is_empty() {
            projects.push(None);
        }
        let mut reader: Option<(Arc<Model>, crate::budget::Terms)> = None;
        let mut is_read = Vec::new();
        for project in &projects {
            let chosen = (by.choose)(project.as_deref())?;
            let name = chosen.as_ref().map(|(model, _)| model.name().to_owned());
            if reader.is_none() {
                reader = chosen;
            }
            is_read.push(name.is_some() && name.as_deref() == reader.as_ref().map(|(model, _)| model.name()));
        }
        let before = pieces.list.len();
        pieces.list.retain(|piece| projects.iter().position(|known| *known == piece.project).is_some_and(|at| is_read[at]));
        pieces.left_out = before - pieces.list.len();
        Ok(reader)
    }
}

/// Returns today's date, as models are told it.
fn today(engine: &Engine) -> String {
    format_utc(engine.now())[..10].to_owned()
}
