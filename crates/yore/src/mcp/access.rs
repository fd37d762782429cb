//! What tools reach: the memory, the project that is asked from, and who asks.
//!
//! - [`Access`]: all of it
//! - [`Session`]: who asks, so that what was given is counted
//! - [`ChatReader`]: reads histories, where this process can
//! - [`asked_projects`], [`Chosen`]: which projects an argument means

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use yore_core::scope::ScopeChoice;
use yore_core::time::UtcMillis;
use yore_engine::ProjectQuery;
use yore_engine::ingest::{ProjectNames, names_of};

use super::answer::Answer;
use super::arguments::{given, usage};
use super::progress::Progress;
use crate::agents::CLAUDE_CODE;
use crate::engine_handle::{EngineHandle, Memory, now};
use crate::error::{CliError, CliResult, Exit};
use crate::inject::ledger::{self, Entry};
use crate::inject::text::tokens;

/// Asks every project.
pub const ALL_PROJECTS: &str = "all";

/// What tools reach.
#[derive(Clone)]
pub struct Access {
    /// The memory, opened when it is needed.
    pub handle: EngineHandle,
    /// The project that is asked from.
    pub here: Option<ProjectNames>,
    /// The session that asks, where the agent says.
    pub session: Option<Session>,
    /// Reads conversations that wait, where this process can.
    pub reader: Option<ChatReader>,
}

/// The session that asks, and the data directory where what it was given is noted.
#[derive(Clone, Debug)]
pub struct Session {
    /// The data directory.
    pub directory: PathBuf,
    /// The agent's own id.
    pub id: String,
}

/// Which conversations to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChatsToRead {
    /// Last used not before.
    pub since: Option<UtcMillis>,
    /// Only those with code blocks.
    pub has_code: bool,
}

/// Reads conversations that wait; says how far it is, and what it read, as data and as lines.
pub type ChatReader = Arc<dyn Fn(ChatsToRead, &Progress) -> CliResult<(Value, Vec<String>)> + Send + Sync>;

impl Access {
    /// Notes in the session's ledger what it was given.
    pub fn count(&self, tool: &str, answer: &Answer, micros: u64) {
        let Some(Session { directory, id }) = self.session.as_ref().filter(|_| answer.is_recalled) else { return };
        let entry = Entry {
            at_ms: now(),
            agent: CLAUDE_CODE.to_owned(),
            event: tool.to_owned(),
            turns: answer.turns.clone(),
            tokens: tokens(&answer.text),
            micros,
            directory: self.directory().map(str::to_owned),
            ..Entry::default()
        };
        // What cannot be counted is given all the same.
        let _ = ledger::append(directory, id, &entry);
    }

    /// The directory that is asked from.
    pub fn directory(&self) -> Option<&str> {
        self.here.as_ref()?.directory()
    }

    /// The names of a project that is named: by name, id or directory. Where none is named, those of
    /// the one that is asked from; none where all are meant.
    pub fn names_of_project(&self, memory: &mut Memory, project: Option<String>) -> CliResult<Option<ProjectNames>> {
        match given(project) {
            None => Ok(self.here.clone()),
            Some(name) if name == ALL_PROJECTS => Ok(None),
            Some(name) => directory_of_project(memory, &name).map(|directory| Some(names_of(&directory))),
        }
    }

    /// The directory whose project a new note belongs to: that of the project with this name, else
    /// the one that is asked from if it is a project. `None`: the note holds everywhere.
    pub fn directory_of_note(&self, memory: &mut Memory, project: Option<String>) -> CliResult<Option<String>> {
        if let Some(name) = given(project) {
            return directory_of_project(memory, &name).map(Some);
        }
        match &self.here {
            Some(here) => memory.directory_of_note(here),
            None => Ok(None),
        }
    }

