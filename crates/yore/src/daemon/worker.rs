//! The working thread: takes due jobs, reads their files in one batch, updates the index, retries failures.
//!
//! At the start it first archives the histories that an agent may delete. A failed job is retried or put
//! aside by itself: a bad file does not keep others from being read.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use yore_core::time::UtcMillis;
use yore_engine::ingest::{IngestReport, Observer, SourceRoot};
use yore_engine::{Failure, Job, JobWorker, Lane, NewJob, SyncReport, Upkeep, Work};
use yore_sources::source::{Stamp, source_named};

use super::shared::{Shared, lock};
use crate::api::events::Event;
use crate::engine_handle::now;
use crate::error::{CliError, CliResult, Exit};
use crate::ipc::wire::Ingested;
use crate::render::ingest::summary;
use crate::results::Ingestion;

/// Most jobs taken at once.
const MOST_JOBS: usize = 1_000;
/// Longest time between looks at the queue: another process may have added a job.
pub const LOOK: Duration = Duration::from_secs(10);
/// Time a scan of everything runs before it may be interrupted.
const SLICE: Duration = Duration::from_secs(2);
/// Longest time to wait for another process that holds the index.
pub const INDEX_PATIENCE_MS: u64 = 5_000;
/// Delay before a place with a busy file is looked at again.
const BUSY_DELAY_MS: UtcMillis = 30_000;
/// Pauses, in seconds, while the queue cannot be reached.
pub const PAUSES: [u64; 5] = [1, 2, 4, 8, 10];

/// Works until the daemon ends.
pub fn run(shared: &Shared<'_>) {
    let mut failures = 0;
    let mut is_rescued = false;
    let mut worker = None;
    while !shared.is_stopping() {
        match turn(shared, &mut worker, &mut is_rescued) {
            Ok(()) => failures = 0,
            Err(error) => {
                shared.failed("queue", &error);
                shared.sleep(Duration::from_secs(PAUSES[failures.min(PAUSES.len() - 1)]));
                failures += 1;
            }
        }
    }
}

/// Takes the due jobs from the queue and does them.
fn turn(shared: &Shared<'_>, worker: &mut Option<JobWorker>, is_rescued: &mut bool) -> CliResult<()> {
    let worker = match worker {
        Some(worker) => worker,
        None => {
            let found = worker.insert(shared.engine.job_worker()?);
            let returned = shared.engine.recover_jobs(found)?;
            if returned > 0 {
                shared.log.info(format!("{returned} jobs of a dead process returned to the queue"));
            }
            found
        }
    };
    if !*is_rescued {
        *is_rescued = true;
        rescue(shared)?;
    }
    let jobs = shared.engine.take_jobs(worker, Lane::Capture, MOST_JOBS)?;
    if jobs.is_empty() {
        let due =
            shared.engine.next_job_in(Lane::Capture)?.map_or(LOOK, |due| Duration::from_millis(due.max(0) as u64).min(LOOK));
        let wanted = shared.wait(due.max(Duration::from_millis(5)));
        if !wanted.is_empty() {
            let answer = everything(shared);
            for asker in wanted {
                let copy = answer.as_ref().map(|found| Ingested {
                    json: found.json.clone(),
                    lines: found.lines.clone(),
                    failures: found.failures.clone(),
                });
                let _ = asker.send(copy.map_err(|error| CliError {
                    exit: error.exit,
                    code: error.code.clone(),
                    message: error.message.clone(),
                    hint: error.hint.clone(),
                }));
            }
        }
        return Ok(());
    }
    let config = shared.settings.own_config()?;
    let (mut files, mut scans, mut unwanted) = (Vec::new(), Vec::new(), Vec::new());
    for job in jobs {
        let batch = match &job.work {
            Work::Ingest(_) => &mut files,
            Work::Scan(_) => &mut scans,
            // These belong to another lane.
            Work::Upkeep(_) | Work::Learn | Work::Unknown { .. } => continue,
        };
        let is_enabled =
            |root: &SourceRoot| config.capture.enabled && config.sources.of(&root.source).is_none_or(|settings| settings.enabled);
        if job.work.root().is_some_and(is_enabled) {
            batch.push(job);
        } else {
            unwanted.push(job.id);
        }
    }
    // Their source was switched off after the job was queued.
    shared.engine.finish_jobs(worker, &unwanted)?;
    for batch in [files, scans].into_iter().filter(|batch| !batch.is_empty()) {
        if shared.is_stopping() {
            shared.engine.return_jobs(worker, &ids(&batch))?;
            continue;
        }
        do_batch(shared, worker, &batch)?;
    }
    Ok(())
}

