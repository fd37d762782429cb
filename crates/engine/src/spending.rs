//! The accounts of models: no call without a limit that allows it, and every call in the ledger.

use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::llm::{Accounts, Class, LlmError, Tier, Usage};
use crate::store::{DailyLimits, LedgerRow, NewCall, Spending, Spent};

/// File in the data directory whose presence switches all models off, for every process at once.
const OFF: &str = "models.off";
const DAY_MS: i64 = 86_400_000;
/// Time for which it is remembered what a model can do.
const REMEMBERED_MS: i64 = 7 * DAY_MS;

/// The price of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// Dollars for a million tokens of a prompt.
    pub input: f64,
    /// Dollars for a million tokens of an answer.
    pub output: f64,
}

impl Price {
    /// Returns the cost of tokens in millionths of a dollar, rounded up.
    pub fn cost_micro(self, input: u64, output: u64) -> u64 {
        (self.input * input as f64 + self.output * output as f64).max(0.0).ceil() as u64
    }
}

/// The terms on which models are called for a purpose.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Terms {
    /// The purpose, such as `extract`.
    pub purpose: String,
    /// Limits of a day, shared by all processes and purposes.
    pub limits: DailyLimits,
    /// The price of the model; none: it costs no money.
    pub price: Option<Price>,
    /// True if a call may cost money and its price is not known: then it is not made.
    pub is_price_unknown: bool,
    /// Minutes by which the person's clock is ahead of UTC: a day begins at their midnight.
    pub offset_minutes: i32,
}

/// The accounts of a purpose.
#[derive(Debug)]
pub struct Ledger<'e> {
    engine: &'e Engine,
    terms: Terms,
    project: Option<String>,
    /// Set when the caller wants to stop.
    is_stopped: &'e AtomicBool,
}

impl<'e> Ledger<'e> {
    /// Opens the accounts of a purpose; `is_stopped`: gives up what is running.
    pub fn new(engine: &'e Engine, terms: Terms, is_stopped: &'e AtomicBool) -> Self {
        Self { engine, terms, project: None, is_stopped }
    }

    /// Books the next calls for a project.
    pub fn book_for(&mut self, project: Option<String>) {
        self.project = project;
    }

    fn day(&self) -> i64 {
        self.engine.day(self.terms.offset_minutes)
    }
}

impl Accounts for Ledger<'_> {
    fn reserve(&self, model: &str, input: u64, output: u64) -> Result<u64, LlmError> {
        let Terms { purpose, limits, price, is_price_unknown, .. } = &self.terms;
        if limits.tokens == 0 {
            return Err(LlmError::Budget(
                "no model may be called: the limit is 0 tokens a day (`yore budget set --tokens N`)".to_owned(),
            ));
        }
        if *is_price_unknown {
            return Err(LlmError::Budget(format!(
                "the price of {model} is not known: set llm.price_input and llm.price_output, in dollars for a million tokens"
            )));
        }
        let call = NewCall {
            at: self.engine.now(),
            day: self.day(),
            purpose,
            model,
            project: self.project.as_deref(),
            tokens: input + output,
            cost_micro: price.map_or(0, |price| price.cost_micro(input, output)),
        };
        let reserved = self.engine.store().reserve_call(&call, *limits);
        match reserved.map_err(|error| LlmError::Budget(format!("the ledger cannot be written: {error}")))? {
            Spending::Reserved(number) => Ok(number),
            Spending::NoTokens(left) => Err(LlmError::Budget(format!(
                "the limit of {} tokens a day would be passed: {left} are left, the call may take {}",
                limits.tokens, call.tokens
            ))),
            Spending::NoMoney(left) => Err(LlmError::Budget(format!(
                "the limit of {} dollars a day would be passed: {} are left, the call may cost {}",
                dollars(limits.cost_micro),
                dollars(left),
                dollars(call.cost_micro)
            ))),
        }
    }

    fn settle(&self, reservation: u64, usage: Usage, failure: Option<&LlmError>) {
        // Nobody was asked yet.
        if matches!(failure, Some(LlmError::Unanswered(_))) {
            let _ = self.engine.store().release_call(reservation);
            return;
        }
        let Usage { input, output, is_estimated } = usage;
        let cost_micro = self.terms.price.map_or(0, |price| price.cost_micro(input, output));
        let took = Spent { calls: 1, failed: 0, input, output, cost_micro, is_estimated };
        // A ledger that cannot be written keeps the reservation, which is more.
        let _ = self.engine.store().settle_call(reservation, took, failure.map(LlmError::code));
    }

    fn is_off(&self) -> Option<String> {
        if self.is_stopped.load(Ordering::Relaxed) {
            return Some("stopped".to_owned());
        }
        self.engine.are_models_off().then(|| "models are switched off (`yore budget on`)".to_owned())
    }

    fn learned(&self, model: &str, tier: Tier, works: bool) {
        let _ = self.engine.store().note_tier(model, tier.as_str(), works, self.engine.now());
    }

    fn has(&self, model: &str, tier: Tier) -> Option<bool> {
        self.engine.store().tier_of(model, tier.as_str(), self.engine.now() - REMEMBERED_MS).ok().flatten()
    }
}

/// Returns an amount in dollars.
pub fn dollars(micro: u64) -> String {
    format!("{:.4}", micro as f64 / 1e6)
}

impl Engine {
    /// Returns the day that it is for somebody whose clock is so many minutes ahead of UTC, in days since 1970.
    pub fn day(&self, offset_minutes: i32) -> i64 {
        (self.now() + i64::from(offset_minutes) * 60_000).div_euclid(DAY_MS)
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
        self.directory().join(OFF).exists()
    }

    /// Switches all models off, also what is running, or on again.
    ///
    /// # Errors
    /// The data directory cannot be written.
    pub fn switch_models(&self, is_off: bool) -> std::io::Result<()> {
        let path = self.directory().join(OFF);
        if is_off {
            return std::fs::write(path, b"");
        }
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// Returns whether a failure ends a run, because every further call would fail in the same way.
pub(crate) fn ends_run(error: &LlmError) -> bool {
    match error {
        // A prompt that is too long, or that offends, is that of one conversation.
        LlmError::Status { status, .. } => matches!(status, 401..=404),
        LlmError::Refused(_) => false,
        LlmError::Resting(_) => true,
        other => matches!(other.class(), Class::Budget | Class::Permanent),
    }
}
