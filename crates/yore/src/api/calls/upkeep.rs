//! The memory itself: sizes and growth, sources, jobs, upkeep, what is unhealthy, settings.

use std::collections::BTreeMap;

use axum::http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yore_core::time::format_utc;
use yore_engine::{Job, SourceFileSummary, StatisticsRequest, UpkeepState};

use super::{limit, none};
use crate::api::route::{Caller, Nothing, Route};
use crate::config::{self, FileKind, Key};
use crate::engine_handle::now;
use crate::error::{CliError, CliResult};
use crate::results::{self, BackupFile, MemoryState, Setting, Statistics, UpkeepJob};
use crate::statistics::Facts;
use crate::upkeep::timetable;

/// Most weeks of growth, and memories in a list.
const MOST_WEEKS: u32 = 53;
const LISTED: usize = 20;
/// Most failed jobs that are told.
const MOST_DEAD: usize = 500;
/// Keys that the page and programs may set: how much is told, and when upkeep runs. None names a file, a program, an address or what is
/// captured.
const SAFE: [&str; 12] = [
    "recall.limit",
    "recall.budget",
    "recall.quote_chars",
    "inject.enabled",
    "inject.brief_tokens",
    "inject.prompt_tokens",
    "inject.on_edit",
    "inject.on_error",
    "inject.on_command",
    "upkeep.hour",
    "upkeep.weekday",
    "upkeep.month_day",
];

/// Returns the routes.
pub fn routes() -> Vec<Route> {
    vec![
        Route::get(
            "/statistics",
            "Counts everything, or what belongs to a project, with growth and use",
            &["statistics", "sessions"],
            life,
        ),
        Route::get("/statistics/store", "Returns sizes of the store, the indexes and the archive", &["statistics"], store),
        Route::get("/sources", "Lists sources of histories with what was read of them", &["source_files", "dead_jobs"], sources),
        Route::get("/sources/{source}/known", "Returns whether a unit of a source was read", &["knows_unit"], known),
        Route::get("/jobs/dead", "Lists jobs that were given up", &["dead_jobs"], dead),
        Route::change(Method::POST, "/jobs/retry", "Tries jobs again that were given up", &["revive_jobs"], retry),
        Route::get("/upkeep", "Lists jobs of upkeep, with when each was done and failed", &["upkeep"], jobs),
        Route::get(
            "/health",
            "Lists what is wrong, each with its remedy",
            &["statistics", "upkeep", "dead_jobs", "source_files"],
            health,
        ),
        Route::get("/settings", "Lists settings, with their origin", &[], settings),
        Route::change(Method::PATCH, "/settings/{key}", "Sets one of the settings that may be set from here", &[], set),
    ]
}

/// What is counted.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Life {
    /// Only this project
    pub project: Option<String>,
    /// Weeks of growth, at most 53
    pub weeks: Option<u32>,
}

/// Counts everything.
pub fn life(caller: &mut Caller<'_>, Life { project, weeks }: Life) -> CliResult<MemoryState> {
    let weeks = weeks.unwrap_or(12).min(MOST_WEEKS);
    Ok(Facts::with_life(caller.memory, project, weeks, LISTED)?.data())
}

/// Returns sizes.
pub fn store(caller: &mut Caller<'_>, _: Nothing) -> CliResult<Statistics> {
    let statistics = caller.memory.statistics(StatisticsRequest::default())?;
    Ok(Statistics::of(results::path(&caller.settings.directory), &statistics))
}

/// A source, with what was read of it.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct ReadSource {
    /// Source kind, such as claude-code
    pub source: String,
    /// Number of files
    pub files: u64,
    /// Number of them that no longer exist
    pub files_gone: u64,
    /// Bytes of them
    pub bytes: u64,
    /// When one was last read, RFC 3339
    pub last_read: Option<String>,
    /// Files that were given up, each with its error
    pub errors: Vec<results::SourceError>,
}

