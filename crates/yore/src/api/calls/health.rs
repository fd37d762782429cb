//! Health: what is wrong and what to do about it, with the state of the daemon, sources, jobs, upkeep and backups.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use yore_core::time::{UtcMillis, format_utc};
use yore_engine::{Finding, Severity, examine_disk};

use super::upkeep::{self, Dead, GivenUp, ReadSource};
use crate::api::route::{Caller, Nothing, Route};
use crate::engine_handle::now;
use crate::error::CliResult;
use crate::health::{self, Told, after_room, in_words};
use crate::render::text::counted;
use crate::results::{self, BackupFile, Daemon, Statistics, UpkeepJob};
use crate::spool;

/// Most given-up jobs that are told.
const MOST_DEAD: usize = 100;
/// Age from which on the newest backup is too old: upkeep makes one each night.
const OLD_BACKUP_MS: UtcMillis = 3 * 86_400_000;

/// Returns the routes.
pub fn routes() -> Vec<Route> {
    vec![Route::get(
        "/health",
        "Returns what is wrong, each with its remedy, and the state of the memory's parts",
        &["statistics", "upkeep", "dead_jobs", "source_files"],
        health,
    )]
}

/// The state of the memory.
#[derive(Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Health {
    /// True if nothing is wrong; notes do not count
    pub is_well: bool,
    /// The findings, the worst first: broken, warning, note
    pub findings: Vec<results::Finding>,
    /// The daemon, without its settings
    pub daemon: Daemon,
    /// Sizes and counts
    pub statistics: Statistics,
    /// Sources of histories
    pub sources: Vec<ReadSource>,
    /// Jobs that were given up, at most 100
    pub given_up: Vec<GivenUp>,
    /// Jobs of upkeep
    pub upkeep: Vec<UpkeepJob>,
    /// Backups of the database, the newest first
    pub backups: Vec<BackupFile>,
}

/// Returns the state of the memory.
pub fn health(caller: &mut Caller<'_>, _: Nothing) -> CliResult<Health> {
    let statistics = upkeep::store(caller, Nothing {})?;
    let sources = upkeep::sources_of(caller, &statistics)?;
    let given_up = upkeep::dead(caller, Dead { limit: Some(MOST_DEAD) })?;
    let directory = &caller.settings.directory;
    let backups: Vec<BackupFile> = yore_engine::backups(directory).iter().map(BackupFile::from).collect();
    let mut daemon = health::daemon(directory)?;
    if let Some(status) = &mut daemon.status {
        // Values of settings may be secrets, and jobs and upkeep are told beside it.
        status.settings = Value::Null;
        status.dead.clear();
        status.upkeep.clear();
    }
    let mut told: Vec<Told> = examine_disk(directory).iter().map(in_words).collect();
    told.extend(
        caller
            .memory
            .upkeep()?
            .iter()
            .filter(|state| state.is_failing())
            .map(|state| in_words(&Finding::UpkeepFails(state.clone()))),
    );
    told.extend(of_jobs(&given_up));
    told.extend(of_daemon(&daemon));
    told.extend(of_events(spool::unreadable(directory) as u64));
    told.extend(of_sources(&sources, daemon.answers));
    told.extend(of_index(&statistics));
    told.extend(of_backups(&backups, caller.config().store.backups, turns(&statistics), now()));
    told.retain(|told| told.severity > Severity::Fine);
    let mut told = after_room(told);
    told.sort_by_key(|told| std::cmp::Reverse(told.severity));
    Ok(Health {
        is_well: told.iter().all(|told| told.severity < Severity::Warning),
        findings: told.iter().map(Told::result).collect(),
        daemon,
        statistics,
        sources,
        given_up,
        upkeep: upkeep::jobs(caller, Nothing {})?,
        backups,
    })
}

/// Returns the number of all turns.
fn turns(statistics: &Statistics) -> u64 {
    statistics.agents.iter().map(|agent| agent.turns).sum()
}

fn of_jobs(given_up: &[GivenUp]) -> Option<Told> {
    let text = match given_up {
        [] => return None,
        [one] => format!("{} of {} was given up", one.kind, one.target),
        several => format!("{} were given up", counted(several.len() as u64, "job")),
    };
    Some(Told::new("jobs", Severity::Warning, text).remedy("mend what their errors name, then retry them: `yore daemon retry`"))
}

fn of_daemon(daemon: &Daemon) -> Option<Told> {
    match &daemon.status {
        Some(status) => {
            let error = status.last_error.as_ref()?;
            Some(
                Told::new("daemon", Severity::Note, format!("the daemon's last error: {error}")).remedy("see `yore daemon logs`"),
            )
        }
        None if daemon.running => {
            let text = "the daemon runs and does not answer";
            Some(
                Told::new("daemon", Severity::Broken, text)
                    .remedy("run `yore doctor`; if need be, end its process: no data is lost"),
            )
        }
        None => {
            let text = "no daemon is running: new messages are read when a command needs them";
            Some(Told::new("daemon", Severity::Note, text).remedy("run `yore daemon start`"))
        }
    }
}

