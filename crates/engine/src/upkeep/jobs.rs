//! The durable queue of background jobs: requests, leases, delays, retries, dead jobs.
//!
//! - [`Work`]: the kinds of work; [`Lane`]: jobs that one thread does one after another
//! - [`NewJob`], [`Job`]: a request for work, and a job in the queue
//! - [`JobWorker`]: this process as a worker; its jobs return to the queue when it dies
//! - methods of the facade: request work, take it, report how it ended
//!
//! A target waits in the queue once, however often it is requested, and its delay counts from the first
//! request, so that constant requests never put it off. A transient failure is retried without limit, after
//! 1, 2, 4, 8, and then each 10 seconds; one of a language model after 1, 2, 4 minutes and so on, up to 4 hours. A job with any other failure is given up after [`MOST_FAILURES`],
//! stays visible, and is retried when its target changes or on request. A failing job delays no other.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use yore_core::time::UtcMillis;

use super::upkeep_table::Upkeep;
use crate::Engine;
use crate::error::EngineError;
use crate::ingest::{Holder, IngestError, SourceRoot};
use crate::store::{Failed, Files, JobRow, NewJob as NewRow, StoreResult};
use yore_sources::source::Stamp;

/// Failures that are not transient before a job is given up.
pub const MOST_FAILURES: u32 = 5;
/// Pauses after a failure in milliseconds; the last one repeats.
const PAUSES: [UtcMillis; 5] = [1_000, 2_000, 4_000, 8_000, 10_000];
/// The first pause of a language model that fails, and how often it doubles: four hours at most.
const FIRST_LEARN_PAUSE: UtcMillis = 60_000;
const LEARN_DOUBLINGS: u32 = 8;
/// Maximum bytes kept of an error's text.
const LONGEST_ERROR: usize = 500;

/// A piece of work with all that it needs. To add a kind, add a variant here, an arm in each of its methods,
/// its name in [`Lane`]'s kinds, and an arm where its lane is processed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Work {
    /// Read what is new in a unit: the file that holds it.
    Ingest(SourceRoot),
    /// Look at all units under a root.
    Scan(SourceRoot),
    /// Keep the memory itself in order.
    Upkeep(Upkeep),
    /// Let a language model read the sessions that are quiet.
    Learn,
    /// Work of a kind that this version does not support: it is shown, and never done.
    Unknown {
        /// Its stored name.
        kind: String,
        /// Its stored target.
        target: String,
        /// Its stored payload.
        payload: String,
    },
}

/// A group of jobs that one thread does; jobs of one lane never wait for those of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Reading what agents write.
    Capture,
    /// Maintenance of the memory, which may take minutes and has no waiting user.
    Upkeep,
    /// Calls of a language model.
    Learn,
}

const INGEST: &str = "ingest";
const SCAN: &str = "scan";
const UPKEEP: &str = "upkeep";
/// Also the name under which the last run and the last failure of learning are noted.
const LEARN: &str = "learn";

impl Lane {
    /// Returns the stored names of its kinds. A job of any other kind, from a newer yore, is left alone.
    fn kinds(self) -> &'static [&'static str] {
        match self {
            Self::Capture => &[INGEST, SCAN],
            Self::Upkeep => &[UPKEEP],
            Self::Learn => &[LEARN],
        }
    }
}

impl Work {
    /// The stored name of the kind.
    pub fn kind(&self) -> &str {
        match self {
            Self::Ingest(_) => INGEST,
            Self::Scan(_) => SCAN,
            Self::Upkeep(_) => UPKEEP,
            Self::Learn => LEARN,
            Self::Unknown { kind, .. } => kind,
        }
    }

    /// Returns the target for display: a path, or a name.
    pub fn target(&self) -> String {
        match self {
            Self::Ingest(root) | Self::Scan(root) => root.path.display().to_string(),
            Self::Upkeep(upkeep) => upkeep.as_str().to_owned(),
            Self::Learn => LEARN.to_owned(),
            Self::Unknown { target, .. } => target.clone(),
        }
    }

