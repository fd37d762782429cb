//! Work that is done later, by whoever has the time: a durable queue.
//!
//! - [`NewJob`], [`Job`]: what is to be done, about what
//! - [`JobWorker`]: this process as one that works; its jobs return to the queue when it dies
//! - the facade's methods: ask for work, take it, say how it ended
//!
//! A target waits once, however often it is asked for, from the moment at which it was first asked
//! for: what goes on without a pause is not put off for ever. A failure that passes by itself is
//! tried again for ever, after 1, 2, 4, 8, and then each 10 seconds; one that does not is given up
//! after [`MOST_FAILURES`], stays visible, and is tried again when its target changes or somebody
//! asks. No job waits for another.

use serde::{Deserialize, Serialize};
use yore_core::time::UtcMillis;

use crate::Engine;
use crate::error::EngineError;
use crate::ingest::source::Stamp;
use crate::ingest::{Holder, IngestError};
use crate::store::{Failed, JobRow, NewJob as NewRow, StoreResult};

/// Failures of the kind that no waiting mends, before a job is given up.
pub const MOST_FAILURES: u32 = 5;
/// Pauses after a failure in milliseconds; the last one repeats.
const PAUSES: [UtcMillis; 5] = [1_000, 2_000, 4_000, 8_000, 10_000];
/// An error's words are kept up to this many bytes.
const LONGEST_ERROR: usize = 500;

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobKind {
    /// Read what is new in a unit; the payload is its source.
    Ingest,
    /// Look at all units under a root; the payload is their source.
    Scan,
}

impl JobKind {
    /// The stored name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ingest => "ingest",
            Self::Scan => "scan",
        }
    }

    /// The kind with this stored name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Ingest, Self::Scan].into_iter().find(|kind| kind.as_str() == name)
    }
}

/// Work to be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewJob {
    /// What is to be done.
    pub kind: JobKind,
    /// About what: a path, an address.
    pub target: String,
    /// What the kind needs beside it.
    pub payload: String,
    /// How long it waits for more of the same, from now, in milliseconds.
    pub delay_ms: UtcMillis,
    /// How the target stands, where that is known: a target that was given up is tried again only
    /// when it stands differently, or always where that is not known.
    pub stamp: Option<Stamp>,
}

/// Work that was taken from the queue, or is shown in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Its number.
    pub id: i64,
    /// What is to be done.
    pub kind: JobKind,
    /// About what.
    pub target: String,
    /// What the kind needs beside it.
    pub payload: String,
    /// When it was first asked for.
    pub arrived: UtcMillis,
    /// From when on it may be done.
    pub not_before: UtcMillis,
    /// Failures in a row.
    pub failures: u32,
    /// Of these, those that no waiting mends.
    pub bad_failures: u32,
    /// Code and words of the last failure.
    pub error: Option<(String, String)>,
}

impl Job {
    fn of(row: JobRow) -> Option<Self> {
        Some(Self {
            id: row.id,
            // A kind of a newer yore is left to it.
            kind: JobKind::parse(&row.kind)?,
            target: row.target,
            payload: row.payload,
            arrived: row.arrived,
            not_before: row.not_before,
            failures: row.failures,
            bad_failures: row.bad_failures,
            error: row.error,
        })
    }
}

/// How a job failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Stable code.
    pub code: String,
    /// What went wrong, without a word of what was read.
    pub text: String,
    /// Whether waiting may mend it.
    pub is_transient: bool,
}

impl Failure {
    /// A failure of the whole call.
    pub fn of(error: &EngineError) -> Self {
        Self { code: error.code().to_owned(), text: error.to_string(), is_transient: error.is_transient() }
    }
}

/// The queue in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobCounts {
    /// That wait.
    pub queued: u64,
    /// That are being done.
    pub leased: u64,
    /// That were given up.
    pub dead: u64,
}

/// This process as one that works jobs off. When it ends, however it ends, its jobs are free.
#[derive(Debug)]
pub struct JobWorker {
    holder: Holder,
}

impl Engine {
    /// Makes this process one that works.
    ///
    /// # Errors
    /// When the data directory's locks cannot be written.
    pub fn job_worker(&self) -> Result<JobWorker, EngineError> {
        let directory = self.directory().join("locks");
        let fail = |error: std::io::Error| IngestError::DataDirectory { path: directory.clone(), error };
        let mut random = [0u8; 16];
        getrandom::fill(&mut random).map_err(|error| fail(std::io::Error::other(error.to_string())))?;
        Ok(JobWorker { holder: Holder::new(&directory, random).map_err(fail)? })
    }