    /// The directory of the project that is asked from, for what must not leave it, none outside of one; an error where
    /// another project is named.
    pub fn own_directory(&self, memory: &mut Memory, named: Option<String>) -> CliResult<Option<String>> {
        if let Some(name) = given(named) {
            let Some((here, directory)) = self.here.as_ref().zip(self.directory()) else {
                return Err(usage("it is not known which project you work in; start the agent in it"));
            };
            let own = memory.find_project(&ProjectQuery::Directory(here.clone()))?;
            let is_name = |known: &str| known.eq_ignore_ascii_case(&name);
            let is_own = is_name(&here.name)
                || directory == name
                || own.as_ref().is_some_and(|own| is_name(&own.name))
                || own.as_ref().zip(memory.find_project(&query(&name))?).is_some_and(|(own, other)| own.id == other.id);
            if !is_own {
                return Err(usage(format!(
                    "what is kept without the person's agreement holds in the project you work in ({}) only; `remember` asks for one",
                    own.as_ref().map_or(here.name.as_str(), |own| own.name.as_str())
                )));
            }
        }
        self.directory_of_note(memory, None)
    }

    /// The projects that a list is of: the one that is named, else as the settings say.
    pub fn projects(&self, memory: &mut Memory, project: Option<String>) -> CliResult<Chosen> {
        let configured = crate::ask::request("", self.handle.config(), None).filter.scope;
        let (scope, here) = asked_projects(project, configured, self.here.clone());
        match scope {
            ScopeChoice::All => return Ok(Chosen::All),
            ScopeChoice::Projects(mut names) => return Ok(names.pop().map_or(Chosen::Nothing, Chosen::Only)),
            ScopeChoice::Current | ScopeChoice::CurrentOnly => {}
        }
        let own = match here {
            Some(here) => memory.find_project(&ProjectQuery::Directory(here))?,
            None => None,
        };
        Ok(match own {
            Some(project) => Chosen::Only(project.id.to_string()),
            None if scope == ScopeChoice::CurrentOnly => Chosen::Nothing,
            None => Chosen::All,
        })
    }
}

/// Which projects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// All.
    All,
    /// The one with this name, id or directory.
    Only(String),
    /// None: the settings keep to the current one, and there is none.
    Nothing,
}

/// What an argument makes of the projects that are asked: their choice, and the one that is asked from.
/// A directory means the project that it belongs to; where nothing is named, all stays as it is.
pub fn asked_projects(
    project: Option<String>,
    configured: ScopeChoice,
    here: Option<ProjectNames>,
) -> (ScopeChoice, Option<ProjectNames>) {
    match given(project) {
        Some(name) if name == ALL_PROJECTS => (ScopeChoice::All, here),
        Some(name) if Path::new(&name).is_absolute() => (ScopeChoice::CurrentOnly, Some(names_of(&name))),
        Some(name) => (ScopeChoice::Projects(vec![name]), here),
        None => (configured, here),
    }
}

/// A project by what a tool's argument names: a directory where it is an absolute path, else a name or id.
fn query(named: &str) -> ProjectQuery {
    if Path::new(named).is_absolute() { ProjectQuery::Directory(names_of(named)) } else { ProjectQuery::Name(named.to_owned()) }
}

fn directory_of_project(memory: &mut Memory, name: &str) -> CliResult<String> {
    if Path::new(name).is_absolute() {
        return Ok(name.to_owned());
    }
    let found = memory.find_project(&query(name))?;
    let directory = found.and_then(|project| project.aliases.into_iter().find(|(kind, _)| kind == "directory"));
    if let Some((_, recorded)) = directory {
        return Ok(recorded);
    }
    let known: Vec<String> = memory.projects()?.into_iter().take(10).map(|project| project.name).collect();
    Err(CliError {
        exit: Exit::Nothing,
        code: "unknown-project".to_owned(),
        message: format!("no project with a directory is known as {name:?}"),
        hint: Some(if known.is_empty() { "leave project out".to_owned() } else { format!("known are {}", known.join(", ")) }),
    })
}
