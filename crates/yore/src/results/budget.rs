//! Results about language models: limits, calls, providers, tests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yore_engine::{DailyLimits, LedgerRow, ModelReport, Spent};

use super::{Consolidation, FailedConversation, words};

/// The limits of a day, and what was taken today.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct BudgetDay {
    /// Most tokens a day; 0: no model is called.
    pub daily_tokens: u64,
    /// Most calls a day; 0: as many as the tokens allow.
    pub daily_calls: u64,
    /// Most dollars a day.
    pub daily_dollars: f64,
    /// True if models are switched off.
    pub off: bool,
    /// The sums of today.
    pub today: Taken,
}

/// Sums of calls in some time.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Taken {
    /// Number of calls.
    pub calls: u64,
    /// Number of those that failed.
    pub failed: u64,
    /// Tokens of prompts, those of reservations included.
    pub input_tokens: u64,
    /// Tokens of answers.
    pub output_tokens: u64,
    /// Dollars.
    pub dollars: f64,
    /// True if some of the tokens are estimated.
    pub estimated: bool,
}

/// Sums of a day, purpose, model and project.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct BudgetRow {
    /// The day, as a date.
    pub day: String,
    /// The purpose.
    pub purpose: String,
    /// The model, with its provider.
    pub model: String,
    /// Name of the project.
    pub project: Option<String>,
    /// The sums.
    pub taken: Taken,
}

/// The result of an extraction by a model.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct ModelExtraction {
    /// Conversations with new lines that were read.
    pub sessions: u64,
    /// Conversations without new lines.
    pub unchanged: u64,
    /// Calls that gave an answer.
    pub answers: u64,
    /// New memories.
    pub recorded: u64,
    /// Known memories that got evidence.
    pub joined: u64,
    /// Relations that were stated.
    pub relations: u64,
    /// Memories of rules that were put away.
    pub dropped: u64,
    /// Reasons why items and relations could not be stored.
    pub refused: Vec<String>,
    /// Phases, decisions and calls.
    pub consolidation: Consolidation,
    /// Conversations of projects that nobody may read.
    pub left_out: u64,
    /// Conversations whose requests wait for an answer in a folder.
    pub waiting: u64,
    /// Conversations that failed.
    pub failed: Vec<FailedConversation>,
    /// Why the run ended before all conversations were read.
    pub stopped: Option<String>,
}

/// Somebody who may answer as a language model.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Provider {
    /// Name in the configuration.
    pub name: String,
    /// The services that it gives: "answers", "vectors", "relevance".
    pub does: Vec<String>,
    /// Address or command.
    pub what: String,
    /// Environment variable of its key.
    pub key_variable: Option<String>,
}

/// The abilities of a language model.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct TestedModel {
    /// The model, with its provider.
    pub model: String,
    /// The ways of being brought to answer in a form.
    pub tiers: Vec<TestedTier>,
}

/// A way of being brought to answer in a form.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct TestedTier {
    /// `schema`, `tool`, `json` or `prompt`.
    pub tier: String,
    /// True if the answer was right.
    pub works: bool,
    /// The fault of the answer.
    pub problem: Option<String>,
    /// Tokens of the prompt.
    pub input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
}

impl From<Spent> for Taken {
    fn from(spent: Spent) -> Self {
        let Spent { calls, failed, input, output, cost_micro, is_estimated } = spent;
        let dollars = cost_micro as f64 / 1e6;
        Self { calls, failed, input_tokens: input, output_tokens: output, dollars, estimated: is_estimated }
    }
}

impl BudgetDay {
    /// Makes it of the limits and what was taken.
    pub fn of(limits: DailyLimits, today: Spent, off: bool) -> Self {
        let DailyLimits { tokens, cost_micro, calls } = limits;
        Self { daily_tokens: tokens, daily_calls: calls, daily_dollars: cost_micro as f64 / 1e6, off, today: today.into() }
    }
}

impl BudgetRow {
    /// Makes it of a row of the ledger and its day as a date.
    pub fn of(row: &LedgerRow, day: String) -> Self {
        let (purpose, model, project) = (row.purpose.clone(), row.model.clone(), row.project.clone());
        Self { day, purpose, model, project, taken: row.spent.into() }
    }
}

impl From<&ModelReport> for ModelExtraction {
    fn from(report: &ModelReport) -> Self {
        let failed = report.failed.iter();
        let failed =
            failed.map(|failed| FailedConversation { session: failed.session.clone(), reason: words::failed(&failed.reason) });
        Self {
            sessions: report.sessions,
            unchanged: report.unchanged,
            answers: report.answers,
            recorded: report.recorded,
            joined: report.joined,
            relations: report.relations,
            dropped: report.dropped,
            refused: report.refused.iter().map(words::refused).collect(),
            consolidation: Consolidation::from(&report.statistics),
            left_out: report.left_out,
            waiting: report.waiting,
            failed: failed.collect(),
            stopped: report.stopped.as_ref().map(words::stopped),
        }
    }
}
