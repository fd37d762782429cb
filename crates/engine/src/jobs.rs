//! Work that is done later, by whoever has the time: a durable queue.
//!
//! - [`Work`]: what can be done, a kind each; [`Lane`]: jobs that one thread does one after another
//! - [`NewJob`], [`Job`]: work that is asked for, and in the queue
//! - [`JobWorker`]: this process as one that works; its jobs return to the queue when it dies
//! - the facade's methods: ask for work, take it, say how it ended
//!
//! A target waits once, however often it is asked for, from the moment at which it was first asked
//! for: what goes on without a pause is not put off for ever. A failure that passes by itself is
//! tried again for ever, after 1, 2, 4, 8, and then each 10 seconds; one that does not is given up
//! after [`MOST_FAILURES`], stays visible, and is tried again when its target changes or somebody
//! asks. A job that fails keeps no other waiting.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use yore_core::time::UtcMillis;

use crate::Engine;
use crate::error::EngineError;
use crate::ingest::source::Stamp;
use crate::ingest::{Holder, IngestError, SourceRoot};
use crate::store::{Failed, JobRow, NewJob as NewRow, StoreResult};

/// Failures of the kind that no waiting mends, before a job is given up.
pub const MOST_FAILURES: u32 = 5;
/// Pauses after a failure in milliseconds; the last one repeats.
const PAUSES: [UtcMillis; 5] = [1_000, 2_000, 4_000, 8_000, 10_000];
/// An error's words are kept up to this many bytes.
const LONGEST_ERROR: usize = 500;

/// What is to be done, with all that it needs. A further kind is a variant here, an arm in each of its methods, its
/// name in [`Lane`]'s kinds, and an arm where its lane is worked off.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Work {
    /// Read what is new in a unit: the file that holds it.
    Ingest(SourceRoot),
    /// Look at all units under a root.
    Scan(SourceRoot),
    /// Keep the memory itself in order.
    Upkeep(Upkeep),
    /// Something that this version does not know: it is shown, and never done.
    Unknown {
        /// Its stored name.
        kind: String,
        /// What it is about.
        target: String,
        /// What it needs beside that.
        payload: String,
    },
}

/// Work that comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Upkeep {
    /// Copy the database, if the last copy is a day old and something was written since.
    Backup,
    /// Read the full-text index through, and make it anew where it is damaged.
    CheckIndex,
}

/// Jobs that one thread works off: those of one lane never wait for those of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Reading what agents write.
    Capture,
    /// Keeping the memory in order, which may take minutes and is waited for by nobody.
    Upkeep,
}

const INGEST: &str = "ingest";
const SCAN: &str = "scan";
const UPKEEP: &str = "upkeep";

impl Lane {
    /// The stored names of its kinds. What is of none of them, a newer yore's, is left alone.
    fn kinds(self) -> &'static [&'static str] {
        match self {
            Self::Capture => &[INGEST, SCAN],
            Self::Upkeep => &[UPKEEP],
        }
    }
}

impl Upkeep {
    /// All of it.
    pub const ALL: [Self; 2] = [Self::Backup, Self::CheckIndex];

    /// The stored name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Backup => "backup",
            Self::CheckIndex => "check-index",
        }
    }

    /// Milliseconds between two runs. Whether a backup is due depends on the last one, too.
    fn every_ms(self) -> UtcMillis {
        const HOUR: UtcMillis = 60 * 60 * 1_000;
        match self {
            Self::Backup => HOUR,
            Self::CheckIndex => 24 * HOUR,
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
            Self::Unknown { kind, .. } => kind,
        }
    }

    /// What it is about, for people: a path, or a name.
    pub fn target(&self) -> String {
        match self {
            Self::Ingest(root) | Self::Scan(root) => root.path.display().to_string(),
            Self::Upkeep(upkeep) => upkeep.as_str().to_owned(),
            Self::Unknown { target, .. } => target.clone(),
        }
    }

    /// The histories that it reads.
    pub fn root(&self) -> Option<&SourceRoot> {
        match self {
            Self::Ingest(root) | Self::Scan(root) => Some(root),
            Self::Upkeep(_) | Self::Unknown { .. } => None,
        }
    }

    /// The jobs that it is done among, if it can be done.
    pub fn lane(&self) -> Option<Lane> {
        match self {
            Self::Ingest(_) | Self::Scan(_) => Some(Lane::Capture),
            Self::Upkeep(_) => Some(Lane::Upkeep),
            Self::Unknown { .. } => None,
        }
    }

    /// Target and payload as they are stored: of a kind and a target one job waits. `None` for a path that is not
    /// UTF-8.
    fn stored(&self) -> Option<(String, &str)> {
        match self {
            Self::Ingest(root) => Some((root.path.to_str()?.to_owned(), &root.source)),
            // One place may hold histories of several sources.
            Self::Scan(root) => Some((format!("{}:{}", root.source, root.path.to_str()?), &root.source)),
            Self::Upkeep(upkeep) => Some((upkeep.as_str().to_owned(), "")),
            Self::Unknown { target, payload, .. } => Some((target.clone(), payload)),
        }
    }

    /// The work of a row.
    fn read(kind: String, target: String, payload: String) -> Self {
        let read = match kind.as_str() {
            INGEST => Some(Self::Ingest(SourceRoot { source: payload.clone(), path: PathBuf::from(&target) })),
            SCAN => target
                .strip_prefix(&payload)
                .and_then(|rest| rest.strip_prefix(':'))
                .map(|path| Self::Scan(SourceRoot { source: payload.clone(), path: PathBuf::from(path) })),
            UPKEEP => Upkeep::ALL.into_iter().find(|upkeep| upkeep.as_str() == target).map(Self::Upkeep),
            _ => None,
        };
        read.unwrap_or(Self::Unknown { kind, target, payload })
    }
}