fn of_events(unreadable: u64) -> Option<Told> {
    let text = format!("{} of hooks could not be parsed and were set aside", counted(unreadable, "event"));
    (unreadable > 0)
        .then(|| Told::new("spool", Severity::Note, text).remedy("run `yore doctor`, which runs each hook as its agent does"))
}

/// A running daemon reads what is new within seconds.
fn of_sources(sources: &[ReadSource], has_daemon: bool) -> Option<Told> {
    let behind: u64 = sources.iter().map(|source| source.files_behind).sum();
    let remedy = if has_daemon { "the daemon reads them in a moment" } else { "run `yore ingest`" };
    let text = format!("{} grew since they were read", counted(behind, "source file"));
    (behind > 0).then(|| Told::new("sources", Severity::Note, text).remedy(remedy))
}

fn of_index(statistics: &Statistics) -> Vec<Told> {
    let (index, vectors) = (&statistics.index, &statistics.vectors);
    let mut told = Vec::new();
    if index.queued > 0 {
        told.push(in_words(&Finding::IndexBehind(index.queued)));
    } else if index.turns != index.expected {
        told.push(in_words(&Finding::IndexDiffers { indexed: index.turns, expected: index.expected }));
    }
    match &vectors.model {
        None if turns(statistics) > 0 => {
            let text = "there is no local model: search uses words and the static table";
            told.push(Told::new("model", Severity::Note, text).remedy("`yore models fetch` and `yore embed` add one"));
        }
        Some(_) if vectors.waiting > 0 => {
            told.push(in_words(&Finding::Unembedded { waiting: vectors.waiting, embedded: vectors.embedded_turns }));
        }
        _ => {}
    }
    told
}

fn of_backups(backups: &[BackupFile], kept: u32, turns: u64, now: UtcMillis) -> Option<Told> {
    if turns == 0 {
        return None;
    }
    let newest = backups.iter().map(|backup| backup.made).max();
    match newest {
        _ if kept == 0 => None,
        None => {
            let text = "there is no backup of the database yet";
            Some(Told::new("backup", Severity::Note, text).remedy("upkeep makes one at night; `yore data backup` makes one now"))
        }
        Some(made) if now - made > OLD_BACKUP_MS => {
            let text = format!("the newest backup of the database is of {}", format_utc(made).get(..10).unwrap_or_default());
            Some(
                Told::new("backup", Severity::Warning, text)
                    .remedy("`yore data backup` makes one now; `yore upkeep status` says why none was made"),
            )
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: UtcMillis = 86_400_000;

    fn backup(made: UtcMillis) -> BackupFile {
        BackupFile { path: "backup".to_owned(), made, bytes: 1 }
    }

    #[test]
    fn old_backup_is_a_warning_and_a_missing_one_a_note() {
        let severity = |backups: &[BackupFile], kept, turns| of_backups(backups, kept, turns, 10 * DAY).map(|told| told.severity);
        assert_eq!(severity(&[backup(9 * DAY), backup(DAY)], 2, 5), None);
        assert_eq!(severity(&[backup(DAY)], 2, 5), Some(Severity::Warning));
        assert_eq!(severity(&[], 2, 5), Some(Severity::Note));
        assert_eq!(severity(&[], 2, 0), None, "an empty memory needs none");
        assert_eq!(severity(&[], 0, 5), None, "none is wanted");
    }

    #[test]
    fn daemon_that_does_not_answer_is_broken_and_none_is_a_note() {
        let severity = |running| of_daemon(&Daemon { status: None, running, answers: false }).map(|told| told.severity);
        assert_eq!((severity(true), severity(false)), (Some(Severity::Broken), Some(Severity::Note)));
        let answers = Daemon { status: Some(results::DaemonStatus::default()), running: true, answers: true };
        assert!(of_daemon(&answers).is_none());
    }

    #[test]
    fn given_up_job_is_named_and_several_are_counted() {
        let job = |target: &str| GivenUp {
            kind: "ingest".to_owned(),
            target: target.to_owned(),
            source: None,
            since: format_utc(0),
            failures: 3,
            error_code: None,
            error: None,
        };
        assert!(of_jobs(&[]).is_none());
        assert_eq!(of_jobs(&[job("a.jsonl")]).unwrap().text, "ingest of a.jsonl was given up");
        assert_eq!(of_jobs(&[job("a"), job("b")]).unwrap().text, "2 jobs were given up");
    }
}
