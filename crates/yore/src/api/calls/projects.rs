//! Projects: lists, names, merges.

use std::path::Path;

use axum::http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yore_core::query::{AnswerKind, SearchMode};
use yore_core::scope::ScopeChoice;
use yore_core::time::format_utc;
use yore_engine::{MergeOffer, ProjectMerged, ProjectQuery, RecallRequest, ViewRow};
use yore_sources::project_names::names_of;

use super::{limit, none};
use crate::api::route::{Caller, Nothing, Route};
use crate::error::{CliError, CliResult};
use crate::results::Project;

/// Returns the routes.
pub fn routes() -> Vec<Route> {
    vec![
        Route::get("/projects", "Lists projects, the last used first", &["projects"], list),
        Route::get("/projects/names", "Lists the names of projects, each once", &["project_names"], names),
        Route::get("/projects/find", "Finds a project by a directory or a name", &["find_project"], find),
        Route::get("/projects/offers", "Lists projects that may be one", &["merge_offers"], offers),
        Route::get("/projects/files", "Lists the files of a project that were changed most", &["recall"], files),
        Route::change(Method::POST, "/projects/rename", "Gives a project another name", &["rename_project"], rename),
        Route::change(Method::POST, "/projects/merge", "Makes one project part of another", &["merge_projects"], merge),
        Route::change(
            Method::POST,
            "/projects/unmerge",
            "Undoes the last merge, or the last one of a project",
            &["undo_merge"],
            unmerge,
        ),
    ]
}

/// Lists projects.
pub fn list(caller: &mut Caller<'_>, _: Nothing) -> CliResult<Vec<Project>> {
    Ok(caller.memory.projects()?.iter().map(Project::from).collect())
}

/// Lists the names of projects.
pub fn names(caller: &mut Caller<'_>, _: Nothing) -> CliResult<Vec<String>> {
    caller.memory.project_names()
}

/// A project: one of `name`, `directory`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Find {
    /// Its name, id, or one of its directories
    pub name: Option<String>,
    /// Absolute path of a directory in it
    pub directory: Option<String>,
}

/// Finds a project.
pub fn find(caller: &mut Caller<'_>, Find { name, directory }: Find) -> CliResult<Project> {
    let query = match (name, directory) {
        (Some(name), None) => ProjectQuery::Name(name),
        (None, Some(directory)) => ProjectQuery::Directory(names_of(&directory)),
        _ => return Err(CliError::usage("one of name, directory is wanted", None)),
    };
    let found = caller.memory.find_project(query)?;
    found.as_ref().map(Project::from).ok_or_else(|| none("project/unknown", "there is no such project"))
}

/// The files of a project.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Files {
    /// Name, id or directory of the project
    pub project: String,
    /// Most files, 1 to 500
    pub limit: Option<usize>,
}

/// A file that was changed.
#[derive(Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct ChangedFile {
    /// Its path
    pub path: String,
    /// How often it was changed, in words
    pub changes: Option<String>,
    /// When it was last changed, RFC 3339
    pub last: Option<String>,
}

/// Lists files that were changed most.
pub fn files(caller: &mut Caller<'_>, Files { project, limit: given }: Files) -> CliResult<Vec<ChangedFile>> {
    let mut request = RecallRequest::new("Which files were changed most?");
    request.answer_kind = Some(AnswerKind::Files);
    request.filter.scope = ScopeChoice::Projects(vec![project]);
    request.mode = SearchMode::Lexical;
    request.limit = 1;
    let answer = caller.memory.recall(&request, false)?;
    let mut rows = answer.view.filter(|view| view.kind == AnswerKind::Files).map(|view| view.rows).unwrap_or_default();
    rows.truncate(limit(given, 20)?);
    let file = |row: ViewRow| ChangedFile { path: row.text, changes: row.state, last: row.at.map(format_utc) };
    Ok(rows.into_iter().map(file).collect())
}

/// Two projects that may be one.
#[derive(Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Offer {
    /// The older project, as a merge takes it
    pub from: String,
    /// Its name
    pub name: String,
    /// Its directory, which is gone
    pub directory: String,
    /// The project that it seems to be now, as a merge takes it
    pub into: String,
    /// True if both have the same first commit, false if they only have the same name
    pub is_same_commit: bool,
}

/// Lists offers to merge.
pub fn offers(caller: &mut Caller<'_>, _: Nothing) -> CliResult<Vec<Offer>> {
    let offer = |MergeOffer { from, name, directory, into, is_same_commit }: MergeOffer| Offer {
        from,
        name,
        directory,
        into,
        is_same_commit,
    };
    Ok(caller.memory.merge_offers()?.into_iter().map(offer).collect())
}

/// Another name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rename {
    /// Name, id or directory of the project
    pub project: String,
    /// The new name
    pub name: String,
}

/// Gives a project another name.
pub fn rename(caller: &mut Caller<'_>, Rename { project, name }: Rename) -> CliResult<Project> {
    let found = caller.memory.find_project(ProjectQuery::Name(project.clone()))?;
    let id = found.map_or(project, |found| found.id.to_string());
    caller.memory.rename_project(id.clone(), name)?;
    find(caller, Find { name: Some(id), directory: None })
}

/// Two projects.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Merge {
    /// Name, id or directory of the one that becomes part of the other
    pub from: String,
    /// Name, id or directory of the other; an absolute path of a directory that is no known project becomes one
    pub into: String,
}

/// The number of things that changed their project.
#[derive(Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Merged {
    /// The one that was merged
    pub from: String,
    /// The other
    pub into: String,
    /// Sessions
    pub sessions: u64,
    /// Turns
    pub turns: u64,
    /// Memories
    pub memories: u64,
}

impl From<ProjectMerged> for Merged {
    fn from(merged: ProjectMerged) -> Self {
        let moved = merged.moved;
        Self { from: merged.from, into: merged.into, sessions: moved.sessions, turns: moved.turns, memories: moved.memories }
    }
}

/// Merges two projects.
pub fn merge(caller: &mut Caller<'_>, Merge { from, into }: Merge) -> CliResult<Merged> {
    let place = Path::new(&into).is_absolute().then(|| Path::new(&into).canonicalize().ok()).flatten();
    let place = place.filter(|place| place.is_dir()).as_deref().and_then(Path::to_str).map(names_of);
    Ok(caller.memory.merge_projects(from, into, place)?.into())
}

/// A project that was merged.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Unmerge {
    /// Its former name, or its id; without: the last merge
    pub project: Option<String>,
}

/// Undoes a merge.
pub fn unmerge(caller: &mut Caller<'_>, Unmerge { project }: Unmerge) -> CliResult<Merged> {
    Ok(caller.memory.undo_merge(project)?.into())
}