    /// Returns the histories that it reads.
    pub fn root(&self) -> Option<&SourceRoot> {
        match self {
            Self::Ingest(root) | Self::Scan(root) => Some(root),
            Self::Upkeep(_) | Self::Learn | Self::Unknown { .. } => None,
        }
    }

    /// Returns its lane, or `None` if this version cannot do it.
    pub fn lane(&self) -> Option<Lane> {
        match self {
            Self::Ingest(_) | Self::Scan(_) => Some(Lane::Capture),
            Self::Upkeep(_) => Some(Lane::Upkeep),
            Self::Learn => Some(Lane::Learn),
            Self::Unknown { .. } => None,
        }
    }

    /// Returns the pause after so many failures in a row, in milliseconds.
    fn pause(&self, failures: u32) -> UtcMillis {
        let failures = failures.max(1) - 1;
        match self {
            Self::Learn => FIRST_LEARN_PAUSE << failures.min(LEARN_DOUBLINGS),
            _ => PAUSES[(failures as usize).min(PAUSES.len() - 1)],
        }
    }

    /// Returns target and payload as stored; the queue holds one job for each kind and target. `None` for a
    /// path that is not UTF-8.
    fn stored(&self) -> Option<(String, &str)> {
        match self {
            Self::Ingest(root) => Some((root.path.to_str()?.to_owned(), &root.source)),
            // One place may hold histories of several sources.
            Self::Scan(root) => Some((format!("{}:{}", root.source, root.path.to_str()?), &root.source)),
            Self::Upkeep(upkeep) => Some((upkeep.as_str().to_owned(), "")),
            Self::Learn => Some((LEARN.to_owned(), "")),
            Self::Unknown { target, payload, .. } => Some((target.clone(), payload)),
        }
    }

    /// Converts a row into work.
    fn read(kind: String, target: String, payload: String) -> Self {
        let read = match kind.as_str() {
            INGEST => Some(Self::Ingest(SourceRoot { source: payload.clone(), path: PathBuf::from(&target) })),
            SCAN => target
                .strip_prefix(&payload)
                .and_then(|rest| rest.strip_prefix(':'))
                .map(|path| Self::Scan(SourceRoot { source: payload.clone(), path: PathBuf::from(path) })),
            UPKEEP => Upkeep::parse(&target).map(Self::Upkeep),
            LEARN if target == LEARN => Some(Self::Learn),
            _ => None,
        };
        read.unwrap_or(Self::Unknown { kind, target, payload })
    }
}

/// A request for work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewJob {
    /// The work to do.
    pub work: Work,
    /// Time in milliseconds, from now, to wait for more requests of the same work.
    pub delay_ms: UtcMillis,
    /// State of the target, if known. A target that was given up is retried only when its state differs, or
    /// always if the state is not known.
    pub stamp: Option<Stamp>,
}

/// A job that was taken from the queue, or is listed in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "JobAsTold", from = "JobAsTold")]
pub struct Job {
    /// Its number.
    pub id: i64,
    /// The work to do.
    pub work: Work,
    /// Time of the first request.
    pub arrived: UtcMillis,
    /// Earliest time at which it may be done.
    pub not_before: UtcMillis,
    /// Failures in a row.
    pub failures: u32,
    /// Those of the failures that were not transient.
    pub bad_failures: u32,
    /// Code and text of the last failure.
    pub error: Option<(String, String)>,
}

/// A job as serialized, for example for `--json`.
#[derive(Serialize, Deserialize)]
struct JobAsTold {
    id: i64,
    kind: String,
    target: String,
    payload: String,
    arrived: UtcMillis,
    not_before: UtcMillis,
    failures: u32,
    bad_failures: u32,
    error: Option<(String, String)>,
}

impl From<Job> for JobAsTold {
    fn from(job: Job) -> Self {
        let Job { id, work, arrived, not_before, failures, bad_failures, error } = job;
        let (target, payload) = work.stored().unwrap_or_else(|| (work.target(), ""));
        let (kind, payload) = (work.kind().to_owned(), payload.to_owned());
        Self { id, kind, target, payload, arrived, not_before, failures, bad_failures, error }
    }
}

