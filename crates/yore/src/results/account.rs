//! Results about the account of the memory: what sessions took with it and without, and what it cost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yore_core::account::Compared;

use super::Taken;

/// The worth of memory, and its cost (`yore account`).
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Account {
    /// Share of sessions to which hooks give nothing, as it is set now.
    pub holdout_sessions: f64,
    /// Number of sessions that hooks gave something.
    pub with: u64,
    /// Number of sessions that would have been given something and were held out.
    pub without: u64,
    /// The quantities that are compared.
    pub quantities: Vec<Quantity>,
    /// Estimated tokens that hooks gave these sessions.
    pub given_tokens: u64,
    /// Calls, tokens and dollars of language models that yore made in the time.
    pub models: Taken,
}

/// A quantity in sessions with memory and in those without.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Quantity {
    /// Its name, such as `calls_before_change`.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// Number of sessions with memory that have it.
    pub with: u64,
    /// Their mean.
    pub mean_with: f64,
    /// Number of held-out sessions that have it.
    pub without: u64,
    /// Their mean.
    pub mean_without: f64,
    /// Difference of the means: with memory less without; none if there are too few sessions.
    pub difference: Option<f64>,
    /// Lower end of the interval that holds the difference with 95 % confidence.
    pub low: Option<f64>,
    /// Its upper end.
    pub high: Option<f64>,
    /// `unknown` (too few sessions), `no_difference`, `less` or `more`.
    pub verdict: String,
}

impl Quantity {
    /// Makes the result of a comparison.
    pub fn of(name: &str, title: &str, compared: &Compared) -> Self {
        let (low, high) = compared.interval.unzip();
        Self {
            name: name.to_owned(),
            title: title.to_owned(),
            with: compared.with.0 as u64,
            mean_with: compared.with.1,
            without: compared.without.0 as u64,
            mean_without: compared.without.1,
            difference: compared.difference,
            low,
            high,
            verdict: compared.verdict.as_str().to_owned(),
        }
    }
}