/// Work to be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewJob {
    /// What is to be done.
    pub work: Work,
    /// How long it waits for more of the same, from now, in milliseconds.
    pub delay_ms: UtcMillis,
    /// How the target stands, where that is known: a target that was given up is tried again only
    /// when it stands differently, or always where that is not known.
    pub stamp: Option<Stamp>,
}

/// Work that was taken from the queue, or is shown in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "JobAsTold", from = "JobAsTold")]
pub struct Job {
    /// Its number.
    pub id: i64,
    /// What is to be done.
    pub work: Work,
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

/// A job as `--json` has it.
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

    /// Asks for work; tells of each job whether none of its kind and target waited yet. What lies under a name
    /// that is not UTF-8 is not asked for: no unit has such a name.
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

    /// Takes jobs of a lane that are due, at most `limit`.
    pub fn take_jobs(&self, worker: &JobWorker, lane: Lane, limit: usize) -> Result<Vec<Job>, EngineError> {
        let owner = worker.holder.name();
        let rows = self.store().take_jobs(owner, lane.kinds(), self.now(), limit)?;
        let (jobs, unknown): (Vec<Job>, Vec<Job>) =
            rows.into_iter().map(Job::from).partition(|job| job.work.lane() == Some(lane));
        for job in unknown {
            // Of a kind that is known, but with something that is not: it is put aside, and shown.
            let text = "this version of yore does not know what is to be done".to_owned();
            let failure = Failure { code: "job/unknown".to_owned(), text, is_transient: false };
            self.fail_job(worker, &Job { bad_failures: MOST_FAILURES, ..job }, &failure, None)?;
        }
        Ok(jobs)
    }

    /// Milliseconds until a job of a lane is due, 0 when one is; `None` when none waits.
    pub fn next_job_in(&self, lane: Lane) -> Result<Option<UtcMillis>, EngineError> {
        let now = self.now();
        Ok(self.store().next_job(lane.kinds(), now)?.map(|due| (due - now).max(0)))
    }

    /// Makes units due that wait for more of the same; returns how many.
    pub fn hurry_ingestion(&self) -> Result<usize, EngineError> {
        Ok(self.store().hurry_jobs(INGEST, self.now())?)
    }

    /// Asks for the upkeep that is due. A computer that slept catches up, and so does one whose clock was set back.
    pub fn queue_due_upkeep(&self) -> Result<(), EngineError> {
        let now = self.now();
        let mut due = Vec::new();
        for upkeep in Upkeep::ALL {
            let last = self.store().last_run(upkeep.as_str())?;
            if last.is_none_or(|last| last > now || now - last >= upkeep.every_ms()) {
                due.push(NewJob { work: Work::Upkeep(upkeep), delay_ms: 0, stamp: None });
            }
        }
        self.queue_jobs(&due).map(drop)
    }

    /// Notes that upkeep was done now.
    pub fn note_upkeep(&self, upkeep: Upkeep) -> Result<(), EngineError> {
        Ok(self.store().note_run(upkeep.as_str(), self.now())?)
    }

    /// How many jobs of a lane are due or being done.
    pub fn pressing_jobs(&self, lane: Lane) -> Result<u64, EngineError> {
        Ok(self.store().pressing_jobs(lane.kinds(), self.now())?)
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

    fn listed(&self, rows: StoreResult<Vec<JobRow>>) -> Result<Vec<Job>, EngineError> {
        Ok(rows?.into_iter().map(Job::from).collect())
    }

    /// Whether a file was read, as a whole or in parts.
    pub fn knows_file(&self, source: &str, path: &str) -> Result<bool, EngineError> {
        Ok(self.store().knows_file(source, path)?)
    }

    /// A lane of the queue in numbers.
    pub fn job_counts(&self, lane: Lane) -> Result<JobCounts, EngineError> {
        let (queued, leased, dead) = self.store().job_counts(lane.kinds())?;
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
        // What comes while it is read is read afterwards.
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
        // The same was asked for again meanwhile: it waits once.
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
        for work in [Work::Ingest(root.clone()), Work::Scan(root)].into_iter().chain(upkeep) {
            let (target, payload) = work.stored().unwrap();
            assert_eq!(Work::read(work.kind().to_owned(), target, payload.to_owned()), work);
            for lane in [Lane::Capture, Lane::Upkeep] {
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
        // Of a kind that is known, but with something that is not.
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
                fixture.engine.note_upkeep(*upkeep).unwrap();
            }
        };
        fixture.engine.queue_due_upkeep().unwrap();
        fixture.engine.queue_jobs(&[NewJob { delay_ms: 0, ..file("/t/a") }]).unwrap();
        assert_eq!(taken(Lane::Capture).len(), 1);
        let all = taken(Lane::Upkeep);
        assert_eq!(all, Upkeep::ALL.map(Work::Upkeep));
        done(&all);
        fixture.engine.queue_due_upkeep().unwrap();
        assert_eq!(taken(Lane::Upkeep), []);
        pass(60 * 60 * 1_000);
        fixture.engine.queue_due_upkeep().unwrap();
        assert_eq!(taken(Lane::Upkeep), [Work::Upkeep(Upkeep::Backup)]);
        // A night without power, and a clock that was wrong.
        for jump in [40, -80] {
            pass(jump * 60 * 60 * 1_000);
            fixture.engine.queue_due_upkeep().unwrap();
            let all = taken(Lane::Upkeep);
            assert_eq!(all.len(), 2, "after {jump} hours");
            done(&all);
        }
    }
}
