//! The memory itself: sizes and growth, sources, jobs that were given up, upkeep.

use std::collections::BTreeMap;

use axum::http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yore_core::time::format_utc;
use yore_engine::{Job, SourceFileSummary, StatisticsRequest};
use yore_sources::source::source_named;

use super::limit;
use crate::api::route::{Caller, Nothing, Route};
use crate::engine_handle::now;
use crate::error::CliResult;
use crate::results::{self, MemoryState, Statistics, UpkeepJob};
use crate::statistics::Facts;
use crate::upkeep::timetable;

/// Most weeks of growth, and memories in a list.
const MOST_WEEKS: u32 = 53;
const LISTED: usize = 20;
/// Most files whose size on disk is looked at.
const MOST_LOOKED_AT: usize = 2_000;

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
        Route::get("/sources", "Lists sources of histories with what was read of them", &["source_files", "statistics"], sources),
        Route::get("/sources/{source}/known", "Returns whether a unit of a source was read", &["knows_unit"], known),
        Route::get("/jobs/dead", "Lists jobs that were given up", &["dead_jobs"], dead),
        Route::change(Method::POST, "/jobs/retry", "Tries jobs again that were given up", &["revive_jobs"], retry),
        Route::get("/upkeep", "Lists jobs of upkeep, with when each was done and failed", &["upkeep"], jobs),
    ]
}

/// A filter of the counts.
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
    /// Name for people
    pub name: String,
    /// Number of sessions
    pub sessions: u64,
    /// Number of turns
    pub turns: u64,
    /// Number of files
    pub files: u64,
    /// Number of them that no longer exist; the archive has them
    pub files_gone: u64,
    /// Bytes of them
    pub bytes: u64,
    /// Number of files that grew since they were last read, among the 2,000 that were read last
    pub files_behind: u64,
    /// Bytes that these grew by
    pub bytes_behind: u64,
    /// When one was last read, RFC 3339
    pub last_read: Option<String>,
    /// Number of records that were skipped
    pub skipped: u64,
}

/// Lists sources.
pub fn sources(caller: &mut Caller<'_>, _: Nothing) -> CliResult<Vec<ReadSource>> {
    let statistics = store(caller, Nothing {})?;
    sources_of(caller, &statistics)
}

/// Lists sources, with the counts of statistics that are there already.
pub fn sources_of(caller: &mut Caller<'_>, statistics: &Statistics) -> CliResult<Vec<ReadSource>> {
    let mut files = caller.memory.source_files()?;
    files.sort_by_key(|file| std::cmp::Reverse(file.last_read_ms));
    let mut sources: BTreeMap<&str, ReadSource> = BTreeMap::new();
    for (at, file) in files.iter().enumerate() {
        let known = sources.entry(&file.source).or_default();
        known.files += 1;
        known.files_gone += u64::from(file.gone_ms.is_some());
        known.bytes += file.size;
        // The first one was read last.
        known.last_read = known.last_read.take().or_else(|| file.last_read_ms.map(format_utc));
        if at < MOST_LOOKED_AT
            && let Some(grown) = grown(file)
        {
            known.files_behind += 1;
            known.bytes_behind += grown;
        }
    }
    for agent in &statistics.agents {
        let known = sources.entry(&agent.agent).or_default();
        (known.sessions, known.turns) = (agent.sessions, agent.turns);
    }
    for skip in &statistics.skips {
        sources.entry(&skip.source).or_default().skipped += skip.count;
    }
    let named = |(kind, source): (&str, ReadSource)| ReadSource {
        source: kind.to_owned(),
        name: source_named(kind).map_or(kind, |source| source.display_name()).to_owned(),
        ..source
    };
    Ok(sources.into_iter().map(named).collect())
}

/// Returns the bytes that a file of lines has on disk and not in the archive; `None` if there are none.
fn grown(file: &SourceFileSummary) -> Option<u64> {
    if !file.grows_at_its_end || file.gone_ms.is_some() {
        return None;
    }
    let on_disk = std::fs::metadata(&file.path).ok()?.len();
    on_disk.checked_sub(file.size).filter(|bytes| *bytes > 0)
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

/// The answer to whether something is known.
#[derive(Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Known {
    /// True if it is
    pub is_known: bool,
}

/// Returns whether a unit was read.
pub fn known(caller: &mut Caller<'_>, Unit { source, unit }: Unit) -> CliResult<Known> {
    Ok(Known { is_known: caller.memory.knows_unit(source, unit)? })
}

/// A filter of the list of jobs.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Dead {
    /// Most jobs, 1 to 500
    pub limit: Option<usize>,
}

/// A job that was given up.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct GivenUp {
    /// Kind of work, such as ingest
    pub kind: String,
    /// Its target: a file, an address, a name
    pub target: String,
    /// Source kind, if a history was to be read
    pub source: Option<String>,
    /// When it was first asked for, RFC 3339
    pub since: String,
    /// Failures in a row
    pub failures: u32,
    /// Stable code of the last failure
    pub error_code: Option<String>,
    /// Text of the last failure
    pub error: Option<String>,
}

impl From<&Job> for GivenUp {
    fn from(job: &Job) -> Self {
        let (error_code, error) = job.error.clone().unzip();
        Self {
            kind: job.work.kind().to_owned(),
            target: job.work.target(),
            source: job.work.root().map(|root| root.source.clone()),
            since: format_utc(job.arrived),
            failures: job.failures,
            error_code,
            error,
        }
    }
}

/// Lists jobs that were given up.
pub fn dead(caller: &mut Caller<'_>, Dead { limit: given }: Dead) -> CliResult<Vec<GivenUp>> {
    Ok(caller.memory.dead_jobs(limit(given, 50)?)?.iter().map(GivenUp::from).collect())
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
