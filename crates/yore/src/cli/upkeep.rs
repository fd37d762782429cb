use std::sync::atomic::AtomicBool;

use clap::{Args, Subcommand};
use yore_core::schedule::{Cadence, Timetable};
use yore_core::time::UtcMillis;
use yore_engine::{Upkeep, UpkeepState};

use super::Context;
use crate::engine_handle::now;
use crate::error::{CliError, CliResult, Exit};
use crate::render::text;
use crate::results::{UpkeepDone, UpkeepJob};
use crate::upkeep;

/// Show the recurring jobs that keep the memory sound, or run them
///
/// The daemon runs each job at its set time, and what it missed as soon as it runs (`upkeep.hour`, `upkeep.weekday`, `upkeep.month_day`).
/// Without a daemon, a scheduler such as cron can call `yore upkeep run`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    command: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show each job: when it was done last, what it counted, why it failed, and when it is due
    Status,
    /// Run jobs now: those that are due, one, or all of a cadence
    ///
    /// The exit code is 1 if a job failed, and 4 if another process does upkeep now. To run a job again does no harm.
    Run {
        /// Name of a job, or hourly, nightly, weekly or monthly
        #[arg(value_name = "JOB", value_parser = jobs_named)]
        jobs: Option<Jobs>,
    },
}

/// The jobs of a name.
#[derive(Clone, Debug)]
struct Jobs(Vec<Upkeep>);

fn jobs_named(name: &str) -> Result<Jobs, String> {
    let of_cadence = Cadence::ALL.into_iter().find(|cadence| cadence.as_str() == name);
    let is_named = |upkeep: &Upkeep| upkeep.as_str() == name || of_cadence == Some(upkeep.cadence());
    let jobs: Vec<Upkeep> = Upkeep::ALL.into_iter().filter(is_named).collect();
    if jobs.is_empty() {
        let names: Vec<&str> = Upkeep::ALL.iter().map(|upkeep| upkeep.as_str()).collect();
        return Err(format!("the jobs are {}; or hourly, nightly, weekly, monthly", names.join(", ")));
    }
    Ok(Jobs(jobs))
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let timetable = upkeep::timetable(&context.settings.own_config()?.upkeep, now());
    match &arguments.command {
        Action::Status => status(&timetable, context),
        Action::Run { jobs } => run_jobs(jobs.as_ref(), &timetable, context),
    }
}

fn status(timetable: &Timetable, context: &mut Context) -> CliResult {
    let states = context.settings.memory()?.upkeep()?;
    let is_well = !states.iter().any(UpkeepState::is_failing);
    if context.printer.is_json() {
        let jobs: Vec<UpkeepJob> = states.iter().map(|state| UpkeepJob::of(state, timetable, now())).collect();
        context.printer.json(&jobs)?;
    } else {
        let rows: Vec<Vec<String>> = states.iter().map(|state| row(state, timetable, now())).collect();
        context.printer.table(&rows)?;
    }
    Ok(if is_well { Exit::Success } else { Exit::Nothing })
}

fn row(state: &UpkeepState, timetable: &Timetable, now: UtcMillis) -> Vec<String> {
    let next = if state.is_due(timetable, now) {
        "due now".to_owned()
    } else {
        format!("next {}", text::time(Some(state.next(timetable, now))))
    };
    vec![state.upkeep.as_str().to_owned(), state.upkeep.cadence().as_str().to_owned(), next, runs_of(state)]
}

/// Formats when a job was done last, what it counted, and how it failed since.
pub fn runs_of(state: &UpkeepState) -> String {
    let mut told = match &state.run {
        Some(run) => {
            let seconds = (run.ended - run.began) as f64 / 1_000.0;
            let counts = run.counts.iter().filter(|(_, count)| **count > 0);
            let counts: String = counts.map(|(name, count)| format!(", {} {name}", text::count(*count))).collect();
            format!("last done {} in {seconds:.1} s{counts}", text::time(Some(run.ended)))
        }
        None => "not done yet".to_owned(),
    };
    if let (Some(since), Some((_, error))) = (state.failing_since, &state.error) {
        let tries = if state.tries > 1 { format!(" ({} times)", state.tries) } else { String::new() };
        let given_up = if state.is_given_up { ", given up until it is next due" } else { "" };
        told.push_str(&format!("; fails since {}{tries}: {}{given_up}", text::time(Some(since)), text::harmless(error)));
    }
    told
}

