//! Tells which upkeep is due, keeps the records of its runs, and gives the state that they tell.
//!
//! A run is recorded with its counts, duration and outcome. A job that fails stays due; after [`MOST_FAILURES`](super::MOST_FAILURES)
//! failures that are not transient it is given up until its next set time, and its failure is shown until it is done.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use yore_core::schedule::Timetable;
use yore_core::time::UtcMillis;

use super::jobs::{Failure, Job, JobWorker, Lane, NewJob, Work};
use super::upkeep_table::Upkeep;
use crate::Engine;
use crate::error::EngineError;
use crate::ingest::IngestError;
use crate::platform::FileLock;
use crate::store::UpkeepRow;

/// Milliseconds for which runs are kept: 30 days.
const KEPT_MS: UtcMillis = 30 * 24 * 3_600 * 1_000;
/// Share of a database that is free before it is rewritten, in percent.
const MOST_FREE: u64 = 20;

/// The counts of a run, by name.
pub type Counts = BTreeMap<String, u64>;

/// A run of upkeep that was done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpkeepRun {
    /// Time at which it began.
    pub began: UtcMillis,
    /// Time at which it ended.
    pub ended: UtcMillis,
    /// Its counts.
    pub counts: Counts,
}

/// When a job of upkeep was done and failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpkeepState {
    /// The job.
    pub upkeep: Upkeep,
    /// Time at which the last run that was done ended.
    pub done: Option<UtcMillis>,
    /// The last run that was done.
    #[serde(default)]
    pub run: Option<UpkeepRun>,
    /// Time of the last failure.
    pub failed: Option<UtcMillis>,
    /// Time of the first failure since it was done last; `None` if it does not fail.
    #[serde(default)]
    pub failing_since: Option<UtcMillis>,
    /// Code and text of the last failure.
    pub error: Option<(String, String)>,
    /// Failures in a row with this error.
    #[serde(default)]
    pub tries: u32,
    /// True if it failed too often, and is tried again only at its next set time.
    pub is_given_up: bool,
}

impl UpkeepState {
    /// Returns the state of a job that was never run.
    pub fn new(upkeep: Upkeep) -> Self {
        Self { upkeep, done: None, run: None, failed: None, failing_since: None, error: None, tries: 0, is_given_up: false }
    }

    /// Returns whether it failed since it was done last.
    pub fn is_failing(&self) -> bool {
        self.failing_since.is_some()
    }

    /// Returns whether it is due: it was not done since its last set time, and if it was given up, it was not tried since then either.
    pub fn is_due(&self, timetable: &Timetable, now: UtcMillis) -> bool {
        let is_due = |at| timetable.is_due(self.upkeep.cadence(), at, now);
        is_due(self.done) && (!self.is_given_up || is_due(self.failed))
    }

    /// Returns when it runs next: now if it is due.
    pub fn next(&self, timetable: &Timetable, now: UtcMillis) -> UtcMillis {
        if self.is_due(timetable, now) { now } else { timetable.next(self.upkeep.cadence(), now) }
    }
}

/// The right to do upkeep: one process of a data directory has it at a time. A process that ends, however it ends, gives it back.
#[derive(Debug)]
pub struct UpkeepTurn {
    _lock: Option<FileLock>,
}

impl Engine {
    /// Takes the right to do upkeep; `None` while another process does upkeep. Where the file system has no locks, nobody waits.
    ///
    /// # Errors
    /// When the data directory's locks cannot be written.
    pub fn upkeep_turn(&self) -> Result<Option<UpkeepTurn>, EngineError> {
        let locks = self.directory().join("locks");
        let fail = |error| EngineError::from(IngestError::DataDirectory { path: locks.clone(), error });
        crate::platform::create_private_directory(&locks).map_err(fail)?;
        let lock = FileLock::open(&locks.join("upkeep")).map_err(fail)?;
        Ok(match lock.try_lock() {
            Ok(true) => Some(UpkeepTurn { _lock: Some(lock) }),
            Ok(false) => None,
            Err(_) => Some(UpkeepTurn { _lock: None }),
        })
    }

