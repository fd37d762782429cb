//! The question that is asked of more than fits into a prompt, and its answer.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use yore_core::query::ReadingStrategy;

use super::found::Cited;
use super::pieces::PiecesRequest;
use crate::llm::{RunLimit, RunLimits, RunSpent};

/// Most turns of a model that looks around by itself (C-090).
pub const TURNS: u32 = 10;

/// A question, what is read for it, and what that may take.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct DeepRequest {
    /// The question.
    pub question: String,
    /// The pieces that are read.
    pub pieces: PiecesRequest,
    /// The strategy; `None`: by size, question and model.
    pub strategy: Option<ReadingStrategy>,
    /// The most that the run may take. No calls: only its bound is told.
    pub limits: RunLimits,
    /// Most turns of a model that looks around by itself, from 1.
    pub turns: u32,
    /// The program that runs a model's Python with `script-worker` as its argument; `None`: no model writes any.
    #[serde(skip)]
    pub worker: Option<PathBuf>,
}

impl DeepRequest {
    /// Makes a request with the default limits.
    pub fn new(question: impl Into<String>) -> Self {
        Self {
            question: question.into(),
            pieces: PiecesRequest::default(),
            strategy: None,
            limits: RunLimits::default(),
            turns: TURNS,
            worker: None,
        }
    }
}

/// The most that a run takes, if no call is repeated.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct Bound {
    /// Calls.
    pub calls: u64,
    /// Tokens of prompts.
    pub input: u64,
    /// Tokens of answers.
    pub output: u64,
    /// Money, in millionths of a dollar.
    pub cost_micro: u64,
}

/// The reason why an answer is not whole.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// Only the bound was wanted.
    Preview,
    /// There is nothing to read.
    NothingToRead,
    /// Nobody may read the conversations of this project.
    LeftOut,
    /// No model could be chosen; the words say what is missing.
    NoModel(String),
    /// A limit of the run.
    Limit(RunLimit),
    /// The turns are over.
    Turns,
    /// So many requests wait for an answer in a folder.
    Waiting(usize),
    /// The model failed, or a limit of the day does not allow the call.
    Failed(String),
    /// The model gave no answer whose evidence stands in the pieces.
    NoEvidence,
    /// So many pieces could not be read.
    Unread(usize),
}

/// A step of a run, told while it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// The step, in words.
    pub step: String,
    /// The amounts so far.
    pub spent: RunSpent,
}

/// An answer with the words that it rests on.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct DeepAnswer {
    /// Id of the run, by which it is shown and replayed.
    pub run: Option<String>,
    /// The answer; empty if there is none.
    pub answer: String,
    /// The strategy.
    pub strategy: Option<ReadingStrategy>,
    /// Why this strategy.
    pub why: String,
    /// Why the answer is not whole; `None`: it is.
    pub stop: Option<Stop>,
    /// The places that it rests on, in the order of the pieces.
    pub cited: Vec<Cited>,
    /// Quotes and places that readers named and that no piece has.
    pub refused: usize,
    /// Number of pieces, of sessions that they are of, and of pieces that a model read.
    pub pieces: usize,
    /// See `pieces`.
    pub sessions: usize,
    /// See `pieces`.
    pub read: usize,
    /// Pieces that were left out, because nobody or another model may read them.
    pub left_out: usize,
    /// True if older sessions were left out, because there is more than a run may read.
    pub is_cut: bool,
    /// The model.
    pub model: Option<String>,
    /// The most that the run takes, if no call is repeated.
    pub bound: Bound,
    /// The amounts that it took.
    pub spent: RunSpent,
}

impl DeepAnswer {
    /// Makes the answer of a run that did not begin.
    pub(super) fn unread(stop: Stop) -> Self {
        Self { stop: Some(stop), ..Self::default() }
    }
}