fn run_jobs(jobs: Option<&Jobs>, timetable: &Timetable, context: &mut Context) -> CliResult {
    let config = context.settings.own_config()?;
    let engine = context.settings.engine(false)?;
    let Some(_turn) = engine.upkeep_turn()? else {
        return Err(CliError {
            exit: Exit::Busy,
            code: "upkeep/running".to_owned(),
            message: "another process does upkeep now".to_owned(),
            hint: Some("`yore upkeep status` shows what was done; try again later".to_owned()),
        });
    };
    let due = engine.upkeep()?.into_iter().filter(|state| state.is_due(timetable, now())).map(|state| state.upkeep);
    let jobs: Vec<Upkeep> = jobs.map_or_else(|| due.collect(), |jobs| jobs.0.clone());
    let mut done = Vec::new();
    for upkeep in jobs {
        let began = now();
        let report = upkeep::run(upkeep, &engine, &context.settings, &config, &AtomicBool::new(false));
        let (problems, outcome) = match report {
            Ok(report) => (report.problems, Ok(report.counts)),
            Err(failure) => (Vec::new(), Err(failure)),
        };
        engine.record_upkeep(upkeep, began, &outcome)?;
        let result = UpkeepDone::of(upkeep, now() - began, &outcome, problems);
        if !context.printer.is_json() {
            context.printer.line(line(&result))?;
        }
        done.push(result);
    }
    if context.printer.is_json() {
        context.printer.json(&done)?;
    } else if done.is_empty() {
        context.printer.line("nothing is due; `yore upkeep status` shows when what is")?;
    }
    Ok(if done.iter().all(|job| job.error.is_none()) { Exit::Success } else { Exit::Nothing })
}

fn line(job: &UpkeepDone) -> String {
    let mut line = match &job.error {
        Some(error) => format!("{}: failed: {}", job.job, text::harmless(error)),
        None => {
            let counts: String = job
                .counts
                .iter()
                .filter(|(_, count)| **count > 0)
                .map(|(name, count)| format!(", {} {name}", text::count(*count)))
                .collect();
            format!("{}: done in {:.1} s{counts}", job.job, job.milliseconds as f64 / 1_000.0)
        }
    };
    job.problems.iter().for_each(|problem| line.push_str(&format!("\n  {}", text::harmless(problem))));
    line
}

#[cfg(test)]
mod tests {
    use yore_engine::UpkeepRun;

    use super::*;

    #[test]
    fn state_tells_the_last_run_and_why_it_fails_since() {
        let never = UpkeepState::new(Upkeep::Backup);
        assert_eq!(runs_of(&never), "not done yet");
        let counts = [("backups".to_owned(), 1), ("bytes".to_owned(), 0)].into();
        let run = UpkeepRun { began: 0, ended: 1_500, counts };
        let done = UpkeepState { done: Some(1_500), run: Some(run), ..never };
        let at = text::time(Some(1_500));
        assert_eq!(runs_of(&done), format!("last done {at} in 1.5 s, 1 backups"));
        let error = Some(("store/disk-full".to_owned(), "no space left for /a\u{1b}[2J".to_owned()));
        let failing =
            UpkeepState { failing_since: Some(60_000), failed: Some(90_000), error, tries: 5, is_given_up: true, ..done };
        let since = text::time(Some(60_000));
        assert_eq!(
            runs_of(&failing),
            format!(
                "last done {at} in 1.5 s, 1 backups; fails since {since} (5 times): no space left for /a[2J, given up until it is next due"
            )
        );
    }

    #[test]
    fn unknown_job_is_refused_with_the_names_there_are() {
        assert!(jobs_named("polish").unwrap_err().contains("merge-duplicates"));
        assert_eq!(jobs_named("backup").unwrap().0, [Upkeep::Backup]);
        assert_eq!(jobs_named("monthly").unwrap().0, [Upkeep::Compact]);
    }
}
