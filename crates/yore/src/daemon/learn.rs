//! The learning thread: has a language model read the sessions that are quiet, newest first, within the limits of the day.
//!
//! Nothing is called unless the person's own settings consent (`learn.auto`), name a model and set a limit. The settings are read anew for
//! each run. The job is in the durable queue, so that a daemon that is killed goes on, and keeps the pause after failures.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use yore_core::time::UtcMillis;
use yore_engine::llm::{Class, Denial, LlmError};
use yore_engine::{FailReason, Failure, JobWorker, Lane, LearnReport, LearnRequest, ModelAccess, NewJob, StopReason, Work};

use super::shared::Shared;
use super::worker::INDEX_PATIENCE_MS;
use crate::config::{Config, When};
use crate::engine_handle::now;
use crate::error::CliResult;
use crate::llm;
use crate::llm::batch_run::{BatchRun, Begun};

/// Delay before the first look, so that histories are read first.
const BEFORE_FIRST: Duration = Duration::from_secs(5);
/// Interval between looks at the queue: another process may have added a job.
const LOOK: Duration = Duration::from_secs(5);
/// Delay before another try while another process lets a model read.
const BUSY_MS: UtcMillis = 60_000;
/// Delay before sessions that failed, while others were read, are tried again.
const AGAIN_MS: UtcMillis = 30 * 60_000;
const DAY_MS: UtcMillis = 86_400_000;

/// Learns until the daemon ends.
pub fn run(shared: &Shared<'_>, ended: &Receiver<()>) {
    if let Err(error) = begin(shared) {
        shared.failed("learn", &error);
    }
    let mut worker = None;
    let mut wait = BEFORE_FIRST;
    while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(wait) {
        wait = LOOK;
        match turn(shared, &mut worker) {
            Ok(next) => wait = next.map_or(LOOK, |next| next.min(LOOK)),
            Err(error) => shared.failed("learn", &error),
        }
    }
}

/// Requests a run over the sessions that ended while no daemon ran. It is in the queue before upkeep first looks whether sessions wait.
fn begin(shared: &Shared<'_>) -> CliResult<()> {
    if shared.settings.own_config()?.learn.auto {
        shared.engine.queue_jobs(&[NewJob { work: Work::Learn, delay_ms: 0, stamp: None }])?;
    }
    Ok(())
}

/// Does the job that is due; returns the time until the next one.
fn turn(shared: &Shared<'_>, worker: &mut Option<JobWorker>) -> CliResult<Option<Duration>> {
    let engine = &shared.engine;
    let worker = match worker {
        Some(worker) => worker,
        None => worker.insert(engine.job_worker()?),
    };
    if let Some(job) = engine.take_jobs(worker, Lane::Learn, 1)?.pop() {
        let outcome = catch_unwind(AssertUnwindSafe(|| learn(shared, true))).unwrap_or_else(|_| {
            let text = "internal error, please report it".to_owned();
            Err(Failure { code: "internal".to_owned(), text, is_transient: true })
        });
        match outcome {
            Ok(_) if shared.is_stopping() => engine.return_jobs(worker, &[job.id])?,
            Ok(again) => {
                engine.finish_jobs(worker, &[job.id])?;
                let again = again.map(|delay_ms| NewJob { work: Work::Learn, delay_ms, stamp: None });
                engine.queue_jobs(again.as_slice())?;
            }
            Err(failure) => {
                engine.note_learning(Some(&failure))?;
                engine.fail_job(worker, &job, &failure, None)?;
                shared.log.error(format!("learn: failed [{}], will be tried again", failure.code));
            }
        }
    }
    Ok(engine.next_job_in(Lane::Learn)?.map(|milliseconds| Duration::from_millis(milliseconds.max(5) as u64)))
}

