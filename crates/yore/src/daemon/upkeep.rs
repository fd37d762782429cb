//! The upkeep thread: backups and checks, which on a large memory take a while. Nobody waits for them, and they keep
//! nothing from being read.
//!
//! What is due is asked of the wall clock: timers stand still while a computer sleeps.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use yore_engine::{Failure, Job, JobWorker, Lane, Upkeep, Work};

use super::shared::Shared;
use crate::error::CliResult;

/// The histories are read first.
const BEFORE_FIRST: Duration = Duration::from_secs(5);
/// How often it is looked what is due.
const LOOK: Duration = Duration::from_secs(600);

/// Works until everything ends.
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

/// Does what is due; says when something is tried again.
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
            // What cannot be noted is done once more.
            let _ = engine.return_jobs(worker, &[job.id]);
        })?;
    }
    Ok(engine.next_job_in(Lane::Upkeep)?.map(|milliseconds| Duration::from_millis(milliseconds.max(0) as u64)))
}

fn do_job(shared: &Shared<'_>, worker: &JobWorker, job: &Job) -> CliResult<()> {
    let Work::Upkeep(upkeep) = job.work else { return Ok(shared.engine.return_jobs(worker, &[job.id])?) };
    let outcome = match upkeep {
        Upkeep::Backup => back_up(shared),
        Upkeep::CheckIndex => check_index(shared),
    };
    if let Err(failure) = outcome {
        shared.log.error(format!("{}: {} [{}]", upkeep.as_str(), failure.text, failure.code));
        if failure.is_transient {
            shared.engine.fail_job(worker, job, &failure, None)?;
            return Ok(());
        }
    }
    // What no waiting mends is tried when it is due again.
    shared.engine.note_upkeep(upkeep)?;
    Ok(shared.engine.finish_jobs(worker, &[job.id])?)
}

/// Makes the day's backup, if it is due. Damage that it finds is told in the log; older backups stay then.
fn back_up(shared: &Shared<'_>) -> Result<(), Failure> {
    let made = shared.engine.back_up_if_due(shared.config.store.backups as usize).map_err(|error| Failure::of(&error))?;
    if let Some(made) = made {
        shared.log.info(format!("backup made: {}", made.path.display()));
    }
    Ok(())
}

/// Makes the full-text index anew where its files are damaged: it may answer in another order, and nobody would notice.
fn check_index(shared: &Shared<'_>) -> Result<(), Failure> {
    let damaged = shared.engine.mend_index().map_err(|error| Failure::of(&error))?;
    if !damaged.is_empty() {
        shared.log.error(format!("the full-text index was made anew: {} of its files were damaged", damaged.len()));
    }
    Ok(())
}
