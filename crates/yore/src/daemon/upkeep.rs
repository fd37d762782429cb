//! The upkeep thread: runs backups, index checks, code checks and extraction when they are due. No caller waits for them, and
//! they do not delay the reading of histories.
//!
//! The wall clock decides when upkeep is due: timers stop while a computer sleeps.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use yore_engine::{ExtractRequest, Failure, Job, JobWorker, Lane, Upkeep, Work};

use super::shared::Shared;
use super::worker::INDEX_PATIENCE_MS;
use crate::error::CliResult;

/// Delay before the first upkeep, so that histories are read first.
const BEFORE_FIRST: Duration = Duration::from_secs(5);
/// Interval between checks for due upkeep, and for work that another thread put into the queue.
const LOOK: Duration = Duration::from_secs(20);

/// Runs upkeep until the daemon ends.
pub fn run(shared: &Shared<'_>, ended: &Receiver<()>) {
    let mut worker = None;
    let mut wait = BEFORE_FIRST;
    while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(wait) {
        wait = LOOK;
        match turn(shared, &mut worker) {
            Ok(Some(next)) => wait = next.min(LOOK),
            Ok(None) => {}
            Err(error) => shared.failed("upkeep", &error),
        }
    }
}

/// Runs the upkeep that is due; returns the time until the next queued job, if any.
fn turn(shared: &Shared<'_>, worker: &mut Option<JobWorker>) -> CliResult<Option<Duration>> {
    let engine = &shared.engine;
    let worker = match worker {
        Some(worker) => worker,
        None => worker.insert(engine.job_worker()?),
    };
    engine.queue_due_upkeep()?;
    while !shared.is_stopping()
        && let Some(job) = engine.take_jobs(worker, Lane::Upkeep, 1)?.pop()
    {
        do_job(shared, worker, &job).inspect_err(|_| {
            // If the result cannot be recorded, the job runs again.
            let _ = engine.return_jobs(worker, &[job.id]);
        })?;
    }
    Ok(engine.next_job_in(Lane::Upkeep)?.map(|milliseconds| Duration::from_millis(milliseconds.max(0) as u64)))
}

fn do_job(shared: &Shared<'_>, worker: &JobWorker, job: &Job) -> CliResult<()> {
    let Work::Upkeep(upkeep) = job.work else { return Ok(shared.engine.return_jobs(worker, &[job.id])?) };
    let outcome = guarded(|| match upkeep {
        Upkeep::Backup => back_up(shared),
        Upkeep::CheckIndex => check_index(shared),
        Upkeep::Extract => extract(shared),
        Upkeep::CheckCode => check_code(shared),
    });
    if let Err(failure) = outcome {
        let is_given_up = shared.engine.fail_upkeep(worker, job, upkeep, &failure)?;
        let next = if is_given_up { "given up until it is next due" } else { "will be tried again" };
        shared.log.error(format!("{}: {} [{}], {next}", upkeep.as_str(), failure.text, failure.code));
        return Ok(());
    }
    shared.engine.note_upkeep(upkeep)?;
    Ok(shared.engine.finish_jobs(worker, &[job.id])?)
}

/// Converts a panic of the work into a failure, so that it ends neither the thread nor the other jobs.
fn guarded(work: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        let text = "internal error, please report it".to_owned();
        Err(Failure { code: "internal".to_owned(), text, is_transient: false })
    })
}

/// Makes the day's backup, if it is due. If it finds damage, it logs an error and keeps the older backups.
fn back_up(shared: &Shared<'_>) -> Result<(), Failure> {
    let made = shared.engine.back_up_if_due(shared.config.store.backups as usize).map_err(|error| Failure::of(&error))?;
    if let Some(made) = made {
        shared.log.info(format!("backup made: {}", made.path.display()));
    }
    Ok(())
}

/// Rebuilds the full-text index if its files are damaged: a damaged index may rank differently without any
/// error.
fn check_index(shared: &Shared<'_>) -> Result<(), Failure> {
    let damaged = shared.engine.mend_index().map_err(|error| Failure::of(&error))?;
    if !damaged.is_empty() {
        shared.log.error(format!("the full-text index was rebuilt: {} of its files were damaged", damaged.len()));
    }
    Ok(())
}

/// Compares what memories say of code with the working trees of their projects.
fn check_code(shared: &Shared<'_>) -> Result<(), Failure> {
    let report = shared.engine.check_code(&[], &mut || !shared.is_stopping()).map_err(|error| Failure::of(&error))?;
    for (project, reason) in &report.failed {
        shared.log.error(format!("memories of {project} were not compared with its code: {reason}"));
    }
    Ok(())
}

/// Finds memories in conversations that are new or have grown. Interrupted, it goes on with the rest the next time.
fn extract(shared: &Shared<'_>) -> Result<(), Failure> {
    if !shared.config.extract.enabled {
        return Ok(());
    }
    let request = ExtractRequest { kinds: shared.config.extract.kinds(), continue_on_error: true, ..ExtractRequest::default() };
    let report = shared.engine.extract(&request, &mut |_, _| !shared.is_stopping()).map_err(|error| Failure::of(&error))?;
    for failed in &report.failed {
        shared.log.error(format!("nothing was extracted from session {}: {}", failed.session, failed.reason));
    }
    if report.counts.recorded + report.counts.joined > 0 {
        shared.log.info(format!("{} memories extracted from {} sessions", report.counts.recorded, report.sessions));
        // Those that the index does not take now are searched in memory, and indexed the next time.
        if let Err(error) = shared.engine.sync_index(INDEX_PATIENCE_MS, &mut |_| {}) {
            shared.failed("index", &error.into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panic_of_upkeep_is_a_failure_with_a_reason() {
        assert_eq!(guarded(|| Ok(())), Ok(()));
        let failure = guarded(|| panic!("a rule of mine")).unwrap_err();
        assert_eq!((failure.code.as_str(), failure.is_transient), ("internal", false));
    }
}