impl From<JobAsTold> for Job {
    fn from(told: JobAsTold) -> Self {
        let JobAsTold { id, kind, target, payload, arrived, not_before, failures, bad_failures, error } = told;
        Self { id, work: Work::read(kind, target, payload), arrived, not_before, failures, bad_failures, error }
    }
}

impl From<JobRow> for Job {
    fn from(row: JobRow) -> Self {
        Self {
            id: row.id,
            work: Work::read(row.kind, row.target, row.payload),
            arrived: row.arrived,
            not_before: row.not_before,
            failures: row.failures,
            bad_failures: row.bad_failures,
            error: row.error,
        }
    }
}

/// Reason why a job failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Stable code.
    pub code: String,
    /// Description of the error, without any of the text that was read.
    pub text: String,
    /// True if the error may pass by itself.
    pub is_transient: bool,
}

impl Failure {
    /// Converts an error of the whole call.
    pub fn of(error: &EngineError) -> Self {
        Self { code: error.code().to_owned(), text: error.to_string(), is_transient: error.is_transient() }
    }

    /// Returns the beginning of the text that is stored.
    pub(super) fn kept_text(&self) -> String {
        let end = (0..=LONGEST_ERROR.min(self.text.len())).rev().find(|at| self.text.is_char_boundary(*at)).unwrap_or(0);
        self.text[..end].to_owned()
    }
}

/// Numbers of jobs in the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobCounts {
    /// Jobs that wait.
    pub queued: u64,
    /// Jobs that are being done.
    pub leased: u64,
    /// Jobs that were given up.
    pub dead: u64,
}

/// This process as a worker. When the process ends, however it ends, its jobs are free.
#[derive(Debug)]
pub struct JobWorker {
    holder: Holder,
}

impl Engine {
    /// Registers this process as a worker.
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

    /// Requests work; returns for each job true if no job of its kind and target was waiting yet. Skips work
    /// whose path is not UTF-8: no unit has such a name.
    pub fn queue_jobs(&self, jobs: &[NewJob]) -> Result<Vec<bool>, EngineError> {
        let now = self.now();
        let stored: Vec<Option<(String, &str)>> = jobs.iter().map(|job| job.work.stored()).collect();
        let rows: Vec<NewRow<'_>> = jobs
            .iter()
            .zip(&stored)
            .filter_map(|(job, stored)| {
                let (target, payload) = stored.as_ref()?;
                Some(NewRow {
                    kind: job.work.kind(),
                    target,
                    payload,
                    arrived: now,
                    not_before: now + job.delay_ms,
                    stamp: job.stamp.map(|stamp| (stamp.size, stamp.version)),
                })
            })
            .collect();
        let mut is_new = self.store().queue_jobs(&rows)?.into_iter();
        Ok(stored.iter().map(|stored| stored.is_some() && is_new.next().unwrap_or(false)).collect())
    }

    /// Takes up to `limit` jobs of a lane that are due.
    pub fn take_jobs(&self, worker: &JobWorker, lane: Lane, limit: usize) -> Result<Vec<Job>, EngineError> {
        let owner = worker.holder.name();
        let rows = self.store().take_jobs(owner, lane.kinds(), self.now(), limit)?;
        let (jobs, unknown): (Vec<Job>, Vec<Job>) =
            rows.into_iter().map(Job::from).partition(|job| job.work.lane() == Some(lane));
        for job in unknown {
            // The kind is known, but not the target or payload: the job is given up, and stays visible.
            let text = "this version of yore does not know what is to be done".to_owned();
            let failure = Failure { code: "job/unknown".to_owned(), text, is_transient: false };
            self.fail_job(worker, &Job { bad_failures: MOST_FAILURES, ..job }, &failure, None)?;
        }
        Ok(jobs)
    }

