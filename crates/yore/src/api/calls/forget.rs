//! Forgetting: of one thing, of what meets conditions, and of memories that were put away long ago. Usually a dry run.

use axum::http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use yore_core::id::MemoryId;
use yore_core::time::{UtcMillis, format_utc};
use yore_engine::{ForgetRequest, ForgetSelection, SelectedItem};

use super::time;
use crate::api::route::{Caller, Route};
use crate::engine_handle::now;
use crate::error::{CliError, CliResult};
use crate::render::plain::harmless;
use crate::results::{ChosenThing, CleanedMemory, CleanedUp, Forgotten, ForgottenSelection};

/// Most ids of a request.
const MOST_IDS: usize = 1_000;
const DAY_MS: UtcMillis = 86_400_000;
/// Most things of a selection that are named.
const MOST_NAMED: usize = 100;

/// Returns the routes.
pub fn routes() -> Vec<Route> {
    vec![
        Route::change(
            Method::POST,
            "/forget",
            "Forgets a session, a note or a memory; usually only says what would go",
            &["forget"],
            one,
        ),
        Route::change(
            Method::POST,
            "/forget/selected",
            "Forgets what meets all conditions; usually only says what would go",
            &["forget_selected"],
            selected,
        ),
        Route::change(
            Method::POST,
            "/forget/cleanup",
            "Forgets memories that were put away long ago; usually only lists them",
            &["clean_up"],
            clean_up,
        ),
        Route::ask(
            "/forget/forgotten",
            "Returns those of some memories that were forgotten for good",
            &["forgotten_memories"],
            forgotten,
        ),
    ]
}

/// Memories that may have been forgotten.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ids {
    /// Whole ids, at most 1,000
    pub ids: Vec<String>,
}

/// Returns those that were forgotten for good.
pub fn forgotten(caller: &mut Caller<'_>, Ids { ids }: Ids) -> CliResult<Vec<String>> {
    if ids.len() > MOST_IDS {
        return Err(CliError::usage(format!("ids: expected at most {MOST_IDS}"), None));
    }
    let wrong = |id: &str| CliError::usage(format!("ids: {} is not the whole id of a memory", harmless(id)), None);
    let ids = ids.iter().map(|id| id.parse().map_err(|_| wrong(id))).collect::<CliResult<Vec<MemoryId>>>()?;
    Ok(caller.memory.forgotten_memories(ids)?.iter().map(ToString::to_string).collect())
}

fn yes() -> bool {
    true
}

/// A thing to forget.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Forget {
    /// Id of a session, a note or a memory, or the beginning of it
    pub id: String,
    /// True: for good, from the archive, the index and the backups. False: no answer has it any more, and it can be restored
    #[serde(default)]
    pub hard: bool,
    /// True: undoes a soft forgetting
    #[serde(default)]
    pub restore: bool,
    /// True, as without it: only says what would go
    #[serde(default = "yes")]
    pub is_dry_run: bool,
}

/// Forgets one thing.
pub fn one(caller: &mut Caller<'_>, Forget { id, hard, restore, is_dry_run }: Forget) -> CliResult<Forgotten> {
    check(hard, restore)?;
    if id.trim().is_empty() {
        return Err(CliError::usage("id: it is empty", None));
    }
    let keep_tombstones = caller.config().forget.keep_tombstones;
    let outcome = caller.memory.forget(ForgetRequest { session: id, is_hard: hard, is_dry_run, restore, keep_tombstones })?;
    Ok(Forgotten::of(&outcome, is_dry_run, restore))
}

/// Conditions of what is forgotten: all of them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Select {
    /// Everything of these projects: name, id or directory
    #[serde(default)]
    pub project: Vec<String>,
    /// Everything of these agents, such as claude-code, or of other sources, such as note
    #[serde(default)]
    pub agent: Vec<String>,
    /// Everything from this time on
    pub since: Option<String>,
    /// Everything before this time
    pub until: Option<String>,
    /// Everything with this text in its title or words, or in what a tool got or gave, ignoring case
    pub text: Option<String>,
    /// True: for good, from the archive, the index and the backups
    #[serde(default)]
    pub hard: bool,
    /// True: undoes a soft forgetting
    #[serde(default)]
    pub restore: bool,
    /// True, as without it: only says what would go
    #[serde(default = "yes")]
    pub is_dry_run: bool,
}

/// Forgets what meets conditions.
pub fn selected(caller: &mut Caller<'_>, select: Select) -> CliResult<ForgottenSelection> {
    check(select.hard, select.restore)?;
    let selection = ForgetSelection {
        projects: select.project,
        agents: select.agent,
        since: time("since", select.since.as_deref())?,
        until: time("until", select.until.as_deref())?,
        text: select.text,
        is_hard: select.hard,
        is_dry_run: select.is_dry_run,
        restore: select.restore,
        keep_tombstones: caller.config().forget.keep_tombstones,
    };
    let outcome = caller.memory.forget_selected(selection)?;
    let item = |item: &SelectedItem| ChosenThing {
        kind: item.kind.clone(),
        id: item.id.clone(),
        title: item.title.clone(),
        at: item.at.map(format_utc),
    };
    Ok(ForgottenSelection {
        items: outcome.selected.iter().take(MOST_NAMED).map(item).collect(),
        forgotten: Forgotten::of(&outcome, select.is_dry_run, select.restore),
    })
}

/// Since when memories must have been put away.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CleanUp {
    /// Only those that were put away before so many days; without: 30
    pub older_than_days: Option<u32>,
    /// True, as without it: only lists them
    #[serde(default = "yes")]
    pub is_dry_run: bool,
}

/// Forgets memories that were put away long ago.
pub fn clean_up(caller: &mut Caller<'_>, CleanUp { older_than_days, is_dry_run }: CleanUp) -> CliResult<CleanedUp> {
    let until = now() - UtcMillis::from(older_than_days.unwrap_or(30)) * DAY_MS;
    let done = caller.memory.clean_up(until, is_dry_run)?;
    Ok(CleanedUp {
        dry_run: is_dry_run,
        memories: done.memories,
        listed: done.listed.iter().map(CleanedMemory::from).collect(),
        has_more: done.has_more,
        operation: done.operation,
    })
}

fn check(hard: bool, restore: bool) -> CliResult<()> {
    if hard && restore {
        return Err(CliError::usage("hard and restore exclude each other: what is gone for good cannot be restored", None));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forgetting_is_a_dry_run_and_soft_unless_it_says_otherwise() {
        let forget: Forget = serde_json::from_str(r#"{"id": "x"}"#).unwrap();
        assert!(forget.is_dry_run && !forget.hard);
        let hard: Forget = serde_json::from_str(r#"{"id": "x", "hard": true}"#).unwrap();
        assert!(hard.is_dry_run);
        let select: Select = serde_json::from_str(r#"{"text": "x"}"#).unwrap();
        assert!(select.is_dry_run && !select.hard);
        let clean: CleanUp = serde_json::from_str("{}").unwrap();
        assert!(clean.is_dry_run);
        assert!(check(true, true).is_err());
    }
}