/// Lists sources.
pub fn sources(caller: &mut Caller<'_>, _: Nothing) -> CliResult<Vec<ReadSource>> {
    let files = caller.memory.source_files()?;
    let dead = caller.memory.dead_jobs(MOST_DEAD)?;
    let mut sources: BTreeMap<String, (ReadSource, Option<i64>)> = BTreeMap::new();
    for SourceFileSummary { source, size, gone_ms, last_read_ms, .. } in &files {
        let (known, last) = sources.entry(source.clone()).or_default();
        known.source.clone_from(source);
        known.files += 1;
        known.files_gone += u64::from(gone_ms.is_some());
        known.bytes += size;
        *last = (*last).max(*last_read_ms);
    }
    for job in &dead {
        let Some(source) = job.work.root().map(|root| root.source.to_owned()) else { continue };
        let (known, _) = sources.entry(source.clone()).or_default();
        known.source = source;
        known.errors.push(failed(job));
    }
    let with_time = |(source, last): (ReadSource, Option<i64>)| ReadSource { last_read: last.map(format_utc), ..source };
    Ok(sources.into_values().map(with_time).collect())
}

fn failed(job: &Job) -> results::SourceError {
    let error = job.error.as_ref().map(|(_, words)| words.clone()).unwrap_or_default();
    results::SourceError { target: job.work.target(), error }
}

/// A unit of a source.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unit {
    /// Source kind
    pub source: String,
    /// Name of the unit: a path, or the id of a conversation in a database
    pub unit: String,
}

/// Whether something is known.
#[derive(Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Known {
    /// True if it is
    pub is_known: bool,
}

/// Returns whether a unit was read.
pub fn known(caller: &mut Caller<'_>, Unit { source, unit }: Unit) -> CliResult<Known> {
    Ok(Known { is_known: caller.memory.knows_unit(source, unit)? })
}

/// Which jobs are listed.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Dead {
    /// Most jobs, 1 to 500
    pub limit: Option<usize>,
}

/// Lists jobs that were given up.
pub fn dead(caller: &mut Caller<'_>, Dead { limit: given }: Dead) -> CliResult<Vec<results::SourceError>> {
    Ok(caller.memory.dead_jobs(limit(given, 50)?)?.iter().map(failed).collect())
}

/// Jobs to try again.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Retry {
    /// Only of this target; without: all
    pub target: Option<String>,
}

/// Tries jobs again.
pub fn retry(caller: &mut Caller<'_>, Retry { target }: Retry) -> CliResult<results::Retried> {
    Ok(results::Retried { revived: caller.memory.revive_jobs(target)? as u64 })
}

/// Lists jobs of upkeep.
pub fn jobs(caller: &mut Caller<'_>, _: Nothing) -> CliResult<Vec<UpkeepJob>> {
    let times = timetable(&caller.config().upkeep, now());
    Ok(caller.memory.upkeep()?.iter().map(|state| UpkeepJob::of(state, &times, now())).collect())
}

/// Something that is wrong.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Trouble {
    /// broken: something does not work; note: something is missing that would help
    pub severity: String,
    /// What it is
    pub text: String,
    /// What to do about it
    pub remedy: String,
}

/// The state of the memory.
#[derive(Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Health {
    /// What is wrong, the worst first
    pub troubles: Vec<Trouble>,
    /// Sizes and counts
    pub memory: MemoryState,
    /// Sources of histories
    pub sources: Vec<ReadSource>,
    /// Jobs of upkeep
    pub upkeep: Vec<UpkeepJob>,
    /// Backups of the database, the newest first
    pub backups: Vec<BackupFile>,
}

