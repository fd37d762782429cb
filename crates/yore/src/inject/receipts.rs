//! The sessions that were given something, and the receipt of one: what, when, on which event, and what it cost.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::path::Path;
use std::time::SystemTime;

use yore_core::relevance::SkipReason;
use yore_core::time::UtcMillis;
use yore_sources::project_names::names_of;

use super::ledger::{self, Entry};
use crate::results::{GivenAnswer, SessionCost};

/// Returns the sessions that have a ledger, latest first.
pub fn known(directory: &Path) -> Vec<(String, SystemTime)> {
    let folder = ledger::path(directory, "any");
    let entries = folder.parent().and_then(|folder| std::fs::read_dir(folder).ok());
    let mut known: Vec<(String, SystemTime)> = entries
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.path().extension() == Some(OsStr::new("jsonl")))
        .filter_map(|entry| {
            let id = entry.path().file_stem()?.to_str()?.to_owned();
            Some((id, entry.metadata().ok()?.modified().ok()?))
        })
        .collect();
    known.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    known
}

/// Returns the number of different memories, and the number of tokens.
pub fn totals(given: &[Entry]) -> (usize, usize) {
    let turns: HashSet<&str> = given.iter().flat_map(|entry| &entry.turns).map(String::as_str).collect();
    (turns.len(), given.iter().map(|entry| entry.tokens).sum())
}

/// Returns the agent of a session, as far as its entries tell.
pub fn agent(entries: &[Entry]) -> Option<&str> {
    entries.iter().rev().map(|entry| entry.agent.as_str()).find(|agent| !agent.is_empty())
}

/// Returns the directory that a session works in, as far as its entries tell.
pub fn directory_of(entries: &[Entry]) -> Option<&str> {
    entries.iter().rev().find_map(|entry| entry.directory.as_deref())
}

/// Returns the reasons why nothing was given, and their counts.
pub fn silences(entries: &[Entry]) -> BTreeMap<SkipReason, u64> {
    let mut silences = BTreeMap::new();
    for reason in entries.iter().filter_map(|entry| entry.skipped) {
        *silences.entry(reason).or_default() += 1;
    }
    silences
}

/// Returns the receipt of a session; `captured`: when its transcript was last read.
pub fn cost(session: &str, entries: &[Entry], captured: Option<UtcMillis>) -> SessionCost {
    let (memories, tokens) = totals(entries);
    SessionCost {
        session: session.to_owned(),
        agent: agent(entries).map(str::to_owned),
        directory: directory_of(entries).map(str::to_owned),
        project: directory_of(entries).map(|directory| names_of(directory).name),
        memories: memories as u64,
        tokens: tokens as u64,
        micros: entries.iter().map(|entry| entry.micros).sum(),
        silences: silences(entries).into_iter().map(|(reason, count)| (reason.as_str().to_owned(), count)).collect(),
        last_capture_ms: captured,
        answers: entries.iter().map(given).collect(),
    }
}

/// Returns an answer as it leaves the program.
fn given(entry: &Entry) -> GivenAnswer {
    let Entry { at_ms, agent, agent_id, event, kind, turns, tokens, micros, skipped, held_out, directory, about, is_reset } =
        entry.clone();
    GivenAnswer {
        at_ms,
        agent,
        agent_id,
        event,
        kind: kind.map(|kind| kind.as_str().to_owned()),
        turns,
        tokens: tokens as u64,
        micros,
        silence: skipped.map(|reason| reason.as_str().to_owned()),
        held_out,
        directory,
        about,
        is_reset,
    }
}

/// Describes the reason why nothing was given, for people.
pub fn in_words(reason: SkipReason) -> &'static str {
    match reason {
        SkipReason::Nothing => "no matches",
        SkipReason::Floor => "no match is relevant enough",
        SkipReason::Known => "the session has it already",
        SkipReason::Short => "too few words to search for",
        SkipReason::SameSubject => "it goes on with the same subject, as far as the session was read",
        SkipReason::Budget => "it does not fit the budget",
        SkipReason::ProjectUnknown => "the project is not known",
        SkipReason::IndexBehind => "the index is behind",
        SkipReason::NoError => "it contains no error",
        SkipReason::HeldOut => "held out by chance (inject.holdout)",
        SkipReason::NoOutcome => "no outcome was reported",
        SkipReason::Other => "for a reason of another version",
    }
}
