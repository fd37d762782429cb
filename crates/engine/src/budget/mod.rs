//! Enforces the daily limits of language models: reserves tokens and money before each call, and books what it took.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use yore_core::time::UtcMillis;

use crate::llm::{Accounts, Class, Denial, LlmError, Tier, Usage};
use crate::store::{BATCH, DailyLimits, NewCall, Spending, Spent, Store};

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

/// The share of the price that a batch costs, with every provider that has them.
const BATCH_SHARE: f64 = 0.5;

impl Terms {
    /// Returns the terms on which the same model is called in batches.
    #[must_use]
    pub fn in_batches(self) -> Self {
        let price = self.price.map(|price| Price { input: price.input * BATCH_SHARE, output: price.output * BATCH_SHARE });
        Self { purpose: format!("{}{BATCH}", self.purpose), price, ..self }
    }
}

/// The accounts of a purpose.
#[derive(Debug)]
pub struct Ledger<'e> {
    store: &'e Store,
    directory: &'e Path,
    now: fn() -> UtcMillis,
    terms: Terms,
    project: Option<String>,
    /// Set when the caller wants to stop.
    is_stopped: &'e AtomicBool,
}

impl<'e> Ledger<'e> {
    /// Opens the accounts of a purpose; `is_stopped`: gives up what is running.
    pub(crate) fn new(
        store: &'e Store,
        directory: &'e Path,
        now: fn() -> UtcMillis,
        terms: Terms,
        is_stopped: &'e AtomicBool,
    ) -> Self {
        Self { store, directory, now, terms, project: None, is_stopped }
    }

    /// Books the calls for a project.
    #[must_use]
    pub fn for_project(self, project: Option<String>) -> Self {
        Self { project, ..self }
    }
}

impl Accounts for Ledger<'_> {
    fn reserve(&self, model: &str, input: u64, output: u64) -> Result<u64, LlmError> {
        let Terms { purpose, limits, price, is_price_unknown, .. } = &self.terms;
        if limits.tokens == 0 {
            return Err(Denial::NoTokens.into());
        }
        if *is_price_unknown {
            return Err(Denial::UnknownPrice(model.to_owned()).into());
        }
        let call = NewCall {
            at: (self.now)(),
            day: day((self.now)(), self.terms.offset_minutes),
            purpose,
            model,
            project: self.project.as_deref(),
            tokens: input + output,
            cost_micro: price.map_or(0, |price| price.cost_micro(input, output)),
        };
        let reserved = self.store.reserve_call(&call, *limits);
        let denial = match reserved.map_err(|error| Denial::Ledger(error.to_string()))? {
            Spending::Reserved(number) => return Ok(number),
            Spending::NoTokens(left) => Denial::Tokens { limit: limits.tokens, left, wanted: call.tokens },
            Spending::NoCalls => Denial::Calls(limits.calls),
            Spending::NoMoney(left) => Denial::Dollars { limit: limits.cost_micro, left, wanted: call.cost_micro },
        };
        Err(denial.into())
    }

    fn settle(&self, reservation: u64, usage: Usage, failure: Option<&LlmError>) {
        // Nobody was asked yet.
        if matches!(failure, Some(LlmError::Unanswered(_) | LlmError::NoKey(_))) {
            let _ = self.store.release_call(reservation);
            return;
        }
        let Usage { input, output, is_estimated } = usage;
        let cost_micro = self.terms.price.map_or(0, |price| price.cost_micro(input, output));
        let took = Spent { calls: 1, failed: 0, input, output, cost_micro, is_estimated };
        // A ledger that cannot be written keeps the reservation, which is more.
        let _ = self.store.settle_call(reservation, took, failure.map(LlmError::code));
    }

    fn is_off(&self) -> Option<Denial> {
        if self.terms.limits.tokens == 0 {
            return Some(Denial::NoTokens);
        }
        if self.is_stopped.load(Ordering::Relaxed) {
            return Some(Denial::Stopped);
        }
        are_off(self.directory).then_some(Denial::Off)
    }

    fn learned(&self, model: &str, tier: Tier, works: bool) {
        let _ = self.store.note_tier(model, tier.as_str(), works, (self.now)());
    }

    fn has(&self, model: &str, tier: Tier) -> Option<bool> {
        self.store.tier_of(model, tier.as_str(), (self.now)() - REMEMBERED_MS).ok().flatten()
    }
}

/// Returns the day that it is for somebody whose clock is so many minutes ahead of UTC, in days since 1970.
pub(crate) fn day(now: UtcMillis, offset_minutes: i32) -> i64 {
    (now + i64::from(offset_minutes) * 60_000).div_euclid(DAY_MS)
}

/// Switches all models of a data directory off, also what is running, or on again. The memory need not be opened for it.
///
/// # Errors
/// The data directory cannot be written.
pub fn switch_models(directory: &Path, is_off: bool) -> std::io::Result<()> {
    let path = directory.join(OFF);
    if is_off {
        return std::fs::write(path, b"");
    }
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Returns whether all models of a data directory are switched off.
pub(crate) fn are_off(directory: &Path) -> bool {
    directory.join(OFF).exists()
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