    /// Asks for work; tells of each job whether none of its kind and target waited yet.
    pub fn queue_jobs(&self, jobs: &[NewJob]) -> Result<Vec<bool>, EngineError> {
        let now = self.now();
        let rows: Vec<NewRow<'_>> = jobs
            .iter()
            .map(|job| NewRow {
                kind: job.kind.as_str(),
                target: &job.target,
                payload: &job.payload,
                arrived: now,
                not_before: now + job.delay_ms,
                stamp: job.stamp.map(|stamp| (stamp.size, stamp.version)),
            })
            .collect();
        Ok(self.store().queue_jobs(&rows)?)
    }

    /// Takes jobs that are due, at most `limit`.
    pub fn take_jobs(&self, worker: &JobWorker, limit: usize) -> Result<Vec<Job>, EngineError> {
        let rows = self.store().take_jobs(worker.holder.name(), self.now(), limit)?;
        Ok(rows.into_iter().filter_map(Job::of).collect())
    }

    /// Milliseconds until a job is due, 0 when one is; `None` when none waits.
    pub fn next_job_in(&self) -> Result<Option<UtcMillis>, EngineError> {
        let now = self.now();
        Ok(self.store().next_job(now)?.map(|due| (due - now).max(0)))
    }

    /// Makes jobs of this kind due that wait for more of the same; returns how many.
    pub fn hurry_jobs(&self, kind: JobKind) -> Result<usize, EngineError> {
        Ok(self.store().hurry_jobs(kind.as_str(), self.now())?)
    }

    /// How many jobs are due or being done.
    pub fn pressing_jobs(&self) -> Result<u64, EngineError> {
        Ok(self.store().pressing_jobs(self.now())?)
    }

    /// These jobs are done.
    pub fn finish_jobs(&self, worker: &JobWorker, jobs: &[i64]) -> Result<(), EngineError> {
        Ok(self.store().finish_jobs(worker.holder.name(), jobs)?)
    }

    /// Puts jobs back that were not begun, or were interrupted.
    pub fn return_jobs(&self, worker: &JobWorker, jobs: &[i64]) -> Result<(), EngineError> {
        Ok(self.store().return_jobs(worker.holder.name(), jobs)?)
    }

    /// A job failed: it is tried again after a pause, or given up. Says whether it was given up;
    /// `stamp` is how its target stands then.
    pub fn fail_job(&self, worker: &JobWorker, job: &Job, failure: &Failure, stamp: Option<Stamp>) -> Result<bool, EngineError> {
        let failures = job.failures.saturating_add(1);
        let bad_failures = job.bad_failures + u32::from(!failure.is_transient);
        let is_dead = bad_failures >= MOST_FAILURES;
        let pause = PAUSES[(failures as usize - 1).min(PAUSES.len() - 1)];
        let end = (0..=LONGEST_ERROR.min(failure.text.len())).rev().find(|at| failure.text.is_char_boundary(*at)).unwrap_or(0);
        let failed = Failed {
            failures,
            bad_failures,
            code: &failure.code,
            text: &failure.text[..end],
            again: (!is_dead).then(|| self.now() + pause),
            stamp: stamp.map(|stamp| (stamp.size, stamp.version)),
        };
        self.store().fail_job(worker.holder.name(), job.id, &failed)?;
        Ok(is_dead)
    }

    /// Puts back what processes had taken that are dead by now; returns how many jobs.
    pub fn recover_jobs(&self, worker: &JobWorker) -> Result<usize, EngineError> {
        Ok(self.store().recover_jobs(|owner| worker.holder.is_alive(owner))?)
    }

    /// Tries again what was given up: one target, or all.
    pub fn revive_jobs(&self, target: Option<&str>) -> Result<usize, EngineError> {
        Ok(self.store().revive_jobs(target, self.now())?)
    }

    /// What was given up, longest ago first.
    pub fn dead_jobs(&self, limit: usize) -> Result<Vec<Job>, EngineError> {
        self.listed(self.store().jobs("dead", limit))
    }

    /// What waits, in the order in which it is due.
    pub fn queued_jobs(&self, limit: usize) -> Result<Vec<Job>, EngineError> {
        self.listed(self.store().jobs("queued", limit))
    }

    fn listed(&self, rows: StoreResult<Vec<JobRow>>) -> Result<Vec<Job>, EngineError> {
        Ok(rows?.into_iter().filter_map(Job::of).collect())
    }