/// Archives histories that an agent deletes after some days, before anything else.
fn rescue(shared: &Shared<'_>) -> CliResult<()> {
    let roots = shared.roots()?;
    let is_at_risk =
        |root: &SourceRoot| source_named(&root.source).is_some_and(|source| source.default_retention_days().is_some());
    let (at_risk, others): (Vec<SourceRoot>, Vec<SourceRoot>) = roots.into_iter().partition(is_at_risk);
    let mut later = shared.scans(&others, 0);
    if !at_risk.is_empty() {
        match read(shared, at_risk.clone(), false) {
            Ok(report) if report.unread().next().is_none() && report.files_busy == 0 && !report.is_cancelled => {}
            Ok(_) => later.extend(shared.scans(&at_risk, 1_000)),
            Err(error) => {
                shared.failed("rescue", &error);
                later.extend(shared.scans(&at_risk, 1_000));
            }
        }
        shared.log.info("archived the files that agents may delete");
    }
    shared.queue(&later).map(drop)
}

/// Reads everything new, for a caller that waits.
fn everything(shared: &Shared<'_>) -> CliResult<Ingested> {
    let report = read(shared, shared.roots()?, false)?;
    Ok(Ingested {
        json: Ingestion::of(&report, &SyncReport::default(), false),
        lines: summary(&report, false),
        failures: report.unread().map(|(path, reason)| (path.display().to_string(), reason.clone())).collect(),
    })
}

/// Does jobs of one kind together, and records the outcome of each.
fn do_batch(shared: &Shared<'_>, worker: &JobWorker, jobs: &[Job]) -> CliResult<()> {
    let is_scan = jobs.iter().any(|job| matches!(job.work, Work::Scan(_)));
    let roots = jobs.iter().filter_map(|job| job.work.root().cloned()).collect();
    match read(shared, roots, is_scan) {
        Ok(report) if report.is_cancelled => shared.engine.return_jobs(worker, &ids(jobs))?,
        Ok(report) if is_scan => {
            let mut found: Vec<NewJob> = Vec::new();
            for (path, reason) in report.unread() {
                // A file that fails in a place gets a job of its own.
                let is_below = |root: &&SourceRoot| {
                    path.starts_with(&root.path) || root.path.canonicalize().is_ok_and(|root| path.starts_with(root))
                };
                let Some(root) = jobs.iter().filter_map(|job| job.work.root()).find(is_below) else { continue };
                let file = file_of(path);
                if file.to_str().is_none() {
                    shared.log.error(format!("unreadable {}: {reason}", path.display()));
                    continue;
                }
                let stamp = Stamp::of_file(&file).ok();
                let work = Work::Ingest(SourceRoot { source: root.source.clone(), path: file });
                found.push(NewJob { work, delay_ms: shared.window_ms(), stamp });
            }
            if report.files_busy > 0 {
                let again = |job: &Job| NewJob { work: job.work.clone(), delay_ms: BUSY_DELAY_MS, stamp: None };
                found.extend(jobs.iter().map(again));
            }
            shared.queue(&found)?;
            shared.engine.finish_jobs(worker, &ids(jobs))?;
        }
        Ok(report) => files_done(shared, worker, jobs, &report)?,
        // Unless the error affects every job, reading each file alone shows which one failed.
        Err(error) if jobs.len() > 1 && !is_everybodys(&error) => {
            shared.failed("batch", &error);
            for job in jobs {
                do_batch(shared, worker, std::slice::from_ref(job))?;
            }
        }
        Err(error) => {
            shared.failed("batch", &error);
            let failure = Failure { code: error.code.clone(), text: error.message.clone(), is_transient: is_everybodys(&error) };
            for job in jobs {
                fail(shared, worker, job, &failure)?;
            }
        }
    }
    Ok(())
}

/// Records the outcome of each file that was read: done, or failed by itself.
fn files_done(shared: &Shared<'_>, worker: &JobWorker, jobs: &[Job], report: &IngestReport) -> CliResult<()> {
    if report.files_busy > 0 && jobs.len() > 1 {
        // The report does not say which of them are busy.
        for job in jobs {
            do_batch(shared, worker, std::slice::from_ref(job))?;
        }
        return Ok(());
    }
    let mut reasons: HashMap<PathBuf, (&str, bool)> = HashMap::new();
    for (unread, is_transient) in [(&report.failures, false), (&report.passing, true)] {
        reasons.extend(unread.iter().map(|(path, reason)| (file_of(path), (reason.as_str(), is_transient))));
    }
    let mut done = Vec::new();
    for job in jobs {
        let Some(SourceRoot { path, .. }) = job.work.root() else { continue };
        let canonical = path.canonicalize().ok();
        let reason = reasons.get(path.as_path()).or_else(|| canonical.as_ref().and_then(|path| reasons.get(path)));
        match reason {
            Some((reason, is_transient)) => {
                let code = if *is_transient { "source/not-now" } else { "source/unreadable" };
                let failure = Failure { code: code.into(), text: (*reason).to_owned(), is_transient: *is_transient };
                fail(shared, worker, job, &failure)?;
            }
            None if report.files_busy > 0 => {
                let text = "another process is reading or writing it".to_owned();
                fail(shared, worker, job, &Failure { code: "source/busy".into(), text, is_transient: true })?;
            }
            None => done.push(job.id),
        }
    }
    Ok(shared.engine.finish_jobs(worker, &done)?)
}

