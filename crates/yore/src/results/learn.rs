//! Results about learning: who reads sessions, within which limits, what was found, and what waits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yore_engine::Learning;

use super::{BudgetDay, ExtractionDone, ModelExtraction};

/// The state of learning by a language model.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct LearnState {
    /// True if a model reads sessions in the background.
    pub auto: bool,
    /// The chosen model, as PROVIDER or PROVIDER/MODEL.
    pub with: Option<String>,
    /// Limits of a day, and what was taken today.
    #[serde(flatten)]
    pub budget: BudgetDay,
    /// Sessions that wait, and what reading them takes, about.
    pub waiting: LearnWaiting,
    /// Sessions that a model has read so far.
    pub sessions_read: u64,
    /// Memories that models found today.
    pub found_today: u64,
    /// Why the last run in the background failed.
    pub failure: Option<String>,
    /// Models that are ready on this computer; `None`: they were not looked for.
    pub ready: Option<Vec<ReadyModel>>,
}

/// Sessions that wait for a model.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct LearnWaiting {
    /// Number of sessions.
    pub sessions: u64,
    /// Calls that they take; 0: not estimated.
    pub calls: u64,
    /// Tokens of prompts.
    pub input_tokens: u64,
    /// Tokens of answers.
    pub output_tokens: u64,
    /// Dollars, where the model has a price.
    pub dollars: Option<f64>,
}

/// A language model that is ready.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct ReadyModel {
    /// The name that `yore learn --with` takes.
    pub with: String,
    /// Its name for people.
    pub title: String,
    /// Who pays: `plan`, `nobody` or `key`.
    pub paid_by: String,
}

/// The result of `yore learn`.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct LearnDone {
    /// Memories that rules found.
    pub rules: Option<ExtractionDone>,
    /// Memories that a model found.
    pub model: Option<ModelExtraction>,
    /// The state afterwards.
    pub state: LearnState,
}

impl LearnWaiting {
    /// Makes it of what waits and its price.
    pub fn of(learning: &Learning, dollars: Option<f64>) -> Self {
        let Learning { sessions, calls, input, output, .. } = learning.clone();
        Self { sessions, calls, input_tokens: input, output_tokens: output, dollars }
    }
}