    /// Whether a file was read, as a whole or in parts.
    pub fn knows_file(&self, source: &str, path: &str) -> Result<bool, EngineError> {
        Ok(self.store().knows_file(source, path)?)
    }

    /// The queue in numbers.
    pub fn job_counts(&self) -> Result<JobCounts, EngineError> {
        let (queued, leased, dead) = self.store().job_counts()?;
        Ok(JobCounts { queued, leased, dead })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;
    use crate::EngineOptions;
    use crate::store::StoreOptions;

    /// One clock for each thread would be better; tests of this module take turns instead.
    static CLOCK: AtomicI64 = AtomicI64::new(0);
    static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());

    struct Fixture {
        _directory: tempfile::TempDir,
        engine: Engine,
        worker: JobWorker,
        _turn: std::sync::MutexGuard<'static, ()>,
    }

    fn fixture() -> Fixture {
        let turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        CLOCK.store(1_000_000, Ordering::SeqCst);
        let directory = tempfile::tempdir().unwrap();
        let engine = Engine::open(EngineOptions {
            directory: directory.path().to_path_buf(),
            create: true,
            store: StoreOptions::default(),
            redaction_patterns: Vec::new(),
            model: None,
            model_threads: 1,
            now: || CLOCK.load(Ordering::SeqCst),
        })
        .unwrap();
        let worker = engine.job_worker().unwrap();
        Fixture { _directory: directory, engine, worker, _turn: turn }
    }

    fn pass(milliseconds: i64) {
        CLOCK.fetch_add(milliseconds, Ordering::SeqCst);
    }

    fn file(target: &str) -> NewJob {
        NewJob { kind: JobKind::Ingest, target: target.into(), payload: "jsonl".into(), delay_ms: 5_000, stamp: None }
    }

    fn stamped(target: &str, size: u64) -> NewJob {
        NewJob { stamp: Some(Stamp { size, version: 1 }), ..file(target) }
    }

    fn taken(fixture: &Fixture) -> Vec<Job> {
        fixture.engine.take_jobs(&fixture.worker, 100).unwrap()
    }

    fn bad(is_transient: bool) -> Failure {
        Failure { code: "parse".into(), text: "no".into(), is_transient }
    }

    #[test]
    fn file_that_never_rests_is_read_after_one_window() {
        let fixture = fixture();
        for _ in 0..10 {
            fixture.engine.queue_jobs(&[file("/t/a")]).unwrap();
            pass(490);
        }
        assert_eq!(taken(&fixture), []);
        pass(200);
        let jobs = taken(&fixture);
        assert_eq!((jobs.len(), jobs[0].arrived), (1, 1_000_000));
        // What comes while it is read is read afterwards.
        fixture.engine.queue_jobs(&[file("/t/a")]).unwrap();
        fixture.engine.finish_jobs(&fixture.worker, &[jobs[0].id]).unwrap();
        assert_eq!(fixture.engine.next_job_in().unwrap(), Some(5_000));
        pass(5_000);
        assert_eq!(taken(&fixture).len(), 1);
    }

    #[test]
    fn arrivals_are_batched_and_later_ones_wait_for_the_next_batch() {
        let fixture = fixture();
        fixture.engine.queue_jobs(&[file("/t/a"), file("/t/b")]).unwrap();
        pass(5_001);
        fixture.engine.queue_jobs(&[file("/t/c")]).unwrap();
        let targets = |jobs: Vec<Job>| jobs.into_iter().map(|job| job.target).collect::<Vec<_>>();
        assert_eq!(targets(taken(&fixture)), ["/t/a", "/t/b"]);
        pass(5_000);
        assert_eq!(targets(taken(&fixture)), ["/t/c"]);
    }

    #[test]
    fn job_that_waits_is_pulled_forward_and_a_failed_one_keeps_its_pause() {
        let fixture = fixture();
        fixture.engine.queue_jobs(&[file("/t/a"), file("/t/b")]).unwrap();
        assert_eq!(fixture.engine.pressing_jobs().unwrap(), 0);
        assert_eq!(fixture.engine.queue_jobs(&[NewJob { delay_ms: 0, ..file("/t/a") }]).unwrap(), [false]);
        assert_eq!(fixture.engine.pressing_jobs().unwrap(), 1);
        let jobs = taken(&fixture);
        assert_eq!((jobs.len(), jobs[0].target.as_str()), (1, "/t/a"));
        assert!(!fixture.engine.fail_job(&fixture.worker, &jobs[0], &bad(true), None).unwrap());
        assert_eq!(fixture.engine.hurry_jobs(JobKind::Scan).unwrap(), 0);
        assert_eq!(fixture.engine.hurry_jobs(JobKind::Ingest).unwrap(), 1);
        assert_eq!(taken(&fixture)[0].target, "/t/b");
        assert_eq!(fixture.engine.pressing_jobs().unwrap(), 1, "it is being done");
    }