    /// Returns the milliseconds until a job of a lane is due, 0 if one is due; `None` if none waits.
    pub fn next_job_in(&self, lane: Lane) -> Result<Option<UtcMillis>, EngineError> {
        let now = self.now();
        Ok(self.store().next_job(lane.kinds(), now)?.map(|due| (due - now).max(0)))
    }

    /// Makes ingestion jobs due that still wait for more of the same; returns their number.
    pub fn hurry_ingestion(&self) -> Result<usize, EngineError> {
        Ok(self.store().hurry_jobs(INGEST, self.now(), false)?)
    }

    /// Makes the learning that waits due at once, also after failures: something that it depends on was changed.
    pub fn hurry_learning(&self) -> Result<(), EngineError> {
        self.queue_jobs(&[NewJob { work: Work::Learn, delay_ms: 0, stamp: None }])?;
        Ok(self.store().hurry_jobs(LEARN, self.now(), true).map(drop)?)
    }

    /// Records that learning was done now, or why it failed; `None`: it was done.
    pub fn note_learning(&self, failure: Option<&Failure>) -> Result<(), EngineError> {
        match failure {
            Some(Failure { code, text, .. }) => self.store().note_failure(LEARN, self.now(), code, text)?,
            None => self.store().note_run(LEARN, self.now())?,
        }
        Ok(())
    }

    /// Returns why learning failed, if it has not been done since: code and text.
    pub fn learning_failure(&self) -> Result<Option<(String, String)>, EngineError> {
        let done = self.store().last_run(LEARN)?;
        let failed = self.store().last_failure(LEARN)?;
        Ok(failed.filter(|(at, ..)| done.is_none_or(|done| *at > done)).map(|(_, code, text)| (code, text)))
    }

    /// Returns the number of jobs of a lane that are due or being done.
    pub fn pressing_jobs(&self, lane: Lane) -> Result<u64, EngineError> {
        Ok(self.store().pressing_jobs(lane.kinds(), self.now())?)
    }

    /// Removes jobs that are done.
    pub fn finish_jobs(&self, worker: &JobWorker, jobs: &[i64]) -> Result<(), EngineError> {
        Ok(self.store().finish_jobs(worker.holder.name(), jobs)?)
    }

    /// Returns jobs to the queue that were not begun, or were interrupted.
    pub fn return_jobs(&self, worker: &JobWorker, jobs: &[i64]) -> Result<(), EngineError> {
        Ok(self.store().return_jobs(worker.holder.name(), jobs)?)
    }

    /// Records the failure of a job, which is retried after a pause or given up. Returns whether it was given
    /// up; `stamp` is the state of its target at the failure.
    pub fn fail_job(&self, worker: &JobWorker, job: &Job, failure: &Failure, stamp: Option<Stamp>) -> Result<bool, EngineError> {
        let failures = job.failures.saturating_add(1);
        let bad_failures = job.bad_failures + u32::from(!failure.is_transient);
        let is_dead = bad_failures >= MOST_FAILURES;
        let pause = job.work.pause(failures);
        let text = failure.kept_text();
        let failed = Failed {
            failures,
            bad_failures,
            code: &failure.code,
            text: &text,
            again: (!is_dead).then(|| self.now() + pause),
            stamp: stamp.map(|stamp| (stamp.size, stamp.version)),
        };
        self.store().fail_job(worker.holder.name(), job.id, &failed)?;
        Ok(is_dead)
    }

    /// Returns the jobs of dead processes to the queue; returns their number.
    pub fn recover_jobs(&self, worker: &JobWorker) -> Result<usize, EngineError> {
        Ok(self.store().recover_jobs(|owner| worker.holder.is_alive(owner))?)
    }

    /// Retries the jobs that were given up: those of one target, or all.
    pub fn revive_jobs(&self, target: Option<&str>) -> Result<usize, EngineError> {
        Ok(self.store().revive_jobs(target, self.now())?)
    }

    /// Lists the jobs that were given up, longest ago first.
    pub fn dead_jobs(&self, limit: usize) -> Result<Vec<Job>, EngineError> {
        self.listed(self.store().jobs("dead", limit))
    }

