//! The cost of language models, and the work that waits for one.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yore_core::time::format_utc;
use yore_engine::{LearnRequest, Spent};

use super::time;
use crate::account::account;
use crate::api::route::{Caller, Nothing, Route};
use crate::error::{CliError, CliResult};
use crate::llm::{limits, offset_minutes};
use crate::results::{Account, BudgetDay, BudgetRow, LearnWaiting, Taken, TokenDay, token_days};
use crate::statistics::{GIVEN_DAYS, given_by_day};

const DAY_MS: i64 = 86_400_000;
/// Most days that are listed.
const MOST_DAYS: u32 = 400;

/// Returns the routes.
pub fn routes() -> Vec<Route> {
    vec![
        Route::get(
            "/budget",
            "Returns the limits of a day, and what was taken today",
            &["day", "spent_on", "are_models_off"],
            today,
        ),
        Route::get(
            "/budget/days",
            "Lists what was taken by day, purpose, model and project, the last day first",
            &["ledger", "day"],
            days,
        ),
        Route::get(
            "/budget/given",
            "Lists tokens given to agents and taken by models, by day, of the last 30 days",
            &["ledger", "day"],
            given,
        ),
        Route::get(
            "/account",
            "Returns what sessions took with memory and without, and what memory cost",
            &["sessions", "outcomes", "ledger", "day"],
            worth,
        ),
        Route::get("/learning", "Returns what waits for a language model, and what one found", &["learning"], learning),
    ]
}

/// Returns the budget of today.
pub fn today(caller: &mut Caller<'_>, _: Nothing) -> CliResult<BudgetDay> {
    let day = caller.memory.day(offset_minutes())?;
    let spent = caller.memory.spent_on(day)?;
    let off = caller.memory.are_models_off()?;
    Ok(BudgetDay::of(limits(caller.config()), spent, off))
}

/// The days that are listed.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Days {
    /// Number of days, 1 to 400; 30 by default
    pub days: Option<u32>,
}

/// Lists what was taken.
pub fn days(caller: &mut Caller<'_>, Days { days }: Days) -> CliResult<Vec<BudgetRow>> {
    let days = days.unwrap_or(30);
    if !(1..=MOST_DAYS).contains(&days) {
        return Err(CliError::usage(format!("days: expected 1 to {MOST_DAYS}, not {days}"), None));
    }
    let today = caller.memory.day(offset_minutes())?;
    let rows = caller.memory.ledger(today - i64::from(days) + 1)?;
    let date = |day: i64| format_utc(day.saturating_mul(DAY_MS)).chars().take(10).collect();
    Ok(rows.iter().map(|row| BudgetRow::of(row, date(row.day))).collect())
}

/// Lists what agents were given and models took.
pub fn given(caller: &mut Caller<'_>, _: Nothing) -> CliResult<Vec<TokenDay>> {
    let today = caller.memory.day(offset_minutes())?;
    let rows = caller.memory.ledger(today - GIVEN_DAYS + 1)?;
    let mut spent: BTreeMap<i64, Spent> = BTreeMap::new();
    for row in rows {
        spent.entry(row.day).or_default().add(&row.spent);
    }
    let spent: Vec<(i64, Spent)> = spent.into_iter().collect();
    Ok(token_days(&given_by_day(caller.memory, None)?, &spent))
}

/// The sessions that an account is of.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OfSessions {
    /// Only of these projects
    pub project: Vec<String>,
    /// Only sessions last used at or after this time; 90 days ago unless it is given
    pub since: Option<String>,
}

/// Returns what memory was worth, and what it cost.
pub fn worth(caller: &mut Caller<'_>, OfSessions { project, since }: OfSessions) -> CliResult<Account> {
    let since = time("since", since.as_deref())?;
    account(caller.memory, project, since)
}

/// The work that waits for a language model, and what one found.
#[derive(Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct LearningState {
    /// True if a model reads sessions in the background
    pub auto: bool,
    /// The chosen model, as PROVIDER or PROVIDER/MODEL; none: no model was chosen
    pub with: Option<String>,
    /// Sessions that wait
    pub waiting: LearnWaiting,
    /// Sessions that a model has read so far
    pub sessions_read: u64,
    /// Memories that models found today
    pub found_today: u64,
    /// The sums that models took today
    pub today: Taken,
}

/// Returns the state of learning.
pub fn learning(caller: &mut Caller<'_>, _: Nothing) -> CliResult<LearningState> {
    let config = caller.config().clone();
    let day = caller.memory.day(offset_minutes())?;
    let since = day * DAY_MS - i64::from(offset_minutes()) * 60_000;
    let quiet_ms = i64::from(config.learn.quiet_minutes) * 60_000;
    let request = LearnRequest { without: Vec::new(), quiet_ms, kinds: Vec::new(), since, is_estimated: false };
    let found = caller.memory.learning(request)?;
    let spent: Spent = caller.memory.spent_on(day)?;
    let with = match (config.llm.provider.as_str(), config.llm.model.as_str()) {
        ("", _) => None,
        (provider, "") => Some(provider.to_owned()),
        (provider, model) => Some(format!("{provider}/{model}")),
    };
    Ok(LearningState {
        auto: config.learn.auto,
        with,
        waiting: LearnWaiting::of(&found, None),
        sessions_read: found.read,
        found_today: found.found,
        today: spent.into(),
    })
}