/// Has the model read; returns the milliseconds until it is to read again, if anything waits. `may_batch`: requests may be sent as batches.
fn learn(shared: &Shared<'_>, may_batch: bool) -> Result<Option<UtcMillis>, Failure> {
    let failed = |code: &str, text: String| Failure { code: code.to_owned(), text, is_transient: true };
    let config = shared.settings.own_config().map_err(|error| failed("config", error.to_string()))?;
    let may_learn = config.learn.auto && config.llm.daily_tokens > 0 && !shared.engine.are_models_off();
    if !may_learn {
        return Ok(None);
    }
    let chooser = llm::ModelChooser::new(shared.settings, "extract");
    let mut chooser = chooser.map_err(|error| failed(&error.code, error.message))?;
    let begun = if may_batch { begin_batch(shared, &config, &mut chooser) } else { Ok(None) };
    let batch = match begun.map_err(|error| failed(&error.code, error.message))? {
        Some(Begun::Busy) => return Ok(Some(BUSY_MS)),
        Some(Begun::Batch(batch)) => Some(batch),
        Some(Begun::NoBatches) | None => None,
    };
    let mut choose = |project: Option<&str>| {
        let chosen = chooser.for_project(project).map_err(|error| error.message)?;
        Ok(chosen.map(|(model, terms)| {
            let gathered = batch.as_ref().and_then(|batch| batch.in_place_of(&model));
            gathered.unwrap_or((model, terms))
        }))
    };
    let by = ModelAccess { choose: &mut choose, books: None, is_stopped: &shared.is_stopping };
    let request = LearnRequest {
        without: llm::unread_projects("extract", &config),
        quiet_ms: UtcMillis::from(config.learn.quiet_minutes) * 60_000,
        kinds: config.extract.kinds(),
        ..LearnRequest::default()
    };
    // Consent may be taken back between two sessions, too.
    let mut proceed = |_, _| {
        shared.touch();
        !shared.is_stopping() && shared.settings.own_config().is_ok_and(|config| config.learn.auto)
    };
    let learned = shared.engine.learn(by, &request, &mut proceed).map_err(|error| Failure::of(&error));
    let LearnReport { report, next_ms } = learned?;
    if let Some(batch) = batch {
        let (sent, outcome) = batch.send(&shared.engine, &shared.is_stopping);
        for problem in &batch.collected.problems {
            shared.log.error(format!("batch: {problem}"));
        }
        if sent > 0 {
            shared.log.info(format!("{sent} requests sent as a batch"));
        }
        match outcome {
            Ok(()) => {}
            // The rest is sent tomorrow; answers to what was sent may come before.
            Err(LlmError::Budget(denial)) if denial.ends_with_the_day() => return Ok(Some(until_tomorrow().min(AGAIN_MS))),
            Err(LlmError::Budget(Denial::Off | Denial::Stopped | Denial::NoTokens)) => return Ok(None),
            // An account or a model may have no batches.
            Err(error) if error.class() == Class::Permanent && config.learn.batches == When::Auto => {
                shared.log.error("learn: the server takes no batch; it is asked directly");
                drop(batch);
                return learn(shared, false);
            }
            Err(error) => return Err(failed("llm/batch", error.to_string())),
        }
    }
    for session in &report.failed {
        // The words of a reason may be those of a conversation.
        shared.log.error(format!("nothing was learned from session {} [{}]", session.session, code_of(&session.reason)));
    }
    if report.answers > 0 {
        shared.touch();
        shared.log.info(format!(
            "learned: {} memories new, {} with more evidence, from {} sessions by {} calls",
            report.recorded, report.joined, report.sessions, report.answers
        ));
        // Those that the index does not take now are searched in memory, and indexed the next time.
        if let Err(error) = shared.engine.sync_index(INDEX_PATIENCE_MS, &mut |_| {}) {
            shared.failed("index", &error.into());
        }
    }
    if report.answers == 0
        && report.stopped.is_none()
        && let Some(session) = report.failed.first()
    {
        return Err(failure_of(&session.reason));
    }
    let again = match &report.stopped {
        // Those that failed are tried once more, and answers in a folder come at some time.
        None if !report.failed.is_empty() || report.waiting > 0 => Some(next_ms.unwrap_or(AGAIN_MS).min(AGAIN_MS)),
        None | Some(StopReason::Asked) => next_ms,
        Some(StopReason::OtherProcess) => Some(BUSY_MS),
        Some(StopReason::Failed(FailReason::Denied(denial))) if denial.ends_with_the_day() => Some(until_tomorrow()),
        // Models were switched off, or the daemon ends.
        Some(StopReason::Failed(FailReason::Denied(Denial::Off | Denial::Stopped | Denial::NoTokens))) => return Ok(None),
        Some(StopReason::Failed(reason)) => return Err(failure_of(reason)),
        Some(other) => return Err(failed("llm/stopped", other.to_string())),
    };
    shared.engine.note_learning(None).map_err(|error| Failure::of(&error))?;
    Ok(again)
}

/// Takes the answers to batches that were sent before, where requests are sent as batches: nobody waits for the background.
fn begin_batch(shared: &Shared<'_>, config: &Config, chooser: &mut llm::ModelChooser<'_>) -> CliResult<Option<Begun>> {
    let is_wanted = match config.learn.batches {
        When::Never => false,
        // Another server that speaks the provider's protocol seldom takes batches.
        When::Auto => config.llm.address.is_empty(),
        When::Always => true,
    };
    let Some(chosen) = chooser.for_project(None)?.filter(|_| is_wanted) else { return Ok(None) };
    Ok(Some(BatchRun::begin(&shared.engine, chosen, &shared.is_stopping, shared.engine.directory())?))
}

/// Returns the code of a reason, which holds no words of a conversation.
fn code_of(reason: &FailReason) -> &'static str {
    match reason {
        FailReason::Error { code, .. } => code,
        FailReason::Denied(_) => "llm/budget",
        FailReason::Panicked => "internal",
        FailReason::Misformed | FailReason::CutOff => "llm/form",
    }
}

/// Converts a reason, without words of a conversation that a model may have repeated.
fn failure_of(reason: &FailReason) -> Failure {
    let code = code_of(reason);
    let text = match code {
        "llm/form" | "llm/cut-off" | "llm/refused" | "llm/rejected" | "llm/not-understood" => {
            "the answers about a session could not be used".to_owned()
        }
        _ => reason.to_string(),
    };
    Failure { code: code.to_owned(), text, is_transient: true }
}

/// Returns the milliseconds until the next day, when there is a new limit.
fn until_tomorrow() -> UtcMillis {
    let offset = i64::from(llm::offset_minutes()) * 60_000;
    DAY_MS - (now() + offset).rem_euclid(DAY_MS) + 1_000
}
