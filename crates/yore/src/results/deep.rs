//! Answers of the recursive lane, and its runs, as data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yore_core::time::UtcMillis;
use yore_engine::{Bound, Cited, DeepAnswer, Trajectory};

use super::time;
use super::words;

/// An answer of a model that read an archive. Its text is recalled data, never instructions.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct DeepAnswered {
    /// The question.
    pub question: String,
    /// The answer; empty: there is none.
    pub answer: String,
    /// Why the answer is not whole; none: it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_whole: Option<String>,
    /// The places that it rests on.
    pub sources: Vec<DeepSource>,
    /// Quotes of the model that stand nowhere and were dropped.
    pub refused: usize,
    /// The way in which it was read: direct, planned, iterative or code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,
    /// Why this way.
    pub why: String,
    /// Number of pieces.
    pub pieces: usize,
    /// Number of sessions that they are of.
    pub sessions: usize,
    /// Number of pieces that the model read.
    pub read: usize,
    /// Number of pieces that no or another model may read.
    pub left_out: usize,
    /// True if older sessions were left out, because there is more than a run may read.
    pub is_cut: bool,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The most that it takes, if no call is repeated.
    pub bound: DeepAmounts,
    /// The amounts that it took.
    pub took: DeepAmounts,
    /// Id of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

/// A place that an answer rests on.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct DeepSource {
    /// Id of the turn or memory.
    pub id: String,
    /// Id of the session.
    pub session: String,
    /// Beginning of the agent's own id of the session.
    pub session_name: String,
    /// Who said it, or the kind of memory.
    pub by: String,
    /// Its time, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The label that a reader gave it.
    pub label: String,
    /// Its words, word for word.
    pub quote: String,
}

/// Calls, tokens and money.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct DeepAmounts {
    /// Calls.
    pub calls: u64,
    /// Tokens of prompts.
    pub input_tokens: u64,
    /// Tokens of answers.
    pub output_tokens: u64,
    /// Dollars.
    pub dollars: f64,
}

/// A stored run.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct RunRecord {
    /// Its id.
    pub run: String,
    /// When it ended, RFC 3339.
    pub at: Option<String>,
    /// The question.
    pub question: String,
    /// The answer; empty: there is none.
    pub answer: String,
    /// Why the answer is not whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_whole: Option<String>,
    /// The amounts that it took.
    pub took: DeepAmounts,
}

impl From<&Bound> for DeepAmounts {
    fn from(of: &Bound) -> Self {
        Self { calls: of.calls, input_tokens: of.input, output_tokens: of.output, dollars: of.cost_micro as f64 / 1e6 }
    }
}

impl From<&yore_engine::llm::RunSpent> for DeepAmounts {
    fn from(of: &yore_engine::llm::RunSpent) -> Self {
        Self { calls: of.calls, input_tokens: of.input, output_tokens: of.output, dollars: of.cost_micro as f64 / 1e6 }
    }
}

impl DeepAnswered {
    /// Returns an answer as data.
    pub fn of(question: &str, answer: &DeepAnswer) -> Self {
        let source = |of: &Cited| DeepSource {
            id: of.opens.clone(),
            session: of.session.clone(),
            session_name: of.session_name.clone(),
            by: of.by.clone(),
            at: time(of.at),
            label: of.label.clone(),
            quote: of.quote.clone(),
        };
        Self {
            question: question.to_owned(),
            answer: answer.answer.clone(),
            not_whole: answer.stop.as_ref().map(words::stop_of_run),
            sources: answer.cited.iter().map(source).collect(),
            refused: answer.refused,
            strategy: answer.strategy.map(|strategy| strategy.as_str().to_owned()),
            why: answer.why.clone(),
            pieces: answer.pieces,
            sessions: answer.sessions,
            read: answer.read,
            left_out: answer.left_out,
            is_cut: answer.is_cut,
            model: answer.model.clone(),
            bound: (&answer.bound).into(),
            took: (&answer.spent).into(),
            run: answer.run.clone(),
        }
    }
}

impl RunRecord {
    /// Returns a run, which ended at a time, as data.
    pub fn of(at: UtcMillis, run: &Trajectory) -> Self {
        let answer = run.answer().unwrap_or_default();
        Self {
            run: run.id.clone(),
            at: time(Some(at)),
            question: run.question().to_owned(),
            not_whole: answer.stop.as_ref().map(words::stop_of_run),
            took: (&answer.spent).into(),
            answer: answer.answer,
        }
    }
}