/// Returns the state of the memory.
pub fn health(caller: &mut Caller<'_>, _: Nothing) -> CliResult<Health> {
    let memory = Facts::of(caller.memory)?.data();
    let sources = sources(caller, Nothing {})?;
    let upkeep = jobs(caller, Nothing {})?;
    let states = caller.memory.upkeep()?;
    let backups: Vec<BackupFile> = yore_engine::backups(&caller.settings.directory).iter().map(BackupFile::from).collect();
    let broken = |text: String, remedy: &str| Trouble { severity: "broken".to_owned(), text, remedy: remedy.to_owned() };
    let mut troubles: Vec<Trouble> = Vec::new();
    for state in states.iter().filter(|state| state.is_failing()) {
        troubles.push(broken(failing(state), "`yore upkeep run` tries it again, `yore doctor` looks for the cause"));
    }
    for source in &sources {
        for error in &source.errors {
            let text = format!("{}: {} could not be read: {}", source.source, error.target, error.error);
            troubles.push(broken(text, "Retry below, or `yore daemon retry`"));
        }
    }
    if memory.daemon.is_none() {
        troubles.push(broken("no daemon is running".to_owned(), "`yore daemon start`"));
    }
    if backups.is_empty() && memory.turns > 0 {
        let text = "there is no backup of the database yet".to_owned();
        troubles.push(Trouble {
            severity: "note".to_owned(),
            text,
            remedy: "`yore data backup` makes one; upkeep does at night".to_owned(),
        });
    }
    for missing in &memory.missing {
        let (text, remedy) = match missing.split_once(" (") {
            Some((text, remedy)) => (text, remedy.trim_end_matches(')')),
            None => (missing.as_str(), ""),
        };
        troubles.push(Trouble { severity: "note".to_owned(), text: text.to_owned(), remedy: remedy.to_owned() });
    }
    Ok(Health { troubles, memory, sources, upkeep, backups })
}

fn failing(state: &UpkeepState) -> String {
    let since = state.failing_since.map(|at| format!(" since {}", &format_utc(at)[..16].replace('T', " "))).unwrap_or_default();
    let error = state.error.as_ref().map(|(_, words)| format!(": {words}")).unwrap_or_default();
    format!("upkeep: {} fails{since}{error}", state.upkeep.as_str())
}

/// A setting, and whether it may be set from here.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct SettingState {
    /// The setting
    #[serde(flatten)]
    pub setting: Setting,
    /// Its description
    pub description: String,
    /// True if it may be set from here
    pub may_be_set: bool,
}

/// Lists settings.
pub fn settings(caller: &mut Caller<'_>, _: Nothing) -> CliResult<Vec<SettingState>> {
    // The file may have changed since the daemon began.
    let current = caller.settings.current()?;
    let rows = current.rows().iter().map(|row| SettingState {
        setting: Setting {
            key: row.key.name.to_owned(),
            value: row.shown.clone(),
            origin: row.origins.iter().map(ToString::to_string).collect(),
        },
        description: config::description_of(row.key.name),
        may_be_set: SAFE.contains(&row.key.name),
    });
    Ok(rows.collect())
}

/// A value.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// Name of the setting
    pub key: String,
    /// Its value, as on the command line
    pub value: String,
}

/// Sets a setting in the person's file.
pub fn set(caller: &mut Caller<'_>, Set { key, value }: Set) -> CliResult<SettingState> {
    let Some(known) = Key::find(&key) else {
        return Err(none("config/unknown-key", format!("there is no setting {key:?}")));
    };
    if !SAFE.contains(&known.name) {
        return Err(CliError::usage(
            format!("{} says what is read, stored or called, and is not set from a page", known.name),
            Some(&format!("`yore config set {} VALUE` sets it", known.name)),
        ));
    }
    let file = caller.settings.user_file.as_ref().ok_or_else(|| CliError::usage("there is no settings file", None))?;
    config::set(&file.path, FileKind::User, known.name, &value)?;
    let all = settings(caller, Nothing {})?;
    let found = all.into_iter().find(|state| state.setting.key == known.name);
    found.ok_or_else(|| none("config/unknown-key", "the setting is gone"))
}
