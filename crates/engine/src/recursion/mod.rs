//! The recursive lane: a language model answers a question about more than fits into a prompt, by reading it in pieces.
//!
//! - [`PiecesRequest`], `pieces`: what is read, as numbered pieces with who said them and when
//! - `profile`, `choice`: properties of models by name, and the strategy that a question gets
//! - `lane`: what the strategies share: calls within the limits of a run, readers side by side, checked quotes
//! - `lookup`: what a run asks of the memory beside the words of its pieces
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
mod lookup;
mod pieces;
mod plan;
mod planned;
mod profile;
mod trajectory;

use std::path::Path;
use std::sync::Arc;

use yore_core::level::Level;
use yore_core::query::ReadingStrategy;
use yore_core::time::format_day;

pub use self::answer::{Bound, DeepAnswer, DeepRequest, Progress, Stop};
pub use self::choice::is_aggregate;
#[cfg(feature = "python")]
pub use self::code::WORKER;
pub use self::found::Cited;
use self::lane::{Lane, Outcome, Strategy};
use self::lookup::{Lookup, Related};
use self::pieces::Pieces;
pub use self::pieces::PiecesRequest;
use self::profile::Profile;
use self::trajectory::Begun;
pub use self::trajectory::{ShownLine, Trajectory, trajectories};
use crate::deepen::{DeepenRequest, LEARNED};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::extraction::ModelAccess;
use crate::llm::{Backoff, Journal, Model, RUNS, Run, RunLimits, Way};
use crate::retrieve::RecallRequest;

/// Most tokens of what a piece is related to.
#[cfg_attr(not(feature = "python"), allow(dead_code, reason = "only Python asks for it"))]
const RELATED_TOKENS: usize = 2_000;

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
        let archive = Archive { engine: self, pieces: &pieces };
        self.run_strategy(&begun, &pieces, (&model, request.worker.as_deref(), &archive), &run, watch)
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
        let given = trajectory.looked_up();
        self.run_strategy(begun, &pieces, (&model, worker, &given), &run, &mut |_| {})
    }

    fn run_strategy(
        &self,
        begun: &Begun,
        pieces: &Pieces,
        (model, worker, lookup): (&Model, Option<&Path>, &dyn Lookup),
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
        let mut lane = Lane::new(begun, pieces, (model, lookup), run, watch);
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

/// The archive that a run asks.
struct Archive<'a> {
    engine: &'a Engine,
    pieces: &'a Pieces,
}

impl Archive<'_> {
    fn number(&self, opens: &str) -> Option<usize> {
        self.pieces.list.iter().position(|piece| !opens.is_empty() && piece.opens.starts_with(opens))
    }
}

// A search that fails finds nothing: the run goes on with the words that it has.
impl Lookup for Archive<'_> {
    fn recall(&self, words: &str) -> Vec<usize> {
        let found = self.engine.turns_found(words, &PiecesRequest::default()).unwrap_or_default();
        found.iter().filter_map(|id| self.number(id)).collect()
    }

    fn related(&self, piece: usize) -> Vec<Related> {
        let Some(piece) = self.pieces.list.get(piece) else { return Vec::new() };
        let request = DeepenRequest {
            id: piece.opens.to_string(),
            level: Level::Related,
            recall: RecallRequest::new(""),
            budget: RELATED_TOKENS,
        };
        let lines = self.engine.deepen(&request).map(|found| found.lines).unwrap_or_default();
        // Beside what was learned from the piece itself, only pieces are told: nothing of a project that this model may not read.
        let related = lines.into_iter().filter_map(|line| {
            let (relation, number) = (line.relation?, line.opens.as_deref().and_then(|opens| self.number(opens)));
            let is_told = number.is_some() || relation == LEARNED;
            is_told.then_some(Related { relation, what: line.what, text: line.text, piece: number })
        });
        let mut related: Vec<Related> = related.collect();
        // A lookup that cannot be redacted is none.
        if self.engine.redact_again(related.iter_mut().map(|one| &mut one.text)).is_err() {
            related.clear();
        }
        related
    }
}

/// Returns today's date, as models are told it.
fn today(engine: &Engine) -> String {
    format_day(engine.now())
}
