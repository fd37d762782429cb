//! PLAN: who may answer, and how much each list counts.

use std::collections::HashSet;
use std::sync::Arc;

use yore_core::id::ProjectId;
use yore_core::query::{Filter, Program};
use yore_core::scope::{ScopeChoice, normalize_directory};
use yore_core::text::Question;

use super::RecallRequest;
use crate::EngineError;
use crate::index::CompiledFilter;
use crate::ingest::ProjectNames;
use crate::ingest::source::{Notes, Source, Web};
use crate::store::Store;

/// Least weight of tool output for a pasted error message.
const ERROR_TOOL_WEIGHT: f32 = 0.5;

/// How much a list's heights count for a candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Weights {
    /// The words in common.
    pub words: f32,
    /// The nearness of meaning.
    pub meaning: f32,
}

/// Weights by embedder and by what the candidate is, tuned on all development sets together
/// (`docs/measurements.md`). A pasted error message is found by its words.
pub(super) fn weights(program: Program, is_document: bool, question: &Question) -> Weights {
    let (words, meaning) = match (program, is_document) {
        (Program::Lexical, _) => (1.0, 0.0),
        (Program::Static, _) => (1.0, 0.45),
        (Program::Full, false) => (1.0, 1.2),
        (Program::Full, true) => (0.5, 1.75),
    };
    Weights { words, meaning: if question.is_error_message { meaning * 0.5 } else { meaning } }
}

/// Tool output is where errors stand: a question that is a pasted error, or that asks for errors
/// only, looks there in earnest.
pub(super) fn tool_weight(question: &Question, request: &RecallRequest) -> f32 {
    if (question.is_error_message || request.filter.only_errors) && request.tool_weight > 0.0 {
        request.tool_weight.max(ERROR_TOOL_WEIGHT)
    } else {
        request.tool_weight
    }
}

/// PLAN: the filter in the index's terms, the names of the projects that are asked, and whether
/// the only one that may be asked is unknown.
pub(super) fn plan(store: &Store, request: &RecallRequest) -> Result<(CompiledFilter, Vec<String>, bool), EngineError> {
    let Filter { scope, branches, sessions, agents, roles, kinds, since, until, as_of, .. } = &request.filter;
    let roles = if roles.is_empty() { None } else { Some(roles.clone()) };
    let mut filter = CompiledFilter { roles, since: *since, ..CompiledFilter::default() };
    filter.until = [*until, *as_of].into_iter().flatten().min();
    let mut names = Vec::new();
    let chosen = match scope {
        ScopeChoice::All => Vec::new(),
        ScopeChoice::Projects(wanted) => projects_named(store, wanted)?,
        ScopeChoice::Current | ScopeChoice::CurrentOnly => match &request.here {
            Some(here) => project_here(store, here)?.into_iter().collect(),
            None => Vec::new(),
        },
    };
    let is_project_unknown = *scope == ScopeChoice::CurrentOnly && chosen.is_empty();
    if is_project_unknown {
        // A project that nobody knows has no turns.
        filter.projects = Some(HashSet::new());
    }
    if !chosen.is_empty() {
        names.extend(store.project_names()?.into_iter().filter(|(row, ..)| chosen.contains(row)).map(|(_, _, name)| name));
        filter.projects = Some(chosen.into_iter().collect());
        if matches!(scope, ScopeChoice::Current | ScopeChoice::CurrentOnly) {
            filter.everywhere = everywhere(store)?;
        }
    }
    if !branches.is_empty() {
        // A branch that nobody recorded matches nothing.
        filter.branches = Some(store.label_rows(branches)?.into_iter().collect());
    }
    if !sessions.is_empty() {
        let mut rows = HashSet::new();
        for session in sessions {
            for row in episodes_named(store, session)? {
                rows.insert(row);
                rows.extend(store.descendants(row)?);
            }
        }
        filter.episodes = Some(rows);
    }
    if !agents.is_empty() || !kinds.is_empty() {
        let allowed: HashSet<i64> = store.episode_rows(agents, kinds)?.into_iter().collect();
        filter.episodes = Some(match filter.episodes.take() {
            Some(rows) => rows.intersection(&allowed).copied().collect(),
            None => allowed,
        });
    }
    if request.filter.asks_for_content() {
        filter.turns = Some(Arc::new(store.turns_holding(&request.filter)?));
    }
    Ok((filter, names, is_project_unknown))
}

/// The global scope: documents that a person gave for no project. Sessions of unknown directories
/// are none: nobody said that they hold elsewhere.
fn everywhere(store: &Store) -> Result<HashSet<i64>, EngineError> {
    let mut rows = HashSet::new();
    for kind in [Notes.kind(), Web.kind()] {
        rows.extend(store.episodes_without_project(kind)?);
    }
    Ok(rows)
}

/// The projects with these names, ids (or unambiguous beginnings of them) or directories.
pub(crate) fn projects_named(store: &Store, wanted: &[String]) -> Result<Vec<i64>, EngineError> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let known = store.project_names()?;
    let mut rows = Vec::new();
    for name in wanted {
        let matching = |test: &dyn Fn(&ProjectId, &str) -> bool| -> Vec<i64> {
            known.iter().filter(|(_, id, known)| test(id, known)).map(|(row, ..)| *row).collect()
        };
        let mut found = matching(&|_, known| known == name);
        if found.is_empty() {
            found = store.projects_by_alias(name, &normalize_directory(name))?;
        }
        if found.is_empty() {
            found = matching(&|_, known| known.eq_ignore_ascii_case(name));
        }
        if found.is_empty() && name.len() >= 4 {
            let prefix = name.to_lowercase();
            found = matching(&|id, _| id.short().starts_with(&prefix) || id.to_string().starts_with(&prefix));
        }
        if found.is_empty() {
            return Err(EngineError::UnknownProject {
                name: name.clone(),
                known: known.into_iter().map(|(_, _, name)| name).collect(),
            });
        }
        rows.extend(found);
    }
    rows.sort_unstable();
    rows.dedup();
    Ok(rows)
}

/// The known project of a directory: by its repository, else by the nearest directory above it
/// that is one, but none above a repository of its own.
pub(crate) fn project_here(store: &Store, here: &ProjectNames) -> Result<Option<i64>, EngineError> {
    Ok(project_around(store, here)?.map(|(row, _)| row))
}

/// The same, with the directory above it by which it is known, where it is known by that.
pub(crate) fn project_around(store: &Store, here: &ProjectNames) -> Result<Option<(i64, Option<String>)>, EngineError> {
    for (alias, _) in &here.aliases {
        if let Some(row) = store.project_by_alias(alias.kind(), alias.value())? {
            return Ok(Some((row, None)));
        }
    }
    for above in here.directories_above() {
        if let Some(row) = store.project_by_alias("directory", above)? {
            return Ok(Some((row, Some(above.to_owned()))));
        }
    }
    Ok(None)
}

fn episodes_named(store: &Store, name: &str) -> Result<Vec<i64>, EngineError> {
    let found = store.sessions_named(name, 8)?;
    let sessions: HashSet<&str> = found.iter().map(|(_, _, native)| native.split('/').next().unwrap_or(native)).collect();
    if found.is_empty() {
        return Err(EngineError::UnknownSession(name.to_owned()));
    }
    if sessions.len() > 1 && found.len() > 1 && found.iter().all(|(_, agent, _)| agent != "jsonl") {
        return Err(EngineError::AmbiguousId {
            id: name.to_owned(),
            candidates: found.into_iter().map(|(_, _, native)| native).collect(),
        });
    }
    Ok(found.into_iter().map(|(row, ..)| row).collect())
}