    #[test]
    fn transient_failures_are_tried_for_ever_with_growing_pauses() {
        let fixture = fixture();
        fixture.engine.queue_jobs(&[NewJob { delay_ms: 0, ..file("/t/a") }]).unwrap();
        for pause in [1, 2, 4, 8, 10, 10, 10, 10] {
            let jobs = taken(&fixture);
            assert_eq!(jobs.len(), 1, "after {pause} s");
            assert!(!fixture.engine.fail_job(&fixture.worker, &jobs[0], &bad(true), None).unwrap());
            assert_eq!(fixture.engine.next_job_in().unwrap(), Some(pause * 1_000));
            pass(pause * 1_000);
        }
    }

    #[test]
    fn bad_target_is_given_up_seen_and_taken_up_again_when_it_changes() {
        let fixture = fixture();
        fixture.engine.queue_jobs(&[stamped("/t/bad", 7)]).unwrap();
        for failure in 1..=MOST_FAILURES {
            pass(10_000);
            let jobs = taken(&fixture);
            let is_dead = fixture.engine.fail_job(&fixture.worker, &jobs[0], &bad(false), Some(Stamp { size: 7, version: 1 }));
            assert_eq!(is_dead.unwrap(), failure == MOST_FAILURES);
        }
        let dead = fixture.engine.dead_jobs(10).unwrap();
        assert_eq!((dead.len(), dead[0].error.clone()), (1, Some(("parse".to_owned(), "no".to_owned()))));
        fixture.engine.queue_jobs(&[stamped("/t/bad", 7), stamped("/t/good", 7)]).unwrap();
        pass(10_000);
        assert_eq!(taken(&fixture).len(), 1, "the other goes on");
        fixture.engine.queue_jobs(&[stamped("/t/bad", 8)]).unwrap();
        assert_eq!(fixture.engine.job_counts().unwrap(), JobCounts { queued: 1, leased: 1, dead: 0 });
    }

    #[test]
    fn given_up_jobs_return_on_request() {
        let fixture = fixture();
        fixture.engine.queue_jobs(&[file("/t/bad")]).unwrap();
        for _ in 0..MOST_FAILURES {
            pass(10_000);
            let jobs = taken(&fixture);
            fixture.engine.fail_job(&fixture.worker, &jobs[0], &bad(false), None).unwrap();
        }
        assert_eq!(fixture.engine.revive_jobs(Some("/t/other")).unwrap(), 0);
        assert_eq!(fixture.engine.revive_jobs(None).unwrap(), 1);
        assert_eq!(taken(&fixture)[0].bad_failures, 0);
    }

    #[test]
    fn jobs_of_the_dead_are_free_and_those_of_the_living_are_not() {
        let fixture = fixture();
        fixture.engine.queue_jobs(&[file("/t/a")]).unwrap();
        pass(5_000);
        let other = fixture.engine.job_worker().unwrap();
        assert_eq!(fixture.engine.take_jobs(&other, 10).unwrap().len(), 1);
        // The same was asked for again meanwhile: it waits once.
        fixture.engine.queue_jobs(&[file("/t/a")]).unwrap();
        assert_eq!(fixture.engine.recover_jobs(&fixture.worker).unwrap(), 0);
        drop(other);
        assert_eq!(fixture.engine.recover_jobs(&fixture.worker).unwrap(), 1);
        assert_eq!(fixture.engine.job_counts().unwrap(), JobCounts { queued: 1, leased: 0, dead: 0 });
    }

    #[test]
    fn clock_that_is_set_back_holds_nothing_up() {
        let fixture = fixture();
        fixture.engine.queue_jobs(&[file("/t/a")]).unwrap();
        pass(-900_000);
        assert_eq!(fixture.engine.next_job_in().unwrap(), Some(0));
        assert_eq!(taken(&fixture).len(), 1);
    }

    #[test]
    fn interrupted_jobs_are_due_at_once() {
        let fixture = fixture();
        fixture.engine.queue_jobs(&[file("/t/a")]).unwrap();
        pass(5_000);
        let jobs = taken(&fixture);
        fixture.engine.return_jobs(&fixture.worker, &[jobs[0].id]).unwrap();
        assert_eq!(taken(&fixture)[0].failures, 0);
    }
}