    fn listed(&self, rows: StoreResult<Vec<JobRow>>) -> Result<Vec<Job>, EngineError> {
        Ok(rows?.into_iter().map(Job::from).collect())
    }

    /// Returns whether a file was read, as a whole or in parts.
    pub fn knows_file(&self, source: &str, path: &str) -> Result<bool, EngineError> {
        Ok(!self.store().files(Files::Within(source, path))?.is_empty())
    }

    /// Returns the number of jobs of a lane by state.
    pub fn job_counts(&self, lane: Lane) -> Result<JobCounts, EngineError> {
        let (queued, leased, dead) = self.store().job_counts(lane.kinds())?;
        Ok(JobCounts { queued, leased, dead })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use yore_core::schedule::Timetable;

    use super::*;
    use crate::store::StoreOptions;
    use crate::upkeep::Counts;
    use crate::{EngineOptions, ModelServers};

    /// The tests share one clock, so they run one after another.
    static CLOCK: AtomicI64 = AtomicI64::new(0);
    static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());

    struct Fixture {
        _directory: tempfile::TempDir,
        engine: Engine,
        worker: JobWorker,
        _turn: std::sync::MutexGuard<'static, ()>,
    }

    const TIMES: Timetable = Timetable { minute: 180, weekday: 6, month_day: 1, offset_minutes: 0 };

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
            reranker: None,
            servers: ModelServers::default(),
            model_threads: 1,
            now: || CLOCK.load(Ordering::SeqCst),
            dynamics: yore_core::memory::dynamics::Dynamics::default(),
        })
        .unwrap();
        let worker = engine.job_worker().unwrap();
        Fixture { _directory: directory, engine, worker, _turn: turn }
    }

    fn pass(milliseconds: i64) {
        CLOCK.fetch_add(milliseconds, Ordering::SeqCst);
    }

    fn file(target: &str) -> NewJob {
        NewJob { work: Work::Ingest(SourceRoot { source: "jsonl".into(), path: target.into() }), delay_ms: 5_000, stamp: None }
    }

    fn stamped(target: &str, size: u64) -> NewJob {
        NewJob { stamp: Some(Stamp { size, version: 1 }), ..file(target) }
    }

    fn taken(fixture: &Fixture) -> Vec<Job> {
        fixture.engine.take_jobs(&fixture.worker, Lane::Capture, 100).unwrap()
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
        // Bytes that arrive during the read are read afterwards.
        fixture.engine.queue_jobs(&[file("/t/a")]).unwrap();
        fixture.engine.finish_jobs(&fixture.worker, &[jobs[0].id]).unwrap();
        assert_eq!(fixture.engine.next_job_in(Lane::Capture).unwrap(), Some(5_000));
        pass(5_000);
        assert_eq!(taken(&fixture).len(), 1);
    }

    #[test]
    fn arrivals_are_batched_and_later_ones_wait_for_the_next_batch() {
        let fixture = fixture();
        fixture.engine.queue_jobs(&[file("/t/a"), file("/t/b")]).unwrap();
        pass(5_001);
        fixture.engine.queue_jobs(&[file("/t/c")]).unwrap();
        let targets = |jobs: Vec<Job>| jobs.into_iter().map(|job| job.work.target()).collect::<Vec<_>>();
        assert_eq!(targets(taken(&fixture)), ["/t/a", "/t/b"]);
        pass(5_000);
        assert_eq!(targets(taken(&fixture)), ["/t/c"]);
    }

    #[test]
    fn job_that_waits_is_pulled_forward_and_a_failed_one_keeps_its_pause() {
        let fixture = fixture();
        fixture.engine.queue_jobs(&[file("/t/a"), file("/t/b")]).unwrap();
        assert_eq!(fixture.engine.pressing_jobs(Lane::Capture).unwrap(), 0);
        assert_eq!(fixture.engine.queue_jobs(&[NewJob { delay_ms: 0, ..file("/t/a") }]).unwrap(), [false]);
        assert_eq!(fixture.engine.pressing_jobs(Lane::Capture).unwrap(), 1);
        let jobs = taken(&fixture);
        assert_eq!((jobs.len(), jobs[0].work.target().as_str()), (1, "/t/a"));
        assert!(!fixture.engine.fail_job(&fixture.worker, &jobs[0], &bad(true), None).unwrap());
        assert_eq!(fixture.engine.hurry_ingestion().unwrap(), 1);
        assert_eq!(taken(&fixture)[0].work.target(), "/t/b");
        assert_eq!(fixture.engine.pressing_jobs(Lane::Capture).unwrap(), 1, "it is being done");
    }

    #[test]
    fn transient_failures_are_tried_for_ever_with_growing_pauses() {
        let fixture = fixture();
        fixture.engine.queue_jobs(&[NewJob { delay_ms: 0, ..file("/t/a") }]).unwrap();
        for pause in [1, 2, 4, 8, 10, 10, 10, 10] {
            let jobs = taken(&fixture);
            assert_eq!(jobs.len(), 1, "after {pause} s");
            assert!(!fixture.engine.fail_job(&fixture.worker, &jobs[0], &bad(true), None).unwrap());
            assert_eq!(fixture.engine.next_job_in(Lane::Capture).unwrap(), Some(pause * 1_000));
            pass(pause * 1_000);
        }
    }

    #[test]
    fn learning_that_fails_waits_twice_as_long_each_time_and_begins_anew_when_it_is_hurried() {
        let fixture = fixture();
        let learning = |delay_ms| [NewJob { work: Work::Learn, delay_ms, stamp: None }];
        let taken = || fixture.engine.take_jobs(&fixture.worker, Lane::Learn, 9).unwrap();
        fixture.engine.queue_jobs(&learning(0)).unwrap();
        for minutes in [1, 2, 4, 8, 16, 32, 64, 128, 256, 256] {
            let job = taken().pop().unwrap_or_else(|| panic!("after {minutes} minutes"));
            assert!(!fixture.engine.fail_job(&fixture.worker, &job, &bad(true), None).unwrap());
            fixture.engine.queue_jobs(&learning(0)).unwrap();
            assert_eq!(fixture.engine.next_job_in(Lane::Learn).unwrap(), Some(minutes * 60_000), "another request keeps it");
            pass(minutes * 60_000);
        }
        let job = taken().pop().unwrap();
        assert!(!fixture.engine.fail_job(&fixture.worker, &job, &bad(true), None).unwrap());
        fixture.engine.hurry_learning().unwrap();
        let hurried = taken();
        assert_eq!((hurried.len(), hurried[0].failures), (1, 0));
        fixture.engine.finish_jobs(&fixture.worker, &[hurried[0].id]).unwrap();
        fixture.engine.note_learning(Some(&bad(true))).unwrap();
        assert!(fixture.engine.learning_failure().unwrap().is_some());
        pass(1);
        fixture.engine.note_learning(None).unwrap();
        assert_eq!(fixture.engine.learning_failure().unwrap(), None);
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
        assert_eq!(fixture.engine.job_counts(Lane::Capture).unwrap(), JobCounts { queued: 1, leased: 1, dead: 0 });
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
        assert_eq!(fixture.engine.take_jobs(&other, Lane::Capture, 10).unwrap().len(), 1);
        // Meanwhile the same target was requested again: it waits once.
        fixture.engine.queue_jobs(&[file("/t/a")]).unwrap();
        assert_eq!(fixture.engine.recover_jobs(&fixture.worker).unwrap(), 0);
        drop(other);
        assert_eq!(fixture.engine.recover_jobs(&fixture.worker).unwrap(), 1);
        assert_eq!(fixture.engine.job_counts(Lane::Capture).unwrap(), JobCounts { queued: 1, leased: 0, dead: 0 });
    }

    #[test]
    fn clock_that_is_set_back_holds_nothing_up() {
        let fixture = fixture();
        fixture.engine.queue_jobs(&[file("/t/a")]).unwrap();
        pass(-900_000);
        assert_eq!(fixture.engine.next_job_in(Lane::Capture).unwrap(), Some(0));
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

    #[test]
    fn work_is_read_as_it_was_stored() {
        let root = SourceRoot { source: "jsonl".into(), path: "/t/a:b".into() };
        let upkeep = Upkeep::ALL.map(Work::Upkeep);
        for work in [Work::Ingest(root.clone()), Work::Scan(root), Work::Learn].into_iter().chain(upkeep) {
            let (target, payload) = work.stored().unwrap();
            assert_eq!(Work::read(work.kind().to_owned(), target, payload.to_owned()), work);
            for lane in [Lane::Capture, Lane::Upkeep, Lane::Learn] {
                assert_eq!(lane.kinds().contains(&work.kind()), Some(lane) == work.lane(), "{work:?}");
            }
            let job = Job { id: 1, work, arrived: 2, not_before: 3, failures: 0, bad_failures: 0, error: None };
            let told = serde_json::to_string(&job).unwrap();
            assert_eq!(serde_json::from_str::<Job>(&told).unwrap(), job);
        }
    }

    #[test]
    fn work_of_a_kind_that_is_not_known_is_left_alone() {
        let fixture = fixture();
        let row = NewRow { kind: "distil", target: "/t/a", payload: "", arrived: 1, not_before: 1, stamp: None };
        fixture.engine.store().queue_jobs(&[row]).unwrap();
        pass(10_000);
        for lane in [Lane::Capture, Lane::Upkeep] {
            assert_eq!(fixture.engine.take_jobs(&fixture.worker, lane, 10).unwrap(), []);
            assert_eq!(fixture.engine.next_job_in(lane).unwrap(), None);
        }
        assert_eq!(fixture.engine.store().jobs("queued", 10).unwrap().len(), 1);
        // The kind is known, but not the target.
        let row = NewRow { kind: UPKEEP, target: "polish", payload: "", arrived: 1, not_before: 1, stamp: None };
        fixture.engine.store().queue_jobs(&[row]).unwrap();
        assert_eq!(fixture.engine.take_jobs(&fixture.worker, Lane::Upkeep, 10).unwrap(), []);
        let dead = fixture.engine.dead_jobs(10).unwrap();
        assert_eq!((dead.len(), dead[0].work.target()), (1, "polish".to_owned()));
    }

    #[test]
    fn lanes_do_not_wait_for_each_other_and_upkeep_catches_up() {
        let fixture = fixture();
        let taken = |lane| -> Vec<Work> {
            let jobs = fixture.engine.take_jobs(&fixture.worker, lane, 10).unwrap();
            fixture.engine.finish_jobs(&fixture.worker, &jobs.iter().map(|job| job.id).collect::<Vec<_>>()).unwrap();
            jobs.into_iter().map(|job| job.work).collect()
        };
        let done = |upkeep: &[Work]| {
            for work in upkeep {
                let Work::Upkeep(upkeep) = work else { panic!("{work:?}") };
                fixture.engine.record_upkeep(*upkeep, fixture.engine.now(), &Ok(Counts::new())).unwrap();
            }
        };
        fixture.engine.queue_due_upkeep(&TIMES).unwrap();
        fixture.engine.queue_jobs(&[NewJob { delay_ms: 0, ..file("/t/a") }]).unwrap();
        assert_eq!(taken(Lane::Capture).len(), 1);
        let all = taken(Lane::Upkeep);
        assert_eq!(all, Upkeep::ALL.map(Work::Upkeep));
        done(&all);
        fixture.engine.queue_due_upkeep(&TIMES).unwrap();
        assert_eq!(taken(Lane::Upkeep), []);
        pass(60 * 60 * 1_000);
        fixture.engine.queue_due_upkeep(&TIMES).unwrap();
        assert_eq!(taken(Lane::Upkeep), [Work::Upkeep(Upkeep::Backup)]);
        // A night without power; then a clock that was a year ahead.
        for (hours, jobs) in [(40, 4), (365 * 24, Upkeep::ALL.len()), (-365 * 24, Upkeep::ALL.len())] {
            pass(hours * 60 * 60 * 1_000);
            fixture.engine.queue_due_upkeep(&TIMES).unwrap();
            let all = taken(Lane::Upkeep);
            assert!(all.len() >= jobs, "after {hours} hours: {all:?}");
            done(&all);
            fixture.engine.queue_due_upkeep(&TIMES).unwrap();
            assert_eq!(taken(Lane::Upkeep), [], "once, after {hours} hours");
        }
    }

    #[test]
    fn the_nights_work_of_a_model_waits_for_the_sessions_that_wait_for_it() {
        let fixture = fixture();
        let due = || {
            fixture.engine.queue_due_upkeep(&TIMES).unwrap();
            let jobs = fixture.engine.take_jobs(&fixture.worker, Lane::Upkeep, 20).unwrap();
            fixture.engine.finish_jobs(&fixture.worker, &jobs.iter().map(|job| job.id).collect::<Vec<_>>()).unwrap();
            jobs.into_iter().any(|job| job.work == Work::Upkeep(Upkeep::Understand))
        };
        fixture.engine.queue_jobs(&[NewJob { work: Work::Learn, delay_ms: 60_000, stamp: None }]).unwrap();
        assert!(!due());
        pass(60_000);
        let learning = fixture.engine.take_jobs(&fixture.worker, Lane::Learn, 1).unwrap();
        assert!(!due(), "while sessions are read");
        fixture.engine.finish_jobs(&fixture.worker, &[learning[0].id]).unwrap();
        assert!(due());
    }

    #[test]
    fn upkeep_that_fails_is_not_done_and_is_given_up_until_it_is_next_due() {
        let fixture = fixture();
        let (engine, worker) = (&fixture.engine, &fixture.worker);
        for upkeep in Upkeep::ALL.into_iter().filter(|upkeep| *upkeep != Upkeep::Backup) {
            engine.record_upkeep(upkeep, engine.now(), &Ok(Counts::new())).unwrap();
        }
        let began = engine.now();
        let failure = Failure { code: "store/backup".to_owned(), text: "no room".to_owned(), is_transient: false };
        for tries in 1..=MOST_FAILURES {
            engine.queue_due_upkeep(&TIMES).unwrap();
            let job = engine.take_jobs(worker, Lane::Upkeep, 9).unwrap().pop().unwrap();
            assert_eq!(engine.fail_upkeep(worker, &job, Upkeep::Backup, engine.now(), &failure).unwrap(), tries == MOST_FAILURES);
            CLOCK.fetch_add(10_000, Ordering::SeqCst);
        }
        engine.queue_due_upkeep(&TIMES).unwrap();
        assert_eq!(engine.take_jobs(worker, Lane::Upkeep, 9).unwrap(), []);
        let backup = || engine.upkeep().unwrap().into_iter().find(|state| state.upkeep == Upkeep::Backup).unwrap();
        assert!(backup().is_failing() && backup().is_given_up && backup().done.is_none());
        assert_eq!((backup().failing_since, backup().tries), (Some(began), MOST_FAILURES));
        assert_eq!(backup().error, Some(("store/backup".to_owned(), "no room".to_owned())));
        CLOCK.fetch_add(60 * 60 * 1_000, Ordering::SeqCst);
        engine.queue_due_upkeep(&TIMES).unwrap();
        let job = engine.take_jobs(worker, Lane::Upkeep, 9).unwrap().pop().unwrap();
        engine.record_upkeep(Upkeep::Backup, engine.now(), &Ok(Counts::new())).unwrap();
        engine.finish_jobs(worker, &[job.id]).unwrap();
        assert!(!backup().is_failing() && !backup().is_given_up);
        assert_eq!(backup().error, Some(("store/backup".to_owned(), "no room".to_owned())), "the last failure stays known");
    }
}