    /// Requests the upkeep that is due, also after the computer slept or its clock was set back. What a language model does waits, and stays
    /// due, while sessions wait for one: they come first.
    pub fn queue_due_upkeep(&self, timetable: &Timetable) -> Result<(), EngineError> {
        let now = self.now();
        let learning = self.job_counts(Lane::Learn)?;
        let may_run = |upkeep: Upkeep| upkeep != Upkeep::Understand || learning.queued + learning.leased == 0;
        let due = self.upkeep()?.into_iter().filter(|state| state.is_due(timetable, now) && may_run(state.upkeep));
        let jobs: Vec<NewJob> = due.map(|state| NewJob { work: Work::Upkeep(state.upkeep), delay_ms: 0, stamp: None }).collect();
        self.queue_jobs(&jobs).map(drop)
    }

    /// Records a run that began then and ended now. The same failure again is counted with the one before.
    pub fn record_upkeep(&self, upkeep: Upkeep, began: UtcMillis, outcome: &Result<Counts, Failure>) -> Result<(), EngineError> {
        let now = self.now();
        let counts = outcome.as_ref().ok().and_then(|counts| serde_json::to_string(counts).ok());
        let run = UpkeepRow {
            job: upkeep.as_str().to_owned(),
            // A clock that was set back while it ran.
            began: began.min(now),
            ended: now,
            counts: counts.unwrap_or_else(|| "{}".to_owned()),
            error: outcome.as_ref().err().map(|failure| (failure.code.clone(), failure.kept_text())),
            tries: 1,
        };
        Ok(self.store().record_upkeep(&run, now - KEPT_MS)?)
    }

    /// Records the failure of upkeep that was taken from the queue: it is retried after a pause or given up like any other job. Returns
    /// whether it was given up.
    pub fn fail_upkeep(
        &self,
        worker: &JobWorker,
        job: &Job,
        upkeep: Upkeep,
        began: UtcMillis,
        failure: &Failure,
    ) -> Result<bool, EngineError> {
        self.record_upkeep(upkeep, began, &Err(failure.clone()))?;
        self.fail_job(worker, job, failure, None)
    }

    /// Returns when each job of upkeep was done last, and when and why it failed last.
    pub fn upkeep(&self) -> Result<Vec<UpkeepState>, EngineError> {
        let state = |upkeep: Upkeep| -> Result<UpkeepState, EngineError> {
            let rows = self.store().upkeep_rows(upkeep.as_str())?;
            let done = |run: UpkeepRow| UpkeepRun {
                began: run.began,
                ended: run.ended,
                counts: serde_json::from_str(&run.counts).unwrap_or_default(),
            };
            Ok(UpkeepState {
                upkeep,
                done: rows.done.as_ref().map(|run| run.ended),
                run: rows.done.map(done),
                failed: rows.failed.as_ref().map(|run| run.ended),
                failing_since: rows.failing_since,
                tries: rows.failed.as_ref().map_or(0, |run| run.tries),
                error: rows.failed.and_then(|run| run.error),
                is_given_up: self.store().is_given_up("upkeep", upkeep.as_str())?,
            })
        };
        Upkeep::ALL.into_iter().map(state).collect()
    }

    /// Returns what SQLite's quick check finds wrong with the database; empty if it is sound, or if `go_on` ended the check.
    pub fn store_problems(&self, go_on: &(dyn Fn() -> bool + Sync)) -> Result<Vec<String>, EngineError> {
        Ok(self.store().quick_problems(go_on)?.unwrap_or_default())
    }

    /// Renews the statistics by which SQLite plans its queries, where they are out of date.
    pub fn optimise_store(&self) -> Result<(), EngineError> {
        Ok(self.store().optimise()?)
    }

    /// Rewrites the database if more than a fifth of it is free; returns the bytes that this gave back. Needs the space of the database
    /// again while it runs, and other writers wait for it. When `go_on` says no, the database stays as it was.
    ///
    /// # Errors
    /// When the disk is full: the database then stays as it was.
    pub fn compact_store(&self, go_on: &(dyn Fn() -> bool + Sync)) -> Result<u64, EngineError> {
        let (all, free) = self.store().room()?;
        if free * 100 <= all * MOST_FREE {
            return Ok(0);
        }
        if !self.store().rewrite_while(go_on)? {
            return Ok(0);
        }
        Ok(all.saturating_sub(self.store().room()?.0))
    }
}
