//! Results about upkeep: the state of its jobs, what a run did, and what a cleanup forgot.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yore_core::memory::Memory;
use yore_core::schedule::Timetable;
use yore_core::time::{UtcMillis, format_utc};
use yore_engine::{Counts, Failure, Upkeep, UpkeepState};

/// The state of a job of upkeep (`yore upkeep status`).
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct UpkeepJob {
    /// Its name.
    pub job: String,
    /// Its work in a few words.
    pub description: String,
    /// `hourly`, `nightly`, `weekly` or `monthly`.
    pub cadence: String,
    /// Time at which it was done last, RFC 3339.
    pub done: Option<String>,
    /// Milliseconds that this took.
    pub milliseconds: Option<i64>,
    /// Its counts.
    pub counts: BTreeMap<String, u64>,
    /// `done`, `failed`, or `null` if it was not run yet.
    pub outcome: Option<String>,
    /// Time since when it fails.
    pub failing_since: Option<String>,
    /// Stable code of the last failure, if it fails.
    pub error_code: Option<String>,
    /// Text of the last failure, if it fails.
    pub error: Option<String>,
    /// Failures in a row with this error.
    pub tries: u32,
    /// True if it failed too often, and is tried again only when it is next due.
    pub given_up: bool,
    /// True if it is due.
    pub due: bool,
    /// Time at which it runs next if a daemon runs then.
    pub next: String,
}

/// A job of upkeep that fails.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct FailingUpkeep {
    /// Its name.
    pub job: String,
    /// Time since when it fails, RFC 3339.
    pub since: Option<String>,
    /// Why it failed last.
    pub error: Option<String>,
    /// True if it failed too often, and is tried again only when it is next due.
    pub given_up: bool,
}

impl From<&UpkeepState> for FailingUpkeep {
    fn from(state: &UpkeepState) -> Self {
        Self {
            job: state.upkeep.as_str().to_owned(),
            since: state.failing_since.map(format_utc),
            error: state.error.as_ref().map(|(_, text)| text.clone()),
            given_up: state.is_given_up,
        }
    }
}

/// A job that was run now (`yore upkeep run`).
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct UpkeepDone {
    /// Its name.
    pub job: String,
    /// Milliseconds that it took.
    pub milliseconds: i64,
    /// Its counts.
    pub counts: BTreeMap<String, u64>,
    /// Parts that failed; the others were done.
    pub problems: Vec<String>,
    /// Stable code of its failure.
    pub error_code: Option<String>,
    /// Why it failed.
    pub error: Option<String>,
}

/// The memories that a cleanup forgot, or would forget.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct CleanedUp {
    /// True if nothing was changed.
    pub dry_run: bool,
    /// Their number.
    pub memories: u64,
    /// The first of them.
    pub listed: Vec<CleanedMemory>,
    /// True if more remain than one call forgets.
    pub has_more: bool,
    /// Number of the operation that forgot them.
    pub operation: Option<u64>,
}

/// A memory that a cleanup forgot, or would forget.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct CleanedMemory {
    /// Its id.
    pub id: String,
    /// Time at which it was put away, RFC 3339.
    pub changed: String,
    /// Its words.
    pub statement: String,
}

impl UpkeepJob {
    /// Makes the state as data, with the times of a timetable.
    pub fn of(state: &UpkeepState, timetable: &Timetable, now: UtcMillis) -> Self {
        let is_failing = state.is_failing();
        let (error_code, error) = state.error.clone().filter(|_| is_failing).unzip();
        let outcome = if is_failing { Some("failed") } else { state.done.map(|_| "done") };
        Self {
            job: state.upkeep.as_str().to_owned(),
            description: state.upkeep.description().to_owned(),
            cadence: state.upkeep.cadence().as_str().to_owned(),
            done: state.done.map(format_utc),
            milliseconds: state.run.as_ref().map(|run| run.ended - run.began),
            counts: state.run.as_ref().map(|run| run.counts.clone()).unwrap_or_default(),
            outcome: outcome.map(str::to_owned),
            failing_since: state.failing_since.map(format_utc),
            error_code,
            error,
            tries: if is_failing { state.tries } else { 0 },
            given_up: state.is_given_up,
            due: state.is_due(timetable, now),
            next: format_utc(state.next(timetable, now)),
        }
    }
}

impl UpkeepDone {
    /// Makes the result of a run that took so many milliseconds.
    pub fn of(upkeep: Upkeep, milliseconds: i64, outcome: &Result<Counts, Failure>, problems: Vec<String>) -> Self {
        let failure = outcome.as_ref().err();
        Self {
            job: upkeep.as_str().to_owned(),
            milliseconds,
            counts: outcome.as_ref().ok().cloned().unwrap_or_default(),
            problems,
            error_code: failure.map(|failure| failure.code.clone()),
            error: failure.map(|failure| failure.text.clone()),
        }
    }
}

impl From<&Memory> for CleanedMemory {
    fn from(memory: &Memory) -> Self {
        Self { id: memory.id.to_string(), changed: format_utc(memory.changed), statement: memory.statement.clone() }
    }
}