fn fail(shared: &Shared<'_>, worker: &JobWorker, job: &Job, failure: &Failure) -> CliResult<()> {
    let stamp = job.work.root().and_then(|root| Stamp::of_file(&root.path).ok());
    let is_dead = shared.engine.fail_job(worker, job, failure, stamp)?;
    let outcome = if is_dead { "given up" } else { "will be tried again" };
    shared.log.error(format!("{} {}: {} [{}], {outcome}", job.work.kind(), job.work.target(), failure.text, failure.code));
    Ok(())
}

/// Reads what is new under these roots and updates the index. Rows and checkpoints are committed together, so
/// a kill during the reading neither loses nor duplicates anything.
fn read(shared: &Shared<'_>, roots: Vec<SourceRoot>, may_be_interrupted: bool) -> CliResult<IngestReport> {
    let began = Instant::now();
    let count = roots.len();
    let request = shared.request(roots)?;
    let mut watch = Watch { shared, began, looked: began.into(), may_be_interrupted };
    let report = catch_unwind(AssertUnwindSafe(|| shared.engine.ingest(&request, &mut watch))).map_err(|_| CliError {
        exit: Exit::Data,
        code: "internal".to_owned(),
        message: "internal error while reading, please report it".to_owned(),
        hint: None,
    })??;
    let archived = began.elapsed();
    if report.files_read > 0 {
        shared.touch();
    }
    // Turns that the index does not take now are searched in memory, and indexed the next time.
    if let Err(error) = shared.engine.sync_index(INDEX_PATIENCE_MS, &mut |_| {}) {
        shared.failed("index", &error.into());
    }
    if report.turns_added + report.turns_updated > 0 && shared.config.extract.enabled {
        let delay_ms = UtcMillis::from(shared.config.extract.after_seconds) * 1_000;
        shared.engine.queue_jobs(&[NewJob { work: Work::Upkeep(Upkeep::Extract), delay_ms, stamp: None }])?;
    }
    if report.turns_added > 0
        && let Ok(config) = shared.settings.own_config()
        && config.learn.auto
    {
        let delay_ms = UtcMillis::from(config.learn.quiet_minutes) * 60_000;
        shared.engine.queue_jobs(&[NewJob { work: Work::Learn, delay_ms, stamp: None }])?;
    }
    shared.batches.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    shared.turns.fetch_add(report.turns_added, std::sync::atomic::Ordering::Relaxed);
    shared.last_batch.store(now(), std::sync::atomic::Ordering::Relaxed);
    if report.turns_added > 0 {
        shared.feed.send(Event::Captured { turns: report.turns_added });
    }
    if report.files_read > 0 || report.unread().next().is_some() || report.files_busy > 0 {
        shared.log.info(format!(
            "read {count} places: files {} read {} busy {} failed {} lines {} turns {} archived in {} ms, indexed in {} ms{}",
            report.files,
            report.files_read,
            report.files_busy,
            report.unread().count(),
            report.lines,
            report.turns_added,
            archived.as_millis(),
            (began.elapsed() - archived).as_millis(),
            if report.is_cancelled { ", interrupted" } else { "" }
        ));
        *lock(&shared.last_error) = None;
    }
    Ok(report)
}

/// Stops a reading when the daemon ends, and a scan of everything when other work is due.
struct Watch<'s, 'a> {
    shared: &'s Shared<'a>,
    began: Instant,
    looked: std::cell::Cell<Instant>,
    may_be_interrupted: bool,
}

impl Observer for Watch<'_, '_> {
    fn is_cancelled(&self) -> bool {
        if self.shared.is_stopping() {
            return true;
        }
        if !self.may_be_interrupted || self.began.elapsed() < SLICE || self.looked.get().elapsed() < Duration::from_millis(500) {
            return false;
        }
        self.looked.set(Instant::now());
        matches!(self.shared.engine.next_job_in(Lane::Capture), Ok(Some(0)))
    }
}

/// Returns whether an error affects every other job as well: the database, the disk, the settings.
fn is_everybodys(error: &CliError) -> bool {
    ["store/", "index/", "config/", "data-directory", "redaction-pattern"].iter().any(|kind| error.code.starts_with(kind))
}

/// Returns the file of a unit's name; a part's name follows a `#`.
fn file_of(name: &Path) -> PathBuf {
    if name.exists() {
        return name.to_path_buf();
    }
    match name.to_str().and_then(|text| text.rsplit_once('#')) {
        Some((file, _)) if Path::new(file).exists() => PathBuf::from(file),
        _ => name.to_path_buf(),
    }
}

fn ids(jobs: &[Job]) -> Vec<i64> {
    jobs.iter().map(|job| job.id).collect()
}
