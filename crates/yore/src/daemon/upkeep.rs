//! The upkeep thread: runs the jobs of upkeep when they are due. No caller waits for them, and they do not delay the reading of
//! histories.
//!
//! The wall clock decides when upkeep is due: timers stop while a computer sleeps.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use yore_engine::{Job, JobWorker, Lane, Work};

use super::shared::Shared;
use crate::api::events::Event;
use crate::engine_handle::now;
use crate::error::CliResult;
use crate::upkeep;

/// Delay before the first upkeep, so that histories are read first.
const BEFORE_FIRST: Duration = Duration::from_secs(5);
/// Interval between checks for due upkeep, and for work that another thread put into the queue.
const LOOK: Duration = Duration::from_secs(20);

/// Interval between writes of the times that recall took.
const BETWEEN_TIMES: Duration = Duration::from_secs(600);

/// Runs upkeep until the daemon ends.
pub fn run(shared: &Shared<'_>, ended: &Receiver<()>) {
    let mut worker = None;
    let mut wait = BEFORE_FIRST;
    let mut stored = Instant::now();
    let store_times = || {
        if let Err(error) = shared.engine.store_recall_times() {
            shared.failed("times of recall", &error.into());
        }
    };
    while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(wait) {
        wait = LOOK;
        if stored.elapsed() >= BETWEEN_TIMES {
            stored = Instant::now();
            store_times();
        }
        match turn(shared, &mut worker) {
            Ok(Some(next)) => wait = next.min(LOOK),
            Ok(None) => {}
            Err(error) => shared.failed("upkeep", &error),
        }
    }
    store_times();
}

/// Runs the upkeep that is due; returns the time until the next queued job, if any.
fn turn(shared: &Shared<'_>, worker: &mut Option<JobWorker>) -> CliResult<Option<Duration>> {
    let engine = &shared.engine;
    let worker = match worker {
        Some(worker) => worker,
        None => worker.insert(engine.job_worker()?),
    };
    // `yore upkeep run` does it now.
    let Some(_turn) = engine.upkeep_turn()? else { return Ok(None) };
    engine.queue_due_upkeep(&upkeep::timetable(&shared.config.upkeep, now()))?;
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
    let began = now();
    let ended = |is_done| Event::Upkeep { job: upkeep.as_str().to_owned(), is_done };
    match upkeep::run(upkeep, &shared.engine, shared.settings, &shared.config, &shared.is_stopping) {
        Err(failure) => {
            let is_given_up = shared.engine.fail_upkeep(worker, job, upkeep, began, &failure)?;
            let next = if is_given_up { "given up until it is next due" } else { "will be tried again" };
            shared.log.error(format!("{}: {} [{}], {next}", upkeep.as_str(), failure.text, failure.code));
            shared.feed.send(ended(false));
            Ok(())
        }
        // Cut short, it is not done: the next daemon goes on with the rest.
        Ok(_) if shared.is_stopping() => Ok(shared.engine.return_jobs(worker, &[job.id])?),
        Ok(report) => {
            report.problems.iter().for_each(|problem| shared.log.error(problem.as_str()));
            report.news.iter().for_each(|news| shared.log.info(news.as_str()));
            shared.engine.record_upkeep(upkeep, began, &Ok(report.counts))?;
            shared.engine.finish_jobs(worker, &[job.id])?;
            shared.feed.send(ended(true));
            Ok(())
        }
    }
}
